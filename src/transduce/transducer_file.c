/* The transducer's file: a container of kind "transducer", version 1. The arrays are those of transducer_data.h, one
 * section each.
 *
 *     info        struct info below
 *     symbols     trl__symbol by label, each with the XXH3 of its part of the large arrays
 *     arcs, sources, outputs, rows, listed, bits, ranks     (carry their own checksums: those of the symbols)
 *     finals      final weight by state
 *     ilabels, inames, olabels, onames   symbol tables: labels, and names with a NUL each, the table's own in front;
 *                                        empty: none
 *
 * Opening looks at everything but the large arrays: O(symbols + states). The part of a symbol is compared with its
 * checksum and with what must hold (states that are there, rows that follow each other) when it is walked for the first
 * time, so a damaged file is refused and can't lead a search astray, and a search that needs few symbols reads little
 * of the file.
 */
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fst/symbols_sections.h"
#include "transduce/transducer_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct info {
    uint64_t arcs, rows, words, listed;
    int32_t states, start;
    float smallest, largest;
} info;

_Static_assert(sizeof(info) == 48 && sizeof(trl__symbol) == 48 && sizeof(trl__symbol_arc) == 8,
               "the layout is the file's");

/* ---- Checksums ---- */

static uint64_t hash_more(uint64_t seed, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t trl__symbol_hash(const trl_transducer *t, const trl__symbol *s)
{
    size_t words = trl__words(t->states);
    uint64_t hash = hash_more((uint64_t)s->label, t->arc + s->arc, s->arcs * sizeof *t->arc);
    hash = hash_more(hash, t->source + s->arc, s->arcs * sizeof *t->source);
    hash = hash_more(hash, t->output + s->arc, s->arcs * sizeof *t->output);
    hash = hash_more(hash, t->row_first + s->row, ((size_t)s->rows + 1) * sizeof *t->row_first);
    if (!s->has_bitmap)
        return hash_more(hash, t->row_source + s->place, s->rows * sizeof *t->row_source);
    hash = hash_more(hash, t->bits + s->place, words * sizeof *t->bits);
    return hash_more(hash, t->rank + s->place, words * sizeof *t->rank);
}

/* ---- A symbol's arrays ---- */

/* The sources of the rows, one after the other; -1 when they are not what they must be. */
static int64_t next_source(const trl_transducer *t, const trl__symbol *s, uint32_t row, int64_t last)
{
    if (!s->has_bitmap)
        return t->row_source[s->place + row];
    for (int64_t q = last + 1; q < t->states; q++) {
        uint64_t rest = t->bits[s->place + (size_t)q / 64] >> q % 64;
        if (rest != 0)
            return q + __builtin_ctzll(rest);
        q |= 63;
    }
    return -1;
}

static int right_row(const trl_transducer *t, const trl__symbol *s, uint32_t row, int64_t source)
{
    uint32_t first = t->row_first[s->row + row], end = t->row_first[s->row + row + 1];
    if (end <= first || end > s->arcs)
        return 0;
    for (uint64_t k = s->arc + first; k < s->arc + end; k++)
        if (t->source[k] != source || t->arc[k].target >= (uint32_t)t->states || t->output[k] < 0 ||
            !(t->arc[k].weight >= t->smallest && t->arc[k].weight <= t->largest))
            return 0;
    return 1;
}

static int right_bitmap(const trl_transducer *t, const trl__symbol *s)
{
    size_t words = trl__words(t->states);
    uint32_t rank = 0;
    for (size_t w = 0; w < words; w++) {
        if (t->rank[s->place + w] != rank)
            return 0;
        rank += (uint32_t)__builtin_popcountll(t->bits[s->place + w]);
    }
    return rank == s->rows && (t->states % 64 == 0 || t->bits[s->place + words - 1] >> t->states % 64 == 0);
}

static int right_symbol(const trl_transducer *t, const trl__symbol *s)
{
    int64_t source = -1;
    if (trl__symbol_hash(t, s) != s->hash || t->row_first[s->row] != 0 || t->row_first[s->row + s->rows] != s->arcs ||
        (s->has_bitmap && !right_bitmap(t, s)))
        return 0;
    for (uint32_t row = 0; row < s->rows; row++) {
        int64_t next = next_source(t, s, row, source);
        if (next <= source || next >= t->states || !right_row(t, s, row, next))
            return 0;
        source = next;
    }
    return 1;
}

int trl__transducer_check(const trl_transducer *t, uint32_t symbol, trl_error *err)
{
    if (!t->checked || atomic_load_explicit(&t->checked[symbol], memory_order_relaxed))
        return 0;
    const trl__symbol *s = &t->symbol[symbol];
    if (!right_symbol(t, s))
        return trl__fail(err, TRL_ECORRUPT, "%s: the arcs with input label %" PRId32 " are damaged",
                         trl__container_path(t->container), s->label);
    atomic_store_explicit(&t->checked[symbol], 1, memory_order_relaxed);
    return 0;
}

static int check_one(void *user, size_t symbol, int worker, trl_error *err)
{
    (void)worker;
    return trl__transducer_check(user, (uint32_t)symbol, err);
}

int trl_transducer_verify(const trl_transducer *transducer, trl_pool *pool, trl_error *err)
{
    return trl_pool_for(pool, transducer->symbols, check_one, (void *)(uintptr_t)transducer, err);
}

/* ---- Writing ---- */

static int write_large(trl__container_writer *writer, const char *name, const void *bytes, uint64_t count, size_t size,
                       trl_error *err)
{
    int code = trl__container_begin(writer, name, 1, err);
    return code < 0 ? code : trl__container_write(writer, bytes, (size_t)count * size, err);
}

static int write_arrays(trl__container_writer *writer, const trl_transducer *t, trl_error *err)
{
    const struct {
        const char *name;
        const void *bytes;
        uint64_t count;
        size_t size;
    } array[] = {{"arcs", t->arc, t->arcs, sizeof *t->arc},
                 {"sources", t->source, t->arcs, sizeof *t->source},
                 {"outputs", t->output, t->arcs, sizeof *t->output},
                 {"rows", t->row_first, t->rows + t->symbols, sizeof *t->row_first},
                 {"listed", t->row_source, t->listed, sizeof *t->row_source},
                 {"bits", t->bits, t->words, sizeof *t->bits},
                 {"ranks", t->rank, t->words, sizeof *t->rank}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof array / sizeof *array; i++)
        code = write_large(writer, array[i].name, array[i].bytes, array[i].count, array[i].size, err);
    return code;
}

int trl_transducer_write(const trl_transducer *t, const char *path, trl_error *err)
{
    trl__container_writer *writer = NULL;
    info head = {t->arcs, t->rows, t->words, t->listed, t->states, t->start, t->smallest, t->largest};
    int code = trl_transducer_verify(t, NULL, err);
    if (code == 0)
        code = trl__container_create(path, TRL__TRANSDUCER_KIND, TRL__TRANSDUCER_VERSION, &writer, err);
    if (code < 0)
        return code;
    code = trl__container_add(writer, "info", &head, sizeof head, err);
    if (code == 0)
        code = trl__container_add(writer, "symbols", t->symbol, t->symbols * sizeof *t->symbol, err);
    if (code == 0)
        code = trl__container_add(writer, "finals", t->final, (size_t)t->states * sizeof *t->final, err);
    if (code == 0)
        code = trl__symbols_store(t->isymbols, writer, "ilabels", "inames", err);
    if (code == 0)
        code = trl__symbols_store(t->osymbols, writer, "olabels", "onames", err);
    if (code == 0)
        code = write_arrays(writer, t, err);
    if (code == 0)
        return trl__container_commit(writer, err);
    trl__container_abort(writer);
    return code;
}

/* ---- Opening ---- */

static int corrupt(const trl_transducer *t, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(t->container), what);
}

