/* Best paths against the list of all paths; pruning against the best path through every arc. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_paths.h>

#define MOST 10
#define TOO_MANY 3000 /* paths to be listed */

/* A path: its cost, what it reads, and all of it as text. */
typedef struct listed {
    meaning cost;
    char input[400], text[2000];
} listed;

typedef struct list {
    listed *paths;
    int count, room;
} list;

static double sum_of(meaning m)
{
    return m.value + m.second;
}

static void list_add(list *l, meaning cost, const char *input, const char *text)
{
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->paths = realloc(l->paths, (size_t)l->room * sizeof *l->paths);
        assert_non_null(l->paths);
    }
    l->paths[l->count].cost = cost;
    strcpy(l->paths[l->count].input, input);
    strcpy(l->paths[l->count++].text, text);
}

/* All paths from a state on whose cost, with the least that remains, is at most `limit`. */
static void list_paths(const trl_fst *fst, int32_t s, meaning cost, const char *input, const char *text, double limit,
                       const double *least, list *l)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    trl_weight f = trl_fst_final(fst, s);
    if (l->count > TOO_MANY || isinf(least[s]) || sum_of(cost) + least[s] > limit)
        return;
    char more[2000], read[400];
    if (!trl_weight_is_zero(semiring, f)) {
        snprintf(more, sizeof more, "%s/%g,%g", text, (double)f.value, (double)f.second);
        if (sum_of(meaning_times(semiring, cost, f)) <= limit)
            list_add(l, meaning_times(semiring, cost, f), input, more);
    }
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        assert_true(strlen(text) < 1900);
        snprintf(more, sizeof more, "%s%d:%d/%g,%g ", text, (int)a.ilabel, (int)a.olabel, (double)a.weight.value,
                 (double)a.weight.second);
        snprintf(read, sizeof read, a.ilabel ? "%s%d " : "%s", input, (int)a.ilabel);
        list_paths(fst, a.next, meaning_times(semiring, cost, a.weight), read, more, limit, least, l);
    }
}

/* The least cost to an end, by iteration. */
static void least_costs(const trl_fst *fst, double *least)
{
    int32_t n = trl_fst_states(fst);
    for (int32_t s = 0; s < n; s++) {
        trl_weight f = trl_fst_final(fst, s);
        least[s] = (double)f.value + (double)f.second;
    }
    for (int32_t round = 0; round < n; round++)
        for (int32_t s = 0; s < n; s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                least[s] = fmin(least[s], (double)a.weight.value + (double)a.weight.second + least[a.next]);
            }
}

static int compare_listed(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (sum_of(x->cost) != sum_of(y->cost))
        return sum_of(x->cost) < sum_of(y->cost) ? -1 : 1;
    if (x->cost.value != y->cost.value)
        return x->cost.value < y->cost.value ? -1 : 1;
    return strcmp(x->text, y->text);
}

static list all_paths(const trl_fst *fst, double limit)
{
    double least[2000];
    list l = {0};
    assert_true(trl_fst_states(fst) < 2000);
    least_costs(fst, least);
    if (trl_fst_start(fst) >= 0)
        list_paths(fst, trl_fst_start(fst), (meaning){0, 0}, "", "", limit, least, &l);
    if (l.count > 0)
        qsort(l.paths, (size_t)l.count, sizeof *l.paths, compare_listed);
    return l;
}

/* Of paths in order, the first of each input. */
static void only_first_of_each_input(list *l)
{
    int kept = 0;
    for (int i = 0; i < l->count; i++) {
        int seen = 0;
        for (int k = 0; k < kept; k++)
            seen |= strcmp(l->paths[i].input, l->paths[k].input) == 0;
        if (!seen)
            l->paths[kept++] = l->paths[i];
    }
    l->count = kept;
}

