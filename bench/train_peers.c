/* hmmlearn's task done by ours: Baum-Welch of an ergodic HMM with 3 states, 8 Gaussians each, 39 dimensions, from the
 * parameters that the peer starts from, over the frames that the peer drew. Both sides use one core; both find the same
 * log-likelihood and the same new means, or the benchmark fails. */
#include "train_bench.h"
#include "base/memory.h"
#include "model/estimate.h"
#include "model/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES 3
#define MIXTURES 8
#define DIM 39
#define TOLERANCE 1e-4 /* of the log-likelihood per frame, and of the means: ours are floats */

json_t *train_run_peer(const char *script, const char *arguments)
{
    char command[16384];
    snprintf(command, sizeof command, "%s/build/venv/bin/python %s/bench/peers/%s %s", TRELLIS_SOURCE_DIR,
             TRELLIS_SOURCE_DIR, script, arguments);
    FILE *pipe = popen(command, "r");
    json_t *result = pipe ? json_loadf(pipe, 0, NULL) : NULL;
    if (pipe && pclose(pipe) != 0) {
        json_decref(result);
        result = NULL;
    }
    return result;
}

/* ---- The model ---- */

static double number(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

/* Every state leads to every state; what ends a sequence has probability one, as in a model that knows no end. */
static void make_topology(trl__topology *t, const json_t *p)
{
    trl_error err;
    int32_t used = 0;
    bench_check(trl__topology_alloc(t, STATES, STATES + STATES * (STATES + 1), &err), &err);
    for (int32_t s = 0; s < STATES; s++)
        t->arcs[used++] = (trl__arc){s, (float)number(json_object_get(p, "start"), (size_t)s)};
    t->first[1] = used;
    for (int32_t s = 0; s < STATES; s++) {
        const json_t *row = json_array_get(json_object_get(p, "transitions"), (size_t)s);
        for (int32_t to = 0; to < STATES; to++)
            t->arcs[used++] = (trl__arc){to, (float)number(row, (size_t)to)};
        t->arcs[used++] = (trl__arc){TRL_EXIT, 1e-6f};
        t->first[s + 2] = used;
    }
}

static void set_mixtures(trl_model *model, const json_t *p)
{
    int32_t *first = trl__alloc_aligned(STATES + 1, sizeof *first);
    float *weight = trl__alloc_aligned(STATES * MIXTURES, sizeof *weight);
    float *mean = trl__alloc_aligned(STATES * MIXTURES * DIM, sizeof *mean);
    float *variance = trl__alloc_aligned(STATES * MIXTURES * DIM, sizeof *variance);
    if (!first || !weight || !mean || !variance)
        exit(3);
    for (size_t s = 0; s <= STATES; s++)
        first[s] = (int32_t)(s * MIXTURES);
    for (size_t g = 0; g < STATES * MIXTURES; g++) {
        size_t s = g / MIXTURES, m = g % MIXTURES;
        const json_t *means = json_array_get(json_array_get(json_object_get(p, "means"), s), m);
        const json_t *variances = json_array_get(json_array_get(json_object_get(p, "variances"), s), m);
        weight[g] = (float)log(number(json_array_get(json_object_get(p, "weights"), s), m));
        for (size_t k = 0; k < DIM; k++) {
            mean[g * DIM + k] = (float)number(means, k);
            variance[g * DIM + k] = (float)number(variances, k);
        }
    }
    trl__model_set_mixtures(model, first, weight, mean, variance);
}

static trl_model *make_model(const json_t *p)
{
    trl_error err;
    trl_model *model;
    bench_check(trl__model_new(DIM, &model, &err), &err);
    model->topology = trl__alloc_zero(1, sizeof *model->topology);
    model->unit_kind = trl__alloc_zero(1, sizeof *model->unit_kind);
    model->unit_topology = trl__alloc_zero(1, sizeof *model->unit_topology);
    model->triple = trl__alloc_zero(STATES, sizeof *model->triple);
    if (!model->topology || !model->unit_kind || !model->unit_topology || !model->triple ||
        trl__strings_add(&model->units, "u", 1) < 0)
        exit(3);
    model->topologies = 1;
    make_topology(model->topology, p);
    model->triples = model->tied_states = STATES;
    for (int32_t s = 0; s < STATES; s++)
        model->triple[s] = (trl__triple){.unit = 0, .state = s, .tied = s, .pool = s};
    set_mixtures(model, p);
    bench_check(trl__model_finish(model, "hmmlearn's model", &err), &err);
    for (int32_t id = 1; id <= model->transitions; id++)
        if (trl_model_transition(model, id).to == TRL_EXIT)
            model->log_probability[id] = 0;
    return model;
}

/* ---- The data ---- */

typedef struct task {
    char folder[4096];
    trl_findings *findings;
    trl_corpus *corpus;
    trl_lexicon *lexicon;
    trl__training_data *data;
} task;

static void in_folder(const task *t, const char *name, char path[4200])
{
    snprintf(path, 4200, "%s/%s", t->folder, name);
}

static void write_features(const task *t, const char *features, size_t frames)
{
    char path[4200];
    trl_error err;
    trl_feature_writer *writer;
    trl_matrix m = {0};
    in_folder(t, "frames.f32", path);
    FILE *file = fopen(path, "rb");
    bench_check(trl_matrix_resize(&m, frames, DIM, &err), &err);
    if (!file || fread(m.data, sizeof(float), frames * DIM, file) != frames * DIM)
        exit(3);
    fclose(file);
    bench_check(trl_feature_writer_open(features, NULL, &writer, &err), &err);
    bench_check(trl_feature_writer_add(writer, "sequence", &m, &err), &err);
    trl_matrix_free(&m);
    bench_check(trl_feature_writer_commit(writer, &err), &err);
}

/* A word "w" of one unit "u", said once. */
static void make_task(task *t, size_t frames)
{
    char lexicon[4200], manifest[4200], features[4200];
    trl_error err;
    in_folder(t, "lexicon.txt", lexicon);
    in_folder(t, "corpus.tsv", manifest);
    in_folder(t, "features.trf", features);
    write_features(t, features, frames);
    FILE *file = fopen(lexicon, "w");
    fputs("w u\n", file);
    fclose(file);
    file = fopen(manifest, "w");
    fputs("id\tpath\ttext\nsequence\tlexicon.txt\tw\n", file);
    fclose(file);
    bench_check(trl_findings_create(&t->findings, &err), &err);
    bench_check(trl_lexicon_read(lexicon, NULL, &t->lexicon, &err), &err);
    bench_check(trl_corpus_read(manifest, NULL, t->findings, &t->corpus, &err), &err);
    trl_train_options o = trl_train_defaults();
    o.features = features;
    bench_check(trl__training_data_create(t->corpus, t->lexicon, NULL, &o, NULL, 0, NULL, t->findings, &t->data, &err),
                &err);
}

static void end_task(task *t)
{
    trl__training_data_destroy(t->data);
    trl_lexicon_destroy(t->lexicon);
    trl_corpus_destroy(t->corpus);
    trl_findings_destroy(t->findings);
    bench_remove_folder(t->folder);
}

/* ---- The comparison ---- */

/* The largest difference between the peer's new means and those of our statistics. */
static double means_differ(const trl__stats *stats, const json_t *after)
{
    double most = 0;
    for (size_t g = 0; g < STATES * MIXTURES; g++) {
        const json_t *means =
            json_array_get(json_array_get(json_object_get(after, "means"), g / MIXTURES), g % MIXTURES);
        for (size_t k = 0; k < DIM; k++)
            most = fmax(most, fabs(stats->sum[g * DIM + k] / stats->count[g] - number(means, k)));
    }
    return most;
}

static void compare(train_bench *b, const task *t, const json_t *peer)
{
    train_set set = {.data = *t->data};
    trl_model *model = make_model(json_object_get(peer, "before"));
    train_how how = {"hmmlearn's task", "cpu", 1, TRL_MARGIN_FULL, 0, 1, TRL_EM_BAUM_WELCH, 1};
    double frames = json_number_value(json_object_get(peer, "frames")), best = INFINITY, likelihood = 0, differ = 0;
    for (int i = 0; i < b->sizes.runs + 1; i++) {
        trl__stats *stats;
        train_cost c = train_iterate(b, &set, t->lexicon, model, &how, NULL, &stats);
        best = fmin(best, c.cpu);
        likelihood = stats->totals.log_likelihood / frames;
        differ = means_differ(stats, json_object_get(peer, "after"));
        trl__stats_destroy(stats);
    }
    double seconds = json_number_value(json_object_get(peer, "seconds"));
    double shorter = json_number_value(json_object_get(peer, "seconds_short"));
    double off = fabs(likelihood - json_number_value(json_object_get(peer, "log_likelihood")) / frames);
    json_t *r = b->result;
    bench_report(r, "hmmlearn_frames_per_second", frames / seconds, "", "hmmlearn, one EM iteration, one core");
    bench_report(r, "baum_welch_frames_per_second", frames / best, "", "ours, the same");
    bench_report(r, "vs_hmmlearn", seconds / best, "x", "how many times faster we are");
    bench_report(r, "vs_hmmlearn_short", shorter / best, "x", "when hmmlearn gets the frames in sequences of 500");
    bench_report(r, "hmmlearn_likelihood_difference", off, "nat", "per frame; at most 1e-4");
    bench_report(r, "hmmlearn_means_difference", differ, "", "largest of the new means; at most 1e-3");
    if (off > TOLERANCE || differ > 10 * TOLERANCE) {
        fputs("trellis-bench: our Baum-Welch and hmmlearn's do not compute the same\n", stderr);
        exit(3);
    }
    trl_model_destroy(model);
}

void train_measure_hmmlearn(train_bench *b)
{
    task t = {0};
    char arguments[4200];
    bench_folder(t.folder, sizeof t.folder);
    snprintf(arguments, sizeof arguments, "%s %d", t.folder, b->sizes.peer_frames);
    json_t *peer = train_run_peer("hmmlearn_gmmhmm.py", arguments);
    if (!peer) {
        bench_absent(b->result, "vs_hmmlearn", "hmmlearn can't be run; `scripts/setup test` installs it");
        bench_remove_folder(t.folder);
        return;
    }
    make_task(&t, (size_t)json_integer_value(json_object_get(peer, "frames")));
    compare(b, &t, peer);
    json_decref(peer);
    end_task(&t);
}
