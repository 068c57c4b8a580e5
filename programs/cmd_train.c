/* trellis train: from a corpus and a lexicon to a model. */
#include "cli.h"
#include "corpus_input.h"
#include "frontend_input.h"
#include "resume.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/train.h>
#include <trellis/version.h>
#include <unistd.h>

extern const cli_command cmd_train;

#define NOT_GIVEN INT32_MIN

struct values {
    cli_common common;
    frontend_input frontend;
    corpus_input corpus;
    oov_input oov;
    const char *output, *margin, *em, *features, *folder, *device, *silence, *noise;
    const char *silence_topology, *stages, *from, *questions, *varmix, *context;
    int leaves, lda_splice, lda_dim;
    double least_leaf_frames, least_gain, gaussians, sample;
    int resume, keep, components, iterations, states, silence_states, word_positions, no_word_positions, best_component,
        seed;
    double total, power, audit, beam, variance_floor, least_count, variance_prior, silence_between;
};

static const struct values defaults = {.iterations = NOT_GIVEN,
                                       .components = NOT_GIVEN,
                                       .sample = 256000,
                                       .lda_splice = 4,
                                       .lda_dim = 39,
                                       .states = 3,
                                       .silence_states = 5,
                                       .silence_between = 0.5,
                                       .power = 0.25,
                                       .audit = 0.002,
                                       .beam = 400,
                                       .variance_floor = 0.01,
                                       .least_count = 3,
                                       .variance_prior = 20};

typedef struct job {
    const struct values *values;
    trl_train_options options;
    trl_corpus_options reading;
    trl_frontend *frontend;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_lexicon *lexicon;
    trl_model *from;
    trl_pool *pool;
    char *folder, *journal, *kept; /* kept: what can be gone on with, in words */
    int stage;                     /* in hand, from 1; 0: none yet */
    double seconds;                /* of the stages so far */
    int64_t dropped;               /* components, in the stage in hand */
    int64_t kept_states;           /* the most of any iteration */
    size_t failed;                 /* utterances, in the last iteration */
} job;

/* ---- Options ---- */

static int parse_margin(const char *given, int *margin)
{
    if (!given || strcmp(given, "auto") == 0)
        return 0;
    char *end;
    long frames = strtol(given, &end, 10);
    if (strcmp(given, "full") == 0)
        *margin = TRL_MARGIN_FULL;
    else if (*end != '\0' || end == given || frames < 0 || frames > 1000000)
        return cli_usage_error(&cmd_train, "--margin is a number of frames, auto or full, not '%s'", given);
    else
        *margin = (int)frames;
    return 0;
}

/* Two numbers with a comma between. */
static int parse_pair(const char *option, const char *given, double *first, double *second)
{
    char *end;
    if (!given)
        return 0;
    *first = strtod(given, &end);
    if (end != given && *end == ',') {
        const char *rest = end + 1;
        *second = strtod(rest, &end);
        if (end != rest && *end == '\0')
            return 0;
    }
    return cli_usage_error(&cmd_train, "--%s is two numbers with a comma between, not '%s'", option, given);
}

/* An option of stages that are not there says nothing, which may not be what the user expects. */
static void warn_of_options(const struct values *v)
{
    const char *stages = v->stages ? v->stages : "mono";
    int mono = strstr(stages, "mono") != NULL, lda = strstr(stages, "lda") != NULL;
    int contexts = lda || strstr(stages, "tri") || strstr(stages, "sat");
    const struct {
        const char *option;
        int unused;
        const char *stages;
    } checks[] = {{"components", v->components != NOT_GIVEN && !mono, " mono"},
                  {"total", v->total > 0 && !mono, " mono"},
                  {"context", v->context && !contexts, "s tri, lda and sat"},
                  {"leaves", v->leaves != 0 && !contexts, "s tri, lda and sat"},
                  {"leaf-frames", v->least_leaf_frames > 0 && !contexts, "s tri, lda and sat"},
                  {"gain", v->least_gain > 0 && !contexts, "s tri, lda and sat"},
                  {"questions", v->questions && !contexts, "s tri, lda and sat"},
                  {"varmix", v->varmix && !contexts, "s tri, lda and sat"},
                  {"gaussians", v->gaussians > 0 && !contexts, "s tri, lda and sat"},
                  {"lda-splice", v->lda_splice != defaults.lda_splice && !lda, " lda"},
                  {"lda-dim", v->lda_dim != defaults.lda_dim && !lda, " lda"}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].unused)
            cli_say(&v->common, "warning: --%s is for the stage%s; the stages of this training are %s",
                    checks[i].option, checks[i].stages, stages);
}

