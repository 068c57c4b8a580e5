/* Random recognition graphs and scores, and the machine that a search through them means: the scores as an acceptor, composed with the graph.
 *
 *     trl_graph *graph = random_graph(&kind, &random);
 *     float *scores = random_scores(graph, frames, &random);              // tied * frames + f
 *     trl_fst *all = compose_with_scores(graph, scores, frames, scale);   // every way through
 *
 * Costs are multiples of 1/8, so that sums of floats are exact.
 */
#ifndef TEST_GRAPH_FIXTURE_H
#define TEST_GRAPH_FIXTURE_H

#include "fst_fixture.h"

#include "base/memory.h"
#include "decode/graph_data.h"

#include <trellis/fst_compose.h>
#include <trellis/fst_structure.h>

typedef struct graph_kind {
    int32_t states, arcs, transitions, tied, words;
    double epsilons; /* chance that an arc reads nothing */
    double finals;
} graph_kind;

UNUSED_OK static void free_graph(trl_graph *g)
{
    free(g->first);
    free(g->emitting);
    free(g->arcs);
    free(g->final);
    free(g->tied);
    trl__free(g->level);
    free(g);
}

UNUSED_OK static int compare_network_arcs(const void *a, const void *b)
{
    const trl__network_arc *x = a, *y = b;
    int32_t d[] = {x->transition - y->transition, x->word - y->word, x->next - y->next};
    return d[0] ? d[0] : d[1] ? d[1] : d[2] ? d[2] : (x->cost > y->cost) - (x->cost < y->cost);
}

/* From arcs with their sources; both arrays are copied. */
UNUSED_OK static trl_graph *make_graph(int32_t states, int32_t transitions, const int32_t *from,
                                       const trl__network_arc *arcs, int32_t count)
{
    trl_graph *g = calloc(1, sizeof *g);
    uint64_t at = 0;
    g->states = states;
    g->transitions = transitions;
    g->first = calloc((size_t)states + 1, sizeof *g->first);
    g->emitting = calloc((size_t)states + 1, sizeof *g->emitting);
    g->arcs = calloc((size_t)count + 1, sizeof *g->arcs);
    g->final = calloc((size_t)states, sizeof *g->final);
    g->tied = calloc((size_t)transitions + 1, sizeof *g->tied);
    g->tied[0] = -1;
    for (int32_t s = 0; s < states; s++) {
        g->first[s] = at;
        for (int32_t i = 0; i < count; i++)
            if (from[i] == s)
                g->arcs[at++] = arcs[i];
        qsort(g->arcs + g->first[s], at - g->first[s], sizeof *g->arcs, compare_network_arcs);
        g->emitting[s] = g->first[s];
        while (g->emitting[s] < at && g->arcs[g->emitting[s]].transition == 0)
            g->emitting[s]++;
    }
    g->first[states] = at;
    g->end = g->first + 1;
    assert_int_equal(trl__graph_set_levels(g, NULL), 0);
    return g;
}

UNUSED_OK static float random_eighths(random_source *r, uint32_t below)
{
    return (float)random_below(r, below) / 8;
}

/* Arcs that read nothing lead upwards in an order of states that has nothing to do with their numbers. */
UNUSED_OK static trl_graph *random_graph(const graph_kind *kind, random_source *r)
{
    int32_t from[200], order[200] = {0};
    trl__network_arc arcs[200];
    assert_true(kind->arcs <= 200 && kind->states <= 200);
    for (int32_t s = 0; s < kind->states; s++) {
        int32_t k = (int32_t)random_below(r, (uint32_t)s + 1);
        order[s] = order[k];
        order[k] = s;
    }
    for (int32_t i = 0; i < kind->arcs; i++) {
        int is_epsilon = random_chance(r, kind->epsilons);
        from[i] = (int32_t)random_below(r, (uint32_t)kind->states);
        arcs[i].next = (int32_t)random_below(r, (uint32_t)kind->states);
        if (is_epsilon && order[from[i]] > order[arcs[i].next]) {
            int32_t kept = from[i];
            from[i] = arcs[i].next;
            arcs[i].next = kept;
        }
        is_epsilon &= from[i] != arcs[i].next;
        arcs[i].transition = is_epsilon ? 0 : 1 + (int32_t)random_below(r, (uint32_t)kind->transitions);
        arcs[i].word = random_chance(r, 0.3) ? 1 + (int32_t)random_below(r, (uint32_t)kind->words) : 0;
        arcs[i].cost = random_eighths(r, 33) - 1;
    }
    trl_graph *g = make_graph(kind->states, kind->transitions, from, arcs, kind->arcs);
    g->start = (int32_t)random_below(r, (uint32_t)kind->states);
    g->words = kind->words + 1;
    for (int32_t s = 0; s < kind->states; s++)
        g->final[s] = random_chance(r, kind->finals) ? random_eighths(r, 33) : INFINITY;
    for (int32_t i = 1; i <= kind->transitions; i++)
        g->tied[i] = (int32_t)random_below(r, (uint32_t)kind->tied);
    return g;
}

/* Some are impossible. */
UNUSED_OK static float *random_scores(int32_t tied, int32_t frames, random_source *r)
{
    size_t count = (size_t)tied * (size_t)frames;
    float *scores = malloc((count + 1) * sizeof *scores);
    for (size_t i = 0; i < count; i++)
        scores[i] = random_chance(r, 0.05) ? -INFINITY : 2 - random_eighths(r, 129);
    return scores;
}

UNUSED_OK static trl_fst *graph_as_machine(const trl_graph *g)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, g->states, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, g->start, NULL), 0);
    for (int32_t s = 0; s < g->states; s++) {
        for (uint64_t i = g->first[s]; i < g->first[s + 1]; i++) {
            const trl__network_arc *a = &g->arcs[i];
            trl_arc arc = {a->transition, a->word, {a->cost, 0}, a->next};
            assert_int_equal(trl_fst_add_arc(fst, s, arc, NULL), 0);
        }
        if (g->final[s] < INFINITY)
            assert_int_equal(trl_fst_set_final(fst, s, (trl_weight){g->final[s], 0}, NULL), 0);
    }
    return fst;
}

UNUSED_OK static trl_fst *compose_with_scores(const trl_graph *g, const float *scores, int32_t frames, float scale)
{
    trl_fst *sound, *graph = graph_as_machine(g), *all;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &sound, NULL), 0);
    assert_int_equal(trl_fst_add_states(sound, frames + 1, NULL), 0);
    assert_int_equal(trl_fst_set_start(sound, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(sound, frames, trl_weight_one(TRL_TROPICAL), NULL), 0);
    for (int32_t f = 0; f < frames; f++)
        for (int32_t i = 1; i <= g->transitions; i++) {
            float score = scores[(size_t)g->tied[i] * (size_t)frames + (size_t)f];
            trl_arc arc = {i, i, {-scale * score, 0}, f + 1};
            if (score > -INFINITY)
                assert_int_equal(trl_fst_add_arc(sound, f, arc, NULL), 0);
        }
    assert_int_equal(trl_fst_arcsort(sound, TRL_SIDE_OUTPUT, NULL), 0);
    assert_int_equal(trl_fst_compose(sound, graph, NULL, &all, NULL), 0);
    trl_fst_destroy(sound);
    trl_fst_destroy(graph);
    return all;
}

#endif
