/* Features of a corpus: the same as utterance by utterance, for any number of threads; what can't be used is named. */
#include "front_end.h"

#include "base/memory.h"
#include "make_sound.h"

#include <trellis/audio.h>
#include <trellis/extract.h>

#define RATE 16000
#define GOOD 7

static trl_error err;

/* ---- A corpus: seven good utterances of three speakers; and others that are not good ---- */

static void add_line(const char *name, const char *text)
{
    FILE *file = fopen(temp_path(name), "a");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

static void add_utterance(const char *id, const char *speaker, const float *samples, size_t count)
{
    char name[32], line[64];
    snprintf(name, sizeof name, "%s.wav", id);
    if (samples)
        write_floats(temp_path(name), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, samples, count);
    snprintf(line, sizeof line, "%s %s.wav", id, id);
    add_line("wav.scp", line);
    snprintf(line, sizeof line, "%s %s", id, speaker);
    add_line("utt2spk", line);
}

static int make_corpus(void **state)
{
    if (temp_folder_make(state) != 0)
        return -1;
    for (int i = 0; i < GOOD; i++) {
        char id[8], speaker[8];
        size_t count = 3000 + 2100 * (size_t)((i * 4) % GOOD);
        float *samples = make_signal(i % 2 ? SIGNAL_NOISE : SIGNAL_SPEECH, count, RATE, (uint64_t)i);
        snprintf(id, sizeof id, "u%d", i);
        snprintf(speaker, sizeof speaker, "s%d", i % 3);
        add_utterance(id, speaker, samples, count);
        free(samples);
    }
    return 0;
}

static int make_bad_corpus(void **state)
{
    if (make_corpus(state) != 0)
        return -1;
    float silence[399] = {0};
    add_utterance("v1-short", "s0", silence, 399);
    add_utterance("v2-broken", "s1", NULL, 0);
    save(temp_path("v2-broken.wav"), "RIFF this is no sound", 21);
    add_utterance("v3-missing", "s2", NULL, 0);
    return 0;
}

static trl_corpus *read_corpus(trl_findings *findings)
{
    trl_corpus *corpus;
    trl_corpus_options o = trl_corpus_defaults();
    o.need_text = 0;
    if (trl_corpus_read(temp_folder, &o, findings, &corpus, &err) < 0)
        fail_msg("%s", err.text);
    return corpus;
}

/* ---- What was delivered ---- */

typedef struct delivery {
    char ids[16][16];
    trl_matrix frames[16];
    size_t count;
    size_t fail_at; /* SIZE_MAX: never */
} delivery;

static int deliver(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *e)
{
    delivery *d = user;
    if (d->count == d->fail_at) {
        snprintf(e->text, sizeof e->text, "enough");
        return TRL_ECANCELLED;
    }
    snprintf(d->ids[d->count], sizeof d->ids[0], "%s", u->id);
    trl_matrix *to = &d->frames[d->count++];
    if (trl_matrix_resize(to, frames->rows, frames->cols, e) < 0)
        return TRL_ENOMEM;
    for (size_t t = 0; t < frames->rows; t++)
        memcpy(trl_matrix_row(to, t), trl_matrix_row(frames, t), frames->cols * sizeof(float));
    return 0;
}

static void free_delivery(delivery *d)
{
    for (size_t i = 0; i < d->count; i++)
        trl_matrix_free(&d->frames[i]);
    *d = (delivery){.fail_at = SIZE_MAX};
}

static int extract(const trl_frontend *f, int threads, const trl_extract_options *o, trl_findings *findings,
                   delivery *d, trl_extract_summary *summary)
{
    trl_pool *pool = NULL;
    trl_corpus *corpus = read_corpus(findings);
    *d = (delivery){.fail_at = d->fail_at};
    assert_int_equal(trl_pool_create(threads, &pool, &err), 0);
    int code = trl_extract_corpus(corpus, f, o, pool, findings, deliver, d, summary, &err);
    trl_pool_destroy(pool);
    trl_corpus_destroy(corpus);
    return code;
}

/* ---- Good corpora ---- */

static const char *const described[] = {
    "cmvn=none deltas=2",
    "cmvn=utterance cmvn_variance=1 deltas=1",
    "cmvn=speaker cmvn_variance=1 deltas=2",
    "cmvn=sliding cmvn_window=40 cmvn_min_window=10 splice_left=1",
    "preset=htk energy=raw energy_normalise=1 cmvn=speaker",
};

/* Utterance by utterance, with a speaker's sums gathered over all of theirs. */
static void check_against_single(const trl_frontend *f, const delivery *d, const trl_corpus *corpus)
{
    trl_extractor *x = extractor_of(f);
    for (size_t i = 0; i < GOOD; i++) {
        const trl_utterance *u = trl_corpus_get(corpus, i);
        trl_matrix frames = {0};
        trl_cmvn *speaker;
        float *samples;
        size_t count;
        assert_int_equal(trl_cmvn_create((size_t)trl_frontend_static_dim(f), &speaker, &err), 0);
        for (size_t j = 0; j < GOOD; j++) {
            const trl_utterance *v = trl_corpus_get(corpus, j);
            if (v->speaker_index != u->speaker_index)
                continue;
            trl_matrix statics = {0};
            assert_int_equal(trl_extract_samples(v, f, 0, &samples, &count, &err), 0);
            assert_int_equal(trl_extractor_begin_static(x, &err), 0);
            assert_int_equal(trl_extractor_push(x, samples, count, &statics, &err), 0);
            assert_int_equal(trl_extractor_end(x, &statics, &err), 0);
            trl_cmvn_add(speaker, &statics);
            trl_matrix_free(&statics);
            trl_audio_free(samples);
        }
        assert_int_equal(trl_extract_samples(u, f, 0, &samples, &count, &err), 0);
        assert_int_equal(trl_extractor_run(x, samples, count, speaker, &frames, &err), 0);
        assert_string_equal(d->ids[i], u->id);
        assert_same_bits(&d->frames[i], &frames, u->id);
        trl_matrix_free(&frames);
        trl_audio_free(samples);
        trl_cmvn_destroy(speaker);
    }
    trl_extractor_destroy(x);
}

/* The mean of all static rows. */
static void check_mean(const trl_frontend *f, const trl_static_mean *mean, const trl_corpus *corpus)
{
    trl_extractor *x = extractor_of(f);
    trl_matrix statics = {0};
    for (size_t i = 0; i < GOOD; i++) {
        float *samples;
        size_t count;
        trl_matrix of_one = {0};
        assert_int_equal(trl_extract_samples(trl_corpus_get(corpus, i), f, 0, &samples, &count, &err), 0);
        assert_int_equal(trl_extractor_begin_static(x, &err), 0);
        assert_int_equal(trl_extractor_push(x, samples, count, &of_one, &err), 0);
        assert_int_equal(trl_extractor_end(x, &of_one, &err), 0);
        size_t rows = statics.rows;
        trl_matrix both = {0};
        assert_int_equal(trl_matrix_resize(&both, rows + of_one.rows, of_one.cols, &err), 0);
        for (size_t t = 0; t < both.rows; t++)
            memcpy(trl_matrix_row(&both, t), t < rows ? trl_matrix_row(&statics, t) : trl_matrix_row(&of_one, t - rows),
                   of_one.cols * sizeof(float));
        trl_matrix_free(&statics);
        trl_matrix_free(&of_one);
        trl_audio_free(samples);
        statics = both;
    }
    assert_int_equal(mean->count, statics.cols);
    for (size_t i = 0; i < statics.cols; i++) {
        double sum = 0;
        for (size_t t = 0; t < statics.rows; t++)
            sum += (double)trl_matrix_row(&statics, t)[i] / (double)statics.rows;
        assert_true(fabs(mean->value[i] - sum) < 1e-6);
    }
    trl_matrix_free(&statics);
    trl_extractor_destroy(x);
}

static void test_same_for_all_threads(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 5};
    for (size_t s = 0; s < sizeof described / sizeof *described; s++) {
        trl_frontend *f = frontend_of(described[s]);
        for (size_t t = 0; t < 3; t++) {
            trl_findings *findings;
            trl_extract_summary summary;
            delivery d = {.fail_at = SIZE_MAX};
            assert_int_equal(trl_findings_create(&findings, &err), 0);
            if (extract(f, threads[t], NULL, findings, &d, &summary) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(d.count, GOOD);
            trl_corpus *corpus = read_corpus(findings);
            check_against_single(f, &d, corpus);
            check_mean(f, &summary.mean, corpus);
            size_t frames = 0;
            for (size_t i = 0; i < GOOD; i++)
                frames += d.frames[i].rows;
            assert_true(summary.utterances == GOOD && summary.skipped == 0 && summary.frames == frames);
            assert_true(fabs(summary.seconds * RATE - (GOOD * 3000 + 2100 * 21)) < 0.5);
            assert_int_equal(trl_findings_count(findings), 0);
            trl_corpus_destroy(corpus);
            trl_findings_destroy(findings);
            free_delivery(&d);
        }
        trl_frontend_destroy(f);
    }
}

static void test_only(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof described / sizeof *described; s++) {
        trl_frontend *f = frontend_of(described[s]);
        trl_findings *findings;
        trl_extract_summary summary;
        delivery all = {.fail_at = SIZE_MAX}, one = all;
        trl_extract_options o = trl_extract_defaults();
        o.only = "u4";
        assert_int_equal(trl_findings_create(&findings, &err), 0);
        assert_int_equal(extract(f, 2, NULL, findings, &all, NULL), 0);
        assert_int_equal(extract(f, 2, &o, findings, &one, &summary), 0);
        assert_int_equal(one.count, 1);
        assert_string_equal(one.ids[0], "u4");
        assert_same_bits(&one.frames[0], &all.frames[4], described[s]);
        assert_true(summary.utterances == 1 && summary.frames == one.frames[0].rows);
        free_delivery(&one);
        o.only = "nobody";
        assert_int_equal(extract(f, 2, &o, findings, &one, NULL), TRL_ENOENT);
        assert_non_null(strstr(err.text, "'nobody'"));
        free_delivery(&one);
        free_delivery(&all);
        trl_findings_destroy(findings);
        trl_frontend_destroy(f);
    }
}

