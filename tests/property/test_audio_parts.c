/* Sound read in any pieces is the same sound; a part is a slice of the whole; a cut file never passes for a whole one.
 */
#include "make_sound.h"

#include "base/random.h"

#include <trellis/audio.h>

#define FRAMES 30011

static const struct {
    const char *name;
    int format, rate;
    double tolerance; /* of a part against the slice of the whole, at the file's own rate */
} kinds[] = {
    {"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 0},   {"f.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 0},
    {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 0}, {"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 16000, 0},
    {"a.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 48000, 0.02}, {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24, 22050, 0},
    {"a.sph", SF_FORMAT_NIST | SF_FORMAT_PCM_16, 8000, 0},   {"a.au", SF_FORMAT_AU | SF_FORMAT_ULAW, 8000, 0},
    {"a.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 16000, 0},   {"a.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, 16000, 0},
    {"a.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 16000, 0},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static trl_error err;

static float *read_ok(const char *path, const trl_audio_options *options, size_t *count)
{
    float *samples = NULL;
    if (trl_audio_read_file(path, options, NULL, &samples, count, &err) < 0)
        fail_msg("%s", err.text);
    return samples;
}

static const char *make(size_t kind, int channels)
{
    float *voice = make_voice(kinds[kind].rate, channels, FRAMES);
    const char *path = temp_path(kinds[kind].name);
    write_floats(path, kinds[kind].format, kinds[kind].rate, channels, voice, FRAMES);
    free(voice);
    return path;
}

static uint32_t pick(uint64_t stream, uint64_t index, uint32_t below)
{
    return trl__random_bits(3, stream, index) % below;
}

/* ---- Pieces ---- */

static void check_pieces(const char *path, const trl_audio_options *options, uint64_t stream)
{
    size_t count, total = 0, got = 1;
    float *whole = read_ok(path, options, &count);
    float *pieces = malloc((count + 10000) * sizeof *pieces);
    trl_audio *audio;
    assert_int_equal(trl_audio_open(path, options, NULL, &audio, &err), 0);
    for (uint64_t i = 0; got > 0; total += got, i++) {
        size_t size = 1 + pick(stream, i, pick(stream + 1, i, 4) ? 5000 : 3);
        assert_int_equal(trl_audio_read(audio, pieces + total, size, &got, &err), 0);
        assert_true(got <= size && total + got <= count);
    }
    trl_audio_close(audio);
    assert_int_equal(total, count);
    assert_memory_equal(pieces, whole, count * sizeof *whole);
    free(pieces);
    trl_audio_free(whole);
}

static void test_pieces_equal_whole(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (int channels = 1; channels <= 2; channels++) {
            const char *path = make(k, channels);
            const int rates[] = {0, 8000, 16000, 11025};
            for (int r = 0; r < 4; r++) {
                trl_audio_options options = trl_audio_defaults();
                options.rate = rates[r];
                options.channel = channels == 2 && r % 2 ? TRL_CHANNEL_MIX : channels - 1;
                check_pieces(path, &options, k * 100 + (uint64_t)(channels * 10 + r * 2));
                options.start = 0.1;
                options.end = 0.4;
                check_pieces(path, &options, 5000 + k * 100 + (uint64_t)(channels * 10 + r * 2));
            }
        }
}

/* ---- Parts ---- */

static void check_part(const char *path, int from, int to, double tolerance, double start, double end)
{
    trl_audio_options all = {to, 0, 0, -1}, part = {to, 0, start, end};
    size_t count, whole_count;
    float *whole = read_ok(path, &all, &whole_count), *samples = read_ok(path, &part, &count);
    double rate = to ? to : from;
    /* first the nearest frame of the file, then the nearest sample at the new rate */
    size_t first = (size_t)floor(floor(start * from + 0.5) * rate / from + 0.5);
    size_t last = end < 0 ? whole_count : (size_t)floor(floor(end * from + 0.5) * rate / from + 0.5);
    assert_int_equal(count, last - first);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(samples[i] - whole[first + i]) <= tolerance))
            fail_msg("%s, %g to %g s, %d Hz: sample %zu of %zu is %g, in the whole %g", path, start, end, to, i, count,
                     samples[i], whole[first + i]);
    trl_audio_free(whole);
    trl_audio_free(samples);
}

static void test_parts_are_slices(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        const char *path = make(k, 1);
        double seconds = (double)FRAMES / kinds[k].rate;
        for (uint64_t i = 0; i < 12; i++) {
            double start = seconds * pick(900 + k, 2 * i, 900) / 1000,
                   end = start + 0.003 * (1 + pick(900 + k, 2 * i + 1, 99));
            const int rates[] = {0, 8000, 16000, 11025};
            int to = rates[i % 4];
            int converts = to && to != kinds[k].rate;
            check_part(path, kinds[k].rate, to, kinds[k].tolerance + (converts ? 2e-6 : 0), start,
                       end < seconds && i % 5 ? end : -1);
        }
    }
}

/* ---- Cuts ---- */

static void test_cut_files_fail(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        const char *path = make(k, 1);
        size_t size, count;
        uint8_t *bytes = load(path, &size);
        for (uint64_t i = 0; i < 60; i++) {
            size_t cut = i < 20 ? size - 2 - i * 3 : 1 + pick(700 + k, i, (uint32_t)size - 2);
            if (strcmp(kinds[k].name, "a.caf") == 0 && i < 20) /* its last bytes may be padding */
                cut -= 4096;
            save(path, bytes, cut);
            float *samples = NULL;
            int rc = trl_audio_read_file(path, NULL, NULL, &samples, &count, &err);
            if (rc != TRL_ECORRUPT && rc != TRL_EFORMAT && rc != TRL_EUNSUPPORTED)
                fail_msg("%s cut from %zu to %zu bytes: %d, %zu samples", path, size, cut, rc, rc ? 0 : count);
            if (rc == TRL_EUNSUPPORTED || (cut > 4096 && rc != TRL_ECORRUPT))
                fail_msg("%s cut from %zu to %zu bytes: %s", path, size, cut, err.text);
            assert_non_null(strstr(err.text, path));
        }
        free(bytes);
    }
}

