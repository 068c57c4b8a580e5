/* Every method on the same sentences, by turns with OpenFst; their answers must be the same. */
#include "fst_decode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 20 }; /* of the sentences where threads share them: starting threads should not count */
enum { TURNS = 2 };   /* passes one behind the other: the first finds in the caches what another method left there */
#define LONG_MS 3000
#define TOLERANCE 1e-4 /* relative, of a cost: OpenFst adds floats, we add doubles or floats in another order */

const char *const decode_method_names[DECODE_METHODS] = {"serial", "frontier", "parallel"};
const char *const decode_operation_names[DECODE_OPERATIONS] = {"viterbi", "forward", "backward", "combined"};
const char *const decode_task_names[PEER_TASKS] = {"viterbi", "viterbi_default_queue", "forward", "combined"};

static const trl_transduce_method methods[DECODE_METHODS] = {TRL_METHOD_SERIAL, TRL_METHOD_FRONTIER,
                                                             TRL_METHOD_PARALLEL};
static const trl_transduce_operation operations[DECODE_OPERATIONS] = {TRL_TRANSDUCE_VITERBI, TRL_TRANSDUCE_FORWARD,
                                                                      TRL_TRANSDUCE_BACKWARD, TRL_TRANSDUCE_COUNTS};

/* ---- Sentences ---- */

/* A line of the test text as labels; NULL when it is empty or has a word that the transducer has never seen. */
static int32_t *labels_of(const fst_corpus *corpus, const translation *t, size_t line)
{
    const fst_text *test = &corpus->test;
    size_t length = test->first[line + 1] - test->first[line];
    int32_t *labels = fst_must(trl__alloc(length + 1, sizeof *labels));
    for (size_t i = 0; i < length; i++) {
        const char *word = test->words.texts[test->token[test->first[line] + i]];
        long id = trl__strings_find(&corpus->french.words, word, strlen(word));
        if (id < 0 || id >= t->french)
            length = 0;
        else
            labels[i] = TRANSLATION_LABEL((int32_t)id);
    }
    if (length > 0)
        return labels;
    trl__free(labels);
    return NULL;
}

void sentences_choose(fst_sentences *s, const fst_corpus *corpus, const translation *t,
                      const trl_transducer *transducer, size_t most)
{
    trl_error err;
    trl_transduce_work *work;
    bench_check(trl_transduce_create(transducer, NULL, &work, &err), &err);
    for (size_t line = 0; line < corpus->test.lines && s->count < most; line++) {
        trl_transduce_input input = {.labels = labels_of(corpus, t, line),
                                     .count = corpus->test.first[line + 1] - corpus->test.first[line]};
        trl_transduction result = {0};
        if (input.labels)
            bench_check(trl_transduce(work, TRL_TRANSDUCE_VITERBI, &input, &result, &err), &err);
        if (!result.found) {
            trl__free((void *)input.labels);
            continue;
        }
        if (TRL_GROW(s->input, s->capacity, s->count + 1) < 0)
            fst_must(NULL);
        s->input[s->count++] = input;
    }
    trl_transduce_destroy(work);
}

void sentences_free(fst_sentences *s)
{
    for (size_t i = 0; i < s->count; i++)
        trl__free((void *)s->input[i].labels);
    trl__free(s->input);
}

/* ---- One pass over them ---- */

/* Milliseconds per sentence. */
static double pass(const trl_transducer *transducer, int method, int operation, trl_pool *pool, const fst_sentences *s,
                   double *weight)
{
    trl_error err;
    trl_transduce_work *work;
    trl_transduction result;
    trl_transduce_options options = {.method = methods[method], .pool = pool};
    double (*clock)(void) = pool ? bench_wall_seconds : bench_cpu_seconds;
    bench_check(trl_transduce_create(transducer, &options, &work, &err), &err);
    double start = clock();
    for (size_t i = 0; i < s->count; i++) {
        bench_check(trl_transduce(work, operations[operation], &s->input[i], &result, &err), &err);
        weight[i] = result.weight;
    }
    double seconds = clock() - start;
    trl_transduce_destroy(work);
    return 1000 * seconds / (double)s->count;
}

double decode_frontier_ms(const trl_transducer *transducer, const fst_sentences *s, int passes)
{
    double *weight = fst_must(trl__alloc(s->count + 1, sizeof *weight)), best = INFINITY;
    for (int i = 0; i < passes; i++)
        best = fmin(best, pass(transducer, 1, 0, NULL, s, weight));
    trl__free(weight);
    return best;
}

static int take_weight(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    (void)err;
    ((double *)user)[index] = result->weight;
    return 0;
}

