#include "bam/redis_nodes.h"

#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

double trl__redis_deadline(const trl__redis_settings *settings)
{
    return trl__resp_now() + settings->wait + settings->timeout;
}

void trl__redis_begin(trl__redis *r, double deadline)
{
    r->limits =
        (trl__resp_limits){.deadline = deadline, .silence = r->settings->timeout, .bytes = TRL__REDIS_BYTES_MOST};
}

/* ---- nodes ---- */

size_t trl__redis_find_node(trl__redis *r, const char *host, int64_t port)
{
    if (port < 1 || port > 65535)
        return TRL__REDIS_NOBODY;
    for (const char *c = host; *c; c++)
        if (*c <= ' ' || *c == 127) /* names of other alphabets are written in this one too */
            return TRL__REDIS_NOBODY;
    for (size_t i = 1; i < r->count; i++)
        if (r->nodes[i].port == port && strcmp(r->nodes[i].host, host) == 0)
            return i;
    if (r->count == TRL__REDIS_NODES_MOST || strlen(host) >= sizeof r->nodes->host)
        return TRL__REDIS_NOBODY;
    trl__redis_node *n = &r->nodes[r->count];
    memcpy(n->host, host, strlen(host) + 1);
    n->port = (int)port;
    return r->count++;
}

void trl__redis_disconnect(trl__redis_node *n)
{
    trl__resp_close(n->link);
    n->link = NULL;
}

static int put(trl__redis_node *n, const void *bytes, size_t size)
{
    if (TRL_GROW(n->out, n->capacity, n->used + size) < 0)
        return -1;
    memcpy(n->out + n->used, bytes, size);
    n->used += size;
    return 0;
}

int trl__redis_put_command(trl__redis_node *n, int pieces, const char *const *texts, const size_t *sizes)
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

int trl__redis_send(const trl__redis *r, trl__redis_node *n)
{
    if (trl__resp_send(n->link, n->out, n->used, &r->limits) < 0)
        trl__redis_disconnect(n);
    n->used = 0;
    return n->link ? 0 : -1;
}

int trl__redis_receive(trl__redis *r, trl__redis_node *n, trl__reply *reply, trl_error *err)
{
    trl_error why;
    int code = trl__resp_receive(n->link, &r->limits, reply, &why);
    if (code <= 0)
        trl__redis_disconnect(n);
    if (code == TRL_ENOMEM)
        return trl__fail_memory(err);
    return code >= 0
               ? code
               : trl__fail(err, TRL_EIO, "%s:%d: what answers there is no Redis: %.200s", n->host, n->port, why.text);
}

int trl__redis_refuses(const trl__redis_node *n, const trl__reply *reply, trl_error *err)
{
    return trl__fail(err, TRL_EIO, "%s:%d: the server says: %s", n->host, n->port, reply->text);
}

static int authenticate(trl__redis *r, trl__redis_node *n, trl_error *err)
{
    const trl__redis_settings *s = r->settings;
    const char *with_user[] = {"AUTH", s->user, s->password}, *without[] = {"AUTH", s->password};
    trl__reply reply = {.kind = TRL__REPLY_NIL};
    n->used = 0;
    if (trl__redis_put_command(n, s->user ? 3 : 2, s->user ? with_user : without, NULL) < 0)
        return trl__fail_memory(err);
    int code = trl__redis_send(r, n) == 0 ? trl__redis_receive(r, n, &reply, err) : 0;
    if (reply.kind == TRL__REPLY_ERROR)
        code = trl__fail(err, TRL_EIO,
                         "%s:%d: the server says: %s; TRELLIS_REDIS_USER and TRELLIS_REDIS_PASSWORD say who asks",
                         n->host, n->port, reply.text);
    trl__reply_free(&reply);
    if (code < 0)
        trl__redis_disconnect(n);
    return code < 0 ? code : 0;
}

int trl__redis_connect(trl__redis *r, trl__redis_node *n, trl_error *err)
{
    if (n->link || n->port == 0)
        return 0;
    int code = trl__resp_open(n->host, n->port, &r->limits, &n->link, err);
    if (code < 0 || !n->link || !r->settings->password)
        return code;
    trl__redis_node greeting = {.link = n->link, .port = n->port};
    memcpy(greeting.host, n->host, sizeof n->host);
    code = authenticate(r, &greeting, err);
    n->link = greeting.link;
    trl__free(greeting.out);
    return code;
}

int trl__redis_ask(trl__redis *r, trl__redis_node *n, int pieces, const char *const *texts, trl__reply *reply,
                   trl_error *err)
{
    *reply = (trl__reply){.kind = TRL__REPLY_NIL};
    n->used = 0;
    int code = trl__redis_connect(r, n, err);
    if (code < 0 || !n->link)
        return code;
    if (trl__redis_put_command(n, pieces, texts, NULL) < 0)
        return trl__fail_memory(err);
    return trl__redis_send(r, n) == 0 ? trl__redis_receive(r, n, reply, err) : 0;
}

/* ---- who has which slots ---- */

