/* Lattices of a search with random scores, cut where words begin and end: every path stays what it was, and each word has the units of one of its
 * pronunciations. Words sound alike, begin alike, and are pronounced in several ways; one is a pause. */
#include "lattice_fixture.h"
#include "model_fixture.h"

#include "base/memory.h"
#include "decode/best_words.h"
#include "decode/lattice_align.h"

#include <trellis/graph.h>

#define CASES 9000
#define SCALE 0.5

static const char *const lexicons[] = {
    "a AA\nb B\n",
    "a AA\nab AA B\nb B\nba B AA\nba B AA AA\nc AA B AA\n",
    "a AA\na B\nab AA B\nab AA B B\npause SIL\nb B AA\n",
};

typedef struct speech {
    trl_model *model;
    trl_lexicon *lexicon;
    trl_graph *graph;
    trl_symbols *words;
} speech;

static void must(int code, const trl_error *e)
{
    if (code < 0)
        fail_msg("%s", e->text);
}

static trl_fst *loop_over(const trl_lexicon *lexicon, trl_symbols *table)
{
    trl_fst *fst;
    trl_error e;
    must(trl_fst_create(TRL_TROPICAL, &fst, &e), &e);
    must(trl_fst_add_states(fst, 1, &e), &e);
    must(trl_fst_set_start(fst, 0, &e), &e);
    must(trl_fst_set_final(fst, 0, (trl_weight){1, 0}, &e), &e);
    for (size_t w = 0; w < trl_lexicon_words(lexicon); w++) {
        int32_t label;
        must(trl_symbols_add_next(table, trl_lexicon_word(lexicon, w), &label, &e), &e);
        must(trl_fst_add_arc(fst, 0, (trl_arc){label, label, {1, 0}, 0}, &e), &e);
    }
    trl_fst_set_symbols(fst, trl_symbols_share(table), NULL);
    return fst;
}

static speech make_speech(const char *text, int states, int word_positions)
{
    speech s;
    trl_error e;
    trl_model_options o = trl_model_defaults();
    o.states = states;
    o.silence_states = states;
    o.word_positions = word_positions;
    s.lexicon = lexicon_of(text);
    must(trl_model_create(s.lexicon, NULL, 2, &o, &s.model, &e), &e);
    must(trl_symbols_create("words", &s.words, &e), &e);
    must(trl_symbols_add(s.words, "<eps>", 0, &e), &e);
    trl_fst *grammar = loop_over(s.lexicon, s.words);
    must(trl_graph_build(s.model, s.lexicon, grammar, NULL, &s.graph, NULL, &e), &e);
    trl_fst_destroy(grammar);
    return s;
}

static void free_speech(speech *s)
{
    trl_graph_destroy(s->graph);
    trl_model_destroy(s->model);
    trl_lexicon_destroy(s->lexicon);
    trl_symbols_destroy(s->words);
}

/* A search through random scores. The raw lattice is the decoder's. */
static const trl__raw_lattice *search(const speech *s, int32_t frames, random_source *r, trl__decoder **d)
{
    trl__decode_options o = trl__decode_defaults();
    const trl__raw_lattice *raw;
    int32_t tied = trl_model_tied_states(s->model);
    float *scores = malloc((size_t)(tied * frames + 1) * sizeof *scores);
    for (int32_t i = 0; i < tied * frames; i++)
        scores[i] = 2 - (float)random_below(r, 65) / 8;
    o.beam = 1000;
    o.lattice_beam = 0.5 * random_below(r, 8);
    o.acoustic_scale = SCALE;
    assert_int_equal(trl__decoder_create(s->graph, &o, d, NULL), 0);
    assert_int_equal(trl__decoder_begin(*d, NULL), 0);
    assert_int_equal(trl__decoder_advance(*d, scores, frames, (size_t)frames, NULL), 0);
    assert_int_equal(trl__decoder_finish(*d, &raw, NULL), 0);
    free(scores);
    return raw;
}

static trl_lattice *lattice_of(const trl__raw_lattice *raw)
{
    trl__determinizer *d;
    trl__determinize_options o = {.acoustic_scale = SCALE, .beam = 3};
    trl_lattice *lattice;
    double beam;
    assert_int_equal(trl__determinizer_create(&d, NULL), 0);
    assert_int_equal(trl__determinize(d, raw, NULL, &o, &lattice, &beam, NULL), 0);
    trl__determinizer_destroy(d);
    return lattice;
}

/* ---- what a word may be ---- */

