/* Topologies: making, checking, freeing. The struct is in model_data.h. */
#ifndef TRL_MODEL_TOPOLOGY_H
#define TRL_MODEL_TOPOLOGY_H

#include "model/model_data.h"

#define TRL__STATES_MOST 1000 /* of a unit */

/* Room for so many arcs, `first` all zero. */
int trl__topology_alloc(trl__topology *topology, int32_t states, int32_t arcs, trl_error *err);

/* Linear: state s leads to itself and to s + 1, the last one to the exit. Ergodic: state 0 leads to itself and to 1 … n
 * - 2, each of 1 … n - 2 to all of 1 … n - 1, the last one to itself and to the exit; with up to three states that is
 * the linear one. Staying has the probability self_loop, what is left is shared evenly. */
int trl__topology_make(trl__topology *topology, trl_topology_kind kind, int32_t states, double self_loop,
                       trl_error *err);
void trl__topology_free(trl__topology *topology);

/* Up to TRL__STATES_MOST states; arcs lead to states that exist, none twice; probabilities in (0, 1] sum up to 1 for
 * each source; from every state a way leads to the exit. `first` must be in order. TRL_ECORRUPT says which topology and
 * state. */
int trl__topology_check(const trl__topology *topology, const char *name, int32_t index, trl_error *err);

/* Number of arcs that leave a state. */
static inline int32_t trl__arcs_of(const trl__topology *topology, int32_t state)
{
    return topology->first[state + 2] - topology->first[state + 1];
}

#endif
