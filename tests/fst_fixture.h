/* Random transducers, and what they mean: the weight of a pair of strings by its definition, the sum over all paths
 * that read one and write the other, in double precision. No operation of the library takes part, so operations can be
 * tested against it.
 *
 *     machine_kind kind = {.semiring = TRL_LOG, .states = 6, .arcs = 12, .labels = 3, .epsilons = 0.2, .cyclic = 1};
 *     trl_fst *fst = random_machine(&kind, &random);
 *     pair p = sample_pair(fst, 8, &random);                             // strings of a random path
 *     meaning w = meaning_of(fst, &p);                                   // the weight of (p.x, p.y)
 *     assert_same_meaning(a, b, 20, &random);                            // the same weight for pairs of either
 */
#ifndef TEST_FST_FIXTURE_H
#define TEST_FST_FIXTURE_H

#include "cmocka_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/fst.h>

#define UNUSED_OK __attribute__((unused))
#define LONGEST 24 /* labels of a string */

/* ---- Random numbers ---- */

typedef struct random_source {
    uint64_t state;
} random_source;

UNUSED_OK static uint32_t random_below(random_source *r, uint32_t limit)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((r->state >> 33) * (uint64_t)limit) >> 31);
}

UNUSED_OK static int random_chance(random_source *r, double chance)
{
    return random_below(r, 1u << 20) < chance * (1 << 20);
}

/* ---- Meaning ---- */

typedef struct meaning {
    double value, second;
} meaning;

UNUSED_OK static meaning meaning_zero(trl_semiring s)
{
    trl_weight w = trl_weight_zero(s);
    return (meaning){w.value, w.second};
}

UNUSED_OK static meaning meaning_plus(trl_semiring s, meaning a, meaning b)
{
    double low = fmin(a.value, b.value), high = fmax(a.value, b.value);
    if (s == TRL_TROPICAL)
        return (meaning){low, 0};
    if (s == TRL_LOG)
        return (meaning){isinf(high) ? low : low - log1p(exp(low - high)), 0};
    if (s == TRL_REAL)
        return (meaning){a.value + b.value, 0};
    double sum_a = a.value + a.second, sum_b = b.value + b.second;
    return sum_a != sum_b ? (sum_a < sum_b ? a : b) : a.value < b.value ? a : b;
}

UNUSED_OK static meaning meaning_times(trl_semiring s, meaning a, trl_weight w)
{
    return s == TRL_REAL ? (meaning){a.value * w.value, 0} : (meaning){a.value + w.value, a.second + w.second};
}

/* Up to delta, relative to what is larger than 1; infinity equals itself only. */
UNUSED_OK static int nearly_equal(double a, double b, double delta)
{
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= delta * (1 + fabs(a)));
}

UNUSED_OK static int meaning_equal(meaning a, meaning b, double delta)
{
    return nearly_equal(a.value, b.value, delta) && nearly_equal(a.second, b.second, delta);
}

/* A pair of strings; with any_output the weight is summed over all outputs. */
typedef struct pair {
    int32_t x[LONGEST], y[LONGEST];
    int nx, ny;
    int any_output;
} pair;

/* Does the arc read `di` labels of x at i, and write `dj` of y at j? */
UNUSED_OK static int arc_fits(const trl_arc *a, const pair *p, int i, int di, int j, int dj)
{
    int reads = a->ilabel != 0, writes = !p->any_output && a->olabel != 0;
    return reads == di && writes == dj && (!di || a->ilabel == p->x[i]) && (!dj || a->olabel == p->y[j]);
}

/* Adds to `to` what `from` becomes along arcs that advance by (di, dj); (i, j) is where they begin. */
UNUSED_OK static void meaning_step(const trl_fst *fst, const pair *p, int i, int di, int j, int dj, const meaning *from,
                                   meaning *to)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t k = 0; k < trl_fst_arc_count(fst, s); k++) {
            trl_arc a = trl_fst_arc(fst, s, k);
            if (arc_fits(&a, p, i, di, j, dj))
                to[a.next] = meaning_plus(semiring, to[a.next], meaning_times(semiring, from[s], a.weight));
        }
}

