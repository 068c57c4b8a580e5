/* Tied mixtures, LANES Gaussians or tied states at once. Included by one file per instruction set, which defines what lane_math.h wants, and KERNEL. No step crosses
 * lanes, and a frame's numbers do not depend on those that are computed beside it. */
#include "backend/cpu/lane_math.h"
#include "backend/cpu/shared_scores.h"

#define SUMS \
    2 /* registers per frame: SUMS * LANES divides TRL__SHARED_PAD. With four frames, 8 sums hide the latency of the additions */

/* SUMS * LANES densities from j on of some frames: a mean and a variance are read once for all of them. */
INLINE void some_densities(const trl__shared_gaussians *g, size_t j, const float *const *frame, const size_t frames,
                           float *const *out)
{
    lanes sum[TRL__SHARED_FRAMES][SUMS];
    for (size_t f = 0; f < frames; f++)
        for (size_t i = 0; i < SUMS; i++)
            sum[f][i] = load(g->constant + j + i * LANES);
    for (size_t k = 0; k < g->dims; k++)
        for (size_t i = 0; i < SUMS; i++) {
            lanes mean = load(g->mean + k * g->count + j + i * LANES);
            lanes half = load(g->half + k * g->count + j + i * LANES);
            for (size_t f = 0; f < frames; f++) {
                lanes difference = frame[f][k] - mean;
                sum[f][i] -= difference * difference * half;
            }
        }
    for (size_t f = 0; f < frames; f++)
        for (size_t i = 0; i < SUMS; i++)
            store(out[f] + j + i * LANES, sum[f][i]);
}

static void densities(const trl__shared_gaussians *g, const float *const *frame, size_t frames, float *const *out)
{
    for (size_t j = 0; j < g->count; j += (size_t)SUMS * LANES)
        if (frames == TRL__SHARED_FRAMES)
            some_densities(g, j, frame, TRL__SHARED_FRAMES, out);
        else
            for (size_t f = 0; f < frames; f++)
                some_densities(g, j, frame + f, 1, out + f);
}

static int any_above(const float *density, float least)
{
    lane_ints found = {0};
    uint64_t words[sizeof found / sizeof(uint64_t)], any = 0;
    for (size_t i = 0; i < TRL__SHARED_PAD; i += LANES)
        found |= load(density + i) >= least;
    memcpy(words, &found, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        any |= words[i];
    return any != 0;
}

/* ln of the sum, or the largest, of what the densities give to LANES tied states. */
INLINE lanes stream_score(const trl__shared_stream *s, size_t first, const int is_max)
{
    lanes sum = {0};
    for (size_t j = 0; j < s->count; j++) {
        lanes part = load(s->weight + (size_t)s->which[j] * s->states + first) * s->value[j];
        sum = is_max ? larger(sum, part) : sum + part;
    }
    return logarithm(larger(sum, splat(TRL__SHARED_LEAST))) * LN_2 + s->base;
}

/* Streams are one behind the other. */
static void scores(const trl__shared_stream *stream, size_t streams, int is_max, float *out)
{
    for (size_t first = 0; first < stream->states; first += LANES) {
        lanes sum = {0};
        for (size_t s = 0; s < streams; s++)
            sum += is_max ? stream_score(&stream[s], first, 1) : stream_score(&stream[s], first, 0);
        store(out + first, larger(sum, splat(TRL__NEVER)));
    }
}

const trl__shared_kernel KERNEL = {densities, any_above, scores};
