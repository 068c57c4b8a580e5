/* Words in the order of how they are said: those that begin alike become neighbours, as they are in a tree of pronunciations. */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"

#include <stdlib.h>

/* A word with its first pronunciation. */
typedef struct spoken {
    trl_pronunciation said; /* length 0: the lexicon lacks it */
    int32_t label;          /* of the table that it comes from */
} spoken;

static int by_sound(const void *a, const void *b)
{
    const spoken *x = a, *y = b;
    for (size_t i = 0; i < x->said.length && i < y->said.length; i++)
        if (x->said.phones[i] != y->said.phones[i])
            return x->said.phones[i] < y->said.phones[i] ? -1 : 1;
    if (x->said.length != y->said.length) /* those without come last */
        return y->said.length == 0 || (x->said.length > 0 && x->said.length < y->said.length) ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* Returns how many words there are; all other labels of the table get 0. */
static size_t list_words(const trl_symbols *symbols, const trl_lexicon *lexicon, spoken *list, int32_t *label)
{
    size_t count = 0;
    for (size_t i = 0; i < trl_symbols_count(symbols); i++) {
        int32_t old = trl_symbols_label(symbols, i);
        const char *name = trl_symbols_name(symbols, old);
        long word = trl_lexicon_find(lexicon, name);
        label[old] = 0;
        if (old == TRL_EPSILON || (word < 0 && trl__network_is_symbol(name)))
            continue;
        list[count].label = old;
        list[count++].said = word < 0 ? (trl_pronunciation){0} : trl_lexicon_pronunciation(lexicon, (size_t)word, 0);
    }
    qsort(list, count, sizeof *list, by_sound);
    return count;
}

int trl__network_word_order(const trl_symbols *symbols, const trl_lexicon *lexicon, int32_t **label, int32_t *labels,
                            trl_symbols **out, trl_error *err)
{
    *label = NULL;
    *out = NULL;
    *labels = 1;
    for (size_t i = 0; i < trl_symbols_count(symbols); i++)
        *labels = trl_symbols_label(symbols, i) >= *labels ? trl_symbols_label(symbols, i) + 1 : *labels;
    spoken *list = trl__alloc(trl_symbols_count(symbols) + 1, sizeof *list);
    *label = trl__alloc((size_t)*labels, sizeof **label);
    int code = list && *label ? trl_symbols_create(trl_symbols_title(symbols), out, err) : trl__fail_memory(err);
    if (code == 0)
        code = trl_symbols_add(*out, "<eps>", TRL_EPSILON, err);
    for (int32_t l = 0; code == 0 && l < *labels; l++)
        (*label)[l] = l == TRL_EPSILON ? 0 : -1;
    size_t count = code == 0 ? list_words(symbols, lexicon, list, *label) : 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        (*label)[list[i].label] = (int32_t)i + 1;
        code = trl_symbols_add(*out, trl_symbols_name(symbols, list[i].label), (int64_t)i + 1, err);
    }
    trl__free(list);
    if (code < 0) {
        trl_symbols_destroy(*out);
        trl__free(*label);
        *out = NULL;
        *label = NULL;
    }
    return code;
}
