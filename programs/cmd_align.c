/* trellis align: when was each word, phone and state said? */
#include "cli.h"
#include "corpus_input.h"
#include "kept_output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trellis/alignment_file.h>

#define WORST 3     /* utterances that are named */
#define WORST_OF 10 /* when there are at least so many */

extern const cli_command cmd_align;

struct values {
    cli_common common;
    corpus_input corpus;
    oov_input oov;
    const char *output, *to, *likelihoods, *text, *text_file, *utterance, *device, *pronunciations;
    int resume, no_confidence, no_adapt, states, margin, cue_words, subsampling;
    double beam, scale, cue_pause;
};

typedef struct doubtful {
    const char *id;
    double fit;
} doubtful;

typedef struct job {
    const struct values *values;
    trl_align_options options;
    trl_corpus_options reading;
    trl_alignment_writer_options writing;
    trl_model *model;
    trl_lexicon *lexicon;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_pool *pool;
    trl_alignment_writer *writer;
    kept_output kept;
    double *uses;          /* by pronunciation of the lexicon; NULL: not wanted */
    doubtful worst[WORST]; /* the worst first */
    size_t worst_count;
} job;

/* ---- Options ---- */

static int set_options(job *j)
{
    const struct values *v = j->values;
    trl_align_options *o = &j->options;
    trl_error err;
    int code = oov_input_parse(&cmd_align, &v->oov, &o->unknown_words);
    if (code == 0)
        code = corpus_input_parse(&cmd_align, &v->corpus, &j->reading, &o->channel);
    j->reading.words = v->text;
    j->reading.words_file = v->text_file;
    o->skip_bad = v->corpus.skip_bad;
    o->beam = v->beam;
    o->acoustic_scale = v->scale;
    o->confidence = !v->no_confidence;
    o->confidence_margin = v->margin;
    o->likelihoods = v->likelihoods;
    o->subsampling = v->subsampling;
    if (v->no_adapt)
        o->adapt = 0;
    o->only = v->utterance;
    o->device = v->device;
    j->writing.states = v->states;
    j->writing.cue_words = v->cue_words;
    j->writing.cue_pause = v->cue_pause;
    if (code == 0 &&
        (trl_align_options_check(o, &err) < 0 || trl_alignment_writer_options_check(&j->writing, &err) < 0))
        code = cli_refused(&cmd_align, &err);
    return code;
}

static int check_transcripts(const struct values *v)
{
    if ((v->text != NULL) + (v->text_file != NULL) + (v->corpus.mlf != NULL) > 1)
        return cli_usage_error(&cmd_align, "--text, --text-file and --mlf exclude each other");
    return 0;
}

/* ---- Preparation ---- */

static int open_writer(job *j)
{
    trl_error err;
    const char *formats = j->values->to ? j->values->to : "textgrid";
    j->writing.model = j->model;
    int code = trl_alignment_writer_open(j->values->output, formats, &j->writing, &j->writer, &err);
    return code == TRL_EINVAL ? cli_refused(&cmd_align, &err) : code < 0 ? cli_failure(&err) : 0;
}

static int make_counters(job *j)
{
    size_t count = trl_lexicon_first(j->lexicon, trl_lexicon_words(j->lexicon));
    if (j->values->pronunciations && !(j->uses = calloc(count, sizeof *j->uses)))
        return cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"});
    return 0;
}

static int prepare(job *j, char **arguments)
{
    trl_error err;
    const corpus_input *corpus = &j->values->corpus;
    int code = check_transcripts(j->values);
    if (code == 0)
        code = set_options(j);
    if (code == 0)
        code = cli_pool(&j->values->common, &j->pool);
    if (code == 0 && trl_model_import(arguments[0], NULL, &j->model, &err) < 0)
        code = cli_failure(&err);
    if (code == 0)
        code = corpus_input_lexicon(corpus, arguments[2], NULL, &j->lexicon);
    if (code == 0)
        code = make_counters(j);
    if (code == 0)
        code = open_writer(j);
    if (code == 0)
        code = corpus_input_read(arguments[1], &j->reading, corpus->skip_bad, &j->findings, &j->corpus);
    if (code == 0)
        code = corpus_input_words(&j->values->common, corpus, j->lexicon, j->findings, j->corpus);
    if (code == 0)
        code = oov_input_find(&j->values->common, &j->values->oov, j->model, j->lexicon, j->corpus,
                              j->options.unknown_words, j->options.only);
    if (code == 0)
        code = kept_output_open(&j->kept, &j->values->common, j->values->output, j->values->resume);
    j->options.kept = j->kept.kept;
    return code;
}

