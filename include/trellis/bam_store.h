/* A back-off acoustic model on disk: mixtures by M-phone, in one file per partition, with what is needed to use them.
 *
 *     trl_bam_store_open("bam.store", &store, &err);
 *     trl_bam_key_parse(trl_bam_store_phones(store), order, "ih_1 / sh ___ n", key, &err);
 *     if (trl_bam_store_get(store, key, &mixture, &err) > 0)
 *         printf("%d Gaussians\n", mixture.components);
 *     trl_bam_store_close(store);
 *
 * A store is a folder: `store.trl`, which says what the store is and which partitions belong to it, and the partitions. The names of these contain a hash of their content. A store
 * is replaced by writing new partitions beside the old ones, then `store.trl` over the old one, and only then are the old partitions removed: whoever opens it
 * finds the old model or the new one. M-phones are shared out to partitions by trl_bam_key_shard.
 */
#ifndef TRELLIS_BAM_STORE_H
#define TRELLIS_BAM_STORE_H

#include <trellis/bam.h>

TRL_BEGIN_DECLS

typedef struct trl_bam_store trl_bam_store;

#define TRL_BAM_PARTITIONS_MOST 1000

/* What reducers wrote (sorted streams, of one stream's parts or of shards) becomes a store. The options are those of the reducers; their thresholds apply where samples of parts
 * are put together. `counts` may be NULL. The folder is made; one that is there must be a store or empty. Returns 0; TRL_EINVAL: streams that don't belong together, a folder of something else; TRL_EFORMAT, TRL_ECORRUPT, TRL_EIO, TRL_ENOMEM. */
TRL_API int trl_bam_store_write(const char *const *inputs, size_t count, const trl_bam_options *options, int partitions,
                                trl_pool *pool, const char *path, trl_bam_counts *counts, trl_error *err);

/* Maps the partitions and checks what is needed to find M-phones in them; blocks of mixtures are checked when
 * something of them is first looked up. Returns 0, TRL_ENOENT, TRL_EFORMAT, TRL_ECORRUPT (a partition is missing, cut
 * off, damaged, or another one), TRL_EUNSUPPORTED (a store of an older trellis, or a newer one), TRL_EIO, TRL_ENOMEM.
 * Any number of threads may look up in a store at the same time, and processes share its pages. A partition must not
 * be overwritten or cut off while it is open; trl_bam_store_write never does. */
TRL_API int trl_bam_store_open(const char *path, trl_bam_store **out, trl_error *err);
TRL_API void trl_bam_store_close(trl_bam_store *store);

/* Reads all blocks of all partitions and compares their checksums; TRL_ECORRUPT names the first that differs. */
TRL_API int trl_bam_store_check(const trl_bam_store *store, trl_error *err);

typedef struct trl_bam_store_facts {
    int order, dim, word_boundaries, partitions;
    uint64_t seed, model; /* model: a hash of the first-pass model */
    int64_t least_frames, most_frames;
    double alpha, beta, variance_floor;
    int iterations;
    uint64_t mphones, bytes;    /* in the partitions */
    uint64_t largest, smallest; /* bytes of partitions */
} trl_bam_store_facts;

TRL_API trl_bam_store_facts trl_bam_store_describe(const trl_bam_store *store);
TRL_API const trl_bam_phones *trl_bam_store_phones(const trl_bam_store *store);
TRL_API const trl_bam_counts *trl_bam_store_counts(const trl_bam_store *store); /* by context sizes */

/* 0, or TRL_EINVAL: the store was made with another first-pass model. */
TRL_API int trl_bam_store_fits(const trl_bam_store *store, const trl_model *model, trl_error *err);

/* Valid until the store is closed. Floats lie as they are in the file. */
typedef struct trl_bam_mixture {
    int32_t components;
    int sampled;                               /* 1: there were more frames than could be used */
    uint64_t frames;                           /* that were used */
    const float *log_weight, *mean, *variance; /* component, component * dim + k */
} trl_bam_mixture;

/* 1, 0: there is none, or TRL_ECORRUPT: the block where it would be is damaged; file, block and place are named. */
TRL_API int trl_bam_store_get(trl_bam_store *store, const unsigned char *key, trl_bam_mixture *mixture, trl_error *err);

/* All of them, partition by partition in the order of keys; ends when `use` returns other than 0. */
typedef int (*trl_bam_store_fn)(void *user, const unsigned char *key, const trl_bam_mixture *mixture, trl_error *err);
TRL_API int trl_bam_store_each(trl_bam_store *store, trl_bam_store_fn use, void *user, trl_error *err);

/* ---- looking up, wherever it lies ---- */

/* A store's folder, or a model on servers: redis://HOST:PORT[,HOST:PORT…]/NAME. Used by one thread at a time. */
typedef struct trl__lookup trl_bam_lookup;

/* Returns as trl_bam_store_open; of servers also TRL_EIO, TRL_EINVAL (no such address). */
TRL_API int trl_bam_lookup_open(const char *where, trl_bam_lookup **out, trl_error *err);
TRL_API void trl_bam_lookup_close(trl_bam_lookup *lookup);
TRL_API trl_bam_store_facts trl_bam_lookup_describe(const trl_bam_lookup *lookup);
TRL_API const trl_bam_phones *trl_bam_lookup_phones(const trl_bam_lookup *lookup);

/* The mixture of the key; with back_off, if there is none, that of the longest M-phone that it backs off to, whose key takes its place. One request, valid until the next one.
 * 1, 0: there is none; TRL_EIO: a server that would know does not answer; TRL_ECORRUPT, TRL_ENOMEM. */
TRL_API int trl_bam_lookup_get(trl_bam_lookup *lookup, unsigned char *key, int back_off, trl_bam_mixture *mixture,
                               trl_error *err);

/* ---- served ---- */

typedef struct trl_bam_load_summary {
    uint64_t mphones, bytes; /* stored, and of their values */
    size_t servers;          /* that share them */
} trl_bam_load_summary;

/* Copies a store's folder to a Redis Cluster at redis://HOST:PORT[,HOST:PORT…]/NAME. Users of NAME see the old model
 * or the new one; the old one's keys are removed at the end. User, password and time limits come from the environment
 * (docs/bam-serving.md). `progress` (of M-phones) and `summary` may be NULL. Returns 0, what trl_bam_store_open
 * returns, TRL_EINVAL (no such address), TRL_EIO (a server is gone or refuses). */
TRL_API int trl_bam_load(const char *store, const char *where, trl_progress *progress, trl_bam_load_summary *summary,
                         trl_error *err);

TRL_END_DECLS

#endif
