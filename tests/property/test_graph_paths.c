/* Random lexicons, models with and without trees, grammars with loops and ways without words: the strings of a
 * recognition graph, transitions to words with their costs, are those that the definition gives: words of the grammar,
 * pronunciations, silences, tied states among the neighbours, ways through the units. And the best path for fixed words
 * is the one that alignment finds. The same holds of graphs that are composed with their grammar while searching. */
#include "align_case.h"
#include "decode/lazy_graph.h"
#include "random_tree.h"

#include <trellis/fst.h>

#define LONGEST 5 /* transitions of a string, loops not counted */
#define MOST_UNITS 40
#define TOLERANCE 2e-3
#define LOOP_TOLERANCE 8e-3 /* words that sound alike are told apart by 0.001 in the loop, and not by the grammar */

/* What a path reads and writes, zeros behind. */
typedef struct string {
    int32_t transitions[LONGEST + 1], words[LONGEST + 1];
    double cost;
} string;

typedef struct strings {
    string *items;
    size_t count, capacity;
} strings;

typedef struct graph_case {
    align_case a;
    trl_fst *grammar;
    trl_symbols *words;
    trl_graph_options options;
    trl_graph *graph;
    trl__lazy_graph *lazy;   /* NULL: the graph is whole */
    const trl_graph *walk;   /* what is walked: it, or all of the composition */
    const int32_t *own_word; /* by word of the graph: the case's; NULL: the same */
    strings defined, walked;
} graph_case;

/* ---- Sets of strings ---- */

static void add_string(strings *list, const string *s)
{
    assert_int_equal(TRL_GROW(list->items, list->capacity, list->count + 1), 0);
    list->items[list->count++] = *s;
}

static int compare_strings(const string *x, const string *y)
{
    int order = memcmp(x->transitions, y->transitions, sizeof x->transitions);
    return order ? order : memcmp(x->words, y->words, sizeof x->words);
}

static int by_string(const void *a, const void *b)
{
    const string *x = a, *y = b;
    int order = compare_strings(x, y);
    return order ? order : (x->cost > y->cost) - (x->cost < y->cost);
}

