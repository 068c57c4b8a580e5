/* Sound files: what is written comes back, and what is wrong with a file is said. */
#include "make_sound.h"

#include "audio/resample.h"
#include "base/memory.h"

#include <sys/stat.h>
#include <trellis/audio.h>
#include <trellis/pool.h>

#define RATE 16000
#define FRAMES 4000

static trl_error err;

static float *read_ok(const char *path, const trl_audio_options *options, trl_audio_info *info, size_t *count)
{
    float *samples = NULL;
    if (trl_audio_read_file(path, options, info, &samples, count, &err) < 0)
        fail_msg("%s", err.text);
    return samples;
}

static void assert_fails(const char *path, const trl_audio_options *options, int code, const char *saying)
{
    float *samples = NULL;
    size_t count;
    memset(&err, 0, sizeof err);
    int rc = trl_audio_read_file(path, options, NULL, &samples, &count, &err);
    if (rc != code || err.code != code || !strstr(err.text, saying))
        fail_msg("%s: %d instead of %d (%s): %s", path, rc, code, saying, err.text);
    assert_null(samples);
}

/* ---- Formats ---- */

static const struct {
    int format, bits;
    const char *text;
} exact[] = {
    {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 8, "WAV, 8 bit"},
    {SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16, "WAV, 16 bit"},
    {SF_FORMAT_WAV | SF_FORMAT_PCM_24, 24, "WAV, 24 bit"},
    {SF_FORMAT_WAV | SF_FORMAT_PCM_32, 24, "WAV, 32 bit"},
    {SF_FORMAT_WAV | SF_FORMAT_FLOAT, 24, "WAV, 32 bit float"},
    {SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 24, "WAV, 64 bit float"},
    {SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 16, "WAV, 16 bit"},
    {SF_FORMAT_WAV | SF_ENDIAN_BIG | SF_FORMAT_PCM_16, 16, "WAV, 16 bit"},
    {SF_FORMAT_FLAC | SF_FORMAT_PCM_S8, 8, "FLAC, 8 bit"},
    {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16, "FLAC, 16 bit"},
    {SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 24, "FLAC, 24 bit"},
    {SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 16, "AIFF, 16 bit"},
    {SF_FORMAT_AU | SF_FORMAT_PCM_16, 16, "AU, 16 bit"},
    {SF_FORMAT_NIST | SF_FORMAT_PCM_16, 16, "SPHERE, 16 bit"},
    {SF_FORMAT_CAF | SF_FORMAT_PCM_16, 16, "CAF, 16 bit"},
    {SF_FORMAT_W64 | SF_FORMAT_PCM_16, 16, "W64, 16 bit"},
    {SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 16, "RF64, 16 bit"},
};

static void test_exact_formats(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof exact / sizeof *exact; f++) {
        int *samples = malloc(FRAMES * sizeof *samples);
        uint32_t random = 7;
        for (int i = 0; i < FRAMES; i++) {
            random = random * 1664525u + 1013904223u;
            samples[i] = (int)(random & ~((1u << (32 - exact[f].bits)) - 1));
        }
        const char *path = temp_path("exact");
        write_sound(path, exact[f].format, RATE, 1, samples, FRAMES);
        trl_audio_info info;
        size_t count;
        float *back = read_ok(path, NULL, &info, &count);
        assert_int_equal(count, FRAMES);
        assert_int_equal(info.frames, FRAMES);
        assert_int_equal(info.channels, 1);
        assert_true(info.rate == RATE && info.seconds == (double)FRAMES / RATE);
        assert_string_equal(info.format, exact[f].text);
        for (int i = 0; i < FRAMES; i++)
            if (back[i] != (float)samples[i] / 2147483648.0f)
                fail_msg("%s: sample %d is %g, not %g", exact[f].text, i, back[i], (float)samples[i] / 2147483648.0f);
        trl_audio_free(back);
        free(samples);
    }
}

/* Energy of the difference over energy of the signal must be below `noise`. */
static void check_lossy(int format, int rate, double noise, const char *text)
{
    size_t frames = (size_t)rate, count;
    float *samples = make_voice(rate, 1, frames);
    const char *path = temp_path("lossy");
    write_floats(path, format, rate, 1, samples, frames);
    trl_audio_info info;
    float *back = read_ok(path, NULL, &info, &count);
    assert_string_equal(info.format, text);
    assert_int_equal(count, frames);
    double difference = 0, energy = 0;
    for (size_t i = 0; i < frames; i++) {
        difference += pow(back[i] - samples[i], 2);
        energy += pow(samples[i], 2);
    }
    if (!(difference < noise * energy))
        fail_msg("%s: noise %g of the energy", text, difference / energy);
    trl_audio_free(back);
    free(samples);
}

