#include "bam_scored.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int read_lists(const bam_scored *s, const char *path, int only_true, trl_bam_lists **out, trl_error *err)
{
    trl_error why;
    int code = trl_bam_lists_read(path, out, err);
    if (code < 0)
        return code;
    if (trl_bam_lists_run(*out)->rescored == 0)
        return cli_error(err, TRL_EFORMAT,
                         "%s: these lists have not been rescored; `trellis bam rescore --to lists` does that", path);
    code = trl_bam_lists_score(*out, s->said, only_true, s->pool, &why);
    return code < 0 ? cli_error(err, code, "%s: %s", path, why.text) : 0;
}

int bam_scored_read(const cli_common *common, int only_true, int count, char **arguments, bam_scored *s)
{
    trl_error err;
    int code = cli_pool(common, &s->pool);
    if (code)
        return code;
    if (trl_transcripts_read(arguments[0], TRL_TRANSCRIPTS_ANY, &s->said, &err) < 0)
        return cli_failure(&err);
    s->lists = calloc((size_t)count, sizeof *s->lists);
    if (!s->lists)
        return cli_failure(&(trl_error){TRL_ENOMEM, "out of memory"});
    for (s->count = 0; code == 0 && s->count + 1 < (size_t)count; s->count++)
        code = read_lists(s, arguments[s->count + 1], only_true, &s->lists[s->count], &err);
    return code < 0 ? cli_failure(&err) : 0;
}

void bam_scored_free(bam_scored *s)
{
    for (size_t i = 0; s->lists && i < s->count; i++)
        trl_bam_lists_destroy(s->lists[i]);
    free(s->lists);
    trl_transcripts_destroy(s->said);
    trl_pool_destroy(s->pool);
}

/* As the paper writes them: thousands as k. */
static void thousands(uint64_t n, char text[32])
{
    if (n >= 10000 || (n >= 1000 && n % 1000 == 0))
        snprintf(text, 32, "%" PRIu64 "k", (n + 500) / 1000);
    else
        snprintf(text, 32, "%" PRIu64, n);
}

void bam_run_text(const trl_bam_run *r, char *text, size_t size)
{
    char least[32];
    thousands((uint64_t)r->least_frames, least);
    if (r->rescored == 2)
        snprintf(text, size, "first-pass model again");
    else
        snprintf(text, size, "BAM Nmin = %s, α = %g, β = %g, M = %d%s", least, r->alpha, r->beta, r->order,
                 r->word_boundaries ? "" : ", no word boundaries");
}

void bam_print_head(void)
{
    printf("WER %%   (S / D / I)           Gaussians  model\n");
}

void bam_print_row(const char *label, const trl_bam_weights *w, int with_back_off, trl_counts c, uint64_t gaussians)
{
    char size[32], shares[64];
    double words = c.words > 0 ? (double)c.words / 100 : 1;
    thousands(gaussians, size);
    snprintf(shares, sizeof shares, "(%.2f / %.2f / %.2f)", (double)c.substitutions / words,
             (double)c.deletions / words, (double)c.insertions / words);
    printf("%-7.2f %-21s %9s  %s, λ = %g, wLM = %g", 100 * trl_word_error_rate(c), shares, size, label, w->lambda,
           w->lm_weight);
    if (with_back_off)
        printf(", fbo = %g", w->back_off);
    putchar('\n');
}
