/* Step 1 for many work-items: observation probabilities ([000] 3.1.4). A group has one tied state's parameters in local memory, as many
 * groups of components at a time as fit, and each of its items has one frame. Sums over components stay in registers.
 *
 * Cost per component and frame: 2 dim multiply-adds; parameters are read from global memory once for ITEMS frames.
 */

KERNEL void score_rows(GLOBAL const device_piece *pieces, GLOBAL const float *lanes, GLOBAL const float *packed,
                       GLOBAL const device_long *packed_at, GLOBAL const int *first_gaussian,
                       GLOBAL const device_byte *differences, GLOBAL float *scores, int dim, int rows, int only_best,
                       float unit)
{
    LOCAL float parameters[LOCAL_FLOATS];
    device_piece piece = pieces[GROUP];
    GLOBAL const float *state = packed + packed_at[piece.tied];
    int by_differences = differences[piece.tied];
    int components = first_gaussian[piece.tied + 1] - first_gaussian[piece.tied];
    int groups = (components + COMPONENTS - 1) / COMPONENTS, size = COMPONENTS * (1 + 2 * dim);
    int at_once = LOCAL_FLOATS / size, index = piece.first + (ITEM < piece.count ? ITEM : 0);
    GLOBAL const float *lane =
        lanes + piece.lanes + (device_long)(index / LANES) * rows * LANE_STRIDE + index % LANES;
    mixture_sum m = empty_sum();
    float score[COMPONENTS];
    for (int begin = 0; begin < groups; begin += at_once > 0 ? at_once : 1) {
        int count = at_once < groups - begin ? at_once : groups - begin;
        BARRIER();
        for (int i = ITEM; i < count * size; i += ITEMS)
            parameters[i] = state[(device_long)begin * size + i];
        BARRIER();
        for (int g = begin; g < begin + (count > 0 ? count : 1); g++) {
            if (count > 0)
                local_group_scores(parameters + (g - begin) * size, lane, dim, by_differences, score);
            else /* not even one group fits */
                global_group_scores(state + (device_long)g * size, lane, dim, by_differences, score);
            for (int c = 0; c < COMPONENTS && g * COMPONENTS + c < components; c++)
                m = add_score(m, score[c], g * COMPONENTS + c);
        }
    }
    if (ITEM < piece.count)
        scores[piece.score_at + ITEM] = (only_best ? m.best : m.best + LOG2F(m.sum)) * unit;
}
