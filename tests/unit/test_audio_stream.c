/* Sound that comes in pieces is the sound of the file, whatever the pieces; and what is wrong with it is said. */
#include "make_sound.h"

#include "audio/sound_stream.h"
#include "base/memory.h"
#include "base/random.h"

#include <trellis/audio.h>

#define RATE 16000
#define FRAMES 9000

static trl_error err;

/* A source that gives its bytes in pieces of up to `most`. */
typedef struct source {
    uint8_t *bytes;
    size_t size, given, most;
    uint64_t calls;
    size_t naps; /* it says "nothing more" so often, in the middle */
} source;

static ssize_t give(void *user, void *bytes, size_t size)
{
    source *s = user;
    size_t n = 1 + trl__random_bits(7, s->most, s->calls++) % s->most, left = s->size - s->given;
    if (s->naps > 0 && s->given > s->size / 2) {
        s->naps--;
        return 0;
    }
    n = n < size ? n : size;
    n = n < left ? n : left;
    memcpy(bytes, s->bytes + s->given, n);
    s->given += n;
    return (ssize_t)n;
}

static source source_of(const char *path, size_t most)
{
    source s = {.most = most};
    s.bytes = load(path, &s.size);
    return s;
}

/* All samples; *code is what ended the reading. */
static float *read_stream(source *s, const trl_audio_stream_options *o, size_t *count, int *code)
{
    trl_audio_stream *stream;
    size_t capacity = 700000, got = 1, most = 1 + s->most % 3000;
    float *samples = malloc(capacity * sizeof *samples);
    *count = 0;
    *code = trl__audio_stream_from("source", give, s, o, NULL, &stream, &err);
    while (*code == 0 && got > 0 && *count < capacity) {
        *code = trl_audio_stream_read(stream, samples + *count, most < capacity - *count ? most : capacity - *count,
                                      &got, &err);
        *count += got;
    }
    if (stream)
        trl_audio_stream_close(stream);
    return samples;
}

static void check_same(const char *path, const trl_audio_stream_options *o)
{
    trl_audio_options whole = trl_audio_defaults();
    float *samples;
    size_t count;
    const size_t pieces[] = {1, 3, 1000, 100000};
    whole.rate = o->rate;
    whole.channel = o->channel;
    if (trl_audio_read_file(path, &whole, NULL, &samples, &count, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 4; i++) {
        source s = source_of(path, pieces[i]);
        size_t found;
        int code;
        float *streamed = read_stream(&s, o, &found, &code);
        if (code < 0)
            fail_msg("%s: %s", path, err.text);
        assert_int_equal(found, count);
        assert_memory_equal(streamed, samples, count * sizeof *samples);
        free(streamed);
        free(s.bytes);
    }
    trl_audio_free(samples);
}

static void samples_are_those_of_the_file(void **state)
{
    (void)state;
    const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_U8,  SF_FORMAT_WAV | SF_FORMAT_PCM_16,
                           SF_FORMAT_WAV | SF_FORMAT_PCM_24,  SF_FORMAT_WAV | SF_FORMAT_PCM_32,
                           SF_FORMAT_WAV | SF_FORMAT_FLOAT,   SF_FORMAT_WAVEX | SF_FORMAT_PCM_16,
                           SF_FORMAT_WAV | SF_FORMAT_ULAW,    SF_FORMAT_WAV | SF_FORMAT_DOUBLE,
                           SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_NIST | SF_FORMAT_PCM_16};
    float *voice = make_voice(RATE, 2, FRAMES);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int channels = 1; channels <= 2; channels++) {
            write_floats(temp_path("sound"), formats[f], RATE, channels, voice, FRAMES);
            for (int channel = channels == 1 ? 0 : -1; channel < channels; channel++) {
                trl_audio_stream_options o = trl_audio_stream_defaults();
                o.channel = channel < 0 ? TRL_CHANNEL_MIX : channel;
                check_same(temp_path("sound"), &o);
                o.rate = f % 2 ? 8000 : 22050;
                check_same(temp_path("sound"), &o);
            }
        }
    free(voice);
}

static void put_size(source *s, uint32_t size)
{
    for (int i = 0; i < 4; i++)
        s->bytes[40 + i] = (uint8_t)(size >> 8 * i);
}

