/* trellis fst viterbi, forward, backward, counts, train, index: strings and lattices through transducers. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/file.h>
#include <trellis/fst_file.h>
#include <trellis/transduce.h>

#define MOST_ARGUMENTS 100000

struct transduce_values {
    cli_common common;
    const char *output, *isymbols, *osymbols, *method, *normal, *device;
    int lattices, pairs, weights, rounds, index;
    double gain;
    cli_list add;
};

/* A machine with its tables, the inputs, a pool: what every command needs. */
typedef struct job {
    const struct transduce_values *v;
    const cli_command *command;
    trl_transducer *transducer;
    trl_semiring semiring; /* of the machine's file */
    trl_symbols *isymbols, *osymbols;
    trl_transduce_text *text;
    trl_fst **lattices;
    trl_transduce_input *lattice_inputs;
    const trl_transduce_input *inputs;
    size_t count;
    trl_transduce_options options;
    trl_file *file;
    size_t without; /* inputs that have no path */
    trl_error err;
} job;

/* ---- The machine ---- */

static int is_index(const char *path)
{
    char first[8] = {0};
    FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "rb");
    size_t got = file ? fread(first, 1, sizeof first, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof first && memcmp(first, "trellis", sizeof first) == 0;
}

static int read_machine(job *j, const char *path)
{
    trl_fst *fst;
    j->semiring = TRL_LOG;
    if (is_index(path))
        return trl_transducer_open(path, &j->transducer, &j->err);
    int code = trl_fst_read_named(path, j->isymbols, j->osymbols, &fst, &j->err);
    if (code < 0)
        return code;
    j->semiring = trl_fst_semiring(fst);
    code = trl_transducer_from_fst(fst, &j->transducer, &j->err);
    trl_fst_destroy(fst);
    return code;
}

static int read_tables(job *j)
{
    int code = j->v->isymbols ? trl_symbols_read(j->v->isymbols, &j->isymbols, &j->err) : 0;
    return code == 0 && j->v->osymbols ? trl_symbols_read(j->v->osymbols, &j->osymbols, &j->err) : code;
}

static const trl_symbols *input_table(const job *j)
{
    return j->isymbols ? j->isymbols : trl_transducer_input_symbols(j->transducer);
}

static const trl_symbols *output_table(const job *j)
{
    return j->osymbols ? j->osymbols : trl_transducer_output_symbols(j->transducer);
}

/* ---- The inputs ---- */

static int read_lattices(job *j, int count, char **paths)
{
    j->lattices = calloc((size_t)count + 1, sizeof *j->lattices);
    j->lattice_inputs = calloc((size_t)count + 1, sizeof *j->lattice_inputs);
    if (!j->lattices || !j->lattice_inputs)
        return cli_error(&j->err, TRL_ENOMEM, "out of memory");
    for (int i = 0; i < count; i++) {
        int code = trl_fst_read_named(paths[i], input_table(j), input_table(j), &j->lattices[i], &j->err);
        if (code < 0)
            return code;
        j->lattice_inputs[i].lattice = j->lattices[i];
        j->count++;
    }
    j->inputs = j->lattice_inputs;
    return 0;
}

static int read_inputs(job *j, int pairs, int count, char **paths)
{
    if (j->v->lattices)
        return read_lattices(j, count, paths);
    int code =
        trl_transduce_text_read(count > 0 ? paths[0] : "-", input_table(j), output_table(j), pairs, &j->text, &j->err);
    if (code == 0)
        j->inputs = trl_transduce_text_inputs(j->text, &j->count);
    return code;
}

static int choose_method(job *j)
{
    static const char *const names[] = {"frontier", "serial", "parallel", "prefix", "all-arcs", NULL};
    static const trl_transduce_method meant[] = {TRL_METHOD_FRONTIER, TRL_METHOD_SERIAL, TRL_METHOD_PARALLEL,
                                                 TRL_METHOD_PREFIX, TRL_METHOD_SERIAL};
    int choice = 0;
    int code = cli_choose(j->command, "method", j->v->method, names, &choice);
    j->options.method = meant[choice];
    j->options.device = j->v->device;
    return code;
}

/* Machine, tables and pool. Returns 0, a negative code, or an exit code. */
static int begin(job *j, const void *values, const cli_command *command, int count, char **arguments)
{
    *j = (job){.v = values, .command = command};
    int code = choose_method(j);
    if (code == 0 && count > 2 && !j->v->lattices)
        code = cli_usage_error(command, "one file of strings can be read, not %d; lattices need --lattices", count - 1);
    if (code == 0)
        code = read_tables(j);
    if (code == 0)
        code = read_machine(j, arguments[0]);
    return code == 0 ? cli_pool(&j->v->common, &j->options.pool) : code;
}

