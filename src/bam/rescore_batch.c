#include "bam/rescore_batch.h"
#include "base/bytes.h"
#include "base/fail.h"

#include <string.h>

/* ---- segments and keys ---- */

static void forget(trl__batch *b)
{
    trl__map_free(&b->segment_index);
    trl__map_free(&b->key_index);
    trl__arena_free(&b->arena);
    b->segment_count = b->key_count = 0;
}

void trl__batch_begin(trl__batch *b, int order)
{
    forget(b);
    b->order = order;
}

void trl__batch_free(trl__batch *b)
{
    forget(b);
    trl__free(b->segments);
    trl__free(b->keys);
    trl__free(b->request);
    trl__free(b->results);
    *b = (trl__batch){0};
}

/* The number of these bytes in the index, or `next`, which they get. 1: they are new, 0: not, -1: out of memory. */
static int number_bytes(trl__batch *b, trl__map *index, const unsigned char *bytes, size_t size, size_t next,
                        int32_t *number, const unsigned char **copy)
{
    uint64_t value = next;
    const uint64_t *found = trl__map_find(index, (const char *)bytes, size);
    *number = (int32_t)(found ? *found : next);
    if (found)
        return 0;
    *copy = (const unsigned char *)trl__arena_copy(&b->arena, (const char *)bytes, size);
    return *copy ? trl__map_add(index, (const char *)*copy, size, &value) : -1;
}

/* A key and all that it backs off to; whatever is there already has its back-offs there, too. */
static int add_keys(trl__batch *b, const unsigned char *longest, int32_t *number, trl_error *err)
{
    unsigned char key[TRL_BAM_KEY_MOST];
    size_t size = trl_bam_key_size(b->order);
    int32_t at, before = -1;
    int added;
    memcpy(key, longest, size);
    *number = -1;
    do {
        const unsigned char *copy = NULL;
        added = number_bytes(b, &b->key_index, key, size, b->key_count, &at, &copy);
        if (added < 0 || TRL_GROW(b->keys, b->key_capacity, b->key_count + 1) < 0)
            return trl__fail_memory(err);
        if (added)
            b->keys[b->key_count++] = (trl__batch_key){copy, -1, -1};
        if (before >= 0)
            b->keys[before].next = at;
        *number = *number < 0 ? at : *number;
        before = at;
    } while (added && trl_bam_key_back_off(b->order, key));
    return 0;
}

int trl__batch_add(trl__batch *b, const unsigned char *key, int32_t first, int32_t end, int32_t tied, int32_t *segment,
                   trl_error *err)
{
    unsigned char record[TRL_BAM_KEY_MOST + 12];
    const unsigned char *copy;
    size_t size = trl_bam_key_size(b->order);
    int32_t number;
    memcpy(record, key, size);
    trl__put_le32(record + size, (uint32_t)first);
    trl__put_le32(record + size + 4, (uint32_t)end);
    trl__put_le32(record + size + 8, (uint32_t)tied);
    int added = number_bytes(b, &b->segment_index, record, size + 12, b->segment_count, segment, &copy);
    if (added < 0 || TRL_GROW(b->segments, b->segment_capacity, b->segment_count + 1) < 0)
        return trl__fail_memory(err);
    if (!added)
        return 0;
    int code = add_keys(b, key, &number, err);
    b->segments[b->segment_count++] = (trl__batch_segment){
        .key = number, .found = -1, .first = first, .end = end, .tied = tied, .outcome = TRL__BATCH_FIRST_PASS};
    return code;
}

static void resolve(trl__batch *b, trl__batch_segment *s)
{
    int32_t k = s->key;
    while (k >= 0 && b->results[k].status == TRL__LOOKUP_MISSING)
        k = b->keys[k].next;
    s->found = k >= 0 && b->results[k].status == TRL__LOOKUP_FOUND ? k : -1;
    s->outcome = k < 0 ? TRL__BATCH_FIRST_PASS : s->found < 0 ? TRL__BATCH_LOST : TRL__BATCH_FOUND;
}

int trl__batch_fetch(trl__batch *b, trl__lookup *lookup, trl_error *err)
{
    size_t size = trl_bam_key_size(b->order);
    if (TRL_GROW(b->request, b->request_capacity, b->key_count * size + 1) < 0 ||
        TRL_GROW(b->results, b->result_capacity, b->key_count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < b->key_count; i++)
        memcpy(b->request + i * size, b->keys[i].bytes, size);
    int code = lookup->fetch(lookup, b->request, b->key_count, b->results, err);
    for (size_t i = 0; code == 0 && i < b->segment_count; i++)
        resolve(b, &b->segments[i]);
    return code;
}

/* ---- scores ---- */

static size_t padded(const trl__row *row)
{
    return ((size_t)(row->end - row->first) + TRL__ROW_PAD - 1) / TRL__ROW_PAD * TRL__ROW_PAD;
}

static int score_rows(trl__batch_scorer *w, const trl__parameters *parameters, const trl_matrix *frames, size_t count,
                      trl_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        w->rows[i].offset = (int64_t)size;
        size += padded(&w->rows[i]);
    }
    if (TRL_GROW(w->scores, w->score_capacity, size + TRL__ROW_PAD) < 0)
        return trl__fail_memory(err);
    trl__search search = {.frames = frames,
                          .end = (int32_t)frames->rows,
                          .combine = TRL__LOG_ADD,
                          .rows = (int32_t)count,
                          .row = w->rows,
                          .scores = w->scores};
    int code = trl__stream_frames(w->stream, parameters, &search, 1, err);
    if (code == 0)
        code = trl__stream_score(w->stream, parameters, &search, 1, err);
    return code < 0 ? code : trl__stream_wait(w->stream, err);
}

