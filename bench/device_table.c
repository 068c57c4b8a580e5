/* Tables of operations on a device: what they took, and how much of it was the way there and back. */
#include "device_bench.h"

#include <math.h>
#include <stdio.h>

static double launching(const device_choice *device, const device_row *row)
{
    return fmin((double)row->traffic.launches * device->empty_launch, row->traffic.computed_seconds);
}

/* What is left of the watched time: the host's own share. */
static double hosts(const device_row *row)
{
    const device_traffic *t = &row->traffic;
    return fmax(row->watched - t->send_seconds - t->fetch_seconds - t->computed_seconds, 0);
}

static json_t *as_json(const device_choice *device, const device_row *row, const char *ratio)
{
    const device_traffic *t = &row->traffic;
    json_t *all = json_pack("{s:f, s:f, s:f, s:f, s:f}", "seconds", row->cost.wall, "cpu_seconds", row->cost.cpu,
                            "gflops", 1e-9 * row->flops / row->cost.wall, "bytes", row->bytes, ratio,
                            device_ratio(device, &row->own, &row->cost));
    if (device->family)
        json_object_set_new(all, "overhead",
                            json_pack("{s:I, s:f, s:f, s:I, s:f, s:f, s:I, s:f, s:f, s:f}", "sends",
                                      (json_int_t)t->sends, "sent_bytes", t->sent, "send_seconds", t->send_seconds,
                                      "fetches", (json_int_t)t->fetches, "fetched_bytes", t->fetched, "fetch_seconds",
                                      t->fetch_seconds, "launches", (json_int_t)t->launches, "launch_seconds",
                                      launching(device, row), "kernel_seconds",
                                      t->computed_seconds - launching(device, row), "host_seconds", hosts(row)));
    return all;
}

static void print_overheads(const device_choice *device, const device_row *rows, int count)
{
    printf("\n  %-24s %9s %9s %9s %9s %9s %9s %9s %9s\n", "one thing at a time", "MB up", "ms up", "launches",
           "ms of it", "ms inside", "MB down", "ms down", "ms host");
    for (int i = 0; i < count; i++) {
        const device_traffic *t = &rows[i].traffic;
        printf("  %-24s %9.2f %9.2f %9lld %9.2f %9.2f %9.2f %9.2f %9.2f\n", rows[i].name, 1e-6 * t->sent,
               1e3 * t->send_seconds, (long long)t->launches, 1e3 * launching(device, &rows[i]),
               1e3 * (t->computed_seconds - launching(device, &rows[i])), 1e-6 * t->fetched, 1e3 * t->fetch_seconds,
               1e3 * hosts(&rows[i]));
    }
}

void device_table(json_t *operations, const device_choice *device, const char *title, const char *ratio,
                  const device_row *rows, int count)
{
    json_t *all = json_object_get(operations, device->name);
    if (!all) {
        all = json_object();
        json_object_set_new(operations, device->name, all);
    }
    printf("\n  %s: %s\n  %-24s %10s %10s %10s %10s %12s\n", device->name, device->device->info.name, title, "ms",
           "CPU ms", "GFLOP/s", "GB/s", ratio);
    for (int i = 0; i < count; i++) {
        const device_row *row = &rows[i];
        printf("  %-24s %10.2f %10.2f %10.2f %10.2f %11.2fx\n", row->name, 1e3 * row->cost.wall, 1e3 * row->cost.cpu,
               1e-9 * row->flops / row->cost.wall, 1e-9 * row->bytes / row->cost.wall,
               device_ratio(device, &row->own, &row->cost));
        json_object_set_new(all, row->name, as_json(device, row, ratio));
    }
    if (device->family)
        print_overheads(device, rows, count);
}
