/* Step 3: frames are sorted by tied state, so that every Gaussian's sums have one owner on the device; what comes down is added to the
 * block's statistics. Frames of one tied state are a stretch of lanes, in the order of the searches and their frames. */
#include "backend/cpu/cpu_backend.h"
#include "backend/device/device_backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define STRETCH_ITEMS 64
#define LN_2 0.69314718f

/* A frame of a tied state. */
typedef struct item {
    int64_t source; /* where it lies among the frames on the device */
    int32_t tied;
    float weight;
    int64_t lane;
} item;

typedef struct gathering {
    trl__driven_stream *stream;
    const trl__driven_parameters *p;
    item *items;
    size_t count;
    int whole;           /* the best component takes a frame */
    int32_t *stretch_of; /* by tied state, while stretches are made; -1 */

    /* What goes up, in one block of memory. */
    device_stretch *stretches;
    size_t stretch_count, lanes, gaussians;
    int64_t shares;
    size_t bytes, source_at, weight_at;
    char *block;

    /* The Gaussians that have a share: stretch and component of each. */
    int32_t *owner, *component;
    size_t used;
} gathering;

/* ---- Items ---- */

static int begin_items(gathering *g, size_t most, trl_error *err)
{
    size_t states = (size_t)g->p->m.tied_states;
    g->items = trl__scratch_get(&g->stream->items, most, sizeof *g->items);
    g->stretch_of = trl__scratch_get(&g->stream->order, states, sizeof *g->stretch_of);
    if (!g->items || !g->stretch_of)
        return trl__fail_memory(err);
    memset(g->stretch_of, -1, states * sizeof *g->stretch_of);
    return 0;
}

static void add_item(gathering *g, const trl__sent *sent, int32_t tied, int32_t t, float weight)
{
    int64_t source = sent->frame_at + (int64_t)(t - sent->begin) * g->p->m.dim;
    g->items[g->count++] = (item){.source = source, .tied = tied, .weight = weight};
}

/* ---- Stretches ---- */

/* In the order in which their states first occur; of a model in pages, in that of the states. */
static size_t count_stretches(gathering *g)
{
    size_t count = 0, number = 0;
    for (size_t i = 0; i < g->count; i++)
        if (g->stretch_of[g->items[i].tied] < 0)
            g->stretch_of[g->items[i].tied] = (int32_t)count++;
    for (int32_t s = 0; g->p->pages > 1 && s < g->p->m.tied_states; s++)
        if (g->stretch_of[s] >= 0)
            g->stretch_of[s] = (int32_t)number++;
    return count;
}

/* Sizes, then room for all of it. Lanes of a stretch are whole vectors. */
static int make_stretches(gathering *g, trl_error *err)
{
    g->stretch_count = count_stretches(g);
    size_t lanes = g->count + g->stretch_count * VECTOR;
    g->source_at = trl__whole(g->stretch_count * sizeof *g->stretches, 8);
    g->weight_at = g->source_at + lanes * sizeof(int64_t);
    g->bytes = g->weight_at + lanes * sizeof(float);
    g->block = trl__staging_get(g->stream, &g->stream->search_bytes, g->bytes, err);
    if (!g->block)
        return TRL_ENOMEM;
    g->stretches = (device_stretch *)g->block;
    memset(g->stretches, 0, g->stretch_count * sizeof *g->stretches);
    for (size_t i = 0; i < g->count; i++) {
        device_stretch *s = &g->stretches[g->stretch_of[g->items[i].tied]];
        s->tied = g->items[i].tied;
        s->count++;
    }
    return 0;
}

static void place_stretches(gathering *g)
{
    const trl__mixtures *m = &g->p->m;
    for (size_t i = 0; i < g->stretch_count; i++) {
        device_stretch *s = &g->stretches[i];
        s->components = trl__components(m, s->tied);
        s->padded = (int32_t)trl__whole((size_t)s->count, VECTOR);
        s->lane_at = (int64_t)g->lanes;
        s->share_at = g->shares;
        s->gaussian = (int64_t)g->gaussians;
        g->lanes += (size_t)s->padded;
        g->shares += (int64_t)s->padded * s->components;
        g->gaussians += (size_t)s->components;
        s->count = 0; /* counted again while the items come */
    }
}

