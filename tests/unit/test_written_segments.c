/* Words as they were written, from those that are said: by hand. */
#include "align/written_segments.h"
#include "base/memory.h"
#include "cmocka_test.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static trl_error err;

/* – Twenty-one years’ [laugh]: twenty, a pause, one, a pause, years, [laugh] */
static const uint32_t spoken[] = {0, 2, 1, 1};
static const trl_utterance utterance = {.id = "u",
                                        .text = "twenty one years [laugh]",
                                        .written = "\u2013 Twenty-one years\u2019 [laugh]",
                                        .spoken = spoken};
static trl_segment words[] = {
    {"", 0, 5, 0, 0.05, -1, -1, 0},
    {"twenty", 5, 15, 0.05, 0.15, 0.9f, 0, 1},
    {"", 15, 20, 0.15, 0.2, 0.1f, -1, 0},
    {"one", 20, 50, 0.2, 0.5, 0.5f, 1, 0},
    {"", 50, 52, 0.5, 0.52, 0.3f, -1, 0},
    {"years", 52, 60, 0.52, 0.6, 0.7f, 2, 2},
    {"[laugh]", 60, 70, 0.6, 0.7, 1.0f, 3, 0},
};
static trl_segment phones[] = {
    {"SIL", 0, 5, 0, 0.05, -1, 0, 0},     {"T", 5, 10, 0.05, 0.1, -1, 1, 1},   {"I", 10, 15, 0.1, 0.15, -1, 1, 2},
    {"SIL", 15, 20, 0.15, 0.2, -1, 2, 0}, {"W", 20, 50, 0.2, 0.5, -1, 3, 3},   {"SIL", 50, 52, 0.5, 0.52, -1, 4, 0},
    {"Y", 52, 60, 0.52, 0.6, -1, 5, 4},   {"SPN", 60, 70, 0.6, 0.7, -1, 6, 5},
};
static const trl__segmentation said = {.words = {words, COUNT(words), 0}, .phones = {phones, COUNT(phones), 0}};

static void what_is_cut_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *label;
        int32_t first, end, index;
        float confidence;
    } expected[] = {{"", 0, 5, -1, -1},
                    {"Twenty-one", 5, 50, 1, (0.9f * 10 + 0.5f * 30) / 40},
                    {"", 50, 52, -1, 0.3f},
                    {"years\u2019", 52, 60, 2, 0.7f},
                    {"[laugh]", 60, 70, 3, 1}};
    static const int32_t word_of[] = {0, 1, 1, 1, 1, 2, 3, 4};
    trl__written_segments out = {0};
    for (int round = 0; round < 2; round++) { /* memory is used again */
        assert_int_equal(trl__written_segments_make(&out, &said, &utterance, &err), 0);
        assert_int_equal(out.words.count, COUNT(expected));
        for (size_t i = 0; i < COUNT(expected); i++) {
            const trl_segment *s = &out.words.items[i];
            assert_string_equal(s->label, expected[i].label);
            assert_int_equal(s->first, expected[i].first);
            assert_int_equal(s->end, expected[i].end);
            assert_true(s->start == s->first / 100.0 && s->stop == s->end / 100.0);
            assert_int_equal(s->index, expected[i].index);
            assert_true(s->confidence - expected[i].confidence < 1e-6f &&
                        expected[i].confidence - s->confidence < 1e-6f);
        }
        assert_int_equal(out.words.items[1].id, 1);
        assert_int_equal(out.phones.count, COUNT(phones));
        for (size_t i = 0; i < COUNT(phones); i++) {
            assert_string_equal(out.phones.items[i].label, phones[i].label);
            assert_int_equal(out.phones.items[i].index, word_of[i]);
        }
    }
    trl__written_segments_free(&out);
}

static void memory_runs_out(void **state)
{
    (void)state;
    trl__written_segments out = {0};
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl__written_segments_make(&out, &said, &utterance, &err);
        trl__memory_fail_after(0);
        trl__written_segments_free(&out);
        assert_true(n < 30);
    }
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_cut_is_one), cmocka_unit_test(memory_runs_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
