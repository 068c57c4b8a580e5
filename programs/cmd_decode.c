/* trellis decode: which words were said? */
#include "cli.h"
#include "corpus_input.h"
#include "decode_live.h"
#include "decode_profile.h"
#include "kept_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trellis/decode.h>
#include <trellis/lattice_file.h>
#include <trellis/nbest_file.h>
#include <unistd.h>

extern const cli_command cmd_decode;

struct values {
    cli_common common;
    corpus_input corpus;
    const char *output, *to, *lattice, *likelihoods, *utterance, *device, *search, *likelihood_mode;
    int resume, no_adapt, most_active, least_active, nbest, no_confidence, mbr, subsampling;
    double beam, lattice_beam, word_beam, acoustic_scale, language_scale, word_penalty, posterior_scale;
    int online, partial, pid;
    double raw, follow, pause;
    int search_threads, score_threads, profile;
    double ahead;
};

/* One corpus or sound file of the command line. */
typedef struct input {
    trl_findings *findings;
    trl_corpus *corpus;
} input;

typedef struct job {
    const struct values *values;
    trl_decode_options options;
    trl_corpus_options reading;
    trl_model *model;
    trl_graph *graph;
    char **sounds; /* the arguments behind model and graph */
    int sound_count;
    trl_pool *pool;
    trl_decoding_writer *writer;
    trl_lattice_writer *lattices; /* NULL: not wanted */
    kept_output kept;
    trl_nbest_writer *nbest; /* instead of `writer`; NULL: not wanted */
    input *inputs;
    size_t count;
    trl_decode_summary sum; /* of all inputs */
    double log_likelihood, tokens;
} job;

/* ---- Options ---- */

static int set_threads(job *j)
{
    static const char *const searches[] = {"owner", "merge", NULL};
    static const char *const modes[] = {"block", "demand", "ahead", "auto", NULL};
    const struct values *v = j->values;
    trl_decode_options *o = &j->options;
    int search = o->search, mode = o->likelihood_mode;
    int code = cli_choose(&cmd_decode, "search", v->search, searches, &search);
    if (code == 0)
        code = cli_choose(&cmd_decode, "likelihood-mode", v->likelihood_mode, modes, &mode);
    o->search = (trl_search_way)search;
    o->likelihood_mode = (trl_likelihood_mode)mode;
    o->search_threads = v->search_threads;
    o->score_threads = v->score_threads;
    o->ahead = v->ahead;
    o->profile = v->profile;
    return code;
}

static int set_options(job *j)
{
    const struct values *v = j->values;
    trl_decode_options *o = &j->options;
    trl_error err;
    int code = corpus_input_parse(&cmd_decode, &v->corpus, &j->reading, &o->channel);
    j->reading.need_text = 0;
    o->beam = v->beam;
    o->lattice_beam = v->lattice_beam;
    if (!isnan(v->word_beam))
        o->word_beam = v->word_beam;
    o->most_active = v->most_active;
    o->least_active = v->least_active < v->most_active ? v->least_active : v->most_active;
    if (!isnan(v->acoustic_scale))
        o->acoustic_scale = v->acoustic_scale;
    if (!isnan(v->language_scale))
        o->language_scale = v->language_scale;
    o->word_penalty = v->word_penalty;
    o->posterior_scale = v->posterior_scale;
    o->mbr = v->mbr;
    o->skip_bad = v->corpus.skip_bad;
    o->likelihoods = v->likelihoods;
    o->subsampling = v->subsampling;
    o->only = v->utterance;
    o->device = v->device;
    o->online = v->online;
    if (v->no_adapt)
        o->adapt = 0;
    if (code == 0)
        code = set_threads(j);
    if (code == 0 && v->language_scale <= 0) /* in the library 0 is the default */
        code = cli_usage_error(&cmd_decode, "--lm-scale is %g; it must be more than 0", v->language_scale);
    if (code == 0 && v->pid != 0 && !(v->follow > 0))
        code = cli_usage_error(&cmd_decode, "--pid says when a file that grows has ended: give --follow, too");
    if (code == 0 && trl_decode_options_check(o, &err) < 0)
        code = cli_refused(&cmd_decode, &err);
    return code;
}

