#include "report_tables.h"
#include "cli.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Stages ---- */

static void start_table(FILE *out, const char *class, const char *const *columns)
{
    fprintf(out, "<div class=wide><table class=%s>", class);
    html_head(out, columns);
}

static void start_list(FILE *out, const char *class, const char *const *columns)
{
    start_table(out, class, columns);
    fputs("<tbody>\n", out);
}

/* A body for each stage, with its name above where there are several. */
static void start_stage(FILE *out, const training_story *story, story_stage stage, int columns)
{
    fputs("<tbody>\n", out);
    if (story_stages(story) == 1)
        return;
    fprintf(out, "<tr class=stage><th scope=rowgroup colspan=%d>", columns);
    html_text(out, stage.name);
    fputc('\n', out);
}

/* The flat start has no scores, and Baum-Welch no joint one, which is 0 then. */
static void score_cell(FILE *out, const story_iteration *n, const char *key)
{
    double value = story_number(n->results, key);
    html_number_cell(out, value != 0 && !story_is_flat_start(n) ? value : NAN, 4);
}

static void stage_row(FILE *out, const training_story *story, story_stage stage)
{
    const story_iteration *first = &story->items[stage.first], *last = first + stage.count - 1;
    fputs("<tr><th scope=row>", out);
    html_text(out, stage.name);
    fprintf(out, "<td>%d", first->number);
    if (last > first)
        fprintf(out, "–%d", last->number);
    html_count_cell(out, story_number(last->results, "tied_states"));
    html_count_cell(out, story_number(last->results, "gaussians"));
    score_cell(out, last, "log_likelihood");
    html_number_cell(out, story_stage_seconds(story, stage), 1);
    fputc('\n', out);
}

void report_stages(FILE *out, const training_story *story)
{
    static const char *const columns[] = {"stage",          "iterations", "tied states", "Gaussians",
                                          "log-likelihood", "seconds",    NULL};
    start_list(out, "names", columns);
    for (size_t i = 0; i < story->count; i += story_stage_at(story, i).count)
        stage_row(out, story, story_stage_at(story, i));
    fputs("</table></div>\n", out);
}

/* ---- Iterations ---- */

static void audit_cell(FILE *out, const json_t *line)
{
    double frames = story_number(line, "audited_frames"), differ = story_number(line, "audited_differ");
    fputs("<td>", out);
    if (frames > 0 && isfinite(differ))
        fprintf(out, "%.3f %%", 100 * (1 - differ / frames));
    else
        html_number(out, NAN, 0);
}

static void iteration_row(FILE *out, const story_iteration *n)
{
    static const char *const counts[] = {"utterances", "failed", "redone", "audited"}, *const estimated[] = {
                                                                                           "dropped", "floored",
                                                                                           "kept_states"};
    fprintf(out, "<tr><th scope=row>%d", n->number);
    html_count_cell(out, story_number(n->results, "components"));
    html_count_cell(out, story_number(n->results, "gaussians"));
    score_cell(out, n, "log_likelihood");
    score_cell(out, n, "joint");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        html_count_cell(out, story_number(n->results, counts[i]));
    audit_cell(out, n->results);
    for (size_t i = 0; i < sizeof estimated / sizeof *estimated; i++)
        html_count_cell(out, story_number(n->results, estimated[i]));
    fputc('\n', out);
}

void report_iterations(FILE *out, const training_story *story)
{
    static const char *const columns[] = {
        "iteration", "components", "Gaussians", "log-likelihood", "joint",   "aligned",     "left out",
        "redone",    "audited",    "agree",     "dropped",        "floored", "states kept", NULL};
    int width = (int)(sizeof columns / sizeof *columns) - 1;
    start_table(out, "numbers", columns);
    for (size_t i = 0; i < story->count;) {
        story_stage stage = story_stage_at(story, i);
        start_stage(out, story, stage, width);
        for (; i < stage.first + stage.count; i++)
            iteration_row(out, &story->items[i]);
    }
    fputs("</table></div>\n", out);
}

/* ---- Times ---- */

static double sum_times(const training_story *story, const char *key)
{
    double sum = 0;
    for (size_t i = 0; i < story->count; i++)
        if (story->items[i].times)
            sum += story_number(story->items[i].times, key);
    return sum;
}

/* The times of all iterations as one. */
static json_t *all_times(const training_story *story)
{
    static const char *const others[] = {"seconds", "sound", "gaussians_scored"};
    json_t *all = json_object();
    for (size_t i = 0; i < STORY_STEPS + 3; i++) {
        const char *key = i < STORY_STEPS ? story_steps[i] : others[i - STORY_STEPS];
        json_object_set_new(all, key, json_real(sum_times(story, key))); /* not set where the sum is no number */
    }
    return all;
}

static void times_row(FILE *out, const json_t *times)
{
    html_number_cell(out, story_number(times, "seconds"), 3);
    html_number_cell(out, story_step_seconds(times), 3);
    html_count_cell(out, story_speed(times));
    html_count_cell(out, story_number(times, "gaussians_scored") / story_number(times, "score") / 1e6);
    for (size_t s = 0; s < STORY_STEPS; s++)
        html_number_cell(out, 100 * story_share(times, s), 1);
    fputc('\n', out);
}

