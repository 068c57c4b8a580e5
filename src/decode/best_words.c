#include "decode/best_words.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define NO_ARC UINT32_MAX

void trl__best_words_free(trl__best_words *b)
{
    trl__free(b->words);
    trl__free(b->transitions);
    trl__scratch_free(&b->costs);
    trl__scratch_free(&b->arcs);
}

/* ---- the best path ---- */

/* In whole steps of 2^-24: sums of those are exact, so words that cost the same do so whatever lies before them, and the choice between them
 * does not depend on where a lattice begins. */
static double arc_cost(const trl__raw_arc *arc, const trl_lattice_scale *scale)
{
    static const double step = 1.5 * 268435456; /* above this, doubles have steps of 2^-24 */
    double cost = scale->acoustic * (double)arc->acoustic + scale->graph * (double)arc->graph +
                  (arc->word ? scale->insertion : 0);
    return cost + step - step;
}

/* States come in topological order. Returns the best end, or -1. */
static int32_t search_states(const trl__raw_lattice *raw, const trl_lattice_scale *scale, double *cost, uint32_t *back,
                             uint32_t *source)
{
    double best = INFINITY;
    int32_t end = -1;
    for (int32_t s = 0; s < raw->states; s++) {
        cost[s] = s == 0 ? 0 : INFINITY;
        back[s] = NO_ARC;
    }
    for (int32_t s = 0; s < raw->states; s++) {
        for (uint32_t i = raw->first[s]; i < raw->first[s + 1]; i++) {
            const trl__raw_arc *arc = &raw->arcs[i];
            double total = cost[s] + arc_cost(arc, scale);
            if (total < cost[arc->next]) {
                cost[arc->next] = total;
                back[arc->next] = i;
                source[arc->next] = (uint32_t)s;
            }
        }
        double total = cost[s] + scale->graph * (double)raw->final[s];
        if (raw->final[s] < INFINITY && total < best) {
            best = total;
            end = s;
        }
    }
    return end;
}

static int trace_back(trl__best_words *b, const trl__raw_lattice *raw, int32_t end, const uint32_t *back,
                      const uint32_t *source, trl_error *err)
{
    b->graph = (double)raw->final[end];
    for (uint32_t s = (uint32_t)end; back[s] != NO_ARC; s = source[s]) {
        const trl__raw_arc *arc = &raw->arcs[back[s]];
        int32_t time = raw->time[source[s]];
        b->graph += (double)arc->graph;
        b->acoustic += (double)arc->acoustic;
        if (arc->transition > 0)
            b->transitions[time] = arc->transition;
        if (arc->word == 0)
            continue;
        if (TRL_GROW(b->words, b->capacity, b->count + 1) < 0)
            return trl__fail_memory(err);
        int32_t until = b->count > 0 ? b->words[b->count - 1].first : raw->frames;
        b->words[b->count++] = (trl__best_word){arc->word, time, until};
    }
    for (size_t i = 0; i < b->count / 2; i++) {
        trl__best_word kept = b->words[i];
        b->words[i] = b->words[b->count - 1 - i];
        b->words[b->count - 1 - i] = kept;
    }
    return 0;
}

int trl__best_words_find(trl__best_words *b, const trl__raw_lattice *raw, const trl_lattice_scale *scale,
                         trl_error *err)
{
    size_t states = (size_t)raw->states + 1;
    double *cost = trl__scratch_get(&b->costs, states, sizeof *cost);
    uint32_t *back = trl__scratch_get(&b->arcs, 2 * states, sizeof *back);
    b->frames = raw->frames;
    b->count = 0;
    b->graph = b->acoustic = 0;
    if (!cost || !back || TRL_GROW(b->transitions, b->transition_capacity, (size_t)raw->frames + 1) < 0)
        return trl__fail_memory(err);
    int32_t end = search_states(raw, scale, cost, back, back + states);
    b->is_found = end >= 0;
    b->reached_end = raw->reached_end;
    return b->is_found ? trace_back(b, raw, end, back, back + states, err) : 0;
}

/* ---- times ---- */

static int32_t unit_of(const trl__best_words *b, const trl_model *model, int32_t frame)
{
    return model->triple[model->transition_triple[b->transitions[frame]]].unit;
}

static int is_phone(const trl__best_words *b, const trl_model *model, int32_t frame)
{
    return model->unit_kind[unit_of(b, model, frame)] == TRL_UNIT_PHONE;
}

/* Without places: a word lies in a run of phones between pauses, which its label is in. A label in a pause belongs to the run before, where that has none (it
 * ends after `claimed`), else to the one behind. Returns the run's first frame, and its end; both are b->frames where it has not come yet. */
static int32_t find_run(const trl__best_words *b, const trl_model *model, int32_t label, int32_t claimed, int32_t *end)
{
    int32_t inside = label, before = label;
    while (before > 0 && (before == b->frames || !is_phone(b, model, before)) && !is_phone(b, model, before - 1))
        before--;
    if ((label == b->frames || !is_phone(b, model, label)) && before > claimed)
        inside = before - 1;
    while (inside < b->frames && !is_phone(b, model, inside))
        inside++;
    *end = inside;
    while (*end < b->frames && is_phone(b, model, *end))
        ++*end;
    while (inside > 0 && inside < b->frames && is_phone(b, model, inside - 1))
        inside--;
    return inside;
}

