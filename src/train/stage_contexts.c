/* How a stage with phones in context begins: statistics of every context that occurs along the paths in hand, questions, a tree, a model
 * with one Gaussian per leaf, and the same paths in the graphs of that model. Memory: contexts, not frames. */
#include "align/carry_path.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/tree_build.h"
#include "train/training.h"

#include <math.h>
#include <string.h>

/* ---- Statistics by context ---- */

/* A block's sums, and the units of the utterance in hand. */
typedef struct context_sums {
    trl__context_stats *stats;
    int32_t *units; /* of the path, one after the other, with the window's reach of TRL__NOTHING at both ends */
    size_t capacity;
} context_sums;

static int create_sums(void *user, void **out, trl_error *err)
{
    const trl__context_stats *all = user;
    context_sums *s = trl__alloc_zero(1, sizeof *s);
    *out = s;
    return s ? trl__context_stats_create(all->width, all->centre, all->dim, &s->stats, err) : trl__fail_memory(err);
}

static void destroy_sums(void *sum)
{
    context_sums *s = sum;
    trl__context_stats_destroy(s->stats);
    trl__free(s->units);
    trl__free(s);
}

static void zero_sums(void *sum)
{
    trl__context_stats_zero(((context_sums *)sum)->stats);
}

static int phone_of(const trl__visit *v, size_t run)
{
    return v->graph->node_phone[v->runs[run].node];
}

/* Fills s->units; the first unit of the path is number `centre`. */
static int list_units(context_sums *s, const trl__visit *v, size_t *count)
{
    size_t left = (size_t)s->stats->centre, right = (size_t)(s->stats->width - 1 - s->stats->centre);
    *count = 0;
    if (TRL_GROW(s->units, s->capacity, v->run_count + left + right) < 0)
        return -1;
    for (size_t i = 0; i < left; i++)
        s->units[i] = TRL__NOTHING;
    for (size_t r = 0; r < v->run_count; r++)
        if (r == 0 || phone_of(v, r) != phone_of(v, r - 1))
            s->units[left + (*count)++] = v->graph->phone[phone_of(v, r)].unit;
    for (size_t i = 0; i < right; i++)
        s->units[left + *count + i] = TRL__NOTHING;
    return 0;
}

static int visit_contexts(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    (void)user;
    context_sums *s = sum;
    size_t width = (size_t)s->stats->width, count, at = 0, frame = 0;
    int32_t key[TRL__WIDEST_CONTEXT + 1];
    if (list_units(s, v, &count) < 0)
        return trl__fail_memory(err);
    for (size_t r = 0; r < v->run_count; r++) {
        at += r > 0 && phone_of(v, r) != phone_of(v, r - 1);
        memcpy(key, s->units + at, width * sizeof *key);
        key[width] = v->graph->node_state[v->runs[r].node];
        double *slot = trl__context_stats_slot(s->stats, key);
        if (!slot)
            return trl__fail_memory(err);
        for (int32_t f = 0; f < v->runs[r].frames; f++)
            trl__context_stats_add(slot, s->stats->dim, trl_matrix_row(v->frames, frame++));
    }
    return 0;
}

static int merge_contexts(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    return trl__context_stats_merge(user, ((context_sums *)sum)->stats, err);
}

int trl__gather_contexts(const trl__training *t, trl__context_stats **out, trl_error *err)
{
    int32_t left = t->options->context_left, right = t->options->context_right;
    int32_t dim = (int32_t)trl__view_dim(&t->data->view, (size_t)t->data->dim);
    int code = trl__context_stats_create(left + 1 + right, left, dim, out, err);
    if (code < 0)
        return code;
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_sums,
                                .destroy = destroy_sums,
                                .zero = zero_sums,
                                .visit = visit_contexts,
                                .merge = merge_contexts,
                                .user = *out};
    return trl__walk_run(&walk, &gathering, err);
}

/* ---- The tree ---- */

