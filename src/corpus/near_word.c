/* A map from words in small letters to the lexicon's own. */
#include "corpus/near_word.h"
#include "base/fail.h"
#include "base/fold_case.h"
#include "base/unicode.h"
#include "corpus/token_marks.h"

#include <string.h>

static char *fold(trl__arena *arena, const char *word)
{
    char *folded = trl__arena_copy(arena, word, strlen(word));
    if (folded)
        trl__fold_case(folded);
    return folded;
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

static const uint64_t *find_letters(const trl__near_words *near, const int32_t *letters, size_t count)
{
    char text[TRL__LETTERS_BYTES];
    return trl__map_find(&near->index, text, trl__letters_text(letters, count, text));
}

int trl__near_word(trl__near_words *near, const char *word, const char **found, trl_error *err)
{
    int32_t letters[TRL__LETTERS_MOST];
    *found = NULL;
    char *folded = fold(&near->arena, word);
    if (!folded)
        return trl__fail_memory(err);
    long all = trl__letters_of(folded, strlen(folded), 0, letters);
    size_t first = 0, end = all > 0 ? (size_t)all : 0;
    const uint64_t *number = trl__map_find(&near->index, folded, strlen(folded));
    while (!number && end > first && trl__is_mark(letters[end - 1]))
        number = find_letters(near, letters + first, --end - first);
    while (!number && end > first && trl__is_mark(letters[first])) {
        first++;
        number = find_letters(near, letters + first, end - first);
    }
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
