/* TextGrid files. Praat defines its text files by what counts: quoted strings, numbers that stand alone, and flags in
 * angle brackets; every other word ("xmin =", "intervals [3]:") is decoration. So one reader of such values serves the
 * long form and the short one, which are the same values with and without decoration:
 *
 *     "ooTextFile" "TextGrid" xmin xmax <exists> number-of-tiers
 *     per tier:      class name xmin xmax number-of-items
 *     per interval:  xmin xmax text       per point:  time mark
 *
 * One pass, in place: O(bytes). Counts in the file are never trusted with memory.
 */
#include "corpus/textgrid.h"
#include "base/fail.h"
#include "base/memory.h"

#include <ctype.h>
#include <string.h>

typedef struct scanner {
    char *at, *end; /* *end is NUL */
    int64_t line;
    trl_error *err;
} scanner;

enum value_kind { VALUE_END, VALUE_STRING, VALUE_NUMBER, VALUE_FLAG };

typedef struct value {
    enum value_kind kind;
    const char *text; /* of a string; "" otherwise */
    double number;    /* for a flag: 1 <exists>, 0 <absent>, -1 any other */
    int64_t line;
} value;

static const value nothing = {VALUE_END, "", 0, 0};

static void step(scanner *s)
{
    s->line += *s->at == '\n' || (*s->at == '\r' && s->at[1] != '\n');
    s->at++;
}

/* A string up to its closing quote; a doubled quote inside stands for one. */
static int scan_string(scanner *s, value *out)
{
    char *to = s->at;
    *out = (value){VALUE_STRING, to, 0, s->line};
    for (;;) {
        if (s->at == s->end)
            return trl__fail(s->err, TRL_EFORMAT, "the text that starts in line %lld has no closing quote",
                             (long long)out->line);
        if (*s->at == '"' && s->at[1] == '"')
            s->at++;
        else if (*s->at == '"')
            break;
        char c = *s->at;
        step(s);
        *to++ = c;
    }
    s->at++;
    *to = '\0';
    return 0;
}

/* A word without quotes: a number, a flag, or decoration (*counts = 0). */
static int scan_word(scanner *s, value *out, int *counts)
{
    char *start = s->at;
    while (s->at < s->end && !trl__is_space(*s->at) && *s->at != '"')
        s->at++;
    char next = *s->at;
    *s->at = '\0';
    *counts = 1;
    int code = 0;
    double flag = strcmp(start, "<exists>") == 0 ? 1 : strcmp(start, "<absent>") == 0 ? 0 : -1;
    *out = (value){VALUE_FLAG, "", flag, s->line};
    if (isdigit((unsigned char)*start) || (strchr("+-.", *start) && isdigit((unsigned char)start[1]))) {
        out->kind = VALUE_NUMBER;
        if (trl__parse_double(start, &out->number) < 0)
            code = trl__fail(s->err, TRL_EFORMAT, "'%.40s' is not a number", start);
    } else if (*start != '<') {
        *counts = 0;
    }
    *s->at = next;
    return code;
}

static int next_value(scanner *s, value *out)
{
    for (;;) {
        while (s->at < s->end && trl__is_space(*s->at))
            step(s);
        if (s->at == s->end) {
            *out = (value){VALUE_END, "", 0, s->line};
            return 0;
        }
        if (*s->at == '!') { /* a comment */
            while (s->at < s->end && *s->at != '\n' && *s->at != '\r')
                s->at++;
            continue;
        }
        if (*s->at == '"') {
            s->at++;
            return scan_string(s, out);
        }
        int counts, code = scan_word(s, out, &counts);
        if (code < 0 || counts)
            return code;
    }
}

static int expect(scanner *s, enum value_kind kind, const char *what, value *out)
{
    int code = next_value(s, out);
    if (code == 0 && out->kind == VALUE_END)
        return trl__fail(s->err, TRL_EFORMAT, "the file ends where %s should be", what);
    if (code == 0 && out->kind != kind)
        return trl__fail(s->err, TRL_EFORMAT, "%s is missing here", what);
    return code;
}

static int expect_numbers(scanner *s, const char *what, double *a, double *b)
{
    value v = nothing;
    int code = expect(s, VALUE_NUMBER, what, &v);
    *a = v.number;
    if (code == 0)
        code = expect(s, VALUE_NUMBER, what, &v);
    *b = v.number;
    return code;
}

static int expect_count(scanner *s, const char *what, double *count)
{
    value v = nothing;
    int code = expect(s, VALUE_NUMBER, what, &v);
    *count = v.number;
    if (code == 0 && *count < 0)
        return trl__fail(s->err, TRL_EFORMAT, "%s is negative", what);
    return code;
}

