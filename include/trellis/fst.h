/* Weighted finite-state transducers: states, arcs with an input label, an output label and a weight, final weights.
 *
 *     trl_fst_create(TRL_TROPICAL, &fst, &err);
 *     int32_t from, to;
 *     trl_fst_add_state(fst, &from, &err);
 *     trl_fst_add_state(fst, &to, &err);
 *     trl_fst_set_start(fst, from, &err);
 *     trl_fst_add_arc(fst, from, (trl_arc){1, 2, {0.5f, 0}, to}, &err);  // reads 1, writes 2, costs 0.5
 *     trl_fst_set_final(fst, to, trl_weight_one(TRL_TROPICAL), &err);
 *     trl_fst_write(fst, "machine.fst", TRL_FST_VECTOR, &err);           // <trellis/fst_file.h>
 *
 * Semirings, and how two weights are added (of paths side by side) and multiplied (along a path):
 *
 *     tropical   min(a, b)                 a + b    negative logarithms; the best path
 *     log        -log(e^-a + e^-b)         a + b    negative logarithms; all paths together
 *     real       a + b                     a * b    probabilities
 *     lattice    the better of the two     (a.value + b.value, a.second + b.second)
 *                                                   costs of graph and sound, by their sum, then difference
 *
 * Arcs of a state lie one behind the other in the order they were added; adding to the state that was added to last
 * costs nothing extra, so machines are built fastest state by state.
 *
 * Indices: states count from 0; TRL_NO_STATE where there is none. Arcs of a state count from 0. Labels are 1 …
 * 2^31 - 1; 0 is epsilon, the empty string, on either side.
 * Thread rule: any number of threads may read one machine; changing it needs it alone.
 */
#ifndef TRELLIS_FST_H
#define TRELLIS_FST_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/symbols.h>

TRL_BEGIN_DECLS

#define TRL_EPSILON 0
#define TRL_NO_STATE (-1)

typedef enum trl_semiring { TRL_TROPICAL, TRL_LOG, TRL_REAL, TRL_LATTICE } trl_semiring;
#define TRL_SEMIRINGS 4

/* `second` is the lattice semiring's alone, and 0 elsewhere. */
typedef struct trl_weight {
    float value, second;
} trl_weight;

typedef struct trl_arc {
    int32_t ilabel, olabel;
    trl_weight weight;
    int32_t next; /* state */
} trl_arc;

typedef struct trl_fst trl_fst;

/* ---- Weights ---- */

TRL_API const char *trl_semiring_name(trl_semiring semiring);            /* "tropical" … */
TRL_API int trl_semiring_find(const char *name, trl_semiring *semiring); /* 0, or -1: no such name */
TRL_API trl_weight trl_weight_zero(trl_semiring semiring);               /* of what is impossible */
TRL_API trl_weight trl_weight_one(trl_semiring semiring);                /* of what costs nothing */
TRL_API trl_weight trl_weight_plus(trl_semiring semiring, trl_weight a, trl_weight b);
TRL_API trl_weight trl_weight_times(trl_semiring semiring, trl_weight a, trl_weight b);
TRL_API trl_weight trl_weight_divide(trl_semiring semiring, trl_weight a,
                                     trl_weight b); /* x with b times x = a; b not zero */
TRL_API int trl_weight_is_zero(trl_semiring semiring, trl_weight a);
TRL_API int trl_weight_is_member(trl_semiring semiring, trl_weight a); /* no NaN, no infinity that means nothing */
TRL_API int trl_weight_equal(trl_semiring semiring, trl_weight a, trl_weight b, float delta); /* up to delta */

#define TRL_DELTA (1.0f / 1024) /* what counts as equal where nothing is said, as in OpenFst */

/* ---- Building ---- */

TRL_API int trl_fst_create(trl_semiring semiring, trl_fst **out, trl_error *err);
TRL_API int trl_fst_copy(const trl_fst *fst, trl_fst **out, trl_error *err); /* compact; symbol tables are shared */
TRL_API void trl_fst_destroy(trl_fst *fst);

/* Adding returns 0, TRL_EINVAL (no such state, a negative label), TRL_ENUMBER (a weight that is no member of the
 * semiring), TRL_ELIMIT (more than 2^31 - 1 states, or 2^32 - 1 arcs of one state), TRL_ENOMEM. The arc's next state
 * need not exist yet. */
