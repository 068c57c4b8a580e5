/* trellis bam tune: which weights make the fewest errors on a development set? */
#include "bam_command.h"
#include "bam_scored.h"

#include <inttypes.h>
#include <stdlib.h>

extern const cli_command cmd_bam_tune;

#define MOST_VALUES 64 /* of a weight */

struct tune_values {
    cli_common common;
    const char *lambda, *back_off, *lm_weight;
    int all;
};

typedef struct axis {
    double values[MOST_VALUES];
    size_t count;
} axis;

/* Numbers with commas between them. NULL: those of the paper. */
static int parse_axis(const char *option, const char *given, axis *out)
{
    for (const char *at = given; at;) {
        char *end;
        if (out->count == MOST_VALUES)
            return cli_usage_error(&cmd_bam_tune, "--%s has more than %d values", option, MOST_VALUES);
        out->values[out->count++] = strtod(at, &end);
        if (end == at || (*end != ',' && *end != '\0'))
            return cli_usage_error(&cmd_bam_tune, "--%s takes numbers with commas between them, not '%s'", option,
                                   given);
        at = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

/* Each value of the grid with the defaults of the others. */
static int check_grid(const trl_bam_grid *g)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < g->lambdas + g->back_offs + g->lm_weights; i++) {
        trl_bam_weights w = trl_bam_weights_defaults();
        if (i < g->lambdas)
            w.lambda = g->lambda[i];
        else if (i < g->lambdas + g->back_offs)
            w.back_off = g->back_off[i - g->lambdas];
        else
            w.lm_weight = g->lm_weight[i - g->lambdas - g->back_offs];
        code = bam_check_weights(&cmd_bam_tune, &w);
    }
    return code;
}

static int make_grid(const struct tune_values *v, axis axes[3], trl_bam_grid *grid)
{
    *grid = trl_bam_grid_defaults();
    int code = parse_axis("lambda", v->lambda, &axes[0]);
    if (code == 0)
        code = parse_axis("back-off", v->back_off, &axes[1]);
    if (code == 0)
        code = parse_axis("lm-weight", v->lm_weight, &axes[2]);
    if (axes[0].count > 0) {
        grid->lambda = axes[0].values;
        grid->lambdas = axes[0].count;
    }
    if (axes[1].count > 0) {
        grid->back_off = axes[1].values;
        grid->back_offs = axes[1].count;
    }
    if (axes[2].count > 0) {
        grid->lm_weight = axes[2].values;
        grid->lm_weights = axes[2].count;
    }
    return code;
}

static void print_points(const char *path, const trl_bam_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s\t%g\t%g\t%g\t%" PRIu64 "\t%.3f\n", path, points[i].weights.lambda, points[i].weights.back_off,
               points[i].weights.lm_weight, trl_errors(points[i].counts), 100 * trl_word_error_rate(points[i].counts));
}

static int tune_all(const struct tune_values *v, const bam_scored *s, const trl_bam_grid *grid, char **paths)
{
    size_t count = grid->lambdas * grid->back_offs * grid->lm_weights, winner = 0;
    trl_bam_point *points = calloc(count + 1, sizeof *points), chosen = {0};
    trl_error err = {TRL_ENOMEM, "out of memory"};
    char label[200];
    int code = points ? 0 : TRL_ENOMEM;
    if (code == 0 && v->all)
        puts("lists\tlambda\tback-off\tlm-weight\terrors\tWER %");
    else if (code == 0)
        bam_print_head();
    for (size_t i = 0; code == 0 && i < s->count; i++) {
        const trl_bam_run *run = trl_bam_lists_run(s->lists[i]);
        size_t best;
        code = trl_bam_tune(s->lists[i], grid, s->pool, points, &best, &err);
        if (code < 0)
            break;
        bam_run_text(run, label, sizeof label);
        if (v->all)
            print_points(paths[i], points, count);
        else
            bam_print_row(label, &points[best].weights, 1, points[best].counts, run->gaussians);
        if (i == 0 || trl_errors(points[best].counts) < trl_errors(chosen.counts)) {
            chosen = points[best];
            winner = i;
        }
    }
    free(points);
    if (code < 0)
        return cli_failure(&err);
    cli_say(&v->common, "best: %s with --lambda %g --back-off %g --lm-weight %g", paths[winner], chosen.weights.lambda,
            chosen.weights.back_off, chosen.weights.lm_weight);
    return EXIT_CLEAN;
}

static int run_tune(void *values, int count, char **arguments)
{
    const struct tune_values *v = values;
    bam_scored scored = {0};
    axis axes[3] = {0};
    trl_bam_grid grid;
    int code = make_grid(v, axes, &grid);
    if (code == 0)
        code = check_grid(&grid);
    if (code == 0)
        code = bam_scored_read(&v->common, 0, count, arguments, &scored);
    if (code == 0)
        code = tune_all(v, &scored, &grid, arguments + 1);
    bam_scored_free(&scored);
    return code;
}

static const cli_option tune_options[] = {
    {"lambda", 0, CLI_TEXT, offsetof(struct tune_values, lambda), "L,L…",
     "shares of the first pass's score (default 0,0.2,0.4,0.6,0.8,1)"},
    {"back-off", 0, CLI_TEXT, offsetof(struct tune_values, back_off), "F,F…",
     "costs of a frame and missing order (default 0,0.2,0.4,0.6,0.8,1)"},
    {"lm-weight", 0, CLI_TEXT, offsetof(struct tune_values, lm_weight), "W,W…",
     "weights of the language model (default 7,12,17,22)"},
    {"all", 0, CLI_FLAG, offsetof(struct tune_values, all), NULL, "print every point of the grid, not the best alone"},
    {0}};

const cli_command cmd_bam_tune = {
    .name = "bam tune",
    .synopsis = "REF LISTS…",
    .summary = "finds the weights of rescoring with the fewest word errors",
    .description =
        "REF has what was said, in any form that `trellis score` reads. LISTS come from `trellis bam rescore --to "
        "lists`, of one store or of several, orders for instance. Scores of M-phones do not depend on the weights, so "
        "they are made once, by bam rescore; here every point of the grid is tried, by all threads. The default grid "
        "is that of the paper.\n\n"
        "Of points with equally few errors the one is chosen that leaves most to the first pass: the largest lambda, "
        "the smallest cost of backing off, the smallest weight of the language model. Tune on speakers that neither "
        "the model, nor the store, nor the test has.",
    .options = tune_options,
    .examples = "trellis bam rescore tri.trm data/dev lexicon.txt dev.jsonl bam.store --to lists -o scored.jsonl\n"
                "trellis bam tune data/dev/text scored.jsonl\n"
                "trellis bam tune data/dev/text m1.jsonl m2.jsonl m3.jsonl --lm-weight 8,10,12,14",
    .least = 2,
    .most = INT32_MAX,
    .values_size = sizeof(struct tune_values),
    .run = run_tune,
};
