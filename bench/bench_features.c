/* Features: our speed per core against kaldi-native-fbank's on the same sound in the same run, from files, with two
 * threads, and where the time goes.
 *
 * The sound is AN4's training set where ../shared has it, else the corpus named with --corpus. Both sides compute MFCC,
 * CMVN over the utterance, deltas and delta-deltas. CPU seconds of one thread, the best of several alternating runs
 * each, because other work on the machine only ever adds.
 */
#define _DEFAULT_SOURCE /* wait4 */
#include "bench.h"
#include "feat/static_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <trellis/audio.h>
#include <trellis/extract.h>
#include <trellis/feature_file.h>
#include <unistd.h>

typedef struct sound {
    float **samples;
    size_t *counts;
    size_t utterances;
    double seconds;
} sound;

typedef struct state {
    const bench_options *options;
    json_t *result;
    int runs;
    trl_corpus *corpus;
    trl_findings *findings;
    trl_frontend *frontend; /* MFCC + CMVN + deltas */
    trl_frontend *plain;    /* MFCC alone */
    trl_frontend *bank;     /* log-mel alone */
    sound sound;
} state;

static trl_frontend *make_frontend(const char *preset, int whole)
{
    trl_error err;
    trl_frontend_options o;
    trl_frontend *frontend;
    bench_check(trl_frontend_preset(&o, preset, &err), &err);
    if (whole) {
        o.cmvn = TRL_CMVN_UTTERANCE;
        o.deltas = 2;
    }
    bench_check(trl_frontend_create(&o, &frontend, &err), &err);
    return frontend;
}

static trl_corpus *read_sound_only(const char *place, trl_findings *findings)
{
    trl_error err;
    trl_corpus *corpus;
    trl_corpus_options o = trl_corpus_defaults();
    o.need_text = 0;
    bench_check(trl_corpus_read(place, &o, findings, &corpus, &err), &err);
    return corpus;
}

static void read_corpus(state *s)
{
    trl_error err;
    char shared[4096];
    const char *place = s->options->corpus;
    if (!place)
        place = bench_shared("an4/train", shared);
    if (!place) {
        snprintf(shared, sizeof shared, "%s/build/demo/corpus", TRELLIS_SOURCE_DIR);
        place = shared;
    }
    bench_check(trl_findings_create(&s->findings, &err), &err);
    s->corpus = read_sound_only(place, s->findings);
    json_object_set_new(s->result, "utterances", json_integer((json_int_t)trl_corpus_count(s->corpus)));
}

/* Decodes everything into memory; the CPU time of that is what decoding costs. */
static double decode(state *s)
{
    trl_error err;
    size_t count = trl_corpus_count(s->corpus);
    double rate = trl_frontend_get(s->frontend)->rate;
    s->sound = (sound){calloc(count, sizeof(float *)), calloc(count, sizeof(size_t)), count, 0};
    double start = bench_cpu_seconds();
    for (size_t i = 0; i < count; i++) {
        bench_check(trl_extract_samples(trl_corpus_get(s->corpus, i), s->frontend, 0, &s->sound.samples[i],
                                        &s->sound.counts[i], &err),
                    &err);
        s->sound.seconds += (double)s->sound.counts[i] / rate;
    }
    return bench_cpu_seconds() - start;
}

/* One pass of the whole front end over the sound in memory. */
static double run_ours(const state *s, size_t *frame_count, double *sum)
{
    trl_error err;
    trl_extractor *extractor;
    trl_matrix frames = {0};
    bench_check(trl_extractor_create(s->frontend, &extractor, &err), &err);
    *frame_count = 0;
    *sum = 0;
    double start = bench_cpu_seconds();
    for (size_t i = 0; i < s->sound.utterances; i++) {
        bench_check(trl_extractor_run(extractor, s->sound.samples[i], s->sound.counts[i], NULL, &frames, &err), &err);
        *frame_count += frames.rows;
        for (size_t k = 0; k < frames.rows * frames.cols; k++)
            *sum += (double)fabsf(frames.data[k]);
    }
    double used = bench_cpu_seconds() - start;
    trl_extractor_destroy(extractor);
    trl_matrix_free(&frames);
    return used;
}

/* ---- The peer ---- */

