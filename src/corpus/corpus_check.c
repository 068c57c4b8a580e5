/* The check of a corpus. Sounds are measured in parallel, one recording at a time, each into its own place; what is
 * wrong with them is then said by one thread in the order of the corpus, so that the findings do not depend on the
 * number of threads. Sound is read in blocks: memory is flat in its length, and small per utterance. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"
#include "corpus/unknown_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/audio.h>

#define BLOCK 8192                       /* samples read at a time */
#define FULL_SCALE (32767.0f / 32768.0f) /* the largest value of 16 bits, and all beyond */
#define SILENT_PEAK 5e-4f                /* -66 dB: sixteen steps of 16 bits */
#define NONE ((size_t)-1)

typedef struct recording {
    const char *path;
    size_t first, last; /* utterances in it; linked through measure.next */
    double rate;        /* Hz; 0: unknown */
    int channels;
    int empty;     /* there is a file, but no sound in it */
    int code;      /* why it can't be opened, or 0 */
    char *problem; /* in words */
} recording;

typedef struct measure {
    size_t recording, next;
    int64_t samples, clipped;
    float peak;
    int code; /* why it can't be read, or 0 */
    char *problem;
} measure;

typedef struct word_count {
    size_t count, first_utterance;
} word_count;

typedef struct checker {
    trl_corpus *corpus;
    const trl_lexicon *lexicon;
    trl_check_options options;
    trl_check_summary summary;
    recording *recordings;
    size_t recording_count, recording_capacity;
    measure *measures; /* by utterance */
    float *blocks;     /* one per thread */
    trl__strings words;
    word_count *counts; /* by word */
    size_t count_capacity;
} checker;

trl_check_options trl_check_defaults(void)
{
    return (trl_check_options){
        .clipped_share = 0.001, .seconds_per_phone = 0.03, .characters_per_second = 40, .frame_seconds = 0.025};
}

/* ---- Measuring: in parallel ---- */

static int group_by_recording(checker *c, trl_error *err)
{
    trl__map paths = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < c->corpus->count; i++) {
        const char *path = c->corpus->utterances[i].path;
        uint64_t number = c->recording_count;
        int added = trl__map_add(&paths, path, strlen(path), &number);
        if (added < 0 || TRL_GROW(c->recordings, c->recording_capacity, c->recording_count + 1) < 0) {
            code = trl__fail_memory(err);
        } else if (added) {
            c->recordings[c->recording_count++] = (recording){.path = path, .first = i, .last = i};
        } else {
            c->measures[c->recordings[number].last].next = i;
            c->recordings[number].last = i;
        }
        c->measures[i].recording = (size_t)number;
        c->measures[i].next = NONE;
    }
    trl__map_free(&paths);
    return code;
}

/* Keeps what went wrong, without the path in front: findings say the place themselves. */
static int keep_problem(const char *path, int failure, const trl_error *why, int *code, char **problem, trl_error *err)
{
    if (failure == TRL_ENOMEM)
        return trl__fail_memory(err);
    size_t length = strlen(path);
    const char *text = why->text;
    if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    *problem = trl__strdup(text);
    *code = failure;
    return *problem ? 0 : trl__fail_memory(err);
}

static void measure_block(measure *m, const float *samples, size_t count)
{
    float peak = m->peak;
    int64_t clipped = 0;
    for (size_t i = 0; i < count; i++) {
        float size = fabsf(samples[i]);
        peak = size > peak ? size : peak;
        clipped += size >= FULL_SCALE;
    }
    m->peak = peak;
    m->clipped += clipped;
    m->samples += (int64_t)count;
}

static int measure_samples(measure *m, trl_audio *audio, const char *path, float *block, trl_error *err)
{
    trl_error why;
    size_t got;
    do {
        int failure = trl_audio_read(audio, block, BLOCK, &got, &why);
        if (failure < 0)
            return keep_problem(path, failure, &why, &m->code, &m->problem, err);
        measure_block(m, block, got);
    } while (got > 0);
    return 0;
}

