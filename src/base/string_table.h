/* A string table: every distinct string once, numbered from 0 in order of arrival. Initialise with {0}. */
#ifndef TRL_BASE_STRING_TABLE_H
#define TRL_BASE_STRING_TABLE_H

#include "base/hash_map.h"
#include "base/memory.h"

typedef struct trl__strings {
    trl__arena arena;
    trl__map index;
    const char **texts;
    size_t count, capacity;
} trl__strings;

/* The string's number, adding it when it is new; -1: out of memory. */
long trl__strings_add(trl__strings *table, const char *text, size_t length);

/* The string's number, or -1. */
long trl__strings_find(const trl__strings *table, const char *text, size_t length);

void trl__strings_free(trl__strings *table);

#endif
