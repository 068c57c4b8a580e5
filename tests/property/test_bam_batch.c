/* A batch of segments against the definition ([001] III-B, eq. 2): for each segment, the M-phones that it backs off to one after the other, looked for in a list of all that there
 * are; its frames' likelihoods in double precision. Servers that don't answer leave gaps. A store on disk gives what is in it. */
#include "bam_fixture.h"

#include "bam/rescore_batch.h"

#include <trellis/bam_store.h>

#define KEYS 60
#define DIM 3
#define FRAMES 40
#define TIED 4
#define MOST_COMPONENTS 4

typedef struct random_mixture {
    int components;
    float log_weight[MOST_COMPONENTS], mean[MOST_COMPONENTS * DIM], variance[MOST_COMPONENTS * DIM];
} random_mixture;

/* A lookup whose every answer is known. */
typedef struct fake_lookup {
    trl__lookup base;
    int order, count, requests;
    trl_bam_mphone mphone[KEYS];
    random_mixture mixture[KEYS];
    trl__lookup_status status[KEYS];
} fake_lookup;

static random_mixture roll_mixture(dice *d)
{
    random_mixture m = {.components = roll_int(d, 1, MOST_COMPONENTS)};
    float sum = 0;
    for (int i = 0; i < m.components; i++)
        sum += m.log_weight[i] = 0.1F + roll(d);
    for (int i = 0; i < m.components; i++)
        m.log_weight[i] = logf(m.log_weight[i] / sum);
    for (int i = 0; i < m.components * DIM; i++) {
        m.mean[i] = 2 * roll(d) - 1;
        m.variance[i] = 0.2F + roll(d);
    }
    return m;
}

static trl_bam_mphone roll_mphone(dice *d, int order)
{
    trl_bam_mphone m = {.phone = roll_int(d, 0, 1), .state = roll_int(d, 0, 1)};
    m.left = roll_int(d, 0, order);
    m.right = roll_int(d, 0, order);
    for (int i = 0; i < order; i++) {
        m.left_symbol[i] = (uint16_t)roll_int(d, 0, 2);
        m.right_symbol[i] = (uint16_t)roll_int(d, 0, 2);
    }
    return m;
}

static int is_same(const trl_bam_mphone *a, const trl_bam_mphone *b)
{
    int same = a->phone == b->phone && a->state == b->state && a->left == b->left && a->right == b->right;
    for (int i = 0; i < a->left; i++)
        same = same && a->left_symbol[i] == b->left_symbol[i];
    for (int i = 0; i < a->right; i++)
        same = same && a->right_symbol[i] == b->right_symbol[i];
    return same;
}

static int find_mphone(const fake_lookup *f, const trl_bam_mphone *m)
{
    for (int i = 0; i < f->count; i++)
        if (is_same(&f->mphone[i], m))
            return i;
    return -1;
}

static int fetch_known(trl__lookup *lookup, const unsigned char *keys, size_t count, trl__lookup_result *results,
                       trl_error *error)
{
    fake_lookup *f = (fake_lookup *)(void *)lookup;
    size_t size = trl_bam_key_size(f->order);
    f->requests++;
    for (size_t i = 0; i < count; i++) {
        trl_bam_mphone m;
        must(trl_bam_key_read(NULL, f->order, keys + i * size, &m, error));
        for (size_t k = 0; k < i; k++)
            assert_true(memcmp(keys + i * size, keys + k * size, size) != 0); /* each key once */
        int found = find_mphone(f, &m);
        results[i].status = found < 0 ? TRL__LOOKUP_MISSING : f->status[found];
        if (results[i].status == TRL__LOOKUP_FOUND)
            results[i].mixture = (trl_bam_mixture){.components = f->mixture[found].components,
                                                   .log_weight = f->mixture[found].log_weight,
                                                   .mean = f->mixture[found].mean,
                                                   .variance = f->mixture[found].variance};
    }
    return 0;
}

