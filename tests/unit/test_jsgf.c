/* JSGF and lists of phrases: what is refused, and where; recursion; tables of words; memory. */
#include "grammar_fixture.h"

#include "base/memory.h"
#include "temp_folder.h"

#include <math.h>
#include <stdio.h>

#define HEAD "#JSGF V1.0;\ngrammar g;\n"

static void refuse_with(const char *text, const char *rule, const trl_grammar_options *options, int code,
                        const char *message)
{
    trl_fst *fst;
    trl_error err;
    int got = try_jsgf(text, rule, options, &fst, &err);
    assert_null(fst);
    if (got != code || !strstr(err.text, message))
        fail_msg("%s\n%d: \"%s\" does not say \"%s\"", text, got, err.text, message);
}

static void refuse(const char *text, const char *message)
{
    refuse_with(text, NULL, NULL, TRL_EFORMAT, message);
}

static void the_head(void **state)
{
    (void)state;
    refuse("", "grammar:1:1: a grammar begins with");
    refuse("grammar g;", "grammar:1:1: a grammar begins with");
    refuse("// comment\n  #JSGF;", "grammar:2:8: expected the version");
    refuse("#JSGF V1.0\ngrammar g;", "grammar:1:11: expected a ;");
    refuse("#JSGF v1.0;", "grammar:1:12: expected the grammar's name"); /* as Sphinx's own grammars have it */
    refuse("#JSGF 1.0;", "grammar:1:7: expected the version");
    refuse("#JSGF V1.0;", "grammar:1:12: expected the grammar's name");
    refuse("#JSGF V1.0; grammar <g>;", "grammar:1:21: expected the grammar's name");
    refuse("#JSGF V1.0; grammar g public", "grammar:1:23: expected a ; after the grammar's name");
    refuse(HEAD, "none of the rules is public");
    refuse(HEAD "<a> = b;", "none of the rules is public");
    refuse_with(HEAD "import <other.*>;", NULL, NULL, TRL_EUNSUPPORTED, "grammar:3:1: imports are not supported");
}

static void the_rules(void **state)
{
    (void)state;
    refuse(HEAD "a = b;", "grammar:3:1: expected a rule");
    refuse(HEAD "public <a> b;", "grammar:3:12: expected a = after");
    refuse(HEAD "public <a> = ;", "grammar:3:14: an empty alternative");
    refuse(HEAD "public <a> = b | ;", "grammar:3:18: an empty alternative");
    refuse(HEAD "public <a> = b", "grammar:3:15: the file ends within a rule");
    refuse(HEAD "public <a> = b = c;", "grammar:3:16: a = where");
    refuse(HEAD "public <a> = *;", "grammar:3:14: a * where");
    refuse(HEAD "public <a> = b*+;", "grammar:3:16: a + where");
    refuse(HEAD "public <a> = {t} b;", "grammar:3:14: a tag stands behind");
    refuse(HEAD "public <a> = b /2/ c;", "grammar:3:16: a weight stands");
    refuse(HEAD "public <a> = /x/ c;", "grammar:3:14: /x/ is no weight");
    refuse(HEAD "public <a> = /-1/ c;", "is no weight");
    refuse(HEAD "public <a> = /nan/ c;", "is no weight");
    refuse(HEAD "public <a> = /2 c;", "grammar:3:14: this weight has no end");
    refuse(HEAD "public <a> = b (/0/ c | /0/ d);", "grammar:3:17: all alternatives have the weight 0");
    refuse(HEAD "public <a> = b | ( c\n d;", "grammar:4:3: expected a ), for the ( of 3:18");
    refuse(HEAD "public <a> = [ c ) ;", "grammar:3:18: expected a ], for the [ of 3:14");
    refuse(HEAD "public <a> = b );", "grammar:3:16: expected a ;");
    refuse(HEAD "public <a> = b\\c;", "grammar:3:15: a \\ outside quotes");
    refuse(HEAD "public <a> = \"b;", "grammar:3:14: this quoted word has no end");
    refuse(HEAD "public <a> = \"b c\";", "grammar:3:14: a word with blanks");
    refuse(HEAD "public <a> = \"\";", "grammar:3:14: an empty word");
    refuse(HEAD "public <a> = b {t;", "grammar:3:16: this tag has no end");
    refuse(HEAD "public <a> = b; /* c", "grammar:3:17: this comment has no end");
    refuse(HEAD "public <a = b;", "grammar:3:8: this name of a rule has no end");
    refuse(HEAD "public <a b> = b;", "grammar:3:8: the name of a rule has no blanks");
    refuse(HEAD "public <> = b;", "grammar:3:8: a rule without a name");
    refuse(HEAD "public <NULL> = b;", "grammar:3:8: <NULL> has its own meaning");
    refuse(HEAD "public <a> = b;\n<a> = c;", "grammar:4:1: <a> is defined twice");
    refuse(HEAD "public <a> = b <c>;", "grammar:3:16: the rule <c> is not defined");
    refuse(HEAD "public <a> = \xC3\xA4 <c>;", "grammar:3:16: the rule <c> is not defined");
    refuse(HEAD "public <a> = \xC3 b;", "grammar:3:14: this is not UTF-8");
    refuse(HEAD "public <a> = <VOID>;", "no sentence");
    refuse_with(HEAD "<a> = b;", "c", NULL, TRL_ENOENT, "there is no rule c");
    refuse_with(HEAD "<a> = b;", "<g>", NULL, TRL_ENOENT, "there is no rule <g>");
}

