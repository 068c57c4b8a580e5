/* trellis fst compile, print, info, draw, symbols, convert, arpa: transducers in files. */
#include "fst_command.h"
#include "cli_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ISYMBOLS FST_OPTION("isymbols", 0, CLI_TEXT, isymbols, "FILE", "symbol table of the input side")
#define OSYMBOLS FST_OPTION("osymbols", 0, CLI_TEXT, osymbols, "FILE", "symbol table of the output side")
#define TEXT_OUTPUT FST_OPTION("output", 'o', CLI_TEXT, output, "FILE", "where to write; standard output by default")

static const char *output_of(const fst_values *v)
{
    return v->output ? v->output : "-";
}

static const char *input_of(const fst_job *job)
{
    return job->count > 0 ? job->arguments[0] : "-";
}

/* The tables of --isymbols, --osymbols and --state-symbols, each read once even if it is given for both sides. */
typedef struct tables {
    trl_symbols *input, *output, *states;
} tables;

static int read_tables(fst_job *job, tables *t)
{
    const fst_values *v = job->v;
    *t = (tables){NULL, NULL, NULL};
    int code = fst_symbols(job, v->isymbols, &t->input);
    if (code == 0 && v->osymbols && v->isymbols && strcmp(v->isymbols, v->osymbols) == 0)
        t->output = trl_symbols_share(t->input);
    else if (code == 0)
        code = fst_symbols(job, v->osymbols, &t->output);
    return code < 0 ? code : fst_symbols(job, v->state_symbols, &t->states);
}

static void free_tables(tables *t)
{
    trl_symbols_destroy(t->input);
    trl_symbols_destroy(t->output);
    trl_symbols_destroy(t->states);
}

/* ---- compile ---- */

static int choose_semiring(fst_job *job, trl_semiring *semiring)
{
    static const char *const names[] = {"tropical", "log", "real", "lattice", "standard", "lattice4", NULL};
    static const trl_semiring meant[] = {TRL_TROPICAL, TRL_LOG, TRL_REAL, TRL_LATTICE, TRL_TROPICAL, TRL_LATTICE};
    int choice;
    int code = fst_choose(job, "arc-type", job->v->arc_type, names, &choice);
    *semiring = meant[choice];
    return code;
}

static int compile(fst_job *job)
{
    const fst_values *v = job->v;
    trl_semiring semiring;
    tables t;
    int code = choose_semiring(job, &semiring);
    if (code != 0)
        return code;
    code = read_tables(job, &t);
    if (code == 0)
        code = trl_fst_read_text(input_of(job), semiring,
                                 &(trl_fst_text_options){.acceptor = v->acceptor,
                                                         .isymbols = t.input,
                                                         .osymbols = t.output,
                                                         .state_symbols = t.states,
                                                         .keep_isymbols = v->keep_isymbols,
                                                         .keep_osymbols = v->keep_osymbols,
                                                         .keep_state_numbering = v->keep_state_numbering},
                                 &job->result, &job->err);
    free_tables(&t);
    return code;
}

static const cli_option compile_options[] = {
    FST_OUTPUT,
    FST_OPTION("arc-type", 0, CLI_TEXT, arc_type, "SEMIRING",
               "tropical (default; also called standard), log, real, or lattice (lattice4)"),
    FST_OPTION("acceptor", 0, CLI_FLAG, acceptor, NULL, "one label per arc"),
    ISYMBOLS,
    OSYMBOLS,
    FST_OPTION("ssymbols", 0, CLI_TEXT, state_symbols, "FILE", "symbol table of the states"),
    FST_OPTION("keep-isymbols", 0, CLI_FLAG, keep_isymbols, NULL, "store the table of the input side in the machine"),
    FST_OPTION("keep-osymbols", 0, CLI_FLAG, keep_osymbols, NULL, "store the table of the output side in the machine"),
    FST_OPTION("keep-state-numbering", 0, CLI_FLAG, keep_state_numbering, NULL,
               "leave the numbers of states as they are; otherwise they count in the order of their appearance"),
    {0}};
FST_COMMAND(
    compile, "[FILE]", "makes a binary transducer from text",
    "Reads one arc per line, `from to input [output] [weight]`, or a final state, `state [weight]`, with blanks or "
    "tabs "
    "between; the state of the first line is the start. Labels are numbers, or names of a symbol table; 0 is epsilon. "
    "Lattice weights are two numbers with a comma between. For acceptors (--acceptor) an arc has one label.\n\n"
    "The result is a file that OpenFst's tools read as well, byte for byte what fstcompile writes.",
    "trellis fst compile --acceptor --isymbols words.txt grammar.txt -o grammar.fst\n"
    "trellis fst compile machine.txt | trellis fst info",
    0, 1, .no_result = 0);

