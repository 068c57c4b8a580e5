/* Edit distance in a band of diagonals (Ukkonen, "Algorithms for approximate string matching", 1985) with two bits per cell for the way
 * back.
 *
 * An alignment that leaves the diagonals from 0 to m - n by t + 1 on either side has |m - n| + 2 (t + 1) gaps at least. When the
 * best one inside is cheaper than that, all best ones are inside, so that equal costs are decided as they would be in the
 * whole table. The band begins narrow and is widened until this holds: O((n + m) d) time for a distance of d.
 */
#include "decode/word_align.h"
#include "base/fail.h"

#include <string.h>

#define FAR (INT32_MAX / 2)
#define FIRST_MARGIN 8
#define MOST_WORDS ((size_t)1 << 27) /* costs of all words together stay below FAR */
#define MOST_BYTES ((size_t)4 << 30) /* of the way back */
enum { PAIR = 1, DELETION = 2, INSERTION = 3 };

const trl__align_costs trl__sclite_costs = {4, 3, 1}, trl__edit_costs = {1, 1, 0};

typedef struct band {
    const int32_t *said, *heard;
    int64_t n, m;
    int64_t low, width; /* column j of row i is cell j - i - low, 0 … width - 1 */
    int64_t stride;     /* bytes of a row of the way back */
    int32_t *cost;      /* of the current row; one cell more at either end, always FAR */
    unsigned char *back;
} band;

/* The gaps that any alignment has, the lengths being what they are. */
static int64_t least_gaps(const band *b)
{
    return b->m > b->n ? b->m - b->n : b->n - b->m;
}

static int prepare(band *b, int64_t margin, trl__scratch *scratch, trl_error *err)
{
    b->low = (b->m < b->n ? b->m - b->n : 0) - margin;
    b->width = least_gaps(b) + 2 * margin + 1;
    b->stride = (b->width + 3) / 4;
    size_t costs = (size_t)(b->width + 2) * sizeof *b->cost, rows = (size_t)b->n + 1;
    if ((size_t)b->stride > (MOST_BYTES - costs) / rows)
        return trl__fail(err, TRL_ELIMIT, "%lld and %lld words that differ so much are too many to align; split them",
                         (long long)b->n, (long long)b->m);
    b->cost = trl__scratch_get(scratch, costs + (size_t)b->stride * rows, 1);
    if (!b->cost)
        return trl__fail_memory(err);
    b->back = (unsigned char *)b->cost + costs;
    for (int64_t d = 0; d < b->width + 2; d++)
        b->cost[d] = FAR;
    b->cost++;
    return 0;
}

/* One row from the one above: the pair's cell has the same number there, the deletion's the next one; the insertion's is the last of
 * this row. Cells left of column 0 are never written, and those right of column m never read again. */
static void fill_row(band *b, int64_t i, const trl__align_costs *costs)
{
    int64_t from = -i - b->low, to = b->m - i - b->low; /* columns 0 and m */
    int64_t first = from > 0 ? from : 0, last = to < b->width - 1 ? to : b->width - 1;
    unsigned char *back = b->back + i * b->stride;
    int32_t *cost = b->cost, word = i > 0 ? b->said[i - 1] : -1;
    memset(back, 0, (size_t)b->stride);
    for (int64_t d = first; d <= last; d++) {
        int64_t j = d + i + b->low;
        if (i == 0 && j == 0) {
            cost[d] = 0;
            continue;
        }
        int32_t pair = i > 0 && j > 0 ? cost[d] + (word == b->heard[j - 1] ? 0 : costs->substitution) : FAR;
        int32_t deletion = i > 0 ? cost[d + 1] + costs->gap : FAR, insertion = cost[d - 1] + costs->gap;
        int32_t gap = deletion < insertion ? deletion : insertion;
        int way = costs->keep_pairs ? pair <= gap : pair < gap;
        way = way ? PAIR : deletion < insertion ? DELETION : INSERTION;
        cost[d] = way == PAIR ? pair : gap;
        back[d >> 2] |= (unsigned char)(way << 2 * (d & 3));
    }
}

static size_t walk_back(const band *b, char *kinds)
{
    size_t count = 0;
    for (int64_t i = b->n, j = b->m; i > 0 || j > 0;) {
        int64_t d = j - i - b->low;
        int way = b->back[i * b->stride + (d >> 2)] >> 2 * (d & 3) & 3;
        kinds[count++] = way == DELETION ? 'D' : way == INSERTION ? 'I' : b->said[i - 1] == b->heard[j - 1] ? 'C' : 'S';
        i -= way != INSERTION;
        j -= way != DELETION;
    }
    for (size_t k = 0; k < count / 2; k++) {
        char swap = kinds[k];
        kinds[k] = kinds[count - 1 - k];
        kinds[count - 1 - k] = swap;
    }
    return count;
}

int trl__word_align(const int32_t *said, size_t n, const int32_t *heard, size_t m, const trl__align_costs *costs,
                    trl__scratch *scratch, char *kinds, size_t *count, trl_error *err)
{
    if (n > MOST_WORDS || m > MOST_WORDS)
        return trl__fail(err, TRL_ELIMIT, "an utterance of %zu words is too long to align; split it", n > m ? n : m);
    band b = {.said = said, .heard = heard, .n = (int64_t)n, .m = (int64_t)m};
    for (int64_t margin = FIRST_MARGIN;;) {
        int code = prepare(&b, margin, scratch, err);
        if (code < 0)
            return code;
        for (int64_t i = 0; i <= b.n; i++)
            fill_row(&b, i, costs);
        int64_t total = b.cost[b.m - b.n - b.low], gaps = least_gaps(&b);
        if (total < costs->gap * (gaps + 2 * (margin + 1)))
            break;
        int64_t enough = (total / costs->gap - gaps) / 2; /* the best one is not dearer than what was found */
        margin = 8 * margin < enough ? 4 * margin : enough;
    }
    *count = walk_back(&b, kinds);
    return 0;
}
