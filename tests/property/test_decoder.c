/* The search against the machine that it searches, on random graphs and scores: composed, and its best path, and what is within the lattice beam
 * of it, found by the operations on transducers. */
#include "graph_fixture.h"
#include "raw_lattice_fixture.h"

#include "decode/best_words.h"
#include "decode/decoder.h"

#include <trellis/fst_paths.h>

#define CASES 10000
#define SCALE 0.5f

static graph_kind random_kind(random_source *r)
{
    return (graph_kind){.states = 2 + (int32_t)random_below(r, 9),
                        .arcs = 3 + (int32_t)random_below(r, 30),
                        .transitions = 1 + (int32_t)random_below(r, 6),
                        .tied = 1 + (int32_t)random_below(r, 4),
                        .words = 3,
                        .epsilons = random_chance(r, 0.2) ? 0 : 0.35,
                        .finals = random_chance(r, 0.1) ? 0.02 : 0.4};
}

static trl__decode_options wide(double lattice_beam, random_source *r)
{
    trl__decode_options o = trl__decode_defaults();
    o.beam = INFINITY;
    o.lattice_beam = lattice_beam;
    o.most_active = 1000000;
    o.acoustic_scale = SCALE;
    o.prune_interval = 1 + (int32_t)random_below(r, 7);
    return o;
}

/* Frames in pieces of random sizes. */
static void advance_in_pieces(trl__decoder *d, const float *scores, int32_t frames, random_source *r)
{
    for (int32_t f = 0; f < frames;) {
        int32_t count = 1 + (int32_t)random_below(r, 9);
        count = count > frames - f ? frames - f : count;
        assert_int_equal(trl__decoder_advance(d, scores + f, count, (size_t)frames, NULL), 0);
        f += count;
    }
}

typedef struct test_case {
    trl_graph *graph;
    float *scores;
    int32_t frames;
    trl_fst *all;
    double best; /* INFINITY: no path */
} test_case;

static test_case make_case(random_source *r)
{
    graph_kind kind = random_kind(r);
    test_case c = {.graph = random_graph(&kind, r), .frames = (int32_t)random_below(r, 30), .best = INFINITY};
    trl_weight *distance;
    c.scores = random_scores(kind.tied, c.frames, r);
    c.all = compose_with_scores(c.graph, c.scores, c.frames, SCALE);
    assert_int_equal(trl_fst_shortestdistance(c.all, 1, TRL_QUEUE_AUTO, 0, &distance, NULL), 0);
    if (trl_fst_start(c.all) >= 0)
        c.best = (double)distance[trl_fst_start(c.all)].value;
    free(distance);
    return c;
}

static void free_case(test_case *c)
{
    free_graph(c->graph);
    free(c->scores);
    trl_fst_destroy(c->all);
}

/* ---- With infinite beams ---- */

static void best_path_is_the_shortest(void **state)
{
    (void)state;
    random_source r = {1};
    trl__best_words best = {0};
    int found = 0, unfinished = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        trl__decode_options o = wide(random_below(&r, 2) ? 0 : 3, &r);
        trl__decoder *d;
        const trl__raw_lattice *raw;
        trl_lattice_scale scale = {SCALE, 1, 0};
        assert_int_equal(trl__decoder_create(c.graph, &o, &d, NULL), 0);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        advance_in_pieces(d, c.scores, c.frames, &r);
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        assert_int_equal(trl__best_words_find(&best, raw, &scale, NULL), 0);
        assert_int_equal(raw->reached_end, isfinite(c.best));
        assert_int_equal(best.is_found, raw->states > 0);
        if (isfinite(c.best)) {
            assert_true(best.is_found);
            assert_true(best.graph + SCALE * best.acoustic == c.best);
            found++;
        }
        unfinished += best.is_found && !raw->reached_end;
        trl__decoder_destroy(d);
        free_case(&c);
    }
    assert_true(found > CASES / 4 && unfinished > CASES / 20);
    trl__best_words_free(&best);
}

