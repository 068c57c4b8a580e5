#include "base/hash_map.h"
#include "base/memory.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t trl__hash(const char *key, size_t length)
{
    return XXH3_64bits(key, length);
}

/* The slot that holds the key, or the free one where it belongs. There is always a free one: at most 3/4 are used. */
static trl__map_slot *locate(const trl__map *map, const char *key, size_t length, uint64_t hash)
{
    size_t mask = map->size - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        trl__map_slot *slot = &map->slots[i];
        if (!slot->key || (slot->hash == hash && slot->length == length && memcmp(slot->key, key, length) == 0))
            return slot;
    }
}

static int enlarge(trl__map *map)
{
    trl__map larger = {.size = map->size ? map->size * 2 : 16, .count = map->count};
    larger.slots = trl__alloc_zero(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return -1;
    for (size_t i = 0; i < map->size; i++)
        if (map->slots[i].key)
            *locate(&larger, map->slots[i].key, map->slots[i].length, map->slots[i].hash) = map->slots[i];
    trl__free(map->slots);
    *map = larger;
    return 0;
}

int trl__map_add(trl__map *map, const char *key, size_t length, uint64_t *value)
{
    if (map->count * 4 >= map->size * 3 && enlarge(map) < 0)
        return -1;
    uint64_t hash = trl__hash(key, length);
    trl__map_slot *slot = locate(map, key, length, hash);
    if (slot->key) {
        *value = slot->value;
        return 0;
    }
    *slot = (trl__map_slot){key, length, hash, *value};
    map->count++;
    return 1;
}

uint64_t *trl__map_find(const trl__map *map, const char *key, size_t length)
{
    if (map->size == 0)
        return NULL;
    trl__map_slot *slot = locate(map, key, length, trl__hash(key, length));
    return slot->key ? &slot->value : NULL;
}

void trl__map_free(trl__map *map)
{
    trl__free(map->slots);
    *map = (trl__map){0};
}
