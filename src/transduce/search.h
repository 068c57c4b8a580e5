/* What the searches share: the plan of an input, nodes, scratch.
 *
 * A plan turns every kind of input into positions and steps between them. Position 0 is the beginning; steps lead to
 * later positions only. A string is a chain with one step for each label; a lattice has a position for each state; an
 * input with a given output has one for each pair of places, and its steps say what may be written:
 *
 *     (i-1, j-1) ──x:y──> (i, j) <──x:ε── (i-1, j),  and  (i, j-1) ──ε:y──> (i, j)
 *
 * Where both a lattice and the transducer have epsilons, the two could be followed in any order, and paths would be
 * counted several times. So a state of the lattice is split in two positions: epsilons of the lattice lead from the
 * first to other firsts, then the second has the closure, and labels are read from there.
 *
 * At each position a search first follows the steps that lead there, then, within the position, arcs without input (the
 * closure). A node is a state that is alive at a position. Nodes of a position lie together.
 */
#ifndef TRL_TRANSDUCE_SEARCH_H
#define TRL_TRANSDUCE_SEARCH_H

#include "base/memory.h"
#include "transduce/walk.h"

#include <string.h>

#define TRL__STAY (-2)       /* a step's symbol: nothing is read, the state stays (epsilons of a lattice) */
#define TRL__ANY_OUTPUT (-1) /* a step's output */

typedef struct trl__step {
    uint32_t from, to; /* positions */
    int32_t symbol;
    int32_t output; /* only arcs that write this; or TRL__ANY_OUTPUT */
    float weight;
} trl__step;

struct trl__device;

typedef struct trl__plan {
    size_t positions;
    trl__step *step; /* by `to` */
    size_t steps;
    size_t *first;               /* by position, and one more: its steps */
    float *final;                /* by position: what ending here costs; infinite: not the end */
    size_t *out_first;           /* by position, and one more: */
    uint32_t *out;               /* the steps that leave it */
    int32_t closure_output;      /* of arcs in the closure */
    int split;                   /* only odd positions have a closure */
    int open_end;                /* the last position has none */
    const double *start_weights; /* by state, or NULL: 0 in the start state */
    const double *end_weights;   /* by state, or NULL: the transducer's */
    size_t step_capacity, first_capacity, final_capacity, out_capacity, out_first_capacity;
} trl__plan;

/* What a result's arrays are. */
typedef struct trl__out {
    int32_t *outputs, *final_states;
    uint64_t *arcs;
    double *counts, *final_counts;
    size_t output_count, arc_count, final_count, output_capacity, arc_capacity, count_capacity, final_state_capacity,
        final_count_capacity;
} trl__out;

void trl__out_free(trl__out *out);

/* Which runs belong to a step or closure. */
typedef struct trl__walked {
    size_t run, edge; /* first of them */
    size_t runs;
    double factor; /* step: what its source's sums were multiplied with; in logarithms, what was added */
} trl__walked;

struct trl_transduce_work {
    const trl_transducer *t;
    trl_transduce_options options;
    const trl__walk *walk;
    size_t huge; /* method parallel: steps with at least so many arcs are shared out */
    trl__plan plan;

    /* Nodes of all positions so far. */
    size_t *node_first; /* by position, and one more */
    uint32_t *node_state, *node_back;
    float *node_score;
    double *node_base; /* by position: scores are relative to it; sums: logarithm of what alphas are multiplied with */
    double *beta_base; /* the same of betas */
    double *node_alpha, *node_beta;
    size_t nodes, first_capacity, state_capacity, back_capacity, score_capacity, base_capacity, beta_base_capacity,
        alpha_capacity, beta_capacity;

    /* By state, all clear between steps. */
    uint64_t *bits;              /* alive at the position that is left */
    uint32_t *node;              /* the node of a state that is */
    uint32_t *fresh;             /* a list */
    uint64_t *pending;           /* by rank: closure */
    uint64_t *cell;              /* best paths */
    float *score;                /* infinite */
    double *sum, *other, *third; /* sums: 0 */
    trl__hit *hits;

    /* Sums: the arcs that were walked, in the order of the steps; closures come behind their position's steps. */
    trl__walked *walked; /* by step, then by position (closure) */
    trl__run *runs;
    trl__edge *edges;
    size_t run_count, edge_count, run_capacity, edge_capacity, walked_capacity;

    trl__out out;
    double path_weight; /* of the path that is traced */

    struct trl__serial *serial;
    struct trl__shared *shared; /* method parallel */
    struct trl__on_device *device;
};

#define TRL__WIDE 80.0f /* e^80 is a float, and so is its inverse */

/* Has weights whose probability is no float: sums need logarithms. */
static inline int trl__is_wide(const trl_transducer *t)
{
    return t->smallest < -TRL__WIDE || t->largest > TRL__WIDE;
}

/* ---- Plans ---- */