/* Of equal strings the best one stays. */
static void sort_strings(strings *list)
{
    size_t kept = 0;
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_string);
    for (size_t i = 0; i < list->count; i++)
        if (kept == 0 || compare_strings(&list->items[kept - 1], &list->items[i]) != 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* ---- Costs by definition ---- */

static int32_t loop_of(const trl_model *m, int32_t id)
{
    for (int32_t other = 1; other <= m->transitions; other++)
        if (m->transition_triple[other] == m->transition_triple[id] &&
            trl_model_transition(m, other).to == trl_model_transition(m, other).state)
            return other;
    return 0;
}

static double cost_of(const graph_case *c, int32_t id)
{
    const trl_model *m = c->a.model;
    int32_t loop = loop_of(m, id);
    double p = (double)m->log_probability[id];
    if (id == loop)
        return -c->options.self_loop_scale * p;
    double leave = loop ? log1p(-exp((double)m->log_probability[loop])) : 0;
    return -c->options.transition_scale * (p - leave) - c->options.self_loop_scale * leave;
}

/* ---- All strings by definition ---- */

typedef struct brute {
    graph_case *c;
    int32_t units[MOST_UNITS];
    int count;
    string at;
    int length, word_count;
} brute;

static int32_t triple_of(const brute *b, int place, int32_t state)
{
    const trl_model *m = b->c->a.model;
    int32_t unit = b->units[place], window[TRL__WIDEST_CONTEXT];
    for (int32_t k = 0; m->tree && k < m->tree->width; k++) {
        int at = place + k - m->tree->centre;
        window[k] = at >= 0 && at < b->count ? b->units[at] : TRL__NOTHING;
    }
    int32_t tied = m->tree ? trl__tree_find(m->tree, window, state) : 0;
    for (int32_t i = m->unit_triple[unit]; i < m->unit_triple[unit + 1]; i++)
        if (m->triple[i].state == state && (!m->tree || m->triple[i].tied == tied))
            return i;
    fail_msg("no triple");
    return -1;
}

static void enter_unit(brute *b, int place, double cost);

static void leave_state(brute *b, int place, int32_t state, double cost)
{
    const trl_model *m = b->c->a.model;
    const trl__topology *t = trl__unit_topology(m, b->units[place]);
    if (b->length == LONGEST)
        return;
    int32_t first = m->triple[triple_of(b, place, state)].transition;
    for (int32_t a = t->first[state + 1]; a < t->first[state + 2]; a++) {
        int32_t id = first + a - t->first[state + 1], to = t->arcs[a].to;
        if (to == state)
            continue;
        b->at.transitions[b->length++] = id;
        if (to == TRL_EXIT)
            enter_unit(b, place + 1, cost + cost_of(b->c, id));
        else
            leave_state(b, place, to, cost + cost_of(b->c, id));
        b->at.transitions[--b->length] = 0;
    }
}

static void enter_unit(brute *b, int place, double cost)
{
    if (place == b->count) {
        b->at.cost = cost;
        add_string(&b->c->defined, &b->at);
        return;
    }
    const trl__topology *t = trl__unit_topology(b->c->a.model, b->units[place]);
    for (int32_t a = 0; a < t->first[1]; a++) {
        double more = cost - b->c->options.transition_scale * log((double)t->arcs[a].probability);
        if (t->arcs[a].to == TRL_EXIT)
            enter_unit(b, place + 1, more);
        else
            leave_state(b, place, t->arcs[a].to, more);
    }
}

static int least_frames(const brute *b)
{
    int frames = 0;
    for (int i = 0; i < b->count; i++) {
        const trl__topology *t = trl__unit_topology(b->c->a.model, b->units[i]);
        int skips = 0;
        for (int32_t a = 0; a < t->first[1]; a++)
            skips |= t->arcs[a].to == TRL_EXIT;
        frames += !skips;
    }
    return frames;
}

static void follow_grammar(brute *b, int32_t state, unsigned visited, double cost);

/* Silence or none, and then on from this state of the grammar. */
static void choose_silence(brute *b, int32_t state, double cost)
{
    double silence = (double)b->c->a.model->silence_between;
    follow_grammar(b, state, 0, cost - log1p(-silence));
    b->units[b->count++] = 0;
    follow_grammar(b, state, 0, cost - log(silence));
    b->count--;
}

/* The phone at its place in the word; silence has no places. */
static int32_t unit_of(const brute *b, trl_pronunciation p, size_t i)
{
    char name[16];
    const char *phone = trl_lexicon_phone(b->c->a.lexicon, (size_t)p.phones[i]);
    const char *place = p.length == 1 ? "_S" : i == 0 ? "_B" : i + 1 == p.length ? "_E" : "_I";
    int placed = b->c->a.model->word_positions && strcmp(phone, "SIL") != 0;
    snprintf(name, sizeof name, "%s%s", phone, placed ? place : "");
    return trl_model_find_unit(b->c->a.model, name);
}

static void say_word(brute *b, int32_t label, int32_t next, double cost)
{
    const trl_lexicon *lexicon = b->c->a.lexicon;
    size_t word = (size_t)label - 1;
    int kept = b->count;
    b->at.words[b->word_count++] = label;
    for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, word); v++, b->count = kept) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        for (size_t i = 0; i < p.length; i++)
            b->units[b->count++] = unit_of(b, p, i);
        choose_silence(b, next, cost - log((double)p.probability));
    }
    b->at.words[--b->word_count] = 0;
}

/* Behind the choice of silence. visited: states since then, which need not be seen twice. */
static void follow_grammar(brute *b, int32_t state, unsigned visited, double cost)
{
    if (visited >> state & 1 || least_frames(b) > LONGEST)
        return;
    if (isfinite(trl_fst_final(b->c->grammar, state).value))
        enter_unit(b, 0, cost + (double)trl_fst_final(b->c->grammar, state).value);
    for (uint32_t i = 0; i < trl_fst_arc_count(b->c->grammar, state); i++) {
        trl_arc a = trl_fst_arc(b->c->grammar, state, i);
        if (a.ilabel == TRL_EPSILON)
            follow_grammar(b, a.next, visited | 1U << state, cost + (double)a.weight.value);
        else if (b->word_count < LONGEST)
            say_word(b, a.ilabel, a.next, cost + (double)a.weight.value);
    }
}

