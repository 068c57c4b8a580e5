/* Sums of frames by Gaussian, and uses of transitions: for a block of utterances (local), and for all (global).
 *
 * A local object costs memory for every Gaussian's number, but sums only for those that its block touched; emptying it
 * and adding it to the global sums costs what was touched.
 */
#include "model/statistics.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define KIND "statistics"
#define VERSION 1

/* ---- global ---- */

static int create_shape(int32_t dim, int64_t gaussians, int32_t transitions, trl__stats **out, trl_error *err)
{
    *out = NULL;
    trl__stats *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    size_t count = (size_t)gaussians, numbers = count * (size_t)dim;
    s->dim = dim;
    s->gaussians = gaussians;
    s->transitions = transitions;
    s->count = trl__alloc_aligned(count, sizeof *s->count);
    s->sum = trl__alloc_aligned(numbers, sizeof *s->sum);
    s->square = trl__alloc_aligned(numbers, sizeof *s->square);
    s->transition = trl__alloc_aligned((size_t)transitions + 1, sizeof *s->transition);
    if (!s->count || !s->sum || !s->square || !s->transition) {
        trl__stats_destroy(s);
        return trl__fail_memory(err);
    }
    trl__stats_zero(s);
    *out = s;
    return 0;
}

int trl__stats_create(const trl_model *model, trl__stats **out, trl_error *err)
{
    return create_shape(model->dim, trl_model_gaussians(model), model->transitions, out, err);
}

void trl__stats_destroy(trl__stats *stats)
{
    if (!stats)
        return;
    trl__free(stats->count);
    trl__free(stats->sum);
    trl__free(stats->square);
    trl__free(stats->transition);
    trl__free(stats);
}

void trl__stats_zero(trl__stats *stats)
{
    size_t count = (size_t)stats->gaussians, numbers = count * (size_t)stats->dim;
    memset(stats->count, 0, count * sizeof *stats->count);
    memset(stats->sum, 0, numbers * sizeof *stats->sum);
    memset(stats->square, 0, numbers * sizeof *stats->square);
    memset(stats->transition, 0, ((size_t)stats->transitions + 1) * sizeof *stats->transition);
    stats->totals = (trl__totals){0};
}

