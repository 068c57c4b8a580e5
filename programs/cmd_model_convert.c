/* trellis model convert: models from one format to another. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/feature_file.h>
#include <trellis/frontend.h>
#include <trellis/model.h>
#include <unistd.h>

extern const cli_command cmd_model_convert;

struct values {
    cli_common common;
    const char *output, *to, *list, *frontend;
    int top;
    double floor;
};

enum { TO_TRELLIS, TO_HTK, TO_HTK_BINARY, TO_KALDI, TO_KALDI_TEXT, FORMATS };

static int parse_format(const char *name, int *format)
{
    static const char *const names[FORMATS] = {"trellis", "htk", "htk-binary", "kaldi", "kaldi-text"};
    for (*format = 0; *format < FORMATS; (*format)++)
        if (strcmp(name, names[*format]) == 0)
            return 0;
    return cli_usage_error(&cmd_model_convert, "--to is trellis, htk, htk-binary, kaldi or kaldi-text, not '%s'", name);
}

/* Kaldi keeps what comes behind splicing (LDA, MLLT) in final.mat beside final.mdl; 0 where there is none. */
static int read_transform(const char *model, trl_matrix *transform, trl_error *err)
{
    struct stat status;
    char path[4200];
    const char *slash = strrchr(model, '/');
    if (stat(model, &status) == 0 && S_ISDIR(status.st_mode))
        snprintf(path, sizeof path, "%.4000s/final.mat", model);
    else
        snprintf(path, sizeof path, "%.*sfinal.mat", slash ? (int)(slash - model + 1) : 0, model);
    return access(path, F_OK) == 0 ? trl_feature_read_matrix(path, transform, err) : 0;
}

/* As the file says, with Kaldi's transform where the file has none. */
static int set_frontend(trl_model *model, const struct values *v, const char *model_path, trl_error *err)
{
    trl_frontend_options options;
    trl_frontend *frontend = NULL;
    int code = trl_frontend_preset(&options, "mfcc", err);
    if (code < 0)
        return code;
    options.silence = TRL_SILENCE_FILL; /* as of models that don't say */
    code = trl_frontend_read(&options, v->frontend, err);
    if (code == 0 && options.transform.rows == 0)
        code = read_transform(model_path, &options.transform, err);
    if (code == 0)
        code = trl_frontend_create(&options, &frontend, err);
    if (code == 0)
        code = trl_model_set_frontend(model, trl_frontend_description(frontend), err);
    trl_frontend_destroy(frontend);
    trl_matrix_free(&options.transform);
    return code;
}

static int limit_densities(trl_model *model, const struct values *v, trl_error *err)
{
    trl_codebook_facts c = trl_model_codebooks(model);
    if (v->top < 0 && v->floor < 0)
        return 0;
    return trl_model_limit_densities(model, v->top < 0 ? c.top : (int32_t)v->top,
                                     v->floor < 0 ? c.floor : (float)v->floor, err);
}

static int write_model(const trl_model *model, const char *path, int format, trl_error *err)
{
    if (format == TO_TRELLIS)
        return trl_model_write(model, path, err);
    if (format == TO_HTK || format == TO_HTK_BINARY)
        return trl_model_write_htk(model, path, format == TO_HTK_BINARY, err);
    return trl_model_write_kaldi(model, path, format == TO_KALDI, err);
}

static int run(void *values, int count, char **arguments)
{
    (void)count;
    const struct values *v = values;
    trl_error err;
    trl_model *model;
    int format, code;
    if (!v->output)
        return cli_usage_error(&cmd_model_convert, "where to? -o OUT is missing");
    if ((code = parse_format(v->to, &format)) != 0)
        return code;
    if (trl_model_import(arguments[0], v->list, &model, &err) < 0)
        return cli_failure(&err);
    code = v->frontend ? set_frontend(model, v, arguments[0], &err) : 0;
    if (code == 0)
        code = limit_densities(model, v, &err);
    if (code == 0)
        code = write_model(model, v->output, format, &err);
    if (code == 0)
        cli_say(&v->common, "%" PRId32 " units, %" PRId32 " tied states, %" PRId64 " Gaussians", trl_model_units(model),
                trl_model_tied_states(model), trl_model_gaussians(model));
    trl_model_destroy(model);
    return code < 0 ? cli_failure(&err) : EXIT_CLEAN;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct values, output), "OUT",
     "the file to write; for Kaldi a folder: final.mdl, tree and phones.txt"},
    {"to", 0, CLI_TEXT, offsetof(struct values, to), "FORMAT",
     "trellis (the default), htk, htk-binary, kaldi or kaldi-text"},
    {"list", 0, CLI_TEXT, offsetof(struct values, list), "FILE",
     "names: of an HTK model its HMM list, of a Kaldi model its phones.txt (by default the one beside it)"},
    {"frontend", 0, CLI_TEXT, offsetof(struct values, frontend), "FILE",
     "the description of the front end that the model was trained with, `key = value` lines; see `trellis help "
     "features`"},
    {"top", 0, CLI_INT, offsetof(struct values, top), "N",
     "of codebooks that tied states share (Sphinx): so many densities count in a frame, the best; 0: all. Sphinx takes "
     "4"},
    {"density-floor", 0, CLI_NUMBER, offsetof(struct values, floor), "NATS",
     "of the same: no density counts as further below the best; 0: no floor. Sphinx takes 9.83"},
    {0}};

const cli_command cmd_model_convert = {
    .name = "model convert",
    .synopsis = "MODEL -o OUT [--to FORMAT]",
    .summary = "converts acoustic models from one format to another",
    .description =
        "Reads a MODEL of trellis, HTK (MMF, text or binary), Kaldi (final.mdl, or the folder that it is in) or CMU "
        "Sphinx (the folder with mdef; the name of an installed one, such as en-us, will do); which "
        "one "
        "is seen from the content. Means and variances stay the same to the last bit where the other format stores "
        "float32 numbers of the same meaning.\n\n"
        "Sphinx's models say how their features were made; those of HTK and Kaldi do not. With --frontend the new "
        "model does, and `trellis align` can use it on sound; a final.mat (text or binary) beside Kaldi's final.mdl is "
        "its transform, behind the splicing that FILE tells, unless FILE has another one. What a format can't hold "
        "(texts of a trellis model, pronunciations, word "
        "positions of an HTK model) is left out there.",
    .options = options,
    .examples = "trellis model convert hmmdefs --list monophones --frontend mfcc.conf -o mono.trm\n"
                "trellis model convert en-us -o en-us.trm\n"
                "trellis model convert an4.trm --to htk -o hmmdefs\n"
                "trellis model convert an4.trm --to kaldi -o exp/mono",
    .least = 1,
    .most = 1,
    .values_size = sizeof(struct values),
    .defaults = &(const struct values){.to = "trellis", .top = -1, .floor = -1},
    .run = run,
};
