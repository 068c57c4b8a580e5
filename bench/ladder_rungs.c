/* What the stages of a training came to. */
#include "ladder_bench.h"

#include <stdio.h>
#include <string.h>

/* The checkpoint's model is removed by the next iteration's; mapped, it stays. */
static void keep_model(ladder *l, const trl_iteration *n)
{
    char path[4200];
    trl_error err;
    snprintf(path, sizeof path, "%.4000s/iteration-%d.trm", l->folder, n->number);
    bench_check(trl_model_read(path, &l->models[n->stage_number - 1], &err), &err);
}

void ladder_note(void *user, const trl_iteration *n)
{
    ladder *l = user;
    ladder_rung *r = &l->rungs[n->stage_number - 1];
    snprintf(r->name, sizeof r->name, "%s", n->stage);
    r->leaves = n->tied_states;
    r->iterations++;
    r->gaussians = n->gaussians;
    r->log_likelihood = n->log_likelihood;
    r->seconds = n->stage_seconds;
    r->passes += n->seconds;
    r->load += n->load;
    r->score += n->score;
    r->alpha += n->alpha;
    r->backtrack += n->backtrack;
    r->accumulate += n->accumulate;
    r->estimate += n->estimate;
    if (l->folder && n->number == n->of)
        keep_model(l, n);
}

void ladder_print(const ladder *l)
{
    printf("  %-6s %7s %10s %12s %8s %7s | %8s %8s | CPU: %6s %7s %6s %6s %6s %6s\n", "stage", "leaves", "Gaussians",
           "log-lik.", "seconds", "passes", "in them", "else", "load", "step 1", "alpha", "backtr", "accum.", "M-step");
    for (int i = 0; i < LADDER_RUNGS; i++) {
        const ladder_rung *r = &l->rungs[i];
        printf("  %-6s %7d %10lld %12.4f %8.2f %7d | %8.2f %8.2f | %11.2f %7.2f %6.2f %6.2f %6.2f %6.2f\n", r->name,
               r->leaves, (long long)r->gaussians, r->log_likelihood, r->seconds, r->iterations, r->passes,
               r->seconds - r->passes, r->load, r->score, r->alpha, r->backtrack, r->accumulate, r->estimate);
    }
}

json_t *ladder_json(const ladder *l)
{
    json_t *stages = json_object();
    for (int i = 0; i < LADDER_RUNGS; i++) {
        const ladder_rung *r = &l->rungs[i];
        json_object_set_new(stages, r->name,
                            json_pack("{s:i, s:I, s:f, s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "leaves",
                                      r->leaves, "gaussians", (json_int_t)r->gaussians, "loglik_per_frame",
                                      r->log_likelihood, "seconds", r->seconds, "iterations", r->iterations,
                                      "seconds_in_iterations", r->passes, "load", r->load, "score", r->score, "alpha",
                                      r->alpha, "backtrack", r->backtrack, "accumulate", r->accumulate, "estimate",
                                      r->estimate));
    }
    return stages;
}
