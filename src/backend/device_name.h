/* Names of devices, as --device takes them: "cpu:avx2", "opencl:1", "opencl:0:gpu", "cuda", "auto". */
#ifndef TRL_BACKEND_DEVICE_NAME_H
#define TRL_BACKEND_DEVICE_NAME_H

#include <stddef.h>
#include <trellis/error.h>

#define TRL__DEVICES_MOST 8 /* in a list */

typedef struct trl__device_name {
    char family[8]; /* "cpu", "opencl", "cuda", "auto" */
    char level[8];  /* of instructions, or the shape of kernels; empty: none is asked for */
    int index;      /* from 0 */
} trl__device_name;

/* One name, of `length` bytes. TRL_EINVAL says what the names are. */
int trl__device_name_parse(const char *text, size_t length, trl__device_name *name, trl_error *err);

/* The error of a number that no device has. */
int trl__device_name_beyond(const char *backend, const char *kind, int index, int count, trl_error *err);

#endif
