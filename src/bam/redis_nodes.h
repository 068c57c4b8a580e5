/* What the client of Redis Clusters knows of servers: addresses, connections, who has which slots. Inside of the
 * client. */
#ifndef TRL_BAM_REDIS_NODES_H
#define TRL_BAM_REDIS_NODES_H

#include "bam/redis_cluster.h"
#include "bam/resp.h"

#define TRL__REDIS_NODES_MOST 1024
#define TRL__REDIS_NOBODY 0                     /* the node that has the slots that nobody has; it never answers */
#define TRL__REDIS_BYTES_MOST ((size_t)1 << 30) /* of all answers of an operation */

typedef struct trl__redis_node {
    char host[256];
    int port;
    trl__resp *link; /* NULL: not connected */
    char *out;       /* what will be sent */
    size_t used, capacity;
    int has_slots, replicas; /* as the cluster says */
    int failed;              /* in this round */
    int down;                /* in this round: gone, or of no use as a whole */
    int lost;                /* requests were lost by it: nobody waits for it … */
    double ask_at;           /* … and it is not tried before this time */
} trl__redis_node;

struct trl__redis {
    const trl__redis_settings *settings;
    trl__redis_node nodes[TRL__REDIS_NODES_MOST];
    size_t count;
    uint16_t slot_node[TRL__REDIS_SLOTS];
    char **values; /* that the requests of the last run have */
    size_t value_count, value_capacity;
    trl__resp_limits limits; /* of the operation */
};

/* An operation with this deadline begins. */
void trl__redis_begin(trl__redis *r, double deadline);
/* Of the run before. */
void trl__redis_free_values(trl__redis *r);

/* The node at this address, a new one if need be; TRL__REDIS_NOBODY where there are too many, or this can't be one. */
size_t trl__redis_find_node(trl__redis *r, const char *host, int64_t port);

/* Whether it can be reached shows by n->link; an error is one that waiting does not help against. What waits to be
 * sent is kept. */
int trl__redis_connect(trl__redis *r, trl__redis_node *n, trl_error *err);
void trl__redis_disconnect(trl__redis_node *n);

/* A command as Redis reads it, to what will be sent: how many pieces, each with its size; sizes may be NULL. -1: out
 * of memory. */
int trl__redis_put_command(trl__redis_node *n, int pieces, const char *const *texts, const size_t *sizes);
/* Returns 0, or -1: disconnected. */
int trl__redis_send(const trl__redis *r, trl__redis_node *n);
/* Returns 1; 0: the server is gone, or silent for too long; or an error. Without an answer it is disconnected. */
int trl__redis_receive(trl__redis *r, trl__redis_node *n, trl__reply *reply, trl_error *err);
/* One command and its answer; returns as trl__redis_receive. */
int trl__redis_ask(trl__redis *r, trl__redis_node *n, int pieces, const char *const *texts, trl__reply *reply,
                   trl_error *err);
/* An error with the server's words. */
int trl__redis_refuses(const trl__redis_node *n, const trl__reply *reply, trl_error *err);

/* Asks nodes that are connected, then the others, who has which slots, until one tells. Returns 1, 0: none does, or
 * an error. */
int trl__redis_refresh(trl__redis *r, trl_error *err);

#endif
