/* NumPy files (NEP 1): magic, two bytes of version, the length of the header (uint16, from version 2.0 on uint32,
 * little-endian), the header, the numbers. The header is a Python dictionary of three entries, padded with blanks so
 * that the numbers start at a multiple of 64:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (120, 39), }
 *
 * Written: version 1.0, float32, little-endian, row by row. Read: floats of 4 and 8 bytes in either order of bytes,
 * by rows or columns (fortran_order); an array of one dimension is one row.
 */
#include "base/bytes.h"
#include "base/fail.h"
#include "feat/feature_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define PREAMBLE 10      /* magic, version, length */
#define HEADER_MOST 4096 /* bytes; an array of plain numbers needs 128 */

typedef struct npy_header {
    int big_endian, size; /* of a number, bytes */
    int by_columns;
    uint64_t rows, cols;
} npy_header;

/* ---- The header ---- */

typedef struct header_text {
    const trl__source *source;
    const char *at;
} header_text;

static int refuse(const header_text *t, int code, const char *what, trl_error *err)
{
    return trl__fail(err, code, "%s: %s", t->source->name, what);
}

static int refuse_syntax(const header_text *t, trl_error *err)
{
    return refuse(t, TRL_EFORMAT, "not a NumPy file of one array: its header is not understood", err);
}

/* Moves past blanks, then past the character if it is the next one. */
static int take(header_text *t, char wanted)
{
    t->at += strspn(t->at, " \n");
    if (*t->at != wanted)
        return 0;
    t->at++;
    return 1;
}

/* A string between quotes; its length, or -1. */
static long take_string(header_text *t, const char **string)
{
    char quote = take(t, '\'') ? '\'' : take(t, '"') ? '"' : '\0';
    const char *end = quote ? strchr(t->at, quote) : NULL;
    if (!end)
        return -1;
    *string = t->at;
    t->at = end + 1;
    return end - *string;
}

static int take_word(header_text *t, const char *word)
{
    t->at += strspn(t->at, " \n");
    if (strncmp(t->at, word, strlen(word)) != 0)
        return 0;
    t->at += strlen(word);
    return 1;
}

/* The type of the numbers: '<f4', or where bytes have no order a '|', and so on. */
static int read_type(header_text *t, npy_header *h, trl_error *err)
{
    const char *type;
    if (take_string(t, &type) != 3)
        return refuse(t, TRL_EUNSUPPORTED, "numbers must be float32 or float64: array.astype('float32')", err);
    h->big_endian = type[0] == '>';
    h->size = type[2] - '0';
    if ((type[0] != '<' && type[0] != '>') || type[1] != 'f' || (h->size != 4 && h->size != 8))
        return refuse(t, TRL_EUNSUPPORTED, "numbers must be float32 or float64: array.astype('float32')", err);
    return 0;
}

/* (3, 2) or (2,) */
static int read_shape(header_text *t, npy_header *h, trl_error *err)
{
    uint64_t sizes[2] = {0};
    int count = 0, after_comma = 1;
    if (!take(t, '('))
        return refuse_syntax(t, err);
    while (!take(t, ')')) {
        size_t digits = strspn(t->at, "0123456789");
        if (digits == 0 || digits > 18 || !after_comma)
            return refuse_syntax(t, err);
        if (count == 2)
            return refuse(t, TRL_EUNSUPPORTED, "an array of frames has one or two dimensions", err);
        for (; digits > 0; digits--)
            sizes[count] = 10 * sizes[count] + (uint64_t)(*t->at++ - '0');
        count++;
        after_comma = take(t, ',');
    }
    if (count == 0)
        return refuse(t, TRL_EUNSUPPORTED, "an array of frames has one or two dimensions", err);
    h->rows = count == 1 ? 1 : sizes[0];
    h->cols = sizes[count - 1];
    return 0;
}

static int read_entry(header_text *t, npy_header *h, unsigned *seen, trl_error *err)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    long length = take_string(t, &key);
    unsigned k = 0;
    while (k < 3 && (length != (long)strlen(keys[k]) || memcmp(key, keys[k], (size_t)length) != 0))
        k++;
    if (k == 3 || (*seen & 1U << k) || !take(t, ':'))
        return refuse_syntax(t, err);
    *seen |= 1U << k;
    if (k == 0)
        return read_type(t, h, err);
    if (k == 2)
        return read_shape(t, h, err);
    h->by_columns = take_word(t, "True");
    return h->by_columns || take_word(t, "False") ? 0 : refuse_syntax(t, err);
}

static int parse_header(const trl__source *source, const char *text, npy_header *h, trl_error *err)
{
    header_text t = {source, text};
    unsigned seen = 0;
    int code = take(&t, '{') ? 0 : refuse_syntax(&t, err), more = 1;
    while (code == 0 && !take(&t, '}')) {
        code = more ? read_entry(&t, h, &seen, err) : refuse_syntax(&t, err);
        more = code == 0 && take(&t, ',');
    }
    if (code == 0 && (seen != 7 || t.at[strspn(t.at, " \n")] != '\0'))
        code = refuse_syntax(&t, err);
    if (code == 0 && h->rows > 0 && h->cols == 0)
        code = refuse(&t, TRL_EFORMAT, "frames without columns", err);
    return code;
}

