/* Searching a graph that is composed with its n-gram model meanwhile: the best word strings and their costs are those of the whole graph, and the lattice is the
 * same to the last bit whatever memory there is. */
#include "align_case.h"
#include "decode/best_words.h"
#include "decode/lattice_determinize.h"
#include "decode/decoder_data.h"
#include "random_tree.h"
#include "decode/scorer.h"
#include "raw_lattice_fixture.h"

#include <trellis/fst.h>

#define WORDS 8
#define FRAMES 24
#define BEST 6
#define SCALE 0.3f
#define TOLERANCE 0.02 /* costs are rounded where states are joined, and words that sound alike differ by 0.001 */

typedef struct lazy_case {
    trl_lexicon *lexicon;
    trl_model *model;
    trl_fst *grammar;
    trl_graph *whole, *lazy;
    float *scores;
} lazy_case;

/* ---- Random cases ---- */

static trl_lexicon *make_lexicon(dice *d)
{
    char text[2000];
    size_t size = 0;
    for (int w = 0; w < WORDS; w++)
        for (int v = roll_int(d, 0, 3) == 0 ? 2 : 1; v > 0; v--) {
            size += (size_t)snprintf(text + size, sizeof text - size, "W%d 0.%d", w, roll_int(d, 2, 9));
            for (int i = roll_int(d, 1, 4); i > 0; i--)
                size += (size_t)snprintf(text + size, sizeof text - size, " %c", "ABC"[roll_int(d, 0, 2)]);
            text[size++] = '\n';
        }
    text[size] = '\0';
    return lexicon_of(text);
}

static void add_word(trl_fst *fst, int32_t from, int32_t word, float cost, int32_t to)
{
    must(trl_fst_add_arc(fst, from, (trl_arc){word, word, {cost, 0}, to}, &err));
}

static void back_off(trl_fst *fst, int32_t from, float cost, int32_t to)
{
    must(trl_fst_add_arc(fst, from, (trl_arc){0, 0, {cost, 0}, to}, &err));
}

/* A trigram: state 0 has no history, 1 … WORDS one word, the others two. */
static trl_fst *make_ngrams(const trl_lexicon *lexicon, dice *d)
{
    trl_fst *fst;
    trl_symbols *words;
    int32_t pair[WORDS + 1][WORDS + 1] = {0}, state;
    must(trl_symbols_create("words", &words, &err));
    must(trl_symbols_add(words, "<eps>", 0, &err));
    for (size_t w = 0; w < trl_lexicon_words(lexicon); w++)
        must(trl_symbols_add(words, trl_lexicon_word(lexicon, w), (int64_t)w + 1, &err));
    must(trl_fst_create(TRL_TROPICAL, &fst, &err));
    must(trl_fst_add_states(fst, WORDS + 1, &err));
    must(trl_fst_set_start(fst, roll_int(d, 0, WORDS), &err));
    for (int u = 1; u <= WORDS; u++)
        for (int v = 1; v <= WORDS; v++)
            if (roll(d) < 0.2f) {
                must(trl_fst_add_state(fst, &state, &err));
                pair[u][v] = state;
                back_off(fst, state, 2 * roll(d) - 0.3f, v);
                for (int w = 1; w <= WORDS; w++)
                    if (roll(d) < 0.3f)
                        add_word(fst, state, w, 0.7f + 3 * roll(d), pair[v][w] ? pair[v][w] : w);
            }
    for (int v = 1; v <= WORDS; v++) {
        back_off(fst, v, 2 * roll(d) - 0.3f, 0);
        for (int w = 1; w <= WORDS; w++)
            if (pair[v][w] || roll(d) < 0.4f)
                add_word(fst, v, w, 0.7f + 4 * roll(d), pair[v][w] ? pair[v][w] : w);
        add_word(fst, 0, v, 1 + 4 * roll(d), v);
    }
    for (int s = 0; s < trl_fst_states(fst); s++)
        if (s == 0 || roll(d) < 0.3f)
            must(trl_fst_set_final(fst, s, (trl_weight){3 * roll(d), 0}, &err));
    trl_fst_set_symbols(fst, words, NULL);
    return fst;
}

