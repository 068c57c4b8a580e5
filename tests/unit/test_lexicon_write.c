/* Lexicons with probabilities from counts, and written ones that are read again. */
#include "temp_folder.h"

#include "base/memory.h"
#include "base/random.h"
#include "corpus/corpus_builder.h"

#include <math.h>

static trl_error err;

static trl_lexicon *lexicon_of(const char *content)
{
    trl__text text;
    trl_lexicon *lexicon;
    trl_findings *findings;
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(trl__text_from_memory("lex", content, strlen(content), &text, &err), 0);
    if (trl__lexicon_parse("lex", &text, findings, &lexicon, &err) < 0)
        fail_msg("%s", err.text);
    trl__text_free(&text);
    trl_findings_destroy(findings);
    return lexicon;
}

static trl_lexicon *with_counts(const trl_lexicon *l, const double *count, double smoothing)
{
    trl_lexicon *out;
    if (trl_lexicon_with_counts(l, count, smoothing, &out, &err) < 0)
        fail_msg("%s", err.text);
    return out;
}

static void expect_probability(const trl_lexicon *l, size_t word, size_t variant, double probability)
{
    double got = (double)trl_lexicon_pronunciation(l, word, variant).probability;
    if (!(fabs(got - probability) <= 1e-7))
        fail_msg("%s, variant %zu: %g, not %g", trl_lexicon_word(l, word), variant, got, probability);
}

/* The same words, pronunciations and probabilities; phones by name. */
static void assert_same(const trl_lexicon *a, const trl_lexicon *b)
{
    assert_int_equal(trl_lexicon_words(a), trl_lexicon_words(b));
    assert_int_equal(trl_lexicon_phones(a), trl_lexicon_phones(b));
    for (size_t w = 0; w < trl_lexicon_words(a); w++) {
        assert_string_equal(trl_lexicon_word(a, w), trl_lexicon_word(b, w));
        assert_int_equal(trl_lexicon_first(a, w), trl_lexicon_first(b, w));
        assert_int_equal(trl_lexicon_pronunciations(a, w), trl_lexicon_pronunciations(b, w));
        for (size_t v = 0; v < trl_lexicon_pronunciations(a, w); v++) {
            trl_pronunciation p = trl_lexicon_pronunciation(a, w, v), q = trl_lexicon_pronunciation(b, w, v);
            assert_true(p.probability == q.probability);
            assert_int_equal(p.length, q.length);
            for (size_t i = 0; i < p.length; i++)
                assert_string_equal(trl_lexicon_phone(a, (size_t)p.phones[i]),
                                    trl_lexicon_phone(b, (size_t)q.phones[i]));
        }
    }
}

static void places_of_pronunciations(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("a x\nb y\na y\nc x y\n");
    assert_int_equal(trl_lexicon_first(l, 0), 0);
    assert_int_equal(trl_lexicon_first(l, 1), 2);
    assert_int_equal(trl_lexicon_first(l, 2), 3);
    assert_int_equal(trl_lexicon_first(l, 3), 4);
    assert_int_equal(trl_lexicon_first(l, 99), 4);
    trl_lexicon_destroy(l);
}

static void counts_become_probabilities(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("a 0.25 x\na 0.75 y\nb 0.3 x\nb 0.1 y\nc 0.5 z\nd 1 x\nd 1 y\nd 1 z\n");
    const double count[8] = {3, 1, 0, 0, 7, 0, 12, 0};
    trl_lexicon *m = with_counts(l, count, 1);
    expect_probability(m, 0, 0, (3 + 0.25) / 5);
    expect_probability(m, 0, 1, (1 + 0.75) / 5);
    expect_probability(m, 1, 0, 0.75); /* never said: as they were, but for the sum */
    expect_probability(m, 1, 1, 0.25);
    expect_probability(m, 2, 0, 1);
    expect_probability(m, 3, 0, 1 / 39.0); /* a third of a use */
    expect_probability(m, 3, 1, 37 / 39.0);
    expect_probability(m, 3, 2, 1 / 39.0);
    expect_probability(l, 0, 0, 0.25); /* the old one is as it was */
    assert_string_equal(trl_lexicon_word(m, 3), "d");
    assert_int_equal(trl_lexicon_find(m, "c"), 2);
    trl_lexicon *n = with_counts(l, count, 5);
    expect_probability(n, 0, 0, (3 + 5 * 0.25) / 9);
    trl_lexicon_destroy(l);
    trl_lexicon_destroy(m);
    trl_lexicon_destroy(n);
}

static void no_probability_is_zero(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("a 1e-37 x\na 1 y\n");
    const double count[2] = {0, 1e15};
    trl_lexicon *m = with_counts(l, count, 1e-3);
    assert_true(trl_lexicon_pronunciation(m, 0, 0).probability > 0);
    expect_probability(m, 0, 1, 1);
    trl_lexicon_destroy(l);
    trl_lexicon_destroy(m);
}

static void folding_goes_with_the_copy(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("Ab x\nC y\n");
    const double count[2] = {1, 2};
    trl_lexicon *m = with_counts(l, count, 1);
    assert_int_equal(trl_lexicon_find(m, "aB"), -1);
    trl_lexicon_destroy(m);
    assert_int_equal(trl_lexicon_fold_case(l, &err), 0);
    m = with_counts(l, count, 1);
    assert_int_equal(trl_lexicon_find(m, "aB"), 0);
    trl_lexicon_destroy(l);
    trl_lexicon_destroy(m);
}

