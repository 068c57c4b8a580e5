/* N-best lists in files: the word strings of a lattice, the best first, with the costs of graph and sound apart.
 *
 *     trl_nbest_writer_open("nbest.jsonl", TRL_NBEST_JSONL, &writer, &err);
 *     trl_nbest_writer_add(writer, id, words, list, &err);              // list: of trl_lattice_nbest
 *     trl_nbest_writer_commit(writer, &err);
 *
 * Thread rule: a writer is used by one thread at a time.
 */
#ifndef TRELLIS_NBEST_FILE_H
#define TRELLIS_NBEST_FILE_H

#include <trellis/lattice.h>

TRL_BEGIN_DECLS

typedef enum trl_nbest_format {
    TRL_NBEST_TEXT, /* a line for each string: id, rank (from 1), graph cost, acoustic cost, words; a tab behind each of the first four, blanks
                       between words. Costs are not scaled, and have four decimals */
    TRL_NBEST_JSONL /* an object per utterance: id, nbest: a list of objects with words, graph_cost, acoustic_cost. trl_transcripts_read
                       takes it for scoring */
} trl_nbest_format;

typedef struct trl_nbest_writer trl_nbest_writer;

/* "-": standard output. The file appears when it is complete. */
TRL_API int trl_nbest_writer_open(const char *path, trl_nbest_format format, trl_nbest_writer **out, trl_error *err);

/* words: names of the labels; NULL: numbers are written. TRL_EINVAL: a label has no name. */
TRL_API int trl_nbest_writer_add(trl_nbest_writer *writer, const char *id, const trl_symbols *words,
                                 const trl_nbest *list, trl_error *err);

/* Both free the writer. */
TRL_API int trl_nbest_writer_commit(trl_nbest_writer *writer, trl_error *err);
TRL_API void trl_nbest_writer_abort(trl_nbest_writer *writer);

TRL_END_DECLS

#endif
