/* One Kaldi matrix or vector, as it stands in archives and in files of its own. */
#ifndef TRL_FEAT_KALDI_MATRIX_H
#define TRL_FEAT_KALDI_MATRIX_H

#include "base/byte_source.h"

#include <trellis/file.h>
#include <trellis/matrix.h>

/* Reads the matrix that starts here, binary or text; a vector becomes one row. Returns 0, TRL_EFORMAT, TRL_ECORRUPT,
 * TRL_EUNSUPPORTED (another kind of Kaldi object), TRL_ENUMBER, TRL_EIO, TRL_ENOMEM. */
int trl__kaldi_matrix_read(trl__source *source, trl_matrix *out, trl_error *err);

/* Writes float32, binary or text. Kaldi knows no empty matrix with columns: 0 x n is written as 0 x 0. */
int trl__kaldi_matrix_write(trl_file *file, const trl_matrix *matrix, int text, trl_error *err);

/* The same inside a larger object, a model for one: binary data have no mark of their own there. */
int trl__kaldi_matrix_read_inside(trl__source *source, int binary, trl_matrix *out, trl_error *err);
int trl__kaldi_matrix_write_inside(trl_file *file, const trl_matrix *matrix, int text, trl_error *err);
int trl__kaldi_vector_write_inside(trl_file *file, const float *numbers, size_t count, int text, trl_error *err);

#endif
