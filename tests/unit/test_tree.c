/* Trees and sets of units: what they answer, and that nothing wrong passes the check. */
#include "small_tree.h"

static trl_error err;

/* ---- sets ---- */

static void equal_sets_are_one(void **state)
{
    (void)state;
    trl__unit_sets sets = {.units = 64}; /* the bit for none is in the second word */
    const uint64_t rows[][2] = {{1, 0}, {1, 1}, {1, 0}, {0, 1}};
    assert_int_equal(trl__unit_sets_add(&sets, "one", rows[0]), 0);
    assert_int_equal(trl__unit_sets_add(&sets, "one", rows[1]), 1);
    assert_int_equal(trl__unit_sets_add(&sets, "other", rows[2]), 0);
    assert_int_equal(trl__unit_sets_add(&sets, "one", rows[3]), 2);
    assert_int_equal(sets.count, 3);
    assert_string_equal(sets.names.texts[0], "one");
    assert_string_equal(sets.names.texts[1], "one.2");
    assert_string_equal(sets.names.texts[2], "one.3");
    assert_true(trl__unit_set_has(&sets, 0, 0) && !trl__unit_set_has(&sets, 0, 63));
    assert_true(!trl__unit_set_has(&sets, 0, TRL__NOTHING) && trl__unit_set_has(&sets, 1, TRL__NOTHING));
    trl__unit_sets_free(&sets);
}

static void name_is(const trl__strings *units, int word_positions, uint64_t bits, const char *expected)
{
    char *name = trl__unit_set_name(units, word_positions, &bits);
    assert_string_equal(name, expected);
    trl__free(name);
}

static void sets_are_called_by_their_units(void **state)
{
    (void)state;
    static const char *const names[] = {"SIL", "SIL_B", "SIL_E", "SIL_I", "SIL_S", "M_B", "M_E", "M_I", "M_S", "N_B"};
    trl__strings units = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        trl__strings_add(&units, names[i], strlen(names[i]));
    name_is(&units, 1, 0x201, "SIL N_B");
    name_is(&units, 1, 0x3e0, "M N_B");
    name_is(&units, 0, 0x3e0, "M_B M_E M_I M_S N_B");
    name_is(&units, 1, 0x1c0, "M_E M_I M_S");
    name_is(&units, 1, 0x01e, "SIL_B SIL_E SIL_I SIL_S"); /* SIL is another unit */
    name_is(&units, 1, 0x420, "M_B (nothing)");
    name_is(&units, 1, 0x400, "(nothing)");
    name_is(&units, 1, 0, "-");
    trl__strings_free(&units);
}

/* ---- answers ---- */

