/* HTK parameter files (The HTK Book 3.4, section 5.10.1), big-endian:
 *
 *     byte 0   int32 number of samples, 4 more than frames with _C
 *          4   int32 sample period in 100 ns
 *          8   uint16 bytes per sample
 *         10   uint16 kind: 6 bits base kind, 10 bits qualifiers
 *         12   with _C: float32 A[columns], float32 B[columns]; then the samples; with _K: uint16 checksum
 *
 * Samples are float32; int16 with _C, where x = (X + B) / A; int16 for IREFC, x = X / 32767; and int16 as they are for
 * WAVEFORM and DISCRETE. The checksum runs over everything between header and itself as 16-bit words w:
 * c <- (65536 c + w) mod 36897, from 0. _E _N _D _A _Z _0 _V _T say what the columns mean and change nothing here.
 */
#include "feat/feature_format.h"
#include "base/bytes.h"
#include "base/fail.h"

#include <inttypes.h>
#include <math.h>

enum { HTK_WAVEFORM = 0, HTK_IREFC = 5, HTK_DISCRETE = 10, HTK_LAST_KIND = 12, HTK_BASE = 077 };
enum { HTK_COMPRESSED = 02000, HTK_CRC = 010000 };

#define HEADER_SIZE 12
#define COMPRESSED_EXTRA 4 /* A and B take as many bytes as four samples, and HTK counts them as such */

typedef struct htk_header {
    uint32_t samples, period;
    unsigned sample_size, kind;
    int shorts; /* samples are int16 */
    uint64_t rows, cols;
} htk_header;

/* ---- reading ---- */

static int header_wrong(const trl__source *source, uint64_t offset, const char *what, trl_error *err)
{
    return trl__fail_byte(err, TRL_EFORMAT, source->name, offset, "not an HTK parameter file (they are big-endian): %s",
                          what);
}

static int read_header(trl__source *source, htk_header *h, trl_error *err)
{
    const unsigned char *b;
    int code = trl__source_take(source, HEADER_SIZE, &b, err);
    if (code < 0)
        return code;
    h->samples = trl__be32(b);
    h->period = trl__be32(b + 4);
    h->sample_size = trl__be16(b + 8);
    h->kind = trl__be16(b + 10);
    unsigned base = h->kind & HTK_BASE;
    h->shorts = (h->kind & HTK_COMPRESSED) || base == HTK_IREFC || base == HTK_WAVEFORM || base == HTK_DISCRETE;
    unsigned cell = h->shorts ? 2 : 4;
    if (base > HTK_LAST_KIND)
        return header_wrong(source, 10, "unknown parameter kind", err);
    if (h->samples > INT32_MAX)
        return header_wrong(source, 0, "negative number of samples", err);
    if (h->sample_size == 0 || h->sample_size % cell != 0)
        return header_wrong(source, 8, "the sample size does not fit the parameter kind", err);
    if ((h->kind & HTK_COMPRESSED) && h->samples < COMPRESSED_EXTRA)
        return header_wrong(source, 0, "too few samples for a compressed file", err);
    h->rows = h->samples - (h->kind & HTK_COMPRESSED ? COMPRESSED_EXTRA : 0);
    h->cols = h->sample_size / cell;
    return 0;
}

static unsigned checksum(const unsigned char *bytes, uint64_t size)
{
    uint32_t c = 0;
    for (uint64_t i = 0; i + 1 < size; i += 2)
        c = (c * 65536 + trl__be16(bytes + i)) % 36897;
    return c;
}

static float short_at(const unsigned char *bytes)
{
    return (float)(int16_t)trl__be16(bytes);
}

static void decode(const htk_header *h, const unsigned char *bytes, float *out)
{
    const unsigned char *a = bytes, *b = bytes + 4 * h->cols;
    unsigned base = h->kind & HTK_BASE;
    if (h->kind & HTK_COMPRESSED)
        bytes += 8 * h->cols;
    for (uint64_t r = 0; r < h->rows; r++)
        for (uint64_t c = 0; c < h->cols; c++) {
            uint64_t i = r * h->cols + c;
            if (!h->shorts)
                out[i] = trl__float_of_bits(trl__be32(bytes + 4 * i));
            else if (h->kind & HTK_COMPRESSED)
                out[i] = (short_at(bytes + 2 * i) + trl__float_of_bits(trl__be32(b + 4 * c))) /
                         trl__float_of_bits(trl__be32(a + 4 * c));
            else
                out[i] = base == HTK_IREFC ? short_at(bytes + 2 * i) / 32767.0F : short_at(bytes + 2 * i);
        }
}

