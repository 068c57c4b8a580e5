/* placeholder */
#include "base/fail.h"
#include "transduce/search.h"
int trl__prefix(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result, trl_error *err)
{
    return operation == TRL_TRANSDUCE_VITERBI ? trl__best_path(w, result, err) : trl__path_sums(w, operation, result, err);
}