static int build_peer(char *program, size_t size)
{
    char command[8192];
    snprintf(program, size, "%s/kaldi_native_fbank", TRELLIS_BUILD_DIR);
    /* The wheel's library uses libstdc++'s older strings. */
    snprintf(
        command, sizeof command,
        "package=$(echo %s/build/venv/lib/python3*/site-packages/kaldi_native_fbank) && [ -d \"$package/include\" ] && "
        "g++ -O3 -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0 -I\"$package/include\" %s/bench/peers/kaldi_native_fbank.cc -o "
        "%s "
        "-L\"$package/lib\" -lkaldi-native-fbank-core -Wl,-rpath,\"$package/lib\"",
        TRELLIS_SOURCE_DIR, TRELLIS_SOURCE_DIR, program);
    return system(command) == 0 ? 0 : -1;
}

static void write_sound(const sound *all, const char *path)
{
    FILE *file = fopen(path, "wb");
    for (size_t i = 0; file && i < all->utterances; i++) {
        int32_t count = (int32_t)all->counts[i];
        fwrite(&count, sizeof count, 1, file);
        fwrite(all->samples[i], sizeof(float), all->counts[i], file);
    }
    if (!file || fclose(file) != 0) {
        fprintf(stderr, "trellis-bench: %s: can't write\n", path);
        exit(3);
    }
}

typedef struct peer_result {
    double mfcc, all, sum;
    size_t frames;
} peer_result;

static int run_peer(const char *program, const char *data, double rate, peer_result *r)
{
    char command[8300], line[256] = "", *cursor = line;
    snprintf(command, sizeof command, "%s %s %g 1", program, data, rate);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return -1;
    if (!fgets(line, sizeof line, pipe))
        line[0] = '\0';
    r->mfcc = strtod(cursor, &cursor);
    r->all = strtod(cursor, &cursor);
    r->frames = strtoul(cursor, &cursor, 10);
    r->sum = strtod(cursor, &cursor);
    return pclose(pipe) == 0 && *cursor == '\n' ? 0 : -1;
}

/* Alternating runs of both sides; the checksums show that they computed the same. */
static int compare(state *s)
{
    char program[4096], data[4096];
    double rate = trl_frontend_get(s->frontend)->rate, ours = INFINITY, sum = 0;
    peer_result peer = {INFINITY, INFINITY, 0, 0};
    size_t frames = 0;
    int has_peer = build_peer(program, sizeof program) == 0;
    snprintf(data, sizeof data, "%s/bench-sound.%ld", TRELLIS_BUILD_DIR, (long)getpid());
    if (has_peer)
        write_sound(&s->sound, data);
    for (int run = 0; run < s->runs; run++) {
        ours = fmin(ours, run_ours(s, &frames, &sum));
        peer_result once;
        if (has_peer && run_peer(program, data, rate, &once) == 0) {
            once.mfcc = fmin(once.mfcc, peer.mfcc);
            once.all = fmin(once.all, peer.all);
            peer = once;
        } else {
            has_peer = 0;
        }
    }
    remove(data);
    bench_report(s->result, "seconds_of_sound", s->sound.seconds, "s", "");
    bench_report(s->result, "us_per_frame", 1e6 * ours / (double)frames, "us",
                 "one thread, from memory: MFCC, CMVN, deltas");
    bench_report(s->result, "realtime_per_core_from_memory", s->sound.seconds / ours, "x",
                 "the same as a multiple of real time");
    if (!has_peer) {
        fputs("trellis-bench: kaldi-native-fbank can't be built or run; `scripts/setup test` installs it\n", stderr);
        return 3;
    }
    bench_report(s->result, "peer_us_per_frame", 1e6 * peer.all / (double)peer.frames, "us",
                 "kaldi-native-fbank, same work, C++");
    bench_report(s->result, "peer_us_per_frame_mfcc", 1e6 * peer.mfcc / (double)peer.frames, "us", "of which its MFCC");
    bench_report(s->result, "vs_kaldi_native_fbank", peer.all / ours, "x", "how many times faster we are, per core");
    bench_report(s->result, "difference_from_peer", fabs(sum / peer.sum - 1), "",
                 "relative, of the sums of all absolute values");
    return peer.frames == frames ? 0 : 3;
}

/* ---- From files ---- */

static int write_frames(void *user, const trl_utterance *utterance, const trl_matrix *frames, trl_error *err)
{
    return trl_feature_writer_add(user, utterance->id, frames, err);
}

