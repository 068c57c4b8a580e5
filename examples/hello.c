/* The smallest program: cc hello.c $(pkg-config --cflags --libs trellis) */
#include <stdio.h>
#include <trellis/trellis.h>

int main(void)
{
    trl_error err;
    trl_pool *pool;
    if (trl_pool_create(0, &pool, &err) < 0)
        return fprintf(stderr, "%s\n", err.text), 1;
    printf("trellis %s, %d threads, %s kernels\n", trl_version(), trl_pool_threads(pool), trl_cpu_level());
    trl_pool_destroy(pool);
    return 0;
}
