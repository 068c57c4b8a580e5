#include "lvcsr_beside.h"
#include "child_process.h"
#include "train_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/decode.h>
#include <trellis/fst_file.h>
#include <trellis/score.h>

/* The power of pocketsphinx's default beams, of all its passes and of the first alone. The default comes first. */
static const char *const their_runs[] = {"3:1", "3:0.5", "3:0.65", "3:0.8", "3:1.2", "1:0.5", "1:0.65", "1:0.8", "1:1"};
static const double our_beams[] = {0, 6, 7, 8, 9, 10, 11, 12, 13, 14}; /* 0: the default */

static size_t their_run_count(const bench_options *o, const lvcsr_task *t)
{
    return o->tiny ? 1 : t->is_long ? 2 : o->quick ? 3 : sizeof their_runs / sizeof *their_runs;
}

static int is_our_run(const bench_options *o, const lvcsr_task *t, size_t i)
{
    return i == 0 || (!o->tiny && ((!o->quick && !t->is_long) || i % 2 == 0));
}

/* ---- The task's files ---- */

static FILE *create_file(const lvcsr_task *t, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/%s", t->folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(3);
    }
    return file;
}

void lvcsr_task_begin(lvcsr_task *t)
{
    bench_folder(t->folder, sizeof t->folder);
    t->list = create_file(t, "list.txt");
    t->manifest = create_file(t, "manifest.tsv");
    t->said = create_file(t, "said.txt");
    t->count = 0;
    fputs("id\tpath\n", t->manifest);
}

void lvcsr_task_add(lvcsr_task *t, const char *id, const char *path, const char *text)
{
    fprintf(t->list, "%s\t%s\n", id, path);
    fprintf(t->manifest, "%s\t%s\n", id, path);
    fprintf(t->said, "%s %s\n", id, text);
    t->count++;
}

void lvcsr_task_end(lvcsr_task *t)
{
    bench_remove_folder(t->folder);
}

/* ---- Words ---- */

static void count_errors(const lvcsr_task *t, const char *heard_path, lvcsr_run *run)
{
    char path[4200];
    trl_error err;
    trl_transcripts *said, *heard;
    trl_score *score;
    trl_score_options o = trl_score_defaults();
    o.scorer = TRL_SCORER_EDIT;
    o.letters = TRL_LETTERS_ASCII;
    snprintf(path, sizeof path, "%.4000s/said.txt", t->folder);
    bench_check(trl_transcripts_read(path, TRL_TRANSCRIPTS_TEXT, &said, &err), &err);
    bench_check(trl_transcripts_read(heard_path, TRL_TRANSCRIPTS_TEXT, &heard, &err), &err);
    bench_check(trl_score_create(said, heard, &o, NULL, &score, &err), &err);
    run->errors = trl_errors(trl_score_total(score));
    run->words = trl_score_total(score).words;
    trl_score_destroy(score);
    trl_transcripts_destroy(heard);
    trl_transcripts_destroy(said);
}

/* ---- Theirs ---- */

static lvcsr_run read_run(const lvcsr_task *t, const json_t *json)
{
    char path[4200];
    const char *name = json_string_value(json_object_get(json, "name"));
    lvcsr_run run = {.cpu = json_number_value(json_object_get(json, "cpu")),
                     .seconds = json_number_value(json_object_get(json, "seconds")),
                     .peak_mb = json_number_value(json_object_get(json, "peak_mb"))};
    run.beam = (name[0] == '1' ? -1 : 1) * strtod(name + 2, NULL);
    snprintf(path, sizeof path, "%.4000s/theirs-%c-%s.txt", t->folder, name[0], name + 2);
    count_errors(t, path, &run);
    return run;
}

static int run_theirs(lvcsr_bench *b, const lvcsr_task *t, lvcsr_comparison *found)
{
    char arguments[13000];
    size_t count = their_run_count(b->options, t), used;
    used = (size_t)snprintf(arguments, sizeof arguments, "'%.4000s/list.txt' '%.4000s/theirs' '%.4000s'", t->folder,
                            t->folder, t->language);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(arguments + used, sizeof arguments - used, " %s", their_runs[i]);
    json_t *result = train_run_peer("pocketsphinx_decode.py", arguments);
    const json_t *runs = json_object_get(result, "runs");
    int is_there = json_array_size(runs) == count;
    for (size_t i = 0; is_there && i < count; i++)
        found->theirs[found->their_count++] = read_run(t, json_array_get(runs, i));
    if (is_there)
        json_object_set(b->result, "pocketsphinx_version", json_object_get(result, "version"));
    json_decref(result);
    return is_there;
}

/* ---- Ours ---- */

typedef struct our_work {
    const lvcsr_task *task;
    char graph[4200], words[4200];
    lvcsr_run *run; /* shared with the process that works */
} our_work;

static trl_model *read_model(void)
{
    trl_error err;
    trl_model *model;
    bench_check(trl_model_import(LVCSR_MODEL, NULL, &model, &err), &err);
    return model;
}

/* The installed graph is built at the first time; another language model's is written to the task's folder. */
static void prepare_graph(void *user)
{
    const our_work *w = user;
    trl_error err;
    trl_graph *graph;
    trl_lexicon *lexicon;
    trl_fst *grammar;
    trl_model *model = read_model();
    if (!w->task->language[0]) {
        bench_check(trl_graph_installed(LVCSR_MODEL, model, NULL, NULL, &graph, &err), &err);
        return;
    }
    bench_check(trl_lexicon_read(LVCSR_MODEL, NULL, &lexicon, &err), &err);
    bench_check(trl_fst_read_arpa(w->task->language, &(trl_arpa_options){.keep_words = 1}, &grammar, NULL, &err), &err);
    size_t left_out;
    bench_check(trl_graph_build(model, lexicon, grammar, NULL, &graph, &left_out, &err), &err);
    bench_check(trl_graph_write(graph, w->graph, &err), &err);
}

