/* Subtitles: WebVTT and SubRip, a file per recording. A cue is up to so many words in a row; a pause, or the end of the utterance,
 * ends it too. Cues are in the order of their starts, as WebVTT asks for. Where several speak, WebVTT says who. */
#include "align/alignment_format.h"
#include "align/time_text.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct cue {
    int64_t start, end; /* milliseconds */
    const trl__recorded *utterance;
    size_t first, last; /* of the utterance's word segments, silences among them */
    size_t number;      /* keeps the order of cues that start together */
} cue;

typedef struct cues {
    cue *items;
    size_t count, capacity;
    int many_speakers;
    trl_error *err;
} cues;

/* ---- From words to cues ---- */

static int64_t milliseconds(const trl__recorded *u, double seconds)
{
    return (trl__microseconds(u->utterance->start + seconds) + 500) / 1000;
}

static int add_cue(cues *c, const trl__recorded *u, size_t first, size_t last)
{
    if (TRL_GROW(c->items, c->capacity, c->count + 1) < 0)
        return trl__fail_memory(c->err);
    const trl_segment *words = u->words.items;
    cue new = {milliseconds(u, words[first].start), milliseconds(u, words[last].stop), u, first, last, c->count};
    if (new.end <= new.start) /* players show nothing for no time */
        new.end = new.start + 1;
    c->items[c->count++] = new;
    return 0;
}

static int divide(cues *c, const trl__recorded *u, const trl_alignment_writer_options *o)
{
    size_t first = 0, last = 0;
    int words = 0, code = 0; /* in the cue that goes from first to last */
    for (size_t i = 0; code == 0 && i < u->words.count; i++) {
        const trl_segment *w = &u->words.items[i];
        if (!w->label[0])
            continue;
        if (words > 0 && (words == o->cue_words || w->start - u->words.items[last].stop > o->cue_pause)) {
            code = add_cue(c, u, first, last);
            words = 0;
        }
        if (words++ == 0)
            first = i;
        last = i;
    }
    return code == 0 && words > 0 ? add_cue(c, u, first, last) : code;
}

static int by_start(const void *a, const void *b)
{
    const cue *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int make_cues(cues *c, const trl__recording *r, const trl_alignment_writer_options *o)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->count; i++) {
        code = divide(c, &r->utterances[i], o);
        c->many_speakers |= strcmp(r->utterances[i].utterance->speaker, r->utterances[0].utterance->speaker) != 0;
    }
    if (code == 0 && c->count > 1)
        qsort(c->items, c->count, sizeof *c->items, by_start);
    return code;
}

/* ---- From cues to files ---- */

/* WebVTT has marks in angle brackets and entities; SubRip takes text as it is. */
static int write_text(trl_file *file, const char *text, int vtt, trl_error *err)
{
    int code = 0;
    for (size_t plain; code == 0 && *text; text += plain) {
        plain = vtt ? strcspn(text, "&<>") : strlen(text);
        code = trl_file_write(file, text, plain, err);
        if (code == 0 && text[plain])
            code = trl_file_print(file, err, "&%s;", text[plain] == '&' ? "amp" : text[plain] == '<' ? "lt" : "gt");
        plain += text[plain] != '\0';
    }
    return code;
}

static int write_words(trl_file *file, const cue *c, int vtt, trl_error *err)
{
    int code = 0;
    for (size_t i = c->first; code == 0 && i <= c->last; i++) {
        const char *word = c->utterance->words.items[i].label;
        if (*word && i > c->first)
            code = trl_file_write(file, " ", 1, err);
        if (code == 0)
            code = write_text(file, word, vtt, err);
    }
    return code < 0 ? code : trl_file_write(file, "\n\n", 2, err);
}

static int write_voice(trl_file *file, const char *speaker, trl_error *err)
{
    int code = trl_file_print(file, err, "<v ");
    if (code == 0)
        code = write_text(file, speaker, 1, err);
    return code < 0 ? code : trl_file_print(file, err, ">");
}

static int write_cues(trl_file *file, const cues *all, int vtt, trl_error *err)
{
    int code = vtt ? trl_file_print(file, err, "WEBVTT\n\n") : 0;
    for (size_t i = 0; code == 0 && i < all->count; i++) {
        const cue *c = &all->items[i];
        char start[TRL__TIME_SIZE], end[TRL__TIME_SIZE];
        trl__clock_text(c->start, vtt ? '.' : ',', start);
        trl__clock_text(c->end, vtt ? '.' : ',', end);
        if (!vtt)
            code = trl_file_print(file, err, "%zu\n", i + 1);
        if (code == 0)
            code = trl_file_print(file, err, "%s --> %s\n", start, end);
        if (code == 0 && vtt && all->many_speakers)
            code = write_voice(file, c->utterance->utterance->speaker, err);
        if (code == 0)
            code = write_words(file, c, vtt, err);
    }
    return code;
}

static int write_subtitles(trl__alignment_sink *sink, const trl__recording *r, trl_error *err)
{
    int vtt = sink->format == &trl__vtt_output;
    cues all = {.err = err};
    trl_file *file;
    int code = make_cues(&all, r, sink->options);
    if (code == 0)
        code = trl__sink_file(sink, r->name, vtt ? ".vtt" : ".srt", &file, err);
    if (code == 0)
        code = trl__sink_close(sink, file, write_cues(file, &all, vtt, err), err);
    trl__free(all.items);
    return code;
}

const trl__alignment_format trl__vtt_output = {.name = "vtt", .recording = write_subtitles};
const trl__alignment_format trl__srt_output = {.name = "srt", .recording = write_subtitles};
