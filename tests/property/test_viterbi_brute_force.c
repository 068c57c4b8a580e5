/* Random hidden Markov models with few nodes and frames, whose paths can all be counted: the best path, the sum of all
 * paths, posteriors of nodes and expected counts of arcs are those of the enumeration. Longer ones: a search in tiles
 * is the search in one piece. */
#include "cmocka_test.h"
#include "device_fixture.h"
#include "search_fixture.h"

#define CASES 3000

/* ---- All paths ---- */

typedef struct all_paths {
    const trl__search *s;
    int32_t node[16], arc[17];
    double best, total; /* logarithms */
    int counting;       /* second time: total is known */
    double gamma[MOST_NODES][16], count[MOST_ARCS];
} all_paths;

static double score_at(const trl__search *s, int32_t node, int32_t t)
{
    const trl__row *row = &s->row[s->node_row[node]];
    return (double)s->scores[row->offset + (t - row->first)];
}

static double log_sum(double a, double b)
{
    double larger = fmax(a, b);
    return larger == -INFINITY ? larger : larger + log(exp(a - larger) + exp(b - larger));
}

static void end_of_path(all_paths *p, double score)
{
    int32_t frames = p->s->end;
    if (!p->counting) {
        p->best = fmax(p->best, score);
        p->total = log_sum(p->total, score);
        return;
    }
    double posterior = exp(score - p->total);
    for (int32_t t = 0; t < frames; t++)
        p->gamma[p->node[t]][t] += posterior;
    for (int32_t t = 0; t <= frames; t++)
        p->count[p->arc[t]] += posterior;
}

/* All arcs that leave `from` (or the start) between frame t - 1 and t. */
static void go_on(all_paths *p, int32_t from, int32_t t, double score)
{
    const trl__search *s = p->s;
    for (int32_t n = t < s->end ? 0 : s->nodes; n < s->nodes + (t == s->end); n++)
        for (int32_t a = s->arc_first[n]; a < s->arc_first[n + 1]; a++) {
            if (s->arc_from[a] != from)
                continue;
            p->arc[t] = a;
            if (n == s->nodes) {
                end_of_path(p, score + (double)s->arc_weight[a]);
            } else if (t >= s->node_first[n] && t < s->node_end_frame[n]) {
                p->node[t] = n;
                go_on(p, n, t + 1, score + (double)s->arc_weight[a] + score_at(s, n, t));
            }
        }
}

static void count_all_paths(all_paths *p, const trl__search *s)
{
    *p = (all_paths){.s = s, .best = -INFINITY, .total = -INFINITY};
    go_on(p, TRL__START, 0, 0);
    p->counting = 1;
    if (p->total > -INFINITY)
        go_on(p, TRL__START, 0, 0);
}

/* ---- The backend ---- */

static test_devices devices; /* the reference, the processor, then OpenCL's shapes */
static trl__stream *stream[8];

static int open_devices(void **state)
{
    (void)state;
    add_device(&devices, "cpu:ref");
    add_device(&devices, "cpu");
    open_devices_of_drivers(&devices);
    for (size_t i = 0; i < devices.count; i++)
        if (trl__stream_create(devices.device[i], &stream[i], NULL) < 0)
            return -1;
    return 0;
}

static int close_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < devices.count; i++)
        trl__stream_destroy(stream[i]);
    close_devices_of_test(&devices);
    return 0;
}

/* Starting a kernel takes longer than such a search: those of OpenCL get every tenth. */
static int levels_of(uint64_t i)
{
    return (int)(i % 10 == 0 ? devices.count : devices.processors);
}

/* Whole numbers: many paths are equally good, and the first arc must win everywhere. */
static void make_ties(random_search *r)
{
    for (int i = 0; i < r->s.rows; i++)
        for (int t = 0; t < r->row[i].end - r->row[i].first; t++)
            r->s.scores[r->row[i].offset + t] = rintf(r->s.scores[r->row[i].offset + t] / 20);
    for (int a = 0; a < r->arcs; a++)
        r->arc_weight[a] = rintf(r->arc_weight[a] / 3);
}

