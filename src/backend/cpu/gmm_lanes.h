/* Scores of Gaussian mixtures, one frame per SIMD lane.
 *
 * Included by one file per instruction set, which defines what lane_math.h wants, KERNEL, KERNEL_NAME and, if it likes, WHOLE_TILE: score_groups of three
 * registers by dot products, in its own way.
 *
 * A tile is 3 registers of frames (2 or 1 at the end of a row) times 4 components: 12 sums, that start with h, 3
 * registers of frames and one with a parameter in every lane: 16 in all. A step of the loop takes 3 + 4 loads for 12
 * fused multiply-adds, enough to hide their latency. No step mixes lanes, so the sum over components needs no
 * horizontal operation, and a frame's score depends neither on its neighbours nor on its lane.
 *
 * Cost per frame and component: 2 * dim multiply-adds, and about 12 operations for the sum of powers of two: 1 + 6 /
 * dim times the least possible.
 */
#include "backend/cpu/gmm_kernel.h"
#include "backend/cpu/lane_math.h"

#define VECTORS 3
#define UNROLLED 6 /* steps: a short trip count is predicted to the end, a long one is not */
#define AHEAD 6    /* groups from a fetch to its use: memory has answered by then, and the first cache still has it */

/* One row of frames times one parameter of each component of `groups` groups, which lie `size` floats apart. */
INLINE void multiply_step(const float *p, size_t size, const float *o, const int vectors, const int groups,
                          lanes sum[][VECTORS])
{
    lanes x[VECTORS];
    for (int v = 0; v < vectors; v++)
        x[v] = load(o + v * LANES);
    for (int c = 0; c < groups * TRL__GROUP; c++) {
        lanes parameter = splat(p[(size_t)(c / TRL__GROUP) * size + (size_t)(c % TRL__GROUP)]);
        for (int v = 0; v < vectors; v++)
            sum[c][v] = fused(parameter, x[v], sum[c][v]);
    }
}

/* Fetches at `later` what it reads at p, evenly: bursts would fill the queue that p itself has to pass. */
INLINE void dot_products(const float *p, const float *later, size_t size, const float *o, int32_t rows,
                         const int vectors, const int groups, lanes sum[][VECTORS])
{
    const int step = TRL__GROUP, stride = TRL__STRIDE;
    for (; rows >= UNROLLED; rows -= UNROLLED, p += UNROLLED * step, later += UNROLLED * step, o += UNROLLED * stride) {
        for (int g = 0; g < groups; g++) {
            __builtin_prefetch(later + (size_t)g * size);
            __builtin_prefetch(later + (size_t)g * size + 16);
        }
        multiply_step(p, size, o, vectors, groups, sum);
        multiply_step(p + step, size, o + stride, vectors, groups, sum);
        multiply_step(p + 2 * step, size, o + 2 * stride, vectors, groups, sum);
        multiply_step(p + 3 * step, size, o + 3 * stride, vectors, groups, sum);
        multiply_step(p + 4 * step, size, o + 4 * stride, vectors, groups, sum);
        multiply_step(p + 5 * step, size, o + 5 * stride, vectors, groups, sum);
    }
    for (; rows > 0; rows--, p += step, o += stride)
        multiply_step(p, size, o, vectors, groups, sum);
}

INLINE void squared_differences(const float *p, size_t size, const float *o, int32_t dim, const int vectors,
                                const int groups, lanes sum[][VECTORS])
{
    for (int32_t k = 0; k < dim; k++, p += 2 * TRL__GROUP, o += TRL__STRIDE)
        for (int c = 0; c < groups * TRL__GROUP; c++) {
            const float *mean = p + (size_t)(c / TRL__GROUP) * size + (size_t)(c % TRL__GROUP);
            for (int v = 0; v < vectors; v++) {
                lanes difference = load(o + v * LANES) - splat(mean[0]);
                sum[c][v] = fused(difference * difference, splat(mean[TRL__GROUP]), sum[c][v]);
            }
        }
}

/* Where a tile's work lies. */
typedef struct tile {
    const float *p;    /* parameters of the tied state */
    const float *next; /* those of the tied state that comes after, to be fetched meanwhile; p: nothing to fetch */
    const float *o;    /* its first frame in a block */
    size_t size;       /* floats of a group */
    int32_t dim, groups;
    int differences;
    float *scores; /* by component, TRL__TILE floats each; base 2 */
} tile;

/* What is fetched while group g is computed: a later group, at the end those with which the next tied state begins. */
INLINE const float *fetched_at(const tile *w, int32_t g)
{
    int32_t later = w->groups > AHEAD ? g + AHEAD : g + w->groups;
    return later < w->groups ? w->p + (size_t)later * w->size : w->next + (size_t)(later - w->groups) * w->size;
}

