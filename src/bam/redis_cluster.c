#include "bam/redis_cluster.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

uint32_t trl__redis_slot(const char *key, size_t size)
{
    const char *open = memchr(key, '{', size);
    const char *close = open ? memchr(open + 1, '}', size - (size_t)(open + 1 - key)) : NULL;
    uint32_t crc = 0;
    if (close && close > open + 1) {
        key = open + 1;
        size = (size_t)(close - key);
    }
    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)(unsigned char)key[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
    }
    return crc % TRL__REDIS_SLOTS;
}

#if TRELLIS_REDIS

#include <errno.h>
#include <hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define NODES_MOST 1024
#define NOBODY 0          /* the node that has the slots that nobody has; it never answers */
#define REDIRECTIONS 16   /* rounds of a run in which requests are only sent elsewhere */
#define PAUSE 0.05        /* seconds before the first new attempt; then twice as long, up to … */
#define PAUSE_MOST 0.5    /* … this */
#define ASK_AGAIN 5.0     /* seconds until a lost server is tried again */
#define REMOVE_BATCH 1000 /* keys of a step of SCAN */

typedef struct node {
    char host[256];
    int port;
    redisContext *context; /* NULL: not connected */
    char *out;             /* what will be sent */
    size_t used, capacity;
    int has_slots, replicas; /* as the cluster says */
    int failed;              /* in this round */
    int down;                /* in this round: gone, or of no use as a whole */
    int lost;                /* requests were lost by it: nobody waits for it … */
    double ask_at;           /* … and it is not tried before this time */
} node;