static int set_stage_options(const struct values *v, trl_train_options *o)
{
    double left = o->context_left, right = o->context_right;
    int code = parse_pair("varmix", v->varmix, &o->varmix_alpha, &o->varmix_beta);
    if (code == 0)
        code = parse_pair("context", v->context, &left, &right);
    if (code == 0 && !(v->gaussians >= 0 && v->gaussians <= INT32_MAX))
        code = cli_usage_error(&cmd_train, "--gaussians is a number of Gaussians, 0 to %d, not %g", INT32_MAX,
                               v->gaussians);
    if (code == 0 && !(fabs(left) < 1000 && fabs(right) < 1000 && left == floor(left) && right == floor(right)))
        code = cli_usage_error(&cmd_train, "--context is two whole numbers, not '%s'", v->context);
    if (code)
        return code;
    o->context_left = (int)left;
    o->context_right = (int)right;
    o->stages = v->stages ? v->stages : o->stages;
    o->questions = v->questions;
    o->leaves = v->leaves;
    o->least_leaf_frames = v->least_leaf_frames;
    o->least_gain = v->least_gain;
    o->context_gaussians = (int64_t)v->gaussians;
    o->sample_frames = v->sample;
    o->lda_splice = v->lda_splice;
    o->lda_dim = v->lda_dim;
    return 0;
}

/* Options of the front end say nothing to features that are made already, or to a model that has one. */
static int check_features(const struct values *v)
{
    const frontend_input *f = &v->frontend;
    if (v->from && (f->preset || f->config || f->transform || f->set.count > 0))
        return cli_usage_error(&cmd_train,
                               "--from's model has its front end: --preset, --config, --set and --transform "
                               "are for a new one");
    if (v->features && (f->preset || f->config || f->transform || f->set.count > 0 || v->corpus.channel))
        return cli_usage_error(&cmd_train, "--features have their front end: --preset, --config, --set, --transform "
                                           "and --channel are for the sound");
    return 0;
}

static int set_options(job *j)
{
    static const char *const methods[] = {"viterbi", "baum-welch", "shared", NULL}, *const topologies[] = {
                                                                                        "linear", "ergodic", NULL};
    const struct values *v = j->values;
    trl_train_options *o = &j->options;
    trl_error err;
    int code = check_features(v);
    if (code == 0 && !(v->total >= 0 && v->total <= INT32_MAX))
        code = cli_usage_error(&cmd_train, "--total is a number of Gaussians, 0 to %d, not %g", INT32_MAX, v->total);
    if (code == 0 && v->iterations != NOT_GIVEN && v->iterations < 1)
        code = cli_usage_error(&cmd_train, "iterations per round: 1 to 10000, not %d", v->iterations);
    if (code == 0 && v->components != NOT_GIVEN && v->components < 1)
        code = cli_usage_error(&cmd_train, "--components is a number from 1 up, not %d", v->components);
    if (code == 0)
        code = set_stage_options(v, o);
    if (code)
        return code;
    code = cli_choose(&cmd_train, "em", v->em, methods, &o->em);
    if (code == 0)
        code = oov_input_parse(&cmd_train, &v->oov, &o->unknown_words);
    if (code == 0)
        code = cli_choose(&cmd_train, "silence-topology", v->silence_topology, topologies, &o->model.silence_topology);
    if (code == 0)
        code = parse_margin(v->margin, &o->margin);
    if (code == 0)
        code = corpus_input_parse(&cmd_train, &v->corpus, &j->reading, &o->channel);
    o->components = v->components != NOT_GIVEN ? v->components : 0;
    o->total_gaussians = (int64_t)v->total;
    o->occupancy_power = v->power;
    o->iterations = v->iterations != NOT_GIVEN ? v->iterations : 0;
    o->audit = v->audit;
    o->beam = v->beam;
    o->best_component = v->best_component;
    o->variance_floor = v->variance_floor;
    o->least_count = v->least_count;
    o->variance_prior = v->variance_prior;
    o->seed = (uint64_t)v->seed;
    o->skip_bad = v->corpus.skip_bad;
    o->resume = v->resume;
    o->features = v->features;
    o->device = v->device;
    o->model.states = v->states;
    o->model.silence_states = v->silence_states;
    if (code == 0 && v->word_positions && v->no_word_positions)
        code = cli_usage_error(&cmd_train, "--word-positions and --no-word-positions exclude each other");
    if (v->word_positions || v->no_word_positions)
        o->model.word_positions = v->word_positions;
    o->model.silence_between = v->silence_between;
    o->model.silence = v->silence ? v->silence : o->model.silence;
    o->model.noise = v->noise ? v->noise : o->model.noise;
    if (code == 0 && trl_train_options_check(o, &err) < 0)
        code = cli_refused(&cmd_train, &err);
    if (code == 0)
        warn_of_options(v);
    return code;
}

