/* trellis bam rescore: chooses among the hypotheses of N-best lists with a back-off acoustic model. */
#include "bam_command.h"

#include <inttypes.h>
#include <trellis/bam_rescore.h>
#include <trellis/file.h>

extern const cli_command cmd_bam_rescore;

struct rescore_values {
    cli_common common;
    bam_corpus corpus;
    trl_bam_weights weights;
    const char *output, *to;
    int self;
    double hours;
};

enum { TO_TEXT, TO_LISTS };

static int write_words(const trl_bam_lists *lists, const trl_bam_weights *weights, const char *path, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    for (size_t i = 0; code == 0 && i < trl_bam_lists_count(lists); i++) {
        trl_bam_list list = trl_bam_lists_get(lists, i);
        const trl_bam_hypothesis *best = &list.hypotheses[trl_bam_choose(list, weights)];
        code = trl_file_print(file, err, "%s", list.id);
        for (size_t k = 0; code == 0 && k < best->count; k++)
            code = trl_file_print(file, err, " %s", best->words[k]);
        if (code == 0)
            code = trl_file_print(file, err, "\n");
    }
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void say_summary(const struct rescore_values *v, const trl_bam_rescore_summary *s, const trl_bam_run *r)
{
    const cli_common *c = &v->common;
    cli_say(c,
            "%zu utterances, %zu hypotheses; %.2f ms per utterance (aligning %.2f, look-up %.2f, scoring %.2f), the "
            "longest %.2f ms",
            s->utterances, s->hypotheses, 1e3 * s->seconds, 1e3 * s->aligning, 1e3 * s->looking_up, 1e3 * s->scoring,
            1e3 * s->longest);
    if (s->adapted > 0)
        cli_say(c, "adapted to %zu speakers", s->adapted);
    if (!v->self)
        cli_say(c,
                "%" PRIu64 " segments, %" PRIu64 " of them scored; %" PRIu64
                " M-phones asked for; %.1f%% of the segments back off to the first-pass model",
                s->segments, s->distinct, s->keys, percent(r->first_pass, s->segments));
    if (s->unaligned > 0)
        cli_say(c, "%zu hypotheses could not be aligned and keep the first pass's score", s->unaligned);
    if (s->unused > 0)
        cli_say(c, "%zu lists are of utterances that the corpus does not have", s->unused);
    if (r->lost > 0)
        fprintf(stderr,
                "trellis bam rescore: %.2f%% of the segments (%" PRIu64
                ") have the first-pass model's score, because a server did not answer\n",
                percent(r->lost, s->segments), r->lost);
}

static int rescore(const struct rescore_values *v, const bam_inputs *in, trl_bam_lists *lists, const char *store,
                   int format)
{
    trl_bam_rescore_summary summary;
    trl_align_options aligning = in->aligning;
    trl_error err;
    size_t passes = (size_t)trl_align_passes(in->model, &aligning);
    aligning.progress = cli_progress(&v->common, "rescoring", "utt", trl_corpus_count(in->corpus) * passes);
    int code = trl_bam_rescore(in->model, in->lexicon, in->corpus, store, &aligning, in->pool, in->findings, lists,
                               &summary, &err);
    trl_progress_destroy(aligning.progress);
    if (code == 0) {
        trl_bam_lists_label(lists, &v->weights, v->hours);
        code = format == TO_LISTS ? trl_bam_lists_write(lists, v->output, &err)
                                  : write_words(lists, &v->weights, v->output, &err);
    }
    if (code < 0)
        return cli_failure(&err);
    say_summary(v, &summary, trl_bam_lists_run(lists));
    code = bam_inputs_skipped(&v->common, in, summary.skipped, v->output);
    return code == 0 && trl_bam_lists_run(lists)->lost > 0 ? EXIT_FINDINGS : code;
}

static int say_unknown(const struct rescore_values *v, const bam_inputs *in, const trl_bam_lists *lists)
{
    trl_unknown_summary summary = {0};
    trl_findings *words;
    trl_error err;
    if (trl_findings_create(&words, &err) < 0)
        return cli_failure(&err);
    int code = trl_bam_unknown_words_find(in->model, in->lexicon, in->corpus, lists, in->aligning.unknown_words, words,
                                          &summary, &err);
    code = oov_input_say(&v->common, &v->corpus.oov, words, &summary, code, &err);
    trl_findings_destroy(words);
    return code;
}

static int run_rescore(void *values, int count, char **arguments)
{
    static const char *const formats[] = {"text", "lists", NULL};
    const struct rescore_values *v = values;
    bam_inputs in = {0};
    trl_bam_lists *lists = NULL;
    trl_error err;
    int format = TO_TEXT, code = cli_choose(&cmd_bam_rescore, "to", v->to, formats, &format);
    if (code == 0)
        code = bam_check_weights(&cmd_bam_rescore, &v->weights);
    if (code == 0 && v->hours < 0)
        code = cli_usage_error(&cmd_bam_rescore, "--hours is 0 or more, not %g", v->hours);
    if (code == 0 && (count == 5) == (v->self != 0))
        code = cli_usage_error(&cmd_bam_rescore, v->self ? "--self is the first-pass model in place of a STORE"
                                                         : "which STORE? (--self takes the first-pass model instead)");
    if (code == 0)
        code = bam_inputs_read(&cmd_bam_rescore, &v->common, &v->corpus, arguments, &in);
    if (code == 0 && trl_bam_lists_read(arguments[3], &lists, &err) < 0)
        code = cli_failure(&err);
    if (code == 0)
        code = say_unknown(v, &in, lists);
    if (code == 0)
        code = rescore(v, &in, lists, v->self ? NULL : arguments[4], format);
    trl_bam_lists_destroy(lists);
    bam_inputs_free(&in);
    return code;
}

static const cli_option rescore_options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct rescore_values, output), "FILE", "- (default): standard output"},
    {"to", 0, CLI_TEXT, offsetof(struct rescore_values, to), "FORMAT",
     "text (default): the chosen words; lists: all hypotheses with their scores, for bam tune and bam eval"},
    BAM_WEIGHT_OPTIONS(struct rescore_values, weights),
    {"self", 0, CLI_FLAG, offsetof(struct rescore_values, self), NULL,
     "the first-pass model as its own second pass, to see what aligning anew does; without STORE"},
    {"hours", 0, CLI_NUMBER, offsetof(struct rescore_values, hours), "H",
     "of the data that STORE was trained with: kept in the lists, for plots"},
    BAM_CORPUS_OPTIONS(struct rescore_values, corpus),
    {0}};

