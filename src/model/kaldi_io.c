#include "model/kaldi_io.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "feat/kaldi_matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNSIGNED_SIZE 0xFC /* -4 */

/* ---- Reading ---- */

int trl__kaldi_begin(trl__kaldi_in *in, trl__source *source, trl_error *err)
{
    const unsigned char *bytes;
    *in = (trl__kaldi_in){source, 0, err};
    int c = trl__source_peek(source, err);
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    in->binary = c == 0;
    if (!in->binary)
        return 0;
    source->line = 0; /* lines mean nothing here */
    int code = trl__source_take(source, 2, &bytes, err);
    if (code == 0 && bytes[1] != 'B')
        return trl__fail_byte(err, TRL_EFORMAT, source->name, 0, "expected the mark of binary data, NUL and B");
    return code;
}

/* Passes blanks; returns the byte behind them, TRL__SOURCE_END, or an error. */
static int skip_blanks(trl__kaldi_in *in)
{
    int c;
    while ((c = trl__source_peek(in->source, in->err)) >= 0 && trl__is_space((char)c))
        trl__source_get(in->source, in->err);
    return c;
}

/* The blank that ends a binary token belongs to it. In text it stays, so that a failure names the right line. */
int trl__kaldi_token(trl__kaldi_in *in, char token[TRL__KALDI_TOKEN])
{
    size_t length = 0;
    int c = in->binary ? 0 : skip_blanks(in);
    while (c >= 0 && (c = trl__source_peek(in->source, in->err)) > ' ' && c < 0x7F && length < TRL__KALDI_TOKEN - 1) {
        token[length++] = (char)c;
        trl__source_get(in->source, in->err);
    }
    token[length] = '\0';
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    if (c == TRL__SOURCE_END && (in->binary || length == 0))
        return trl__source_fail(in->source, in->err, TRL_ECORRUPT, "the file ends too early");
    if (length == 0 || (c != TRL__SOURCE_END && !trl__is_space((char)c)))
        return trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a token or a number");
    if (in->binary)
        trl__source_get(in->source, in->err);
    return 0;
}

int trl__kaldi_expect(trl__kaldi_in *in, const char *token)
{
    char found[TRL__KALDI_TOKEN];
    int code = trl__kaldi_token(in, found);
    if (code == 0 && strcmp(found, token) != 0)
        code = trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected %s, found %s", token, found);
    return code;
}

/* The bytes of a binary number, whose size is `one` or `other`. */
static int take_number(trl__kaldi_in *in, int one, int other, const unsigned char **bytes, int *size)
{
    const unsigned char *head;
    int code = trl__source_take(in->source, 1, &head, in->err);
    if (code < 0)
        return code;
    *size = head[0];
    if (*size != one && *size != other)
        return trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a number of %d bytes, found the size %d",
                                one, *size);
    return trl__source_take(in->source, (uint64_t)*size, bytes, in->err);
}

int trl__kaldi_int(trl__kaldi_in *in, int32_t *out)
{
    char word[TRL__KALDI_TOKEN];
    const unsigned char *bytes;
    int64_t value;
    int size, code;
    if (in->binary) {
        code = take_number(in, 4, 4, &bytes, &size);
        if (code == 0)
            *out = (int32_t)trl__le32(bytes);
        return code;
    }
    code = trl__kaldi_token(in, word);
    if (code < 0)
        return code;
    if (trl__parse_int(word, &value) < 0 || value < INT32_MIN || value > INT32_MAX)
        return trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a whole number, found %s", word);
    *out = (int32_t)value;
    return 0;
}

/* Kaldi tells unsigned numbers by a negative size. */
int trl__kaldi_unsigned(trl__kaldi_in *in, uint32_t *out)
{
    char word[TRL__KALDI_TOKEN];
    const unsigned char *bytes;
    int64_t value;
    int code;
    if (in->binary) {
        code = trl__source_take(in->source, 5, &bytes, in->err);
        if (code == 0 && bytes[0] != UNSIGNED_SIZE)
            return trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected an unsigned number of 4 bytes");
        if (code == 0)
            *out = trl__le32(bytes + 1);
        return code;
    }
    code = trl__kaldi_token(in, word);
    if (code < 0)
        return code;
    if (trl__parse_int(word, &value) < 0 || value < 0 || value > UINT32_MAX)
        return trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a number from 0 on, found %s", word);
    *out = (uint32_t)value;
    return 0;
}

int trl__kaldi_float(trl__kaldi_in *in, float *out)
{
    char word[TRL__KALDI_TOKEN];
    const unsigned char *bytes;
    double value = 0;
    int size, code;
    if (in->binary) {
        code = take_number(in, 4, 8, &bytes, &size);
        if (code == 0)
            value = size == 4 ? trl__float_of_bits(trl__le32(bytes)) : trl__double_of_bits(trl__le64(bytes));
    } else {
        code = trl__kaldi_token(in, word);
        if (code == 0 && trl__parse_double(word, &value) < 0)
            code = trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a number, found %s", word);
    }
    if (code == 0 && !(fabs(value) <= 3.4028234e38))
        code = trl__source_fail(in->source, in->err, TRL_ENUMBER, "a number that is not finite, or no float");
    *out = code == 0 ? (float)value : 0;
    return code;
}

