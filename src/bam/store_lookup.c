/* Look-ups in a store on this machine. */
#include "bam/lookup.h"
#include "bam/redis_settings.h"
#include "base/memory.h"
#include "base/fail.h"

#include <string.h>

typedef struct store_lookup {
    trl__lookup base;
    trl_bam_store *store;
} store_lookup;

static int fetch(trl__lookup *lookup, const unsigned char *keys, size_t count, trl__lookup_result *results,
                 trl_error *err)
{
    const store_lookup *l = (store_lookup *)(void *)lookup;
    size_t size = trl_bam_key_size(lookup->facts.order);
    for (size_t i = 0; i < count; i++) {
        int found = trl_bam_store_get(l->store, keys + i * size, &results[i].mixture, err);
        if (found < 0)
            return found;
        results[i].status = found ? TRL__LOOKUP_FOUND : TRL__LOOKUP_MISSING;
    }
    return 0;
}

static void destroy(trl__lookup *lookup)
{
    store_lookup *l = (store_lookup *)(void *)lookup;
    trl_bam_store_close(l->store);
    trl__free(l);
}

int trl__lookup_open(const char *where, trl__lookup **out, trl_error *err)
{
    if (trl__is_redis(where))
        return trl__redis_lookup_open(where, out, err);
    store_lookup *l = trl__alloc_zero(1, sizeof *l);
    if (!l)
        return trl__fail_memory(err);
    int code = trl_bam_store_open(where, &l->store, err);
    if (code < 0) {
        trl__free(l);
        return code;
    }
    l->base = (trl__lookup){.facts = trl_bam_store_describe(l->store),
                            .gaussians = trl_bam_total(trl_bam_store_counts(l->store)).gaussians,
                            .phones = trl_bam_store_phones(l->store),
                            .fetch = fetch,
                            .destroy = destroy};
    *out = &l->base;
    return 0;
}

/* ---- one M-phone at a time ---- */

int trl_bam_lookup_open(const char *where, trl_bam_lookup **out, trl_error *err)
{
    return trl__lookup_open(where, out, err);
}

void trl_bam_lookup_close(trl_bam_lookup *lookup)
{
    if (lookup)
        lookup->destroy(lookup);
}

trl_bam_store_facts trl_bam_lookup_describe(const trl_bam_lookup *lookup)
{
    return lookup->facts;
}

const trl_bam_phones *trl_bam_lookup_phones(const trl_bam_lookup *lookup)
{
    return lookup->phones;
}

int trl_bam_lookup_get(trl_bam_lookup *l, unsigned char *key, int back_off, trl_bam_mixture *mixture, trl_error *err)
{
    unsigned char keys[(TRL_BAM_ORDER_MOST + 1) * TRL_BAM_KEY_MOST], next[TRL_BAM_KEY_MOST];
    trl__lookup_result results[TRL_BAM_ORDER_MOST + 1];
    size_t size = trl_bam_key_size(l->facts.order), count = 0;
    memcpy(next, key, size);
    do
        memcpy(keys + count++ * size, next, size);
    while (back_off && trl_bam_key_back_off(l->facts.order, next));
    int code = l->fetch(l, keys, count, results, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        if (results[i].status == TRL__LOOKUP_LOST)
            return trl__fail(err, TRL_EIO, "the server that would know the M-phone does not answer");
        if (results[i].status != TRL__LOOKUP_FOUND)
            continue;
        memcpy(key, keys + i * size, size);
        *mixture = results[i].mixture;
        return 1;
    }
    return code;
}