static double likelihood(const random_mixture *m, const float *frame)
{
    double sum = 0;
    for (int i = 0; i < m->components; i++) {
        double each = (double)m->log_weight[i];
        for (int k = 0; k < DIM; k++) {
            double v = (double)m->variance[i * DIM + k], off = (double)frame[k] - (double)m->mean[i * DIM + k];
            each -= 0.5 * (log(2 * 3.14159265358979323846 * v) + off * off / v);
        }
        sum += exp(each);
    }
    return log(sum);
}

/* The paper's back-off, on contexts. */
static int back_off(trl_bam_mphone *m)
{
    int left = m->left, right = m->right;
    if (left < 2 && right < 2)
        return 0;
    m->left -= left >= right;
    m->right -= right >= left;
    return 1;
}

static int expected(const fake_lookup *f, trl_bam_mphone m, trl__batch_outcome *outcome)
{
    do {
        int found = find_mphone(f, &m);
        if (found >= 0 && f->status[found] != TRL__LOOKUP_MISSING) {
            *outcome = f->status[found] == TRL__LOOKUP_FOUND ? TRL__BATCH_FOUND : TRL__BATCH_LOST;
            return *outcome == TRL__BATCH_FOUND ? found : -1;
        }
    } while (back_off(&m));
    *outcome = TRL__BATCH_FIRST_PASS;
    return -1;
}

static trl_model *first_pass_model(const random_mixture *mixtures)
{
    trl_model *model;
    int32_t *first = trl__alloc_aligned(TIED + 1, sizeof *first), at = 0;
    float *weight = trl__alloc_aligned(TIED * MOST_COMPONENTS, sizeof *weight);
    float *mean = trl__alloc_aligned((size_t)TIED * MOST_COMPONENTS * DIM, sizeof *mean);
    float *variance = trl__alloc_aligned((size_t)TIED * MOST_COMPONENTS * DIM, sizeof *variance);
    must(trl__model_new(DIM, &model, &err));
    for (int i = 0; i < TIED; i++) {
        size_t count = (size_t)mixtures[i].components;
        first[i] = at;
        memcpy(weight + at, mixtures[i].log_weight, count * sizeof *weight);
        memcpy(mean + (size_t)at * DIM, mixtures[i].mean, count * DIM * sizeof *mean);
        memcpy(variance + (size_t)at * DIM, mixtures[i].variance, count * DIM * sizeof *variance);
        at += mixtures[i].components;
    }
    first[TIED] = at;
    model->tied_states = TIED;
    trl__model_set_mixtures(model, first, weight, mean, variance);
    return model;
}

typedef struct wanted {
    trl_bam_mphone mphone;
    int32_t first, end, tied, number;
} wanted;

static void roll_store(dice *d, fake_lookup *f)
{
    *f = (fake_lookup){.base = {.fetch = fetch_known}, .order = roll_int(d, 1, 4)};
    for (int i = 0; i < KEYS; i++) {
        trl_bam_mphone m = roll_mphone(d, f->order);
        if (find_mphone(f, &m) >= 0)
            continue;
        int chance = roll_int(d, 0, 9);
        f->mphone[f->count] = m;
        f->mixture[f->count] = roll_mixture(d);
        f->status[f->count++] = chance == 0 ? TRL__LOOKUP_LOST : TRL__LOOKUP_FOUND;
    }
}

