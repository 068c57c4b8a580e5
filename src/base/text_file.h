/* Text files, line by line: gzip or plain, LF or CRLF, a byte-order mark is skipped. UTF-16 with a mark (Praat) becomes
 * UTF-8.
 *
 *     trl__text text;
 *     trl__text_read(path, &text, err);
 *     while (trl__text_line(&text, &line, &length))      // line numbers in text.line, from 1
 *         …
 *     trl__text_free(&text);
 */
#ifndef TRL_BASE_TEXT_FILE_H
#define TRL_BASE_TEXT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

#define TRL_TEXT_MOST \
    ((size_t)4 << 30) /* bytes after unpacking; larger files are refused, not swallowed (see gzip_read.h too) */

typedef struct trl__text {
    char *bytes; /* NUL-terminated; parsers may write into it */
    size_t size;
    size_t position; /* of the next line */
    int64_t line;    /* number of the line returned last */
} trl__text;

/* Reads the whole file ("-": standard input). Returns 0, TRL_ENOENT, TRL_EIO, TRL_ECORRUPT (gzip), TRL_EFORMAT
 * (UTF-16), TRL_ELIMIT, TRL_ENOMEM. */
int trl__text_read(const char *path, trl__text *out, trl_error *err);

/* The same from memory (a copy is made); `name` stands for the file in messages. */
int trl__text_from_memory(const char *name, const void *bytes, size_t size, trl__text *out, trl_error *err);

/* The next line, NUL-terminated in place, without its end; 0 when there is none. */
int trl__text_line(trl__text *text, char **line, size_t *length);

void trl__text_free(trl__text *text);

/* The offset of the first byte that is not valid UTF-8 (or a NUL), or `length` when all are. */
size_t trl__utf8_check(const char *text, size_t length);

/* The next field of a line, separated by blanks and tabs and NUL-terminated in place; NULL when there is none. */
char *trl__next_field(char **cursor);

/* A blank, tab or line end. isspace() would ask the application's locale, where a byte of a UTF-8 character may
 * count as one. */
static inline int trl__is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts blanks and tabs off both ends, in place. */
char *trl__trim(char *text);

/* Length of a word in a lexicon without the "(2)" that names a further pronunciation: WORD(2). */
size_t trl__word_length(const char *word);

/* A whole field as a number, always with a decimal point, whatever the locale. Returns 0 or -1 (not a finite number).
 */
int trl__parse_double(const char *text, double *value);
int trl__parse_int(const char *text, int64_t *value);

/* A number with as many digits as give the same one back, always with a decimal point; `out` holds 32 bytes. */
void trl__format_float(float value, char *out);
void trl__format_double(double value, char *out);

/* As printf's %.*g has it, with a decimal point always; 1 to 9 digits. Several times faster for numbers that need no
 * exponent. */
void trl__format_digits(float value, int digits, char *out);

#endif
