/* All paths of a small acyclic machine, one by one.
 *
 *     static path_list list;
 *     all_paths(fst, &list);                                             // from the start; paths_from: from a state
 *     if (same_input(&list.paths[0], &list.paths[1])) …
 */
#ifndef TEST_FST_PATH_LIST_H
#define TEST_FST_PATH_LIST_H

#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>

#define MOST_PATHS 4000

/* What it reads, epsilons included, and what it writes. */
typedef struct path {
    int32_t x[LONGEST], y[LONGEST];
    int nx, ny;
    meaning weight;
} path;

typedef struct path_list {
    path paths[MOST_PATHS];
    int count;
} path_list;

UNUSED_OK static void extend_path(const trl_fst *fst, int32_t s, path p, path_list *list)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    if (!trl_weight_is_zero(semiring, trl_fst_final(fst, s))) {
        assert_true(list->count < MOST_PATHS);
        list->paths[list->count] = p;
        list->paths[list->count++].weight = meaning_times(semiring, p.weight, trl_fst_final(fst, s));
    }
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        path q = p;
        assert_true(q.nx < LONGEST && q.ny < LONGEST);
        q.x[q.nx++] = a.ilabel;
        if (a.olabel)
            q.y[q.ny++] = a.olabel;
        q.weight = meaning_times(semiring, p.weight, a.weight);
        extend_path(fst, a.next, q, list);
    }
}

UNUSED_OK static void paths_from(const trl_fst *fst, int32_t s, path_list *list)
{
    trl_weight one = trl_weight_one(trl_fst_semiring(fst));
    list->count = 0;
    if (s >= 0)
        extend_path(fst, s, (path){.weight = {one.value, one.second}}, list);
}

UNUSED_OK static void all_paths(const trl_fst *fst, path_list *list)
{
    paths_from(fst, trl_fst_start(fst), list);
}

UNUSED_OK static int same_input(const path *a, const path *b)
{
    return a->nx == b->nx && memcmp(a->x, b->x, (size_t)a->nx * sizeof a->x[0]) == 0;
}

UNUSED_OK static int same_output(const path *a, const path *b)
{
    return a->ny == b->ny && memcmp(a->y, b->y, (size_t)a->ny * sizeof a->y[0]) == 0;
}

/* The operation without the first, the second, … allocation, until there are enough. Returns how often there were
 * not. */
UNUSED_OK static int times_out_of_memory(int (*operation)(const trl_fst *, const trl_determinize_options *, trl_fst **,
                                                          trl_error *),
                                         const trl_fst *fst, const trl_determinize_options *options)
{
    int failures = 0, code = TRL_ENOMEM;
    for (long n = 1; code != 0; n++) {
        trl_fst *out;
        trl__memory_fail_after(n);
        code = operation(fst, options, &out, NULL);
        trl__memory_fail_after(0);
        trl_fst_destroy(out);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
    }
    return failures;
}

/* One output for each input? */
UNUSED_OK static int is_functional(const path_list *list)
{
    for (int i = 0; i < list->count; i++)
        for (int k = 0; k < i; k++)
            if (same_input(&list->paths[i], &list->paths[k]) && !same_output(&list->paths[i], &list->paths[k]))
                return 0;
    return 1;
}

#endif