/* Inputs with words that no symbol table has; *first is the number of the first one, from 1. */
static size_t count_unknown(const job *j, size_t *first)
{
    size_t count = 0;
    for (size_t i = 0; j->text && i < j->count; i++) {
        int unknown = 0;
        for (size_t k = 0; k < j->inputs[i].count; k++)
            unknown |= j->inputs[i].labels[k] == TRL_UNKNOWN_LABEL;
        for (size_t k = 0; k < j->inputs[i].target_count; k++)
            unknown |= j->inputs[i].target[k] == TRL_UNKNOWN_LABEL;
        if (unknown && count++ == 0)
            *first = i + 1;
    }
    return count;
}

static void say_what_has_no_path(const job *j)
{
    size_t first = 0, unknown = count_unknown(j, &first);
    fprintf(stderr, "trellis %s: %zu of %zu inputs have no path", j->command->name, j->without, j->count);
    if (unknown > 0)
        fprintf(stderr, "; %zu of them with words that the symbol table does not have, the first is %s in input %zu",
                unknown, trl_transduce_text_unknown(j->text), first);
    fputc('\n', stderr);
}

/* Frees all; turns a code into an exit code. */
static int end(job *j, int code)
{
    trl_file_abort(j->file);
    if (code == 0 && j->without > 0)
        say_what_has_no_path(j);
    for (size_t i = 0; j->lattices && i < j->count; i++)
        trl_fst_destroy(j->lattices[i]);
    free(j->lattices);
    free(j->lattice_inputs);
    trl_transduce_text_destroy(j->text);
    trl_transducer_destroy(j->transducer);
    trl_symbols_destroy(j->isymbols);
    trl_symbols_destroy(j->osymbols);
    trl_pool_destroy(j->options.pool);
    return code < 0 ? cli_failure(&j->err) : code > 0 ? code : j->without > 0 ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* ---- viterbi, forward, backward ---- */

static int print_labels(job *j, const trl_transduction *result, trl_error *err)
{
    const trl_symbols *names = output_table(j);
    int code = 0;
    for (size_t i = 0; code == 0 && i < result->output_count; i++) {
        const char *name = names ? trl_symbols_name(names, result->outputs[i]) : NULL;
        const char *blank = i > 0 ? " " : "";
        code = name ? trl_file_print(j->file, err, "%s%s", blank, name)
                    : trl_file_print(j->file, err, "%s%" PRId32, blank, result->outputs[i]);
    }
    return code;
}

static int print_best(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    job *j = user;
    (void)index;
    j->without += !result->found;
    int code = j->v->weights ? trl_file_print(j->file, err, "%.9g\t", result->weight) : 0;
    if (code == 0)
        code = print_labels(j, result, err);
    return code < 0 ? code : trl_file_print(j->file, err, "\n");
}

static int print_weight(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    job *j = user;
    (void)index;
    j->without += !result->found;
    return trl_file_print(j->file, err, "%.9g\n", result->weight);
}

static int decode(const void *values, const cli_command *command, int count, char **arguments,
                  trl_transduce_operation operation, trl_transduce_fn each)
{
    job j;
    int code = begin(&j, values, command, count, arguments);
    if (code == 0)
        code = read_inputs(&j, j.v->pairs, count - 1, arguments + 1);
    if (code == 0)
        code = trl_file_create(j.v->output ? j.v->output : "-", &j.file, &j.err);
    if (code == 0)
        code = trl_transduce_batch(j.transducer, &j.options, operation, j.inputs, j.count, each, &j, &j.err);
    if (code == 0) {
        code = trl_file_commit(j.file, &j.err);
        j.file = NULL;
    }
    return end(&j, code);
}

extern const cli_command cmd_fst_viterbi, cmd_fst_forward, cmd_fst_backward, cmd_fst_counts, cmd_fst_train,
    cmd_fst_index;

static int run_viterbi(void *values, int count, char **arguments)
{
    return decode(values, &cmd_fst_viterbi, count, arguments, TRL_TRANSDUCE_VITERBI, print_best);
}

static int run_forward(void *values, int count, char **arguments)
{
    return decode(values, &cmd_fst_forward, count, arguments, TRL_TRANSDUCE_FORWARD, print_weight);
}

static int run_backward(void *values, int count, char **arguments)
{
    return decode(values, &cmd_fst_backward, count, arguments, TRL_TRANSDUCE_BACKWARD, print_weight);
}

/* ---- counts ---- */

static int add_files(job *j, trl_counts *counts)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < j->v->add.count; i++) {
        trl_counts *more;
        code = trl_counts_read(j->v->add.items[i], j->transducer, &more, &j->err);
        if (code < 0)
            break;
        code = trl_counts_merge(counts, more, &j->err);
        trl_counts_destroy(more);
    }
    return code;
}

