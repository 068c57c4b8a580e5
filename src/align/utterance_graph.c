/* Utterance graphs. The graph grows from left to right: a list of sources (nodes, each with what it costs to leave it) says
 * how the next unit can be entered. A unit turns its sources into arcs of its first states, and the sources behind it are
 * its own exits, and the old ones too where it may be skipped. So entries and exits, which emit nothing, never become
 * nodes. Cost: O(nodes + arcs), no allocation once the arrays have grown. */
#include "align/utterance_graph.h"
#include "base/fail.h"
#include "base/memory.h"
#include "backend/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSITIONS 4 /* begin, inside, end, single */
#define MOST_ARCS (INT32_MAX / 4)
#define NEVER (INT32_MAX / 2) /* frames of what can't be passed through */

typedef struct inner_arc {
    int32_t from, number; /* the number-th arc that leaves state `from` */
} inner_arc;

/* A topology turned around: what leads into each state. */
typedef struct shape {
    int32_t states, inner_arcs, entries, exits;
    int32_t *first;   /* states + 1: of the inner arcs into each state, its loop first */
    inner_arc *inner; /* from state to state */
    inner_arc *exit;  /* out of the unit */
    float *entry;     /* by state: log probability of beginning there; -inf: none */
    float skip;       /* log probability of passing over the unit; -inf: can't be */
    int32_t least;    /* frames of the shortest way through that is not passing over */
} shape;

struct trl__unit_map {
    const trl_model *model;
    int32_t *phone_unit;    /* phone * POSITIONS + position; -1: not in the model */
    int lacks_phones;       /* some of them are not */
    int32_t silence, noise; /* units; -1: none */
    shape *shapes;          /* by topology */
};

/* ---- the map ---- */

static float log_of(float probability)
{
    return probability > 0 ? logf(probability) : -INFINITY;
}

static const trl__arc *arcs_of(const trl__topology *t, int32_t state, int32_t *count)
{
    *count = t->first[state + 2] - t->first[state + 1];
    return t->arcs + t->first[state + 1];
}

/* The arcs from any state to `to`; its own loop comes first, so that it is back-pointer 0. */
static int32_t gather_arcs(const trl__topology *t, int32_t to, inner_arc *out)
{
    int32_t used = 0;
    for (int loop = 1; loop >= 0; loop--)
        for (int32_t s = 0; s < t->states; s++) {
            int32_t count;
            const trl__arc *arcs = arcs_of(t, s, &count);
            for (int32_t i = 0; i < count; i++)
                if (arcs[i].to == to && (s == to) == loop)
                    out[used++] = (inner_arc){s, i};
        }
    return used;
}

/* Frames of the shortest way through: Bellman and Ford's, on a handful of states. */
static int32_t least_frames(const shape *sh, int32_t *reached)
{
    for (int32_t s = 0; s < sh->states; s++)
        reached[s] = sh->entry[s] > -INFINITY ? 1 : NEVER;
    for (int32_t round = 1; round < sh->states; round++)
        for (int32_t s = 0; s < sh->states; s++)
            for (int32_t i = sh->first[s]; i < sh->first[s + 1]; i++)
                if (reached[sh->inner[i].from] + 1 < reached[s])
                    reached[s] = reached[sh->inner[i].from] + 1;
    int32_t least = NEVER;
    for (int32_t i = 0; i < sh->exits; i++)
        if (reached[sh->exit[i].from] < least)
            least = reached[sh->exit[i].from];
    return least;
}

static int make_shape(const trl__topology *t, shape *sh, trl_error *err)
{
    size_t states = (size_t)t->states, arcs = (size_t)t->first[t->states + 1];
    sh->states = t->states;
    sh->first = trl__alloc(states + 1, sizeof *sh->first);
    sh->inner = trl__alloc(arcs, sizeof *sh->inner);
    sh->exit = trl__alloc(arcs, sizeof *sh->exit);
    sh->entry = trl__alloc(states, sizeof *sh->entry);
    int32_t *reached = trl__alloc(states, sizeof *reached);
    if (!sh->first || !sh->inner || !sh->exit || !sh->entry || !reached) {
        trl__free(reached);
        return trl__fail_memory(err);
    }
    sh->skip = -INFINITY;
    for (int32_t s = 0; s < t->states; s++) {
        sh->entry[s] = -INFINITY;
        sh->first[s] = sh->inner_arcs;
        sh->inner_arcs += gather_arcs(t, s, sh->inner + sh->inner_arcs);
    }
    sh->first[t->states] = sh->inner_arcs;
    sh->exits = gather_arcs(t, TRL_EXIT, sh->exit);
    for (int32_t i = t->first[0]; i < t->first[1]; i++)
        *(t->arcs[i].to == TRL_EXIT ? &sh->skip : &sh->entry[t->arcs[i].to]) = log_of(t->arcs[i].probability);
    for (int32_t s = 0; s < t->states; s++)
        sh->entries += sh->entry[s] > -INFINITY;
    sh->least = least_frames(sh, reached);
    trl__free(reached);
    return 0;
}

