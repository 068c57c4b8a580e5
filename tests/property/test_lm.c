/* Language models of random small texts against the definitions of their smoothing, which are written down here over tables of
 * all n-grams there could be; and laws: probabilities sum to 1 after every history, seen or not; the order of sentences does
 * not matter; perplexity is what the probabilities say. */
#include "lm_fixture.h"

#include "base/text_file.h"
#include "fst_fixture.h"
#include "temp_folder.h"

#include <math.h>

#define CASES 3000
#define MOST_WORDS 7 /* <s>, </s>, <unk>, a … d */
#define MOST_ORDER 4
#define CELLS 2401 /* 7^4 */
#define LETTERS 4
enum { BEGIN, END, UNKNOWN, FIRST_LETTER, HOLE = -1 };

/* ---- The definition ---- */

typedef struct definition {
    int order, kneser_ney;
    int in_model[MOST_WORDS]; /* words that are predicted */
    const uint32_t *cutoff;
    int seen[MOST_ORDER + 2][CELLS], events[MOST_ORDER + 1][CELLS];
    double discount[MOST_ORDER + 1][4];
} definition;

static int cell_of(const int *words, int k)
{
    int cell = 0;
    for (int i = 0; i < k; i++)
        cell = cell * MOST_WORDS + words[i];
    return cell;
}

static int power(int k)
{
    return k ? MOST_WORDS * power(k - 1) : 1;
}

/* words[0] is <s>, the last </s>. */
static void see_sentence(definition *d, const int *words, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = 1; k <= d->order && k <= i + 1 && words[i - k + 1] != HOLE; k++)
            d->seen[k][cell_of(words + i - k + 1, k)]++;
}

static void count_events(definition *d)
{
    for (int k = 1; k <= d->order; k++)
        for (int cell = 0; cell < power(k); cell++) {
            int before = 0, begins = cell / power(k - 1) == BEGIN;
            for (int word = 0; k < d->order && word < MOST_WORDS; word++)
                before += d->seen[k + 1][word * power(k) + cell] > 0;
            d->events[k][cell] = d->kneser_ney && k < d->order && !begins ? before : d->seen[k][cell];
        }
}

static void estimate_discounts(definition *d)
{
    for (int k = 1; k <= d->order; k++) {
        double n[5] = {0, 0, 0, 0, 0};
        for (int cell = 0; cell < power(k); cell++)
            if (d->events[k][cell] <= 4)
                n[d->events[k][cell]]++;
        double y = n[1] / (n[1] + 2 * n[2]);
        double exact[4] = {0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]};
        for (int c = 1; c <= 3; c++) /* NaN where it is undefined */
            d->discount[k][c] = exact[c] > 0 && exact[c] < c ? exact[c] : 0.5 * c;
    }
}

static double define_probability(const definition *d, const int *history, int length, int word)
{
    double total = 0, types = 0, given = 0, mine = 0;
    int k = length + 1, shorter_words[MOST_ORDER];
    memcpy(shorter_words, history, (size_t)length * sizeof *history);
    for (int w = 0; w < MOST_WORDS; w++) {
        shorter_words[length] = w;
        int cell = cell_of(shorter_words, k), c = d->events[k][cell];
        double keeps = c - (d->kneser_ney ? d->discount[k][c > 3 ? 3 : c] : 0);
        if (c == 0 || (k > 1 && d->seen[k][cell] < (int)d->cutoff[k]))
            keeps = 0;
        total += c;
        types += c > 0;
        given += keeps;
        if (w == word)
            mine = keeps;
    }
    double words = 0;
    for (int w = 0; w < MOST_WORDS; w++)
        words += d->in_model[w];
    double shorter = length ? define_probability(d, history + 1, length - 1, word) : 1 / words;
    double whole = d->kneser_ney ? total : total + types;
    return whole > 0 ? mine / whole + (whole - given) / whole * shorter : shorter;
}

/* ---- Random texts ---- */

typedef struct text_case {
    char text[4096];
    trl_lm_options options;
    definition definition;
} text_case;

static char vocabulary[640]; /* the file with a and b */

/* Which words the model has: of the texts, or of the vocabulary a, b; `used` are letters of the text. */
static void choose_words(text_case *c, int used)
{
    definition *d = &c->definition;
    for (int w = 0; w < MOST_WORDS; w++)
        d->in_model[w] = w == END || (w == UNKNOWN && !c->options.closed) ||
                         (w >= FIRST_LETTER && (c->options.vocabulary ? w < FIRST_LETTER + 2 : used >> w & 1));
}

