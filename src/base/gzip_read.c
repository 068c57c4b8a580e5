#include "base/gzip_read.h"
#include "base/fail.h"

#include <inttypes.h>
#include <zlib.h>

#define AT_A_TIME ((size_t)1 << 20) /* so that the limit is seen in time */

/* The place is the one in the packed file, where it is known: a pipe has none. */
static int fail_damaged(gzFile file, const char *name, trl_error *err, const char *what)
{
    z_off_t offset = gzoffset(file);
    return offset < 0 ? trl__fail_line(err, TRL_ECORRUPT, name, 0, "%s", what)
                      : trl__fail_byte(err, TRL_ECORRUPT, name, (uint64_t)offset, "%s", what);
}

static int check_ratio(gzFile file, const char *name, uint64_t unpacked, trl_error *err)
{
    z_off_t packed = unpacked > TRL__GZIP_FREE && !gzdirect(file) ? gzoffset(file) : -1;
    if (packed < 0 || unpacked / TRL__GZIP_RATIO <= (uint64_t)packed)
        return 0;
    return trl__fail(err, TRL_ELIMIT,
                     "%s: the first %" PRId64 " bytes of gzip data unpack to more than %" PRIu64
                     " MiB; unpack the file (gunzip) if that is what it should be",
                     name, (int64_t)packed, unpacked >> 20);
}

ssize_t trl__gzip_read(void *file, const char *name, void *bytes, size_t size, uint64_t *unpacked, trl_error *err)
{
    int got = gzread(file, bytes, (unsigned)(size < AT_A_TIME ? size : AT_A_TIME)), zlib_code = Z_OK;
    gzerror(file, &zlib_code);
    if (got < 0 && zlib_code == Z_ERRNO)
        return trl__fail_errno(err, name, "reading failed");
    if (got < 0 && zlib_code == Z_MEM_ERROR)
        return trl__fail_memory(err);
    if (got < 0)
        return fail_damaged(file, name, err, "the gzip data is damaged");
    if (got == 0 && zlib_code == Z_BUF_ERROR)
        return fail_damaged(file, name, err, "the gzip data ends too early");
    *unpacked += (uint64_t)got;
    int code = check_ratio(file, name, *unpacked, err);
    return code < 0 ? code : got;
}
