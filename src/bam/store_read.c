#include "bam/bam_phones.h"
#include "bam/bam_stream.h"
#include "bam/redis_settings.h"
#include "bam/store_about.h"
#include "base/bytes.h"
#include "base/container.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"
#include "model/model_data.h"

#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/bam_store.h>
#include <unistd.h>
#include <xxhash.h>

typedef struct partition {
    char name[64];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi index, blocks;
    trl__store_part facts;
} partition;

struct trl_bam_store {
    char *path;
    trl__store_about about;
    partition *parts;
    uint32_t opened;
};

/* ---- opening ---- */

static int fail_lmdb(trl_error *err, const trl_bam_store *store, const partition *p, int code)
{
    return trl__fail(err, code == MDB_CORRUPTED || code == MDB_INVALID || code == MDB_NOTFOUND ? TRL_ECORRUPT : TRL_EIO,
                     "%s/%s: %s", store->path, p->name, mdb_strerror(code));
}

static int name_partitions(trl_bam_store *s, trl_error *err)
{
    s->parts = trl__alloc_zero(s->about.header.partitions, sizeof *s->parts);
    if (!s->parts)
        return trl__fail_memory(err);
    for (uint32_t i = 0; i < s->about.header.partitions; i++) {
        s->parts[i].facts = s->about.parts[i];
        snprintf(s->parts[i].name, sizeof s->parts[i].name, "part-%04" PRIu32 "-%016" PRIx64 ".mdb", i,
                 s->parts[i].facts.hash);
    }
    return 0;
}

static int open_partition(trl_bam_store *s, partition *p, trl_error *err)
{
    trl__arena arena = {0};
    struct stat status;
    char *path = trl__join_path(&arena, s->path, p->name);
    int code = path ? 0 : trl__fail_memory(err), lmdb = 0;
    if (code == 0 && stat(path, &status) != 0)
        code = trl__fail(err, TRL_ECORRUPT, "%s: a partition of the store is missing", path);
    else if (code == 0 && (uint64_t)status.st_size != p->facts.bytes)
        code = trl__fail(err, TRL_ECORRUPT, "%s: has %lld bytes instead of %" PRIu64, path, (long long)status.st_size,
                         p->facts.bytes);
    if (code == 0)
        lmdb = mdb_env_create(&p->env);
    if (code == 0 && lmdb == 0)
        lmdb = mdb_env_set_maxdbs(p->env, 2);
    if (code == 0 && lmdb == 0)
        lmdb = mdb_env_set_mapsize(p->env, (size_t)p->facts.bytes);
    if (code == 0 && lmdb == 0)
        lmdb = mdb_env_open(p->env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_RDONLY, 0644);
    if (code == 0 && lmdb == 0)
        lmdb = mdb_txn_begin(p->env, NULL, MDB_RDONLY, &p->txn);
    if (code == 0 && lmdb == 0)
        lmdb = mdb_dbi_open(p->txn, TRL__STORE_INDEX, 0, &p->index);
    if (code == 0 && lmdb == 0)
        lmdb = mdb_dbi_open(p->txn, TRL__STORE_BLOCKS, 0, &p->blocks);
    trl__arena_free(&arena);
    return lmdb ? fail_lmdb(err, s, p, lmdb) : code;
}

static int read_store(trl_bam_store *s, trl_error *err)
{
    trl__arena arena = {0};
    trl__container *file;
    char *path = trl__join_path(&arena, s->path, TRL__STORE_FILE);
    int code =
        path ? trl__container_open(path, TRL__STORE_KIND, TRL__STORE_VERSION, &file, err) : trl__fail_memory(err);
    if (code == 0) {
        code = trl__store_about_read(file, &s->about, err);
        trl__container_close(file);
    }
    if (code == 0)
        code = name_partitions(s, err);
    trl__arena_free(&arena);
    while (code == 0 && s->opened < s->about.header.partitions)
        code = open_partition(s, &s->parts[s->opened++], err);
    return code;
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
    for (uint32_t i = 0; i < s->opened; i++) {
        if (s->parts[i].txn)
            mdb_txn_abort(s->parts[i].txn);
        if (s->parts[i].env)
            mdb_env_close(s->parts[i].env);
    }
    trl__free(s->parts);
    trl__store_about_free(&s->about);
    trl__free(s->path);
    trl__free(s);
}

