/* A folder of sound files with their transcripts beside them (.lab, .txt, .TextGrid), as Montreal Forced Aligner's
 * users keep them.
 *
 * First all files below the folder are listed, each real folder once: links to folders come after all real ones, so
 * that loops end and the names do not depend on the order of a folder's entries. The list is sorted by path without
 * extension, which brings a sound and its transcripts together; each such group is then read.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/fail.h"
#include "corpus/corpus_builder.h"
#include "corpus/textgrid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HINTS 3 /* corpora that are named where the folder itself is none */

/* In the order of preference when a sound has several transcripts. Media: sound as a rule with pictures, or what
 * phones make. */
enum file_kind { FILE_SOUND, FILE_MEDIA, FILE_LAB, FILE_TXT, FILE_TEXTGRID, FILE_OTHER };

typedef struct entry {
    const char *below; /* path below the corpus folder; "" is the folder itself */
    size_t stem;       /* its length without extension */
    enum file_kind kind;
} entry;

typedef struct list {
    entry *items;
    size_t count, capacity;
} list;

typedef struct folder_reader {
    trl_corpus *corpus;
    const char *root;    /* the corpus folder */
    const char *speaker; /* of files directly in it */
    const char *only;    /* the one sound's name: only its transcripts are read besides; or NULL */
    list files, folders, links;
    list corpora;         /* what below this folder looks like a corpus by its name */
    trl__strings visited; /* device and inode of folders */
    trl__strings names;   /* base names of sounds … */
    size_t *name_uses;    /* … and how many have each */
    size_t name_capacity;
    trl__arena arena;
} folder_reader;

static enum file_kind kind_of(const char *name)
{
    const char *extension = trl__extension(name);
    return trl__is_sound_name(name)                  ? FILE_SOUND
           : trl__is_media_name(name)                ? FILE_MEDIA
           : strcasecmp(extension, ".lab") == 0      ? FILE_LAB
           : strcasecmp(extension, ".txt") == 0      ? FILE_TXT
           : strcasecmp(extension, ".TextGrid") == 0 ? FILE_TEXTGRID
                                                     : FILE_OTHER;
}

static int append(list *l, const char *below, enum file_kind kind, trl_error *err)
{
    if (TRL_GROW(l->items, l->capacity, l->count + 1) < 0)
        return trl__fail_memory(err);
    l->items[l->count++] = (entry){below, (size_t)(trl__extension(below) - below), kind};
    return 0;
}

static int by_stem(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    size_t shorter = x->stem < y->stem ? x->stem : y->stem;
    int order = memcmp(x->below, y->below, shorter);
    if (order == 0)
        order = (x->stem > y->stem) - (x->stem < y->stem);
    if (order == 0)
        order = (x->kind > y->kind) - (x->kind < y->kind);
    return order ? order : strcmp(x->below, y->below);
}

