/* trellis fst …: operations on the structure of transducers: sorting, joining, mapping, encoding. */
#include "fst_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ONE_MACHINE 0, 1, .machines = 1
#define TWO_MACHINES 2, 2, .machines = 2

static const char *const sides[] = {"input", "output", NULL};
static const cli_option output_options[] = {FST_OUTPUT, {0}};

/* Commands that know no options of their own. */
#define connect_options output_options
#define topsort_options output_options
#define invert_options output_options
#define concat_options output_options
#define reverse_options output_options

/* ---- arcsort, connect, topsort, invert, project ---- */

static int arcsort(fst_job *job)
{
    static const char *const names[] = {"ilabel", "olabel", NULL};
    int side;
    int code = fst_choose(job, "sort-type", job->v->sort_type, names, &side);
    return code != 0 ? code : trl_fst_arcsort(job->machine[0], (trl_side)side, &job->err);
}

static const cli_option arcsort_options[] = {
    FST_OUTPUT, FST_OPTION("sort-type", 0, CLI_TEXT, sort_type, "LABEL", "ilabel (default) or olabel"), {0}};
FST_COMMAND(arcsort, "[FILE]", "sorts the arcs of each state by label",
            "Arcs with equal labels keep their order. Composition needs one of the two machines sorted on the side "
            "where they meet.",
            "trellis fst arcsort --sort-type olabel lexicon.fst -o sorted.fst", ONE_MACHINE);

static int connect(fst_job *job)
{
    return trl_fst_connect(job->machine[0], &job->err);
}
FST_COMMAND(connect, "[FILE]", "removes states that are on no path from the start to an end",
            "The other states keep their order.", "trellis fst connect machine.fst -o trimmed.fst", ONE_MACHINE);

static int topsort(fst_job *job)
{
    return trl_fst_topsort(job->machine[0], &job->err);
}
FST_COMMAND(topsort, "[FILE]", "numbers states so that arcs lead to higher ones only",
            "A machine with cycles can't be sorted so: that is an error.",
            "trellis fst topsort lattice.fst -o sorted.fst", ONE_MACHINE);

static int invert(fst_job *job)
{
    return trl_fst_invert(job->machine[0], &job->err);
}
FST_COMMAND(invert, "[FILE]", "exchanges input and output", "Labels and symbol tables change places.",
            "trellis fst invert lexicon.fst -o words_to_phones.fst", ONE_MACHINE);

static int project(fst_job *job)
{
    int side;
    int code = fst_choose(job, "project-type", job->v->project_type, sides, &side);
    return code != 0
               ? code
               : trl_fst_project(job->machine[0], job->v->output_side ? TRL_SIDE_OUTPUT : (trl_side)side, &job->err);
}

static const cli_option project_options[] = {
    FST_OUTPUT,
    FST_OPTION("project-type", 0, CLI_TEXT, project_type, "SIDE", "input (default) or output"),
    FST_OPTION("project-output", 0, CLI_FLAG, output_side, NULL, "the same as --project-type output"),
    {0}};
FST_COMMAND(project, "[FILE]", "makes an acceptor of one side of a transducer",
            "The labels of that side take the place of the others.",
            "trellis fst project --project-type output best.fst -o words.fst", ONE_MACHINE);

/* ---- union, concat, closure, reverse, replace ---- */

static int union_(fst_job *job)
{
    return trl_fst_union(job->machine[0], job->machine[1], &job->err);
}
#define union__options output_options
FST_COMMAND_NAMED(union_, "union", "A B", "makes a transducer that does what either of two does",
                  "A string that both know gets the sum of its weights.", "trellis fst union a.fst b.fst -o either.fst",
                  TWO_MACHINES);

static int concat(fst_job *job)
{
    return trl_fst_concat(job->machine[0], job->machine[1], &job->err);
}
FST_COMMAND(concat, "A B", "makes a transducer that does what the first does, then what the second does",
            "Epsilon arcs lead from the ends of the first to the start of the second.",
            "trellis fst concat greeting.fst name.fst -o both.fst", TWO_MACHINES);

