/* Step 1 for all tied states of a few frames, as recognition wants it ([004] 3.2.2): a group has one tied state and its items have the elements
 * of its parameters, so that it is busy with a single frame. A state's parameters are the constants of all components, then dimension by
 * dimension, component fastest, padded to a power of two: neighbours read neighbouring words. Sums over dimensions, then the log-add over
 * components, are reductions in local memory.
 *
 * Where the paper has one frame at a time, there are WHOLE_FRAMES here: parameters are read once for all of them. */

#define NO_COMPONENT (-3.4e38f)

FUNCTION int whole_width(int components)
{
    int width = 1;
    while (width < components)
        width *= 2;
    return width;
}

/* From groups of COMPONENTS to that order; a group for each tied state. */
KERNEL void pack_whole(GLOBAL const float *packed, GLOBAL const device_long *packed_at, GLOBAL const int *first_gaussian,
                       GLOBAL float *whole, GLOBAL const device_long *whole_at, int dim)
{
    GLOBAL const float *from = packed + packed_at[GROUP];
    GLOBAL float *to = whole + whole_at[GROUP];
    int components = first_gaussian[GROUP + 1] - first_gaussian[GROUP], width = whole_width(components);
    for (int i = ITEM; i < width * (1 + 2 * dim); i += ITEMS) {
        int c = i % width, row = i / width;
        to[i] = c < components ? from[(c / COMPONENTS * (1 + 2 * dim) + row) * COMPONENTS + c % COMPONENTS] : 0.0f;
    }
}

/* log2(2^a + 2^b), or the larger. */
FUNCTION float add_powers(float a, float b, int only_best)
{
    float high = a > b ? a : b, low = a > b ? b : a;
    return only_best ? high : high + LOG2F(1.0f + EXP2F(low - high));
}

/* A column's part of the dot product: dimensions `part`, `part` + `parts` …, of all frames. */
FUNCTION void sum_column(GLOBAL const float *column, GLOBAL const float *lane, int width, int dim, int count,
                         int differences, int part, int parts, float *sum)
{
    for (int k = part; k < dim; k += parts) {
        float a = column[(1 + 2 * k) * width], b = column[(2 + 2 * k) * width];
        for (int f = 0; f < WHOLE_FRAMES; f++) {
            int at = f < count ? f : 0;
            if (differences) {
                float d = lane[(2 * dim + k) * LANE_STRIDE + at] - a;
                sum[f] = FMAF(b * d, d, sum[f]);
            } else {
                sum[f] = FMAF(a, lane[2 * k * LANE_STRIDE + at], sum[f]);
                sum[f] = FMAF(b, lane[(2 * k + 1) * LANE_STRIDE + at], sum[f]);
            }
        }
    }
}

KERNEL void score_whole(GLOBAL const device_piece *pieces, GLOBAL const float *lanes, GLOBAL const float *whole,
                        GLOBAL const device_long *whole_at, GLOBAL const int *first_gaussian,
                        GLOBAL const device_byte *differences, GLOBAL float *scores, int dim, int rows, int only_best,
                        float unit)
{
    LOCAL float sums[WHOLE_FRAMES * WHOLE_ITEMS];
    device_piece piece = pieces[GROUP];
    int components = first_gaussian[piece.tied + 1] - first_gaussian[piece.tied], width = whole_width(components);
    int columns = width < ITEMS ? width : ITEMS, column = ITEM % columns, part = ITEM / columns;
    GLOBAL const float *lane =
        lanes + piece.lanes + (device_long)(piece.first / LANES) * rows * LANE_STRIDE + piece.first % LANES;
    float total = NO_COMPONENT;
    for (int begin = 0; begin < width; begin += columns) {
        GLOBAL const float *own = whole + whole_at[piece.tied] + begin + column;
        float sum[WHOLE_FRAMES];
        for (int f = 0; f < WHOLE_FRAMES; f++)
            sum[f] = part == 0 ? own[0] : 0.0f;
        sum_column(own, lane, width, dim, piece.count, differences[piece.tied], part, ITEMS / columns, sum);
        BARRIER();
        for (int f = 0; f < WHOLE_FRAMES; f++)
            sums[f * ITEMS + ITEM] = sum[f];
        BARRIER();
        for (int apart = ITEMS / 2; apart >= columns; apart /= 2) {
            for (int f = 0; ITEM < apart && f < WHOLE_FRAMES; f++)
                sums[f * ITEMS + ITEM] += sums[f * ITEMS + ITEM + apart];
            BARRIER();
        }
        for (int f = 0; ITEM < columns && begin + column >= components && f < WHOLE_FRAMES; f++)
            sums[f * ITEMS + ITEM] = NO_COMPONENT;
        BARRIER();
        for (int apart = columns / 2; apart > 0; apart /= 2) {
            for (int i = ITEM; i < apart * WHOLE_FRAMES; i += ITEMS) {
                int at = i / apart * ITEMS + i % apart;
                sums[at] = add_powers(sums[at], sums[at + apart], only_best);
            }
            BARRIER();
        }
        if (ITEM < piece.count)
            total = begin == 0 ? sums[ITEM * ITEMS] : add_powers(total, sums[ITEM * ITEMS], only_best);
    }
    if (ITEM < piece.count)
        scores[piece.score_at + ITEM] = total * unit;
}
