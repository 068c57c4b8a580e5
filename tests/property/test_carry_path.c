/* Random paths through the graph of one model, carried to that of another with another tree or none: the same phones
 * and states at the same frames, with the tied states that the tree gives for the path's own units. That there is one
 * such path only is test_align_brute_force's law. */
#include "align_case.h"
#include "align/carry_path.h"
#include "random_tree.h"

#define MOST_RUNS 200
#define CASES 6000

/* Two models that differ in trees and numbers, and their graphs of the same words. */
typedef struct pair {
    trl_lexicon *lexicon;
    trl_model *model[2];
    trl__unit_map *map[2];
    trl__graph graph[2];
} pair;

static void make_model(pair *p, int which, dice shape, dice *d)
{
    trl_model_options o = trl_model_defaults();
    o.states = roll_int(&shape, 1, 3);
    o.silence_states = roll_int(&shape, 1, 5);
    o.silence_topology = TRL_TOPOLOGY_ERGODIC;
    o.word_positions = roll_int(&shape, 0, 1);
    must(trl_model_create(p->lexicon, NULL, 2, &o, &p->model[which], &err));
    int width = roll_int(d, 0, 5);
    if (width > 0)
        give_tree(p->model[which], d, width, roll_int(d, 0, width - 1), roll_int(d, 1, 5));
    if (roll(&shape) < 0.3f) /* silence; where phones can be passed over, wide contexts would be too many */
        set_entries(&p->model[which]->topology[0], 0, 0.3f);
    must(trl__unit_map_create(p->model[which], p->lexicon, &p->map[which], &err));
}

static void make_pair(pair *p, dice *d)
{
    int32_t words[4];
    size_t count = (size_t)roll_int(d, 0, 4);
    *p = (pair){.lexicon = random_lexicon(d, 3, 3, 3, 4)};
    for (size_t i = 0; i < count; i++)
        words[i] = roll_int(d, 0, 5) > 0 ? roll_int(d, 0, 2) : TRL__WORD_NOISE;
    for (int which = 0; which < 2; which++) {
        make_model(p, which, *d,
                   &(dice){.seed = d->seed, .stream = d->stream, .next = 1000000 * (uint64_t)(which + 1)});
        must(trl__graph_build(&p->graph[which], p->map[which], p->lexicon, words, count, &err));
    }
}

static void free_pair(pair *p)
{
    for (int which = 0; which < 2; which++) {
        trl__graph_free(&p->graph[which]);
        trl__unit_map_destroy(p->map[which]);
        trl_model_destroy(p->model[which]);
    }
    trl_lexicon_destroy(p->lexicon);
}

/* From the end backwards, each time by any arc; loops only make runs longer. */
static size_t random_path(const trl__graph *g, dice *d, trl__run *runs)
{
    size_t count = 0;
    for (int32_t node = g->nodes;;) {
        int32_t arc = roll_int(d, g->arc_first[node], g->arc_first[node + 1] - 1);
        if (g->arc_from[arc] == TRL__START)
            break;
        if (g->arc_from[arc] == node) {
            runs[count - 1].frames++;
            continue;
        }
        node = g->arc_from[arc];
        assert_true(count < MOST_RUNS);
        runs[count++] = (trl__run){node, 1};
    }
    for (size_t i = 0; i < count / 2; i++) {
        trl__run kept = runs[i];
        runs[i] = runs[count - 1 - i];
        runs[count - 1 - i] = kept;
    }
    return count;
}

static const trl__graph_phone *phone_of(const trl__graph *g, int32_t node)
{
    return &g->phone[g->node_phone[node]];
}

static void check_arc(const trl__graph *g, int32_t from, int32_t to)
{
    for (int32_t a = g->arc_first[to]; a < g->arc_first[to + 1]; a++)
        if (g->arc_from[a] == from)
            return;
    fail_msg("no arc from %d to %d", (int)from, (int)to);
}

