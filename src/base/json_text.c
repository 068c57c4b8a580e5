#include "base/json_text.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the text goes. */
typedef struct sink {
    int (*put)(void *to, const void *bytes, size_t size, trl_error *err);
    void *to;
} sink;

static int put_escaped(sink s, char c, trl_error *err)
{
    char text[8];
    int length = c == '"' || c == '\\' ? snprintf(text, sizeof text, "\\%c", c)
                                       : snprintf(text, sizeof text, "\\u%04x", (unsigned)(unsigned char)c);
    return s.put(s.to, text, (size_t)length, err);
}

static int put_string(sink s, const char *text, trl_error *err)
{
    size_t length = strlen(text), valid = trl__utf8_check(text, length), plain = 0;
    int code = s.put(s.to, "\"", 1, err);
    for (size_t i = 0; code == 0 && i < length; i++) {
        char c = text[i];
        if (i != valid && c != '"' && c != '\\' && (unsigned char)c >= ' ' && c != 0x7F)
            continue;
        code = s.put(s.to, text + plain, i - plain, err);
        plain = i + 1;
        if (code == 0)
            code = i == valid ? s.put(s.to, "\\ufffd", 6, err) : put_escaped(s, c, err);
        if (i == valid)
            valid = plain + trl__utf8_check(text + plain, length - plain);
    }
    if (code == 0)
        code = s.put(s.to, text + plain, length - plain, err);
    return code < 0 ? code : s.put(s.to, "\"", 1, err);
}

static int put_number(sink s, double value, trl_error *err)
{
    char text[32] = "null";
    if (isfinite(value))
        trl__format_double(value, text);
    return s.put(s.to, text, strlen(text), err);
}

/* ---- Into a file ---- */

static int put_in_file(void *to, const void *bytes, size_t size, trl_error *err)
{
    return trl_file_write(to, bytes, size, err);
}

int trl__json_string(trl_file *file, const char *text, trl_error *err)
{
    return put_string((sink){put_in_file, file}, text, err);
}

int trl__json_number(trl_file *file, double value, trl_error *err)
{
    return put_number((sink){put_in_file, file}, value, err);
}

/* ---- In memory ---- */

static int put_in_memory(void *to, const void *bytes, size_t size, trl_error *err)
{
    trl__json *json = to;
    if (json->failed || TRL_GROW(json->text, json->capacity, json->size + size + 1) < 0) {
        json->failed = 1;
        return trl__fail_memory(err);
    }
    if (size > 0)
        memcpy(json->text + json->size, bytes, size);
    json->size += size;
    json->text[json->size] = '\0';
    return 0;
}

/* What stands before a value: a comma, unless it is the first one there, and its key. */
static sink begin_value(trl__json *json, const char *key)
{
    sink s = {put_in_memory, json};
    if (json->size > 0 && !strchr("{[", json->text[json->size - 1]))
        put_in_memory(json, ",", 1, NULL);
    if (key) {
        put_string(s, key, NULL);
        put_in_memory(json, ":", 1, NULL);
    }
    return s;
}

void trl__json_open(trl__json *json, const char *key, char bracket)
{
    begin_value(json, key);
    put_in_memory(json, &bracket, 1, NULL);
}

void trl__json_close(trl__json *json, char bracket)
{
    put_in_memory(json, &bracket, 1, NULL);
}

void trl__json_add_text(trl__json *json, const char *key, const char *text)
{
    put_string(begin_value(json, key), text, NULL);
}

void trl__json_add_real(trl__json *json, const char *key, double value)
{
    put_number(begin_value(json, key), value, NULL);
}

void trl__json_add_whole(trl__json *json, const char *key, int64_t value)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%" PRId64, value);
    begin_value(json, key);
    put_in_memory(json, text, (size_t)length, NULL);
}

char *trl__json_take(trl__json *json)
{
    char *text = json->text;
    if (json->failed) {
        trl__free(text);
        text = NULL;
    }
    *json = (trl__json){0};
    return text;
}
