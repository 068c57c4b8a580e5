/* Keys of M-phones: they sort as the definition says, every longer context comes before what it backs off to and nothing else between, and text
 * gives the same key back, whatever phones are called. */
#include "align_fixture.h"

#include <trellis/bam_key.h>

#define CASES 40
#define KEYS 400

static const char *const odd_names = "a\n#\n___\n\\\n\\#\n/\n~\nr\\\nb_1\n_\nɑ̃\nʃ\ns_{\n@\n1\n";

static trl_bam_phones *phones_of(const char *text, int boundaries)
{
    trl_bam_phones *phones;
    must(trl_bam_phones_of_text(text, boundaries, &phones, &err));
    return phones;
}

/* Few symbols, so that contexts have much in common; one side in five is cut short. */
static trl_bam_mphone random_mphone(dice *d, int order, int symbols, int phones)
{
    trl_bam_mphone m = {.phone = roll_int(d, 0, phones - 1), .state = roll_int(d, 0, 2)};
    m.left = roll_int(d, 0, 4) == 0 ? roll_int(d, 0, order) : order;
    m.right = roll_int(d, 0, 4) == 0 ? roll_int(d, 0, order) : order;
    for (int i = 0; i < order; i++) {
        m.left_symbol[i] = (uint16_t)roll_int(d, 0, symbols - 1);
        m.right_symbol[i] = (uint16_t)roll_int(d, 0, symbols - 1);
    }
    return m;
}

/* By definition: phone, state, then symbols in order of proximity, none being larger than any. */
static int compare(const trl_bam_mphone *a, const trl_bam_mphone *b, int order)
{
    int difference = a->phone != b->phone ? a->phone - b->phone : a->state - b->state;
    for (int i = 0; difference == 0 && i < order; i++) {
        int x = i < a->left ? a->left_symbol[i] : 1000000, y = i < b->left ? b->left_symbol[i] : 1000000;
        difference = x - y;
        x = i < a->right ? a->right_symbol[i] : 1000000, y = i < b->right ? b->right_symbol[i] : 1000000;
        difference = difference ? difference : x - y;
    }
    return (difference > 0) - (difference < 0);
}

static int larger_of(int a, int b)
{
    return a > b ? a : b;
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void test_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        int order = roll_int(&d, 1, seed % 8 == 0 ? TRL_BAM_ORDER_MOST : 5);
        for (int i = 0; i < KEYS; i++) {
            trl_bam_mphone a = random_mphone(&d, order, 3, 2), b = random_mphone(&d, order, 3, 2), back;
            unsigned char x[TRL_BAM_KEY_MOST], y[TRL_BAM_KEY_MOST];
            trl_bam_key_write(&a, order, x);
            trl_bam_key_write(&b, order, y);
            assert_int_equal(sign(memcmp(x, y, trl_bam_key_size(order))), compare(&a, &b, order));
            must(trl_bam_key_read(NULL, order, x, &back, &err));
            assert_int_equal(compare(&a, &back, order), 0);
            assert_int_equal(trl_bam_key_order(order, x), larger_of(a.left, a.right));
        }
    }
}

/* As the paper has it, on the lengths alone. */
static int shorten(trl_bam_mphone *m)
{
    if (m->left <= 1 && m->right <= 1)
        return 0;
    int left = m->left, right = m->right;
    m->left -= left >= right;
    m->right -= right >= left;
    return 1;
}

static size_t key_bytes;

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, key_bytes);
}

typedef unsigned char key[TRL_BAM_KEY_MOST];

static int is_in_chain(int order, const key longer, const key wanted)
{
    key now;
    memcpy(now, longer, key_bytes);
    while (trl_bam_key_back_off(order, now))
        if (memcmp(now, wanted, key_bytes) == 0)
            return 1;
    return 0;
}

/* All that back off to a key stand directly before it: that is what a stack needs. */
static void check_nesting(int order, key *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, by_bytes);
    for (size_t i = 0; i < count; i++) {
        size_t first = i;
        while (first > 0 &&
               (is_in_chain(order, keys[first - 1], keys[i]) || memcmp(keys[first - 1], keys[i], key_bytes) == 0))
            first--;
        for (size_t j = 0; j < count; j++)
            if (is_in_chain(order, keys[j], keys[i]))
                assert_in_range(j, first, i);
    }
}

static void test_back_off(void **state)
{
    (void)state;
    key *keys = malloc(sizeof *keys * 150 * TRL_BAM_ORDER_MOST);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed, .stream = 1};
        int order = roll_int(&d, 1, 5);
        size_t count = 0;
        key_bytes = trl_bam_key_size(order);
        for (int i = 0; i < 60; i++) {
            trl_bam_mphone m = random_mphone(&d, order, 2, 1);
            key now;
            trl_bam_key_write(&m, order, now);
            for (int more = 1; more; more = trl_bam_key_back_off(order, now)) {
                trl_bam_mphone back;
                must(trl_bam_key_read(NULL, order, now, &back, &err));
                assert_int_equal(compare(&m, &back, order), 0);
                memcpy(keys[count++], now, key_bytes);
                shorten(&m);
            }
        }
        check_nesting(order, keys, count);
    }
    free(keys);
}

