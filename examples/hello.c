/* The smallest program: cc hello.c $(pkg-config --cflags --libs trellis) */
#include <stdio.h>
#include <trellis/trellis.h>

int main(void)
{
    trl_pool *pool;
    if (trl_pool_create(0, &pool, NULL) < 0)
        return 1;
    printf("trellis %s, %d threads, %s kernels\n", trl_version(), trl_pool_threads(pool), trl_cpu_level());
    trl_pool_destroy(pool);
}
