/* What the commands of the back-off acoustic model share: their options, and how counts are printed. */
#ifndef TRELLIS_BAM_COMMAND_H
#define TRELLIS_BAM_COMMAND_H

#include "cli.h"
#include "corpus_input.h"

#include <trellis/bam_rescore.h>

typedef struct bam_mapping {
    int order, no_boundaries, seed;
} bam_mapping;

typedef struct bam_estimation {
    int least, most, iterations;
    double alpha, beta, floor;
} bam_estimation;

#define BAM_MAPPING_DEFAULTS  \
    {                         \
        .order = 3, .seed = 1 \
    }
#define BAM_ESTIMATION_DEFAULTS                                                                  \
    {                                                                                            \
        .least = 4000, .most = 256000, .iterations = 4, .alpha = 0.3, .beta = 2.2, .floor = 1e-5 \
    }

#define BAM_MAPPING_OPTIONS(type, member)                                                                            \
    {"order", 'm', CLI_INT, offsetof(type, member.order), "M", "most symbols on either side (default 3, up to 15)"}, \
        {"no-boundaries",                                                                                            \
         0,                                                                                                          \
         CLI_FLAG,                                                                                                   \
         offsetof(type, member.no_boundaries),                                                                       \
         NULL,                                                                                                       \
         "contexts of phones alone; as a rule word boundaries have places of their own"},                            \
    {                                                                                                                \
        "seed", 0, CLI_INT, offsetof(type, member.seed), "N", "of the sample of frames (default 1)"                  \
    }
#define BAM_ESTIMATION_OPTIONS(type, member)                                                                         \
    {                                                                                                                \
        "min-frames", 0,                                                                                             \
        CLI_INT,      offsetof(type, member.least),                                                                  \
        "N",          "M-phones with fewer get no mixture (default 4000)"},                                          \
        {"max-frames", 0,                                                                                            \
         CLI_INT,      offsetof(type, member.most),                                                                  \
         "N",          "of more, a sample of so many is used (default 256000)"},                                     \
        {"alpha",    0,                                                                                              \
         CLI_NUMBER, offsetof(type, member.alpha),                                                                   \
         "A",        "a mixture of n frames has B n^A Gaussians (default 0.3)"},                                     \
        {"beta", 0, CLI_NUMBER, offsetof(type, member.beta), "B", "see --alpha (default 2.2)"},                      \
        {"variance-floor", 0, CLI_NUMBER, offsetof(type, member.floor), "V", "no variance is below (default 1e-5)"}, \
    {                                                                                                                \
        "iterations", 0, CLI_INT, offsetof(type, member.iterations), "N", "at each size of a mixture (default 4)"    \
    }

/* Either may be NULL. Returns 0 or EXIT_USAGE. */
int bam_options(const cli_command *command, const bam_mapping *mapping, const bam_estimation *estimation,
                trl_bam_options *options);

/* The paper's Tables V and VI: a row per left context size, a column per right one. what 0: Gaussians, 1: M-phones. */
void bam_print_table(FILE *out, const trl_bam_counts *counts, int order, int what);

#define BAM_WEIGHT_DEFAULTS                           \
    {                                                 \
        .lambda = 0.6, .back_off = 0, .lm_weight = 10 \
    }
#define BAM_WEIGHT_OPTIONS(type, member)                                                                            \
    {"lambda", 0, CLI_NUMBER, offsetof(type, member.lambda), "L", "share of the first pass's score (default 0.6)"}, \
        {"back-off", 0,                                                                                             \
         CLI_NUMBER, offsetof(type, member.back_off),                                                               \
         "F",        "cost of every frame for each order that the M-phone found lacks (default 0)"},                \
    {                                                                                                               \
        "lm-weight", 0, CLI_NUMBER, offsetof(type, member.lm_weight), "W",                                          \
            "acoustic scores are divided by it (default 10)"                                                        \
    }

int bam_check_weights(const cli_command *command, const trl_bam_weights *weights); /* 0 or EXIT_USAGE */

/* What a mapper needs, from MODEL CORPUS LEXICON; freed whatever was read. */
typedef struct bam_corpus {
    corpus_input input;
    oov_input oov;
    const char *device;
    double beam;
    int no_adapt;
    int no_text;     /* transcripts are not needed */
    int part, parts; /* as in corpus.h */
} bam_corpus;

#define BAM_CORPUS_DEFAULTS \
    {                       \
        .beam = 400         \
    }
#define BAM_CORPUS_DEFAULTS_NO_TEXT \
    {                               \
        .beam = 400, .no_text = 1   \
    }
#define BAM_CORPUS_OPTIONS(type, member)                                                                \
    OOV_OPTIONS(type, member.oov),                                                                      \
        {"beam", 0, CLI_NUMBER, offsetof(type, member.beam), "NATS", "of the alignment (default 400)"}, \
        {"no-adapt", 0,                                                                                 \
         CLI_FLAG,   offsetof(type, member.no_adapt),                                                   \
         NULL,       "don't adapt to speakers, though the model could"},                                \
        CORPUS_FORMAT_OPTION(type, member.input), CORPUS_SOUND_OPTIONS(type, member.input),             \
        CORPUS_WORD_OPTIONS(type, member.input)

typedef struct bam_inputs {
    trl_model *model;
    trl_lexicon *lexicon;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_pool *pool;
    trl_align_options aligning;
} bam_inputs;

/* Returns 0 or an exit code. */
int bam_inputs_read(const cli_command *command, const cli_common *common, const bam_corpus *values, char **arguments,
                    bam_inputs *inputs);
/* At the end: what the library warns of, and what was left out, by name. Returns EXIT_CLEAN or EXIT_FINDINGS. */
int bam_inputs_skipped(const cli_common *common, const bam_inputs *inputs, size_t skipped, const char *output);
void bam_inputs_free(bam_inputs *inputs);

#endif