static int32_t first_of_kind(const trl_model *model, trl_unit_kind kind)
{
    for (size_t u = 0; u < model->units.count; u++)
        if (model->unit_kind[u] == kind)
            return (int32_t)u;
    return -1;
}

/* The phone at its place in the word; units that don't know places (silence, noise) serve at each. */
static int32_t find_unit(const trl_model *model, const char *phone, int position)
{
    static const char *const suffix[POSITIONS] = {"_B", "_I", "_E", "_S"};
    char name[256];
    if (model->word_positions) {
        int length = snprintf(name, sizeof name, "%s%s", phone, suffix[position]);
        long unit = length < (int)sizeof name ? trl__strings_find(&model->units, name, (size_t)length) : -1;
        if (unit >= 0)
            return (int32_t)unit;
    }
    return (int32_t)trl__strings_find(&model->units, phone, strlen(phone));
}

static int position_of(size_t phone, size_t length)
{
    return length == 1 ? 3 : phone == 0 ? 0 : phone + 1 == length ? 2 : 1;
}

/* A phone that the model lacks matters only where a transcript has a word with it. */
static int map_phones(trl__unit_map *map, const trl_lexicon *lexicon, trl_error *err)
{
    size_t phones = trl_lexicon_phones(lexicon);
    map->phone_unit = trl__alloc(phones * POSITIONS, sizeof *map->phone_unit);
    if (!map->phone_unit)
        return trl__fail_memory(err);
    for (size_t p = 0; p < phones; p++)
        for (int position = 0; position < POSITIONS; position++) {
            int32_t unit = find_unit(map->model, trl_lexicon_phone(lexicon, p), position);
            map->lacks_phones |= unit < 0;
            map->phone_unit[p * POSITIONS + (size_t)position] = unit;
        }
    return 0;
}

static int check_phones(const trl__unit_map *map, const trl_lexicon *lexicon, size_t word, trl_error *err)
{
    for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, word); v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        for (size_t i = 0; i < p.length; i++)
            if (map->phone_unit[p.phones[i] * POSITIONS + position_of(i, p.length)] < 0)
                return trl__fail(err, TRL_EINVAL,
                                 "the word %s has the phone %s, which is not in the model; use the lexicon that the "
                                 "model was trained with, or train a model with this one",
                                 trl_lexicon_word(lexicon, word), trl_lexicon_phone(lexicon, (size_t)p.phones[i]));
    }
    return 0;
}

/* With context, a state of a unit has several tied states, and which one depends on the neighbours. */
static int check_context(const trl_model *model, trl_error *err)
{
    for (int32_t u = 0; u < trl_model_units(model); u++)
        if (model->unit_triple[u + 1] - model->unit_triple[u] != trl__unit_topology(model, u)->states)
            return trl__fail(err, TRL_EUNSUPPORTED,
                             "unit %s has several tied states per state: models of phones in context can't be aligned "
                             "with yet",
                             model->units.texts[u]);
    return 0;
}

int trl__unit_map_create(const trl_model *model, const trl_lexicon *lexicon, trl__unit_map **out, trl_error *err)
{
    *out = NULL;
    int code = check_context(model, err);
    if (code < 0)
        return code;
    trl__unit_map *map = trl__alloc_zero(1, sizeof *map);
    if (!map)
        return trl__fail_memory(err);
    map->model = model;
    map->silence = first_of_kind(model, TRL_UNIT_SILENCE);
    map->noise = first_of_kind(model, TRL_UNIT_NOISE);
    map->shapes = trl__alloc_zero((size_t)model->topologies, sizeof *map->shapes);
    code = map->shapes ? map_phones(map, lexicon, err) : trl__fail_memory(err);
    for (int32_t t = 0; code == 0 && t < model->topologies; t++)
        code = make_shape(&model->topology[t], &map->shapes[t], err);
    if (code < 0) {
        trl__unit_map_destroy(map);
        return code;
    }
    *out = map;
    return 0;
}