/* What stands for an arc of a lattice whatever its states are called. */
typedef struct arc_facts {
    int32_t transition, word;
    float cost;
} arc_facts;

static int compare_facts(const void *a, const void *b)
{
    const arc_facts *x = a, *y = b;
    int32_t d[] = {x->transition - y->transition, x->word - y->word};
    return d[0] ? d[0] : d[1] ? d[1] : (x->cost > y->cost) - (x->cost < y->cost);
}

static void assert_same_arcs(const trl__raw_lattice *raw, const trl_fst *fst)
{
    size_t count = trl_fst_arcs(fst), k = 0;
    arc_facts *a = malloc((count + 1) * sizeof *a), *b = malloc((count + 1) * sizeof *b);
    assert_int_equal(raw->states > 0 ? raw->first[raw->states] : 0, count);
    for (size_t i = 0; i < count; i++)
        a[i] =
            (arc_facts){raw->arcs[i].transition, raw->arcs[i].word, raw->arcs[i].graph + SCALE * raw->arcs[i].acoustic};
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++, k++) {
            trl_arc arc = trl_fst_arc(fst, s, i);
            b[k] = (arc_facts){arc.ilabel, arc.olabel, arc.weight.value};
        }
    qsort(a, count, sizeof *a, compare_facts);
    qsort(b, count, sizeof *b, compare_facts);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(compare_facts(&a[i], &b[i]), 0);
    free(a);
    free(b);
}

/* The raw lattice as a machine, its arcs checked on the way. */
static trl_fst *lattice_as_machine(const trl__raw_lattice *raw, const test_case *c)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, raw->states, NULL), 0);
    if (raw->states > 0)
        assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    for (int32_t s = 0; s < raw->states; s++) {
        for (uint32_t i = raw->first[s]; i < raw->first[s + 1]; i++) {
            const trl__raw_arc *a = &raw->arcs[i];
            size_t tied = a->transition ? (size_t)c->graph->tied[a->transition] : 0;
            float acoustic = a->transition ? -c->scores[tied * (size_t)c->frames + (size_t)raw->time[s]] : 0;
            assert_true(a->next > s);
            assert_int_equal(raw->time[a->next], raw->time[s] + (a->transition != 0));
            assert_true(a->acoustic == acoustic);
            trl_arc arc = {a->transition, a->word, {a->graph + SCALE * a->acoustic, 0}, a->next};
            assert_int_equal(trl_fst_add_arc(fst, s, arc, NULL), 0);
        }
        assert_true(raw->final[s] == INFINITY || raw->time[s] == raw->frames);
        if (raw->final[s] < INFINITY)
            assert_int_equal(trl_fst_set_final(fst, s, (trl_weight){raw->final[s], 0}, NULL), 0);
    }
    return fst;
}

/* All that is on a path within the beam, and nothing else; ends that are not are no ends. */
static void lattice_is_what_is_within_its_beam(void **state)
{
    (void)state;
    random_source r = {2};
    int arcs = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        double beam = random_chance(&r, 0.1) ? INFINITY : (double)random_eighths(&r, 40);
        trl__decode_options o = wide(beam, &r);
        trl__decoder *d;
        const trl__raw_lattice *raw;
        assert_int_equal(trl__decoder_create(c.graph, &o, &d, NULL), 0);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        advance_in_pieces(d, c.scores, c.frames, &r);
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        assert_int_equal(raw->frames, c.frames);
        if (raw->reached_end) {
            trl_weight threshold = {(float)beam, 0};
            trl_fst *lattice = lattice_as_machine(raw, &c);
            assert_int_equal(trl_fst_prune(c.all, threshold, 0, NULL), 0);
            assert_int_equal(raw->states, trl_fst_states(c.all));
            assert_same_arcs(raw, c.all);
            assert_int_equal(trl_fst_prune(lattice, threshold, 0, NULL), 0);
            assert_int_equal(raw->states, trl_fst_states(lattice));
            assert_same_arcs(raw, lattice);
            arcs += (int)trl_fst_arcs(lattice);
            trl_fst_destroy(lattice);
        }
        trl__decoder_destroy(d);
        free_case(&c);
    }
    assert_true(arcs > 20 * CASES);
}

