/* Kaldi's trees written out by hand: what tables with gaps become, which roots are shared, and what is refused, with
 * its place. */
#include "cmocka_test.h"

#include "base/memory.h"
#include "model/kaldi_model.h"

#include <stdio.h>
#include <string.h>

enum { UNITS = 4, STATES = 2, TIED = 6 };

static trl_error err;

/* Reads a map as the tree of four units with two states each, in a window of two: the unit and the one to its right. */
static trl__tree *tree_of(const char *map, int *code)
{
    trl__topology topology = {.states = STATES};
    int32_t unit_topology[UNITS] = {0};
    trl_model model = {
        .unit_topology = unit_topology, .topology = &topology, .topologies = 1, .tied_states = TIED, .dim = 1};
    trl__source source;
    trl__tree *tree = NULL;
    char text[20000];
    snprintf(text, sizeof text, "ContextDependency 2 0\nToPdf\n%s\nEndContextDependency ", map);
    for (int u = 0; u < UNITS; u++)
        assert_int_equal(trl__strings_add(&model.units, &"A\0B\0C\0D"[2 * u], 1), u);
    assert_int_equal(trl__source_from_memory("tree", text, strlen(text), &source, &err), 0);
    *code = trl__kaldi_tree_read(&source, &model, &tree, &err);
    trl__source_close(&source);
    trl__strings_free(&model.units);
    return tree;
}

static void tables_with_gaps(void **state)
{
    (void)state;
    static const int32_t expected[] = {1, 1, 1, 2, 2}; /* none, A, B to the right; C, D */
    int code;
    trl__tree *t =
        tree_of("TE -1 2 ( TE 1 4 ( NULL NULL CE 1 CE 2 )\n SE 0 [ 3 ]\n{ TE 1 1 ( CE 0 ) TE 1 5 ( NULL CE 3 CE 4 "
                "NULL CE 5 ) } )",
                &code);
    if (code < 0)
        fail_msg("%s", err.text);
    for (int32_t right = -1; right < UNITS; right++)
        assert_int_equal(trl__tree_find(t, (int32_t[]){2, right}, 0), expected[right + 1]);
    assert_int_equal(trl__tree_find(t, (int32_t[]){2, 3}, 1), 0);  /* a table with one map asks for nothing */
    assert_int_equal(trl__tree_find(t, (int32_t[]){1, -1}, 1), 3); /* none goes with the first */
    assert_int_equal(trl__tree_find(t, (int32_t[]){1, 2}, 1), 4);  /* C with the one before */
    assert_int_equal(trl__tree_find(t, (int32_t[]){1, 3}, 1), 5);
    trl__tree_destroy(t);
}

/* Units that come to the same map share the root, although it asks which of them it is. */
static void roots_are_shared(void **state)
{
    (void)state;
    int code;
    trl__tree *t =
        tree_of("SE 0 [ 1 2 ]\n{ TE -1 2 ( SE 0 [ 1 ]\n{ CE 0 CE 1 } CE 2 ) SE 1 [ 0 ]\n{ TE -1 2 ( CE 3 CE 4 ) "
                "CE 5 } }",
                &code);
    if (code < 0)
        fail_msg("%s", err.text);
    assert_int_equal(t->root[0], t->root[2]);
    assert_int_equal(t->node[t->root[0]].position, 0);
    assert_int_equal(t->root[4], t->root[6]);
    assert_int_not_equal(t->root[4], t->root[5]); /* the pdf class is asked below: a root for each state */
    assert_int_equal(trl__tree_find(t, (int32_t[]){3, -1}, 1), 4);
    assert_int_equal(trl__tree_find(t, (int32_t[]){3, 0}, 1), 5);
    assert_string_equal(t->sets.names.texts[1], "(nothing)");
    trl__tree_destroy(t);
}

static void refuse(const char *map, int expected, const char *text)
{
    int code;
    err.text[0] = '\0';
    trl__tree *t = tree_of(map, &code);
    if (t || code != expected || !strstr(err.text, text) || !strstr(err.text, "tree"))
        fail_msg("%s: %d, no '%s' in '%s'", map, code, text, err.text);
}

static void wrong_trees_are_refused(void **state)
{
    (void)state;
    refuse("XE 1", TRL_EFORMAT, "tree:3: expected CE, SE, TE or NULL, found XE");
    refuse("CE 6", TRL_EFORMAT, "tree:3: a pdf-id that the model does not have");
    refuse("CE -1", TRL_EFORMAT, "a pdf-id");
    refuse("SE 2 [ 1 ] { CE 0 CE 1 }", TRL_EFORMAT, "a place that the window does not have");
    refuse("SE -2 [ 1 ] { CE 0 CE 1 }", TRL_EFORMAT, "a place that the window does not have");
    refuse("SE 1 [ x ] { CE 0 CE 1 }", TRL_EFORMAT, "expected a whole number or ], found x");
    refuse("SE 1 [ 1 ] { CE 0 CE 1 CE 2 }", TRL_EFORMAT, "expected }, found CE");
    refuse("SE 1 [ 1 ] { CE 0", TRL_EFORMAT, "found EndContextDependency");
    refuse("TE 1 -1 ( )", TRL_EFORMAT, "a number from 0 on");
    refuse("TE 1 4000000000 ( CE 0", TRL_EFORMAT, "found EndContextDependency");
    refuse("TE 1 0 ( )", TRL_EFORMAT, "a table without a map for any phone");
    refuse("SE 1 [ 1 ] { NULL NULL }", TRL_EFORMAT, "leads nowhere");
    refuse("NULL", TRL_EFORMAT, "knows nothing of phone A, state 0");
    refuse("TE -1 1 ( CE 0 )", TRL_EFORMAT, "knows nothing of phone A, state 1");
    refuse("CE 0", TRL_ECORRUPT, "fewer nodes than tied states");
    refuse("TE 1 5 ( CE 0 CE 1 CE 2 CE 3 CE 4 )", TRL_ECORRUPT, "no leaf for tied state 5");
    refuse("CE 0 CE 1", TRL_EFORMAT, "expected EndContextDependency, found CE");
    char deep[19000] = "";
    for (size_t i = 0; i < 1100; i++)
        memcpy(deep + 13 * i, "SE 1 [ 1 ] { ", 14);
    refuse(deep, TRL_ELIMIT, "deeper than can be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_with_gaps), cmocka_unit_test(roots_are_shared),
                                       cmocka_unit_test(wrong_trees_are_refused)};
    return RUN(tests);
}