/* Returns 1, 0 (some label is not in the transducer: no path), TRL_EINVAL, TRL_ECORRUPT, TRL_ELIMIT, TRL_ENOMEM. */
int trl__plan_make(trl__plan *plan, const trl_transducer *t, const trl_transduce_input *input, trl_error *err);
void trl__plan_free(trl__plan *plan);

static inline int trl__plan_closes(const trl_transduce_work *w, size_t position)
{
    return w->t->epsilons.symbol >= 0 && (!w->plan.split || position % 2 == 1) &&
           !(w->plan.open_end && position == w->plan.positions - 1);
}

static inline double trl__end_weight(const trl_transduce_work *w, uint32_t state)
{
    return w->plan.end_weights ? w->plan.end_weights[state] : (double)w->t->final[state];
}

/* ---- Nodes (search.c) ---- */

/* Forgets all nodes, makes room for the plan's positions. Returns 0 or -1. */
int trl__nodes_begin(trl_transduce_work *w);

/* The nodes of a position become what is alive, and stop being it. */
trl__alive trl__nodes_enter(trl_transduce_work *w, size_t position);
void trl__nodes_leave(trl_transduce_work *w, size_t position);

/* The node of a state at a position, or SIZE_MAX. */
size_t trl__nodes_find(const trl_transduce_work *w, size_t position, uint32_t state);

/* The row of a source among a symbol's, or -1. */
int64_t trl__row_of(const trl_transducer *t, const trl__symbol *s, uint32_t source);

/* ---- The closure's order: pending states by rank ---- */

static inline void trl__pending_set(trl_transduce_work *w, uint32_t state)
{
    uint32_t rank = w->t->epsilons.rank[state];
    w->pending[rank / 64] |= (uint64_t)1 << rank % 64;
}

/* Takes the lowest pending rank at or after *word's; 0: none is left. */
static inline int trl__pending_take(trl_transduce_work *w, size_t *word, uint32_t *rank)
{
    size_t words = trl__words(w->t->states);
    while (*word < words && w->pending[*word] == 0)
        ++*word;
    if (*word == words)
        return 0;
    *rank = (uint32_t)(*word * 64) + (uint32_t)__builtin_ctzll(w->pending[*word]);
    w->pending[*word] &= w->pending[*word] - 1;
    return 1;
}

/* ---- Searches ---- */

/* Each fills in the result. Returns 0 or an error code. */
int trl__best_path(trl_transduce_work *w, trl_transduction *result, trl_error *err);
int trl__path_sums(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result, trl_error *err);
int trl__serial_sums(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result,
                     trl_error *err);
int trl__prefix(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result, trl_error *err);

/* Nodes with scores and back-pointers for the whole plan; then the best path that ends in a node, appended in reverse
 * to arcs[] down to position 0; returns the state it starts from. */
int trl__best_search(trl_transduce_work *w, trl_error *err);
int trl__best_end(const trl_transduce_work *w, size_t *position, uint32_t *state); /* 0: no path */
int trl__best_trace(trl_transduce_work *w, size_t position, uint32_t state, uint32_t *from, trl_error *err);
int trl__best_outputs(trl_transduce_work *w, trl_transduction *result, trl_error *err); /* arcs[] is in reverse */

/* Method parallel, for huge steps: w->hits, or a step's runs, by all threads of the pool. */
int trl__shared_create(trl_transduce_work *w, trl_error *err);
void trl__shared_free(struct trl__shared *shared);
void trl__shared_best_rows(trl_transduce_work *w, const trl__symbol *s, size_t hits, const float *score, float weight,
                           uint32_t base, trl__best_cells *cells);
void trl__shared_copy_rows(trl_transduce_work *w, const trl__symbol *s, size_t hits, int probability);
void trl__shared_add_runs(trl_transduce_work *w, const trl__walked *step, const double *alpha, trl__sum_cells *cells);
void trl__serial_free(struct trl__serial *serial);

/* On a device: opens w->options.device and sends the transducer up. w->device stays NULL where it means the processor. */
int trl__on_device_create(trl_transduce_work *w, trl_error *err);
int trl__on_device_attach(trl_transduce_work *w, struct trl__device *device, trl_error *err); /* stays the caller's */
void trl__on_device_free(struct trl__on_device *device);
int trl__on_device_one(trl_transduce_work *w, trl_transduce_operation operation, const trl_transduce_input *input,
                       trl_transduction *result, trl_error *err);
int trl__on_device_many(trl_transduce_work *w, trl_transduce_operation operation, const trl_transduce_input *inputs,
                        size_t count, trl_transduce_fn each, void *user, trl_error *err);
/* *done: the inputs that were delivered; with "auto", the rest is for the processor when the device fails. */
int trl__on_device_batch(const trl_transducer *t, const trl_transduce_options *options,
                         trl_transduce_operation operation, const trl_transduce_input *inputs, size_t count,
                         trl_transduce_fn each, void *user, size_t *done, trl_error *err);

static inline int trl__is_on_device(const trl_transduce_options *options)
{
    return options->device && strcmp(options->device, "cpu") != 0;
}

/* log(e^a + e^b) for negative logarithms. */
double trl__log_add(double a, double b);

#endif
