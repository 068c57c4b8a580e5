/* Small random lexicons, models with and without trees, transcripts and frames: what the aligner finds equals what
 * counting all paths gives. The paths are made from the lexicon, the topologies and the tree directly, not from the
 * utterance's graph: first the units that are said, then the tied states of each among its neighbours. */
#include "align_case.h"
#include "random_tree.h"

#define MOST_FRAMES 7
#define MOST_UNITS 16
#define MOST_SLOTS 5
#define MOST_PHONES 3
#define MOST_TIED 400
#define MOST_TRANSITIONS 4000
#define MOST_NODES 1000
#define TOLERANCE 3e-3 /* scores are floats of some tens */

/* Where a path is at a frame. */
typedef struct visit {
    int32_t slot, variant, phone, state, tied;
} visit;

typedef struct step {
    int32_t unit, slot, variant, phone;
} step;

/* A path, by what it visits and how it leaves it. */
typedef struct way {
    uint64_t nodes;
    double log_probability;
} way;

typedef struct brute {
    const trl_model *model;
    const trl_lexicon *lexicon;
    const trl_matrix *frames;
    const int32_t *words;
    int32_t word_count, frame_count;
    double score[MOST_TIED][MOST_FRAMES];
    const trl__graph *graph; /* only to say where a band is */
    const trl__bands *bands; /* NULL: everywhere */

    step steps[MOST_UNITS]; /* what is chosen */
    step said[MOST_UNITS];  /* what of it is not passed over */
    int32_t step_count, said_count;
    visit visits[MOST_FRAMES];
    int32_t transitions[MOST_FRAMES];

    way *ways; /* all paths */
    size_t way_count, way_capacity;

    double best, total;
    int counting; /* second pass: gather posteriors */
    double slot[MOST_SLOTS][MOST_FRAMES];
    double phone[MOST_SLOTS][2][MOST_PHONES][MOST_FRAMES];
    double tied[MOST_TIED][MOST_FRAMES];
    double transition[MOST_TRANSITIONS];
} brute;

/* ---- all paths ---- */

/* The path in b->visits and b->transitions. */
static void add_way(brute *b, double log_probability)
{
    uint64_t hash = trl__hash((char *)b->visits, (size_t)b->frame_count * sizeof *b->visits) * 31;
    hash += trl__hash((char *)b->transitions, (size_t)b->frame_count * sizeof *b->transitions);
    assert_int_equal(TRL_GROW(b->ways, b->way_capacity, b->way_count + 1), 0);
    b->ways[b->way_count++] = (way){hash, log_probability};
}

static void end_path(brute *b, double log_probability)
{
    if (!b->counting) {
        add_way(b, log_probability);
        b->total = log_add(b->total, log_probability);
        return;
    }
    double share = exp(log_probability - b->total);
    for (int32_t t = 0; t < b->frame_count; t++) {
        const visit *v = &b->visits[t];
        b->slot[v->slot][t] += share;
        b->phone[v->slot][v->variant][v->phone][t] += share;
        b->tied[v->tied][t] += share;
        b->transition[b->transitions[t]] += share;
    }
}

static int is_in_band(const brute *b, const visit *v, int32_t t)
{
    for (int32_t n = 0; b->bands && n < b->graph->nodes; n++) {
        const trl__graph_phone *p = &b->graph->phone[b->graph->node_phone[n]];
        if (p->slot == v->slot && p->variant == v->variant && p->place == v->phone &&
            b->graph->node_state[n] == v->state)
            return t >= b->bands->first[n] && t < b->bands->end[n];
    }
    return 1;
}

/* The triple of a unit among what is said. */
static const trl__triple *triple_of(const brute *b, int32_t s, int32_t state)
{
    const trl__tree *tree = b->model->tree;
    if (!tree)
        return trl__model_triple(b->model, b->said[s].unit, state);
    int32_t window[TRL__WIDEST_CONTEXT];
    for (int32_t k = 0; k < tree->width; k++) {
        int32_t at = s + k - tree->centre;
        window[k] = at >= 0 && at < b->said_count ? b->said[at].unit : TRL__NOTHING;
    }
    int32_t tied = trl__tree_find(tree, window, state);
    for (int32_t i = b->model->unit_triple[b->said[s].unit]; i < b->model->triples; i++)
        if (b->model->triple[i].state == state && b->model->triple[i].tied == tied)
            return &b->model->triple[i];
    fail_msg("no triple");
    return NULL;
}

