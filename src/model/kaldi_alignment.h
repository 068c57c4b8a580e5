/* Kaldi archives of integers by utterance: alignments, as transition-ids, pdf-ids or phones for each frame.
 *
 *     binary   id, a blank, NUL B, then the count and the numbers, each an int32 behind a byte 4
 *     text     id and the numbers, separated by blanks; a line per utterance
 */
#ifndef TRL_MODEL_KALDI_ALIGNMENT_H
#define TRL_MODEL_KALDI_ALIGNMENT_H

#include "base/byte_source.h"

#include <trellis/error.h>

typedef struct trl__int_ark_writer trl__int_ark_writer;

/* `scp`, where it is not NULL, is a script written along: a line `id ark:offset` for each. */
int trl__int_ark_create(const char *ark, const char *scp, int text, trl__int_ark_writer **out, trl_error *err);
int trl__int_ark_add(trl__int_ark_writer *writer, const char *id, const int32_t *numbers, size_t count, trl_error *err);

/* Both free the writer. Nothing appears under its name before the commit. */
int trl__int_ark_commit(trl__int_ark_writer *writer, trl_error *err);
void trl__int_ark_abort(trl__int_ark_writer *writer);

typedef struct trl__int_ark_reader trl__int_ark_reader;

int trl__int_ark_open(const char *ark, trl__int_ark_reader **out, trl_error *err);
int trl__int_ark_from_source(trl__source *source, trl__int_ark_reader **out, trl_error *err); /* takes it over */

/* 1 with *id and *numbers, until the next call; 0 at the end; or an error. Binary and text may be mixed. */
int trl__int_ark_next(trl__int_ark_reader *reader, const char **id, const int32_t **numbers, size_t *count,
                      trl_error *err);
void trl__int_ark_close(trl__int_ark_reader *reader);

#endif
