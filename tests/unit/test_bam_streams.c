/* Streams and stores of M-phones as files: sorted with little memory, cut, damaged, replaced. */
#include "bam_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <trellis/bam_store.h>

static unsigned char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_whole(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void test_sort(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        dice d = {.seed = seed};
        bam_case c = random_case(&d, 1 + (int)seed, 3, 400, 1);
        trl__bam_reader reader;
        trl__bam_record record;
        size_t at = 0;
        int code;
        write_case(&c, temp_path("unsorted"));
        /* 8 KB: more runs than are merged at once; 10 MB: one */
        must(trl_bam_sort(temp_path("unsorted"), temp_path("sorted"), seed % 2 ? (size_t)10 << 20 : 8192, &err));
        sort_case(&c);
        must(trl__bam_reader_open(temp_path("sorted"), &reader, &err));
        while ((code = trl__bam_read(&reader, &record, &err)) > 0) {
            assert_int_equal(record.size, c.records[at].size);
            assert_memory_equal(record.body, c.records[at].bytes, record.size);
            do
                at++;
            while (at < c.count && compare_bodies(&c.records[at - 1], &c.records[at]) == 0);
        }
        must(code);
        assert_int_equal(at, c.count);
        trl__bam_reader_close(&reader);
        free_case(&c);
    }
}

/* Every prefix of a stream is refused, wherever it is cut. */
static void test_truncated(void **state)
{
    (void)state;
    dice d = {.seed = 3};
    bam_case c = random_case(&d, 2, 2, 2, 0);
    size_t size;
    sort_case(&c);
    write_case(&c, temp_path("whole"));
    unsigned char *bytes = read_whole(temp_path("whole"), &size);
    for (size_t cut = 0; cut < size; cut++) {
        trl__bam_reader reader;
        trl__bam_record record;
        int code = trl__bam_reader_memory("cut", bytes, cut, &reader, &err);
        if (code == 0) {
            while ((code = trl__bam_read(&reader, &record, &err)) > 0)
                continue;
            trl__bam_reader_close(&reader);
        }
        assert_true(code == TRL_ECORRUPT || (code == TRL_EFORMAT && cut < 8));
    }
    write_whole(temp_path("cut"), bytes, size - 12);
    assert_int_equal(trl_bam_reduce(temp_path("cut"), NULL, &c.options, NULL, temp_path("out"), NULL, &err),
                     TRL_ECORRUPT);
    assert_non_null(strstr(err.text, "without the mark of its end"));
    assert_int_equal(access(temp_path("out"), R_OK), -1);
    free(bytes);
    free_case(&c);
}

/* What a stream's records are until its end or an error: how many are those of the case; none may be another. */
static int read_case(const bam_case *c, const unsigned char *bytes, size_t size, size_t *count)
{
    trl__bam_reader reader;
    trl__bam_record record;
    *count = 0;
    int code = trl__bam_reader_memory("stream", bytes, size, &reader, &err);
    if (code < 0)
        return code;
    while ((code = trl__bam_read(&reader, &record, &err)) > 0) {
        const bam_body *wanted = &c->records[(*count)++];
        assert_true(*count <= c->count && record.size == wanted->size);
        assert_memory_equal(record.body, wanted->bytes, record.size);
    }
    trl__bam_reader_close(&reader);
    return code;
}

/* Every bit of a stream counts: one that is another is noticed before its record is given out. */
static void test_flipped(void **state)
{
    (void)state;
    dice d = {.seed = 4};
    bam_case c = random_case(&d, 2, 2, 2, 1);
    size_t size, count;
    sort_case(&c);
    write_case(&c, temp_path("whole"));
    unsigned char *bytes = read_whole(temp_path("whole"), &size);
    must(read_case(&c, bytes, size, &count));
    assert_int_equal(count, c.count);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(read_case(&c, bytes, size, &count) < 0);
        assert_non_null(strstr(err.text, "stream"));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    bytes[7] = 1;
    assert_int_equal(read_case(&c, bytes, size, &count), TRL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "of version 1, this program knows 2; make it anew"));
    free(bytes);
    free_case(&c);
}