/* ---- All strings of the graph ---- */

static void walk(graph_case *c, int32_t state, string *at, int length, int words, double cost)
{
    const trl_graph *g = c->walk;
    if (isfinite(g->final[state])) {
        at->cost = cost + (double)g->final[state];
        add_string(&c->walked, at);
    }
    for (uint64_t i = g->first[state]; i < g->end[state]; i++) {
        const trl__network_arc *a = &g->arcs[i];
        if ((a->transition && length == LONGEST) || (a->word && words == LONGEST) ||
            (a->transition && loop_of(c->a.model, a->transition) == a->transition))
            continue;
        if (a->transition)
            at->transitions[length] = a->transition;
        if (a->word)
            at->words[words] = c->own_word ? c->own_word[a->word] : a->word;
        walk(c, a->next, at, length + (a->transition > 0), words + (a->word > 0), cost + (double)a->cost);
        if (a->transition)
            at->transitions[length] = 0;
        if (a->word)
            at->words[words] = 0;
    }
}

/* Behind an arc that leaves a state, staying in it: that and no other loop. */
static void check_loops(const graph_case *c)
{
    const trl_graph *g = c->graph;
    int32_t *loop = calloc((size_t)g->states, sizeof *loop);
    uint8_t *entered = calloc((size_t)g->states, 1);
    entered[g->start] = 1;
    for (int32_t s = 0; s < g->states; s++)
        for (uint64_t i = g->first[s]; i < g->first[s + 1]; i++) {
            const trl__network_arc *a = &g->arcs[i];
            int32_t own = a->transition ? loop_of(c->a.model, a->transition) : 0;
            if (a->transition && own == a->transition) {
                assert_int_equal(a->next, s);
                assert_int_equal(a->word, 0);
                assert_true(fabs((double)a->cost - cost_of(c, own)) < TOLERANCE);
                continue;
            }
            if (entered[a->next])
                assert_int_equal(loop[a->next], own);
            loop[a->next] = own;
            entered[a->next] = 1;
        }
    for (int32_t s = 0; s < g->states; s++) {
        int found = 0;
        for (uint64_t i = g->emitting[s]; i < g->first[s + 1]; i++)
            if (loop_of(c->a.model, g->arcs[i].transition) == g->arcs[i].transition) {
                assert_int_equal(g->arcs[i].transition, loop[s]);
                found++;
            }
        assert_int_equal(found, loop[s] != 0);
    }
    free(loop);
    free(entered);
}

/* ---- Random cases ---- */

static trl_lexicon *make_lexicon(dice *d)
{
    char text[1000];
    size_t size = 0;
    int words = roll_int(d, 1, 4);
    for (int w = 0; w < words; w++)
        for (int v = roll_int(d, 1, 2); v > 0; v--) {
            size += (size_t)snprintf(text + size, sizeof text - size, "W%d 0.%d", w, roll_int(d, 1, 9));
            for (int i = roll_int(d, 1, 3); i > 0; i--) {
                int phone = roll_int(d, 0, 7);
                size += (size_t)snprintf(text + size, sizeof text - size, " %s",
                                         phone == 7  ? "SIL"
                                         : phone > 3 ? "A"
                                                     : "B");
            }
            text[size++] = '\n';
        }
    text[size] = '\0';
    return lexicon_of(text);
}

static void make_model(graph_case *c, dice *d, int skips)
{
    trl_model_options o = trl_model_defaults();
    o.states = roll_int(d, 1, 2);
    o.silence_states = roll_int(d, 1, 4);
    o.silence_topology = TRL_TOPOLOGY_ERGODIC;
    o.word_positions = roll_int(d, 0, 1);
    must(trl_model_create(c->a.lexicon, NULL, 2, &o, &c->a.model, &err));
    c->a.model->silence_between = 0.1f + 0.8f * roll(d);
    int width = roll_int(d, 0, 4);
    if (width > 0)
        give_tree(c->a.model, d, width, roll_int(d, 0, width - 1), roll_int(d, 1, 4));
    for (int t = 0; t < c->a.model->topologies; t++)
        if (roll(d) < 0.4f)
            set_entries(&c->a.model->topology[t], c->a.model->topology[t].states > 1 && roll(d) < 0.5f ? 0.25f : 0,
                        skips && width == 0 && roll(d) < 0.5f ? 0.3f : 0);
    randomise_transitions(c->a.model, d);
    randomise_mixtures(c->a.model, d, 2);
}

