/* Models with trees: Gaussians, triples and transitions; and what becomes of poor data. */
#include "context_fixture.h"

static trl_error err;

/* A question "is P0 there" at the left and right. */
static trl__questions *one_question(const trl_model *m)
{
    trl__questions *q;
    uint64_t bits[2] = {0};
    trl__unit_bits_set(bits, trl_model_find_unit(m, "P0"));
    must_work(trl__questions_create(m, &q, &err), &err);
    must_work(trl__questions_add(q, m, "P0?", bits, 5, &err), &err);
    return q;
}

static void put(trl__context_stats *s, int32_t left, int32_t unit, int32_t right, int32_t state, double n, double mean,
                double variance)
{
    double *slot = trl__context_stats_slot(s, (int32_t[]){left, unit, right, state});
    assert_non_null(slot);
    slot[0] += n;
    for (int32_t k = 0; k < s->dim; k++) {
        slot[1 + k] += n * (mean + k);
        slot[1 + s->dim + k] += n * (variance + (mean + k) * (mean + k));
    }
}

static trl__tree *tree_of(const trl_model *m, const trl__context_stats *s, const trl__questions *q)
{
    trl__tree *tree;
    trl__tree_options o = trl__tree_defaults();
    o.least_frames = 1;
    must_work(trl__tree_build(m, s, q, &o, &tree, NULL, &err), &err);
    return tree;
}

static trl_model *with_tree(const trl_model *m, trl__tree *tree, const trl__context_stats *s)
{
    trl_model *made;
    must_work(trl__model_with_tree(m, tree, s, &made, &err), &err);
    assert_ptr_equal(made->tree, tree);
    assert_true(trl_model_gaussians(made) == tree->leaves && made->dim == s->dim);
    return made;
}

static void expect_gaussian(const trl_model *m, int32_t left, int32_t unit, int32_t right, int32_t state, double mean,
                            double variance)
{
    int32_t tied = trl__tree_find(m->tree, (int32_t[]){left, unit, right}, state);
    trl_gaussian g = trl_model_gaussian(m, tied, 0);
    for (int32_t k = 0; k < m->dim; k++)
        if (fabs((double)g.mean[k] - mean - k) > 1e-5 || fabs((double)g.variance[k] / variance - 1) > 1e-5)
            fail_msg("%d %d %d state %d: mean %g, variance %g", left, unit, right, state, (double)g.mean[k],
                     (double)g.variance[k]);
}

/* Units: 0 SIL, 1 SPN, 2 P0, 3 P1, 4 P2. P1 sounds otherwise behind P0; P2 is never seen. */
typedef struct example {
    trl_model *model;
    trl__context_stats *stats;
    trl__questions *questions;
} example;

static example make_example(int32_t dim)
{
    example e = {.model = model_of_phones(3, 2, 0, 1), .stats = stats_for(3, 1, dim)};
    e.questions = one_question(e.model);
    put(e.stats, 2, 3, 0, 0, 100, 10, 2);
    put(e.stats, 3, 3, 0, 0, 100, -10, 4);
    put(e.stats, 0, 3, 3, 0, 100, -10, 4);
    put(e.stats, 2, 3, 0, 1, 50, 1, 1);
    put(e.stats, TRL__NOTHING, 0, 2, 0, 100, 0, 9);
    put(e.stats, 2, 0, TRL__NOTHING, 0, 300, 4, 9);
    return e;
}

static void free_example(example *e)
{
    trl_model_destroy(e->model);
    trl__context_stats_destroy(e->stats);
    trl__questions_destroy(e->questions);
}

static void leaves_have_the_gaussians_of_their_frames(void **state)
{
    (void)state;
    example e = make_example(3);
    trl_model *m = with_tree(e.model, tree_of(e.model, e.stats, e.questions), e.stats);
    expect_gaussian(m, 2, 3, 0, 0, 10, 2);
    expect_gaussian(m, 2, 3, 4, 0, 10, 2);
    expect_gaussian(m, 0, 3, 2, 0, -10, 4);
    expect_gaussian(m, 2, 3, 2, 1, 1, 1);
    expect_gaussian(m, 2, 0, 2, 0, 3, 12); /* silence is not split: 1/4 at 0, 3/4 at 4 */
    /* never seen: all 750 frames */
    double mean = (1000 - 2000 + 50 + 1200) / 750.0;
    double square = (100 * 102.0 + 200 * 104 + 50 * 2 + 100 * 9 + 300 * 25) / 750;
    expect_gaussian(m, 2, 4, 2, 1, mean, square - mean * mean);
    assert_int_equal(m->tied_states, 5 * 2 + 2 + 1); /* silence and noise have three states */
    assert_string_equal(m->units.texts[4], "P2");
    trl_model_destroy(m);
    free_example(&e);
}

