/* Any bytes as a symbol table, text or binary. In what is accepted, names and labels belong to each other. */
#include "fst/fst_format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_symbols *symbols;
    trl_error err;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return 0;
    if (trl__symbols_read(&source, &symbols, &err) == 0)
        for (size_t i = 0; i < trl_symbols_count(symbols); i++) {
            int32_t label = trl_symbols_label(symbols, i);
            const char *name = trl_symbols_name(symbols, label);
            if (!name || !*name || trl_symbols_find(symbols, name) != label)
                abort();
        }
    trl_symbols_destroy(symbols);
    trl__source_close(&source);
    return 0;
}
