/* Probabilities of n-grams, level by level from the shortest: with c events of n-gram (h, w) and C of history h,
 *
 *     P(w | h) = (c - D) / C + backoff(h) P(w | h')           h': h without its first word; below words, 1 / V for all V
 *     backoff(h) = (the sum of all D) / C
 *
 * so that the sum over w is 1 by construction. Modified Kneser-Ney (Chen and Goodman 1999): D by c = 1, 2, 3 and more,
 * estimated for each level from the numbers n1 … n4 of n-grams with 1 … 4 events; below the highest order the events of an
 * n-gram are the different words that precede it, but for n-grams that begin with <s>, which nothing precedes. Witten-Bell
 * (1991, method C): D = 0, and T, the number of different words after h, is added to C and is what the others share. An n-gram
 * that is cut off has D = c. O(n-grams) for each level.
 */
#include "base/log_write.h"
#include "lm/lm_data.h"

#include <stdio.h>

/* What is taken from counts of 0, 1, 2, 3 and more. */
typedef struct discounts {
    double of[4];
} discounts;

/* ---- Events ---- */

static void count_events(trl_lm *lm, int k, trl_lm_smoothing smoothing)
{
    trl__lm_level *level = &lm->levels[k], *above = &lm->levels[k + 1];
    int by_predecessors = smoothing == TRL_LM_KNESER_NEY && k < lm->order;
    for (size_t i = 0; i < level->count; i++)
        level->events[i] = by_predecessors ? 0 : level->seen[i];
    if (!by_predecessors)
        return;
    for (size_t i = 0; i < above->count; i++)
        level->events[above->suffix[i]]++;
    for (uint32_t i = level->begin[0]; i < level->begin[1]; i++)
        level->events[i] = level->seen[i];
}

/* ---- Discounts ---- */

/* A discount must take something of a count and leave something: else it is half of the count, or of 3. */
static discounts estimate_discounts(const trl__lm_level *level, int k)
{
    double n[6] = {0, 0, 0, 0, 0, 0}; /* the last: 5 and more */
    char guessed[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < level->count; i++)
        n[level->events[i] < 5 ? level->events[i] : 5]++;
    double y = n[1] > 0 ? n[1] / (n[1] + 2 * n[2]) : 0;
    discounts d = {{0, 0, 0, 0}};
    for (int c = 1; c <= 3; c++) {
        d.of[c] = n[c] > 0 ? c - (c + 1) * y * n[c + 1] / n[c] : 0;
        if (d.of[c] > 0 && d.of[c] < c)
            continue;
        d.of[c] = c / 2.0;
        if (n[c] > 0 || (c == 3 && n[4] + n[5] > 0))
            used += (size_t)snprintf(guessed + used, sizeof guessed - used, "%s%d%s", used ? ", " : "", c,
                                     c == 3 ? " and more" : "");
    }
    if (used)
        trl__log(TRL_LOG_WARNING,
                 "%d-grams: the text is too small to estimate the discounts for counts of %s; half of the "
                 "count is taken, at most 1.5",
                 k, guessed);
    return d;
}

/* ---- Probabilities ---- */

/* The n-grams that continue history h of the level below. */
static void smooth_history(trl_lm *lm, int k, uint32_t h, const discounts *d, int witten_bell, double uniform)
{
    trl__lm_level *level = &lm->levels[k], *below = &lm->levels[k - 1];
    double total = 0, left = 0;
    for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++) {
        uint32_t c = level->events[i];
        total += c + (witten_bell && c > 0);
        left += (level->dropped[i] ? c : d->of[c < 3 ? c : 3]) + (witten_bell && c > 0);
    }
    double backoff = total > 0 ? left / total : 1;
    for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++) {
        uint32_t c = level->events[i];
        double kept = level->dropped[i] || total == 0 ? 0 : (c - d->of[c < 3 ? c : 3]) / total;
        double shorter = k == 1 ? uniform : below->probability[level->suffix[i]];
        level->probability[i] = (float)(kept + backoff * shorter);
    }
    below->backoff[h] = (float)backoff;
}

static void smooth_level(trl_lm *lm, int k, const trl_lm_options *options)
{
    trl__lm_level *level = &lm->levels[k];
    int witten_bell = options->smoothing == TRL_LM_WITTEN_BELL;
    double uniform = 1.0 / (double)(lm->levels[1].count - 1); /* words without <s> */
    count_events(lm, k, options->smoothing);
    discounts d = {{0, 0, 0, 0}};
    if (!witten_bell)
        d = estimate_discounts(level, k);
    for (size_t i = 0; k > 1 && i < level->count; i++)
        level->dropped[i] = level->seen[i] < options->cutoff[k];
    for (uint32_t h = 0; h < lm->levels[k - 1].count; h++)
        smooth_history(lm, k, h, &d, witten_bell, uniform);
}

void trl__lm_smooth(trl_lm *lm, const trl_lm_options *options)
{
    for (int k = 1; k <= lm->order; k++)
        smooth_level(lm, k, options);
    trl__lm_level *words = &lm->levels[1], *longest = &lm->levels[lm->order];
    words->probability[words->begin[0]] = 0; /* <s> is never predicted */
    for (size_t i = 0; i < longest->count; i++)
        longest->backoff[i] = 1;
}
