/* Synthesised speech of 60,000 words: word accuracy against the real-time factor, as in [004] Fig. 3, for models of 4600 tied states that are trained on such speech and for
 * en-us; one and two threads, likelihoods ahead of the search, both; each search with owners and as in [004] 3.1.
 *
 * All ways find the same words at the same beam. So errors are counted once for each beam, over the whole test, and times are taken on a part of it. */
#include "lvcsr_ways.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <trellis/score.h>

#define MOST_BEAMS 8
#define EQUAL 0.5 /* points of accuracy: a beam within so much of the widest is as good */

typedef struct synth_sizes {
    lvcsr_task_sizes task;
    size_t timed; /* each so many-th utterance of those that are used: times are taken on it */
    int runs;
    int beams;
    double beam[MOST_BEAMS]; /* from narrow to wide */
} synth_sizes;

static const synth_sizes full = {.task = {.leaves = 4600, .iterations = 2, .mono_every = 8, .every = 1},
                                 .timed = 30,
                                 .runs = 2,
                                 .beams = 4,
                                 .beam = {5, 6.5, 8, 11}};
static const synth_sizes small = {.task = {.leaves = 300, .iterations = 1, .mono_every = 1, .every = 1},
                                  .timed = 4,
                                  .runs = 1,
                                  .beams = 3,
                                  .beam = {7, 10, 14}};
static const synth_sizes tiny = {.task = {.leaves = 60, .iterations = 1, .mono_every = 1, .every = 1},
                                 .timed = 4,
                                 .runs = 1,
                                 .beams = 2,
                                 .beam = {8, 11}};

/* With --quick what an earlier run in full left, measured less thoroughly. */
static synth_sizes choose_sizes(const bench_options *o)
{
    const lvcsr_speech_sizes *speech = lvcsr_speech_choose(o);
    synth_sizes sizes = o->tiny ? tiny : lvcsr_speech_is_full(speech) ? full : small;
    sizes.task.speech = *speech;
    if (o->quick && lvcsr_speech_is_full(speech)) {
        sizes.task.every = 20;
        sizes.timed = 6;
        sizes.runs = 1;
        sizes.beams = 3;
        memcpy(sizes.beam, small.beam, sizeof sizes.beam);
    }
    return sizes;
}

/* ---- Word errors ---- */

static int write_words(void *user, const trl_decoding *decoding, trl_error *err)
{
    return trl_decoding_writer_add(user, decoding, err);
}

/* In %, of the whole test. */
static double count_errors(lvcsr_task *t, const lvcsr_system *s, double beam)
{
    trl_error err;
    char heard[4300];
    trl_transcripts *reference, *words;
    trl_score *score;
    trl_decode_summary summary;
    trl_decoding_writer *writer;
    const trl_score_options scoring = {.scorer = TRL_SCORER_EDIT};
    trl_decode_options o = lvcsr_options(s, beam, &lvcsr_ways[LVCSR_ONE]);
    snprintf(heard, sizeof heard, "%.4000s/heard.txt", t->speech.folder);
    bench_check(trl_decoding_writer_open(heard, TRL_DECODING_TEXT, &writer, &err), &err);
    bench_check(
        trl_decode_corpus(s->model, s->graph, t->test, &o, t->pool, t->findings, write_words, writer, &summary, &err),
        &err);
    bench_check(trl_decoding_writer_commit(writer, &err), &err);
    bench_check(trl_transcripts_read(t->said, TRL_TRANSCRIPTS_TEXT, &reference, &err), &err);
    bench_check(trl_transcripts_read(heard, TRL_TRANSCRIPTS_TEXT, &words, &err), &err);
    bench_check(trl_score_create(reference, words, &scoring, t->pool, &score, &err), &err);
    double rate = 100 * trl_word_error_rate(trl_score_total(score));
    trl_score_destroy(score);
    trl_transcripts_destroy(reference);
    trl_transcripts_destroy(words);
    return rate;
}

/* ---- One model ---- */

/* By beam: errors, and seconds of every way. */
typedef struct synth_table {
    double wer[MOST_BEAMS];
    lvcsr_cost cost[MOST_BEAMS][LVCSR_WAYS];
    double seconds; /* of sound that was timed */
} synth_table;

static void fill_table(lvcsr_task *t, const synth_sizes *z, const lvcsr_stage *stage, synth_table *table)
{
    lvcsr_curve *curves[LVCSR_WAYS];
    char task[32];
    snprintf(task, sizeof task, "synthesised, %s", stage->system->kind->name);
    for (int way = 0; way < LVCSR_WAYS; way++)
        curves[way] = lvcsr_add_curve(t->bench, task, lvcsr_ways[way].name);
    table->seconds = stage->seconds;
    for (int i = 0; i < z->beams; i++) {
        table->wer[i] = count_errors(t, stage->system, z->beam[i]);
        lvcsr_stage_time(stage, z->beam[i], z->runs, table->cost[i]);
        for (int way = 0; way < LVCSR_WAYS; way++)
            lvcsr_add_point(curves[way],
                            (lvcsr_point){z->beam[i], table->cost[i][way].seconds / stage->seconds, table->wer[i]});
    }
}

