/* Expected values are Unicode's: UnicodeData.txt (compositions, categories), CaseFolding.txt. */
#include "base/unicode.h"
#include "cmocka_test.h"

#include <string.h>

static char made[TRL__LETTERS_BYTES];

static const char *composed(const char *text)
{
    size_t length = strlen(text);
    const char *result = trl__composed(text, &length, made);
    assert_int_equal(strlen(result), length);
    return result;
}

static const char *folded(const char *text)
{
    int32_t letters[TRL__LETTERS_MOST];
    long count = trl__letters_of(text, strlen(text), 1, letters);
    assert_true(count >= 0);
    trl__letters_text(letters, (size_t)count, made);
    return made;
}

static void letters_are_composed(void **state)
{
    (void)state;
    const char *ascii = "it's";
    assert_ptr_equal(composed(ascii), ascii);
    assert_string_equal(composed("e\u0301"), "\u00e9");
    assert_string_equal(composed("e\u0323\u0302"), "\u1ec7");      /* ệ of Vietnamese */
    assert_string_equal(composed("\u212b"), "\u00c5");             /* a singleton */
    assert_string_equal(composed("\u1112\u1161\u11ab"), "\ud55c"); /* 한 */
    assert_string_equal(composed("\u0915\u093c"), "\u0915\u093c"); /* क़ is excluded from composition */
    assert_string_equal(composed("\u0628\u064e"), "\u0628\u064e"); /* a vowel sign stays */
    assert_string_equal(composed("\xff\xfe"), "\xff\xfe");         /* not UTF-8: as it is */
}

static void capitals_are_folded(void **state)
{
    (void)state;
    assert_string_equal(folded("Stra\u00dfe"), "strasse");
    const char *odos = "\u03bf\u03b4\u03bf\u03c3"; /* both small sigmas are one */
    assert_string_equal(folded("\u039f\u0394\u039f\u03a3"), odos);
    assert_string_equal(folded("\u03bf\u03b4\u03bf\u03c2"), odos);
    assert_string_equal(folded("\u041c\u043e\u0441\u043a\u0432\u0410"), "\u043c\u043e\u0441\u043a\u0432\u0430");
    assert_string_equal(folded("I"), "i"); /* the dotless one is Turkish's alone */
    assert_string_equal(folded("\u0130"), "i\u0307");
    assert_string_equal(folded("\u0131"), "\u0131");
    assert_string_equal(folded("E\u0301"), "\u00e9");
}

static void letters_have_categories(void **state)
{
    (void)state;
    assert_string_equal(trl__category_of('A'), "Lu");
    assert_string_equal(trl__category_of('-'), "Pd");
    assert_string_equal(trl__category_of(0x201c), "Pi");
    assert_string_equal(trl__category_of(0x094d), "Mn");
    assert_string_equal(trl__category_of(0x0964), "Po");
}

static void long_words_are_left(void **state)
{
    (void)state;
    char word[TRL__LETTERS_MOST + 3];
    int32_t letters[TRL__LETTERS_MOST];
    memset(word, 'a', sizeof word);
    assert_int_equal(trl__letters_of(word, TRL__LETTERS_MOST, 0, letters), TRL__LETTERS_MOST);
    assert_int_equal(trl__letters_of(word, TRL__LETTERS_MOST + 1, 0, letters), -1);
    for (size_t i = 0; i + 2 < sizeof word; i += 2)
        memcpy(word + i, "\u00e9", 2);
    word[sizeof word - 1] = '\0';
    assert_int_equal(trl__letters_of(word, TRL__LETTERS_MOST, 0, letters), TRL__LETTERS_MOST / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_composed),
        cmocka_unit_test(capitals_are_folded),
        cmocka_unit_test(letters_have_categories),
        cmocka_unit_test(long_words_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