static void add_array(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void add_totals(trl__totals *to, const trl__totals *from)
{
    to->frames += from->frames;
    to->log_likelihood += from->log_likelihood;
    to->joint += from->joint;
    to->utterances += from->utterances;
}

int trl__stats_add(trl__stats *stats, const trl__stats *other, trl_error *err)
{
    if (stats->dim != other->dim || stats->gaussians != other->gaussians || stats->transitions != other->transitions)
        return trl__fail(err, TRL_EINVAL,
                         "statistics of another model: %" PRId64 " Gaussians of %" PRId32 " dimensions and %" PRId32
                         " transitions, not %" PRId64 ", %" PRId32 " and %" PRId32,
                         other->gaussians, other->dim, other->transitions, stats->gaussians, stats->dim,
                         stats->transitions);
    size_t count = (size_t)stats->gaussians, numbers = count * (size_t)stats->dim;
    add_array(stats->count, other->count, count);
    add_array(stats->sum, other->sum, numbers);
    add_array(stats->square, other->square, numbers);
    add_array(stats->transition, other->transition, (size_t)stats->transitions + 1);
    add_totals(&stats->totals, &other->totals);
    return 0;
}

/* ---- local ---- */

static size_t slot_size(const trl__local_stats *local)
{
    return 1 + 2 * (size_t)local->dim;
}

int trl__local_stats_create(const trl_model *model, trl__local_stats **out, trl_error *err)
{
    *out = NULL;
    trl__local_stats *l = trl__alloc_zero(1, sizeof *l);
    if (!l)
        return trl__fail_memory(err);
    l->dim = model->dim;
    l->gaussians = trl_model_gaussians(model);
    l->transitions = model->transitions;
    l->slot_of = trl__alloc((size_t)l->gaussians, sizeof *l->slot_of);
    l->transition = trl__alloc_zero((size_t)l->transitions + 1, sizeof *l->transition);
    l->touched = trl__alloc((size_t)l->transitions + 1, sizeof *l->touched);
    if (!l->slot_of || !l->transition || !l->touched) {
        trl__local_stats_destroy(l);
        return trl__fail_memory(err);
    }
    for (int64_t g = 0; g < l->gaussians; g++)
        l->slot_of[g] = -1;
    *out = l;
    return 0;
}

void trl__local_stats_destroy(trl__local_stats *local)
{
    if (!local)
        return;
    trl__free(local->slot_of);
    trl__free(local->gaussian);
    trl__free(local->slots);
    trl__free(local->transition);
    trl__free(local->touched);
    trl__free(local);
}

void trl__local_stats_zero(trl__local_stats *local)
{
    for (size_t i = 0; i < local->slot_count; i++)
        local->slot_of[local->gaussian[i]] = -1;
    for (size_t i = 0; i < local->touched_count; i++)
        local->transition[local->touched[i]] = 0;
    local->slot_count = local->touched_count = 0;
    local->totals = (trl__totals){0};
}

double *trl__local_stats_slot(trl__local_stats *local, int64_t gaussian)
{
    size_t size = slot_size(local);
    if (local->slot_of[gaussian] < 0) {
        size_t slot = local->slot_count;
        if (TRL_GROW(local->gaussian, local->gaussian_capacity, slot + 1) < 0 ||
            TRL_GROW(local->slots, local->slot_capacity, (slot + 1) * size) < 0)
            return NULL;
        memset(local->slots + slot * size, 0, size * sizeof *local->slots);
        local->gaussian[slot] = (int32_t)gaussian;
        local->slot_of[gaussian] = (int32_t)slot;
        local->slot_count++;
    }
    return local->slots + (size_t)local->slot_of[gaussian] * size;
}

void trl__local_stats_transition(trl__local_stats *local, int32_t id, double count)
{
    if (local->transition[id] == 0 && count != 0)
        local->touched[local->touched_count++] = id;
    local->transition[id] += count;
}

void trl__stats_merge(trl__stats *stats, const trl__local_stats *local)
{
    size_t dim = (size_t)stats->dim, size = slot_size(local);
    for (size_t i = 0; i < local->slot_count; i++) {
        const double *slot = local->slots + i * size;
        size_t g = (size_t)local->gaussian[i];
        stats->count[g] += slot[0];
        add_array(stats->sum + g * dim, slot + 1, dim);
        add_array(stats->square + g * dim, slot + 1 + dim, dim);
    }
    for (size_t i = 0; i < local->touched_count; i++)
        stats->transition[local->touched[i]] += local->transition[local->touched[i]];
    add_totals(&stats->totals, &local->totals);
}

/* ---- file ---- */

typedef struct file_header {
    uint64_t gaussians;
    uint32_t dim, transitions;
    trl__totals totals;
} file_header;

_Static_assert(sizeof(file_header) == 48, "the file's layout is the struct's");

static int write_section(trl__container_writer *writer, const char *name, const void *bytes, size_t size,
                         trl_error *err)
{
    int code = trl__container_begin(writer, name, 0, err);
    return code < 0 ? code : trl__container_write(writer, bytes, size, err);
}

int trl__stats_write(const trl__stats *stats, const char *path, trl_error *err)
{
    const file_header header = {.gaussians = (uint64_t)stats->gaussians,
                                .dim = (uint32_t)stats->dim,
                                .transitions = (uint32_t)stats->transitions,
                                .totals = stats->totals};
    size_t count = (size_t)stats->gaussians * sizeof(double), numbers = count * (size_t)stats->dim;
    trl__container_writer *writer;
    int code = trl__container_create(path, KIND, VERSION, &writer, err);
    if (code < 0)
        return code;
    code = write_section(writer, "statistics", &header, sizeof header, err);
    if (code == 0)
        code = write_section(writer, "counts", stats->count, count, err);
    if (code == 0)
        code = write_section(writer, "sums", stats->sum, numbers, err);
    if (code == 0)
        code = write_section(writer, "squares", stats->square, numbers, err);
    if (code == 0)
        code = write_section(writer, "transitions", stats->transition + 1, (size_t)stats->transitions * sizeof(double),
                             err);
    if (code == 0)
        return trl__container_commit(writer, err);
    trl__container_abort(writer);
    return code;
}

/* A section of exactly `count` finite doubles; `least` is the smallest they may be. */
static int read_doubles(const trl__container *file, const char *name, uint64_t count, double least, double *out,
                        trl_error *err)
{
    const void *bytes;
    uint64_t size;
    int code = trl__container_section(file, name, &bytes, &size, err);
    if (code < 0)
        return code;
    if (size != count * sizeof(double))
        return trl__fail(err, TRL_ECORRUPT, "%s: section '%s' has %" PRIu64 " bytes instead of %" PRIu64,
                         trl__container_path(file), name, size, count * (uint64_t)sizeof(double));
    if (count > 0)
        memcpy(out, bytes, (size_t)size);
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(out[i]) || out[i] < least)
            return trl__fail_byte(err, isfinite(out[i]) ? TRL_ECORRUPT : TRL_ENUMBER, trl__container_path(file),
                                  trl__container_offset(file, (const double *)bytes + i),
                                  "%g is no possible number of section '%s'", out[i], name);
    return 0;
}