static void enter_unit(brute *b, int32_t s, int32_t t, double log_probability);

static void enter_state(brute *b, int32_t s, int32_t state, int32_t t, double log_probability)
{
    const step *at = &b->said[s];
    const trl__topology *topology = trl__unit_topology(b->model, at->unit);
    const trl__triple *triple = triple_of(b, s, state);
    visit v = {at->slot, at->variant, at->phone, state, triple->tied};
    if (t == b->frame_count || !is_in_band(b, &v, t))
        return;
    b->visits[t] = v;
    log_probability += b->score[triple->tied][t];
    for (int32_t a = topology->first[state + 1]; a < topology->first[state + 2]; a++) {
        int32_t id = triple->transition + a - topology->first[state + 1];
        double next = log_probability + (double)b->model->log_probability[id];
        b->transitions[t] = id;
        if (topology->arcs[a].to == TRL_EXIT)
            enter_unit(b, s + 1, t + 1, next);
        else
            enter_state(b, s, topology->arcs[a].to, t + 1, next);
    }
}

static void enter_unit(brute *b, int32_t s, int32_t t, double log_probability)
{
    if (s == b->said_count) {
        if (t == b->frame_count)
            end_path(b, log_probability);
        return;
    }
    const trl__topology *topology = trl__unit_topology(b->model, b->said[s].unit);
    for (int32_t a = 0; a < topology->first[1]; a++)
        if (topology->arcs[a].to != TRL_EXIT)
            enter_state(b, s, topology->arcs[a].to, t, log_probability + log((double)topology->arcs[a].probability));
}

/* Every choice of units that are passed over, from this step on. */
static void pass_over(brute *b, int32_t s, double log_probability)
{
    int32_t kept = b->said_count;
    if (s == b->step_count) {
        enter_unit(b, 0, 0, log_probability);
        return;
    }
    const trl__topology *topology = trl__unit_topology(b->model, b->steps[s].unit);
    for (int32_t a = 0; a < topology->first[1]; a++)
        if (topology->arcs[a].to == TRL_EXIT)
            pass_over(b, s + 1, log_probability + log((double)topology->arcs[a].probability));
    b->said[b->said_count++] = b->steps[s];
    if (b->said_count <= b->frame_count)
        pass_over(b, s + 1, log_probability);
    b->said_count = kept;
}

static int32_t unit_of(const brute *b, trl_pronunciation p, size_t i)
{
    char name[16];
    const char *phone = trl_lexicon_phone(b->lexicon, (size_t)p.phones[i]);
    const char *place = p.length == 1 ? "_S" : i == 0 ? "_B" : i + 1 == p.length ? "_E" : "_I";
    snprintf(name, sizeof name, "%s%s", phone, b->model->word_positions ? place : "");
    return trl_model_find_unit(b->model, name);
}

/* Every choice of silences and pronunciations from this slot on. */
static void choose(brute *b, int32_t slot, double log_probability)
{
    int32_t slots = 2 * b->word_count + 1, kept = b->step_count;
    double silence = b->word_count == 0 ? 1 : (double)b->model->silence_between;
    if (slot == slots) {
        pass_over(b, 0, log_probability);
    } else if (slot % 2 == 0) {
        if (silence < 1)
            choose(b, slot + 1, log_probability + log(1 - silence));
        b->steps[b->step_count++] = (step){0, slot, 0, 0};
        choose(b, slot + 1, log_probability + log(silence));
    } else {
        size_t word = (size_t)b->words[slot / 2];
        for (size_t v = 0; v < trl_lexicon_pronunciations(b->lexicon, word); v++, b->step_count = kept) {
            trl_pronunciation p = trl_lexicon_pronunciation(b->lexicon, word, v);
            for (size_t i = 0; i < p.length; i++)
                b->steps[b->step_count++] = (step){unit_of(b, p, i), slot, (int32_t)v, (int32_t)i};
            choose(b, slot + 1, log_probability + log((double)p.probability));
        }
    }
    b->step_count = kept;
}

