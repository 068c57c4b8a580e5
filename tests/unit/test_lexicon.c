/* Lexicons: the styles that are read, what becomes of each word, and lines that can't be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "corpus/corpus_builder.h"

static trl_error err;

static int parse(const char *content, trl_findings *findings, trl_lexicon **lexicon)
{
    trl__text text;
    memset(&err, 0, sizeof err);
    *lexicon = NULL;
    int code = trl__text_from_memory("lex", content, strlen(content), &text, &err);
    if (code == 0)
        code = trl__lexicon_parse("lex", &text, findings, lexicon, &err);
    trl__text_free(&text);
    return code;
}

static trl_lexicon *parse_ok(const char *content)
{
    trl_lexicon *lexicon;
    if (parse(content, NULL, &lexicon) < 0)
        fail_msg("%s", err.text);
    return lexicon;
}

/* One pronunciation as "PHONE PHONE @ probability". */
static const char *said(const trl_lexicon *l, const char *word, size_t variant)
{
    static char text[200];
    long number = trl_lexicon_find(l, word);
    if (number < 0)
        return "not there";
    trl_pronunciation p = trl_lexicon_pronunciation(l, (size_t)number, variant);
    text[0] = '\0';
    for (size_t i = 0; i < p.length; i++)
        sprintf(text + strlen(text), "%s ", trl_lexicon_phone(l, (size_t)p.phones[i]));
    sprintf(text + strlen(text), "@ %g", (double)p.probability);
    return text;
}

static size_t variants(const trl_lexicon *l, const char *word)
{
    return trl_lexicon_pronunciations(l, (size_t)trl_lexicon_find(l, word));
}

static void test_cmu_style(void **state)
{
    (void)state;
    trl_lexicon *l =
        parse_ok(";;; comment A B\nREAD  R EH D\nA\tAH\r\n\nREAD(2)  R IY D\nA(2) EY # as a letter\nB(X) B\n");
    assert_int_equal(trl_lexicon_words(l), 3);
    assert_string_equal(trl_lexicon_word(l, 0), "READ");
    assert_string_equal(trl_lexicon_word(l, 1), "A");
    assert_string_equal(trl_lexicon_word(l, 2), "B(X)");
    assert_null(trl_lexicon_word(l, 3));
    assert_int_equal(trl_lexicon_phones(l), 7);
    assert_string_equal(trl_lexicon_phone(l, 1), "EH");
    assert_int_equal(variants(l, "READ"), 2);
    assert_string_equal(said(l, "READ", 0), "R EH D @ 1");
    assert_string_equal(said(l, "READ", 1), "R IY D @ 1");
    assert_string_equal(said(l, "A", 1), "EY @ 1");
    assert_int_equal(trl_lexicon_find(l, "read"), -1);
    assert_int_equal(trl_lexicon_find(l, "READ(2)"), -1);
    assert_int_equal(trl_lexicon_pronunciation(l, 0, 2).length, 0);
    trl_lexicon_destroy(l);
}

static void test_probabilities(void **state)
{
    (void)state;
    trl_lexicon *l = parse_ok("a 0.25 x\nb 1.0 y z\na 0.75 x y\n");
    assert_string_equal(said(l, "a", 0), "x @ 0.25");
    assert_string_equal(said(l, "a", 1), "x y @ 0.75");
    assert_string_equal(said(l, "b", 0), "y z @ 1");
    trl_lexicon_destroy(l);
    l = parse_ok("a 0.99 0.2 1.5 0.8 x\nb 0.5 0.1 2.0 3.0 y z\n"); /* Montreal Forced Aligner's four numbers */
    assert_string_equal(said(l, "a", 0), "x @ 0.99");
    assert_string_equal(said(l, "b", 0), "y z @ 0.5");
    assert_int_equal(trl_lexicon_phones(l), 3);
    trl_lexicon_destroy(l);
    l = parse_ok("a 0.5 0.1 x\nb 0.5 y\nc 0.5 0.1 z\n"); /* as many as all lines share */
    assert_string_equal(said(l, "a", 0), "0.1 x @ 0.5");
    assert_string_equal(said(l, "b", 0), "y @ 0.5");
    trl_lexicon_destroy(l);
    l = parse_ok("a 0.5 x\nb y\n"); /* not every line has one: then it is a phone */
    assert_string_equal(said(l, "a", 0), "0.5 x @ 1");
    trl_lexicon_destroy(l);
}

