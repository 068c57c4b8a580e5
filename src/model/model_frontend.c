#include "model/model_frontend.h"
#include "base/fail.h"
#include "model/silence_mean.h"

int trl_model_read_frontend(const trl_model *model, int is_online, trl_frontend_options *description, trl_error *err)
{
    int code = trl_frontend_preset(description, "mfcc", err);
    description->silence = TRL_SILENCE_FILL; /* of models that don't say */
    if (code == 0)
        code = trl_frontend_parse(description, trl_model_frontend(model), "the model's front end", err);
    if (model->file)
        code = trl__fail_in(err, code, trl__container_path(model->file));
    if (code == 0 && description->silence == TRL_SILENCE_FILL && description->silence_mean.count == 0)
        code = trl__silence_mean(model, description, err);
    if (code < 0 || !is_online)
        return code;
    if (description->silence_mean.count == 0)
        description->silence = TRL_SILENCE_AS_IS;
    if (description->cmvn == TRL_CMVN_UTTERANCE || description->cmvn == TRL_CMVN_SPEAKER) {
        description->cmvn = TRL_CMVN_SLIDING;
        description->cmvn_center = 0;
        description->cmvn_window = TRL__ONLINE_WINDOW;
        description->cmvn_min_window = TRL__ONLINE_LEAST;
        description->cmvn_prior_frames = description->cmvn_prior.count > 0 ? TRL__ONLINE_PRIOR : 0;
    }
    return 0;
}

int trl__model_frontend_make(const trl_model *model, int is_online, trl_frontend_options *description,
                             trl_frontend **out, trl_error *err)
{
    *out = NULL;
    if (trl_model_frontend(model)[0] == '\0')
        return trl__fail(err, TRL_EINVAL,
                         "the model does not say which front end makes its features; give it one with `trellis model "
                         "convert`, or take likelihoods from a file");
    int code = trl_model_read_frontend(model, is_online, description, err);
    if (code == 0)
        code = trl_frontend_create(description, out, err);
    if (code == 0 && trl_frontend_dim(*out) != model->dim)
        return trl__fail(err, TRL_EINVAL, "the model's front end makes frames of %d numbers, but its Gaussians have %d",
                         trl_frontend_dim(*out), (int)model->dim);
    return code;
}
