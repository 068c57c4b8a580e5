/* Questions from data and from files of HTK and Kaldi, good and broken. */
#include "context_fixture.h"

static trl_error err;

/* ---- looking at questions ---- */

/* The set's units as a text: "SIL - P0", - for TRL__NOTHING. */
static const char *units_of(const trl__questions *q, const trl_model *m, int32_t set)
{
    static char text[2000];
    size_t length = 0;
    text[0] = '\0';
    for (int32_t u = 0; u <= trl_model_units(m); u++) {
        int32_t unit = u < trl_model_units(m) ? u : TRL__NOTHING;
        if (trl__unit_set_has(&q->sets, set, unit))
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", length ? " " : "",
                                       u < trl_model_units(m) ? trl_model_unit(m, u).name : "-");
    }
    return text;
}

static void expect_set(const trl__questions *q, const trl_model *m, int32_t set, const char *name, const char *units,
                       uint32_t positions)
{
    assert_true(set < q->sets.count);
    assert_string_equal(q->sets.names.texts[set], name);
    assert_string_equal(units_of(q, m, set), units);
    assert_int_equal(q->positions[set], positions);
}

static int32_t find_set(const trl__questions *q, const trl_model *m, const char *units)
{
    int32_t set = q->sets.count - 1;
    while (set >= 0 && strcmp(units_of(q, m, set), units) != 0)
        set--;
    return set;
}

/* ---- from data ---- */

/* Frames of a unit around `mean`, in one context, all states. */
static void say(trl__context_stats *s, const trl_model *m, const char *name, double mean)
{
    int32_t unit = trl_model_find_unit(m, name);
    assert_true(unit >= 0);
    for (int32_t state = 0; state < trl_model_unit(m, unit).states; state++)
        for (int i = 0; i < 20; i++) {
            /* by its outer states A would be like E: only the middle one may count */
            double value = state == 1 ? mean : 10 * fmod(7 * mean, 20);
            float frame[1] = {(float)(value + (i % 2 ? 1 : -1))};
            trl__context_stats_add(trl__context_stats_slot(s, (int32_t[]){TRL__NOTHING, unit, 0, state}), 1, frame);
        }
}

static void asks_about_what_is_alike(void **state)
{
    (void)state;
    trl_model *m = model_of("A A B C D E F\n", 1, NULL);
    trl__context_stats *s = stats_for(3, 1, 1);
    trl__questions *q;
    say(s, m, "A", 0);
    say(s, m, "B", 10);
    say(s, m, "C", 0.5);
    say(s, m, "D", 11);
    say(s, m, "E", 20);
    say(s, m, "SIL", 0.1); /* like A, but no phone */
    must_work(trl__questions_from_stats(m, s, &q, &err), &err);
    const char *const want[] = {"A",   "B",     "C",         "D",           "E",     "F",   "A C",
                                "B D", "B D E", "A B C D E", "A B C D E F", "SIL -", "SPN", "SIL SPN -"};
    assert_int_equal(q->sets.count, 14);
    for (int32_t i = 0; i < q->sets.count; i++) {
        if (find_set(q, m, want[i]) < 0)
            fail_msg("no question about %s", want[i]);
        assert_int_equal(q->positions[i], 7);
    }
    assert_string_equal(q->sets.names.texts[find_set(q, m, "SIL SPN -")], "SIL SPN");
    trl__questions_destroy(q);
    trl__context_stats_destroy(s);
    trl_model_destroy(m);
}

static void places_of_a_phone_are_one(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.word_positions = 1;
    trl_model *m = model_of("A A B C\n", 1, &o);
    trl__context_stats *s = stats_for(5, 2, 1);
    trl__questions *q;
    const int32_t key[] = {TRL__NOTHING, 0, trl_model_find_unit(m, "B_E"), 0, 0, 1};
    trl__context_stats_add(trl__context_stats_slot(s, key), 1, (float[]){1});
    must_work(trl__questions_from_stats(m, s, &q, &err), &err);
    expect_set(q, m, 0, "A", "A_B A_I A_E A_S", 31);
    expect_set(q, m, 2, "C", "C_B C_I C_E C_S", 31);
    expect_set(q, m, 3, "A B C", "A_B A_I A_E A_S B_B B_I B_E B_S C_B C_I C_E C_S", 31);
    expect_set(q, m, 7, "begin", "A_B B_B C_B", 31);
    expect_set(q, m, 8, "inside", "A_I B_I C_I", 31);
    expect_set(q, m, 9, "end", "A_E B_E C_E", 31);
    expect_set(q, m, 10, "single", "A_S B_S C_S", 31);
    assert_int_equal(q->sets.count, 11);
    trl__questions_destroy(q);
    trl__context_stats_destroy(s);
    trl_model_destroy(m);
}

