/* N-best lists, pruning, probabilities, confidences and minimum Bayes risk against the list of all paths, on small random lattices. */
#include "lattice_fixture.h"

#include "base/memory.h"
#include "decode/lattice_errors.h"

#define CASES 4000

/* Flat ones, too, where many paths count. */
static trl_lattice_scale random_scale(random_source *r)
{
    const double heat[] = {0.03, 0.1, 0.3, 1};
    double h = heat[random_below(r, 4)];
    return (trl_lattice_scale){.acoustic = h * (0.1 + 0.1 * random_below(r, 10)),
                               .graph = h * 0.2 * random_below(r, 8),
                               .insertion = h * (0.25 * random_below(r, 9) - 1)};
}

typedef struct test_case {
    trl_lattice *lattice;
    trl_lattice_view view;
    trl_lattice_scale scale;
    path_list all;
    double *probability; /* by path */
    double total;        /* log of the sum */
} test_case;

static test_case make_case(random_source *r)
{
    test_case c = {.lattice = random_lattice(r, 0.5), .scale = random_scale(r)};
    double best = INFINITY, sum = 0;
    c.view = trl_lattice_look(c.lattice);
    c.all = lattice_paths(c.lattice);
    c.probability = malloc((c.all.count + 1) * sizeof *c.probability);
    for (size_t i = 0; i < c.all.count; i++)
        best = fmin(best, path_cost(&c.all.items[i], &c.scale));
    for (size_t i = 0; i < c.all.count; i++)
        sum += c.probability[i] = exp(best - path_cost(&c.all.items[i], &c.scale));
    for (size_t i = 0; i < c.all.count; i++)
        c.probability[i] /= sum;
    c.total = log(sum) - best;
    return c;
}

static void free_case(test_case *c)
{
    trl_lattice_destroy(c->lattice);
    free(c->all.items);
    free(c->probability);
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(a));
}