typedef struct cost {
    double wall, cpu;
} cost;

/* Sound files to a packed feature file. */
static cost run_from_files(const state *s, const trl_corpus *corpus, int threads)
{
    trl_error err;
    char path[4096];
    trl_pool *pool;
    trl_feature_writer *writer;
    snprintf(path, sizeof path, "%s/bench-features.%ld.trf", TRELLIS_BUILD_DIR, (long)getpid());
    bench_check(trl_pool_create(threads, &pool, &err), &err);
    double wall = bench_wall_seconds(), cpu = bench_cpu_seconds();
    bench_check(trl_feature_writer_open(path, NULL, &writer, &err), &err);
    bench_check(trl_extract_corpus(corpus, s->frontend, NULL, pool, s->findings, write_frames, writer, NULL, &err),
                &err);
    double before_sync = bench_wall_seconds() - wall; /* the disk's own time is not ours to divide by threads */
    bench_check(trl_feature_writer_commit(writer, &err), &err);
    cost used = {before_sync, bench_cpu_seconds() - cpu};
    trl_pool_destroy(pool);
    remove(path);
    return used;
}

static void measure_from_files(state *s)
{
    cost one = {INFINITY, INFINITY}, two = one;
    for (int run = 0; run < 2 * s->runs; run++) { /* twice as many: wall time suffers most from other work */
        cost a = run_from_files(s, s->corpus, 1), b = run_from_files(s, s->corpus, 2);
        one = (cost){fmin(one.wall, a.wall), fmin(one.cpu, a.cpu)};
        two = (cost){fmin(two.wall, b.wall), fmin(two.cpu, b.cpu)};
    }
    bench_report(s->result, "realtime_per_core", s->sound.seconds / one.cpu, "x",
                 "from sound files to a packed file, per CPU second");
    bench_report(s->result, "wall_1_thread", one.wall, "s", "");
    bench_report(s->result, "wall_2_threads", two.wall, "s", "");
    bench_report(s->result, "scaling_2_threads", one.wall / two.wall, "x", "wall time of one thread over two");
}

/* ---- Memory ---- */

/* The peak of a child process that works through the corpus `times` times over (as one manifest), in MB. */
static double peak_memory(const state *s, int times)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/bench-corpus.%ld.tsv", TRELLIS_BUILD_DIR, (long)getpid());
    FILE *manifest = fopen(path, "w");
    if (!manifest)
        return -1;
    fputs("id\tpath\n", manifest);
    for (int copy = 0; copy < times; copy++)
        for (size_t i = 0; i < trl_corpus_count(s->corpus); i++)
            fprintf(manifest, "%s-%d\t%s\n", trl_corpus_get(s->corpus, i)->id, copy,
                    trl_corpus_get(s->corpus, i)->path);
    fclose(manifest);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run_from_files(s, read_sound_only(path, s->findings), 2);
        _exit(0);
    }
    int status = 1;
    struct rusage usage = {0};
    wait4(child, &status, 0, &usage);
    remove(path);
    return status == 0 ? (double)usage.ru_maxrss / 1024 : -1;
}

static void measure_memory(state *s)
{
    int times = s->options->quick ? 2 : 4;
    bench_report(s->result, "peak_memory_once", peak_memory(s, 1), "MB", "of a process that extracts the corpus");
    bench_report(s->result, "peak_memory_longer", peak_memory(s, times), "MB",
                 times == 2 ? "the corpus twice over" : "the corpus four times over");
}

/* ---- Shares ---- */

/* CPU seconds of the kernel's first `steps` steps over all the sound; differences give the cost of each step. */
static double run_steps(const state *s, const trl_frontend *f, int steps)
{
    trl_error err;
    const trl__static_kernel *kernel = trl__static_kernel_choose();
    trl__static_work work;
    float out[TRL__MOST_LANES * 64];
    bench_check(trl__static_work_create(f, &work, &err), &err);
    double start = bench_cpu_seconds();
    for (size_t i = 0; i < s->sound.utterances; i++) {
        size_t frames = trl_frontend_frames(f, s->sound.counts[i]);
        for (size_t t = 0; t + kernel->lanes < frames; t += kernel->lanes) {
            kernel->window(f, &work, s->sound.samples[i] + t * (size_t)f->shift, kernel->lanes);
            if (steps > 1)
                kernel->transform(f, &work);
            if (steps > 2)
                kernel->filterbank(f, &work);
            if (steps > 3)
                kernel->cepstra(f, &work, kernel->lanes, out, 64);
        }
    }
    double used = bench_cpu_seconds() - start;
    free(work.time);
    return used;
}