/* What epsilons add, in the end: again and again from what is known, until nothing changes. */
UNUSED_OK static void meaning_close(const trl_fst *fst, const pair *p, meaning *cell)
{
    size_t states = (size_t)trl_fst_states(fst);
    meaning *base = malloc(states * sizeof *base), *next = malloc(states * sizeof *next);
    memcpy(base, cell, states * sizeof *base);
    for (int round = 0, moved = 1; moved && round < 5000; round++) {
        memcpy(next, base, states * sizeof *next);
        meaning_step(fst, p, 0, 0, 0, 0, cell, next);
        moved = 0;
        for (size_t s = 0; s < states; s++)
            moved |= !meaning_equal(next[s], cell[s], 1e-13);
        memcpy(cell, next, states * sizeof *cell);
    }
    free(base);
    free(next);
}

UNUSED_OK static meaning meaning_of(const trl_fst *fst, const pair *p)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    meaning total = meaning_zero(semiring);
    size_t states = (size_t)trl_fst_states(fst);
    int ny = p->any_output ? 0 : p->ny;
    if (trl_fst_start(fst) < 0)
        return total;
    meaning *cells = malloc((size_t)(p->nx + 1) * (size_t)(ny + 1) * states * sizeof *cells);
    for (size_t i = 0; i < (size_t)(p->nx + 1) * (size_t)(ny + 1) * states; i++)
        cells[i] = meaning_zero(semiring);
    trl_weight one = trl_weight_one(semiring);
    cells[trl_fst_start(fst)] = (meaning){one.value, one.second};
    for (int i = 0; i <= p->nx; i++)
        for (int j = 0; j <= ny; j++) {
#define CELL(i, j) (cells + ((size_t)(i) * (size_t)(ny + 1) + (size_t)(j)) * states)
            if (i > 0)
                meaning_step(fst, p, i - 1, 1, j, 0, CELL(i - 1, j), CELL(i, j));
            if (j > 0)
                meaning_step(fst, p, i, 0, j - 1, 1, CELL(i, j - 1), CELL(i, j));
            if (i > 0 && j > 0)
                meaning_step(fst, p, i - 1, 1, j - 1, 1, CELL(i - 1, j - 1), CELL(i, j));
            meaning_close(fst, p, CELL(i, j));
        }
    for (size_t s = 0; s < states; s++)
        total =
            meaning_plus(semiring, total, meaning_times(semiring, CELL(p->nx, ny)[s], trl_fst_final(fst, (int32_t)s)));
#undef CELL
    free(cells);
    return total;
}

/* ---- Random machines ---- */

typedef struct machine_kind {
    trl_semiring semiring;
    int32_t states, labels;
    int32_t arcs;    /* about so many */
    double epsilons; /* chance of epsilon, each side on its own */
    int acceptor, cyclic, unweighted;
    double finals; /* chance of a final state; 0: 0.3 */
} machine_kind;

/* A multiple of 1/8, exact in float. In cyclic machines sums over all paths must converge: probabilities are small
 * there. */
UNUSED_OK static trl_weight random_weight(const machine_kind *kind, random_source *r)
{
    float steps = (float)random_below(r, 33) / 8;
    if (kind->unweighted)
        return trl_weight_one(kind->semiring);
    if (kind->semiring == TRL_REAL)
        return (trl_weight){kind->cyclic ? (float)(1 + random_below(r, 8)) / 64 : 0.125f + steps / 4, 0};
    if (kind->semiring == TRL_LOG)
        return (trl_weight){kind->cyclic ? 2 + steps : steps - 1, 0};
    if (kind->semiring == TRL_LATTICE)
        return (trl_weight){steps, (float)random_below(r, 33) / 8};
    return (trl_weight){kind->cyclic ? steps : steps - 1, 0};
}

UNUSED_OK static int32_t random_label(const machine_kind *kind, random_source *r)
{
    return random_chance(r, kind->epsilons) ? 0 : 1 + (int32_t)random_below(r, (uint32_t)kind->labels);
}

UNUSED_OK static void random_arc(trl_fst *fst, const machine_kind *kind, random_source *r)
{
    int32_t from = (int32_t)random_below(r, (uint32_t)kind->states), to;
    to = (int32_t)random_below(r, (uint32_t)kind->states);
    if (!kind->cyclic && from == to)
        return;
    if (!kind->cyclic && from > to) {
        int32_t other = from;
        from = to;
        to = other;
    }
    trl_arc a = {random_label(kind, r), random_label(kind, r), random_weight(kind, r), to};
    if (kind->acceptor)
        a.olabel = a.ilabel;
    assert_int_equal(trl_fst_add_arc(fst, from, a, NULL), 0);
}

