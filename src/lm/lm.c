/* Training a language model: texts are counted, and the counts smoothed and pruned. */
#include "base/fail.h"
#include "base/memory.h"
#include "lm/lm_data.h"

#include <math.h>

static int check_options(const trl_lm_options *o, trl_error *err)
{
    if (o->order < 0 || o->order > TRL_LM_MOST_ORDER)
        return trl__fail(err, TRL_EINVAL, "the order of a language model is 1 to %d, not %d", TRL_LM_MOST_ORDER,
                         o->order);
    if (o->smoothing != TRL_LM_KNESER_NEY && o->smoothing != TRL_LM_WITTEN_BELL)
        return trl__fail(err, TRL_EINVAL, "there is no smoothing number %d", (int)o->smoothing);
    if (!(o->prune >= 0) || isinf(o->prune))
        return trl__fail(err, TRL_EINVAL, "the threshold of pruning is 0 or more, not %g", o->prune);
    for (int k = 3; k <= TRL_LM_MOST_ORDER; k++)
        if (o->cutoff[k] < o->cutoff[k - 1])
            return trl__fail(err, TRL_EINVAL, "the cut-off of %d-grams, %u, is below that of %d-grams, %u", k,
                             o->cutoff[k], k - 1, o->cutoff[k - 1]);
    return 0;
}

int trl__lm_make(trl__lm_counts *counts, const trl_lm_options *options, trl_lm **out, trl_error *err)
{
    trl_lm *lm = trl__alloc_zero(1, sizeof *lm);
    int code = lm ? 0 : trl__fail_memory(err);
    if (code == 0)
        code = trl__lm_levels(counts, lm, err);
    if (code == 0)
        trl__lm_smooth(lm, options);
    if (code == 0 && options->prune > 0)
        code = trl__lm_prune(lm, options->prune, err);
    *out = code < 0 ? NULL : lm;
    if (code < 0)
        trl_lm_destroy(lm);
    return code;
}

int trl_lm_train(const char *const *texts, size_t count, const trl_lm_options *options, trl_lm **out, trl_error *err)
{
    static const trl_lm_options defaults;
    trl__lm_counts counts;
    *out = NULL;
    options = options ? options : &defaults;
    int code = check_options(options, err);
    if (code < 0)
        return code;
    code = trl__lm_counts_begin(&counts, options, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        trl__lm_input input;
        code = trl__lm_input_open(texts[i], options->form, &input, err);
        if (code < 0)
            break;
        code = trl__lm_counts_add(&counts, &input, err);
        trl__source_close(&input.source);
    }
    if (code == 0 && counts.text.words == 0)
        code = trl__fail(err, TRL_EFORMAT, "%s%s: there are no words to train a language model from",
                         count > 0 ? texts[0] : "no texts", count > 1 ? " and the other texts" : "");
    if (code == 0)
        code = trl__lm_make(&counts, options, out, err);
    trl__lm_counts_free(&counts);
    return code;
}

void trl_lm_destroy(trl_lm *lm)
{
    if (!lm)
        return;
    for (int k = 0; k <= TRL_LM_MOST_ORDER; k++) {
        trl__lm_level *level = &lm->levels[k];
        trl__free(level->first);
        trl__free(level->word);
        trl__free(level->suffix);
        trl__free(level->seen);
        trl__free(level->events);
        trl__free(level->probability);
        trl__free(level->backoff);
        trl__free(level->dropped);
    }
    trl__free(lm->words);
    trl__strings_free(&lm->texts);
    trl__free(lm);
}

int trl_lm_order(const trl_lm *lm)
{
    return lm->order;
}

uint64_t trl_lm_ngrams(const trl_lm *lm, int order)
{
    uint64_t count = 0;
    if (order < 1 || order > lm->order)
        return 0;
    for (size_t i = 0; i < lm->levels[order].count; i++)
        count += !lm->levels[order].dropped[i];
    return count;
}

trl_lm_text trl_lm_trained_on(const trl_lm *lm)
{
    return lm->text;
}