/* A sound alone, and nothing says what is said in it: the first thing that a new user tries. */
static void say_how_to_give_words(const job *j)
{
    const struct values *v = j->values;
    if (j->corpus && strcmp(trl_corpus_format_name(j->corpus), "sound") == 0 && !v->text && !v->text_file &&
        !v->corpus.mlf)
        fputs("Say with --text or --text-file what is said in the sound, or put it beside it (.lab, .txt).\n", stderr);
}

/* ---- The work ---- */

static void note_worst(job *j, const trl_alignment *a)
{
    doubtful new = {a->utterance->id, a->fit};
    size_t place = j->worst_count;
    while (place > 0 && new.fit < j->worst[place - 1].fit)
        place--;
    if (place == WORST)
        return;
    j->worst_count += j->worst_count < WORST;
    memmove(&j->worst[place + 1], &j->worst[place], (j->worst_count - place - 1) * sizeof new);
    j->worst[place] = new;
}

/* With which pronunciation was each word said? Words aligned as noise have none. */
static void count_pronunciations(job *j, const trl_alignment *a)
{
    for (size_t i = 0; j->uses && i < a->spoken.count; i++) {
        const trl_segment *s = &a->spoken.items[i];
        long word = s->index >= 0 ? trl_lexicon_find(j->lexicon, s->label) : -1;
        if (word >= 0)
            j->uses[trl_lexicon_first(j->lexicon, (size_t)word) + (size_t)s->id]++;
    }
}

static int write_pronunciations(const job *j, trl_error *err)
{
    trl_lexicon *counted;
    if (!j->uses)
        return 0;
    int code = trl_lexicon_with_counts(j->lexicon, j->uses, TRL_PRONUNCIATION_SMOOTHING, &counted, err);
    if (code == 0)
        code = trl_lexicon_write(counted, j->values->pronunciations, err);
    trl_lexicon_destroy(counted);
    return code;
}

