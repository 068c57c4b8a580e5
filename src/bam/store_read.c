#include "bam/redis_settings.h"
#include "bam/store_part.h"
#include "bam/bam_stream.h"
#include "base/container.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <trellis/bam_store.h>

struct trl_bam_store {
    char *path;
    trl__store_about about;
    trl__part **parts;
    uint32_t opened;
};

/* ---- opening ---- */

static int open_partitions(trl_bam_store *s, trl_error *err)
{
    trl__arena arena = {0};
    char name[64];
    int code = 0;
    s->parts = trl__alloc(s->about.header.partitions, sizeof(trl__part *));
    if (!s->parts)
        return trl__fail_memory(err);
    for (uint32_t i = 0; code == 0 && i < s->about.header.partitions; i++) {
        const trl__store_part *facts = &s->about.parts[i];
        snprintf(name, sizeof name, TRL__STORE_PARTITION, i, facts->hash);
        char *path = trl__join_path(&arena, s->path, name);
        code = path ? trl__part_open(path, &s->about, facts, &s->parts[i], err) : trl__fail_memory(err);
        s->opened += code == 0;
    }
    trl__arena_free(&arena);
    return code;
}

static int read_store(trl_bam_store *s, trl_error *err)
{
    trl__arena arena = {0};
    trl__container *file = NULL;
    char *path = trl__join_path(&arena, s->path, TRL__STORE_FILE);
    int code =
        path ? trl__container_open(path, TRL__STORE_KIND, TRL__STORE_VERSION, &file, err) : trl__fail_memory(err);
    if (code == 0 && trl__container_version(file) != TRL__STORE_VERSION)
        code =
            trl__fail(err, TRL_EUNSUPPORTED,
                      "%s: a store of version %" PRIu32 ", which an older trellis wrote; make it anew, with `trellis "
                      "bam train` or with `trellis bam store` of the same parts",
                      s->path, trl__container_version(file));
    if (code == 0)
        code = trl__store_about_read(file, &s->about, err);
    trl__container_close(file);
    trl__arena_free(&arena);
    return code < 0 ? code : open_partitions(s, err);
}

/* A store that is replaced between its list of partitions and their opening is opened again. */
int trl_bam_store_open(const char *path, trl_bam_store **out, trl_error *err)
{
    int code = 0;
    *out = NULL;
    if (trl__is_redis(path))
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: the folder of a store is needed here; models on servers are for `trellis bam get` and "
                         "`trellis bam rescore`",
                         path);
    for (int attempt = 0; attempt < 3; attempt++) {
        trl_bam_store *s = trl__alloc_zero(1, sizeof *s);
        if (!s)
            return trl__fail_memory(err);
        s->path = trl__strdup(path);
        code = s->path ? read_store(s, err) : trl__fail_memory(err);
        if (code == 0) {
            *out = s;
            return 0;
        }
        trl_bam_store_close(s);
        if (code != TRL_ECORRUPT)
            break;
    }
    return code;
}

void trl_bam_store_close(trl_bam_store *s)
{
    if (!s)
        return;
    while (s->opened > 0)
        trl__part_close(s->parts[--s->opened]);
    trl__free(s->parts);
    trl__store_about_free(&s->about);
    trl__free(s->path);
    trl__free(s);
}

int trl_bam_store_check(const trl_bam_store *s, trl_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < s->opened; i++)
        code = trl__part_check(s->parts[i], err);
    return code;
}

/* ---- looking ---- */

trl_bam_store_facts trl_bam_store_describe(const trl_bam_store *s)
{
    return trl__store_facts(&s->about);
}

const trl_bam_phones *trl_bam_store_phones(const trl_bam_store *store)
{
    return store->about.phones;
}

const trl_bam_counts *trl_bam_store_counts(const trl_bam_store *store)
{
    return &store->about.counts;
}

int trl_bam_store_fits(const trl_bam_store *store, const trl_model *model, trl_error *err)
{
    return trl__bam_model_fits(store->about.header.model, model, store->path, err);
}

int trl_bam_store_get(trl_bam_store *s, const unsigned char *key, trl_bam_mixture *mixture, trl_error *err)
{
    return trl__part_get(s->parts[trl_bam_key_shard(key, s->about.header.partitions)], key, mixture, err);
}

int trl_bam_store_each(trl_bam_store *s, trl_bam_store_fn use, void *user, trl_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < s->opened; i++)
        code = trl__part_each(s->parts[i], use, user, err);
    return code;
}