static int read_info(trl_transducer *t, trl_error *err)
{
    const void *bytes;
    size_t count;
    int code = trl__container_array(t->container, "info", sizeof(info), &bytes, &count, err);
    if (code < 0)
        return code;
    if (count != 1)
        return corrupt(t, "section 'info' has a wrong size", err);
    const info *head = bytes;
    if (head->states < 0 || head->start < TRL_NO_STATE || head->start >= head->states || !isfinite(head->smallest) ||
        !isfinite(head->largest))
        return corrupt(t, "the number of states or the range of weights can't be", err);
    t->states = head->states;
    t->start = head->start;
    t->arcs = head->arcs;
    t->rows = head->rows;
    t->words = head->words;
    t->listed = head->listed;
    t->smallest = head->smallest;
    t->largest = head->largest;
    return 0;
}

static int read_array(const trl_transducer *t, const char *name, size_t size, uint64_t wanted, const void *array,
                      trl_error *err)
{
    size_t count;
    const void *elements;
    int code = trl__container_array(t->container, name, size, &elements, &count, err);
    if (code < 0)
        return code;
    memcpy((void *)(uintptr_t)array, &elements, sizeof elements);
    return count == wanted ? 0
                           : trl__fail(err, TRL_ECORRUPT, "%s: section '%s' should have %" PRIu64 " elements, not %zu",
                                       trl__container_path(t->container), name, wanted, count);
}

static int read_arrays(trl_transducer *t, trl_error *err)
{
    size_t symbols;
    const void *elements;
    int code = trl__container_array(t->container, "symbols", sizeof *t->symbol, &elements, &symbols, err);
    if (code < 0)
        return code;
    if (symbols > INT32_MAX)
        return corrupt(t, "there can't be so many labels", err);
    t->symbol = elements;
    t->symbols = (uint32_t)symbols;
    code = read_array(t, "finals", sizeof *t->final, (uint64_t)t->states, &t->final, err);
    if (code == 0)
        code = read_array(t, "arcs", sizeof *t->arc, t->arcs, &t->arc, err);
    if (code == 0)
        code = read_array(t, "sources", sizeof *t->source, t->arcs, &t->source, err);
    if (code == 0)
        code = read_array(t, "outputs", sizeof *t->output, t->arcs, &t->output, err);
    if (code == 0)
        code = read_array(t, "rows", sizeof *t->row_first, t->rows + t->symbols, &t->row_first, err);
    if (code == 0)
        code = read_array(t, "listed", sizeof *t->row_source, t->listed, &t->row_source, err);
    if (code == 0)
        code = read_array(t, "bits", sizeof *t->bits, t->words, &t->bits, err);
    return code < 0 ? code : read_array(t, "ranks", sizeof *t->rank, t->words, &t->rank, err);
}

