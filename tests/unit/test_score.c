/* Transcripts of all formats, what is wrong with them, and the counts of a few utterances that can be done by hand. */
#include "base/memory.h"
#include "decode/transcripts.h"
#include "temp_folder.h"

#include <math.h>

static trl_transcripts *parsed(const char *text, trl_transcripts_format format)
{
    trl__text bytes;
    trl_transcripts *t = NULL;
    trl_error err;
    assert_int_equal(trl__text_from_memory("test", text, strlen(text), &bytes, &err), 0);
    if (trl__transcripts_parse("test", &bytes, format, &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

static void refused(const char *text, trl_transcripts_format format, int code, const char *part)
{
    trl__text bytes;
    trl_transcripts *t = NULL;
    trl_error err;
    assert_int_equal(trl__text_from_memory("test", text, strlen(text), &bytes, &err), 0);
    assert_int_equal(trl__transcripts_parse("test", &bytes, format, &t, &err), code);
    if (!strstr(err.text, part))
        fail_msg("no '%s' in: %s", part, err.text);
}

/* Words with a '|' after each, utterances with their ids in front. */
static void expect_words(const trl_transcripts *t, const char *wanted)
{
    char text[500] = "";
    for (size_t i = 0; i < trl_transcripts_count(t); i++) {
        trl_transcript u = trl_transcripts_get(t, i);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s:", u.id ? u.id : "-");
        for (size_t k = 0; k < u.count; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s|", u.words[k]);
    }
    assert_string_equal(text, wanted);
}

static void expect_transcripts(const char *text, trl_transcripts_format format, const char *wanted)
{
    trl_transcripts *t = parsed(text, TRL_TRANSCRIPTS_ANY);
    assert_string_equal(trl_transcripts_format_name(trl_transcripts_kind(t)), trl_transcripts_format_name(format));
    expect_words(t, wanted);
    trl_transcripts_destroy(t);
}

static void test_formats(void **state)
{
    (void)state;
    expect_transcripts(";; comment\na b (s-1)\n\n(s-2)\n", TRL_TRANSCRIPTS_TRN, "s-1:a|b|s-2:");
    expect_transcripts("a {b/c d / @} and/or x* y;noun z\\;z (s-1)\n", TRL_TRANSCRIPTS_TRN,
                       "s-1:a|{|b|/|c|d|/|@|}|and/or|x|y|z;z|");
    expect_transcripts("s-1 a { b (c)\ns-2\n", TRL_TRANSCRIPTS_TEXT, "s-1:a|{|b|(c)|s-2:");
    expect_transcripts("s-1 a (b)\ns-2 c\n", TRL_TRANSCRIPTS_TEXT, "s-1:a|(b)|s-2:c|");
    expect_transcripts("f A 0.5 0.1 b 0.9\nf B 0 1 c\nf A 0.1 0.2 a*\n", TRL_TRANSCRIPTS_CTM, "f:a|b|f:c|");
    expect_transcripts("f A s1 0 1 <o> a {b/c}\nf A s2 1 2 x\nf A s1 2 3 ignore_time_segment_in_scoring\nf A s1 3 4\n",
                       TRL_TRANSCRIPTS_STM, "s1-000:a|{|b|/|c|}|s2-000:x|-:s1-001:");
    expect_transcripts(
        "{\"id\":\"u\",\"text\":\"a  b\"}\n\n{\"id\":\"v\",\"text\":\"no\",\"words\":[{\"word\":\"x\"},\"y\"]}\n",
        TRL_TRANSCRIPTS_JSON, "u:a|b|v:x|y|");
    expect_transcripts("{ \"id\":\"u\",\"nbest\":[\"a b\",{\"text\":\"c\"},{\"words\":[\"d\"]}]}", TRL_TRANSCRIPTS_JSON,
                       "u:a|b|u:c|u:d|");
    expect_transcripts("", TRL_TRANSCRIPTS_TEXT, "");
}

static void test_broken(void **state)
{
    (void)state;
    refused("a (s-1)\na b\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "test:2: ");
    refused("a ()\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "id is empty");
    refused("a (s-1) b\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "in parentheses");
    refused("a { b (s-1)\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "'{' without '}'");
    refused("a } b (s-1)\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "'}' without '{'");
    refused("a { b / } (s-1)\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "write @");
    refused("a { } (s-1)\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "write @");
    refused("a{ b } (s-1)\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "within a word");
    refused("{{{{{{{{{{{{{{{{{ a (s-1)\n", TRL_TRANSCRIPTS_TRN, TRL_EFORMAT, "too deeply");
    refused("f A s 0\n", TRL_TRANSCRIPTS_STM, TRL_EFORMAT, "test:1: expected file");
    refused("f A s 2 1 a\n", TRL_TRANSCRIPTS_STM, TRL_EFORMAT, "expected file");
    refused("f A 0 1 a\nf A 0 x a\n", TRL_TRANSCRIPTS_CTM, TRL_EFORMAT, "test:2: expected file");
    refused("f A 0 0 <ALT_BEGIN>\n", TRL_TRANSCRIPTS_CTM, TRL_EUNSUPPORTED, "keep one");
    refused("{\"id\":\"u\"}", TRL_TRANSCRIPTS_JSON, TRL_EFORMAT, "neither");
    refused("{\"text\":\"u\"}", TRL_TRANSCRIPTS_JSON, TRL_EFORMAT, "\"id\"");
    refused("{\"id\":\"u\",\"words\":[1]}", TRL_TRANSCRIPTS_JSON, TRL_EFORMAT, "strings");
    refused("{\"id\":\"u\"", TRL_TRANSCRIPTS_JSON, TRL_EFORMAT, "test:1: not JSON");
    trl_transcripts *t;
    assert_int_equal(trl_transcripts_read("/nowhere/x.trn", TRL_TRANSCRIPTS_ANY, &t, NULL), TRL_ENOENT);
    assert_int_equal(trl_transcripts_read("/nowhere/x.trn", (trl_transcripts_format)9, &t, NULL), TRL_EINVAL);
}

/* ---- Scores ---- */

typedef struct scored {
    trl_transcripts *said, *heard;
    trl_score *score;
} scored;

static scored score_of(const char *said, const char *heard, const trl_score_options *options)
{
    trl_score_options usual = trl_score_defaults();
    trl_error err;
    scored s = {parsed(said, TRL_TRANSCRIPTS_ANY), parsed(heard, TRL_TRANSCRIPTS_ANY), NULL};
    if (trl_score_create(s.said, s.heard, options ? options : &usual, NULL, &s.score, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void done(scored *s)
{
    trl_score_destroy(s->score);
    trl_transcripts_destroy(s->said);
    trl_transcripts_destroy(s->heard);
}

static void expect_counts(trl_counts c, unsigned correct, unsigned substitutions, unsigned deletions,
                          unsigned insertions)
{
    assert_int_equal(c.correct, correct);
    assert_int_equal(c.substitutions, substitutions);
    assert_int_equal(c.deletions, deletions);
    assert_int_equal(c.insertions, insertions);
    assert_int_equal(c.words, correct + substitutions + deletions);
}

static void expect_score(const char *said, const char *heard, const trl_score_options *options, const char *kinds)
{
    scored s = score_of(said, heard, options);
    const trl_scored_utterance *u = trl_score_utterance(s.score, 0);
    char text[50] = "";
    for (size_t i = 0; i < u->pair_count; i++)
        text[i] = u->pairs[i].kind;
    assert_string_equal(text, kinds);
    done(&s);
}

static void test_scorers(void **state)
{
    (void)state;
    trl_score_options edit = {.scorer = TRL_SCORER_EDIT},
                      folded = {.scorer = TRL_SCORER_EDIT, .letters = TRL_LETTERS_ALL};
    trl_score_options optional = {.optional_words = 1}, strict = {.letters = TRL_LETTERS_KEEP};
    /* Two substitutions cost 8, a deletion and an insertion 6; plain edit distance sees a tie. */
    expect_score("s-1 a b", "s-1 b c", NULL, "DCI");
    expect_score("s-1 a b", "s-1 c d", NULL, "SS");
    expect_score("s-1 a b", "s-1 b a", &edit, "DCI");
    expect_score("s-1 a", "s-1 b c", &edit, "SI");
    expect_score("s-1 A É", "s-1 a é", NULL, "CS");
    expect_score("s-1 A É", "s-1 a é", &folded, "CC");
    expect_score("s-1 A", "s-1 a", &strict, "S");
    expect_score("s-1 A", "s-1 a", &edit, "S");
    expect_score("a { b / c d / @ } e (s-1)", "a c d e (s-1)", NULL, "CCCC");
    expect_score("a { b / c d / @ } e (s-1)", "a e (s-1)", NULL, "CC");
    expect_score("a (uh) b (s-1)", "a b (s-1)", NULL, "CDC");
    expect_score("a (uh) b (s-1)", "a b (s-1)", &optional, "CCC");
    expect_score("a (uh) b (s-1)", "a uh b (s-1)", &optional, "CCC");
    expect_score("s-1 a", "s-1", NULL, "D");
    expect_score("s-1", "s-1 a", NULL, "I");
}

static void test_speakers_and_missing(void **state)
{
    (void)state;
    scored s = score_of("s1-1 a b\ns2-1 c\ns1-2 d e\nx_y-1 f\nz_1 g\nw h\n",
                        "s1-2 d x\ns2-1 c c\nother-1 a\ns1-1 a b\nother-1 b\nw h\n", NULL);
    trl_counts all = trl_score_total(s.score);
    expect_counts(all, 5, 1, 2, 1);
    assert_int_equal(all.utterances, 6);
    assert_int_equal(all.wrong, 4);
    assert_float_equal(trl_word_error_rate(all), 4.0 / 8, 1e-12);
    assert_float_equal(trl_sentence_error_rate(all), 4.0 / 6, 1e-12);
    const char *names[] = {"s1", "s2", "x_y", "z", "w"};
    assert_int_equal(trl_score_speakers(s.score), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(trl_score_speaker(s.score, i)->name, names[i]);
    expect_counts(trl_score_speaker(s.score, 0)->counts, 3, 1, 0, 0);
    expect_counts(trl_score_speaker(s.score, 1)->counts, 1, 0, 0, 1);
    assert_int_equal(trl_score_utterance(s.score, 3)->missing, 1);
    assert_int_equal(trl_score_utterance(s.score, 5)->missing, 0);
    assert_int_equal(trl_score_extras(s.score), 1);
    assert_string_equal(trl_score_extra(s.score, 0), "other-1");
    done(&s);
    trl_counts none = {0}, only = {.insertions = 1};
    assert_float_equal(trl_word_error_rate(none), 0, 0);
    assert_true(isinf(trl_word_error_rate(only)));
}

static void test_times(void **state)
{
    (void)state;
    /* Middles 0.5, 1.0 (the end is not inside), 9; the segment of s3 has no words in the hypothesis. */
    scored s = score_of("f A s1 0 1 a\nf A s2 1 2 b c\ng A s3 0 1 d\n",
                        "f A 0.0 1.0 a\nf A 0.9 0.2 b\nf A 8.5 1 c\nh B 0 1 x\n", NULL);
    expect_counts(trl_score_utterance(s.score, 0)->counts, 1, 0, 0, 0);
    expect_counts(trl_score_utterance(s.score, 1)->counts, 2, 0, 0, 0);
    expect_counts(trl_score_utterance(s.score, 2)->counts, 0, 0, 1, 0);
    assert_int_equal(trl_score_utterance(s.score, 2)->missing, 1);
    assert_string_equal(trl_score_extra(s.score, 0), "h B");
    done(&s);
    s = score_of("f A s1 0 1 a\nf A s1 1 2 IGNORE_TIME_SEGMENT_IN_SCORING\n",
                 "f A 0.1 0.1 a\nf A 1.5 0.1 b\nf A 5 1 c\n", NULL);
    assert_int_equal(trl_score_utterances(s.score), 1);
    expect_counts(trl_score_total(s.score), 1, 0, 0, 0);
    done(&s);
}

static void test_lists(void **state)
{
    (void)state;
    trl_score_options oracle = {.oracle = 1};
    scored s = score_of("s-1 a b c\ns-2 d", "s-1-1 a x y\ns-2-1 e\ns-1-2 a b z\ns-2-2 f\ns-1-3 a b y\n", &oracle);
    expect_counts(trl_score_total(s.score), 2, 2, 0, 0);
    assert_int_equal(trl_score_utterance(s.score, 0)->chosen, 1);
    assert_int_equal(trl_score_utterance(s.score, 1)->chosen, 0);
    done(&s);
    const char *list = "{\"id\":\"s-1\",\"nbest\":[\"a x\",\"a b\"]}";
    s = score_of("s-1 a b", list, &oracle);
    expect_counts(trl_score_total(s.score), 2, 0, 0, 0);
    done(&s);
    s = score_of("s-1 a b", list, NULL);
    expect_counts(trl_score_total(s.score), 1, 1, 0, 0);
    done(&s);
}

static void not_scored(const char *said, const char *heard, trl_score_options options, int code, const char *part)
{
    trl_transcripts *a = parsed(said, TRL_TRANSCRIPTS_ANY), *b = parsed(heard, TRL_TRANSCRIPTS_ANY);
    trl_score *score;
    trl_error err;
    assert_int_equal(trl_score_create(a, b, &options, NULL, &score, &err), code);
    if (!strstr(err.text, part))
        fail_msg("no '%s' in: %s", part, err.text);
    trl_transcripts_destroy(a);
    trl_transcripts_destroy(b);
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    trl_score_options usual = {0};
    not_scored("s-1 a\ns-1 b", "s-1 a", usual, TRL_EFORMAT, "test:2: utterance 's-1' is in the reference twice");
    not_scored("s-1 a", "s-1 a\ns-1 b", usual, TRL_EFORMAT, "several hypotheses");
    not_scored("s-1 a", "s a", (trl_score_options){.oracle = 1}, TRL_EFORMAT, "N-best");
    not_scored("f A s 0 1 a", "s-1 a", usual, TRL_EINVAL, "ctm");
    not_scored("s-1 a", "f A s 0 1 a", usual, TRL_EINVAL, "stm");
    not_scored("s-1 a", "s-1 a", (trl_score_options){.scorer = 7}, TRL_EINVAL, "scorer 7");
    not_scored("s-1 a", "s-1 a", (trl_score_options){.letters = 7}, TRL_EINVAL, "letters");
}

static void test_utt2spk(void **state)
{
    (void)state;
    trl_error err;
    scored s = {parsed("u1 a\nu2 b\n", TRL_TRANSCRIPTS_TEXT), parsed("u1 a\nu2 c\n", TRL_TRANSCRIPTS_TEXT), NULL};
    trl_score_options usual = trl_score_defaults();
    temp_write("utt2spk", "u2 anna\nu1 anna\n", 16);
    temp_write("lacking", "u2 anna\n", 8);
    temp_write("broken", "u2 anna x\n", 10);
    assert_int_equal(trl_transcripts_speakers(s.said, temp_path("lacking"), &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "'u1'"));
    assert_int_equal(trl_transcripts_speakers(s.said, temp_path("broken"), &err), TRL_EFORMAT);
    assert_int_equal(trl_transcripts_speakers(s.said, temp_path("utt2spk"), &err), 0);
    assert_int_equal(trl_score_create(s.said, s.heard, &usual, NULL, &s.score, &err), 0);
    assert_int_equal(trl_score_speakers(s.score), 1);
    assert_string_equal(trl_score_speaker(s.score, 0)->name, "anna");
    done(&s);
}

static void test_confusions(void **state)
{
    (void)state;
    scored s = score_of("s-1 a b a\ns-2 a q", "s-1 x b x\ns-2 x q r", NULL);
    trl_confusion *list;
    size_t count;
    assert_int_equal(trl_score_confusions(s.score, &list, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].count, 3);
    assert_string_equal(list[0].said, "a");
    assert_string_equal(list[0].heard, "x");
    assert_null(list[1].said);
    assert_string_equal(list[1].heard, "r");
    free(list);
    done(&s);
}

/* Whichever allocation fails, it is said and nothing leaks. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"a { b / c } (s-1)\nd (s-2)\n", "a c (s-1)\nx (t-2)\n"},
                                           {"f A s1 0 1 a\nf B s2 0 1 b\n", "f A 0 1 a\nf C 0 1 b\n"},
                                           {"{\"id\":\"u\",\"text\":\"a b\",\"speaker\":\"s\"}", "u a c\n"}};
    trl_score_options usual = trl_score_defaults();
    for (size_t p = 0; p < 3; p++) {
        int code = TRL_ENOMEM;
        for (long n = 1; code == TRL_ENOMEM; n++) {
            trl__text said, heard;
            scored s = {NULL, NULL, NULL};
            assert_int_equal(trl__text_from_memory("said", pairs[p][0], strlen(pairs[p][0]), &said, NULL), 0);
            assert_int_equal(trl__text_from_memory("heard", pairs[p][1], strlen(pairs[p][1]), &heard, NULL), 0);
            trl__memory_fail_after(n);
            code = trl__transcripts_parse("said", &said, TRL_TRANSCRIPTS_ANY, &s.said, NULL);
            if (code == 0)
                code = trl__transcripts_parse("heard", &heard, TRL_TRANSCRIPTS_ANY, &s.heard, NULL);
            else
                trl__text_free(&heard);
            if (code == 0)
                code = trl_score_create(s.said, s.heard, &usual, NULL, &s.score, NULL);
            trl__memory_fail_after(0);
            done(&s);
        }
        assert_int_equal(code, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_scorers),
        cmocka_unit_test(test_speakers_and_missing),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test_setup_teardown(test_utt2spk, temp_folder_make, temp_folder_remove),
        cmocka_unit_test(test_confusions),
        cmocka_unit_test(test_memory),
    };
    return RUN(tests);
}
