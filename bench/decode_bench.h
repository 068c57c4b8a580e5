/* What the parts of `trellis-bench decode` share. */
#ifndef TRELLIS_BENCH_DECODE_BENCH_H
#define TRELLIS_BENCH_DECODE_BENCH_H

#include "bench.h"
#include "ladder_bench.h"

#include <trellis/decode.h>
#include <trellis/score.h>

/* Kaldi's scoring tries these language scales, each with these penalties of a word. */
#define DECODE_FIRST_SCALE 7
#define DECODE_SCALES 11
#define DECODE_PENALTIES 3
#define DECODE_SETTINGS (DECODE_SCALES * DECODE_PENALTIES)

#define DECODE_THREADS 2

typedef struct decode_bench {
    const bench_options *options;
    json_t *result;
} decode_bench;

void decode_measure_an4(decode_bench *b);   /* word error rates of the ladder */
void decode_measure_cross(decode_bench *b); /* settings from held-out speakers; rungs compared over all speakers */
void decode_measure_fsdd(decode_bench *b);  /* isolated digits */
void decode_measure_speed(decode_bench *b);

/* ---- Data and models (decode_models.c) ---- */

extern const char *const decode_rungs[LADDER_RUNGS]; /* mono, tri, lda, sat */

typedef struct decode_data {
    char place[4096], folder[4096]; /* of the data; of this run's files */
    trl_findings *findings;
    trl_lexicon *lexicon;
    trl_fst *loop; /* every word and the end are equally likely */
    double rate;   /* of the front end, Hz */
    trl_pool *pool;
} decode_data;

/* 0: AN4 is not there. */
int decode_open_an4(decode_data *d);
void decode_close(decode_data *d);

/* Part of AN4: "train" or "test". */
trl_corpus *decode_read_corpus(decode_data *d, const char *part);

/* mono by itself, with as many Gaussians as it takes by default; then the ladder, of which mono is no more than a step. With --tiny few
 * iterations. */
void decode_train(const decode_bench *b, decode_data *d, const trl_corpus *corpus, uint64_t seed,
                  trl_model *models[LADDER_RUNGS]);
/* Any stages; l->models has what each came to. */
void decode_run_training(const decode_bench *b, decode_data *d, const trl_corpus *corpus, const char *stages,
                         uint64_t seed, ladder *l);
void decode_free_models(trl_model *models[LADDER_RUNGS]);

/* The models of AN4's training part. With --quick those of an earlier run with this program, if there was one. */
void decode_an4_models(const decode_bench *b, decode_data *d, trl_model *models[LADDER_RUNGS]);

/* Calibration of confidences; --plot draws it. */
void decode_measure_confidence(decode_bench *b, decode_data *d, const trl_model *model, const trl_corpus *test);

/* ---- Words at all settings (decode_sweep.c) ---- */

/* What was said, and what was recognised at each setting, as files in the run's folder; more corpora may be added. */
typedef struct decode_sweep {
    decode_data *data;
    char name[64];
} decode_sweep;

decode_sweep decode_sweep_begin(decode_data *d, const char *name);
void decode_sweep_add(decode_sweep *s, const trl_model *model, const trl_fst *grammar, const trl_lexicon *lexicon,
                      const trl_corpus *corpus);
/* Errors as Kaldi counts them. What uses the score's speakers may do so in `look` (NULL: nothing). */
trl_counts decode_sweep_counts(const decode_sweep *s, int setting, void (*look)(void *user, const trl_score *score),
                               void *user);
/* The setting with the fewest errors, the first of equals; *rate: its word error rate in %. */
int decode_sweep_best(const decode_sweep *s, double *rate);

/* A file of the run: "said" (setting -1), or what was recognised. */
void decode_sweep_path(const decode_sweep *s, int setting, char path[4300]);

double decode_percent(trl_counts counts);
const char *decode_setting_text(int setting, char text[32]); /* "12, 0.5" */

#endif