void report_times(FILE *out, const training_story *story)
{
    static const char *const columns[] = {"iteration",     "seconds",      "processor seconds", "hours per hour",
                                          "M Gaussians/s", "load %",       "score %",           "alpha %",
                                          "backtrack %",   "accumulate %", "estimate %",        NULL};
    int width = (int)(sizeof columns / sizeof *columns) - 1;
    start_table(out, "numbers", columns);
    for (size_t i = 0; i < story->count;) {
        story_stage stage = story_stage_at(story, i);
        start_stage(out, story, stage, width);
        for (; i < stage.first + stage.count; i++) {
            fprintf(out, "<tr><th scope=row>%d", story->items[i].number);
            times_row(out, story->items[i].times);
        }
    }
    json_t *all = all_times(story);
    fputs("<tfoot><tr><th scope=row>all", out);
    times_row(out, all);
    json_decref(all);
    fputs("</table></div>\n", out);
}

/* ---- Utterances that stand out ---- */

static int names_it(const json_t *list, const char *id)
{
    for (size_t k = 0; k < json_array_size(list); k++)
        if (strcmp(story_text(json_array_get(list, k), "id"), id) == 0)
            return 1;
    return 0;
}

/* In how many iterations the list names the utterance; the flat start, which searches nothing, does not count. */
static size_t times_named(const training_story *story, const char *list, const char *id)
{
    size_t count = 0;
    for (size_t i = 0; i < story->count; i++) {
        const story_iteration *n = &story->items[i];
        count += !story_is_flat_start(n) && names_it(json_object_get(n->times ? n->times : n->results, list), id);
    }
    return count;
}

void report_unfit(FILE *out, const training_story *story)
{
    static const char *const columns[] = {"utterance", "fit", NULL};
    const json_t *unfit = json_object_get(story->items[story->count - 1].results, "unfit");
    start_list(out, "names", columns);
    for (size_t k = 0; k < json_array_size(unfit); k++) {
        fputs("<tr>", out);
        html_text_cell(out, story_text(json_array_get(unfit, k), "id"));
        html_number_cell(out, story_number(json_array_get(unfit, k), "fit"), 3);
        fputc('\n', out);
    }
    fputs("</table></div>\n", out);
}

void report_worst(FILE *out, const training_story *story)
{
    static const char *const columns[] = {"utterance", "log-likelihood", "times named", NULL};
    const json_t *last = story->items[story->count - 1].results, *worst = json_object_get(last, "worst");
    start_list(out, "names", columns);
    for (size_t k = 0; k < json_array_size(worst); k++) {
        const char *id = story_text(json_array_get(worst, k), "id");
        double value = story_number(json_array_get(worst, k), "log_likelihood");
        fputs("<tr>", out);
        html_text_cell(out, id);
        html_number_cell(out, value, 2);
        html_count_cell(out, (double)times_named(story, "worst", id));
        fputc('\n', out);
    }
    fputs("</table></div>\n", out);
}

void report_slowest(FILE *out, const training_story *story)
{
    static const char *const columns[] = {"utterance", "ms", "times named", NULL};
    size_t last = story->count;
    while (last > 0 && !story->items[last - 1].times)
        last--;
    const json_t *slowest = last > 0 ? json_object_get(story->items[last - 1].times, "slowest") : NULL;
    start_list(out, "names", columns);
    for (size_t k = 0; k < json_array_size(slowest); k++) {
        const char *id = story_text(json_array_get(slowest, k), "id");
        fputs("<tr>", out);
        html_text_cell(out, id);
        html_number_cell(out, 1000 * story_number(json_array_get(slowest, k), "seconds"), 2);
        html_count_cell(out, (double)times_named(story, "slowest", id));
        fputc('\n', out);
    }
    fputs("</table></div>\n", out);
}

/* ---- Failures ---- */

typedef struct failure {
    const char *id, *reason;
    int iteration;
} failure;

static int compare_failures(const void *a, const void *b)
{
    const failure *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    if (order == 0)
        order = strcmp(x->reason, y->reason);
    return order ? order : (x->iteration > y->iteration) - (x->iteration < y->iteration);
}

static size_t count_failures(const training_story *story)
{
    size_t count = 0;
    for (size_t i = 0; i < story->count; i++)
        count += json_array_size(json_object_get(story->items[i].results, "failures"));
    return count;
}

static void list_failures(const training_story *story, failure *list)
{
    for (size_t i = 0; i < story->count; i++) {
        const json_t *failures = json_object_get(story->items[i].results, "failures");
        for (size_t k = 0; k < json_array_size(failures); k++) {
            const json_t *item = json_array_get(failures, k);
            *list++ = (failure){story_text(item, "id"), story_text(item, "reason"), story->items[i].number};
        }
    }
}

static int same_failure(const failure *a, const failure *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->reason, b->reason) == 0;
}

/* 2–5, 7: iterations that follow each other are one range. Returns how many of the list it took. */
static size_t failure_row(FILE *out, const failure *list, size_t count)
{
    size_t used = 0;
    fputs("<tr>", out);
    html_text_cell(out, list->id);
    html_text_cell(out, list->reason);
    fputs("<td>", out);
    while (used < count && same_failure(list, list + used)) {
        size_t from = used++;
        while (used < count && same_failure(list, list + used) && list[used].iteration <= list[used - 1].iteration + 1)
            used++;
        fprintf(out, "%s%d", from ? ", " : "", list[from].iteration);
        if (list[used - 1].iteration > list[from].iteration)
            fprintf(out, "–%d", list[used - 1].iteration);
    }
    fputc('\n', out);
    return used;
}

int report_failures(FILE *out, const training_story *story, trl_error *err)
{
    static const char *const columns[] = {"utterance", "reason", "iterations", NULL};
    size_t count = count_failures(story);
    failure *list = calloc(count + 1, sizeof *list);
    if (!list)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    list_failures(story, list);
    qsort(list, count, sizeof *list, compare_failures);
    start_list(out, "failures", columns);
    for (size_t i = 0; i < count;)
        i += failure_row(out, list + i, count - i);
    fputs("</table></div>\n", out);
    free(list);
    return 0;
}