void trl__unit_map_destroy(trl__unit_map *map)
{
    if (!map)
        return;
    for (int32_t t = 0; map->shapes && t < map->model->topologies; t++) {
        trl__free(map->shapes[t].first);
        trl__free(map->shapes[t].inner);
        trl__free(map->shapes[t].exit);
        trl__free(map->shapes[t].entry);
    }
    trl__free(map->shapes);
    trl__free(map->phone_unit);
    trl__free(map);
}

/* ---- growing arrays ---- */

/* Three arrays share a capacity: each is grown from the same start. */
static int grow_together(void **arrays[], size_t count, size_t *capacity, size_t needed, size_t size)
{
    size_t larger = *capacity;
    for (size_t i = 0; needed > *capacity && i < count; i++) {
        larger = *capacity;
        if (trl__grow(arrays[i], &larger, needed, size) < 0)
            return -1;
    }
    *capacity = larger;
    return 0;
}

static int reserve_nodes(trl__graph *g, size_t more)
{
    void **arrays[] = {(void **)&g->node_tied, (void **)&g->node_phone, (void **)&g->node_state,
                       (void **)&g->arc_first};
    return grow_together(arrays, 4, &g->node_capacity, (size_t)g->nodes + more + 2, sizeof(int32_t));
}

static int reserve_arcs(trl__graph *g, size_t more)
{
    void **arrays[] = {(void **)&g->arc_from, (void **)&g->arc_weight, (void **)&g->arc_transition};
    return grow_together(arrays, 3, &g->arc_capacity, (size_t)g->arcs + more, sizeof(int32_t));
}

static int add_source(trl__graph_sources *list, int32_t node, int32_t transition, float weight)
{
    if (TRL_GROW(list->items, list->capacity, list->count + 1) < 0)
        return -1;
    list->items[list->count++] = (trl__graph_source){node, transition, weight};
    return 0;
}

/* Adds all of `from`, each with `weight` more. Nothing of probability zero is added. */
static int add_sources(trl__graph_sources *list, const trl__graph_sources *from, float weight)
{
    if (weight == -INFINITY)
        return 0;
    if (TRL_GROW(list->items, list->capacity, list->count + from->count) < 0)
        return -1;
    for (size_t i = 0; i < from->count; i++) {
        list->items[list->count] = from->items[i];
        list->items[list->count++].weight += weight;
    }
    return 0;
}

static int by_source(const void *a, const void *b)
{
    const trl__graph_source *x = a, *y = b;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                              : (x->transition > y->transition) - (x->transition < y->transition);
}

static float log_sum(float a, float b)
{
    float high = a > b ? a : b;
    return high + log1pf(expf((a < b ? a : b) - high));
}

/* Where units may be skipped, a source can lead on in several ways that differ in nothing that emits: they become one, with
 * their probabilities added. Otherwise their number would double with every word. */
static void merge_sources(trl__graph_sources *list)
{
    size_t kept = 0;
    qsort(list->items, list->count, sizeof *list->items, by_source);
    for (size_t i = 0; i < list->count; i++)
        if (kept > 0 && by_source(&list->items[kept - 1], &list->items[i]) == 0)
            list->items[kept - 1].weight = log_sum(list->items[kept - 1].weight, list->items[i].weight);
        else
            list->items[kept++] = list->items[i];
    list->count = kept;
}

