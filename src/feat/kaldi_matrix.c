/* Kaldi's matrices (kaldi-asr.org, "Kaldi I/O mechanisms"; class CompressedMatrix).
 *
 * Binary: NUL 'B', a token and a blank, then little-endian
 *
 *     FM DM      4 int32 rows, 4 int32 columns (each after a byte that gives its size), float32 or float64 row by row
 *     FV DV      4 int32 size, the numbers
 *     CM         float32 least, float32 range, int32 rows, int32 columns; per column four uint16 (the 0, 25, 75 and 100
 *                percent points, 0 … 65535 over the range); then the bytes column by column, 0 … 64 between the first
 *                two points, 64 … 192 between the next, 192 … 255 between the last
 *     CM2 CM3    the same first four; then uint16 or uint8 row by row, over the range
 *
 * Text: [ numbers, a new line for each row, ].
 *
 * The arithmetic of the compressed kinds, float where Kaldi has float and double where it has double, is part of the
 * format: only so do the same bytes give the same bits.
 */
#include "feat/kaldi_matrix.h"
#include "feat/feature_format.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- binary ---- */

typedef struct shape {
    uint64_t rows, cols;
    float least, range; /* compressed kinds */
} shape;

static void decode_float(const unsigned char *bytes, const shape *s, float *out)
{
    for (uint64_t i = 0; i < s->rows * s->cols; i++)
        out[i] = trl__float_of_bits(trl__le32(bytes + 4 * i));
}

/* What is too large for a float becomes infinity, which the caller reports with its place. */
static float narrow(double value)
{
    return fabs(value) > FLT_MAX ? (float)copysign(INFINITY, value) : (float)value;
}

static void decode_double(const unsigned char *bytes, const shape *s, float *out)
{
    for (uint64_t i = 0; i < s->rows * s->cols; i++)
        out[i] = narrow(trl__double_of_bits(trl__le64(bytes + 8 * i)));
}

/* A percent point; the factor is 1/65535 as Kaldi writes it. */
static float point(const shape *s, const unsigned char *bytes)
{
    return s->least + s->range * 1.52590218966964e-05F * trl__le16(bytes);
}

static float between_points(const float p[4], unsigned value)
{
    if (value <= 64)
        return narrow(p[0] + (p[1] - p[0]) * (float)value * (1 / 64.0));
    if (value <= 192)
        return narrow(p[1] + (p[2] - p[1]) * (float)(value - 64) * (1 / 128.0));
    return narrow(p[2] + (p[3] - p[2]) * (float)(value - 192) * (1 / 63.0));
}

static void decode_columns(const unsigned char *bytes, const shape *s, float *out)
{
    const unsigned char *values = bytes + 8 * s->cols;
    for (uint64_t c = 0; c < s->cols; c++) {
        float p[4], table[256];
        for (int i = 0; i < 4; i++)
            p[i] = point(s, bytes + 8 * c + 2 * i);
        for (unsigned v = 0; v < 256; v++)
            table[v] = between_points(p, v);
        for (uint64_t r = 0; r < s->rows; r++)
            out[r * s->cols + c] = table[*values++];
    }
}

static void decode_two_bytes(const unsigned char *bytes, const shape *s, float *out)
{
    float increment = narrow(s->range * (1.0 / 65535.0));
    for (uint64_t i = 0; i < s->rows * s->cols; i++)
        out[i] = s->least + (float)trl__le16(bytes + 2 * i) * increment;
}

static void decode_one_byte(const unsigned char *bytes, const shape *s, float *out)
{
    float increment = narrow(s->range * (1.0 / 255.0));
    for (uint64_t i = 0; i < s->rows * s->cols; i++)
        out[i] = s->least + (float)bytes[i] * increment;
}

typedef struct kind {
    const char *token;
    int compressed, vector;
    unsigned cell_size, column_size; /* bytes per number, and per column in front of them */
    void (*decode)(const unsigned char *bytes, const shape *s, float *out);
} kind;

