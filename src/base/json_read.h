/* JSON read back (RFC 8259), a text at a time: usually a line.
 *
 *     trl__arena arena = {0};
 *     const trl__json_value *object;
 *     trl__json_read(name, line, text, length, &arena, &object, err);
 *     const char *id = trl__json_text(trl__json_member(object, "id"));      // NULL: there is none, or it is no string
 *     for (const trl__json_value *v = trl__json_first(trl__json_member(object, "words")); v; v = v->next) …
 *     trl__arena_free(&arena);
 *
 * What asks a value takes NULL too, for a member that is not there.
 */
#ifndef TRL_BASE_JSON_READ_H
#define TRL_BASE_JSON_READ_H

#include "base/memory.h"

#include <stdint.h>
#include <trellis/error.h>

typedef enum trl__json_kind {
    TRL__JSON_NULL,
    TRL__JSON_FALSE,
    TRL__JSON_TRUE,
    TRL__JSON_NUMBER,
    TRL__JSON_STRING,
    TRL__JSON_ARRAY,
    TRL__JSON_OBJECT
} trl__json_kind;

typedef struct trl__json_value {
    trl__json_kind kind;
    const char *key;  /* of an object's member, else NULL */
    const char *text; /* of a string, else NULL */
    double number;    /* else 0 */
    int64_t whole;    /* of a number without a fraction or an exponent that fits, else 0 */
    size_t count;     /* of an array's items, of an object's members */
    struct trl__json_value *first, *next;
} trl__json_value;

/* Values come from the arena; strings are decoded in place, so they live as long as `text`, which is NUL-terminated
 * at `length`. Returns 0, TRL_EFORMAT "name:line: not JSON, or cut: …", TRL_ENOMEM. */
int trl__json_read(const char *name, int64_t line, char *text, size_t length, trl__arena *arena,
                   const trl__json_value **out, trl_error *err);

/* The last member with this key; NULL: there is none, or it is no object. */
const trl__json_value *trl__json_member(const trl__json_value *object, const char *key);

static inline int trl__json_is(const trl__json_value *value, trl__json_kind kind)
{
    return value && value->kind == kind;
}

static inline const char *trl__json_text(const trl__json_value *value)
{
    return value ? value->text : NULL;
}

/* Of an array. */
static inline const trl__json_value *trl__json_first(const trl__json_value *array)
{
    return trl__json_is(array, TRL__JSON_ARRAY) ? array->first : NULL;
}

static inline size_t trl__json_count(const trl__json_value *array)
{
    return trl__json_is(array, TRL__JSON_ARRAY) ? array->count : 0;
}

#endif
