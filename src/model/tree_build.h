/* Builds decision trees from statistics per context, and models with them.
 *
 * A leaf's likelihood is that of its frames under one Gaussian with diagonal covariance, from its sums. Leaves are
 * split best first, all roots together: the split with the highest gain of all, until there are enough leaves, or none
 * gains enough. After that, leaves of the same root that lose less than the last gain by being joined may be tied
 * again.
 */
#ifndef TRL_MODEL_TREE_BUILD_H
#define TRL_MODEL_TREE_BUILD_H

#include "model/questions.h"

#include <trellis/pool.h>

typedef struct trl__tree_options {
    int32_t most_leaves;   /* default 2000 */
    double least_gain;     /* log-likelihood in all, of a split; default 0 */
    double least_frames;   /* of a leaf; default 100 ([001]: 18,000 where data is plenty) */
    double variance_floor; /* absolute, of a leaf's Gaussian; default 0.01 */
    double join_share; /* leaves that lose less than this share of the last split's gain are tied; 0: none; default 1 */
    trl_pool *pool;    /* NULL: one thread; the result is the same bytes */
} trl__tree_options;

typedef struct trl__tree_summary {
    int32_t contexts, roots, leaves, splits, joined;
    double frames;
    double before, after; /* log-likelihood per frame: roots alone, all leaves */
} trl__tree_summary;

trl__tree_options trl__tree_defaults(void);

/* Roots: one for each state of each set of units that share their tied states in `model` (which may have a tree itself:
 * then by its roots). Silence and noise units are not split. Every root has a leaf, even if there are more roots than
 * most_leaves, or no frames. Tied states are numbered in the order of roots (by unit and state) and nodes. summary may
 * be NULL. TRL_EINVAL: an option, or statistics and questions that are not of this model; TRL_ENUMBER. */
int trl__tree_build(const trl_model *model, const trl__context_stats *stats, const trl__questions *questions,
                    const trl__tree_options *options, trl__tree **out, trl__tree_summary *summary, trl_error *err);

/* A model with the tree (taken over, whatever happens): units, topologies and texts of `model`, a triple for every tied
 * state that a unit's state can have, transitions as its unit's state had them (averaged where there were several), one
 * Gaussian per leaf from the statistics. Leaves without frames take those of their nearest ancestor that has some, or
 * of all frames where no ancestor has; variances have the floors of trl__estimate_defaults. `stats` may be of another
 * dimension than `model`: the new model has theirs. TRL_EINVAL: there are no frames at all, or tree, model and
 * statistics don't belong together. */
int trl__model_with_tree(const trl_model *model, trl__tree *tree, const trl__context_stats *stats, trl_model **out,
                         trl_error *err);

#endif
