/* Walking through the arcs of one symbol: the loops where a search spends its time, once per instruction set.
 *
 *     hits   rows of the symbol whose source is alive, found by intersecting bitmaps
 *     best   arcs of these rows (or all arcs of the symbol) into cells that keep the smallest (score, arc)
 *     sums   arcs of these rows as probabilities, copied one after the other, then added up; and the same backwards
 *
 * A cell is 64 bits: the score in an order of bits that compares as the numbers do, then the arc. So the minimum of two
 * cells is one comparison, ties go to the first arc, and the outcome does not depend on the order of walking (Argueta
 * and Chiang, 2017, 5.1).
 */
#ifndef TRL_TRANSDUCE_WALK_H
#define TRL_TRANSDUCE_WALK_H

#include "base/bytes.h"
#include "transduce/transducer_data.h"

#define TRL__EMPTY UINT64_MAX                   /* a cell that nothing reached */
#define TRL__NEVER ((uint64_t)0xff800000 << 32) /* cells from here on have an infinite score */

static inline uint64_t trl__pack(float score, uint32_t back)
{
    uint32_t bits = trl__bits_of_float(score);
    return (uint64_t)(bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u)) << 32 | back;
}

/* The same for scores that are not below 0. */
static inline uint64_t trl__pack_positive(float score, uint32_t back)
{
    return (uint64_t)trl__bits_of_float(score) << 32 | (uint64_t)1 << 63 | back;
}

static inline float trl__score_of(uint64_t cell)
{
    uint32_t key = (uint32_t)(cell >> 32);
    return trl__float_of_bits(key ^ (key & 0x80000000u ? 0x80000000u : 0xffffffffu));
}

/* A row to walk, and the node (of the position it starts from) that is its source. */
typedef struct trl__hit {
    uint32_t row, node;
} trl__hit;

/* What is alive at a position: states of its nodes, a bitmap of them, and by state the node. */
typedef struct trl__alive {
    const uint32_t *state;
    size_t count;
    const uint64_t *bits;
    const uint32_t *node;
} trl__alive;

/* The states that were reached: a list in order of discovery. `fresh` has room for one more than all states. */
typedef struct trl__best_cells {
    uint64_t *cell; /* by state */
    uint32_t *fresh;
    size_t count;
} trl__best_cells;

/* An arc on its way through a step of sums: state, and probability or weight. */
typedef struct trl__edge {
    uint32_t target;
    float value;
} trl__edge;

/* e^-w for w within ±80: 2^n times a polynomial in what is left, error below 2e-7. */
static inline float trl__probability(float weight)
{
    float whole = weight * -1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds, and the integer is in the low bits */
    uint32_t n = trl__bits_of_float(whole) - 0x4B400000u;
    whole -= 12582912.0f;
    float x = -weight - whole * 0.693359375f + whole * 2.12194440e-4f, p = 1.9875691500e-4f; /* log 2 in two parts */
    p = p * x + 1.3981999507e-3f;
    p = p * x + 8.3334519073e-3f;
    p = p * x + 4.1665795894e-2f;
    p = p * x + 1.6666665459e-1f;
    p = p * x + 5.0000001201e-1f;
    return (p * x * x + x + 1.0f) * trl__float_of_bits((n + 127) << 23);
}

typedef struct trl__sum_cells {
    double *sum; /* by state; 0 when not reached */
    uint32_t *fresh;
    size_t count;
} trl__sum_cells;

/* Arcs that lie together in the transducer and have the same source. */
typedef struct trl__run {
    uint64_t arc;
    uint32_t node, count;
} trl__run;

typedef struct trl__walk {
    /* The rows of sources that are alive; how many. Rows rise unless there are few nodes. */
    size_t (*hits)(const trl_transducer *t, const trl__symbol *s, const trl__alive *alive, trl__hit *out);

    /* Scores of nodes plus `weight` plus the arc's into the cells; back is `base` plus the arc's number within the
     * symbol. */
    void (*best_rows)(const trl_transducer *t, const trl__symbol *s, const trl__hit *hits, size_t count,
                      const float *score, float weight, uint32_t base, trl__best_cells *cells);

    /* The same over all arcs, from scores by state (infinite: not alive), without `weight`. */
    void (*best_all)(const trl_transducer *t, const trl__symbol *s, const float *score, uint32_t base,
                     trl__best_cells *cells);

    /* Copies the arcs of the rows to `edges`, weights as probabilities when asked for, and makes a run of each row.
     * Stops when there is no `room` for a row's edges (there is for TRL__WALK_PAD more); returns how many rows were
     * copied. */
    size_t (*copy_rows)(const trl_transducer *t, const trl__symbol *s, const trl__hit *hits, size_t count,
                        int probability, trl__edge *edges, size_t room, trl__run *runs);

    /* Adds factor * alpha[node] * probability of each run's edges to the cells. */
    void (*add_runs)(const trl__run *runs, size_t count, const trl__edge *edges, const double *alpha, double factor,
                     trl__sum_cells *cells);

    /* Backwards: sum[node] += factor * probability * beta[target]. */
    void (*back_runs)(const trl__run *runs, size_t count, const trl__edge *edges, const double *beta, double factor,
                      double *sum);

    /* The same, and what each edge is worth, share * alpha[node] * probability * beta[target], with its arc, where that
     * is not 0. Returns how many; there is room for all. */
    size_t (*count_runs)(const trl__run *runs, size_t count, const trl__edge *edges, const double *beta, double factor,
                         double *sum, const double *alpha, double share, uint64_t *arcs, double *counts);
} trl__walk;

#define TRL__WALK_PAD 16

extern const trl__walk trl__walk_base, trl__walk_avx2;
const trl__walk *trl__walk_choose(void);

#endif
