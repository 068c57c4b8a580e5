/* How fast AN4's test set is recognised, from sound files to words and determinized lattices, with the settings that Kaldi's figures were measured with
 * (gmm-latgen-faster, beam 13, lattice beam 6, a uniform word loop, one core; another run on the same kind of machine). Beside the speed stand the error
 * rates at these very settings, so that it is speed at equal errors or not.
 *
 * Our models have the sizes of Kaldi's: monophones with 1000 Gaussians, triphones with 9000 in about as many tied states. They are kept under the build folder, and used
 * again with --quick. Where Kaldi's own models are at hand they are measured too: the same Gaussians, so the same errors but for the search. */
#include "child_process.h"
#include "decode_speed.h"
#include "train_bench.h"
#include "model/model_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/graph.h>
#include <trellis/grammar.h>
#include <trellis/model.h>
#include <trellis/score.h>
#include <unistd.h>

#define FIRST_SCALE 7 /* language scales that are tried, as Kaldi's scoring does */
#define LAST_SCALE 17

typedef struct speed_kind {
    const char *name;
    double kaldi;       /* CPU seconds per second of sound */
    const char *golden; /* Kaldi's model, under ../shared/golden/kaldi; NULL: ours is trained */
} speed_kind;

static const speed_kind kinds[] = {
    {"mono", 0.011, NULL}, {"tri", 0.022, NULL}, {"kaldis_mono", 0.011, "an4-mono"}, {"kaldis_tri", 0.022, "an4-tri1"}};
#define KINDS (sizeof kinds / sizeof *kinds)
static const char *const keys[] = {"an4_rtf_",       "vs_kaldi_",    "an4_speed_wer_", "decode_peak_mb_",
                                   "graph_states_",  "graph_arcs_",  "graph_bytes_",   "graph_seconds_",
                                   "scaling_2_",     "share_front_", "share_scoring_", "share_search_",
                                   "share_lattice_", "gaussians_",   "tied_states_",   "tokens_per_frame_"};

trl_decode_options speed_options(void)
{
    trl_decode_options o = trl_decode_defaults();
    o.beam = 13;
    o.lattice_beam = 6;
    o.lattice = 1;
    return o;
}

void speed_report(const speed_task *t, const char *what, double value, const char *unit, const char *meaning)
{
    char key[100];
    snprintf(key, sizeof key, "%s%s", what, t->name);
    bench_report(t->bench->result, key, value, unit, meaning);
}

/* ---- Models ---- */

static void train_model(speed_task *t, const char *path)
{
    trl_error err;
    trl_frontend *frontend = train_frontend();
    trl_train_options o = trl_train_defaults();
    int is_tri = strcmp(t->name, "tri") == 0, tiny = t->bench->options->tiny;
    o.stages = is_tri ? "mono,tri" : "mono";
    o.total_gaussians = is_tri ? 0 : tiny ? 200 : 1000;
    o.leaves = tiny ? 150 : 480;
    o.context_gaussians = tiny ? 300 : 9000;
    o.iterations = tiny ? 1 : 4;
    bench_check(trl_train(t->train, t->lexicon, frontend, &o, t->two, t->findings, &t->model, &err), &err);
    bench_check(trl_model_write(t->model, path, &err), &err);
    trl_frontend_destroy(frontend);
}

static void get_our_model(speed_task *t)
{
    const bench_options *o = t->bench->options;
    char path[4200];
    trl_error err;
    mkdir(TRELLIS_BUILD_DIR "/bench/decode-models", 0777);
    if (o->tiny)
        snprintf(path, sizeof path, "%.4000s/%s.trm", t->folder, t->name);
    else
        snprintf(path, sizeof path, TRELLIS_BUILD_DIR "/bench/decode-models/an4-%s.trm", t->name);
    if (!o->quick || o->tiny || trl_model_read(path, &t->model, &err) < 0)
        train_model(t, path);
}

/* Its features were MFCCs as ours are. */
static void get_kaldis_model(speed_task *t, const char *path)
{
    trl_error err;
    trl_frontend *frontend = train_frontend();
    bench_check(trl_model_import(path, NULL, &t->model, &err), &err);
    bench_check(trl_model_set_frontend(t->model, trl_frontend_description(frontend), &err), &err);
    trl_frontend_destroy(frontend);
}

/* ---- The graph ---- */

static trl_fst *word_loop(const trl_lexicon *lexicon)
{
    trl_error err;
    trl_fst *grammar = NULL;
    size_t count = trl_lexicon_words(lexicon);
    const char **words = malloc((count + 1) * sizeof *words);
    for (size_t i = 0; words && i < count; i++)
        words[i] = trl_lexicon_word(lexicon, i);
    bench_check(words ? trl_grammar_word_loop(words, count, NULL, &grammar, &err) : -1, &err);
    free(words);
    return grammar;
}

