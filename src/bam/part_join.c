#include "bam/part_join.h"
#include "bam/record_merge.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

typedef struct sequence {
    trl__bam_reader *reader;
    struct join *join;
    unsigned char last[TRL_BAM_KEY_MOST];
} sequence;

typedef struct join {
    const trl__bam_header *header;
    const trl_bam_options *options;
    trl__bam_emit emit;
    void *user;
    trl_bam_counts *counts;
    trl__grower *grower;
    trl__reservoir *sample;
    unsigned char key[TRL_BAM_KEY_MOST]; /* of the sample */
    int pending;
    unsigned char last[TRL_BAM_KEY_MOST]; /* of the last record … */
    trl__bam_kind last_kind;              /* … TRL__BAM_NOTHING: there was none yet */
    trl__scratch body;
} join;

static int fail_key(const sequence *s, const unsigned char *key, trl_error *err, const char *what)
{
    char text[400];
    const trl__bam_header *h = s->join->header;
    trl_bam_key_format(h->phones, h->order, key, text, sizeof text);
    return trl__fail(err, TRL_EINVAL, "%s: %s: %s", s->reader->source.name, text, what);
}

/* The next record that is no counts; those are added up. */
static int next_record(void *user, trl__bam_record *record, trl_error *err)
{
    sequence *s = user;
    const char *name = s->reader->source.name;
    size_t size = trl_bam_key_size(s->join->header->order);
    trl_error why;
    int code;
    while ((code = trl__bam_read(s->reader, record, err)) > 0 && record->kind == TRL__BAM_COUNTS) {
        if (trl__bam_counts_fit(record, s->join->options, &why) < 0)
            return trl__fail(err, TRL_EINVAL, "%s: %s", name, why.text);
        trl__bam_counts_add(&s->reader->header, record, s->join->counts);
    }
    if (code <= 0)
        return code;
    if (record->kind < TRL__BAM_SAMPLE)
        return trl__fail(err, TRL_EFORMAT,
                         "%s: there are records that have not been reduced; `trellis bam reduce` does that", name);
    if (memcmp(record->body, s->last, size) < 0)
        return fail_key(s, record->body, err,
                        "comes after keys that it belongs before; give what reducers wrote as files of their own");
    memcpy(s->last, record->body, size);
    return code;
}

static int estimate_pending(join *j, trl_error *err)
{
    const trl_model *mixture;
    size_t size;
    int left, right;
    int wanted = j->pending;
    j->pending = 0;
    trl__reservoir_settle(j->sample);
    if (!wanted || j->sample->count < (size_t)j->options->least_frames)
        return 0;
    int code = trl__grow_mixture(j->grower, j->sample, &mixture, err);
    if (code < 0)
        return code;
    unsigned char *body = trl__bam_mixture_body(j->header, j->key, mixture, j->sample, &j->body, &size);
    if (!body)
        return trl__fail_memory(err);
    trl_bam_key_context(j->header->order, j->key, &left, &right);
    trl_bam_cell *cell = &j->counts->cell[left][right];
    cell->kept++;
    cell->sampled += j->sample->overflow != 0;
    cell->gaussians += (uint64_t)trl_model_components(mixture, 0);
    return j->emit(j->user, body, size, err);
}

static int join_record(join *j, const trl__bam_record *record, trl_error *err)
{
    size_t size = trl_bam_key_size(j->header->order);
    int code = 0;
    if (j->pending && memcmp(record->body, j->key, size) != 0)
        code = estimate_pending(j, err);
    if (code < 0)
        return code;
    if (record->kind == TRL__BAM_MIXTURE)
        return j->emit(j->user, record->body, record->size, err);
    if (!j->pending) {
        trl__reservoir_empty(j->sample);
        memcpy(j->key, record->body, size);
        j->pending = 1;
    }
    trl__bam_sample(record, j->sample);
    return 0;
}

/* An M-phone has one mixture, and where it has that no sample: else parts overlap, or are there twice. */
static int check_alone(join *j, const trl__merge *merge, const trl__bam_record *record, trl_error *err)
{
    const sequence *twin = trl__merge_twin(merge);
    size_t size = trl_bam_key_size(j->header->order);
    if (twin)
        return fail_key(twin, j->last, err, "the same record is in another part; is one given twice?");
    if (!record)
        return 0;
    int has_mixture = record->kind == TRL__BAM_MIXTURE || j->last_kind == TRL__BAM_MIXTURE;
    if (has_mixture && j->last_kind != TRL__BAM_NOTHING && memcmp(record->body, j->last, size) == 0)
        return fail_key(trl__merge_sequence(merge), record->body, err,
                        "it is in another part too, where it is complete; parts must not overlap");
    j->last_kind = record->kind;
    memcpy(j->last, record->body, size);
    return 0;
}

static int join_all(join *j, trl__bam_reader *parts, size_t count, trl_error *err)
{
    trl__merge *merge = NULL;
    trl__bam_record record;
    sequence *sequences = trl__alloc_zero(count, sizeof *sequences);
    int code = sequences ? trl__merge_open(count, &merge, err) : trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        sequences[i].reader = &parts[i];
        sequences[i].join = j;
        code = trl__merge_add(merge, next_record, &sequences[i], err);
    }
    while (code == 0 && (code = trl__merge_next(merge, &record, err)) > 0) {
        code = check_alone(j, merge, &record, err);
        if (code == 0)
            code = join_record(j, &record, err);
    }
    if (code == 0)
        code = check_alone(j, merge, NULL, err);
    if (code == 0)
        code = estimate_pending(j, err);
    trl__merge_close(merge);
    trl__free(sequences);
    return code;
}

int trl__join_parts(trl__bam_reader *parts, size_t count, const trl_bam_options *options, trl_pool *pool,
                    trl__bam_emit emit, void *user, trl_bam_counts *counts, trl_error *err)
{
    join j = {.header = &parts[0].header, .options = options, .emit = emit, .user = user, .counts = counts};
    *counts = (trl_bam_counts){0};
    int code = trl__grower_create(j.header->dim, options, pool, &j.grower, err);
    if (code == 0)
        code = trl__reservoir_create((size_t)options->most_frames, (size_t)j.header->dim, &j.sample, err);
    if (code == 0)
        code = join_all(&j, parts, count, err);
    trl__grower_destroy(j.grower);
    trl__reservoir_destroy(j.sample);
    trl__scratch_free(&j.body);
    return code;
}
