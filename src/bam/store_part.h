/* A partition of a store: M-phones in the order of their keys and their mixtures, written once, read through a map
 * ([001]'s sorted string table). Byte by byte in docs/formats.md.
 *
 *     trl__part_create(path, order, dim, &writer, err);
 *     trl__part_add(writer, key, mixture, size, err);               // in the order of keys
 *     trl__part_commit(writer, &facts, err);
 *
 *     trl__part_open(path, &about, &facts, &part, err);
 *     if (trl__part_get(part, key, &mixture, err) > 0) …
 *     trl__part_close(part);
 *
 * A block has the keys of some M-phones, about 64 KB with their mixtures, and a checksum. The index (how each block
 * begins, where it lies, its checksum) is checked when the file is opened, a block when something of it is first
 * wanted: its bytes, then that its keys and mixtures are what keys and mixtures can be. After that a look-up is two
 * binary searches, in the first keys of blocks and in the keys of one, and nothing is hashed or copied. So no byte is
 * used before its checksum was compared, and opening costs 32 to 88 bytes of reading for 64 KB of file. What another
 * program does to a file that is open is not noticed: one that is cut off while it is mapped ends the process
 * (SIGBUS); stores are replaced by files of other names.
 */
#ifndef TRL_BAM_STORE_PART_H
#define TRL_BAM_STORE_PART_H

#include "bam/store_about.h"

typedef struct trl__part_writer trl__part_writer;

int trl__part_create(const char *path, int order, int dim, trl__part_writer **out, trl_error *err);
/* `value` is a mixture as in a record. */
int trl__part_add(trl__part_writer *writer, const unsigned char *key, const unsigned char *value, size_t size,
                  trl_error *err);
/* Frees the writer, whatever it returns. */
int trl__part_commit(trl__part_writer *writer, trl__store_part *facts, trl_error *err);
void trl__part_abort(trl__part_writer *writer);

typedef struct trl__part trl__part;

/* What the store says of itself and of this partition must outlive it. TRL_ECORRUPT: it is missing, damaged, or
 * another one. */
int trl__part_open(const char *path, const trl__store_about *about, const trl__store_part *facts, trl__part **out,
                   trl_error *err);
void trl__part_close(trl__part *part);

/* 1, 0: it has no such M-phone; or an error, which names file and block. Any number of threads may ask at the same
 * time. */
int trl__part_get(trl__part *part, const unsigned char *key, trl_bam_mixture *mixture, trl_error *err);

/* All of them in the order of keys. */
int trl__part_each(trl__part *part, trl_bam_store_fn use, void *user, trl_error *err);

/* Reads all blocks, whatever was checked before. */
int trl__part_check(const trl__part *part, trl_error *err);

#endif