static int put_bytes(void *user, const void *bytes, size_t size, trl_error *error)
{
    (void)error;
    return fwrite(bytes, 1, size, user) == size ? 0 : TRL_EIO;
}

/* A run's tags and records until its end or an error; none may be another than the case's. */
static int read_run(const bam_case *c, const uint64_t tags[TRL__RUN_TAGS], size_t *count)
{
    trl__sorted_run *run;
    trl__run_cursor *cursor;
    trl__bam_record record;
    *count = 0;
    int code = trl__run_open(open(temp_path("run"), O_RDONLY), "run", trl__run_mark_size(c->header.order), &run, &err);
    if (code < 0)
        return code;
    assert_memory_equal(run->tags, tags, sizeof run->tags);
    must(trl__run_cursor_open(run, &c->header, NULL, NULL, &cursor, &err));
    while ((code = trl__run_next(cursor, &record, &err)) > 0) {
        const bam_body *wanted = &c->records[(*count)++];
        assert_true(*count <= c->count && record.size == wanted->size);
        assert_memory_equal(record.body, wanted->bytes, record.size);
    }
    trl__run_cursor_close(cursor);
    trl__run_close(run);
    return code;
}

/* The same of the working files of the sort: a tag that is another would leave out utterances. zstd has bits that
 * mean nothing: then all is as it was. */
static void test_flipped_run(void **state)
{
    (void)state;
    static const uint64_t tags[TRL__RUN_TAGS] = {1, 2, 3, 4, 5, 6};
    dice d = {.seed = 6};
    bam_case c = random_case(&d, 2, 2, 3, 1);
    trl__run_writer *writer;
    size_t size, count;
    sort_case(&c);
    FILE *file = fopen(temp_path("run"), "wb");
    must(trl__run_writer_open(put_bytes, file, trl__run_mark_size(2), tags, &writer, &err));
    for (size_t i = 0; i < c.count; i++)
        must(trl__run_write(writer, c.records[i].bytes, c.records[i].size, &err));
    must(trl__run_writer_close(writer, &err));
    fclose(file);
    must(read_run(&c, tags, &count));
    assert_int_equal(count, c.count);
    unsigned char *bytes = read_whole(temp_path("run"), &size);
    for (size_t bit = 0; bit < 8 * size; bit += bit < 8 * 56 ? 1 : 3) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_whole(temp_path("run"), bytes, size);
        assert_true(read_run(&c, tags, &count) < 0 || (bit >= 8 * 56 && count == c.count));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
    free_case(&c);
}

static size_t append_file(unsigned char *to, const char *name)
{
    size_t size;
    unsigned char *bytes = read_whole(temp_path(name), &size);
    memcpy(to, bytes, size);
    free(bytes);
    return size;
}

/* Streams one behind the other are one, as long as they belong together; whatever else follows an end is refused, with its place. */
static void test_concatenated(void **state)
{
    (void)state;
    dice d = {.seed = 5};
    bam_case c = random_case(&d, 2, 2, 6, 0);
    static unsigned char bytes[1 << 20];
    trl__bam_reader reader;
    trl__bam_record record;
    char place[40];
    uint64_t half = c.count / 2;
    bam_case first = c, second = c;
    first.count = half;
    second.records += half;
    second.count -= half;
    write_case(&first, temp_path("first"));
    write_case(&second, temp_path("second"));
    size_t end = append_file(bytes, "first"), size = end + append_file(bytes + end, "second");
    must(trl__bam_reader_memory("both", bytes, size, &reader, &err));
    for (size_t i = 0; i < c.count; i++) {
        assert_int_equal(trl__bam_read(&reader, &record, &err), 1);
        assert_int_equal(record.size, c.records[i].size);
        assert_memory_equal(record.body, c.records[i].bytes, record.size);
    }
    assert_int_equal(trl__bam_read(&reader, &record, &err), 0);
    trl__bam_reader_close(&reader);
    for (int what = 0; what < 3; what++) { /* no stream; another seed; one that is cut */
        c.header.seed = 77;
        write_case(&c, temp_path("other"));
        size = end + (what == 1 ? append_file(bytes + end, "other") : append_file(bytes + end, "second"));
        bytes[end] = what == 0 ? 'x' : 't';
        must(trl__bam_reader_memory("both", bytes, what == 2 ? size - 1 : size, &reader, &err));
        int code;
        while ((code = trl__bam_read(&reader, &record, &err)) > 0)
            continue;
        snprintf(place, sizeof place, "both: at byte %zu: ", what == 2 ? size - 8 : end);
        assert_int_equal(code, what == 0 ? TRL_EFORMAT : what == 1 ? TRL_EINVAL : TRL_ECORRUPT);
        assert_memory_equal(err.text, place, strlen(place));
        trl__bam_reader_close(&reader);
    }
    free_case(&c);
}