/* ---- print ---- */

static int save_own_symbols(fst_job *job)
{
    const fst_values *v = job->v;
    const trl_symbols *own[2] = {trl_fst_input_symbols(job->machine[0]), trl_fst_output_symbols(job->machine[0])};
    const char *path[2] = {v->save_isymbols, v->save_osymbols};
    int code = 0;
    for (int side = 0; code == 0 && side < 2; side++) {
        if (path[side] && !own[side])
            return cli_error(&job->err, TRL_ENOENT, "the machine has no symbol table of the %s side to save",
                             side ? "output" : "input");
        code = path[side] ? trl_symbols_write(own[side], path[side], &job->err) : 0;
    }
    return code;
}

/* The library does not know what the machine is called; but where writing failed, it is the output that is named. */
static int name_machine(fst_job *job, int code)
{
    const char *file = job->count > 0 ? job->arguments[0] : "standard input";
    return code == TRL_EIO || code == TRL_ENOENT ? code : cli_error_in(&job->err, code, file);
}

static int print(fst_job *job)
{
    const fst_values *v = job->v;
    tables t;
    int code = read_tables(job, &t);
    if (code == 0)
        code = save_own_symbols(job);
    if (code == 0)
        code = name_machine(job, trl_fst_write_text(job->machine[0], output_of(v),
                                                    &(trl_fst_text_options){.acceptor = v->acceptor,
                                                                            .isymbols = t.input,
                                                                            .osymbols = t.output,
                                                                            .state_symbols = t.states,
                                                                            .numeric = v->numeric,
                                                                            .missing_symbol = v->missing_symbol,
                                                                            .show_weight_one = v->show_weight_one},
                                                    &job->err));
    free_tables(&t);
    return code;
}

#define SAVED                                                           \
    FST_OPTION("save-isymbols", 0, CLI_TEXT, save_isymbols, "FILE",     \
               "write the machine's own table of the input side"),      \
        FST_OPTION("save-osymbols", 0, CLI_TEXT, save_osymbols, "FILE", \
                   "write the machine's own table of the output side")

static const cli_option print_options[] = {
    TEXT_OUTPUT,
    FST_OPTION("acceptor", 0, CLI_FLAG, acceptor, NULL, "one label per arc, if the machine is an acceptor"),
    ISYMBOLS,
    OSYMBOLS,
    FST_OPTION("ssymbols", 0, CLI_TEXT, state_symbols, "FILE", "symbol table of the states"),
    FST_OPTION("numeric", 0, CLI_FLAG, numeric, NULL, "numbers, even if the machine has symbol tables"),
    FST_OPTION("missing-symbol", 0, CLI_TEXT, missing_symbol, "WORD",
               "for labels that the table does not have; without it they are an error"),
    FST_OPTION("show-weight-one", 0, CLI_FLAG, show_weight_one, NULL, "weights that cost nothing, too"),
    SAVED,
    {0}};
FST_COMMAND(
    print, "[FILE]", "prints a transducer as text",
    "The form that `trellis fst compile` reads. Labels are printed by name where the machine has symbol tables or some "
    "are given.",
    "trellis fst print grammar.fst\n"
    "trellis fst print --acceptor --isymbols words.txt grammar.fst -o grammar.txt",
    0, 1, .machines = 1, .no_result = 1);

/* ---- info ---- */

typedef struct fact {
    const char *name, *key;
    uint32_t property;
    int inverted;
} fact;

static const fact facts[] = {{"acceptor", "acceptor", TRL_FST_ACCEPTOR, 0},
                             {"input deterministic", "input_deterministic", TRL_FST_IDETERMINISTIC, 0},
                             {"output deterministic", "output_deterministic", TRL_FST_ODETERMINISTIC, 0},
                             {"input label sorted", "input_sorted", TRL_FST_ISORTED, 0},
                             {"output label sorted", "output_sorted", TRL_FST_OSORTED, 0},
                             {"weighted", "weighted", TRL_FST_UNWEIGHTED, 1},
                             {"cyclic", "cyclic", TRL_FST_ACYCLIC, 1},
                             {"cyclic at initial state", "cyclic_at_start", TRL_FST_INITIAL_ACYCLIC, 1},
                             {"top sorted", "top_sorted", TRL_FST_TOPSORTED, 0},
                             {"accessible", "accessible", TRL_FST_ACCESSIBLE, 0},
                             {"coaccessible", "coaccessible", TRL_FST_COACCESSIBLE, 0},
                             {"string", "string", TRL_FST_STRING, 0},
                             {"weighted cycles", "weighted_cycles", TRL_FST_UNWEIGHTED_CYCLES, 1}};
