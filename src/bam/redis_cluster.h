/* A client of a Redis Cluster: many GETs and SETs at a time, each sent to the server that has its slot, all servers at work together.
 *
 *     trl__redis_open(&settings, &redis, err);
 *     trl__redis_request r[] = {{.key = "bam:{01}a", .key_size = 9}, …};
 *     trl__redis_run(redis, r, count, err);                      // r[i].status, r[i].value until the next run
 *     trl__redis_close(redis);
 *
 * Slots that have moved (MOVED) or are moving (ASK) are followed. When a server is gone or does not answer in time, the others are asked who has its slots now, again and again
 * for at most settings.wait seconds; requests that nobody has answered by then are lost, which is no error. A server that was lost once is
 * asked again every few seconds without waiting for it. Used by one thread at a time.
 *
 * A server without cluster support has all slots. There is no TLS (docs/bam-serving.md has a tunnel).
 */
#ifndef TRL_BAM_REDIS_CLUSTER_H
#define TRL_BAM_REDIS_CLUSTER_H

#include "bam/redis_settings.h"

#include <stdint.h>

#define TRL__REDIS_SLOTS 16384

typedef struct trl__redis trl__redis;

typedef enum trl__redis_status {
    TRL__REDIS_WAITING, /* only within a run */
    TRL__REDIS_VALUE,
    TRL__REDIS_NONE, /* there is no such key */
    TRL__REDIS_STORED,
    TRL__REDIS_LOST
} trl__redis_status;

typedef struct trl__redis_request {
    const char *key;
    size_t key_size;
    const void *stored; /* SET: this value; NULL: GET */
    size_t stored_size;
    trl__redis_status status;
    const unsigned char *value; /* aligned as malloc does, the client's, good until its next run */
    size_t value_size;
    /* the client's */
    int node, sent_to, asks; /* where it goes to, where it went, and whether as ASK wants it */
} trl__redis_request;

/* Which slot: CRC16 (XMODEM) of what stands between the first { and the next }, if anything does, else of the whole key. */
uint32_t trl__redis_slot(const char *key, size_t size);

/* Returns 0; TRL_EIO: none of the addresses answers, or a server refuses; TRL_EUNSUPPORTED: built without hiredis; TRL_ENOMEM. The settings must outlive it. */
int trl__redis_open(const trl__redis_settings *settings, trl__redis **out, trl_error *err);
void trl__redis_close(trl__redis *redis);

/* Returns 0; TRL_EIO: a server answers with an error (its words are in the text); TRL_ENOMEM. */
int trl__redis_run(trl__redis *redis, trl__redis_request *requests, size_t count, trl_error *err);

/* Until the replicas, where there are any, have what was stored; TRL_EIO: not within settings.wait seconds. */
int trl__redis_settle(trl__redis *redis, trl_error *err);

/* Removes the keys that match a pattern of Redis from all servers, but for those that begin with `kept`. */
int trl__redis_remove(trl__redis *redis, const char *pattern, const char *kept, trl_error *err);

/* How many servers have slots. */
size_t trl__redis_servers(const trl__redis *redis);

#endif
