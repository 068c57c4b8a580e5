/* Random lattices through every form of file: what is read is what was written. */
#include "base/memory.h"
#include "decode/lattice_source.h"
#include "random_lattice.h"
#include "temp_folder.h"

#define LATTICES 40

static trl_error err;
static char path[4200];

static const char *place(const char *prefix, const char *name)
{
    static char out[4300];
    snprintf(path, sizeof path, "%s/%s", temp_folder, name);
    snprintf(out, sizeof out, "%s%s", prefix, path);
    return out;
}

static trl_lattice *make(uint64_t seed)
{
    random_source random = {seed * 77 + 1};
    lattice_kind kind = {.states = 2 + (int32_t)(seed % 9), .arcs = 3, .words = 5, .frames = 20, .ambiguous = seed % 2};
    return random_lattice(&kind, &random);
}

static void assert_same_paths(const trl_lattice *a, const trl_lattice *b)
{
    path_list left = all_paths(a), right = all_paths(b);
    assert_int_equal(left.count, right.count);
    for (size_t i = 0; i < left.count; i++)
        assert_int_equal(compare_paths(&left.items[i], &right.items[i]), 0);
    free_paths(&left);
    free_paths(&right);
}

static void assert_same_arcs(const trl_lattice *a, const trl_lattice *b)
{
    trl_lattice_view x = trl_lattice_look(a), y = trl_lattice_look(b);
    assert_int_equal(x.states, y.states);
    assert_int_equal(x.frames, y.frames);
    if (x.states == 0)
        return;
    assert_memory_equal(x.first, y.first, ((size_t)x.states + 1) * sizeof *x.first);
    assert_memory_equal(x.time, y.time, (size_t)x.states * sizeof *x.time);
    for (uint32_t i = 0; i < x.first[x.states]; i++) {
        assert_int_equal(x.arcs[i].word, y.arcs[i].word);
        assert_int_equal(x.arcs[i].next, y.arcs[i].next);
    }
    assert_same_paths(a, b);
}

static void write_all(const char *where)
{
    trl_lattice_writer *writer;
    char id[32];
    assert_int_equal(trl_lattice_writer_open(where, NULL, &writer, &err), 0);
    for (uint64_t i = 0; i < LATTICES; i++) {
        trl_lattice *lattice = make(i);
        snprintf(id, sizeof id, "utt-%02d", (int)i);
        assert_int_equal(trl_lattice_writer_add(writer, id, lattice, &err), 0);
        trl_lattice_destroy(lattice);
    }
    assert_int_equal(trl_lattice_writer_commit(writer, &err), 0);
}

static void round_trip(const char *prefix, void (*compare)(const trl_lattice *, const trl_lattice *))
{
    trl_lattice_reader *reader;
    trl_lattice *read;
    const char *id;
    uint64_t i = 0;
    write_all(place(prefix, "lat"));
    assert_int_equal(trl_lattice_reader_open(path, NULL, &reader, &err), 0);
    while (trl_lattice_reader_next(reader, &id, &read, &err) > 0) {
        trl_lattice *written = make(i);
        assert_int_equal(strtol(id + 4, NULL, 10), (long)i++);
        compare(written, read);
        trl_lattice_destroy(written);
        trl_lattice_destroy(read);
    }
    assert_int_equal(i, LATTICES);
    trl_lattice_reader_close(reader);
}

static void test_compact(void **state)
{
    (void)state;
    round_trip("ark:", assert_same_arcs);
    round_trip("ark,t:", assert_same_arcs);
}

/* Words and costs are then on the first frame's arc of theirs: the paths are the same, the arcs are not. */
static void test_plain(void **state)
{
    (void)state;
    round_trip("lattice:", assert_same_paths);
    round_trip("lattice,t:", assert_same_paths);
}

