#include "bam/bam_stream.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "model/model_data.h"

#include <inttypes.h>
#include <string.h>
#define XXH_INLINE_ALL /* records are short */
#include <xxhash.h>

#define MAGIC "trl-bam" /* and a byte: the version */
#define HEAD 40         /* bytes before the names of the phones */
#define RECORD_HEAD 12  /* bytes before a body: its size and checksum */
#define NAMES_MOST ((uint32_t)1 << 24)

/* ---- hashes ---- */

static uint64_t hash_array(uint64_t before, const void *array, size_t size)
{
    return array && size > 0 ? XXH3_64bits_withSeed(array, size, before) : before;
}

uint64_t trl__bam_model_hash(const trl_model *model)
{
    size_t gaussians = (size_t)trl_model_gaussians(model), numbers = gaussians * (size_t)model->dim;
    uint64_t h = hash_array(0, &model->dim, sizeof model->dim);
    for (int32_t u = 0; u < trl_model_units(model); u++)
        h = hash_array(h, model->units.texts[u], strlen(model->units.texts[u]) + 1);
    h = hash_array(h, model->log_probability, ((size_t)model->transitions + 1) * sizeof(float));
    h = hash_array(h, model->first_gaussian, ((size_t)model->tied_states + 1) * sizeof(int32_t));
    h = hash_array(h, model->log_weight, gaussians * sizeof(float));
    h = hash_array(h, model->mean, numbers * sizeof(float));
    h = hash_array(h, model->variance, numbers * sizeof(float));
    return hash_array(h, model->frontend, model->frontend ? strlen(model->frontend) : 0);
}

int trl__bam_model_fits(uint64_t hash, const trl_model *model, const char *where, trl_error *err)
{
    uint64_t own = trl__bam_model_hash(model);
    if (own == hash)
        return 0;
    return trl__fail(err, TRL_EINVAL,
                     "%s was made with another first-pass model (%016" PRIx64 ", this one is %016" PRIx64
                     "); use that one, or train the store anew",
                     where, hash, own);
}

uint64_t trl__bam_utterance_hash(uint64_t seed, const char *id)
{
    return XXH3_64bits_withSeed(id, strlen(id), seed);
}

uint64_t trl__bam_frame_hash(uint64_t utterance, uint32_t frame)
{
    unsigned char bytes[4];
    trl__put_le32(bytes, frame);
    return XXH3_64bits_withSeed(bytes, sizeof bytes, utterance);
}

/* ---- bodies ---- */

static int is_bad(trl_error *err, size_t size, const char *what)
{
    return trl__fail(err, TRL_ECORRUPT, "a record of %zu bytes can't be %s", size, what);
}

static int parse_mixture(const trl__bam_header *h, size_t size, trl__bam_record *r, trl_error *err)
{
    if (size < TRL__BAM_MIXTURE_HEAD)
        return is_bad(err, r->size, "a mixture");
    r->frames = trl__le32(r->value);
    r->sampled = trl__le32(r->value + 4);
    r->used = trl__le64(r->value + 8);
    r->data = r->value + TRL__BAM_MIXTURE_HEAD;
    uint64_t floats = (uint64_t)r->frames * (1 + 2 * (uint64_t)h->dim);
    if (r->frames == 0 || r->sampled > 1 || size - TRL__BAM_MIXTURE_HEAD != 4 * floats)
        return is_bad(err, r->size, "a mixture");
    return 0;
}

