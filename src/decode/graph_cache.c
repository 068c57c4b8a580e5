/* Graphs of models that are installed with a dictionary and a language model, built once and kept in the user's cache. The file's name has a hash of all that the
 * graph is made from, so that an upgrade of any of it makes another one. Whoever looks sees a whole file or none (trl_file), and one that is damaged is made
 * anew. Where the cache can't be written, the graph is used all the same. */
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/input_guard.h"
#include "base/installed.h"
#include "base/memory.h"
#include "base/path.h"
#include "decode/network.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <trellis/fst_file.h>
#include <unistd.h>

typedef struct cache_job {
    const char *name;
    const trl_model *model;
    trl_graph_say_fn say;
    void *user;
    trl__arena arena;
    const char *lexicon, *language; /* files */
    char *path;                     /* of the graph; NULL: there is no place for it */
    trl_error *err;
} cache_job;

static void say(const cache_job *j, const char *format, ...) TRL_PRINTF(2, 3);
static void say(const cache_job *j, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (j->say)
        j->say(j->user, text);
}

/* ---- What it is made from ---- */

/* 0, or a failure: they are not there. */
static int find_parts(cache_job *j)
{
    int code = trl__installed(&j->arena, j->name, TRL__INSTALLED_LEXICON, &j->lexicon, j->err);
    if (code == 0)
        code = trl__installed(&j->arena, j->name, TRL__INSTALLED_LM, &j->language, j->err);
    if (code < 0)
        return code;
    if (j->lexicon == j->name || j->language == j->name)
        return trl__fail(j->err, TRL_ENOENT,
                         "%s: no %s of this name is installed; make a graph with trellis graph, and give it", j->name,
                         j->lexicon == j->name ? "dictionary" : "language model");
    return 0;
}

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size)
{
    return (hash ^ trl__hash(bytes, size)) * 0x9E3779B97F4A7C15u + size;
}

static int hash_file(const char *path, uint64_t *hash, trl_error *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return trl__fail_errno(err, path, "can't open");
    }
    int code = trl__guard_input(fd, path, err);
    if (code < 0) {
        close(fd);
        return code;
    }
    size_t size = (size_t)status.st_size;
    void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (bytes == MAP_FAILED)
        return trl__fail_errno(err, path, "can't map");
    *hash = hash_more(*hash, bytes ? bytes : "", size);
    if (bytes)
        munmap(bytes, size);
    return 0;
}

static int fingerprint(const cache_job *j, uint64_t *hash)
{
    const uint32_t version = TRL__GRAPH_VERSION;
    const trl_model *m = j->model;
    *hash = hash_more(trl__model_shape(m), &version, sizeof version);
    *hash = hash_more(*hash, m->log_probability, ((size_t)m->transitions + 1) * sizeof *m->log_probability);
    *hash = hash_more(*hash, &m->silence_between, sizeof m->silence_between);
    int code = hash_file(j->lexicon, hash, j->err);
    return code < 0 ? code : hash_file(j->language, hash, j->err);
}

/* ---- The cache ---- */

/* XDG_CACHE_HOME/trellis, or ~/.cache/trellis; NULL: neither is known. The folders need not be there. */
static char *cache_folder(trl__arena *arena)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!cache || *cache != '/')
        cache = home && *home == '/' ? trl__join_path(arena, home, ".cache") : NULL;
    return cache ? trl__join_path(arena, cache, "trellis") : NULL;
}

static int choose_path(cache_job *j)
{
    uint64_t hash = 0;
    char file[300];
    int code = fingerprint(j, &hash);
    const char *folder = cache_folder(&j->arena);
    if (code < 0 || !folder)
        return code;
    snprintf(file, sizeof file, "%.200s-%016" PRIx64 ".trg", j->name, hash);
    j->path = trl__join_path(&j->arena, folder, file);
    return j->path ? 0 : trl__fail_memory(j->err);
}