/* Between a small corpus (42 minutes: 480 leaves) and [001]'s (400 hours: 8000) leaves grow as frames ^ 0.444. */
static int32_t leaves_for(double frames)
{
    return (int32_t)fmax(1, 480 * pow(frames / 254000, 0.444));
}

static trl__tree_options tree_options(const trl__training *t)
{
    const trl_train_options *given = t->options;
    trl__tree_options o = trl__tree_defaults();
    o.most_leaves = given->leaves > 0 ? given->leaves : leaves_for(t->data->frames);
    o.least_gain = given->least_gain;
    o.least_frames = given->least_leaf_frames > 0 ? given->least_leaf_frames
                                                  : fmin(18000, fmax(20, t->data->frames / o.most_leaves / 10));
    o.pool = t->pool;
    return o;
}

int trl__check_questions(const trl__training *t, trl_error *err)
{
    const trl_train_options *o = t->options;
    trl__questions *questions = NULL;
    char *unknown = NULL;
    if (!o->questions)
        return 0;
    int code = trl__questions_read(o->questions, t->model, o->context_left + 1 + o->context_right, o->context_left,
                                   &questions, &unknown, err);
    trl__questions_destroy(questions);
    if (code == 0 && unknown)
        code = trl_findings_add(t->skipped, TRL_FINDING_QUESTION, o->questions, 0, NULL, err,
                                "the model has no such units: %.500s", unknown);
    trl__free(unknown);
    return code;
}

static int find_questions(const trl__training *t, const trl__context_stats *stats, trl__questions **out, trl_error *err)
{
    const char *path = t->options->questions;
    char *unknown = NULL;
    int code = path ? trl__questions_read(path, t->model, stats->width, stats->centre, out, &unknown, err)
                    : trl__questions_from_stats(t->model, stats, out, err);
    trl__free(unknown);
    return code;
}

static int make_model(trl__training *t, const trl__context_stats *stats, trl_model **out, trl_error *err)
{
    trl__questions *questions = NULL;
    trl__tree *tree = NULL;
    trl__tree_summary summary;
    trl__tree_options o = tree_options(t);
    int code = find_questions(t, stats, &questions, err);
    if (code == 0)
        code = trl__tree_build(t->model, stats, questions, &o, &tree, &summary, err);
    trl__questions_destroy(questions);
    return code < 0 ? code : trl__model_with_tree(t->model, tree, stats, out, err);
}

/* ---- The paths ---- */

/* A block's paths in the new model's graphs. */
typedef struct carried_block {
    trl__graph graph;
    trl__run *runs;
    size_t count, capacity;
    size_t *first; /* by utterance of the block: where its runs begin; TRL__UTTERANCE_BLOCK + 1 */
    size_t *utterance;
    size_t utterances;
} carried_block;

typedef struct carrying {
    const trl__training *training;
    trl__unit_map *map; /* of the new model */
    trl__alignment_writer *writer;
    size_t written; /* utterances */
} carrying;

static int create_block(void *user, void **out, trl_error *err)
{
    carried_block *b = trl__alloc_zero(1, sizeof *b);
    *out = b;
    if (!b)
        return trl__fail_memory(err);
    (void)user;
    b->first = trl__alloc(TRL__UTTERANCE_BLOCK + 1, sizeof *b->first);
    b->utterance = trl__alloc(TRL__UTTERANCE_BLOCK, sizeof *b->utterance);
    return b->first && b->utterance ? 0 : trl__fail_memory(err);
}

static void destroy_block(void *sum)
{
    carried_block *b = sum;
    trl__graph_free(&b->graph);
    trl__free(b->runs);
    trl__free(b->first);
    trl__free(b->utterance);
    trl__free(b);
}

static void zero_block(void *sum)
{
    carried_block *b = sum;
    b->count = b->utterances = 0;
}