static const kind kinds[] = {
    {"FM", 0, 0, 4, 0, decode_float},     {"DM", 0, 0, 8, 0, decode_double},  {"FV", 0, 1, 4, 0, decode_float},
    {"DV", 0, 1, 8, 0, decode_double},    {"CM", 1, 0, 1, 8, decode_columns}, {"CM2", 1, 0, 2, 0, decode_two_bytes},
    {"CM3", 1, 0, 1, 0, decode_one_byte},
};

static int read_token(trl__source *source, const kind **out, trl_error *err)
{
    char token[8];
    size_t length = 0;
    uint64_t start = source->offset;
    int c;
    while ((c = trl__source_get(source, err)) > ' ' && c < 0x7F && length < sizeof token - 1)
        token[length++] = (char)c;
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    token[length] = '\0';
    for (size_t i = 0; c == ' ' && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(token, kinds[i].token) == 0) {
            *out = &kinds[i];
            return 0;
        }
    return trl__fail_byte(err, c == ' ' ? TRL_EUNSUPPORTED : TRL_EFORMAT, source->name, start,
                          "expected a matrix or vector (FM, DM, CM, CM2, CM3, FV, DV), found '%s'", token);
}

static int check_size(const trl__source *source, int32_t value, uint64_t *out, trl_error *err)
{
    if (value < 0)
        return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->offset,
                              "a matrix with %" PRId32 " rows or columns", value);
    *out = (uint64_t)value;
    return 0;
}

/* An int32 after a byte that says 4. */
static int read_size(trl__source *source, uint64_t *out, trl_error *err)
{
    const unsigned char *bytes;
    int code = trl__source_take(source, 5, &bytes, err);
    if (code < 0)
        return code;
    if (bytes[0] != 4)
        return trl__fail_byte(err, TRL_EFORMAT, source->name, source->offset - 5,
                              "expected the size of a matrix (a byte 4 first), found %d", bytes[0]);
    return check_size(source, (int32_t)trl__le32(bytes + 1), out, err);
}

static int read_compressed_shape(trl__source *source, shape *s, trl_error *err)
{
    const unsigned char *bytes;
    int code = trl__source_take(source, 16, &bytes, err);
    if (code < 0)
        return code;
    s->least = trl__float_of_bits(trl__le32(bytes));
    s->range = trl__float_of_bits(trl__le32(bytes + 4));
    int32_t cols = (int32_t)trl__le32(bytes + 12);
    code = check_size(source, (int32_t)trl__le32(bytes + 8), &s->rows, err);
    return code < 0 ? code : check_size(source, cols, &s->cols, err);
}

/* Kaldi writes an empty compressed matrix with a header that is four bytes longer than the one it reads: the last
 * four, zeros, are left over. No id starts with them, so they can be passed. */
static int pass_leftover(trl__source *source, trl_error *err)
{
    for (int i = 0; i < 4; i++) {
        int c = trl__source_peek(source, err);
        if (c < 0 && c != TRL__SOURCE_END)
            return c;
        if (c != 0)
            break;
        trl__source_get(source, err);
    }
    return 0;
}

static int read_shape(trl__source *source, const kind *k, shape *s, trl_error *err)
{
    if (k->compressed)
        return read_compressed_shape(source, s, err);
    s->rows = 1;
    int code = k->vector ? 0 : read_size(source, &s->rows, err);
    if (code == 0)
        code = read_size(source, &s->cols, err);
    if (k->vector && s->cols == 0)
        s->rows = 0;
    return code;
}

/* In bytes. Rows and columns are below 2^31, so only the last product can overflow; no file is so large. */
static uint64_t data_size(const kind *k, const shape *s)
{
    uint64_t size;
    if (s->rows == 0)
        return 0;
    if (__builtin_mul_overflow(s->rows * s->cols, (uint64_t)k->cell_size, &size))
        return UINT64_MAX;
    return size + s->cols * k->column_size;
}

/* NUL and B. */
static int read_mark(trl__source *source, trl_error *err)
{
    const unsigned char *bytes;
    int code = trl__source_take(source, 2, &bytes, err);
    if (code == 0 && bytes[1] != 'B')
        return trl__fail_byte(err, TRL_EFORMAT, source->name, source->offset - 2,
                              "expected the mark of binary data, NUL and B");
    return code;
}