static void test_lossy_formats(void **state)
{
    (void)state;
    check_lossy(SF_FORMAT_WAV | SF_FORMAT_ULAW, 8000, 1e-3, "WAV, 8 bit µ-law");
    check_lossy(SF_FORMAT_NIST | SF_FORMAT_ULAW, 8000, 1e-3, "SPHERE, 8 bit µ-law");
    check_lossy(SF_FORMAT_WAV | SF_FORMAT_ALAW, 8000, 1e-3, "WAV, 8 bit A-law");
    check_lossy(SF_FORMAT_OGG | SF_FORMAT_VORBIS, 16000, 1e-2, "Ogg, Vorbis");
    check_lossy(SF_FORMAT_OGG | SF_FORMAT_OPUS, 16000, 3e-2, "Ogg, Opus");
    SF_INFO mp3 = {.samplerate = 16000, .channels = 1, .format = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III};
    if (sf_format_check(&mp3)) /* libsndfile from 1.1 on */
        check_lossy(mp3.format, 16000, 3e-2, "MPEG-1/2 Audio, MPEG Layer III");
}

/* ---- Channels ---- */

static void test_channels(void **state)
{
    (void)state;
    int samples[2 * FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        samples[2 * i] = i << 17;
        samples[2 * i + 1] = -(i << 18);
    }
    write_sound(temp_path("stereo.wav"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 2, samples, FRAMES);
    const int channels[] = {0, 1, TRL_CHANNEL_MIX};
    const float steps[] = {2, -4, -1}; /* in units of 2^-15 */
    for (int c = 0; c < 3; c++) {
        trl_audio_options options = trl_audio_defaults();
        options.channel = channels[c];
        size_t count;
        float *back = read_ok(temp_path("stereo.wav"), &options, NULL, &count);
        assert_int_equal(count, FRAMES);
        for (int i = 0; i < FRAMES; i++)
            assert_true(back[i] == (float)i * steps[c] / 32768);
        trl_audio_free(back);
    }
    trl_audio_options options = trl_audio_defaults();
    options.channel = 2;
    assert_fails(temp_path("stereo.wav"), &options, TRL_EINVAL,
                 "no channel 2: the file has 2, counted from 0; choose another with --channel");
    options.channel = -1;
    assert_fails(temp_path("stereo.wav"), &options, TRL_EINVAL, "no channel -1");
}

/* ---- Options ---- */

static void test_bad_options(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 1, RATE);
    const char *path = temp_path("second.wav");
    write_floats(path, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, voice, RATE);
    const struct {
        double rate, start, end;
        int code;
        const char *saying;
    } cases[] = {
        {0, 1, -1, TRL_EINVAL, "starts at 1 s, but the sound is only 1 s"},
        {0, -1, 1, TRL_EINVAL, "makes no sense"},
        {0, NAN, 1, TRL_EINVAL, "makes no sense"},
        {0, 0.5, 0.5, TRL_EINVAL, "not after its start"},
        {0, 0.5, 1.6, TRL_EINVAL, "ends at 1.6 s, but the sound is only 1 s"},
        {0.5, 0, -1, TRL_EINVAL, "whole number of Hz"},
        {-8000, 0, -1, TRL_EINVAL, "whole number of Hz"},
        {10, 0, -1, TRL_EUNSUPPORTED, "can't convert from 16000 Hz to 10 Hz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trl_audio_options options = {cases[i].rate, 0, cases[i].start, cases[i].end};
        assert_fails(path, &options, cases[i].code, cases[i].saying);
    }
    trl_audio_options options = {0, 0, 0.5, 1.4}; /* a little late: cut back */
    size_t count;
    trl_audio_free(read_ok(path, &options, NULL, &count));
    assert_int_equal(count, RATE / 2);
    free(voice);
}

/* ---- Standard input ---- */

static void test_standard_input(void **state)
{
    (void)state;
    const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_OGG | SF_FORMAT_VORBIS};
    float *voice = make_voice(RATE, 1, FRAMES);
    int old = dup(STDIN_FILENO);
    for (int f = 0; f < 3; f++) {
        const char *path = temp_path("input");
        write_floats(path, formats[f], RATE, 1, voice, FRAMES);
        size_t size, count, expected;
        uint8_t *bytes = load(path, &size);
        float *samples = read_ok(path, NULL, NULL, &expected);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes, size), (ssize_t)size); /* fits in the pipe */
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        trl_audio_options options = {0, 0, 0.1, -1}; /* seeks */
        float *back = read_ok("-", &options, NULL, &count);
        assert_int_equal(count, expected - RATE / 10);
        assert_memory_equal(back, samples + RATE / 10, count * sizeof *back);
        trl_audio_free(back);
        trl_audio_free(samples);
        free(bytes);
    }
    dup2(old, STDIN_FILENO);
    close(old);
    free(voice);
}