/* Dither depends on the utterance, not on who computes it: two silent recordings differ, one and three threads don't.
 */
static void test_each_utterance_has_its_noise(void **state)
{
    (void)state;
    float silence[4000] = {0};
    add_utterance("w1", "s0", silence, 4000);
    add_utterance("w2", "s0", silence, 4000);
    trl_frontend *f = frontend_of("dither=2");
    trl_findings *findings;
    delivery one = {.fail_at = SIZE_MAX}, three = one;
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(extract(f, 1, NULL, findings, &one, NULL), 0);
    assert_int_equal(extract(f, 3, NULL, findings, &three, NULL), 0);
    assert_int_equal(one.count, GOOD + 2);
    for (size_t i = 0; i < one.count; i++)
        assert_same_bits(&one.frames[i], &three.frames[i], one.ids[i]);
    const trl_matrix *a = &one.frames[GOOD], *b = &one.frames[GOOD + 1];
    assert_int_equal(a->rows, b->rows);
    assert_true(memcmp(a->data, b->data, a->rows * a->cols * sizeof(float)) != 0);
    free_delivery(&one);
    free_delivery(&three);
    trl_findings_destroy(findings);
    trl_frontend_destroy(f);
}

/* The corpus is at 16 kHz: a front end at more counts every utterance, one at that rate or less none. */
static void test_lower_rates_are_counted(void **state)
{
    (void)state;
    const char *const settings[] = {"rate=22050", "rate=16000", "rate=8000"};
    for (int i = 0; i < 3; i++) {
        trl_frontend *f = frontend_of(settings[i]);
        trl_findings *findings;
        trl_extract_summary summary;
        delivery d = {.fail_at = SIZE_MAX};
        assert_int_equal(trl_findings_create(&findings, &err), 0);
        assert_int_equal(extract(f, 2, NULL, findings, &d, &summary), 0);
        assert_int_equal(summary.upsampled, i == 0 ? GOOD : 0);
        assert_true(summary.lowest_rate == (i == 0 ? RATE : 0));
        free_delivery(&d);
        trl_findings_destroy(findings);
        trl_frontend_destroy(f);
    }
}

