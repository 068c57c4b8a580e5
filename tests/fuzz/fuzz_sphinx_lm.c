/* Any bytes as one of Sphinx's binary language models. What is accepted is a valid acceptor whose arcs are sorted. The tables
 * of a trie, 256 KiB each, are put in here, behind the header: inputs stay small. */
#include "base/bytes.h"
#include "fst/fst_format.h"

#include <stdlib.h>

#define TABLE ((size_t)4 << 16) /* bytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_model(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_fst *fst;
    trl_error err;
    uint32_t properties, wanted = TRL_FST_ACCEPTOR | TRL_FST_ISORTED;
    trl_arpa_options options = {.backoff = (int32_t)(size % 3)};
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return;
    if (trl__fst_read_ngrams(&source, &options, &fst, NULL, &err) == 0 &&
        (trl_fst_verify(fst, &err) < 0 ||
         (trl_fst_properties(fst, &properties, &err) == 0 && (properties & wanted) != wanted)))
        abort();
    trl_fst_destroy(fst);
    trl__source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t order = size > 19 && data[0] == 'T' ? data[19] : 0, header = 24 + 4 * order;
    if (order < 2 || order > 5 || size < header) {
        read_model(data, size);
        return 0;
    }
    size_t tables = (2 * order - 3) * TABLE;
    uint8_t *whole = malloc(size + tables);
    if (!whole)
        return 0;
    memcpy(whole, data, header);
    for (size_t i = 0; i < tables; i += 4)
        trl__put_le32(whole + header + i, trl__bits_of_float(-(float)(i % TABLE)));
    memcpy(whole + header + tables, data + header, size - header);
    read_model(whole, size + tables);
    free(whole);
    return 0;
}
