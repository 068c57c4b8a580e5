#include "bam/reducer.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

#define PIECE 1000 /* frames of a record of a sample */

typedef struct level {
    unsigned char key[TRL_BAM_KEY_MOST];
    trl__reservoir *frames;
    int came; /* its own record did: it is complete when another key comes */
} level;

struct trl__reducer {
    const trl__bam_header *header;
    const trl_bam_options *options;
    size_t key_size;
    unsigned char first[TRL_BAM_KEY_MOST];
    int is_part;
    unsigned char last[TRL_BAM_KEY_MOST]; /* key of the record before */
    int has_last;
    level stack[TRL_BAM_ORDER_MOST + 1]; /* the shortest context first */
    int depth;
    trl__grower *grower;
    trl_bam_counts counts;
    trl__bam_emit emit;
    void *user;
    trl__scratch body;
};

int trl__reducer_create(const trl__bam_header *header, const trl_bam_options *options, trl_pool *pool,
                        const unsigned char *first, trl__bam_emit emit, void *user, trl__reducer **out, trl_error *err)
{
    trl__reducer *r = trl__alloc_zero(1, sizeof *r);
    *out = r;
    if (!r)
        return trl__fail_memory(err);
    r->header = header;
    r->options = options;
    r->key_size = trl_bam_key_size(header->order);
    r->is_part = first != NULL;
    if (first)
        memcpy(r->first, first, r->key_size);
    r->emit = emit;
    r->user = user;
    int code = trl__grower_create(header->dim, options, pool, &r->grower, err);
    for (int i = 0; code == 0 && i < header->order; i++)
        code = trl__reservoir_create((size_t)options->most_frames, (size_t)header->dim, &r->stack[i].frames, err);
    if (code < 0) {
        trl__reducer_destroy(r);
        *out = NULL;
    }
    return code;
}

void trl__reducer_destroy(trl__reducer *r)
{
    if (!r)
        return;
    for (int i = 0; i <= TRL_BAM_ORDER_MOST; i++)
        trl__reservoir_destroy(r->stack[i].frames);
    trl__grower_destroy(r->grower);
    trl__scratch_free(&r->body);
    trl__free(r);
}

const trl_bam_counts *trl__reducer_counts(const trl__reducer *reducer)
{
    return &reducer->counts;
}

/* ---- records ---- */

static unsigned char *begin_body(const trl__bam_header *header, const unsigned char *key, trl__bam_kind kind,
                                 size_t value, trl__scratch *scratch)
{
    size_t size = trl_bam_key_size(header->order);
    unsigned char *body = trl__scratch_get(scratch, size + 4 + value, 1);
    if (!body)
        return NULL;
    memcpy(body, key, size);
    trl__put_le32(body + size, (uint32_t)kind);
    return body;
}

unsigned char *trl__bam_mixture_body(const trl__bam_header *header, const unsigned char *key, const trl_model *mixture,
                                     const trl__reservoir *frames, trl__scratch *scratch, size_t *size)
{
    size_t components = (size_t)trl_model_components(mixture, 0), numbers = components * (size_t)header->dim;
    size_t value = TRL__BAM_MIXTURE_HEAD + 4 * (components + 2 * numbers), head = trl_bam_key_size(header->order) + 4;
    unsigned char *body = begin_body(header, key, TRL__BAM_MIXTURE, value, scratch), *at = body ? body + head : NULL;
    if (!body)
        return NULL;
    trl__put_le32(at, (uint32_t)components);
    trl__put_le32(at + 4, frames->overflow != 0);
    trl__put_le64(at + 8, frames->count);
    at += TRL__BAM_MIXTURE_HEAD;
    memcpy(at, mixture->log_weight, 4 * components);
    memcpy(at + 4 * components, mixture->mean, 4 * numbers);
    memcpy(at + 4 * (components + numbers), mixture->variance, 4 * numbers);
    *size = head + value;
    return body;
}

static int emit_sample(trl__reducer *r, const level *top, trl_error *err)
{
    size_t frame = 8 + 4 * (size_t)r->header->dim;
    int code = 0;
    for (size_t first = 0; code == 0 && first < top->frames->count; first += PIECE) {
        size_t count = top->frames->count - first < PIECE ? top->frames->count - first : PIECE;
        unsigned char *body = begin_body(r->header, top->key, TRL__BAM_SAMPLE, 4 + count * frame, &r->body);
        if (!body)
            return trl__fail_memory(err);
        trl__put_le32(body + r->key_size + 4, top->frames->overflow != 0);
        for (size_t i = 0; i < count; i++) {
            unsigned char *at = body + r->key_size + 8 + i * frame;
            trl__put_le64(at, top->frames->hash[first + i]);
            memcpy(at + 8, trl__reservoir_frame(top->frames, first + i), frame - 8);
        }
        code = r->emit(r->user, body, r->key_size + 8 + count * frame, err);
    }
    return code;
}