/* The units of a stretch: in the graph's order, a unit begins with the transition that leaves its first state. */
static int units_of(const speech *s, const int32_t *transitions, int frames, int32_t *units)
{
    int count = 0;
    for (int t = 0; t < frames; t++) {
        trl_transition now = trl_model_transition(s->model, transitions[t]);
        if (now.state == 0 && now.to != now.state)
            units[count++] = now.unit;
        assert_true(count > 0); /* a stretch begins with a unit */
    }
    return count;
}

/* Are these units a pronunciation of the word, by the lexicon? A part of one where `is_cut`. */
static int is_pronunciation(const speech *s, int32_t word, const int32_t *units, int count, int is_cut)
{
    const char *name = trl_symbols_name(s->words, word);
    int64_t w = trl_lexicon_find(s->lexicon, name);
    assert_true(w >= 0);
    for (size_t v = 0; v < trl_lexicon_pronunciations(s->lexicon, (size_t)w); v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(s->lexicon, (size_t)w, v);
        int same = (int)p.length == count || (is_cut && (int)p.length > count);
        for (int i = 0; same && i < count; i++) {
            const char *unit = trl_model_unit(s->model, units[i]).name,
                       *phone = trl_lexicon_phone(s->lexicon, p.phones[i]);
            size_t length = strlen(phone);
            same = strncmp(unit, phone, length) == 0 && (unit[length] == '\0' || unit[length] == '_');
        }
        if (same)
            return 1;
    }
    return 0;
}

/* ---- paths ---- */

typedef struct walk {
    const speech *speech;
    const trl_lattice_view *view;
    size_t words, ambiguous;
} walk;

static void check_arcs(walk *k)
{
    const trl_lattice_view *l = k->view;
    for (int32_t s = 0; s < l->states; s++)
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            const trl_lattice_arc *arc = &l->arcs[a];
            int32_t units[MOST_FRAMES];
            int count = units_of(k->speech, l->transitions + arc->transition, (int)arc->duration, units);
            int at_end = l->time[arc->next] == l->frames && !l->reached_end;
            if (arc->word) {
                assert_true(is_pronunciation(k->speech, arc->word, units, count, at_end));
                k->words++;
            } else if (!at_end) {
                for (int i = 0; i < count; i++)
                    assert_true(trl_model_unit(k->speech->model, units[i]).kind != TRL_UNIT_PHONE);
            }
        }
    for (int32_t s = 0; s < l->states; s++)
        assert_true(l->ends[s].graph == INFINITY || l->ends[s].duration == 0);
}

static void assert_same_paths(const trl_lattice *lattice, const trl_lattice *aligned)
{
    path_list a = lattice_paths(lattice), b = lattice_paths(aligned);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        size_t found = 0;
        const lattice_path *p = &a.items[i];
        for (size_t k = 0; k < b.count; k++) {
            const lattice_path *q = &b.items[k];
            found += same_words(p, q) && p->frames == q->frames && fabs(p->graph - q->graph) < 1e-4 &&
                     fabs(p->acoustic - q->acoustic) < 1e-4 &&
                     memcmp(p->transitions, q->transitions, (size_t)p->frames * sizeof *p->transitions) == 0;
        }
        assert_int_equal(found, 1);
    }
    free(a.items);
    free(b.items);
}

/* The best path's words, timed by the same pronunciations. */
static void check_best(const speech *s, const trl__raw_lattice *raw, trl__word_parser *parser)
{
    trl__best_words best = {0};
    trl_lattice_scale scale = {SCALE, 1, 0};
    int32_t end = 0, units[MOST_FRAMES];
    assert_int_equal(trl__best_words_find(&best, raw, &scale, NULL), 0);
    assert_int_equal(trl__best_words_time(&best, s->model, parser, NULL), 0);
    for (size_t i = 0; i < best.count; i++) {
        const trl__best_word *w = &best.words[i];
        int is_cut = i + 1 == best.count && !raw->reached_end;
        assert_true(w->first >= end && w->end >= w->first);
        int count = units_of(s, best.transitions + w->first, w->end - w->first, units);
        assert_true(is_pronunciation(s, w->word, units, count, is_cut));
        end = w->end;
    }
    trl__best_words_free(&best);
}

