/* Small letters: every character against the C library's own table, in a UTF-8 locale. */
#define _GNU_SOURCE
#include "cmocka_test.h"

#include "base/fold_case.h"

#include <locale.h>
#include <string.h>
#include <wctype.h>

static size_t encode(unsigned letter, char *text)
{
    size_t length = 0;
    if (letter < 0x80) {
        text[length++] = (char)letter;
    } else if (letter < 0x800) {
        text[length++] = (char)(0xC0 | letter >> 6);
    } else {
        text[length++] = (char)(0xE0 | letter >> 12);
        text[length++] = (char)(0x80 | (letter >> 6 & 0x3F));
    }
    if (letter >= 0x80)
        text[length++] = (char)(0x80 | (letter & 0x3F));
    text[length] = '\0';
    return length;
}

/* The letters of Latin-1, Latin Extended-A, Greek and Cyrillic: where capitals are folded. */
static int is_folded(unsigned letter)
{
    return (letter < 0x180 && letter != 0x130) || (letter >= 0x386 && letter < 0x3CF) ||
           (letter >= 0x400 && letter < 0x530);
}

static void every_letter(void **state)
{
    (void)state;
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!locale)
        skip();
    for (unsigned letter = 1; letter < 0x3000; letter++) {
        char text[8], wanted[8];
        encode(letter, text);
        encode(is_folded(letter) ? (unsigned)towlower_l((wint_t)letter, locale) : letter, wanted);
        trl__fold_case(text);
        assert_string_equal(text, wanted);
    }
    freelocale(locale);
}

static void whole_words(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},       {"O'Neill-2", "o'neill-2"}, {"ŁÓDŹ", "łódź"},
                                           {"ΏΡΑ", "ώρα"}, {"ЁЛКА", "ёлка"},           {"東京A", "東京a"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[32];
        strcpy(text, pairs[i][0]);
        trl__fold_case(text);
        assert_string_equal(text, pairs[i][1]);
    }
}

/* Bytes that are no UTF-8 stay, and nothing behind the end is looked at. */
static void broken_bytes(void **state)
{
    (void)state;
    char text[] = "\xC3\x41\xD0";
    trl__fold_case(text);
    assert_string_equal(text, "\xC3\x61\xD0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_letter),
        cmocka_unit_test(whole_words),
        cmocka_unit_test(broken_bytes),
    };
    return RUN(tests);
}