static machine_kind some_kind(int round, random_source *r)
{
    machine_kind kind = {.semiring = round % 2 ? TRL_TROPICAL : TRL_LATTICE,
                         .states = 1 + (int32_t)random_below(r, MOST - 1),
                         .labels = 1 + (int32_t)random_below(r, 3),
                         .epsilons = random_below(r, 3) * 0.2,
                         .acceptor = (int)random_below(r, 2),
                         .finals = 0.1 + 0.3 * random_below(r, 2)};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

/* Arcs of a cyclic machine cost at least 1/8, so that no more than a few paths cost as little as the best ones. */
static trl_fst *some_machine(machine_kind *kind, random_source *r)
{
    kind->cyclic = (int)random_below(r, 2);
    trl_fst *fst = random_machine(kind, r), *out;
    if (!kind->cyclic)
        return fst;
    assert_int_equal(trl_fst_create(kind->semiring, &out, NULL), 0);
    assert_int_equal(trl_fst_add_states(out, kind->states, NULL), 0);
    assert_int_equal(trl_fst_set_start(out, 0, NULL), 0);
    for (int32_t s = 0; s < kind->states; s++) {
        assert_int_equal(trl_fst_set_final(out, s, trl_fst_final(fst, s), NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            a.weight.value += 0.125f;
            assert_int_equal(trl_fst_add_arc(out, s, a, NULL), 0);
        }
    }
    trl_fst_destroy(fst);
    return out;
}

/* Returns 0 when there are too many to compare. */
static int compare_paths(const trl_fst *fst, const trl_fst *best, int paths, int unique)
{
    list found = all_paths(best, INFINITY);
    double worst = found.count > 0 ? sum_of(found.paths[found.count - 1].cost) : 0;
    list wanted = all_paths(fst, found.count == paths ? worst + 1e-6 : unique ? worst + 0.25 : INFINITY);
    int few = wanted.count <= TOO_MANY;
    if (unique)
        only_first_of_each_input(&wanted);
    assert_true(!few || found.count == (wanted.count < paths ? wanted.count : paths));
    for (int i = 0; few && i < found.count; i++) {
        assert_true(fabs(sum_of(found.paths[i].cost) - sum_of(wanted.paths[i].cost)) < 1e-6);
        assert_true(fabs(found.paths[i].cost.value - wanted.paths[i].cost.value) < 1e-6);
        int there = 0;
        for (int k = 0; k < wanted.count; k++)
            there |= strcmp(found.paths[i].text, wanted.paths[k].text) == 0;
        assert_true(there || unique); /* between equals of one input, any may be there */
        for (int k = 0; k < i; k++)
            assert_false(unique && strcmp(found.paths[i].input, found.paths[k].input) == 0);
    }
    free(found.paths);
    free(wanted.paths);
    return few;
}

/* The first arcs of the start belong to the best paths, in their order. */
static void assert_in_order(const trl_fst *best)
{
    double least[2000], last = -INFINITY;
    int32_t start = trl_fst_start(best);
    least_costs(best, least);
    for (uint32_t i = 0; start >= 0 && i < trl_fst_arc_count(best, start); i++) {
        trl_arc a = trl_fst_arc(best, start, i);
        double cost = (double)a.weight.value + (double)a.weight.second + least[a.next];
        assert_true(cost >= last - 1e-6);
        last = cost;
    }
}

static void best_paths(int unique, uint64_t seed)
{
    random_source r = {seed};
    int compared = 0;
    for (int round = 0; round < 12000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = some_machine(&kind, &r), *best;
        int32_t paths = 1 + (int32_t)random_below(&r, 1 + (uint32_t)round % 20);
        trl_shortestpath_options o = {.paths = paths, .unique = unique};
        assert_int_equal(trl_fst_shortestpath(fst, &o, &best, NULL), 0);
        assert_int_equal(trl_fst_verify(best, NULL), 0);
        assert_in_order(best);
        compared += compare_paths(fst, best, paths, unique);
        trl_fst_destroy(best);
        trl_fst_destroy(fst);
    }
    assert_true(compared > 11000);
}

static void n_best_paths_are_the_first_of_all(void **state)
{
    (void)state;
    best_paths(0, 21);
}

static void n_best_inputs_are_the_first_of_all_inputs(void **state)
{
    (void)state;
    best_paths(1, 22);
}

static double best_cost(const trl_fst *fst)
{
    trl_fst *best;
    assert_int_equal(trl_fst_shortestpath(fst, NULL, &best, NULL), 0);
    assert_int_equal(trl_fst_verify(best, NULL), 0);
    list l = all_paths(best, INFINITY);
    assert_true(l.count <= 1);
    double cost = l.count ? sum_of(l.paths[0].cost) : INFINITY;
    free(l.paths);
    trl_fst_destroy(best);
    return cost;
}

/* Potentials of the states make negative weights of positive ones, and cost nothing along a cycle. */
static void weights_may_be_negative(void **state)
{
    (void)state;
    random_source r = {28};
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.states += (int32_t)random_below(&r, 1 + 40 * (uint32_t)(round % 2));
        kind.arcs = (int32_t)random_below(&r, 4 * (uint32_t)kind.states);
        trl_fst *fst = some_machine(&kind, &r), *turned;
        double least[100];
        float potential[100] = {0};
        least_costs(fst, least);
        for (int32_t s = 1; s < kind.states; s++)
            potential[s] = (float)random_below(&r, 800) / 8;
        assert_int_equal(trl_fst_create(kind.semiring, &turned, NULL), 0);
        assert_int_equal(trl_fst_add_states(turned, kind.states, NULL), 0);
        assert_int_equal(trl_fst_set_start(turned, 0, NULL), 0);
        for (int32_t s = 0; s < kind.states; s++) {
            trl_weight f = trl_fst_final(fst, s);
            f.value -= potential[s];
            assert_int_equal(trl_fst_set_final(turned, s, f, NULL), 0);
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                a.weight.value += potential[a.next] - potential[s];
                assert_int_equal(trl_fst_add_arc(turned, s, a, NULL), 0);
            }
        }
        assert_true(best_cost(turned) == least[0]);
        trl_fst_destroy(fst);
        trl_fst_destroy(turned);
    }
}