static int visit_block(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    const carrying *c = user;
    const trl__training_data *d = c->training->data;
    carried_block *b = sum;
    int code = trl__graph_build(&b->graph, c->map, c->training->lexicon, d->words + d->first_word[v->utterance],
                                d->first_word[v->utterance + 1] - d->first_word[v->utterance], err);
    if (code < 0)
        return code;
    if (TRL_GROW(b->runs, b->capacity, b->count + v->run_count) < 0)
        return trl__fail_memory(err);
    code = trl__graph_carry_path(v->graph, v->runs, v->run_count, &b->graph, b->runs + b->count, err);
    b->utterance[b->utterances] = v->utterance;
    b->first[b->utterances++] = b->count;
    b->count += v->run_count;
    b->first[b->utterances] = b->count;
    return code;
}

/* Utterances up to `end` that have no path keep their status. */
static int write_missing(carrying *c, size_t end, trl_error *err)
{
    int code = 0;
    for (; code == 0 && c->written < end; c->written++) {
        const trl__run *runs;
        const trl__stored_alignment *s = trl__alignment_store_get(c->training->alignments, c->written, &runs);
        code = trl__alignment_writer_add(c->writer, s->status, s->log_likelihood, NULL, 0, err);
    }
    return code;
}

static int merge_block(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    carrying *c = user;
    const carried_block *b = sum;
    int code = 0;
    for (size_t i = 0; code == 0 && i < b->utterances; i++) {
        const trl__run *runs;
        code = write_missing(c, b->utterance[i], err);
        const trl__stored_alignment *s = trl__alignment_store_get(c->training->alignments, b->utterance[i], &runs);
        if (code == 0)
            code = trl__alignment_writer_add(c->writer, s->status, s->log_likelihood, b->runs + b->first[i],
                                             b->first[i + 1] - b->first[i], err);
        c->written++;
    }
    return code;
}

static int write_carried(trl__training *t, carrying *c, const char *path, trl_error *err)
{
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_block,
                                .destroy = destroy_block,
                                .zero = zero_block,
                                .visit = visit_block,
                                .merge = merge_block,
                                .user = c,
                                .without_frames = 1};
    int code = trl__alignment_writer_create(path, &c->writer, err);
    if (code < 0)
        return code;
    code = trl__walk_run(&walk, &gathering, err);
    if (code == 0)
        code = write_missing(c, t->data->count, err);
    if (code == 0)
        return trl__alignment_writer_commit(c->writer, err);
    trl__alignment_writer_abort(c->writer);
    return code;
}

/* From the graphs of the model in hand to those of `next`. */
static int carry_paths(trl__training *t, const trl_model *next, trl_error *err)
{
    carrying c = {.training = t};
    char *path = trl__checkpoint_carried(t->checkpoint);
    int code = path ? trl__unit_map_create(next, t->lexicon, &c.map, err) : trl__fail_memory(err);
    if (code == 0)
        code = write_carried(t, &c, path, err);
    trl__unit_map_destroy(c.map);
    if (code == 0) {
        trl__alignment_store_close(t->alignments);
        t->alignments = NULL;
        code = trl__alignment_store_open(path, &t->alignments, err);
    }
    trl__free(path);
    return code;
}

/* ---- All of it ---- */

int trl__describe_view(trl__training *t, trl_error *err)
{
    char *text;
    int code = trl__view_describe(&t->data->view, t->data->frontend, &text, err);
    if (code == 0) {
        code = trl__model_set_text(&t->model->frontend, text, err);
        trl__free(text);
    }
    return code;
}

int trl__begin_contexts(trl__training *t, trl_error *err)
{
    trl__context_stats *stats = NULL;
    trl_model *next = NULL;
    int code = trl__count_usage(t, err);
    if (code == 0)
        code = trl__gather_contexts(t, &stats, err);
    if (code == 0)
        code = make_model(t, stats, &next, err);
    trl__context_stats_destroy(stats);
    if (code == 0)
        code = carry_paths(t, next, err);
    if (code < 0) {
        trl_model_destroy(next);
        return code;
    }
    trl_model_destroy(t->model);
    t->model = next;
    return trl__describe_view(t, err);
}
