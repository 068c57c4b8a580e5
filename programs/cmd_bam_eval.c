/* trellis bam eval: word errors of rescored lists as rows of tables, hit ratios, plots; trellis bam sizes: how many frames a Gaussian needs. */
#include "bam_curves.h"
#include "bam_scored.h"

#include <inttypes.h>
#include <math.h>

extern const cli_command cmd_bam_eval, cmd_bam_sizes;

struct eval_values {
    cli_common common;
    trl_bam_weights weights; /* NAN: those of the lists */
    int truth_listed, hits;
    const char *plot_data, *plot_size;
};

static trl_bam_weights choose_weights(const struct eval_values *v, const trl_bam_run *run)
{
    trl_bam_weights w = run->weights;
    w.lambda = isnan(v->weights.lambda) ? w.lambda : v->weights.lambda;
    w.back_off = isnan(v->weights.back_off) ? w.back_off : v->weights.back_off;
    w.lm_weight = isnan(v->weights.lm_weight) ? w.lm_weight : v->weights.lm_weight;
    return w;
}

/* The paper's Table IV: percent of all segments. Those that no M-phone was found for stand at 0, 0. */
static void print_hits(const trl_bam_run *r)
{
    char label[200];
    uint64_t all = r->first_pass + r->lost;
    bam_run_text(r, label, sizeof label);
    for (int left = 0; left <= r->order; left++)
        for (int right = 0; right <= r->order; right++)
            all += r->hit[left][right];
    printf("\n%s: M-phones found, by left and right context size ([001] Table IV); 0, 0: the first-pass model\n%-12s",
           label, "left\\right");
    for (int right = 0; right <= r->order; right++)
        printf(" %8d", right);
    for (int left = 0; left <= r->order; left++) {
        printf("\n%-12d", left);
        for (int right = 0; right <= r->order; right++) {
            uint64_t n = r->hit[left][right] + (left + right == 0 ? r->first_pass + r->lost : 0);
            printf(" %7.1f%%", all > 0 ? 100 * (double)n / (double)all : 0);
        }
    }
    putchar('\n');
    if (r->lost > 0)
        printf("of these %" PRIu64 " because a server did not answer\n", r->lost);
}

/* The first rows of Tables I and II: the first-pass model as its own second pass. */
static void print_first_pass(const trl_bam_lists *lists, const trl_bam_weights *weights)
{
    uint64_t size = trl_bam_lists_run(lists)->model_gaussians;
    trl_bam_weights alone = *weights, mixed = *weights, first = *weights;
    alone.lambda = 0;
    first.lambda = 1;
    printf("%-7.2f                                  the best of every list\n",
           100 * trl_word_error_rate(trl_bam_errors_least(lists)));
    bam_print_row("first-pass model again", &alone, 0, trl_bam_errors_again(lists, &alone), size);
    bam_print_row("first-pass model again", &mixed, 0, trl_bam_errors_again(lists, &mixed), size);
    bam_print_row("first pass", &first, 0, trl_bam_errors(lists, &first), size);
}

static int check_options(const struct eval_values *v)
{
    trl_bam_run defaults = {.weights = trl_bam_weights_defaults()};
    trl_bam_weights w = choose_weights(v, &defaults);
    trl_error err;
    return trl_bam_weights_check(&w, &err) < 0 ? cli_refused(&cmd_bam_eval, &err) : 0;
}

