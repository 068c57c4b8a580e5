/* Which tokens of a frame go on: those within the score beam, made narrower where it holds too many and wider where it holds too few. O(tokens). */
#include "base/fail.h"
#include "decode/decoder_data.h"

#define BINS 256        /* of the histogram of costs */
#define BEAM_SLACK 0.5f /* above what a limited number of tokens needed: the next frame may want more */

static void swap_floats(float *a, float *b)
{
    float kept = *a;
    *a = *b;
    *b = kept;
}

/* The value that has `rank` others before it: quickselect with the median of three, O(count) as a rule. */
static float select_rank(float *x, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2, i = low, k = high;
        if (x[middle] < x[low])
            swap_floats(&x[middle], &x[low]);
        if (x[high] < x[low])
            swap_floats(&x[high], &x[low]);
        if (x[high] < x[middle])
            swap_floats(&x[high], &x[middle]);
        float pivot = x[middle];
        for (;; i++, k--) {
            while (x[i] < pivot)
                i++;
            while (pivot < x[k])
                k--;
            if (i >= k)
                break;
            swap_floats(&x[i], &x[k]);
        }
        if (rank <= k)
            high = k;
        else
            low = k + 1;
    }
    return x[rank];
}

static uint32_t bin_of(float cost, float best, float scale)
{
    uint32_t bin = (uint32_t)((cost - best) * scale);
    return bin < BINS ? bin : BINS - 1;
}

/* The cost that has `rank` others before it: a histogram finds its bin, and it is selected among the few there. */
static int rank_cost(trl__decoder *d, const trl__token *tokens, uint32_t count, float best, uint32_t rank, float *cost,
                     trl_error *err)
{
    uint32_t bins[BINS] = {0}, bin = 0, found = 0;
    float *costs = trl__scratch_get(&d->costs, count, sizeof *costs), worst = best;
    if (!costs)
        return trl__fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        worst = tokens[i].cost > worst ? tokens[i].cost : worst;
    float scale = worst > best ? BINS / (worst - best) : 0;
    for (uint32_t i = 0; i < count; i++)
        bins[bin_of(tokens[i].cost, best, scale)]++;
    while (rank >= bins[bin])
        rank -= bins[bin++];
    for (uint32_t i = 0; i < count; i++)
        if (bin_of(tokens[i].cost, best, scale) == bin)
            costs[found++] = tokens[i].cost;
    *cost = select_rank(costs, found, rank);
    return 0;
}

int trl__decoder_cutoff(trl__decoder *d, const trl__frame *frame, trl__cutoff *c, trl_error *err)
{
    const trl__token *tokens = d->tokens + frame->first_token;
    const trl__decode_options *o = &d->options;
    uint32_t within = 0;
    int32_t rank = -1;
    *c = (trl__cutoff){.best = FLT_MAX, .limit = FLT_MAX, .beam = (float)o->beam};
    for (uint32_t i = 0; i < frame->tokens; i++)
        c->best = trl__smaller(c->best, tokens[i].cost);
    while (c->best_token < frame->tokens && tokens[c->best_token].cost != c->best)
        c->best_token++;
    float edge = c->best + c->beam;
    for (uint32_t i = 0; i < frame->tokens; i++)
        within += tokens[i].cost <= edge;
    if (within > (uint32_t)o->most_active)
        rank = o->most_active - 1;
    else if (within < (uint32_t)o->least_active && frame->tokens > (uint32_t)o->least_active)
        rank = o->least_active - 1;
    else if (within < (uint32_t)o->least_active)
        c->beam = INFINITY;
    else
        c->limit = trl__smaller(edge, FLT_MAX);
    if (rank < 0)
        return 0;
    int code = rank_cost(d, tokens, frame->tokens, c->best, (uint32_t)rank, &c->limit, err);
    c->beam = c->limit - c->best + BEAM_SLACK;
    return code;
}