/* How likely the string of these labels is, "ab" being the words a, b: one path in all these grammars. */
static double chance_of(const trl_fst *fst, int32_t state, const char *string, int depth)
{
    trl_weight end = trl_fst_final(fst, state);
    double sum = *string || trl_weight_is_zero(TRL_TROPICAL, end) ? 0 : exp(-(double)end.value);
    for (uint32_t i = 0; depth > 0 && i < trl_fst_arc_count(fst, state); i++) {
        trl_arc arc = trl_fst_arc(fst, state, i);
        const char *name = trl_symbols_name(trl_fst_input_symbols(fst), arc.ilabel);
        if (arc.ilabel == 0 || *name == *string)
            sum += exp(-(double)arc.weight.value) * chance_of(fst, arc.next, string + (arc.ilabel != 0), depth - 1);
    }
    return sum;
}

static void expect(const char *text, const char *string, double chance)
{
    trl_fst *fst = jsgf_of(text, NULL);
    double found = chance_of(fst, trl_fst_start(fst), string, 30);
    if (fabs(found - chance) > 1e-6)
        fail_msg("%s\n%s has %g, should have %g", text, string, found, chance);
    trl_fst_destroy(fst);
}

static void recursion(void **state)
{
    (void)state;
    static const char mutual[] = HEAD "public <x> = a <y> | /3/ c; <y> = b <x>;";
    static const char deep[] = HEAD "public <x> = a ( b [ <x> ] | c );";
    static const char called[] = HEAD "public <x> = <y> b | c; <y> = a <y> | d;"; /* c only at the beginning */
    expect(mutual, "c", 0.75);
    expect(mutual, "abababc", 0.75 / 64);
    expect(mutual, "ab", 0);
    expect(deep, "abac", 1 / 8.0);
    expect(deep, "abab", 1 / 16.0);
    expect(called, "aadb", 1 / 16.0);
    expect(called, "aac", 0);
    expect(called, "c", 0.5);
    refuse(HEAD "public <x> = <x> a | b;", "grammar:3:14: <x> contains itself");
    refuse(HEAD "public <x> = a <x> a | b;", "grammar:3:16: <x> contains itself");
    refuse(HEAD "public <x> = (a <x>)* b;", "grammar:3:17: <x> contains itself");
    refuse(HEAD "public <x> = a <y> | b;\n<y> = c\n<x> d;", "grammar:5:1: <x> contains itself");
    refuse(HEAD "public <x> = a <x>;", "no sentence");
}

static void public_rules(void **state)
{
    (void)state;
    static const char text[] = HEAD "public <x> = a; public <y> = b; <z> = c;";
    expect(text, "a", 0.5);
    expect(text, "b", 0.5);
    expect(text, "c", 0);
    expect(HEAD "public <x> = \"a\\\"\\\\\";", "a", 1); /* a word that begins with a: a"\ */
    trl_fst *fst = jsgf_of(text, "z");
    assert_true(fabs(chance_of(fst, trl_fst_start(fst), "c", 9) - 1) < 1e-6);
    trl_fst_destroy(fst);
}

static void limits(void **state)
{
    (void)state;
    char text[20000], *at = text;
    at += sprintf(at, HEAD "public <a0> = w;");
    for (int i = 1; i < 40; i++)
        at += sprintf(at, "<a%d> = <a%d> <a%d>;", i, i - 1, i - 1);
    trl_grammar_options small = {.most_states = 10000};
    refuse_with(text, "a39", &small, TRL_ELIMIT, "too large with all rules put in");
    at = text + sprintf(text, HEAD "public <a0> = w;");
    for (int i = 1; i < 1100; i++)
        at += sprintf(at, "<a%d>=<a%d>;", i, i - 1);
    refuse_with(text, "a1099", NULL, TRL_ELIMIT, "too deep");
    at = text + sprintf(text, HEAD "public <a> = ");
    memset(at, '(', 1100);
    strcpy(at + 1100, "w;");
    refuse_with(text, NULL, NULL, TRL_ELIMIT, "more than 1000 deep");
}

