/* Sphinx's binary language models of the trie kind (en-us.lm.bin), as written by sphinx_lm_convert.
 *
 *     "Trie Language Model", order (1 byte), n-grams of each order (32 bits each)
 *     from order 2: 32 bits without meaning; tables of 2^16 floats: of orders 2 … order - 1 a table of
 *       probabilities and one of back-off weights, of the last order one of probabilities
 *     words: probability, back-off weight (floats), where its 2-grams begin (32 bits); one more at the end
 *     orders 2 … order - 1: bits, (word, number of the back-off weight, of the probability, where its children begin),
 *       one more at the end; the last order: (word, number of the probability). Bytes rounded up, and 8 more
 *     the words: length of all in bytes (32 bits), each with a NUL
 *
 * All little-endian. The trie is read from the last word to the first: the children of "c" are the 2-grams "b c", and
 * those of "b c" the 3-grams "a b c". Words in the bits are as wide as the number of words, pointers as the number of
 * n-grams of the next order. Logarithms have base 1.0001, which the file does not say. The counts may be more than the n-grams that are there: the
 * pointers say how many.
 *
 * Each level is one pass over its entries; the entries above move along, because children lie in the order of
 * their parents. O(n-grams), and the memory of the file.
 */
#include "fst/sphinx_lm.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_format.h"

#include <inttypes.h>
#include <math.h>

#define BINS 65536u
#define BIN_BITS 16
#define LOG_BASE 9.999500033330834e-05 /* ln 1.0001 */

typedef struct level {
    uint64_t count; /* as the file tells, for the sizes */
    uint64_t used;  /* as the pointers tell */
    int word_bits, value_bits, pointer_bits;
    const unsigned char *bits;
    const unsigned char *probability, *backoff; /* the tables; NULL in the first level, and backoff in the last */
} level;

typedef struct reader {
    trl__ngrams ngrams;
    trl__source *source;
    int order;
    uint64_t words;
    level levels[TRL__NGRAM_MOST_ORDER]; /* [0]: words */
    unsigned char *tables, *unigrams, *bits;
    int32_t *labels;
    trl_error *err;
} reader;

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

/* ---- The file ---- */

static int bits_for(uint64_t largest)
{
    int bits = 0;
    for (; largest; largest >>= 1)
        bits++;
    return bits;
}

int trl__sphinx_take(trl__ngrams *ngrams, uint64_t size, unsigned char **out)
{
    const unsigned char *bytes;
    int code = trl__source_take(ngrams->source, size, &bytes, ngrams->err);
    if (code < 0)
        return code;
    *out = trl__alloc(size + 8, 1);
    if (!*out)
        return trl__fail_memory(ngrams->err);
    memcpy(*out, bytes, size);
    memset(*out + size, 0, 8);
    return 0;
}

static int read_header(reader *r)
{
    const unsigned char *bytes;
    int code = trl__source_take(r->source, sizeof TRL__SPHINX_LM_MAGIC, &bytes, r->err);
    if (code < 0)
        return code;
    r->order = bytes[sizeof TRL__SPHINX_LM_MAGIC - 1];
    if (r->order < 1 || r->order > TRL__NGRAM_MOST_ORDER)
        return FAIL(r, TRL_EFORMAT, "n-grams of %d words; 1 to %d can be handled", r->order, TRL__NGRAM_MOST_ORDER);
    code = trl__source_take(r->source, 4 * (uint64_t)r->order, &bytes, r->err);
    for (int k = 0; code == 0 && k < r->order; k++)
        r->levels[k].count = trl__le32(bytes + 4 * (size_t)k);
    r->words = r->levels[0].count;
    if (code == 0 && (r->words == 0 || r->words > INT32_MAX))
        return FAIL(r, TRL_EFORMAT, "%" PRIu64 " words", r->words);
    return code;
}

