/* The map against a list that is searched from the front, on random keys. */
#include "cmocka_test.h"

#include "base/hash_map.h"
#include "base/random.h"

#include <string.h>

enum { OPERATIONS = 6000, LONGEST = 6 };

struct entry {
    char key[LONGEST];
    size_t length;
    uint64_t value;
};

static struct entry *naive_find(struct entry *list, size_t count, const struct entry *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].length == wanted->length && memcmp(list[i].key, wanted->key, wanted->length) == 0)
            return &list[i];
    return NULL;
}

static void behaves_like_a_list(void **state)
{
    (void)state;
    static struct entry list[OPERATIONS];
    for (uint64_t seed = 0; seed < 4; seed++) {
        trl__map map = {0};
        size_t count = 0;
        uint64_t draw = 0;
        for (uint64_t step = 0; step < OPERATIONS; step++) {
            struct entry *fresh = &list[count]; /* keys must stay where they are: the map does not copy them */
            fresh->length = trl__random_bits(seed, 1, draw++) % (LONGEST + 1);
            for (size_t i = 0; i < fresh->length; i++) /* few letters, so that keys come again */
                fresh->key[i] = (char)(trl__random_bits(seed, 1, draw++) % (2 + 2 * seed));
            fresh->value = step;
            const struct entry *known = naive_find(list, count, fresh);
            const uint64_t *found = trl__map_find(&map, fresh->key, fresh->length);
            assert_int_equal(found != NULL, known != NULL);
            if (known)
                assert_int_equal(*found, known->value);
            if (step % 3 == 0)
                continue; /* looked up only */
            uint64_t value = step;
            assert_int_equal(trl__map_add(&map, fresh->key, fresh->length, &value), known ? 0 : 1);
            assert_int_equal(value, known ? known->value : step);
            count += !known;
            assert_int_equal(map.count, count);
        }
        for (size_t i = 0; i < count; i++)
            assert_int_equal(*trl__map_find(&map, list[i].key, list[i].length), list[i].value);
        trl__map_free(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(behaves_like_a_list)};
    return RUN(tests);
}
