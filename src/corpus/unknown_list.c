#include "corpus/unknown_list.h"
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int trl__unknown_list_add(trl__unknown_list *list, const char *word, size_t times, trl__word_place place,
                          trl_error *err)
{
    size_t known = list->words.count;
    long number = trl__strings_add(&list->words, word, strlen(word));
    if (number < 0 || TRL_GROW(list->items, list->capacity, list->words.count) < 0)
        return trl__fail_memory(err);
    if (list->words.count > known)
        list->items[number] = (trl__unknown_word){list->words.texts[number], 0, place};
    list->items[number].times += times;
    list->times += times;
    return 0;
}

int trl__unknown_list_near(trl__unknown_list *list, const char *word, const char **near, trl_error *err)
{
    int code = list->near.lexicon ? 0 : trl__near_words_build(&list->near, list->lexicon, err);
    return code < 0 ? code : trl__near_word(&list->near, word, near, err);
}

static int most_frequent_first(const void *a, const void *b)
{
    const trl__unknown_word *x = a, *y = b;
    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return strcmp(x->word, y->word);
}

static int name_word(trl__unknown_list *list, const trl__unknown_word *w, trl_findings *findings, trl_error *err)
{
    const trl__word_place *p = &w->first;
    const char *near;
    char times[64] = "once";
    if (w->times > 1)
        snprintf(times, sizeof times, "%zu times, first here", w->times);
    int code = trl__unknown_list_near(list, w->word, &near, err);
    if (code == 0)
        code = trl_findings_add(findings, TRL_FINDING_UNKNOWN_WORD, p->file, p->line, p->utterance, err,
                                "%s is not in the lexicon (%s)%s%s%s", w->word, times, near ? "; it has " : "",
                                near ? near : "", trl__near_word_advice(w->word, near));
    return code < 0 ? code : trl__findings_set_word(findings, w->word, w->times, err);
}

int trl__unknown_list_name(trl__unknown_list *list, trl_findings *findings, trl_error *err)
{
    int code = 0;
    if (list->words.count > 1)
        qsort(list->items, list->words.count, sizeof *list->items, most_frequent_first);
    for (size_t i = 0; code == 0 && i < list->words.count; i++)
        code = name_word(list, &list->items[i], findings, err);
    return code;
}

void trl__unknown_list_free(trl__unknown_list *list)
{
    trl__near_words_free(&list->near);
    trl__strings_free(&list->words);
    trl__free(list->items);
    *list = (trl__unknown_list){0};
}
