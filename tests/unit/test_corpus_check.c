/* The check of a corpus: each thing that can be wrong with sound, its place, the order, the sums. */
#include "corpus_fixture.h"

#include "corpus/corpus_builder.h"
#include "corpus/near_word.h"

#include <sys/stat.h>

#define RATE 16000

static trl_check_summary summary;

/* A square wave of this height; `full` of its samples are at full scale instead. */
static void sound(const char *name, int rate, int channels, size_t frames, float height, size_t full)
{
    float *samples = malloc((frames * (size_t)channels + 1) * sizeof *samples);
    for (size_t i = 0; i < frames * (size_t)channels; i++)
        samples[i] = i / 50 % 2 ? height : -height;
    for (size_t i = 0; i < full; i++)
        samples[i] = i % 2 ? 1.0f : -1.0f;
    write_floats(temp_path(name), SF_FORMAT_WAV | SF_FORMAT_PCM_16, rate, channels, samples, frames);
    free(samples);
}

static void check(const char *name, const trl_lexicon *lexicon, const trl_check_options *options, int threads)
{
    trl_pool *pool;
    assert_int_equal(trl_pool_create(threads, &pool, &err), 0);
    if (trl_corpus_read(temp_path(name), NULL, findings, &corpus, &err) < 0 ||
        trl_corpus_check(corpus, lexicon, options, pool, &summary, findings, &err) < 0)
        fail_msg("%s", err.text);
    trl_pool_destroy(pool);
}

static void assert_finding(size_t index, trl_finding_kind kind, const char *file, int64_t line, const char *utterance,
                           const char *saying)
{
    const trl_finding *f = trl_findings_get(findings, index);
    assert_non_null(f);
    if (!f)
        return;
    size_t length = strlen(f->file), tail = strlen(file);
    if (f->kind != kind || length < tail || strcmp(f->file + length - tail, file) != 0 || f->line != line ||
        (utterance ? !f->utterance || strcmp(f->utterance, utterance) != 0 : f->utterance != NULL) ||
        !strstr(f->message, saying))
        fail_msg("finding %zu is %s %s:%lld: %s: %s", index, trl_finding_name(f->kind), f->file, (long long)f->line,
                 f->utterance ? f->utterance : "-", f->message);
}

static void make_bad_sounds(void)
{
    sound("a.wav", RATE, 1, RATE, 0.1f, 0);
    sound("b.wav", 8000, 1, 8000, 0.1f, 0);
    sound("c.wav", RATE, 2, RATE, 0.1f, 0);
    sound("d.wav", RATE, 1, RATE, 0.1f, 16); /* one in a thousand */
    sound("e.wav", RATE, 1, RATE, 0.1f, 15);
    sound("f.wav", RATE, 1, RATE, 0.0003f, 0);
    sound("g.wav", RATE, 1, 0, 0, 0);
    put("h.wav", "");
    put("i.wav", "this is no sound at all");
    sound("k.wav", RATE, 1, RATE, 0.1f, 0);
    assert_int_equal(truncate(temp_path("k.wav"), 20000), 0);
    assert_int_equal(mkfifo(temp_path("l.wav"), 0666), 0);
    put("m.tsv", "id\tpath\ttext\n"
                 "a\ta.wav\tone\nb\tb.wav\tone\nc\tc.wav\tone\nd\td.wav\tone\ne\te.wav\tone\nf\tf.wav\tone\n"
                 "g\tg.wav\tone\nh\th.wav\tone\ni\ti.wav\tone\nk\tk.wav\tone\nl\tl.wav\tone\n");
}

