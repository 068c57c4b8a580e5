#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <trellis/device.h>
#include <trellis/file.h>
#include <trellis/log.h>
#include <unistd.h>

#define LONGEST_LINE 200 /* bytes, of a text that is shown */

const cli_option cli_common_options[] = {
    {"threads", 't', CLI_INT, offsetof(cli_common, threads), "N",
     "threads to use; 0, the default, means one per core. Results do not depend on it"},
    {"quiet", 'q', CLI_FLAG, offsetof(cli_common, quiet), NULL, "no progress and no remarks; errors and results only"},
    {"help", 'h', CLI_FLAG, offsetof(cli_common, help), NULL, "this text"},
    {0}};

int cli_usage_error(const cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "trellis %s: ", command->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\ntry: trellis %s --help\n", command->name);
    va_end(args);
    return EXIT_USAGE;
}

int cli_choose(const cli_command *command, const char *option, const char *given, const char *const *names, int *value)
{
    if (!given)
        return 0;
    char all[200] = "";
    for (int i = 0; names[i]; i++) {
        if (strcmp(given, names[i]) == 0) {
            *value = i;
            return 0;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
    }
    return cli_usage_error(command, "--%s is one of %s, not '%s'", option, all, given);
}

static const char *running = ""; /* the command's name, which tells where in a pipe something failed */

int cli_failure(const trl_error *err)
{
    fprintf(stderr, "trellis %s: %s\n", running, err->text);
    return EXIT_FAILED;
}

int cli_refused(const cli_command *command, const trl_error *err)
{
    return err->code == TRL_ENOMEM ? cli_failure(err) : cli_usage_error(command, "%s", err->text);
}

void cli_out_of_memory(void)
{
    exit(cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"}));
}

int cli_no_terminal(const cli_command *command, const char *output)
{
    if ((output && strcmp(output, "-") != 0) || !isatty(STDOUT_FILENO))
        return 0;
    return cli_usage_error(command, "the result is binary, and this is a terminal; -o FILE says where it goes, "
                                    "`| trellis fst print` shows it");
}

int cli_error(trl_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

int cli_error_in(trl_error *err, int code, const char *file)
{
    if (code >= 0 || code == TRL_ENOMEM || strstr(err->text, file))
        return code;
    trl_error before = *err;
    return cli_error(err, code, "%.300s: %.690s", file, before.text);
}

void cli_say(const cli_common *common, const char *format, ...)
{
    if (common->quiet)
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int cli_save(const char *path, const void *bytes, size_t size, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    code = trl_file_write(file, bytes, size, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

int cli_is_plain_file(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

int cli_check_output(const char *path, trl_error *err)
{
    struct stat status;
    trl_file *file;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return 0; /* opening a pipe would be seen at its other end */
    int code = trl_file_create(path, &file, err);
    if (code == 0)
        trl_file_abort(file);
    return code;
}

char *cli_with_ending(const char *path, const char *ending)
{
    size_t size = strlen(path) + strlen(ending) + 1;
    char *text = malloc(size);
    if (!text)
        cli_out_of_memory();
    snprintf(text, size, "%s%s", path, ending);
    return text;
}

/* Cut at a blank; what is behind is said in words. */
static void cut_line(FILE *out, const char *line, size_t length)
{
    size_t kept = length > LONGEST_LINE ? LONGEST_LINE / 2 : length, words = 0;
    while (kept < length && line[kept] != ' ')
        kept++;
    for (size_t i = kept; i < length; i++)
        words += line[i] == ' ';
    fwrite(line, 1, kept, out);
    if (words > 0)
        fprintf(out, " … and %zu more", words);
}

char *cli_cut_lines(const char *text)
{
    char *copy = NULL;
    size_t size;
    FILE *out = cli_text_open(&copy, &size);
    while (*text) {
        size_t length = strcspn(text, "\n");
        cut_line(out, text, length);
        text += length;
        if (*text == '\n')
            fputc(*text++, out);
    }
    cli_text_close(out);
    return copy;
}

int cli_pool(const cli_common *common, trl_pool **pool)
{
    trl_error err;
    return trl_pool_create(common->threads, pool, &err) < 0 ? cli_failure(&err) : 0;
}

static void write_stderr(void *user, const char *text, size_t length)
{
    (void)user;
    fwrite(text, 1, length, stderr);
    fflush(stderr);
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

trl_progress *cli_progress(const cli_common *common, const char *label, const char *unit, uint64_t total)
{
    if (common->quiet)
        return NULL;
    trl_progress_options o = trl_progress_defaults();
    o.label = label;
    o.unit = unit;
    o.total = total;
    o.bar = isatty(STDERR_FILENO);
    o.width = terminal_width();
    o.write = write_stderr;
    trl_progress *progress;
    return trl_progress_create(&o, &progress, NULL) == 0 ? progress : NULL;
}

/* Letters by which two names differ: deletions, insertions, replacements, and neighbours that changed places. */
#define NAME_SIZE 64
static size_t edit_distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    uint8_t d[NAME_SIZE][NAME_SIZE];
    if (m >= NAME_SIZE || n >= NAME_SIZE)
        return NAME_SIZE;
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            size_t best = i == 0 || j == 0 ? i + j : d[i - 1][j - 1] + (size_t)(a[i - 1] != b[j - 1]);
            if (i > 0 && d[i - 1][j] + 1u < best)
                best = d[i - 1][j] + 1u;
            if (j > 0 && d[i][j - 1] + 1u < best)
                best = d[i][j - 1] + 1u;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1u < best)
                best = d[i - 2][j - 2] + 1u;
            d[i][j] = (uint8_t)best;
        }
    return d[m][n];
}

static const cli_option *next_option(const cli_command *command, const cli_option *option)
{
    do {
        if (!option)
            option = command->options && command->options->name ? command->options : cli_common_options;
        else if ((++option)->name == NULL &&
                 option != &cli_common_options[sizeof cli_common_options / sizeof *cli_common_options - 1])
            option = cli_common_options;
    } while (option->name && option->kind == CLI_GROUP);
    return option->name ? option : NULL;
}

/* Names with underscores for dashes are the same, so that options of OpenFst's tools can be typed as there. */
static int same_name(const char *typed, size_t length, const char *name)
{
    size_t i = 0;
    while (i < length && name[i] && (typed[i] == '_' ? '-' : typed[i]) == name[i])
        i++;
    return i == length && name[i] == '\0';
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t length, char letter)
{
    for (const cli_option *o = next_option(command, NULL); o; o = next_option(command, o))
        if (name ? same_name(name, length, o->name) : o->letter == letter)
            return o;
    return NULL;
}

static int unknown_option(const cli_command *command, const char *word)
{
    const char *best = NULL;
    size_t best_distance = 3;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const cli_option *o = next_option(command, NULL); o; o = next_option(command, o))
        if (word[1] == '-' && edit_distance(name, o->name) < best_distance) {
            best = o->name;
            best_distance = edit_distance(name, o->name);
        }
    if (best)
        return cli_usage_error(command, "there is no option %s; did you mean --%s?", word, best);
    return cli_usage_error(command, "there is no option %s", word);
}

static int store(const cli_command *command, const cli_option *option, void *values, const char *text)
{
    char *place = (char *)values + option->offset, *end;
    errno = 0;
    switch (option->kind) {
    case CLI_FLAG: *(int *)(void *)place = 1; return 0;
    case CLI_TEXT: *(const char **)(void *)place = text; return 0;
    case CLI_DEVICE: {
        trl_error err;
        *(const char **)(void *)place = text;
        if (trl_device_check_name(text, &err) == 0)
            return 0;
        return err.code == TRL_ENOMEM ? cli_failure(&err)
                                      : cli_usage_error(command, "--%s: %s", option->name, err.text);
    }
    case CLI_LIST: {
        cli_list *list = (cli_list *)(void *)place;
        if (list->count == CLI_LIST_MOST)
            return cli_usage_error(command, "--%s: at most %d times", option->name, CLI_LIST_MOST);
        list->items[list->count++] = text;
        return 0;
    }
    case CLI_INT: {
        long value = strtol(text, &end, 10);
        if (end == text || *end || errno || value < -2147483647L || value > 2147483647L)
            return cli_usage_error(command, "--%s takes a whole number, not '%s'", option->name, text);
        *(int *)(void *)place = (int)value;
        return 0;
    }
    case CLI_NUMBER: {
        double value = strtod(text, &end);
        if (end == text || *end || !isfinite(value))
            return cli_usage_error(command, "--%s takes a number, not '%s'", option->name, text);
        *(double *)(void *)place = value;
        return 0;
    }
    case CLI_GROUP: break; /* is never found */
    }
    return EXIT_USAGE;
}

/* One word that starts with a dash; *next is the word after it, taken when the option needs an argument. */
static int parse_option(const cli_command *command, char *word, char ***next, void *values)
{
    const cli_option *option;
    const char *text = NULL;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_option(command, word + 2, length, 0);
        if (word[2 + length] == '=')
            text = word + 2 + length + 1;
    } else {
        option = find_option(command, NULL, 0, word[1]);
        if (word[2])
            text = word + 2;
    }
    if (!option)
        return unknown_option(command, word);
    if (option->kind == CLI_FLAG && text)
        return cli_usage_error(command, "--%s takes no argument", option->name);
    if (option->kind != CLI_FLAG && !text) {
        const char *after = **next;
        int is_number = option->kind == CLI_INT || option->kind == CLI_NUMBER; /* may begin with a minus */
        if (!after || (!is_number && after[0] == '-' && after[1]))
            return cli_usage_error(command, "--%s needs an argument: %s%s", option->name, option->argument,
                                   after ? " (one that begins with a dash: --option=-…)" : "");
        text = *(*next)++;
    }
    return store(command, option, values, text);
}

static void log_to_stderr(void *user, trl_log_level level, const char *text)
{
    (void)user;
    fprintf(stderr, "trellis: %s%s\n", level == TRL_LOG_WARNING ? "warning: " : "", text);
}

int cli_run(const cli_command *command, int argc, char **argv)
{
    void *values = calloc(1, command->values_size);
    char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    int count = 0, code = 0, options_end = 0;
    running = command->name;
    if (!values || !arguments)
        code = cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"});
    else if (command->defaults)
        memcpy(values, command->defaults, command->values_size);
    for (char **next = argv; code == 0 && *next;) {
        char *word = *next++;
        if (!options_end && strcmp(word, "--") == 0)
            options_end = 1;
        else if (!options_end && word[0] == '-' && word[1])
            code = parse_option(command, word, &next, values);
        else
            arguments[count++] = word;
    }
    trl_log_set(code == 0 && ((cli_common *)values)->quiet ? TRL_LOG_WARNING : TRL_LOG_INFO, log_to_stderr, NULL);
    if (code == 0 && ((cli_common *)values)->help)
        help_text(stdout, command);
    else if (code == 0 && ((cli_common *)values)->threads < 0)
        code = cli_usage_error(command, "--threads takes a number from 0 up");
    else if (code == 0 && count < command->least)
        code = cli_usage_error(command, "%s: usage: trellis %s %s", count ? "arguments are missing" : "no arguments",
                               command->name, command->synopsis);
    else if (code == 0 && count > command->most)
        code = cli_usage_error(command, "one argument too many: '%s'", arguments[command->most]);
    else if (code == 0) {
        trl_file_protect_inputs(1);
        code = command->run(values, count, arguments);
    }
    free(arguments);
    free(values);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "trellis: writing to standard output failed: the results are incomplete\n");
        code = EXIT_FAILED;
    }
    return code;
}

/* Is the command called by these words? Returns how many of them make its name, or 0. */
static int match_words(const cli_command *command, int count, char **words)
{
    const char *rest = command->name;
    int used = 0;
    while (*rest) {
        size_t length = strcspn(rest, " ");
        if (used >= count || strlen(words[used]) != length || strncmp(words[used], rest, length) != 0)
            return 0;
        used++;
        rest += length + (rest[length] == ' ');
    }
    return used;
}

const cli_command *cli_find(int count, char **words, int *used)
{
    const cli_command *found = NULL;
    *used = 0;
    for (const cli_command *const *c = cli_commands; *c; c++) {
        int words_used = match_words(*c, count, words);
        if (words_used > *used) {
            *used = words_used;
            found = *c;
        }
    }
    return found;
}

/* How far what was typed is from a command's name: letters that differ, unless it is the beginning (1) or a part (2) of the name; of
 * two words, this is asked of the second. Names whose first word is right are near in any case. */
enum { BEGINS = 1, PART = 2, LAST_RESORT = 3, MOST_SUGGESTED = 4 };
static size_t command_distance(const char *name, int count, char **words)
{
    const char *blank = strchr(name, ' '), *second = blank && count > 1 ? words[1] : "";
    char typed[NAME_SIZE];
    snprintf(typed, sizeof typed, "%s%s%s", words[0], blank ? " " : "", second);
    size_t distance = edit_distance(typed, name), first = blank ? (size_t)(blank - name) : 0;
    int family = first && strlen(words[0]) == first && strncmp(words[0], name, first) == 0;
    const char *wanted = blank ? second : words[0], *own = blank ? blank + 1 : name;
    if ((!blank || family) && strlen(wanted) > 1 && strncmp(own, wanted, strlen(wanted)) == 0 && distance > BEGINS)
        return BEGINS;
    if ((!blank || family) && strlen(wanted) > 2 && strstr(own, wanted) && distance > PART)
        return PART;
    return distance < LAST_RESORT ? distance : family ? LAST_RESORT : LAST_RESORT + 1;
}

/* The nearest names. Returns 0 where there are none, or too many to be of use. */
static int suggest(size_t distance, int count, char **words)
{
    const char *names[MOST_SUGGESTED];
    int found = 0;
    for (const cli_command *const *c = cli_commands; *c; c++)
        if (!(*c)->hidden && command_distance((*c)->name, count, words) == distance && found++ < MOST_SUGGESTED)
            names[found - 1] = (*c)->name;
    if (distance >= LAST_RESORT || found > MOST_SUGGESTED)
        return 0;
    for (int i = 0; i < found; i++)
        fprintf(stderr, "%s'%s'", i == 0 ? "; did you mean " : i == found - 1 ? " or " : ", ", names[i]);
    fputc('?', stderr);
    return 1;
}

int cli_unknown_command(int count, char **words)
{
    int asks = count == 2 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0);
    if (asks && help_family(stdout, words[0]))
        return EXIT_CLEAN;
    size_t nearest = LAST_RESORT + 1;
    int two = 0; /* are two words meant? */
    for (const cli_command *const *c = cli_commands; *c; c++) {
        size_t distance = command_distance((*c)->name, count, words);
        if (!(*c)->hidden && distance < nearest) {
            nearest = distance;
            two = strchr((*c)->name, ' ') && count > 1;
        }
    }
    if (count == 1 && help_family(stderr, words[0]))
        return EXIT_USAGE;
    fprintf(stderr, "trellis: there is no command '%s%s%s'", words[0], two ? " " : "", two ? words[1] : "");
    int suggested = suggest(nearest, count, words);
    fputc('\n', stderr);
    if (suggested || !help_family(stderr, words[0]))
        fputs("try: trellis help\n", stderr);
    return EXIT_USAGE;
}
