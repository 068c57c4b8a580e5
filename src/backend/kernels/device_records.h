/* What host and kernels tell each other: records of fixed layout, the same in C, OpenCL C and CUDA C.
 *
 * Frames lie in lanes: blocks of LANES frames, in each block one row per dimension for the centred value and its square by
 * turns, and behind them, when a mixture is scored by differences, one row per dimension for the value as it is:
 *
 *     lanes[(block * rows + row) * LANE_STRIDE + lane]
 *
 * so that neighbouring work-items read neighbouring words ([000] 3.1.4), and a processor's vector is a part of a row. Behind its own
 * lanes a block repeats the first ones of the next, so that a tile may begin anywhere; rows lie an odd number of cache lines apart.
 * Parameters are packed as backend/cpu/gmm_kernel.h has it, in groups of COMPONENTS, powers of two.
 */
#ifndef TRL_BACKEND_KERNELS_DEVICE_RECORDS_H
#define TRL_BACKEND_KERNELS_DEVICE_RECORDS_H

#ifndef DEVICE_CODE
#include <stdint.h>
typedef int64_t device_long;
typedef uint64_t device_ulong;
typedef uint32_t device_uint;
#endif

#define LANES 256         /* frames of a block */
#define LANE_STRIDE 304   /* with those that are repeated: 19 lines */
#define VECTOR 8          /* lanes of a processor's vector */
#define COMPONENTS 4      /* components side by side */
#define LOCAL_FLOATS 6144 /* of parameters in local memory: 24 KB of the 32 that every device has */
#define LOCAL_NODES 1024  /* whose alphas fit into local memory: 16 KB for two frames */
#define FETCH_FRAMES 32   /* of back-pointers that are fetched at once ([000] 3.3) */
#define FETCH_NODES 4
#define WHOLE_FRAMES 8    /* of a group that scores whole frames */
#define WHOLE_ITEMS 256   /* its items: a power of two */
#define LEAST_SHARE 1e-8f /* of a frame: smaller ones are left out */

/* A piece of a row: frames of one tied state, scored by one group. */
typedef struct device_piece {
    device_long lanes;    /* where the utterance's first block stands, in floats */
    device_long score_at; /* of the first frame */
    int tied;
    int first, count; /* lanes, from the utterance's first one on */
    int unused;
} device_piece;

/* Lanes of one tied state whose components' shares are wanted, from a whole vector on. */
typedef struct device_stretch {
    device_long share_at; /* shares are [component][lane], `padded` lanes each */
    device_long lane_at;  /* the first lane among all: of sources, weights and best scores */
    device_long gaussian; /* the first of its components among all */
    int tied;
    int count, padded;
    int components;
} device_stretch;

/* Nodes are counted from the first one of the search. */
typedef struct device_arc {
    int node; /* the other end; -1: the start; -2: one outside the search, never reached */
    float weight;
} device_arc;

typedef struct device_node {
    device_long score_at; /* of its first frame */
    device_long cell;     /* of its first frame: a bit of the back-pointers, or a place among the posteriors */
    int first, end;       /* its band */
    int arc, arc_end;     /* incoming ones */
    int leave, leave_end; /* outgoing ones; posteriors only */
} device_node;

/* One utterance's search. Places of records are bytes within the same block of memory. */
typedef struct device_search {
    device_long node_at, arc_at, leave_at;
    device_long window_at;           /* by frame, two ints: the nodes [low, high) whose bands may hold the frame */
    device_long alpha_at, before_at; /* doubles; before: two more of them for each node */
    device_long path_at;             /* ints: node and arc by turns, of the search's first frame */
    device_long count_at;            /* doubles, by arc */
    int begin, end;
    int nodes; /* posteriors: the one behind the last is the end of the utterance */
    int back_bits;
    int last_node;
    int unused;
} device_search;

/* ---- Machines (machine.cl) ---- */

#define STAY_SYMBOL (-2) /* a step's: nothing is read, the state stays */
#define ANY_OUTPUT (-1)  /* a step's */
#define ALL_ARCS 0       /* how arcs are walked */
#define LIVE_ARCS 1

/* The arcs that read one label, by source: rows. */
typedef struct device_symbol {
    device_long arc, row, place; /* where its part of the arrays begins */
    device_uint arcs, rows;
    int has_bitmap; /* of sources, with the number of rows before each word; else a list of sources */
    int unused;
} device_symbol;

typedef struct device_transition {
    device_uint target;
    float weight;
} device_transition;

typedef struct device_step {
    int from, to; /* positions */
    int symbol, output;
    float weight;
    int unused;
    device_long count_at; /* doubles, of its symbol's first arc */
} device_step;

/* An arc of the best path, -1 for a step that stays, and the step, -1 for an arc without input. */
typedef struct device_move {
    device_long arc;
    int step, unused;
} device_move;

/* One input's way through a machine. Places are bytes: of the records, then of the work. */
typedef struct device_passage {
    device_long step_at;              /* device_step, by where they lead */
    device_long first_at;             /* int, by position and one more: its steps */
    device_long out_at, out_first_at; /* int: the steps that leave a position */
    device_long final_at;             /* float by position */

    device_long cell_at;                     /* words of 64 bits by state: what a position's steps lead to */
    device_long value_at, other_at;          /* by state: floats for the best path, doubles for sums */
    device_long base_at;                     /* double by position: what scores are relative to */
    device_long node_first_at;               /* int by position and one more */
    device_long state_at;                    /* of nodes */
    device_long score_at, back_at;           /* the best path: float, word */
    device_long alpha_at, beta_at;           /* sums: double */
    device_long move_at, count_at, count_to; /* device_move; doubles, how many (0: not wanted) */
    int positions;
    int nodes; /* that there is room for */
    int states, start;
    int epsilons, levels; /* the symbol of arcs without input, -1: none; how deep they go */
    int closes;           /* which positions have them: 0 none, 1 all, 2 odd ones */
    int closure_output;
    int arcs; /* ALL_ARCS or LIVE_ARCS */
    int unused;
} device_passage;

typedef struct device_outcome {
    double total, back_total;      /* sums */
    device_ulong least, least_end; /* the best path: its weight, its end, in orders of bits */
    device_uint best;              /* of a position */
    int nodes;                     /* so far; more than there is room for: the passage was given up */
    int node;                      /* that was looked for */
    int moves;
} device_outcome;

#endif