static void check_segments(const trl__batch *batch, const fake_lookup *f, const random_mixture *tied,
                           const trl_matrix *frames, const wanted *w, int count, int outcomes[3])
{
    for (int i = 0; i < count; i++) {
        const trl__batch_segment *s = &batch->segments[w[i].number];
        trl__batch_outcome outcome;
        int found = expected(f, w[i].mphone, &outcome);
        double again = 0, bam = 0;
        for (int32_t t = w[i].first; t < w[i].end; t++) {
            again += likelihood(&tied[w[i].tied], trl_matrix_row(frames, (size_t)t));
            bam += likelihood(found >= 0 ? &f->mixture[found] : &tied[w[i].tied], trl_matrix_row(frames, (size_t)t));
        }
        outcomes[outcome]++;
        assert_int_equal(s->outcome, outcome);
        assert_true(fabs(s->again - again) < 1e-3 && fabs(s->bam - bam) < 1e-3);
        if (found < 0) {
            assert_int_equal(s->found, -1);
            continue;
        }
        trl_bam_mphone m;
        must(trl_bam_key_read(NULL, f->order, batch->keys[s->found].bytes, &m, &err));
        assert_true(is_same(&m, &f->mphone[found]));
    }
}

static void test_batch(void **state)
{
    (void)state;
    trl__device *device;
    trl__stream *stream;
    int outcomes[3] = {0};
    must(trl__device_open("cpu", &device, &err));
    must(trl__stream_create(device, &stream, &err));
    trl__batch batch = {0};
    trl__batch_scorer scorer = {.device = device, .stream = stream};
    for (uint64_t seed = 0; seed < 60; seed++) {
        dice d = {.seed = seed};
        fake_lookup f;
        random_mixture tied[TIED];
        trl_matrix frames = {0};
        trl__parameters *parameters;
        wanted w[80];
        int count = roll_int(&d, 1, 80);
        roll_store(&d, &f);
        for (int i = 0; i < TIED; i++)
            tied[i] = roll_mixture(&d);
        trl_model *model = first_pass_model(tied);
        must(trl__device_load_model(device, model, NULL, &parameters, &err));
        must(trl_matrix_resize(&frames, FRAMES, DIM, &err));
        for (size_t i = 0; i < (size_t)FRAMES * DIM; i++)
            frames.data[i] = 2 * roll(&d) - 1;
        trl__batch_begin(&batch, f.order);
        for (int i = 0; i < count; i++) {
            unsigned char key[TRL_BAM_KEY_MOST];
            w[i] = (wanted){.mphone = roll_mphone(&d, f.order),
                            .first = roll_int(&d, 0, FRAMES - 1),
                            .tied = roll_int(&d, 0, TIED - 1)};
            if (i > 0 && roll(&d) < 0.3F)
                w[i] = w[roll_int(&d, 0, i - 1)]; /* as of another hypothesis */
            else
                w[i].end = roll_int(&d, w[i].first + 1, FRAMES);
            trl_bam_key_write(&w[i].mphone, f.order, key);
            must(trl__batch_add(&batch, key, w[i].first, w[i].end, w[i].tied, &w[i].number, &err));
        }
        must(trl__batch_fetch(&batch, &f.base, &err));
        must(trl__batch_score(&batch, &scorer, &frames, parameters, &err));
        assert_int_equal(f.requests, 1);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++) { /* the same segment is scored once */
                int same = is_same(&w[i].mphone, &w[k].mphone) && w[i].first == w[k].first && w[i].end == w[k].end &&
                           w[i].tied == w[k].tied;
                assert_int_equal(w[i].number == w[k].number, same);
            }
        check_segments(&batch, &f, tied, &frames, w, count, outcomes);
        trl__parameters_free(parameters);
        trl_model_destroy(model);
        trl_matrix_free(&frames);
    }
    for (int i = 0; i < 3; i++)
        assert_true(outcomes[i] > 20);
    trl__batch_free(&batch);
    trl__batch_scorer_free(&scorer);
    trl__stream_destroy(stream);
    trl__device_close(device);
}

