#include "train/checkpoint.h"
#include "base/fail.h"
#include "base/folder_lock.h"
#include "base/input_guard.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <trellis/file.h>
#include <trellis/train.h>
#include <unistd.h>

#define FIRST_LINE "trellis checkpoint 2"

/* Names in the folder. */
#define RECORD "checkpoint"
#define FEATURES "features.trf"
#define CARRIED "carried.tra"
#define MODEL "iteration-%d.trm"
#define ALIGNMENTS "iteration-%d.tra"
#define SPEAKERS "iteration-%d.trs"
#define LEXICON "stage-%d.lexicon"
#define NAME_SIZE 64

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = trl__alloc(size, 1);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static char *in_folder(const trl__checkpoint *c, const char *format, int number)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, format, number);
    char *path = join(c->folder, name);
    if (path && trl__guard_own(path, NULL) == TRL_ENOMEM) { /* one that was read is refused when it is written */
        trl__free(path);
        path = NULL;
    }
    return path;
}

char *trl__checkpoint_features(const trl__checkpoint *c)
{
    return in_folder(c, FEATURES, 0);
}

char *trl__checkpoint_model(const trl__checkpoint *c, int iteration)
{
    return in_folder(c, MODEL, iteration);
}

char *trl__checkpoint_alignments(const trl__checkpoint *c, int iteration)
{
    return in_folder(c, ALIGNMENTS, iteration);
}

char *trl__checkpoint_speakers(const trl__checkpoint *c, int iteration)
{
    return in_folder(c, SPEAKERS, iteration);
}

char *trl__checkpoint_lexicon(const trl__checkpoint *c, int stage)
{
    return in_folder(c, LEXICON, stage);
}

char *trl__checkpoint_carried(const trl__checkpoint *c)
{
    return in_folder(c, CARRIED, 0);
}

/* ---- The folder ---- */

static int make_temporary(trl__checkpoint *c, trl_error *err)
{
    const char *parent = getenv("TMPDIR");
    parent = parent && *parent ? parent : "/tmp";
    size_t size = strlen(parent) + sizeof "/trellis-XXXXXX";
    c->folder = trl__alloc(size, 1);
    if (!c->folder)
        return trl__fail_memory(err);
    snprintf(c->folder, size, "%s/trellis-XXXXXX", parent);
    c->temporary = 1;
    if (!mkdtemp(c->folder))
        return trl__fail_errno(err, parent, "a temporary folder can't be made");
    return 0;
}

static int make_named(trl__checkpoint *c, const char *folder, trl_error *err)
{
    c->folder = trl__strdup(folder);
    if (!c->folder)
        return trl__fail_memory(err);
    return trl__folder_lock(folder, "trains with this folder", &c->lock, err);
}

int trl__checkpoint_create(const char *folder, trl__checkpoint **out, trl_error *err)
{
    trl__checkpoint *c = trl__alloc_zero(1, sizeof *c);
    if (!c)
        return trl__fail_memory(err);
    c->stage_first = 1;
    c->lock = -1;
    int code = folder ? make_named(c, folder, err) : make_temporary(c, err);
    if (code < 0) {
        trl__free(c->folder);
        trl__free(c);
        return code;
    }
    *out = c;
    return 0;
}

/* ---- What is not needed any more: removed without memory, so that a lack of it leaves nothing behind ---- */

static int open_folder(const trl__checkpoint *c)
{
    return open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_file(int folder, const char *format, int number)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, format, number);
    unlinkat(folder, name, 0);
}

static void remove_iteration(int folder, int iteration)
{
    remove_file(folder, MODEL, iteration);
    remove_file(folder, ALIGNMENTS, iteration);
    remove_file(folder, SPEAKERS, iteration);
}

static void remove_iterations(const trl__checkpoint *c, int folder)
{
    unlinkat(folder, RECORD, 0);
    unlinkat(folder, CARRIED, 0);
    for (int stage = 0; stage < TRL_MOST_STAGES; stage++)
        remove_file(folder, LEXICON, stage);
    remove_iteration(folder, 0);                /* alignments of a model that was given */
    remove_iteration(folder, c->iteration - 1); /* a kill came before it was removed */
    remove_iteration(folder, c->iteration);
    remove_iteration(folder, c->iteration + 1); /* begun, not finished */
}

/* Everything that a training may have put there, but not features that were its input. */
static void remove_all(const trl__checkpoint *c, const char *given)
{
    struct stat x, y;
    int folder = open_folder(c);
    if (folder < 0)
        return;
    remove_iterations(c, folder);
    if (!given || stat(given, &x) != 0 || fstatat(folder, FEATURES, &y, 0) != 0 || x.st_dev != y.st_dev ||
        x.st_ino != y.st_ino)
        unlinkat(folder, FEATURES, 0);
    unlinkat(folder, TRL__LOCK_NAME, 0);
    close(folder);
    rmdir(c->folder);
}

void trl__checkpoint_destroy(trl__checkpoint *c)
{
    if (!c)
        return;
    if (c->temporary)
        remove_all(c, NULL);
    if (c->lock >= 0)
        close(c->lock);
    trl__free(c->folder);
    trl__free(c);
}

/* ---- Which iteration counts ---- */

typedef struct record {
    int iteration, stage, stage_first, settled;
    uint64_t fingerprint;
} record;

