/* A search that lets go of its past finds what one that keeps it finds, on random graphs and scores with many ties: words, path and costs, at the search's own scale and at
 * others; and where it is forced to decide, its memory stays bounded. */
#include "graph_fixture.h"

#include "decode/best_words.h"
#include "decode/decoder.h"

#define CASES 6000
#define SCALE 0.5f

typedef struct whole_path {
    int32_t words[400], times[400], transitions[400];
    size_t count;
    int32_t frames, pieces;
    double graph, acoustic;
} whole_path;

static void append(whole_path *p, const trl__best_words *b)
{
    assert_true(b->is_found && p->count + b->count <= 400 && p->frames + b->frames <= 400);
    for (size_t i = 0; i < b->count; i++, p->count++) {
        p->words[p->count] = b->words[i].word;
        p->times[p->count] = p->frames + b->words[i].first;
    }
    for (int32_t t = 0; t < b->frames; t++)
        p->transitions[p->frames + t] = b->transitions[t];
    p->frames += b->frames;
    p->graph += b->graph;
    p->acoustic += b->acoustic;
    p->pieces++;
}

typedef struct test_case {
    trl_graph *graph;
    float *scores;
    int32_t frames;
    trl__decode_options options;
    trl_lattice_scale scale;
} test_case;

static test_case make_case(random_source *r)
{
    graph_kind kind = {.states = 2 + (int32_t)random_below(r, 9),
                       .arcs = 3 + (int32_t)random_below(r, 30),
                       .transitions = 1 + (int32_t)random_below(r, 6),
                       .tied = 1 + (int32_t)random_below(r, 4),
                       .words = 3,
                       .epsilons = random_chance(r, 0.2) ? 0 : 0.35,
                       .finals = random_chance(r, 0.1) ? 0.02 : 0.4};
    test_case c = {.graph = random_graph(&kind, r),
                   .frames = (int32_t)random_below(r, 60),
                   .options = trl__decode_defaults(),
                   .scale = {SCALE, 1, 0}};
    c.scores = random_scores(kind.tied, c.frames, r);
    c.options.beam = random_below(r, 2) ? INFINITY : 1 + (double)random_eighths(r, 60);
    c.options.lattice_beam = random_below(r, 2) ? 0 : (double)random_eighths(r, 20);
    c.options.acoustic_scale = (double)SCALE;
    c.options.most_active = 1 + (int32_t)random_below(r, 20);
    c.options.least_active = 0;
    c.options.prune_interval = 1 + (int32_t)random_below(r, 7);
    if (random_chance(r, 0.3))
        c.scale = (trl_lattice_scale){(double)random_eighths(r, 16), 1, (double)random_eighths(r, 16) - 1};
    return c;
}

static void free_case(test_case *c)
{
    free_graph(c->graph);
    free(c->scores);
}

/* Settles after pieces of random sizes; `most` frames are kept. Returns how often that was by force. */
static int search_in_pieces(trl__decoder *d, const test_case *c, int32_t most, whole_path *path, random_source *r)
{
    trl__best_words best = {0};
    const trl__raw_lattice *raw;
    int forced = 0, is_forced, is_late = 0;
    assert_int_equal(trl__decoder_begin(d, NULL), 0);
    for (int32_t f = 0; f < c->frames;) {
        int32_t count = 1 + (int32_t)random_below(r, 9);
        count = count > c->frames - f ? c->frames - f : count;
        assert_int_equal(trl__decoder_advance(d, c->scores + f, count, (size_t)c->frames, NULL), 0);
        f += count;
        assert_int_equal(trl__decoder_settle(d, most, &raw, &is_forced, NULL), 0);
        forced += is_forced;
        if (raw) {
            assert_int_equal(trl__best_words_find(&best, raw, &c->scale, NULL), 0);
            append(path, &best);
        }
        assert_int_equal(trl__decoder_settled(d), path->frames);
        is_late |= f - path->frames > most + 9;
    }
    assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
    assert_int_equal(trl__best_words_find(&best, raw, &c->scale, NULL), 0);
    assert_true(!is_late || !best.is_found); /* where no way is left, nothing can be decided */
    if (best.is_found)
        append(path, &best);
    trl__best_words_free(&best);
    return forced;
}

