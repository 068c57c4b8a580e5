/* trellis features copy, trellis features show: feature files of any format, converted and looked into. */
#include "cli.h"
#include "cli_json.h"

#include <inttypes.h>
#include <string.h>
#include <trellis/feature_file.h>
#include <trellis/version.h>

#define PLACES                                                                                         \
    "A place is a file name whose ending tells the format, or a format, a colon and a name:\n\n"       \
    "  feats.trf  packed:FILE             our packed file: mapped, checksummed, random access\n"       \
    "  feats.ark  ark:FILE ark,t:FILE     Kaldi archive; ark,t writes text, reading recognises both\n" \
    "  feats.scp  scp:FILE                Kaldi script, for reading\n"                                 \
    "             ark,scp:FILE,FILE       archive and script, for writing\n"                           \
    "  x.htk .mfc .plp .fea  htk:PLACE    HTK parameter file, or a folder of them\n"                   \
    "  x.npy      npy:PLACE               NumPy file, or a folder of them\n"                           \
    "  -          ark:-                   standard input or output, an archive"

/* ---- copy ---- */

struct copy_values {
    cli_common common;
    double shift_ms;
    int htk_kind;
};

static int copy_all(trl_feature_reader *reader, trl_feature_writer *writer, uint64_t totals[2], trl_error *err)
{
    trl_matrix frames = {0};
    const char *id;
    int found, code = 0;
    while (code == 0 && (found = trl_feature_reader_next(reader, &id, &frames, err)) != 0) {
        code = found < 0 ? found : trl_feature_writer_add(writer, id, &frames, err);
        totals[0]++;
        totals[1] += frames.rows;
    }
    trl_matrix_free(&frames);
    return code;
}

static int run_copy(void *values, int count, char **arguments)
{
    (void)count;
    const struct copy_values *v = values;
    trl_error err;
    trl_feature_reader *reader;
    if (trl_feature_reader_open(arguments[0], &reader, &err) < 0)
        return cli_failure(&err);
    trl_feature_writer_options options = trl_feature_writer_defaults();
    options.frontend = trl_feature_reader_frontend(reader);
    options.provenance = trl_feature_reader_provenance(reader);
    if (!options.provenance)
        options.provenance = "trellis " TRL_VERSION " features copy";
    options.shift_ms = v->shift_ms;
    options.htk_kind = v->htk_kind;
    trl_feature_writer *writer = NULL;
    uint64_t totals[2] = {0, 0};
    int code = trl_feature_writer_open(arguments[1], &options, &writer, &err);
    if (code == 0)
        code = copy_all(reader, writer, totals, &err);
    if (code == TRL_EINVAL || code == TRL_EFORMAT ||
        code == TRL_ENUMBER) /* what the input has does not do for the output */
        code = cli_error_in(&err, code, arguments[0]);
    if (code == 0)
        code = trl_feature_writer_commit(writer, &err);
    else
        trl_feature_writer_abort(writer);
    trl_feature_reader_close(reader);
    if (code < 0)
        return cli_failure(&err);
    cli_say(&v->common, "%" PRIu64 " utterances, %" PRIu64 " frames", totals[0], totals[1]);
    return EXIT_CLEAN;
}

static const cli_option copy_options[] = {{"shift", 0, CLI_NUMBER, offsetof(struct copy_values, shift_ms), "MS",
                                           "frame shift for HTK headers, in milliseconds; 10 by default"},
                                          {"htk-kind", 0, CLI_INT, offsetof(struct copy_values, htk_kind), "N",
                                           "parameter kind for HTK headers: 6 MFCC, 7 FBANK, 9 USER (the default), 11 "
                                           "PLP, plus 64 _E, 128 _N, 256 _D, 512 _A, "
                                           "2048 _Z, 8192 _0"},
                                          {0}};

const cli_command cmd_features_copy = {
    .name = "features copy",
    .synopsis = "IN OUT",
    .summary = "converts feature files from one format to another",
    .description =
        "Copies all utterances of IN to OUT; float32 numbers stay the same to the last bit, doubles "
        "are rounded to float32. " PLACES
        "\n\nOUT appears when everything is written, or not at all; folders are filled file by file. Between packed "
        "files the front end's description and the provenance are kept. NaN, infinity and duplicate ids are refused.",
    .options = copy_options,
    .examples = "trellis features copy feats.scp feats.trf\n"
                "trellis features copy feats.trf ark,scp:feats.ark,feats.scp\n"
                "trellis features copy htk:mfc/ ark,t:-",
    .least = 2,
    .most = 2,
    .values_size = sizeof(struct copy_values),
    .defaults = &(const struct copy_values){.shift_ms = 10, .htk_kind = 9},
    .run = run_copy,
};

/* ---- show ---- */

extern const cli_command cmd_features_show;

struct show_values {
    cli_common common;
    int json;
};

struct summary {
    uint64_t utterances, frames;
    uint64_t least, most; /* dimension, of utterances with frames */
    json_t *list;         /* NULL: print a line for each */
};

