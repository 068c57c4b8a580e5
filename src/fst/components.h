/* Strongly connected components, and which states lie on a path from the start to an end.
 *
 *     trl__components c;
 *     trl__components_find(fst, &c, err);
 *     if (c.component[a] <= c.component[b]) …                      // no path leads from a to b, unless they are equal
 *     trl__components_free(&c);
 *
 * Components are numbered in reverse topological order: an arc never leads to a component with a higher number, unless
 * it stays within its own. O(states + arcs), without recursion.
 */
#ifndef TRL_FST_COMPONENTS_H
#define TRL_FST_COMPONENTS_H

#include "fst/fst_data.h"

typedef struct trl__components {
    int32_t count;
    int32_t *component;    /* by state; states that the start does not reach have theirs too */
    uint8_t *accessible;   /* by state: reached from the start */
    uint8_t *coaccessible; /* by state: reaches a final state */
    uint8_t *cyclic;       /* by component: has an arc inside */
    int acyclic;           /* none has */
} trl__components;

int trl__components_find(const trl_fst *fst, trl__components *out, trl_error *err);
/* States by component: those of component i are member[begin[i]] … member[begin[i + 1] - 1], in ascending order. The
 * caller frees both. Returns 0, or -1: out of memory. */
int trl__components_members(const trl__components *components, int32_t states, int32_t **member, int32_t **begin);
void trl__components_free(trl__components *components);

#endif
