/* HTK's master label files: lines, levels and patterns, as transcripts of a corpus, and what is written. */
#include "corpus_fixture.h"
#include "base/htk_string.h"
#include "corpus/htk_mlf.h"

static trl_label_file *labels;

static int parse(const char *content)
{
    trl__text text;
    labels = NULL;
    assert_int_equal(trl__text_from_memory("mlf", content, strlen(content), &text, &err), 0);
    int code = trl__label_file_parse("mlf", &text, &labels, &err);
    trl__text_free(&text);
    return code;
}

static void read_all(const char *content)
{
    if (parse(content) < 0)
        fail_msg("%s", err.text);
}

static void refuse(const char *content, int code, const char *message)
{
    assert_int_equal(parse(content), code);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
}

static int destroy(void **state)
{
    trl_label_file_destroy(labels);
    labels = NULL;
    return tear_down(state);
}

static void expect_label(const trl_label *label, const char *text, double start, double end, double score, int level)
{
    assert_string_equal(label->text, text);
    assert_true(fabs(label->start - start) < 1e-9 && fabs(label->end - end) < 1e-9 && label->score == score);
    assert_int_equal(label->level, level);
}

/* ---- Reading ---- */

static void words_and_times(void **state)
{
    (void)state;
    read_all(
        "#!MLF!#\n\"*/one.lab\"\nHELLO\n\n  WORLD  \n.\n"
        "'two.rec'\r\n0 10000000 a\\ b -1.5e2\r\n10000000 '12'\r\n\"\\303\\251t\\\"e\"\r\n.\r\n\"x/three.lab\"\n.\n");
    assert_int_equal(trl_label_file_count(labels), 3);
    trl_label_entry e = trl_label_file_entry(labels, 0);
    assert_string_equal(e.name, "*/one.lab");
    assert_int_equal(e.line, 2);
    assert_int_equal(e.count, 2);
    assert_int_equal(e.levels, 1);
    expect_label(&e.labels[0], "HELLO", -1, -1, 0, 0);
    expect_label(&e.labels[1], "WORLD", -1, -1, 0, 0);
    e = trl_label_file_entry(labels, 1);
    assert_int_equal(e.count, 3);
    expect_label(&e.labels[0], "a b", 0, 1, -150, 0);
    expect_label(&e.labels[1], "12", 1, -1, 0, 0);
    expect_label(&e.labels[2], "\303\251t\"e", -1, -1, 0, 0);
    assert_int_equal(trl_label_file_entry(labels, 2).count, 0);
}

/* What HVite writes of states: a phone and a word begin on some of the lines, and last until the next. */
static void levels(void **state)
{
    (void)state;
    read_all("#!MLF!#\n\"*/u.rec\"\n0 10 s2 -1 k -2 CAT -3\n10 20 s3\n20 30 s2 -1 t\n30 40 s2 -1 s 5 SAT\n///\n0 1 "
             "other\n.\n");
    trl_label_entry e = trl_label_file_entry(labels, 0);
    assert_int_equal(e.levels, 3);
    assert_int_equal(e.count, 9);
    expect_label(&e.labels[0], "s2", 0, 10e-7, -1, 0);
    expect_label(&e.labels[1], "k", 0, 20e-7, -2, 1);
    expect_label(&e.labels[2], "CAT", 0, 30e-7, -3, 2);
    expect_label(&e.labels[3], "s3", 10e-7, 20e-7, 0, 0);
    expect_label(&e.labels[5], "t", 20e-7, 30e-7, 0, 1);
    expect_label(&e.labels[7], "s", 30e-7, 40e-7, 5, 1);
    expect_label(&e.labels[8], "SAT", 30e-7, 40e-7, 0, 2);
}

static void patterns(void **state)
{
    (void)state;
    read_all("#!MLF!#\n\"*/anna/001.lab\"\nA\n.\n\"*/bert/001.lab\"\nB\n.\n\"*/c??l/*.lab\"\nC\n.\n\"*/carl/"
             "002.lab\"\nD\n.\n");
    assert_int_equal(trl_label_file_find(labels, "001", "data/bert/001.wav"), 1);
    assert_int_equal(trl_label_file_find(labels, "001", NULL), 0);
    assert_int_equal(trl_label_file_find(labels, "bert-001", "data/bert/001.wav"), 1);
    assert_int_equal(trl_label_file_find(labels, "x", "data/carl/002.wav"), 2);   /* the first in the file that fits */
    assert_int_equal(trl_label_file_find(labels, "002", "data/carl/002.wav"), 3); /* but the id counts more */
    assert_int_equal(trl_label_file_find(labels, "x", "data/cal/002.wav"), -1);
    assert_int_equal(trl_label_file_find(labels, "003", "data/anna/003.wav"), -1);
}

