#include "bam/resp.h"

#include "base/fail.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE_MOST 4096 /* bytes of a status, an error or a number */
#define ITEMS_MOST \
    ((size_t)1 << 20) /* of a list and the lists in it; each slot apart with two replicas is a third of that */
#define DEPTH_MOST 6  /* lists in lists; CLUSTER SLOTS has 4 */
#define FIRST_BLOCK ((size_t)1 << 16) /* bytes that are held for a text before any has come */

struct trl__resp {
    int fd;
    size_t next, filled;
    char in[16384];
};

double trl__resp_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the socket ---- */

/* Until the socket can do that. 0: not in time. */
static int await(int fd, short what, const trl__resp_limits *limits)
{
    double end = trl__resp_now() + limits->silence;
    if (end > limits->deadline)
        end = limits->deadline;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = what};
        double left = end - trl__resp_now();
        if (left <= 0)
            return 0;
        int ready = poll(&p, 1, left < 1e6 ? (int)(left * 1e3) + 1 : 1000000000);
        if (ready > 0)
            return 1;
        if (ready < 0 && errno != EINTR)
            return 0;
    }
}

/* -1: not this address. */
static int connect_to(const struct addrinfo *a, const trl__resp_limits *limits)
{
    int on = 1, trouble = 0;
    socklen_t size = sizeof trouble;
    int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (fd < 0)
        return -1;
    int is_ready = fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
    if (is_ready && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
        is_ready = errno == EINPROGRESS && await(fd, POLLOUT, limits) &&
                   getsockopt(fd, SOL_SOCKET, SO_ERROR, &trouble, &size) == 0 && trouble == 0;
    if (is_ready) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    close(fd);
    return -1;
}

int trl__resp_take(int fd, trl__resp **out, trl_error *err)
{
    *out = trl__alloc(1, sizeof **out);
    if (!*out) {
        close(fd);
        return trl__fail_memory(err);
    }
    (*out)->fd = fd;
    (*out)->next = (*out)->filled = 0;
    return 0;
}

int trl__resp_open(const char *host, int port, const trl__resp_limits *limits, trl__resp **out, trl_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    char service[16];
    int fd = -1;
    *out = NULL;
    snprintf(service, sizeof service, "%d", port);
    if (trl__resp_now() >= limits->deadline || getaddrinfo(host, service, &hints, &found) != 0)
        return 0;
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = connect_to(a, limits);
    freeaddrinfo(found);
    return fd < 0 ? 0 : trl__resp_take(fd, out, err);
}

void trl__resp_close(trl__resp *link)
{
    if (!link)
        return;
    close(link->fd);
    trl__free(link);
}

/* Without SIGPIPE when the server is gone. */
int trl__resp_send(trl__resp *link, const void *bytes, size_t size, const trl__resp_limits *limits)
{
    for (size_t at = 0; at < size;) {
        ssize_t sent = send(link->fd, (const char *)bytes + at, size - at, MSG_NOSIGNAL);
        if (sent > 0)
            at += (size_t)sent;
        else if (sent < 0 && errno == EINTR)
            continue;
        else if (sent == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) || !await(link->fd, POLLOUT, limits))
            return -1;
    }
    return 0;
}

/* Some bytes to what was read. 0: none come. The time is looked at even if there is always another byte. */
static int fill(trl__resp *link, const trl__resp_limits *limits)
{
    while (trl__resp_now() < limits->deadline) {
        ssize_t got = recv(link->fd, link->in, sizeof link->in, 0);
        if (got > 0) {
            link->next = 0;
            link->filled = (size_t)got;
            return 1;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) || !await(link->fd, POLLIN, limits))
            return 0;
    }
    return 0;
}

/* ---- answers ---- */

typedef struct reader {
    trl__resp *link;
    trl__resp_limits *limits;
    size_t items; /* that may still come */
    trl_error *err;
} reader;

/* Takes so much of what all values of an operation may have. */
static int spend(reader *r, size_t size)
{
    if (size > r->limits->bytes)
        return trl__fail(r->err, TRL_EIO, "it sends more than this can be");
    r->limits->bytes -= size;
    return 0;
}

/* Without its end; control characters, which a terminal may obey, become question marks. Returns 1, 0 or an error, as
 * all that follow. */
static int read_line(reader *r, char line[LINE_MOST + 1], size_t *size)
{
    trl__resp *link = r->link;
    for (*size = 0;;) {
        if (link->next == link->filled && !fill(link, r->limits))
            return 0;
        unsigned char c = (unsigned char)link->in[link->next++];
        if (c == '\n' && *size > 0 && line[*size - 1] == '\r') {
            line[--*size] = '\0';
            for (size_t i = 0; i < *size; i++)
                line[i] = (unsigned char)line[i] < ' ' || line[i] == 127 ? '?' : line[i];
            return 1;
        }
        if (*size == LINE_MOST)
            return trl__fail(r->err, TRL_EIO, "a line of more than %d bytes", LINE_MOST);
        line[(*size)++] = (char)c;
    }
}