static int parse_value(const trl__bam_header *h, size_t size, trl__bam_record *r, trl_error *err)
{
    size_t frame = 4 * (size_t)h->dim;
    switch (r->kind) {
    case TRL__BAM_NOTHING: return size == 0 ? 0 : is_bad(err, r->size, "a back-off");
    case TRL__BAM_RUN:
        if (size <= TRL__BAM_RUN_HEAD || (size - TRL__BAM_RUN_HEAD) % frame)
            return is_bad(err, r->size, "frames");
        r->utterance = trl__le64(r->value);
        r->first = trl__le32(r->value + 8);
        r->data = r->value + TRL__BAM_RUN_HEAD;
        r->frames = (size - TRL__BAM_RUN_HEAD) / frame;
        return 0;
    case TRL__BAM_SAMPLE:
        if (size <= 4 || (size - 4) % (8 + frame) || trl__le32(r->value) > 1)
            return is_bad(err, r->size, "a sample of frames");
        r->sampled = trl__le32(r->value);
        r->data = r->value + 4;
        r->frames = (size - 4) / (8 + frame);
        return 0;
    case TRL__BAM_MIXTURE: return parse_mixture(h, size, r, err);
    case TRL__BAM_COUNTS:
        return size == TRL__BAM_COUNTS_HEAD + 32 * (size_t)(h->order + 1) * (size_t)(h->order + 1)
                   ? 0
                   : is_bad(err, r->size, "counts");
    }
    return trl__fail(err, TRL_ECORRUPT, "a record is of no known kind (%d)", (int)r->kind);
}

int trl__bam_parse(const trl__bam_header *h, const unsigned char *body, size_t size, trl__bam_record *record,
                   trl_error *err)
{
    size_t key = trl_bam_key_size(h->order);
    trl_bam_mphone mphone;
    if (size < key + 4)
        return is_bad(err, size, "one: its key and kind take more");
    *record = (trl__bam_record){.body = body, .size = size, .value = body + key + 4};
    record->kind = (trl__bam_kind)trl__le32(body + key);
    int code = record->kind == TRL__BAM_COUNTS ? 0 : trl_bam_key_read(h->phones, h->order, body, &mphone, err);
    return code < 0 ? code : parse_value(h, size - key - 4, record, err);
}

/* ---- reading ---- */

static uint64_t hash_header(const unsigned char head[HEAD], const void *names, size_t size)
{
    return XXH3_64bits_withSeed(names, size, XXH3_64bits(head, HEAD));
}

/* The head, copied, and the names, valid until the next call; neither was changed on the way. */
static int take_header(trl__bam_reader *r, unsigned char head[HEAD], const unsigned char **names, trl_error *err)
{
    const unsigned char *b;
    uint64_t here = r->source.offset;
    int code = trl__source_take(&r->source, HEAD, &b, err);
    if (code < 0)
        return code;
    memcpy(head, b, HEAD);
    if (head[7] != TRL__BAM_STREAM_VERSION)
        return trl__fail_byte(err, TRL_EUNSUPPORTED, r->source.name, here,
                              "a stream of M-phones of version %d, this program knows %d; make it anew with this one",
                              head[7], TRL__BAM_STREAM_VERSION);
    uint32_t size = trl__le32(head + 36);
    if (size > NAMES_MOST)
        return trl__source_fail(&r->source, err, TRL_ECORRUPT, "names of phones take too much");
    code = trl__source_take(&r->source, (uint64_t)size + 8, names, err);
    if (code == 0 && trl__le64(*names + size) != hash_header(head, *names, size))
        code = trl__fail_byte(err, TRL_ECORRUPT, r->source.name, here,
                              "the stream's header is damaged (its checksum is wrong)");
    return code;
}

static int read_names(trl__bam_reader *r, const unsigned char *bytes, uint32_t size, int boundaries, trl_error *err)
{
    char *text = trl__alloc((size_t)size + 1, 1);
    if (!text)
        return trl__fail_memory(err);
    memcpy(text, bytes, size);
    text[size] = '\0';
    int code = trl_bam_phones_of_text(text, boundaries, &r->header.phones, err);
    trl__free(text);
    return trl__fail_in(err, code, r->source.name);
}

