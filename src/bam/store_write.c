/* A store is written: the joined parts, in the order of keys, each M-phone to its partition. */
#include "bam/part_join.h"
#include "bam/store_part.h"
#include "base/container.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <trellis/bam_store.h>
#include <unistd.h>

typedef struct partition {
    char *working; /* its name until it is complete */
    trl__part_writer *writer;
    trl__store_part facts;
} partition;

typedef struct store_job {
    const char *path;
    const trl__bam_header *header;
    const trl_bam_options *options;
    partition *parts;
    int count;
} store_job;

static char *working_name(const char *folder, int number)
{
    size_t size = strlen(folder) + 64;
    char *name = trl__alloc(size, 1);
    if (name)
        snprintf(name, size, "%s/part-%04d.new-%ld", folder, number, (long)getpid());
    return name;
}

static char *final_name(const char *folder, int number, uint64_t hash)
{
    size_t size = strlen(folder) + 64;
    char *name = trl__alloc(size, 1);
    if (name)
        snprintf(name, size, "%s/" TRL__STORE_PARTITION, folder, (uint32_t)number, hash);
    return name;
}

/* ---- the folder ---- */

/* Of this version, of the one before, or not complete. */
static int is_partition(const char *name)
{
    return trl__name_fits(name, "part-#-@.trl") || trl__name_fits(name, "part-#-@.mdb") ||
           trl__name_fits(name, "part-#.new-#");
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

static int open_partition(const store_job *j, int number, trl_error *err)
{
    partition *p = &j->parts[number];
    p->working = working_name(j->path, number);
    return p->working ? trl__part_create(p->working, j->header->order, j->header->dim, &p->writer, err)
                      : trl__fail_memory(err);
}

static int add_mixture(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    const store_job *j = user;
    size_t head = trl_bam_key_size(j->header->order) + 4;
    const partition *p = &j->parts[trl_bam_key_shard(body, (uint32_t)j->count)];
    return trl__part_add(p->writer, body, body + head, size - head, err);
}

static int close_partition(const store_job *j, int number, trl_error *err)
{
    partition *p = &j->parts[number];
    int code = trl__part_commit(p->writer, &p->facts, err);
    p->writer = NULL;
    char *name = code == 0 ? final_name(j->path, number, p->facts.hash) : NULL;
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
        char *kept = final_name("", i, j->parts[i].facts.hash);
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
        trl__part_abort(p->writer);
        if (p->working)
            unlink(p->working);
        trl__free(p->working);
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
        code = write_store(&j, readers, count, pool, counts ? counts : &own, err);
    }
    clean_up(&j);
    while (opened > 0)
        trl__bam_reader_close(&readers[--opened]);
    trl__free(readers);
    return code;
}
