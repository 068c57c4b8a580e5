/* Step 2b ([000] 3.3): one group per utterance goes back along the back-pointers. Each one depends on the last, so the items fetch
 * FETCH_FRAMES frames of the FETCH_NODES nodes that are likely next into local memory, and one of them walks there. */

#define LOST (-2) /* the path leaves the bands */

FUNCTION int get_back(GLOBAL const device_byte *back, device_long bit, int bits)
{
    if (bits == 16)
        return back[bit >> 3] | back[(bit >> 3) + 1] << 8;
    return back[bit >> 3] >> (bit & 7) & ((1 << bits) - 1);
}

/* The incoming arc of a node at a frame, within the utterance; -1: outside its band. */
FUNCTION int arc_into(GLOBAL const device_node *nodes, device_search s, GLOBAL const device_byte *back, int node, int t)
{
    if (node < 0 || node >= s.nodes || t < s.begin || t < nodes[node].first || t >= nodes[node].end)
        return -1;
    device_long bit = nodes[node].cell + (device_long)(t - nodes[node].first) * s.back_bits;
    return nodes[node].arc + get_back(back, bit, s.back_bits);
}

KERNEL void backtrack(GLOBAL const char *records, GLOBAL const device_byte *back, GLOBAL int *path, GLOBAL int *last)
{
    LOCAL int fetched[FETCH_NODES * FETCH_FRAMES], at[2];
    device_search s = ((GLOBAL const device_search *)records)[GROUP];
    GLOBAL const device_node *nodes = (GLOBAL const device_node *)(records + s.node_at);
    GLOBAL const device_arc *arcs = (GLOBAL const device_arc *)(records + s.arc_at);
    int node = s.last_node, t = s.end - 1;
    while (node >= 0 && t >= s.begin) {
        for (int i = ITEM; i < FETCH_NODES * FETCH_FRAMES; i += ITEMS)
            fetched[i] = arc_into(nodes, s, back, node - i / FETCH_FRAMES, t - i % FETCH_FRAMES);
        BARRIER();
        if (ITEM == 0) {
            int first_node = node, first = t;
            while (node >= 0 && t >= s.begin && t > first - FETCH_FRAMES && node <= first_node &&
                   node > first_node - FETCH_NODES) {
                int arc = fetched[(first_node - node) * FETCH_FRAMES + first - t];
                if (arc < 0) {
                    node = LOST;
                    break;
                }
                path[s.path_at + 2 * (t - s.begin)] = node;
                path[s.path_at + 2 * (t - s.begin) + 1] = arc;
                node = arcs[arc].node;
                t--;
            }
            at[0] = node;
            at[1] = t;
        }
        BARRIER();
        node = at[0];
        t = at[1];
        BARRIER();
    }
    if (ITEM == 0)
        last[GROUP] = node;
}

#if defined __OPENCL_VERSION__

/* For a processor: one item, which walks. */
KERNEL void backtrack_alone(GLOBAL const char *records, GLOBAL const device_byte *back, GLOBAL int *path,
                            GLOBAL int *last)
{
    device_search s = ((GLOBAL const device_search *)records)[GROUP];
    GLOBAL const device_node *nodes = (GLOBAL const device_node *)(records + s.node_at);
    GLOBAL const device_arc *arcs = (GLOBAL const device_arc *)(records + s.arc_at);
    int node = s.last_node;
    for (int t = s.end - 1; node >= 0 && t >= s.begin; t--) {
        int arc = arc_into(nodes, s, back, node, t);
        if (arc < 0) {
            node = LOST;
            break;
        }
        path[s.path_at + 2 * (t - s.begin)] = node;
        path[s.path_at + 2 * (t - s.begin) + 1] = arc;
        node = arcs[arc].node;
    }
    last[GROUP] = node;
}

#endif
