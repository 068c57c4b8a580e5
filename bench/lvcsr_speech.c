#include "lvcsr_speech.h"
#include "lvcsr_voices.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/pool.h>
#include <unistd.h>

/* To be raised when other sound comes out of the same text. */
#define RECIPE 1

#define LONG 4.0 /* seconds: what a sentence takes, about. How long it really is, is known when it is spoken */

enum { BATCH = 200 /* sentences that are given to the threads together */, THREADS = 2 };

/* ---- A part: training or test ---- */

typedef struct speech_part {
    const char *name, *folder;
    const lvcsr_sentences *sentences;
    const lvcsr_voice *speakers;
    int speaker_count;
    double wanted; /* seconds */
    size_t first;  /* sentence of the batch */
    double seconds[BATCH];
    const lvcsr_noise *noise;
} speech_part;

/* Sentences from all over the text, each once: the step has no factor in common with their number. */
static size_t line_of(const speech_part *p, size_t i)
{
    size_t count = p->sentences->spoken_count, step = 7919;
    return p->sentences->spoken[i * (count % step ? step : 1) % count];
}

static void id_of(const speech_part *p, size_t i, char id[32])
{
    snprintf(id, 32, "%s%03d-%05d", p->name, (int)(i % (size_t)p->speaker_count), (int)i);
}

static int speak_one(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    speech_part *p = user;
    size_t i = p->first + index;
    char id[32], line[2000], path[4300];
    id_of(p, i, id);
    snprintf(path, sizeof path, "%.4000s/wav/%s.wav", p->folder, id);
    lvcsr_text_line(&p->sentences->text, line_of(p, i), line, sizeof line);
    return lvcsr_voice_speak(&p->speakers[i % (size_t)p->speaker_count], p->noise, line, i, path, &p->seconds[index],
                             err);
}

static FILE *create(const char *folder, const char *part, const char *name)
{
    char path[4300];
    snprintf(path, sizeof path, "%.4000s/%s/%s", folder, part, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(3);
    }
    return file;
}

static void write_lists(const speech_part *p, size_t count)
{
    char id[32], line[2000];
    FILE *scp = create(p->folder, p->name, "wav.scp"), *said = create(p->folder, p->name, "text"),
         *who = create(p->folder, p->name, "utt2spk");
    for (size_t i = 0; i < count; i++) {
        id_of(p, i, id);
        fprintf(scp, "%s wav/%s.wav\n", id, id);
        fprintf(said, "%s %s\n", id, lvcsr_text_line(&p->sentences->text, line_of(p, i), line, sizeof line));
        fprintf(who, "%s %.*s\n", id, (int)strcspn(id, "-"), id);
    }
    fclose(scp);
    fclose(said);
    fclose(who);
}

static double make_part(speech_part *p, trl_pool *pool)
{
    trl_error err;
    double spoken = 0;
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/%s", p->folder, p->name);
    mkdir(path, 0777);
    while (spoken < p->wanted && p->first < p->sentences->spoken_count) {
        size_t left = p->sentences->spoken_count - p->first, count = 1 + (size_t)((p->wanted - spoken) / LONG);
        count = count < BATCH ? count : BATCH;
        count = count < left ? count : left;
        bench_check(trl_pool_for(pool, count, speak_one, p, &err), &err);
        for (size_t i = 0; i < count; i++)
            spoken += p->seconds[i];
        p->first += count;
    }
    write_lists(p, p->first);
    return spoken;
}

/* ---- The folder ---- */

static void name_folder(const lvcsr_speech_sizes *sizes, char folder[4096])
{
    uint64_t parts[2] = {lvcsr_text_hash(), RECIPE};
    char text[400];
    int length = snprintf(text, sizeof text, "%llx %llx %zu %zu %g %g %g %d %d", (unsigned long long)parts[0],
                          (unsigned long long)parts[1], sizes->text.lines, sizes->text.words, sizes->text.prune,
                          sizes->train, sizes->test, sizes->train_speakers, sizes->test_speakers);
    snprintf(folder, 4096, "%s/bench/lvcsr-%016llx", TRELLIS_BUILD_DIR,
             (unsigned long long)trl__hash(text, (size_t)length));
}

