/* trellis bam map, sort, reduce, show: filters on streams of M-phones. */
#include "bam_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const cli_command cmd_bam_map, cmd_bam_reduce, cmd_bam_show, cmd_bam_sort;

/* ---- map ---- */

struct map_values {
    cli_common common;
    bam_corpus corpus;
    bam_mapping mapping;
    const char *output;
    int part, parts;
};

static int run_map(void *values, int count, char **arguments)
{
    const struct map_values *v = values;
    bam_corpus corpus = v->corpus;
    bam_inputs in = {0};
    trl_bam_options o;
    trl_bam_counts counts;
    trl_error err;
    (void)count;
    corpus.part = v->part > 0 ? v->part - 1 : 0;
    corpus.parts = v->parts;
    int code = bam_options(&cmd_bam_map, &v->mapping, NULL, &o);
    if (code == 0)
        code = cli_no_terminal(&cmd_bam_map, v->output);
    if (code == 0 && v->part == 0 && v->parts > 1)
        code = cli_usage_error(&cmd_bam_map, "which of the %d parts? --part is missing", v->parts);
    else if (code == 0 && (v->parts < 1 || v->part < 0 || v->part > v->parts))
        code = cli_usage_error(&cmd_bam_map, "--part %d of --parts %d can't be; parts count from 1", v->part, v->parts);
    if (code == 0)
        code = bam_inputs_read(&cmd_bam_map, &v->common, &corpus, arguments, &in);
    if (code == 0) {
        size_t passes = (size_t)trl_align_passes(in.model, &in.aligning);
        in.aligning.progress = cli_progress(&v->common, "mapping", "utt", trl_corpus_count(in.corpus) * passes);
        int failed = trl_bam_map(in.model, in.lexicon, in.corpus, &o, &in.aligning, in.pool, in.findings, v->output,
                                 &counts, &err);
        trl_progress_destroy(in.aligning.progress);
        code = failed < 0 ? cli_failure(&err) : 0;
    }
    if (code == 0) {
        cli_say(&v->common, "%" PRIu64 " utterances, %" PRIu64 " frames: %" PRIu64 " records, %.1f MB",
                counts.utterances, counts.frames, counts.records, (double)counts.bytes * 1e-6);
        code = bam_inputs_skipped(&v->common, &in, trl_corpus_count(in.corpus) - counts.utterances, v->output);
    }
    bam_inputs_free(&in);
    return code;
}

static const cli_option map_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct map_values, output), "FILE", "records; - (default): standard output"},
    BAM_MAPPING_OPTIONS(struct map_values, mapping),
    {"parts", 0, CLI_INT, offsetof(struct map_values, parts), "N",
     "share the corpus out to so many mappers, speaker by speaker (default 1)"},
    {"part", 0, CLI_INT, offsetof(struct map_values, part), "I", "which of the --parts this mapper has, from 1"},
    BAM_CORPUS_OPTIONS(struct map_values, corpus),
    {0}};

const cli_command cmd_bam_map = {
    .name = "bam map",
    .synopsis = "MODEL CORPUS LEXICON [-o FILE]",
    .summary = "aligns utterances and writes their frames by M-phone",
    .description =
        "The mapper of the back-off acoustic model. Utterances of the CORPUS are aligned with the "
        "first-pass MODEL; each state of the alignment gives a record: the key of the "
        "longest M-phone around it, up to --order symbols on either side, across words, and the frames. "
        "M-phones that it backs off to are written as keys alone.\n\n"
        "With --parts N several mappers, on one machine or on many, have a part of the speakers each; "
        "all parts together are the records of the whole corpus.\n\n" TEXTS_DESCRIPTION "\n\n" OOV_DESCRIPTION "\n\n"
        "Records are binary (docs/formats.md); `trellis bam show` prints them. They are made for `trellis "
        "bam sort` and `trellis bam reduce`; `trellis bam train` does all of it.",
    .options = map_options,
    .examples =
        "trellis bam map tri.trm data/train lexicon.txt | trellis bam sort | trellis bam reduce -o mixtures.bam\n"
        "trellis bam map tri.trm data/train lexicon.txt --order 2 -o mapped.bam\n"
        "trellis bam map tri.trm data/train lexicon.txt --parts 8 --part 3 -o mapped3.bam",
    .least = 3,
    .most = 3,
    .values_size = sizeof(struct map_values),
    .defaults =
        &(const struct map_values){
            .output = "-", .mapping = BAM_MAPPING_DEFAULTS, .corpus = BAM_CORPUS_DEFAULTS, .parts = 1},
    .run = run_map,
};

