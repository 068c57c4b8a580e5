/* After training: which transcripts don't fit their sound? */
#ifndef TRL_TRAIN_MISFITS_H
#define TRL_TRAIN_MISFITS_H

#include "train/train_pass.h"

/* Adds findings (TRL_FINDING_MISFIT, see align/fit.h) for the paths of the last iteration in this model, and notes the
 * lowest fits in the result. Cost: less than an iteration. */
int trl__find_misfits(const trl__training_data *data, const trl_lexicon *lexicon, const trl_model *model,
                      trl__device *device, const trl__alignment_store *alignments, trl_pool *pool,
                      trl_findings *findings, trl__pass_result *result, trl_error *err);

#endif