/* Words that share a run part it at their labels. */
static void cut_runs(trl__best_words *b, const trl_model *model)
{
    int32_t claimed = 0, until = 0; /* the end of the last run that has a word; that word's label */
    for (size_t i = 0; i < b->count; i++) {
        trl__best_word *w = &b->words[i];
        int32_t label = w->first, end, first = find_run(b, model, label, claimed, &end);
        if (i > 0 && end == claimed) { /* the same run */
            first = label > until ? label : until;
            first = first < end ? first : end;
            b->words[i - 1].end = first;
        }
        w->first = until = first;
        w->end = claimed = end;
    }
}

/* Words are read up to each label with the words before it. */
typedef struct timing {
    trl__word_parser *parser;
    int32_t *labels;
    trl__best_word *times;
    size_t words;
    size_t frame; /* up to which all was read */
    size_t pause; /* the end of the last silence or noise before that, and the words before it */
    size_t before_pause;
} timing;

/* Returns 1: done, 0: the units do not fit the words; negative on error. */
static int read_on(const trl__best_words *b, timing *t, size_t known, size_t frames, trl__path_end end, trl_error *err)
{
    trl__word_reading r;
    int code = trl__word_parser_read(t->parser, t->labels + t->words, known - t->words, b->transitions + t->frame,
                                     frames - t->frame, end, &r, err);
    if (code < 0 || r.is_wrong)
        return code;
    for (size_t i = 0; i < r.count; i++) {
        int32_t first = (int32_t)t->frame, word = r.items[i].word;
        t->frame += (size_t)r.items[i].frames;
        if (word) {
            t->times[t->words++] = (trl__best_word){word, first, (int32_t)t->frame};
        } else {
            t->pause = t->frame;
            t->before_pause = t->words;
        }
    }
    return 1;
}

static int read_words(trl__best_words *b, trl__word_parser *parser, trl__path_end end, timing *t, trl_error *err)
{
    int code = 1;
    *t = (timing){.parser = parser,
                  .labels = trl__scratch_get(&b->costs, b->count + 1, sizeof *t->labels),
                  .times = trl__scratch_get(&b->arcs, b->count + 1, sizeof *t->times)};
    if (!t->labels || !t->times)
        return trl__fail_memory(err);
    for (size_t i = 0; i < b->count; i++)
        t->labels[i] = b->words[i].word;
    for (size_t i = 0; code > 0 && i < b->count; i++) {
        int32_t label = b->words[i].first < b->frames ? b->words[i].first : b->frames;
        if (label > (int32_t)t->frame)
            code = read_on(b, t, i, (size_t)label, TRL__GOES_ON, err);
    }
    return code > 0 ? read_on(b, t, b->count, (size_t)b->frames, end, err) : code;
}

int trl__best_words_time(trl__best_words *b, const trl_model *model, trl__word_parser *parser, trl_error *err)
{
    timing t = {0};
    if (b->count == 0)
        return 0;
    int code = parser ? read_words(b, parser, b->reached_end ? TRL__ENDS : TRL__IS_CUT, &t, err) : 0;
    if (code > 0)
        memcpy(b->words, t.times, b->count * sizeof *b->words);
    else if (code == 0)
        cut_runs(b, model);
    return code < 0 ? code : 0;
}

/* ---- pauses ---- */

/* All labels must have found their run before the pause, and the last run its label. */
static int32_t find_pause(const trl__best_words *b, const trl_model *model, size_t *count)
{
    size_t written = 0;
    int32_t pause = 0, claimed = 0, last_run = 0; /* ends of runs */
    *count = 0;
    for (int32_t t = 0; t < b->frames; t++) {
        for (; written < b->count && b->words[written].first < t; written++)
            find_run(b, model, b->words[written].first, claimed, &claimed);
        if (is_phone(b, model, t)) {
            last_run = t + 1;
        } else if (claimed == last_run) {
            pause = t;
            *count = written;
        }
    }
    return pause;
}

/* Is all from this frame on silence or noise, and something? */
static int is_pause_from(const trl__best_words *b, const trl_model *model, size_t frame)
{
    int is_pause = frame < (size_t)b->frames;
    for (; is_pause && frame < (size_t)b->frames; frame++)
        is_pause = !is_phone(b, model, (int32_t)frame);
    return is_pause;
}

int trl__best_words_pause(trl__best_words *b, const trl_model *model, trl__word_parser *parser, int32_t *pause,
                          size_t *count, trl_error *err)
{
    timing t = {0};
    int code = parser ? read_words(b, parser, TRL__GOES_ON, &t, err) : 0;
    *pause = (int32_t)t.pause;
    *count = t.before_pause;
    if (code > 0 && t.words == b->count && is_pause_from(b, model, t.frame)) {
        *pause = b->frames;
        *count = b->count;
    } else if (code == 0) {
        *pause = find_pause(b, model, count);
    }
    return code < 0 ? code : 0;
}
