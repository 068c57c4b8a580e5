/* Frames of an utterance as they are kept (base/kept_results.h), with what is known of its sound. */
#ifndef TRL_FEAT_KEPT_FRAMES_H
#define TRL_FEAT_KEPT_FRAMES_H

#include "base/kept_results.h"

#include <trellis/extract.h>

/* The sound of an utterance: how long, and the rate and channels of its file. */
typedef struct trl__heard {
    double seconds, rate;
    int channels;
} trl__heard;

/* Of all that the frames depend on. */
uint64_t trl__extraction_job(const trl_corpus *corpus, const trl_frontend *frontend, const trl_extract_options *o);

/* sums: of the static rows that the frames are made of. */
int trl__frames_put(const trl__heard *sound, const trl_cmvn *sums, const trl_matrix *frames, trl__kept_bytes *b,
                    trl_error *err);

/* TRL_ECORRUPT: these are not frames of `cols` numbers, or not with sums of this dimension. */
int trl__frames_take(const unsigned char *bytes, size_t size, size_t cols, trl__heard *sound, trl_cmvn *sums,
                     trl_matrix *frames, trl_error *err);

#endif
