/* An hour of speech that comes as from a microphone: AN4's recordings, one after the other, in lots of 100 ms. Are the words those of the same sound in one go; what does a
 * second of it cost; how long does the slowest lot take; and does memory stay what it was after some minutes? */
#include "bench.h"
#include "child_process.h"
#include "train_bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trellis/audio.h>
#include <trellis/decode_stream.h>
#include <trellis/grammar.h>
#include <trellis/train.h>

#define RATE 16000
#define LOT (RATE / 10)

typedef struct stream_bench {
    char folder[4096], sound[4200];
    trl_findings *findings;
    trl_corpus *train, *test;
    trl_lexicon *lexicon;
    trl_model *model;
    trl_graph *graph;
    size_t samples; /* in the file */
} stream_bench;

/* What a run leaves, where parent and child see it. */
typedef struct stream_run {
    const stream_bench *bench;
    size_t samples, words;
    uint64_t hash; /* of the words and their frames */
    double cpu, worst_cpu, worst_wall, graph_cost, acoustic_cost;
    int32_t delay;
    trl_stream_summary summary;
} stream_run;

/* ---- The model, the graph, the sound ---- */

static void open_an4(stream_bench *b, const char *place)
{
    char path[4200];
    trl_error err;
    bench_folder(b->folder, sizeof b->folder);
    bench_check(trl_findings_create(&b->findings, &err), &err);
    snprintf(path, sizeof path, "%.4000s/train", place);
    bench_check(trl_corpus_read(path, NULL, b->findings, &b->train, &err), &err);
    snprintf(path, sizeof path, "%.4000s/test", place);
    bench_check(trl_corpus_read(path, NULL, b->findings, &b->test, &err), &err);
    snprintf(path, sizeof path, "%.4000s/lexicon.txt", place);
    bench_check(trl_lexicon_read(path, NULL, &b->lexicon, &err), &err);
}

static void train_model(stream_bench *b, int tiny)
{
    trl_error err;
    trl_train_options o = trl_train_defaults();
    trl_frontend *frontend = train_frontend();
    o.stages = tiny ? "mono" : "mono,tri";
    o.iterations = tiny ? 1 : 3;
    o.folder = b->folder;
    bench_check(trl_train(tiny ? b->test : b->train, b->lexicon, frontend, &o, NULL, b->findings, &b->model, &err),
                &err);
    trl_frontend_destroy(frontend);
}

static void build_graph(stream_bench *b)
{
    trl_error err;
    size_t count = trl_lexicon_words(b->lexicon);
    const char **words = malloc(count * sizeof *words);
    trl_fst *grammar;
    if (!words)
        exit(3);
    for (size_t i = 0; i < count; i++)
        words[i] = trl_lexicon_word(b->lexicon, i);
    bench_check(trl_grammar_word_loop(words, count, NULL, &grammar, &err), &err);
    bench_check(trl_graph_build(b->model, b->lexicon, grammar, NULL, &b->graph, NULL, &err), &err);
    trl_fst_destroy(grammar);
    free(words);
}

static void put_number(FILE *file, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putc((int)(value >> 8 * i & 255), file);
}

static void put_header(FILE *file, uint32_t size)
{
    rewind(file);
    fwrite("RIFF", 1, 4, file);
    put_number(file, size + 36, 4);
    fwrite("WAVEfmt ", 1, 8, file);
    put_number(file, 16, 4);
    put_number(file, 1, 2);
    put_number(file, 1, 2);
    put_number(file, RATE, 4);
    put_number(file, 2 * RATE, 4);
    put_number(file, 2, 2);
    put_number(file, 16, 2);
    fwrite("data", 1, 4, file);
    put_number(file, size, 4);
}

/* Recordings of both sets, again and again, until there are enough seconds. */
static void write_sound(stream_bench *b, double seconds)
{
    trl_error err;
    snprintf(b->sound, sizeof b->sound, "%s/stream.wav", b->folder);
    FILE *file = fopen(b->sound, "wb");
    if (!file)
        exit(3);
    put_header(file, 0);
    trl_audio_options o = trl_audio_defaults();
    o.rate = RATE;
    size_t tests = trl_corpus_count(b->test), all = tests + trl_corpus_count(b->train);
    for (size_t i = 0; (double)b->samples < seconds * RATE; i++) {
        size_t number = i % all;
        const trl_utterance *u =
            number < tests ? trl_corpus_get(b->test, number) : trl_corpus_get(b->train, number - tests);
        float *samples;
        size_t count;
        bench_check(trl_audio_read_file(u->path, &o, NULL, &samples, &count, &err), &err);
        for (size_t k = 0; k < count; k++)
            put_number(file, (uint32_t)(int32_t)(samples[k] * 32768), 2);
        trl_audio_free(samples);
        b->samples += count;
    }
    put_header(file, (uint32_t)(2 * b->samples));
    if (fclose(file) != 0)
        exit(3);
}

static void close_an4(stream_bench *b)
{
    trl_graph_destroy(b->graph);
    trl_model_destroy(b->model);
    trl_lexicon_destroy(b->lexicon);
    trl_corpus_destroy(b->train);
    trl_corpus_destroy(b->test);
    trl_findings_destroy(b->findings);
    bench_remove_folder(b->folder);
}

/* ---- Words ---- */