/* Statistics of other frames, in which one leaf has none. */
static void empty_leaves_take_their_ancestors(void **state)
{
    (void)state;
    example e = make_example(1);
    trl__tree *tree = tree_of(e.model, e.stats, e.questions);
    trl__context_stats *s = stats_for(3, 1, 2);
    put(s, 0, 3, 0, 0, 7, 5, 3);
    put(s, 2, 2, 2, 1, 7, 1, 3);
    trl_model *m = with_tree(e.model, tree, s);
    expect_gaussian(m, 0, 3, 0, 0, 5, 3);
    expect_gaussian(m, 2, 3, 0, 0, 5, 3); /* its parent's */
    expect_gaussian(m, 2, 3, 0, 1, 3, 7); /* all frames */
    trl_model_destroy(m);
    trl__context_stats_destroy(s);
    free_example(&e);
}

/* ---- transitions ---- */

static float stay(const trl_model *m, int32_t unit, int32_t state, int32_t tied)
{
    return m->log_probability[m->triple[trl__model_find_triple(m, unit, state, tied)].transition];
}

static void set_stay(trl_model *m, int32_t triple, double probability)
{
    float *log_probability = m->log_probability + m->triple[triple].transition;
    log_probability[0] = logf((float)probability);
    log_probability[1] = logf((float)(1 - probability));
}

static void transitions_are_kept_or_averaged(void **state)
{
    (void)state;
    example e = make_example(1);
    set_stay(e.model, e.model->unit_triple[3], 0.9);
    trl_model *m = with_tree(e.model, tree_of(e.model, e.stats, e.questions), e.stats), *again;
    int32_t behind = trl__tree_find(m->tree, (int32_t[]){2, 3, 0}, 0);
    int32_t other = trl__tree_find(m->tree, (int32_t[]){3, 3, 0}, 0);
    assert_int_not_equal(behind, other);
    float old = e.model->log_probability[e.model->triple[e.model->unit_triple[3]].transition];
    assert_true(stay(m, 3, 0, behind) == old && stay(m, 3, 0, other) == old);
    assert_true(stay(m, 2, 1, trl__tree_find(m->tree, (int32_t[]){2, 2, 0}, 1)) == logf(0.75f));

    set_stay(m, trl__model_find_triple(m, 3, 0, behind), 0.6);
    set_stay(m, trl__model_find_triple(m, 3, 0, other), 0.8);
    trl__tree *tree = tree_of(m, e.stats, e.questions); /* by the roots of the first one */
    assert_int_equal(tree->nodes, m->tree->nodes);
    assert_memory_equal(tree->node, m->tree->node, (size_t)tree->nodes * sizeof *tree->node);
    assert_memory_equal(tree->root, m->tree->root, (size_t)(tree->units * tree->states) * sizeof *tree->root);
    again = with_tree(m, tree, e.stats);
    assert_true(fabs(exp((double)stay(again, 3, 0, behind)) - 0.7) < 1e-6);
    assert_true(fabs(exp((double)stay(again, 3, 0, other)) - 0.7) < 1e-6);
    trl_model_destroy(again);
    trl_model_destroy(m);
    free_example(&e);
}

static void pools_of_transitions_stay_together(void **state)
{
    (void)state;
    example e = make_example(1);
    int32_t p1 = e.model->unit_triple[3], p2 = e.model->unit_triple[4];
    e.model->triple[p2].pool = p1;
    trl_model *m = with_tree(e.model, tree_of(e.model, e.stats, e.questions), e.stats);
    int32_t first = m->unit_triple[3];
    assert_true(m->triple[first + 1].state == 0 && m->triple[first + 2].state == 1);
    assert_true(m->triple[first].pool == first && m->triple[first + 1].pool == first);
    assert_int_equal(m->triple[m->unit_triple[4]].pool, first);
    assert_int_equal(m->triple[first + 2].pool, first + 2);
    trl_model_destroy(m);
    free_example(&e);
}

