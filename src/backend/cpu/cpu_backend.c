#include "backend/cpu/cpu_backend.h"
#include "base/cpu.h"
#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Devices ---- */

/* What runs on this machine, best last. */
static size_t kernels_here(const trl__gmm_kernel *kernels[5])
{
    size_t count = 0;
    kernels[count++] = &trl__gmm_scalar;
    kernels[count++] = &trl__gmm_ref;
#if defined __aarch64__
    kernels[count++] = &trl__gmm_neon;
#else
    kernels[count++] = &trl__gmm_base;
#endif
#if TRELLIS_SIMD
    if (trl__cpu_best() >= TRL__CPU_AVX2)
        kernels[count++] = &trl__gmm_avx2;
    if (trl__cpu_best() >= TRL__CPU_AVX512)
        kernels[count++] = &trl__gmm_avx512;
#endif
    return count;
}

static void processor_name(char *name, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "processor");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%s", strchr(line, ':') + 2);
            break;
        }
    if (file)
        fclose(file);
}

static int devices(trl_error *err)
{
    (void)err;
    return 1;
}

static void see(int index, trl__device_sight *sight)
{
    (void)index;
    *sight = (trl__device_sight){.is_graphics = 0};
    processor_name(sight->name, sizeof sight->name);
}

static int open_level(const char *level, int index, trl__device **out, trl_error *err)
{
    (void)index;
    const trl__gmm_kernel *kernels[5];
    size_t count = kernels_here(kernels);
    const char *wanted = level ? level : trl__cpu_level_name(trl__cpu());
    char names[100] = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kernels[i]->name, wanted) == 0)
            return trl__cpu_open(kernels[i], out, err);
        snprintf(names + strlen(names), sizeof names - strlen(names), " cpu:%s", kernels[i]->name);
    }
    return trl__fail(err, TRL_EINVAL, "there is no device \"cpu:%s\" here; what there is: cpu%s", wanted, names);
}

static void close_device(trl__device *device)
{
    trl__free(device);
}

/* ---- Buffers and streams ---- */

typedef struct cpu_buffer {
    trl__buffer base;
    char *bytes;
} cpu_buffer;

static int buffer_create(trl__device *device, size_t size, trl__buffer **out, trl_error *err)
{
    cpu_buffer *buffer = trl__alloc_zero(1, sizeof *buffer);
    *out = NULL;
    if (!buffer || !(buffer->bytes = trl__alloc_aligned(size + 1, 1))) {
        trl__free(buffer);
        return trl__fail_memory(err);
    }
    buffer->base = (trl__buffer){device, size};
    *out = &buffer->base;
    return 0;
}

static void buffer_destroy(trl__buffer *buffer)
{
    trl__free(((cpu_buffer *)buffer)->bytes);
    trl__free(buffer);
}

static int upload(trl__stream *stream, trl__buffer *buffer, size_t offset, const void *bytes, size_t size,
                  trl_error *err)
{
    (void)stream, (void)err;
    memcpy(((cpu_buffer *)buffer)->bytes + offset, bytes, size);
    return 0;
}

static int download(trl__stream *stream, const trl__buffer *buffer, size_t offset, void *bytes, size_t size,
                    trl_error *err)
{
    (void)stream, (void)err;
    memcpy(bytes, ((const cpu_buffer *)buffer)->bytes + offset, size);
    return 0;
}

static int stream_create(trl__device *device, trl__stream **out, trl_error *err)
{
    trl__cpu_stream *stream = trl__alloc_zero(1, sizeof *stream);
    *out = NULL;
    if (!stream)
        return trl__fail_memory(err);
    stream->base.device = device;
    stream->kernel = ((trl__cpu_device *)device)->kernel;
    *out = &stream->base;
    return 0;
}

static void stream_destroy(trl__stream *base)
{
    trl__cpu_stream *stream = (trl__cpu_stream *)base;
    for (size_t i = 0; i < stream->placed_capacity; i++)
        trl__scratch_free(&stream->placed[i].memory);
    for (size_t i = 0; i < stream->kept_capacity; i++)
        trl__scratch_free(&stream->kept[i].memory);
    trl__scratch_free(&stream->mixed.memory);
    trl__free(stream->placed);
    trl__free(stream->kept);
    trl__scratch_free(&stream->components);
    trl__scratch_free(&stream->work);
    trl__scratch_free(&stream->shared.scores);
    trl__scratch_free(&stream->shared.work);
    trl__free(stream);
}

static int wait_for(trl__stream *stream, trl_error *err)
{
    (void)stream, (void)err;
    return 0;
}

float *trl__cpu_scratch(trl__cpu_stream *stream, const trl__mixtures *m)
{
    size_t components = (size_t)m->most_components + TRL__GROUP;
    return trl__scratch_get(&stream->components, components * TRL__TILE, sizeof(float));
}