/* ---- stores ---- */

typedef struct visit {
    const bam_output *wanted;
    size_t at, key_size;
    uint64_t count;
} visit;

static int check_mixture(void *user, const unsigned char *key, const trl_bam_mixture *m, trl_error *error)
{
    visit *v = user;
    const unsigned char *body = v->wanted->bytes + v->at + 4;
    (void)error;
    assert_memory_equal(body, key, v->key_size);
    assert_memory_equal(body + v->key_size + 4 + TRL__BAM_MIXTURE_HEAD, m->log_weight, 4 * (size_t)m->components);
    assert_true((const unsigned char *)m->mean == (const unsigned char *)(m->log_weight + m->components));
    v->at += 4 + trl__le32(v->wanted->bytes + v->at);
    v->count++;
    return 0;
}

static void write_mixtures(bam_case *c, const char *name)
{
    sort_case(c);
    write_case(c, temp_path("sorted"));
    must(trl_bam_reduce(temp_path("sorted"), NULL, &c->options, NULL, temp_path(name), NULL, &err));
}

static void check_found(trl_bam_store *store, const bam_case *c, const bam_output *wanted)
{
    unsigned char key[TRL_BAM_KEY_MOST] = {0};
    size_t key_size = trl_bam_key_size(c->header.order);
    trl_bam_mixture m;
    for (size_t at = 0; at < wanted->size;) {
        uint32_t size = trl__le32(wanted->bytes + at);
        const unsigned char *body = wanted->bytes + at + 4;
        int is_mixture = trl__le32(body + key_size) == TRL__BAM_MIXTURE;
        assert_int_equal(trl_bam_store_get(store, body, &m, &err), is_mixture);
        if (is_mixture)
            assert_memory_equal(body + key_size + 4 + TRL__BAM_MIXTURE_HEAD, m.log_weight,
                                size - key_size - 4 - TRL__BAM_MIXTURE_HEAD);
        at += 4 + size;
    }
    memset(key + 4, 0, key_size - 4);
    key[3] = 9; /* no such state */
    assert_int_equal(trl_bam_store_get(store, key, &m, &err), 0);
}

static void test_store(void **state)
{
    (void)state;
    for (int partitions = 1; partitions <= 7; partitions += 3) {
        dice d = {.seed = (uint64_t)partitions};
        bam_case c = random_case(&d, 3, 5, 200, 1);
        bam_output wanted = {0};
        trl_bam_counts counts;
        trl_bam_store *store;
        const char *inputs[1];
        write_mixtures(&c, "mixtures");
        inputs[0] = temp_path("mixtures");
        must(trl_bam_store_write(inputs, 1, &c.options, partitions, NULL, temp_path("store"), &counts, &err));
        must(reduce_part(&c, 0, c.count, NULL, keep_record, &wanted));
        must(trl_bam_store_open(temp_path("store"), &store, &err));
        must(trl_bam_store_check(store, &err));
        trl_bam_store_facts f = trl_bam_store_describe(store);
        assert_int_equal(f.order, 3);
        assert_int_equal(f.dim, 5);
        assert_int_equal(f.partitions, partitions);
        assert_int_equal(f.mphones, trl_bam_total(&counts).kept);
        assert_memory_equal(trl_bam_store_counts(store)->cell, counts.cell, sizeof counts.cell);
        check_found(store, &c, &wanted);
        if (partitions == 1) {
            visit v = {.wanted = &wanted, .key_size = trl_bam_key_size(3)};
            must(trl_bam_store_each(store, check_mixture, &v, &err));
            assert_int_equal(v.count, f.mphones);
        }
        trl_bam_store_close(store);
        free(wanted.bytes);
        free_case(&c);
    }
}

