#include "train/train_history.h"
#include "base/fail.h"
#include "base/json_text.h"
#include "base/memory.h"

#include <string.h>

/* Utterances with a number each. */
static void add_notable(trl__json *line, const char *name, const trl__notable *list, size_t count,
                        const trl__training_data *data, const char *key)
{
    trl__json_open(line, name, '[');
    for (size_t i = 0; i < count; i++) {
        trl__json_open(line, NULL, '{');
        trl__json_add_text(line, "id", data->utterance[list[i].utterance]->id);
        trl__json_add_real(line, key, list[i].value);
        trl__json_close(line, '}');
    }
    trl__json_close(line, ']');
}

static void add_failures(trl__json *line, const trl__pass_result *r, const trl__training_data *data)
{
    trl__json_open(line, "failures", '[');
    for (size_t i = 0; i < r->failed_count; i++) {
        trl__json_open(line, NULL, '{');
        trl__json_add_text(line, "id", data->utterance[r->failed[i].utterance]->id);
        trl__json_add_text(line, "reason", trl__status_text((int32_t)r->failed[i].value));
        trl__json_close(line, '}');
    }
    trl__json_close(line, ']');
}

static void add_results(trl__json *line, const trl__pass_result *r, const trl__training_data *data)
{
    const trl_iteration *n = &r->numbers;
    trl__json_add_whole(line, "iteration", n->number);
    trl__json_add_text(line, "stage", n->stage);
    trl__json_add_whole(line, "first", n->first);
    trl__json_add_whole(line, "wide", n->wide);
    trl__json_add_whole(line, "of", n->of);
    trl__json_add_whole(line, "tied_states", n->tied_states);
    trl__json_add_real(line, "transform_gain", n->transform_gain);
    trl__json_add_whole(line, "components", n->components);
    trl__json_add_whole(line, "gaussians", n->gaussians);
    trl__json_add_real(line, "log_likelihood", n->log_likelihood);
    trl__json_add_real(line, "joint", n->joint);
    trl__json_add_real(line, "frames", n->frames);
    trl__json_add_whole(line, "utterances", (int64_t)n->utterances);
    trl__json_add_whole(line, "failed", (int64_t)n->failed);
    trl__json_add_whole(line, "redone", (int64_t)n->redone);
    trl__json_add_whole(line, "audited", (int64_t)n->audited);
    trl__json_add_real(line, "audited_frames", n->audited_frames);
    trl__json_add_real(line, "audited_differ", n->audited_differ);
    trl__json_add_whole(line, "dropped", n->dropped);
    trl__json_add_whole(line, "floored", n->floored);
    trl__json_add_whole(line, "kept_states", n->kept_states);
    trl__json_add_real(line, "sound", n->sound);
    add_notable(line, "worst", r->worst, r->worst_count, data, "log_likelihood");
    add_failures(line, r, data);
    if (r->unfit_count > 0)
        add_notable(line, "unfit", r->unfit, r->unfit_count, data, "fit");
}

static void add_times(trl__json *line, const trl__pass_result *r, const trl__training_data *data)
{
    const trl_iteration *n = &r->numbers;
    trl__json_add_real(line, "seconds", n->seconds);
    trl__json_add_real(line, "stage_seconds", n->stage_seconds);
    trl__json_add_real(line, "load", n->load);
    trl__json_add_real(line, "score", n->score);
    trl__json_add_real(line, "alpha", n->alpha);
    trl__json_add_real(line, "backtrack", n->backtrack);
    trl__json_add_real(line, "accumulate", n->accumulate);
    trl__json_add_real(line, "estimate", n->estimate);
    trl__json_add_real(line, "gaussians_scored", n->gaussians_scored);
    add_notable(line, "slowest", r->slowest, r->slowest_count, data, "seconds");
}

char *trl__history_line(const trl__pass_result *result, const trl__training_data *data, int journal)
{
    trl__json line = {0};
    trl__json_open(&line, NULL, '{');
    add_results(&line, result, data);
    if (journal)
        add_times(&line, result, data);
    trl__json_close(&line, '}');
    return trl__json_take(&line);
}

int trl__history_append(char **text, const char *line, trl_error *err)
{
    size_t before = *text ? strlen(*text) : 0, more = strlen(line);
    char *longer = trl__realloc(*text, before + more + 2, 1);
    if (!longer)
        return trl__fail_memory(err);
    memcpy(longer + before, line, more);
    memcpy(longer + before + more, "\n", 2);
    *text = longer;
    return 0;
}
