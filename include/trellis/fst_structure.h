/* Transducers: operations on their structure, with OpenFst's meaning.
 *
 *     trl_fst_arcsort(fst, TRL_SIDE_OUTPUT, &err);
 *     trl_fst_union(fst, other, &err);                                   // fst: what either of them maps
 *     trl_fst_connect(fst, &err);
 *
 * Operations on one machine change it in place; after a failure it is as it was, or must be destroyed where that is
 * said. All return 0 or a negative code; TRL_ENOMEM is always possible. Two machines must have the same semiring
 * (TRL_EINVAL). Every arc must lead to a state that is there (trl_fst_verify).
 */
#ifndef TRELLIS_FST_STRUCTURE_H
#define TRELLIS_FST_STRUCTURE_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

typedef enum trl_side { TRL_SIDE_INPUT, TRL_SIDE_OUTPUT } trl_side;

/* Sorts the arcs of each state by the label of one side; arcs with equal labels keep their order. */
TRL_API int trl_fst_arcsort(trl_fst *fst, trl_side side, trl_error *err);

/* Removes states that are on no path from the start to a final state. */
TRL_API int trl_fst_connect(trl_fst *fst, trl_error *err);

/* Numbers states so that arcs lead to higher ones only. TRL_EINVAL: there is a cycle; the machine is unchanged. */
TRL_API int trl_fst_topsort(trl_fst *fst, trl_error *err);

/* Input and output change places, symbol tables too. */
TRL_API int trl_fst_invert(trl_fst *fst, trl_error *err);

/* An acceptor of one side. */
TRL_API int trl_fst_project(trl_fst *fst, trl_side side, trl_error *err);

/* Pairs of labels: every label from[i] of that side becomes to[i], all at once; others stay, and so do symbol tables.
 * TRL_EINVAL: a label is given twice, or is negative. */
TRL_API int trl_fst_relabel(trl_fst *fst, trl_side side, const int32_t *from, const int32_t *to, size_t count,
                            trl_error *err);

/* Rational operations, as Thompson builds them: epsilon arcs join the parts. After TRL_ENOMEM or TRL_ELIMIT the machine
 * must be destroyed. The other machine may be the same one. */
TRL_API int trl_fst_union(trl_fst *fst, const trl_fst *other, trl_error *err); /* either */
TRL_API int trl_fst_concat(trl_fst *fst, const trl_fst *behind, trl_error *err);
typedef enum trl_closure { TRL_CLOSURE_STAR, TRL_CLOSURE_PLUS } trl_closure; /* none or more, one or more */
TRL_API int trl_fst_closure(trl_fst *fst, trl_closure kind, trl_error *err);

/* All paths from the end to the start: a new start that leads to the old final states by epsilon. */
TRL_API int trl_fst_reverse(const trl_fst *fst, trl_fst **out, trl_error *err);

/* An arc whose output label is that of a part becomes an arc into the part's start (the call), and ends of the part
 * lead behind it (the way back). The part keeps its weights. As in OpenFst, the call keeps the arc's input label unless
 * told otherwise. */
typedef struct trl_fst_part {
    int32_t label; /* not epsilon; the root's own may be TRL_NO_LABEL */
    const trl_fst *fst;
} trl_fst_part;

/* Which labels are not epsilon. */
typedef enum trl_replace_labels {
    TRL_REPLACE_NEITHER,
    TRL_REPLACE_INPUT,
    TRL_REPLACE_OUTPUT,
    TRL_REPLACE_BOTH
} trl_replace_labels;

typedef struct trl_replace_options {
    trl_replace_labels call, back; /* of the arc that is replaced: default input; of the way back: default neither */
    int32_t return_label;          /* what those of the way back are */
    int64_t most_states;           /* TRL_ELIMIT beyond; 0: 2^31 - 1 */
} trl_replace_options;

TRL_API trl_replace_options trl_replace_defaults(void);