static void swap_sources(trl__graph_sources *a, trl__graph_sources *b)
{
    trl__graph_sources kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- building ---- */

static void add_arc(trl__graph *g, int32_t from, int32_t transition, float weight)
{
    g->arc_from[g->arcs] = from;
    g->arc_transition[g->arcs] = transition;
    g->arc_weight[g->arcs++] = weight;
}

static void add_node(trl__graph *g, int32_t tied, int32_t state)
{
    g->node_tied[g->nodes] = tied;
    g->node_phone[g->nodes] = g->phones;
    g->node_state[g->nodes] = state;
    g->tied_end = tied >= g->tied_end ? tied + 1 : g->tied_end;
    g->arc_first[g->nodes++] = g->arcs;
}

/* Both at most NEVER. */
static int32_t add_frames(int32_t a, int32_t b)
{
    return a + b < NEVER ? a + b : NEVER;
}

static int32_t least_of(const trl__unit_map *map, int32_t unit)
{
    const shape *sh = &map->shapes[map->model->unit_topology[unit]];
    return sh->skip > -INFINITY ? 0 : sh->least;
}

/* One unit, entered from g->chain, which becomes its exits. */
static int add_unit(trl__graph *g, const trl__unit_map *map, int32_t unit, int32_t slot, int32_t variant)
{
    const trl_model *model = map->model;
    const shape *sh = &map->shapes[model->unit_topology[unit]];
    const trl__triple *triples = trl__model_triple(model, unit, 0);
    size_t more = (size_t)sh->inner_arcs + (size_t)sh->entries * g->chain.count;
    if ((size_t)g->arcs + more > MOST_ARCS)
        return TRL_ELIMIT;
    if (reserve_nodes(g, (size_t)sh->states) < 0 || reserve_arcs(g, more) < 0 ||
        TRL_GROW(g->phone, g->phone_capacity, (size_t)g->phones + 1) < 0)
        return TRL_ENOMEM;
    int32_t base = g->nodes;
    g->has_skips |= sh->skip > -INFINITY;
    g->least_unit = sh->least < g->least_unit ? sh->least : g->least_unit;
    for (int32_t s = 0; s < sh->states; s++) {
        int32_t first = g->arcs;
        add_node(g, triples[s].tied, s);
        for (int32_t i = sh->first[s]; i < sh->first[s + 1]; i++) {
            int32_t id = triples[sh->inner[i].from].transition + sh->inner[i].number;
            add_arc(g, base + sh->inner[i].from, id, model->log_probability[id]);
        }
        for (size_t i = 0; sh->entry[s] > -INFINITY && i < g->chain.count; i++) {
            const trl__graph_source *from = &g->chain.items[i];
            add_arc(g, from->node, from->transition, from->weight + sh->entry[s]);
        }
        g->most_arcs = g->arcs - first > g->most_arcs ? g->arcs - first : g->most_arcs;
    }
    g->longer.count = 0;
    for (int32_t i = 0; i < sh->exits; i++) {
        int32_t id = triples[sh->exit[i].from].transition + sh->exit[i].number;
        if (add_source(&g->longer, base + sh->exit[i].from, id, model->log_probability[id]) < 0)
            return TRL_ENOMEM;
    }
    if (add_sources(&g->longer, &g->chain, sh->skip) < 0)
        return TRL_ENOMEM;
    swap_sources(&g->chain, &g->longer);
    g->phone[g->phones++] = (trl__graph_phone){unit, slot, variant, base, g->nodes};
    return 0;
}

static int begin_slot(trl__graph *g)
{
    if (TRL_GROW(g->slot, g->slot_capacity, (size_t)g->slots + 1) < 0)
        return TRL_ENOMEM;
    g->slot[g->slots] = (trl__graph_slot){g->phones, g->phones, g->nodes, g->nodes};
    g->behind.count = 0;
    g->has_skips = 0;
    return 0;
}

static void end_slot(trl__graph *g)
{
    g->slot[g->slots].end_phone = g->phones;
    g->slot[g->slots++].end_node = g->nodes;
    if (g->has_skips && g->behind.count > 1)
        merge_sources(&g->behind);
    swap_sources(&g->before, &g->behind);
}

/* Silence with this probability; with the rest of it the slot is passed over. */
static int add_silence(trl__graph *g, const trl__unit_map *map, float probability)
{
    int code = begin_slot(g);
    if (code < 0)
        return code;
    if (map->silence < 0)
        probability = 0;
    if (probability > 0) {
        g->chain.count = 0;
        if (add_sources(&g->chain, &g->before, log_of(probability)) < 0)
            return TRL_ENOMEM;
        code = add_unit(g, map, map->silence, g->slots, 0);
        if (code < 0)
            return code;
        g->least_frames = add_frames(g->least_frames, probability < 1 ? 0 : least_of(map, map->silence));
        if (add_sources(&g->behind, &g->chain, 0) < 0)
            return TRL_ENOMEM;
    }
    if (add_sources(&g->behind, &g->before, log_of(1 - probability)) < 0)
        return TRL_ENOMEM;
    end_slot(g);
    return 0;
}

static int add_noise_word(trl__graph *g, const trl__unit_map *map)
{
    g->chain.count = 0;
    if (add_sources(&g->chain, &g->before, 0) < 0)
        return TRL_ENOMEM;
    int code = add_unit(g, map, map->noise, g->slots, 0);
    g->least_frames = add_frames(g->least_frames, least_of(map, map->noise));
    return code < 0 ? code : add_sources(&g->behind, &g->chain, 0) < 0 ? TRL_ENOMEM : 0;
}

static int add_lexicon_word(trl__graph *g, const trl__unit_map *map, const trl_lexicon *lexicon, size_t word)
{
    int32_t least = NEVER;
    size_t variants = trl_lexicon_pronunciations(lexicon, word);
    for (size_t v = 0; v < variants; v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        int32_t frames = 0;
        g->chain.count = 0;
        if (add_sources(&g->chain, &g->before, p.probability == 1 ? 0 : log_of(p.probability)) < 0)
            return TRL_ENOMEM;
        for (size_t i = 0; i < p.length; i++) {
            int32_t unit = map->phone_unit[p.phones[i] * POSITIONS + position_of(i, p.length)];
            int code = add_unit(g, map, unit, g->slots, (int32_t)v);
            if (code < 0)
                return code;
            frames = add_frames(frames, least_of(map, unit));
        }
        if (add_sources(&g->behind, &g->chain, 0) < 0)
            return TRL_ENOMEM;
        least = frames < least ? frames : least;
    }
    g->least_frames = add_frames(g->least_frames, least);
    return 0;
}

static int add_word(trl__graph *g, const trl__unit_map *map, const trl_lexicon *lexicon, int32_t word)
{
    int code = begin_slot(g);
    if (code == 0)
        code = word == TRL__WORD_NOISE ? add_noise_word(g, map) : add_lexicon_word(g, map, lexicon, (size_t)word);
    if (code == 0)
        end_slot(g);
    return code;
}

/* The final arcs. A path has at least one frame, so none leads from the start to the end. */
static int add_end(trl__graph *g)
{
    if (reserve_nodes(g, 0) < 0 || reserve_arcs(g, g->before.count) < 0)
        return TRL_ENOMEM;
    g->arc_first[g->nodes] = g->arcs;
    for (size_t i = 0; i < g->before.count; i++)
        if (g->before.items[i].node != TRL__START)
            add_arc(g, g->before.items[i].node, g->before.items[i].transition, g->before.items[i].weight);
    g->arc_first[g->nodes + 1] = g->arcs;
    return 0;
}

static int32_t bits_for(int32_t arcs)
{
    return arcs <= 2 ? 1 : arcs <= 4 ? 2 : arcs <= 16 ? 4 : arcs <= 256 ? 8 : 16;
}

static int check_words(const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words, size_t count,
                       trl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (words[i] == TRL__WORD_NOISE && map->noise < 0)
            return trl__fail(err, TRL_EINVAL, "the model has no noise unit that could stand for an unknown word");
        if (words[i] != TRL__WORD_NOISE && (words[i] < 0 || (size_t)words[i] >= trl_lexicon_words(lexicon)))
            return trl__fail(err, TRL_EINVAL, "word %d is not in the lexicon", (int)words[i]);
        int code = map->lacks_phones && words[i] >= 0 ? check_phones(map, lexicon, (size_t)words[i], err) : 0;
        if (code < 0)
            return code;
    }
    if (count == 0 && map->silence < 0)
        return trl__fail(err, TRL_EINVAL, "no words, and the model has no silence unit");
    return 0;
}