static void place_items(gathering *g)
{
    int64_t *source = (int64_t *)(g->block + g->source_at);
    float *weight = (float *)(g->block + g->weight_at);
    for (size_t i = 0; i < g->lanes; i++) {
        source[i] = -1;
        weight[i] = 0;
    }
    for (size_t i = 0; i < g->count; i++) {
        item *own = &g->items[i];
        device_stretch *s = &g->stretches[g->stretch_of[own->tied]];
        own->lane = s->lane_at + s->count++;
        source[own->lane] = own->source;
        weight[own->lane] = own->weight;
    }
}

/* ---- On the device ---- */

/* The parts of the block, each into memory of its own: kernels can't take addresses inside. */
static int send_stretches(gathering *g, trl_error *err)
{
    trl__driven_stream *stream = g->stream;
    const trl__driver *driver = stream->driver;
    int code = trl__room_get(stream, &stream->stretch_source, g->lanes * sizeof(int64_t), err);
    if (code == 0)
        code = trl__room_get(stream, &stream->gamma, g->lanes * sizeof(float), err);
    if (code == 0)
        code = trl__send(stream, &stream->search_bytes, &stream->stretches, g->source_at, err);
    if (code == 0)
        code = driver->write(stream->queue, stream->stretch_source.memory, 0, g->block + g->source_at,
                             g->lanes * sizeof(int64_t), err);
    if (code == 0)
        code = driver->write(stream->queue, stream->gamma.memory, 0, g->block + g->weight_at, g->lanes * sizeof(float),
                             err);
    return code;
}

static int32_t tied_of_stretch(const void *stretch)
{
    return ((const device_stretch *)stretch)->tied;
}

static int launch_shares(void *user, const trl__room *stretches, const trl__room *packed, size_t count, trl_error *err)
{
    const gathering *g = user;
    trl__driven_stream *stream = g->stream;
    const trl__driven_parameters *p = g->p;
    const int32_t takes_all = g->whole;
    const float unit = LN_2;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(stretches),
        trl__memory_argument(&stream->stretch_lanes),
        trl__memory_argument(packed),
        trl__memory_argument(&p->packed_at),
        trl__memory_argument(&p->first_gaussian),
        trl__memory_argument(&p->differences),
        trl__memory_argument(&stream->gamma),
        trl__memory_argument(&stream->shares),
        trl__memory_argument(&stream->best),
        trl__value_argument(&p->m.dim, sizeof p->m.dim),
        trl__value_argument(&p->lane_rows, sizeof p->lane_rows),
        trl__value_argument(&takes_all, sizeof takes_all),
        trl__value_argument(&unit, sizeof unit),
    };
    int tiles = trl__driven_device_of(stream)->tiles;
    return stream->driver->launch(stream->queue, tiles ? TRL__KERNEL_SHARE_TILES : TRL__KERNEL_SHARE_LANES, count,
                                  tiles ? 1 : STRETCH_ITEMS, arguments, sizeof arguments / sizeof *arguments, err);
}

static int find_shares(gathering *g, trl_error *err)
{
    const trl__page_work work = {.items = (const char *)g->stretches,
                                 .count = g->stretch_count,
                                 .size = sizeof *g->stretches,
                                 .tied_of = tied_of_stretch,
                                 .whole = &g->stream->stretches,
                                 .launch = launch_shares,
                                 .user = g};
    return trl__for_pages(g->stream, g->p, &work, err);
}

/* Asks for the Gaussians that are used, and sends their list. */
static int list_used(gathering *g, trl_error *err)
{
    trl__driven_stream *stream = g->stream;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&stream->stretches),
        trl__memory_argument(&stream->shares),
        trl__memory_argument(&stream->counts),
    };
    int tiles = trl__driven_device_of(stream)->tiles;
    uint8_t *used = trl__scratch_get(&stream->down, g->gaussians, 1);
    if (!used)
        return trl__fail_memory(err);
    int code = stream->driver->launch(stream->queue, TRL__KERNEL_FIND_USED, g->stretch_count, tiles ? 1 : STRETCH_ITEMS,
                                      arguments, sizeof arguments / sizeof *arguments, err);
    if (code == 0)
        code = trl__fetch(stream, &stream->counts, 0, used, g->gaussians, err);
    int32_t *lists =
        code == 0 ? trl__staging_get(stream, &stream->piece_bytes, 2 * g->gaussians * sizeof *lists, err) : NULL;
    if (!lists)
        return code < 0 ? code : TRL_ENOMEM;
    g->owner = lists;
    g->component = lists + g->gaussians;
    for (size_t i = 0; i < g->stretch_count; i++)
        for (int32_t c = 0; c < g->stretches[i].components; c++)
            if (used[g->stretches[i].gaussian + c]) {
                g->owner[g->used] = (int32_t)i;
                g->component[g->used++] = c;
            }
    size_t size = g->used * sizeof *lists;
    code = trl__room_get(stream, &stream->last, size, err);
    if (code == 0)
        code = trl__send(stream, &stream->piece_bytes, &stream->path, size, err);
    if (code == 0 && size > 0)
        code = stream->driver->write(stream->queue, stream->last.memory, 0, g->component, size, err);
    return code;
}