/* ---- N-best ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t find_sentence(const test_case *c, const int32_t *words, size_t count)
{
    for (size_t i = 0; i < c->all.count; i++)
        if ((size_t)c->all.items[i].count == count &&
            (count == 0 || memcmp(c->all.items[i].words, words, count * sizeof *words) == 0))
            return i;
    return c->all.count;
}

static void nbest_are_the_shortest(void **state)
{
    (void)state;
    random_source r = {1};
    size_t shorter = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        double *costs = malloc((c.all.count + 1) * sizeof *costs);
        uint8_t *seen = calloc(c.all.count + 1, 1);
        size_t n = random_below(&r, 20);
        trl_nbest *list;
        for (size_t k = 0; k < c.all.count; k++)
            costs[k] = path_cost(&c.all.items[k], &c.scale);
        qsort(costs, c.all.count, sizeof *costs, by_value);
        assert_int_equal(trl_lattice_nbest(c.lattice, &c.scale, n, &list, NULL), 0);
        assert_int_equal(trl_nbest_count(list), n < c.all.count ? n : c.all.count);
        shorter += n < c.all.count;
        for (size_t k = 0; k < trl_nbest_count(list); k++) {
            trl_sentence s = trl_nbest_get(list, k);
            size_t which = find_sentence(&c, s.words, s.count);
            assert_true(which < c.all.count && !seen[which]);
            seen[which] = 1;
            assert_true(near(s.graph, c.all.items[which].graph) && near(s.acoustic, c.all.items[which].acoustic));
            assert_true(near(path_cost(&c.all.items[which], &c.scale), costs[k]));
        }
        trl_nbest_destroy(list);
        free(costs);
        free(seen);
        free_case(&c);
    }
    assert_true(shorter > CASES / 8);
}

/* Two paths with the same words: the list has the better one. */
static void words_are_listed_once(void **state)
{
    (void)state;
    trl_lattice *lattice;
    trl_nbest *list;
    trl_lattice_scale scale = {1, 1, 0};
    const trl_lattice_arc arcs[] = {{1, 5, 2, 0, 0, 0}, {1, 5, 1, 0, 0, 0}, {1, 6, 3, 0, 0, 0}};
    assert_int_equal(trl__lattice_create(NULL, &lattice, NULL), 0);
    assert_int_equal(trl__lattice_add_state(lattice, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(trl__lattice_add_arc(lattice, &arcs[i], NULL, NULL), 0);
    assert_int_equal(trl__lattice_add_state(lattice, NULL), 0);
    assert_int_equal(trl__lattice_set_end(lattice, &(trl_lattice_end){0, 0, 0, 0}, NULL, NULL), 0);
    assert_int_equal(trl__lattice_finish(lattice, NULL), 0);
    assert_int_equal(trl_lattice_nbest(lattice, &scale, 10, &list, NULL), 0);
    assert_int_equal(trl_nbest_count(list), 2);
    assert_int_equal(trl_nbest_get(list, 0).words[0], 5);
    assert_true(trl_nbest_get(list, 0).graph == 1);
    assert_int_equal(trl_nbest_get(list, 1).words[0], 6);
    trl_nbest_destroy(list);
    trl_lattice_destroy(lattice);
}

/* ---- pruning ---- */

static void pruning_keeps_what_is_within_the_beam(void **state)
{
    (void)state;
    random_source r = {2};
    size_t fewer = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        double beam = 0.37 * random_below(&r, 20), best = INFINITY;
        trl_lattice *pruned;
        assert_int_equal(trl_lattice_prune(c.lattice, &c.scale, beam, &pruned, NULL), 0);
        path_list left = lattice_paths(pruned);
        trl_lattice_view view = trl_lattice_look(pruned);
        assert_int_equal(view.frames, c.view.frames);
        for (size_t k = 0; k < c.all.count; k++)
            best = fmin(best, path_cost(&c.all.items[k], &c.scale));
        for (size_t k = 0; k < c.all.count; k++) {
            const lattice_path *p = &c.all.items[k];
            size_t found = 0;
            for (size_t n = 0; n < left.count; n++)
                found += same_words(&left.items[n], p) && left.items[n].graph == p->graph &&
                         left.items[n].acoustic == p->acoustic && left.items[n].frames == p->frames;
            assert_true(found == 1 || (found == 0 && path_cost(p, &c.scale) > best + beam - 1e-6));
        }
        /* A pruned lattice has nothing more to lose. */
        trl_lattice *again;
        assert_int_equal(trl_lattice_prune(pruned, &c.scale, beam, &again, NULL), 0);
        assert_int_equal(trl_lattice_look(again).states, view.states);
        assert_int_equal(trl_lattice_look(again).first[view.states], view.first[view.states]);
        fewer += left.count < c.all.count;
        trl_lattice_destroy(again);
        trl_lattice_destroy(pruned);
        free(left.items);
        free_case(&c);
    }
    assert_true(fewer > CASES / 10);
}

/* ---- probabilities ---- */

/* The arcs that a path goes over, found by its words. */
static void add_to_arcs(const trl_lattice_view *l, const lattice_path *p, double probability, double *sum)
{
    int32_t s = 0;
    for (int k = 0; k < p->count; k++) {
        uint32_t a = l->first[s];
        while (l->arcs[a].word != p->words[k])
            a++;
        sum[a] += probability;
        s = l->arcs[a].next;
    }
}

static void assert_frames_sum_to_one(const test_case *c, const double *posterior)
{
    const trl_lattice_view *l = &c->view;
    double *sum = calloc((size_t)l->frames + 1, sizeof *sum);
    double *out = calloc((size_t)l->states + 1, sizeof *out); /* what leaves a state over arcs */
    double *in = calloc((size_t)l->states + 1, sizeof *in);
    in[0] = 1;
    for (int32_t s = 0; s < l->states; s++)
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            in[l->arcs[a].next] += posterior[a];
            out[s] += posterior[a];
            for (int32_t t = l->time[s]; t < l->time[l->arcs[a].next]; t++)
                sum[t] += posterior[a];
        }
    for (int32_t s = 0; s < l->states; s++)
        for (int32_t t = l->time[s]; t < l->frames; t++)
            sum[t] += in[s] - out[s];
    for (int32_t t = 0; t < l->frames; t++)
        assert_true(near(sum[t], 1));
    free(sum);
    free(out);
    free(in);
}

static void posteriors_are_sums_over_paths(void **state)
{
    (void)state;
    random_source r = {3};
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        size_t arcs = c.view.first[c.view.states];
        double *posterior = calloc(arcs + 1, sizeof *posterior), *sum = calloc(arcs + 1, sizeof *sum), total;
        for (size_t k = 0; k < c.all.count; k++)
            add_to_arcs(&c.view, &c.all.items[k], c.probability[k], sum);
        assert_int_equal(trl_lattice_posteriors(c.lattice, &c.scale, posterior, &total, NULL), 0);
        assert_true(near(total, c.total));
        for (size_t a = 0; a < arcs; a++)
            assert_true(near(posterior[a], sum[a]));
        assert_frames_sum_to_one(&c, posterior);
        free(posterior);
        free(sum);
        free_case(&c);
    }
}

