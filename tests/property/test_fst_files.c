/* Machines survive being written and read in every form; language models give sentences the probability that their
 * tables of n-grams define. */
#include "fst/fst_format.h"
#include "fst_fixture.h"
#include "temp_folder.h"

static trl_error err;

static void assert_same_machine(const trl_fst *a, const trl_fst *b)
{
    assert_int_equal(trl_fst_semiring(a), trl_fst_semiring(b));
    assert_int_equal(trl_fst_states(a), trl_fst_states(b));
    assert_int_equal(trl_fst_start(a), trl_fst_start(b));
    for (int32_t s = 0; s < trl_fst_states(a); s++) {
        trl_weight x = trl_fst_final(a, s), y = trl_fst_final(b, s);
        assert_memory_equal(&x, &y, sizeof x);
        assert_int_equal(trl_fst_arc_count(a, s), trl_fst_arc_count(b, s));
        for (uint32_t i = 0; i < trl_fst_arc_count(a, s); i++) {
            trl_arc p = trl_fst_arc(a, s, i), q = trl_fst_arc(b, s, i);
            assert_memory_equal(&p, &q, sizeof p);
        }
    }
}

static void assert_same_symbols(const trl_symbols *a, const trl_symbols *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (!a)
        return;
    assert_string_equal(trl_symbols_title(a), trl_symbols_title(b));
    assert_int_equal(trl_symbols_count(a), trl_symbols_count(b));
    for (size_t i = 0; i < trl_symbols_count(a); i++) {
        assert_int_equal(trl_symbols_label(a, i), trl_symbols_label(b, i));
        assert_string_equal(trl_symbols_name(a, trl_symbols_label(a, i)), trl_symbols_name(b, trl_symbols_label(b, i)));
    }
}

static trl_symbols *some_symbols(random_source *r)
{
    trl_symbols *symbols = NULL;
    if (random_chance(r, 0.5))
        return NULL;
    assert_int_equal(trl_symbols_create("some words", &symbols, NULL), 0);
    for (int32_t i = 0; i < 30; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", (int)(i * 7 % 30));
        assert_int_equal(trl_symbols_add(symbols, name, i * 11 % 30, NULL), 0);
    }
    return symbols;
}

/* Weights that have no short decimal form, or are zero. */
static trl_fst *odd_machine(int round, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, 12),
                         .labels = 29,
                         .epsilons = 0.2,
                         .acceptor = (int)random_below(r, 2),
                         .cyclic = 1};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    trl_fst *fst = random_machine(&kind, r);
    for (int32_t s = 0; s < kind.states; s += 2) {
        trl_weight w = {(float)random_below(r, 1u << 30) / 12345.678f, 0};
        w.second = kind.semiring == TRL_LATTICE ? w.value / -3 : 0;
        assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){1, 1, w, s}, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){3, 2, trl_weight_zero(kind.semiring), 0}, NULL), 0);
    }
    trl_fst_set_symbols(fst, some_symbols(r), some_symbols(r));
    return fst;
}

static void binary_files_give_the_machine_back(void **state)
{
    (void)state;
    random_source r = {21};
    for (int round = 0; round < 150; round++) {
        trl_fst *fst = odd_machine(round, &r), *back;
        trl_fst_format format = round % 3 == 0 ? TRL_FST_CONST : TRL_FST_VECTOR;
        assert_int_equal(trl_fst_write(fst, temp_path("m"), format, &err), 0);
        assert_int_equal(trl_fst_read(temp_path("m"), &back, &err), 0);
        assert_same_machine(fst, back);
        assert_same_symbols(trl_fst_input_symbols(fst), trl_fst_input_symbols(back));
        assert_same_symbols(trl_fst_output_symbols(fst), trl_fst_output_symbols(back));
        trl_fst_destroy(fst);
        trl_fst_destroy(back);
    }
}

static void text_gives_the_machine_back(void **state)
{
    (void)state;
    random_source r = {22};
    for (int round = 0; round < 150; round++) {
        trl_fst *fst = odd_machine(round, &r), *back;
        trl_symbols *input = (trl_symbols *)trl_fst_input_symbols(fst),
                    *output = (trl_symbols *)trl_fst_output_symbols(fst);
        trl_fst_text_options o = {.keep_state_numbering = 1, .isymbols = input, .osymbols = output};
        uint32_t properties;
        assert_int_equal(trl_fst_properties(fst, &properties, NULL), 0);
        o.acceptor = random_chance(&r, 0.5) && (properties & TRL_FST_ACCEPTOR);
        o.show_weight_one = (int)random_below(&r, 2);
        o.numeric = round % 5 == 0;
        assert_int_equal(trl_fst_write_text(fst, temp_path("t"), &o, &err), 0);
        if (o.numeric)
            o.isymbols = o.osymbols = NULL;
        assert_int_equal(trl_fst_read_text(temp_path("t"), trl_fst_semiring(fst), &o, &back, &err), 0);
        assert_same_machine(fst, back);
        trl_fst_destroy(fst);
        trl_fst_destroy(back);
    }
}

