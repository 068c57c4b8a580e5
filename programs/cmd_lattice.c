/* trellis lattice copy, rescore, info: archives of lattices into others. */
#include "cli_json.h"
#include "lattice_command.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <trellis/lattice_rescore.h>

/* ---- copy ---- */

extern const cli_command cmd_lattice_copy, cmd_lattice_rescore, cmd_lattice_info;

struct copy_values {
    lattice_values shared;
    double prune, multiply_acoustic, multiply_graph;
    int determinize;
};

typedef struct copy_job {
    const struct copy_values *values;
    trl_lattice_scale scale, factors;
    trl_lattice_writer *writer;
    size_t count;
    uint64_t arcs_before, arcs;
} copy_job;

static uint64_t arcs_of(const trl_lattice *lattice)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    return l.states > 0 ? l.first[l.states] : 0;
}

static int copy_one(void *user, const char *id, const trl_lattice *lattice, trl_error *err)
{
    copy_job *j = user;
    trl_lattice *scaled = NULL, *single = NULL, *pruned = NULL;
    double beam = j->values->prune > 0 ? j->values->prune : INFINITY;
    int code = trl_lattice_rescale(lattice, &j->factors, &scaled, err);
    if (code == 0 && j->values->determinize)
        code = trl_lattice_determinize(scaled, &j->scale, beam, &single, err);
    if (code == 0 && beam < INFINITY)
        code = trl_lattice_prune(single ? single : scaled, &j->scale, beam, &pruned, err);
    const trl_lattice *out = pruned ? pruned : single ? single : scaled;
    if (code == 0)
        code = trl_lattice_writer_add(j->writer, id, out, err);
    if (code == 0) {
        j->count++;
        j->arcs_before += arcs_of(lattice);
        j->arcs += arcs_of(out);
    }
    trl_lattice_destroy(scaled);
    trl_lattice_destroy(single);
    trl_lattice_destroy(pruned);
    return code;
}

static int check_copy(const struct copy_values *v)
{
    if (!(v->prune >= 0))
        return cli_usage_error(&cmd_lattice_copy, "--prune takes a cost above 0");
    if (!isfinite(v->multiply_acoustic) || !isfinite(v->multiply_graph))
        return cli_usage_error(&cmd_lattice_copy, "--multiply-acoustic and --multiply-graph take numbers");
    return 0;
}

static int run_copy(void *values, int count, char **arguments)
{
    const struct copy_values *v = values;
    copy_job j = {.values = v, .factors = {v->multiply_acoustic, v->multiply_graph, 0}};
    trl_symbols *words = NULL;
    trl_error err;
    int wrong = lattice_scale(&cmd_lattice_copy, &v->shared, &j.scale);
    if (wrong == 0)
        wrong = check_copy(v);
    if (wrong == 0 && lattice_words(&v->shared, &words, &err) < 0)
        wrong = cli_failure(&err);
    if (wrong == 0)
        wrong = lattice_open_output(&cmd_lattice_copy, &v->shared, &j.scale, &j.writer);
    if (wrong) {
        trl_symbols_destroy(words);
        return wrong;
    }
    int code = lattice_each(arguments, count, words, copy_one, &j, &err);
    if (code == 0)
        code = trl_lattice_writer_commit(j.writer, &err);
    else
        trl_lattice_writer_abort(j.writer);
    trl_symbols_destroy(words);
    if (code < 0)
        return cli_failure(&err);
    cli_say(&v->shared.common, "%zu lattice%s, %" PRIu64 " arcs of %" PRIu64, j.count, j.count == 1 ? "" : "s", j.arcs,
            j.arcs_before);
    return EXIT_CLEAN;
}

