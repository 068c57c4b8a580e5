/* Whatever is written is read back to the last bit: every format, random sizes, no rows, borrowed strides. */
#include "feature_fixture.h"

#include <sys/stat.h>
#include <trellis/feature_file.h>

#define UTTERANCES 12

static size_t rows_of(uint64_t seed, int u)
{
    return u % 4 == 3 ? 0 : 1 + trl__random_bits(seed, 1, (uint64_t)u) % 50;
}

static void fill(trl_matrix *m, uint64_t seed, int u)
{
    random_matrix(m, rows_of(seed, u), 1 + trl__random_bits(seed, 2, (uint64_t)u) % 45, seed + (uint64_t)u);
}

static void write_all(const char *place, uint64_t seed)
{
    trl_feature_writer_options options = trl_feature_writer_defaults();
    options.frontend = "kind=test";
    options.provenance = "by hand";
    trl_feature_writer *writer;
    trl_matrix m = {0};
    trl_error err;
    assert_int_equal(trl_feature_writer_open(place, &options, &writer, &err), 0);
    for (int u = 0; u < UTTERANCES; u++) {
        char id[16];
        snprintf(id, sizeof id, "utt-%02d", u);
        fill(&m, seed, u);
        assert_int_equal(trl_feature_writer_add(writer, id, &m, &err), 0);
    }
    assert_int_equal(trl_feature_writer_commit(writer, &err), 0);
    trl_matrix_free(&m);
}

static void read_all(const char *place, uint64_t seed)
{
    trl_feature_reader *reader;
    trl_matrix m = {0}, expected = {0};
    trl_error err;
    const char *id;
    assert_int_equal(trl_feature_reader_open(place, &reader, &err), 0);
    for (int u = 0; u < UTTERANCES; u++) {
        char name[16];
        snprintf(name, sizeof name, "utt-%02d", u);
        assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 1);
        assert_string_equal(id, name);
        fill(&expected, seed, u);
        assert_same(&m, &expected);
    }
    assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 0);
    for (int u = UTTERANCES - 1; u >= 0 && (strstr(place, "packed") || strstr(place, "scp")); u -= 5) {
        char name[16];
        snprintf(name, sizeof name, "utt-%02d", u);
        assert_int_equal(trl_feature_reader_find(reader, name, &m, &err), 0);
        fill(&expected, seed, u);
        assert_same(&m, &expected);
    }
    trl_matrix_free(&m);
    trl_matrix_free(&expected);
    trl_feature_reader_close(reader);
}

static void round_trip(const char *format, const char *name)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        write_all(temp_place(format, name), seed * 1000);
        read_all(temp_place(format, name), seed * 1000);
    }
}

static void packed(void **state)
{
    (void)state;
    round_trip("packed", "f.trf");
}

static void ark_binary(void **state)
{
    (void)state;
    round_trip("ark", "f.ark");
}

static void ark_text(void **state)
{
    (void)state;
    round_trip("ark,t", "f.txt");
}

static void htk_folder(void **state)
{
    (void)state;
    round_trip("htk", "folder");
    for (int u = 0; u < UTTERANCES; u++) {
        char name[40];
        snprintf(name, sizeof name, "folder/utt-%02d.htk", u);
        assert_int_equal(unlink(temp_path(name)), 0);
    }
}

static void ark_with_script(void **state)
{
    (void)state;
    for (int text = 0; text <= 1; text++) {
        char place[700];
        snprintf(place, sizeof place, "%s:%s,%s", text ? "ark,t,scp" : "ark,scp", temp_path("g.ark"),
                 temp_path("g.scp"));
        write_all(place, 77);
        read_all(temp_place("scp", "g.scp"), 77);
        read_all(temp_place("ark", "g.ark"), 77);
    }
}

/* The packed file's promise: equal content, equal bytes; rows of any stride are written the same. */
static void packed_is_reproducible(void **state)
{
    (void)state;
    write_all(temp_place("packed", "a.trf"), 5);
    write_all(temp_place("packed", "b.trf"), 5);
    size_t size, other_size;
    unsigned char *a = temp_read("a.trf", &size);
    unsigned char *b = temp_read("b.trf", &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
}

static void strides_do_not_matter(void **state)
{
    (void)state;
    trl_matrix whole = {0}, m = {0};
    random_matrix(&whole, 9, 20, 3);
    trl_matrix part = {.data = whole.data + 4, .rows = 9, .cols = 7, .stride = 20};
    const char *places[] = {temp_place("packed", "s.trf"), temp_place("ark", "s.ark"), temp_place("ark,t", "s.txt"),
                            temp_place("htk", "s.htk")};
    for (int i = 0; i < 4; i++) {
        trl_feature_writer *writer;
        trl_feature_reader *reader;
        const char *id;
        assert_int_equal(trl_feature_writer_open(places[i], NULL, &writer, NULL), 0);
        assert_int_equal(trl_feature_writer_add(writer, "s", &part, NULL), 0);
        assert_int_equal(trl_feature_writer_commit(writer, NULL), 0);
        assert_int_equal(trl_feature_reader_open(places[i], &reader, NULL), 0);
        assert_int_equal(trl_feature_reader_next(reader, &id, &m, NULL), 1);
        assert_same(&m, &part);
        trl_matrix_free(&m);
        trl_feature_reader_close(reader);
    }
    trl_matrix_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed),
        cmocka_unit_test(ark_binary),
        cmocka_unit_test(ark_text),
        cmocka_unit_test(htk_folder),
        cmocka_unit_test(ark_with_script),
        cmocka_unit_test(packed_is_reproducible),
        cmocka_unit_test(strides_do_not_matter),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
