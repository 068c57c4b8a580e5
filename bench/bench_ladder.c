/* The ladder from monophones to speaker-adaptive triphones: how long each stage takes and what it brings, on real speech (AN4) and on 100
 * generated hours with 8000 leaves; statistics of contexts and trees by themselves, with their memory.
 *
 * Memory is measured in processes of their own, which start before anything large is made here. */
#include "ladder_bench.h"

static ladder_sizes choose_sizes(const bench_options *o)
{
    if (o->tiny)
        return (ladder_sizes){.an4_iterations = 1,
                              .contexts = 4000,
                              .tree_leaves = 400,
                              .gathering_hours = 0.05,
                              .hours = 0.2,
                              .leaves = 200};
    return (ladder_sizes){.an4_iterations = trl_train_defaults().iterations,
                          .contexts = 100000,
                          .tree_leaves = 8000,
                          .gathering_hours = o->quick ? 0.5 : 2,
                          .hours = o->quick ? 0 : 100,
                          .leaves = 8000};
}

static int bench_run(const bench_options *options, json_t *result)
{
    ladder_bench b = {.options = options, .result = result, .sizes = choose_sizes(options)};
    ladder_measure_contexts(&b);
    ladder_measure_an4(&b);
    ladder_measure_large(&b);
    return 0;
}

const bench bench_ladder = {
    "ladder", "mono, tri, lda, sat: time, leaves, Gaussians and likelihoods of each stage, trees, memory", bench_run};
