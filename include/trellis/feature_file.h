/* Feature files: matrices of frames by utterance id, in the formats that speech tools exchange.
 *
 *     trl_feature_reader_open("feats.scp", &reader, &err);
 *     while ((found = trl_feature_reader_next(reader, &id, &frames, &err)) > 0) …
 *     trl_feature_reader_close(reader);
 *
 * A place is a file name whose ending tells the format, or a format and a name:
 *
 *     feats.trf  packed:feats.trf       our packed file: memory-mapped, checksummed, random access
 *     feats.ark  ark:feats.ark          Kaldi archive, binary (ark,t: text when writing; reading recognises both)
 *     feats.scp  scp:feats.scp          Kaldi script: lines `id file:offset`; commands are refused, never run
 *                ark,scp:a.ark,a.scp    both, for writing (ark,t,scp: with the archive as text)
 *     x.htk|.mfc|.plp|.fea htk:PLACE    HTK parameter file, or a folder of them; the id is the file's name
 *     x.npy      npy:DIR                NumPy array of frames x coefficients, or a folder of them, as with HTK
 *     -                                 standard input or output (ark only)
 *
 * Indices: frames (rows) and coefficients (columns) count from 0.
 */
#ifndef TRELLIS_FEATURE_FILE_H
#define TRELLIS_FEATURE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/frontend.h>
#include <trellis/matrix.h>

TRL_BEGIN_DECLS

typedef struct trl_feature_reader trl_feature_reader;
typedef struct trl_feature_writer trl_feature_writer;

/* Returns 0, TRL_EINVAL (a place that tells no format), TRL_ENOENT, TRL_EIO, TRL_EFORMAT, TRL_ECORRUPT,
 * TRL_EUNSUPPORTED, TRL_ENOMEM. */
TRL_API int trl_feature_reader_open(const char *place, trl_feature_reader **out, trl_error *err);
TRL_API void trl_feature_reader_close(trl_feature_reader *reader);

/* The next utterance: 1 with *id (until the next call) and the frames, 0 at the end, negative on error. `frames` is
 * resized, or made to borrow the mapped file (packed): then they are read-only and last until the reader is closed.
 * trl_matrix_free is right in both cases. NaN and infinity are refused with TRL_ENUMBER and the place. */
TRL_API int trl_feature_reader_next(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err);

/* Random access: packed, scp, HTK and NumPy files (else TRL_EUNSUPPORTED): 0, or TRL_ENOENT when there is no such
 * utterance. Thread rule: find and get of a packed file may be called by many threads at once; all else by one. */
TRL_API int trl_feature_reader_find(trl_feature_reader *reader, const char *id, trl_matrix *frames, trl_error *err);

/* Packed only: how many utterances there are, and the i-th (in the order of writing). 0 for other formats. */
TRL_API size_t trl_feature_reader_count(const trl_feature_reader *reader);
TRL_API int trl_feature_reader_get(trl_feature_reader *reader, size_t index, const char **id, trl_matrix *frames,
                                   trl_error *err);

/* Packed only, a hint: the utterances first … end - 1 will be wanted soon, the system may fetch them from the disk
 * meanwhile. */
TRL_API void trl_feature_reader_ahead(const trl_feature_reader *reader, size_t first, size_t end);

/* Packed only: the description stored with the features (see frontend.h) and the provenance; NULL for other formats. */
TRL_API const char *trl_feature_reader_frontend(const trl_feature_reader *reader);
TRL_API const char *trl_feature_reader_provenance(const trl_feature_reader *reader);

/* One matrix in a file of its own, as Kaldi writes transforms: binary or text. The same errors as reading features. */
TRL_API int trl_feature_read_matrix(const char *path, trl_matrix *matrix, trl_error *err);

typedef struct trl_feature_writer_options {
    const char *frontend;   /* description, stored in packed files; NULL: none */
    const char *provenance; /* version, inputs, options that change the result; NULL: none */
    double shift_ms;        /* frame shift, for HTK headers; default 10 */
    int htk_kind;           /* parameter kind with qualifiers, for HTK headers; default 9 (USER) */
} trl_feature_writer_options;

TRL_API trl_feature_writer_options trl_feature_writer_defaults(void);

/* Nothing appears under its name before trl_feature_writer_commit; HTK and NumPy folders are filled file by file. */
TRL_API int trl_feature_writer_open(const char *place, const trl_feature_writer_options *options,
                                    trl_feature_writer **out, trl_error *err);

/* Thread rule: one thread at a time. Refused, and nothing is lost: NaN and infinity (TRL_ENUMBER, with the place), an
 * id that was added before (TRL_EINVAL) or has blanks, control characters or broken UTF-8 (TRL_EFORMAT). After any
 * other error only an end makes sense, and trl_feature_writer_commit will put nothing in place. */
TRL_API int trl_feature_writer_add(trl_feature_writer *writer, const char *id, const trl_matrix *frames,
                                   trl_error *err);

/* The description with what was learnt from the features themselves, in place of the one given at first: with `mean`,
 * of trl_extract_summary, the same front end has it as cmvn_prior, if it is not of a kind that used a prior already.
 * */
TRL_API int trl_feature_writer_learnt(trl_feature_writer *writer, const trl_frontend *frontend,
                                      const trl_static_mean *mean, trl_error *err);

/* Both free the writer. */
TRL_API int trl_feature_writer_commit(trl_feature_writer *writer, trl_error *err);
TRL_API void trl_feature_writer_abort(trl_feature_writer *writer);

TRL_END_DECLS

#endif