static int as_counted(const text_case *c, int letter)
{
    if (!c->options.vocabulary || letter < FIRST_LETTER + 2)
        return letter;
    return c->options.closed ? HOLE : UNKNOWN;
}

static void random_options(text_case *c, random_source *r)
{
    trl_lm_options *o = &c->options;
    *o = (trl_lm_options){.order = 1 + (int)random_below(r, MOST_ORDER),
                          .smoothing = random_below(r, 2) ? TRL_LM_KNESER_NEY : TRL_LM_WITTEN_BELL,
                          .closed = (int)random_below(r, 2)};
    if (random_chance(r, 0.3))
        o->vocabulary = vocabulary;
    for (int k = 2; k <= TRL_LM_MOST_ORDER; k++)
        o->cutoff[k] = k == 2 ? random_below(r, 2) : o->cutoff[k - 1] + random_chance(r, 0.2);
}

static void random_case(text_case *c, random_source *r)
{
    random_options(c, r);
    definition *d = &c->definition;
    memset(d, 0, sizeof *d);
    d->order = c->options.order;
    d->kneser_ney = c->options.smoothing == TRL_LM_KNESER_NEY;
    d->cutoff = c->options.cutoff;
    int used = 0, skew = 1 + (int)random_below(r, 3);
    char *at = c->text;
    for (int sentences = 1 + (int)random_below(r, 30); sentences > 0; sentences--) {
        int words[16] = {BEGIN}, count = 1;
        for (int length = 1 + (int)random_below(r, 8); length > 0; length--) {
            int letter = FIRST_LETTER + (int)(random_below(r, LETTERS) / (uint32_t)skew);
            used |= 1 << letter;
            words[count++] = as_counted(c, letter);
            at += sprintf(at, " %c", 'a' + letter - FIRST_LETTER);
        }
        words[count++] = END;
        see_sentence(d, words, count);
        at += sprintf(at, "%s\n", random_chance(r, 0.1) ? "\n" : "");
    }
    choose_words(c, used);
    count_events(d);
    estimate_discounts(d);
}

/* ---- Checks ---- */

static int32_t number_in(const trl_lm *lm, int word)
{
    static const char *const names[] = {"<s>", "</s>", "<unk>", "a", "b", "c", "d"};
    return word_number(lm, names[word]);
}

/* History number `cell` of so many words: 0 where it can't be, since it has </s>, <s> inside, or no word of the model. */
static int history_of(const text_case *c, int cell, int length, int *words)
{
    for (int i = length - 1; i >= 0; i--, cell /= MOST_WORDS) {
        words[i] = cell % MOST_WORDS;
        if (words[i] == END || (words[i] == BEGIN ? i > 0 : !c->definition.in_model[words[i]]))
            return 0;
    }
    return 1;
}

static void check_history(const text_case *c, const trl_lm *lm, const int *words, int length, int by_definition)
{
    int32_t numbers[MOST_ORDER];
    double sum = 0;
    for (int i = 0; i < length; i++)
        numbers[i] = number_in(lm, words[i]);
    for (int w = 0; w < MOST_WORDS; w++) {
        if (!c->definition.in_model[w])
            continue;
        double p = model_probability(lm, numbers, length, number_in(lm, w));
        sum += p;
        assert_true(p > 0);
        if (by_definition && !nearly_equal(p, define_probability(&c->definition, words, length, w), 2e-6)) {
            print_message("%s", c->text);
            fail_msg("order %d: word %d is %g, should be %g", c->options.order, w, p,
                     define_probability(&c->definition, words, length, w));
        }
    }
    if (!nearly_equal(sum, 1, 2e-5))
        fail_msg("a history of %d words: the sum is %.9g\n%s", length, sum, c->text);
}

static void check_model(const text_case *c, const trl_lm *lm, int by_definition)
{
    int words[MOST_ORDER];
    for (int length = 0; length < c->options.order; length++)
        for (int cell = 0; cell < power(length); cell++)
            if (history_of(c, cell, length, words))
                check_history(c, lm, words, length, by_definition);
}

static void the_definition_holds(void **state)
{
    (void)state;
    static text_case c;
    random_source r = {1};
    for (int i = 0; i < CASES; i++) {
        random_case(&c, &r);
        trl_lm *lm = model_of(c.text, &c.options);
        check_model(&c, lm, 1);
        trl_lm_destroy(lm);
    }
}

