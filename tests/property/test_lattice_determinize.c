/* Determinization against the list of all paths, on small random raw lattices. */
#include "lattice_fixture.h"

#include "base/memory.h"
#include "decode/best_words.h"

#define CASES RANDOM_CASES(20000)
#define SCALE 0.5

static const trl_lattice_scale scale = {SCALE, 1, 0};

static trl_lattice *determinize(const trl__raw_lattice *raw, double beam, size_t most_bytes, double *kept)
{
    trl__determinizer *d;
    trl__determinize_options o = {.acoustic_scale = SCALE, .beam = beam, .most_bytes = most_bytes};
    trl_lattice *lattice;
    assert_int_equal(trl__determinizer_create(&d, NULL), 0);
    assert_int_equal(trl__determinize(d, raw, NULL, &o, &lattice, kept, NULL), 0);
    trl__determinizer_destroy(d);
    return lattice;
}

static double best_of(const path_list *all)
{
    double best = INFINITY;
    for (size_t i = 0; i < all->count; i++)
        best = fmin(best, path_cost(&all->items[i], &scale));
    return best;
}

static void assert_deterministic(const trl_lattice_view *l)
{
    for (int32_t s = 0; s < l->states; s++)
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            assert_true(l->arcs[a].word > 0);
            assert_true(a == l->first[s] || l->arcs[a].word > l->arcs[a - 1].word);
        }
}

/* Every arc, and every end, is on a path within the beam. */
static void assert_all_useful(const trl_lattice_view *l, const path_list *strings, double limit)
{
    uint8_t *used = calloc((size_t)(l->states ? l->first[l->states] : 0) + 1, 1);
    size_t count = 0;
    for (size_t i = 0; i < strings->count; i++) {
        const lattice_path *p = &strings->items[i];
        int32_t s = 0;
        if (path_cost(p, &scale) > limit)
            continue;
        for (int k = 0; k < p->count; k++) {
            uint32_t a = l->first[s];
            while (l->arcs[a].word != p->words[k])
                a++;
            count += !used[a];
            used[a] = 1;
            s = l->arcs[a].next;
        }
    }
    assert_int_equal(count, l->states ? l->first[l->states] : 0);
    free(used);
}

static const lattice_path *find_words(const path_list *list, const lattice_path *wanted)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_words(&list->items[i], wanted))
            return &list->items[i];
    return NULL;
}

/* Is it one of the raw paths, with both costs and all transitions? */
static int is_a_path(const path_list *all, const lattice_path *p)
{
    for (size_t i = 0; i < all->count; i++) {
        const lattice_path *q = &all->items[i];
        if (same_words(p, q) && p->graph == q->graph && p->acoustic == q->acoustic && p->frames == q->frames &&
            memcmp(p->transitions, q->transitions, (size_t)p->frames * sizeof *p->transitions) == 0)
            return 1;
    }
    return 0;
}

/* Strings within the limit must be there, arcs lie on paths within `beyond`. *within: strings that are within the limit. */
static void compare(const trl_lattice *lattice, const path_list *all, double limit, double beyond, size_t *within)
{
    trl_lattice_view view = trl_lattice_look(lattice);
    path_list strings = lattice_paths(lattice);
    assert_false(strings.is_too_long);
    assert_deterministic(&view);
    assert_all_useful(&view, &strings, beyond);
    for (size_t i = 0; i < strings.count; i++)
        assert_true(is_a_path(all, &strings.items[i]));
    for (size_t i = 0; i < all->count; i++) {
        const lattice_path *found = find_words(&strings, &all->items[i]);
        double cost = path_cost(&all->items[i], &scale);
        assert_true(found || cost > limit);
        if (found && path_cost(found, &scale) <= limit)
            assert_true(path_cost(found, &scale) <= cost);
    }
    for (size_t i = 0; i < strings.count; i++)
        *within += path_cost(&strings.items[i], &scale) <= limit;
    free(strings.items);
}