static void make_graph(speed_task *t)
{
    trl_error err;
    char path[4200];
    struct stat status;
    trl_fst *grammar = word_loop(t->lexicon);
    double start = bench_cpu_seconds();
    trl_graph *built;
    bench_check(trl_graph_build(t->model, t->lexicon, grammar, NULL, &built, NULL, &err), &err);
    double seconds = bench_cpu_seconds() - start;
    snprintf(path, sizeof path, "%.4000s/%s.trg", t->folder, t->name);
    bench_check(trl_graph_write(built, path, &err), &err);
    bench_check(trl_graph_read(path, &t->graph, &err), &err);
    speed_report(t, "graph_states_", trl_graph_states(t->graph), "", "states of the graph");
    speed_report(t, "graph_arcs_", (double)trl_graph_arcs(t->graph), "", "arcs of it");
    speed_report(t, "graph_bytes_", stat(path, &status) == 0 ? (double)status.st_size : NAN, "", "bytes of its file");
    speed_report(t, "graph_seconds_", seconds, "s", "CPU time to make it");
    trl_graph_destroy(built);
    trl_fst_destroy(grammar);
}

/* ---- Decoding ---- */

static int write_words(void *user, const trl_decoding *decoding, trl_error *err)
{
    return trl_decoding_writer_add(user, decoding, err);
}

static trl_decode_summary decode(speed_task *t, const trl_decode_options *o, trl_pool *pool, const char *path)
{
    trl_error err;
    trl_decode_summary summary;
    trl_decoding_writer *writer;
    bench_check(trl_decoding_writer_open(path, TRL_DECODING_TEXT, &writer, &err), &err);
    bench_check(
        trl_decode_corpus(t->model, t->graph, t->test, o, pool, t->findings, write_words, writer, &summary, &err),
        &err);
    bench_check(trl_decoding_writer_commit(writer, &err), &err);
    return summary;
}

static void words_path(const speed_task *t, const char *what, char path[4200])
{
    snprintf(path, 4200, "%.4000s/%s-%s.txt", t->folder, t->name, what);
}

/* The least of some runs: other work on the machine only ever adds. */
static void measure_speed(speed_task *t)
{
    trl_decode_options o = speed_options();
    trl_decode_summary summary = {0};
    char path[4200];
    double least = INFINITY;
    words_path(t, "one", path);
    for (int run = 0; run < (t->bench->options->tiny ? 1 : 5); run++) {
        double start = bench_cpu_seconds();
        summary = decode(t, &o, t->one, path);
        least = fmin(least, bench_cpu_seconds() - start);
    }
    t->seconds = summary.seconds;
    double rtf = least / summary.seconds;
    speed_report(t, "an4_rtf_", rtf, "",
                 "CPU seconds per second of sound, sound files to words and lattices, one thread");
    speed_report(t, "vs_kaldi_", t->kaldi / rtf, "x",
                 "as fast as gmm-latgen-faster, which was measured in another run");
    speed_report(t, "tokens_per_frame_", summary.tokens, "", "tokens of a frame");
}

static int same_file(const char *a, const char *b)
{
    FILE *first = fopen(a, "rb"), *second = fopen(b, "rb");
    int x = 0, y = first && second ? 0 : 1;
    while (x == y && x != EOF) {
        x = fgetc(first);
        y = fgetc(second);
    }
    if (first)
        fclose(first);
    if (second)
        fclose(second);
    return x == y;
}

/* Wall time: means something on an idle machine only. */
static void measure_scaling(speed_task *t)
{
    trl_decode_options o = speed_options();
    char one[4200], two[4200];
    double least[2] = {INFINITY, INFINITY};
    words_path(t, "one", one);
    words_path(t, "two", two);
    for (int run = 0; run < (t->bench->options->tiny ? 1 : 5); run++)
        for (int threads = 1; threads <= 2; threads++) {
            double start = bench_wall_seconds();
            decode(t, &o, threads == 1 ? t->one : t->two, threads == 1 ? one : two);
            least[threads - 1] = fmin(least[threads - 1], bench_wall_seconds() - start);
        }
    if (!same_file(one, two)) {
        fprintf(stderr, "trellis-bench: two threads recognise other words than one\n");
        exit(3);
    }
    speed_report(t, "scaling_2_", least[0] / least[1], "x", "as fast with two threads, by the clock; same words");
}

static double word_errors(speed_task *t, const char *path)
{
    trl_error err;
    char reference[4200];
    trl_transcripts *said, *heard;
    trl_score *score;
    trl_score_options o = trl_score_defaults();
    o.scorer = TRL_SCORER_EDIT;
    snprintf(reference, sizeof reference, "%.4000s/text", t->said);
    bench_check(trl_transcripts_read(reference, TRL_TRANSCRIPTS_TEXT, &said, &err), &err);
    bench_check(trl_transcripts_read(path, TRL_TRANSCRIPTS_TEXT, &heard, &err), &err);
    bench_check(trl_score_create(said, heard, &o, NULL, &score, &err), &err);
    double rate = 100 * trl_word_error_rate(trl_score_total(score));
    trl_score_destroy(score);
    trl_transcripts_destroy(said);
    trl_transcripts_destroy(heard);
    return rate;
}

