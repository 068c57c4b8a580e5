/* The stage sat: speaker-adaptive training. Each speaker's frames go through an affine transform of his own (fMLLR),
 * which is estimated anew as the model becomes better; at the end the model gets mixtures for frames as they come too,
 * with which a first pass over a new speaker finds what his transform is estimated from. */
#include "adapt/fmllr.h"
#include "adapt/speakers.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/assign.h"
#include "model/estimate.h"
#include "train/training.h"

#include <string.h>

/* ---- Transforms ---- */

typedef struct adapting {
    const trl__training *training;
    trl__feature_view *view;
    double gain, frames;      /* summed over speakers */
    size_t adapted, left_out; /* speakers; left out: with too few frames */
} adapting;

static int create_fmllr(void *user, void **out, trl_error *err)
{
    const adapting *a = user;
    trl__fmllr_stats *stats = NULL;
    int code = trl__fmllr_stats_create(a->training->model->dim, &stats, err);
    *out = stats;
    return code;
}

static void destroy_fmllr(void *sum)
{
    trl__fmllr_stats_destroy(sum);
}

static void zero_fmllr(void *sum)
{
    trl__fmllr_stats_zero(sum);
}

static int visit_fmllr(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    const adapting *a = user;
    return trl__fmllr_stats_add(sum, a->training->model, v->frames, v->tied, err);
}

/* On top of the transform that the speaker has. */
static int add_transform(trl__view_speaker *speaker, trl_matrix *more, trl_error *err)
{
    trl_matrix both = {0};
    int code = 0;
    if (speaker->transform.rows > 0) {
        code = trl__fmllr_compose(more, &speaker->transform, &both, err);
        trl_matrix_free(&speaker->transform);
    } else {
        both = *more;
        *more = (trl_matrix){0};
    }
    speaker->transform = both;
    return code < 0 ? code : trl__fmllr_log_det(&speaker->transform, &speaker->log_det, err);
}

static int merge_fmllr(void *user, size_t speaker, void *sum, trl_error *err)
{
    adapting *a = user;
    const trl__fmllr_stats *stats = sum;
    trl__fmllr_options o = trl__fmllr_defaults();
    trl__fmllr_summary summary;
    trl_matrix transform = {0};
    if (stats->frames == 0)
        return 0;
    int code = trl__fmllr_estimate(stats, &o, &transform, &summary, err);
    if (code == 0 && summary.estimated) {
        a->gain += summary.gain * summary.frames;
        a->frames += summary.frames;
        a->adapted++;
        code = add_transform(&a->view->speakers[speaker], &transform, err);
    }
    a->left_out += code == 0 && !summary.estimated;
    trl_matrix_free(&transform);
    return code;
}

static int make_room(trl__feature_view *view, size_t speakers, trl_error *err)
{
    if (view->speakers)
        return 0;
    view->speakers = trl__alloc_zero(speakers, sizeof *view->speakers);
    view->speaker_count = view->speakers ? speakers : 0;
    return view->speakers ? 0 : trl__fail_memory(err);
}

/* A sharper transform for everybody, from the paths and the model in hand. */
static int adapt(trl__training *t, adapting *a, trl_error *err)
{
    *a = (adapting){.training = t, .view = &t->data->view};
    int code = make_room(a->view, t->data->speakers, err);
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_fmllr,
                                .destroy = destroy_fmllr,
                                .zero = zero_fmllr,
                                .visit = visit_fmllr,
                                .merge = merge_fmllr,
                                .user = a,
                                .by_speaker = 1,
                                .leaves_silence = TRL__MOST_SILENCE};
    if (code == 0)
        code = trl__walk_run(&walk, &gathering, err);
    t->gain = a->frames > 0 ? a->gain / a->frames : 0;
    return code;
}

