/* Baum-Welch: all paths of one utterance by one group, in logarithms of doubles. A node has one owner, who writes its alphas, betas,
 * posteriors, and the counts of the arcs that lead to it. Cells are places (node, frame) of the bands; alphas of all cells lie before
 * betas. A barrier after each frame, in both directions. */

/* A sum of exponentials that grows: best + ln(1 + rest). */
typedef struct log_sum {
    double best, rest;
} log_sum;

FUNCTION log_sum empty_log_sum(void)
{
    log_sum sum;
    sum.best = MINUS_INFINITY;
    sum.rest = 0.0;
    return sum;
}

FUNCTION log_sum add_logarithm(log_sum sum, double value)
{
    if (value > sum.best) {
        sum.rest = sum.best == MINUS_INFINITY ? sum.rest : (1.0 + sum.rest) * EXP(sum.best - value);
        sum.best = value;
    } else if (!(value <= sum.best - 40.0)) { /* less does not reach the last bit; what is no number makes the sum none */
        sum.rest += EXP(value - sum.best);
    }
    return sum;
}

FUNCTION double value_of(log_sum sum)
{
    return sum.rest == 0.0 ? sum.best : sum.best + LOG(1.0 + sum.rest);
}

/* Where the arc a of node n comes from, one frame before t. */
FUNCTION double value_before(GLOBAL const device_node *nodes, GLOBAL const double *alpha, int from, int t)
{
    if (from < 0)
        return from == -1 && t == 0 ? 0.0 : MINUS_INFINITY;
    if (t - 1 < nodes[from].first || t - 1 >= nodes[from].end)
        return MINUS_INFINITY;
    return alpha[nodes[from].cell + (t - 1 - nodes[from].first)];
}

FUNCTION double sum_before(GLOBAL const device_node *nodes, GLOBAL const device_arc *arcs, GLOBAL const double *alpha,
                           device_node node, int t)
{
    log_sum total = empty_log_sum();
    for (int a = node.arc; a < node.arc_end; a++)
        total = add_logarithm(total, value_before(nodes, alpha, arcs[a].node, t) + (double)arcs[a].weight);
    return value_of(total);
}

/* What lies behind an arc that leaves its node after frame t. */
FUNCTION double value_behind(GLOBAL const device_node *nodes, GLOBAL const float *scores, GLOBAL const double *beta,
                             device_search s, device_arc arc, int t)
{
    if (arc.node == s.nodes)
        return t == s.end - 1 ? (double)arc.weight : MINUS_INFINITY;
    device_node to = nodes[arc.node];
    if (t + 1 < to.first || t + 1 >= to.end)
        return MINUS_INFINITY;
    return (double)arc.weight + (double)scores[to.score_at + (t + 1 - to.first)] + beta[to.cell + (t + 1 - to.first)];
}

FUNCTION double sum_behind(GLOBAL const device_node *nodes, GLOBAL const device_arc *leave, GLOBAL const float *scores,
                           GLOBAL const double *beta, device_search s, device_node node, int t)
{
    log_sum total = empty_log_sum();
    for (int a = node.leave; a < node.leave_end; a++)
        total = add_logarithm(total, value_behind(nodes, scores, beta, s, leave[a], t));
    return value_of(total);
}

/* The expected use of every arc into a node between frames t - 1 and t. */
FUNCTION void count_arcs(GLOBAL const device_node *nodes, GLOBAL const device_arc *arcs, GLOBAL const double *alpha,
                         device_node node, double behind, int t, GLOBAL double *counts)
{
    for (int a = node.arc; a < node.arc_end; a++)
        counts[a] += EXP(value_before(nodes, alpha, arcs[a].node, t) + (double)arcs[a].weight + behind);
}

KERNEL void forward_backward(GLOBAL const char *records, GLOBAL const float *scores, GLOBAL double *cells,
                             GLOBAL float *gamma, GLOBAL double *counts, GLOBAL double *totals)
{
    device_search s = ((GLOBAL const device_search *)records)[GROUP];
    GLOBAL const device_node *nodes = (GLOBAL const device_node *)(records + s.node_at);
    GLOBAL const device_arc *arcs = (GLOBAL const device_arc *)(records + s.arc_at);
    GLOBAL const device_arc *leave = (GLOBAL const device_arc *)(records + s.leave_at);
    GLOBAL const int *window = (GLOBAL const int *)(records + s.window_at);
    GLOBAL double *alpha = cells, *beta = cells + s.before_at, *own_counts = counts + s.count_at;
    for (int t = 0; t < s.end; t++) {
        for (int n = first_own(window[2 * t]); n < window[2 * t + 1]; n += ITEMS) {
            device_node node = nodes[n];
            if (t >= node.first && t < node.end)
                alpha[node.cell + (t - node.first)] = sum_before(nodes, arcs, alpha, node, t) +
                                                      (double)scores[node.score_at + (t - node.first)];
        }
        BARRIER();
    }
    device_node end = nodes[s.nodes];
    double total = sum_before(nodes, arcs, alpha, end, s.end);
    for (int a = ITEM; a < end.arc_end; a += ITEMS)
        own_counts[a] = 0.0;
    BARRIER();
    if (ITEM == 0) {
        totals[GROUP] = total;
        if (total > MINUS_INFINITY)
            count_arcs(nodes, arcs, alpha, end, -total, s.end, own_counts);
    }
    for (int t = s.end - 1; t >= 0; t--) {
        for (int n = first_own(window[2 * t]); n < window[2 * t + 1]; n += ITEMS) {
            device_node node = nodes[n];
            if (t < node.first || t >= node.end)
                continue;
            device_long cell = node.cell + (t - node.first);
            double behind = sum_behind(nodes, leave, scores, beta, s, node, t);
            beta[cell] = behind;
            gamma[cell] = total > MINUS_INFINITY ? (float)EXP(alpha[cell] + behind - total) : 0.0f;
            if (total > MINUS_INFINITY && behind > MINUS_INFINITY)
                count_arcs(nodes, arcs, alpha, node,
                           behind + (double)scores[node.score_at + (t - node.first)] - total, t, own_counts);
        }
        BARRIER();
    }
}