/* ---- Rate conversion: a sine stays the same sine at the same time ---- */

static void check_sine(int from, int to, double frequency)
{
    const double turn = 6.283185307179586;
    size_t frames = (size_t)from / 2 + 37, count;
    float *samples = malloc(frames * sizeof *samples);
    for (size_t i = 0; i < frames; i++)
        samples[i] = (float)(0.5 * sin(turn * frequency * (double)i / from));
    const char *path = temp_path("sine.wav");
    write_floats(path, SF_FORMAT_WAV | SF_FORMAT_FLOAT, from, 1, samples, frames);
    trl_audio_options options = trl_audio_defaults();
    options.rate = to;
    float *back = read_ok(path, &options, NULL, &count);
    assert_int_equal(count, (size_t)floor((double)frames * to / from + 0.5));
    double worst = 0;
    int audible = frequency < 0.45 * to;
    for (size_t k = count / 4; k < count * 3 / 4; k++) {
        double ideal = audible ? 0.5 * sin(turn * frequency * (double)k / to) : 0;
        worst = fmax(worst, fabs(back[k] - ideal));
    }
    double limit = audible ? 0.5e-3 : 0.5 * pow(10, -90 / 20.0);
    if (!(worst < limit))
        fail_msg("%d -> %d Hz, sine of %g Hz: off by %g", from, to, frequency, worst);
    trl_audio_free(back);
    free(samples);
}

static void test_sines(void **state)
{
    (void)state;
    const int rates[][2] = {{16000, 8000},  {8000, 16000},  {44100, 16000}, {48000, 16000},
                            {11025, 16000}, {16000, 11025}, {22050, 8000},  {16000, 16001}};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        check_sine(rates[r][0], rates[r][1], 100);
        check_sine(rates[r][0], rates[r][1], 1234.5);
        check_sine(rates[r][0], rates[r][1], 3400);
    }
    check_sine(16000, 8000, 4600); /* must vanish */
    check_sine(16000, 8000, 6100);
    check_sine(44100, 16000, 9500);
    check_sine(48000, 16000, 23000);
}

static void test_rescale(void **state)
{
    (void)state;
    assert_int_equal(trl__rescale(0, 44100, 16000), 0);
    assert_int_equal(trl__rescale(441, 44100, 16000), 160);
    assert_int_equal(trl__rescale(1, 16000, 8000), 1); /* one half goes up */
    assert_int_equal(trl__rescale(2, 48000, 16000), 1);
    assert_int_equal(trl__rescale(1, 48000, 16000), 0);
    assert_int_equal(trl__rescale((int64_t)1 << 40, 1000000, 999999), 1099510528264); /* 2^40 - 2^40/10^6 */
}

/* ---- Bad numbers ---- */

static void test_bad_numbers(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 2, FRAMES);
    const char *path = temp_path("nan.wav");
    trl_audio_options right = trl_audio_defaults(), converted = trl_audio_defaults();
    right.channel = 1;
    converted.rate = 8000;
    voice[2 * 1234] = NAN;
    voice[2 * 2400] = INFINITY;
    write_floats(path, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, voice, FRAMES);
    assert_fails(path, NULL, TRL_ENUMBER, "sample 1234 (at 0.077125 s) is not a number");
    assert_fails(path, &converted, TRL_ENUMBER, "sample 1234");
    trl_audio_options later = {0, 0, 0.1, -1};
    assert_fails(path, &later, TRL_ENUMBER, "sample 2400 (at 0.150000 s) is infinite");
    size_t count;
    trl_audio_free(read_ok(path, &right, NULL, &count)); /* the other channel is fine */
    assert_int_equal(count, FRAMES);
    free(voice);
}

/* ---- Files that are not what they say ---- */

