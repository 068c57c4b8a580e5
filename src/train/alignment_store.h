/* The alignments of one iteration: for every utterance the runs of its path, or why it has none. Written front to back,
 * read at random by many threads; the file is mapped, so memory does not grow with the corpus.
 *
 * A container of kind "alignments", version 1: `runs` (i32 node, i32 frames each), `index` (per utterance u64 first
 * run, u32 runs, i32 status, f64 log-likelihood).
 */
#ifndef TRL_TRAIN_ALIGNMENT_STORE_H
#define TRL_TRAIN_ALIGNMENT_STORE_H

#include "align/aligner.h"

typedef struct trl__stored_alignment {
    uint64_t first_run;
    uint32_t runs;
    int32_t status; /* trl__search_status */
    double log_likelihood;
} trl__stored_alignment;

typedef struct trl__alignment_writer trl__alignment_writer;
typedef struct trl__alignment_store trl__alignment_store;

int trl__alignment_writer_create(const char *path, trl__alignment_writer **out, trl_error *err);
int trl__alignment_writer_add(trl__alignment_writer *writer, int32_t status, double log_likelihood,
                              const trl__run *runs, size_t count, trl_error *err);
int trl__alignment_writer_commit(trl__alignment_writer *writer, trl_error *err); /* frees it */
void trl__alignment_writer_abort(trl__alignment_writer *writer);

int trl__alignment_store_open(const char *path, trl__alignment_store **out, trl_error *err);
void trl__alignment_store_close(trl__alignment_store *store);
const char *trl__alignment_store_path(const trl__alignment_store *store);
size_t trl__alignment_store_count(const trl__alignment_store *store);
const trl__stored_alignment *trl__alignment_store_get(const trl__alignment_store *store, size_t utterance,
                                                      const trl__run **runs);

#endif
