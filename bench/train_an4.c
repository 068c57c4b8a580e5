/* Real speech: CMU AN4 (2546 s, 948 utterances), where ../shared has it. One pass beside Kaldi's, the whole monophone
 * training, whether pruned searches find what the full one finds, and aligning sound files beside pocketsphinx.
 *
 * Kaldi 5.5 on a machine of the same kind, one core: aligning 2.4 s and gathering statistics 0.64 s with 976 Gaussians,
 * 3.7 s and 1.1 s with 9034 (gmm-align-compiled, gmm-acc-stats-ali; a run that can't be repeated here). */
#include "train_bench.h"
#include "model/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct an4 {
    train_bench *b;
    char folder[4096], features[4200], test[4096];
    trl_findings *findings;
    trl_corpus *corpus;
    trl_lexicon *lexicon;
    trl_frontend *frontend;
    trl__training_data *data;
    int passes; /* of the last training */
} an4;

trl_frontend *train_frontend(void)
{
    trl_error err;
    trl_frontend_options o;
    trl_frontend *frontend;
    bench_check(trl_frontend_preset(&o, "mfcc", &err), &err);
    o.deltas = 2;
    o.cmvn = TRL_CMVN_SPEAKER;
    o.energy = TRL_ENERGY_NONE;
    bench_check(trl_frontend_create(&o, &frontend, &err), &err);
    return frontend;
}

static void open_an4(an4 *a, const char *place)
{
    char path[4200];
    trl_error err;
    bench_folder(a->folder, sizeof a->folder);
    bench_check(trl_findings_create(&a->findings, &err), &err);
    snprintf(a->test, sizeof a->test, "%.4000s/test", place);
    snprintf(path, sizeof path, "%s/%s", place, a->b->options->tiny ? "test" : "train");
    bench_check(trl_corpus_read(path, NULL, a->findings, &a->corpus, &err), &err);
    snprintf(path, sizeof path, "%s/lexicon.txt", place);
    bench_check(trl_lexicon_read(path, NULL, &a->lexicon, &err), &err);
    snprintf(a->features, sizeof a->features, "%s/features.trf", a->folder);
    a->frontend = train_frontend();
}

static void close_an4(an4 *a)
{
    trl__training_data_destroy(a->data);
    trl_frontend_destroy(a->frontend);
    trl_lexicon_destroy(a->lexicon);
    trl_corpus_destroy(a->corpus);
    trl_findings_destroy(a->findings);
    bench_remove_folder(a->folder);
}

static void count_pass(void *user, const trl_iteration *iteration)
{
    ((an4 *)user)->passes = iteration->number;
}

/* From sound (or, with `features`, from those) to a model with so many Gaussians. */
static trl_model *train(an4 *a, int64_t gaussians, int iterations, const char *features, double *wall)
{
    trl_error err;
    trl_pool *pool;
    trl_model *model;
    trl_train_options o = trl_train_defaults();
    o.total_gaussians = gaussians;
    o.iterations = iterations;
    o.folder = a->folder;
    o.features = features;
    o.report = count_pass;
    o.user = a;
    bench_check(trl_pool_create(2, &pool, &err), &err);
    double start = bench_wall_seconds();
    bench_check(trl_train(a->corpus, a->lexicon, a->frontend, &o, pool, a->findings, &model, &err), &err);
    *wall = bench_wall_seconds() - start;
    trl_pool_destroy(pool);
    return model;
}

/* Kaldi's larger model has 480 tied states, of phones in context. Ours comes near with phones that differ by their
 * place in the word, each with states of its own. */
static trl_lexicon *by_position(const an4 *a)
{
    static const char *const places[] = {"B", "I", "E", "S"};
    char path[4200];
    trl_error err;
    trl_lexicon *lexicon;
    snprintf(path, sizeof path, "%s/positions.txt", a->folder);
    FILE *file = fopen(path, "w");
    for (size_t w = 0; file && w < trl_lexicon_words(a->lexicon); w++)
        for (size_t v = 0; v < trl_lexicon_pronunciations(a->lexicon, w); v++) {
            trl_pronunciation p = trl_lexicon_pronunciation(a->lexicon, w, v);
            fputs(trl_lexicon_word(a->lexicon, w), file);
            for (size_t i = 0; i < p.length; i++)
                fprintf(file, " %s_%s", trl_lexicon_phone(a->lexicon, (size_t)p.phones[i]),
                        places[p.length == 1       ? 3
                               : i == 0            ? 0
                               : i + 1 == p.length ? 2
                                                   : 1]);
            fputc('\n', file);
        }
    if (file)
        fclose(file);
    bench_check(trl_lexicon_read(path, NULL, &lexicon, &err), &err);
    return lexicon;
}

