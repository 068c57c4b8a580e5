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

static double arc_cost(const trl__raw_arc *arc, const trl_lattice_scale *scale)
{
    return scale->acoustic * (double)arc->acoustic + scale->graph * (double)arc->graph +
           (arc->word ? scale->insertion : 0);
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

static void trim_words(trl__best_words *b, const trl_model *model)
{
    for (size_t i = 0; i < b->count; i++) {
        trl__best_word *w = &b->words[i];
        while (w->first < w->end && !is_phone(b, model, w->first))
            w->first++;
        while (w->first < w->end && !is_phone(b, model, w->end - 1))
            w->end--;
    }
}

/* The words in the order of their labels, and what of them was timed: `words` of them, up to `frame`. */
typedef struct timing {
    int32_t *labels;
    size_t words;
    size_t frame;
} timing;

/* Reads on, up to the label of word `known` or to the end. Returns 1: done, 0: the units do not fit the words; negative on error. */
static int read_on(trl__best_words *b, trl__word_parser *parser, timing *t, size_t known, size_t frames,
                   trl__path_end end, trl_error *err)
{
    trl__word_reading r;
    int code = trl__word_parser_read(parser, t->labels + t->words, known - t->words, b->transitions + t->frame,
                                     frames - t->frame, end, &r, err);
    if (code < 0 || r.is_wrong)
        return code;
    for (size_t i = 0; i < r.count; i++) {
        int32_t first = (int32_t)t->frame;
        t->frame += (size_t)r.items[i].frames;
        if (r.items[i].word) {
            b->words[t->words].first = first;
            b->words[t->words++].end = (int32_t)t->frame;
        }
    }
    return 1;
}

static int read_words(trl__best_words *b, trl__word_parser *parser, trl_error *err)
{
    timing t = {.labels = trl__scratch_get(&b->costs, b->count + 1, sizeof *t.labels)};
    int code = 1;
    if (!t.labels)
        return trl__fail_memory(err);
    for (size_t i = 0; i < b->count; i++)
        t.labels[i] = b->words[i].word;
    for (size_t i = 0; code > 0 && i < b->count; i++) {
        size_t label = (size_t)b->words[i].first; /* words before it were timed, not this one */
        if (label > t.frame)
            code = read_on(b, parser, &t, i, label, TRL__GOES_ON, err);
    }
    if (code > 0)
        code = read_on(b, parser, &t, b->count, (size_t)b->frames, b->reached_end ? TRL__ENDS : TRL__IS_CUT, err);
    return code;
}

int trl__best_words_time(trl__best_words *b, const trl_model *model, trl__word_parser *parser, trl_error *err)
{
    if (!b->is_found || b->count == 0)
        return 0;
    trl__best_word *labels = trl__scratch_get(&b->arcs, b->count, sizeof *labels);
    if (!labels)
        return trl__fail_memory(err);
    memcpy(labels, b->words, b->count * sizeof *labels);
    int code = parser ? read_words(b, parser, err) : 0;
    if (code != 0)
        return code < 0 ? code : 0;
    memcpy(b->words, labels, b->count * sizeof *labels);
    trim_words(b, model);
    return 0;
}
