/* Recognition graphs: what is refused and why, a small one by hand, and the file: no damage or nonsense goes unseen. */
#include "small_tree.h"
#include "container_repair.h"
#include "decode/network.h"
#include "decode/ngram_rows.h"

#include <trellis/fst_file.h>

static trl_error err;

static void must(int code)
{
    if (code < 0)
        fail_msg("%s", err.text);
}

/* A loop over these words, all alike. The last one is NULL. */
static trl_fst *loop_over(const char *const *words)
{
    trl_fst *fst;
    trl_symbols *table;
    must(trl_symbols_create("words", &table, &err));
    must(trl_symbols_add(table, "<eps>", 0, &err));
    must(trl_fst_create(TRL_TROPICAL, &fst, &err));
    must(trl_fst_add_states(fst, 1, &err));
    must(trl_fst_set_start(fst, 0, &err));
    must(trl_fst_set_final(fst, 0, (trl_weight){0, 0}, &err));
    for (; *words; words++) {
        int32_t label;
        must(trl_symbols_add_next(table, *words, &label, &err));
        must(trl_fst_add_arc(fst, 0, (trl_arc){label, label, {1, 0}, 0}, &err));
    }
    trl_fst_set_symbols(fst, table, NULL);
    return fst;
}

#define LOOP(...) loop_over((const char *const[]){__VA_ARGS__, NULL})

static trl_model *finished_tree_model(void)
{
    trl_model *m = small_tree_model();
    must(trl__model_finish(m, "small", &err));
    return m;
}

static trl_graph *build(const trl_model *model, const char *lexicon_text, trl_fst *grammar)
{
    trl_graph *graph;
    trl_lexicon *lexicon = lexicon_of(lexicon_text);
    must(trl_graph_build(model, lexicon, grammar, NULL, &graph, NULL, &err));
    trl_lexicon_destroy(lexicon);
    trl_fst_destroy(grammar);
    return graph;
}

static trl_graph *example(void)
{
    trl_model *model = finished_tree_model();
    trl_graph *graph = build(model, "ab AA B\na AA\n", LOOP("ab", "a"));
    must(trl_graph_fits(graph, model, &err));
    trl_model_destroy(model);
    return graph;
}

/* With a language model beside it: two histories, one of which backs off to the other. */
static trl_graph *example_on_the_fly(void)
{
    trl_model *model = finished_tree_model();
    trl_lexicon *lexicon = lexicon_of("ab AA B\na AA\nb B AA\n");
    trl_fst *grammar = LOOP("ab", "a", "b");
    trl_graph_options o = trl_graph_defaults();
    trl_graph *graph;
    o.on_the_fly = 1;
    must(trl_fst_add_states(grammar, 1, &err));
    must(trl_fst_add_arc(grammar, 1, (trl_arc){0, 0, {0.5f, 0}, 0}, &err));
    must(trl_fst_add_arc(grammar, 1, (trl_arc){2, 2, {0.25f, 0}, 1}, &err));
    must(trl_fst_add_arc(grammar, 0, (trl_arc){3, 3, {0.75f, 0}, 1}, &err));
    must(trl_graph_build(model, lexicon, grammar, &o, &graph, NULL, &err));
    assert_int_equal(trl_graph_ngrams(graph), 5);
    trl_lexicon_destroy(lexicon);
    trl_fst_destroy(grammar);
    trl_model_destroy(model);
    return graph;
}

/* ---- Building ---- */