/* ---- Preparation ---- */

/* Formats of ours, behind those of words. */
enum { TO_NBEST = TRL_DECODING_JSONL + 1, TO_NBEST_JSONL };

static int choose_format(const job *j, int *format)
{
    static const char *const names[] = {"text", "ctm", "jsonl", "nbest", "nbest-jsonl", NULL};
    *format = TRL_DECODING_TEXT;
    return cli_choose(&cmd_decode, "to", j->values->to, names, format);
}

static int open_writer(job *j)
{
    const struct values *v = j->values;
    const char *path = v->output ? v->output : "-";
    trl_error err;
    int format, code = choose_format(j, &format);
    if (code)
        return code;
    if (v->nbest < 1)
        return cli_usage_error(&cmd_decode, "--nbest takes a number from 1 on");
    if (v->mbr && format >= TO_NBEST)
        return cli_usage_error(&cmd_decode, "--mbr chooses one string of words; leave it out, or --to %s", v->to);
    j->options.lattice = v->lattice != NULL || format >= TO_NBEST;
    j->options.confidence = !v->no_confidence && (format == TRL_DECODING_CTM || format == TRL_DECODING_JSONL);
    code = format == TO_NBEST         ? trl_nbest_writer_open(path, TRL_NBEST_TEXT, &j->nbest, &err)
           : format == TO_NBEST_JSONL ? trl_nbest_writer_open(path, TRL_NBEST_JSONL, &j->nbest, &err)
                                      : trl_decoding_writer_open(path, (trl_decoding_format)format, &j->writer, &err);
    return code < 0 ? cli_failure(&err) : 0;
}

/* As the best words are chosen. */
static trl_lattice_scale scale_of(const job *j)
{
    const trl_decode_options *o = &j->options;
    double lm_scale = o->language_scale > 0 ? o->language_scale : 1 / o->acoustic_scale;
    return (trl_lattice_scale){1 / lm_scale, 1, o->word_penalty};
}

/* Machines of words are weighed as the best words are chosen. */
static int open_lattices(job *j)
{
    trl_lattice_scale scale = scale_of(j);
    trl_error err;
    if (j->values->lattice && trl_lattice_writer_open(j->values->lattice, &scale, &j->lattices, &err) < 0)
        return cli_failure(&err);
    return 0;
}

/* Puts a corpus behind the last one that has utterances of its own, if it can be: so that several sound files are decoded side by side. */
static int join_input(job *j, size_t number)
{
    trl_error err;
    size_t before = number;
    while (before > 0 && !j->inputs[before - 1].corpus)
        before--;
    int joined = before > 0 ? trl_corpus_append(j->inputs[before - 1].corpus, j->inputs[number].corpus, &err) : 0;
    if (joined < 0)
        return cli_failure(&err);
    if (joined) {
        trl_corpus_destroy(j->inputs[number].corpus);
        j->inputs[number].corpus = NULL;
    }
    return 0;
}

static int read_inputs(job *j, char **paths, size_t count)
{
    int code = 0;
    j->count = count;
    j->inputs = calloc(count, sizeof *j->inputs);
    if (!j->inputs)
        return cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"});
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = corpus_input_read(paths[i], &j->reading, j->values->corpus.skip_bad, &j->inputs[i].findings,
                                 &j->inputs[i].corpus);
        if (code == 0)
            code = join_input(j, i);
    }
    return code;
}

static int check_fit(const job *j, char **arguments, trl_error *err)
{
    trl_error why;
    int code = trl_graph_fits(j->graph, j->model, &why);
    return code < 0 ? cli_error(err, code, "%s with %s: %s", arguments[1], arguments[0], why.text) : 0;
}

static void say_line(void *user, const char *text)
{
    cli_say(user, "%s", text);
}