/* Diamonds in a row, where the side that looks dearer first is cheaper in the end: whoever goes on from the nearest
 * state works on the last one again and again, twice as often for each diamond in front of it. */
static void what_looks_dear_first_does_not_hold_the_search_up(void **state)
{
    (void)state;
    enum { DIAMONDS = 23 };
    trl_fst *fst;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 2 * DIAMONDS + 1, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 2 * DIAMONDS, (trl_weight){0, 0}, NULL), 0);
    for (int32_t i = 0; i < DIAMONDS; i++) {
        float gain = (float)(1 << (DIAMONDS - 1 - i));
        assert_int_equal(trl_fst_add_arc(fst, 2 * i, (trl_arc){1, 1, {0, 0}, 2 * i + 2}, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, 2 * i, (trl_arc){2, 2, {gain, 0}, 2 * i + 1}, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, 2 * i + 1, (trl_arc){3, 3, {-2 * gain, 0}, 2 * i + 2}, NULL), 0);
    }
    assert_true(best_cost(fst) == -((1 << DIAMONDS) - 1));
    trl_fst_destroy(fst);
}

/* A cycle that costs nothing, but for what is rounded off on the way. */
static void rounding_makes_no_cycle_better(void **state)
{
    (void)state;
    random_source r = {29};
    const int32_t ends[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 4}};
    for (int round = 0; round < 2000; round++) {
        trl_fst *fst;
        float small = (float)random_below(&r, 1u << 30) * 1e-16f, step = (float)random_below(&r, 1u << 30);
        const float cost[] = {1, small, step, -step, 1};
        assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
        assert_int_equal(trl_fst_add_states(fst, 5, NULL), 0);
        assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
        assert_int_equal(trl_fst_set_final(fst, 4, (trl_weight){0, 0}, NULL), 0);
        for (int i = 0; i < 5; i++)
            assert_int_equal(trl_fst_add_arc(fst, ends[i][0], (trl_arc){1, 1, {cost[i], 0}, ends[i][1]}, NULL), 0);
        assert_true(fabs(best_cost(fst) - (double)step - (double)small - 2) <= 1e-6);
        trl_fst_destroy(fst);
    }
}