/* A path by its graph's arcs, and by the tree if there is one. */
static void check_path(const trl_model *model, const trl__graph *g, const trl__run *runs, size_t count)
{
    int32_t units[2 * TRL__WIDEST_CONTEXT + MOST_RUNS], said = 0, at = -1;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || g->node_phone[runs[i].node] != g->node_phone[runs[i - 1].node])
            units[TRL__WIDEST_CONTEXT + said++] = phone_of(g, runs[i].node)->unit;
    for (int32_t k = 0; k < TRL__WIDEST_CONTEXT; k++)
        units[k] = units[TRL__WIDEST_CONTEXT + said + k] = TRL__NOTHING;
    for (size_t i = 0; i < count; i++) {
        int32_t node = runs[i].node;
        check_arc(g, i > 0 ? runs[i - 1].node : TRL__START, node);
        if (runs[i].frames > 1)
            check_arc(g, node, node);
        at += i == 0 || g->node_phone[node] != g->node_phone[runs[i - 1].node];
        if (model->tree)
            assert_int_equal(g->node_tied[node],
                             trl__tree_find(model->tree, units + TRL__WIDEST_CONTEXT + at - model->tree->centre,
                                            g->node_state[node]));
    }
    check_arc(g, runs[count - 1].node, g->nodes);
}

static void check_same(const trl__graph *a, const trl__run *x, const trl__graph *b, const trl__run *y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const trl__graph_phone *p = phone_of(a, x[i].node), *q = phone_of(b, y[i].node);
        assert_int_equal(p->unit, q->unit);
        assert_int_equal(p->slot, q->slot);
        assert_int_equal(p->variant, q->variant);
        assert_int_equal(p->place, q->place);
        assert_int_equal(a->node_state[x[i].node], b->node_state[y[i].node]);
        assert_int_equal(x[i].frames, y[i].frames);
    }
}

static void test_there_and_back(void **state)
{
    (void)state;
    int copied = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        dice d = {.seed = 606, .stream = i};
        trl__run runs[MOST_RUNS], carried[MOST_RUNS], back[MOST_RUNS];
        pair p;
        make_pair(&p, &d);
        size_t count = random_path(&p.graph[0], &d, runs);
        check_path(p.model[0], &p.graph[0], runs, count);
        must(trl__graph_carry_path(&p.graph[0], runs, count, &p.graph[1], carried, &err));
        check_path(p.model[1], &p.graph[1], carried, count);
        check_same(&p.graph[0], runs, &p.graph[1], carried, count);
        must(trl__graph_carry_path(&p.graph[1], carried, count, &p.graph[0], back, &err));
        for (size_t k = 0; k < count; k++)
            assert_int_equal(back[k].node, runs[k].node);
        copied += p.graph[0].phones != p.graph[1].phones;
        free_pair(&p);
    }
    assert_true(copied > CASES / 2);
}

/* Paths that are none: cut short, out of order, of other words; and every allocation may fail. */
static void test_no_path(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 500; i++) {
        dice d = {.seed = 607, .stream = i};
        trl__run runs[MOST_RUNS], carried[MOST_RUNS];
        pair p;
        make_pair(&p, &d);
        size_t count = random_path(&p.graph[0], &d, runs);
        const trl__graph *from = &p.graph[0], *to = &p.graph[1];
        assert_int_equal(trl__graph_carry_path(from, runs, 0, to, carried, &err), TRL_EINVAL);
        trl__run kept = runs[count - 1];
        runs[count - 1].node = runs[0].node;
        if (count > 1 && phone_of(from, runs[0].node)->slot != phone_of(from, runs[count - 2].node)->slot)
            assert_int_equal(trl__graph_carry_path(from, runs, count, to, carried, &err), TRL_EINVAL);
        runs[count - 1].node = from->nodes;
        assert_int_equal(trl__graph_carry_path(from, runs, count, to, carried, &err), TRL_EINVAL);
        runs[count - 1] = (trl__run){kept.node, 0};
        assert_int_equal(trl__graph_carry_path(from, runs, count, to, carried, &err), TRL_EINVAL);
        runs[count - 1] = kept;
        must(trl__graph_build(&p.graph[1], p.map[1], p.lexicon, (int32_t[]){0, 0, 0, 0, 0}, 5, &err));
        assert_int_equal(trl__graph_carry_path(from, runs, count, to, carried, &err), TRL_EINVAL);
        free_pair(&p);
    }
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    dice d = {.seed = 608};
    trl__run runs[MOST_RUNS], carried[MOST_RUNS];
    pair p;
    make_pair(&p, &d);
    size_t count = random_path(&p.graph[0], &d, runs);
    for (long n = 1;; n++) {
        trl__memory_fail_after(n);
        int code = trl__graph_carry_path(&p.graph[0], runs, count, &p.graph[1], carried, &err);
        trl__memory_fail_after(0);
        if (code == 0)
            break;
        assert_int_equal(code, TRL_ENOMEM);
        assert_true(n < 50);
    }
    free_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_no_path),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return RUN(tests);
}
