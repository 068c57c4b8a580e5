/* A model of CMU Sphinx, from its folder.
 *
 * Where every tied state has Gaussians of its own (continuous models of one stream) an ordinary model comes out. Codebooks that tied
 * states share, one for all (semi-continuous) or one for each phone (phonetically tied), stay shared (shared_mixtures.h), scored as
 * Sphinx scores them: the four best densities count, and none for less than 96 units of its 8-bit scores.
 *
 * Transitions and weights are counts or probabilities, floored as Sphinx does.
 */
#include "model/sphinx_model.h"

#include "base/fail.h"
#include "base/path.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define VARIANCE_FLOOR 1e-4F
#define WEIGHT_FLOOR 1e-7
#define TRANSITION_FLOOR 1e-4
#define TOP 4
#define FLOOR 9.829908512763201F /* nats: 96 units of 1024 ln 1.0001 */

typedef struct parts {
    const char *folder;
    trl__arena arena;
    trl__sphinx_mdef mdef;
    trl__sphinx_array mean, variance, weight, transition, lda;
    char *frontend;
    trl_error *err;
} parts;

/* ---- Files ---- */

/* Opens a file of the folder: 1, or 0 where it may be missing and is. */
static int open_part(parts *p, const char *name, int may_miss, trl__source *source)
{
    const char *path = trl__join_path(&p->arena, p->folder, name);
    if (!path)
        return trl__fail_memory(p->err);
    if (may_miss && access(path, F_OK) != 0)
        return 0;
    int code = trl__source_open(path, source, p->err);
    return code < 0 ? code : 1;
}

static int read_array(parts *p, const char *name, int has_streams, int may_miss, trl__sphinx_array *out)
{
    trl__source source;
    int found = open_part(p, name, may_miss, &source);
    if (found <= 0)
        return found;
    int code = trl__sphinx_array_read(&source, has_streams, out, p->err);
    trl__source_close(&source);
    return code < 0 ? code : 1;
}

static int read_mdef(parts *p)
{
    trl__source source;
    int code = open_part(p, "mdef", 0, &source);
    if (code < 0)
        return code;
    code = trl__sphinx_mdef_read(&source, &p->mdef, p->err);
    trl__source_close(&source);
    return code;
}

/* Sums up to 1, nothing (with `only_positive`: no positive number) below the floor. Returns 0 where all are 0. */
static int normalise(float *values, size_t count, double floor, int only_positive)
{
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (double)values[i];
        if (!(sum > 0))
            return 0;
        for (size_t i = 0; i < count; i++) {
            double value = (double)values[i] / sum;
            values[i] = (float)(pass == 0 && value < floor && (value > 0 || !only_positive) ? floor : value);
        }
    }
    return 1;
}

static int read_transitions(parts *p)
{
    trl__sphinx_array *t = &p->transition;
    int code = read_array(p, "transition_matrices", 0, 0, t);
    if (code < 0)
        return code;
    int32_t states = p->mdef.states;
    if (t->size[0] != p->mdef.matrices || t->size[1] != states || t->size[2] != states + 1)
        return trl__fail(p->err, TRL_ECORRUPT,
                         "%s/transition_matrices: %" PRId32 " of %" PRId32 " x %" PRId32 "; mdef has %" PRId32
                         " for %" PRId32 " states",
                         p->folder, t->size[0], t->size[1], t->size[2], p->mdef.matrices, states);
    for (uint64_t row = 0; row < t->count / (uint64_t)(states + 1); row++) {
        float *values = t->value + row * (uint64_t)(states + 1);
        for (int32_t i = 0; i <= states; i++)
            if (values[i] < 0)
                return trl__fail(p->err, TRL_ENUMBER, "%s/transition_matrices: a negative number", p->folder);
        if (!normalise(values, (size_t)states + 1, TRANSITION_FLOOR, 1))
            return trl__fail(p->err, TRL_ECORRUPT, "%s/transition_matrices: nothing leads out of a state", p->folder);
    }
    return 0;
}

