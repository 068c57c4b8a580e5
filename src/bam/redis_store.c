/* A store on a Redis Cluster, byte by byte in docs/formats.md: loading it, and looking it up.
 *
 *     NAME:{COPY}                            the generation that counts: 16 hexadecimal digits, the hash of …
 *     NAME:GENERATION:store{COPY}            … this: the store's store.trl. COPY is 0 to 15, so that many servers have both: one that is lost takes M-phones along, not the model
 *     NAME:GENERATION:{TRIPHONE}REST         a mixture, the key in hexadecimal digits. In braces, so that it decides about the slot: state and central
 *                                            triphone, which is what M-phones are shared out by in estimation too
 */
#include "bam/bam_stream.h"
#include "bam/lookup.h"
#include "bam/redis_cluster.h"
#include "bam/store_about.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define TRIPHONE 8         /* bytes of a key that decide about its server */
#define HASH 8             /* bytes before a mixture: XXH3 of it */
#define LOAD_KEYS 256      /* at most so many … */
#define LOAD_BYTES 4000000 /* … and about so much are stored at a time */
#define GENERATION 17      /* its text, with the NUL */
#define COPY_KEY 300       /* room for the key of a copy */
#define COPIES 16          /* of what all servers should know */

/* ---- keys and values ---- */

static void write_generation(const void *about, size_t size, char text[GENERATION])
{
    snprintf(text, GENERATION, "%016" PRIx64, XXH3_64bits(about, size));
}

static char *put_hex(char *out, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    return out;
}

/* Room for this many bytes. */
static size_t key_room(const char *name)
{
    return strlen(name) + GENERATION + 2 * TRL_BAM_KEY_MOST + sizeof "::{}";
}

static size_t write_key(const char *name, const char *generation, const unsigned char *key, size_t key_size, char *out)
{
    char *at = out + sprintf(out, "%s:%s:{", name, generation);
    at = put_hex(at, key, TRIPHONE);
    *at++ = '}';
    at = put_hex(at, key + TRIPHONE, key_size - TRIPHONE);
    return (size_t)(at - out);
}

static size_t mixture_size(size_t components, size_t dim)
{
    return TRL__BAM_MIXTURE_HEAD + 4 * components * (1 + 2 * dim);
}

/* Bytes from a server, distrusted. */
static int read_value(const unsigned char *value, size_t size, size_t dim, trl_bam_mixture *m, trl_error *err)
{
    if (size < HASH + TRL__BAM_MIXTURE_HEAD || XXH3_64bits(value + HASH, size - HASH) != trl__le64(value))
        return trl__fail(err, TRL_ECORRUPT, "its checksum is another");
    size_t components = trl__le32(value + HASH);
    if (components == 0 || components > INT32_MAX || size - HASH != mixture_size(components, dim))
        return trl__fail(err, TRL_ECORRUPT, "%zu bytes can't be %zu Gaussians", size, components);
    trl__store_mixture(value + HASH, dim, m);
    return 0;
}

/* The keys of a copy. */
static void write_current(const char *name, int copy, char key[COPY_KEY])
{
    snprintf(key, COPY_KEY, "%s:{%d}", name, copy);
}

static void write_about(const char *name, const char *generation, int copy, char key[COPY_KEY])
{
    snprintf(key, COPY_KEY, "%s:%s:store{%d}", name, generation, copy);
}

/* ---- looking up ---- */

typedef struct redis_lookup {
    trl__lookup base;
    char *where;
    trl__redis_settings settings;
    trl__redis *redis;
    trl__store_about about;
    char generation[GENERATION];
    int copy; /* where the generation is looked up */
    trl__redis_request *requests;
    char *keys;
    size_t request_capacity, key_capacity;
} redis_lookup;

static int is_replaced(const redis_lookup *l, const trl__redis_request *current)
{
    return current->status == TRL__REDIS_NONE ||
           (current->status == TRL__REDIS_VALUE &&
            (current->value_size != GENERATION - 1 || memcmp(current->value, l->generation, GENERATION - 1) != 0));
}

