/* Look-ups in a Redis Cluster of three masters on this machine. */
#ifndef TRELLIS_BENCH_BAM_REDIS_H
#define TRELLIS_BENCH_BAM_REDIS_H

#include "bench.h"

/* `redis_lookups_per_s`: so many M-phones of 20 KB, so many batches of 300; null where there is no redis-server. The
 * folder is for files. */
void bench_redis_lookups(const char *folder, size_t mphones, int batches, json_t *result);

#endif
