/* The lexicon's chains and the grammar's histories, each built state by state. */
#include "fst_grammar.h"
#include "base/hash_map.h"
#include "base/random.h"
#include "bench.h"
#include "fst_rows.h"

#include <math.h>
#include <stdio.h>
#include <trellis/file.h>
#include <trellis/fst_file.h>
#include <trellis/fst_structure.h>
#include <unistd.h>

#define DICTIONARY "/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict"
#define DISCOUNT 0.5 /* absolute, of a bigram's count */

int32_t fst_grammar_words_end(const fst_grammar *g)
{
    return GRAMMAR_LABEL(trl_lexicon_words(g->words));
}

int32_t fst_grammar_phones_end(const fst_grammar *g)
{
    return GRAMMAR_LABEL(trl_lexicon_phones(g->words));
}

static void add_arc(trl_fst *fst, int32_t state, int32_t input, int32_t output, double cost, int32_t next)
{
    trl_error err;
    bench_check(trl_fst_add_arc(fst, state, (trl_arc){input, output, {(float)cost, 0}, next}, &err), &err);
}

static trl_fst *new_machine(int32_t states, int32_t start)
{
    trl_error err;
    trl_fst *fst;
    bench_check(trl_fst_create(TRL_TROPICAL, &fst, &err), &err);
    bench_check(trl_fst_add_states(fst, states, &err), &err);
    bench_check(trl_fst_set_start(fst, start, &err), &err);
    return fst;
}

/* ---- The lexicon ---- */

typedef struct spelling {
    int32_t word;
    trl_pronunciation p;
    int32_t mark; /* n of #n at its end; 0: none */
} spelling;

static uint64_t *slot_of(trl__map *map, const trl_pronunciation *p, size_t length)
{
    uint64_t none = 0;
    const char *key = (const char *)p->phones;
    if (trl__map_add(map, key, length * sizeof *p->phones, &none) < 0)
        fst_must(NULL);
    return trl__map_find(map, key, length * sizeof *p->phones);
}

/* Spellings that others share or begin with get marks, counted up for each spelling. */
static void mark_spellings(spelling *all, size_t count)
{
    trl__map same = {0}, begins = {0}, used = {0};
    for (size_t i = 0; i < count; i++) {
        ++*slot_of(&same, &all[i].p, all[i].p.length);
        for (size_t k = 1; k < all[i].p.length; k++)
            *slot_of(&begins, &all[i].p, k) = 1;
    }
    for (size_t i = 0; i < count; i++)
        if (*slot_of(&same, &all[i].p, all[i].p.length) > 1 || *slot_of(&begins, &all[i].p, all[i].p.length))
            all[i].mark = (int32_t)++ * slot_of(&used, &all[i].p, all[i].p.length);
    trl__map_free(&same);
    trl__map_free(&begins);
    trl__map_free(&used);
}

static spelling *list_spellings(const trl_lexicon *words, size_t *count)
{
    spelling *all = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t w = 0; w < trl_lexicon_words(words); w++)
        for (size_t v = 0; v < trl_lexicon_pronunciations(words, w); v++) {
            if (TRL_GROW(all, capacity, *count + 1) < 0)
                fst_must(NULL);
            all[(*count)++] = (spelling){(int32_t)w, trl_lexicon_pronunciation(words, w, v), 0};
        }
    mark_spellings(all, *count);
    return all;
}

static size_t symbols_of(const spelling *s)
{
    return s->p.length + (s->mark > 0);
}

static int32_t symbol_at(const spelling *s, size_t i, int32_t marks)
{
    return i < s->p.length ? GRAMMAR_LABEL(s->p.phones[i]) : marks + s->mark;
}

