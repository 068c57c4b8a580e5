/* Step 3 for a processor: the shares of a vector of frames at a time, and sums frame by frame. */

#if defined __OPENCL_VERSION__

/* Scores of all components of `vectors` vectors of lanes into the shares' places. */
FUNCTION void score_components(device_stretch s, GLOBAL const float *state, GLOBAL const float *lanes, int at,
                               int vectors, int components, int dim, int rows, int differences, GLOBAL float *share,
                               float8 *best, float8 *sum)
{
    float8 score[3 * CHUNK];
    int groups = (components + COMPONENTS - 1) / COMPONENTS, size = COMPONENTS * (1 + 2 * dim);
    for (int v = 0; v < 3; v++) {
        best[v] = -3.4e38f;
        sum[v] = 0.0f;
    }
    for (int begin = 0; begin < groups; begin += CHUNK / COMPONENTS) {
        int count = groups - begin < CHUNK / COMPONENTS ? groups - begin : CHUNK / COMPONENTS;
        for (int g = 0; g < count; g++)
            tile_scores(state + (device_long)(begin + g) * size, state + (device_long)(begin + g + 1) * size, lanes,
                        s.lane_at + at, vectors, dim, rows, differences, score + 3 * COMPONENTS * g);
        for (int v = 0; v < vectors; v++) {
            add_chunk(score, COMPONENTS * count, v, 0, &best[v], &sum[v]);
            for (int c = 0; c < COMPONENTS * count && COMPONENTS * begin + c < components; c++)
                vstore8(score[3 * c + v], 0,
                        share + (device_long)(COMPONENTS * begin + c) * s.padded + at + v * VECTOR);
        }
    }
}

__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL void share_tiles(GLOBAL const device_stretch *stretches, GLOBAL const float *lanes, GLOBAL const float *packed,
                        GLOBAL const device_long *packed_at, GLOBAL const int *first_gaussian,
                        GLOBAL const device_byte *differences, GLOBAL const float *weights, GLOBAL float *shares,
                        GLOBAL float *best_scores, int dim, int rows, int whole, float unit)
{
    device_stretch s = stretches[GROUP];
    int components = first_gaussian[s.tied + 1] - first_gaussian[s.tied], vectors;
    GLOBAL float *share = shares + s.share_at;
    for (int at = 0; at < s.count; at += vectors * VECTOR) {
        float8 best[3], sum[3];
        vectors = next_vectors((s.count - at + VECTOR - 1) / VECTOR);
        score_components(s, packed + packed_at[s.tied], lanes, at, vectors, components, dim, rows,
                         differences[s.tied], share, best, sum);
        for (int v = 0; v < vectors; v++) {
            float8 weight = vload8(0, weights + s.lane_at + at + v * VECTOR), total = best[v] + logarithm_of_two(sum[v]);
            int8 taken = (int8)0;
            for (int c = 0; c < components; c++) {
                GLOBAL float *to = share + (device_long)c * s.padded + at + v * VECTOR;
                float8 score = vload8(0, to);
                int8 is_best = (score == best[v]) & ~taken;
                float8 part = whole ? select((float8)0.0f, (float8)1.0f, is_best)
                                    : power_of_two(score - total);
                taken |= is_best;
                vstore8(weight * part, 0, to);
            }
            vstore8(best[v] * unit, 0, best_scores + s.lane_at + at + v * VECTOR);
        }
    }
}

/* A group has one Gaussian; the dimensions lie side by side in its slot. */
__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL void sum_tiles(GLOBAL const device_stretch *stretches, GLOBAL const int *stretch_of,
                      GLOBAL const int *component_of, GLOBAL const device_long *source, GLOBAL const float *frames,
                      GLOBAL const float *shares, GLOBAL double *sums, int dim)
{
    device_stretch s = stretches[stretch_of[GROUP]];
    int component = component_of[GROUP];
    GLOBAL const float *share = shares + s.share_at + (device_long)component * s.padded;
    GLOBAL double *slot = sums + (device_long)GROUP * (1 + 2 * dim);
    double count = 0.0;
    for (int k = 0; k < 2 * dim; k++)
        slot[1 + k] = 0.0;
    for (int i = 0; i < s.count; i++) {
        double weight = (double)share[i];
        GLOBAL const float *frame = frames + source[s.lane_at + i];
        if (share[i] < LEAST_SHARE)
            continue;
        count += weight;
        int k = 0;
        for (; k + 4 <= dim; k += 4) {
            double4 x = convert_double4(vload4(0, frame + k)), weighted = x * weight;
            vstore4(vload4(0, slot + 1 + k) + weighted, 0, slot + 1 + k);
            vstore4(vload4(0, slot + 1 + dim + k) + weighted * x, 0, slot + 1 + dim + k);
        }
        for (; k < dim; k++) {
            double x = (double)frame[k], weighted = x * weight;
            slot[1 + k] += weighted;
            slot[1 + dim + k] += weighted * x;
        }
    }
    slot[0] = count;
}

#endif
