/* The shim itself, against closed forms: threads of a block meet at barriers, share memory, and add up atomically, in either order of threads. */
#include "cuda_shim.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(bool holds, const char *what)
{
    if (!holds) {
        printf("wrong: %s\n", what);
        exit(1);
    }
}

/* A tree of sums in shared memory: wrong whenever a thread passes a barrier early. */
static __global__ void sum_block(const int *in, long *out)
{
    __shared__ long part[64];
    unsigned i = threadIdx.x;
    part[i] = in[blockIdx.x * blockDim.x + i];
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (i < step)
            part[i] += part[i + step];
        __syncthreads();
    }
    if (i == 0)
        out[blockIdx.x] = part[0];
}

/* Each thread hands its number to its neighbour, many times: after n rounds thread i has that of i + n. */
static __global__ void hand_on(int *out, int rounds)
{
    __shared__ int hand[2][64];
    unsigned i = threadIdx.x, n = blockDim.x;
    hand[0][i] = (int)i;
    for (int r = 0; r < rounds; r++) {
        __syncthreads();
        hand[(r + 1) % 2][i] = hand[r % 2][(i + 1) % n];
    }
    out[i] = hand[rounds % 2][i];
}

static __global__ void count_atomically(int *count, unsigned long long *most, float *sum)
{
    atomicAdd(count, 1);
    atomicMax(most, (unsigned long long)(blockIdx.x * 1000 + threadIdx.x));
    int *bits = reinterpret_cast<int *>(sum), old = *bits, seen;
    do { /* a sum by compare and swap, as for types that have no addition of their own */
        seen = old;
        float value = reinterpret_cast<float &>(seen) + 0.5f;
        old = atomicCAS(bits, seen, reinterpret_cast<int &>(value));
    } while (old != seen);
}

static __global__ void part_ways(int who)
{
    if ((int)threadIdx.x != who)
        __syncthreads();
}

template <typename... T> static int start(void (*kernel)(T...), unsigned blocks, unsigned threads, T... values)
{
    void *arguments[] = {&values...};
    return shim::launch(kernel, blocks, threads, arguments);
}

static void try_all(void)
{
    std::vector<int> in(5 * 64);
    long sums[5], total = 0;
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * i % 97);
    check(start<const int *, long *>(sum_block, 5, 64, in.data(), sums) == 0, "sums run");
    for (size_t b = 0; b < 5; b++, total = 0) {
        for (size_t i = 0; i < 64; i++)
            total += in[b * 64 + i];
        check(sums[b] == total, "sums of a block");
    }
    int out[64], count = 0;
    check(start<int *, int>(hand_on, 1, 37, out, 1000) == 0, "hands run");
    for (int i = 0; i < 37; i++)
        check(out[i] == (i + 1000) % 37, "what was handed on");
    unsigned long long most = 0;
    float sum = 0;
    check(start<int *, unsigned long long *, float *>(count_atomically, 7, 33, &count, &most, &sum) == 0, "counts run");
    check(count == 7 * 33 && most == 6032 && sum == 0.5f * 7 * 33, "atomic sums and maxima");
    check(start<int>(part_ways, 1, 8, 3) < 0, "a barrier that one thread misses is found");
    check(start<int>(part_ways, 2, 8, 99) == 0, "and the next kernel runs");
}

int main(void)
{
    try_all();
    shim::backwards = true;
    try_all();
    return 0;
}
