/* Sphinx's files of numbers.
 *
 * "s3", lines of names and values, "endhdr", the number 0x11223344 in the writer's byte order, three sizes (with streams: the
 * dimensions of each), how many floats, the floats, and, where the lines say `chksum0`, a sum over all 32-bit words since the byte
 * order: sum = (sum rotated left by 20) + word.
 *
 * A sendump has texts with their lengths, up to a length of 0, among them `feature_count`, `cluster_count` …; then densities and
 * senones, and for each stream and density a byte per senone: the logarithm, base 1.0001^-1024, of a weight. With clusters, 16 such bytes
 * come first, and each senone has the number of one, in a byte or in four bits.
 */
#include "model/sphinx_model.h"

#include "base/bytes.h"
#include "base/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER 0x11223344u
#define STEP 0.10239488034128334 /* nats of one unit of a sendump: 1024 ln 1.0001 */

typedef struct reader {
    trl__source *source;
    int big, summed;
    uint32_t sum;
    trl_error *err;
} reader;

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

static uint32_t get32(const reader *r, const unsigned char *bytes)
{
    return r->big ? trl__be32(bytes) : trl__le32(bytes);
}

static uint32_t take_word(reader *r, const unsigned char *bytes)
{
    uint32_t word = get32(r, bytes);
    r->sum = (r->sum << 20 | r->sum >> 12) + word;
    return word;
}

static int read_int(reader *r, int32_t *out)
{
    const unsigned char *bytes;
    int code = trl__source_take(r->source, 4, &bytes, r->err);
    if (code == 0)
        *out = (int32_t)take_word(r, bytes);
    return code;
}

static int read_head(reader *r)
{
    char *line;
    size_t length;
    int first = 1, more;
    while ((more = trl__source_line(r->source, &line, &length, r->err)) > 0) {
        line += strspn(line, " \t");
        if (first && strcmp(line, "s3") != 0)
            break;
        first = 0;
        r->summed |= strncmp(line, "chksum0", 7) == 0;
        if (strcmp(line, "endhdr") == 0)
            break;
    }
    if (more < 0)
        return more;
    if (more == 0 || first)
        return FAIL(r, TRL_EFORMAT, "no file of Sphinx's numbers: it should begin with s3 and have a line endhdr");
    const unsigned char *bytes;
    int code = trl__source_take(r->source, 4, &bytes, r->err);
    if (code < 0)
        return code;
    r->big = trl__be32(bytes) == BYTE_ORDER;
    return get32(r, bytes) == BYTE_ORDER ? 0 : FAIL(r, TRL_ECORRUPT, "the byte order is not marked");
}

static int read_sizes(reader *r, int has_streams, trl__sphinx_array *a)
{
    int32_t told = 0;
    int code = 0;
    for (int i = 0; code == 0 && i < 3; i++) {
        code = read_int(r, &a->size[i]);
        if (code == 0 && (a->size[i] < 1 || a->size[i] > TRL__DENSITIES_MOST * 16))
            code = FAIL(r, TRL_ECORRUPT, "an impossible size: %" PRId32, a->size[i]);
    }
    uint64_t last = code == 0 ? (uint64_t)a->size[2] : 0;
    if (code == 0 && has_streams) {
        int64_t dims = 0;
        if (a->size[1] > TRL__STREAMS_MOST)
            return FAIL(r, TRL_EUNSUPPORTED, "%" PRId32 " streams; at most %d", a->size[1], TRL__STREAMS_MOST);
        a->stream_dim = trl__alloc((size_t)a->size[1], sizeof *a->stream_dim);
        if (!a->stream_dim)
            return trl__fail_memory(r->err);
        for (int32_t s = 0; code == 0 && s < a->size[1]; s++) {
            code = read_int(r, &a->stream_dim[s]);
            if (code == 0 && (a->stream_dim[s] < 1 || a->stream_dim[s] > TRL__DIM_MOST))
                code = FAIL(r, TRL_ECORRUPT, "a stream of %" PRId32 " dimensions", a->stream_dim[s]);
            dims += code == 0 ? a->stream_dim[s] : 0;
        }
        a->count = (uint64_t)a->size[0] * last * (uint64_t)dims;
    } else {
        a->count = (uint64_t)a->size[0] * (uint64_t)a->size[1] * last;
    }
    if (code == 0)
        code = read_int(r, &told);
    if (code == 0 && (uint64_t)(uint32_t)told != a->count)
        code = FAIL(r, TRL_ECORRUPT, "%" PRId32 " numbers, where the sizes make %" PRIu64, told, a->count);
    return code;
}

int trl__sphinx_array_read(trl__source *source, int has_streams, trl__sphinx_array *out, trl_error *err)
{
    reader r = {.source = source, .err = err};
    const unsigned char *bytes = NULL;
    *out = (trl__sphinx_array){0};
    int code = read_head(&r);
    if (code == 0)
        code = read_sizes(&r, has_streams, out);
    if (code == 0)
        code = trl__source_take(source, 4 * out->count, &bytes, err);
    if (code == 0 && !(out->value = trl__alloc(out->count, sizeof *out->value)))
        code = trl__fail_memory(err);
    for (uint64_t i = 0; code == 0 && i < out->count; i++) {
        out->value[i] = trl__float_of_bits(take_word(&r, bytes + 4 * i));
        if (!isfinite(out->value[i]))
            code = FAIL(&r, TRL_ENUMBER, "number %" PRIu64 " is not finite", i);
    }
    if (code == 0 && r.summed)
        code = trl__source_take(source, 4, &bytes, err);
    if (code == 0 && r.summed && get32(&r, bytes) != r.sum)
        code = FAIL(&r, TRL_ECORRUPT, "the checksum is wrong: the file is damaged");
    if (code < 0)
        trl__sphinx_array_free(out);
    return code;
}

