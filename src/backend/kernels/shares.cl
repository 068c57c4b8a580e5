/* Step 3 ([000] 3.4). Frames are sorted by tied state on the host, so that each Gaussian's sums have one owner: first every component's
 * share of every frame, then sums of shares, of frames and of squares, in double, in the order of the corpus. Where [000] adds floats
 * atomically, here the same input gives the same bytes. */

/* A group has one stretch, an item one lane at a time. `whole`: the best component takes all. */
KERNEL void share_lanes(GLOBAL const device_stretch *stretches, GLOBAL const float *lanes, GLOBAL const float *packed,
                        GLOBAL const device_long *packed_at, GLOBAL const int *first_gaussian,
                        GLOBAL const device_byte *differences, GLOBAL const float *weights, GLOBAL float *shares,
                        GLOBAL float *best_scores, int dim, int rows, int whole, float unit)
{
    device_stretch s = stretches[GROUP];
    GLOBAL const float *state = packed + packed_at[s.tied];
    int components = first_gaussian[s.tied + 1] - first_gaussian[s.tied], size = COMPONENTS * (1 + 2 * dim);
    float score[COMPONENTS];
    for (int i = ITEM; i < s.count; i += ITEMS) {
        device_long index = s.lane_at + i;
        GLOBAL const float *lane = lanes + index / LANES * rows * LANE_STRIDE + index % LANES;
        GLOBAL float *share = shares + s.share_at + i;
        mixture_sum m = empty_sum();
        for (int c = 0; c < components; c++) {
            if (c % COMPONENTS == 0)
                global_group_scores(state + (device_long)(c / COMPONENTS) * size, lane, dim, differences[s.tied],
                                    score);
            m = add_score(m, score[c % COMPONENTS], c);
            share[(device_long)c * s.padded] = score[c % COMPONENTS];
        }
        float weight = weights[s.lane_at + i], total = m.best + LOG2F(m.sum);
        for (int c = 0; c < components; c++) {
            float part = whole ? (c == m.component ? 1.0f : 0.0f) : EXP2F(share[(device_long)c * s.padded] - total);
            share[(device_long)c * s.padded] = weight * part;
        }
        best_scores[s.lane_at + i] = m.best * unit;
    }
}

/* Which Gaussians of a stretch have a share worth adding: few, as a rule. */
KERNEL void find_used(GLOBAL const device_stretch *stretches, GLOBAL const float *shares, GLOBAL device_byte *used)
{
    device_stretch s = stretches[GROUP];
    for (int c = ITEM; c < s.components; c += ITEMS) {
        GLOBAL const float *share = shares + s.share_at + (device_long)c * s.padded;
        int any_share = 0;
        for (int i = 0; i < s.count; i++)
            any_share |= share[i] >= LEAST_SHARE;
        used[s.gaussian + c] = (device_byte)any_share;
    }
}

/* A group has one Gaussian that is used, an item one dimension at a time. */
KERNEL void sum_lanes(GLOBAL const device_stretch *stretches, GLOBAL const int *stretch_of,
                      GLOBAL const int *component_of, GLOBAL const device_long *source, GLOBAL const float *frames,
                      GLOBAL const float *shares, GLOBAL double *sums, int dim)
{
    device_stretch s = stretches[stretch_of[GROUP]];
    int component = component_of[GROUP];
    GLOBAL const float *share = shares + s.share_at + (device_long)component * s.padded;
    GLOBAL double *slot = sums + (device_long)GROUP * (1 + 2 * dim);
    for (int k = ITEM; k < dim; k += ITEMS) {
        double sum = 0.0, square = 0.0, count = 0.0;
        for (int i = 0; i < s.count; i++) {
            if (share[i] < LEAST_SHARE)
                continue;
            double x = (double)frames[source[s.lane_at + i] + k], weighted = x * (double)share[i];
            sum += weighted;
            square += weighted * x;
            count += (double)share[i];
        }
        slot[1 + k] = sum;
        slot[1 + dim + k] = square;
        if (k == 0)
            slot[0] = count;
    }
}
