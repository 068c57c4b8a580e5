/* Feature files: places, the rules of readers and writers, packed files, damage, memory. */
#include "feature_fixture.h"
#include "base/memory.h"
#include "feat/feature_format.h"

#include <math.h>
#include <pthread.h>
#include <trellis/feature_file.h>

static trl_error err;

static void write_two(const char *place)
{
    trl_feature_writer_options options = trl_feature_writer_defaults();
    options.frontend = "type = mfcc";
    options.provenance = "made by a test";
    trl_feature_writer *writer;
    trl_matrix m = {0};
    assert_int_equal(trl_feature_writer_open(place, &options, &writer, &err), 0);
    random_matrix(&m, 3, 5, 1);
    assert_int_equal(trl_feature_writer_add(writer, "one", &m, &err), 0);
    random_matrix(&m, 4, 2, 2);
    assert_int_equal(trl_feature_writer_add(writer, "zwei-ü", &m, &err), 0);
    assert_int_equal(trl_feature_writer_commit(writer, &err), 0);
    trl_matrix_free(&m);
}

static void places_are_understood(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    trl_feature_writer *writer;
    assert_int_equal(trl_feature_reader_open("feats", &reader, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "does not tell the format"));
    assert_int_equal(trl_feature_reader_open("ark:", &reader, &err), TRL_EINVAL);
    assert_int_equal(trl_feature_reader_open("packed:-", &reader, &err), TRL_EUNSUPPORTED);
    assert_int_equal(trl_feature_writer_open("x.scp", NULL, &writer, &err), TRL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "ark,scp:"));
    assert_int_equal(trl_feature_writer_open("ark,scp:only.ark", NULL, &writer, &err), TRL_EINVAL);
    const char *absent[] = {"a.trf", "a.ark", "a.scp", "a.htk", "a.mfc", "a.npy"};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(trl_feature_reader_open(temp_path(absent[i]), &reader, &err), TRL_ENOENT);
        assert_non_null(strstr(err.text, absent[i]));
    }
    /* a prefix wins over an ending */
    write_two(temp_place("ark,t", "named.scp"));
    assert_int_equal(trl_feature_reader_open(temp_place("ark", "named.scp"), &reader, &err), 0);
    trl_feature_reader_close(reader);
}

static void packed_gives_everything(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    trl_matrix m = {0}, expected = {0};
    const char *id;
    write_two(temp_path("p.trf"));
    assert_int_equal(trl_feature_reader_open(temp_path("p.trf"), &reader, &err), 0);
    assert_int_equal(trl_feature_reader_count(reader), 2);
    assert_string_equal(trl_feature_reader_frontend(reader), "type = mfcc");
    assert_string_equal(trl_feature_reader_provenance(reader), "made by a test");
    random_matrix(&expected, 4, 2, 2);
    assert_int_equal(trl_feature_reader_find(reader, "zwei-ü", &m, &err), 0);
    assert_same(&m, &expected);
    assert_int_equal((uintptr_t)m.data % 64, 0);
    assert_int_equal(m.capacity, 0);
    random_matrix(&expected, 3, 5, 1);
    assert_int_equal(trl_feature_reader_get(reader, 0, &id, &m, &err), 0);
    assert_string_equal(id, "one");
    assert_same(&m, &expected);
    assert_int_equal(trl_feature_reader_get(reader, 2, &id, &m, &err), TRL_EINVAL);
    assert_int_equal(trl_feature_reader_find(reader, "three", &m, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "three"));
    trl_matrix_free(&expected);
    trl_feature_reader_close(reader);
}

static void *look_up_often(void *reader)
{
    trl_matrix m = {0};
    const char *id;
    for (int i = 0; i < 200; i++)
        if (trl_feature_reader_find(reader, i % 2 ? "one" : "zwei-ü", &m, NULL) < 0 || m.rows != (i % 2 ? 3 : 4) ||
            trl_feature_reader_get(reader, 1, &id, &m, NULL) < 0 || m.rows != 4)
            return "a wrong answer";
    return NULL;
}

