#include "align/adapt_pass.h"
#include "adapt/fmllr.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>
#include <sys/stat.h>

typedef struct speaker {
    size_t waiting;          /* his utterances that may still come in this pass */
    trl__fmllr_stats *stats; /* of this pass; NULL: nothing has come yet, or the estimate is made */
    trl_matrix transform;    /* of the passes before; no rows: none */
    double log_det;
    double gain, frames; /* of all estimates together; of the last */
} speaker;

typedef struct slot {
    trl__fmllr_stats *stats;
    int is_filled;
} slot;

typedef struct worker {
    trl_matrix frames; /* adapted */
    trl__scratch tied;
} worker;

struct trl__adaptation {
    const trl_model *model;
    const trl_corpus *corpus;
    const char *only;
    speaker *speakers;
    size_t speaker_count;
    slot *slots;
    size_t slot_count;
    worker *workers;
    int worker_count;
};

int trl__adaptation_is_possible(const trl_corpus *corpus)
{
    struct stat status;
    for (size_t i = 0; i < trl_corpus_count(corpus); i++) {
        const char *path = trl_corpus_get(corpus, i)->path;
        if (strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
            return 0;
    }
    return 1;
}

int trl__adaptation_create(const trl_model *model, const trl_corpus *corpus, const char *only, size_t slots,
                           int workers, trl__adaptation **out, trl_error *err)
{
    trl__adaptation *a = *out = trl__alloc_zero(1, sizeof *a);
    if (!a)
        return trl__fail_memory(err);
    a->model = model;
    a->corpus = corpus;
    a->only = only;
    a->speaker_count = trl_corpus_speakers(corpus);
    a->slot_count = slots;
    a->worker_count = workers;
    a->speakers = trl__alloc_zero(a->speaker_count + 1, sizeof *a->speakers);
    a->slots = trl__alloc_zero(slots, sizeof *a->slots);
    a->workers = trl__alloc_zero((size_t)workers, sizeof *a->workers);
    return a->speakers && a->slots && a->workers ? 0 : trl__fail_memory(err);
}

void trl__adaptation_destroy(trl__adaptation *a)
{
    if (!a)
        return;
    for (size_t i = 0; a->speakers && i < a->speaker_count; i++) {
        trl__fmllr_stats_destroy(a->speakers[i].stats);
        trl_matrix_free(&a->speakers[i].transform);
    }
    for (size_t i = 0; a->slots && i < a->slot_count; i++)
        trl__fmllr_stats_destroy(a->slots[i].stats);
    for (int i = 0; a->workers && i < a->worker_count; i++) {
        trl_matrix_free(&a->workers[i].frames);
        trl__scratch_free(&a->workers[i].tied);
    }
    trl__free(a->speakers);
    trl__free(a->slots);
    trl__free(a->workers);
    trl__free(a);
}

/* ---- one utterance: any thread ---- */

/* Nobody changes a transform while utterances of its speaker are on their way. */
int trl__adaptation_frames(trl__adaptation *a, const trl_utterance *u, const trl_matrix **frames, int worker_index,
                           double *log_det, trl_error *err)
{
    const speaker *s = &a->speakers[u->speaker_index];
    worker *w = &a->workers[worker_index];
    if (s->transform.rows == 0)
        return 0;
    int code = trl__fmllr_apply(&s->transform, *frames, &w->frames, err);
    if (code < 0)
        return code;
    *frames = &w->frames;
    *log_det = s->log_det;
    return 1;
}

static int fill_slot(trl__adaptation *a, const trl_matrix *frames, const int32_t *tied, size_t slot_index,
                     trl_error *err)
{
    slot *s = &a->slots[slot_index];
    int code = s->stats ? 0 : trl__fmllr_stats_create(a->model->dim, &s->stats, err);
    if (code < 0)
        return code;
    trl__fmllr_stats_zero(s->stats);
    s->is_filled = 1;
    return trl__fmllr_stats_add(s->stats, a->model, frames, tied, err);
}

int trl__adaptation_gather(trl__adaptation *a, const trl_matrix *frames, const trl__graph *graph, const int32_t *path,
                           size_t slot_index, int worker_index, trl_error *err)
{
    int32_t *tied = trl__scratch_get(&a->workers[worker_index].tied, frames->rows, sizeof *tied);
    if (!tied)
        return trl__fail_memory(err);
    for (size_t t = 0; t < frames->rows; t++) {
        int32_t unit = graph->phone[graph->node_phone[path[t]]].unit;
        tied[t] = trl__fmllr_counts(a->model->unit_kind[unit], t) ? graph->node_tied[path[t]] : -1;
    }
    return fill_slot(a, frames, tied, slot_index, err);
}

int trl__adaptation_gather_transitions(trl__adaptation *a, const trl_matrix *frames, const int32_t *transitions,
                                       size_t slot_index, int worker_index, trl_error *err)
{
    int32_t *tied = trl__scratch_get(&a->workers[worker_index].tied, frames->rows, sizeof *tied);
    if (!tied)
        return trl__fail_memory(err);
    for (size_t t = 0; t < frames->rows; t++) {
        const trl__triple *triple = &a->model->triple[a->model->transition_triple[transitions[t]]];
        tied[t] = trl__fmllr_counts(a->model->unit_kind[triple->unit], t) ? triple->tied : -1;
    }
    return fill_slot(a, frames, tied, slot_index, err);
}

/* ---- speakers: in corpus order ---- */

void trl__adaptation_begin(trl__adaptation *a)
{
    for (size_t i = 0; i < a->slot_count; i++)
        a->slots[i].is_filled = 0;
    for (size_t i = 0; i < a->speaker_count; i++)
        a->speakers[i].waiting = 0;
    for (size_t i = 0; i < trl_corpus_count(a->corpus); i++) {
        const trl_utterance *u = trl_corpus_get(a->corpus, i);
        if (!u->bad && (!a->only || strcmp(u->id, a->only) == 0))
            a->speakers[u->speaker_index].waiting++;
    }
}

/* Puts the new transform behind the one that the frames had been through. */
static int change_transform(speaker *s, trl_matrix *new, trl_error *err)
{
    if (s->transform.rows > 0) {
        trl_matrix first = s->transform;
        s->transform = (trl_matrix){0};
        int code = trl__fmllr_compose(new, &first, &s->transform, err);
        trl_matrix_free(&first);
        return code;
    }
    s->transform = *new;
    *new = (trl_matrix){0};
    return 0;
}

static int estimate(speaker *s, trl_error *err)
{
    trl_matrix transform = {0};
    trl__fmllr_summary summary;
    int code = trl__fmllr_estimate(s->stats, NULL, &transform, &summary, err);
    if (code == 0 && summary.estimated) {
        code = change_transform(s, &transform, err);
        s->log_det += summary.log_det;
        s->gain += summary.gain;
        s->frames = summary.frames;
    }
    trl_matrix_free(&transform);
    trl__fmllr_stats_destroy(s->stats);
    s->stats = NULL;
    return code;
}

int trl__adaptation_add(trl__adaptation *a, const trl_utterance *u, size_t slot_index, trl_error *err)
{
    speaker *s = &a->speakers[u->speaker_index];
    slot *from = &a->slots[slot_index];
    int code = 0;
    s->waiting--;
    if (from->is_filled) {
        if (!s->stats)
            code = trl__fmllr_stats_create(a->model->dim, &s->stats, err);
        if (code == 0)
            code = trl__fmllr_stats_merge(s->stats, from->stats, err);
        from->is_filled = 0;
    }
    return code == 0 && s->waiting == 0 && s->stats ? estimate(s, err) : code;
}

/* What is left are speakers with utterances that never came, because their sound could not be read. */
int trl__adaptation_end(trl__adaptation *a, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < a->speaker_count; i++)
        if (a->speakers[i].stats)
            code = estimate(&a->speakers[i], err);
    return code;
}

trl__adaptation_summary trl__adaptation_summarise(const trl__adaptation *a)
{
    trl__adaptation_summary sum = {0};
    double frames = 0;
    for (size_t i = 0; i < a->speaker_count; i++) {
        sum.speakers += a->speakers[i].transform.rows > 0;
        sum.gain += a->speakers[i].gain * a->speakers[i].frames;
        frames += a->speakers[i].frames;
    }
    sum.gain = frames > 0 ? sum.gain / frames : 0;
    return sum;
}
