/* How commands read a corpus: the options they share, and what they say about utterances that can't be used. */
#ifndef TRELLIS_CORPUS_INPUT_H
#define TRELLIS_CORPUS_INPUT_H

#include "cli.h"

#include <trellis/align.h>

typedef struct corpus_input {
    const char *format, *channel, *mlf, *replace;
    int skip_bad, fold_case, as_is;
} corpus_input;

/* The options, for a struct of values with a corpus_input member of this name: of every corpus, of one whose sound is
 * used, and of one whose words are. */
#define CORPUS_FORMAT_OPTION(type, member)                                  \
    {                                                                       \
        "format", 'f', CLI_TEXT, offsetof(type, member.format), "NAME",     \
            "of the corpus: auto (default), kaldi, folder, manifest, sound" \
    }
#define CORPUS_SOUND_OPTIONS(type, member)                                                                          \
    {                                                                                                               \
        "channel", 0,                                                                                               \
        CLI_TEXT,  offsetof(type, member.channel),                                                                  \
        "N",       "channel of stereo sound, from 0 (default), or mix"},                                            \
    {                                                                                                               \
        "skip-bad", 0, CLI_FLAG, offsetof(type, member.skip_bad), NULL,                                             \
            "go on past utterances that can't be used; they are named at the end and in a list beside the output, " \
            "and the exit code is 1"                                                                                \
    }
#define CORPUS_WORD_OPTIONS(type, member)                                                             \
    {"mlf",    0,                                                                                     \
     CLI_TEXT, offsetof(type, member.mlf),                                                            \
     "FILE",   "HTK master label file that has the words, in place of the corpus's own transcripts"}, \
        {"as-is",  0,                                                                                 \
         CLI_FLAG, offsetof(type, member.as_is),                                                      \
         NULL,     "look for words in the lexicon exactly as they are written"},                      \
        {"replace", 0,                                                                                \
         CLI_TEXT,  offsetof(type, member.replace),                                                   \
         "FILE",    "how written words are spoken: lines WRITTEN, a tab, SPOKEN words"},              \
    {                                                                                                 \
        "fold-case", 0, CLI_FLAG, offsetof(type, member.fold_case), NULL,                             \
            "a word that the lexicon lacks is looked for in other capitals: hello finds HELLO"        \
    }

/* What the options mean for reading; channel may be NULL. Returns 0 or EXIT_USAGE. */
int corpus_input_parse(const cli_command *command, const corpus_input *input, trl_corpus_options *options,
                       int *channel);

/* The lexicon, with the case of its words folded where that is wanted. Returns 0 or an exit code. */
int corpus_input_lexicon(const corpus_input *input, const char *path, trl_findings *findings, trl_lexicon **lexicon);

/* Of the commands that take likelihoods from a file; the member is `subsampling`. */
#define SUBSAMPLING_OPTION(type)                                                                                \
    {                                                                                                           \
        "subsampling", 0, CLI_INT, offsetof(type, subsampling), "K",                                            \
            "a row of --likelihoods stands for K of the model's frames, as of networks that write every third " \
            "(default 1)"                                                                                       \
    }
#define LIKELIHOODS_DESCRIPTION                                                                                    \
    "With --likelihoods the sound is not read, but where it is there its length is compared: a matrix with other " \
    "rows than the sound has room for is an error that has both lengths. Two rows may be missing and one may be "  \
    "too many, since networks differ at the ends. With --subsampling K, row t (from 0) stands for the K frames "   \
    "from K t on and begins where they do.\n\n"

/* A paragraph of a command's description. */
#define TEXTS_DESCRIPTION                                                                                              \
    "Texts are taken as people write them. A word that the lexicon has as it is written stays. Of others, the marks "  \
    "around them are taken off, apostrophes and hyphens of all kinds become ' and -, capitals small, as far as it "    \
    "takes to find a word of the lexicon; what is not found is cut at dashes, and at hyphens and apostrophes into "    \
    "words that the lexicon has: twenty one, it 's, l' homme. Marks alone are no words. What stands in [] <> {}, and " \
    "a single word in (), is a noise and stays as it is. --replace says how numbers and the like are spoken; --as-is " \
    "changes nothing."

