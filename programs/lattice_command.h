/* What the commands `trellis lattice …` share: the table of words, a walk over archives, how paths are weighed, and writing. */
#ifndef TRELLIS_LATTICE_COMMAND_H
#define TRELLIS_LATTICE_COMMAND_H

#include "cli.h"

#include <trellis/lattice_file.h>

typedef struct lattice_values {
    cli_common common;
    const char *words, *output;
    double lm_scale, word_penalty;
} lattice_values;

#define LATTICE_DEFAULTS \
    {                    \
        .lm_scale = 10   \
    }
#define LATTICE_WORDS(type, member)                                             \
    {                                                                           \
        "words", 'w', CLI_TEXT, offsetof(type, member.words), "FILE",           \
            "names of the words' labels: a table (words.txt) or a graph (.trg)" \
    }
#define LATTICE_OUTPUT(type, member)                                                                  \
    {                                                                                                 \
        "output", 'o', CLI_TEXT, offsetof(type, member.output), "PLACE",                              \
            "where to write: a file, or a format and a name (see Places); standard output by default" \
    }
#define LATTICE_SCALES(type, member)                                                    \
    {"lm-scale", 0,                                                                     \
     CLI_NUMBER, offsetof(type, member.lm_scale),                                       \
     "X",        "weight of the graph's costs against the acoustic ones (default 10)"}, \
    {                                                                                   \
        "word-penalty", 0, CLI_NUMBER, offsetof(type, member.word_penalty), "COST",     \
            "cost of every word (default 0); may be negative"                           \
    }

/* Paragraphs of descriptions. */
#define LATTICE_INPUT                                                                                             \
    "LATTICES are Kaldi archives, compact or plain, text or binary, packed by gzip or not; - is standard input. " \
    "Costs in them count as not scaled, as Kaldi writes them."
#define LATTICE_WEIGHING                                                                                               \
    "A path costs its acoustic cost / --lm-scale, plus its graph cost, plus --word-penalty for each word: as trellis " \
    "decode weighs them."
#define LATTICE_PLACES                                                                               \
    "Places (-o):\n\n"                                                                               \
    "  FILE, ark:FILE     a Kaldi archive of compact lattices, binary\n"                             \
    "  ark,t:FILE         the same as text\n"                                                        \
    "  lattice:FILE       a Kaldi archive of plain lattices: an arc per frame; lattice,t: text\n"    \
    "  fst:FOLDER         an OpenFst machine for each utterance, ID.fst: words, and what a path\n"   \
    "                     costs as a tropical weight\n"                                              \
    "  fst,t:FOLDER       the same as text, ID.txt, with the costs of graph and sound as a pair\n\n" \
    "Archives have words and transitions as numbers."

/* Checks the scales. Returns 0 or EXIT_USAGE. */
int lattice_scale(const cli_command *command, const lattice_values *values, trl_lattice_scale *scale);

/* The table of --words; NULL without it. A graph is told by its ending. */
int lattice_words_are_graph(const lattice_values *values);
int lattice_words(const lattice_values *values, trl_symbols **words, trl_error *err);

/* Calls `use` with every lattice of the archives, in order; the lattice is the walk's. */
typedef int (*lattice_fn)(void *user, const char *id, const trl_lattice *lattice, trl_error *err);
int lattice_each(char **places, int count, trl_symbols *words, lattice_fn use, void *user, trl_error *err);

/* Refuses to write numbers to a terminal; then opens. Returns 0 or an exit code, having spoken. */
int lattice_open_output(const cli_command *command, const lattice_values *values, const trl_lattice_scale *scale,
                        trl_lattice_writer **writer);

#endif
