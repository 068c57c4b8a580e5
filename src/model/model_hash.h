/* Is it the same model? A hash of all that alignment and recognition depend on. */
#ifndef TRL_MODEL_MODEL_HASH_H
#define TRL_MODEL_MODEL_HASH_H

#include "model/model_data.h"

uint64_t trl__model_hash(const trl_model *model);

#endif
