/* The common subset of OpenCL C and CUDA C. A kernel is written once in these words:
 *
 *     KERNEL void name(GLOBAL const float *in, GLOBAL float *out, int count)
 *
 * GROUP is the number of the work-group (block), ITEM that of the work-item (thread) in it, ITEMS how many there are. LOCAL
 * memory belongs to the group (LOCAL_POINTER *p points into it). BARRIER() is met by all items of a group; what they wrote before, to local and global
 * memory, the group sees behind it. Nothing is ordered between groups.
 *
 * What has to be the same on every device is the same by construction: every sum has one owner, who adds in a fixed order. Only machines
 * (machine.cl) have cells that several items write: LEAST and EXCHANGE are atomic, on words of 64 bits, and return what was there;
 * LEAST_WORD and NEXT_NUMBER on words of 32.
 */
#ifndef TRL_BACKEND_KERNELS_DEVICE_LANGUAGE_H
#define TRL_BACKEND_KERNELS_DEVICE_LANGUAGE_H

#define DEVICE_CODE 1

#if defined __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#if defined cl_khr_int64_base_atomics && defined cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define LEAST(at, value) atom_min(at, value)
#define EXCHANGE(at, old, value) atom_cmpxchg(at, old, value)
#else /* such devices are not given machines */
#define LEAST(at, value) (*(at))
#define EXCHANGE(at, old, value) (old)
#endif
#define LEAST_WORD(at, value) atomic_min(at, value)
#define NEXT_NUMBER(at) atomic_inc(at)
#define COUNT_BITS(x) ((int)popcount(x))
#define BITS_OF_FLOAT(x) as_uint(x)
#define FLOAT_OF_BITS(x) as_float(x)
#define BITS_OF_DOUBLE(x) as_ulong(x)
#define DOUBLE_OF_BITS(x) as_double(x)
#define KERNEL __kernel
#define FUNCTION static
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_POINTER __local
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define GROUP ((int)get_group_id(0))
#define ITEM ((int)get_local_id(0))
#define ITEMS ((int)get_local_size(0))
#define EXP2F(x) exp2((float)(x))
#define LOG2F(x) log2((float)(x))
#define FMAF(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define EXP(x) exp((double)(x))
#define LOG(x) log((double)(x))
#define MINUS_INFINITY (-(double)INFINITY)
typedef long device_long;
typedef ulong device_ulong;
typedef uint device_uint;
typedef uchar device_byte;

#else /* CUDA */
#define KERNEL extern "C" __global__
#define FUNCTION static __device__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_POINTER
#define BARRIER() __syncthreads()
#define GROUP ((int)blockIdx.x)
#define ITEM ((int)threadIdx.x)
#define ITEMS ((int)blockDim.x)
#define EXP2F(x) exp2f(x)
#define LOG2F(x) log2f(x)
#define FMAF(a, b, c) fmaf(a, b, c)
#define EXP(x) exp((double)(x))
#define LOG(x) log((double)(x))
#define MINUS_INFINITY (-(double)INFINITY)
typedef long long device_long;
typedef unsigned long long device_ulong;
typedef unsigned device_uint;
typedef unsigned char device_byte;
#define LEAST(at, value) atomicMin(at, value)
#define EXCHANGE(at, old, value) atomicCAS(at, old, value)
#define LEAST_WORD(at, value) atomicMin(at, value)
#define NEXT_NUMBER(at) atomicAdd(at, 1)
#define COUNT_BITS(x) __popcll(x)
#define BITS_OF_FLOAT(x) __float_as_uint(x)
#define FLOAT_OF_BITS(x) __uint_as_float(x)
#define BITS_OF_DOUBLE(x) ((device_ulong)__double_as_longlong(x))
#define DOUBLE_OF_BITS(x) __longlong_as_double((device_long)(x))
#endif

#endif
