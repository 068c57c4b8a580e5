/* English as Debian installs it (pocketsphinx-en-us), beside pocketsphinx: letters, digits and commands with a trigram model of their own (AN4's test set), read sentences
 * (the sample of TIMIT) and the recordings of pocketsphinx-testdata with the 72,547 words of the stock language model; and half an hour of synthesised speech of 60,000
 * words with a trigram model that has not seen its text. */
#include "lvcsr_beside.h"
#include "lvcsr_speech.h"

#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/corpus.h>
#include <trellis/model.h>
#include <unistd.h>

#define RECORDINGS "/usr/share/pocketsphinx/test/data"
#define SAMPLE_BYTES 2
#define RATE 16000

/* Of a task's recordings, every n-th. */
static size_t stride_of(const bench_options *o)
{
    return o->tiny ? 40 : o->quick ? 10 : 1;
}

/* ---- AN4 ---- */

static void add_corpus(lvcsr_bench *b, lvcsr_task *t, const char *path)
{
    trl_error err;
    trl_findings *findings;
    trl_corpus *corpus;
    bench_check(trl_findings_create(&findings, &err), &err);
    bench_check(trl_corpus_read(path, NULL, findings, &corpus, &err), &err);
    for (size_t i = 0; i < trl_corpus_count(corpus); i += stride_of(b->options)) {
        const trl_utterance *u = trl_corpus_get(corpus, i);
        lvcsr_task_add(t, u->id, u->path, u->text);
    }
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
}

static int add_an4(lvcsr_bench *b, lvcsr_task *t)
{
    char place[4096], path[4200];
    if (!bench_shared("an4", place) || !bench_shared("an4/lm/an4_full.trigram.arpa", path))
        return 0;
    snprintf(t->language, sizeof t->language, "%s", path);
    snprintf(path, sizeof path, "%.4000s/test", place);
    add_corpus(b, t, path);
    return 1;
}

/* ---- Synthesised speech ---- */

static int add_synthesised(lvcsr_bench *b, lvcsr_task *t)
{
    lvcsr_speech speech;
    if (b->options->tiny || lvcsr_speech_open(&speech, lvcsr_speech_choose(b->options)))
        return 0;
    snprintf(t->language, sizeof t->language, "%s", speech.arpa);
    t->is_long = 1;
    add_corpus(b, t, speech.test);
    return 1;
}

/* ---- TIMIT ---- */

/* A line "first-sample last-sample Words, as they are written." as words: without marks, hyphens as blanks. */
static void read_sentence(const char *path, char *text, size_t size)
{
    char line[1000] = "";
    size_t used = 0;
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    for (const char *p = line + strspn(line, "0123456789 "); *p && used + 1 < size; p++)
        if (isalpha((unsigned char)*p) || *p == '\'')
            text[used++] = (char)tolower((unsigned char)*p);
        else if (*p == ' ' || *p == '-')
            text[used++] = ' ';
    text[used] = '\0';
}

static int add_timit(lvcsr_bench *b, lvcsr_task *t)
{
    char place[4096], path[4200], text[1000];
    glob_t found;
    if (!bench_shared("timit-sample", place))
        return 0;
    snprintf(path, sizeof path, "%.4000s/*/*.flac", place);
    if (glob(path, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i += stride_of(b->options)) {
        const char *sound = found.gl_pathv[i];
        int stem = (int)(strlen(sound) - strlen(".flac"));
        snprintf(path, sizeof path, "%.*s.txt", stem, sound);
        read_sentence(path, text, sizeof text);
        snprintf(path, sizeof path, "%.*s", stem - (int)strlen(place) - 1, sound + strlen(place) + 1);
        *strchr(path, '/') = '-'; /* speaker and sentence */
        lvcsr_task_add(t, path, sound, text);
    }
    globfree(&found);
    return 1;
}

/* ---- pocketsphinx-testdata ---- */

static void put_number(FILE *file, uint32_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(number >> (8 * i) & 255), file);
}

/* Samples without a header, as a WAV file that both programs read. */
static void wrap_samples(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    if (!in || !out || fseek(in, 0, SEEK_END) != 0) {
        perror(in ? to : from);
        exit(3);
    }
    uint32_t size = (uint32_t)ftell(in);
    rewind(in);
    fputs("RIFF", out);
    put_number(out, size + 36, 4);
    fputs("WAVEfmt ", out);
    put_number(out, 16, 4);
    put_number(out, 1 << 16 | 1, 4); /* one channel of PCM */
    put_number(out, RATE, 4);
    put_number(out, RATE * SAMPLE_BYTES, 4);
    put_number(out, 8 * SAMPLE_BYTES << 16 | SAMPLE_BYTES, 4);
    fputs("data", out);
    put_number(out, size, 4);
    for (int c; (c = fgetc(in)) != EOF;)
        fputc(c, out);
    fclose(in);
    fclose(out);
}

static void add_samples(lvcsr_task *t, const char *name, const char *said)
{
    char from[4200], to[4200];
    snprintf(from, sizeof from, RECORDINGS "/%s.raw", name);
    snprintf(to, sizeof to, "%.4000s/%s.wav", t->folder, name);
    wrap_samples(from, to);
    lvcsr_task_add(t, name, to, said);
}

