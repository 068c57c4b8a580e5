#define _GNU_SOURCE /* environ */
#include "lvcsr_voices.h"
#include "base/fail.h"
#include "base/random.h"
#include "fst_corpus.h"

#include <fcntl.h>
#include <math.h>
#include <sndfile.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trellis/audio.h>
#include <unistd.h>

#define RATE 16000
#define SEED 2009

/* ---- Who speaks ---- */

typedef struct voice_kind {
    const char *program, *name;
    double pitch, rate;
} voice_kind;

/* Voices that whisper, sing or are robots are not among them. flite's better ones take ten times as long as espeak-ng's. */
static const voice_kind train_kinds[] = {{"flite", "slt", 180, 1.0},
                                         {"flite", "rms", 100, 1.0},
                                         {"flite", "kal16", 110, 1.0},
                                         {"espeak-ng", "en-us", 45, 165},
                                         {"espeak-ng", "en-us+m1", 40, 165},
                                         {"espeak-ng", "en-us+m2", 35, 170},
                                         {"espeak-ng", "en-us+m3", 50, 160},
                                         {"espeak-ng", "en-us+m4", 45, 180},
                                         {"espeak-ng", "en-us+m5", 30, 155},
                                         {"espeak-ng", "en-us+m6", 55, 165},
                                         {"espeak-ng", "en-us+f1", 50, 165},
                                         {"espeak-ng", "en-us+f2", 55, 160},
                                         {"espeak-ng", "en-us+f3", 60, 175},
                                         {"espeak-ng", "en-us+f4", 45, 160},
                                         {"espeak-ng", "en-us+Annie", 50, 165},
                                         {"espeak-ng", "en-us+steph", 50, 165},
                                         {"espeak-ng", "en-us+john", 45, 165},
                                         {"espeak-ng", "en-us+linda", 50, 170},
                                         {"espeak-ng", "en-us+klatt3", 45, 165},
                                         {"espeak-ng", "en-us+Alex", 45, 165}};
static const voice_kind new_kinds[] = {{"espeak-ng", "en-us+m7", 40, 165},
                                       {"espeak-ng", "en-us+f5", 60, 165},
                                       {"flite", "awb", 130, 1.05},
                                       {"espeak-ng", "en-us+Michael", 50, 165}};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static double between(double low, double high, uint64_t stream, uint64_t index)
{
    return low + (high - low) * (double)trl__random_uniform(SEED, stream, index);
}

lvcsr_voice *lvcsr_voices(lvcsr_voice_set set, int count)
{
    lvcsr_voice *voices = fst_must(calloc((size_t)count + 1, sizeof *voices));
    for (int i = 0; i < count; i++) {
        int is_new = set == LVCSR_TEST_VOICES && i % 3 == 2;
        const voice_kind *k =
            is_new ? &new_kinds[(size_t)(i / 3) % COUNT(new_kinds)] : &train_kinds[(size_t)i % COUNT(train_kinds)];
        uint64_t who = (uint64_t)i + (set == LVCSR_TEST_VOICES ? 1000 : 0);
        voices[i] = (lvcsr_voice){k->program,
                                  k->name,
                                  k->pitch * between(0.85, 1.15, who, 0),
                                  k->rate * between(0.9, 1.1, who, 1),
                                  between(0.94, 1.06, who, 2),
                                  between(-0.25, 0.25, who, 3),
                                  pow(10, -between(25, 45, who, 4) / 20)};
    }
    return voices;
}

/* ---- Programs ---- */

/* In a process of its own, silently. Returns its exit code, or -1. */
static int run(char *const *words)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, words[0], &actions, NULL, words, environ) == 0)
        waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *lvcsr_voices_missing(void)
{
    char *const espeak[] = {"espeak-ng", "--version", NULL}, *const flite[] = {"flite", "--version", NULL};
    if (run(espeak) != 0)
        return "espeak-ng is not installed";
    int code = run(flite); /* says its version, and exits with 1 */
    return code == 0 || code == 1 ? NULL : "flite is not installed";
}