static int launch_sums(const gathering *g, trl_error *err)
{
    trl__driven_stream *stream = g->stream;
    if (g->used == 0)
        return 0;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&stream->stretches),   trl__memory_argument(&stream->path),
        trl__memory_argument(&stream->last),        trl__memory_argument(&stream->stretch_source),
        trl__memory_argument(&stream->here.frames), trl__memory_argument(&stream->shares),
        trl__memory_argument(&stream->sums),        trl__value_argument(&g->p->m.dim, sizeof g->p->m.dim),
    };
    int tiles = trl__driven_device_of(stream)->tiles;
    return stream->driver->launch(stream->queue, tiles ? TRL__KERNEL_SUM_TILES : TRL__KERNEL_SUM_LANES, g->used,
                                  tiles ? 1 : STRETCH_ITEMS, arguments, sizeof arguments / sizeof *arguments, err);
}

/* Shares and sums of all items; then they are on their way down: sums, then best scores by lane. */
static int compute(gathering *g, trl_error *err)
{
    trl__driven_stream *stream = g->stream;
    size_t dim = (size_t)g->p->m.dim;
    int code = make_stretches(g, err);
    if (code < 0)
        return code;
    place_stretches(g);
    place_items(g);
    code = trl__room_get(stream, &stream->stretch_lanes, trl__lanes_size(g->p, g->lanes), err);
    if (code == 0)
        code = trl__room_get(stream, &stream->shares, (size_t)g->shares * sizeof(float), err);
    if (code == 0)
        code = trl__room_get(stream, &stream->best, g->lanes * sizeof(float), err);
    if (code == 0)
        code = trl__room_get(stream, &stream->counts, g->gaussians, err);
    if (code == 0)
        code = send_stretches(g, err);
    if (code == 0)
        code = trl__launch_place(stream, g->p, &stream->stretch_source, &stream->stretch_lanes, g->lanes, err);
    if (code == 0)
        code = find_shares(g, err);
    if (code == 0)
        code = list_used(g, err);
    if (code == 0)
        code = trl__room_get(stream, &stream->sums, g->used * (1 + 2 * dim) * sizeof(double), err);
    return code < 0 ? code : launch_sums(g, err);
}

/* ---- Down ---- */

static int add_sums(const gathering *g, const double *sums, trl__local_stats *local, trl_error *err)
{
    size_t size = 1 + 2 * (size_t)g->p->m.dim;
    for (size_t i = 0; i < g->used; i++, sums += size) {
        int32_t tied = g->stretches[g->owner[i]].tied;
        double *slot = trl__local_stats_slot(local, g->p->m.first_gaussian[tied] + g->component[i]);
        if (!slot)
            return trl__fail_memory(err);
        for (size_t k = 0; k < size; k++)
            slot[k] += sums[k];
    }
    return 0;
}

/* *best: the best scores, by lane. The sums are many, and on a processor stay where they are. */
static int fetch_sums(const gathering *g, trl__local_stats *local, const float **best, trl_error *err)
{
    trl__driven_stream *stream = g->stream;
    const trl__driver *driver = stream->driver;
    int maps = driver->map && g->used > 0;
    size_t sums = g->used * (1 + 2 * (size_t)g->p->m.dim) * sizeof(double), bests = g->lanes * sizeof(float);
    trl__down down = {.size = {bests, maps ? 0 : sums}};
    int code = trl__down_get(stream, &down, err);
    const void *from = down.part[1];
    if (code == 0 && maps)
        code = driver->map(stream->queue, stream->sums.memory, sums, &from, err);
    else if (code == 0 && sums > 0)
        code = driver->read(stream->queue, stream->sums.memory, 0, down.part[1], sums, err);
    if (code < 0)
        return code;
    code = trl__fetch(stream, &stream->best, 0, down.part[0], bests, err);
    if (code == 0)
        code = add_sums(g, from, local, err);
    if (maps && driver->unmap(stream->queue, stream->sums.memory, from, code < 0 ? NULL : err) < 0 && code == 0)
        code = TRL_EDEVICE;
    *best = down.part[0];
    return code;
}

