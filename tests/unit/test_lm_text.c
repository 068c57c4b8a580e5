/* Language models of tiny texts, by hand; what texts and options may be; what happens without memory. */
#include "lm_fixture.h"

#include "base/memory.h"
#include "base/text_file.h"
#include "temp_folder.h"

#include <math.h>
#include <stdio.h>
#include <trellis/log.h>

#define NEARLY 1e-6

static const trl_lm_options witten_bell = {.order = 2, .smoothing = TRL_LM_WITTEN_BELL};

static double after(const trl_lm *lm, const char *history, const char *word)
{
    int32_t number = history ? word_number(lm, history) : 0;
    return model_probability(lm, &number, history ? 1 : 0, word_number(lm, word));
}

static void expect(const trl_lm *lm, const char *history, const char *word, double probability)
{
    double p = after(lm, history, word);
    if (fabs(p - probability) > NEARLY)
        fail_msg("P(%s | %s) is %.9g, should be %.9g", word, history ? history : "", p, probability);
}

/* Events a, </s>: C = 2, T = 2, three words. After <s> and after a: C = 1, T = 1. */
static void witten_bell_of_one_word(void **state)
{
    (void)state;
    trl_lm *lm = model_of("a\n", &witten_bell);
    expect(lm, NULL, "a", 5 / 12.0);
    expect(lm, NULL, "<unk>", 1 / 6.0);
    expect(lm, "<s>", "a", 17 / 24.0);
    expect(lm, "<s>", "</s>", 5 / 24.0);
    expect(lm, "a", "</s>", 17 / 24.0);
    expect(lm, "a", "a", 5 / 24.0);
    expect(lm, "<unk>", "a", 5 / 12.0);
    assert_int_equal(trl_lm_ngrams(lm, 1), 4);
    assert_int_equal(trl_lm_ngrams(lm, 2), 2);
    assert_int_equal(trl_lm_ngrams(lm, 3), 0);
    trl_lm_destroy(lm);
}

/* Counts 1, 2, 3, 4 and </s> 1: n = 2, 1, 1, 1, so Y = 1/2 and D = 1/2, 1/2, 1; of 11 events 3.5 are shared by six words. */
static void discounts_of_one_order(void **state)
{
    (void)state;
    trl_lm *lm = model_of("a b b c c c d d d d", &(trl_lm_options){.order = 1});
    expect(lm, NULL, "<unk>", 3.5 / 66);
    expect(lm, NULL, "a", 0.5 / 11 + 3.5 / 66);
    expect(lm, NULL, "b", 1.5 / 11 + 3.5 / 66);
    expect(lm, NULL, "c", 2 / 11.0 + 3.5 / 66);
    expect(lm, NULL, "d", 3 / 11.0 + 3.5 / 66);
    expect(lm, NULL, "</s>", 0.5 / 11 + 3.5 / 66);
    trl_lm_destroy(lm);
}

static char said[1024];
static int times;

static void listen(void *user, trl_log_level level, const char *text)
{
    (void)user;
    assert_int_equal(level, TRL_LOG_WARNING);
    snprintf(said, sizeof said, "%s", text);
    times++;
}

/* Every n-gram once: Y = 1, and D1 would take all. Half is taken: <s> a, a </s>, predecessors of a and </s>: 1 each. */
static void discounts_that_cannot_be_estimated(void **state)
{
    (void)state;
    times = 0;
    trl_log_set(TRL_LOG_WARNING, listen, NULL);
    trl_lm *lm = model_of("a\n", &(trl_lm_options){.order = 2});
    trl_log_set(TRL_LOG_WARNING, NULL, NULL);
    assert_int_equal(times, 2); /* for each order */
    assert_non_null(strstr(said, "2-grams"));
    assert_non_null(strstr(said, "counts of 1;"));
    expect(lm, NULL, "a", 0.25 + 0.5 / 3);
    expect(lm, NULL, "<unk>", 0.5 / 3);
    expect(lm, "<s>", "a", 0.5 + 0.5 * (0.25 + 0.5 / 3));
    trl_lm_destroy(lm);
}

/* Shorter n-grams count what precedes them: b five times after a, c once after a and b each. */
static void predecessors_count(void **state)
{
    (void)state;
    trl_lm *lm = model_of("a b\na b\na b\na b\na b c\na c\n", &(trl_lm_options){.order = 2});
    const trl__lm_level *words = &lm->levels[1];
    assert_int_equal(words->events[word_number(lm, "a")], 1);
    assert_int_equal(words->events[word_number(lm, "b")], 1);
    assert_int_equal(words->events[word_number(lm, "c")], 2);
    assert_int_equal(words->events[word_number(lm, "</s>")], 2);
    assert_int_equal(words->seen[word_number(lm, "b")], 5);
    trl_lm_destroy(lm);
}

