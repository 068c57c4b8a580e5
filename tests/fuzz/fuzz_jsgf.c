/* Any bytes as a JSGF grammar. What is accepted is a valid acceptor with sorted arcs and without useless states. */
#include "decode/grammar_data.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl_fst *fst;
    trl_error err;
    uint32_t properties;
    uint32_t wanted = TRL_FST_ACCEPTOR | TRL_FST_ISORTED | TRL_FST_ACCESSIBLE | TRL_FST_COACCESSIBLE;
    trl_grammar_options options = {.most_states = 10000};
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0)
        return 0;
    if (trl__grammar_jsgf("fuzz", &text, NULL, &options, &fst, &err) == 0 &&
        (trl_fst_verify(fst, &err) < 0 ||
         (trl_fst_properties(fst, &properties, &err) == 0 && (properties & wanted) != wanted)))
        abort();
    trl_fst_destroy(fst);
    trl__text_free(&text);
    return 0;
}