static double best_steps(const state *s, const trl_frontend *f, int steps)
{
    double best = INFINITY;
    for (int run = 0; run < s->runs; run++)
        best = fmin(best, run_steps(s, f, steps));
    return best;
}

static double time_output(const state *s)
{
    trl_error err;
    trl_extractor *extractor;
    trl_feature_writer *writer;
    trl_matrix frames = {0};
    char path[4096];
    double used = 0;
    snprintf(path, sizeof path, "%s/bench-output.%ld.trf", TRELLIS_BUILD_DIR, (long)getpid());
    bench_check(trl_extractor_create(s->frontend, &extractor, &err), &err);
    bench_check(trl_feature_writer_open(path, NULL, &writer, &err), &err);
    for (size_t i = 0; i < s->sound.utterances; i++) {
        bench_check(trl_extractor_run(extractor, s->sound.samples[i], s->sound.counts[i], NULL, &frames, &err), &err);
        double start = bench_cpu_seconds();
        bench_check(trl_feature_writer_add(writer, trl_corpus_get(s->corpus, i)->id, &frames, &err), &err);
        used += bench_cpu_seconds() - start;
    }
    double start = bench_cpu_seconds();
    bench_check(trl_feature_writer_commit(writer, &err), &err);
    used += bench_cpu_seconds() - start;
    remove(path);
    trl_extractor_destroy(extractor);
    trl_matrix_free(&frames);
    return used;
}

static void measure_shares(state *s, double decoding)
{
    size_t frames;
    double sum, all = INFINITY;
    for (int run = 0; run < s->runs; run++)
        all = fmin(all, run_ours(s, &frames, &sum));
    double window = best_steps(s, s->plain, 1), fft = best_steps(s, s->plain, 2) - window;
    double mel = best_steps(s, s->plain, 3) - window - fft, before = window + fft + mel;
    double logarithm = best_steps(s, s->bank, 4) - before, cosine = best_steps(s, s->plain, 4) - before - logarithm;
    double rest = all - before - logarithm - cosine, output = time_output(s), total = all + decoding + output;
    bench_report(s->result, "share_decoding", 100 * decoding / total, "%",
                 "of the CPU time from sound file to packed file");
    bench_report(s->result, "share_window", 100 * window / total, "%", "gathering, mean, pre-emphasis, window, energy");
    bench_report(s->result, "share_fft", 100 * fft / total, "%", "transform and power spectrum");
    bench_report(s->result, "share_mel", 100 * mel / total, "%", "filterbank");
    bench_report(s->result, "share_log", 100 * logarithm / total, "%", "logarithms");
    bench_report(s->result, "share_dct", 100 * cosine / total, "%", "cosine transform and lifter");
    bench_report(s->result, "share_cmvn_deltas", 100 * rest / total, "%", "CMVN, deltas, copying");
    bench_report(s->result, "share_output", 100 * output / total, "%", "packing, checksums, writing");
}

static int run(const bench_options *options, json_t *result)
{
    state s = {.options = options, .result = result, .runs = options->quick ? 3 : 7};
    s.frontend = make_frontend("mfcc", 1);
    s.plain = make_frontend("mfcc", 0);
    s.bank = make_frontend("fbank", 0);
    read_corpus(&s);
    measure_memory(&s); /* first: a child process starts with what its parent holds */
    double decoding = decode(&s);
    int code = compare(&s);
    measure_from_files(&s);
    measure_shares(&s, decoding);
    for (size_t i = 0; i < s.sound.utterances; i++)
        trl_audio_free(s.sound.samples[i]);
    free(s.sound.samples);
    free(s.sound.counts);
    trl_frontend_destroy(s.frontend);
    trl_frontend_destroy(s.plain);
    trl_frontend_destroy(s.bank);
    trl_corpus_destroy(s.corpus);
    trl_findings_destroy(s.findings);
    return code;
}

const bench bench_features = {
    "features", "MFCC + CMVN + deltas: speed per core, against kaldi-native-fbank, with two threads, shares", run};
