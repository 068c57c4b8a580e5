/* Graphs whose arcs and weights can be counted by hand. */
#include "align_fixture.h"
#include "random_tree.h"

static trl_lexicon *lexicon;
static trl_model *model;
static trl__unit_map *map;
static trl__graph graph;

static void make(const char *words, const trl_model_options *options)
{
    lexicon = lexicon_of(words);
    must(trl_model_create(lexicon, NULL, 2, options, &model, &err));
}

static void build(const int32_t *words, size_t count)
{
    if (!map)
        must(trl__unit_map_create(model, lexicon, &map, &err));
    must(trl__graph_build(&graph, map, lexicon, words, count, &err));
}

static int tear_down(void **state)
{
    (void)state;
    trl__graph_free(&graph);
    trl__unit_map_destroy(map);
    trl_model_destroy(model);
    trl_lexicon_destroy(lexicon);
    map = NULL;
    model = NULL;
    lexicon = NULL;
    return 0;
}

/* The weight of the only arc between two nodes, and its transition. */
static float weight_of(int32_t from, int32_t to, int32_t *transition)
{
    int32_t found = -1;
    for (int32_t a = graph.arc_first[to]; a < graph.arc_first[to + 1]; a++)
        if (graph.arc_from[a] == from) {
            assert_int_equal(found, -1);
            found = a;
        }
    if (found < 0)
        fail_msg("no arc from %d to %d", from, to);
    if (transition)
        *transition = graph.arc_transition[found];
    return graph.arc_weight[found];
}

static int arcs_into(int32_t node)
{
    return graph.arc_first[node + 1] - graph.arc_first[node];
}

#define assert_near(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-5)

/* One state per phone, two words, the second with two pronunciations: SIL A SIL (B | C A) SIL. */
static void test_arcs_and_weights(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.states = o.silence_states = 1;
    o.self_loop = 0.75;
    o.silence_between = 0.2;
    make("X 1.0 A\nY 0.7 B\nY 0.3 C A\n", &o);
    build((int32_t[]){0, 1}, 2);
    assert_int_equal(graph.slots, 5);
    assert_int_equal(graph.phones, 7);
    assert_int_equal(graph.nodes, 7); /* 0 SIL, 1 A, 2 SIL, 3 B, 4 C, 5 A, 6 SIL */
    double stay = log(0.75), leave = log(0.25), with = log(0.2), without = log(0.8);
    int32_t id;
    assert_near(weight_of(TRL__START, 0, &id), with);
    assert_int_equal(id, 0);
    assert_near(weight_of(TRL__START, 1, NULL), without);
    assert_near(weight_of(0, 0, &id), stay);
    assert_int_equal(id, 1); /* SIL is unit 0: ids 1 (stay), 2 (leave) */
    assert_near(weight_of(0, 1, &id), leave);
    assert_int_equal(id, 2);
    assert_near(weight_of(1, 2, NULL), leave + with);
    assert_near(weight_of(2, 3, NULL), leave + log(0.7));
    assert_near(weight_of(1, 3, NULL), leave + without + log(0.7));
    assert_near(weight_of(2, 4, NULL), leave + log(0.3));
    assert_near(weight_of(1, 4, NULL), leave + without + log(0.3));
    assert_near(weight_of(4, 5, NULL), leave);
    assert_near(weight_of(3, 6, NULL), leave + with);
    assert_near(weight_of(5, 6, NULL), leave + with);
    assert_near(weight_of(3, 7, NULL), leave + without); /* 7 is the end */
    assert_near(weight_of(5, 7, NULL), leave + without);
    assert_near(weight_of(6, 7, NULL), leave);
    int counted[] = {2, 3, 2, 3, 3, 2, 3, 3};
    for (int32_t n = 0; n <= graph.nodes; n++)
        assert_int_equal(arcs_into(n), counted[n]);
    assert_int_equal(graph.back_bits, 2);
    assert_int_equal(graph.least_frames, 2);
}

