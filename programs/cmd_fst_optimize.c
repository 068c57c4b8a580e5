/* trellis fst …: composition, and smaller machines that mean the same. */
#include "fst_command.h"

#define ONE_MACHINE 0, 1, .machines = 1
#define TWO_MACHINES 2, 2, .machines = 2

#define DELTA(text) FST_OPTION("delta", 0, CLI_NUMBER, delta, "N", text)
#define STATE_LIMIT(unless_given) \
    FST_OPTION("nstate", 0, CLI_INT, nstate, "N", "give up beyond so many states; 0, the default: " unless_given)
#define ALL "2147483647"
#define MILLION "a million, and 16 for each of the machine's" /* TRL_MOST_STATES */
#define PRUNE \
    FST_OPTION("weight", 0, CLI_TEXT, weight, "WEIGHT", "keep only what is within this weight of the best path")

/* ---- compose, intersect, difference ---- */

typedef int (*binary)(const trl_fst *, const trl_fst *, const trl_compose_options *, trl_fst **, trl_error *);

static int composed(fst_job *job, binary operation)
{
    static const char *const filters[] = {"auto", "sequence", "alt_sequence", "match", "trivial", "null", NULL};
    const fst_values *v = job->v;
    trl_compose_options o = trl_compose_defaults();
    int filter;
    int code = fst_choose(job, "compose-filter", v->filter, filters, &filter);
    if (code != 0)
        return code;
    if (v->nstate < 0)
        return fst_usage(job, "--nstate takes a number from 0 up");
    o.filter = (trl_compose_filter)filter;
    o.connect = !v->no_connect;
    o.phi = v->phi;
    o.rho = v->rho;
    o.sigma = v->sigma;
    o.look_ahead = v->look_ahead;
    o.most_states = v->nstate;
    return operation(job->machine[0], job->machine[1], &o, &job->result, &job->err);
}

#define COMPOSE_OPTIONS                                                                                           \
    FST_OUTPUT,                                                                                                   \
        FST_OPTION("compose-filter", 0, CLI_TEXT, filter, "NAME",                                                 \
                   "how epsilons meet: auto (default), sequence, alt_sequence, match, trivial, null"),            \
        FST_OPTION("no-connect", 0, CLI_FLAG, no_connect, NULL, "leave states in that are on no path to an end"), \
        STATE_LIMIT(ALL)
#define NO_MATCHERS .phi = TRL_NO_LABEL, .rho = TRL_NO_LABEL, .sigma = TRL_NO_LABEL

static int compose(fst_job *job)
{
    return composed(job, trl_fst_compose);
}

static const cli_option compose_options[] = {
    COMPOSE_OPTIONS,
    FST_OPTION("phi", 0, CLI_INT, phi, "LABEL",
               "label of B's arcs that are taken, without reading, where nothing else fits: back-off"),
    FST_OPTION("rho", 0, CLI_INT, rho, "LABEL", "label of B's arcs that read whatever nothing else fits"),
    FST_OPTION("sigma", 0, CLI_INT, sigma, "LABEL", "label of B's arcs that read anything"),
    FST_OPTION("look-ahead", 0, CLI_FLAG, look_ahead, NULL,
               "look through A's output epsilons for labels that B can read: for a lexicon and a grammar"),
    {0}};
FST_COMMAND(compose, "A B", "lets one transducer read what another writes",
            "The result maps x to z where A maps x to some y and B maps y to z; weights are multiplied, and added up "
            "over y. A must be "
            "sorted by output label or B by input label (`trellis fst arcsort`).",
            "trellis fst compose lexicon.fst grammar.fst -o lg.fst\n"
            "trellis fst compose --look-ahead lexicon.fst grammar.fst | trellis fst determinize -o lg.fst",
            TWO_MACHINES, NO_MATCHERS);

static int intersect(fst_job *job)
{
    return composed(job, trl_fst_intersect);
}
static const cli_option intersect_options[] = {COMPOSE_OPTIONS, {0}};
FST_COMMAND(intersect, "A B", "makes an acceptor of what two acceptors both accept",
            "Weights are multiplied. One of the machines must be sorted (`trellis fst arcsort`).",
            "trellis fst intersect a.fst b.fst -o both.fst", TWO_MACHINES, NO_MATCHERS);

