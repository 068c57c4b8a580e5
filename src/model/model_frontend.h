/* The front end that a model's frames come from. */
#ifndef TRL_MODEL_MODEL_FRONTEND_H
#define TRL_MODEL_MODEL_FRONTEND_H

#include <trellis/frontend.h>
#include <trellis/model.h>

#define TRL__ONLINE_WINDOW 600 /* frames */
#define TRL__ONLINE_LEAST 100
#define TRL__ONLINE_PRIOR 100 /* so many frames of the mean of training, where the model has it */

/* As trl_model_read_frontend, and the front end itself. TRL_EINVAL: the model does not say, or its frames are not
 * those of the model's Gaussians. */
int trl__model_frontend_make(const trl_model *model, int is_online, trl_frontend_options *description,
                             trl_frontend **out, trl_error *err);

#endif