static void test_slots_and_phones(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A\nY B\nY C A\n", &o);
    build((int32_t[]){1}, 1);
    assert_int_equal(graph.nodes, 3 + 9 + 3);
    const trl__graph_slot *y = &graph.slot[1];
    assert_int_equal(y->first_phone, 1);
    assert_int_equal(y->end_phone, 4);
    assert_int_equal(y->first_node, 3);
    assert_int_equal(y->end_node, 12);
    for (int32_t n = 0; n < graph.nodes; n++) {
        const trl__graph_phone *p = &graph.phone[graph.node_phone[n]];
        assert_true(n >= p->first_node && n < p->end_node);
        assert_int_equal(graph.node_state[n], n - p->first_node);
        assert_int_equal(graph.node_tied[n], trl__model_triple(model, p->unit, graph.node_state[n])->tied);
        assert_int_equal(p->slot, n < 3 ? 0 : n < 12 ? 1 : 2);
    }
    assert_int_equal(graph.phone[3].variant, 1);
    assert_int_equal(graph.least_frames, 3);
}

static void test_word_positions(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.word_positions = 1;
    make("X A B C\nY A\nZ B A\nS SIL\n", &o);
    build((int32_t[]){0, 1, 2, 3}, 4);
    const char *names[] = {"SIL", "A_B", "B_I", "C_E", "SIL", "A_S", "SIL", "B_B", "A_E", "SIL", "SIL", "SIL"};
    assert_int_equal(graph.phones, sizeof names / sizeof *names);
    for (int32_t p = 0; p < graph.phones; p++)
        assert_string_equal(trl_model_unit(model, graph.phone[p].unit).name, names[p]);
}

static void test_no_words_is_silence(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A\n", &o);
    build(NULL, 0);
    assert_int_equal(graph.slots, 1);
    assert_int_equal(graph.nodes, 3);
    assert_int_equal(graph.least_frames, 3);
    assert_near(weight_of(TRL__START, 0, NULL), 0);
    assert_int_equal(arcs_into(3), 1);
}

static void test_noise_stands_for_unknown_words(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A\n", &o);
    build((int32_t[]){TRL__WORD_NOISE}, 1);
    assert_string_equal(trl_model_unit(model, graph.phone[1].unit).name, "SPN");
    assert_int_equal(trl__graph_build(&graph, map, lexicon, (int32_t[]){1}, 1, &err), TRL_EINVAL);
    assert_int_equal(trl__graph_build(&graph, map, lexicon, (int32_t[]){-2}, 1, &err), TRL_EINVAL);
}

/* A unit that may be skipped: HTK's tee. Here every unit is A, with half its entries going past it. */
static void test_units_that_may_be_skipped(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.states = o.silence_states = 1;
    make("X A A\n", &o);
    set_entries(&model->topology[1], 0, 0.5f);
    build((int32_t[]){0}, 1); /* 0 SIL, 1 A, 2 A, 3 SIL */
    double leave = log(0.25), half = log(0.5);
    assert_near(weight_of(TRL__START, 1, NULL), half + half);        /* no silence, into A */
    assert_near(weight_of(TRL__START, 2, NULL), half + half + half); /* past the first A */
    assert_near(weight_of(0, 1, NULL), leave + half);
    assert_near(weight_of(0, 2, NULL), leave + half + half);
    assert_near(weight_of(0, 3, NULL), leave + half + half + half); /* past both, into silence */
    assert_near(weight_of(1, 4, NULL), leave + half + half);        /* past the second and the silence */
    assert_int_equal(graph.least_frames, 1);
    for (int32_t a = graph.arc_first[4]; a < graph.arc_first[5]; a++)
        assert_int_not_equal(graph.arc_from[a], TRL__START);
}

static void test_silence_never_and_always(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.states = o.silence_states = 1;
    make("X A\n", &o);
    model->silence_between = 0;
    build((int32_t[]){0, 0}, 2);
    assert_int_equal(graph.slots, 5);
    assert_int_equal(graph.nodes, 2);
    assert_near(weight_of(0, 1, NULL), log(0.25));
    model->silence_between = 1;
    build((int32_t[]){0, 0}, 2);
    assert_int_equal(graph.nodes, 5);
    assert_int_equal(graph.least_frames, 5);
    assert_int_equal(arcs_into(1), 2);
}

