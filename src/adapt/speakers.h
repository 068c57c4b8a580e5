/* The transforms of speakers, by name: what speaker-adaptive training estimates, and writes to its checkpoints.
 *
 *     trl__transforms_create(39, &transforms, err);
 *     trl__transforms_set(transforms, "anna", &transform, err);            // a copy; replaces an earlier one
 *     const trl_matrix *t = trl__transforms_get(transforms, "anna");       // NULL: none
 *     trl__transforms_write(transforms, path, err);
 *
 * Indices: speakers are numbered from 0 in the order in which they came, in memory and in the file.
 * Thread rule: any number of threads may get while nobody sets.
 */
#ifndef TRL_ADAPT_SPEAKERS_H
#define TRL_ADAPT_SPEAKERS_H

#include "base/container.h"
#include "base/string_table.h"

#include <trellis/matrix.h>

typedef struct trl__transforms {
    int32_t dim;
    trl__strings names;
    trl_matrix *matrix; /* by name: dim x (dim + 1), without gaps */
    size_t capacity;
} trl__transforms;

int trl__transforms_create(int32_t dim, trl__transforms **out, trl_error *err);
void trl__transforms_destroy(trl__transforms *transforms);

/* TRL_EINVAL: another shape; TRL_ENUMBER: a number that is not finite. */
int trl__transforms_set(trl__transforms *transforms, const char *speaker, const trl_matrix *transform, trl_error *err);

/* Valid until the next set. */
const trl_matrix *trl__transforms_get(const trl__transforms *transforms, const char *speaker);

int trl__transforms_write(const trl__transforms *transforms, const char *path, trl_error *err);
int trl__transforms_read(const char *path, trl__transforms **out, trl_error *err);
int trl__transforms_from_container(trl__container *file, trl__transforms **out, trl_error *err); /* closes it */

#endif
