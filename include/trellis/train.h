/* Training: from a corpus and a lexicon to a model.
 *
 *     trl_train_options o = trl_train_defaults();
 *     o.stages = "mono,tri,lda,sat";
 *     trl_train(corpus, lexicon, frontend, &o, pool, skipped, &model, &err);
 *     trl_model_write(model, "an4.trm", &err);
 *
 * Stages, each from the model and the alignments of the one before:
 *   mono  phones without context, from a flat start: frames shared out evenly over the states of each transcript
 *   tri   phones in context, across words too; a decision tree ties what is alike
 *   lda   spliced frames, projected by linear discriminant analysis, then semi-tied covariances; a new tree
 *   sat   speaker-adaptive training: an affine transform (fMLLR) of each speaker's frames; a new tree
 * A stage has rounds: each round has a number of components per state (1, 2, 4, … or a total that grows) and some
 * iterations of training along best paths, or Baum-Welch.
 */
#ifndef TRELLIS_TRAIN_H
#define TRELLIS_TRAIN_H

#include <trellis/align.h>
#include <trellis/frontend.h>

TRL_BEGIN_DECLS

#define TRL_MOST_STAGES 16

/* Which frames a Gaussian is estimated from. */
typedef enum trl_em {
    TRL_EM_VITERBI,    /* those of the best path where it is its state's best component ([000] 2.1): the quickest */
    TRL_EM_BAUM_WELCH, /* all, with the posteriors of states and components */
    TRL_EM_SHARED      /* those of the best path, which a state's components share by their posteriors */
} trl_em;

/* What one iteration did; seconds are wall time, steps are sums over threads. */
typedef struct trl_iteration {
    const char *stage;            /* its name */
    int32_t stage_number, stages; /* from 1; of how many */
    int32_t number;               /* from 1, over all stages */
    int32_t first, of;            /* the stage's first and last */
    int32_t tied_states;
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
    double
        transform_gain; /* log-likelihood per frame that a transform estimated ahead of this iteration brought; 0: there was none */
    double seconds;                                             /* wall */
    double stage_seconds;                                       /* wall, since the stage began */
    double sound;                                               /* seconds of sound */
    double load, score, alpha, backtrack, accumulate, estimate; /* seconds of processor time */
    double gaussians_scored;                                    /* frames x components in step 1 */
} trl_iteration;

typedef struct trl_train_options {
    trl_model_options model; /* word_positions -1, the default here: 1 where tri, lda or sat follow */
    const char *stages;      /* names, with commas between; default "mono" */
    const trl_model *from;   /* the first stage starts from this model; NULL: mono from a flat start */
    int em;                  /* trl_em; default TRL_EM_SHARED, which best_component makes TRL_EM_VITERBI */
    int components; /* mono: per state at the end; 0, the default: 32 (1-2-4-8-16-32), or 8 when stages follow */
    int64_t total_gaussians;         /* mono, instead: so many in all, shared out by occupancy; 0: by components */
    double occupancy_power;          /* default 0.25 */
    int context_left, context_right; /* units of context on either side; default 1 and 1: triphones */
    const char *questions; /* file of questions for the tree (HTK's QS, Kaldi's sets); NULL: made from the data */
    int leaves;            /* the most tied states of a tree; 0, the default: 480 per 42 minutes, 8000 per 400 hours */
    double least_leaf_frames; /* of a leaf; 0, the default: a tenth of the average, 20 to 18,000 */
    double least_gain;        /* log-likelihood in all that a split of the tree must bring; default 0 */
    double varmix_alpha,
        varmix_beta; /* components of a state in context: beta * frames ^ alpha ([001] eq. 1); default 0.3, 2.2 */
    int64_t context_gaussians; /* instead: so many in all, shared out by occupancy; 0: by alpha and beta */
    double sample_frames; /* states with more frames are estimated from a random sample of so many; default 256,000 */
    int lda_splice;       /* frames on either side; default 4 */
    int lda_dim;          /* default 39 */
    int iterations;       /* per round; 0, the default: 4, or 6 where mono is all there is */
    int margin;           /* frames, TRL_MARGIN_AUTO (default) or TRL_MARGIN_FULL */
    double audit;         /* share of utterances searched in the band and widely; at least 50; default 0.002 */
    double beam;          /* of first alignments; default 400 */
    int best_component; /* 1: states score by their best component, not the sum, so that the joint score never falls */
    double variance_floor, least_count;
    double variance_prior; /* frames that a Gaussian's variances borrow from the others of its state; default 20 */
    uint64_t seed;
    int unknown_words; /* trl_unknown_words; default auto */
    int channel, skip_bad;
    const char *folder;   /* for features and checkpoints; NULL: a temporary one, removed at the end, no checkpoints */
    int resume;           /* go on from the checkpoint in `folder`; where it has none, begin */
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
TRL_API int trl_train_iterations(const trl_train_options *options); /* per round */
TRL_API int trl_train_options_check(const trl_train_options *options, trl_error *err);

/* `skipped` (required) receives utterances that could not be used, or not be aligned, and why, and warnings (see
 * align.h). The same bytes for every number of threads and after every interruption. */
TRL_API int trl_train(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
                      const trl_train_options *options, trl_pool *pool, trl_findings *skipped, trl_model **out,
                      trl_error *err);

/* 1: `folder` has a checkpoint, which a training there without `resume` replaces. */
TRL_API int trl_train_interrupted(const char *folder);

/* Removes what a training left in `folder` for --resume; the folder too when nothing else is in it. Features that it was
 * given (NULL: none) stay. */
TRL_API void trl_train_clean(const char *folder, const char *features);

TRL_END_DECLS

#endif
