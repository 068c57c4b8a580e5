#include "align/unknown_words.h"
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <stdio.h>
#include <string.h>

/* ---- transcripts ---- */

static int add_word(trl__transcript *t, const trl_lexicon *lexicon, char *word)
{
    if (TRL_GROW(t->words, t->word_capacity, t->count + 1) < 0 ||
        TRL_GROW(t->labels, t->label_capacity, t->count + 1) < 0)
        return -1;
    t->words[t->count] = (int32_t)trl_lexicon_find(lexicon, word);
    t->labels[t->count] = word;
    t->unknown_count += t->words[t->count++] < 0;
    return 0;
}

int trl__transcript_split(trl__transcript *transcript, const trl_lexicon *lexicon, const char *text, trl_error *err)
{
    trl__transcript *t = transcript;
    size_t size = strlen(text) + 1;
    t->count = t->unknown_count = 0;
    if (TRL_GROW(t->text, t->text_capacity, size) < 0)
        return trl__fail_memory(err);
    memcpy(t->text, text, size);
    for (char *at = t->text; *at;) {
        char *word = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
        if (*word && add_word(t, lexicon, word) < 0)
            return trl__fail_memory(err);
    }
    return 0;
}

void trl__transcript_free(trl__transcript *transcript)
{
    trl__free(transcript->words);
    trl__free(transcript->labels);
    trl__free(transcript->text);
    *transcript = (trl__transcript){0};
}

/* ---- what is said of unknown words ---- */

/* The lexicon's own form of a word, when it has one that differs in capitals or punctuation only; else NULL. */
static int find_near(trl__unknown_words *u, const char *word, const char **near, trl_error *err)
{
    int code = u->near.lexicon ? 0 : trl__near_words_build(&u->near, u->lexicon, err);
    return code < 0 ? code : trl__near_word(&u->near, word, near, err);
}

/* "FOO (the lexicon has foo), BAR": as many as there is room for. *first becomes the first one. */
static int list_words(trl__unknown_words *u, const trl__transcript *t, char *text, size_t size, const char **first,
                      trl_error *err)
{
    size_t used = 0, listed = 0;
    *first = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const char *near;
        if (t->words[i] >= 0)
            continue;
        *first = *first ? *first : t->labels[i];
        int code = find_near(u, t->labels[i], &near, err);
        if (code < 0)
            return code;
        char more[320];
        int length = snprintf(more, sizeof more, "%s%.120s", used ? ", " : "", t->labels[i]);
        if (near)
            length += snprintf(more + length, sizeof more - (size_t)length, " (the lexicon has %.120s%s)", near,
                               trl__near_word_advice(t->labels[i], near));
        if (used + (size_t)length + 32 > size) {
            snprintf(text + used, size - used, " and %zu more", t->unknown_count - listed);
            return 0;
        }
        memcpy(text + used, more, (size_t)length + 1);
        used += (size_t)length;
        listed++;
    }
    return 0;
}

int trl__unknown_words_fail(trl__unknown_words *unknown, const trl_utterance *utterance,
                            const trl__transcript *transcript, trl_error *err)
{
    char text[600];
    const char *first;
    int code = list_words(unknown, transcript, text, sizeof text, &first, err);
    if (code < 0)
        return code;
    return trl__fail_line(err, TRL_EINVAL, utterance->text_source ? utterance->text_source : utterance->source,
                          utterance->text_line,
                          "utterance %.100s: not in the lexicon: %s; add to the lexicon, or choose --oov skip (leave "
                          "out such utterances) or --oov noise (align such words as noise)",
                          utterance->id, text);
}

int trl__unknown_words_skip(trl__unknown_words *unknown, const trl_utterance *utterance,
                            const trl__transcript *transcript, trl_findings *findings, trl_error *err)
{
    char text[600];
    const char *first;
    int code = list_words(unknown, transcript, text, sizeof text, &first, err);
    if (code == 0)
        code = trl_findings_add(findings, TRL_FINDING_UNKNOWN_WORD, utterance->text_source, utterance->text_line,
                                utterance->id, err, "left out; not in the lexicon: %s", text);
    return code < 0 ? code : trl__findings_set_word(findings, first, transcript->unknown_count, err);
}

int trl__unknown_words_count(trl__unknown_words *unknown, const trl_utterance *utterance,
                             const trl__transcript *transcript, trl_error *err)
{
    for (size_t i = 0; transcript->unknown_count > 0 && i < transcript->count; i++) {
        if (transcript->words[i] >= 0)
            continue;
        size_t known = unknown->words.count;
        long word = trl__strings_add(&unknown->words, transcript->labels[i], strlen(transcript->labels[i]));
        if (word < 0 || TRL_GROW(unknown->places, unknown->place_capacity, unknown->words.count) < 0)
            return trl__fail_memory(err);
        if (unknown->words.count > known)
            unknown->places[word] = (trl__unknown_place){utterance, 0};
        unknown->places[word].count++;
    }
    return 0;
}

int trl__unknown_words_name(trl__unknown_words *unknown, trl_findings *findings, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < unknown->words.count; i++) {
        const trl_utterance *u = unknown->places[i].first;
        const char *word = unknown->words.texts[i], *near;
        code = find_near(unknown, word, &near, err);
        if (code == 0)
            code = trl_findings_add(findings, TRL_FINDING_UNKNOWN_WORD, u->text_source, u->text_line, u->id, err,
                                    "%s is not in the lexicon: aligned as noise%s%s%s%s", word,
                                    near ? " (the lexicon has " : "", near ? near : "",
                                    near ? trl__near_word_advice(word, near) : "", near ? ")" : "");
        if (code == 0)
            code = trl__findings_set_word(findings, word, unknown->places[i].count, err);
    }
    return code;
}

void trl__unknown_words_free(trl__unknown_words *unknown)
{
    trl__near_words_free(&unknown->near);
    trl__strings_free(&unknown->words);
    trl__free(unknown->places);
    *unknown = (trl__unknown_words){0};
}