static void test_bad_sounds(void **state)
{
    (void)state;
    make_bad_sounds();
    check("m.tsv", NULL, NULL, 2);
    assert_finding(0, TRL_FINDING_RATE, "b.wav", 0, "b", "8000 Hz instead of 16000 Hz");
    assert_finding(1, TRL_FINDING_STEREO, "c.wav", 0, "c", "2 channels");
    assert_finding(2, TRL_FINDING_CLIPPING, "d.wav", 0, "d", "0.1 %");
    assert_finding(3, TRL_FINDING_SILENT, "f.wav", 0, "f", "1.00 s");
    assert_finding(4, TRL_FINDING_EMPTY_SOUND, "g.wav", 0, "g", "no samples");
    assert_finding(5, TRL_FINDING_EMPTY_SOUND, "h.wav", 0, "h", "no samples");
    assert_finding(6, TRL_FINDING_UNREADABLE, "i.wav", 0, "i", "");
    assert_finding(7, TRL_FINDING_UNREADABLE, "k.wav", 0, "k", "");
    assert_finding(8, TRL_FINDING_UNREADABLE, "l.wav", 0, "l", "not a regular file");
    assert_int_equal(trl_findings_count(findings), 9);
    assert_int_equal(summary.utterances, 11);
    assert_int_equal(summary.bad_utterances, 5);
    assert_int_equal(summary.recordings, 11);
    assert_int_equal(summary.words, 11);
    assert_int_equal(summary.distinct_words, 1);
    assert_true(summary.rate == 16000);
    assert_true(fabs(summary.seconds - 6) < 1e-9);
}

static void test_options(void **state)
{
    (void)state;
    make_bad_sounds();
    put("m.tsv", "id\tpath\ttext\tchannel\nb\tb.wav\tone\t\nc\tc.wav\tone\t1\nd\td.wav\tone\t\n");
    trl_check_options o = trl_check_defaults();
    o.rate = 8000;
    o.clipped_share = 0.0011;
    check("m.tsv", NULL, &o, 1);
    assert_finding(0, TRL_FINDING_RATE, "c.wav", 0, "c", "16000 Hz instead of 8000 Hz");
    assert_finding(1, TRL_FINDING_RATE, "d.wav", 0, "d", "");
    assert_int_equal(trl_findings_count(findings), 2);
}

/* Parts of one recording: its own troubles are said once, and make all of them bad. */
static void test_parts(void **state)
{
    (void)state;
    sound("r1.wav", RATE, 1, 2 * RATE, 0.1f, 0);
    sound("r2.wav", RATE, 2, RATE, 0.1f, 0);
    put("r3.wav", "nothing");
    put("wav.scp", "r1 r1.wav\nr2 r2.wav\nr3 r3.wav\n");
    put("segments",
        "u1 r1 0 0.5\nu2 r1 1.5 2.25\nu3 r1 1 3\nu4 r1 2.5 2.6\nu5 r2 0 0.5\nu6 r2 0.5 1\nu7 r3 0 1\nu8 r3 1 2\n"
        "u9 r1 0.5 0.500001\n");
    put("text", "u1 a\nu2 a\nu3 a\nu4 a\nu5 a\nu6 a\nu7 a\nu8 a\nu9 a\n");
    check("", NULL, NULL, 2);
    assert_finding(0, TRL_FINDING_SEGMENT, "segments", 3, "u3", "3 s");
    assert_finding(1, TRL_FINDING_SEGMENT, "segments", 4, "u4", "starts at 2.5 s");
    assert_finding(2, TRL_FINDING_STEREO, "r2.wav", 0, NULL, "2 channels");
    assert_finding(3, TRL_FINDING_UNREADABLE, "r3.wav", 0, NULL, "");
    assert_finding(4, TRL_FINDING_EMPTY_SOUND, "segments", 9, "u9", "one sample");
    assert_int_equal(trl_findings_count(findings), 5);
    assert_int_equal(summary.recordings, 3);
    assert_int_equal(summary.bad_utterances, 5);
    assert_true(fabs(summary.seconds - (0.5 + 0.5 + 0.5 + 0.5)) < 1e-9); /* u2 ends with its sound */
    assert_true(trl_corpus_get(corpus, 6)->bad && trl_corpus_get(corpus, 7)->bad);
}

static trl_lexicon *make_lexicon(void)
{
    trl_lexicon *lexicon;
    put("lexicon.txt", "long a b c d e f g h i j\nlong(2) a b c d e\nhi a\n");
    if (trl_lexicon_read(temp_path("lexicon.txt"), NULL, &lexicon, &err) < 0)
        fail_msg("%s", err.text);
    return lexicon;
}

