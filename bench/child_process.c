#define _DEFAULT_SOURCE /* wait4, MAP_ANONYMOUS */
#include "child_process.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double status_mb(pid_t process, const char *field)
{
    char path[64], line[256];
    double kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kilobytes = strtod(line + strlen(field), NULL);
    if (file)
        fclose(file);
    return kilobytes / 1024;
}

child_peaks child_run(void (*work)(void *user), void *user)
{
    struct rusage usage = {0};
    int status = 1;
    child_peaks peaks = {0};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        work(user);
        _exit(0);
    }
    while (child > 0 && wait4(child, &status, WNOHANG, &usage) == 0) {
        peaks.own = fmax(peaks.own, status_mb(child, "RssAnon:"));
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    }
    if (status != 0) {
        fputs("trellis-bench: a process that measures memory failed\n", stderr);
        exit(3);
    }
    peaks.all = (double)usage.ru_maxrss / 1024;
    return peaks;
}

void *child_shared(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        perror("trellis-bench: mmap");
        exit(3);
    }
    return block;
}

void child_shared_free(void *block, size_t size)
{
    munmap(block, size);
}

double child_own_mb(void)
{
    malloc_trim(0);
    return status_mb(getpid(), "RssAnon:");
}
