/* Transcripts: which format is it, and the plain one, Kaldi's. */
#include "decode/transcripts.h"
#include "base/fail.h"
#include "base/path.h"

#include <string.h>

#define LINES_SEEN 50 /* when the content has to tell the format */

static const char *const names[] = {"any", "trn", "text", "ctm", "stm", "json"};

const char *trl_transcripts_format_name(trl_transcripts_format format)
{
    return names[format];
}

/* ---- What the readers use ---- */

trl__transcript *trl__transcripts_add(trl_transcripts *t, trl_error *err)
{
    if (TRL_GROW(t->items, t->capacity, t->count + 1) < 0) {
        trl__fail_memory(err);
        return NULL;
    }
    trl__transcript *new = &t->items[t->count++];
    *new = (trl__transcript){.first = t->word_count, .line = t->text.line};
    return new;
}

int trl__transcripts_word(trl_transcripts *t, const char *word, trl_error *err)
{
    if (TRL_GROW(t->words, t->word_capacity, t->word_count + 1) < 0)
        return trl__fail_memory(err);
    t->words[t->word_count++] = word;
    t->items[t->count - 1].count++;
    return 0;
}

int trl__next_transcript_line(trl_transcripts *t, char **line)
{
    size_t length;
    while (trl__text_line(&t->text, line, &length))
        if ((*line)[0] != ';' && (*line)[strspn(*line, " \t")] != '\0')
            return 1;
    return 0;
}

/* ---- Kaldi's text ---- */

static int read_text(trl_transcripts *t, trl_error *err)
{
    char *line, *word;
    size_t length;
    while (trl__text_line(&t->text, &line, &length)) {
        char *id = trl__next_field(&line);
        trl__transcript *new = id ? trl__transcripts_add(t, err) : NULL;
        if (id && !new)
            return TRL_ENOMEM;
        if (new)
            new->id = id;
        while (id && (word = trl__next_field(&line)))
            if (trl__transcripts_word(t, word, err) < 0)
                return TRL_ENOMEM;
    }
    return 0;
}

/* ---- Which format? ---- */

static trl_transcripts_format by_name(const char *path)
{
    static const struct {
        const char *ending;
        trl_transcripts_format format;
    } table[] = {{".trn", TRL_TRANSCRIPTS_TRN},
                 {".ctm", TRL_TRANSCRIPTS_CTM},
                 {".stm", TRL_TRANSCRIPTS_STM},
                 {".json", TRL_TRANSCRIPTS_JSON},
                 {".jsonl", TRL_TRANSCRIPTS_JSON}};
    const char *ending = trl__extension(path);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(ending, table[i].ending) == 0)
            return table[i].format;
    return TRL_TRANSCRIPTS_ANY;
}

/* The n-th field of the line, from 0, is a number. */
static int has_number(const char *line, int field)
{
    char text[40];
    double value;
    for (int i = 0; i < field; i++) {
        line += strspn(line, " \t");
        line += strcspn(line, " \t\r\n");
    }
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t\r\n");
    if (length == 0 || length >= sizeof text)
        return 0;
    memcpy(text, line, length);
    text[length] = '\0';
    return trl__parse_double(text, &value) == 0;
}

static int has_final_id(const char *line, size_t length)
{
    while (length > 0 && trl__is_space(line[length - 1]))
        length--;
    size_t place = length;
    while (place > 0 && line[place - 1] != '(' && !trl__is_space(line[place - 1]))
        place--;
    return length > 0 && line[length - 1] == ')' && place > 0 && line[place - 1] == '(' && place < length - 1;
}

/* The formats that this line may be of, as bits. */
static unsigned possible(const char *line, size_t length)
{
    const char *first = line + strspn(line, " \t");
    unsigned formats = 1u << TRL_TRANSCRIPTS_TEXT;
    if (first[0] == '{' && first[1 + strspn(first + 1, " \t")] == '"')
        formats |= 1u << TRL_TRANSCRIPTS_JSON;
    if (has_final_id(line, length))
        formats |= 1u << TRL_TRANSCRIPTS_TRN;
    if (has_number(line, 3) && has_number(line, 4))
        formats |= 1u << TRL_TRANSCRIPTS_STM;
    if (has_number(line, 2) && has_number(line, 3))
        formats |= 1u << TRL_TRANSCRIPTS_CTM;
    return formats;
}

/* Nothing is written into the text yet. */
static trl_transcripts_format by_content(const trl__text *text)
{
    static const trl_transcripts_format order[] = {TRL_TRANSCRIPTS_JSON, TRL_TRANSCRIPTS_TRN, TRL_TRANSCRIPTS_STM,
                                                   TRL_TRANSCRIPTS_CTM, TRL_TRANSCRIPTS_TEXT};
    unsigned formats = ~0u;
    int seen = 0;
    for (const char *line = text->bytes; *line && seen < LINES_SEEN;) {
        size_t length = strcspn(line, "\n");
        if (line[0] != ';' && line[strspn(line, " \t\r")] != '\n' && line[strspn(line, " \t\r")] != '\0') {
            formats &= possible(line, length);
            seen++;
        }
        line += length + (line[length] == '\n');
    }
    size_t i = 0;
    while (seen && i < 4 && !(formats & 1u << order[i]))
        i++;
    return seen ? order[i] : TRL_TRANSCRIPTS_TEXT;
}

