/* Any bytes as a file of a machine. What is accepted is a valid machine, and stays one through the operations that
 * look at all of it. */
#include "fst/fst_format.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_fst *fst;
    trl_fst_counts counts;
    trl_error err;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return 0;
    if (trl__fst_read(&source, NULL, &fst, &err) == 0 &&
        (trl_fst_verify(fst, &err) < 0 || (trl_fst_count(fst, &counts, &err) == 0 && counts.arcs != trl_fst_arcs(fst))))
        abort();
    trl_fst_destroy(fst);
    trl__source_close(&source);
    return 0;
}
