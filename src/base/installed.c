#include "base/installed.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDERS "/usr/local/share/pocketsphinx/model:/usr/share/pocketsphinx/model"

/* What may be below a folder of models; %s is the name. The first is looked for, the second is the part's path. */
static const char *const places[3][4][2] = {
    {{"%s/%s/mdef", "%s/%s"}, {"%s/mdef", "%s"}, {"%s.trm", "%s.trm"}, {NULL, NULL}},
    {{"%s/cmudict-%s.dict", "%s/cmudict-%s.dict"}, {"%s/%s.dict", "%s/%s.dict"}, {"%s.dict", "%s.dict"}, {NULL, NULL}},
    {{"%s/%s.lm.bin", "%s/%s.lm.bin"}, {"%s/%s.lm", "%s/%s.lm"}, {"%s.lm.bin", "%s.lm.bin"}, {NULL, NULL}},
};

/* folder/pattern with the name for each %s. */
static char *fill_in(trl__arena *arena, const char *folder, size_t length, const char *pattern, const char *name)
{
    size_t size = length + strlen(pattern) + 2 * strlen(name) + 2, used;
    char *path = trl__arena_alloc(arena, size);
    if (!path)
        return NULL;
    used = (size_t)snprintf(path, size, "%.*s/", (int)length, folder);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 's') {
            used += (size_t)snprintf(path + used, size - used, "%s", name);
            pattern++;
        } else {
            path[used++] = *pattern;
        }
    }
    path[used] = '\0';
    return path;
}

/* In one folder: the path, `name` where it is not there, NULL. */
static const char *look_in(trl__arena *arena, const char *folder, size_t length, const char *name,
                           trl__installed_part part)
{
    for (int i = 0; places[part][i][0]; i++) {
        const char *there = fill_in(arena, folder, length, places[part][i][0], name);
        if (!there)
            return NULL;
        if (access(there, R_OK) == 0)
            return fill_in(arena, folder, length, places[part][i][1], name);
    }
    return name;
}

static int is_path(const char *name)
{
    return !*name || strchr(name, '/') || access(name, F_OK) == 0 || strcmp(name, "-") == 0;
}

static int fail(const char *name, trl__installed_part part, trl_error *err)
{
    static const char *const what[] = {"model", "dictionary", "language model"};
    const char *folders = getenv("TRELLIS_MODELS");
    return trl__fail(err, TRL_ENOENT,
                     "%s: there is no such file, and no %s of this name is installed: Debian's package "
                     "pocketsphinx-en-us has en-us, others are looked for in the folders of TRELLIS_MODELS (%.300s)",
                     name, what[part], folders && *folders ? folders : "not set");
}

int trl__installed(trl__arena *arena, const char *name, trl__installed_part part, const char **path, trl_error *err)
{
    const char *lists[2] = {getenv("TRELLIS_MODELS"), FOLDERS};
    *path = name;
    if (is_path(name))
        return 0;
    for (int i = 0; i < 2; i++)
        for (const char *folder = lists[i]; folder && *folder && *path == name;) {
            size_t length = strcspn(folder, ":");
            if (length > 0 && !(*path = look_in(arena, folder, length, name, part)))
                return trl__fail_memory(err);
            folder += length + (folder[length] == ':');
        }
    return *path == name && !strchr(name, '.') ? fail(name, part, err)
                                               : 0; /* lexicon.txt is a file, whose reader says more */
}
