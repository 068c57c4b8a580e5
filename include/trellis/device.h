/* Devices: what training, alignment and recognition can compute on.
 *
 *     trl_device devices[16];
 *     size_t count;
 *     trl_device_list(devices, 16, &count, &err);
 *     for (size_t i = 0; i < count; i++)
 *         printf("%s: %s, %.1f GFLOP/s\n", devices[i].device, devices[i].name, devices[i].speed);
 *
 * A device is named by text wherever one can be chosen: "cpu", "cpu:avx2" (a level of instructions), "opencl", "opencl:1" (the
 * second OpenCL device, counted from 0), "opencl:0:gpu" or "opencl:0:cpu" (the shape of its kernels, forced), "cuda", "cuda:1",
 * "auto" (the first graphics processor that works, else the processor; the processor goes on when it fails later), or several of
 * these with commas between them: "cpu,cuda:0,cuda:1".
 */
#ifndef TRELLIS_DEVICE_H
#define TRELLIS_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_device {
    char device[32]; /* as it is chosen: "cpu", "opencl:0", "cuda:0" */
    char name[128];  /* of the hardware */
    char level[16];  /* the instruction set, or the shape of the kernels: "avx2", "gpu", "cpu" */
    uint64_t memory; /* bytes; 0: the host's */
    double speed;    /* observation probabilities, in GFLOP/s: measured now, transfers included; 0: it does not work */
    char trouble[1000]; /* why it does not; empty otherwise */
} trl_device;

/* Fills `devices`, at most `room` of them; *count is how many there are. Each is tried for a fifth of a second, after its kernels are
 * built (some seconds when a driver does that for the first time). Returns 0. Any thread. */
TRL_API int trl_device_list(trl_device *devices, size_t room, size_t *count, trl_error *err);

/* Why a backend, "opencl" or "cuda", has no devices. 0: it has some; TRL_ENOENT: its driver is not installed, or finds none; TRL_EDEVICE: a
 * driver is installed, but can't be used. Any thread. */
TRL_API int trl_device_missing(const char *backend, trl_error *err);

/* Is the text a device's name, or a list of names? Whether there is such a device is not looked at. Returns 0, or TRL_EINVAL, and says
 * what names there are. Any thread. */
TRL_API int trl_device_check_name(const char *text, trl_error *err);

/* Which backends are built in: "cpu, opencl, cuda". */
TRL_API const char *trl_device_backends(void);

TRL_END_DECLS

#endif
