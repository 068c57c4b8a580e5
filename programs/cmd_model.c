/* trellis model show and stat: what is in an acoustic model, for a person or as JSON. */
#include "cli.h"
#include "cli_json.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/model.h>

#define LISTED_STATES 8 /* of a unit, in one line */

#define MODELS                                                                                                        \
    "MODEL is a file of trellis, an HTK model file (MMF, text or binary) or a Kaldi model (final.mdl, or the folder " \
    "that it is in); which one is seen from the content."

struct model_values {
    cli_common common;
    const char *list;
    int json, gaussians;
    cli_list contexts;
};

static const char *kind_name(trl_unit_kind kind)
{
    static const char *const names[] = {"phone", "silence", "noise"};
    return names[kind];
}

static int json_lost; /* 1: Jansson refused a part: a number that is none */

static void append(json_t *list, json_t *item)
{
    json_lost |= json_array_append_new(list, item) != 0;
}

static int print_json(json_t *root)
{
    trl_error err;
    if (json_lost) {
        json_decref(root);
        root = NULL;
    }
    return cli_json_print(root, JSON_INDENT(2), &err) < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

/* ---- show: one unit ---- */

/* The transitions of a unit: ids [first, end). */
typedef struct id_range {
    int32_t first, end;
} id_range;

static id_range ids_of(const trl_model *model, int32_t unit)
{
    int32_t first = 1, last = trl_model_transitions(model);
    while (first <= last && trl_model_transition(model, first).unit != unit)
        first++;
    int32_t end = first;
    while (end <= last && trl_model_transition(model, end).unit == unit)
        end++;
    return (id_range){first, end};
}

/* Does this id begin another (state, tied state) than the one before? */
static int begins_state(const trl_model *model, id_range ids, int32_t id)
{
    if (id == ids.first)
        return 1;
    trl_transition a = trl_model_transition(model, id - 1), b = trl_model_transition(model, id);
    return a.state != b.state || a.tied != b.tied;
}

static void print_numbers(const char *label, const float *numbers, int32_t count)
{
    printf("      %s", label);
    for (int32_t k = 0; k < count; k++)
        printf(" %g", (double)numbers[k]);
    putchar('\n');
}

static void print_mixture(const trl_model *model, int32_t tied)
{
    int32_t components = trl_model_components(model, tied);
    printf("\ntied state %" PRId32 ":\n", tied);
    for (int32_t c = 0; c < components; c++) {
        trl_gaussian g = trl_model_gaussian(model, tied, c);
        printf("  component %" PRId32 ", weight %g\n", c, (double)g.weight);
        print_numbers("mean    ", g.mean, trl_model_dim(model));
        print_numbers("variance", g.variance, trl_model_dim(model));
    }
}

static void print_arc(const trl_transition *t, int32_t id)
{
    char to[16];
    snprintf(to, sizeof to, "%" PRId32, t->to);
    printf("  %s %.4f (%" PRId32 ")", t->to == TRL_EXIT ? "exit" : to, exp((double)t->log_probability), id);
}

static int show_unit(const trl_model *model, int32_t unit, int gaussians)
{
    trl_unit u = trl_model_unit(model, unit);
    id_range ids = ids_of(model, unit);
    printf("%s: %s, %" PRId32 " states\n\nstate  tied state  Gaussians  to, probability (transition)", u.name,
           kind_name(u.kind), u.states);
    for (int32_t id = ids.first; id < ids.end; id++) {
        trl_transition t = trl_model_transition(model, id);
        if (begins_state(model, ids, id))
            printf("\n%5" PRId32 "  %10" PRId32 "  %9" PRId32, t.state, t.tied, trl_model_components(model, t.tied));
        print_arc(&t, id);
    }
    putchar('\n');
    for (int32_t id = ids.first; gaussians && id < ids.end; id++)
        if (begins_state(model, ids, id))
            print_mixture(model, trl_model_transition(model, id).tied);
    return EXIT_CLEAN;
}

/* ---- show: all units ---- */

static void print_text(const char *label, const char *text)
{
    char *cut = cli_cut_lines(text);
    size_t length = strlen(cut);
    while (length > 0 && cut[length - 1] == '\n')
        length--;
    if (length > 0)
        printf("%s:%c%.*s\n\n", label, memchr(cut, '\n', length) ? '\n' : ' ', (int)length, cut);
    free(cut);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* "12 13 14", or how many when there are more. */
static void print_tied_states(const trl_model *model, id_range ids)
{
    int32_t states = 0, gaussians = 0;
    for (int32_t id = ids.first; id < ids.end; id++)
        if (begins_state(model, ids, id)) {
            states++;
            gaussians += trl_model_components(model, trl_model_transition(model, id).tied);
        }
    printf("%9" PRId32 "  ", gaussians);
    for (int32_t id = ids.first; states <= LISTED_STATES && id < ids.end; id++)
        if (begins_state(model, ids, id))
            printf("%s%" PRId32, id == ids.first ? "" : " ", trl_model_transition(model, id).tied);
    if (states > LISTED_STATES)
        printf("%" PRId32 " of them", states);
    putchar('\n');
}

static void print_tree(const trl_model *model)
{
    trl_tree_facts tree = trl_model_tree(model);
    if (tree.width > 1)
        printf("tree: looks at %" PRId32 " to the left and %" PRId32 " to the right, %" PRId32 " roots, %" PRId32
               " questions about %" PRId32 " sets of units, depth up to %" PRId32 "\n",
               tree.centre, tree.width - 1 - tree.centre, tree.roots, tree.questions, tree.sets, tree.depth);
    if (trl_model_first_pass_gaussians(model) > 0)
        printf("first pass: %" PRId64 " Gaussians for frames that are not adapted to their speaker\n",
               trl_model_first_pass_gaussians(model));
}

static void print_codebooks(const trl_model *model)
{
    trl_codebook_facts c = trl_model_codebooks(model);
    if (c.codebooks == 0)
        return;
    printf("%" PRId32 " codebooks of %" PRId32 " streams x %" PRId32 " Gaussians, shared by the tied states",
           c.codebooks, c.streams, c.densities);
    if (c.top > 0)
        printf("; the best %" PRId32 " count", c.top);
    if (c.floor > 0)
        printf("; none further than %g nats below the best", (double)c.floor);
    printf("\n");
}

static int show_all(const trl_model *model)
{
    int32_t units = trl_model_units(model), end = 1, last = trl_model_transitions(model);
    print_text("front end", trl_model_frontend(model));
    print_text("lexicon", trl_model_lexicon(model));
    print_text("provenance", trl_model_provenance(model));
    if (trl_model_history(model)[0])
        printf("history: %zu iterations\n\n", count_lines(trl_model_history(model)));
    printf("%-12s  %-7s  states  Gaussians  tied states\n", "unit", "kind");
    for (int32_t u = 0; u < units; u++) {
        trl_unit unit = trl_model_unit(model, u);
        id_range ids = {end, end};
        while (ids.end <= last && trl_model_transition(model, ids.end).unit == u)
            ids.end++;
        end = ids.end;
        printf("%-12s  %-7s  %6" PRId32 "  ", unit.name, kind_name(unit.kind), unit.states);
        print_tied_states(model, ids);
    }
    printf("\n%" PRId32 " units, %" PRId32 " tied states, %" PRId64 " Gaussians, %" PRId32 " transitions, %" PRId32
           " dimensions\n",
           units, trl_model_tied_states(model), trl_model_gaussians(model), last, trl_model_dim(model));
    print_codebooks(model);
    print_tree(model);
    return EXIT_CLEAN;
}

/* ---- show: contexts ---- */

#define WIDEST 64 /* words of a context; more than any window has */

/* The units that the words name; `#` is none. */
static int parse_context(const trl_model *model, const char *text, int32_t *window, trl_error *err)
{
    trl_tree_facts tree = trl_model_tree(model);
    int32_t count = 0;
    for (const char *word = text + strspn(text, " \t"); *word; word += strspn(word, " \t")) {
        char name[256];
        size_t length = strcspn(word, " \t");
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        if (count == WIDEST)
            break;
        window[count] = trl_model_find_unit(model, name);
        if (window[count] < 0 && (strcmp(name, "#") != 0 || count == tree.centre))
            return cli_error(err, TRL_ENOENT, "context '%s': the model has no unit '%s'", text, name);
        count++;
        word += length;
    }
    if (count != tree.width)
        return cli_error(err, TRL_EINVAL,
                         "context '%s': the model looks at %" PRId32 " units, the one at place %" PRId32
                         " in the middle; "
                         "`#` stands for none",
                         text, tree.width, tree.centre + 1);
    return 0;
}

/* "s ih t: 12 40 7": the tied state of every state of the unit in the middle. */
static int show_context(const trl_model *model, const char *text, json_t *list, trl_error *err)
{
    int32_t window[WIDEST];
    int code = parse_context(model, text, window, err);
    if (code < 0)
        return code;
    trl_unit unit = trl_model_unit(model, window[trl_model_tree(model).centre]);
    json_t *tied = list ? json_array() : NULL;
    if (!list)
        printf("%s:", text);
    for (int32_t s = 0; s < unit.states; s++) {
        int32_t found = trl_model_find_tied(model, window, s);
        if (found < 0)
            return cli_error(err, TRL_EUNSUPPORTED,
                             "the model does not say which tied state it is: Kaldi's file `tree` "
                             "must lie beside it");
        if (list)
            append(tied, json_integer(found));
        else
            printf(" %" PRId32, found);
    }
    if (list)
        append(list, json_pack("{ssssso}", "context", text, "unit", unit.name, "tied_states", tied));
    else
        putchar('\n');
    return 0;
}

static int show_contexts(const trl_model *model, const struct model_values *v)
{
    trl_error err;
    char line[4096];
    json_t *list = v->json ? json_array() : NULL;
    int code = 0;
    for (size_t i = 0; code == 0 && i < v->contexts.count; i++) {
        int given = strcmp(v->contexts.items[i], "-") != 0;
        if (given)
            code = show_context(model, v->contexts.items[i], list, &err);
        while (!given && code == 0 && fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\n")] = '\0';
            code = show_context(model, line, list, &err);
        }
    }
    if (code == 0 && list)
        return print_json(list);
    json_decref(list);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

/* ---- show: JSON ---- */

static json_t *json_floats(const float *numbers, int32_t count)
{
    json_t *list = json_array();
    for (int32_t k = 0; k < count; k++)
        append(list, json_real((double)numbers[k]));
    return list;
}

static json_t *json_mixture(const trl_model *model, int32_t tied)
{
    json_t *list = json_array();
    int32_t dim = trl_model_dim(model);
    for (int32_t c = 0; c < trl_model_components(model, tied); c++) {
        trl_gaussian g = trl_model_gaussian(model, tied, c);
        append(list, json_pack("{sfsoso}", "weight", (double)g.weight, "mean", json_floats(g.mean, dim), "variance",
                               json_floats(g.variance, dim)));
    }
    return list;
}

/* The states of a unit with their transitions; *next is the unit's first id, and becomes the next unit's. */
static json_t *json_states(const trl_model *model, int32_t unit, int32_t *next, int gaussians)
{
    json_t *states = json_array(), *arcs = NULL;
    id_range ids = {*next, *next};
    for (; *next <= trl_model_transitions(model); ids.end = ++*next) {
        trl_transition t = trl_model_transition(model, *next);
        if (t.unit != unit)
            break;
        if (begins_state(model, ids, *next)) {
            arcs = json_array();
            json_t *state = json_pack("{sisisiso}", "state", (int)t.state, "tied_state", (int)t.tied, "components",
                                      (int)trl_model_components(model, t.tied), "transitions", arcs);
            if (gaussians)
                json_lost |= json_object_set_new(state, "mixture", json_mixture(model, t.tied)) != 0;
            append(states, state);
        }
        json_t *to = t.to == TRL_EXIT ? json_string("exit") : json_integer(t.to);
        append(arcs, json_pack("{sisosf}", "id", (int)*next, "to", to, "probability", exp((double)t.log_probability)));
    }
    return states;
}

static json_t *json_unit(const trl_model *model, int32_t unit, int32_t *next, int gaussians)
{
    trl_unit u = trl_model_unit(model, unit);
    return json_pack("{ssssso}", "name", u.name, "kind", kind_name(u.kind), "states",
                     json_states(model, unit, next, gaussians));
}

static json_t *json_tree(const trl_model *model)
{
    trl_tree_facts tree = trl_model_tree(model);
    return json_pack("{sisisisisisi}", "width", (int)tree.width, "centre", (int)tree.centre, "roots", (int)tree.roots,
                     "questions", (int)tree.questions, "sets", (int)tree.sets, "depth", (int)tree.depth);
}

/* Parts that not every model has. */
static void add_parts(const trl_model *model, json_t *root)
{
    trl_codebook_facts c = trl_model_codebooks(model);
    if (c.codebooks > 0)
        json_lost |= json_object_set_new(root, "shared",
                                         json_pack("{sisisisisf}", "codebooks", (int)c.codebooks, "streams",
                                                   (int)c.streams, "densities", (int)c.densities, "top", (int)c.top,
                                                   "floor", (double)c.floor)) != 0;
    if (trl_model_tree(model).width > 1)
        json_lost |= json_object_set_new(root, "tree", json_tree(model)) != 0;
    if (trl_model_first_pass_gaussians(model) > 0)
        json_lost |=
            json_object_set_new(root, "first_pass_gaussians", json_integer(trl_model_first_pass_gaussians(model))) != 0;
}

static json_t *json_model(const trl_model *model, int gaussians)
{
    json_t *units = json_array();
    int32_t next = 1;
    for (int32_t u = 0; u < trl_model_units(model); u++)
        append(units, json_unit(model, u, &next, gaussians));
    json_t *root = json_pack("{sisisIsissssssssso}", "dimension", (int)trl_model_dim(model), "tied_states",
                             (int)trl_model_tied_states(model), "gaussians", (json_int_t)trl_model_gaussians(model),
                             "transitions", (int)trl_model_transitions(model), "frontend", trl_model_frontend(model),
                             "lexicon", trl_model_lexicon(model), "provenance", trl_model_provenance(model), "history",
                             trl_model_history(model), "units", units);
    add_parts(model, root);
    return root;
}

static int show(const trl_model *model, const struct model_values *v, const char *name)
{
    int32_t unit = name ? trl_model_find_unit(model, name) : 0;
    if (unit < 0) {
        trl_error err;
        cli_error(&err, TRL_ENOENT, "the model has no unit '%s'; `trellis model show MODEL` lists them", name);
        return cli_failure(&err);
    }
    if (!v->json)
        return name ? show_unit(model, unit, v->gaussians) : show_all(model);
    int32_t first = name ? ids_of(model, unit).first : 1;
    return print_json(name ? json_unit(model, unit, &first, v->gaussians) : json_model(model, v->gaussians));
}

extern const cli_command cmd_model_show;

static int run_show(void *values, int count, char **arguments)
{
    const struct model_values *v = values;
    trl_error err;
    trl_model *model;
    if (v->gaussians && count < 2 && !v->json)
        return cli_usage_error(&cmd_model_show, "--gaussians shows those of one unit; name it, or ask for --json");
    if (v->contexts.count > 0 && (count == 2 || v->gaussians))
        return cli_usage_error(&cmd_model_show, "--context names the unit itself, and shows no Gaussians");
    if (trl_model_import(arguments[0], v->list, &model, &err) < 0)
        return cli_failure(&err);
    int code = v->contexts.count > 0 ? show_contexts(model, v) : show(model, v, count == 2 ? arguments[1] : NULL);
    trl_model_destroy(model);
    return code;
}

#define LIST_OPTION                                                                                               \
    {                                                                                                             \
        "list", 0, CLI_TEXT, offsetof(struct model_values, list), "FILE",                                         \
            "names: of an HTK model its HMM list, of a Kaldi model its phones.txt (by default the one beside it)" \
    }

static const cli_option show_options[] = {
    {"context", 0, CLI_LIST, offsetof(struct model_values, contexts), "UNITS",
     "only the tied states of the unit in the middle of these, as in \"s ih t\"; `#` among them is the end of the "
     "utterance; `-` alone reads contexts from standard input, a line each; may be given several times"},
    {"gaussians", 0, CLI_FLAG, offsetof(struct model_values, gaussians), NULL,
     "weights, means and variances of the unit's states too"},
    {"json", 0, CLI_FLAG, offsetof(struct model_values, json), NULL, "everything as JSON"},
    LIST_OPTION,
    {0}};

const cli_command cmd_model_show = {
    .name = "model show",
    .synopsis = "MODEL [UNIT]",
    .summary = "shows what is in an acoustic model",
    .description =
        "Prints the texts that the model carries (front end, lexicon, provenance) and its units: kind, number of "
        "states, Gaussians, tied states. Long lines, as a front end's transform, are cut; --json has everything. With "
        "a UNIT, prints its states with the transitions that leave them: target, "
        "probability and, in brackets, the transition's number. Units, states and tied states count from 0, "
        "transitions "
        "from 1.\n\n"
        "In a model of phones in context (the stages tri, lda and sat of `trellis train`), the tied states of a unit "
        "depend on its neighbours, and a decision tree chooses them: --context asks it, `trellis model draw` draws it. "
        "" MODELS,
    .options = show_options,
    .examples = "trellis model show an4.trm\n"
                "trellis model show an4.trm AA\n"
                "trellis model show tri.trm --context \"S IH T\" --context \"# IH T\"\n"
                "trellis model show --gaussians --list monophones hmmdefs sil\n"
                "trellis model show --json exp/mono/final.mdl",
    .least = 1,
    .most = 2,
    .values_size = sizeof(struct model_values),
    .run = run_show,
};

/* ---- stat ---- */

typedef struct numbers {
    int32_t kinds[3];              /* units, by trl_unit_kind */
    int32_t most;                  /* components of a tied state */
    int32_t *histogram;            /* by components: tied states */
    double variance[2], weight[2]; /* least, largest */
    double transition[2];          /* probability */
    int64_t parameters, bytes;     /* bytes: of the file; -1: a folder */
} numbers;

static void widen(double range[2], double value)
{
    range[0] = value < range[0] ? value : range[0];
    range[1] = value > range[1] ? value : range[1];
}

static void look_at_gaussians(const trl_model *model, int32_t tied, numbers *n)
{
    for (int32_t c = 0; c < trl_model_components(model, tied); c++) {
        trl_gaussian g = trl_model_gaussian(model, tied, c);
        widen(n->weight, (double)g.weight);
        for (int32_t k = 0; k < trl_model_dim(model); k++)
            widen(n->variance, (double)g.variance[k]);
    }
}

/* What is free to be estimated: per Gaussian a weight, means and variances; per transition a probability. */
static int count_all(const trl_model *model, const char *path, numbers *n)
{
    struct stat status;
    *n = (numbers){.variance = {DBL_MAX, 0}, .weight = {DBL_MAX, 0}, .transition = {DBL_MAX, 0}};
    n->bytes = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (int64_t)status.st_size : -1;
    trl_codebook_facts c = trl_model_codebooks(model);
    n->parameters = trl_model_gaussians(model) * (2 * (int64_t)trl_model_dim(model) + 1) +
                    trl_model_transitions(model) + (int64_t)c.codebooks * c.densities * 2 * trl_model_dim(model) +
                    (int64_t)trl_model_tied_states(model) * c.streams * c.densities;
    for (int32_t u = 0; u < trl_model_units(model); u++)
        n->kinds[trl_model_unit(model, u).kind]++;
    for (int32_t j = 0; j < trl_model_tied_states(model); j++) {
        int32_t components = trl_model_components(model, j);
        n->most = components > n->most ? components : n->most;
        look_at_gaussians(model, j, n);
    }
    for (int32_t id = 1; id <= trl_model_transitions(model); id++)
        widen(n->transition, exp((double)trl_model_transition(model, id).log_probability));
    n->histogram = calloc((size_t)n->most + 1, sizeof *n->histogram);
    for (int32_t j = 0; n->histogram && j < trl_model_tied_states(model); j++)
        n->histogram[trl_model_components(model, j)]++;
    return n->histogram ? 0 : -1;
}

static json_t *stat_json(const trl_model *model, const numbers *n)
{
    json_t *histogram = json_array();
    for (int32_t c = 1; c <= n->most; c++)
        if (n->histogram[c] > 0)
            append(histogram, json_pack("{sisi}", "components", (int)c, "tied_states", n->histogram[c]));
    json_t *root =
        json_pack("{sisisisisisisIsIs[ff]s[ff]s[ff]so}", "dimension", (int)trl_model_dim(model), "phones",
                  n->kinds[TRL_UNIT_PHONE], "silence_units", n->kinds[TRL_UNIT_SILENCE], "noise_units",
                  n->kinds[TRL_UNIT_NOISE], "tied_states", (int)trl_model_tied_states(model), "transitions",
                  (int)trl_model_transitions(model), "gaussians", (json_int_t)trl_model_gaussians(model), "parameters",
                  (json_int_t)n->parameters, "variance", n->variance[0], n->variance[1], "weight", n->weight[0],
                  n->weight[1], "transition_probability", n->transition[0], n->transition[1], "components", histogram);
    add_parts(model, root);
    if (n->bytes >= 0)
        json_lost |= json_object_set_new(root, "bytes", json_integer(n->bytes)) != 0;
    return root;
}

static int print_stat(const trl_model *model, const numbers *n)
{
    trl_tree_facts tree = trl_model_tree(model);
    printf("dimensions    %" PRId32 "\n", trl_model_dim(model));
    printf("units         %" PRId32 " (%" PRId32 " phones, %" PRId32 " silence, %" PRId32 " noise)\n",
           trl_model_units(model), n->kinds[TRL_UNIT_PHONE], n->kinds[TRL_UNIT_SILENCE], n->kinds[TRL_UNIT_NOISE]);
    printf("tied states   %" PRId32 "\n", trl_model_tied_states(model));
    printf("Gaussians     %" PRId64 "\n", trl_model_gaussians(model));
    printf("transitions   %" PRId32 ", probability %g to %g\n", trl_model_transitions(model), n->transition[0],
           n->transition[1]);
    if (trl_model_gaussians(model) > 0) {
        printf("variances     %g to %g\n", n->variance[0], n->variance[1]);
        printf("weights       %g to %g\n", n->weight[0], n->weight[1]);
    }
    print_codebooks(model);
    printf("parameters    %" PRId64 "\n", n->parameters);
    if (tree.width > 1)
        printf("tree          %" PRId32 " units wide, %" PRId32 " roots, %" PRId32 " questions about %" PRId32
               " sets, depth up to %" PRId32 "\n",
               tree.width, tree.roots, tree.questions, tree.sets, tree.depth);
    if (trl_model_first_pass_gaussians(model) > 0)
        printf("first pass    %" PRId64 " Gaussians\n", trl_model_first_pass_gaussians(model));
    if (n->bytes >= 0)
        printf("file          %" PRId64 " bytes\n", n->bytes);
    printf("\ncomponents  tied states\n");
    for (int32_t c = 1; c <= n->most; c++)
        if (n->histogram[c] > 0)
            printf("%10" PRId32 "  %11" PRId32 "\n", c, n->histogram[c]);
    return EXIT_CLEAN;
}

static int run_stat(void *values, int count, char **arguments)
{
    (void)count;
    const struct model_values *v = values;
    trl_error err;
    trl_model *model;
    numbers n;
    if (trl_model_import(arguments[0], v->list, &model, &err) < 0)
        return cli_failure(&err);
    int code;
    if (count_all(model, arguments[0], &n) < 0)
        code = cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"});
    else
        code = v->json ? print_json(stat_json(model, &n)) : print_stat(model, &n);
    free(n.histogram);
    trl_model_destroy(model);
    return code;
}

static const cli_option stat_options[] = {
    {"json", 0, CLI_FLAG, offsetof(struct model_values, json), NULL, "the numbers as JSON"}, LIST_OPTION, {0}};

const cli_command cmd_model_stat = {
    .name = "model stat",
    .synopsis = "MODEL",
    .summary = "counts units, states, Gaussians and parameters of an acoustic model",
    .description =
        "Prints how large the model is: units, tied states, Gaussians, transitions, parameters (a weight, means and "
        "variances per Gaussian, a probability per transition), the range of variances, weights and transition "
        "probabilities, the size of the tree, and how many tied states have how many components. " MODELS,
    .options = stat_options,
    .examples = "trellis model stat an4.trm\n"
                "trellis model stat --json exp/mono/final.mdl",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct model_values),
    .run = run_stat,
};
