/* The stage lda ([001] IV-B): static frames spliced, projected so that the tied states of the stage before come apart
 * (LDA), then turned so that diagonal covariances fit (semi-tied covariances), transform and model by turns. */
#include "base/fail.h"
#include "base/memory.h"
#include "feat/affine.h"
#include "model/assign.h"
#include "model/lda.h"
#include "model/stc.h"
#include "train/training.h"

#include <math.h>

#define STC_ROUNDS 20

/* ---- LDA ---- */

static int create_lda(void *user, void **out, trl_error *err)
{
    const trl__lda_stats *all = user;
    trl__lda_stats *stats = NULL;
    int code = trl__lda_stats_create(all->dim, all->classes, &stats, err);
    *out = stats;
    return code;
}

static void destroy_lda(void *sum)
{
    trl__lda_stats_destroy(sum);
}

static void zero_lda(void *sum)
{
    trl__lda_stats_zero(sum);
}

static int visit_lda(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    (void)user;
    return trl__lda_stats_add(sum, v->frames, v->tied, err);
}

static int merge_lda(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    return trl__lda_stats_merge(user, sum, err);
}

/* The data's view is of spliced frames without a transform. */
static int gather_lda(trl__training *t, trl__lda_stats *stats, trl_error *err)
{
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_lda,
                                .destroy = destroy_lda,
                                .zero = zero_lda,
                                .visit = visit_lda,
                                .merge = merge_lda,
                                .user = stats};
    return trl__walk_run(&walk, &gathering, err);
}

/* No more directions than there are: spliced values, classes less one. */
static int32_t directions(const trl__training *t, size_t spliced)
{
    int32_t wanted = t->options->lda_dim, classes = t->model->tied_states - 1;
    wanted = wanted < (int32_t)spliced ? wanted : (int32_t)spliced;
    return wanted < classes ? wanted : classes;
}

/* Fewer than were wanted is a warning. */
static int say_directions(trl__training *t, size_t spliced, const trl__lda_summary *summary, trl_error *err)
{
    size_t kept = t->data->view.transform.rows;
    if (kept >= (size_t)t->options->lda_dim)
        return 0;
    return trl_findings_add(t->skipped, TRL_FINDING_STAGE, "lda", 0, NULL, err,
                            "frames have %zu values instead of %d: there are %zu spliced values, %d of them "
                            "without variance within the classes, and %d classes",
                            kept, t->options->lda_dim, spliced, (int)summary->constant, (int)summary->seen);
}

static int estimate_lda(trl__training *t, trl_error *err)
{
    trl__feature_view *view = &t->data->view;
    size_t spliced = trl__view_dim(view, (size_t)t->data->dim);
    trl__lda_stats *stats = NULL;
    trl__lda_summary summary = {0};
    trl_matrix transform = {0};
    int code = trl__lda_stats_create((int32_t)spliced, t->model->tied_states, &stats, err);
    if (code == 0)
        code = gather_lda(t, stats, err);
    if (code == 0)
        code = trl__lda_estimate(stats, directions(t, spliced), &transform, &summary, err);
    trl__lda_stats_destroy(stats);
    view->transform = transform;
    return code < 0 ? code : say_directions(t, spliced, &summary, err);
}

static int begin_lda(trl__training *t, trl_error *err)
{
    trl__feature_view *view = &t->data->view;
    size_t statics;
    int code = trl__view_statics(t->data->frontend, &statics, err);
    if (code < 0)
        return code;
    trl__view_free(view);
    view->columns = statics;
    view->left = view->right = t->options->lda_splice;
    code = estimate_lda(t, err);
    return code < 0 ? code : trl__begin_contexts(t, err);
}

/* ---- Semi-tied covariances ---- */

typedef struct stc_sums {
    trl__stc_stats *stats;
    int32_t *gaussian; /* by frame */
    size_t capacity;
} stc_sums;

typedef struct stc_work {
    const trl_model *model;
    trl__assigner *assigner;
    trl__stc_stats *all;
} stc_work;

