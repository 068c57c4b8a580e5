/* Utterance graphs. The graph grows from left to right: a list of sources (nodes, each with what it costs to leave
 * it) says how the next unit can be entered. A unit turns its sources into arcs of its first states, and the sources
 * behind it are its own exits, and the old ones too where it may be skipped. So entries and exits, which emit
 * nothing, never become nodes. With a tree a unit becomes several copies, each with the sources that fit it
 * (unit_copies.c), and the sources that promised another unit lead nowhere. Cost: O(nodes + arcs), no allocation once
 * the arrays have grown. */
#include "align/graph_contexts.h"
#include "backend/backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>

#define MOST_ARCS (INT32_MAX / 4)

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

/* Where units may be skipped, a source can lead on in several ways that differ in nothing that emits: they become
 * one, with their probabilities added. Otherwise their number would double with every word. */
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

/* Both at most TRL__NEVER. */
static int32_t add_frames(int32_t a, int32_t b)
{
    return a + b < TRL__NEVER ? a + b : TRL__NEVER;
}

static int32_t least_of(const trl__unit_map *map, int32_t unit)
{
    const trl__shape *sh = trl__shape_of(map, unit);
    return sh->skip > -INFINITY ? 0 : sh->least;
}

/* The nodes of a unit, their arcs, and in g->longer its exits. */
int trl__graph_add_copy(trl__graph *g, const trl__unit_map *map, const trl__graph_phone *phone,
                        const trl__triple *triples, const trl__graph_sources *sources)
{
    const trl_model *model = map->model;
    const trl__shape *sh = trl__shape_of(map, phone->unit);
    size_t more = (size_t)sh->inner_arcs + (size_t)sh->entries * sources->count;
    if ((size_t)g->arcs + more > MOST_ARCS)
        return TRL_ELIMIT;
    if (reserve_nodes(g, (size_t)sh->states) < 0 || reserve_arcs(g, more) < 0 ||
        TRL_GROW(g->phone, g->phone_capacity, (size_t)g->phones + 1) < 0)
        return TRL_ENOMEM;
    int32_t base = g->nodes;
    for (int32_t s = 0; s < sh->states; s++) {
        int32_t first = g->arcs;
        add_node(g, triples[s].tied, s);
        for (int32_t i = sh->first[s]; i < sh->first[s + 1]; i++) {
            int32_t id = triples[sh->inner[i].from].transition + sh->inner[i].number;
            add_arc(g, base + sh->inner[i].from, id, model->log_probability[id]);
        }
        for (size_t i = 0; sh->entry[s] > -INFINITY && i < sources->count; i++) {
            const trl__graph_source *from = &sources->items[i];
            add_arc(g, from->node, from->transition, from->weight + sh->entry[s]);
        }
        g->most_arcs = g->arcs - first > g->most_arcs ? g->arcs - first : g->most_arcs;
    }
    for (int32_t i = 0; i < sh->exits; i++) {
        int32_t id = triples[sh->exit[i].from].transition + sh->exit[i].number;
        if (add_source(&g->longer, base + sh->exit[i].from, id, model->log_probability[id]) < 0)
            return TRL_ENOMEM;
    }
    g->phone[g->phones] = *phone;
    g->phone[g->phones].first_node = base;
    g->phone[g->phones++].end_node = g->nodes;
    return 0;
}

/* One unit, entered from g->chain, which becomes its exits. */
static int add_unit(trl__graph *g, const trl__unit_map *map, int32_t unit, int32_t variant, int32_t place)
{
    const trl__shape *sh = trl__shape_of(map, unit);
    trl__graph_phone phone = {.unit = unit, .slot = g->slots, .variant = variant, .place = place};
    g->has_skips |= sh->skip > -INFINITY;
    g->least_unit = sh->least < g->least_unit ? sh->least : g->least_unit;
    g->longer.count = 0;
    int code = map->model->tree
                   ? trl__graph_add_copies(g, map, &phone)
                   : trl__graph_add_copy(g, map, &phone, trl__model_triple(map->model, unit, 0), &g->chain);
    if (code < 0)
        return code;
    if (add_sources(&g->longer, &g->chain, sh->skip) < 0)
        return TRL_ENOMEM;
    swap_sources(&g->chain, &g->longer);
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
        if (add_sources(&g->chain, &g->before, trl__log_of(probability)) < 0)
            return TRL_ENOMEM;
        code = add_unit(g, map, map->silence, 0, 0);
        if (code < 0)
            return code;
        g->least_frames = add_frames(g->least_frames, probability < 1 ? 0 : least_of(map, map->silence));
        if (add_sources(&g->behind, &g->chain, 0) < 0)
            return TRL_ENOMEM;
    }
    if (add_sources(&g->behind, &g->before, trl__log_of(1 - probability)) < 0)
        return TRL_ENOMEM;
    end_slot(g);
    return 0;
}

