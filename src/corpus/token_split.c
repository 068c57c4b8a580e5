#include "corpus/token_split.h"
#include "base/unicode.h"
#include "corpus/token_marks.h"

#include <string.h>

#define CUTS (2 * (TRL__PARTS_MOST - 1))
#define FAR UINT32_MAX

typedef struct cut {
    size_t left_end, right_first;
} cut;

typedef struct cuts {
    cut at[CUTS + 1]; /* rising; the last one is the end */
    size_t count;
} cuts;

static int is_digit(int32_t letter)
{
    return strcmp(trl__category_of(letter), "Nd") == 0;
}

static void add_cut(cuts *c, size_t left_end, size_t right_first)
{
    if (c->count < CUTS)
        c->at[c->count++] = (cut){left_end, right_first};
}

/* The cuts at the marks [first, end): an apostrophe alone goes to the part behind or before; of several marks those
 * at either side that are apostrophes go to their words. */
static void cut_at(cuts *c, const int32_t *letters, size_t first, size_t end)
{
    size_t left = first, right = end;
    while (left < end && letters[left] == '\'')
        left++;
    while (right > first && letters[right - 1] == '\'')
        right--;
    if (left == end) { /* nothing but apostrophes */
        add_cut(c, first, first);
        add_cut(c, end, end);
        return;
    }
    if (right < end)
        add_cut(c, first, right);
    if (left > first)
        add_cut(c, left, end);
    add_cut(c, first, end);
}

/* 0: there are too many. */
static int find_cuts(cuts *c, const int32_t *letters, size_t count)
{
    c->count = 0;
    for (size_t i = 1; i < count;) {
        size_t end = i;
        while (end < count && trl__is_mark(letters[end]))
            end++;
        if (end == i || end == count) {
            i = end + 1;
            continue;
        }
        if (letters[i] == '\'' || !is_digit(letters[i - 1]) || !is_digit(letters[end]))
            cut_at(c, letters, i, end);
        i = end;
    }
    c->at[c->count] = (cut){count, count};
    return c->count < CUTS;
}

/* From the end to the beginning: best[k] is the least number of parts behind cut k, and next[k] the cut where the
 * first of them ends. */
size_t trl__split_token(const int32_t *letters, size_t count, trl__is_word_fn is_word, void *user,
                        trl__part parts[TRL__PARTS_MOST])
{
    cuts c;
    uint32_t best[CUTS + 1], all = FAR;
    size_t next[CUTS + 1], first = 0, made = 0;
    if (!find_cuts(&c, letters, count))
        return 0;
    best[c.count] = 0;
    for (size_t k = c.count + 1; k-- > 0;) { /* k: behind cut k - 1, that is from the beginning where it is 0 */
        size_t begin = k == 0 ? 0 : c.at[k - 1].right_first;
        uint32_t least = FAR;
        size_t chosen = 0;
        for (size_t to = c.count + 1; to-- > k;)
            if (c.at[to].left_end > begin && best[to] < FAR && best[to] + 1 < least && (k > 0 || to < c.count) &&
                is_word(user, letters + begin, c.at[to].left_end - begin)) {
                least = best[to] + 1;
                chosen = to;
            }
        if (k == 0) {
            all = least;
            first = chosen;
        } else {
            best[k - 1] = least;
            next[k - 1] = chosen;
        }
    }
    if (all == FAR || all > TRL__PARTS_MOST)
        return 0;
    for (size_t begin = 0, to = first;; begin = c.at[to].right_first, to = next[to]) {
        parts[made++] = (trl__part){begin, c.at[to].left_end};
        if (to == c.count)
            return made;
    }
}