static int difference(fst_job *job)
{
    return composed(job, trl_fst_difference);
}
static const cli_option difference_options[] = {COMPOSE_OPTIONS, {0}};
FST_COMMAND(difference, "A B", "makes an acceptor of what the first accepts and the second does not",
            "B must be unweighted, deterministic and without epsilons, and one of the machines sorted.",
            "trellis fst difference all.fst bad.fst -o good.fst", TWO_MACHINES, NO_MATCHERS);

/* ---- determinize, disambiguate, minimize ---- */

static int determinize_options_of(fst_job *job, trl_determinize_options *o)
{
    static const char *const kinds[] = {"functional", "nonfunctional", "disambiguate", NULL};
    const fst_values *v = job->v;
    int kind;
    *o = trl_determinize_defaults();
    int code = fst_choose(job, "det-type", v->det_type, kinds, &kind);
    if (code == 0)
        code = fst_weight(job, v->weight, "weight", &o->prune, &o->has_prune);
    if (code == 0 && (v->nstate < 0 || v->subsequential_label < 0))
        code = fst_usage(job, "--nstate and --subsequential-label take numbers from 0 up");
    o->kind = (trl_determinize_kind)kind;
    o->delta = (float)v->delta;
    o->most_states = v->nstate;
    o->subsequential_label = v->subsequential_label;
    o->increment_subsequential = v->increment_subsequential_label;
    return code;
}

static int determinize(fst_job *job)
{
    trl_determinize_options o;
    int code = determinize_options_of(job, &o);
    return code != 0 ? code : trl_fst_determinize(job->machine[0], &o, &job->result, &job->err);
}

static const cli_option determinize_options[] = {
    FST_OUTPUT,
    FST_OPTION("det-type", 0, CLI_TEXT, det_type, "KIND",
               "functional (default): one output for each input; nonfunctional: several, one behind the other; "
               "disambiguate: the best one"),
    DELTA("weights as near as this count as equal; default 1/1024"),
    STATE_LIMIT(MILLION),
    PRUNE,
    FST_OPTION("subsequential-label", 0, CLI_INT, subsequential_label, "LABEL",
               "input label of the arcs that write what is left at the end; default 0"),
    FST_OPTION("increment-subsequential-label", 0, CLI_FLAG, increment_subsequential_label, NULL,
               "each such arc of a state has a label of its own"),
    {0}};
FST_COMMAND(determinize, "[FILE]", "makes a transducer with at most one arc per state and input label",
            "Epsilon counts as a label like any other: `trellis fst rmepsilon` first, as a rule. Some weighted "
            "machines with cycles have no "
            "deterministic form: --nstate stops them.",
            "trellis fst determinize lg.fst | trellis fst minimize -o small.fst", ONE_MACHINE, .delta = TRL_DELTA);

static int disambiguate(fst_job *job)
{
    trl_determinize_options o;
    int code = determinize_options_of(job, &o);
    return code != 0 ? code : trl_fst_disambiguate(job->machine[0], &o, &job->result, &job->err);
}

static const cli_option disambiguate_options[] = {
    FST_OUTPUT, DELTA("weights as near as this count as equal; default 1/1024"), STATE_LIMIT(MILLION), PRUNE, {0}};
FST_COMMAND(disambiguate, "[FILE]", "makes a transducer with at most one path for each input",
            "Less than determinization: arcs of a state may still share a label.",
            "trellis fst disambiguate machine.fst -o single.fst", ONE_MACHINE, .delta = TRL_DELTA);

static int minimize(fst_job *job)
{
    trl_minimize_options o = trl_minimize_defaults();
    o.delta = (float)job->v->delta;
    o.allow_nondeterministic = job->v->allow_nondet;
    return trl_fst_minimize(job->machine[0], &o, &job->err);
}

static const cli_option minimize_options[] = {
    FST_OUTPUT,
    DELTA("weights as near as this count as equal; default 1/1024"),
    FST_OPTION("allow-nondet", 0, CLI_FLAG, allow_nondet, NULL,
               "take machines that are not deterministic, too: smaller then, not the smallest"),
    {0}};