/* State 0 is between words; the arcs of a chain of n symbols lead through n - 1 states of its own. */
static trl_fst *make_lexicon(const fst_grammar *g)
{
    size_t count;
    spelling *all = list_spellings(g->words, &count);
    int32_t states = 1, next = 1, marks = fst_grammar_phones_end(g);
    for (size_t i = 0; i < count; i++)
        states += (int32_t)symbols_of(&all[i]) - 1;
    trl_fst *fst = new_machine(states, 0);
    trl_error err;
    for (size_t i = 0; i < count; i++) {
        size_t symbols = symbols_of(&all[i]);
        add_arc(fst, 0, symbol_at(&all[i], 0, marks), GRAMMAR_LABEL(all[i].word), 0, symbols > 1 ? next : 0);
        next += (int32_t)symbols - 1;
    }
    add_arc(fst, 0, marks, fst_grammar_words_end(g), 0, 0);
    next = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 1; k < symbols_of(&all[i]); k++, next++)
            add_arc(fst, next, symbol_at(&all[i], k, marks), TRL_EPSILON, 0,
                    k + 1 < symbols_of(&all[i]) ? next + 1 : 0);
    bench_check(trl_fst_set_final(fst, 0, trl_weight_one(TRL_TROPICAL), &err), &err);
    bench_check(trl_fst_arcsort(fst, TRL_SIDE_OUTPUT, &err), &err);
    trl__free(all);
    return fst;
}

/* ---- A bigram model with back-off ---- */

/* Counts of the text's bigrams; row `words` is the sentence's start, column `words` its end. */
static void count_bigrams(const trl_lexicon *lexicon, const fst_text *text, size_t lines, fst_rows *out)
{
    int32_t words = (int32_t)trl_lexicon_words(lexicon);
    int32_t *known = fst_must(trl__alloc(text->words.count, sizeof *known));
    fst_pairs pairs = {0};
    for (size_t w = 0; w < text->words.count; w++)
        known[w] = (int32_t)trl_lexicon_find(lexicon, text->words.texts[w]);
    for (size_t line = 0; line < lines; line++) {
        int32_t last = words;
        for (size_t i = text->first[line]; i < text->first[line + 1]; i++)
            if (known[text->token[i]] >= 0) {
                fst_pairs_add(&pairs, last, known[text->token[i]]);
                last = known[text->token[i]];
            }
        fst_pairs_add(&pairs, last, words);
    }
    fst_pairs_count(&pairs, words + 1, out);
    trl__free(known);
}

/* P(w) by how often it is a bigram's second word, and once more, so that every word of the lexicon may be said. */
static double *unigrams_of(const fst_rows *bigrams)
{
    double *unigram = fst_must(trl__alloc((size_t)bigrams->rows, sizeof *unigram)), all = bigrams->rows;
    for (int32_t w = 0; w < bigrams->rows; w++)
        unigram[w] = 1;
    for (size_t k = 0; k < bigrams->first[bigrams->rows]; k++) {
        unigram[bigrams->column[k]] += bigrams->count[k];
        all += bigrams->count[k];
    }
    for (int32_t w = 0; w < bigrams->rows; w++)
        unigram[w] /= all;
    return unigram;
}

/* What a history leaves to words that were not seen behind it, over what these have without it. */
static double backoff_of(const fst_rows *bigrams, int32_t history, const double *unigram, double all)
{
    double seen = 0;
    size_t kinds = bigrams->first[history + 1] - bigrams->first[history];
    for (size_t k = bigrams->first[history]; k < bigrams->first[history + 1]; k++)
        seen += unigram[bigrams->column[k]];
    return DISCOUNT * (double)kinds / all / fmax(1 - seen, 1e-9);
}

static void set_final(trl_fst *fst, int32_t state, double cost)
{
    trl_error err;
    bench_check(trl_fst_set_final(fst, state, (trl_weight){(float)cost, 0}, &err), &err);
}

/* State w is the history of word w, `words` that of the start, words + 1 that of nothing, where words that the text
 * lacks lead as well. */
