/* FLAC as programs write it to a pipe, without the number of samples: whole it is read to its end, cut it is refused.
 * */
#include "make_sound.h"

#include <trellis/audio.h>

#define RATE 16000

static trl_error err;

static int count(const uint8_t *bytes, size_t size, size_t *samples)
{
    trl_audio_info info;
    float *read = NULL;
    save(temp_path("piped.flac"), bytes, size);
    int code = trl_audio_read_file(temp_path("piped.flac"), NULL, &info, &read, samples, &err);
    trl_audio_free(read);
    return code;
}

static uint8_t *make_piped(int channels, int format, size_t *size)
{
    float *voice = make_voice(RATE, channels, 2 * RATE);
    write_floats(temp_path("whole.flac"), SF_FORMAT_FLAC | format, RATE, channels, voice, 2 * RATE);
    free(voice);
    uint8_t *bytes = load(temp_path("whole.flac"), size);
    bytes[21] &= 0xF0; /* 36 bits of samples */
    memset(bytes + 22, 0, 4);
    return bytes;
}

static void test_whole(void **state)
{
    (void)state;
    static const int formats[] = {SF_FORMAT_PCM_S8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24};
    for (int channels = 1; channels <= 2; channels++)
        for (size_t f = 0; f < 3; f++)
            for (int no_frame_size = 0; no_frame_size < 2; no_frame_size++) {
                size_t size, samples;
                uint8_t *bytes = make_piped(channels, formats[f], &size);
                if (no_frame_size)
                    memset(bytes + 12, 0, 6); /* the least and the most bytes of a frame */
                if (count(bytes, size, &samples) < 0)
                    fail_msg("%s", err.text);
                assert_int_equal(samples, 2 * RATE);
                memcpy(bytes + size, "TAG", 3); /* load() leaves room */
                memset(bytes + size + 3, ' ', 125);
                assert_int_equal(count(bytes, size + 128, &samples), 0);
                assert_int_equal(samples, 2 * RATE);
                free(bytes);
            }
}

static void test_cut(void **state)
{
    (void)state;
    size_t size, samples;
    uint8_t *bytes = make_piped(1, SF_FORMAT_PCM_16, &size);
    for (size_t missing = 1; missing < size / 2; missing += 97) {
        assert_int_equal(count(bytes, size - missing, &samples), TRL_ECORRUPT);
        assert_non_null(strstr(err.text, "does not end with a whole frame of FLAC: it was cut"));
    }
    bytes[size - 100] ^= 1;
    assert_int_equal(count(bytes, size, &samples), TRL_ECORRUPT);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_cut)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
