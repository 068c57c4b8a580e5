/* Splitting corpora: whole speakers, the share, lists, and folders that read back as what was written. */
#include "corpus_fixture.h"

#include "base/memory.h"

#include <sys/stat.h>

#define MOST 64

static unsigned char apart[MOST];

static void folder(const char *name)
{
    assert_int_equal(mkdir(temp_path(name), 0777), 0);
}

static void sound(const char *name)
{
    float samples[64] = {0};
    write_floats(temp_path(name), SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, samples, 64);
}

static void read_corpus(const char *name)
{
    trl_corpus_options options = trl_corpus_defaults();
    options.need_text = 0;
    trl_corpus_destroy(corpus);
    if (trl_corpus_read(temp_path(name), &options, findings, &corpus, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(trl_corpus_count(corpus) <= MOST);
}

/* speakers[i] has counts[i] utterances u00, u01, … in all; those of "?" are bad: they have no sound. */
static void make_corpus(const char *const *speakers, const int *counts, int count)
{
    char wav[4096] = "", utt2spk[4096] = "";
    int number = 0;
    folder("set");
    sound("set/a.wav");
    for (int s = 0; s < count; s++)
        for (int i = 0; i < counts[s]; i++, number++) {
            const char *path = strcmp(speakers[s], "?") == 0 ? "gone.wav" : "a.wav";
            snprintf(wav + strlen(wav), sizeof wav - strlen(wav), "u%02d %s\n", number, path);
            snprintf(utt2spk + strlen(utt2spk), sizeof utt2spk - strlen(utt2spk), "u%02d %s\n", number, speakers[s]);
        }
    put("set/wav.scp", wav);
    put("set/utt2spk", utt2spk);
    read_corpus("set");
}

static size_t count_apart(void)
{
    size_t count = 0;
    for (size_t i = 0; i < trl_corpus_count(corpus); i++)
        count += apart[i];
    return count;
}

static void split_ok(trl_split_options options)
{
    if (trl_corpus_split(corpus, &options, apart, &err) < 0)
        fail_msg("%s", err.text);
}

/* ---- by share ---- */

static void assert_speakers_whole(void)
{
    for (size_t i = 0; i < trl_corpus_count(corpus); i++)
        for (size_t k = 0; k < i; k++) {
            const trl_utterance *a = trl_corpus_get(corpus, i), *b = trl_corpus_get(corpus, k);
            if (a->speaker_index == b->speaker_index)
                assert_int_equal(apart[i], apart[k]);
        }
}

static void test_speakers_stay_whole(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    make_corpus(names, (const int[]){4, 7, 1, 3, 5}, 5);
    int chosen_in_some[MOST] = {0}, left_in_some[MOST] = {0};
    for (uint64_t seed = 0; seed < 60; seed++)
        for (double share = 0.05; share < 1; share += 0.15) {
            trl_split_options options = trl_split_defaults();
            options.seed = seed;
            options.share = share;
            split_ok(options);
            assert_speakers_whole();
            size_t count = count_apart();
            assert_true(count > 0 && count < 20);
            if (share > 0.6) /* the last speaker stays behind, whatever the share */
                continue;
            assert_true((double)count >= 20 * share - 0.5 && (double)count < 20 * share + 7);
            for (size_t i = 0; i < 20; i++)
                (apart[i] ? chosen_in_some : left_in_some)[i] = 1;
        }
    for (size_t i = 0; i < 20; i++)
        assert_true(chosen_in_some[i] && left_in_some[i]);
}

/* Another speaker in the corpus: the order of the others is the same, so those set apart are the first of it. */
static void test_choice_is_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    trl_split_options options = trl_split_defaults();
    options.share = 0.4;
    unsigned char before[MOST];
    make_corpus(names, (const int[]){2, 2, 2, 2, 2}, 5);
    split_ok(options);
    memcpy(before, apart, sizeof before);
    assert_int_equal(count_apart(), 4);
    put("set/wav.scp", "u00 a.wav\nu01 a.wav\nu02 a.wav\nu03 a.wav\nu04 a.wav\nu05 a.wav\nu06 a.wav\nu07 a.wav\nu08 "
                       "a.wav\nu09 a.wav\nu10 a.wav\nu11 a.wav\n");
    put("set/utt2spk", "u00 a\nu01 a\nu02 b\nu03 b\nu04 c\nu05 c\nu06 d\nu07 d\nu08 e\nu09 e\nu10 f\nu11 f\n");
    read_corpus("set");
    options.share = 0.5; /* of six: three speakers */
    split_ok(options);
    int moved = 0;
    for (size_t i = 0; i < 10; i++)
        moved += before[i] && !apart[i];
    assert_int_equal(moved, 0);
}

static void test_utterances_without_speakers(void **state)
{
    (void)state;
    folder("set");
    sound("set/a.wav");
    put("set/wav.scp", "u0 a.wav\nu1 a.wav\nu2 a.wav\nu3 a.wav\nu4 a.wav\nu5 a.wav\n");
    read_corpus("set");
    trl_split_options options = trl_split_defaults();
    options.share = 0.5;
    split_ok(options);
    assert_int_equal(count_apart(), 3);
    options.share = 0.01;
    split_ok(options);
    assert_int_equal(count_apart(), 1);
    /* All of one speaker. */
    put("set/utt2spk", "u0 s\nu1 s\nu2 s\nu3 s\nu4 s\nu5 s\n");
    read_corpus("set");
    options.share = 0.34;
    split_ok(options);
    assert_int_equal(count_apart(), 2);
    options.by = TRL_SPLIT_SPEAKER;
    assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "not two speakers"));
}

