/* A model of any format: recognised by how the file begins. */
#include "model/model_data.h"
#include "model/sphinx_model.h"
#include "base/byte_source.h"
#include "base/fail.h"
#include "base/installed.h"
#include "base/memory.h"
#include "base/path.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/frontend.h>
#include <trellis/version.h>
#include <unistd.h>

#define HEAD 64 /* bytes to look at */

typedef enum model_format { UNKNOWN, OURS, HTK, KALDI } model_format;

static model_format format_of(const char *head, size_t size)
{
    static const char kaldi[] = "<TransitionModel>";
    if (size >= 8 && memcmp(head, "trellis", 8) == 0)
        return OURS;
    if (size >= 2 && memcmp(head, "\0B", 2) == 0)
        return KALDI;
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", head[at]))
        at++;
    if (size - at >= sizeof kaldi - 1 && memcmp(head + at, kaldi, sizeof kaldi - 1) == 0)
        return KALDI;
    return at < size && (head[at] == '~' || head[at] == '<' || head[at] == ':') ? HTK : UNKNOWN;
}

static int recognise(const char *path, model_format *format, trl_error *err)
{
    trl__source source;
    char head[HEAD];
    size_t size = 0;
    int byte = 0, code = trl__source_open(path, &source, err);
    if (code < 0)
        return code;
    while (size < HEAD && (byte = trl__source_get(&source, err)) >= 0)
        head[size++] = (char)byte;
    trl__source_close(&source);
    if (byte < 0 && byte != TRL__SOURCE_END)
        return byte;
    *format = format_of(head, size);
    return *format != UNKNOWN
               ? 0
               : trl__fail(err, TRL_EFORMAT, "%s: not a model of trellis, HTK (macros and HMMs) or Kaldi (final.mdl)",
                           path);
}

/* Kaldi's names of phones: where it is said, else beside the model when they are there. */
static int read_kaldi(const char *path, const char *phones, trl_model **out, trl_error *err)
{
    char *beside = trl__path_beside(path, "phones.txt");
    if (!beside)
        return trl__fail_memory(err);
    if (!phones && access(beside, F_OK) == 0)
        phones = beside;
    int code = trl_model_read_kaldi(path, phones, out, err);
    trl__free(beside);
    return code;
}

/* A model was made from another program's files. */
static int set_origin(trl_model **model, const char *text, int code, trl_error *err)
{
    if (code == 0)
        code = trl__model_set_text(&(*model)->provenance, text, err);
    if (code < 0) {
        trl_model_destroy(*model);
        *model = NULL;
    }
    return code;
}

static int read_file(const char *path, const char *list, trl_model **out, trl_error *err)
{
    model_format format = UNKNOWN;
    int code = recognise(path, &format, err);
    if (code < 0)
        return code;
    if (format == OURS)
        return trl_model_read(path, out, err);
    code = format == HTK ? trl_model_read_htk(path, list, out, err) : read_kaldi(path, list, out, err);
    if (code < 0)
        return code;
    return set_origin(out,
                      format == HTK ? "trellis " TRL_VERSION ", from a model of HTK"
                                    : "trellis " TRL_VERSION ", from a model of Kaldi",
                      code, err);
}

/* Kaldi's has final.mdl in it, Sphinx's mdef. */
static int read_folder(const char *path, const char *list, trl_model **out, trl_error *err)
{
    trl__arena arena = {0};
    const char *kaldi = trl__join_path(&arena, path, "final.mdl"), *sphinx = trl__join_path(&arena, path, "mdef");
    int code = !kaldi || !sphinx           ? trl__fail_memory(err)
               : access(kaldi, F_OK) == 0  ? read_file(kaldi, list, out, err)
               : access(sphinx, F_OK) == 0 ? trl_model_read_sphinx(path, out, err)
                                           : trl__fail(err, TRL_ENOENT,
                                                       "%s: not a model: a folder without Kaldi's final.mdl and "
                                                       "without Sphinx's mdef",
                                                       path);
    trl__arena_free(&arena);
    return code;
}

int trl_model_read_sphinx(const char *folder, trl_model **out, trl_error *err)
{
    int code = trl__sphinx_model_read(folder, out, err);
    return set_origin(out, "trellis " TRL_VERSION ", from a model of CMU Sphinx", code, err);
}

int trl_model_import(const char *path, const char *list, trl_model **out, trl_error *err)
{
    struct stat status;
    trl__arena arena = {0};
    *out = NULL;
    int code = trl__installed(&arena, path, TRL__INSTALLED_MODEL, &path, err);
    if (code == 0)
        code = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? read_folder(path, list, out, err)
                                                                   : read_file(path, list, out, err);
    trl__arena_free(&arena);
    return code;
}

int trl_model_set_frontend(trl_model *model, const char *description, trl_error *err)
{
    trl_frontend_options options;
    trl_frontend *frontend = NULL;
    int code = trl_frontend_preset(&options, "mfcc", err);
    if (code < 0)
        return code;
    options.silence = TRL_SILENCE_FILL;
    code = trl_frontend_parse(&options, description, "front end", err);
    if (code == 0)
        code = trl_frontend_create(&options, &frontend, err);
    if (code == 0 && trl_frontend_dim(frontend) != model->dim)
        code = trl__fail(err, TRL_EINVAL,
                         "the front end makes frames of %d dimensions, the model has %" PRId32
                         "; derivatives (deltas), coefficients (num_ceps) or splicing may differ",
                         trl_frontend_dim(frontend), model->dim);
    if (code == 0)
        code = trl__model_set_text(&model->frontend, trl_frontend_description(frontend), err);
    trl_frontend_destroy(frontend);
    trl_matrix_free(&options.transform);
    return code;
}
