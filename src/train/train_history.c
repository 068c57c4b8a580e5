#include "train/train_history.h"
#include "base/fail.h"
#include "base/memory.h"

#include <jansson.h>
#include <string.h>

static json_t *notable_list(const trl__notable *list, size_t count, const trl__training_data *data, const char *key)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++)
        json_array_append_new(array,
                              json_pack("{s:s,s:f}", "id", data->utterance[list[i].utterance]->id, key, list[i].value));
    return array;
}

static json_t *failure_list(const trl__pass_result *r, const trl__training_data *data)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < r->failed_count; i++)
        json_array_append_new(array, json_pack("{s:s,s:s}", "id", data->utterance[r->failed[i].utterance]->id, "reason",
                                               trl__status_text((int32_t)r->failed[i].value)));
    return array;
}

static int add_results(json_t *line, const trl__pass_result *r, const trl__training_data *data)
{
    const trl_iteration *n = &r->numbers;
    json_t *numbers =
        json_pack("{s:i,s:s,s:i,s:i,s:i,s:i,s:f,s:i,s:I,s:f,s:f,s:f,s:I,s:I,s:I,s:I,s:f,s:f,s:I,s:I,s:I,s:f}",
                  "iteration", n->number, "stage", n->stage, "first", n->first, "wide", n->wide, "of", n->of,
                  "tied_states", n->tied_states, "transform_gain", n->transform_gain, "components", n->components,
                  "gaussians", (json_int_t)n->gaussians, "log_likelihood", n->log_likelihood, "joint", n->joint,
                  "frames", n->frames, "utterances", (json_int_t)n->utterances, "failed", (json_int_t)n->failed,
                  "redone", (json_int_t)n->redone, "audited", (json_int_t)n->audited, "audited_frames",
                  n->audited_frames, "audited_differ", n->audited_differ, "dropped", (json_int_t)n->dropped, "floored",
                  (json_int_t)n->floored, "kept_states", (json_int_t)n->kept_states, "sound", n->sound);
    int code = json_object_update(line, numbers);
    json_decref(numbers);
    return code | json_object_set_new(line, "worst", notable_list(r->worst, r->worst_count, data, "log_likelihood")) |
           json_object_set_new(line, "failures", failure_list(r, data)) |
           (r->unfit_count > 0 ? json_object_set_new(line, "unfit", notable_list(r->unfit, r->unfit_count, data, "fit"))
                               : 0);
}

static int add_times(json_t *line, const trl__pass_result *r, const trl__training_data *data)
{
    const trl_iteration *n = &r->numbers;
    json_t *times = json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "seconds", n->seconds, "load", n->load, "score",
                              n->score, "alpha", n->alpha, "backtrack", n->backtrack, "accumulate", n->accumulate,
                              "estimate", n->estimate, "gaussians_scored", n->gaussians_scored);
    int code = json_object_update(line, times);
    json_decref(times);
    return code | json_object_set_new(line, "slowest", notable_list(r->slowest, r->slowest_count, data, "seconds"));
}

char *trl__history_line(const trl__pass_result *result, const trl__training_data *data, int journal)
{
    json_t *line = json_object();
    char *text = NULL;
    if (line && add_results(line, result, data) == 0 && (!journal || add_times(line, result, data) == 0)) {
        char *dump = json_dumps(line, JSON_COMPACT);
        text = dump ? trl__strdup(dump) : NULL;
        free(dump);
    }
    json_decref(line);
    return text;
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
