/* Help, manual pages and Markdown, all from the table of commands. */
#include "cli.h"

#include <ctype.h>
#include <string.h>
#include <trellis/version.h>

#define WIDTH 100

static const char *const exit_codes[][2] = {
    {"0", "done, nothing to complain about"},
    {"1", "done, with findings (corpus check) or skipped utterances; or the answer is no (fst equal)"},
    {"2", "the command line is wrong"},
    {"3", "failed; the message says what, where and what to do"},
};

/* Breaks running text at blanks; every line starts with `indent` blanks, the first one continues at `column`. */
static void wrap(FILE *out, const char *text, size_t length, int indent, int column)
{
    const char *end = text + length;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && !isspace((unsigned char)text[word]))
            word++;
        if (column > indent && column + 1 + (int)word > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += (int)word;
        text += word;
        while (text < end && isspace((unsigned char)*text))
            text++;
    }
    fputc('\n', out);
}

/* Calls `each` for every paragraph; kept = 1 for one that starts with a blank. */
static void paragraphs(FILE *out, const char *text, void (*each)(FILE *, const char *, size_t, int kept))
{
    while (text && *text) {
        const char *gap = strstr(text, "\n\n");
        size_t length = gap ? (size_t)(gap - text) : strlen(text);
        while (length > 0 && text[length - 1] == '\n')
            length--;
        if (length > 0)
            each(out, text, length, text[0] == ' ');
        text = gap ? gap + 2 : text + strlen(text);
    }
}

static void option_heading(char *text, size_t size, const cli_option *o)
{
    char letter[8] = "";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(text, size, "%s--%s%s%s", letter, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
}

static void text_paragraph(FILE *out, const char *text, size_t length, int kept)
{
    fputc('\n', out);
    if (kept)
        fprintf(out, "%.*s\n", (int)length, text);
    else
        wrap(out, text, length, 0, 0);
}

static void text_options(FILE *out, const cli_option *options)
{
    for (const cli_option *o = options; o && o->name; o++) {
        char heading[80];
        if (o->kind == CLI_GROUP) {
            fprintf(out, "\n%s:\n", o->name);
            continue;
        }
        option_heading(heading, sizeof heading, o);
        fprintf(out, "  %-26s", heading);
        if (strlen(heading) >= 26)
            fprintf(out, "\n%28s", "");
        wrap(out, o->help, strlen(o->help), 28, 28);
    }
}

void help_text(FILE *out, const cli_command *command)
{
    fprintf(out, "trellis %s - %s\n\nusage: trellis %s%s%s\n", command->name, command->summary, command->name,
            *command->synopsis ? " " : "", command->synopsis);
    paragraphs(out, command->description, text_paragraph);
    fprintf(out, "\nOptions:\n");
    text_options(out, command->options);
    text_options(out, cli_common_options);
    if (command->more)
        paragraphs(out, command->more(), text_paragraph);
    if (command->examples)
        fprintf(out, "\nExamples:\n%s\n", command->examples);
    fprintf(out, "\nExit codes:\n");
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++)
        fprintf(out, "  %s  %s\n", exit_codes[i][0], exit_codes[i][1]);
}