/* One utterance. A failure to open that concerns its part only stays with it, any other with the recording. */
static int measure_utterance(checker *c, recording *rec, size_t number, float *block, trl_error *err)
{
    const trl_utterance *u = &c->corpus->utterances[number];
    measure *m = &c->measures[number];
    trl_audio_options o = trl_audio_defaults();
    o.channel = u->channel >= 0 ? u->channel : 0;
    o.start = u->start;
    o.end = u->end;
    trl_audio_info info;
    trl_audio *audio;
    trl_error why;
    int failure = trl_audio_open(u->path, &o, &info, &audio, &why);
    if (failure == TRL_EINVAL)
        return keep_problem(u->path, failure, &why, &m->code, &m->problem, err);
    if (failure < 0)
        return keep_problem(u->path, failure, &why, &rec->code, &rec->problem, err);
    rec->rate = info.rate;
    rec->channels = info.channels;
    rec->empty = info.frames == 0;
    int code = measure_samples(m, audio, u->path, block, err);
    trl_audio_close(audio);
    return code;
}

/* What the file system says of the recording, before it is opened. */
static int look_at_file(recording *rec, trl_error *err)
{
    struct stat status;
    if (strcmp(rec->path, "-") == 0 || stat(rec->path, &status) != 0)
        return 0;
    rec->empty = S_ISREG(status.st_mode) && status.st_size == 0;
    trl_error why;
    int failure = trl__check_plain(rec->path, &why);
    return failure == 0 ? 0 : keep_problem(rec->path, failure, &why, &rec->code, &rec->problem, err);
}

static int measure_recording(void *user, size_t index, int worker, trl_error *err)
{
    checker *c = user;
    recording *rec = &c->recordings[index];
    int code = look_at_file(rec, err);
    for (size_t i = rec->first; code == 0 && i != NONE && !rec->empty && rec->code == 0; i = c->measures[i].next)
        code = measure_utterance(c, rec, i, c->blocks + (size_t)worker * BLOCK, err);
    size_t utterances = 0;
    for (size_t i = rec->first; i != NONE; i = c->measures[i].next)
        utterances++;
    trl_progress_add(c->options.progress, utterances);
    return code;
}

/* The rate of most recordings; of several the highest. */
static double usual_rate(const checker *c)
{
    double best = 0;
    size_t best_count = 0;
    double tried[16]; /* corpora with more different rates than that have no usual one */
    size_t tries = 0;
    for (size_t i = 0; i < c->recording_count && tries < 16; i++) {
        double rate = c->recordings[i].rate;
        size_t t = 0, count = 0;
        while (t < tries && tried[t] != rate)
            t++;
        if (rate == 0 || t < tries)
            continue;
        tried[tries++] = rate;
        for (size_t j = i; j < c->recording_count; j++)
            count += c->recordings[j].rate == rate;
        if (count > best_count || (count == best_count && rate > best)) {
            best = rate;
            best_count = count;
        }
    }
    return best;
}

/* ---- Saying: one thread, in the order of the corpus ---- */

/* A finding about the sound file; it names the utterance when there is only one in it. */
static int say_sound(checker *c, const recording *rec, trl_finding_kind kind, trl_error *err, const char *format, ...)
    TRL_PRINTF(5, 6);
static int say_sound(checker *c, const recording *rec, trl_finding_kind kind, trl_error *err, const char *format, ...)
{
    for (size_t i = rec->first; trl_finding_is_fatal(kind) && i != NONE; i = c->measures[i].next)
        c->corpus->utterances[i].bad = 1;
    const char *utterance = rec->first == rec->last ? c->corpus->utterances[rec->first].id : NULL;
    va_list arguments;
    va_start(arguments, format);
    int code = trl__findings_add_list(c->corpus->findings, kind, rec->path, 0, utterance, err, format, arguments);
    va_end(arguments);
    return code;
}

static int names_all_channels(const checker *c, const recording *rec)
{
    for (size_t i = rec->first; i != NONE; i = c->measures[i].next)
        if (c->corpus->utterances[i].channel < 0)
            return 0;
    return 1;
}

