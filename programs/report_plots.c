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
 * in percent. The flat start searches nothing: its likelihoods and speed are not of the same kind. */
static void write_data(FILE *script, const training_story *story)
{
    fputs("$story << END\n", script);
    for (size_t i = 0; i < story->count; i++) {
        const story_iteration *n = &story->items[i];
        double joint = story_number(n->results, "joint"), share = 0;
        fprintf(script, "%d", n->number);
        write_number(script, n->number > 1 ? story_number(n->results, "log_likelihood") : NAN);
        write_number(script, n->number > 1 && joint != 0 ? joint : NAN);
        write_number(script, story_number(n->results, "gaussians"));
        write_number(script, n->number > 1 ? story_speed(n->times) : NAN);
        for (size_t s = 0; s < STORY_STEPS; s++) {
            share += story_share(n->times, s);
            write_number(script, 100 * share);
        }
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

static void write_axes(FILE *script, const training_story *story, int first, int most_ticks)
{
    int last = story->items[story->count - 1].number;
    fprintf(script,
            "set datafile missing '?'\nset border 3 lc rgb '#808080'\nset tics nomirror scale 0.5\n"
            "set grid ytics lt 1 lc rgb '#c0c0c0'\nset xlabel 'iteration'\nset xrange [%g:%g]\nset xtics %d\n"
            "set key outside top right horizontal samplen 1.5\nset style fill solid noborder\n",
            first - 0.5, last + 0.5, tick_step(last, most_ticks));
}

/* A line above each iteration that begins with more Gaussians per state. */
static void write_rounds(FILE *script, const training_story *story)
{
    double before = NAN;
    size_t rounds = 0;
    for (size_t i = 0; i < story->count; i++) {
        double components = story_number(story->items[i].results, "components");
        if (components != before && i > 0 && ++rounds <= MOST_ROUNDS && isfinite(before))
            fprintf(script,
                    "set arrow from first %g, graph 0 to first %g, graph 1 nohead dt 3 lc rgb '#808080'\n"
                    "set label '%.0f' at first %g, graph 0.05 left\n",
                    story->items[i].number - 0.5, story->items[i].number - 0.5, components,
                    story->items[i].number - 0.4);
        before = components;
    }
}

/* ---- The pictures ---- */

/* Baum-Welch has no best path, and so no joint score. */
static int has_joint(const training_story *story)
{
    double joint = story_number(story->items[story->count - 1].results, "joint");
    return isfinite(joint) && joint != 0;
}

static void likelihood_script(FILE *script, const void *user)
{
    const training_story *story = user;
    write_data(script, story);
    write_axes(script, story, 2, 30);
    write_rounds(script, story);
    fputs("set offsets 0, 0, graph 0.05, graph 0.1\n"
          "plot $story using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#3f7fca' title 'log-likelihood per frame'",
          script);
    if (has_joint(story))
        fputs(", $story using 1:3 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#e2962e' title 'joint score per frame'",
              script);
    fputc('\n', script);
}

static void gaussians_script(FILE *script, const void *user)
{
    const training_story *story = user;
    write_data(script, story);
    write_axes(script, story, 1, 14);
    fputs("unset key\nset yrange [0:*]\nset format y '%.0f'\n"
          "plot $story using 1:4:($1-0.4):($1+0.4):(0):4 with boxxyerror lc rgb '#3f7fca'\n",
          script);
}

static void speed_script(FILE *script, const void *user)
{
    const training_story *story = user;
    write_data(script, story);
    write_axes(script, story, 2, 14);
    fputs("unset key\nset yrange [0:*]\nset format y '%.0f'\n"
          "plot $story using 1:5:($1-0.4):($1+0.4):(0):5 with boxxyerror lc rgb '#3f9d75'\n",
          script);
}

static void steps_script(FILE *script, const void *user)
{
    const training_story *story = user;
    write_data(script, story);
    write_axes(script, story, 1, 30);
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
    FILE *out = open_memstream(&text, &size);
    while (out && *svg) {
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
    if (out)
        fclose(out);
    return text;
}

static const struct {
    const char *name, *size;
    gnuplot_script *script;
    int timed, searched; /* it needs: times; an iteration after the flat start */
} plots[REPORT_PLOTS] = {
    [PLOT_LIKELIHOOD] = {"likelihood", "1080,340", likelihood_script, 0, 1},
    [PLOT_GAUSSIANS] = {"gaussians", "530,280", gaussians_script, 0, 0},
    [PLOT_SPEED] = {"speed", "530,280", speed_script, 1, 1},
    [PLOT_STEPS] = {"steps", "1080,340", steps_script, 1, 0},
};

int report_plot_draw(report_plot plot, const training_story *story, char **svg, trl_error *err)
{
    *svg = NULL;
    if (story->count == 0 || (plots[plot].timed && story->timed == 0) ||
        (plots[plot].searched && story->items[story->count - 1].number < 2))
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
