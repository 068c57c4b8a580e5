/* Several threads, both ways to merge and all ways to likelihoods: the same lattice as of one thread, byte by byte, on random graphs and scores with many ties. What
 * one thread finds is compared with the machine in test_decoder.c; here the best path of several is, too. */
#include "graph_fixture.h"
#include "raw_lattice_fixture.h"

#include "decode/best_words.h"
#include "decode/scorer.h"

#include <trellis/fst_paths.h>

#define SCALE 0.5f
#define TEAMS 4

static const int sizes[TEAMS][2] = {{2, 0}, {3, 0}, {5, 0}, {1, 1}}; /* threads, helpers */
static trl__team *teams[TEAMS];

static int make_teams(void **state)
{
    (void)state;
    for (int i = 0; i < TEAMS; i++) {
        assert_int_equal(trl__team_create(sizes[i][0], sizes[i][1], &teams[i], NULL), 0);
        trl__team_insist(teams[i]);
    }
    return 0;
}

static int free_teams(void **state)
{
    (void)state;
    for (int i = 0; i < TEAMS; i++)
        trl__team_destroy(teams[i]);
    return 0;
}

/* ---- cases ---- */

typedef struct test_case {
    trl_graph *graph;
    float *scores; /* tied * frames + f */
    int32_t tied, frames;
    trl__decode_options options;
    _Atomic int32_t fails_from; /* frames from here on can't be scored */
} test_case;

static void make_case(test_case *c, int32_t states, int32_t arcs, int32_t frames, random_source *r)
{
    graph_kind kind = {.states = states,
                       .arcs = arcs,
                       .transitions = 1 + (int32_t)random_below(r, 12),
                       .tied = 1 + (int32_t)random_below(r, 40),
                       .words = 3,
                       .epsilons = random_chance(r, 0.2) ? 0 : 0.35,
                       .finals = random_chance(r, 0.1) ? 0.02 : 0.4};
    *c = (test_case){
        .graph = random_graph(&kind, r), .frames = frames, .tied = kind.tied, .options = trl__decode_defaults()};
    c->scores = random_scores(kind.tied, frames, r);
    atomic_store(&c->fails_from, INT32_MAX);
    c->options.acoustic_scale = (double)SCALE;
    c->options.least_shared = (int32_t)random_below(r, 4);
}

static void make_random_case(test_case *c, random_source *r)
{
    int32_t states = 2 + (int32_t)random_below(r, random_chance(r, 0.3) ? 150 : 12);
    make_case(c, states, 3 + (int32_t)random_below(r, 190), (int32_t)random_below(r, 130), r);
    trl__decode_options *o = &c->options;
    o->beam = random_below(r, 3) == 0 ? INFINITY : 0.5 + (double)random_eighths(r, 100);
    o->word_beam = random_below(r, 2) ? INFINITY : 0.5 + (double)random_eighths(r, 30);
    o->lattice_beam = (double)random_eighths(r, 30);
    o->most_active = 1 + (int32_t)random_below(r, 100);
    o->least_active = (int32_t)random_below(r, (uint32_t)o->most_active + 1) / 3;
    o->prune_interval = 1 + (int32_t)random_below(r, 20);
}

static void free_case(test_case *c)
{
    free_graph(c->graph);
    free(c->scores);
}

/* Some threads take so long now and then that the search loses patience. */
static int make_from_table(void *user, int worker, const trl__row *rows, int32_t count, float *scores, trl_error *err)
{
    const test_case *c = user;
    for (int i = 0; worker > 0 && rows[0].tied % 7 == 0 && i < 500; i++)
        trl__relax();
    for (int32_t i = 0; i < count; i++)
        for (int32_t f = rows[i].first; f < rows[i].end; f++) {
            if (f >= atomic_load(&c->fails_from)) {
                snprintf(err->text, sizeof err->text, "no score of frame %d", (int)f);
                return err->code = TRL_EIO;
            }
            scores[rows[i].offset + f - rows[i].first] = c->scores[rows[i].tied * c->frames + f];
        }
    return 0;
}

/* A search: who, and where the scores come from. */
typedef struct search_way {
    trl__team *team;
    int merges, by_frame;
    int32_t gaussians;
    trl__scorer_options scores;
} search_way;

