/* Without libfst there is no peer. */
#include "fst_peer.h"

#ifndef BENCH_OPENFST
#include <stdlib.h>

const char *peer_version(void)
{
    return NULL;
}

peer_fst *peer_fst_create(int32_t states, int32_t start)
{
    (void)states;
    (void)start;
    abort();
}

void peer_fst_destroy(peer_fst *fst)
{
    (void)fst;
}

void peer_fst_fill(peer_fst *fst, int32_t state, const peer_arc *arcs, size_t count, float final)
{
    (void)fst, (void)state, (void)arcs, (void)count, (void) final;
    abort();
}

void peer_fst_sort_input(peer_fst *fst)
{
    (void)fst;
    abort();
}

int32_t peer_fst_states(const peer_fst *fst)
{
    (void)fst;
    abort();
}

uint64_t peer_fst_arcs(const peer_fst *fst)
{
    (void)fst;
    abort();
}

double peer_decode(const peer_fst *transducer, const int32_t *labels, size_t count, peer_task task)
{
    (void)transducer, (void)labels, (void)count, (void)task;
    abort();
}

peer_fst *peer_operate(peer_operation operation, const peer_fst *a, const peer_fst *b, void (*begins)(void),
                       double *seconds)
{
    (void)operation, (void)a, (void)b, (void)begins, (void)seconds;
    abort();
}

int peer_equivalent(const peer_fst *a, const peer_fst *b, int paths)
{
    (void)a, (void)b, (void)paths;
    abort();
}
#endif
