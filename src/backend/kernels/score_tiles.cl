/* Step 1 for a processor: a group is one item, which scores tiles of 24 frames and 4 components in vector registers, like
 * backend/cpu/gmm_lanes.h. A tile may begin at any frame. */

#if defined __OPENCL_VERSION__ /* a shape of its own: vectors are OpenCL's */

#define CHUNK 32 /* components whose scores are kept at once: 3 KB */

/* The first where the second is no number. One instruction; fmax, which would also do without the first, takes three. */
FUNCTION float8 larger(float8 a, float8 b)
{
    return b > a ? b : a;
}

/* Is any of them true? Four instructions; any() takes eighteen. */
FUNCTION int is_any(int8 truths)
{
    long4 all = as_long4(truths);
    long2 folded = all.lo | all.hi;
    return (folded.x | folded.y) != 0;
}

/* 2^x for x below 1, to 2e-7: Taylor's series on [-1/2, 1/2]; 0 below 2^-126. Beside 1.5 * 2^23 a float has no room behind the point: adding it rounds x (rint takes twenty
 * instructions), and leaves the whole number in the last bits, from where it is shifted to the exponent's. */
FUNCTION float8 power_of_two(float8 x)
{
    float8 least = larger((float8)-127.0f, x), rounded = least + 12582912.0f, f = least - (rounded - 12582912.0f);
    float8 p = fma(f, 1.5403530e-4f, 1.3333558e-3f);
    p = fma(p, f, 9.6181291e-3f);
    p = fma(p, f, 5.5504109e-2f);
    p = fma(p, f, 2.4022651e-1f);
    p = fma(p, f, 6.9314718e-1f);
    p = fma(p, f, 1.0f);
    return as_float8((as_int8(rounded) + 127) << 23) * p;
}

/* log2(x) for x >= 1, to 2e-7: exponent, then the series of atanh. */
FUNCTION float8 logarithm_of_two(float8 x)
{
    int8 bits = as_int8(x), exponent = (bits - 0x3f3504f3) >> 23; /* mantissas from sqrt(1/2) on */
    float8 m = as_float8(bits - (exponent << 23)), z = (m - 1.0f) / (m + 1.0f), square = z * z;
    float8 p = fma(square, 3.2059889e-1f, 4.1219858e-1f);
    p = fma(p, square, 5.7707802e-1f);
    p = fma(p, square, 9.6179669e-1f);
    p = fma(p, square, 2.8853901f);
    return fma(p, z, convert_float8(exponent));
}

#if defined __x86_64__ || defined __aarch64__ /* a compiler for the processor itself */
#define FETCH(at) __builtin_prefetch(at)
#else
#define FETCH(at) (void)0
#endif

#define UNROLLED 6 /* rows; they read one line and a half of parameters */

/* One row of V vectors of frames times one parameter of each component. */
#define MULTIPLY_ROW(V, p, x)                                                                                          \
    do {                                                                                                               \
        _Pragma("unroll") for (int v = 0; v < V; v++) o[v] = vload8(v, x);                                             \
        _Pragma("unroll") for (int c = 0; c < COMPONENTS; c++)                                                         \
            _Pragma("unroll") for (int v = 0; v < V; v++) acc[c][v] = fma((float8)p[c], o[v], acc[c][v]);              \
    } while (0)

/* The scores of a group of components for V vectors of frames, whose first row x is. All vectors of a row, then component by
 * component: 12 sums, 3 vectors and one parameter fill the 16 registers. Meanwhile the group at `next` is fetched. */
#define DEFINE_TILE(name, V)                                                                                           \
    FUNCTION void name(GLOBAL const float *group, GLOBAL const float *next, GLOBAL const float *x, int dim,            \
                       float8 *out)                                                                                    \
    {                                                                                                                  \
        GLOBAL const float *p = group + COMPONENTS;                                                                    \
        float8 acc[COMPONENTS][V], o[V];                                                                               \
        int r = 0;                                                                                                     \
        _Pragma("unroll") for (int i = 0; i < COMPONENTS * V; i++) acc[i / V][i % V] = 0.0f;                           \
        for (; r + UNROLLED <= 2 * dim; r += UNROLLED, next += UNROLLED * COMPONENTS) {                                \
            FETCH(next);                                                                                               \
            FETCH(next + 16);                                                                                          \
            _Pragma("unroll") for (int i = 0; i < UNROLLED; i++, p += COMPONENTS, x += LANE_STRIDE)                    \
                MULTIPLY_ROW(V, p, x);                                                                                 \
        }                                                                                                              \
        for (; r < 2 * dim; r++, p += COMPONENTS, x += LANE_STRIDE)                                                    \
            MULTIPLY_ROW(V, p, x);                                                                                     \
        _Pragma("unroll") for (int i = 0; i < COMPONENTS * V; i++)                                                     \
            out[i / V * 3 + i % V] = acc[i / V][i % V] + group[i / V];                                                 \
    }

