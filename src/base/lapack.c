/* LAPACK has matrices column by column: what it takes for the lower triangle is our upper one, and the transposed
 * inverse it finds of a transposed matrix is our inverse. So nothing is ever turned round. */
#include "base/lapack.h"
#include "base/fail.h"
#include "base/memory.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <pthread.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* Returns what `leave` puts back: others in this process may use OpenBLAS too. */
static int enter(void)
{
    pthread_mutex_lock(&one_at_a_time);
    int threads = openblas_get_num_threads();
    if (threads > 1)
        openblas_set_num_threads(1);
    return threads;
}

static void leave(int threads)
{
    if (threads > 1)
        openblas_set_num_threads(threads);
    pthread_mutex_unlock(&one_at_a_time);
}

int trl__eigen_symmetric(double *a, size_t n, double *values, trl_error *err)
{
    lapack_int size = (lapack_int)n, work_size = 34 * size; /* blocks of 32 columns */
    double *work = trl__alloc((size_t)work_size, sizeof *work);
    if (!work)
        return trl__fail_memory(err);
    int threads = enter();
    lapack_int code = LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', size, a, size, values, work, work_size);
    leave(threads);
    trl__free(work);
    return code == 0 ? 0
                     : trl__fail(err, TRL_ENUMBER, "the eigenvectors of a %zu x %zu matrix could not be found", n, n);
}

int trl__cholesky_packed(double *a, size_t n)
{
    int threads = enter();
    lapack_int code = LAPACKE_dpptrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, a);
    leave(threads);
    return code != 0;
}

void trl__cholesky_solve(const double *factor, size_t n, double *b)
{
    int threads = enter();
    LAPACKE_dpptrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, 1, factor, b, (lapack_int)n);
    leave(threads);
}

int trl__invert(double *a, size_t n, int *pivots, double *work, double *log_det)
{
    lapack_int size = (lapack_int)n;
    int threads = enter();
    lapack_int code = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, a, size, pivots);
    *log_det = 0;
    for (size_t i = 0; code == 0 && i < n; i++)
        *log_det += log(fabs(a[i * n + i]));
    if (code == 0)
        code = LAPACKE_dgetri_work(LAPACK_COL_MAJOR, size, a, size, pivots, work, size * size);
    leave(threads);
    return code != 0;
}