FST_COMMAND(minimize, "[FILE]", "makes the smallest deterministic transducer that means the same",
            "Weights and output labels move towards the start, and states that go on in the same way become one. The "
            "machine must be "
            "deterministic.",
            "trellis fst determinize lg.fst | trellis fst minimize -o small.fst", ONE_MACHINE, .delta = TRL_DELTA);

/* ---- push, rmepsilon, epsnormalize, synchronize ---- */

static int push(fst_job *job)
{
    const fst_values *v = job->v;
    trl_push_options o = trl_push_defaults();
    if (!v->push_weights && !v->push_labels)
        return fst_usage(job, "what shall be pushed? --push-weights, --push-labels, or both");
    o.weights = v->push_weights;
    o.labels = v->push_labels;
    o.to_final = v->to_final;
    o.remove_total_weight = v->remove_total_weight;
    o.remove_common_affix = v->remove_common_affix;
    o.delta = (float)v->delta;
    return trl_fst_push(job->machine[0], &o, &job->err);
}

static const cli_option push_options[] = {
    FST_OUTPUT,
    FST_OPTION("push-weights", 0, CLI_FLAG, push_weights, NULL, "weights"),
    FST_OPTION("push-labels", 0, CLI_FLAG, push_labels, NULL, "output labels"),
    FST_OPTION("to-final", 0, CLI_FLAG, to_final, NULL, "towards the ends, instead of the start"),
    FST_OPTION("remove-total-weight", 0, CLI_FLAG, remove_total_weight, NULL, "take out what all paths weigh together"),
    FST_OPTION("remove-common-affix", 0, CLI_FLAG, remove_common_affix, NULL,
               "take out what all outputs begin (or end) with"),
    DELTA("of shortest distances; default 1e-6"),
    {0}};
FST_COMMAND(push, "[FILE]", "moves weights or output labels towards the start or the ends",
            "Every path keeps its weight and its output; only where along it they stand changes.",
            "trellis fst push --push-weights grammar.fst -o pushed.fst", ONE_MACHINE, .delta = 1e-6);

static int rmepsilon(fst_job *job)
{
    trl_rmepsilon_options o = trl_rmepsilon_defaults();
    int code = fst_weight(job, job->v->weight, "weight", &o.prune, &o.has_prune);
    o.connect = !job->v->no_connect;
    o.delta = (float)job->v->delta;
    if (job->v->nstate > 0)
        o.most_states = job->v->nstate;
    return code != 0 ? code : trl_fst_rmepsilon(job->machine[0], &o, &job->err);
}

static const cli_option rmepsilon_options[] = {
    FST_OUTPUT,
    FST_OPTION("no-connect", 0, CLI_FLAG, no_connect, NULL, "leave states in that are on no path to an end"),
    DELTA("of shortest distances; default 1e-6"),
    FST_OPTION("nstate", 0, CLI_INT, nstate, "N", "keep at most about so many states of the best paths"),
    PRUNE,
    {0}};
FST_COMMAND(rmepsilon, "[FILE]", "removes arcs with epsilon on both sides",
            "The weights of paths of such arcs go to the arcs behind them.",
            "trellis fst rmepsilon machine.fst -o clean.fst", ONE_MACHINE, .delta = 1e-6);

static int epsnormalize(fst_job *job)
{
    return trl_fst_epsnormalize(job->machine[0], job->v->output_side ? TRL_SIDE_OUTPUT : TRL_SIDE_INPUT, &job->result,
                                &job->err);
}

static const cli_option epsnormalize_options[] = {
    FST_OUTPUT,
    FST_OPTION("eps-norm-output", 0, CLI_FLAG, output_side, NULL, "of the output side, instead of the input"),
    {0}};
FST_COMMAND(epsnormalize, "[FILE]", "moves the epsilons of one side to the end of every path",
            "Labels of that side come as early as they can.", "trellis fst epsnormalize machine.fst -o normal.fst",
            ONE_MACHINE);

static int synchronize(fst_job *job)
{
    if (job->v->nstate < 0)
        return fst_usage(job, "--nstate takes a number from 0 up");
    return trl_fst_synchronize(job->machine[0], job->v->nstate, &job->result, &job->err);
}