static void triples_are_those_that_the_tree_can_give(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        dice d = {seed, 0};
        trl_model *m = model_of_phones(4, 2, 1, 2);
        trl__context_stats *s = stats_for(3, 1, 2);
        trl__questions *q;
        random_contexts(&d, s, m, 400, 9);
        must_work(trl__questions_from_stats(m, s, &q, &err), &err);
        trl_model *made = with_tree(m, tree_of(m, s, q), s);
        uint8_t *seen = calloc((size_t)made->triples, 1);
        int32_t units = trl_model_units(m), all = 0;
        assert_non_null(seen);
        for (int32_t l = TRL__NOTHING; l < units; l++)
            for (int32_t u = 0; u < units; u++)
                for (int32_t r = TRL__NOTHING; r < units; r++)
                    for (int32_t k = 0; k < trl_model_unit(m, u).states; k++) {
                        int32_t tied = trl__tree_find(made->tree, (int32_t[]){l, u, r}, k);
                        int32_t triple = trl__model_find_triple(made, u, k, tied);
                        assert_true(triple >= 0);
                        seen[triple] = 1;
                    }
        for (int32_t i = 0; i < made->triples; i++)
            all += seen[i];
        assert_in_range(all, made->triples * 9 / 10, made->triples); /* a tree may ask what it knows the answer to */
        free(seen);
        trl_model_destroy(made);
        trl_model_destroy(m);
        trl__questions_destroy(q);
        trl__context_stats_destroy(s);
    }
}

/* ---- poor data ---- */

static void check_finite(const trl_model *m)
{
    for (size_t i = 0; i < (size_t)trl_model_gaussians(m) * (size_t)m->dim; i++)
        assert_true(isfinite(m->mean[i]) && m->variance[i] >= 9e-6f && isfinite(m->variance[i]));
}

static void one_context_gives_a_model(void **state)
{
    (void)state;
    trl_model *m = model_of_phones(2, 3, 1, 2);
    trl__context_stats *s = stats_for(3, 1, 2);
    trl__context_stats_add(trl__context_stats_slot(s, (int32_t[]){0, 3, 0, 1}), 2, (float[]){3, -1});
    trl__questions *q;
    trl__tree *tree;
    trl__tree_summary summary;
    trl__tree_options o = trl__tree_defaults();
    o.least_frames = 0;
    must_work(trl__questions_from_stats(m, s, &q, &err), &err);
    must_work(trl__tree_build(m, s, q, &o, &tree, &summary, &err), &err);
    assert_true(summary.roots == 12 && summary.leaves == 12 && summary.splits == 0 && summary.joined == 0);
    assert_true(summary.contexts == 1 && summary.frames == 1 && summary.before == summary.after);
    trl_model *made = with_tree(m, tree, s);
    check_finite(made);
    trl_model_destroy(made);
    trl_model_destroy(m);
    trl__questions_destroy(q);
    trl__context_stats_destroy(s);
}

/* Rounding makes gains of constants; none of them may count. */
static void constant_features_are_not_split(void **state)
{
    (void)state;
    const double values[] = {0, 1e-3, 1.0 / 3, 1234.5678};
    for (int i = 0; i < 4; i++) {
        dice d = {(uint64_t)i, 0};
        trl_model *m = model_of_phones(4, 2, 0, 2);
        trl__context_stats *s = stats_for(3, 1, 2);
        trl__questions *q;
        random_contexts(&d, s, m, 200, 9);
        for (size_t c = 0; c < s->keys.count; c++)
            for (int k = 1; k < 5; k++)
                s->slots[c * 5 + (size_t)k] = s->slots[c * 5] * (k < 3 ? values[i] : values[i] * values[i]);
        must_work(trl__questions_from_stats(m, s, &q, &err), &err);
        trl__tree *tree = tree_of(m, s, q);
        assert_int_equal(tree->nodes, tree->leaves);
        trl_model *made = with_tree(m, tree, s);
        check_finite(made);
        trl_model_destroy(made);
        trl_model_destroy(m);
        trl__questions_destroy(q);
        trl__context_stats_destroy(s);
    }
}

