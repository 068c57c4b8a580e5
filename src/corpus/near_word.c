/* A map from words in small letters to the lexicon's own. */
#include "corpus/near_word.h"
#include "base/fail.h"
#include "base/fold_case.h"

#include <ctype.h>
#include <string.h>

static char *fold(trl__arena *arena, const char *word)
{
    char *folded = trl__arena_copy(arena, word, strlen(word));
    if (folded)
        trl__fold_case(folded);
    return folded;
}

/* Bytes of the punctuation mark at the beginning (or with `end`, the end) of the text; 0: none is there. */
static size_t punctuation(const char *text, size_t length, int end)
{
    static const char *const marks[] = {"«", "»", "¿", "¡", "“", "”", "„", "‘", "’", "‚", "…", "–", "—"};
    if (length == 0)
        return 0;
    unsigned char edge = (unsigned char)text[end ? length - 1 : 0];
    if (edge < 0x80 && ispunct(edge))
        return 1;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t size = strlen(marks[i]);
        if (size <= length && memcmp(end ? text + length - size : text, marks[i], size) == 0)
            return size;
    }
    return 0;
}

int trl__near_words_build(trl__near_words *near, const trl_lexicon *lexicon, trl_error *err)
{
    near->lexicon = lexicon;
    for (size_t i = 0; i < trl_lexicon_words(lexicon); i++) {
        const char *word = trl_lexicon_word(lexicon, i);
        uint64_t number = i;
        char *folded = fold(&near->arena, word);
        if (!folded || trl__map_add(&near->index, folded, strlen(folded), &number) < 0)
            return trl__fail_memory(err);
    }
    return 0;
}

int trl__near_word(trl__near_words *near, const char *word, const char **found, trl_error *err)
{
    *found = NULL;
    char *folded = fold(&near->arena, word);
    if (!folded)
        return trl__fail_memory(err);
    size_t length = strlen(folded), cut;
    const uint64_t *number = trl__map_find(&near->index, folded, length);
    while (!number && (cut = punctuation(folded, length, 1)) > 0)
        number = trl__map_find(&near->index, folded, length -= cut);
    while (!number && (cut = punctuation(folded, length, 0)) > 0)
        number = trl__map_find(&near->index, folded += cut, length -= cut);
    if (number)
        *found = trl_lexicon_word(near->lexicon, (size_t)*number);
    return 0;
}

const char *trl__near_word_advice(const char *word, const char *found)
{
    if (!found)
        return strpbrk(word, "0123456789") ? "; --replace can say how it is spoken" : "";
    return strlen(word) == strlen(found) ? "; --fold-case takes it" : ""; /* folding keeps the length */
}

void trl__near_words_free(trl__near_words *near)
{
    trl__map_free(&near->index);
    trl__arena_free(&near->arena);
}
