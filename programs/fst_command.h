/* What the commands `trellis fst …` share: one set of values, reading the machines, writing the result.
 *
 *     static int invert(fst_job *job) { return trl_fst_invert(job->machine[0], &job->err); }
 *     static const cli_option invert_options[] = {FST_OUTPUT, {0}};
 *     FST_COMMAND(invert, "[FILE]", "summary", "description", "trellis fst invert a.fst -o b.fst", 0, 1, .machines = 1);
 *
 * The function that does the work is found through the command's default values, so all commands run through
 * fst_run: it reads the machines, calls the function and writes the result.
 */
#ifndef TRELLIS_FST_COMMAND_H
#define TRELLIS_FST_COMMAND_H

#include "cli.h"

#include <trellis/fst_compose.h>
#include <trellis/fst_file.h>
#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>
#include <trellis/fst_structure.h>

struct fst_job;

typedef struct fst_values {
    cli_common common;
    const cli_command *command;
    int (*work)(struct fst_job *job); /* 0 or a negative code with job->err; or a positive exit code: it has spoken */
    int machines;  /* how many of the arguments are machines: read before, the first is written after */
    int no_result; /* nothing is written */
    const char *output, *fst_type;
    const char *isymbols, *osymbols, *state_symbols, *save_isymbols, *save_osymbols, *missing_symbol;
    int keep_isymbols, keep_osymbols, keep_state_numbering, clear_isymbols, clear_osymbols;
    int acceptor, numeric, show_weight_one, json;
    const char *arc_type, *sort_type, *project_type, *map_type, *det_type, *filter, *queue_type, *select, *call_labels,
        *back_labels;
    const char *weight, *ipairs, *opairs, *title, *bos, *eos, *backoff, *words, *save_words;
    double delta, power, width, height, rank_distance, node_distance;
    int font_size, precision, portrait, vertical;
    int nstate, nshortest, npath, max_length, subsequential_label, return_label, seed, phi, rho, sigma;
    int plus, no_connect, look_ahead, increment_subsequential_label, allow_nondet, unique, reverse, output_side,
        to_final;
    int push_weights, push_labels, remove_total_weight, remove_common_affix, weighted, keep_weights;
    int encode_labels, encode_weights, encode_reuse;
} fst_values;

#define FST_MOST 64 /* machines of one command */

typedef struct fst_job {
    const fst_values *v;
    int count;
    char **arguments;
    trl_fst *machine[FST_MOST];
    trl_fst *result; /* NULL: machine[0] */
    trl_error err;
} fst_job;

int fst_run(void *values, int count, char **arguments);

/* A text of numbers beside the machines, which is no output then; closed by fclose(). */
int fst_open_table(fst_job *job, const char *path, FILE **file);

/* Says why the command line is wrong: the positive exit code that `work` returns then. */
#define fst_usage(job, ...) cli_usage_error((job)->v->command, __VA_ARGS__)

/* --NAME of a machine's semiring; *given is 0 without it. Returns 0 or an exit code. */
int fst_weight(fst_job *job, const char *text, const char *option, trl_weight *weight, int *given);

/* A symbol table; NULL for no path. */
int fst_symbols(fst_job *job, const char *path, trl_symbols **symbols);

/* One of the names, which end with NULL; without `given` the first. Returns 0 or an exit code. */
int fst_choose(fst_job *job, const char *option, const char *given, const char *const *names, int *value);

#define FST_OPTION(name, letter, kind, member, argument, help)           \
    {                                                                    \
        name, letter, kind, offsetof(fst_values, member), argument, help \
    }
#define FST_OUTPUT                                                                                     \
    FST_OPTION("output", 'o', CLI_TEXT, output, "FILE", "where to write; standard output by default"), \
        FST_OPTION("fst-type", 0, CLI_TEXT, fst_type, "TYPE", "form of the file: vector (default) or const")

#define FST_COMMAND_AS(op, name_, synopsis_, summary_, description_, examples_, least_, most_, ...) \
    extern const cli_command cmd_fst_##op;                                                          \
    static const fst_values op##_defaults = {.command = &cmd_fst_##op, .work = op, __VA_ARGS__};    \
    const cli_command cmd_fst_##op = {.name = "fst " name_,                                         \
                                      .synopsis = synopsis_,                                        \
                                      .summary = summary_,                                          \
                                      .description = description_,                                  \
                                      .options = op##_options,                                      \
                                      .examples = examples_,                                        \
                                      .least = least_,                                              \
                                      .most = most_,                                                \
                                      .values_size = sizeof(fst_values),                            \
                                      .defaults = &op##_defaults,                                   \
                                      .run = fst_run}
#define FST_COMMAND_NAMED(...) FST_COMMAND_AS(__VA_ARGS__)
#define FST_COMMAND(op, ...) FST_COMMAND_AS(op, #op, __VA_ARGS__)

#endif