/* Cycles without cost: infinitely many equally good paths, and any number of them can be had. */
static void cycles_without_cost_do_not_hold_the_search_up(void **state)
{
    (void)state;
    random_source r = {23};
    for (int round = 0; round < 2000; round++) {
        machine_kind kind = {.semiring = round % 2 ? TRL_TROPICAL : TRL_LATTICE,
                             .states = 4,
                             .labels = 2,
                             .arcs = 10,
                             .epsilons = 0.3,
                             .cyclic = 1,
                             .unweighted = 1};
        trl_fst *fst = random_machine(&kind, &r), *best;
        for (int unique = 0; unique < 2; unique++) {
            trl_shortestpath_options o = {.paths = 12, .unique = unique};
            assert_int_equal(trl_fst_shortestpath(fst, &o, &best, NULL), 0);
            list l = all_paths(best, INFINITY);
            assert_true(l.count <= 12);
            int before = l.count;
            if (unique)
                only_first_of_each_input(&l);
            assert_int_equal(l.count, before);
            free(l.paths);
            trl_fst_destroy(best);
        }
        trl_fst_destroy(fst);
    }
}

static void costs_and_states_can_be_limited(void **state)
{
    (void)state;
    random_source r = {24};
    for (int round = 0; round < 4000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = some_machine(&kind, &r), *best;
        trl_shortestpath_options o = {.paths = 50,
                                      .unique = (int)random_below(&r, 2),
                                      .has_prune = 1,
                                      .prune = {(float)random_below(&r, 20) / 8 + 0.0625f, 0}, /* no path is just so */
                                      .most_states = (int64_t)random_below(&r, 2) * 20};
        assert_int_equal(trl_fst_shortestpath(fst, &o, &best, NULL), 0);
        list found = all_paths(best, INFINITY), all;
        double least[MOST];
        least_costs(fst, least);
        all = all_paths(fst, least[0] + (double)o.prune.value + 1e-9);
        if (o.unique)
            only_first_of_each_input(&all);
        if (o.most_states)
            assert_true(trl_fst_states(best) <= o.most_states);
        else if (all.count <= TOO_MANY)
            assert_int_equal(found.count, all.count < 50 ? all.count : 50);
        for (int i = 0; all.count <= TOO_MANY && i < found.count; i++)
            assert_true(fabs(sum_of(found.paths[i].cost) - sum_of(all.paths[i].cost)) < 1e-6);
        free(found.paths);
        free(all.paths);
        trl_fst_destroy(best);
        trl_fst_destroy(fst);
    }
}