/* A file or folder that the system does not let us read. */
static int no_access(folder_reader *r, const char *path, int reason, trl_error *err)
{
    char text[128];
    if (reason == ENOMEM)
        return trl__fail_memory(err);
    if (strerror_r(reason, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", reason);
    return trl_findings_add(r->corpus->findings, TRL_FINDING_NO_ACCESS, path, 0, NULL, err, "can't be read: %s", text);
}

/* What the file is here. One sound asked for by name is a sound whatever its extension, and has no others beside it. */
static enum file_kind kind_in(const folder_reader *r, const char *name)
{
    if (!r->only)
        return kind_of(name);
    size_t stem = (size_t)(trl__extension(name) - name);
    if (strcmp(name, r->only) == 0)
        return FILE_SOUND;
    int same_stem = (size_t)(trl__extension(r->only) - r->only) == stem && memcmp(r->only, name, stem) == 0;
    return same_stem && kind_of(name) > FILE_MEDIA ? kind_of(name) : FILE_OTHER;
}

/* A wav.scp makes its folder a corpus, a .tsv file may be one: worth a hint when this folder is none. */
static int note_corpus(folder_reader *r, const char *name, const char *below, trl_error *err)
{
    const char *slash = strrchr(below, '/');
    int is_kaldi = slash && strcmp(name, "wav.scp") == 0;
    if (r->only || (!is_kaldi && strcasecmp(trl__extension(name), ".tsv") != 0))
        return 0;
    const char *corpus = is_kaldi ? trl__arena_copy(&r->arena, below, (size_t)(slash - below)) : below;
    return corpus ? append(&r->corpora, corpus, FILE_OTHER, err) : trl__fail_memory(err);
}

/* Puts one entry of a folder into the list where it belongs. */
static int list_entry(folder_reader *r, int folder, const char *name, const char *below, trl_error *err)
{
    struct stat status, link;
    enum file_kind kind = kind_in(r, name);
    int there = fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && fstatat(folder, name, &status, 0) == 0;
    if (!there && kind == FILE_OTHER)
        return 0;
    if (there && S_ISDIR(status.st_mode))
        return r->only ? 0 : append(S_ISLNK(link.st_mode) ? &r->links : &r->folders, below, FILE_OTHER, err);
    if (there && !S_ISREG(status.st_mode))
        return 0;
    if (kind == FILE_OTHER)
        return note_corpus(r, name, below, err);
    int valid = trl__utf8_check(below, strlen(below)) == strlen(below);
    if (there && valid)
        return append(&r->files, below, kind, err);
    int reason = errno;
    const char *path = trl__join_path(&r->arena, r->root, below);
    if (!path)
        return trl__fail_memory(err);
    if (!there)
        return no_access(r, path, reason, err);
    return trl_findings_add(r->corpus->findings, TRL_FINDING_ENCODING, path, 0, NULL, err,
                            "the file's name is not valid UTF-8; it is left out");
}

/* Is this folder new? 1 yes, 0 no, or TRL_ENOMEM. */
static int visit(folder_reader *r, const char *path, trl_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return 1; /* opening it will say why */
    char identity[64];
    int length = snprintf(identity, sizeof identity, "%llx:%llx", (unsigned long long)status.st_dev,
                          (unsigned long long)status.st_ino);
    size_t before = r->visited.count;
    if (trl__strings_add(&r->visited, identity, (size_t)length) < 0)
        return trl__fail_memory(err);
    return r->visited.count > before;
}

static int list_folder(folder_reader *r, const char *below, trl_error *err)
{
    const char *path = *below ? trl__join_path(&r->arena, r->root, below) : r->root;
    if (!path)
        return trl__fail_memory(err);
    int code = visit(r, path, err);
    if (code <= 0)
        return code;
    DIR *folder = opendir(path);
    if (!folder)
        return *below ? no_access(r, path, errno, err) : trl__fail_errno(err, path, "can't read the folder");
    code = 0;
    struct dirent *item;
    while (code == 0 && (errno = 0, item = readdir(folder))) {
        if (item->d_name[0] == '.')
            continue;
        const char *inner = *below ? trl__join_path(&r->arena, below, item->d_name)
                                   : trl__arena_copy(&r->arena, item->d_name, strlen(item->d_name));
        code = inner ? list_entry(r, dirfd(folder), item->d_name, inner, err) : trl__fail_memory(err);
    }
    if (code == 0 && errno != 0)
        code = no_access(r, path, errno, err);
    closedir(folder);
    return code;
}

static int have_same_stem(const entry *a, const entry *b)
{
    return a->stem == b->stem && memcmp(a->below, b->below, a->stem) == 0;
}

/* Of a sound that was extracted from a video beside it, the sound alone is used. */
static void drop_originals(list *files)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        entry e = files->items[i];
        if (e.kind == FILE_MEDIA) {
            e.kind = FILE_SOUND;
            if (kept > 0 && files->items[kept - 1].kind == FILE_SOUND && have_same_stem(&files->items[kept - 1], &e) &&
                !trl__is_media_name(files->items[kept - 1].below))
                continue;
        }
        files->items[kept++] = e;
    }
    files->count = kept;
}

/* Real folders first; then, one after the other in order of their names, links and what is below them. */
static int list_all(folder_reader *r, trl_error *err)
{
    int code = append(&r->folders, "", FILE_OTHER, err);
    size_t done = 0, links_done = 0, links_sorted = 0;
    while (code == 0 && done < r->folders.count) {
        code = list_folder(r, r->folders.items[done++].below, err);
        if (code < 0 || done < r->folders.count || links_done == r->links.count)
            continue;
        if (links_sorted < r->links.count)
            qsort(r->links.items + links_done, r->links.count - links_done, sizeof *r->links.items, by_stem);
        links_sorted = r->links.count;
        code = append(&r->folders, r->links.items[links_done++].below, FILE_OTHER, err);
    }
    if (r->files.count > 1)
        qsort(r->files.items, r->files.count, sizeof *r->files.items, by_stem);
    drop_originals(&r->files);
    return code;
}

