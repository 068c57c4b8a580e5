#include "base/json_read.h"
#include "base/fail.h"
#include "base/text_file.h"

#include <string.h>

#define DEEPEST 200 /* arrays and objects inside each other: each is a call of read_value */

typedef struct reader {
    const char *name;
    int64_t line;
    char *begin, *at, *end;
    trl__arena *arena;
    trl_error *err;
} reader;

static int fail(const reader *r, const char *what)
{
    return trl__fail_line(r->err, TRL_EFORMAT, r->name, r->line, "not JSON, or cut: %s at byte %zu", what,
                          (size_t)(r->at - r->begin) + 1);
}

static void skip_blanks(reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

/* ---- Strings ---- */

/* Four hexadecimal digits, or -1. */
static int32_t read_hex(reader *r)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = r->at < r->end ? *r->at : '\0', lower = (char)(c >= 'A' && c <= 'F' ? c + 32 : c);
        const char *digit = lower ? strchr(digits, lower) : NULL;
        if (!digit)
            return -1;
        value = value * 16 + (int32_t)(digit - digits);
        r->at++;
    }
    return value;
}

static char *put_utf8(char *out, uint32_t c)
{
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(leads[more] | c >> 6 * more);
    while (more-- > 0)
        *out++ = (char)(0x80 | (c >> 6 * more & 0x3F));
    return out;
}

/* Behind the \u: a character, or the two halves of one (UTF-16). NULL: it is none. */
static char *read_code(reader *r, char *out)
{
    int32_t c = read_hex(r), low;
    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
            return NULL;
        r->at += 2;
        low = read_hex(r);
        if (low < 0xDC00 || low >= 0xE000)
            return NULL;
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    } else if (c <= 0 || (c >= 0xDC00 && c < 0xE000)) {
        return NULL; /* a NUL too: it would end the text */
    }
    return put_utf8(out, (uint32_t)c);
}

static char *read_escape(reader *r, char *out)
{
    static const char signs[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    if (c == 'u')
        return read_code(r, out);
    const char *sign = c ? strchr(signs, c) : NULL;
    if (!sign)
        return NULL;
    *out = meanings[sign - signs];
    return out + 1;
}

/* In place: what an escape stands for is never longer than it. `at` is behind the opening quote. */
static int read_string(reader *r, const char **out)
{
    char *text = r->at, *to = r->at;
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < ' ')
            return fail(r, "a control character in a string");
        if (*r->at != '\\') {
            *to++ = *r->at++;
            continue;
        }
        r->at++;
        to = read_escape(r, to);
        if (!to)
            return fail(r, "an escape that means nothing");
    }
    if (r->at == r->end)
        return fail(r, "a string without an end");
    r->at++;
    *to = '\0';
    *out = text;
    return 0;
}

/* ---- Numbers ---- */

static int skip_digits(reader *r)
{
    const char *before = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > before;
}

static int read_number(reader *r, trl__json_value *value)
{
    char *text = r->at;
    r->at += *r->at == '-';
    const char *digits = r->at;
    int whole = 1, good = skip_digits(r) && (*digits != '0' || r->at == digits + 1);
    if (good && r->at < r->end && *r->at == '.') {
        r->at++;
        whole = 0;
        good = skip_digits(r);
    }
    if (good && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        whole = 0;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        good = skip_digits(r);
    }
    char behind = *r->at; /* at the end of all, the text's own NUL */
    *r->at = '\0';
    good = good && trl__parse_double(text, &value->number) == 0;
    if (!good || !whole || trl__parse_int(text, &value->whole) < 0)
        value->whole = 0;
    *r->at = behind;
    return good ? 0 : fail(r, "no number");
}

/* ---- Values ---- */

static int read_value(reader *r, int depth, trl__json_value *value);

static int read_key(reader *r, trl__json_value *member)
{
    if (r->at == r->end || *r->at != '"')
        return fail(r, "a key is missing");
    r->at++;
    int code = read_string(r, &member->key);
    skip_blanks(r);
    if (code == 0 && (r->at == r->end || *r->at != ':'))
        return fail(r, "a colon is missing");
    r->at++;
    return code;
}

/* An array or an object, `at` behind its bracket. */
static int read_members(reader *r, int depth, trl__json_value *parent)
{
    char close = parent->kind == TRL__JSON_OBJECT ? '}' : ']';
    trl__json_value **place = &parent->first;
    skip_blanks(r);
    if (r->at < r->end && *r->at == close) {
        r->at++;
        return 0;
    }
    for (;;) {
        trl__json_value *member = trl__arena_alloc(r->arena, sizeof *member);
        if (!member)
            return trl__fail_memory(r->err);
        *member = (trl__json_value){0};
        *place = member;
        place = &member->next;
        parent->count++;
        skip_blanks(r);
        int code = parent->kind == TRL__JSON_OBJECT ? read_key(r, member) : 0;
        if (code == 0)
            code = read_value(r, depth + 1, member);
        if (code < 0)
            return code;
        skip_blanks(r);
        char c = r->at < r->end ? *r->at++ : '\0';
        if (c == close)
            return 0;
        if (c != ',')
            return fail(r, close == '}' ? "a comma or } is missing" : "a comma or ] is missing");
    }
}

static int read_word(reader *r, const char *word, trl__json_kind kind, trl__json_value *value)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return fail(r, "neither a value nor a string");
    r->at += length;
    value->kind = kind;
    return 0;
}

static int read_value(reader *r, int depth, trl__json_value *value)
{
    if (depth > DEEPEST)
        return fail(r, "too many arrays and objects inside each other");
    skip_blanks(r);
    char c = r->at < r->end ? *r->at : '\0';
    switch (c) {
    case '"':
        r->at++;
        value->kind = TRL__JSON_STRING;
        return read_string(r, &value->text);
    case '{':
    case '[':
        r->at++;
        value->kind = c == '{' ? TRL__JSON_OBJECT : TRL__JSON_ARRAY;
        return read_members(r, depth, value);
    case 't': return read_word(r, "true", TRL__JSON_TRUE, value);
    case 'f': return read_word(r, "false", TRL__JSON_FALSE, value);
    case 'n': return read_word(r, "null", TRL__JSON_NULL, value);
    default: break;
    }
    value->kind = TRL__JSON_NUMBER;
    return c == '-' || (c >= '0' && c <= '9') ? read_number(r, value) : fail(r, "a value is missing");
}

int trl__json_read(const char *name, int64_t line, char *text, size_t length, trl__arena *arena,
                   const trl__json_value **out, trl_error *err)
{
    reader r = {name, line, text, text, text + length, arena, err};
    *out = NULL;
    size_t valid = trl__utf8_check(text, length);
    if (valid < length) {
        r.at += valid;
        return fail(&r, "no UTF-8");
    }
    trl__json_value *root = trl__arena_alloc(arena, sizeof *root);
    if (!root)
        return trl__fail_memory(err);
    *root = (trl__json_value){0};
    int code = read_value(&r, 0, root);
    skip_blanks(&r);
    if (code == 0 && r.at < r.end)
        code = fail(&r, "something follows the value");
    if (code == 0)
        *out = root;
    return code;
}

const trl__json_value *trl__json_member(const trl__json_value *object, const char *key)
{
    const trl__json_value *found = NULL;
    for (const trl__json_value *m = trl__json_is(object, TRL__JSON_OBJECT) ? object->first : NULL; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            found = m;
    return found;
}
