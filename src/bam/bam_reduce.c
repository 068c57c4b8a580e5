/* The reducer as a filter, and streams as text. */
#include "bam/reducer.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <string.h>

static int write_record(void *user, const unsigned char *body, size_t size, trl_error *err)
{
    return trl__bam_write(user, body, size, err);
}

/* `end`: as in reducer.h. */
static int reduce_all(trl__bam_reader *reader, trl__reducer *reducer, const unsigned char *end, trl_error *err)
{
    trl__bam_record record;
    trl_error why;
    int code;
    while ((code = trl__bam_read(reader, &record, err)) > 0)
        if ((code = trl__reducer_add(reducer, &record, &why)) < 0)
            return trl__source_fail(&reader->source, err, code, "record %" PRIu64 ": %s", reader->records, why.text);
    if (code == 0 && (code = trl__reducer_finish(reducer, end, &why)) < 0)
        return trl__source_fail(&reader->source, err, code, "%s", why.text);
    return code;
}

static int check_range(const trl_bam_range *range, const trl__bam_reader *reader, trl_error *err)
{
    size_t size = trl_bam_key_size(reader->header.order);
    if ((range->first || range->end) && range->key_size != size)
        return trl__source_fail(&reader->source, err, TRL_EINVAL,
                                "keys of its order have %zu bytes, those of the range %zu", size, range->key_size);
    if (range->first && range->end && memcmp(range->first, range->end, size) > 0)
        return trl__source_fail(&reader->source, err, TRL_EINVAL, "the range ends before it begins");
    return 0;
}

int trl_bam_reduce(const char *input, const trl_bam_range *range, const trl_bam_options *options, trl_pool *pool,
                   const char *output, trl_bam_counts *counts, trl_error *err)
{
    trl__bam_reader reader;
    trl__bam_writer writer;
    trl__reducer *reducer = NULL;
    const trl_bam_range whole = {0};
    range = range ? range : &whole;
    int code = trl_bam_options_check(options, err);
    if (code < 0 || (code = trl__bam_reader_open(input, &reader, err)) < 0)
        return code;
    code = check_range(range, &reader, err);
    if (code == 0)
        code = trl__bam_writer_open(output, &reader.header, &writer, err);
    if (code < 0) {
        trl__bam_reader_close(&reader);
        return code;
    }
    code = trl__reducer_create(&reader.header, options, pool, range->first, write_record, &writer, &reducer, err);
    if (code == 0)
        code = reduce_all(&reader, reducer, range->end, err);
    if (code == 0)
        code = trl__bam_writer_commit(&writer, err);
    else
        trl__bam_writer_abort(&writer);
    if (code == 0 && counts)
        *counts = *trl__reducer_counts(reducer);
    trl__reducer_destroy(reducer);
    trl__bam_reader_close(&reader);
    return code;
}

/* ---- text ---- */

static int print_floats(trl_file *out, const unsigned char *data, size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        char text[32];
        trl__format_float(trl__float_of_bits(trl__le32(data + 4 * i)), text);
        code = trl_file_print(out, err, " %s", text);
    }
    return code;
}

/* A line for each frame or Gaussian: frames as they are; weight, means and variances. */
static int print_data(trl_file *out, const trl__bam_header *h, const trl__bam_record *r, trl_error *err)
{
    size_t dim = (size_t)h->dim, frame = 4 * dim;
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->frames && r->kind != TRL__BAM_COUNTS; i++) {
        code = trl_file_print(out, err, "  ");
        if (code == 0 && r->kind == TRL__BAM_RUN)
            code = print_floats(out, r->data + i * frame, dim, err);
        if (code == 0 && r->kind == TRL__BAM_SAMPLE)
            code = print_floats(out, r->data + i * (8 + frame) + 8, dim, err);
        if (code == 0 && r->kind == TRL__BAM_MIXTURE)
            code = print_floats(out, r->data + 4 * i, 1, err);
        for (size_t k = 0; code == 0 && r->kind == TRL__BAM_MIXTURE && k < 2; k++)
            code = print_floats(out, r->data + 4 * r->frames + k * r->frames * frame + i * frame, dim, err);
        if (code == 0)
            code = trl_file_print(out, err, "\n");
    }
    return code;
}

static int print_counts(trl_file *out, const trl__bam_header *h, const trl__bam_record *r, trl_error *err)
{
    trl_bam_counts counts = {0};
    trl__bam_counts_add(h, r, &counts);
    trl_bam_cell all = trl_bam_total(&counts);
    return trl_file_print(out, err,
                          "counts: %" PRIu64 " M-phones, %" PRIu64 " with mixtures, %" PRIu64
                          " of them from a sample, %" PRIu64 " Gaussians\n",
                          all.mphones, all.kept, all.sampled, all.gaussians);
}

static int print_record(trl_file *out, const trl__bam_header *h, const trl__bam_record *r, trl_error *err)
{
    char key[2000];
    if (r->kind == TRL__BAM_COUNTS)
        return print_counts(out, h, r, err);
    trl_bam_key_format(h->phones, h->order, r->body, key, sizeof key);
    if (r->kind == TRL__BAM_NOTHING)
        return trl_file_print(out, err, "%s\n", key);
    if (r->kind == TRL__BAM_RUN)
        return trl_file_print(out, err, "%s\t%zu frames from %" PRIu32 " of utterance %016" PRIx64 "\n", key, r->frames,
                              r->first, r->utterance);
    if (r->kind == TRL__BAM_SAMPLE)
        return trl_file_print(out, err, "%s\tsample of %zu frames\n", key, r->frames);
    return trl_file_print(out, err, "%s\t%zu Gaussians of %s%" PRIu64 " frames\n", key, r->frames,
                          r->sampled ? "a sample of " : "", r->used);
}

static int print_header(trl_file *out, const trl__bam_header *h, trl_error *err)
{
    int code = trl_file_print(
        out, err, "# order %d, %d dimensions, word boundaries %s, seed %" PRIu64 ", model %016" PRIx64 "\n# phones",
        h->order, h->dim, h->phones->boundary >= 0 ? "on" : "off", h->seed, h->model);
    for (int32_t i = 0; code == 0 && i < trl_bam_phones_count(h->phones); i++)
        code = trl_file_print(out, err, " %s", trl_bam_phones_name(h->phones, i));
    return code < 0 ? code : trl_file_print(out, err, "\n");
}

int trl_bam_print(const char *input, int with_frames, uint64_t most, const char *output, trl_error *err)
{
    trl__bam_reader reader;
    trl__bam_record record;
    trl_file *out;
    int code = trl__bam_reader_open(input, &reader, err);
    if (code < 0)
        return code;
    code = trl_file_create(output, &out, err);
    if (code == 0)
        code = print_header(out, &reader.header, err);
    while (code == 0 && (most == 0 || reader.records < most) && (code = trl__bam_read(&reader, &record, err)) > 0) {
        code = print_record(out, &reader.header, &record, err);
        if (code == 0 && with_frames)
            code = print_data(out, &reader.header, &record, err);
    }
    if (code == 0)
        code = trl_file_commit(out, err);
    else
        trl_file_abort(out);
    trl__bam_reader_close(&reader);
    return code;
}
