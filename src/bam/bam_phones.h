/* The symbols of M-phones, and which of them a model's units are. */
#ifndef TRL_BAM_BAM_PHONES_H
#define TRL_BAM_BAM_PHONES_H

#include "base/string_table.h"

#include <trellis/bam_key.h>

struct trl_bam_phones {
    trl__strings names;
    int32_t boundary; /* -1: none */
};

/* By unit of the model: its symbol; freed by trl__free. TRL_EINVAL: a unit that the symbols lack, so the model is another one. */
int trl__bam_unit_symbols(const trl_bam_phones *phones, const trl_model *model, uint16_t **out, trl_error *err);

/* The phones, one per line; freed by trl__free. NULL: out of memory. */
char *trl__bam_phones_text(const trl_bam_phones *phones);

#endif
