/* trellis features: from a corpus to feature files and pictures. */
#include "cli.h"
#include "corpus_input.h"
#include "frontend_input.h"
#include "kept_output.h"
#include "plot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/audio.h>
#include <trellis/extract.h>
#include <trellis/feature_file.h>
#include <trellis/version.h>

extern const cli_command cmd_features;

struct values {
    cli_common common;
    frontend_input frontend;
    corpus_input corpus;
    const char *output, *plot, *utterance;
    int describe, resume;
};

/* HTK's code for what the frames are, with qualifiers; USER (9) for what HTK has no name for. */
static int htk_kind(const trl_frontend_options *o)
{
    static const int base[] = {[TRL_MFCC] = 6, [TRL_PLP] = 11, [TRL_FBANK] = 7};
    if (o->layout != TRL_LAYOUT_HTK || o->splice_left || o->splice_right || o->transform.rows || o->deltas > 3)
        return 9;
    int kind = base[o->kind];
    kind |= o->energy != TRL_ENERGY_NONE ? 0100 : o->kind == TRL_FBANK ? 0 : 020000;
    kind |= o->deltas > 0 ? 0400 : 0;
    kind |= o->deltas > 1 ? 01000 : 0;
    kind |= o->deltas > 2 ? 0100000 : 0;
    return kind | (o->cmvn != TRL_CMVN_NONE ? 04000 : 0);
}

/* ---- Extraction ---- */

typedef struct job {
    const struct values *values;
    trl_frontend *frontend;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_pool *pool;
    trl_feature_writer *writer; /* NULL: nothing is written */
    kept_output kept;
    int channel;
    const char *drawn; /* the utterance to draw; NULL: none */
    trl_matrix drawn_frames;
} job;

static int copy_matrix(const trl_matrix *from, trl_matrix *to, trl_error *err)
{
    int code = trl_matrix_resize(to, from->rows, from->cols, err);
    for (size_t t = 0; code == 0 && t < from->rows; t++)
        memcpy(trl_matrix_row(to, t), trl_matrix_row(from, t), from->cols * sizeof(float));
    return code;
}

static int use_frames(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *err)
{
    job *j = user;
    int code = 0;
    if (j->drawn && strcmp(j->drawn, u->id) == 0)
        code = copy_matrix(frames, &j->drawn_frames, err);
    return code == 0 && j->writer ? trl_feature_writer_add(j->writer, u->id, frames, err) : code;
}

static int open_writer(job *j)
{
    if (!j->values->output)
        return 0;
    char provenance[512];
    trl_error err;
    snprintf(provenance, sizeof provenance,
             "trellis %s\ncommand = features\ncorpus = %s, %zu utterances\nchannel = %s\n", trl_version(),
             trl_corpus_format_name(j->corpus), trl_corpus_count(j->corpus),
             j->values->corpus.channel ? j->values->corpus.channel : "0");
    const trl_frontend_options *o = trl_frontend_get(j->frontend);
    trl_feature_writer_options w = trl_feature_writer_defaults();
    w.frontend = trl_frontend_description(j->frontend);
    w.provenance = provenance;
    w.shift_ms = o->shift_ms;
    w.htk_kind = htk_kind(o);
    return trl_feature_writer_open(j->values->output, &w, &j->writer, &err) < 0 ? cli_failure(&err) : 0;
}

/* Of the place where features go, FILE or ark,scp:FILE,FILE, the first file; NULL: none. */
static char *output_file(const char *place)
{
    if (!place)
        return NULL;
    const char *colon = strchr(place, ':');
    char *file = cli_with_ending(colon ? colon + 1 : place, "");
    if (colon && colon > place + 4 && strncmp(colon - 4, ",scp", 4) == 0)
        file[strcspn(file, ",")] = '\0';
    return file;
}

static int is_stream(const char *file)
{
    struct stat status;
    return !cli_is_plain_file(file) && (stat(file, &status) != 0 || !S_ISDIR(status.st_mode));
}

/* Beside the file or folder of the features; a stream has nothing beside it. */
static int open_kept(job *j)
{
    char *output = output_file(j->values->output);
    int code = 0;
    if (output && !is_stream(output))
        code = kept_output_open(&j->kept, &j->values->common, output, j->values->resume);
    else if (j->values->resume)
        code = cli_usage_error(&cmd_features, "--resume goes on with an output that is a file or a folder: say -o");
    free(output);
    return code;
}