/* An installed model has a graph of its own. Then what follows is sound, unless it is a graph. */
static int is_graph_left_out(const char *model, const char *next)
{
    const char *ending = strrchr(next, '.');
    trl_graph *graph = NULL;
    trl_error err;
    if (!trl_graph_is_installed(model) || (ending && strcmp(ending, ".trg") == 0))
        return 0;
    int code = strcmp(next, "-") == 0 ? TRL_EFORMAT : trl_graph_read(next, &graph, &err);
    trl_graph_destroy(graph);
    return code == TRL_EFORMAT || code == TRL_ENOENT || code == TRL_EUNSUPPORTED;
}

/* A graph takes some seconds to make: a wrong name should be told before. */
static int look_for_inputs(const job *j, trl_error *err)
{
    for (int i = 0; i < j->sound_count; i++)
        if (strcmp(j->sounds[i], "-") != 0 && access(j->sounds[i], F_OK) != 0)
            return cli_error(err, TRL_ENOENT, "%s: can't open the corpus: %s", j->sounds[i], strerror(errno));
    return 0;
}

static int read_graph(job *j, int count, char **arguments, trl_error *err)
{
    int left_out = is_graph_left_out(arguments[0], arguments[1]);
    j->sounds = arguments + (left_out ? 1 : 2);
    j->sound_count = count - (left_out ? 1 : 2);
    int code = look_for_inputs(j, err);
    if (code < 0)
        return code;
    if (left_out && isnan(j->values->acoustic_scale))
        j->options.acoustic_scale = trl_decode_large_defaults().acoustic_scale;
    if (left_out)
        return trl_graph_installed(arguments[0], j->model, say_line, (void *)(uintptr_t)&j->values->common, &j->graph,
                                   err); /* it is only read */
    code = trl_graph_read(arguments[1], &j->graph, err);
    return code < 0 ? code : check_fit(j, arguments, err);
}

static int ask_for_more(const char *model)
{
    trl_model *there;
    trl_error err;
    if (trl_graph_is_installed(model))
        return cli_usage_error(&cmd_decode, "which sound?");
    if (trl_model_import(model, NULL, &there, &err) < 0)
        return cli_failure(&err);
    trl_model_destroy(there);
    return cli_usage_error(&cmd_decode, "a GRAPH or the sound is missing; only an installed model with a language "
                                        "model, such as en-us of Debian's pocketsphinx-en-us, needs no GRAPH");
}

static int read_model(job *j, int count, char **arguments)
{
    trl_error err;
    int code = set_options(j);
    if (code == 0 && count == 2 && !is_graph_left_out(arguments[0], arguments[1]))
        code = ask_for_more(arguments[0]);
    if (code == 0 &&
        (trl_model_import(arguments[0], NULL, &j->model, &err) < 0 || read_graph(j, count, arguments, &err) < 0))
        code = cli_failure(&err);
    return code;
}

/* Where an utterance has several threads, as many are decoded at a time as there are cores for. */
static int make_pool(job *j)
{
    cli_common common = j->values->common;
    int each = j->options.search_threads + j->options.score_threads;
    if (common.threads == 0 && each > 1) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        common.threads = cores > each ? (int)(cores / each) : 1;
    }
    return cli_pool(&common, &j->pool);
}

/* The results of utterances that are done are kept beside the output until it is complete. */
static int open_kept(job *j)
{
    const char *output = j->values->output;
    if (!output || !cli_is_plain_file(output))
        return j->values->resume
                   ? cli_usage_error(&cmd_decode, "--resume goes on with an output that is a file: say -o")
                   : 0;
    int code = kept_output_open(&j->kept, &j->values->common, output, j->values->resume);
    j->options.kept = j->kept.kept;
    return code;
}

static int prepare(job *j)
{
    int code = make_pool(j);
    if (code == 0)
        code = read_inputs(j, j->sounds, (size_t)j->sound_count);
    if (code == 0)
        code = open_writer(j);
    if (code == 0)
        code = open_lattices(j);
    return code ? code : open_kept(j);
}

