/* The tables and figures of [000] for ours: Table 4 (components), Fig. 7 (hours), Fig. 10 (pruning), and memory by corpus
 * size. */
#include "child_process.h"
#include "train_bench.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Table 4: time per iteration by components ---- */

static const double paper_table4[] = {0.247, 0.248, 0.252, 0.267, 0.282, 0.323};

/* Each model's margins lie around the alignments of the one before, as in training by splitting. */
static void measure_table4(train_bench *b)
{
    json_t *list = json_array();
    trl__alignment_store *first = b->w.all.previous, *last = NULL;
    double total = 0;
    printf("  hours per iteration over 1000 hours of sound (auto, two threads), beside [000] Table 4:\n");
    for (int components = 1, i = 0; components <= WORKLOAD_COMPONENTS; components *= 2, i++) {
        trl_model *model = workload_model(&b->w, components);
        train_how how = {"table 4", "cpu", 2, TRL_MARGIN_AUTO, trl_train_defaults().audit, 0, TRL_EM_VITERBI, 1};
        trl__alignment_store *next;
        train_iterate(b, &b->w.all, b->w.lexicon, model, &how, &next, NULL);
        trl__alignment_store_close(last);
        b->w.all.previous = last = next;
        train_set many = train_set_replicate(&b->w.all, (b->sizes.copies + 2) / 3, b->w.folder);
        double wall = train_iterate(b, &many, b->w.lexicon, model, &how, NULL, NULL).wall;
        double hours = wall / 3600 * 1000 / many.hours;
        total += 4 * hours;
        printf("  %4d components  %8.3f h   [000] %.3f h\n", components, hours, paper_table4[i]);
        json_array_append_new(
            list, json_pack("{s:i, s:f, s:f}", "components", components, "hours", hours, "paper", paper_table4[i]));
        train_set_free(&many);
        trl_model_destroy(model);
    }
    trl__alignment_store_close(last);
    b->w.all.previous = first;
    json_object_set_new(b->result, "table4", list);
    bench_report(b->result, "table4_total_hours", total, "h",
                 "four iterations of each; [000] 6.48 h without splitting");
}

/* ---- Fig. 7: linear in hours ---- */

/* Least squares: seconds = once + slope * hours. */
static void fit(const double *hours, const double *seconds, int count, double *once, double *slope)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        x += hours[i];
        y += seconds[i];
        xx += hours[i] * hours[i];
        xy += hours[i] * seconds[i];
    }
    *slope = (count * xy - x * y) / (count * xx - x * x);
    *once = (y - *slope * x) / count;
}

static void measure_figure7(train_bench *b)
{
    double hours[3], seconds[3], once, slope, worst = 0;
    json_t *list = json_array();
    printf("  seconds per iteration by hours of sound (auto, two threads, 32 components):\n");
    for (int i = 0; i < 3; i++) {
        train_set set = train_set_replicate(&b->w.all, (b->sizes.copies + 3) / 4 << i, b->w.folder);
        hours[i] = set.hours;
        seconds[i] = INFINITY;
        for (int run = 0; run < (b->sizes.runs > 2 ? 3 : b->sizes.runs); run++) {
            train_how how = {"figure 7", "cpu", 2, TRL_MARGIN_AUTO, trl_train_defaults().audit, 0, TRL_EM_VITERBI, 1};
            seconds[i] = fmin(seconds[i], train_iterate(b, &set, b->w.lexicon, b->w.model, &how, NULL, NULL).wall);
        }
        printf("  %8.2f h  %8.3f s\n", hours[i], seconds[i]);
        json_array_append_new(list, json_pack("{s:f, s:f}", "hours", hours[i], "seconds", seconds[i]));
        train_set_free(&set);
    }
    fit(hours, seconds, 3, &once, &slope);
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(seconds[i] / (once + slope * hours[i]) - 1));
    json_object_set_new(b->result, "figure7", list);
    bench_report(b->result, "figure7_seconds_per_hour", slope, "s", "per hour of sound: the line's slope");
    bench_report(b->result, "figure7_seconds_once", once, "s", "per iteration, however much sound");
    bench_report(b->result, "figure7_off_line", worst, "", "farthest from the line, relative");
}

void train_measure_tables(train_bench *b)
{
    measure_table4(b);
    measure_figure7(b);
}

/* ---- Fig. 10: step 1 by length and margin ---- */