/* Of sound with several channels, where nobody has chosen: the first is taken, and once it is said of how many. */
static void test_unchosen_channels_are_said(void **state)
{
    (void)state;
    const int channels[] = {TRL_CHANNEL_UNSAID, 0, TRL_CHANNEL_MIX};
    float *voice = make_voice(RATE, 2, 4000);
    add_utterance("x1", "s0", voice, 4000);
    add_utterance("x2", "s0", voice, 4000);
    write_floats(temp_path("x1.wav"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 2, voice, 4000);
    write_floats(temp_path("x2.wav"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 2, voice, 4000);
    free(voice);
    delivery deliveries[3];
    for (int i = 0; i < 3; i++) {
        trl_frontend *f = frontend_of("rate=16000");
        trl_findings *findings;
        trl_extract_summary summary;
        delivery *d = &deliveries[i];
        d->fail_at = SIZE_MAX;
        trl_extract_options o = trl_extract_defaults();
        o.channel = channels[i];
        assert_int_equal(trl_findings_create(&findings, &err), 0);
        assert_int_equal(extract(f, 2, i == 0 ? NULL : &o, findings, d, &summary), 0);
        assert_int_equal(summary.stereo, i == 0 ? 2 : 0);
        assert_int_equal(trl_findings_count(findings), i == 0);
        const trl_finding *said = trl_findings_get(findings, 0);
        assert_true(i > 0 || (said->kind == TRL_FINDING_STEREO && strcmp(said->utterance, "x1") == 0));
        assert_true(i > 0 || strstr(said->message, "2 utterances have more than one channel, this one first"));
        trl_findings_destroy(findings);
        trl_frontend_destroy(f);
    }
    for (int i = 1; i < 3; i++) {
        const trl_matrix *unsaid = &deliveries[0].frames[deliveries[0].count - 1];
        const trl_matrix *said = &deliveries[i].frames[deliveries[0].count - 1];
        assert_int_equal(memcmp(unsaid->data, said->data, said->rows * said->cols * sizeof(float)) == 0, i == 1);
    }
    for (int i = 0; i < 3; i++)
        free_delivery(&deliveries[i]);
}

/* With cut_silence, sound with zeros before and behind it has frames of the sound alone, all but those near its ends;
 * and zeros alone have none, which is said. */
static void test_silence_is_cut(void **state)
{
    (void)state;
    enum { SHIFT = RATE / 100, COUNT = 40 * SHIFT };
    float padded[3 * COUNT] = {0}, *voice = make_voice(RATE, 1, COUNT);
    memcpy(padded + COUNT, voice, COUNT * sizeof *voice);
    add_utterance("x1", "t0", voice, COUNT);
    add_utterance("x2", "t1", padded, 3 * COUNT);
    add_utterance("x3", "t2", padded + 2 * COUNT, COUNT);
    free(voice);
    trl_frontend *f = frontend_of("silence=fill");
    trl_extract_options o = trl_extract_defaults();
    trl_findings *findings;
    delivery d = {.fail_at = SIZE_MAX};
    o.cut_silence = o.skip_bad = 1;
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(extract(f, 2, &o, findings, &d, NULL), 0);
    const trl_matrix *alone = &d.frames[d.count - 2], *among = &d.frames[d.count - 1];
    assert_string_equal(d.ids[d.count - 1], "x2");
    assert_in_range(among->rows, alone->rows - 4, alone->rows);
    size_t first = 0;
    while (memcmp(trl_matrix_row(alone, first), trl_matrix_row(among, 0), alone->cols * sizeof(float)) != 0)
        assert_in_range(++first, 1, alone->rows - among->rows);
    for (size_t t = 0; t < among->rows; t++)
        assert_memory_equal(trl_matrix_row(among, t), trl_matrix_row(alone, t + first), alone->cols * sizeof(float));
    int is_said = 0;
    for (size_t i = 0; i < trl_findings_count(findings); i++) {
        const trl_finding *left = trl_findings_get(findings, i);
        is_said |= left->utterance && strcmp(left->utterance, "x3") == 0 &&
                   strstr(left->message, "nothing but digital silence") != NULL;
    }
    assert_true(is_said);
    free_delivery(&d);
    trl_findings_destroy(findings);
    trl_frontend_destroy(f);
}

/* What `use` says is what the caller gets. */
static void test_use_fails(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof described / sizeof *described; s++) {
        trl_frontend *f = frontend_of(described[s]);
        trl_findings *findings;
        trl_extract_summary summary;
        delivery d = {.fail_at = 2};
        assert_int_equal(trl_findings_create(&findings, &err), 0);
        assert_int_equal(extract(f, 5, NULL, findings, &d, &summary), TRL_ECANCELLED);
        assert_string_equal(err.text, "enough");
        assert_int_equal(d.count, 2);
        free_delivery(&d);
        trl_findings_destroy(findings);
        trl_frontend_destroy(f);
    }
}

/* Every allocation may fail: an error, no leak, no wrong frames. The sound file library's own memory is not ours. */
static void test_memory(void **state)
{
    (void)state;
    const char *const settings[] = {"cmvn=utterance deltas=1", "cmvn=speaker"};
    for (size_t s = 0; s < 2; s++) {
        trl_frontend *f = frontend_of(settings[s]);
        int code = TRL_ENOMEM;
        long n = 1, failures = 0;
        for (; code < 0 && n < 2000; n += 1 + n / 8) {
            trl_findings *findings;
            delivery d = {.fail_at = SIZE_MAX};
            trl_pool *pool = NULL;
            assert_int_equal(trl_findings_create(&findings, &err), 0);
            trl_corpus *corpus = read_corpus(findings);
            assert_int_equal(trl_pool_create(2, &pool, &err), 0);
            trl__memory_fail_after(n);
            code = trl_extract_corpus(corpus, f, NULL, pool, findings, deliver, &d, NULL, &err);
            trl__memory_fail_after(0);
            assert_true(code == 0 ? d.count == GOOD : code == TRL_ENOMEM && err.code == TRL_ENOMEM);
            failures += code < 0;
            free_delivery(&d);
            trl_pool_destroy(pool);
            trl_corpus_destroy(corpus);
            trl_findings_destroy(findings);
        }
        assert_int_equal(code, 0);
        assert_true(failures > 10);
        trl_frontend_destroy(f);
    }
}

/* ---- Bad utterances ---- */

static const trl_finding *finding_of(const trl_findings *findings, const char *id)
{
    const trl_finding *found = NULL;
    for (size_t i = 0; i < trl_findings_count(findings); i++) {
        const trl_finding *f = trl_findings_get(findings, i);
        if (f->utterance && strcmp(f->utterance, id) == 0) {
            assert_null(found); /* said once */
            found = f;
        }
    }
    if (!found)
        fail_msg("%s is not named", id);
    return found;
}

static void test_bad_ones_are_skipped(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof described / sizeof *described; s++)
        for (int threads = 1; threads < 4; threads += 2) {
            trl_frontend *f = frontend_of(described[s]);
            trl_findings *findings;
            trl_extract_summary summary;
            delivery d = {.fail_at = SIZE_MAX};
            trl_extract_options o = trl_extract_defaults();
            o.skip_bad = 1;
            assert_int_equal(trl_findings_create(&findings, &err), 0);
            if (extract(f, threads, &o, findings, &d, &summary) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(d.count, GOOD);
            assert_int_equal(summary.skipped, 3);
            const trl_finding *found = finding_of(findings, "v1-short");
            assert_int_equal(found->kind, TRL_FINDING_TOO_SHORT);
            assert_non_null(strstr(found->message, "399 samples are too few"));
            found = finding_of(findings, "v2-broken");
            assert_int_equal(found->kind, TRL_FINDING_UNREADABLE);
            assert_non_null(strstr(found->message, "v2-broken.wav"));
            assert_non_null(strstr(found->file, "wav.scp"));
            assert_int_equal(found->line, GOOD + 2);
            assert_int_equal(finding_of(findings, "v3-missing")->kind, TRL_FINDING_NO_SOUND);
            trl_corpus *corpus = read_corpus(findings);
            check_against_single(f, &d, corpus); /* the bad ones add nothing to their speakers */
            trl_corpus_destroy(corpus);
            trl_findings_destroy(findings);
            free_delivery(&d);
            trl_frontend_destroy(f);
        }
}

static void test_bad_ones_stop(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("");
    trl_findings *findings;
    delivery d = {.fail_at = SIZE_MAX};
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(extract(f, 2, NULL, findings, &d, NULL), TRL_EINVAL); /* known from reading the corpus */
    assert_non_null(strstr(err.text, "v3-missing"));
    assert_int_equal(d.count, 0);
    save(temp_path("v3-missing.wav"), "x", 1);
    for (int threads = 1; threads < 6; threads += 2) { /* the first in corpus order, for any threads */
        assert_int_equal(extract(f, threads, NULL, findings, &d, NULL), TRL_EINVAL);
        assert_non_null(strstr(err.text, "utterance v1-short"));
        assert_int_equal(d.count, GOOD);
        free_delivery(&d);
    }
    assert_int_equal(remove(temp_path("v3-missing.wav")), 0);
    trl_findings_destroy(findings);
    trl_frontend_destroy(f);
}

/* A channel that is not there is a fault of the choice, not of the sound. */
static void test_missing_channel(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("cmvn=speaker");
    trl_findings *findings;
    trl_extract_summary summary;
    delivery d = {.fail_at = SIZE_MAX};
    trl_extract_options o = {.channel = 1, .skip_bad = 1};
    assert_int_equal(trl_findings_create(&findings, &err), 0);
    assert_int_equal(extract(f, 2, &o, findings, &d, &summary), 0);
    assert_true(d.count == 0 && summary.utterances == 0 && summary.skipped == GOOD + 3);
    assert_int_equal(finding_of(findings, "u0")->kind, TRL_FINDING_SEGMENT);
    assert_non_null(strstr(finding_of(findings, "u0")->message, "no channel 1"));
    trl_findings_destroy(findings);
    trl_frontend_destroy(f);
}

int main(void)
{
    const struct CMUnitTest good[] = {
        cmocka_unit_test(test_same_for_all_threads),
        cmocka_unit_test(test_only),
        cmocka_unit_test(test_lower_rates_are_counted),

        cmocka_unit_test(test_use_fails),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_each_utterance_has_its_noise),
        cmocka_unit_test(test_unchosen_channels_are_said), /* the last ones: they add to the corpus */
        cmocka_unit_test(test_silence_is_cut),
    };
    const struct CMUnitTest bad[] = {
        cmocka_unit_test(test_bad_ones_are_skipped),
        cmocka_unit_test(test_bad_ones_stop),
        cmocka_unit_test(test_missing_channel),
    };
    int failed = cmocka_run_group_tests(good, make_corpus, temp_folder_remove);
    return failed + cmocka_run_group_tests(bad, make_bad_corpus, temp_folder_remove);
}