static int parse_number(reader *r, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    intmax_t number = strtoimax(text, &end, 10);
    if (end == text || *end || errno || text[0] == ' ' || number < least || number > most)
        return trl__fail(r->err, TRL_EIO, "'%.40s' where a number or a length should be", text);
    *value = number;
    return 1;
}

/* Room grows with what comes, not with what is promised. */
static int read_bytes(reader *r, size_t size, trl__reply *out)
{
    trl__resp *link = r->link;
    size_t capacity = 0;
    for (out->size = 0; out->size < size;) {
        if (link->next == link->filled && !fill(link, r->limits))
            return 0;
        size_t n = link->filled - link->next, wanted = size - out->size;
        n = n < wanted ? n : wanted;
        if (TRL_GROW(out->text, capacity, size < FIRST_BLOCK ? size + 1 : out->size + n + 1) < 0)
            return trl__fail_memory(r->err);
        memcpy(out->text + out->size, link->in + link->next, n);
        out->size += n;
        link->next += n;
    }
    if (!out->text && !(out->text = trl__alloc(1, 1)))
        return trl__fail_memory(r->err);
    out->text[size] = '\0';
    return 1;
}

static int read_text(reader *r, const char *length, trl__reply *out)
{
    char line[LINE_MOST + 1];
    int64_t size = 0;
    size_t line_size;
    int code = parse_number(r, length, -1, INT64_MAX / 2, &size);
    if (code <= 0 || size < 0)
        return code;
    out->kind = TRL__REPLY_TEXT;
    code = spend(r, (size_t)size);
    if (code == 0)
        code = read_bytes(r, (size_t)size, out);
    if (code > 0)
        code = read_line(r, line, &line_size);
    return code > 0 && line_size > 0 ? trl__fail(r->err, TRL_EIO, "a text is longer than was said") : code;
}

static int read_reply(reader *r, int depth, trl__reply *out);

static int read_list(reader *r, const char *length, int depth, trl__reply *out)
{
    int64_t count = 0;
    size_t capacity = 0;
    int code = parse_number(r, length, -1, INT64_MAX, &count);
    if (code <= 0 || count < 0)
        return code;
    if (depth == DEPTH_MOST || (uint64_t)count > r->items)
        return trl__fail(r->err, TRL_EIO,
                         depth == DEPTH_MOST ? "lists in lists without end" : "a list of %" PRId64 " entries", count);
    r->items -= (size_t)count;
    out->kind = TRL__REPLY_LIST;
    while (code > 0 && out->count < (size_t)count) {
        if (TRL_GROW(out->items, capacity, out->count + 1) < 0)
            return trl__fail_memory(r->err);
        out->items[out->count] = (trl__reply){.kind = TRL__REPLY_NIL};
        code = read_reply(r, depth + 1, &out->items[out->count++]);
    }
    return code;
}

static int read_reply(reader *r, int depth, trl__reply *out)
{
    char line[LINE_MOST + 1];
    size_t size;
    int code = read_line(r, line, &size);
    if (code <= 0)
        return code;
    switch (line[0]) {
    case '$': return read_text(r, line + 1, out);
    case '*': return read_list(r, line + 1, depth, out);
    case ':': out->kind = TRL__REPLY_INTEGER; return parse_number(r, line + 1, INT64_MIN, INT64_MAX, &out->integer);
    case '+':
    case '-':
        out->kind = line[0] == '+' ? TRL__REPLY_STATUS : TRL__REPLY_ERROR;
        out->text = trl__strdup(line + 1);
        out->size = size - 1;
        return out->text ? 1 : trl__fail_memory(r->err);
    default: return trl__fail(r->err, TRL_EIO, "'%.40s'", line);
    }
}

int trl__resp_receive(trl__resp *link, trl__resp_limits *limits, trl__reply *out, trl_error *err)
{
    reader r = {link, limits, ITEMS_MOST, err};
    *out = (trl__reply){.kind = TRL__REPLY_NIL};
    int code = read_reply(&r, 0, out);
    if (code <= 0)
        trl__reply_free(out);
    return code;
}

void trl__reply_free(trl__reply *reply)
{
    for (size_t i = 0; i < reply->count; i++)
        trl__reply_free(&reply->items[i]);
    trl__free(reply->items);
    trl__free(reply->text);
    *reply = (trl__reply){.kind = TRL__REPLY_NIL};
}