/* The folder of the graph, and the one that it lies in. */
static int make_folders(const cache_job *j, trl_error *err)
{
    char *folder = trl__strdup(j->path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash)
        return trl__fail_memory(err);
    *slash = '\0';
    char *above = strrchr(folder, '/');
    int code = 0;
    if (above && above > folder) {
        *above = '\0';
        code = trl__make_folder(folder, err);
        *above = '/';
    }
    if (code == 0)
        code = trl__make_folder(folder, err);
    trl__free(folder);
    return code;
}

/* The graph from the cache: 1; 0: it is not there. */
static int read_kept(const cache_job *j, trl_graph **graph)
{
    trl_error why;
    int code = j->path ? trl__guard_own(j->path, &why) : TRL_ENOENT;
    if (code == 0)
        code = trl_graph_read(j->path, graph, &why);
    if (code == 0 && trl_graph_fits(*graph, j->model, &why) == 0)
        return 1;
    if (code != TRL_ENOENT)
        say(j, "%s; it is made anew", why.text);
    trl_graph_destroy(*graph);
    *graph = NULL;
    return 0;
}

/* Writes it, and goes on with the file's pages in place of our own. */
static void keep(const cache_job *j, trl_graph **graph)
{
    trl_error why;
    trl_graph *kept = NULL;
    int code =
        j->path ? make_folders(j, &why) : trl__fail(&why, TRL_ENOENT, "neither XDG_CACHE_HOME nor HOME is a folder");
    if (code == 0)
        code = trl_graph_write(*graph, j->path, &why);
    if (code == 0)
        code = trl_graph_read(j->path, &kept, &why);
    if (code < 0) {
        say(j, "the graph can't be kept for the next time: %s", why.text);
        return;
    }
    trl_graph_destroy(*graph);
    *graph = kept;
}

/* ---- Building ---- */

static int build(const cache_job *j, trl_graph **graph)
{
    trl_graph_options o = trl_graph_defaults();
    trl_lexicon *lexicon = NULL;
    trl_fst *grammar = NULL;
    size_t left_out = 0;
    o.on_the_fly = 1;
    int code = trl_lexicon_read(j->lexicon, NULL, &lexicon, j->err);
    if (code == 0)
        code = trl_fst_read_arpa(j->language, &(trl_arpa_options){.keep_words = 1}, &grammar, NULL, j->err);
    if (code == 0)
        code = trl_graph_build(j->model, lexicon, grammar, &o, graph, &left_out, j->err);
    if (code == TRL_EINVAL) { /* it is about words, and does not know where they come from */
        const trl_error why = *j->err;
        trl__fail(j->err, code, "%s and %s: %s", j->lexicon, j->language, why.text);
    }
    size_t words = code == 0 ? trl_symbols_count(trl_fst_input_symbols(grammar)) - 1 : 0;
    if (code == 0 && left_out > 0)
        say(j, "%zu of %zu words of %s left out: %s has no pronunciation%s", left_out, words, j->language, j->lexicon,
            2 * left_out > words ? "; do they belong together?" : "");
    trl_fst_destroy(grammar);
    trl_lexicon_destroy(lexicon);
    return code;
}

static int open_graph(cache_job *j, trl_graph **graph)
{
    int code = find_parts(j);
    if (code == 0)
        code = choose_path(j);
    if (code < 0 || read_kept(j, graph))
        return code;
    say(j, "making the graph of %s, once: %s", j->name, j->path ? j->path : "it can't be kept");
    code = build(j, graph);
    if (code == 0)
        keep(j, graph);
    return code;
}

int trl_graph_installed(const char *name, const trl_model *model, trl_graph_say_fn say_it, void *user, trl_graph **out,
                        trl_error *err)
{
    cache_job j = {.name = name, .model = model, .say = say_it, .user = user, .err = err};
    *out = NULL;
    int code = open_graph(&j, out);
    trl__arena_free(&j.arena);
    return code;
}

int trl_graph_is_installed(const char *name)
{
    cache_job j = {.name = name};
    int found = find_parts(&j) == 0;
    trl__arena_free(&j.arena);
    return found;
}
