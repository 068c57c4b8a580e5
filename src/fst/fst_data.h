/* What a transducer is made of: one array of states, one of final weights, one of arcs.
 *
 * The arcs of a state are a range of the array of arcs. A range that lies at the end of the array grows in place, so a
 * machine that is built state by state is compact without a single copy: it is the CSR form by state. Any other range
 * that grows moves to the end with twice its room, and leaves a gap behind: the cost is O(1) per arc, as of a vector
 * per state.
 */
#ifndef TRL_FST_FST_DATA_H
#define TRL_FST_FST_DATA_H

#include <trellis/fst_optimize.h>

typedef struct trl__range {
    uint64_t first; /* in arcs[] */
    uint32_t count, room;
} trl__range;

struct trl_fst {
    trl_semiring semiring;
    int32_t start;
    int32_t states;
    size_t range_capacity, final_capacity;
    trl__range *range; /* by state */
    void *final;       /* by state: weights of the semiring's type */
    void *arcs;        /* of the semiring's type (weighted.h) */
    uint64_t used, capacity;
    trl_symbols *isymbols, *osymbols;
};

/* ---- Arcs whose weights don't matter: labels come first in every semiring, the next state last ---- */

static inline size_t trl__arc_size(const trl_fst *fst)
{
    return fst->semiring == TRL_LATTICE ? sizeof(trl_arc) : sizeof(trl_arc) - sizeof(float);
}

static inline int32_t *trl__arc_labels(const trl_fst *fst, uint64_t arc) /* input, output */
{
    return (int32_t *)((char *)fst->arcs + arc * trl__arc_size(fst));
}

static inline int32_t *trl__arc_next(const trl_fst *fst, uint64_t arc)
{
    return (int32_t *)((char *)fst->arcs + (arc + 1) * trl__arc_size(fst)) - 1;
}

/* ---- Building ---- */

/* Room for so many states and arcs in all. Returns 0 or TRL_ENOMEM. */
int trl__fst_make_room(trl_fst *fst, int32_t states, uint64_t arcs, trl_error *err);

/* Room for `count` more arcs at the end of a state's range. Returns 0, TRL_ELIMIT, TRL_ENOMEM. */
int trl__fst_reserve(trl_fst *fst, int32_t state, uint64_t count, trl_error *err);

/* 0 where the semirings are the same; TRL_EINVAL else. */
int trl__fst_check_semirings(const trl_fst *a, const trl_fst *b, trl_error *err);

int trl__fst_is_acceptor(const trl_fst *fst);

/* An empty machine of the same semiring that shares the other's symbol tables. */
int trl__fst_like(const trl_fst *fst, trl_fst **out, trl_error *err);

/* Each takes the other's content: how an operation that builds anew changes a machine in place. */
void trl__fst_swap(trl_fst *a, trl_fst *b);

/* The states of `other` behind those of `fst`, their arcs shifted accordingly; the start stays. The same machine twice
 * is fine. */
int trl__fst_append(trl_fst *fst, const trl_fst *other, trl_error *err);

/* State s becomes state number[s]; the numbers are a permutation. */
int trl__fst_permute(trl_fst *fst, const int32_t *number, trl_error *err);

/* Removes the states for which keep[] is 0, with all arcs that lead to them; the others keep their order. */
int trl__fst_keep(trl_fst *fst, const uint8_t *keep, trl_error *err);

/* Removes the states from which no final state is reached. */
int trl__fst_drop_dead_ends(trl_fst *fst, trl_error *err);

/* Is there an arc to the state? */
int trl__fst_leads_to(const trl_fst *fst, int32_t state);

/* The limit of states of an operation that may not end: what was asked for, or, for 0, so many that only what has no
 * end gets there. */
static inline int64_t trl__most_states(const trl_fst *fst, int64_t asked)
{
    return asked > 0 ? asked : TRL_MOST_STATES + TRL_MOST_STATES_EACH * (int64_t)fst->states;
}

#endif