/* ---- What is said meanwhile ---- */

static void print_time(char *text, size_t size, double seconds)
{
    if (seconds < 100)
        snprintf(text, size, "%.1f s", seconds);
    else if (seconds < 5400)
        snprintf(text, size, "%.0f min", seconds / 60);
    else
        snprintf(text, size, "%.1f h", seconds / 3600);
}

/* The flat start is an iteration of its own, before the first round. */
static int is_flat_start(const job *j, const trl_iteration *n)
{
    return n->number == 1 && !j->from;
}

/* Of the stage: each round has twice the Gaussians of the one before, and part of an iteration's cost grows with them. */
static double time_left(const job *j, const trl_iteration *n)
{
    int flat = n->stage_number == 1 && !j->from;
    double grows = n->score + n->accumulate + n->estimate, stays = n->load + n->alpha + n->backtrack;
    double left = 0, times = 1;
    for (int i = n->number + 1; i <= n->of; i++) {
        if ((i - n->first - flat) % trl_train_iterations(&j->options) == 0)
            times *= 2;
        left += n->seconds * (stays + times * grows) / (stays + grows);
    }
    return left;
}

static const char *what_stage(const char *name)
{
    static const char *const stages[][2] = {{"mono", "phones without context"},
                                            {"tri", "phones in context"},
                                            {"lda", "phones in context, frames projected by LDA and STC"},
                                            {"sat", "phones in context, frames adapted to their speakers"}};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(stages[i][0], name) == 0)
            return stages[i][1];
    return "";
}

/* Ahead of the stage's first line, also where a training goes on in the middle of it. */
static void say_stage(job *j, const trl_iteration *n)
{
    if (n->stage_number == j->stage)
        return;
    j->stage = n->stage_number;
    j->dropped = 0;
    if (n->stages > 1)
        cli_say(&j->values->common, "%sstage %d of %d, %s: %s; %d tied states, iterations %d to %d",
                n->number == 1 ? "" : "\n", n->stage_number, n->stages, n->stage, what_stage(n->stage), n->tied_states,
                n->first, n->of);
    cli_say(&j->values->common,
            "iteration  components  Gaussians  log-likelihood  hours/hour  search  redone   audit      %sleft",
            n->stages > 1 ? "stage " : "");
}

static void say_stage_end(job *j, const trl_iteration *n)
{
    if (n->number != n->of)
        return;
    j->seconds += n->stage_seconds;
    if (j->dropped > 0)
        cli_say(&j->values->common, "           %lld component%s with too little data dropped", (long long)j->dropped,
                j->dropped == 1 ? "" : "s");
    if (n->stages > 1)
        cli_say(&j->values->common, "%s: %d tied states, %lld Gaussians, log-likelihood %.4f per frame, %.1f s",
                n->stage, n->tied_states, (long long)n->gaussians, n->log_likelihood, n->stage_seconds);
}