static void test_missing_phone_is_named(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A\n", &o);
    trl_lexicon *other = lexicon_of("X A QQ\nY A\n");
    trl__unit_map *partial;
    assert_int_equal(trl__unit_map_create(model, other, &partial, &err), 0);
    assert_int_equal(trl__graph_build(&graph, partial, other, (int32_t[]){1}, 1, &err), 0); /* nobody says X */
    assert_int_equal(trl__graph_build(&graph, partial, other, (int32_t[]){1, 0}, 2, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "the word X has the phone QQ"));
    trl__unit_map_destroy(partial);
    trl_lexicon_destroy(other);
}

static void test_transitions_are_read_anew(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A\n", &o);
    build((int32_t[]){0}, 1);
    model->log_probability[1] = -3;
    build((int32_t[]){0}, 1);
    assert_near(weight_of(0, 0, NULL), -3);
}

/* ---- contexts ---- */

static void set_leaf(trl__tree *t, int32_t node)
{
    t->node[node] = (trl__tree_node){TRL__LEAF, t->leaves++, -1, -1};
}

/* One state per unit; each is a leaf, but A asks whether this neighbour is on its left, and then whether it is on its
 * right. */
static void make_triphones(const char *words, const char *neighbour)
{
    trl_model_options o = trl_model_defaults();
    o.states = o.silence_states = 1;
    make(words, &o);
    trl__tree *t = empty_tree(model, 3, 1);
    int32_t a = trl_model_find_unit(model, "A"), units = t->units;
    int32_t unit = trl_model_find_unit(model, neighbour); /* -1: nothing */
    uint64_t bits = (uint64_t)1 << (unit < 0 ? units : unit);
    assert_int_equal(trl__unit_sets_add(&t->sets, neighbour, &bits), 0);
    t->nodes = units + 6;
    t->node = trl__alloc((size_t)t->nodes, sizeof *t->node);
    for (int32_t u = 0; u < units; u++) {
        t->root[u] = u;
        if (u != a)
            set_leaf(t, u);
    }
    t->node[a] = (trl__tree_node){0, 0, units, units + 1};
    t->node[units] = (trl__tree_node){2, 0, units + 2, units + 3};
    t->node[units + 1] = (trl__tree_node){2, 0, units + 4, units + 5};
    for (int32_t n = units + 2; n < t->nodes; n++)
        set_leaf(t, n);
    model->tied_states = t->leaves;
    randomise_mixtures(model, &(dice){.seed = 1}, 1);
    set_tree(model, t);
}

static void expect_sources(int32_t node, const int32_t *from, int count)
{
    assert_int_equal(arcs_into(node), count);
    for (int i = 0; i < count; i++)
        weight_of(from[i], node, NULL);
}

/* X Y = A B, A after SIL or at the start, before SIL or B: rows of A's copies are histories, columns what follows. */
static void test_copies_across_words(void **state)
{
    (void)state;
    make_triphones("X A\nY B\n", "SIL");
    build((int32_t[]){0, 1}, 2);
    /* 0 SIL; A: 1 from SIL to SIL, 2 to B, 3 from the start to SIL, 4 to B; 5 SIL, 6 B, 7 SIL, 8 the end */
    assert_int_equal(graph.phones, 8);
    assert_int_equal(graph.nodes, 8);
    int32_t first = model->tied_states - 4;
    expect_sources(1, (int32_t[]){1, 0}, 2);
    expect_sources(2, (int32_t[]){2, 0}, 2);
    expect_sources(3, (int32_t[]){3, TRL__START}, 2);
    expect_sources(4, (int32_t[]){4, TRL__START}, 2);
    expect_sources(5, (int32_t[]){5, 1, 3}, 3);
    expect_sources(6, (int32_t[]){6, 2, 4, 5}, 4);
    expect_sources(8, (int32_t[]){6, 7}, 2);
    for (int32_t n = 1; n < 5; n++) {
        assert_int_equal(graph.node_tied[n], first + n - 1); /* left yes: right yes, no; left no: the same */
        assert_int_equal(graph.phone[graph.node_phone[n]].slot, 1);
        assert_int_equal(graph.phone[graph.node_phone[n]].place, 0);
        int32_t id;
        weight_of(n, n, &id);
        assert_int_equal(model->triple[model->transition_triple[id]].tied, first + n - 1);
    }
    assert_int_equal(trl__graph_copies_end(&graph, 1), 5);
    assert_int_equal(trl__graph_copies_end(&graph, 0), 1);
}

