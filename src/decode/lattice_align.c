/* A lattice's arcs, cut anew where words begin and end.
 *
 * A state of the result is a state of the lattice together with what came on the way to it and is not certain yet: words and frames, nearly always those of
 * one word (as in Kaldi's lattice-align-words). An arc adds its word and frames to that; what the parser then reads becomes arcs, one behind the other, and the
 * rest goes on to the next state. Every path becomes one path with the same words, costs and transitions. The first of the new arcs has the costs; where nothing
 * can be read yet, it is one without word and frames.
 *
 * Where units do not fit the words, as when the graph came with another lexicon, words keep the frames between their labels.
 *
 * Cost: O(states of the result * frames of a word).
 */
#include "decode/lattice_align.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"

#include <string.h>

/* What is not read yet lies behind each other: words, then transitions. */
typedef struct open_state {
    const int32_t *waiting;
    uint32_t words, frames;
    int32_t state;  /* of the lattice */
    uint32_t next;  /* open state of the same one */
    int32_t number; /* of the result */
} open_state;

#define NONE UINT32_MAX

typedef struct aligning {
    const trl_lattice *lattice;
    trl__word_parser *parser;
    trl_lattice *out;
    open_state *open;
    size_t open_count, open_capacity;
    uint32_t *first, *last; /* by state of the lattice: its open states, in order of arrival */
    trl__map known;         /* by state, number of words, words and transitions */
    trl__arena keys;
    int32_t *words, *frames, *key; /* of an arc and what was waiting */
    size_t word_capacity, frame_capacity, key_capacity;
    size_t word_count, frame_count;
    trl_lattice_arc *arcs; /* behind the first of a chain; their states follow that of the chain */
    size_t arc_count, arc_capacity;
    int32_t *strings; /* transitions of those */
    size_t string_count, string_capacity;
    uint8_t *ends; /* by arc of those: it ends the path */
    size_t end_capacity;
} aligning;

/* ---- open states ---- */

static int find_open(aligning *a, int32_t state, size_t words, size_t frames, uint32_t *out, trl_error *err)
{
    const int32_t *w = words > 0 ? a->words + a->word_count - words : NULL;
    const int32_t *f = frames > 0 ? a->frames + a->frame_count - frames : NULL;
    size_t size = 2 + words + frames;
    uint64_t number = a->open_count;
    if (TRL_GROW(a->key, a->key_capacity, size) < 0)
        return trl__fail_memory(err);
    a->key[0] = state;
    a->key[1] = (int32_t)words;
    if (words > 0)
        memcpy(a->key + 2, w, words * sizeof *w);
    if (frames > 0)
        memcpy(a->key + 2 + words, f, frames * sizeof *f);
    const uint64_t *found = trl__map_find(&a->known, (const char *)a->key, size * sizeof *a->key);
    if (found) {
        *out = (uint32_t)*found;
        return 0;
    }
    if (a->open_count == INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the aligned lattice has too many states; prune the lattice");
    int32_t *key = trl__arena_alloc(&a->keys, size * sizeof *key);
    if (!key || TRL_GROW(a->open, a->open_capacity, a->open_count + 1) < 0)
        return trl__fail_memory(err);
    memcpy(key, a->key, size * sizeof *key);
    if (trl__map_add(&a->known, (const char *)key, size * sizeof *key, &number) < 0)
        return trl__fail_memory(err);
    *out = (uint32_t)a->open_count;
    a->open[a->open_count++] = (open_state){key + 2, (uint32_t)words, (uint32_t)frames, state, NONE, -1};
    if (a->first[state] == NONE)
        a->first[state] = *out;
    else
        a->open[a->last[state]].next = *out;
    a->last[state] = *out;
    return 0;
}

/* ---- chains of arcs ---- */

/* Targets that have no number yet are open states, written as - 2 - open state. */
static int32_t target(uint32_t open)
{
    return -2 - (int32_t)open;
}

/* One more arc of the chain; the first goes to the state itself, the others wait for theirs. */
static int add_link(aligning *a, int is_first, trl_lattice_arc arc, const int32_t *transitions, trl_error *err)
{
    if (is_first)
        return trl__lattice_add_arc(a->out, &arc, transitions, err);
    if (TRL_GROW(a->arcs, a->arc_capacity, a->arc_count + 1) < 0 ||
        TRL_GROW(a->ends, a->end_capacity, a->arc_count + 1) < 0 ||
        TRL_GROW(a->strings, a->string_capacity, a->string_count + arc.duration + 1) < 0)
        return trl__fail_memory(err);
    if (transitions && arc.duration > 0)
        memcpy(a->strings + a->string_count, transitions, arc.duration * sizeof *transitions);
    arc.transition = (uint32_t)a->string_count;
    a->string_count += arc.duration;
    a->ends[a->arc_count] = 0;
    a->arcs[a->arc_count++] = arc;
    return 0;
}

/* The state that comes behind the one in hand and those that wait already. */
static int32_t next_link(const aligning *a, int32_t state)
{
    return state + 1 + (int32_t)a->arc_count;
}

/* From `state`: an arc for each item, the last one to `to`. */
static int add_chain(aligning *a, int32_t state, const trl__word_piece *items, size_t count, float graph,
                     float acoustic, int32_t to, trl_error *err)
{
    const int32_t *transitions = a->frames;
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        /* A state that waits is the target of the arc before it: the first arc's is the next one, the others' the one behind their own. */
        int32_t next = i + 1 == count ? to : next_link(a, state) + (i > 0);
        trl_lattice_arc arc = {.next = next, .word = items[i].word, .duration = (uint32_t)items[i].frames};
        if (i == 0) {
            arc.graph = graph;
            arc.acoustic = acoustic;
        }
        code = add_link(a, i == 0, arc, transitions, err);
        transitions += items[i].frames;
    }
    return code;
}