/* Logarithms of weights that may be counts. */
static int take_logarithms(parts *p, trl__sphinx_array *w)
{
    size_t densities = (size_t)w->size[2];
    for (uint64_t row = 0; row < w->count / densities; row++) {
        float *values = w->value + row * densities;
        for (size_t k = 0; k < densities; k++)
            if (values[k] < 0)
                return trl__fail(p->err, TRL_ENUMBER, "%s/mixture_weights: a negative number", p->folder);
        if (!normalise(values, densities, WEIGHT_FLOOR, 0)) /* never seen: all alike */
            for (size_t k = 0; k < densities; k++)
                values[k] = 1.0F / (float)densities;
        for (size_t k = 0; k < densities; k++)
            values[k] = (float)log((double)values[k]);
    }
    return 0;
}

static int read_weights(parts *p)
{
    const int32_t size[3] = {p->mdef.senones, p->mean.size[1], p->mean.size[2]};
    trl__source source;
    int code = open_part(p, "sendump", 1, &source);
    if (code > 0) {
        code = trl__sphinx_sendump_read(&source, size, &p->weight, p->err);
        trl__source_close(&source);
        return code;
    }
    code = read_array(p, "mixture_weights", 0, 0, &p->weight);
    if (code < 0)
        return code;
    if (memcmp(size, p->weight.size, sizeof size) != 0)
        return trl__fail(p->err, TRL_ECORRUPT,
                         "%s/mixture_weights: of %" PRId32 " tied states, %" PRId32 " streams, %" PRId32
                         " densities; the other files have %" PRId32 ", %" PRId32 ", %" PRId32,
                         p->folder, p->weight.size[0], p->weight.size[1], p->weight.size[2], size[0], size[1], size[2]);
    return take_logarithms(p, &p->weight);
}

static int32_t dim_of(const trl__sphinx_array *mean)
{
    int32_t dim = 0;
    for (int32_t s = 0; s < mean->size[1]; s++)
        dim += mean->stream_dim[s];
    return dim;
}

static int read_gaussians(parts *p)
{
    int code = read_array(p, "means", 1, 0, &p->mean);
    if (code > 0)
        code = read_array(p, "variances", 1, 0, &p->variance);
    if (code < 0)
        return code;
    if (memcmp(p->mean.size, p->variance.size, sizeof p->mean.size) != 0 ||
        memcmp(p->mean.stream_dim, p->variance.stream_dim, (size_t)p->mean.size[1] * sizeof(int32_t)) != 0)
        return trl__fail(p->err, TRL_ECORRUPT, "%s: means and variances are of different sizes", p->folder);
    int32_t books = p->mean.size[0], phones = (int32_t)p->mdef.names.count;
    if (books != 1 && books != phones && books != p->mdef.senones)
        return trl__fail(p->err, TRL_EUNSUPPORTED,
                         "%s: %" PRId32 " codebooks; there may be one, one for each of %" PRId32
                         " phones, or one for each of %" PRId32 " tied states",
                         p->folder, books, phones, p->mdef.senones);
    for (uint64_t i = 0; i < p->variance.count; i++)
        p->variance.value[i] = fmaxf(p->variance.value[i], VARIANCE_FLOOR);
    return 0;
}

static int read_frontend(parts *p)
{
    trl__source source;
    trl_matrix lda = {0};
    int code = read_array(p, "feature_transform", 0, 1, &p->lda);
    if (code > 0)
        lda = (trl_matrix){.rows = (size_t)p->lda.size[1],
                           .cols = (size_t)p->lda.size[2],
                           .stride = (size_t)p->lda.size[2],
                           .data = p->lda.value};
    if (code >= 0)
        code = open_part(p, "feat.params", 1, &source);
    if (code < 0)
        return code;
    int found = code;
    code = trl__sphinx_features(found ? &source : NULL, &lda, dim_of(&p->mean), &p->frontend, p->err);
    if (found)
        trl__source_close(&source);
    return code;
}

/* ---- The model ---- */

/* Sphinx has [codebook][stream][density][dimension of the stream], we have all streams of a density side by side. */
static void put_gaussians(const trl__sphinx_array *from, int32_t dim, float *to)
{
    const float *next = from->value;
    size_t densities = (size_t)from->size[2];
    for (size_t c = 0; c < (size_t)from->size[0]; c++) {
        size_t first = 0;
        for (int32_t s = 0; s < from->size[1]; first += (size_t)from->stream_dim[s], s++)
            for (size_t k = 0; k < densities; k++, next += from->stream_dim[s])
                memcpy(to + (c * densities + k) * (size_t)dim + first, next, (size_t)from->stream_dim[s] * sizeof *to);
    }
}

