#include "report_page.h"
#include "cli.h"
#include "html.h"
#include "report_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/version.h>

static void write_start(FILE *out, const report_input *in)
{
    fputs("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
          "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n",
          out);
    fprintf(out, "<meta name=generator content=\"trellis %s\">\n<title>", trl_version());
    html_text(out, in->name);
    fprintf(out, " – training report</title>\n<style>\n%s</style>\n</head>\n<body>\n", report_style);
}

/* ---- The beginning ---- */

static const json_t *last_results(const report_input *in)
{
    return in->story->count > 0 ? in->story->items[in->story->count - 1].results : NULL;
}

/* Of the iterations; NAN without times. */
static double total_seconds(const report_input *in)
{
    double sum = 0;
    for (size_t i = 0; i < in->story->count; i++)
        sum += story_number(in->story->items[i].times, "seconds");
    return sum;
}

/* With what lies between them, where the times say. */
static double training_seconds(const report_input *in)
{
    double sum = 0;
    for (size_t i = 0; i < in->story->count; i += story_stage_at(in->story, i).count)
        sum += story_stage_seconds(in->story, story_stage_at(in->story, i));
    return isfinite(sum) ? sum : total_seconds(in);
}

static void write_lead(FILE *out, const report_input *in)
{
    const json_t *last = last_results(in);
    fputs("<p>", out);
    if (!last) {
        fputs("The file carries no history: this model was imported, or never trained.</p>\n", out);
        return;
    }
    fprintf(out, "%zu iteration%s", in->story->count, in->story->count == 1 ? "" : "s");
    if (story_stages(in->story) > 1)
        fprintf(out, " in %zu stages", story_stages(in->story));
    fputs(" over ", out);
    html_time(out, story_number(last, "sound"));
    fputs(" of sound", out);
    if (isfinite(training_seconds(in))) {
        fputs(" took ", out);
        html_time(out, training_seconds(in));
    }
    fputs(".</p>\n", out);
    double number = story_number(last, "iteration"), of = story_number(last, "of");
    if (number < of)
        fprintf(out, "<p class=warning>The training is not finished: this is iteration %.0f of %.0f%s.</p>\n", number,
                of, story_stages(in->story) > 1 ? " at least" : "");
}

static void write_figure(FILE *out, const char *name, double value, int digits)
{
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    if (digits == 0)
        html_count(out, value);
    else
        html_number(out, value, digits);
    fputs("</dd></div>\n", out);
}

static void write_figures(FILE *out, const report_input *in)
{
    const json_t *last = last_results(in);
    double sound = 0;
    fputs("<dl class=figures>\n", out);
    write_figure(out, "Gaussians", (double)trl_model_gaussians(in->model), 0);
    write_figure(out, "tied states", trl_model_tied_states(in->model), 0);
    if (last) {
        write_figure(out, "log-likelihood per frame", story_number(last, "log_likelihood"), 3);
        write_figure(out, "utterances aligned", story_number(last, "utterances"), 0);
        write_figure(out, "left out", story_number(last, "failed"), 0);
    }
    for (size_t i = 0; i < in->story->count; i++)
        sound += story_number(in->story->items[i].times, "sound");
    if (isfinite(sound) && total_seconds(in) > 0)
        write_figure(out, "hours of sound per hour", sound / total_seconds(in), 0);
    fputs("</dl>\n", out);
}

static void write_remarks(FILE *out, const report_input *in)
{
    const training_story *s = in->story;
    if (s->remark_count == 0)
        return;
    fputs("<div class=warning><p>Lines that could not be used:</p><ul>\n", out);
    for (size_t i = 0; i < STORY_REMARKS && s->remarks[i]; i++) {
        fputs("<li>", out);
        html_text(out, s->remarks[i]);
        fputc('\n', out);
    }
    if (s->remark_count > STORY_REMARKS)
        fprintf(out, "<li>and %zu more\n", s->remark_count - STORY_REMARKS);
    fputs("</ul></div>\n", out);
}

static void write_header(FILE *out, const report_input *in)
{
    fputs("<header>\n<p class=kicker>trellis · training report</p>\n<h1>", out);
    html_text(out, in->name);
    fputs("</h1>\n", out);
    write_lead(out, in);
    write_figures(out, in);
    write_remarks(out, in);
    fputs("</header>\n", out);
}

/* ---- Pictures and tables ---- */

static void write_plot(FILE *out, const report_input *in, report_plot plot, const char *title, const char *caption)
{
    if (in->plots[plot])
        fprintf(out, "<figure>\n<figcaption><b>%s</b> %s</figcaption>\n%s</figure>\n", title, caption, in->plots[plot]);
}