#define FACTS (sizeof facts / sizeof *facts)

static int holds(const fact *f, uint32_t properties)
{
    return ((properties & f->property) != 0) != f->inverted;
}

static void print_number(const char *name, uint64_t number)
{
    printf("%-32s  %" PRIu64 "\n", name, number);
}

static void print_info(const trl_fst *fst, const trl_fst_counts *n, uint32_t properties)
{
    const trl_symbols *input = trl_fst_input_symbols(fst), *output = trl_fst_output_symbols(fst);
    printf("%-32s  %s\n", "semiring", trl_semiring_name(trl_fst_semiring(fst)));
    printf("%-32s  %s\n", "input symbol table", input ? trl_symbols_title(input) : "none");
    printf("%-32s  %s\n", "output symbol table", output ? trl_symbols_title(output) : "none");
    print_number("# of states", (uint64_t)n->states);
    print_number("# of arcs", n->arcs);
    printf("%-32s  %" PRId32 "\n", "initial state", trl_fst_start(fst));
    print_number("# of final states", (uint64_t)n->finals);
    print_number("# of input/output epsilons", n->epsilons);
    print_number("# of input epsilons", n->iepsilons);
    print_number("# of output epsilons", n->oepsilons);
    print_number("# of accessible states", (uint64_t)n->accessible);
    print_number("# of coaccessible states", (uint64_t)n->coaccessible);
    print_number("# of connected states", (uint64_t)n->connected);
    print_number("# of strongly conn components", (uint64_t)n->components);
    for (size_t i = 0; i < FACTS; i++)
        printf("%-32s  %c\n", facts[i].name, holds(&facts[i], properties) ? 'y' : 'n');
}

static int print_info_json(const trl_fst *fst, const trl_fst_counts *n, uint32_t properties, trl_error *err)
{
    json_t *root =
        json_pack("{sssIsIsisIsIsIsIsIsIsIsI}", "semiring", trl_semiring_name(trl_fst_semiring(fst)), "states",
                  (json_int_t)n->states, "arcs", (json_int_t)n->arcs, "start", (int)trl_fst_start(fst), "final_states",
                  (json_int_t)n->finals, "epsilons", (json_int_t)n->epsilons, "input_epsilons",
                  (json_int_t)n->iepsilons, "output_epsilons", (json_int_t)n->oepsilons, "accessible_states",
                  (json_int_t)n->accessible, "coaccessible_states", (json_int_t)n->coaccessible, "connected_states",
                  (json_int_t)n->connected, "components", (json_int_t)n->components);
    for (size_t i = 0; i < FACTS; i++)
        json_object_set_new(root, facts[i].key, json_boolean(holds(&facts[i], properties)));
    return cli_json_print(root, JSON_INDENT(2), err);
}

static int info(fst_job *job)
{
    trl_fst_counts counts;
    uint32_t properties = 0;
    int code = trl_fst_count(job->machine[0], &counts, &job->err);
    if (code == 0)
        code = trl_fst_properties(job->machine[0], &properties, &job->err);
    if (code < 0)
        return code;
    if (job->v->json)
        return print_info_json(job->machine[0], &counts, properties, &job->err);
    print_info(job->machine[0], &counts, properties);
    return 0;
}

static const cli_option info_options[] = {FST_OPTION("json", 0, CLI_FLAG, json, NULL, "as JSON"), {0}};
FST_COMMAND(info, "[FILE]", "counts states and arcs of a transducer, and says what holds of it",
            "Everything is found by looking at the machine; what its file says of itself is not believed.",
            "trellis fst info grammar.fst\n"
            "trellis fst info --json grammar.fst",
            0, 1, .machines = 1, .no_result = 1);

/* ---- draw ---- */

