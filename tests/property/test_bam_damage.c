/* Damaged stores: whatever byte or page of a file is another, a look-up gives the right bytes or an error that names
 * the file; nothing crashes, no M-phone is missed. */
#include "bam_fixture.h"
#include "../container_repair.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <trellis/bam_store.h>

#define PAGE 4096

typedef struct damaged_store {
    bam_case c;
    bam_output wanted; /* of the reducer: what is in the store, and what is not */
    char folder[600], part[1000], facts[1000];
} damaged_store;

static void make_store(damaged_store *s, int utterances)
{
    char mixtures[640];
    const char *inputs[] = {mixtures};
    dice d = {.seed = 11};
    glob_t found;
    *s = (damaged_store){.c = random_case(&d, 3, 6, utterances, 1)};
    s->c.options.least_frames = 2;
    sort_case(&s->c);
    write_case(&s->c, temp_path("sorted"));
    snprintf(mixtures, sizeof mixtures, "%s", temp_path("mixtures"));
    snprintf(s->folder, sizeof s->folder, "%s", temp_path("store"));
    must(trl_bam_reduce(temp_path("sorted"), NULL, &s->c.options, NULL, mixtures, NULL, &err));
    must(trl_bam_store_write(inputs, 1, &s->c.options, 1, NULL, s->folder, NULL, &err));
    must(reduce_part(&s->c, 0, s->c.count, NULL, keep_record, &s->wanted));
    snprintf(s->facts, sizeof s->facts, "%s/part-*.trl", s->folder);
    assert_int_equal(glob(s->facts, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(s->part, sizeof s->part, "%s", found.gl_pathv[0]);
    globfree(&found);
    snprintf(s->facts, sizeof s->facts, "%s/store.trl", s->folder);
}

static void free_store(damaged_store *s)
{
    free(s->wanted.bytes);
    free_case(&s->c);
}

/* All M-phones that the reducer wrote, each its bytes or an error with file and block. Returns how many failed. */
static size_t look_up_all(trl_bam_store *store, const damaged_store *s)
{
    size_t key_size = trl_bam_key_size(s->c.header.order), failed = 0;
    for (size_t at = 0; at < s->wanted.size; at += 4 + trl__le32(s->wanted.bytes + at)) {
        const unsigned char *body = s->wanted.bytes + at + 4, *value = body + key_size + 4 + TRL__BAM_MIXTURE_HEAD;
        trl_bam_mixture m;
        if (trl__le32(body + key_size) != TRL__BAM_MIXTURE)
            continue;
        int found = trl_bam_store_get(store, body, &m, &err);
        assert_true(found != 0);
        if (found < 0) {
            assert_int_equal(found, TRL_ECORRUPT);
            assert_true(strstr(err.text, s->part) && strstr(err.text, "block"));
            failed++;
            continue;
        }
        size_t size = 4 * (size_t)m.components * (1 + 2 * (size_t)s->c.header.dim);
        assert_int_equal(size, trl__le32(s->wanted.bytes + at) - (size_t)(value - body));
        assert_memory_equal(value, m.log_weight, size);
    }
    return failed;
}

/* As it is: opening it, or checking it, or both, must say that something is wrong. Returns whether it could be
 * opened. */
static int is_noticed(const damaged_store *s)
{
    trl_bam_store *store;
    if (trl_bam_store_open(s->folder, &store, &err) < 0) {
        assert_non_null(strstr(err.text, s->folder));
        return 0;
    }
    size_t failed = look_up_all(store, s);
    assert_true(failed > 0);
    assert_int_equal(trl_bam_store_check(store, &err), TRL_ECORRUPT);
    trl_bam_store_close(store);
    return 1;
}

static void put_at(int fd, const void *bytes, size_t size, size_t at)
{
    assert_int_equal(pwrite(fd, bytes, size, (off_t)at), size);
}

/* Bytes of a file are others, and then what they were. */
static int with_bytes(const damaged_store *s, int fd, const unsigned char *whole, const void *bytes, size_t size,
                      size_t at)
{
    put_at(fd, bytes, size, at);
    int opened = is_noticed(s);
    put_at(fd, whole + at, size, at);
    return opened;
}

static unsigned char *read_all(int fd, size_t *size)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    *size = (size_t)status.st_size;
    unsigned char *bytes = malloc(*size);
    assert_int_equal(pread(fd, bytes, *size, 0), *size);
    return bytes;
}

static void flip(const damaged_store *s, int fd, const unsigned char *whole, size_t at, size_t bit)
{
    unsigned char byte = whole[at] ^ (unsigned char)(1 << bit % 8);
    with_bytes(s, fd, whole, &byte, 1, at);
}

/* Each byte of header, index, table and of store.trl; every so many bytes of the blocks. */
static void test_bytes(void **state)
{
    (void)state;
    damaged_store s;
    size_t size;
    make_store(&s, 20);
    int fd = open(s.part, O_RDWR);
    unsigned char *whole = read_all(fd, &size);
    assert_memory_equal(whole + trl__le64(whole + 40), "blocks\0", 7);
    size_t blocks_end = 64 + trl__le64(whole + trl__le64(whole + 40) + 24);
    assert_true(blocks_end < size && size < 1 << 20);
    for (size_t at = 0; at < 64; at++)
        flip(&s, fd, whole, at, at);
    for (size_t i = 0; i < 1000; i++)
        flip(&s, fd, whole, 64 + (i * 7919) % (blocks_end - 64), i);
    for (size_t at = blocks_end; at < size; at++)
        flip(&s, fd, whole, at, at);
    close(fd);
    free(whole);
    fd = open(s.facts, O_RDWR);
    whole = read_all(fd, &size);
    for (size_t at = 0; at < size; at += at < 256 || at + 512 > size ? 1 : 37)
        flip(&s, fd, whole, at, at);
    close(fd);
    free(whole);
    free_store(&s);
}

/* Pages of zeros, of chance, of another place; files that end early. */
static void test_pages(void **state)
{
    (void)state;
    damaged_store s;
    unsigned char page[PAGE];
    dice d = {.seed = 12};
    size_t size, opened = 0;
    make_store(&s, 500);
    int fd = open(s.part, O_RDWR);
    unsigned char *whole = read_all(fd, &size);
    assert_true(size > 4 << 16);
    for (int i = 0; i < 300; i++) {
        size_t at = PAGE * (size_t)roll_int(&d, 0, (int)(size / PAGE) - 1);
        size_t from = PAGE * (size_t)roll_int(&d, 0, (int)(size / PAGE) - 1);
        for (size_t k = 0; k < PAGE; k++)
            page[k] = i % 3 == 0 ? 0 : i % 3 == 1 ? (unsigned char)roll_int(&d, 0, 255) : whole[from + k];
        if (memcmp(page, whole + at, PAGE) != 0)
            opened += (size_t)with_bytes(&s, fd, whole, page, PAGE, at);
    }
    assert_true(opened > 100); /* damage to a block is not seen before the block is used */
    for (size_t cut = 1; cut < size; cut += cut < 200 ? 7 : size / 50) {
        assert_int_equal(ftruncate(fd, (off_t)(size - cut)), 0);
        assert_int_equal(is_noticed(&s), 0);
    }
    close(fd);
    free(whole);
    free_store(&s);
}

/* Whoever makes such files on purpose puts checksums right: then numbers that can't be are found before they lead
 * anywhere. */
static void test_repaired(void **state)
{
    (void)state;
    damaged_store s;
    dice d = {.seed = 13};
    size_t size, opened = 0;
    make_store(&s, 20);
    int part = open(s.part, O_RDWR), facts = open(s.facts, O_RDWR);
    unsigned char *whole = read_all(part, &size), *changed = malloc(size), store[1 << 14];
    ssize_t store_size = pread(facts, store, sizeof store, 0);
    assert_true(store_size > 64 && store_size < (ssize_t)sizeof store);
    char *name = malloc(sizeof s.part);
    for (int i = 0; i < 1000; i++) {
        trl_bam_store *opened_store;
        memcpy(changed, whole, size);
        size_t table = trl__le64(changed + 40), blocks = trl__le64(changed + table + 24),
               index = trl__le64(changed + table + 48 + 16), count = trl__le64(changed + table + 48 + 24) / 24;
        size_t at = i % 2 ? 64 + (size_t)roll_int(&d, 0, (int)blocks - 1)
                          : index + (size_t)roll_int(&d, 0, (int)(table - index) - 1);
        changed[at] ^= (unsigned char)(1 << roll_int(&d, 0, 7));
        for (size_t b = 0; b < count; b++) {
            unsigned char *entry = changed + index + 24 * b;
            uint64_t offset = trl__le64(entry), length = trl__le32(entry + 8);
            if (offset <= blocks && length <= blocks - offset)
                put_hash(entry + 16, changed + 64 + offset, (size_t)length);
        }
        container_repair(changed, size);
        put_at(part, changed, size, 0);
        /* store.trl names the partition by the container's hash, and so does the partition's name. */
        unsigned char *entry = store + trl__le64(store + trl__le64(store + 40) + 3 * 48 + 16);
        memcpy(entry, changed + 56, 8);
        container_repair(store, (size_t)store_size);
        put_at(facts, store, (size_t)store_size, 0);
        snprintf(name, sizeof s.part, "%s/part-0000-%016llx.trl", s.folder, (unsigned long long)trl__le64(entry));
        assert_int_equal(rename(s.part, name), 0);
        snprintf(s.part, sizeof s.part, "%s", name);
        if (trl_bam_store_open(s.folder, &opened_store, &err) < 0) {
            assert_non_null(strstr(err.text, s.folder));
            continue;
        }
        opened++;
        if (trl_bam_store_check(opened_store, &err) < 0)
            assert_non_null(strstr(err.text, "block"));
        for (size_t k = 0; k < s.c.count; k++) {
            trl_bam_mixture m;
            double sum = 0;
            if (trl_bam_store_get(opened_store, s.c.records[k].bytes, &m, &err) > 0)
                for (size_t f = 0; f < (size_t)m.components * (1 + 2 * 6); f++)
                    sum += (double)m.log_weight[f] > 0;
            assert_true(sum >= 0);
        }
        trl_bam_store_close(opened_store);
    }
    assert_true(opened > 250);
    close(part);
    close(facts);
    free(name);
    free(whole);
    free(changed);
    free_store(&s);
}

typedef struct asking {
    trl_bam_store *store;
    const damaged_store *s;
} asking;

static int ask(void *user, size_t item, int worker, trl_error *error)
{
    const asking *a = user;
    (void)item, (void)worker, (void)error;
    return look_up_all(a->store, a->s) == 0 ? 0 : TRL_ECORRUPT;
}

/* Several threads look up in one store, each block for the first time. */
static void test_threads(void **state)
{
    (void)state;
    damaged_store s;
    trl_pool *pool;
    make_store(&s, 400);
    must(trl_pool_create(4, &pool, &err));
    for (int i = 0; i < 5; i++) {
        asking a = {.s = &s};
        must(trl_bam_store_open(s.folder, &a.store, &err));
        must(trl_pool_for(pool, 8, ask, &a, &err));
        trl_bam_store_close(a.store);
    }
    trl_pool_destroy(pool);
    free_store(&s);
}

/* What an older trellis wrote is refused with what to do, and goes when a new store takes its place. */
static void test_older(void **state)
{
    (void)state;
    damaged_store s;
    trl_bam_store *store;
    trl__container_writer *writer;
    char partition[1000];
    make_store(&s, 10);
    snprintf(partition, sizeof partition, "%s/part-0000-0123456789abcdef.mdb", s.folder);
    fclose(fopen(partition, "wb"));
    must(trl__container_create(s.facts, "bam store", 1, &writer, &err));
    must(trl__container_add(writer, "store", "", 0, &err));
    must(trl__container_commit(writer, &err));
    assert_int_equal(trl_bam_store_open(s.folder, &store, &err), TRL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "a store of version 1, which an older trellis wrote; make it anew"));
    free_store(&s);
    make_store(&s, 10);
    assert_int_equal(access(partition, F_OK), -1);
    free_store(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes), cmocka_unit_test(test_pages),
                                       cmocka_unit_test(test_repaired), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_older)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
