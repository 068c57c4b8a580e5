/* Step 2 and Baum-Welch: searches as records, one group for each. */
#include "backend/cpu/cpu_backend.h"
#include "backend/device/device_backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define SEARCH_ITEMS 128 /* of a group that shares out nodes; FETCH_NODES * FETCH_FRAMES back-pointers at once */
#define BACK_UNIT 4      /* bytes: nodes do not share any */
#define LOST (-2)        /* as in backtrack.cl */
#define OUTSIDE (-2)

/* What is made of a batch: sizes first, then the records. */
typedef struct batch {
    trl__driven_stream *stream;
    trl__search *searches;
    size_t count;
    int posteriors; /* outgoing arcs and the end of the utterance too */
    size_t bytes;
    char *records;
    int64_t doubles; /* of alphas and what is beside them */
    int64_t cells;   /* bytes of back-pointers, or posteriors */
    int64_t arcs, frames;
    int32_t most_nodes;
} batch;

static int32_t nodes_of(const trl__search *s)
{
    return s->node_end - s->node_begin;
}

/* The range of arcs that the search may use. */
static int32_t first_arc(const trl__search *s)
{
    return s->arc_first[s->node_begin];
}

static int32_t arcs_of(const batch *b, const trl__search *s)
{
    return s->arc_first[s->node_end + b->posteriors] - first_arc(s);
}

static size_t sizes_of(const batch *b, const trl__search *s, device_search *places, size_t at)
{
    size_t nodes = (size_t)nodes_of(s) + (size_t)b->posteriors, arcs = (size_t)arcs_of(b, s);
    places->node_at = (device_long)at;
    at += nodes * sizeof(device_node);
    places->arc_at = (device_long)at;
    at += arcs * sizeof(device_arc);
    places->leave_at = (device_long)at;
    at += b->posteriors ? arcs * sizeof(device_arc) : 0;
    places->window_at = (device_long)at;
    return at + 2 * (size_t)(s->end - s->begin) * sizeof(int32_t);
}

/* ---- Scores ---- */

/* Scores that the host has go up; those on the device must be all of them. Then row_at says where they lie. */
static int place_scores(batch *b, trl_error *err)
{
    trl__driven_stream *stream = b->stream;
    size_t there = 0, rows = 0;
    int64_t floats = 0;
    for (size_t i = 0; i < b->count; i++) {
        const trl__search *s = &b->searches[i];
        int is_there = s->scores_at && i < stream->here.count && stream->here.sent[i].scores == s->scores_at;
        if (s->scores_at && !is_there)
            return trl__fail(err, TRL_EINVAL, "search %zu: its scores are no longer on the device", i);
        there += (size_t)is_there;
        rows += (size_t)s->rows;
        for (int32_t r = 0; r < s->rows; r++)
            floats += s->row[r].end > s->row[r].first ? s->row[r].end - s->row[r].first : 0;
    }
    if (there == b->count)
        return 0;
    if (there > 0)
        return trl__fail(err, TRL_EINVAL, "the scores of some searches are on the device, of others not");
    if (TRL_GROW(stream->row_at, stream->row_capacity, rows + 1) < 0)
        return trl__fail_memory(err);
    float *all = trl__staging_get(stream, &stream->score_bytes, (size_t)floats * sizeof *all, err);
    if (!all)
        return TRL_ENOMEM;
    rows = 0;
    floats = 0;
    for (size_t i = 0; i < b->count; i++)
        for (int32_t r = 0; r < b->searches[i].rows; r++) {
            const trl__row *row = &b->searches[i].row[r];
            size_t frames = row->end > row->first ? (size_t)(row->end - row->first) : 0;
            stream->row_at[rows++] = floats;
            memcpy(all + floats, b->searches[i].scores + row->offset, frames * sizeof *all);
            floats += (int64_t)frames;
        }
    for (size_t i = 0; i < stream->here.count; i++)
        stream->here.sent[i].scores = 0;
    return trl__send(stream, &stream->score_bytes, &stream->scores, (size_t)floats * sizeof *all, err);
}

/* Where the rows of a search begin in row_at. */
static int64_t first_row(const batch *b, size_t i)
{
    if (b->searches[i].scores_at)
        return b->stream->here.sent[i].first_row;
    int64_t rows = 0;
    for (size_t j = 0; j < i; j++)
        rows += b->searches[j].rows;
    return rows;
}

/* ---- Records ---- */