/* ---- sort ---- */

struct sort_values {
    cli_common common;
    const char *output;
    double memory;
};

static int run_sort(void *values, int count, char **arguments)
{
    const struct sort_values *v = values;
    trl_error err;
    int code = cli_no_terminal(&cmd_bam_sort, v->output);
    if (code)
        return code;
    if (!(v->memory >= 1 && v->memory <= 1e6))
        return cli_usage_error(&cmd_bam_sort, "--memory is 1 to 1000000 MB, not %g", v->memory);
    code = trl_bam_sort(count > 0 ? arguments[0] : "-", v->output, (size_t)(v->memory * 1e6), &err);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option sort_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct sort_values, output), "FILE", "records; - (default): standard output"},
    {"memory", 0, CLI_NUMBER, offsetof(struct sort_values, memory), "MB",
     "that records take at a time (default 256); the rest is in $TMPDIR, packed"},
    {0}};

const cli_command cmd_bam_sort = {
    .name = "bam sort",
    .synopsis = "[RECORDS] [-o FILE]",
    .summary = "sorts records of M-phones by their keys",
    .description = "Every M-phone then comes behind all that back off to it, which is what `trellis bam reduce` needs. "
                   "Records that are there twice are written once. Streams of several mappers may come one behind the "
                   "other, as `cat` puts them. "
                   "Without RECORDS, standard input is read.",
    .options = sort_options,
    .examples = "trellis bam sort mapped.bam -o sorted.bam --memory 1000",
    .least = 0,
    .most = 1,
    .values_size = sizeof(struct sort_values),
    .defaults = &(const struct sort_values){.output = "-", .memory = 256},
    .run = run_sort,
};

/* ---- reduce ---- */

struct reduce_values {
    cli_common common;
    bam_estimation estimation;
    const char *output, *first, *end;
};

/* A key in hexadecimal; its size, 0: it is none. */
static size_t parse_key(const char *text, unsigned char key[TRL_BAM_KEY_MOST])
{
    size_t length = strlen(text);
    if (length % 2 != 0 || length > (size_t)2 * TRL_BAM_KEY_MOST || strspn(text, "0123456789abcdefABCDEF") != length)
        return 0;
    for (size_t i = 0; i < length / 2; i++)
        key[i] = (unsigned char)strtoul((char[]){text[2 * i], text[2 * i + 1], '\0'}, NULL, 16);
    return length / 2;
}

static int parse_range(const struct reduce_values *v, unsigned char first[TRL_BAM_KEY_MOST],
                       unsigned char end[TRL_BAM_KEY_MOST], trl_bam_range *range)
{
    size_t first_size = v->first ? parse_key(v->first, first) : 0, end_size = v->end ? parse_key(v->end, end) : 0;
    if ((v->first && first_size == 0) || (v->end && end_size == 0))
        return cli_usage_error(&cmd_bam_reduce, "%s %s: a key is given in hexadecimal, two digits a byte",
                               v->first && first_size == 0 ? "--first" : "--end",
                               v->first && first_size == 0 ? v->first : v->end);
    if (v->first && v->end && first_size != end_size)
        return cli_usage_error(&cmd_bam_reduce, "--first and --end are keys of different sizes");
    *range = (trl_bam_range){
        .first = v->first ? first : NULL, .end = v->end ? end : NULL, .key_size = v->first ? first_size : end_size};
    return 0;
}

static int run_reduce(void *values, int count, char **arguments)
{
    const struct reduce_values *v = values;
    trl_bam_options o;
    trl_bam_counts counts;
    trl_bam_range range;
    unsigned char first[TRL_BAM_KEY_MOST], end[TRL_BAM_KEY_MOST];
    trl_pool *pool;
    trl_error err;
    int code = bam_options(&cmd_bam_reduce, NULL, &v->estimation, &o);
    if (code == 0)
        code = parse_range(v, first, end, &range);
    if (code == 0)
        code = cli_no_terminal(&cmd_bam_reduce, v->output);
    if (code == 0)
        code = cli_pool(&v->common, &pool);
    if (code)
        return code;
    code = trl_bam_reduce(count > 0 ? arguments[0] : "-", &range, &o, pool, v->output, &counts, &err);
    trl_pool_destroy(pool);
    if (code < 0)
        return cli_failure(&err);
    trl_bam_cell all = trl_bam_total(&counts);
    cli_say(&v->common,
            "%" PRIu64 " M-phones, %" PRIu64 " with at least %d frames, %" PRIu64 " of them with more than %d: %" PRIu64
            " Gaussians",
            all.mphones, all.kept, v->estimation.least, all.sampled, v->estimation.most, all.gaussians);
    return EXIT_CLEAN;
}

