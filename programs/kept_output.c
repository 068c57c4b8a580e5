#include "kept_output.h"
#include "resume.h"

#include <stdlib.h>
#include <string.h>

/* The name beside the output; a folder's may end with slashes. */
static char *name_part(const char *output)
{
    char *folder = cli_with_ending(output, "");
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        folder[--length] = '\0';
    char *path = cli_with_ending(folder, ".part");
    free(folder);
    return path;
}

int kept_output_open(kept_output *k, const cli_common *common, const char *output, int resume)
{
    trl_error err;
    char *path = name_part(output);
    int code = trl_kept_open(path, 1, &k->kept, &err);
    if (code == 0 && !resume && *trl_kept_count(k->kept) > 0) {
        cli_say(common,
                "warning: %s has %zu utterances of a run that was interrupted; this one begins anew (--resume goes on "
                "with them)",
                path, *trl_kept_count(k->kept));
        trl_kept_close(k->kept, 1);
        code = trl_kept_open(path, 0, &k->kept, &err);
    }
    if (code == 0) {
        k->where = cli_with_ending("of the utterances, in ", path);
        resume_offer(k->where, trl_kept_count(k->kept));
    }
    if (code == 0 && resume)
        cli_say(common, "%zu utterances were done before", *trl_kept_count(k->kept));
    free(path);
    return code < 0 ? cli_failure(&err) : 0;
}

int kept_output_failure(const kept_output *k, const trl_error *err)
{
    int code = cli_failure(err);
    if (k->kept && err->code != TRL_EINVAL) /* what is refused now will be refused again */
        resume_say();
    return code;
}

void kept_output_done(kept_output *k)
{
    resume_withdraw();
    trl_kept_close(k->kept, 1);
    k->kept = NULL;
}

void kept_output_close(kept_output *k)
{
    if (k->kept)
        resume_withdraw();
    trl_kept_close(k->kept, 0);
    free(k->where);
    *k = (kept_output){0};
}
