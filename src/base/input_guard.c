#include "base/input_guard.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <trellis/file.h>

typedef struct identity {
    uint64_t device, inode;
} identity;

typedef struct known_file {
    identity key;
    int is_output; /* what lies there is what the output will replace */
    int is_wanted; /* and somebody tried to read it */
    char name[];
} known_file;

enum { GIVEN_UP, OPEN, WRITTEN, OWN };

struct trl__claim {
    known_file *target; /* what is there already, or NULL */
    int state;
    char *name;
};

static struct {
    atomic_int on;
    pthread_mutex_t lock;
    trl__arena arena;
    trl__map files, claims; /* by identity; by the folder's identity and the name in it */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

void trl_file_protect_inputs(int on)
{
    pthread_mutex_lock(&guard.lock);
    atomic_store(&guard.on, on != 0);
    trl__map_free(&guard.files);
    trl__map_free(&guard.claims);
    trl__arena_free(&guard.arena);
    pthread_mutex_unlock(&guard.lock);
}

static identity identity_of(const struct stat *status)
{
    return (identity){(uint64_t)status->st_dev, (uint64_t)status->st_ino};
}

/* The number of a file that was removed goes to another one in time: only a name that still leads there counts. */
static int is_still_there(const known_file *f)
{
    struct stat status;
    if (strcmp(f->name, "-") == 0)
        return 1;
    if (stat(f->name, &status) != 0)
        return 0;
    identity now = identity_of(&status);
    return memcmp(&now, &f->key, sizeof now) == 0;
}

static known_file *find_file(identity key)
{
    const uint64_t *value = trl__map_find(&guard.files, (const char *)&key, sizeof key);
    return value ? (known_file *)(uintptr_t)*value : NULL;
}

/* The file, made known where it is not; NULL: out of memory. */
static known_file *add_file(identity key, const char *name, int is_output)
{
    known_file *f = find_file(key);
    if (f)
        return f;
    size_t size = sizeof *f + strlen(name) + 1;
    f = trl__arena_alloc(&guard.arena, size);
    uint64_t value = (uint64_t)(uintptr_t)f;
    if (!f)
        return NULL;
    *f = (known_file){.key = key, .is_output = is_output};
    memcpy(f->name, name, strlen(name) + 1);
    return trl__map_add(&guard.files, (const char *)&f->key, sizeof f->key, &value) < 0 ? NULL : f;
}

static int fail_both(const char *output, const char *input, trl_error *err)
{
    return trl__fail(err, TRL_EINVAL,
                     "%s: is an output of this command, and %s, which it reads, is the same file; nothing was written: "
                     "give the output another name",
                     output, strcmp(input, "-") == 0 ? "standard input" : input);
}

static int note_input(identity key, const char *name, trl_error *err)
{
    known_file *f = add_file(key, name, 0);
    if (!f)
        return trl__fail_memory(err);
    if (!f->is_output || !is_still_there(f)) {
        f->is_output = 0;
        return 0;
    }
    f->is_wanted = 1;
    return fail_both(f->name, name, err);
}

static int note_status(const struct stat *status, const char *name, trl_error *err)
{
    if (!S_ISREG(status->st_mode))
        return 0;
    pthread_mutex_lock(&guard.lock);
    int code = note_input(identity_of(status), name, err);
    pthread_mutex_unlock(&guard.lock);
    return code;
}

int trl__guard_input(int fd, const char *name, trl_error *err)
{
    struct stat status;
    return atomic_load(&guard.on) && fstat(fd, &status) == 0 ? note_status(&status, name, err) : 0;
}

int trl_file_declare_input(const char *path, trl_error *err)
{
    struct stat status;
    return atomic_load(&guard.on) && stat(path, &status) == 0 ? note_status(&status, path, err) : 0;
}

/* The claim of this place in this folder, made where there is none; NULL: out of memory. */
static trl__claim *find_claim(identity folder, const char *path, const char *name)
{
    size_t size = sizeof folder + strlen(name);
    char *key = trl__arena_alloc(&guard.arena, size);
    if (!key)
        return NULL;
    memcpy(key, &folder, sizeof folder);
    memcpy(key + sizeof folder, name, size - sizeof folder);
    uint64_t *known = trl__map_find(&guard.claims, key, size);
    if (known)
        return (trl__claim *)(uintptr_t)*known;
    trl__claim *claim = trl__arena_alloc(&guard.arena, sizeof *claim);
    uint64_t value = (uint64_t)(uintptr_t)claim;
    if (!claim)
        return NULL;
    *claim = (trl__claim){.name = trl__arena_copy(&guard.arena, path, strlen(path))};
    return claim->name && trl__map_add(&guard.claims, key, size, &value) >= 0 ? claim : NULL;
}

static int claim_place(identity folder, const char *path, const char *resolved, trl__claim **out, trl_error *err)
{
    struct stat status;
    trl__claim *claim = find_claim(folder, path, trl__base_name(resolved));
    if (!claim)
        return trl__fail_memory(err);
    if (claim->state == OWN)
        return 0;
    if (claim->state != GIVEN_UP)
        return trl__fail(
            err, TRL_EINVAL, "%s: two outputs of this command would be this file%s%s; give each a name of its own",
            path, strcmp(path, claim->name) != 0 ? ", as " : "", strcmp(path, claim->name) != 0 ? claim->name : "");
    claim->target = NULL;
    if (stat(resolved, &status) == 0) {
        claim->target = add_file(identity_of(&status), path, 1);
        if (!claim->target)
            return trl__fail_memory(err);
        if (!claim->target->is_output && is_still_there(claim->target))
            return fail_both(path, claim->target->name, err);
        claim->target->is_output = 1;
    }
    claim->state = OPEN;
    *out = claim;
    return 0;
}

/* The folder's end is a slash, or there is none: then it is the current one. 1, 0 where there is no such folder, or
 * TRL_ENOMEM. */
static int stat_folder(const char *path, struct stat *status, trl_error *err)
{
    trl__arena arena = {0};
    size_t length = (size_t)(trl__base_name(path) - path);
    char *folder = trl__arena_copy(&arena, length > 0 ? path : ".", length > 0 ? length : 1);
    int code = folder ? stat(folder, status) == 0 : trl__fail_memory(err);
    trl__arena_free(&arena);
    return code;
}

int trl__guard_output(const char *path, const char *resolved, trl__claim **out, trl_error *err)
{
    struct stat folder;
    *out = NULL;
    int code = atomic_load(&guard.on) ? stat_folder(resolved, &folder, err) : 0;
    if (code <= 0)
        return code;
    pthread_mutex_lock(&guard.lock);
    code = claim_place(identity_of(&folder), path, resolved, out, err);
    pthread_mutex_unlock(&guard.lock);
    return code;
}

int trl__guard_replace(trl__claim *claim, trl_error *err)
{
    if (!claim)
        return 0;
    pthread_mutex_lock(&guard.lock);
    int wanted = claim->target && claim->target->is_wanted;
    pthread_mutex_unlock(&guard.lock);
    return wanted ? fail_both(claim->name, claim->target->name, err) : 0;
}

static int claim_own(identity folder, const char *path, trl_error *err)
{
    struct stat status;
    trl__claim *claim = find_claim(folder, path, trl__base_name(path));
    if (!claim)
        return trl__fail_memory(err);
    const known_file *f = claim->state != OWN && stat(path, &status) == 0 ? find_file(identity_of(&status)) : NULL;
    if (f && !f->is_output && is_still_there(f))
        return fail_both(path, f->name, err);
    claim->state = OWN;
    return 0;
}

int trl__guard_own(const char *path, trl_error *err)
{
    struct stat folder;
    int code = atomic_load(&guard.on) ? stat_folder(path, &folder, err) : 0;
    if (code <= 0)
        return code;
    pthread_mutex_lock(&guard.lock);
    code = claim_own(identity_of(&folder), path, err);
    pthread_mutex_unlock(&guard.lock);
    return code;
}

void trl__guard_leave(trl__claim *claim, int written)
{
    if (!claim)
        return;
    pthread_mutex_lock(&guard.lock);
    claim->state = written ? WRITTEN : GIVEN_UP;
    pthread_mutex_unlock(&guard.lock);
}
