/* The M-phones of an alignment: its phones as symbols in a row, with word boundaries between them.
 *
 *     trl__layout_make(&layout, phones, unit_symbol, segmentation, err);
 *     trl__layout_key(&layout, order, phone, state, key);             // the longest M-phone around a phone's state
 */
#ifndef TRL_BAM_MPHONE_LAYOUT_H
#define TRL_BAM_MPHONE_LAYOUT_H

#include "align/segments.h"
#include "bam/bam_phones.h"

/* Memory is reused; initialise with {0}. */
typedef struct trl__layout {
    int32_t *symbols, *places; /* the utterance as symbols, and where each phone stands in it */
    size_t symbol_capacity, place_capacity;
    int32_t length;
} trl__layout;

/* unit_symbol: of trl__bam_unit_symbols. Boundaries stand wherever a word, or the silence between two, ends. */
int trl__layout_make(trl__layout *layout, const trl_bam_phones *phones, const uint16_t *unit_symbol,
                     const trl__segmentation *segments, trl_error *err);

void trl__layout_key(const trl__layout *layout, int order, size_t phone, int32_t state, unsigned char *key);

void trl__layout_free(trl__layout *layout);

#endif
