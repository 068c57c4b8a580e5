/* Posteriors: forward-backward within a band around the path in hand.
 *
 * The whole utterance is one piece, except that long ones whose statistics are not wanted are cut: a piece has PIECE frames of
 * its own and OVERLAP more on both sides, at whose outer ends all paths are held to the path in hand. A piece is an utterance of its own:
 * the slots the path goes through, the arcs between them, one arc in and one arc out. Memory of a piece: about 16 bytes
 * per cell of the bands, some 100 cells per frame with margin 20.
 */
#include "align/aligner_data.h"
#include "base/fail.h"

#include <math.h>
#include <string.h>

#define PIECE 3000  /* frames */
#define OVERLAP 200 /* frames */

typedef struct piece {
    int32_t first, end;           /* frames whose posteriors are wanted */
    int32_t begin, stop;          /* frames with the overlap */
    int32_t node_begin, node_end; /* of the graph */
    trl_matrix frames;            /* begin … stop: a view */
    trl__search search;
    trl__bands bands; /* by node of the piece, from `begin` on */
} piece;

/* ---- cutting ---- */

static int is_whole(const trl__aligner *a, const piece *p)
{
    return p->begin == 0 && p->stop == a->frames;
}

/* Arcs from a node to another of the piece, or from the start and to the end where they are the utterance's own. */
static int32_t copy_arcs(const trl__aligner *a, const piece *p, int32_t node, int32_t *from, float *weight,
                         int32_t used)
{
    const trl__graph *g = a->graph;
    for (int32_t i = g->arc_first[node]; i < g->arc_first[node + 1]; i++) {
        int32_t source = g->arc_from[i];
        int is_start = source == TRL__START;
        if (is_start ? p->begin > 0 : source < p->node_begin || source >= p->node_end)
            continue;
        from[used] = is_start ? TRL__START : source - p->node_begin;
        weight[used++] = g->arc_weight[i];
    }
    return used;
}

typedef struct new_arcs {
    size_t arcs, nodes; /* at most */
    int32_t *from, *first;
    float *weight;
} new_arcs;

static void lay_out_arcs(void *user, trl__pieces *pieces)
{
    new_arcs *new = user;
    new->from = trl__take(pieces, new->arcs, sizeof *new->from);
    new->weight = trl__take(pieces, new->arcs, sizeof *new->weight);
    new->first = trl__take(pieces, new->nodes + 2, sizeof *new->first);
}

/* The piece's own arcs, with one arc into the path's first node and one out of its last where the utterance is cut. */
static int cut_arcs(trl__aligner *a, piece *p, trl_error *err)
{
    const trl__graph *g = a->graph;
    int32_t nodes = p->node_end - p->node_begin;
    int32_t end_arcs = g->arc_first[g->nodes + 1] - g->arc_first[g->nodes];
    int32_t inner = g->arc_first[p->node_end] - g->arc_first[p->node_begin];
    new_arcs new = {.arcs = (size_t)inner + (size_t)end_arcs + 2, .nodes = (size_t)nodes};
    if (trl__scratch_lay_out(&a->piece_arcs, lay_out_arcs, &new) < 0)
        return trl__fail_memory(err);
    int32_t *from = new.from, *first = new.first, used = 0;
    float *weight = new.weight;
    for (int32_t n = 0; n < nodes; n++) {
        first[n] = used;
        used = copy_arcs(a, p, p->node_begin + n, from, weight, used);
        if (p->begin > 0 && p->node_begin + n == a->search.path[p->begin]) {
            from[used] = TRL__START;
            weight[used++] = 0;
        }
    }
    first[nodes] = used;
    if (p->stop < a->frames) {
        from[used] = a->search.path[p->stop - 1] - p->node_begin;
        weight[used++] = 0;
    } else {
        used = copy_arcs(a, p, g->nodes, from, weight, used);
    }
    first[nodes + 1] = used;
    p->search.arc_first = first;
    p->search.arc_from = from;
    p->search.arc_weight = weight;
    p->search.arc_transition = NULL;
    return 0;
}

static void lay_out_bands(void *user, trl__pieces *pieces)
{
    piece *p = user;
    size_t nodes = (size_t)(p->node_end - p->node_begin);
    p->bands.first = trl__take(pieces, nodes, sizeof *p->bands.first);
    p->bands.end = trl__take(pieces, nodes, sizeof *p->bands.end);
}

/* The bands from the piece's first frame on. */
static int cut_bands(trl__aligner *a, piece *p, trl_error *err)
{
    size_t nodes = (size_t)(p->node_end - p->node_begin);
    if (trl__scratch_lay_out(&a->piece_nodes, lay_out_bands, p) < 0)
        return trl__fail_memory(err);
    for (size_t n = 0; n < nodes; n++) {
        int32_t first = a->bands.first[(size_t)p->node_begin + n], end = a->bands.end[(size_t)p->node_begin + n];
        p->bands.first[n] = (first > p->begin ? first : p->begin) - p->begin;
        p->bands.end[n] = (end < p->stop ? end : p->stop) - p->begin;
    }
    return 0;
}