/* Two threads over sentences, or one (no pool). All of them several times; the answers of the first time stand
 * first. */
static double batch_pass(const trl_transducer *transducer, trl_pool *pool, const fst_sentences *s, double *weight)
{
    trl_error err;
    trl_transduce_options options = {.method = TRL_METHOD_FRONTIER, .pool = pool};
    size_t count = COPIES * s->count;
    trl_transduce_input *input = fst_must(trl__alloc(count, sizeof *input));
    for (size_t i = 0; i < count; i++)
        input[i] = s->input[i % s->count];
    double start = bench_wall_seconds();
    int code =
        trl_transduce_batch(transducer, &options, TRL_TRANSDUCE_VITERBI, input, count, take_weight, weight, &err);
    double seconds = bench_wall_seconds() - start;
    bench_check(code, &err);
    trl__free(input);
    return 1000 * seconds / (double)count;
}

static double peer_pass(const peer_fst *peer, peer_task task, const fst_sentences *s, double *weight)
{
    double start = bench_cpu_seconds();
    for (size_t i = 0; i < s->count; i++)
        weight[i] = openfst()->decode(peer, s->input[i].labels, s->input[i].count, task);
    return 1000 * (bench_cpu_seconds() - start) / (double)s->count;
}

/* ---- All of them ---- */

/* The first answers to come are what later ones are compared with: one set for best paths, one for sums. */
typedef struct answers {
    double *best, *sum, *now;
    int has_best, has_sum;
    double difference;
} answers;

static void compare(answers *a, int is_best, const fst_sentences *s, const char *who, const char *what)
{
    double *known = is_best ? a->best : a->sum;
    int *has = is_best ? &a->has_best : &a->has_sum;
    for (size_t i = 0; i < s->count; i++) {
        if (!*has)
            known[i] = a->now[i];
        double differ = fabs(known[i] - a->now[i]) / (1 + fabs(known[i]));
        a->difference = fmax(a->difference, differ);
        if (!(differ <= TOLERANCE)) {
            fprintf(stderr, "trellis-bench: %s %s gives %.9g for sentence %zu, where others give %.9g\n", who, what,
                    a->now[i], i, known[i]);
            exit(3);
        }
    }
    *has = 1;
}

/* Long passes are worth two measurements only. */
static int is_worth(double best_ms, const fst_sentences *s, int run, int turn)
{
    return !isfinite(best_ms) || best_ms * (double)s->count < LONG_MS || (run < 2 && turn == 0);
}

static void peer_run(const peer_fst *peer, const fst_sentences *s, int run, answers *a, decode_times *out)
{
    for (int i = 0; i < TURNS * PEER_TASKS; i++) {
        int task = i / TURNS;
        if (!is_worth(out->peer[task], s, run, i % TURNS))
            continue;
        out->peer[task] = fmin(out->peer[task], peer_pass(peer, (peer_task)task, s, a->now));
        compare(a, task <= PEER_VITERBI_DEFAULT, s, "OpenFst", decode_task_names[task]);
    }
}

static void our_run(const trl_transducer *transducer, trl_pool *pool, const fst_sentences *s, int run, answers *a,
                    decode_times *out)
{
    for (int m = 0; m < DECODE_METHODS; m++)
        for (int i = 0; i < TURNS * DECODE_OPERATIONS; i++) {
            int o = i / TURNS;
            if (!is_worth(out->method[m][o], s, run, i % TURNS))
                continue;
            double ms = pass(transducer, m, o, methods[m] == TRL_METHOD_PARALLEL ? pool : NULL, s, a->now);
            out->method[m][o] = fmin(out->method[m][o], ms);
            compare(a, operations[o] == TRL_TRANSDUCE_VITERBI, s, decode_method_names[m], decode_operation_names[o]);
        }
    for (int repeat = 0; repeat < 3; repeat++)
        for (int threads = 1; threads <= 2; threads++) {
            double ms = batch_pass(transducer, threads == 2 ? pool : NULL, s, a->now);
            out->batch[threads - 1] = fmin(out->batch[threads - 1], ms);
            compare(a, 1, s, "frontier", "over sentences");
        }
}

