/* Scores of Gaussian mixtures: what a kernel for an instruction set does, and how the numbers lie for it.
 *
 * The logarithm of a weighted Gaussian with diagonal covariance is a dot product ([004] 3.2.2):
 *
 *     ln w - sum_k (ln(2 pi var_k) + (o_k - mean_k)² / var_k) / 2 = h + sum_k (u_k o_k + v_k o_k²)
 *
 * with u = mean / var and v = -1 / (2 var). Frames and means are centred first (by the mean of all means), because u o
 * and v o² nearly cancel where the mean is large. Mixtures whose variances are so small that this form would still
 * lose more than TRL__MOST_ERROR are scored by differences (o - mean)², with the frames as they are.
 *
 * Parameters are multiplied by log2(e) unless the kernel says otherwise: it works with powers of two.
 *
 * A kernel cannot fail: numbers that could overflow are refused where they come in (trl__mixtures_pack, trl__place).
 */
#ifndef TRL_BACKEND_CPU_GMM_KERNEL_H
#define TRL_BACKEND_CPU_GMM_KERNEL_H

#include "backend/backend.h"
#include "base/memory.h"

#include <string.h>

#define TRL__MOST_ERROR 1e-3      /* nat: estimated rounding error of the dot product */
#define TRL__MOST_VALUE 1e9       /* of |o|, |mean| */
#define TRL__LEAST_VARIANCE 1e-15 /* v o² stays below 1e33, and a sum over any number of dimensions in range */
#define TRL__NEVER (-1e30f)       /* stands for the logarithm of 0 */
#define TRL__ABSENT (-3e38f)      /* h of what fills up a group: below every score that there can be */
#define TRL__TILE 48              /* frames: the widest tile of any kernel */
#define TRL__GROUP 4              /* components: most that lie side by side */

/* The mixtures of a model, packed. Tied state s begins at packed + at[s]. Its components come in groups of `group`,
 * the last filled up with components of weight 0. A group is group floats h, then for each k group u and group v (or,
 * by differences, means and v). */
typedef struct trl__mixtures {
    int32_t dim, tied_states;
    int32_t most_components;
    int32_t group;
    double scale;            /* of scores: log2(e), or 1 */
    int32_t *first_gaussian; /* tied_states + 1 */
    float *centre;           /* dim */
    float *packed;
    size_t *at;
    uint8_t *differences;
    int any_differences;
    double *exact; /* the reference's: for each Gaussian h, then means, then 1 / (2 var) */
} trl__mixtures;

/* Frames [begin, end) of an utterance as the kernel reads them, a piece at a time: longer ones would not stay in the
 * cache. */
typedef struct trl__placed {
    const trl_matrix *source;
    int32_t begin, end;
    trl__scratch memory;
    float *values;
    int32_t piece; /* the first frame of those in `values`; -1: none are there */
} trl__placed;

/* A stretch of frames of one tied state. */
typedef struct trl__gmm_work {
    const trl__mixtures *m;
    const trl__placed *placed;
    float *scratch; /* TRL__TILE floats for each of the components, rounded up to whole groups */
    int32_t tied;
    int32_t first, end; /* frames */
    int32_t next;       /* the tied state whose turn comes after: its parameters can be fetched meanwhile */
} trl__gmm_work;

/* Where the best component of each frame goes. */
typedef struct trl__gmm_best {
    int32_t *component;
    float *score;
} trl__gmm_best;

typedef struct trl__gmm_kernel {
    const char *name;
    int32_t group; /* of the packed parameters; 0: exact ones */
    int natural;   /* parameters in natural logarithms */
    int in_lanes;  /* frames are placed in blocks, one row per dimension; 0: (o, o²) frame by frame */

    /* Scores, natural logarithm; with `best` also the best component (the first of equals) and its score. */
    void (*score)(const trl__gmm_work *w, trl__combine combine, float *out, const trl__gmm_best *best);
    /* Only the best component, for stretches that are short. May write up to TRL__ROW_PAD behind the last frame. */
    void (*best)(const trl__gmm_work *w, const trl__gmm_best *best);
    /* Each component's share of the mixture in each frame, times gamma of that frame, into the scratch: at c *
     * TRL__TILE + t - first. At most TRL__TILE frames; gamma has as many, whatever the stretch. */
    void (*shares)(const trl__gmm_work *w, const float *gamma);
    /* A frame into a slot of the statistics, `weight` times. */
    void (*add_frame)(double *slot, const float *frame, size_t dim, double weight);
} trl__gmm_kernel;