static int count_names(folder_reader *r, trl_error *err)
{
    for (size_t i = 0; i < r->files.count; i++) {
        const entry *e = &r->files.items[i];
        if (e->kind != FILE_SOUND)
            continue;
        const char *base = trl__base_name(e->below);
        size_t before = r->names.count;
        long number = trl__strings_add(&r->names, base, (size_t)(e->below + e->stem - base));
        if (number < 0 || TRL_GROW(r->name_uses, r->name_capacity, r->names.count) < 0)
            return trl__fail_memory(err);
        if (r->names.count > before)
            r->name_uses[number] = 0;
        r->name_uses[number]++;
    }
    return 0;
}

/* The base name, or where several sounds share it the path below the corpus folder with dashes. */
static char *name_of(folder_reader *r, const entry *e)
{
    const char *base = trl__base_name(e->below);
    size_t length = (size_t)(e->below + e->stem - base);
    if (r->name_uses[trl__strings_find(&r->names, base, length)] == 1)
        return trl__arena_copy(&r->arena, base, length);
    char *name = trl__arena_copy(&r->arena, e->below, e->stem);
    for (char *c = name; c && *c; c++)
        if (*c == '/')
            *c = '-';
    return name;
}

/* The folder that holds the file; NULL: out of memory. */
static const char *speaker_of(folder_reader *r, const entry *e)
{
    const char *base = trl__base_name(e->below);
    if (base == e->below)
        return r->speaker;
    char *folder = trl__arena_copy(&r->arena, e->below, (size_t)(base - e->below) - 1);
    return folder ? trl__base_name(folder) : NULL;
}

/* A sound whose transcript can't be used: one utterance with the finding; bad where transcripts are needed. */
static int add_without_text(folder_reader *r, const trl__sound *s, trl_finding_kind kind, const char *path,
                            int64_t line, const char *message, trl_error *err)
{
    size_t number;
    int code = trl__sound_add(r->corpus, s, &number, err);
    if (code == 0)
        code = trl__corpus_set_text(r->corpus, number, NULL, 0, path, line, err);
    if (code == 0)
        code =
            trl__corpus_report(r->corpus, number, trl__text_finding(r->corpus, kind), path, line, err, "%s", message);
    return code;
}

static int read_textgrid(folder_reader *r, const trl__sound *s, const char *path, trl__text *text, trl_error *err)
{
    trl__textgrid grid;
    trl_error problem = {0, ""};
    int64_t line;
    int code = trl__textgrid_parse(text, &grid, &line, &problem);
    if (code == TRL_ENOMEM)
        return trl__fail_memory(err);
    if (code < 0)
        return add_without_text(r, s, code == TRL_EFORMAT ? TRL_FINDING_SYNTAX : TRL_FINDING_ENCODING, path, line,
                                problem.text, err);
    size_t before = r->corpus->count, findings_before = trl_findings_count(r->corpus->findings);
    code = trl__textgrid_add(r->corpus, s, &grid, path, err);
    trl__textgrid_free(&grid);
    if (code == 0 && r->corpus->count == before && trl_findings_count(r->corpus->findings) == findings_before)
        code = r->corpus->need_text
                   ? add_without_text(r, s, TRL_FINDING_EMPTY_TRANSCRIPT, path, 0, "no interval has text", err)
                   : trl__sound_add(r->corpus, s, &before, err);
    return code;
}

/* More than one line: then findings about its words name the file only. */
static int spans_lines(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);
    size_t first = end ? (size_t)(end - text) + 1 : length;
    for (size_t i = first; i < length; i++)
        if (!trl__is_space(text[i]))
            return 1;
    return 0;
}

