#include "bam/mphone_layout.h"
#include "base/fail.h"
#include "base/memory.h"

int trl__layout_make(trl__layout *l, const trl_bam_phones *phones, const uint16_t *unit_symbol,
                     const trl__segmentation *s, trl_error *err)
{
    int32_t boundary = trl_bam_phones_boundary(phones);
    size_t count = s->phones.count;
    l->length = 0;
    if (TRL_GROW(l->symbols, l->symbol_capacity, 2 * count + 1) < 0 ||
        TRL_GROW(l->places, l->place_capacity, count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (boundary >= 0 && i > 0 && s->phones.items[i].index != s->phones.items[i - 1].index)
            l->symbols[l->length++] = boundary;
        l->places[i] = l->length;
        l->symbols[l->length++] = unit_symbol[s->phones.items[i].id];
    }
    return 0;
}

void trl__layout_key(const trl__layout *l, int order, size_t phone, int32_t state, unsigned char *key)
{
    int32_t at = l->places[phone];
    trl_bam_mphone m = {.phone = l->symbols[at], .state = state};
    for (; m.left < order && at - m.left > 0; m.left++)
        m.left_symbol[m.left] = (uint16_t)l->symbols[at - m.left - 1];
    for (; m.right < order && at + m.right + 1 < l->length; m.right++)
        m.right_symbol[m.right] = (uint16_t)l->symbols[at + m.right + 1];
    trl_bam_key_write(&m, order, key);
}

void trl__layout_free(trl__layout *l)
{
    trl__free(l->symbols);
    trl__free(l->places);
    *l = (trl__layout){0};
}