/* A chain is one shard's, and shards are about even. */
static void test_shards(void **state)
{
    (void)state;
    dice d = {.seed = 5};
    int count[7] = {0};
    for (int i = 0; i < 7000; i++) {
        trl_bam_mphone m = random_mphone(&d, 5, 40, 40);
        key now;
        trl_bam_key_write(&m, 5, now);
        uint32_t shard = trl_bam_key_shard(now, 7);
        count[shard]++;
        while (trl_bam_key_back_off(5, now))
            assert_int_equal(trl_bam_key_shard(now, 7), shard);
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(count[i], 850, 1150); /* five standard deviations */
}

static void test_text(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * CASES; seed++) {
        dice d = {.seed = seed, .stream = 2};
        trl_bam_phones *phones = phones_of(odd_names, seed % 2 == 0);
        int order = roll_int(&d, 1, 5);
        for (int i = 0; i < KEYS / 4; i++) {
            trl_bam_mphone m = random_mphone(&d, order, trl_bam_phones_symbols(phones), trl_bam_phones_count(phones));
            char text[1000];
            key now, back;
            trl_bam_key_write(&m, order, now);
            assert_true(trl_bam_key_format(phones, order, now, text, sizeof text) < sizeof text);
            must(trl_bam_key_parse(phones, order, text, back, &err));
            assert_memory_equal(now, back, trl_bam_key_size(order));
        }
        trl_bam_phones_destroy(phones);
    }
}

static void check_chain(const trl_bam_phones *phones, const char *const *texts)
{
    key now;
    char text[200];
    must(trl_bam_key_parse(phones, 3, texts[0], now, &err));
    for (int i = 0; texts[i]; i++) {
        assert_int_equal(trl_bam_key_format(phones, 3, now, text, sizeof text), strlen(texts[i]));
        assert_string_equal(text, texts[i]);
        assert_int_equal(trl_bam_key_back_off(3, now), texts[i + 1] != NULL);
    }
}

/* [001] II, and its rule for what is not symmetric. */
static void test_paper(void **state)
{
    (void)state;
    trl_bam_phones *phones = phones_of("sil\nae\nk\nsh\nih\nn\nf\n", 1);
    check_chain(phones, (const char *const[]){"ih_1 / k sh ___ n sil", "ih_1 / sh ___ n", NULL});
    check_chain(phones,
                (const char *const[]){"ih_1 / ae k sh ___ n sil", "ih_1 / k sh ___ n sil", "ih_1 / sh ___ n", NULL});
    check_chain(phones, (const char *const[]){"n_3 / k sh ih ___", "n_3 / sh ih ___", "n_3 / ih ___", NULL});
    check_chain(phones, (const char *const[]){"ae_2 / # ___ k sh ih", "ae_2 / # ___ k sh", "ae_2 / # ___ k", NULL});
    check_chain(phones, (const char *const[]){"sil_1 / ___", NULL});
    key a;
    const unsigned char wanted[16] = {0, 4, 0, 0, 0, 3, 0, 5, 0, 2, 0, 0, 0, 1, 0xff, 0xff};
    must(trl_bam_key_parse(phones, 3, "ih_1 / ae k sh ___ n sil", a, &err));
    assert_memory_equal(a, wanted, 16); /* sh n k sil ae ~ */
    trl_bam_phones_destroy(phones);
}

static void refuse(const trl_bam_phones *phones, const char *text, int code, const char *part)
{
    key now;
    assert_int_equal(trl_bam_key_parse(phones, 2, text, now, &err), code);
    assert_non_null(strstr(err.text, part));
}

static void test_refused(void **state)
{
    (void)state;
    trl_bam_phones *phones = phones_of("a\nb\n", 0), *none;
    refuse(phones, "", TRL_EFORMAT, "no M-phone");
    refuse(phones, "a_1 a ___ b", TRL_EFORMAT, "no M-phone");
    refuse(phones, "a / a ___ b", TRL_EFORMAT, "state");
    refuse(phones, "a_0 / a ___ b", TRL_EFORMAT, "state");
    refuse(phones, "a_99999999999 / a ___ b", TRL_EFORMAT, "state");
    refuse(phones, "c_1 / a ___ b", TRL_ENOENT, "'c'");
    refuse(phones, "a_1 / a c ___ b", TRL_ENOENT, "'c'");
    refuse(phones, "a_1 / # ___ b", TRL_ENOENT, "word boundary");
    refuse(phones, "a_1 / a b", TRL_EFORMAT, "missing");
    refuse(phones, "a_1 / a ___ b ___", TRL_EFORMAT, "one only");
    refuse(phones, "a_1 / a a a ___ b", TRL_EFORMAT, "more than 2");
    unsigned char gap[] = {0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0}, large[] = {0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0};
    trl_bam_mphone m;
    assert_int_equal(trl_bam_key_read(phones, 2, gap, &m, &err), TRL_ECORRUPT);
    assert_int_equal(trl_bam_key_read(phones, 2, large, &m, &err), TRL_ECORRUPT);
    assert_int_equal(trl_bam_phones_of_text("a\nb\na\n", 0, &none, &err), TRL_EFORMAT);
    assert_int_equal(trl_bam_phones_of_text("a b\n", 0, &none, &err), TRL_EFORMAT);
    assert_int_equal(trl_bam_phones_of_text("a\n\nb\n", 0, &none, &err), TRL_EFORMAT);
    trl_bam_phones_destroy(phones);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),  cmocka_unit_test(test_back_off),
                                       cmocka_unit_test(test_shards), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_paper),  cmocka_unit_test(test_refused)};
    return RUN(tests);
}
