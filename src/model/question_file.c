/* Files of questions: the QS commands of HTK's HHEd (The HTK Book 3.4, section 17.8), and Kaldi's sets.
 *
 *     QS "L_Nasal" { "m-*", "n-*", "ng-*" }            m n ng
 *     QS "R_Nasal" { *+m, *+n, *+ng }                  aa ae ah
 *
 * HTK matches patterns with names of models, such as a-b+c; here only patterns that ask about one place are of use.
 * Which place that is, is seen by what stands before and behind the unit's name.
 */
#include "model/questions.h"
#include "base/fail.h"
#include "base/htk_string.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <string.h>

#define PATTERNS 10 /* of pattern_place[] */

/* In this order: "*-m+*" has the endings of "*-m" too. Units of a quinphone are a^b-c+d=e; HTS goes on with @. */
static const struct {
    const char *before, *behind;
    int32_t place; /* from the centre */
} pattern_place[PATTERNS] = {
    {"*-", "+*", 0}, {"*^", "-*", -1}, {"*+", "=*", 1}, {"*=", "@*", 2}, {"", "^*", -2},
    {"", "-*", -1},  {"*+", "", 1},    {"*=", "", 2},   {"*-", "", 0},   {"", "+*", 0},
};

typedef struct reader {
    const char *name;
    const trl_model *model;
    trl__questions *questions;
    int32_t width, centre;
    uint64_t *bits;       /* of the question that is being read */
    trl__strings unknown; /* names */
    int64_t line;
} reader;

/* ---- units ---- */

static int fits(const char *pattern, size_t length, const char *name, size_t name_length, int wild)
{
    return wild ? trl__htk_fits(pattern, length, name, name_length)
                : length == name_length && memcmp(pattern, name, length) == 0;
}

static int add_fitting(reader *r, const char *pattern, size_t length, int wild)
{
    int found = 0;
    for (int32_t u = 0; u < (int32_t)r->model->units.count; u++) {
        const char *name = r->model->units.texts[u];
        if (!fits(pattern, length, name, strlen(name), wild) &&
            !fits(pattern, length, name, trl__unit_base(r->model, u), wild))
            continue;
        found = 1;
        trl__unit_bits_set(r->bits, u);
        if (r->model->unit_kind[u] == TRL_UNIT_SILENCE)
            trl__unit_bits_set(r->bits, r->questions->sets.units);
    }
    return found;
}

/* Units of this name, with their place in the word or without it. With `wild`, and where no unit is called "?", all
 * that the pattern fits. */
static int add_units(reader *r, const char *name, size_t length, int wild, trl_error *err)
{
    if (add_fitting(r, name, length, 0) || (wild && add_fitting(r, name, length, 1)))
        return 0;
    return trl__strings_add(&r->unknown, name, length) >= 0 ? 0 : trl__fail_memory(err);
}

static int add_question(reader *r, const char *name, uint32_t positions, trl_error *err)
{
    int code = positions ? trl__questions_add(r->questions, r->model, name, r->bits, positions, err) : 0;
    memset(r->bits, 0, (size_t)trl__unit_set_words(r->questions->sets.units) * sizeof *r->bits);
    return code;
}

/* ---- HTK ---- */

/* Finds the place a pattern asks about, and the unit in it. */
static int32_t split_pattern(const char **pattern, size_t *length)
{
    for (int i = 0; i < PATTERNS; i++) {
        size_t before = strlen(pattern_place[i].before), behind = strlen(pattern_place[i].behind);
        if (*length > before + behind && strncmp(*pattern, pattern_place[i].before, before) == 0 &&
            strncmp(*pattern + *length - behind, pattern_place[i].behind, behind) == 0) {
            *pattern += before;
            *length -= before + behind;
            return pattern_place[i].place;
        }
    }
    return 0;
}

static void skip_blanks(reader *r, const char **cursor, const char *end)
{
    for (; *cursor < end && trl__is_space(**cursor); ++*cursor)
        r->line += **cursor == '\n';
}

