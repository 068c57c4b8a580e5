/* A store is written: the joined parts, in the order of keys, each M-phone to its partition. */
#include "bam/part_join.h"
#include "bam/store_format.h"
#include "base/bytes.h"
#include "base/container.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/bam_store.h>
#include <unistd.h>
#include <xxhash.h>

#define BATCH 64 /* blocks of a transaction: its dirty pages are in memory */

typedef struct partition {
    char *working; /* its name until it is complete */
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi index, blocks;
    unsigned char *block;
    size_t used, capacity;
    uint32_t number;
    trl__store_part facts;
} partition;

typedef struct store_job {
    const char *path;
    const trl__bam_header *header;
    const trl_bam_options *options;
    partition *parts;
    int count;
    size_t map_size;
} store_job;

static int fail_lmdb(trl_error *err, const char *path, int code)
{
    return code == ENOMEM ? trl__fail_memory(err) : trl__fail(err, TRL_EIO, "%s: %s", path, mdb_strerror(code));
}

static char *name_in(const char *folder, const char *format, int number, uint64_t hash)
{
    size_t size = strlen(folder) + 64;
    char *name = trl__alloc(size, 1);
    int used = name ? snprintf(name, size, "%s/", folder) : 0;
    if (name && strcmp(format, "final") == 0)
        snprintf(name + used, size - (size_t)used, "part-%04d-%016" PRIx64 ".mdb", number, hash);
    else if (name)
        snprintf(name + used, size - (size_t)used, "part-%04d.new-%ld", number, (long)getpid());
    return name;
}

/* ---- the folder ---- */

/* As name_in makes them. */
static int is_partition(const char *name)
{
    return trl__name_fits(name, "part-#-@.mdb") || trl__name_fits(name, "part-#.new-#");
}

/* The first name that does not belong to a store; none in a store. */
static int find_foreign(DIR *folder, char foreign[256])
{
    foreign[0] = '\0';
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        if (strcmp(name, TRL__STORE_FILE) == 0)
            return 0;
        if (!foreign[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !is_partition(name))
            snprintf(foreign, 256, "%s", name);
    }
    return foreign[0] != '\0';
}

int trl__store_check_place(const char *path, int partitions, trl_error *err)
{
    char foreign[256];
    if (partitions < 1 || partitions > TRL_BAM_PARTITIONS_MOST)
        return trl__fail(err, TRL_EINVAL, "a store of %d partitions; there may be 1 to %d", partitions,
                         TRL_BAM_PARTITIONS_MOST);
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? 0 : trl__fail_errno(err, path, "this can't be the folder of a store");
    int is_other = find_foreign(folder, foreign);
    closedir(folder);
    return is_other ? trl__fail(err, TRL_EINVAL,
                                "%s: this folder has other files, %s for instance; a store wants one of its own", path,
                                foreign)
                    : 0;
}

/* ---- a partition ---- */

static int begin_batch(partition *p, trl_error *err)
{
    int code = mdb_txn_begin(p->env, NULL, 0, &p->txn);
    if (code == 0)
        code = mdb_dbi_open(p->txn, TRL__STORE_INDEX, MDB_CREATE, &p->index);
    if (code == 0)
        code = mdb_dbi_open(p->txn, TRL__STORE_BLOCKS, MDB_CREATE, &p->blocks);
    return code ? fail_lmdb(err, p->working, code) : 0;
}

static int open_partition(const store_job *j, int number, trl_error *err)
{
    partition *p = &j->parts[number];
    p->working = name_in(j->path, "working", number, 0);
    if (!p->working)
        return trl__fail_memory(err);
    unlink(p->working);
    int code = mdb_env_create(&p->env);
    if (code == 0)
        code = mdb_env_set_maxdbs(p->env, 2);
    if (code == 0)
        code = mdb_env_set_mapsize(p->env, j->map_size);
    if (code == 0)
        code = mdb_env_open(p->env, p->working, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOMETASYNC, 0644);
    return code ? fail_lmdb(err, p->working, code) : begin_batch(p, err);
}

static int end_batch(partition *p, trl_error *err)
{
    int code = mdb_txn_commit(p->txn);
    p->txn = NULL;
    return code ? fail_lmdb(err, p->working, code) : 0;
}

static int flush_block(partition *p, trl_error *err)
{
    unsigned char key[4];
    if (p->used == 0)
        return 0;
    if (TRL_GROW(p->block, p->capacity, TRL__STORE_PAGE) < 0)
        return trl__fail_memory(err);
    for (; p->used < TRL__STORE_PAGE; p->used++)
        p->block[p->used] = 0;
    trl__put_be32(key, p->number++);
    MDB_val k = {sizeof key, key}, v = {p->used, p->block};
    int code = mdb_put(p->txn, p->blocks, &k, &v, MDB_APPEND);
    p->used = 0;
    if (code)
        return fail_lmdb(err, p->working, code);
    if (p->number % BATCH != 0)
        return 0;
    code = end_batch(p, err);
    return code < 0 ? code : begin_batch(p, err);
}