int trl_bam_store_check(const trl_bam_store *s, trl_error *err)
{
    for (uint32_t i = 0; i < s->about.header.partitions; i++) {
        const partition *p = &s->parts[i];
        mdb_filehandle_t fd;
        unsigned char buffer[1 << 14];
        XXH3_state_t *state = XXH3_createState();
        ssize_t got = 0;
        off_t at = 0;
        if (!state)
            return trl__fail_memory(err);
        XXH3_64bits_reset(state);
        mdb_env_get_fd(p->env, &fd);
        for (; (got = pread(fd, buffer, sizeof buffer, at)) > 0; at += got)
            XXH3_64bits_update(state, buffer, (size_t)got);
        uint64_t hash = XXH3_64bits_digest(state);
        XXH3_freeState(state);
        if (got < 0)
            return trl__fail_errno(err, p->name, "reading failed");
        if (hash != p->facts.hash)
            return trl__fail(err, TRL_ECORRUPT, "%s/%s: is damaged: its checksum is another", s->path, p->name);
    }
    return 0;
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

/* A place in a block, distrusted. */
static int read_mixture(const trl_bam_store *s, const partition *p, const MDB_val *found, trl_bam_mixture *m,
                        trl_error *err)
{
    trl__store_place place;
    unsigned char number[4];
    size_t dim = s->about.header.dim;
    if (found->mv_size != sizeof place)
        return trl__fail(err, TRL_ECORRUPT, "%s/%s: an entry of the index has %zu bytes", s->path, p->name,
                         found->mv_size);
    memcpy(&place, found->mv_data, sizeof place);
    trl__put_be32(number, place.block);
    MDB_val key = {sizeof number, number}, block;
    int code = mdb_get(p->txn, p->blocks, &key, &block);
    if (code)
        return fail_lmdb(err, s, p, code);
    uint64_t size = TRL__BAM_MIXTURE_HEAD + 4 * (uint64_t)place.components * (1 + 2 * dim);
    if (place.size != size || place.components == 0 || place.offset > block.mv_size ||
        size > block.mv_size - place.offset)
        return trl__fail(err, TRL_ECORRUPT, "%s/%s: a mixture lies outside its block", s->path, p->name);
    const unsigned char *bytes = (const unsigned char *)block.mv_data + place.offset;
    if (XXH3_64bits(bytes, place.size) != place.hash || trl__le32(bytes) != place.components)
        return trl__fail(err, TRL_ECORRUPT, "%s/%s: a mixture is damaged", s->path, p->name);
    trl__store_mixture(bytes, dim, m);
    return 0;
}

int trl_bam_store_get(trl_bam_store *s, const unsigned char *key, trl_bam_mixture *mixture, trl_error *err)
{
    const partition *p = &s->parts[trl_bam_key_shard(key, s->about.header.partitions)];
    unsigned char copy[TRL_BAM_KEY_MOST];
    size_t size = trl_bam_key_size((int)s->about.header.order);
    memcpy(copy, key, size);
    MDB_val k = {size, copy}, found;
    int code = mdb_get(p->txn, p->index, &k, &found);
    if (code == MDB_NOTFOUND)
        return 0;
    if (code)
        return fail_lmdb(err, s, p, code);
    code = read_mixture(s, p, &found, mixture, err);
    return code < 0 ? code : 1;
}

static int each_of(trl_bam_store *s, const partition *p, trl_bam_store_fn use, void *user, trl_error *err)
{
    MDB_cursor *cursor;
    MDB_val key, found;
    int code = 0, lmdb = mdb_cursor_open(p->txn, p->index, &cursor);
    if (lmdb)
        return fail_lmdb(err, s, p, lmdb);
    while (code == 0 && (lmdb = mdb_cursor_get(cursor, &key, &found, MDB_NEXT)) == 0) {
        trl_bam_mixture mixture;
        trl_bam_mphone mphone;
        if (key.mv_size != trl_bam_key_size((int)s->about.header.order))
            code = trl__fail(err, TRL_ECORRUPT, "%s/%s: a key of %zu bytes", s->path, p->name, key.mv_size);
        if (code == 0)
            code = trl_bam_key_read(s->about.phones, (int)s->about.header.order, key.mv_data, &mphone, err);
        if (code == 0)
            code = read_mixture(s, p, &found, &mixture, err);
        if (code == 0)
            code = use(user, key.mv_data, &mixture, err);
    }
    mdb_cursor_close(cursor);
    return code || lmdb == MDB_NOTFOUND ? code : fail_lmdb(err, s, p, lmdb);
}

int trl_bam_store_each(trl_bam_store *s, trl_bam_store_fn use, void *user, trl_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < s->about.header.partitions; i++)
        code = each_of(s, &s->parts[i], use, user, err);
    return code;
}