/* The value of the next line, "NAME VALUE"; NULL when that is not what stands there. */
static const char *value_of(trl__text *text, const char *name)
{
    char *line;
    size_t length, skip = strlen(name);
    return trl__text_line(text, &line, &length) && strncmp(line, name, skip) == 0 && line[skip] == ' ' ? line + skip + 1
                                                                                                       : NULL;
}

/* The next line's number, from `least` on; -1 when it has none. */
static int number_of(trl__text *text, const char *name, int least)
{
    const char *value = value_of(text, name);
    int64_t number;
    return value && trl__parse_int(value, &number) == 0 && number >= least && number < INT_MAX ? (int)number : -1;
}

static int parse(const char *path, trl__text *text, record *r, trl_error *err)
{
    char *line, *end = NULL;
    size_t length;
    int has_title = trl__text_line(text, &line, &length) && strcmp(line, FIRST_LINE) == 0;
    r->iteration = has_title ? number_of(text, "iteration", 1) : -1;
    r->stage = r->iteration < 0 ? -1 : number_of(text, "stage", 0);
    r->stage_first = r->stage < 0 ? -1 : number_of(text, "stage_first", 1);
    r->settled = r->stage_first < 0 ? -1 : number_of(text, "settled", 0);
    const char *fingerprint = r->settled < 0 ? NULL : value_of(text, "fingerprint");
    if (fingerprint)
        r->fingerprint = strtoull(fingerprint, &end, 16);
    if (!fingerprint || *end != '\0' || end == fingerprint || r->stage >= TRL_MOST_STAGES)
        return trl__fail(err, TRL_ECORRUPT, "%s: this is no checkpoint; start again without --resume", path);
    return 0;
}

/* Without memory too, since it tells what there is to remove. */
static int read_record(const trl__checkpoint *c, record *r, trl_error *err)
{
    char path[4096], bytes[1024];
    snprintf(path, sizeof path, "%s/" RECORD, c->folder);
    int folder = open_folder(c), file = folder < 0 ? -1 : openat(folder, RECORD, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, bytes, sizeof bytes - 1);
    int code = size < 0 ? trl__fail_errno(err, path, "can't read the checkpoint") : 0;
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    if (code < 0)
        return code;
    bytes[size] = '\0';
    return parse(path, &(trl__text){.bytes = bytes, .size = (size_t)size}, r, err);
}

int trl__checkpoint_resume(trl__checkpoint *c, trl_error *err)
{
    record r = {0};
    int code = read_record(c, &r, err);
    if (code == TRL_ENOENT)
        return trl__fail(err, code, "%s: there is no checkpoint here to resume from", c->folder);
    if (code < 0)
        return code;
    if (r.fingerprint != c->fingerprint)
        return trl__fail(
            err, TRL_EINVAL,
            "%s: this checkpoint was made with another corpus, lexicon, version or options; give the same ones, "
            "or start again without --resume",
            c->folder);
    c->iteration = r.iteration;
    c->stage = r.stage;
    c->stage_first = r.stage_first;
    c->settled = r.settled;
    int folder = open_folder(c);
    if (folder >= 0) {
        remove_iteration(folder, c->iteration - 1);
        close(folder);
    }
    return 0;
}

void trl__checkpoint_forget(trl__checkpoint *c)
{
    record r = {0};
    int folder = open_folder(c);
    if (folder < 0)
        return;
    if (read_record(c, &r, NULL) == 0)
        c->iteration = r.iteration;
    remove_iterations(c, folder);
    close(folder);
    c->iteration = 0;
}

void trl__checkpoint_clean(trl__checkpoint *c, const char *given)
{
    trl__checkpoint_forget(c);
    remove_all(c, given);
}

int trl__checkpoint_commit(trl__checkpoint *c, int iteration, trl_error *err)
{
    char *path = in_folder(c, RECORD, 0);
    if (!path)
        return trl__fail_memory(err);
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code == 0) {
        code = trl_file_print(
            file, err, FIRST_LINE "\niteration %d\nstage %d\nstage_first %d\nsettled %d\nfingerprint %016" PRIx64 "\n",
            iteration, c->stage, c->stage_first, c->settled, c->fingerprint);
        if (code == 0)
            code = trl_file_commit(file, err);
        else
            trl_file_abort(file);
    }
    trl__free(path);
    if (code < 0)
        return code;
    int folder = c->iteration > 0 && c->iteration != iteration ? open_folder(c) : -1;
    if (folder >= 0) {
        remove_iteration(folder, c->iteration);
        close(folder);
    }
    c->iteration = iteration;
    return 0;
}

int trl_train_interrupted(const char *folder)
{
    const trl__checkpoint c = {.folder = (char *)(uintptr_t)folder};
    int fd = open_folder(&c), there = fd >= 0 && faccessat(fd, RECORD, F_OK, 0) == 0;
    if (fd >= 0)
        close(fd);
    return there;
}

void trl_train_clean(const char *folder, const char *features)
{
    trl__checkpoint c = {.folder = (char *)(uintptr_t)folder};
    int place = open_folder(&c), lock = place >= 0 ? openat(place, TRL__LOCK_NAME, O_RDWR | O_CLOEXEC) : -1;
    if (place >= 0 && (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)) /* else another process has it by now */
        trl__checkpoint_clean(&c, features);
    if (lock >= 0)
        close(lock);
    if (place >= 0)
        close(place);
}