static int print_counts(job *j, const trl_counts *counts)
{
    int code = trl_file_create("-", &j->file, &j->err);
    for (uint64_t k = 0; code == 0 && k < trl_transducer_arcs(j->transducer); k++) {
        trl_transducer_arc a = trl_transducer_get(j->transducer, k);
        if (trl_counts_arc(counts, k) > 0)
            code = trl_file_print(j->file, &j->err, "%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%.9g\n",
                                  a.source, a.target, a.input, a.output, trl_counts_arc(counts, k));
    }
    for (int32_t q = 0; code == 0 && q < trl_transducer_states(j->transducer); q++)
        if (trl_counts_final(counts, q) > 0)
            code = trl_file_print(j->file, &j->err, "%" PRId32 "\t%.9g\n", q, trl_counts_final(counts, q));
    if (code == 0) {
        code = trl_file_commit(j->file, &j->err);
        j->file = NULL;
    }
    return code;
}

static int add_counts(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    (void)index, (void)err;
    trl_counts_add(user, result);
    return 0;
}

static int run_counts(void *values, int count, char **arguments)
{
    job j;
    trl_counts *counts = NULL;
    int code = begin(&j, values, &cmd_fst_counts, count, arguments);
    if (code == 0 && (count > 1 || j.v->add.count == 0))
        code = read_inputs(&j, j.v->pairs, count - 1, arguments + 1);
    if (code == 0)
        code = trl_counts_create(j.transducer, &counts, &j.err);
    if (code == 0)
        code = trl_transduce_batch(j.transducer, &j.options, TRL_TRANSDUCE_COUNTS, j.inputs, j.count, add_counts,
                                   counts, &j.err);
    if (code == 0)
        j.without = (size_t)trl_counts_without(counts);
    if (code == 0)
        code = add_files(&j, counts);
    if (code == 0)
        cli_say(&j.v->common, "weight %.9g of %" PRIu64 " inputs", trl_counts_weight(counts),
                trl_counts_inputs(counts));
    if (code == 0)
        code = j.v->output ? trl_counts_write(counts, j.v->output, &j.err) : print_counts(&j, counts);
    trl_counts_destroy(counts);
    return end(&j, code);
}

/* ---- train, index ---- */

static int write_machine(job *j, const trl_transducer *transducer)
{
    const char *path = j->v->output ? j->v->output : "-";
    trl_fst *fst;
    if (j->v->index)
        return trl_transducer_write(transducer, path, &j->err);
    int code = trl_transducer_to_fst(transducer, j->semiring, &fst, &j->err);
    if (code < 0)
        return code;
    code = trl_fst_write(fst, path, TRL_FST_VECTOR, &j->err);
    trl_fst_destroy(fst);
    return code;
}

static int say_round(void *user, int round, const trl_counts *counts, trl_error *err)
{
    job *j = user;
    (void)err;
    j->without = (size_t)trl_counts_without(counts);
    cli_say(&j->v->common, "round %d: weight %.9g of %" PRIu64 " inputs", round, trl_counts_weight(counts),
            trl_counts_inputs(counts));
    return 0;
}

/* One M-step from counts that were made before, maybe in many places. */
static int train_on_counts(job *j, trl_train_normal normal, trl_transducer **trained)
{
    trl_counts *counts;
    int code = trl_counts_create(j->transducer, &counts, &j->err);
    if (code == 0) {
        code = add_files(j, counts);
        if (code == 0)
            code = trl_transducer_estimate(j->transducer, counts, normal, trained, &j->err);
        trl_counts_destroy(counts);
    }
    return code;
}

static int train_on_pairs(job *j, trl_train_normal normal, trl_transducer **trained)
{
    trl_train_pairs_options options = {.normal = normal,
                                       .rounds = j->v->rounds,
                                       .least_gain = j->v->gain,
                                       .search = &j->options,
                                       .each = say_round,
                                       .user = j};
    return trl_transducer_train(j->transducer, &options, j->inputs, j->count, trained, &j->err);
}

