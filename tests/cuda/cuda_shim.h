/* CUDA C for a processor: enough of it to compile src/backend/kernels as C++ and run them, block after block. Every thread of a block is a
 * fiber with a stack of its own; __syncthreads() hands over to the next one, so all of them reach a barrier before one leaves it. Threads
 * run in the order of their numbers up to each barrier, or in the opposite order (shim::backwards): what comes out the same both ways does
 * not rest on who was first. A thread that ends while others wait at a barrier is an error, as on a device.
 */
#ifndef TEST_CUDA_CUDA_SHIM_H
#define TEST_CUDA_CUDA_SHIM_H

#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __shared__ static thread_local /* blocks of a host's thread run one after the other */

struct shim_index {
    unsigned x, y, z;
};

namespace shim
{
const shim_index &block_index();
const shim_index &thread_index();
const shim_index &block_size();
extern bool backwards;
void synchronise();

/* Runs a grid. 0: done; -1: the threads of a block did not meet the same barriers. */
int run(unsigned blocks, unsigned threads, const std::function<void()> &thread);

/* Calls a kernel with arguments as cuLaunchKernel takes them: the address of each. */
template <typename... T, size_t... I> void call(void (*kernel)(T...), void **arguments, std::index_sequence<I...>)
{
    kernel(*static_cast<T *>(arguments[I])...);
}

template <typename... T> int launch(void (*kernel)(T...), unsigned blocks, unsigned threads, void **arguments)
{
    return run(blocks, threads, [=] { call(kernel, arguments, std::index_sequence_for<T...>()); });
}
} // namespace shim

#define blockIdx shim::block_index()
#define threadIdx shim::thread_index()
#define blockDim shim::block_size()
#define __syncthreads() shim::synchronise()

/* Fibers do not interrupt each other, and grids of several host threads have memory of their own. */
template <typename T, typename V> T atomicAdd(T *at, V value)
{
    T old = *at;
    *at = old + static_cast<T>(value);
    return old;
}
template <typename T, typename V> T atomicMax(T *at, V value)
{
    T old = *at;
    *at = old < static_cast<T>(value) ? static_cast<T>(value) : old;
    return old;
}
template <typename T, typename V> T atomicMin(T *at, V value)
{
    T old = *at;
    *at = static_cast<T>(value) < old ? static_cast<T>(value) : old;
    return old;
}
template <typename T> T atomicCAS(T *at, T expected, T value)
{
    T old = *at;
    *at = old == expected ? value : old;
    return old;
}

/* The same bits as another type. */
template <typename To, typename From> To shim_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline unsigned __float_as_uint(float x)
{
    return shim_bits<unsigned>(x);
}
inline float __uint_as_float(unsigned x)
{
    return shim_bits<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return shim_bits<long long>(x);
}
inline double __longlong_as_double(long long x)
{
    return shim_bits<double>(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

#endif
