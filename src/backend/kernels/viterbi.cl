/* Step 2a ([000] 3.2): one group per utterance, its items share out the nodes, a barrier after each frame. The scores of two frames change
 * places, in local memory where they fit. A node has one owner, who alone writes its back-pointers; their fields do not
 * cross bytes. */

FUNCTION void set_back(GLOBAL device_byte *back, device_long bit, int bits, int value)
{
    if (bits == 16) {
        back[bit >> 3] = (device_byte)value;
        back[(bit >> 3) + 1] = (device_byte)(value >> 8);
    } else {
        int shift = (int)(bit & 7), mask = ((1 << bits) - 1) << shift;
        back[bit >> 3] = (device_byte)((back[bit >> 3] & ~mask) | value << shift);
    }
}

/* The first node from `low` on that this item owns. */
FUNCTION int first_own(int low)
{
    return low + (ITEM - low % ITEMS + ITEMS) % ITEMS;
}

/* before, now: by node; those within the frame's window are written, others are never read. */
#define DEFINE_VITERBI(name, SPACE)                                                                                    \
    FUNCTION void name##_frame(GLOBAL const char *records, device_search s, GLOBAL const float *scores,                \
                               GLOBAL device_byte *back, SPACE const double *before, SPACE double *now, int t,         \
                               int old_low, int old_high)                                                              \
    {                                                                                                                  \
        GLOBAL const device_node *nodes = (GLOBAL const device_node *)(records + s.node_at);                           \
        GLOBAL const device_arc *arcs = (GLOBAL const device_arc *)(records + s.arc_at);                               \
        GLOBAL const int *window = (GLOBAL const int *)(records + s.window_at) + 2 * (t - s.begin);                    \
        for (int n = first_own(window[0]); n < window[1]; n += ITEMS) {                                                \
            device_node node = nodes[n];                                                                               \
            double best = MINUS_INFINITY;                                                                              \
            int which = 0;                                                                                             \
            if (t < node.first || t >= node.end) {                                                                     \
                now[n] = best;                                                                                         \
                continue;                                                                                              \
            }                                                                                                          \
            for (int a = node.arc; a < node.arc_end; a++) {                                                            \
                int from = arcs[a].node;                                                                               \
                double score = from < 0 ? (from == -1 && t == 0 ? 0.0 : MINUS_INFINITY)                                \
                               : from >= old_low && from < old_high ? before[from]                                     \
                                                                    : MINUS_INFINITY;                                  \
                score += (double)arcs[a].weight;                                                                       \
                if (score > best) {                                                                                    \
                    best = score;                                                                                      \
                    which = a - node.arc;                                                                              \
                }                                                                                                      \
            }                                                                                                          \
            now[n] = best + (double)scores[node.score_at + (t - node.first)];                                          \
            set_back(back, node.cell + (device_long)(t - node.first) * s.back_bits, s.back_bits, which);               \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    FUNCTION void name##_search(GLOBAL const char *records, device_search s, GLOBAL const float *scores,               \
                                GLOBAL device_byte *back, GLOBAL double *alpha, SPACE double *two)                     \
    {                                                                                                                  \
        GLOBAL const int *window = (GLOBAL const int *)(records + s.window_at);                                        \
        int nodes = s.nodes, low = 0, high = 0, side = 0;                                                              \
        if (s.begin > 0) {                                                                                             \
            high = nodes;                                                                                              \
            for (int i = ITEM; i < nodes; i += ITEMS)                                                                  \
                two[i] = alpha[s.alpha_at + i];                                                                        \
        }                                                                                                              \
        for (int t = s.begin; t < s.end; t++) {                                                                        \
            BARRIER();                                                                                                 \
            name##_frame(records, s, scores, back, two + side * nodes, two + (1 - side) * nodes, t, low, high);        \
            low = window[2 * (t - s.begin)];                                                                           \
            high = window[2 * (t - s.begin) + 1];                                                                      \
            side = 1 - side;                                                                                           \
        }                                                                                                              \
        BARRIER();                                                                                                     \
        for (int i = ITEM; i < nodes; i += ITEMS)                                                                      \
            alpha[s.alpha_at + i] =                                                                                    \
                i >= low && i < high ? two[side * nodes + i] : MINUS_INFINITY;                                         \
    }

DEFINE_VITERBI(local_viterbi, LOCAL_POINTER)
DEFINE_VITERBI(global_viterbi, GLOBAL)

KERNEL void viterbi(GLOBAL const char *records, GLOBAL const float *scores, GLOBAL device_byte *back,
                    GLOBAL double *alpha)
{
    LOCAL double two[2 * LOCAL_NODES];
    local_viterbi_search(records, ((GLOBAL const device_search *)records)[GROUP], scores, back, alpha, two);
}

/* For graphs of any size, and for processors, whose caches are as good as local memory. */
KERNEL void viterbi_large(GLOBAL const char *records, GLOBAL const float *scores, GLOBAL device_byte *back,
                          GLOBAL double *alpha)
{
    device_search s = ((GLOBAL const device_search *)records)[GROUP];
    global_viterbi_search(records, s, scores, back, alpha, alpha + s.before_at);
}