static int ints_in_text(trl__kaldi_in *in, int32_t **numbers, size_t *count)
{
    char word[TRL__KALDI_TOKEN];
    size_t capacity = 0;
    int64_t value;
    int code = trl__kaldi_expect(in, "[");
    if (code == 0)
        code = trl__kaldi_token(in, word);
    while (code == 0 && strcmp(word, "]") != 0) {
        if (trl__parse_int(word, &value) < 0 || value < INT32_MIN || value > INT32_MAX)
            code = trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a whole number or ], found %s", word);
        else if (TRL_GROW(*numbers, capacity, *count + 1) < 0)
            code = trl__fail_memory(in->err);
        else
            (*numbers)[(*count)++] = (int32_t)value;
        if (code == 0)
            code = trl__kaldi_token(in, word);
    }
    if (code == 0)
        return 0;
    trl__free(*numbers);
    *numbers = NULL;
    return code;
}

int trl__kaldi_ints(trl__kaldi_in *in, int32_t **numbers, size_t *count)
{
    const unsigned char *bytes;
    *numbers = NULL;
    *count = 0;
    if (!in->binary)
        return ints_in_text(in, numbers, count);
    int code = trl__source_take(in->source, 5, &bytes, in->err);
    if (code < 0)
        return code;
    int64_t claimed = (int32_t)trl__le32(bytes + 1);
    if (bytes[0] != 4 || claimed < 0)
        return trl__source_fail(in->source, in->err, TRL_EFORMAT, "expected a vector of 32-bit integers");
    code = trl__source_take(in->source, (uint64_t)claimed * 4, &bytes, in->err);
    if (code < 0)
        return code;
    *count = (size_t)claimed;
    *numbers = trl__alloc(*count ? *count : 1, sizeof **numbers);
    if (!*numbers)
        return trl__fail_memory(in->err);
    for (size_t i = 0; i < *count; i++)
        (*numbers)[i] = (int32_t)trl__le32(bytes + 4 * i);
    return 0;
}

int trl__kaldi_matrix(trl__kaldi_in *in, trl_matrix *out)
{
    int c = in->binary ? 0 : skip_blanks(in);
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    return trl__kaldi_matrix_read_inside(in->source, in->binary, out, in->err);
}

int trl__kaldi_end(trl__kaldi_in *in)
{
    int c = in->binary ? trl__source_peek(in->source, in->err) : skip_blanks(in);
    if (c == TRL__SOURCE_END)
        return 0;
    return c < 0 ? c : trl__source_fail(in->source, in->err, TRL_EFORMAT, "something behind the end of the object");
}

/* ---- Writing ---- */

static void put(trl__kaldi_out *out, const void *bytes, size_t size)
{
    if (out->code == 0)
        out->code = trl_file_write(out->file, bytes, size, out->err);
}

void trl__kaldi_put_mark(trl__kaldi_out *out)
{
    if (!out->text)
        put(out, "\0B", 2);
}

void trl__kaldi_put_token(trl__kaldi_out *out, const char *token)
{
    put(out, token, strlen(token));
    put(out, " ", 1);
}

static void put_number(trl__kaldi_out *out, unsigned char size, uint32_t bits, const char *text)
{
    unsigned char bytes[5] = {size};
    trl__put_le32(bytes + 1, bits);
    if (out->text)
        trl__kaldi_put_token(out, text);
    else
        put(out, bytes, sizeof bytes);
}

void trl__kaldi_put_int(trl__kaldi_out *out, int32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRId32, value);
    put_number(out, 4, (uint32_t)value, text);
}

void trl__kaldi_put_unsigned(trl__kaldi_out *out, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, value);
    put_number(out, UNSIGNED_SIZE, value, text);
}

void trl__kaldi_put_float(trl__kaldi_out *out, float value)
{
    char text[32];
    trl__format_float(value, text);
    put_number(out, 4, trl__bits_of_float(value), text);
}

void trl__kaldi_put_ints(trl__kaldi_out *out, const int32_t *numbers, size_t count)
{
    unsigned char bytes[5] = {4};
    trl__put_le32(bytes + 1, (uint32_t)count);
    if (out->text)
        put(out, "[ ", 2);
    else
        put(out, bytes, sizeof bytes);
    for (size_t i = 0; i < count; i++) {
        trl__put_le32(bytes, (uint32_t)numbers[i]);
        if (out->text)
            trl__kaldi_put_int(out, numbers[i]);
        else
            put(out, bytes, 4);
    }
    if (out->text)
        put(out, "]\n", 2);
}

void trl__kaldi_put_vector(trl__kaldi_out *out, const float *numbers, size_t count)
{
    if (out->code == 0)
        out->code = trl__kaldi_vector_write_inside(out->file, numbers, count, out->text, out->err);
}

void trl__kaldi_put_matrix(trl__kaldi_out *out, const float *numbers, size_t rows, size_t cols)
{
    const trl_matrix matrix = {(float *)(uintptr_t)numbers, rows, cols, cols, 0};
    if (out->code == 0)
        out->code = trl__kaldi_matrix_write_inside(out->file, &matrix, out->text, out->err);
}

void trl__kaldi_put_line_end(trl__kaldi_out *out)
{
    if (out->text)
        put(out, "\n", 1);
}