const cli_command cmd_bam_rescore = {
    .name = "bam rescore",
    .synopsis = "MODEL CORPUS LEXICON NBEST STORE [-o FILE]",
    .summary = "chooses among the hypotheses of N-best lists with a back-off acoustic model",
    .description =
        "NBEST has the first pass's hypotheses, as `trellis decode --to nbest` or `--to nbest-jsonl` writes them; "
        "in lists from elsewhere a cost that is not known is `-`. Every hypothesis is "
        "aligned with the first-pass MODEL. Each state of the alignment is then scored by the longest M-phone around "
        "it that the STORE has, or by MODEL where it has none. All M-phones of an utterance are asked for at once. "
        "STORE is a folder, or redis://HOST:PORT/NAME: a model that `trellis bam load` has brought to servers.\n\n"
        "With M the STORE's order and o the order of the M-phone that was found (the larger side of one that has more "
        "symbols on one side; 0: the first-pass model), a hypothesis W scores\n\n"
        "  second = sum over frames of (log likelihood - F (M - o))\n"
        "  score  = (L first + (1 - L) second) / W + log P(W)\n\n"
        "where `first` is the acoustic score and P(W) comes from the graph cost in NBEST, F is --back-off, L --lambda "
        "and W --lm-weight. `trellis bam tune` finds good values for them.\n\n"
        "A MODEL that was trained on adapted frames is adapted to each speaker of the CORPUS along his first "
        "hypotheses. " LEXICON_DESCRIPTION
        "Words of hypotheses that the LEXICON lacks are words of unknown pronunciation, as in `trellis "
        "align`; better use the lexicon of the first pass's graph. Transcripts of the CORPUS are not looked at. Where "
        "a server that has M-phones does not answer, "
        "the first-pass score is taken; how often is said, and the exit code is 1.",
    .options = rescore_options,
    .examples = "trellis decode tri.trm words.trg data/test --to nbest-jsonl --nbest 10 -o nbest.jsonl\n"
                "trellis bam rescore tri.trm data/test lexicon.txt nbest.jsonl bam.store -o words.txt\n"
                "trellis bam rescore tri.trm data/dev lexicon.txt dev.jsonl bam.store --to lists -o scored.jsonl",
    .least = 4,
    .most = 5,
    .values_size = sizeof(struct rescore_values),
    .defaults = &(const struct rescore_values){.output = "-",
                                               .weights = BAM_WEIGHT_DEFAULTS,
                                               .corpus = BAM_CORPUS_DEFAULTS_NO_TEXT},
    .run = run_rescore,
};
