/* For tests of formats that are laid out by hand: bytes that give these numbers, bytes that are refused with this text. The test
 * that includes it defines read_bytes. */
#ifndef TEST_BYTES_FIXTURE_H
#define TEST_BYTES_FIXTURE_H

#include "feature_fixture.h"

static trl_error err;

/* The matrix in these bytes: 0, or the reader's error. */
static int read_bytes(const void *bytes, size_t size, trl_matrix *m);

static inline void expect(const void *bytes, size_t size, size_t rows, size_t cols, const float *numbers)
{
    trl_matrix m = {0}, expected = {(float *)(uintptr_t)numbers, rows, cols, cols, 0};
    assert_int_equal(read_bytes(bytes, size, &m), 0);
    assert_same(&m, &expected);
    trl_matrix_free(&m);
}

static inline void refuse(const void *bytes, size_t size, int code, const char *text)
{
    trl_matrix m = {0};
    assert_int_equal(read_bytes(bytes, size, &m), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    trl_matrix_free(&m);
}

/* The bytes are a string literal; its final NUL does not count. */
#define EXPECT(bytes, rows, cols, ...) expect(bytes, sizeof(bytes) - 1, rows, cols, (const float[]){__VA_ARGS__})
#define REFUSE(bytes, code, text) refuse(bytes, sizeof(bytes) - 1, code, text)

#endif
