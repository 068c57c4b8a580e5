/* The beam search: tiles of TRL__BEAM_TILE frames, one after the other.
 *
 * Before a tile, the nodes within reach of those alive are found, each with the frame it can be reached at: that is its
 * band. Their tied states are scored for these frames only, and alpha is computed by the same operation as everywhere. Behind the tile,
 * nodes further than the beam below the best die.
 *
 * Cost per tile: the nodes from the first one alive to the last one in reach; independent of the length of the utterance. Memory:
 * back_bits / 8 bytes per node and frame within reach and one byte per node and tile, kept until the way back.
 */
#include "align/aligner_data.h"
#include "base/fail.h"

#include <math.h>
#include <string.h>

#define FAR (INT32_MAX / 2) /* frames: out of reach */

typedef struct beam_search {
    trl__aligner *a;
    const trl__graph *graph;
    double beam;
    int32_t *reach; /* by node: frames until the node can be reached; lies in node_row until the rows are made */
    int64_t bytes;  /* of back-pointers so far */
    int32_t node_begin, node_end; /* alive nodes lie in here */
} beam_search;

/* ---- who is in reach ---- */

static int32_t reach_of(const beam_search *b, int32_t node)
{
    const trl__graph *g = b->graph;
    int is_first = b->a->search.begin == 0;
    if (!is_first && b->a->alpha[node] > -INFINITY)
        return 0;
    int32_t least = FAR;
    for (int32_t i = g->arc_first[node]; i < g->arc_first[node + 1]; i++) {
        int32_t from = g->arc_from[i];
        int32_t frames = from == TRL__START ? (is_first ? 0 : FAR) : from < b->node_begin ? FAR : b->reach[from];
        least = frames < least ? frames : least;
    }
    return least < FAR ? least + 1 : FAR;
}

/* The nodes of a phone; again while arcs that lead backwards still change something. Returns whether one is in reach. */
static int reach_phone(beam_search *b, const trl__graph_phone *phone, int32_t frames)
{
    int changed, any = 0;
    for (int32_t n = phone->first_node; n < phone->end_node; n++)
        b->reach[n] = FAR;
    do {
        changed = 0;
        for (int32_t n = phone->first_node; n < phone->end_node; n++) {
            int32_t reach = reach_of(b, n);
            changed |= reach < b->reach[n];
            b->reach[n] = reach;
            any |= reach <= frames;
        }
    } while (changed);
    return any;
}

static int reach_slot(beam_search *b, const trl__graph_slot *slot, int32_t frames)
{
    int any = 0;
    for (int32_t p = slot->first_phone; p < slot->end_phone; p++)
        any |= reach_phone(b, &b->graph->phone[p], frames);
    return any;
}

/* From the slot of the first node alive to a word that can't be reached: what is behind it can't either, unless it is alive already. */
static void find_reach(beam_search *b, int32_t begin, int32_t end)
{
    const trl__graph *g = b->graph;
    trl__bands bands = b->a->bands;
    int32_t s = b->node_begin < g->nodes ? g->phone[g->node_phone[b->node_begin]].slot : 0;
    int32_t alive_end = b->node_end;
    b->node_begin = g->slot[s].first_node;
    for (b->node_end = b->node_begin; s < g->slots; s++) {
        const trl__graph_slot *slot = &g->slot[s];
        if (!reach_slot(b, slot, end - begin) && s % 2 == 1 && slot->first_node < slot->end_node &&
            slot->first_node >= alive_end)
            break;
        b->node_end = slot->end_node;
    }
    for (int32_t n = b->node_begin; n < b->node_end; n++) {
        bands.first[n] = b->reach[n] > end - begin ? end : begin + (b->reach[n] > 0 ? b->reach[n] - 1 : 0);
        bands.end[n] = end;
    }
}

/* ---- one tile ---- */

/* Remembers the tile. The search's back-pointers lie in it, each node's from a whole byte on. */
static int add_tile(beam_search *b, trl_error *err)
{
    trl__aligner *a = b->a;
    trl__search *s = &a->search;
    int64_t bits = 0;
    int32_t nodes = b->node_end - b->node_begin;
    uint8_t *delay = trl__arena_alloc(&a->tile_memory, (size_t)nodes);
    if (!delay || TRL_GROW(a->tiles, a->tile_capacity, a->tile_count + 1) < 0)
        return trl__fail_memory(err);
    for (int32_t n = b->node_begin; n < b->node_end; n++) {
        int32_t frames = a->bands.end[n] - a->bands.first[n];
        a->offset[n] = bits;
        bits += (int64_t)(frames * s->back_bits + 7) / 8 * 8;
        delay[n - b->node_begin] = (uint8_t)(frames > 0 ? a->bands.first[n] - s->begin : TRL__ASLEEP);
    }
    uint8_t *back = trl__arena_alloc(&a->tile_memory, (size_t)(bits / 8) + sizeof(uint64_t));
    if (!back)
        return trl__fail_memory(err);
    a->tiles[a->tile_count++] = (trl__tile){s->begin, s->end, b->node_begin, b->node_end, delay, back};
    b->bytes += bits / 8 + nodes;
    s->back = back;
    s->back_offset = a->offset;
    return 0;
}