static void say_transforms(const job *j, const trl_iteration *n)
{
    if (n->transform_gain > 0)
        cli_say(&j->values->common, "           new transform%s: log-likelihood per frame of speech +%.3f",
                strcmp(n->stage, "sat") == 0 ? "s of the speakers" : "", n->transform_gain);
}

static void say_losses(job *j, const trl_iteration *n)
{
    if (n->failed != j->failed && n->failed > 0)
        cli_say(&j->values->common, "           %zu utterance%s could not be aligned and %s left out", n->failed,
                n->failed == 1 ? "" : "s", n->failed == 1 ? "was" : "were");
    if (n->kept_states > j->kept_states)
        cli_say(&j->values->common, "           %lld state%s without data, kept as %s", (long long)n->kept_states,
                n->kept_states == 1 ? "" : "s", n->kept_states == 1 ? "it is" : "they are");
    if (n->kept_states > j->kept_states)
        j->kept_states = n->kept_states;
    j->failed = n->failed;
    j->dropped += n->dropped;
}

static void say_iteration(void *user, const trl_iteration *n)
{
    job *j = user;
    char left[32] = "", audit[32] = "", score[32] = "-";
    if (n->audited > 0)
        snprintf(audit, sizeof audit, "%.3f %%", 100 * (1 - n->audited_differ / n->audited_frames));
    if (!is_flat_start(j, n)) {
        snprintf(score, sizeof score, "%.4f", n->log_likelihood);
        print_time(left, sizeof left, time_left(j, n));
    }
    resume_offer(j->kept, NULL);
    const char *search = is_flat_start(j, n)                    ? "none"
                         : n->wide                              ? "beam"
                         : j->options.margin == TRL_MARGIN_FULL ? "full"
                                                                : "band";
    say_stage(j, n);
    say_transforms(j, n);
    cli_say(&j->values->common, "%4d/%-4d  %10d  %9lld  %14s  %10.0f  %-6s  %5.2f %%  %-9s  %s", n->number, n->of,
            n->components, (long long)n->gaussians, score, n->sound / n->seconds, search,
            100 * (double)n->redone / (double)(n->utterances + n->failed), audit, left);
    say_losses(j, n);
    say_stage_end(j, n);
}

/* ---- The command ---- */

static int prepare(job *j, char **arguments)
{
    static const char *const settings[] = {"deltas", "2", "cmvn", "speaker", "energy", "none", "silence", "fill", NULL};
    const struct values *v = j->values;
    trl_error err;
    if (v->from && trl_model_import(v->from, NULL, &j->from, &err) < 0)
        return cli_failure(&err);
    j->options.from = j->from;
    int code = set_options(j);
    if (code == 0 && cli_check_output(v->output, &err) < 0)
        code = cli_failure(&err);
    if (code == 0 && v->questions && access(v->questions, R_OK) != 0) {
        cli_error(&err, TRL_EIO, "%s: can't open: %s", v->questions, strerror(errno));
        code = cli_failure(&err);
    }
    if (code == 0 && !v->from)
        code = frontend_input_create(&cmd_train, &v->frontend, settings, &j->frontend);
    if (code == 0)
        code = cli_pool(&v->common, &j->pool);
    if (code == 0)
        code = corpus_input_read(arguments[0], &j->reading, v->corpus.skip_bad, &j->findings, &j->corpus);
    if (code == 0)
        code = corpus_input_lexicon(&v->corpus, arguments[1], NULL, &j->lexicon);
    if (code == 0)
        code = corpus_input_words(&v->common, &v->corpus, j->lexicon, j->findings, j->corpus);
    return code ? code
                : oov_input_find(&v->common, &v->oov, j->from, j->lexicon, j->corpus, j->options.unknown_words, NULL);
}

