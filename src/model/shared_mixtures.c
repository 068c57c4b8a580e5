#include "model/shared_mixtures.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LEAST_SUM 1e-3 /* of weights: those that Sphinx cut to bytes sum up to 0.5 to 1 */
#define MOST_SUM 2

static int32_t dim_of(int32_t streams, const int32_t *stream_dim)
{
    int32_t dim = 0;
    for (int32_t s = 0; s < streams; s++)
        dim += stream_dim[s];
    return dim;
}

int trl__shared_mixtures_create(int32_t codebooks, int32_t densities, int32_t streams, const int32_t *stream_dim,
                                int32_t tied_states, trl__shared_mixtures **out, trl_error *err)
{
    size_t gaussians = (size_t)codebooks * (size_t)densities, dim = (size_t)dim_of(streams, stream_dim);
    trl__shared_mixtures *m = *out = trl__alloc_zero(1, sizeof *m);
    if (!m)
        return trl__fail_memory(err);
    m->codebooks = codebooks;
    m->densities = densities;
    m->streams = streams;
    m->stream_dim = trl__alloc((size_t)streams, sizeof *m->stream_dim);
    m->codebook = trl__alloc_zero((size_t)tied_states, sizeof *m->codebook);
    m->log_weight = trl__alloc_zero((size_t)tied_states * (size_t)streams, (size_t)densities * sizeof *m->log_weight);
    m->mean = trl__alloc_zero(gaussians, dim * sizeof *m->mean);
    m->variance = trl__alloc_zero(gaussians, dim * sizeof *m->variance);
    if (m->stream_dim && m->codebook && m->log_weight && m->mean && m->variance) {
        memcpy(m->stream_dim, stream_dim, (size_t)streams * sizeof *stream_dim);
        return 0;
    }
    trl__shared_mixtures_destroy(m);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl__shared_mixtures_destroy(trl__shared_mixtures *m)
{
    if (!m)
        return;
    trl__free(m->stream_dim);
    trl__free(m->codebook);
    trl__free(m->log_weight);
    trl__free(m->mean);
    trl__free(m->variance);
    trl__free(m);
}

int trl__shared_mixtures_copy(const trl__shared_mixtures *from, int32_t dim, int32_t tied_states,
                              trl__shared_mixtures **out, trl_error *err)
{
    int code = trl__shared_mixtures_create(from->codebooks, from->densities, from->streams, from->stream_dim,
                                           tied_states, out, err);
    if (code < 0)
        return code;
    size_t numbers = (size_t)from->codebooks * (size_t)from->densities * (size_t)dim;
    size_t weights = (size_t)tied_states * (size_t)from->streams * (size_t)from->densities;
    trl__shared_mixtures *to = *out;
    to->top = from->top;
    to->floor = from->floor;
    memcpy(to->codebook, from->codebook, (size_t)tied_states * sizeof *to->codebook);
    memcpy(to->log_weight, from->log_weight, weights * sizeof *to->log_weight);
    memcpy(to->mean, from->mean, numbers * sizeof *to->mean);
    memcpy(to->variance, from->variance, numbers * sizeof *to->variance);
    return 0;
}

static int check_gaussians(const trl__shared_mixtures *m, int32_t dim, const char *name, trl_error *err)
{
    size_t numbers = (size_t)m->codebooks * (size_t)m->densities * (size_t)dim;
    for (size_t i = 0; i < numbers; i++)
        if (!isfinite(m->mean[i]) || !isfinite(m->variance[i]) || m->variance[i] <= 0)
            return trl__fail(err, TRL_ENUMBER,
                             "%s: codebook %zu, dimension %zu: mean %g, variance %g; both must be finite and the "
                             "variance positive",
                             name, i / ((size_t)m->densities * (size_t)dim), i % (size_t)dim, (double)m->mean[i],
                             (double)m->variance[i]);
    return 0;
}

static int check_weights(const trl__shared_mixtures *m, int32_t tied, const char *name, trl_error *err)
{
    for (int32_t s = 0; s < m->streams; s++) {
        const float *weight = m->log_weight + ((size_t)tied * (size_t)m->streams + (size_t)s) * (size_t)m->densities;
        double sum = 0;
        for (int32_t k = 0; k < m->densities; k++)
            sum += isfinite(weight[k]) ? exp((double)weight[k]) : INFINITY;
        if (!(sum >= LEAST_SUM && sum <= MOST_SUM))
            return trl__fail(err, TRL_ENUMBER,
                             "%s: tied state %" PRId32 ", stream %" PRId32 ": the weights sum up to %g", name, tied, s,
                             sum);
    }
    return 0;
}

int trl__shared_mixtures_check(const trl__shared_mixtures *m, int32_t dim, int32_t tied_states, const char *name,
                               trl_error *err)
{
    if (dim_of(m->streams, m->stream_dim) != dim || m->top < 0 || m->top > m->densities || !(m->floor >= 0) ||
        !isfinite(m->floor))
        return trl__fail(err, TRL_ECORRUPT, "%s: streams, best densities or floor of the codebooks are impossible",
                         name);
    int code = check_gaussians(m, dim, name, err);
    for (int32_t j = 0; code == 0 && j < tied_states; j++)
        code = m->codebook[j] < 0 || m->codebook[j] >= m->codebooks
                   ? trl__fail(err, TRL_ECORRUPT, "%s: tied state %" PRId32 " has codebook %" PRId32 " of %" PRId32,
                               name, j, m->codebook[j], m->codebooks)
                   : check_weights(m, j, name, err);
    return code;
}