/* Without memory: the reason is said, and nothing is left behind. */
static void test_memory(void **state)
{
    (void)state;
    dice d = {.seed = 4};
    fake_lookup f;
    random_mixture tied[TIED];
    trl_matrix frames = {0};
    trl__device *device;
    trl__stream *stream;
    trl__parameters *parameters;
    roll_store(&d, &f);
    for (int i = 0; i < TIED; i++)
        tied[i] = roll_mixture(&d);
    trl_model *model = first_pass_model(tied);
    must(trl__device_open("cpu", &device, &err));
    must(trl__stream_create(device, &stream, &err));
    must(trl__device_load_model(device, model, NULL, &parameters, &err));
    must(trl_matrix_resize(&frames, FRAMES, DIM, &err));
    memset(frames.data, 0, (size_t)FRAMES * DIM * sizeof(float));
    for (long n = 1, code = TRL_ENOMEM; code != 0; n++) {
        trl__batch batch = {0};
        trl__batch_scorer scorer = {.device = device, .stream = stream};
        unsigned char key[TRL_BAM_KEY_MOST];
        int32_t number;
        trl__memory_fail_after(n);
        trl__batch_begin(&batch, f.order);
        code = 0;
        for (int i = 0; code == 0 && i < 20; i++) {
            trl_bam_key_write(&f.mphone[i % f.count], f.order, key);
            code = trl__batch_add(&batch, key, i, i + 3, i % TIED, &number, &err);
        }
        if (code == 0)
            code = trl__batch_fetch(&batch, &f.base, &err);
        if (code == 0)
            code = trl__batch_score(&batch, &scorer, &frames, parameters, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        trl__batch_free(&batch);
        trl__batch_scorer_free(&scorer);
    }
    trl__parameters_free(parameters);
    trl__stream_destroy(stream);
    trl__device_close(device);
    trl_matrix_free(&frames);
    trl_model_destroy(model);
}

static int compare_with_lookup(void *user, const unsigned char *key, const trl_bam_mixture *mixture, trl_error *error)
{
    trl__lookup *lookup = user;
    trl__lookup_result results[2];
    unsigned char keys[2 * TRL_BAM_KEY_MOST];
    size_t size = trl_bam_key_size(lookup->facts.order);
    memcpy(keys, key, size);
    memcpy(keys + size, key, size);
    keys[size + 3] = 99; /* a state that no phone has */
    must(lookup->fetch(lookup, keys, 2, results, error));
    assert_int_equal(results[0].status, TRL__LOOKUP_FOUND);
    assert_int_equal(results[1].status, TRL__LOOKUP_MISSING);
    assert_int_equal(results[0].mixture.components, mixture->components);
    assert_memory_equal(results[0].mixture.mean, mixture->mean,
                        (size_t)mixture->components * (size_t)lookup->facts.dim * sizeof(float));
    return 0;
}

static void test_store(void **state)
{
    (void)state;
    dice d = {.seed = 5};
    bam_case c = random_case(&d, 3, 2, 60, 1);
    trl__lookup *lookup;
    trl_bam_store *store;
    sort_case(&c);
    write_case(&c, temp_path("sorted"));
    must(trl_bam_reduce(temp_path("sorted"), NULL, &c.options, NULL, temp_path("mixtures"), NULL, &err));
    const char *inputs[] = {temp_path("mixtures")};
    must(trl_bam_store_write(inputs, 1, &c.options, 3, NULL, temp_path("store"), NULL, &err));
    must(trl_bam_store_open(temp_path("store"), &store, &err));
    must(trl__lookup_open(temp_path("store"), &lookup, &err));
    assert_int_equal(lookup->facts.order, 3);
    assert_int_equal(lookup->facts.model, 77);
    assert_int_equal(lookup->gaussians, trl_bam_total(trl_bam_store_counts(store)).gaussians);
    assert_int_equal(trl_bam_phones_symbols(lookup->phones), 4);
    must(trl_bam_store_each(store, compare_with_lookup, lookup, &err));
    lookup->destroy(lookup);
    trl_bam_store_close(store);
    assert_int_equal(trl__lookup_open(temp_path("nothing"), &lookup, &err), TRL_ENOENT);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batch), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_store)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
