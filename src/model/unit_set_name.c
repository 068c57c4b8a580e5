/* What a set of units is called where nobody gave it a name: its units, "M N NG". */
#include "model/tree.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define NOTHING_NAME "(nothing)"

/* The length of NAME if NAME_B, NAME_I, NAME_E and NAME_S follow here in any order, all in the set, and no unit is
 * called NAME; else 0. */
static size_t whole_phone(const trl__strings *units, const trl__unit_sets *set, int32_t unit)
{
    const char *first = units->texts[unit];
    size_t length = strlen(first);
    if (length < 3 || first[length - 2] != '_' || (size_t)unit + 4 > units->count ||
        trl__strings_find(units, first, length - 2) >= 0)
        return 0;
    for (int32_t i = 0; i < 4; i++) {
        const char *name = units->texts[unit + i];
        if (!trl__unit_set_has(set, 0, unit + i) || strlen(name) != length || strncmp(name, first, length - 1) != 0 ||
            !strchr("BIES", name[length - 1]))
            return 0;
    }
    return length - 2;
}

char *trl__unit_set_name(const trl__strings *units, int word_positions, const uint64_t *bits)
{
    int32_t count = (int32_t)units->count;
    /* The one set, to look at: nothing is written through it. */
    const trl__unit_sets set = {
        .units = count, .words = trl__unit_set_words(count), .bits = (uint64_t *)(uintptr_t)bits};
    size_t size = sizeof NOTHING_NAME + 2, used = 0;
    for (int32_t u = 0; u < count; u++)
        size += trl__unit_set_has(&set, 0, u) ? strlen(units->texts[u]) + 1 : 0;
    char *name = trl__alloc(size, 1);
    if (!name)
        return NULL;
    name[0] = '\0';
    for (int32_t u = 0; u < count; u++) {
        if (!trl__unit_set_has(&set, 0, u))
            continue;
        size_t whole = word_positions ? whole_phone(units, &set, u) : 0;
        size_t length = whole ? whole : strlen(units->texts[u]);
        used += (size_t)snprintf(name + used, size - used, "%s%.*s", used ? " " : "", (int)length, units->texts[u]);
        u += whole ? 3 : 0;
    }
    if (trl__unit_set_has(&set, 0, TRL__NOTHING) || used == 0)
        snprintf(name + used, size - used, "%s%s", used ? " " : "",
                 trl__unit_set_has(&set, 0, TRL__NOTHING) ? NOTHING_NAME : "-");
    return name;
}