static int take_result(const redis_lookup *l, const unsigned char *key, const trl__redis_request *q,
                       trl__lookup_result *result, trl_error *err)
{
    char text[2000];
    trl_error why;
    result->status = q->status == TRL__REDIS_LOST   ? TRL__LOOKUP_LOST
                     : q->status == TRL__REDIS_NONE ? TRL__LOOKUP_MISSING
                                                    : TRL__LOOKUP_FOUND;
    if (q->status != TRL__REDIS_VALUE ||
        read_value(q->value, q->value_size, (size_t)l->base.facts.dim, &result->mixture, &why) == 0)
        return 0;
    trl_bam_key_format(l->base.phones, l->base.facts.order, key, text, sizeof text);
    return trl__fail(err, TRL_ECORRUPT, "%s: the mixture of %s is damaged: %s; load the store again", l->where, text,
                     why.text);
}

/* The last request is for the generation: if another one counts now, M-phones may be gone that this model has. */
static int fetch(trl__lookup *lookup, const unsigned char *keys, size_t count, trl__lookup_result *results,
                 trl_error *err)
{
    redis_lookup *l = (redis_lookup *)(void *)lookup;
    size_t key_size = trl_bam_key_size(lookup->facts.order), room = key_room(l->settings.name);
    char current[COPY_KEY];
    if (TRL_GROW(l->requests, l->request_capacity, count + 1) < 0 ||
        TRL_GROW(l->keys, l->key_capacity, count * room) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        char *text = l->keys + i * room;
        size_t size = write_key(l->settings.name, l->generation, keys + i * key_size, key_size, text);
        l->requests[i] = (trl__redis_request){.key = text, .key_size = size};
    }
    write_current(l->settings.name, l->copy, current);
    l->requests[count] = (trl__redis_request){.key = current, .key_size = strlen(current)};
    int code = trl__redis_run(l->redis, l->requests, count + 1, trl__redis_deadline(&l->settings), err);
    if (code == 0 && is_replaced(l, &l->requests[count]))
        return trl__fail(err, TRL_EINVAL, "%s: another model has been loaded since this one was opened; start again",
                         l->where);
    if (code == 0 && l->requests[count].status == TRL__REDIS_LOST)
        l->copy = (l->copy + 1) % COPIES;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = take_result(l, keys + i * key_size, &l->requests[i], &results[i], err);
    return code;
}

static void destroy(trl__lookup *lookup)
{
    redis_lookup *l = (redis_lookup *)(void *)lookup;
    trl__redis_close(l->redis);
    trl__redis_settings_free(&l->settings);
    trl__store_about_free(&l->about);
    trl__free(l->requests);
    trl__free(l->keys);
    trl__free(l->where);
    trl__free(l);
}

/* The first of the copies that a server has; the key is its own. Their status is that of the last one where none has. */
static int get_copy(redis_lookup *l, const char *generation, double deadline, int *copy, trl__redis_request *q,
                    trl_error *err)
{
    const char *name = l->settings.name;
    char key[COPY_KEY];
    int code = 0, lost = 0;
    for (*copy = 0; *copy < COPIES; ++*copy) {
        if (generation)
            write_about(name, generation, *copy, key);
        else
            write_current(name, *copy, key);
        *q = (trl__redis_request){.key = key, .key_size = strlen(key)};
        code = trl__redis_run(l->redis, q, 1, deadline, err);
        q->key = NULL;
        if (code < 0 || q->status == TRL__REDIS_VALUE)
            return code;
        lost |= q->status == TRL__REDIS_LOST;
    }
    *copy = 0;
    q->status = lost ? TRL__REDIS_LOST : TRL__REDIS_NONE;
    return code;
}