/* Nothing seen at all: units alone, phones, and what is no phone. */
static void asks_without_data(void **state)
{
    (void)state;
    trl_model *m = model_of_phones(30, 3, 0, 1);
    trl__context_stats *s = stats_for(3, 1, 1);
    trl__questions *q;
    must_work(trl__questions_from_stats(m, s, &q, &err), &err);
    assert_int_equal(q->sets.count, 34);
    assert_string_equal(q->sets.names.texts[30], "P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 ... (30)");
    trl__questions_destroy(q);
    trl__context_stats_slot(s, (int32_t[]){0, 99, 0, 0});
    assert_int_equal(trl__questions_from_stats(m, s, &q, &err), TRL_EINVAL);
    assert_null(q);
    trl__context_stats_destroy(s);
    trl_model_destroy(m);
}

/* ---- files ---- */

static trl_model *phones(int word_positions)
{
    trl_model_options o = trl_model_defaults();
    o.word_positions = word_positions;
    o.silence = "sil";
    return model_of("A a m n ng aa\n", 1, &o);
}

static int read_text(const trl_model *m, int32_t width, const char *text, trl__questions **q, char **unknown)
{
    temp_write("questions.txt", text, strlen(text));
    return trl__questions_read(temp_path("questions.txt"), m, width, width / 2, q, unknown, &err);
}

static void reads_questions_of_htk(void **state)
{
    (void)state;
    const char *text = "# what HHEd reads\r\nRO 100.0 \"stats\"\nTR 0\n"
                       "QS \"L_Nasal\"\t{ \"m-*\",\"n-*\" , 'ng-*' }\n"
                       "  QS R_Nasal {*+m,*+n,*+ng}\n"
                       "QS 'C-Vowel' { *-a+*,\n\n *-aa+* }\n"
                       "QS \"R_A\" { \"*+a*\" }\n"
                       "QS \"L_N\" { \"n?-*\" }\n"
                       "QS \"Right\" { *+zh, *+n, *+zh }\n"
                       "QS \"R_Silence\" { *+sil }\n"
                       "QS \"R_Any\" { *+* }\n"
                       "QS \"R_Unknown\" { *+x, *+y }\n"
                       "QS \"R_Odd\" { *-m+n, *-n }\n"
                       "TB 350 \"ST_m_2_\" {(\"m\",\"*-m+*\",\"m+*\",\"*-m\").state[2]}\n";
    trl_model *m = phones(0);
    trl__questions *q;
    char *unknown;
    must_work(read_text(m, 3, text, &q, &unknown), &err);
    assert_string_equal(unknown, "zh x y m+n");
    trl__free(unknown);
    expect_set(q, m, 0, "Nasal", "m n ng", 5);
    expect_set(q, m, 1, "Vowel", "a aa", 2 | 4);
    expect_set(q, m, 2, "N", "ng", 1);
    expect_set(q, m, 3, "Right", "n", 4 | 2);
    expect_set(q, m, 4, "Silence", "sil -", 4);
    assert_int_equal(q->sets.count, 5);
    trl__questions_destroy(q);
    trl_model_destroy(m);
}

static void knows_the_places_of_quinphones(void **state)
{
    (void)state;
    const char *text = "QS LL-A { a^* }\nQS L-M { *^m-* }\nQS L-N { n-* }\nQS C-A { *-aa+* }\nQS R-NG { *+ng=* }\n"
                       "QS RR-M { *=m@* }\nQS RR-NA { *=m, *=a }\n";
    trl_model *m = phones(0);
    trl__questions *q;
    for (int32_t width = 3; width <= 5; width += 2) {
        must_work(read_text(m, width, text, &q, NULL), &err);
        if (width == 5) {
            expect_set(q, m, 0, "A", "a", 1);
            expect_set(q, m, 1, "M", "m", 2 | 16);
            expect_set(q, m, 2, "N", "n", 2);
            expect_set(q, m, 3, "A.2", "aa", 4);
            expect_set(q, m, 4, "NG", "ng", 8);
            expect_set(q, m, 5, "NA", "a m", 16);
        } else {
            expect_set(q, m, 0, "M", "m", 1);
            expect_set(q, m, 3, "NG", "ng", 4);
        }
        assert_int_equal(q->sets.count, width == 5 ? 6 : 4);
        trl__questions_destroy(q);
    }
    trl_model_destroy(m);
}

static void reads_sets_of_kaldi(void **state)
{
    (void)state;
    trl_model *m = phones(1);
    trl__questions *q;
    char *unknown;
    must_work(read_text(m, 3, "a aa\n\nsil SPN xx\n m_B n_B\t\n aa a\nm_B m_I m_E m_S n_B\n?\n", &q, &unknown), &err);
    assert_string_equal(unknown, "xx ?");
    trl__free(unknown);
    expect_set(q, m, 0, "a aa", "a_B a_I a_E a_S aa_B aa_I aa_E aa_S", 7);
    expect_set(q, m, 1, "sil SPN", "sil SPN -", 7);
    expect_set(q, m, 2, "m_B n_B", "m_B n_B", 7);
    expect_set(q, m, 3, "m n_B", "m_B m_I m_E m_S n_B", 7);
    assert_int_equal(q->sets.count, 4);
    trl__questions_destroy(q);
    trl_model_destroy(m);
}

