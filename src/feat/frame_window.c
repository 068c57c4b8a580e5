#include "feat/frame_window.h"
#include "base/fail.h"
#include "base/memory.h"

int trl__frame_window_init(trl__frame_window *window, size_t dim, int left, int right, trl_error *err)
{
    *window = (trl__frame_window){.dim = dim, .left = left, .right = right, .capacity = left + right + 1};
    window->rows = trl__alloc_aligned((size_t)window->capacity * dim, sizeof *window->rows);
    return window->rows ? 0 : trl__fail_memory(err);
}

void trl__frame_window_free(trl__frame_window *window)
{
    trl__free(window->rows);
    *window = (trl__frame_window){0};
}

void trl__frame_window_reset(trl__frame_window *window)
{
    window->received = window->taken = 0;
}

float *trl__frame_window_put(trl__frame_window *window)
{
    return window->rows + (size_t)(window->received++ % window->capacity) * window->dim;
}

int64_t trl__frame_window_next(trl__frame_window *window, int ended)
{
    int64_t ready = ended ? window->received : window->received - window->right;
    return window->taken < ready ? window->taken++ : -1;
}

const float *trl__frame_window_row(const trl__frame_window *window, int64_t t)
{
    if (t >= window->received)
        t = window->received - 1;
    if (t < 0)
        t = 0;
    return window->rows + (size_t)(t % window->capacity) * window->dim;
}
