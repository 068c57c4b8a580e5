/* Machines on a device: inputs through a transducer, many at once ([002] 5).
 *
 *     trl__machine_create(device, &arrays, &machine, err);             // goes up once
 *     trl__machine_walk(stream, machine, TRL__WALK_BEST, passages, count, &done, err);
 *
 * A passage is one input: positions and steps between them (transduce/search.h has what they are). Only devices have this; the processor's
 * searches are src/transduce's own. Places and numbers are those of the host's arrays.
 */
#ifndef TRL_BACKEND_MACHINE_H
#define TRL_BACKEND_MACHINE_H

#include "backend/backend.h"
#include "backend/kernels/device_records.h"

typedef struct trl__machine_arrays {
    int32_t states, start;
    uint32_t symbols;
    const device_symbol *symbol;
    uint64_t arcs, rows, words, listed; /* sizes: of arc, source and output; row_first; bits and rank; row_source */
    const device_transition *arc;
    const uint32_t *source;
    const int32_t *output;
    const uint32_t *row_first, *row_source, *rank;
    const uint64_t *bits;
    const float *final;   /* by state */
    int32_t epsilons;     /* the symbol of arcs without input; -1: none */
    int32_t levels;       /* these arcs lead to higher levels only: there are no cycles of them */
    const int32_t *level; /* by state */
} trl__machine_arrays;

struct trl__machine {
    trl__device *device;
};

typedef enum trl__walk_kind { TRL__WALK_BEST, TRL__WALK_FORWARD, TRL__WALK_BACKWARD, TRL__WALK_COUNTS } trl__walk_kind;

typedef struct trl__passage {
    /* ---- given ---- */

    size_t positions, steps;
    const device_step *step; /* by where they lead; count_at is filled in where counts are wanted */
    const size_t *first;     /* by position and one more: its steps */
    const size_t *out_first; /* the same: its part of … */
    const uint32_t *out;     /* … the steps that leave it */
    const float *final;      /* by position */
    int closes;              /* which positions have arcs without input: 0 none, 1 all, 2 odd ones */
    int32_t closure_output;  /* of these */
    int live;                /* 1: arcs of live sources; 0: all arcs of a symbol */
    size_t most_nodes;       /* that there can be, over all positions */
    size_t counts;           /* doubles, those of arcs without input first; 0: not wanted */

    /* ---- filled in; arrays are the stream's, until its next use ---- */

    int found;
    double weight;           /* sums */
    const device_move *move; /* the best path, from its end to its beginning */
    size_t moves;
    int32_t end_position, end_state; /* where it ends */
    const double *count;
    const int32_t *final_state; /* counts: the ends of paths, and how much of them */
    const double *final_count;
    size_t finals;
} trl__passage;

/* Returns 0, TRL_EUNSUPPORTED (the device has no machines), TRL_EDEVICE, TRL_ENOMEM. */
int trl__machine_create(trl__device *device, const trl__machine_arrays *arrays, trl__machine **out, trl_error *err);
void trl__machine_destroy(trl__machine *machine);

/* The first `*done` passages are done, as many as the device has memory for at once, and one at least. TRL_ENOMEM: not enough for one. */
int trl__machine_walk(trl__stream *stream, const trl__machine *machine, trl__walk_kind kind, trl__passage *passages,
                      size_t count, size_t *done, trl_error *err);

#endif