static double row_sum(const trl__batch_scorer *w, size_t row)
{
    const trl__row *r = &w->rows[row];
    double sum = 0;
    for (int32_t t = r->first; t < r->end; t++)
        sum += (double)w->scores[r->offset + t - r->first];
    return sum;
}

/* Numbers the mixtures that segments use, in the order in which they come; *gaussians is how many they have. */
static size_t number_mixtures(trl__batch *b, size_t *gaussians)
{
    size_t mixtures = 0;
    *gaussians = 0;
    for (size_t i = 0; i < b->segment_count; i++) {
        int32_t k = b->segments[i].found;
        if (k < 0 || b->keys[k].mixture >= 0)
            continue;
        b->keys[k].mixture = (int32_t)mixtures++;
        *gaussians += (size_t)b->results[k].mixture.components;
    }
    return mixtures;
}

static void copy_mixtures(const trl__batch *b, size_t dim, const trl__model_mixtures *to)
{
    int32_t made = 0;
    size_t at = 0;
    for (size_t i = 0; i < b->segment_count; i++) {
        int32_t k = b->segments[i].found;
        if (k < 0 || b->keys[k].mixture != made)
            continue;
        const trl_bam_mixture *m = &b->results[k].mixture;
        size_t count = (size_t)m->components;
        memcpy(to->log_weight + at, m->log_weight, count * sizeof(float));
        memcpy(to->mean + at * dim, m->mean, count * dim * sizeof(float));
        memcpy(to->variance + at * dim, m->variance, count * dim * sizeof(float));
        at += count;
        to->first_gaussian[++made] = (int32_t)at;
    }
}

/* The mixtures that segments use, as tied states of a model of their own; NULL: there are none. */
static int gather_mixtures(trl__batch *b, int32_t dim, trl_model **out, trl_error *err)
{
    size_t gaussians, mixtures = number_mixtures(b, &gaussians), width = (size_t)dim;
    *out = NULL;
    if (mixtures == 0)
        return 0;
    const trl__model_mixtures to = {.first_gaussian = trl__alloc_aligned(mixtures + 1, sizeof(int32_t)),
                                    .log_weight = trl__alloc_aligned(gaussians, sizeof(float)),
                                    .mean = trl__alloc_aligned(gaussians * width, sizeof(float)),
                                    .variance = trl__alloc_aligned(gaussians * width, sizeof(float))};
    int code = to.first_gaussian && to.log_weight && to.mean && to.variance ? trl__model_new(dim, out, err)
                                                                            : trl__fail_memory(err);
    if (code < 0) {
        trl__free(to.first_gaussian);
        trl__free(to.log_weight);
        trl__free(to.mean);
        trl__free(to.variance);
        return code;
    }
    to.first_gaussian[0] = 0;
    copy_mixtures(b, width, &to);
    (*out)->tied_states = (int32_t)mixtures;
    trl__model_set_mixtures(*out, to.first_gaussian, to.log_weight, to.mean, to.variance);
    return 0;
}

static int score_first_pass(trl__batch *b, trl__batch_scorer *w, const trl_matrix *frames,
                            const trl__parameters *parameters, trl_error *err)
{
    for (size_t i = 0; i < b->segment_count; i++)
        w->rows[i] = (trl__row){.tied = b->segments[i].tied, .first = b->segments[i].first, .end = b->segments[i].end};
    int code = score_rows(w, parameters, frames, b->segment_count, err);
    for (size_t i = 0; code == 0 && i < b->segment_count; i++)
        b->segments[i].again = b->segments[i].bam = row_sum(w, i);
    return code;
}

static int score_mixtures(trl__batch *b, trl__batch_scorer *w, const trl_matrix *frames, const trl_model *mixtures,
                          trl_error *err)
{
    trl__parameters *parameters;
    size_t rows = 0, row = 0;
    for (size_t i = 0; i < b->segment_count; i++) {
        const trl__batch_segment *s = &b->segments[i];
        if (s->found >= 0)
            w->rows[rows++] = (trl__row){.tied = b->keys[s->found].mixture, .first = s->first, .end = s->end};
    }
    int code = trl__device_load_model(w->device, mixtures, NULL, &parameters, err);
    if (code < 0)
        return code;
    code = score_rows(w, parameters, frames, rows, err);
    for (size_t i = 0; code == 0 && i < b->segment_count; i++)
        if (b->segments[i].found >= 0)
            b->segments[i].bam = row_sum(w, row++);
    trl__parameters_free(parameters);
    return code;
}

int trl__batch_score(trl__batch *b, trl__batch_scorer *s, const trl_matrix *frames, const trl__parameters *first_pass,
                     trl_error *err)
{
    trl_model *mixtures = NULL;
    if (b->segment_count == 0)
        return 0;
    if (TRL_GROW(s->rows, s->row_capacity, b->segment_count) < 0)
        return trl__fail_memory(err);
    int code = score_first_pass(b, s, frames, first_pass, err);
    if (code == 0)
        code = gather_mixtures(b, (int32_t)frames->cols, &mixtures, err);
    if (code == 0 && mixtures)
        code = score_mixtures(b, s, frames, mixtures, err);
    trl_model_destroy(mixtures);
    return code;
}

void trl__batch_scorer_free(trl__batch_scorer *s)
{
    trl__free(s->rows);
    trl__free(s->scores);
}
