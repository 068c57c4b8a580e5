/* What servers that play Redis in the tests share: a socket on loopback, and commands as they come. */
#ifndef TESTS_REDIS_SERVER_H
#define TESTS_REDIS_SERVER_H

#include "cmocka_test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* A listening socket, and its port. */
static inline int listen_on_loopback(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listening, 100), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return listening;
}

/* A line with this mark and a number; -1: another, or none. */
static inline long read_number(FILE *in, char mark)
{
    char line[64];
    return fgets(line, sizeof line, in) && line[0] == mark ? strtol(line + 1, NULL, 10) : -1;
}

/* The first word of a command, all of which is read; 0: the client is gone. */
static inline int read_command(FILE *in, char word[32])
{
    char bytes[1000];
    long pieces = read_number(in, '*');
    for (long i = 0; i < pieces; i++) {
        long size = read_number(in, '$');
        if (size < 0 || size > 900 || fread(bytes, 1, (size_t)size + 2, in) != (size_t)size + 2)
            return 0;
        bytes[size] = '\0';
        if (i == 0)
            snprintf(word, 32, "%.31s", bytes);
    }
    return pieces > 0;
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