void decode_measure(const trl_transducer *transducer, const peer_fst *peer, const fst_sentences *s, int runs,
                    decode_times *out)
{
    answers a = {.best = fst_must(trl__alloc(s->count + 1, sizeof(double))),
                 .sum = fst_must(trl__alloc(s->count + 1, sizeof(double))),
                 .now = fst_must(trl__alloc(COPIES * s->count + 1, sizeof(double)))};
    trl_pool *pool;
    trl_error err;
    double *times = &out->method[0][0];
    for (size_t i = 0; i < DECODE_METHODS * DECODE_OPERATIONS; i++)
        times[i] = INFINITY;
    for (int i = 0; i < PEER_TASKS; i++)
        out->peer[i] = peer ? INFINITY : NAN;
    out->batch[0] = out->batch[1] = INFINITY;
    bench_check(trl_pool_create(2, &pool, &err), &err);
    for (int run = 0; run < runs && s->count > 0; run++) {
        our_run(transducer, pool, s, run, &a, out);
        if (peer)
            peer_run(peer, s, run, &a, out);
    }
    out->difference = a.difference;
    trl_pool_destroy(pool);
    trl__free(a.best);
    trl__free(a.sum);
    trl__free(a.now);
}

/* ---- Time against length ---- */

enum { WIDTH = 5, BINS = 24, REPEATS = 3, CURVES = 3 }; /* words per point of the table */
static const char *const curves[CURVES] = {"serial", "frontier", "OpenFst"};

typedef struct figure_point {
    size_t length;
    double ms[CURVES];
} figure_point;

static double sentence_ms(const trl_transducer *transducer, const peer_fst *peer, int curve,
                          const trl_transduce_input *input)
{
    fst_sentences one = {.input = (trl_transduce_input *)input, .count = 1};
    double weight, best = INFINITY;
    for (int i = 0; i < REPEATS; i++)
        best = fmin(best, curve < 2 ? pass(transducer, curve, 0, NULL, &one, &weight)
                                    : peer_pass(peer, PEER_VITERBI, &one, &weight));
    return best;
}

static void draw(const char *path, const figure_point *points, size_t count, int has_peer)
{
    int drawn = has_peer ? CURVES : CURVES - 1;
    FILE *gnuplot = popen("gnuplot", "w");
    const char *end = strrchr(path, '.');
    if (!gnuplot)
        return;
    fprintf(gnuplot, "set terminal %s size 900,600\nset output '%s'\n", end && strcmp(end, ".svg") == 0 ? "svg" : "png",
            path);
    fputs("set xlabel 'words of the sentence'\nset ylabel 'ms'\nset logscale y\nset key left top\nplot ", gnuplot);
    for (int c = 0; c < drawn; c++)
        fprintf(gnuplot, "'-' using 1:2 with points pointtype 7 pointsize 0.5 title '%s'%s", curves[c],
                c + 1 < drawn ? ", " : "\n");
    for (int c = 0; c < drawn; c++) {
        for (size_t i = 0; i < count; i++)
            fprintf(gnuplot, "%zu %g\n", points[i].length, points[i].ms[c]);
        fputs("e\n", gnuplot);
    }
    if (pclose(gnuplot) != 0)
        fprintf(stderr, "trellis-bench: gnuplot could not draw %s\n", path);
}

static json_t *bin_of(const figure_point *points, size_t count, size_t bin, int drawn)
{
    double sum[CURVES] = {0}, words = 0, found = 0;
    for (size_t i = 0; i < count; i++)
        if (points[i].length / WIDTH == bin) {
            found++;
            words += (double)points[i].length;
            for (int c = 0; c < drawn; c++)
                sum[c] += points[i].ms[c];
        }
    if (found == 0)
        return NULL;
    json_t *line = json_pack("{s:f, s:f}", "words", words / found, "sentences", found);
    printf("  %8.1f %9.0f", words / found, found);
    for (int c = 0; c < drawn; c++) {
        json_object_set_new(line, curves[c], json_real(sum[c] / found));
        printf(" %10.4f", sum[c] / found);
    }
    putchar('\n');
    return line;
}

void decode_figure(fst_bench *b, const trl_transducer *transducer, const peer_fst *peer, const fst_sentences *s)
{
    int drawn = peer ? CURVES : CURVES - 1;
    figure_point *points = fst_must(trl__alloc(s->count + 1, sizeof *points));
    json_t *list = json_array();
    for (size_t i = 0; i < s->count; i++) {
        points[i].length = s->input[i].count;
        for (int c = 0; c < drawn; c++)
            points[i].ms[c] = sentence_ms(transducer, peer, c, &s->input[i]);
    }
    printf("  Viterbi in ms by length ([002]'s Fig. 4):\n  %8s %9s %10s %10s %10s\n", "words", "sentences", curves[0],
           curves[1], peer ? curves[2] : "");
    for (size_t bin = 0; bin < BINS; bin++) {
        json_t *line = bin_of(points, s->count, bin, drawn);
        if (line)
            json_array_append_new(list, line);
    }
    json_object_set_new(b->result, "figure4_ms", list);
    if (b->options->plot && s->count > 0)
        draw(b->options->plot, points, s->count, peer != NULL);
    trl__free(points);
}
