/* Log-likelihoods of frames: what a model's mixtures give, for every tied state.
 *
 *     trl_likelihoods(model, NULL, &frames, &scores, &err);               // scores: a row per frame, a column per tied state
 *
 * Of many utterances, one after the other, on a device that is opened once:
 *
 *     trl_likelihood_maker_create(model, "opencl:0", &maker, &err);
 *     while (…)
 *         trl_likelihood_maker_run(maker, &frames, &scores, &err);
 *     trl_likelihood_maker_destroy(maker);
 *
 * Alignment and recognition compute them as they go; this is for those who want to look at them, mix them with others, or
 * hand them to another program. Natural logarithms of densities, so they may be positive.
 */
#ifndef TRELLIS_LIKELIHOOD_H
#define TRELLIS_LIKELIHOOD_H

#include <trellis/error.h>
#include <trellis/matrix.h>
#include <trellis/model.h>

TRL_BEGIN_DECLS

/* `device` as in align.h; NULL: the processor. `out` is resized. Returns 0, TRL_EINVAL (frames of another dimension, no such device),
 * TRL_ENUMBER (a value is not finite), TRL_ENOMEM. Thread rule: several threads may do this with one model. */
TRL_API int trl_likelihoods(const trl_model *model, const char *device, const trl_matrix *frames, trl_matrix *out,
                            trl_error *err);

typedef struct trl_likelihood_maker trl_likelihood_maker;

/* Opens the device and loads the model, which must live as long as the maker; *out is the caller's. Returns 0, TRL_EINVAL, TRL_EDEVICE,
 * TRL_EUNSUPPORTED (the device does not take such models), TRL_ENOMEM. */
TRL_API int trl_likelihood_maker_create(const trl_model *model, const char *device, trl_likelihood_maker **out,
                                        trl_error *err);
/* As trl_likelihoods. Thread rule: one thread at a time. */
TRL_API int trl_likelihood_maker_run(trl_likelihood_maker *maker, const trl_matrix *frames, trl_matrix *out,
                                     trl_error *err);
TRL_API void trl_likelihood_maker_destroy(trl_likelihood_maker *maker); /* NULL is fine */

TRL_END_DECLS

#endif