static void refuse(const trl_model *model, const char *lexicon_text, trl_fst *grammar, const trl_graph_options *options,
                   int code, const char *text)
{
    trl_graph *graph;
    trl_lexicon *lexicon = lexicon_of(lexicon_text);
    int got = trl_graph_build(model, lexicon, grammar, options, &graph, NULL, &err);
    if (got != code || graph || !strstr(err.text, text))
        fail_msg("%d instead of %d, no '%s' in '%s'", got, code, text, err.text);
    trl_lexicon_destroy(lexicon);
    trl_fst_destroy(grammar);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    trl_model *m = finished_tree_model();
    refuse(m, "a AA\n", LOOP("a", "b", "c"), NULL, TRL_EINVAL, "no pronunciation of 2 words of the grammar: b, c;");
    refuse(m, "a AA\n", LOOP("u", "v", "w", "x", "y", "z"), NULL, TRL_EINVAL,
           "6 words of the grammar: u, v, w, x, y …");
    refuse(m, "a QQ\n", LOOP("a"), NULL, TRL_EINVAL, "the word a has the phone QQ");
    trl_graph_options o = trl_graph_defaults();
    o.most_states = 5;
    refuse(m, "a AA\n", LOOP("a"), &o, TRL_ELIMIT, "more than 5 states");
    o = trl_graph_defaults();
    o.self_loop_scale = -1;
    refuse(m, "a AA\n", LOOP("a"), &o, TRL_EINVAL, "scale of self-loops");
    o = trl_graph_defaults();
    o.transition_scale = NAN;
    refuse(m, "a AA\n", LOOP("a"), &o, TRL_EINVAL, "scale of transitions");
    trl_fst *grammar = LOOP("a");
    trl_fst_set_symbols(grammar, NULL, NULL);
    refuse(m, "a AA\n", grammar, NULL, TRL_EINVAL, "no table of words");
    grammar = LOOP("a", "b");
    must(trl_fst_add_arc(grammar, 0, (trl_arc){1, 2, {0, 0}, 0}, &err));
    refuse(m, "a AA\nb B\n", grammar, NULL, TRL_EINVAL, "must be an acceptor");
    must(trl_fst_create(TRL_REAL, &grammar, &err));
    refuse(m, "a AA\n", grammar, NULL, TRL_EINVAL, "tropical or log, not real");
    must(trl_fst_create(TRL_TROPICAL, &grammar, &err));
    trl_symbols *table;
    must(trl_symbols_create("words", &table, &err));
    trl_fst_set_symbols(grammar, table, NULL);
    refuse(m, "a AA\n", grammar, NULL, TRL_EINVAL, "the grammar allows nothing");
    trl_model_destroy(m);
}

static void leaves_words_out(void **state)
{
    (void)state;
    trl_model *m = finished_tree_model();
    trl_lexicon *lexicon = lexicon_of("a AA\n");
    trl_fst *all = LOOP("a", "b", "<unk>"), *one = LOOP("a"), *unknown = LOOP("a", "<unk>");
    trl_graph *graph, *expected;
    size_t left_out;
    must(trl_graph_build(m, lexicon, one, NULL, &expected, NULL, &err));
    must(trl_graph_build(m, lexicon, all, NULL, &graph, &left_out, &err));
    assert_int_equal(left_out, 2);
    assert_int_equal(trl_graph_arcs(graph), trl_graph_arcs(expected));
    trl_graph_destroy(graph);
    must(trl_graph_build(m, lexicon, unknown, NULL, &graph, NULL, &err)); /* needs not be asked for */
    assert_int_equal(trl_graph_arcs(graph), trl_graph_arcs(expected));
    trl_graph_destroy(graph);
    trl_graph_destroy(expected);
    trl_fst_destroy(all);
    trl_fst_destroy(one);
    trl_fst_destroy(unknown);
    trl_lexicon_destroy(lexicon);
    trl_model_destroy(m);
}

/* #0, as Kaldi labels back-off, is the same as epsilon. */
static void knows_symbols_of_back_off(void **state)
{
    (void)state;
    trl_model *m = finished_tree_model();
    trl_fst *with = LOOP("a", "#0"), *without = LOOP("a");
    must(trl_fst_add_states(with, 1, &err));
    must(trl_fst_add_states(without, 1, &err));
    trl_fst_delete_arcs(with, 0);
    must(trl_fst_add_arc(with, 0, (trl_arc){1, 1, {1, 0}, 0}, &err));
    must(trl_fst_add_arc(with, 0, (trl_arc){2, 0, {0.5f, 0}, 1}, &err));
    must(trl_fst_add_arc(without, 0, (trl_arc){0, 0, {0.5f, 0}, 1}, &err));
    must(trl_fst_set_final(with, 1, (trl_weight){0, 0}, &err));
    must(trl_fst_set_final(without, 1, (trl_weight){0, 0}, &err));
    trl_graph *a = build(m, "a AA\n", with), *b = build(m, "a AA\n", without);
    assert_int_equal(trl_graph_states(a), trl_graph_states(b));
    assert_int_equal(trl_graph_arcs(a), trl_graph_arcs(b));
    for (uint64_t i = 0; i < trl_graph_arcs(a); i++)
        assert_memory_equal(&a->arcs[i], &b->arcs[i], sizeof a->arcs[i]);
    trl_graph_destroy(a);
    trl_graph_destroy(b);
    trl_model_destroy(m);
}