/* ---- expected errors ---- */

static int edit_distance(const int32_t *a, int n, const int32_t *b, int m)
{
    int row[2 * MOST_WORDS + 2];
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int above = row[j], best = corner + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
            corner = above;
        }
    }
    return row[m];
}

static double expected_errors(const test_case *c, const int32_t *words, int count)
{
    double sum = 0;
    for (size_t k = 0; k < c->all.count; k++)
        sum += c->probability[k] * edit_distance(c->all.items[k].words, c->all.items[k].count, words, count);
    return sum;
}

static void errors_are_means_over_paths(void **state)
{
    (void)state;
    random_source r = {4};
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        int32_t words[8];
        int count = (int)random_below(&r, 8);
        double errors;
        for (int k = 0; k < count; k++)
            words[k] = 1 + (int32_t)random_below(&r, 4);
        assert_int_equal(trl__lattice_expected_errors(c.lattice, &c.scale, words, (size_t)count, &errors, NULL), 0);
        assert_true(near(errors, expected_errors(&c, words, count)));
        free_case(&c);
    }
}

/* ---- the best path and the least risk ---- */

static int copy_words(const trl_hypothesis *h, int32_t *words)
{
    assert_true(h->count <= MOST_WORDS);
    for (size_t k = 0; k < h->count; k++)
        words[k] = h->words[k].word;
    return (int)h->count;
}

static void check_words(const trl_hypothesis *h, int32_t frames)
{
    for (size_t k = 0; k < h->count; k++) {
        const trl_lattice_word *w = &h->words[k];
        assert_true(w->confidence >= 0 && w->confidence <= 1);
        assert_true(w->first >= 0 && w->first <= w->end && w->end <= frames);
        assert_true(k == 0 || w->first >= h->words[k - 1].end);
    }
}

/* The least expected errors of any string that is one change away; labels are 1 to 3. */
static double best_neighbour(const test_case *c, const int32_t *words, int count)
{
    int32_t changed[MOST_WORDS + 1];
    double least = expected_errors(c, words, count);
    for (int at = 0; at <= count; at++)
        for (int32_t word = 0; word <= 3; word++) {
            memcpy(changed, words, (size_t)count * sizeof *words);
            if (at < count && word > 0) {
                changed[at] = word;
                least = fmin(least, expected_errors(c, changed, count));
            }
            if (at < count && word == 0) {
                memmove(changed + at, words + at + 1, (size_t)(count - at - 1) * sizeof *words);
                least = fmin(least, expected_errors(c, changed, count - 1));
            }
            if (word > 0 && count < MOST_WORDS) {
                memcpy(changed, words, (size_t)count * sizeof *words);
                memmove(changed + at + 1, words + at, (size_t)(count - at) * sizeof *words);
                changed[at] = word;
                least = fmin(least, expected_errors(c, changed, count + 1));
            }
        }
    return least;
}

/* The least expected errors of any string at all, of up to five words. */
static double best_of_all(const test_case *c)
{
    double least = INFINITY;
    for (int count = 0; count <= 5; count++)
        for (int code = 0, codes = (int)lround(pow(3, count)); code < codes; code++) {
            int32_t words[5];
            for (int k = 0, rest = code; k < count; k++, rest /= 3)
                words[k] = 1 + rest % 3;
            least = fmin(least, expected_errors(c, words, count));
        }
    return least;
}

