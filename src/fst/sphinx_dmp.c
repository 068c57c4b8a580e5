/* Sphinx's older binary language models (.DMP): up to 3-grams, words of 16 bits, logarithms of base 10.
 *
 *     length and text: "Darpa Trigram LM", then a name; each with its NUL
 *     a version, 0 or less; then a time, and texts with their lengths up to a length of 0. (Without a version: nothing.)
 *     numbers of 1-, 2- and 3-grams
 *     words: number, probability, back-off weight (floats), where its 2-grams begin; one more at the end
 *     2-grams: word, number of probability, of back-off weight, where its 3-grams begin (16 bits each); one more
 *     3-grams: word, number of probability
 *     tables of floats, each with its size: probabilities of 2-grams; with 3-grams also back-off weights, probabilities of
 *       3-grams, and what is to be added to the beginnings of 3-grams, for every 512 2-grams
 *     the words: length of all in bytes, each with a NUL
 *
 * Numbers have 32 bits where nothing else is said, and the byte order of the computer that wrote them. 2-grams are there only if the
 * model has some, the one more too.
 */
#include "fst/sphinx_lm.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_format.h"

#include <inttypes.h>

#define SEGMENT 512
#define LN10 2.302585092994045684

typedef struct table {
    unsigned char *bytes;
    uint32_t count;
} table;

typedef struct reader {
    trl__ngrams ngrams;
    trl__source *source;
    int big, order;
    uint32_t counts[3];
    unsigned char *unigrams, *bigrams, *trigrams;
    table probability2, backoff2, probability3, segments;
    int32_t *labels;
    trl_error *err;
} reader;

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

/* ---- The file ---- */

static uint32_t get32(const reader *r, const unsigned char *bytes)
{
    return r->big ? trl__be32(bytes) : trl__le32(bytes);
}

static uint32_t get16(const reader *r, const unsigned char *bytes)
{
    return r->big ? trl__be16(bytes) : trl__le16(bytes);
}

static int read32(reader *r, uint32_t *out)
{
    const unsigned char *bytes;
    int code = trl__source_take(r->source, 4, &bytes, r->err);
    if (code == 0)
        *out = get32(r, bytes);
    return code;
}

static int read_table(reader *r, table *out)
{
    int code = read32(r, &out->count);
    return code < 0 ? code : trl__sphinx_take(&r->ngrams, 4 * (uint64_t)out->count, &out->bytes);
}

/* Passes over a text; *size becomes its length. */
static int skip_text(reader *r, uint32_t *size)
{
    const unsigned char *bytes;
    int code = read32(r, size);
    return code < 0 ? code : trl__source_take(r->source, *size, &bytes, r->err);
}

static int read_header(reader *r)
{
    const unsigned char *bytes;
    uint32_t size = 0, version = 0;
    int code = trl__source_take(r->source, sizeof TRL__SPHINX_DMP_MAGIC, &bytes, r->err);
    if (code == 0) {
        r->big = bytes[0] == 0;
        code = skip_text(r, &size);
    }
    if (code == 0)
        code = read32(r, &version);
    if (code == 0 && (int32_t)version <= 0) {
        code = read32(r, &size); /* the time */
        for (size = 1; code == 0 && size > 0;)
            code = skip_text(r, &size);
        if (code == 0)
            code = read32(r, &version);
    }
    r->counts[0] = version;
    for (int k = 1; code == 0 && k < 3; k++)
        code = read32(r, &r->counts[k]);
    r->order = r->counts[2] > 0 ? 3 : r->counts[1] > 0 ? 2 : 1;
    if (code == 0 && (r->counts[0] == 0 || r->counts[0] > 65536 || (r->order == 3 && r->counts[1] == 0)))
        code = FAIL(r, TRL_ECORRUPT, "%" PRIu32 " words, %" PRIu32 " 2-grams, %" PRIu32 " 3-grams", r->counts[0],
                    r->counts[1], r->counts[2]);
    return code;
}

static int read_file(reader *r)
{
    int code = read_header(r);
    if (code == 0)
        code = trl__sphinx_take(&r->ngrams, 16 * ((uint64_t)r->counts[0] + 1), &r->unigrams);
    if (code == 0 && r->order > 1)
        code = trl__sphinx_take(&r->ngrams, 8 * ((uint64_t)r->counts[1] + 1), &r->bigrams);
    if (code == 0 && r->order > 2)
        code = trl__sphinx_take(&r->ngrams, 4 * (uint64_t)r->counts[2], &r->trigrams);
    if (code == 0 && r->order > 1)
        code = read_table(r, &r->probability2);
    table *rest[3] = {&r->backoff2, &r->probability3, &r->segments};
    for (int i = 0; code == 0 && r->order > 2 && i < 3; i++)
        code = read_table(r, rest[i]);
    if (code == 0 && !(r->labels = trl__alloc(r->counts[0], sizeof *r->labels)))
        code = trl__fail_memory(r->err);
    return code < 0 ? code : trl__sphinx_words(&r->ngrams, r->big, r->counts[0], r->labels);
}

/* ---- N-grams ---- */

