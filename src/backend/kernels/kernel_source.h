/* All kernels as one text in OpenCL C; written by the build (cmake/embed_kernels.cmake). */
#ifndef TRL_BACKEND_KERNELS_KERNEL_SOURCE_H
#define TRL_BACKEND_KERNELS_KERNEL_SOURCE_H

#include <stddef.h>

extern const char trl__kernel_source[];
extern const size_t trl__kernel_source_size;

#endif