/* ---- With beams ---- */

static trl__decode_options narrow(random_source *r)
{
    trl__decode_options o = trl__decode_defaults();
    o.beam = 0.5 + (double)random_eighths(r, 60);
    o.word_beam = random_below(r, 2) ? INFINITY : 0.5 + (double)random_eighths(r, 30);
    o.lattice_beam = (double)random_eighths(r, 30);
    o.acoustic_scale = SCALE;
    o.most_active = 1 + (int32_t)random_below(r, 8);
    o.least_active = (int32_t)random_below(r, (uint32_t)o.most_active + 1);
    o.prune_interval = 1 + (int32_t)random_below(r, 7);
    return o;
}

/* Settled words stay: they begin those of every later moment. */
static void check_settled(trl__decoder *d, int32_t *settled, size_t *settled_count)
{
    const int32_t *words;
    size_t count;
    assert_int_equal(trl__decoder_partial(d, 1, &words, &count, NULL), 0);
    assert_true(count >= *settled_count);
    for (size_t i = 0; i < *settled_count; i++)
        assert_int_equal(words[i], settled[i]);
    assert_true(count <= 200);
    for (size_t i = 0; i < count; i++)
        settled[i] = words[i];
    *settled_count = count;
    assert_int_equal(trl__decoder_partial(d, 0, &words, &count, NULL), 0);
    assert_true(count >= *settled_count);
    for (size_t i = 0; i < *settled_count; i++)
        assert_int_equal(words[i], settled[i]);
}

static int32_t count_tied_states(const trl_graph *graph)
{
    int32_t count = 0;
    for (int32_t i = 1; i <= graph->transitions; i++)
        count = graph->tied[i] >= count ? graph->tied[i] + 1 : count;
    return count;
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    random_source r = {3};
    trl__best_words best = {0};
    int settled_words = 0, better = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        trl__decode_options o = narrow(&r);
        trl__decoder *d;
        const trl__raw_lattice *raw;
        int32_t settled[200];
        size_t settled_count = 0;
        trl_lattice_scale scale = {SCALE, 1, 0};
        assert_int_equal(trl__decoder_create(c.graph, &o, &d, NULL), 0);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        assert_int_equal(trl__decoder_advance(d, c.scores, c.frames, (size_t)c.frames, NULL), 0);
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        trl__raw_lattice whole = copy_lattice(raw);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        for (int32_t f = 0; f < c.frames; f++) {
            assert_int_equal(trl__decoder_advance(d, c.scores + f, 1, (size_t)c.frames, NULL), 0);
            if (whole.states > 0)
                check_settled(d, settled, &settled_count);
        }
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        assert_same_lattice(raw, &whole);
        assert_int_equal(trl__best_words_find(&best, raw, &scale, NULL), 0);
        if (best.is_found) {
            assert_true(best.count >= settled_count);
            for (size_t k = 0; k < settled_count; k++)
                assert_int_equal(best.words[k].word, settled[k]);
            assert_true(!raw->reached_end || best.graph + SCALE * best.acoustic >= c.best);
            better += raw->reached_end && best.graph + SCALE * best.acoustic > c.best;
        }
        settled_words += (int)settled_count;
        free_lattice(&whole);
        trl__decoder_destroy(d);
        free_case(&c);
    }
    assert_true(settled_words > CASES / 2 && better > CASES / 50);
    trl__best_words_free(&best);
}

/* ---- Scores on demand ---- */

#define WINDOW 16 /* frames of a group whose scores are kept */

