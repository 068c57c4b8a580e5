/* The table of an encoding: what encode.c fills and codes_file.c stores. */
#ifndef TRL_FST_CODES_DATA_H
#define TRL_FST_CODES_DATA_H

#include "base/tuple_table.h"

#include <trellis/fst_structure.h>

struct trl_fst_codes {
    int what;
    int in_use;
    trl_semiring semiring; /* of the machines that were encoded */
    trl__tuples table; /* (input label, output label, the weight's two words); label n is tuple n - 1; an end has -1 */
    trl_symbols *isymbols, *osymbols;
};

#endif