/* Two tables of each order between the first and the last, one of the last. */
static int read_tables(reader *r)
{
    const unsigned char *kind;
    int code = trl__source_take(r->source, 4, &kind, r->err);
    if (code == 0)
        code = trl__sphinx_take(&r->ngrams, 4 * (uint64_t)BINS * (uint64_t)(2 * r->order - 3), &r->tables);
    for (int k = 1; code == 0 && k < r->order; k++) {
        r->levels[k].probability = r->tables + (size_t)(k - 1) * 8 * BINS;
        r->levels[k].backoff = k < r->order - 1 ? r->levels[k].probability + (size_t)4 * BINS : NULL;
    }
    return code;
}

static uint64_t entry_bits(const level *l)
{
    return (uint64_t)l->word_bits + (uint64_t)l->value_bits + (uint64_t)l->pointer_bits;
}

static int read_bits(reader *r)
{
    uint64_t total = 0, begin[TRL__NGRAM_MOST_ORDER] = {0};
    for (int k = 1; k < r->order; k++) {
        level *l = &r->levels[k];
        int last = k == r->order - 1;
        l->word_bits = bits_for(r->words);
        l->value_bits = last ? BIN_BITS : 2 * BIN_BITS;
        l->pointer_bits = last ? 0 : bits_for(l[1].count);
        begin[k] = total;
        total += ((l->count + 1) * entry_bits(l) + 7) / 8 + 8;
    }
    int code = trl__sphinx_take(&r->ngrams, total, &r->bits);
    for (int k = 1; code == 0 && k < r->order; k++)
        r->levels[k].bits = r->bits + begin[k];
    return code;
}

int trl__sphinx_words(trl__ngrams *ngrams, int big, uint32_t count, int32_t *labels)
{
    trl__source *source = ngrams->source;
    const unsigned char *bytes;
    int code = trl__source_take(source, 4, &bytes, ngrams->err);
    if (code < 0)
        return code;
    uint32_t size = big ? trl__be32(bytes) : trl__le32(bytes);
    code = trl__source_take(source, size, &bytes, ngrams->err);
    const unsigned char *end = bytes + size, *word = bytes;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        const unsigned char *nul = memchr(word, '\0', (size_t)(end - word));
        if (!nul || nul == word)
            return trl__source_fail(source, ngrams->err, TRL_ECORRUPT, "the text of word %" PRIu32 " is missing", i);
        code = trl__ngrams_word(ngrams, (const char *)word, &labels[i]);
        word = nul + 1;
    }
    return code;
}

static int read_file(reader *r)
{
    int code = read_header(r);
    if (code == 0 && r->order > 1)
        code = read_tables(r);
    if (code == 0)
        code = trl__sphinx_take(&r->ngrams, 12 * (r->words + 1), &r->unigrams);
    if (code == 0 && r->order > 1)
        code = read_bits(r);
    if (code == 0 && !(r->labels = trl__alloc(r->words, sizeof *r->labels)))
        code = trl__fail_memory(r->err);
    return code < 0 ? code : trl__sphinx_words(&r->ngrams, 0, (uint32_t)r->words, r->labels);
}

/* ---- Entries of a level ---- */

/* `width` bits from bit `at`, at most 32. */
static uint32_t get_bits(const level *l, uint64_t at, int width)
{
    return (uint32_t)(trl__le64(l->bits + at / 8) >> at % 8 & (((uint64_t)1 << width) - 1));
}

static uint32_t word_of(const reader *r, int k, uint64_t entry)
{
    const level *l = &r->levels[k];
    return k == 0 ? (uint32_t)entry : get_bits(l, entry * entry_bits(l), l->word_bits);
}

/* Where the children of an entry begin, in the level below. */
static uint32_t children_of(const reader *r, int k, uint64_t entry)
{
    const level *l = &r->levels[k];
    return k == 0 ? trl__le32(r->unigrams + 12 * entry + 8)
                  : get_bits(l, (entry + 1) * entry_bits(l) - (uint64_t)l->pointer_bits, l->pointer_bits);
}

static float value_of(const unsigned char *table, uint32_t number)
{
    return trl__float_of_bits(trl__le32(table + 4 * (size_t)number));
}

