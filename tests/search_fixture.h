/* Random searches: small graphs with bands, rows and everything that a backend fills. */
#ifndef TEST_SEARCH_FIXTURE_H
#define TEST_SEARCH_FIXTURE_H

#include "mixture_fixture.h"

#define MOST_NODES 24
#define MOST_ARCS (MOST_NODES * MOST_NODES + 2 * MOST_NODES)

typedef enum graph_kind { GRAPH_CHAIN, GRAPH_ERGODIC, GRAPH_RANDOM, GRAPH_KINDS } graph_kind;

typedef struct random_search {
    trl_model model;
    trl_matrix frames;
    trl__search s;
    trl__row row[MOST_NODES];
    int32_t node_row[MOST_NODES], node_first[MOST_NODES], node_end[MOST_NODES], tied[MOST_NODES];
    int32_t arc_first[MOST_NODES + 2], arc_from[MOST_ARCS], arc_transition[MOST_ARCS];
    float arc_weight[MOST_ARCS];
    int32_t arcs;
    double alpha[MOST_NODES], arc_count[MOST_ARCS];
    int64_t back_offset[MOST_NODES], gamma_offset[MOST_NODES];
} random_search;

static inline void add_arc(random_search *r, chance *c, int32_t from)
{
    int32_t arc = r->arcs++;
    r->arc_from[arc] = from;
    r->arc_weight[arc] = from == TRL__START ? between(c, -2, 0) : between(c, -5, 0);
    r->arc_transition[arc] = from == TRL__START ? 0 : 1 + pick(c, r->model.transitions);
}

/* May the path go from one node to the other? */
static inline int connected(chance *c, graph_kind kind, int from, int to)
{
    if (kind == GRAPH_ERGODIC)
        return 1;
    if (kind == GRAPH_CHAIN)
        return to == from || to == from + 1;
    return pick(c, 3) == 0 || to == from;
}

static inline void random_arcs(random_search *r, chance *c, graph_kind kind, int nodes)
{
    for (int to = 0; to <= nodes; to++) {
        r->arc_first[to] = r->arcs;
        if (to < nodes && (to == 0 || (kind != GRAPH_CHAIN && pick(c, 2))))
            add_arc(r, c, TRL__START);
        for (int from = 0; from < nodes; from++)
            if (to == nodes ? from == nodes - 1 || (kind != GRAPH_CHAIN && pick(c, 2)) : connected(c, kind, from, to))
                add_arc(r, c, from);
    }
    r->arc_first[nodes + 1] = r->arcs;
    int most = 1;
    for (int n = 0; n < nodes; n++)
        if (r->arc_first[n + 1] - r->arc_first[n] > most)
            most = r->arc_first[n + 1] - r->arc_first[n];
    r->s.back_bits = most <= 2 ? 1 : most <= 4 ? 2 : most <= 16 ? 4 : 8;
    if (pick(c, 8) == 0)
        r->s.back_bits = pick(c, 2) ? 8 : 16;
}

/* Everywhere, or a stretch somewhere, or none. */
static inline void random_bands(random_search *r, chance *c, int nodes, int frames)
{
    int narrow = pick(c, 3);
    for (int n = 0; n < nodes; n++) {
        r->node_first[n] = 0;
        r->node_end[n] = frames;
        if (narrow && pick(c, 3)) {
            r->node_first[n] = narrow == 1 ? pick(c, frames) : frames * n / nodes - frames * n / nodes / 2;
            r->node_end[n] = r->node_first[n] + pick(c, frames - r->node_first[n] + 1);
        }
    }
}

/* One row per tied state, or per node. */
static inline int64_t random_rows(random_search *r, chance *c, int nodes)
{
    int joined = pick(c, 4) > 0;
    int64_t floats = 0;
    for (int n = 0; n < nodes; n++) {
        int row = 0;
        if (r->node_first[n] >= r->node_end[n])
            continue;
        while (row < r->s.rows && !(joined && r->row[row].tied == r->tied[n]))
            row++;
        if (row == r->s.rows)
            r->row[r->s.rows++] = (trl__row){r->tied[n], r->node_first[n], r->node_end[n], 0};
        if (r->node_first[n] < r->row[row].first)
            r->row[row].first = r->node_first[n];
        if (r->node_end[n] > r->row[row].end)
            r->row[row].end = r->node_end[n];
        r->node_row[n] = row;
    }
    for (int i = 0; i < r->s.rows; i++) {
        r->row[i].offset = floats;
        floats += (r->row[i].end - r->row[i].first + TRL__ROW_PAD - 1) / TRL__ROW_PAD * TRL__ROW_PAD;
    }
    return floats;
}

static inline void random_search_free(random_search *r)
{
    free_mixtures(&r->model);
    free(r->frames.data);
    free(r->s.scores);
    free(r->s.back);
    free(r->s.path);
    free(r->s.path_arc);
    free(r->s.gamma);
    free(r);
}

/* Scores are left to whoever uses it. */
static inline random_search *random_search_make(uint64_t seed, graph_kind kind, int nodes, int frames,
                                                mixture_kind mixtures)
{
    random_search *r = calloc(1, sizeof *r);
    chance c = {seed, 0};
    trl__search *s = &r->s;
    r->model = random_mixtures(&c, mixtures, 9);
    r->frames = random_frames(&c, &r->model, frames);
    random_arcs(r, &c, kind, nodes);
    random_bands(r, &c, nodes, frames);
    for (int n = 0; n < nodes; n++)
        r->tied[n] = pick(&c, mixtures.tied);
    int64_t floats = random_rows(r, &c, nodes), bits = 0, cells = 0;
    for (int n = 0; n < nodes; n++) {
        int64_t length = r->node_end[n] > r->node_first[n] ? r->node_end[n] - r->node_first[n] : 0;
        r->back_offset[n] = bits;
        r->gamma_offset[n] = cells;
        bits += length * s->back_bits;
        cells += length;
    }
    s->frames = &r->frames;
    s->end = frames;
    s->combine = TRL__LOG_ADD;
    s->row = r->row;
    s->scores = malloc((size_t)floats * sizeof(float) + 64);
    s->nodes = s->node_end = nodes;
    s->node_tied = r->tied;
    s->node_row = r->node_row;
    s->node_first = r->node_first;
    s->node_end_frame = r->node_end;
    s->arc_first = r->arc_first;
    s->arc_from = r->arc_from;
    s->arc_weight = r->arc_weight;
    s->arc_transition = r->arc_transition;
    s->alpha = r->alpha;
    s->back = malloc((size_t)bits / 8 + 16);
    s->back_offset = r->back_offset;
    s->path = malloc((size_t)frames * sizeof *s->path);
    s->path_arc = malloc((size_t)frames * sizeof *s->path_arc);
    s->gamma = malloc((size_t)cells * sizeof(float) + 64);
    s->gamma_offset = r->gamma_offset;
    s->arc_count = r->arc_count;
    return r;
}

#endif
