/* Rows of an n-gram model in the graph's file (graph_file.c):
 *
 *     rows         32 bytes: i32 histories, start, words, sets; u32 n-grams, ranges; f32 cost ahead of the end, surplus. Empty: there are none, nor the sections below
 *     row_first    u32 per history, and the end
 *     row_words, row_next    i32 per n-gram
 *     row_costs    f32 per n-gram
 *     shorter      i32 per history
 *     backing, row_finals    f32 per history
 *     ahead        f32 per word, from 0
 *     reach        u32 per state of the graph
 *     set_first    u32 per set, and the end
 *     set_ranges   i32 begin, end
 *     set_ahead    f32 per set
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"
#include "decode/ngram_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ARRAYS 12

typedef struct rows_header {
    int32_t histories, start, words, sets;
    uint32_t ngrams, ranges;
    float end_ahead, surplus;
} rows_header;

_Static_assert(sizeof(rows_header) == 32 && sizeof(trl__word_range) == 8, "the layout is the file's");

typedef struct row_array {
    const char *name;
    void *place; /* of the pointer to it */
    size_t size, count;
} row_array;

static void list_arrays(trl__ngram_rows *r, const rows_header *h, size_t states, row_array array[ARRAYS])
{
    const size_t histories = (size_t)h->histories, sets = (size_t)h->sets;
    const row_array all[ARRAYS] = {{"row_first", &r->first, sizeof *r->first, histories + 1},
                                   {"row_words", &r->word, sizeof *r->word, h->ngrams},
                                   {"row_next", &r->next, sizeof *r->next, h->ngrams},
                                   {"row_costs", &r->cost, sizeof *r->cost, h->ngrams},
                                   {"shorter", &r->shorter, sizeof *r->shorter, histories},
                                   {"backing", &r->backing, sizeof *r->backing, histories},
                                   {"row_finals", &r->final, sizeof *r->final, histories},
                                   {"ahead", &r->ahead, sizeof *r->ahead, (size_t)h->words},
                                   {"reach", &r->reach, sizeof *r->reach, states},
                                   {"set_first", &r->set_first, sizeof *r->set_first, sets + 1},
                                   {"set_ranges", &r->ranges, sizeof *r->ranges, h->ranges},
                                   {"set_ahead", &r->set_ahead, sizeof *r->set_ahead, sets}};
    memcpy(array, all, sizeof all);
}

int trl__ngram_rows_write(trl__ngram_rows *r, trl__container_writer *writer, trl_error *err)
{
    if (!r)
        return trl__container_add(writer, "rows", "", 0, err);
    const rows_header head = {r->histories,          r->start,     r->words,  r->sets, r->first[r->histories],
                              r->set_first[r->sets], r->end_ahead, r->surplus};
    row_array array[ARRAYS];
    list_arrays(r, &head, (size_t)r->loop_states, array);
    int code = trl__container_add(writer, "rows", &head, sizeof head, err);
    for (int i = 0; code == 0 && i < ARRAYS; i++) {
        void *bytes;
        memcpy(&bytes, array[i].place, sizeof bytes);
        code = trl__container_add(writer, array[i].name, bytes, array[i].size * array[i].count, err);
    }
    return code;
}

static int corrupt(const trl__container *file, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(file), what);
}

static int read_arrays(trl__ngram_rows *r, const rows_header *head, const trl__container *file, trl_error *err)
{
    row_array array[ARRAYS];
    list_arrays(r, head, (size_t)r->loop_states, array);
    for (int i = 0; i < ARRAYS; i++) {
        const void *bytes;
        size_t count;
        int code = trl__container_array(file, array[i].name, array[i].size, &bytes, &count, err);
        if (code < 0)
            return code;
        if (count != array[i].count)
            return trl__fail(err, TRL_ECORRUPT, "%s: section '%s' should have %zu elements, not %zu",
                             trl__container_path(file), array[i].name, array[i].count, count);
        memcpy(array[i].place, &bytes, sizeof bytes);
    }
    if (r->first[0] != 0 || r->first[r->histories] != head->ngrams || r->set_first[0] != 0 ||
        r->set_first[r->sets] != head->ranges)
        return corrupt(file, "n-grams or words that belong to nothing", err);
    return trl__ngram_rows_check(r, trl__container_path(file), err);
}

/* The words that the loop writes must have a cost there. */
static int check_words(const trl_graph *g, const trl__ngram_rows *r, const trl__container *file, trl_error *err)
{
    for (uint64_t i = 0; i < g->first[g->states]; i++)
        if (g->arcs[i].word > 0 && (g->arcs[i].word >= r->words || !isfinite(r->ahead[g->arcs[i].word])))
            return corrupt(file, "the graph has words that its language model lacks", err);
    return 0;
}

int trl__ngram_rows_read(trl_graph *g, const trl__container *file, trl_error *err)
{
    const void *bytes = NULL;
    size_t count = 0;
    int code = trl__container_array(file, "rows", sizeof(rows_header), &bytes, &count, err);
    if (code < 0 || count == 0)
        return code;
    const rows_header *head = bytes;
    if (count > 1 || head->histories < 1 || head->start < 0 || head->start >= head->histories || head->words < 1 ||
        head->sets < 1 || !isfinite(head->end_ahead) || !isfinite(head->surplus))
        return corrupt(file, "the numbers of the language model can't be", err);
    trl__ngram_rows *r = g->rows = trl__alloc_zero(1, sizeof *r);
    if (!r)
        return trl__fail_memory(err);
    r->is_mapped = 1;
    r->histories = head->histories;
    r->start = head->start;
    r->words = head->words;
    r->sets = head->sets;
    r->end_ahead = head->end_ahead;
    r->surplus = head->surplus;
    r->loop_states = g->states;
    code = read_arrays(r, head, file, err);
    if (code == 0)
        code = check_words(g, r, file, err);
    for (r->root = r->start; code == 0 && r->shorter[r->root] >= 0;)
        r->root = r->shorter[r->root];
    return code < 0 ? code : trl__ngram_rows_set_states(r, g, err);
}