/* The phone that a tied state's codebook belongs to. */
static void put_codebooks(const parts *p, int32_t *codebook)
{
    if (p->mean.size[0] == 1)
        return;
    if (p->mean.size[0] == p->mdef.senones) {
        for (int32_t j = 0; j < p->mdef.senones; j++)
            codebook[j] = j;
        return;
    }
    for (int32_t i = p->mdef.phones - 1; i >= 0; i--)
        for (int32_t s = 0; s < p->mdef.states; s++)
            codebook[p->mdef.senone[p->mdef.phone[i].senones + s]] = p->mdef.phone[i].base;
}

static int put_shared(const parts *p, trl_model *m)
{
    int code = trl__shared_mixtures_create(p->mean.size[0], p->mean.size[2], p->mean.size[1], p->mean.stream_dim,
                                           p->mdef.senones, &m->shared, p->err);
    if (code < 0)
        return code;
    m->shared->top = p->mean.size[2] > TOP ? TOP : 0;
    m->shared->floor = FLOOR;
    put_gaussians(&p->mean, m->dim, m->shared->mean);
    put_gaussians(&p->variance, m->dim, m->shared->variance);
    put_codebooks(p, m->shared->codebook);
    memcpy(m->shared->log_weight, p->weight.value, p->weight.count * sizeof *p->weight.value);
    m->first_gaussian = trl__alloc_zero((size_t)m->tied_states + 1, sizeof *m->first_gaussian);
    return m->first_gaussian ? 0 : trl__fail_memory(p->err);
}

static int put_mixtures(const parts *p, trl_model *m)
{
    m->tied_states = p->mdef.senones;
    if (p->mean.size[0] != p->mdef.senones || p->mean.size[1] != 1)
        return put_shared(p, m);
    size_t gaussians = p->weight.count;
    m->first_gaussian = trl__alloc((size_t)m->tied_states + 1, sizeof *m->first_gaussian);
    m->log_weight = trl__alloc_aligned(gaussians, sizeof *m->log_weight);
    m->mean = trl__alloc_aligned(gaussians, (size_t)m->dim * sizeof *m->mean);
    m->variance = trl__alloc_aligned(gaussians, (size_t)m->dim * sizeof *m->variance);
    if (!m->first_gaussian || !m->log_weight || !m->mean || !m->variance)
        return trl__fail_memory(p->err);
    for (int32_t j = 0; j <= m->tied_states; j++)
        m->first_gaussian[j] = j * p->mean.size[2];
    memcpy(m->log_weight, p->weight.value, gaussians * sizeof *m->log_weight);
    put_gaussians(&p->mean, m->dim, m->mean);
    put_gaussians(&p->variance, m->dim, m->variance);
    return 0;
}

static int make_model(parts *p, trl_model **out)
{
    int code = trl__model_new(dim_of(&p->mean), out, p->err);
    if (code == 0)
        code = trl__model_set_text(&(*out)->frontend, p->frontend, p->err);
    if (code == 0)
        code = trl__sphinx_units(&p->mdef, &p->transition, *out, p->err);
    if (code == 0)
        code = put_mixtures(p, *out);
    if (code == 0)
        code = trl__sphinx_contexts(&p->mdef, *out, p->err);
    if (code == 0)
        code = trl__model_finish(*out, p->folder, p->err);
    if (code < 0) {
        trl_model_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__sphinx_model_read(const char *folder, trl_model **out, trl_error *err)
{
    parts p = {.folder = folder, .err = err};
    *out = NULL;
    int code = read_mdef(&p);
    if (code == 0)
        code = read_gaussians(&p);
    if (code == 0)
        code = read_weights(&p);
    if (code == 0)
        code = read_transitions(&p);
    if (code == 0)
        code = read_frontend(&p);
    if (code == 0)
        code = make_model(&p, out);
    trl__sphinx_mdef_free(&p.mdef);
    trl__sphinx_array *arrays[] = {&p.mean, &p.variance, &p.weight, &p.transition, &p.lda};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        trl__sphinx_array_free(arrays[i]);
    trl__free(p.frontend);
    trl__arena_free(&p.arena);
    return code;
}
