/* Passes over a corpus with a model: those that adapt to its speakers, and one for good. What is done with the frames of an utterance is the
 * caller's; alignment and recognition differ in that alone.
 *
 *     trl__passes_create(model, corpus, &options, pool, &passes, err);          // front end, device, the model on it
 *     trl__passes_adapt(passes, &first, err);                                   // work: find a path, trl__adaptation_gather
 *     trl__passes_run(passes, &last, skipped, err);                             // work: find the result; use: deliver it
 *
 * Each thread makes the frames of an utterance and works on them; results wait in the caller's slots until it is their turn. Memory: sixteen
 * utterances per thread.
 *
 * A model for adapted frames is brought to each speaker first (adapt_pass.h). In every pass, utterances of speakers who have a transform are
 * adapted and go with the model's mixtures, all others with the mixtures for frames as they come.
 *
 * With likelihoods from a file no sound is read: batches of matrices come from the file, in corpus order, and all
 * threads work on a batch. Where there is sound, its length is compared with theirs.
 */
#ifndef TRL_ALIGN_CORPUS_PASSES_H
#define TRL_ALIGN_CORPUS_PASSES_H

#include "align/adapt_pass.h"
#include "backend/backend.h"

#include <trellis/finding.h>
#include <trellis/frontend.h>
#include <trellis/pool.h>
#include <trellis/progress.h>

typedef struct trl__passes_options {
    const char *likelihoods; /* file of a matrix per utterance; NULL: sound */
    int subsampling;         /* with likelihoods: frames that a row stands for */
    const char *only;        /* this utterance alone; NULL: all */
    const char *device;      /* NULL: cpu */
    int channel, skip_bad;   /* see extract.h */
    int online;              /* see model_frontend.h */
    int adapt;               /* estimates of the speakers' transforms, at most */
    trl_progress *progress;
} trl__passes_options;

/* What there is of an utterance. */
typedef struct trl__pass_frames {
    const trl_utterance *utterance;
    const trl_matrix *matrix;          /* frames, or likelihoods where there are no parameters */
    const trl__parameters *parameters; /* the mixtures that fit the frames */
    double log_det;                    /* per frame, on top of the log-likelihood: of frames as they came */
    double seconds;                    /* of sound; 0: not known */
    size_t slot;
    int worker;
} trl__pass_frames;

typedef struct trl__pass {
    /* Called by any thread, each worker one at a time. A failure ends all; trl__passes_refuse leaves out the utterance. */
    int (*work)(void *user, const trl__pass_frames *frames, trl_error *err);
    /* In corpus order, one call at a time, for those that were not refused; NULL: nothing to do. */
    int (*use)(void *user, const trl_utterance *utterance, size_t slot, trl_error *err);
    void *user;
} trl__pass;

typedef struct trl__passes_summary {
    size_t skipped;                     /* in the last pass */
    trl__adaptation_summary adaptation; /* speakers that were adapted */
} trl__passes_summary;

typedef struct trl__passes trl__passes;

/* How often the corpus is gone through, at most. */
int trl__passes_count(const trl_model *model, const trl__passes_options *options);

/* Model, corpus, pool and the options' strings must outlive it. TRL_EINVAL: the model has no front end, or one that does not fit. */
int trl__passes_create(const trl_model *model, const trl_corpus *corpus, const trl__passes_options *options,
                       trl_pool *pool, trl__passes **out, trl_error *err);
void trl__passes_destroy(trl__passes *passes);

trl__device *trl__passes_device(const trl__passes *passes);
const trl_frontend_options *trl__passes_frontend(const trl__passes *passes); /* of what `work` gets as frames */
int trl__passes_workers(const trl__passes *passes);                          /* workers are numbered below this … */
size_t trl__passes_slots(const trl__passes *passes);                         /* … and slots below this */

/* Nothing to do where nobody can be adapted. In `work`, a path goes to trl__adaptation_gather of this adaptation; utterances of speakers who have no transform
 * after the first pass don't come again, since they won't get one. What is left out here is left out again at the end, and named then. */
int trl__passes_adapt(trl__passes *passes, const trl__pass *pass, trl_error *err);
trl__adaptation *trl__passes_adaptation(trl__passes *passes);

/* `skipped` gets what is left out, and why. */
int trl__passes_run(trl__passes *passes, const trl__pass *pass, trl_findings *skipped, trl_error *err);

/* In `work`: this utterance can't be used, for this reason; without skip_bad that is the end. Returns 0. */
int trl__passes_refuse(trl__passes *passes, size_t slot, trl_finding_kind kind, int code, const char *why);

trl__passes_summary trl__passes_summarise(const trl__passes *passes);

#endif