static void test_bad_utterances_are_on_no_side(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "?", "b"};
    make_corpus(names, (const int[]){1, 30, 1}, 3);
    for (uint64_t seed = 0; seed < 20; seed++) {
        trl_split_options options = trl_split_defaults();
        options.seed = seed;
        split_ok(options);
        assert_int_equal(count_apart(), 1);
        assert_int_equal(apart[0] + apart[31], 1);
    }
}

static void test_wrong_options(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    make_corpus(names, (const int[]){2, 2}, 2);
    trl_split_options options = trl_split_defaults();
    for (options.share = -1; options.share <= 2; options.share += 1)
        assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_EINVAL);
    options = trl_split_defaults();
    options.by = (trl_split_by)9;
    assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_EINVAL);
    assert_int_equal(trl_corpus_split(corpus, NULL, apart, &err), 0);
}

/* ---- by a list ---- */

static void test_list(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    make_corpus(names, (const int[]){2, 2, 2}, 3);
    trl_split_options options = trl_split_defaults();
    options.list = temp_path("list");
    put("list", "b more words\n\nu05 x\r\n");
    split_ok(options);
    assert_memory_equal(apart, "\0\0\1\1\0\1", 6);
    put("list", "b\nnobody\n");
    assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "list:2: nobody"));
    put("list", "");
    assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_EFORMAT);
    put("list", "a\nb\nu04\nu05\n");
    assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_EFORMAT);
    options.list = temp_path("no list");
    assert_int_equal(trl_corpus_split(corpus, &options, apart, &err), TRL_ENOENT);
}

/* ---- writing ---- */