/* ---- Models ---- */

static int load_model(trl__device *device, const trl_model *model, trl_pool *pool, trl__parameters **out,
                      trl_error *err)
{
    trl__cpu_parameters *parameters = trl__alloc_zero(1, sizeof *parameters);
    *out = NULL;
    if (!parameters)
        return trl__fail_memory(err);
    int code = model->shared
                   ? trl__shared_gmms_create(model, &parameters->shared, err)
                   : trl__mixtures_pack(&parameters->mixtures, model, ((trl__cpu_device *)device)->kernel, pool, err);
    if (model->shared) {
        parameters->mixtures.dim = model->dim;
        parameters->mixtures.tied_states = model->tied_states;
    }
    if (code < 0) {
        trl__free(parameters);
        return code;
    }
    parameters->base = (trl__parameters){.device = device, .by_frame = model->shared != NULL};
    *out = &parameters->base;
    return 0;
}

static void free_model(trl__parameters *parameters)
{
    trl__mixtures_free(&((trl__cpu_parameters *)parameters)->mixtures);
    trl__shared_gmms_destroy(((trl__cpu_parameters *)parameters)->shared);
    trl__free(parameters);
}

/* ---- Steps 0 and 1 ---- */

static int make_places(trl__cpu_stream *stream, size_t count)
{
    size_t old = stream->placed_capacity, old_kept = stream->kept_capacity;
    if (TRL_GROW(stream->placed, stream->placed_capacity, count) < 0)
        return -1;
    memset(stream->placed + old, 0, (stream->placed_capacity - old) * sizeof *stream->placed);
    if (TRL_GROW(stream->kept, stream->kept_capacity, count) < 0)
        return -1;
    memset(stream->kept + old_kept, 0, (stream->kept_capacity - old_kept) * sizeof *stream->kept);
    for (size_t i = 0; i < count; i++)
        stream->kept[i].rows = 0;
    stream->placed_count = count;
    return 0;
}

