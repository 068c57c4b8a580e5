/* Probabilities of pronunciations from how often each was used: relative frequencies, smoothed by a few uses that are shared out as the
 * old probabilities say (the mean of a Dirichlet posterior). */
#include "base/fail.h"
#include "corpus/lexicon_data.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- A copy ---- */

static int copy_strings(trl__strings *to, const trl__strings *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (trl__strings_add(to, from->texts[i], strlen(from->texts[i])) < 0)
            return -1;
    return 0;
}

static int copy_pronunciations(trl_lexicon *to, const trl_lexicon *from)
{
    size_t ends = from->words.count + 2;
    to->pronunciations = trl__alloc(from->count, sizeof *to->pronunciations);
    to->first = trl__alloc(ends, sizeof *to->first);
    if (!to->pronunciations || !to->first)
        return -1;
    memcpy(to->first, from->first, ends * sizeof *to->first);
    to->capacity = from->count;
    for (; to->count < from->count; to->count++) {
        const trl__pronunciation *old = &from->pronunciations[to->count];
        size_t size = (old->length + 1) * sizeof *old->piece;
        int32_t *piece = trl__arena_alloc(&to->arena, size);
        if (!piece)
            return -1;
        memcpy(piece, old->piece, size);
        to->pronunciations[to->count] = (trl__pronunciation){piece, old->length, old->probability};
    }
    return 0;
}

static int copy_lexicon(const trl_lexicon *from, trl_lexicon **out, trl_error *err)
{
    trl_lexicon *to = *out = trl__alloc_zero(1, sizeof *to);
    if (!to)
        return trl__fail_memory(err);
    if (copy_strings(&to->words, &from->words) < 0 || copy_strings(&to->phones, &from->phones) < 0 ||
        copy_pronunciations(to, from) < 0)
        return trl__fail_memory(err);
    return from->folded.count > 0 ? trl_lexicon_fold_case(to, err) : 0;
}

/* ---- Its probabilities ---- */

static int check(const trl_lexicon *lexicon, const double *count, double smoothing, trl_error *err)
{
    if (!(smoothing > 0 && isfinite(smoothing)))
        return trl__fail(err, TRL_EINVAL,
                         "smoothing of pronunciations by %g uses: it must be above 0, or those that were not used "
                         "would be lost",
                         smoothing);
    for (size_t i = 0; i < lexicon->count; i++)
        if (!(count[i] >= 0 && isfinite(count[i])))
            return trl__fail(err, TRL_EINVAL, "a pronunciation of %s can't have been used %g times",
                             lexicon->words.texts[lexicon->pronunciations[i].piece[0]], count[i]);
    return 0;
}

static void estimate_word(trl__pronunciation *variants, const double *count, size_t variant_count, double smoothing)
{
    double before = 0, uses = 0;
    for (size_t v = 0; v < variant_count; v++) {
        before += (double)variants[v].probability;
        uses += count[v];
    }
    for (size_t v = 0; v < variant_count; v++) {
        double share = (double)variants[v].probability / before;
        variants[v].probability = (float)fmax((count[v] + smoothing * share) / (uses + smoothing), (double)FLT_MIN);
    }
}

int trl_lexicon_with_counts(const trl_lexicon *lexicon, const double *count, double smoothing, trl_lexicon **out,
                            trl_error *err)
{
    *out = NULL;
    int code = check(lexicon, count, smoothing, err);
    if (code < 0)
        return code;
    trl_lexicon *copy;
    code = copy_lexicon(lexicon, &copy, err);
    if (code < 0) {
        trl_lexicon_destroy(copy);
        return code;
    }
    for (size_t w = 0; w < copy->words.count; w++)
        estimate_word(copy->pronunciations + copy->first[w], count + copy->first[w],
                      copy->first[w + 1] - copy->first[w], smoothing);
    *out = copy;
    return 0;
}
