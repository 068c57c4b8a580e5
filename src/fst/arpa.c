/* N-gram models in ARPA form: lines of a text, section by section, into the machine that ngram_machine.c builds. */
#include "base/fail.h"
#include "base/text_file.h"
#include "fst/fst_format.h"
#include "fst/ngram_machine.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_ORDER TRL__NGRAM_MOST_ORDER

typedef struct reader {
    trl__ngrams ngrams;
    trl__source *source;
    int order; /* of the section being read */
    uint64_t told[MOST_ORDER + 1], seen[MOST_ORDER + 1];
    trl_error *err;
} reader;

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

/* A logarithm to base 10 as a cost. -inf, and -99 as the format's stand-in for it at <s>, are never used as such. */
static int parse_logarithm(const reader *r, const char *text, float *cost)
{
    double value;
    if (strcmp(text, "-inf") == 0 || strcmp(text, "-Infinity") == 0)
        value = -INFINITY;
    else if (trl__parse_double(text, &value) < 0 || fabs(value) > 1e30)
        return FAIL(r, TRL_EFORMAT, "\"%s\" is not a logarithm", text);
    *cost = (float)(-value * 2.302585092994045684);
    return 0;
}

static int read_words(reader *r, char **cursor, int32_t *words)
{
    for (int i = 0; i < r->order; i++) {
        const char *text = trl__next_field(cursor);
        if (!text)
            return FAIL(r, TRL_EFORMAT, "an n-gram of %d words should be here", r->order);
        int code = trl__ngrams_word(&r->ngrams, text, &words[i]);
        if (code < 0)
            return code;
    }
    return 0;
}

static int read_ngram(reader *r, char *line)
{
    const char *text = trl__next_field(&line), *more;
    float cost, backoff = 0;
    int32_t words[MOST_ORDER] = {0};
    int code = text ? parse_logarithm(r, text, &cost) : FAIL(r, TRL_EFORMAT, "an empty line");
    if (code == 0 && cost < 0)
        code = FAIL(r, TRL_EFORMAT, "the probability of an n-gram is above 1: 10^%s", text);
    if (code == 0)
        code = read_words(r, &line, words);
    if (code == 0 && (more = trl__next_field(&line)))
        code = trl__next_field(&line) ? FAIL(r, TRL_EFORMAT, "more fields than an n-gram of %d words has", r->order)
                                      : parse_logarithm(r, more, &backoff);
    return code < 0 ? code : trl__ngrams_add(&r->ngrams, words, r->order, cost, backoff);
}

/* "ngram 2=1234" */
static int read_count(reader *r, char *line)
{
    char *equals = strchr(line, '=');
    int64_t order, count;
    if (equals)
        *equals = '\0';
    if (!equals || trl__parse_int(trl__trim(line + 5), &order) < 0 ||
        trl__parse_int(trl__trim(equals + 1), &count) < 0 || order < 1 || count < 0)
        return FAIL(r, TRL_EFORMAT, "expected a number of n-grams, as in \"ngram 2=1234\"");
    if (order > MOST_ORDER)
        return FAIL(r, TRL_ELIMIT, "n-grams of %" PRId64 " words; %d at most can be handled", order, MOST_ORDER);
    r->told[order] = (uint64_t)count;
    return 0;
}

/* "\2-grams:" begins a section; the one before must have been complete. */
static int begin_section(reader *r, char *line)
{
    int64_t order;
    char *dash = strchr(line, '-');
    if (r->order > 0 && r->seen[r->order] != r->told[r->order])
        return FAIL(r, TRL_EFORMAT, "%" PRIu64 " n-grams of %d words were announced, and %" PRIu64 " found",
                    r->told[r->order], r->order, r->seen[r->order]);
    if (strcmp(line, "\\end\\") == 0) {
        for (int i = r->order + 1; i <= MOST_ORDER; i++)
            if (r->told[i] > 0)
                return FAIL(r, TRL_EFORMAT, "the n-grams of %d words are missing", i);
        r->order = -1;
        return 0;
    }
    if (!dash || strcmp(dash, "-grams:") != 0 || (*dash = '\0', trl__parse_int(line + 1, &order) < 0) ||
        order != r->order + 1 || order > MOST_ORDER)
        return FAIL(r, TRL_EFORMAT, "expected \\%d-grams: or \\end\\", r->order + 1);
    r->order = (int)order;
    return 0;
}

static int read_line(reader *r, char *line)
{
    if (*line == '\0')
        return 0;
    if (*line == '\\')
        return begin_section(r, line);
    if (r->order == 0 && strncmp(line, "ngram", 5) == 0)
        return read_count(r, line);
    if (r->order == 0)
        return FAIL(r, TRL_EFORMAT, "expected \"ngram 1=…\" or \\1-grams:");
    if (r->seen[r->order]++ == r->told[r->order])
        return FAIL(r, TRL_EFORMAT, "more n-grams of %d words than the %" PRIu64 " that were announced", r->order,
                    r->told[r->order]);
    return read_ngram(r, line);
}

/* What stands in front of \data\ is for people. */
static int read_all(reader *r)
{
    char *line;
    size_t length;
    int begun = 0, code = 0, more;
    while (code == 0 && r->order >= 0 && (more = trl__source_line(r->source, &line, &length, r->err)) != 0) {
        if (more < 0)
            return more;
        line = trl__trim(line);
        if (begun)
            code = read_line(r, line);
        begun |= strcmp(line, "\\data\\") == 0;
    }
    if (code < 0 || r->order < 0)
        return code;
    return FAIL(r, TRL_EFORMAT,
                begun ? "the file ends without \\end\\: it is cut off"
                      : "there is no \\data\\ line: this is no ARPA file");
}

int trl__fst_read_arpa(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                       trl_error *err)
{
    reader r = {.source = source, .err = err};
    *out = NULL;
    int code = trl__ngrams_begin(&r.ngrams, source, options, err);
    if (code == 0)
        code = read_all(&r);
    return trl__ngrams_finish(&r.ngrams, code, out, skipped);
}