static void make_case(lazy_case *c, uint64_t number)
{
    dice d = {.seed = 11, .stream = number};
    trl_model_options o = trl_model_defaults();
    trl_graph_options g = trl_graph_defaults();
    *c = (lazy_case){.lexicon = make_lexicon(&d)};
    o.states = roll_int(&d, 1, 2);
    o.silence_states = 1;
    o.word_positions = roll_int(&d, 0, 1);
    must(trl_model_create(c->lexicon, NULL, 2, &o, &c->model, &err));
    c->model->silence_between = 0.3f;
    int width = roll_int(&d, 0, 3);
    if (width > 0)
        give_tree(c->model, &d, width, roll_int(&d, 0, width - 1), roll_int(&d, 1, 4));
    randomise_transitions(c->model, &d);
    c->grammar = make_ngrams(c->lexicon, &d);
    must(trl_graph_build(c->model, c->lexicon, c->grammar, &g, &c->whole, NULL, &err));
    g.on_the_fly = 1;
    must(trl_graph_build(c->model, c->lexicon, c->grammar, &g, &c->lazy, NULL, &err));
    size_t count = (size_t)c->model->tied_states * FRAMES;
    c->scores = malloc(count * sizeof *c->scores);
    for (size_t i = 0; i < count; i++)
        c->scores[i] = -20 * roll(&d);
}

static void free_case(lazy_case *c)
{
    trl_graph_destroy(c->whole);
    trl_graph_destroy(c->lazy);
    trl_fst_destroy(c->grammar);
    trl_model_destroy(c->model);
    trl_lexicon_destroy(c->lexicon);
    free(c->scores);
}

/* ---- Searches ---- */

static trl__decoder *open_decoder(const trl_graph *graph, double beam, double lattice_beam, size_t bytes)
{
    trl__decode_options o = trl__decode_defaults();
    trl__decoder *d;
    o.beam = beam;
    o.lattice_beam = lattice_beam;
    o.most_active = 1000000;
    o.acoustic_scale = (double)SCALE;
    o.prune_interval = 5;
    o.lazy_bytes = bytes;
    must(trl__decoder_create(graph, &o, &d, &err));
    return d;
}

static const trl__raw_lattice *search(trl__decoder *d, const lazy_case *c)
{
    const trl__raw_lattice *raw;
    must(trl__decoder_begin(d, &err));
    for (int32_t f = 0; f < FRAMES; f += 6)
        must(trl__decoder_advance(d, c->scores + f, 6, FRAMES, &err));
    must(trl__decoder_finish(d, &raw, &err));
    return raw;
}

static trl_nbest *best_strings(const trl__raw_lattice *raw, const trl_graph *g, trl_lattice **lattice)
{
    const trl__determinize_options o = {.acoustic_scale = (double)SCALE, .beam = 8};
    const trl_lattice_scale scale = {(double)SCALE, 1, 0};
    trl__determinizer *determinizer;
    trl_nbest *list;
    double beam;
    must(trl__determinizer_create(&determinizer, &err));
    must(trl__determinize(determinizer, raw, g->symbols, &o, lattice, &beam, &err));
    must(trl_lattice_nbest(*lattice, &scale, BEST + 1, &list, &err));
    trl__determinizer_destroy(determinizer);
    return list;
}

static double cost_of(const trl_nbest *list, size_t i)
{
    trl_sentence s = trl_nbest_get(list, i);
    return s.graph + (double)SCALE * s.acoustic;
}

static int says_the_same(const trl_nbest *a, const trl_graph *ga, const trl_nbest *b, const trl_graph *gb, size_t i)
{
    trl_sentence x = trl_nbest_get(a, i), y = trl_nbest_get(b, i);
    int same = x.count == y.count;
    for (size_t w = 0; same && w < x.count; w++)
        same = strcmp(trl_symbols_name(ga->symbols, x.words[w]), trl_symbols_name(gb->symbols, y.words[w])) == 0;
    return same;
}

/* ---- The laws ---- */