static const char *line_end(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found ? found : end;
}

/* The next pattern of the list: quoted, or up to a comma, brace or blank. Returns its length; 0 or less: none. */
static long read_pattern(const char **cursor, const char *end, char out[TRL__HTK_STRING])
{
    const char *from = *cursor, *to = from;
    if (from < end && (*from == '"' || *from == '\''))
        return trl__htk_read_string(cursor, line_end(from, end), out, NULL);
    while (to < end && !trl__is_space(*to) && !strchr(",{}", *to))
        to++;
    if (to - from >= TRL__HTK_STRING)
        return -1;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = '\0';
    *cursor = to;
    return (long)(to - from);
}

static int is_text(const char *text, long length)
{
    return length > 0 && trl__utf8_check(text, (size_t)length) == (size_t)length && !strpbrk(text, "\r\n");
}

static int broken(const reader *r, const char *what, trl_error *err)
{
    return trl__fail_line(err, TRL_EFORMAT, r->name, r->line,
                          "%s; a question is written as QS \"L_Nasal\" { \"m-*\", \"n-*\" }", what);
}

/* { "m-*", "n-*" }: all of them about the same place. */
static int read_list(reader *r, const char **cursor, const char *end, int32_t *place, trl_error *err)
{
    char text[TRL__HTK_STRING];
    int32_t patterns = 0;
    for (int more = 1; more;) {
        skip_blanks(r, cursor, end);
        long length = read_pattern(cursor, end, text);
        if (!is_text(text, length))
            return broken(r, "a pattern is missing, too long or no UTF-8, or its quote does not end", err);
        const char *pattern = text;
        size_t size = (size_t)length;
        int32_t here = split_pattern(&pattern, &size);
        if (patterns++ > 0 && here != *place)
            return trl__fail_line(
                err, TRL_EFORMAT, r->name, r->line,
                "'%.100s' asks about another place than the pattern before it; make two questions of it", text);
        *place = here;
        int code = add_units(r, pattern, size, 1, err);
        if (code < 0)
            return code;
        skip_blanks(r, cursor, end);
        char next = *cursor < end ? *(*cursor)++ : '\0';
        if (next != ',' && next != '}')
            return broken(r, "a comma or a closing brace is missing", err);
        more = next == ',';
    }
    return 0;
}

/* The name without the place, which does not belong to the set: L_Nasal, RR-Nasal. */
static const char *bare_name(const char *name)
{
    static const char *const places[] = {"LL", "RR", "L", "R", "C"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t length = strlen(places[i]);
        if (strncmp(name, places[i], length) == 0 && (name[length] == '_' || name[length] == '-') && name[length + 1])
            return name + length + 1;
    }
    return name;
}

/* Behind QS. */
static int read_question(reader *r, const char **cursor, const char *end, trl_error *err)
{
    char name[TRL__HTK_STRING];
    int32_t place = 0;
    long length = trl__htk_read_string(cursor, line_end(*cursor, end), name, NULL);
    if (!is_text(name, length))
        return broken(r, "the question has no name", err);
    skip_blanks(r, cursor, end);
    if (*cursor == end || **cursor != '{')
        return broken(r, "no list of patterns in braces follows the question's name", err);
    ++*cursor;
    int code = read_list(r, cursor, end, &place, err);
    if (code < 0)
        return code;
    int32_t position = r->centre + place;
    return add_question(r, bare_name(name), position >= 0 && position < r->width ? 1u << position : 0, err);
}

static int is_command(const char *at, const char *end)
{
    return end - at > 2 && at[0] >= 'A' && at[0] <= 'Z' && at[1] >= 'A' && at[1] <= 'Z' && trl__is_space(at[2]);
}

