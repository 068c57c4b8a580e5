/* Units of a Sphinx model: fillers as silence and noise, each other phone at its four places in the word where there are
 * triphones. Every transition matrix becomes a topology; zeros are no arcs. */
#include "model/sphinx_model.h"
#include "model/topology.h"
#include "model/unit_kind.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int add_unit(trl_model *m, const char *name, trl_unit_kind kind, int32_t topology, trl_error *err)
{
    size_t u = m->units.count;
    long number = trl__strings_add(&m->units, name, strlen(name));
    if (number < 0)
        return trl__fail_memory(err);
    if ((size_t)number != u)
        return trl__fail(err, TRL_ECORRUPT, "two phones of the model are called %s", name);
    m->unit_kind[u] = (uint8_t)kind;
    m->unit_topology[u] = topology;
    return 0;
}

static trl_unit_kind kind_of(const trl__sphinx_mdef *mdef, int32_t phone)
{
    if (phone == mdef->silence || trl__unit_kind_of_name(mdef->names.texts[phone]) == TRL_UNIT_SILENCE)
        return TRL_UNIT_SILENCE;
    return mdef->filler[phone] ? TRL_UNIT_NOISE : TRL_UNIT_PHONE;
}

static int add_units(const trl__sphinx_mdef *mdef, trl_model *m, trl_error *err)
{
    static const trl_unit_kind order[] = {TRL_UNIT_SILENCE, TRL_UNIT_NOISE, TRL_UNIT_PHONE};
    int32_t phones = (int32_t)mdef->names.count;
    m->unit_kind = trl__alloc((size_t)phones * 4, sizeof *m->unit_kind);
    m->unit_topology = trl__alloc((size_t)phones * 4, sizeof *m->unit_topology);
    if (!m->unit_kind || !m->unit_topology)
        return trl__fail_memory(err);
    m->word_positions = mdef->phones > phones;
    int code = 0;
    for (int k = 0; k < 3; k++)
        for (int32_t p = 0; code == 0 && p < phones; p++) {
            char name[300];
            if (kind_of(mdef, p) != order[k])
                continue;
            if (order[k] != TRL_UNIT_PHONE || !m->word_positions)
                code = add_unit(m, mdef->names.texts[p], order[k], mdef->phone[p].matrix, err);
            for (const char *place = "BIES"; m->word_positions && order[k] == TRL_UNIT_PHONE && code == 0 && *place;
                 place++) {
                snprintf(name, sizeof name, "%s_%c", mdef->names.texts[p], *place);
                code = add_unit(m, name, order[k], mdef->phone[p].matrix, err);
            }
        }
    return code;
}

/* The arcs of a matrix, and the one that enters its first state. */
static int make_topology(const float *matrix, int32_t states, trl__topology *t, trl_error *err)
{
    int32_t arcs = 1;
    for (int32_t i = 0; i < states * (states + 1); i++)
        arcs += matrix[i] > 0;
    int code = trl__topology_alloc(t, states, arcs, err);
    if (code < 0)
        return code;
    int32_t next = 0;
    t->arcs[next++] = (trl__arc){0, 1};
    t->first[1] = next;
    for (int32_t s = 0; s < states; s++) {
        for (int32_t to = 0; to <= states; to++)
            if (matrix[s * (states + 1) + to] > 0)
                t->arcs[next++] = (trl__arc){to == states ? TRL_EXIT : to, matrix[s * (states + 1) + to]};
        t->first[s + 2] = next;
    }
    return 0;
}

int trl__sphinx_units(const trl__sphinx_mdef *mdef, const trl__sphinx_array *transitions, trl_model *m, trl_error *err)
{
    int code = add_units(mdef, m, err);
    if (code < 0)
        return code;
    m->topology = trl__alloc_zero((size_t)mdef->matrices, sizeof *m->topology);
    if (!m->topology)
        return trl__fail_memory(err);
    for (int32_t i = 0; code == 0 && i < mdef->matrices; i++, m->topologies++)
        code = make_topology(transitions->value + (size_t)i * (size_t)mdef->states * (size_t)(mdef->states + 1),
                             mdef->states, &m->topology[i], err);
    return code;
}
