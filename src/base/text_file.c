#define _GNU_SOURCE
#include "base/text_file.h"
#include "base/fail.h"
#include "base/gzip_read.h"
#include "base/input_guard.h"
#include "base/memory.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

static int fail_too_large(const char *path, trl_error *err)
{
    return trl__fail(err, TRL_ELIMIT, "%s: larger than %zu GiB of text; split it", path, TRL_TEXT_MOST >> 30);
}

static int read_all(gzFile file, const char *path, trl__text *out, trl_error *err)
{
    size_t capacity = 0;
    uint64_t unpacked = 0;
    for (;;) {
        if (out->size > TRL_TEXT_MOST)
            return fail_too_large(path, err);
        if (TRL_GROW(out->bytes, capacity, out->size + ((size_t)64 << 10)) < 0)
            return trl__fail_memory(err);
        /* a final NUL, wide enough for UTF-16 */
        ssize_t got = trl__gzip_read(file, path, out->bytes + out->size, capacity - out->size - 4, &unpacked, err);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        out->size += (size_t)got;
    }
    memset(out->bytes + out->size, 0, 4);
    return 0;
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

static uint32_t utf16_unit(const unsigned char *bytes, int big_endian)
{
    return big_endian ? (uint32_t)bytes[0] << 8 | bytes[1] : (uint32_t)bytes[1] << 8 | bytes[0];
}

static int from_utf16(const char *path, trl__text *text, int big_endian, trl_error *err)
{
    const unsigned char *in = (const unsigned char *)text->bytes;
    char *utf8 = trl__alloc(text->size / 2 * 3 + 4, 1); /* two bytes become three at most, four become four */
    if (!utf8)
        return trl__fail_memory(err);
    size_t used = 0;
    for (size_t i = 2; i < text->size; i += 2) {
        uint32_t c = i + 1 < text->size ? utf16_unit(in + i, big_endian) : 0xDC00;
        if (c >= 0xD800 && c < 0xDC00 && i + 3 < text->size) {
            uint32_t low = utf16_unit(in + i + 2, big_endian);
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            }
        }
        if (c >= 0xD800 && c < 0xE000) {
            trl__free(utf8);
            return trl__fail_byte(err, TRL_EFORMAT, path, i, "broken UTF-16; save the file as UTF-8");
        }
        used += put_utf8(utf8 + used, c);
    }
    utf8[used] = '\0';
    trl__free(text->bytes);
    text->bytes = utf8;
    text->size = used;
    return 0;
}

static int decode_mark(const char *path, trl__text *text, trl_error *err)
{
    const unsigned char *b = (const unsigned char *)text->bytes;
    if (text->size >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF)
        text->position = 3;
    else if (text->size >= 2 && ((b[0] == 0xFE && b[1] == 0xFF) || (b[0] == 0xFF && b[1] == 0xFE)))
        return from_utf16(path, text, b[0] == 0xFE, err);
    return 0;
}

int trl__text_read(const char *path, trl__text *out, trl_error *err)
{
    *out = (trl__text){0};
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return trl__fail_errno(err, path, "can't open");
    struct stat status;
    int known = fstat(fd, &status) == 0;
    int code = known && S_ISDIR(status.st_mode) ? trl__fail(err, TRL_EIO, "%s: is a folder, not a file", path)
               : known && (uint64_t)status.st_size > TRL_TEXT_MOST ? fail_too_large(path, err)
                                                                   : trl__guard_input(fd, path, err);
    if (code < 0) {
        close(fd);
        return code;
    }
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return trl__fail_memory(err);
    }
    gzbuffer(file, 1 << 17);
    code = read_all(file, path, out, err);
    gzclose_r(file);
    if (code == 0)
        code = decode_mark(path, out, err);
    if (code < 0)
        trl__text_free(out);
    return code;
}

int trl__text_from_memory(const char *name, const void *bytes, size_t size, trl__text *out, trl_error *err)
{
    *out = (trl__text){.bytes = trl__alloc(size + 4, 1), .size = size};
    if (!out->bytes)
        return trl__fail_memory(err);
    if (size > 0)
        memcpy(out->bytes, bytes, size);
    memset(out->bytes + size, 0, 4);
    int code = decode_mark(name, out, err);
    if (code < 0)
        trl__text_free(out);
    return code;
}

int trl__text_line(trl__text *text, char **line, size_t *length)
{
    if (text->position >= text->size)
        return 0;
    char *start = text->bytes + text->position;
    size_t rest = text->size - text->position;
    char *end = memchr(start, '\n', rest);
    size_t n = end ? (size_t)(end - start) : rest;
    text->position += n + (end ? 1 : 0);
    text->line++;
    if (n > 0 && start[n - 1] == '\r')
        n--;
    start[n] = '\0';
    *line = start;
    *length = n;
    return 1;
}

void trl__text_free(trl__text *text)
{
    trl__free(text->bytes);
    *text = (trl__text){0};
}

/* Length of the valid UTF-8 character at text, or 0. Overlong forms, surrogates and NUL are not valid (RFC 3629). */
static size_t character_length(const unsigned char *s, size_t rest)
{
    if (s[0] < 0x80)
        return s[0] != 0;
    size_t n = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (n == 0 || n > rest)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] >= 0x90))
        return 0;
    return n;
}

size_t trl__utf8_check(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        size_t n = character_length((const unsigned char *)text + i, length - i);
        if (n == 0)
            break;
        i += n;
    }
    return i;
}

char *trl__next_field(char **cursor)
{
    char *field = *cursor + strspn(*cursor, " \t");
    if (*field == '\0') {
        *cursor = field;
        return NULL;
    }
    char *end = field + strcspn(field, " \t");
    *cursor = *end ? end + 1 : end;
    *end = '\0';
    return field;
}