static void put_options(const trl_bam_options *o, unsigned char at[TRL__BAM_COUNTS_HEAD])
{
    trl__put_le64(at, (uint64_t)o->least_frames);
    trl__put_le64(at + 8, (uint64_t)o->most_frames);
    trl__put_le64(at + 16, trl__bits_of_double(o->alpha));
    trl__put_le64(at + 24, trl__bits_of_double(o->beta));
    trl__put_le64(at + 32, trl__bits_of_double(o->variance_floor));
    trl__put_le64(at + 40, (uint64_t)o->iterations);
}

static int emit_counts(trl__reducer *r, trl_error *err)
{
    unsigned char key[TRL_BAM_KEY_MOST];
    size_t side = (size_t)r->header->order + 1;
    memset(key, 0xff, sizeof key);
    unsigned char *body =
        begin_body(r->header, key, TRL__BAM_COUNTS, TRL__BAM_COUNTS_HEAD + 32 * side * side, &r->body);
    if (!body)
        return trl__fail_memory(err);
    unsigned char *at = body + r->key_size + 4 + TRL__BAM_COUNTS_HEAD;
    put_options(r->options, at - TRL__BAM_COUNTS_HEAD);
    for (size_t i = 0; i < side * side; i++, at += 32) {
        const trl_bam_cell *cell = &r->counts.cell[i / side][i % side];
        trl__put_le64(at, cell->mphones);
        trl__put_le64(at + 8, cell->kept);
        trl__put_le64(at + 16, cell->sampled);
        trl__put_le64(at + 24, cell->gaussians);
    }
    return r->emit(r->user, body, (size_t)(at - body), err);
}

int trl__bam_counts_fit(const trl__bam_record *record, const trl_bam_options *options, trl_error *err)
{
    unsigned char own[TRL__BAM_COUNTS_HEAD];
    const unsigned char *v = record->value;
    put_options(options, own);
    if (memcmp(own, v, sizeof own) == 0)
        return 0;
    return trl__fail(err, TRL_EINVAL,
                     "it was reduced with min-frames %" PRIu64 ", max-frames %" PRIu64
                     ", alpha %g, beta %g, variance-floor %g, iterations %" PRIu64 "; give the same here",
                     trl__le64(v), trl__le64(v + 8), trl__double_of_bits(trl__le64(v + 16)),
                     trl__double_of_bits(trl__le64(v + 24)), trl__double_of_bits(trl__le64(v + 32)), trl__le64(v + 40));
}

void trl__bam_counts_add(const trl__bam_header *header, const trl__bam_record *record, trl_bam_counts *counts)
{
    size_t side = (size_t)header->order + 1;
    for (size_t i = 0; i < side * side; i++) {
        const unsigned char *at = record->value + TRL__BAM_COUNTS_HEAD + 32 * i;
        trl_bam_cell *cell = &counts->cell[i / side][i % side];
        cell->mphones += trl__le64(at);
        cell->kept += trl__le64(at + 8);
        cell->sampled += trl__le64(at + 16);
        cell->gaussians += trl__le64(at + 24);
    }
}

void trl__bam_sample(const trl__bam_record *record, trl__reservoir *reservoir)
{
    size_t frame = 4 * reservoir->dim;
    for (size_t i = 0; i < record->frames; i++)
        if (record->kind == TRL__BAM_RUN)
            trl__reservoir_add(reservoir, trl__bam_frame_hash(record->utterance, record->first + (uint32_t)i),
                               record->data + i * frame);
        else
            trl__reservoir_add(reservoir, trl__le64(record->data + i * (8 + frame)),
                               record->data + i * (8 + frame) + 8);
    reservoir->overflow |= record->sampled != 0;
}

/* ---- the stack ---- */

static trl_bam_cell *cell_of(trl__reducer *r, const unsigned char *key)
{
    int left, right;
    trl_bam_key_context(r->header->order, key, &left, &right);
    return &r->counts.cell[left][right];
}

static int estimate(trl__reducer *r, const level *top, trl_error *err)
{
    const trl_model *mixture;
    trl_bam_cell *cell = cell_of(r, top->key);
    size_t size;
    int code = trl__grow_mixture(r->grower, top->frames, &mixture, err);
    if (code < 0)
        return code;
    unsigned char *body = trl__bam_mixture_body(r->header, top->key, mixture, top->frames, &r->body, &size);
    if (!body)
        return trl__fail_memory(err);
    cell->kept++;
    cell->sampled += top->frames->overflow != 0;
    cell->gaussians += (uint64_t)trl_model_components(mixture, 0);
    return r->emit(r->user, body, size, err);
}

/* May what backs off to the key have begun before this part? Those all begin with its symbols up to the last one. */
static int has_begun_before(const trl__reducer *r, const unsigned char *key)
{
    size_t shared = r->key_size;
    while (shared > 4 && trl__be16(key + shared - 2) == TRL_BAM_MISSING)
        shared -= 2;
    return r->is_part && memcmp(key, r->first, shared) <= 0;
}

