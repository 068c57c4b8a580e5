/* trellis: one binary, its commands from a table. */
#include "cli.h"

#include <signal.h>
#include <string.h>
#include <trellis/log.h>

extern const cli_command cmd_corpus_check, cmd_help, cmd_version;

const cli_command *const cli_commands[] = {
    &cmd_corpus_check,
    &cmd_help,
    &cmd_version,
    NULL,
};

static void log_to_stderr(void *user, trl_log_level level, const char *text)
{
    (void)user;
    fprintf(stderr, "trellis: %s%s\n", level == TRL_LOG_WARNING ? "warning: " : "", text);
}

int main(int argc, char **argv)
{
    trl_log_set(TRL_LOG_WARNING, log_to_stderr, NULL);
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        argv[1] = "help";
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = "version";
    int used;
    const cli_command *command = cli_find(argc - 1, argv + 1, &used);
    if (command)
        return cli_run(command, argc - 1 - used, argv + 1 + used);
    return cli_unknown_command(argc - 1, argv + 1);
}
