/* NIST's formats: trn, stm and ctm, as sclite reads them. */
#include "base/fail.h"
#include "decode/transcripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_NESTED 16

const char trl__alt_open[] = "{", trl__alt_next[] = "/", trl__alt_close[] = "}", trl__no_word[] = "@";

/* ---- Words, and alternatives in braces ---- */

void trl__plain_word(char *word)
{
    char *to = word;
    for (const char *from = word; *from && *from != ';'; from++) {
        if (*from == '\\' && from[1])
            from++;
        *to++ = *from;
    }
    if (to - word > 1 && to[-1] == '*')
        to--;
    *to = '\0';
}

typedef struct marked {
    trl_transcripts *t;
    int depth;
    int empty[MOST_NESTED + 1]; /* by depth: nothing came since the brace or slash */
    trl_error *err;
} marked;

static int fail_marked(const marked *p, const char *what)
{
    return trl__fail_line(p->err, TRL_EFORMAT, p->t->name, p->t->text.line, "%s", what);
}

static int add_sign(marked *p, char sign)
{
    if (sign == '{' && p->depth == MOST_NESTED)
        return fail_marked(p, "braces are nested too deeply");
    if (sign != '{' && p->depth == 0)
        return fail_marked(p, "'}' without '{'");
    if (sign != '{' && p->empty[p->depth])
        return fail_marked(p, "an alternative without words; write @ for nothing");
    p->empty[p->depth] = 0;
    if (sign == '}')
        p->depth--;
    else
        p->empty[p->depth += sign == '{'] = 1;
    const char *word = sign == '{' ? trl__alt_open : sign == '/' ? trl__alt_next : trl__alt_close;
    return trl__transcripts_word(p->t, word, p->err);
}

static int add_word(marked *p, char *word)
{
    p->empty[p->depth] = 0;
    if (strcmp(word, trl__no_word) == 0)
        return trl__transcripts_word(p->t, trl__no_word, p->err);
    trl__plain_word(word);
    return trl__transcripts_word(p->t, word, p->err);
}

/* A slash is a sign only in braces: "and/or" elsewhere is a word. */
int trl__transcripts_marked(trl_transcripts *t, char *text, trl_error *err)
{
    marked p = {.t = t, .err = err};
    int code = 0;
    while (code == 0 && *(text += strspn(text, " \t"))) {
        char *word = text;
        size_t length = strcspn(word, p.depth ? " \t{/}" : " \t{}");
        char end = word[length];
        if (length > 0 && end == '{')
            return fail_marked(&p, "'{' within a word; put a blank before it");
        text += length + (end != '\0');
        word[length] = '\0';
        if (length > 0)
            code = add_word(&p, word);
        if (code == 0 && end && end != ' ' && end != '\t')
            code = add_sign(&p, end);
    }
    return code < 0 ? code : p.depth ? fail_marked(&p, "'{' without '}'") : 0;
}

/* ---- trn: words (id) ---- */

int trl__read_trn(trl_transcripts *t, trl_error *err)
{
    char *line;
    while (trl__next_transcript_line(t, &line)) {
        char *open = strrchr(line, '('), *close = strrchr(line, ')');
        if (!open || !close || close < open || close[1 + strspn(close + 1, " \t")] != '\0')
            return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line,
                                  "expected words and then the utterance's id in parentheses");
        *open = *close = '\0';
        char *id = trl__trim(open + 1);
        if (*id == '\0')
            return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line, "the utterance's id is empty");
        trl__transcript *new = trl__transcripts_add(t, err);
        if (!new)
            return TRL_ENOMEM;
        new->id = id;
        int code = trl__transcripts_marked(t, line, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- stm: file channel speaker start end [<labels>] words ---- */

/* Segments have no ids; sclite numbers those of each speaker. */
static int name_segment(trl_transcripts *t, trl__strings *speakers, size_t **numbers, size_t *room, trl_error *err)
{
    trl__transcript *new = &t->items[t->count - 1];
    size_t known = speakers->count;
    long speaker = trl__strings_add(speakers, new->speaker, strlen(new->speaker));
    if (speaker < 0 || trl__grow((void **)numbers, room, speakers->count, sizeof **numbers) < 0)
        return trl__fail_memory(err);
    if (speakers->count > known)
        (*numbers)[speaker] = 0;
    size_t size = strlen(new->speaker) + 24;
    char *id = trl__arena_alloc(&t->arena, size);
    if (!id)
        return trl__fail_memory(err);
    snprintf(id, size, "%s-%03zu", new->speaker, (*numbers)[speaker]++);
    new->id = id;
    return 0;
}

/* Returns 1 where the segment is to be left out of the scoring: it has no id then, but takes its part of the hypothesis. */
static int read_segment(trl_transcripts *t, char *line, trl_error *err)
{
    char *file = trl__next_field(&line), *channel = trl__next_field(&line), *speaker = trl__next_field(&line);
    char *start = trl__next_field(&line), *end = trl__next_field(&line);
    trl__transcript *new = trl__transcripts_add(t, err);
    if (!new)
        return TRL_ENOMEM;
    new->file = file;
    new->channel = channel;
    new->speaker = speaker;
    if (!end || trl__parse_double(start, &new->start) < 0 || trl__parse_double(end, &new->end) < 0 ||
        new->end < new->start)
        return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line,
                              "expected file, channel, speaker, start and end in seconds, then words");
    line += strspn(line, " \t");
    if (*line == '<')
        line += strcspn(line, " \t");
    for (const char *c = line; *c; c++)
        if (strncasecmp(c, "IGNORE_TIME_SEGMENT_IN_SCORING", 30) == 0)
            return 1;
    return trl__transcripts_marked(t, line, err);
}

