/* Trees against their definition: at every step the best split of all leaves, positions and questions, everything
 * summed up anew; joining against all pairs; and what must hold of every tree. */
#include "context_fixture.h"

#define MOST_CONTEXTS 120
#define MOST_LEAVES 60

static trl_error err;

typedef struct trial {
    trl_model *model;
    trl__context_stats *stats;
    trl__questions *questions;
    trl__tree_options options;
    trl__tree *tree;
    trl__tree_summary summary;
} trial;

/* A leaf while the tree is grown anew: its node in the tree under test, and its contexts. */
typedef struct leaf {
    int32_t node;
    int whole;
    uint8_t has[MOST_CONTEXTS];
} leaf;

static void set_up(trial *t, uint64_t seed)
{
    dice d = {seed, 0};
    int32_t dim = roll(&d, 1, 3), width = (int32_t[]){3, 3, 1, 2, 5}[roll(&d, 0, 4)], centre = width / 2;
    t->model = roll(&d, 0, 3) == 0 ? random_model(seed)
                                   : model_of_phones(roll(&d, 1, 4), roll(&d, 1, 2), roll(&d, 0, 3) == 0, dim);
    t->stats = stats_for(width, centre, dim);
    random_contexts(&d, t->stats, t->model, roll(&d, 0, MOST_CONTEXTS), 12);
    if (roll(&d, 0, 1))
        t->questions = random_questions(&d, t->model, width, roll(&d, 0, 8));
    else
        must_work(trl__questions_from_stats(t->model, t->stats, &t->questions, &err), &err);
    t->options = trl__tree_defaults();
    t->options.most_leaves = roll(&d, 5, MOST_LEAVES);
    t->options.least_frames = roll(&d, 0, 1) ? 0 : roll(&d, 1, 40);
    t->options.least_gain = roll(&d, 0, 1) ? 0 : roll(&d, 1, 40);
    t->options.variance_floor = roll(&d, 0, 1) ? 0.01 : 0.5;
    t->options.join_share = (double[]){0, 0, 0.5, 1, 2}[roll(&d, 0, 4)];
}

static void build(trial *t)
{
    must_work(trl__tree_build(t->model, t->stats, t->questions, &t->options, &t->tree, &t->summary, &err), &err);
    must_work(trl__tree_check(t->tree, "built", &err), &err);
}

static void clean_up(trial *t)
{
    trl_model_destroy(t->model);
    trl__context_stats_destroy(t->stats);
    trl__questions_destroy(t->questions);
    trl__tree_destroy(t->tree);
}

/* ---- growing by definition ---- */

static const int32_t *key_of(const trial *t, size_t context)
{
    return trl__tuples_get(&t->stats->keys, (int64_t)context);
}

/* The gain of a question, 0 where a side has too little. */
static double plain_gain(const trial *t, const leaf *l, int32_t position, const trl__unit_sets *sets, int32_t set)
{
    uint8_t yes[MOST_CONTEXTS] = {0}, no[MOST_CONTEXTS] = {0};
    double n, n_yes, n_no, floor = t->options.variance_floor;
    for (size_t i = 0; i < t->stats->keys.count; i++)
        *(trl__unit_set_has(sets, set, key_of(t, i)[position]) ? &yes[i] : &no[i]) = l->has[i];
    double gain = likelihood_of(t->stats, yes, floor, &n_yes) + likelihood_of(t->stats, no, floor, &n_no) -
                  likelihood_of(t->stats, l->has, floor, &n);
    return n_yes > 0 && n_no > 0 && n_yes >= t->options.least_frames && n_no >= t->options.least_frames ? gain : 0;
}

static double best_gain(const trial *t, const leaf *l)
{
    double best = 0;
    for (int32_t p = 0; !l->whole && p < t->stats->width; p++)
        for (int32_t set = 0; set < t->questions->sets.count; set++)
            if (t->questions->positions[set] >> p & 1)
                best = fmax(best, plain_gain(t, l, p, &t->questions->sets, set));
    return best >= t->options.least_gain && best > 1e-7 ? best : 0;
}