/* What is damaged anywhere is refused, or is a machine that can be used. */
static void damaged_files_are_survived(void **state)
{
    (void)state;
    random_source r = {23};
    for (int round = 0; round < 60; round++) {
        trl_fst *fst = odd_machine(round, &r), *back;
        assert_int_equal(trl_fst_write(fst, temp_path("m"), (trl_fst_format)(round % 2), &err), 0);
        trl_fst_destroy(fst);
        static unsigned char bytes[20000];
        FILE *file = fopen(temp_path("m"), "rb");
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        assert_true(size > 0 && size < sizeof bytes);
        for (int change = 0; change < 100; change++) {
            size_t at = random_below(&r, (uint32_t)size);
            unsigned char old = bytes[at];
            bytes[at] = (unsigned char)(change % 4 ? random_below(&r, 256) : 0xFF);
            trl__source source;
            assert_int_equal(trl__source_from_memory("m", bytes, size - (change % 10 == 0 ? at : 0), &source, NULL), 0);
            if (trl__fst_read(&source, NULL, &back, &err) == 0) {
                assert_int_equal(trl_fst_verify(back, &err), 0);
                trl_fst_destroy(back);
            }
            trl__source_close(&source);
            bytes[at] = old;
        }
    }
}

/* ---- Language models ---- */

enum { WORDS = 4, ORDER = 3, BEGIN = WORDS, END = WORDS + 1, ALL = WORDS + 2, NGRAMS = ALL * ALL * ALL };

/* The n-grams of one model: index by words, of the given order; `there` says whether it is listed. */
typedef struct table {
    int there[ORDER + 1][NGRAMS];
    double logarithm[ORDER + 1][NGRAMS], backoff[ORDER + 1][NGRAMS];
} table;

static const char *const names[ALL] = {"a", "b", "c", "d", "<s>", "</s>"};

static int key_of(const int *words, int count)
{
    int key = 0;
    for (int i = 0; i < count; i++)
        key = key * ALL + words[i];
    return key;
}

/* log10 P(word | history), as the format defines it. */
static double probability(const table *t, const int *history, int count, int word)
{
    int words[ORDER];
    if (count > ORDER - 1)
        return probability(t, history + count - (ORDER - 1), ORDER - 1, word);
    memcpy(words, history, (size_t)count * sizeof *words);
    words[count] = word;
    int key = key_of(words, count + 1);
    if (t->there[count + 1][key])
        return t->logarithm[count + 1][key];
    if (count == 0)
        return -INFINITY;
    int context = key_of(history, count);
    return (t->there[count][context] ? t->backoff[count][context] : 0) + probability(t, history + 1, count - 1, word);
}

/* Prefixes and suffixes of n-grams are missing now and then, as in pruned models. */
static void random_table(table *t, random_source *r)
{
    memset(t, 0, sizeof *t);
    int size = ALL;
    for (int n = 1; n <= ORDER; n++, size *= ALL)
        for (int key = 0; key < size; key++) {
            int words[ORDER], rest = key, usable = 1;
            for (int i = n - 1; i >= 0; i--, rest /= ALL)
                words[i] = rest % ALL;
            for (int i = 0; i < n; i++)
                usable &= (words[i] != BEGIN || i == 0) && (words[i] != END || i == n - 1);
            t->there[n][key] = usable && random_chance(r, n == 1 ? 0.9 : 0.3);
            t->logarithm[n][key] = -(double)random_below(r, 2000) / 500;
            t->backoff[n][key] = n < ORDER && random_chance(r, 0.7) ? (double)random_below(r, 1000) / 500 - 1.5 : 0;
        }
}

