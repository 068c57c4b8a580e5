/* Corpora around alignments: a TextGrid that we wrote is a transcript of its sound, and the words of one sound can be given. */
#include "corpus_fixture.h"
#include "alignment_fixture.h"

static void make_sound_file(const char *name)
{
    int samples[8000] = {0};
    write_sound(temp_path(name), SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, samples, 8000);
}

static void write_alignment(const char *folder, const trl_alignment *a, int states)
{
    trl_alignment_writer *writer;
    trl_alignment_writer_options o = trl_alignment_writer_defaults();
    o.states = states;
    assert_int_equal(trl_alignment_writer_open(folder, "textgrid", &o, &writer, &err), 0);
    assert_int_equal(trl_alignment_writer_add(writer, a, &err), 0);
    assert_int_equal(trl_alignment_writer_commit(writer, &err), 0);
}

static void textgrids_are_transcripts(void **state)
{
    (void)state;
    static made_alignment made;
    const made_phone words[] = {{"", "SIL", 0.2, 1}, {"\"QUOTE\"", "K", 0.4, 1}, {"ÖL", "L", 0.6, 1},
                                {"", "SIL", 0.8, 1}, {"A", "AH", 1, 1},          {NULL, NULL, 0, 0}};
    make_alignment(&made, "talk", "talk.wav", words);
    make_sound_file("talk.wav");
    for (int states = 0; states < 2; states++) {
        write_alignment(temp_folder, &made.alignment, states);
        assert_int_equal(trl_corpus_read(temp_path("talk.wav"), NULL, findings, &corpus, &err), 0);
        assert_int_equal(trl_corpus_count(corpus), 1);
        const trl_utterance *u = trl_corpus_get(corpus, 0);
        assert_string_equal(u->text, "\"QUOTE\" ÖL A");
        assert_true(u->start == 0 && u->end < 0 && !u->bad);
        trl_corpus_destroy(corpus);
        corpus = NULL;
    }
}

/* The recording's end is the sound file's, not the last utterance's. */
static void the_grid_is_as_long_as_the_sound(void **state)
{
    (void)state;
    static made_alignment made;
    const made_phone words[] = {{"A", "AH", 0.24, 1}, {NULL, NULL, 0, 0}};
    make_sound_file("talk.wav");
    make_alignment(&made, "part", temp_path("talk.wav"), words);
    make_part(&made, "anna", 0.5);
    write_alignment(temp_folder, &made.alignment, 0);
    char text[2000] = "";
    FILE *file = fopen(temp_path("talk.TextGrid"), "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "xmin = 0 \nxmax = 1 \n"));
    assert_non_null(strstr(text, "xmin = 0.5 \n            xmax = 0.74 \n            text = \"A\""));
    assert_non_null(strstr(text, "xmin = 0.74 \n            xmax = 1 \n            text = \"\""));
}

static void words_can_be_given(void **state)
{
    (void)state;
    make_sound_file("my talk.wav");
    put("my talk.lab", "WRONG WORDS");
    put("words.txt", "\xEF\xBB\xBFright\nwords  here\n");
    trl_corpus_options o = trl_corpus_defaults();
    o.words = " right\twords ";
    assert_int_equal(trl_corpus_read(temp_path("my talk.wav"), &o, findings, &corpus, &err), 0);
    const trl_utterance *u = trl_corpus_get(corpus, 0);
    assert_string_equal(u->id, "my_talk");
    assert_string_equal(u->text, "right words");
    assert_int_equal(trl_corpus_count(corpus), 1);
    trl_corpus_destroy(corpus);
    o.words = NULL;
    o.words_file = temp_path("words.txt");
    assert_int_equal(trl_corpus_read(temp_path("my talk.wav"), &o, findings, &corpus, &err), 0);
    u = trl_corpus_get(corpus, 0);
    assert_string_equal(u->text, "right words here");
    assert_non_null(strstr(u->text_source, "words.txt"));
    assert_int_equal(u->text_line, 0); /* it spans lines */
    assert_int_equal(trl_findings_count(findings), 0);
}

static void given_words_have_their_faults(void **state)
{
    (void)state;
    make_sound_file("talk.wav");
    trl_corpus_options o = trl_corpus_defaults();
    o.words = "  ";
    assert_int_equal(trl_corpus_read(temp_path("talk.wav"), &o, findings, &corpus, &err), 0);
    assert_true(trl_corpus_get(corpus, 0)->bad);
    assert_int_equal(trl_findings_get(findings, 0)->kind, TRL_FINDING_EMPTY_TRANSCRIPT);
    trl_corpus_destroy(corpus);
    corpus = NULL;
    o.words = "words";
    assert_int_equal(trl_corpus_read(temp_folder, &o, findings, &corpus, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "single sound"));
    assert_int_equal(trl_corpus_read(temp_path("absent.wav"), &o, findings, &corpus, &err), TRL_ENOENT);
    o.words = NULL;
    o.words_file = temp_path("absent.txt");
    assert_int_equal(trl_corpus_read(temp_path("talk.wav"), &o, findings, &corpus, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "absent.txt"));
    corpus = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(textgrids_are_transcripts), TEST(the_grid_is_as_long_as_the_sound),
                                       TEST(words_can_be_given), TEST(given_words_have_their_faults)};
    return RUN(tests);
}