/* `range`: how far scores are apart, in nats. */
static random_search *make_case(uint64_t seed, int most_nodes, int most_frames, float range)
{
    chance c = {seed, 1u << 30};
    int nodes = 1 + pick(&c, most_nodes), frames = 1 + pick(&c, most_frames);
    random_search *r =
        random_search_make(seed, (graph_kind)pick(&c, GRAPH_KINDS), nodes, frames, (mixture_kind){1, 3, 1, 1, 0, 1});
    for (int i = 0; i < r->s.rows; i++)
        for (int t = 0; t < r->row[i].end - r->row[i].first; t++)
            r->s.scores[r->row[i].offset + t] = between(&c, -range, 10);
    if (seed % 3 == 0)
        make_ties(r);
    return r;
}

/* The score of the path that was found, arc by arc; it must hang together. */
static double score_of_path(const trl__search *s)
{
    double score = 0;
    for (int32_t t = 0; t < s->end; t++) {
        int32_t node = s->path[t], arc = s->path_arc[t];
        assert_true(arc >= s->arc_first[node] && arc < s->arc_first[node + 1]);
        assert_int_equal(s->arc_from[arc], t > 0 ? s->path[t - 1] : TRL__START);
        assert_true(t >= s->node_first[node] && t < s->node_end_frame[node]);
        score += (double)s->arc_weight[arc] + score_at(s, node, t);
    }
    assert_true(s->last_arc >= s->arc_first[s->nodes] && s->last_arc < s->arc_first[s->nodes + 1]);
    assert_int_equal(s->arc_from[s->last_arc], s->path[s->end - 1]);
    return score + (double)s->arc_weight[s->last_arc];
}

static void check_viterbi(int level, trl__search *s, double best)
{
    assert_int_equal(trl__stream_viterbi(stream[level], s, 1, NULL), 0);
    assert_int_equal(trl__stream_wait(stream[level], NULL), 0);
    if (best == -INFINITY) {
        assert_int_equal(s->last_node, -1);
        assert_int_equal(s->last_arc, -1);
        assert_true(s->log_likelihood == -INFINITY);
        return;
    }
    assert_true(fabs(s->log_likelihood - best) <= 1e-9 * (1 + fabs(best)));
    assert_int_equal(s->last_node, s->arc_from[s->last_arc]);
    assert_int_equal(trl__stream_backtrack(stream[level], s, 1, NULL), 0);
    assert_int_equal(trl__stream_wait(stream[level], NULL), 0);
    assert_int_equal(s->last_node, TRL__START);
    assert_true(fabs(score_of_path(s) - best) <= 1e-9 * (1 + fabs(best)));
}

static void check_posteriors(int level, trl__search *s, const all_paths *p)
{
    assert_int_equal(trl__stream_forward_backward(stream[level], s, 1, NULL), 0);
    assert_int_equal(trl__stream_wait(stream[level], NULL), 0);
    assert_true(p->total == s->total || fabs(s->total - p->total) <= 1e-9 * (1 + fabs(p->total)));
    for (int32_t n = 0; n < s->nodes; n++)
        for (int32_t t = s->node_first[n]; t < s->node_end_frame[n]; t++) {
            double got = (double)s->gamma[s->gamma_offset[n] + (t - s->node_first[n])];
            if (!(fabs(got - p->gamma[n][t]) <= 1e-6))
                fail_msg("%s: node %d, frame %d: posterior %g, not %g", devices.name[level], (int)n, (int)t, got,
                         p->gamma[n][t]);
        }
    for (int32_t a = 0; a < s->arc_first[s->nodes + 1]; a++)
        if (!(fabs(s->arc_count[a] - p->count[a]) <= 1e-9 * (1 + p->count[a])))
            fail_msg("%s: arc %d: count %g, not %g", devices.name[level], (int)a, s->arc_count[a], p->count[a]);
}

static void check_range(uint64_t seeds, float range)
{
    static all_paths p;
    int found = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        random_search *r = make_case(seeds + i, 4, i % 10 == 0 ? 6 : 4, range);
        count_all_paths(&p, &r->s);
        found += p.total > -INFINITY;
        for (int level = 0; level < levels_of(i); level++) {
            check_viterbi(level, &r->s, p.best);
            check_posteriors(level, &r->s, &p);
        }
        random_search_free(r);
    }
    assert_in_range(found, CASES / 3, CASES - 100); /* some have no path */
}