/* ---- One pass ---- */

/* Without `previous`: a beam. Audits (fifty, as training has) only where time counts: an audited utterance keeps the
 * full search's path. */
static train_cost pass(an4 *a, const trl_model *model, trl__alignment_store *previous, const char *label, int margin,
                       double audit, trl__alignment_store **aligned, trl__stats **stats)
{
    train_set set = {.data = *a->data, .previous = previous};
    train_how how = {label, "cpu", 1, margin, audit, previous == NULL, TRL_EM_VITERBI, 1};
    return train_iterate(a->b, &set, a->lexicon, model, &how, aligned, stats);
}

/* The share of frames in which two sets of alignments are in the same state. */
static double agreement(const trl__alignment_store *a, const trl__alignment_store *b)
{
    double same = 0, all = 0;
    for (size_t u = 0; u < trl__alignment_store_count(a); u++) {
        const trl__run *x, *y;
        const trl__stored_alignment *one = trl__alignment_store_get(a, u, &x),
                                    *other = trl__alignment_store_get(b, u, &y);
        if (one->runs == 0 || other->runs == 0)
            continue;
        const trl__run *x_end = x + one->runs, *y_end = y + other->runs;
        int32_t in_x = x->frames, in_y = y->frames;
        while (x < x_end && y < y_end) {
            int32_t step = in_x < in_y ? in_x : in_y;
            same += x->node == y->node ? step : 0;
            all += step;
            in_x -= step;
            in_y -= step;
            if (in_x == 0 && ++x < x_end)
                in_x = x->frames;
            if (in_y == 0 && ++y < y_end)
                in_y = y->frames;
        }
    }
    return all > 0 ? same / all : 0;
}

static void report_agreement(an4 *a, const trl_model *model, trl__alignment_store *previous)
{
    trl__alignment_store *full, *margin, *narrow;
    pass(a, model, previous, "an4 full", TRL_MARGIN_FULL, 0, &full, NULL);
    pass(a, model, previous, "an4 margin", 64, 0, &margin, NULL);
    train_cost c = pass(a, model, previous, "an4 auto", TRL_MARGIN_AUTO, 0, &narrow, NULL);
    bench_report(a->b->result, "an4_agreement_auto", 100 * agreement(full, narrow), "%",
                 "of AN4's frames: margin auto finds what the full search finds");
    bench_report(a->b->result, "an4_agreement_64", 100 * agreement(full, margin), "%", "the same with margin 64");
    bench_report(a->b->result, "an4_redone_share", (double)c.numbers.redone / (double)c.numbers.utterances, "",
                 "of AN4's utterances that auto searched again, wider");
    trl__alignment_store_close(full);
    trl__alignment_store_close(margin);
    trl__alignment_store_close(narrow);
}

/* A first pass without alignments, the M-step, then the pass that counts: around the first one's alignments. */
static void measure_pass(an4 *a, trl_model *model, const char *size, double kaldi, int compare)
{
    char key[64];
    trl_error err;
    trl__stats *stats;
    trl__alignment_store *previous;
    trl__estimate_result estimated;
    trl__estimate_options options = trl__estimate_defaults();
    train_cost first = pass(a, model, NULL, "an4 beam", TRL_MARGIN_AUTO, 0, &previous, &stats);
    bench_check(trl__estimate(model, stats, &options, &estimated, &err), &err);
    trl__stats_destroy(stats);
    double best = INFINITY;
    for (int i = 0; i < a->b->sizes.runs; i++)
        best = fmin(
            best, pass(a, model, previous, "an4 pass", TRL_MARGIN_AUTO, 50.0 / (double)a->data->count, NULL, NULL).cpu);
    snprintf(key, sizeof key, "an4_gaussians_%s", size);
    bench_report(a->b->result, key, (double)trl_model_gaussians(model), "", "of the AN4 model");
    snprintf(key, sizeof key, "an4_states_%s", size);
    bench_report(a->b->result, key, trl_model_tied_states(model), "", "its tied states");
    snprintf(key, sizeof key, "an4_pass_cpu_s_%s", size);
    bench_report(a->b->result, key, best, "s", "CPU: alignment, accumulation, M-step with margin auto");
    snprintf(key, sizeof key, "an4_first_pass_cpu_s_%s", size);
    bench_report(a->b->result, key, first.cpu, "s", "the same without alignments to start from: a beam");
    snprintf(key, sizeof key, "an4_vs_kaldi_%s", size);
    bench_report(a->b->result, key, kaldi / best, "x", "Kaldi's CPU time (another run, another machine) over ours");
    if (compare)
        report_agreement(a, model, previous);
    trl__alignment_store_close(previous);
}

/* ---- Aligning ---- */

