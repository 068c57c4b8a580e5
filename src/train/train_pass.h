/* One pass over the corpus: the E-step, from (model, data, last alignments) to (statistics, new alignments).
 *
 * Utterances are worked on in fixed blocks of TRL__UTTERANCE_BLOCK. A block's statistics are gathered by one thread; blocks are
 * merged into the global sums, and their alignments written, in the order of the corpus. So the result is the same for
 * every number of threads, and what waits is a few blocks, however large the corpus.
 */
#ifndef TRL_TRAIN_TRAIN_PASS_H
#define TRL_TRAIN_TRAIN_PASS_H

#include "train/alignment_store.h"
#include "train/training_data.h"

#define TRL__NOTABLE 10 /* utterances that a report names */

typedef enum trl__pass_kind {
    TRL__PASS_FLAT,  /* frames are shared out evenly, nothing is searched */
    TRL__PASS_FIRST, /* a beam for everybody; `previous` is only a flat start */
    TRL__PASS_WIDE,  /* a beam for everybody; in audited utterances the band is searched too */
    TRL__PASS_BAND   /* a band around the previous path; audited utterances are searched in full too */
} trl__pass_kind;

typedef struct trl__pass {
    const trl__training_data *data;
    const trl_lexicon *lexicon;
    const trl_model *model;
    const float *sample; /* by tied state: the share of its frames that make statistics; NULL: all do */
    trl__device *device;
    const trl__alignment_store *previous; /* of the last iteration; may be NULL when it is no guide: FLAT, FIRST */
    trl__pass_kind kind;
    int iteration; /* from 1; chooses the utterances to audit */
    double audit;  /* share of the utterances to audit */
    const trl_train_options *options;
    trl__search_options search;
    trl_pool *pool;
    uint8_t *named; /* by utterance: 1 once a finding says that it can't be aligned, whatever iteration that was */
} trl__pass;

typedef struct trl__notable {
    size_t utterance;
    double value;
} trl__notable;

typedef struct trl__pass_result {
    trl_iteration numbers;              /* all but those of the M-step */
    trl__notable worst[TRL__NOTABLE];   /* log-likelihood per frame, the lowest first */
    trl__notable slowest[TRL__NOTABLE]; /* seconds, the highest first */
    trl__notable failed[TRL__NOTABLE];  /* value: trl__search_status */
    trl__notable unfit[TRL__NOTABLE];   /* fit (align/fit.h), the lowest first; of the last iteration */
    size_t worst_count, slowest_count, failed_count, unfit_count;
} trl__pass_result;

/* How passes with these options search. */
trl__search_options trl__pass_search(const trl_train_options *options);

/* stats must be zero. Failures become findings, one for each utterance. */
int trl__pass_run(const trl__pass *pass, trl__stats *stats, trl__alignment_writer *alignments, trl_findings *skipped,
                  trl__pass_result *result, trl_error *err);

/* The clock's time, for differences. */
double trl__wall_seconds(void);

/* What a status means, for people: "fewer frames than states", … */
const char *trl__status_text(int32_t status);

#endif