static int read_binary(trl__source *source, trl_matrix *out, trl_error *err)
{
    const unsigned char *bytes;
    const kind *k = NULL;
    shape s = {0};
    int code = read_token(source, &k, err);
    if (code == 0)
        code = read_shape(source, k, &s, err);
    if (code != 0)
        return code;
    if (s.rows > 0 && s.cols == 0)
        return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->offset,
                              "a matrix of %" PRIu64 " rows x 0 columns", s.rows);
    code = trl__source_take(source, data_size(k, &s), &bytes, err);
    if (code == 0)
        code = trl_matrix_resize(out, (size_t)s.rows, (size_t)s.cols, err);
    if (code == 0 && s.rows > 0)
        k->decode(bytes, &s, out->data);
    if (code == 0 && s.cols == 0 && k->compressed)
        code = pass_leftover(source, err);
    return code;
}

/* ---- text ---- */

typedef struct text_rows {
    float *values;
    size_t count, capacity;
    size_t rows, cols; /* complete rows; cols is that of the first */
    size_t row_start;  /* in values */
} text_rows;

static int is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int end_row(trl__source *source, text_rows *t, trl_error *err)
{
    size_t cols = t->count - t->row_start;
    if (cols == 0)
        return 0;
    if (t->rows == 0)
        t->cols = cols;
    if (cols != t->cols)
        return trl__source_fail(source, err, TRL_EFORMAT, "row %zu has %zu numbers, the rows before it %zu", t->rows,
                                cols, t->cols);
    t->rows++;
    t->row_start = t->count;
    return 0;
}

static int is_not_finite(const char *token)
{
    const char *letters = token + (*token == '-' || *token == '+');
    return (letters[0] | 0x20) == 'n' || (letters[0] | 0x20) == 'i';
}

static int add_number(trl__source *source, text_rows *t, const char *token, trl_error *err)
{
    double value;
    int wrong = trl__parse_double(token, &value) < 0;
    if ((wrong && is_not_finite(token)) || (!wrong && !isfinite(narrow(value))))
        return trl__source_fail(source, err, TRL_ENUMBER, "'%s' in frame %zu, column %zu (counted from 0)", token,
                                t->rows, t->count - t->row_start);
    if (wrong)
        return trl__source_fail(source, err, TRL_EFORMAT, "expected a number or ']', found '%s'", token);
    if (TRL_GROW(t->values, t->capacity, t->count + 1) < 0)
        return trl__fail_memory(err);
    t->values[t->count++] = (float)value;
    return 0;
}

/* A word up to the next blank, line end or bracket. */
static int read_word(trl__source *source, char *word, size_t size, trl_error *err)
{
    size_t length = 0;
    for (;;) {
        int c = trl__source_peek(source, err);
        if (c < 0 && c != TRL__SOURCE_END)
            return c;
        if (c == TRL__SOURCE_END || is_blank(c) || c == '\n' || c == ']' || c == ';')
            break;
        if (c == 0 || length == size - 1)
            return trl__source_fail(
                source, err, TRL_EFORMAT,
                c == 0 ? "a NUL inside a matrix in text form" : "a number of more than %zu characters", size - 1);
        word[length++] = (char)c;
        trl__source_get(source, err);
    }
    word[length] = '\0';
    return 0;
}

/* Everything between the brackets, and the rest of the line after them. */
static int parse_rows(trl__source *source, text_rows *t, trl_error *err)
{
    for (;;) {
        int c = trl__source_peek(source, err), code = 0;
        if (c == TRL__SOURCE_END)
            return trl__source_fail(source, err, TRL_ECORRUPT, "the file ends inside a matrix, ']' is missing");
        if (c < 0)
            return c;
        if (c == '\n' || c == ']' || c == ';')
            code = end_row(source, t, err);
        if (code < 0)
            return code;
        if (c == '\n' || c == ']' || c == ';' || is_blank(c)) {
            trl__source_get(source, err);
            if (c == ']')
                return 0;
            continue;
        }
        char word[128] = "";
        code = read_word(source, word, sizeof word, err);
        if (code == 0)
            code = add_number(source, t, word, err);
        if (code < 0)
            return code;
    }
}

