/* For tests of feature files: places in the temporary folder, whole files, random matrices. */
#ifndef TEST_FEATURE_FIXTURE_H
#define TEST_FEATURE_FIXTURE_H

#include "temp_folder.h"
#include "base/random.h"

#include <trellis/matrix.h>

/* "format:folder/name"; the text lives until the eighth call after this one. */
static inline const char *temp_place(const char *format, const char *name)
{
    static char places[8][700];
    static unsigned turn;
    char *place = places[turn++ % 8];
    snprintf(place, sizeof places[0], "%s:%s/%s", format, temp_folder, name);
    return place;
}

/* Normal numbers of very different sizes. */
static inline void random_matrix(trl_matrix *m, size_t rows, size_t cols, uint64_t seed)
{
    assert_int_equal(trl_matrix_resize(m, rows, cols, NULL), 0);
    for (size_t i = 0; i < rows * cols; i++)
        m->data[i] = trl__random_normal(seed, 0, i) * (i % 7 == 0 ? 1e-30f : i % 5 == 0 ? 1e30f : 10.0f);
}

/* Same size, same bits; Kaldi's formats forget the columns of a matrix without rows. */
static inline void assert_same(const trl_matrix *a, const trl_matrix *b)
{
    assert_int_equal(a->rows, b->rows);
    if (a->rows > 0)
        assert_int_equal(a->cols, b->cols);
    for (size_t r = 0; r < a->rows; r++)
        assert_memory_equal(trl_matrix_row(a, r), trl_matrix_row(b, r), a->cols * sizeof(float));
}

#endif