static int read_about(redis_lookup *l, double deadline, trl_error *err)
{
    trl__redis_request q;
    trl__container *file;
    int copy, code = get_copy(l, NULL, deadline, &l->copy, &q, err);
    if (code < 0)
        return code;
    if (q.status == TRL__REDIS_LOST)
        return trl__fail(err, TRL_EIO, "%s: none of the servers that answer knows of the model", l->where);
    if (q.status != TRL__REDIS_VALUE || q.value_size != GENERATION - 1)
        return trl__fail(err, TRL_ENOENT, "%s: there is no model '%s'; `trellis bam load` brings one there", l->where,
                         l->settings.name);
    memcpy(l->generation, q.value, GENERATION - 1);
    code = get_copy(l, l->generation, deadline, &copy, &q, err);
    if (code < 0)
        return code;
    if (q.status != TRL__REDIS_VALUE)
        return trl__fail(err, TRL_EIO, "%s: no server has what the model is about; load it again", l->where);
    code = trl__container_from_memory(l->where, q.value, q.value_size, TRL__STORE_KIND, TRL__STORE_VERSION, &file, err);
    if (code < 0)
        return code;
    code = trl__store_about_read(file, &l->about, err);
    trl__container_close(file);
    return code;
}

int trl__redis_lookup_open(const char *where, trl__lookup **out, trl_error *err)
{
    redis_lookup *l = trl__alloc_zero(1, sizeof *l);
    *out = NULL;
    if (!l)
        return trl__fail_memory(err);
    l->where = trl__strdup(where);
    int code = l->where ? trl__redis_settings_read(where, &l->settings, err) : trl__fail_memory(err);
    double deadline = trl__redis_deadline(&l->settings);
    if (code == 0)
        code = trl__redis_open(&l->settings, deadline, &l->redis, err);
    if (code == 0)
        code = read_about(l, deadline, err);
    if (code < 0) {
        destroy(&l->base);
        return code;
    }
    l->base = (trl__lookup){.facts = trl__store_facts(&l->about),
                            .gaussians = trl_bam_total(&l->about.counts).gaussians,
                            .phones = l->about.phones,
                            .fetch = fetch,
                            .destroy = destroy};
    *out = &l->base;
    return 0;
}

/* ---- loading ---- */

typedef struct load_job {
    const char *where;
    trl__redis_settings settings;
    trl__redis *redis;
    trl_bam_store *store;
    size_t key_size, dim;
    char generation[GENERATION];
    trl__redis_request requests[LOAD_KEYS];
    size_t value_at[LOAD_KEYS];
    char *keys;
    unsigned char *values;
    size_t count, used, capacity;
    trl_progress *progress;
    trl_bam_load_summary summary;
} load_job;