static void refuses_what_can_not_be(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("a x\nb y\n"), *m;
    const double bad[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        const double count[2] = {1, bad[i]};
        assert_int_equal(trl_lexicon_with_counts(l, count, 1, &m, &err), TRL_EINVAL);
        assert_non_null(strstr(err.text, "a pronunciation of b can't"));
        assert_null(m);
        assert_int_equal(trl_lexicon_with_counts(l, (double[]){1, 1}, bad[i], &m, &err), TRL_EINVAL);
    }
    assert_int_equal(trl_lexicon_with_counts(l, (double[]){1, 1}, 0, &m, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "above 0"));
    trl_lexicon_destroy(l);
}

static void round_trip(const trl_lexicon *l)
{
    trl_lexicon *again = NULL;
    if (trl_lexicon_write(l, temp_path("lexicon"), &err) < 0 ||
        trl_lexicon_read(temp_path("lexicon"), NULL, &again, &err) < 0)
        fail_msg("%s", err.text);
    assert_same(again, l);
    trl_lexicon_destroy(again);
}

static void writes_lines(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("a 0.25 x\nb 1.0 y z\na 0.75 x y\n");
    static const char lines[] = "a 0.25 x\na 0.75 x y\nb 1 y z\n";
    assert_int_equal(trl_lexicon_write(l, temp_path("lexicon"), &err), 0);
    temp_expect("lexicon", lines, sizeof lines - 1);
    assert_int_equal(trl_lexicon_write(l, temp_path("no/such/folder"), &err), TRL_ENOENT);
    trl_lexicon_destroy(l);
}

/* What the reader would take for something else. */
static void odd_lexicons_come_back(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "A(2)(3) x\nA y\n(2) x\n)(1) z\nB(X) y\n", /* words that end like a variant's number */
        " ;;;word x\n ; y\n",                      /* that begin like a comment */
        "a 2 x\nb\n",                              /* all begin with a number: the second line is left out */
        "a 0.5 1 1 1 2 x\nb 0.5 1 1 1 9 y\na 0.25 1 1 1 0.5 0.5 z\n", /* more numbers than are read */
        "0.5 0.25 x\n# 1 y\n",                                        /* words that are numbers, and a lonely # */
        "\xEF\xBB\xBFgr\xC3\xBC\xC3\x9F g y\n",
    };
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        trl_lexicon *l = lexicon_of(contents[i]);
        assert_true(trl_lexicon_words(l) > 0);
        round_trip(l);
        trl_lexicon_destroy(l);
    }
}

static int roll(uint64_t seed, uint64_t *next, int below)
{
    return (int)(trl__random_bits(seed, 0, (*next)++) % (uint32_t)below);
}

/* Any words and phones, any counts: the same lexicon after reading, to the last bit of a probability; and a word's sum is 1. */
static void lexicons_come_back(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "b(2)", "c(x)", "0.5", "7", "#", " ;;;d", "e(3)(4)", "\xC3\xA4"};
    static const char *const phones[] = {"x", "y", "2", "0.5", "AH0", ";;;", "p/t"};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        char content[4000] = "";
        double count[64];
        uint64_t next = 0;
        for (int line = 1 + roll(seed, &next, 20); line > 0; line--) {
            sprintf(content + strlen(content), "%s 0.%d", words[roll(seed, &next, 9)], 1 + roll(seed, &next, 9));
            for (int i = 1 + roll(seed, &next, 5); i > 0; i--)
                sprintf(content + strlen(content), " %s", phones[roll(seed, &next, 7)]);
            strcat(content, "\n");
        }
        strcat(content, "last 0.5 x\n");
        for (int i = 0; i < 64; i++)
            count[i] = roll(seed, &next, 3) ? roll(seed, &next, 1000) : 0;
        trl_lexicon *l = lexicon_of(content), *m = with_counts(l, count, 0.1 * (1 + roll(seed, &next, 50)));
        if (seed % 20 == 0) { /* writing waits for the disk */
            round_trip(l);
            round_trip(m);
        }
        for (size_t w = 0; w < trl_lexicon_words(m); w++) {
            double sum = 0;
            for (size_t v = 0; v < trl_lexicon_pronunciations(m, w); v++)
                sum += (double)trl_lexicon_pronunciation(m, w, v).probability;
            assert_true(fabs(sum - 1) < 1e-6);
        }
        trl_lexicon_destroy(l);
        trl_lexicon_destroy(m);
    }
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    trl_lexicon *l = lexicon_of("a x y\nb y\na(2) z\n"), *m = NULL;
    const double count[3] = {1, 2, 3};
    int code = TRL_ENOMEM, n;
    assert_int_equal(trl_lexicon_fold_case(l, &err), 0);
    for (n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl_lexicon_with_counts(l, count, 1, &m, &err);
        trl__memory_fail_after(0);
        assert_true((code == 0) == (m != NULL));
    }
    assert_int_equal(code, 0);
    assert_true(n > 8);
    trl_lexicon_destroy(m);
    for (n = 1, code = TRL_ENOMEM; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl_lexicon_write(l, temp_path("short"), &err);
        trl__memory_fail_after(0);
    }
    assert_int_equal(code, 0);
    trl_lexicon_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_pronunciations), cmocka_unit_test(counts_become_probabilities),
        cmocka_unit_test(no_probability_is_zero),   cmocka_unit_test(folding_goes_with_the_copy),
        cmocka_unit_test(refuses_what_can_not_be),  cmocka_unit_test(writes_lines),
        cmocka_unit_test(odd_lexicons_come_back),   cmocka_unit_test(lexicons_come_back),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