/* The narrowest beam that is as good as the widest. */
static int choose_beam(const synth_sizes *z, const synth_table *table)
{
    int i = 0;
    while (table->wer[i] > table->wer[z->beams - 1] + EQUAL)
        i++;
    return i;
}

static void report_accuracy(lvcsr_bench *b, const lvcsr_kind *kind, size_t first_curve)
{
    json_t *all = json_object_get(b->result, "accuracy_at_real_time");
    json_t *rates = json_object();
    for (int way = 0; way < LVCSR_WAYS; way++) {
        const lvcsr_curve *c = &b->curves[first_curve + (size_t)way];
        json_t *row = json_object();
        static const struct {
            const char *key;
            double rtf;
        } marks[] = {{"1", 1}, {"0.1", 0.1}, {"0.05", 0.05}};
        printf("  word accuracy of %s, %s:", kind->name, lvcsr_ways[way].name);
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            double wer = lvcsr_wer_at(c, marks[i].rtf);
            json_object_set_new(row, marks[i].key, isfinite(wer) ? json_real(100 - wer) : json_null());
            printf(" %.2f %% at %s", isfinite(wer) ? 100 - wer : NAN, marks[i].key);
        }
        printf(" of real time\n");
        json_object_set_new(rates, lvcsr_ways[way].key, row);
    }
    json_object_set_new(all, kind->key, rates);
}

static void report_ratios(lvcsr_bench *b, const synth_sizes *z, const lvcsr_kind *kind, const synth_table *table)
{
    int at = choose_beam(z, table);
    double least = INFINITY;
    char key[100];
    for (int way = 1; way < LVCSR_WAYS; way++) {
        snprintf(key, sizeof key, "%s_vs_one_%s", lvcsr_ways[way].key, kind->key);
        bench_report(b->result, key, table->cost[at][LVCSR_ONE].seconds / table->cost[at][way].seconds, "x",
                     lvcsr_ways[way].name);
    }
    for (int i = 0; i < z->beams; i++)
        least = fmin(least, table->cost[i][LVCSR_ONE].seconds / table->cost[i][LVCSR_AUTO].seconds);
    snprintf(key, sizeof key, "least_vs_one_%s", kind->key);
    bench_report(b->result, key, least, "x", "least at any beam of two threads with likelihoods as it chooses");
    snprintf(key, sizeof key, "rtf_one_%s", kind->key);
    bench_report(b->result, key, table->cost[at][LVCSR_ONE].seconds / table->seconds, "", "one thread, at that beam");
    snprintf(key, sizeof key, "wer_%s", kind->key);
    bench_report(b->result, key, table->wer[at], "%", "word errors at that beam");
}

/* [004] 4.2, Fig. 3: a device that makes likelihoods ahead, with one thread that searches and with two. Word errors are the processor's. */
static void report_device(lvcsr_bench *b, const synth_sizes *z, const lvcsr_stage *stage, const synth_table *table)
{
    lvcsr_curve *curves[LVCSR_DEVICE_WAYS];
    lvcsr_cost costs[LVCSR_DEVICE_WAYS];
    double same;
    char text[100];
    if (!stage->ahead) {
        printf("  no look-ahead by a device for %s: %s\n", stage->system->kind->name, stage->why.text);
        return;
    }
    snprintf(text, sizeof text, "synthesised, %s", stage->system->kind->name);
    for (int way = 1; way < LVCSR_DEVICE_WAYS; way++)
        curves[way] = lvcsr_add_curve(b, text, lvcsr_device_ways[way].name);
    for (int i = 0; i < z->beams; i++) {
        lvcsr_stage_time_device(stage, z->beam[i], z->runs, costs, &same);
        for (int way = 1; way < LVCSR_DEVICE_WAYS; way++) {
            lvcsr_add_point(curves[way], (lvcsr_point){z->beam[i], costs[way].seconds / stage->seconds, table->wer[i]});
            snprintf(text, sizeof text, "%s_vs_one_%s", lvcsr_device_ways[way].key, stage->system->kind->key);
            if (i == choose_beam(z, table))
                bench_report(b->result, text, costs[LVCSR_PROCESSOR].seconds / costs[way].seconds, "x",
                             lvcsr_device_ways[way].name);
        }
        snprintf(text, sizeof text, "device_same_words_%s", stage->system->kind->key);
        if (i == choose_beam(z, table))
            bench_report(b->result, text, 100 * same, "%", "utterances with the processor's words");
    }
}

