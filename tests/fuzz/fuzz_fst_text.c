/* Any bytes as a machine in text form, in each semiring, with and without symbol tables. What is accepted is a valid
 * machine. */
#include "fst/fst_format.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static trl_symbols *make_symbols(void)
{
    trl_symbols *symbols;
    trl_error err;
    if (trl_symbols_create("fuzz", &symbols, &err) < 0 || trl_symbols_add(symbols, "<eps>", 0, &err) < 0)
        abort();
    return symbols;
}

/* The first byte chooses how the rest is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_fst *fst;
    trl_error err;
    int how = size > 0 ? data[0] : 0;
    if (trl__source_from_memory("fuzz", data + (size > 0), size - (size > 0), &source, &err) < 0)
        return 0;
    trl_symbols *symbols = how & 4 ? make_symbols() : NULL;
    trl_fst_text_options options = {.acceptor = how & 8,
                                    .keep_state_numbering = how & 16,
                                    .isymbols = symbols,
                                    .osymbols = symbols,
                                    .add_symbols = how & 32,
                                    .keep_isymbols = 1};
    if (trl__fst_read_text(&source, (trl_semiring)(how & 3), &options, &fst, &err) == 0 &&
        trl_fst_verify(fst, &err) < 0)
        abort();
    trl_fst_destroy(fst);
    trl_symbols_destroy(symbols);
    trl__source_close(&source);
    return 0;
}
