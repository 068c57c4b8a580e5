/* Scores of tied mixtures (model/shared_mixtures.h): every codebook's densities once per frame, then the weights of the
 * tied states that are wanted. */
#ifndef TRL_BACKEND_CPU_SHARED_SCORES_H
#define TRL_BACKEND_CPU_SHARED_SCORES_H

#include "backend/cpu/gmm_kernel.h"

typedef struct trl__shared_gmms trl__shared_gmms; /* packed */

int trl__shared_gmms_create(const trl_model *model, trl__shared_gmms **out, trl_error *err);
void trl__shared_gmms_destroy(trl__shared_gmms *gmms);

/* Checks the frames, which stay where they are. TRL_ENUMBER: a value is not finite or beyond TRL__MOST_VALUE. */
int trl__shared_place(trl__placed *placed, int32_t dim, const trl_matrix *frames, int32_t begin, int32_t end,
                      trl_error *err);

/* Step 1 for a search whose rows were checked. */
int trl__shared_score(const trl__shared_gmms *gmms, trl__scratch *scratch, trl__search *search, trl_error *err);

/* Such models are used, not trained. */
int trl__shared_refuse(trl_error *err);

#endif
