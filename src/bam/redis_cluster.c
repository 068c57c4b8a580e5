#include "bam/redis_nodes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REDIRECTIONS 16   /* rounds of a run in which requests are only sent elsewhere */
#define PAUSE 0.05        /* seconds before the first new attempt; then twice as long, up to … */
#define PAUSE_MOST 0.5    /* … this */
#define ASK_AGAIN 5.0     /* seconds until a lost server is tried again */
#define REMOVE_BATCH 1000 /* keys of a step of SCAN */
#define REMOVE_WAITS 20   /* removing old keys may take so many times settings.wait */
#define CURSOR 24         /* its text, with the NUL */

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

static void pause_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* ---- a run ---- */

typedef struct batch {
    trl__redis *r;
    trl__redis_request *requests;
    size_t count;
    int moved, failed, refused; /* in this round: slots that are elsewhere; servers that are gone, or can't just now */
} batch;

static int put_request(trl__redis_node *n, const trl__redis_request *q)
{
    static const char *const asking[] = {"ASKING"};
    const char *texts[3] = {q->stored ? "SET" : "GET", q->key, q->stored};
    size_t sizes[3] = {3, q->key_size, q->stored_size};
    if (q->asks && trl__redis_put_command(n, 1, asking, NULL) < 0)
        return -1;
    return trl__redis_put_command(n, q->stored ? 3 : 2, texts, sizes);
}

static void fail_node(batch *b, trl__redis_node *n)
{
    n->failed = n->down = 1;
    n->used = 0;
    b->failed = 1;
}

/* Every request is written down for its node; those of a node that is known to be lost are lost at once. */
static int send_round(batch *b, trl_error *err)
{
    trl__redis *r = b->r;
    double time = trl__resp_now();
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
        trl__redis_node *n = &r->nodes[i];
        int code = n->used > 0 ? trl__redis_connect(r, n, err) : 0;
        if (code < 0)
            return code;
        if (n->used > 0 && (!n->link || trl__redis_send(r, n) < 0))
            fail_node(b, n);
    }
    return 0;
}

static int begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* "MOVED 3999 127.0.0.1:6381": a node; without a host, the server that says so has it on another port. */
static size_t redirected_to(trl__redis *r, const char *text, const trl__redis_node *from)
{
    char host[256];
    const char *address = strrchr(text, ' '), *colon = strrchr(text, ':');
    if (!address || !colon || colon < ++address || (size_t)(colon - address) >= sizeof host)
        return TRL__REDIS_NOBODY;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    return trl__redis_find_node(r, host[0] ? host : from->host, strtol(colon + 1, NULL, 10));
}