/* Warnings; what the corpus says that nothing came of; then what was left out. */
static int report_findings(const job *j)
{
    size_t skipped;
    const trl_finding *f;
    trl_error err;
    corpus_input_warn(&j->values->common, j->findings);
    for (size_t i = 0; !j->values->common.quiet && (f = trl_findings_get(j->findings, i)); i++) {
        if (corpus_is_warning(f->kind) || trl_finding_is_fatal(f->kind) || f->kind == TRL_FINDING_UNKNOWN_WORD)
            continue;
        corpus_print_finding(stderr, f);
    }
    const trl_findings *findings = j->findings;
    if (trl_findings_write_skipped(&findings, 1, NULL, &skipped, &err) < 0)
        return cli_failure(&err);
    return corpus_input_skipped(findings, skipped, j->values->output);
}

static int train(job *j, const char *lexicon_name)
{
    trl_error err;
    char provenance[600];
    const char *base = strchr(lexicon_name, ',') ? NULL : strrchr(lexicon_name, '/'); /* of several, all is said */
    snprintf(provenance, sizeof provenance, "trellis %s\ncommand = train\ncorpus = %s, %zu utterances\n", trl_version(),
             trl_corpus_format_name(j->corpus), trl_corpus_count(j->corpus));
    j->options.provenance = provenance;
    j->options.lexicon_name = base ? base + 1 : lexicon_name;
    j->options.folder = j->folder;
    j->options.journal = j->journal;
    j->options.report = say_iteration;
    j->options.user = j;
    if (!j->options.resume && trl_train_interrupted(j->folder))
        cli_say(&j->values->common,
                "warning: %s has the checkpoint of an earlier training; this one starts anew and replaces it "
                "(--resume goes on with it)",
                j->folder);
    trl_model *model;
    int goes_on = j->options.resume && trl_train_interrupted(j->folder);
    if (goes_on)
        resume_offer(j->kept, NULL);
    else if (j->options.resume)
        cli_say(&j->values->common, "%s has no checkpoint: the training begins", j->folder);
    if (trl_train(j->corpus, j->lexicon, j->frontend, &j->options, j->pool, j->findings, &model, &err) < 0) {
        int code = cli_failure(&err);
        if (err.code != TRL_EINVAL) /* what is refused now will be refused again */
            resume_say();
        return code;
    }
    int failed = trl_model_write(model, j->values->output, &err) < 0;
    int64_t gaussians = trl_model_gaussians(model);
    int32_t tied = trl_model_tied_states(model);
    trl_model_destroy(model);
    if (failed) {
        int code = cli_failure(&err);
        resume_say();
        return code;
    }
    resume_withdraw();
    if (!j->values->keep)
        trl_train_clean(j->folder, j->options.features);
    cli_say(&j->values->common, "%d tied states, %lld Gaussians, %.1f s -> %s", tied, (long long)gaussians, j->seconds,
            j->values->output);
    return report_findings(j);
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    job j = {.values = values, .options = trl_train_defaults(), .reading = trl_corpus_defaults()};
    if (!j.values->output)
        return cli_usage_error(&cmd_train, "say with -o where the model goes");
    j.folder = cli_with_ending(j.values->folder ? j.values->folder : j.values->output, j.values->folder ? "" : ".work");
    j.journal = cli_with_ending(j.values->output, ".journal");
    j.kept = cli_with_ending("the last complete iteration, in ", j.folder);
    int code = prepare(&j, arguments);
    if (code == 0)
        code = train(&j, arguments[1]);
    trl_lexicon_destroy(j.lexicon);
    trl_corpus_destroy(j.corpus);
    trl_findings_destroy(j.findings);
    trl_pool_destroy(j.pool);
    trl_frontend_destroy(j.frontend);
    trl_model_destroy(j.from);
    free(j.folder);
    free(j.journal);
    free(j.kept);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "MODEL", "the model file (.trm)"},
    {"stages", 0, CLI_TEXT, offsetof(struct values, stages), "LIST",
     "mono (default), tri, lda, sat, in the order of the training, with commas between"},
    {"from", 0, CLI_TEXT, offsetof(struct values, from), "MODEL",
     "a model that the first stage starts from: it need not be mono then"},
    {"iterations", 'i', CLI_INT, offsetof(struct values, iterations), "N",
     "with each number of Gaussians, before it is doubled (default 4; 6 where mono is the only stage)"},

    {.name = "The stage mono", .kind = CLI_GROUP},
    {"components", 'n', CLI_INT, offsetof(struct values, components), "N",
     "Gaussians per state at the end, reached by doubling: 1, 2, 4 … (default 32; 8 when stages follow)"},
    {"total", 0, CLI_NUMBER, offsetof(struct values, total), "N",
     "instead: so many Gaussians in all, shared out by how much data a state has; one each at least"},
    {"power", 0, CLI_NUMBER, offsetof(struct values, power), "P",
     "with --total and --gaussians: shares go by frames^P (default 0.25)"},

    {.name = "The stages tri, lda and sat", .kind = CLI_GROUP},
    {"context", 0, CLI_TEXT, offsetof(struct values, context), "LEFT,RIGHT",
     "neighbours that count, before and after a phone (default 1,1: triphones; 2,2: quinphones)"},
    {"leaves", 0, CLI_INT, offsetof(struct values, leaves), "N",
     "of the tree at most: tied states (default: by the amount of sound, 480 for 42 minutes, 8000 for 400 hours)"},
    {"leaf-frames", 0, CLI_NUMBER, offsetof(struct values, least_leaf_frames), "N",
     "that a leaf has at least (default: a tenth of the average, 20 to 18000)"},
    {"gain", 0, CLI_NUMBER, offsetof(struct values, least_gain), "G",
     "log-likelihood, summed over frames, that a question must bring (default 0)"},
    {"questions", 0, CLI_TEXT, offsetof(struct values, questions), "FILE",
     "for the tree: HTK's QS lines, or a set of phones per line (default: made from the data)"},
    {"varmix", 0, CLI_TEXT, offsetof(struct values, varmix), "A,B",
     "Gaussians of a tied state: B times frames^A (default 0.3,2.2)"},
    {"gaussians", 0, CLI_NUMBER, offsetof(struct values, gaussians), "N",
     "instead: so many in all, shared out like --total"},
    {"lda-splice", 0, CLI_INT, offsetof(struct values, lda_splice), "N",
     "lda: frames on either side that are joined (default 4)"},
    {"lda-dim", 0, CLI_INT, offsetof(struct values, lda_dim), "N",
     "lda: values per frame that are left, at most (default 39)"},

    {.name = "Search and estimation", .kind = CLI_GROUP},
    {"em", 0, CLI_TEXT, offsetof(struct values, em), "METHOD",
     "shared (default): a state's Gaussians share the frames of the best path; viterbi: each frame goes to the best of "
     "them; baum-welch: all paths count"},
    {"margin", 0, CLI_TEXT, offsetof(struct values, margin), "FRAMES",
     "search only so far from the last alignment: a number, auto (default) or full"},
    {"audit", 0, CLI_NUMBER, offsetof(struct values, audit), "SHARE",
     "of the utterances are searched twice, to see what the margin misses (default 0.002, at least 50)"},
    {"seed", 0, CLI_INT, offsetof(struct values, seed), "N", "chooses the utterances that are audited"},
    {"beam", 0, CLI_NUMBER, offsetof(struct values, beam), "B", "of the first search, log-likelihood (default 400)"},
    {"best-component", 0, CLI_FLAG, offsetof(struct values, best_component), NULL,
     "states score by their best Gaussian instead of the sum: the joint score then never falls"},
    {"sample", 0, CLI_NUMBER, offsetof(struct values, sample), "FRAMES",
     "a tied state with more is estimated from a random sample of so many (default 256000)"},
    {"variance-floor", 0, CLI_NUMBER, offsetof(struct values, variance_floor), "SHARE",
     "of the variance of all data (default 0.01)"},
    {"variance-prior", 0, CLI_NUMBER, offsetof(struct values, variance_prior), "FRAMES",
     "so many frames' worth of variance does a Gaussian take from the others of its state (default 20)"},
    {"least-count", 0, CLI_NUMBER, offsetof(struct values, least_count), "FRAMES",
     "a Gaussian with fewer is dropped (default 3)"},

    {.name = "Phones and silence", .kind = CLI_GROUP},
    {"states", 0, CLI_INT, offsetof(struct values, states), "N", "of a phone (default 3)"},
    {"word-positions", 0, CLI_FLAG, offsetof(struct values, word_positions), NULL,
     "phones differ by their place in the word: AA_B, AA_I, AA_E, AA_S (default where tri, lda or sat follow mono, "
     "unless phones are called so)"},
    {"no-word-positions", 0, CLI_FLAG, offsetof(struct values, no_word_positions), NULL, "they don't"},
    {"silence-states", 0, CLI_INT, offsetof(struct values, silence_states), "N", "of silence and noise (default 5)"},
    {"silence-topology", 0, CLI_TEXT, offsetof(struct values, silence_topology), "KIND",
     "ergodic (default: the inner states all connected) or linear"},
    {"silence", 0, CLI_TEXT, offsetof(struct values, silence), "PHONE", "name of the silence (default SIL)"},
    {"noise", 0, CLI_TEXT, offsetof(struct values, noise), "PHONE", "name of what is no known word (default SPN)"},
    {"silence-between", 0, CLI_NUMBER, offsetof(struct values, silence_between), "P",
     "probability of silence between two words (default 0.5)"},

    {.name = "The corpus and its words", .kind = CLI_GROUP},
    CORPUS_FORMAT_OPTION(struct values, corpus),
    CORPUS_SOUND_OPTIONS(struct values, corpus),
    CORPUS_WORD_OPTIONS(struct values, corpus),
    OOV_OPTIONS(struct values, oov),

    {.name = "Features", .kind = CLI_GROUP},
    FRONTEND_INPUT_OPTIONS(struct values, frontend),
    {"features", 0, CLI_TEXT, offsetof(struct values, features), "FILE",
     "packed features (.trf) of the corpus instead of its sound"},

    {.name = "Running", .kind = CLI_GROUP},
    {"resume", 0, CLI_FLAG, offsetof(struct values, resume), NULL,
     "go on after the last complete iteration; where there is none, begin"},
    {"folder", 0, CLI_TEXT, offsetof(struct values, folder), "DIR",
     "for features and checkpoints, removed at the end (default MODEL.work)"},
    {"keep", 0, CLI_FLAG, offsetof(struct values, keep), NULL, "don't remove that folder"},
    {"device", 0, CLI_DEVICE, offsetof(struct values, device), "NAME",
     "cpu (default), cpu:avx2 …, opencl, opencl:N, cuda, cuda:N, auto; several with commas: cpu,cuda:0 (of different "
     "kinds, the last digits "
     "depend on who was free; see `trellis devices`)"},
    {0}};

