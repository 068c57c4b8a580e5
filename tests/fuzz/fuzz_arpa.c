/* Any bytes as a language model. What is accepted is a valid acceptor whose arcs are sorted. */
#include "fst/fst_format.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_fst *fst;
    trl_error err;
    uint32_t properties, wanted = TRL_FST_ACCEPTOR | TRL_FST_ISORTED;
    trl_arpa_options options = {.backoff = size % 3};
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return 0;
    if (trl__fst_read_arpa(&source, &options, &fst, NULL, &err) == 0 &&
        (trl_fst_verify(fst, &err) < 0 ||
         (trl_fst_properties(fst, &properties, &err) == 0 && (properties & wanted) != wanted)))
        abort();
    trl_fst_destroy(fst);
    trl__source_close(&source);
    return 0;
}
