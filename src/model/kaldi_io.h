/* Kaldi's objects piece by piece: tokens, numbers, vectors, matrices, in binary or text.
 *
 * Binary: a token is its text and a blank; a number is a byte that gives its size and its bytes, little-endian; a
 * vector of integers is the size of one, their count and the numbers. Text: everything separated by blanks.
 */
#ifndef TRL_MODEL_KALDI_IO_H
#define TRL_MODEL_KALDI_IO_H

#include "base/byte_source.h"

#include <trellis/file.h>
#include <trellis/matrix.h>

/* ---- Reading ---- */

#define TRL__KALDI_TOKEN 64

typedef struct trl__kaldi_in {
    trl__source *source;
    int binary;
    trl_error *err;
} trl__kaldi_in;

/* Looks for the mark of binary data, NUL and B. */
int trl__kaldi_begin(trl__kaldi_in *in, trl__source *source, trl_error *err);

int trl__kaldi_token(trl__kaldi_in *in, char token[TRL__KALDI_TOKEN]);
int trl__kaldi_expect(trl__kaldi_in *in, const char *token); /* TRL_EFORMAT: another one */
int trl__kaldi_int(trl__kaldi_in *in, int32_t *out);
int trl__kaldi_unsigned(trl__kaldi_in *in, uint32_t *out);
int trl__kaldi_float(trl__kaldi_in *in, float *out);

/* In text between brackets. *numbers is the caller's to free. */
int trl__kaldi_ints(trl__kaldi_in *in, int32_t **numbers, size_t *count);

/* A vector becomes one row. */
int trl__kaldi_matrix(trl__kaldi_in *in, trl_matrix *out);

/* Nothing but blanks may follow. */
int trl__kaldi_end(trl__kaldi_in *in);

/* ---- Writing: after a failure nothing more is written ---- */

typedef struct trl__kaldi_out {
    trl_file *file;
    int text;
    int code;
    trl_error *err;
} trl__kaldi_out;

void trl__kaldi_put_mark(trl__kaldi_out *out); /* of binary data */
void trl__kaldi_put_token(trl__kaldi_out *out, const char *token);
void trl__kaldi_put_int(trl__kaldi_out *out, int32_t value);
void trl__kaldi_put_unsigned(trl__kaldi_out *out, uint32_t value);
void trl__kaldi_put_float(trl__kaldi_out *out, float value);
void trl__kaldi_put_ints(trl__kaldi_out *out, const int32_t *numbers, size_t count);
void trl__kaldi_put_vector(trl__kaldi_out *out, const float *numbers, size_t count);
void trl__kaldi_put_matrix(trl__kaldi_out *out, const float *numbers, size_t rows, size_t cols);
void trl__kaldi_put_line_end(trl__kaldi_out *out); /* in text */

#endif
