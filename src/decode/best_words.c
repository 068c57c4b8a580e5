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
static double arc_cost(const trl__raw_arc *arc, const trl__lattice_scale *scale)
{
    static const double step = 1.5 * 268435456; /* above this, doubles have steps of 2^-24 */
    double cost = scale->acoustic * (double)arc->acoustic + scale->graph * (double)arc->graph +
                  (arc->word ? scale->insertion : 0);
    return cost + step - step;
}

/* States come in topological order. Returns the best end, or -1. */
static int32_t search_states(const trl__raw_lattice *raw, const trl__lattice_scale *scale, double *cost, uint32_t *back,
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

int trl__best_words_find(trl__best_words *b, const trl__raw_lattice *raw, const trl__lattice_scale *scale,
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

/* The place in the word that the unit's name ends with: B, I, E, S; 0: none. */
static char place_of(const trl_model *model, int32_t unit)
{
    const char *name = trl_model_unit(model, unit).name;
    size_t length = strlen(name);
    return length > 2 && name[length - 2] == '_' && strchr("BIES", name[length - 1]) ? name[length - 1] : 0;
}

/* Does a new unit begin with this frame, when *has_left says that its arc out has been seen? Self-loops may come behind that arc (Kaldi's order), so it
 * alone does not end the unit. */
static int begins_unit(const trl__best_words *b, const trl_model *model, int32_t frame, int *has_left)
{
    trl_transition now = trl_model_transition(model, b->transitions[frame]);
    int begins = frame == 0 || now.unit != unit_of(b, model, frame - 1) || (*has_left && now.to != now.state);
    *has_left = now.to == TRL_EXIT || (*has_left && !begins);
    return begins;
}

/* Fills words[] with the spans of words by their units' places; returns how many there are, at most `most`. */
static size_t find_spans(const trl__best_words *b, const trl_model *model, trl__best_word *spans, size_t most)
{
    size_t count = 0;
    int is_inside = 0, has_left = 0;
    for (int32_t t = 0; t < b->frames; t++) {
        int begins = begins_unit(b, model, t, &has_left);
        char place = place_of(model, unit_of(b, model, t));
        if (begins && (place == 'B' || place == 'S')) {
            if (count == most)
                return most + 1;
            spans[count++].first = t;
            is_inside = 1;
        } else if (begins && place == 0) {
            is_inside = 0;
        }
        if (is_inside)
            spans[count - 1].end = t + 1;
    }
    return count;
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

int trl__best_words_time(trl__best_words *b, const trl_model *model, trl_error *err)
{
    trl__best_word *spans = trl__scratch_get(&b->costs, b->count + 1, sizeof *spans);
    if (!spans)
        return trl__fail_memory(err);
    if (model->word_positions && find_spans(b, model, spans, b->count) == b->count)
        for (size_t i = 0; i < b->count; i++) {
            b->words[i].first = spans[i].first;
            b->words[i].end = spans[i].end;
        }
    else
        cut_runs(b, model);
    return 0;
}

/* With places, words are counted; without, all labels must have found their run before the pause, and the last run its label. */
int32_t trl__best_words_pause(const trl__best_words *b, const trl_model *model, size_t *count)
{
    size_t spoken = 0, written = 0;
    int32_t pause = 0, claimed = 0, last_run = 0; /* ends of runs */
    int has_left = 0;
    *count = 0;
    for (int32_t t = 0; t < b->frames; t++) {
        char place = place_of(model, unit_of(b, model, t));
        for (; written < b->count && b->words[written].first < t; written++)
            find_run(b, model, b->words[written].first, claimed, &claimed);
        if (is_phone(b, model, t)) {
            last_run = t + 1;
        } else if (model->word_positions ? spoken == written : claimed == last_run) {
            pause = t;
            *count = written;
        }
        spoken += begins_unit(b, model, t, &has_left) && (place == 'B' || place == 'S');
    }
    return pause;
}
