/* The graph's file: a container of kind "graph", version 3; version 2 had no levels and no rows, and version 1 did not know how words are said. The arrays are
 * those of graph_data.h, one section each.
 *
 *     graph        32 bytes: i32 states, start, words, transitions; u64 arcs; u64 fingerprint of the model
 *     first        u64 per state, and the end
 *     emitting     u64 per state
 *     arcs         i32 next, transition, word; f32 cost
 *     finals       f32 per state
 *     levels       i32 per state
 *     tied         i32 by transition id, from 0 (-1)
 *     spoken_words     u32 per word, and the end: its first pronunciation; empty: how words are said is not known, and so are the next two
 *     spoken_first     u32 per pronunciation, and the end: its first unit
 *     spoken_units     i32 units of the model
 *     labels, names    the table of words (symbols_sections.h)
 *     rows …       the n-gram model that is put in while searching (ngram_rows_file.c)
 *     provenance   text
 *
 * The arrays are used where they lie in the mapped file. Reading costs one pass for the checksums and one for the
 * checks.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"
#include "decode/ngram_rows.h"
#include "fst/symbols_sections.h"

#include <inttypes.h>
#include <string.h>

typedef struct file_header {
    int32_t states, start, words, transitions;
    uint64_t arcs, model;
} file_header;

_Static_assert(sizeof(file_header) == 32 && sizeof(trl__network_arc) == 16, "the layout is the file's");

/* ---- Writing ---- */

int trl_graph_write(const trl_graph *g, const char *path, trl_error *err)
{
    const file_header head = {g->states, g->start, g->words, g->transitions, g->first[g->states], g->model};
    const size_t states = (size_t)g->states, spoken = g->spoken_word ? g->spoken_word[g->words] : 0;
    const struct {
        const char *name;
        const void *bytes;
        size_t size;
    } array[] = {
        {"graph", &head, sizeof head},
        {"first", g->first, (states + 1) * sizeof *g->first},
        {"emitting", g->emitting, states * sizeof *g->emitting},
        {"arcs", g->arcs, (size_t)head.arcs * sizeof *g->arcs},
        {"finals", g->final, states * sizeof *g->final},
        {"levels", g->level, states * sizeof *g->level},
        {"tied", g->tied, ((size_t)g->transitions + 1) * sizeof *g->tied},
        {"spoken_words", g->spoken_word, g->spoken_word ? ((size_t)g->words + 1) * sizeof *g->spoken_word : 0},
        {"spoken_first", g->spoken_first, g->spoken_word ? (spoken + 1) * sizeof *g->spoken_first : 0},
        {"spoken_units", g->spoken_units, g->spoken_word ? g->spoken_first[spoken] * sizeof *g->spoken_units : 0},
        {"provenance", trl_graph_provenance(g), strlen(trl_graph_provenance(g))}};
    trl__container_writer *writer;
    int code = trl__container_create(path, TRL__GRAPH_KIND, TRL__GRAPH_VERSION, &writer, err);
    if (code < 0)
        return code;
    for (size_t i = 0; code == 0 && i < sizeof array / sizeof *array; i++)
        code = trl__container_add(writer, array[i].name, array[i].bytes, array[i].size, err);
    if (code == 0)
        code = trl__symbols_store(g->symbols, writer, "labels", "names", err);
    if (code == 0)
        code = trl__ngram_rows_write(g->rows, writer, err);
    if (code == 0)
        return trl__container_commit(writer, err);
    trl__container_abort(writer);
    return code;
}

/* ---- Reading ---- */

static int corrupt(const trl_graph *g, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(g->file), what);
}

/* *array becomes the section, which must have so many elements. */
static int read_array(const trl_graph *g, const char *name, size_t size, uint64_t wanted, void *array, trl_error *err)
{
    size_t count;
    const void *elements;
    int code = trl__container_array(g->file, name, size, &elements, &count, err);
    if (code < 0)
        return code;
    memcpy(array, &elements, sizeof elements);
    return count == wanted ? 0
                           : trl__fail(err, TRL_ECORRUPT, "%s: section '%s' should have %" PRIu64 " elements, not %zu",
                                       trl__container_path(g->file), name, wanted, count);
}

static int read_header(trl_graph *g, uint64_t *arcs, trl_error *err)
{
    const file_header *head = NULL;
    int code = read_array(g, "graph", sizeof *head, 1, (void *)&head, err);
    if (code < 0)
        return code;
    if (head->states < 1 || head->start < 0 || head->start >= head->states || head->words < 1 ||
        head->transitions < 1 || head->transitions == INT32_MAX)
        return corrupt(g, "the number of states, words or transitions can't be", err);
    g->states = head->states;
    g->start = head->start;
    g->words = head->words;
    g->transitions = head->transitions;
    g->model = head->model;
    *arcs = head->arcs;
    return 0;
}