static void test_same_pronunciation_once(void **state)
{
    (void)state;
    trl_lexicon *l = parse_ok("a 0.2 x y\na 0.6 x y\na 0.3 x y\nb 0.1 x y\na 0.1 x\n");
    assert_int_equal(variants(l, "a"), 2);
    assert_string_equal(said(l, "a", 0), "x y @ 0.6");
    assert_string_equal(said(l, "a", 1), "x @ 0.1");
    assert_string_equal(said(l, "b", 0), "x y @ 0.1");
    trl_lexicon_destroy(l);
}

static void test_utf8_and_mark(void **state)
{
    (void)state;
    trl_lexicon *l = parse_ok("\xEF\xBB\xBFgr\xC3\xBC\xC3\x9F g r y s\n");
    assert_string_equal(said(l, "gr\xC3\xBC\xC3\x9F", 0), "g r y s @ 1");
    trl_lexicon_destroy(l);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const char content[] = "good g\nlonely\nfine f\n";
    trl_lexicon *l;
    assert_int_equal(parse(content, NULL, &l), TRL_EFORMAT);
    assert_null(l);
    assert_string_equal(err.text, "lex:2: word without phones; correct this line");
    trl_findings *findings;
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(parse(content, findings, &l), 0);
    assert_int_equal(trl_lexicon_words(l), 2);
    assert_int_equal(trl_findings_count(findings), 1);
    assert_int_equal(trl_findings_get(findings, 0)->kind, TRL_FINDING_SYNTAX);
    assert_int_equal(trl_findings_get(findings, 0)->line, 2);
    assert_string_equal(trl_findings_get(findings, 0)->file, "lex");
    trl_lexicon_destroy(l);
    assert_int_equal(parse("a 0.5 x\nb 1.5 y\nc 0 z\nd 0.1\n", findings, &l), 0);
    assert_int_equal(trl_lexicon_words(l), 1);
    assert_int_equal(trl_findings_count(findings), 4);
    assert_int_equal(trl_findings_get(findings, 1)->line, 2);
    assert_int_equal(trl_findings_get(findings, 2)->line, 3);
    assert_int_equal(trl_findings_get(findings, 3)->line, 4);
    trl_lexicon_destroy(l);
    trl_findings_destroy(findings);
}

static void test_other_encoding(void **state)
{
    (void)state;
    static const char content[] = "good g\nb\xE9 b\nb\xE8 b\n";
    trl_lexicon *l;
    trl_findings *findings;
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(parse(content, findings, &l), TRL_EFORMAT);
    assert_null(l);
    assert_int_equal(strncmp(err.text, "lex:2: not valid UTF-8 (byte e9)", 32), 0);
    assert_int_equal(trl_findings_count(findings), 0);
    trl_findings_destroy(findings);
}

/* Once each; SAMPA's digits and a digit inside a phone are nothing odd. */
static void test_odd_phones(void **state)
{
    (void)state;
    static const char content[] = "a 0.5 x\nb y\nc 0.5 z\nd p / t\ne p/t\nf 9 2 6 AH0\ng 1 i:\n";
    static const int64_t lines[] = {1, 4, 5, 7};
    trl_lexicon *l;
    trl_findings *findings;
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(parse(content, findings, &l), 0);
    assert_int_equal(trl_findings_count(findings), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(trl_findings_get(findings, i)->kind, TRL_FINDING_ODD_PHONE);
        assert_int_equal(trl_findings_get(findings, i)->line, lines[i]);
    }
    assert_non_null(strstr(trl_findings_get(findings, 0)->message, "0.5"));
    trl_lexicon_destroy(l);
    trl_findings_destroy(findings);
}

