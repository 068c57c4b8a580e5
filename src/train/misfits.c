/* The fit of every utterance that was aligned, by all threads; then the judgement, in corpus order. */
#include "train/misfits.h"
#include "align/fit.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

typedef struct worker {
    trl__aligner *aligner;
    trl__graph graph;
    trl__view_room room;
} worker;

typedef struct misfit_search {
    const trl__training_data *data;
    const trl_lexicon *lexicon;
    const trl__alignment_store *alignments;
    trl__unit_map *map;
    trl__parameters *parameters;
    trl__rivals rivals;
    worker *workers;
    size_t worker_count;
    trl__fit *fits; /* by utterance; no utterance: it was not aligned */
} misfit_search;

static int fit_utterance(void *user, size_t utterance, int number, trl_error *err)
{
    misfit_search *m = user;
    worker *w = &m->workers[number];
    const trl__training_data *d = m->data;
    const trl__run *runs;
    const trl__stored_alignment *stored = trl__alignment_store_get(m->alignments, utterance, &runs);
    trl_matrix frames = {0};
    if (stored->status != TRL__ALIGNED)
        return 0;
    int code = trl__training_frames(d, utterance, 1, &w->room, &frames, err);
    if (code == 0)
        code = trl__graph_build(&w->graph, m->map, m->lexicon, d->words + d->first_word[utterance],
                                d->first_word[utterance + 1] - d->first_word[utterance], err);
    if (code == 0)
        code = trl__aligner_begin(w->aligner, m->parameters, &frames, &w->graph, err);
    if (code == 0)
        code = trl__fail_in(err, trl__aligner_set_path(w->aligner, runs, stored->runs, err),
                            trl__alignment_store_path(m->alignments));
    if (code == 0)
        code = trl__aligner_fit(w->aligner, &m->rivals, &m->fits[utterance].fit, &m->fits[utterance].frames, err);
    m->fits[utterance].utterance = d->utterance[utterance];
    return code;
}

static int judge(const misfit_search *m, trl_findings *findings, trl_error *err)
{
    trl__fits fits = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < m->data->count; i++)
        if (m->fits[i].utterance)
            code = trl__fits_add(&fits, m->fits[i].utterance, m->fits[i].fit, m->fits[i].frames, err);
    if (code == 0)
        code = trl__fits_judge(&fits, findings, err);
    trl__fits_free(&fits);
    return code;
}

/* Keeps the TRL__NOTABLE lowest, in rising order; equal ones in corpus order. */
static void note_lowest(const misfit_search *m, trl__pass_result *result)
{
    result->unfit_count = 0;
    for (size_t i = 0; i < m->data->count; i++) {
        size_t at = result->unfit_count;
        if (!m->fits[i].utterance)
            continue;
        while (at > 0 && result->unfit[at - 1].value > m->fits[i].fit)
            at--;
        if (at == TRL__NOTABLE)
            continue;
        result->unfit_count += result->unfit_count < TRL__NOTABLE;
        memmove(result->unfit + at + 1, result->unfit + at, (result->unfit_count - at - 1) * sizeof *result->unfit);
        result->unfit[at] = (trl__notable){i, m->fits[i].fit};
    }
}

static int set_up(misfit_search *m, const trl_model *model, trl__device *device, trl_pool *pool, trl_error *err)
{
    m->workers = trl__alloc_zero(m->worker_count, sizeof *m->workers);
    m->fits = trl__alloc_zero(m->data->count, sizeof *m->fits);
    if (!m->workers || !m->fits)
        return trl__fail_memory(err);
    trl__rivals_choose(&m->rivals, model);
    int code = trl__unit_map_create(model, m->lexicon, &m->map, err);
    if (code == 0)
        code = trl__device_load_model(device, model, pool, &m->parameters, err);
    for (size_t i = 0; code == 0 && i < m->worker_count; i++)
        code = trl__aligner_create(device, &m->workers[i].aligner, err);
    return code;
}

int trl__find_misfits(const trl__training_data *data, const trl_lexicon *lexicon, const trl_model *model,
                      trl__device *device, const trl__alignment_store *alignments, trl_pool *pool,
                      trl_findings *findings, trl__pass_result *result, trl_error *err)
{
    misfit_search m = {
        .data = data, .lexicon = lexicon, .alignments = alignments, .worker_count = (size_t)trl_pool_threads(pool)};
    int code = set_up(&m, model, device, pool, err);
    if (code == 0)
        code = trl_pool_for(pool, data->count, fit_utterance, &m, err);
    if (code == 0)
        code = judge(&m, findings, err);
    if (code == 0)
        note_lowest(&m, result);
    for (size_t i = 0; m.workers && i < m.worker_count; i++) {
        trl__aligner_destroy(m.workers[i].aligner);
        trl__graph_free(&m.workers[i].graph);
        trl__view_room_free(&m.workers[i].room);
    }
    trl__free(m.workers);
    trl__free(m.fits);
    trl__parameters_free(m.parameters);
    trl__unit_map_destroy(m.map);
    return code;
}
