/* The container: what is written is read, and no damage goes unseen. */
#include "feature_fixture.h"
#include "base/container.h"
#include "base/memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char small_text[] = "a small section";

static void write_example(const char *path)
{
    trl__container_writer *writer;
    trl_error err;
    float numbers[20];
    for (int i = 0; i < 20; i++)
        numbers[i] = (float)i;
    assert_int_equal(trl__container_create(path, "example", 2, &writer, &err), 0);
    assert_int_equal(trl__container_begin(writer, "text", 0, &err), 0);
    assert_int_equal(trl__container_write(writer, small_text, 5, &err), 0);
    assert_int_equal(trl__container_position(writer), 5);
    assert_int_equal(trl__container_write(writer, small_text + 5, sizeof small_text - 5, &err), 0);
    assert_int_equal(trl__container_begin(writer, "empty", 0, &err), 0);
    assert_int_equal(trl__container_begin(writer, "sixteen.letters_", 1, &err), 0);
    assert_int_equal(trl__container_write(writer, numbers, sizeof numbers, &err), 0);
    assert_int_equal(trl__container_commit(writer, &err), 0);
}

static void check_example(const trl__container *c)
{
    const void *bytes;
    uint64_t size;
    assert_int_equal(trl__container_version(c), 2);
    assert_int_equal(trl__container_section(c, "text", &bytes, &size, NULL), 0);
    assert_int_equal(size, sizeof small_text);
    assert_memory_equal(bytes, small_text, sizeof small_text);
    assert_int_equal((uintptr_t)bytes % 64, 0);
    assert_int_equal(trl__container_section(c, "empty", &bytes, &size, NULL), 0);
    assert_int_equal(size, 0);
    assert_int_equal(trl__container_section(c, "sixteen.letters_", &bytes, &size, NULL), 0);
    assert_int_equal(size, 20 * sizeof(float));
    assert_int_equal(trl__container_offset(c, bytes), 128); /* as the layout below says */
    assert_int_equal((uintptr_t)bytes % 64, 0);
    assert_int_equal(trl__container_section(c, "absent", &bytes, &size, NULL), TRL_ECORRUPT);
}

static void reads_what_was_written(void **state)
{
    (void)state;
    trl__container *c;
    trl_error err;
    write_example(temp_path("c"));
    assert_int_equal(trl__container_open(temp_path("c"), "example", 2, &c, &err), 0);
    check_example(c);
    trl__container_rest(c);
    check_example(c);
    trl__container_close(c);
    size_t size;
    unsigned char *bytes = temp_read("c", &size);
    /* the layout as documented: magic, versions, byte order, kind, count, then the first section at 64 */
    assert_memory_equal(bytes, "trellis\0\1\0\0\0\4\3\2\1example\0\0\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0", 40);
    assert_memory_equal(bytes + 64, small_text, sizeof small_text);
    assert_int_equal(size, 64 + 64 + 128 + 3 * 48);
    free(bytes);
}

static void refuses_bytes_before_a_section(void **state)
{
    (void)state;
    trl__container_writer *writer;
    trl_error err;
    assert_int_equal(trl__container_create(temp_path("early"), "example", 1, &writer, &err), 0);
    assert_int_equal(trl__container_position(writer), 0);
    assert_int_equal(trl__container_write(writer, small_text, 5, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "must begin before its bytes"));
    trl__container_abort(writer);
}

static void refuses_other_kinds_and_versions(void **state)
{
    (void)state;
    trl__container *c;
    trl_error err;
    write_example(temp_path("c"));
    assert_int_equal(trl__container_open(temp_path("c"), "model", 2, &c, &err), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "holds 'example', not 'model'"));
    assert_int_equal(trl__container_open(temp_path("c"), "example", 1, &c, &err), TRL_EUNSUPPORTED);
    assert_int_equal(trl__container_open(temp_path("none"), "example", 1, &c, &err), TRL_ENOENT);
    temp_write("c", "some text that is no container at all, but quite long nevertheless: 64", 70);
    assert_int_equal(trl__container_open(temp_path("c"), "example", 1, &c, &err), TRL_EFORMAT);
    temp_write("c", "", 0);
    assert_int_equal(trl__container_open(temp_path("c"), "example", 1, &c, &err), TRL_EFORMAT);
}

static void refuses_every_flipped_byte(void **state)
{
    (void)state;
    write_example(temp_path("c"));
    size_t size;
    unsigned char *bytes = temp_read("c", &size);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            trl__container *c;
            trl_error err = {0};
            bytes[i] ^= (unsigned char)(1 << bit);
            int code = trl__container_from_memory("c", bytes, size, "example", 2, &c, &err);
            /* only the section that checks itself (bytes 128 … 207) may differ, and is the reader's to check */
            if (i >= 128 && i < 128 + 80) {
                assert_int_equal(code, 0);
                trl__container_close(c);
            } else {
                assert_true(code == TRL_ECORRUPT || code == TRL_EFORMAT || code == TRL_EUNSUPPORTED);
                assert_non_null(strstr(err.text, "c: "));
            }
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    free(bytes);
}

/* Puts `size` bytes of a little-endian number at `offset`, and all checksums but the sections' right. */
static void lie(unsigned char *bytes, size_t table, size_t offset, uint64_t value, size_t size)
{
    memcpy(bytes + offset, &value, size);
    uint64_t hash = XXH3_64bits(bytes + table, 3 * 48);
    memcpy(bytes + 48, &hash, 8);
    hash = XXH3_64bits(bytes, 56);
    memcpy(bytes + 56, &hash, 8);
}

