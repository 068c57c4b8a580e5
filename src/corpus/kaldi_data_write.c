/* Writing a corpus as Kaldi's data folder (see kaldi_data.c). Recordings get the ids of their utterances where every utterance is a whole
 * file, else the ids they had, or the base names of their files, numbered where several files share one. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/file.h>
#include <unistd.h>

enum { WAV, SPEAKERS, TEXT, SEGMENTS, FILES };
static const char *const file_names[FILES] = {"wav.scp", "utt2spk", "text", "segments"};

typedef struct writer {
    const trl_corpus *corpus;
    const char *folder;
    char here[PATH_MAX]; /* the working directory */
    trl__arena arena;
    trl__strings keys;       /* of recordings: the ids they had, or their paths */
    trl__strings recordings; /* their new ids; the same numbers */
    trl_file *files[FILES];
    int has_segments;
} writer;

static int is_chosen(const trl_corpus *corpus, const unsigned char *apart, int which, size_t i)
{
    return !corpus->utterances[i].bad && (!apart || apart[i] == which);
}

static int is_whole_file(const trl_utterance *u)
{
    return u->start == 0 && u->end < 0 && u->channel < 0;
}

/* What stands in wav.scp: an absolute path, so that the folder can lie anywhere. */
static int absolute_path(writer *w, const trl_utterance *u, const char **path, trl_error *err)
{
    const char *name = u->path;
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    char *absolute = trl__join_path(&w->arena, w->here, name);
    *path = absolute;
    if (!absolute)
        return trl__fail_memory(err);
    size_t length = strlen(absolute);
    if (strpbrk(absolute, "\r\n") || trl__is_space(absolute[length - 1]) || trl__is_pipe(absolute) ||
        trl__utf8_check(absolute, length) < length)
        return trl__fail(err, TRL_EFORMAT, "%s: wav.scp can't hold this path; rename the file", absolute);
    return 0;
}

/* An id for a new recording: the one it had, or its file's base name, with a number behind it where that is taken. */
static int name_recording(writer *w, const trl_utterance *u, trl_error *err)
{
    const char *base = u->recording ? u->recording : trl__base_name(u->path);
    size_t length = u->recording ? strlen(base) : (size_t)(trl__extension(base) - base), size = length + 24;
    char *id = trl__arena_alloc(&w->arena, size);
    if (!id)
        return trl__fail_memory(err);
    snprintf(id, size, "%.*s", (int)length, base);
    for (char *c = id; *c; c++)
        if (trl__is_space(*c))
            *c = '_';
    size_t used = strlen(id);
    for (size_t copy = 2; trl__strings_find(&w->recordings, id, strlen(id)) >= 0; copy++)
        snprintf(id + used, size - used, "-%zu", copy);
    return trl__strings_add(&w->recordings, id, strlen(id)) < 0 ? trl__fail_memory(err) : 0;
}

/* Writes the recording into wav.scp when it is new; *id is what it is called there. */
static int write_recording(writer *w, const trl_utterance *u, const char **id, trl_error *err)
{
    const char *path = NULL;
    int code = absolute_path(w, u, &path, err);
    if (code < 0)
        return code;
    *id = u->id;
    if (!w->has_segments)
        return trl_file_print(w->files[WAV], err, "%s %s\n", u->id, path);
    const char *key = u->recording ? u->recording : path;
    size_t known = w->keys.count;
    long number = trl__strings_add(&w->keys, key, strlen(key));
    if (number < 0)
        return trl__fail_memory(err);
    int is_new = w->keys.count > known;
    if (is_new && (code = name_recording(w, u, err)) < 0)
        return code;
    *id = w->recordings.texts[number];
    return is_new ? trl_file_print(w->files[WAV], err, "%s %s\n", *id, path) : 0;
}

static int write_segment(writer *w, const trl_utterance *u, const char *recording, trl_error *err)
{
    char start[32], end[32] = "-1", channel[16] = "";
    trl__format_double(u->start, start);
    if (u->end >= 0)
        trl__format_double(u->end, end);
    if (u->channel >= 0)
        snprintf(channel, sizeof channel, " %d", (int)u->channel);
    return trl_file_print(w->files[SEGMENTS], err, "%s %s %s %s%s\n", u->id, recording, start, end, channel);
}

static int write_utterance(writer *w, const trl_utterance *u, trl_error *err)
{
    const char *recording = NULL;
    int code = write_recording(w, u, &recording, err);
    if (code == 0)
        code = trl_file_print(w->files[SPEAKERS], err, "%s %s\n", u->id, u->speaker);
    const char *text = u->written ? u->written : u->text;
    if (code == 0 && text)
        code = trl_file_print(w->files[TEXT], err, "%s %s\n", u->id, text);
    if (code == 0 && w->has_segments)
        code = write_segment(w, u, recording, err);
    return code;
}

/* ---- the folder ---- */

static int open_folder(const writer *w, trl_error *err)
{
    struct stat ours, theirs;
    int code = trl__make_folder(w->folder, err);
    if (code == 0 && stat(w->folder, &ours) == 0 && stat(w->corpus->path, &theirs) == 0 &&
        ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
        code = trl__fail(err, TRL_EINVAL, "%s: the corpus itself is there; choose another folder", w->folder);
    return code;
}

static int open_files(writer *w, trl_error *err)
{
    int code = 0;
    for (int f = 0; code == 0 && f < FILES; f++) {
        const char *path = trl__join_path(&w->arena, w->folder, file_names[f]);
        if (!path)
            return trl__fail_memory(err);
        if (f != SEGMENTS || w->has_segments)
            code = trl_file_create(path, &w->files[f], err);
        else if (unlink(path) != 0 && errno != ENOENT) /* from another corpus */
            code = trl__fail_errno(err, path, "can't remove it");
    }
    return code;
}

static int commit_files(writer *w, trl_error *err)
{
    size_t count = w->has_segments ? FILES : SEGMENTS;
    int code = trl_file_commit_all(w->files, count, err);
    memset(w->files, 0, sizeof w->files);
    return code;
}

static int write_all(writer *w, const unsigned char *apart, int which, trl_error *err)
{
    int code = open_folder(w, err);
    if (code == 0)
        code = open_files(w, err);
    for (size_t i = 0; code == 0 && i < w->corpus->count; i++)
        if (is_chosen(w->corpus, apart, which, i))
            code = write_utterance(w, &w->corpus->utterances[i], err);
    return code < 0 ? code : commit_files(w, err);
}

int trl_corpus_write(const trl_corpus *corpus, const unsigned char *apart, int which, const char *folder,
                     trl_error *err)
{
    writer w = {.corpus = corpus, .folder = folder};
    size_t chosen = 0;
    for (size_t i = 0; i < corpus->count; i++)
        if (is_chosen(corpus, apart, which, i)) {
            chosen++;
            w.has_segments |= !is_whole_file(&corpus->utterances[i]);
        }
    if (chosen == 0)
        return trl__fail(err, TRL_EINVAL, "%s: no utterance to write", folder);
    if (!getcwd(w.here, sizeof w.here))
        return trl__fail_errno(err, ".", "can't find out where this folder is");
    int code = write_all(&w, apart, which, err);
    for (int f = 0; f < FILES; f++)
        trl_file_abort(w.files[f]);
    trl__strings_free(&w.keys);
    trl__strings_free(&w.recordings);
    trl__arena_free(&w.arena);
    return code;
}