static void packed_serves_many_threads(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    pthread_t threads[4];
    write_two(temp_path("t.trf"));
    assert_int_equal(trl_feature_reader_open(temp_path("t.trf"), &reader, &err), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_often, reader), 0);
    for (int i = 0; i < 4; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    trl_feature_reader_close(reader);
}

static void other_formats_say_what_they_lack(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    trl_matrix m = {0};
    const char *id;
    write_two(temp_path("a.ark"));
    assert_int_equal(trl_feature_reader_open(temp_path("a.ark"), &reader, &err), 0);
    assert_int_equal(trl_feature_reader_count(reader), 0);
    assert_null(trl_feature_reader_frontend(reader));
    assert_null(trl_feature_reader_provenance(reader));
    assert_int_equal(trl_feature_reader_find(reader, "one", &m, &err), TRL_EUNSUPPORTED);
    assert_int_equal(trl_feature_reader_get(reader, 0, &id, &m, &err), TRL_EUNSUPPORTED);
    trl_feature_reader_close(reader);
}

/* Formats of one file per utterance are read in the order of their names, and by id. */
static void folders_are_read(void **state)
{
    (void)state;
    static const char *const formats[] = {"htk", "npy"};
    trl_matrix m = {0}, expected = {0};
    const char *id;
    random_matrix(&expected, 4, 2, 2);
    for (int i = 0; i < 2; i++) {
        trl_feature_reader *reader;
        write_two(temp_place(formats[i], formats[i]));
        assert_int_equal(trl_feature_reader_open(temp_place(formats[i], formats[i]), &reader, &err), 0);
        assert_int_equal(trl_feature_reader_find(reader, "zwei-ü", &m, &err), 0);
        assert_same(&m, &expected);
        assert_int_equal(trl_feature_reader_find(reader, "two", &m, &err), TRL_ENOENT);
        assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 1);
        assert_string_equal(id, "one");
        assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 1);
        assert_string_equal(id, "zwei-ü");
        assert_same(&m, &expected);
        assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), 0);
        trl_feature_reader_close(reader);
    }
    temp_write("empty.txt", "", 0);
    trl_feature_reader *reader;
    assert_int_equal(trl_feature_reader_open(temp_place("htk", "."), &reader, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "(.htk .mfc .plp .fea)"));
    trl_matrix_free(&m);
    trl_matrix_free(&expected);
}

/* One matrix may go through readers that lend and readers that copy. */
static void frames_move_between_readers(void **state)
{
    (void)state;
    trl_matrix m = {0}, expected = {0};
    const char *id;
    write_two(temp_path("m.trf"));
    write_two(temp_path("m.ark"));
    random_matrix(&expected, 3, 5, 1);
    const char *names[] = {"m.ark", "m.trf", "m.ark", "m.trf"};
    trl_feature_reader *readers[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(trl_feature_reader_open(temp_path(names[i]), &readers[i], &err), 0);
        assert_int_equal(trl_feature_reader_next(readers[i], &id, &m, &err), 1);
        assert_same(&m, &expected);
    }
    trl_matrix_free(&m);
    trl_matrix_free(&expected);
    for (int i = 0; i < 4; i++)
        trl_feature_reader_close(readers[i]);
}

