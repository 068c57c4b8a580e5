/* Training in stages: the same bytes for any number of threads and after any interruption, likelihoods that rise, every
 * option of the stages. */
#include "stage_speech.h"

#include "base/memory.h"

#include <sys/stat.h>

#define MOST_ITERATIONS 64

static const char *const ladders[] = {"mono", "mono,tri", "mono,tri,lda", "mono,tri,lda,sat"};
#define LADDERS (sizeof ladders / sizeof *ladders)

static stage_speech speech;
static trl_error err;

/* ---- One training ---- */

/* What its iterations were; with `copies`, the folder as it was after each is kept as copy-NUMBER. */
typedef struct story {
    trl_iteration iterations[MOST_ITERATIONS];
    int count;
    int copies;
} story;

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void copy_folder(const char *from, const char *to)
{
    DIR *folder = opendir(from);
    assert_non_null(folder);
    assert_int_equal(mkdir(to, 0777), 0);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char source[800], target[800];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(target, sizeof target, "%s/%s", to, entry->d_name);
        copy_file(source, target);
    }
    closedir(folder);
}

/* The folder of the training in hand: "work", or a copy of it. */
static const char *work_folder(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s", temp_path(name));
    return path;
}

static const char *copied_folder(int number)
{
    char name[40];
    snprintf(name, sizeof name, "copy-%d", number);
    return work_folder(name);
}

static void remember(void *user, const trl_iteration *n)
{
    story *s = user;
    assert_true(s->count < MOST_ITERATIONS);
    assert_int_equal(n->failed, 0);
    s->iterations[s->count++] = *n;
    if (s->copies) {
        char name[40];
        snprintf(name, sizeof name, "copy-%d", n->number);
        copy_folder(temp_path("work"), temp_path(name));
    }
}

static trl_pool *pool_of(int threads)
{
    trl_pool *pool = NULL;
    if (threads > 0)
        must_do(trl_pool_create(threads, &pool, &err), &err);
    return pool;
}

/* threads = 0: without a pool. */
static int try_training(const trl_train_options *o, int threads, trl_model **model)
{
    trl_findings *skipped;
    trl_pool *pool = pool_of(threads);
    must_do(trl_findings_create(&skipped, &err), &err);
    int code = trl_train(speech.corpus, speech.lexicon, NULL, o, pool, skipped, model, &err);
    trl_findings_destroy(skipped);
    trl_pool_destroy(pool);
    return code;
}

static trl_model *train(const trl_train_options *o, int threads)
{
    trl_model *model;
    must_do(try_training(o, threads, &model), &err);
    return model;
}

static void train_to(const trl_train_options *o, int threads, const char *file)
{
    trl_model *model = train(o, threads);
    must_do(trl_model_write(model, temp_path(file), &err), &err);
    trl_model_destroy(model);
}

static void assert_refused(const trl_train_options *o, const char *part)
{
    trl_model *model;
    assert_int_equal(try_training(o, 0, &model), TRL_EINVAL);
    if (!strstr(err.text, part))
        fail_msg("no '%s' in: %s", part, err.text);
}

static void assert_same_files(const char *a, const char *b, const char *what, int number)
{
    FILE *x = fopen(temp_path(a), "rb"), *y = fopen(temp_path(b), "rb");
    assert_non_null(x);
    assert_non_null(y);
    int c;
    long at = 0;
    while ((c = getc(x)) == getc(y) && c != EOF)
        at++;
    if (c != EOF || getc(y) != EOF)
        fail_msg("%s %d: %s and %s differ at byte %ld", what, number, a, b, at);
    fclose(x);
    fclose(y);
}

/* ---- Threads and interruptions ---- */

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < LADDERS; i++) {
        trl_train_options o = speech_training(&speech, ladders[i]);
        o.iterations = i + 1 < LADDERS ? 1 : 2;
        train_to(&o, 1, "one.trm");
        for (int threads = i + 1 < LADDERS ? 7 : 2; threads <= 7; threads += 5) {
            train_to(&o, threads, "other.trm");
            assert_same_files("one.trm", "other.trm", ladders[i], threads);
        }
    }
}

