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

/* The frames that a run may move to: `margin` more on both sides, and at least the frames of as many runs before and
 * behind it as there are neighbours. Two places in the runs move along: a band costs O(1). */
typedef struct reach {
    const trl__run *runs;
    size_t count, low, high; /* runs [low, high) are within the neighbours */
    int64_t low_start, high_end;
    int32_t margin, neighbours, frames;
} reach;

static void reach_from(reach *r, size_t run)
{
    while (r->low + (size_t)r->neighbours < run)
        r->low_start += r->runs[r->low++].frames;
}

static void reach_to(reach *r, size_t run)
{
    while (r->high < r->count && r->high <= run + (size_t)r->neighbours)
        r->high_end += r->runs[r->high++].frames;
}

static int32_t earliest(const reach *r, int64_t first)
{
    int64_t from = first - r->margin < r->low_start ? first - r->margin : r->low_start;
    return from < 0 ? 0 : (int32_t)from;
}

static int32_t latest(const reach *r, int64_t end)
{
    int64_t to = end + r->margin > r->high_end ? end + r->margin : r->high_end;
    return to > r->frames ? r->frames : (int32_t)to;
}

/* A state that was visited in one copy of its phone has the same band in all. */
static void share_bands(trl__bands bands, const trl__graph *graph, int32_t phone, int32_t phone_end)
{
    const trl__graph_phone *copies = graph->phone + phone;
    for (int32_t s = 0; s < copies->end_node - copies->first_node; s++) {
        int32_t visited = 0;
        while (visited < phone_end - phone && bands.first[copies[visited].first_node + s] < 0)
            visited++;
        for (int32_t i = 0; visited < phone_end - phone && i < phone_end - phone; i++) {
            bands.first[copies[i].first_node + s] = bands.first[copies[visited].first_node + s];
            bands.end[copies[i].first_node + s] = bands.end[copies[visited].first_node + s];
        }
    }
}

/* The bands of a slot whose runs begin at number *run and frame *t; both move behind them. States that no run visits
 * take all of the slot's frames. */
static void slot_bands(trl__bands bands, const trl__graph *graph, int32_t number, reach *r, size_t *run, int64_t *t)
{
    const trl__graph_slot *slot = &graph->slot[number];
    memset(bands.first + slot->first_node, -1, (size_t)(slot->end_node - slot->first_node) * sizeof *bands.first);
    reach_from(r, *run);
    int32_t from = earliest(r, *t);
    for (; *run < r->count; ++*run) {
        const trl__run *here = &r->runs[*run];
        if (here->node < slot->first_node || here->node >= slot->end_node || here->frames < 1 ||
            here->frames > r->frames - *t)
            break;
        reach_from(r, *run);
        reach_to(r, *run);
        if (bands.first[here->node] < 0)
            bands.first[here->node] = earliest(r, *t);
        *t += here->frames;
        bands.end[here->node] = latest(r, *t);
    }
    for (int32_t p = slot->first_phone, end; p < slot->end_phone; p = end) {
        end = trl__graph_copies_end(graph, p);
        if (end > p + 1)
            share_bands(bands, graph, p, end);
    }
    if (*run > 0)
        reach_to(r, *run - 1);
    int32_t to = latest(r, *t);
    for (int32_t n = slot->first_node; n < slot->end_node; n++)
        if (bands.first[n] < 0) {
            bands.first[n] = from;
            bands.end[n] = to;
        }
}

int trl__bands_around(trl__bands bands, const trl__graph *graph, const trl__run *runs, size_t count, int32_t margin,
                      int32_t neighbours, int32_t frames, trl_error *err)
{
    reach r = {.runs = runs, .count = count, .margin = margin, .neighbours = neighbours, .frames = frames};
    size_t run = 0;
    int64_t t = 0;
    for (int32_t s = 0; s < graph->slots; s++)
        slot_bands(bands, graph, s, &r, &run, &t);
    if (run < count || t != frames)
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