static void writers_refuse_what_is_wrong(void **state)
{
    (void)state;
    const char *places[] = {temp_path("w.trf"), temp_path("w.ark"), temp_place("ark,t", "w.txt")};
    for (int i = 0; i < 3; i++) {
        trl_feature_writer *writer;
        trl_matrix m = {0};
        assert_int_equal(trl_feature_writer_open(places[i], NULL, &writer, &err), 0);
        random_matrix(&m, 6, 4, 9);
        m.data[4 * 5 + 2] = NAN;
        assert_int_equal(trl_feature_writer_add(writer, "u", &m, &err), TRL_ENUMBER);
        assert_non_null(strstr(err.text, "utterance u: not a number (NaN) in frame 5, column 2"));
        m.data[4 * 5 + 2] = -INFINITY;
        assert_int_equal(trl_feature_writer_add(writer, "u", &m, &err), TRL_ENUMBER);
        assert_non_null(strstr(err.text, "infinity in frame 5, column 2"));
        m.data[4 * 5 + 2] = 1;
        assert_int_equal(trl_feature_writer_add(writer, "u", &m, &err), 0); /* a refusal is no damage */
        assert_int_equal(trl_feature_writer_add(writer, "u", &m, &err), TRL_EINVAL);
        assert_non_null(strstr(err.text, "unique"));
        assert_int_equal(trl_feature_writer_add(writer, "", &m, &err), TRL_EFORMAT);
        assert_int_equal(trl_feature_writer_add(writer, "a b", &m, &err), TRL_EFORMAT);
        assert_int_equal(trl_feature_writer_add(writer, "a\xFF", &m, &err), TRL_EFORMAT);
        trl_feature_writer_abort(writer);
        trl_matrix_free(&m);
    }
    assert_int_not_equal(access(temp_path("w.trf"), F_OK), 0);
    assert_int_not_equal(access(temp_path("w.ark"), F_OK), 0);
}

static void readers_refuse_nan(void **state)
{
    (void)state;
    trl_feature_reader *reader;
    trl_matrix m = {0};
    const char *id;
    static const unsigned char ark[] = "u \0BFM \4\1\0\0\0\4\2\0\0\0\0\0\0\0\0\0\x80\x7F";
    temp_write("nan.ark", ark, sizeof ark - 1);
    assert_int_equal(trl_feature_reader_open(temp_path("nan.ark"), &reader, &err), 0);
    assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), TRL_ENUMBER);
    assert_non_null(strstr(err.text, "utterance u: infinity in frame 0, column 1"));
    trl_feature_reader_close(reader);
    temp_write("nan.ark", "u  [\n 1 2\n 3 nan ]\n", 19);
    assert_int_equal(trl_feature_reader_open(temp_path("nan.ark"), &reader, &err), 0);
    assert_int_equal(trl_feature_reader_next(reader, &id, &m, &err), TRL_ENUMBER);
    assert_non_null(strstr(err.text, "nan.ark:3: 'nan' in frame 1, column 1"));
    assert_non_null(strstr(err.text, "utterance u"));
    trl_feature_reader_close(reader);
    trl_matrix_free(&m);
}