static int read_header(trl__source *source, npy_header *h, trl_error *err)
{
    const unsigned char *b;
    char text[HEADER_MOST + 1];
    int code = trl__source_take(source, PREAMBLE - 2, &b, err);
    if (code < 0)
        return code;
    if (memcmp(b, MAGIC, 6) != 0 || b[6] < 1 || b[6] > 3)
        return trl__fail(err, TRL_EFORMAT, "%s: not a NumPy file (.npy) of version 1.0 to 3.0", source->name);
    unsigned bytes = b[6] == 1 ? 2 : 4;
    code = trl__source_take(source, bytes, &b, err);
    if (code < 0)
        return code;
    uint32_t length = bytes == 2 ? trl__le16(b) : trl__le32(b);
    if (length > HEADER_MOST)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: a header of %" PRIu32 " bytes; an array of plain numbers has 128",
                         source->name, length);
    code = trl__source_take(source, length, &b, err);
    if (code < 0)
        return code;
    memcpy(text, b, length);
    text[length] = '\0';
    if (strlen(text) != length)
        return trl__fail(err, TRL_EFORMAT, "%s: not a NumPy file: a zero byte in its header", source->name);
    return parse_header(source, text, h, err);
}

/* ---- The numbers ---- */

static uint64_t swapped(uint64_t value, int size)
{
    uint64_t result = 0;
    for (int i = 0; i < size; i++)
        result |= (value >> 8 * i & 0xFF) << 8 * (size - 1 - i);
    return result;
}

static float number_at(const npy_header *h, const unsigned char *bytes)
{
    uint64_t bits = h->size == 4 ? trl__le32(bytes) : trl__le64(bytes);
    if (h->big_endian)
        bits = swapped(bits, h->size);
    return h->size == 4 ? trl__float_of_bits((uint32_t)bits) : (float)trl__double_of_bits(bits);
}

static void decode(const npy_header *h, const unsigned char *bytes, trl_matrix *out)
{
    uint64_t across = h->by_columns ? h->rows : 1, down = h->by_columns ? 1 : h->cols;
    for (uint64_t r = 0; r < h->rows; r++)
        for (uint64_t c = 0; c < h->cols; c++)
            out->data[r * h->cols + c] = number_at(h, bytes + (uint64_t)h->size * (r * down + c * across));
}

int trl__npy_read(trl__source *source, trl_matrix *frames, trl_error *err)
{
    npy_header h = {0};
    const unsigned char *bytes;
    int code = read_header(source, &h, err);
    if (code < 0)
        return code;
    if (h.cols > 0 && h.rows > UINT64_MAX / 8 / h.cols)
        return trl__fail(err, TRL_EFORMAT, "%s: an array of %" PRIu64 " x %" PRIu64 " numbers can't be", source->name,
                         h.rows, h.cols);
    code = trl__source_take(source, h.rows * h.cols * (uint64_t)h.size, &bytes, err);
    if (code == 0)
        code = trl_matrix_resize(frames, (size_t)h.rows, (size_t)h.cols, err);
    if (code < 0)
        return code;
    decode(&h, bytes, frames);
    int c = trl__source_peek(source, err);
    if (c == TRL__SOURCE_END)
        return 0;
    return c < 0 ? c
                 : trl__fail_byte(err, TRL_ECORRUPT, source->name, source->offset,
                                  "bytes after the %" PRIu64 " x %" PRIu64 " numbers that the header promises", h.rows,
                                  h.cols);
}

static int npy_open(const char *path, trl_feature_reader **out, trl_error *err)
{
    return trl__file_per_utterance_open(path, &trl__npy_format, trl__npy_read, out, err);
}

/* ---- Writing ---- */

static int write_header(trl_file *file, const trl_matrix *m, trl_error *err)
{
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, MAGIC "\x01\x00", 8);
    int used = snprintf(header + PREAMBLE, sizeof header - PREAMBLE,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", m->rows, m->cols);
    header[PREAMBLE + used] = ' '; /* the NUL */
    header[sizeof header - 1] = '\n';
    header[8] = (char)(sizeof header - PREAMBLE);
    header[9] = 0;
    return trl_file_write(file, header, sizeof header, err);
}

static int encode(trl_file *file, const trl_matrix *m, const trl_feature_writer_options *options, trl_error *err)
{
    (void)options;
    int code = write_header(file, m, err);
    return code < 0 ? code : trl__write_floats(file, m, err);
}

static int npy_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                      trl_error *err)
{
    return trl__file_per_utterance(path, &trl__npy_format, encode, options, out, err);
}

const trl__feature_format trl__npy_format = {
    .prefix = "npy", .endings = {".npy"}, .open = npy_open, .create = npy_create};
