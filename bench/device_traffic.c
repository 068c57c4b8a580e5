/* What goes to and fro between the host and a device, and what it takes.
 *
 * A watched device has a driver that waits behind every transfer and every kernel, so that each one's time is its own; nothing overlaps then,
 * and so the sum is more than an unwatched operation takes. A launch's own cost is that of a kernel that does nothing.
 */
#include "backend/device/device_backend.h"
#include "device_bench.h"

#define EMPTY_LAUNCHES 200

static const trl__driver *watched; /* the driver whose calls are counted */
static trl__driver watcher;
static device_traffic traffic;

/* Waits for what was begun at `begun`, and adds its time. */
static int finish_timed(void *queue, int code, double begun, double *seconds, trl_error *err)
{
    if (code == 0)
        code = watched->finish(queue, err);
    *seconds += bench_wall_seconds() - begun;
    return code;
}

static int write_watched(void *queue, void *memory, size_t offset, const void *bytes, size_t size, trl_error *err)
{
    double begun = bench_wall_seconds();
    traffic.sends++;
    traffic.sent += (double)size;
    return finish_timed(queue, watched->write(queue, memory, offset, bytes, size, err), begun, &traffic.send_seconds,
                        err);
}

static int read_watched(void *queue, void *memory, size_t offset, void *bytes, size_t size, trl_error *err)
{
    double begun = bench_wall_seconds();
    traffic.fetches++;
    traffic.fetched += (double)size;
    return finish_timed(queue, watched->read(queue, memory, offset, bytes, size, err), begun, &traffic.fetch_seconds,
                        err);
}

static int map_watched(void *queue, void *memory, size_t size, const void **bytes, trl_error *err)
{
    double begun = bench_wall_seconds();
    traffic.fetches++;
    traffic.fetched += (double)size;
    return finish_timed(queue, watched->map(queue, memory, size, bytes, err), begun, &traffic.fetch_seconds, err);
}

static int launch_watched(void *queue, trl__kernel kernel, size_t groups, size_t items,
                          const trl__kernel_argument *arguments, size_t count, trl_error *err)
{
    double begun = bench_wall_seconds();
    traffic.launches++;
    return finish_timed(queue, watched->launch(queue, kernel, groups, items, arguments, count, err), begun,
                        &traffic.computed_seconds, err);
}

void device_watch(trl__device *device)
{
    trl__driven_device *driven = (trl__driven_device *)device;
    watched = driven->driver;
    watcher = *watched;
    watcher.write = write_watched;
    watcher.read = read_watched;
    watcher.map = watched->map ? map_watched : NULL;
    watcher.launch = launch_watched;
    driven->driver = &watcher;
    traffic = (device_traffic){0};
}

void device_unwatch(trl__device *device)
{
    ((trl__driven_device *)device)->driver = watched;
}

device_traffic device_watched(void)
{
    device_traffic now = traffic;
    traffic = (device_traffic){0};
    return now;
}

/* Frames into lanes, of which there are none. */
double device_empty_launch(trl__device *device)
{
    const trl__driven_device *driven = (const trl__driven_device *)device;
    const trl__driver *driver = driven->driver;
    const int32_t dim = 1, rows = 2, count = 0;
    void *queue, *memory;
    trl_error err;
    bench_check(driver->queue_create(driven->handle, &queue, &err), &err);
    bench_check(driver->memory_create(driven->handle, 4096, &memory, &err), &err);
    const trl__room room = {memory, 4096};
    const trl__kernel_argument any = trl__memory_argument(&room);
    const trl__kernel_argument arguments[] = {any,
                                              any,
                                              any,
                                              any,
                                              trl__value_argument(&dim, sizeof dim),
                                              trl__value_argument(&rows, sizeof rows),
                                              trl__value_argument(&count, sizeof count)};
    double begun = 0;
    for (int i = -1; i < EMPTY_LAUNCHES; i++) { /* the first one may build the kernel */
        if (i == 0)
            begun = bench_wall_seconds();
        bench_check(driver->launch(queue, TRL__KERNEL_PLACE_FRAMES, 1, 1, arguments,
                                   sizeof arguments / sizeof *arguments, &err),
                    &err);
        bench_check(driver->finish(queue, &err), &err);
    }
    double seconds = (bench_wall_seconds() - begun) / EMPTY_LAUNCHES;
    driver->memory_destroy(memory);
    driver->queue_destroy(queue);
    return seconds;
}