static trl_fst *make_bigram(const fst_grammar *g, const fst_text *text, size_t lines)
{
    fst_rows bigrams;
    trl_error err;
    count_bigrams(g->words, text, lines, &bigrams);
    double *unigram = unigrams_of(&bigrams);
    int32_t words = bigrams.rows - 1, nothing = words + 1, backoff = fst_grammar_words_end(g);
    trl_fst *fst = new_machine(words + 2, words);
    for (int32_t h = 0; h <= words; h++) {
        double all = 0;
        for (size_t k = bigrams.first[h]; k < bigrams.first[h + 1]; k++)
            all += bigrams.count[k];
        for (size_t k = bigrams.first[h]; k < bigrams.first[h + 1]; k++) {
            double cost = -log((bigrams.count[k] - DISCOUNT) / all);
            if (bigrams.column[k] == words)
                set_final(fst, h, cost);
            else
                add_arc(fst, h, GRAMMAR_LABEL(bigrams.column[k]), GRAMMAR_LABEL(bigrams.column[k]), cost,
                        bigrams.column[k]);
        }
        if (all > 0)
            add_arc(fst, h, backoff, backoff, -log(backoff_of(&bigrams, h, unigram, all)), nothing);
    }
    for (int32_t w = 0; w < words; w++)
        add_arc(fst, nothing, GRAMMAR_LABEL(w), GRAMMAR_LABEL(w), -log(unigram[w]),
                bigrams.first[w + 1] > bigrams.first[w] ? w : nothing);
    set_final(fst, nothing, -log(unigram[words]));
    bench_check(trl_fst_connect(fst, &err), &err);
    trl__free(unigram);
    fst_rows_free(&bigrams);
    return fst;
}

/* ---- The two tasks ---- */

static void read_lexicon(fst_grammar *g, const char *path)
{
    trl_error err;
    bench_check(trl_lexicon_read(path, NULL, &g->words, &err), &err);
    g->lexicon = make_lexicon(g);
}

int fst_grammar_an4(fst_grammar *g)
{
    char path[4096];
    trl_error err;
    trl_symbols *symbols;
    if (!bench_shared("an4/lexicon.txt", path))
        return 0;
    read_lexicon(g, path);
    bench_check(trl_symbols_create("words", &symbols, &err), &err);
    for (size_t w = 0; w < trl_lexicon_words(g->words); w++) {
        char name[64]; /* the model is in small letters */
        size_t length = 0;
        for (const char *c = trl_lexicon_word(g->words, w); *c && length + 1 < sizeof name; c++)
            name[length++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        name[length] = 0;
        bench_check(trl_symbols_add(symbols, name, GRAMMAR_LABEL(w), &err), &err);
    }
    trl_arpa_options options = {.words = symbols, .backoff = fst_grammar_words_end(g), .semiring = TRL_TROPICAL};
    bench_check(trl_fst_read_arpa(bench_shared("an4/lm/an4_full.bigram.arpa", path), &options, &g->grammar, NULL, &err),
                &err);
    trl_symbols_destroy(symbols);
    bench_check(trl_fst_arcsort(g->grammar, TRL_SIDE_INPUT, &err), &err);
    return 1;
}

/* Words of the text with three to eight phones each, drawn by chance. */
static void write_lexicon(const char *path, const fst_text *text)
{
    trl_error err;
    trl_file *file;
    bench_check(trl_file_create(path, &file, &err), &err);
    for (size_t w = 0; w < text->words.count; w++) {
        bench_check(trl_file_print(file, &err, "%s", text->words.texts[w]), &err);
        for (uint32_t k = 0; k < 3 + trl__random_bits(5, w, 0) % 6; k++)
            bench_check(trl_file_print(file, &err, " p%u", trl__random_bits(6, w, k) % 40), &err);
        bench_check(trl_file_print(file, &err, "\n"), &err);
    }
    bench_check(trl_file_commit(file, &err), &err);
}

void fst_grammar_text(fst_grammar *g, const fst_corpus *corpus, size_t lines, int *made_up)
{
    trl_error err;
    *made_up = corpus->synthetic || access(DICTIONARY, R_OK) != 0;
    if (*made_up) {
        char folder[4096], path[4200];
        bench_folder(folder, sizeof folder);
        snprintf(path, sizeof path, "%s/lexicon.txt", folder);
        write_lexicon(path, &corpus->english);
        read_lexicon(g, path);
        bench_remove_folder(folder);
    } else
        read_lexicon(g, DICTIONARY);
    g->grammar = make_bigram(g, &corpus->english, lines);
    bench_check(trl_fst_arcsort(g->grammar, TRL_SIDE_INPUT, &err), &err);
}

void fst_grammar_free(fst_grammar *g)
{
    trl_fst_destroy(g->lexicon);
    trl_fst_destroy(g->grammar);
    trl_lexicon_destroy(g->words);
}
