/* STORE.work, where the driver (bam_train.c) keeps what it has done, so that it can go on after a kill. One process at a time has it.
 *
 *     trl__work_open(store, &work, err);
 *     trl__work_recall(&work, job, kept, err);                     // findings of an earlier start
 *     trl__work_keep(&work, job, kept, err);
 *     trl__work_remove(&work, 1);
 *     trl__work_close(&work);
 */
#ifndef TRL_BAM_WORK_FOLDER_H
#define TRL_BAM_WORK_FOLDER_H

#include "base/memory.h"

#include <trellis/finding.h>

typedef struct trl__work {
    trl__arena names;
    char *folder;
    int lock;
} trl__work;

/* Makes the folder where it is not there. TRL_EINVAL: another process is at work in it. */
int trl__work_open(const char *store, trl__work *out, trl_error *err);
void trl__work_close(trl__work *work);

/* "KIND-NUMBER" in the folder, good until it is closed; NULL: out of memory. */
char *trl__work_name(trl__work *work, const char *kind, size_t number);

/* Our files go away, but for the lock; with_folder: that too, and the folder. Returns 0 or TRL_ENOMEM. */
int trl__work_remove(const trl__work *work, int with_folder, trl_error *err);

/* The job is a hash: what another one kept is not recalled. */
int trl__work_keep(trl__work *work, uint64_t job, const trl_findings *findings, trl_error *err);
int trl__work_recall(trl__work *work, uint64_t job, trl_findings *findings, trl_error *err);

#endif
