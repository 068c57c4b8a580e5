/* Kaldi archives of integers: bytes laid out by hand, both forms, scripts, and damage. */
#include "temp_folder.h"
#include "base/memory.h"
#include "model/kaldi_alignment.h"

static trl_error err;

static const int32_t one[] = {3, -1, 70000}, two[] = {5};

static void write_ark(int text, const char *scp)
{
    trl__int_ark_writer *writer;
    assert_int_equal(trl__int_ark_create(temp_path("ali.ark"), scp, text, &writer, &err), 0);
    assert_int_equal(trl__int_ark_add(writer, "u1", one, 3, &err), 0);
    assert_int_equal(trl__int_ark_add(writer, "empty", NULL, 0, &err), 0);
    assert_int_equal(trl__int_ark_add(writer, "u2", two, 1, &err), 0);
    assert_int_equal(trl__int_ark_commit(writer, &err), 0);
}

static void expect_ark(void)
{
    trl__int_ark_reader *reader;
    const char *id;
    const int32_t *numbers;
    size_t count;
    assert_int_equal(trl__int_ark_open(temp_path("ali.ark"), &reader, &err), 0);
    assert_int_equal(trl__int_ark_next(reader, &id, &numbers, &count, &err), 1);
    assert_string_equal(id, "u1");
    assert_int_equal(count, 3);
    assert_memory_equal(numbers, one, sizeof one);
    assert_int_equal(trl__int_ark_next(reader, &id, &numbers, &count, &err), 1);
    assert_string_equal(id, "empty");
    assert_int_equal(count, 0);
    assert_int_equal(trl__int_ark_next(reader, &id, &numbers, &count, &err), 1);
    assert_string_equal(id, "u2");
    assert_int_equal(count, 1);
    assert_int_equal(numbers[0], 5);
    assert_int_equal(trl__int_ark_next(reader, &id, &numbers, &count, &err), 0);
    trl__int_ark_close(reader);
}

static const char binary[] = "u1 \0B\4\3\0\0\0\4\3\0\0\0\4\xff\xff\xff\xff\4\x70\x11\1\0"
                             "empty \0B\4\0\0\0\0u2 \0B\4\1\0\0\0\4\5\0\0";

static void binary_form(void **state)
{
    (void)state;
    write_ark(0, NULL);
    temp_expect("ali.ark", binary, sizeof binary); /* the literal's own NUL is the last number's last byte */
    expect_ark();
}

static void text_form(void **state)
{
    (void)state;
    static const char text[] = "u1 3 -1 70000 \nempty \nu2 5 \n";
    write_ark(1, NULL);
    temp_expect("ali.ark", text, sizeof text - 1);
    expect_ark();
}

/* The script gives the place behind the id and its blank. */
static void with_a_script(void **state)
{
    (void)state;
    char expected[1024];
    write_ark(0, temp_path("ali.scp"));
    snprintf(expected, sizeof expected, "u1 %s:3\nempty %s:31\nu2 %s:41\n", temp_path("ali.ark"), temp_path("ali.ark"),
             temp_path("ali.ark"));
    temp_expect("ali.scp", expected, strlen(expected));
}

static void refuse(const void *bytes, size_t size, int code, const char *message)
{
    trl__source source;
    trl__int_ark_reader *reader;
    const char *id;
    const int32_t *numbers;
    size_t count;
    int found = 1;
    assert_int_equal(trl__source_from_memory("ark", bytes, size, &source, &err), 0);
    assert_int_equal(trl__int_ark_from_source(&source, &reader, &err), 0);
    while (found == 1)
        found = trl__int_ark_next(reader, &id, &numbers, &count, &err);
    assert_int_equal(found, code);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
    trl__int_ark_close(reader);
}

#define REFUSE(bytes, code, message) refuse(bytes, sizeof(bytes) - 1, code, message)

static void refused_with_reason(void **state)
{
    (void)state;
    REFUSE("u1 1 2 x\n", TRL_EFORMAT, "found 'x'");
    REFUSE("u1 99999999999\n", TRL_EFORMAT, "99999999999");
    REFUSE("u1 1111111111111111111111\n", TRL_EFORMAT, "characters");
    REFUSE("u1\n", TRL_EFORMAT, "utterance id");
    REFUSE("u1 \0C\4\0\0\0\0", TRL_EFORMAT, "u1");
    REFUSE("u1 \0B\4\xff\xff\xff\xff", TRL_EFORMAT, "u1");
    REFUSE("u1 \0B\4\xff\xff\xff\x7f", TRL_ECORRUPT, "");
    REFUSE("u1 \0B\4\2\0\0\0\4\1\0\0\0\5\1\0\0\0", TRL_EFORMAT, "at byte 15: utterance u1: number 1");
    for (size_t cut = 4; cut < 24; cut++)
        refuse(binary, cut, TRL_ECORRUPT, "");
}

static void bad_ids_are_not_written(void **state)
{
    (void)state;
    trl__int_ark_writer *writer;
    assert_int_equal(trl__int_ark_create(temp_path("ali.ark"), NULL, 0, &writer, &err), 0);
    assert_int_equal(trl__int_ark_add(writer, "u 1", one, 3, &err), TRL_EFORMAT);
    trl__int_ark_abort(writer);
    assert_int_not_equal(access(temp_path("ali.ark"), F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_make, temp_folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(binary_form),
        TEST(text_form),
        TEST(with_a_script),
        TEST(refused_with_reason),
        TEST(bad_ids_are_not_written),
    };
    return RUN(tests);
}