static void write_stages(FILE *out, const report_input *in)
{
    if (story_stages(in->story) == 1 && !story_has_gains(in->story))
        return;
    fputs("<section>\n<h2>Stages</h2>\n<div class=pair>\n<div>\n", out);
    report_stages(out, in->story);
    fputs("<p class=note>As the stage's last iteration has it: tied states, Gaussians, log-likelihood per frame. "
          "Seconds are those of the clock, with trees and transforms. The stage lda changes the frames: its "
          "likelihoods can't be compared with those before it.</p>\n</div>\n",
          out);
    write_plot(out, in, PLOT_GAINS, "Transforms",
               "of the frames, estimated ahead of some iterations: log-likelihood per frame of speech that they add.");
    fputs("</div>\n</section>\n", out);
}

static void write_likelihood(FILE *out, const report_input *in)
{
    int ladder = story_stages(in->story) > 1;
    char caption[600];
    snprintf(caption, sizeof caption,
             "Natural logarithm, per frame, of each iteration's model before it is estimated anew. Dotted lines: more "
             "Gaussians per state, so many at the most.%s%s",
             ladder ? " Each stage starts again with one; where it has other frames, a new scale begins." : "",
             story_is_flat_start(&in->story->items[0])
                 ? " The flat start, iteration 1, searches nothing and is not drawn."
                 : "");
    write_plot(out, in, PLOT_LIKELIHOOD, "Likelihood.", caption);
}

static void write_progress(FILE *out, const report_input *in)
{
    fputs("<section>\n<h2>Progress</h2>\n", out);
    if (in->no_plots) {
        fputs("<p class=note>There are no plots: ", out);
        html_text(out, in->no_plots);
        fputs(". The tables have their numbers.</p>\n", out);
    }
    write_likelihood(out, in);
    fputs("<div class=pair>\n", out);
    write_plot(out, in, PLOT_GAUSSIANS, "Gaussians", "in the model of each iteration.");
    write_plot(out, in, PLOT_SPEED, "Hours of sound per hour",
               story_is_flat_start(&in->story->items[0]) ? "from the first search on, iteration 2."
                                                         : "in each iteration.");
    fputs("</div>\n<h3>Iterations</h3>\n"
          "<p class=note>Redone: searched again with a wider band. Audited: searched in full as well; agree: share of "
          "their frames on which both searches do. Dropped: Gaussians with too little data. Floored: variances at the "
          "floor. States kept: without data, as they were.</p>\n",
          out);
    report_iterations(out, in->story);
    fputs("</section>\n", out);
}

static void write_times(FILE *out, const report_input *in)
{
    fputs("<section>\n<h2>Where the time goes</h2>\n", out);
    if (in->story->timed == 0) {
        fputs("<p class=note>The times are missing. Training writes them to a journal beside the model, and ", out);
        html_text(out, in->journal);
        fputs(" has none of this training.</p>\n</section>\n", out);
        return;
    }
    write_plot(
        out, in, PLOT_STEPS, "Steps.",
        "Shares of the processor time: loading features and building graphs; likelihoods of the states; best path "
        "forward, and its backtrack; gathering statistics; estimating the model.");
    report_times(out, in->story);
    fputs("<p class=note>Seconds are those of the clock. Processor seconds are those of the steps in all threads; what "
          "is missing to seconds times threads was waiting. Gaussians per second are those of the step score.</p>\n"
          "</section>\n",
          out);
}

/* ---- Utterances ---- */

/* How many failures the iterations count, less those that they name. */
static double unnamed_failures(const training_story *story)
{
    double unnamed = 0;
    for (size_t i = 0; i < story->count; i++)
        unnamed += story_number(story->items[i].results, "failed") -
                   (double)json_array_size(json_object_get(story->items[i].results, "failures"));
    return unnamed;
}

static int any_failed(const training_story *story)
{
    for (size_t i = 0; i < story->count; i++)
        if (json_array_size(json_object_get(story->items[i].results, "failures")) > 0 ||
            story_number(story->items[i].results, "failed") > 0)
            return 1;
    return 0;
}

static int write_failures(FILE *out, const training_story *story, trl_error *err)
{
    fputs("<h3>Left out</h3>\n", out);
    if (!any_failed(story)) {
        fputs("<p>None: every iteration aligned every utterance.</p>\n", out);
        return 0;
    }
    fputs("<p class=note>Utterances that could not be aligned, and the iterations that left them out.", out);
    if (unnamed_failures(story) > 0)
        fputs(" The history names the first ten of an iteration; the table of iterations counts all of them.", out);
    fputs("</p>\n", out);
    return report_failures(out, story, err);
}