/* The parts of the symbols fill the arrays, one after the other. */
static int check_symbols(const trl_transducer *t, trl_error *err)
{
    uint64_t arcs = 0, rows = 0, words = 0, listed = 0, width = trl__words(t->states);
    for (uint32_t i = 0; i < t->symbols; i++) {
        const trl__symbol *s = &t->symbol[i];
        uint64_t place = s->has_bitmap ? words : listed;
        if (s->label < 0 || (i > 0 && s->label <= s[-1].label) || s->arc != arcs || s->row != rows + i ||
            s->place != place || s->rows == 0 || s->arcs < s->rows || s->has_bitmap > 1 || s->arcs > t->arcs - arcs ||
            s->rows > t->rows - rows || (s->has_bitmap ? width > t->words - words : s->rows > t->listed - listed))
            return trl__fail(err, TRL_ECORRUPT, "%s: entry %" PRIu32 " of the table of symbols is wrong",
                             trl__container_path(t->container), i);
        arcs += s->arcs;
        rows += s->rows;
        words += s->has_bitmap ? width : 0;
        listed += s->has_bitmap ? 0 : s->rows;
    }
    if (arcs != t->arcs || rows != t->rows || words != t->words || listed != t->listed)
        return corrupt(t, "arcs that belong to no symbol", err);
    for (int32_t q = 0; q < t->states; q++)
        if (t->final[q] != INFINITY && !(t->final[q] >= t->smallest && t->final[q] <= t->largest))
            return corrupt(t, "the final states are wrong", err);
    return 0;
}

static int read_all(trl_transducer *t, trl_error *err)
{
    int code = read_info(t, err);
    if (code == 0)
        code = read_arrays(t, err);
    if (code == 0)
        code = check_symbols(t, err);
    if (code == 0)
        code = trl__symbols_load(t->container, "ilabels", "inames", &t->isymbols, err);
    if (code == 0)
        code = trl__symbols_load(t->container, "olabels", "onames", &t->osymbols, err);
    if (code < 0)
        return code;
    t->checked = trl__alloc_zero(t->symbols + 1u, sizeof *t->checked);
    return t->checked ? trl__epsilons_prepare(t, err) : trl__fail_memory(err);
}

int trl__transducer_from_container(trl__container *container, trl_transducer **out, trl_error *err)
{
    trl_transducer *t = trl__alloc_zero(1, sizeof *t);
    *out = NULL;
    if (!t) {
        trl__container_close(container);
        return trl__fail_memory(err);
    }
    t->container = container;
    t->epsilons.symbol = -1;
    int code = read_all(t, err);
    if (code < 0)
        trl_transducer_destroy(t);
    else
        *out = t;
    return code;
}

int trl_transducer_open(const char *path, trl_transducer **out, trl_error *err)
{
    trl__container *container;
    *out = NULL;
    int code = trl__container_open(path, TRL__TRANSDUCER_KIND, TRL__TRANSDUCER_VERSION, &container, err);
    return code < 0 ? code : trl__transducer_from_container(container, out, err);
}

/* ---- Loading ---- */

typedef struct loading {
    const trl_transducer *from;
    const trl__symbol_arc *arc;
    const uint32_t *row_first, *row_source, *rank;
    const uint64_t *bits;
} loading;

static const void *copy(trl__pieces *pieces, const void *from, uint64_t count, size_t size)
{
    void *to = trl__take(pieces, (size_t)count, size);
    return to && count > 0 ? memcpy(to, from, (size_t)count * size) : to;
}

static void lay_out(void *user, trl__pieces *pieces)
{
    loading *l = user;
    const trl_transducer *t = l->from;
    l->arc = copy(pieces, t->arc, t->arcs, sizeof *t->arc);
    l->row_first = copy(pieces, t->row_first, t->rows + t->symbols, sizeof *t->row_first);
    l->row_source = copy(pieces, t->row_source, t->listed, sizeof *t->row_source);
    l->bits = copy(pieces, t->bits, t->words, sizeof *t->bits);
    l->rank = copy(pieces, t->rank, t->words, sizeof *t->rank);
}

int trl_transducer_load(const char *path, trl_transducer **out, trl_error *err)
{
    int code = trl_transducer_open(path, out, err);
    if (code < 0)
        return code;
    trl_transducer *t = *out;
    loading l = {.from = t};
    t->memory = trl__lay_out(lay_out, &l);
    if (!t->memory) {
        trl_transducer_destroy(t);
        *out = NULL;
        return trl__fail_memory(err);
    }
    t->arc = l.arc;
    t->row_first = l.row_first;
    t->row_source = l.row_source;
    t->bits = l.bits;
    t->rank = l.rank;
    return 0;
}