static const int margins[] = {16, 32, 64, 128, 256, TRL_MARGIN_FULL, TRL_MARGIN_AUTO};
#define MARGINS ((int)(sizeof margins / sizeof *margins))
#define LENGTHS 12
#define SHORTEST 0.5 /* seconds */
#define LONGEST 31.0

/* Utterances between two lengths, at most `most` (0: all). */
static train_set select_lengths(const train_bench *b, double from, double to, size_t most)
{
    const train_set *all = &b->w.all;
    size_t *chosen = trl__alloc(all->data.count + 1, sizeof *chosen), count = 0;
    for (size_t u = 0; chosen && u < all->data.count && (most == 0 || count < most); u++) {
        double seconds = 0.01 * (double)train_set_frames(&all->data, u);
        if (seconds >= from && seconds < to)
            chosen[count++] = u;
    }
    train_set set = train_set_select(all, chosen, count, b->w.folder);
    trl__free(chosen);
    return set;
}

/* What searching alone needs. */
typedef struct searcher {
    const workload *w;
    trl__device *device;
    trl__parameters *parameters;
    trl__unit_map *map;
    trl__aligner *aligner;
    trl__graph graph;
} searcher;

static searcher open_searcher(const workload *w)
{
    trl_error err;
    searcher s = {.w = w};
    bench_check(trl__device_open("cpu", &s.device, &err), &err);
    bench_check(trl__device_load_model(s.device, w->model, NULL, &s.parameters, &err), &err);
    bench_check(trl__unit_map_create(w->model, w->lexicon, &s.map, &err), &err);
    bench_check(trl__aligner_create(s.device, &s.aligner, &err), &err);
    return s;
}

static void close_searcher(searcher *s)
{
    trl__aligner_destroy(s->aligner);
    trl__graph_free(&s->graph);
    trl__unit_map_destroy(s->map);
    trl__parameters_free(s->parameters);
    trl__device_close(s->device);
}

/* Seconds of step 1 for an utterance of a set, as a pass searches it. */
static double search(searcher *s, const train_set *set, size_t u, int margin)
{
    trl_error err;
    const char *id;
    trl_matrix frames = {0};
    const trl__training_data *d = &set->data;
    const trl__run *runs;
    const trl__stored_alignment *last = trl__alignment_store_get(set->previous, u, &runs);
    trl_train_options o = trl_train_defaults();
    o.margin = margin;
    trl__search_options options = trl__pass_search(&o);
    trl__search_result result;
    bench_check(trl_feature_reader_get(d->features, d->feature[u], &id, &frames, &err), &err);
    bench_check(trl__graph_build(&s->graph, s->map, s->w->lexicon, d->words + d->first_word[u],
                                 d->first_word[u + 1] - d->first_word[u], &err),
                &err);
    bench_check(trl__aligner_begin(s->aligner, s->parameters, &frames, &s->graph, &err), &err);
    double before = trl__aligner_times(s->aligner)->score;
    bench_check(trl__aligner_search(s->aligner, &options, runs, last->runs, &result, &err), &err);
    return trl__aligner_times(s->aligner)->score - before;
}

/* Milliseconds of step 1 per utterance, the best of several runs. */
static double step1_ms(searcher *s, const train_set *set, int margin, int runs)
{
    double best = INFINITY;
    for (int i = 0; i < runs; i++) {
        double sum = 0;
        for (size_t u = 0; u < set->data.count; u++)
            sum += search(s, set, u, margin);
        best = fmin(best, sum);
    }
    return 1e3 * best / (double)set->data.count;
}

static void draw(const char *path, double points[LENGTHS][MARGINS + 1], int count)
{
    char name[16];
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot)
        return;
    const char *dot = strrchr(path, '.');
    fprintf(gnuplot, "set terminal %s size 900,600\nset output '%s'\n",
            dot && strcmp(dot, ".svg") == 0 ? "svg" : "pngcairo", path);
    fputs("set logscale xy\nset key left top\nset grid\nset xlabel 'length of the utterance (s)'\n"
          "set ylabel 'step 1 (ms)'\nset title 'Observation probabilities, by margin'\nplot ",
          gnuplot);
    for (int i = 0; i < MARGINS; i++)
        fprintf(gnuplot, "'-' using 1:2 with linespoints title '%s'%s", train_margin_name(margins[i], name),
                i + 1 < MARGINS ? ", " : "\n");
    for (int i = 0; i < MARGINS; i++) {
        for (int k = 0; k < count; k++)
            fprintf(gnuplot, "%g %g\n", points[k][MARGINS], points[k][i]);
        fputs("e\n", gnuplot);
    }
    if (pclose(gnuplot) != 0)
        fprintf(stderr, "trellis-bench: gnuplot could not draw %s\n", path);
}