static int read_transcript(folder_reader *r, const trl__sound *s, const entry *transcript, trl_error *err)
{
    const char *path = trl__join_path(&r->arena, r->root, transcript->below);
    if (!path)
        return trl__fail_memory(err);
    trl__text text;
    trl_error problem = {0, ""};
    int code = trl__text_read(path, &text, &problem);
    if (code == TRL_ENOMEM)
        return trl__fail_memory(err);
    if (code < 0) {
        const char *reason = problem.text;
        if (strncmp(reason, path, strlen(path)) == 0)
            reason += strlen(path) + 2; /* the place is said already */
        return add_without_text(r, s, code == TRL_EFORMAT ? TRL_FINDING_ENCODING : TRL_FINDING_NO_ACCESS, path, 0,
                                reason, err);
    }
    if (transcript->kind == FILE_TEXTGRID) {
        code = read_textgrid(r, s, path, &text, err);
    } else {
        const char *words = text.bytes + text.position;
        size_t number, length = text.size - text.position;
        code = trl__sound_add(r->corpus, s, &number, err);
        if (code == 0)
            code = trl__corpus_set_text(r->corpus, number, words, length, path, 1, err);
        if (code == 0 && spans_lines(words, length))
            r->corpus->utterances[number].text_line = 0;
    }
    trl__text_free(&text);
    return code < 0 ? code : 0;
}

/* Files with the same path up to the extension: sounds first, then transcripts in the order of preference. */
static int read_group(folder_reader *r, const entry *group, size_t count, trl_error *err)
{
    size_t sounds = 0, number;
    while (sounds < count && group[sounds].kind == FILE_SOUND)
        sounds++;
    int code = 0;
    for (size_t i = 0; code == 0 && i < sounds; i++) {
        trl__sound s = {name_of(r, &group[i]), speaker_of(r, &group[i]),
                        trl__join_path(&r->arena, r->root, group[i].below), strchr(group[i].below, '/') != NULL};
        if (!s.name || !s.speaker || !s.path)
            return trl__fail_memory(err);
        if (i == 0 && sounds < count)
            code = read_transcript(r, &s, &group[sounds], err);
        else
            code = trl__sound_add(r->corpus, &s, &number, err);
        code = code < 0 ? code : 0;
    }
    for (size_t i = sounds ? sounds + 1 : 0; code == 0 && i < count; i++) {
        const char *path = trl__join_path(&r->arena, r->root, group[i].below);
        if (!path)
            return trl__fail_memory(err);
        code = trl_findings_add(r->corpus->findings, trl__text_finding(r->corpus, TRL_FINDING_NO_SOUND), path, 0, NULL,
                                err,
                                sounds ? "this sound's transcript is %s; this one is not used"
                                       : "there is no sound file of this name beside it",
                                sounds ? trl__base_name(group[sounds].below) : "");
    }
    return code;
}

/* Sets the corpus's hint, which stays NULL where nothing is to be said. */
static int make_hint(folder_reader *r, trl_error *err)
{
    const char *found[HINTS];
    size_t count = 0, size = sizeof "; did you mean ?";
    if (r->corpora.count > 1)
        qsort(r->corpora.items, r->corpora.count, sizeof *r->corpora.items, by_stem);
    for (size_t i = 0; i < r->corpora.count && count < HINTS; i++) {
        const char *path = trl__join_path(&r->arena, r->root, r->corpora.items[i].below);
        if (!path)
            return trl__fail_memory(err);
        if (!trl__is_folder(path) && !trl__is_manifest(path))
            continue;
        found[count++] = path;
        size += strlen(path) + sizeof " or ";
    }
    char *hint = count > 0 ? trl__arena_alloc(&r->corpus->arena, size) : NULL;
    if (count > 0 && !hint)
        return trl__fail_memory(err);
    for (size_t i = 0, used = 0; i < count; i++)
        used += (size_t)snprintf(hint + used, size - used, "%s%s%s",
                                 i == 0          ? "; did you mean "
                                 : i + 1 < count ? ", "
                                                 : " or ",
                                 found[i], i + 1 < count ? "" : "?");
    r->corpus->hint = hint;
    return 0;
}

static int has_any_text(const trl_corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++)
        if (corpus->utterances[i].text_source)
            return 1;
    return 0;
}

static int read_groups(folder_reader *r, trl_error *err)
{
    int code = count_names(r, err);
    if (code == 0 && r->names.count == 0)
        code = make_hint(r, err);
    if (code == 0 && r->names.count == 0)
        return trl__fail(err, TRL_EFORMAT, "%s: neither wav.scp nor sound files in this folder%s", r->corpus->path,
                         r->corpus->hint ? r->corpus->hint : "");
    for (size_t i = 0; code == 0 && i < r->files.count;) {
        const entry *first = &r->files.items[i];
        size_t count = 1;
        while (i + count < r->files.count && have_same_stem(&r->files.items[i + count], first))
            count++;
        code = read_group(r, first, count, err);
        i += count;
    }
    return code == 0 && !has_any_text(r->corpus) ? make_hint(r, err) : code;
}