/* Label w + 1 is the lexicon's word w. */
static void make_words(graph_case *c)
{
    must(trl_symbols_create("words", &c->words, &err));
    must(trl_symbols_add(c->words, "<eps>", 0, &err));
    for (size_t w = 0; w < trl_lexicon_words(c->a.lexicon); w++)
        must(trl_symbols_add(c->words, trl_lexicon_word(c->a.lexicon, w), (int64_t)w + 1, &err));
}

static void make_grammar(graph_case *c, dice *d)
{
    int states = roll_int(d, 1, 3), words = (int)trl_lexicon_words(c->a.lexicon);
    must(trl_fst_create(TRL_TROPICAL, &c->grammar, &err));
    must(trl_fst_add_states(c->grammar, states, &err));
    must(trl_fst_set_start(c->grammar, 0, &err));
    for (int i = roll_int(d, 1, 5); i > 0; i--) {
        int32_t label = roll(d) < 0.25f ? 0 : roll_int(d, 1, words);
        trl_arc a = {label, label, {3 * roll(d), 0}, roll_int(d, 0, states - 1)};
        must(trl_fst_add_arc(c->grammar, roll_int(d, 0, states - 1), a, &err));
    }
    must(trl_fst_set_final(c->grammar, states - 1, (trl_weight){2 * roll(d), 0}, &err));
    trl_fst_set_symbols(c->grammar, trl_symbols_share(c->words), NULL);
}

static void make_case(graph_case *c, dice *d, int skips)
{
    static const double scales[] = {1, 0.1, 0.5, 0};
    *c = (graph_case){.options = trl_graph_defaults()};
    c->a.lexicon = make_lexicon(d);
    make_model(c, d, skips);
    open_case(&c->a, "cpu:ref");
    make_words(c);
    c->options.transition_scale = scales[roll_int(d, 0, 3)];
    c->options.self_loop_scale = scales[roll_int(d, 0, 3)];
}

static void close_graph_case(graph_case *c)
{
    close_case(&c->a);
    trl_fst_destroy(c->grammar);
    trl__lazy_graph_destroy(c->lazy);
    trl_graph_destroy(c->graph);
    trl_symbols_destroy(c->words);
    trl__free(c->defined.items);
    trl__free(c->walked.items);
}

/* ---- The laws ---- */

static void check_case(graph_case *c, uint64_t number, double tolerance)
{
    brute b = {.c = c};
    string at = {0};
    choose_silence(&b, trl_fst_start(c->grammar), 0);
    walk(c, c->walk->start, &at, 0, 0, 0);
    sort_strings(&c->defined);
    sort_strings(&c->walked);
    if (c->defined.count != c->walked.count)
        fail_msg("case %llu: %zu strings instead of %zu", (unsigned long long)number, c->walked.count,
                 c->defined.count);
    for (size_t i = 0; i < c->defined.count; i++) {
        if (compare_strings(&c->defined.items[i], &c->walked.items[i]) != 0)
            fail_msg("case %llu: another string", (unsigned long long)number);
        if (!(fabs(c->defined.items[i].cost - c->walked.items[i].cost) < tolerance))
            fail_msg("case %llu: a string costs %f instead of %f", (unsigned long long)number, c->walked.items[i].cost,
                     c->defined.items[i].cost);
    }
}