/* `root` is the label of the part to begin with. NULL options: the defaults. Returns 0, TRL_EINVAL (a label is given
 * twice, or to none; different semirings), TRL_ELIMIT (a part contains itself, so that the result has no end),
 * TRL_ENOMEM. */
TRL_API int trl_fst_replace(const trl_fst_part *parts, size_t count, int32_t root, const trl_replace_options *options,
                            trl_fst **out, trl_error *err);

/* What can be done to every arc and final weight. */
typedef enum trl_fst_map_kind {
    TRL_MAP_IDENTITY,
    TRL_MAP_INVERT,         /* one divided by the weight */
    TRL_MAP_TIMES,          /* the weight times `weight` */
    TRL_MAP_PLUS,           /* the weight plus `weight` (arcs, and final weights that are not zero) */
    TRL_MAP_POWER,          /* each cost times `power`; in the real semiring the power */
    TRL_MAP_QUANTIZE,       /* to multiples of `delta` */
    TRL_MAP_REMOVE_WEIGHTS, /* one for all */
    TRL_MAP_SUPERFINAL,     /* one final state, with weight one, that epsilon arcs lead to */
    TRL_MAP_ARC_SUM,        /* arcs with the same labels and states become one with their sum */
    TRL_MAP_ARC_UNIQUE,     /* equal arcs once */
    TRL_MAP_INPUT_EPSILON,  /* input labels become epsilon */
    TRL_MAP_OUTPUT_EPSILON,

    /* The same numbers in another semiring; from and to the real by logarithm. A lattice weight becomes its sum; what
     * becomes a lattice weight is its first cost. */
    TRL_MAP_TO_TROPICAL,
    TRL_MAP_TO_LOG,
    TRL_MAP_TO_REAL,
    TRL_MAP_TO_LATTICE
} trl_fst_map_kind;

typedef struct trl_fst_map_options {
    trl_fst_map_kind kind;
    trl_weight weight;
    double power;
    float delta;
} trl_fst_map_options;

/* Weights that are zero stay so. Returns 0, TRL_EINVAL (no such kind, delta not positive), TRL_ENUMBER (a weight would
 * become none of the semiring: the machine is unchanged), TRL_ENOMEM (after TRL_MAP_SUPERFINAL it must be
 * destroyed). */
TRL_API int trl_fst_map(trl_fst *fst, const trl_fst_map_options *options, trl_error *err);

/* Labels and, if wished, weights become one label: a transducer is then an unweighted acceptor, and what works for
 * those only works for it. The table remembers. Encoding several machines with one table gives equal labels to equal
 * pairs; all must have one semiring (TRL_EINVAL). Where weights are encoded, ends become arcs to one new final state.
 * Decoding makes them final weights again and gives back the symbol tables of the machine that was encoded first.
 * TRL_EINVAL: a label that is not in the table; nothing has changed then. After TRL_ENOMEM the machine must be
 * destroyed. */
typedef struct trl_fst_codes trl_fst_codes;
enum { TRL_ENCODE_LABELS = 1, TRL_ENCODE_WEIGHTS = 2 };
TRL_API int trl_fst_codes_create(int what, trl_fst_codes **out, trl_error *err);
TRL_API void trl_fst_codes_destroy(trl_fst_codes *codes);
TRL_API int trl_fst_encode(trl_fst *fst, trl_fst_codes *codes, trl_error *err);
TRL_API int trl_fst_decode(trl_fst *fst, const trl_fst_codes *codes, trl_error *err);

/* The table in a file, as OpenFst's fstencode has it. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT and TRL_ECORRUPT with
 * the place, TRL_EINVAL (writing a table that encoded nothing), TRL_ENOMEM. */
TRL_API int trl_fst_codes_read(const char *path, trl_fst_codes **out, trl_error *err);
TRL_API int trl_fst_codes_write(const trl_fst_codes *codes, const char *path, trl_error *err);

TRL_END_DECLS

#endif
