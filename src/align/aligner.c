/* The aligner: bands around a previous path, and the searches in them. Nothing is allocated once the blocks have grown to the
 * longest utterance. Memory: 28 bytes per node, 8 per frame, 4 per scored frame of a row, back_bits / 8 per cell of a band. */
#include "align/aligner_data.h"
#include "base/fail.h"

#include <math.h>
#include <time.h>

#define ONE_GO ((int64_t)256 << 20) /* bytes up to which a full search is done in one go, not tile by tile */

double trl__now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double trl__lap(double *start)
{
    double before = *start;
    *start = trl__now();
    return *start - before;
}

int trl__aligner_create(trl__device *device, trl__aligner **out, trl_error *err)
{
    *out = NULL;
    trl__aligner *a = trl__alloc_zero(1, sizeof *a);
    if (!a)
        return trl__fail_memory(err);
    a->owns_stream = 1;
    int code = trl__stream_create(device, &a->stream, err);
    if (code < 0) {
        trl__free(a);
        return code;
    }
    *out = a;
    return 0;
}

int trl__aligner_create_beside(trl__aligner *first, trl__aligner **out, trl_error *err)
{
    trl__aligner *a = *out = trl__alloc_zero(1, sizeof *a);
    if (!a)
        return trl__fail_memory(err);
    a->stream = first->stream;
    return 0;
}

const trl__device_info *trl__aligner_device(const trl__aligner *aligner)
{
    return trl__stream_info(aligner->stream);
}

void trl__aligner_destroy(trl__aligner *a)
{
    if (!a)
        return;
    if (a->owns_stream)
        trl__stream_destroy(a->stream);
    trl__scratch *blocks[] = {&a->node_block, &a->path_block, &a->scores,      &a->back, &a->gamma,
                              &a->arc_count,  &a->piece_arcs, &a->piece_nodes, &a->line};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        trl__scratch_free(blocks[i]);
    trl__rows_free(&a->rows);
    trl__free(a->runs);
    trl__free(a->tiles);
    trl__arena_free(&a->tile_memory);
    trl__free(a);
}

trl__step_times *trl__aligner_times(trl__aligner *aligner)
{
    return &aligner->times;
}

/* ---- step 0 ---- */

/* Everything by node lies in one block, everything by frame in another. */
static void lay_out_nodes(void *user, trl__pieces *pieces)
{
    trl__aligner *a = user;
    size_t nodes = (size_t)a->graph->nodes + 1;
    a->alpha = trl__take(pieces, nodes, sizeof *a->alpha);
    a->offset = trl__take(pieces, nodes, sizeof *a->offset);
    a->bands.first = trl__take(pieces, nodes, sizeof *a->bands.first);
    a->bands.end = trl__take(pieces, nodes, sizeof *a->bands.end);
    a->node_row = trl__take(pieces, nodes, sizeof *a->node_row);
}

static void lay_out_path(void *user, trl__pieces *pieces)
{
    trl__aligner *a = user;
    a->search.path = trl__take(pieces, (size_t)a->frames, sizeof *a->search.path);
    a->search.path_arc = trl__take(pieces, (size_t)a->frames, sizeof *a->search.path_arc);
}

static int make_room(trl__aligner *a, trl_error *err)
{
    int is_there = trl__scratch_lay_out(&a->node_block, lay_out_nodes, a) == 0 &&
                   trl__scratch_lay_out(&a->path_block, lay_out_path, a) == 0;
    return is_there ? 0 : trl__fail_memory(err);
}

static int begin(trl__aligner *a, const trl_matrix *frames, const trl__graph *graph, trl_error *err)
{
    a->has_path = 0;
    a->all_scored = 0;
    a->run_count = 0;
    if (frames->rows == 0 || frames->rows > INT32_MAX / 2)
        return trl__fail(err, TRL_EINVAL, "an utterance of %zu frames can't be aligned", frames->rows);
    a->graph = graph;
    a->frames = (int32_t)frames->rows;
    a->search = (trl__search){.frames = frames,
                              .end = a->frames,
                              .nodes = graph->nodes,
                              .node_end = graph->nodes,
                              .node_tied = graph->node_tied,
                              .arc_first = graph->arc_first,
                              .arc_from = graph->arc_from,
                              .arc_weight = graph->arc_weight,
                              .arc_transition = graph->arc_transition,
                              .back_bits = graph->back_bits,
                              .last_node = -1,
                              .last_arc = -1,
                              .sample = a->search.sample,
                              .sample_seed = a->search.sample_seed};
    int code = make_room(a, err);
    a->search.node_row = a->node_row;
    a->search.node_first = a->bands.first;
    a->search.node_end_frame = a->bands.end;
    a->search.alpha = a->alpha;
    return code;
}