/* Do the numbers rise from 0 to `end`, by `step` at least? */
static int rises(const uint32_t *numbers, size_t count, size_t end, uint32_t step)
{
    int is_right = numbers[0] == 0 && numbers[count - 1] == end;
    for (size_t i = 1; is_right && i < count; i++)
        is_right = numbers[i] >= numbers[i - 1] && numbers[i] - numbers[i - 1] >= step;
    return is_right;
}

static int read_spoken(trl_graph *g, trl_error *err)
{
    const void *words = NULL, *first = NULL, *units = NULL;
    size_t word_count = 0, first_count = 0, unit_count = 0;
    int code = trl__container_array(g->file, "spoken_words", sizeof *g->spoken_word, &words, &word_count, err);
    if (code == 0)
        code = trl__container_array(g->file, "spoken_first", sizeof *g->spoken_first, &first, &first_count, err);
    if (code == 0)
        code = trl__container_array(g->file, "spoken_units", sizeof *g->spoken_units, &units, &unit_count, err);
    if (code < 0 || (word_count == 0 && first_count == 0 && unit_count == 0))
        return code;
    if (word_count != (size_t)g->words + 1 || first_count == 0 || !rises(words, word_count, first_count - 1, 0) ||
        !rises(first, first_count, unit_count, 1))
        return corrupt(g, "the pronunciations of words lie where they can't", err);
    for (size_t i = 0; i < unit_count; i++)
        if (((const int32_t *)units)[i] < 0)
            return corrupt(g, "a pronunciation has a unit that can't be", err);
    memcpy(&g->spoken_word, &words, sizeof words);
    memcpy(&g->spoken_first, &first, sizeof first);
    memcpy(&g->spoken_units, &units, sizeof units);
    return 0;
}

static int read_sections(trl_graph *g, trl_error *err)
{
    uint64_t arcs = 0, states;
    int code = read_header(g, &arcs, err);
    states = (uint64_t)g->states;
    if (code == 0)
        code = read_array(g, "first", sizeof *g->first, states + 1, &g->first, err);
    if (code == 0)
        code = read_array(g, "emitting", sizeof *g->emitting, states, &g->emitting, err);
    if (code == 0)
        code = read_array(g, "arcs", sizeof *g->arcs, arcs, &g->arcs, err);
    if (code == 0)
        code = read_array(g, "finals", sizeof *g->final, states, &g->final, err);
    if (code == 0)
        code = read_array(g, "tied", sizeof *g->tied, (uint64_t)g->transitions + 1, &g->tied, err);
    if (code == 0 && (g->first[0] != 0 || g->first[states] != arcs))
        code = corrupt(g, "arcs that belong to no state", err);
    if (code == 0 && trl__container_version(g->file) > 2) {
        code = read_array(g, "levels", sizeof *g->level, states, &g->level, err);
        g->is_level_mapped = 1;
    }
    if (code == 0)
        g->end = g->first + 1;
    if (code == 0)
        code = trl__graph_check(g, trl__container_path(g->file), err);
    if (code == 0 && trl__container_version(g->file) > 1)
        code = read_spoken(g, err);
    if (code == 0 && trl__container_version(g->file) > 2)
        code = trl__ngram_rows_read(g, g->file, err);
    if (code == 0)
        code = trl__symbols_load(g->file, "labels", "names", &g->symbols, err);
    for (size_t i = 0; code == 0 && g->symbols && i < trl_symbols_count(g->symbols); i++)
        if (trl_symbols_label(g->symbols, i) >= g->words)
            code = corrupt(g, "the table has more words than the graph", err);
    return code < 0 ? code : trl__container_text(g->file, "provenance", &g->provenance, err);
}

int trl__graph_from_container(trl__container *file, trl_graph **out, trl_error *err)
{
    trl_graph *g = trl__alloc_zero(1, sizeof *g);
    *out = NULL;
    if (!g) {
        trl__container_close(file);
        return trl__fail_memory(err);
    }
    g->file = file;
    int code = read_sections(g, err);
    if (code < 0) {
        trl_graph_destroy(g);
        return code;
    }
    trl__container_rest(g->file);
    *out = g;
    return 0;
}

int trl_graph_read(const char *path, trl_graph **out, trl_error *err)
{
    trl__container *file;
    *out = NULL;
    int code = trl__container_open(path, TRL__GRAPH_KIND, TRL__GRAPH_VERSION, &file, err);
    return code < 0 ? code : trl__graph_from_container(file, out, err);
}
