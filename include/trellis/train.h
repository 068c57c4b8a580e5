/* Training: from a corpus and a lexicon to a model.
 *
 *     trl_train_options o = trl_train_defaults();
 *     o.components = 8;
 *     trl_train(corpus, lexicon, frontend, &o, pool, skipped, &model, &err);
 *     trl_model_write(model, "an4.trm", &err);
 *
 * Flat start (frames shared out evenly over the states of each transcript), then rounds: each round has a number of
 * components per state (1, 2, 4, … or a total that grows) and some iterations of Viterbi training ([000] 2.1) or
 * Baum-Welch.
 */
#ifndef TRELLIS_TRAIN_H
#define TRELLIS_TRAIN_H

#include <trellis/align.h>
#include <trellis/frontend.h>

TRL_BEGIN_DECLS

typedef enum trl_em { TRL_EM_VITERBI, TRL_EM_BAUM_WELCH } trl_em;

/* What one iteration did; seconds are wall time, steps are sums over threads. */
typedef struct trl_iteration {
    int32_t number, of; /* from 1 */
    int32_t components; /* the most of any state */
    int64_t gaussians;
    double log_likelihood; /* per frame */
    double joint;          /* per frame: best path, best components (Viterbi) */
    double frames;
    size_t utterances, failed;             /* aligned, left out of this iteration */
    size_t redone;                         /* searched again with a wider band */
    int wide;                              /* 1: everybody was searched with a beam, not in a band */
    size_t audited;                        /* searched in the band and in full (wide: with the beam) … */
    double audited_frames, audited_differ; /* … frames, and those that came out otherwise */
    int64_t dropped, floored,
        kept_states; /* by the estimate: components without data, variances at the floor, states without data */
    double seconds;  /* wall */
    double sound;    /* seconds of sound */
    double load, score, alpha, backtrack, accumulate, estimate; /* seconds of processor time */
    double gaussians_scored;                                    /* frames x components in step 1 */
} trl_iteration;

typedef struct trl_train_options {
    trl_model_options model;
    int em;                  /* trl_em */
    int components;          /* per state at the end; default 32: 1-2-4-8-16-32 */
    int64_t total_gaussians; /* instead: so many in all, shared out by occupancy; 0: by components */
    double occupancy_power;  /* default 0.25 */
    int iterations;          /* per round; default 4 */
    int margin;              /* frames, TRL_MARGIN_AUTO (default) or TRL_MARGIN_FULL */
    double audit;            /* share of utterances searched in the band and widely; at least 50; default 0.002 */
    double beam;             /* of first alignments; default 400 */
    int best_component; /* 1: states score by their best component, not the sum, so that the joint score never falls */
    double variance_floor, least_count;
    uint64_t seed;
    int unknown_words; /* trl_unknown_words; default skip */
    int channel, skip_bad;
    const char *folder;   /* for features and checkpoints; NULL: a temporary one, removed at the end, no checkpoints */
    int resume;           /* go on from the checkpoint in `folder` */
    const char *features; /* packed features instead of the sound; NULL: from the sound */
    const char *device;   /* "cpu" … */
    const char *provenance;   /* goes into the model */
    const char *lexicon_name; /* for the model's reference to it; NULL: none */
    const char *journal; /* a file for the story of the training with times, a JSON object per iteration; NULL: none */
    void (*report)(void *user, const trl_iteration *iteration); /* after each iteration; NULL: none */
    void *user;
    trl_progress *progress;
} trl_train_options;

TRL_API trl_train_options trl_train_defaults(void);
TRL_API int trl_train_options_check(const trl_train_options *options, trl_error *err);

/* `skipped` (required) receives utterances that could not be used, or not be aligned, and why, and warnings (see
 * align.h). The same bytes for every number of threads and after every interruption. */
TRL_API int trl_train(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
                      const trl_train_options *options, trl_pool *pool, trl_findings *skipped, trl_model **out,
                      trl_error *err);

/* Removes what a training left in `folder` for --resume; the folder too when nothing else is in it. */
TRL_API void trl_train_clean(const char *folder);

TRL_END_DECLS

#endif