/* What speakers have in common shows only where there are several. */
static int say_speakers(trl__training *t, const adapting *a, trl_error *err)
{
    int code = 0;
    if (a->left_out > 0 || a->adapted == 0)
        code = trl_findings_add(t->skipped, TRL_FINDING_STAGE, "sat", 0, NULL, err,
                                "%zu of %zu speakers have too few frames for a transform of their own%s",
                                t->data->speakers - a->adapted, t->data->speakers,
                                a->adapted > 0 ? "" : "; does the corpus say who speaks?");
    if (code == 0 && a->adapted == 1)
        code = trl_findings_add(t->skipped, TRL_FINDING_STAGE, "sat", 0, NULL, err,
                                "only one speaker is adapted to: the model will hardly serve others");
    return code;
}

static int begin_sat(trl__training *t, trl_error *err)
{
    adapting a;
    int code = adapt(t, &a, err);
    if (code == 0)
        code = say_speakers(t, &a, err);
    return code < 0 ? code : trl__begin_contexts(t, err);
}

static int before_sat(trl__training *t, int iteration, trl_error *err)
{
    adapting a;
    return trl__is_transform_iteration(iteration) ? adapt(t, &a, err) : 0;
}

/* ---- Checkpoints ---- */

int trl__save_speakers(const trl__training *t, int number, trl_error *err)
{
    const trl__training_data *d = t->data;
    trl__transforms *table = NULL;
    char *path = trl__checkpoint_speakers(t->checkpoint, number);
    int code = path ? trl__transforms_create(t->model->dim, &table, err) : trl__fail_memory(err);
    for (size_t u = 0; code == 0 && u < d->count; u++) {
        const trl_matrix *transform = &d->view.speakers[d->utterance[u]->speaker_index].transform;
        const char *name = d->utterance[u]->speaker;
        if (transform->rows > 0 && !trl__transforms_get(table, name))
            code = trl__transforms_set(table, name, transform, err);
    }
    if (code == 0)
        code = trl__transforms_write(table, path, err);
    trl__transforms_destroy(table);
    trl__free(path);
    return code;
}

static int copy_matrix(const trl_matrix *from, trl_matrix *to, trl_error *err)
{
    int code = trl_matrix_resize(to, from->rows, from->cols, err);
    for (size_t r = 0; code == 0 && r < from->rows; r++)
        memcpy(trl_matrix_row(to, r), trl_matrix_row(from, r), from->cols * sizeof *from->data);
    return code;
}

static int take_transforms(trl__training_data *d, const trl__transforms *table, trl_error *err)
{
    int code = make_room(&d->view, d->speakers, err);
    for (size_t u = 0; code == 0 && u < d->count; u++) {
        trl__view_speaker *place = &d->view.speakers[d->utterance[u]->speaker_index];
        const trl_matrix *transform = trl__transforms_get(table, d->utterance[u]->speaker);
        if (!transform || place->transform.rows > 0)
            continue;
        code = copy_matrix(transform, &place->transform, err);
        if (code == 0)
            code = trl__fmllr_log_det(&place->transform, &place->log_det, err);
    }
    return code;
}

/* Has a stage so far adapted somebody, and none after it changed the frames? */
static int is_adapted(const trl__training *t)
{
    int adapted = 0;
    for (int i = 0; i <= t->checkpoint->stage; i++)
        adapted = t->stages[i] == &trl__stage_sat || (adapted && t->stages[i] != &trl__stage_lda);
    return adapted;
}

int trl__load_speakers(trl__training *t, trl_error *err)
{
    trl__transforms *table = NULL;
    if (!is_adapted(t))
        return 0;
    char *path = trl__checkpoint_speakers(t->checkpoint, t->checkpoint->iteration);
    int code = path ? trl__transforms_read(path, &table, err) : trl__fail_memory(err);
    if (code == 0)
        code = table->dim == t->model->dim
                   ? take_transforms(t->data, table, err)
                   : trl__fail(err, TRL_ECORRUPT, "%s: transforms of %d values for a model of %d", path, table->dim,
                               t->model->dim);
    trl__transforms_destroy(table);
    trl__free(path);
    return code;
}

