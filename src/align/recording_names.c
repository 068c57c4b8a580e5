#include "align/recording_names.h"
#include "base/fail.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 200              /* bytes, of the 255 that file systems allow: endings and numbers need some */
#define NAME_SIZE (LONGEST + 32) /* with a number */

int trl__is_whole(const trl_utterance *u)
{
    return u->start == 0 && u->end < 0 && u->channel < 0;
}

/* The first LONGEST bytes at most, whole characters, none of which has a meaning in a path. */
static void make_safe(const char *text, size_t length, char name[NAME_SIZE])
{
    if (length > LONGEST)
        for (length = LONGEST; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;)
            length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        name[i] = c == '/' ? '-' : c <= ' ' || c == 0x7F || (i == 0 && c == '.') ? '_' : text[i];
    }
    name[length] = '\0';
    if (length == 0)
        strcpy(name, "_");
}

/* The sound file's name without its ending; with_folder: from its folder's name on. */
static void name_of_file(const char *path, int with_folder, char name[NAME_SIZE])
{
    const char *start = trl__base_name(path), *end = trl__extension(path);
    if (with_folder && start > path)
        for (start--; start > path && start[-1] != '/';)
            start--;
    make_safe(start, (size_t)(end - start), name);
}

static void wanted_name(const trl_utterance *u, int with_folder, char name[NAME_SIZE])
{
    const char *id = trl__is_whole(u) ? u->id : u->recording;
    if (id)
        make_safe(id, strlen(id), name);
    else
        name_of_file(u->path, with_folder, name);
}

/* Adds the name, or where it is taken name-2, name-3 … */
static int add_unique(trl__strings *names, char name[NAME_SIZE], trl_error *err)
{
    size_t length = strlen(name), used = length;
    for (int number = 2; trl__strings_find(names, name, used) >= 0; number++)
        used = length + (size_t)snprintf(name + length, NAME_SIZE - length, "-%d", number);
    return trl__strings_add(names, name, used) < 0 ? trl__fail_memory(err) : 0;
}

/* How many recordings want a name, by its number in `wanted`. */
static int count_wanted(const trl_utterance *const *firsts, size_t count, trl__strings *wanted, size_t *uses)
{
    char name[NAME_SIZE];
    for (size_t i = 0; i < count; i++) {
        wanted_name(firsts[i], 0, name);
        long number = trl__strings_add(wanted, name, strlen(name));
        if (number < 0)
            return -1;
        uses[number]++;
    }
    return 0;
}

int trl__recording_names(const trl_utterance *const *firsts, size_t count, trl__strings *names, trl_error *err)
{
    trl__strings wanted = {0};
    size_t *uses = trl__alloc_zero(count + 1, sizeof *uses);
    int code = !uses || count_wanted(firsts, count, &wanted, uses) < 0 ? trl__fail_memory(err) : 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        char name[NAME_SIZE];
        wanted_name(firsts[i], 0, name);
        if (uses[trl__strings_find(&wanted, name, strlen(name))] > 1)
            wanted_name(firsts[i], 1, name);
        code = add_unique(names, name, err);
    }
    trl__free(uses);
    trl__strings_free(&wanted);
    return code;
}
