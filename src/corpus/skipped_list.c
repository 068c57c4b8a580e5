/* What a command left out, as a file: a line per utterance (or per entry that never became one), tab, the reason. */
#include "base/fail.h"
#include "base/hash_map.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <trellis/file.h>
#include <trellis/finding.h>
#include <unistd.h>

/* Passed over: what can be used, and utterances that are in the list already, with the first reason. */
typedef struct skipped_list {
    trl__map known; /* ids */
    trl_file *file; /* NULL while nothing is listed */
    const char *path;
    size_t entries;
} skipped_list;

static int is_listed(skipped_list *l, const trl_finding *f, trl_error *err)
{
    uint64_t number = 0;
    if (!trl_finding_is_fatal(f->kind) && f->kind != TRL_FINDING_UNKNOWN_WORD)
        return 0;
    if (!f->utterance)
        return 1;
    int added = trl__map_add(&l->known, f->utterance, strlen(f->utterance), &number);
    return added < 0 ? trl__fail_memory(err) : added;
}

static int add_line(skipped_list *l, const trl_finding *f, trl_error *err)
{
    int code = is_listed(l, f, err);
    if (code <= 0)
        return code;
    l->entries++;
    if (!l->path)
        return 0;
    code = l->file ? 0 : trl_file_create(l->path, &l->file, err);
    if (code == 0)
        code = trl_file_print(l->file, err, "%s\t%s (%s", f->utterance ? f->utterance : "-", f->message, f->file);
    if (code == 0 && f->line > 0)
        code = trl_file_print(l->file, err, ":%" PRId64, f->line);
    return code < 0 ? code : trl_file_print(l->file, err, ")\n");
}

static int end(skipped_list *l, int code, trl_error *err)
{
    trl__map_free(&l->known);
    if (l->file && code == 0)
        return trl_file_commit(l->file, err);
    trl_file_abort(l->file);
    if (code == 0 && l->path && unlink(l->path) != 0 && errno != ENOENT && errno != ENOTDIR)
        return trl__fail_errno(err, l->path, "can't remove the list of an earlier run");
    return code;
}

int trl_findings_write_skipped(const trl_findings *const *lists, size_t count, const char *path, size_t *entries,
                               trl_error *err)
{
    skipped_list l = {.path = path};
    const trl_finding *f;
    int code = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; code == 0 && lists[i] && (f = trl_findings_get(lists[i], k)); k++)
            code = add_line(&l, f, err);
    *entries = l.entries;
    return end(&l, code, err);
}