/* A model without silence, one unit of one state, one word: two states, with q = 1/4 leaving and p = 3/4 staying.
 * The grammar's costs, 2 and 3, come first. */
static void counts_costs(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.states = 1;
    trl_model *m = model_of("a AA\n", 1, &o);
    for (size_t u = 0; u < m->units.count; u++)
        m->unit_kind[u] = TRL_UNIT_PHONE;
    trl_fst *grammar = LOOP("a");
    must(trl_fst_add_states(grammar, 1, &err));
    trl_fst_delete_arcs(grammar, 0);
    must(trl_fst_add_arc(grammar, 0, (trl_arc){1, 1, {2, 0}, 1}, &err));
    must(trl_fst_set_final(grammar, 0, trl_weight_zero(TRL_TROPICAL), &err));
    must(trl_fst_set_final(grammar, 1, (trl_weight){3, 0}, &err));
    trl_graph *g = build(m, "a AA\n", grammar);
    int32_t unit = trl_model_find_unit(m, "AA"), first = trl__model_triple(m, unit, 0)->transition;
    assert_int_equal(g->states, 2);
    assert_int_equal(trl_graph_arcs(g), 2);
    assert_int_equal(g->start, 0);
    assert_int_equal(g->arcs[0].transition, first + 1);
    assert_int_equal(g->arcs[0].word, 1);
    assert_int_equal(g->arcs[0].next, 1);
    assert_true(fabs((double)g->arcs[0].cost - (5 - 0.1 * log(0.25))) < 1e-5);
    assert_int_equal(g->arcs[1].transition, first);
    assert_int_equal(g->arcs[1].next, 1);
    assert_true(fabs((double)g->arcs[1].cost + 0.1 * log(0.75)) < 1e-5);
    assert_true(isinf(g->final[0]) && fabs((double)g->final[1]) < 1e-5);
    assert_int_equal(g->tied[first], trl__model_triple(m, unit, 0)->tied);
    assert_string_equal(trl_symbols_name(trl_graph_words(g), 1), "a");
    trl_graph_destroy(g);
    trl_model_destroy(m);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    trl_model *m = finished_tree_model();
    trl_lexicon *lexicon = lexicon_of("ab AA B\na AA\nb AA\n");
    trl_fst *grammar = LOOP("ab", "a", "b");
    trl_graph *graph = NULL;
    must(trl_fst_add_states(grammar, 1, &err)); /* a cycle of epsilons */
    must(trl_fst_add_arc(grammar, 0, (trl_arc){0, 0, {1, 0}, 1}, &err));
    must(trl_fst_add_arc(grammar, 1, (trl_arc){0, 0, {1, 0}, 0}, &err));
    int code = TRL_ENOMEM;
    long n = 0;
    while (code == TRL_ENOMEM) {
        trl__memory_fail_after(++n);
        code = trl_graph_build(m, lexicon, grammar, NULL, &graph, NULL, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || (code == TRL_ENOMEM && !graph));
    }
    assert_true(n > 100);
    trl_graph_destroy(graph);
    trl_fst_destroy(grammar);
    trl_lexicon_destroy(lexicon);
    trl_model_destroy(m);
}

/* Units by place, the words in the order of the table; a phone that the model lacks is no pronunciation. */
static void knows_how_words_are_said(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.word_positions = 1;
    trl_model *m = model_of("ab AA B\n", 2, &o);
    trl_graph *g = build(m, "ab AA B\na AA\na B\nc B AA\n", LOOP("c", "a"));
    const char *const said[] = {"B_B", "AA_E", "AA_S", "B_S"};
    const uint32_t words[] = {0, 0, 1, 3}, first[] = {0, 2, 3, 4};
    assert_int_equal(g->words, 3);
    assert_memory_equal(g->spoken_word, words, sizeof words);
    assert_memory_equal(g->spoken_first, first, sizeof first);
    for (int i = 0; i < 4; i++)
        assert_int_equal(g->spoken_units[i], trl_model_find_unit(m, said[i]));
    trl_fst *fst;
    trl_graph *foreign, *again;
    must(trl_graph_to_fst(g, &fst, &err));
    must(trl_graph_from_fst(m, fst, &foreign, &err));
    assert_null(foreign->spoken_word);
    must(trl_graph_write(foreign, temp_path("f.trg"), &err));
    must(trl_graph_read(temp_path("f.trg"), &again, &err));
    assert_null(again->spoken_word);
    trl_fst_destroy(fst);
    trl_graph_destroy(again);
    trl_graph_destroy(foreign);
    trl_graph_destroy(g);
    trl_model_destroy(m);
}

