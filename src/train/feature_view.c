#include "train/feature_view.h"
#include "adapt/fmllr.h"
#include "base/fail.h"
#include "base/memory.h"
#include "feat/splice.h"

#include <string.h>
#include <trellis/frontend.h>

void trl__view_free(trl__feature_view *view)
{
    trl_matrix_free(&view->transform);
    for (size_t s = 0; s < view->speaker_count; s++)
        trl_matrix_free(&view->speakers[s].transform);
    trl__free(view->speakers);
    *view = (trl__feature_view){0};
}

void trl__view_room_free(trl__view_room *room)
{
    trl_matrix_free(&room->spliced);
    trl_matrix_free(&room->adapted);
}

size_t trl__view_dim(const trl__feature_view *v, size_t file_dim)
{
    return v->transform.rows > 0 ? v->transform.rows
           : v->columns > 0      ? v->columns * (size_t)(v->left + v->right + 1)
                                 : file_dim;
}

int trl__view_apply(const trl__feature_view *v, const trl_matrix *frames, int32_t speaker, int adapted,
                    trl__view_room *room, trl_matrix *out, trl_error *err)
{
    *out = *frames;
    out->capacity = 0; /* borrowed */
    int code = 0;
    if (v->columns > 0) {
        out->cols = v->columns;
        code = trl__splice_transform(out, v->left, v->right, &v->transform, &room->spliced, err);
        *out = room->spliced;
        out->capacity = 0;
    }
    if (code < 0 || !adapted || !v->speakers || v->speakers[speaker].transform.rows == 0)
        return code;
    code = trl__fmllr_apply(&v->speakers[speaker].transform, out, &room->adapted, err);
    *out = room->adapted;
    out->capacity = 0;
    return code;
}

/* ---- Descriptions ---- */

static int parse(const char *description, trl_frontend_options *o, trl_error *err)
{
    int code = trl_frontend_preset(o, "mfcc", err);
    o->silence = TRL_SILENCE_FILL; /* as of models that don't say */
    return code < 0 ? code : trl_frontend_parse(o, description, "the features' front end", err);
}

static int print(const trl_frontend_options *o, char **text, trl_error *err)
{
    trl_frontend *frontend = NULL;
    int code = trl_frontend_create(o, &frontend, err);
    if (code < 0)
        return code;
    *text = trl__strdup(trl_frontend_description(frontend));
    trl_frontend_destroy(frontend);
    return *text ? 0 : trl__fail_memory(err);
}

int trl__view_describe(const trl__feature_view *v, const char *base, char **text, trl_error *err)
{
    if (v->columns == 0 || !*base) {
        *text = trl__strdup(base);
        return *text ? 0 : trl__fail_memory(err);
    }
    trl_frontend_options o;
    int code = parse(base, &o, err);
    trl_matrix_free(&o.transform);
    o.transform = v->transform;
    o.deltas = 0;
    o.splice_left = v->left;
    o.splice_right = v->right;
    return code < 0 ? code : print(&o, text, err);
}

int trl__view_statics(const char *base, size_t *statics, trl_error *err)
{
    trl_frontend_options o;
    trl_frontend *frontend = NULL;
    if (!*base)
        return trl__fail(err, TRL_EINVAL,
                         "the features do not say which front end made them, so the lda stage can't describe its own: "
                         "train from the sound, or from features of `trellis features`");
    int code = parse(base, &o, err);
    if (code == 0 && (o.transform.rows > 0 || o.splice_left + o.splice_right > 0))
        code = trl__fail(
            err, TRL_EINVAL,
            "the front end has splicing or a transform of its own: leave them out, the lda stage estimates both");
    if (code == 0)
        code = trl_frontend_create(&o, &frontend, err);
    trl_matrix_free(&o.transform);
    if (code < 0)
        return code;
    *statics = (size_t)trl_frontend_static_dim(frontend);
    trl_frontend_destroy(frontend);
    return 0;
}

static int find_view(const char *description, const char *base, trl__feature_view *v, trl_error *err)
{
    trl_frontend_options o;
    int code = parse(description, &o, err);
    if (code == 0)
        code = trl__view_statics(base, &v->columns, err);
    v->left = o.splice_left;
    v->right = o.splice_right;
    v->transform = o.transform;
    char *again = NULL;
    if (code == 0)
        code = trl__view_describe(v, base, &again, err);
    if (code == 0 && strcmp(again, description) != 0)
        code = trl__fail(err, TRL_EINVAL,
                         "the features were made by another front end than the model's; extract them with the model's, "
                         "without splicing and transform");
    trl__free(again);
    if (code < 0)
        trl__view_free(v);
    return code;
}

/* The description of the frames of training. Means that a model is used with were not known then. */
static int trained_with(const char *description, char **text, trl_error *err)
{
    trl_frontend_options o;
    *text = NULL;
    int code = parse(description, &o, err);
    o.silence_mean.count = 0;
    if (o.cmvn != TRL_CMVN_LIVE && o.cmvn_prior_frames == 0)
        o.cmvn_prior.count = 0;
    if (code == 0)
        code = print(&o, text, err);
    trl_matrix_free(&o.transform);
    return code;
}

int trl__view_same(const char *description, const char *other)
{
    char *a = NULL, *b = NULL;
    int same = trained_with(description, &a, NULL) == 0 && trained_with(other, &b, NULL) == 0 && strcmp(a, b) == 0;
    trl__free(a);
    trl__free(b);
    return same;
}

int trl__view_from(const char *description, const char *base, trl__feature_view *v, trl_error *err)
{
    *v = (trl__feature_view){0};
    if (strcmp(description, base) == 0)
        return 0;
    char *wanted = NULL, *made = NULL;
    int code = trained_with(description, &wanted, err);
    if (code == 0)
        code = trained_with(base, &made, err);
    if (code == 0 && (!*base || strcmp(wanted, made) != 0))
        code = find_view(wanted, *base ? made : base, v, err);
    trl__free(wanted);
    trl__free(made);
    return code;
}

int trl__view_base(const char *description, char **base, trl_error *err)
{
    trl_frontend_options o;
    int code = parse(description, &o, err);
    trl_matrix_free(&o.transform);
    o.splice_left = o.splice_right = 0;
    return code < 0 ? code : print(&o, base, err);
}