static void refuses_lies_with_right_checksums(void **state)
{
    (void)state;
    write_example(temp_path("c"));
    size_t size;
    unsigned char *bytes = temp_read("c", &size), *copy = malloc(size);
    const size_t table = size - 3 * 48;
    const struct {
        size_t offset, size;
        uint64_t value;
        int code;
    } lies[] = {
        {8, 4, 2, TRL_EUNSUPPORTED},               /* container version */
        {12, 4, 0x04030201, TRL_EUNSUPPORTED},     /* byte order */
        {32, 4, 0, TRL_EUNSUPPORTED},              /* kind version */
        {36, 4, 2, TRL_ECORRUPT},                  /* too few sections */
        {36, 4, 0xFFFFFFFF, TRL_ECORRUPT},         /* too many */
        {40, 8, table + 1, TRL_ECORRUPT},          /* the table: not aligned */
        {40, 8, 0, TRL_ECORRUPT},                  /* on the header */
        {40, 8, UINT64_MAX - 63, TRL_ECORRUPT},    /* outside */
        {table, 1, 0, TRL_ECORRUPT},               /* a section without a name */
        {table + 15, 1, 'x', TRL_ECORRUPT},        /* a name with a hole */
        {table + 16, 8, 65, TRL_ECORRUPT},         /* a section: not aligned */
        {table + 16, 8, 0, TRL_ECORRUPT},          /* on the header */
        {table + 16, 8, 192, TRL_ECORRUPT},        /* not at its turn */
        {table + 24, 8, 0, TRL_ECORRUPT},          /* shorter: bytes that belong to nobody */
        {table + 24, 8, 200, TRL_ECORRUPT},        /* longer, over the next one */
        {table + 24, 8, UINT64_MAX, TRL_ECORRUPT}, /* longer than everything */
        {table + 40, 4, 2, TRL_ECORRUPT},          /* an unknown flag */
        {table + 40, 4, 1, TRL_ECORRUPT},          /* checks itself, but has a checksum */
        {table + 44, 4, 1, TRL_ECORRUPT},          /* a one where a zero must be */
        {table + 96, 8, 0x74786574, TRL_ECORRUPT}, /* "text", a NUL, and rubbish behind it */
        {table + 112, 8, 64, TRL_ECORRUPT},        /* a section that checks itself, on another */
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        trl__container *c;
        memcpy(copy, bytes, size);
        lie(copy, table, lies[i].offset, lies[i].value, lies[i].size);
        assert_int_equal(trl__container_from_memory("c", copy, size, "example", 2, &c, NULL), lies[i].code);
    }
    /* the same name twice */
    trl__container *c;
    memcpy(copy, bytes, size);
    memcpy(copy + table + 96, bytes + table, 16);
    lie(copy, table, 8, 1, 4);
    assert_int_equal(trl__container_from_memory("c", copy, size, "example", 2, &c, NULL), TRL_ECORRUPT);
    free(copy);
    free(bytes);
}

static void refuses_every_other_length(void **state)
{
    (void)state;
    write_example(temp_path("c"));
    size_t size;
    unsigned char *bytes = temp_read("c", &size);
    memset(bytes + size, 0, 100);
    for (size_t n = 0; n < size + 100; n++) {
        trl__container *c;
        int code = trl__container_from_memory("c", bytes, n, "example", 2, &c, NULL);
        assert_int_equal(code < 0, n != size);
        if (code == 0)
            trl__container_close(c);
    }
    free(bytes);
}

static void leaves_the_old_file_after_an_abort(void **state)
{
    (void)state;
    trl__container_writer *writer;
    trl__container *c;
    temp_entries(1);
    write_example(temp_path("c"));
    assert_int_equal(trl__container_create(temp_path("c"), "other", 1, &writer, NULL), 0);
    assert_int_equal(trl__container_begin(writer, "x", 0, NULL), 0);
    assert_int_equal(trl__container_begin(writer, "y", 0, NULL), 0);
    assert_int_equal(trl__container_begin(writer, "x", 0, NULL), TRL_EINVAL); /* nobody could read it */
    trl__container_abort(writer);
    assert_int_equal(trl__container_open(temp_path("c"), "example", 2, &c, NULL), 0);
    check_example(c);
    trl__container_close(c);
    assert_int_equal(temp_entries(1), 1); /* no debris */
}

static int write_and_read(void)
{
    trl__container_writer *writer = NULL;
    trl__container *c;
    int code = trl__container_create(temp_path("c"), "example", 2, &writer, NULL);
    if (code == 0)
        code = trl__container_begin(writer, "text", 0, NULL);
    if (code == 0)
        code = trl__container_write(writer, small_text, sizeof small_text, NULL);
    if (code < 0) {
        trl__container_abort(writer);
        return code;
    }
    code = trl__container_commit(writer, NULL);
    if (code == 0)
        code = trl__container_open(temp_path("c"), "example", 2, &c, NULL);
    if (code == 0)
        trl__container_close(c);
    return code;
}

static void survives_allocation_failure(void **state)
{
    (void)state;
    int code = TRL_ENOMEM;
    long n = 1;
    for (; code == TRL_ENOMEM && n < 100; n++) {
        trl__memory_fail_after(n);
        code = write_and_read();
        trl__memory_fail_after(0);
    }
    assert_int_equal(code, 0);
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),      cmocka_unit_test(refuses_other_kinds_and_versions),
        cmocka_unit_test(refuses_every_flipped_byte),  cmocka_unit_test(refuses_lies_with_right_checksums),
        cmocka_unit_test(refuses_every_other_length),  cmocka_unit_test(leaves_the_old_file_after_an_abort),
        cmocka_unit_test(survives_allocation_failure), cmocka_unit_test(refuses_bytes_before_a_section),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