static int32_t node_number(const trl__search *s, int32_t node)
{
    if (node == TRL__START)
        return -1;
    return node >= s->node_begin && node < s->node_end ? node - s->node_begin : OUTSIDE;
}

static void fill_arcs(const batch *b, const trl__search *s, const device_search *d)
{
    device_arc *arcs = (device_arc *)(b->records + d->arc_at);
    for (int32_t a = 0; a < arcs_of(b, s); a++)
        arcs[a] = (device_arc){node_number(s, s->arc_from[first_arc(s) + a]), s->arc_weight[first_arc(s) + a]};
}

static device_node make_node(batch *b, const trl__search *s, int32_t n, const int64_t *row_at)
{
    device_node node = {.arc = s->arc_first[n] - first_arc(s), .arc_end = s->arc_first[n + 1] - first_arc(s)};
    if (n == s->node_end)
        return node;
    node.first = s->node_first[n] > s->begin ? s->node_first[n] : s->begin;
    node.end = s->node_end_frame[n] < s->end ? s->node_end_frame[n] : s->end;
    if (node.first >= node.end) {
        node.first = node.end = s->end;
        return node;
    }
    if (row_at)
        node.score_at = row_at[s->node_row[n]] + (node.first - s->row[s->node_row[n]].first);
    int64_t frames = node.end - node.first;
    node.cell = b->posteriors ? b->cells : 8 * b->cells;
    b->cells += b->posteriors ? frames : (int64_t)trl__whole((size_t)(frames * s->back_bits + 7) / 8, BACK_UNIT);
    return node;
}

/* By frame the nodes from the first whose band has not ended to the last whose band has begun. */
static void fill_windows(const device_node *nodes, int32_t count, int32_t begin, int32_t end, int32_t *window)
{
    for (int32_t t = 0; t < end - begin; t++) {
        window[2 * t] = count;
        window[2 * t + 1] = 0;
    }
    for (int32_t n = count - 1; n >= 0; n--)
        if (nodes[n].first < nodes[n].end)
            window[2 * (nodes[n].end - 1 - begin)] = n;
    for (int32_t n = 0; n < count; n++)
        if (nodes[n].first < nodes[n].end)
            window[2 * (nodes[n].first - begin) + 1] = n + 1;
    for (int32_t t = end - begin - 2; t >= 0; t--)
        if (window[2 * (t + 1)] < window[2 * t])
            window[2 * t] = window[2 * (t + 1)];
    for (int32_t t = 1; t < end - begin; t++)
        if (window[2 * (t - 1) + 1] > window[2 * t + 1])
            window[2 * t + 1] = window[2 * (t - 1) + 1];
}

/* Arcs by the node that they leave. */
static void fill_leaving(const batch *b, const device_search *d, device_node *nodes)
{
    const device_arc *arcs = (const device_arc *)(b->records + d->arc_at);
    device_arc *leave = (device_arc *)(b->records + d->leave_at);
    int32_t total = 0;
    for (int32_t a = 0; a < nodes[d->nodes].arc_end; a++)
        if (arcs[a].node >= 0)
            nodes[arcs[a].node].leave_end++;
    for (int32_t n = 0; n <= d->nodes; n++) {
        int32_t count = nodes[n].leave_end;
        nodes[n].leave = nodes[n].leave_end = total;
        total += count;
    }
    for (int32_t n = 0; n <= d->nodes; n++)
        for (int32_t a = nodes[n].arc; a < nodes[n].arc_end; a++)
            if (arcs[a].node >= 0)
                leave[nodes[arcs[a].node].leave_end++] = (device_arc){n, arcs[a].weight};
}

static void fill_search(batch *b, size_t i, const int64_t *row_at, device_search *d)
{
    const trl__search *s = &b->searches[i];
    device_node *nodes = (device_node *)(b->records + d->node_at);
    d->begin = s->begin;
    d->end = s->end;
    d->nodes = nodes_of(s);
    d->back_bits = s->back_bits;
    d->last_node = s->last_node >= 0 ? node_number(s, s->last_node) : -1;
    d->path_at = 2 * b->frames;
    d->count_at = b->arcs;
    d->alpha_at = b->doubles;
    for (int32_t n = 0; n < d->nodes + b->posteriors; n++)
        nodes[n] = make_node(b, s, s->node_begin + n, row_at);
    fill_arcs(b, s, d);
    if (b->posteriors)
        fill_leaving(b, d, nodes);
    fill_windows(nodes, d->nodes, s->begin, s->end, (int32_t *)(b->records + d->window_at));
    d->before_at = b->doubles + d->nodes;
    b->doubles += b->posteriors ? 0 : 3 * (int64_t)d->nodes;
    b->frames += s->end - s->begin;
    b->arcs += arcs_of(b, s);
    b->most_nodes = d->nodes > b->most_nodes ? d->nodes : b->most_nodes;
}