static int read_header(trl__bam_reader *r, trl_error *err)
{
    unsigned char b[HEAD];
    const unsigned char *names;
    r->source.line = 0; /* bytes, not lines, in messages */
    int code = trl__source_starts(&r->source, MAGIC, strlen(MAGIC), err);
    if (code == 0)
        return trl__source_fail(&r->source, err, TRL_EFORMAT, "this is no stream of M-phones");
    code = code < 0 ? code : take_header(r, b, &names, err);
    if (code < 0)
        return code;
    uint32_t order = trl__le32(b + 8), dim = trl__le32(b + 12), boundaries = trl__le32(b + 16);
    r->header.seed = trl__le64(b + 20);
    r->header.model = trl__le64(b + 28);
    if (order < 1 || order > TRL_BAM_ORDER_MOST || dim < 1 || dim > TRL__DIM_MOST || boundaries > 1)
        return trl__source_fail(&r->source, err, TRL_ECORRUPT,
                                "M-phones of order %" PRIu32 " and frames of %" PRIu32 " dimensions can't be", order,
                                dim);
    r->header.order = (int)order;
    r->header.dim = (int)dim;
    return read_names(r, names, trl__le32(b + 36), (int)boundaries, err);
}

static int begin_reading(trl__bam_reader *r, int code, trl_error *err)
{
    if (code < 0)
        return code;
    code = read_header(r, err);
    if (code < 0)
        trl__bam_reader_close(r);
    return code;
}

int trl__bam_reader_open(const char *path, trl__bam_reader *out, trl_error *err)
{
    *out = (trl__bam_reader){.source.fd = -1};
    return begin_reading(out, trl__source_open(path, &out->source, err), err);
}

int trl__bam_reader_memory(const char *name, const void *bytes, size_t size, trl__bam_reader *out, trl_error *err)
{
    *out = (trl__bam_reader){.source.fd = -1};
    return begin_reading(out, trl__source_from_memory(name, bytes, size, &out->source, err), err);
}

int trl__bam_same_header(const trl__bam_header *a, const trl__bam_header *b)
{
    int32_t phones = trl_bam_phones_count(a->phones);
    if (a->order != b->order || a->dim != b->dim || a->seed != b->seed || a->model != b->model ||
        a->phones->boundary != b->phones->boundary || phones != trl_bam_phones_count(b->phones))
        return 0;
    for (int32_t i = 0; i < phones; i++)
        if (strcmp(trl_bam_phones_name(a->phones, i), trl_bam_phones_name(b->phones, i)) != 0)
            return 0;
    return 1;
}

/* Another stream behind this one: 1, or an error. */
static int begin_next(trl__bam_reader *r, trl_error *err)
{
    trl__bam_header first = r->header;
    uint64_t here = r->source.offset;
    int code = trl__source_starts(&r->source, MAGIC, strlen(MAGIC), err);
    if (code == 0)
        return trl__source_fail(&r->source, err, TRL_EFORMAT, "behind the stream's end there is something else");
    r->header.phones = NULL;
    if (code > 0)
        code = read_header(r, err);
    if (code == 0 && !trl__bam_same_header(&first, &r->header))
        code = trl__fail_byte(err, TRL_EINVAL, r->source.name, here,
                              "the stream that begins here does not belong to the one before it: order, dimensions, "
                              "phones, seed or model differ");
    trl_bam_phones_destroy(r->header.phones);
    r->header = first;
    r->before = r->records;
    return code < 0 ? code : 1;
}

/* 1: another stream follows. */
static int read_end(trl__bam_reader *r, trl_error *err)
{
    const unsigned char *b;
    uint64_t records = r->records - r->before;
    int code = trl__source_take(&r->source, 8, &b, err);
    if (code == 0 && trl__le64(b) != records)
        return trl__source_fail(&r->source, err, TRL_ECORRUPT,
                                "%" PRIu64 " records, but %" PRIu64 " were written: some are lost", records,
                                trl__le64(b));
    code = code < 0 ? code : trl__source_peek(&r->source, err);
    if (code == TRL__SOURCE_END)
        return 0;
    return code < 0 ? code : begin_next(r, err);
}

