/* The static coefficients of a model's silence. */
#ifndef TRL_MODEL_SILENCE_MEAN_H
#define TRL_MODEL_SILENCE_MEAN_H

#include "model/model_data.h"

#include <trellis/frontend.h>

/* Fills options->silence_mean with what an unchanging sound has behind CMVN whose frames are nearest to the means of
 * the model's silence, as the front end makes frames. Left empty where the model has no unit of silence or the front
 * end more coefficients than a mean can hold. */
int trl__silence_mean(const trl_model *model, trl_frontend_options *options, trl_error *err);

#endif