struct trl__redis {
    const trl__redis_settings *settings;
    node nodes[NODES_MOST];
    size_t count;
    uint16_t slot_node[TRL__REDIS_SLOTS];
    redisReply **replies; /* whose bytes the requests of the last run have */
    size_t reply_count, reply_capacity;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pause_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* ---- nodes ---- */

/* The node at this address, a new one if need be; NOBODY where there are too many, or the name is too long. */
static size_t find_node(trl__redis *r, const char *host, int port)
{
    for (size_t i = 1; i < r->count; i++)
        if (r->nodes[i].port == port && strcmp(r->nodes[i].host, host) == 0)
            return i;
    if (r->count == NODES_MOST || strlen(host) >= sizeof r->nodes->host)
        return NOBODY;
    node *n = &r->nodes[r->count];
    memcpy(n->host, host, strlen(host) + 1);
    n->port = port;
    return r->count++;
}

static void disconnect(node *n)
{
    if (n->context)
        redisFree(n->context);
    n->context = NULL;
}

static int put(node *n, const void *bytes, size_t size)
{
    if (TRL_GROW(n->out, n->capacity, n->used + size) < 0)
        return -1;
    memcpy(n->out + n->used, bytes, size);
    n->used += size;
    return 0;
}

/* A command as Redis reads it: how many pieces, then each with its size. */
static int put_command(node *n, int pieces, const char *const *texts, const size_t *sizes)
{
    char head[32];
    int bad = put(n, head, (size_t)snprintf(head, sizeof head, "*%d\r\n", pieces));
    for (int i = 0; !bad && i < pieces; i++) {
        size_t size = sizes ? sizes[i] : strlen(texts[i]);
        bad = put(n, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", size)) || put(n, texts[i], size) ||
              put(n, "\r\n", 2);
    }
    return bad ? -1 : 0;
}

/* Not hiredis's own way, whose write() would end the process by SIGPIPE when the server is gone. Returns 0, or -1: disconnected. */
static int send_all(node *n)
{
    for (size_t at = 0; at < n->used;) {
        ssize_t sent = send(n->context->fd, n->out + at, n->used - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) {
            disconnect(n);
            break;
        }
        at += (size_t)sent;
    }
    n->used = 0;
    return n->context ? 0 : -1;
}

/* NULL: the server is gone, or silent for too long; disconnected. */
static redisReply *receive(node *n)
{
    void *reply = NULL;
    if (redisGetReply(n->context, &reply) == REDIS_OK && reply)
        return reply;
    disconnect(n);
    return NULL;
}

static int refuses(const node *n, const redisReply *reply, trl_error *err)
{
    return trl__fail(err, TRL_EIO, "%s:%d: the server says: %s", n->host, n->port, reply->str);
}

static int authenticate(const trl__redis_settings *s, node *n, trl_error *err)
{
    const char *with_user[] = {"AUTH", s->user, s->password}, *without[] = {"AUTH", s->password};
    n->used = 0;
    if (put_command(n, s->user ? 3 : 2, s->user ? with_user : without, NULL) < 0)
        return trl__fail_memory(err);
    redisReply *reply = send_all(n) == 0 ? receive(n) : NULL;
    int code = 0;
    if (reply && reply->type == REDIS_REPLY_ERROR)
        code = trl__fail(err, TRL_EIO,
                         "%s:%d: the server says: %s; TRELLIS_REDIS_USER and TRELLIS_REDIS_PASSWORD say who asks",
                         n->host, n->port, reply->str);
    if (reply)
        freeReplyObject(reply);
    if (code < 0)
        disconnect(n);
    return code;
}

/* Whether it can be reached shows by n->context; an error is one that waiting does not help against. What waits to be sent is kept. */
static int connect_to(const trl__redis *r, node *n, trl_error *err)
{
    const trl__redis_settings *s = r->settings;
    struct timeval limit = {(time_t)s->timeout, (suseconds_t)((s->timeout - (double)(time_t)s->timeout) * 1e6)};
    if (n->context || n->port == 0)
        return 0;
    n->context = redisConnectWithTimeout(n->host, n->port, limit);
    if (n->context && (n->context->err || redisSetTimeout(n->context, limit) != REDIS_OK))
        disconnect(n);
    if (!n->context || !s->password)
        return 0;
    node greeting = {.context = n->context, .port = n->port};
    memcpy(greeting.host, n->host, sizeof n->host);
    int code = authenticate(s, &greeting, err);
    n->context = greeting.context;
    trl__free(greeting.out);
    return code;
}

/* One command to one node and its answer, NULL: it is gone. */
static int ask(const trl__redis *r, node *n, int pieces, const char *const *texts, redisReply **reply, trl_error *err)
{
    *reply = NULL;
    n->used = 0;
    int code = connect_to(r, n, err);
    if (code < 0 || !n->context)
        return code;
    if (put_command(n, pieces, texts, NULL) < 0)
        return trl__fail_memory(err);
    *reply = send_all(n) == 0 ? receive(n) : NULL;
    return 0;
}

/* ---- who has which slots ---- */

/* An address in an answer; one without a host is that of the server that answers. */
static size_t node_of(trl__redis *r, const redisReply *address, const node *from)
{
    const redisReply *host = address->elements >= 2 ? address->element[0] : NULL;
    if (!host || address->element[1]->type != REDIS_REPLY_INTEGER)
        return NOBODY;
    int known = host->type == REDIS_REPLY_STRING && host->len > 0 && strcmp(host->str, "?") != 0;
    return find_node(r, known ? host->str : from->host, (int)address->element[1]->integer);
}

static void take_range(trl__redis *r, const redisReply *range, const node *from)
{
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 || range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER || range->element[2]->type != REDIS_REPLY_ARRAY)
        return;
    size_t owner = node_of(r, range->element[2], from);
    r->nodes[owner].has_slots = 1;
    r->nodes[owner].replicas = (int)range->elements - 3;
    for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer; slot++)
        if (slot >= 0 && slot < TRL__REDIS_SLOTS)
            r->slot_node[slot] = (uint16_t)owner;
    for (size_t i = 3; i < range->elements; i++) /* replicas can tell who has slots when no one else is left */
        if (range->element[i]->type == REDIS_REPLY_ARRAY)
            node_of(r, range->element[i], from);
}

static void take_slots(trl__redis *r, const redisReply *reply, size_t from)
{
    for (size_t i = 0; i < r->count; i++)
        r->nodes[i].has_slots = r->nodes[i].replicas = 0;
    for (size_t slot = 0; slot < TRL__REDIS_SLOTS; slot++)
        r->slot_node[slot] = (uint16_t)(reply->type == REDIS_REPLY_ARRAY ? NOBODY : from);
    if (reply->type != REDIS_REPLY_ARRAY)
        r->nodes[from].has_slots = 1;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        take_range(r, reply->element[i], &r->nodes[from]);
}

/* Asks nodes that are connected, then the others, until one tells. Returns 1, 0: none does, or an error. */
static int refresh(trl__redis *r, trl_error *err)
{
    static const char *const command[] = {"CLUSTER", "SLOTS"};
    for (int connected = 1; connected >= 0; connected--)
        for (size_t i = 1; i < r->count; i++) {
            redisReply *reply;
            node *n = &r->nodes[i];
            if ((n->context != NULL) != connected || (!connected && n->failed))
                continue;
            int code = ask(r, n, 2, command, &reply, err);
            if (code < 0)
                return code;
            n->failed = reply == NULL;
            if (!reply)
                continue;
            int single = reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "cluster support disabled") != NULL;
            if (reply->type == REDIS_REPLY_ERROR && !single) {
                code = refuses(n, reply, err);
                freeReplyObject(reply);
                return code;
            }
            take_slots(r, reply, i);
            freeReplyObject(reply);
            return 1;
        }
    return 0;
}

