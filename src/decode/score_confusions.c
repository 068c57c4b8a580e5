/* What was taken for what: equal pairs are counted by sorting them. */
#include "base/fail.h"
#include "decode/score_data.h"

#include <stdlib.h>
#include <string.h>

/* Missing words come first. */
static int by_text(const char *a, const char *b)
{
    return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int by_words(const void *a, const void *b)
{
    const trl_confusion *x = a, *y = b;
    int order = by_text(x->said, y->said);
    return order ? order : by_text(x->heard, y->heard);
}

static int by_count(const void *a, const void *b)
{
    const trl_confusion *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_words(a, b);
}

int trl_score_confusions(const trl_score *s, trl_confusion **list, size_t *count, trl_error *err)
{
    size_t most = (size_t)trl_errors(s->total), all = 0, kept = 0;
    trl_confusion *found = trl__alloc(most + 1, sizeof *found);
    if (!found)
        return trl__fail_memory(err);
    for (size_t u = 0; u < s->count; u++)
        for (size_t i = 0; i < s->utterances[u].pair_count; i++) {
            const trl_word_pair *p = &s->utterances[u].pairs[i];
            if (p->kind != 'C')
                found[all++] = (trl_confusion){p->said, p->heard, 1};
        }
    qsort(found, all, sizeof *found, by_words);
    for (size_t i = 0; i < all; i++) {
        if (kept > 0 && by_words(&found[kept - 1], &found[i]) == 0)
            found[kept - 1].count++;
        else
            found[kept++] = found[i];
    }
    qsort(found, kept, sizeof *found, by_count);
    *list = found;
    *count = kept;
    return 0;
}
