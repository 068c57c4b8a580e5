/* Random lattices, and all of their paths: what a lattice means, worked out without the library's own functions on them.
 *
 *     random_source random = {1};
 *     trl_lattice *lattice = random_lattice(&(lattice_kind){.states = 8, .arcs = 3, .words = 4, .frames = 10}, &random);
 *     path_list paths = all_paths(lattice);
 *     free_paths(&paths);
 */
#ifndef TEST_RANDOM_LATTICE_H
#define TEST_RANDOM_LATTICE_H

#include "decode/lattice_draft.h"
#include "fst_fixture.h"

typedef struct lattice_kind {
    int32_t states;
    uint32_t arcs;   /* of a state, at most */
    uint32_t words;  /* labels 1 … words */
    uint32_t frames; /* at least states */
    int ambiguous;   /* 1: arcs of a state may have the same word, or none */
} lattice_kind;

static inline float random_cost(random_source *r)
{
    return (float)random_below(r, 4096) / 64 - 8; /* sums of these are exact */
}

static inline void random_transitions(int32_t *transitions, uint32_t count, random_source *r)
{
    for (uint32_t i = 0; i < count; i++)
        transitions[i] = 1 + (int32_t)random_below(r, 900);
}

static inline trl_lattice *random_lattice_try(const lattice_kind *kind, trl_symbols *words, random_source *r)
{
    trl__lattice_draft draft = {0};
    trl_lattice *lattice;
    trl_error err;
    int32_t transitions[256], last = kind->states - 1;
    uint32_t time[64];
    assert_true(kind->states <= 64 && kind->frames < 256);
    for (int32_t s = 0; s < kind->states; s++)
        time[s] = s == 0 ? 0 : s == last ? kind->frames : (uint32_t)s * kind->frames / (uint32_t)kind->states;
    for (int32_t s = 0; s < last; s++) {
        uint32_t first = random_below(r, kind->words), count = 1 + random_below(r, kind->arcs);
        for (uint32_t a = 0; a < count && (kind->ambiguous || a < kind->words); a++) {
            int32_t next = s + 1 + (int32_t)random_below(r, (uint32_t)(last - s < 4 ? last - s : 4));
            trl_lattice_arc arc = {next,
                                   1 + (int32_t)((first + a) % kind->words),
                                   random_cost(r),
                                   random_cost(r),
                                   0,
                                   time[next] - time[s]};
            if (kind->ambiguous)
                arc.word = (int32_t)random_below(r, kind->words + 1);
            random_transitions(transitions, arc.duration, r);
            assert_int_equal(trl__draft_add_arc(&draft, s, &arc, transitions, &err), 0);
        }
        if (!random_chance(r, 0.15))
            continue;
        trl_lattice_end end = {random_cost(r), random_cost(r), 0, kind->frames - time[s]};
        random_transitions(transitions, end.duration, r);
        assert_int_equal(trl__draft_set_end(&draft, s, &end, transitions, &err), 0);
    }
    trl_lattice_end end = {random_cost(r), random_cost(r), 0, 0};
    assert_int_equal(trl__draft_set_end(&draft, last, &end, transitions, &err), 0);
    if (trl__draft_finish(&draft, words, &lattice, &err) < 0)
        fail_msg("%s", err.text);
    trl__draft_free(&draft);
    return lattice;
}

UNUSED_OK static trl_lattice *random_lattice(const lattice_kind *kind, random_source *r)
{
    return random_lattice_try(kind, NULL, r);
}

/* ---- Paths ---- */

typedef struct lattice_path {
    int32_t words[64], transitions[256];
    size_t word_count, transition_count;
    double graph, acoustic;
} lattice_path;

typedef struct path_list {
    lattice_path *items;
    size_t count, capacity;
} path_list;

static inline void walk_paths(const trl_lattice_view *l, int32_t s, lattice_path path, path_list *list)
{
    lattice_path here = path;
    const trl_lattice_end *end = &l->ends[s];
    if (end->graph != INFINITY) {
        for (uint32_t i = 0; i < end->duration; i++)
            here.transitions[here.transition_count++] = l->transitions[end->transition + i];
        here.graph += (double)end->graph;
        here.acoustic += (double)end->acoustic;
        if (list->count == list->capacity) {
            list->capacity = 2 * list->capacity + 64;
            list->items = realloc(list->items, list->capacity * sizeof *list->items);
            assert_non_null(list->items);
        }
        list->items[list->count++] = here;
    }
    for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
        const trl_lattice_arc *arc = &l->arcs[a];
        here = path;
        for (uint32_t i = 0; i < arc->duration; i++)
            here.transitions[here.transition_count++] = l->transitions[arc->transition + i];
        if (arc->word > 0)
            here.words[here.word_count++] = arc->word;
        here.graph += (double)arc->graph;
        here.acoustic += (double)arc->acoustic;
        walk_paths(l, arc->next, here, list);
    }
}

static inline int compare_ints(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    for (size_t i = 0; i < n && i < m; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return (n > m) - (n < m);
}

static inline int compare_paths(const void *left, const void *right)
{
    const lattice_path *a = left, *b = right;
    int order = compare_ints(a->words, a->word_count, b->words, b->word_count);
    if (order == 0)
        order = compare_ints(a->transitions, a->transition_count, b->transitions, b->transition_count);
    if (order == 0)
        order = (a->graph > b->graph) - (a->graph < b->graph);
    return order ? order : (a->acoustic > b->acoustic) - (a->acoustic < b->acoustic);
}

/* By words, then transitions, then costs. */
UNUSED_OK static path_list all_paths(const trl_lattice *lattice)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    path_list list = {0};
    if (l.states > 0)
        walk_paths(&l, 0, (lattice_path){.word_count = 0}, &list);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare_paths);
    return list;
}

UNUSED_OK static void free_paths(path_list *list)
{
    free(list->items);
    *list = (path_list){0};
}

#endif
