/* What training keeps in files: alignments, checkpoints. */
#include "base/container.h"
#include "base/memory.h"
#include "temp_folder.h"
#include "train/alignment_store.h"
#include "train/checkpoint.h"

#include <trellis/train.h>

static trl_error err;

/* ---- Alignments ---- */

static const trl__run runs[] = {{0, 5}, {1, 3}, {4, 1}, {-1, 0}, {7, 9}, {-1, 0}};

static void write_alignments(const char *path)
{
    trl__alignment_writer *writer;
    assert_int_equal(trl__alignment_writer_create(path, &writer, &err), 0);
    assert_int_equal(trl__alignment_writer_add(writer, TRL__ALIGNED, -12.5, runs, 4, &err), 0);
    assert_int_equal(trl__alignment_writer_add(writer, TRL__NO_PATH, 0, NULL, 0, &err), 0);
    assert_int_equal(trl__alignment_writer_add(writer, TRL__ALIGNED, -3, runs + 4, 2, &err), 0);
    assert_int_equal(trl__alignment_writer_commit(writer, &err), 0);
}

static void test_alignments_come_back(void **state)
{
    (void)state;
    trl__alignment_store *store;
    const trl__run *read;
    write_alignments(temp_path("a.tra"));
    assert_int_equal(trl__alignment_store_open(temp_path("a.tra"), &store, &err), 0);
    assert_int_equal(trl__alignment_store_count(store), 3);
    const trl__stored_alignment *a = trl__alignment_store_get(store, 0, &read);
    assert_true(a->status == TRL__ALIGNED && a->runs == 4 && a->log_likelihood == -12.5);
    assert_memory_equal(read, runs, 4 * sizeof *runs);
    assert_int_equal(trl__alignment_store_get(store, 1, &read)->status, TRL__NO_PATH);
    assert_int_equal(trl__alignment_store_get(store, 1, &read)->runs, 0);
    assert_int_equal(trl__alignment_store_get(store, 2, &read)->runs, 2);
    assert_memory_equal(read, runs + 4, 2 * sizeof *runs);
    trl__alignment_store_close(store);
}

static void test_damaged_alignments_are_refused(void **state)
{
    (void)state;
    trl__alignment_store *store;
    char bytes[4096];
    write_alignments(temp_path("a.tra"));
    FILE *file = fopen(temp_path("a.tra"), "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 0; cut < size; cut += 7) {
        temp_write("cut.tra", bytes, cut);
        assert_true(trl__alignment_store_open(temp_path("cut.tra"), &store, &err) < 0);
    }
    bytes[70] ^= 1; /* inside the first run */
    temp_write("bad.tra", bytes, size);
    assert_int_equal(trl__alignment_store_open(temp_path("bad.tra"), &store, &err), TRL_ECORRUPT);
}

/* The container is sound, but its index names runs that are not there, behind an utterance that accounts for all that are. */
static void test_index_beyond_the_runs_is_refused(void **state)
{
    (void)state;
    const trl__stored_alignment index[] = {{0, 6, TRL__ALIGNED, -1}, {1000000, 3, TRL__ALIGNED, -1}};
    trl__container_writer *writer;
    trl__alignment_store *store;
    assert_int_equal(trl__container_create(temp_path("far.tra"), "alignments", 1, &writer, &err), 0);
    assert_int_equal(trl__container_add(writer, "runs", runs, sizeof runs, &err), 0);
    assert_int_equal(trl__container_add(writer, "index", index, sizeof index, &err), 0);
    assert_int_equal(trl__container_commit(writer, &err), 0);
    assert_int_equal(trl__alignment_store_open(temp_path("far.tra"), &store, &err), TRL_ECORRUPT);
}

static void test_aborted_writer_leaves_nothing(void **state)
{
    (void)state;
    trl__alignment_writer *writer;
    assert_int_equal(trl__alignment_writer_create(temp_path("a.tra"), &writer, &err), 0);
    trl__alignment_writer_abort(writer);
    assert_int_equal(access(temp_path("a.tra"), F_OK), -1);
}

/* ---- Checkpoints ---- */

static void touch(char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    trl__free(path);
}

static void test_checkpoint_counts_from_its_commit(void **state)
{
    (void)state;
    trl__checkpoint *c;
    assert_int_equal(trl__checkpoint_create(temp_path("work"), &c, &err), 0);
    c->fingerprint = 42;
    assert_int_equal(trl__checkpoint_resume(c, &err), TRL_ENOENT);
    c->stage = 1;
    c->stage_first = 2;
    c->settled = 1;
    for (int i = 1; i <= 3; i++) {
        touch(trl__checkpoint_model(c, i));
        touch(trl__checkpoint_alignments(c, i));
        if (i < 3)
            assert_int_equal(trl__checkpoint_commit(c, i, &err), 0);
    }
    trl__checkpoint_destroy(c);
    assert_int_equal(access(temp_path("work/iteration-1.trm"), F_OK), -1); /* the one before is gone */
    assert_int_equal(trl__checkpoint_create(temp_path("work"), &c, &err), 0);
    c->fingerprint = 42;
    assert_int_equal(trl__checkpoint_resume(c, &err), 0);
    assert_int_equal(c->iteration, 2);
    assert_int_equal(c->stage, 1);
    assert_int_equal(c->stage_first, 2);
    assert_int_equal(c->settled, 1);
    c->fingerprint = 43;
    assert_int_equal(trl__checkpoint_resume(c, &err), TRL_EINVAL);
    trl__checkpoint_destroy(c);
    trl_train_clean(temp_path("work"), NULL);
    assert_int_equal(access(temp_path("work"), F_OK), -1);
}

