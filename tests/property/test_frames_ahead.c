/* Frames that are sent ahead, by what a CUDA driver is asked for: they go up by a queue of their own before anybody waits for the batch in hand,
 * the queues follow each other where they must, and no batch that fits without them fails for want of memory. */
#include "batch_outcome.h"
#include "cmocka_test.h"
#include "device_fixture.h"
#include "temp_folder.h"

#include <dlfcn.h>

enum { BATCH = 3 };

static void (*log_calls)(const char *name); /* of the fake libcuda */

static int set_up(void **state)
{
    const char *fake = getenv("TRELLIS_FAKE_CUDA");
    void *library = fake && fake[0] ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "fake_cuda_log") : NULL;
    memcpy(&log_calls, &symbol, sizeof symbol);
    return temp_folder_make(state);
}

static void make_searches(random_search **r)
{
    for (size_t i = 0; i < MOST; i++) {
        r[i] = make_search(300, 40, (mixture_kind){13, 4, 7, 2, 0, 0.5f});
        r[i]->s.stays = 1;
    }
}

static void free_searches(random_search **r)
{
    for (size_t i = 0; i < MOST; i++)
        random_search_free(r[i]);
}

/* Batch after batch, as a training does. Returns the first failure. */
static int run_batches(trl__device *device, random_search **r, int with_ahead)
{
    trl__search s[MOST], next[MOST];
    trl__stream *stream = NULL;
    trl__parameters *p = NULL;
    int code = trl__device_load_model(device, &r[0]->model, NULL, &p, &err);
    if (code == 0)
        code = trl__stream_create(device, &stream, &err);
    for (size_t first = 0; code == 0 && first < MOST; first += BATCH) {
        size_t end = first + BATCH, next_end = end + BATCH < MOST ? end + BATCH : MOST;
        code = trl__stream_frames(stream, p, s, take_searches(r, first, end, s), &err);
        if (code == 0 && with_ahead && end < MOST)
            trl__stream_frames_ahead(stream, p, next, take_searches(r, end, next_end, next));
        if (code == 0)
            code = trl__stream_score(stream, p, s, BATCH, &err);
        if (code == 0)
            code = trl__stream_viterbi(stream, s, BATCH, &err);
        for (size_t i = 0; code == 0 && i < BATCH; i++)
            assert_true(s[i].log_likelihood > -INFINITY);
    }
    trl__stream_destroy(stream);
    trl__parameters_free(p);
    return code;
}

/* A line is the call, the queue, and what it is of. */
static char read_call(char *line, long *queue)
{
    char *rest = strchr(line, ' ');
    assert_non_null(rest);
    *queue = strtol(rest, &rest, 10);
    return strncmp(line, "kernel ", 7) == 0 ? rest[1] : line[0];
}

/* A letter per call from the first batch on: u, an upload; p, s and v, the kernels; w, a wait; f, the queue follows the other one. Capital
 * letters: by a later queue than that of the kernels; the model came by an earlier one. */
static void read_calls(const char *name, char *calls, size_t room)
{
    FILE *file = fopen(name, "r");
    char line[100];
    long queue, kernels = 0;
    size_t count = 0;
    assert_non_null(file);
    while (kernels == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "kernel ", 7) == 0)
            read_call(line, &kernels);
    rewind(file);
    while (fgets(line, sizeof line, file) && count + 1 < room) {
        char letter = read_call(line, &queue);
        if (queue >= kernels)
            calls[count++] = queue == kernels ? letter : (char)(letter - 'a' + 'A');
    }
    calls[count] = '\0';
    fclose(file);
}

static void log_batches(const char *device_name, random_search **r, int with_ahead, char *calls, size_t room)
{
    trl__device *device;
    const char *name = temp_path("calls");
    CHECK(trl__device_open(device_name, &device, &err));
    log_calls(name);
    CHECK(run_batches(device, r, with_ahead));
    log_calls(NULL);
    read_calls(name, calls, room);
    trl__device_close(device);
}

static void later_frames_go_up_before_the_wait(void **state)
{
    (void)state;
    random_search *r[MOST];
    const char *const devices[] = {"cuda:0", "auto", "cuda:1,cpu"};
    if (!log_calls)
        skip();
    make_searches(r);
    for (size_t d = 0; d < 3; d++) {
        char calls[200];
        log_batches(devices[d], r, 1, calls, sizeof calls);
        /* frames, those of the next batch, pieces of rows, scores, records of searches, paths, wait; and what ends a stream */
        assert_string_equal(calls, "uupFUUusuvw"
                                   "fpFUUusuvw"
                                   "fpusuvw"
                                   "w");
        log_batches(devices[d], r, 0, calls, sizeof calls);
        assert_string_equal(calls, "uupusuvw"
                                   "uupusuvw"
                                   "uupusuvw"
                                   "w");
    }
    free_searches(r);
}

static int run_with_memory(random_search **r, long bytes, int with_ahead)
{
    trl__device *device;
    char text[30];
    snprintf(text, sizeof text, "%ld", bytes);
    setenv("FAKE_CUDA_MEMORY", text, 1);
    CHECK(trl__device_open("cuda:0", &device, &err));
    int code = run_batches(device, r, with_ahead);
    trl__device_close(device);
    unsetenv("FAKE_CUDA_MEMORY");
    return code;
}

/* From the least memory in which the batches can be computed at all. Rooms take more than they need where they can, so a little more memory may
 * be too little again, with and without. */
static void what_is_sent_ahead_makes_room(void **state)
{
    (void)state;
    random_search *r[MOST];
    long too_few = 1000, enough = 10000000;
    if (!log_calls)
        skip();
    make_searches(r);
    while (enough - too_few > 1) {
        long bytes = (too_few + enough) / 2;
        if (run_with_memory(r, bytes, 0) == 0)
            enough = bytes;
        else
            too_few = bytes;
    }
    assert_int_equal(run_with_memory(r, too_few, 1), TRL_ENOMEM);
    for (long bytes = enough; bytes < 3 * enough; bytes += 1 + enough / 10)
        if (run_with_memory(r, bytes, 0) == 0)
            CHECK(run_with_memory(r, bytes, 1));
    free_searches(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_frames_go_up_before_the_wait),
        cmocka_unit_test(what_is_sent_ahead_makes_room),
    };
    return cmocka_run_group_tests(tests, set_up, temp_folder_remove);
}