/* The stream holds the frames of whom it was given last; pieces of posteriors push them out. */
static int send_frames(trl__aligner *a, trl_error *err)
{
    if (!a->parameters || a->frames_are_there)
        return 0;
    double clock = trl__now();
    a->search.begin = 0;
    a->search.end = a->frames;
    int code = trl__stream_frames(a->stream, a->parameters, &a->search, 1, err);
    a->times.load += trl__lap(&clock);
    a->frames_are_there = code == 0;
    return code;
}

int trl__aligner_prepare(trl__aligner *aligner, const trl__parameters *parameters, const trl_matrix *frames,
                         const trl__graph *graph, trl_error *err)
{
    aligner->parameters = parameters;
    aligner->likelihoods = NULL;
    aligner->frames_are_there = 0;
    return begin(aligner, frames, graph, err);
}

int trl__aligner_begin(trl__aligner *aligner, const trl__parameters *parameters, const trl_matrix *frames,
                       const trl__graph *graph, trl_error *err)
{
    int code = trl__aligner_prepare(aligner, parameters, frames, graph, err);
    return code < 0 ? code : send_frames(aligner, err);
}

int trl__aligner_begin_likelihoods(trl__aligner *aligner, const trl_matrix *likelihoods, double scale,
                                   const trl__graph *graph, trl_error *err)
{
    aligner->parameters = NULL;
    aligner->likelihoods = likelihoods;
    aligner->scale = scale;
    if (likelihoods->cols < (size_t)graph->tied_end)
        return trl__fail(err, TRL_EINVAL, "%zu likelihoods per frame, but the words need tied state %d (from 0)",
                         likelihoods->cols, (int)graph->tied_end - 1);
    return begin(aligner, likelihoods, graph, err);
}

/* ---- step 1 ---- */

static void copy_likelihoods(const trl__search *search, double scale)
{
    for (int32_t r = 0; r < search->rows; r++) {
        const trl__row *row = &search->row[r];
        float *to = search->scores + row->offset;
        for (int32_t t = row->first; t < row->end; t++)
            *to++ = (float)(scale * (double)trl_matrix_row(search->frames, (size_t)t)[row->tied]);
    }
}

static void scale_scores(const trl__search *search, double scale)
{
    for (int32_t r = 0; r < search->rows; r++) {
        const trl__row *row = &search->row[r];
        for (int32_t t = 0; t < row->end - row->first; t++)
            search->scores[row->offset + t] *= (float)scale;
    }
}

static int make_rows(trl__aligner *a, const trl__search *search, trl__bands bands, trl_error *err)
{
    a->all_scored = 0;
    return trl__rows_make(&a->rows, search->node_tied, bands, search->node_begin, search->node_end, a->graph->tied_end,
                          a->node_row, err);
}

static int place_scores(trl__aligner *a, trl__search *search, trl_error *err)
{
    search->row = a->rows.items;
    search->rows = (int32_t)a->rows.count;
    search->scores = trl__scratch_get(&a->scores, (size_t)a->rows.floats, sizeof *search->scores);
    return search->scores ? 0 : trl__fail_memory(err);
}

int trl__aligner_score(trl__aligner *a, trl__search *search, trl__bands bands, double scale, trl_error *err)
{
    int code = make_rows(a, search, bands, err);
    search->stays = scale == 1;
    return code < 0 ? code : trl__aligner_score_rows(a, search, scale, err);
}