/* Whatever is pruned: sums stay 1, more is lost with a larger threshold, all prefixes and suffixes of what is kept are. */
static void check_closed(const trl_lm *lm)
{
    for (int k = 2; k <= lm->order; k++) {
        const trl__lm_level *level = &lm->levels[k], *below = &lm->levels[k - 1];
        for (uint32_t h = 0; h < below->count; h++)
            for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++)
                assert_true(level->dropped[i] || (!below->dropped[h] && !below->dropped[level->suffix[i]]));
    }
}

static uint64_t all_ngrams(const trl_lm *lm)
{
    uint64_t count = 0;
    for (int k = 1; k <= lm->order; k++)
        count += trl_lm_ngrams(lm, k);
    return count;
}

static void pruned_models_sum_to_one(void **state)
{
    (void)state;
    static text_case c;
    random_source r = {2};
    uint64_t whole = 0, half = 0, little = 0;
    for (int i = 0; i < CASES / 2; i++) {
        random_case(&c, &r);
        trl_lm *lm = model_of(c.text, &c.options);
        uint64_t before = all_ngrams(lm), last = before;
        trl_lm_destroy(lm);
        for (int step = 0; step < 3; step++) {
            c.options.prune = 1e-3 * pow(30, step);
            lm = model_of(c.text, &c.options);
            assert_true(all_ngrams(lm) <= last);
            last = all_ngrams(lm);
            half += step == 1 ? last : 0;
            check_model(&c, lm, 0);
            check_closed(lm);
            trl_lm_destroy(lm);
        }
        whole += before;
        little += last;
    }
    assert_true(half < whole && little < half); /* something was pruned at all */
}

/* The loss of pruning is the relative entropy: with every history and word summed up, by definition, one n-gram less. */
static double cross_entropy(const trl_lm *from, const trl_lm *to, const int32_t *history, int length, int32_t words)
{
    double sum = 0;
    for (int32_t w = 0; w < words; w++) {
        if (strcmp(from->words[w], "<s>") == 0)
            continue;
        double p = model_probability(from, history, length, w);
        sum += p * (log(p) - log(model_probability(to, history, length, w)));
    }
    return sum;
}

/* Bigrams: an n-gram is pruned if and only if the divergence that its loss alone makes at its history, times the history's
 * probability, is below the threshold. */
static void pruning_follows_relative_entropy(void **state)
{
    (void)state;
    static text_case c;
    random_source r = {3};
    int pruned = 0, kept = 0;
    for (int round = 0; round < 300; round++) {
        random_case(&c, &r);
        c.options.order = 2;
        memset(c.options.cutoff, 0, sizeof c.options.cutoff);
        double threshold = 0.001 * (1 + random_below(&r, 10));
        trl_lm *lm = model_of(c.text, &c.options);
        c.options.prune = threshold;
        trl_lm *less = model_of(c.text, &c.options);
        c.options.prune = 0;
        int32_t words = (int32_t)lm->levels[1].count, end = word_number(lm, "</s>"), begin = word_number(lm, "<s>");
        for (int32_t h = 0; h < words; h++)
            for (uint32_t i = lm->levels[2].first[h]; i < lm->levels[2].first[h + 1]; i++) {
                trl_lm *one_less = model_of(c.text, &c.options);
                double p = lm->levels[2].probability[i], q = lm->levels[1].probability[lm->levels[2].suffix[i]];
                double left = 1, shorter = 1;
                for (uint32_t j = lm->levels[2].first[h]; j < lm->levels[2].first[h + 1]; j++) {
                    left -= lm->levels[2].probability[j];
                    shorter -= lm->levels[1].probability[lm->levels[2].suffix[j]];
                }
                one_less->levels[2].dropped[i] = 1;
                one_less->levels[1].backoff[h] = (float)((left + p) / (shorter + q));
                double weight = lm->levels[1].probability[h == begin ? end : h];
                double loss = expm1(weight * cross_entropy(lm, one_less, &h, 1, words));
                int gone = less->levels[2].dropped[i];
                if (left > 1e-3 && shorter > 1e-3 && fabs(loss - threshold) > 1e-6)
                    assert_int_equal(gone, loss < threshold);
                pruned += gone;
                kept += !gone;
                trl_lm_destroy(one_less);
            }
        trl_lm_destroy(lm);
        trl_lm_destroy(less);
    }
    assert_true(pruned > 100 && kept > 100);
}

