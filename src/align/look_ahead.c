/* What may follow each phone of an utterance: sets of sequences of units, as many as the tree looks ahead. They are
 * found from the end to the start: what may follow a phone is what may begin behind it, and what may begin with it is
 * its unit and then one of those, cut to length. Sets are sorted, so putting a unit in front and joining two sets
 * take linear time.
 *
 * Cost: O(phones x sequences in a set): one inside words, about one per pronunciation of the next word and silence at
 * their ends. */
#include "align/graph_contexts.h"
#include "base/fail.h"
#include "base/memory.h"

#define MOST_UNITS ((size_t)1 << 24) /* of all sequences: 64 MiB */

int trl__contexts_reserve(trl__contexts *c, size_t more)
{
    size_t needed = (c->sequence_count + more) * (size_t)c->behind + 1; /* none of no units is without address */
    if (needed > MOST_UNITS)
        return TRL_ELIMIT;
    return TRL_GROW(c->sequences, c->sequence_capacity, needed) < 0 ? TRL_ENOMEM : 0;
}

/* The unit, and behind it each sequence of the set without its last unit. */
static int put_in_front(trl__contexts *c, int32_t unit, trl__sequence_set set, trl__sequence_set *out)
{
    int code = trl__contexts_reserve(c, set.count);
    if (code < 0)
        return code;
    *out = (trl__sequence_set){c->sequence_count, 0};
    for (size_t i = 0; i < set.count; i++) {
        const int32_t *from = trl__sequence(c, set.first + i);
        int32_t *to = trl__sequence(c, out->first + out->count);
        for (int32_t k = 0; k < c->behind; k++)
            to[k] = k == 0 ? unit : from[k - 1];
        if (out->count == 0 || trl__sequence_compare(to - c->behind, to, c->behind) != 0)
            out->count++;
    }
    c->sequence_count += out->count;
    return 0;
}

static int join(trl__contexts *c, trl__sequence_set a, trl__sequence_set b, trl__sequence_set *out)
{
    int code = trl__contexts_reserve(c, a.count + b.count);
    if (code < 0)
        return code;
    *out = (trl__sequence_set){c->sequence_count, 0};
    for (size_t i = 0, j = 0; i < a.count || j < b.count; out->count++) {
        int order = i == a.count   ? 1
                    : j == b.count ? -1
                                   : trl__sequence_compare(trl__sequence(c, a.first + i), trl__sequence(c, b.first + j),
                                                           c->behind);
        const int32_t *from = trl__sequence(c, order <= 0 ? a.first + i : b.first + j);
        int32_t *to = trl__sequence(c, out->first + out->count);
        for (int32_t k = 0; k < c->behind; k++)
            to[k] = from[k];
        i += order <= 0;
        j += order >= 0;
    }
    c->sequence_count += out->count;
    return 0;
}

/* Notes that `set` follows this unit, and makes of it what may begin here. */
static int step_back(trl__contexts *c, const trl__unit_map *map, int32_t unit, trl__sequence_set *set)
{
    if (TRL_GROW(c->following, c->following_capacity, c->following_count + 1) < 0)
        return TRL_ENOMEM;
    c->following[c->following_count++] = *set;
    trl__sequence_set with;
    int code = put_in_front(c, unit, *set, &with);
    if (code == 0 && trl__shape_of(map, unit)->skip > -INFINITY)
        return join(c, with, *set, set);
    *set = with;
    return code;
}

static int step_over_silence(trl__contexts *c, const trl__unit_map *map, float probability, trl__sequence_set *set)
{
    trl__sequence_set with = *set;
    if (map->silence < 0 || probability <= 0)
        return 0;
    int code = step_back(c, map, map->silence, &with);
    if (code == 0 && probability < 1)
        return join(c, with, *set, set);
    *set = with;
    return code;
}

static int step_over_word(trl__contexts *c, const trl__unit_map *map, const trl_lexicon *lexicon, int32_t word,
                          trl__sequence_set *set)
{
    if (word == TRL__WORD_NOISE)
        return step_back(c, map, map->noise, set);
    trl__sequence_set all = {0};
    int code = 0;
    for (size_t v = trl_lexicon_pronunciations(lexicon, (size_t)word); code == 0 && v-- > 0;) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, (size_t)word, v);
        trl__sequence_set one = *set;
        for (size_t i = p.length; code == 0 && i-- > 0;)
            code = step_back(c, map, trl__unit_of(map, p, i), &one);
        if (code == 0 && p.probability > 0)
            code = join(c, all, one, &all);
    }
    *set = all;
    return code;
}

static int look_ahead(trl__contexts *c, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                      size_t count, float silence)
{
    trl__sequence_set set = {0, 1};
    int code = trl__contexts_reserve(c, 1);
    if (code < 0)
        return code;
    c->sequence_count = 1;
    for (int32_t k = 0; k < c->behind; k++)
        c->sequences[k] = TRL__NOTHING;
    code = step_over_silence(c, map, silence, &set);
    for (size_t i = count; code == 0 && i-- > 0;) {
        code = step_over_word(c, map, lexicon, words[i], &set);
        if (code == 0)
            code = step_over_silence(c, map, silence, &set);
    }
    return code;
}

int trl__contexts_begin(trl__graph *graph, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                        size_t count, float silence)
{
    trl__contexts *c = graph->contexts;
    if (!c)
        c = graph->contexts = trl__alloc_zero(1, sizeof *c);
    if (!c)
        return TRL_ENOMEM;
    c->tree = map->model->tree;
    c->before = c->tree->centre;
    c->behind = c->tree->width - 1 - c->tree->centre;
    c->sequence_count = c->following_count = 0;
    if (TRL_GROW(c->history, c->history_capacity, (size_t)c->before + 1) < 0 ||
        TRL_GROW(c->promise, c->promise_capacity, 1) < 0)
        return TRL_ENOMEM;
    for (int32_t k = 0; k < c->before; k++)
        c->history[k] = TRL__NOTHING;
    return look_ahead(c, map, lexicon, words, count, silence);
}

void trl__contexts_free(trl__contexts *c)
{
    if (!c)
        return;
    void *blocks[] = {c->sequences, c->following, c->history, c->promise, c->left,  c->keeps,
                      c->tied,      c->group,     c->copy,    c->triples, c->lefts, c->chosen.items};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        trl__free(blocks[i]);
    trl__free(c);
}