static int by_nodes(const void *a, const void *b)
{
    const way *x = a, *y = b;
    return (x->nodes > y->nodes) - (x->nodes < y->nodes);
}

/* Paths that differ only in what they skip, and so in nothing that could be seen, become one. Returns the best. */
static double merge_ways(brute *b)
{
    double best = -INFINITY;
    size_t kept = 0;
    if (b->way_count > 0)
        qsort(b->ways, b->way_count, sizeof *b->ways, by_nodes);
    for (size_t i = 0; i < b->way_count; i++) {
        if (kept > 0 && b->ways[kept - 1].nodes == b->ways[i].nodes)
            b->ways[kept - 1].log_probability = log_add(b->ways[kept - 1].log_probability, b->ways[i].log_probability);
        else
            b->ways[kept++] = b->ways[i];
        best = fmax(best, b->ways[kept - 1].log_probability);
    }
    b->way_count = kept;
    return best;
}

static void count_paths(brute *b)
{
    b->total = -INFINITY;
    b->counting = 0;
    b->way_count = 0;
    choose(b, 0, 0);
    b->best = merge_ways(b);
    b->counting = 1;
    memset(b->slot, 0, sizeof b->slot);
    memset(b->phone, 0, sizeof b->phone);
    memset(b->tied, 0, sizeof b->tied);
    memset(b->transition, 0, sizeof b->transition);
    if (b->total > -INFINITY)
        choose(b, 0, 0);
}

/* ---- a random case ---- */

static void make_model(align_case *c, dice *d)
{
    trl_model_options o = trl_model_defaults();
    o.states = roll_int(d, 1, 2);
    o.silence_states = roll_int(d, 1, 4);
    o.silence_topology = TRL_TOPOLOGY_ERGODIC;
    o.word_positions = roll_int(d, 0, 1);
    must(trl_model_create(c->lexicon, NULL, 2, &o, &c->model, &err));
    c->model->silence_between = 0.1f + 0.8f * roll(d);
    int width = roll_int(d, 0, 5);
    if (width > 0)
        give_tree(c->model, d, width, roll_int(d, 0, width - 1), roll_int(d, 1, 4));
    for (int t = 0; t < 2; t++)
        if (roll(d) < 0.4f)
            set_entries(&c->model->topology[t], c->model->topology[t].states > 1 && roll(d) < 0.5f ? 0.25f : 0,
                        roll(d) < 0.5f ? 0.3f : 0);
    randomise_transitions(c->model, d);
    randomise_mixtures(c->model, d, 3);
}

static void make_case(align_case *c, brute *b, uint64_t number)
{
    dice d = {.seed = 77, .stream = number};
    *c = (align_case){.lexicon = random_lexicon(&d, 2, 2, 2, MOST_PHONES)};
    make_model(c, &d);
    open_case(c, number % 2 ? "cpu" : "cpu:ref");
    int32_t words[2] = {roll_int(&d, 0, 1), roll_int(&d, 0, 1)};
    say(c, words, (size_t)roll_int(&d, 0, 2));
    c->frames = random_frames(&d, roll_int(&d, 1, MOST_FRAMES), 2);
    begin_case(c);
    trl__free(b->ways);
    *b = (brute){.model = c->model,
                 .lexicon = c->lexicon,
                 .frames = &c->frames,
                 .words = c->words,
                 .word_count = (int32_t)c->word_count,
                 .frame_count = (int32_t)c->frames.rows,
                 .graph = &c->graph};
    assert_true(c->model->tied_states <= MOST_TIED && c->model->transitions < MOST_TRANSITIONS);
    for (int32_t j = 0; j < c->model->tied_states; j++)
        for (size_t t = 0; t < c->frames.rows; t++)
            b->score[j][t] = state_score(c->model, j, trl_matrix_row(&c->frames, t));
}