static int write_words(void *user, const trl_decoding *decoding, trl_error *err)
{
    return trl_decoding_writer_add(user, decoding, err);
}

/* In a process of its own, which ends when it is done. */
static void decode(void *user)
{
    const our_work *w = user;
    char path[4200];
    trl_error err;
    trl_graph *graph;
    trl_corpus *corpus;
    trl_findings *findings;
    trl_pool *pool;
    trl_decoding_writer *writer;
    trl_decode_summary summary;
    trl_decode_options o = trl_decode_large_defaults();
    o.beam = w->run->beam > 0 ? w->run->beam : o.beam;
    o.likelihood_mode = TRL_LIKELIHOODS_BLOCK; /* trials would be counted, and chosen by a clock that others disturb */
    trl_model *model = read_model();
    bench_check(w->task->language[0] ? trl_graph_read(w->graph, &graph, &err)
                                     : trl_graph_installed(LVCSR_MODEL, model, NULL, NULL, &graph, &err),
                &err);
    bench_check(trl_findings_create(&findings, &err), &err);
    snprintf(path, sizeof path, "%.4000s/manifest.tsv", w->task->folder);
    trl_corpus_options reading = trl_corpus_defaults();
    reading.need_text = 0;
    bench_check(trl_corpus_read(path, &reading, findings, &corpus, &err), &err);
    bench_check(trl_pool_create(1, &pool, &err), &err);
    bench_check(trl_decoding_writer_open(w->words, TRL_DECODING_TEXT, &writer, &err), &err);
    double start = bench_cpu_seconds();
    bench_check(trl_decode_corpus(model, graph, corpus, &o, pool, findings, write_words, writer, &summary, &err), &err);
    w->run->cpu = bench_cpu_seconds() - start;
    w->run->seconds = summary.seconds;
    w->run->beam = o.beam;
    bench_check(trl_decoding_writer_commit(writer, &err), &err);
}

static void run_ours(const lvcsr_bench *b, const lvcsr_task *t, lvcsr_comparison *found)
{
    our_work w = {.task = t, .run = child_shared(sizeof *w.run)};
    snprintf(w.graph, sizeof w.graph, "%.4000s/graph.trg", t->folder);
    child_run(prepare_graph, &w);
    for (size_t i = 0; i < sizeof our_beams / sizeof *our_beams; i++) {
        if (!is_our_run(b->options, t, i))
            continue;
        *w.run = (lvcsr_run){.beam = our_beams[i]};
        snprintf(w.words, sizeof w.words, "%.4000s/ours-%zu.txt", t->folder, i);
        double peak = child_run(decode, &w).all;
        lvcsr_run *run = &found->ours[found->our_count++];
        *run = *w.run;
        run->peak_mb = peak;
        count_errors(t, w.words, run);
    }
    child_shared_free(w.run, sizeof *w.run);
}

int lvcsr_compare(lvcsr_bench *b, lvcsr_task *t, lvcsr_comparison *found)
{
    *found = (lvcsr_comparison){0};
    fclose(t->list);
    fclose(t->manifest);
    fclose(t->said);
    if (!run_theirs(b, t, found))
        return 0;
    run_ours(b, t, found);
    return 1;
}

/* ---- What it comes to ---- */

static void add_runs(lvcsr_run *sum, const lvcsr_run *other, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sum[i].beam = other[i].beam;
        sum[i].cpu += other[i].cpu;
        sum[i].seconds += other[i].seconds;
        sum[i].peak_mb = fmax(sum[i].peak_mb, other[i].peak_mb);
        sum[i].errors += other[i].errors;
        sum[i].words += other[i].words;
    }
}

void lvcsr_comparison_add(lvcsr_comparison *sum, const lvcsr_comparison *other)
{
    add_runs(sum->ours, other->ours, other->our_count);
    add_runs(sum->theirs, other->theirs, other->their_count);
    sum->our_count = other->our_count;
    sum->their_count = other->their_count;
}

static lvcsr_point point_of(const lvcsr_run *run)
{
    return (lvcsr_point){run->beam, run->cpu / run->seconds, 100 * (double)run->errors / (double)run->words};
}

static lvcsr_curve *make_curve(lvcsr_bench *b, const char *task, const char *system, const lvcsr_run *runs,
                               size_t count)
{
    lvcsr_curve *c = lvcsr_add_curve(b, task, system);
    for (size_t i = 0; i < count; i++)
        lvcsr_add_point(c, point_of(&runs[i]));
    return c;
}

lvcsr_verdict lvcsr_judge(lvcsr_bench *b, const char *task, const lvcsr_comparison *found)
{
    const lvcsr_curve *theirs = make_curve(b, task, "pocketsphinx", found->theirs, found->their_count);
    const lvcsr_curve *ours = make_curve(b, task, "trellis", found->ours, found->our_count);
    lvcsr_point our_point = point_of(&found->ours[0]), their_point = point_of(&found->theirs[0]);
    lvcsr_verdict v = {our_point.wer, our_point.rtf, their_point.wer, their_point.rtf, 0, -INFINITY};
    v.speed = their_point.rtf / lvcsr_rtf_at(ours, their_point.wer);
    for (size_t i = 0; i < theirs->count; i++)
        v.wer_gap = fmax(v.wer_gap, lvcsr_wer_at(ours, theirs->points[i].rtf) - theirs->points[i].wer);
    return v;
}
