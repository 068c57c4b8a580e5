#include "base/string_table.h"

long trl__strings_add(trl__strings *table, const char *text, size_t length)
{
    long known = trl__strings_find(table, text, length);
    if (known >= 0)
        return known;
    if (TRL_GROW(table->texts, table->capacity, table->count + 1) < 0)
        return -1;
    char *copy = trl__arena_copy(&table->arena, text, length);
    uint64_t number = table->count;
    if (!copy || trl__map_add(&table->index, copy, length, &number) < 0)
        return -1;
    table->texts[table->count++] = copy;
    return (long)number;
}

long trl__strings_find(const trl__strings *table, const char *text, size_t length)
{
    const uint64_t *number = trl__map_find(&table->index, text, length);
    return number ? (long)*number : -1;
}

void trl__strings_free(trl__strings *table)
{
    trl__map_free(&table->index);
    trl__arena_free(&table->arena);
    trl__free(table->texts);
    *table = (trl__strings){0};
}