/* Passes blanks; then what follows. */
static int skip_blanks(trl__source *source, trl_error *err)
{
    int c;
    while (is_blank(c = trl__source_peek(source, err)))
        trl__source_get(source, err);
    return c;
}

static int read_text(trl__source *source, trl_matrix *out, trl_error *err)
{
    int c = skip_blanks(source, err);
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    if (c != '[')
        return trl__source_fail(source, err, TRL_EFORMAT, "expected a matrix: binary data or '['");
    trl__source_get(source, err);
    text_rows t = {0};
    int code = parse_rows(source, &t, err);
    if (code == 0)
        code = trl_matrix_resize(out, t.rows, t.cols, err);
    if (code == 0 && t.count > 0)
        memcpy(out->data, t.values, t.count * sizeof *t.values);
    trl__free(t.values);
    if (code < 0)
        return code;
    c = skip_blanks(source, err);
    if (c == '\n')
        trl__source_get(source, err);
    else if (c != TRL__SOURCE_END)
        return c < 0 ? c : trl__source_fail(source, err, TRL_EFORMAT, "expected the end of the line after ']'");
    return 0;
}

int trl__kaldi_matrix_read(trl__source *source, trl_matrix *out, trl_error *err)
{
    int c = trl__source_peek(source, err);
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    if (c != 0)
        return read_text(source, out, err);
    int code = read_mark(source, err);
    return code < 0 ? code : read_binary(source, out, err);
}

int trl__kaldi_matrix_read_inside(trl__source *source, int binary, trl_matrix *out, trl_error *err)
{
    return binary ? read_binary(source, out, err) : read_text(source, out, err);
}

/* ---- writing ---- */

static int write_binary(trl_file *file, const trl_matrix *m, trl_error *err)
{
    if (m->rows > INT32_MAX || m->cols > INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "%zu x %zu is too large for a Kaldi matrix", m->rows, m->cols);
    unsigned char head[13] = {'F', 'M', ' ', 4, 0, 0, 0, 0, 4};
    trl__put_le32(head + 4, (uint32_t)m->rows);
    trl__put_le32(head + 9, m->rows > 0 ? (uint32_t)m->cols : 0);
    int code = trl_file_write(file, head, sizeof head, err);
    return code < 0 ? code : trl__write_floats(file, m, err);
}

static int write_numbers(trl_file *file, const float *numbers, size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        char number[40] = " ";
        trl__format_float(numbers[i], number + 1);
        code = trl_file_write(file, number, strlen(number), err);
    }
    return code;
}

static int write_text(trl_file *file, const trl_matrix *m, trl_error *err)
{
    int code = trl_file_write(file, " [", 2, err);
    for (size_t r = 0; code == 0 && r < m->rows; r++) {
        code = trl_file_write(file, "\n ", 2, err);
        if (code == 0)
            code = write_numbers(file, trl_matrix_row(m, r), m->cols, err);
    }
    return code < 0 ? code : trl_file_write(file, " ]\n", 3, err);
}

int trl__kaldi_matrix_write(trl_file *file, const trl_matrix *matrix, int text, trl_error *err)
{
    int code = text ? 0 : trl_file_write(file, "\0B", 2, err);
    return code < 0 ? code : trl__kaldi_matrix_write_inside(file, matrix, text, err);
}

int trl__kaldi_matrix_write_inside(trl_file *file, const trl_matrix *matrix, int text, trl_error *err)
{
    return text ? write_text(file, matrix, err) : write_binary(file, matrix, err);
}

int trl__kaldi_vector_write_inside(trl_file *file, const float *numbers, size_t count, int text, trl_error *err)
{
    unsigned char head[8] = {'F', 'V', ' ', 4};
    trl__put_le32(head + 4, (uint32_t)count);
    int code = text ? trl_file_write(file, " [", 2, err) : trl_file_write(file, head, sizeof head, err);
    if (code == 0 && text)
        code = write_numbers(file, numbers, count, err);
    if (code == 0 && text)
        return trl_file_write(file, " ]\n", 3, err);
    const trl_matrix row = {(float *)(uintptr_t)numbers, count > 0, count, count, 0};
    return code < 0 ? code : trl__write_floats(file, &row, err);
}
