/* Transducer files: as the bytes are, with the container's checksums put right, and with those of the symbols put right, too, so that
 * what lies behind them is reached. What opens is searched. */
#include "../container_repair.h"
#include "transduce/transducer_data.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void search(const trl_transducer *t)
{
    trl_transduce_work *work;
    trl_transduction result;
    int32_t labels[4] = {0};
    if (trl_transducer_states(t) > 1 << 16)
        return;
    for (uint32_t i = 0; i < 4 && i < t->symbols; i++)
        labels[i] = t->symbol[t->symbols - 1 - i].label;
    for (int method = TRL_METHOD_FRONTIER; method <= TRL_METHOD_SERIAL; method++) {
        trl_transduce_options options = {.method = (trl_transduce_method)method};
        if (trl_transduce_create(t, &options, &work, NULL) < 0)
            return;
        for (size_t length = 0; length <= 4; length++)
            for (int op = 0; op < 4; op++)
                trl_transduce(work, (trl_transduce_operation)op,
                              &(trl_transduce_input){.labels = labels, .count = length}, &result, NULL);
        trl_transduce_destroy(work);
    }
}

static void read_all(const uint8_t *data, size_t size, int repair)
{
    trl__container *container;
    trl_transducer *t;
    trl_error err;
    if (trl__container_from_memory("fuzz", data, size, TRL__TRANSDUCER_KIND, TRL__TRANSDUCER_VERSION, &container,
                                   &err) < 0 ||
        trl__transducer_from_container(container, &t, &err) < 0)
        return;
    trl__symbol *symbol = (trl__symbol *)(uintptr_t)t->symbol; /* a copy in memory, which may be written to */
    for (uint32_t i = 0; repair && i < t->symbols; i++)
        symbol[i].hash = trl__symbol_hash(t, &symbol[i]);
    search(t);
    trl_transducer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size, 0);
    uint8_t *copy = size >= 64 ? malloc(size) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    container_repair(copy, size);
    read_all(copy, size, 0);
    read_all(copy, size, 1);
    free(copy);
    return 0;
}
