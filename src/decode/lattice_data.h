/* What a word lattice is made of, and how one is built: state by state, each with its arcs, in topological order.
 *
 *     trl__lattice_create(words, &lattice, err);
 *     trl__lattice_add_state(lattice, err);                                        // state 0, the start
 *     trl__lattice_add_arc(lattice, &arc, transitions, err);                       // an arc of the state added last
 *     trl__lattice_set_end(lattice, &end, transitions, err);                       // it is final, too
 *     …
 *     trl__lattice_finish(lattice, err);                                           // checks all, finds the times
 */
#ifndef TRL_DECODE_LATTICE_DATA_H
#define TRL_DECODE_LATTICE_DATA_H

#include <math.h>
#include <trellis/lattice.h>

struct trl_lattice {
    int32_t states, frames;
    uint32_t *first; /* states + 1 */
    trl_lattice_arc *arcs;
    trl_lattice_end *ends; /* by state */
    int32_t *time;         /* by state; after finish */
    int32_t *transitions;
    size_t first_capacity, arc_count, arc_capacity, end_capacity, transition_count, transition_capacity;
    trl_symbols *words; /* shared; NULL: none */
    int reached_end;
};

/* `words` gets one more owner. */
int trl__lattice_create(trl_symbols *words, trl_lattice **out, trl_error *err);
int trl__lattice_add_state(trl_lattice *lattice, trl_error *err);

/* Their `transition` is set here: the first of the `duration` ones that are copied. */
int trl__lattice_add_arc(trl_lattice *lattice, const trl_lattice_arc *arc, const int32_t *transitions, trl_error *err);
int trl__lattice_set_end(trl_lattice *lattice, const trl_lattice_end *end, const int32_t *transitions, trl_error *err);

/* Adds transitions to a growing list, of which a lattice has at most 2^32 - 1. */
int trl__keep_transitions(int32_t **list, size_t *used, size_t *capacity, const int32_t *transitions, uint32_t count,
                          trl_error *err);

/* Returns TRL_EINVAL where an arc leads to no higher state, ways to a state or to ends differ in their frames, TRL_ENUMBER where a cost is not finite. */
int trl__lattice_finish(trl_lattice *lattice, trl_error *err);

static inline double trl__lattice_arc_cost(const trl_lattice_arc *arc, const trl_lattice_scale *scale)
{
    return scale->acoustic * (double)arc->acoustic + scale->graph * (double)arc->graph +
           (arc->word ? scale->insertion : 0);
}

/* INFINITY: not an end. */
static inline double trl__lattice_end_cost(const trl_lattice_end *end, const trl_lattice_scale *scale)
{
    return end->graph < INFINITY ? scale->acoustic * (double)end->acoustic + scale->graph * (double)end->graph
                                 : INFINITY;
}

/* TRL_EINVAL: a scale is no number. */
int trl__lattice_check_scale(const trl_lattice_scale *scale, trl_error *err);

/* rest[s]: cost of the best way from s to an end; one for each state. */
void trl__lattice_rests(const trl_lattice *lattice, const trl_lattice_scale *scale, double *rest);

/* Logarithms of sums over ways to each state, and from it to the ends: ahead[s], behind[s]. Returns that of all paths. */
double trl__lattice_sums(const trl_lattice *lattice, const trl_lattice_scale *scale, double *ahead, double *behind);

#endif