/* ---- Mixtures for a first pass ---- */

typedef struct first_pass_work {
    trl__assigner *assigner;
    const trl_model *model;
    trl__stats *all;
} first_pass_work;

typedef struct first_pass_sums {
    trl__local_stats *local;
    int32_t *gaussian;
    size_t capacity;
} first_pass_sums;

static int create_first_pass(void *user, void **out, trl_error *err)
{
    first_pass_sums *s = trl__alloc_zero(1, sizeof *s);
    *out = s;
    return s ? trl__local_stats_create(((first_pass_work *)user)->model, &s->local, err) : trl__fail_memory(err);
}

static void destroy_first_pass(void *sum)
{
    first_pass_sums *s = sum;
    trl__local_stats_destroy(s->local);
    trl__free(s->gaussian);
    trl__free(s);
}

static void zero_first_pass(void *sum)
{
    trl__local_stats_zero(((first_pass_sums *)sum)->local);
}

/* Gaussians are chosen by the adapted frames, sums are those of the frames as they come. */
static int visit_first_pass(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    const first_pass_work *w = user;
    first_pass_sums *s = sum;
    size_t dim = (size_t)w->model->dim;
    if (TRL_GROW(s->gaussian, s->capacity, v->frames->rows) < 0)
        return trl__fail_memory(err);
    trl__assign(w->assigner, v->frames, v->tied, s->gaussian);
    for (size_t t = 0; t < v->original->rows; t++) {
        double *slot = trl__local_stats_slot(s->local, s->gaussian[t]);
        const float *o = trl_matrix_row(v->original, t);
        if (!slot)
            return trl__fail_memory(err);
        slot[0]++;
        for (size_t k = 0; k < dim; k++) {
            slot[1 + k] += (double)o[k];
            slot[1 + dim + k] += (double)o[k] * (double)o[k];
        }
    }
    return 0;
}

static int merge_first_pass(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    (void)err;
    trl__stats_merge(((first_pass_work *)user)->all, ((first_pass_sums *)sum)->local);
    return 0;
}

static int gather_first_pass(trl__training *t, trl__stats *stats, trl_error *err)
{
    first_pass_work w = {.model = t->model, .all = stats};
    int code = trl__assigner_create(t->model, &w.assigner, err);
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_first_pass,
                                .destroy = destroy_first_pass,
                                .zero = zero_first_pass,
                                .visit = visit_first_pass,
                                .merge = merge_first_pass,
                                .user = &w,
                                .wants_original = 1};
    if (code == 0)
        code = trl__walk_run(&walk, &gathering, err);
    trl__assigner_destroy(w.assigner);
    return code;
}

/* Takes the mixtures out of `from`, which keeps none. */
static void give_mixtures(trl_model *from, trl_model *to)
{
    trl__model_set_independent(to, from->first_gaussian, from->log_weight, from->mean, from->variance);
    from->first_gaussian = NULL;
    from->log_weight = from->mean = from->variance = NULL;
}

static int end_sat(trl__training *t, trl_error *err)
{
    trl__stats *stats = NULL;
    trl_model *plain = NULL;
    trl__estimate_options o = trl__estimate_defaults();
    trl__estimate_result result;
    o.pool = t->pool;
    o.variance_floor = t->options->variance_floor;
    o.least_count = t->options->least_count;
    o.variance_prior = t->options->variance_prior;
    int code = trl__stats_create(t->model, &stats, err);
    if (code == 0)
        code = gather_first_pass(t, stats, err);
    if (code == 0)
        code = trl__model_copy(t->model, &plain, err);
    if (code == 0)
        code = trl__estimate(plain, stats, &o, &result, err);
    if (code == 0)
        give_mixtures(plain, t->model);
    trl_model_destroy(plain);
    trl__stats_destroy(stats);
    return code;
}

const trl__stage trl__stage_sat = {.name = "sat", .begin = begin_sat, .before = before_sat, .end = end_sat};
