/* Step 0: frames into lanes, centred and squared. One group for each block of LANES. */

/* source[lane]: where the lane's frame begins in `frames`; -1: none, zeros. */
KERNEL void place_frames(GLOBAL const float *frames, GLOBAL const device_long *source, GLOBAL const float *centre,
                         GLOBAL float *lanes, int dim, int rows)
{
    GLOBAL float *block = lanes + (device_long)GROUP * rows * LANES;
    for (int i = ITEM; i < dim * LANES; i += ITEMS) {
        int k = i / LANES, lane = i % LANES;
        device_long from = source[(device_long)GROUP * LANES + lane];
        float value = from < 0 ? 0.0f : frames[from + k], centred = from < 0 ? 0.0f : value - centre[k];
        block[2 * k * LANES + lane] = centred;
        block[(2 * k + 1) * LANES + lane] = centred * centred;
        if (rows > 2 * dim)
            block[(2 * dim + k) * LANES + lane] = value;
    }
}
