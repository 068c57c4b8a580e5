/* The writer of formats that hold one utterance per file: a folder that is filled file by file, each atomic in itself,
 * or a single file that appears with the commit.
 */
#include "feat/feature_format.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct each_writer {
    trl_feature_writer base;
    char *path;
    const char *ending; /* of new files; NULL: path is the one file */
    trl__encode_fn encode;
    trl_feature_writer_options options;
    trl_file *file; /* the single file */
} each_writer;

int trl__utterance_path(const char *folder, const char *id, const char *ending, char **out, trl_error *err)
{
    *out = NULL;
    if (strchr(id, '/') || id[0] == '.')
        return trl__fail(err, TRL_EINVAL, "%s: utterance id '%s' can't be a file name; write an archive (.ark) instead",
                         folder, id);
    size_t size = strlen(folder) + strlen(id) + strlen(ending) + 2;
    *out = trl__alloc(size, 1);
    if (!*out)
        return trl__fail_memory(err);
    snprintf(*out, size, "%s/%s%s", folder, id, ending);
    return 0;
}

static int add_to_folder(each_writer *w, const char *id, const trl_matrix *frames, trl_error *err)
{
    char *path;
    trl_file *file;
    int code = trl__utterance_path(w->path, id, w->ending, &path, err);
    if (code < 0)
        return code;
    code = trl_file_create(path, &file, err);
    trl__free(path);
    if (code < 0)
        return code;
    code = w->encode(file, frames, &w->options, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

static int each_add(trl_feature_writer *writer, const char *id, const trl_matrix *frames, trl_error *err)
{
    each_writer *w = (each_writer *)writer;
    if (w->ending)
        return add_to_folder(w, id, frames, err);
    if (w->file)
        return trl__fail(err, TRL_EINVAL,
                         "%s: this format holds one utterance per file, and %s is the second; name a "
                         "folder",
                         w->path, id);
    int code = trl_file_create(w->path, &w->file, err);
    return code < 0 ? code : w->encode(w->file, frames, &w->options, err);
}

static int each_commit(trl_feature_writer *writer, trl_error *err)
{
    each_writer *w = (each_writer *)writer;
    if (w->ending)
        return 0;
    if (!w->file)
        return trl__fail(err, TRL_EINVAL, "%s: there is no utterance to write", w->path);
    int code = trl_file_commit(w->file, err);
    w->file = NULL;
    return code;
}

static void each_discard(trl_feature_writer *writer)
{
    each_writer *w = (each_writer *)writer;
    trl_file_abort(w->file);
    trl__free(w->path);
    trl__free(w);
}

static const trl__writer_class writer_class = {each_add, each_commit, each_discard};

int trl__file_per_utterance(const char *path, const trl__feature_format *format, trl__encode_fn encode,
                            const trl_feature_writer_options *options, trl_feature_writer **out, trl_error *err)
{
    struct stat status;
    int folder = !trl__has_ending(path, format) || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
    int code = folder ? trl__make_folder(path, err) : 0;
    if (code < 0)
        return code;
    each_writer *w = trl__alloc_zero(1, sizeof *w);
    char *copy = trl__strdup(path);
    if (!w || !copy) {
        trl__free(w);
        trl__free(copy);
        return trl__fail_memory(err);
    }
    *w = (each_writer){.base.class = &writer_class, .path = copy, .encode = encode, .options = *options};
    w->ending = folder ? format->endings[0] : NULL;
    *out = &w->base;
    return 0;
}
