/* How sure is an error rate, and is one system better than another? The bootstrap draws utterances or speakers with replacement; both
 * systems get the same draws. A draw's numbers depend on the seed, its own number and nothing else, so threads do not change them.
 */
#include "base/fail.h"
#include "base/random.h"
#include "decode/score_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIGHT_BETWEEN 2 /* words that end a segment: NIST's choice */
#define MOST_REPLICATES 10000000

trl_bootstrap trl_bootstrap_defaults(void)
{
    return (trl_bootstrap){.replicates = 2000, .seed = 1, .level = 0.95};
}

/* ---- What is drawn ---- */

typedef struct unit {
    double words, errors[2];
} unit;

typedef struct draws {
    unit *units;
    size_t count;
    uint64_t seed;
    double *rates; /* by replicate: the rate, or the difference of both */
} draws;

static int gather_units(const trl_score *const scores[2], const trl_bootstrap *how, draws *d, trl_error *err)
{
    d->count = how->speakers ? trl_score_speakers(scores[0]) : scores[0]->count;
    d->seed = how->seed;
    d->units = trl__alloc_zero(d->count + 1, sizeof *d->units);
    d->rates = trl__alloc((size_t)how->replicates, sizeof *d->rates);
    if (!d->units || !d->rates)
        return trl__fail_memory(err);
    for (int s = 0; s < 2 && scores[s]; s++)
        for (size_t i = 0; i < d->count; i++) {
            const trl_counts *c = how->speakers ? &scores[s]->speakers[i].counts : &scores[s]->utterances[i].counts;
            d->units[i].errors[s] = (double)trl_errors(*c);
            if (s == 0)
                d->units[i].words = (double)c->words;
        }
    return 0;
}

