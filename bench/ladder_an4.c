/* Real speech: CMU AN4 (2546 s) through all stages, from sound files, and how likely each rung finds the speech of speakers it never heard.
 *
 * Likelihoods of frames in different spaces can't be compared: LDA's frames are other numbers than MFCCs. So each is also given on top of what one
 * Gaussian with a full covariance, of all training frames in the same space, finds. An invertible linear map adds the same to both, and the
 * difference stays. Frames of the stage sat count as those before the speakers' transforms (the transforms' log-determinants are in
 * the likelihoods), so lda and sat share a space. */
#include "ladder_bench.h"
#include "train_bench.h"
#include "base/lapack.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/extract.h>

#define THREADS 2
#define LOG_2PI 1.8378770664093453

typedef struct an4_ladder {
    ladder ladder;
    char folder[4096];
    trl_findings *findings;
    trl_corpus *train, *test;
    trl_lexicon *lexicon;
    trl_frontend *frontend;
    trl_pool *pool;
    double wall;
    double held_out[LADDER_RUNGS];                                    /* log-likelihood per frame */
    double gaussian_train[LADDER_RUNGS], gaussian_test[LADDER_RUNGS]; /* one Gaussian's */
} an4_ladder;

static void open_an4(an4_ladder *a, const char *place, int tiny)
{
    char path[4200];
    trl_error err;
    bench_folder(a->folder, sizeof a->folder);
    bench_check(trl_findings_create(&a->findings, &err), &err);
    snprintf(path, sizeof path, "%.4000s/%s", place, tiny ? "test" : "train");
    bench_check(trl_corpus_read(path, NULL, a->findings, &a->train, &err), &err);
    snprintf(path, sizeof path, "%.4000s/test", place);
    bench_check(trl_corpus_read(path, NULL, a->findings, &a->test, &err), &err);
    snprintf(path, sizeof path, "%.4000s/lexicon.txt", place);
    bench_check(trl_lexicon_read(path, NULL, &a->lexicon, &err), &err);
    a->frontend = train_frontend();
    bench_check(trl_pool_create(THREADS, &a->pool, &err), &err);
}

static void close_an4(an4_ladder *a)
{
    for (int i = 0; i < LADDER_RUNGS; i++)
        trl_model_destroy(a->ladder.models[i]);
    trl_pool_destroy(a->pool);
    trl_frontend_destroy(a->frontend);
    trl_lexicon_destroy(a->lexicon);
    trl_corpus_destroy(a->train);
    trl_corpus_destroy(a->test);
    trl_findings_destroy(a->findings);
    bench_remove_folder(a->folder);
}

/* ---- The ladder ---- */

static void climb(an4_ladder *a, int iterations)
{
    trl_error err;
    trl_model *model;
    trl_train_options o = trl_train_defaults();
    o.stages = LADDER_STAGES;
    o.iterations = iterations;
    o.folder = a->folder;
    o.report = ladder_note;
    o.user = &a->ladder;
    a->ladder.folder = a->folder;
    double start = bench_wall_seconds();
    bench_check(trl_train(a->train, a->lexicon, a->frontend, &o, a->pool, a->findings, &model, &err), &err);
    a->wall = bench_wall_seconds() - start;
    trl_model_destroy(model);
}

/* ---- One Gaussian ---- */

typedef struct scatter {
    size_t dim;
    double frames, *sum, *outer; /* dim; dim * dim */
} scatter;

static int add_frames(void *user, const trl_utterance *utterance, const trl_matrix *frames, trl_error *err)
{
    (void)utterance;
    (void)err;
    scatter *s = user;
    for (size_t t = 0; t < frames->rows; t++) {
        const float *o = trl_matrix_row(frames, t);
        s->frames++;
        for (size_t i = 0; i < s->dim; i++) {
            s->sum[i] += (double)o[i];
            for (size_t j = 0; j < s->dim; j++)
                s->outer[i * s->dim + j] += (double)o[i] * (double)o[j];
        }
    }
    return 0;
}