int trl__aligner_score_rows(trl__aligner *a, trl__search *search, double scale, trl_error *err)
{
    int code = place_scores(a, search, err);
    if (code < 0)
        return code;
    double clock = trl__now();
    if (a->parameters) {
        code = trl__stream_score(a->stream, a->parameters, search, 1, err);
        a->times.gaussians += search->gaussians;
        if (code == 0 && scale != 1)
            code = trl__stream_wait(a->stream, err);
        if (code == 0 && scale != 1)
            scale_scores(search, scale);
    } else {
        search->scores_at = 0;
        copy_likelihoods(search, a->scale * scale);
    }
    a->times.score += trl__lap(&clock);
    return code;
}

/* ---- step 2 ---- */

/* Node after node, each from a whole 64-bit word on. */
static int place_back_pointers(trl__aligner *a, trl_error *err)
{
    int64_t bits = 0;
    for (int32_t n = 0; n < a->graph->nodes; n++) {
        int64_t frames = a->bands.end[n] - a->bands.first[n];
        a->offset[n] = bits;
        if (frames > 0)
            bits += (frames * a->graph->back_bits + 63) / 64 * 64;
    }
    a->search.back_offset = a->offset;
    a->search.back = trl__scratch_get(&a->back, (size_t)(bits / 8) + TRL_ALIGNMENT, 1);
    return a->search.back ? 0 : trl__fail_memory(err);
}

/* Every node and frame, as far as the bands go. */
static int begin_search(trl__aligner *a, trl_error *err)
{
    trl__search *s = &a->search;
    s->begin = 0;
    s->end = a->frames;
    s->node_begin = 0;
    s->node_end = a->graph->nodes;
    return place_back_pointers(a, err);
}

/* Steps 1 and 2 within the bands, in one go. */
static int search_bands(trl__aligner *a, trl__found *found, trl_error *err)
{
    trl__search *s = &a->search;
    int code = begin_search(a, err);
    if (code == 0)
        code = trl__aligner_score(a, s, a->bands, 1, err);
    double clock = trl__now();
    if (code == 0)
        code = trl__stream_viterbi(a->stream, s, 1, err);
    if (code == 0)
        code = trl__stream_wait(a->stream, err);
    a->times.alpha += trl__lap(&clock);
    *found = s->last_node >= 0 ? TRL__FOUND : TRL__NOT_FOUND;
    if (code == 0 && *found)
        code = trl__stream_backtrack(a->stream, s, 1, err);
    if (code == 0)
        code = trl__stream_wait(a->stream, err);
    a->times.backtrack += trl__lap(&clock);
    return code;
}

/* Does the path keep away from the edges of the bands it goes through? */
static int is_guarded(const trl__aligner *a)
{
    const int32_t *path = a->search.path;
    for (int32_t t = 0, first = 0; t < a->frames; t++) {
        if (t + 1 < a->frames && path[t + 1] == path[t])
            continue;
        int32_t from = a->bands.first[path[t]], to = a->bands.end[path[t]];
        if ((from > 0 && first < from + TRL__GUARD) || (to < a->frames && t + 1 > to - TRL__GUARD))
            return 0;
        first = t + 1;
    }
    return 1;
}

/* Every node at every frame: in one go, or where that takes too much memory tile by tile without a beam. */
static int search_full(trl__aligner *a, trl__search_result *result, trl_error *err)
{
    int64_t cells = (int64_t)a->graph->nodes * a->frames;
    trl__found found;
    int code;
    if (cells * (int64_t)sizeof(float) <= ONE_GO) {
        trl__bands_full(a->bands, a->graph->nodes, a->frames);
        code = search_bands(a, &found, err);
        a->all_scored = code == 0;
    } else {
        code = trl__beam_search(a, INFINITY, &found, err);
    }
    result->status = found == TRL__FOUND ? TRL__ALIGNED : found == TRL__TOO_MUCH ? TRL__TOO_LARGE : TRL__NO_PATH;
    return code;
}

static int search_beam(trl__aligner *a, double beam, trl__search_result *result, trl_error *err)
{
    for (int widened = 0; widened < 3; widened++, beam *= 2) {
        trl__found found;
        int code = trl__beam_search(a, beam, &found, err);
        if (code < 0)
            return code;
        if (found == TRL__FOUND) {
            result->status = TRL__ALIGNED;
            return 0;
        }
        result->redone++;
    }
    return search_full(a, result, err);
}