/* The cost of the best path through every arc, from all distances by iteration. */
static void pruning_keeps_what_is_on_a_good_path(void **state)
{
    (void)state;
    random_source r = {25};
    for (int round = 0; round < 12000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = some_machine(&kind, &r), *pruned;
        float threshold = (float)random_below(&r, 40) / 8 + 0.0625f; /* no path is just so */
        double least[MOST], from[MOST];
        least_costs(fst, least);
        for (int32_t s = 0; s < kind.states; s++)
            from[s] = s == 0 ? 0 : INFINITY;
        uint64_t arcs = 0, finals = 0;
        int32_t states = 0;
        for (int32_t k = 0; k < kind.states; k++)
            for (int32_t s = 0; s < kind.states; s++)
                for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                    trl_arc a = trl_fst_arc(fst, s, i);
                    from[a.next] = fmin(from[a.next], from[s] + (double)a.weight.value + (double)a.weight.second);
                }
        double limit = least[0] + (double)threshold + 1e-6;
        for (int32_t s = 0; s < kind.states; s++) {
            trl_weight f = trl_fst_final(fst, s);
            states += isfinite(from[s] + least[s]) && from[s] + least[s] <= limit;
            finals += isfinite(f.value) && isfinite(from[s]) && from[s] + (double)f.value + (double)f.second <= limit;
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                double through = from[s] + (double)a.weight.value + (double)a.weight.second + least[a.next];
                arcs += isfinite(through) && through <= limit;
            }
        }
        pruned = copy_of(fst);
        trl_weight t = {threshold, 0};
        assert_int_equal(trl_fst_prune(pruned, t, 0, NULL), 0);
        assert_int_equal(trl_fst_verify(pruned, NULL), 0);
        assert_int_equal(trl_fst_states(pruned), states);
        assert_int_equal(trl_fst_arcs(pruned), arcs);
        for (int32_t s = 0; s < trl_fst_states(pruned); s++)
            finals -= !trl_weight_is_zero(kind.semiring, trl_fst_final(pruned, s));
        assert_int_equal(finals, 0);
        list a = all_paths(fst, least[0] + (double)threshold), b = all_paths(pruned, least[0] + (double)threshold);
        assert_int_equal(a.count, b.count); /* where there are too many, the first ones */
        for (int i = 0; i < a.count; i++)
            assert_string_equal(a.paths[i].text, b.paths[i].text);
        free(a.paths);
        free(b.paths);
        int64_t most = 1 + (int64_t)random_below(&r, MOST);
        assert_int_equal(trl_fst_prune(fst, trl_weight_zero(kind.semiring), most, NULL), 0);
        assert_true(trl_fst_states(fst) <= most);
        trl_fst_destroy(fst);
        trl_fst_destroy(pruned);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    random_source r = {26};
    trl_error err;
    for (int i = 0; i < 2; i++) {
        machine_kind kind = {.semiring = i ? TRL_LOG : TRL_REAL, .states = 3, .labels = 2, .arcs = 5};
        trl_fst *fst = random_machine(&kind, &r), *best;
        assert_int_equal(trl_fst_shortestpath(fst, NULL, &best, &err), TRL_EINVAL);
        assert_null(best);
        assert_int_equal(trl_fst_prune(fst, (trl_weight){1, 0}, 0, &err), TRL_EINVAL);
        trl_fst_destroy(fst);
    }
    machine_kind kind = {.semiring = TRL_TROPICAL, .states = 3, .labels = 2, .arcs = 5};
    trl_fst *fst = random_machine(&kind, &r), *best;
    assert_int_equal(trl_fst_prune(fst, (trl_weight){-1, 0}, 0, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_shortestpath(fst, &(trl_shortestpath_options){.paths = -1}, &best, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 1, {-1, 0}, 0}, NULL), 0);
    assert_int_equal(trl_fst_shortestpath(fst, NULL, &best, &err), TRL_ELIMIT);
    assert_int_equal(trl_fst_shortestpath(fst, &(trl_shortestpath_options){.queue = TRL_QUEUE_TOP}, &best, &err),
                     TRL_EINVAL);
    trl_fst_destroy(fst);
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_shortestpath(fst, NULL, &best, &err), 0);
    assert_int_equal(trl_fst_states(best), 0);
    assert_int_equal(trl_fst_prune(fst, (trl_weight){1, 0}, 0, &err), 0);
    trl_fst_destroy(fst);
    trl_fst_destroy(best);
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {27};
    int failures = 0;
    for (int round = 0; round < 40; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.states = MOST;
        kind.arcs = 30;
        trl_fst *fst = some_machine(&kind, &r);
        for (long n = 1; n < 60; n++) {
            trl_fst *best = NULL, *copy;
            copy = copy_of(fst);
            trl_shortestpath_options o = {.paths = 1 + round % 20, .unique = round & 1};
            trl__memory_fail_after(n);
            int code = trl_fst_shortestpath(fst, &o, &best, NULL);
            if (code == 0)
                code = trl_fst_prune(copy, (trl_weight){1, 0}, 0, NULL);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
            trl_fst_destroy(best);
            trl_fst_destroy(copy);
        }
        trl_fst_destroy(fst);
    }
    assert_true(failures > 400 && failures < 2360);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n_best_paths_are_the_first_of_all),
        cmocka_unit_test(n_best_inputs_are_the_first_of_all_inputs),
        cmocka_unit_test(weights_may_be_negative),
        cmocka_unit_test(what_looks_dear_first_does_not_hold_the_search_up),
        cmocka_unit_test(rounding_makes_no_cycle_better),
        cmocka_unit_test(cycles_without_cost_do_not_hold_the_search_up),
        cmocka_unit_test(costs_and_states_can_be_limited),
        cmocka_unit_test(pruning_keeps_what_is_on_a_good_path),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