static int use_alignment(void *user, const trl_alignment *alignment, trl_error *err)
{
    job *j = user;
    note_worst(j, alignment);
    count_pronunciations(j, alignment);
    return trl_alignment_writer_add(j->writer, alignment, err);
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void say_summary(const job *j, const trl_align_summary *s, double elapsed)
{
    const cli_common *common = &j->values->common;
    const char *unit = s->seconds < 100 ? "s" : s->seconds < 6000 ? "minutes" : "hours";
    double length = s->seconds < 100 ? s->seconds : s->seconds < 6000 ? s->seconds / 60 : s->seconds / 3600;
    cli_say(common,
            "%zu utterance%s, %.1f %s of sound in %.2f s (%.5f of real time), log-likelihood %.3f per frame -> %s",
            s->utterances, s->utterances == 1 ? "" : "s", length, unit, elapsed,
            s->seconds > 0 ? elapsed / s->seconds : 0, s->log_likelihood, j->values->output);
    if (s->adapted > 0)
        cli_say(common, "adapted to %zu of %zu speaker%s: log-likelihood per frame of speech +%.3f", s->adapted,
                trl_corpus_speakers(j->corpus), trl_corpus_speakers(j->corpus) == 1 ? "" : "s", s->gain);
    else if (trl_align_passes(j->model, &j->options) > 1)
        cli_say(common, "not adapted: no speaker has 500 frames of speech that can be read more than once");
    if (corpus_input_warn(common, j->findings) > 0 || s->utterances < WORST_OF)
        return;
    cli_say(common, "look at these first, their words fit worst:");
    for (size_t i = 0; i < j->worst_count; i++)
        cli_say(common, "  %s: fit %.3f", j->worst[i].id, j->worst[i].fit);
}

static int align(job *j)
{
    trl_error err;
    trl_align_summary summary;
    double start = clock_seconds();
    size_t count = j->options.only ? 1 : trl_corpus_count(j->corpus);
    count *= (size_t)trl_align_passes(j->model, &j->options);
    j->options.progress = cli_progress(&j->values->common, "aligning", "utt", count);
    int code = trl_align_corpus(j->model, j->lexicon, j->corpus, &j->options, j->pool, j->findings, use_alignment, j,
                                &summary, &err);
    trl_progress_destroy(j->options.progress);
    if (code == 0) {
        code = trl_alignment_writer_commit(j->writer, &err);
        j->writer = NULL;
    }
    if (code == 0)
        code = write_pronunciations(j, &err);
    if (code < 0)
        return kept_output_failure(&j->kept, &err);
    kept_output_done(&j->kept);
    say_summary(j, &summary, clock_seconds() - start);
    return corpus_input_skipped(j->findings, summary.skipped, j->values->output);
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    job j = {.values = values,
             .options = trl_align_defaults(),
             .reading = trl_corpus_defaults(),
             .writing = trl_alignment_writer_defaults()};
    if (!j.values->output)
        return cli_usage_error(&cmd_align, "say with -o in which folder the alignments go");
    int code = prepare(&j, arguments);
    if (code == 0)
        code = align(&j);
    else
        say_how_to_give_words(&j);
    trl_alignment_writer_abort(j.writer);
    kept_output_close(&j.kept);
    trl_corpus_destroy(j.corpus);
    trl_findings_destroy(j.findings);
    trl_lexicon_destroy(j.lexicon);
    free(j.uses);
    trl_model_destroy(j.model);
    trl_pool_destroy(j.pool);
    return code;
}

static const struct values defaults = {
    .beam = 400, .scale = 0.1, .margin = 20, .subsampling = 1, .cue_words = 7, .cue_pause = 0.5};

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "DIR",
     "the folder for the files; made where it is missing"},
    KEPT_OUTPUT_OPTION(struct values),
    {"to", 0, CLI_TEXT, offsetof(struct values, to), "FORMATS",
     "textgrid (default), ctm, jsonl, kaldi, mlf, vtt, srt; several with commas between"},
    {"text", 0, CLI_TEXT, offsetof(struct values, text), "WORDS", "what is said, when CORPUS is one sound file"},
    {"text-file", 0, CLI_TEXT, offsetof(struct values, text_file), "FILE", "the same from a text file"},
    OOV_OPTIONS(struct values, oov),
    {"likelihoods", 0, CLI_TEXT, offsetof(struct values, likelihoods), "PLACE",
     "feature file (.ark, .scp, .trf …) with the log-likelihood of every tied state, a column each, in place of the "
     "model's: a neural network's output"},
    SUBSAMPLING_OPTION(struct values),
    {"utterance", 0, CLI_TEXT, offsetof(struct values, utterance), "ID", "align this one alone"},
    {"states", 0, CLI_FLAG, offsetof(struct values, states), NULL,
     "textgrid and mlf: the states too (jsonl and kaldi always have them)"},
    {"cue-words", 0, CLI_INT, offsetof(struct values, cue_words), "N",
     "vtt and srt: words in a subtitle at most; 1: each by itself (default 7)"},
    {"cue-pause", 0, CLI_NUMBER, offsetof(struct values, cue_pause), "SECONDS",
     "vtt and srt: a longer silence ends a subtitle (default 0.5)"},
    {"count-pronunciations", 0, CLI_TEXT, offsetof(struct values, pronunciations), "FILE",
     "write the lexicon again, with the probabilities that pronunciations have in these alignments"},
    {"no-confidence", 0, CLI_FLAG, offsetof(struct values, no_confidence), NULL,
     "leave the confidences out: less work"},
    {"confidence-margin", 0, CLI_INT, offsetof(struct values, margin), "FRAMES",
     "other paths so far around the best one count for the confidence (default 20)"},
    {"acoustic-scale", 0, CLI_NUMBER, offsetof(struct values, scale), "X",
     "factor on the log-likelihoods in the confidence (default 0.1)"},
    {"no-adapt", 0, CLI_FLAG, offsetof(struct values, no_adapt), NULL,
     "with a model from speaker-adaptive training: align in one pass, with its mixtures for frames as they come"},
    {"beam", 0, CLI_NUMBER, offsetof(struct values, beam), "B",
     "paths that fall so far behind in log-likelihood are given up; widened where none is left (default 400)"},
    CORPUS_FORMAT_OPTION(struct values, corpus),
    CORPUS_SOUND_OPTIONS(struct values, corpus),
    CORPUS_WORD_OPTIONS(struct values, corpus),
    {"device", 0, CLI_DEVICE, offsetof(struct values, device), "NAME",
     "cpu (default), cpu:avx2 …, opencl, opencl:N, cuda, cuda:N, auto; several with commas: cpu,cuda:0 (of different "
     "kinds, the last digits "
     "depend on who was free; see `trellis devices`)"},
    {0}};