static trl_frontend *model_frontend(const trl_model *model)
{
    trl_error err;
    trl_frontend_options o;
    trl_frontend *frontend;
    bench_check(trl_frontend_preset(&o, "mfcc", &err), &err);
    bench_check(trl_frontend_parse(&o, trl_model_frontend(model), "the model's front end", &err), &err);
    bench_check(trl_frontend_create(&o, &frontend, &err), &err);
    trl_matrix_free(&o.transform);
    return frontend;
}

static scatter gather_scatter(an4_ladder *a, const trl_model *model, const trl_corpus *corpus)
{
    trl_error err;
    scatter s = {.dim = (size_t)trl_model_dim(model)};
    s.sum = trl__alloc_zero(s.dim, sizeof *s.sum);
    s.outer = trl__alloc_zero(s.dim * s.dim, sizeof *s.outer);
    if (!s.sum || !s.outer)
        exit(3);
    trl_frontend *frontend = model_frontend(model);
    bench_check(trl_extract_corpus(corpus, frontend, NULL, a->pool, a->findings, add_frames, &s, NULL, &err), &err);
    trl_frontend_destroy(frontend);
    return s;
}

static void free_scatter(scatter *s)
{
    trl__free(s->sum);
    trl__free(s->outer);
}

/* Log-likelihood per frame of `of` under the Gaussian of `train`. */
static double gaussian_likelihood(const scatter *train, const scatter *of)
{
    size_t dim = train->dim;
    double *precision = trl__alloc(2 * dim * dim, sizeof *precision), log_det, distance = 0;
    int *pivots = trl__alloc(dim, sizeof *pivots);
    if (!precision || !pivots)
        exit(3);
    for (size_t i = 0; i < dim * dim; i++)
        precision[i] = train->outer[i] / train->frames -
                       train->sum[i / dim] / train->frames * (train->sum[i % dim] / train->frames);
    if (trl__invert(precision, dim, pivots, precision + dim * dim, &log_det) != 0)
        log_det = NAN;
    for (size_t i = 0; i < dim * dim; i++) {
        double m = train->sum[i / dim] / train->frames, n = train->sum[i % dim] / train->frames;
        double x = of->sum[i / dim] / of->frames, y = of->sum[i % dim] / of->frames;
        distance += precision[i] * (of->outer[i] / of->frames - m * y - x * n + m * n);
    }
    trl__free(precision);
    trl__free(pivots);
    return -0.5 * ((double)dim * LOG_2PI + log_det + distance);
}

/* Rungs with the same front end share a space. */
static void measure_gaussian(an4_ladder *a, int rung)
{
    const trl_model *model = a->ladder.models[rung];
    if (rung > 0 && strcmp(trl_model_frontend(model), trl_model_frontend(a->ladder.models[rung - 1])) == 0) {
        a->gaussian_train[rung] = a->gaussian_train[rung - 1];
        a->gaussian_test[rung] = a->gaussian_test[rung - 1];
        return;
    }
    scatter train = gather_scatter(a, model, a->train), test = gather_scatter(a, model, a->test);
    a->gaussian_train[rung] = gaussian_likelihood(&train, &train);
    a->gaussian_test[rung] = gaussian_likelihood(&train, &test);
    free_scatter(&train);
    free_scatter(&test);
}

/* ---- Speakers never heard ---- */

static int ignore(void *user, const trl_alignment *alignment, trl_error *err)
{
    (void)user;
    (void)alignment;
    (void)err;
    return 0;
}

static double held_out_likelihood(an4_ladder *a, const trl_model *model)
{
    trl_error err;
    trl_align_summary summary;
    trl_align_options o = trl_align_defaults();
    o.confidence = 0;
    bench_check(trl_align_corpus(model, a->lexicon, a->test, &o, a->pool, a->findings, ignore, NULL, &summary, &err),
                &err);
    return summary.log_likelihood;
}

static void measure_likelihoods(an4_ladder *a)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        a->held_out[i] = held_out_likelihood(a, a->ladder.models[i]);
        measure_gaussian(a, i);
    }
}

/* ---- What is said ---- */