static void name_files(lvcsr_speech *speech)
{
    snprintf(speech->train, sizeof speech->train, "%.4000s/train", speech->folder);
    snprintf(speech->test, sizeof speech->test, "%.4000s/test", speech->folder);
    snprintf(speech->lexicon, sizeof speech->lexicon, "%.4000s/lexicon.txt", speech->folder);
    snprintf(speech->arpa, sizeof speech->arpa, "%.4000s/words.arpa", speech->folder);
}

static const lvcsr_speech_sizes full = {
    .text = {150000, 60000, 1e-8}, .train = 10.3 * 3600, .test = 1900, .train_speakers = 60, .test_speakers = 18};
static const lvcsr_speech_sizes small = {
    .text = {10000, 5000, 0}, .train = 900, .test = 60, .train_speakers = 20, .test_speakers = 6};
static const lvcsr_speech_sizes tiny = {
    .text = {2000, 1000, 0}, .train = 100, .test = 20, .train_speakers = 20, .test_speakers = 5};

static int is_there(const lvcsr_speech_sizes *sizes)
{
    char folder[4096];
    name_folder(sizes, folder);
    return access(folder, R_OK) == 0;
}

const lvcsr_speech_sizes *lvcsr_speech_choose(const bench_options *o)
{
    return o->tiny ? &tiny : o->quick && !is_there(&full) ? &small : &full;
}

int lvcsr_speech_is_full(const lvcsr_speech_sizes *sizes)
{
    return sizes == &full;
}

static void make_all(const lvcsr_speech_sizes *sizes, const char *folder)
{
    trl_error err;
    trl_pool *pool;
    lvcsr_text text;
    lvcsr_noise *noise = lvcsr_noise_create();
    lvcsr_voice *train = lvcsr_voices(LVCSR_TRAIN_VOICES, sizes->train_speakers);
    lvcsr_voice *test = lvcsr_voices(LVCSR_TEST_VOICES, sizes->test_speakers);
    char path[4200];
    double start = bench_wall_seconds(), cpu = bench_cpu_seconds();
    snprintf(path, sizeof path, "%.4000s/wav", folder);
    mkdir(path, 0777);
    lvcsr_text_read(&text, &sizes->text);
    lvcsr_text_write(&text, folder);
    bench_check(trl_pool_create(THREADS, &pool, &err), &err);
    speech_part parts[] = {{.name = "train", .sentences = &text.train, .speakers = train, .wanted = sizes->train},
                           {.name = "test", .sentences = &text.test, .speakers = test, .wanted = sizes->test}};
    parts[0].speaker_count = sizes->train_speakers;
    parts[1].speaker_count = sizes->test_speakers;
    for (int i = 0; i < 2; i++) {
        parts[i].folder = folder;
        parts[i].noise = noise;
        double seconds = make_part(&parts[i], pool);
        printf("  (%s: %zu sentences, %.0f s of sound by %d speakers)\n", parts[i].name, parts[i].first, seconds,
               parts[i].speaker_count);
    }
    printf("  (text, language model and speech made in %.0f s, %.0f s of them this process's)\n",
           bench_wall_seconds() - start, bench_cpu_seconds() - cpu);
    trl_pool_destroy(pool);
    lvcsr_text_free(&text);
    free(noise);
    free(train);
    free(test);
}

const char *lvcsr_speech_open(lvcsr_speech *speech, const lvcsr_speech_sizes *sizes)
{
    const char *why = lvcsr_text_missing();
    char folder[4096];
    name_folder(sizes, speech->folder);
    name_files(speech);
    if (is_there(sizes))
        return NULL;
    if (!why)
        why = lvcsr_voices_missing();
    if (why)
        return why;
    bench_folder(folder, sizeof folder);
    make_all(sizes, folder);
    mkdir(TRELLIS_BUILD_DIR "/bench", 0777);
    if (rename(folder, speech->folder) != 0) {
        perror(speech->folder);
        exit(3);
    }
    return NULL;
}
