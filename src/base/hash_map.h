/* A map from byte strings to 64-bit values: open addressing, XXH3. Keys are not copied: they must outlive the map.
 *
 *     trl__map map = {0};
 *     trl__map_add(&map, key, length, &value);
 *     trl__map_free(&map);
 */
#ifndef TRL_BASE_HASH_MAP_H
#define TRL_BASE_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits: what the map uses. */
uint64_t trl__hash(const char *key, size_t length);

typedef struct trl__map_slot {
    const char *key; /* NULL: free */
    size_t length;
    uint64_t hash;
    uint64_t value;
} trl__map_slot;

typedef struct trl__map {
    trl__map_slot *slots;
    size_t size; /* a power of two, or 0 */
    size_t count;
} trl__map;

/* Adds the key with this value, unless it is there. Returns 1 added, 0 there already (*value becomes the stored one),
 * -1 out of memory. */
int trl__map_add(trl__map *map, const char *key, size_t length, uint64_t *value);

/* The stored value's place, or NULL. Valid until the next trl__map_add. */
uint64_t *trl__map_find(const trl__map *map, const char *key, size_t length);

void trl__map_free(trl__map *map);

#endif
