/* Transcripts of a corpus as words of a lexicon. What becomes of each word is the matter of test_written_words; here:
 * what the corpus has then. */
#include "base/memory.h"
#include "corpus_fixture.h"

#include <string.h>

static trl_lexicon *lexicon;

static void make_corpus(void)
{
    put("wav.scp", "a a.wav\nb b.wav\nc c.wav\nd d.wav\ne e.wav\n");
    put("text", "a it year\nb \u201cIt\u2019s,\u201d year. Year.\nc \u2013 ...\ne \u00a0\u200b\nd "
                "Year.\u00a01990\u2009\u202fx\u3000\n");
    put("lexicon.txt", "it A\nyear A\n's A\nnineteen A\nninety A\n");
    put("replace.tsv", "1990\tnineteen ninety\n");
    for (const char *name = "abcde"; *name; name++) {
        char file[] = {*name, '.', 'w', 'a', 'v', '\0'};
        put(file, "");
    }
    assert_int_equal(trl_lexicon_read(temp_path("lexicon.txt"), NULL, &lexicon, &err), 0);
    assert_int_equal(trl_corpus_read(temp_folder, NULL, findings, &corpus, &err), 0);
}

static const trl_utterance *utterance(const char *id)
{
    return trl_corpus_get(corpus, (size_t)trl_corpus_find(corpus, id));
}

static void words_are_found(void **state)
{
    (void)state;
    trl_text_summary s;
    make_corpus();
    assert_int_equal(trl_corpus_find_words(corpus, lexicon, temp_path("replace.tsv"), &s, findings, &err), 0);
    assert_string_equal(utterance("a")->text, "it year");
    assert_null(utterance("a")->written);
    assert_null(utterance("a")->spoken);
    const uint32_t two[] = {2, 1, 1}, numbers[] = {1, 2, 1};
    assert_string_equal(utterance("b")->text, "it 's year year");
    assert_string_equal(utterance("b")->written, "\u201cIt\u2019s,\u201d year. Year.");
    assert_memory_equal(utterance("b")->spoken, two, sizeof two);
    assert_string_equal(utterance("d")->text, "year nineteen ninety x"); /* between blanks of typesetting */
    assert_string_equal(utterance("d")->written, "Year. 1990 x");
    assert_memory_equal(utterance("d")->spoken, numbers, sizeof numbers);
    assert_null(utterance("c")->text);
    assert_true(utterance("c")->bad);
    assert_null(utterance("e")->text);
    assert_true(utterance("e")->bad);
    assert_int_equal(trl_findings_count(findings), 2);
    assert_int_equal(trl_findings_get(findings, 0)->kind, TRL_FINDING_EMPTY_TRANSCRIPT);
    assert_int_equal(trl_findings_get(findings, 0)->line, 3);

    const size_t tokens[TRL_TEXT_CHANGES] = {3, 0, 3, 1, 1, 2}, distinct[TRL_TEXT_CHANGES] = {3, 0, 2, 1, 1, 2};
    assert_memory_equal(s.tokens, tokens, sizeof tokens);
    assert_memory_equal(s.distinct, distinct, sizeof distinct);
    assert_string_equal(s.examples[TRL_TEXT_MARKS][0].written, "Year.");
    assert_string_equal(s.examples[TRL_TEXT_MARKS][0].words, "year");
    assert_int_equal(s.examples[TRL_TEXT_MARKS][0].times, 2);
    assert_string_equal(s.examples[TRL_TEXT_MARKS][1].written, "year.");
    assert_null(s.examples[TRL_TEXT_MARKS][2].written);
    assert_string_equal(s.examples[TRL_TEXT_LEFT_OUT][0].written, "..."); /* as often: in the order of their bytes */
    assert_string_equal(s.examples[TRL_TEXT_LEFT_OUT][0].words, "");
    trl_lexicon_destroy(lexicon);
}

/* What is written elsewhere is what was written. */
static void texts_are_kept(void **state)
{
    (void)state;
    trl_corpus *other;
    char name[700];
    make_corpus();
    assert_int_equal(trl_corpus_find_words(corpus, lexicon, NULL, NULL, findings, &err), 0);
    assert_int_equal(trl_corpus_write(corpus, NULL, 0, strcpy(name, temp_path("copy")), &err), 0);
    assert_int_equal(trl_corpus_read(name, NULL, findings, &other, &err), 0);
    assert_string_equal(trl_corpus_get(other, 1)->text, "\u201cIt\u2019s,\u201d year. Year.");
    trl_corpus_destroy(other);
    put("empty.tsv", "path\tid\ttext\na.wav\tz\tit\n");
    assert_int_equal(trl_corpus_read(temp_path("empty.tsv"), NULL, findings, &other, &err), 0);
    assert_int_equal(trl_corpus_append(other, corpus, &err), 1);
    const trl_utterance *b = trl_corpus_get(other, (size_t)trl_corpus_find(other, "b"));
    assert_string_equal(b->text, "\u201cIt\u2019s,\u201d year. Year.");
    assert_null(b->written);
    trl_corpus_destroy(other);
    trl_lexicon_destroy(lexicon);
}

static void memory_runs_out(void **state)
{
    (void)state;
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl_text_summary s;
        make_corpus();
        trl__memory_fail_after(n);
        code = trl_corpus_find_words(corpus, lexicon, temp_path("replace.tsv"), &s, findings, &err);
        trl__memory_fail_after(0);
        trl_corpus_destroy(corpus);
        corpus = NULL;
        trl_lexicon_destroy(lexicon);
        assert_true(n < 200);
    }
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_runs_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