static size_t check_speech(const speech *s, int cases, random_source *r)
{
    size_t words = 0;
    trl__word_parser *parser;
    assert_int_equal(trl__word_parser_create(s->model, s->graph, &parser, NULL), 0);
    for (int i = 0; i < cases; i++) {
        trl__decoder *d;
        trl_lattice *aligned;
        int32_t frames = 1 + (int32_t)random_below(r, MOST_FRAMES - 1);
        const trl__raw_lattice *raw = search(s, frames, r, &d);
        trl_lattice *lattice = lattice_of(raw);
        trl_error e;
        must(trl_lattice_align_words(lattice, s->model, s->graph, &aligned, &e), &e);
        trl_lattice_view view = trl_lattice_look(aligned);
        walk k = {.speech = s, .view = &view};
        check_arcs(&k);
        assert_same_paths(lattice, aligned);
        if (raw->states > 0)
            check_best(s, raw, parser);
        words += k.words;
        trl_lattice_destroy(aligned);
        trl_lattice_destroy(lattice);
        trl__decoder_destroy(d);
    }
    trl__word_parser_destroy(parser);
    return words;
}

static void words_span_their_units(void **state)
{
    (void)state;
    random_source r = {1};
    for (int lexicon = 0; lexicon < 3; lexicon++)
        for (int word_positions = 0; word_positions < 2; word_positions++)
            for (int states = 1; states <= 3; states++) {
                speech s = make_speech(lexicons[lexicon], states, word_positions);
                assert_true(check_speech(&s, CASES / 18, &r) > CASES / 18);
                free_speech(&s);
            }
}

/* Units that know their place do without pronunciations; without both, nobody knows. */
static void places_are_enough(void **state)
{
    (void)state;
    random_source r = {2};
    for (int word_positions = 0; word_positions < 2; word_positions++) {
        speech s = make_speech(lexicons[1], 2, word_positions);
        trl_graph *graph;
        trl_fst *fst;
        assert_int_equal(trl_graph_to_fst(s.graph, &fst, NULL), 0);
        assert_int_equal(trl_graph_from_fst(s.model, fst, &graph, NULL), 0);
        trl_fst_destroy(fst);
        trl_graph_destroy(s.graph);
        s.graph = graph;
        if (word_positions) {
            assert_true(check_speech(&s, CASES / 18, &r) > CASES / 18);
        } else {
            trl__decoder *d;
            trl_lattice *lattice = lattice_of(search(&s, 6, &r, &d)), *aligned;
            trl_error e;
            assert_int_equal(trl_lattice_align_words(lattice, s.model, s.graph, &aligned, &e), TRL_EUNSUPPORTED);
            assert_null(aligned);
            trl_lattice_destroy(lattice);
            trl__decoder_destroy(d);
        }
        free_speech(&s);
    }
}

/* Pronunciations of another lexicon: the paths stay. */
static void words_that_do_not_fit_are_kept(void **state)
{
    (void)state;
    random_source r = {3};
    speech s = make_speech(lexicons[1], 1, 0);
    uint32_t spoken = s.graph->spoken_word[s.graph->words];
    for (uint32_t i = 0; i < s.graph->spoken_first[spoken]; i += 2)
        s.graph->spoken_units[i] = 0;
    for (int i = 0; i < 200; i++) {
        trl__decoder *d;
        trl_lattice *lattice = lattice_of(search(&s, 1 + (int32_t)random_below(&r, 12), &r, &d)), *aligned;
        assert_int_equal(trl_lattice_align_words(lattice, s.model, s.graph, &aligned, NULL), 0);
        assert_same_paths(lattice, aligned);
        trl_lattice_destroy(aligned);
        trl_lattice_destroy(lattice);
        trl__decoder_destroy(d);
    }
    free_speech(&s);
}

static void wrong_input_and_no_memory(void **state)
{
    (void)state;
    random_source r = {4};
    speech s = make_speech(lexicons[1], 1, 0), other = make_speech(lexicons[0], 2, 0);
    trl__decoder *d;
    trl_lattice *lattice = lattice_of(search(&s, 12, &r, &d)), *aligned;
    trl_error e;
    int failures = 0;
    assert_int_equal(trl_lattice_align_words(lattice, other.model, s.graph, &aligned, &e), TRL_EINVAL);
    for (int code = TRL_ENOMEM; code < 0; failures++) {
        trl__memory_fail_after(failures + 1);
        code = trl_lattice_align_words(lattice, s.model, s.graph, &aligned, &e);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        assert_int_equal(aligned != NULL, code == 0);
    }
    assert_true(failures > 20);
    trl_lattice_destroy(aligned);
    lattice->transitions[0] = trl_model_transitions(s.model) + 1;
    assert_int_equal(trl_lattice_align_words(lattice, s.model, s.graph, &aligned, &e), TRL_EINVAL);
    trl_lattice_destroy(lattice);
    trl__decoder_destroy(d);
    free_speech(&s);
    free_speech(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_span_their_units),
        cmocka_unit_test(places_are_enough),
        cmocka_unit_test(words_that_do_not_fit_are_kept),
        cmocka_unit_test(wrong_input_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