/* ---- What it fits ---- */

static void fits_its_model_alone(void **state)
{
    (void)state;
    trl_graph *graph = example();
    trl_model *same = finished_tree_model(), *other = model_of("A AA B\n", 2, NULL);
    same->mean[0] += 1;
    same->log_probability[1] = logf(0.5f);
    must(trl_graph_fits(graph, same, &err));
    assert_int_equal(trl_graph_fits(graph, other, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "made for another model"));
    same->tree->sets.bits[0] ^= 1;
    assert_int_equal(trl_graph_fits(graph, same, &err), TRL_EINVAL);
    trl_graph_destroy(graph);
    trl_model_destroy(same);
    trl_model_destroy(other);
}

static void refuses_foreign_machines(void **state)
{
    (void)state;
    trl_model *m = finished_tree_model();
    trl_fst *fst;
    trl_graph *graph;
    must(trl_fst_create(TRL_TROPICAL, &fst, &err));
    assert_int_equal(trl_graph_from_fst(m, fst, &graph, &err), TRL_EINVAL);
    must(trl_fst_add_states(fst, 2, &err));
    must(trl_fst_set_start(fst, 0, &err));
    must(trl_fst_add_arc(fst, 0, (trl_arc){m->transitions + 1, 1, {0, 0}, 1}, &err));
    assert_int_equal(trl_graph_from_fst(m, fst, &graph, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "disambiguation"));
    trl_fst_delete_arcs(fst, 0);
    must(trl_fst_add_arc(fst, 0, (trl_arc){0, 1, {0, 0}, 1}, &err));
    must(trl_fst_add_arc(fst, 1, (trl_arc){0, 0, {0, 0}, 0}, &err));
    assert_int_equal(trl_graph_from_fst(m, fst, &graph, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "cycle"));
    assert_null(graph);
    trl_fst_destroy(fst);
    trl_model_destroy(m);
}

/* ---- The file ---- */

static void same_graph(const trl_graph *a, const trl_graph *b)
{
    size_t states = (size_t)a->states;
    assert_int_equal(a->states, b->states);
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->words, b->words);
    assert_int_equal(a->transitions, b->transitions);
    assert_true(a->model == b->model);
    assert_memory_equal(a->first, b->first, (states + 1) * sizeof *a->first);
    assert_memory_equal(a->emitting, b->emitting, states * sizeof *a->emitting);
    assert_memory_equal(a->final, b->final, states * sizeof *a->final);
    assert_memory_equal(a->arcs, b->arcs, (size_t)a->first[states] * sizeof *a->arcs);
    assert_memory_equal(a->tied, b->tied, ((size_t)a->transitions + 1) * sizeof *a->tied);
    assert_int_equal(a->spoken_word != NULL, b->spoken_word != NULL);
    if (a->spoken_word) {
        uint32_t spoken = a->spoken_word[a->words];
        assert_memory_equal(a->spoken_word, b->spoken_word, ((size_t)a->words + 1) * sizeof *a->spoken_word);
        assert_memory_equal(a->spoken_first, b->spoken_first, (spoken + 1) * sizeof *a->spoken_first);
        assert_memory_equal(a->spoken_units, b->spoken_units, a->spoken_first[spoken] * sizeof *a->spoken_units);
    }
    assert_string_equal(trl_graph_provenance(a), trl_graph_provenance(b));
    assert_int_equal(trl_symbols_count(a->symbols), trl_symbols_count(b->symbols));
    assert_string_equal(trl_symbols_name(a->symbols, 2), trl_symbols_name(b->symbols, 2));
}

