#include "training_story.h"
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

double story_number(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *story_text(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

TRL_PRINTF(2, 3) static void remark(training_story *story, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (story->remark_count < STORY_REMARKS)
        story->remarks[story->remark_count] = strdup(text); /* NULL where memory ends: then it is only counted */
    story->remark_count++;
}

const char *const story_steps[STORY_STEPS] = {"load", "score", "alpha", "backtrack", "accumulate", "estimate"};

double story_step_seconds(const json_t *times)
{
    double sum = 0;
    for (size_t i = 0; i < STORY_STEPS; i++) {
        double seconds = story_number(times, story_steps[i]);
        sum += seconds >= 0 ? seconds : NAN;
    }
    return sum;
}

double story_share(const json_t *times, size_t step)
{
    double sum = story_step_seconds(times);
    return sum > 0 && isfinite(sum) ? story_number(times, story_steps[step]) / sum : NAN;
}

double story_speed(const json_t *times)
{
    double sound = story_number(times, "sound"), seconds = story_number(times, "seconds");
    return sound >= 0 && seconds > 0 ? sound / seconds : NAN;
}

/* ---- Stages ---- */

static int same_stage(const json_t *a, const json_t *b)
{
    return strcmp(story_text(a, "stage"), story_text(b, "stage")) == 0 &&
           json_integer_value(json_object_get(a, "first")) == json_integer_value(json_object_get(b, "first"));
}

story_stage story_stage_at(const training_story *story, size_t first)
{
    story_stage stage = {.name = "", .first = first};
    if (first < story->count)
        stage.name = story_text(story->items[first].results, "stage");
    while (first + stage.count < story->count &&
           same_stage(story->items[first].results, story->items[first + stage.count].results))
        stage.count++;
    return stage;
}

size_t story_stages(const training_story *story)
{
    size_t count = 0;
    for (size_t i = 0; i < story->count; i += story_stage_at(story, i).count)
        count++;
    return count;
}

int story_is_flat_start(const story_iteration *n)
{
    return n->number == 1 && story_number(n->results, "log_likelihood") == 0;
}

int story_changes_frames(story_stage stage)
{
    return stage.first > 0 && strcmp(stage.name, "lda") == 0;
}

/* The journal has the clock since the stage began, or since a training went on in the middle of it. */
double story_stage_seconds(const training_story *story, story_stage stage)
{
    double sum = 0, before = 0;
    for (size_t i = stage.first; i < stage.first + stage.count; i++) {
        double clock = story_number(story->items[i].times, "stage_seconds");
        sum += clock - (clock >= before ? before : 0);
        before = clock;
    }
    return sum;
}

int story_has_gains(const training_story *story)
{
    for (size_t i = 0; i < story->count; i++)
        if (story_number(story->items[i].results, "transform_gain") > 0)
            return 1;
    return 0;
}

/* ---- Lines ---- */

typedef struct place {
    const char *name;
    size_t line; /* from 1 */
} place;

/* Takes the line over, or frees it. */
typedef int use_line(training_story *story, json_t *line, int number, place at, trl_error *err);

static json_t *parse_line(training_story *story, const char *text, size_t length, int *number, place at)
{
    json_error_t error;
    json_t *line = json_loadb(text, length, 0, &error);
    const json_t *iteration = json_object_get(line, "iteration");
    json_int_t value = json_integer_value(iteration);
    if (!line)
        remark(story, "%s:%zu: not JSON: %s", at.name, at.line, error.text);
    else if (json_is_integer(iteration) && value > 0 && value < 1000000000) {
        *number = (int)value;
        return line;
    } else
        remark(story, "%s:%zu: no iteration's number", at.name, at.line);
    json_decref(line);
    return NULL;
}

static int each_line(training_story *story, const char *text, size_t size, const char *name, use_line *use,
                     trl_error *err)
{
    int code = 0;
    const char *end = text + size;
    for (place at = {name, 1}; code == 0 && text < end; at.line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        int number;
        json_t *line = stop > text ? parse_line(story, text, (size_t)(stop - text), &number, at) : NULL;
        if (line)
            code = use(story, line, number, at, err);
        text = stop < end ? stop + 1 : end;
    }
    return code;
}

/* ---- The history ---- */

static int use_results(training_story *story, json_t *line, int number, place at, trl_error *err)
{
    if (story->count > 0 && number <= story->items[story->count - 1].number) {
        remark(story, "%s:%zu: iteration %d comes after iteration %d", at.name, at.line, number,
               story->items[story->count - 1].number);
        json_decref(line);
        return 0;
    }
    story_iteration *longer = realloc(story->items, (story->count + 1) * sizeof *longer);
    if (!longer) {
        json_decref(line);
        return cli_error(err, TRL_ENOMEM, "out of memory");
    }
    story->items = longer;
    story->items[story->count++] = (story_iteration){.number = number, .results = line};
    return 0;
}

int story_add_history(training_story *story, const char *text, size_t size, const char *name, trl_error *err)
{
    return each_line(story, text, size, name, use_results, err);
}

/* ---- The journal ---- */

static int compare_number(const void *key, const void *item)
{
    int a = *(const int *)key, b = ((const story_iteration *)item)->number;
    return (a > b) - (a < b);
}

/* Both lines are printed from the same numbers with all their digits. */
static int same_results(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"log_likelihood", "frames", "gaussians", "utterances"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            return 0;
    return 1;
}

static int use_times(training_story *story, json_t *line, int number, place at, trl_error *err)
{
    (void)err;
    story_iteration *item =
        story->count ? bsearch(&number, story->items, story->count, sizeof *item, compare_number) : NULL;
    if (!item)
        remark(story, "%s:%zu: the model's history has no iteration %d", at.name, at.line, number);
    else if (!same_results(item->results, line))
        remark(story, "%s:%zu: iteration %d of another training than the model's", at.name, at.line, number);
    else if (item->times)
        remark(story, "%s:%zu: iteration %d a second time", at.name, at.line, number);
    else {
        item->times = line;
        story->timed++;
        return 0;
    }
    json_decref(line);
    return 0;
}

int story_add_journal(training_story *story, const char *text, size_t size, const char *name, trl_error *err)
{
    return each_line(story, text, size, name, use_times, err);
}

void story_free(training_story *story)
{
    for (size_t i = 0; i < story->count; i++) {
        json_decref(story->items[i].results);
        json_decref(story->items[i].times);
    }
    for (size_t i = 0; i < STORY_REMARKS; i++)
        free(story->remarks[i]);
    free(story->items);
    *story = (training_story){0};
}