void trl__sphinx_array_free(trl__sphinx_array *array)
{
    trl__free(array->stream_dim);
    trl__free(array->value);
    *array = (trl__sphinx_array){0};
}

/* ---- sendump ---- */

typedef struct dump_head {
    int32_t streams, densities, senones, clusters, bits;
} dump_head;

static int count_in(const char *text, size_t length, const char *key, int32_t *count)
{
    size_t size = strlen(key);
    if (length > size && memcmp(text, key, size) == 0 && text[length - 1] == '\0')
        *count = (int32_t)strtol(text + size, NULL, 10);
    return 0;
}

/* Texts up to a length of 0. */
static int read_texts(reader *r, dump_head *head)
{
    for (int number = 0;; number++) {
        const unsigned char *bytes;
        int code = trl__source_take(r->source, 4, &bytes, r->err);
        if (code < 0)
            return code;
        if (number == 0)
            r->big = trl__le32(bytes) > 999;
        uint32_t length = get32(r, bytes);
        if (length == 0 && number > 0)
            return 0;
        if (length == 0 || length > 999)
            return FAIL(r, TRL_EFORMAT, "no sendump: a text of %" PRIu32 " bytes", length);
        code = trl__source_take(r->source, length, &bytes, r->err);
        if (code < 0)
            return code;
        const char *text = (const char *)bytes;
        count_in(text, length, "feature_count ", &head->streams);
        count_in(text, length, "mixture_count ", &head->densities);
        count_in(text, length, "model_count ", &head->senones);
        count_in(text, length, "cluster_count ", &head->clusters);
        count_in(text, length, "cluster_bits ", &head->bits);
    }
}

static int check_head(reader *r, const dump_head *head, const int32_t *size, int32_t rows, int32_t columns)
{
    if (head->streams != size[1] || head->densities != size[2] || head->senones != size[0])
        return FAIL(r, TRL_ECORRUPT,
                    "weights of %" PRId32 " senones, %" PRId32 " streams, %" PRId32
                    " densities; the other files have %" PRId32 ", %" PRId32 ", %" PRId32,
                    head->senones, head->streams, head->densities, size[0], size[1], size[2]);
    if ((head->clusters != 0 && head->clusters != 15 && head->clusters != 16) || (head->bits != 4 && head->bits != 8) ||
        rows < size[2] || columns < size[0])
        return FAIL(r, TRL_EUNSUPPORTED, "%" PRId32 " clusters of %" PRId32 " bits, %" PRId32 " x %" PRId32 " weights",
                    head->clusters, head->bits, rows, columns);
    return 0;
}

static int read_rows(reader *r, const dump_head *head, const unsigned char *clusters, int32_t rows, int32_t columns,
                     trl__sphinx_array *out)
{
    size_t streams = (size_t)out->size[1], densities = (size_t)out->size[2];
    uint64_t step = head->bits == 4 ? ((uint64_t)columns + 1) / 2 : (uint64_t)columns;
    int code = 0;
    for (size_t s = 0; code == 0 && s < streams; s++)
        for (int32_t k = 0; code == 0 && k < rows; k++) {
            const unsigned char *bytes;
            code = trl__source_take(r->source, step, &bytes, r->err);
            for (size_t j = 0; code == 0 && (size_t)k < densities && j < (size_t)out->size[0]; j++) {
                int unit = head->bits == 4 ? bytes[j / 2] >> 4 * (j % 2) & 15 : bytes[j];
                if (head->clusters)
                    unit = clusters[unit & 15];
                out->value[(j * streams + s) * densities + (size_t)k] = (float)(-STEP * unit);
            }
        }
    return code;
}

int trl__sphinx_sendump_read(trl__source *source, const int32_t *size, trl__sphinx_array *out, trl_error *err)
{
    reader r = {.source = source, .err = err};
    dump_head head = {size[1], size[2], size[0], 0, 8};
    unsigned char clusters[16] = {0};
    const unsigned char *bytes;
    *out = (trl__sphinx_array){.size = {size[0], size[1], size[2]}};
    int32_t rows = size[2], columns = size[0];
    int code = read_texts(&r, &head);
    if (code == 0 && head.clusters == 0)
        code = read_int(&r, &rows);
    if (code == 0 && head.clusters == 0)
        code = read_int(&r, &columns);
    if (code == 0)
        code = check_head(&r, &head, size, rows, columns);
    if (code == 0 && head.clusters) {
        code = trl__source_take(source, 16, &bytes, err);
        if (code == 0)
            memcpy(clusters, bytes, 16);
    }
    out->count = (uint64_t)size[0] * (uint64_t)size[1] * (uint64_t)size[2];
    if (code == 0 && out->count / 2 > source->size - source->offset)
        code = FAIL(&r, TRL_ECORRUPT, "the file is too short for %" PRIu64 " weights", out->count);
    if (code == 0 && !(out->value = trl__alloc(out->count, sizeof *out->value)))
        code = trl__fail_memory(err);
    if (code == 0)
        code = read_rows(&r, &head, clusters, rows, columns, out);
    if (code < 0)
        trl__sphinx_array_free(out);
    return code;
}