/* Every copy of the folder is what a kill after that iteration leaves: after the last of each stage, and some others. */
static void test_resumed_after_iterations(void **state)
{
    (void)state;
    static story told;
    told = (story){.copies = 1};
    trl_train_options o = speech_training(&speech, "mono,tri,lda,sat");
    o.folder = work_folder("work");
    o.report = remember;
    o.user = &told;
    train_to(&o, 2, "whole.trm");
    assert_true(told.count > 12);
    o.resume = 1;
    o.report = NULL;
    for (int i = 1; i <= told.count; i++) {
        if (i != told.iterations[i - 1].of && i % 3 != 1)
            continue;
        o.folder = copied_folder(i);
        train_to(&o, i % 4, "resumed.trm");
        assert_same_files("whole.trm", "resumed.trm", "resumed after iteration", i);
    }
}

/* Memory runs out at one place after the other, and each time the training goes on from what is in the folder. */
static void test_resumed_after_failures(void **state)
{
    (void)state;
    trl_train_options o = speech_training(&speech, "mono,tri,lda,sat");
    trl_model *model = NULL;
    int failures = 0, code;
    o.iterations = 1;
    train_to(&o, 0, "whole.trm");
    o.folder = work_folder("failing");
    do {
        trl_error problem;
        trl_findings *skipped;
        must_do(trl_findings_create(&skipped, &err), &err);
        o.resume = access(temp_path("failing/checkpoint"), F_OK) == 0;
        trl__memory_fail_after(1500 + failures * 97 % 3000);
        code = trl_train(speech.corpus, speech.lexicon, NULL, &o, NULL, skipped, &model, &problem);
        trl__memory_fail_after(0);
        if (code < 0 && code != TRL_ENOMEM)
            fail_msg("failure %d: %s", failures, problem.text);
        trl_findings_destroy(skipped);
        assert_true(failures++ < 2000);
    } while (code < 0);
    assert_true(failures > 10);
    must_do(trl_model_write(model, temp_path("resumed.trm"), &err), &err);
    trl_model_destroy(model);
    assert_same_files("whole.trm", "resumed.trm", "resumed after failures", failures);
}

/* ---- Likelihoods ---- */

/* Are they of one round, and no transform came in between? Semi-tied covariances change the space; a speaker's
 * transform is made for his speech, and his silence may suffer. */
static int are_comparable(const trl_iteration *a, const trl_iteration *b)
{
    return a->number > 1 && a->stage_number == b->stage_number && a->gaussians == b->gaussians && a->dropped == 0 &&
           b->transform_gain == 0;
}

static const trl_iteration *last_of(const story *s, const char *stage)
{
    const trl_iteration *last = NULL;
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->iterations[i].stage, stage) == 0)
            last = &s->iterations[i];
    assert_non_null(last);
    return last;
}

static void assert_rising(const story *s, int least_compared)
{
    int compared = 0;
    for (int i = 1; i < s->count; i++) {
        const trl_iteration *a = &s->iterations[i - 1], *b = &s->iterations[i];
        if (!isfinite(b->log_likelihood))
            fail_msg("iteration %d: %g", b->number, b->log_likelihood);
        if (!are_comparable(a, b))
            continue;
        if (b->log_likelihood < a->log_likelihood - 0.002)
            fail_msg("%s %d: %.6f after %.6f", b->stage, b->number, b->log_likelihood, a->log_likelihood);
        compared++;
    }
    if (compared < least_compared)
        fail_msg("only %d iterations could be compared", compared);
}

/* Contexts, and speakers' transforms, bring more than as many Gaussians do without them: speakers who differ less leave
 * Gaussians for the contexts. */
static void check_likelihoods(int em)
{
    static story told;
    speech_options drawn = speech_defaults();
    drawn.distortion = 0.1;
    speech_free(&speech);
    speech_make(&speech, &drawn, "alike.trf");
    told = (story){0};
    trl_train_options o = speech_training(&speech, "mono,tri,lda,sat");
    o.em = em;
    o.iterations = 4;
    o.total_gaussians = 80;
    o.context_gaussians = 70;
    o.report = remember;
    o.user = &told;
    trl_model_destroy(train(&o, 2));
    assert_rising(&told, 14);
    const trl_iteration *mono = last_of(&told, "mono"), *tri = last_of(&told, "tri"), *lda = last_of(&told, "lda"),
                        *sat = last_of(&told, "sat");
    assert_true(tri->gaussians <= mono->gaussians);
    assert_true(tri->log_likelihood > mono->log_likelihood + 0.1);
    assert_true(sat->gaussians <= lda->gaussians + 4);
    assert_true(sat->log_likelihood > lda->log_likelihood + 0.5);
}

