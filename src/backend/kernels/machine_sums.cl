/* Sums over all paths ([002] 5.2): forward, backward and expected counts, all in doubles, as negative logarithms; a cell is the bits of
 * one, added to atomically by comparing and exchanging. Backward goes over the nodes that forward reached. Counts are by arc of the input's
 * symbols; within a step an arc has one owner. */

#define EMPTY_SUM BITS_OF_DOUBLE((double)INFINITY)

/* -log(e^-a + e^-b), [002] eq. 2. What log1p has over log here is below the last bit of any weight above 1, and takes ten registers. */
FUNCTION double add_weights(double a, double b)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return high < (double)INFINITY ? low - LOG(1.0 + EXP(low - high)) : low;
}

/* Adds to a cell; returns 1 when it was empty. Never reads it but by exchange: what is expected first is an empty one. */
FUNCTION int add_to_cell(GLOBAL device_ulong *cell, double weight)
{
    device_ulong seen = EMPTY_SUM, found;
    double sum = weight;
    if (ITEMS == 1) {
        seen = *cell;
        *cell = BITS_OF_DOUBLE(add_weights(DOUBLE_OF_BITS(seen), weight));
        return seen == EMPTY_SUM;
    }
    while ((found = EXCHANGE(cell, seen, BITS_OF_DOUBLE(sum))) != seen) {
        seen = found;
        sum = add_weights(DOUBLE_OF_BITS(found), weight);
    }
    return seen == EMPTY_SUM;
}

FUNCTION void add_to_state(machine m, GLOBAL device_ulong *cells, device_uint state, double weight)
{
    if (weight < (double)INFINITY && add_to_cell(cells + state, weight))
        add_node(m, state);
}

/* By state, what some nodes have; `weight` is added. */
FUNCTION void spread_nodes(machine m, GLOBAL double *by_state, GLOBAL const double *value, int begin, int end,
                           double weight)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    for (int i = begin + ITEM; i < end; i += ITEMS)
        by_state[state[i]] = value[i] + weight;
    BARRIER();
}

FUNCTION void clear_states(machine m, GLOBAL double *by_state, int begin, int end)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    BARRIER();
    for (int i = begin + ITEM; i < end; i += ITEMS)
        by_state[state[i]] = (double)INFINITY;
    BARRIER();
}

/* ---- Forward ---- */

FUNCTION void add_live(machine m, device_step step, int begin, int end)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    int share = items_per_node(end - begin), part = ITEM % share;
    for (int i = begin + ITEM / share; i < end; i += ITEMS / share) {
        double from = KEPT(m, double, alpha_at)[i] + (double)step.weight;
        if (step.symbol == STAY_SYMBOL) {
            if (part == 0)
                add_to_state(m, cells, state[i], from);
            continue;
        }
        device_symbol s = m.symbols[step.symbol];
        arc_range row = arcs_of(m, s, state[i]);
        for (device_uint k = row.first + (device_uint)part; k < row.end; k += (device_uint)share)
            if (may_write(m, s.arc + k, step.output))
                add_to_state(m, cells, m.arcs[s.arc + k].target, from + (double)m.arcs[s.arc + k].weight);
    }
}

FUNCTION void add_all(machine m, device_step step, int begin, int end)
{
    GLOBAL double *value = KEPT(m, double, value_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    device_symbol s = m.symbols[step.symbol];
    spread_nodes(m, value, KEPT(m, double, alpha_at), begin, end, (double)step.weight);
    for (device_uint k = (device_uint)ITEM; k < s.arcs; k += (device_uint)ITEMS) {
        double from = value[m.source[s.arc + k]];
        if (from < (double)INFINITY && may_write(m, s.arc + k, step.output))
            add_to_state(m, cells, m.arcs[s.arc + k].target, from + (double)m.arcs[s.arc + k].weight);
    }
    clear_states(m, value, begin, end);
}

FUNCTION void add_closure(machine m, int begin)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    device_symbol s = m.symbols[PASSAGE(m)->epsilons];
    int levels = PASSAGE(m)->levels, output = PASSAGE(m)->closure_output;
    for (int level = 0; level < levels; level++) {
        int end = nodes_so_far(m);
        BARRIER();
        for (int i = begin + ITEM; i < end; i += ITEMS) {
            if (m.level[state[i]] != level)
                continue;
            double from = DOUBLE_OF_BITS(cells[state[i]]);
            arc_range row = arcs_of(m, s, state[i]);
            for (device_uint k = row.first; k < row.end; k++)
                if (may_write(m, s.arc + k, output))
                    add_to_state(m, cells, m.arcs[s.arc + k].target, from + (double)m.arcs[s.arc + k].weight);
        }
        BARRIER();
    }
}

