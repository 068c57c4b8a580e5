#include "align/unknown_words.h"
#include "base/fail.h"
#include "corpus/corpus_builder.h"
#include "model/unit_kind.h"

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

/* ---- one utterance ---- */

/* "FOO (the lexicon has foo), BAR": as many as there is room for. *first becomes the first one. */
static int list_words(trl__unknown_list *u, const trl__transcript *t, char *text, size_t size, const char **first,
                      trl_error *err)
{
    size_t used = 0, listed = 0;
    *first = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const char *near;
        if (t->words[i] >= 0)
            continue;
        *first = *first ? *first : t->labels[i];
        int code = trl__unknown_list_near(u, t->labels[i], &near, err);
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

int trl__unknown_words_skip(trl__unknown_list *unknown, const trl_utterance *utterance,
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

/* ---- all of them ---- */

int trl__unknown_count_add(trl__unknown_count *count, const trl__transcript *transcript, trl__word_place place,
                           trl_error *err)
{
    int code = 0;
    count->words += transcript->count;
    for (size_t i = 0; code == 0 && transcript->unknown_count > 0 && i < transcript->count; i++)
        if (transcript->words[i] < 0)
            code = trl__unknown_list_add(&count->list, transcript->labels[i], 1, place, err);
    return code;
}

/* "; 4 of them differ from …", or nothing. */
static int say_near(trl__unknown_list *list, char *text, size_t size, trl_error *err)
{
    size_t alike = 0, capitals = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < list->words.count; i++) {
        const char *near;
        code = trl__unknown_list_near(list, list->items[i].word, &near, err);
        alike += code == 0 && near;
        capitals += code == 0 && near && *trl__near_word_advice(list->items[i].word, near) != '\0';
    }
    *text = '\0';
    if (alike > 0)
        snprintf(text, size, "; %zu of them %s from its words in capitals or punctuation only (--fold-case takes %zu)",
                 alike, alike == 1 ? "differs" : "differ", capitals);
    return code;
}

static void say_words(const trl__unknown_count *c, trl_unknown_summary *s, const char *near)
{
    const trl__unknown_list *list = &c->list;
    size_t size = sizeof s->text, count = list->words.count, i;
    size_t used = (size_t)snprintf(
        s->text, size, "%zu word%s not in the lexicon (%zu of %zu in all, in %zu of %zu utterance%s)%s: ", count,
        count == 1 ? " is" : "s are", list->times, c->words, c->unknown_utterances, c->utterances,
        c->utterances == 1 ? "" : "s", near);
    for (i = 0; i < count && i < TRL_UNKNOWN_SHOWN; i++)
        used += (size_t)snprintf(s->text + used, size - used, "%s%.30s %zu", i > 0 ? ", " : "", list->items[i].word,
                                 list->items[i].times);
    if (i < count)
        snprintf(s->text + used, size - used, " and %zu more", count - i);
}

/* Where most words are unknown, the lexicon is another language's, or has other capitals. Of a few words that may be
 * chance. */
static int is_another_lexicon(const trl__unknown_count *c)
{
    return c->words >= 20 && 2 * c->list.times > c->words;
}

static int decide(const trl__unknown_count *c, const trl_model *model, int choice, trl_unknown_summary *s,
                  trl_error *err)
{
    int has_noise = !model || trl__spoken_noise_unit(model) >= 0, is_auto = choice == TRL_UNKNOWN_AUTO;
    s->choice = !is_auto ? choice : has_noise ? TRL_UNKNOWN_NOISE : TRL_UNKNOWN_SKIP;
    if (c->list.times == 0)
        return 0;
    const trl__word_place *first = &c->list.items[0].first;
    const char *advice = NULL;
    if (choice == TRL_UNKNOWN_FAIL)
        advice = "add them to the lexicon; or choose --oov auto or noise (words of unknown pronunciation) or skip "
                 "(leave out their utterances)";
    else if (choice == TRL_UNKNOWN_NOISE && !has_noise)
        advice = "the model has no noise unit that could stand for them; --oov skip leaves out their utterances";
    else if (is_auto && is_another_lexicon(c))
        advice = "these are more than half of all words: is it the right lexicon? --oov noise goes on all the same";
    if (!advice)
        return 0;
    s->choice = TRL_UNKNOWN_FAIL;
    return trl__fail_line(err, TRL_EINVAL, first->file, first->line, "%s; first here: utterance %.100s. %s", s->text,
                          first->utterance, advice);
}

static int end_count(trl__unknown_count *c, const trl_model *model, int choice, trl_findings *words,
                     trl_unknown_summary *s, trl_error *err)
{
    char near[140];
    int code = trl__unknown_list_name(&c->list, words, err);
    if (code == 0)
        code = say_near(&c->list, near, sizeof near, err);
    if (code < 0)
        return code;
    *s = (trl_unknown_summary){.words = c->list.words.count,
                               .times = c->list.times,
                               .utterances = c->unknown_utterances,
                               .all_times = c->words,
                               .all_utterances = c->utterances};
    if (s->words > 0)
        say_words(c, s, near);
    return decide(c, model, choice, s, err);
}

int trl__unknown_count_end(trl__unknown_count *count, const trl_model *model, int choice, trl_findings *words,
                           trl_unknown_summary *summary, trl_error *err)
{
    trl_findings *own = NULL;
    trl_unknown_summary unused;
    int code = words ? 0 : trl_findings_create(&own, err);
    if (code == 0)
        code = end_count(count, model, choice, words ? words : own, summary ? summary : &unused, err);
    trl_findings_destroy(own);
    trl__unknown_list_free(&count->list);
    return code;
}

static int count_utterance(trl__unknown_count *c, trl__transcript *t, const trl_utterance *u, trl_error *err)
{
    int code = trl__transcript_split(t, c->list.lexicon, u->text, err);
    c->utterances++;
    c->unknown_utterances += t->unknown_count > 0;
    const trl__word_place place = {u->text_source ? u->text_source : u->source, u->id,
                                   u->text_source ? u->text_line : u->line};
    return code < 0 ? code : trl__unknown_count_add(c, t, place, err);
}

int trl_unknown_words_find(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus, int choice,
                           const char *only, trl_findings *words, trl_unknown_summary *summary, trl_error *err)
{
    trl__unknown_count count = {.list.lexicon = lexicon};
    trl__transcript transcript = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < trl_corpus_count(corpus); i++) {
        const trl_utterance *u = trl_corpus_get(corpus, i);
        if (u->text && !u->bad && (!only || strcmp(only, u->id) == 0))
            code = count_utterance(&count, &transcript, u, err);
    }
    trl__transcript_free(&transcript);
    if (code == 0)
        return trl__unknown_count_end(&count, model, choice, words, summary, err);
    trl__unknown_list_free(&count.list);
    return code;
}