/* An address in an answer; one without a host is that of the server that answers. */
static size_t node_of(trl__redis *r, const trl__reply *address, const trl__redis_node *from)
{
    if (address->kind != TRL__REPLY_LIST || address->count < 2 || address->items[1].kind != TRL__REPLY_INTEGER)
        return TRL__REDIS_NOBODY;
    const trl__reply *host = &address->items[0];
    int known = host->kind == TRL__REPLY_TEXT && host->size > 0 && strcmp(host->text, "?") != 0;
    return trl__redis_find_node(r, known ? host->text : from->host, address->items[1].integer);
}

/* First and last slot, who has them, replicas. Returns 0; -1: this is no range. */
static int take_range(trl__redis *r, const trl__reply *range, const trl__redis_node *from)
{
    if (range->kind != TRL__REPLY_LIST || range->count < 3 || range->items[0].kind != TRL__REPLY_INTEGER ||
        range->items[1].kind != TRL__REPLY_INTEGER || range->items[2].kind != TRL__REPLY_LIST)
        return -1;
    int64_t first = range->items[0].integer, last = range->items[1].integer;
    if (first < 0 || last < first || last >= TRL__REDIS_SLOTS)
        return -1;
    size_t owner = node_of(r, &range->items[2], from);
    r->nodes[owner].has_slots = 1;
    r->nodes[owner].replicas = (int)range->count - 3;
    for (int64_t slot = first; slot <= last; slot++)
        r->slot_node[slot] = (uint16_t)owner;
    for (size_t i = 3; i < range->count; i++) /* replicas can tell who has slots when no one else is left */
        node_of(r, &range->items[i], from);
    return 0;
}

static int take_slots(trl__redis *r, const trl__reply *reply, size_t from, trl_error *err)
{
    const trl__redis_node *n = &r->nodes[from];
    int is_list = reply->kind == TRL__REPLY_LIST, bad = is_list && reply->count > TRL__REDIS_SLOTS;
    for (size_t i = 0; i < r->count; i++)
        r->nodes[i].has_slots = r->nodes[i].replicas = 0;
    for (size_t slot = 0; slot < TRL__REDIS_SLOTS; slot++)
        r->slot_node[slot] = (uint16_t)(is_list ? TRL__REDIS_NOBODY : from);
    if (!is_list)
        r->nodes[from].has_slots = 1;
    for (size_t i = 0; is_list && !bad && i < reply->count; i++)
        bad = take_range(r, &reply->items[i], n) < 0;
    return bad ? trl__fail(err, TRL_EIO, "%s:%d: what answers there is no Redis: its CLUSTER SLOTS makes no sense",
                           n->host, n->port)
               : 0;
}

/* What a server says about slots. Without cluster support it has all. */
static int take_slots_answer(trl__redis *r, const trl__reply *reply, size_t from, trl_error *err)
{
    int single = reply->kind == TRL__REPLY_ERROR && strstr(reply->text, "cluster support disabled") != NULL;
    if (reply->kind == TRL__REPLY_ERROR && !single)
        return trl__redis_refuses(&r->nodes[from], reply, err);
    return take_slots(r, reply, from, err);
}

int trl__redis_refresh(trl__redis *r, trl_error *err)
{
    static const char *const command[] = {"CLUSTER", "SLOTS"};
    for (int connected = 1; connected >= 0; connected--)
        for (size_t i = 1; i < r->count; i++) {
            trl__reply reply;
            trl__redis_node *n = &r->nodes[i];
            if ((n->link != NULL) != connected || (!connected && n->failed))
                continue;
            int code = trl__redis_ask(r, n, 2, command, &reply, err);
            n->failed = code == 0;
            if (code > 0 && (code = take_slots_answer(r, &reply, i, err)) == 0)
                code = 1;
            trl__reply_free(&reply);
            if (code != 0)
                return code;
        }
    return 0;
}

int trl__redis_open(const trl__redis_settings *settings, double deadline, trl__redis **out, trl_error *err)
{
    trl__redis *r = trl__alloc_zero(1, sizeof *r);
    *out = NULL;
    if (!r)
        return trl__fail_memory(err);
    r->settings = settings;
    r->count = 1;
    trl__redis_begin(r, deadline);
    for (size_t i = 0; i < settings->count; i++)
        trl__redis_find_node(r, settings->addresses[i].host, settings->addresses[i].port);
    int code = trl__redis_refresh(r, err);
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

void trl__redis_free_values(trl__redis *r)
{
    for (size_t i = 0; i < r->value_count; i++)
        trl__free(r->values[i]);
    r->value_count = 0;
}

void trl__redis_close(trl__redis *r)
{
    if (!r)
        return;
    trl__redis_free_values(r);
    for (size_t i = 0; i < r->count; i++) {
        trl__redis_disconnect(&r->nodes[i]);
        trl__free(r->nodes[i].out);
    }
    trl__free(r->values);
    trl__free(r);
}

size_t trl__redis_servers(const trl__redis *r)
{
    size_t servers = 0;
    for (size_t i = 1; i < r->count; i++)
        servers += (size_t)r->nodes[i].has_slots;
    return servers;
}
