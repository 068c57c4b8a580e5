/* The best that a lattice could give: the path with the fewest errors.
 *
 *     trl_oracle_path path;
 *     trl_oracle_words_create(table, TRL_LETTERS_ASCII, &words, &err);
 *     trl_oracle_words_find(words, "zero", &said[0], &err);             // ZERO, if that is what the table has
 *     trl_lattice_oracle(lattice, words, said, count, &path, &err);
 *     printf("%d errors at least\n", (int)trl_errors(path.counts));
 *     trl_oracle_path_free(&path);
 *
 * Thread rule: any number of threads may look at one lattice.
 */
#ifndef TRELLIS_LATTICE_ORACLE_H
#define TRELLIS_LATTICE_ORACLE_H

#include <trellis/lattice.h>
#include <trellis/score.h>
#include <trellis/symbols.h>

TRL_BEGIN_DECLS

/* Which labels are the same word. */
typedef struct trl_oracle_words trl_oracle_words;

/* Words of the table that differ only in letters which are the same (a trl_letters; usual: ASCII) are the same word.
 * The table may be destroyed before the words are. Returns 0, TRL_EINVAL, TRL_ELIMIT (a label above 2^28),
 * TRL_ENOMEM. */
TRL_API int trl_oracle_words_create(const trl_symbols *symbols, int letters, trl_oracle_words **out, trl_error *err);
TRL_API void trl_oracle_words_destroy(trl_oracle_words *words);

/* The label that stands for all labels of the word; -1: the table does not have it. Returns 0 or TRL_ENOMEM. */
TRL_API int trl_oracle_words_find(const trl_oracle_words *words, const char *word, int32_t *label, trl_error *err);

typedef struct trl_oracle_path {
    int32_t *words; /* of the path */
    size_t count;
    trl_counts counts;      /* of one utterance */
    double graph, acoustic; /* costs of the path, unscaled */
} trl_oracle_path;

/* Errors are those of plain edit distance, each counts 1. Of paths with equally few, one is chosen, always the same.
 * `said` are labels as trl_oracle_words_find gives them; with words NULL each label is a word of its own, and -1 one
 * that no lattice has. An empty lattice has the empty path. O(arcs * words of the reference). Returns 0, TRL_ELIMIT
 * (more than 2^31 states times words), TRL_ENOMEM. */
TRL_API int trl_lattice_oracle(const trl_lattice *lattice, const trl_oracle_words *words, const int32_t *said,
                               size_t count, trl_oracle_path *out, trl_error *err);
TRL_API void trl_oracle_path_free(trl_oracle_path *path);

TRL_END_DECLS

#endif
