/* An external merge sort of records: they are gathered in memory, sorted when it is full, and written as a run (sorted_run.h).
 *
 *     trl__sorter_create(key_size, memory, &sorter, err);
 *     trl__sorter_add(sorter, body, size, err);                      // 0, or 1: full; write it, empty it, and add it again
 *     trl__sorter_write(sorter, writer, err);                        // in order, each once
 *     trl__sorter_empty(sorter);
 */
#ifndef TRL_BAM_RECORD_SORT_H
#define TRL_BAM_RECORD_SORT_H

#include "bam/sorted_run.h"

typedef struct trl__sorter trl__sorter;

int trl__sorter_create(size_t key_size, size_t memory, trl__sorter **out, trl_error *err);
void trl__sorter_destroy(trl__sorter *sorter);
int trl__sorter_add(trl__sorter *sorter, const unsigned char *body, size_t size, trl_error *err);
size_t trl__sorter_count(const trl__sorter *sorter);
int trl__sorter_write(trl__sorter *sorter, trl__run_writer *run, trl_error *err);
void trl__sorter_empty(trl__sorter *sorter);

#endif
