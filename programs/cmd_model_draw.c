/* trellis model draw: the tree of a model as a picture. */
#include "cli.h"

#include <trellis/model.h>

extern const cli_command cmd_model_draw;

struct values {
    cli_common common;
    const char *output, *unit, *list;
    int state;
};

static int run(void *values, int count, char **arguments)
{
    (void)count;
    const struct values *v = values;
    trl_error err;
    trl_model *model;
    if (v->state < -1)
        return cli_usage_error(&cmd_model_draw, "--state counts from 0");
    if (trl_model_import(arguments[0], v->list, &model, &err) < 0)
        return cli_failure(&err);
    int code = trl_model_draw_tree(model, v->unit, v->state, v->output, &err);
    trl_model_destroy(model);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "FILE", "where to write; standard output without it"},
    {"unit", 0, CLI_TEXT, offsetof(struct values, unit), "UNIT",
     "only the tree of this unit; a phone's name without its place in the word stands for all its places"},
    {"state", 0, CLI_INT, offsetof(struct values, state), "N", "only the tree of this state, from 0"},
    {"list", 0, CLI_TEXT, offsetof(struct values, list), "FILE",
     "names: of a Kaldi model its phones.txt (by default the one beside it)"},
    {0}};

const cli_command cmd_model_draw = {
    .name = "model draw",
    .synopsis = "MODEL [--unit UNIT] [--state N] [-o FILE]",
    .summary = "draws the decision tree of an acoustic model as a graph for Graphviz",
    .description =
        "In a model of phones in context (the stages tri, lda and sat of `trellis train`), a decision tree chooses the "
        "tied states of a unit by its neighbours. This command writes it in the language of Graphviz, whose program "
        "`dot` makes a picture of it.\n\n"
        "A box asks whether the unit to the left or right is in a set of units, which is called by its name, or by its "
        "units; `-` is a set without any. The full line is yes, the dashed one no. A grey ellipse is a tied state with "
        "the number of its Gaussians. Units that share their tied states share a tree. All units of a large model make "
        "a very wide picture: choose one with --unit.",
    .options = options,
    .examples = "trellis model draw tri.trm --unit IH --state 1 | dot -Tsvg > ih.svg\n"
                "trellis model draw exp/tri1 --unit AA -o aa.dot",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct values),
    .defaults = &(const struct values){.output = "-", .state = -1},
    .run = run,
};