static int closure(fst_job *job)
{
    return trl_fst_closure(job->machine[0], job->v->plus ? TRL_CLOSURE_PLUS : TRL_CLOSURE_STAR, &job->err);
}

static const cli_option closure_options[] = {
    FST_OUTPUT,
    FST_OPTION("closure-plus", 0, CLI_FLAG, plus, NULL, "once or more, instead of any number of times"),
    {0}};
FST_COMMAND(closure, "[FILE]", "makes a transducer that repeats what another does",
            "Any number of times, not at all included.", "trellis fst closure word.fst -o words.fst", ONE_MACHINE);

static int reverse(fst_job *job)
{
    return trl_fst_reverse(job->machine[0], &job->result, &job->err);
}
FST_COMMAND(reverse, "[FILE]", "makes a transducer that reads and writes backwards",
            "A new start leads to what were the ends; the old start is the end.",
            "trellis fst reverse machine.fst -o backwards.fst", ONE_MACHINE);

static int parse_label(fst_job *job, const char *text, int32_t *label)
{
    char *end;
    long value = strtol(text, &end, 10);
    *label = (int32_t)value;
    return end == text || *end || value < 1 || value > INT32_MAX
               ? fst_usage(job, "'%s' is not a label: 1 to 2147483647", text)
               : 0;
}

/* Which labels stay: of the arc that is replaced, of the way back. */
static int replace_options_of(fst_job *job, trl_replace_options *o)
{
    static const char *const names[] = {"neither", "input", "output", "both", NULL};
    int call = TRL_REPLACE_INPUT, back = TRL_REPLACE_NEITHER;
    *o = trl_replace_defaults();
    int code = cli_choose(job->v->command, "call-arc-labeling", job->v->call_labels, names, &call);
    if (code == 0)
        code = cli_choose(job->v->command, "return-arc-labeling", job->v->back_labels, names, &back);
    o->call = (trl_replace_labels)call;
    o->back = (trl_replace_labels)back;
    o->return_label = job->v->return_label;
    o->most_states = job->v->nstate;
    return code;
}

static int replace(fst_job *job)
{
    trl_fst_part parts[FST_MOST] = {{0, NULL}};
    trl_replace_options o;
    int count = job->count / 2;
    if (job->count % 2)
        return fst_usage(job, "every machine needs its label behind it");
    int code = replace_options_of(job, &o);
    for (int i = 0; code == 0 && i < count; i++) {
        code = parse_label(job, job->arguments[2 * i + 1], &parts[i].label);
        if (code == 0)
            code = trl_fst_read(job->arguments[2 * i], &job->machine[i], &job->err);
        parts[i].fst = job->machine[i];
    }
    return code != 0 ? code : trl_fst_replace(parts, (size_t)count, parts[0].label, &o, &job->result, &job->err);
}

static const cli_option replace_options[] = {
    FST_OUTPUT,
    FST_OPTION("call-arc-labeling", 0, CLI_TEXT, call_labels, "SIDES",
               "labels that the arc into a part keeps: input (default), output, both, neither"),
    FST_OPTION("return-arc-labeling", 0, CLI_TEXT, back_labels, "SIDES",
               "labels of the arc back: input, output, both, neither (default)"),
    FST_OPTION("return-label", 0, CLI_INT, return_label, "LABEL", "what those are; default 0"),
    FST_OPTION("nstate", 0, CLI_INT, nstate, "N", "give up beyond so many states"),
    {0}};
FST_COMMAND(replace, "ROOT LABEL [PART LABEL]…", "puts transducers in the place of arcs of another",
            "Arcs of the root, and of the parts, whose output label is that of a part lead into that part, and its "
            "ends lead back behind the "
            "arc. A part that contains itself can't be replaced: the result would have no end.",
            "trellis fst replace sentence.fst 1000 name.fst 1001 date.fst 1002 -o all.fst", 2, 2 * FST_MOST);

