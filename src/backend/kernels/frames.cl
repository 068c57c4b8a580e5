/* Step 0: frames into lanes, centred and squared. One group for each block. Lanes without a frame are left as they are: nothing that is
 * computed from them is used. */

/* The frame of a lane of this group's block; -1: none. source[lane]: where the lane's frame begins. */
FUNCTION device_long frame_of(GLOBAL const device_long *source, int count, int lane)
{
    device_long index = (device_long)GROUP * LANES + lane;
    return index < count ? source[index] : -1;
}

KERNEL void place_frames(GLOBAL const float *frames, GLOBAL const device_long *source, GLOBAL const float *centre,
                         GLOBAL float *lanes, int dim, int rows, int count)
{
    GLOBAL float *block = lanes + (device_long)GROUP * rows * LANE_STRIDE;
    for (int i = ITEM; i < dim * LANE_STRIDE; i += ITEMS) {
        int k = i / LANE_STRIDE, lane = i % LANE_STRIDE;
        device_long from = frame_of(source, count, lane);
        if (from < 0)
            continue;
        float value = frames[from + k], centred = value - centre[k];
        block[2 * k * LANE_STRIDE + lane] = centred;
        block[(2 * k + 1) * LANE_STRIDE + lane] = centred * centred;
        if (rows > 2 * dim)
            block[(2 * dim + k) * LANE_STRIDE + lane] = value;
    }
}

#if defined __OPENCL_VERSION__

/* For a processor: eight frames become a vector of each row. A lane without a frame repeats another one. */
__attribute__((reqd_work_group_size(1, 1, 1)))
KERNEL void place_tiles(GLOBAL const float *frames, GLOBAL const device_long *source, GLOBAL const float *centre,
                        GLOBAL float *lanes, int dim, int rows, int count)
{
    GLOBAL float *block = lanes + (device_long)GROUP * rows * LANE_STRIDE;
    for (int lane = 0; lane < LANE_STRIDE; lane += VECTOR) {
        GLOBAL const float *f[VECTOR];
        device_long some = -1;
        for (int i = 0; i < VECTOR; i++) {
            device_long from = frame_of(source, count, lane + i);
            some = from >= 0 ? from : some;
        }
        if (some < 0)
            continue;
        for (int i = 0; i < VECTOR; i++) {
            device_long from = frame_of(source, count, lane + i);
            f[i] = frames + (from >= 0 ? from : some);
        }
        for (int k = 0; k < dim; k++) {
            GLOBAL float *row = block + 2 * k * LANE_STRIDE + lane;
            float8 value = (float8)(f[0][k], f[1][k], f[2][k], f[3][k], f[4][k], f[5][k], f[6][k], f[7][k]);
            float8 centred = value - centre[k];
            vstore8(centred, 0, row);
            vstore8(centred * centred, 0, row + LANE_STRIDE);
            if (rows > 2 * dim)
                vstore8(value, 0, block + (2 * dim + k) * LANE_STRIDE + lane);
        }
    }
}

#endif