static json_t *profile_json(const trl_decode_profile *p)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "expansion", 100 * p->expansion / p->total, "merging",
                     100 * p->merging / p->total, "pruning", 100 * p->pruning / p->total, "composition",
                     100 * p->composition / p->total, "likelihoods", 100 * p->likelihoods / p->total, "waiting",
                     100 * p->waiting / p->total, "made", 100 * (double)p->made / (double)p->scores, "twice",
                     100 * (double)p->twice / (double)p->made);
}

static void report_profile(lvcsr_bench *b, const lvcsr_stage *stage, double beam, const lvcsr_way *way)
{
    trl_decode_profile p = lvcsr_stage_profile(stage, beam, way);
    json_t *row = profile_json(&p);
    const char *name;
    json_t *share;
    printf("  time of %s, %s, in %%:", stage->system->kind->name, way->name);
    json_object_foreach(row, name, share) printf(" %s %.3g", name, json_number_value(share));
    printf("\n");
    json_t *all = json_object_get(b->result, "where_time_goes"), *of_kind;
    if (!(of_kind = json_object_get(all, stage->system->kind->key)))
        json_object_set_new(all, stage->system->kind->key, of_kind = json_object());
    json_object_set_new(of_kind, way->key, row);
}

static const char *measure_kind(lvcsr_task *t, const synth_sizes *all, const lvcsr_kind *kind)
{
    lvcsr_system system;
    lvcsr_stage stage;
    synth_table table;
    size_t first_curve = t->bench->curve_count;
    const char *why = lvcsr_system_open(&system, t, kind);
    if (why)
        return why;
    synth_sizes sizes = *all, *z = &sizes;
    for (int i = 0; i < z->beams; i++)
        z->beam[i] *= kind->widening;
    lvcsr_stage_open(&stage, t, &system, z->timed, t->bench->options);
    fill_table(t, z, &stage, &table);
    report_accuracy(t->bench, kind, first_curve);
    report_ratios(t->bench, z, kind, &table);
    double beam = z->beam[choose_beam(z, &table)];
    report_device(t->bench, z, &stage, &table);
    for (int way = 0; way < LVCSR_WAYS; way++)
        report_profile(t->bench, &stage, beam, &lvcsr_ways[way]);
    report_profile(t->bench, &stage, beam, &lvcsr_on_demand);
    lvcsr_stage_close(&stage);
    lvcsr_system_close(&system);
    return NULL;
}

/* ---- All of it ---- */

static void copy_figure(json_t *result, const char *from, const char *to, const char *unit, const char *meaning)
{
    const json_t *figure = json_object_get(result, from);
    if (json_is_number(figure))
        bench_report(result, to, json_number_value(figure), unit, meaning);
}

static const char *measure(lvcsr_bench *b)
{
    synth_sizes sizes = choose_sizes(b->options);
    lvcsr_task task;
    const char *why = lvcsr_task_open(&task, b, &sizes.task), *missing;
    if (why)
        return why;
    printf("  (speech: %s)\n", task.speech.folder);
    json_object_set_new(b->result, "accuracy_at_real_time", json_object());
    json_object_set_new(b->result, "where_time_goes", json_object());
    for (int i = 0; i < LVCSR_KINDS; i++) {
        int is_left_out = b->options->tiny && lvcsr_kinds[i].gaussians == 0; /* the largest of the models */
        missing = is_left_out ? "left out with --tiny" : measure_kind(&task, &sizes, &lvcsr_kinds[i]);
        why = missing ? missing : why;
    }
    copy_figure(b->result, "auto_vs_one_128", "two_threads_lookahead_vs_one", "x",
                "two threads, likelihoods ahead as it chooses, 128 Gaussians, at equal accuracy");
    lvcsr_task_close(&task);
    return why;
}

static const char *const keys[] = {"two_threads_lookahead_vs_one",
                                   "accuracy_at_real_time",
                                   "where_time_goes",
                                   "both_vs_one_32",
                                   "both_vs_one_128",
                                   "both_vs_one_en_us",
                                   "auto_vs_one_32",
                                   "auto_vs_one_128",
                                   "auto_vs_one_en_us",
                                   "least_vs_one_32",
                                   "least_vs_one_128",
                                   "least_vs_one_en_us",
                                   "device_vs_one_32",
                                   "device_vs_one_128",
                                   "device_two_vs_one_32",
                                   "device_two_vs_one_128",
                                   "wer_32",
                                   "wer_128",
                                   "wer_en_us",
                                   NULL};

const lvcsr_part lvcsr_synth = {"synthesised", keys, measure};