/* The folder's own name, also of "." and of links. */
static const char *folder_name(folder_reader *r, const char *path)
{
    char *real = realpath(path, NULL);
    const char *name = trl__base_name(real ? real : path);
    if (*name == '\0' || trl__utf8_check(name, strlen(name)) < strlen(name))
        name = "unknown";
    name = trl__arena_copy(&r->arena, name, strlen(name));
    free(real);
    return name;
}

static int read_below(folder_reader *r, trl_error *err)
{
    int code = r->speaker ? list_all(r, err) : trl__fail_memory(err);
    if (code == 0)
        code = read_groups(r, err);
    trl__free(r->files.items);
    trl__free(r->folders.items);
    trl__free(r->links.items);
    trl__free(r->corpora.items);
    trl__free(r->name_uses);
    trl__strings_free(&r->visited);
    trl__strings_free(&r->names);
    trl__arena_free(&r->arena);
    return code;
}

int trl__sound_folder_read(trl_corpus *corpus, trl_error *err)
{
    folder_reader r = {.corpus = corpus, .root = corpus->path};
    r.speaker = folder_name(&r, corpus->path);
    return read_below(&r, err);
}

static int add_stdin(trl_corpus *corpus, size_t *number, trl_error *err)
{
    trl_utterance u = {
        .id = "stdin", .speaker = "stdin", .path = "-", .channel = -1, .end = -1, .source = "standard input"};
    return trl__corpus_add(corpus, &u, number, err);
}

static int fail_unless_there(const trl_corpus *corpus, trl_error *err)
{
    struct stat status;
    return stat(corpus->path, &status) == 0 ? 0 : trl__fail_errno(err, corpus->path, "can't open the corpus");
}

/* A single file is a folder that holds nothing else. */
int trl__sound_file_read(trl_corpus *corpus, trl_error *err)
{
    size_t number;
    if (strcmp(corpus->path, "-") == 0)
        return add_stdin(corpus, &number, err);
    int code = fail_unless_there(corpus, err);
    if (code < 0)
        return code;
    folder_reader r = {.corpus = corpus};
    const char *base = r.only = trl__base_name(corpus->path);
    r.root = base == corpus->path ? "." : trl__arena_copy(&r.arena, corpus->path, (size_t)(base - corpus->path));
    r.speaker = trl__arena_copy(&r.arena, base, (size_t)(trl__extension(base) - base));
    if (!r.root || !r.speaker) {
        trl__arena_free(&r.arena);
        return trl__fail_memory(err);
    }
    return read_below(&r, err);
}

/* The file by itself, whatever stands beside it. */
static int add_alone(trl_corpus *corpus, size_t *number, trl_error *err)
{
    if (strcmp(corpus->path, "-") == 0)
        return add_stdin(corpus, number, err);
    int code = fail_unless_there(corpus, err);
    trl__arena arena = {0};
    const char *base = trl__base_name(corpus->path);
    size_t length = (size_t)(trl__extension(base) - base);
    const char *name = trl__utf8_check(base, length) < length ? "sound" : trl__arena_copy(&arena, base, length);
    trl__sound sound = {name, name, corpus->path, 0};
    if (code == 0)
        code = name ? trl__sound_add(corpus, &sound, number, err) : trl__fail_memory(err);
    trl__arena_free(&arena);
    return code;
}

int trl__sound_file_with_words(trl_corpus *corpus, const char *words, const char *words_file, trl_error *err)
{
    trl__text text;
    size_t number;
    if (corpus->format != TRL_CORPUS_SOUND)
        return trl__fail(err, TRL_EINVAL, "%s: words can be given for a single sound file only", corpus->path);
    int code = add_alone(corpus, &number, err);
    if (code < 0)
        return code;
    if (words)
        return trl__corpus_set_text(corpus, number, words, strlen(words), "the given words", 0, err);
    code = trl__text_read(words_file, &text, err);
    if (code < 0)
        return code;
    const char *start = text.bytes + text.position;
    size_t length = text.size - text.position;
    code = trl__corpus_set_text(corpus, number, start, length, words_file, !spans_lines(start, length), err);
    trl__text_free(&text);
    return code;
}
