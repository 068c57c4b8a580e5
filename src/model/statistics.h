/* Statistics: what training gathers, whoever gathers it: zero, add frames, add another, write, read.
 *
 * Two forms. trl__stats holds every Gaussian of the model in double: the global sums. trl__local_stats holds only what
 * one block of utterances touched, in order of first touch. Blocks are added to the global sums in the order of the
 * corpus ([000] 3.4), so the result does not depend on who computed which block. Doubles hold 2^53 frames exactly:
 * 100,000 hours are 3.6e10.
 */
#ifndef TRL_MODEL_STATISTICS_H
#define TRL_MODEL_STATISTICS_H

#include "model/model_data.h"

typedef struct trl__totals {
    double frames;         /* that were aligned */
    double log_likelihood; /* of the best paths (Viterbi) or of all paths (Baum-Welch), natural logarithm */
    double joint;          /* of the best paths with the best component in each frame; Viterbi only */
    double utterances;
} trl__totals;

typedef struct trl__stats {
    int32_t dim, transitions;
    int64_t gaussians;
    double *count;      /* gaussians */
    double *sum;        /* gaussians * dim: of o */
    double *square;     /* gaussians * dim: of o * o */
    double *transition; /* transitions + 1, by id */
    trl__totals totals;
} trl__stats;

int trl__stats_create(const trl_model *model, trl__stats **out, trl_error *err); /* all zero */
int trl__stats_create_shape(int32_t dim, int64_t gaussians, int32_t transitions, trl__stats **out, trl_error *err);
void trl__stats_destroy(trl__stats *stats);
void trl__stats_zero(trl__stats *stats);
int trl__stats_add(trl__stats *stats, const trl__stats *other, trl_error *err); /* TRL_EINVAL: another shape */
int trl__stats_write(const trl__stats *stats, const char *path, trl_error *err);
int trl__stats_read(const char *path, trl__stats **out, trl_error *err);
int trl__stats_from_container(trl__container *file, trl__stats **out, trl_error *err); /* closes the container */

/* Frames by tied state: whoever is in a state leaves it by one transition. So a sample of frames (below) does not change them. */
void trl__stats_occupancies(const trl__stats *stats, const trl_model *model, double *count);

/* Statistics of a tied state from about `most` frames are good enough ([001]: 256k). sample[j] becomes the share of the state's frames that
 * makes so many, 1 where there are no more. Returns how many states have more. */
int32_t trl__sample_shares(const double *count, int32_t tied_states, double most, float *sample);

/* A slot is 1 + 2 * dim doubles: count, sums, squares. */
typedef struct trl__local_stats {
    int32_t dim;
    int64_t gaussians;
    int32_t *slot_of;  /* by Gaussian: its slot, or -1 */
    int32_t *gaussian; /* by slot */
    double *slots;
    size_t slot_count, slot_capacity, gaussian_capacity;
    int32_t transitions;
    double *transition; /* by id */
    int32_t *touched;   /* transition ids that are not zero */
    size_t touched_count;
    trl__totals totals;
} trl__local_stats;

int trl__local_stats_create(const trl_model *model, trl__local_stats **out, trl_error *err);
void trl__local_stats_destroy(trl__local_stats *local);
void trl__local_stats_zero(trl__local_stats *local); /* cost: what was touched */

/* The slot of a Gaussian, made when it is new; NULL: out of memory. Valid until the next new one. */
double *trl__local_stats_slot(trl__local_stats *local, int64_t gaussian);
void trl__local_stats_transition(trl__local_stats *local, int32_t id, double count);
void trl__stats_merge(trl__stats *stats, const trl__local_stats *local);

#endif
