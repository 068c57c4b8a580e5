/* Counting by sorting. */
#include "fst_rows.h"
#include "base/memory.h"
#include "fst_corpus.h"

#include <math.h>
#include <stdlib.h>

void fst_pairs_add(fst_pairs *pairs, int32_t row, int32_t column)
{
    if (TRL_GROW(pairs->key, pairs->capacity, pairs->count + 1) < 0)
        fst_must(NULL);
    pairs->key[pairs->count++] = (uint64_t)row << 32 | (uint32_t)column;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void fst_rows_alloc(fst_rows *out, int32_t rows, size_t entries)
{
    out->rows = rows;
    out->first = fst_must(trl__alloc_zero((size_t)rows + 2, sizeof *out->first));
    out->column = fst_must(trl__alloc(entries + 1, sizeof *out->column));
    out->count = fst_must(trl__alloc(entries + 1, sizeof *out->count));
    out->cost = fst_must(trl__alloc(entries + 1, sizeof *out->cost));
}

/* The entries of one row from its sorted keys; returns how many there are in all now. */
static size_t count_row(const uint64_t *key, size_t count, size_t used, fst_rows *out)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && key[next] == key[i];)
            next++;
        out->column[used] = (int32_t)(uint32_t)key[i];
        out->count[used] = (uint32_t)(next - i);
        out->cost[used++] = (float)-log((double)(next - i) / (double)count);
    }
    return used;
}

void fst_pairs_count(fst_pairs *pairs, int32_t rows, fst_rows *out)
{
    size_t used = 0, from = 0;
    qsort(pairs->key, pairs->count, sizeof *pairs->key, compare_keys);
    fst_rows_alloc(out, rows, pairs->count);
    for (int32_t row = 0; row < rows; row++) {
        size_t to = from;
        while (to < pairs->count && pairs->key[to] >> 32 == (uint64_t)row)
            to++;
        used = count_row(pairs->key + from, to - from, used, out);
        out->first[row + 1] = used;
        from = to;
    }
    trl__free(pairs->key);
    *pairs = (fst_pairs){0};
}

void fst_rows_transpose(const fst_rows *rows, int32_t columns, fst_rows *out)
{
    size_t entries = rows->first[rows->rows];
    fst_rows_alloc(out, columns, entries);
    for (size_t k = 0; k < entries; k++)
        out->first[rows->column[k] + 2]++;
    for (int32_t c = 0; c < columns; c++)
        out->first[c + 1] += out->first[c];
    for (int32_t r = 0; r < rows->rows; r++)
        for (size_t k = rows->first[r]; k < rows->first[r + 1]; k++) {
            size_t at = out->first[rows->column[k] + 1]++;
            out->column[at] = r;
            out->count[at] = rows->count[k];
            out->cost[at] = rows->cost[k];
        }
}

void fst_rows_free(fst_rows *rows)
{
    trl__free(rows->first);
    trl__free(rows->column);
    trl__free(rows->count);
    trl__free(rows->cost);
}