static const cli_option reduce_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct reduce_values, output), "FILE", "mixtures; - (default): standard output"},
    {"first", 0, CLI_TEXT, offsetof(struct reduce_values, first), "KEY",
     "RECORDS are a part of a stream; the key of its first record, in hexadecimal"},
    {"end", 0, CLI_TEXT, offsetof(struct reduce_values, end), "KEY",
     "RECORDS are a part of a stream; the key of the first record behind it"},
    BAM_ESTIMATION_OPTIONS(struct reduce_values, estimation),
    {0}};

const cli_command cmd_bam_reduce = {
    .name = "bam reduce",
    .synopsis = "[RECORDS] [-o FILE]",
    .summary = "estimates mixtures of Gaussians from sorted records of M-phones",
    .description = "One pass over records that `trellis bam sort` (or any sort by bytes) has sorted. Frames of an "
                   "M-phone are those of all that back off to it. Of an M-phone with more than "
                   "--max-frames those with the smallest hash of seed, utterance and number are used, so neither the "
                   "order nor the number of mappers and reducers matters. Mixtures grow by splitting, one "
                   "Gaussian, two, four … B n^A, with --iterations of expectation maximisation at each size.\n\n"
                   "A sorted stream may be cut anywhere, also within the M-phones of silence, and its parts reduced by "
                   "themselves, with --first but for the first and --end but for the last. M-phones on both sides of a "
                   "cut are then written as samples, and `trellis bam store` puts them together: the store is the "
                   "same.\n\n"
                   "A key out of order, records that are missing and a stream without its end are errors. Without "
                   "RECORDS, standard input is read; the output is made a store by `trellis bam store`.",
    .options = reduce_options,
    .examples = "trellis bam reduce sorted.bam -o mixtures.bam\n"
                "trellis bam reduce sorted.bam --min-frames 100 --alpha 0.7 --beta 0.1 -o mixtures.bam",
    .least = 0,
    .most = 1,
    .values_size = sizeof(struct reduce_values),
    .defaults = &(const struct reduce_values){.output = "-", .estimation = BAM_ESTIMATION_DEFAULTS},
    .run = run_reduce,
};

/* ---- show ---- */

struct show_values {
    cli_common common;
    const char *output;
    int frames, most;
};

static int run_show(void *values, int count, char **arguments)
{
    const struct show_values *v = values;
    trl_error err;
    if (v->most < 0)
        return cli_usage_error(&cmd_bam_show, "--most is a number of records, not %d", v->most);
    int code = trl_bam_print(count > 0 ? arguments[0] : "-", v->frames, (uint64_t)v->most, v->output, &err);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option show_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct show_values, output), "FILE", "text; - (default): standard output"},
    {"frames", 0, CLI_FLAG, offsetof(struct show_values, frames), NULL,
     "the numbers too: a line for each frame, or for each Gaussian its log weight, means and variances"},
    {"most", 'n', CLI_INT, offsetof(struct show_values, most), "N", "records at most; 0 (default): all"},
    {0}};

const cli_command cmd_bam_show = {
    .name = "bam show",
    .synopsis = "[RECORDS]",
    .summary = "prints records of M-phones as text",
    .description = "What `trellis bam map`, `sort` and `reduce` write: a line per record, the M-phone as `ih_1 / ae k "
                   "sh ___ n sil` (phone and state, then the context; # is a "
                   "word boundary), a tab, and what belongs to it; nothing for an M-phone that others back off to.",
    .options = show_options,
    .examples = "trellis bam map tri.trm data/train lexicon.txt | trellis bam show -n 20",
    .least = 0,
    .most = 1,
    .values_size = sizeof(struct show_values),
    .defaults = &(const struct show_values){.output = "-"},
    .run = run_show,
};