/* Words that the parser can't place: the first one has all frames. */
static int invent_items(const aligning *a, trl__word_piece *items, size_t *count)
{
    *count = a->word_count > 0 ? a->word_count : 1;
    for (size_t i = 0; i < *count; i++)
        items[i] = (trl__word_piece){i < a->word_count ? a->words[i] : 0, i == 0 ? (int32_t)a->frame_count : 0};
    return 0;
}

static int read_items(aligning *a, trl__path_end end, trl__word_piece **own, trl__word_reading *r, trl_error *err)
{
    int code = trl__word_parser_read(a->parser, a->words, a->word_count, a->frames, a->frame_count, end, r, err);
    *own = NULL;
    if (code < 0 || !r->is_wrong)
        return code;
    *own = trl__alloc(a->word_count + 1, sizeof **own);
    if (!*own)
        return trl__fail_memory(err);
    invent_items(a, *own, &r->count);
    r->items = *own;
    r->words = a->word_count;
    r->frames = a->frame_count;
    return 0;
}

/* ---- a state ---- */

/* What waited at an open state, a word (0: none) and frames. */
static int gather(aligning *a, const open_state *open, int32_t word, const int32_t *transitions, uint32_t frames,
                  trl_error *err)
{
    a->word_count = open->words + (word != 0);
    a->frame_count = (size_t)open->frames + frames;
    if (TRL_GROW(a->words, a->word_capacity, a->word_count + 1) < 0 ||
        TRL_GROW(a->frames, a->frame_capacity, a->frame_count + 1) < 0)
        return trl__fail_memory(err);
    if (open->words > 0)
        memcpy(a->words, open->waiting, open->words * sizeof *a->words);
    if (open->frames > 0)
        memcpy(a->frames, open->waiting + open->words, open->frames * sizeof *a->frames);
    a->words[open->words] = word;
    if (frames > 0)
        memcpy(a->frames + open->frames, transitions, frames * sizeof *transitions);
    return 0;
}

static int take_arc(aligning *a, open_state open, const trl_lattice_arc *arc, trl_error *err)
{
    trl__word_reading r;
    trl__word_piece *own = NULL;
    uint32_t to = 0;
    int code = gather(a, &open, arc->word, a->lattice->transitions + arc->transition, arc->duration, err);
    if (code == 0)
        code = read_items(a, TRL__GOES_ON, &own, &r, err);
    if (code == 0)
        code = find_open(a, arc->next, a->word_count - r.words, a->frame_count - r.frames, &to, err);
    if (code == 0) {
        const trl__word_piece nothing = {0, 0};
        code = add_chain(a, open.number, r.count > 0 ? r.items : &nothing, r.count > 0 ? r.count : 1, arc->graph,
                         arc->acoustic, target(to), err);
    }
    trl__free(own);
    return code;
}

/* Where nothing waits, the state itself ends the path; else a chain leads to a state that does. */
static int take_end(aligning *a, open_state open, const trl_lattice_end *end, trl_error *err)
{
    trl__word_reading r;
    trl__word_piece *own = NULL;
    int code = gather(a, &open, 0, a->lattice->transitions + end->transition, end->duration, err);
    if (code < 0)
        return code;
    if (a->word_count == 0 && a->frame_count == 0)
        return trl__lattice_set_end(a->out, end, NULL, err);
    code = read_items(a, a->lattice->reached_end ? TRL__ENDS : TRL__IS_CUT, &own, &r, err);
    if (code == 0) {
        size_t links = a->arc_count + r.count - 1; /* states that wait when the chain is made, without its end */
        code = add_chain(a, open.number, r.items, r.count, end->graph, end->acoustic, open.number + 1 + (int32_t)links,
                         err);
    }
    if (code == 0)
        code = add_link(a, 0, (trl_lattice_arc){0}, NULL, err);
    if (code == 0)
        a->ends[a->arc_count - 1] = 1;
    trl__free(own);
    return code;
}

