/* Alignments of random strings of words: as cheap as the best of all there are, and, where costs are equal, what the whole table says, for
 * bands of every width; networks as cheap as the best pair of strings that they stand for. */
#include "base/random.h"
#include "cmocka_test.h"
#include "decode/transcripts.h"
#include "decode/word_network.h"

#include <string.h>

static uint64_t drawn;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(((uint64_t)trl__random_bits(3, 1, drawn++) * n) >> 32);
}

static const trl__align_costs *some_costs(void)
{
    return below(2) ? &trl__sclite_costs : &trl__edit_costs;
}

/* ---- All alignments there are ---- */

static int best_of_all(const int32_t *a, size_t n, const int32_t *b, size_t m, const trl__align_costs *c)
{
    if (n == 0 || m == 0)
        return (int)(n + m) * c->gap;
    int pair = best_of_all(a + 1, n - 1, b + 1, m - 1, c) + (a[0] == b[0] ? 0 : c->substitution);
    int deletion = best_of_all(a + 1, n - 1, b, m, c) + c->gap, insertion = best_of_all(a, n, b + 1, m - 1, c) + c->gap;
    int best = pair < deletion ? pair : deletion;
    return best < insertion ? best : insertion;
}

/* The cost of an alignment, which must be one of these two strings. */
static int cost_of(const int32_t *a, size_t n, const int32_t *b, size_t m, const char *kinds, size_t count,
                   const trl__align_costs *c)
{
    size_t i = 0, k = 0;
    int cost = 0;
    for (size_t s = 0; s < count; s++) {
        if (kinds[s] == 'C' || kinds[s] == 'S')
            assert_int_equal(a[i] == b[k], kinds[s] == 'C');
        cost += kinds[s] == 'C' ? 0 : kinds[s] == 'S' ? c->substitution : c->gap;
        i += kinds[s] != 'I';
        k += kinds[s] != 'D';
    }
    assert_int_equal(i, n);
    assert_int_equal(k, m);
    return cost;
}

static void test_cheapest_of_all(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    for (int trial = 0; trial < 3000; trial++) {
        int32_t a[6], b[6];
        char kinds[12];
        size_t n = below(7), m = below(7), count;
        uint32_t letters = 1 + below(4);
        for (size_t i = 0; i < n; i++)
            a[i] = (int32_t)below(letters);
        for (size_t i = 0; i < m; i++)
            b[i] = (int32_t)below(letters);
        const trl__align_costs *c = some_costs();
        assert_int_equal(trl__word_align(a, n, b, m, c, &scratch, kinds, &count, NULL), 0);
        assert_int_equal(cost_of(a, n, b, m, kinds, count, c), best_of_all(a, n, b, m, c));
    }
    trl__scratch_free(&scratch);
}

/* ---- The whole table ---- */

#define LONG 200

static int32_t table[LONG + 1][LONG + 1];

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void fill_table(const int32_t *a, size_t n, const int32_t *b, size_t m, const trl__align_costs *c)
{
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            int32_t best = i == 0 && k == 0 ? 0 : 1 << 30;
            if (i > 0)
                best = least(best, table[i - 1][k] + c->gap);
            if (k > 0)
                best = least(best, table[i][k - 1] + c->gap);
            if (i > 0 && k > 0)
                best = least(best, table[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0 : c->substitution));
            table[i][k] = best;
        }
}

/* From the end: what the rule of the costs says, step by step. */
static size_t table_path(const int32_t *a, size_t n, const int32_t *b, size_t m, const trl__align_costs *c, char *kinds)
{
    size_t count = 0, i = n, k = m;
    while (i > 0 || k > 0) {
        int32_t far = 1 << 30;
        int32_t pair = i && k ? table[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0 : c->substitution) : far;
        int32_t deletion = i ? table[i - 1][k] + c->gap : far, insertion = k ? table[i][k - 1] + c->gap : far;
        int keep = c->keep_pairs ? pair <= deletion && pair <= insertion : pair < deletion && pair < insertion;
        char kind = 'I';
        if (keep)
            kind = a[i - 1] == b[k - 1] ? 'C' : 'S';
        else if (deletion < insertion)
            kind = 'D';
        kinds[count++] = kind;
        i -= kind != 'I';
        k -= kind != 'D';
    }
    return count;
}

static size_t copy_with_faults(const int32_t *a, size_t n, int32_t *b, size_t most, uint32_t letters, uint32_t rate)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t fault = below(100) < rate ? 1 + below(3) : 0;
        if (fault == 2 && m < most)
            b[m++] = (int32_t)below(letters);
        if (fault != 1 && m < most)
            b[m++] = fault == 3 ? (int32_t)below(letters) : a[i];
    }
    return m;
}

/* The same words, but for some at the beginning that went and others that came at the end: the best way lies off the middle. */
static size_t shifted_copy(const int32_t *a, size_t n, int32_t *b, uint32_t letters)
{
    size_t shift = n ? below(n < 30 ? (uint32_t)n : 30) : 0;
    for (size_t i = 0; i < n; i++)
        b[i] = i + shift < n ? a[i + shift] : (int32_t)below(letters);
    return n;
}

