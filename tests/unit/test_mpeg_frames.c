/* MP3 whose first frame does not count the others: read to the end, and refused where it is cut or damaged. */
#include "make_sound.h"

#include <trellis/audio.h>

#define MP3 0x230082 /* SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, which libsndfile has from 1.1 on */

static trl_error err;

static float *read_part(const char *path, double start, double end, size_t *count)
{
    trl_audio_options o = trl_audio_defaults();
    float *samples = NULL;
    o.start = start;
    o.end = end;
    if (trl_audio_read_file(path, &o, NULL, &samples, count, &err) < 0)
        fail_msg("%s", err.text);
    return samples;
}

static void assert_refused(const char *saying)
{
    float *samples = NULL;
    size_t count;
    assert_int_equal(trl_audio_read_file(temp_path("open.mp3"), NULL, NULL, &samples, &count, &err), TRL_ECORRUPT);
    if (!strstr(err.text, saying))
        fail_msg("not '%s': %s", saying, err.text);
}

static int begins_frame(const uint8_t *bytes, const uint8_t *like)
{
    return bytes[0] == 0xFF && bytes[1] == like[1] && (bytes[2] & 0x0C) == (like[2] & 0x0C);
}

/* The file without its first frame, which has the count. */
static uint8_t *make_open(int rate, const float *voice, size_t frames, size_t *size)
{
    write_floats(temp_path("counted.mp3"), MP3, rate, 1, voice, frames);
    uint8_t *bytes = load(temp_path("counted.mp3"), size);
    size_t second = 100;
    while (!begins_frame(bytes + second, bytes))
        second++;
    *size -= second;
    memmove(bytes, bytes + second, *size);
    save(temp_path("open.mp3"), bytes, *size);
    return bytes;
}

/* Energy of the difference over energy of the signal. */
static double noise_at(const float *a, const float *b, size_t n)
{
    double difference = 0, energy = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)a[i] - b[i], 2);
        energy += pow(b[i], 2);
    }
    return difference / energy;
}

static void check_rate(int rate)
{
    size_t frames = (size_t)rate, size, count, part_count;
    float *voice = make_voice(rate, 1, frames);
    free(make_open(rate, voice, frames, &size));
    float *samples = read_part(temp_path("open.mp3"), 0, -1, &count);
    assert_true(count >= frames);
    if (noise_at(samples, voice, frames) > 0.05) /* shifted by a tenth of a millisecond it is 0.2 */
        fail_msg("%d Hz: noise %g of the energy", rate, noise_at(samples, voice, frames));
    float *part = read_part(temp_path("open.mp3"), 0.5, 0.75, &part_count);
    assert_int_equal(part_count, frames / 4);
    assert_true(noise_at(part, samples + frames / 2, part_count) < 1e-3);
    trl_audio_free(part);
    part = read_part(temp_path("open.mp3"), 0.5, (double)count / rate, &part_count);
    assert_int_equal(part_count, count - frames / 2);
    trl_audio_free(part);
    trl_audio_free(samples);
    free(voice);
}

static void test_reads_to_the_end(void **state)
{
    (void)state;
    check_rate(16000);
    check_rate(44100);
    check_rate(8000);
}

static void test_tags_are_passed_over(void **state)
{
    (void)state;
    uint8_t tagged[1 << 16] = {0};
    size_t size, count, with_tags;
    float *voice = make_voice(16000, 1, 16000);
    uint8_t *bytes = make_open(16000, voice, 16000, &size);
    trl_audio_free(read_part(temp_path("open.mp3"), 0, -1, &count));
    memcpy(tagged, "ID3\4\0\0\0\0\1\2", 10); /* 130 bytes follow */
    memcpy(tagged + 140, bytes, size);
    memcpy(tagged + 140 + size, "TAG a title", 11);
    save(temp_path("open.mp3"), tagged, 140 + size + 128);
    trl_audio_free(read_part(temp_path("open.mp3"), 0, -1, &with_tags));
    assert_int_equal(with_tags, count);
    free(bytes);
    free(voice);
}

/* The same frames in a WAV, as their only chunk of data or before another. */
static void test_in_a_wav(void **state)
{
    (void)state;
    static const uint8_t header[] = "RIFF\0\0\0\0WAVEfmt \x1e\0\0\0\x55\0\1\0\x80\x3e\0\0\x40\x1f\0\0\1\0\0\0"
                                    "\x0c\0\1\0\2\0\0\0\x20\1\1\0\x71\5data";
    uint8_t wrapped[1 << 16] = {0};
    size_t size, count, in_wav, head = sizeof header - 1;
    float *voice = make_voice(16000, 1, 16000);
    uint8_t *bytes = make_open(16000, voice, 16000, &size);
    trl_audio_free(read_part(temp_path("open.mp3"), 0, -1, &count));
    memcpy(wrapped, header, head);
    for (int i = 0; i < 4; i++) {
        wrapped[head + (size_t)i] = (uint8_t)(size >> 8 * i);
        wrapped[4 + i] = (uint8_t)((size + head + 4 + 20 - 8) >> 8 * i);
    }
    memcpy(wrapped + head + 4, bytes, size);
    size_t end = head + 4 + size + (size & 1);
    memcpy(wrapped + end, "LIST\x0c\0\0\0INFO", 12);
    save(temp_path("open.mp3"), wrapped, end + 20);
    float *samples = read_part(temp_path("open.mp3"), 0, -1, &in_wav);
    assert_int_equal(in_wav, count);
    assert_true(noise_at(samples, voice, 16000) < 0.05);
    trl_audio_free(samples);
    save(temp_path("open.mp3"), wrapped, end - 10);
    assert_refused("was cut");
    memset(wrapped + head + 4 + size / 2, 'x', 300);
    save(temp_path("open.mp3"), wrapped, end + 20);
    assert_refused("no frame of sound here");
    free(bytes);
    free(voice);
}

static void test_cut_or_damaged(void **state)
{
    (void)state;
    size_t size;
    float *voice = make_voice(16000, 1, 16000);
    uint8_t *bytes = make_open(16000, voice, 16000, &size);
    const size_t missing[] = {1, 10, 25};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        save(temp_path("open.mp3"), bytes, size - missing[i]);
        assert_refused("the file ends in the middle of this last frame");
    }
    size_t at = size / 2;
    while (!begins_frame(bytes + at, bytes))
        at++;
    save(temp_path("open.mp3"), bytes, at + 2); /* half of the last header */
    assert_refused("the file ends in the middle of this last frame");
    memset(bytes + at, 'x', 30);
    save(temp_path("open.mp3"), bytes, size);
    char place[100];
    snprintf(place, sizeof place, "at byte %zu: no frame of sound here, but others follow", at);
    assert_refused(place);
    free(bytes);
    free(voice);
}

int main(void)
{
    SF_INFO info = {.format = MP3, .samplerate = 16000, .channels = 1};
    if (!sf_format_check(&info)) {
        printf("this libsndfile does not know MP3\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_to_the_end),
        cmocka_unit_test(test_tags_are_passed_over),
        cmocka_unit_test(test_in_a_wav),
        cmocka_unit_test(test_cut_or_damaged),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