static int32_t first_margin(const trl__search_options *o)
{
    if (o->margin != TRL_MARGIN_AUTO)
        return o->margin;
    return o->auto_margin > TRL__GUARD ? o->auto_margin : TRL__GUARD + 1;
}

static int search_around(trl__aligner *a, const trl__search_options *o, const trl__run *previous, size_t count,
                         trl__search_result *result, trl_error *err)
{
    int is_auto = o->margin == TRL_MARGIN_AUTO;
    int32_t margin = first_margin(o);
    int32_t neighbours = TRL__NEIGHBOURS;
    while (margin < a->frames) {
        trl__found found = 0;
        int code =
            trl__bands_around(a->bands, a->graph, previous, count, margin, is_auto ? neighbours : 0, a->frames, err);
        if (code == 0)
            code = search_bands(a, &found, err);
        if (code < 0)
            return code;
        if (found && (!is_auto || is_guarded(a))) {
            result->status = TRL__ALIGNED;
            result->last_margin = margin;
            return 0;
        }
        result->redone++;
        margin = margin > 0 ? 2 * margin : 1;
        neighbours *= 2;
    }
    return search_full(a, result, err);
}

static int add_run(trl__aligner *a, int32_t node)
{
    if (TRL_GROW(a->runs, a->run_capacity, a->run_count + 1) < 0)
        return -1;
    a->runs[a->run_count++] = (trl__run){node, 1};
    return 0;
}

/* The path in hand as runs. */
static int gather_runs(trl__aligner *a, trl__search_result *result, trl_error *err)
{
    a->run_count = 0;
    for (int32_t t = 0; t < a->frames; t++)
        if (t > 0 && a->search.path[t] == a->search.path[t - 1])
            a->runs[a->run_count - 1].frames++;
        else if (add_run(a, a->search.path[t]) < 0)
            return trl__fail_memory(err);
    a->has_path = 1;
    result->log_likelihood = a->search.log_likelihood;
    result->runs = a->runs;
    result->run_count = a->run_count;
    return 0;
}

static void take_options(trl__aligner *a, const trl__search_options *options, trl__search_result *result)
{
    *result = (trl__search_result){.status = TRL__TOO_SHORT, .last_margin = -1};
    a->has_path = 0;
    a->search.combine = options->combine;
    a->search.keep = options->accumulates;
    a->search.shares = options->shares;
}

int trl__aligner_search(trl__aligner *aligner, const trl__search_options *options, const trl__run *previous,
                        size_t previous_runs, trl__search_result *result, trl_error *err)
{
    take_options(aligner, options, result);
    if (aligner->frames < aligner->graph->least_frames)
        return 0;
    int code = send_frames(aligner, err);
    if (code < 0)
        return code;
    if (options->margin == TRL_MARGIN_FULL)
        code = search_full(aligner, result, err);
    else if (previous)
        code = search_around(aligner, options, previous, previous_runs, result, err);
    else
        code = search_beam(aligner, options->beam, result, err);
    return code == 0 && result->status == TRL__ALIGNED ? gather_runs(aligner, result, err) : code;
}

/* ---- paths from elsewhere ---- */

static int32_t best_arc(const trl__graph *g, int32_t from, int32_t to)
{
    int32_t best = -1;
    for (int32_t a = g->arc_first[to]; a < g->arc_first[to + 1]; a++)
        if (g->arc_from[a] == from && (best < 0 || g->arc_weight[a] > g->arc_weight[best]))
            best = a;
    return best;
}

int trl__aligner_set_path(trl__aligner *aligner, const trl__run *runs, size_t count, trl_error *err)
{
    const trl__graph *g = aligner->graph;
    trl__search *s = &aligner->search;
    int32_t t = 0, from = TRL__START;
    aligner->has_path = 0;
    for (size_t i = 0; i < count; i++) {
        if (runs[i].node < 0 || runs[i].node >= g->nodes || runs[i].frames < 1 || runs[i].frames > aligner->frames - t)
            return trl__fail(err, TRL_EINVAL, "run %zu of the path: %d frames in node %d are not possible here", i,
                             (int)runs[i].frames, (int)runs[i].node);
        for (int32_t f = 0; f < runs[i].frames; f++, t++) {
            s->path[t] = runs[i].node;
            s->path_arc[t] = best_arc(g, from, runs[i].node);
            from = runs[i].node;
            if (s->path_arc[t] < 0)
                return trl__fail(err, TRL_EINVAL, "run %zu of the path: no arc leads to node %d here", i,
                                 (int)runs[i].node);
        }
    }
    s->last_arc = t > 0 ? best_arc(g, from, g->nodes) : -1;
    if (t != aligner->frames || s->last_arc < 0)
        return trl__fail(err, TRL_EINVAL, "the path of %d frames does not end where %d frames end", (int)t,
                         (int)aligner->frames);
    s->log_likelihood = 0;
    trl__search_result unused;
    return gather_runs(aligner, &unused, err);
}