static void small_tree_answers(void **state)
{
    (void)state;
    trl__tree *t = small_tree();
    static const int32_t cases[][5] = {
        /* left, unit, right, state, tied */
        {AA, AA, SIL, 0, 6},          {B, AA, B, 0, 6},   {SIL, AA, AA, 0, 12}, {TRL__NOTHING, AA, AA, 0, 12},
        {AA, B, TRL__NOTHING, 2, 13}, {AA, B, AA, 2, 14}, {AA, B, B, 2, 11},    {AA, B, TRL__NOTHING, 1, 10},
        {SIL, SPN, SIL, 1, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(trl__tree_find(t, cases[i], cases[i][3]), cases[i][4]);
    int32_t tied[SMALL_TIED];
    assert_int_equal(trl__tree_tied_states(t, B, 2, tied), 3);
    assert_memory_equal(tied, ((int32_t[]){11, 13, 14}), 3 * sizeof *tied);
    assert_int_equal(trl__tree_tied_states(t, B, 1, tied), 1);
    t->root[SIL * 3 + 2] = -1;
    assert_int_equal(trl__tree_find(t, (int32_t[]){B, SIL, B}, 2), -1);
    assert_int_equal(trl__tree_tied_states(t, SIL, 2, tied), 0);
    trl__tree_destroy(t);
}

static void copies_are_deep(void **state)
{
    (void)state;
    trl__tree *t = small_tree(), *copy = NULL;
    int failures = 0;
    for (long n = 1; !copy; n++) {
        trl__memory_fail_after(n);
        int code = trl__tree_copy(t, &copy, &err);
        trl__memory_fail_after(0);
        assert_int_equal(code, copy ? 0 : TRL_ENOMEM);
        failures += !copy;
    }
    assert_true(failures > 5);
    memset(t->node, 0, (size_t)t->nodes * sizeof *t->node);
    memset(t->sets.bits, 0, 3 * sizeof *t->sets.bits);
    trl__tree_destroy(t);
    assert_int_equal(trl__tree_check(copy, "copy", &err), 0);
    assert_int_equal(trl__tree_find(copy, (int32_t[]){AA, B, AA}, 2), 14);
    assert_string_equal(copy->sets.names.texts[1], "End");
    trl__tree_destroy(copy);
    trl__tree_destroy(NULL);
}

/* ---- checks ---- */

static void refuse(trl__tree *t, int code, const char *text)
{
    err.text[0] = '\0';
    int got = trl__tree_check(t, "a file", &err);
    if (got != code || !strstr(err.text, text) || !strstr(err.text, "a file"))
        fail_msg("%d instead of %d, no '%s' in '%s'", got, code, text, err.text);
    trl__tree_destroy(t);
}

#define REFUSE(change, text)           \
    do {                               \
        trl__tree *t = small_tree();   \
        change;                        \
        refuse(t, TRL_ECORRUPT, text); \
    } while (0)

static void wrong_trees_are_refused(void **state)
{
    (void)state;
    trl__tree *right = small_tree();
    assert_int_equal(trl__tree_check(right, "right", &err), 0);
    trl__tree_destroy(right);
    REFUSE(t->width = 0, "window");
    REFUSE(t->width = 16, "window");
    REFUSE(t->centre = 3, "window");
    REFUSE(t->centre = -1, "window");
    REFUSE(t->states = 0, "units and states");
    REFUSE(t->nodes = 0, "no leaves");
    REFUSE(t->leaves = 19, "fewer nodes than tied states");
    REFUSE(t->leaves = 16, "no leaf for tied state 15");
    REFUSE(t->leaves = 14, "node 6");
    REFUSE(t->root[0] = 18, "a root does not exist");
    REFUSE(t->root[0] = -2, "a root does not exist");
    REFUSE(t->root[0] = -1, "node 8 of the tree: no way leads there");
    REFUSE(t->node[0].position = 3, "its position or set");
    REFUSE(t->node[0].position = -2, "its position or set");
    REFUSE(t->node[0].value = 3, "its position or set");
    REFUSE(t->node[0].value = -1, "its position or set");
    REFUSE(t->node[0].yes = 2, "its children");
    REFUSE(t->node[3].no = 3, "its children");
    REFUSE(t->node[3].no = 18, "its children");
    REFUSE(t->node[3].no = -1, "its children");
    REFUSE(t->node[3].no = 0, "its children");
    REFUSE(t->node[3].yes = 8, "another node's");
    REFUSE(t->node[1].value = -1, "its tied state");
    REFUSE(t->node[1].yes = 2, "has children");
    REFUSE(t->sets.bits[1] |= 32, "units that do not exist");
    REFUSE(t->sets.units = 5, "wrong size");
    REFUSE(t->sets.words = 2, "wrong size");
    REFUSE(t->sets.count = 2, "wrong size");
}

static void deep_trees_are_refused(void **state)
{
    (void)state;
    for (int32_t depth = TRL__DEEPEST_TREE; depth <= TRL__DEEPEST_TREE + 1; depth++) {
        trl__tree *t;
        const uint64_t bits = 1;
        int32_t tied[2];
        assert_int_equal(trl__tree_create(2, 0, 1, 1, &t, NULL), 0);
        assert_int_equal(trl__unit_sets_add(&t->sets, "all", &bits), 0);
        t->nodes = 2 * depth + 1;
        t->leaves = 2;
        t->root[0] = 0;
        t->node = trl__alloc((size_t)t->nodes, sizeof *t->node);
        for (int32_t i = 0; i < depth; i++) {
            t->node[2 * i] = (trl__tree_node){1, 0, 2 * i + 2, 2 * i + 1};
            t->node[2 * i + 1] = (trl__tree_node){TRL__LEAF, 0, -1, -1};
        }
        t->node[2 * depth] = (trl__tree_node){TRL__LEAF, 1, -1, -1};
        if (depth > TRL__DEEPEST_TREE) {
            refuse(t, TRL_ELIMIT, "deeper than 1000 questions");
            continue;
        }
        assert_int_equal(trl__tree_check(t, "deep", &err), 0);
        assert_int_equal(trl__tree_tied_states(t, 0, 0, tied), 2);
        trl__tree_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sets_are_one),      cmocka_unit_test(sets_are_called_by_their_units),
        cmocka_unit_test(small_tree_answers),      cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(wrong_trees_are_refused), cmocka_unit_test(deep_trees_are_refused),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
