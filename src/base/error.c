#define TRL_FAIL_DEFINED_HERE
#include "base/fail.h"
#include "base/text_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *trl_error_meaning(int code)
{
    switch (code) {
    case TRL_OK: return "success";
#define TRL_ERROR_STRING(name, value, meaning) \
    case name: return meaning;
        TRL_ERROR_LIST(TRL_ERROR_STRING)
#undef TRL_ERROR_STRING
    default: return "unknown error";
    }
}

/* Where to cut a text that filled its buffer, so that it ends in a whole UTF-8 character. */
static size_t whole_characters(const char *text, size_t length)
{
    size_t lead = length;
    while (lead > 0 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80)
        lead--;
    return lead > 0 && (unsigned char)text[lead - 1] >= 0xC0 ? lead - 1 : length;
}

/* File names and file contents are quoted in messages: what would break the line or isn't UTF-8 becomes '?'. */
static void make_one_line(char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; (i += trl__utf8_check(text + i, length - i)) < length;)
        text[i] = '?';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F)
            text[i] = '?';
}

/* The end of a path, short enough to leave room for what is said about it. */
static const char *path_end(const char *path)
{
    const size_t most = 500;
    size_t length = strlen(path);
    const char *end = length > most ? path + length - most : path;
    while (((unsigned char)*end & 0xC0) == 0x80)
        end++;
    return end;
}

static int write_text(trl_error *err, int code, const char *prefix, const char *format, va_list args)
{
    if (!err)
        return code;
    char text[sizeof err->text]; /* arguments may point into err->text itself */
    int used = snprintf(text, sizeof text, "%s", prefix);
    if (used < (int)sizeof text)
        used += vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    if (used >= (int)sizeof text)
        text[whole_characters(text, sizeof text - 1)] = '\0';
    make_one_line(text);
    err->code = code;
    memcpy(err->text, text, sizeof text);
    return code;
}

int trl__fail(trl_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_text(err, code, "", format, args);
    va_end(args);
    return code;
}

int trl__fail_line(trl_error *err, int code, const char *file, int64_t line, const char *format, ...)
{
    char prefix[600];
    if (line > 0)
        snprintf(prefix, sizeof prefix, "%s:%" PRId64 ": ", path_end(file), line);
    else
        snprintf(prefix, sizeof prefix, "%s: ", path_end(file));
    va_list args;
    va_start(args, format);
    write_text(err, code, prefix, format, args);
    va_end(args);
    return code;
}

int trl__fail_byte(trl_error *err, int code, const char *file, uint64_t offset, const char *format, ...)
{
    char prefix[600];
    snprintf(prefix, sizeof prefix, "%s: at byte %" PRIu64 ": ", path_end(file), offset);
    va_list args;
    va_start(args, format);
    write_text(err, code, prefix, format, args);
    va_end(args);
    return code;
}

int trl__fail_memory(trl_error *err)
{
    return trl__fail(err, TRL_ENOMEM, "out of memory");
}

int trl__fail_in(trl_error *err, int code, const char *file)
{
    if (!err || code >= 0 || code == TRL_ENOMEM || strstr(err->text, path_end(file)))
        return code;
    return trl__fail(err, code, "%s: %s", path_end(file), err->text);
}

int trl__fail_errno(trl_error *err, const char *path, const char *verb)
{
    int saved = errno;
    int code = saved == ENOENT || saved == ENOTDIR ? TRL_ENOENT : saved == ENOMEM ? TRL_ENOMEM : TRL_EIO;
    char reason[128];
    if (strerror_r(saved, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", saved);
    return trl__fail(err, code, "%s: %s: %s", path_end(path), verb, reason);
}
