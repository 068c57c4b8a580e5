/* Log-likelihoods of a corpus from a feature file: a matrix per utterance, a column per tied state.
 *
 *     trl__likelihood_reader_open("likes.ark", corpus, tied_states, &reader, err);
 *     trl__likelihood_reader_find(reader, number, &matrix, err);                 // numbers of utterances must rise
 */
#ifndef TRL_ALIGN_LIKELIHOOD_READER_H
#define TRL_ALIGN_LIKELIHOOD_READER_H

#include <trellis/corpus.h>
#include <trellis/matrix.h>

typedef struct trl__likelihood_reader trl__likelihood_reader;

/* The path and the corpus must outlive the reader. */
int trl__likelihood_reader_open(const char *path, const trl_corpus *corpus, int32_t tied_states,
                                trl__likelihood_reader **out, trl_error *err);
void trl__likelihood_reader_close(trl__likelihood_reader *reader);

/* The utterance's matrix: 1, 0 when the file has none, negative on error. */
int trl__likelihood_reader_find(trl__likelihood_reader *reader, size_t number, trl_matrix *out, trl_error *err);

#endif
