/* Transcripts as JSON, an object per line: what `trellis align` and `trellis decode` write, or a manifest. */
#include "base/fail.h"
#include "base/json_read.h"
#include "decode/transcripts.h"

#include <string.h>

static int fail_line(const trl_transcripts *t, const char *what, trl_error *err)
{
    return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line, "%s", what);
}

static int add_text(trl_transcripts *t, const char *text, trl_error *err)
{
    char *cursor = trl__arena_copy(&t->arena, text, strlen(text)), *word;
    if (!cursor)
        return trl__fail_memory(err);
    for (char *c = cursor; *c; c++)
        if (trl__is_space(*c))
            *c = ' ';
    while ((word = trl__next_field(&cursor)))
        if (trl__transcripts_word(t, word, err) < 0)
            return TRL_ENOMEM;
    return 0;
}

static int add_words(trl_transcripts *t, const trl__json_value *words, trl_error *err)
{
    for (const trl__json_value *item = trl__json_first(words); item; item = item->next) {
        const char *word = trl__json_text(trl__json_is(item, TRL__JSON_OBJECT) ? trl__json_member(item, "word") : item);
        if (!word)
            return fail_line(t, "\"words\" holds strings, or objects with \"word\"", err);
        if (trl__transcripts_word(t, word, err) < 0)
            return TRL_ENOMEM;
    }
    return 0;
}

/* A string, or an object with words or a text. */
static int add_hypothesis(trl_transcripts *t, const trl__json_value *from, const char *id, const char *speaker,
                          int rank, trl_error *err)
{
    const trl__json_value *words = trl__json_member(from, "words");
    int is_list = trl__json_is(words, TRL__JSON_ARRAY);
    const char *text = trl__json_text(trl__json_is(from, TRL__JSON_STRING) ? from : trl__json_member(from, "text"));
    if (!is_list && !text)
        return fail_line(t, "neither \"words\" nor \"text\" says what the words are", err);
    trl__transcript *new = trl__transcripts_add(t, err);
    if (!new)
        return TRL_ENOMEM;
    new->id = id;
    new->speaker = speaker;
    new->rank = rank;
    return is_list ? add_words(t, words, err) : add_text(t, text, err);
}

static int add_object(trl_transcripts *t, const trl__json_value *object, trl_error *err)
{
    const char *id = trl__json_text(trl__json_member(object, "id"));
    const char *speaker = trl__json_text(trl__json_member(object, "speaker"));
    const trl__json_value *list = trl__json_member(object, "nbest");
    if (!id || *id == '\0')
        return fail_line(t, "expected an object with \"id\"", err);
    if (trl__json_count(list) == 0)
        return add_hypothesis(t, object, id, speaker, 0, err);
    int code = 0, rank = 0;
    t->ranked = 1;
    for (const trl__json_value *item = trl__json_first(list); code == 0 && item; item = item->next)
        code = add_hypothesis(t, item, id, speaker, rank++, err);
    return code;
}

int trl__read_json_transcripts(trl_transcripts *t, trl_error *err)
{
    char *line;
    size_t length;
    int code = 0;
    while (code == 0 && trl__text_line(&t->text, &line, &length)) {
        trl__arena values = {0}; /* their strings stay in the text */
        const trl__json_value *object;
        if (line[strspn(line, " \t")] == '\0')
            continue;
        code = trl__json_read(t->name, t->text.line, line, length, &values, &object, err);
        if (code == 0)
            code = add_object(t, object, err);
        trl__arena_free(&values);
    }
    return code;
}
