#include "model/model_hash.h"

#include <string.h>
#include <xxhash.h>

static uint64_t hash_array(uint64_t before, const void *array, size_t size)
{
    return array && size > 0 ? XXH3_64bits_withSeed(array, size, before) : before + 1;
}

static uint64_t hash_mixtures(uint64_t h, const trl_model *model, const trl__model_mixtures *m)
{
    if (!m->first_gaussian)
        return h + 1;
    size_t gaussians = (size_t)m->first_gaussian[model->tied_states], numbers = gaussians * (size_t)model->dim;
    h = hash_array(h, m->first_gaussian, ((size_t)model->tied_states + 1) * sizeof *m->first_gaussian);
    h = hash_array(h, m->log_weight, gaussians * sizeof(float));
    h = hash_array(h, m->mean, numbers * sizeof(float));
    return hash_array(h, m->variance, numbers * sizeof(float));
}

static uint64_t hash_shared(uint64_t h, const trl_model *model)
{
    const trl__shared_mixtures *s = model->shared;
    if (!s)
        return h + 1;
    size_t densities = (size_t)s->codebooks * (size_t)s->densities, numbers = densities * (size_t)model->dim;
    size_t weights = (size_t)model->tied_states * (size_t)s->streams * (size_t)s->densities;
    h = hash_array(h, &s->top, sizeof s->top);
    h = hash_array(h, &s->floor, sizeof s->floor);
    h = hash_array(h, s->stream_dim, (size_t)s->streams * sizeof *s->stream_dim);
    h = hash_array(h, s->codebook, (size_t)model->tied_states * sizeof *s->codebook);
    h = hash_array(h, s->log_weight, weights * sizeof(float));
    h = hash_array(h, s->mean, numbers * sizeof(float));
    return hash_array(h, s->variance, numbers * sizeof(float));
}

/* Which states there are, with their tied states and transitions. The tree is known by what it gives: triples. */
static uint64_t hash_states(uint64_t h, const trl_model *model)
{
    for (size_t u = 0; u < model->units.count; u++)
        h = hash_array(h, model->units.texts[u], strlen(model->units.texts[u]) + 1);
    h = hash_array(h, model->unit_kind, model->units.count);
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *t = &model->triple[i];
        const int32_t numbers[] = {t->unit, t->state, t->tied, t->transition};
        h = hash_array(h, numbers, sizeof numbers);
    }
    return hash_array(h, model->log_probability, ((size_t)model->transitions + 1) * sizeof(float));
}

uint64_t trl__model_hash(const trl_model *model)
{
    const trl__model_mixtures own = {model->first_gaussian, model->log_weight, model->mean, model->variance, 0};
    uint64_t h = hash_array((uint64_t)model->dim, model->frontend, model->frontend ? strlen(model->frontend) : 0);
    h = hash_array(h, &model->silence_between, sizeof model->silence_between);
    h = hash_states(h, model);
    h = hash_mixtures(h, model, &own);
    h = hash_mixtures(h, model, &model->independent);
    return hash_shared(h, model);
}