static void strings_within_the_beam_are_kept(void **state)
{
    (void)state;
    random_source r = {1};
    trl__best_words words = {0};
    size_t strings = 0, paths = 0;
    for (int i = 0; i < CASES; i++) {
        raw_kind kind = random_raw_kind(&r);
        trl__raw_lattice raw = random_raw(&kind, &r);
        path_list all = raw_paths(&raw);
        double beam = random_chance(&r, 0.2) ? INFINITY : random_below(&r, 60) / 8.0, kept;
        if (!all.is_too_long) {
            trl_lattice *lattice = determinize(&raw, beam, 0, &kept);
            trl_lattice_view view = trl_lattice_look(lattice);
            trl_lattice_scale plain = {SCALE, 1, 0};
            assert_true(kept == beam);
            assert_int_equal(view.frames, raw.frames);
            assert_int_equal(view.reached_end, raw.reached_end);
            assert_int_equal(view.states > 0, all.count > 0);
            compare(lattice, &all, best_of(&all) + beam, best_of(&all) + beam, &strings);
            assert_int_equal(trl__best_words_find(&words, &raw, &plain, NULL), 0);
            assert_true(all.count == 0 || words.graph + SCALE * words.acoustic == best_of(&all));
            paths += all.count;
            trl_lattice_destroy(lattice);
        }
        free(all.items);
        free_raw(&raw);
    }
    assert_true(strings > 2 * (size_t)CASES && paths > 20 * strings);
    trl__best_words_free(&words);
}

/* Too little memory: the best path at least, and all of a narrower beam. */
static void memory_narrows_the_beam(void **state)
{
    (void)state;
    random_source r = {2};
    size_t strings = 0;
    int narrower = 0, some = 0;
    for (int i = 0; i < CASES / 4; i++) {
        raw_kind kind = random_raw_kind(&r);
        trl__raw_lattice raw = random_raw(&kind, &r);
        path_list all = raw_paths(&raw);
        double kept;
        if (!all.is_too_long && all.count > 0) {
            trl_lattice *lattice = determinize(&raw, INFINITY, 1 + random_below(&r, 4000), &kept);
            path_list left = lattice_paths(lattice);
            assert_true(kept >= 0 && best_of(&left) == best_of(&all));
            narrower += kept < INFINITY;
            some += kept < INFINITY && kept > 1;
            if (kept == INFINITY || kept > 0.125)
                compare(lattice, &all, best_of(&all) + kept - 0.0625, best_of(&all) + kept, &strings);
            free(left.items);
            trl_lattice_destroy(lattice);
        }
        free(all.items);
        free_raw(&raw);
    }
    assert_true(narrower > CASES / 40 && some > CASES / 80);
}

/* Two words, the second 3 worse, lead to the same two places, one of them 4 worse: 7 behind the best with the second word, and yet the words end in one state. */
static void ways_of_different_costs_meet(void **state)
{
    (void)state;
    uint32_t first[] = {0, 4, 5, 6, 6};
    trl__raw_arc arcs[] = {{1, 1, 1, 0, 0}, {2, 1, 1, 4, 0}, {1, 1, 2, 3, 0},
                           {2, 1, 2, 7, 0}, {3, 2, 3, 0, 0}, {3, 2, 4, 0, 0}};
    float final[] = {INFINITY, INFINITY, INFINITY, 0};
    int32_t time[] = {0, 1, 1, 2};
    const trl__raw_lattice raw = {
        .states = 4, .frames = 2, .first = first, .arcs = arcs, .final = final, .time = time, .reached_end = 1};
    double kept;
    trl_lattice *lattice = determinize(&raw, 6, 0, &kept);
    trl_lattice_view view = trl_lattice_look(lattice);
    assert_int_equal(view.states, 3);
    assert_int_equal(view.first[3], 4);
    trl_lattice_destroy(lattice);
}

static void memory_may_fail_anywhere(void **state)
{
    (void)state;
    random_source r = {3};
    raw_kind kind = {.frames = 6, .most_states = 3, .labels = 3, .transitions = 3, .words = 0.4, .arcs = 0.8};
    trl__raw_lattice raw = random_raw(&kind, &r);
    trl__determinize_options o = {.acoustic_scale = SCALE, .beam = INFINITY};
    int failures = 0;
    for (int code = TRL_ENOMEM; code < 0; failures++) {
        trl__determinizer *d = NULL;
        trl_lattice *lattice = NULL;
        trl_error err;
        double kept;
        trl__memory_fail_after(failures + 1);
        code = trl__determinizer_create(&d, &err);
        if (code == 0)
            code = trl__determinize(d, &raw, NULL, &o, &lattice, &kept, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        assert_int_equal(lattice != NULL, code == 0);
        /* The same determinizer is as good as new. */
        if (code < 0 && d) {
            assert_int_equal(trl__determinize(d, &raw, NULL, &o, &lattice, &kept, &err), 0);
            path_list strings = lattice_paths(lattice);
            assert_true(strings.count > 0);
            free(strings.items);
        }
        trl_lattice_destroy(lattice);
        trl__determinizer_destroy(d);
    }
    assert_true(failures > 10);
    free_raw(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_within_the_beam_are_kept),
        cmocka_unit_test(memory_narrows_the_beam),
        cmocka_unit_test(ways_of_different_costs_meet),
        cmocka_unit_test(memory_may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