/* Makes what is wanted from a table; the rest of the group is poison. */
typedef struct maker {
    const float *table; /* frames by tied state */
    int32_t tied, frames, begin;
    float *scores;
    uint32_t *until;
    int made;
} maker;

static int make_scores(trl__score_group *g, int worker, int32_t first, int32_t end, const int32_t *wanted,
                       int32_t count, trl_error *err)
{
    (void)err, (void)worker;
    maker *m = g->user;
    for (int32_t i = 0; i < count; i++)
        for (int32_t f = first; f < end; f++)
            m->scores[(size_t)wanted[i] * g->stride + (size_t)(f % WINDOW) * g->step] =
                m->table[wanted[i] * m->frames + m->begin + f];
    m->made += count * (end - first);
    return 0;
}

static trl__score_group next_group(maker *m, int32_t begin, random_source *r)
{
    int32_t frames = 1 + (int32_t)random_below(r, 29);
    frames = frames > m->frames - begin ? m->frames - begin : frames;
    int by_state = random_chance(r, 0.5);
    m->begin = begin;
    for (int32_t i = 0; i < m->tied * WINDOW; i++)
        m->scores[i] = NAN;
    memset(m->until, 0, (size_t)m->tied * sizeof *m->until);
    return (trl__score_group){.frames = frames,
                              .scores = m->scores,
                              .stride = by_state ? WINDOW : 1,
                              .step = by_state ? 1 : (size_t)m->tied,
                              .window = WINDOW,
                              .by_frame = random_chance(r, 0.5),
                              .block = 1 + (int32_t)random_below(r, WINDOW),
                              .until = m->until,
                              .fill = make_scores,
                              .user = m};
}

static void scores_on_demand_are_the_same(void **state)
{
    (void)state;
    random_source r = {7};
    int made = 0, could = 0;
    for (int i = 0; i < CASES; i++) {
        test_case c = make_case(&r);
        trl__decode_options o = narrow(&r);
        float scores[WINDOW * 8];
        uint32_t until[8];
        int32_t tied = count_tied_states(c.graph);
        maker m = {c.scores, tied, c.frames, 0, scores, until, 0};
        trl__decoder *d;
        const trl__raw_lattice *raw;
        assert_true(tied < 8);
        assert_int_equal(trl__decoder_create(c.graph, &o, &d, NULL), 0);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        assert_int_equal(trl__decoder_advance(d, c.scores, c.frames, (size_t)c.frames, NULL), 0);
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        trl__raw_lattice whole = copy_lattice(raw);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        for (int32_t f = 0; f < c.frames;) {
            trl__score_group group = next_group(&m, f, &r);
            assert_int_equal(trl__decoder_advance_group(d, &group, NULL), 0);
            could += tied * group.frames;
            f += group.frames;
        }
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        assert_same_lattice(raw, &whole);
        made += m.made;
        free_lattice(&whole);
        trl__decoder_destroy(d);
        free_case(&c);
    }
    assert_true(made < could * 9 / 10); /* and nothing is made twice, or that nobody needs */
}

/* ---- What can go wrong ---- */

static void wrong_scores_are_refused(void **state)
{
    (void)state;
    random_source r = {4};
    graph_kind kind = {.states = 5, .arcs = 20, .transitions = 4, .tied = 3, .words = 2, .epsilons = 0.2, .finals = 1};
    trl_graph *g = random_graph(&kind, &r);
    const float wrong[] = {NAN, INFINITY};
    trl__decoder *d;
    const trl__raw_lattice *raw;
    trl_error err;
    g->tied[4] = 2;
    assert_int_equal(trl__decoder_create(g, NULL, &d, NULL), 0);
    for (int i = 0; i < 2; i++) {
        float scores[3 * 40] = {0};
        scores[2 * 40 + 33] = wrong[i];
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        assert_int_equal(trl__decoder_advance(d, scores, 40, 40, &err), TRL_ENUMBER);
        assert_non_null(strstr(err.text, "tied state 2 in frame 33"));
    }
    assert_int_equal(trl__decoder_begin(d, NULL), 0);
    assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
    assert_int_equal(raw->frames, 0);
    assert_true(raw->states >= 1);
    assert_int_equal(trl__decoder_finish(d, &raw, NULL), TRL_EINVAL);
    trl__decoder_destroy(d);
    free_graph(g);
}

