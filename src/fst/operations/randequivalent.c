/* Are two machines equivalent, as far as random paths show? What a path of one of them reads and writes must weigh the
 * same in both.
 *
 * The weight of a pair of strings is the sum over all paths with it: the states of the machine, together with the
 * places reached in both strings, make a machine of their own, and its distance is asked for. Cost per path: the part
 * of (states x input x output) that is reached.
 */
#include "fst/distance.h"
#include "base/tuple_table.h"

#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>

TRL__EACH(int, fst_randequivalent,
          (const trl_fst *a, const trl_fst *b, const trl_randgen_options *o, float delta, int *yes, trl_error *err));

typedef struct label_pair {
    int32_t *x, *y;
    size_t nx, ny, x_capacity, y_capacity;
} label_pair;

/* ---- The weight of a pair ---- */

static int product_arc(trl_fst *product, trl__tuples *places, int32_t from, const arc *a, const label_pair *p,
                       trl_error *err)
{
    const int32_t *key = trl__tuples_get(places, from);
    size_t i = (size_t)key[1], j = (size_t)key[2];
    if ((a->ilabel != 0 && (i == p->nx || p->x[i] != a->ilabel)) ||
        (a->olabel != 0 && (j == p->ny || p->y[j] != a->olabel)))
        return 0;
    int64_t to =
        trl__tuples_add(places, (int32_t[]){a->next, (int32_t)i + (a->ilabel != 0), (int32_t)j + (a->olabel != 0)});
    if (to < 0)
        return trl__fail_memory(err);
    return push_arc(product, from, (arc){0, 0, a->weight, (int32_t)to}, err);
}

static int make_product(const trl_fst *fst, const label_pair *p, trl_fst *product, trl__tuples *places, trl_error *err)
{
    if (trl__tuples_add(places, (int32_t[]){fst->start, 0, 0}) < 0)
        return trl__fail_memory(err);
    product->start = 0;
    for (size_t at = 0; at < places->count; at++) {
        int32_t s = push_state(product, err);
        if (s < 0)
            return s;
        const int32_t *key = trl__tuples_get(places, s);
        int32_t state = key[0];
        if ((size_t)key[1] == p->nx && (size_t)key[2] == p->ny)
            set_final(product, s, final_of(fst, state));
        for (uint32_t i = 0; i < arc_count(fst, state); i++) {
            int code = product_arc(product, places, s, &arcs_of(fst, state)[i], p, err);
            if (code < 0)
                return code;
        }
    }
    return 0;
}

static int pair_weight(const trl_fst *fst, const label_pair *p, weight *w, trl_error *err)
{
    trl__tuples places = {.width = 3};
    trl_fst *product;
    *w = ZERO;
    if (fst->start == TRL_NO_STATE)
        return 0;
    int code = trl_fst_create(fst->semiring, &product, err);
    if (code < 0)
        return code;
    distance *far = NULL;
    code = make_product(fst, p, product, &places, err);
    if (code == 0)
        code = FN(distances)(product, 1, TRL__DISTANCE_DELTA, &far, NULL, err);
    if (code == 0)
        *w = to_weight(far[0]);
    trl__free(far);
    trl__tuples_free(&places);
    trl_fst_destroy(product);
    return code;
}

/* ---- Random pairs ---- */

/* The labels of path `path` of a machine whose paths lie side by side. */
static int read_pair(const trl_fst *paths, uint32_t path, label_pair *p)
{
    p->nx = p->ny = 0;
    for (const arc *a = &arcs_of(paths, paths->start)[path];; a = arcs_of(paths, a->next)) {
        if (TRL_GROW(p->x, p->x_capacity, p->nx + 1) < 0 || TRL_GROW(p->y, p->y_capacity, p->ny + 1) < 0)
            return -1;
        if (a->ilabel != 0)
            p->x[p->nx++] = a->ilabel;
        if (a->olabel != 0)
            p->y[p->ny++] = a->olabel;
        if (arc_count(paths, a->next) == 0)
            return 0;
    }
}

static int compare_paths(const trl_fst *paths, const trl_fst *a, const trl_fst *b, float delta, int *yes,
                         trl_error *err)
{
    label_pair p = {0};
    int code = 0;
    uint32_t count = paths->start == TRL_NO_STATE ? 0 : arc_count(paths, paths->start);
    for (uint32_t i = 0; code == 0 && *yes && i < count; i++) {
        weight in_a, in_b;
        code = read_pair(paths, i, &p) < 0 ? trl__fail_memory(err) : pair_weight(a, &p, &in_a, err);
        if (code == 0)
            code = pair_weight(b, &p, &in_b, err);
        *yes = code == 0 && nearly(in_a, in_b, delta);
    }
    trl__free(p.x);
    trl__free(p.y);
    return code;
}

int FN(fst_randequivalent)(const trl_fst *a, const trl_fst *b, const trl_randgen_options *o, float delta, int *yes,
                           trl_error *err)
{
    const trl_fst *both[2] = {a, b};
    int code = 0;
    *yes = 1;
    for (int i = 0; code == 0 && *yes && i < 2; i++) {
        trl_fst *paths;
        code = trl_fst_randgen(both[i], o, &paths, err);
        if (code == 0)
            code = compare_paths(paths, a, b, delta, yes, err);
        trl_fst_destroy(paths);
    }
    *yes = *yes && code == 0;
    return code;
}

#if TRL__FIRST
int trl_fst_randequivalent(const trl_fst *a, const trl_fst *b, int32_t paths, float delta, uint64_t seed,
                           int32_t longest, int *yes, trl_error *err)
{
    trl_randgen_options o = {.paths = paths, .seed = seed, .longest = longest, .remove_weights = 1};
    *yes = 0;
    if (a->semiring != b->semiring)
        return trl__fail(err, TRL_EINVAL, "the machines are of the %s and the %s semiring",
                         trl_semiring_name(a->semiring), trl_semiring_name(b->semiring));
    TRL__DISPATCH(a->semiring, fst_randequivalent, (a, b, &o, delta, yes, err));
}
#endif