const cli_command cmd_train = {
    .name = "train",
    .synopsis = "CORPUS LEXICON -o MODEL [--stages mono,tri,lda,sat]",
    .summary = "trains an acoustic model, in stages",
    .description =
        "Reads a corpus with transcripts and a pronunciation lexicon, and trains hidden Markov models with Gaussian "
        "mixtures of the lexicon's phones. The best model comes from\n\n"
        "  trellis train CORPUS LEXICON -o MODEL --stages mono,tri,lda,sat\n\n"
        "Each stage starts from the model and the alignments of the one before:\n\n"
        "  mono   phones as they are; starts from nothing. The default, and the quickest\n"
        "  tri    phones in context: a phone between other neighbours is another model\n"
        "  lda    the same, on frames that set phones apart better\n"
        "  sat    the same, on frames that are adapted to their speaker\n\n"
        "mono comes first, tri not after sat; stages may be left out, and given several times. With --from the first "
        "stage starts "
        "from a model that is there already: --stages lda,sat --from tri.trm goes on from a training that ended with "
        "tri. (Where mono is trained alone and tri follows later, give mono --word-positions.) At the beginning of "
        "tri, lda and sat, the probabilities of pronunciations and of silence between words "
        "are counted anew from the alignments.\n\n"
        "mono. Features are 13 MFCCs with C0, their first and second derivatives, the mean of each speaker removed, "
        "unless the front end's options say otherwise; frames of digital silence are left out (silence = fill; see "
        "features). The first iteration shares each utterance's frames out evenly "
        "over the states of its transcript. Every further one finds the best path of each utterance (Viterbi) and "
        "estimates the model from the frames on it, which the Gaussians of a state share by their posteriors; after "
        "--iterations of them, every Gaussian is split in two.\n\n"
        "tri. How a phone sounds depends on the phone before and the one after it, at the edges of words too. Most "
        "such contexts are too rare to be learnt by themselves, so a decision tree ties those that sound alike: each "
        "of its questions asks whether a neighbour is in some set of phones, or where in its word a phone is "
        "(--word-positions), and is the one that raises the likelihood "
        "most. Its leaves are the tied states, --leaves of them at most. They start with one Gaussian, and get as many "
        "as their frames allow (--varmix). `trellis model draw` shows the tree.\n\n"
        "lda. Coefficients without derivatives are joined with those of --lda-splice frames on either side, and "
        "projected to the --lda-dim directions in which tied states differ most (linear discriminant analysis). A "
        "second transform, estimated together with the model ahead of the stage's iterations 2, 4, 6 and 12, makes "
        "diagonal "
        "variances fit better (semi-tied covariances, STC). The tree is built anew. The model's front end contains "
        "both transforms. Log-likelihoods of this stage can't be compared with those before it: they are of "
        "other frames.\n\n"
        "sat. Speaker-adaptive training: an affine transform of each speaker's frames (fMLLR) takes out much of what "
        "sets one speaker apart from others, and model and transforms are estimated by turns; the tree is built anew. "
        "The corpus has to say "
        "who speaks (see corpus check); who has less than 500 frames of speech gets no transform. The model carries a "
        "second set of mixtures for frames as they come: with it `trellis align` makes transforms for speakers it has "
        "never heard.\n\n"
        "The model is the same for every number of threads, and after an interruption with --resume, which wants the "
        "same arguments as before.\n\n"
        "With a margin, the search looks only so many frames around the last alignment. auto uses a narrow band, "
        "checks that the path keeps away from its edges, and searches again wider where it does not; the column "
        "`audit` shows the share of frames on which a wide search of some utterances agrees, and `redone` the share of "
        "utterances that were searched again. Alignments move far in the first iterations, so everybody is searched "
        "with a beam until the audit agrees on 99.9 % of the frames; auto goes back to the beam whenever it does not, "
        "a margin in frames is used from the second round on in any case. The column `search` says which it was. "
        "`hours/hour` is hours of sound per hour, `left` what the stage may still take.\n\n"
        "A Gaussian with less than --least-count frames is dropped and the rest of its mixture weighted anew; a "
        "mixture keeps at least one. A state without any frame keeps its parameters; after the flat start those are "
        "the mean and variance of all frames. Variances are not below --variance-floor times the variance of all "
        "data. A Gaussian's variances are as if it had --variance-prior frames more that vary as those of its state's "
        "Gaussians do: few frames alone make some too narrow by chance.\n\n"
        "At the end, transcripts that hardly fit their sound are named in a warning; `trellis help align` says by "
        "which rule.\n\n" TEXTS_DESCRIPTION "\n\n" OOV_DESCRIPTION
        " The unit is trained with the sound of these words. In a training without any it stays as the flat start made "
        "it: the mean and variance of all frames.\n\n"
        "The story of the training with times is written to MODEL.journal; `trellis report MODEL` makes a page of it.",
    .options = options,
    .examples = "trellis train data/train lexicon.txt -o mono.trm\n"
                "trellis train data/train lexicon.txt -o best.trm --stages mono,tri,lda,sat\n"
                "trellis train data/train lexicon.txt -o best.trm --stages mono,tri,lda,sat --resume\n"
                "trellis train data/train lexicon.txt -o tri.trm --stages tri --from mono.trm --leaves 2000",
    .least = 2,
    .most = 2,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