static int32_t slot_at(const trl__aligner *a, int32_t frame)
{
    return a->graph->phone[a->graph->node_phone[a->search.path[frame]]].slot;
}

static int cut(trl__aligner *a, piece *p, trl_error *err)
{
    const trl__graph *g = a->graph;
    const trl_matrix *all = a->search.frames;
    p->search = a->search;
    p->bands = a->bands;
    p->node_end = g->nodes;
    if (is_whole(a, p))
        return 0;
    p->node_begin = p->begin == 0 ? 0 : g->slot[slot_at(a, p->begin)].first_node;
    p->node_end = p->stop == a->frames ? g->nodes : g->slot[slot_at(a, p->stop - 1)].end_node;
    p->search.node_tied += p->node_begin;
    p->frames = (trl_matrix){.data = trl_matrix_row(all, (size_t)p->begin),
                             .rows = (size_t)(p->stop - p->begin),
                             .cols = all->cols,
                             .stride = all->stride};
    p->search.frames = &p->frames;
    p->search.nodes = p->node_end - p->node_begin;
    int code = cut_arcs(a, p, err);
    return code < 0 ? code : cut_bands(a, p, err);
}

/* ---- forward-backward ---- */

static int place_gammas(trl__aligner *a, piece *p, int with_counts, trl_error *err)
{
    trl__search *s = &p->search;
    int64_t floats = 0;
    for (int32_t n = 0; n < s->nodes; n++) {
        int64_t frames = p->bands.end[n] - p->bands.first[n];
        a->offset[n] = floats;
        floats += frames > 0 ? frames : 0;
    }
    s->gamma_offset = a->offset;
    s->gamma = trl__scratch_get(&a->gamma, (size_t)floats + TRL__ROW_PAD, sizeof *s->gamma);
    size_t arcs = (size_t)s->arc_first[s->nodes + 1];
    s->arc_count = with_counts ? trl__scratch_get(&a->arc_count, arcs, sizeof *s->arc_count) : NULL;
    return s->gamma && (s->arc_count || !with_counts) ? 0 : trl__fail_memory(err);
}

static int run_piece(trl__aligner *a, piece *p, const trl__posterior_options *o, trl_error *err)
{
    trl__search *s = &p->search;
    int code = cut(a, p, err);
    s->begin = 0;
    s->end = p->stop - p->begin;
    s->node_begin = 0;
    s->node_end = s->nodes;
    s->node_first = p->bands.first;
    s->node_end_frame = p->bands.end;
    s->keep = o->local != NULL;
    if (code == 0 && a->parameters && !(is_whole(a, p) && a->frames_are_there)) {
        a->frames_are_there = is_whole(a, p);
        code = trl__stream_frames(a->stream, a->parameters, s, 1, err);
    }
    if (code == 0)
        code = place_gammas(a, p, o->local != NULL, err);
    int is_scored = a->all_scored && o->margin == TRL_MARGIN_FULL && o->acoustic_scale == 1 && is_whole(a, p);
    if (code == 0 && !is_scored)
        code = trl__aligner_score(a, s, p->bands, o->acoustic_scale, err);
    double clock = trl__now();
    if (code == 0)
        code = trl__stream_forward_backward(a->stream, s, 1, err);
    if (code == 0)
        code = trl__stream_wait(a->stream, err);
    a->times.alpha += trl__lap(&clock);
    return code;
}

/* The sum of the posteriors of some nodes at a frame of the piece. */
static float sum_gammas(const piece *p, int32_t first, int32_t end, int32_t t)
{
    const trl__search *s = &p->search;
    double sum = 0;
    if (s->total == -INFINITY)
        return 0;
    for (int32_t n = first - p->node_begin; n < end - p->node_begin; n++)
        if (t >= p->bands.first[n] && t < p->bands.end[n])
            sum += (double)s->gamma[s->gamma_offset[n] + (t - p->bands.first[n])];
    return sum < 1 ? (float)sum : 1;
}

/* The nodes of a phone in all its copies. */
static void find_copies(const trl__graph *g, int32_t phone, int32_t *first_node, int32_t *end_node)
{
    *end_node = g->phone[trl__graph_copies_end(g, phone) - 1].end_node;
    while (phone > 0 && trl__graph_copies_end(g, phone - 1) > phone)
        phone--;
    *first_node = g->phone[phone].first_node;
}