static void pieces_make_up_the_whole(void **state)
{
    (void)state;
    random_source r = {11};
    trl__best_words best = {0};
    int pieces = 0, words = 0, others = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        trl__decoder *d;
        const trl__raw_lattice *raw;
        whole_path path = {.count = 0};
        assert_int_equal(trl__decoder_create(c.graph, &c.options, &d, NULL), 0);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        assert_int_equal(trl__decoder_advance(d, c.scores, c.frames, (size_t)c.frames, NULL), 0);
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        assert_int_equal(trl__best_words_find(&best, raw, &c.scale, NULL), 0);
        if (best.is_found) {
            assert_int_equal(search_in_pieces(d, &c, 1000, &path, &r), 0);
            assert_int_equal(path.count, best.count);
            assert_int_equal(path.frames, best.frames);
            for (size_t k = 0; k < best.count; k++) {
                assert_int_equal(path.words[k], best.words[k].word);
                assert_int_equal(path.times[k], best.words[k].first);
            }
            for (int32_t t = 0; t < best.frames; t++)
                assert_int_equal(path.transitions[t], best.transitions[t]);
            assert_true(path.graph == best.graph && path.acoustic == best.acoustic);
            pieces += path.pieces - 1;
            words += (int)best.count;
            others += path.pieces > 1 && c.scale.acoustic != (double)SCALE;
        }
        trl__decoder_destroy(d);
        free_case(&c);
    }
    assert_true(pieces > CASES && words > CASES && others > CASES / 20);
    trl__best_words_free(&best);
}

/* What comes out is a path of the graph, whose costs are what it says, and the search goes on. */
static void force_bounds_what_is_kept(void **state)
{
    (void)state;
    random_source r = {12};
    int forced = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        trl__decoder *d;
        whole_path path = {.count = 0};
        double acoustic = 0;
        assert_int_equal(trl__decoder_create(c.graph, &c.options, &d, NULL), 0);
        forced += search_in_pieces(d, &c, 4, &path, &r);
        for (int32_t t = 0; t < path.frames; t++)
            acoustic -= (double)c.scores[c.graph->tied[path.transitions[t]] * c.frames + t];
        assert_true(acoustic == path.acoustic);
        trl__decoder_destroy(d);
        free_case(&c);
    }
    assert_true(forced > CASES / 5);
}

/* Two loops side by side, for ever: from the cheaper one no word can come, so force chooses the other. */
static void force_leaves_a_way_to_words(void **state)
{
    (void)state;
    const int32_t from[] = {0, 1, 0, 2, 2, 3};
    const trl__network_arc arcs[] = {{1, 1, 0, 0}, {1, 1, 0, 0}, {2, 1, 0, 0.5f},
                                     {2, 1, 0, 0}, {3, 2, 1, 0}, {3, 2, 0, 0}};
    random_source r = {14};
    test_case c = {.graph = make_graph(4, 2, from, arcs, 6),
                   .frames = 60,
                   .options = trl__decode_defaults(),
                   .scale = {(double)SCALE, 1, 0}};
    trl__decoder *d;
    whole_path path = {.count = 0};
    c.graph->tied[1] = 0;
    c.graph->tied[2] = 1;
    c.graph->final[0] = c.graph->final[2] = INFINITY;
    c.options.acoustic_scale = (double)SCALE;
    c.scores = calloc(2 * 60, sizeof *c.scores);
    for (int32_t t = 0; t < 60; t++)
        c.scores[(t < 40 ? 60 : 0) + t] = -8; /* forty frames of the first, twenty of the second */
    assert_int_equal(trl__decoder_create(c.graph, &c.options, &d, NULL), 0);
    assert_true(search_in_pieces(d, &c, 10, &path, &r) > 0);
    assert_int_equal(path.frames, 60);
    assert_int_equal(path.count, 1);
    assert_int_equal(path.words[0], 1);
    trl__decoder_destroy(d);
    free_case(&c);
}

static void nothing_settles_before_or_after(void **state)
{
    (void)state;
    random_source r = {13};
    test_case c = make_case(&r);
    trl__decoder *d;
    const trl__raw_lattice *raw;
    int is_forced;
    assert_int_equal(trl__decoder_create(c.graph, &c.options, &d, NULL), 0);
    assert_int_equal(trl__decoder_settle(d, 10, &raw, &is_forced, NULL), TRL_EINVAL);
    assert_int_equal(trl__decoder_begin(d, NULL), 0);
    assert_int_equal(trl__decoder_settle(d, 10, &raw, &is_forced, NULL), 0);
    assert_null(raw);
    assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
    assert_int_equal(trl__decoder_settle(d, 10, &raw, &is_forced, NULL), TRL_EINVAL);
    trl__decoder_destroy(d);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_up_the_whole),
        cmocka_unit_test(force_bounds_what_is_kept),
        cmocka_unit_test(force_leaves_a_way_to_words),
        cmocka_unit_test(nothing_settles_before_or_after),
    };
    return RUN(tests);
}