/* ---- relabel ---- */

typedef struct pairs {
    int32_t *from, *to;
    size_t count, room;
} pairs;

static int add_pair(pairs *p, int32_t from, int32_t to, trl_error *err)
{
    if (p->count == p->room || !p->from || !p->to) {
        p->room = 2 * p->room + 64;
        int32_t *a = realloc(p->from, p->room * sizeof *a), *b = a ? realloc(p->to, p->room * sizeof *b) : NULL;
        p->from = a ? a : p->from;
        p->to = b ? b : p->to;
        if (!a || !b)
            return cli_error(err, TRL_ENOMEM, "out of memory");
    }
    p->from[p->count] = from;
    p->to[p->count++] = to;
    return 0;
}

/* A line is two numbers. */
static int read_pairs(fst_job *job, const char *path, pairs *p)
{
    char line[256];
    FILE *file;
    int number = 0, code = fst_open_table(job, path, &file);
    if (code < 0)
        return code;
    while (code == 0 && fgets(line, sizeof line, file)) {
        char *middle, *end;
        long from = strtol(line, &middle, 10), to = strtol(middle, &end, 10);
        number++;
        if (line[strspn(line, " \t\r\n")] == '\0')
            continue;
        if (middle == line || end == middle || end[strspn(end, " \t\r\n")] || from < 0 || to < 0 || from > INT32_MAX ||
            to > INT32_MAX)
            code = cli_error(&job->err, TRL_EFORMAT, "%s:%d: expected two labels, the old one and the new one", path,
                             number);
        else
            code = add_pair(p, (int32_t)from, (int32_t)to, &job->err);
    }
    if (code == 0 && ferror(file))
        code = cli_error(&job->err, TRL_EIO, "%s: reading failed", path);
    fclose(file);
    return code;
}

/* Names keep their names: the label of each in one table becomes that in the other. */
static int pairs_of_tables(fst_job *job, const trl_symbols *old, const trl_symbols *new, pairs *p)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < trl_symbols_count(old); i++) {
        int32_t label = trl_symbols_label(old, i);
        int64_t to = trl_symbols_find(new, trl_symbols_name(old, label));
        code = to == TRL_NO_LABEL ? 0 : add_pair(p, label, (int32_t)to, &job->err);
    }
    return code;
}

/* Is every label of the side in the pairs? They are as many as the old table has, or fewer. */
static int check_known(fst_job *job, trl_side side, const trl_symbols *new, const trl_symbols *old)
{
    const trl_fst *fst = job->machine[0];
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            int32_t label = side == TRL_SIDE_INPUT ? a.ilabel : a.olabel;
            const char *name = trl_symbols_name(old, label);
            if (!name || trl_symbols_find(new, name) == TRL_NO_LABEL)
                return cli_error(&job->err, TRL_ENOENT,
                                 "the %s label %" PRId32 " (%s) has no place in the new symbol table", sides[side],
                                 label, name ? name : "without a name");
        }
    return 0;
}

static int relabel_side(fst_job *job, trl_side side, const char *pairs_path, const char *symbols_path)
{
    pairs p = {NULL, NULL, 0, 0};
    trl_fst *fst = job->machine[0];
    trl_symbols *new = NULL;
    const trl_symbols *input = trl_fst_input_symbols(fst), *output = trl_fst_output_symbols(fst);
    const trl_symbols *old = side == TRL_SIDE_INPUT ? input : output;
    int code = pairs_path ? read_pairs(job, pairs_path, &p) : 0;
    if (code == 0 && symbols_path && !old)
        code = cli_error(&job->err, TRL_ENOENT,
                         "the machine has no symbol table of the %s side; `fst symbols` gives it one", sides[side]);
    if (code == 0)
        code = fst_symbols(job, symbols_path, &new);
    if (code == 0 && new)
        code = check_known(job, side, new, old);
    if (code == 0 && new)
        code = pairs_of_tables(job, old, new, &p);
    if (code == 0 && p.count > 0)
        code = trl_fst_relabel(fst, side, p.from, p.to, p.count, &job->err);
    if (code == 0 && new)
        trl_fst_set_symbols(fst, trl_symbols_share(side == TRL_SIDE_INPUT ? new : (trl_symbols *)input),
                            trl_symbols_share(side == TRL_SIDE_OUTPUT ? new : (trl_symbols *)output));
    trl_symbols_destroy(new);
    free(p.from);
    free(p.to);
    return code;
}