static void write_table(const table *t, random_source *r)
{
    FILE *file = fopen(temp_path("lm.arpa"), "w");
    assert_non_null(file);
    fprintf(file, "a remark\n\n\\data\\\n");
    int size = ALL;
    for (int n = 1; n <= ORDER; n++, size *= ALL) {
        int count = 0;
        for (int key = 0; key < size; key++)
            count += t->there[n][key];
        fprintf(file, "ngram %d=%d\n", n, count);
    }
    size = ALL;
    for (int n = 1; n <= ORDER; n++, size *= ALL) {
        fprintf(file, "\n\\%d-grams:\n", n);
        for (int turn = (int)random_below(r, (uint32_t)size), key = turn, first = 1; first || key != turn;
             first = 0, key = (key + 1) % size) {
            if (!t->there[n][key])
                continue;
            fprintf(file, "%.17g\t", t->logarithm[n][key]);
            for (int i = n - 1, power = size / ALL; i >= 0; i--, power /= ALL)
                fprintf(file, "%s%s", names[key / power % ALL], i > 0 ? " " : "");
            if (t->backoff[n][key] != 0)
                fprintf(file, "\t%.17g", t->backoff[n][key]);
            fputc('\n', file);
        }
    }
    fprintf(file, "\n\\end\\\n");
    assert_int_equal(fclose(file), 0);
}

/* The arc of a label, or of back-off; its number, or -1. */
static int find_arc(const trl_fst *fst, int32_t state, int32_t label)
{
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, state); i++)
        if (trl_fst_arc(fst, state, i).ilabel == label)
            return (int)i;
    return -1;
}

/* The cost of a sentence where back-off arcs are taken only if nothing else fits. */
static double cost_of(const trl_fst *fst, const trl_symbols *words, const int *sentence, int count, int32_t backoff)
{
    int32_t state = trl_fst_start(fst);
    double cost = 0;
    for (int i = 0; i <= count;) {
        int64_t label = i < count ? trl_symbols_find(words, names[sentence[i]]) : TRL_NO_LABEL;
        int arc = label >= 0 ? find_arc(fst, state, (int32_t)label) : -1;
        trl_weight final = trl_fst_final(fst, state);
        if (i == count && !isinf(final.value))
            return cost + (double) final.value;
        if (arc < 0)
            arc = find_arc(fst, state, backoff);
        else
            i++;
        if (arc < 0)
            return INFINITY;
        trl_arc a = trl_fst_arc(fst, state, (uint32_t)arc);
        assert_int_equal(a.ilabel, a.olabel);
        cost += (double)a.weight.value;
        state = a.next;
    }
    return cost;
}

static void compare_sentences(const table *t, const trl_fst *fst, const trl_symbols *words, int32_t backoff,
                              random_source *r)
{
    for (int sentence = 0; sentence < 60; sentence++) {
        int history[16] = {BEGIN}, count = (int)random_below(r, 9), begun = t->there[1][BEGIN];
        double expected = 0;
        for (int i = 0; i <= count; i++) {
            history[i + 1] = i < count ? (int)random_below(r, WORDS) : END;
            expected += probability(t, history + !begun, i + begun, history[i + 1]);
        }
        double cost = cost_of(fst, words, history + 1, count, backoff), wanted = -expected * log(10);
        if (!(cost == wanted || fabs(cost - wanted) < 1e-4))
            fail_msg("%g instead of %g", cost, wanted);
    }
}

static void sentences_have_the_probability_of_the_model(void **state)
{
    (void)state;
    static table t;
    random_source r = {24};
    for (int round = 0; round < 150; round++) {
        trl_symbols *words = NULL;
        trl_fst *fst;
        uint64_t skipped;
        uint32_t properties;
        random_table(&t, &r);
        if (!t.there[1][BEGIN]) /* then no n-gram begins with it */
            for (int n = 2, power = ALL; n <= ORDER; n++, power *= ALL)
                for (int key = BEGIN * power; key < (BEGIN + 1) * power; key++)
                    t.there[n][key] = 0;
        write_table(&t, &r);
        trl_arpa_options o = {.add_words = 1, .semiring = (trl_semiring)(round % 2), .backoff = round % 3 ? 0 : 3};
        assert_int_equal(trl_symbols_create("w", &words, NULL), 0);
        assert_int_equal(trl_symbols_add(words, "<eps>", 0, NULL), 0);
        if (o.backoff)
            assert_int_equal(trl_symbols_add(words, "b", 7, NULL) | trl_symbols_add(words, "c", 2, NULL), 0);
        o.words = words;
        int code = trl_fst_read_arpa(temp_path("lm.arpa"), &o, &fst, &skipped, &err);
        if (code < 0)
            fail_msg("%s", err.text);
        assert_int_equal(skipped, 0);
        assert_int_equal(trl_fst_verify(fst, &err), 0);
        assert_int_equal(trl_fst_properties(fst, &properties, NULL), 0);
        assert_true(properties & TRL_FST_ISORTED);
        assert_true(properties & TRL_FST_IDETERMINISTIC);
        compare_sentences(&t, fst, words, o.backoff, &r);
        trl_fst_destroy(fst);
        trl_symbols_destroy(words);
    }
}

