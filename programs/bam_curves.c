#include "bam_curves.h"
#include "cli.h"
#include "gnuplot.h"

#include <stdlib.h>

typedef struct curves {
    const bam_curve_point *points;
    size_t count;
    int by_data;
    double first_pass;
} curves;

static double place(const curves *c, size_t i)
{
    return c->by_data ? c->points[i].run->hours : (double)c->points[i].run->gaussians;
}

static int is_same_line(const trl_bam_run *a, const trl_bam_run *b)
{
    return a->rescored == b->rescored && a->order == b->order && a->alpha == b->alpha && a->beta == b->beta &&
           a->word_boundaries == b->word_boundaries;
}

/* Is the point the first of its line? */
static int begins_line(const curves *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_same_line(c->points[k].run, c->points[i].run))
            return 0;
    return 1;
}

static void write_line(FILE *script, const curves *c, size_t first)
{
    fprintf(script, "$line%zu << END\n", first);
    for (size_t i = first; i < c->count; i++)
        if (is_same_line(c->points[i].run, c->points[first].run))
            fprintf(script, "%.9g %.9g\n", place(c, i), c->points[i].error_rate);
    fputs("END\n", script);
}

static void write_title(FILE *script, const trl_bam_run *r)
{
    char title[200];
    if (r->rescored == 2)
        snprintf(title, sizeof title, "first-pass model again");
    else
        snprintf(title, sizeof title, "M = %d, α = %g, β = %g%s", r->order, r->alpha, r->beta,
                 r->word_boundaries ? "" : ", no word boundaries");
    gnuplot_quote(script, title);
}

static void write_script(FILE *script, const void *user)
{
    const curves *c = user;
    double low = place(c, 0), high = low;
    for (size_t i = 0; i < c->count; i++) {
        low = place(c, i) < low ? place(c, i) : low;
        high = place(c, i) > high ? place(c, i) : high;
    }
    for (size_t i = 0; i < c->count; i++)
        if (begins_line(c, i))
            write_line(script, c, i);
    fprintf(script,
            "set encoding utf8\nset logscale x\nset xrange [%.9g:%.9g]\nset format x '%%.10g'\n"
            "set border 3 lc rgb '#808080'\nset tics nomirror textcolor rgb '#404040'\nset grid lt 1 lc rgb '#e8e8e8'\n"
            "set offsets 0, 0, graph 0.1, graph 0.1\nset key outside right center\n"
            "set ylabel 'word error rate, %%'\nset xlabel '%s'\n"
            "plot %.9g with lines lw 2 dt 2 lc rgb '#808080' title 'first pass'",
            low / 1.3, high * 1.3, c->by_data ? "training data, hours" : "Gaussians", c->first_pass);
    for (size_t i = 0; i < c->count; i++) {
        if (!begins_line(c, i))
            continue;
        fprintf(script, ", $line%zu using 1:2 smooth unique with linespoints pt 7 ps 0.6 lw 2 title ", i);
        write_title(script, c->points[i].run);
    }
    fputc('\n', script);
}

int bam_curves_draw(const char *path, int by_data, const bam_curve_point *points, size_t count, double first_pass,
                    trl_error *err)
{
    const curves c = {points, count, by_data, first_pass};
    char *picture;
    size_t size;
    for (size_t i = 0; i < count; i++)
        if (!(place(&c, i) > 0))
            return cli_error(err, TRL_EINVAL, "%s: of LISTS number %zu the %s not known%s", path, i + 1,
                             by_data ? "hours of training data are" : "Gaussians are",
                             by_data ? "; `trellis bam rescore --hours` keeps them" : "");
    int code =
        gnuplot_draw("svg size 900,560 font 'Sans,12' background rgb 'white'", write_script, &c, &picture, &size, err);
    if (code == 0)
        code = cli_save(path, picture, size, err);
    free(picture);
    return code;
}