/* Random machines have useless states, too. The start is state 0. */
UNUSED_OK static trl_fst *random_machine(const machine_kind *kind, random_source *r)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(kind->semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, kind->states, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    for (int32_t i = 0; i < kind->arcs; i++)
        random_arc(fst, kind, r);
    for (int32_t s = 0; s < kind->states; s++)
        if (s == kind->states - 1 || random_chance(r, kind->finals > 0 ? kind->finals : 0.3))
            assert_int_equal(trl_fst_set_final(fst, s, random_weight(kind, r), NULL), 0);
    return fst;
}

/* A small machine of any shape. */
UNUSED_OK static machine_kind small_kind(trl_semiring semiring, random_source *r)
{
    machine_kind kind = {.semiring = semiring,
                         .states = 1 + (int32_t)random_below(r, 5),
                         .labels = 2,
                         .epsilons = random_below(r, 4) * 0.15,
                         .cyclic = (int)random_below(r, 2),
                         .finals = 0.4};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

/* One of more variety, of each semiring in turn. */
UNUSED_OK static machine_kind mixed_kind(int round, uint32_t most_states, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, most_states),
                         .labels = 1 + (int32_t)random_below(r, 3),
                         .epsilons = random_below(r, 3) * 0.2,
                         .cyclic = (int)random_below(r, 2),
                         .acceptor = (int)random_below(r, 2),
                         .finals = 0.1 + 0.3 * random_below(r, 2)};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

UNUSED_OK static trl_fst *copy_of(const trl_fst *fst)
{
    trl_fst *copy;
    assert_int_equal(trl_fst_copy(fst, &copy, NULL), 0);
    return copy;
}

/* The strings along a random walk that ends in a final state, or where the walk was given up. */
UNUSED_OK static pair sample_pair(const trl_fst *fst, int longest, random_source *r)
{
    pair p = {.any_output = 0};
    int32_t s = trl_fst_start(fst);
    for (int steps = 0; s >= 0 && steps < 4 * longest; steps++) {
        uint32_t count = trl_fst_arc_count(fst, s);
        int final = !trl_weight_is_zero(trl_fst_semiring(fst), trl_fst_final(fst, s));
        if (count == 0 || (final && random_chance(r, 0.3)))
            break;
        trl_arc a = trl_fst_arc(fst, s, random_below(r, count));
        if ((a.ilabel && p.nx == longest) || (a.olabel && p.ny == longest))
            break;
        if (a.ilabel)
            p.x[p.nx++] = a.ilabel;
        if (a.olabel)
            p.y[p.ny++] = a.olabel;
        s = a.next;
    }
    return p;
}

UNUSED_OK static void print_pair(const pair *p)
{
    print_message("  \"");
    for (int i = 0; i < p->nx; i++)
        print_message("%d ", p->x[i]);
    print_message("\" : \"");
    for (int i = 0; i < p->ny; i++)
        print_message("%d ", p->y[i]);
    print_message("\"\n");
}

UNUSED_OK static void print_machine(const trl_fst *fst)
{
    print_message("  start %d\n", (int)trl_fst_start(fst));
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        trl_weight f = trl_fst_final(fst, s);
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            print_message("  %d -> %d  %d:%d / %g,%g\n", (int)s, (int)a.next, (int)a.ilabel, (int)a.olabel,
                          (double)a.weight.value, (double)a.weight.second);
        }
        if (!trl_weight_is_zero(trl_fst_semiring(fst), f))
            print_message("  %d final / %g,%g\n", (int)s, (double)f.value, (double)f.second);
    }
}

UNUSED_OK static void assert_same_for_pair(const trl_fst *a, const trl_fst *b, const pair *p)
{
    meaning wa = meaning_of(a, p), wb = meaning_of(b, p);
    if (meaning_equal(wa, wb, 1e-3))
        return;
    print_message("weights %g,%g and %g,%g of\n", wa.value, wa.second, wb.value, wb.second);
    print_pair(p);
    print_machine(a);
    print_message("  and\n");
    print_machine(b);
    fail();
}

/* Pairs of either machine, and mixtures of them (the input of one with the output of another), which mostly neither
 * has. */
UNUSED_OK static void assert_same_meaning(const trl_fst *a, const trl_fst *b, int pairs, random_source *r)
{
    for (int i = 0; i < pairs; i++) {
        pair p = sample_pair(a, 6, r), q = sample_pair(b, 6, r);
        assert_same_for_pair(a, b, &p);
        assert_same_for_pair(a, b, &q);
        memcpy(p.y, q.y, sizeof p.y);
        p.ny = q.ny;
        assert_same_for_pair(a, b, &p);
        p.any_output = 1;
        assert_same_for_pair(a, b, &p);
    }
}

#endif
