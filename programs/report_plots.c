#include "report_plots.h"
#include "cli.h"
#include "gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS 24 /* that are marked; the marks of more would run into each other */

static const char *const step_colours[STORY_STEPS] = {"#8a8f98", "#3f7fca", "#e2962e", "#c9523c", "#3f9d75", "#8d6cc0"};

/* ---- What the pictures share ---- */

static void write_number(FILE *script, double value)
{
    if (isfinite(value))
        fprintf(script, " %.9g", value);
    else
        fputs(" ?", script);
}

/* Columns: iteration, log-likelihood, joint score, Gaussians, hours per hour, then the share of the steps up to each,
 * in percent, and what a transform gained. */
static void write_data(FILE *script, const training_story *story)
{
    fputs("$story << END\n", script);
    for (size_t i = 0; i < story->count; i++) {
        const story_iteration *n = &story->items[i];
        double joint = story_number(n->results, "joint"), share = 0, gain = story_number(n->results, "transform_gain");
        int flat = story_is_flat_start(n);
        fprintf(script, "%d", n->number);
        write_number(script, flat ? NAN : story_number(n->results, "log_likelihood"));
        write_number(script, flat || joint == 0 ? NAN : joint);
        write_number(script, story_number(n->results, "gaussians"));
        write_number(script, flat ? NAN : story_speed(n->times));
        for (size_t s = 0; s < STORY_STEPS; s++) {
            share += story_share(n->times, s);
            write_number(script, 100 * share);
        }
        write_number(script, gain > 0 ? gain : NAN);
        fputc('\n', script);
    }
    fputs("END\n", script);
}

/* The narrowest of 1, 2, 5, 10 … that leaves no more than `most` ticks. */
static int tick_step(int count, int most)
{
    int step = 1;
    for (int i = 0; count / step > most; i++)
        step = step / (i % 3 == 1 ? 2 : 1) * (i % 3 == 1 ? 5 : 2);
    return step;
}

/* For iterations first to last. */
static void write_axes(FILE *script, int first, int last, int most_ticks)
{
    fprintf(script,
            "set datafile missing '?'\nset border 3 lc rgb '#808080'\nset tics nomirror scale 0.5\n"
            "set grid ytics lt 1 lc rgb '#c0c0c0'\nset xlabel 'iteration'\nset xrange [%g:%g]\nset xtics %d\n"
            "set key outside top right horizontal samplen 1.5\nset style fill solid noborder\n",
            first - 0.5, last + 0.5, tick_step(last - first + 1, most_ticks));
}

/* The whole story, its flat start or not. */
static void write_all_axes(FILE *script, const training_story *story, int flat, int most_ticks)
{
    int skip = !flat && story_is_flat_start(&story->items[0]);
    write_axes(script, story->items[0].number + skip, story->items[story->count - 1].number, most_ticks);
}

/* The name above where each stage begins, and a line between them; of items[first] to items[end - 1]. */
static void write_stages(FILE *script, const training_story *story, size_t first, size_t end)
{
    if (story_stages(story) == 1)
        return;
    for (size_t i = first; i < end; i += story_stage_at(story, i).count) {
        double from = story->items[i].number - 0.5;
        if (i > first)
            fprintf(script, "set arrow from first %g, graph 0 to first %g, graph 1 nohead lc rgb '#808080' front\n",
                    from, from);
        fputs("set label ", script);
        gnuplot_quote(script, story_stage_at(story, i).name);
        fprintf(script, " at first %g, graph 1 left offset 0.3,0.6\n", i > 0 ? from : from + 0.5);
    }
}

/* Above the names of stages. */
static void write_key(FILE *script, const training_story *story)
{
    if (story_stages(story) > 1)
        fputs("set tmargin at screen 0.83\nset key at screen 0.99, screen 0.98 right top\n", script);
}

/* A line before each iteration that begins with more Gaussians per state. */
static void write_rounds(FILE *script, const training_story *story, size_t first, size_t end)
{
    size_t rounds = 0;
    for (size_t i = first + 1; i < end; i++) {
        double before = story_number(story->items[i - 1].results, "components");
        double components = story_number(story->items[i].results, "components");
        if (components > before && ++rounds <= MOST_ROUNDS)
            fprintf(script,
                    "set arrow from first %g, graph 0 to first %g, graph 1 nohead dt 3 lc rgb '#808080'\n"
                    "set label '%.0f' at first %g, graph 0.05 left\n",
                    story->items[i].number - 0.5, story->items[i].number - 0.5, components,
                    story->items[i].number - 0.4);
    }
}

/* ---- The pictures ---- */

/* Baum-Welch has no best path, and so no joint score. */
static int has_joint(const training_story *story)
{
    double joint = story_number(story->items[story->count - 1].results, "joint");
    return isfinite(joint) && joint != 0;
}

static void write_curve(FILE *script, int column, size_t first, size_t end, const char *colour, const char *title)
{
    fprintf(script,
            "$story every ::%zu::%zu using 1:%d with linespoints pt 7 ps 0.5 lw 2 lc rgb '%s' title '%s per frame'",
            first, end - 1, column, colour, title);
}

static void write_curves(FILE *script, const training_story *story, size_t first, size_t end)
{
    fputs("set offsets 0, 0, graph 0.05, graph 0.1\nplot ", script);
    write_curve(script, 2, first, end, "#3f7fca", "log-likelihood");
    if (has_joint(story)) {
        fputs(", ", script);
        write_curve(script, 3, first, end, "#e2962e", "joint score");
    }
    fputc('\n', script);
}

/* The first iteration behind `first` that has other frames. */
static size_t next_frames(const training_story *story, size_t first)
{
    do
        first += story_stage_at(story, first).count;
    while (first < story->count && !story_changes_frames(story_stage_at(story, first)));
    return first;
}