/* Every bit of a packed file, flipped: refused on opening or reading, or nothing has changed. */
static void packed_damage_is_seen(void **state)
{
    (void)state;
    write_two(temp_path("d.trf"));
    size_t size;
    unsigned char *bytes = temp_read("d.trf", &size);
    trl_matrix expected[2] = {{0}, {0}}, m = {0};
    random_matrix(&expected[0], 3, 5, 1);
    random_matrix(&expected[1], 4, 2, 2);
    int refused = 0;
    for (size_t i = 0; i < size * 8; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        trl__container *container;
        trl_feature_reader *reader;
        const char *id;
        int code = trl__container_from_memory("d.trf", bytes, size, "features", 1, &container, &err);
        if (code == 0)
            code = trl__packed_from_container(container, &reader, &err);
        if (code == 0) {
            for (size_t u = 0; u < 2; u++) {
                int got = trl_feature_reader_next(reader, &id, &m, &err);
                if (got < 0)
                    code = got;
                else
                    assert_same(&m, &expected[u]);
                for (int again = 0; again < 2; again++) /* what was refused once is refused for good */
                    assert_int_equal(trl_feature_reader_get(reader, u, &id, &m, &err), got < 0 ? got : 0);
            }
            trl_feature_reader_close(reader);
        }
        refused += code < 0;
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    /* only the 4 bytes of padding between the two utterances (60 bytes to 64) are free to change */
    assert_int_equal(refused, (int)(size - 4) * 8);
    free(bytes);
    trl_matrix_free(&expected[0]);
    trl_matrix_free(&expected[1]);
}

/* A file with right checksums everywhere, and whatever index and ids; 128 bytes of zero frames. */
static int open_made_up(const uint64_t *index, size_t index_size, const char *ids, size_t ids_size,
                        const char *frontend)
{
    static const char frames[128];
    trl__container_writer *writer;
    trl_feature_reader *reader;
    assert_int_equal(trl__container_create(temp_path("lie.trf"), "features", 1, &writer, &err), 0);
    trl__container_begin(writer, "frames", 1, &err);
    trl__container_write(writer, frames, sizeof frames, &err);
    trl__container_begin(writer, "ids", 0, &err);
    trl__container_write(writer, ids, ids_size, &err);
    trl__container_begin(writer, "index", 0, &err);
    trl__container_write(writer, index, index_size, &err);
    trl__container_begin(writer, "provenance", 0, &err);
    if (frontend) {
        trl__container_begin(writer, "frontend", 0, &err);
        trl__container_write(writer, frontend, strlen(frontend), &err);
    }
    assert_int_equal(trl__container_commit(writer, &err), 0);
    int code = trl_feature_reader_open(temp_path("lie.trf"), &reader, &err);
    if (code == 0)
        trl_feature_reader_close(reader);
    return code;
}

static void packed_lies_are_seen(void **state)
{
    (void)state;
    const uint64_t good[8] = {0, 4, 4, 1, 64, 16, 1, 2}; /* offset, rows, columns, hash; twice */
    const struct {
        int position;
        uint64_t value;
    } lies[] = {{0, 64},
                {0, 1},
                {1, 5},                  /* the second does not follow the first */
                {2, 0},                  /* rows without columns */
                {4, 0},                  /* both at the same place */
                {4, 128},                /* a gap */
                {4, UINT64_MAX - 63},    /* far outside */
                {5, 17},                 /* longer than the section */
                {5, 15},                 /* shorter: bytes that belong to nobody */
                {5, UINT64_C(1) << 62},  /* 2^62 x 1 x 4 bytes wraps to 0 */
                {6, UINT64_C(1) << 60}}; /* 16 x 2^60 wraps to 0 */
    assert_int_equal(open_made_up(good, sizeof good, "a\0b", 4, ""), 0);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint64_t index[8];
        memcpy(index, good, sizeof good);
        index[lies[i].position] = lies[i].value;
        assert_int_equal(open_made_up(index, sizeof index, "a\0b", 4, ""), TRL_ECORRUPT);
    }
    assert_int_equal(open_made_up(good, sizeof good - 8, "a\0b", 4, ""), TRL_ECORRUPT);
    assert_int_equal(open_made_up(good, sizeof good, "a\0b", 3, ""), TRL_ECORRUPT);    /* no NUL at the end */
    assert_int_equal(open_made_up(good, sizeof good, "a\0", 2, ""), TRL_ECORRUPT);     /* one id for two */
    assert_int_equal(open_made_up(good, sizeof good, "a\0b\0c", 6, ""), TRL_ECORRUPT); /* three for two */
    assert_int_equal(open_made_up(good, sizeof good, "a\0a", 4, ""), TRL_ECORRUPT);    /* twice the same */
    assert_int_equal(open_made_up(good, sizeof good, "a\0\n", 4, ""), TRL_EFORMAT);
    assert_int_equal(open_made_up(good, sizeof good, "a\0b", 4, "\xFF"), TRL_ECORRUPT);
    assert_int_equal(open_made_up(good, sizeof good, "a\0b", 4, NULL), TRL_ECORRUPT);
    assert_non_null(strstr(err.text, "section 'frontend' is missing"));
}