static void take_words(stream_run *r, trl_segments words)
{
    for (size_t i = 0; i < words.count; i++) {
        const trl_segment *s = &words.items[i];
        for (const char *c = s->label; *c; c++)
            r->hash = (r->hash ^ (uint8_t)*c) * 1099511628211u; /* FNV */
        r->hash = (r->hash ^ (uint64_t)s->first << 32 ^ (uint64_t)s->end) * 1099511628211u;
        r->words++;
    }
}

static int use_stream(void *user, const trl_stream_words *w, trl_error *err)
{
    (void)err;
    stream_run *r = user;
    take_words(r, w->words);
    r->graph_cost += w->graph_cost;
    r->acoustic_cost += w->acoustic_cost;
    return 0;
}

static int use_decoding(void *user, const trl_decoding *d, trl_error *err)
{
    (void)err;
    stream_run *r = user;
    take_words(r, d->words);
    r->graph_cost = d->graph_cost;
    r->acoustic_cost = d->acoustic_cost;
    return 0;
}

/* ---- Runs ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void run_stream(void *user)
{
    stream_run *r = user;
    trl_error err;
    trl_audio *audio;
    trl_decode_stream *stream;
    static float lot[LOT];
    bench_check(trl_audio_open(r->bench->sound, NULL, NULL, &audio, &err), &err);
    double begin = bench_cpu_seconds();
    bench_check(trl_decode_stream_create(r->bench->model, r->bench->graph, NULL, use_stream, r, &stream, &err), &err);
    r->delay = trl_decode_stream_delay(stream);
    for (size_t got = 1, done = 0; got > 0 && done < r->samples; done += got) {
        bench_check(trl_audio_read(audio, lot, LOT, &got, &err), &err);
        double cpu = bench_cpu_seconds(), wall = bench_wall_seconds();
        bench_check(trl_decode_stream_push(stream, lot, got, &err), &err);
        r->worst_cpu = larger(r->worst_cpu, bench_cpu_seconds() - cpu);
        r->worst_wall = larger(r->worst_wall, bench_wall_seconds() - wall);
    }
    bench_check(trl_decode_stream_finish(stream, &err), &err);
    r->cpu = bench_cpu_seconds() - begin;
    r->summary = trl_decode_stream_summarise(stream);
    trl_decode_stream_destroy(stream);
    trl_audio_close(audio);
}

static void run_one_go(void *user)
{
    stream_run *r = user;
    trl_error err;
    trl_corpus *corpus;
    trl_corpus_options reading = trl_corpus_defaults();
    trl_decode_options o = trl_decode_defaults();
    reading.need_text = 0;
    o.online = 1;
    bench_check(trl_corpus_read(r->bench->sound, &reading, r->bench->findings, &corpus, &err), &err);
    double begin = bench_cpu_seconds();
    bench_check(trl_decode_corpus(r->bench->model, r->bench->graph, corpus, &o, NULL, r->bench->findings, use_decoding,
                                  r, NULL, &err),
                &err);
    r->cpu = bench_cpu_seconds() - begin;
    trl_corpus_destroy(corpus);
}

static void measure(stream_bench *b, json_t *result)
{
    stream_run *runs = child_shared(3 * sizeof *runs);
    for (int i = 0; i < 3; i++)
        runs[i] = (stream_run){.bench = b, .samples = i == 0 ? b->samples / 10 : b->samples};
    child_peaks tenth = child_run(run_stream, &runs[0]), all = child_run(run_stream, &runs[1]);
    child_peaks whole = child_run(run_one_go, &runs[2]);
    const stream_run *s = &runs[1], *o = &runs[2];
    double seconds = (double)b->samples / RATE;
    bench_report(result, "stream_seconds", seconds, "s", "of sound");
    bench_report(result, "stream_words", (double)s->words, "", "found in it");
    bench_report(result, "stream_same", s->hash == o->hash && s->words == o->words, "",
                 "1: words and times are those of one go");
    bench_report(result, "stream_cpu_ms_per_s", 1000 * s->cpu / seconds, "ms", "of one core for a second of sound");
    bench_report(result, "one_go_cpu_ms_per_s", 1000 * o->cpu / seconds, "ms", "the same in one go");
    bench_report(result, "stream_worst_cpu_ms", 1000 * s->worst_cpu, "ms", "the slowest 100 ms of sound");
    bench_report(result, "stream_worst_wall_ms", 1000 * s->worst_wall, "ms", "the same, with what else ran");
    bench_report(result, "stream_delay_frames", s->delay, "", "that the search is behind the sound, at most");
    bench_report(result, "stream_open_s", 0.01 * s->summary.most_open, "s", "not settled, at most");
    bench_report(result, "stream_forced", (double)s->summary.forced, "", "times that words were chosen early");
    bench_report(result, "stream_peak_mb_tenth", tenth.own, "MB", "memory, a tenth of the sound");
    bench_report(result, "stream_peak_mb", all.own, "MB", "memory, all of it");
    bench_report(result, "one_go_peak_mb", whole.own, "MB", "memory, in one go");
    child_shared_free(runs, 3 * sizeof *runs);
}

static int bench_run(const bench_options *options, json_t *result)
{
    char place[4096];
    stream_bench b = {0};
    if (!bench_shared("an4", place)) {
        bench_absent(result, "stream_same", "AN4 is not there");
        return 0;
    }
    open_an4(&b, place);
    train_model(&b, options->tiny);
    build_graph(&b);
    write_sound(&b, options->tiny ? 120 : options->quick ? 900 : 3600);
    measure(&b, result);
    close_an4(&b);
    return 0;
}

const bench bench_stream = {"stream", "recognition of an hour of sound while it comes", bench_run};