const cli_command cmd_align = {
    .name = "align",
    .synopsis = "MODEL CORPUS LEXICON -o DIR [--to FORMATS]",
    .summary = "finds when each word, phone and state was said",
    .description =
        "Reads sound and what is said in it, and finds the times of words, phones and states: forced alignment. CORPUS "
        "is any corpus with transcripts (see corpus check), or one sound file with a transcript beside it "
        "(.lab, .txt), or given with --text or --text-file. An hour of sound with one transcript works too. MODEL is "
        "what `trellis train` writes, or a model of CMU Sphinx: its folder, or its name where it is installed (en-us "
        "with Debian's package pocketsphinx-en-us, whose dictionary is the LEXICON of that name); HTK's and Kaldi's "
        "models need a front end first (see model convert), except with "
        "--likelihoods.\n\n"
        "Formats (--to), and the files in DIR:\n\n"
        "  textgrid   NAME.TextGrid per sound file, for Praat: tiers of words and phones\n"
        "  ctm        words.ctm, phones.ctm: recording channel start duration label confidence\n"
        "  jsonl      alignments.jsonl: an object per utterance; words, their phones, their states\n"
        "  kaldi      ali.ark (transition ids), final.mdl, tree, phones.txt\n"
        "  mlf        words.mlf, phones.mlf: HTK master label files\n"
        "  vtt, srt   NAME.vtt, NAME.srt per sound file: subtitles\n\n"
        "NAME is the utterance's id when the utterance is the whole sound file; else the id of its recording (Kaldi's "
        "wav.scp), or the sound file's name.\n\n"
        "Times are seconds from the start of the sound file (mlf and kaldi: of the utterance). The sound is looked at "
        "in frames, windows of 25 ms each 10 ms as a rule. A boundary between two frames is put half way between the "
        "middles of their windows; the first segment begins with the utterance and the last ends with "
        "it.\n\n" LIKELIHOODS_DESCRIPTION
        "The confidence of a word or phone says how sure its place is, from 0 to 1. It is the mean, over its frames, "
        "of the posterior probability that the frame belongs to it: the probability of all paths that are in this word "
        "(phone) at this frame, divided by that of all paths. Only paths within --confidence-margin frames of the best "
        "one are looked at, and log-likelihoods count times --acoustic-scale, since neighbouring frames are not "
        "independent. 1 means that no other place is likely; it does not say that the words were said at all.\n\n"
        "That is what the fit of an utterance is for. In each frame the score of the aligned state is compared with "
        "those of up "
        "to 32 other states, spread over the model: fit = 1 - sum (best - aligned) / sum (best - mean of the others). "
        "1 means that no other state was better anywhere, 0 that states taken at random would do as well. An "
        "utterance is named in a warning when its fit is more than six robust standard deviations (1.4826 times the "
        "median "
        "deviation) and more than 0.06 below the median of the corpus; where it has less than 100 frames, its distance "
        "counts times the square root of frames / 100. Where there are fewer than ten utterances, those below 0.75 are "
        "named. "
        "The fits are in alignments.jsonl. Frames of words of unknown pronunciation are not "
        "compared.\n\n" TEXTS_DESCRIPTION " Alignments have the words as the transcript has them: one that was cut is "
        "one, with the pauses in it.\n\n" OOV_DESCRIPTION "\n\n"
        "A model from speaker-adaptive training (the stage sat of `trellis train`) wants frames that are adapted to "
        "their speaker. The sound is then read three times: two passes align and estimate a linear transform for each "
        "speaker (fMLLR), the last one aligns with adapted frames. Give a speaker's utterances together, since each "
        "run "
        "adapts anew; where a corpus does not say who speaks, see `trellis help corpus check`. Who has less than 500 "
        "frames (5 s) of speech is aligned with the model's mixtures for frames as they come, and so is sound from a "
        "pipe. With --no-adapt everybody is.\n\n"
        "Where the lexicon has several pronunciations of a word, the alignment chooses. --count-pronunciations writes "
        "a "
        "lexicon whose probabilities say how often it chose each: (uses + p) / (uses of the word + 1), where p are the "
        "probabilities that the word had in LEXICON, divided by their sum. So they sum up to 1 for each word, and "
        "words that do not occur keep the proportions they had.\n\n"
        "Utterances that can't be aligned, because they are too short for their transcript or nothing fits, "
        "end the command, or with --skip-bad are left out and named.",
    .options = options,
    .examples = "trellis align en-us hello.wav en-us -o aligned --text \"hello world\"\n"
                "trellis align mono.trm data/test lexicon.txt -o aligned\n"
                "trellis align mono.trm hello.wav lexicon.txt -o aligned --text \"HELLO WORLD\"\n"
                "trellis align mono.trm talk.flac lexicon.txt -o subtitles --text-file talk.txt --to vtt\n"
                "trellis align mono.trm data/test lexicon.txt -o aligned --to ctm,jsonl --skip-bad",
    .least = 3,
    .most = 3,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