static void print_likelihoods(const an4_ladder *a)
{
    printf(
        "  log-likelihood per frame; mono and tri see MFCCs with differences, lda and sat other frames: compare what "
        "is above one Gaussian\n"
        "  %-6s %12s %12s %12s | %12s %12s %12s\n",
        "stage", "training", "one Gaussian", "above it", "held out", "one Gaussian", "above it");
    for (int i = 0; i < LADDER_RUNGS; i++) {
        double train = a->ladder.rungs[i].log_likelihood;
        printf("  %-6s %12.4f %12.4f %12.4f | %12.4f %12.4f %12.4f\n", a->ladder.rungs[i].name, train,
               a->gaussian_train[i], train - a->gaussian_train[i], a->held_out[i], a->gaussian_test[i],
               a->held_out[i] - a->gaussian_test[i]);
    }
}

static json_t *stages_json(const an4_ladder *a)
{
    json_t *stages = ladder_json(&a->ladder);
    for (int i = 0; i < LADDER_RUNGS; i++) {
        json_t *more = json_pack("{s:f, s:f, s:f, s:f}", "above_gaussian",
                                 a->ladder.rungs[i].log_likelihood - a->gaussian_train[i], "held_out_loglik_per_frame",
                                 a->held_out[i], "held_out_gaussian_loglik_per_frame", a->gaussian_test[i],
                                 "held_out_above_gaussian", a->held_out[i] - a->gaussian_test[i]);
        json_object_update(json_object_get(stages, a->ladder.rungs[i].name), more);
        json_decref(more);
    }
    return stages;
}

/* The least that a rung adds to the one below it, in what can be compared. */
static double least_rise(const an4_ladder *a)
{
    double least = INFINITY;
    for (int i = 1; i < LADDER_RUNGS; i++)
        least = fmin(least, a->held_out[i] - a->gaussian_test[i] - a->held_out[i - 1] + a->gaussian_test[i - 1]);
    return least;
}

static void draw(const an4_ladder *a, const char *path)
{
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot)
        return;
    const char *dot = strrchr(path, '.');
    fprintf(gnuplot, "set terminal %s size 900,600\nset output '%s'\n",
            dot && strcmp(dot, ".svg") == 0 ? "svg" : "pngcairo", path);
    fputs("set key left top\nset grid y\nset style data histograms\nset style fill solid 0.7\nset yrange [0:*]\n"
          "set ylabel 'log-likelihood per frame above one Gaussian'\nset title 'The ladder on AN4'\n"
          "plot '-' using 2:xtic(1) title 'training', '-' using 2:xtic(1) title 'held-out speakers'\n",
          gnuplot);
    for (int held_out = 0; held_out <= 1; held_out++) {
        for (int i = 0; i < LADDER_RUNGS; i++)
            fprintf(gnuplot, "%s %g\n", a->ladder.rungs[i].name,
                    held_out ? a->held_out[i] - a->gaussian_test[i]
                             : a->ladder.rungs[i].log_likelihood - a->gaussian_train[i]);
        fputs("e\n", gnuplot);
    }
    if (pclose(gnuplot) != 0)
        fprintf(stderr, "trellis-bench: gnuplot could not draw %s\n", path);
}

void ladder_measure_an4(ladder_bench *b)
{
    char place[4096];
    an4_ladder a = {0};
    if (!bench_shared("an4", place)) {
        bench_absent(b->result, "an4_ladder_wall_s", "../shared/data/an4 is not there");
        bench_absent(b->result, "an4_held_out_least_rise", "");
        bench_absent(b->result, "stages", "");
        return;
    }
    open_an4(&a, place, b->options->tiny);
    climb(&a, b->sizes.an4_iterations);
    bench_report(b->result, "an4_ladder_wall_s", a.wall, "s",
                 "mono, tri, lda, sat from AN4's sound files, two threads");
    ladder_print(&a.ladder);
    measure_likelihoods(&a);
    print_likelihoods(&a);
    bench_report(b->result, "an4_held_out_least_rise", least_rise(&a), "",
                 "of a stage over the one before: held-out speakers, above one Gaussian");
    json_object_set_new(b->result, "stages", stages_json(&a));
    if (b->options->plot)
        draw(&a, b->options->plot);
    close_an4(&a);
}