static int write_utterances(FILE *out, const report_input *in, trl_error *err)
{
    fputs("<section>\n<h2>Utterances to look at</h2>\n<div class=pair>\n", out);
    if (json_object_get(in->story->items[in->story->count - 1].results, "unfit")) {
        fputs(
            "<div>\n<h3>Worst fit</h3>\n<p class=note>Do the words fit the sound? 1: nothing fits better anywhere; 0: "
            "random words would do as well. Wrong transcripts come first.</p>\n",
            out);
        report_unfit(out, in->story);
        fputs("</div>\n", out);
    }
    fputs("<div>\n<h3>Least likely</h3>\n"
          "<p class=note>Lowest log-likelihood per frame in the last iteration: noise, another room or language. Times "
          "named: in so many iterations among the worst.</p>\n",
          out);
    report_worst(out, in->story);
    fputs("</div>\n<div>\n<h3>Slowest</h3>\n", out);
    if (in->story->timed == 0)
        fputs("<p class=note>The times are missing.</p>\n", out);
    else {
        fputs("<p class=note>Processor time in the last iteration: long, or searched again and again.</p>\n", out);
        report_slowest(out, in->story);
    }
    fputs("</div>\n</div>\n", out);
    int code = write_failures(out, in->story, err);
    fputs("</section>\n", out);
    return code;
}

/* ---- The model ---- */

static void write_units(FILE *out, const trl_model *model)
{
    static const char *const kinds[] = {
        [TRL_UNIT_PHONE] = "phones", [TRL_UNIT_SILENCE] = "silence", [TRL_UNIT_NOISE] = "noise"};
    for (int kind = TRL_UNIT_PHONE; kind <= TRL_UNIT_NOISE; kind++) {
        double count = 0;
        for (int32_t u = 0; u < trl_model_units(model); u++)
            count += trl_model_unit(model, u).kind == (trl_unit_kind)kind;
        if (count == 0)
            continue;
        fprintf(out, "<tr><th scope=row>%s<td>", kinds[kind]);
        html_count(out, count);
        const char *between = ": ";
        for (int32_t u = 0; u < trl_model_units(model); u++) {
            if (trl_model_unit(model, u).kind != (trl_unit_kind)kind)
                continue;
            fputs(between, out);
            html_text(out, trl_model_unit(model, u).name);
            between = " ";
        }
        fputc('\n', out);
    }
}

static void write_fact(FILE *out, const char *name, double value)
{
    fprintf(out, "<tr><th scope=row>%s<td>", name);
    html_count(out, value);
    fputc('\n', out);
}

static void write_mixtures(FILE *out, const trl_model *model)
{
    int32_t states = trl_model_tied_states(model), least = INT32_MAX, most = 0;
    for (int32_t s = 0; s < states; s++) {
        int32_t components = trl_model_components(model, s);
        least = components < least ? components : least;
        most = components > most ? components : most;
    }
    write_fact(out, "Gaussians", (double)trl_model_gaussians(model));
    if (states > 0)
        fprintf(out, "<tr><th scope=row>Gaussians per tied state<td>%d to %d, %.1f on average\n", least, most,
                (double)trl_model_gaussians(model) / states);
}

static void write_tree(FILE *out, const trl_model *model)
{
    trl_tree_facts tree = trl_model_tree(model);
    if (tree.width > 1)
        fprintf(out,
                "<tr><th scope=row>context<td>%d to the left, %d to the right\n<tr><th scope=row>tree<td>%d questions "
                "about %d sets of units, up to %d deep\n",
                tree.centre, tree.width - 1 - tree.centre, tree.questions, tree.sets, tree.depth);
    if (trl_model_first_pass_gaussians(model) > 0)
        write_fact(out, "Gaussians for frames that are not adapted", (double)trl_model_first_pass_gaussians(model));
}

static void write_model_text(FILE *out, const char *title, const char *text)
{
    char *cut = cli_cut_lines(text);
    if (*cut) {
        fprintf(out, "<h3>%s</h3>\n<pre>\n", title);
        html_text(out, cut);
        fputs("</pre>\n", out);
    }
    free(cut);
}

static void write_model(FILE *out, const trl_model *model)
{
    double states = 0;
    for (int32_t u = 0; u < trl_model_units(model); u++)
        states += trl_model_unit(model, u).states;
    fputs("<section>\n<h2>The model</h2>\n<div class=wide><table class=facts><tbody>\n", out);
    write_units(out, model);
    write_fact(out, "states of all units", states);
    write_fact(out, "tied states", trl_model_tied_states(model));
    write_fact(out, "transitions", trl_model_transitions(model));
    write_mixtures(out, model);
    write_tree(out, model);
    write_fact(out, "values per frame", trl_model_dim(model));
    if (*trl_model_lexicon(model)) {
        fputs("<tr><th scope=row>lexicon", out);
        html_text_cell(out, trl_model_lexicon(model));
    }
    fputs("</table></div>\n", out);
    write_model_text(out, "How it was made", trl_model_provenance(model));
    write_model_text(out, "Front end", trl_model_frontend(model));
    fputs("</section>\n", out);
}

int report_page_write(FILE *out, const report_input *input, trl_error *err)
{
    int code = 0;
    write_start(out, input);
    write_header(out, input);
    fputs("<main>\n", out);
    if (input->story->count > 0) {
        write_stages(out, input);
        write_progress(out, input);
        write_times(out, input);
        code = write_utterances(out, input, err);
    }
    write_model(out, input->model);
    fputs("</main>\n</body>\n</html>\n", out);
    return code;
}