static int take_error(batch *b, trl__redis_request *q, trl__redis_node *n, const trl__reply *reply, trl_error *err)
{
    static const char *const passing[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"};
    int asks = begins_with(reply->text, "ASK ");
    q->asks = 0;
    if (asks || begins_with(reply->text, "MOVED ")) {
        size_t target = redirected_to(b->r, reply->text, n);
        q->asks = asks;
        q->node = (int)target;
        if (!asks)
            b->r->slot_node[trl__redis_slot(q->key, q->key_size)] = (uint16_t)target;
        b->moved = 1;
        return 0;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (begins_with(reply->text, passing[i])) {
            b->refused = 1;
            n->down |= i > 0; /* not for the sake of one slot that is moving */
            return 0;
        }
    return trl__redis_refuses(n, reply, err);
}

/* Takes the text out of the reply. */
static int take_reply(batch *b, trl__redis_request *q, trl__redis_node *n, trl__reply *reply, trl_error *err)
{
    trl__redis *r = b->r;
    if (reply->kind == TRL__REPLY_ERROR)
        return take_error(b, q, n, reply, err);
    if (reply->kind != (q->stored                       ? TRL__REPLY_STATUS
                        : reply->kind == TRL__REPLY_NIL ? TRL__REPLY_NIL
                                                        : TRL__REPLY_TEXT))
        return trl__fail(err, TRL_EIO, "%s:%d: an answer of another type than was asked for", n->host, n->port);
    if (reply->kind == TRL__REPLY_TEXT && TRL_GROW(r->values, r->value_capacity, r->value_count + 1) < 0)
        return trl__fail_memory(err);
    q->status = q->stored ? TRL__REDIS_STORED : reply->kind == TRL__REPLY_NIL ? TRL__REDIS_NONE : TRL__REDIS_VALUE;
    n->lost = 0;
    if (reply->kind == TRL__REPLY_TEXT) {
        q->value = (const unsigned char *)reply->text;
        q->value_size = reply->size;
        r->values[r->value_count++] = reply->text;
        reply->text = NULL;
    }
    return 0;
}

/* The answer to a request; where ASKING stood before it, the one of both that says why it was refused. Returns as
 * receive. */
static int receive_answer(batch *b, const trl__redis_request *q, trl__redis_node *n, trl__reply *reply, trl_error *err)
{
    trl__reply asked = {.kind = TRL__REPLY_NIL};
    int code = q->asks ? trl__redis_receive(b->r, n, &asked, err) : 1;
    if (code > 0)
        code = trl__redis_receive(b->r, n, reply, err);
    if (code > 0 && asked.kind == TRL__REPLY_ERROR) { /* the other only sends back */
        trl__reply other = *reply;
        *reply = asked;
        asked = other;
    }
    trl__reply_free(&asked);
    return code;
}

/* The answers of a node come in the order of its requests. */
static int receive_from(batch *b, size_t number, trl_error *err)
{
    trl__redis_node *n = &b->r->nodes[number];
    for (size_t i = 0; i < b->count; i++) {
        trl__redis_request *q = &b->requests[i];
        trl__reply reply = {.kind = TRL__REPLY_NIL};
        if (q->status != TRL__REDIS_WAITING || q->sent_to != (int)number)
            continue;
        int code = receive_answer(b, q, n, &reply, err);
        if (code == 0) {
            fail_node(b, n);
            return 0;
        }
        if (code > 0)
            code = take_reply(b, q, n, &reply, err);
        trl__reply_free(&reply);
        if (code < 0) {
            trl__redis_disconnect(n); /* other answers are still to come */
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
        trl__redis_node *n = &b->r->nodes[b->r->slot_node[trl__redis_slot(q->key, q->key_size)]];
        if (q->status != TRL__REDIS_WAITING || (lost_before_only && !n->lost))
            continue;
        q->status = TRL__REDIS_LOST;
        n->lost = n->down;
        n->ask_at = trl__resp_now() + ASK_AGAIN;
    }
}

static int one_round(batch *b, trl_error *err)
{
    b->moved = b->failed = b->refused = 0;
    int code = send_round(b, err);
    for (size_t i = 0; i < b->count; i++)
        b->requests[i].sent_to = b->requests[i].node;
    for (size_t i = 1; code == 0 && i < b->r->count; i++)
        if (!b->r->nodes[i].failed && b->r->nodes[i].link)
            code = receive_from(b, i, err);
    for (size_t i = 0; b->failed && i < b->count; i++)
        b->requests[i].asks = 0; /* it may be the one that was asked for that is gone */
    return code;
}

/* After an error answers may still be on their way: connections are not used again. */
static int abandon(trl__redis *r, int code)
{
    for (size_t i = 0; i < r->count; i++)
        trl__redis_disconnect(&r->nodes[i]);
    return code;
}

int trl__redis_run(trl__redis *r, trl__redis_request *requests, size_t count, double deadline, trl_error *err)
{
    batch b = {.r = r, .requests = requests, .count = count};
    double limit = deadline - r->settings->timeout, pause = PAUSE; /* a last answer has its time */
    trl__redis_begin(r, deadline);
    trl__redis_free_values(r);
    for (size_t i = 0; i < count; i++) {
        requests[i].status = TRL__REDIS_WAITING;
        requests[i].asks = 0;
    }
    for (int round = 0;; round++) {
        int code = one_round(&b, err);
        if (code == 0 && count_waiting(&b) == 0)
            return 0;
        if (code == 0 && (b.moved || b.failed || b.refused))
            code = trl__redis_refresh(r, err);
        if (code < 0)
            return abandon(r, code);
        if (!b.failed && !b.refused && round < REDIRECTIONS)
            continue;
        give_up(&b, 1);
        if (trl__resp_now() >= limit)
            give_up(&b, 0);
        if (count_waiting(&b) == 0)
            return 0;
        pause_for(pause);
        pause = pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
    }
}

/* ---- all servers ---- */

/* Until the replicas of a node have what was stored, or the time is over. */
static int settle_node(trl__redis *r, trl__redis_node *n, trl_error *err)
{
    char limit[32], replicas[16];
    const char *const command[] = {"WAIT", replicas, limit};
    int64_t have = 0;
    int code;
    /* The server waits; the client must not lose its patience before. */
    snprintf(limit, sizeof limit, "%d", (int)(r->settings->timeout * 500));
    snprintf(replicas, sizeof replicas, "%d", n->replicas);
    do {
        trl__reply reply;
        code = trl__redis_ask(r, n, 3, command, &reply, err);
        have = reply.kind == TRL__REPLY_INTEGER ? reply.integer : 0;
        trl__reply_free(&reply);
    } while (code > 0 && have < n->replicas && trl__resp_now() < r->limits.deadline - r->settings->timeout);
    if (code >= 0 && have < n->replicas)
        code = trl__fail(err, TRL_EIO, "%s:%d: %" PRId64 " of %d replicas have what was stored; are the others up?",
                         n->host, n->port, have, n->replicas);
    return code < 0 ? code : 0;
}

int trl__redis_settle(trl__redis *r, double deadline, trl_error *err)
{
    trl__redis_begin(r, deadline);
    int code = trl__redis_refresh(r, err);
    for (size_t i = 1; code >= 0 && i < r->count; i++)
        if (r->nodes[i].has_slots && r->nodes[i].replicas > 0)
            code = settle_node(r, &r->nodes[i], err);
    return code < 0 ? code : 0;
}

static int is_found(const trl__reply *found)
{
    if (found->kind != TRL__REPLY_LIST || found->count != 2 || found->items[0].kind != TRL__REPLY_TEXT ||
        found->items[0].size >= CURSOR || found->items[1].kind != TRL__REPLY_LIST)
        return 0;
    for (size_t i = 0; i < found->items[1].count; i++)
        if (found->items[1].items[i].kind != TRL__REPLY_TEXT)
            return 0;
    return 1;
}

/* Removes keys that were found, all in one go. Returns as receive. */
static int remove_found(trl__redis *r, trl__redis_node *n, const trl__reply *keys, const char *kept, trl_error *err)
{
    size_t removed = 0;
    n->used = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const char *const unlink[] = {"UNLINK", keys->items[i].text};
        const size_t sizes[] = {6, keys->items[i].size};
        if (begins_with(unlink[1], kept))
            continue;
        if (trl__redis_put_command(n, 2, unlink, sizes) < 0)
            return trl__fail_memory(err);
        removed++;
    }
    int code = removed == 0 || trl__redis_send(r, n) == 0;
    for (; code > 0 && removed > 0; removed--) {
        trl__reply reply;
        code = trl__redis_receive(r, n, &reply, err);
        if (code > 0 && reply.kind == TRL__REPLY_ERROR)
            code = trl__redis_refuses(n, &reply, err);
        trl__reply_free(&reply);
    }
    return code;
}

/* One step of SCAN: removes what was found. Returns 1 when there is more. */
static int remove_step(trl__redis *r, trl__redis_node *n, const char *pattern, const char *kept, char cursor[CURSOR],
                       trl_error *err)
{
    char most[16];
    snprintf(most, sizeof most, "%d", REMOVE_BATCH);
    const char *const command[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", most};
    trl__reply found;
    int code = trl__redis_ask(r, n, 6, command, &found, err);
    if (code > 0 && found.kind == TRL__REPLY_ERROR)
        code = trl__redis_refuses(n, &found, err);
    else if (code > 0 && !is_found(&found))
        code =
            trl__fail(err, TRL_EIO, "%s:%d: what answers there is no Redis: its SCAN makes no sense", n->host, n->port);
    if (code > 0)
        code = remove_found(r, n, &found.items[1], kept, err);
    if (code > 0)
        snprintf(cursor, CURSOR, "%s", found.items[0].text);
    trl__reply_free(&found);
    if (code != 0)
        return code < 0 ? code : strcmp(cursor, "0") != 0;
    return trl__fail(
        err, TRL_EIO,
        "%s:%d: the new model counts, but old keys could not all be listed and removed%s; load it again to "
        "have them removed",
        n->host, n->port, trl__resp_now() < r->limits.deadline ? "" : " in time (TRELLIS_REDIS_WAIT)");
}

int trl__redis_remove(trl__redis *r, const char *pattern, const char *kept, trl_error *err)
{
    const trl__redis_settings *s = r->settings;
    int code = 0;
    trl__redis_begin(r, trl__resp_now() + REMOVE_WAITS * s->wait + s->timeout);
    for (size_t i = 1; code == 0 && i < r->count; i++) {
        char cursor[CURSOR] = "0";
        if (r->nodes[i].has_slots)
            do {
                r->limits.bytes = TRL__REDIS_BYTES_MOST; /* of each step: nothing is kept */
                code = remove_step(r, &r->nodes[i], pattern, kept, cursor, err);
            } while (code > 0);
    }
    return code;
}