static int read_htk(reader *r, const trl__text *text, trl_error *err)
{
    const char *cursor = text->bytes, *end = cursor + text->size;
    r->line = 1;
    for (;;) {
        int code = 0;
        skip_blanks(r, &cursor, end);
        if (cursor == end)
            return 0;
        if (is_command(cursor, end) && strncmp(cursor, "QS", 2) == 0) {
            cursor += 2;
            code = read_question(r, &cursor, end, err);
        } else if (is_command(cursor, end) || *cursor == '#' || strncmp(cursor, "//", 2) == 0) {
            cursor = line_end(cursor, end);
        } else {
            code = broken(r, "this is no command of HHEd", err);
        }
        if (code < 0)
            return code;
    }
}

/* ---- Kaldi ---- */

static int read_kaldi(reader *r, trl__text *text, trl_error *err)
{
    char *line;
    size_t length;
    uint32_t everywhere = (1u << r->width) - 1;
    int code = 0;
    while (code == 0 && trl__text_line(text, &line, &length)) {
        if (trl__utf8_check(line, length) != length)
            return trl__fail_line(err, TRL_EFORMAT, r->name, text->line,
                                  "this is no text in UTF-8; a set of units is a line of names");
        for (char *field; code == 0 && (field = trl__next_field(&line));)
            code = add_units(r, field, strlen(field), 0, err);
        if (code == 0)
            code = add_question(r, NULL, everywhere, err);
    }
    return code;
}

/* ---- both ---- */

static int has_questions_of_htk(const trl__text *text)
{
    for (const char *at = text->bytes; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        at += strspn(at, " \t");
        if (strncmp(at, "QS", 2) == 0 && (at[2] == ' ' || at[2] == '\t'))
            return 1;
    }
    return 0;
}

static char *list_unknown(const trl__strings *names)
{
    size_t size = 1;
    for (size_t i = 0; i < names->count; i++)
        size += strlen(names->texts[i]) + 1;
    char *list = trl__alloc_zero(size, 1), *end = list;
    for (size_t i = 0; list && i < names->count; i++) {
        if (i > 0)
            *end++ = ' ';
        memcpy(end, names->texts[i], strlen(names->texts[i]));
        end += strlen(names->texts[i]);
    }
    return list;
}

static int parse(reader *r, trl__text *text, char **unknown, trl_error *err)
{
    int code = trl__questions_create(r->model, &r->questions, err);
    if (code < 0)
        return code;
    r->bits = trl__alloc_zero((size_t)trl__unit_set_words(r->questions->sets.units), sizeof *r->bits);
    if (!r->bits)
        return trl__fail_memory(err);
    code = has_questions_of_htk(text) ? read_htk(r, text, err) : read_kaldi(r, text, err);
    if (code == 0 && r->questions->sets.count == 0)
        code = trl__fail(
            err, TRL_EFORMAT,
            "%s: no question is about units of the model%s%.100s; write sets of its units line by line, or "
            "HTK's QS",
            r->name, r->unknown.count > 0 ? ", such as about " : "", r->unknown.count > 0 ? r->unknown.texts[0] : "");
    if (code == 0 && unknown && r->unknown.count > 0 && !(*unknown = list_unknown(&r->unknown)))
        code = trl__fail_memory(err);
    return code;
}

int trl__questions_parse(const char *name, trl__text *text, const trl_model *model, int32_t width, int32_t centre,
                         trl__questions **out, char **unknown, trl_error *err)
{
    reader r = {.name = name, .model = model, .width = width, .centre = centre};
    *out = NULL;
    if (unknown)
        *unknown = NULL;
    int code = parse(&r, text, unknown, err);
    if (code < 0)
        trl__questions_destroy(r.questions);
    else
        *out = r.questions;
    trl__free(r.bits);
    trl__strings_free(&r.unknown);
    return code;
}

int trl__questions_read(const char *path, const trl_model *model, int32_t width, int32_t centre, trl__questions **out,
                        char **unknown, trl_error *err)
{
    trl__text text;
    *out = NULL;
    if (unknown)
        *unknown = NULL;
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    code = trl__questions_parse(path, &text, model, width, centre, out, unknown, err);
    trl__text_free(&text);
    return code;
}