static void test_likelihoods_rise(void **state)
{
    (void)state;
    check_likelihoods(TRL_EM_VITERBI);
}

static void test_likelihoods_rise_with_baum_welch(void **state)
{
    (void)state;
    check_likelihoods(TRL_EM_BAUM_WELCH);
}

/* Frames that are c times as large have densities 1 / c^dim as high, whatever the speakers' transforms do to them. */
static void test_transforms_are_counted(void **state)
{
    (void)state;
    static story told;
    trl_train_options o = speech_training(&speech, "mono");
    trl_model *model = train(&o, 2);
    double score[2], scale[2] = {1, 1.2};
    for (int i = 0; i < 2; i++) {
        speech_options drawn = speech_defaults();
        drawn.scale = scale[i];
        speech_free(&speech);
        speech_make(&speech, &drawn, "scaled.trf");
        told = (story){0};
        o = speech_training(&speech, "sat");
        o.from = model;
        o.iterations = 4;
        o.report = remember;
        o.user = &told;
        trl_model_destroy(train(&o, 2));
        score[i] = last_of(&told, "sat")->log_likelihood;
    }
    double expected = score[0] - trl_model_dim(model) * log(scale[1]);
    if (fabs(score[1] - expected) > 0.2)
        fail_msg("%g instead of %g", score[1], expected);
    trl_model_destroy(model);
}

/* ---- From a model ---- */

/* A stage from a model in memory and from its file: the first iteration's likelihood shows the model as it came. */
static void test_stages_from_a_model(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < LADDERS; i++) {
        const char *next = strrchr(ladders[i + 1], ',') + 1;
        trl_train_options o = speech_training(&speech, ladders[i]);
        o.iterations = 1;
        trl_model *model = train(&o, 2), *read;
        must_do(trl_model_write(model, temp_path("first.trm"), &err), &err);
        must_do(trl_model_read(temp_path("first.trm"), &read, &err), &err);
        o = speech_training(&speech, next);
        o.from = model;
        train_to(&o, 1, "from-memory.trm");
        o.from = read;
        train_to(&o, 3, "from-file.trm");
        assert_same_files("from-memory.trm", "from-file.trm", next, 0);
        o.stages = "mono";
        if (i > 0)
            assert_refused(&o, "phones in context");
        trl_model_destroy(model);
        trl_model_destroy(read);
    }
}

/* Interrupted, a training from a model goes on too; from another one it is refused. */
static void test_resumed_from_a_model(void **state)
{
    (void)state;
    static story told;
    told = (story){.copies = 1};
    trl_train_options o = speech_training(&speech, "mono,tri,lda,sat");
    trl_model *sat = train(&o, 2);
    o = speech_training(&speech, "mono,tri,lda");
    trl_model *lda = train(&o, 2);
    o = speech_training(&speech, "tri,sat");
    o.iterations = 1;
    o.from = sat;
    o.folder = work_folder("work");
    o.report = remember;
    o.user = &told;
    train_to(&o, 0, "whole.trm");
    o.resume = 1;
    o.report = NULL;
    for (int i = 1; i < told.count; i++) {
        o.folder = copied_folder(i);
        if (i == 1) {
            o.from = lda;
            assert_refused(&o, "another");
            o.from = sat;
        }
        train_to(&o, 2, "resumed.trm");
        assert_same_files("whole.trm", "resumed.trm", "resumed after iteration", i);
    }
    trl_model_destroy(sat);
    trl_model_destroy(lda);
}

static void test_wrong_stages_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *stages, *why;
    } cases[] = {{"", "no stages"},
                 {"mono,quad", "'quad'"},
                 {"mono,,tri", "''"},
                 {"mono,tri,", "''"},
                 {"Mono", "'Mono'"},
                 {"mono, tri", "' tri'"},
                 {"tri", "without a model"},
                 {"mono,tri,mono", "only be the first"},
                 {"mono,sat,tri", "after sat"},
                 {"mono,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri,tri", "more than"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trl_train_options o = speech_training(&speech, cases[i].stages);
        assert_refused(&o, cases[i].why);
    }
}

/* ---- Options of the stages ---- */

