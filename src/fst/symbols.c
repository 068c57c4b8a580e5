#include "base/fail.h"
#include "base/memory.h"
#include "base/string_table.h"

#include <stdatomic.h>
#include <string.h>
#include <trellis/symbols.h>

/* Entry i has the name names.texts[i] and the label labels[i]. by_label finds the entry of a label: directly while
 * labels are dense, which nearly all tables are, else through a map of their bytes. */
struct trl_symbols {
    atomic_int owners;
    char *title;
    trl__strings names;
    int32_t *labels;
    size_t capacity;
    int32_t *entry; /* by label below dense_size: entry + 1, or 0 */
    size_t dense_size;
    trl__arena keys;
    trl__map sparse; /* other labels */
    int32_t largest;
};

#define DENSE(count) ((size_t)4096 + 8 * (count)) /* labels below are looked up directly */

int trl_symbols_create(const char *name, trl_symbols **out, trl_error *err)
{
    trl_symbols *symbols = trl__alloc_zero(1, sizeof *symbols);
    *out = NULL;
    if (!symbols || !(symbols->title = trl__strdup(name ? name : ""))) {
        trl__free(symbols);
        return trl__fail_memory(err);
    }
    atomic_init(&symbols->owners, 1);
    symbols->largest = -1;
    *out = symbols;
    return 0;
}

trl_symbols *trl_symbols_share(trl_symbols *symbols)
{
    if (symbols)
        atomic_fetch_add(&symbols->owners, 1);
    return symbols;
}

void trl_symbols_destroy(trl_symbols *symbols)
{
    if (!symbols || atomic_fetch_sub(&symbols->owners, 1) > 1)
        return;
    trl__strings_free(&symbols->names);
    trl__free(symbols->labels);
    trl__free(symbols->entry);
    trl__map_free(&symbols->sparse);
    trl__arena_free(&symbols->keys);
    trl__free(symbols->title);
    trl__free(symbols);
}

/* ---- Looking up ---- */

/* Where the label was put when it was added, or -1. */
static long place_of(const trl_symbols *symbols, int32_t label)
{
    if ((size_t)label < symbols->dense_size && symbols->entry[label] > 0)
        return symbols->entry[label] - 1;
    const uint64_t *entry = trl__map_find(&symbols->sparse, (const char *)&label, sizeof label);
    return entry ? (long)*entry : -1;
}

/* An addition that ran out of memory half-way may have left a place behind without its entry. */
static long entry_of(const trl_symbols *symbols, int64_t label)
{
    if (label < 0 || label > INT32_MAX)
        return -1;
    long entry = place_of(symbols, (int32_t)label);
    return entry >= 0 && (size_t)entry < symbols->names.count && symbols->labels[entry] == label ? entry : -1;
}

int64_t trl_symbols_find(const trl_symbols *symbols, const char *name)
{
    long entry = trl__strings_find(&symbols->names, name, strlen(name));
    return entry < 0 ? TRL_NO_LABEL : symbols->labels[entry];
}

const char *trl_symbols_name(const trl_symbols *symbols, int64_t label)
{
    long entry = entry_of(symbols, label);
    return entry < 0 ? NULL : symbols->names.texts[entry];
}

const char *trl_symbols_title(const trl_symbols *symbols)
{
    return symbols->title;
}

size_t trl_symbols_count(const trl_symbols *symbols)
{
    return symbols->names.count;
}

int32_t trl_symbols_label(const trl_symbols *symbols, size_t entry)
{
    return symbols->labels[entry];
}

/* ---- Adding ---- */

static int enlarge_dense(trl_symbols *symbols, size_t wanted)
{
    size_t old = symbols->dense_size;
    if (trl__grow((void **)&symbols->entry, &symbols->dense_size, wanted, sizeof *symbols->entry) < 0)
        return -1;
    memset(symbols->entry + old, 0, (symbols->dense_size - old) * sizeof *symbols->entry);
    return 0;
}

/* Makes the label findable as `entry`. */
static int index_label(trl_symbols *symbols, int32_t label, size_t entry)
{
    if ((size_t)label < DENSE(symbols->names.count) && (size_t)label >= symbols->dense_size &&
        enlarge_dense(symbols, (size_t)label + 1) < 0)
        return -1;
    if ((size_t)label < symbols->dense_size) {
        symbols->entry[label] = (int32_t)entry + 1;
        return 0;
    }
    uint64_t value = entry, *old = trl__map_find(&symbols->sparse, (const char *)&label, sizeof label);
    if (old) {
        *old = value;
        return 0;
    }
    int32_t *key = trl__arena_alloc(&symbols->keys, sizeof *key);
    if (!key)
        return -1;
    *key = label;
    return trl__map_add(&symbols->sparse, (const char *)key, sizeof *key, &value) < 0 ? -1 : 0;
}

int trl_symbols_add(trl_symbols *symbols, const char *name, int64_t label, trl_error *err)
{
    if (!*name)
        return trl__fail(err, TRL_EINVAL, "a symbol's name is empty");
    if (label < 0 || label > INT32_MAX)
        return trl__fail(err, TRL_EINVAL, "the label %lld of \"%s\" is not between 0 and %d", (long long)label, name,
                         INT32_MAX);
    int64_t there = trl_symbols_find(symbols, name);
    if (there == label)
        return 0;
    if (there != TRL_NO_LABEL)
        return trl__fail(err, TRL_EINVAL, "\"%s\" has the label %lld already, not %lld", name, (long long)there,
                         (long long)label);
    const char *other = trl_symbols_name(symbols, label);
    if (other)
        return trl__fail(err, TRL_EINVAL, "the label %lld of \"%s\" belongs to \"%s\"", (long long)label, name, other);
    size_t entry = symbols->names.count;
    if (entry >= INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "a symbol table has at most %d entries", INT32_MAX);
    if (TRL_GROW(symbols->labels, symbols->capacity, entry + 1) < 0 ||
        index_label(symbols, (int32_t)label, entry) < 0 || trl__strings_add(&symbols->names, name, strlen(name)) < 0)
        return trl__fail_memory(err);
    symbols->labels[entry] = (int32_t)label;
    symbols->largest = label > symbols->largest ? (int32_t)label : symbols->largest;
    return 0;
}

int trl_symbols_add_next(trl_symbols *symbols, const char *name, int32_t *label, trl_error *err)
{
    int64_t there = trl_symbols_find(symbols, name);
    *label = (int32_t)there;
    if (there != TRL_NO_LABEL)
        return 0;
    int64_t next = (int64_t)symbols->largest + 1;
    *label = next > INT32_MAX ? 0 : (int32_t)next;
    return trl_symbols_add(symbols, name, next, err);
}
