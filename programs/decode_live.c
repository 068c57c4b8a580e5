/* Words are written when they are final, and flushed. Ctrl-C ends the sound, not the command: what has come is decoded to its end. */
#include "cli_json.h"
#include "decode_live.h"
#include "decode_profile.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trellis/file.h>

#define LOT 0.1 /* seconds of sound that are asked for at a time */

typedef struct live_job {
    const live_decoding *live;
    trl_decode_stream *stream;
    trl_audio_stream *sound;
    trl_file *file; /* NULL: standard output */
    char *name;     /* of the sound */
    size_t number;  /* of the utterance, from 1 */
    int has_begun;  /* text: its line */
    size_t count;   /* of its words */
    double start;   /* of the utterance, where one has begun */
    json_t *words;  /* of the utterance */
    char *shown;    /* the last partial result */
    double slowest; /* seconds that a push took */
} live_job;

static volatile sig_atomic_t is_interrupted;

static void note_interruption(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* ---- What is written ---- */

static int write_text(live_job *j, const char *text, trl_error *err)
{
    size_t size = strlen(text);
    if (j->file)
        return trl_file_write(j->file, text, size, err);
    if (fwrite(text, 1, size, stdout) < size || fflush(stdout) != 0)
        return cli_error(err, TRL_EIO, "standard output: writing failed: %s", strerror(errno));
    return 0;
}

/* Takes the object over. */
static int write_json(live_job *j, json_t *object, trl_error *err)
{
    char *text = cli_json_text(object, JSON_COMPACT | JSON_REAL_PRECISION(12), err);
    int code = text ? write_text(j, text, err) : err->code;
    free(text);
    return code < 0 ? code : write_text(j, "\n", err);
}

static void name_utterance(const live_job *j, char *name, size_t size)
{
    if (j->live->options.pause > 0 || j->live->options.longest > 0)
        snprintf(name, size, "%s-%04zu", j->name, j->number);
    else
        snprintf(name, size, "%s", j->name);
}

/* To the microsecond, as in the words of files: a frame's edges need half milliseconds. */
static double rounded(double seconds)
{
    return round(seconds * 1e6) / 1e6;
}

static json_t *word_json(const trl_segment *s)
{
    return json_pack("{s:s,s:f,s:f}", "word", s->label, "start", rounded(s->start), "end", rounded(s->stop));
}

static int write_words_text(live_job *j, const trl_stream_words *w, const char *name, trl_error *err)
{
    int code = 0;
    if (!j->has_begun && (w->words.count > 0 || w->ends_utterance))
        code = write_text(j, name, err);
    j->has_begun |= w->words.count > 0;
    for (size_t i = 0; code == 0 && i < w->words.count; i++) {
        code = write_text(j, " ", err);
        if (code == 0)
            code = write_text(j, w->words.items[i].label, err);
    }
    return code == 0 && w->ends_utterance ? write_text(j, "\n", err) : code;
}

static int write_words_ctm(live_job *j, const trl_stream_words *w, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < w->words.count; i++) {
        const trl_segment *s = &w->words.items[i];
        char times[80];
        double start = rounded(s->start);
        snprintf(times, sizeof times, " 1 %.12g %.12g ", start, rounded(rounded(s->stop) - start));
        const char *const parts[] = {j->name, times, s->label, "\n"};
        for (size_t k = 0; code == 0 && k < sizeof parts / sizeof *parts; k++)
            code = write_text(j, parts[k], err);
    }
    return code;
}

static int write_words_json(live_job *j, const trl_stream_words *w, const char *name, trl_error *err)
{
    json_t *final = json_array();
    for (size_t i = 0; i < w->words.count; i++) {
        json_array_append_new(final, word_json(&w->words.items[i]));
        json_array_append_new(j->words, word_json(&w->words.items[i]));
    }
    int code = 0;
    if (j->live->partial && w->words.count > 0)
        code = write_json(j, json_pack("{s:s,s:f,s:O}", "id", name, "time", rounded(w->stop), "final", final), err);
    json_decref(final);
    if (code < 0 || !w->ends_utterance)
        return code;
    code = write_json(j,
                      json_pack("{s:s,s:s,s:f,s:f,s:O,s:i,s:f,s:f,s:b}", "id", name, "file", j->live->path, "start",
                                rounded(j->start), "end", rounded(w->stop), "words", j->words, "frames", (int)w->frames,
                                "graph_cost", w->graph_cost, "acoustic_cost", w->acoustic_cost, "reached_end",
                                w->reached_end),
                      err);
    json_array_clear(j->words);
    return code;
}

