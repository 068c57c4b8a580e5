/* Errors: code and text, the place in front, one line of UTF-8 whatever is quoted. */
#include "cmocka_test.h"

#include "base/fail.h"
#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void every_code_has_its_own_meaning(void **state)
{
    (void)state;
    for (int code = TRL_EDEVICE; code <= 0; code++) {
        assert_string_not_equal(trl_error_meaning(code), "unknown error");
        for (int other = TRL_EDEVICE; other < code; other++)
            assert_string_not_equal(trl_error_meaning(code), trl_error_meaning(other));
    }
    assert_string_equal(trl_error_meaning(TRL_ENOMEM), "out of memory");
    assert_string_equal(trl_error_meaning(1), "unknown error");
    assert_string_equal(trl_error_meaning(TRL_EDEVICE - 1), "unknown error");
}

static void the_place_comes_first(void **state)
{
    (void)state;
    trl_error err;
    assert_int_equal(trl__fail(&err, TRL_EFORMAT, "%d of %s", 3, "x"), TRL_EFORMAT);
    assert_int_equal(err.code, TRL_EFORMAT);
    assert_string_equal(err.text, "3 of x");
    assert_int_equal(trl__fail_line(&err, TRL_EIO, "a/b", 12, "no %s", "y"), TRL_EIO);
    assert_string_equal(err.text, "a/b:12: no y");
    trl__fail_line(&err, TRL_EIO, "a/b", 0, "z");
    assert_string_equal(err.text, "a/b: z");
    trl__fail_line(&err, TRL_EIO, "a", INT64_MAX, "z");
    assert_string_equal(err.text, "a:9223372036854775807: z");
    assert_int_equal(trl__fail_byte(&err, TRL_ECORRUPT, "f", UINT64_MAX, "q"), TRL_ECORRUPT);
    assert_string_equal(err.text, "f: at byte 18446744073709551615: q");
    assert_int_equal(trl__fail_memory(&err), TRL_ENOMEM);
    assert_string_equal(err.text, "out of memory");
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(trl__fail(NULL, TRL_EINVAL, "x"), TRL_EINVAL);
    assert_int_equal(trl__fail_line(NULL, TRL_EINVAL, "f", 1, "x"), TRL_EINVAL);
    assert_int_equal(trl__fail_byte(NULL, TRL_EINVAL, "f", 1, "x"), TRL_EINVAL);
    assert_int_equal(trl__fail_memory(NULL), TRL_ENOMEM);
}

static void a_text_may_quote_itself(void **state)
{
    (void)state;
    trl_error err;
    trl__fail(&err, TRL_EIO, "inner");
    trl__fail(&err, err.code, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
    trl__fail_line(&err, err.code, "f", 2, "%s", err.text);
    assert_string_equal(err.text, "f:2: outer: inner");
}

static void a_long_text_ends_in_a_whole_character(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    for (size_t c = 0; c < 4; c++) {
        for (size_t shift = 0; shift < 4; shift++) {
            char text[2000] = "....";
            text[shift] = '\0';
            while (strlen(text) < 1500)
                strcat(text, characters[c]);
            trl_error err;
            trl__fail(&err, TRL_EIO, "%s", text);
            size_t length = strlen(err.text);
            assert_in_range(length, sizeof err.text - 5, sizeof err.text - 1);
            assert_memory_equal(err.text, text, length);
            assert_int_equal(trl__utf8_check(err.text, length), length);
        }
    }
}

static void a_long_path_leaves_room(void **state)
{
    (void)state;
    char path[3001];
    for (size_t i = 0; i < 3000; i += 2)
        memcpy(path + i, "\xC3\xA4", 2);
    strcpy(path + 2991, "/name.txt");
    trl_error err;
    trl__fail_line(&err, TRL_EFORMAT, path, 77, "no phones");
    assert_non_null(strstr(err.text, "/name.txt:77: no phones"));
    assert_int_equal(trl__utf8_check(err.text, strlen(err.text)), strlen(err.text));
    trl__fail_byte(&err, TRL_EFORMAT, path, 78, "no phones");
    assert_non_null(strstr(err.text, "/name.txt: at byte 78: no phones"));
    errno = EACCES;
    trl__fail_errno(&err, path, "can't open");
    assert_non_null(strstr(err.text, "/name.txt: can't open: Permission denied"));
}

static void quoted_bytes_can_not_break_the_line(void **state)
{
    (void)state;
    trl_error err;
    trl__fail(&err, TRL_EFORMAT, "word '%s'", "a\nb\r\x1B[2J\x7F\xFF\xC3.\xC3\xA4");
    assert_string_equal(err.text, "word 'a?b??[2J???.\xC3\xA4'");
    trl__fail_line(&err, TRL_EFORMAT, "new\nline", 1, "x");
    assert_string_equal(err.text, "new?line:1: x");
}

static void errno_becomes_a_code(void **state)
{
    (void)state;
    static const int pairs[][2] = {
        {ENOENT, TRL_ENOENT}, {ENOTDIR, TRL_ENOENT}, {ENOMEM, TRL_ENOMEM}, {EACCES, TRL_EIO}, {ENOSPC, TRL_EIO}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        trl_error err;
        errno = pairs[i][0];
        assert_int_equal(trl__fail_errno(&err, "p", "v"), pairs[i][1]);
        char expected[200];
        snprintf(expected, sizeof expected, "p: v: %s", strerror(pairs[i][0]));
        assert_string_equal(err.text, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_own_meaning),
        cmocka_unit_test(the_place_comes_first),
        cmocka_unit_test(nobody_has_to_listen),
        cmocka_unit_test(a_text_may_quote_itself),
        cmocka_unit_test(a_long_text_ends_in_a_whole_character),
        cmocka_unit_test(a_long_path_leaves_room),
        cmocka_unit_test(quoted_bytes_can_not_break_the_line),
        cmocka_unit_test(errno_becomes_a_code),
    };
    return RUN(tests);
}