/* ---- Reading ---- */

static int read_all(trl_transcripts *t, trl_error *err)
{
    switch (t->format) {
    case TRL_TRANSCRIPTS_TRN: return trl__read_trn(t, err);
    case TRL_TRANSCRIPTS_STM: return trl__read_stm(t, err);
    case TRL_TRANSCRIPTS_CTM: return trl__read_ctm(t, err);
    case TRL_TRANSCRIPTS_JSON: return trl__read_json_transcripts(t, err);
    default: return read_text(t, err);
    }
}

int trl__transcripts_parse(const char *name, trl__text *text, trl_transcripts_format format, trl_transcripts **out,
                           trl_error *err)
{
    trl_transcripts *t = trl__alloc_zero(1, sizeof *t);
    if (!t) {
        trl__text_free(text);
        return trl__fail_memory(err);
    }
    t->text = *text;
    *text = (trl__text){0};
    t->format = format ? format : by_content(&t->text);
    t->name = trl__strdup(name);
    /* Room from the start: an empty transcript's words are somewhere too. */
    int code = t->name && TRL_GROW(t->words, t->word_capacity, 1) == 0 ? read_all(t, err) : trl__fail_memory(err);
    if (code < 0)
        trl_transcripts_destroy(t);
    else
        *out = t;
    return code;
}

int trl_transcripts_read(const char *path, trl_transcripts_format format, trl_transcripts **out, trl_error *err)
{
    trl__text text;
    if ((int)format < TRL_TRANSCRIPTS_ANY || format > TRL_TRANSCRIPTS_JSON)
        return trl__fail(err, TRL_EINVAL, "there is no transcript format %d", (int)format);
    int code = trl__text_read(path, &text, err);
    return code < 0 ? code : trl__transcripts_parse(path, &text, format ? format : by_name(path), out, err);
}

void trl_transcripts_destroy(trl_transcripts *t)
{
    if (!t)
        return;
    trl__text_free(&t->text);
    trl__arena_free(&t->arena);
    trl__free(t->items);
    trl__free(t->words);
    trl__free(t->middles);
    trl__free(t->name);
    trl__free(t);
}

size_t trl_transcripts_count(const trl_transcripts *t)
{
    return t->count;
}

trl_transcript trl_transcripts_get(const trl_transcripts *t, size_t index)
{
    const trl__transcript *i = &t->items[index];
    return (trl_transcript){i->id, i->speaker, t->words + i->first, i->count, i->rank};
}

trl_transcripts_format trl_transcripts_kind(const trl_transcripts *t)
{
    return t->format;
}

/* ---- Speakers ---- */

/* By utterance, the speaker; strings live in `text`. */
static int read_speakers(const char *path, trl__text *text, trl__map *map, trl_error *err)
{
    char *line;
    size_t length;
    while (trl__text_line(text, &line, &length)) {
        char *id = trl__next_field(&line), *speaker = trl__next_field(&line);
        if (!id)
            continue;
        if (!speaker || trl__next_field(&line))
            return trl__fail_line(err, TRL_EFORMAT, path, text->line, "expected an utterance and its speaker");
        uint64_t value = (uint64_t)(uintptr_t)speaker;
        int added = trl__map_add(map, id, strlen(id), &value);
        if (added < 0)
            return trl__fail_memory(err);
        if (!added && strcmp((const char *)(uintptr_t)value, speaker) != 0)
            return trl__fail_line(err, TRL_EFORMAT, path, text->line, "utterance '%s' has two speakers", id);
    }
    return 0;
}

static int set_speakers(trl_transcripts *t, const char *path, const trl__map *map, trl_error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!t->items[i].id)
            continue;
        const uint64_t *value = trl__map_find(map, t->items[i].id, strlen(t->items[i].id));
        if (!value)
            return trl__fail(err, TRL_ENOENT, "%s: utterance '%s' of %s has no speaker there", path, t->items[i].id,
                             t->name);
        const char *speaker = (const char *)(uintptr_t)*value;
        t->items[i].speaker = trl__arena_copy(&t->arena, speaker, strlen(speaker));
        if (!t->items[i].speaker)
            return trl__fail_memory(err);
    }
    return 0;
}

int trl_transcripts_speakers(trl_transcripts *t, const char *path, trl_error *err)
{
    trl__text text;
    trl__map map = {0};
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    code = read_speakers(path, &text, &map, err);
    if (code == 0)
        code = set_speakers(t, path, &map, err);
    trl__map_free(&map);
    trl__text_free(&text);
    return code;
}