typedef struct variant {
    const char *name;
    void (*set)(trl_train_options *o);
    int32_t width, centre; /* of the window */
} variant;

static void set_quinphones(trl_train_options *o)
{
    o->context_left = o->context_right = 2;
}

static void set_left_only(trl_train_options *o)
{
    o->context_right = 0;
}

static void set_right_only(trl_train_options *o)
{
    o->context_left = 0;
    o->context_right = 2;
}

static void set_no_context(trl_train_options *o)
{
    o->context_left = o->context_right = 0;
}

static void set_no_word_positions(trl_train_options *o)
{
    o->model.word_positions = 0;
}

static void set_baum_welch(trl_train_options *o)
{
    o->em = TRL_EM_BAUM_WELCH;
}

static void set_sample(trl_train_options *o)
{
    o->sample_frames = 60;
}

static void set_varmix(trl_train_options *o)
{
    o->context_gaussians = 0;
    o->varmix_alpha = 0.2;
    o->varmix_beta = 1;
}

static void set_full_search(trl_train_options *o)
{
    o->margin = TRL_MARGIN_FULL;
    o->best_component = 1;
}

static void set_questions(trl_train_options *o)
{
    static const char questions[] = "QS \"vowel\" {a-*,e-*}\nQS \"vowel\" {*+a,*+e}\nQS \"b\" {b-*}\n";
    temp_write("questions", questions, strlen(questions));
    static char path[300];
    snprintf(path, sizeof path, "%s", temp_path("questions"));
    o->questions = path;
}

/* Each through all stages: two numbers of threads, and once interrupted in the middle. */
static void check_variant(const variant *v)
{
    static story told;
    told = (story){.copies = 1};
    trl_train_options o = speech_training(&speech, "mono,tri,lda,sat");
    o.iterations = 1;
    v->set(&o);
    o.folder = work_folder("work");
    o.report = remember;
    o.user = &told;
    trl_model *model = train(&o, 3);
    trl_tree_facts tree = trl_model_tree(model);
    if (tree.width != v->width || tree.centre != v->centre)
        fail_msg("%s: a window of %d with the unit at %d", v->name, tree.width, tree.centre);
    must_do(trl_model_write(model, temp_path("whole.trm"), &err), &err);
    trl_model_destroy(model);
    o.resume = 1;
    o.report = NULL;
    o.folder = copied_folder(told.count * 2 / 3);
    train_to(&o, 0, "resumed.trm");
    assert_same_files("whole.trm", "resumed.trm", v->name, told.count * 2 / 3);
    for (int i = 0; i < told.count; i++)
        assert_true(isfinite(told.iterations[i].log_likelihood));
    temp_entries(1);
}

static void test_variants(void **state)
{
    (void)state;
    static const variant variants[] = {{"quinphones", set_quinphones, 5, 2},
                                       {"left context", set_left_only, 2, 1},
                                       {"right context", set_right_only, 3, 0},
                                       {"no context", set_no_context, 1, 0},
                                       {"no word positions", set_no_word_positions, 3, 1},
                                       {"Baum-Welch", set_baum_welch, 3, 1},
                                       {"sample", set_sample, 3, 1},
                                       {"varmix", set_varmix, 3, 1},
                                       {"full search", set_full_search, 3, 1},
                                       {"questions", set_questions, 3, 1}};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        check_variant(&variants[i]);
        speech_options o = speech_defaults(); /* the folder was emptied */
        speech_free(&speech);
        speech_make(&speech, &o, "features.trf");
    }
}

static int set_up(void **state)
{
    speech_options o = speech_defaults();
    if (temp_folder_make(state))
        return -1;
    speech_make(&speech, &o, "features.trf");
    return 0;
}

static int tear_down(void **state)
{
    speech_free(&speech);
    return temp_folder_remove(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_threads_do_not_matter),
                                       TEST(test_resumed_after_iterations),
                                       TEST(test_resumed_after_failures),
                                       TEST(test_likelihoods_rise),
                                       TEST(test_likelihoods_rise_with_baum_welch),
                                       TEST(test_transforms_are_counted),
                                       TEST(test_stages_from_a_model),
                                       TEST(test_resumed_from_a_model),
                                       TEST(test_wrong_stages_are_refused),
                                       TEST(test_variants)};
    return RUN_LONG(tests);
}