static void test_fold_case(void **state)
{
    (void)state;
    trl_lexicon *l = parse_ok("polish P O L\nPolish P OW L\nSTRASSE S T R\nŁódź W U C\n");
    assert_string_equal(said(l, "POLISH", 0), "not there");
    assert_int_equal(trl_lexicon_fold_case(l, &err), 0);
    assert_string_equal(said(l, "Polish", 0), "P OW L @ 1"); /* exactly */
    assert_string_equal(said(l, "POLISH", 0), "P O L @ 1");  /* the first */
    assert_string_equal(said(l, "strasse", 0), "S T R @ 1");
    assert_string_equal(said(l, "ŁÓDŹ", 0), "W U C @ 1");
    assert_string_equal(said(l, "stras", 0), "not there");
    char word[1000];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(trl_lexicon_find(l, word), -1);
    trl_lexicon_destroy(l);
}

/* é as one letter is \303\251, as e and an accent e\314\201. */
static void test_composed(void **state)
{
    (void)state;
    trl_lexicon *l = parse_ok("cafe\314\201 K A F\ncaf\303\251 K E\nA\314\212(2) O\n");
    assert_int_equal(trl_lexicon_words(l), 2);
    assert_string_equal(trl_lexicon_word(l, 0), "caf\303\251");
    assert_string_equal(said(l, "cafe\314\201", 1), "K E @ 1");
    assert_string_equal(said(l, "caf\303\251", 0), "K A F @ 1");
    assert_string_equal(said(l, "\303\205", 0), "O @ 1");     /* Å */
    assert_string_equal(said(l, "\342\204\253", 0), "O @ 1"); /* the sign of Ångström */
    assert_string_equal(said(l, "cafe", 0), "not there");
    assert_int_equal(trl_lexicon_fold_case(l, &err), 0);
    assert_string_equal(said(l, "CAFE\314\201", 0), "K A F @ 1");
    trl_lexicon_destroy(l);
}

static void test_nothing_in_it(void **state)
{
    (void)state;
    trl_lexicon *l;
    assert_int_equal(parse("", NULL, &l), TRL_EFORMAT);
    assert_int_equal(parse(";;; only a comment\n\n", NULL, &l), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "lex: no pronunciations"));
    assert_int_equal(trl_lexicon_read("/no/such/lexicon", NULL, &l, &err), TRL_ENOENT);
    assert_null(l);
}

/* Every allocation fails once: an error, no leak (the address sanitizer looks), in the end success. */
static void test_out_of_memory(void **state)
{
    (void)state;
    static const char content[] = "a 0.5 x y\nb 0.5 y\na(2) 0.1 z/y\nbad 0.1\n";
    int code = TRL_ENOMEM, n;
    for (n = 1; code == TRL_ENOMEM; n++) {
        trl_lexicon *l = NULL;
        trl_findings *findings;
        assert_int_equal(trl_findings_create(&findings, NULL), 0);
        trl__memory_fail_after(n);
        code = parse(content, findings, &l);
        trl__memory_fail_after(0);
        assert_true(code == 0 ? l != NULL : l == NULL);
        if (code < 0)
            assert_int_equal(err.code, TRL_ENOMEM);
        trl_lexicon_destroy(l);
        trl_findings_destroy(findings);
    }
    assert_int_equal(code, 0);
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmu_style),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_same_pronunciation_once),
        cmocka_unit_test(test_utf8_and_mark),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_other_encoding),
        cmocka_unit_test(test_odd_phones),
        cmocka_unit_test(test_fold_case),
        cmocka_unit_test(test_composed),
        cmocka_unit_test(test_nothing_in_it),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