static void assert_close(double a, double b, double tolerance, const char *what, uint64_t number)
{
    if (!(fabs(a - b) <= tolerance) && a != b)
        fail_msg("case %llu: %s: %.6f instead of %.6f", (unsigned long long)number, what, a, b);
}

/* The score of the path in hand, from the graph's arcs and scores by definition. */
static double path_score(const align_case *c, const brute *b)
{
    const int32_t *arc;
    int32_t last;
    const int32_t *path = trl__aligner_path(c->aligner, &arc, &last);
    double sum = (double)c->graph.arc_weight[last];
    assert_int_equal(c->graph.arc_from[last], path[b->frame_count - 1]);
    for (int32_t t = 0; t < b->frame_count; t++) {
        assert_true(arc[t] >= c->graph.arc_first[path[t]] && arc[t] < c->graph.arc_first[path[t] + 1]);
        assert_int_equal(c->graph.arc_from[arc[t]], t > 0 ? path[t - 1] : TRL__START);
        sum += (double)c->graph.arc_weight[arc[t]] + b->score[c->graph.node_tied[path[t]]][t];
    }
    return sum;
}

/* ---- all paths through the graph ---- */

/* From `node`, which the path is in at frame t, back to the start. Its visits behind t are there already. */
static void walk_back(brute *b, int32_t node, int32_t t, double log_probability)
{
    const trl__graph *g = b->graph;
    const trl__graph_phone *p = &g->phone[g->node_phone[node]];
    b->visits[t] = (visit){p->slot, p->variant, p->place, g->node_state[node], g->node_tied[node]};
    log_probability += b->score[g->node_tied[node]][t];
    for (int32_t a = g->arc_first[node]; a < g->arc_first[node + 1]; a++) {
        double before = log_probability + (double)g->arc_weight[a];
        if (g->arc_from[a] == TRL__START && t == 0)
            add_way(b, before);
        if (g->arc_from[a] == TRL__START || t == 0)
            continue;
        b->transitions[t - 1] = g->arc_transition[a];
        walk_back(b, g->arc_from[a], t - 1, before);
    }
}

static void walk_graph(brute *b)
{
    const trl__graph *g = b->graph;
    for (int32_t a = g->arc_first[g->nodes]; a < g->arc_first[g->nodes + 1]; a++) {
        b->transitions[b->frame_count - 1] = g->arc_transition[a];
        walk_back(b, g->arc_from[a], b->frame_count - 1, (double)g->arc_weight[a]);
    }
}

/* ---- the laws ---- */

/* The graph's paths are those that can be said: each of them once, with the same probability. */
static void test_all_paths(void **state)
{
    (void)state;
    static brute b;
    size_t copies = 0, paths = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(1500); i++) {
        align_case c;
        make_case(&c, &b, 400000 + i);
        count_paths(&b);
        way *said = b.ways;
        size_t count = b.way_count;
        b.ways = NULL;
        b.way_count = b.way_capacity = 0;
        walk_graph(&b);
        size_t walked = b.way_count;
        merge_ways(&b);
        if (walked != count || b.way_count != count)
            fail_msg("case %llu: %zu paths (%zu distinct) instead of %zu", (unsigned long long)i, walked, b.way_count,
                     count);
        for (size_t k = 0; k < count; k++) {
            if (b.ways[k].nodes != said[k].nodes)
                fail_msg("case %llu: another path", (unsigned long long)i);
            assert_close(b.ways[k].log_probability, said[k].log_probability, TOLERANCE, "a path's score", i);
        }
        for (int32_t p = 0; p < c.graph.phones; p++)
            copies += trl__graph_copies_end(&c.graph, p) > p + 1;
        paths += count;
        trl__free(said);
        close_case(&c);
    }
    assert_true(copies > RANDOM_CASES(1500) && paths > RANDOM_CASES(30000));
}

static trl__search_result search(align_case *c, int margin, const trl__run *previous, size_t count)
{
    trl__search_options o = {.margin = margin, .auto_margin = 1, .beam = 1e30};
    trl__search_result result;
    must(trl__aligner_search(c->aligner, &o, previous, count, &result, &err));
    return result;
}