/* Lines in any order behind the first, states under any numbers. */
static void test_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < LATTICES; seed++) {
        random_source random = {seed + 5};
        trl_lattice *lattice = make(seed), *read;
        trl_lattice_writer *writer;
        char text[65536], *lines[512], *line, *rest = NULL;
        int32_t number[64];
        size_t count = 0;
        for (int32_t i = 0, base = (int32_t)random_below(&random, 9); i < 64; i++)
            number[(i * 37 + 11) % 64] = base + i * (seed % 2 ? 1 : 100003);
        assert_int_equal(trl_lattice_writer_open(place("ark,t:", "lat"), NULL, &writer, &err), 0);
        assert_int_equal(trl_lattice_writer_add(writer, "u", lattice, &err), 0);
        assert_int_equal(trl_lattice_writer_commit(writer, &err), 0);
        FILE *file = fopen(path, "r");
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        for (line = strtok_r(text + 2, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            lines[count++] = line;
        for (size_t i = count; i-- > 2;) {
            size_t j = 1 + random_below(&random, (uint32_t)i);
            line = lines[i];
            lines[i] = lines[j];
            lines[j] = line;
        }
        file = fopen(path, "w");
        fprintf(file, "u \n");
        for (size_t i = 0; i < count; i++) {
            char *end, *more;
            int32_t from = number[strtol(lines[i], &end, 10)];
            long next = strtol(end, &more, 10);
            if (strchr(end + 1, '\t'))
                fprintf(file, "%d %d%s\n", (int)from, (int)number[next], more);
            else
                fprintf(file, "%d%s\n", (int)from, end);
        }
        fprintf(file, "\n");
        fclose(file);
        trl_lattice_reader *reader;
        const char *id;
        assert_int_equal(trl_lattice_reader_open(path, NULL, &reader, &err), 0);
        if (trl_lattice_reader_next(reader, &id, &read, &err) != 1)
            fail_msg("%s", err.text);
        assert_same_paths(lattice, read);
        trl_lattice_reader_close(reader);
        trl_lattice_destroy(lattice);
        trl_lattice_destroy(read);
    }
}

/* A machine of words has the lattice's paths with the same costs; and the other way round. */
static void test_machines(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < LATTICES; seed++) {
        trl_lattice *lattice = make(seed), *back, *scaled;
        trl_lattice_scale scale = {0.5, 2, 0.25};
        trl_fst *fst;
        assert_int_equal(trl_lattice_to_fst(lattice, NULL, &fst, &err), 0);
        assert_int_equal(trl_lattice_from_fst(fst, &back, &err), 0);
        assert_int_equal(trl_lattice_rescale(lattice, &scale, &scaled, &err), 0);
        path_list a = all_paths(lattice), b = all_paths(back), c = all_paths(scaled);
        for (size_t i = 0; i < a.count; i++)
            a.items[i].transition_count = 0;
        qsort(a.items, a.count, sizeof *a.items, compare_paths);
        assert_int_equal(a.count, b.count);
        for (size_t i = 0; i < a.count; i++)
            assert_int_equal(compare_paths(&a.items[i], &b.items[i]), 0);
        free_paths(&a);
        a = all_paths(lattice);
        assert_int_equal(a.count, c.count);
        for (size_t i = 0; i < a.count; i++) {
            assert_true(c.items[i].graph == 2 * a.items[i].graph + 0.25 * (double)a.items[i].word_count);
            assert_true(c.items[i].acoustic == a.items[i].acoustic / 2);
        }
        free_paths(&a);
        free_paths(&b);
        free_paths(&c);
        trl_fst_destroy(fst);
        trl_lattice_destroy(lattice);
        trl_lattice_destroy(back);
        trl_lattice_destroy(scaled);
    }
}

/* ---- Broken files ---- */

