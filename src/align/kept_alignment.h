/* What alignment has found of an utterance, as bytes to be kept (trellis/kept.h) and back. */
#ifndef TRL_ALIGN_KEPT_ALIGNMENT_H
#define TRL_ALIGN_KEPT_ALIGNMENT_H

#include "align/segments.h"
#include "base/kept_results.h"

#include <trellis/align.h>

typedef struct trl__aligned {
    int32_t frames, judged;              /* judged: for the fit */
    double seconds, log_likelihood, fit; /* log-likelihood: of the whole utterance */
} trl__aligned;

/* A hash of all that the results depend on. */
uint64_t trl__alignment_job(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                            const trl_align_options *options);

int trl__alignment_put(const trl__aligned *aligned, const trl__segmentation *g, trl__kept_bytes *b, trl_error *err);

/* Labels stay in the bytes, which must outlive the segments. TRL_ECORRUPT: these bytes are none of these. */
int trl__alignment_take(const unsigned char *bytes, size_t size, trl__aligned *aligned, trl__segmentation *g,
                        trl_error *err);

#endif