/* Frames of one kind have a panel, with its own scale, as wide as they have iterations. */
static void write_panel(FILE *script, const training_story *story, size_t first, size_t end, int is_alone)
{
    double share = 0.95 / (double)story->count;
    int skip = story_is_flat_start(&story->items[first]) && end > first + 1;
    if (!is_alone)
        fprintf(script, "set lmargin at screen %g\nset rmargin at screen %g\n", 0.05 + share * (double)first,
                0.01 + share * (double)end);
    write_axes(script, story->items[first].number + skip, story->items[end - 1].number, is_alone ? 30 : 12);
    write_stages(script, story, first, end);
    write_rounds(script, story, first, end);
    write_key(script, story);
    if (end < story->count)
        fputs("unset key\n", script);
    write_curves(script, story, first, end);
    fputs("unset arrow\nunset label\n", script);
}

static void likelihood_script(FILE *script, const void *user)
{
    const training_story *story = user;
    int is_alone = next_frames(story, 0) == story->count;
    write_data(script, story);
    if (!is_alone)
        fputs("set multiplot\n", script);
    for (size_t first = 0, end; first < story->count; first = end) {
        end = next_frames(story, first);
        write_panel(script, story, first, end, is_alone);
    }
}

static void write_bars(FILE *script, const training_story *story, int flat, int column, const char *format,
                       const char *colour)
{
    write_data(script, story);
    write_all_axes(script, story, flat, 14);
    write_stages(script, story, 0, story->count);
    fprintf(script,
            "unset key\nset yrange [0:*]\nset format y '%s'\n"
            "plot $story using 1:%d:($1-0.4):($1+0.4):(0):%d with boxxyerror lc rgb '%s'\n",
            format, column, column, colour);
}

static void gaussians_script(FILE *script, const void *user)
{
    write_bars(script, user, 1, 4, "%.0f", "#3f7fca");
}

static void speed_script(FILE *script, const void *user)
{
    write_bars(script, user, 0, 5, "%.0f", "#3f9d75");
}

static void gains_script(FILE *script, const void *user)
{
    write_bars(script, user, 1, 6 + STORY_STEPS, "%.1f", "#8d6cc0");
}

static void steps_script(FILE *script, const void *user)
{
    const training_story *story = user;
    write_data(script, story);
    write_all_axes(script, story, 1, 30);
    write_key(script, story);
    write_stages(script, story, 0, story->count);
    fputs("set yrange [0:100]\nset format y '%.0f %%'\nplot ", script);
    for (size_t s = 0; s < STORY_STEPS; s++) {
        char below[32] = "(0)";
        if (s > 0)
            snprintf(below, sizeof below, "%zu", 5 + s);
        fprintf(script, "%s$story using 1:%zu:($1-0.4):($1+0.4):%s:%zu with boxxyerror lc rgb '%s' title '%s'",
                s ? ", " : "", 6 + s, below, 6 + s, step_colours[s], story_steps[s]);
    }
    fputc('\n', script);
}

/* ---- From gnuplot's file to an element of a page ---- */

/* All of gnuplot's pictures use the same ids: each gets the picture's name before them, where they are defined and
 * where they are used. */
static char *with_own_ids(const char *svg, const char *name)
{
    static const char *const before[] = {" id='", " id=\"", "href='#"};
    char *text = NULL;
    size_t size;
    FILE *out = cli_text_open(&text, &size);
    while (*svg) {
        size_t length = 1;
        int id = 0;
        for (size_t i = 0; !id && i < sizeof before / sizeof *before; i++)
            if (strncmp(svg, before[i], strlen(before[i])) == 0) {
                length = strlen(before[i]);
                id = 1;
            }
        fprintf(out, "%.*s%s%s", (int)length, svg, id ? name : "", id ? "-" : "");
        svg += length;
    }
    cli_text_close(out);
    return text;
}

static int has_search(const training_story *story)
{
    return story->count > 0 && !story_is_flat_start(&story->items[story->count - 1]);
}

static int has_times(const training_story *story)
{
    return story->timed > 0;
}

static int has_timed_search(const training_story *story)
{
    return has_search(story) && has_times(story);
}

static int has_iterations(const training_story *story)
{
    return story->count > 0;
}

static const struct {
    const char *name, *size;
    gnuplot_script *script;
    int (*is_there)(const training_story *story);
} plots[REPORT_PLOTS] = {
    [PLOT_LIKELIHOOD] = {"likelihood", "1080,340", likelihood_script, has_search},
    [PLOT_GAUSSIANS] = {"gaussians", "530,280", gaussians_script, has_iterations},
    [PLOT_SPEED] = {"speed", "530,280", speed_script, has_timed_search},
    [PLOT_STEPS] = {"steps", "1080,340", steps_script, has_times},
    [PLOT_GAINS] = {"gains", "530,280", gains_script, story_has_gains},
};

int report_plot_draw(report_plot plot, const training_story *story, char **svg, trl_error *err)
{
    *svg = NULL;
    if (!plots[plot].is_there(story))
        return 0;
    char terminal[120], *picture;
    size_t size;
    snprintf(terminal, sizeof terminal, "svg size %s dynamic font 'inherit,14' name '%s'", plots[plot].size,
             plots[plot].name);
    int code = gnuplot_draw(terminal, plots[plot].script, story, &picture, &size, err);
    if (code < 0)
        return code;
    const char *element = strstr(picture, "<svg");
    *svg = element ? with_own_ids(element, plots[plot].name) : NULL;
    free(picture);
    return *svg ? 0 : cli_error(err, TRL_EIO, "gnuplot's picture is no SVG");
}