static void clean_up(job *j)
{
    trl_decoding_writer_abort(j->writer);
    trl_lattice_writer_abort(j->lattices);
    trl_nbest_writer_abort(j->nbest);
    for (size_t i = 0; j->inputs && i < j->count; i++) {
        trl_corpus_destroy(j->inputs[i].corpus);
        trl_findings_destroy(j->inputs[i].findings);
    }
    free(j->inputs);
    kept_output_close(&j->kept);
    trl_graph_destroy(j->graph);
    trl_model_destroy(j->model);
    trl_pool_destroy(j->pool);
}

/* ---- The work ---- */

static int write_nbest(const job *j, const trl_decoding *d, trl_error *err)
{
    trl_lattice_scale scale = scale_of(j);
    trl_nbest *list = NULL;
    int code = trl_lattice_nbest(d->lattice, &scale, (size_t)j->values->nbest, &list, err);
    if (code == 0)
        code = trl_nbest_writer_add(j->nbest, d->utterance->id, trl_graph_words(j->graph), list, err);
    trl_nbest_destroy(list);
    return code;
}

static int use_decoding(void *user, const trl_decoding *decoding, trl_error *err)
{
    job *j = user;
    int code = j->nbest ? write_nbest(j, decoding, err) : trl_decoding_writer_add(j->writer, decoding, err);
    if (code < 0 || !j->lattices)
        return code;
    return trl_lattice_writer_add(j->lattices, decoding->utterance->id, decoding->lattice, err);
}

