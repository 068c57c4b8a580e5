/* The kernels as nvcc compiled them when the library was built: machine code and PTX. Size 0: there was no nvcc. */
#ifndef TRL_BACKEND_CUDA_CUDA_IMAGE_H
#define TRL_BACKEND_CUDA_CUDA_IMAGE_H

#include <stddef.h>

extern const char trl__cuda_image[];
extern const size_t trl__cuda_image_size;

#endif
