/* NumPy files (NEP 1, version 1.0), written only: magic, uint16 length of the header, a Python dictionary that is
 * padded with blanks so that the data start at a multiple of 64, then float32, little-endian, row by row.
 */
#include "feat/feature_format.h"

#include <stdio.h>
#include <string.h>

#define PREAMBLE 10 /* magic, version, length */

static int write_header(trl_file *file, const trl_matrix *m, trl_error *err)
{
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    int used = snprintf(header + PREAMBLE, sizeof header - PREAMBLE,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", m->rows, m->cols);
    header[PREAMBLE + used] = ' '; /* the NUL */
    header[sizeof header - 1] = '\n';
    header[8] = (char)(sizeof header - PREAMBLE);
    header[9] = 0;
    return trl_file_write(file, header, sizeof header, err);
}

static int encode(trl_file *file, const trl_matrix *m, const trl_feature_writer_options *options, trl_error *err)
{
    (void)options;
    int code = write_header(file, m, err);
    return code < 0 ? code : trl__write_floats(file, m, err);
}

static int npy_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                      trl_error *err)
{
    return trl__file_per_utterance(path, &trl__npy_format, encode, options, out, err);
}

const trl__feature_format trl__npy_format = {.prefix = "npy",
                                             .endings = {".npy"},
                                             .create = npy_create,
                                             .instead = "NumPy files are written, not read; use an archive (.ark)"};