char *trl__trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static void need_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
}

/* Powers of ten that a double holds exactly. */
static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The exponent behind an e, or -1 for what is none. */
static int parse_exponent(const char *text, int *exponent)
{
    int negative = *text == '-', value = 0, digits = 0;
    for (text += *text == '-' || *text == '+'; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
        value = 10 * value + (*text - '0');
    *exponent = negative ? -value : value;
    return digits > 0 && *text == '\0' ? 0 : -1;
}

/* Short decimal numbers: up to 2^53 times or by a power of ten up to 10^22 are two exact doubles, so that one
 * operation rounds them as strtod would (Clinger 1990). Returns 0, or -1 for all others, wrong ones too. */
static int parse_short(const char *text, double *value)
{
    int negative = *text == '-', digits = 0, places = 0, exponent = 0;
    uint64_t number = 0;
    text += negative || *text == '+';
    for (; *text >= '0' && *text <= '9' && number < 100000000000000; text++, digits++)
        number = 10 * number + (uint64_t)(*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9' && number < 100000000000000; text++, digits++, places++)
            number = 10 * number + (uint64_t)(*text - '0');
    if (digits == 0 || ((*text == 'e' || *text == 'E') ? parse_exponent(text + 1, &exponent) < 0 : *text != '\0'))
        return -1;
    exponent -= places;
    if (exponent < -22 || exponent > 22)
        return -1;
    double result = exponent < 0 ? (double)number / powers_of_ten[-exponent] : (double)number * powers_of_ten[exponent];
    *value = negative ? -result : result;
    return 0;
}

size_t trl__word_length(const char *word)
{
    size_t length = strlen(word), at = length;
    if (at < 4 || word[at - 1] != ')')
        return length;
    at--;
    while (at > 0 && word[at - 1] >= '0' && word[at - 1] <= '9')
        at--;
    return at > 1 && at < length - 1 && word[at - 1] == '(' ? at - 1 : length;
}

int trl__parse_double(const char *text, double *value)
{
    if (parse_short(text, value) == 0)
        return 0;
    need_c_locale();
    if (*text == '\0' || strchr(" \t\n\r\v\f", *text))
        return -1;
    char *end;
    double parsed = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(parsed))
        return -1;
    *value = parsed;
    return 0;
}

/* With the fewest digits, from `least` to `most`, that read back to the same number. */
static void format_number(double value, int is_float, int least, int most, char *out)
{
    need_c_locale();
    locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    for (int digits = least; digits <= most; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if ((is_float ? (double)strtof(out, NULL) : strtod(out, NULL)) == value)
            break;
    }
    if (before)
        uselocale(before);
}

/* Writes number / 10^places: from the last digit to the first, then turned round. */
static void write_decimal(int negative, uint64_t number, int places, char *out)
{
    char text[32];
    int length = 0, digits = 0;
    for (; places > 0 && number % 10 == 0; places--)
        number /= 10;
    do {
        text[length++] = (char)('0' + number % 10);
        number /= 10;
        if (++digits == places)
            text[length++] = '.';
    } while (number > 0 || digits <= places);
    if (negative)
        *out++ = '-';
    while (length > 0)
        *out++ = text[--length];
    *out = '\0';
}

/* Numbers of the usual size, many times faster than printf: whole archives are written as text. number = value *
 * 10^places is tried with six to nine digits until it lies nearer to the value than half the way to the next float,
 * so that it reads back to the same one; nine digits always do. Returns 0 for other sizes. */
static int format_usual(float value, char *out)
{
    const double *powers = powers_of_ten;
    double size = fabs((double)value), next = (double)nextafterf(fabsf(value), 0);
    if (!(size >= 1e-3 && size < 1e6))
        return 0;
    int places = 8; /* that give six digits or more */
    while (places > 0 && size * powers[places] >= 1e6)
        places--;
    for (int tries = 0; tries < 4; tries++, places++) {
        uint64_t number = (uint64_t)(size * powers[places] + 0.5);
        if (fabs((double)number / powers[places] - size) < 0.499 * (size - next)) {
            write_decimal(value < 0, number, places, out);
            return 1;
        }
    }
    return 0;
}

void trl__format_float(float value, char *out)
{
    if (!format_usual(value, out))
        format_number((double)value, 1, 6, 9, out);
}

/* A float has 24 bits and 10^12 is 2^12 times 28 bits: up to there the product is exact, and rounding it to a whole
 * number is rounding the decimal digits. Returns 0 for numbers that need another power, or an exponent. */
static int format_exactly(float value, int digits, char *out)
{
    double size = fabs((double)value);
    int places = digits - 1;
    while (places > 0 && size * powers_of_ten[places] >= powers_of_ten[digits])
        places--;
    while (places < digits + 3 && size * powers_of_ten[places] < powers_of_ten[digits - 1])
        places++;
    double number = nearbyint(size * powers_of_ten[places]);
    if (!(size * powers_of_ten[places] >= powers_of_ten[digits - 1]) || number >= powers_of_ten[digits])
        return 0;
    write_decimal(value < 0, (uint64_t)number, places, out);
    return 1;
}

void trl__format_digits(float value, int digits, char *out)
{
    if (!format_exactly(value, digits, out))
        format_number((double)value, 1, digits, digits, out);
}

void trl__format_double(double value, char *out)
{
    format_number(value, 0, 15, 17, out);
}

int trl__parse_int(const char *text, int64_t *value)
{
    if (*text == '\0' || strchr(" \t\n\r\v\f", *text))
        return -1;
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno == ERANGE)
        return -1;
    *value = parsed;
    return 0;
}
