/* trellis help: the help of a command as text, manual page or Markdown. */
#include "cli.h"

struct values {
    cli_common common;
    int man, markdown, names;
};

static int run(void *values, int count, char **arguments)
{
    const struct values *v = values;
    if (count == 0) {
        (v->names ? help_names : v->man ? help_man_overview : help_overview)(stdout);
        return EXIT_CLEAN;
    }
    int used;
    const cli_command *command = cli_find(count, arguments, &used);
    if (!command && count == 1 && help_family(stdout, arguments[0]))
        return EXIT_CLEAN;
    if (!command || used != count)
        return cli_unknown_command(count, arguments);
    (v->man ? help_man : v->markdown ? help_markdown : help_text)(stdout, command);
    return EXIT_CLEAN;
}

static const cli_option options[] = {
    {"man", 0, CLI_FLAG, offsetof(struct values, man), NULL, "as a manual page (roff)"},
    {"markdown", 0, CLI_FLAG, offsetof(struct values, markdown), NULL,
     "as Markdown, the form of the pages in docs/commands"},
    {"names", 0, CLI_FLAG, offsetof(struct values, names), NULL, "the names of all commands, one per line"},
    {0}};

const cli_command cmd_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "explains a command",
    .description = "Without a command, lists them all; with the first word of several, such as fst, lists those.",
    .options = options,
    .examples = "trellis help corpus check",
    .most = 2,
    .values_size = sizeof(struct values),
    .run = run,
};
