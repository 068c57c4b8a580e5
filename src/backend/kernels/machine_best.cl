/* The best path ([002] 5.1). A cell is a word of 64 bits: the weight, in an order of bits that compares as the numbers do, then the
 * back-pointer. Weights are costs, so the paper's atomic maximum is a minimum, and ties go to the first arc, whoever comes first. Scores are
 * relative to the best of their position, in the same floats and additions as the processor's search: the same path, bit by bit. */

FUNCTION device_uint ordered_float(float x)
{
    device_uint bits = BITS_OF_FLOAT(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

FUNCTION float float_in_order(device_uint key)
{
    return FLOAT_OF_BITS(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

FUNCTION device_ulong ordered_double(double x)
{
    device_ulong bits = BITS_OF_DOUBLE(x), sign = (device_ulong)1 << 63;
    return bits & sign ? ~bits : bits | sign;
}

/* `cells` are the passage's: who walks many arcs looks it up once. */
FUNCTION void improve_cell(machine m, GLOBAL device_ulong *cells, device_uint state, float score, device_uint back)
{
    GLOBAL device_ulong *cell = cells + state;
    device_ulong key = (device_ulong)ordered_float(score) << 32 | back, old;
    if (!(score < (float)INFINITY))
        return;
    if (ITEMS == 1) {
        old = *cell;
        *cell = key < old ? key : old;
    } else {
        old = LEAST(cell, key);
    }
    if (old == EMPTY_CELL)
        add_node(m, state);
}

/* ---- Steps ---- */

FUNCTION void best_of_live(machine m, device_step step, int begin, int end, float weight, device_uint base)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    GLOBAL const float *score = KEPT(m, float, score_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    int share = items_per_node(end - begin), part = ITEM % share;
    for (int i = begin + ITEM / share; i < end; i += ITEMS / share) {
        float from = score[i] + weight;
        if (step.symbol == STAY_SYMBOL) {
            if (part == 0)
                improve_cell(m, cells, state[i], from, base + state[i]);
            continue;
        }
        device_symbol s = m.symbols[step.symbol];
        arc_range row = arcs_of(m, s, state[i]);
        for (device_uint k = row.first + (device_uint)part; k < row.end; k += (device_uint)share)
            if (may_write(m, s.arc + k, step.output))
                improve_cell(m, cells, m.arcs[s.arc + k].target, from + m.arcs[s.arc + k].weight, base + k);
    }
}

FUNCTION void best_of_all(machine m, device_step step, int begin, int end, float weight, device_uint base)
{
    GLOBAL const device_uint *state = KEPT(m, device_uint, state_at);
    GLOBAL float *value = KEPT(m, float, value_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    device_symbol s = m.symbols[step.symbol];
    for (int i = begin + ITEM; i < end; i += ITEMS)
        value[state[i]] = KEPT(m, float, score_at)[i] + weight;
    BARRIER();
    for (device_uint k = (device_uint)ITEM; k < s.arcs; k += (device_uint)ITEMS) {
        float from = value[m.source[s.arc + k]];
        if (from < (float)INFINITY && may_write(m, s.arc + k, step.output))
            improve_cell(m, cells, m.arcs[s.arc + k].target, from + m.arcs[s.arc + k].weight, base + k);
    }
    BARRIER();
    for (int i = begin + ITEM; i < end; i += ITEMS)
        value[state[i]] = (float)INFINITY;
    BARRIER();
}

/* Arcs without input among the nodes from `begin` on. */
FUNCTION void best_closure(machine m, int begin, device_uint base)
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
            float from = float_in_order((device_uint)(cells[state[i]] >> 32));
            arc_range row = arcs_of(m, s, state[i]);
            for (device_uint k = row.first; k < row.end; k++)
                if (may_write(m, s.arc + k, output))
                    improve_cell(m, cells, m.arcs[s.arc + k].target, from + m.arcs[s.arc + k].weight, base + k);
        }
        BARRIER();
    }
}

/* ---- Positions ---- */

/* Cells become nodes, relative to the best of them. */
FUNCTION void end_best(machine m, int at, double base)
{
    GLOBAL device_outcome *out = OUTCOME(m);
    GLOBAL int *first = KEPT(m, int, node_first_at);
    GLOBAL device_ulong *cells = KEPT(m, device_ulong, cell_at);
    GLOBAL float *score = KEPT(m, float, score_at);
    int begin = first[at], end = nodes_so_far(m);
    device_uint least = ~0u;
    for (int i = begin + ITEM; i < end; i += ITEMS) {
        device_uint state = KEPT(m, device_uint, state_at)[i];
        device_ulong cell = cells[state];
        cells[state] = EMPTY_CELL;
        device_uint key = (device_uint)(cell >> 32);
        least = key < least ? key : least;
        score[i] = float_in_order(key);
        KEPT(m, device_uint, back_at)[i] = (device_uint)cell;
    }
    if (least != ~0u)
        LEAST_WORD(&out->best, least);
    BARRIER();
    float best = float_in_order(out->best);
    for (int i = begin + ITEM; i < end; i += ITEMS)
        score[i] -= best;
    BARRIER();
    if (ITEM == 0) {
        first[at + 1] = end;
        KEPT(m, double, base_at)[at] = end > begin ? base + (double)best : (double)INFINITY;
        out->best = ~0u;
    }
    BARRIER();
}

/* What scores at a position are relative to, before it is known which is best. */
FUNCTION double base_of_position(machine m, int at)
{
    GLOBAL const int *first = GIVEN(m, int, first_at);
    double base = at == 0 ? 0.0 : (double)INFINITY;
    for (int i = first[at]; at > 0 && i < first[at + 1]; i++) {
        device_step step = GIVEN(m, device_step, step_at)[i];
        double here = KEPT(m, double, base_at)[step.from] + (double)step.weight;
        base = here < base ? here : base;
    }
    return base;
}

FUNCTION void search_best(machine m, int at)
{
    GLOBAL const int *first = GIVEN(m, int, first_at);
    GLOBAL const int *node_first = KEPT(m, int, node_first_at);
    double base = base_of_position(m, at);
    device_uint back = 0;
    if (at == 0 && ITEM == 0)
        improve_cell(m, KEPT(m, device_ulong, cell_at), (device_uint)PASSAGE(m)->start, 0.0f, PATH_START);
    for (int i = first[at]; i < first[at + 1]; i++) {
        device_step step = GIVEN(m, device_step, step_at)[i];
        int begin = node_first[step.from], end = node_first[step.from + 1];
        device_uint size = arcs_of_step(m, step.symbol);
        if (size == 0 || begin == end)
            continue;
        float weight = (float)(KEPT(m, double, base_at)[step.from] + (double)step.weight - base);
        if (step.symbol == STAY_SYMBOL || PASSAGE(m)->arcs == LIVE_ARCS)
            best_of_live(m, step, begin, end, weight, back);
        else
            best_of_all(m, step, begin, end, weight, back);
        back += size;
    }
    BARRIER();
    if (has_closure(m, at))
        best_closure(m, node_first[at], back);
    end_best(m, at, base);
}

/* ---- The end, and the way back ---- */

/* The least weight, then the first place that has it: the earlier position, the lower state. */
FUNCTION void find_end(machine m, int is_second)
{
    GLOBAL device_outcome *out = OUTCOME(m);
    GLOBAL const float *final = GIVEN(m, float, final_at);
    GLOBAL const int *first = KEPT(m, int, node_first_at);
    int positions = PASSAGE(m)->positions;
    device_ulong least = EMPTY_CELL, wanted = is_second ? out->least : 0;
    for (int at = 0; at < positions; at++) {
        if (!(final[at] < (float)INFINITY))
            continue;
        for (int i = first[at] + ITEM; i < first[at + 1]; i += ITEMS) {
            device_uint state = KEPT(m, device_uint, state_at)[i];
            double total = KEPT(m, double, base_at)[at] + (double)KEPT(m, float, score_at)[i] +
                           (double)m.final[state] + (double)final[at];
            device_ulong key = total < (double)INFINITY ? ordered_double(total) : EMPTY_CELL;
            if (is_second)
                key = key == wanted ? (device_ulong)at << 32 | state : EMPTY_CELL;
            least = key < least ? key : least;
        }
    }
    if (least != EMPTY_CELL)
        (void)LEAST(is_second ? &out->least_end : &out->least, least);
    BARRIER();
}

/* The node of a state at a position: the items look together. */
FUNCTION int find_node(machine m, int at, device_uint state)
{
    GLOBAL const int *first = KEPT(m, int, node_first_at);
    for (int i = first[at] + ITEM; i < first[at + 1]; i += ITEMS)
        if (KEPT(m, device_uint, state_at)[i] == state)
            OUTCOME(m)->node = i;
    BARRIER();
    int node = OUTCOME(m)->node;
    BARRIER();
    return node;
}

/* What a back-pointer means: steps into a position count their arcs one after the other, then come those without input. */
FUNCTION device_move move_of(machine m, int at, device_uint back)
{
    GLOBAL const int *first = GIVEN(m, int, first_at);
    GLOBAL const int *node_first = KEPT(m, int, node_first_at);
    device_move move;
    for (int i = first[at]; i < first[at + 1]; i++) {
        device_step step = GIVEN(m, device_step, step_at)[i];
        device_uint size = arcs_of_step(m, step.symbol);
        if (size == 0 || node_first[step.from] == node_first[step.from + 1])
            continue;
        if (back < size) {
            move.arc = step.symbol == STAY_SYMBOL ? -1 : m.symbols[step.symbol].arc + back;
            move.step = i;
            return move;
        }
        back -= size;
    }
    move.arc = m.symbols[PASSAGE(m)->epsilons].arc + back;
    move.step = -1;
    return move;
}

FUNCTION void trace_best(machine m)
{
    GLOBAL device_outcome *out = OUTCOME(m);
    int at = (int)(out->least_end >> 32), moves = 0;
    device_uint state = (device_uint)out->least_end;
    for (;; moves++) {
        device_uint back = KEPT(m, device_uint, back_at)[find_node(m, at, state)];
        if (back == PATH_START)
            break;
        device_move move = move_of(m, at, back);
        if (ITEM == 0)
            KEPT(m, device_move, move_at)[moves] = move;
        state = move.arc < 0 ? state : m.source[move.arc];
        at = move.step < 0 ? at : GIVEN(m, device_step, step_at)[move.step].from;
    }
    if (ITEM == 0)
        out->moves = moves;
}

KERNEL void best_paths(MACHINE_ARGUMENTS)
{
    MAKE_MACHINE(m);
    GLOBAL device_outcome *out = OUTCOME(m);
    int states = PASSAGE(m)->states, positions = PASSAGE(m)->positions;
    for (int i = ITEM; i < states; i += ITEMS) {
        KEPT(m, device_ulong, cell_at)[i] = EMPTY_CELL;
        KEPT(m, float, value_at)[i] = (float)INFINITY;
    }
    if (ITEM == 0) {
        out->least = out->least_end = EMPTY_CELL;
        out->best = ~0u;
        out->nodes = out->moves = 0;
        KEPT(m, int, node_first_at)[0] = 0;
    }
    BARRIER();
    for (int at = 0; at < positions; at++)
        search_best(m, at);
    if (out->nodes > PASSAGE(m)->nodes)
        return;
    find_end(m, 0);
    if (out->least == EMPTY_CELL)
        return;
    find_end(m, 1);
    trace_best(m);
}