/* ---- Viterbi ---- */

int trl__driven_accumulate(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                           trl__local_stats *local, trl_error *err)
{
    gathering g = {.stream = (trl__driven_stream *)base, .p = (const trl__driven_parameters *)parameters};
    const float *best = NULL;
    size_t frames = 0;
    for (size_t i = 0; i < count; i++)
        frames += (size_t)(searches[i].end - searches[i].begin);
    g.whole = count > 0 && !searches[0].shares;
    int code = begin_items(&g, frames, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        const trl__search *s = &searches[i];
        const trl__sent *sent = trl__sent_of(g.stream, s, i, err);
        if (!sent)
            return TRL_EINVAL;
        if (!s->path)
            continue;
        if (s->shares != searches[0].shares)
            return trl__fail(err, TRL_EINVAL, "search %zu shares out its frames, or not, unlike others", i);
        for (int32_t t = s->begin; t < s->end; t++) { /* those that do not count too: their scores are wanted */
            int32_t tied = s->node_tied[s->path[t]];
            add_item(&g, sent, tied, t, trl__is_sampled(s, tied, t) ? 1 : 0);
        }
    }
    if (code < 0 || g.count == 0)
        return code;
    code = compute(&g, err);
    if (code == 0)
        code = fetch_sums(&g, local, &best, err);
    const item *next = g.items;
    for (size_t i = 0; code == 0 && i < count; i++) {
        double total = 0;
        if (!searches[i].path)
            continue;
        for (int32_t t = searches[i].begin; t < searches[i].end; t++)
            total += (double)best[(next++)->lane];
        trl__add_path(&searches[i], total, local);
    }
    return code;
}

/* ---- Baum-Welch ---- */

/* The posteriors of a search's rows are the sums over their nodes. */
static int add_posteriors(gathering *g, const trl__search *s, const trl__sent *sent, trl_error *err)
{
    int64_t floats = 0;
    for (int32_t r = 0; r < s->rows; r++)
        floats += s->row[r].end > s->row[r].first ? s->row[r].end - s->row[r].first : 0;
    trl__down parts = {.size = {(size_t)s->rows * sizeof(int64_t), (size_t)floats * sizeof(float)}};
    int code = trl__down_get(g->stream, &parts, err);
    if (code < 0)
        return code;
    int64_t *at = parts.part[0];
    float *sum = parts.part[1];
    memset(sum, 0, (size_t)floats * sizeof *sum);
    floats = 0;
    for (int32_t r = 0; r < s->rows; r++) {
        at[r] = floats - s->row[r].first;
        floats += s->row[r].end > s->row[r].first ? s->row[r].end - s->row[r].first : 0;
    }
    for (int32_t n = 0; n < s->nodes; n++)
        for (int32_t t = s->node_first[n]; t < s->node_end_frame[n]; t++)
            sum[at[s->node_row[n]] + t] += s->gamma[s->gamma_offset[n] + (t - s->node_first[n])];
    for (int32_t r = 0; r < s->rows; r++)
        for (int32_t t = s->row[r].first; t < s->row[r].end; t++)
            if (sum[at[r] + t] >= LEAST_SHARE && trl__is_sampled(s, s->row[r].tied, t))
                add_item(g, sent, s->row[r].tied, t, sum[at[r] + t]);
    return 0;
}

int trl__driven_accumulate_soft(trl__stream *base, const trl__parameters *parameters, trl__search *searches,
                                size_t count, trl__local_stats *local, trl_error *err)
{
    gathering g = {.stream = (trl__driven_stream *)base, .p = (const trl__driven_parameters *)parameters};
    const float *best;
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        for (int32_t r = 0; r < searches[i].rows; r++)
            most += searches[i].row[r].end > searches[i].row[r].first
                        ? (size_t)(searches[i].row[r].end - searches[i].row[r].first)
                        : 0;
    int code = begin_items(&g, most, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        const trl__sent *sent = trl__sent_of(g.stream, &searches[i], i, err);
        if (!sent || !searches[i].arc_count)
            return sent ? trl__fail(err, TRL_EINVAL, "search %zu: no counts of arcs", i) : TRL_EINVAL;
        code = add_posteriors(&g, &searches[i], sent, err);
    }
    if (code == 0 && g.count > 0)
        code = compute(&g, err);
    if (code == 0 && g.count > 0)
        code = fetch_sums(&g, local, &best, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        trl__add_arc_counts(&searches[i], local);
    return code;
}
