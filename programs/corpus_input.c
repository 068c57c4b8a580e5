#include "corpus_input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/audio.h>
#include <trellis/extract.h>
#include <trellis/file.h>

#define MISFITS_SHOWN 20
#define SKIPPED_SHOWN 20

static int parse_channel(const cli_command *command, const char *name, int *channel)
{
    char *end;
    long number = name ? strtol(name, &end, 10) : TRL_CHANNEL_UNSAID;
    if (name && strcmp(name, "mix") == 0)
        *channel = TRL_CHANNEL_MIX;
    else if (name && (end == name || *end || number < 0 || number > 1023))
        return cli_usage_error(command, "--channel is a number from 0 up, or mix, not '%s'", name);
    else
        *channel = (int)number;
    return 0;
}

int corpus_input_parse(const cli_command *command, const corpus_input *input, trl_corpus_options *options, int *channel)
{
    static const char *const formats[] = {"auto", "kaldi", "folder", "manifest", "sound", NULL};
    int format = TRL_CORPUS_AUTO;
    int code = cli_choose(command, "format", input->format, formats, &format);
    options->format = (trl_corpus_format)format;
    options->labels = input->mlf;
    return code || !channel ? code : parse_channel(command, input->channel, channel);
}

int corpus_input_lexicon(const corpus_input *input, const char *path, trl_findings *findings, trl_lexicon **lexicon)
{
    trl_error err;
    if (trl_lexicon_read(path, findings, lexicon, &err) < 0 ||
        (input->fold_case && trl_lexicon_fold_case(*lexicon, &err) < 0))
        return cli_failure(&err);
    return 0;
}

void corpus_print_finding(FILE *out, const trl_finding *f)
{
    fputs(f->file, out);
    if (f->line > 0)
        fprintf(out, ":%" PRId64, f->line);
    fprintf(out, ": %s%s%s\n", f->utterance ? f->utterance : "", f->utterance ? ": " : "", f->message);
}

size_t corpus_input_report(const trl_findings *findings, size_t most)
{
    size_t fatal = 0;
    const trl_finding *f;
    for (size_t i = 0; (f = trl_findings_get(findings, i)); i++) {
        if (!trl_finding_is_fatal(f->kind) || fatal++ >= most)
            continue;
        corpus_print_finding(stderr, f);
    }
    if (fatal > most)
        fprintf(stderr, "and %zu more\n", fatal - most);
    return fatal;
}

int corpus_is_warning(trl_finding_kind kind)
{
    return kind == TRL_FINDING_RATE || kind == TRL_FINDING_STEREO || kind == TRL_FINDING_MISFIT ||
           kind == TRL_FINDING_STAGE || kind == TRL_FINDING_QUESTION;
}

size_t corpus_input_warn(const cli_common *common, const trl_findings *findings)
{
    size_t misfits = 0, shown = 0;
    const trl_finding *f;
    for (size_t i = 0; (f = trl_findings_get(findings, i)); i++) {
        misfits += f->kind == TRL_FINDING_MISFIT;
        if (corpus_is_warning(f->kind) && f->kind != TRL_FINDING_MISFIT)
            cli_say(common, "warning: %s: %s", f->file, f->message);
    }
    if (misfits > 0)
        cli_say(common, "warning: %zu transcript%s the sound; listen whether this is what is said:", misfits,
                misfits == 1 ? " hardly fits" : "s hardly fit");
    for (size_t i = 0; (f = trl_findings_get(findings, i)) && !common->quiet; i++)
        if (f->kind == TRL_FINDING_MISFIT && shown++ < MISFITS_SHOWN)
            corpus_print_finding(stderr, f);
    if (misfits > MISFITS_SHOWN)
        cli_say(common, "and %zu more", misfits - MISFITS_SHOWN);
    return misfits;
}

int oov_input_parse(const cli_command *command, const oov_input *input, int *choice)
{
    static const char *const choices[] = {[TRL_UNKNOWN_FAIL] = "fail",
                                          [TRL_UNKNOWN_SKIP] = "skip",
                                          [TRL_UNKNOWN_NOISE] = "noise",
                                          [TRL_UNKNOWN_AUTO] = "auto",
                                          [TRL_UNKNOWN_AUTO + 1] = NULL};
    return cli_choose(command, "oov", input->choice, choices, choice);
}