static void check_result(const align_case *c, const brute *b, trl__search_result r, const char *what, uint64_t number)
{
    assert_int_equal(r.status, b->best > -INFINITY ? TRL__ALIGNED : TRL__TOO_SHORT);
    if (r.status != TRL__ALIGNED)
        return;
    assert_close(r.log_likelihood, b->best, TOLERANCE, what, number);
    assert_close(path_score(c, b), b->best, TOLERANCE, what, number);
    int32_t frames = 0;
    for (size_t i = 0; i < r.run_count; i++)
        frames += r.runs[i].frames;
    assert_int_equal(frames, b->frame_count);
}

static void test_best_path(void **state)
{
    (void)state;
    static brute b;
    int aligned = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(3000); i++) {
        align_case c;
        make_case(&c, &b, i);
        count_paths(&b);
        trl__search_result full = search(&c, TRL_MARGIN_FULL, NULL, 0);
        check_result(&c, &b, full, "full search", i);
        check_result(&c, &b, search(&c, TRL_MARGIN_AUTO, NULL, 0), "endless beam", i);
        if (full.status == TRL__ALIGNED) {
            trl__search_result equal;
            must(trl__aligner_equal_path(c.aligner, &equal, &err));
            if (equal.status == TRL__ALIGNED)
                check_result(&c, &b, search(&c, b.frame_count, equal.runs, equal.run_count), "wide margin", i);
            aligned++;
        }
        close_case(&c);
    }
    assert_in_range(aligned, RANDOM_CASES(1500), RANDOM_CASES(3000) - 1); /* both kinds occur */
}

/* The path found within a margin is the best of all paths within it. */
static void test_margins(void **state)
{
    (void)state;
    static brute b;
    int redone = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(1500); i++) {
        align_case c;
        int32_t first[MOST_NODES], end[MOST_NODES];
        trl__bands bands = {first, end};
        trl__search_result equal;
        trl__run runs[MOST_FRAMES];
        make_case(&c, &b, 100000 + i);
        assert_true(c.graph.nodes <= MOST_NODES);
        must(trl__aligner_equal_path(c.aligner, &equal, &err));
        if (equal.status == TRL__ALIGNED) {
            memcpy(runs, equal.runs, equal.run_count * sizeof *runs);
            int margin = (int)(i % 3);
            define_bands(&c, runs, equal.run_count, margin, 0, bands);
            b.bands = margin < b.frame_count ? &bands : NULL;
            count_paths(&b);
            check_result(&c, &b, search(&c, margin, runs, equal.run_count), "margin", i);
            trl__search_result guarded = search(&c, TRL_MARGIN_AUTO, runs, equal.run_count);
            redone += guarded.redone;
            define_auto_bands(&c, runs, equal.run_count, guarded, 1, bands);
            b.bands = guarded.last_margin >= 0 ? &bands : NULL;
            count_paths(&b);
            check_result(&c, &b, guarded, "auto", i);
            if (b.bands)
                check_guard(&c, guarded, bands);
        }
        close_case(&c);
    }
    assert_true(redone > RANDOM_CASES(10));
}

/* ---- Baum-Welch ---- */

static void check_posteriors(const align_case *c, const brute *b, const float *slot, const float *phone,
                             uint64_t number)
{
    const int32_t *path = trl__aligner_path(c->aligner, NULL, NULL);
    for (int32_t t = 0; t < b->frame_count; t++) {
        const trl__graph_phone *at = &c->graph.phone[c->graph.node_phone[path[t]]];
        assert_close((double)slot[t], b->slot[at->slot][t], TOLERANCE, "posterior of a slot", number);
        assert_close((double)phone[t], b->phone[at->slot][at->variant][at->place][t], TOLERANCE, "posterior of a phone",
                     number);
    }
}