static int frames(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                  trl_error *err)
{
    trl__cpu_stream *stream = (trl__cpu_stream *)base;
    const trl__mixtures *m = &((const trl__cpu_parameters *)parameters)->mixtures;
    if (make_places(stream, count) < 0)
        return trl__fail_memory(err);
    stream->shared.gmms = NULL;
    for (size_t i = 0; i < count; i++) {
        trl__search *s = &searches[i];
        int code = ((const trl__cpu_parameters *)parameters)->shared
                       ? trl__shared_place(&stream->placed[i], m->dim, s->frames, s->begin, s->end, err)
                       : trl__place(&stream->placed[i], m, stream->kernel, s->frames, s->begin, s->end, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* The frames of search i, which must be there. */
static trl__placed *placed_for(const trl__cpu_stream *stream, const trl__search *s, size_t i, trl_error *err)
{
    trl__placed *placed = i < stream->placed_count ? &stream->placed[i] : NULL;
    if (placed && placed->source == s->frames && placed->begin <= s->begin && placed->end >= s->end)
        return placed;
    trl__fail(err, TRL_EINVAL, "search %zu: frames %d to %d were not given to the stream first", i, (int)s->begin,
              (int)s->end);
    return NULL;
}

static int check_rows(const trl__search *s, const trl__mixtures *m, trl_error *err)
{
    for (int32_t r = 0; r < s->rows; r++) {
        const trl__row *row = &s->row[r];
        if (row->tied < 0 || row->tied >= m->tied_states || row->first < s->begin || row->end > s->end)
            return trl__fail(err, TRL_EINVAL, "row %d: tied state %d of %d, frames %d to %d of %d to %d", (int)r,
                             (int)row->tied, (int)m->tied_states, (int)row->first, (int)row->end, (int)s->begin,
                             (int)s->end);
    }
    return 0;
}

static void lay_out_kept(void *user, trl__pieces *pieces)
{
    trl__kept *kept = user;
    kept->row = trl__take(pieces, (size_t)kept->rows, sizeof *kept->row);
    kept->best.component = trl__take(pieces, (size_t)kept->places, sizeof *kept->best.component);
    kept->best.score = trl__take(pieces, (size_t)kept->places, sizeof *kept->best.score);
}

/* Room for the best components of the rows; without, step 3 looks for them itself. */
static const trl__kept *keep_best(trl__kept *kept, const trl__search *s)
{
    int64_t places = 0;
    for (int32_t r = 0; r < s->rows; r++)
        if (s->row[r].offset + (s->row[r].end - s->row[r].first) > places)
            places = s->row[r].offset + (s->row[r].end - s->row[r].first);
    kept->rows = s->rows;
    kept->places = places;
    if (trl__scratch_lay_out(&kept->memory, lay_out_kept, kept) < 0)
        return NULL;
    memcpy(kept->row, s->row, (size_t)s->rows * sizeof *s->row);
    return kept;
}

/* The rows' parts of the piece that begins at `from`. */
static void score_rows(const trl__cpu_stream *stream, trl__gmm_work work, trl__placed *placed, const trl__kept *kept,
                       trl__search *s, int32_t from)
{
    int32_t to = placed->end - from < TRL__PIECE ? placed->end : from + TRL__PIECE;
    for (int32_t r = 0; r < s->rows; r++) {
        const trl__row *row = &s->row[r];
        work.tied = row->tied;
        work.next = s->row[r + 1 < s->rows ? r + 1 : r].tied;
        work.first = row->first > from ? row->first : from;
        work.end = row->end < to ? row->end : to;
        if (work.first >= work.end)
            continue;
        trl__place_piece(placed, work.m, stream->kernel, from);
        int64_t place = row->offset + (work.first - row->first);
        trl__gmm_best best = kept ? (trl__gmm_best){kept->best.component + place, kept->best.score + place}
                                  : (trl__gmm_best){NULL, NULL};
        stream->kernel->score(&work, s->combine, s->scores + place, kept ? &best : NULL);
        s->gaussians += (double)(work.end - work.first) * trl__components(work.m, row->tied);
    }
}

static int score(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                 trl_error *err)
{
    trl__cpu_stream *stream = (trl__cpu_stream *)base;
    const trl__mixtures *m = &((const trl__cpu_parameters *)parameters)->mixtures;
    const trl__shared_gmms *shared = ((const trl__cpu_parameters *)parameters)->shared;
    float *scratch = trl__cpu_scratch(stream, m);
    if (!scratch)
        return trl__fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        trl__search *s = &searches[i];
        trl__placed *placed = placed_for(stream, s, i, err);
        s->scores_at = 0;
        s->gaussians = 0;
        int code = placed ? check_rows(s, m, err) : TRL_EINVAL;
        if (code == 0 && shared)
            code = trl__shared_score(shared, &stream->shared, s, err);
        if (code < 0)
            return code;
        if (shared)
            continue;
        const trl__kept *kept = s->keep ? keep_best(&stream->kept[i], s) : NULL;
        stream->kept[i].rows = kept ? s->rows : 0;
        int32_t from = placed->begin + (s->begin - placed->begin) / TRL__PIECE * TRL__PIECE;
        for (; from < s->end; from += TRL__PIECE)
            score_rows(stream, (trl__gmm_work){.m = m, .placed = placed, .scratch = scratch}, placed, kept, s, from);
    }
    return 0;
}

/* ---- Steps 2 and 3 ---- */

static const trl__cpu_steps fast_steps = {trl__cpu_viterbi, trl__cpu_accumulate, trl__cpu_forward_backward,
                                          trl__cpu_accumulate_soft};

static const trl__cpu_steps *steps_of(const trl__stream *stream)
{
    return ((const trl__cpu_device *)stream->device)->steps;
}

void trl__end_of_path(trl__search *s)
{
    s->last_node = s->last_arc = -1;
    s->log_likelihood = -INFINITY;
    if ((size_t)s->end != s->frames->rows)
        return;
    for (int32_t a = s->arc_first[s->nodes]; a < s->arc_first[s->nodes + 1]; a++) {
        int32_t from = s->arc_from[a];
        if (from < s->node_begin || from >= s->node_end)
            continue;
        double total = s->alpha[from] + (double)s->arc_weight[a];
        if (total > s->log_likelihood) {
            s->log_likelihood = total;
            s->last_node = from;
            s->last_arc = a;
        }
    }
}

static int viterbi(trl__stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = steps_of(stream)->viterbi((trl__cpu_stream *)stream, &searches[i], err);
        searches[i].back_at = 0;
        if (code == 0)
            trl__end_of_path(&searches[i]);
    }
    return code;
}

/* Step 2b: from the last frame to the first, along the back-pointers. */
int trl__backtrack_on_host(trl__search *s, trl_error *err)
{
    for (int32_t t = s->end - 1, node = s->last_node; node >= 0 && t >= s->begin; t--) {
        if (node < s->node_begin || node >= s->node_end || !trl__in_band(s, node, t))
            return trl__fail(err, TRL_EINVAL, "no path through node %d at frame %d, outside its band", (int)node,
                             (int)t);
        int64_t bit = s->back_offset[node] + (int64_t)(t - s->node_first[node]) * s->back_bits;
        int32_t arc = s->arc_first[node] + (int32_t)trl__get_back(s->back, bit, s->back_bits);
        s->path[t] = node;
        s->path_arc[t] = arc;
        node = s->last_node = s->arc_from[arc];
    }
    return 0;
}

static int backtrack(trl__stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    (void)stream;
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = trl__backtrack_on_host(&searches[i], err);
    return code;
}

void trl__add_path(trl__search *s, double best, trl__local_stats *local)
{
    double weights = 0;
    for (int32_t t = s->begin; t < s->end; t++) {
        weights += (double)s->arc_weight[s->path_arc[t]];
        if (s->arc_transition[s->path_arc[t]] > 0)
            trl__local_stats_transition(local, s->arc_transition[s->path_arc[t]], 1);
    }
    if ((size_t)s->end == s->frames->rows && s->last_arc >= 0) {
        weights += (double)s->arc_weight[s->last_arc];
        if (s->arc_transition[s->last_arc] > 0)
            trl__local_stats_transition(local, s->arc_transition[s->last_arc], 1);
    }
    s->joint = best + weights;
    local->totals.frames += s->end - s->begin;
    local->totals.log_likelihood += s->log_likelihood;
    local->totals.joint += s->joint;
    local->totals.utterances += 1;
}

static int accumulate(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                      trl__local_stats *local, trl_error *err)
{
    trl__cpu_stream *stream = (trl__cpu_stream *)base;
    const trl__mixtures *m = &((const trl__cpu_parameters *)parameters)->mixtures;
    if (((const trl__cpu_parameters *)parameters)->shared)
        return trl__shared_refuse(err);
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        if (!searches[i].path)
            continue;
        trl__placed *placed = placed_for(stream, &searches[i], i, err);
        code = placed ? steps_of(base)->accumulate(stream, m, placed, &stream->kept[i], &searches[i], local, err)
                      : TRL_EINVAL;
    }
    return code;
}