/* One leaf for every root of the tree under test. */
static int root_leaves(const trial *t, leaf *leaves)
{
    int count = 0;
    for (int32_t at = 0; at < t->tree->units * t->tree->states; at++) {
        int32_t unit = at / t->tree->states, state = at % t->tree->states, l = 0;
        assert_int_equal(t->tree->root[at] >= 0, state < trl_model_unit(t->model, unit).states);
        if (t->tree->root[at] < 0)
            continue;
        while (l < count && leaves[l].node != t->tree->root[at])
            l++;
        if (l == count)
            leaves[count++] = (leaf){.node = t->tree->root[at]};
        leaves[l].whole |= trl_model_unit(t->model, unit).kind != TRL_UNIT_PHONE;
        for (size_t i = 0; i < t->stats->keys.count; i++)
            if (key_of(t, i)[t->stats->centre] == unit && key_of(t, i)[t->stats->width] == state)
                leaves[l].has[i] = 1;
    }
    return count;
}

/* The leaf that is split next: its gain is the best, and the tree has a question there that gains as much. Equals may
 * go in any order. */
static int next_split(const trial *t, const leaf *leaves, int count, double *gain)
{
    double gains[2 * MOST_LEAVES];
    *gain = 0;
    for (int l = 0; l < count; l++)
        *gain = fmax(*gain, gains[l] = best_gain(t, &leaves[l]));
    for (int l = 0; l<count && * gain> 0; l++) {
        const trl__tree_node *node = &t->tree->node[leaves[l].node];
        if (gains[l] < *gain - 1e-7 || node->position == TRL__LEAF)
            continue;
        double got = plain_gain(t, &leaves[l], node->position, &t->tree->sets, node->value);
        if (fabs(got - *gain) > 1e-7)
            fail_msg("a split gains %.9g, the best one %.9g", got, *gain);
        return l;
    }
    if (*gain > 0)
        fail_msg("a leaf that gains %.9g is not split", *gain);
    return -1;
}

static void split(const trial *t, leaf *yes, leaf *no)
{
    const trl__tree_node node = t->tree->node[yes->node];
    *no = *yes;
    yes->node = node.yes;
    no->node = node.no;
    for (size_t i = 0; i < t->stats->keys.count; i++)
        *(trl__unit_set_has(&t->tree->sets, node.value, key_of(t, i)[node.position]) ? &no->has[i] : &yes->has[i]) = 0;
}

/* Grows the tree anew. Returns how many leaves there are, and the last split's gain. */
static int replay(const trial *t, leaf *leaves, double *last_gain)
{
    int count = root_leaves(t, leaves), roots = count;
    *last_gain = 0;
    assert_int_equal(t->summary.roots, count);
    while (count < t->options.most_leaves) {
        double gain;
        int best = next_split(t, leaves, count, &gain);
        if (best < 0)
            break;
        split(t, &leaves[best], &leaves[count++]);
        *last_gain = gain;
    }
    for (int l = 0; l < count; l++)
        assert_int_equal(t->tree->node[leaves[l].node].position, TRL__LEAF);
    assert_int_equal(t->summary.splits, count - roots);
    return count;
}

/* ---- joining by definition ---- */

static int root_of(const trial *t, const leaf *l)
{
    int32_t node = l->node;
    for (int32_t i = node - 1; i >= 0; i--)
        if (t->tree->node[i].position != TRL__LEAF && (t->tree->node[i].yes == node || t->tree->node[i].no == node))
            node = i;
    return node;
}

static double join_loss(const trial *t, const leaf *a, const leaf *b)
{
    uint8_t both[MOST_CONTEXTS];
    double n, floor = t->options.variance_floor;
    for (int i = 0; i < MOST_CONTEXTS; i++)
        both[i] = a->has[i] | b->has[i];
    return likelihood_of(t->stats, a->has, floor, &n) + likelihood_of(t->stats, b->has, floor, &n) -
           likelihood_of(t->stats, both, floor, &n);
}

