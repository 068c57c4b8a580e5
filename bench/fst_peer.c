/* Without libfst there is no peer; with it, openfst_peer.cc has this function. */
#include "fst_peer.h"

#ifndef BENCH_OPENFST
const peer_functions *openfst(void)
{
    return NULL;
}
#endif
