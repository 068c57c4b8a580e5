/* trellis bam train, store: from a corpus, or from what reducers wrote, to a store. */
#include "bam_command.h"

#include <inttypes.h>
#include <trellis/bam_store.h>

extern const cli_command cmd_bam_store, cmd_bam_train;

struct train_values {
    cli_common common;
    bam_corpus corpus;
    bam_mapping mapping;
    bam_estimation estimation;
    const char *output;
    int shards, partitions;
    double memory;
};

static int check_partitions(const cli_command *command, int partitions)
{
    return partitions < 1 || partitions > TRL_BAM_PARTITIONS_MOST
               ? cli_usage_error(command, "--partitions is 1 to %d, not %d", TRL_BAM_PARTITIONS_MOST, partitions)
               : 0;
}

/* As in the paper's IV-F. */
static void say_summary(const struct train_values *v, const trl_bam_train_summary *s)
{
    const trl_bam_counts *c = &s->counts;
    trl_bam_cell all = trl_bam_total(c);
    if (s->resumed > 0)
        cli_say(&v->common, "resumed: %" PRIu64 " utterances had been mapped, %zu of %zu shards reduced", s->resumed,
                s->reduced_before, s->shards);
    cli_say(&v->common, "%" PRIu64 " utterances, %.2f hours, %" PRIu64 " frames", c->utterances,
            (double)c->frames / 360000, c->frames);
    cli_say(&v->common, "%" PRIu64 " records, %.1f MB, %.1f MB on disk in %zu runs", c->records,
            (double)c->bytes * 1e-6, (double)s->packed * 1e-6, s->runs);
    cli_say(&v->common, "%zu shards, the largest %.2f MB, the smallest %.2f MB: %.2f times", s->shards,
            (double)s->largest * 1e-6, (double)s->smallest * 1e-6,
            s->smallest > 0 ? (double)s->largest / (double)s->smallest : 0);
    cli_say(&v->common,
            "%" PRIu64 " M-phones, %" PRIu64 " with at least %d frames, %" PRIu64 " of them (%.1f%%) with more than %d",
            all.mphones, all.kept, v->estimation.least, all.sampled,
            all.kept > 0 ? 100 * (double)all.sampled / (double)all.kept : 0, v->estimation.most);
    cli_say(&v->common, "%" PRIu64 " Gaussians -> %s", all.gaussians, v->output);
}

typedef struct displays {
    const cli_common *common;
    trl_progress *mapping, *reducing;
} displays;

static trl_progress *begin_reducing(void *user, uint64_t bytes)
{
    displays *d = user;
    trl_progress_destroy(d->mapping);
    d->mapping = NULL;
    return d->reducing = cli_progress(d->common, "reducing", "B", bytes);
}

static int train(const struct train_values *v, bam_inputs *in, trl_bam_train_options *o)
{
    displays d = {.common = &v->common};
    trl_bam_train_summary summary;
    trl_error err;
    size_t passes = (size_t)trl_align_passes(in->model, &in->aligning);
    o->aligning = in->aligning;
    d.mapping = cli_progress(&v->common, "mapping", "utt", trl_corpus_count(in->corpus) * passes);
    o->aligning.progress = d.mapping;
    o->begin_reducing = begin_reducing;
    o->user = &d;
    int code = trl_bam_train(in->model, in->lexicon, in->corpus, o, in->pool, in->findings, v->output, &summary, &err);
    trl_progress_destroy(d.mapping);
    trl_progress_destroy(d.reducing);
    if (code < 0)
        return cli_failure(&err);
    say_summary(v, &summary);
    return bam_inputs_skipped(&v->common, in, trl_corpus_count(in->corpus) - summary.counts.utterances, v->output);
}

static int run_train(void *values, int count, char **arguments)
{
    const struct train_values *v = values;
    bam_inputs in = {0};
    trl_bam_train_options o = trl_bam_train_defaults();
    (void)count;
    int code = v->output ? bam_options(&cmd_bam_train, &v->mapping, &v->estimation, &o.bam)
                         : cli_usage_error(&cmd_bam_train, "where to? -o STORE is missing");
    o.shards = v->shards;
    o.partitions = v->partitions;
    o.memory = (size_t)(v->memory * 1e6);
    if (code == 0)
        code = check_partitions(&cmd_bam_train, v->partitions);
    if (code == 0 && (v->shards < 1 || v->shards > TRL_BAM_SHARDS_MOST))
        code = cli_usage_error(&cmd_bam_train, "--shards is 1 to %d, not %d", TRL_BAM_SHARDS_MOST, v->shards);
    if (code == 0 && !(v->memory >= 1 && v->memory <= 1e6))
        code = cli_usage_error(&cmd_bam_train, "--memory is 1 to 1000000 MB, not %g", v->memory);
    if (code == 0)
        code = bam_inputs_read(&cmd_bam_train, &v->common, &v->corpus, arguments, &in);
    if (code == 0)
        code = train(v, &in, &o);
    bam_inputs_free(&in);
    return code;
}