static int forward_backward(trl__stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        const trl__search *s = &searches[i];
        if (s->begin != 0 || (size_t)s->end != s->frames->rows || s->node_begin != 0 || s->node_end != s->nodes)
            return trl__fail(err, TRL_EINVAL,
                             "search %zu: posteriors need the whole utterance, not frames %d to %d of %zu", i,
                             (int)s->begin, (int)s->end, s->frames->rows);
        code = steps_of(stream)->forward_backward((trl__cpu_stream *)stream, &searches[i], err);
    }
    return code;
}

void trl__add_arc_counts(const trl__search *s, trl__local_stats *local)
{
    for (int32_t a = 0; a < s->arc_first[s->nodes + 1]; a++)
        if (s->arc_transition[a] > 0 && s->arc_count[a] > 0)
            trl__local_stats_transition(local, s->arc_transition[a], s->arc_count[a]);
    local->totals.frames += s->end - s->begin;
    local->totals.log_likelihood += s->total;
    local->totals.utterances += 1;
}

static int accumulate_soft(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                           trl__local_stats *local, trl_error *err)
{
    trl__cpu_stream *stream = (trl__cpu_stream *)base;
    const trl__mixtures *m = &((const trl__cpu_parameters *)parameters)->mixtures;
    if (((const trl__cpu_parameters *)parameters)->shared)
        return trl__shared_refuse(err);
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        const trl__placed *placed = placed_for(stream, &searches[i], i, err);
        if (!placed || !searches[i].arc_count)
            return placed ? trl__fail(err, TRL_EINVAL, "search %zu: no counts of arcs", i) : TRL_EINVAL;
        code = steps_of(base)->accumulate_soft(stream, m, &stream->kept[i], &searches[i], local, err);
    }
    return code;
}

extern const trl__backend trl__cpu_backend;
const trl__backend trl__cpu_backend = {.name = "cpu",
                                       .devices = devices,
                                       .see = see,
                                       .open = open_level,
                                       .close = close_device,
                                       .buffer_create = buffer_create,
                                       .buffer_destroy = buffer_destroy,
                                       .upload = upload,
                                       .download = download,
                                       .stream_create = stream_create,
                                       .stream_destroy = stream_destroy,
                                       .wait = wait_for,
                                       .load_model = load_model,
                                       .free_model = free_model,
                                       .frames = frames,
                                       .score = score,
                                       .viterbi = viterbi,
                                       .backtrack = backtrack,
                                       .accumulate = accumulate,
                                       .forward_backward = forward_backward,
                                       .accumulate_soft = accumulate_soft};

int trl__cpu_open(const trl__gmm_kernel *kernel, trl__device **out, trl_error *err)
{
    trl__cpu_device *device = trl__alloc_zero(1, sizeof *device);
    *out = NULL;
    if (!device)
        return trl__fail_memory(err);
    processor_name(device->name, sizeof device->name);
    device->kernel = kernel;
    device->steps = kernel == &trl__gmm_ref ? &trl__cpu_steps_ref : &fast_steps;
    device->base.backend = &trl__cpu_backend;
    device->base.info = (trl__device_info){"cpu", device->name, kernel->name, 1, 0, 1};
    *out = &device->base;
    return 0;
}