/* The records of a batch, ready to be sent; without scores for the way back, which does not look at them. */
static int fill_batch(batch *b, int with_scores, trl_error *err)
{
    device_search places = {0};
    b->bytes = b->count * sizeof(device_search);
    for (size_t i = 0; i < b->count; i++)
        b->bytes = sizes_of(b, &b->searches[i], &places, b->bytes);
    b->records = trl__staging_get(b->stream, &b->stream->search_bytes, b->bytes, err);
    if (!b->records)
        return TRL_ENOMEM;
    int code = with_scores ? place_scores(b, err) : 0;
    size_t at = b->count * sizeof(device_search);
    for (size_t i = 0; code == 0 && i < b->count; i++) {
        device_search *d = (device_search *)b->records + i;
        *d = (device_search){0};
        at = sizes_of(b, &b->searches[i], d, at);
        fill_search(b, i, with_scores ? b->stream->row_at + first_row(b, i) : NULL, d);
    }
    return code;
}

/* ---- Viterbi ---- */

static int is_whole(const trl__search *s)
{
    return s->begin == 0 && (size_t)s->end == s->frames->rows && s->node_begin == 0 && s->node_end == s->nodes;
}

/* The alphas of the frame before, where a tile goes on. */
static int send_alphas(const batch *b, trl_error *err)
{
    int wanted = 0, code = 0;
    for (size_t i = 0; i < b->count; i++)
        wanted |= b->searches[i].begin > 0;
    for (size_t i = 0; wanted && code == 0 && i < b->count; i++) {
        const device_search *d = (const device_search *)b->records + i;
        const trl__search *s = &b->searches[i];
        if (s->begin > 0 && d->nodes > 0)
            code = b->stream->driver->write(b->stream->queue, b->stream->alpha.memory,
                                            (size_t)d->alpha_at * sizeof(double), s->alpha + s->node_begin,
                                            (size_t)d->nodes * sizeof(double), err);
    }
    return code;
}

static int launch_viterbi(const batch *b, trl_error *err)
{
    trl__driven_stream *stream = b->stream;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&stream->records),
        trl__memory_argument(&stream->scores),
        trl__memory_argument(&stream->back),
        trl__memory_argument(&stream->alpha),
    };
    int tiles = trl__driven_device_of(stream)->tiles, large = tiles || b->most_nodes > LOCAL_NODES;
    return stream->driver->launch(stream->queue, large ? TRL__KERNEL_VITERBI_LARGE : TRL__KERNEL_VITERBI, b->count,
                                  tiles ? 1 : SEARCH_ITEMS, arguments, sizeof arguments / sizeof *arguments, err);
}

/* The back-pointers of a tile go to the caller's memory, which has another order. */
static void keep_tile(const batch *b, size_t i, const uint8_t *back)
{
    const trl__search *s = &b->searches[i];
    const device_search *d = (const device_search *)b->records + i;
    const device_node *nodes = (const device_node *)(b->records + d->node_at);
    for (int32_t n = 0; n < d->nodes; n++)
        for (int32_t t = nodes[n].first; t < nodes[n].end; t++) {
            int64_t from = nodes[n].cell + (int64_t)(t - nodes[n].first) * s->back_bits;
            int64_t to =
                s->back_offset[s->node_begin + n] + (int64_t)(t - s->node_first[s->node_begin + n]) * s->back_bits;
            trl__set_back(s->back, to, s->back_bits, trl__get_back(back, from, s->back_bits));
        }
}

static int keep_viterbi(const batch *b, trl_error *err)
{
    trl__driven_stream *stream = b->stream;
    int any_tile = 0;
    for (size_t i = 0; i < b->count; i++)
        any_tile |= !is_whole(&b->searches[i]) || i >= stream->here.count;
    size_t alphas = (size_t)b->doubles * sizeof(double), back = any_tile ? (size_t)b->cells : 0;
    trl__down down = {.size = {alphas, back}};
    int code = trl__down_get(stream, &down, err);
    if (code == 0 && any_tile)
        code = stream->driver->read(stream->queue, stream->back.memory, 0, down.part[1], back, err);
    if (code == 0)
        code = trl__fetch(stream, &stream->alpha, 0, down.part[0], alphas, err);
    for (size_t i = 0; code == 0 && i < b->count; i++) {
        trl__search *s = &b->searches[i];
        const device_search *d = (const device_search *)b->records + i;
        memcpy(s->alpha + s->node_begin, (double *)down.part[0] + d->alpha_at, (size_t)d->nodes * sizeof(double));
        trl__end_of_path(s);
        s->back_at = is_whole(s) && i < stream->here.count ? ++stream->stamps : 0;
        if (i < stream->here.count)
            stream->here.sent[i].back = s->back_at;
        if (!s->back_at)
            keep_tile(b, i, down.part[1]);
    }
    return code;
}

