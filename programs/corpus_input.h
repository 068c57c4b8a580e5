/* How commands read a corpus: the options they share, and what they say about utterances that can't be used. */
#ifndef TRELLIS_CORPUS_INPUT_H
#define TRELLIS_CORPUS_INPUT_H

#include "cli.h"

#include <trellis/corpus.h>

/* "auto", "kaldi", "folder", "manifest", "sound", or NULL for auto. Returns 0 or EXIT_USAGE. */
int corpus_format_parse(const cli_command *command, const char *name, trl_corpus_format *format);

/* "0", "1", … or "mix", or NULL for 0. Returns 0 or EXIT_USAGE. */
int corpus_channel_parse(const cli_command *command, const char *name, int *channel);

/* The option --mlf, for a command's table: `type` is its struct of values, `member` goes to trl_corpus_options.labels. */
#define CORPUS_MLF_OPTION(type, member)                                                          \
    {                                                                                            \
        "mlf", 0, CLI_TEXT, offsetof(type, member), "FILE",                                      \
            "HTK master label file that has the words, in place of the corpus's own transcripts" \
    }

/* Reads the corpus; without skip_bad, fatal findings are shown (the first ones) and end the command. Returns 0 or an
 * exit code. */
int corpus_input_read(const char *path, const trl_corpus_options *options, int skip_bad, trl_findings **findings,
                      trl_corpus **corpus);

/* One line: "file:line: utterance: what is wrong". */
void corpus_print_finding(FILE *out, const trl_finding *finding);

/* One line per fatal finding. At most `most`, then how many more. Returns how many
 * there are. */
size_t corpus_input_report(const trl_findings *findings, size_t most);

/* At the end of a command: how many utterances were skipped, and all fatal findings, also of what never became an utterance, like a
 * line without a sound file. Returns EXIT_CLEAN or EXIT_FINDINGS. */
int corpus_input_skipped(const trl_findings *findings, size_t skipped);

#endif
