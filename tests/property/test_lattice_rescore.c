/* Lattices rescored with n-gram models: the cost of every path changes by what the model says of its words, by the rule of ARPA files. */
#include "lm_fixture.h"
#include "random_lattice.h"
#include "temp_folder.h"

#include <trellis/lattice_rescore.h>

#define WORDS 6 /* a … f; f is in no model */

static trl_error err;

static trl_symbols *table(void)
{
    trl_symbols *words;
    assert_int_equal(trl_symbols_create("words", &words, &err), 0);
    assert_int_equal(trl_symbols_add(words, "<eps>", 0, &err), 0);
    for (int i = 1; i <= WORDS; i++)
        assert_int_equal(trl_symbols_add(words, (char[]){(char)('a' + i - 1), 0}, i, &err), 0);
    return words;
}

/* N-grams that cost more than backing off, as models have that are not interpolated. */
static void make_worse(trl_lm *lm, random_source *r)
{
    for (int k = 2; k <= lm->order; k++)
        for (size_t i = 0; i < lm->levels[k].count; i++)
            if (random_chance(r, 0.3))
                lm->levels[k].probability[i] *= 0.05f;
}

/* Sentences in which words follow each other in a skewed way, over the first `letters` words. */
static trl_lm *random_model(int order, int closed, uint32_t letters, double prune, random_source *r)
{
    char text[4000];
    size_t used = 0;
    for (int line = 0; line < 60; line++) {
        uint32_t length = 1 + random_below(r, 7), word = random_below(r, letters);
        for (uint32_t i = 0; i < length; i++) {
            word = random_chance(r, 0.6) ? (word + 1) % letters : random_below(r, letters);
            text[used++] = (char)('a' + word);
            text[used++] = i + 1 < length ? ' ' : '\n';
        }
    }
    text[used] = '\0';
    trl_lm_options options = {.order = order, .closed = closed, .smoothing = TRL_LM_WITTEN_BELL, .prune = prune};
    trl_lm *lm = model_of(text, &options);
    make_worse(lm, r);
    return lm;
}

/* The numbers of a sentence's words in the model, from <s> to </s>. */
static size_t sentence_of(const trl_lm *lm, const lattice_path *path, int32_t *words)
{
    words[0] = word_number(lm, "<s>");
    for (size_t i = 0; i <= path->word_count; i++) {
        const char *text = i == path->word_count ? "</s>" : (char[]){(char)('a' + path->words[i] - 1), 0};
        int32_t word = word_number(lm, text);
        words[i + 1] = word < 0 ? word_number(lm, "<unk>") : word;
    }
    return path->word_count + 2;
}

/* The cost of a sentence by the definition. */
static double model_cost(const trl_lm *lm, const lattice_path *path)
{
    int32_t words[80];
    size_t count = sentence_of(lm, path, words);
    double cost = 0;
    for (size_t i = 1; i < count; i++)
        cost -= log(model_probability(lm, words, (int)i, words[i]));
    return cost;
}

/* The cost of the cheapest way to read a sentence where histories may be cut short at any time: best[k] is that of having read it up to here, with a history of k
 * words. */
static double cheapest_cost(const trl_lm *lm, const lattice_path *path)
{
    int32_t words[80];
    size_t count = sentence_of(lm, path, words);
    double best[8] = {INFINITY, lm->order > 1 ? 0 : INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY,
                      INFINITY};
    best[0] = lm->order > 1 ? INFINITY : 0;
    for (size_t i = 1; i < count; i++) {
        double next[8] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
        for (int k = lm->order - 1; k >= 0; k--) {
            const int32_t *history = words + i - k;
            int64_t at = k > 0 && (size_t)k <= i ? model_ngram(lm, history, k) : -1;
            if (isinf(best[k]))
                continue;
            if (k > 0) {
                double shorter = best[k] - (at >= 0 ? log((double)lm->levels[k].backoff[at]) : 0);
                best[k - 1] = shorter < best[k - 1] ? shorter : best[k - 1];
            }
            int64_t ngram = model_ngram(lm, history, k + 1);
            int kept = k + 1 < lm->order ? k + 1 : k;
            if (ngram < 0)
                continue;
            double cost = best[k] - log((double)lm->levels[k + 1].probability[ngram]);
            next[kept] = cost < next[kept] ? cost : next[kept];
        }
        memcpy(best, next, sizeof best);
    }
    for (int k = 1; k < lm->order; k++)
        best[0] = best[k] < best[0] ? best[k] : best[0];
    return best[0];
}

