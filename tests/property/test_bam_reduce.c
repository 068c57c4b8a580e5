/* The reducer against its definition: every M-phone's mixture is that of the frames of all that back off to it, those with the smallest hashes;
 * whatever the order of records, however often they come, and wherever the stream is cut. */
#include "bam_fixture.h"

#define CASES RANDOM_CASES(12)

/* ---- the definition ---- */

typedef struct defined {
    uint64_t hash;
    const unsigned char *frame;
} defined;

static int by_hash(const void *a, const void *b)
{
    const defined *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static int belongs(const bam_case *c, const unsigned char *longer, const unsigned char *key)
{
    unsigned char now[TRL_BAM_KEY_MOST];
    size_t size = trl_bam_key_size(c->header.order);
    memcpy(now, longer, size);
    do
        if (memcmp(now, key, size) == 0)
            return 1;
    while (trl_bam_key_back_off(c->header.order, now));
    return 0;
}

/* All frames of the key, each once, in the order of their hashes. */
static size_t define_frames(const bam_case *c, const unsigned char *key, defined *out)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        trl__bam_record r;
        must(trl__bam_parse(&c->header, c->records[i].bytes, c->records[i].size, &r, &err));
        for (size_t f = 0; r.kind == TRL__BAM_RUN && f < r.frames && belongs(c, r.body, key); f++)
            out[count++] = (defined){trl__bam_frame_hash(r.utterance, r.first + (uint32_t)f),
                                     r.data + f * (size_t)c->header.dim * 4};
    }
    qsort(out, count, sizeof *out, by_hash);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || out[kept - 1].hash != out[i].hash)
            out[kept++] = out[i];
    return kept;
}

/* With one Gaussian its mean and variance are known. */
static void check_mixture(const bam_case *c, const trl__bam_record *r, const defined *frames, size_t all)
{
    size_t used = all > (size_t)c->options.most_frames ? (size_t)c->options.most_frames : all;
    assert_int_equal(r->frames, 1);
    assert_int_equal(r->used, used);
    assert_int_equal(r->sampled, all > used);
    for (int k = 0; k < c->header.dim; k++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < used; i++) {
            double x = (double)trl__float_of_bits(trl__le32(frames[i].frame + 4 * k));
            sum += x;
            square += x * x;
        }
        double mean = sum / (double)used, variance = square / (double)used - mean * mean;
        double floor = variance > c->options.variance_floor ? variance : c->options.variance_floor;
        const unsigned char *means = r->data + 4, *variances = means + 4 * (size_t)c->header.dim;
        assert_true(fabs((double)trl__float_of_bits(trl__le32(means + 4 * k)) - mean) < 1e-5);
        assert_true(fabs((double)trl__float_of_bits(trl__le32(variances + 4 * k)) - floor) < 1e-5);
    }
}

static void check_output(const bam_case *c, const bam_output *o)
{
    defined *frames = malloc(sizeof *frames * 8 * c->count);
    size_t at = 0, key = trl_bam_key_size(c->header.order);
    trl_bam_counts counts = {0};
    uint64_t mphones = 0, kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        const unsigned char *body = c->records[i].bytes;
        if (i > 0 && memcmp(c->records[i - 1].bytes, body, key) == 0)
            continue;
        size_t all = define_frames(c, body, frames);
        mphones++;
        if (all < (size_t)c->options.least_frames)
            continue;
        trl__bam_record r;
        must(trl__bam_parse(&c->header, o->bytes + at + 4, trl__le32(o->bytes + at), &r, &err));
        assert_int_equal(r.kind, TRL__BAM_MIXTURE);
        assert_memory_equal(r.body, body, key);
        check_mixture(c, &r, frames, all);
        at += 4 + r.size;
        kept++;
    }
    trl__bam_record last;
    must(trl__bam_parse(&c->header, o->bytes + at + 4, trl__le32(o->bytes + at), &last, &err));
    assert_int_equal(last.kind, TRL__BAM_COUNTS);
    assert_int_equal(at + 4 + last.size, o->size);
    trl__bam_counts_add(&c->header, &last, &counts);
    assert_int_equal(trl_bam_total(&counts).mphones, mphones);
    assert_int_equal(trl_bam_total(&counts).kept, kept);
    free(frames);
}

static bam_case case_of(uint64_t seed, dice *d)
{
    *d = (dice){.seed = seed, .stream = 9};
    bam_case c = random_case(d, 1 + (int)(seed % 5), 2, 60, seed % 2 == 0);
    c.options.alpha = 0;
    c.options.beta = 1;
    c.options.most_frames = seed % 3 == 0 ? 7 : 60;
    return c;
}

static void test_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d;
        bam_case c = case_of(seed, &d);
        bam_output o = {0};
        sort_case(&c);
        must(reduce_part(&c, 0, c.count, NULL, keep_record, &o));
        check_output(&c, &o);
        free(o.bytes);
        free_case(&c);
    }
}

/* Records that come again, and in another order among those of a key, change nothing; mixtures of several Gaussians here. */
static void test_repeated(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        dice d;
        bam_case c = case_of(seed, &d);
        bam_output once = {0}, again = {0};
        c.options.alpha = 0.5;
        sort_case(&c);
        must(reduce_part(&c, 0, c.count, NULL, keep_record, &once));
        size_t count = c.count, key = trl_bam_key_size(c.header.order);
        for (size_t i = 0; i < count; i += 3)
            add_body(&c, c.records[i].bytes, (trl__bam_kind)trl__le32(c.records[i].bytes + key),
                     c.records[i].bytes + key + 4, c.records[i].size - key - 4);
        sort_case(&c);
        for (size_t i = 0; i + 1 < c.count; i++) /* runs of one key, turned around */
            if (memcmp(c.records[i].bytes, c.records[i + 1].bytes, key + 4) == 0 && roll_int(&d, 0, 1)) {
                bam_body kept = c.records[i];
                c.records[i] = c.records[i + 1];
                c.records[i + 1] = kept;
            }
        must(reduce_part(&c, 0, c.count, NULL, keep_record, &again));
        assert_int_equal(once.size, again.size);
        assert_memory_equal(once.bytes, again.bytes, once.size);
        free(once.bytes);
        free(again.bytes);
        free_case(&c);
    }
}

