/* Strings in HTK's files (The HTK Book 3.4, section 4.6): names of macros, names of label files, labels.
 *
 * A string ends at the next blank, or stands in single or double quotes. A backslash takes the next character as it is,
 * or with three octal digits gives a byte.
 */
#ifndef TRL_BASE_HTK_STRING_H
#define TRL_BASE_HTK_STRING_H

#include <stddef.h>
#include <trellis/file.h>

#define TRL__HTK_STRING 1024 /* bytes with the final NUL: HTK's own limit */

/* Reads the string at *cursor, before `end`, and moves past it; blanks in front are passed. *quoted may be NULL.
 * Returns its length, or -1: there is none, the quote or an escape does not end, it holds a NUL or is too long. */
long trl__htk_read_string(const char **cursor, const char *end, char out[TRL__HTK_STRING], int *quoted);

/* Does the pattern, * and ? in it, cover the whole text? */
int trl__htk_fits(const char *pattern, size_t pattern_length, const char *text, size_t length);

/* A label or time that HTK takes for a number when it is not quoted. */
int trl__htk_is_number(const char *text);

/* Writes the string so that HTK reads it back. quoted = 0: with quotes only where a label needs them (it looks like a
 * number, starts with a quote, is empty, `.` or `///`). */
int trl__htk_write_string(trl_file *file, const char *text, int quoted, trl_error *err);

#endif