TRL_API int trl_fst_add_state(trl_fst *fst, int32_t *state, trl_error *err);
TRL_API int trl_fst_add_states(trl_fst *fst, int32_t count, trl_error *err);
TRL_API int trl_fst_add_arc(trl_fst *fst, int32_t state, trl_arc arc, trl_error *err);
TRL_API int trl_fst_set_start(trl_fst *fst, int32_t state, trl_error *err);
TRL_API int trl_fst_set_final(trl_fst *fst, int32_t state, trl_weight weight, trl_error *err); /* zero: not final */
TRL_API void trl_fst_delete_arcs(trl_fst *fst, int32_t state);

/* The tables become the machine's, too: the caller's share is taken over. NULL: none. */
TRL_API void trl_fst_set_symbols(trl_fst *fst, trl_symbols *input, trl_symbols *output);

/* Every arc leads to a state that is there, every label and weight is valid; what reading a file ends with. */
TRL_API int trl_fst_verify(const trl_fst *fst, trl_error *err);

/* ---- Reading ---- */

TRL_API trl_semiring trl_fst_semiring(const trl_fst *fst);
TRL_API int32_t trl_fst_states(const trl_fst *fst);
TRL_API int32_t trl_fst_start(const trl_fst *fst); /* TRL_NO_STATE: the empty machine */
TRL_API uint64_t trl_fst_arcs(const trl_fst *fst); /* of all states */
TRL_API uint32_t trl_fst_arc_count(const trl_fst *fst, int32_t state);
TRL_API trl_arc trl_fst_arc(const trl_fst *fst, int32_t state, uint32_t arc);
TRL_API trl_weight trl_fst_final(const trl_fst *fst, int32_t state);
TRL_API const trl_symbols *trl_fst_input_symbols(const trl_fst *fst); /* or NULL */
TRL_API const trl_symbols *trl_fst_output_symbols(const trl_fst *fst);

/* What holds of the machine, found by one look at all of it: O(states + arcs). */
typedef enum trl_fst_property {
    TRL_FST_ACCEPTOR = 1 << 0,     /* every arc's labels are the same */
    TRL_FST_UNWEIGHTED = 1 << 1,   /* every weight is one or, for final weights, zero */
    TRL_FST_NO_EPSILONS = 1 << 2,  /* no arc with epsilon on both sides */
    TRL_FST_NO_IEPSILONS = 1 << 3, /* none on the input side */
    TRL_FST_NO_OEPSILONS = 1 << 4,
    TRL_FST_IDETERMINISTIC = 1 << 5, /* no two arcs of a state with the same input label */
    TRL_FST_ODETERMINISTIC = 1 << 6,
    TRL_FST_ISORTED = 1 << 7, /* arcs of each state by input label */
    TRL_FST_OSORTED = 1 << 8,
    TRL_FST_ACYCLIC = 1 << 9,
    TRL_FST_INITIAL_ACYCLIC = 1 << 10,  /* the start is on no cycle */
    TRL_FST_TOPSORTED = 1 << 11,        /* arcs lead to higher states only */
    TRL_FST_ACCESSIBLE = 1 << 12,       /* every state is reached from the start */
    TRL_FST_COACCESSIBLE = 1 << 13,     /* a final state is reached from every state */
    TRL_FST_STRING = 1 << 14,           /* one path, states in its order */
    TRL_FST_UNWEIGHTED_CYCLES = 1 << 15 /* arcs on cycles weigh one */
} trl_fst_property;

/* The bits of trl_fst_property that hold. Returns 0 or TRL_ENOMEM. */
TRL_API int trl_fst_properties(const trl_fst *fst, uint32_t *properties, trl_error *err);

/* How much of what: O(states + arcs). */
typedef struct trl_fst_counts {
    int32_t states, finals;
    int32_t accessible, coaccessible, connected;   /* states reached from the start, that reach a final one, both */
    int32_t components;                            /* sets of states that reach each other */
    uint64_t arcs, epsilons, iepsilons, oepsilons; /* epsilons: on both sides */
} trl_fst_counts;
TRL_API int trl_fst_count(const trl_fst *fst, trl_fst_counts *counts, trl_error *err); /* 0 or TRL_ENOMEM */

TRL_END_DECLS

#endif
