/* OpenCL's functions, found when the program runs: a binary that was built with OpenCL starts where there is none. */
#ifndef TRL_BACKEND_OPENCL_OPENCL_LIBRARY_H
#define TRL_BACKEND_OPENCL_OPENCL_LIBRARY_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <trellis/error.h>

#define TRL__OPENCL_FUNCTIONS(X)    \
    X(clGetPlatformIDs)             \
    X(clGetDeviceIDs)               \
    X(clGetDeviceInfo)              \
    X(clCreateContext)              \
    X(clReleaseContext)             \
    X(clCreateCommandQueue)         \
    X(clReleaseCommandQueue)        \
    X(clCreateProgramWithSource)    \
    X(clBuildProgram)               \
    X(clGetProgramBuildInfo)        \
    X(clReleaseProgram)             \
    X(clCreateKernel)               \
    X(clReleaseKernel)              \
    X(clSetKernelArg)               \
    X(clCreateBuffer)               \
    X(clReleaseMemObject)           \
    X(clEnqueueWriteBuffer)         \
    X(clEnqueueReadBuffer)          \
    X(clEnqueueMapBuffer)           \
    X(clEnqueueUnmapMemObject)      \
    X(clEnqueueNDRangeKernel)       \
    X(clEnqueueMarkerWithWaitList)  \
    X(clEnqueueBarrierWithWaitList) \
    X(clReleaseEvent)               \
    X(clFlush)                      \
    X(clFinish)

typedef struct trl__opencl {
#define TRL__OPENCL_POINTER(function) __typeof__(&(function)) function;
    TRL__OPENCL_FUNCTIONS(TRL__OPENCL_POINTER)
#undef TRL__OPENCL_POINTER
} trl__opencl;

/* TRL_ENOENT: there is no library here; TRL_EDEVICE: there is one that can't be used. Any thread. */
int trl__opencl_library(const trl__opencl **out, trl_error *err);
const char *trl__opencl_error_name(cl_int status);

#endif