static search_way random_way(random_source *r)
{
    search_way way = {.team = teams[random_below(r, TEAMS)],
                      .merges = random_chance(r, 0.3),
                      .by_frame = random_chance(r, 0.3),
                      .gaussians = (int32_t)random_below(r, 100),
                      .scores = trl__scorer_defaults()};
    way.scores.way = (trl__score_way)random_below(r, TRL__SCORE_WAYS + 1);
    way.scores.ahead = 1 + (int32_t)random_below(r, 200);
    way.scores.is_timed = random_chance(r, 0.1);
    way.scores.is_filled = random_chance(r, 0.3);
    return way;
}

typedef struct searcher {
    trl__decoder *decoder;
    trl__scorer *scorer;
} searcher;

static searcher make_searcher(test_case *c, const search_way *way)
{
    searcher s;
    trl__decode_options o = c->options;
    o.merges = way->merges;
    o.is_timed = way->scores.is_timed;
    assert_int_equal(trl__decoder_create(c->graph, &o, &s.decoder, NULL), 0);
    assert_int_equal(trl__decoder_share(s.decoder, way->team, NULL), 0);
    assert_int_equal(trl__scorer_create(NULL, c->tied, &s.scorer, NULL), 0);
    assert_int_equal(trl__scorer_share(s.scorer, way->team, &way->scores, NULL), 0);
    return s;
}

static int search(const searcher *s, test_case *c, const search_way *way, trl_error *err)
{
    trl__score_maker maker = {make_from_table, c, way->by_frame, way->gaussians};
    trl__scorer_begin_making(s->scorer, &maker, c->frames);
    assert_int_equal(trl__decoder_begin(s->decoder, NULL), 0);
    return trl__scorer_search(s->scorer, s->decoder, err);
}

static void free_searcher(searcher *s)
{
    trl__decoder_destroy(s->decoder);
    trl__scorer_destroy(s->scorer);
}

static trl__raw_lattice search_alone(test_case *c, trl__decoder_counts *counts)
{
    trl__decoder *d;
    const trl__raw_lattice *raw;
    assert_int_equal(trl__decoder_create(c->graph, &c->options, &d, NULL), 0);
    assert_int_equal(trl__decoder_begin(d, NULL), 0);
    assert_int_equal(trl__decoder_advance(d, c->scores, c->frames, (size_t)c->frames, NULL), 0);
    assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
    *counts = trl__decoder_count(d);
    trl__raw_lattice copy = copy_lattice(raw);
    trl__decoder_destroy(d);
    return copy;
}

/* ---- the same ---- */

static void everybody_finds_the_same(void **state)
{
    (void)state;
    random_source r = {21};
    uint64_t shared = 0, arcs = 0;
    for (int i = 0; i < 200; i++) {
        test_case c;
        trl__decoder_counts alone;
        make_random_case(&c, &r);
        trl__raw_lattice whole = search_alone(&c, &alone);
        for (int k = 0; k < 6; k++) {
            search_way way = random_way(&r);
            searcher s = make_searcher(&c, &way);
            const trl__raw_lattice *raw;
            for (int twice = 0; twice < 2; twice++) {
                assert_int_equal(search(&s, &c, &way, NULL), 0);
                assert_int_equal(trl__decoder_finish(s.decoder, &raw, NULL), 0);
                assert_same_lattice(raw, &whole);
            }
            trl__decoder_counts counts = trl__decoder_count(s.decoder);
            trl__scorer_counts scores = trl__scorer_count(s.scorer);
            assert_int_equal(counts.tokens, 2 * alone.tokens);
            assert_int_equal(counts.links, 2 * alone.links);
            assert_true(scores.made - counts.scores_twice <= scores.all);
            shared += counts.shared_frames;
            free_searcher(&s);
        }
        arcs += whole.states > 0 ? whole.first[whole.states] : 0;
        free_lattice(&whole);
        free_case(&c);
    }
    assert_true(shared > 25000 && arcs > 10000);
}

