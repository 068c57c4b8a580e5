/* Questions for trees: sets of units, and the positions of the window that each may be asked about.
 *
 *     trl__questions_from_stats(model, stats, &questions, err);        // bottom-up clustering of the units
 *     trl__questions_read("questions.txt", model, 3, 1, &questions, &unknown, err);     // HTK's QS or Kaldi's sets
 */
#ifndef TRL_MODEL_QUESTIONS_H
#define TRL_MODEL_QUESTIONS_H

#include "base/text_file.h"
#include "model/context_stats.h"
#include "model/model_data.h"

typedef struct trl__questions {
    trl__unit_sets sets;
    uint32_t *positions; /* by set: bit p for position p */
} trl__questions;

/* Units that are acoustically alike, at every level of likeness: those with the least loss of likelihood are joined
 * first, by their sums over all contexts of the middle state, and every set on the way to the root is a question, each
 * unit alone too. Silence and noise are joined with each other, and with phones only at the root. Phones without frames
 * join last. With word positions the places of a phone count as one in this, and four questions about the place are
 * added. TRL__NOTHING goes with silence. */
int trl__questions_from_stats(const trl_model *model, const trl__context_stats *stats, trl__questions **out,
                              trl_error *err);

/* HTK: QS "L_Nasal" { "m-*","n-*" } (left), "*+m" (right), "*-m+*" (centre), quinphone patterns "a^*", "*=a"; other
 * commands of HHEd are passed over. Kaldi: a line of units per set, asked at every position. Units that the model lacks
 * are left out and named in *unknown, with blanks between them (NULL: there is none; `unknown` may be NULL: not wanted;
 * freed by trl__free). A question without any known unit, about all units or about a position outside the window is
 * dropped. A unit without its place stands for all four; a set with silence has TRL__NOTHING too. TRL_EFORMAT says the
 * line. */
int trl__questions_read(const char *path, const trl_model *model, int32_t width, int32_t centre, trl__questions **out,
                        char **unknown, trl_error *err);
/* The same from a text; `name` stands for the file in messages. */
int trl__questions_parse(const char *name, trl__text *text, const trl_model *model, int32_t width, int32_t centre,
                         trl__questions **out, char **unknown, trl_error *err);
void trl__questions_destroy(trl__questions *questions);

/* For those who make questions: an empty list, and a question more. One that is there already is asked at more
 * positions; one that all or none would answer with yes is left out. name NULL: the names of its units, shortened where
 * they are many. */
int trl__questions_create(const trl_model *model, trl__questions **out, trl_error *err);
int trl__questions_add(trl__questions *questions, const trl_model *model, const char *name, uint64_t *bits,
                       uint32_t positions, trl_error *err);

/* The name's length without the unit's place in the word, where the model has such places. */
size_t trl__unit_base(const trl_model *model, int32_t unit);

static inline void trl__unit_bits_set(uint64_t *bits, int32_t unit)
{
    bits[unit / 64] |= (uint64_t)1 << unit % 64;
}

static inline int trl__unit_bits_has(const uint64_t *bits, int32_t unit)
{
    return (int)(bits[unit / 64] >> unit % 64 & 1);
}

#endif