static trl_lattice_lm *load(const trl_lm *lm, const char *name, const trl_symbols *words)
{
    trl_lattice_lm *out;
    assert_int_equal(trl_lm_write(lm, temp_path(name), &err), 0);
    if (trl_lattice_lm_read(temp_path(name), words, &out, &err) < 0)
        fail_msg("%s", err.text);
    return out;
}

/* old_cost: what was taken out by. */
static void assert_rescored(const trl_lattice *before, const trl_lattice *after, const trl_lm *old, double old_factor,
                            double (*old_cost)(const trl_lm *, const lattice_path *), const trl_lm *new,
                            double new_factor)
{
    path_list a = all_paths(before), b = all_paths(after);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        const lattice_path *x = &a.items[i], *y = &b.items[i];
        assert_int_equal(compare_ints(x->words, x->word_count, y->words, y->word_count), 0);
        assert_int_equal(compare_ints(x->transitions, x->transition_count, y->transitions, y->transition_count), 0);
        assert_true(x->acoustic == y->acoustic);
        double expected = x->graph + old_factor * old_cost(old, x) + new_factor * model_cost(new, x);
        if (!(fabs(expected - y->graph) < 1e-3))
            fail_msg("path %zu: %g, expected %g", i, y->graph, expected);
    }
    free_paths(&a);
    free_paths(&b);
}

static void assert_deterministic(const trl_lattice *lattice)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    for (int32_t s = 0; s < l.states; s++)
        for (uint32_t a = l.first[s]; a < l.first[s + 1]; a++)
            for (uint32_t b = a + 1; b < l.first[s + 1]; b++)
                assert_true(l.arcs[a].word != l.arcs[b].word);
}

/* Is there a path for which the ways make a difference? */
static int has_cheaper(const trl_lattice *lattice, const trl_lm *lm)
{
    path_list paths = all_paths(lattice);
    int found = 0;
    for (size_t i = 0; i < paths.count; i++)
        found |= cheapest_cost(lm, &paths.items[i]) < model_cost(lm, &paths.items[i]) - 0.01;
    free_paths(&paths);
    return found;
}

/* Model out, model in; packed by gzip or not; every order. */
static void test_paths(void **state)
{
    (void)state;
    trl_symbols *words = table();
    int cheaper = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_source random = {seed};
        trl_lm *old = random_model(1 + (int)(seed % 4), 0, 4, seed % 3 ? 0 : 0.01, &random);
        trl_lm *new = random_model(1 + (int)(seed % 5), 0, 5, seed % 3 ? 0 : 0.01, &random);
        trl_lattice_lm *old_lm = load(old, "old.arpa", words), *new_lm = load(new, "new.arpa.gz", words);
        for (int i = 0; i < 5; i++) {
            lattice_kind kind = {.states = 9, .arcs = 3, .words = WORDS, .frames = 20};
            trl_lattice *lattice = random_lattice_try(&kind, words, &random), *bare, *out;
            double factor = i == 0 ? 1 : (double)random_below(&random, 100) / 50 - 1;
            int cheapest = i % 2;
            assert_int_equal(trl_lattice_rescore(lattice, old_lm, cheapest ? TRL_BACKOFF_CHEAPEST : TRL_BACKOFF_NEEDED,
                                                 -factor, &bare, &err),
                             0);
            assert_int_equal(trl_lattice_rescore(bare, new_lm, TRL_BACKOFF_NEEDED, factor, &out, &err), 0);
            assert_rescored(lattice, out, old, -factor, cheapest ? cheapest_cost : model_cost, new, factor);
            cheaper += cheapest && has_cheaper(lattice, old);
            assert_deterministic(out);
            assert_ptr_equal(trl_lattice_look(out).words, words);
            trl_lattice_destroy(lattice);
            trl_lattice_destroy(bare);
            trl_lattice_destroy(out);
        }
        trl_lattice_lm_destroy(old_lm);
        trl_lattice_lm_destroy(new_lm);
        trl_lm_destroy(old);
        trl_lm_destroy(new);
    }
    assert_true(cheaper > 20);
    trl_symbols_destroy(words);
}