static void the_best_path_and_all_paths_are_the_enumerated_ones(void **state)
{
    (void)state;
    check_range(0, 20);
}

/* Scores that no double could hold the exponential of. */
static void nothing_underflows(void **state)
{
    (void)state;
    check_range(CASES, 3000);
}

/* ---- Tiles ---- */

typedef struct whole_path {
    int32_t node[100], arc[100], last_arc;
    double log_likelihood;
} whole_path;

static void keep_path(whole_path *kept, const trl__search *s)
{
    memcpy(kept->node, s->path, (size_t)s->end * sizeof *s->path);
    memcpy(kept->arc, s->path_arc, (size_t)s->end * sizeof *s->path_arc);
    kept->last_arc = s->last_arc;
    kept->log_likelihood = s->log_likelihood;
}

#define TILE 7

/* The search of frames [begin, end) only: bands and back-pointers of its own. */
static void make_tile(const trl__search *whole, int32_t begin, int32_t end, int32_t *first, int32_t *band_end,
                      int64_t *offset, trl__search *tile)
{
    int64_t bits = 0;
    *tile = *whole;
    tile->begin = begin;
    tile->end = end;
    for (int32_t n = 0; n < whole->nodes; n++) {
        first[n] = whole->node_first[n] > begin ? whole->node_first[n] : begin;
        band_end[n] = whole->node_end_frame[n] < end ? whole->node_end_frame[n] : end;
        offset[n] = bits;
        bits += band_end[n] > first[n] ? (int64_t)(band_end[n] - first[n]) * whole->back_bits : 0;
    }
    tile->node_first = first;
    tile->node_end_frame = band_end;
    tile->back_offset = offset;
    tile->back = malloc((size_t)bits / 8 + 16);
}

static void search_in_tiles(int level, trl__search *s)
{
    static int32_t first[16][MOST_NODES], band_end[16][MOST_NODES];
    static int64_t offset[16][MOST_NODES];
    trl__search tile[16];
    int count = 0;
    for (int32_t t = 0; t < s->end; t += TILE, count++) {
        make_tile(s, t, t + TILE < s->end ? t + TILE : s->end, first[count], band_end[count], offset[count],
                  &tile[count]);
        assert_int_equal(trl__stream_viterbi(stream[level], &tile[count], 1, NULL), 0);
        assert_int_equal(trl__stream_wait(stream[level], NULL), 0);
        assert_true(count == 0 || tile[count - 1].last_node == -1);
    }
    s->last_node = tile[count - 1].last_node;
    s->last_arc = tile[count - 1].last_arc;
    s->log_likelihood = tile[count - 1].log_likelihood;
    for (int i = count - 1, node = s->last_node; i >= 0; i--) {
        tile[i].last_node = node;
        assert_int_equal(trl__stream_backtrack(stream[level], &tile[i], 1, NULL), 0);
        assert_int_equal(trl__stream_wait(stream[level], NULL), 0);
        node = tile[i].last_node;
        free(tile[i].back);
    }
}

static void tiles_are_the_whole(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        random_search *r = make_case(2 * CASES + i, MOST_NODES - 1, 60, 50);
        whole_path whole = {0}, tiled = {0};
        assert_int_equal(trl__stream_viterbi(stream[1], &r->s, 1, NULL), 0);
        int32_t last_node = r->s.last_node;
        if (last_node >= 0) {
            found++;
            assert_int_equal(trl__stream_backtrack(stream[1], &r->s, 1, NULL), 0);
            keep_path(&whole, &r->s);
        }
        for (int level = 0; level < levels_of(i); level++) {
            search_in_tiles(level, &r->s);
            assert_int_equal(r->s.last_node, last_node);
            if (last_node < 0)
                continue;
            keep_path(&tiled, &r->s);
            assert_memory_equal(&tiled, &whole, sizeof whole);
        }
        random_search_free(r);
    }
    assert_in_range(found, CASES / 10, CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_path_and_all_paths_are_the_enumerated_ones),
        cmocka_unit_test(nothing_underflows),
        cmocka_unit_test(tiles_are_the_whole),
    };
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