static int say_recording(checker *c, const recording *rec, trl_error *err)
{
    if (rec->code == TRL_ENOENT && c->corpus->utterances[rec->first].bad)
        return 0; /* the reader has said that it is not there */
    if (rec->code == TRL_ENOENT)
        return say_sound(c, rec, TRL_FINDING_NO_SOUND, err, "%s", rec->problem);
    if (rec->code < 0)
        return say_sound(c, rec, rec->code == TRL_EIO ? TRL_FINDING_NO_ACCESS : TRL_FINDING_UNREADABLE, err, "%s",
                         rec->problem);
    if (rec->empty)
        return say_sound(c, rec, TRL_FINDING_EMPTY_SOUND, err, "there are no samples in this file");
    int code = 0;
    if (rec->rate > 0 && rec->rate != c->summary.rate)
        code = say_sound(c, rec, TRL_FINDING_RATE, err, "%g Hz instead of %g Hz", rec->rate, c->summary.rate);
    if (code == 0 && rec->channels > 1 && !names_all_channels(c, rec))
        code = say_sound(c, rec, TRL_FINDING_STEREO, err, "%d channels", rec->channels);
    return code;
}

/* Too short for one frame of features, whose length is in whole samples. */
static int is_too_short(const checker *c, size_t number)
{
    const measure *m = &c->measures[number];
    double frame = floor(c->options.frame_seconds * c->recordings[m->recording].rate * (1 + 1e-9));
    return (double)m->samples < frame;
}

static int say_samples(checker *c, size_t number, double seconds, trl_error *err)
{
    const trl_utterance *u = &c->corpus->utterances[number];
    const measure *m = &c->measures[number];
    if (m->code == TRL_EINVAL)
        return trl__corpus_report(c->corpus, number, TRL_FINDING_SEGMENT, u->source, u->line, err, "%s", m->problem);
    if (m->code < 0)
        return trl__corpus_report(c->corpus, number, TRL_FINDING_UNREADABLE, u->path, 0, err, "%s", m->problem);
    if (m->samples == 0)
        return trl__corpus_report(c->corpus, number, TRL_FINDING_EMPTY_SOUND, u->source, u->line, err,
                                  "the part is shorter than one sample");
    if (is_too_short(c, number))
        return trl__corpus_report(c->corpus, number, TRL_FINDING_TOO_SHORT, u->source, u->line, err,
                                  "%.4f s is too short for one frame of %g ms", seconds,
                                  1000 * c->options.frame_seconds);
    double share = (double)m->clipped / (double)m->samples;
    if (m->clipped > 0 && share >= c->options.clipped_share)
        return trl__corpus_report(c->corpus, number, TRL_FINDING_CLIPPING, u->path, 0, err,
                                  "%.2g %% of the samples are at full scale", 100 * share);
    if (m->peak < SILENT_PEAK)
        return trl__corpus_report(c->corpus, number, TRL_FINDING_SILENT, u->path, 0, err,
                                  "no sample in %.2f s is above %.2g of full scale", seconds, m->peak);
    return 0;
}

/* Phones in the word's shortest pronunciation; an unknown word has at least one. */
static size_t least_phones(const trl_lexicon *lexicon, long word)
{
    size_t least = 1, variants = word < 0 ? 0 : trl_lexicon_pronunciations(lexicon, (size_t)word);
    for (size_t v = 0; v < variants; v++) {
        size_t length = trl_lexicon_pronunciation(lexicon, (size_t)word, v).length;
        if (v == 0 || length < least)
            least = length;
    }
    return least;
}

static size_t characters(const char *word, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)word[i] & 0xC0) != 0x80; /* not the second or later byte of a UTF-8 character */
    return count;
}

/* Counts one word. Returns how long it is, in phones or without a lexicon in characters; or TRL_ENOMEM. */
static long count_word(checker *c, const char *word, size_t length, size_t utterance, trl_error *err)
{
    size_t known_words = c->words.count;
    long number = trl__strings_add(&c->words, word, length);
    if (number < 0 || TRL_GROW(c->counts, c->count_capacity, c->words.count) < 0)
        return trl__fail_memory(err);
    if (c->words.count > known_words)
        c->counts[number] = (word_count){0, utterance};
    c->counts[number].count++;
    c->summary.words++;
    if (!c->lexicon)
        return (long)characters(word, length);
    return (long)least_phones(c->lexicon, trl_lexicon_find(c->lexicon, c->words.texts[number]));
}