/* The next record's size: 1, 0 at the end of all streams, or an error. */
static int read_size(trl__bam_reader *r, uint32_t *size, trl_error *err)
{
    const unsigned char *b;
    for (;;) {
        int code = trl__source_peek(&r->source, err);
        if (code == TRL__SOURCE_END)
            return trl__source_fail(&r->source, err, TRL_ECORRUPT,
                                    "the stream ends after %" PRIu64
                                    " records, without the mark of its end: whoever wrote it was stopped",
                                    r->records);
        code = code < 0 ? code : trl__source_take(&r->source, 4, &b, err);
        if (code < 0)
            return code;
        *size = trl__le32(b);
        if (*size > 0)
            return 1;
        code = read_end(r, err);
        if (code <= 0)
            return code;
    }
}

int trl__bam_read(trl__bam_reader *r, trl__bam_record *record, trl_error *err)
{
    const unsigned char *b;
    trl_error why;
    uint32_t size;
    int code = read_size(r, &size, err);
    if (code <= 0)
        return code;
    if (size > TRL__BAM_BODY_MOST)
        return trl__source_fail(&r->source, err, TRL_ECORRUPT, "a record of %" PRIu32 " bytes can't be", size);
    code = trl__source_take(&r->source, 8 + (uint64_t)size, &b, err);
    if (code < 0)
        return code;
    const unsigned char *body = b + 8;
    if (XXH3_64bits(body, size) != trl__le64(b))
        return trl__fail_byte(err, TRL_ECORRUPT, r->source.name, r->source.offset - size,
                              "record %" PRIu64 " is damaged (its checksum is wrong)", r->records + 1);
    code = trl__bam_parse(&r->header, body, size, record, &why);
    if (code < 0)
        return trl__source_fail(&r->source, err, code, "record %" PRIu64 ": %s", r->records + 1, why.text);
    r->records++;
    return 1;
}

void trl__bam_reader_close(trl__bam_reader *reader)
{
    trl__source_close(&reader->source);
    trl_bam_phones_destroy(reader->header.phones);
    *reader = (trl__bam_reader){.source.fd = -1};
}

/* ---- writing ---- */

int trl__bam_writer_open(const char *path, const trl__bam_header *h, trl__bam_writer *out, trl_error *err)
{
    unsigned char head[HEAD] = MAGIC, hash[8];
    head[7] = TRL__BAM_STREAM_VERSION;
    *out = (trl__bam_writer){0};
    char *names = trl__bam_phones_text(h->phones);
    if (!names)
        return trl__fail_memory(err);
    trl__put_le32(head + 8, (uint32_t)h->order);
    trl__put_le32(head + 12, (uint32_t)h->dim);
    trl__put_le32(head + 16, h->phones->boundary >= 0);
    trl__put_le64(head + 20, h->seed);
    trl__put_le64(head + 28, h->model);
    trl__put_le32(head + 36, (uint32_t)strlen(names));
    trl__put_le64(hash, hash_header(head, names, strlen(names)));
    int code = trl_file_create(path, &out->file, err);
    if (code == 0)
        code = trl_file_write(out->file, head, HEAD, err);
    if (code == 0)
        code = trl_file_write(out->file, names, strlen(names), err);
    if (code == 0)
        code = trl_file_write(out->file, hash, sizeof hash, err);
    trl__free(names);
    if (code < 0)
        trl__bam_writer_abort(out);
    return code;
}

int trl__bam_write(trl__bam_writer *writer, const unsigned char *body, size_t size, trl_error *err)
{
    unsigned char head[RECORD_HEAD];
    trl__put_le32(head, (uint32_t)size);
    trl__put_le64(head + 4, XXH3_64bits(body, size));
    int code = trl_file_write(writer->file, head, sizeof head, err);
    if (code == 0)
        code = trl_file_write(writer->file, body, size, err);
    writer->records += code == 0;
    return code;
}

int trl__bam_writer_commit(trl__bam_writer *writer, trl_error *err)
{
    unsigned char end[12] = {0};
    trl__put_le64(end + 4, writer->records);
    int code = trl_file_write(writer->file, end, sizeof end, err);
    if (code == 0)
        code = trl_file_commit(writer->file, err);
    else
        trl_file_abort(writer->file);
    writer->file = NULL;
    return code;
}

void trl__bam_writer_abort(trl__bam_writer *writer)
{
    trl_file_abort(writer->file);
    writer->file = NULL;
}
