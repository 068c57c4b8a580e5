/* Sound of phones, cameras and browsers, in files that FFmpeg's program makes of a WAV: the same sound at the same
 * time, its parts, and what is cut or damaged. */
#include "make_sound.h"

#include "audio/audio_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <trellis/pool.h>

#define RATE 44100
#define SECONDS 1.5
#define LAG_MOST 4410 /* samples that are looked through either way … */
#define COMPARED 8000 /* … and how many are compared, from the middle */

static trl_error err;

#if TRELLIS_FFMPEG

typedef struct kind {
    const char *file, *options; /* FFmpeg's, between the input and the file */
    double late,
        noise; /* seconds that the sound comes later than it was; energy of the difference over that of the sound */
    int has_lengths; /* of its parts, as files with a header have */
} kind;

/* The delay of raw AAC, of fragments and of AVI stands nowhere: 1024 samples of AAC, 1105 of MP3. Of Windows Media
 * FFmpeg skips two frames of 2048 samples, but its own encoder makes but one. */
static const kind kinds[] = {
    {"a.m4a", "-c:a aac -b:a 96k", 0, 0.03, 1},
    {"first.m4a", "-c:a aac -b:a 96k -movflags faststart", 0, 0.03, 1},
    {"lossless.m4a", "-c:a alac", 0, 1e-6, 1},
    {"a.mov", "-c:a aac -b:a 96k", 0, 0.03, 1},
    {"fragments.mp4", "-c:a aac -b:a 96k -movflags frag_keyframe+empty_moov", 1024 / (double)RATE, 0.03, 1},
    {"opus.webm", "-c:a libopus -b:a 96k", 0, 0.1, 1},
    {"vorbis.webm", "-c:a libvorbis -b:a 96k", 0, 0.05, 1},
    {"live.webm", "-c:a libopus -b:a 96k -live 1", 0, 0.1, 1},
    {"a.mkv", "-c:a pcm_s16le", 0, 1e-6, 1},
    {"alac.caf", "-c:a alac", 0, 1e-6, 1}, /* two that libsndfile knows, but not what is in them */
    {"flac.ogg", "-c:a flac", 0, 1e-6, 1},
    {"a.wma", "-c:a wmav2 -b:a 128k", -2048 / (double)RATE, 0.05, 1},
    {"a.aac", "-c:a aac -b:a 96k", 1024 / (double)RATE, 0.03, 0},
    {"a.avi", "-c:a libmp3lame -b:a 128k", 1105 / (double)RATE, 0.03, 1},
    {"a.mts", "-c:a mp2 -b:a 192k", 481 / (double)RATE, 0.03, 0},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static int run_ffmpeg(const char *inputs, const char *options, const char *file)
{
    char command[3000];
    snprintf(command, sizeof command, "cd '%s' && ffmpeg -v error -nostdin -y %s %s '%s' </dev/null", temp_folder,
             inputs, options, file);
    return system(command);
}

static float *read_at(const char *file, double rate, double start, double end, size_t *count)
{
    trl_audio_options o = {.rate = rate, .start = start, .end = end};
    float *samples = NULL;
    if (trl_audio_read_file(temp_path(file), &o, NULL, &samples, count, &err) < 0)
        fail_msg("%s", err.text);
    return samples;
}

static int make_original(void **state)
{
    temp_folder_make(state);
    size_t frames = (size_t)(RATE * SECONDS);
    float *samples = malloc(frames * sizeof *samples), low = 0, lower = 0;
    uint32_t noise = 99;
    for (size_t i = 0; i < frames; i++) { /* noise of speech's frequencies: it is like itself at one place only */
        noise = noise * 1664525u + 1013904223u;
        low += 0.2f * ((float)(noise / 4294967296.0) - 0.5f - low);
        lower += 0.1f * (low - lower);
        samples[i] = 4 * lower * (float)(0.6 + 0.4 * sin((double)i / 3000));
    }
    write_floats(temp_path("original.wav"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, samples, frames);
    free(samples);
    for (size_t k = 0; k < KINDS; k++) {
        struct timespec past[2] = {{.tv_sec = 1000000000},
                                   {.tv_sec = 1000000000}}; /* what is known of old files is kept */
        if (run_ffmpeg("-i original.wav", kinds[k].options, kinds[k].file) != 0)
            printf("%s: this ffmpeg does not make it\n", kinds[k].file);
        else
            assert_int_equal(utimensat(AT_FDCWD, temp_path(kinds[k].file), past, 0), 0);
    }
    return 0;
}

/* The energy of the difference when `b` is said to be later by so many samples. */
static double noise_at(const float *a, size_t a_count, const float *b, size_t b_count, long lag)
{
    double difference = 0, energy = 0;
    for (size_t i = a_count / 2; i < a_count / 2 + COMPARED; i++) {
        size_t j = (size_t)((long)i + lag);
        difference += pow((double)a[i] - (j < b_count ? b[j] : 0), 2);
        energy += pow(a[i], 2);
    }
    return difference / energy;
}

/* `undelayed`: an FFmpeg that writes the delay down, or knows it, is right too. */
static void check_lag(const char *file, double late, int undelayed, double noise)
{
    size_t a_count, b_count;
    float *a = read_at("original.wav", RATE, 0, -1, &a_count), *b = read_at(file, RATE, 0, -1, &b_count);
    long best = 0;
    double least = INFINITY;
    for (long lag = -LAG_MOST; lag <= LAG_MOST; lag++) {
        double here = noise_at(a, a_count, b, b_count, lag);
        best = here < least ? lag : best;
        least = fmin(here, least);
    }
    late = undelayed && labs(best) < RATE / 1000 ? 0 : late;
    if (fabs((double)best / RATE - late) > 0.001 || least > noise)
        fail_msg("%s: %.4f s later instead of %.4f s, noise %g", file, (double)best / RATE, late, least);
    if ((double)b_count < (double)a_count + late * RATE - 0.003 * RATE)
        fail_msg("%s: %zu samples of %zu", file, b_count, a_count);
    trl_audio_free(a);
    trl_audio_free(b);
}

static int exists(const char *file)
{
    return access(temp_path(file), R_OK) == 0;
}

static void test_same_sound_at_the_same_time(void **state)
{
    (void)state;
    assert_true(exists("a.m4a")); /* that every FFmpeg makes */
    for (size_t k = 0; k < KINDS; k++)
        if (exists(kinds[k].file))
            check_lag(kinds[k].file, kinds[k].late, 1, kinds[k].noise);
}

static void test_video(void **state)
{
    (void)state;
    const char *picture = "-f lavfi -i testsrc=duration=2:size=64x48:rate=10";
    char inputs[200];
    snprintf(inputs, sizeof inputs, "%s -i original.wav", picture);
    assert_int_equal(run_ffmpeg(inputs, "-c:a aac -b:a 96k", "film.mp4"), 0);
    check_lag("film.mp4", 0, 0, 0.03);
    snprintf(inputs, sizeof inputs, "%s -itsoffset 0.08 -i original.wav",
             picture); /* the sound begins after the picture */
    assert_int_equal(run_ffmpeg(inputs, "-c:a aac -b:a 96k", "late.mp4"), 0);
    check_lag("late.mp4", 0.08, 0, 0.03);
    assert_int_equal(run_ffmpeg(picture, "", "silent.mp4"), 0);
    float *samples;
    size_t count;
    assert_int_equal(trl_audio_read_file(temp_path("silent.mp4"), NULL, NULL, &samples, &count, &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "silent.mp4: there is no sound in this MP4"));
}

/* Where sound is missing, as its times say, there is silence; what follows is where it was. */
static void test_gap(void **state)
{
    (void)state;
    size_t a_count, b_count;
    assert_int_equal(
        run_ffmpeg("-i original.wav", "-af \"aselect='not(between(t,0.5,0.8))'\" -c:a pcm_s16le", "gap.mkv"), 0);
    float *a = read_at("original.wav", 0, 0, -1, &a_count), *b = read_at("gap.mkv", 0, 0, -1, &b_count);
    assert_true(labs((long)a_count - (long)b_count) < RATE / 1000);
    for (size_t i = RATE * 55 / 100; i < RATE * 75 / 100; i++)
        assert_true(b[i] == 0);
    long lag = -RATE / 1000; /* times are in milliseconds */
    while (lag < RATE / 1000 &&
           noise_at(a + RATE / 4, a_count - RATE / 4, b + RATE / 4, b_count - RATE / 4, lag) > 1e-6)
        lag++;
    assert_true(lag < RATE / 1000);
    trl_audio_free(a);
    trl_audio_free(b);
}

typedef struct part_job {
    char path[640];
    double rate; /* to read at */
    double own;  /* of what is read */
    const float *whole;
    size_t whole_count;
} part_job;

/* One after the other, side by side, back again, to the end. */
static const double parts[][2] = {{0, 0.25},  {0.25, 0.3}, {0.3, 0.7}, {0.7, 1},
                                  {0.1, 0.2}, {0.75, 0.8}, {1, -1},    {0, -1}};
#define PARTS (sizeof parts / sizeof *parts)

static int compare_part(void *user, size_t item, int worker, trl_error *error)
{
    (void)worker;
    const part_job *j = user;
    const double *part = parts[item % PARTS];
    trl_audio_options o = {.rate = j->rate, .start = part[0], .end = part[1]};
    float *samples = NULL;
    size_t count, first = (size_t)llround(part[0] * j->own);
    size_t end = part[1] < 0 ? j->whole_count : (size_t)llround(part[1] * j->own);
    int code = trl_audio_read_file(j->path, &o, NULL, &samples, &count, error);
    double worst = 0; /* the converter's rounding */
    for (size_t i = 0; code == 0 && i < count && count == end - first; i++)
        worst = fmax(worst, fabs((double)samples[i] - j->whole[first + i]));
    if (code == 0 && (count != end - first || worst > (j->rate > 0 ? 1e-5 : 0))) {
        code = error->code = TRL_EINVAL;
        snprintf(error->text, sizeof error->text, "%.640s: part %zu at %g Hz is another: %zu of %zu, %g", j->path, item,
                 j->own, count, end - first, worst);
    }
    trl_audio_free(samples);
    return code;
}

/* A part is what would be cut out of the whole, in any order and any thread, at any rate. */
static void test_parts(void **state)
{
    (void)state;
    trl_pool *pool;
    assert_int_equal(trl_pool_create(3, &pool, &err), 0);
    for (size_t k = 0; k < 2 * KINDS; k++) {
        part_job j = {.rate = k % 2 ? 16000 : 0};
        trl_audio_info info;
        trl_audio_options o = {.rate = j.rate, .end = -1};
        float *whole = NULL;
        if (!exists(kinds[k / 2].file))
            continue;
        snprintf(j.path, sizeof j.path, "%s", temp_path(kinds[k / 2].file));
        assert_int_equal(trl_audio_read_file(j.path, &o, &info, &whole, &j.whole_count, &err), 0);
        j.whole = whole;
        j.own = j.rate > 0 ? j.rate : info.rate;
        for (size_t p = 0; p < PARTS; p++)
            if (compare_part(&j, p, 0, &err) < 0)
                fail_msg("%s", err.text);
        if (trl_pool_for(pool, 2 * PARTS, compare_part, &j, &err) < 0)
            fail_msg("%s", err.text);
        trl_audio_free(whole);
    }
    trl_pool_destroy(pool);
}

static void test_from_memory(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        size_t whole_count, got, size;
        if (!exists(kinds[k].file))
            continue;
        float *whole = read_at(kinds[k].file, 0, 0, -1, &whole_count);
        trl_audio_info info;
        trl_audio *audio;
        uint8_t *bytes = load(temp_path(kinds[k].file), &size);
        assert_int_equal(trl__audio_open_memory("memory", bytes, size, NULL, &info, &audio, &err), 0);
        assert_int_equal(info.frames, whole_count);
        float *again = malloc((whole_count + 1) * sizeof *again);
        assert_int_equal(trl_audio_read(audio, again, whole_count + 1, &got, &err), 0);
        assert_int_equal(got, whole_count);
        assert_memory_equal(again, whole, whole_count * sizeof *whole);
        trl_audio_close(audio);
        free(again);
        free(bytes);
        trl_audio_free(whole);
    }
}

static void test_cut(void **state)
{
    (void)state;
    static const int percents[] = {5, 50, 99};
    for (size_t k = 0; k < KINDS; k++)
        for (size_t p = 0; p < 3; p++) {
            size_t size, count;
            float *samples = NULL;
            if (!exists(kinds[k].file))
                continue;
            uint8_t *bytes = load(temp_path(kinds[k].file), &size);
            size_t kept = size * (size_t)percents[p] / 100;
            save(temp_path("cut"), bytes, kept);
            int code = trl_audio_read_file(temp_path("cut"), NULL, NULL, &samples, &count, &err);
            if (code == 0 && !kinds[k].has_lengths) { /* between two of its frames a cut can't be seen */
                trl_audio_free(samples);
                save(temp_path("cut"), bytes, kept - 1);
                code = trl_audio_read_file(temp_path("cut"), NULL, NULL, &samples, &count, &err);
            }
            free(bytes);
            if (code != TRL_ECORRUPT || !strstr(err.text, "cut"))
                fail_msg("%s, %d %%: %d, %s", kinds[k].file, percents[p], code, code < 0 ? err.text : "read");
        }
}

/* Whatever the bytes are: samples, or an error, and little memory. Sanitizers reserve more address space than any
 * limit. */
static void test_damaged(void **state)
{
    (void)state;
    const char *sanitize = getenv("TRELLIS_SANITIZE");
    struct rlimit old, limit = {(rlim_t)3 << 30, (rlim_t)3 << 30};
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    limit.rlim_max = old.rlim_max;
    if (!sanitize || !*sanitize)
        assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    uint32_t random = 1;
    for (size_t k = 0; k < KINDS; k++)
        for (int round = 0; round < 12 && exists(kinds[k].file); round++) {
            size_t size, count;
            float *samples = NULL;
            uint8_t *bytes = load(temp_path(kinds[k].file), &size);
            for (int i = 0; i < 1 + round; i++) {
                random = random * 1664525u + 1013904223u;
                size_t where = i % 2 ? size : 1000 < size ? 1000 : size; /* headers as often as all else */
                bytes[(random >> 8) % where] = (uint8_t)(round % 3 ? random >> 24 : 255);
            }
            save(temp_path("damaged"), bytes, size);
            free(bytes);
            err.text[0] = '\0';
            int code = trl_audio_read_file(temp_path("damaged"), NULL, NULL, &samples, &count, &err);
            assert_true(code == 0 || strstr(err.text, "damaged") || strstr(err.text, "sound"));
            trl_audio_free(samples);
        }
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
}

int main(void)
{
    if (system("ffmpeg -version >/dev/null 2>&1") != 0) {
        printf("ffmpeg is not installed (scripts/setup test)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_sound_at_the_same_time),
        cmocka_unit_test(test_video),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_from_memory),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, make_original, temp_folder_remove);
}

#else

static void test_says_what_is_missing(void **state)
{
    (void)state;
    float *samples;
    size_t count;
    save(temp_path("a.m4a"),
         "\0\0\0\x10"
         "ftypM4A \0\0\0\0",
         16);
    assert_int_equal(trl_audio_read_file(temp_path("a.m4a"), NULL, NULL, &samples, &count, &err), TRL_EUNSUPPORTED);
    assert_non_null(strstr(
        err.text, "a.m4a: MP4 (M4A, MOV) is read by FFmpeg's libraries, and this trellis was built without them"));
    assert_non_null(strstr(err.text, "libavformat-dev"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_says_what_is_missing)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}

#endif