static void print_header(void)
{
    char name[16];
    printf("  step 1 in ms by length and margin (one thread):\n  %10s", "length");
    for (int i = 0; i < MARGINS; i++)
        printf(" %9s", train_margin_name(margins[i], name));
    putchar('\n');
}

static void measure_figure10(train_bench *b, searcher *s)
{
    double points[LENGTHS][MARGINS + 1], step = pow(LONGEST / SHORTEST, 1.0 / LENGTHS);
    json_t *list = json_array();
    int count = 0;
    print_header();
    for (int k = 0; k < LENGTHS; k++) {
        double from = SHORTEST * pow(step, k);
        train_set set = select_lengths(b, from, from * step, (size_t)b->sizes.figure_per_step);
        json_t *line = json_object();
        if (set.data.count > 0) {
            double length = points[count][MARGINS] = 3600 * set.hours / (double)set.data.count;
            json_object_set_new(line, "seconds", json_real(length));
            printf("  %8.2f s", length);
            for (int i = 0; i < MARGINS; i++) {
                char name[16];
                double ms = points[count][i] = step1_ms(s, &set, margins[i], 2);
                json_object_set_new(line, train_margin_name(margins[i], name), json_real(ms));
                printf(" %9.3f", ms);
            }
            putchar('\n');
            json_array_append(list, line);
            count++;
        }
        json_decref(line);
        train_set_free(&set);
    }
    json_object_set_new(b->result, "figure10_ms", list);
    if (b->options->plot)
        draw(b->options->plot, points, count);
}

static void measure_gain(train_bench *b, searcher *s, const char *key, double from, int margin, const char *meaning)
{
    train_set set = select_lengths(b, from, 1e9, 0);
    if (set.data.count == 0) {
        bench_absent(b->result, key, "the workload has no utterance that long");
        train_set_free(&set);
        return;
    }
    double pruned = step1_ms(s, &set, margin, 2), full = step1_ms(s, &set, TRL_MARGIN_FULL, 2);
    bench_report(b->result, key, full / pruned, "x", meaning);
    train_set_free(&set);
}

void train_measure_pruning(train_bench *b)
{
    searcher s = open_searcher(&b->w);
    measure_gain(b, &s, "pruning_gain_over_10s", 10, TRL_MARGIN_AUTO,
                 "step 1 in full over auto, utterances over 10 s; [000] more than 10");
    measure_gain(b, &s, "pruning_gain_over_13s_margin64", 13, 64,
                 "step 1 in full over margin 64, utterances over 13 s");
    measure_figure10(b, &s);
    close_searcher(&s);
}

/* ---- Memory ---- */

/* A process that makes its own corpus and runs one iteration over it. */
typedef struct memory_work {
    const train_bench *b;
    double hours;
} memory_work;

static void work(void *user)
{
    const memory_work *m = user;
    workload w;
    train_bench quiet = {.options = m->b->options, .result = json_object(), .runs = json_array()};
    workload_create(&w, m->hours, m->b->sizes.tied_states, 7);
    train_how how = {"memory", "cpu", 2, TRL_MARGIN_AUTO, 0, 1, TRL_EM_VITERBI, 1};
    train_iterate(&quiet, &w.all, w.lexicon, w.model, &how, NULL, NULL);
    workload_destroy(&w);
}

void train_measure_memory(train_bench *b)
{
    json_t *list = json_array();
    double first = 0, own = 0;
    printf("  memory of a process that generates and trains, by hours of sound:\n");
    for (int times = 1; times <= 4; times *= 2) {
        double hours = b->sizes.memory_hours * times;
        child_peaks peaks = child_run(work, &(memory_work){b, hours});
        own = peaks.own;
        first = times == 1 ? own : first;
        printf("  %8.3f h  %8.1f MB of its own at most, %8.1f MB with the mapped features\n", hours, own, peaks.all);
        json_array_append_new(list,
                              json_pack("{s:f, s:f, s:f}", "hours", hours, "own_mb", own, "with_mapped_mb", peaks.all));
    }
    json_object_set_new(b->result, "memory", list);
    bench_report(b->result, "memory_growth", own / first, "x", "peak of own memory, four times the sound over once");
}
