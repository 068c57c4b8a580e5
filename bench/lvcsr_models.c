#include "lvcsr_models.h"
#include "train_bench.h"
#include "model/model_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <trellis/fst_file.h>
#include <trellis/train.h>
#include <unistd.h>

#define JOINED 1.19 /* leaves of a tree for each tied state: those that hardly differ are joined again */

enum { THREADS = 2, MONO_GAUSSIANS = 8 };

const lvcsr_kind lvcsr_kinds[LVCSR_KINDS] = {
    {"32 Gaussians", "32", 32, 0.08, 2}, {"128 Gaussians", "128", 128, 0.08, 2}, {"en-us", "en_us", 0, 0.05, 1}};

/* ---- The task ---- */

/* Each so many-th utterance, and so some of every speaker, as a folder beside that of all. */
static trl_corpus *read_part(lvcsr_task *t, const char *folder, size_t every, char path[4300])
{
    trl_error err;
    trl_corpus *all, *part;
    snprintf(path, 4300, "%.4200s-%zu", folder, every);
    bench_check(trl_corpus_read(folder, NULL, t->findings, &all, &err), &err);
    if (every <= 1) {
        snprintf(path, 4300, "%.4200s", folder);
        return all;
    }
    unsigned char *apart = fst_must(calloc(trl_corpus_count(all) + 1, 1));
    for (size_t i = 0; i < trl_corpus_count(all); i += every)
        apart[i] = 1;
    bench_check(trl_corpus_write(all, apart, 1, path, &err), &err);
    bench_check(trl_corpus_read(path, NULL, t->findings, &part, &err), &err);
    trl_corpus_destroy(all);
    free(apart);
    return part;
}

const char *lvcsr_task_open(lvcsr_task *t, lvcsr_bench *b, const lvcsr_task_sizes *sizes)
{
    trl_error err;
    char path[4300];
    *t = (lvcsr_task){.bench = b, .sizes = *sizes};
    const char *why = lvcsr_speech_open(&t->speech, &sizes->speech);
    if (why)
        return why;
    bench_check(trl_findings_create(&t->findings, &err), &err);
    bench_check(trl_pool_create(THREADS, &t->pool, &err), &err);
    bench_check(trl_lexicon_read(t->speech.lexicon, NULL, &t->lexicon, &err), &err);
    t->test = read_part(t, t->speech.test, t->sizes.every, path);
    snprintf(t->said, sizeof t->said, "%.4200s/text", path);
    return NULL;
}

void lvcsr_task_close(lvcsr_task *t)
{
    trl_corpus_destroy(t->test);
    trl_lexicon_destroy(t->lexicon);
    trl_pool_destroy(t->pool);
    trl_findings_destroy(t->findings);
}

/* ---- Models ---- */

/* Trained on each so many-th utterance, unless it was already. */
static trl_model *get_trained(lvcsr_task *t, const char *name, size_t every, trl_train_options o)
{
    char path[4300], folder[4300];
    trl_error err;
    trl_model *model;
    snprintf(path, sizeof path, "%.4000s/%s.trm", t->speech.folder, name);
    if (access(path, R_OK) == 0) {
        bench_check(trl_model_read(path, &model, &err), &err);
        return model;
    }
    trl_corpus *corpus = read_part(t, t->speech.train, every, folder);
    trl_frontend *frontend = train_frontend();
    double start = bench_wall_seconds(), cpu = bench_cpu_seconds();
    size_t before = trl_findings_count(t->findings);
    o.skip_bad = 1;
    bench_check(trl_train(corpus, t->lexicon, frontend, &o, t->pool, t->findings, &model, &err), &err);
    bench_check(trl_model_write(model, path, &err), &err);
    printf("  (%s trained: %d tied states, %d Gaussians; %.0f s by the clock, %.0f s of processors)\n", name,
           trl_model_tied_states(model), model->first_gaussian[model->tied_states], bench_wall_seconds() - start,
           bench_cpu_seconds() - cpu);
    if (trl_findings_count(t->findings) > before)
        printf("  (%zu findings, the first: %s: %s)\n", trl_findings_count(t->findings) - before,
               trl_finding_name(trl_findings_get(t->findings, before)->kind),
               trl_findings_get(t->findings, before)->message);
    trl_frontend_destroy(frontend);
    trl_corpus_destroy(corpus);
    return model;
}

static trl_model *get_model(lvcsr_task *t, int gaussians)
{
    char name[100];
    trl_train_options o = trl_train_defaults();
    o.iterations = t->sizes.iterations;
    o.components = MONO_GAUSSIANS;
    trl_model *mono = get_trained(t, "mono", t->sizes.mono_every, o);
    o.stages = "tri";
    o.leaves = (int)(JOINED * t->sizes.leaves);
    o.context_gaussians = (int64_t)t->sizes.leaves * gaussians;
    snprintf(name, sizeof name, "tri-%d-%d", t->sizes.leaves, gaussians);
    o.from = mono;
    trl_model *model = get_trained(t, name, 1, o);
    trl_model_destroy(mono);
    return model;
}

static trl_model *get_english(void)
{
    trl_error err;
    trl_model *model = NULL;
    if (trl_graph_is_installed("en-us"))
        bench_check(trl_model_import("en-us", NULL, &model, &err), &err);
    return model;
}

/* ---- Graphs ---- */

static void build_graph(lvcsr_task *t, const trl_model *model, const char *path)
{
    trl_error err;
    trl_fst *grammar;
    trl_graph *graph;
    size_t left_out;
    double start = bench_cpu_seconds();
    bench_check(trl_fst_read_arpa(t->speech.arpa, &(trl_arpa_options){.keep_words = 1}, &grammar, NULL, &err), &err);
    bench_check(trl_graph_build(model, t->lexicon, grammar, NULL, &graph, &left_out, &err), &err);
    bench_check(trl_graph_write(graph, path, &err), &err);
    printf("  (graph of %d states and %llu arcs made in %.0f s)\n", trl_graph_states(graph),
           (unsigned long long)trl_graph_arcs(graph), bench_cpu_seconds() - start);
    trl_graph_destroy(graph);
    trl_fst_destroy(grammar);
}

static trl_graph *get_graph(lvcsr_task *t, const lvcsr_kind *kind, const trl_model *model)
{
    char path[4300];
    trl_error err;
    trl_graph *graph = NULL;
    snprintf(path, sizeof path, "%.4000s/graph-%s-%d.trg", t->speech.folder, kind->key, t->sizes.leaves);
    if (access(path, R_OK) != 0 || trl_graph_read(path, &graph, &err) < 0 || trl_graph_fits(graph, model, &err) < 0) {
        trl_graph_destroy(graph);
        build_graph(t, model, path);
        bench_check(trl_graph_read(path, &graph, &err), &err);
    }
    return graph;
}

const char *lvcsr_system_open(lvcsr_system *s, lvcsr_task *t, const lvcsr_kind *kind)
{
    *s = (lvcsr_system){.kind = kind};
    s->model = kind->gaussians > 0 ? get_model(t, kind->gaussians) : get_english();
    if (!s->model)
        return "the model en-us is not installed";
    s->graph = get_graph(t, kind, s->model);
    return NULL;
}

void lvcsr_system_close(lvcsr_system *s)
{
    trl_graph_destroy(s->graph);
    trl_model_destroy(s->model);
}
