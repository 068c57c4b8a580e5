/* A store's files, byte by byte in docs/formats.md. */
#ifndef TRL_BAM_STORE_FORMAT_H
#define TRL_BAM_STORE_FORMAT_H

#include <inttypes.h>
#include <trellis/bam_store.h>

#define TRL__STORE_KIND "bam store"
#define TRL__STORE_VERSION 2 /* 1: partitions were of LMDB */
#define TRL__STORE_FILE "store.trl"
#define TRL__STORE_PARTITION "part-%04" PRIu32 "-%016" PRIx64 ".trl" /* number, hash */

typedef struct trl__store_header {
    uint32_t order, dim, word_boundaries, partitions;
    uint64_t seed, model;
    int64_t least_frames, most_frames;
    double alpha, beta, variance_floor;
    uint32_t iterations, zero;
} trl__store_header;

_Static_assert(sizeof(trl__store_header) == 80, "the file's layout is the struct's");

typedef struct trl__store_part {
    uint64_t hash, bytes, mphones; /* trl__container_hash of the file; its size */
} trl__store_part;

/* ---- a partition ---- */

#define TRL__PART_KIND "bam partition"
#define TRL__PART_VERSION 1
#define TRL__PART_BLOCK ((size_t)1 << 16) /* bytes at most, of more than one M-phone */

typedef struct trl__part_header {
    uint32_t order, dim;
    uint64_t mphones;
} trl__part_header;

/* A block: `count` keys, for each a u32 offset of its mixture in the block, the mixtures. */
typedef struct trl__part_block {
    uint64_t offset; /* among the blocks */
    uint32_t size, count;
    uint64_t hash; /* XXH3 of the block */
} trl__part_block;

_Static_assert(sizeof(trl__part_header) == 16 && sizeof(trl__part_block) == 24, "the file's layout is the struct's");

/* May a store of so many partitions be written here? Into no folder of something else. TRL_EINVAL, TRL_EIO. */
int trl__store_check_place(const char *path, int partitions, trl_error *err);

#endif
