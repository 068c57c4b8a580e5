/* Options of a training as text. */
#ifndef TRL_TRAIN_TRAIN_OPTIONS_H
#define TRL_TRAIN_TRAIN_OPTIONS_H

#include <trellis/train.h>

/* What changes the result, a line each: for the fingerprint and the model's provenance. Freed by trl__free; NULL: out of memory. */
char *trl__train_options_print(const trl_train_options *options);

#define TRL__POSITIONS_BY_STAGES (-1)

/* Of the model that a flat start begins with. Phones in context gain by knowing their place in the word, so they do unless the options
 * or the names of the lexicon's phones say otherwise. */
trl_model_options trl__train_model_options(const trl_train_options *options, const trl_lexicon *lexicon);

#endif