static void refused_with_line(void **state)
{
    (void)state;
    refuse("", TRL_EFORMAT, "#!MLF!#");
    refuse("hello\n", TRL_EFORMAT, "#!MLF!#");
    refuse("#!MLF!#\nHELLO\n", TRL_EFORMAT, "mlf:2: expected the name");
    refuse("#!MLF!#\n\"*\" -> \"folder\"\n", TRL_EUNSUPPORTED, "another folder");
    refuse("#!MLF!#\n\"a\" b\n", TRL_EFORMAT, "behind the name");
    refuse("#!MLF!#\n\"a\n", TRL_EFORMAT, "mlf:2:");
    refuse("#!MLF!#\n\"a.lab\"\nX\n", TRL_ECORRUPT, "a full stop is missing");
    refuse("#!MLF!#\n\"a.lab\"\n12\n.\n", TRL_EFORMAT, "mlf:3: expected a label");
    refuse("#!MLF!#\n\"a.lab\"\n20 10 x\n.\n", TRL_EFORMAT, "ends before it starts");
    refuse("#!MLF!#\n\"a.lab\"\n-5 10 x\n.\n", TRL_EFORMAT, "below 0");
    refuse("#!MLF!#\n\"a.lab\"\nx 1 2\n.\n", TRL_EFORMAT, "two scores");
    refuse("#!MLF!#\n\"a.lab\"\n\"x\n.\n", TRL_EFORMAT, "quote");
    refuse("#!MLF!#\n\"a.lab\"\nx\\9\\12\n.\n", TRL_EFORMAT, "escape");
}

/* ---- As transcripts ---- */

static void read_corpus(int need_text)
{
    trl_corpus_options o = trl_corpus_defaults();
    o.labels = temp_path("words.mlf");
    o.need_text = need_text;
    int code = trl_corpus_read(temp_path("wavs"), &o, findings, &corpus, &err);
    if (code < 0)
        fail_msg("%s", err.text);
}

static void make_corpus(void)
{
    assert_int_equal(mkdir(temp_path("wavs"), 0777), 0);
    put("wavs/a.wav", "");
    put("wavs/a.lab", "NOT THIS");
    put("wavs/b.wav", "");
    put("wavs/b.txt", "");
    put("wavs/c.wav", "");
}