/* Five phones of 0.03 s fit into 0.15 s; without a lexicon, 40 characters into a second. */
static void test_too_long(void **state)
{
    (void)state;
    sound("150.wav", RATE, 1, 2400, 0.1f, 0);
    sound("149.wav", RATE, 1, 2384, 0.1f, 0);
    put("m.tsv", "id\tpath\ttext\nu1\t150.wav\tlong\nu2\t149.wav\tlong\nu3\t149.wav\thi hi hi hi\n"
                 "u4\t150.wav\t\xC3\xA4\xC3\xB6 \xC3\xBC\xC3\x9F\xC3\xA9\xC3\xA8\nu5\t150.wav\taaa bbbb\n");
    trl_lexicon *lexicon = make_lexicon();
    check("m.tsv", lexicon, NULL, 1);
    assert_finding(0, TRL_FINDING_TOO_LONG, "m.tsv", 3, "u2", "5 phones in 0.1490 s of sound: they take 0.1500 s");
    assert_true(trl_corpus_get(corpus, 1)->bad);
    trl_lexicon_destroy(lexicon);
    trl_corpus_destroy(corpus);
    size_t before = trl_findings_count(findings);
    check("m.tsv", NULL, NULL, 1);
    assert_finding(before, TRL_FINDING_TOO_LONG, "m.tsv", 4, "u3",
                   "8 characters in 0.1490 s of sound: they take 0.2000 s");
    assert_finding(before + 1, TRL_FINDING_TOO_LONG, "m.tsv", 6, "u5", "7 characters");
    assert_int_equal(trl_findings_count(findings), before + 2);
}

static void test_unknown_words(void **state)
{
    (void)state;
    sound("a.wav", RATE, 1, RATE, 0.1f, 0);
    put("m.tsv", "id\tpath\ttext\nb\ta.wav\tHi oh hi oh\na\ta.wav\tlong. ah oh\n");
    trl_lexicon *lexicon = make_lexicon();
    check("m.tsv", lexicon, NULL, 1);
    assert_finding(0, TRL_FINDING_UNKNOWN_WORD, "m.tsv", 3, "a", "oh is not in the lexicon (3 times, first here)");
    assert_finding(1, TRL_FINDING_UNKNOWN_WORD, "m.tsv", 2, "b",
                   "Hi is not in the lexicon (once); it has hi; --fold-case takes it");
    assert_finding(2, TRL_FINDING_UNKNOWN_WORD, "m.tsv", 3, "a", "ah is not in the lexicon (once)");
    assert_finding(3, TRL_FINDING_UNKNOWN_WORD, "m.tsv", 3, "a", "long. is not in the lexicon (once); it has long");
    assert_int_equal(trl_findings_count(findings), 4);
    assert_string_equal(trl_findings_get(findings, 0)->word, "oh");
    assert_int_equal(trl_findings_get(findings, 0)->count, 3);
    assert_null(strstr(trl_findings_get(findings, 2)->message, "it has"));
    assert_int_equal(summary.words, 7);
    assert_int_equal(summary.distinct_words, 5);
    assert_int_equal(summary.unknown_words, 6);
    assert_int_equal(summary.distinct_unknown_words, 4);
    assert_int_equal(summary.bad_utterances, 0);
    trl_lexicon_destroy(lexicon);
}

/* Only capitals and the marks around a word may differ, and the whole word must be there. */
static void test_near_words(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"zero", "ZERO"},
        {"\"zero,\"", "ZERO"},
        {"suit.", "suit"},
        {"\xC3\x9C"
         "BER",
         "\xC3\xBC"
         "ber"},
        {"\xC2\xBFsuit?", "suit"},
        {"'bout", "'Bout"},
        {"O'CLOCK!", "o'clock"},
        {"zer", NULL},
        {"...", NULL},
        {"su-it", NULL},
        {"\xC3\x97", NULL},
    };
    trl_lexicon *lexicon;
    trl__near_words near = {0};
    put("lexicon.txt", "ZERO z\nzErO y\nsuit s\n\xC3\xBC"
                       "ber u\n'Bout b\no'clock o\n\xC3\xB7 d\n");
    assert_int_equal(trl_lexicon_read(temp_path("lexicon.txt"), NULL, &lexicon, &err), 0);
    assert_int_equal(trl__near_words_build(&near, lexicon, &err), 0);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *found;
        assert_int_equal(trl__near_word(&near, pairs[i][0], &found, &err), 0);
        if (found ? !pairs[i][1] || strcmp(found, pairs[i][1]) != 0 : pairs[i][1] != NULL)
            fail_msg("%s: %s", pairs[i][0], found ? found : "nothing");
    }
    trl__near_words_free(&near);
    trl_lexicon_destroy(lexicon);
}