FUNCTION void sum_position(machine m, int at)
{
    GLOBAL const int *first = GIVEN(m, int, first_at);
    GLOBAL int *node_first = KEPT(m, int, node_first_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    if (at == 0 && ITEM == 0)
        add_to_state(m, cells, (device_uint)PASSAGE(m)->start, 0.0);
    for (int i = first[at]; i < first[at + 1]; i++) {
        device_step step = GIVEN(m, device_step, step_at)[i];
        int begin = node_first[step.from], end = node_first[step.from + 1];
        if (begin == end || arcs_of_step(m, step.symbol) == 0)
            continue;
        if (step.symbol == STAY_SYMBOL || PASSAGE(m)->arcs == LIVE_ARCS)
            add_live(m, step, begin, end);
        else
            add_all(m, step, begin, end);
    }
    BARRIER();
    if (has_closure(m, at))
        add_closure(m, node_first[at]);
    int begin = node_first[at], end = nodes_so_far(m);
    for (int i = begin + ITEM; i < end; i += ITEMS) {
        device_uint state = KEPT(m, device_uint, state_at)[i];
        KEPT(m, double, alpha_at)[i] = DOUBLE_OF_BITS(cells[state]);
        cells[state] = EMPTY_SUM;
    }
    BARRIER();
    if (ITEM == 0)
        node_first[at + 1] = end;
    BARRIER();
}

/* What ending in a node costs. */
FUNCTION double end_weight(machine m, int at, device_uint state)
{
    return (double)m.final[state] + (double)GIVEN(m, float, final_at)[at];
}

/* The sum over all ends, in a cell that nobody else uses. */
FUNCTION void sum_ends(machine m)
{
    GLOBAL const float *final = GIVEN(m, float, final_at);
    GLOBAL const int *first = KEPT(m, int, node_first_at);
    int positions = PASSAGE(m)->positions;
    double sum = (double)INFINITY;
    for (int at = 0; at < positions; at++)
        for (int i = first[at] + ITEM; final[at] < (float)INFINITY && i < first[at + 1]; i += ITEMS)
            sum = add_weights(sum, KEPT(m, double, alpha_at)[i] + end_weight(m, at, KEPT(m, device_uint, state_at)[i]));
    if (sum < (double)INFINITY)
        add_to_cell(&OUTCOME(m)->least, sum);
    BARRIER();
    if (ITEM == 0)
        OUTCOME(m)->total = DOUBLE_OF_BITS(OUTCOME(m)->least);
    BARRIER();
}

/* ---- Backward ---- */

/* `used`: the logarithm of how often an arc is. */
FUNCTION void count_arc(machine m, device_long place, double used)
{
    if (PASSAGE(m)->count_to > 0)
        KEPT(m, double, count_at)[place] += EXP(used);
}

/* What lies ahead of a source along its arcs, or along those of `share` that are this item's `part`. `alpha` is the node's, `value` has
 * betas by state. */
FUNCTION double sum_ahead(machine m, device_step step, device_uint state, double alpha, int part, int share)
{
    GLOBAL const double *value = KEPT(m, double, value_at);
    device_symbol s = m.symbols[step.symbol];
    arc_range row = arcs_of(m, s, state);
    double sum = (double)INFINITY;
    for (device_uint k = row.first + (device_uint)part; k < row.end; k += (device_uint)share) {
        double ahead = (double)step.weight + (double)m.arcs[s.arc + k].weight + value[m.arcs[s.arc + k].target];
        if (!(ahead < (double)INFINITY) || !may_write(m, s.arc + k, step.output))
            continue;
        sum = add_weights(sum, ahead);
        count_arc(m, step.count_at + k, OUTCOME(m)->total - alpha - ahead);
    }
    return sum;
}

/* What was added to the cells of a position's sources goes to its nodes. */
FUNCTION void take_cells(machine m, int begin, int end)
{
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    GLOBAL double *beta = KEPT(m, double, beta_at);
    BARRIER();
    for (int i = begin + ITEM; i < end; i += ITEMS) {
        device_uint state = KEPT(m, device_uint, state_at)[i];
        beta[i] = add_weights(beta[i], DOUBLE_OF_BITS(cells[state]));
        cells[state] = EMPTY_SUM;
    }
}

FUNCTION void back_live(machine m, device_step step, int begin, int end)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    int share = items_per_node(end - begin), part = ITEM % share;
    for (int i = begin + ITEM / share; i < end; i += ITEMS / share) {
        double ahead = (double)INFINITY;
        if (step.symbol != STAY_SYMBOL)
            ahead = sum_ahead(m, step, state[i], KEPT(m, double, alpha_at)[i], part, share);
        else if (part == 0)
            ahead = KEPT(m, double, value_at)[state[i]] + (double)step.weight;
        if (ahead < (double)INFINITY)
            (void)add_to_cell(cells + state[i], ahead);
    }
}

