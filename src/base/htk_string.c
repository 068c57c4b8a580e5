#include "base/htk_string.h"
#include "base/fail.h"
#include "base/text_file.h"

#include <stdio.h>
#include <string.h>

static int is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The character after a backslash, or -1. */
static int read_escape(const char **cursor, const char *end)
{
    const char *p = *cursor;
    if (p == end)
        return -1;
    if (!is_octal(*p)) {
        *cursor = p + 1;
        return (unsigned char)*p;
    }
    if (end - p < 3 || !is_octal(p[1]) || !is_octal(p[2]))
        return -1;
    *cursor = p + 3;
    return ((p[0] - '0') * 64 + (p[1] - '0') * 8 + (p[2] - '0')) & 0xFF;
}

long trl__htk_read_string(const char **cursor, const char *end, char out[TRL__HTK_STRING], int *quoted)
{
    const char *p = *cursor;
    while (p < end && trl__is_space(*p))
        p++;
    if (p == end)
        return -1;
    char quote = *p == '"' || *p == '\'' ? *p++ : '\0';
    if (quoted)
        *quoted = quote != '\0';
    size_t length = 0;
    while (p < end && (quote ? *p != quote : !trl__is_space(*p))) {
        int c = (unsigned char)*p++;
        if (c == '\\')
            c = read_escape(&p, end);
        if (c <= 0 || length == TRL__HTK_STRING - 1)
            return -1;
        out[length++] = (char)c;
    }
    if (quote && p == end)
        return -1;
    out[length] = '\0';
    *cursor = p + (quote != '\0');
    return (long)length;
}

/* On a mismatch the last * takes one character more: quadratic at worst. */
int trl__htk_fits(const char *pattern, size_t pattern_length, const char *text, size_t length)
{
    size_t p = 0, t = 0, star = SIZE_MAX, resume = 0;
    while (t < length) {
        if (p < pattern_length && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern_length && (pattern[p] == '?' || pattern[p] == text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++resume;
        } else {
            return 0;
        }
    }
    while (p < pattern_length && pattern[p] == '*')
        p++;
    return p == pattern_length;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int trl__htk_is_number(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || !(is_digit(text[0]) || text[0] == '+' || text[0] == '-') || !is_digit(text[length - 1]))
        return 0;
    return strspn(text, "0123456789.+-eE") == length;
}

static int needs_quotes(const char *text)
{
    if (text[strcspn(text, " \t")] != '\0')
        return 1;
    return *text == '\0' || *text == '"' || *text == '\'' || strcmp(text, ".") == 0 || strcmp(text, "///") == 0 ||
           trl__htk_is_number(text);
}

int trl__htk_write_string(trl_file *file, const char *text, int quoted, trl_error *err)
{
    int code = 0;
    quoted = quoted || needs_quotes(text);
    if (quoted)
        code = trl_file_write(file, "\"", 1, err);
    for (const char *p = text; code == 0 && *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '\\' || (quoted && c == '"'))
            code = trl_file_print(file, err, "\\%c", c);
        else if (c < ' ' || c == 0x7F)
            code = trl_file_print(file, err, "\\%03o", (unsigned)c);
        else
            code = trl_file_write(file, p, 1, err);
    }
    if (code == 0 && quoted)
        code = trl_file_write(file, "\"", 1, err);
    return code;
}
