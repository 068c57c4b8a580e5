/* Statistics: local blocks and global sums, their file, and counts of 100,000 hours. */
#include "model_fixture.h"
#include "damage_fixture.h"
#include "model/statistics.h"

static trl_error err;

/* 12 Gaussians of 2 dimensions, 24 transitions. */
static trl_model *example(void)
{
    return model_of("A AA B\n", 2, NULL);
}

static void add_frame(trl__local_stats *local, int64_t gaussian, double x, double y)
{
    double *slot = trl__local_stats_slot(local, gaussian);
    assert_non_null(slot);
    slot[0] += 1;
    slot[1] += x;
    slot[2] += y;
    slot[3] += x * x;
    slot[4] += y * y;
    local->totals.frames += 1;
}

static trl__stats *stats_of(const trl_model *m)
{
    trl__stats *stats;
    assert_int_equal(trl__stats_create(m, &stats, &err), 0);
    return stats;
}

static void gathers_blocks(void **state)
{
    (void)state;
    trl_model *m = example();
    trl__local_stats *local;
    trl__stats *stats = stats_of(m), *other = stats_of(m);
    assert_int_equal(trl__local_stats_create(m, &local, &err), 0);
    add_frame(local, 7, 1, 2);
    add_frame(local, 3, 10, 20);
    add_frame(local, 7, 3, 5);
    trl__local_stats_transition(local, 24, 2);
    trl__local_stats_transition(local, 1, 0);
    trl__local_stats_transition(local, 24, 0.5);
    local->totals.log_likelihood = -7;
    local->totals.joint = -8;
    local->totals.utterances = 1;
    assert_int_equal(local->slot_count, 2); /* in order of first touch */
    assert_int_equal(local->gaussian[0], 7);
    assert_int_equal(local->touched_count, 1);
    trl__stats_merge(stats, local);
    trl__local_stats_zero(local);
    assert_int_equal(local->slot_count + local->touched_count, 0);
    add_frame(local, 7, 1, 1);
    trl__local_stats_transition(local, 24, 1);
    trl__stats_merge(other, local);
    assert_int_equal(trl__stats_add(stats, other, &err), 0);
    assert_true(stats->count[7] == 3 && stats->count[3] == 1 && stats->count[0] == 0);
    assert_true(stats->sum[14] == 5 && stats->sum[15] == 8 && stats->sum[6] == 10 && stats->sum[7] == 20);
    assert_true(stats->square[14] == 11 && stats->square[15] == 30 && stats->square[7] == 400);
    assert_true(stats->transition[24] == 3.5 && stats->transition[1] == 0);
    assert_true(stats->totals.frames == 4 && stats->totals.log_likelihood == -7 && stats->totals.joint == -8);
    assert_true(stats->totals.utterances == 1);
    trl__stats_zero(stats);
    assert_true(stats->count[7] == 0 && stats->sum[14] == 0 && stats->square[15] == 0 && stats->transition[24] == 0);
    assert_true(stats->totals.frames == 0 && stats->totals.log_likelihood == 0);
    trl__local_stats_destroy(local);
    trl__stats_destroy(stats);
    trl__stats_destroy(other);
    trl_model_destroy(m);
}

static void refuses_another_shape(void **state)
{
    (void)state;
    trl_model *m = example(), *larger = model_of("A AA B C\n", 2, NULL), *wider = model_of("A AA B\n", 3, NULL);
    trl__stats *a = stats_of(m), *b = stats_of(larger), *c = stats_of(wider);
    assert_int_equal(trl__stats_add(a, b, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "15 Gaussians of 2 dimensions and 30 transitions, not 12, 2 and 24"));
    assert_int_equal(trl__stats_add(a, c, &err), TRL_EINVAL);
    trl__stats_destroy(a);
    trl__stats_destroy(b);
    trl__stats_destroy(c);
    trl_model_destroy(m);
    trl_model_destroy(larger);
    trl_model_destroy(wider);
}

/* 100,000 hours are 3.6e10 frames: 3.6e6 blocks of 10,000 frames each. Counts stay exact; means and variances are
 * those of the block to nine digits, though the sums are far beyond what float32 holds. */
static void holds_100000_hours(void **state)
{
    (void)state;
    trl_model *m = example();
    trl__local_stats *local;
    trl__stats *stats = stats_of(m);
    assert_int_equal(trl__local_stats_create(m, &local, &err), 0);
    double sum[2] = {0, 0}, square[2] = {0, 0};
    for (uint64_t t = 0; t < 10000; t++) {
        double x = 100 + 0.1 * (double)trl__random_normal(1, 0, t), y = 1e-3 * (double)trl__random_normal(1, 1, t);
        add_frame(local, 5, x, y);
        trl__local_stats_transition(local, 3, 1);
        sum[0] += x;
        sum[1] += y;
        square[0] += x * x;
        square[1] += y * y;
    }
    for (int block = 0; block < 3600000; block++)
        trl__stats_merge(stats, local);
    assert_true(stats->count[5] == 3.6e10);
    assert_true(stats->transition[3] == 3.6e10);
    assert_true(stats->totals.frames == 3.6e10);
    for (int k = 0; k < 2; k++) {
        double mean = sum[k] / 1e4, variance = square[k] / 1e4 - mean * mean;
        double got = stats->sum[10 + k] / stats->count[5], got_square = stats->square[10 + k] / stats->count[5];
        assert_true(fabs(got - mean) <= 1e-9 * fabs(mean));
        assert_true(fabs(got_square - got * got - variance) <= 1e-3 * variance);
    }
    trl__local_stats_destroy(local);
    trl__stats_destroy(stats);
    trl_model_destroy(m);
}

/* ---- the file ---- */

