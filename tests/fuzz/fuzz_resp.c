/* Any bytes as answers of a Redis server that then hangs up: each is taken, or refused. */
#include "bam/resp.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__resp_limits limits = {.deadline = trl__resp_now() + 60, .silence = 60, .bytes = 1 << 20};
    trl__resp *link;
    trl__reply reply;
    trl_error err;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return 0;
    int is_ready = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 &&
                   send(ends[1], data, size, MSG_NOSIGNAL) == (ssize_t)size; /* it all has room */
    close(ends[1]);
    if (trl__resp_take(ends[0], &link, &err) < 0)
        return 0;
    while (is_ready && trl__resp_receive(link, &limits, &reply, &err) > 0)
        trl__reply_free(&reply);
    trl__resp_close(link);
    return 0;
}