static void reads_what_was_written(void **state)
{
    (void)state;
    trl_graph *graph = example(), *again;
    must(trl_graph_write(graph, temp_path("g.trg"), &err));
    must(trl_graph_read(temp_path("g.trg"), &again, &err));
    assert_non_null(again->file);
    same_graph(graph, again);
    trl_graph_destroy(graph);
    trl_graph_destroy(again);
    assert_int_equal(trl_graph_read(temp_path("none.trg"), &again, &err), TRL_ENOENT);
    temp_write("m", "no graph", 8);
    assert_int_equal(trl_graph_read(temp_path("m"), &again, &err), TRL_EFORMAT);
}

/* Read and written again, it is the same file. */
static void keeps_language_models(void **state)
{
    (void)state;
    size_t size, size_again;
    trl_graph *graph = example_on_the_fly(), *again;
    trl_fst *fst;
    must(trl_graph_write(graph, temp_path("g.trg"), &err));
    must(trl_graph_read(temp_path("g.trg"), &again, &err));
    must(trl_graph_write(again, temp_path("h.trg"), &err));
    same_graph(graph, again);
    assert_int_equal(trl_graph_ngrams(again), 5);
    assert_int_equal(again->rows->root, graph->rows->root);
    unsigned char *first = temp_read("g.trg", &size), *second = temp_read("h.trg", &size_again);
    assert_int_equal(size, size_again);
    assert_memory_equal(first, second, size);
    free(first);
    free(second);
    assert_int_equal(trl_graph_to_fst(again, &fst, &err), TRL_EUNSUPPORTED);
    trl_graph_destroy(graph);
    trl_graph_destroy(again);
}

static unsigned char *file_of_example(trl_graph *graph, size_t *size)
{
    must(trl_graph_write(graph, temp_path("g.trg"), &err));
    trl_graph_destroy(graph);
    return temp_read("g.trg", size);
}

static int from_memory(const unsigned char *bytes, size_t size, trl_graph **graph)
{
    trl__container *file;
    *graph = NULL;
    int code = trl__container_from_memory("bytes", bytes, size, TRL__GRAPH_KIND, TRL__GRAPH_VERSION, &file, &err);
    return code < 0 ? code : trl__graph_from_container(file, graph, &err);
}

static void check_damage(trl_graph *example)
{
    size_t size;
    trl_graph *graph;
    unsigned char *bytes = file_of_example(example, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        assert_true(from_memory(bytes, size, &graph) < 0);
        bytes[i] ^= 0x10;
        unsigned char *cut = malloc(i + 1);
        memcpy(cut, bytes, i);
        assert_true(from_memory(cut, i, &graph) < 0);
        free(cut);
    }
    free(bytes);
}

static void sees_every_flipped_byte_and_cut(void **state)
{
    (void)state;
    check_damage(example());
    check_damage(example_on_the_fly());
}

/* Numbers that can't be, with checksums put right. */
static void refuse_graph(trl_graph *graph, const char *text)
{
    trl_graph *again;
    must(trl_graph_write(graph, temp_path("v.trg"), &err));
    int code = trl_graph_read(temp_path("v.trg"), &again, &err);
    if ((code != TRL_ECORRUPT && code != TRL_ENUMBER) || again || !strstr(err.text, text) || !strstr(err.text, "v.trg"))
        fail_msg("%d: no '%s' in '%s'", code, text, err.text);
}

#define WRONG(place, value, text)          \
    do {                                   \
        __typeof__(place) kept_ = (place); \
        (place) = (value);                 \
        refuse_graph(g, text);             \
        (place) = kept_;                   \
    } while (0)

