/* The front end that a model's frames come from. */
#ifndef TRL_MODEL_MODEL_FRONTEND_H
#define TRL_MODEL_MODEL_FRONTEND_H

#include <trellis/frontend.h>
#include <trellis/model.h>

/* Fills the description, whose transform the caller frees. With `is_online`, normalisation over an utterance or a speaker becomes one over a window that
 * slides along: over the last TRL__ONLINE_WINDOW frames, at the beginning over the first TRL__ONLINE_LEAST. TRL_EINVAL: the model does not say. */
int trl__model_frontend_read(const trl_model *model, int is_online, trl_frontend_options *description, trl_error *err);

#define TRL__ONLINE_WINDOW 600 /* frames */
#define TRL__ONLINE_LEAST 100

/* The same, and the front end itself. TRL_EINVAL, too: its frames are not those of the model's Gaussians. */
int trl__model_frontend_make(const trl_model *model, int is_online, trl_frontend_options *description,
                             trl_frontend **out, trl_error *err);

#endif