/* Features in the folder that were given to the training are not its to remove. */
static void test_given_features_stay(void **state)
{
    (void)state;
    trl__checkpoint *c;
    assert_int_equal(trl__checkpoint_create(temp_path("work"), &c, &err), 0);
    touch(trl__checkpoint_features(c));
    trl__checkpoint_destroy(c);
    char given[600];
    snprintf(given, sizeof given, "%s", temp_path("./work/features.trf"));
    trl_train_clean(temp_path("work"), given);
    assert_int_equal(access(temp_path("work/features.trf"), F_OK), 0);
    trl_train_clean(temp_path("work"), NULL);
    assert_int_equal(access(temp_path("work"), F_OK), -1);
}

/* A new training in the folder of an old one: nothing of the old one can be resumed, nothing stays behind. */
static void test_old_checkpoint_is_forgotten(void **state)
{
    (void)state;
    trl__checkpoint *c;
    assert_int_equal(trl__checkpoint_create(temp_path("work"), &c, &err), 0);
    assert_int_equal(trl__checkpoint_commit(c, 8, &err), 0);
    for (int i = 7; i <= 9; i++) { /* killed before 7 was removed and 9 complete */
        touch(trl__checkpoint_model(c, i));
        touch(trl__checkpoint_alignments(c, i));
    }
    touch(trl__checkpoint_features(c));
    trl__checkpoint_forget(c);
    assert_int_equal(c->iteration, 0);
    assert_int_equal(trl__checkpoint_resume(c, &err), TRL_ENOENT);
    assert_int_equal(unlink(temp_path("work/features.trf")), 0);
    assert_int_equal(unlink(temp_path("work/lock")), 0);
    assert_int_equal(rmdir(temp_path("work")), 0); /* nothing else is in it */
    trl__checkpoint_destroy(c);
}

static void test_broken_checkpoint_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "trellis checkpoint 3\niteration 1\nstage 0\nstage_first 1\nsettled 0\nfingerprint 2a\n",
        "trellis checkpoint 2\niteration 0\nstage 0\nstage_first 1\nsettled 0\nfingerprint 2a\n",
        "trellis checkpoint 2\niteration 1\nstage 16\nstage_first 1\nsettled 0\nfingerprint 2a\n",
        "trellis checkpoint 2\niteration 1\nstage -1\nstage_first 1\nsettled 0\nfingerprint 2a\n",
        "trellis checkpoint 2\niteration 1\nstage 0\nsettled 0\nfingerprint 2a\n",
        "trellis checkpoint 2\niteration 1\nstage 0\nstage_first 1\nfingerprint 2a\n"};
    trl__checkpoint *c;
    assert_int_equal(trl__checkpoint_create(temp_path("work"), &c, &err), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        temp_write("work/checkpoint", texts[i], strlen(texts[i]));
        assert_int_equal(trl__checkpoint_resume(c, &err), TRL_ECORRUPT);
    }
    trl__checkpoint_destroy(c);
}

static void test_temporary_folder_goes_away(void **state)
{
    (void)state;
    char folder[512];
    trl__checkpoint *c;
    setenv("TMPDIR", temp_folder, 1);
    assert_int_equal(trl__checkpoint_create(NULL, &c, &err), 0);
    snprintf(folder, sizeof folder, "%s", c->folder);
    assert_int_equal(access(folder, F_OK), 0);
    touch(trl__checkpoint_features(c));
    touch(trl__checkpoint_model(c, 1));
    trl__checkpoint_destroy(c);
    unsetenv("TMPDIR");
    assert_int_equal(access(folder, F_OK), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_folder_make, temp_folder_remove)
    const struct CMUnitTest tests[] = {TEST(test_alignments_come_back),
                                       TEST(test_damaged_alignments_are_refused),
                                       TEST(test_index_beyond_the_runs_is_refused),
                                       TEST(test_aborted_writer_leaves_nothing),
                                       TEST(test_checkpoint_counts_from_its_commit),
                                       TEST(test_given_features_stay),
                                       TEST(test_old_checkpoint_is_forgotten),
                                       TEST(test_broken_checkpoint_is_refused),
                                       TEST(test_temporary_folder_goes_away)};
    return RUN(tests);
}