static void put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Writers to a pipe leave lengths open: all the samples are there. */
static void test_streamed_wav(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 1, FRAMES);
    const char *path = temp_path("streamed.wav");
    write_floats(path, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, voice, FRAMES);
    size_t size, count;
    uint8_t *bytes = load(path, &size);
    assert_memory_equal(bytes + 36, "data", 4);
    const uint32_t lengths[][2] = {{0, 0},
                                   {8, 0},
                                   {36, 0},
                                   {0xFFFFFFFF, 0xFFFFFFFF},
                                   {0xFFFFFFFF, 0xFFFFFFDB},
                                   {0x7FFFF024, 0x7FFFF000},
                                   {0x80000024, 0x80000000}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        put32(bytes + 4, lengths[i][0]);
        put32(bytes + 40, lengths[i][1]);
        save(path, bytes, size);
        trl_audio_free(read_ok(path, NULL, NULL, &count));
        assert_int_equal(count, FRAMES);
    }
    put32(bytes + 4, (uint32_t)size - 8); /* a closed file whose sound is empty, with another chunk behind it */
    put32(bytes + 40, 0);
    memcpy(bytes + 44, "LIST", 4);
    put32(bytes + 48, (uint32_t)size - 52);
    save(path, bytes, size);
    trl_audio_free(read_ok(path, NULL, NULL, &count));
    assert_int_equal(count, 0);
    free(bytes);
    free(voice);
}

static void test_lying_lengths(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 1, FRAMES);
    const char *path = temp_path("lie.wav");
    write_floats(path, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, voice, FRAMES);
    size_t size;
    uint8_t *bytes = load(path, &size);
    put32(bytes + 40, 0x60000000);
    save(path, bytes, size);
    assert_fails(path, NULL, TRL_ECORRUPT,
                 "at byte 8044: the file ends here, but its header promises 1610612736 bytes");
    free(bytes);
    path = temp_path("lie.flac");
    write_floats(path, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, RATE, 1, voice, FRAMES);
    bytes = load(path, &size);
    bytes[21] |= 0x0F; /* 36 bits of total samples */
    memset(bytes + 22, 0xFF, 4);
    save(path, bytes, size);
    assert_fails(path, NULL, TRL_ELIMIT, "68719476735 samples");
    trl_audio *audio;
    size_t got = 1, total = 0;
    float buffer[1000];
    int rc = trl_audio_open(path, NULL, NULL, &audio, &err);
    for (assert_int_equal(rc, 0); rc == 0 && got > 0; total += got)
        rc = trl_audio_read(audio, buffer, 1000, &got, &err);
    assert_int_equal(rc, TRL_ECORRUPT);
    assert_int_equal(total, FRAMES);
    assert_non_null(strstr(err.text, "near sample 4000 of 68719476735"));
    trl_audio_close(audio);
    bytes[21] &= 0xF0; /* 0: not known, as from a pipe */
    memset(bytes + 22, 0, 4);
    save(path, bytes, size);
    trl_audio_info info;
    trl_audio_free(read_ok(path, NULL, &info, &total));
    assert_int_equal(total, FRAMES);
    assert_int_equal(info.frames, FRAMES);
    free(bytes);
    free(voice);
}

static void test_not_sound(void **state)
{
    (void)state;
    const struct {
        const char *content;
        int code;
        const char *saying;
    } cases[] = {
        {"", TRL_EFORMAT, "not a sound file: it is empty"},
        {"hello, this is a transcript\n", TRL_EFORMAT, "it is text"},
        {"<!DOCTYPE html><html>404</html>", TRL_EFORMAT, "an HTML page"},
        {"\x1f\x8b\x08\x01\x01\x01\x01", TRL_EFORMAT, "a gzip file; unpack it first"},
        {"\x01\x02\x03\x04\x05\x06", TRL_EFORMAT, "begins with bytes 01 02 03 04"},
        {"RIFF", TRL_ECORRUPT, "RIFF (WAV) with a damaged header"},
        {"RIFFxxxxWAVEfmt \x10", TRL_ECORRUPT, "ends before 'data'"},
        {"NIST_1A\n   1024\nsample_count -i 10\nsample_coding -s26 pcm,embedded-shorten-v2.00\nend_head\n",
         TRL_EUNSUPPORTED, "unpack it first: sph2pipe"},
        {"NIST_1A\n   1024\nsample_count -i 10\n", TRL_ECORRUPT, "SPHERE header is damaged or cut off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save(temp_path("strange"), cases[i].content, strlen(cases[i].content));
        assert_fails(temp_path("strange"), NULL, cases[i].code, cases[i].saying);
        assert_non_null(strstr(err.text, temp_path("strange")));
    }
    assert_fails(temp_path("nowhere.wav"), NULL, TRL_ENOENT, "nowhere.wav: ");
    assert_fails(temp_folder, NULL, TRL_EIO, "is a folder");
    if (geteuid() != 0) { /* root may read everything */
        chmod(temp_path("strange"), 0);
        assert_fails(temp_path("strange"), NULL, TRL_EIO, "Permission denied");
        chmod(temp_path("strange"), 0600);
    }
}

/* ---- Memory ---- */

#define MP3 0x230082 /* SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, which libsndfile has from 1.1 on */

/* Frames of MPEG-1, -2 and -2.5 are known by their chain; samples that only begin like one are not sound. */
static void test_mpeg_or_raw(void **state)
{
    (void)state;
    static const int rates[] = {44100, 48000, 32000, 22050, 16000, 11025, 8000};
    float tone[RATE];
    for (int i = 0; i < RATE; i++)
        tone[i] = 0.5f * (float)sin(0.1 * i);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        SF_INFO info = {.format = MP3, .samplerate = rates[i], .channels = 1};
        if (!sf_format_check(&info))
            break;
        write_floats(temp_path("a.mp3"), info.format, rates[i], 1, tone, RATE);
        trl_audio_info found;
        size_t count;
        float *samples = read_ok(temp_path("a.mp3"), NULL, &found, &count);
        assert_true(found.rate == rates[i] && count >= RATE);
        trl_audio_free(samples);
    }
    static const uint8_t starts[][4] = {
        {0xFF, 0xFB, 0x90, 0x64}, {0xFF, 0xFF, 0x10, 0x00}, {0xFF, 0xFE, 0x01, 0xFF}, {0xFF, 0xFF, 0x00, 0x00}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        uint8_t raw[8000];
        for (size_t j = 0; j < sizeof raw; j++)
            raw[j] = (uint8_t)(j * 37 % 251);
        memcpy(raw, starts[i], 4);
        save(temp_path("raw"), raw, sizeof raw);
        assert_fails(temp_path("raw"), NULL, TRL_EFORMAT, "not a sound file with a header");
    }
}