/* ---- Damage: the packed formats carry checksums, so a changed byte can't go by unseen ---- */

static void test_damaged_files_fail(void **state)
{
    (void)state;
    for (size_t k = 2; k <= 4; k++) {
        const char *path = make(k, 1);
        size_t size, count;
        uint8_t *bytes = load(path, &size);
        for (uint64_t i = 0; i < 60; i++) {
            size_t at = size / 2 + pick(800 + k, i, (uint32_t)(size / 2)); /* the first half may be comments */
            bytes[at] ^= 0x5A;
            save(path, bytes, size);
            float *samples = NULL;
            int rc = trl_audio_read_file(path, NULL, NULL, &samples, &count, &err);
            if (rc != TRL_ECORRUPT)
                fail_msg("%s with byte %zu of %zu changed: %d, %zu samples", path, at, size, rc, rc ? 0 : count);
            bytes[at] ^= 0x5A;
        }
        free(bytes);
    }
}

/* Reads a part in small pieces, after some of which libsndfile would go on behind the damage. Returns 0 or the error.
 */
static int read_part(const char *path, const trl_audio_options *options, float *samples, size_t *count)
{
    trl_audio *audio;
    size_t got = 1;
    *count = 0;
    int rc = trl_audio_open(path, options, NULL, &audio, &err);
    if (rc < 0)
        return rc;
    for (; rc == 0 && got > 0; *count += got)
        rc = trl_audio_read(audio, samples + *count, 1000, &got, &err);
    trl_audio_close(audio);
    return rc;
}

/* A part of a damaged file either fails or is as it was: samples never move up to fill a gap. (A pure tone packs so
 * well that the decoder often finds its way again after the damage.) */
static void test_damaged_parts(void **state)
{
    (void)state;
    int tone[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        tone[i] = (int)(8000 * sin(i * 0.1)) * 65536;
    const char *path = temp_path("tone.flac");
    write_sound(path, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, tone, FRAMES);
    size_t size, count, whole_count;
    uint8_t *bytes = load(path, &size);
    trl_audio_options part = {0, 0, 0.3, 1.2};
    float *whole = read_ok(path, &part, &whole_count), *samples = malloc((whole_count + 1000) * sizeof *samples);
    int failed = 0, unharmed = 0;
    for (uint64_t i = 0; i < 300; i++) {
        size_t at = 200 + pick(850, i, (uint32_t)size - 200);
        bytes[at] ^= 0x55;
        save(path, bytes, size);
        int rc = read_part(path, &part, samples, &count);
        if (rc == 0 && (count != whole_count || memcmp(samples, whole, count * sizeof *whole) != 0))
            fail_msg("byte %zu of %zu changed: other samples, no error", at, size);
        assert_true(rc == 0 || rc == TRL_ECORRUPT);
        failed += rc != 0;
        unharmed += rc == 0;
        bytes[at] ^= 0x55;
    }
    assert_true(failed > 50 && unharmed > 50);
    free(samples);
    trl_audio_free(whole);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_equal_whole), cmocka_unit_test(test_parts_are_slices),
        cmocka_unit_test(test_cut_files_fail),     cmocka_unit_test(test_damaged_files_fail),
        cmocka_unit_test(test_damaged_parts),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
