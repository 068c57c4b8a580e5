/* Pruning by relative entropy (Stolcke 1998). What an n-gram's loss does to the model is known in closed form: its word is
 * then reached by backing off, and the history's back-off weight changes a little. Levels are pruned from the longest
 * n-grams down; an n-gram stays while one that stays begins or ends with it, so that the file has all prefixes and
 * suffixes, which some readers need, and probabilities of shorter histories stay as they are. O(n-grams).
 */
#include "base/fail.h"
#include "base/memory.h"
#include "lm/lm_data.h"

#include <math.h>
#include <string.h>

/* Histories whose n-grams leave less than this to all other words are left alone: differences of floats near 1. */
#define LEAST_LEFT 1e-5

/* The probability of the words of each n-gram, one after the other; <s> is there as often as </s>. */
static int multiply_out(const trl_lm *lm, int k, double **joint, trl_error *err)
{
    const trl__lm_level *level = &lm->levels[k], *words = &lm->levels[1];
    joint[k] = trl__alloc(level->count + 1, sizeof *joint[k]);
    if (!joint[k])
        return trl__fail_memory(err);
    if (k == 0)
        joint[k][0] = 1;
    for (uint32_t h = 0; k > 0 && h < lm->levels[k - 1].count; h++)
        for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++)
            joint[k][i] = joint[k - 1][h] * level->probability[i];
    for (uint32_t i = 0; k == 1 && i < level->count; i++)
        if (strcmp(lm->words[i], TRL__LM_END) == 0)
            joint[k][words->begin[0]] = level->probability[i];
    return 0;
}

/* Marks the n-grams of level k that others begin or end with. */
static void mark_needed(const trl_lm *lm, int k, uint8_t *needed)
{
    const trl__lm_level *level = &lm->levels[k], *above = &lm->levels[k + 1];
    memset(needed, 0, level->count);
    for (uint32_t i = 0; k < lm->order && i < level->count; i++)
        for (uint32_t j = above->first[i]; j < above->first[i + 1]; j++)
            if (!above->dropped[j])
                needed[i] = needed[above->suffix[j]] = 1;
}

/* What the n-grams of a history leave to other words, by its own probabilities and by those of the shorter history. */
static void sum_left(const trl_lm *lm, int k, uint32_t h, double *left, double *shorter)
{
    const trl__lm_level *level = &lm->levels[k], *below = &lm->levels[k - 1];
    *left = *shorter = 1;
    for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++)
        if (!level->dropped[i]) {
            *left -= level->probability[i];
            *shorter -= below->probability[level->suffix[i]];
        }
}

static void prune_history(trl_lm *lm, int k, uint32_t h, double weight, double threshold, const uint8_t *needed)
{
    trl__lm_level *level = &lm->levels[k], *below = &lm->levels[k - 1];
    double left, shorter;
    int lost = 0;
    sum_left(lm, k, h, &left, &shorter);
    if (left < LEAST_LEFT || shorter < LEAST_LEFT)
        return;
    for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++) {
        double p = level->probability[i], q = below->probability[level->suffix[i]];
        double backoff = (left + p) / (shorter + q);
        double loss = -weight * (p * log(q * backoff / p) + left * log(backoff / (left / shorter)));
        if (level->dropped[i] || needed[i] || expm1(loss) >= threshold)
            continue;
        level->dropped[i] = 1;
        lost = 1;
    }
    if (!lost)
        return;
    sum_left(lm, k, h, &left, &shorter);
    below->backoff[h] = (float)(left / shorter);
}

int trl__lm_prune(trl_lm *lm, double threshold, trl_error *err)
{
    double *joint[TRL_LM_MOST_ORDER + 1] = {NULL};
    int code = 0;
    for (int k = 0; code == 0 && k < lm->order; k++)
        code = multiply_out(lm, k, joint, err);
    for (int k = lm->order; code == 0 && k > 1; k--) {
        uint8_t *needed = trl__alloc(lm->levels[k].count + 1, 1);
        if (!needed) {
            code = trl__fail_memory(err);
            break;
        }
        mark_needed(lm, k, needed);
        for (uint32_t h = 0; h < lm->levels[k - 1].count; h++)
            prune_history(lm, k, h, joint[k - 1][h], threshold, needed);
        trl__free(needed);
    }
    for (int k = 0; k <= TRL_LM_MOST_ORDER; k++)
        trl__free(joint[k]);
    return code;
}
