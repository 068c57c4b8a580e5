/* trellis devices: what can compute here, and how fast. */
#include "cli.h"

#include <inttypes.h>
#include <trellis/device.h>

#define MOST 64

static void print_device(const trl_device *d)
{
    char memory[32] = "the host's";
    if (d->memory > 0)
        snprintf(memory, sizeof memory, "%.1f GB", 1e-9 * (double)d->memory);
    if (d->trouble[0])
        printf("%-10s  %s\n            can't be used: %s\n", d->device, d->name, d->trouble);
    else
        printf("%-10s  %8.1f GFLOP/s  %-5s  %-11s  %s\n", d->device, d->speed, d->level, memory, d->name);
}

/* Why a backend has no line. Returns 1 where that is a trouble: a driver that can't be used. */
static int say_missing(const cli_common *common, const char *backend)
{
    trl_error err;
    int code = trl_device_missing(backend, &err);
    if (code == TRL_ENOENT)
        cli_say(common, "%s: %s", backend, err.text);
    else if (code < 0)
        printf("%-10s  can't be used: %s\n", backend, err.text);
    return code < 0 && code != TRL_ENOENT;
}

static int run(void *values, int count, char **arguments)
{
    static trl_device devices[MOST];
    trl_error err;
    size_t there;
    static const char *const backends[] = {"opencl", "cuda"};
    (void)count, (void)arguments;
    if (trl_device_list(devices, MOST, &there, &err) < 0)
        return cli_failure(&err);
    int trouble = 0;
    for (size_t i = 0; i < there && i < MOST; i++) {
        print_device(&devices[i]);
        trouble |= devices[i].trouble[0] != '\0';
    }
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        trouble |= say_missing(values, backends[i]);
    return trouble ? EXIT_FINDINGS : EXIT_CLEAN;
}

const cli_command cmd_devices = {
    .name = "devices",
    .synopsis = "",
    .summary = "lists what can compute here, with a measured speed",
    .description =
        "Prints a line for each device: how --device names it, its speed with observation probabilities (64 "
        "tied states "
        "of 16 Gaussians over 39 dimensions, measured now, transfers included, one stream), the instruction "
        "set or the shape of "
        "its kernels, its memory, and its name. The processor's line is for one thread, whatever --threads says.\n\n"
        "OpenCL and CUDA devices are those of the drivers that are installed; where there are none, a remark "
        "says what is missing. Where one can't be used, the "
        "reason follows, and the exit code is 1. A graphics processor of NVIDIA's may be there twice, as "
        "cuda:N and as opencl:N.",
    .examples = "trellis devices\n"
                "trellis train corpus lexicon.txt -o model.trm --device opencl:0\n"
                "trellis train corpus lexicon.txt -o model.trm --device auto\n"
                "trellis train corpus lexicon.txt -o model.trm --device cpu,cuda:0,cuda:1",
    .values_size = sizeof(cli_common),
    .run = run,
};
