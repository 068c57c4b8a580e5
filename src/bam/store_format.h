/* A store's files, byte by byte in docs/formats.md. */
#ifndef TRL_BAM_STORE_FORMAT_H
#define TRL_BAM_STORE_FORMAT_H

#include <stdint.h>
#include <trellis/bam_store.h>

#define TRL__STORE_KIND "bam store"
#define TRL__STORE_VERSION 1
#define TRL__STORE_FILE "store.trl"

/* LMDB's names of the two tables of a partition. */
#define TRL__STORE_INDEX "index"
#define TRL__STORE_BLOCKS "blocks"

/* Mixtures lie one behind the other in blocks that fill pages: a value that does not fit twice into a page of 4096 bytes takes whole ones, the first
 * with 16 bytes of LMDB's own. */
#define TRL__STORE_BLOCK (256 * 4096 - 16)
#define TRL__STORE_PAGE (4096 - 16) /* none is smaller, so all lie in pages of their own, aligned */

typedef struct trl__store_header {
    uint32_t order, dim, word_boundaries, partitions;
    uint64_t seed, model;
    int64_t least_frames, most_frames;
    double alpha, beta, variance_floor;
    uint32_t iterations, zero;
} trl__store_header;

_Static_assert(sizeof(trl__store_header) == 80, "the file's layout is the struct's");

typedef struct trl__store_part {
    uint64_t hash, bytes, mphones; /* XXH3 of the file */
} trl__store_part;

/* Where an M-phone's mixture lies. */
typedef struct trl__store_place {
    uint32_t block, offset, size, components;
    uint64_t hash; /* XXH3 of these bytes */
} trl__store_place;

/* May a store of so many partitions be written here? Into no folder of something else. TRL_EINVAL, TRL_EIO. */
int trl__store_check_place(const char *path, int partitions, trl_error *err);

#endif
