/* Sentences through one transducer, by every method and by OpenFst. */
#ifndef TRELLIS_BENCH_FST_DECODE_H
#define TRELLIS_BENCH_FST_DECODE_H

#include "fst_bench.h"
#include "fst_translation.h"

#include <trellis/transduce.h>

enum { DECODE_METHODS = 3, DECODE_OPERATIONS = 4 };
extern const char *const decode_method_names[DECODE_METHODS];       /* serial, frontier, parallel */
extern const char *const decode_operation_names[DECODE_OPERATIONS]; /* viterbi, forward, backward, combined */
extern const char *const decode_task_names[PEER_TASKS];

typedef struct fst_sentences {
    trl_transduce_input *input; /* labels are its own */
    size_t count, capacity;
} fst_sentences;

/* The first sentences of the test text that have a path, `most` of them at most. */
void sentences_choose(fst_sentences *s, const fst_corpus *corpus, const translation *t,
                      const trl_transducer *transducer, size_t most);
void sentences_free(fst_sentences *s);

/* Milliseconds per sentence, the best of the runs; NAN: not measured. */
typedef struct decode_times {
    double method[DECODE_METHODS][DECODE_OPERATIONS]; /* CPU time of one core; parallel: wall time of two threads */
    double batch[2]; /* Viterbi by frontier, wall time: one thread, two over sentences */
    double peer[PEER_TASKS];
    double difference; /* of the weights, relative, largest between any two */
} decode_times;

/* Without a peer, `peer` is NULL. Ends the program when the answers differ. */
void decode_measure(const trl_transducer *transducer, const peer_fst *peer, const fst_sentences *s, int runs,
                    decode_times *out);

/* Milliseconds per sentence of Viterbi by frontier, one core, the best of so many passes. */
double decode_frontier_ms(const trl_transducer *transducer, const fst_sentences *s, int passes);

/* Fig. 4: Viterbi sentence by sentence against their length; draws it where a picture is asked for. */
void decode_figure(fst_bench *b, const trl_transducer *transducer, const peer_fst *peer, const fst_sentences *s);

#endif
