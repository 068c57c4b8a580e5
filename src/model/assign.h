/* Which Gaussian of its tied state fits a frame best: for statistics that are gathered along a path after the search.
 *
 *     trl__assigner_create(model, &assigner, err);                          // shared by threads; the model must not change
 *     trl__assign(assigner, &frames, tied, gaussian);                       // by frame; tied -1 gives -1
 */
#ifndef TRL_MODEL_ASSIGN_H
#define TRL_MODEL_ASSIGN_H

#include "model/model_data.h"

#include <trellis/matrix.h>

typedef struct trl__assigner trl__assigner;

int trl__assigner_create(const trl_model *model, trl__assigner **out, trl_error *err);
void trl__assigner_destroy(trl__assigner *assigner);
void trl__assign(const trl__assigner *assigner, const trl_matrix *frames, const int32_t *tied, int32_t *gaussian);

#endif