/* Scores of one or two groups of components. */
INLINE void score_groups(const tile *w, int32_t g, const int vectors, const int groups)
{
    const float *p = w->p + (size_t)g * w->size;
    float *scores = w->scores + (size_t)g * TRL__GROUP * TRL__TILE;
#ifdef WHOLE_TILE
    if (vectors == 3 && !w->differences) {
        WHOLE_TILE(p, fetched_at(w, g), w->o, 2 * w->dim, scores);
        return;
    }
#endif
    lanes sum[2 * TRL__GROUP][VECTORS];
    for (int c = 0; c < groups * TRL__GROUP; c++)
        for (int v = 0; v < vectors; v++)
            sum[c][v] = splat(p[(size_t)(c / TRL__GROUP) * w->size + (size_t)(c % TRL__GROUP)]);
    if (w->differences)
        squared_differences(p + TRL__GROUP, w->size, w->o + 2 * w->dim * TRL__STRIDE, w->dim, vectors, groups, sum);
    else
        dot_products(p + TRL__GROUP, fetched_at(w, g), w->size, w->o, 2 * w->dim, vectors, groups, sum);
    for (int c = 0; c < groups * TRL__GROUP; c++)
        for (int v = 0; v < vectors; v++)
            store(scores + c * TRL__TILE + v * LANES, sum[c][v]);
}

/* One register of frames takes two groups at once: four sums would wait for each other. Functions of their own, so that
 * nothing else is in the registers. */
static __attribute__((noinline)) void score_components_1(const tile *w)
{
    int32_t g = 0;
    for (; g + 2 <= w->groups; g += 2)
        score_groups(w, g, 1, 2);
    if (g < w->groups)
        score_groups(w, g, 1, 1);
}

static __attribute__((noinline)) void score_components_2(const tile *w)
{
    for (int32_t g = 0; g < w->groups; g++)
        score_groups(w, g, 2, 1);
}

static __attribute__((noinline)) void score_components_3(const tile *w)
{
    for (int32_t g = 0; g < w->groups; g++)
        score_groups(w, g, 3, 1);
}

/* Scores of all components of a tile, and the largest of each frame. */
INLINE void score_components(const tile *w, const int vectors, lanes *largest)
{
    if (vectors == 1)
        score_components_1(w);
    else if (vectors == 2)
        score_components_2(w);
    else
        score_components_3(w);
    for (int v = 0; v < vectors; v++)
        largest[v] = load(w->scores + v * LANES);
    for (int32_t c = 1; c < w->groups * TRL__GROUP; c++)
        for (int v = 0; v < vectors; v++)
            largest[v] = larger(largest[v], load(w->scores + (size_t)c * TRL__TILE + v * LANES));
}

/* What a tile comes to, frame by frame. */
typedef struct tile_result {
    float score[VECTORS * LANES], best[VECTORS * LANES];
    int32_t component[VECTORS * LANES];
} tile_result;

/* The sum over components, from the last to the first, and on the way which one is the largest: the first of equals. */
INLINE void add_components(const tile *w, const int vectors, const int with_best, const lanes *largest,
                           tile_result *out)
{
    lanes sum[VECTORS];
    lane_ints which[VECTORS];
    for (int v = 0; v < vectors; v++) {
        sum[v] = splat(0);
        which[v] = (lane_ints){0};
    }
    for (int32_t c = w->groups * TRL__GROUP - 1; c >= 0; c--)
        for (int v = 0; v < vectors; v++) {
            lanes below = load(w->scores + (size_t)c * TRL__TILE + v * LANES) - largest[v];
            if (with_best)
                which[v] = choose((lane_ints)(below == splat(0)), c - (lane_ints){0}, which[v]);
            sum[v] += power_of_two(below);
        }
    for (int v = 0; v < vectors; v++) {
        store(out->score + v * LANES, (largest[v] + logarithm(sum[v])) * LN_2);
        memcpy(out->component + v * LANES, &which[v], sizeof which[v]);
    }
}

INLINE void find_largest(const tile *w, const int vectors, const lanes *largest, int32_t *component)
{
    for (int v = 0; v < vectors; v++) {
        lane_ints which = {0};
        for (int32_t c = w->groups * TRL__GROUP - 1; c >= 0; c--)
            which = choose((lane_ints)(load(w->scores + (size_t)c * TRL__TILE + v * LANES) == largest[v]),
                           c - (lane_ints){0}, which);
        memcpy(component + v * LANES, &which, sizeof which);
    }
}