/* Another model over the old one: whoever has the old one open keeps it, and nothing is left behind. */
static void test_replaced(void **state)
{
    (void)state;
    dice d = {.seed = 8};
    bam_case a = random_case(&d, 2, 2, 100, 1), b = random_case(&d, 2, 2, 90, 1);
    trl_bam_store *old, *new;
    const char *inputs[1];
    struct stat status;
    temp_entries(1);
    write_mixtures(&a, "a");
    write_mixtures(&b, "b");
    inputs[0] = temp_path("a");
    must(trl_bam_store_write(inputs, 1, &a.options, 3, NULL, temp_path("store"), NULL, &err));
    must(trl_bam_store_open(temp_path("store"), &old, &err));
    inputs[0] = temp_path("b");
    must(trl_bam_store_write(inputs, 1, &b.options, 2, NULL, temp_path("store"), NULL, &err));
    must(trl_bam_store_open(temp_path("store"), &new, &err));
    must(trl_bam_store_check(old, &err));
    must(trl_bam_store_check(new, &err));
    assert_int_equal(trl_bam_store_describe(old).partitions, 3);
    assert_int_equal(trl_bam_store_describe(new).partitions, 2);
    DIR *folder = opendir(temp_path("store"));
    int entries = 0;
    for (struct dirent *e; (e = readdir(folder));)
        entries += e->d_name[0] != '.';
    closedir(folder);
    assert_int_equal(entries, 3);
    assert_int_equal(stat(temp_path("store/store.trl"), &status), 0);
    trl_bam_store_close(old);
    trl_bam_store_close(new);
    free_case(&a);
    free_case(&b);
}

/* A flipped bit in a mixture, a partition that is gone, streams of two models. */
static void test_damaged(void **state)
{
    (void)state;
    dice d = {.seed = 9};
    bam_case c = random_case(&d, 1, 2, 60, 1);
    trl_bam_store *store;
    char path[1000] = "";
    size_t size;
    temp_entries(1);
    write_mixtures(&c, "a");
    char a[640], other[640];
    snprintf(a, sizeof a, "%s", temp_path("a"));
    snprintf(other, sizeof other, "%s", temp_path("other"));
    const char *inputs[2] = {a, other};
    must(trl_bam_store_write(inputs, 1, &c.options, 1, NULL, temp_path("store"), NULL, &err));
    DIR *folder = opendir(temp_path("store"));
    for (struct dirent *e; (e = readdir(folder));)
        if (strncmp(e->d_name, "part-", 5) == 0)
            snprintf(path, sizeof path, "%s/%s", temp_path("store"), e->d_name);
    closedir(folder);
    unsigned char *bytes = read_whole(path, &size);
    bytes[64] ^= 1; /* the first block lies behind the container's header */
    write_whole(path, bytes, size);
    must(trl_bam_store_open(temp_path("store"), &store, &err));
    assert_int_equal(trl_bam_store_check(store, &err), TRL_ECORRUPT);
    assert_non_null(strstr(err.text, ": at byte 64: block 1 of "));
    trl_bam_store_close(store);
    write_whole(path, bytes, size - 4096);
    assert_int_equal(trl_bam_store_open(temp_path("store"), &store, &err), TRL_ECORRUPT);
    assert_non_null(strstr(err.text, "bytes instead of"));
    unlink(path);
    assert_int_equal(trl_bam_store_open(temp_path("store"), &store, &err), TRL_ECORRUPT);
    assert_non_null(strstr(err.text, "missing"));
    assert_int_equal(trl_bam_store_open(temp_path("nowhere"), &store, &err), TRL_ENOENT);
    c.header.model++;
    write_mixtures(&c, "other");
    assert_int_equal(trl_bam_store_write(inputs, 2, &c.options, 1, NULL, temp_path("two"), NULL, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "belong together"));
    free(bytes);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sort),         cmocka_unit_test(test_truncated),
                                       cmocka_unit_test(test_flipped),      cmocka_unit_test(test_flipped_run),
                                       cmocka_unit_test(test_concatenated), cmocka_unit_test(test_store),
                                       cmocka_unit_test(test_replaced),     cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