static void risk_is_least(void **state)
{
    (void)state;
    random_source r = {5};
    int cases = 0, local = 0, global = 0, better = 0;
    for (int i = 0; i < CASES / 2; i++) {
        test_case c = make_case(&r);
        int32_t words[MOST_WORDS], best_words[MOST_WORDS];
        trl_hypothesis *best, *mbr;
        size_t shortest = 0;
        int longest = 0;
        assert_int_equal(trl_lattice_best(c.lattice, &c.scale, &best, NULL), 0);
        assert_int_equal(trl_lattice_mbr(c.lattice, &c.scale, &mbr, NULL), 0);
        for (size_t k = 0; k < c.all.count; k++) {
            if (path_cost(&c.all.items[k], &c.scale) < path_cost(&c.all.items[shortest], &c.scale))
                shortest = k;
            longest = c.all.items[k].count > longest ? c.all.items[k].count : longest;
        }
        int best_count = copy_words(best, best_words), count = copy_words(mbr, words);
        check_words(best, c.view.frames);
        check_words(mbr, c.view.frames);
        size_t which = find_sentence(&c, best_words, (size_t)best_count);
        assert_true(which < c.all.count);
        assert_true(near(path_cost(&c.all.items[which], &c.scale), path_cost(&c.all.items[shortest], &c.scale)));
        assert_true(near(best->graph, c.all.items[which].graph) && near(best->acoustic, c.all.items[which].acoustic));
        for (int k = 0; k < best_count; k++)
            assert_int_equal(best->words[k].end, c.all.items[which].ends[k]);
        assert_true(near(best->expected_errors, expected_errors(&c, best_words, best_count)));
        assert_true(near(mbr->expected_errors, expected_errors(&c, words, count)));
        assert_true(mbr->expected_errors <= best->expected_errors + 1e-6);
        better += mbr->expected_errors < best->expected_errors - 1e-6;
        if (longest <= 5 && c.all.count <= 200) {
            cases++;
            local += mbr->expected_errors <= best_neighbour(&c, words, count) + 1e-6;
            global += mbr->expected_errors <= best_of_all(&c) + 1e-6;
        }
        trl_hypothesis_destroy(best);
        trl_hypothesis_destroy(mbr);
        free_case(&c);
    }
    assert_true(cases > CASES / 10);
    assert_int_equal(local, cases);
    assert_true(global >= 0.99 * cases && better > CASES / 20);
}

/* One word with one rival: the shares are the probabilities. */
static void confidence_is_the_probability(void **state)
{
    (void)state;
    trl_lattice *lattice;
    trl_hypothesis *h;
    trl_lattice_scale scale = {1, 1, 0};
    const int32_t transitions[] = {1, 1, 1, 1, 1, 1};
    const double p[] = {0.6, 0.3, 0.1};
    assert_int_equal(trl__lattice_create(NULL, &lattice, NULL), 0);
    assert_int_equal(trl__lattice_add_state(lattice, NULL), 0);
    for (int i = 0; i < 3; i++) {
        trl_lattice_arc arc = {1, i < 2 ? 5 + i : 0, (float)-log(p[i]), 0, 0, 4};
        assert_int_equal(trl__lattice_add_arc(lattice, &arc, transitions, NULL), 0);
    }
    assert_int_equal(trl__lattice_add_state(lattice, NULL), 0);
    assert_int_equal(trl__lattice_set_end(lattice, &(trl_lattice_end){0, 0, 0, 2}, transitions, NULL), 0);
    assert_int_equal(trl__lattice_finish(lattice, NULL), 0);
    for (int is_mbr = 0; is_mbr < 2; is_mbr++) {
        assert_int_equal((is_mbr ? trl_lattice_mbr : trl_lattice_best)(lattice, &scale, &h, NULL), 0);
        assert_int_equal(h->count, 1);
        assert_int_equal(h->words[0].word, 5);
        assert_int_equal(h->words[0].first, 0);
        assert_int_equal(h->words[0].end, 4);
        assert_true(near(h->words[0].confidence, 0.6));
        assert_true(near(h->expected_errors, 0.4));
        trl_hypothesis_destroy(h);
    }
    trl_lattice_destroy(lattice);
}

/* A long recording is compared in a band: 400 places, each with two words of its own and sometimes none. */
static void long_lattices_are_compared_near_by(void **state)
{
    (void)state;
    const int32_t places = 400, transitions[] = {1, 1, 1};
    random_source r = {7};
    trl_lattice *lattice;
    trl_lattice_scale scale = {0, 1, 0};
    double best[400], sum = 0;
    assert_int_equal(trl__lattice_create(NULL, &lattice, NULL), 0);
    for (int32_t i = 0; i <= places; i++) {
        double p[] = {0.5 + 0.04 * random_below(&r, 12), 0, 0};
        int ways = i % 10 == 0 ? 2 + (int)random_below(&r, 2) : 1;
        p[0] = ways == 1 ? 1 : p[0];
        p[1] = ways == 3 ? 0.7 * (1 - p[0]) : 1 - p[0];
        p[2] = 1 - p[0] - p[1];
        assert_int_equal(trl__lattice_add_state(lattice, NULL), 0);
        for (int k = 0; i < places && k < ways; k++) {
            trl_lattice_arc arc = {i + 1, k < 2 ? 1 + 2 * i + k : 0, (float)-log(p[k]), 0, 0, 3};
            assert_int_equal(trl__lattice_add_arc(lattice, &arc, transitions, NULL), 0);
        }
        if (i < places) {
            best[i] = p[0];
            sum += 1 - p[0];
        }
    }
    assert_int_equal(trl__lattice_set_end(lattice, &(trl_lattice_end){0, 0, 0, 0}, NULL, NULL), 0);
    assert_int_equal(trl__lattice_finish(lattice, NULL), 0);
    for (int is_mbr = 0; is_mbr < 2; is_mbr++) {
        trl_hypothesis *h;
        assert_int_equal((is_mbr ? trl_lattice_mbr : trl_lattice_best)(lattice, &scale, &h, NULL), 0);
        assert_int_equal(h->count, places);
        for (int32_t i = 0; i < places; i++) {
            assert_int_equal(h->words[i].word, 1 + 2 * i);
            assert_int_equal(h->words[i].first, 3 * i);
            assert_true(fabs(h->words[i].confidence - best[i]) < 1e-4);
        }
        assert_true(fabs(h->expected_errors - sum) < 1e-3 * sum);
        trl_hypothesis_destroy(h);
    }
    trl_lattice_destroy(lattice);
}