static int draw(fst_job *job)
{
    const fst_values *v = job->v;
    tables t;
    int code = read_tables(job, &t);
    if (code == 0)
        code = name_machine(job, trl_fst_draw(job->machine[0], output_of(v),
                                              &(trl_fst_draw_options){.acceptor = v->acceptor,
                                                                      .isymbols = t.input,
                                                                      .osymbols = t.output,
                                                                      .numeric = v->numeric,
                                                                      .show_weight_one = v->show_weight_one,
                                                                      .portrait = v->portrait,
                                                                      .vertical = v->vertical,
                                                                      .title = v->title,
                                                                      .font_size = v->font_size,
                                                                      .precision = v->precision,
                                                                      .width = v->width,
                                                                      .height = v->height,
                                                                      .rank_distance = v->rank_distance,
                                                                      .node_distance = v->node_distance},
                                              &job->err));
    free_tables(&t);
    return code;
}

static const cli_option draw_options[] = {
    TEXT_OUTPUT,
    FST_OPTION("acceptor", 0, CLI_FLAG, acceptor, NULL, "one label per arc, if the machine is an acceptor"),
    ISYMBOLS,
    OSYMBOLS,
    FST_OPTION("numeric", 0, CLI_FLAG, numeric, NULL, "numbers, even if the machine has symbol tables"),
    FST_OPTION("show-weight-one", 0, CLI_FLAG, show_weight_one, NULL, "weights that cost nothing, too"),
    FST_OPTION("portrait", 0, CLI_FLAG, portrait, NULL, "upright page; default: landscape"),
    FST_OPTION("vertical", 0, CLI_FLAG, vertical, NULL, "from the bottom up; default: from left to right"),
    FST_OPTION("title", 0, CLI_TEXT, title, "TEXT", "written below"),
    FST_OPTION("fontsize", 0, CLI_INT, font_size, "N", "in points; default 14"),
    FST_OPTION("precision", 0, CLI_INT, precision, "N", "digits of weights, 1 to 9; default 5"),
    FST_OPTION("width", 0, CLI_NUMBER, width, "N", "of the page in inches; default 8.5"),
    FST_OPTION("height", 0, CLI_NUMBER, height, "N", "of the page in inches; default 11"),
    FST_OPTION("ranksep", 0, CLI_NUMBER, rank_distance, "N", "inches between ranks; default 0.4"),
    FST_OPTION("nodesep", 0, CLI_NUMBER, node_distance, "N", "inches between nodes; default 0.25"),
    {0}};
FST_COMMAND(draw, "[FILE]", "draws a transducer as a graph for Graphviz",
            "The start is bold, final states are double circles. dot (Graphviz) makes a picture of it.",
            "trellis fst draw grammar.fst | dot -Tsvg > grammar.svg", 0, 1, .machines = 1, .no_result = 1);

/* ---- symbols ---- */

/* A share of what the side shall have: the given table, none, or its own. */
static trl_symbols *table_for(trl_symbols *given, int clear, const trl_symbols *own)
{
    return given ? trl_symbols_share(given) : clear ? NULL : trl_symbols_share((trl_symbols *)own);
}

static int symbols(fst_job *job)
{
    const fst_values *v = job->v;
    trl_fst *fst = job->machine[0];
    tables t;
    int code = save_own_symbols(job);
    if (code < 0)
        return code;
    code = read_tables(job, &t);
    if (code == 0)
        trl_fst_set_symbols(fst, table_for(t.input, v->clear_isymbols, trl_fst_input_symbols(fst)),
                            table_for(t.output, v->clear_osymbols, trl_fst_output_symbols(fst)));
    free_tables(&t);
    return code;
}

static const cli_option symbols_options[] = {
    FST_OUTPUT,
    ISYMBOLS,
    OSYMBOLS,
    FST_OPTION("clear-isymbols", 0, CLI_FLAG, clear_isymbols, NULL, "take the table of the input side away"),
    FST_OPTION("clear-osymbols", 0, CLI_FLAG, clear_osymbols, NULL, "take the table of the output side away"),
    SAVED,
    {0}};
FST_COMMAND(symbols, "[FILE]", "gives symbol tables to a transducer, takes them away or saves them",
            "Labels stay the numbers that they are; `trellis fst relabel` changes them. The tables that the machine "
            "brought along are "
            "saved before new ones are set.",
            "trellis fst symbols --isymbols phones.txt --osymbols words.txt lexicon.fst -o named.fst\n"
            "trellis fst symbols --save-osymbols words.txt named.fst -o /dev/null",
            0, 1, .machines = 1);

/* ---- convert ---- */

