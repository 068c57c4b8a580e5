/* The best that a lattice could give: the path with the fewest errors.
 *
 *     trl_oracle_path path;
 *     trl_lattice_oracle(lattice, said, count, &path, &err);            // said: labels of the reference's words
 *     printf("%d errors at least\n", (int)trl_errors(path.counts));
 *     trl_oracle_path_free(&path);
 *
 * Thread rule: any number of threads may look at one lattice.
 */
#ifndef TRELLIS_LATTICE_ORACLE_H
#define TRELLIS_LATTICE_ORACLE_H

#include <trellis/lattice.h>
#include <trellis/score.h>

TRL_BEGIN_DECLS

typedef struct trl_oracle_path {
    int32_t *words; /* of the path */
    size_t count;
    trl_counts counts;      /* of one utterance */
    double graph, acoustic; /* costs of the path, unscaled */
} trl_oracle_path;

/* Errors are those of plain edit distance, each counts 1. Of paths with equally few, one is chosen, always the same. A word of the reference that the
 * lattice's table does not have is any label that no word has, such as -1. An empty lattice has the empty path. O(arcs * words of the
 * reference). Returns 0, TRL_ELIMIT (more than 2^31 states times words), TRL_ENOMEM. */
TRL_API int trl_lattice_oracle(const trl_lattice *lattice, const int32_t *said, size_t count, trl_oracle_path *out,
                               trl_error *err);
TRL_API void trl_oracle_path_free(trl_oracle_path *path);

TRL_END_DECLS

#endif