static int run_train(void *values, int count, char **arguments)
{
    static const char *const normals[] = {"joint", "conditional", NULL};
    job j;
    int normal = 0;
    trl_transducer *trained = NULL;
    int code = begin(&j, values, &cmd_fst_train, count, arguments);
    if (code == 0)
        code = cli_choose(&cmd_fst_train, "normal", j.v->normal, normals, &normal);
    if (code == 0)
        code = cli_no_terminal(&cmd_fst_train, j.v->output);
    if (code == 0 && j.v->rounds < 1)
        code = cli_usage_error(&cmd_fst_train, "--rounds must be at least 1");
    if (code == 0 && j.v->add.count == 0)
        code = read_inputs(&j, !j.v->lattices, count - 1, arguments + 1);
    else if (code == 0 && count > 1)
        code = cli_usage_error(&cmd_fst_train, "with --counts there is nothing to read: %s", arguments[1]);
    if (code == 0)
        code = j.v->add.count > 0 ? train_on_counts(&j, (trl_train_normal)normal, &trained)
                                  : train_on_pairs(&j, (trl_train_normal)normal, &trained);
    if (code == 0)
        code = write_machine(&j, trained);
    trl_transducer_destroy(trained);
    return end(&j, code);
}

static int run_index(void *values, int count, char **arguments)
{
    job j;
    int code = begin(&j, values, &cmd_fst_index, count, arguments);
    if (code == 0 && !j.v->output)
        code = cli_usage_error(&cmd_fst_index, "say where to write the file: -o FILE");
    if (code == 0)
        code = trl_transducer_write(j.transducer, j.v->output, &j.err);
    return end(&j, code);
}

/* ---- The table ---- */

#define OPTION(name, letter, kind, member, argument, help)                            \
    {                                                                                 \
        name, letter, kind, offsetof(struct transduce_values, member), argument, help \
    }
#define TABLES                                                                                                   \
    OPTION("isymbols", 0, CLI_TEXT, isymbols, "FILE", "symbol table of the input side; else the machine's own"), \
        OPTION("osymbols", 0, CLI_TEXT, osymbols, "FILE", "symbol table of the output side; else the machine's own")
#define LATTICES \
    OPTION("lattices", 0, CLI_FLAG, lattices, NULL, "INPUTs are acyclic transducers, whose output side is read")
#define PAIRS \
    OPTION("pairs", 0, CLI_FLAG, pairs, NULL, "lines are `input TAB output`: only paths that write the output count")
#define METHOD                                                                                                        \
    OPTION("method", 0, CLI_TEXT, method, "NAME",                                                                     \
           "frontier (default): arcs of live states; serial or all-arcs: all arcs of each symbol; parallel: threads " \
           "within an "                                                                                               \
           "input; prefix: parts of an input at the same time (up to 256 states)")
#define DEVICE                                                                                                         \
    OPTION(                                                                                                            \
        "device", 0, CLI_DEVICE, device, "NAME",                                                                       \
        "cpu (default), opencl[:N], cuda[:N], or auto: a graphics processor where there is one; methods frontier and " \
        "all-arcs (see `trellis devices`)")
#define OUTPUT OPTION("output", 'o', CLI_TEXT, output, "FILE", "where to write; standard output by default")

#define MACHINES                                                                                                       \
    "MACHINE is a transducer of the tropical or log semiring in any form that `trellis fst` reads (in text, labels "   \
    "are numbers or words of the tables), or a file of "                                                               \
    "`trellis fst index`, which is mapped and so there at once. INPUT has one string on each line (standard input by " \
    "default), words of the symbol table or numbers; gzip is fine. With --lattices, every INPUT is a transducer. "

#define NO_PATH "An input that has no path makes the exit code 1."

static const cli_option viterbi_options[] = {
    OUTPUT, OPTION("weights", 'w', CLI_FLAG, weights, NULL, "write the path's weight and a tab in front"),
    TABLES, LATTICES,
    PAIRS,  METHOD,
    DEVICE, {0}};
static const cli_option sum_options[] = {OUTPUT, TABLES, LATTICES, PAIRS, METHOD, DEVICE, {0}};
static const cli_option counts_options[] = {
    OPTION("output", 'o', CLI_TEXT, output, "FILE", "write the counts to a file that can be added to others"),
    OPTION("add", 0, CLI_LIST, add, "FILE", "add the counts of this file; several times"),
    TABLES,
    LATTICES,
    PAIRS,
    METHOD,
    DEVICE,
    {0}};
