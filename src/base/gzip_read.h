/* Reading what may be gzip's: zlib's errors in our words, and an end to files that unpack to far more than they are. */
#ifndef TRL_BASE_GZIP_READ_H
#define TRL_BASE_GZIP_READ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <trellis/error.h>

/* Up to `size` bytes from a gzFile: how many came, 0 at the end, or an error: TRL_EIO, TRL_ENOMEM, TRL_ECORRUPT;
 * TRL_ELIMIT when more than TRL__GZIP_FREE bytes and TRL__GZIP_RATIO times what was packed have come. *unpacked
 * counts them, from 0. A pipe does not say how much it had packed. */
ssize_t trl__gzip_read(void *file, const char *name, void *bytes, size_t size, uint64_t *unpacked, trl_error *err);

/* Texts of people are packed to a fifth, tables of numbers and lattices to a twentieth, the same line over and over
 * to a three-hundredth; gzip's limit is a thousandth. */
#define TRL__GZIP_RATIO 200
#define TRL__GZIP_FREE ((uint64_t)32 << 20)

#endif