/* The states that wait: each has one arc, or ends the path. */
static int add_links(aligning *a, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < a->arc_count; i++) {
        code = trl__lattice_add_state(a->out, err);
        if (code == 0)
            code = a->ends[i] ? trl__lattice_set_end(a->out, &(trl_lattice_end){0, 0, 0, 0}, NULL, err)
                              : trl__lattice_add_arc(a->out, &a->arcs[i], a->strings + a->arcs[i].transition, err);
    }
    a->arc_count = a->string_count = 0;
    return code;
}

static int take_open(aligning *a, uint32_t number, trl_error *err)
{
    const trl_lattice *l = a->lattice;
    a->open[number].number = a->out->states;
    open_state open = a->open[number];
    int code = trl__lattice_add_state(a->out, err);
    for (uint32_t i = l->first[open.state]; code == 0 && i < l->first[open.state + 1]; i++)
        code = take_arc(a, open, &l->arcs[i], err);
    if (code == 0 && l->ends[open.state].graph < INFINITY)
        code = take_end(a, open, &l->ends[open.state], err);
    return code < 0 ? code : add_links(a, err);
}

/* ---- the whole ---- */

static int align(aligning *a, trl_error *err)
{
    const trl_lattice *l = a->lattice;
    uint32_t start = 0;
    a->first = trl__alloc((size_t)l->states + 1, sizeof *a->first);
    a->last = trl__alloc((size_t)l->states + 1, sizeof *a->last);
    if (!a->first || !a->last)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < l->states; s++)
        a->first[s] = NONE;
    int code = l->states > 0 ? find_open(a, 0, 0, 0, &start, err) : 0;
    for (int32_t s = 0; code == 0 && s < l->states; s++)
        for (uint32_t i = a->first[s]; code == 0 && i != NONE; i = a->open[i].next)
            code = take_open(a, i, err);
    for (size_t i = 0; code == 0 && i < a->out->arc_count; i++)
        if (a->out->arcs[i].next < 0)
            a->out->arcs[i].next = a->open[-2 - a->out->arcs[i].next].number;
    return code < 0 ? code : trl__lattice_finish(a->out, err);
}

int trl__lattice_align(const trl_lattice *lattice, trl__word_parser *parser, trl_lattice **out, trl_error *err)
{
    aligning a = {.lattice = lattice, .parser = parser};
    *out = NULL;
    int code = trl__lattice_create(lattice->words, &a.out, err);
    if (code == 0)
        code = align(&a, err);
    trl__free(a.open);
    trl__free(a.first);
    trl__free(a.last);
    trl__map_free(&a.known);
    trl__arena_free(&a.keys);
    trl__free(a.words);
    trl__free(a.frames);
    trl__free(a.key);
    trl__free(a.arcs);
    trl__free(a.strings);
    trl__free(a.ends);
    if (code < 0) {
        trl_lattice_destroy(a.out);
        return code;
    }
    a.out->frames = lattice->frames;
    a.out->reached_end = lattice->reached_end;
    *out = a.out;
    return 0;
}

int trl_lattice_align_words(const trl_lattice *lattice, const trl_model *model, const trl_graph *graph,
                            trl_lattice **out, trl_error *err)
{
    trl__word_parser *parser = NULL;
    *out = NULL;
    int code = trl_graph_fits(graph, model, err);
    for (size_t i = 0; code == 0 && i < lattice->transition_count; i++)
        if (lattice->transitions[i] < 1 || lattice->transitions[i] > model->transitions)
            code = trl__fail(err, TRL_EINVAL, "the lattice has transition %d, but the model's are 1 to %d",
                             (int)lattice->transitions[i], (int)model->transitions);
    if (code == 0)
        code = trl__word_parser_create(model, graph, &parser, err);
    if (code == 0 && !parser)
        code = trl__fail(err, TRL_EUNSUPPORTED,
                         "nothing tells where words begin: the graph does not know how they are said, and the model's "
                         "units not their place in the word; make the graph with trellis graph from a lexicon");
    if (code == 0)
        code = trl__lattice_align(lattice, parser, out, err);
    trl__word_parser_destroy(parser);
    return code;
}