static void no_frames_are_an_error(void **state)
{
    (void)state;
    example e = make_example(1);
    trl__context_stats_zero(e.stats);
    trl__tree_summary summary;
    trl__tree *tree;
    trl_model *made;
    trl__tree_options o = trl__tree_defaults();
    for (int i = 0; i < 2; i++) { /* no context, and one without frames */
        must_work(trl__tree_build(e.model, e.stats, e.questions, &o, &tree, &summary, &err), &err);
        assert_true(summary.leaves == 12 && summary.frames == 0 && summary.before == 0 && summary.after == 0);
        assert_int_equal(trl__model_with_tree(e.model, tree, e.stats, &made, &err), TRL_EINVAL);
        assert_null(made);
        assert_non_null(trl__context_stats_slot(e.stats, (int32_t[]){0, 3, 0, 0}));
    }
    free_example(&e);
}

/* ---- what is refused ---- */

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    example e = make_example(1), other = {.model = model_of_phones(4, 3, 0, 1)};
    trl__context_stats *wider = stats_for(5, 2, 1);
    trl__tree *tree;
    trl_model *made;
    const trl__tree_options good = trl__tree_defaults();
    trl__tree_options bad[6] = {good, good, good, good, good, good};
    bad[0].most_leaves = 0;
    bad[1].least_gain = (double)NAN;
    bad[2].least_frames = -1;
    bad[3].join_share = -1;
    bad[4].variance_floor = 0;
    bad[5].variance_floor = (double)INFINITY;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(trl__tree_build(e.model, e.stats, e.questions, &bad[i], &tree, NULL, &err), TRL_EINVAL);
        assert_null(tree);
    }
    assert_int_equal(trl__tree_build(other.model, e.stats, e.questions, &good, &tree, NULL, &err), TRL_EINVAL);
    assert_int_equal(trl__model_with_tree(other.model, tree_of(e.model, e.stats, e.questions), e.stats, &made, &err),
                     TRL_EINVAL);
    assert_int_equal(trl__model_with_tree(e.model, tree_of(e.model, e.stats, e.questions), wider, &made, &err),
                     TRL_EINVAL);
    e.stats->slots[1] = (double)NAN;
    assert_int_equal(trl__tree_build(e.model, e.stats, e.questions, &good, &tree, NULL, &err), TRL_ENUMBER);
    trl__context_stats_destroy(wider);
    trl_model_destroy(other.model);
    free_example(&e);
}

static void runs_out_of_memory_cleanly(void **state)
{
    (void)state;
    dice d = {5, 0};
    trl_model *m = model_of_phones(4, 2, 1, 2);
    trl__context_stats *s = stats_for(3, 1, 2);
    trl__questions *q;
    random_contexts(&d, s, m, 500, 9);
    must_work(trl__questions_from_stats(m, s, &q, &err), &err);
    trl__tree_options o = trl__tree_defaults();
    o.least_frames = 5;
    int n = 1, code = -1;
    for (; code < 0; n++) {
        trl__tree *tree;
        trl_model *made = NULL;
        trl__memory_fail_after(n);
        code = trl__tree_build(m, s, q, &o, &tree, NULL, &err);
        if (code == 0)
            code = trl__model_with_tree(m, tree, s, &made, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 ? made != NULL : code == TRL_ENOMEM && made == NULL);
        trl_model_destroy(made);
    }
    assert_true(n > 50);
    trl_model_destroy(m);
    trl__questions_destroy(q);
    trl__context_stats_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_have_the_gaussians_of_their_frames),
        cmocka_unit_test(empty_leaves_take_their_ancestors),
        cmocka_unit_test(transitions_are_kept_or_averaged),
        cmocka_unit_test(pools_of_transitions_stay_together),
        cmocka_unit_test(triples_are_those_that_the_tree_can_give),
        cmocka_unit_test(one_context_gives_a_model),
        cmocka_unit_test(constant_features_are_not_split),
        cmocka_unit_test(no_frames_are_an_error),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(runs_out_of_memory_cleanly),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