static int relabel(fst_job *job)
{
    const fst_values *v = job->v;
    if (!v->ipairs && !v->opairs && !v->isymbols && !v->osymbols)
        return fst_usage(job, "nothing to relabel: give pairs or symbol tables");
    if ((v->ipairs && v->isymbols) || (v->opairs && v->osymbols))
        return fst_usage(job, "a side is relabelled by pairs or by a symbol table, not both");
    int code = relabel_side(job, TRL_SIDE_INPUT, v->ipairs, v->isymbols);
    return code != 0 ? code : relabel_side(job, TRL_SIDE_OUTPUT, v->opairs, v->osymbols);
}

static const cli_option relabel_options[] = {
    FST_OUTPUT,
    FST_OPTION("relabel-ipairs", 0, CLI_TEXT, ipairs, "FILE", "input labels: an old and a new number on each line"),
    FST_OPTION("relabel-opairs", 0, CLI_TEXT, opairs, "FILE", "the same for output labels"),
    FST_OPTION("relabel-isymbols", 0, CLI_TEXT, isymbols, "FILE",
               "input labels become those that their names have in this table, which the machine then keeps"),
    FST_OPTION("relabel-osymbols", 0, CLI_TEXT, osymbols, "FILE", "the same for output labels"),
    {0}};
FST_COMMAND(relabel, "[FILE]", "changes the labels of a transducer",
            "By pairs of numbers, or from the machine's symbol table to another one.",
            "trellis fst relabel --relabel-osymbols words.txt lexicon.fst -o relabelled.fst", ONE_MACHINE);

/* ---- map ---- */

static int map(fst_job *job)
{
    static const char *const names[] = {"identity",       "arc_sum",    "arc_unique",  "input_epsilon", "invert",
                                        "output_epsilon", "plus",       "power",       "quantize",      "rmweight",
                                        "superfinal",     "times",      "to_tropical", "to_std",        "to_log",
                                        "to_real",        "to_lattice", NULL};
    static const trl_fst_map_kind kinds[] = {
        TRL_MAP_IDENTITY,       TRL_MAP_ARC_SUM,   TRL_MAP_ARC_UNIQUE,  TRL_MAP_INPUT_EPSILON, TRL_MAP_INVERT,
        TRL_MAP_OUTPUT_EPSILON, TRL_MAP_PLUS,      TRL_MAP_POWER,       TRL_MAP_QUANTIZE,      TRL_MAP_REMOVE_WEIGHTS,
        TRL_MAP_SUPERFINAL,     TRL_MAP_TIMES,     TRL_MAP_TO_TROPICAL, TRL_MAP_TO_TROPICAL,   TRL_MAP_TO_LOG,
        TRL_MAP_TO_REAL,        TRL_MAP_TO_LATTICE};
    trl_fst_map_options o = {.power = job->v->power, .delta = (float)job->v->delta};
    int choice, given;
    int code = fst_choose(job, "map-type", job->v->map_type, names, &choice);
    o.kind = kinds[choice];
    if (code == 0)
        code = fst_weight(job, job->v->weight, "weight", &o.weight, &given);
    if (code != 0)
        return code;
    if ((o.kind == TRL_MAP_PLUS || o.kind == TRL_MAP_TIMES) && !given)
        return fst_usage(job, "--map-type %s needs --weight", job->v->map_type);
    return trl_fst_map(job->machine[0], &o, &job->err);
}