static trl__stats *write_example(const char *name)
{
    trl_model *m = example();
    trl__stats *stats = stats_of(m);
    trl_model_destroy(m);
    for (size_t i = 0; i < 24; i++) {
        stats->count[i / 2] = (double)i + 0.5;
        stats->sum[i] = -(double)i;
        stats->square[i] = (double)(i * i);
        stats->transition[i + 1] = (double)i / 3;
    }
    stats->totals = (trl__totals){.frames = 3.6e10, .log_likelihood = -1e12, .joint = -2e12, .utterances = 7};
    assert_int_equal(trl__stats_write(stats, temp_path(name), &err), 0);
    return stats;
}

static void reads_what_was_written(void **state)
{
    (void)state;
    trl__stats *a = write_example("s"), *b;
    assert_int_equal(trl__stats_read(temp_path("s"), &b, &err), 0);
    assert_int_equal(b->dim, 2);
    assert_int_equal(b->gaussians, 12);
    assert_int_equal(b->transitions, 24);
    assert_memory_equal(a->count, b->count, 12 * sizeof(double));
    assert_memory_equal(a->sum, b->sum, 24 * sizeof(double));
    assert_memory_equal(a->square, b->square, 24 * sizeof(double));
    assert_memory_equal(a->transition, b->transition, 25 * sizeof(double));
    assert_memory_equal(&a->totals, &b->totals, sizeof a->totals);
    trl__stats_destroy(a);
    trl__stats_destroy(b);
}

static int from_memory(const unsigned char *bytes, size_t size)
{
    trl__container *file;
    trl__stats *stats;
    int code = trl__container_from_memory("bytes", bytes, size, "statistics", 1, &file, &err);
    if (code == 0)
        code = trl__stats_from_container(file, &stats, &err);
    if (code == 0)
        trl__stats_destroy(stats);
    return code;
}

static void sees_every_flipped_byte_and_cut(void **state)
{
    (void)state;
    trl__stats_destroy(write_example("s"));
    assert_damage_is_seen(temp_path("s"), from_memory);
}

/* Bytes at a place of the file, checksums put right. Sections: header at 64, counts at 128, sums at 256 (12 doubles
 * fill up to 224), squares at 448, transitions at 640. */
static void refuse(size_t at, const void *value, size_t length, int code, const char *text)
{
    size_t size;
    unsigned char *bytes = temp_read("s", &size);
    memcpy(bytes + at, value, length);
    container_repair(bytes, size);
    err.text[0] = '\0';
    int got = from_memory(bytes, size);
    if (got != code || !strstr(err.text, text))
        fail_msg("%d instead of %d, no '%s' in '%s'", got, code, text, err.text);
    free(bytes);
}

static void refuses_impossible_numbers(void **state)
{
    (void)state;
    trl__stats_destroy(write_example("s"));
    const double nan = (double)NAN, minus = -1;
    const uint64_t many = (uint64_t)1 << 62;
    const uint32_t zero = 0, other = 3;
    refuse(64, &many, 8, TRL_ECORRUPT, "do not fit the sections' sizes");
    refuse(72, &zero, 4, TRL_ECORRUPT, "do not fit the sections' sizes");
    refuse(72, &other, 4, TRL_ECORRUPT, "do not fit the sections' sizes");
    refuse(76, &other, 4, TRL_ECORRUPT, "section 'transitions' has 192 bytes for 3 transitions");
    refuse(80, &nan, 8, TRL_ENUMBER, "a total is not finite");
    refuse(128, &minus, 8, TRL_ECORRUPT, "at byte 128: -1 is no possible number of section 'counts'");
    refuse(128, &nan, 8, TRL_ENUMBER, "section 'counts'");
    refuse(256, &nan, 8, TRL_ENUMBER, "section 'sums'");
    refuse(448, &minus, 8, TRL_ECORRUPT, "section 'squares'");
    refuse(640, &minus, 8, TRL_ECORRUPT, "section 'transitions'");
    trl__stats *stats;
    assert_int_equal(trl__stats_read(temp_path("absent"), &stats, &err), TRL_ENOENT);
    temp_write("s", "text", 4);
    assert_int_equal(trl__stats_read(temp_path("s"), &stats, &err), TRL_EFORMAT);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    trl_model *m = example();
    trl__local_stats *local = NULL;
    trl__stats *stats = NULL, *read = NULL;
    for (long n = 1; !stats || !local || !read; n++) {
        trl__memory_fail_after(n);
        if (!stats)
            assert_true(trl__stats_create(m, &stats, &err) == (stats ? 0 : TRL_ENOMEM));
        trl__memory_fail_after(n);
        if (!local)
            assert_true(trl__local_stats_create(m, &local, &err) == (local ? 0 : TRL_ENOMEM));
        trl__memory_fail_after(0);
        trl__stats_destroy(write_example("s"));
        trl__memory_fail_after(n);
        if (!read)
            assert_true(trl__stats_read(temp_path("s"), &read, &err) == (read ? 0 : TRL_ENOMEM));
        trl__memory_fail_after(0);
    }
    trl__memory_fail_after(1);
    assert_null(trl__local_stats_slot(local, 3));
    trl__memory_fail_after(2);
    assert_null(trl__local_stats_slot(local, 3));
    trl__memory_fail_after(0);
    assert_non_null(trl__local_stats_slot(local, 3));
    assert_int_equal(local->slot_count, 1);
    trl__local_stats_destroy(local);
    trl__stats_destroy(stats);
    trl__stats_destroy(read);
    trl_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_blocks),
        cmocka_unit_test(refuses_another_shape),
        cmocka_unit_test(holds_100000_hours),
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(sees_every_flipped_byte_and_cut),
        cmocka_unit_test(refuses_impossible_numbers),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
