/* trellis report: the story of a training as one page. */
#include "cli.h"
#include "report_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/file.h>

extern const cli_command cmd_report;

struct values {
    cli_common common;
    const char *output, *journal;
};

typedef struct job {
    const struct values *values;
    const char *path; /* of the model */
    char *journal, *output;
    trl_model *model;
    training_story story;
    char *plots[REPORT_PLOTS];
    trl_error no_plots; /* code 0: there are */
} job;

/* ---- Reading ---- */

/* *text is the caller's. TRL_ENOENT: there is no such file. */
static int read_text(const char *path, char **text, size_t *size, trl_error *err)
{
    *text = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return cli_error(err, errno == ENOENT ? TRL_ENOENT : TRL_EIO, "%s: can't read it: %s", path, strerror(errno));
    int code = trl_file_declare_input(path, err);
    if (code < 0) {
        fclose(file);
        return code;
    }
    FILE *copy = cli_text_open(text, size);
    char bytes[65536];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        fwrite(bytes, 1, got, copy);
    int failed = ferror(file), reason = errno;
    fclose(file);
    cli_text_close(copy);
    return failed ? cli_error(err, TRL_EIO, "%s: can't read it: %s", path, strerror(reason)) : 0;
}

/* A journal that is not there is no fault, unless it was asked for. */
static int read_journal(job *j, trl_error *err)
{
    char *text;
    size_t size = 0;
    int code = read_text(j->journal, &text, &size, err);
    if (code == 0)
        code = story_add_journal(&j->story, text, size, j->journal, err);
    free(text);
    return code == TRL_ENOENT && !j->values->journal ? 0 : code;
}

static int read_story(job *j, trl_error *err)
{
    int code = trl_model_import(j->path, NULL, &j->model, err);
    if (code < 0)
        return code;
    const char *history = trl_model_history(j->model);
    code = story_add_history(&j->story, history, strlen(history), j->path, err);
    return code == 0 && (*history || j->values->journal) ? read_journal(j, err) : code;
}

/* ---- Writing ---- */

/* Without gnuplot the page is there all the same, with its tables. */
static void draw_plots(job *j)
{
    for (int p = 0; p < REPORT_PLOTS && j->no_plots.code == 0; p++)
        report_plot_draw((report_plot)p, &j->story, &j->plots[p], &j->no_plots);
    if (j->no_plots.code == TRL_ENOMEM)
        cli_out_of_memory();
}

static int write_page(job *j, trl_error *err)
{
    const char *name = strrchr(j->path, '/');
    report_input in = {.name = name ? name + 1 : j->path,
                       .model = j->model,
                       .story = &j->story,
                       .no_plots = j->no_plots.code ? j->no_plots.text : NULL,
                       .journal = j->journal};
    for (int p = 0; p < REPORT_PLOTS; p++)
        in.plots[p] = j->plots[p];
    char *page = NULL;
    size_t size;
    FILE *out = cli_text_open(&page, &size);
    int code = report_page_write(out, &in, err);
    cli_text_close(out);
    if (code == 0)
        code = cli_save(j->output, page, size, err);
    free(page);
    return code;
}

/* ---- The command ---- */

static int say_remarks(const job *j)
{
    const training_story *s = &j->story;
    for (size_t i = 0; i < STORY_REMARKS && s->remarks[i]; i++)
        fprintf(stderr, "%s\n", s->remarks[i]);
    if (s->remark_count > STORY_REMARKS)
        fprintf(stderr, "and %zu more\n", s->remark_count - STORY_REMARKS);
    return s->remark_count > 0 ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int report(job *j, trl_error *err)
{
    int code = read_story(j, err);
    if (code < 0)
        return code;
    draw_plots(j);
    if (j->no_plots.code)
        cli_say(&j->values->common, "warning: the page has no plots: %s", j->no_plots.text);
    return write_page(j, err);
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    const struct values *v = values;
    trl_error err;
    job j = {.values = v,
             .path = arguments[0],
             .journal = v->journal ? cli_with_ending(v->journal, "") : cli_with_ending(arguments[0], ".journal"),
             .output = v->output ? cli_with_ending(v->output, "") : cli_with_ending(arguments[0], ".html")};
    int code = report(&j, &err) < 0 ? cli_failure(&err) : say_remarks(&j);
    if (code != EXIT_FAILED)
        cli_say(&v->common, "%zu iterations, %zu with times -> %s", j.story.count, j.story.timed, j.output);
    for (int p = 0; p < REPORT_PLOTS; p++)
        free(j.plots[p]);
    story_free(&j.story);
    trl_model_destroy(j.model);
    free(j.journal);
    free(j.output);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "FILE", "the page (default MODEL.html)"},
    {"journal", 0, CLI_TEXT, offsetof(struct values, journal), "FILE",
     "the training's times (default MODEL.journal, where it exists)"},
    {0}};

const cli_command cmd_report = {
    .name = "report",
    .synopsis = "MODEL [-o FILE]",
    .summary = "shows how a model was trained, as a page for the browser",
    .description =
        "Writes one HTML page that needs nothing else: what the model is; likelihood, Gaussians and speed by "
        "iteration; which step of training took how much of the time; what each iteration redid, left out, dropped "
        "and floored; the utterances that were aligned worst and took longest, and those that could not be aligned, "
        "by name and reason.\n\n"
        "Results come from the history that the model carries, times from the journal that `trellis train` writes "
        "beside it. Without the journal the page has no times. Lines of the journal that are broken, or belong to "
        "another training, are named, and the exit code is 1.\n\n"
        "The plots are drawn by gnuplot; without it the page has the tables only.",
    .options = options,
    .examples = "trellis report mono.trm\n"
                "trellis report mono.trm -o report.html --journal elsewhere/mono.trm.journal",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct values),
    .run = run,
};
