/* Archives of integers against kaldi-native-io: it reads ours, with and without the script, and we read its own. */
#include "foreign_model.h"
#include "model/kaldi_alignment.h"

enum { UTTERANCES = 200 };

static trl_error err;
static char python[1024];

/* Copies what the first place holds to the second. */
static const char copy_program[] = "import sys\n"
                                   "try:\n"
                                   "    import kaldi_native_io as kio\n"
                                   "except ImportError:\n"
                                   "    sys.exit(77)\n"
                                   "with kio.Int32VectorWriter(sys.argv[2]) as out:\n"
                                   "    for id, numbers in kio.SequentialInt32VectorReader(sys.argv[1]):\n"
                                   "        out.write(id, numbers)\n";

static int set_up(void **state)
{
    const char *source = getenv("TRELLIS_SOURCE_DIR");
    snprintf(python, sizeof python, "%s/build/venv/bin/python", source ? source : "/nonexistent");
    int code = temp_folder_make(state);
    temp_write("copy.py", copy_program, sizeof copy_program - 1);
    return code;
}

static void copy_by_kaldi(const char *from, const char *to)
{
    char command[4096];
    if (access(python, X_OK) != 0) {
        print_message("skipped: there is no %s\n", python);
        skip();
    }
    snprintf(command, sizeof command, "'%s' '%s' '%s' '%s'", python, temp_path("copy.py"), from, to);
    int status = system(command);
    if (status == 77 << 8) {
        print_message("skipped: kaldi_native_io is not installed\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static const int32_t *numbers_of(int u, size_t *count)
{
    static int32_t numbers[1000];
    dice d = {(uint64_t)u, 0};
    *count = (size_t)roll(&d, 1, 999);
    for (size_t i = 0; i < *count; i++)
        numbers[i] = roll(&d, -100, 100000) * (u % 7 == 0 ? 20000 : 1);
    return numbers;
}

static void write_ours(int text)
{
    char scp[640];
    trl__int_ark_writer *writer;
    snprintf(scp, sizeof scp, "%s", temp_path("ours.scp"));
    assert_int_equal(trl__int_ark_create(temp_path("ours.ark"), scp, text, &writer, &err), 0);
    for (int u = 0; u < UTTERANCES; u++) {
        char id[32];
        size_t count;
        const int32_t *numbers = numbers_of(u, &count);
        snprintf(id, sizeof id, "utt-%03d", u);
        assert_int_equal(trl__int_ark_add(writer, id, numbers, count, &err), 0);
    }
    assert_int_equal(trl__int_ark_commit(writer, &err), 0);
}

static void read_theirs(void)
{
    trl__int_ark_reader *reader;
    const char *id;
    const int32_t *numbers;
    size_t count;
    int u = 0;
    assert_int_equal(trl__int_ark_open(temp_path("theirs.ark"), &reader, &err), 0);
    for (; trl__int_ark_next(reader, &id, &numbers, &count, &err) == 1; u++) {
        char expected_id[32];
        size_t expected_count;
        const int32_t *expected = numbers_of(u, &expected_count);
        snprintf(expected_id, sizeof expected_id, "utt-%03d", u);
        assert_string_equal(id, expected_id);
        assert_int_equal(count, expected_count);
        assert_memory_equal(numbers, expected, count * sizeof *numbers);
    }
    assert_int_equal(u, UTTERANCES);
    trl__int_ark_close(reader);
}

static void check(int text, const char *from_kind, const char *from_name, const char *to_kind)
{
    char from[700], to[700];
    write_ours(text);
    snprintf(from, sizeof from, "%s:%s", from_kind, temp_path(from_name));
    snprintf(to, sizeof to, "%s:%s", to_kind, temp_path("theirs.ark"));
    copy_by_kaldi(from, to);
    read_theirs();
}

static void binary(void **state)
{
    (void)state;
    check(0, "ark", "ours.ark", "ark");
}

static void text(void **state)
{
    (void)state;
    check(1, "ark", "ours.ark", "ark,t");
}

static void script(void **state)
{
    (void)state;
    check(0, "scp", "ours.scp", "ark");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(binary), cmocka_unit_test(text), cmocka_unit_test(script)};
    return cmocka_run_group_tests(tests, set_up, temp_folder_remove);
}