/* Kills what is below the beam and draws the window in. Returns 0 when nobody is left. */
static int prune(beam_search *b)
{
    double *alpha = b->a->alpha, best = -INFINITY;
    int32_t first = b->node_end, end = b->node_begin;
    for (int32_t n = b->node_begin; n < b->node_end; n++) {
        if (b->a->bands.first[n] >= b->a->bands.end[n])
            alpha[n] = -INFINITY;
        best = alpha[n] > best ? alpha[n] : best;
    }
    for (int32_t n = b->node_begin; n < b->node_end; n++) {
        if (alpha[n] < best - b->beam)
            alpha[n] = -INFINITY;
        if (alpha[n] == -INFINITY)
            continue;
        first = n < first ? n : first;
        end = n + 1;
    }
    if (first >= end)
        return 0;
    for (int32_t n = b->node_begin; n < b->node_end; n++)
        b->a->bands.first[n] = b->a->bands.end[n] = 0;
    b->node_begin = first;
    b->node_end = end;
    return 1;
}

/* The nodes within reach, and room for their back-pointers. */
static int begin_tile(beam_search *b, int32_t begin, int32_t end, trl_error *err)
{
    trl__aligner *a = b->a;
    trl__search *s = &a->search;
    s->begin = begin;
    s->end = end;
    double clock = trl__now();
    find_reach(b, begin, end);
    s->node_begin = b->node_begin;
    s->node_end = b->node_end;
    int code = add_tile(b, err);
    a->times.alpha += trl__lap(&clock);
    return code;
}

static int search_tile(beam_search *b, int32_t begin, int32_t end, trl_error *err)
{
    trl__aligner *a = b->a;
    trl__search *s = &a->search;
    int code = begin_tile(b, begin, end, err);
    if (code == 0)
        code = trl__aligner_score(a, s, a->bands, 1, err);
    double clock = trl__now();
    if (code == 0)
        code = trl__stream_viterbi(a->stream, s, 1, err);
    if (code == 0)
        code = trl__stream_wait(a->stream, err);
    a->times.alpha += trl__lap(&clock);
    return code;
}

/* ---- the way back ---- */

static int trace_tile(trl__aligner *a, const trl__tile *tile, trl_error *err)
{
    trl__search *s = &a->search;
    int64_t bits = 0;
    for (int32_t n = tile->node_begin; n < tile->node_end; n++) {
        int32_t delay = tile->delay[n - tile->node_begin];
        int32_t frames = delay == TRL__ASLEEP ? 0 : tile->end - tile->begin - delay;
        a->bands.first[n] = tile->end - frames;
        a->bands.end[n] = tile->end;
        a->offset[n] = bits;
        bits += (int64_t)(frames * s->back_bits + 7) / 8 * 8;
    }
    s->begin = tile->begin;
    s->end = tile->end;
    s->node_begin = tile->node_begin;
    s->node_end = tile->node_end;
    s->back = tile->back;
    int code = trl__stream_backtrack(a->stream, s, 1, err);
    return code < 0 ? code : trl__stream_wait(a->stream, err);
}

/* From the last tile to the first; backtrack leaves the node before its first frame in last_node. */
static int trace_back(trl__aligner *a, trl_error *err)
{
    trl__search *s = &a->search;
    int32_t last_arc = s->last_arc;
    double clock = trl__now();
    int code = 0;
    for (size_t i = a->tile_count; code == 0 && i-- > 0;) {
        code = trace_tile(a, &a->tiles[i], err);
        s->last_arc = -1;
    }
    s->last_arc = last_arc;
    a->times.backtrack += trl__lap(&clock);
    return code;
}

/* What a tile leads to: 1: on to the next. */
static int end_tile(beam_search *b, trl__found *found)
{
    trl__aligner *a = b->a;
    int is_last = a->search.end == a->frames;
    *found = TRL__NOT_FOUND;
    if (b->bytes > TRL__BACK_BYTES)
        *found = TRL__TOO_MUCH;
    else if (is_last && a->search.last_node >= 0)
        *found = TRL__FOUND;
    return !is_last && *found == TRL__NOT_FOUND && prune(b);
}