int trl__driven_viterbi(trl__stream *base, trl__search *searches, size_t count, trl_error *err)
{
    batch b = {.stream = (trl__driven_stream *)base, .searches = searches, .count = count};
    if (count == 0)
        return 0;
    for (size_t i = 0; i < b.stream->here.count; i++)
        b.stream->here.sent[i].back = 0;
    int code = fill_batch(&b, 1, err);
    if (code == 0)
        code = trl__send(b.stream, &b.stream->search_bytes, &b.stream->records, b.bytes, err);
    if (code == 0)
        code = trl__room_get(b.stream, &b.stream->alpha, (size_t)b.doubles * sizeof(double), err);
    if (code == 0)
        code = trl__room_get(b.stream, &b.stream->back, (size_t)b.cells + BACK_UNIT, err);
    if (code == 0)
        code = send_alphas(&b, err);
    if (code == 0)
        code = launch_viterbi(&b, err);
    return code < 0 ? code : keep_viterbi(&b, err);
}

/* ---- The way back ---- */

static int is_on_device(const trl__driven_stream *stream, const trl__search *s, size_t i)
{
    return s->back_at && i < stream->here.count && stream->here.sent[i].back == s->back_at;
}

static int keep_paths(const batch *b, trl_error *err)
{
    trl__driven_stream *stream = b->stream;
    size_t paths = 2 * (size_t)b->frames * sizeof(int32_t), lasts = b->count * sizeof(int32_t);
    trl__down down = {.size = {paths, lasts}};
    int code = trl__down_get(stream, &down, err);
    const int32_t *last = down.part[1];
    if (code == 0)
        code = stream->driver->read(stream->queue, stream->last.memory, 0, down.part[1], lasts, err);
    if (code == 0)
        code = trl__fetch(stream, &stream->path, 0, down.part[0], paths, err);
    for (size_t i = 0; code == 0 && i < b->count; i++) {
        trl__search *s = &b->searches[i];
        const int32_t *path = (const int32_t *)down.part[0] + ((const device_search *)b->records + i)->path_at;
        if (s->last_node < 0)
            continue;
        if (last[i] == LOST)
            return trl__fail(err, TRL_EINVAL, "no path from node %d at frame %d on: it leaves the bands",
                             (int)s->last_node, (int)s->end - 1);
        for (int32_t t = s->begin; t < s->end; t++, path += 2) {
            s->path[t] = s->node_begin + path[0];
            s->path_arc[t] = first_arc(s) + path[1];
        }
        s->last_node = last[i] < 0 ? TRL__START : s->node_begin + last[i];
    }
    return code;
}

/* Whole utterances whose back-pointers are still here. */
static int backtrack_here(trl__driven_stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    batch b = {.stream = stream, .searches = searches, .count = count};
    int tiles = trl__driven_device_of(stream)->tiles;
    int code = fill_batch(&b, 0, err);
    if (code == 0)
        code = trl__send(stream, &stream->search_bytes, &stream->records, b.bytes, err);
    if (code == 0)
        code = trl__room_get(stream, &stream->path, 2 * (size_t)b.frames * sizeof(int32_t), err);
    if (code == 0)
        code = trl__room_get(stream, &stream->last, count * sizeof(int32_t), err);
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&stream->records),
        trl__memory_argument(&stream->back),
        trl__memory_argument(&stream->path),
        trl__memory_argument(&stream->last),
    };
    if (code == 0)
        code = stream->driver->launch(stream->queue, tiles ? TRL__KERNEL_BACKTRACK_ALONE : TRL__KERNEL_BACKTRACK, count,
                                      tiles ? 1 : SEARCH_ITEMS, arguments, sizeof arguments / sizeof *arguments, err);
    return code < 0 ? code : keep_paths(&b, err);
}