static void refuses_nonsense(void **state)
{
    (void)state;
    trl_graph *g = example();
    uint64_t loud = g->emitting[g->start];
    WRONG(g->start, g->states, "the number of states");
    WRONG(g->start, -1, "the number of states");
    WRONG(g->words, 1, "of state 0 is wrong");
    WRONG(g->words, 2, "is wrong");
    WRONG(g->arcs[loud].next, g->states, "arc");
    WRONG(g->arcs[loud].next, -1, "arc");
    WRONG(g->arcs[loud].transition, g->transitions + 1, "arc");
    WRONG(g->arcs[loud].transition, 0, "arc");
    WRONG(g->arcs[loud].word, -1, "arc");
    WRONG(g->arcs[loud].cost, NAN, "no number");
    WRONG(g->arcs[loud].cost, INFINITY, "no number");
    WRONG(g->final[1], NAN, "final cost");
    WRONG(g->final[1], -INFINITY, "final cost");
    WRONG(g->first[1], g->first[g->states] + 1, "arcs");
    WRONG(g->emitting[1], g->first[2] + 1, "the arcs of state 1");
    WRONG(g->first[0], 1, "arcs");
    WRONG(g->tied[0], 0, "tied");
    WRONG(g->tied[2], -1, "tied");
    WRONG(g->spoken_word[0], 1, "the pronunciations");
    WRONG(g->spoken_word[1], g->spoken_word[2] + 1, "the pronunciations");
    WRONG(g->spoken_first[0], 1, "the pronunciations");
    WRONG(g->spoken_first[1], 0, "the pronunciations");
    WRONG(g->spoken_first[1], g->spoken_first[2] + 1, "the pronunciations");
    WRONG(g->spoken_units[0], -1, "a unit that can't be");
    trl_graph_destroy(g);
}

static void refuses_nonsense_about_language_models(void **state)
{
    (void)state;
    trl_graph *g = example_on_the_fly();
    trl__ngram_rows *r = g->rows;
    uint32_t set = 1;
    WRONG(r->histories, 0, "the numbers of the language model");
    WRONG(r->start, r->histories, "the numbers of the language model");
    WRONG(r->surplus, NAN, "the numbers of the language model");
    WRONG(r->first[0], 1, "belong to nothing");
    WRONG(r->first[1], r->first[2] + 1, "history 0");
    WRONG(r->shorter[1], 2, "history 1");
    WRONG(r->shorter[0], 1, "without end");
    WRONG(r->backing[1], INFINITY, "no number");
    WRONG(r->final[1], NAN, "no number");
    WRONG(r->word[0], 0, "n-gram 0");
    WRONG(r->word[0], r->words, "n-gram 0");
    WRONG(r->word[1], 1 + r->word[2], "n-gram");
    WRONG(r->next[0], r->histories, "n-gram 0");
    WRONG(r->cost[0], NAN, "n-gram 0");
    WRONG(r->ahead[1], NAN, "word 1");
    WRONG(r->ahead[1], INFINITY, "words that its language model lacks");
    WRONG(r->reach[1], (uint32_t)r->sets, "a set of words that is not there");
    WRONG(r->set_first[1], r->set_first[r->sets] + 1, "set");
    WRONG(r->ranges[0].begin, 0, "set");
    WRONG(r->ranges[0].end, r->words + 1, "set");
    WRONG(r->set_ahead[set], NAN, "set");
    WRONG(g->level[0], -1, "level");
    WRONG(g->level[0], g->states, "level");
    trl_graph_destroy(g);
}

static void refuses_cycles_without_frames(void **state)
{
    (void)state;
    trl_model *m = finished_tree_model();
    trl_fst *fst;
    trl_graph *g;
    must(trl_fst_create(TRL_TROPICAL, &fst, &err));
    must(trl_fst_add_states(fst, 2, &err));
    must(trl_fst_set_start(fst, 0, &err));
    must(trl_fst_add_arc(fst, 0, (trl_arc){0, 0, {0, 0}, 1}, &err));
    must(trl_fst_set_final(fst, 1, (trl_weight){0, 0}, &err));
    must(trl_graph_from_fst(m, fst, &g, &err));
    WRONG(g->arcs[0].next, 0, "cycle");
    trl_graph_destroy(g);
    trl_fst_destroy(fst);
    trl_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong),        cmocka_unit_test(leaves_words_out),
        cmocka_unit_test(knows_symbols_of_back_off), cmocka_unit_test(counts_costs),
        cmocka_unit_test(survives_lack_of_memory),   cmocka_unit_test(knows_how_words_are_said),
        cmocka_unit_test(fits_its_model_alone),      cmocka_unit_test(refuses_foreign_machines),
        cmocka_unit_test(reads_what_was_written),    cmocka_unit_test(sees_every_flipped_byte_and_cut),
        cmocka_unit_test(keeps_language_models),     cmocka_unit_test(refuses_nonsense_about_language_models),
        cmocka_unit_test(refuses_nonsense),          cmocka_unit_test(refuses_cycles_without_frames),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