static int speak(const lvcsr_voice *voice, const char *words, const char *path)
{
    char pitch[64], rate[64];
    if (strcmp(voice->program, "flite") == 0) {
        snprintf(pitch, sizeof pitch, "int_f0_target_mean=%.1f", voice->pitch);
        snprintf(rate, sizeof rate, "duration_stretch=%.3f", voice->rate);
        const char *const flite[] = {"flite", "-voice", voice->name, "--setf", pitch, "--setf",
                                     rate,    "-t",     words,       "-o",     path,  NULL};
        return run((char *const *)flite);
    }
    snprintf(pitch, sizeof pitch, "%.0f", voice->pitch);
    snprintf(rate, sizeof rate, "%.0f", voice->rate);
    const char *const espeak[] = {"espeak-ng", "-v", voice->name, "-p", pitch, "-s", rate, "-w", path, words, NULL};
    return run((char *const *)espeak);
}

/* ---- Sound ---- */

#define NOISE ((size_t)4 * RATE) /* samples */

struct lvcsr_noise {
    float samples[NOISE]; /* mean square 1 */
};

/* White noise and some of it smoothed, as of rooms. */
lvcsr_noise *lvcsr_noise_create(void)
{
    lvcsr_noise *noise = fst_must(malloc(sizeof *noise));
    double low = 0, power = 0;
    for (size_t i = 0; i < NOISE; i++) {
        double white = (double)trl__random_normal(SEED, 5000, i);
        low = 0.95 * low + white;
        noise->samples[i] = (float)(white + 0.5 * low);
        power += (double)noise->samples[i] * (double)noise->samples[i];
    }
    for (size_t i = 0; i < NOISE; i++)
        noise->samples[i] /= (float)sqrt(power / (double)NOISE);
    return noise;
}

/* The spectrum's tilt, the loudness, silence around the words, noise under all of it. *out is freed by free(). */
static size_t put_into_room(const lvcsr_voice *voice, const lvcsr_noise *noise, const float *samples, size_t count,
                            uint64_t number, float **out)
{
    size_t before = (size_t)(RATE * between(0.1, 0.3, 10000 + number, 0)),
           after = (size_t)(RATE * between(0.1, 0.3, 10000 + number, 1)), all = before + count + after;
    size_t start = trl__random_bits(SEED, 10000 + number, 2) % NOISE;
    float tilt = (float)voice->microphone, last = 0;
    double power = 1e-12;
    float *room = fst_must(calloc(all, sizeof *room));
    for (size_t i = 0; i < count; i++) {
        room[before + i] = samples[i] + tilt * last;
        last = samples[i];
        power += (double)room[before + i] * (double)room[before + i];
    }
    double gain = between(0.03, 0.1, 10000 + number, 3) / sqrt(power / (double)(count + 1));
    double under = voice->noise * gain * sqrt(power / (double)(count + 1));
    for (size_t i = 0; i < all; i++) {
        float mixed = (float)gain * room[i] + (float)under * noise->samples[(start + i) % NOISE];
        room[i] = fminf(fmaxf(mixed, -0.999f), 0.999f);
    }
    *out = room;
    return all;
}

static int write_sound(const char *path, const float *samples, size_t count, trl_error *err)
{
    SF_INFO info = {.samplerate = RATE, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    sf_count_t wrote = file ? sf_write_float(file, samples, (sf_count_t)count) : -1;
    if (file)
        sf_close(file);
    return wrote == (sf_count_t)count ? 0 : trl__fail(err, TRL_EIO, "%s: can't be written", path);
}

int lvcsr_voice_speak(const lvcsr_voice *voice, const lvcsr_noise *noise, const char *words, uint64_t number,
                      const char *path, double *seconds, trl_error *err)
{
    float *samples, *room;
    size_t count;
    trl_audio_options o = trl_audio_defaults();
    o.rate = round(RATE * voice->tract); /* and 16 kHz is what the file says */
    if (speak(voice, words, path) != 0)
        return trl__fail(err, TRL_EIO, "%s can't say \"%s\" with the voice %s", voice->program, words, voice->name);
    int code = trl_audio_read_file(path, &o, NULL, &samples, &count, err);
    if (code < 0)
        return code;
    count = put_into_room(voice, noise, samples, count, number, &room);
    trl_audio_free(samples);
    *seconds = (double)count / RATE;
    code = write_sound(path, room, count, err);
    free(room);
    return code;
}
