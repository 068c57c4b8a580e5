/* For tests of the back-off acoustic model: random records, and the M-phones' samples by definition. */
#ifndef TEST_BAM_FIXTURE_H
#define TEST_BAM_FIXTURE_H

#include "align_fixture.h"
#include "temp_folder.h"

#include "bam/part_join.h"
#include "base/bytes.h"
#include "bam/record_sort.h"

typedef struct bam_body {
    unsigned char *bytes;
    size_t size;
} bam_body;

typedef struct bam_case {
    trl__bam_header header;
    trl_bam_options options;
    bam_body *records;
    size_t count, capacity;
} bam_case;

static inline void add_body(bam_case *c, const unsigned char *key, trl__bam_kind kind, const void *value, size_t size)
{
    size_t head = trl_bam_key_size(c->header.order) + 4;
    if (c->count == c->capacity)
        c->records = realloc(c->records, (c->capacity = 2 * c->capacity + 16) * sizeof *c->records);
    unsigned char *bytes = malloc(head + size);
    memcpy(bytes, key, head - 4);
    trl__put_le32(bytes + head - 4, (uint32_t)kind);
    if (size > 0)
        memcpy(bytes + head, value, size);
    c->records[c->count++] = (bam_body){bytes, head + size};
}

/* A run of frames under its key, and what it backs off to. */
static inline void add_run(bam_case *c, const trl_bam_mphone *m, uint64_t utterance, uint32_t first,
                           const float *frames, size_t count)
{
    unsigned char key[TRL_BAM_KEY_MOST];
    size_t size = TRL__BAM_RUN_HEAD + count * (size_t)c->header.dim * 4;
    unsigned char *value = malloc(size);
    trl_bam_key_write(m, c->header.order, key);
    trl__put_le32(value, (uint32_t)utterance);
    trl__put_le32(value + 4, (uint32_t)(utterance >> 32));
    trl__put_le32(value + 8, first);
    memcpy(value + TRL__BAM_RUN_HEAD, frames, size - TRL__BAM_RUN_HEAD);
    add_body(c, key, TRL__BAM_RUN, value, size);
    free(value);
    while (trl_bam_key_back_off(c->header.order, key))
        add_body(c, key, TRL__BAM_NOTHING, NULL, 0);
}

static inline void free_case(bam_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->records[i].bytes);
    free(c->records);
    trl_bam_phones_destroy(c->header.phones);
    *c = (bam_case){0};
}

static inline int compare_bodies(const void *a, const void *b)
{
    const bam_body *x = a, *y = b;
    return trl__bam_compare(x->bytes, x->size, y->bytes, y->size);
}

static inline void sort_case(bam_case *c)
{
    qsort(c->records, c->count, sizeof *c->records, compare_bodies);
}

static inline void write_case(const bam_case *c, const char *path)
{
    trl__bam_writer writer;
    must(trl__bam_writer_open(path, &c->header, &writer, &err));
    for (size_t i = 0; i < c->count; i++)
        must(trl__bam_write(&writer, c->records[i].bytes, c->records[i].size, &err));
    must(trl__bam_writer_commit(&writer, &err));
}

/* Utterances of a few phones, cut into runs of a few frames; few symbols, so that contexts meet again. */
static inline bam_case random_case(dice *d, int order, int dim, int utterances, int boundaries)
{
    bam_case c = {.header = {.order = order, .dim = dim, .seed = 3, .model = 77}, .options = trl_bam_defaults()};
    must(trl_bam_phones_of_text("a\nb\nsil\n", boundaries, &c.header.phones, &err));
    int symbols = trl_bam_phones_symbols(c.header.phones);
    float frames[8 * 16];
    for (int u = 0; u < utterances; u++) {
        int sequence[40], length = roll_int(d, 1, 12);
        uint32_t t = 0;
        for (int i = 0; i < length; i++)
            sequence[i] = roll_int(d, 0, symbols - 1);
        for (int i = 0; i < length; i++) {
            trl_bam_mphone m = {.phone = sequence[i] % 3, .state = roll_int(d, 0, 1)};
            for (; m.left < order && i - m.left - 1 >= 0; m.left++)
                m.left_symbol[m.left] = (uint16_t)sequence[i - m.left - 1];
            for (; m.right < order && i + m.right + 1 < length; m.right++)
                m.right_symbol[m.right] = (uint16_t)sequence[i + m.right + 1];
            int count = roll_int(d, 1, 8);
            for (int k = 0; k < count * dim; k++)
                frames[k] = 4 * roll(d) - 2 + (float)m.phone;
            add_run(&c, &m, (uint64_t)u * 1000003 + 17, t, frames, (size_t)count);
            t += (uint32_t)count;
        }
    }
    c.options.order = order;
    c.options.least_frames = 4;
    c.options.most_frames = 60;
    return c;
}

/* What a reducer writes, one record behind the other. */
typedef struct bam_output {
    unsigned char *bytes;
    size_t size, capacity;
} bam_output;

static inline int keep_record(void *user, const unsigned char *body, size_t size, trl_error *error)
{
    bam_output *o = user;
    (void)error;
    if (o->size + size + 4 > o->capacity)
        o->bytes = realloc(o->bytes, o->capacity = 2 * (o->size + size + 4));
    trl__put_le32(o->bytes + o->size, (uint32_t)size);
    memcpy(o->bytes + o->size + 4, body, size);
    o->size += size + 4;
    return 0;
}

/* Records [first, end) as a part; first 0 and end `count`: the whole. */
static inline int reduce_part(const bam_case *c, size_t first, size_t end, trl_pool *pool, trl__bam_emit emit,
                              void *user)
{
    trl__reducer *reducer;
    trl__bam_record record;
    must(trl__reducer_create(&c->header, &c->options, pool, first > 0 ? c->records[first].bytes : NULL, emit, user,
                             &reducer, &err));
    int code = 0;
    for (size_t i = first; code == 0 && i < end; i++) {
        must(trl__bam_parse(&c->header, c->records[i].bytes, c->records[i].size, &record, &err));
        code = trl__reducer_add(reducer, &record, &err);
    }
    if (code == 0)
        code = trl__reducer_finish(reducer, end < c->count ? c->records[end].bytes : NULL, &err);
    trl__reducer_destroy(reducer);
    return code;
}

#endif