int trl__redis_open(const trl__redis_settings *settings, trl__redis **out, trl_error *err)
{
    trl__redis *r = trl__alloc_zero(1, sizeof *r);
    *out = NULL;
    if (!r)
        return trl__fail_memory(err);
    r->settings = settings;
    r->count = 1;
    for (size_t i = 0; i < settings->count; i++)
        find_node(r, settings->addresses[i].host, settings->addresses[i].port);
    int code = refresh(r, err);
    if (code == 0)
        code = trl__fail(err, TRL_EIO, "%s:%d: no Redis answers there%s", settings->addresses[0].host,
                         settings->addresses[0].port, settings->count > 1 ? ", nor at the other addresses" : "");
    if (code < 0) {
        trl__redis_close(r);
        return code;
    }
    *out = r;
    return 0;
}

static void free_replies(trl__redis *r)
{
    for (size_t i = 0; i < r->reply_count; i++)
        freeReplyObject(r->replies[i]);
    r->reply_count = 0;
}

void trl__redis_close(trl__redis *r)
{
    if (!r)
        return;
    free_replies(r);
    for (size_t i = 0; i < r->count; i++) {
        disconnect(&r->nodes[i]);
        trl__free(r->nodes[i].out);
    }
    trl__free(r->replies);
    trl__free(r);
}

size_t trl__redis_servers(const trl__redis *r)
{
    size_t servers = 0;
    for (size_t i = 1; i < r->count; i++)
        servers += (size_t)r->nodes[i].has_slots;
    return servers;
}

/* ---- a run ---- */

typedef struct batch {
    trl__redis *r;
    trl__redis_request *requests;
    size_t count;
    int moved, failed, refused; /* in this round: slots that are elsewhere; servers that are gone, or can't just now */
} batch;

static int put_request(node *n, const trl__redis_request *q)
{
    static const char *const asking[] = {"ASKING"};
    const char *texts[3] = {q->stored ? "SET" : "GET", q->key, q->stored};
    size_t sizes[3] = {3, q->key_size, q->stored_size};
    if (q->asks && put_command(n, 1, asking, NULL) < 0)
        return -1;
    return put_command(n, q->stored ? 3 : 2, texts, sizes);
}

static void fail_node(batch *b, node *n)
{
    n->failed = n->down = 1;
    n->used = 0;
    b->failed = 1;
}

/* Every request is written down for its node; those of a node that is known to be lost are lost at once. */
static int send_round(batch *b, trl_error *err)
{
    trl__redis *r = b->r;
    double time = now();
    for (size_t i = 0; i < r->count; i++) {
        r->nodes[i].failed = r->nodes[i].down = 0;
        r->nodes[i].used = 0;
    }
    for (size_t i = 0; i < b->count; i++) {
        trl__redis_request *q = &b->requests[i];
        if (q->status != TRL__REDIS_WAITING)
            continue;
        if (!q->asks)
            q->node = r->slot_node[trl__redis_slot(q->key, q->key_size)];
        if (r->nodes[q->node].lost && time < r->nodes[q->node].ask_at)
            q->status = TRL__REDIS_LOST;
        else if (put_request(&r->nodes[q->node], q) < 0)
            return trl__fail_memory(err);
    }
    for (size_t i = 0; i < r->count; i++) {
        node *n = &r->nodes[i];
        int code = n->used > 0 ? connect_to(r, n, err) : 0;
        if (code < 0)
            return code;
        if (n->used > 0 && (!n->context || send_all(n) < 0))
            fail_node(b, n);
    }
    return 0;
}

static int begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* "MOVED 3999 127.0.0.1:6381": a node; without a host, the server that says so has it on another port. */
static size_t redirected_to(trl__redis *r, const char *text, const node *from)
{
    char host[256];
    const char *address = strrchr(text, ' '), *colon = strrchr(text, ':');
    if (!address || !colon || colon < ++address || (size_t)(colon - address) >= sizeof host)
        return NOBODY;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    return find_node(r, host[0] ? host : from->host, (int)strtol(colon + 1, NULL, 10));
}