static int to_writer(void *user, const unsigned char *body, size_t size, trl_error *error)
{
    return trl__bam_write(user, body, size, error);
}

/* Cut anywhere, also between records of one key, reduced part by part and joined. */
static void check_cuts(const bam_case *c, dice *d, const bam_output *whole, const trl_bam_counts *wanted)
{
    trl__bam_reader parts[6];
    size_t first = 0, count = 0;
    trl_bam_counts counts;
    bam_output joined = {0};
    while (first < c->count) {
        char name[40];
        size_t end = count == 5 ? c->count : first + (size_t)roll_int(d, 1, (int)c->count / 3);
        end = end < c->count ? end : c->count;
        snprintf(name, sizeof name, "part%zu", count);
        trl__bam_writer writer;
        must(trl__bam_writer_open(temp_path(name), &c->header, &writer, &err));
        must(reduce_part(c, first, end, NULL, to_writer, &writer));
        must(trl__bam_writer_commit(&writer, &err));
        must(trl__bam_reader_open(temp_path(name), &parts[count++], &err));
        first = end;
    }
    must(trl__join_parts(parts, count, &c->options, NULL, keep_record, &joined, &counts, &err));
    assert_true(joined.size < whole->size);
    assert_memory_equal(joined.bytes, whole->bytes, joined.size);
    assert_memory_equal(counts.cell, wanted->cell, sizeof counts.cell);
    for (size_t i = 0; i < count; i++)
        trl__bam_reader_close(&parts[i]);
    free(joined.bytes);
}

static void test_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d;
        bam_case c = case_of(seed, &d);
        bam_output whole = {0};
        sort_case(&c);
        must(reduce_part(&c, 0, c.count, NULL, keep_record, &whole));
        trl__bam_record last;
        trl_bam_counts wanted = {0};
        size_t size = trl_bam_key_size(c.header.order) + 4 + TRL__BAM_COUNTS_HEAD +
                      32 * (size_t)((c.header.order + 1) * (c.header.order + 1));
        must(trl__bam_parse(&c.header, whole.bytes + whole.size - size, size, &last, &err));
        trl__bam_counts_add(&c.header, &last, &wanted);
        for (int i = 0; i < 5; i++)
            check_cuts(&c, &d, &whole, &wanted);
        free(whole.bytes);
        free_case(&c);
    }
}

/* Threads share a mixture's frames; the bytes stay. */
static void test_threads(void **state)
{
    (void)state;
    dice d = {.seed = 4};
    bam_case c = {.header = {.order = 1, .dim = 3}, .options = trl_bam_defaults()};
    bam_output one = {0}, four = {0};
    trl_pool *pool;
    float *frames = malloc(sizeof *frames * 3 * 20000);
    must(trl_bam_phones_of_text("a\n", 0, &c.header.phones, &err));
    for (int i = 0; i < 60000; i++)
        frames[i] = 3 * roll(&d) * roll(&d) + (float)(i % 5);
    add_run(&c, &(trl_bam_mphone){.phone = 0}, 5, 0, frames, 20000);
    must(trl_pool_create(4, &pool, &err));
    must(reduce_part(&c, 0, c.count, NULL, keep_record, &one));
    must(reduce_part(&c, 0, c.count, pool, keep_record, &four));
    assert_int_equal(one.size, four.size);
    assert_memory_equal(one.bytes, four.bytes, one.size);
    trl_pool_destroy(pool);
    free(frames);
    free(one.bytes);
    free(four.bytes);
    free_case(&c);
}

/* ---- what can't be ---- */

static void refuse(const bam_case *c, const char *part)
{
    bam_output o = {0};
    assert_int_equal(reduce_part(c, 0, c->count, NULL, keep_record, &o), TRL_ECORRUPT);
    assert_non_null(strstr(err.text, part));
    free(o.bytes);
}

static void test_refused(void **state)
{
    (void)state;
    dice d;
    bam_case c = case_of(4, &d);
    sort_case(&c);
    bam_body kept = c.records[0], last = c.records[c.count - 1];
    size_t key = trl_bam_key_size(c.header.order), i = 1;
    while (memcmp(c.records[i].bytes, kept.bytes, key) == 0)
        i++;
    c.records[0] = c.records[i];
    c.records[i] = kept;
    refuse(&c, "not sorted");
    c.records[i] = c.records[0];
    c.records[0] = kept;
    for (i = 0; trl_bam_key_order(c.header.order, c.records[i].bytes) < 2; i++)
        continue;
    size_t from = i; /* the frames of a chain are lost, its back-offs are there */
    bam_case lost = c;
    lost.records = c.records + from + 1;
    lost.count = c.count - from - 1;
    while (memcmp(lost.records[0].bytes, c.records[from].bytes, key) == 0)
        lost.records++, lost.count--;
    refuse(&lost, "nothing that backs off to it");
    (void)last;
    c.count--; /* the last back-off is lost */
    if (trl__le32(last.bytes + key) == TRL__BAM_NOTHING && memcmp(last.bytes, c.records[c.count - 1].bytes, key) != 0)
        refuse(&c, "records end before it");
    c.count++;
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition), cmocka_unit_test(test_repeated), cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
