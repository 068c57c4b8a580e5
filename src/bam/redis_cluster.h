/* A client of a Redis Cluster: many GETs and SETs at a time, each sent to the server that has its slot, all servers at work together.
 *
 *     double deadline = trl__redis_deadline(&settings);
 *     trl__redis_open(&settings, deadline, &redis, err);
 *     trl__redis_request r[] = {{.key = "bam:{01}a", .key_size = 9}, …};
 *     trl__redis_run(redis, r, count, deadline, err);            // r[i].status, r[i].value until the next run
 *     trl__redis_close(redis);
 *
 * Slots that have moved (MOVED) or are moving (ASK) are followed. When a server is gone or does not answer in time,
 * the others are asked who has its slots now, again and again; requests that nobody has answered by the deadline are
 * lost, which is no error. A server that was lost once is asked again every few seconds without waiting for it.
 * Whatever servers send, an operation ends at its deadline, and what they may send is limited (resp.h). Used by one
 * thread at a time.
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

/* For an operation that begins now: settings.wait for another server to take over, and settings.timeout for its
 * answer. Several calls can share one. */
double trl__redis_deadline(const trl__redis_settings *settings);

/* Returns 0; TRL_EIO: none of the addresses answers, what answers is no Redis, or a server refuses; TRL_ENOMEM. The
 * settings must outlive it. */
int trl__redis_open(const trl__redis_settings *settings, double deadline, trl__redis **out, trl_error *err);
void trl__redis_close(trl__redis *redis);

/* Returns 0; TRL_EIO: a server answers with an error (its words are in the text), or with nonsense; TRL_ENOMEM. */
int trl__redis_run(trl__redis *redis, trl__redis_request *requests, size_t count, double deadline, trl_error *err);

/* Until the replicas, where there are any, have what was stored; TRL_EIO: not by the deadline. */
int trl__redis_settle(trl__redis *redis, double deadline, trl_error *err);

/* Removes the keys that match a pattern of Redis from all servers, but for those that begin with `kept`; it may take
 * 20 times settings.wait. */
int trl__redis_remove(trl__redis *redis, const char *pattern, const char *kept, trl_error *err);

/* How many servers have slots. */
size_t trl__redis_servers(const trl__redis *redis);

#endif