static int ignore(void *user, const trl_alignment *alignment, trl_error *err)
{
    (void)user;
    (void)alignment;
    (void)err;
    return 0;
}

static double align_cpu(const an4 *a, const trl_model *model, const trl_corpus *corpus, trl_align_summary *summary)
{
    trl_error err;
    trl_pool *pool;
    trl_align_options o = trl_align_defaults();
    bench_check(trl_pool_create(1, &pool, &err), &err);
    double start = bench_cpu_seconds();
    bench_check(trl_align_corpus(model, a->lexicon, corpus, &o, pool, a->findings, ignore, NULL, summary, &err), &err);
    double used = bench_cpu_seconds() - start;
    trl_pool_destroy(pool);
    return used;
}

/* The real-time factor of the peer on the same recordings; NAN when it can't run. */
static double peer_rtf(an4 *a, const trl_corpus *corpus)
{
    char list[4200], arguments[8400];
    size_t count = trl_corpus_count(corpus), step = a->b->options->tiny ? 40 : a->b->options->quick ? 6 : 1;
    snprintf(list, sizeof list, "%s/list", a->folder);
    FILE *file = fopen(list, "w");
    for (size_t i = 0; file && i < count; i += step) {
        const trl_utterance *u = trl_corpus_get(corpus, i);
        fprintf(file, "%s\t%s\n", u->path, u->text);
    }
    if (file)
        fclose(file);
    snprintf(arguments, sizeof arguments, "%s", list);
    json_t *peer = train_run_peer("pocketsphinx_align.py", arguments);
    double cpu = json_number_value(json_object_get(peer, "cpu"));
    double seconds = json_number_value(json_object_get(peer, "seconds"));
    json_object_set_new(a->b->result, "pocketsphinx", peer ? peer : json_null());
    return seconds > 0 ? cpu / seconds : NAN;
}

static void measure_align(an4 *a, const trl_model *model)
{
    trl_error err;
    trl_corpus *corpus;
    trl_align_summary summary = {0};
    double best = INFINITY;
    bench_check(trl_corpus_read(a->test, NULL, a->findings, &corpus, &err), &err);
    for (int i = 0; i < a->b->sizes.runs + 1; i++)
        best = fmin(best, align_cpu(a, model, corpus, &summary));
    double ours = best / summary.seconds, peer = peer_rtf(a, corpus);
    bench_report(a->b->result, "align_rtf", ours, "",
                 "CPU seconds per second of sound, from files to alignments with confidences");
    if (isnan(peer)) {
        bench_absent(a->b->result, "pocketsphinx_rtf", "pocketsphinx can't be run; `scripts/setup test` installs it");
        bench_absent(a->b->result, "vs_pocketsphinx", "");
    } else {
        bench_report(a->b->result, "pocketsphinx_rtf", peer, "", "the same by pocketsphinx, without reading the files");
        bench_report(a->b->result, "vs_pocketsphinx", peer / ours, "x", "how many times faster we are");
    }
    trl_corpus_destroy(corpus);
}

/* ---- The whole ---- */

static void leave_out(train_bench *b)
{
    static const char *const keys[] = {"an4_mono_wall_s",    "an4_pass_cpu_s_1000", "an4_pass_cpu_s_9000",
                                       "an4_agreement_auto", "an4_agreement_64",    "align_rtf",
                                       "pocketsphinx_rtf",   "vs_pocketsphinx"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        bench_absent(b->result, keys[i], "../shared/data/an4 is not there");
}

void train_measure_an4(train_bench *b)
{
    char place[4096];
    an4 a = {.b = b};
    trl_error err;
    if (!bench_shared("an4", place)) {
        leave_out(b);
        return;
    }
    open_an4(&a, place);
    double wall, other;
    trl_model *small = train(&a, 1000, b->sizes.an4_iterations, NULL, &wall);
    bench_report(b->result, "an4_mono_wall_s", wall, "s", "monophones trained from sound files, two threads");
    bench_report(b->result, "an4_mono_passes", a.passes, "", "of that training, the flat start's included");
    trl_train_options o = trl_train_defaults();
    o.features = a.features;
    bench_check(trl__training_data_create(a.corpus, a.lexicon, NULL, &o, NULL, 0, NULL, a.findings, &a.data, &err),
                &err);
    measure_pass(&a, small, "1000", 3.04, 1);
    measure_align(&a, small);
    trl_lexicon *positions = by_position(&a); /* words have the same numbers */
    trl_lexicon_destroy(a.lexicon);
    a.lexicon = positions;
    trl_model *large = train(&a, 9000, 1, a.features, &other);
    measure_pass(&a, large, "9000", 4.8, 0);
    trl_model_destroy(small);
    trl_model_destroy(large);
    close_an4(&a);
}
