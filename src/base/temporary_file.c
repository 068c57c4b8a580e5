#include "base/temporary_file.h"
#include "base/fail.h"

#include <stdlib.h>
#include <unistd.h>

int trl__temporary_file(FILE **out, trl_error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    if (!folder || !*folder)
        folder = "/tmp";
    if (snprintf(path, sizeof path, "%s/trellis-XXXXXX", folder) >= (int)sizeof path)
        return trl__fail(err, TRL_EIO, "TMPDIR is longer than %zu bytes", sizeof path);
    int fd = mkstemp(path);
    if (fd < 0)
        return trl__fail_errno(err, folder, "can't make a temporary file there (TMPDIR chooses the folder)");
    unlink(path);
    *out = fdopen(fd, "w+b");
    if (*out)
        return 0;
    int code = trl__fail_errno(err, folder, "can't use a temporary file there");
    close(fd);
    return code;
}