static void tables_of_words(void **state)
{
    (void)state;
    trl_symbols *table;
    trl_fst *fst;
    trl_error err;
    assert_int_equal(trl_symbols_create("words", &table, &err), 0);
    assert_int_equal(trl_symbols_add(table, "<eps>", 0, &err), 0);
    assert_int_equal(trl_symbols_add(table, "b", 7, &err), 0);
    trl_grammar_options options = {.words = table};
    refuse_with(HEAD "public <x> = b\n | c;", NULL, &options, TRL_EFORMAT, "grammar:4:4: unknown word \"c\"");
    refuse_with(HEAD "public <x> = \"<eps>\";", NULL, &options, TRL_EFORMAT, "unknown word \"<eps>\"");
    assert_int_equal(try_jsgf(HEAD "public <x> = b;", NULL, &options, &fst, &err), 0);
    assert_ptr_equal(trl_fst_input_symbols(fst), table);
    trl_fst_destroy(fst);
    options.add_words = 1;
    assert_int_equal(try_jsgf(HEAD "public <x> = b c;", NULL, &options, &fst, &err), 0);
    assert_int_equal(trl_symbols_find(table, "c"), 8);
    trl_fst_destroy(fst);
    trl_symbols_destroy(table);
}

/* Every word and the end: 1 / (V + 1). */
static void word_loop(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "b", "c"};
    trl_fst *fst;
    trl_error err;
    assert_int_equal(trl_grammar_word_loop(words, 3, NULL, &fst, &err), 0);
    assert_int_equal(trl_fst_states(fst), 1);
    assert_int_equal(trl_fst_arcs(fst), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(fabs((double)trl_fst_arc(fst, 0, i).weight.value - log(4)) < 1e-6);
    assert_true(fabs((double)trl_fst_final(fst, 0).value - log(4)) < 1e-6);
    trl_fst_destroy(fst);
    assert_int_equal(trl_grammar_word_loop(words, 0, NULL, &fst, &err), TRL_EINVAL);
}

static void refuse_phrases(const char *text, int loop, const char *message)
{
    trl_fst *fst;
    trl_error err;
    temp_write("phrases", text, strlen(text));
    int code = loop ? trl_grammar_read_loop(temp_path("phrases"), NULL, &fst, &err)
                    : trl_grammar_read_list(temp_path("phrases"), NULL, &fst, &err);
    assert_int_equal(code, TRL_EFORMAT);
    assert_null(fst);
    if (!strstr(err.text, message))
        fail_msg("\"%s\" does not say \"%s\"", err.text, message);
}

static void phrases(void **state)
{
    (void)state;
    trl_symbols *table;
    trl_fst *fst;
    trl_error err;
    refuse_phrases("\n \n", 0, "no phrases");
    refuse_phrases("/0/ a\n", 0, "no phrases");
    refuse_phrases("a\n/2/\n", 0, "phrases:2: a weight without words");
    refuse_phrases("a\n/x/ b\n", 0, "phrases:2: /x/ is no weight");
    refuse_phrases("a </s>\n", 0, "phrases:1: </s> in a phrase");
    refuse_phrases("</s>\n", 0, "phrases:1: </s> in a phrase");
    refuse_phrases("</s>\n", 1, "no phrases");
    refuse_phrases("a\n/0/ </s>\n", 1, "no sentence ends");
    assert_int_equal(trl_symbols_create("words", &table, &err), 0);
    assert_int_equal(trl_symbols_add(table, "a", 3, &err), 0);
    temp_write("phrases", "a\na b\n", 6);
    assert_int_equal(trl_grammar_read_list(temp_path("phrases"), &(trl_grammar_options){.words = table}, &fst, &err),
                     TRL_EFORMAT);
    assert_non_null(strstr(err.text, "phrases:2: unknown word \"b\""));
    trl_symbols_destroy(table);
    assert_int_equal(trl_grammar_read_list(temp_path("missing"), NULL, &fst, &err), TRL_ENOENT);
    assert_int_equal(trl_grammar_read_jsgf(temp_path("missing"), NULL, NULL, &fst, &err), TRL_ENOENT);
}

static void memory_runs_out(void **state)
{
    (void)state;
    trl_fst *fst = NULL;
    trl_error err;
    temp_write("phrases", "a b\na c\n/2/ d\n", 14);
    for (int kind = 0; kind < 2; kind++)
        for (int code = TRL_ENOMEM, n = 1; code == TRL_ENOMEM; n++) {
            trl__memory_fail_after(n);
            code = kind ? try_jsgf(HEAD "public <x> = a [b] <x> | (c | d)* e+;", NULL, NULL, &fst, &err)
                        : trl_grammar_read_loop(temp_path("phrases"), NULL, &fst, &err);
            trl__memory_fail_after(0);
            assert_true(n < 1000);
            assert_true(code == 0 || code == TRL_ENOMEM);
            trl_fst_destroy(fst);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head),     cmocka_unit_test(the_rules), cmocka_unit_test(recursion),
        cmocka_unit_test(public_rules), cmocka_unit_test(limits),    cmocka_unit_test(tables_of_words),
        cmocka_unit_test(word_loop),    cmocka_unit_test(phrases),   cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