static int create_stc(void *user, void **out, trl_error *err)
{
    const stc_work *w = user;
    stc_sums *s = trl__alloc_zero(1, sizeof *s);
    *out = s;
    return s ? trl__stc_stats_create(w->all->dim, &s->stats, err) : trl__fail_memory(err);
}

static void destroy_stc(void *sum)
{
    stc_sums *s = sum;
    trl__stc_stats_destroy(s->stats);
    trl__free(s->gaussian);
    trl__free(s);
}

static void zero_stc(void *sum)
{
    trl__stc_stats_zero(((stc_sums *)sum)->stats);
}

static int visit_stc(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    const stc_work *w = user;
    stc_sums *s = sum;
    if (TRL_GROW(s->gaussian, s->capacity, v->frames->rows) < 0)
        return trl__fail_memory(err);
    trl__assign(w->assigner, v->frames, v->tied, s->gaussian);
    return trl__stc_stats_add(s->stats, w->model, v->frames, s->gaussian, err);
}

static int merge_stc(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    return trl__stc_stats_merge(((stc_work *)user)->all, ((stc_sums *)sum)->stats, err);
}

static int gather_stc(trl__training *t, trl__stc_stats **stats, trl_error *err)
{
    stc_work w = {.model = t->model};
    int code = trl__stc_stats_create(t->model->dim, stats, err);
    if (code == 0)
        code = trl__assigner_create(t->model, &w.assigner, err);
    w.all = *stats;
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_stc,
                                .destroy = destroy_stc,
                                .zero = zero_stc,
                                .visit = visit_stc,
                                .merge = merge_stc,
                                .user = &w,
                                .leaves_silence = TRL__ALL_SILENCE};
    if (code == 0)
        code = trl__walk_run(&walk, &gathering, err);
    trl__assigner_destroy(w.assigner);
    return code;
}

/* The view's transform becomes a times what it was. */
static int turn_view(trl__feature_view *view, const double *a, size_t dim, trl_error *err)
{
    trl_matrix turn = {0}, both = {0};
    int code = trl_matrix_resize(&turn, dim, dim, err);
    for (size_t i = 0; code == 0 && i < dim * dim; i++)
        turn.data[i] = (float)a[i];
    size_t spliced = view->columns * (size_t)(view->left + view->right + 1);
    if (code == 0)
        code = trl__affine_compose(&turn, &view->transform, spliced, &both, err);
    trl_matrix_free(&turn);
    if (code < 0)
        return code;
    trl_matrix_free(&view->transform);
    view->transform = both;
    return 0;
}

/* A turn scaled to determinant 1, and the variances with it: likelihoods before and after can be compared. */
static void keep_volume(trl_model *model, double *a, size_t dim, double log_det)
{
    double scale = exp(-log_det / (double)dim);
    for (size_t i = 0; i < dim * dim; i++)
        a[i] *= scale;
    for (size_t i = 0; i < (size_t)trl_model_gaussians(model) * dim; i++)
        model->variance[i] *= (float)(scale * scale);
}

static int before_lda(trl__training *t, int iteration, trl_error *err)
{
    if (!trl__is_transform_iteration(iteration))
        return 0;
    size_t dim = (size_t)t->model->dim;
    trl__stc_stats *stats = NULL;
    trl__stc_summary summary = {0};
    double *a = trl__alloc(dim * dim, sizeof *a);
    int code = a ? gather_stc(t, &stats, err) : trl__fail_memory(err);
    if (code == 0)
        code = trl__stc_estimate(stats, STC_ROUNDS, a, &summary, err);
    if (code == 0)
        keep_volume(t->model, a, dim, summary.log_det);
    if (code == 0)
        code = turn_view(&t->data->view, a, dim, err);
    if (code == 0)
        code = trl__stc_apply(t->model, a, err);
    if (code == 0)
        code = trl__describe_view(t, err);
    t->gain = summary.gain;
    trl__stc_stats_destroy(stats);
    trl__free(a);
    return code;
}

const trl__stage trl__stage_lda = {.name = "lda", .begin = begin_lda, .before = before_lda};