static int read_bytes(const char *bytes, size_t size)
{
    trl__source source;
    trl_lattice_reader *reader;
    trl_lattice *lattice;
    const char *id;
    int found = trl__source_from_memory("lat", bytes, size, &source, &err);
    if (found == 0)
        found = trl__lattice_reader_from_source(&source, NULL, &reader, &err);
    if (found < 0)
        return found;
    while ((found = trl_lattice_reader_next(reader, &id, &lattice, &err)) > 0)
        trl_lattice_destroy(lattice);
    trl_lattice_reader_close(reader);
    return found;
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *part;
    } cases[] = {
        {"u1 \n0 1 7 1,2,3\n1 0,0,\n\nu2 \n0 1 x 1,2,3\n", TRL_EFORMAT, "lat:6: expected the number of a word"},
        {"u1 \n0 1 7 1,2,3\n\n", TRL_EFORMAT, "(utterance u1)"},
        {"u1 \n0 1 7 1,2,3\n\n", TRL_EFORMAT, "no path leads from the lattice's start to an end"},
        {"u1 \n0 1 7 1,2,3\n1 0 8 1,2,3\n1 0,0,\n\n", TRL_EFORMAT, "a cycle"},
        {"u1 \n0 1 7 1,2,3\n0 1 8 1,2,3_4\n1 0,0,\n\n", TRL_EFORMAT, "have 1 and 2 frames"},
        {"u1 \n0 1 7 1,2,3\n1 0,0\n", TRL_EFORMAT, "compact and plain"},
        {"u1 \n0 1 7 1;2\n1 0,0\n", TRL_EFORMAT, "expected the number of a word, found \"1;2\""},
        {"u1 \n0 1 7 1,2,3_0\n1 0,0,\n", TRL_EFORMAT, "0 is no transition id"},
        {"u1 \n0 1 7 1,Infinity,3\n1 0,0,\n", TRL_EFORMAT, "not the costs"},
        {"u1 \n0 1 7 1,2,3 4 5\n", TRL_EFORMAT, "one to five fields"},
        {"u1 \n0 -1 7 1,2,3\n", TRL_EFORMAT, "number of a state"},
        {"u1 \n0 1 7 1,2,3\n1 0,0,\n", TRL_ECORRUPT, "without the empty line"},
        {"u1 ", TRL_ECORRUPT, "without the empty line"},
        {"u1 [ 1 2 3 ]\n", TRL_EFORMAT, "expected a lattice"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = read_bytes(cases[i].text, strlen(cases[i].text));
        if (code != cases[i].code || !strstr(err.text, cases[i].part))
            fail_msg("case %zu: %d, '%s'", i, code, err.text);
    }
}

static size_t load(const char *name, char *bytes, size_t most)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

/* Cut anywhere, a binary archive is refused with the place, and every single byte can be any other. */
static void test_damaged(void **state)
{
    static char bytes[200000];
    (void)state;
    trl_lattice *lattice = make(4);
    trl_lattice_writer *writer;
    assert_int_equal(trl_lattice_writer_open(place("ark:", "lat"), NULL, &writer, &err), 0);
    assert_int_equal(trl_lattice_writer_add(writer, "u", lattice, &err), 0);
    assert_int_equal(trl_lattice_writer_add(writer, "u", lattice, &err), TRL_EINVAL);
    assert_int_equal(trl_lattice_writer_add(writer, "two words", lattice, &err), TRL_EFORMAT);
    assert_int_equal(trl_lattice_writer_commit(writer, &err), 0);
    trl_lattice_destroy(lattice);
    size_t size = load(path, bytes, sizeof bytes);
    for (size_t n = 1; n < size; n++) {
        assert_true(read_bytes(bytes, n) < 0);
        assert_non_null(strstr(err.text, "lat"));
    }
    for (size_t i = 0; i < size; i++) {
        char before = bytes[i];
        bytes[i] = (char)(before ^ 0x81);
        read_bytes(bytes, size);
        bytes[i] = before;
    }
    assert_int_equal(read_bytes(bytes, size), 0);
}

static void test_memory(void **state)
{
    static const char *const prefixes[] = {"ark:", "ark,t:", "lattice:", "lattice,t:"};
    static char bytes[200000];
    (void)state;
    for (size_t p = 0; p < 4; p++) {
        write_all(place(prefixes[p], "lat"));
        size_t size = load(path, bytes, sizeof bytes);
        int code = TRL_ENOMEM;
        for (long n = 1; code == TRL_ENOMEM; n++) {
            trl__memory_fail_after(n);
            code = read_bytes(bytes, size < 3000 ? size : 3000);
            trl__memory_fail_after(0);
        }
        trl_lattice *lattice = make(7);
        trl_lattice_writer *writer;
        snprintf(path, sizeof path, "%s%s/other", prefixes[p], temp_folder);
        code = TRL_ENOMEM;
        for (long n = 1; code == TRL_ENOMEM; n++) {
            trl__memory_fail_after(n);
            code = trl_lattice_writer_open(path, NULL, &writer, &err);
            if (code == 0 && (code = trl_lattice_writer_add(writer, "u", lattice, &err)) < 0)
                trl_lattice_writer_abort(writer);
            else if (code == 0)
                code = trl_lattice_writer_commit(writer, &err);
            trl__memory_fail_after(0);
        }
        assert_int_equal(code, 0);
        trl_lattice_destroy(lattice);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact),  cmocka_unit_test(test_plain),   cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_machines), cmocka_unit_test(test_refused), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