int trl__graph_build(trl__graph *graph, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                     size_t count, trl_error *err)
{
    int code = check_words(map, lexicon, words, count, err);
    if (code < 0)
        return code;
    graph->nodes = graph->phones = graph->slots = graph->arcs = 0;
    graph->least_frames = graph->tied_end = graph->most_arcs = 0;
    graph->least_unit = NEVER;
    graph->before.count = 0;
    float silence = count == 0 ? 1 : map->model->silence_between;
    if (add_source(&graph->before, TRL__START, 0, 0) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = add_silence(graph, map, silence);
        if (code == 0)
            code = add_word(graph, map, lexicon, words[i]);
    }
    if (code == 0)
        code = add_silence(graph, map, silence);
    if (code == 0)
        code = add_end(graph);
    if (code == TRL_ENOMEM)
        return trl__fail_memory(err);
    if (code == TRL_ELIMIT || graph->most_arcs > UINT16_MAX)
        return trl__fail(err, TRL_ELIMIT, "the graph of %zu words has too many arcs; cut the utterance", count);
    graph->back_bits = bits_for(graph->most_arcs);
    if (graph->least_frames == 0) /* everything may be passed over, but not all of it at once */
        graph->least_frames = graph->least_unit;
    return 0;
}

void trl__graph_free(trl__graph *graph)
{
    void *blocks[] = {graph->node_tied,    graph->node_phone,   graph->node_state,     graph->phone,
                      graph->slot,         graph->arc_first,    graph->arc_from,       graph->arc_weight,
                      graph->before.items, graph->behind.items, graph->arc_transition, graph->chain.items,
                      graph->longer.items};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        trl__free(blocks[i]);
    *graph = (trl__graph){0};
}
