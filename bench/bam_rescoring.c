#include "bam_rescoring.h"
#include "child_process.h"

#include <stdio.h>
#include <trellis/bam_rescore.h>
#include <trellis/model.h>
#include <unistd.h>

#define KEY "rescore_ms_per_utterance"

typedef struct lists_work {
    const char *folder;
    char data[4096];
} lists_work;

/* First pass and store, as a user makes them: triphones, a loop over all words, M-phones of order 2 with at least 100 frames. */
static void make_lists(void *user)
{
    const lists_work *w = user;
    execl(
        "/bin/sh", "sh", "-ec",
        "cd \"$1\"\n"
        "\"$2\" train \"$3/train\" \"$3/lexicon.txt\" -o first.trm --stages mono,tri -q\n"
        "\"$2\" graph first.trm \"$3/lexicon.txt\" --loop -o loop.trg -q\n"
        "\"$2\" decode first.trm loop.trg \"$3/test\" --to nbest-jsonl --nbest 10 --lattice-beam 12 -o nbest.jsonl -q\n"
        "\"$2\" bam train first.trm \"$3/train\" \"$3/lexicon.txt\" -o bam --order 2 --min-frames 100 -q\n",
        "sh", w->folder, TRELLIS_BUILD_DIR "/programs/trellis", w->data, (char *)NULL);
    _exit(127);
}

static trl_bam_rescore_summary rescore(const lists_work *w)
{
    char path[4200];
    trl_error err;
    trl_model *model;
    trl_lexicon *lexicon;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_bam_lists *lists;
    trl_pool *pool;
    trl_bam_rescore_summary summary;
    snprintf(path, sizeof path, "%.4000s/first.trm", w->folder);
    bench_check(trl_model_read(path, &model, &err), &err);
    snprintf(path, sizeof path, "%.4000s/lexicon.txt", w->data);
    bench_check(trl_lexicon_read(path, NULL, &lexicon, &err), &err);
    bench_check(trl_findings_create(&findings, &err), &err);
    snprintf(path, sizeof path, "%.4000s/test", w->data);
    bench_check(trl_corpus_read(path, NULL, findings, &corpus, &err), &err);
    snprintf(path, sizeof path, "%.4000s/nbest.jsonl", w->folder);
    bench_check(trl_bam_lists_read(path, &lists, &err), &err);
    bench_check(trl_pool_create(1, &pool, &err), &err);
    snprintf(path, sizeof path, "%.4000s/bam", w->folder);
    bench_check(trl_bam_rescore(model, lexicon, corpus, path, NULL, pool, findings, lists, &summary, &err), &err);
    trl_pool_destroy(pool);
    trl_bam_lists_destroy(lists);
    trl_corpus_destroy(corpus);
    trl_findings_destroy(findings);
    trl_lexicon_destroy(lexicon);
    trl_model_destroy(model);
    return summary;
}

void bench_bam_rescoring(const bench_options *options, const char *folder, json_t *result)
{
    lists_work w = {.folder = folder};
    if (options->tiny || !bench_shared("an4", w.data)) {
        bench_absent(result, KEY, options->tiny ? "left out with --tiny" : "AN4 is not there");
        return;
    }
    child_run(make_lists, &w);
    trl_bam_rescore_summary s = rescore(&w);
    bench_report(result, KEY, 1e3 * s.seconds, "ms", "10-best lists of AN4's test set, one thread, by the clock; mean");
    bench_report(result, "rescore_ms_longest", 1e3 * s.longest, "ms", "of the slowest utterance");
    bench_report(result, "rescore_ms_aligning", 1e3 * s.aligning, "ms", "mean: every hypothesis is aligned anew");
    bench_report(result, "rescore_ms_looking_up", 1e3 * s.looking_up, "ms",
                 "mean: M-phones and back-offs, one request");
    bench_report(result, "rescore_ms_scoring", 1e3 * s.scoring, "ms", "mean: frames by their M-phones");
    bench_report(result, "rescore_hypotheses", (double)s.hypotheses / (double)s.utterances, "", "of an utterance");
}