static int use_words(void *user, const trl_stream_words *w, trl_error *err)
{
    live_job *j = user;
    char name[600];
    j->count += w->words.count;
    if (w->ends_utterance && j->count == 0 && j->number > 1) /* the silence behind the last pause */
        return 0;
    name_utterance(j, name, sizeof name);
    int code = j->live->format == LIVE_TEXT  ? write_words_text(j, w, name, err)
               : j->live->format == LIVE_CTM ? write_words_ctm(j, w, err)
                                             : write_words_json(j, w, name, err);
    if (w->ends_utterance) {
        j->number++;
        j->has_begun = 0;
        j->count = 0;
        j->start = w->stop;
    }
    return code;
}

/* "A B C"; freed by free. */
static char *join(const char **words, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(words[i]) + 1;
    char *text = malloc(size), *at = text;
    for (size_t i = 0; text && i < count; i++)
        at += sprintf(at, "%s%s", i > 0 ? " " : "", words[i]);
    if (text)
        *at = '\0';
    return text;
}

/* Where it is another than the last one. */
static int show_partial(live_job *j, trl_error *err)
{
    trl_stream_partial p;
    char name[600];
    int code = trl_decode_stream_partial(j->stream, &p, err);
    if (code < 0)
        return code;
    char *settled = join(p.settled, p.settled_count), *tentative = join(p.tentative, p.tentative_count);
    char *both = settled && tentative ? malloc(strlen(settled) + strlen(tentative) + 2) : NULL;
    if (both) {
        sprintf(both, "%s\n%s", settled, tentative);
        name_utterance(j, name, sizeof name);
        if (!j->shown || strcmp(j->shown, both) != 0)
            code = write_json(j,
                              json_pack("{s:s,s:f,s:s,s:s}", "id", name, "time", rounded(p.seconds), "settled", settled,
                                        "tentative", tentative),
                              err);
        free(j->shown);
        j->shown = both;
    } else {
        code = cli_error(err, TRL_ENOMEM, "out of memory");
    }
    free(settled);
    free(tentative);
    return code;
}

/* ---- The work ---- */

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int is_over(void *user)
{
    const live_job *j = user;
    return is_interrupted || (j->live->pid > 0 && kill((pid_t)j->live->pid, 0) < 0 && errno == ESRCH);
}

static int decode_lot(live_job *j, const float *samples, size_t count, trl_error *err)
{
    double begin = clock_seconds();
    int code = trl_decode_stream_push(j->stream, samples, count, err);
    double took = clock_seconds() - begin;
    j->slowest = took > j->slowest ? took : j->slowest;
    return code == 0 && j->live->partial ? show_partial(j, err) : code;
}

/* Where the sound breaks off, the words that it has come first. */
static int decode_all(live_job *j, trl_error *err)
{
    size_t capacity = (size_t)(LOT * trl_decode_stream_rate(j->stream)) + 1, got = 1;
    float *samples = malloc(capacity * sizeof *samples);
    trl_error why = {0};
    int broken = 0, code = samples ? 0 : cli_error(err, TRL_ENOMEM, "out of memory");
    while (code == 0 && got > 0 && !is_interrupted) {
        broken = trl_audio_stream_read(j->sound, samples, capacity, &got, &why);
        if (got > 0)
            code = decode_lot(j, samples, got, err);
        if (broken < 0)
            break;
    }
    free(samples);
    if (code == 0)
        code = trl_decode_stream_finish(j->stream, err);
    if (code == 0 && broken < 0) {
        *err = why;
        return broken;
    }
    return code;
}

static char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path;
    char *name = strdup(base), *dot = name ? strrchr(name, '.') : NULL;
    if (dot && dot > name)
        *dot = '\0';
    return name;
}

