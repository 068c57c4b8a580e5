/* What recognition has found of an utterance, as bytes to be kept (trellis/kept.h) and back. */
#ifndef TRL_DECODE_KEPT_DECODING_H
#define TRL_DECODE_KEPT_DECODING_H

#include "base/kept_results.h"
#include "decode/best_words.h"

#include <trellis/decode.h>

/* An utterance on its way. */
typedef struct trl__decoded {
    trl__best_words best;
    trl_lattice *lattice;    /* NULL: none */
    int is_narrow;           /* memory ended before all of it was made */
    trl_lattice_word *words; /* with confidences, where they are asked for */
    size_t word_capacity;
    double expected_errors;
    trl_segment *segments;
    size_t segment_capacity;
    double seconds;
    double log_det; /* per frame, on top of the log-likelihood */
} trl__decoded;

/* A hash of all that the results depend on. */
uint64_t trl__decoding_job(const trl_model *model, const trl_graph *graph, const trl_corpus *corpus,
                           const trl_decode_options *options);

int trl__decoding_put(const trl__decoded *d, trl__kept_bytes *b, trl_error *err);

/* All that delivery needs; `words` stays as it is. TRL_ECORRUPT: these bytes are none of these. */
int trl__decoding_take(const unsigned char *bytes, size_t size, const trl_graph *graph, trl__decoded *d,
                       trl_error *err);

#endif
