/* Formats that hold one utterance per file. The writer: a folder that is filled file by file, each atomic in itself,
 * or a single file that appears with the commit. The reader: a file, or those of a folder by their names.
 */
#include "feat/feature_format.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- writing ---- */

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

/* ---- reading ---- */

typedef struct each_reader {
    trl_feature_reader base;
    trl__decode_fn decode;
    trl__strings paths; /* sorted by the bytes of their names */
    const char **ids;   /* by path: the file's name without folder and ending */
    trl__arena arena;
    trl__map index; /* id -> path */
    size_t position;
} each_reader;

static int read_file(const each_reader *r, size_t number, trl_matrix *frames, trl_error *err)
{
    trl__source source;
    int code = trl__check_id(r->paths.texts[number], r->ids[number], err);
    if (code == 0)
        code = trl__source_open(r->paths.texts[number], &source, err);
    if (code < 0)
        return code;
    source.line = 0; /* binary: places are bytes */
    code = r->decode(&source, frames, err);
    trl__source_close(&source);
    return code;
}

static int each_next(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err)
{
    each_reader *r = (each_reader *)reader;
    if (r->position == r->paths.count)
        return 0;
    *id = r->ids[r->position];
    int code = read_file(r, r->position++, frames, err);
    return code < 0 ? code : 1;
}

static int each_find(trl_feature_reader *reader, const char *id, trl_matrix *frames, trl_error *err)
{
    each_reader *r = (each_reader *)reader;
    const uint64_t *number = trl__map_find(&r->index, id, strlen(id));
    return number ? read_file(r, (size_t)*number, frames, err)
                  : trl__fail(err, TRL_ENOENT, "%s: there is no utterance %s", r->base.place ? r->base.place : "", id);
}

static void each_close(trl_feature_reader *reader)
{
    each_reader *r = (each_reader *)reader;
    trl__map_free(&r->index);
    trl__strings_free(&r->paths);
    trl__arena_free(&r->arena);
    trl__free(r->ids);
    trl__free(r);
}

static const trl__reader_class each_class = {.next = each_next, .close = each_close, .find = each_find};

static int add_from_folder(each_reader *r, const trl__feature_format *format, const char *folder, const char *name,
                           trl_error *err)
{
    if (name[0] == '.' || !trl__has_ending(name, format))
        return 0;
    const char *path = trl__join_path(&r->arena, folder, name);
    return path && trl__strings_add(&r->paths, path, strlen(path)) >= 0 ? 0 : trl__fail_memory(err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int fail_empty(const trl__feature_format *format, const char *folder, trl_error *err)
{
    char endings[64];
    size_t used = 0;
    for (const char *const *e = format->endings; *e; e++)
        used += (size_t)snprintf(endings + used, sizeof endings - used, "%s%s", used ? " " : "", *e);
    return trl__fail(err, TRL_ENOENT, "%s: no files of this kind (%s) in this folder", folder, endings);
}

static int list_folder(each_reader *r, const trl__feature_format *format, const char *path, trl_error *err)
{
    DIR *folder = opendir(path);
    if (!folder)
        return trl__fail_errno(err, path, "can't open");
    int code = 0;
    for (struct dirent *e; code == 0 && (errno = 0, e = readdir(folder));)
        code = add_from_folder(r, format, path, e->d_name, err);
    if (code == 0 && errno != 0)
        code = trl__fail_errno(err, path, "reading failed");
    closedir(folder);
    if (code == 0 && r->paths.count == 0)
        return fail_empty(format, path, err);
    if (code == 0)
        qsort(r->paths.texts, r->paths.count, sizeof *r->paths.texts, by_text);
    return code;
}

/* Of several files with one id, each is an utterance; a look-up finds the first. */
static int name_files(each_reader *r, trl_error *err)
{
    r->ids = trl__alloc(r->paths.count, sizeof *r->ids);
    for (size_t i = 0; r->ids && i < r->paths.count; i++) {
        const char *base = trl__base_name(r->paths.texts[i]);
        size_t length = (size_t)(trl__extension(base) - base);
        uint64_t number = i;
        r->ids[i] = trl__arena_copy(&r->arena, base, length);
        if (!r->ids[i] || trl__map_add(&r->index, r->ids[i], length, &number) < 0)
            return trl__fail_memory(err);
    }
    return r->ids ? 0 : trl__fail_memory(err);
}

/* A missing file shows on opening, like everywhere. */
int trl__file_per_utterance_open(const char *path, const trl__feature_format *format, trl__decode_fn decode,
                                 trl_feature_reader **out, trl_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return trl__fail_errno(err, path, "can't open");
    each_reader *r = trl__alloc_zero(1, sizeof *r);
    if (!r)
        return trl__fail_memory(err);
    r->base.class = &each_class;
    r->decode = decode;
    int code = 0;
    if (S_ISDIR(status.st_mode))
        code = list_folder(r, format, path, err);
    else if (trl__strings_add(&r->paths, path, strlen(path)) < 0)
        code = trl__fail_memory(err);
    if (code == 0)
        code = name_files(r, err);
    if (code < 0)
        each_close(&r->base);
    else
        *out = &r->base;
    return code;
}
