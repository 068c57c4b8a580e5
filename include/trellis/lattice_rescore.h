/* Lattices with another language model than they were made with.
 *
 *     trl_lattice_lm_read("small.arpa", words, &old, &err);
 *     trl_lattice_lm_read("big.arpa.gz", words, &new, &err);
 *     trl_lattice_rescore(lattice, old, TRL_BACKOFF_CHEAPEST, -1, &bare, &err);   // takes the old model's costs out …
 *     trl_lattice_rescore(bare, new, TRL_BACKOFF_NEEDED, 1, &rescored, &err);     // … and puts the new one's in
 *
 * Models may be of any order. A word string keeps its one path, its transitions and acoustic cost; its graph cost changes by exactly factor times the
 * model's cost, the negative natural logarithm of the sentence's probability.
 *
 * Thread rule: any number of threads may use one model.
 */
#ifndef TRELLIS_LATTICE_RESCORE_H
#define TRELLIS_LATTICE_RESCORE_H

#include <trellis/lattice.h>

TRL_BEGIN_DECLS

typedef struct trl_lattice_lm trl_lattice_lm;

/* When a history gives way to the shorter one. */
typedef enum trl_backoff {
    TRL_BACKOFF_NEEDED, /* only where the longer n-gram is not there: the model's probabilities, as the ARPA form defines them */
    TRL_BACKOFF_CHEAPEST /* also where it is there and costs more: what a path has in a graph, where back-off arcs are epsilons and the best way
                            counts. So this takes out exactly what trellis graph or Kaldi put in */
} trl_backoff;

/* An ARPA file, packed by gzip or not; `words` is the lattices' table. Returns what trl_fst_read_arpa does. */
TRL_API int trl_lattice_lm_read(const char *path, const trl_symbols *words, trl_lattice_lm **out, trl_error *err);
TRL_API void trl_lattice_lm_destroy(trl_lattice_lm *lm);

/* Words that the model lacks are its <unk>, if it has that. Paths to which the model gives no probability are left out. O(arcs of the result);
 * it has a state for each pair of a lattice's state and a history of the model that meet (a set of histories, where the cheapest way counts). Returns 0, TRL_EINVAL (a word
 * that the model lacks, and no <unk>; no path is left), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_lattice_rescore(const trl_lattice *lattice, const trl_lattice_lm *lm, trl_backoff backoff,
                                double factor, trl_lattice **out, trl_error *err);

TRL_END_DECLS

#endif