static int convert(fst_job *job)
{
    (void)job;
    return 0;
}

static const cli_option convert_options[] = {FST_OUTPUT, {0}};
FST_COMMAND(convert, "[FILE]", "writes a transducer in another binary form",
            "Reads OpenFst's vector and const files, text (as tropical) and ARPA models, and writes a vector or const "
            "file. For another "
            "semiring see `trellis fst map`.",
            "trellis fst convert --fst-type const grammar.fst -o grammar.const.fst", 0, 1, .machines = 1);

/* ---- arpa ---- */

/* The label of back-off arcs: a number, or a name of the table. */
static int choose_backoff(fst_job *job, trl_symbols *words, int32_t *label)
{
    const char *text = job->v->backoff;
    *label = 0;
    if (!text)
        return 0;
    int64_t found = words ? trl_symbols_find(words, text) : TRL_NO_LABEL;
    char *end;
    long number = strtol(text, &end, 10);
    if (found != TRL_NO_LABEL)
        *label = (int32_t)found;
    else if (end > text && !*end && number >= 0 && number <= INT32_MAX)
        *label = (int32_t)number;
    else
        return fst_usage(job, "--backoff: \"%s\" is neither a label nor a name of --words", text);
    return 0;
}

static int read_arpa(fst_job *job, trl_semiring semiring, trl_symbols *words)
{
    const fst_values *v = job->v;
    trl_arpa_options o = {
        .words = words, .keep_words = v->keep_isymbols, .bos = v->bos, .eos = v->eos, .semiring = semiring};
    uint64_t skipped = 0;
    int code = choose_backoff(job, words, &o.backoff);
    if (code == 0)
        code = trl_fst_read_arpa(input_of(job), &o, &job->result, &skipped, &job->err);
    if (code == 0 && skipped > 0)
        cli_say(&v->common, "%" PRIu64 " n-grams were left out: their words are not in %s", skipped,
                words ? v->words : "use");
    return code;
}

static int arpa(fst_job *job)
{
    const fst_values *v = job->v;
    trl_semiring semiring;
    trl_symbols *words = NULL;
    int code = choose_semiring(job, &semiring);
    if (code == 0)
        code = fst_symbols(job, v->words, &words);
    if (code == 0)
        code = read_arpa(job, semiring, words);
    if (code == 0 && v->save_words && !trl_fst_input_symbols(job->result))
        code = trl_symbols_write(words, v->save_words, &job->err);
    else if (code == 0 && v->save_words)
        code = trl_symbols_write(trl_fst_input_symbols(job->result), v->save_words, &job->err);
    trl_symbols_destroy(words);
    return code;
}

static const cli_option arpa_options[] = {
    FST_OUTPUT,
    FST_OPTION("words", 0, CLI_TEXT, words, "FILE",
               "symbol table: n-grams with other words are left out. Without it the machine gets a table of its own"),
    FST_OPTION("save-words", 0, CLI_TEXT, save_words, "FILE", "write the table of the words"),
    FST_OPTION("keep-symbols", 0, CLI_FLAG, keep_isymbols, NULL, "store --words in the machine"),
    FST_OPTION("backoff", 0, CLI_TEXT, backoff, "LABEL",
               "label of back-off arcs, a number or a name of --words; default 0, epsilon"),
    FST_OPTION("arc-type", 0, CLI_TEXT, arc_type, "SEMIRING", "tropical (default) or log"),
    FST_OPTION("bos", 0, CLI_TEXT, bos, "WORD", "the word that begins sentences; default <s>"),
    FST_OPTION("eos", 0, CLI_TEXT, eos, "WORD", "the word that ends sentences; default </s>"),
    {0}};
FST_COMMAND(arpa, "[FILE]", "makes an acceptor from an n-gram language model in ARPA form or one of Sphinx's",
            "States are histories, weights negative natural logarithms; from each history an arc leads to the shorter "
            "one. The start is the "
            "history of the word that begins sentences, and the probability of the word that ends them is the final "
            "weight. If back-off arcs are "
            "taken only where no other arc fits (`trellis fst compose --phi`), sentences have exactly the weight that "
            "the model gives them; as "
            "epsilons they also let a shorter history win where it is likelier. The file may be compressed with gzip.",
            "trellis fst arpa lm.arpa.gz -o grammar.fst\n"
            "trellis fst arpa --words words.txt --backoff '#0' lm.arpa -o grammar.fst",
            0, 1, .no_result = 0);