/* Questions that nobody here answers differently make no copies. */
static void test_contexts_that_are_alike_share(void **state)
{
    (void)state;
    make_triphones("X A\nY B\nZ A C A\n", "B");
    build((int32_t[]){2, 0}, 2); /* A C A A */
    assert_int_equal(graph.nodes, 3 + 4);
    build((int32_t[]){0, 1, 2}, 3); /* A before B or SIL, A after B or SIL */
    assert_int_equal(graph.nodes, 4 + 2 + 1 + 2 + 1 + 1);
}

/* The ends of an utterance are a neighbour like others. */
static void test_ends_are_neighbours(void **state)
{
    (void)state;
    make_triphones("X A\n", "nothing");
    build((int32_t[]){0}, 1); /* 0 SIL; A: 1 SIL to end, 2 SIL to SIL, 3 start to end, 4 start to SIL; 5 SIL */
    assert_int_equal(graph.nodes, 6);
    expect_sources(6, (int32_t[]){1, 3, 5}, 3);
    expect_sources(5, (int32_t[]){5, 2, 4}, 3);
    assert_int_equal(graph.least_frames, 1);
}

static void test_trees_that_do_not_fit(void **state)
{
    (void)state;
    make_triphones("X A\nY B\n", "SIL");
    model->triple[model->triples - 1].tied++;
    must(trl__unit_map_create(model, lexicon, &map, &err));
    assert_int_equal(trl__graph_build(&graph, map, lexicon, (int32_t[]){1}, 1, &err), TRL_ECORRUPT);
    trl__unit_map_destroy(map);
    map = NULL;
    trl__tree *tree = model->tree;
    model->tree = NULL;
    assert_int_equal(trl__unit_map_create(model, lexicon, &map, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "unit A has several tied states"));
    model->tree = tree;
}

/* Ten pronunciations of one phone each, for words in a row, and a tree that looks far ahead: more contexts than fit. */
static void test_too_many_contexts(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    int32_t words[10] = {0};
    make("X A\nX B\nX C\nX D\nX E\nX F\nX G\nX H\nX I\nX J\n", &o);
    give_tree(model, &(dice){.seed = 2}, TRL__WIDEST_CONTEXT, 0, 2);
    must(trl__unit_map_create(model, lexicon, &map, &err));
    assert_int_equal(trl__graph_build(&graph, map, lexicon, words, 10, &err), TRL_ELIMIT);
    assert_int_equal(trl__graph_build(&graph, map, lexicon, words, 2, &err), 0);
}

/* ---- paths ---- */

/* Every arc of the path leads from one frame's node to the next's. */
static void check_path(int32_t frames, const int32_t *path, const int32_t *arc, int32_t last)
{
    for (int32_t t = 0; t < frames; t++) {
        assert_true(arc[t] >= graph.arc_first[path[t]] && arc[t] < graph.arc_first[path[t] + 1]);
        assert_int_equal(graph.arc_from[arc[t]], t > 0 ? path[t - 1] : TRL__START);
    }
    assert_true(last >= graph.arc_first[graph.nodes] && last < graph.arc_first[graph.nodes + 1]);
    assert_int_equal(graph.arc_from[last], path[frames - 1]);
}