static void strings_and_costs_are_those_of_the_whole_graph(void **state)
{
    (void)state;
    size_t compared = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(150); i++) {
        lazy_case c;
        trl_lattice *whole, *lazy;
        make_case(&c, i);
        trl__decoder *d = open_decoder(c.whole, INFINITY, 9, 1 << 20), *e = open_decoder(c.lazy, INFINITY, 9, 1 << 20);
        trl_nbest *a = best_strings(search(d, &c), c.whole, &whole), *b = best_strings(search(e, &c), c.lazy, &lazy);
        for (size_t k = 0; k < BEST && k + 1 < trl_nbest_count(a); k++) {
            assert_true(k < trl_nbest_count(b));
            if (!(fabs(cost_of(a, k) - cost_of(b, k)) < TOLERANCE))
                fail_msg("case %llu: string %zu costs %f instead of %f", (unsigned long long)i, k, cost_of(b, k),
                         cost_of(a, k));
            int is_tie = (k > 0 && cost_of(a, k) - cost_of(a, k - 1) < 2 * TOLERANCE) ||
                         cost_of(a, k + 1) - cost_of(a, k) < 2 * TOLERANCE;
            if (!is_tie && !says_the_same(a, c.whole, b, c.lazy, k))
                fail_msg("case %llu: string %zu is another", (unsigned long long)i, k);
            compared += !is_tie;
        }
        trl_nbest_destroy(a);
        trl_nbest_destroy(b);
        trl_lattice_destroy(whole);
        trl_lattice_destroy(lazy);
        trl__decoder_destroy(d);
        trl__decoder_destroy(e);
        free_case(&c);
    }
    assert_true(compared > RANDOM_CASES(400));
}

/* Without memory, all is forgotten between utterances and what is not needed in every frame. */
static void memory_does_not_matter(void **state)
{
    (void)state;
    size_t arcs = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(100); i++) {
        lazy_case c;
        make_case(&c, 1000 + i);
        trl__decoder *d = open_decoder(c.lazy, i % 2 ? INFINITY : 6, 5, 1 << 20);
        trl__decoder *e = open_decoder(c.lazy, i % 2 ? INFINITY : 6, 5, 0);
        for (int again = 0; again < 3; again++) {
            const trl__raw_lattice *kept = search(d, &c), *forgotten = search(e, &c);
            if (kept->states > 0)
                assert_same_lattice(kept, forgotten);
            arcs += kept->states > 0 ? kept->first[kept->states] : 0;
        }
        trl__decoder_destroy(d);
        trl__decoder_destroy(e);
        free_case(&c);
    }
    assert_true(arcs > RANDOM_CASES(10000));
}

static int make_from_table(void *user, int worker, const trl__row *rows, int32_t count, float *scores, trl_error *e)
{
    const float *table = user;
    (void)worker, (void)e;
    for (int32_t i = 0; i < count; i++)
        memcpy(scores + rows[i].offset, table + (size_t)rows[i].tied * FRAMES + rows[i].first,
               (size_t)(rows[i].end - rows[i].first) * sizeof *scores);
    return 0;
}

/* With scores that are made when they are asked for, or foreseen. */
static const trl__raw_lattice *search_in_blocks(trl__decoder *d, trl__team *team, const lazy_case *c)
{
    const trl__raw_lattice *raw;
    trl__scorer *scorer;
    const trl__score_maker maker = {make_from_table, c->scores, 0, 8};
    must(trl__scorer_create(NULL, c->model->tied_states, &scorer, &err));
    must(trl__scorer_share(scorer, team, NULL, &err));
    trl__scorer_begin_making(scorer, &maker, FRAMES);
    must(trl__decoder_begin(d, &err));
    must(trl__scorer_search(scorer, d, &err));
    must(trl__decoder_finish(d, &raw, &err));
    trl__scorer_destroy(scorer);
    return raw;
}

