/* What a unit is, by its name: models of other programs say no more. */
#ifndef TRL_MODEL_UNIT_KIND_H
#define TRL_MODEL_UNIT_KIND_H

#include "model/model_data.h"

/* Silence: sil, ssil, silence, sp, pau, pause, h#, #h, <sil>, !SIL. Noise: spn, nsn, noise, gbg, garbage, <unk>, <spn>,
 * +spn+, +nsn+. In any case, and with Kaldi's word positions (SIL_B). Everything else is a phone. */
trl_unit_kind trl__unit_kind_of_name(const char *name);

/* The unit that stands for a word of unknown pronunciation: of the noises the first whose name says that it is speech
 * (spn, <unk>, garbage …), else the first of all; -1: the model has no noise. */
int32_t trl__spoken_noise_unit(const trl_model *model);

/* Sets word_positions: do the phones come in fours NAME_B, NAME_I, NAME_E, NAME_S? Needs units and kinds. */
int trl__find_word_positions(trl_model *model, trl_error *err);

#endif