static int open_all(live_job *j, const trl_model *model, const trl_graph *graph, trl_error *err)
{
    const live_decoding *live = j->live;
    trl_audio_stream_options o = trl_audio_stream_defaults();
    int code = trl_decode_stream_create(model, graph, &live->options, use_words, j, &j->stream, err);
    if (code < 0)
        return code;
    o.rate = trl_decode_stream_rate(j->stream);
    o.channel = live->channel == TRL_CHANNEL_UNSAID ? 0 : live->channel;
    o.raw_rate = live->raw;
    o.follow = live->follow;
    o.is_over = is_over;
    o.user = j;
    j->number = 1;
    j->name = stem_of(live->path);
    j->words = json_array();
    if (!j->name || !j->words)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    trl_audio_info info;
    code = trl_audio_stream_open(live->path, &o, &info, &j->sound, err);
    if (code == 0 && info.rate < o.rate)
        cli_say(live->common,
                "%s: recorded at %g Hz, less than the model's %g Hz: its filters above %g Hz hear nothing; expect more "
                "errors",
                live->path, info.rate, o.rate, info.rate / 2);
    if (code == 0 && info.channels > 1 && live->channel == TRL_CHANNEL_UNSAID)
        cli_say(live->common, "%s: has %d channels; the first one is taken (--channel chooses)", live->path,
                info.channels);
    if (code == 0 && live->output && strcmp(live->output, "-") != 0)
        code = trl_file_create(live->output, &j->file, err);
    return code;
}

static void say_summary(const live_job *j, double elapsed)
{
    const cli_common *common = j->live->common;
    trl_stream_summary s = trl_decode_stream_summarise(j->stream);
    double shift = s.frames > 0 ? s.seconds / (double)s.frames : 0;
    cli_say(common,
            "%zu utterance%s, %zu words, %.1f s of sound in %.2f s; %.0f tokens and log-likelihood %.3f per frame",
            s.utterances, s.utterances == 1 ? "" : "s", s.words, s.seconds, elapsed, s.tokens, s.log_likelihood);
    cli_say(common,
            "the search was at most %d frames behind the sound and took at most %.0f ms for %.0f ms of it; words were "
            "final at most %.1f s later",
            (int)trl_decode_stream_delay(j->stream), 1000 * j->slowest, 1000 * LOT, s.most_open * shift);
    if (s.words == 0)
        cli_say(common, "no words were found");
    if (s.forced > 0)
        cli_say(
            common,
            "%zu times the best words so far had to decide, in long silence or because ways did not agree within 30 s",
            s.forced);
    if (s.lost > 0)
        cli_say(common, "%zu utterances came to where the graph has no way on, and were cut there", s.lost);
    else if (s.unfinished > 0)
        cli_say(common, "%zu utterance%s ended in the middle of what the graph has", s.unfinished,
                s.unfinished == 1 ? "" : "s");
    if (j->live->options.decode.profile)
        profile_say(&s.profile);
}

static void clean_up(live_job *j)
{
    trl_file_abort(j->file);
    trl_audio_stream_close(j->sound);
    trl_decode_stream_destroy(j->stream);
    json_decref(j->words);
    free(j->name);
    free(j->shown);
}

int live_decode(const live_decoding *live, const trl_model *model, const trl_graph *graph)
{
    live_job j = {.live = live};
    struct sigaction action = {.sa_handler = note_interruption}, before;
    trl_error err = {0};
    double start = clock_seconds();
    action.sa_flags = (int)SA_RESETHAND; /* the second time it ends the command */
    sigaction(SIGINT, &action, &before);
    int code = open_all(&j, model, graph, &err);
    if (code == 0)
        code = decode_all(&j, &err);
    if (j.file && (code == 0 || code == TRL_ECORRUPT)) {
        trl_error late;
        int written = trl_file_commit(j.file, code == 0 ? &err : &late);
        j.file = NULL;
        code = code < 0 ? code : written;
    }
    if (code == 0)
        say_summary(&j, clock_seconds() - start);
    sigaction(SIGINT, &before, NULL);
    clean_up(&j);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}