static const cli_option map_options[] = {
    FST_OUTPUT,
    FST_OPTION("map-type", 0, CLI_TEXT, map_type, "WHAT",
               "identity, invert, times and plus (--weight), power (--power), quantize (--delta), rmweight, "
               "superfinal, arc_sum, "
               "arc_unique, input_epsilon, output_epsilon, to_tropical (to_std), to_log, to_real, to_lattice"),
    FST_OPTION("weight", 0, CLI_TEXT, weight, "WEIGHT", "for times and plus"),
    FST_OPTION("power", 0, CLI_NUMBER, power, "N", "for power; default 1"),
    FST_OPTION("delta", 0, CLI_NUMBER, delta, "N", "for quantize; default 1/1024"),
    {0}};
FST_COMMAND(map, "[FILE]", "does something to every arc and final weight",
            "invert divides one by the weight, times and plus multiply and add in the semiring, power multiplies costs "
            "(in the real "
            "semiring it is the power), quantize rounds, rmweight makes all weights one. superfinal leads all ends to "
            "one. arc_sum adds up "
            "arcs that differ by weight only, arc_unique removes equal ones. input_epsilon and output_epsilon delete "
            "the labels of a side. "
            "to_… changes the semiring: costs stay costs, probabilities become their negative logarithms and back, and "
            "a lattice weight "
            "the sum of its two.",
            "trellis fst map --map-type to_log grammar.fst -o grammar.log.fst\n"
            "trellis fst map --map-type times --weight 0.5 machine.fst -o heavier.fst",
            ONE_MACHINE, .power = 1, .delta = TRL_DELTA);

/* ---- encode, decode ---- */

static int open_codes(fst_job *job, trl_fst_codes **codes)
{
    const fst_values *v = job->v;
    int what = (v->encode_labels ? TRL_ENCODE_LABELS : 0) | (v->encode_weights ? TRL_ENCODE_WEIGHTS : 0);
    *codes = NULL;
    if (v->encode_reuse)
        return trl_fst_codes_read(job->arguments[1], codes, &job->err);
    return what == 0 ? fst_usage(job, "what shall be encoded? --encode-labels, --encode-weights, or both")
                     : trl_fst_codes_create(what, codes, &job->err);
}

static int encode(fst_job *job)
{
    trl_fst_codes *codes;
    int code = open_codes(job, &codes);
    if (code == 0)
        code = trl_fst_encode(job->machine[0], codes, &job->err);
    if (code == 0)
        code = trl_fst_codes_write(codes, job->arguments[1], &job->err);
    trl_fst_codes_destroy(codes);
    return code;
}

static const cli_option encode_options[] = {
    FST_OUTPUT,
    FST_OPTION("encode-labels", 0, CLI_FLAG, encode_labels, NULL, "input and output label become one"),
    FST_OPTION("encode-weights", 0, CLI_FLAG, encode_weights, NULL, "the weight goes into the label"),
    FST_OPTION("encode-reuse", 0, CLI_FLAG, encode_reuse, NULL,
               "go on with the table that CODES has, and what it encodes"),
    {0}};
FST_COMMAND(encode, "FILE CODES", "makes an acceptor, or an unweighted machine, of a transducer",
            "Pairs of labels, weights or both become one label; the table is written to the file CODES, from which "
            "`trellis fst decode` brings "
            "all back. What works for unweighted acceptors only, such as determinization in the classical sense, works "
            "so for any machine.",
            "trellis fst encode --encode-labels lexicon.fst codes -o encoded.fst", 2, 2, .machines = 1);

static int decode(fst_job *job)
{
    trl_fst_codes *codes;
    int code = trl_fst_codes_read(job->arguments[1], &codes, &job->err);
    if (code == 0)
        code = trl_fst_decode(job->machine[0], codes, &job->err);
    trl_fst_codes_destroy(codes);
    return code;
}
#define decode_options output_options
FST_COMMAND(decode, "FILE CODES", "brings back the labels and weights of an encoded transducer",
            "CODES is the table that `trellis fst encode` wrote.", "trellis fst decode small.fst codes -o lexicon.fst",
            2, 2, .machines = 1);
