/* Bands: the frames where a search looks at each node; rows: the frames where each tied state must be scored for
 * that. */
#ifndef TRL_ALIGN_BAND_H
#define TRL_ALIGN_BAND_H

#include "align/aligner.h"

/* Frames [first, end) by node. */
typedef struct trl__bands {
    int32_t *first, *end;
} trl__bands;

void trl__bands_full(trl__bands bands, int32_t nodes, int32_t frames);

/* Around a path, as aligner.h describes: `margin` frames, and at least `neighbours` runs of the path. TRL_EINVAL: the
 * runs are no path of so many frames through this graph. */
int trl__bands_around(trl__bands bands, const trl__graph *graph, const trl__run *runs, size_t count, int32_t margin,
                      int32_t neighbours, int32_t frames, trl_error *err);

typedef struct trl__rows {
    trl__row *items;
    size_t count, capacity;
    int64_t floats;   /* of all rows, padding included */
    int32_t *of_tied; /* by tied state: its last row, plus 1; all 0 between two calls */
    size_t tied_count;
} trl__rows;

/* Joins the bands of nodes that share a tied state, where they overlap or nearly so; node_row[n] says where node n's
 * scores will be. Cost: O(nodes). */
int trl__rows_make(trl__rows *rows, const int32_t *node_tied, trl__bands bands, int32_t node_begin, int32_t node_end,
                   int32_t tied_end, int32_t *node_row, trl_error *err);
void trl__rows_free(trl__rows *rows);

#endif
