#include "bam/work_folder.h"
#include "base/fail.h"
#include "base/folder_lock.h"
#include "base/input_guard.h"
#include "base/path.h"
#include "base/text_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <trellis/file.h>
#include <unistd.h>

#define FINDINGS "findings"

/* ---- the folder ---- */

int trl__work_open(const char *store, trl__work *out, trl_error *err)
{
    size_t length = strlen(store);
    *out = (trl__work){.lock = -1};
    while (length > 1 && store[length - 1] == '/')
        length--;
    out->folder = trl__arena_alloc(&out->names, length + 6);
    if (!out->folder)
        return trl__fail_memory(err);
    snprintf(out->folder, length + 6, "%.*s.work", (int)length, store);
    int code = trl__folder_lock(out->folder, "trains this store", &out->lock, err);
    if (code < 0)
        trl__work_close(out);
    return code;
}

void trl__work_close(trl__work *w)
{
    if (w->lock >= 0)
        close(w->lock);
    trl__arena_free(&w->names);
    *w = (trl__work){.lock = -1};
}

static char *own_file(trl__work *w, const char *name)
{
    char *path = trl__join_path(&w->names, w->folder, name);
    int code = path ? trl__guard_own(path, NULL) : TRL_ENOMEM; /* one that was read is refused when it is written */
    return code == TRL_ENOMEM ? NULL : path;
}

char *trl__work_name(trl__work *w, const char *kind, size_t number)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%06zu", kind, number);
    return own_file(w, name);
}

static int is_ours(const char *name)
{
    return trl__name_fits(name, "run-#") || trl__name_fits(name, "mapped-#") || trl__name_fits(name, "part-@-#") ||
           strcmp(name, FINDINGS) == 0;
}

int trl__work_remove(const trl__work *w, int with_folder, trl_error *err)
{
    DIR *folder = opendir(w->folder);
    if (!folder && errno == ENOMEM)
        return trl__fail_memory(err);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_ours(entry->d_name) || (with_folder && strcmp(entry->d_name, TRL__LOCK_NAME) == 0))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    if (with_folder)
        rmdir(w->folder);
    return 0;
}

/* ---- findings: a line with the job, then for each four lines ---- */

int trl__work_keep(trl__work *w, uint64_t job, const trl_findings *findings, trl_error *err)
{
    trl_file *file;
    const trl_finding *f;
    char *name = own_file(w, FINDINGS);
    int code = name ? trl_file_create(name, &file, err) : trl__fail_memory(err);
    if (code < 0)
        return code;
    code = trl_file_print(file, err, "%" PRIu64 "\n", job);
    for (size_t i = 0; code == 0 && (f = trl_findings_get(findings, i)); i++)
        code = trl_file_print(file, err, "%d %" PRId64 "\n%s\n%s\n%s\n", (int)f->kind, f->line,
                              f->utterance ? f->utterance : "", f->file, f->message);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

/* The next finding: 1, 0 where there is none. Its texts lie in `text`. */
static int next_finding(trl__text *text, trl_finding *f)
{
    char *lines[4], *kind;
    size_t length;
    int64_t number;
    for (int i = 0; i < 4; i++)
        if (!trl__text_line(text, &lines[i], &length))
            return 0;
    kind = trl__next_field(&lines[0]);
    if (!kind || trl__parse_int(kind, &number) < 0 || number < 0 || number >= TRL_FINDING_KINDS ||
        trl__parse_int(lines[0], &f->line) < 0)
        return 0;
    f->kind = (trl_finding_kind)number;
    f->utterance = lines[1][0] ? lines[1] : NULL;
    f->file = lines[2];
    f->message = lines[3];
    return 1;
}

int trl__work_recall(trl__work *w, uint64_t job, trl_findings *findings, trl_error *err)
{
    trl__text text;
    trl_finding f = {0};
    char *name = own_file(w, FINDINGS), *line, own[32];
    size_t length;
    int code = name ? trl__text_read(name, &text, err) : trl__fail_memory(err);
    if (code < 0)
        return code == TRL_ENOENT ? 0 : code;
    snprintf(own, sizeof own, "%" PRIu64, job);
    if (trl__text_line(&text, &line, &length) && strcmp(line, own) == 0)
        while (code == 0 && next_finding(&text, &f))
            code = trl_findings_add(findings, f.kind, f.file, f.line, f.utterance, err, "%s", f.message);
    trl__text_free(&text);
    return code;
}