static void values_of(const reader *r, int k, uint64_t entry, float *probability, float *backoff)
{
    const level *l = &r->levels[k];
    uint64_t at = entry * entry_bits(l) + (uint64_t)l->word_bits;
    *backoff = 0;
    if (k == 0) {
        *probability = trl__float_of_bits(trl__le32(r->unigrams + 12 * entry));
        if (r->order > 1)
            *backoff = trl__float_of_bits(trl__le32(r->unigrams + 12 * entry + 4));
        return;
    }
    if (l->backoff) {
        *backoff = value_of(l->backoff, get_bits(l, at, BIN_BITS));
        at += BIN_BITS;
    }
    *probability = value_of(l->probability, get_bits(l, at, BIN_BITS));
}

int trl__sphinx_cost(const trl__ngrams *ngrams, float value, double scale, float *cost)
{
    *cost = (float)(-value * scale);
    if (isnan(value) || *cost < -1e30F)
        return trl__source_fail(ngrams->source, ngrams->err, TRL_ECORRUPT, "a probability is no logarithm: %g",
                                (double)value);
    return 0;
}

/* ---- N-grams ---- */

/* How many entries each level has, and that the pointers of the one above never go back. */
static int check_pointers(reader *r)
{
    r->levels[0].used = r->words;
    for (int k = 0; k < r->order - 1; k++) {
        uint64_t last = 0;
        if (children_of(r, k, 0) != 0)
            return FAIL(r, TRL_ECORRUPT, "the n-grams of %d words do not begin at their beginning", k + 2);
        for (uint64_t i = 0; i <= r->levels[k].used; i++) {
            uint64_t next = children_of(r, k, i);
            if (next < last || next > r->levels[k + 1].count)
                return FAIL(r, TRL_ECORRUPT, "the n-grams of %d words do not lie in the order of their words", k + 2);
            last = next;
        }
        r->levels[k + 1].used = last;
    }
    return 0;
}

/* Entry `entry` of level k, and above[j] its ancestor of level j: the first word of the n-gram is the entry's own. */
static int add_entry(reader *r, int k, const uint64_t *above, uint64_t entry)
{
    int32_t words[TRL__NGRAM_MOST_ORDER];
    float probability, backoff, cost, backoff_cost = 0;
    for (int j = 0; j <= k; j++) {
        uint32_t word = word_of(r, j, j == k ? entry : above[j]);
        if (word >= r->words)
            return FAIL(r, TRL_ECORRUPT, "there is no word %" PRIu32, word);
        words[k - j] = r->labels[word];
    }
    values_of(r, k, entry, &probability, &backoff);
    int code = trl__sphinx_cost(&r->ngrams, probability, LOG_BASE, &cost);
    if (code == 0)
        code = trl__sphinx_cost(&r->ngrams, backoff, LOG_BASE, &backoff_cost);
    return code < 0 ? code : trl__ngrams_add(&r->ngrams, words, k + 1, cost, backoff_cost);
}

static int add_level(reader *r, int k)
{
    uint64_t above[TRL__NGRAM_MOST_ORDER] = {0};
    int code = 0;
    for (uint64_t i = 0; code == 0 && i < r->levels[k].used; i++) {
        uint64_t child = i;
        for (int j = k - 1; j >= 0; j--) {
            while (children_of(r, j, above[j] + 1) <= child)
                above[j]++;
            child = above[j];
        }
        code = add_entry(r, k, above, i);
    }
    return code;
}

int trl__fst_read_sphinx_lm(trl__source *source, const trl_arpa_options *options, trl_fst **out, uint64_t *skipped,
                            trl_error *err)
{
    reader r = {.source = source, .err = err};
    *out = NULL;
    int code = trl__ngrams_begin(&r.ngrams, source, options, err);
    if (code == 0)
        code = read_file(&r);
    if (code == 0)
        code = check_pointers(&r);
    for (int k = 0; code == 0 && k < r.order; k++)
        code = add_level(&r, k);
    trl__free(r.tables);
    trl__free(r.unigrams);
    trl__free(r.bits);
    trl__free(r.labels);
    return trl__ngrams_finish(&r.ngrams, code, out, skipped);
}