/* All impossible: no path, no crash; and a graph without a start. */
static void nothing_may_be_left(void **state)
{
    (void)state;
    random_source r = {5};
    graph_kind kind = {.states = 5, .arcs = 20, .transitions = 4, .tied = 3, .words = 2, .epsilons = 0.2, .finals = 1};
    trl_graph *g = random_graph(&kind, &r);
    float scores[3 * 40];
    const int32_t *words;
    size_t count;
    for (int i = 0; i < 3 * 40; i++)
        scores[i] = -INFINITY;
    for (int has_start = 0; has_start < 2; has_start++) {
        trl__decoder *d;
        const trl__raw_lattice *raw;
        g->start = has_start ? g->start : -1;
        assert_int_equal(trl__decoder_create(g, NULL, &d, NULL), 0);
        assert_int_equal(trl__decoder_begin(d, NULL), 0);
        assert_int_equal(trl__decoder_advance(d, scores, 40, 40, NULL), 0);
        assert_int_equal(trl__decoder_partial(d, 1, &words, &count, NULL), 0);
        assert_int_equal(count, 0);
        assert_int_equal(trl__decoder_finish(d, &raw, NULL), 0);
        assert_int_equal(raw->states, 0);
        assert_int_equal(raw->reached_end, 0);
        trl__decoder_destroy(d);
        g->start = 0;
    }
    free_graph(g);
}

static void cycles_that_read_nothing_are_refused(void **state)
{
    (void)state;
    random_source r = {6};
    graph_kind kind = {.states = 3, .arcs = 3, .transitions = 1, .tied = 1, .words = 1, .epsilons = 0, .finals = 1};
    trl_graph *g = random_graph(&kind, &r);
    for (int32_t s = 0; s < 3; s++) {
        g->first[s] = (uint64_t)s;
        g->emitting[s] = (uint64_t)s + 1;
        g->arcs[s] = (trl__network_arc){(s + 1) % 3, 0, 0, 0};
    }
    assert_int_equal(trl__graph_set_levels(g, NULL), TRL_EINVAL);
    free_graph(g);
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {7};
    int failures = 0;
    test_case c = make_case(&r);
    while (!isfinite(c.best) || c.frames < 20) {
        free_case(&c);
        c = make_case(&r);
    }
    for (long n = 1, code = TRL_ENOMEM; code != 0; n++) {
        trl__decode_options o = wide(4, &r);
        trl__decoder *d;
        const trl__raw_lattice *raw;
        const int32_t *words;
        size_t count;
        trl__memory_fail_after(n);
        code = trl__decoder_create(c.graph, &o, &d, NULL);
        if (code == 0)
            code = trl__decoder_begin(d, NULL);
        if (code == 0)
            code = trl__decoder_advance(d, c.scores, c.frames, (size_t)c.frames, NULL);
        if (code == 0)
            code = trl__decoder_partial(d, 1, &words, &count, NULL);
        if (code == 0)
            code = trl__decoder_finish(d, &raw, NULL);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
        trl__decoder_destroy(d);
    }
    assert_true(failures > 10);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_path_is_the_shortest),
        cmocka_unit_test(lattice_is_what_is_within_its_beam),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(scores_on_demand_are_the_same),
        cmocka_unit_test(wrong_scores_are_refused),
        cmocka_unit_test(nothing_may_be_left),
        cmocka_unit_test(cycles_that_read_nothing_are_refused),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
