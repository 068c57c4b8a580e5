/* A connection to a Redis server: what is sent, and answers in RESP 2, from a server that may mean harm.
 *
 * Everything ends at a time that the caller says, however slowly a server sends, and before that when it is silent
 * for too long. Names of hosts are looked up by the system, which has an end of its own. Lines, arrays, their depth
 * and all bytes of an operation are limited.
 */
#ifndef TRL_BAM_RESP_H
#define TRL_BAM_RESP_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__resp trl__resp;

/* Of an operation, which may need many answers of many servers. */
typedef struct trl__resp_limits {
    double deadline; /* as trl__resp_now() counts */
    double silence;  /* seconds without a byte */
    size_t bytes;    /* of values and lists that may still come */
} trl__resp_limits;

typedef enum trl__reply_kind {
    TRL__REPLY_NIL,
    TRL__REPLY_INTEGER,
    TRL__REPLY_STATUS,
    TRL__REPLY_ERROR,
    TRL__REPLY_TEXT,
    TRL__REPLY_LIST
} trl__reply_kind;

typedef struct trl__reply {
    trl__reply_kind kind;
    int64_t integer;
    char *text; /* of a status, an error or a text; `size` bytes aligned as malloc does, and a NUL */
    size_t size;
    struct trl__reply *items; /* of a list */
    size_t count;
} trl__reply;

/* Seconds of a clock that is never set. */
double trl__resp_now(void);

/* *out is NULL where the server can't be reached in time. Returns 0 or TRL_ENOMEM. */
int trl__resp_open(const char *host, int port, const trl__resp_limits *limits, trl__resp **out, trl_error *err);
/* Of a socket that is connected and never waits; it is closed with the connection, and at once on TRL_ENOMEM. */
int trl__resp_take(int fd, trl__resp **out, trl_error *err);
void trl__resp_close(trl__resp *link);

/* Returns 0; -1: the server is gone, or does not take it in time. */
int trl__resp_send(trl__resp *link, const void *bytes, size_t size, const trl__resp_limits *limits);

/* One answer, freed by trl__reply_free. Returns 1; 0: the server is gone, silent, or too slow; TRL_EIO: this is no
 * answer of Redis, or beyond a limit; TRL_ENOMEM. After anything but 1 the connection is of no more use. */
int trl__resp_receive(trl__resp *link, trl__resp_limits *limits, trl__reply *out, trl_error *err);
void trl__reply_free(trl__reply *reply);

#endif