static void says_what_is_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } broken[] = {
        {"", "no question is about units of the model;"},
        {"x y z\n", "no question is about units of the model, such as about x;"},
        {"QS \"A\" { *+zh }\n", "such as about zh"},
        {"QS \"A\" { *+a }\nmore\n", ":2: this is no command of HHEd"},
        {"\nQS\t\n{ *+a }\n", ":2: the question has no name"},
        {"QS \"A { *+a }\n", ":1: the question has no name"},
        {"QS \"A\" *+a\n", ":1: no list of patterns"},
        {"QS \"A\" {}\n", ":1: a pattern is missing"},
        {"QS \"A\" { *+a,\n\n }\n", ":3: a pattern is missing"},
        {"QS \"A\" { \"*+a }\n", ":1: a pattern is missing"},
        {"QS \"A\" { *+a", ":1: a comma or a closing brace"},
        {"QS \"A\" { *+a\nQS \"B\" { *+a }\n", ":2: a comma or a closing brace"},
        {"QS \"A\" { *+a,\n m-* }\n", ":2: 'm-*' asks about another place"},
        {"QS \"A\" { *+\xff }\n", ":1: a pattern is missing, too long or no UTF-8"},
        {"a\n\xff\n", ":2: this is no text in UTF-8"},
    };
    trl_model *m = phones(0);
    trl__questions *q;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char *unknown = NULL;
        assert_int_equal(read_text(m, 3, broken[i].text, &q, &unknown), TRL_EFORMAT);
        assert_true(q == NULL && unknown == NULL);
        if (!strstr(err.text, broken[i].says))
            fail_msg("'%s' does not say '%s'", err.text, broken[i].says);
    }
    assert_int_equal(trl__questions_read(temp_path("none"), m, 3, 1, &q, NULL, &err), TRL_ENOENT);
    trl_model_destroy(m);
}

static void patterns_have_a_limit(void **state)
{
    (void)state;
    trl_model *m = phones(0);
    trl__questions *q;
    char text[3000];
    for (size_t length = TRL_ALIGNMENT; length < 2500; length *= 6) {
        for (int quoted = 0; quoted < 2; quoted++) {
            snprintf(text, sizeof text, "QS A { %s%*s%s, *+a }", quoted ? "'" : "", (int)length, "", quoted ? "'" : "");
            memset(strchr(text, '{') + 2 + quoted, 'x', length);
            memcpy(strchr(text, '{') + 2 + quoted, "*+", 2);
            assert_int_equal(read_text(m, 3, text, &q, NULL), length < 1024 ? 0 : TRL_EFORMAT);
            trl__questions_destroy(q);
        }
    }
    trl_model_destroy(m);
}

static void runs_out_of_memory_cleanly(void **state)
{
    (void)state;
    trl_model *m = phones(1);
    trl__context_stats *s = stats_for(3, 1, 1);
    dice d = {3, 0};
    random_contexts(&d, s, m, 100, 3);
    for (int kind = 0; kind < 3; kind++) {
        int n = 1, code = -1;
        for (; code < 0; n++) {
            trl__questions *q;
            trl__text text;
            char *unknown = NULL;
            const char *content = kind == 0 ? "m n\na x\n" : "QS L_A { m-*, n-*, o-* }\nQS B { *+aa }\n";
            must_work(trl__text_from_memory("text", content, strlen(content), &text, &err), &err);
            trl__memory_fail_after(n);
            code = kind == 2 ? trl__questions_from_stats(m, s, &q, &err)
                             : trl__questions_parse("text", &text, m, 3, 1, &q, &unknown, &err);
            trl__memory_fail_after(0);
            assert_true(code == 0 ? q != NULL : code == TRL_ENOMEM && q == NULL && unknown == NULL);
            trl__questions_destroy(q);
            trl__free(unknown);
            trl__text_free(&text);
        }
        assert_true(n > 8);
    }
    trl__context_stats_destroy(s);
    trl_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_about_what_is_alike),
        cmocka_unit_test(places_of_a_phone_are_one),
        cmocka_unit_test(asks_without_data),
        cmocka_unit_test(reads_questions_of_htk),
        cmocka_unit_test(knows_the_places_of_quinphones),
        cmocka_unit_test(reads_sets_of_kaldi),
        cmocka_unit_test(says_what_is_broken),
        cmocka_unit_test(patterns_have_a_limit),
        cmocka_unit_test(runs_out_of_memory_cleanly),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