int trl__aligner_equal_path(trl__aligner *aligner, trl__search_result *result, trl_error *err)
{
    trl__search *s = &aligner->search;
    *result = (trl__search_result){.status = TRL__TOO_SHORT, .last_margin = -1};
    aligner->has_path = 0;
    int code = trl__graph_equal_path(aligner->graph, aligner->frames, s->path, s->path_arc, &s->last_arc, err);
    if (code == TRL_ELIMIT)
        return 0;
    if (code < 0)
        return code;
    result->status = TRL__ALIGNED;
    s->log_likelihood = 0;
    return gather_runs(aligner, result, err);
}

const int32_t *trl__aligner_path(const trl__aligner *aligner, const int32_t **path_arc, int32_t *last_arc)
{
    if (path_arc)
        *path_arc = aligner->search.path_arc;
    if (last_arc)
        *last_arc = aligner->search.last_arc;
    return aligner->has_path ? aligner->search.path : NULL;
}

/* ---- step 3 ---- */

void trl__aligner_sample(trl__aligner *aligner, const float *sample, uint64_t seed)
{
    aligner->search.sample = sample;
    aligner->search.sample_seed = seed;
}

int trl__aligner_accumulate(trl__aligner *aligner, trl__local_stats *local, double *joint, trl_error *err)
{
    trl__search *s = &aligner->search;
    if (!aligner->has_path || !aligner->parameters)
        return trl__fail(err, TRL_EINVAL, "there is no path to accumulate, or no model it came from");
    int code = send_frames(aligner, err);
    if (code < 0)
        return code;
    s->begin = 0;
    s->end = aligner->frames;
    double clock = trl__now();
    code = trl__stream_accumulate(aligner->stream, aligner->parameters, s, 1, local, err);
    if (code == 0)
        code = trl__stream_wait(aligner->stream, err);
    aligner->times.accumulate += trl__lap(&clock);
    if (joint)
        *joint = s->joint;
    return code;
}

/* ---- several utterances at once ---- */

trl__search *trl__aligners_line_up(const trl__batch_item *items, size_t count, trl_error *err)
{
    trl__aligner *first = items[0].aligner;
    trl__search *searches = trl__scratch_get(&first->line, count, sizeof *searches);
    for (size_t i = 0; searches && i < count; i++)
        searches[i] = items[i].aligner->search;
    if (!searches)
        trl__fail_memory(err);
    return searches;
}

void trl__aligners_stand_down(const trl__batch_item *items, size_t count, const trl__search *searches)
{
    for (size_t i = 0; i < count; i++)
        items[i].aligner->search = searches[i];
}

/* The searches with all of their frames. */
static trl__search *line_up_whole(const trl__batch_item *items, size_t count, trl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        items[i].aligner->search.begin = 0;
        items[i].aligner->search.end = items[i].aligner->frames;
    }
    return trl__aligners_line_up(items, count, err);
}

void trl__aligners_send_ahead(const trl__batch_item *items, size_t count)
{
    trl__aligner *first = items[0].aligner;
    double clock = trl__now();
    const trl__search *searches = line_up_whole(items, count, NULL);
    if (searches)
        trl__stream_frames_ahead(first->stream, first->parameters, searches, count);
    first->times.load += trl__lap(&clock);
}

int trl__aligners_send(trl__batch_item *items, size_t count, trl_error *err)
{
    trl__aligner *first = items[0].aligner;
    double clock = trl__now();
    for (size_t i = 0; i < count; i++)
        items[i].aligner->frames_are_there = 0; /* not at the first place, where a single call looks for them */
    trl__search *searches = line_up_whole(items, count, err);
    int code = searches ? trl__stream_frames(first->stream, first->parameters, searches, count, err) : TRL_ENOMEM;
    first->times.load += trl__lap(&clock);
    return code;
}

