/* JSON strings and numbers, against what RFC 8259 says. */
#include "comma_locale.h"
#include "base/json_text.h"
#include "base/memory.h"

#include <math.h>

static void expect_json(const char *text, const char *json)
{
    trl_error err;
    trl_file *file;
    assert_int_equal(trl_file_create(temp_path("j"), &file, &err), 0);
    assert_int_equal(trl__json_string(file, text, &err), 0);
    assert_int_equal(trl_file_commit(file, &err), 0);
    temp_expect("j", json, strlen(json));
}

static void expect_number(double value, const char *json)
{
    trl_error err;
    trl_file *file;
    assert_int_equal(trl_file_create(temp_path("j"), &file, &err), 0);
    assert_int_equal(trl__json_number(file, value, &err), 0);
    assert_int_equal(trl_file_commit(file, &err), 0);
    temp_expect("j", json, strlen(json));
}

static void strings_are_escaped(void **state)
{
    (void)state;
    expect_json("", "\"\"");
    expect_json("plain words, /slashes/ and 'quotes'", "\"plain words, /slashes/ and 'quotes'\"");
    expect_json("\"", "\"\\\"\"");
    expect_json("a\\b\"c", "\"a\\\\b\\\"c\"");
    expect_json("\t\n\x01\x7f", "\"\\u0009\\u000a\\u0001\\u007f\"");
    expect_json("größe 語 😀", "\"größe 語 😀\"");
}

static void what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    expect_json("\xff", "\"\\ufffd\"");
    expect_json("a\xe4\"b", "\"a\\ufffd\\\"b\"");
    expect_json("\xc3\xb6\xc3", "\"\xc3\xb6\\ufffd\"");
    expect_json("\xc0\xaf.", "\"\\ufffd\\ufffd.\"");
}

static void numbers_have_points(void **state)
{
    (void)state;
    set_comma_locale();
    expect_number(-0.5, "-0.5");
    setlocale(LC_ALL, "C");
    expect_number(0, "0");
    expect_number(0.1, "0.1");
    expect_number(NAN, "null");
    expect_number(-INFINITY, "null");
}

static char *small_value(void)
{
    trl__json json = {0};
    trl__json_open(&json, NULL, '{');
    trl__json_add_text(&json, "a \"key\"", "gr\xC3\xB6\xC3");
    trl__json_add_whole(&json, "least", INT64_MIN);
    trl__json_open(&json, "list", '[');
    trl__json_add_real(&json, NULL, -0.25);
    trl__json_add_real(&json, NULL, NAN);
    trl__json_open(&json, NULL, '{');
    trl__json_close(&json, '}');
    trl__json_close(&json, ']');
    trl__json_add_text(&json, "end", "a text that is longer than what is there at first, {");
    trl__json_add_real(&json, "one", 1);
    trl__json_close(&json, '}');
    return trl__json_take(&json);
}

static void values_grow_in_memory(void **state)
{
    (void)state;
    char *text = small_value();
    assert_string_equal(text,
                        "{\"a \\\"key\\\"\":\"gr\xC3\xB6\\ufffd\",\"least\":-9223372036854775808,"
                        "\"list\":[-0.25,null,{}],\"end\":\"a text that is longer than what is there at first, {\","
                        "\"one\":1}");
    trl__free(text);
}

static void a_missing_piece_is_remembered(void **state)
{
    (void)state;
    trl__json json = {0};
    trl__json_open(&json, NULL, '[');
    trl__memory_fail_after(1);
    trl__json_add_text(&json, NULL, "more than there is room for at first");
    trl__memory_fail_after(0);
    trl__json_add_whole(&json, NULL, 1);
    trl__json_close(&json, ']');
    assert_null(trl__json_take(&json));
    values_grow_in_memory(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_make, temp_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(strings_are_escaped), TEST(what_is_not_utf8_is_replaced),
                                       TEST(numbers_have_points), TEST(values_grow_in_memory),
                                       TEST(a_missing_piece_is_remembered)};
    return RUN(tests);
}
