/* Word pairs come from IBM Model 1 in both directions, five iterations each: a pair of tokens counts when either
 * direction's best alignment has it (the union), and P(f | e) is a relative frequency over those pairs, as in lexical
 * weighting (Koehn et al., 2003). */
#include "fst_translation.h"
#include "bench.h"
#include "ibm_model1.h"

#include <math.h>
#include <trellis/pool.h>

enum { ITERATIONS = 5 };

/* ---- The table of translations ---- */

typedef struct alignment {
    const fst_corpus *corpus;
    size_t lines;
    int16_t *french_to_english, *english_to_french; /* by token: the place of its partner, or -1 */
} alignment;

static int align_direction(void *user, size_t direction, int worker, trl_error *err)
{
    const alignment *a = user;
    (void)worker;
    (void)err;
    if (direction == 0)
        ibm_model1_align(&a->corpus->english, &a->corpus->french, a->lines, ITERATIONS, a->french_to_english);
    else
        ibm_model1_align(&a->corpus->french, &a->corpus->english, a->lines, ITERATIONS, a->english_to_french);
    return 0;
}

/* A pair that both directions have is counted once. */
static void unite(const alignment *a, fst_pairs *p)
{
    const fst_text *french = &a->corpus->french, *english = &a->corpus->english;
    for (size_t line = 0; line < a->lines; line++) {
        size_t f0 = french->first[line], e0 = english->first[line];
        for (size_t f = f0; f < french->first[line + 1]; f++)
            if (a->french_to_english[f] >= 0)
                fst_pairs_add(p, english->token[e0 + (size_t)a->french_to_english[f]], french->token[f]);
        for (size_t e = e0; e < english->first[line + 1]; e++) {
            int16_t to = a->english_to_french[e];
            if (to >= 0 && a->french_to_english[f0 + (size_t)to] != (int16_t)(e - e0))
                fst_pairs_add(p, english->token[e], french->token[f0 + (size_t)to]);
        }
    }
}

static void make_table(translation *t, const fst_corpus *corpus, size_t lines, int threads)
{
    alignment a = {.corpus = corpus, .lines = lines};
    fst_pairs p = {0};
    trl_pool *pool;
    trl_error err;
    a.french_to_english = fst_must(trl__alloc(corpus->french.first[lines] + 1, sizeof(int16_t)));
    a.english_to_french = fst_must(trl__alloc(corpus->english.first[lines] + 1, sizeof(int16_t)));
    bench_check(trl_pool_create(threads, &pool, &err), &err);
    bench_check(trl_pool_for(pool, 2, align_direction, &a, &err), &err);
    trl_pool_destroy(pool);
    unite(&a, &p);
    fst_pairs_count(&p, t->english, &t->table);
    trl__free(a.french_to_english);
    trl__free(a.english_to_french);
}

/* ---- The language model ---- */

/* The end of a sentence is counted as one more word behind the others, and becomes the final weights. */
static void make_bigrams(translation *t, const fst_text *english, size_t lines)
{
    fst_pairs p = {0};
    fst_rows all;
    size_t used = 0;
    for (size_t line = 0; line < lines; line++) {
        int32_t last = t->start;
        for (size_t i = english->first[line]; i < english->first[line + 1]; i++) {
            fst_pairs_add(&p, last, english->token[i]);
            last = english->token[i];
        }
        fst_pairs_add(&p, last, t->english);
    }
    fst_pairs_count(&p, t->states, &all);
    t->final = fst_must(trl__alloc((size_t)t->states, sizeof *t->final));
    fst_rows_alloc(&t->bigrams, t->states, all.first[t->states]);
    for (int32_t s = 0; s < t->states; s++) {
        t->final[s] = INFINITY;
        for (size_t k = all.first[s]; k < all.first[s + 1]; k++)
            if (all.column[k] == t->english)
                t->final[s] = all.cost[k];
            else {
                t->bigrams.column[used] = all.column[k];
                t->bigrams.count[used] = all.count[k];
                t->bigrams.cost[used++] = all.cost[k];
            }
        t->bigrams.first[s + 1] = used;
    }
    fst_rows_free(&all);
}

/* ---- Both ---- */

void translation_create(translation *t, const fst_corpus *corpus, size_t lines, int threads)
{
    *t = (translation){.english = fst_text_words(&corpus->english, lines),
                       .french = fst_text_words(&corpus->french, lines)};
    t->states = t->english + 1;
    t->start = t->english;
    make_table(t, corpus, lines, threads);
    make_bigrams(t, &corpus->english, lines);
    for (size_t k = 0; k < t->bigrams.first[t->states]; k++)
        t->arcs += t->table.first[t->bigrams.column[k] + 1] - t->table.first[t->bigrams.column[k]];
}

void translation_free(translation *t)
{
    fst_rows_free(&t->bigrams);
    fst_rows_free(&t->table);
    trl__free(t->final);
}

void translation_arcs(const translation *t, int32_t state, translation_list *list)
{
    list->count = 0;
    for (size_t b = t->bigrams.first[state]; b < t->bigrams.first[state + 1]; b++) {
        int32_t next = t->bigrams.column[b];
        for (size_t k = t->table.first[next]; k < t->table.first[next + 1]; k++) {
            if (TRL_GROW(list->arc, list->capacity, list->count + 1) < 0)
                fst_must(NULL);
            list->arc[list->count++] = (peer_arc){TRANSLATION_LABEL(t->table.column[k]), TRANSLATION_LABEL(next),
                                                  t->bigrams.cost[b] + t->table.cost[k], next};
        }
    }
}
