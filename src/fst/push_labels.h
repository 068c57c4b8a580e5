/* Output labels as near to the start, or the ends, as they can be; with `remove_affix`, what all outputs begin (end)
 * with is taken away. */
#ifndef TRL_FST_PUSH_LABELS_H
#define TRL_FST_PUSH_LABELS_H

#include "fst/fst_data.h"

int trl__fst_push_labels(trl_fst *fst, int to_final, int remove_affix, trl_error *err);

#endif
