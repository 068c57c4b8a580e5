#include "align/band.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define NEAR 8 /* frames: two bands this close cost less as one row than the second row's beginning */

void trl__bands_full(trl__bands bands, int32_t nodes, int32_t frames)
{
    for (int32_t n = 0; n < nodes; n++) {
        bands.first[n] = 0;
        bands.end[n] = frames;
    }
}

/* Whose first frame is -1 was not visited and takes the slot's frames; then the margin is added on both sides. */
static void widen(trl__bands bands, const trl__graph_slot *slot, int32_t first, int32_t end, int32_t margin,
                  int32_t frames)
{
    for (int32_t n = slot->first_node; n < slot->end_node; n++) {
        int64_t from = (bands.first[n] < 0 ? first : bands.first[n]) - (int64_t)margin;
        int64_t to = (bands.first[n] < 0 ? end : bands.end[n]) + (int64_t)margin;
        bands.first[n] = from < 0 ? 0 : (int32_t)from;
        bands.end[n] = to > frames ? frames : (int32_t)to;
    }
}

int trl__bands_around(trl__bands bands, const trl__graph *graph, const trl__run *runs, size_t count, int32_t margin,
                      int32_t frames, trl_error *err)
{
    size_t i = 0;
    int64_t t = 0;
    for (int32_t s = 0; s < graph->slots; s++) {
        const trl__graph_slot *slot = &graph->slot[s];
        int32_t first = (int32_t)t;
        memset(bands.first + slot->first_node, -1, (size_t)(slot->end_node - slot->first_node) * sizeof *bands.first);
        for (; i < count && runs[i].node >= slot->first_node && runs[i].node < slot->end_node; i++) {
            int32_t node = runs[i].node;
            if (runs[i].frames < 1 || runs[i].frames > frames - t)
                break;
            bands.first[node] = bands.first[node] < 0 ? (int32_t)t : bands.first[node];
            t += runs[i].frames;
            bands.end[node] = (int32_t)t;
        }
        widen(bands, slot, first, (int32_t)t, margin, frames);
    }
    if (i < count || t != frames)
        return trl__fail(err, TRL_EINVAL, "a path of %lld frames in %zu runs does not fit %d frames and %d nodes",
                         (long long)t, count, (int)frames, (int)graph->nodes);
    return 0;
}

static int reserve_tied(trl__rows *rows, size_t tied_count)
{
    if (tied_count <= rows->tied_count)
        return 0;
    int32_t *larger = trl__alloc_zero(tied_count, sizeof *larger);
    if (!larger)
        return -1;
    trl__free(rows->of_tied);
    rows->of_tied = larger;
    rows->tied_count = tied_count;
    return 0;
}

/* The row for this band: the tied state's last one, made longer, or a new one. */
static int32_t row_for(trl__rows *rows, int32_t tied, int32_t first, int32_t end)
{
    int32_t last = rows->of_tied[tied] - 1;
    if (last >= 0) {
        trl__row *row = &rows->items[last];
        if (first <= row->end + NEAR && end >= row->first - NEAR) {
            row->first = first < row->first ? first : row->first;
            row->end = end > row->end ? end : row->end;
            return last;
        }
    }
    rows->items[rows->count] = (trl__row){.tied = tied, .first = first, .end = end};
    rows->of_tied[tied] = (int32_t)++rows->count;
    return (int32_t)rows->count - 1;
}

int trl__rows_make(trl__rows *rows, const int32_t *node_tied, trl__bands bands, int32_t node_begin, int32_t node_end,
                   int32_t tied_end, int32_t *node_row, trl_error *err)
{
    if (reserve_tied(rows, (size_t)tied_end) < 0 ||
        TRL_GROW(rows->items, rows->capacity, (size_t)(node_end - node_begin)) < 0)
        return trl__fail_memory(err);
    rows->count = 0;
    for (int32_t n = node_begin; n < node_end; n++)
        node_row[n] = bands.first[n] < bands.end[n] ? row_for(rows, node_tied[n], bands.first[n], bands.end[n]) : 0;
    rows->floats = 0;
    for (size_t i = 0; i < rows->count; i++) {
        trl__row *row = &rows->items[i];
        row->offset = rows->floats;
        rows->floats += (int64_t)(row->end - row->first + TRL__ROW_PAD - 1) / TRL__ROW_PAD * TRL__ROW_PAD;
        rows->of_tied[row->tied] = 0;
    }
    return 0;
}

void trl__rows_free(trl__rows *rows)
{
    trl__free(rows->items);
    trl__free(rows->of_tied);
    *rows = (trl__rows){0};
}