/* Tiles' back-pointers are the caller's, and so is the way back along them. */
int trl__driven_backtrack(trl__stream *base, trl__search *searches, size_t count, trl_error *err)
{
    trl__driven_stream *stream = (trl__driven_stream *)base;
    size_t here = 0;
    int code = 0;
    for (size_t i = 0; i < count; i++)
        here += (size_t)is_on_device(stream, &searches[i], i);
    if (here == count && count > 0)
        return backtrack_here(stream, searches, count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        if (searches[i].back_at)
            return trl__fail(err, TRL_EINVAL, "search %zu: its back-pointers are no longer on the device", i);
        code = trl__backtrack_on_host(&searches[i], err);
    }
    return code;
}

/* ---- Baum-Welch ---- */

static int launch_posteriors(const batch *b, trl_error *err)
{
    trl__driven_stream *stream = b->stream;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&stream->records), trl__memory_argument(&stream->scores),
        trl__memory_argument(&stream->alpha),   trl__memory_argument(&stream->gamma),
        trl__memory_argument(&stream->counts),  trl__memory_argument(&stream->last),
    };
    return stream->driver->launch(stream->queue, TRL__KERNEL_FORWARD_BACKWARD, b->count,
                                  trl__driven_device_of(stream)->tiles ? 1 : SEARCH_ITEMS, arguments,
                                  sizeof arguments / sizeof *arguments, err);
}

static void keep_search_posteriors(const batch *b, size_t i, const double *totals, const double *counts,
                                   const float *gamma)
{
    trl__search *s = &b->searches[i];
    const device_search *d = (const device_search *)b->records + i;
    const device_node *nodes = (const device_node *)(b->records + d->node_at);
    s->total = totals[i];
    for (int32_t n = 0; n < d->nodes; n++)
        if (nodes[n].first < nodes[n].end)
            memcpy(s->gamma + s->gamma_offset[n], gamma + nodes[n].cell,
                   (size_t)(nodes[n].end - nodes[n].first) * sizeof *gamma);
    if (s->arc_count)
        memcpy(s->arc_count, counts + d->count_at, (size_t)arcs_of(b, s) * sizeof *counts);
}

static int keep_posteriors(const batch *b, trl_error *err)
{
    trl__driven_stream *stream = b->stream;
    const trl__driver *driver = stream->driver;
    size_t totals = b->count * sizeof(double), counts = (size_t)b->arcs * sizeof(double);
    size_t gammas = (size_t)b->cells * sizeof(float);
    trl__down down = {.size = {totals, counts, gammas}};
    int code = trl__down_get(stream, &down, err);
    if (code == 0)
        code = driver->read(stream->queue, stream->last.memory, 0, down.part[0], totals, err);
    if (code == 0)
        code = driver->read(stream->queue, stream->counts.memory, 0, down.part[1], counts, err);
    if (code == 0)
        code = trl__fetch(stream, &stream->gamma, 0, down.part[2], gammas, err);
    for (size_t i = 0; code == 0 && i < b->count; i++)
        keep_search_posteriors(b, i, down.part[0], down.part[1], down.part[2]);
    return code;
}

int trl__driven_forward_backward(trl__stream *base, trl__search *searches, size_t count, trl_error *err)
{
    batch b = {.stream = (trl__driven_stream *)base, .searches = searches, .count = count, .posteriors = 1};
    for (size_t i = 0; i < count; i++)
        if (!is_whole(&searches[i]))
            return trl__fail(err, TRL_EINVAL,
                             "search %zu: posteriors need the whole utterance, not frames %d to %d of %zu", i,
                             (int)searches[i].begin, (int)searches[i].end, searches[i].frames->rows);
    if (count == 0)
        return 0;
    int code = fill_batch(&b, 1, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        ((device_search *)b.records)[i].before_at = b.cells;
    if (code == 0)
        code = trl__send(b.stream, &b.stream->search_bytes, &b.stream->records, b.bytes, err);
    if (code == 0)
        code = trl__room_get(b.stream, &b.stream->alpha, 2 * (size_t)b.cells * sizeof(double), err);
    if (code == 0)
        code = trl__room_get(b.stream, &b.stream->gamma, (size_t)b.cells * sizeof(float), err);
    if (code == 0)
        code = trl__room_get(b.stream, &b.stream->counts, (size_t)b.arcs * sizeof(double), err);
    if (code == 0)
        code = trl__room_get(b.stream, &b.stream->last, count * sizeof(double), err);
    if (code == 0)
        code = launch_posteriors(&b, err);
    return code < 0 ? code : keep_posteriors(&b, err);
}
