/* trellis graph: what can be recognised, as one machine. */
#include "cli.h"
#include "corpus_input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <trellis/fst_file.h>
#include <trellis/grammar.h>
#include <trellis/graph.h>

extern const cli_command cmd_graph;

struct values {
    cli_common common;
    const char *output, *words, *jsgf, *rule, *symbols, *hclg, *fst;
    int loop, skip_missing, fold_case, on_the_fly;
    double transition_scale, self_loop_scale, memory_limit;
};

typedef struct job {
    const struct values *v;
    trl_model *model;
    trl_lexicon *lexicon;
    trl_symbols *symbols;
    trl_fst *grammar;
    trl_graph *graph;
    size_t left_out;
} job;

/* ---- Grammars ---- */

/* Every word of the lexicon and the end, all alike. */
static int make_loop(job *j, trl_error *err)
{
    size_t count = trl_lexicon_words(j->lexicon);
    const char **words = malloc((count + 1) * sizeof *words);
    if (!words)
        return cli_error(err, TRL_ENOMEM, "out of memory");
    for (size_t w = 0; w < count; w++)
        words[w] = trl_lexicon_word(j->lexicon, w);
    int code = trl_grammar_word_loop(words, count, NULL, &j->grammar, err);
    free(words);
    return code;
}

static int is_jsgf(const char *path)
{
    char start[5] = "";
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(start, 1, sizeof start, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof start && memcmp(start, "#JSGF", sizeof start) == 0;
}

/* A language model may begin with anything, so its name counts, and what is no transducer is taken for one. */
static int read_file(job *j, const char *path, trl_error *err)
{
    const char *name = strrchr(path, '/');
    trl_error other;
    if (strstr(name ? name : path, ".arpa"))
        return trl_fst_read_arpa(path, &(trl_arpa_options){.keep_words = 1}, &j->grammar, NULL, err);
    if (is_jsgf(path))
        return cli_error(err, TRL_EINVAL, "%s: is a grammar in JSGF; give it as --jsgf %s", path, path);
    int code = trl_fst_read_named(path, j->symbols, j->symbols, &j->grammar, err);
    if (code == TRL_EFORMAT)
        code = trl_fst_read_arpa(path, &(trl_arpa_options){.keep_words = 1}, &j->grammar, NULL, &other) == 0 ? 0 : code;
    if (code == 0 && j->symbols)
        trl_fst_set_symbols(j->grammar, trl_symbols_share(j->symbols), NULL);
    return code;
}

static int read_grammar(job *j, const char *path, trl_error *err)
{
    const struct values *v = j->v;
    if (v->words)
        return trl_grammar_read_list(v->words, NULL, &j->grammar, err);
    if (v->jsgf)
        return trl_grammar_read_jsgf(v->jsgf, v->rule, NULL, &j->grammar, err);
    if (v->loop || !path)
        return make_loop(j, err);
    return read_file(j, path, err);
}

/* ---- Graphs ---- */

static int build(job *j, char **arguments, int count, trl_error *err)
{
    const struct values *v = j->v;
    trl_graph_options o = trl_graph_defaults();
    o.transition_scale = v->transition_scale;
    o.self_loop_scale = v->self_loop_scale;
    o.on_the_fly = v->on_the_fly;
    o.most_bytes = (int64_t)(v->memory_limit * 1e6);
    int code = trl_lexicon_read(arguments[1], NULL, &j->lexicon, err);
    if (code == 0 && v->fold_case)
        code = trl_lexicon_fold_case(j->lexicon, err);
    if (code == 0)
        code = read_grammar(j, count > 2 ? arguments[2] : NULL, err);
    if (code < 0)
        return code;
    code = trl_graph_build(j->model, j->lexicon, j->grammar, &o, &j->graph, v->skip_missing ? &j->left_out : NULL, err);
    if (code == TRL_EINVAL) { /* it is about words, and does not know where they come from */
        const trl_error why = *err;
        const char *grammar = v->words ? v->words : v->jsgf ? v->jsgf : count > 2 ? arguments[2] : NULL;
        cli_error(err, code, "%s%s%s: %s", arguments[1], grammar ? " and " : "", grammar ? grammar : "", why.text);
    }
    return code;
}

/* A machine that is complete already. */
static int adopt(job *j, trl_error *err)
{
    int code = trl_fst_read_named(j->v->hclg, NULL, j->symbols, &j->grammar, err);
    if (code == 0 && j->symbols)
        trl_fst_set_symbols(j->grammar, NULL, trl_symbols_share(j->symbols));
    return code < 0 ? code : trl_graph_from_fst(j->model, j->grammar, &j->graph, err);
}

static int write_graph(job *j, trl_error *err)
{
    trl_fst *fst = NULL;
    int code = j->v->output ? trl_graph_write(j->graph, j->v->output, err) : 0;
    if (code == 0 && j->v->fst)
        code = trl_graph_to_fst(j->graph, &fst, err);
    if (code == 0 && j->v->fst)
        code = trl_fst_write(fst, j->v->fst, TRL_FST_VECTOR, err);
    trl_fst_destroy(fst);
    return code;
}

static int work(job *j, char **arguments, int count, trl_error *err)
{
    int code = trl_model_import(arguments[0], NULL, &j->model, err);
    if (code == 0 && j->v->symbols)
        code = trl_symbols_read(j->v->symbols, &j->symbols, err);
    if (code == 0)
        code = j->v->hclg ? adopt(j, err) : build(j, arguments, count, err);
    return code < 0 ? code : write_graph(j, err);
}

/* ---- The command ---- */

static int check_usage(const struct values *v, int count)
{
    int given = (count > 2) + (v->words != NULL) + (v->jsgf != NULL) + v->loop + (v->hclg != NULL);
    if (!v->output && !v->fst)
        return cli_usage_error(&cmd_graph, "where to? -o GRAPH.trg is missing");
    if (given != 1)
        return cli_usage_error(&cmd_graph, given == 0
                                               ? "what may be said? Give a GRAMMAR, --words, --loop or --jsgf"
                                               : "GRAMMAR, --words, --loop, --jsgf and --hclg exclude each other");
    if (!v->hclg && count < 2)
        return cli_usage_error(&cmd_graph, "a LEXICON is missing");
    if (!(v->memory_limit >= 0 && v->memory_limit <= 1e9))
        return cli_usage_error(&cmd_graph, "--memory-limit takes megabytes, 0 (no limit) to 1e9");
    if (v->hclg && count > 1)
        return cli_usage_error(&cmd_graph, "--hclg needs a MODEL alone: lexicon and grammar are in the graph");
    if (v->rule && !v->jsgf)
        return cli_usage_error(&cmd_graph, "--rule is about a grammar of --jsgf");
    return 0;
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void say_summary(const job *j, double seconds)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    if (j->left_out > 0)
        cli_say(&j->v->common, "%zu word%s of the grammar left out: the lexicon has no pronunciation", j->left_out,
                j->left_out == 1 ? "" : "s");
    char beside[60] = "";
    if (trl_graph_ngrams(j->graph) > 0)
        snprintf(beside, sizeof beside, ", %" PRIu64 " n-grams beside it", trl_graph_ngrams(j->graph));
    cli_say(&j->v->common, "%" PRId32 " states, %" PRIu64 " arcs%s in %.2f s, %.0f MB -> %s",
            trl_graph_states(j->graph), trl_graph_arcs(j->graph), beside, seconds, (double)usage.ru_maxrss / 1000,
            j->v->output ? j->v->output : j->v->fst);
}

static int run(void *values, int count, char **arguments)
{
    job j = {.v = values};
    trl_error err;
    double start = clock_seconds();
    int code = check_usage(j.v, count);
    if (code != 0)
        return code;
    if (work(&j, arguments, count, &err) < 0)
        code = cli_failure(&err);
    else
        say_summary(&j, clock_seconds() - start);
    trl_graph_destroy(j.graph);
    trl_fst_destroy(j.grammar);
    trl_symbols_destroy(j.symbols);
    trl_lexicon_destroy(j.lexicon);
    trl_model_destroy(j.model);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "GRAPH.trg", "the graph to write"},
    {"words", 0, CLI_TEXT, offsetof(struct values, words), "LIST",
     "in place of GRAMMAR: one of the phrases of a file, a phrase per line"},
    {"loop", 0, CLI_FLAG, offsetof(struct values, loop), NULL,
     "in place of GRAMMAR: any words of the lexicon in any order; every word and the end are equally likely"},
    {"jsgf", 0, CLI_TEXT, offsetof(struct values, jsgf), "FILE",
     "in place of GRAMMAR: one in the JSpeech Grammar Format"},
    {"rule", 0, CLI_TEXT, offsetof(struct values, rule), "NAME",
     "the rule of it that may be said; default: any public one"},
    {"symbols", 0, CLI_TEXT, offsetof(struct values, symbols), "FILE",
     "names of the labels of a GRAMMAR that is a transducer without a table, or of --hclg (Kaldi's words.txt)"},
    {"skip-missing", 0, CLI_FLAG, offsetof(struct values, skip_missing), NULL,
     "leave out words of the grammar that the lexicon lacks; otherwise they are an error"},
    {"fold-case", 0, CLI_FLAG, offsetof(struct values, fold_case), NULL,
     "a word that the lexicon lacks is looked for in other capitals: hello finds HELLO"},
    {"on-the-fly", 0, CLI_FLAG, offsetof(struct values, on_the_fly), NULL,
     "the graph of the words alone, and the n-gram GRAMMAR beside it, which is put in while searching: for large ones"},
    {"memory-limit", 0, CLI_NUMBER, offsetof(struct values, memory_limit), "MB",
     "give up when the graph would take more memory than this on its way, the grammar's own included (default: 0, no "
     "limit)"},
    {"transition-scale", 0, CLI_NUMBER, offsetof(struct values, transition_scale), "X",
     "of the log probabilities of transitions that leave a state, staying apart; default 1"},
    {"self-loop-scale", 0, CLI_NUMBER, offsetof(struct values, self_loop_scale), "X",
     "of the log probabilities of staying in a state or leaving it; default 0.1"},
    {"hclg", 0, CLI_TEXT, offsetof(struct values, hclg), "FST",
     "nothing is built: a transducer that reads transition ids and writes words, loops included, such as Kaldi's "
     "HCLG.fst"},
    {"fst", 0, CLI_TEXT, offsetof(struct values, fst), "FILE", "write the graph as OpenFst's vector FST (too)"},
    {0}};