static int copy_everything(const char *from, const char *to)
{
    trl_feature_reader *reader = NULL;
    trl_feature_writer *writer = NULL;
    trl_matrix m = {0};
    const char *id;
    int found = 0, code = trl_feature_reader_open(from, &reader, &err);
    if (code == 0)
        code = trl_feature_writer_open(to, NULL, &writer, &err);
    while (code == 0 && (found = trl_feature_reader_next(reader, &id, &m, &err)) > 0)
        code = trl_feature_writer_add(writer, id, &m, &err);
    if (found < 0)
        code = found;
    if (code == 0)
        code = trl_feature_writer_commit(writer, &err);
    else
        trl_feature_writer_abort(writer);
    trl_matrix_free(&m);
    trl_feature_reader_close(reader);
    return code;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char pair[1400];
    snprintf(pair, sizeof pair, "ark,scp:%s,%s", temp_path("x.ark"), temp_path("x.scp"));
    write_two(pair);
    write_two(temp_path("x.trf"));
    write_two(temp_place("ark,t", "x.txt"));
    write_two(temp_place("htk", "xdir"));
    write_two(temp_place("npy", "xdir"));
    const char *from[] = {temp_path("x.trf"), temp_path("x.ark"),        temp_place("ark", "x.txt"),
                          temp_path("x.scp"), temp_place("htk", "xdir"), temp_place("npy", "xdir")};
    char to_pair[1400];
    snprintf(to_pair, sizeof to_pair, "ark,scp:%s,%s", temp_path("y.ark"), temp_path("y.scp"));
    const char *to[] = {to_pair,
                        temp_place("packed", "y.trf"),
                        temp_place("npy", "ydir"),
                        temp_place("ark,t", "y.txt"),
                        temp_place("htk", "ydir"),
                        temp_place("ark", "y.ark")};
    for (int i = 0; i < 6; i++) {
        int code = TRL_ENOMEM;
        long n = 1;
        for (; code == TRL_ENOMEM && n < 500; n++) {
            trl__memory_fail_after(n);
            code = copy_everything(from[i], to[i]);
            trl__memory_fail_after(0);
        }
        assert_int_equal(code, 0);
        assert_true(n > 8);
    }
    const char *made[] = {"xdir/one.htk", "xdir/zwei-ü.htk", "ydir/one.htk", "ydir/zwei-ü.htk",
                          "ydir/one.npy", "ydir/zwei-ü.npy", "xdir/one.npy", "xdir/zwei-ü.npy"};
    for (int i = 0; i < 8; i++)
        assert_int_equal(unlink(temp_path(made[i])), 0);
}

static void one_file_holds_one_utterance(void **state)
{
    (void)state;
    trl_feature_writer *writer;
    trl_matrix m = {0};
    random_matrix(&m, 2, 2, 4);
    assert_int_equal(trl_feature_writer_open(temp_path("one.npy"), NULL, &writer, &err), 0);
    assert_int_equal(trl_feature_writer_add(writer, "a", &m, &err), 0);
    assert_int_equal(trl_feature_writer_add(writer, "b", &m, &err), TRL_EINVAL);
    assert_int_equal(trl_feature_writer_commit(writer, &err), TRL_EINVAL);
    assert_int_not_equal(access(temp_path("one.npy"), F_OK), 0);
    assert_int_equal(trl_feature_writer_open(temp_path("none.htk"), NULL, &writer, &err), 0);
    assert_int_equal(trl_feature_writer_commit(writer, &err), TRL_EINVAL);
    assert_int_equal(trl_feature_writer_open(temp_place("npy", "dir"), NULL, &writer, &err), 0);
    assert_int_equal(trl_feature_writer_add(writer, "../evil", &m, &err), TRL_EINVAL);
    trl_feature_writer_abort(writer);
    trl_matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_understood),        cmocka_unit_test(packed_gives_everything),
        cmocka_unit_test(packed_serves_many_threads),   cmocka_unit_test(other_formats_say_what_they_lack),
        cmocka_unit_test(frames_move_between_readers),  cmocka_unit_test(writers_refuse_what_is_wrong),
        cmocka_unit_test(readers_refuse_nan),           cmocka_unit_test(packed_damage_is_seen),
        cmocka_unit_test(packed_lies_are_seen),         cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(one_file_holds_one_utterance), cmocka_unit_test(folders_are_read),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