/* Arcs without words leave the history as it is, and paths are the same although they are not deterministic. */
static void test_silent_arcs(void **state)
{
    (void)state;
    trl_symbols *words = table();
    random_source random = {5};
    trl_lm *lm = random_model(3, 0, 5, 0, &random);
    trl_lattice_lm *model = load(lm, "lm.arpa", words);
    for (int i = 0; i < 20; i++) {
        lattice_kind kind = {.states = 7, .arcs = 3, .words = WORDS, .frames = 20, .ambiguous = 1};
        trl_lattice *lattice = random_lattice_try(&kind, words, &random), *out;
        assert_int_equal(trl_lattice_rescore(lattice, model, TRL_BACKOFF_NEEDED, 1, &out, &err), 0);
        assert_rescored(lattice, out, lm, 0, model_cost, lm, 1);
        trl_lattice_destroy(lattice);
        trl_lattice_destroy(out);
    }
    trl_lattice_lm_destroy(model);
    trl_lm_destroy(lm);
    trl_symbols_destroy(words);
}

static void test_refused(void **state)
{
    (void)state;
    static const char no_end[] = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s>\n-0.3 a\n-0.3 b\n\n\\end\\\n";
    trl_symbols *words = table();
    random_source random = {5};
    trl_lm *closed = random_model(2, 1, 3, 0, &random);
    trl_lattice_lm *lm = load(closed, "closed.arpa", words), *endless;
    lattice_kind kind = {.states = 7, .arcs = 3, .words = WORDS, .frames = 20};
    trl_lattice *lattice = random_lattice_try(&kind, words, &random), *out;
    assert_int_equal(trl_lattice_rescore(lattice, lm, TRL_BACKOFF_CHEAPEST, 1, &out, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "nor <unk>"));
    assert_null(out);
    assert_int_equal(trl_lattice_rescore(lattice, lm, TRL_BACKOFF_NEEDED, INFINITY, &out, &err), TRL_EINVAL);
    trl_lattice_destroy(lattice);
    kind.words = 2;
    lattice = random_lattice_try(&kind, words, &random);
    temp_write("endless.arpa", no_end, sizeof no_end - 1);
    assert_int_equal(trl_lattice_lm_read(temp_path("endless.arpa"), words, &endless, &err), 0);
    assert_int_equal(trl_lattice_rescore(lattice, endless, TRL_BACKOFF_NEEDED, 1, &out, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "gives no path"));
    trl_lattice_lm_destroy(endless);
    assert_int_equal(trl_lattice_lm_read(temp_path("none.arpa"), words, &endless, &err), TRL_ENOENT);
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl_lattice_rescore(lattice, lm, TRL_BACKOFF_CHEAPEST, 1, &out, &err);
        trl__memory_fail_after(0);
    }
    assert_int_equal(code, 0);
    trl_lattice_destroy(out);
    code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl_lattice_lm_read(temp_path("closed.arpa"), words, &endless, &err);
        trl__memory_fail_after(0);
        if (code == 0)
            trl_lattice_lm_destroy(endless);
    }
    assert_int_equal(code, 0);
    trl_lattice_destroy(lattice);
    trl_lattice_lm_destroy(lm);
    trl_lm_destroy(closed);
    trl_symbols_destroy(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths), cmocka_unit_test(test_silent_arcs),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
