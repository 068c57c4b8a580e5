/* trellis version: which version, which parts are in, which instruction set is used. */
#include "cli.h"

#include <trellis/device.h>
#include <trellis/version.h>

static int run(void *values, int count, char **arguments)
{
    (void)values;
    (void)count;
    (void)arguments;
    printf("trellis %s\ninstruction set: %s\nbackends: %s\n", trl_version(), trl_cpu_level(), trl_device_backends());
    return EXIT_CLEAN;
}

const cli_command cmd_version = {
    .name = "version",
    .synopsis = "",
    .summary = "says which version this is and what is in it",
    .description =
        "Prints the version, the instruction set that the kernels use on this machine, and the backends that are "
        "built in; `trellis devices` tells which devices there are.",
    .values_size = sizeof(cli_common),
    .run = run,
};
