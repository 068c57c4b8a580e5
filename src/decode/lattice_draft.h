/* A lattice whose states and arcs come in any order, as files and compositions give them.
 *
 *     trl__lattice_draft draft = {0};
 *     trl__draft_add_arc(&draft, from, &arc, transitions, err);            // states are numbers, made as they are named
 *     trl__draft_set_end(&draft, state, &end, transitions, err);
 *     trl__draft_finish(&draft, words, &lattice, err);                      // in topological order, nothing that leads nowhere
 *     trl__draft_free(&draft);
 *
 * States that are in order already keep it.
 */
#ifndef TRL_DECODE_LATTICE_DRAFT_H
#define TRL_DECODE_LATTICE_DRAFT_H

#include "decode/lattice_data.h"

typedef struct trl__draft_arc {
    int32_t from;
    trl_lattice_arc arc;
} trl__draft_arc;

typedef struct trl__draft_end {
    int32_t state;
    trl_lattice_end end;
} trl__draft_end;

typedef struct trl__lattice_draft {
    int32_t start;
    int32_t highest; /* state that was named */
    trl__draft_arc *arcs;
    trl__draft_end *ends;
    int32_t *transitions;
    size_t arc_count, arc_capacity, end_count, end_capacity, transition_count, transition_capacity;
} trl__lattice_draft;

/* States may be any numbers from 0 on; memory is taken for arcs and ends alone. A second end of a state replaces the first. */
int trl__draft_add_arc(trl__lattice_draft *draft, int32_t from, const trl_lattice_arc *arc, const int32_t *transitions,
                       trl_error *err);
int trl__draft_set_end(trl__lattice_draft *draft, int32_t state, const trl_lattice_end *end, const int32_t *transitions,
                       trl_error *err);

/* `words` gets one more owner. Without arcs and ends: an empty lattice. The draft can be cleared or freed afterwards. Returns 0,
 * TRL_EFORMAT (a cycle, no path at all, paths of different length), TRL_ENUMBER, TRL_ELIMIT, TRL_ENOMEM. */
int trl__draft_finish(trl__lattice_draft *draft, trl_symbols *words, trl_lattice **out, trl_error *err);

void trl__draft_clear(trl__lattice_draft *draft); /* empty again, with its memory */
void trl__draft_free(trl__lattice_draft *draft);

#endif
