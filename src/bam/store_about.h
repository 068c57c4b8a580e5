/* What a store says of itself, in a file or on a server: its options, phones, counts and partitions. */
#ifndef TRL_BAM_STORE_ABOUT_H
#define TRL_BAM_STORE_ABOUT_H

#include "bam/store_format.h"
#include "base/container.h"

#include <trellis/bam_store.h>

typedef struct trl__store_about {
    trl__store_header header;
    trl_bam_phones *phones;
    trl_bam_counts counts;
    trl__store_part *parts; /* header.partitions */
} trl__store_about;

/* Distrusted. What was read before an error is freed by trl__store_about_free too; *about is {0} before. */
int trl__store_about_read(const trl__container *file, trl__store_about *about, trl_error *err);
void trl__store_about_free(trl__store_about *about);

trl_bam_store_facts trl__store_facts(const trl__store_about *about);

/* A mixture as it lies in a store or on a server: its bytes, of which the size has been checked. They are aligned for floats. */
void trl__store_mixture(const unsigned char *bytes, size_t dim, trl_bam_mixture *mixture);

#endif