static const cli_option train_options[] = {
    OUTPUT,
    OPTION(
        "normal", 0, CLI_TEXT, normal, "HOW",
        "joint (default): arcs of a state and its end add up to 1; conditional: arcs of a state with the same input"),
    OPTION("rounds", 0, CLI_INT, rounds, "N", "at most so many (20)"),
    OPTION("gain", 0, CLI_NUMBER, gain, "X", "stop when a round lowers the weight by less than this part (1e-5)"),
    OPTION("counts", 0, CLI_LIST, add, "FILE",
           "one estimation from these counts (of `trellis fst counts -o`) in place of rounds; several times"),
    OPTION("index", 0, CLI_FLAG, index, NULL, "write a file as `trellis fst index` does"),
    TABLES,
    LATTICES,
    METHOD,
    DEVICE,
    {0}};
static const cli_option index_options[] = {OUTPUT, {0}};

static const struct transduce_values no_defaults, train_defaults = {.rounds = 20, .gain = 1e-5};

#define COMMAND(op, synopsis_, summary_, description_, examples_, options_, most_, defaults_) \
    const cli_command cmd_fst_##op = {.name = "fst " #op,                                     \
                                      .synopsis = synopsis_,                                  \
                                      .summary = summary_,                                    \
                                      .description = description_,                            \
                                      .options = options_,                                    \
                                      .examples = examples_,                                  \
                                      .least = 1,                                             \
                                      .most = most_,                                          \
                                      .values_size = sizeof(struct transduce_values),         \
                                      .defaults = &defaults_,                                 \
                                      .run = run_##op}

COMMAND(viterbi, "MACHINE [INPUT…]", "writes the output of the best path for every input",
        "Finds the path of the lowest weight that reads the input, and writes its output labels on a line. " MACHINES
            NO_PATH,
        "trellis fst viterbi translation.fst sentences.txt\n"
        "trellis fst viterbi --weights --lattices grammar.fst a.fst b.fst",
        viterbi_options, MOST_ARGUMENTS, no_defaults);
COMMAND(forward, "MACHINE [INPUT…]", "writes the sum over all paths for every input",
        "Writes -log of the sum of all paths' probabilities, e^-weight, added up from the start to the end. " MACHINES
            NO_PATH,
        "trellis fst forward model.fst strings.txt", sum_options, MOST_ARGUMENTS, no_defaults);
COMMAND(backward, "MACHINE [INPUT…]", "the same as forward, from the end to the start",
        "Writes -log of the sum of all paths' probabilities, added up from the end to the start: the numbers of "
        "`trellis fst forward`, up to rounding. " MACHINES NO_PATH,
        "trellis fst backward model.fst strings.txt", sum_options, MOST_ARGUMENTS, no_defaults);
COMMAND(counts, "MACHINE [INPUT…]", "how often each arc is expected to be used",
        "Adds up over all inputs how often each arc is on a path, paths weighted by their probability given the input "
        "(and the output, with --pairs). Without -o, prints `source target input output count` for each arc that was "
        "used and `state count` for each final state, labels as numbers. " MACHINES
        "\n\nFiles of counts add up: parts of a corpus can be counted in different places, "
        "joined with --add, and given to `trellis fst train --counts`. " NO_PATH,
        "trellis fst counts model.fst part1.txt -o part1.counts\n"
        "trellis fst counts model.fst --add part1.counts --add part2.counts -o all.counts",
        counts_options, MOST_ARGUMENTS, no_defaults);
COMMAND(train, "MACHINE [PAIRS] [-o FILE]", "trains weights from inputs and outputs (EM)",
        "Each line of PAIRS is an input, a tab and its output. Counts how often each arc is expected on the paths that "
        "read the one and write the other, sets the weights to the counts' shares, and repeats that. The likelihood "
        "never falls. MACHINE's weights are where it begins: arcs that are not there, or have no probability, do not "
        "appear. With --lattices, the lattices are read and any output counts. " NO_PATH,
        "trellis fst train channel.fst pairs.txt --normal conditional -o trained.fst\n"
        "trellis fst train model.fst --counts part1.counts --counts part2.counts -o next.fst",
        train_options, MOST_ARGUMENTS, train_defaults);
COMMAND(index, "MACHINE -o FILE", "writes a transducer in the form that searches use",
        "Arcs by input symbol and source, in a file that `trellis fst viterbi` and the others map into memory: a "
        "machine of "
        "150 million arcs is there at once. Arcs are checked when their symbol is used for the first time.",
        "trellis fst index translation.fst -o translation.trt", index_options, 1, no_defaults);