/* Threads meet states in another order, and so do searches that have searched something else before: their numbers differ, and nothing else does. */
static void threads_and_the_past_do_not_matter(void **state)
{
    (void)state;
    size_t arcs = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(60); i++) {
        lazy_case c;
        trl__team *team;
        make_case(&c, 2000 + i);
        must(trl__team_create(2 + (int)(i % 3), 0, &team, &err));
        trl__decoder *alone = open_decoder(c.lazy, 6, 5, 1 << 20);
        trl__raw_lattice first = copy_lattice(search(alone, &c));
        for (int merges = 0; merges < 2; merges++) {
            trl__decoder *d = open_decoder(c.lazy, 6, 5, i % 2 ? 1 << 20 : 0);
            d->options.merges = merges;
            d->options.least_shared = 1;
            must(trl__decoder_share(d, team, &err));
            for (int again = 0; again < 2; again++) {
                assert_same_lattice(search(d, &c), &first);
                assert_same_lattice(search_in_blocks(d, team, &c), &first);
                must(trl__decoder_begin(d, &err)); /* something else, backwards */
                for (int32_t f = FRAMES; f-- > 0;)
                    must(trl__decoder_advance(d, c.scores + f, 1, FRAMES, &err));
            }
            trl__decoder_destroy(d);
        }
        arcs += first.states > 0 ? first.first[first.states] : 0;
        free_lattice(&first);
        trl__decoder_destroy(alone);
        trl__team_destroy(team);
        free_case(&c);
    }
    assert_true(arcs > RANDOM_CASES(5000));
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    lazy_case c;
    const trl__raw_lattice *raw;
    int failures = 0, code = -1;
    make_case(&c, 5000);
    trl__decoder *d = open_decoder(c.lazy, INFINITY, 5, 1 << 20);
    for (long n = 1; code < 0; n++) {
        trl__decoder *e = NULL;
        trl__decode_options o = trl__decode_defaults();
        o.lazy_bytes = 0;
        o.acoustic_scale = (double)SCALE;
        trl__memory_fail_after(n);
        code = trl__decoder_create(c.lazy, &o, &e, &err);
        if (code == 0)
            code = trl__decoder_begin(e, &err);
        if (code == 0)
            code = trl__decoder_advance(e, c.scores, FRAMES, FRAMES, &err);
        if (code == 0)
            code = trl__decoder_finish(e, &raw, &err);
        trl__memory_fail_after(0);
        if (code < 0) {
            assert_int_equal(code, TRL_ENOMEM);
            failures++;
            if (e) { /* and goes on with the next utterance */
                must(trl__decoder_begin(e, &err));
                must(trl__decoder_advance(e, c.scores, FRAMES, FRAMES, &err));
                must(trl__decoder_finish(e, &raw, &err));
            }
        }
        trl__decoder_destroy(e);
    }
    assert_true(failures > 20);
    trl__decoder_destroy(d);
    free_case(&c);
}

/* ---- Rows of words ---- */

#define LONGEST_ROW 3000

/* Rising numbers, now and then with a gap, a crowd or the same again: nothing that a guess by proportion could count on. */
static uint32_t random_row(dice *d, int32_t *words)
{
    uint32_t count = (uint32_t)roll_int(d, 1, roll_int(d, 0, 1) ? 60 : LONGEST_ROW);
    int32_t step = roll_int(d, 1, 50), word = roll_int(d, 1, 1000);
    for (uint32_t i = 0; i < count; i++) {
        words[i] = word;
        word += roll_int(d, 0, 99) == 0 ? roll_int(d, 0, 100000) : roll_int(d, 0, step);
        step = roll_int(d, 0, 299) == 0 ? roll_int(d, 1, 500) : step;
    }
    return count;
}

static void places_in_rows_are_found(void **state)
{
    (void)state;
    static int32_t words[LONGEST_ROW];
    trl__ngram_rows rows = {.word = words};
    for (uint64_t seed = 0; seed < RANDOM_CASES(300); seed++) {
        dice d = {.seed = seed, .stream = 77};
        uint32_t count = random_row(&d, words);
        for (int k = 0; k < 50; k++) {
            uint32_t from = (uint32_t)roll_int(&d, 0, (int32_t)count - 1), expected = from;
            int32_t word = words[roll_int(&d, 0, (int32_t)count - 1)] + roll_int(&d, -2, 2);
            while (expected < count && words[expected] < word)
                expected++;
            assert_int_equal(trl__row_find(&rows, from, count, word), expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_in_rows_are_found),
        cmocka_unit_test(strings_and_costs_are_those_of_the_whole_graph),
        cmocka_unit_test(memory_does_not_matter),
        cmocka_unit_test(threads_and_the_past_do_not_matter),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN_LONG(tests);
}