/* Of infinite beams, against the machine. */
static void best_path_is_the_shortest(void **state)
{
    (void)state;
    random_source r = {22};
    trl__best_words best = {0};
    const trl_lattice_scale scale = {(double)SCALE, 1, 0};
    int found = 0;
    for (int i = 0; i < 200; i++) {
        test_case c;
        trl_weight *distance;
        const trl__raw_lattice *raw;
        make_case(&c, 2 + (int32_t)random_below(&r, 9), 3 + (int32_t)random_below(&r, 30),
                  (int32_t)random_below(&r, 30), &r);
        c.options.beam = INFINITY;
        c.options.most_active = 1000000;
        trl_fst *all = compose_with_scores(c.graph, c.scores, c.frames, SCALE);
        assert_int_equal(trl_fst_shortestdistance(all, 1, TRL_QUEUE_AUTO, 0, &distance, NULL), 0);
        search_way way = random_way(&r);
        searcher s = make_searcher(&c, &way);
        assert_int_equal(search(&s, &c, &way, NULL), 0);
        assert_int_equal(trl__decoder_finish(s.decoder, &raw, NULL), 0);
        assert_int_equal(trl__best_words_find(&best, raw, &scale, NULL), 0);
        double shortest = trl_fst_start(all) >= 0 ? (double)distance[trl_fst_start(all)].value : INFINITY;
        assert_int_equal(raw->reached_end, isfinite(shortest));
        if (isfinite(shortest)) {
            assert_true(best.graph + (double)SCALE * best.acoustic == shortest);
            found++;
        }
        free(distance);
        trl_fst_destroy(all);
        free_searcher(&s);
        free_case(&c);
    }
    assert_true(found > 50);
    trl__best_words_free(&best);
}

/* Words of the moment, and pieces that are let go, by force too. */
static void a_stream_is_the_same(void **state)
{
    (void)state;
    random_source r = {23};
    int pieces = 0, forced = 0;
    for (int i = 0; i < 150; i++) {
        test_case c;
        trl__decoder *d[2];
        make_random_case(&c, &r);
        for (int k = 0; k < 2; k++)
            assert_int_equal(trl__decoder_create(c.graph, &c.options, &d[k], NULL), 0);
        assert_int_equal(trl__decoder_share(d[1], teams[random_below(&r, TEAMS)], NULL), 0);
        for (int k = 0; k < 2; k++)
            assert_int_equal(trl__decoder_begin(d[k], NULL), 0);
        for (int32_t f = 0; f < c.frames; f++) {
            const trl__raw_lattice *raw[2];
            const int32_t *words[2];
            int32_t recent[2][5];
            size_t count[2], length[2];
            int is_forced[2];
            for (int k = 0; k < 2; k++) {
                assert_int_equal(trl__decoder_advance(d[k], c.scores + f, 1, (size_t)c.frames, NULL), 0);
                length[k] = trl__decoder_recent(d[k], recent[k], 5);
                assert_int_equal(trl__decoder_partial(d[k], 0, &words[k], &count[k], NULL), 0);
            }
            assert_int_equal(length[0], length[1]);
            assert_int_equal(count[0], count[1]);
            for (size_t n = 0; n < length[0]; n++)
                assert_int_equal(recent[0][n], recent[1][n]);
            for (size_t n = 0; n < count[0]; n++)
                assert_int_equal(words[0][n], words[1][n]);
            for (int k = 0; k < 2 && f % 7 == 6; k++)
                assert_int_equal(trl__decoder_settle(d[k], 20, &raw[k], &is_forced[k], NULL), 0);
            if (f % 7 != 6)
                continue;
            assert_int_equal(raw[0] != NULL, raw[1] != NULL);
            assert_int_equal(is_forced[0], is_forced[1]);
            if (raw[0])
                assert_same_lattice(raw[0], raw[1]);
            pieces += raw[0] != NULL;
            forced += is_forced[0];
        }
        trl__decoder_destroy(d[0]);
        trl__decoder_destroy(d[1]);
        free_case(&c);
    }
    assert_true(pieces > 100 && forced > 10);
}

/* A search in this way has the lattice of one alone; frees everything. */
static void ends_as_alone(searcher *s, test_case *c, const search_way *way)
{
    trl__decoder_counts alone;
    const trl__raw_lattice *raw;
    trl__raw_lattice whole = search_alone(c, &alone);
    assert_int_equal(search(s, c, way, NULL), 0);
    assert_int_equal(trl__decoder_finish(s->decoder, &raw, NULL), 0);
    assert_same_lattice(raw, &whole);
    free_lattice(&whole);
    free_searcher(s);
    free_case(c);
}

