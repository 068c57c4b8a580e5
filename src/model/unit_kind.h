/* What a unit is, by its name: models of other programs say no more. */
#ifndef TRL_MODEL_UNIT_KIND_H
#define TRL_MODEL_UNIT_KIND_H

#include "model/model_data.h"

/* Silence: sil, ssil, silence, sp, pau, pause, h#, #h, <sil>, !SIL. Noise: spn, nsn, noise, gbg, garbage, <unk>, <spn>.
 * In any case, and with Kaldi's word positions (SIL_B). Everything else is a phone. */
trl_unit_kind trl__unit_kind_of_name(const char *name);

/* Sets word_positions: do the phones come in fours NAME_B, NAME_I, NAME_E, NAME_S? Needs units and kinds. */
int trl__find_word_positions(trl_model *model, trl_error *err);

#endif