/* roff: a dash that is an option's must be escaped, a dot or quote at the start of a line too. */
static void man_write(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((i == 0 || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void man_paragraph(FILE *out, const char *text, size_t length, int kept)
{
    fputs(kept ? ".PP\n.nf\n" : ".PP\n", out);
    man_write(out, text, length);
    fputs(kept ? "\n.fi\n" : "\n", out);
}

static void man_options(FILE *out, const cli_option *options)
{
    for (const cli_option *o = options; o && o->name; o++) {
        char heading[80];
        if (o->kind == CLI_GROUP) {
            fprintf(out, ".SS %s\n", o->name);
            continue;
        }
        option_heading(heading, sizeof heading, o);
        fputs(".TP\n.B ", out);
        man_write(out, heading, strlen(heading));
        fputc('\n', out);
        man_write(out, o->help, strlen(o->help));
        fputc('\n', out);
    }
}

static void man_heading(FILE *out, const char *name, const char *summary)
{
    char title[64];
    size_t i = 0;
    for (; name[i] && i < sizeof title - 1; i++)
        title[i] = name[i] == ' ' ? '-' : name[i];
    title[i] = '\0';
    const char *dash = *title ? "-" : "";
    fprintf(out, ".TH trellis%s%s 1 \"\" \"trellis %s\" \"trellis\"\n.SH NAME\ntrellis%s%s \\- ", dash, title,
            trl_version(), dash, title);
    man_write(out, summary, strlen(summary));
    fputc('\n', out);
}

static void man_exit_codes(FILE *out)
{
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++)
        fprintf(out, ".TP\n.B %s\n%s\n", exit_codes[i][0], exit_codes[i][1]);
}

void help_man(FILE *out, const cli_command *command)
{
    man_heading(out, command->name, command->summary);
    fprintf(out, ".SH SYNOPSIS\n.B trellis %s\n", command->name);
    if (*command->synopsis) {
        man_write(out, command->synopsis, strlen(command->synopsis));
        fputc('\n', out);
    }
    fputs(".SH DESCRIPTION\n", out);
    paragraphs(out, command->description, man_paragraph);
    fputs(".SH OPTIONS\n", out);
    man_options(out, command->options);
    man_options(out, cli_common_options);
    if (command->more)
        paragraphs(out, command->more(), man_paragraph);
    if (command->examples) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        man_write(out, command->examples, strlen(command->examples));
        fputs("\n.fi\n", out);
    }
    man_exit_codes(out);
    fputs(".SH SEE ALSO\n.BR trellis (1)\n", out);
}

static void markdown_paragraph(FILE *out, const char *text, size_t length, int kept)
{
    fprintf(out, kept ? "\n```text\n%.*s\n```\n" : "\n%.*s\n", (int)length, text);
}

/* A table cell: a bar would end it. */
static void markdown_cell(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static void markdown_table(FILE *out)
{
    fputs("\n| option | meaning |\n|---|---|\n", out);
}

static void markdown_options(FILE *out, const cli_option *options)
{
    for (const cli_option *o = options; o && o->name; o++) {
        char heading[80];
        if (o->kind == CLI_GROUP) {
            fprintf(out, "\n### %s\n", o->name);
            markdown_table(out);
            continue;
        }
        option_heading(heading, sizeof heading, o);
        fputs("| `", out);
        markdown_cell(out, heading);
        fputs("` | ", out);
        markdown_cell(out, o->help);
        fputs(" |\n", out);
    }
}

void help_markdown(FILE *out, const cli_command *command)
{
    fprintf(out, "# trellis %s\n\n%c%s.\n\n```text\ntrellis %s%s%s\n```\n", command->name,
            toupper((unsigned char)command->summary[0]), command->summary + 1, command->name,
            *command->synopsis ? " " : "", command->synopsis);
    paragraphs(out, command->description, markdown_paragraph);
    fputs("\n## Options\n", out);
    markdown_table(out);
    markdown_options(out, command->options);
    markdown_options(out, cli_common_options);
    if (command->more)
        paragraphs(out, command->more(), markdown_paragraph);
    if (command->examples)
        fprintf(out, "\n## Examples\n\n```sh\n%s\n```\n", command->examples);
    fputs("\n## Exit codes\n\n| code | meaning |\n|---|---|\n", out);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++)
        fprintf(out, "| %s | %s |\n", exit_codes[i][0], exit_codes[i][1]);
}

/* Families of so many commands that the overview has one line for all. */
static const char *const families[][2] = {
    {"fst", "operations on weighted finite-state transducers; trellis help fst lists them"}};
#define FAMILIES (sizeof families / sizeof *families)

/* The family that the command belongs to, or -1. */
static int family_of(const cli_command *command)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        size_t length = strlen(families[i][0]);
        if (strncmp(command->name, families[i][0], length) == 0 && command->name[length] == ' ')
            return (int)i;
    }
    return -1;
}

int help_family(FILE *out, const char *word)
{
    size_t length = strlen(word);
    int found = 0;
    for (const cli_command *const *c = cli_commands; *c; c++)
        if (strncmp((*c)->name, word, length) == 0 && (*c)->name[length] == ' ') {
            if (found++ == 0)
                fprintf(out, "trellis %s is one of:\n", word);
            fprintf(out, "  trellis %-20s %s\n", (*c)->name, (*c)->summary);
        }
    return found;
}

void help_overview(FILE *out)
{
    fputs("trellis - recordings and transcripts into acoustic models, alignments and words\n\nusage: trellis COMMAND "
          "…\n\n",
          out);
    int family = -1;
    for (const cli_command *const *c = cli_commands; *c; c++) {
        int before = family;
        family = family_of(*c);
        if (family >= 0 && family != before)
            fprintf(out, "  %-16s %s\n", families[family][0], families[family][1]);
        else if (family < 0 && !(*c)->hidden)
            fprintf(out, "  %-16s %s\n", (*c)->name, (*c)->summary);
    }
    fputs("\ntrellis help COMMAND explains one of them.\n", out);
}

void help_man_overview(FILE *out)
{
    man_heading(out, "", "recordings and transcripts into acoustic models, alignments and words");
    fputs(".SH SYNOPSIS\n.B trellis\nCOMMAND ...\n.SH COMMANDS\n", out);
    for (const cli_command *const *c = cli_commands; *c; c++)
        if (!(*c)->hidden)
            fprintf(out, ".TP\n.B %s\n%s\n", (*c)->name, (*c)->summary);
    man_exit_codes(out);
    fputs(".SH ENVIRONMENT\n.TP\n.B TRELLIS_CPU\nforces an instruction set: ref, base or avx2\n", out);
}

void help_names(FILE *out)
{
    for (const cli_command *const *c = cli_commands; *c; c++)
        if (!(*c)->hidden)
            fprintf(out, "%s\n", (*c)->name);
}