static int show_utterance(struct summary *s, const char *id, const trl_matrix *frames, trl_error *err)
{
    s->utterances++;
    s->frames += frames->rows;
    if (frames->rows > 0) {
        s->least = s->least == 0 || frames->cols < s->least ? frames->cols : s->least;
        s->most = frames->cols > s->most ? frames->cols : s->most;
    }
    if (!s->list)
        return printf("%s %zu x %zu\n", id, frames->rows, frames->cols) >= 0
                   ? 0
                   : cli_error(err, TRL_EIO, "writing to standard output failed");
    json_t *item = json_pack("{sosIsI}", "id", cli_json_string(id), "frames", (json_int_t)frames->rows, "dimension",
                             (json_int_t)frames->cols);
    json_array_append_new(s->list, item);
    return 0;
}

static int show_all(trl_feature_reader *reader, struct summary *s, trl_error *err)
{
    trl_matrix frames = {0};
    const char *id;
    int found, code = 0;
    while (code == 0 && (found = trl_feature_reader_next(reader, &id, &frames, err)) != 0)
        code = found < 0 ? found : show_utterance(s, id, &frames, err);
    trl_matrix_free(&frames);
    return code;
}

static int print_json(const trl_feature_reader *reader, const struct summary *s)
{
    json_t *root = json_pack("{sIsIsIsIss?ss?sO}", "utterances", (json_int_t)s->utterances, "frames",
                             (json_int_t)s->frames, "dimension_least", (json_int_t)s->least, "dimension_most",
                             (json_int_t)s->most, "frontend", trl_feature_reader_frontend(reader), "provenance",
                             trl_feature_reader_provenance(reader), "list", s->list);
    trl_error err;
    return cli_json_print(root, JSON_INDENT(2), &err) < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static int print_totals(const trl_feature_reader *reader, const struct summary *s)
{
    printf("\n%" PRIu64 " utterances, %" PRIu64 " frames", s->utterances, s->frames);
    if (s->most > 0 && s->least == s->most)
        printf(", %" PRIu64 " dimensions\n", s->most);
    else
        printf(", %" PRIu64 " to %" PRIu64 " dimensions\n", s->least, s->most);
    if (trl_feature_reader_frontend(reader))
        printf("\nfront end:\n%s\n", trl_feature_reader_frontend(reader));
    if (trl_feature_reader_provenance(reader))
        printf("\nprovenance:\n%s\n", trl_feature_reader_provenance(reader));
    return EXIT_CLEAN;
}

/* Looks the utterance up, or reads up to it where the format can't. */
static int find_utterance(trl_feature_reader *reader, const char *wanted, trl_matrix *frames, trl_error *err)
{
    int code = trl_feature_reader_find(reader, wanted, frames, err);
    if (code != TRL_EUNSUPPORTED)
        return code;
    const char *id;
    int found;
    while ((found = trl_feature_reader_next(reader, &id, frames, err)) > 0)
        if (strcmp(id, wanted) == 0)
            return 0;
    return found < 0 ? found : cli_error(err, TRL_ENOENT, "there is no utterance %s", wanted);
}

static int show_one(trl_feature_reader *reader, const char *id)
{
    trl_error err;
    trl_matrix frames = {0};
    trl_feature_writer *writer = NULL;
    int code = find_utterance(reader, id, &frames, &err);
    if (code == 0)
        code = trl_feature_writer_open("ark,t:-", NULL, &writer, &err);
    if (code == 0)
        code = trl_feature_writer_add(writer, id, &frames, &err);
    if (code == 0)
        code = trl_feature_writer_commit(writer, &err);
    else
        trl_feature_writer_abort(writer);
    trl_matrix_free(&frames);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static int run_show(void *values, int count, char **arguments)
{
    const struct show_values *v = values;
    trl_error err;
    trl_feature_reader *reader;
    if (v->json && count == 2)
        return cli_usage_error(&cmd_features_show, "--json lists all utterances; leave out the ID");
    if (trl_feature_reader_open(arguments[0], &reader, &err) < 0)
        return cli_failure(&err);
    int code;
    if (count == 2) {
        code = show_one(reader, arguments[1]);
    } else {
        struct summary s = {.list = v->json ? json_array() : NULL};
        code = show_all(reader, &s, &err) < 0 ? cli_failure(&err) : EXIT_CLEAN;
        if (code == EXIT_CLEAN)
            code = (v->json ? print_json : print_totals)(reader, &s);
        json_decref(s.list);
    }
    trl_feature_reader_close(reader);
    return code;
}

static const cli_option show_options[] = {
    {"json", 0, CLI_FLAG, offsetof(struct show_values, json), NULL, "the list and the totals as JSON"}, {0}};

const cli_command cmd_features_show = {
    .name = "features show",
    .synopsis = "IN [ID]",
    .summary = "lists what is in a feature file, or prints one utterance",
    .description =
        "Reads and checks all of IN and lists its utterances with frames x dimension, then totals and, of a packed "
        "file, the description of the front end and the provenance. With an ID, prints that utterance's matrix in "
        "Kaldi's text form. " PLACES,
    .options = show_options,
    .examples = "trellis features show feats.trf\n"
                "trellis features show feats.ark utt1\n"
                "trellis features show --json feats.scp",
    .least = 1,
    .most = 2,
    .values_size = sizeof(struct show_values),
    .run = run_show,
};