/* ---- what can go wrong ---- */

static int do_all(const trl_lattice *lattice, const trl_lattice_scale *scale, double *posterior)
{
    trl_nbest *list = NULL;
    trl_lattice *pruned = NULL;
    trl_hypothesis *best = NULL, *mbr = NULL;
    trl_error err;
    int code = trl_lattice_nbest(lattice, scale, 5, &list, &err);
    if (code == 0)
        code = trl_lattice_prune(lattice, scale, 2, &pruned, &err);
    if (code == 0)
        code = trl_lattice_posteriors(lattice, scale, posterior, NULL, &err);
    if (code == 0)
        code = trl_lattice_best(lattice, scale, &best, &err);
    if (code == 0)
        code = trl_lattice_mbr(lattice, scale, &mbr, &err);
    trl_nbest_destroy(list);
    trl_lattice_destroy(pruned);
    trl_hypothesis_destroy(best);
    trl_hypothesis_destroy(mbr);
    return code;
}

static void wrong_input_and_no_memory(void **state)
{
    (void)state;
    random_source r = {6};
    test_case c = make_case(&r);
    double *posterior = calloc((size_t)c.view.first[c.view.states] + 1, sizeof *posterior);
    trl_lattice_scale wrong = {NAN, 1, 0};
    trl_lattice *pruned;
    int failures = 0;
    assert_int_equal(do_all(c.lattice, &wrong, posterior), TRL_EINVAL);
    assert_int_equal(trl_lattice_prune(c.lattice, &c.scale, -1, &pruned, NULL), TRL_EINVAL);
    for (int code = TRL_ENOMEM; code < 0; failures++) {
        trl__memory_fail_after(failures + 1);
        code = do_all(c.lattice, &c.scale, posterior);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
    }
    assert_true(failures > 30);
    free(posterior);
    free_case(&c);
}

/* A lattice without states has no words. */
static void nothing_has_no_words(void **state)
{
    (void)state;
    trl_lattice *lattice, *pruned;
    trl_nbest *list;
    trl_hypothesis *h;
    double total;
    trl_lattice_scale scale = {1, 1, 0};
    assert_int_equal(trl__lattice_create(NULL, &lattice, NULL), 0);
    assert_int_equal(trl__lattice_finish(lattice, NULL), 0);
    assert_int_equal(trl_lattice_nbest(lattice, &scale, 3, &list, NULL), 0);
    assert_int_equal(trl_nbest_count(list), 0);
    assert_int_equal(trl_lattice_posteriors(lattice, &scale, NULL, &total, NULL), 0);
    assert_true(total == -INFINITY);
    assert_int_equal(trl_lattice_mbr(lattice, &scale, &h, NULL), 0);
    assert_int_equal(h->count, 0);
    assert_int_equal(trl_lattice_prune(lattice, &scale, 1, &pruned, NULL), 0);
    assert_int_equal(trl_lattice_look(pruned).states, 0);
    trl_nbest_destroy(list);
    trl_hypothesis_destroy(h);
    trl_lattice_destroy(pruned);
    trl_lattice_destroy(lattice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nbest_are_the_shortest),
        cmocka_unit_test(words_are_listed_once),
        cmocka_unit_test(pruning_keeps_what_is_within_the_beam),
        cmocka_unit_test(posteriors_are_sums_over_paths),
        cmocka_unit_test(errors_are_means_over_paths),
        cmocka_unit_test(risk_is_least),
        cmocka_unit_test(confidence_is_the_probability),
        cmocka_unit_test(long_lattices_are_compared_near_by),
        cmocka_unit_test(wrong_input_and_no_memory),
        cmocka_unit_test(nothing_has_no_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