static void check_statistics(const brute *b, const trl__stats *stats, uint64_t number)
{
    const trl_model *m = b->model;
    for (int32_t id = 1; id <= m->transitions; id++)
        assert_close(stats->transition[id], b->transition[id], TOLERANCE, "transition", number);
    for (int32_t j = 0; j < m->tied_states; j++)
        for (int32_t g = m->first_gaussian[j]; g < m->first_gaussian[j + 1]; g++) {
            double count = 0, sum[2] = {0}, square[2] = {0};
            for (int32_t t = 0; t < b->frame_count; t++) {
                const float *o = trl_matrix_row(b->frames, (size_t)t);
                double share = b->tied[j][t] * exp(component_score(m, g, o) - b->score[j][t]);
                count += share;
                for (int k = 0; k < 2; k++) {
                    sum[k] += share * (double)o[k];
                    square[k] += share * (double)o[k] * (double)o[k];
                }
            }
            assert_close(stats->count[g], count, TOLERANCE, "count", number);
            for (int k = 0; k < 2; k++) {
                assert_close(stats->sum[g * 2 + k], sum[k], TOLERANCE, "sum", number);
                assert_close(stats->square[g * 2 + k], square[k], 2 * TOLERANCE, "square", number);
            }
        }
    assert_close(stats->totals.frames, b->frame_count, 0, "frames", number);
    assert_close(stats->totals.log_likelihood, b->total, TOLERANCE, "total", number);
    assert_close(stats->totals.utterances, 1, 0, "utterances", number);
}

static void test_posteriors(void **state)
{
    (void)state;
    static brute b;
    for (uint64_t i = 0; i < RANDOM_CASES(1500); i++) {
        align_case c;
        make_case(&c, &b, 200000 + i);
        count_paths(&b);
        if (search(&c, TRL_MARGIN_FULL, NULL, 0).status == TRL__ALIGNED) {
            float slot[MOST_FRAMES], phone[MOST_FRAMES];
            double total;
            trl__local_stats *local;
            trl__stats *stats;
            must(trl__local_stats_create(c.model, &local, &err));
            must(trl__stats_create(c.model, &stats, &err));
            trl__posterior_options o = {
                .margin = TRL_MARGIN_FULL, .acoustic_scale = 1, .local = local, .slot = slot, .phone = phone};
            must(trl__aligner_posteriors(c.aligner, &o, &total, &err));
            assert_close(total, b.total, TOLERANCE, "log-likelihood of all paths", i);
            check_posteriors(&c, &b, slot, phone, i);
            trl__stats_merge(stats, local);
            check_statistics(&b, stats, i);
            trl__stats_destroy(stats);
            trl__local_stats_destroy(local);
        }
        close_case(&c);
    }
}

/* Within a margin and with scaled scores: the same law, of other scores and fewer paths. */
static void test_scaled_posteriors_in_a_margin(void **state)
{
    (void)state;
    static brute b;
    for (uint64_t i = 0; i < RANDOM_CASES(1000); i++) {
        align_case c;
        int32_t first[MOST_NODES], end[MOST_NODES];
        trl__bands bands = {first, end};
        make_case(&c, &b, 300000 + i);
        trl__search_result full = search(&c, TRL_MARGIN_FULL, NULL, 0);
        if (full.status == TRL__ALIGNED) {
            float slot[MOST_FRAMES], phone[MOST_FRAMES];
            define_bands(&c, full.runs, full.run_count, 1, 0, bands);
            b.bands = &bands;
            for (int32_t j = 0; j < c.model->tied_states; j++)
                for (int32_t t = 0; t < b.frame_count; t++)
                    b.score[j][t] *= 0.1;
            count_paths(&b);
            trl__posterior_options o = {.margin = 1, .acoustic_scale = 0.1, .slot = slot, .phone = phone};
            must(trl__aligner_posteriors(c.aligner, &o, NULL, &err));
            check_posteriors(&c, &b, slot, phone, i);
        }
        close_case(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_paths),
        cmocka_unit_test(test_best_path),
        cmocka_unit_test(test_margins),
        cmocka_unit_test(test_posteriors),
        cmocka_unit_test(test_scaled_posteriors_in_a_margin),
    };
    return RUN(tests);
}