/* Written once, compiled for each instruction set: four values at a time, because few dimensions would be left over. */
static inline void trl__add_frame(double *slot, const float *frame, size_t dim, double weight)
{
    typedef float four __attribute__((vector_size(16)));
    typedef double wide_four __attribute__((vector_size(32)));
    double *sums = slot + 1, *squares = slot + 1 + dim;
    size_t k = 0;
    slot[0] += weight;
    for (; k + 4 <= dim; k += 4) {
        four values;
        wide_four sum, square;
        memcpy(&values, frame + k, sizeof values);
        memcpy(&sum, sums + k, sizeof sum);
        memcpy(&square, squares + k, sizeof square);
        wide_four x = __builtin_convertvector(values, wide_four), weighted = x * weight;
        sum += weighted;
        square += weighted * x;
        memcpy(sums + k, &sum, sizeof sum);
        memcpy(squares + k, &square, sizeof square);
    }
    for (; k < dim; k++) {
        double x = (double)frame[k], weighted = x * weight;
        sums[k] += weighted;
        squares[k] += weighted * x;
    }
}

void trl__add_frame_plainly(double *slot, const float *frame, size_t dim, double weight);
extern const trl__gmm_kernel trl__gmm_ref, trl__gmm_scalar, trl__gmm_base, trl__gmm_avx2, trl__gmm_avx512,
    trl__gmm_neon;

/* Packs for a kernel. TRL_ENUMBER: a mean is too large or a variance too small; TRL_EINVAL: a mixture of nothing. */
int trl__mixtures_pack(trl__mixtures *m, const trl_model *model, const trl__gmm_kernel *kernel, trl_pool *pool,
                       trl_error *err);
void trl__mixtures_free(trl__mixtures *m);

/* Floats of a tied state's group of components. */
static inline size_t trl__group_size(const trl__mixtures *m)
{
    return (size_t)m->group * (1 + 2 * (size_t)m->dim);
}

static inline int32_t trl__components(const trl__mixtures *m, int32_t tied)
{
    return m->first_gaussian[tied + 1] - m->first_gaussian[tied];
}

/* Frames in lanes: blocks of TRL__BLOCK frames, in each one row per dimension: centred value and its square by turns,
 * then the values as they are when any mixture is scored by differences. A block repeats the first frames of the next,
 * so that a tile may begin at any frame. Rows lie an odd number of cache lines apart, so that the rows of a tile
 * spread over all sets of a cache; a block is small enough for a tile to touch few pages. */
#define TRL__BLOCK 256
#define TRL__STRIDE (TRL__BLOCK + TRL__TILE) /* floats: 19 lines */
#define TRL__PIECE (4 * TRL__BLOCK)          /* frames: 380 KB of them, for 39 dimensions */

/* Frames [begin, end) are there, have the model's dimensions, and are finite: TRL_EINVAL, TRL_ENUMBER. */
int trl__frames_check(const trl_matrix *frames, size_t dim, int32_t begin, int32_t end, trl_error *err);

/* Checks the frames and makes room for a piece. TRL_ENUMBER: a value is not finite or beyond TRL__MOST_VALUE. */
int trl__place(trl__placed *placed, const trl__mixtures *m, const trl__gmm_kernel *kernel, const trl_matrix *frames,
               int32_t begin, int32_t end, trl_error *err);

/* Copies in the piece that holds frame t, unless it is there. Pieces lie side by side from `begin` on; a stretch of up
 * to TRL__TILE frames may reach into the next. */
void trl__place_piece(trl__placed *placed, const trl__mixtures *m, const trl__gmm_kernel *kernel, int32_t t);

static inline size_t trl__block_rows(const trl__mixtures *m)
{
    return (size_t)m->dim * (m->any_differences ? 3 : 2);
}

static inline const float *trl__placed_lanes(const trl__mixtures *m, const trl__placed *placed, int32_t t)
{
    size_t i = (size_t)(t - placed->piece);
    return placed->values + i / TRL__BLOCK * trl__block_rows(m) * TRL__STRIDE + i % TRL__BLOCK;
}

#endif
