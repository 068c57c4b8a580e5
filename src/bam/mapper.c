#include "bam/mapper.h"
#include "align/align_visit.h"
#include "bam/mphone_layout.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

/* Records of an utterance, each with its size in front. */
typedef struct slot {
    unsigned char *bytes;
    size_t size, capacity;
    trl__layout layout;
} slot;

typedef struct map_job {
    const trl__bam_header *header;
    const trl__map_target *target;
    uint16_t *unit_symbol;
    slot *slots;
    size_t slot_count;
} map_job;

int trl__map_header(const trl_model *model, const trl_bam_options *options, trl__bam_header *header, trl_error *err)
{
    int code = trl_bam_options_check(options, err);
    *header = (trl__bam_header){.order = options->order,
                                .dim = trl_model_dim(model),
                                .seed = options->seed,
                                .model = trl__bam_model_hash(model)};
    return code < 0 ? code : trl_bam_phones_of_model(model, options->word_boundaries, &header->phones, err);
}

/* Room for a record; NULL: out of memory. */
static unsigned char *add_record(const map_job *j, slot *s, const unsigned char *key, trl__bam_kind kind, size_t value)
{
    size_t key_size = trl_bam_key_size(j->header->order), size = key_size + 4 + value;
    if (TRL_GROW(s->bytes, s->capacity, s->size + 4 + size) < 0)
        return NULL;
    unsigned char *at = s->bytes + s->size;
    s->size += 4 + size;
    trl__put_le32(at, (uint32_t)size);
    memcpy(at + 4, key, key_size);
    trl__put_le32(at + 4 + key_size, (uint32_t)kind);
    return at + 4 + key_size + 4;
}

static int add_segment(const map_job *j, slot *s, const trl__pass_frames *f, uint64_t utterance,
                       const trl_segment *state)
{
    unsigned char key[TRL_BAM_KEY_MOST];
    size_t dim = (size_t)j->header->dim, frames = (size_t)(state->end - state->first);
    trl__layout_key(&s->layout, j->header->order, (size_t)state->index, state->id, key);
    unsigned char *value = add_record(j, s, key, TRL__BAM_RUN, TRL__BAM_RUN_HEAD + 4 * dim * frames);
    if (!value)
        return -1;
    trl__put_le64(value, utterance);
    trl__put_le32(value + 8, (uint32_t)state->first);
    for (size_t i = 0; i < frames; i++)
        for (size_t k = 0; k < dim; k++)
            trl__put_le32(value + TRL__BAM_RUN_HEAD + 4 * (i * dim + k),
                          trl__bits_of_float(trl_matrix_row(f->matrix, (size_t)state->first + i)[k]));
    while (trl_bam_key_back_off(j->header->order, key))
        if (!add_record(j, s, key, TRL__BAM_NOTHING, 0))
            return -1;
    return 0;
}

static int map_utterance(void *user, const trl__pass_frames *f, const trl__segmentation *g, trl_error *err)
{
    const map_job *j = user;
    slot *s = &j->slots[f->slot];
    uint64_t utterance = trl__bam_utterance_hash(j->header->seed, f->utterance->id);
    s->size = 0;
    int code = trl__layout_make(&s->layout, j->header->phones, j->unit_symbol, g, err);
    for (size_t i = 0; code == 0 && i < g->states.count; i++)
        if (add_segment(j, s, f, utterance, &g->states.items[i]) < 0)
            code = trl__fail_memory(err);
    return code;
}

static int deliver(void *user, const trl_alignment *alignment, size_t number, trl_error *err)
{
    const map_job *j = user;
    const slot *s = &j->slots[number];
    int code = 0;
    for (size_t at = 0; code == 0 && at < s->size;) {
        uint32_t size = trl__le32(s->bytes + at);
        code = j->target->emit(j->target->user, s->bytes + at + 4, size, err);
        at += 4 + (size_t)size;
    }
    if (code == 0 && j->target->next_utterance)
        code = j->target->next_utterance(j->target->user, alignment, err);
    return code;
}

static int begin(void *user, size_t slots, trl_error *err)
{
    map_job *j = user;
    j->slots = trl__alloc_zero(slots, sizeof *j->slots);
    j->slot_count = j->slots ? slots : 0;
    return j->slots ? 0 : trl__fail_memory(err);
}

static int passes_over(void *user, const trl_utterance *utterance)
{
    const map_job *j = user;
    return j->target->passes_over && j->target->passes_over(j->target->user, utterance);
}

int trl__map_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                    const trl__bam_header *header, const trl_align_options *aligning, trl_pool *pool,
                    trl_findings *skipped, const trl__map_target *target, trl_align_summary *summary, trl_error *err)
{
    map_job j = {.header = header, .target = target};
    const trl__align_visit visit = {
        .work = map_utterance, .use = deliver, .begin = begin, .passes_over = passes_over, .user = &j};
    trl_align_options o = aligning ? *aligning : trl_align_defaults();
    o.confidence = 0;
    if (o.likelihoods)
        return trl__fail(err, TRL_EINVAL, "M-phones are made of frames; likelihoods from a file won't do");
    int code = trl__bam_unit_symbols(header->phones, model, &j.unit_symbol, err);
    if (code == 0)
        code = trl__align_visit_corpus(model, lexicon, corpus, &o, pool, skipped, &visit, summary, err);
    for (size_t i = 0; i < j.slot_count; i++) {
        trl__free(j.slots[i].bytes);
        trl__layout_free(&j.slots[i].layout);
    }
    trl__free(j.slots);
    trl__free(j.unit_symbol);
    return code;
}

/* ---- the filter ---- */

static int write_record(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    return trl__bam_write(user, body, size, err);
}

int trl_bam_map(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                const trl_bam_options *options, const trl_align_options *aligning, trl_pool *pool,
                trl_findings *skipped, const char *output, trl_bam_counts *counts, trl_error *err)
{
    trl__bam_header header;
    trl__bam_writer writer = {0};
    trl_align_summary summary = {0};
    const trl__map_target target = {.emit = write_record, .user = &writer};
    int code = trl__map_header(model, options, &header, err);
    if (code < 0)
        return code;
    code = trl__bam_writer_open(output, &header, &writer, err);
    if (code == 0)
        code = trl__map_corpus(model, lexicon, corpus, &header, aligning, pool, skipped, &target, &summary, err);
    uint64_t bytes = writer.file ? trl_file_position(writer.file) : 0;
    if (code == 0)
        code = trl__bam_writer_commit(&writer, err);
    else
        trl__bam_writer_abort(&writer);
    if (counts)
        *counts = (trl_bam_counts){
            .utterances = summary.utterances, .frames = summary.frames, .records = writer.records, .bytes = bytes};
    trl_bam_phones_destroy(header.phones);
    return code;
}
