/* Word errors of rescored lists: those of every hypothesis are counted once, by the scorer; a choice of weights only adds some of them up. */
#include "bam/bam_lists.h"
#include "base/fail.h"
#include "decode/score_data.h"

#include <string.h>

/* ---- errors of every hypothesis ---- */

/* The hypotheses of this rank, as transcripts; lists that are shorter have none. */
static int gather_rank(const trl_bam_lists *l, size_t rank, trl_transcripts **out, trl_error *err)
{
    trl_transcripts *t = *out = trl__alloc_zero(1, sizeof *t);
    if (!t || !(t->name = trl__strdup(l->name)))
        return trl__fail_memory(err);
    t->format = TRL_TRANSCRIPTS_TEXT;
    for (size_t i = 0; i < l->count; i++) {
        const trl_bam_hypothesis *h = trl__list_hypotheses(l, &l->items[i]) + rank;
        if (rank >= l->items[i].count)
            continue;
        trl__transcript *item = trl__transcripts_add(t, err);
        if (!item)
            return TRL_ENOMEM;
        item->id = l->items[i].id;
        item->line = l->items[i].line;
        for (size_t k = 0; k < h->count; k++)
            if (trl__transcripts_word(t, h->words[k], err) < 0)
                return TRL_ENOMEM;
    }
    return 0;
}

static int take_counts(trl_bam_lists *l, size_t rank, const trl_score *score, trl_error *err)
{
    if (trl_score_extras(score) > 0)
        return trl__fail(err, TRL_EINVAL, "utterance %s has no transcript in the reference", trl_score_extra(score, 0));
    for (size_t i = 0; i < trl_score_utterances(score); i++) {
        const trl_scored_utterance *u = trl_score_utterance(score, i);
        const trl__list *list = trl__lists_find(l, u->id);
        if (list && !u->missing)
            trl__list_hypotheses(l, list)[rank].counts = u->counts;
        else if (!list && rank == 0)
            trl__counts_add(&l->listless, &u->counts);
    }
    return 0;
}

static int score_rank(trl_bam_lists *l, size_t rank, const trl_transcripts *said, trl_pool *pool, trl_error *err)
{
    const trl_score_options options = trl_score_defaults();
    trl_transcripts *heard = NULL;
    trl_score *score = NULL;
    int code = gather_rank(l, rank, &heard, err);
    if (code == 0)
        code = trl_score_create(said, heard, &options, pool, &score, err);
    if (code == 0)
        code = take_counts(l, rank, score, err);
    trl_score_destroy(score);
    trl_transcripts_destroy(heard);
    return code;
}

/* Lists without the truth don't count. */
static void keep_true(trl_bam_lists *l)
{
    l->listless = (trl_counts){0};
    for (size_t i = 0; i < l->count; i++) {
        trl_bam_hypothesis *h = trl__list_hypotheses(l, &l->items[i]);
        size_t right = 0;
        for (size_t k = 0; k < l->items[i].count; k++)
            right += trl_errors(h[k].counts) == 0;
        for (size_t k = 0; right == 0 && k < l->items[i].count; k++)
            h[k].counts = (trl_counts){0};
    }
}

int trl_bam_lists_score(trl_bam_lists *l, const trl_transcripts *said, int only_true, trl_pool *pool, trl_error *err)
{
    size_t ranks = 0;
    int code = 0;
    l->listless = (trl_counts){0};
    for (size_t i = 0; i < l->count; i++)
        ranks = l->items[i].count > ranks ? l->items[i].count : ranks;
    for (size_t rank = 0; code == 0 && rank < ranks; rank++)
        code = score_rank(l, rank, said, pool, err);
    if (code == 0 && only_true)
        keep_true(l);
    return code;
}

/* ---- sums ---- */

static trl_counts sum_chosen(const trl_bam_lists *l, const trl_bam_weights *weights, int again)
{
    trl_counts sum = l->listless;
    for (size_t i = 0; i < l->count; i++) {
        trl_bam_list list = trl_bam_lists_get(l, i);
        trl__counts_add(&sum, &list.hypotheses[trl__list_choose(list, weights, again)].counts);
    }
    return sum;
}

trl_counts trl_bam_errors(const trl_bam_lists *l, const trl_bam_weights *weights)
{
    return sum_chosen(l, weights, 0);
}

trl_counts trl_bam_errors_again(const trl_bam_lists *l, const trl_bam_weights *weights)
{
    return sum_chosen(l, weights, 1);
}

trl_counts trl_bam_errors_least(const trl_bam_lists *l)
{
    trl_counts sum = l->listless;
    for (size_t i = 0; i < l->count; i++) {
        trl_bam_list list = trl_bam_lists_get(l, i);
        const trl_bam_hypothesis *best = list.hypotheses;
        for (size_t k = 1; k < list.count; k++)
            if (trl_errors(list.hypotheses[k].counts) < trl_errors(best->counts))
                best = &list.hypotheses[k];
        trl__counts_add(&sum, &best->counts);
    }
    return sum;
}

/* ---- the grid ---- */

trl_bam_grid trl_bam_grid_defaults(void)
{
    static const double fifths[] = {0, 0.2, 0.4, 0.6, 0.8, 1}, weights[] = {7, 12, 17, 22};
    return (trl_bam_grid){
        .lambda = fifths, .back_off = fifths, .lm_weight = weights, .lambdas = 6, .back_offs = 6, .lm_weights = 4};
}

typedef struct tuning {
    const trl_bam_lists *lists;
    trl_bam_point *points;
} tuning;

static int try_point(void *user, size_t index, int worker, trl_error *err)
{
    const tuning *t = user;
    (void)worker;
    (void)err;
    t->points[index].counts = trl_bam_errors(t->lists, &t->points[index].weights);
    return 0;
}

/* With as many errors: does it leave more to the first pass? */
static int is_better(const trl_bam_point *a, const trl_bam_point *b)
{
    uint64_t x = trl_errors(a->counts), y = trl_errors(b->counts);
    if (x != y)
        return x < y;
    if (a->weights.lambda != b->weights.lambda)
        return a->weights.lambda > b->weights.lambda;
    if (a->weights.back_off != b->weights.back_off)
        return a->weights.back_off < b->weights.back_off;
    return a->weights.lm_weight < b->weights.lm_weight;
}

int trl_bam_tune(const trl_bam_lists *lists, const trl_bam_grid *g, trl_pool *pool, trl_bam_point *points, size_t *best,
                 trl_error *err)
{
    tuning t = {lists, points};
    size_t count = 0;
    for (size_t a = 0; a < g->lambdas; a++)
        for (size_t b = 0; b < g->back_offs; b++)
            for (size_t c = 0; c < g->lm_weights; c++)
                points[count++].weights = (trl_bam_weights){g->lambda[a], g->back_off[b], g->lm_weight[c]};
    for (size_t i = 0; i < count; i++)
        if (trl_bam_weights_check(&points[i].weights, err) < 0)
            return TRL_EINVAL;
    if (count == 0)
        return trl__fail(err, TRL_EINVAL, "a grid without points");
    int code = trl_pool_for(pool, count, try_point, &t, err);
    *best = 0;
    for (size_t i = 1; code == 0 && i < count; i++)
        if (is_better(&points[i], &points[*best]))
            *best = i;
    return code;
}