static int draw(void *user, size_t replicate, int worker, trl_error *err)
{
    (void)worker;
    (void)err;
    draws *d = user;
    const uint32_t key[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};
    double words = 0, errors = 0;
    for (size_t i = 0; i < d->count; i += 4) {
        uint32_t counter[4] = {(uint32_t)(i / 4), (uint32_t)(i / 4 >> 32), (uint32_t)replicate, 0}, bits[4];
        trl__philox(counter, key, bits);
        for (size_t k = 0; k < 4 && i + k < d->count; k++) {
            const unit *u = &d->units[(uint64_t)bits[k] * d->count >> 32];
            words += u->words;
            errors += u->errors[0] - u->errors[1];
        }
    }
    d->rates[replicate] = words > 0 ? errors / words : 0;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values, linear between neighbours. */
static double quantile(const double *values, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t low = (size_t)place, high = low + (low + 1 < count);
    return values[low] + (place - (double)low) * (values[high] - values[low]);
}

static int check(const trl_bootstrap *how, trl_error *err)
{
    if (how->replicates < 1 || how->replicates > MOST_REPLICATES)
        return trl__fail(err, TRL_EINVAL, "the bootstrap draws 1 to %d times, not %d", MOST_REPLICATES,
                         how->replicates);
    if (!(how->level > 0 && how->level < 1))
        return trl__fail(err, TRL_EINVAL, "the level of an interval lies between 0 and 1: %g", how->level);
    return 0;
}

/* All replicates, sorted, and their interval. */
static int bootstrap(const trl_score *const scores[2], const trl_bootstrap *how, trl_pool *pool, draws *d,
                     double interval[2], trl_error *err)
{
    int code = check(how, err);
    if (code == 0)
        code = gather_units(scores, how, d, err);
    if (code == 0 && d->count >> 32)
        code = trl__fail(err, TRL_ELIMIT, "too many utterances to draw from");
    if (code == 0)
        code = trl_pool_for(pool, (size_t)how->replicates, draw, d, err);
    if (code < 0)
        return code;
    qsort(d->rates, (size_t)how->replicates, sizeof *d->rates, by_value);
    interval[0] = quantile(d->rates, (size_t)how->replicates, (1 - how->level) / 2);
    interval[1] = quantile(d->rates, (size_t)how->replicates, (1 + how->level) / 2);
    return 0;
}

static void free_draws(draws *d)
{
    trl__free(d->units);
    trl__free(d->rates);
}

int trl_score_interval(const trl_score *score, const trl_bootstrap *how, trl_pool *pool, double interval[2],
                       trl_error *err)
{
    const trl_score *scores[2] = {score, NULL};
    draws d = {0};
    int code = bootstrap(scores, how, pool, &d, interval, err);
    free_draws(&d);
    return code;
}

/* ---- Matched pairs ---- */

typedef struct differences {
    double count, sum, squares;
} differences;

static void add_difference(differences *d, double first, double second)
{
    d->count++;
    d->sum += first - second;
    d->squares += (first - second) * (first - second);
}

/* Differences are whole numbers, so their sums are exact and equal ones have no variance at all. */
static trl_matched_pairs test_differences(const differences *d)
{
    trl_matched_pairs m = {.pairs = (size_t)d->count, .p = 1};
    if (d->count < 1)
        return m;
    m.mean = d->sum / d->count;
    double spread = d->squares * d->count - d->sum * d->sum;
    if (d->count < 2)
        return m;
    m.deviation = sqrt(spread / (d->count * (d->count - 1)));
    if (d->sum != 0)
        m.z = spread > 0 ? m.mean / (m.deviation / sqrt(d->count)) : copysign(INFINITY, m.mean);
    m.p = erfc(fabs(m.z) / sqrt(2));
    return m;
}

/* Errors by place: 2 p for those before word p, 2 p + 1 for those of word p. */
static void spread_errors(const trl_scored_utterance *u, uint32_t *errors)
{
    for (size_t i = 0; i < u->pair_count; i++)
        if (u->pairs[i].kind != 'C')
            errors[2 * (size_t)u->pairs[i].place + (u->pairs[i].kind != 'I')]++;
}

/* A segment goes from an error of either system to where both have RIGHT_BETWEEN words right in a row, or to the utterance's end. */
static void add_segments(const uint32_t *first, const uint32_t *second, size_t places, differences *d)
{
    double errors[2] = {0, 0};
    int right = 0;
    for (size_t i = 0; i < 2 * places + 1; i++) {
        int wrong = first[i] || second[i];
        errors[0] += first[i];
        errors[1] += second[i];
        right = wrong ? 0 : right + (int)(i % 2);
        if ((right >= RIGHT_BETWEEN || i == 2 * places) && errors[0] + errors[1] > 0) {
            add_difference(d, errors[0], errors[1]);
            errors[0] = errors[1] = 0;
        }
    }
}

static int compare_segments(const trl_score *first, const trl_score *second, trl_matched_pairs *out, trl_error *err)
{
    differences d = {0};
    trl__scratch scratch = {0};
    for (size_t i = 0; i < first->count; i++) {
        const trl_scored_utterance *a = &first->utterances[i], *b = &second->utterances[i];
        size_t places = a->places, cells = 2 * (places + 1);
        uint32_t *errors = trl__scratch_get(&scratch, 2 * cells, sizeof *errors);
        if (!errors) {
            trl__scratch_free(&scratch);
            return trl__fail_memory(err);
        }
        memset(errors, 0, 2 * cells * sizeof *errors);
        spread_errors(a, errors);
        spread_errors(b, errors + cells);
        add_segments(errors, errors + cells, places, &d);
    }
    trl__scratch_free(&scratch);
    *out = test_differences(&d);
    return 0;
}

static int same_reference(const trl_score *a, const trl_score *b, trl_error *err)
{
    int same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same =
            strcmp(a->utterances[i].id, b->utterances[i].id) == 0 && a->utterances[i].places == b->utterances[i].places;
    return same ? 0 : trl__fail(err, TRL_EINVAL, "scores can be compared only when they have the same reference");
}

static double share_above_zero(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i] > 0 ? 1 : values[i] < 0 ? 0 : 0.5;
    return sum / (double)count;
}

int trl_score_compare(const trl_score *first, const trl_score *second, const trl_bootstrap *how, trl_pool *pool,
                      trl_comparison *out, trl_error *err)
{
    const trl_score *scores[2] = {first, second};
    draws d = {0};
    differences units = {0};
    int code = same_reference(first, second, err);
    *out = (trl_comparison){0};
    if (code == 0)
        code = bootstrap(scores, how, pool, &d, out->interval, err);
    if (code == 0)
        code = compare_segments(first, second, &out->segments, err);
    for (size_t i = 0; code == 0 && i < d.count; i++)
        add_difference(&units, d.units[i].errors[0], d.units[i].errors[1]);
    if (code == 0) {
        out->units = test_differences(&units);
        out->difference = trl_word_error_rate(first->total) - trl_word_error_rate(second->total);
        out->second_better = share_above_zero(d.rates, (size_t)how->replicates);
    }
    free_draws(&d);
    return code;
}