/* The top is complete, as far as this part goes: written, and its frames join those below. */
static int close_top(trl__reducer *r, int open_ended, trl_error *err)
{
    level *top = &r->stack[--r->depth];
    int code = 0;
    trl__reservoir_settle(top->frames);
    if (open_ended || has_begun_before(r, top->key))
        code = emit_sample(r, top, err);
    else if (top->frames->count >= (size_t)r->options->least_frames)
        code = estimate(r, top, err);
    if (code == 0 && r->depth > 0)
        trl__reservoir_merge(r->stack[r->depth - 1].frames, top->frames);
    return code;
}

static int fail_key(const trl__reducer *r, trl_error *err, const unsigned char *key, const char *what)
{
    char text[400];
    trl_bam_key_format(r->header->phones, r->header->order, key, text, sizeof text);
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", text, what);
}

/* Is the lower key what the other backs off to, sooner or later? */
static int backs_off_to(const trl__reducer *r, const unsigned char *key, const unsigned char *lower)
{
    unsigned char now[TRL_BAM_KEY_MOST];
    memcpy(now, key, r->key_size);
    while (trl_bam_key_back_off(r->header->order, now))
        if (memcmp(now, lower, r->key_size) == 0)
            return 1;
    return 0;
}

/* A key that is not on the stack, and all that it backs off to and is not there yet below it. */
static int push(trl__reducer *r, const unsigned char *key, trl_error *err)
{
    unsigned char chain[TRL_BAM_ORDER_MOST + 1][TRL_BAM_KEY_MOST];
    int count = 1;
    if (r->depth > 0 && !backs_off_to(r, key, r->stack[r->depth - 1].key))
        return fail_key(r, err, r->stack[r->depth - 1].key,
                        "others back off to it, but it did not come itself; records are lost, or were not sorted");
    memcpy(chain[0], key, r->key_size);
    for (;; count++) {
        memcpy(chain[count], chain[count - 1], r->key_size);
        if (!trl_bam_key_back_off(r->header->order, chain[count]) ||
            (r->depth > 0 && memcmp(chain[count], r->stack[r->depth - 1].key, r->key_size) == 0))
            break;
    }
    while (count-- > 0) {
        level *next = &r->stack[r->depth++];
        memcpy(next->key, chain[count], r->key_size);
        trl__reservoir_empty(next->frames);
        next->came = 0;
    }
    return 0;
}

/* Another key than before. */
static int begin_key(trl__reducer *r, const trl__bam_record *record, trl_error *err)
{
    int code = 0;
    if (r->has_last && memcmp(record->body, r->last, r->key_size) < 0)
        return fail_key(r, err, record->body, "comes after keys that it belongs before: the records are not sorted");
    if (r->depth > 0 && r->stack[r->depth - 1].came)
        code = close_top(r, 0, err);
    if (code < 0)
        return code;
    memcpy(r->last, record->body, r->key_size);
    r->has_last = 1;
    cell_of(r, record->body)->mphones++;
    if (r->depth == 0 || memcmp(r->stack[r->depth - 1].key, record->body, r->key_size) != 0) {
        if (record->kind == TRL__BAM_NOTHING)
            return has_begun_before(r, record->body)
                       ? 0
                       : fail_key(r, err, record->body,
                                  "nothing that backs off to it came before it; records are lost, or were not sorted");
        code = push(r, record->body, err);
        if (code < 0)
            return code;
    }
    r->stack[r->depth - 1].came = 1;
    return 0;
}

int trl__reducer_add(trl__reducer *r, const trl__bam_record *record, trl_error *err)
{
    if (record->kind > TRL__BAM_SAMPLE)
        return trl__fail(err, TRL_EFORMAT, "these are mixtures, not frames: they have been reduced already");
    int is_new = !r->has_last || memcmp(record->body, r->last, r->key_size) != 0;
    int code = is_new ? begin_key(r, record, err) : 0;
    r->counts.records++;
    r->counts.bytes += record->size;
    if (code < 0 || record->kind == TRL__BAM_NOTHING)
        return code;
    if (r->depth == 0 || !r->stack[r->depth - 1].came) /* a part's first back-off, whose frames come behind it */
        code = push(r, record->body, err);
    if (code < 0)
        return code;
    r->stack[r->depth - 1].came = 1;
    r->counts.frames += record->frames;
    trl__bam_sample(record, r->stack[r->depth - 1].frames);
    return 0;
}

int trl__reducer_finish(trl__reducer *r, const unsigned char *end, trl_error *err)
{
    int code = 0, goes_on = end && r->has_last && memcmp(r->last, end, r->key_size) == 0;
    if (goes_on) /* it counts where its last record is */
        cell_of(r, r->last)->mphones--;
    if (r->depth > 0 && r->stack[r->depth - 1].came)
        code = close_top(r, goes_on, err);
    if (code == 0 && r->depth > 0 && !end)
        code = fail_key(r, err, r->stack[r->depth - 1].key,
                        "others back off to it, but the records end before it; some are lost");
    while (code == 0 && r->depth > 0)
        code = close_top(r, 1, err);
    return code < 0 ? code : emit_counts(r, err);
}