static int add_noise_word(trl__graph *g, const trl__unit_map *map)
{
    g->chain.count = 0;
    if (add_sources(&g->chain, &g->before, 0) < 0)
        return TRL_ENOMEM;
    int code = add_unit(g, map, map->noise, 0, 0);
    g->least_frames = add_frames(g->least_frames, least_of(map, map->noise));
    return code < 0 ? code : add_sources(&g->behind, &g->chain, 0) < 0 ? TRL_ENOMEM : 0;
}

static int add_lexicon_word(trl__graph *g, const trl__unit_map *map, const trl_lexicon *lexicon, size_t word)
{
    int32_t least = TRL__NEVER;
    size_t variants = trl_lexicon_pronunciations(lexicon, word);
    for (size_t v = 0; v < variants; v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        int32_t frames = 0;
        g->chain.count = 0;
        if (add_sources(&g->chain, &g->before, p.probability == 1 ? 0 : trl__log_of(p.probability)) < 0)
            return TRL_ENOMEM;
        for (size_t i = 0; i < p.length; i++) {
            int32_t unit = trl__unit_of(map, p, i);
            int code = add_unit(g, map, unit, (int32_t)v, (int32_t)i);
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
static int add_end(trl__graph *g, int with_contexts)
{
    if (reserve_nodes(g, 0) < 0 || reserve_arcs(g, g->before.count) < 0)
        return TRL_ENOMEM;
    g->arc_first[g->nodes] = g->arcs;
    for (size_t i = 0; i < g->before.count; i++)
        if (g->before.items[i].node != TRL__START &&
            (!with_contexts || trl__contexts_may_end(g, g->before.items[i].node)))
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
        int code = map->lacks_phones && words[i] >= 0 ? trl__check_phones(map, lexicon, (size_t)words[i], err) : 0;
        if (code < 0)
            return code;
    }
    if (count == 0 && map->silence < 0)
        return trl__fail(err, TRL_EINVAL, "no words, and the model has no silence unit");
    return 0;
}

static int add_slots(trl__graph *g, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                     size_t count)
{
    float silence = count == 0 ? 1 : map->model->silence_between;
    int code = add_source(&g->before, TRL__START, 0, 0) < 0 ? TRL_ENOMEM : 0;
    if (code == 0 && map->model->tree)
        code = trl__contexts_begin(g, map, lexicon, words, count, silence);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = add_silence(g, map, silence);
        if (code == 0)
            code = add_word(g, map, lexicon, words[i]);
    }
    if (code == 0)
        code = add_silence(g, map, silence);
    return code < 0 ? code : add_end(g, map->model->tree != NULL);
}

int trl__graph_build(trl__graph *graph, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                     size_t count, trl_error *err)
{
    int code = check_words(map, lexicon, words, count, err);
    if (code < 0)
        return code;
    graph->nodes = graph->phones = graph->slots = graph->arcs = 0;
    graph->least_frames = graph->tied_end = graph->most_arcs = 0;
    graph->least_unit = TRL__NEVER;
    graph->before.count = 0;
    code = add_slots(graph, map, lexicon, words, count);
    if (code == TRL_ENOMEM)
        return trl__fail_memory(err);
    if (code == TRL_ECORRUPT)
        return trl__fail(err, code, "the model's tree chooses a tied state that its unit does not have");
    if (code == TRL_ELIMIT || graph->most_arcs > UINT16_MAX)
        return trl__fail(err, TRL_ELIMIT, "the graph of %zu words has too many arcs or contexts; cut the utterance",
                         count);
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
    trl__contexts_free(graph->contexts);
    *graph = (trl__graph){0};
}
