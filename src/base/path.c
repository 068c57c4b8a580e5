#include "base/path.h"
#include "base/fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *trl__base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *trl__extension(const char *path)
{
    const char *base = trl__base_name(path), *dot = strrchr(base, '.');
    return dot && dot != base ? dot : base + strlen(base);
}

char *trl__join_path(trl__arena *arena, const char *folder, const char *name)
{
    if (name[0] == '/')
        return trl__arena_copy(arena, name, strlen(name));
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = trl__arena_alloc(arena, size);
    if (path)
        snprintf(path, size, "%s%s%s", folder, folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    return path;
}

char *trl__path_beside(const char *file, const char *name)
{
    size_t folder = name[0] == '/' ? 0 : (size_t)(trl__base_name(file) - file), length = strlen(name);
    char *path = trl__alloc(folder + length + 1, 1);
    if (path) {
        memcpy(path, file, folder);
        memcpy(path + folder, name, length + 1);
    }
    return path;
}

int trl__name_fits(const char *name, const char *form)
{
    for (; *form; form++) {
        size_t digits = *form == '#' ? strspn(name, "0123456789") : *form == '@' ? strspn(name, "0123456789abcdef") : 1;
        if (*form == '#' ? digits == 0 : *form == '@' ? digits < 16 : *name != *form)
            return 0;
        name += *form == '@' ? 16 : digits;
    }
    return *name == '\0';
}

int trl__make_folder(const char *path, trl_error *err)
{
    struct stat status;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
        return 0;
    return trl__fail_errno(err, path, "can't make this folder");
}

int trl__check_plain(const char *path, trl_error *err)
{
    struct stat status;
    if (strcmp(path, "-") == 0 || stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return 0;
    if (S_ISDIR(status.st_mode))
        return trl__fail(err, TRL_ENOENT, "%s: a folder, not a file", path);
    return trl__fail(err, TRL_EFORMAT, "%s: not a regular file: a pipe or device might never end; save it as a file",
                     path);
}
