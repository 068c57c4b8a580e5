/* Where a Redis Cluster is, and how it is spoken to: redis://HOST:PORT[,HOST:PORT…]/NAME, and the environment.
 *
 *     TRELLIS_REDIS_USER, TRELLIS_REDIS_PASSWORD     who asks
 *     TRELLIS_REDIS_TIMEOUT                          seconds that a server may be silent; default 2
 *     TRELLIS_REDIS_WAIT                             seconds for another server to take over from one that is gone; default 15
 *     TRELLIS_REDIS_CONFIG                           a file with lines `user NAME`, `password WORD`, `timeout SECONDS`, `wait SECONDS`; the variables above come first
 *
 * A password is never part of the address: addresses stand in command lines, which everybody on the machine can read.
 */
#ifndef TRL_BAM_REDIS_SETTINGS_H
#define TRL_BAM_REDIS_SETTINGS_H

#include "base/memory.h"

#include <trellis/error.h>

typedef struct trl__redis_address {
    const char *host;
    int port;
} trl__redis_address;

typedef struct trl__redis_settings {
    trl__arena texts;
    trl__redis_address *addresses; /* any node of the cluster; the first that answers tells of the others */
    size_t count;
    const char *name;            /* of the model: several can be on one cluster */
    const char *user, *password; /* NULL: none */
    double timeout, wait;        /* seconds */
} trl__redis_settings;

int trl__is_redis(const char *where);
/* Returns 0; TRL_EINVAL: no such address, a setting that can't be, or a file with a password that others can read; what trl__text_read returns; TRL_ENOMEM. Freed in any case. */
int trl__redis_settings_read(const char *where, trl__redis_settings *out, trl_error *err);
void trl__redis_settings_free(trl__redis_settings *settings);

#endif