FUNCTION void back_all(machine m, device_step step, int begin, int end)
{
    GLOBAL const double *value = KEPT(m, double, value_at);
    GLOBAL double *alpha = KEPT(m, double, other_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    device_symbol s = m.symbols[step.symbol];
    spread_nodes(m, alpha, KEPT(m, double, alpha_at), begin, end, 0.0);
    for (device_uint k = (device_uint)ITEM; k < s.arcs; k += (device_uint)ITEMS) {
        device_uint source = m.source[s.arc + k];
        double ahead = (double)step.weight + (double)m.arcs[s.arc + k].weight + value[m.arcs[s.arc + k].target];
        if (!(alpha[source] < (double)INFINITY) || !(ahead < (double)INFINITY) ||
            !may_write(m, s.arc + k, step.output))
            continue;
        (void)add_to_cell(cells + source, ahead);
        count_arc(m, step.count_at + k, OUTCOME(m)->total - alpha[source] - ahead);
    }
    clear_states(m, alpha, begin, end);
}

/* Against the order of levels: what a state leads to is complete. */
FUNCTION void back_closure(machine m, int begin, int end)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    GLOBAL double *value = KEPT(m, double, value_at), *beta = KEPT(m, double, beta_at);
    device_step step;
    step.symbol = PASSAGE(m)->epsilons;
    step.output = PASSAGE(m)->closure_output;
    step.weight = 0.0f;
    step.count_at = 0; /* closures are counted in front */
    spread_nodes(m, value, beta, begin, end, 0.0);
    for (int level = PASSAGE(m)->levels - 1; level >= 0; level--) {
        for (int i = begin + ITEM; i < end; i += ITEMS)
            if (m.level[state[i]] == level) {
                beta[i] = add_weights(beta[i], sum_ahead(m, step, state[i], KEPT(m, double, alpha_at)[i], 0, 1));
                value[state[i]] = beta[i];
            }
        BARRIER();
    }
    clear_states(m, value, begin, end);
}

FUNCTION void back_position(machine m, int at)
{
    GLOBAL const int *out_first = GIVEN(m, int, out_first_at);
    GLOBAL const int *node_first = KEPT(m, int, node_first_at);
    GLOBAL double *value = KEPT(m, double, value_at), *beta = KEPT(m, double, beta_at);
    int begin = node_first[at], end = node_first[at + 1];
    for (int i = begin + ITEM; i < end; i += ITEMS)
        beta[i] = end_weight(m, at, KEPT(m, device_uint, state_at)[i]);
    for (int i = out_first[at]; i < out_first[at + 1]; i++) {
        device_step step = GIVEN(m, device_step, step_at)[GIVEN(m, int, out_at)[i]];
        int to_begin = node_first[step.to], to_end = node_first[step.to + 1];
        if (begin == end || to_begin == to_end || arcs_of_step(m, step.symbol) == 0)
            continue;
        spread_nodes(m, value, beta, to_begin, to_end, 0.0);
        if (step.symbol == STAY_SYMBOL || PASSAGE(m)->arcs == LIVE_ARCS)
            back_live(m, step, begin, end);
        else
            back_all(m, step, begin, end);
        take_cells(m, begin, end);
        clear_states(m, value, to_begin, to_end);
    }
    BARRIER();
    if (has_closure(m, at))
        back_closure(m, begin, end);
}

KERNEL void sum_forward(MACHINE_ARGUMENTS)
{
    MAKE_MACHINE(m);
    GLOBAL device_outcome *out = OUTCOME(m);
    int states = PASSAGE(m)->states, positions = PASSAGE(m)->positions;
    for (int i = ITEM; i < states; i += ITEMS) {
        KEPT(m, device_ulong, cell_at)[i] = EMPTY_SUM;
        KEPT(m, double, value_at)[i] = KEPT(m, double, other_at)[i] = (double)INFINITY;
    }
    for (device_long i = ITEM; i < PASSAGE(m)->count_to; i += ITEMS)
        KEPT(m, double, count_at)[i] = 0.0;
    if (ITEM == 0) {
        out->least = EMPTY_SUM;
        out->back_total = (double)INFINITY;
        out->nodes = 0;
        KEPT(m, int, node_first_at)[0] = 0;
    }
    BARRIER();
    for (int at = 0; at < positions; at++)
        sum_position(m, at);
    sum_ends(m);
}

KERNEL void sum_backward(MACHINE_ARGUMENTS)
{
    MAKE_MACHINE(m);
    GLOBAL device_outcome *out = OUTCOME(m);
    if (!(out->total < (double)INFINITY) || out->nodes > PASSAGE(m)->nodes)
        return;
    for (int at = PASSAGE(m)->positions - 1; at >= 0; at--)
        back_position(m, at);
    for (int i = ITEM; i < KEPT(m, int, node_first_at)[1]; i += ITEMS)
        if ((int)KEPT(m, device_uint, state_at)[i] == PASSAGE(m)->start)
            out->back_total = KEPT(m, double, beta_at)[i];
}
