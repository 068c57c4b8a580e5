/* Mixtures of M-phones by key, many at a time: what rescoring sees of a store, wherever that is.
 *
 *     trl__lookup_open("bam.store", &lookup, err);                   // one per thread
 *     lookup->fetch(lookup, keys, count, results, err);              // one request for an utterance
 *     lookup->destroy(lookup);
 *
 * A server that is gone is no error: the keys that it has are lost, which the caller can tell from those that no store has.
 */
#ifndef TRL_BAM_LOOKUP_H
#define TRL_BAM_LOOKUP_H

#include <trellis/bam_store.h>

typedef enum trl__lookup_status {
    TRL__LOOKUP_MISSING, /* the model has no such M-phone */
    TRL__LOOKUP_FOUND,
    TRL__LOOKUP_LOST /* the server that would know does not answer */
} trl__lookup_status;

typedef struct trl__lookup_result {
    trl__lookup_status status;
    trl_bam_mixture mixture; /* where it was found: good until the next fetch */
} trl__lookup_result;

/* Implementations begin with this struct. It is used by one thread at a time. */
typedef struct trl__lookup trl__lookup;
struct trl__lookup {
    trl_bam_store_facts facts;
    uint64_t gaussians; /* of the whole model */
    const trl_bam_phones *phones;
    /* `count` keys of trl_bam_key_size(facts.order) bytes, one behind the other, each once; results[i] is that of key i. Returns 0; TRL_ECORRUPT: what came is no
     * mixture; TRL_ENOMEM. */
    int (*fetch)(trl__lookup *lookup, const unsigned char *keys, size_t count, trl__lookup_result *results,
                 trl_error *err);
    void (*destroy)(trl__lookup *lookup);
};

/* `where` is a store's folder, or redis://HOST:PORT/NAME (redis_settings.h). Returns as trl_bam_store_open, of servers also TRL_EIO, TRL_EINVAL, TRL_EUNSUPPORTED. */
int trl__lookup_open(const char *where, trl__lookup **out, trl_error *err);

int trl__redis_lookup_open(const char *where, trl__lookup **out, trl_error *err);

#endif