static void say_summary(const job *j, const trl_extract_summary *s)
{
    if (j->values->output)
        cli_say(&j->values->common, "%zu utterance%s, %zu frames of %d values, %.1f minutes of sound -> %s",
                s->utterances, s->utterances == 1 ? "" : "s", s->frames, trl_frontend_dim(j->frontend), s->seconds / 60,
                j->values->output);
    corpus_input_warn(&j->values->common, j->findings);
}

static int extract(job *j)
{
    trl_error err;
    trl_extract_summary summary;
    trl_extract_options o = trl_extract_defaults();
    o.channel = j->channel;
    o.skip_bad = j->values->corpus.skip_bad;
    o.only = j->writer ? NULL : j->drawn;
    o.kept = j->kept.kept;
    o.progress = j->writer ? cli_progress(&j->values->common, "features", "utt", trl_corpus_count(j->corpus)) : NULL;
    int failed =
        trl_extract_corpus(j->corpus, j->frontend, &o, j->pool, j->findings, use_frames, j, &summary, &err) < 0;
    trl_progress_destroy(o.progress);
    if (!failed && j->writer)
        failed = trl_feature_writer_learnt(j->writer, j->frontend, &summary.mean, &err) < 0;
    if (!failed && j->writer) {
        failed = trl_feature_writer_commit(j->writer, &err) < 0;
        j->writer = NULL;
    }
    if (failed)
        return kept_output_failure(&j->kept, &err);
    kept_output_done(&j->kept);
    say_summary(j, &summary);
    char *output = output_file(j->values->output);
    int code = corpus_input_skipped(j->findings, summary.skipped, output);
    free(output);
    return code;
}

/* ---- The picture ---- */

static int choose_drawn(job *j, const char *path)
{
    if (!j->values->plot)
        return 0;
    trl_error err;
    if (plot_check_name(j->values->plot, &err) < 0)
        return cli_refused(&cmd_features, &err);
    if (strcmp(path, "-") == 0)
        return cli_usage_error(&cmd_features, "--plot reads the sound twice: name a file, not standard input");
    j->drawn = j->values->utterance;
    for (size_t i = 0; !j->drawn && i < trl_corpus_count(j->corpus); i++)
        if (!trl_corpus_get(j->corpus, i)->bad)
            j->drawn = trl_corpus_get(j->corpus, i)->id;
    if (j->drawn && trl_corpus_find(j->corpus, j->drawn) >= 0)
        return 0;
    fprintf(stderr, "trellis: there is no utterance '%s' to draw\n", j->drawn ? j->drawn : "");
    return EXIT_FAILED;
}

static int draw(job *j)
{
    trl_error err;
    float *samples;
    size_t count;
    const trl_utterance *u = trl_corpus_get(j->corpus, (size_t)trl_corpus_find(j->corpus, j->drawn));
    if (trl_extract_samples(u, j->frontend, j->channel, &samples, &count, &err) < 0)
        return cli_failure(&err);
    const trl_frontend_options *o = trl_frontend_get(j->frontend);
    char title[400];
    snprintf(title, sizeof title, "%s%s%s", u->id, u->text ? ":  " : "", u->text ? u->text : "");
    plot_input input = {title, samples, count, o->rate, &j->drawn_frames, 0, o->shift_ms};
    if (o->deltas > 0 && o->splice_left + o->splice_right == 0 && o->transform.rows == 0)
        input.block = (size_t)trl_frontend_static_dim(j->frontend);
    int code = plot_utterance(j->values->plot, &input, &err);
    trl_audio_free(samples);
    if (code < 0)
        return cli_failure(&err);
    cli_say(&j->values->common, "picture of %s -> %s", u->id, j->values->plot);
    return EXIT_CLEAN;
}

/* ---- The command ---- */

static int prepare(job *j, const char *path)
{
    trl_corpus_options o = trl_corpus_defaults();
    o.need_text = 0;
    int code = corpus_input_parse(&cmd_features, &j->values->corpus, &o, &j->channel);
    if (code == 0)
        code = cli_pool(&j->values->common, &j->pool);
    if (code == 0)
        code = corpus_input_read(path, &o, j->values->corpus.skip_bad, &j->findings, &j->corpus);
    if (code == 0)
        code = choose_drawn(j, path);
    if (code == 0)
        code = open_writer(j);
    return code == 0 ? open_kept(j) : code;
}

