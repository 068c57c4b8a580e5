/* Transcripts as JSON, an object per line: what `trellis align` and `trellis decode` write, or a manifest. */
#include "base/fail.h"
#include "decode/transcripts.h"

#include <jansson.h>
#include <string.h>

static int fail_line(const trl_transcripts *t, const char *what, trl_error *err)
{
    return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line, "%s", what);
}

static const char *keep(trl_transcripts *t, const char *text, trl_error *err)
{
    char *copy = trl__arena_copy(&t->arena, text, strlen(text));
    if (!copy)
        trl__fail_memory(err);
    return copy;
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

static int add_words(trl_transcripts *t, const json_t *words, trl_error *err)
{
    size_t i;
    const json_t *item;
    json_array_foreach(words, i, item)
    {
        const char *word = json_string_value(json_is_object(item) ? json_object_get(item, "word") : item);
        if (!word)
            return fail_line(t, "\"words\" holds strings, or objects with \"word\"", err);
        word = keep(t, word, err);
        if (!word || trl__transcripts_word(t, word, err) < 0)
            return TRL_ENOMEM;
    }
    return 0;
}

/* A string, or an object with words or a text. */
static int add_hypothesis(trl_transcripts *t, const json_t *from, const char *id, const char *speaker, int rank,
                          trl_error *err)
{
    const json_t *words = json_object_get(from, "words");
    const char *text = json_string_value(json_is_string(from) ? from : json_object_get(from, "text"));
    if (!json_is_array(words) && !text)
        return fail_line(t, "neither \"words\" nor \"text\" says what the words are", err);
    trl__transcript *new = trl__transcripts_add(t, err);
    if (!new)
        return TRL_ENOMEM;
    new->id = id;
    new->speaker = speaker;
    new->rank = rank;
    return json_is_array(words) ? add_words(t, words, err) : add_text(t, text, err);
}

static int add_object(trl_transcripts *t, const json_t *object, trl_error *err)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *speaker = json_string_value(json_object_get(object, "speaker"));
    const json_t *list = json_object_get(object, "nbest"), *item;
    if (!id || *id == '\0')
        return fail_line(t, "expected an object with \"id\"", err);
    if (!(id = keep(t, id, err)) || (speaker && !(speaker = keep(t, speaker, err))))
        return TRL_ENOMEM;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return add_hypothesis(t, object, id, speaker, 0, err);
    size_t i;
    int code = 0;
    t->ranked = 1;
    json_array_foreach(list, i, item) if (code == 0) code = add_hypothesis(t, item, id, speaker, (int)i, err);
    return code;
}

int trl__read_json_transcripts(trl_transcripts *t, trl_error *err)
{
    char *line;
    size_t length;
    int code = 0;
    while (code == 0 && trl__text_line(&t->text, &line, &length)) {
        if (line[strspn(line, " \t")] == '\0')
            continue;
        json_error_t wrong;
        json_t *object = json_loadb(line, length, 0, &wrong);
        if (!object)
            return trl__fail_line(err, TRL_EFORMAT, t->name, t->text.line, "not JSON: %s", wrong.text);
        code = add_object(t, object, err);
        json_decref(object);
    }
    return code;
}
