#include "train/checkpoint.h"
#include "base/fail.h"
#include "base/input_guard.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/file.h>
#include <trellis/train.h>
#include <unistd.h>

#define FIRST_LINE "trellis checkpoint 2"

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = trl__alloc(size, 1);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static char *in_folder(const trl__checkpoint *c, const char *format, ...) TRL_PRINTF(2, 3);

static char *in_folder(const trl__checkpoint *c, const char *format, ...)
{
    char name[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    char *path = join(c->folder, name);
    if (path)
        (void)trl__guard_own(path, NULL); /* one that was read is refused when it is written */
    return path;
}

char *trl__checkpoint_features(const trl__checkpoint *c)
{
    return in_folder(c, "features.trf");
}

char *trl__checkpoint_model(const trl__checkpoint *c, int iteration)
{
    return in_folder(c, "iteration-%d.trm", iteration);
}

char *trl__checkpoint_alignments(const trl__checkpoint *c, int iteration)
{
    return in_folder(c, "iteration-%d.tra", iteration);
}

char *trl__checkpoint_speakers(const trl__checkpoint *c, int iteration)
{
    return in_folder(c, "iteration-%d.trs", iteration);
}

char *trl__checkpoint_lexicon(const trl__checkpoint *c, int stage)
{
    return in_folder(c, "stage-%d.lexicon", stage);
}

char *trl__checkpoint_carried(const trl__checkpoint *c)
{
    return in_folder(c, "carried.tra");
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
    return mkdir(folder, 0777) < 0 && errno != EEXIST ? trl__fail_errno(err, folder, "the folder can't be made") : 0;
}

int trl__checkpoint_create(const char *folder, trl__checkpoint **out, trl_error *err)
{
    trl__checkpoint *c = trl__alloc_zero(1, sizeof *c);
    if (!c)
        return trl__fail_memory(err);
    c->stage_first = 1;
    int code = folder ? make_named(c, folder, err) : make_temporary(c, err);
    if (code < 0) {
        trl__free(c->folder);
        trl__free(c);
        return code;
    }
    *out = c;
    return 0;
}

static void remove_file(char *path)
{
    if (path)
        unlink(path);
    trl__free(path);
}

static void remove_iteration(const trl__checkpoint *c, int iteration)
{
    remove_file(trl__checkpoint_model(c, iteration));
    remove_file(trl__checkpoint_alignments(c, iteration));
    remove_file(trl__checkpoint_speakers(c, iteration));
}

static void remove_iterations(const trl__checkpoint *c)
{
    remove_file(in_folder(c, "checkpoint"));
    remove_file(trl__checkpoint_carried(c));
    for (int stage = 0; stage < TRL_MOST_STAGES; stage++)
        remove_file(trl__checkpoint_lexicon(c, stage));
    remove_iteration(c, 0);                /* alignments of a model that was given */
    remove_iteration(c, c->iteration - 1); /* a kill came before it was removed */
    remove_iteration(c, c->iteration);
    remove_iteration(c, c->iteration + 1); /* begun, not finished */
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Everything that a training may have put there, but not features that were its input. */
static void remove_all(const trl__checkpoint *c, const char *given)
{
    char *features = trl__checkpoint_features(c);
    remove_iterations(c);
    if (given && features && is_same_file(given, features))
        trl__free(features);
    else
        remove_file(features);
    rmdir(c->folder);
}

void trl__checkpoint_destroy(trl__checkpoint *c)
{
    if (!c)
        return;
    if (c->temporary)
        remove_all(c, NULL);
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

static int read_record(const trl__checkpoint *c, record *r, trl_error *err)
{
    char *path = in_folder(c, "checkpoint");
    if (!path)
        return trl__fail_memory(err);
    trl__text text;
    int code = trl__text_read(path, &text, err);
    if (code == 0) {
        code = parse(path, &text, r, err);
        trl__text_free(&text);
    }
    trl__free(path);
    return code;
}

int trl__checkpoint_resume(trl__checkpoint *c, trl_error *err)
{
    record r = {0};
    int code = read_record(c, &r, err);
    if (code == TRL_ENOENT)
        return trl__fail(err, code, "%s: there is no checkpoint here to resume from; start without --resume",
                         c->folder);
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
    remove_iteration(c, c->iteration - 1);
    return 0;
}

void trl__checkpoint_forget(trl__checkpoint *c)
{
    record r = {0};
    if (read_record(c, &r, NULL) == 0)
        c->iteration = r.iteration;
    remove_iterations(c);
    c->iteration = 0;
}

int trl__checkpoint_commit(trl__checkpoint *c, int iteration, trl_error *err)
{
    char *path = in_folder(c, "checkpoint");
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
    if (c->iteration > 0 && c->iteration != iteration)
        remove_iteration(c, c->iteration);
    c->iteration = iteration;
    return 0;
}

int trl_train_interrupted(const char *folder)
{
    char *path = join(folder, "checkpoint");
    int there = path && access(path, F_OK) == 0;
    trl__free(path);
    return there;
}

void trl_train_clean(const char *folder, const char *features)
{
    trl__checkpoint *c;
    if (trl__checkpoint_create(folder, &c, NULL) < 0)
        return;
    trl__checkpoint_forget(c);
    remove_all(c, features);
    trl__checkpoint_destroy(c);
}