/* The label file has the only say: its words, and a finding for what it lacks. */
static void corpus_takes_its_words(void **state)
{
    (void)state;
    make_corpus();
    put("words.mlf",
        "#!MLF!#\n\"*/a.lab\"\n0 1 h -2 THE\n1 2 i\n2 3 k -5 CAT\n.\n\"*/c.lab\"\n.\n\"*/a.lab\"\nTWICE\n.\n");
    read_corpus(1);
    assert_int_equal(trl_corpus_count(corpus), 3);
    const trl_utterance *a = trl_corpus_get(corpus, 0);
    assert_string_equal(a->text, "THE CAT");
    assert_string_equal(a->text_source, temp_path("words.mlf"));
    assert_int_equal(a->text_line, 2);
    assert_false(a->bad);
    assert_null(trl_corpus_get(corpus, 1)->text);
    static const trl_finding_kind kinds[] = {TRL_FINDING_DUPLICATE, TRL_FINDING_EMPTY_TRANSCRIPT,
                                             TRL_FINDING_NO_TRANSCRIPT};
    assert_int_equal(trl_findings_count(findings), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(trl_findings_get(findings, i)->kind, kinds[i]);
    assert_int_equal(trl_findings_get(findings, 0)->line, 9);
    assert_string_equal(trl_findings_get(findings, 1)->utterance, "c");
    assert_string_equal(trl_findings_get(findings, 2)->utterance, "b");
}

static void corpus_with_optional_words(void **state)
{
    (void)state;
    make_corpus();
    put("words.mlf", "#!MLF!#\n\"*/c.lab\"\nX\n.\n");
    read_corpus(0);
    assert_null(trl_corpus_get(corpus, 0)->text);
    assert_string_equal(trl_corpus_get(corpus, 2)->text, "X");
    assert_int_equal(trl_findings_count(findings), 0);
}

static void corpus_with_a_broken_file(void **state)
{
    (void)state;
    make_corpus();
    put("words.mlf", "#!MLF!#\n\"*/c.lab\"\nX\n");
    trl_corpus_options o = trl_corpus_defaults();
    o.labels = temp_path("words.mlf");
    assert_int_equal(trl_corpus_read(temp_path("wavs"), &o, findings, &corpus, &err), TRL_ECORRUPT);
    assert_null(corpus);
}

/* ---- Writing ---- */

/* Whatever a label is, it is read back; numbers are quoted, so that they stay labels. */
static void written_and_read_again(void **state)
{
    (void)state;
    static const char *const texts[] = {"HELLO", "12",  "-1.5e3",      "a b",      "\"quoted\"", "'",    "",
                                        ".",     "///", "back\\slash", "\303\251", "tab\there",  "x\"y", "1a"};
    size_t count = sizeof texts / sizeof *texts;
    trl_file *file;
    assert_int_equal(trl_file_create(temp_path("out.mlf"), &file, &err), 0);
    assert_int_equal(trl__mlf_begin(file, &err), 0);
    assert_int_equal(trl__mlf_begin_entry(file, "id\"1", "rec", &err), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(trl__mlf_label(file, 0.01 * (double)i, 0.01 * (double)(i + 1), texts[i], &err), 0);
        assert_int_equal(trl_file_write(file, "\n", 1, &err), 0);
    }
    assert_int_equal(trl__mlf_end_entry(file, &err), 0);
    assert_int_equal(trl_file_commit(file, &err), 0);
    assert_int_equal(trl_label_file_read(temp_path("out.mlf"), &labels, &err), 0);
    trl_label_entry e = trl_label_file_entry(labels, 0);
    assert_string_equal(e.name, "*/id\"1.rec");
    assert_int_equal(e.count, count);
    for (size_t i = 0; i < count; i++)
        expect_label(&e.labels[i], texts[i], 0.01 * (double)i, 0.01 * (double)(i + 1), 0, 0);
    assert_int_equal(trl_label_file_find(labels, "id\"1", NULL), 0);
}

static void written_bytes(void **state)
{
    (void)state;
    trl_file *file;
    assert_int_equal(trl_file_create(temp_path("out.mlf"), &file, &err), 0);
    assert_int_equal(trl__mlf_begin(file, &err), 0);
    assert_int_equal(trl__mlf_begin_entry(file, "u1", "lab", &err), 0);
    assert_int_equal(trl__mlf_label(file, 0, 0.31, "HELLO", &err), 0);
    assert_int_equal(trl_file_print(file, &err, " %g\n", -1.5), 0);
    assert_int_equal(trl__mlf_end_entry(file, &err), 0);
    assert_int_equal(trl_file_commit(file, &err), 0);
    const char *expected = "#!MLF!#\n\"*/u1.lab\"\n0 3100000 HELLO -1.5\n.\n";
    temp_expect("out.mlf", expected, strlen(expected));
}

static void allocation_failures(void **state)
{
    (void)state;
    make_corpus();
    put("words.mlf", "#!MLF!#\n\"*/a.lab\"\n0 1 h -2 THE\n.\n\"*/?.lab\"\nX\n.\n");
    trl_corpus_options o = trl_corpus_defaults();
    char path[640]; /* temp_path has few places */
    snprintf(path, sizeof path, "%s", temp_path("words.mlf"));
    o.labels = path;
    int code = -1;
    for (long n = 1; code < 0 && n < 2000; n++) {
        trl_corpus *read = NULL;
        trl_findings *list = NULL;
        assert_int_equal(trl_findings_create(&list, &err), 0);
        trl__memory_fail_after(n);
        code = trl_corpus_read(temp_path("wavs"), &o, list, &read, &err);
        trl__memory_fail_after(0);
        if (code < 0 && code != TRL_ENOMEM)
            fail_msg("%ld: %s", n, err.text);
        trl_corpus_destroy(read);
        trl_findings_destroy(list);
    }
    assert_int_equal(code, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, destroy)
    const struct CMUnitTest tests[] = {
        TEST(words_and_times),
        TEST(levels),
        TEST(patterns),
        TEST(refused_with_line),
        TEST(corpus_takes_its_words),
        TEST(corpus_with_optional_words),
        TEST(corpus_with_a_broken_file),
        TEST(written_and_read_again),
        TEST(written_bytes),
        TEST(allocation_failures),
    };
    return RUN(tests);
}