/* The pair under one root that loses least; returns its loss, and how much more the next pair loses. */
static double best_pair(const trial *t, const leaf *leaves, int count, int *a, int *b, double *margin)
{
    double least = INFINITY, second = INFINITY;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            if (root_of(t, &leaves[i]) != root_of(t, &leaves[j]))
                continue;
            double loss = join_loss(t, &leaves[i], &leaves[j]);
            second = fmin(second, fmax(loss, least));
            if (loss < least) {
                least = loss;
                *a = i;
                *b = j;
            }
        }
    *margin = second - least;
    return least;
}

/* Joins what should be; joined leaves must have one tied state, others must not. Returns how many are left; 0: there
 * were equal pairs, which may go in any order. */
static int join_all(const trial *t, leaf *leaves, int count, double most)
{
    int before = count, a = 0, b = 0;
    double margin;
    while (best_pair(t, leaves, count, &a, &b, &margin) < most) {
        if (margin < 1e-9)
            return 0;
        assert_int_equal(t->tree->node[leaves[a].node].value, t->tree->node[leaves[b].node].value);
        for (int i = 0; i < MOST_CONTEXTS; i++)
            leaves[a].has[i] |= leaves[b].has[i];
        leaves[b] = leaves[--count];
    }
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            assert_int_not_equal(t->tree->node[leaves[i].node].value, t->tree->node[leaves[j].node].value);
    assert_int_equal(t->summary.joined, before - count);
    assert_int_equal(t->summary.leaves, count);
    assert_int_equal(t->tree->leaves, count);
    return count;
}

/* ---- what must hold ---- */

static void check_sums(const trial *t, const leaf *leaves, int count)
{
    double frames = 0, all = 0, after = 0, n;
    for (size_t i = 0; i < t->stats->keys.count; i++)
        all += t->stats->slots[i * trl__sums_size(t->stats->dim)];
    for (int l = 0; l < count; l++) {
        after += likelihood_of(t->stats, leaves[l].has, t->options.variance_floor, &n);
        frames += n;
    }
    assert_true(frames == all && t->summary.frames == all);
    assert_int_equal(t->summary.contexts, t->stats->keys.count);
    assert_true(t->summary.after >= t->summary.before - 1e-9 || t->summary.joined > 0);
    assert_true(all > 0 ? fabs(after / all - t->summary.after) < 1e-9 : t->summary.after == 0);
}

/* Any window whatever, seen or not; tied states are numbered in the order of their leaves. */
static void check_windows(const trial *t, dice *d)
{
    int32_t window[TRL__WIDEST_CONTEXT], next = 0;
    for (int i = 0; i < 300; i++) {
        for (int32_t p = 0; p < t->stats->width; p++)
            window[p] = roll(d, p == t->stats->centre ? 0 : TRL__NOTHING, trl_model_units(t->model) - 1);
        int32_t states = trl_model_unit(t->model, window[t->stats->centre]).states;
        int32_t tied = trl__tree_find(t->tree, window, roll(d, 0, states - 1));
        assert_true(tied >= 0 && tied < t->tree->leaves);
    }
    for (int32_t i = 0; i < t->tree->nodes; i++)
        if (t->tree->node[i].position == TRL__LEAF) {
            assert_true(t->tree->node[i].value <= next);
            next += t->tree->node[i].value == next;
        }
    assert_int_equal(next, t->tree->leaves);
}

