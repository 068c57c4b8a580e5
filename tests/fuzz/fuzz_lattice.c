/* Any bytes as a Kaldi archive of lattices, read to the end or to the first error. What is accepted has arcs that lead to
 * higher states at their times, and is a valid machine. */
#include "decode/lattice_source.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const trl_lattice *lattice)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    trl_error err;
    trl_fst *fst;
    for (int32_t s = 0; s < l.states; s++)
        for (uint32_t a = l.first[s]; a < l.first[s + 1]; a++)
            if (l.arcs[a].next <= s || l.arcs[a].next >= l.states ||
                l.time[l.arcs[a].next] != l.time[s] + (int32_t)l.arcs[a].duration)
                abort();
    if (trl_lattice_to_fst(lattice, NULL, &fst, &err) < 0 || trl_fst_verify(fst, &err) < 0)
        abort();
    trl_fst_destroy(fst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_lattice_reader *reader;
    trl_lattice *lattice;
    trl_error err;
    const char *id;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0 ||
        trl__lattice_reader_from_source(&source, NULL, &reader, &err) < 0)
        return 0;
    while (trl_lattice_reader_next(reader, &id, &lattice, &err) > 0) {
        check(lattice);
        trl_lattice_destroy(lattice);
    }
    trl_lattice_reader_close(reader);
    return 0;
}