/* ---- what can go wrong ---- */

/* The error comes out, and the next utterance is as good as ever. */
static void a_maker_may_fail(void **state)
{
    (void)state;
    random_source r = {24};
    int failed = 0;
    for (int i = 0; i < 150; i++) {
        test_case c;
        trl_error err;
        make_random_case(&c, &r);
        search_way way = random_way(&r);
        searcher s = make_searcher(&c, &way);
        atomic_store(&c.fails_from, (int32_t)random_below(&r, 130));
        int code = search(&s, &c, &way, &err);
        assert_true(code == 0 || code == TRL_EIO);
        if (code < 0) {
            static const char said[] = "no score of frame ";
            char *end;
            assert_memory_equal(err.text, said, sizeof said - 1);
            long frame = strtol(err.text + sizeof said - 1, &end, 10);
            assert_true(end > err.text + sizeof said - 1 && frame >= atomic_load(&c.fails_from));
        }
        failed += code < 0;
        atomic_store(&c.fails_from, INT32_MAX);
        ends_as_alone(&s, &c, &way);
    }
    assert_true(failed > 30);
}

/* A device that is much faster than the search: what it makes must not come over what is still to be searched. */
static void a_full_buffer_makes_the_device_wait(void **state)
{
    (void)state;
    random_source r = {31};
    for (int i = 0; i < 3; i++) {
        test_case c;
        search_way way = {.scores = {.way = TRL__SCORES_AHEAD, .ahead = 150, .is_filled = 1}};
        make_case(&c, 30, 190, 700, &r);
        searcher s = make_searcher(&c, &way);
        ends_as_alone(&s, &c, &way);
    }
}

/* Narrow searches of graphs with many tied states: what is foreseen is often not wanted, and wanted again much later. */
static void what_was_foreseen_in_vain_does_no_harm(void **state)
{
    (void)state;
    random_source r = {32};
    for (int i = 0; i < 60; i++) {
        graph_kind kind = {
            .states = 90, .arcs = 200, .transitions = 120, .tied = 120, .words = 3, .epsilons = 0.1, .finals = 0.4};
        test_case c = {.graph = random_graph(&kind, &r), .frames = 400, .tied = 120, .options = trl__decode_defaults()};
        search_way way = {.team = teams[i % TEAMS], .scores = trl__scorer_defaults()};
        c.scores = random_scores(c.tied, c.frames, &r);
        atomic_store(&c.fails_from, INT32_MAX);
        c.options.most_active = 1 + (int32_t)random_below(&r, 6);
        c.options.least_active = 0;
        c.options.least_shared = (int32_t)random_below(&r, 4);
        searcher s = make_searcher(&c, &way);
        ends_as_alone(&s, &c, &way);
    }
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {25};
    int failures = 0;
    for (int i = 0; i < 12; i++) {
        test_case c;
        make_case(&c, 30, 190, 60, &r);
        search_way way = random_way(&r);
        searcher s = make_searcher(&c, &way);
        for (long n = 1, code = TRL_ENOMEM; code != 0; n++) {
            trl__score_maker maker = {make_from_table, &c, way.by_frame, way.gaussians};
            const trl__raw_lattice *raw;
            trl__memory_fail_after(n);
            code = trl__decoder_share(s.decoder, way.team, NULL);
            if (code == 0)
                code = trl__scorer_share(s.scorer, way.team, &way.scores, NULL);
            if (code == 0) {
                trl__scorer_begin_making(s.scorer, &maker, c.frames);
                code = trl__decoder_begin(s.decoder, NULL);
            }
            if (code == 0)
                code = trl__scorer_search(s.scorer, s.decoder, NULL);
            if (code == 0)
                code = trl__decoder_finish(s.decoder, &raw, NULL);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
        }
        free_searcher(&s);
        free_case(&c);
    }
    assert_true(failures > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_finds_the_same),
        cmocka_unit_test(best_path_is_the_shortest),
        cmocka_unit_test(a_stream_is_the_same),
        cmocka_unit_test(a_maker_may_fail),
        cmocka_unit_test(a_full_buffer_makes_the_device_wait),
        cmocka_unit_test(what_was_foreseen_in_vain_does_no_harm),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