static void read_posteriors(const trl__aligner *a, const piece *p, const trl__posterior_options *o)
{
    const trl__graph *g = a->graph;
    int32_t phone = -1, first_node = 0, end_node = 0;
    for (int32_t t = p->first; t < p->end; t++) {
        if (g->node_phone[a->search.path[t]] != phone) {
            phone = g->node_phone[a->search.path[t]];
            find_copies(g, phone, &first_node, &end_node);
        }
        const trl__graph_slot *slot = &g->slot[g->phone[phone].slot];
        if (o->slot)
            o->slot[t] = sum_gammas(p, slot->first_node, slot->end_node, t - p->begin);
        if (o->phone)
            o->phone[t] = sum_gammas(p, first_node, end_node, t - p->begin);
    }
}

/* ---- Baum-Welch's statistics ---- */

static int accumulate(trl__aligner *a, piece *p, trl__local_stats *local, trl_error *err)
{
    trl__search *s = &p->search;
    double clock = trl__now();
    int code = trl__stream_accumulate_soft(a->stream, a->parameters, s, 1, local, err);
    if (code == 0)
        code = trl__stream_wait(a->stream, err);
    a->times.accumulate += trl__lap(&clock);
    return code;
}

static int make_bands(trl__aligner *a, int margin, trl_error *err)
{
    if (margin != TRL_MARGIN_FULL)
        return trl__bands_around(a->bands, a->graph, a->runs, a->run_count, margin, 0, a->frames, err);
    trl__bands_full(a->bands, a->graph->nodes, a->frames);
    return 0;
}

int trl__aligner_posteriors(trl__aligner *aligner, const trl__posterior_options *options, double *log_likelihood,
                            trl_error *err)
{
    trl__aligner *a = aligner;
    if (!a->has_path || (options->local && !a->parameters))
        return trl__fail(err, TRL_EINVAL, "there is no path for posteriors, or no model that statistics are for");
    int code = make_bands(a, options->margin, err);
    int in_pieces = !options->local && a->frames > PIECE + 2 * OVERLAP;
    int32_t step = in_pieces ? PIECE : a->frames;
    double total = in_pieces ? NAN : 0;
    for (int32_t first = 0; code == 0 && first < a->frames; first += step) {
        piece p = {.first = first, .begin = first > OVERLAP ? first - OVERLAP : 0, .end = a->frames, .stop = a->frames};
        p.end = a->frames - first > step ? first + step : a->frames;
        p.stop = a->frames - p.end > OVERLAP ? p.end + OVERLAP : a->frames;
        code = run_piece(a, &p, options, err);
        total = in_pieces ? total : p.search.total;
        if (code == 0)
            read_posteriors(a, &p, options);
        if (code == 0 && options->local && total > -INFINITY)
            code = accumulate(a, &p, options->local, err);
    }
    if (log_likelihood)
        *log_likelihood = total;
    return code;
}

/* ---- several utterances at once ---- */

/* Bands, rows, and room for what comes out. */
static int place_item(trl__aligner *a, int margin, trl_error *err)
{
    piece whole = {.end = a->frames, .stop = a->frames};
    int code = make_bands(a, margin, err);
    if (code == 0)
        code = cut(a, &whole, err);
    if (code == 0)
        code = place_gammas(a, &whole, 1, err);
    if (code < 0)
        return code;
    a->search = whole.search;
    a->search.begin = a->search.node_begin = 0;
    a->search.end = a->frames;
    a->search.node_end = a->search.nodes;
    a->search.keep = 1;
    return trl__aligner_place(a, err);
}

static int check_totals(const trl__search *searches, size_t count, trl_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!(searches[i].total > -INFINITY))
            return trl__fail(err, TRL_ENUMBER, "search %zu: no path has a probability", i);
    return 0;
}

int trl__aligners_posteriors(trl__batch_item *items, size_t count, const trl__posterior_options *options,
                             trl_error *err)
{
    trl__aligner *first = items[0].aligner;
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = place_item(items[i].aligner, options->margin, err);
    trl__search *searches = code == 0 ? trl__aligners_line_up(items, count, err) : NULL;
    if (!searches)
        return code < 0 ? code : TRL_ENOMEM;
    double clock = trl__now();
    code = trl__stream_score(first->stream, first->parameters, searches, count, err);
    first->times.score += trl__lap(&clock);
    if (code == 0)
        code = trl__stream_forward_backward(first->stream, searches, count, err);
    if (code == 0)
        code = trl__stream_wait(first->stream, err);
    first->times.alpha += trl__lap(&clock);
    if (code == 0)
        code = check_totals(searches, count, err);
    if (code == 0)
        code = trl__stream_accumulate_soft(first->stream, first->parameters, searches, count, options->local, err);
    if (code == 0)
        code = trl__stream_wait(first->stream, err);
    first->times.accumulate += trl__lap(&clock);
    for (size_t i = 0; code == 0 && i < count; i++) {
        items[i].result.log_likelihood = searches[i].total;
        items[i].aligner->times.gaussians += searches[i].gaussians;
    }
    return code;
}