static const cli_option copy_options[] = {
    LATTICE_OUTPUT(struct copy_values, shared),
    LATTICE_WORDS(struct copy_values, shared),
    {"prune", 0, CLI_NUMBER, offsetof(struct copy_values, prune), "BEAM",
     "leave out what is on no path that costs at most so much more than the best"},
    {"determinize", 0, CLI_FLAG, offsetof(struct copy_values, determinize), NULL,
     "leave one path of each word string, the best: for plain lattices, which have many"},
    LATTICE_SCALES(struct copy_values, shared),
    {"multiply-acoustic", 0, CLI_NUMBER, offsetof(struct copy_values, multiply_acoustic), "X",
     "multiply acoustic costs, before anything else: 10 for lattices that were scaled by 0.1"},
    {"multiply-graph", 0, CLI_NUMBER, offsetof(struct copy_values, multiply_graph), "X", "the same with graph costs"},
    {0}};

static const struct copy_values copy_defaults = {
    .shared = LATTICE_DEFAULTS, .multiply_acoustic = 1, .multiply_graph = 1};

const cli_command cmd_lattice_copy = {
    .name = "lattice copy",
    .synopsis = "LATTICES… [-o PLACE]",
    .summary = "converts, prunes and scales lattices",
    .description = "Reads lattices and writes them in another form. " LATTICE_INPUT "\n\n" LATTICE_PLACES "\n\n"
                   "States are put in topological order, and what leads to no end is left out. " LATTICE_WEIGHING
                   " That is what --prune and --determinize go by, and what machines (fst:) have as weights.",
    .options = copy_options,
    .examples = "trellis lattice copy lat.1.gz lat.2.gz -o lat.ark\n"
                "trellis lattice copy lat.ark --prune 4 --lm-scale 12 -o ark,t:-\n"
                "trellis lattice copy lat.ark --words words.txt -o fst:machines",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct copy_values),
    .defaults = &copy_defaults,
    .run = run_copy,
};

/* ---- rescore ---- */

struct rescore_values {
    lattice_values shared;
    const char *add, *remove;
    double factor;
    int remove_exact;
};

typedef struct rescore_job {
    trl_lattice_lm *add, *remove;
    trl_backoff removal;
    double factor;
    trl_lattice_writer *writer;
    size_t count;
    uint64_t arcs_before, arcs;
} rescore_job;

static int rescore_one(void *user, const char *id, const trl_lattice *lattice, trl_error *err)
{
    rescore_job *j = user;
    trl_lattice *bare = NULL, *out = NULL;
    trl_error reason;
    int code = 0;
    if (j->remove)
        code = trl_lattice_rescore(lattice, j->remove, j->removal, -j->factor, &bare, &reason);
    if (code == 0 && j->add)
        code = trl_lattice_rescore(bare ? bare : lattice, j->add, TRL_BACKOFF_NEEDED, j->factor, &out, &reason);
    if (code < 0)
        code = cli_error(err, code, "utterance %s: %s", id, reason.text);
    else
        code = trl_lattice_writer_add(j->writer, id, out ? out : bare, err);
    if (code == 0) {
        j->count++;
        j->arcs_before += arcs_of(lattice);
        j->arcs += arcs_of(out ? out : bare);
    }
    trl_lattice_destroy(bare);
    trl_lattice_destroy(out);
    return code;
}

static int check_rescore(const struct rescore_values *v)
{
    if (!v->add && !v->remove)
        return cli_usage_error(&cmd_lattice_rescore, "--add or --remove must name a language model");
    if (!v->shared.words)
        return cli_usage_error(&cmd_lattice_rescore, "--words must say which words the labels are");
    return isfinite(v->factor) ? 0 : cli_usage_error(&cmd_lattice_rescore, "--factor takes a number");
}

static int rescore_all(const struct rescore_values *v, rescore_job *j, int count, char **arguments)
{
    trl_symbols *words = NULL;
    trl_lattice_scale scale = {0};
    trl_error err;
    int wrong = lattice_scale(&cmd_lattice_rescore, &v->shared, &scale);
    int code = wrong ? 0 : lattice_words(&v->shared, &words, &err);
    if (!wrong && code == 0 && v->remove)
        code = trl_lattice_lm_read(v->remove, words, &j->remove, &err);
    if (!wrong && code == 0 && v->add)
        code = trl_lattice_lm_read(v->add, words, &j->add, &err);
    if (!wrong && code == 0)
        wrong = lattice_open_output(&cmd_lattice_rescore, &v->shared, &scale, &j->writer);
    if (!wrong && code == 0)
        code = lattice_each(arguments, count, words, rescore_one, j, &err);
    if (!wrong && code == 0) {
        code = trl_lattice_writer_commit(j->writer, &err);
        j->writer = NULL;
    }
    trl_symbols_destroy(words);
    return wrong ? wrong : code < 0 ? cli_failure(&err) : 0;
}