static int32_t tile_end(const trl__aligner *a, int32_t begin)
{
    return begin + TRL__BEAM_TILE < a->frames ? begin + TRL__BEAM_TILE : a->frames;
}

static int search_tiles(beam_search *b, trl__found *found, trl_error *err)
{
    int32_t begin = 0;
    do {
        int code = search_tile(b, begin, tile_end(b->a, begin), err);
        if (code < 0)
            return code;
        begin = b->a->search.end;
    } while (end_tile(b, found));
    return 0;
}

static beam_search begin_beam(trl__aligner *a, double beam)
{
    a->tile_count = 0;
    for (int32_t n = 0; n < a->graph->nodes; n++) {
        a->alpha[n] = -INFINITY;
        a->bands.first[n] = a->bands.end[n] = 0;
    }
    return (beam_search){.a = a, .graph = a->graph, .beam = beam, .reach = a->node_row};
}

int trl__beam_search(trl__aligner *a, double beam, trl__found *found, trl_error *err)
{
    beam_search b = begin_beam(a, beam);
    int code = search_tiles(&b, found, err);
    if (code == 0 && *found == TRL__FOUND)
        code = trace_back(a, err);
    trl__arena_free(&a->tile_memory);
    return code;
}

/* ---- several utterances at once: a tile of each, then the next ---- */

typedef struct beam_group {
    beam_search *beams;
    trl__search *searches;
    trl__found *found;
    int *goes_on;
    size_t count;
} beam_group;

/* A tile of everybody who goes on; of others nothing, in the same place, because that is where a stream has their frames. */
static int begin_tiles(const beam_group *g, int32_t begin, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < g->count; i++) {
        trl__aligner *a = g->beams[i].a;
        if (g->goes_on[i]) {
            code = begin_tile(&g->beams[i], begin, tile_end(a, begin), err);
            if (code == 0)
                code = trl__aligner_place(a, err);
        }
        g->searches[i] = a->search;
        if (!g->goes_on[i]) {
            g->searches[i].begin = g->searches[i].end;
            g->searches[i].node_begin = g->searches[i].node_end = 0;
            g->searches[i].rows = 0;
        }
    }
    return code;
}

static int search_group_tile(const beam_group *g, int32_t begin, trl_error *err)
{
    trl__aligner *first = g->beams[0].a;
    int code = begin_tiles(g, begin, err);
    double clock = trl__now();
    if (code == 0)
        code = trl__stream_score(first->stream, first->parameters, g->searches, g->count, err);
    first->times.score += trl__lap(&clock);
    if (code == 0)
        code = trl__stream_viterbi(first->stream, g->searches, g->count, err);
    if (code == 0)
        code = trl__stream_wait(first->stream, err);
    first->times.alpha += trl__lap(&clock);
    for (size_t i = 0; code == 0 && i < g->count; i++)
        if (g->goes_on[i]) {
            trl__aligner *a = g->beams[i].a;
            a->search = g->searches[i];
            a->times.gaussians += a->search.gaussians;
            g->goes_on[i] = end_tile(&g->beams[i], &g->found[i]);
        }
    return code;
}

static int run_group(beam_group *g, const trl__batch_item *items, double beam, trl_error *err)
{
    int code = 0, any = 1;
    for (size_t i = 0; i < g->count; i++) {
        g->beams[i] = begin_beam(items[i].aligner, beam);
        g->goes_on[i] = 1;
    }
    for (int32_t begin = 0; code == 0 && any; begin += TRL__BEAM_TILE) {
        code = search_group_tile(g, begin, err);
        any = 0;
        for (size_t i = 0; i < g->count; i++)
            any |= g->goes_on[i];
    }
    for (size_t i = 0; i < g->count; i++) {
        if (code == 0 && g->found[i] == TRL__FOUND)
            code = trace_back(items[i].aligner, err);
        trl__arena_free(&items[i].aligner->tile_memory);
    }
    return code;
}

int trl__beam_search_group(trl__batch_item *items, size_t count, double beam, trl_error *err)
{
    beam_group g = {.count = count,
                    .beams = trl__alloc_zero(count, sizeof *g.beams),
                    .searches = trl__alloc_zero(count, sizeof *g.searches),
                    .found = trl__alloc_zero(count, sizeof *g.found),
                    .goes_on = trl__alloc_zero(count, sizeof *g.goes_on)};
    int code = g.beams && g.searches && g.found && g.goes_on ? run_group(&g, items, beam, err) : trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < count; i++)
        items[i].done = g.found[i] == TRL__FOUND;
    trl__free(g.beams);
    trl__free(g.searches);
    trl__free(g.found);
    trl__free(g.goes_on);
    return code;
}
