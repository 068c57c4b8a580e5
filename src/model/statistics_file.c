/* The statistics file: a container of kind "statistics", version 1 (docs/formats.md). Sections: the shape and the totals,
 * then the arrays as they are. */
#include "model/statistics.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define KIND "statistics"
#define VERSION 1

typedef struct file_header {
    uint64_t gaussians;
    uint32_t dim, transitions;
    trl__totals totals;
} file_header;

_Static_assert(sizeof(file_header) == 48, "the file's layout is the struct's");

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
    code = trl__container_add(writer, "statistics", &header, sizeof header, err);
    if (code == 0)
        code = trl__container_add(writer, "counts", stats->count, count, err);
    if (code == 0)
        code = trl__container_add(writer, "sums", stats->sum, numbers, err);
    if (code == 0)
        code = trl__container_add(writer, "squares", stats->square, numbers, err);
    if (code == 0)
        code = trl__container_add(writer, "transitions", stats->transition + 1,
                                  (size_t)stats->transitions * sizeof(double), err);
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
    if (code != 0)
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
    if (code != 0)
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
        code = trl__stats_create_shape((int32_t)header.dim, (int64_t)header.gaussians, (int32_t)header.transitions, out,
                                       err);
    if (code != 0)
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