static int add_mixture(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    const store_job *j = user;
    size_t key_size = trl_bam_key_size(j->header->order), value = size - key_size - 4;
    partition *p = &j->parts[trl_bam_key_shard(body, (uint32_t)j->count)];
    int code = p->used > 0 && p->used + value > TRL__STORE_BLOCK ? flush_block(p, err) : 0;
    if (code < 0)
        return code;
    if (TRL_GROW(p->block, p->capacity, p->used + value) < 0)
        return trl__fail_memory(err);
    memcpy(p->block + p->used, body + key_size + 4, value);
    trl__store_place place = {.block = p->number,
                              .offset = (uint32_t)p->used,
                              .size = (uint32_t)value,
                              .components = trl__le32(body + key_size + 4),
                              .hash = XXH3_64bits(p->block + p->used, value)};
    unsigned char key[TRL_BAM_KEY_MOST];
    memcpy(key, body, key_size);
    MDB_val k = {key_size, key}, v = {sizeof place, &place};
    p->used += value;
    p->facts.mphones++;
    code = mdb_put(p->txn, p->index, &k, &v, MDB_APPEND);
    return code ? fail_lmdb(err, p->working, code) : 0;
}

static int hash_file(const char *path, trl__store_part *facts, trl_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    unsigned char *buffer = trl__alloc(1 << 16, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = 0;
    ssize_t got = 0;
    if (!state || !buffer)
        code = trl__fail_memory(err);
    else if (fd < 0)
        code = trl__fail_errno(err, path, "can't open");
    else
        XXH3_64bits_reset(state);
    facts->bytes = 0;
    while (code == 0 && (got = read(fd, buffer, 1 << 16)) > 0) {
        XXH3_64bits_update(state, buffer, (size_t)got);
        facts->bytes += (uint64_t)got;
    }
    if (code == 0 && (got < 0 || fsync(fd) != 0))
        code = trl__fail_errno(err, path, "reading failed");
    if (code == 0)
        facts->hash = XXH3_64bits_digest(state);
    if (fd >= 0)
        close(fd);
    XXH3_freeState(state);
    trl__free(buffer);
    return code;
}

static int close_partition(const store_job *j, int number, trl_error *err)
{
    partition *p = &j->parts[number];
    int code = flush_block(p, err);
    if (code == 0)
        code = end_batch(p, err);
    int synced = code == 0 ? mdb_env_sync(p->env, 1) : 0;
    if (synced)
        code = fail_lmdb(err, p->working, synced);
    mdb_env_close(p->env);
    p->env = NULL;
    if (code == 0)
        code = hash_file(p->working, &p->facts, err);
    char *name = code == 0 ? name_in(j->path, "final", number, p->facts.hash) : NULL;
    if (code == 0 && !name)
        return trl__fail_memory(err);
    if (code == 0 && rename(p->working, name) != 0)
        code = trl__fail_errno(err, name, "can't be put in place");
    trl__free(name);
    return code;
}

/* ---- the whole ---- */

static int write_facts(const store_job *j, const trl_bam_counts *counts, trl_error *err)
{
    const trl_bam_options *o = j->options;
    const trl__store_header header = {.order = (uint32_t)j->header->order,
                                      .dim = (uint32_t)j->header->dim,
                                      .word_boundaries = j->header->phones->boundary >= 0,
                                      .partitions = (uint32_t)j->count,
                                      .seed = j->header->seed,
                                      .model = j->header->model,
                                      .least_frames = o->least_frames,
                                      .most_frames = o->most_frames,
                                      .alpha = o->alpha,
                                      .beta = o->beta,
                                      .variance_floor = o->variance_floor,
                                      .iterations = (uint32_t)o->iterations};
    trl__arena arena = {0};
    char *path = trl__join_path(&arena, j->path, TRL__STORE_FILE), *phones = trl__bam_phones_text(j->header->phones);
    trl__container_writer *writer = NULL;
    int code = path && phones ? trl__container_create(path, TRL__STORE_KIND, TRL__STORE_VERSION, &writer, err)
                              : trl__fail_memory(err);
    if (code == 0)
        code = trl__container_add(writer, "store", &header, sizeof header, err);
    if (code == 0)
        code = trl__container_add(writer, "phones", phones, strlen(phones), err);
    if (code == 0)
        code = trl__container_add(writer, "counts", counts->cell, sizeof counts->cell, err);
    if (code == 0)
        code = trl__container_begin(writer, "partitions", 0, err);
    for (int i = 0; code == 0 && i < j->count; i++)
        code = trl__container_write(writer, &j->parts[i].facts, sizeof j->parts[i].facts, err);
    if (code == 0)
        code = trl__container_commit(writer, err);
    else if (writer)
        trl__container_abort(writer);
    trl__free(phones);
    trl__arena_free(&arena);
    return code;
}

static int is_kept(const store_job *j, const char *name)
{
    for (int i = 0; i < j->count; i++) {
        char *kept = name_in("", "final", i, j->parts[i].facts.hash);
        int same = !kept || strcmp(kept + 1, name) == 0;
        trl__free(kept);
        if (same)
            return 1;
    }
    return 0;
}

/* Partitions that another model left, finished or not: nobody opens them any more, and whoever has them open keeps them. */
static void remove_old(const store_job *j)
{
    trl__arena arena = {0};
    DIR *folder = opendir(j->path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int is_old = is_partition(entry->d_name) && !is_kept(j, entry->d_name);
        char *path = is_old ? trl__join_path(&arena, j->path, entry->d_name) : NULL;
        if (path)
            unlink(path);
    }
    if (folder)
        closedir(folder);
    trl__arena_free(&arena);
}

static void clean_up(store_job *j)
{
    for (int i = 0; i < j->count; i++) {
        partition *p = &j->parts[i];
        if (p->txn)
            mdb_txn_abort(p->txn);
        if (p->env)
            mdb_env_close(p->env);
        if (p->working)
            unlink(p->working);
        trl__free(p->working);
        trl__free(p->block);
    }
    trl__free(j->parts);
}

static int check_same(const trl__bam_reader *parts, size_t count, trl_error *err)
{
    for (size_t i = 1; i < count; i++)
        if (!trl__bam_same_header(&parts[0].header, &parts[i].header))
            return trl__fail(err, TRL_EINVAL, "%s and %s do not belong together: order, phones, seed or model differ",
                             parts[0].source.name, parts[i].source.name);
    return 0;
}

/* Room for all mixtures in any one partition; no memory or disk is taken before it is used. LMDB records it in the file, so it must not depend on how the
 * input is cut. */
static size_t map_size(const trl__bam_reader *parts, size_t count)
{
    uint64_t bytes = 0, size = (uint64_t)1 << 36;
    for (size_t i = 0; i < count; i++)
        bytes += parts[i].source.size == UINT64_MAX ? 0 : parts[i].source.size;
    while (size < 2 * bytes)
        size *= 2;
    return (size_t)size;
}

static int write_store(store_job *j, trl__bam_reader *readers, size_t count, trl_pool *pool, trl_bam_counts *counts,
                       trl_error *err)
{
    int code = trl__make_folder(j->path, err);
    for (int i = 0; code == 0 && i < j->count; i++)
        code = open_partition(j, i, err);
    if (code == 0)
        code = trl__join_parts(readers, count, j->options, pool, add_mixture, j, counts, err);
    for (int i = 0; code == 0 && i < j->count; i++)
        code = close_partition(j, i, err);
    if (code == 0)
        code = write_facts(j, counts, err);
    if (code == 0)
        remove_old(j);
    return code;
}

int trl_bam_store_write(const char *const *inputs, size_t count, const trl_bam_options *options, int partitions,
                        trl_pool *pool, const char *path, trl_bam_counts *counts, trl_error *err)
{
    trl_bam_counts own;
    store_job j = {.path = path, .options = options};
    int code = trl_bam_options_check(options, err);
    if (code == 0 && count == 0)
        code = trl__fail(err, TRL_EINVAL, "a store of no inputs");
    if (code == 0)
        code = trl__store_check_place(path, partitions, err);
    trl__bam_reader *readers = code == 0 ? trl__alloc_zero(count, sizeof *readers) : NULL;
    j.parts = code == 0 ? trl__alloc_zero((size_t)partitions, sizeof *j.parts) : NULL;
    if (code == 0 && (!readers || !j.parts))
        code = trl__fail_memory(err);
    size_t opened = 0;
    while (code == 0 && opened < count && (code = trl__bam_reader_open(inputs[opened], &readers[opened], err)) == 0)
        opened++;
    if (code == 0)
        code = check_same(readers, count, err);
    if (code == 0) {
        j.header = &readers[0].header;
        j.count = partitions;
        j.map_size = map_size(readers, count);
        code = write_store(&j, readers, count, pool, counts ? counts : &own, err);
    }
    clean_up(&j);
    while (opened > 0)
        trl__bam_reader_close(&readers[--opened]);
    trl__free(readers);
    return code;
}