static void unknown_words_are_left_out(void **state)
{
    (void)state;
    static const char text[] = "\\data\\\nngram 1=4\nngram 2=2\n\\1-grams:\n-1 a -1\n-2 b\n-1 </s>\n-99 "
                               "<s>\n\\2-grams:\n-1 a b\n-1 a a\n\\end\\\n";
    trl_symbols *words;
    trl_fst *fst;
    uint64_t skipped;
    temp_write("lm", text, sizeof text - 1);
    assert_int_equal(trl_symbols_create("w", &words, NULL), 0);
    assert_int_equal(trl_symbols_add(words, "a", 5, NULL), 0);
    assert_int_equal(
        trl_fst_read_arpa(temp_path("lm"), &(trl_arpa_options){.words = words, .keep_words = 1}, &fst, &skipped, &err),
        0);
    assert_int_equal(skipped, 2);
    assert_ptr_equal(trl_fst_output_symbols(fst), words);
    int aa[2] = {0, 0};
    assert_true(fabs(cost_of(fst, words, aa, 2, 0) - (1 + 1 + 1 + 1) * log(10)) < 1e-4);
    trl_fst_destroy(fst);
    trl_symbols_destroy(words);
}

static void wrong_models_are_refused_with_the_line(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"ngram 1=0\n", "there is no \\data\\ line"},
        {"\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n", "it is cut off"},
        {"\\data\\\nngram 1=2\n\\1-grams:\n-1 a\n\\end\\\n", ":5: 2 n-grams of 1 words were announced, and 1 found"},
        {"\\data\\\nngram 1=1\nngram 2=1\n\\1-grams:\n-1 a\n\\end\\\n", ":6: the n-grams of 2 words are missing"},
        {"\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n-1 b\n\\end\\\n", ":5: more n-grams of 1 words"},
        {"\\data\\\nngram 1=1\n\\2-grams:\n", ":3: expected \\1-grams:"},
        {"\\data\\\nngram 1=1\n-1 a\n", ":3: expected \"ngram 1="},
        {"\\data\\\nngram x=1\n", ":2: expected a number of n-grams"},
        {"\\data\\\nngram 21=1\n", ":2: n-grams of 21 words"},
        {"\\data\\\nngram 1=1\n\\1-grams:\nx a\n", ":4: \"x\" is not a logarithm"},
        {"\\data\\\nngram 1=1\n\\1-grams:\n1 a\n", ":4: the probability of an n-gram is above 1"},
        {"\\data\\\nngram 1=1\n\\1-grams:\n-1\n", ":4: an n-gram of 1 words should be here"},
        {"\\data\\\nngram 1=1\n\\1-grams:\n-1 a -1 b\n", ":4: more fields"},
        {"\\data\\\nngram 1=2\n\\1-grams:\n-1 a\n-1 a\n", ":5: this n-gram is there twice"},
        {"\\data\\\nngram 1=2\n\\1-grams:\n-1 <eps>\n", ":4: the word <eps> has the label 0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        trl_fst *fst;
        temp_write("lm", wrong[i][0], strlen(wrong[i][0]));
        assert_true(trl_fst_read_arpa(temp_path("lm"), NULL, &fst, NULL, &err) < 0);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("'%s' is not in '%s'", wrong[i][1], err.text);
    }
    trl_fst *fst;
    assert_int_equal(trl_fst_read_arpa(temp_path("lm"), &(trl_arpa_options){.semiring = TRL_REAL}, &fst, NULL, &err),
                     TRL_EINVAL);
    assert_int_equal(trl_fst_read_arpa(temp_path("lm"), &(trl_arpa_options){.backoff = -1}, &fst, NULL, &err),
                     TRL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_files_give_the_machine_back),
        cmocka_unit_test(text_gives_the_machine_back),
        cmocka_unit_test(damaged_files_are_survived),
        cmocka_unit_test(sentences_have_the_probability_of_the_model),
        cmocka_unit_test(unknown_words_are_left_out),
        cmocka_unit_test(wrong_models_are_refused_with_the_line),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
