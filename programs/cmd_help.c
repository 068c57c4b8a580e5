/* trellis help: the help of a command as text, manual page or Markdown. */
#include "cli.h"

struct values {
    cli_common common;
    int man, markdown;
};

static int run(void *values, int count, char **arguments)
{
    const struct values *v = values;
    if (count == 0) {
        (v->man ? help_man_overview : help_overview)(stdout);
        return EXIT_CLEAN;
    }
    int used;
    const cli_command *command = cli_find(count, arguments, &used);
    if (!command || used != count) {
        fprintf(stderr, "trellis help: there is no command '%s%s%s'\n\n", arguments[0], count > 1 ? " " : "",
                count > 1 ? arguments[1] : "");
        help_overview(stderr);
        return EXIT_USAGE;
    }
    (v->man ? help_man : v->markdown ? help_markdown : help_text)(stdout, command);
    return EXIT_CLEAN;
}

static const cli_option options[] = {
    {"man", 0, CLI_FLAG, offsetof(struct values, man), NULL, "as a manual page (roff)"},
    {"markdown", 0, CLI_FLAG, offsetof(struct values, markdown), NULL,
     "as Markdown, the form of the pages in docs/commands"},
    {0}};

const cli_command cmd_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "explains a command",
    .description = "Without a command, lists them all.",
    .options = options,
    .examples = "trellis help corpus check",
    .most = 2,
    .values_size = sizeof(struct values),
    .run = run,
};