int trl__aligner_place(trl__aligner *a, trl_error *err)
{
    a->search.stays = 1;
    int code = make_rows(a, &a->search, a->bands, err);
    return code < 0 ? code : place_scores(a, &a->search, err);
}

/* A band around the last path, rows, and room for what comes out. */
static int place_item(const trl__batch_item *item, const trl__search_options *o, trl__search_result *result,
                      trl_error *err)
{
    trl__aligner *a = item->aligner;
    result->last_margin = first_margin(o);
    int code = trl__bands_around(a->bands, a->graph, item->previous, item->previous_runs, first_margin(o),
                                 o->margin == TRL_MARGIN_AUTO ? TRL__NEIGHBOURS : 0, a->frames, err);
    if (code == 0)
        code = begin_search(a, err);
    return code < 0 ? code : trl__aligner_place(a, err);
}

int trl__aligners_can(const trl__aligner *aligner, const trl__search_options *options, int has_previous)
{
    return options->margin != TRL_MARGIN_FULL && aligner->frames >= aligner->graph->least_frames &&
           aligner->frames > (has_previous ? first_margin(options) : TRL__BEAM_TILE);
}

static int search_group(trl__aligner *first, trl__search *searches, size_t count, trl_error *err)
{
    double clock = trl__now();
    int code = trl__stream_score(first->stream, first->parameters, searches, count, err);
    first->times.score += trl__lap(&clock);
    if (code == 0)
        code = trl__stream_viterbi(first->stream, searches, count, err);
    if (code == 0)
        code = trl__stream_wait(first->stream, err);
    first->times.alpha += trl__lap(&clock);
    if (code == 0)
        code = trl__stream_backtrack(first->stream, searches, count, err);
    if (code == 0)
        code = trl__stream_wait(first->stream, err);
    first->times.backtrack += trl__lap(&clock);
    return code;
}

static int search_bands_of(trl__batch_item *items, size_t count, const trl__search_options *options, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = place_item(&items[i], options, &items[i].result, err);
    trl__search *searches = code == 0 ? trl__aligners_line_up(items, count, err) : NULL;
    if (!searches)
        return code < 0 ? code : TRL_ENOMEM;
    code = search_group(items[0].aligner, searches, count, err);
    trl__aligners_stand_down(items, count, searches);
    for (size_t i = 0; code == 0 && i < count; i++) {
        trl__aligner *a = items[i].aligner;
        a->times.gaussians += a->search.gaussians;
        items[i].done = a->search.log_likelihood > -INFINITY && (options->margin != TRL_MARGIN_AUTO || is_guarded(a));
    }
    return code;
}

int trl__aligners_search(trl__batch_item *items, size_t count, const trl__search_options *options, trl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        items[i].done = 0;
        take_options(items[i].aligner, options, &items[i].result);
    }
    int code = items[0].previous ? search_bands_of(items, count, options, err)
                                 : trl__beam_search_group(items, count, options->beam, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        if (items[i].done) {
            items[i].result.status = TRL__ALIGNED;
            code = gather_runs(items[i].aligner, &items[i].result, err);
        }
    return code;
}

int trl__aligners_accumulate(trl__batch_item *items, size_t count, trl__local_stats *local, trl_error *err)
{
    trl__aligner *first = items[0].aligner;
    double clock = trl__now();
    trl__search *searches = trl__aligners_line_up(items, count, err);
    if (!searches)
        return TRL_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        searches[i].begin = 0;
        searches[i].end = items[i].aligner->frames;
        if (!items[i].done)
            searches[i].path = NULL;
    }
    int code = trl__stream_accumulate(first->stream, first->parameters, searches, count, local, err);
    if (code == 0)
        code = trl__stream_wait(first->stream, err);
    first->times.accumulate += trl__lap(&clock);
    return code;
}

void trl__aligner_trim(trl__aligner *aligner)
{
    trl__stream_trim(aligner->stream);
    aligner->frames_are_there = 0;
}