DEFINE_TILE(tile_of_one, 1)
DEFINE_TILE(tile_of_two, 2)
DEFINE_TILE(tile_of_three, 3)

/* The same by differences. Few states want it. */
FUNCTION void tile_of_differences(GLOBAL const float *group, GLOBAL const float *x, int vectors, int dim, float8 *out)
{
    for (int v = 0; v < vectors; v++)
        for (int c = 0; c < COMPONENTS; c++) {
            GLOBAL const float *p = group + COMPONENTS + c;
            float8 acc = group[c];
            for (int k = 0; k < dim; k++, p += 2 * COMPONENTS) {
                float8 d = vload8(v, x + (2 * dim + k) * LANE_STRIDE) - p[0];
                acc = fma(p[COMPONENTS] * d, d, acc);
            }
            out[3 * c + v] = acc;
        }
}

FUNCTION void tile_scores(GLOBAL const float *group, GLOBAL const float *next, GLOBAL const float *lanes,
                          device_long index, int vectors, int dim, int rows, int differences, float8 *score)
{
    GLOBAL const float *x = lanes + index / LANES * rows * LANE_STRIDE + index % LANES;
    if (differences)
        tile_of_differences(group, x, vectors, dim, score);
    else if (vectors == 3)
        tile_of_three(group, next, x, dim, score);
    else if (vectors == 2)
        tile_of_two(group, next, x, dim, score);
    else
        tile_of_one(group, next, x, dim, score);
}

/* Four vectors go as two and two, not as three and one. */
FUNCTION int next_vectors(int left)
{
    return left == 4 ? 2 : left < 3 ? left : 3;
}

/* A chunk of components' scores, three vectors each, into best + log2(sum). What fills up the last group scores so low that it adds
 * nothing. A chunk's scores are all there before the sums begin: between the tiles nothing else wants registers. */
FUNCTION void add_chunk(const float8 *score, int components, int v, int only_best, float8 *best, float8 *sum)
{
    float8 most = *best;
    for (int c = 0; c < components; c++)
        most = larger(most, score[3 * c + v]);
    if (!only_best) {
        float8 total = *sum * power_of_two(*best - most);
        for (int c = 0; c < components; c++)
            if (is_any(score[3 * c + v] > most - 26.0f))
                total += power_of_two(score[3 * c + v] - most);
        *sum = total;
    }
    *best = most;
}

FUNCTION void write_part(GLOBAL float *to, float8 values, int count)
{
    float all[VECTOR];
    if (count >= VECTOR) {
        vstore8(values, 0, to);
        return;
    }
    vstore8(values, 0, all);
    for (int i = 0; i < count; i++)
        to[i] = all[i];
}

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL void score_tiles(GLOBAL const device_piece *pieces, GLOBAL const float *lanes, GLOBAL const float *packed,
                        GLOBAL const device_long *packed_at, GLOBAL const int *first_gaussian,
                        GLOBAL const device_byte *differences, GLOBAL float *scores, int dim, int rows, int only_best,
                        float unit)
{
    device_piece piece = pieces[GROUP];
    GLOBAL const float *state = packed + packed_at[piece.tied];
    int components = first_gaussian[piece.tied + 1] - first_gaussian[piece.tied];
    int groups = (components + COMPONENTS - 1) / COMPONENTS, size = COMPONENTS * (1 + 2 * dim);
    int vectors, piece_after = GROUP + 1 < (int)get_num_groups(0) ? GROUP + 1 : GROUP;
    GLOBAL const float *next = packed + packed_at[pieces[piece_after].tied];
    for (int at = 0; at < piece.count; at += vectors * VECTOR) {
        float8 best[3], sum[3], score[3 * CHUNK];
        vectors = next_vectors((piece.count - at + VECTOR - 1) / VECTOR);
        for (int v = 0; v < 3; v++) {
            best[v] = -3.4e38f;
            sum[v] = 0.0f;
        }
        for (int begin = 0; begin < groups; begin += CHUNK / COMPONENTS) {
            int count = groups - begin < CHUNK / COMPONENTS ? groups - begin : CHUNK / COMPONENTS;
            for (int g = 0; g < count; g++)
                tile_scores(state + (device_long)(begin + g) * size, next + (device_long)(begin + g) * size,
                            lanes + piece.lanes, piece.first + at, vectors, dim, rows, differences[piece.tied],
                            score + 3 * COMPONENTS * g);
            for (int v = 0; v < vectors; v++)
                add_chunk(score, COMPONENTS * count, v, only_best, &best[v], &sum[v]);
        }
        for (int v = 0; v < vectors; v++)
            write_part(scores + piece.score_at + at + v * VECTOR,
                       (only_best ? best[v] : best[v] + logarithm_of_two(sum[v])) * unit,
                       piece.count - at - v * VECTOR);
    }
}

#endif
