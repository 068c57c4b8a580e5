/* trellis corpus split: some of a corpus apart, for a test of what was trained on the rest. */
#include "cli.h"
#include "corpus_input.h"

#include <stdlib.h>

extern const cli_command cmd_corpus_split;

struct values {
    cli_common common;
    corpus_input corpus;
    const char *by, *list;
    double share;
    int seed;
};

static void say_part(const struct values *v, const trl_corpus *corpus, const unsigned char *apart, int which,
                     const char *folder)
{
    size_t utterances = 0, speakers = 0;
    unsigned char *seen = calloc(trl_corpus_speakers(corpus) + 1, 1);
    for (size_t i = 0; seen && i < trl_corpus_count(corpus); i++) {
        const trl_utterance *u = trl_corpus_get(corpus, i);
        if (u->bad || apart[i] != which)
            continue;
        utterances++;
        speakers += !seen[u->speaker_index];
        seen[u->speaker_index] = 1;
    }
    free(seen);
    cli_say(&v->common, "%s: %zu utterance%s of %zu speaker%s", folder, utterances, utterances == 1 ? "" : "s",
            speakers, speakers == 1 ? "" : "s");
}

static int split(const struct values *v, const trl_split_options *options, const trl_corpus *corpus, char **arguments)
{
    trl_error err;
    unsigned char *apart = calloc(trl_corpus_count(corpus) + 1, 1);
    if (!apart) {
        cli_error(&err, TRL_ENOMEM, "out of memory");
        return cli_failure(&err);
    }
    int code = trl_corpus_split(corpus, options, apart, &err);
    for (int which = 0; code == 0 && which < 2; which++)
        code = trl_corpus_write(corpus, apart, which, arguments[1 + which], &err);
    for (int which = 0; code == 0 && which < 2; which++)
        say_part(v, corpus, apart, which, arguments[1 + which]);
    free(apart);
    return code < 0 ? cli_failure(&err) : 0;
}

static size_t count_bad(const trl_corpus *corpus)
{
    size_t bad = 0;
    for (size_t i = 0; i < trl_corpus_count(corpus); i++)
        bad += (size_t)trl_corpus_get(corpus, i)->bad;
    return bad;
}

static int parse(const struct values *v, trl_corpus_options *reading, trl_split_options *options)
{
    static const char *const ways[] = {"auto", "speaker", "utterance", NULL};
    int by = TRL_SPLIT_AUTO;
    int exit_code = corpus_input_parse(&cmd_corpus_split, &v->corpus, reading, NULL);
    if (exit_code == 0)
        exit_code = cli_choose(&cmd_corpus_split, "by", v->by, ways, &by);
    if (exit_code == 0 && !(v->share > 0 && v->share < 100))
        exit_code = cli_usage_error(&cmd_corpus_split, "--share is a number of percent between 0 and 100");
    if (exit_code == 0 && v->seed < 0)
        exit_code = cli_usage_error(&cmd_corpus_split, "--seed is a number from 0 on");
    options->by = (trl_split_by)by;
    options->share = v->share / 100;
    options->seed = (uint64_t)v->seed;
    options->list = v->list;
    return exit_code;
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    const struct values *v = values;
    trl_corpus_options reading = trl_corpus_defaults();
    trl_split_options options = trl_split_defaults();
    reading.need_text = 0;
    int exit_code = parse(v, &reading, &options);
    if (exit_code)
        return exit_code;
    trl_findings *findings = NULL;
    trl_corpus *corpus = NULL;
    exit_code = corpus_input_read(arguments[0], &reading, v->corpus.skip_bad, &findings, &corpus);
    if (exit_code == 0)
        exit_code = split(v, &options, corpus, arguments);
    if (exit_code == 0)
        exit_code = corpus_input_skipped(findings, count_bad(corpus), arguments[1]);
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
    return exit_code;
}

static const cli_option options[] = {
    {"share", 0, CLI_NUMBER, offsetof(struct values, share), "PERCENT",
     "of the utterances go to TEST, or a little more: speakers stay whole (default 10)"},
    {"by", 0, CLI_TEXT, offsetof(struct values, by), "NAME",
     "what stays together: speaker, utterance, or auto (default): speakers, if several have several utterances"},
    {"seed", 0, CLI_INT, offsetof(struct values, seed), "N", "another seed, another choice (default 1)"},
    {"list", 0, CLI_TEXT, offsetof(struct values, list), "FILE",
     "instead of a share: lines that begin with a speaker or an utterance id; these go to TEST"},
    CORPUS_FORMAT_OPTION(struct values, corpus),
    {"skip-bad", 0, CLI_FLAG, offsetof(struct values, corpus.skip_bad), NULL,
     "leave out utterances that can't be used; they are named at the end and in a list beside the output, and the exit "
     "code is 1"},
    {0}};

const cli_command cmd_corpus_split = {
    .name = "corpus split",
    .synopsis = "CORPUS TRAIN TEST [--share PERCENT | --list FILE]",
    .summary = "sets some speakers apart, to test with",
    .description =
        "Writes two corpora that share CORPUS's sound: TEST, with what is set apart, and TRAIN, with the rest. A model "
        "that is trained on one says little about itself on recordings it has heard, so it is tested on the other.\n\n"
        "Speakers are chosen by chance and stay whole, because a voice that was heard in training is recognised "
        "better than others. Where every utterance has its own speaker (nobody said who speaks), or all are of one, "
        "utterances are chosen. The choice depends on names and seed alone: one more speaker moves few others.\n\n"
        "Each result is a Kaldi-style folder, which every command takes: wav.scp with absolute paths, utt2spk, text, "
        "and segments where utterances are parts of files. The sound itself is neither read nor copied. Files in such "
        "a folder that are there already are replaced.\n\n"
        "With --list FILE any part of a corpus can be taken out of it: the lists of other tools will do, since only "
        "the first word of a line counts.",
    .options = options,
    .examples = "trellis corpus split recordings train test\n"
                "trellis corpus split data/all data/train data/test --share 20 --seed 3\n"
                "trellis corpus split data/all data/train data/test --list test-speakers.txt",
    .least = 3,
    .most = 3,
    .values_size = sizeof(struct values),
    .defaults = &(const struct values){.share = 10, .seed = 1},
    .run = run,
};
