/* Raw lattices: kept beyond the decoder's next utterance, and compared byte by byte. */
#ifndef TEST_RAW_LATTICE_FIXTURE_H
#define TEST_RAW_LATTICE_FIXTURE_H

#include "cmocka_test.h"

#include "decode/decoder.h"

#include <stdlib.h>
#include <string.h>

static inline trl__raw_lattice copy_lattice(const trl__raw_lattice *raw)
{
    trl__raw_lattice c = *raw;
    size_t states = (size_t)raw->states, arcs = states ? raw->first[states] : 0;
    c.first = memcpy(malloc((states + 1) * sizeof *c.first), raw->first, (states ? states + 1 : 0) * sizeof *c.first);
    c.arcs = memcpy(malloc((arcs + 1) * sizeof *c.arcs), raw->arcs, arcs * sizeof *c.arcs);
    c.final = memcpy(malloc((states + 1) * sizeof *c.final), raw->final, states * sizeof *c.final);
    c.time = memcpy(malloc((states + 1) * sizeof *c.time), raw->time, states * sizeof *c.time);
    return c;
}

static inline void assert_same_lattice(const trl__raw_lattice *a, const trl__raw_lattice *b)
{
    assert_int_equal(a->states, b->states);
    assert_int_equal(a->reached_end, b->reached_end);
    if (a->states == 0)
        return;
    size_t states = (size_t)a->states;
    assert_memory_equal(a->first, b->first, (states + 1) * sizeof *a->first);
    assert_memory_equal(a->final, b->final, states * sizeof *a->final);
    assert_memory_equal(a->time, b->time, states * sizeof *a->time);
    if (a->first[states] > 0)
        assert_memory_equal(a->arcs, b->arcs, a->first[states] * sizeof *a->arcs);
}

static inline void free_lattice(trl__raw_lattice *lattice)
{
    free(lattice->first);
    free(lattice->arcs);
    free(lattice->final);
    free(lattice->time);
}

#endif