static void grows_and_joins_by_definition(void **state)
{
    (void)state;
    static leaf leaves[2 * MOST_LEAVES];
    int split_some = 0, joined_some = 0;
    for (uint64_t seed = 0; seed < 1200; seed++) {
        trial t = {0};
        double last_gain;
        dice d = {seed, 1000};
        set_up(&t, seed);
        build(&t);
        int count = replay(&t, leaves, &last_gain);
        assert_true(count <= t.options.most_leaves || t.summary.splits == 0);
        double most = t.options.join_share > 0 ? t.options.join_share * last_gain - 1e-7 : -INFINITY;
        count = join_all(&t, leaves, count, most);
        if (count > 0)
            check_sums(&t, leaves, count);
        check_windows(&t, &d);
        split_some += t.summary.splits > 3;
        joined_some += count > 0 && t.summary.joined > 0;
        clean_up(&t);
    }
    if (split_some < 180 || joined_some < 60)
        fail_msg("only %d trees with splits, %d with joins", split_some, joined_some);
}

/* Units' states are under one root when a chain of tied states connects them. */
static void roots_are_shared_as_tied_states_are(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        trial t = {.model = random_model(seed), .stats = stats_for(3, 1, 1), .options = trl__tree_defaults()};
        dice d = {seed, 0};
        t.questions = random_questions(&d, t.model, 3, 3);
        build(&t);
        int32_t label[100], changed = 1;
        for (int32_t i = 0; i < t.model->triples; i++)
            label[i] = i;
        while (changed) {
            changed = 0;
            for (int32_t i = 0; i < t.model->triples; i++)
                for (int32_t j = 0; j < i; j++) {
                    const trl__triple *a = &t.model->triple[i], *b = &t.model->triple[j];
                    int tied = a->tied == b->tied || (a->unit == b->unit && a->state == b->state);
                    if (tied && label[i] != label[j]) {
                        label[i] = label[j] = label[i] < label[j] ? label[i] : label[j];
                        changed = 1;
                    }
                }
        }
        for (int32_t i = 0; i < t.model->triples; i++)
            for (int32_t j = 0; j < i; j++) {
                const trl__triple *a = &t.model->triple[i], *b = &t.model->triple[j];
                int same = t.tree->root[a->unit * t.tree->states + a->state] ==
                           t.tree->root[b->unit * t.tree->states + b->state];
                assert_int_equal(same, label[i] == label[j]);
            }
        clean_up(&t);
    }
}

/* ---- threads ---- */

static void expect_same(const trial *a, const trial *b)
{
    assert_int_equal(a->tree->nodes, b->tree->nodes);
    assert_memory_equal(a->tree->node, b->tree->node, (size_t)a->tree->nodes * sizeof *a->tree->node);
    assert_memory_equal(a->tree->root, b->tree->root,
                        (size_t)(a->tree->units * a->tree->states) * sizeof *a->tree->root);
    assert_int_equal(a->tree->leaves, b->tree->leaves);
    assert_int_equal(a->tree->sets.count, b->tree->sets.count);
    for (int32_t i = 0; i < a->tree->sets.count; i++)
        assert_string_equal(a->tree->sets.names.texts[i], b->tree->sets.names.texts[i]);
    assert_memory_equal(&a->summary, &b->summary, sizeof a->summary);
}

static void same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        dice d = {seed, 0};
        trial t = {.model = model_of_phones(10, 3, seed % 2, 5), .stats = stats_for(3, 1, 5)}, other;
        random_contexts(&d, t.stats, t.model, 3000, 5);
        must_work(trl__questions_from_stats(t.model, t.stats, &t.questions, &err), &err);
        t.options = trl__tree_defaults();
        t.options.least_frames = 10;
        t.options.most_leaves = 300;
        build(&t);
        assert_true(t.summary.splits > 100);
        for (int threads = 2; threads <= 7; threads += 5) {
            other = t;
            must_work(trl_pool_create(threads, &other.options.pool, &err), &err);
            build(&other);
            trl_pool_destroy(other.options.pool);
            expect_same(&t, &other);
            trl__tree_destroy(other.tree);
        }
        clean_up(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_joins_by_definition),
        cmocka_unit_test(roots_are_shared_as_tied_states_are),
        cmocka_unit_test(same_bytes_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