static int cost_of(reader *r, const unsigned char *bytes, float *cost)
{
    return trl__sphinx_cost(&r->ngrams, trl__float_of_bits(get32(r, bytes)), LN10, cost);
}

static int cost_in(reader *r, const table *t, uint32_t number, float *cost)
{
    if (number >= t->count)
        return FAIL(r, TRL_ECORRUPT, "a table of %" PRIu32 " probabilities has no number %" PRIu32, t->count, number);
    return cost_of(r, t->bytes + 4 * (size_t)number, cost);
}

static int label_of(reader *r, uint32_t word, int32_t *label)
{
    if (word >= r->counts[0])
        return FAIL(r, TRL_ECORRUPT, "there is no word %" PRIu32, word);
    *label = r->labels[word];
    return 0;
}

static int add_words(reader *r)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < r->counts[0]; i++) {
        float cost, backoff = 0;
        code = cost_of(r, r->unigrams + 16 * (size_t)i + 4, &cost);
        if (code == 0 && r->order > 1)
            code = cost_of(r, r->unigrams + 16 * (size_t)i + 8, &backoff);
        if (code == 0)
            code = trl__ngrams_add(&r->ngrams, &r->labels[i], 1, cost, backoff);
    }
    return code;
}

/* The word whose 2-grams number i is among; *word only grows. */
static void find_first(const reader *r, uint32_t i, uint32_t *word)
{
    while (*word < r->counts[0] - 1 && get32(r, r->unigrams + 16 * ((size_t)*word + 1) + 12) <= i)
        ++*word;
}

/* The words of 2-gram i, which begins with word `first`. */
static int bigram_words(reader *r, uint32_t i, uint32_t first, int32_t *words)
{
    int code = label_of(r, first, &words[0]);
    return code < 0 ? code : label_of(r, get16(r, r->bigrams + 8 * (size_t)i), &words[1]);
}

static int add_bigrams(reader *r)
{
    uint32_t first = 0;
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < r->counts[1]; i++) {
        const unsigned char *b = r->bigrams + 8 * (size_t)i;
        int32_t words[2];
        float cost, backoff = 0;
        find_first(r, i, &first);
        code = bigram_words(r, i, first, words);
        if (code == 0)
            code = cost_in(r, &r->probability2, get16(r, b + 2), &cost);
        if (code == 0 && r->order > 2)
            code = cost_in(r, &r->backoff2, get16(r, b + 4), &backoff);
        if (code == 0)
            code = trl__ngrams_add(&r->ngrams, words, 2, cost, backoff);
    }
    return code;
}

static int add_trigrams_of(reader *r, const int32_t *bigram, uint32_t from, uint32_t to)
{
    int32_t words[3] = {bigram[0], bigram[1]};
    int code = 0;
    for (uint32_t i = from; code == 0 && i < to; i++) {
        const unsigned char *t = r->trigrams + 4 * (size_t)i;
        float cost;
        code = label_of(r, get16(r, t), &words[2]);
        if (code == 0)
            code = cost_in(r, &r->probability3, get16(r, t + 2), &cost);
        if (code == 0)
            code = trl__ngrams_add(&r->ngrams, words, 3, cost, 0);
    }
    return code;
}

/* Where the 3-grams of 2-gram i begin. */
static int trigrams_begin(reader *r, uint32_t i, uint32_t least, uint32_t *out)
{
    if (i / SEGMENT >= r->segments.count)
        return FAIL(r, TRL_ECORRUPT, "there is no segment of 2-gram %" PRIu32, i);
    *out = get32(r, r->segments.bytes + 4 * (size_t)(i / SEGMENT)) + get16(r, r->bigrams + 8 * (size_t)i + 6);
    if (*out < least || *out > r->counts[2])
        return FAIL(r, TRL_ECORRUPT, "the 3-grams do not lie in the order of their 2-grams");
    return 0;
}

static int add_trigrams(reader *r)
{
    uint32_t first = 0, from, to = 0;
    int code = trigrams_begin(r, 0, 0, &from);
    for (uint32_t i = 0; code == 0 && i < r->counts[1]; i++) {
        int32_t words[2] = {0};
        find_first(r, i, &first);
        code = bigram_words(r, i, first, words);
        if (code == 0)
            code = trigrams_begin(r, i + 1, from, &to);
        if (code == 0)
            code = add_trigrams_of(r, words, from, to);
        from = to;
    }
    return code;
}

int trl__fst_read_sphinx_dmp(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                             trl_error *err)
{
    reader r = {.source = source, .err = err};
    *out = NULL;
    int code = trl__ngrams_begin(&r.ngrams, source, options, err);
    if (code == 0)
        code = read_file(&r);
    if (code == 0)
        code = add_words(&r);
    if (code == 0 && r.order > 1)
        code = add_bigrams(&r);
    if (code == 0 && r.order > 2)
        code = add_trigrams(&r);
    trl__free(r.unigrams);
    trl__free(r.bigrams);
    trl__free(r.trigrams);
    trl__free(r.probability2.bytes);
    trl__free(r.backoff2.bytes);
    trl__free(r.probability3.bytes);
    trl__free(r.segments.bytes);
    trl__free(r.labels);
    return trl__ngrams_finish(&r.ngrams, code, out, skipped);
}
