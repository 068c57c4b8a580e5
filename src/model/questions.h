/* Questions for trees: sets of units, and the positions of the window that each may be asked about.
 *
 *     trl__questions_from_stats(model, stats, &questions, err);        // bottom-up clustering of the units
 *     trl__questions_read("questions.txt", model, 3, 1, &questions, findings, err);      // HTK's QS or Kaldi's sets
 */
#ifndef TRL_MODEL_QUESTIONS_H
#define TRL_MODEL_QUESTIONS_H

#include "model/context_stats.h"
#include "model/model_data.h"

typedef struct trl__questions {
    trl__unit_sets sets;
    uint32_t *positions; /* by set: bit p for position p */
} trl__questions;

/* Units that are acoustically alike, at every level of likeness: those with the least loss of likelihood are joined first, by their sums
 * over all contexts, and every set on the way to the root is a question. With word positions the places of a phone count as one in this, and
 * four questions about the place are added. TRL__NOTHING goes with silence. */
int trl__questions_from_stats(const trl_model *model, const trl__context_stats *stats, trl__questions **out,
                              trl_error *err);

/* HTK: QS "L_Nasal" { "m-*","n-*" } (left), "*+m" (right), "*-m+*" (centre), quinphone patterns "a^*", "*=a"; Kaldi: a line of units per set, asked
 * at every position. Units that the model lacks are left out and named in *unknown (may be NULL: not wanted; freed by trl__free), a question without any
 * known unit is dropped. A unit without its place stands for all four. TRL_EFORMAT says the line. */
int trl__questions_read(const char *path, const trl_model *model, int32_t width, int32_t centre, trl__questions **out,
                        char **unknown, trl_error *err);
void trl__questions_destroy(trl__questions *questions);

#endif