static int run(void *values, int count, char **arguments)
{
    job j = {.values = values};
    int code = frontend_input_create(&cmd_features, &j.values->frontend, NULL, &j.frontend);
    if (code == 0 && j.values->describe) {
        fputs(trl_frontend_description(j.frontend), stdout);
    } else if (code == 0 && (count == 0 || (!j.values->output && !j.values->plot))) {
        code = cli_usage_error(&cmd_features,
                               "name a corpus, and with -o where the features go, or with --plot a picture");
    } else if (code == 0) {
        code = prepare(&j, arguments[0]);
        if (code == 0)
            code = extract(&j);
        if (j.drawn && (code == EXIT_CLEAN || code == EXIT_FINDINGS)) {
            int drawn = draw(&j);
            code = drawn == EXIT_CLEAN ? code : drawn;
        }
    }
    trl_feature_writer_abort(j.writer);
    kept_output_close(&j.kept);
    trl_matrix_free(&j.drawn_frames);
    trl_corpus_destroy(j.corpus);
    trl_findings_destroy(j.findings);
    trl_pool_destroy(j.pool);
    trl_frontend_destroy(j.frontend);
    return code;
}

/* The keys of the front end, from the library's own table. */
static const char *keys(void)
{
    static char text[16000];
    size_t used = (size_t)snprintf(text, sizeof text, "Keys of a front end:\n\n");
    const trl_frontend_field *f;
    for (size_t i = 0; (f = trl_frontend_field_at(i)) && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  %-17s %s%s(%s)\n", f->name, f->help,
                                 strlen(f->help) + strlen(f->values) > 76 ? "\n                    " : " ", f->values);
    return text;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "PLACE",
     "where the features go: x.trf (packed, the form training reads), x.ark, ark,scp:x.ark,x.scp, ark,t:x.txt, "
     "htk:DIR, npy:DIR"},
    KEPT_OUTPUT_OPTION(struct values),
    FRONTEND_INPUT_OPTIONS(struct values, frontend),
    {"model", 0, CLI_TEXT, offsetof(struct values, frontend.model), "MODEL",
     "the front end of this model, in place of a preset: frames that fit it"},
    {"describe", 0, CLI_FLAG, offsetof(struct values, describe), NULL,
     "print the front end's whole description and stop"},
    CORPUS_FORMAT_OPTION(struct values, corpus),
    CORPUS_SOUND_OPTIONS(struct values, corpus),
    {"plot", 0, CLI_TEXT, offsetof(struct values, plot), "FILE",
     "draw waveform, spectrogram and coefficients of an utterance: .png, .svg, .pdf (gnuplot)"},
    {"utterance", 0, CLI_TEXT, offsetof(struct values, utterance), "ID", "which one to draw; default: the first"},
    {0}};

const cli_command cmd_features = {
    .name = "features",
    .synopsis = "CORPUS -o PLACE [--preset NAME] [--set KEY=VALUE …]",
    .summary = "turns sound into features: MFCC, PLP or log-mel filterbank",
    .description =
        "Reads a corpus (a Kaldi data folder, a folder of sound files, a .tsv manifest, or one sound file; "
        "- is standard input), computes the "
        "features of every utterance with all cores, and writes them in the order of the corpus. The result "
        "is the same for every "
        "number of threads.\n\n"
        "Utterances that are done are kept in OUTPUT.part, beside the file or folder, until all are: after an "
        "interruption the same command with --resume goes on, and ends with the same bytes. OUTPUT.part takes about as "
        "much room as the features, and goes away at the end.\n\n"
        "The front end is one plain description: a preset, a file, and single settings, each over the one "
        "before. It is stored in "
        "packed files and in models. --describe prints it.\n\n"
        "The way of a frame: window, spectrum, mel filterbank, cepstra; then CMVN, deltas, splicing, and "
        "the transform.\n\n"
        "A frame that holds nothing, digital zeros or noise of one unit of 16 bits, is as in Kaldi and HTK: the "
        "logarithms of the floor, far from all speech. With --set silence=fill, which `trellis train` takes for "
        "itself, such frames count in no mean and variance, and get the coefficients of the utterance's own "
        "quietest tenth of a second, or, with a --model, those of its silence; all other frames are the "
        "same. Take it for features that a model is to be trained with.",
    .options = options,
    .more = keys,
    .examples = "trellis features data/train -o train.trf --set deltas=2 --set cmvn=speaker --set silence=fill\n"
                "trellis features data/train -o ark,scp:train.ark,train.scp --preset fbank --set mel_bins=40\n"
                "trellis features hello.wav -o ark,t:-\n"
                "trellis features data/test -o test.trf --model an4.trm\n"
                "trellis features data/train --plot first.png\n"
                "trellis features --preset plp8k --describe",
    .most = 1,
    .values_size = sizeof(struct values),
    .run = run,
};