/* Makes the corpus's transcripts words of the lexicon, unless they are to be taken as they are, and says what was
 * changed. Transcripts without words end the command as those of corpus_input_read do. Returns 0 or an exit code. */
int corpus_input_words(const cli_common *common, const corpus_input *input, const trl_lexicon *lexicon,
                       trl_findings *findings, trl_corpus *corpus);

/* What becomes of words that the lexicon lacks: a struct of values with an oov_input member of this name. */
typedef struct oov_input {
    const char *choice, *list;
} oov_input;

#define OOV_OPTIONS(type, member)                                                                                  \
    {"oov",    0,                                                                                                  \
     CLI_TEXT, offsetof(type, member.choice),                                                                      \
     "CHOICE", "words that the lexicon lacks: auto (default), noise, skip (leave out their utterances) or fail"},  \
    {                                                                                                              \
        "oov-list", 0, CLI_TEXT, offsetof(type, member.list), "FILE",                                              \
            "write these words: each with how often it occurs, and the first utterance that has it (tabs between)" \
    }

/* Pieces of a command's description. */
#define LEXICON_DESCRIPTION \
    "LEXICON may be several, with commas between, each of which adds its pronunciations: en-us,mine.dict. "
#define OOV_DESCRIPTION                                                                                            \
    LEXICON_DESCRIPTION                                                                                            \
    "A word that the LEXICON lacks is a word of unknown pronunciation: the model's unit for spoken noise stands "  \
    "for "                                                                                                         \
    "it (SPN of models that trellis trains; in others a noise called SPN, +SPN+, <unk> or garbage, else the "      \
    "first "                                                                                                       \
    "noise). How many there are, and which are the most frequent, is said at the start; --oov-list writes all. "   \
    "With a model that has no such unit, their utterances are left out. Where more than half of 20 or more words " \
    "are unknown, it is rather the wrong lexicon, which is an error, unless --oov noise is given."

int oov_input_parse(const cli_command *command, const oov_input *input, int *choice); /* 0 or EXIT_USAGE */

/* Says at the start what was found and what becomes of it, and writes the list. `code`, `error`: what the search for
 * unknown words returned. Returns 0 or an exit code. */
int oov_input_say(const cli_common *common, const oov_input *input, const trl_findings *words,
                  const trl_unknown_summary *summary, int code, const trl_error *error);

/* Both: of the corpus, or of one utterance (only; NULL: all), with this model (NULL: a new one). */
int oov_input_find(const cli_common *common, const oov_input *input, const trl_model *model, const trl_lexicon *lexicon,
                   const trl_corpus *corpus, int choice, const char *only);

/* Reads the corpus; without skip_bad, fatal findings are shown (the first ones) and end the command. Returns 0 or an
 * exit code. */
int corpus_input_read(const char *path, const trl_corpus_options *options, int skip_bad, trl_findings **findings,
                      trl_corpus **corpus);

/* One line: "file:line: utterance: what is wrong". */
void corpus_print_finding(FILE *out, const trl_finding *finding);

/* One line per fatal finding. At most `most`, then how many more. Returns how many
 * there are. */
size_t corpus_input_report(const trl_findings *findings, size_t most);

/* Is it about no utterance that was left out, but a thing to know? Such findings don't change the exit code. */
int corpus_is_warning(trl_finding_kind kind);

/* At the end of a command: what the library warns of, and the first of the transcripts that don't fit. Returns how many
 * misfits there are. */
size_t corpus_input_warn(const cli_common *common, const trl_findings *findings);

/* At the end of a command: how many utterances were skipped, the first reasons, also of what never became an
 * utterance, like a line without a sound file, and all of them in the list beside the output: DIR/skipped.tsv in a
 * folder, OUTPUT.skipped.tsv beside a file; none where the output is no file. An older list goes where nothing was
 * skipped. Returns an exit code, EXIT_CLEAN or EXIT_FINDINGS. */
int corpus_input_skipped(const trl_findings *findings, size_t skipped, const char *output);
int corpus_inputs_skipped(const trl_findings *const *lists, size_t count, size_t skipped, const char *output);

#endif