static const cli_option synchronize_options[] = {FST_OUTPUT, STATE_LIMIT(MILLION), {0}};
FST_COMMAND(synchronize, "[FILE]", "keeps input and output of a transducer in step",
            "Labels of either side come as early as they can. Where one side runs ahead without end, there is no such "
            "machine: --nstate stops "
            "that.",
            "trellis fst synchronize machine.fst -o in_step.fst", ONE_MACHINE);

/* ---- equal, isomorphic, equivalent, randequivalent ---- */

/* The exit code tells. */
static int answer(fst_job *job, int code, int yes, const char *what)
{
    if (code != 0)
        return code;
    cli_say(&job->v->common, "%s%s", yes ? "" : "not ", what);
    return yes ? EXIT_CLEAN : EXIT_FINDINGS;
}

#define ANSWERS 2, 2, .machines = 2, .no_result = 1, .delta = TRL_DELTA
#define EXIT_CODES " Exit code 0: yes, 1: no."
static const cli_option answer_options[] = {DELTA("weights as near as this are the same; default 1/1024"), {0}};
#define equal_options answer_options
#define isomorphic_options answer_options
#define equivalent_options answer_options

static int equal(fst_job *job)
{
    int yes = 0;
    int code = trl_fst_equal(job->machine[0], job->machine[1], (float)job->v->delta, &yes, &job->err);
    return answer(job, code, yes, "equal");
}
FST_COMMAND(equal, "A B", "asks whether two transducers have the same states and arcs",
            "In the same order, with weights up to --delta." EXIT_CODES, "trellis fst equal a.fst b.fst && echo same",
            ANSWERS);

static int isomorphic(fst_job *job)
{
    int yes = 0;
    int code = trl_fst_isomorphic(job->machine[0], job->machine[1], (float)job->v->delta, &yes, &job->err);
    return answer(job, code, yes, "isomorphic");
}
FST_COMMAND(isomorphic, "A B",
            "asks whether two transducers differ by the numbers of states and the order of arcs only",
            "The machines must be deterministic, each arc of a state unlike the others." EXIT_CODES,
            "trellis fst isomorphic a.fst b.fst && echo same", ANSWERS);

static int equivalent(fst_job *job)
{
    int yes = 0;
    int code = trl_fst_equivalent(job->machine[0], job->machine[1], (float)job->v->delta, &yes, &job->err);
    return answer(job, code, yes, "equivalent");
}
FST_COMMAND(equivalent, "A B", "asks whether two deterministic acceptors give every string the same weight",
            "They must be without epsilons; for other machines see `trellis fst randequivalent`." EXIT_CODES,
            "trellis fst equivalent a.fst b.fst && echo same", ANSWERS);

static int randequivalent(fst_job *job)
{
    const fst_values *v = job->v;
    int yes = 0;
    if (v->npath < 1 || v->max_length < 1 || v->seed < 0)
        return fst_usage(job, "--npath and --max-length take numbers from 1 up, --seed from 0 up");
    int code = trl_fst_randequivalent(job->machine[0], job->machine[1], v->npath, (float)v->delta, (uint64_t)v->seed,
                                      v->max_length, &yes, &job->err);
    return answer(job, code, yes, "equivalent, as far as was tried");
}

static const cli_option randequivalent_options[] = {
    DELTA("weights as near as this are the same; default 1/1024"),
    FST_OPTION("npath", 0, CLI_INT, npath, "N", "paths to try; default 100"),
    FST_OPTION("seed", 0, CLI_INT, seed, "N", "of the choice of paths; default 1"),
    FST_OPTION("max-length", 0, CLI_INT, max_length, "N", "arcs of the longest path; default 2147483647"),
    {0}};
FST_COMMAND(randequivalent, "A B", "asks whether random paths of two transducers weigh the same in both",
            "A no is certain, a yes is likely." EXIT_CODES,
            "trellis fst randequivalent --npath 1000 a.fst b.fst && echo same", ANSWERS, .npath = 100, .seed = 1,
            .max_length = INT32_MAX);
