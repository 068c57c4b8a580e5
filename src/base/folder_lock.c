#include "base/folder_lock.h"
#include "base/fail.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is the open file still the one of this name? Whoever had it before us may have removed it at his end. */
static int is_there(int fd, const char *name)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && stat(name, &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

static int take(const char *folder, const char *name, const char *what, int *fd, trl_error *err)
{
    for (;;) {
        int code = trl__make_folder(folder, err);
        if (code < 0)
            return code;
        *fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (*fd < 0 && errno == ENOENT)
            continue; /* the folder has just gone */
        if (*fd < 0)
            return trl__fail_errno(err, name, "can't open");
        if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
            return errno == EWOULDBLOCK ? trl__fail(err, TRL_EINVAL, "%s: another process %s just now", folder, what)
                                        : trl__fail_errno(err, name, "can't be locked");
        if (is_there(*fd, name))
            return 0;
        close(*fd);
    }
}

int trl__folder_lock(const char *folder, const char *what, int *fd, trl_error *err)
{
    trl__arena arena = {0};
    char *name = trl__join_path(&arena, folder, TRL__LOCK_NAME);
    *fd = -1;
    int code = name ? take(folder, name, what, fd, err) : trl__fail_memory(err);
    if (code < 0 && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    trl__arena_free(&arena);
    return code;
}