/* The header's numbers, compared with the size of the sections before memory is taken for them. */
static int read_header(const trl__container *file, file_header *header, trl_error *err)
{
    const void *bytes, *counts;
    uint64_t size, counts_size, sums_size;
    int code = trl__container_section(file, "statistics", &bytes, &size, err);
    if (code == 0)
        code = trl__container_section(file, "counts", &counts, &counts_size, err);
    if (code == 0)
        code = trl__container_section(file, "sums", &counts, &sums_size, err);
    if (code < 0)
        return code;
    if (size != sizeof *header)
        return trl__fail(err, TRL_ECORRUPT, "%s: section 'statistics' has %" PRIu64 " bytes instead of %zu",
                         trl__container_path(file), size, sizeof *header);
    memcpy(header, bytes, sizeof *header);
    uint64_t numbers;
    if (header->dim < 1 || header->dim > INT32_MAX || header->transitions >= INT32_MAX ||
        counts_size / sizeof(double) != header->gaussians ||
        __builtin_mul_overflow(header->gaussians, (uint64_t)header->dim, &numbers) ||
        sums_size / sizeof(double) != numbers)
        return trl__fail(err, TRL_ECORRUPT,
                         "%s: %" PRIu64 " Gaussians of %" PRIu32 " dimensions do not fit the sections' sizes",
                         trl__container_path(file), header->gaussians, header->dim);
    const trl__totals *t = &header->totals;
    if (!isfinite(t->frames) || !isfinite(t->log_likelihood) || !isfinite(t->joint) || !isfinite(t->utterances))
        return trl__fail(err, TRL_ENUMBER, "%s: a total is not finite", trl__container_path(file));
    return 0;
}

static int read_sections(const trl__container *file, trl__stats **out, trl_error *err)
{
    file_header header;
    const void *transitions;
    uint64_t size;
    int code = read_header(file, &header, err);
    if (code == 0)
        code = trl__container_section(file, "transitions", &transitions, &size, err);
    if (code == 0 && size != header.transitions * (uint64_t)sizeof(double))
        code =
            trl__fail(err, TRL_ECORRUPT, "%s: section 'transitions' has %" PRIu64 " bytes for %" PRIu32 " transitions",
                      trl__container_path(file), size, header.transitions);
    if (code == 0)
        code = create_shape((int32_t)header.dim, (int64_t)header.gaussians, (int32_t)header.transitions, out, err);
    if (code < 0)
        return code;
    trl__stats *s = *out;
    uint64_t numbers = header.gaussians * header.dim;
    s->totals = header.totals;
    code = read_doubles(file, "counts", header.gaussians, 0, s->count, err);
    if (code == 0)
        code = read_doubles(file, "sums", numbers, -HUGE_VAL, s->sum, err);
    if (code == 0)
        code = read_doubles(file, "squares", numbers, 0, s->square, err);
    if (code == 0)
        code = read_doubles(file, "transitions", header.transitions, 0, s->transition + 1, err);
    return code;
}

int trl__stats_from_container(trl__container *file, trl__stats **out, trl_error *err)
{
    *out = NULL;
    int code = read_sections(file, out, err);
    trl__container_close(file);
    if (code < 0) {
        trl__stats_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__stats_read(const char *path, trl__stats **out, trl_error *err)
{
    *out = NULL;
    trl__container *file;
    int code = trl__container_open(path, KIND, VERSION, &file, err);
    return code < 0 ? code : trl__stats_from_container(file, out, err);
}