static void test_ties_as_in_the_whole_table(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    for (int trial = 0; trial < 1000; trial++) {
        int32_t a[LONG], b[LONG];
        char kinds[2 * LONG], wanted[2 * LONG];
        uint32_t letters = 1 + below(below(2) ? 6 : 100);
        size_t n = below(below(2) ? LONG + 1 : 60), count;
        for (size_t i = 0; i < n; i++)
            a[i] = (int32_t)below(letters);
        size_t m = below(2) ? copy_with_faults(a, n, b, LONG, letters, below(100)) : shifted_copy(a, n, b, letters);
        if (below(4) == 0)
            m = below((uint32_t)m + 1);
        const trl__align_costs *c = some_costs();
        fill_table(a, n, b, m, c);
        assert_int_equal(trl__word_align(a, n, b, m, c, &scratch, kinds, &count, NULL), 0);
        assert_int_equal(count, table_path(a, n, b, m, c, wanted));
        for (size_t i = 0; i < count; i++)
            assert_int_equal(kinds[i], wanted[count - 1 - i]);
    }
    trl__scratch_free(&scratch);
}

/* ---- Networks ---- */

#define TOKENS 40
static const char *const letters[] = {"a", "b", "c"};

typedef struct marked {
    const char *words[TOKENS];
    int32_t ids[TOKENS];
    size_t count;
} marked;

static void add(marked *w, const char *word)
{
    w->words[w->count] = word;
    w->ids[w->count++] = word == trl__no_word || word[0] < 'a' || word[0] > 'c' ? 9 : word[0] - 'a';
}

static void make_sequence(marked *w, int depth, size_t most)
{
    for (size_t left = 1 + below((uint32_t)most); left > 0; left--) {
        if (depth == 2 || w->count > TOKENS / 2 || below(3)) {
            add(w, below(8) ? letters[below(3)] : trl__no_word);
            continue;
        }
        add(w, trl__alt_open);
        for (uint32_t choice = 0, choices = 1 + below(2); choice <= choices; choice++) {
            if (choice > 0)
                add(w, trl__alt_next);
            make_sequence(w, depth + 1, 2);
        }
        add(w, trl__alt_close);
    }
}

typedef struct strings {
    int32_t words[4096][16];
    size_t lengths[4096], count;
} strings;

/* Every path through the network, as strings; what is absent leaves nothing. */
static void follow(const trl__network *net, uint32_t word, const int32_t *after, size_t length, strings *out)
{
    int32_t here[16];
    size_t own = word && !net->words[word].absent;
    if (length + own > 16 || out->count == 4096)
        return;
    memcpy(here + own, after, length * sizeof *here);
    if (own)
        here[0] = net->words[word].id;
    if (word == 0) {
        memcpy(out->words[out->count], here, (length + own) * sizeof *here);
        out->lengths[out->count++] = length + own;
        return;
    }
    for (size_t i = 0; i < net->words[word].before_count; i++)
        follow(net, net->list[net->words[word].before + i], here, length + own, out);
}

static strings said_strings, heard_strings;

static void all_strings(const trl__network *net, strings *out)
{
    out->count = 0;
    for (size_t i = 0; i < net->last_count; i++)
        follow(net, net->list[net->last + i], &(int32_t){0}, 0, out);
}

static int best_of_strings(const trl__align_costs *c)
{
    int best = 1 << 30;
    for (size_t i = 0; i < said_strings.count; i++)
        for (size_t k = 0; k < heard_strings.count; k++) {
            fill_table(said_strings.words[i], said_strings.lengths[i], heard_strings.words[k], heard_strings.lengths[k],
                       c);
            best = (int)least(best, table[said_strings.lengths[i]][heard_strings.lengths[k]]);
        }
    return best;
}

static void test_networks(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    int tried = 0;
    for (int trial = 0; trial < 2000; trial++) {
        marked said = {.count = 0}, heard = {.count = 0};
        trl__network a = {0}, b = {0};
        trl__network_step steps[2 * TOKENS];
        size_t count;
        make_sequence(&said, 0, 4);
        make_sequence(&heard, 1, 4);
        const trl__align_costs *c = some_costs();
        assert_int_equal(trl__network_build(&a, said.words, said.ids, said.count, 0, NULL), 0);
        assert_int_equal(trl__network_build(&b, heard.words, heard.ids, heard.count, 0, NULL), 0);
        assert_int_equal(trl__network_align(&a, &b, c, &scratch, steps, &count, NULL), 0);
        all_strings(&a, &said_strings);
        all_strings(&b, &heard_strings);
        if (said_strings.count * heard_strings.count < 2000) {
            int cost = 0;
            for (size_t i = 0; i < count; i++)
                cost += steps[i].kind == 'C' ? 0 : steps[i].kind == 'S' ? c->substitution : c->gap;
            assert_int_equal(cost, best_of_strings(c));
            tried++;
        }
        trl__network_free(&a);
        trl__network_free(&b);
    }
    assert_true(tried > 1500);
    trl__scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheapest_of_all),
        cmocka_unit_test(test_ties_as_in_the_whole_table),
        cmocka_unit_test(test_networks),
    };
    return RUN(tests);
}