static int take_error(batch *b, trl__redis_request *q, node *n, const redisReply *reply, trl_error *err)
{
    static const char *const passing[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"};
    int asks = begins_with(reply->str, "ASK ");
    q->asks = 0;
    if (asks || begins_with(reply->str, "MOVED ")) {
        size_t target = redirected_to(b->r, reply->str, n);
        q->asks = asks;
        q->node = (int)target;
        if (!asks)
            b->r->slot_node[trl__redis_slot(q->key, q->key_size)] = (uint16_t)target;
        b->moved = 1;
        return 0;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (begins_with(reply->str, passing[i])) {
            b->refused = 1;
            n->down |= i > 0; /* not for the sake of one slot that is moving */
            return 0;
        }
    return refuses(n, reply, err);
}

/* Takes over the reply. */
static int take_reply(batch *b, trl__redis_request *q, node *n, redisReply *reply, trl_error *err)
{
    trl__redis *r = b->r;
    int code = 0;
    if (reply->type == REDIS_REPLY_ERROR)
        code = take_error(b, q, n, reply, err);
    else if (reply->type == REDIS_REPLY_NIL)
        q->status = TRL__REDIS_NONE;
    else if (reply->type == REDIS_REPLY_STATUS)
        q->status = TRL__REDIS_STORED;
    else if (reply->type != REDIS_REPLY_STRING)
        code = trl__fail(err, TRL_EIO, "%s:%d: an answer of another type than was asked for", n->host, n->port);
    else if (TRL_GROW(r->replies, r->reply_capacity, r->reply_count + 1) < 0)
        code = trl__fail_memory(err);
    else {
        r->replies[r->reply_count++] = reply;
        q->status = TRL__REDIS_VALUE;
        q->value = (const unsigned char *)reply->str;
        q->value_size = (size_t)reply->len;
        n->lost = 0;
        return 0;
    }
    if (q->status != TRL__REDIS_WAITING)
        n->lost = 0;
    freeReplyObject(reply);
    return code;
}

/* The answers of a node come in the order of its requests. */
static int receive_from(batch *b, size_t number, trl_error *err)
{
    node *n = &b->r->nodes[number];
    for (size_t i = 0; i < b->count; i++) {
        trl__redis_request *q = &b->requests[i];
        if (q->status != TRL__REDIS_WAITING || q->sent_to != (int)number)
            continue;
        redisReply *asked = q->asks ? receive(n) : NULL;
        redisReply *reply = q->asks && !asked ? NULL : receive(n);
        if (!reply) {
            freeReplyObject(asked);
            fail_node(b, n);
            return 0;
        }
        if (asked &&
            asked->type == REDIS_REPLY_ERROR) { /* why it was refused says this one; the other only sends back */
            redisReply *kept = reply;
            reply = asked;
            asked = kept;
        }
        freeReplyObject(asked);
        int code = take_reply(b, q, n, reply, err);
        if (code < 0) {
            disconnect(n); /* other answers are still to come */
            return code;
        }
    }
    return 0;
}

static size_t count_waiting(const batch *b)
{
    size_t waiting = 0;
    for (size_t i = 0; i < b->count; i++)
        waiting += b->requests[i].status == TRL__REDIS_WAITING;
    return waiting;
}

/* Who is waited for in vain is lost, and what it has. */
static void give_up(batch *b, int lost_before_only)
{
    for (size_t i = 0; i < b->count; i++) {
        trl__redis_request *q = &b->requests[i];
        node *n = &b->r->nodes[b->r->slot_node[trl__redis_slot(q->key, q->key_size)]];
        if (q->status != TRL__REDIS_WAITING || (lost_before_only && !n->lost))
            continue;
        q->status = TRL__REDIS_LOST;
        n->lost = n->down;
        n->ask_at = now() + ASK_AGAIN;
    }
}

static int one_round(batch *b, trl_error *err)
{
    b->moved = b->failed = b->refused = 0;
    int code = send_round(b, err);
    for (size_t i = 0; i < b->count; i++)
        b->requests[i].sent_to = b->requests[i].node;
    for (size_t i = 1; code == 0 && i < b->r->count; i++)
        if (!b->r->nodes[i].failed && b->r->nodes[i].context)
            code = receive_from(b, i, err);
    for (size_t i = 0; b->failed && i < b->count; i++)
        b->requests[i].asks = 0; /* it may be the one that was asked for that is gone */
    return code;
}

/* After an error answers may still be on their way: connections are not used again. */
static int abandon(trl__redis *r, int code)
{
    for (size_t i = 0; i < r->count; i++)
        disconnect(&r->nodes[i]);
    return code;
}

int trl__redis_run(trl__redis *r, trl__redis_request *requests, size_t count, trl_error *err)
{
    batch b = {.r = r, .requests = requests, .count = count};
    double limit = now() + r->settings->wait, pause = PAUSE;
    free_replies(r);
    for (size_t i = 0; i < count; i++) {
        requests[i].status = TRL__REDIS_WAITING;
        requests[i].asks = 0;
    }
    for (int round = 0;; round++) {
        int code = one_round(&b, err);
        if (code == 0 && count_waiting(&b) == 0)
            return 0;
        if (code == 0 && (b.moved || b.failed || b.refused))
            code = refresh(r, err);
        if (code < 0)
            return abandon(r, code);
        if (!b.failed && !b.refused && round < REDIRECTIONS)
            continue;
        give_up(&b, 1);
        if (now() >= limit)
            give_up(&b, 0);
        if (count_waiting(&b) == 0)
            return 0;
        pause_for(pause);
        pause = pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
    }
}

/* ---- all servers ---- */

int trl__redis_settle(trl__redis *r, trl_error *err)
{
    char limit[32], replicas[16];
    int code = refresh(r, err);
    for (size_t i = 1; code >= 0 && i < r->count; i++) {
        node *n = &r->nodes[i];
        const char *const command[] = {"WAIT", replicas, limit};
        redisReply *reply;
        if (!n->has_slots || n->replicas == 0)
            continue;
        /* The server waits; the client must not lose its patience before. */
        snprintf(limit, sizeof limit, "%d", (int)(r->settings->timeout * 500));
        snprintf(replicas, sizeof replicas, "%d", n->replicas);
        double end = now() + r->settings->wait;
        long long have = 0;
        do {
            code = ask(r, n, 3, command, &reply, err);
            have = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
            if (reply)
                freeReplyObject(reply);
        } while (code == 0 && have < n->replicas && now() < end);
        if (code == 0 && have < n->replicas)
            code = trl__fail(err, TRL_EIO, "%s:%d: %lld of %d replicas have what was stored; are the others up?",
                             n->host, n->port, have, n->replicas);
    }
    return code < 0 ? code : 0;
}

/* One step of SCAN: removes what was found. Returns 1 when there is more. */
static int remove_step(const trl__redis *r, node *n, const char *pattern, const char *kept, char cursor[32],
                       trl_error *err)
{
    char most[16];
    snprintf(most, sizeof most, "%d", REMOVE_BATCH);
    const char *const command[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", most};
    redisReply *reply, *removed;
    int code = ask(r, n, 6, command, &reply, err);
    if (code < 0)
        return code;
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
        if (reply)
            freeReplyObject(reply);
        return trl__fail(err, TRL_EIO, "%s:%d: old keys could not be listed", n->host, n->port);
    }
    snprintf(cursor, 32, "%s", reply->element[0]->str);
    for (size_t i = 0; code == 0 && i < reply->element[1]->elements; i++) {
        const char *const unlink[] = {"UNLINK", reply->element[1]->element[i]->str};
        if (begins_with(unlink[1], kept))
            continue;
        code = ask(r, n, 2, unlink, &removed, err);
        if (removed)
            freeReplyObject(removed);
    }
    freeReplyObject(reply);
    return code < 0 ? code : strcmp(cursor, "0") != 0;
}

int trl__redis_remove(trl__redis *r, const char *pattern, const char *kept, trl_error *err)
{
    int code = 0;
    for (size_t i = 1; code == 0 && i < r->count; i++) {
        char cursor[32] = "0";
        if (r->nodes[i].has_slots)
            while ((code = remove_step(r, &r->nodes[i], pattern, kept, cursor, err)) > 0)
                continue;
    }
    return code;
}

#else

static int missing(trl_error *err)
{
    return trl__fail(err, TRL_EUNSUPPORTED, "this trellis was built without hiredis, Redis's client");
}

int trl__redis_open(const trl__redis_settings *settings, trl__redis **out, trl_error *err)
{
    (void)settings;
    *out = NULL;
    return missing(err);
}

void trl__redis_close(trl__redis *redis)
{
    (void)redis;
}

int trl__redis_run(trl__redis *redis, trl__redis_request *requests, size_t count, trl_error *err)
{
    (void)redis, (void)requests, (void)count;
    return missing(err);
}

int trl__redis_settle(trl__redis *redis, trl_error *err)
{
    (void)redis;
    return missing(err);
}

int trl__redis_remove(trl__redis *redis, const char *pattern, const char *kept, trl_error *err)
{
    (void)redis, (void)pattern, (void)kept;
    return missing(err);
}

size_t trl__redis_servers(const trl__redis *redis)
{
    (void)redis;
    return 0;
}

#endif