/* The lines of c->text backwards, in two texts of which one is packed in the end. */
static void write_backwards(const char *text)
{
    const char *lines[128];
    int count = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        lines[count++] = at;
    FILE *files[2] = {fopen(temp_path("one"), "wb"), fopen(temp_path("two"), "wb")};
    for (int i = count - 1; i >= 0; i--)
        fprintf(files[i % 2], "%.*s\r\n", (int)(strchr(lines[i], '\n') - lines[i]), lines[i]);
    fclose(files[0]);
    fclose(files[1]);
}

static void the_order_of_sentences_does_not_matter(void **state)
{
    (void)state;
    static text_case c;
    random_source r = {4};
    for (int i = 0; i < 100; i++) {
        random_case(&c, &r);
        temp_write("text", c.text, strlen(c.text));
        write_backwards(c.text);
        const char *forwards[] = {temp_path("text")}, *backwards[] = {temp_path("one"), temp_path("two")};
        trl_lm *a, *b;
        trl_error err;
        assert_int_equal(trl_lm_train(forwards, 1, &c.options, &a, &err), 0);
        assert_int_equal(trl_lm_train(backwards, 2, &c.options, &b, &err), 0);
        assert_int_equal(trl_lm_write(a, temp_path("a.arpa"), &err), 0);
        assert_int_equal(trl_lm_write(b, temp_path("b.arpa.gz"), &err), 0);
        trl__text x, y;
        assert_int_equal(trl__text_read(temp_path("a.arpa"), &x, &err), 0);
        assert_int_equal(trl__text_read(temp_path("b.arpa.gz"), &y, &err), 0);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.bytes, y.bytes, x.size);
        trl__text_free(&x);
        trl__text_free(&y);
        trl_lm_destroy(a);
        trl_lm_destroy(b);
    }
}

/* The probability of other sentences by the model in memory, and by the file. */
static double sum_sentence(const text_case *c, const trl_lm *lm, const char *sentence, int *events)
{
    int32_t words[64] = {word_number(lm, "<s>")};
    int count = 1, from = 0; /* of the history */
    double sum = 0;
    for (;; sentence++) {
        if (*sentence == ' ')
            continue;
        char letter[2] = {*sentence, '\0'};
        int32_t word = *sentence ? word_number(lm, letter) : word_number(lm, "</s>");
        if (word < 0 && c->options.closed) {
            from = count;
            continue;
        }
        words[count] = word < 0 ? word_number(lm, "<unk>") : word;
        int reach = count - from < c->options.order ? count - from : c->options.order - 1;
        sum += log10(model_probability(lm, words + count - reach, reach, words[count]));
        count++;
        ++*events;
        if (!*sentence)
            return sum;
    }
}

static void perplexity_is_what_the_probabilities_say(void **state)
{
    (void)state;
    static text_case c;
    random_source r = {5};
    for (int i = 0; i < 200; i++) {
        random_case(&c, &r);
        if (random_chance(&r, 0.5))
            c.options.prune = 0.01;
        trl_lm *lm = model_of(c.text, &c.options);
        char sentence[32] = "a";
        for (size_t n = 1; n < 2 * random_below(&r, 10); n += 2)
            sprintf(sentence + n, " %c", 'a' + (int)random_below(&r, LETTERS + 1));
        int events = 0;
        double expected = sum_sentence(&c, lm, sentence, &events);
        trl_error err;
        trl_perplexity p;
        const char *text = temp_path("text");
        temp_write("text", sentence, strlen(sentence));
        assert_int_equal(trl_lm_write(lm, temp_path("lm"), &err), 0);
        assert_int_equal(trl_lm_perplexity(temp_path("lm"), &text, 1, TRL_LM_FORM_AUTO, &p, &err), 0);
        assert_int_equal(p.events, events);
        assert_int_equal(p.impossible, 0);
        if (!nearly_equal(p.log10, expected, 2e-5) || !nearly_equal(p.perplexity, pow(10, -expected / events), 1e-4))
            fail_msg("%s: %g, should be %g\n%s", sentence, p.log10, expected, c.text);
        trl_lm_destroy(lm);
    }
}

static int make_folder(void **state)
{
    int code = temp_folder_make(state);
    temp_write("ab", "a A\nb B\n<s>\n", 12);
    strcpy(vocabulary, temp_path("ab"));
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_definition_holds),
        cmocka_unit_test(pruned_models_sum_to_one),
        cmocka_unit_test(pruning_follows_relative_entropy),
        cmocka_unit_test(the_order_of_sentences_does_not_matter),
        cmocka_unit_test(perplexity_is_what_the_probabilities_say),
    };
    return cmocka_run_group_tests(tests, make_folder, temp_folder_remove);
}
