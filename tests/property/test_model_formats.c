/* Random models through the formats of other programs: what is written and read again is the same model. */
#include "foreign_model.h"
#include "model/kaldi_model.h"

enum { MODELS = 1000 };

static trl_error err;

static void check(int code)
{
    if (code < 0)
        fail_msg("%s", err.text);
}

static void assert_same_file(const char *a, const char *b)
{
    size_t size;
    char *bytes = temp_read(a, &size);
    temp_expect(b, bytes, size);
    free(bytes);
}

/* Every number of the Gaussians, bit by bit. */
static void assert_same_gaussians(const trl_model *a, const trl_model *b)
{
    size_t numbers = (size_t)trl_model_gaussians(a) * (size_t)a->dim;
    assert_memory_equal(a->mean, b->mean, numbers * sizeof(float));
    assert_memory_equal(a->variance, b->variance, numbers * sizeof(float));
}

/* The logarithm of a float's rounding: what a probability p can lose on its way through a file. */
static void assert_same_logs(const float *a, const float *b, size_t count, int exact)
{
    for (size_t i = 0; i < count; i++)
        if (exact ? a[i] != b[i] : fabs((double)(a[i] - b[i])) > 1.2e-7 * fmax(1, fabs((double)a[i])))
            fail_msg("%.9g became %.9g", (double)a[i], (double)b[i]);
}

static void assert_same_model(const trl_model *a, const trl_model *b, int pools, int exact)
{
    assert_same_structure(a, b, pools);
    assert_same_gaussians(a, b);
    assert_same_logs(a->log_weight, b->log_weight, (size_t)trl_model_gaussians(a), exact);
    assert_same_logs(a->log_probability, b->log_probability, (size_t)a->transitions + 1, exact);
}

static trl_model *through_htk(const trl_model *model, const char *name, int binary)
{
    trl_model *again;
    check(trl_model_write_htk(model, temp_path(name), binary, &err));
    check(trl_model_read_htk(temp_path(name), NULL, &again, &err));
    return again;
}

/* From text to binary and back: nothing is lost once the numbers came from a file. */
static void htk_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MODELS; seed++) {
        trl_model *model = foreign_model(seed, 1), *text = through_htk(model, "1.mmf", 0);
        trl_model *binary = through_htk(text, "2.mmf", 1), *last = through_htk(binary, "3.mmf", 0);
        assert_same_model(model, text, 1, 0);
        assert_same_model(text, binary, 1, 1);
        assert_same_model(text, last, 1, 1);
        assert_same_file("1.mmf", "3.mmf");
        trl_model_destroy(model);
        trl_model_destroy(text);
        trl_model_destroy(binary);
        trl_model_destroy(last);
    }
}

static trl_model *through_kaldi(const trl_model *model, const char *folder, int binary)
{
    trl_model *again;
    char mdl[64], phones[64];
    snprintf(mdl, sizeof mdl, "%s/final.mdl", folder);
    snprintf(phones, sizeof phones, "%s/phones.txt", folder);
    check(trl_model_write_kaldi(model, temp_path(folder), binary, &err));
    check(trl_model_read_kaldi(temp_path(mdl), temp_path(phones), &again, &err));
    return again;
}

static void assert_near(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fabs((double)a[i] - (double)b[i]) > 3e-7 * fabs((double)a[i]))
            fail_msg("%.9g became %.9g", (double)a[i], (double)b[i]);
}

/* Kaldi has 1 / variance and mean / variance, so the last bit may change; text and binary say the same. */
static void kaldi_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MODELS; seed++) {
        trl_model *model = foreign_model(seed, 0);
        trl_model *binary = through_kaldi(model, "binary", 1), *text = through_kaldi(model, "text", 0);
        size_t numbers = (size_t)trl_model_gaussians(model) * (size_t)model->dim;
        assert_same_structure(model, binary, 0);
        assert_same_model(binary, text, 1, 1);
        assert_near(model->mean, binary->mean, numbers);
        assert_near(model->variance, binary->variance, numbers);
        assert_same_logs(model->log_weight, binary->log_weight, (size_t)trl_model_gaussians(model), 0);
        assert_same_logs(model->log_probability, binary->log_probability, (size_t)model->transitions + 1, 1);
        trl_model_destroy(model);
        trl_model_destroy(binary);
        trl_model_destroy(text);
    }
}

/* ---- The tree, asked as Kaldi asks it ---- */

static char *next_word(char **cursor)
{
    char *word = strtok_r(NULL, " \n", cursor);
    assert_non_null(word);
    return word;
}

/* The answer of the node that starts here for this phone and pdf class, -1 for none; passes the whole node. Text form. */
static long ask(char **cursor, long phone, long pdf_class)
{
    const char *kind = next_word(cursor);
    if (strcmp(kind, "NULL") == 0)
        return -1;
    if (strcmp(kind, "CE") == 0)
        return strtol(next_word(cursor), NULL, 10);
    long key = strtol(next_word(cursor), NULL, 10), value = key == 0 ? phone : pdf_class, answer = -1;
    if (strcmp(kind, "TE") == 0) {
        long count = strtol(next_word(cursor), NULL, 10);
        assert_string_equal(next_word(cursor), "(");
        for (long i = 0; i < count; i++) {
            long child = ask(cursor, phone, pdf_class);
            answer = i == value ? child : answer;
        }
        assert_string_equal(next_word(cursor), ")");
        return answer;
    }
    assert_string_equal(kind, "SE");
    int yes = 0;
    assert_string_equal(next_word(cursor), "[");
    for (const char *word; strcmp(word = next_word(cursor), "]") != 0;)
        yes |= strtol(word, NULL, 10) == value;
    assert_string_equal(next_word(cursor), "{");
    long first = ask(cursor, phone, pdf_class), second = ask(cursor, phone, pdf_class);
    assert_string_equal(next_word(cursor), "}");
    return yes ? first : second;
}

static void tree_answers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MODELS / 2; seed++) {
        trl_model *model = foreign_model(seed, 0);
        check(trl__kaldi_tree_write(model, temp_path("tree"), 0, &err));
        for (int32_t i = 0; i < model->triples; i++) {
            size_t size;
            char *text = temp_read("tree", &size), *cursor;
            text[size] = '\0';
            assert_string_equal(strtok_r(text, " \n", &cursor), "ContextDependency");
            assert_string_equal(next_word(&cursor), "1");
            assert_string_equal(next_word(&cursor), "0");
            assert_string_equal(next_word(&cursor), "ToPdf");
            assert_int_equal(ask(&cursor, model->triple[i].unit + 1, model->triple[i].state), model->triple[i].tied);
            assert_string_equal(next_word(&cursor), "EndContextDependency");
            free(text);
        }
        trl_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(htk_round_trip), cmocka_unit_test(kaldi_round_trip),
                                       cmocka_unit_test(tree_answers)};
    /* Thousands of files, each synced: in memory where that is possible. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