static int check_rest(trl__source *source, const htk_header *h, unsigned stored, unsigned computed, trl_error *err)
{
    if ((h->kind & HTK_CRC) && stored != computed)
        return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->offset - 2,
                              "damaged: the checksum is %u, the data give %u", stored, computed);
    int c = trl__source_peek(source, err);
    if (c == TRL__SOURCE_END)
        return 0;
    return c < 0 ? c
                 : trl__fail_byte(err, TRL_ECORRUPT, source->name, source->offset,
                                  "bytes after the %" PRIu64 " frames that the header promises", h->rows);
}

int trl__htk_read(trl__source *source, trl_matrix *frames, trl_error *err)
{
    htk_header h = {0};
    const unsigned char *bytes;
    source->line = 0;
    int code = read_header(source, &h, err);
    if (code < 0)
        return code;
    uint64_t size = (uint64_t)h.samples * h.sample_size, crc_size = h.kind & HTK_CRC ? 2 : 0;
    code = trl__source_take(source, size + crc_size, &bytes, err);
    if (code == 0)
        code = trl_matrix_resize(frames, (size_t)h.rows, (size_t)h.cols, err);
    if (code < 0)
        return code;
    decode(&h, bytes, frames->data);
    return check_rest(source, &h, crc_size ? trl__be16(bytes + size) : 0, crc_size ? checksum(bytes, size) : 0, err);
}

static int htk_open(const char *path, trl_feature_reader **out, trl_error *err)
{
    return trl__file_per_utterance_open(path, &trl__htk_format, trl__htk_read, out, err);
}

/* ---- writing ---- */

static int put_header(unsigned char *bytes, const trl_matrix *m, const trl_feature_writer_options *o, trl_error *err)
{
    double period = round(o->shift_ms * 10000); /* ms -> 100 ns */
    if (m->rows > INT32_MAX || m->cols > INT16_MAX / 4 || m->cols == 0)
        return trl__fail(err, TRL_ELIMIT, "%zu frames x %zu columns: an HTK file has 1 to %d columns", m->rows, m->cols,
                         INT16_MAX / 4);
    trl__put_be32(bytes, (uint32_t)m->rows);
    trl__put_be32(bytes + 4, (uint32_t)period);
    trl__put_be16(bytes + 8, (uint16_t)(4 * m->cols));
    trl__put_be16(bytes + 10, (uint16_t)o->htk_kind);
    return 0;
}

static int encode(trl_file *file, const trl_matrix *m, const trl_feature_writer_options *o, trl_error *err)
{
    unsigned char bytes[INT16_MAX + 1];
    int code = put_header(bytes, m, o, err);
    if (code == 0)
        code = trl_file_write(file, bytes, HEADER_SIZE, err);
    for (size_t r = 0; code == 0 && r < m->rows; r++) {
        for (size_t c = 0; c < m->cols; c++)
            trl__put_be32(bytes + 4 * c, trl__bits_of_float(trl_matrix_row(m, r)[c]));
        code = trl_file_write(file, bytes, 4 * m->cols, err);
    }
    return code;
}

static int check_options(const trl_feature_writer_options *o, trl_error *err)
{
    int base = o->htk_kind & HTK_BASE;
    if (!(o->shift_ms >= 0.0001 && o->shift_ms * 10000 <= INT32_MAX))
        return trl__fail(err, TRL_EINVAL, "a frame shift of %g ms does not fit an HTK header", o->shift_ms);
    if (o->htk_kind < 0 || o->htk_kind > UINT16_MAX || base > HTK_LAST_KIND || base == HTK_WAVEFORM ||
        base == HTK_IREFC || base == HTK_DISCRETE || (o->htk_kind & (HTK_COMPRESSED | HTK_CRC)))
        return trl__fail(err, TRL_EINVAL,
                         "HTK kind %d can't be written: files are written as plain floats, without _C and _K",
                         o->htk_kind);
    return 0;
}

static int htk_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                      trl_error *err)
{
    int code = check_options(options, err);
    return code < 0 ? code : trl__file_per_utterance(path, &trl__htk_format, encode, options, out, err);
}

const trl__feature_format trl__htk_format = {
    .prefix = "htk", .endings = {".htk", ".mfc", ".plp", ".fea"}, .open = htk_open, .create = htk_create};
