/* Machines: inputs through transducers ([002] 5), one group per input. Position after position the items share out the arcs of the steps
 * that lead there. An arc improves or adds to the cell of its target, atomically; who reaches a state first makes it a node of the
 * position. Two ways to walk: all arcs of the step's symbol, with the source's value by state; or rows of live sources only (the
 * frontier). Arcs without input go by levels, a state's being above those of all its predecessors, over live states always.
 *
 * An item that is alone (a processor's shape) needs no atomic operation. */

#define EMPTY_CELL (~(device_ulong)0)
#define PATH_START (~(device_uint)0) /* back-pointer of where the path begins */

typedef struct machine {
    GLOBAL const char *records;
    GLOBAL char *work;
    GLOBAL const device_symbol *symbols;
    GLOBAL const device_transition *arcs;
    GLOBAL const device_uint *source;
    GLOBAL const int *output;
    GLOBAL const device_uint *row_first, *row_source, *rank;
    GLOBAL const device_ulong *bits;
    GLOBAL const float *final;
    GLOBAL const int *level;
} machine;

#define MACHINE_ARGUMENTS                                                                                              \
    GLOBAL const char *records, GLOBAL char *work, GLOBAL const device_symbol *symbols,                                \
        GLOBAL const device_transition *arcs, GLOBAL const device_uint *source, GLOBAL const int *output,              \
        GLOBAL const device_uint *row_first, GLOBAL const device_uint *row_source, GLOBAL const device_uint *rank,     \
        GLOBAL const device_ulong *bits, GLOBAL const float *final, GLOBAL const int *level
#define MAKE_MACHINE(m)         \
    machine m;                  \
    m.records = records;        \
    m.work = work;              \
    m.symbols = symbols;        \
    m.arcs = arcs;              \
    m.source = source;          \
    m.output = output;          \
    m.row_first = row_first;    \
    m.row_source = row_source;  \
    m.rank = rank;              \
    m.bits = bits;              \
    m.final = final;            \
    m.level = level

#define PASSAGE(m) ((GLOBAL const device_passage *)(m).records + GROUP)
#define OUTCOME(m) ((GLOBAL device_outcome *)(m).work + GROUP)
#define GIVEN(m, type, member) ((GLOBAL const type *)((m).records + PASSAGE(m)->member))
#define KEPT(m, type, member) ((GLOBAL type *)((m).work + PASSAGE(m)->member))

/* ---- Rows ---- */

/* The row of a source among a symbol's, or -1. */
FUNCTION device_long row_of(machine m, device_symbol s, device_uint state)
{
    if (s.has_bitmap) {
        device_ulong word = m.bits[s.place + (state >> 6)], bit = (device_ulong)1 << (state & 63);
        return word & bit ? (device_long)m.rank[s.place + (state >> 6)] + COUNT_BITS(word & (bit - 1)) : -1;
    }
    device_uint low = 0, high = s.rows;
    while (low < high) {
        device_uint middle = low + (high - low) / 2;
        if (m.row_source[s.place + middle] < state)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s.rows && m.row_source[s.place + low] == state ? (device_long)low : -1;
}

typedef struct arc_range {
    device_uint first, end;
} arc_range;

FUNCTION arc_range arcs_of(machine m, device_symbol s, device_uint state)
{
    arc_range range;
    device_long row = row_of(m, s, state);
    range.first = row < 0 ? 0 : m.row_first[s.row + row];
    range.end = row < 0 ? 0 : m.row_first[s.row + row + 1];
    return range;
}

FUNCTION int may_write(machine m, device_long arc, int output)
{
    return output == ANY_OUTPUT || m.output[arc] == output;
}

/* ---- Nodes ---- */

/* A state that nothing had reached at this position. */
FUNCTION void add_node(machine m, device_uint state)
{
    GLOBAL device_outcome *out = OUTCOME(m);
    int node = ITEMS == 1 ? out->nodes++ : NEXT_NUMBER(&out->nodes);
    if (node < PASSAGE(m)->nodes)
        KEPT(m, device_uint, state_at)[node] = state;
}

/* Nodes that are really there; all items have written theirs. */
FUNCTION int nodes_so_far(machine m)
{
    int nodes = OUTCOME(m)->nodes, room = PASSAGE(m)->nodes;
    return nodes < room ? nodes : room;
}

/* How many items share a node's row: 32, so that neighbours read neighbouring arcs; more where nodes are few. */
FUNCTION int items_per_node(int nodes)
{
    int items = ITEMS < 32 ? ITEMS : 32;
    while (items < ITEMS && nodes * items < ITEMS)
        items *= 2;
    return items;
}

FUNCTION int has_closure(machine m, int at)
{
    int closes = PASSAGE(m)->closes;
    return closes == 1 || (closes == 2 && at % 2 == 1);
}

FUNCTION device_uint arcs_of_step(machine m, int symbol)
{
    return symbol == STAY_SYMBOL ? (device_uint)PASSAGE(m)->states : symbol < 0 ? 0 : m.symbols[symbol].arcs;
}
