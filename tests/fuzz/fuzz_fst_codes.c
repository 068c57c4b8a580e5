/* Any bytes as a table of codes. What is accepted decodes machines, or refuses their labels. */
#include "fst/fst_format.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_fst_codes *codes;
    trl_fst *fst;
    trl_error err;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return 0;
    if (trl__codes_read(&source, &codes, &err) == 0 && trl_fst_create(TRL_TROPICAL, &fst, &err) == 0) {
        if (trl_fst_add_states(fst, 2, &err) < 0 || trl_fst_set_final(fst, 1, (trl_weight){1, 0}, &err) < 0)
            abort();
        for (int32_t label = 1; label < 4; label++)
            if (trl_fst_add_arc(fst, 0, (trl_arc){label, label, {0, 0}, 1}, &err) < 0)
                abort();
        if (trl_fst_decode(fst, codes, &err) == 0 && trl_fst_verify(fst, &err) < 0)
            abort();
        trl_fst_destroy(fst);
    }
    trl_fst_codes_destroy(codes);
    trl__source_close(&source);
    return 0;
}