static int write_words(const char *path, const trl_findings *words, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    const trl_finding *f;
    for (size_t i = 0; code == 0 && (f = trl_findings_get(words, i)); i++)
        code = trl_file_print(file, err, "%s\t%zu\t%s\n", f->word, f->count, f->utterance);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

int oov_input_say(const cli_common *common, const oov_input *input, const trl_findings *words,
                  const trl_unknown_summary *summary, int code, const trl_error *error)
{
    static const char *const fates[] = {[TRL_UNKNOWN_SKIP] = "the utterances are left out",
                                        [TRL_UNKNOWN_NOISE] = "they are words of unknown pronunciation: spoken noise"};
    trl_error err;
    if (input->list && code != TRL_ENOMEM && write_words(input->list, words, &err) < 0)
        return cli_failure(&err);
    if (code < 0)
        return cli_failure(error);
    if (summary->words > 0)
        cli_say(common, "%s; %s%s%s", summary->text, fates[summary->choice],
                input->list ? " -> " : " (--oov-list FILE writes the list)", input->list ? input->list : "");
    return 0;
}

int oov_input_find(const cli_common *common, const oov_input *input, const trl_model *model, const trl_lexicon *lexicon,
                   const trl_corpus *corpus, int choice, const char *only)
{
    trl_findings *words;
    trl_unknown_summary summary = {0};
    trl_error err;
    if (trl_findings_create(&words, &err) < 0)
        return cli_failure(&err);
    int code = trl_unknown_words_find(model, lexicon, corpus, choice, only, words, &summary, &err);
    code = oov_input_say(common, input, words, &summary, code, &err);
    trl_findings_destroy(words);
    return code;
}

/* NULL: the output is no file that something can stand beside. */
static char *list_beside(const char *output)
{
    struct stat status;
    int is_there = output && stat(output, &status) == 0, is_folder = is_there && S_ISDIR(status.st_mode);
    if (!output || strcmp(output, "-") == 0 || (is_there && !is_folder && !S_ISREG(status.st_mode)))
        return NULL;
    return cli_with_ending(output, is_folder ? "/skipped.tsv" : ".skipped.tsv");
}

static int is_skipped(const trl_finding *f)
{
    return trl_finding_is_fatal(f->kind) || f->kind == TRL_FINDING_UNKNOWN_WORD;
}

/* Returns how many there are. */
static size_t show_skipped(const trl_findings *findings, size_t shown)
{
    const trl_finding *f;
    for (size_t i = 0; findings && (f = trl_findings_get(findings, i)); i++)
        if (is_skipped(f) && shown++ < SKIPPED_SHOWN)
            corpus_print_finding(stderr, f);
    return shown;
}

int corpus_inputs_skipped(const trl_findings *const *lists, size_t count, size_t skipped, const char *output)
{
    trl_error err;
    char *path = list_beside(output);
    size_t entries, shown = 0;
    if (trl_findings_write_skipped(lists, count, path, &entries, &err) < 0) {
        free(path);
        return cli_failure(&err);
    }
    if (skipped > 0 || entries > 0)
        fprintf(stderr, "%zu utterance%s skipped; %zu entr%s can't be used%s%s:\n", skipped, skipped == 1 ? "" : "s",
                entries, entries == 1 ? "y" : "ies", path && entries > 0 ? ", listed in " : "",
                path && entries > 0 ? path : "");
    for (size_t i = 0; i < count; i++)
        shown = show_skipped(lists[i], shown);
    if (shown > SKIPPED_SHOWN)
        fprintf(stderr, "and %zu more\n", shown - SKIPPED_SHOWN);
    free(path);
    return skipped > 0 || entries > 0 ? EXIT_FINDINGS : EXIT_CLEAN;
}

int corpus_input_skipped(const trl_findings *findings, size_t skipped, const char *output)
{
    return corpus_inputs_skipped(&findings, 1, skipped, output);
}

static int refuse_bad(const char *path)
{
    fprintf(stderr,
            "trellis: %s has entries that can't be used. `trellis corpus check` explains them; --skip-bad leaves them "
            "out.\n",
            path);
    return EXIT_FAILED;
}

int corpus_input_read(const char *path, const trl_corpus_options *options, int skip_bad, trl_findings **findings,
                      trl_corpus **corpus)
{
    trl_error err;
    *corpus = NULL;
    if (trl_findings_create(findings, &err) < 0 || trl_corpus_read(path, options, *findings, corpus, &err) < 0)
        return cli_failure(&err);
    if (skip_bad || corpus_input_report(*findings, 10) == 0)
        return 0;
    return refuse_bad(path);
}

static void say_changes(const cli_common *common, const trl_text_summary *s)
{
    static const char *const what[TRL_TEXT_CHANGES] = {[TRL_TEXT_LETTERS] = "in other letters",
                                                       [TRL_TEXT_MARKS] = "without the marks around them",
                                                       [TRL_TEXT_SPLIT] = "cut into words",
                                                       [TRL_TEXT_REPLACED] = "replaced",
                                                       [TRL_TEXT_LEFT_OUT] = "of marks left out"};
    size_t changed = 0;
    for (int c = TRL_TEXT_SAME + 1; c < TRL_TEXT_CHANGES; c++) {
        const trl_text_example *e = &s->examples[c][0];
        if (s->tokens[c] > 0 && changed == 0)
            cli_say(common, "words of the texts that are taken otherwise than written (--as-is: none):");
        if (s->tokens[c] > 0)
            cli_say(common, "  %zu %s: %s%s%s", s->tokens[c], what[c], e->written, *e->words ? " -> " : "", e->words);
        changed += s->tokens[c];
    }
}

static size_t count_fatal(const trl_findings *findings)
{
    size_t fatal = 0;
    const trl_finding *f;
    for (size_t i = 0; (f = trl_findings_get(findings, i)); i++)
        fatal += (size_t)trl_finding_is_fatal(f->kind);
    return fatal;
}

int corpus_input_words(const cli_common *common, const corpus_input *input, const trl_lexicon *lexicon,
                       trl_findings *findings, trl_corpus *corpus)
{
    trl_text_summary summary;
    trl_error err;
    size_t before = count_fatal(findings);
    if (input->as_is)
        return 0;
    if (trl_corpus_find_words(corpus, lexicon, input->replace, &summary, findings, &err) < 0)
        return cli_failure(&err);
    say_changes(common, &summary);
    if (input->skip_bad || count_fatal(findings) == before)
        return 0;
    corpus_input_report(findings, 10);
    return refuse_bad("the corpus");
}