/* Lines "<s> words </s> (id)"; the sound is beside them. */
static void add_transcripts(lvcsr_task *t, const char *folder, const char *file, size_t stride)
{
    char path[4200], line[1000], text[1000], id[300];
    snprintf(path, sizeof path, RECORDINGS "/%s/%s", folder, file);
    FILE *transcripts = fopen(path, "r");
    for (size_t i = 0; transcripts && fgets(line, sizeof line, transcripts); i++) {
        char *end = strstr(line, "</s>");
        if (!end || sscanf(end, "</s> (%299[^)])", id) != 1 || strncmp(line, "<s>", 3) != 0 || i % stride != 0)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)(end - line) - 4, line + 4);
        snprintf(path, sizeof path, RECORDINGS "/%s/%s.wav", folder, id);
        lvcsr_task_add(t, id, path, text);
    }
    if (transcripts)
        fclose(transcripts);
}

static int add_testdata(lvcsr_bench *b, lvcsr_task *t)
{
    if (access(RECORDINGS "/goforward.raw", R_OK) != 0)
        return 0;
    add_samples(t, "goforward", "go forward ten meters");
    if (b->options->tiny)
        return 1;
    add_samples(t, "something", "go somewhere and do something");
    add_transcripts(t, "cards", "cards.transcription", 1);
    add_transcripts(t, "librivox", "transcription", b->options->quick ? 2 : 1);
    return 1;
}

/* ---- All of them ---- */

typedef struct english_task {
    const char *name;
    int (*add)(lvcsr_bench *b, lvcsr_task *t); /* 0: it is not there */
} english_task;

static const english_task tasks[] = {
    {"an4", add_an4}, {"timit", add_timit}, {"testdata", add_testdata}, {"synthesised", add_synthesised}};

static void report(lvcsr_bench *b, const char *what, const char *task, double value, const char *unit,
                   const char *meaning)
{
    char key[100];
    snprintf(key, sizeof key, "%s_%s", what, task);
    if (isfinite(value))
        bench_report(b->result, key, value, unit, meaning);
    else
        bench_absent(b->result, key, "no beam of ours comes there");
}

static void report_task(lvcsr_bench *b, const char *task, const lvcsr_verdict *v)
{
    report(b, "wer", task, v->wer, "%", "ours, default beams");
    report(b, "wer_pocketsphinx", task, v->their_wer, "%", "pocketsphinx, default beams");
    report(b, "rtf", task, v->rtf, "", "ours: CPU seconds per second of sound");
    report(b, "rtf_pocketsphinx", task, v->their_rtf, "", "pocketsphinx");
    report(b, "speed_vs_pocketsphinx", task, v->speed, "x", "as fast, with no more errors than its default beams make");
    report(b, "wer_gap", task, v->wer_gap, "points", "the most that ours is worse at the speed of any of its runs");
}

/* 1: it was done. */
static int run_task(lvcsr_bench *b, const english_task *e, lvcsr_comparison *large, double *gap)
{
    lvcsr_task t = {.name = e->name};
    lvcsr_comparison found;
    lvcsr_task_begin(&t);
    int is_done = e->add(b, &t) && lvcsr_compare(b, &t, &found);
    lvcsr_task_end(&t);
    if (!is_done)
        return 0;
    lvcsr_verdict v = lvcsr_judge(b, e->name, &found);
    report_task(b, e->name, &v);
    *gap = fmax(*gap, v.wer_gap);
    if (!t.language[0])
        lvcsr_comparison_add(large, &found);
    return 1;
}

static const char *measure(lvcsr_bench *b)
{
    lvcsr_comparison large = {0};
    double gap = -INFINITY;
    trl_error err;
    trl_model *model;
    if (trl_model_import(LVCSR_MODEL, NULL, &model, &err) < 0)
        return "pocketsphinx-en-us is not installed";
    trl_model_destroy(model);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (!run_task(b, &tasks[i], &large, &gap))
            printf("  %s is not there, or pocketsphinx is not in build/venv\n", tasks[i].name);
    if (large.our_count == 0)
        return "no recordings, or no pocketsphinx";
    lvcsr_verdict v = lvcsr_judge(b, "stock language model", &large);
    report(b, "speed_vs_pocketsphinx", "stock", v.speed, "x", "all with the stock language model together");
    const json_t *half_hour = json_object_get(b->result, "speed_vs_pocketsphinx_synthesised");
    if (json_is_number(half_hour))
        bench_report(b->result, "speed_vs_pocketsphinx_at_equal_wer", json_number_value(half_hour), "x",
                     "half an hour of 60,000 words");
    if (isfinite(gap))
        bench_report(b->result, "wer_gap_to_pocketsphinx", gap, "points", "the largest wer_gap of the tasks");
    bench_report(b->result, "peak_mb", large.ours[0].peak_mb, "MB",
                 "ours with the stock language model, default beams");
    bench_report(b->result, "peak_mb_pocketsphinx", large.theirs[0].peak_mb, "MB", "pocketsphinx (in Python)");
    return NULL;
}

static const char *const keys[] = {"speed_vs_pocketsphinx_at_equal_wer", "wer_gap_to_pocketsphinx", "peak_mb",
                                   "peak_mb_pocketsphinx", NULL};

const lvcsr_part lvcsr_english = {"english", keys, measure};
