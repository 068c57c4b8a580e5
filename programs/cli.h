/* The command line: one table of commands, each with declarative options; help, manual pages and the pages in
 * docs/commands are printed from the same table.
 *
 *     struct values { cli_common common; const char *output; };
 *     static const cli_option options[] = {
 *         {"output", 'o', CLI_TEXT, offsetof(struct values, output), "FILE", "where to write"}, {0}};
 *     const cli_command cmd_example = {.name = "example", …, .options = options, .run = run};
 */
#ifndef TRELLIS_CLI_H
#define TRELLIS_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <trellis/error.h>
#include <trellis/pool.h>
#include <trellis/progress.h>

/* Exit codes, the same for every command. */
enum { EXIT_CLEAN = 0, EXIT_FINDINGS = 1, EXIT_USAGE = 2, EXIT_FAILED = 3 };

typedef enum cli_kind {
    CLI_FLAG,   /* int, becomes 1 */
    CLI_TEXT,   /* const char * */
    CLI_DEVICE, /* const char *, the name of a device */
    CLI_INT,    /* int */
    CLI_NUMBER, /* double */
    CLI_LIST,   /* cli_list: may be given several times */
    CLI_GROUP   /* no option: `name` is the heading of those that follow, in help */
} cli_kind;

#define CLI_LIST_MOST 64

typedef struct cli_list {
    const char *items[CLI_LIST_MOST];
    size_t count;
} cli_list;

typedef struct cli_option {
    const char *name; /* without the two dashes; NULL ends the table */
    char letter;      /* short form, or 0 */
    cli_kind kind;
    size_t offset;        /* of the value in the command's struct */
    const char *argument; /* name of the argument in help */
    const char *help;
} cli_option;

/* What every command understands; the first member of its struct of values. */
typedef struct cli_common {
    int quiet;
    int threads; /* 0: one per core */
    int help;
} cli_common;

typedef struct cli_command {
    const char *name;     /* "features" or "corpus check" */
    const char *synopsis; /* "CORPUS [-o PLACE]" */
    const char *summary;  /* one line, no full stop */
    const char
        *description; /* paragraphs separated by empty lines; a paragraph that starts with a blank is kept as it is */
    const cli_option *options;
    const char *(*more)(void); /* further help made at run time (a table of keys), or NULL */
    const char *examples;      /* one command per line, `# ` comments allowed */
    int least, most;           /* number of arguments that are not options */
    size_t values_size;
    const void *defaults; /* of the values; NULL: all zero */
    int (*run)(void *values, int count, char **arguments);
    int hidden; /* not listed */
} cli_command;

extern const cli_command *const cli_commands[]; /* in programs/main.c; ends with NULL */
extern const cli_option cli_common_options[];

/* Parses the options over the command's defaults and runs it. Returns the exit code. */
int cli_run(const cli_command *command, int argc, char **argv);

/* Says "trellis NAME: text" on standard error. Return values are exit codes. */
int cli_usage_error(const cli_command *command, const char *format, ...) TRL_PRINTF(2, 3);
int cli_failure(const trl_error *err);

/* What an option says was refused by the library: a usage error, unless memory ran out (EXIT_FAILED). */
int cli_refused(const cli_command *command, const trl_error *err);

/* Says so and ends the command with EXIT_FAILED: where there is nothing to clean up, or nobody who could be told. */
_Noreturn void cli_out_of_memory(void);

/* For results that are no text: an exit code when they would go to a terminal, else 0. */
int cli_no_terminal(const cli_command *command, const char *output);

/* An option that is one of some names (ends with NULL): its number; `given` may be NULL. Returns 0 or EXIT_USAGE. */
int cli_choose(const cli_command *command, const char *option, const char *given, const char *const *names, int *value);

/* Fills the error in, as the library does, and returns the code. */
int cli_error(trl_error *err, int code, const char *format, ...) TRL_PRINTF(3, 4);
/* Puts the file in front of what was said of its content by a function that does not know its name. Returns code;
 * success, a lack of memory, and texts that name the file stay as they are. */
int cli_error_in(trl_error *err, int code, const char *file);

void cli_say(const cli_common *common, const char *format, ...) TRL_PRINTF(2, 3); /* nothing with --quiet */

/* Writes a whole file, which appears when it is complete; "-" is standard output. Returns 0 or as trl_file_create. */
int cli_save(const char *path, const void *bytes, size_t size, trl_error *err);

/* What is learnt at the end of a long command otherwise: can this file be written? What is there already stays as it is. Returns 0 or as
 * trl_file_create. */
int cli_check_output(const char *path, trl_error *err);

/* Is it a file, or may it become one? Standard output, pipes and devices are none. */
int cli_is_plain_file(const char *path);

/* MODEL and ".journal": a name beside another; freed by free(). */
char *cli_with_ending(const char *path, const char *ending);

/* A copy in which lines of more than 200 bytes, as transforms in the description of a front end are, are cut; freed
 * by free(). */
char *cli_cut_lines(const char *text);

/* cli_text.c: a text that grows as it is printed. It is whole at the close, and the caller's to free. */
FILE *cli_text_open(char **bytes, size_t *size);
void cli_text_close(FILE *out);

/* The pool for --threads, and a progress display on standard error (NULL with --quiet). Both are the caller's. */
int cli_pool(const cli_common *common, trl_pool **pool);
trl_progress *cli_progress(const cli_common *common, const char *label, const char *unit, uint64_t total);

/* Says that there is no such command, and which one may be meant. Returns EXIT_USAGE. */
int cli_unknown_command(int count, char **words);

/* help.c: one command as text, as a manual page, as Markdown; and the list of all commands. */
void help_text(FILE *out, const cli_command *command);
void help_man(FILE *out, const cli_command *command);
void help_markdown(FILE *out, const cli_command *command);
void help_overview(FILE *out);
void help_man_overview(FILE *out);
void help_names(FILE *out);                   /* one per line, for scripts */
int help_family(FILE *out, const char *word); /* the commands that begin with the word; 0: there are none */

/* The command that the words name (the longest match), and how many words it took; NULL when there is none. */
const cli_command *cli_find(int count, char **words, int *used);

#endif