static int run_rescore(void *values, int count, char **arguments)
{
    const struct rescore_values *v = values;
    rescore_job j = {.factor = v->factor, .removal = v->remove_exact ? TRL_BACKOFF_NEEDED : TRL_BACKOFF_CHEAPEST};
    int wrong = check_rescore(v);
    if (wrong == 0)
        wrong = rescore_all(v, &j, count, arguments);
    trl_lattice_writer_abort(j.writer);
    trl_lattice_lm_destroy(j.add);
    trl_lattice_lm_destroy(j.remove);
    if (wrong == 0)
        cli_say(&v->shared.common, "%zu lattice%s, %" PRIu64 " arcs, %" PRIu64 " before", j.count,
                j.count == 1 ? "" : "s", j.arcs, j.arcs_before);
    return wrong;
}

static const cli_option rescore_options[] = {
    LATTICE_OUTPUT(struct rescore_values, shared),
    LATTICE_WORDS(struct rescore_values, shared),
    {"add", 0, CLI_TEXT, offsetof(struct rescore_values, add), "LM.arpa", "put this language model's costs in"},
    {"remove", 0, CLI_TEXT, offsetof(struct rescore_values, remove), "LM.arpa", "take this one's out, first"},
    {"remove-exact", 0, CLI_FLAG, offsetof(struct rescore_values, remove_exact), NULL,
     "OLD was put in by lattice rescore, not by a graph"},
    {"factor", 0, CLI_NUMBER, offsetof(struct rescore_values, factor), "X",
     "how much of either (default 1); 0.5 is half way from the old model to the new, in logarithms"},
    LATTICE_SCALES(struct rescore_values, shared),
    {0}};

static const struct rescore_values rescore_defaults = {.shared = LATTICE_DEFAULTS, .factor = 1};

const cli_command cmd_lattice_rescore = {
    .name = "lattice rescore",
    .synopsis = "LATTICES… --words FILE [--remove OLD.arpa] [--add NEW.arpa] [-o PLACE]",
    .summary = "gives lattices the costs of another language model",
    .description =
        "Changes the graph cost of every path by what n-gram models of any order say of its words: the cost of OLD is "
        "taken off, that of NEW is added. What else the graph cost has in it (pronunciations, silence, transitions) "
        "stays, and so do acoustic costs and transitions. The graph must have been made with OLD. Models are ARPA "
        "files, packed by gzip or not. Of NEW, a shorter history counts only where the longer n-gram is not in the "
        "model, which gives its probabilities exactly. In a graph it counts wherever that is cheaper, and so it does "
        "here when OLD is taken off; with --remove-exact it is as with NEW.\n\n"
        "Words that a model lacks are its <unk>; if it has none, that is an error.\n\n" LATTICE_INPUT
        "\n\n" LATTICE_PLACES "\n\n"
        "--lm-scale and --word-penalty are for machines (fst:) alone.",
    .options = rescore_options,
    .examples = "trellis lattice rescore lat.ark --words loop.trg --remove small.arpa --add big.arpa.gz -o big.ark",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct rescore_values),
    .defaults = &rescore_defaults,
    .run = run_rescore,
};

/* ---- info ---- */

struct info_values {
    cli_common common;
    int each, json;
};

typedef struct sizes {
    uint64_t lattices, empty, states, arcs, ends, frames;
    uint64_t arc_frames; /* arcs counted once for each frame that they span */
} sizes;

typedef struct info_job {
    const struct info_values *values;
    sizes all;
} info_job;