static void test_strings(void **state)
{
    (void)state;
    size_t built = 0, found = 0, timeless = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(2500); i++) {
        dice d = {.seed = 5, .stream = i};
        graph_case c;
        make_case(&c, &d, i % 2 == 0);
        make_grammar(&c, &d);
        int code = trl_graph_build(c.a.model, c.a.lexicon, c.grammar, &c.options, &c.graph, NULL, &err);
        if (code == TRL_EUNSUPPORTED) {
            assert_non_null(strstr(err.text, "in no time"));
            timeless++;
        } else if (code == TRL_EINVAL) {
            assert_non_null(strstr(err.text, "allows nothing"));
        } else {
            must(code);
            c.walk = c.graph;
            check_case(&c, i, TOLERANCE);
            check_loops(&c);
            built++;
            found += c.defined.count;
        }
        close_graph_case(&c);
    }
    assert_true(built > RANDOM_CASES(1000) && found > RANDOM_CASES(50000) && timeless > RANDOM_CASES(10));
}

/* ---- Composition while searching ---- */

/* Histories that back off one to the other; words may be missing from any of them, or be there twice. */
static void make_ngrams(graph_case *c, dice *d)
{
    int states = roll_int(d, 1, 4), words = (int)trl_lexicon_words(c->a.lexicon);
    must(trl_fst_create(TRL_TROPICAL, &c->grammar, &err));
    must(trl_fst_add_states(c->grammar, states, &err));
    must(trl_fst_set_start(c->grammar, roll_int(d, 0, states - 1), &err));
    for (int s = 1; s < states; s++)
        if (roll(d) < 0.8f)
            must(trl_fst_add_arc(c->grammar, s, (trl_arc){0, 0, {3 * roll(d) - 0.5f, 0}, roll_int(d, 0, s - 1)}, &err));
    for (int i = roll_int(d, 1, 7); i > 0; i--) {
        int32_t label = roll_int(d, 1, words);
        trl_arc a = {label, label, {3 * roll(d), 0}, roll_int(d, 0, states - 1)};
        must(trl_fst_add_arc(c->grammar, roll_int(d, 0, states - 1), a, &err));
    }
    for (int s = 0; s < states; s++)
        if (s == 0 || roll(d) < 0.3f)
            must(trl_fst_set_final(c->grammar, s, (trl_weight){2 * roll(d), 0}, &err));
    trl_fst_set_symbols(c->grammar, trl_symbols_share(c->words), NULL);
}

/* All of it, which is finite. */
static void compose(graph_case *c)
{
    must(trl__lazy_graph_create(c->graph, 0, &c->lazy, &err));
    must(trl__lazy_graph_begin(c->lazy, &err));
    c->walk = trl__lazy_graph_view(c->lazy);
    for (int32_t s = 0; s < c->walk->states; s++) { /* there are more and more */
        must(trl__lazy_graph_want(c->lazy, s, &err));
        must(trl__lazy_graph_expand(c->lazy, &err));
    }
    for (int32_t s = 0; s < c->walk->states; s++)
        for (uint64_t i = c->walk->first[s]; i < c->walk->emitting[s]; i++)
            assert_true(c->walk->level[c->walk->arcs[i].next] > c->walk->level[s]);
}

static void test_strings_of_compositions(void **state)
{
    (void)state;
    size_t built = 0, found = 0, ahead = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(800); i++) {
        dice d = {.seed = 7, .stream = i};
        graph_case c;
        int32_t own_word[20] = {0};
        make_case(&c, &d, 0);
        make_ngrams(&c, &d);
        c.options.on_the_fly = 1;
        int code = trl_graph_build(c.a.model, c.a.lexicon, c.grammar, &c.options, &c.graph, NULL, &err);
        if (code == TRL_EINVAL) {
            assert_non_null(strstr(err.text, "allows nothing"));
        } else {
            must(code);
            for (int32_t w = 1; w < c.graph->words; w++)
                own_word[w] = (int32_t)trl_symbols_find(c.words, trl_symbols_name(trl_graph_words(c.graph), w));
            c.own_word = own_word;
            compose(&c);
            check_case(&c, i, LOOP_TOLERANCE);
            built++;
            found += c.defined.count;
            for (int32_t s = 0; s < c.graph->states; s++)
                ahead += c.graph->rows->reach[s] != 0;
        }
        close_graph_case(&c);
    }
    assert_true(built > RANDOM_CASES(300) && found > RANDOM_CASES(10000) && ahead > RANDOM_CASES(1000));
}