INLINE void score_tile(const tile *w, const int vectors, trl__combine combine, int with_best, tile_result *out)
{
    lanes largest[VECTORS];
    score_components(w, vectors, largest);
    for (int v = 0; v < vectors; v++) {
        store(out->best + v * LANES, largest[v] * LN_2);
        store(out->score + v * LANES, largest[v] * LN_2);
    }
    if (combine == TRL__LOG_ADD && with_best)
        add_components(w, vectors, 1, largest, out);
    else if (combine == TRL__LOG_ADD)
        add_components(w, vectors, 0, largest, out);
    else if (with_best)
        find_largest(w, vectors, largest, out->component);
}

static tile tile_of(const trl__gmm_work *work)
{
    const trl__mixtures *m = work->m;
    return (tile){.p = m->packed + m->at[work->tied],
                  .next = m->packed + m->at[work->next],
                  .size = trl__group_size(m),
                  .dim = m->dim,
                  .groups = (trl__components(m, work->tied) + TRL__GROUP - 1) / TRL__GROUP,
                  .differences = m->differences[work->tied],
                  .scores = work->scratch};
}

/* Tiles begin at frames whose place is a multiple of LANES where that costs no register more, or one among many: loads
 * that cross a cache line make a tile about 1/14 slower. */
static void score(const trl__gmm_work *work, trl__combine combine, float *out, const trl__gmm_best *best)
{
    tile_result result;
    tile w = tile_of(work);
    int32_t first = work->first, end = work->end, before = (first - work->placed->piece) % LANES;
    int32_t vectors = (end - first + LANES - 1) / LANES;
    if ((before + end - first + LANES - 1) / LANES > vectors && vectors < 14)
        before = 0;
    for (int32_t t = first - before, behind; t < end; t = behind) {
        vectors = (end - t + LANES - 1) / LANES;
        w.o = trl__placed_lanes(work->m, work->placed, t);
        if (vectors >= 3)
            score_tile(&w, 3, combine, best != NULL, &result);
        else if (vectors == 2)
            score_tile(&w, 2, combine, best != NULL, &result);
        else
            score_tile(&w, 1, combine, best != NULL, &result);
        behind = t + (vectors < VECTORS ? vectors : VECTORS) * LANES;
        int32_t from = t < first ? first : t, to = behind < end ? behind : end;
        size_t size = (size_t)(to - from) * 4;
        memcpy(out + (from - first), result.score + (from - t), size);
        if (best) {
            memcpy(best->score + (from - first), result.best + (from - t), size);
            memcpy(best->component + (from - first), result.component + (from - t), size);
        }
        w.next = w.p;
    }
}

static void find_best(const trl__gmm_work *work, const trl__gmm_best *best)
{
    tile w = tile_of(work);
    /* The stretch may leave the piece, but not the block: that repeats the first frames of the next. */
    const float *o = trl__placed_lanes(work->m, work->placed, work->first);
    for (int32_t i = 0; i < work->end - work->first; i += LANES) {
        lanes largest[VECTORS];
        w.o = o + i;
        score_components(&w, 1, largest);
        find_largest(&w, 1, largest, best->component + i);
        store(best->score + i, largest[0] * LN_2);
        w.next = w.p;
    }
}

INLINE void shares_tile(const tile *w, const int vectors, const float *gamma)
{
    lanes largest[VECTORS], sum[VECTORS];
    score_components(w, vectors, largest);
    for (int v = 0; v < vectors; v++)
        sum[v] = splat(0);
    for (int32_t c = 0; c < w->groups * TRL__GROUP; c++)
        for (int v = 0; v < vectors; v++) {
            float *score = w->scores + (size_t)c * TRL__TILE + v * LANES;
            lanes power = power_of_two(load(score) - largest[v]);
            store(score, power);
            sum[v] += power;
        }
    for (int v = 0; v < vectors; v++)
        sum[v] = load(gamma + v * LANES) / sum[v];
    for (int32_t c = 0; c < w->groups * TRL__GROUP; c++)
        for (int v = 0; v < vectors; v++) {
            float *score = w->scores + (size_t)c * TRL__TILE + v * LANES;
            store(score, load(score) * sum[v]);
        }
}

static void shares(const trl__gmm_work *work, const float *gamma)
{
    tile w = tile_of(work);
    for (int32_t t = work->first; t < work->end; t += VECTORS * LANES, gamma += VECTORS * LANES) {
        w.o = trl__placed_lanes(work->m, work->placed, t);
        w.scores = work->scratch + (t - work->first);
        if (work->end - t > 2 * LANES)
            shares_tile(&w, 3, gamma);
        else if (work->end - t > LANES)
            shares_tile(&w, 2, gamma);
        else
            shares_tile(&w, 1, gamma);
        w.next = w.p;
    }
}

static void add_frame(double *slot, const float *frame, size_t dim, double weight)
{
    trl__add_frame(slot, frame, dim, weight);
}

const trl__gmm_kernel KERNEL = {KERNEL_NAME, TRL__GROUP, 0, 1, score, find_best, shares, add_frame};