/* Where the header leaves the length open, the end of the bytes is that of the sound. */
static void lengths_may_be_open(void **state)
{
    (void)state;
    const uint32_t open[] = {0, 0x7FFFFFFF, 0x7FFFF000, 0xFFFFFFFF};
    float *voice = make_voice(RATE, 1, FRAMES), *samples;
    trl_audio_stream_options o = trl_audio_stream_defaults();
    size_t count;
    int code;
    write_floats(temp_path("sound"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, voice, FRAMES);
    for (int i = 0; i < 4; i++) {
        source s = source_of(temp_path("sound"), 500);
        assert_memory_equal(s.bytes + 36, "data", 4);
        put_size(&s, open[i]);
        samples = read_stream(&s, &o, &count, &code);
        assert_int_equal(code, 0);
        assert_int_equal(count, FRAMES);
        free(samples);
        free(s.bytes);
    }
    source s = source_of(temp_path("sound"), 500); /* what follows the sound is not heard */
    put_size(&s, 2 * 1234);
    samples = read_stream(&s, &o, &count, &code);
    assert_true(code == 0 && count == 1234);
    free(samples);
    s.given = 0; /* the end comes early: all that came, then why it is too little */
    put_size(&s, 2 * (FRAMES + 1));
    samples = read_stream(&s, &o, &count, &code);
    assert_true(code == TRL_ECORRUPT && count == FRAMES);
    assert_non_null(strstr(err.text, "18002"));
    free(samples);
    for (size_t cut = 0; cut < 44; cut++) { /* in the header */
        s.given = 0;
        s.size = cut;
        free(read_stream(&s, &o, &count, &code));
        assert_true(code < 0 && count == 0);
    }
    free(s.bytes);
    free(voice);
}

static void samples_without_a_header(void **state)
{
    (void)state;
    uint8_t bytes[] = {0, 0, 1, 0, 255, 255, 0, 128, 255, 127, 9};
    const float values[] = {0, 1 / 32768.0f, -1 / 32768.0f, -1, 32767 / 32768.0f};
    source s = {.bytes = bytes, .size = sizeof bytes, .most = 3};
    trl_audio_stream_options o = trl_audio_stream_defaults();
    size_t count;
    int code;
    o.raw_rate = 8000;
    float *samples = read_stream(&s, &o, &count, &code);
    assert_true(code == 0 && count == 5);
    assert_memory_equal(samples, values, sizeof values);
    free(samples);
}

static int never(void *user)
{
    (void)user;
    return 0;
}

static int after_all(void *user)
{
    const source *s = user;
    return s->given == s->size;
}

static void files_may_grow(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 1, FRAMES);
    trl_audio_stream_options o = trl_audio_stream_defaults();
    size_t count;
    int code;
    write_floats(temp_path("sound"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, voice, FRAMES);
    source s = source_of(temp_path("sound"), 2000);
    put_size(&s, 0);
    s.naps = 2;
    o.is_over = never;
    float *samples = read_stream(&s, &o, &count, &code); /* a pipe has an end */
    assert_true(code == 0 && count > 0 && count < FRAMES);
    free(samples);
    s.given = 0;
    s.naps = 2;
    o.follow = 1000;
    o.is_over = after_all;
    o.user = &s;
    samples = read_stream(&s, &o, &count, &code);
    assert_true(code == 0 && count > FRAMES / 2);
    free(samples);
    free(s.bytes);
    free(voice);
}

static void wrong(const char *path, const trl_audio_stream_options *o, int code, const char *saying)
{
    trl_audio_stream *stream;
    int rc = trl_audio_stream_open(path, o, NULL, &stream, &err);
    if (rc != code || !strstr(err.text, saying))
        fail_msg("%s: %d instead of %d (%s): %s", path, rc, code, saying, err.text);
    assert_null(stream);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    trl_audio_stream_options o = trl_audio_stream_defaults();
    float values[100] = {0};
    source s;
    size_t count;
    int code;
    wrong(temp_path("nothing"), &o, TRL_ENOENT, "nothing");
    wrong(temp_folder, &o, TRL_EIO, "folder");
    values[50] = NAN;
    write_floats(temp_path("nan"), SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, values, 100);
    s = source_of(temp_path("nan"), 1000);
    free(read_stream(&s, &o, &count, &code));
    assert_int_equal(code, TRL_ENUMBER);
    assert_non_null(strstr(err.text, "sample 50"));
    free(s.bytes);
    o.channel = 1;
    wrong(temp_path("nan"), &o, TRL_EINVAL, "no channel 1");
    o.channel = 0;
    o.rate = 10;
    wrong(temp_path("nan"), &o, TRL_EUNSUPPORTED, "10 Hz");
    o.rate = 0.5;
    wrong(temp_path("nan"), &o, TRL_EINVAL, "whole number");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    float *voice = make_voice(RATE, 1, FRAMES);
    trl_audio_stream_options o = trl_audio_stream_defaults();
    int failures = 0;
    o.rate = 8000;
    write_floats(temp_path("sound"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, voice, FRAMES);
    for (long n = 1, done = 0; !done; n++) {
        source s = source_of(temp_path("sound"), 2000);
        size_t count;
        int code;
        trl__memory_fail_after(n);
        float *samples = read_stream(&s, &o, &count, &code);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
        done = code == 0;
        free(samples);
        free(s.bytes);
    }
    assert_true(failures > 3);
    free(voice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_are_those_of_the_file, temp_folder_make, temp_folder_remove),
        cmocka_unit_test_setup_teardown(lengths_may_be_open, temp_folder_make, temp_folder_remove),
        cmocka_unit_test_setup_teardown(samples_without_a_header, temp_folder_make, temp_folder_remove),
        cmocka_unit_test_setup_teardown(files_may_grow, temp_folder_make, temp_folder_remove),
        cmocka_unit_test_setup_teardown(mistakes_are_named, temp_folder_make, temp_folder_remove),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, temp_folder_make, temp_folder_remove),
    };
    return RUN(tests);
}