static void add_summary(job *j, const trl_decode_summary *s)
{
    trl_decode_summary *sum = &j->sum;
    sum->utterances += s->utterances;
    sum->skipped += s->skipped;
    sum->unfinished += s->unfinished;
    sum->wordless += s->wordless;
    sum->narrowed += s->narrowed;
    sum->words += s->words;
    sum->frames += s->frames;
    sum->seconds += s->seconds;
    sum->adapted += s->adapted;
    profile_add(&sum->profile, &s->profile);
    j->log_likelihood += s->log_likelihood * (double)s->frames;
    j->tokens += s->tokens * (double)s->frames;
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void say_summary(const job *j, double elapsed)
{
    const cli_common *common = &j->values->common;
    const trl_decode_summary *s = &j->sum;
    double frames = s->frames > 0 ? (double)s->frames : 1;
    cli_say(common,
            "%zu utterance%s, %zu words, %.1f s of sound in %.2f s (%.5f of real time); %.0f tokens and log-likelihood "
            "%.3f per frame",
            s->utterances, s->utterances == 1 ? "" : "s", s->words, s->seconds, elapsed,
            s->seconds > 0 ? elapsed / s->seconds : 0, j->tokens / frames, j->log_likelihood / frames);
    if (s->adapted > 0)
        cli_say(common, "adapted to %zu speaker%s", s->adapted, s->adapted == 1 ? "" : "s");
    else if (trl_decode_passes(j->model, &j->options) > 1)
        cli_say(common, "not adapted: no speaker has 500 frames of speech that can be read more than once");
    if (s->wordless > 0)
        cli_say(common, "%zu utterance%s without words: silence, noise, or sound that is not like the model's",
                s->wordless, s->wordless == 1 ? " is" : "s are");
    if (s->unfinished > 0)
        cli_say(common, "%zu of them ended in the middle of what the graph has; a wider beam may help", s->unfinished);
    if (s->narrowed > 0)
        cli_say(common, "%zu lattices would have been too large: theirs have a narrower beam", s->narrowed);
    if (j->options.profile)
        profile_say(&s->profile);
}

static int decode_inputs(job *j, trl_error *err)
{
    int code = 0;
    size_t count = 0;
    for (size_t i = 0; i < j->count; i++)
        if (j->inputs[i].corpus)
            count += j->options.only ? 1 : trl_corpus_count(j->inputs[i].corpus);
    count *= (size_t)trl_decode_passes(j->model, &j->options);
    j->options.progress = cli_progress(&j->values->common, "decoding", "utt", count);
    for (size_t i = 0; code == 0 && i < j->count; i++) {
        trl_decode_summary summary;
        if (!j->inputs[i].corpus)
            continue;
        code = trl_decode_corpus(j->model, j->graph, j->inputs[i].corpus, &j->options, j->pool, j->inputs[i].findings,
                                 use_decoding, j, &summary, err);
        if (code == 0)
            add_summary(j, &summary);
    }
    trl_progress_destroy(j->options.progress);
    return code;
}

static int name_skipped(const job *j)
{
    const trl_findings **lists = calloc(j->count, sizeof *lists);
    if (!lists)
        cli_out_of_memory();
    for (size_t i = 0; i < j->count; i++) {
        lists[i] = j->inputs[i].findings;
        corpus_input_warn(&j->values->common, lists[i]);
    }
    int code = corpus_inputs_skipped(lists, j->count, j->sum.skipped, j->values->output);
    free(lists);
    return code;
}

static int decode(job *j)
{
    trl_error err;
    double start = clock_seconds();
    int code = decode_inputs(j, &err);
    if (code == 0) {
        code = j->nbest ? trl_nbest_writer_commit(j->nbest, &err) : trl_decoding_writer_commit(j->writer, &err);
        j->nbest = NULL;
        j->writer = NULL;
    }
    if (code == 0 && j->lattices) {
        code = trl_lattice_writer_commit(j->lattices, &err);
        j->lattices = NULL;
    }
    if (code < 0)
        return kept_output_failure(&j->kept, &err);
    kept_output_done(&j->kept);
    say_summary(j, clock_seconds() - start);
    return name_skipped(j);
}

/* ---- Sound that comes while it is decoded ---- */

static int is_live(const job *j)
{
    const struct values *v = j->values;
    if (v->raw != 0 || v->follow != 0 || v->partial || v->pause != 0)
        return 1;
    int wants_lattice = v->lattice || v->mbr || (v->to && strncmp(v->to, "nbest", 5) == 0);
    return j->sound_count == 1 && strcmp(j->sounds[0], "-") == 0 && !v->likelihoods && !wants_lattice;
}

static int decode_live(const job *j)
{
    const struct values *v = j->values;
    live_decoding live = {.common = &v->common,
                          .path = j->sounds[0],
                          .output = v->output,
                          .partial = v->partial,
                          .pid = v->pid,
                          .raw = v->raw,
                          .follow = v->follow,
                          .channel = j->options.channel,
                          .options = trl_decode_stream_defaults()};
    int format;
    trl_error err;
    int code = choose_format(j, &format);
    if (code)
        return code;
    if (v->raw < 0 || v->follow < 0)
        return cli_usage_error(&cmd_decode, "--raw and --follow take a number above 0");
    if (j->sound_count > 1 || v->likelihoods || v->utterance)
        return cli_usage_error(&cmd_decode, "--raw, --follow, --partial and --pause are for one sound");
    if (v->lattice || v->mbr || format >= TO_NBEST)
        return cli_usage_error(&cmd_decode, "a stream has no lattice: --lattice, --mbr and --to nbest are for files");
    if (v->partial && v->to && format != TRL_DECODING_JSONL)
        return cli_usage_error(&cmd_decode, "--partial writes JSON lines; leave out --to %s", v->to);
    live.format = v->partial || format == TRL_DECODING_JSONL ? LIVE_JSONL
                  : format == TRL_DECODING_CTM               ? LIVE_CTM
                                                             : LIVE_TEXT;
    live.options.decode = j->options;
    live.options.pause = v->pause;
    if (trl_decode_stream_options_check(&live.options, &err) < 0)
        return cli_refused(&cmd_decode, &err);
    return live_decode(&live, j->model, j->graph);
}

static int run(void *values, int count, char **arguments)
{
    job j = {.values = values, .options = trl_decode_defaults(), .reading = trl_corpus_defaults()};
    int code = read_model(&j, count, arguments);
    if (code == 0 && is_live(&j)) {
        code = decode_live(&j);
    } else if (code == 0) {
        code = prepare(&j);
        if (code == 0)
            code = decode(&j);
    }
    clean_up(&j);
    return code;
}

static const struct values defaults = {.nbest = 10,
                                       .subsampling = 1,
                                       .beam = 13,
                                       .lattice_beam = 6,
                                       .most_active = 7000,
                                       .least_active = 200,
                                       .word_beam = NAN,
                                       .acoustic_scale = NAN,
                                       .language_scale = NAN,
                                       .posterior_scale = TRL_POSTERIOR_SCALE,
                                       .search_threads = 1,
                                       .ahead = 10};

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "FILE", "where the words go (default: standard output)"},
    KEPT_OUTPUT_OPTION(struct values),
    {"to", 0, CLI_TEXT, offsetof(struct values, to), "FORMAT", "text (default), ctm, jsonl, nbest, nbest-jsonl"},
    {"nbest", 0, CLI_INT, offsetof(struct values, nbest), "N", "so many word strings of each utterance (default 10)"},
    {"mbr", 0, CLI_FLAG, offsetof(struct values, mbr), NULL,
     "the words with the least expected errors (minimum Bayes risk) instead of the best path's"},
    {"no-confidence", 0, CLI_FLAG, offsetof(struct values, no_confidence), NULL,
     "ctm and jsonl without confidences: no lattice is made"},
    {"lattice", 0, CLI_TEXT, offsetof(struct values, lattice), "PLACE",
     "write lattices, too: a file, or a format and a name, as of trellis lattice copy (ark:, ark,t:, lattice:, fst:)"},
    {"beam", 0, CLI_NUMBER, offsetof(struct values, beam), "B",
     "ways that cost so much more than a frame's best are given up (default 13)"},
    {"lattice-beam", 0, CLI_NUMBER, offsetof(struct values, lattice_beam), "B",
     "ways that cost so much more than the best path are no choice at the end (default 6)"},
    {"word-beam", 0, CLI_NUMBER, offsetof(struct values, word_beam), "B", "a narrower beam where words are written"},
    {"max-active", 0, CLI_INT, offsetof(struct values, most_active), "N",
     "so many tokens go on from a frame (default 7000)"},
    {"min-active", 0, CLI_INT, offsetof(struct values, least_active), "N",
     "so many go on although they are out of the beam (default 200)"},
    {"acoustic-scale", 0, CLI_NUMBER, offsetof(struct values, acoustic_scale), "X",
     "factor on the log-likelihoods in the search (default 0.1; 0.125 with the graph of an installed model)"},
    {"lm-scale", 0, CLI_NUMBER, offsetof(struct values, language_scale), "X",
     "weight of the graph against the log-likelihoods when the best words are chosen (default 1 / acoustic scale)"},
    {"word-penalty", 0, CLI_NUMBER, offsetof(struct values, word_penalty), "COST",
     "cost of every word when the best words are chosen (default 0); may be negative"},
    {"posterior-scale", 0, CLI_NUMBER, offsetof(struct values, posterior_scale), "X",
     "factor on all costs for confidences and --mbr (default 0.6): smaller means less sure"},
    {"likelihoods", 0, CLI_TEXT, offsetof(struct values, likelihoods), "FILE",
     "log-likelihoods of the model's tied states from a feature file (Kaldi's .ark or .scp …), a matrix per utterance"},
    SUBSAMPLING_OPTION(struct values),
    {"utterance", 0, CLI_TEXT, offsetof(struct values, utterance), "ID", "decode this one alone"},
    {"no-adapt", 0, CLI_FLAG, offsetof(struct values, no_adapt), NULL,
     "with a model from speaker-adaptive training: decode in one pass, with its mixtures for frames as they come"},
    {"online", 0, CLI_FLAG, offsetof(struct values, online), NULL,
     "frames are normalised as those of a stream: with --no-adapt, the same words as from a pipe"},
    CORPUS_FORMAT_OPTION(struct values, corpus),
    CORPUS_SOUND_OPTIONS(struct values, corpus),
    {"device", 0, CLI_DEVICE, offsetof(struct values, device), "NAME",
     "cpu (default), cpu:avx2 …, opencl, opencl:N, cuda, cuda:N, auto; several with commas: cpu,cuda:0 (of different "
     "kinds, the last digits depend on who was free): who makes likelihoods; a device makes all of them ahead of the "
     "search"},
    {.name = "Threads inside an utterance, and likelihoods", .kind = CLI_GROUP},
    {"search-threads", 0, CLI_INT, offsetof(struct values, search_threads), "N",
     "threads that search one utterance (default 1); the words are the same"},
    {"search", 0, CLI_TEXT, offsetof(struct values, search), "WAY",
     "owner (default): each state belongs to a thread; merge: threads have copies that one of them merges"},
    {"likelihood-mode", 0, CLI_TEXT, offsetof(struct values, likelihood_mode), "MODE",
     "block, demand, ahead, or auto (default): whichever is quickest; the words are the same"},
    {"ahead", 0, CLI_NUMBER, offsetof(struct values, ahead), "SECONDS",
     "likelihoods are made so far ahead, at most (default 10)"},
    {"score-threads", 0, CLI_INT, offsetof(struct values, score_threads), "N",
     "threads besides those that search, for likelihoods ahead alone (default 0)"},
    {"profile", 0, CLI_FLAG, offsetof(struct values, profile), NULL,
     "say where the time of the search goes, and how many likelihoods it took"},
    {.name = "Sound that comes while it is decoded", .kind = CLI_GROUP},
    {"partial", 0, CLI_FLAG, offsetof(struct values, partial), NULL,
     "write JSON lines that show what it looks like so far, too"},
    {"pause", 0, CLI_NUMBER, offsetof(struct values, pause), "SECONDS",
     "so much silence behind a word ends an utterance (default: the stream is one)"},
    {"raw", 0, CLI_NUMBER, offsetof(struct values, raw), "HZ",
     "16-bit samples (little-endian, one channel) of this rate, without a header"},
    {"follow", 0, CLI_NUMBER, offsetof(struct values, follow), "SECONDS",
     "a file that grows, until it has not grown for so long"},
    {"pid", 0, CLI_INT, offsetof(struct values, pid), "PID", "with --follow: the sound ends with this process, too"},
    {0}};