static int draw(const struct eval_values *v, const bam_curve_point *points, size_t count, double first_pass)
{
    trl_error err;
    int code = v->plot_data ? bam_curves_draw(v->plot_data, 1, points, count, first_pass, &err) : 0;
    if (code == 0 && v->plot_size)
        code = bam_curves_draw(v->plot_size, 0, points, count, first_pass, &err);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static int evaluate(const struct eval_values *v, const bam_scored *s)
{
    bam_curve_point points[BAM_CURVE_MOST];
    char label[200];
    if (s->count > BAM_CURVE_MOST)
        return cli_usage_error(&cmd_bam_eval, "at most %d LISTS at a time", BAM_CURVE_MOST);
    bam_print_head();
    for (size_t i = 0; i < s->count; i++) {
        const trl_bam_run *run = trl_bam_lists_run(s->lists[i]);
        trl_bam_weights w = choose_weights(v, run);
        trl_counts counts = trl_bam_errors(s->lists[i], &w);
        if (i == 0)
            print_first_pass(s->lists[i], &w);
        bam_run_text(run, label, sizeof label);
        bam_print_row(label, &w, run->rescored == 1, counts, run->gaussians);
        points[i] = (bam_curve_point){.run = run, .error_rate = 100 * trl_word_error_rate(counts)};
    }
    trl_counts scored = trl_bam_errors_least(s->lists[0]);
    printf("%" PRIu64 " utterances, %" PRIu64 " words\n", scored.utterances, scored.words);
    for (size_t i = 0; v->hits && i < s->count; i++)
        if (trl_bam_lists_run(s->lists[i])->rescored == 1)
            print_hits(trl_bam_lists_run(s->lists[i]));
    trl_bam_weights first = choose_weights(v, trl_bam_lists_run(s->lists[0]));
    first.lambda = 1;
    return draw(v, points, s->count, 100 * trl_word_error_rate(trl_bam_errors(s->lists[0], &first)));
}

static int run_eval(void *values, int count, char **arguments)
{
    const struct eval_values *v = values;
    bam_scored scored = {0};
    int code = check_options(v);
    if (code == 0)
        code = bam_scored_read(&v->common, v->truth_listed, count, arguments, &scored);
    if (code == 0)
        code = evaluate(v, &scored);
    bam_scored_free(&scored);
    return code;
}

static const cli_option eval_options[] = {
    {"lambda", 0, CLI_NUMBER, offsetof(struct eval_values, weights.lambda), "L",
     "share of the first pass's score; this weight and the next two are those of bam rescore by default"},
    {"back-off", 0, CLI_NUMBER, offsetof(struct eval_values, weights.back_off), "F",
     "cost of every frame for each order that the M-phone found lacks"},
    {"lm-weight", 0, CLI_NUMBER, offsetof(struct eval_values, weights.lm_weight), "W",
     "acoustic scores are divided by it"},
    {"truth-listed", 0, CLI_FLAG, offsetof(struct eval_values, truth_listed), NULL,
     "only utterances with the truth among their hypotheses"},
    {"hits", 0, CLI_FLAG, offsetof(struct eval_values, hits), NULL,
     "shares of M-phones that were found, by left and right context size"},
    {"plot-data", 0, CLI_TEXT, offsetof(struct eval_values, plot_data), "FILE.svg",
     "draw errors against hours of training data (bam rescore --hours)"},
    {"plot-size", 0, CLI_TEXT, offsetof(struct eval_values, plot_size), "FILE.svg",
     "draw errors against Gaussians of the store"},
    {0}};

const cli_command cmd_bam_eval = {
    .name = "bam eval",
    .synopsis = "REF LISTS…",
    .summary = "prints word errors of rescored N-best lists, for one store or a series of them",
    .description =
        "REF has what was said, in any form that `trellis score` reads. LISTS come from `trellis bam rescore --to "
        "lists`, and each gives a row: word error rate, with substitutions, deletions and insertions, size of the "
        "store, and with which weights. First come the best that could be chosen from the "
        "first file's lists, and that file's first-pass model as its own second pass: alone, mixed, "
        "and the first pass itself, which tells what comes from aligning every hypothesis anew.\n\n"
        "Utterances of REF without a list count as deleted words. Plots need gnuplot.",
    .options = eval_options,
    .examples =
        "trellis bam eval data/test/text scored.jsonl --hits\n"
        "trellis bam eval data/test/text 1h.jsonl 10h.jsonl 100h.jsonl --plot-data data.svg --plot-size size.svg",
    .least = 2,
    .most = INT32_MAX,
    .values_size = sizeof(struct eval_values),
    .defaults =
        &(const struct eval_values){
            .weights = {.lambda = (double)NAN, .back_off = (double)NAN, .lm_weight = (double)NAN}},
    .run = run_eval,
};

/* ---- sizes ---- */

struct sizes_values {
    cli_common common;
};

static void print_components(double alpha, double beta, int64_t frames)
{
    trl_bam_options o = trl_bam_defaults();
    o.alpha = alpha;
    o.beta = beta;
    o.most_frames = frames > o.most_frames ? frames : o.most_frames;
    printf("%6g %6g %9" PRId64 " %11" PRId32 "\n", alpha, beta, frames, trl_bam_components(&o, frames));
}

static int run_sizes(void *values, int count, char **arguments)
{
    static const double chances[] = {0.05, 0.06, 0.07, 0.08, 0.10, 0.15};
    (void)values;
    (void)count;
    (void)arguments;
    puts("Frames that a Gaussian needs ([001] Table VIII)\n     p      q   mean  variance");
    for (size_t i = 0; i < sizeof chances / sizeof *chances; i++)
        printf("  %.2f   %.2f %6.0f %9.0f\n", chances[i], chances[i], trl_bam_frames_for_mean(chances[i], chances[i]),
               trl_bam_frames_for_variance(chances[i], chances[i]));
    puts("\nGaussians of a mixture ([001] eq. 1)\n alpha   beta    frames   Gaussians");
    print_components(0.3, 2.2, 4000);
    print_components(0.3, 2.2, 18000);
    print_components(0.3, 2.2, 256000);
    print_components(0.7, 0.1, 256000);
    print_components(0.7, 0.1, 262144);
    return EXIT_CLEAN;
}

static const cli_option sizes_options[] = {{0}};

const cli_command cmd_bam_sizes = {
    .name = "bam sizes",
    .synopsis = "",
    .summary = "prints how many frames a Gaussian needs, and how many Gaussians a mixture has",
    .description =
        "The mean of so many frames is more than q standard deviations off with a probability of p, their "
        "variance more "
        "than q times itself (by the chi-square distribution) with one below p: the paper's Table VIII, "
        "which has 95 in its last row where its formula gives 92. "
        "Then the number of Gaussians by frames, B n^A, for the values that the paper gives. Its 620 are the "
        "620.8 of 262144 frames, cut off; rounded, as all are here, they are 621.",
    .options = sizes_options,
    .examples = "trellis bam sizes",
    .least = 0,
    .most = 0,
    .values_size = sizeof(struct sizes_values),
    .run = run_sizes,
};