static int read_header(scanner *s, double *tiers)
{
    value type, class = nothing, exists = nothing;
    double from, to;
    *tiers = 0;
    if ((size_t)(s->end - s->at) >= 12 && memcmp(s->at, "ooBinaryFile", 12) == 0)
        return trl__fail(s->err, TRL_EFORMAT, "a binary TextGrid; save it as a text file in Praat");
    if (next_value(s, &type) < 0 || type.kind != VALUE_STRING || strncmp(type.text, "ooTextFile", 10) != 0)
        return trl__fail(s->err, TRL_EFORMAT, "not a Praat text file: it does not start with \"ooTextFile\"");
    int code = expect(s, VALUE_STRING, "the object class", &class);
    if (code == 0 && strncmp(class.text, "TextGrid", 8) != 0)
        return trl__fail(s->err, TRL_EFORMAT, "this is a Praat %.40s, not a TextGrid", class.text);
    if (code == 0)
        code = expect_numbers(s, "the grid's time range", &from, &to);
    if (code == 0)
        code = expect(s, VALUE_FLAG, "<exists>", &exists);
    if (code == 0 && exists.number < 0)
        return trl__fail(s->err, TRL_EFORMAT, "neither <exists> nor <absent> before the tiers");
    if (code == 0 && exists.number > 0)
        code = expect_count(s, "the number of tiers", tiers);
    return code;
}

static int read_interval(scanner *s, trl__tier *tier)
{
    trl__interval i = {0};
    value text = nothing;
    int code = expect_numbers(s, "an interval's time", &i.start, &i.end);
    if (code == 0)
        code = expect(s, VALUE_STRING, "an interval's text", &text);
    if (code < 0)
        return code;
    i.text = text.text;
    i.line = text.line;
    if (TRL_GROW(tier->intervals, tier->capacity, tier->count + 1) < 0)
        return trl__fail_memory(s->err);
    tier->intervals[tier->count++] = i;
    return 0;
}

static int skip_point(scanner *s)
{
    value v = nothing;
    int code = expect(s, VALUE_NUMBER, "a point's time", &v);
    return code < 0 ? code : expect(s, VALUE_STRING, "a point's mark", &v);
}

static int read_tier(scanner *s, trl__textgrid *grid)
{
    value class = nothing, name = nothing;
    double from, to, items = 0;
    int code = expect(s, VALUE_STRING, "a tier's class", &class);
    if (code == 0 && strcmp(class.text, "IntervalTier") != 0 && strcmp(class.text, "TextTier") != 0)
        return trl__fail(s->err, TRL_EFORMAT, "'%.40s' is no class of tiers (IntervalTier, TextTier)", class.text);
    if (code == 0)
        code = expect(s, VALUE_STRING, "a tier's name", &name);
    if (code == 0)
        code = expect_numbers(s, "a tier's time range", &from, &to);
    if (code == 0)
        code = expect_count(s, "a tier's number of items", &items);
    if (code < 0)
        return code;
    int points = strcmp(class.text, "TextTier") == 0;
    trl__tier *tier = NULL;
    if (!points) {
        if (TRL_GROW(grid->tiers, grid->capacity, grid->count + 1) < 0)
            return trl__fail_memory(s->err);
        tier = &grid->tiers[grid->count++];
        *tier = (trl__tier){.name = name.text};
    }
    for (double n = 0; code == 0 && n < items; n++)
        code = points ? skip_point(s) : read_interval(s, tier);
    return code;
}

static int check_encoding(const scanner *s, int64_t *line)
{
    size_t size = (size_t)(s->end - s->at), valid = trl__utf8_check(s->at, size);
    if (valid == size)
        return 0;
    *line = 1;
    for (size_t i = 0; i < valid; i++)
        *line += s->at[i] == '\n' || (s->at[i] == '\r' && s->at[i + 1] != '\n');
    return trl__fail(s->err, TRL_ECORRUPT, "not valid UTF-8 (byte %02x)", (unsigned char)s->at[valid]);
}

int trl__textgrid_parse(trl__text *text, trl__textgrid *grid, int64_t *line, trl_error *err)
{
    *grid = (trl__textgrid){0};
    scanner s = {text->bytes + text->position, text->bytes + text->size, 1, err};
    int code = check_encoding(&s, line);
    if (code < 0)
        return code;
    double tiers;
    code = read_header(&s, &tiers);
    for (double n = 0; code == 0 && n < tiers; n++)
        code = read_tier(&s, grid);
    *line = s.line;
    if (code < 0)
        trl__textgrid_free(grid);
    return code;
}

void trl__textgrid_free(trl__textgrid *grid)
{
    for (size_t i = 0; i < grid->count; i++)
        trl__free(grid->tiers[i].intervals);
    trl__free(grid->tiers);
    *grid = (trl__textgrid){0};
}