static void write_ok(const unsigned char *which_apart, int which, const char *name)
{
    if (trl_corpus_write(corpus, which_apart, which, temp_path(name), &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_same_utterance(const trl_utterance *a, const trl_utterance *b)
{
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->speaker, b->speaker);
    assert_true((!a->text && !b->text) || strcmp(a->text, b->text) == 0);
    assert_true(a->start == b->start && a->end == b->end);
    assert_int_equal(a->channel, b->channel);
    if (a->recording)
        assert_string_equal(a->recording, b->recording);
    struct stat x, y;
    assert_int_equal(stat(a->path, &x) | stat(b->path, &y), 0);
    assert_true(x.st_ino == y.st_ino);
}

/* Both parts of what is read from "set", written and read again, are what they were. */
static void round_trip(const char *name)
{
    trl_split_options options = trl_split_defaults();
    options.share = 0.4;
    read_corpus(name);
    split_ok(options);
    trl_corpus *whole = corpus;
    write_ok(apart, 0, "zero");
    write_ok(apart, 1, "one");
    for (int which = 0; which < 2; which++) {
        corpus = NULL;
        read_corpus(which ? "one" : "zero");
        size_t k = 0;
        for (size_t i = 0; i < trl_corpus_count(whole); i++)
            if (apart[i] == which && !trl_corpus_get(whole, i)->bad)
                assert_same_utterance(trl_corpus_get(whole, i), trl_corpus_get(corpus, k++));
        assert_int_equal(k, trl_corpus_count(corpus));
        trl_corpus_destroy(corpus);
    }
    corpus = whole;
    assert_int_equal(trl_findings_count(findings), 0);
}

static void test_round_trips(void **state)
{
    (void)state;
    folder("set");
    folder("set/anna");
    folder("set/bert 2");
    sound("set/anna/one.wav");
    sound("set/anna/two two.wav");
    sound("set/bert 2/one.wav");
    put("set/anna/one.lab", "hello  world\n");
    put("set/bert 2/one.lab", "h\xC3\xA9llo\n");
    round_trip("set");
    put("parts.tsv", "path\tid\ttext\tspeaker\tstart\tend\tchannel\n"
                     "set/anna/one.wav\ta\tx y\tanna\t0.1\t0.30000000000000004\t\n"
                     "set/bert 2/one.wav\tb\tz\tbert\t0\t\t\n"
                     "set/bert 2/one.wav\tc\t\tbert\t1.5\t\t1\n"
                     "set/anna/one.wav\td\tw\tcarl\t0.5\t0.75\t0\n");
    round_trip("parts.tsv");
    folder("kaldi");
    put("kaldi/wav.scp", "rec-a set/anna/one.wav\nrec-b set/bert 2/one.wav\nrec-c set/anna/one.wav\n");
    put("kaldi/segments", "a rec-a 0 1\nb rec-b 0 0.5\nc rec-b 0.5 1 0\nd rec-a 1 -1\ne rec-c 0.25 1\n");
    put("kaldi/text", "a x\nb y\nc z\nd w\ne v\n");
    put("kaldi/utt2spk", "a s\nb t\nc t\nd u\ne v\n");
    round_trip("kaldi");
    round_trip("set"); /* into the same folders, where segments must be gone */
}

static void test_write_refusals(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    make_corpus(names, (const int[]){2, 2}, 2);
    assert_int_equal(trl_corpus_split(corpus, NULL, apart, &err), 0);
    assert_int_equal(trl_corpus_write(corpus, apart, 0, temp_path("set"), &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "choose another folder"));
    assert_int_equal(trl_corpus_write(corpus, apart, 7, temp_path("out"), &err), TRL_EINVAL);
    assert_int_equal(trl_corpus_write(corpus, apart, 0, temp_path("no/such/place"), &err), TRL_ENOENT);
    write_ok(NULL, 0, "all");
    assert_int_equal(rename(temp_path("set/a.wav"), temp_path("set/new\nline.wav")), 0);
    trl_corpus_options options = trl_corpus_defaults();
    options.need_text = 0;
    trl_corpus_destroy(corpus);
    assert_int_equal(trl_corpus_read(temp_path("set/new\nline.wav"), &options, findings, &corpus, &err), 0);
    assert_int_equal(trl_corpus_write(corpus, NULL, 0, temp_path("out"), &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "rename the file"));
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    make_corpus(names, (const int[]){2, 2, 2}, 3);
    put("list", "b\n");
    trl_split_options by_list = trl_split_defaults();
    int code = -1;
    for (long n = 1; code < 0; n++) {
        by_list.list = temp_path("list"); /* a name lasts for a few others */
        trl__memory_fail_after(n);
        code = trl_corpus_split(corpus, NULL, apart, &err);
        if (code == 0)
            code = trl_corpus_split(corpus, &by_list, apart, &err);
        if (code == 0)
            code = trl_corpus_write(corpus, apart, 0, temp_path("out"), &err);
        trl__memory_fail_after(0);
        if (code != 0 && code != TRL_ENOMEM)
            fail_msg("%ld: %s", n, err.text);
        assert_true(n < 1000);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_speakers_stay_whole),
        TEST(test_choice_is_by_name),
        TEST(test_utterances_without_speakers),
        TEST(test_bad_utterances_are_on_no_side),
        TEST(test_wrong_options),
        TEST(test_list),
        TEST(test_round_trips),
        TEST(test_write_refusals),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