static void expect_same(const char *text, const char *other)
{
    trl_error err;
    trl_lm *a = model_of(text, &witten_bell), *b = model_of(other, &witten_bell);
    assert_int_equal(trl_lm_write(a, temp_path("a"), &err), 0);
    assert_int_equal(trl_lm_write(b, temp_path("b"), &err), 0);
    char bytes[2][4096];
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(temp_path(i ? "b" : "a"), "rb");
        bytes[i][fread(bytes[i], 1, sizeof bytes[i] - 1, file)] = '\0';
        fclose(file);
    }
    assert_string_equal(bytes[0], bytes[1]);
    trl_lm_destroy(a);
    trl_lm_destroy(b);
}

static void lines_are_sentences(void **state)
{
    (void)state;
    expect_same("a b\nc\n", "\n\n <s> a  b\t</s>\r\n  \nc </s>\n<s> </s>\n</s>\n<s>\n");
    expect_same("a <unk> b\n", "a <unk> b");
    expect_same("</s>x a<s>\n", "<s> </s>x a<s>\n");
}

/* Fields are equal, numbers nearly. */
static void compare_fields(const char *line, const char *expected)
{
    while (*expected || *line) {
        size_t length = strcspn(line, "\t"), wanted = strcspn(expected, "\t");
        if (length != wanted || memcmp(line, expected, length) != 0)
            assert_true(fabs(strtod(line, NULL) - strtod(expected, NULL)) < NEARLY && strtod(expected, NULL) != 0);
        line += length + (line[length] == '\t');
        expected += wanted + (expected[wanted] == '\t');
    }
}

static void the_file(void **state)
{
    (void)state;
    static const char *const expected[] = {"\\data\\",
                                           "ngram 1=4",
                                           "ngram 2=2",
                                           "",
                                           "\\1-grams:",
                                           "-0.38021124\t</s>",
                                           "-99\t<s>\t-0.30103",
                                           "-0.77815125\t<unk>",
                                           "-0.38021124\ta\t-0.30103",
                                           "",
                                           "\\2-grams:",
                                           "-0.14976232\t<s> a",
                                           "-0.14976232\ta </s>",
                                           "",
                                           "\\end\\"};
    trl_error err;
    trl_lm *lm = model_of("a\n", &witten_bell);
    assert_int_equal(trl_lm_write(lm, temp_path("lm"), &err), 0);
    trl_lm_destroy(lm);
    trl__text text;
    char *line;
    size_t length, count = 0;
    assert_int_equal(trl__text_read(temp_path("lm"), &text, &err), 0);
    for (; trl__text_line(&text, &line, &length); count++) {
        assert_true(count < sizeof expected / sizeof *expected);
        compare_fields(line, expected[count]);
    }
    assert_int_equal(count, sizeof expected / sizeof *expected);
    trl__text_free(&text);
}

static void refuse(const char *text, const trl_lm_options *options, int code, const char *message)
{
    trl_lm *lm;
    trl_error err;
    const char *path = temp_path("text");
    temp_write("text", text, strlen(text));
    assert_int_equal(trl_lm_train(&path, 1, options, &lm, &err), code);
    assert_null(lm);
    if (!strstr(err.text, message))
        fail_msg("\"%s\" does not say \"%s\"", err.text, message);
}

static void what_is_refused(void **state)
{
    (void)state;
    trl_lm *lm;
    trl_error err;
    char name[640];
    const char *missing = strcpy(name, temp_path("missing"));
    refuse("", NULL, TRL_EFORMAT, "no words");
    refuse("\n \n<s> </s>\n", NULL, TRL_EFORMAT, "no words");
    refuse("a\nb <s> c\n", NULL, TRL_EFORMAT, "text:2: <s> inside a sentence");
    refuse("a </s> b", NULL, TRL_EFORMAT, "text:1: </s> inside a sentence");
    refuse("a", &(trl_lm_options){.order = -1}, TRL_EINVAL, "order");
    refuse("a", &(trl_lm_options){.order = TRL_LM_MOST_ORDER + 1}, TRL_EINVAL, "order");
    refuse("a", &(trl_lm_options){.prune = NAN}, TRL_EINVAL, "pruning");
    refuse("a", &(trl_lm_options){.cutoff = {[2] = 2, [3] = 1}}, TRL_EINVAL, "cut-off of 3-grams");
    refuse("a", &(trl_lm_options){.vocabulary = missing}, TRL_ENOENT, "missing");
    temp_write("none", "\n<s>\n</s> 2\n", 12);
    refuse("a", &(trl_lm_options){.vocabulary = temp_path("none")}, TRL_EFORMAT, "none: no words");
    assert_int_equal(trl_lm_train(&missing, 1, NULL, &lm, &err), TRL_ENOENT);
}

