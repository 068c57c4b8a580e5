/* A machine whose states are made of the states of others: built from the start on, breadth first, each tuple once.
 *
 *     product p;
 *     product_open(&p, out, most_states, err);                           // out: an empty machine
 *     product_start(&p, (int32_t[]){a, b, 0}, err);
 *     while ((code = product_next(&p, err)) > 0)                         // p.state, made of product_tuple(&p)
 *         … product_arc(&p, (arc){…}, c, d, 0, err) …                    // an arc of it to the state made of (c, d, 0)
 *
 * Where an arc leads to is looked up later, with many others: while one tuple is compared, the table's memory for those
 * behind it is on its way. States are numbered as if it had been done at once.
 */
#ifndef TRL_FST_PRODUCT_H
#define TRL_FST_PRODUCT_H

#include "base/tuple_table.h"
#include "fst/weighted.h"

#define PRODUCT_WIDTH 3
#define PRODUCT_WAITING 1024 /* arcs without a next state */

typedef struct product {
    trl_fst *out;
    trl__tuples table; /* by state of `out` */
    int64_t most_states;
    int32_t state; /* whose arcs are being added */
    uint32_t waiting;
    int32_t (*target)[PRODUCT_WIDTH]; /* of the last arcs of `out` */
} product;

static int product_open(product *p, trl_fst *out, int64_t most_states, trl_error *err)
{
    *p = (product){.out = out, .table.width = PRODUCT_WIDTH, .state = -1};
    p->most_states = most_states > 0 ? most_states : INT32_MAX;
    p->target = trl__alloc(PRODUCT_WAITING, sizeof *p->target);
    return p->target ? 0 : trl__fail_memory(err);
}

static void product_close(product *p)
{
    trl__tuples_free(&p->table);
    trl__free(p->target);
}

/* What the present state is made of; valid until the next arc. */
static const int32_t *product_tuple(const product *p)
{
    return trl__tuples_get(&p->table, p->state);
}

static int product_full(const product *p, trl_error *err)
{
    return trl__fail(err, TRL_ELIMIT,
                     "the result would have more than %lld states; raise most_states, or trim the machines first",
                     (long long)p->most_states);
}

/* The states that the table has got since become states of the machine. */
static int product_add_states(product *p, trl_error *err)
{
    if ((int64_t)p->table.count > p->most_states)
        return product_full(p, err);
    return trl_fst_add_states(p->out, (int32_t)p->table.count - p->out->states, err);
}

static int product_start(product *p, const int32_t *tuple, trl_error *err)
{
    if (trl__tuples_add(&p->table, tuple) < 0)
        return trl__fail_memory(err);
    p->out->start = 0;
    return product_add_states(p, err);
}

/* Gives the waiting arcs their next states. */
static int product_settle(product *p, trl_error *err)
{
    arc *arcs = (arc *)p->out->arcs + p->out->used - p->waiting;
    for (uint32_t i = 0; i < p->waiting; i++) {
        if (i + 16 < p->waiting)
            trl__tuples_expect(&p->table, p->target[i + 16]);
        if (i + 8 < p->waiting)
            trl__tuples_expect_key(&p->table, p->target[i + 8]);
        int64_t next = trl__tuples_add(&p->table, p->target[i]);
        if (next < 0)
            return p->table.count == INT32_MAX ? product_full(p, err) : trl__fail_memory(err);
        arcs[i].next = (int32_t)next;
    }
    p->waiting = 0;
    return product_add_states(p, err);
}

/* Goes on to the next state that has no arcs yet: 1, or 0 when there is none, or a negative error code. */
static int product_next(product *p, trl_error *err)
{
    if (p->state + 1 == p->out->states) {
        int code = product_settle(p, err);
        if (code < 0)
            return code;
    }
    return p->state + 1 == p->out->states ? 0 : (p->state++, 1);
}

static inline int product_arc(product *p, arc a, int32_t x, int32_t y, int32_t z, trl_error *err)
{
    if (p->waiting == PRODUCT_WAITING) {
        int code = product_settle(p, err);
        if (code < 0)
            return code;
    }
    p->target[p->waiting][0] = x;
    p->target[p->waiting][1] = y;
    p->target[p->waiting++][2] = z;
    return push_arc(p->out, p->state, a, err);
}

#endif
