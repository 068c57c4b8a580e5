#include "lvcsr_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lvcsr_curve *lvcsr_add_curve(lvcsr_bench *b, const char *task, const char *system)
{
    if (b->curve_count == LVCSR_MOST_CURVES) {
        fputs("trellis-bench: too many curves; see LVCSR_MOST_CURVES\n", stderr);
        exit(3);
    }
    lvcsr_curve *c = &b->curves[b->curve_count++];
    snprintf(c->task, sizeof c->task, "%s", task);
    snprintf(c->system, sizeof c->system, "%s", system);
    return c;
}

/* Points are kept in the order of their speed, the fastest first. */
void lvcsr_add_point(lvcsr_curve *c, lvcsr_point point)
{
    if (c->count == LVCSR_MOST_POINTS) {
        fputs("trellis-bench: too many points; see LVCSR_MOST_POINTS\n", stderr);
        exit(3);
    }
    size_t i = c->count++;
    for (; i > 0 && c->points[i - 1].rtf > point.rtf; i--)
        c->points[i] = c->points[i - 1];
    c->points[i] = point;
}

/* Where the line from p to q reaches y, given the same order of coordinates; p has y already where it is not above. */
static double between(double py, double px, double qy, double qx, double y)
{
    return py <= y || py <= qy ? px : px + (qx - px) * (py - y) / (py - qy);
}

double lvcsr_rtf_at(const lvcsr_curve *c, double wer)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->points[i].wer <= wer) {
            const lvcsr_point *q = &c->points[i], *p = i > 0 ? q - 1 : q;
            return between(p->wer, p->rtf, q->wer, q->rtf, wer);
        }
    return INFINITY;
}

double lvcsr_wer_at(const lvcsr_curve *c, double rtf)
{
    double best = INFINITY;
    size_t i = 0;
    for (; i < c->count && c->points[i].rtf <= rtf; i++)
        best = fmin(best, c->points[i].wer);
    if (i == 0 || i == c->count)
        return best;
    const lvcsr_point *p = &c->points[i - 1], *q = &c->points[i];
    return fmin(best, p->wer + (q->wer - p->wer) * (rtf - p->rtf) / (q->rtf - p->rtf));
}

/* ---- For people and machines ---- */

static json_t *to_json(const lvcsr_curve *c)
{
    json_t *points = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(points, json_pack("{s:f, s:f, s:f}", "beam", c->points[i].beam, "rtf", c->points[i].rtf,
                                                "wer", c->points[i].wer));
    return json_pack("{s:s, s:s, s:o}", "task", c->task, "system", c->system, "points", points);
}

static void print_curve(const lvcsr_curve *c)
{
    printf("  %s, %s\n    %-16s", c->task, c->system, "real-time factor");
    for (size_t i = 0; i < c->count; i++)
        printf(" %7.4f", c->points[i].rtf);
    printf("\n    %-16s", "word errors, %");
    for (size_t i = 0; i < c->count; i++)
        printf(" %7.2f", c->points[i].wer);
    printf("\n    %-16s", "beam");
    for (size_t i = 0; i < c->count; i++)
        printf(" %7.3g", c->points[i].beam);
    putchar('\n');
}

static int is_first_of_task(const lvcsr_bench *b, size_t curve)
{
    size_t i = 0;
    while (strcmp(b->curves[i].task, b->curves[curve].task) != 0)
        i++;
    return i == curve;
}

#define COLOURS 8

static void draw_task(FILE *gnuplot, const lvcsr_bench *b, const char *task)
{
    fprintf(gnuplot, "set title '%s'\nplot", task);
    int drawn = 0; /* after COLOURS of them gnuplot begins again, so these are dashed */
    for (size_t i = 0; i < b->curve_count; i++)
        if (strcmp(b->curves[i].task, task) == 0) {
            fprintf(gnuplot, "%s '-' with linespoints dashtype %d pointtype %d pointsize 0.6 title '%s'",
                    drawn > 0 ? "," : "", 1 + drawn / COLOURS, drawn < COLOURS ? 7 : 6, b->curves[i].system);
            drawn++;
        }
    fputc('\n', gnuplot);
    for (size_t i = 0; i < b->curve_count; i++)
        if (strcmp(b->curves[i].task, task) == 0) {
            for (size_t k = 0; k < b->curves[i].count; k++)
                fprintf(gnuplot, "%g %g\n", b->curves[i].points[k].rtf, 100 - b->curves[i].points[k].wer);
            fputs("e\n", gnuplot);
        }
}

static void draw(const lvcsr_bench *b, const char *path)
{
    const char *dot = strrchr(path, '.');
    int tasks = 0;
    for (size_t i = 0; i < b->curve_count; i++)
        tasks += is_first_of_task(b, i);
    FILE *gnuplot = tasks > 0 ? popen("gnuplot", "w") : NULL;
    if (!gnuplot)
        return;
    int columns = tasks > 1 ? 2 : 1, rows = (tasks + columns - 1) / columns;
    fprintf(gnuplot, "set terminal %s size %d,%d\nset output '%s'\nset multiplot layout %d,%d\n",
            dot && strcmp(dot, ".svg") == 0 ? "svg" : "pngcairo", 650 * columns, 480 * rows, path, rows, columns);
    fputs("set logscale x\nset grid\nset key below\nset xlabel 'real-time factor'\n"
          "set ylabel 'word accuracy, %'\n",
          gnuplot);
    for (size_t i = 0; i < b->curve_count; i++)
        if (is_first_of_task(b, i))
            draw_task(gnuplot, b, b->curves[i].task);
    if (pclose(gnuplot) != 0)
        fprintf(stderr, "trellis-bench: gnuplot could not draw %s\n", path);
}

void lvcsr_print_curves(const lvcsr_bench *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < b->curve_count; i++) {
        print_curve(&b->curves[i]);
        json_array_append_new(list, to_json(&b->curves[i]));
    }
    json_object_set_new(b->result, "curves", list);
    if (b->options->plot)
        draw(b, b->options->plot);
}
