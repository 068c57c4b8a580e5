/* The command `trellis` as a server for tests: a process per run, without the start of one.
 *
 * Standard input has a run per line, fields with tabs in between:
 *
 *     FAIL MODE SECONDS MEGABYTES FOLDER REPAIR COMMAND ARGUMENT …
 *
 * FAIL is the number of the allocation, from 1, that gets no memory, 0 for none; with MODE `one` it alone, with `all`
 * every one behind it too. All of the process count, those of libraries as well, since malloc and its kin are
 * replaced here. The run has FOLDER as its working folder, where it puts the checksums of the file REPAIR right
 * before it starts (-: of none), and puts `.stdout` and `.stderr` there, and `.where`: who asked for the memory that
 * was refused. More than MEGABYTES held at a time, or more than SECONDS, end it. For each run a line comes back on
 * standard output:
 *
 *     exit|signal|memory CODE ALLOCATIONS MOST_BYTES
 */
#define _GNU_SOURCE
#include "../container_repair.h"
#include "../stream_repair.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int command_main(int argc, char **argv); /* main() of the command, compiled under another name */

#ifdef SANITIZED /* this file itself is not: its malloc is called before the sanitizer is ready */
#define REAL(name) __interceptor_##name
void *__interceptor_memalign(size_t alignment, size_t size);

/* The loader's blocks are known by who called malloc, which it no longer is. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:_dl_map_object\n"
           "leak:cli_text_open\n"; /* a command that ends for want of memory in the midst of a text leaves it */
}
#else
#define REAL(name) __libc_##name
void *__libc_memalign(size_t alignment, size_t size);
#endif
void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *block, size_t size);
void REAL(free)(void *block);

enum { MEMORY_EXCEEDED = 77, MOST_FIELDS = 100, FRAMES = 24 };

/* Of the run, shared with the server. */
static struct run {
    atomic_long allocations, held, most;
    atomic_int exceeded;
} * run;

static atomic_int counting; /* in the run's process */
static long fail_at, fail_all, most_allowed;

static void say_where(void)
{
    void *frames[FRAMES];
    int fd = open(".where", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), fd);
    close(fd);
}

/* Counts an allocation. Has it to fail? */
static int refused(size_t size)
{
    if (!counting)
        return 0;
    long number = atomic_fetch_add(&run->allocations, 1) + 1;
    if ((long)size > most_allowed || atomic_load(&run->held) + (long)size > most_allowed) {
        counting = 0;
        run->exceeded = 1;
        say_where();
        _exit(MEMORY_EXCEEDED);
    }
    if (fail_at == 0 || (fail_all ? number < fail_at : number != fail_at))
        return 0;
    if (number == fail_at) {
        counting = 0;
        say_where();
        counting = 1;
    }
    errno = ENOMEM;
    return 1;
}

static void *held(void *block, long size)
{
    if (!counting || !block)
        return block;
    long now = atomic_fetch_add(&run->held, size) + size, most = run->most;
    while (now > most && !atomic_compare_exchange_weak(&run->most, &most, now)) {
    }
    return block;
}

#define REPLACED __attribute__((visibility("default")))
#define SIZE_OF(block) (counting && (block) ? (long)malloc_usable_size(block) : 0)

REPLACED void *malloc(size_t size)
{
    void *block = refused(size) ? NULL : REAL(malloc)(size);
    return held(block, SIZE_OF(block));
}

REPLACED void *calloc(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        total = SIZE_MAX / 2;
    void *block = refused(total) ? NULL : REAL(calloc)(count, size);
    return held(block, SIZE_OF(block));
}

REPLACED void *realloc(void *block, size_t size)
{
    long before = SIZE_OF(block);
    void *moved = refused(size) ? NULL : REAL(realloc)(block, size);
    return held(moved, SIZE_OF(moved) - before);
}

REPLACED void *memalign(size_t alignment, size_t size)
{
    void *block = refused(size) ? NULL : REAL(memalign)(alignment, size);
    return held(block, SIZE_OF(block));
}

REPLACED void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

REPLACED int posix_memalign(void **block, size_t alignment, size_t size)
{
    int before = errno;
    *block = memalign(alignment, size);
    errno = before;
    return *block ? 0 : ENOMEM;
}

REPLACED void free(void *block)
{
    if (counting && block)
        atomic_fetch_sub(&run->held, SIZE_OF(block));
    REAL(free)(block);
}

/* ---- A run ---- */

static void redirect(const char *path, int flags, int to)
{
    int fd = open(path, flags, 0666);
    if (fd < 0 || dup2(fd, to) < 0) {
        perror(path);
        _exit(126);
    }
    close(fd);
}

/* Of a container or a stream of M-phones. */
static void repair(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        _exit(126);
    }
    size_t size = (size_t)status.st_size;
    uint8_t *bytes = size >= 64 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (bytes != MAP_FAILED && memcmp(bytes, "trl-bam", 7) == 0)
        stream_repair(bytes, size);
    else if (bytes != MAP_FAILED)
        container_repair(bytes, size);
    close(fd);
}

static void run_command(char **fields, int count)
{
    char *arguments[MOST_FIELDS + 2] = {"trellis"};
    fail_at = strtol(fields[0], NULL, 10);
    fail_all = strcmp(fields[1], "all") == 0;
    most_allowed = strtol(fields[3], NULL, 10) << 20;
    if (chdir(fields[4]) != 0) {
        perror(fields[4]);
        _exit(126);
    }
    if (strcmp(fields[5], "-") != 0)
        repair(fields[5]);
    for (int i = 6; i < count; i++)
        arguments[i - 5] = fields[i];
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(".stdout", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(".stderr", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    alarm((unsigned)strtoul(fields[2], NULL, 10));
    counting = 1;
    int code = command_main(count - 5, arguments);
    counting = 0;
    fflush(stderr);
    exit(code);
}

static void answer(char **fields, int count)
{
    *run = (struct run){0};
    pid_t child = fork();
    if (child == 0)
        run_command(fields, count);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(1);
    }
    printf("%s %d %ld %ld\n",
           run->exceeded         ? "memory"
           : WIFSIGNALED(status) ? "signal"
                                 : "exit",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), run->allocations, run->most);
    fflush(stdout);
}

int main(void)
{
    static char line[1 << 16];
    void *frames[1];
    backtrace(frames, 1); /* loads a library the first time */
    run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (run != MAP_FAILED && fgets(line, sizeof line, stdin)) {
        char *fields[MOST_FIELDS], *cursor = line;
        int count = 0;
        line[strcspn(line, "\n")] = '\0';
        while (count < MOST_FIELDS && (fields[count] = strsep(&cursor, "\t")))
            count++;
        if (count < 7 || count == MOST_FIELDS) {
            fprintf(stderr, "command_server: no run: %s\n", line);
            return 1;
        }
        answer(fields, count);
    }
    return run == MAP_FAILED;
}