/* 400 samples at 16 kHz are one frame of 25 ms, 275 of 11025 Hz too. */
static void test_too_short(void **state)
{
    (void)state;
    sound("400.wav", RATE, 1, 400, 0.1f, 0);
    sound("399.wav", RATE, 1, 399, 0.1f, 0);
    sound("275.wav", 11025, 1, 275, 0.1f, 0);
    put("m.tsv", "id\tpath\ttext\na\t400.wav\ti\nb\t399.wav\tlonger\nc\t400.wav\tus\n");
    check("m.tsv", NULL, NULL, 1);
    assert_finding(0, TRL_FINDING_TOO_SHORT, "m.tsv", 3, "b", "0.0249 s is too short for one frame of 25 ms");
    assert_finding(1, TRL_FINDING_TOO_LONG, "m.tsv", 4, "c", "2 characters in 0.0250 s of sound: they take 0.0500 s");
    assert_int_equal(trl_findings_count(findings), 2);
    assert_true(trl_corpus_get(corpus, 1)->bad);
    trl_corpus_destroy(corpus);
    put("m.tsv", "id\tpath\ttext\nd\t275.wav\ti\n");
    trl_check_options o = trl_check_defaults();
    o.characters_per_second = 10;
    check("m.tsv", NULL, &o, 1);
    assert_finding(2, TRL_FINDING_TOO_LONG, "m.tsv", 2, "d", "1 character in 0.0249 s of sound: it takes 0.1000 s");
    assert_int_equal(trl_findings_count(findings), 3);
}

static void test_missing_sound_is_said_once(void **state)
{
    (void)state;
    assert_int_equal(mkdir(temp_path("folder.wav"), 0777), 0);
    put("m.tsv", "id\tpath\ttext\na\tgone.wav\tone\nb\ttouch pwned |\ttwo\nc\tfolder.wav\tthree\n");
    check("m.tsv", NULL, NULL, 1);
    assert_finding(0, TRL_FINDING_NO_SOUND, "m.tsv", 2, "a", "gone.wav");
    assert_finding(1, TRL_FINDING_PIPE, "m.tsv", 3, "b", "touch pwned |");
    assert_finding(2, TRL_FINDING_NO_SOUND, "m.tsv", 4, "c", "a folder");
    assert_int_equal(trl_findings_count(findings), 3);
    assert_int_not_equal(access("pwned", F_OK), 0);
}

static void test_sound_that_vanishes(void **state)
{
    (void)state;
    sound("a.wav", RATE, 1, RATE, 0.1f, 0);
    put("m.tsv", "id\tpath\ttext\na\ta.wav\tone\n");
    assert_int_equal(trl_corpus_read(temp_path("m.tsv"), NULL, findings, &corpus, &err), 0);
    assert_int_equal(unlink(temp_path("a.wav")), 0);
    assert_int_equal(trl_corpus_check(corpus, NULL, NULL, NULL, NULL, findings, &err), 0);
    assert_finding(0, TRL_FINDING_NO_SOUND, "a.wav", 0, "a", "");
    assert_true(trl_corpus_get(corpus, 0)->bad);
}

static void test_same_for_every_number_of_threads(void **state)
{
    (void)state;
    make_bad_sounds();
    check("m.tsv", NULL, NULL, 1);
    size_t count = trl_findings_count(findings);
    for (int threads = 2; threads <= 8; threads *= 2) {
        trl_findings *serial = findings;
        assert_int_equal(trl_findings_create(&findings, &err), 0);
        trl_corpus_destroy(corpus);
        check("m.tsv", NULL, NULL, threads);
        assert_int_equal(trl_findings_count(findings), count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(trl_findings_get(findings, i)->kind, trl_findings_get(serial, i)->kind);
            assert_string_equal(trl_findings_get(findings, i)->file, trl_findings_get(serial, i)->file);
            assert_string_equal(trl_findings_get(findings, i)->message, trl_findings_get(serial, i)->message);
        }
        trl_findings_destroy(serial);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bad_sounds),
        TEST(test_options),
        TEST(test_parts),
        TEST(test_too_long),
        TEST(test_unknown_words),
        TEST(test_near_words),
        TEST(test_too_short),
        TEST(test_missing_sound_is_said_once),
        TEST(test_sound_that_vanishes),
        TEST(test_same_for_every_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