static const cli_option train_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct train_values, output), "STORE", "the folder to write"},
    BAM_MAPPING_OPTIONS(struct train_values, mapping),
    BAM_ESTIMATION_OPTIONS(struct train_values, estimation),
    {"shards", 0, CLI_INT, offsetof(struct train_values, shards), "N",
     "parts of about the same size that threads reduce (default 16)"},
    {"partitions", 0, CLI_INT, offsetof(struct train_values, partitions), "N", "files of the store (default 1)"},
    {"memory", 0, CLI_NUMBER, offsetof(struct train_values, memory), "MB",
     "that records take while they are sorted (default 256)"},
    BAM_CORPUS_OPTIONS(struct train_values, corpus),
    {0}};

const cli_command cmd_bam_train = {
    .name = "bam train",
    .synopsis = "MODEL CORPUS LEXICON -o STORE",
    .summary = "trains a back-off acoustic model: a mixture for every phonetic context with enough data",
    .description = "Aligns the CORPUS with the first-pass MODEL, gathers the frames of every state of every phone by "
                   "its context, and estimates a mixture of Gaussians for each context with at least --min-frames "
                   "frames: up to --order phones and word boundaries on either side, and for each the shorter ones "
                   "that it backs off to.\n\n"
                   "Records are sorted on disk, beside the store in STORE.work. A command that was killed goes on when "
                   "it is started again: utterances that were mapped and "
                   "shards that were reduced are not done again, and what it had left out is named again. One command "
                   "at a time trains a STORE. Neither threads nor --shards change the store's "
                   "bytes. A store that is there is replaced at the end, in one step; a folder of anything else is "
                   "refused.\n\n" TEXTS_DESCRIPTION "\n\n" OOV_DESCRIPTION,
    .options = train_options,
    .examples = "trellis bam train tri.trm data/train lexicon.txt -o bam.store\n"
                "trellis bam train tri.trm data/train lexicon.txt -o bam.store --order 2 --min-frames 200\n"
                "trellis bam info bam.store",
    .least = 3,
    .most = 3,
    .values_size = sizeof(struct train_values),
    .defaults = &(const struct train_values){.mapping = BAM_MAPPING_DEFAULTS,
                                             .estimation = BAM_ESTIMATION_DEFAULTS,
                                             .corpus = BAM_CORPUS_DEFAULTS,
                                             .shards = 16,
                                             .partitions = 1,
                                             .memory = 256},
    .run = run_train,
};

/* ---- store ---- */

struct store_values {
    cli_common common;
    bam_estimation estimation;
    const char *output;
    int partitions;
};

static int run_store(void *values, int count, char **arguments)
{
    const struct store_values *v = values;
    trl_bam_options o;
    trl_bam_counts counts;
    trl_pool *pool;
    trl_error err;
    if (!v->output)
        return cli_usage_error(&cmd_bam_store, "where to? -o STORE is missing");
    int code = bam_options(&cmd_bam_store, NULL, &v->estimation, &o);
    if (code == 0)
        code = check_partitions(&cmd_bam_store, v->partitions);
    if (code == 0)
        code = cli_pool(&v->common, &pool);
    if (code)
        return code;
    code = trl_bam_store_write((const char *const *)arguments, (size_t)count, &o, v->partitions, pool, v->output,
                               &counts, &err);
    trl_pool_destroy(pool);
    if (code < 0)
        return cli_failure(&err);
    trl_bam_cell all = trl_bam_total(&counts);
    cli_say(&v->common, "%" PRIu64 " M-phones, %" PRIu64 " Gaussians -> %s", all.kept, all.gaussians, v->output);
    return EXIT_CLEAN;
}

static const cli_option store_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct store_values, output), "STORE", "the folder to write"},
    {"partitions", 0, CLI_INT, offsetof(struct store_values, partitions), "N", "files of the store (default 1)"},
    BAM_ESTIMATION_OPTIONS(struct store_values, estimation),
    {0}};

const cli_command cmd_bam_store = {
    .name = "bam store",
    .synopsis = "MIXTURES… -o STORE",
    .summary = "makes a store of what reducers of M-phones wrote",
    .description =
        "MIXTURES are outputs of `trellis bam reduce`, of one stream or of several shards that do not overlap. "
        "The options of estimation are recorded in the store, and M-phones that lie in several parts are "
        "estimated with them: give those that the reducers had; others are refused. STORE is made, or is a "
        "store already and replaced in one step.",
    .options = store_options,
    .examples = "trellis bam store mixtures.bam -o bam.store",
    .least = 1,
    .most = INT32_MAX,
    .values_size = sizeof(struct store_values),
    .defaults = &(const struct store_values){.estimation = BAM_ESTIMATION_DEFAULTS, .partitions = 1},
    .run = run_store,
};
