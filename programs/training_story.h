/* The story of a training, read back: results from the model's history, times from the journal beside it.
 *
 * Both have a JSON object per line and iteration, see docs/formats.md. A line stays the object that it is; whoever shows
 * it asks for the keys. What can't be used is passed over, and said.
 */
#ifndef TRELLIS_TRAINING_STORY_H
#define TRELLIS_TRAINING_STORY_H

#include "cli_json.h"

#include <stddef.h>
#include <trellis/error.h>

#define STORY_REMARKS 20 /* that are kept */

typedef struct story_iteration {
    int number;
    json_t *results; /* the history's line */
    json_t *times;   /* the journal's; NULL: there is none */
} story_iteration;

typedef struct story_stage {
    const char *name;    /* "": the history does not say */
    size_t first, count; /* iterations: items[first] is the first */
} story_stage;

typedef struct training_story {
    story_iteration *items; /* numbers rise */
    size_t count, timed;    /* iterations; those with times */
    char *remarks[STORY_REMARKS];
    size_t remark_count; /* all, kept or not */
} training_story;

/* `name` stands for the text in remarks. Both return 0 or TRL_ENOMEM. */
int story_add_history(training_story *story, const char *text, size_t size, const char *name, trl_error *err);

/* Lines of iterations that the history has, with the same results: others are of another training. */
int story_add_journal(training_story *story, const char *text, size_t size, const char *name, trl_error *err);
void story_free(training_story *story);

/* The stage that begins with items[first]; the next one begins behind it. */
story_stage story_stage_at(const training_story *story, size_t first);
size_t story_stages(const training_story *story);

/* The flat start searches nothing: it has neither a likelihood nor a speed to speak of. */
int story_is_flat_start(const story_iteration *iteration);

/* Has the stage frames of another kind than those before it? Likelihoods can't be compared then. */
int story_changes_frames(story_stage stage);

/* By the clock, with what lies between iterations; NAN: the times don't say. */
double story_stage_seconds(const training_story *story, story_stage stage);

/* Has any iteration a transform that gained? */
int story_has_gains(const training_story *story);

/* The steps of an iteration, as the journal calls them, in their order. */
enum { STORY_STEPS = 6 };
extern const char *const story_steps[STORY_STEPS];

/* Of all steps and threads; NAN: the times don't say. */
double story_step_seconds(const json_t *times);

/* How much of that one of the steps took, 0 to 1; NAN: the times don't say. */
double story_share(const json_t *times, size_t step);

/* Seconds of sound per second; NAN: the times don't say. */
double story_speed(const json_t *times);

/* The number under a key; NAN: there is none. */
double story_number(const json_t *line, const char *key);

/* The text under a key; "": there is none. */
const char *story_text(const json_t *line, const char *key);

#endif
