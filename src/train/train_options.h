/* Options of a training as text. */
#ifndef TRL_TRAIN_TRAIN_OPTIONS_H
#define TRL_TRAIN_TRAIN_OPTIONS_H

#include <trellis/train.h>

/* What changes the result, a line each: for the fingerprint and the model's provenance. Freed by trl__free; NULL: out of memory. */
char *trl__train_options_print(const trl_train_options *options);

#endif
