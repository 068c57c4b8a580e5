#include "feat/no_signal.h"
#include "feat/cmvn.h"

#include <math.h>

/* Noise of one unit of 16 bits is Gaussian of deviation 1, which is 1.04 when rounded; or equally often -1, 0 and 1:
 * 0.82. No room recorded is so quiet: of AN4's and speechocean762's training sound, no frame but their own digital
 * silence varies by less than 2. */
#define NOTHING 1.25

/* A window that reaches into zeros by less than half is sound, a bit quieter; one that lies in them by more is not. */
#define PARTS 5
#define PARTS_HELD 3

/* Does the deviation of the samples exceed `limit`? Two samples that are d apart make a variance of d² / 2n at least,
 * which is why most sound is known by its first samples. */
static int exceeds(const float *samples, size_t count, double limit)
{
    double n = (double)count, sum = 0, square = 0, most = limit * limit;
    for (size_t i = 0; i < count; i++) {
        double d = (double)samples[i] - (double)samples[0];
        sum += d;
        square += d * d;
        if (d * d > 2 * n * most)
            return 1;
    }
    return square / n - sum / n * (sum / n) > most;
}

int trl__holds_signal(const trl_frontend_options *o, const float *samples, size_t count)
{
    /* Samples that are emphasised already: so much larger is white noise by that. */
    double limit = o->preemphasis_across ? NOTHING * sqrt(1 + o->preemphasis * o->preemphasis) : NOTHING;
    int held = 0;
    for (size_t p = 0; p < PARTS && held < PARTS_HELD; p++) {
        size_t from = p * count / PARTS, to = (p + 1) * count / PARTS;
        held += to > from && exceeds(samples + from, to - from, limit);
    }
    return held >= PARTS_HELD;
}

/* What grows with the frame's energy. */
static double loudness(const trl_frontend_options *o, const float *row, size_t dim)
{
    double sum = 0;
    if (o->kind != TRL_FBANK || o->energy != TRL_ENERGY_NONE)
        return (double)row[o->layout == TRL_LAYOUT_HTK ? dim - 1 : 0];
    for (size_t i = 0; i < dim; i++)
        sum += (double)row[i];
    return sum;
}

static size_t longest_stretch(const trl_matrix *statics)
{
    size_t longest = 0, length = 0;
    for (size_t t = 0; t < statics->rows; t++) {
        length = trl__row_holds(trl_matrix_row(statics, t)) ? length + 1 : 0;
        longest = length > longest ? length : longest;
    }
    return longest;
}

size_t trl__quiet_rows(const trl_frontend_options *o, const trl_matrix *statics, size_t *first)
{
    size_t longest = longest_stretch(statics), count = longest < TRL__QUIET_ROWS ? longest : TRL__QUIET_ROWS,
           length = 0;
    double sum = 0, least = INFINITY;
    for (size_t t = 0; count > 0 && t < statics->rows; t++) {
        const float *row = trl_matrix_row(statics, t);
        length = trl__row_holds(row) ? length + 1 : 0;
        sum = length > 0 ? sum + loudness(o, row, statics->cols) : 0;
        if (length > count)
            sum -= loudness(o, trl_matrix_row(statics, t - count), statics->cols);
        if (length >= count && sum < least) {
            least = sum;
            *first = t + 1 - count;
        }
    }
    return count;
}

size_t trl__to_and_fro(size_t count, int64_t t)
{
    size_t turn = count > 1 ? 2 * (count - 1) : 1, at = (size_t)t % turn;
    return at < count ? at : turn - at;
}