/* The best path by frames, over all states. */
static double best_cost(const graph_case *c)
{
    const trl_graph *g = c->graph;
    size_t states = (size_t)g->states;
    double *now = malloc(states * sizeof *now), *next = malloc(states * sizeof *next), best = INFINITY;
    for (size_t s = 0; s < states; s++)
        now[s] = (int32_t)s == g->start ? 0 : INFINITY;
    for (size_t t = 0; t <= c->a.frames.rows; t++) {
        for (int changed = 1; changed;) {
            changed = 0;
            for (size_t s = 0; s < states; s++)
                for (uint64_t i = g->first[s]; i < g->emitting[s]; i++)
                    if (now[s] + (double)g->arcs[i].cost < now[g->arcs[i].next]) {
                        now[g->arcs[i].next] = now[s] + (double)g->arcs[i].cost;
                        changed = 1;
                    }
        }
        for (size_t s = 0; s < states; s++)
            next[s] = INFINITY;
        for (size_t s = 0; t < c->a.frames.rows && s < states; s++)
            for (uint64_t i = g->emitting[s]; isfinite(now[s]) && i < g->first[s + 1]; i++) {
                const trl__network_arc *a = &g->arcs[i];
                double cost = now[s] + (double)a->cost -
                              state_score(c->a.model, g->tied[a->transition], trl_matrix_row(&c->a.frames, t));
                next[a->next] = fmin(next[a->next], cost);
            }
        if (t < c->a.frames.rows)
            memcpy(now, next, states * sizeof *now);
    }
    for (size_t s = 0; s < states; s++)
        best = fmin(best, now[s] + (double)g->final[s]);
    free(now);
    free(next);
    return best;
}

static void make_sentence(graph_case *c, const int32_t *words, size_t count)
{
    must(trl_fst_create(TRL_TROPICAL, &c->grammar, &err));
    must(trl_fst_add_states(c->grammar, (int32_t)count + 1, &err));
    must(trl_fst_set_start(c->grammar, 0, &err));
    for (size_t i = 0; i < count; i++)
        must(trl_fst_add_arc(c->grammar, (int32_t)i, (trl_arc){words[i] + 1, words[i] + 1, {0, 0}, (int32_t)i + 1},
                             &err));
    must(trl_fst_set_final(c->grammar, (int32_t)count, (trl_weight){0, 0}, &err));
    trl_fst_set_symbols(c->grammar, trl_symbols_share(c->words), NULL);
}

static void test_best_path_is_the_alignment(void **state)
{
    (void)state;
    size_t aligned = 0;
    for (uint64_t i = 0; i < RANDOM_CASES(1500); i++) {
        dice d = {.seed = 6, .stream = i};
        graph_case c;
        make_case(&c, &d, 0);
        int32_t words[3];
        size_t count = (size_t)roll_int(&d, 1, 3);
        for (size_t w = 0; w < count; w++)
            words[w] = roll_int(&d, 0, (int)trl_lexicon_words(c.a.lexicon) - 1);
        make_sentence(&c, words, count);
        c.options.transition_scale = c.options.self_loop_scale = 1;
        must(trl_graph_build(c.a.model, c.a.lexicon, c.grammar, &c.options, &c.graph, NULL, &err));
        say(&c.a, words, count);
        c.a.frames = random_frames(&d, roll_int(&d, 1, 20), 2);
        begin_case(&c.a);
        trl__search_result r = search_case(&c.a, TRL_MARGIN_FULL, 1e30, NULL, 0);
        double best = best_cost(&c);
        assert_int_equal(r.status == TRL__ALIGNED, isfinite(best));
        if (r.status == TRL__ALIGNED && !(fabs(best + r.log_likelihood) < 5 * TOLERANCE))
            fail_msg("case %llu: %f instead of %f", (unsigned long long)i, -best, r.log_likelihood);
        aligned += r.status == TRL__ALIGNED;
        close_graph_case(&c);
    }
    assert_true(aligned > RANDOM_CASES(700));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_strings_of_compositions),
        cmocka_unit_test(test_best_path_is_the_alignment),
    };
    return RUN(tests);
}
