/* Counts of pairs as a sparse matrix: bigrams, translations. */
#ifndef TRELLIS_BENCH_FST_ROWS_H
#define TRELLIS_BENCH_FST_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Row r is [first[r], first[r + 1]), columns in rising order. */
typedef struct fst_rows {
    int32_t rows;
    size_t *first;
    int32_t *column;
    uint32_t *count;
    float *cost; /* -log of the entry's share of its row */
} fst_rows;

/* Pairs as they come. Initialise with {0}. */
typedef struct fst_pairs {
    uint64_t *key;
    size_t count, capacity;
} fst_pairs;

void fst_pairs_add(fst_pairs *pairs, int32_t row, int32_t column);
void fst_pairs_count(fst_pairs *pairs, int32_t rows, fst_rows *out); /* frees the pairs */

void fst_rows_alloc(fst_rows *out, int32_t rows, size_t entries); /* all rows empty */
void fst_rows_free(fst_rows *rows);

/* Columns and rows change places; counts and costs stay what they are. */
void fst_rows_transpose(const fst_rows *rows, int32_t columns, fst_rows *out);

#endif
