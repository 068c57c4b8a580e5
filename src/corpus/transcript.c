#include "corpus/transcript.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

int trl__transcript_words(const char *text, const trl_lexicon *lexicon, trl__words *words, size_t *unknown,
                          char first[TRL__WORD_SIZE], trl_error *err)
{
    char *copy = trl__strdup(text);
    if (!copy)
        return trl__fail_memory(err);
    *unknown = 0;
    int code = 0;
    for (char *word = copy, *next; code == 0 && word && *word; word = next) {
        next = strchr(word, ' ');
        if (next)
            *next++ = '\0';
        long number = trl_lexicon_find(lexicon, word);
        if (number < 0 && (*unknown)++ == 0)
            snprintf(first, TRL__WORD_SIZE, "%s", word);
        if (TRL_GROW(words->items, words->capacity, words->count + 1) < 0)
            code = trl__fail_memory(err);
        else
            words->items[words->count++] = number < 0 ? TRL__UNKNOWN_WORD : (int32_t)number;
    }
    trl__free(copy);
    return code;
}