static sizes sizes_of(const trl_lattice *lattice)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    sizes s = {.lattices = 1, .empty = l.states == 0, .states = (uint64_t)l.states, .frames = (uint64_t)l.frames};
    s.arcs = arcs_of(lattice);
    for (uint64_t a = 0; a < s.arcs; a++)
        s.arc_frames += l.arcs[a].duration;
    for (int32_t i = 0; i < l.states; i++) {
        s.ends += l.ends[i].graph != INFINITY;
        s.arc_frames += l.ends[i].graph != INFINITY ? l.ends[i].duration : 0;
    }
    return s;
}

static double density(const sizes *s)
{
    return s->frames > 0 ? (double)s->arc_frames / (double)s->frames : 0;
}

/* Of one lattice, or (id NULL) of all. */
static int print_sizes_json(const char *id, const sizes *s, trl_error *err)
{
    json_t *object = json_pack(
        "{s:s*,s:o*,s:o*,s:I,s:I,s:I,s:I,s:f}", "id", id, "lattices", id ? NULL : json_integer((json_int_t)s->lattices),
        "empty", id ? NULL : json_integer((json_int_t)s->empty), "states", (json_int_t)s->states, "arcs",
        (json_int_t)s->arcs, "ends", (json_int_t)s->ends, "frames", (json_int_t)s->frames, "density", density(s));
    return cli_json_print(object, JSON_REAL_PRECISION(9), err);
}

static int count_one(void *user, const char *id, const trl_lattice *lattice, trl_error *err)
{
    info_job *j = user;
    sizes s = sizes_of(lattice);
    j->all.lattices += s.lattices;
    j->all.empty += s.empty;
    j->all.states += s.states;
    j->all.arcs += s.arcs;
    j->all.ends += s.ends;
    j->all.frames += s.frames;
    j->all.arc_frames += s.arc_frames;
    if (j->values->each && j->values->json)
        return print_sizes_json(id, &s, err);
    if (j->values->each)
        printf("%s %" PRIu64 " states %" PRIu64 " arcs %" PRIu64 " frames %.3f arcs per frame\n", id, s.states, s.arcs,
               s.frames, density(&s));
    return 0;
}

static void print_sizes(const sizes *s)
{
    double count = s->lattices > 0 ? (double)s->lattices : 1;
    printf("lattices          %" PRIu64 "\n"
           "empty             %" PRIu64 "\n"
           "states            %" PRIu64 "\n"
           "arcs              %" PRIu64 "\n"
           "ends              %" PRIu64 "\n"
           "frames            %" PRIu64 "\n"
           "arcs per lattice  %.3f\n"
           "arcs per frame    %.3f\n",
           s->lattices, s->empty, s->states, s->arcs, s->ends, s->frames, (double)s->arcs / count, density(s));
}

static int run_info(void *values, int count, char **arguments)
{
    info_job j = {.values = values};
    trl_error err;
    if (lattice_each(arguments, count, NULL, count_one, &j, &err) < 0)
        return cli_failure(&err);
    if (j.values->each)
        return EXIT_CLEAN;
    if (j.values->json)
        return print_sizes_json(NULL, &j.all, &err) < 0 ? cli_failure(&err) : EXIT_CLEAN;
    print_sizes(&j.all);
    return EXIT_CLEAN;
}

static const cli_option info_options[] = {
    {"each", 0, CLI_FLAG, offsetof(struct info_values, each), NULL, "a line for each lattice instead of the sum"},
    {"json", 0, CLI_FLAG, offsetof(struct info_values, json), NULL, "as JSON"},
    {0}};

const cli_command cmd_lattice_info = {
    .name = "lattice info",
    .synopsis = "LATTICES…",
    .summary = "counts states, arcs and frames of lattices",
    .description =
        "Arcs per frame (density) is how many arcs lie over a frame, on average: 1 for a single path. " LATTICE_INPUT,
    .options = info_options,
    .examples = "trellis lattice info lat.ark\n"
                "trellis lattice info --each lat.1.gz",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct info_values),
    .run = run_info,
};