/* seconds < 0: the length of the sound is not known. */
static int say_transcript(checker *c, size_t number, double seconds, trl_error *err)
{
    const trl_utterance *u = &c->corpus->utterances[number];
    size_t units = 0;
    for (const char *word = u->text; word && *word;) {
        size_t length = strcspn(word, " ");
        long n = count_word(c, word, length, number, err);
        if (n < 0)
            return (int)n;
        units += (size_t)n;
        word += length + (word[length] == ' ');
    }
    double needed =
        c->lexicon ? (double)units * c->options.seconds_per_phone : (double)units / c->options.characters_per_second;
    if (seconds < 0 || needed <= seconds)
        return 0;
    return trl__corpus_report(c->corpus, number, TRL_FINDING_TOO_LONG, u->text_source, u->text_line, err,
                              "%zu %s%s in %.4f s of sound: %s %.4f s at least", units,
                              c->lexicon ? "phone" : "character", units == 1 ? "" : "s", seconds,
                              units == 1 ? "it takes" : "they take", needed);
}

static int say_utterances(checker *c, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < c->corpus->count; i++) {
        const measure *m = &c->measures[i];
        const recording *rec = &c->recordings[m->recording];
        int readable = rec->code == 0 && !rec->empty;
        double seconds = readable && m->samples > 0 ? (double)m->samples / rec->rate : 0;
        if (rec->first == i)
            code = say_recording(c, rec, err);
        if (code == 0 && readable)
            code = say_samples(c, i, seconds, err);
        if (code == 0)
            code = say_transcript(c, i, seconds > 0 && m->code == 0 && !is_too_short(c, i) ? seconds : -1, err);
        if (c->corpus->utterances[i].bad)
            c->summary.bad_utterances++;
        else
            c->summary.seconds += seconds;
    }
    return code;
}

static int say_unknown_words(checker *c, trl_error *err)
{
    trl__unknown_list list = {.lexicon = c->lexicon};
    int code = 0;
    for (size_t i = 0; code == 0 && c->lexicon && i < c->words.count; i++) {
        const trl_utterance *u = &c->corpus->utterances[c->counts[i].first_utterance];
        if (trl_lexicon_find(c->lexicon, c->words.texts[i]) < 0)
            code = trl__unknown_list_add(&list, c->words.texts[i], c->counts[i].count,
                                         (trl__word_place){u->text_source, u->id, u->text_line}, err);
    }
    c->summary.distinct_words = c->words.count;
    c->summary.distinct_unknown_words = list.words.count;
    c->summary.unknown_words = list.times;
    if (code == 0)
        code = trl__unknown_list_name(&list, c->corpus->findings, err);
    trl__unknown_list_free(&list);
    return code;
}

/* ---- Both ---- */

static int run(checker *c, trl_pool *pool, trl_error *err)
{
    c->measures = trl__alloc_zero(c->corpus->count, sizeof *c->measures);
    c->blocks = trl__alloc((size_t)trl_pool_threads(pool) * BLOCK, sizeof *c->blocks);
    int code = c->measures && c->blocks ? group_by_recording(c, err) : trl__fail_memory(err);
    if (code == 0)
        code = trl_pool_for(pool, c->recording_count, measure_recording, c, err);
    c->summary.utterances = c->corpus->count;
    c->summary.speakers = c->corpus->speakers.count;
    c->summary.recordings = c->recording_count;
    c->summary.rate = c->options.rate > 0 ? c->options.rate : usual_rate(c);
    if (code == 0)
        code = say_utterances(c, err);
    return code < 0 ? code : say_unknown_words(c, err);
}

int trl_corpus_check(trl_corpus *corpus, const trl_lexicon *lexicon, const trl_check_options *options, trl_pool *pool,
                     trl_check_summary *summary, trl_findings *findings, trl_error *err)
{
    checker c = {.corpus = corpus, .lexicon = lexicon, .options = options ? *options : trl_check_defaults()};
    corpus->findings = findings;
    int code = run(&c, pool, err);
    corpus->findings = NULL;
    for (size_t i = 0; i < c.recording_count; i++)
        trl__free(c.recordings[i].problem);
    for (size_t i = 0; c.measures && i < corpus->count; i++)
        trl__free(c.measures[i].problem);
    trl__free(c.recordings);
    trl__free(c.measures);
    trl__free(c.blocks);
    trl__free(c.counts);
    trl__strings_free(&c.words);
    if (summary)
        *summary = c.summary;
    return code;
}
