/* Praat's TextGrid, long form: a file per recording, a tier of words and one of phones (and states) per speaker. Tiers of a
 * single speaker are called words and phones, of several NAME - words and NAME - phones, as Montreal Forced Aligner does.
 * A tier's intervals must not overlap, so utterances that do are put on further tiers. What no utterance covers is
 * an interval without text. */
#include "align/alignment_format.h"
#include "align/time_text.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define SLACK 1000 /* microseconds that rounding may put between neighbours, or take from them */

enum { WORDS, PHONES, STATES };

/* Utterances that can share tiers: of one speaker, on one channel, none overlapping. */
typedef struct group {
    const trl_utterance *first;
    int64_t end; /* microseconds */
    int number;  /* among the speaker's groups, from 1 */
} group;

typedef struct grid {
    const trl__recording *recording;
    group *groups;
    size_t count;
    size_t *group_of; /* by utterance */
    int64_t end;      /* microseconds */
    trl_file *file;
    trl_error *err;
} grid;

static int64_t start_of(const trl__recorded *u)
{
    return trl__microseconds(u->utterance->start);
}

/* ---- Which utterance goes on which tiers ---- */

static int fits(const group *g, const trl__recorded *u)
{
    return strcmp(g->first->speaker, u->utterance->speaker) == 0 && g->first->channel == u->utterance->channel &&
           g->end <= start_of(u) + SLACK;
}

static size_t choose_group(grid *g, const trl__recorded *u)
{
    size_t i = 0;
    while (i < g->count && !fits(&g->groups[i], u))
        i++;
    if (i == g->count) {
        int number = 1;
        for (size_t k = 0; k < g->count; k++)
            number += strcmp(g->groups[k].first->speaker, u->utterance->speaker) == 0;
        g->groups[g->count++] = (group){u->utterance, 0, number};
    }
    g->groups[i].end = trl__microseconds(u->utterance->start + u->seconds);
    return i;
}

/* ---- Text ---- */

/* A quote in the text is doubled. */
static int write_quoted(grid *g, const char *text)
{
    int code = 0;
    for (const char *quote; code == 0 && (quote = strchr(text, '"')); text = quote + 1)
        code = trl_file_print(g->file, g->err, "%.*s\"\"", (int)(quote - text), text);
    return code < 0 ? code : trl_file_write(g->file, text, strlen(text), g->err);
}

static int write_range(grid *g, const char *indent, int64_t from, int64_t to)
{
    char start[TRL__TIME_SIZE], end[TRL__TIME_SIZE];
    trl__time_text(from, start);
    trl__time_text(to, end);
    return trl_file_print(g->file, g->err, "%sxmin = %s \n%sxmax = %s \n", indent, start, indent, end);
}

/* What is between two times; segment NULL: nothing. A state is its unit's name and a number. */
static int write_interval(grid *g, size_t number, int64_t from, int64_t to, const trl_segment *segment, int level)
{
    int code = trl_file_print(g->file, g->err, "        intervals [%zu]:\n", number);
    if (code == 0)
        code = write_range(g, "            ", from, to);
    if (code == 0)
        code = trl_file_print(g->file, g->err, "            text = \"");
    if (code == 0 && segment)
        code = write_quoted(g, segment->label);
    if (code == 0 && segment && level == STATES)
        code = trl_file_print(g->file, g->err, ".%d", (int)segment->id);
    return code < 0 ? code : trl_file_print(g->file, g->err, "\" \n");
}

/* ---- Tiers ---- */

static const trl_segments *level_of(const trl__recorded *u, int level)
{
    return level == WORDS ? &u->words : level == PHONES ? &u->phones : &u->states;
}

/* A walk over a tier's intervals, which writes them, or only counts them: the number stands before them in the file. */
typedef struct walk {
    grid *grid;
    int level, writing;
    size_t count;
    int64_t at; /* microseconds */
} walk;