static void test_allocation_failure(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 2, FRAMES);
    const char *path = temp_path("memory.flac");
    write_floats(path, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, RATE, 2, voice, FRAMES);
    trl_audio_options options = {8000, TRL_CHANNEL_MIX, 0.01, -1};
    long n = 1;
    for (int rc = -1; rc < 0; n++) {
        float *samples = NULL;
        size_t count;
        trl__memory_fail_after(n);
        rc = trl_audio_read_file(path, &options, NULL, &samples, &count, &err);
        trl__memory_fail_after(0);
        assert_true(rc == 0 || (rc == TRL_ENOMEM && err.code == TRL_ENOMEM && !samples));
        trl_audio_free(samples);
        assert_true(n < 100);
    }
    assert_true(n > 6); /* name, window, object, block, resampler, its output, samples */
    free(voice);
}

/* ---- Threads ---- */

static int open_what_is_no_sound(void *user, size_t item, int worker, trl_error *error)
{
    (void)worker;
    trl_audio *audio;
    const char *const *paths = user;
    int code = trl_audio_open(paths[item % 2], NULL, NULL, &audio, error);
    return code < 0 && strstr(error->text, paths[item % 2]) ? 0 : TRL_EINVAL;
}

/* libsndfile keeps the reason of a failure in one place for all threads; the thread sanitizer watches. */
static void test_failures_in_many_threads(void **state)
{
    (void)state;
    char header[64] = "RIFF\x38\0\0\0WAVEfmt \x10\0\0\0\1"; /* 0 channels at 0 Hz */
    char names[2][700];
    const char *const paths[] = {names[0], names[1]};
    const char junk[] = "\1\2\3\4 no sound at all, and no text\xFF\xFE";
    temp_write("junk.wav", junk, sizeof junk);
    temp_write("nothing.wav", header, sizeof header);
    snprintf(names[0], sizeof names[0], "%s", temp_path("junk.wav"));
    snprintf(names[1], sizeof names[1], "%s", temp_path("nothing.wav"));
    trl_pool *pool;
    assert_int_equal(trl_pool_create(4, &pool, &err), 0);
    assert_int_equal(trl_pool_for(pool, 200, open_what_is_no_sound, (void *)(uintptr_t)paths, &err), 0);
    trl_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_formats),      cmocka_unit_test(test_lossy_formats),
        cmocka_unit_test(test_channels),           cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_standard_input),     cmocka_unit_test(test_sines),
        cmocka_unit_test(test_mpeg_or_raw),        cmocka_unit_test(test_rescale),
        cmocka_unit_test(test_bad_numbers),        cmocka_unit_test(test_streamed_wav),
        cmocka_unit_test(test_lying_lengths),      cmocka_unit_test(test_not_sound),
        cmocka_unit_test(test_allocation_failure), cmocka_unit_test(test_failures_in_many_threads),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