static int store_all(const load_job *j, trl__redis_request *requests, size_t count, double deadline, trl_error *err)
{
    int code = trl__redis_run(j->redis, requests, count, deadline, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        if (requests[i].status != TRL__REDIS_STORED)
            return trl__fail(err, TRL_EIO,
                             "%s: a server does not answer, so not all could be stored; the old model, if there was "
                             "one, still counts. Load again when all servers are there",
                             j->where);
    return code;
}

static int flush(load_job *j, trl_error *err)
{
    for (size_t i = 0; i < j->count; i++)
        j->requests[i].stored = j->values + j->value_at[i];
    int code = store_all(j, j->requests, j->count, trl__redis_deadline(&j->settings), err);
    trl_progress_add(j->progress, j->count);
    j->count = j->used = 0;
    return code;
}

static int load_mixture(void *user, const unsigned char *key, const trl_bam_mixture *m, trl_error *err)
{
    load_job *j = user;
    size_t size = mixture_size((size_t)m->components, j->dim);
    int code = j->count == LOAD_KEYS || j->used > LOAD_BYTES ? flush(j, err) : 0;
    if (code < 0)
        return code;
    if (TRL_GROW(j->values, j->capacity, j->used + HASH + size) < 0)
        return trl__fail_memory(err);
    unsigned char *value = j->values + j->used + HASH;
    trl__put_le32(value, (uint32_t)m->components);
    trl__put_le32(value + 4, (uint32_t)m->sampled);
    trl__put_le64(value + 8, m->frames);
    memcpy(value + TRL__BAM_MIXTURE_HEAD, m->log_weight, size - TRL__BAM_MIXTURE_HEAD);
    trl__put_le64(value - HASH, XXH3_64bits(value, size));
    char *text = j->keys + j->count * key_room(j->settings.name);
    j->requests[j->count] =
        (trl__redis_request){.key = text,
                             .key_size = write_key(j->settings.name, j->generation, key, j->key_size, text),
                             .stored_size = HASH + size};
    j->value_at[j->count++] = j->used;
    j->used += HASH + size;
    j->summary.mphones++;
    j->summary.bytes += HASH + size;
    return 0;
}

/* All copies of a value, and until the replicas have them. */
static int store_copies(const load_job *j, int about, const void *value, size_t size, trl_error *err)
{
    char keys[COPIES][COPY_KEY];
    trl__redis_request requests[COPIES];
    for (int i = 0; i < COPIES; i++) {
        if (about)
            write_about(j->settings.name, j->generation, i, keys[i]);
        else
            write_current(j->settings.name, i, keys[i]);
        requests[i] =
            (trl__redis_request){.key = keys[i], .key_size = strlen(keys[i]), .stored = value, .stored_size = size};
    }
    double deadline = trl__redis_deadline(&j->settings);
    int code = store_all(j, requests, COPIES, deadline, err);
    return code < 0 ? code : trl__redis_settle(j->redis, deadline, err);
}

/* All mixtures, what they are about, and when everything is there, the generation. Then others go. */
static int load_all(load_job *j, const unsigned char *about, size_t size, trl_error *err)
{
    char others[COPY_KEY], kept[COPY_KEY];
    int code = trl_bam_store_each(j->store, load_mixture, j, err);
    if (code == 0)
        code = flush(j, err);
    if (code == 0)
        code = store_copies(j, 1, about, size, err);
    if (code == 0)
        code = store_copies(j, 0, j->generation, GENERATION - 1, err);
    snprintf(others, sizeof others, "%s:????????????????:*", j->settings.name);
    snprintf(kept, sizeof kept, "%s:%s:", j->settings.name, j->generation);
    return code < 0 ? code : trl__redis_remove(j->redis, others, kept, err);
}

static int open_job(load_job *j, const char *store, trl__source *about, const unsigned char **bytes, trl_error *err)
{
    trl__arena arena = {0};
    char *path = trl__join_path(&arena, store, TRL__STORE_FILE);
    int code = path ? trl__source_open(path, about, err) : trl__fail_memory(err);
    trl__arena_free(&arena);
    if (code == 0)
        code = trl__source_take(about, about->size, bytes, err);
    if (code == 0)
        code = trl_bam_store_open(store, &j->store, err);
    if (code == 0)
        code = trl__redis_settings_read(j->where, &j->settings, err);
    if (code == 0)
        code = trl__redis_open(&j->settings, trl__redis_deadline(&j->settings), &j->redis, err);
    if (code != 0)
        return code;
    trl_bam_store_facts facts = trl_bam_store_describe(j->store);
    j->key_size = trl_bam_key_size(facts.order);
    j->dim = (size_t)facts.dim;
    write_generation(*bytes, (size_t)about->size, j->generation);
    j->keys = trl__alloc(LOAD_KEYS, key_room(j->settings.name));
    return j->keys ? 0 : trl__fail_memory(err);
}

int trl_bam_load(const char *store, const char *where, trl_progress *progress, trl_bam_load_summary *summary,
                 trl_error *err)
{
    load_job *j = trl__alloc_zero(1, sizeof *j);
    trl__source about = {.fd = -1};
    const unsigned char *bytes;
    if (!j)
        return trl__fail_memory(err);
    j->where = where;
    j->progress = progress;
    int code = trl__is_redis(where) ? open_job(j, store, &about, &bytes, err)
                                    : trl__fail(err, TRL_EINVAL, "%s: this is no redis://HOST:PORT/NAME", where);
    if (code == 0)
        code = load_all(j, bytes, (size_t)about.size, err);
    if (code == 0 && summary) {
        *summary = j->summary;
        summary->servers = trl__redis_servers(j->redis);
    }
    trl__redis_close(j->redis);
    trl__redis_settings_free(&j->settings);
    trl_bam_store_close(j->store);
    trl__source_close(&about);
    trl__free(j->keys);
    trl__free(j->values);
    trl__free(j);
    return code;
}