static int step(walk *w, int64_t to, const trl_segment *segment)
{
    int64_t from = w->at;
    w->at = to;
    w->count++;
    return w->writing ? write_interval(w->grid, w->count, from, to, segment, w->level) : 0;
}

static int step_over(walk *w, const trl__recorded *u)
{
    const trl_segments *segments = level_of(u, w->level);
    int code = segments->count > 0 && start_of(u) > w->at + SLACK ? step(w, start_of(u), NULL) : 0;
    for (size_t i = 0; code == 0 && i < segments->count; i++)
        code = step(w, trl__microseconds(u->utterance->start + segments->items[i].stop), &segments->items[i]);
    return code;
}

static int walk_tier(walk *w, size_t tier_group)
{
    const grid *g = w->grid;
    int code = 0;
    for (size_t i = 0; code == 0 && i < g->recording->count; i++)
        if (g->group_of[i] == tier_group)
            code = step_over(w, &g->recording->utterances[i]);
    return code == 0 && w->at < g->end ? step(w, g->end, NULL) : code;
}

static int write_tier_name(grid *g, const group *of, const char *level)
{
    int code = trl_file_print(g->file, g->err, "        class = \"IntervalTier\" \n        name = \"");
    if (code == 0 && g->count > 1) {
        code = write_quoted(g, of->first->speaker);
        if (code == 0 && of->number > 1)
            code = trl_file_print(g->file, g->err, " %d", of->number);
        if (code == 0)
            code = trl_file_print(g->file, g->err, " - ");
    }
    return code < 0 ? code : trl_file_print(g->file, g->err, "%s\" \n", level);
}

static int write_tier(grid *g, size_t tier_group, int level, size_t number)
{
    static const char *const names[] = {"words", "phones", "states"};
    walk counting = {.grid = g, .level = level}, writing = {.grid = g, .level = level, .writing = 1};
    int code = walk_tier(&counting, tier_group);
    if (code == 0)
        code = trl_file_print(g->file, g->err, "    item [%zu]:\n", number);
    if (code == 0)
        code = write_tier_name(g, &g->groups[tier_group], names[level]);
    if (code == 0)
        code = write_range(g, "        ", 0, g->end);
    if (code == 0)
        code = trl_file_print(g->file, g->err, "        intervals: size = %zu \n", counting.count);
    return code < 0 ? code : walk_tier(&writing, tier_group);
}

static int write_grid(grid *g, int levels)
{
    int code = trl_file_print(g->file, g->err, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n");
    if (code == 0)
        code = write_range(g, "", 0, g->end);
    if (code == 0)
        code = trl_file_print(g->file, g->err, "tiers? <exists> \nsize = %zu \nitem []: \n", g->count * (size_t)levels);
    for (size_t i = 0, number = 1; i < g->count; i++)
        for (int level = 0; code == 0 && level < levels; level++)
            code = write_tier(g, i, level, number++);
    return code;
}

static int write_textgrid(trl__alignment_sink *sink, const trl__recording *r, trl_error *err)
{
    grid g = {.recording = r, .end = trl__microseconds(r->seconds), .err = err};
    g.groups = trl__alloc(r->count, sizeof *g.groups);
    g.group_of = trl__alloc(r->count, sizeof *g.group_of);
    int code =
        g.groups && g.group_of ? trl__sink_file(sink, r->name, ".TextGrid", &g.file, err) : trl__fail_memory(err);
    if (code == 0) {
        for (size_t i = 0; i < r->count; i++)
            g.group_of[i] = choose_group(&g, &r->utterances[i]);
        code = trl__sink_close(sink, g.file, write_grid(&g, sink->options->states ? STATES + 1 : PHONES + 1), err);
    }
    trl__free(g.groups);
    trl__free(g.group_of);
    return code;
}

const trl__alignment_format trl__textgrid_output = {.name = "textgrid", .recording = write_textgrid};
