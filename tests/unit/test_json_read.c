/* JSON read back, against what RFC 8259 says. */
#include "cmocka_test.h"
#include "base/fail.h"
#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static trl__arena arena;
static char *text; /* a block of its own size, so that reading past the end shows */

static int forget(void **state)
{
    (void)state;
    trl__arena_free(&arena);
    free(text);
    text = NULL;
    return 0;
}

static int read_bytes(const char *bytes, size_t length, const trl__json_value **out, trl_error *err)
{
    forget(NULL);
    text = malloc(length + 1);
    assert_non_null(text);
    memcpy(text, bytes, length);
    text[length] = '\0';
    return trl__json_read("file", 7, text, length, &arena, out, err);
}

static const trl__json_value *value_of(const char *json)
{
    trl_error err = {0};
    const trl__json_value *value;
    if (read_bytes(json, strlen(json), &value, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    return value;
}

static void expect_text(const char *json, const char *expected)
{
    const char *found = trl__json_text(value_of(json));
    assert_non_null(found);
    assert_string_equal(found, expected);
}

static void refuse(const char *json, const char *expected)
{
    trl_error err = {0};
    const trl__json_value *value;
    if (read_bytes(json, strlen(json), &value, &err) != TRL_EFORMAT)
        fail_msg("%s was taken", json);
    assert_null(value);
    if (!strstr(err.text, "file:7: not JSON, or cut: ") || !strstr(err.text, expected))
        fail_msg("%s: %s, without %s", json, err.text, expected);
}

static void strings_are_decoded(void **state)
{
    (void)state;
    expect_text("\"\"", "");
    expect_text(" \t\"gr\xC3\xB6\xC3\x9F"
                "e\" \r\n",
                "größe");
    expect_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    expect_text("\"\\u0041\\u00f6\\u20AC\\ud83d\\uDE00.\"", "Aö€😀.");
    expect_text("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\udbff\\udfff\"",
                "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

static void numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        double number;
        int64_t whole;
    } cases[] = {{"0", 0, 0},
                 {"-0", 0, 0},
                 {"-12", -12, -12},
                 {"9223372036854775807", 0x1p63, INT64_MAX},
                 {"-9223372036854775808", -0x1p63, INT64_MIN},
                 {"9223372036854775808", 0x1p63, 0},
                 {"1.5", 1.5, 0},
                 {"10.0", 10, 0},
                 {"0.25e2", 25, 0},
                 {"25E-2", 0.25, 0},
                 {"1e+3", 1000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const trl__json_value *v = value_of(cases[i].json);
        assert_int_equal(v->kind, TRL__JSON_NUMBER);
        assert_true(v->number == cases[i].number);
        assert_true(v->whole == cases[i].whole);
    }
}

static void members_are_found(void **state)
{
    (void)state;
    const trl__json_value *v =
        value_of("{\"a\":[1 , \"two\",{},[],null,true,false],\"b\":{\"c\":-3},\"a \":0,\"b\":4}");
    const trl__json_value *list = trl__json_member(v, "a");
    static const trl__json_kind kinds[] = {TRL__JSON_NUMBER, TRL__JSON_STRING, TRL__JSON_OBJECT, TRL__JSON_ARRAY,
                                           TRL__JSON_NULL,   TRL__JSON_TRUE,   TRL__JSON_FALSE};
    size_t i = 0;
    assert_int_equal(trl__json_count(list), 7);
    for (const trl__json_value *item = trl__json_first(list); item; item = item->next) {
        assert_int_equal(item->kind, kinds[i++]);
        assert_null(item->key);
    }
    assert_int_equal(i, 7);
    assert_string_equal(list->first->next->text, "two");
    assert_int_equal(trl__json_member(v, "b")->whole, 4); /* the last of two */
    assert_int_equal(v->count, 4);
    assert_null(trl__json_member(v, "c"));
    assert_null(trl__json_member(list, "a"));
    assert_null(trl__json_member(NULL, "a"));
    assert_null(trl__json_text(list));
    assert_null(trl__json_first(v));
    assert_int_equal(trl__json_count(v), 0);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } cases[] = {{"", "a value is missing at byte 1"},
                 {"  ", "a value is missing at byte 3"},
                 {"{", "a key is missing at byte 2"},
                 {"{\"a\"", "a colon is missing at byte 5"},
                 {"{\"a\":", "a value is missing"},
                 {"{\"a\":1", "a comma or } is missing"},
                 {"{\"a\":1,}", "a key is missing"},
                 {"{a:1}", "a key is missing"},
                 {"[1,", "a value is missing"},
                 {"[1 2]", "a comma or ] is missing"},
                 {"[1}", "a comma or ] is missing"},
                 {"[,1]", "a value is missing"},
                 {"1 2", "something follows the value at byte 3"},
                 {"\"abc", "a string without an end"},
                 {"\"ab\\", "an escape that means nothing"},
                 {"\"\\x\"", "an escape that means nothing"},
                 {"\"\\u12g4\"", "an escape that means nothing"},
                 {"\"\\u12", "an escape that means nothing"},
                 {"\"\\u0000\"", "an escape that means nothing"},
                 {"\"\\ud800\"", "an escape that means nothing"},
                 {"\"\\ud800\\u0041\"", "an escape that means nothing"},
                 {"\"\\udc00\"", "an escape that means nothing"},
                 {"\"a\tb\"", "a control character"},
                 {"\"\xFF\"", "no UTF-8 at byte 2"},
                 {"01", "no number"},
                 {"-", "no number"},
                 {"1.", "no number"},
                 {".5", "a value is missing"},
                 {"+1", "a value is missing"},
                 {"1e", "no number"},
                 {"1e999", "no number"},
                 {"0x10", "something follows"},
                 {"nan", "neither a value"},
                 {"tru", "neither a value"},
                 {"truely", "something follows"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].json, cases[i].text);
    trl_error err;
    const trl__json_value *value;
    assert_int_equal(read_bytes("1\0", 2, &value, &err), TRL_EFORMAT); /* a NUL */
}

static void depth_is_limited(void **state)
{
    (void)state;
    static char deep[200001];
    memset(deep, '[', 200000);
    refuse(deep, "too many arrays and objects inside each other");
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    assert_int_equal(value_of(deep)->count, 1);
}

static void memory_may_end(void **state)
{
    (void)state;
    static const char json[] = "{\"a\":[1,\"two\",{\"b\":null}]}";
    trl_error err = {0};
    const trl__json_value *value;
    trl__memory_fail_after(1);
    int code = read_bytes(json, sizeof json - 1, &value, &err);
    trl__memory_fail_after(0);
    assert_int_equal(code, TRL_ENOMEM);
    assert_string_equal(err.text, "out of memory");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(strings_are_decoded),     TEST(numbers_are_read), TEST(members_are_found),
                                       TEST(other_texts_are_refused), TEST(depth_is_limited), TEST(memory_may_end)};
    return RUN(tests);
}