static void measure_errors(speed_task *t)
{
    trl_decode_options o = speed_options();
    char path[4200];
    double least = INFINITY;
    words_path(t, "scaled", path);
    for (int scale = FIRST_SCALE; scale <= LAST_SCALE; scale += t->bench->options->tiny ? 5 : 1) {
        o.language_scale = scale;
        decode(t, &o, t->two, path);
        least = fmin(least, word_errors(t, path));
    }
    speed_report(t, "an4_speed_wer_", least, "%", "word error rate of the same search, best language scale of 7 to 17");
}

/* In a process of its own, that reads model and graph itself. */
static void decode_alone(void *user)
{
    speed_task *t = user;
    trl_decode_options o = speed_options();
    decode(t, &o, NULL, "/dev/null");
}

/* ---- All of it ---- */

/* A tenth of the speakers. */
static void take_some(const speed_task *t, trl_corpus **corpus, const char *name)
{
    trl_error err;
    char path[4200];
    unsigned char *apart = calloc(trl_corpus_count(*corpus) + 1, 1);
    bench_check(apart ? trl_corpus_split(*corpus, NULL, apart, &err) : -1, &err);
    snprintf(path, sizeof path, "%.4000s/%s", t->folder, name);
    bench_check(trl_corpus_write(*corpus, apart, 1, path, &err), &err);
    trl_corpus_destroy(*corpus);
    bench_check(trl_corpus_read(path, NULL, t->findings, corpus, &err), &err);
    free(apart);
}

static void open_task(speed_task *t)
{
    trl_error err;
    char path[4200];
    bench_folder(t->folder, sizeof t->folder);
    bench_check(trl_findings_create(&t->findings, &err), &err);
    snprintf(path, sizeof path, "%.4000s/train", t->place);
    bench_check(trl_corpus_read(path, NULL, t->findings, &t->train, &err), &err);
    snprintf(t->said, sizeof t->said, "%.4000s/test", t->place);
    bench_check(trl_corpus_read(t->said, NULL, t->findings, &t->test, &err), &err);
    if (t->bench->options->tiny) {
        take_some(t, &t->train, "train");
        take_some(t, &t->test, "test");
        snprintf(t->said, sizeof t->said, "%.4000s/test", t->folder);
    }
    snprintf(path, sizeof path, "%.4000s/lexicon.txt", t->place);
    bench_check(trl_lexicon_read(path, NULL, &t->lexicon, &err), &err);
    bench_check(trl_pool_create(1, &t->one, &err), &err);
    bench_check(trl_pool_create(2, &t->two, &err), &err);
}

static void close_task(speed_task *t)
{
    trl_pool_destroy(t->one);
    trl_pool_destroy(t->two);
    trl_lexicon_destroy(t->lexicon);
    trl_corpus_destroy(t->train);
    trl_corpus_destroy(t->test);
    trl_findings_destroy(t->findings);
    bench_remove_folder(t->folder);
}

static void measure(speed_task *t)
{
    speed_report(t, "gaussians_", t->model->first_gaussian[t->model->tied_states], "", "Gaussians of the model");
    speed_report(t, "tied_states_", t->model->tied_states, "", "mixtures that they form");
    make_graph(t);
    double before = child_own_mb();
    child_peaks peaks = child_run(decode_alone, t);
    measure_speed(t);
    measure_errors(t);
    speed_report(t, "decode_peak_mb_", fmax(0, peaks.own - before), "MB", "memory that decoding takes, one thread");
    speed_measure_shares(t);
    measure_scaling(t);
    if (strcmp(t->name, "tri") == 0)
        speed_measure_search(t);
    trl_graph_destroy(t->graph);
    trl_model_destroy(t->model);
}

/* Why there is no model of this kind; NULL: it is there now. */
static const char *get_model(speed_task *t, const speed_kind *kind, int has_speech)
{
    char name[100], path[4096];
    t->name = kind->name;
    t->kaldi = kind->kaldi;
    snprintf(name, sizeof name, "../golden/kaldi/%s", kind->golden ? kind->golden : "");
    if (!has_speech)
        return "../shared/data/an4 is not there";
    if (kind->golden && !bench_shared(name, path))
        return "Kaldi's models are not there";
    if (kind->golden)
        get_kaldis_model(t, path);
    else
        get_our_model(t);
    return NULL;
}

static void report_absent(const speed_task *t, const char *why)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[100];
        snprintf(key, sizeof key, "%s%s", keys[i], t->name);
        bench_absent(t->bench->result, key, i == 0 ? why : "");
    }
}

void decode_measure_speed(decode_bench *b)
{
    speed_task t = {.bench = b};
    json_object_set_new(b->result, "kaldi_figures",
                        json_string("gmm-latgen-faster, another run on the same kind of machine"));
    int has_speech = bench_shared("an4", t.place) != NULL;
    if (has_speech)
        open_task(&t);
    for (size_t kind = 0; kind < KINDS; kind++) {
        const char *why = get_model(&t, &kinds[kind], has_speech);
        if (why)
            report_absent(&t, why);
        else
            measure(&t);
    }
    if (has_speech)
        close_task(&t);
}