const cli_command cmd_graph = {
    .name = "graph",
    .synopsis = "MODEL LEXICON GRAMMAR -o GRAPH.trg",
    .summary = "makes the graph that recognition searches",
    .description =
        "Puts together what can be said: the words that the GRAMMAR allows, their pronunciations by the LEXICON, "
        "silence "
        "between them, and the states of the MODEL, each phone's among its neighbours. The result is one file, which "
        "is "
        "mapped when it is used and knows which model it fits. " LEXICON_DESCRIPTION "\n\n"
        "GRAMMAR is an n-gram model in ARPA form or Sphinx's binary ones, or an acceptor over words (OpenFst's binary "
        "form with a table of "
        "words, or with --symbols); both may be compressed with gzip. Back-off arcs are epsilons, or have the label "
        "#0. "
        "Words need a pronunciation; <unk> is left out where the lexicon has none.\n\n"
        "Weights are negative natural logarithms: of the grammar, of pronunciations, of the model's transitions, and "
        "of "
        "silence, which comes before each word and at the end with the probability that the model was made with. With "
        "p "
        "the probability of staying in a state and q that of an arc that leaves it, the arc has the log probability "
        "T log(q / (1 - p)) + S log(1 - p) and staying S log(p), with the scales T and S; this is what Kaldi does.\n\n"
        "A large n-gram model makes a large graph: 72,547 words and 3.7 million n-grams take 870 MB, and several times "
        "that "
        "on the way. With --on-the-fly the graph has the words alone, and the model beside it (70 MB in all, made in "
        "seconds); both are put together while searching, as far as the search goes, which makes it slower by a "
        "half or so. Words and costs of paths are the same; only what a beam drops on the way may differ.\n\n"
        "A path has for each state that it passes the transition that leaves it, then those of staying. Of words that "
        "sound the same and are equally likely, the lexicon's first is recognised.",
    .options = options,
    .examples = "trellis graph en-us lexicon.txt words.arpa -o words.trg\n"
                "trellis graph an4.trm lexicon.txt trigram.arpa.gz -o an4.trg\n"
                "trellis graph an4.trm lexicon.txt --loop -o loop.trg\n"
                "trellis graph en-us en-us en-us --on-the-fly --skip-missing -o english.trg\n"
                "trellis graph digits.trm lexicon.txt --words digits.txt -o digits.trg\n"
                "trellis graph exp/mono --hclg exp/mono/graph/HCLG.fst --symbols words.txt -o mono.trg",
    .least = 1,
    .most = 3,
    .values_size = sizeof(struct values),
    .defaults = &(const struct values){.transition_scale = 1, .self_loop_scale = 0.1},
    .run = run,
};
