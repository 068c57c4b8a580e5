/* The processor as a device. A device is a set of kernels for an instruction set; a stream is a thread's memory. Calls
 * are done when they return, so there is nothing to wait for. */
#ifndef TRL_BACKEND_CPU_CPU_BACKEND_H
#define TRL_BACKEND_CPU_CPU_BACKEND_H

#include "backend/cpu/gmm_kernel.h"
#include "backend/cpu/shared_scores.h"
#include "base/random.h"

typedef struct trl__cpu_stream trl__cpu_stream;

typedef struct trl__cpu_parameters {
    trl__parameters base;
    trl__mixtures mixtures;   /* of a model with codebooks: dim and tied_states only */
    trl__shared_gmms *shared; /* the codebooks; NULL: none */
} trl__cpu_parameters;

/* What step 1 found besides the scores: the best components of its rows, for step 3. */
typedef struct trl__kept {
    trl__scratch memory;
    int32_t rows;   /* 0: nothing was kept */
    int64_t places; /* of their scores */
    trl__row *row;
    trl__gmm_best best; /* places as in scores[] */
} trl__kept;

/* The steps behind the scores, for one search. */
typedef struct trl__cpu_steps {
    int (*viterbi)(trl__cpu_stream *stream, trl__search *s, trl_error *err);
    int (*accumulate)(trl__cpu_stream *stream, const trl__mixtures *m, trl__placed *placed, const trl__kept *kept,
                      trl__search *s, trl__local_stats *local, trl_error *err);
    int (*forward_backward)(trl__cpu_stream *stream, trl__search *s, trl_error *err);
    int (*accumulate_soft)(trl__cpu_stream *stream, const trl__mixtures *m, const trl__kept *kept, trl__search *s,
                           trl__local_stats *local, trl_error *err);
} trl__cpu_steps;

typedef struct trl__cpu_device {
    trl__device base;
    const trl__gmm_kernel *kernel;
    const trl__cpu_steps *steps;
    char name[64]; /* of the processor */
} trl__cpu_device;

struct trl__cpu_stream {
    trl__stream base;
    const trl__gmm_kernel *kernel;
    trl__placed *placed; /* by search of the last call of `frames` */
    size_t placed_count, placed_capacity;
    trl__kept *kept; /* the same */
    size_t kept_capacity;
    trl__placed mixed;        /* frames that components share */
    trl__scratch components;  /* of the kernel */
    trl__scratch work;        /* of the step that runs */
    trl__shared_cache shared; /* of tied mixtures */
};

extern const trl__cpu_steps trl__cpu_steps_ref; /* in cpu_ref.c; the others are in files of their names */

int trl__cpu_viterbi(trl__cpu_stream *stream, trl__search *s, trl_error *err);
int trl__cpu_forward_backward(trl__cpu_stream *stream, trl__search *s, trl_error *err);
int trl__cpu_accumulate(trl__cpu_stream *stream, const trl__mixtures *m, trl__placed *placed, const trl__kept *kept,
                        trl__search *s, trl__local_stats *local, trl_error *err);
int trl__cpu_accumulate_soft(trl__cpu_stream *stream, const trl__mixtures *m, const trl__kept *kept, trl__search *s,
                             trl__local_stats *local, trl_error *err);

/* A device with a given kernel, whether this machine is known to have it or not. */
int trl__cpu_open(const trl__gmm_kernel *kernel, trl__device **out, trl_error *err);

/* Floats of scratch that a kernel wants for a model. NULL: out of memory. */
float *trl__cpu_scratch(trl__cpu_stream *stream, const trl__mixtures *m);

/* Is the node's band not empty at frame t? */
static inline int trl__in_band(const trl__search *s, int32_t node, int32_t t)
{
    return t >= s->node_first[node] && t < s->node_end_frame[node];
}

static inline float trl__node_score(const trl__search *s, int32_t node, int32_t t)
{
    const trl__row *row = &s->row[s->node_row[node]];
    return s->scores[row->offset + (t - row->first)];
}

/* Does frame t count in the statistics of the tied state's Gaussians? */
static inline int trl__is_sampled(const trl__search *s, int32_t tied, int32_t t)
{
    return !s->sample || s->sample[tied] >= 1 || trl__random_uniform(s->sample_seed, 0, (uint64_t)t) < s->sample[tied];
}

/* Back-pointers: fields of 1, 2, 4, 8 or 16 bits that do not cross bytes (16: two whole ones). */
static inline void trl__set_back(uint8_t *back, int64_t bit, int bits, uint32_t value)
{
    if (bits == 16) {
        back[bit >> 3] = (uint8_t)value;
        back[(bit >> 3) + 1] = (uint8_t)(value >> 8);
    } else {
        uint32_t shift = bit & 7, mask = ((1u << bits) - 1) << shift;
        back[bit >> 3] = (uint8_t)((back[bit >> 3] & ~mask) | value << shift);
    }
}

static inline uint32_t trl__get_back(const uint8_t *back, int64_t bit, int bits)
{
    if (bits == 16)
        return back[bit >> 3] | (uint32_t)back[(bit >> 3) + 1] << 8;
    return back[bit >> 3] >> (bit & 7) & ((1u << bits) - 1);
}

/* Transitions of the path, weights of its arcs, totals: what step 3 gathers besides the Gaussians. `best` is the sum
 * of the scores of the best components. */
void trl__add_path(trl__search *s, double best, trl__local_stats *local);
/* The same for Baum-Welch. */
void trl__add_arc_counts(const trl__search *s, trl__local_stats *local);
/* Where the path ends: last_node, last_arc, log_likelihood, from alpha at the last frame. */
void trl__end_of_path(trl__search *s);
/* Step 2b along back[]. */
int trl__backtrack_on_host(trl__search *s, trl_error *err);

#endif
