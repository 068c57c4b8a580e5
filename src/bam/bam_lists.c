#include "bam/bam_lists.h"
#include "base/fail.h"

#include <math.h>
#include <string.h>

/* ---- scores ---- */

trl_bam_weights trl_bam_weights_defaults(void)
{
    return (trl_bam_weights){.lambda = 0.6, .back_off = 0, .lm_weight = 10};
}

int trl_bam_weights_check(const trl_bam_weights *w, trl_error *err)
{
    if (!(w->lambda >= 0 && w->lambda <= 1))
        return trl__fail(err, TRL_EINVAL, "lambda is %g; it may be 0 to 1", w->lambda);
    if (!(w->back_off >= 0 && isfinite(w->back_off)))
        return trl__fail(err, TRL_EINVAL, "back-off is %g; it may be 0 or more", w->back_off);
    if (!(w->lm_weight > 0 && isfinite(w->lm_weight)))
        return trl__fail(err, TRL_EINVAL, "lm-weight is %g; it must be more than 0", w->lm_weight);
    return 0;
}

/* Equations 2 to 4; what does not depend on the hypothesis (Z) is left out. At the ends of lambda's range the other pass has no part, whatever it is. */
double trl_bam_score(const trl_bam_hypothesis *h, const trl_bam_weights *w)
{
    double acoustic = h->first;
    if (w->lambda < 1)
        acoustic = (1 - w->lambda) * (h->bam - w->back_off * h->missing) + (w->lambda > 0 ? w->lambda * h->first : 0);
    return acoustic / w->lm_weight + h->language;
}

size_t trl__list_choose(trl_bam_list list, const trl_bam_weights *weights, int again)
{
    size_t best = 0;
    double highest = 0;
    for (size_t i = 0; i < list.count; i++) {
        trl_bam_hypothesis h = list.hypotheses[i];
        h.bam = again ? h.again : h.bam;
        h.missing = again ? 0 : h.missing;
        double score = trl_bam_score(&h, weights);
        if (i == 0 || score > highest) {
            best = i;
            highest = score;
        }
    }
    return best;
}

size_t trl_bam_choose(trl_bam_list list, const trl_bam_weights *weights)
{
    return trl__list_choose(list, weights, 0);
}

/* ---- lists ---- */

int trl__lists_create(const char *name, trl_bam_lists **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    if (!*out)
        return trl__fail_memory(err);
    (*out)->name = trl__strdup(name);
    if ((*out)->name)
        return 0;
    trl_bam_lists_destroy(*out);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl_bam_lists_destroy(trl_bam_lists *l)
{
    if (!l)
        return;
    trl__free(l->name);
    trl__free(l->items);
    trl__free(l->hypotheses);
    trl__map_free(&l->index);
    trl__arena_free(&l->arena);
    trl__free(l);
}

trl__list *trl__lists_find(const trl_bam_lists *l, const char *id)
{
    const uint64_t *found = trl__map_find(&l->index, id, strlen(id));
    return found ? &l->items[*found] : NULL;
}

int trl__lists_add(trl_bam_lists *l, const char *id, int64_t line, trl_error *err)
{
    uint64_t number = l->count;
    const char *copy = trl__arena_copy(&l->arena, id, strlen(id));
    int added = copy ? trl__map_add(&l->index, copy, strlen(copy), &number) : -1;
    if (added < 0 || TRL_GROW(l->items, l->capacity, l->count + 1) < 0)
        return trl__fail_memory(err);
    if (added == 0)
        return trl__fail_line(err, TRL_EFORMAT, l->name, line,
                              "utterance %s has had its list in line %lld; all of its hypotheses stand together", id,
                              (long long)l->items[number].line);
    l->items[l->count++] = (trl__list){.id = copy, .first = l->hypothesis_count, .line = line};
    return 0;
}

trl_bam_hypothesis *trl__lists_add_hypothesis(trl_bam_lists *l, const char *const *words, size_t count, trl_error *err)
{
    const char **copies = trl__arena_alloc(&l->arena, (count + 1) * sizeof *copies);
    int is_full = !copies || TRL_GROW(l->hypotheses, l->hypothesis_capacity, l->hypothesis_count + 1) < 0;
    for (size_t i = 0; !is_full && i < count; i++)
        is_full = !(copies[i] = trl__arena_copy(&l->arena, words[i], strlen(words[i])));
    if (is_full) {
        trl__fail_memory(err);
        return NULL;
    }
    trl_bam_hypothesis *h = &l->hypotheses[l->hypothesis_count++];
    *h = (trl_bam_hypothesis){
        .words = copies, .count = count, .language = 0, .first = NAN, .again = NAN, .bam = NAN, .missing = NAN};
    l->items[l->count - 1].count++;
    return h;
}

int trl__lists_drop(trl_bam_lists *l, trl_error *err)
{
    size_t kept = 0;
    trl__map_free(&l->index);
    for (size_t i = 0; i < l->count; i++) {
        uint64_t number = kept;
        if (!l->items[i].rescored)
            continue;
        l->items[kept] = l->items[i];
        if (trl__map_add(&l->index, l->items[kept].id, strlen(l->items[kept].id), &number) < 0)
            return trl__fail_memory(err);
        kept++;
    }
    l->count = kept;
    return 0;
}

size_t trl_bam_lists_count(const trl_bam_lists *l)
{
    return l->count;
}

trl_bam_list trl_bam_lists_get(const trl_bam_lists *l, size_t index)
{
    const trl__list *list = &l->items[index];
    return (trl_bam_list){list->id, trl__list_hypotheses(l, list), list->count};
}

const trl_bam_run *trl_bam_lists_run(const trl_bam_lists *l)
{
    return &l->run;
}

void trl_bam_lists_label(trl_bam_lists *l, const trl_bam_weights *weights, double hours)
{
    l->run.weights = *weights;
    l->run.hours = hours;
}