static void check_equal_paths(void)
{
    build((int32_t[]){0, 0}, 2);
    enum { STATES = 3 + 6 + 6 + 3 }; /* silence, A B, A B, silence */
    for (int32_t frames = 1; frames < 60; frames++) {
        int32_t path[60], arc[60], last, visits[200] = {0}, visited = 0;
        int code = trl__graph_equal_path(&graph, frames, path, arc, &last, &err);
        assert_true(graph.nodes < 200);
        assert_int_equal(code, frames < 12 ? TRL_ELIMIT : 0);
        if (code < 0)
            continue;
        check_path(frames, path, arc, last);
        for (int32_t t = 0; t < frames; t++)
            visited += visits[path[t]]++ == 0;
        assert_int_equal(visited, frames < STATES ? STATES - 6 : STATES);
        for (int32_t n = 0; n < graph.nodes; n++)
            assert_true(visits[n] == 0 || visits[n] == frames / visited || visits[n] == frames / visited + 1);
    }
}

static void test_equal_path(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A B\nX C\n", &o);
    check_equal_paths();
    give_tree(model, &(dice){.seed = 4}, 3, 1, 3);
    check_equal_paths();
    assert_true(graph.phones > 9);
}

/* States without a loop can hold one frame only. */
static void test_equal_path_without_loops(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.states = 2;
    o.silence_states = 1;
    make("X A\n", &o);
    trl__topology *t = &model->topology[1];
    t->arcs[1] = (trl__arc){.to = 1, .probability = 1}; /* state 0: only on to state 1 */
    t->arcs[2] = t->arcs[3];
    t->arcs[3] = t->arcs[4];
    t->first[2] = 2;
    t->first[3] = 4;
    build((int32_t[]){0}, 1);
    int32_t path[9], arc[9], last;
    must(trl__graph_equal_path(&graph, 9, path, arc, &last, &err));
    check_path(9, path, arc, last);
    int visits[4] = {0};
    for (int i = 0; i < 9; i++)
        visits[path[i]]++;
    assert_int_equal(visits[1], 1); /* the other three share eight frames */
    for (int n = 0; n < 4; n++)
        assert_true(n == 1 || visits[n] == 2 || visits[n] == 3);
}

static void fail_allocations(void)
{
    int32_t words[] = {0, 0, 0};
    for (long n = 1;; n++) {
        trl__graph fresh = {0};
        trl__unit_map *other = NULL;
        int32_t path[40], arc[40], last;
        trl__memory_fail_after(n);
        int code = trl__unit_map_create(model, lexicon, &other, &err);
        if (code == 0)
            code = trl__graph_build(&fresh, other, lexicon, words, 3, &err);
        if (code == 0)
            code = trl__graph_equal_path(&fresh, 40, path, arc, &last, &err);
        trl__memory_fail_after(0);
        trl__graph_free(&fresh);
        trl__unit_map_destroy(other);
        if (code == 0)
            break;
        assert_int_equal(code, TRL_ENOMEM);
        assert_true(n < 200);
    }
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    make("X A B\nX C\n", &o);
    fail_allocations();
    give_tree(model, &(dice){.seed = 3}, 5, 2, 3);
    fail_allocations();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_arcs_and_weights, tear_down),
        cmocka_unit_test_teardown(test_slots_and_phones, tear_down),
        cmocka_unit_test_teardown(test_word_positions, tear_down),
        cmocka_unit_test_teardown(test_no_words_is_silence, tear_down),
        cmocka_unit_test_teardown(test_noise_stands_for_unknown_words, tear_down),
        cmocka_unit_test_teardown(test_units_that_may_be_skipped, tear_down),
        cmocka_unit_test_teardown(test_silence_never_and_always, tear_down),
        cmocka_unit_test_teardown(test_missing_phone_is_named, tear_down),
        cmocka_unit_test_teardown(test_transitions_are_read_anew, tear_down),
        cmocka_unit_test_teardown(test_copies_across_words, tear_down),
        cmocka_unit_test_teardown(test_contexts_that_are_alike_share, tear_down),
        cmocka_unit_test_teardown(test_ends_are_neighbours, tear_down),
        cmocka_unit_test_teardown(test_trees_that_do_not_fit, tear_down),
        cmocka_unit_test_teardown(test_too_many_contexts, tear_down),
        cmocka_unit_test_teardown(test_equal_path, tear_down),
        cmocka_unit_test_teardown(test_equal_path_without_loops, tear_down),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, tear_down),
    };
    return RUN(tests);
}