int trl__read_stm(trl_transcripts *t, trl_error *err)
{
    trl__strings speakers = {0};
    size_t *numbers = NULL, room = 0;
    char *line;
    int code = 0;
    while (code == 0 && trl__next_transcript_line(t, &line)) {
        code = read_segment(t, line, err);
        if (code == 0)
            code = name_segment(t, &speakers, &numbers, &room, err);
        if (code > 0)
            code = 0;
    }
    trl__free(numbers);
    trl__strings_free(&speakers);
    return code;
}

/* ---- ctm: file channel start seconds word [confidence …] ---- */

long trl__channel_number(trl__strings *table, const char *file, const char *channel, int may_add)
{
    size_t size = strlen(file) + strlen(channel) + 2;
    char *key = trl__alloc(size, 1);
    if (!key)
        return -2;
    snprintf(key, size, "%s %s", file, channel);
    long number = may_add ? trl__strings_add(table, key, size - 1) : trl__strings_find(table, key, size - 1);
    trl__free(key);
    return may_add && number < 0 ? -2 : number;
}

typedef struct timed_word {
    size_t group; /* file and channel, in the order of their first words */
    double start, seconds;
    const char *word;
    size_t number; /* of the line among all */
} timed_word;

typedef struct ctm {
    trl__strings groups;
    const char **files, **channels;
    size_t file_room, channel_room;
    timed_word *words;
    size_t count, room;
} ctm;

static int by_group_and_time(const void *a, const void *b)
{
    const timed_word *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int add_group(ctm *c, const char *file, const char *channel, size_t *group, trl_error *err)
{
    size_t known = c->groups.count;
    long found = trl__channel_number(&c->groups, file, channel, 1);
    if (found < 0 || TRL_GROW(c->files, c->file_room, c->groups.count) < 0 ||
        TRL_GROW(c->channels, c->channel_room, c->groups.count) < 0)
        return trl__fail_memory(err);
    *group = (size_t)found;
    if (c->groups.count > known) {
        c->files[*group] = file;
        c->channels[*group] = channel;
    }
    return 0;
}

static int read_timed_word(trl_transcripts *t, ctm *c, char *line, trl_error *err)
{
    char *file = trl__next_field(&line), *channel = trl__next_field(&line);
    char *start = trl__next_field(&line), *seconds = trl__next_field(&line), *word = trl__next_field(&line);
    timed_word new = {.number = c->count};
    if (!word || trl__parse_double(start, &new.start) < 0 || trl__parse_double(seconds, &new.seconds) < 0)
        return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line,
                              "expected file, channel, start and duration in seconds, word");
    if (strncasecmp(word, "<ALT", 4) == 0)
        return trl__fail_line(err, TRL_EUNSUPPORTED, t->name, t->text.line,
                              "alternatives in a hypothesis (%s) are not supported; keep one of them", word);
    trl__plain_word(word);
    new.word = word;
    int code = add_group(c, file, channel, &new.group, err);
    if (code == 0 && TRL_GROW(c->words, c->room, c->count + 1) < 0)
        code = trl__fail_memory(err);
    if (code == 0)
        c->words[c->count++] = new;
    return code;
}

/* A transcript for each file and channel, its words in the order of their times. */
static int gather(trl_transcripts *t, ctm *c, trl_error *err)
{
    if (c->count > 0 && !(t->middles = trl__alloc(c->count, sizeof *t->middles)))
        return trl__fail_memory(err);
    if (c->count > 0)
        qsort(c->words, c->count, sizeof *c->words, by_group_and_time);
    for (size_t i = 0; i < c->count; i++) {
        const timed_word *w = &c->words[i];
        if (i == 0 || w->group != w[-1].group) {
            trl__transcript *new = trl__transcripts_add(t, err);
            if (!new)
                return TRL_ENOMEM;
            new->id = new->file = c->files[w->group];
            new->channel = c->channels[w->group];
        }
        t->middles[i] = w->start + w->seconds / 2;
        if (trl__transcripts_word(t, w->word, err) < 0)
            return TRL_ENOMEM;
    }
    return 0;
}

int trl__read_ctm(trl_transcripts *t, trl_error *err)
{
    ctm c = {0};
    char *line;
    int code = 0;
    while (code == 0 && trl__next_transcript_line(t, &line))
        code = read_timed_word(t, &c, line, err);
    if (code == 0)
        code = gather(t, &c, err);
    trl__strings_free(&c.groups);
    trl__free(c.files);
    trl__free(c.channels);
    trl__free(c.words);
    return code;
}