/* Closed: what has the word x is not counted, and what follows it has no history. Open: it is <unk>. */
static void vocabularies(void **state)
{
    (void)state;
    temp_write("words", "a 1\nb 2\nq 3\n", 12);
    trl_lm_options options = witten_bell;
    options.vocabulary = temp_path("words");
    trl_lm *open = model_of("a x b\n", &options);
    options.closed = 1;
    trl_lm *closed = model_of("a x b\n", &options);
    assert_int_equal(trl_lm_ngrams(open, 2), 4);
    assert_int_equal(trl_lm_ngrams(closed, 2), 2); /* <s> a, b </s> */
    assert_int_equal(word_number(closed, "<unk>"), -1);
    expect(closed, NULL, "q", 0.5 / 4); /* of a, b, q, </s> */
    expect(open, NULL, "<unk>", 1 / 8.0 + 0.5 / 5);
    expect(open, NULL, "q", 0.5 / 5);
    assert_int_equal(trl_lm_trained_on(closed).unknown, 1);
    assert_int_equal(trl_lm_trained_on(closed).words, 3);
    assert_int_equal(trl_lm_trained_on(closed).sentences, 1);
    trl_lm_destroy(open);
    trl_lm_destroy(closed);
}

/* By hand, from the numbers of the file; x is unknown, and not an event without <unk>. */
static void perplexities(void **state)
{
    (void)state;
    static const char model[] =
        "\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-1\t</s>\n-99\t<s>\t-0.5\n-2\ta\t-0.25\n\n"
        "\\2-grams:\n-0.125\ta </s>\n\n\\end\\\n";
    trl_perplexity p;
    trl_error err;
    char name[640];
    const char *text = strcpy(name, temp_path("text"));
    temp_write("lm", model, sizeof model - 1);
    temp_write("text", "a\nx a\n", 6);
    assert_int_equal(trl_lm_perplexity(temp_path("lm"), &text, 1, TRL_LM_FORM_AUTO, &p, &err), 0);
    assert_true(fabs(p.log10 + (0.5 + 2 + 0.125) + (2 + 0.125)) < NEARLY);
    assert_int_equal(p.events, 4);
    assert_int_equal(p.text.unknown, 1);
    assert_int_equal(p.text.words, 3);
    assert_true(fabs(p.perplexity - pow(10, 4.75 / 4)) < 1e-4);
    assert_true(fabs(p.known_perplexity - p.perplexity) < NEARLY);
    temp_write("text", "a\nb <s>\n", 8);
    assert_int_equal(trl_lm_perplexity(temp_path("lm"), &text, 1, TRL_LM_FORM_AUTO, &p, &err), TRL_EFORMAT);
    assert_int_equal(trl_lm_perplexity(temp_path("missing"), &text, 1, TRL_LM_FORM_AUTO, &p, &err), TRL_ENOENT);
    temp_write("text", "", 0);
    assert_int_equal(trl_lm_perplexity(temp_path("lm"), &text, 1, TRL_LM_FORM_AUTO, &p, &err), 0);
    assert_true(p.events == 0 && p.perplexity == 0);
}

static void memory_runs_out(void **state)
{
    (void)state;
    trl_error err;
    trl_lm *lm = NULL;
    trl_lm_options options = {.order = 3, .prune = 0.1, .smoothing = TRL_LM_WITTEN_BELL};
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = try_model("a b c\nb c a\n", &options, &lm, &err);
        trl__memory_fail_after(0);
        assert_true(n < 1000);
    }
    assert_int_equal(code, 0);
    trl_lm_destroy(lm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(witten_bell_of_one_word),
        cmocka_unit_test(discounts_of_one_order),
        cmocka_unit_test(discounts_that_cannot_be_estimated),
        cmocka_unit_test(predecessors_count),
        cmocka_unit_test(lines_are_sentences),
        cmocka_unit_test(the_file),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(vocabularies),
        cmocka_unit_test(perplexities),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
