#include "base/unicode.h"

#include <utf8proc.h>

long trl__letters_of(const char *text, size_t length, int fold, int32_t letters[TRL__LETTERS_MOST])
{
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | (fold ? UTF8PROC_CASEFOLD : 0);
    utf8proc_ssize_t count = utf8proc_decompose((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, letters,
                                                TRL__LETTERS_MOST, options);
    if (count < 0 || count > TRL__LETTERS_MOST)
        return -1;
    return (long)utf8proc_normalize_utf32(letters, count, options);
}

size_t trl__letters_text(const int32_t *letters, size_t count, char out[TRL__LETTERS_BYTES])
{
    utf8proc_uint8_t *at = (utf8proc_uint8_t *)out;
    for (size_t i = 0; i < count; i++)
        at += utf8proc_encode_char(letters[i], at);
    *at = '\0';
    return (size_t)((char *)at - out);
}

const char *trl__composed(const char *word, size_t *length, char out[TRL__LETTERS_BYTES])
{
    int32_t letters[TRL__LETTERS_MOST];
    size_t i = 0;
    while (i < *length && (unsigned char)word[i] < 0x80)
        i++;
    long count = i == *length ? -1 : trl__letters_of(word, *length, 0, letters);
    if (count < 0)
        return word;
    *length = trl__letters_text(letters, (size_t)count, out);
    return out;
}

const char *trl__category_of(int32_t letter)
{
    return utf8proc_category_string(letter);
}