const cli_command cmd_decode = {
    .name = "decode",
    .synopsis = "MODEL [GRAPH] CORPUS|AUDIO… [-o FILE] [--to FORMAT]",
    .summary = "finds which words were said",
    .description =
        "Reads sound and finds the words that were said in it: recognition. GRAPH has what can be said, down to the "
        "states of MODEL. CORPUS is any corpus (see corpus check); its transcripts are not looked at. Several sound "
        "files "
        "may be given; they are decoded side by side, too.\n\n"
        "With -o FILE, utterances that are done are kept in FILE.part until all are: after an interruption the same "
        "command with --resume goes on, and ends with the same bytes.\n\n"
        "An installed model with a dictionary and a language model, such as en-us of Debian's pocketsphinx-en-us, "
        "needs "
        "no GRAPH: one is made at the first time, which takes some seconds, and kept in ~/.cache/trellis "
        "(XDG_CACHE_HOME). Such models are looked for in the folders of TRELLIS_MODELS (between colons), then in "
        "pocketsphinx's.\n\n"
        "Formats (--to):\n\n"
        "  text    a line per utterance: its id and its words\n"
        "  ctm     a line per word: recording channel start duration word confidence\n"
        "  jsonl   an object per utterance: words with times and confidences, the errors to be expected among them, "
        "and the costs of graph and sound\n"
        "  nbest   a line for each of the --nbest best word strings: id, rank, graph cost, acoustic cost, words, with "
        "tabs between them; costs are not scaled\n"
        "  nbest-jsonl   the same as an object per utterance\n\n"
        "A confidence is the probability of the word at its place, among all paths of the lattice. --mbr chooses the "
        "words with the least expected number of wrong words; they may be those of no path.\n\n"
        "Times are seconds from the start of the sound file.\n\n" LIKELIHOODS_DESCRIPTION
        "The search goes through all frames at the same pace and keeps, in each, what is within --beam of its best. "
        "What "
        "is left within --lattice-beam of the best path is a lattice. The best words are chosen from that: they have "
        "the least sum of acoustic cost / --lm-scale, graph cost, and --word-penalty for each word. So scales can be "
        "tried without a new search being much different; to be exact, change --acoustic-scale along.\n\n"
        "Utterances are decoded side by side (--threads). --search-threads lets several threads search each of them, "
        "for "
        "long sound and streams: in every frame they share out the arcs, and then the states that these lead to. "
        "Likelihoods are made in one of three ways (--likelihood-mode): block, those that the search needs, for 16 "
        "frames at a "
        "time; demand, one by one when an arc wants it; ahead, all of them, up to --ahead seconds before the search "
        "comes "
        "there, by threads that have nothing to search. auto tries all three on the first frames, but for models with "
        "codebooks, such as en-us, where ahead is always the quickest. Words, costs and "
        "lattices are the same bytes whatever the threads, the search and the mode.\n\n"
        "A model from speaker-adaptive training wants frames that are adapted to their speaker. The sound is then read "
        "three times: two passes decode and estimate a linear transform for each speaker (fMLLR) along the words they "
        "found, the last one decodes with adapted frames. Who has less than 500 frames of speech is decoded with the "
        "model's mixtures for frames as they come, and so is sound from a pipe. With --no-adapt everybody is.\n\n"
        "Sound from a pipe (-) is decoded while it comes, and so is a file with --follow, --raw, --partial or --pause. "
        "WAV and samples without a header (--raw) are read as they come; other formats wait for their end. Words are "
        "written when they are final: "
        "when all ways that are still searched have them, a second later as a rule, after thirty seconds by choice of "
        "the best. Memory does not grow with the sound. A frame is searched when those that its derivatives need "
        "and a block of ten are there: some 0.16 s behind, "
        "with another rate than the model's up to 4096 samples more. Ctrl-C ends the sound, and so does an end in the "
        "middle "
        "of a frame or before what a header promises; what came is decoded, in the last case with a message and exit "
        "code "
        "3.\n\n"
        "A stream can't be normalised by its mean. Where the model's front end does so, by utterance or by speaker, "
        "the "
        "mean of the last six seconds is taken, and at the beginning that of the first, with a second's worth of the "
        "mean of the model's training where the model has it. Files are treated the same "
        "with "
        "--online: then their words, times and costs are those of the stream. There are no lattices of a stream, "
        "so no confidences; - with --lattice, --mbr or --to nbest is read to its end first, as a file.\n\n"
        "Digital zeros and noise of one unit, as of a muted microphone, count in no mean, and are heard as the model's "
        "silence (front end: silence = fill), unless the model was trained with features that have them as they "
        "are.\n\n"
        "With --pause each utterance has a line, its name a number, and is decoded as if it were alone. --partial "
        "writes three kinds of JSON lines: what it looks like (id, time, settled: words that will not change, "
        "tentative), "
        "words that are final (id, time up to which they are, final: with start and end), and at the end of an "
        "utterance all of it, as --to "
        "jsonl. Times are seconds from the start of the stream.",
    .options = options,
    .examples = "trellis decode en-us hello.wav\n"
                "trellis decode mono.trm loop.trg data/test\n"
                "trellis decode mono.trm loop.trg hello.wav goodbye.wav\n"
                "trellis decode sat.trm loop.trg data/test -o words.ctm --to ctm --lm-scale 12\n"
                "trellis decode mono.trm loop.trg data/test -o words.txt --lattice lat.ark\n"
                "trellis decode tri.trm large.trg talk.wav --search-threads 2 --likelihood-mode ahead --profile\n"
                "arecord -f S16_LE -r 16000 | trellis decode mono.trm loop.trg - --pause 0.5\n"
                "trellis decode mono.trm loop.trg growing.wav --follow 5 --partial",
    .least = 2,
    .most = 1 << 20,
    .values_size = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
