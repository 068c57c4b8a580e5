#include "base/installed.h"

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

const char *trl__installed(trl__arena *arena, const char *name, trl__installed_part part)
{
    const char *found = name, *lists[2] = {getenv("TRELLIS_MODELS"), FOLDERS};
    if (!*name || strchr(name, '/') || access(name, F_OK) == 0 || strcmp(name, "-") == 0)
        return name;
    for (int i = 0; i < 2; i++)
        for (const char *folder = lists[i]; folder && *folder && found == name;) {
            size_t length = strcspn(folder, ":");
            if (length > 0)
                found = look_in(arena, folder, length, name, part);
            folder += length + (folder[length] == ':');
        }
    return found;
}
