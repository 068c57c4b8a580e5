/* Atomic files: whatever happens before the commit, the old file is there whole and the folder holds nothing else.
 *
 * The system calls that the library makes are replaced below, so that each of them can be made to fail, to be slow or
 * to be recorded. Every test runs twice: with nameless files (O_TMPFILE) and without. */
#define _GNU_SOURCE
#include "temp_folder.h"

#include "base/memory.h"

#include <trellis/file.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct {
    int no_tmpfile, no_proc, no_fsync, no_rename, no_link; /* 1: the call fails */
    int taken;                                             /* so many temporary names exist already */
    int dribble; /* 1: every other write is interrupted, the others take 1000 bytes at most */
    int tracing;
    char trace[64]; /* the calls in order: write, fsync, link, rename */
} fake;

static void trace(char call)
{
    size_t length = strlen(fake.trace);
    if (fake.tracing && length + 1 < sizeof fake.trace && (length == 0 || fake.trace[length - 1] != call))
        fake.trace[length] = call;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = va_arg(args, mode_t);
    va_end(args);
    if ((flags & O_TMPFILE) == O_TMPFILE && fake.no_tmpfile)
        return refuse(EOPNOTSUPP);
    if (flags & O_EXCL && fake.taken > 0 && fake.taken--)
        return refuse(EEXIST);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int access(const char *path, int mode)
{
    return fake.no_proc ? refuse(ENOENT) : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    static int turn;
    trace('w');
    if (fake.dribble && turn++ % 2)
        return refuse(EINTR);
    return syscall(SYS_write, fd, bytes, fake.dribble && size > 1000 ? 1000 : size);
}

int fsync(int fd)
{
    trace('f');
    return fake.no_fsync ? refuse(EIO) : (int)syscall(SYS_fsync, fd);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    trace('l');
    if (fake.taken > 0 && fake.taken--)
        return refuse(EEXIST);
    return fake.no_link ? refuse(EPERM) : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int rename(const char *from, const char *to)
{
    trace('r');
    return fake.no_rename ? refuse(EXDEV) : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static int files_before;

static int begin(void **state)
{
    files_before = open_files();
    return temp_folder_make(state);
}

static int begin_without_tmpfile(void **state)
{
    fake.no_tmpfile = 1;
    return begin(state);
}

static int end(void **state)
{
    memset(&fake, 0, sizeof fake);
    trl__memory_fail_after(0);
    return temp_folder_remove(state) != 0 || open_files() != files_before;
}

static trl_file *create(const char *name)
{
    trl_file *file;
    trl_error err;
    if (trl_file_create(temp_path(name), &file, &err) < 0)
        fail_msg("%s", err.text);
    return file;
}

static void replace(const char *name, const char *content)
{
    trl_file *file = create(name);
    assert_int_equal(trl_file_write(file, content, strlen(content), NULL), 0);
    assert_int_equal(trl_file_commit(file, NULL), 0);
}

/* Nothing but the old file, as it was. */
static void expect_only_old(void)
{
    temp_expect("target", "old", 3);
    assert_int_equal(temp_entries(0), 1);
}

static void the_old_file_stays_until_the_commit(void **state)
{
    (void)state;
    static char large[600000];
    memset(large, 'n', sizeof large);
    temp_write("target", "old", 3);
    trl_file *file = create("target");
    assert_int_equal(trl_file_write(file, "new", 3, NULL), 0);
    assert_int_equal(trl_file_write(file, large, sizeof large, NULL), 0);
    assert_int_equal(trl_file_write(file, NULL, 0, NULL), 0);
    assert_int_equal(trl_file_position(file), 3 + sizeof large);
    temp_expect("target", "old", 3);
    assert_int_equal(temp_entries(0), fake.no_tmpfile ? 2 : 1);
    assert_int_equal(trl_file_commit(file, NULL), 0);
    char *whole = malloc(3 + sizeof large);
    memcpy(whole, "new", 3);
    memcpy(whole + 3, large, sizeof large);
    temp_expect("target", whole, 3 + sizeof large);
    free(whole);
    assert_int_equal(temp_entries(0), 1);
}

static void an_abort_leaves_no_trace(void **state)
{
    (void)state;
    trl_file *file = create("target");
    assert_int_equal(trl_file_write(file, "new", 3, NULL), 0);
    trl_file_abort(file);
    assert_int_equal(temp_entries(0), 0);
    temp_write("target", "old", 3);
    file = create("target");
    trl_file_abort(file);
    trl_file_abort(NULL);
    expect_only_old();
}

/* Written, then synced, then named, then the folder synced: in another order a power cut could lose both files. */
static void calls_come_in_the_safe_order(void **state)
{
    (void)state;
    trl_file *file = create("target");
    assert_int_equal(trl_file_write(file, "new", 3, NULL), 0);
    fake.tracing = 1;
    assert_int_equal(trl_file_commit(file, NULL), 0);
    assert_string_equal(fake.trace, fake.no_tmpfile ? "wfrf" : "wflrf");
}

static void every_byte_arrives_in_order(void **state)
{
    (void)state;
    static unsigned char expected[700000];
    for (size_t i = 0; i < sizeof expected; i++)
        expected[i] = (unsigned char)(i * 7 + i / 251);
    fake.dribble = 1;
    trl_file *file = create("target");
    size_t at = 0;
    for (size_t step = 1; at < sizeof expected; at += step, step = step * 3 % 300007) {
        step = step < sizeof expected - at ? step : sizeof expected - at;
        assert_int_equal(trl_file_write(file, expected + at, step, NULL), 0);
        assert_int_equal(trl_file_position(file), at + step);
    }
    assert_int_equal(trl_file_commit(file, NULL), 0);
    temp_expect("target", expected, sizeof expected);
}

static void text_of_any_length_is_printed(void **state)
{
    (void)state;
    char expected[4000], word[1001];
    memset(word, 'w', 1000);
    word[1000] = '\0';
    trl_file *file = create("target");
    assert_int_equal(trl_file_print(file, NULL, "%d %s\n", 7, "x"), 0);
    assert_int_equal(trl_file_print(file, NULL, "%s|%s", word, word), 0);
    assert_int_equal(trl_file_print(file, NULL, "%.511s%.512s", word, word), 0);
    trl__memory_fail_after(1);
    assert_int_equal(trl_file_print(file, NULL, "%s", word), TRL_ENOMEM);
    trl__memory_fail_after(0);
    assert_int_equal(trl_file_commit(file, NULL), 0);
    int length = snprintf(expected, sizeof expected, "7 x\n%s|%s%.511s%.512s", word, word, word, word);
    temp_expect("target", expected, (size_t)length);
}

static void written_bytes_can_be_rewritten(void **state)
{
    (void)state;
    trl_file *file = create("target");
    trl_error err;
    assert_int_equal(trl_file_write(file, "0123456789", 10, NULL), 0);
    assert_int_equal(trl_file_rewrite(file, 0, "ab", 2, &err), 0);
    assert_int_equal(trl_file_rewrite(file, 8, "yz", 2, &err), 0);
    assert_int_equal(trl_file_rewrite(file, 10, "", 0, &err), 0);
    assert_int_equal(trl_file_rewrite(file, 9, "yz", 2, &err), TRL_EINVAL);
    assert_int_equal(trl_file_rewrite(file, UINT64_MAX, "yz", 2, &err), TRL_EINVAL);
    assert_int_equal(trl_file_position(file), 10);
    assert_int_equal(trl_file_write(file, "end", 3, NULL), 0);
    assert_int_equal(trl_file_commit(file, NULL), 0);
    temp_expect("target", "ab234567yzend", 13);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static char large[1 << 20];
    temp_write("target", "old", 3);
    struct rlimit before, small = {0};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    small.rlim_cur = 300000;
    signal(SIGXFSZ, SIG_IGN);
    trl_file *early = create("target"), *late = create("target"), *deaf = create("target");
    trl_error err;
    setrlimit(RLIMIT_FSIZE, &small);
    int early_code = trl_file_write(early, large, sizeof large, &err); /* the write fails */
    int late_code = trl_file_write(late, large, 200000, NULL) + trl_file_write(late, large, 200000, NULL);
    late_code = late_code ? late_code : trl_file_commit(late, NULL); /* only the commit's flush fails */
    trl_file_write(deaf, large, sizeof large, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(early_code, TRL_EIO);
    assert_non_null(strstr(err.text, "target: writing failed: File too large"));
    assert_int_equal(late_code, TRL_EIO);
    trl_file_abort(early);
    assert_int_equal(trl_file_commit(deaf, &err), TRL_EIO); /* a caller who did not look at the first failure */
    expect_only_old();
}

static void a_failing_commit_leaves_the_old_file(void **state)
{
    (void)state;
    int *const failures[] = {&fake.no_fsync, &fake.no_rename, &fake.no_link};
    temp_write("target", "old", 3);
    for (int i = 0; i < (fake.no_tmpfile ? 2 : 3); i++) {
        trl_error err;
        trl_file *file = create("target");
        assert_int_equal(trl_file_write(file, "new", 3, NULL), 0);
        *failures[i] = 1;
        assert_int_equal(trl_file_commit(file, &err), TRL_EIO);
        *failures[i] = 0;
        assert_non_null(strstr(err.text, "target: "));
        expect_only_old();
    }
}

static void create_three(trl_file *files[3])
{
    static const char *const names[] = {"a", "target", "c"};
    for (int i = 0; i < 3; i++) {
        files[i] = create(names[i]);
        assert_int_equal(trl_file_write(files[i], names[i], 1, NULL), 0);
    }
}

/* Equal calls in a row are traced once: all are written, then all synced, then all put in place, then the folder is synced. */
static void many_files_are_synced_before_the_first_appears(void **state)
{
    (void)state;
    trl_file *files[3];
    create_three(files);
    fake.tracing = 1;
    assert_int_equal(trl_file_commit_all(files, 3, NULL), 0);
    assert_string_equal(fake.trace, fake.no_tmpfile ? "wfrf" : "wflrlrlrf");
    temp_expect("a", "a", 1);
    temp_expect("target", "t", 1);
    temp_expect("c", "c", 1);
    assert_int_equal(trl_file_commit_all(NULL, 0, NULL), 0);
}

static void many_files_fail_together(void **state)
{
    (void)state;
    int *const failures[] = {&fake.no_fsync, &fake.no_rename};
    temp_write("target", "old", 3);
    for (int i = 0; i < 2; i++) {
        trl_file *files[3];
        create_three(files);
        *failures[i] = 1;
        trl_error err;
        assert_int_equal(trl_file_commit_all(files, 3, &err), TRL_EIO);
        *failures[i] = 0;
        assert_non_null(strstr(err.text, "/a: "));
        expect_only_old();
    }
}

static void devices_are_written_directly(void **state)
{
    (void)state;
    static char large[1 << 20];
    trl_file *file;
    trl_error err;
    assert_int_equal(trl_file_create("/dev/full", &file, &err), 0);
    assert_int_equal(trl_file_write(file, large, sizeof large, &err), TRL_EIO);
    assert_string_equal(err.text, "/dev/full: writing failed: No space left on device");
    trl_file_abort(file);
    assert_int_equal(trl_file_create("/dev/full", &file, &err), 0);
    assert_int_equal(trl_file_write(file, "small", 5, &err), 0);
    assert_int_equal(trl_file_commit(file, &err), TRL_EIO);
    assert_int_equal(trl_file_create("/dev/null", &file, &err), 0);
    assert_int_equal(trl_file_write(file, large, sizeof large, &err), 0);
    assert_int_equal(trl_file_rewrite(file, 0, "x", 1, &err), TRL_EUNSUPPORTED);
    assert_int_equal(trl_file_commit(file, &err), 0);
}

static void pipes_and_standard_output(void **state)
{
    (void)state;
    int ends[2];
    char path[64], got[16] = "";
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    trl_file *file;
    assert_int_equal(trl_file_create(path, &file, NULL), 0);
    assert_int_equal(trl_file_print(file, NULL, "through"), 0);
    assert_int_equal(trl_file_commit(file, NULL), 0);
    assert_int_equal(read(ends[0], got, sizeof got - 1), 7);
    assert_string_equal(got, "through");
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    int code = trl_file_create("-", &file, NULL);
    code = code ? code : trl_file_write(file, "stdout", 6, NULL);
    code = code ? code : trl_file_commit(file, NULL);
    int still_open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    dup2(saved, STDOUT_FILENO);
    assert_int_equal(code, 0);
    assert_true(still_open);
    assert_int_equal(read(ends[0], got, sizeof got - 1), 6);
    assert_memory_equal(got, "stdout", 6);
    close(saved);
    close(ends[0]);
    close(ends[1]);
}

/* The child writes half, says so, and waits for its end. */
static void killed_writers_leave_the_old_file(void **state)
{
    (void)state;
    static char half[1 << 20];
    temp_write("target", "old", 3);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        trl_file *file;
        if (trl_file_create(temp_path("target"), &file, NULL) == 0 &&
            trl_file_write(file, half, sizeof half, NULL) == 0 && write(ends[1], "h", 1) == 1)
            pause();
        _exit(1);
    }
    char byte;
    int status;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    temp_expect("target", "old", 3);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    close(ends[0]);
    close(ends[1]);
    temp_expect("target", "old", 3);
    if (!fake.no_tmpfile)
        expect_only_old(); /* without O_TMPFILE the dead writer's file remains */
    replace("target", "new");
    temp_expect("target", "new", 3);
}

static void a_taken_name_is_not_used(void **state)
{
    (void)state;
    temp_write("target", "old", 3);
    fake.taken = 3;
    replace("target", "new");
    assert_int_equal(fake.taken, 0);
    temp_expect("target", "new", 3);
    assert_int_equal(temp_entries(0), 1);
}

static void without_proc_files_have_names(void **state)
{
    (void)state;
    fake.no_proc = 1;
    trl_file *file = create("target");
    assert_int_equal(temp_entries(0), 1);
    assert_int_equal(trl_file_commit(file, NULL), 0);
    temp_expect("target", "", 0);
    assert_int_equal(temp_entries(0), 1);
}

static void links_stay_and_targets_are_replaced(void **state)
{
    (void)state;
    struct stat status;
    temp_write("target", "old", 3);
    assert_int_equal(symlink("target", temp_path("link")), 0);
    assert_int_equal(symlink(temp_path("link"), temp_path("chain")), 0);
    replace("link", "one");
    temp_expect("target", "one", 3);
    replace("chain", "two");
    temp_expect("target", "two", 3);
    unlink(temp_path("target")); /* both links dangle now */
    replace("chain", "three");
    temp_expect("target", "three", 5);
    assert_int_equal(lstat(temp_path("link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(temp_path("chain"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(temp_entries(0), 3);
}

static void permissions_are_kept(void **state)
{
    (void)state;
    struct stat status;
    mode_t before = umask(027);
    replace("target", "new");
    umask(before);
    assert_int_equal(stat(temp_path("target"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    static const mode_t modes[] = {0600, 0444, 0755};
    for (size_t i = 0; i < 3; i++) {
        chmod(temp_path("target"), modes[i]);
        replace("target", "newer");
        assert_int_equal(stat(temp_path("target"), &status), 0);
        assert_int_equal(status.st_mode & 07777, modes[i]);
    }
}

static void names_of_all_lengths(void **state)
{
    (void)state;
    char name[256], here[4096];
    memset(name, 'n', 255);
    name[255] = '\0';
    replace(name, "new");
    temp_expect(name, "new", 3);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(temp_folder), 0); /* names without a folder */
    trl_file *file;
    int code = trl_file_create("x", &file, NULL);
    code = code ? code : trl_file_commit(file, NULL);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(code, 0);
    temp_expect("x", "", 0);
    assert_int_equal(temp_entries(0), 2);
}

static void impossible_targets_are_refused_at_once(void **state)
{
    (void)state;
    trl_file *file;
    trl_error err;
    assert_int_equal(trl_file_create(temp_path("no/such"), &file, &err), TRL_ENOENT);
    assert_null(file);
    assert_non_null(strstr(err.text, "no/such: can't create: No such file or directory"));
    assert_int_equal(trl_file_create(temp_folder, &file, &err), TRL_EIO);
    assert_non_null(strstr(err.text, "is a folder; name a file to write"));
    assert_int_equal(trl_file_create("", &file, &err), TRL_ENOENT);
    assert_string_equal(err.text, "an empty file name can't be written");
}

struct writer {
    char letter;
    int failures;
};

enum { WRITERS = 4, WHOLE = 300000 };

static void *write_often(void *user)
{
    struct writer *writer = user;
    char *content = malloc(WHOLE);
    memset(content, writer->letter, WHOLE);
    char path[512];
    snprintf(path, sizeof path, "%s/target", temp_folder);
    for (int i = 0; i < 15; i++) {
        trl_file *file;
        writer->failures += trl_file_create(path, &file, NULL) < 0 || trl_file_write(file, content, WHOLE, NULL) < 0 ||
                            trl_file_commit(file, NULL) < 0;
    }
    free(content);
    return NULL;
}

/* A reader sees one writer's file, whole, at any moment. */
static void expect_one_whole_file(void)
{
    static char content[WHOLE + 1];
    FILE *file = fopen(temp_path("target"), "rb");
    assert_non_null(file);
    size_t size = fread(content, 1, sizeof content, file);
    fclose(file);
    assert_int_equal(size, WHOLE);
    for (size_t i = 1; i < WHOLE; i++)
        if (content[i] != content[0])
            fail_msg("byte %zu is another writer's", i);
}

static void many_writers_one_whole_file(void **state)
{
    (void)state;
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    char *first = malloc(WHOLE);
    memset(first, 'o', WHOLE);
    temp_write("target", first, WHOLE);
    free(first);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.letter = (char)('a' + i)};
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, &writers[i]), 0);
    }
    for (int i = 0; i < 20; i++)
        expect_one_whole_file();
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(writers[i].failures, 0);
    }
    expect_one_whole_file();
    assert_int_equal(temp_entries(0), 1);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    temp_write("target", "old", 3);
    int code = TRL_ENOMEM, failures = -1;
    for (long n = 1; code != 0; n++, failures++) {
        trl_file *file;
        trl_error err;
        trl__memory_fail_after(n);
        code = trl_file_create(temp_path("target"), &file, &err);
        trl__memory_fail_after(0);
        if (code == 0) {
            trl_file_abort(file);
        } else {
            assert_int_equal(code, TRL_ENOMEM);
            assert_null(file);
        }
        expect_only_old();
    }
    assert_int_equal(failures, 5); /* the object, path, buffer, folder and temporary name */
}

#define TWICE(test)                                             \
    cmocka_unit_test_setup_teardown(test, begin, end),          \
    {                                                           \
#test ", named", test, begin_without_tmpfile, end, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE(the_old_file_stays_until_the_commit),
        TWICE(an_abort_leaves_no_trace),
        TWICE(calls_come_in_the_safe_order),
        TWICE(every_byte_arrives_in_order),
        TWICE(text_of_any_length_is_printed),
        TWICE(written_bytes_can_be_rewritten),
        TWICE(a_full_disk_leaves_the_old_file),
        TWICE(a_failing_commit_leaves_the_old_file),
        TWICE(many_files_are_synced_before_the_first_appears),
        TWICE(many_files_fail_together),
        TWICE(devices_are_written_directly),
        TWICE(pipes_and_standard_output),
        TWICE(killed_writers_leave_the_old_file),
        TWICE(a_taken_name_is_not_used),
        TWICE(without_proc_files_have_names),
        TWICE(links_stay_and_targets_are_replaced),
        TWICE(permissions_are_kept),
        TWICE(names_of_all_lengths),
        TWICE(impossible_targets_are_refused_at_once),
        TWICE(many_writers_one_whole_file),
        TWICE(every_allocation_may_fail),
    };
    return RUN(tests);
}
