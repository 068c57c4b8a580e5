/* The last step of making a model, whoever makes it: numbers what follows from the rest, and believes nothing.
 *
 * Cost: one pass over all numbers. What is checked here need not be checked by those who use a model.
 */
#include "model/model_data.h"
#include "model/topology.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SUM_TOLERANCE 0.01 /* of probabilities: other programs write few digits */

/* ---- units and topologies ---- */

/* A name is a word: it stands in lines of text beside others. */
static int valid_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
            return 0;
    return length > 0 && trl__utf8_check(name, length) == length;
}

static int check_units(const trl_model *m, const char *name, trl_error *err)
{
    if (m->units.count == 0 || m->units.count > INT32_MAX)
        return trl__fail(err, TRL_ECORRUPT, "%s: a model has units, and not %zu of them", name, m->units.count);
    for (size_t u = 0; u < m->units.count; u++) {
        if (!valid_name(m->units.texts[u]))
            return trl__fail(err, TRL_ECORRUPT,
                             "%s: the name of unit %zu is empty, or has blanks or bytes that are no "
                             "UTF-8 in it",
                             name, u);
        if (m->unit_kind[u] > TRL_UNIT_NOISE)
            return trl__fail(err, TRL_ECORRUPT, "%s: unit %s is of unknown kind %d", name, m->units.texts[u],
                             m->unit_kind[u]);
        if (m->unit_topology[u] < 0 || m->unit_topology[u] >= m->topologies)
            return trl__fail(err, TRL_ECORRUPT, "%s: unit %s has topology %" PRId32 " of %" PRId32, name,
                             m->units.texts[u], m->unit_topology[u], m->topologies);
    }
    return 0;
}

static int check_topologies(const trl_model *m, const char *name, trl_error *err)
{
    int code = 0;
    for (int32_t t = 0; code == 0 && t < m->topologies; t++)
        code = trl__topology_check(&m->topology[t], name, t, err);
    return code;
}

/* ---- triples and transitions ---- */

static int refuse_triple(const char *name, int32_t index, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: triple %" PRId32 ": %s", name, index, what);
}

/* Triples rise by unit, state, tied state, and leave out no state of any unit. */
static int check_order(const trl__triple *before, const trl__triple *now, const trl_model *m)
{
    if (!before)
        return now->unit == 0 && now->state == 0;
    if (now->unit == before->unit)
        return now->state == before->state ? now->tied > before->tied : now->state == before->state + 1;
    return now->unit == before->unit + 1 && now->state == 0 &&
           before->state == trl__unit_topology(m, before->unit)->states - 1;
}

static int check_triple(const trl_model *m, int32_t i, const char *name, trl_error *err)
{
    const trl__triple *t = &m->triple[i];
    if (t->unit < 0 || (size_t)t->unit >= m->units.count || t->state < 0 ||
        t->state >= trl__unit_topology(m, t->unit)->states || t->tied < 0 || t->tied >= m->tied_states)
        return refuse_triple(name, i, "its unit, state or tied state does not exist", err);
    if (!check_order(i > 0 ? t - 1 : NULL, t, m))
        return refuse_triple(name, i, "out of order, or a state before it has none", err);
    return 0;
}

/* Triples of a pool have the same arcs, and name the same one of them. */
static int check_pool(const trl_model *m, int32_t i, const char *name, trl_error *err)
{
    const trl__triple *t = &m->triple[i];
    if (t->pool < 0 || t->pool >= m->triples || m->triple[t->pool].pool != t->pool)
        return refuse_triple(name, i, "its pool does not exist", err);
    const trl__triple *p = &m->triple[t->pool];
    const trl__topology *a = trl__unit_topology(m, t->unit), *b = trl__unit_topology(m, p->unit);
    int32_t arcs = trl__arcs_of(a, t->state);
    int same = arcs == trl__arcs_of(b, p->state);
    for (int32_t k = 0; same && k < arcs; k++)
        same =
            a->arcs[a->first[t->state + 1] + k].to - t->state == b->arcs[b->first[p->state + 1] + k].to - p->state ||
            (a->arcs[a->first[t->state + 1] + k].to == TRL_EXIT && b->arcs[b->first[p->state + 1] + k].to == TRL_EXIT);
    return same ? 0 : refuse_triple(name, i, "its arcs are not those of its pool", err);
}

static int check_triples(const trl_model *m, const char *name, trl_error *err)
{
    int code = 0;
    for (int32_t i = 0; code == 0 && i < m->triples; i++)
        code = check_triple(m, i, name, err);
    if (code < 0)
        return code;
    const trl__triple *last = m->triples > 0 ? &m->triple[m->triples - 1] : NULL;
    if (!last || (size_t)last->unit != m->units.count - 1 ||
        last->state != trl__unit_topology(m, last->unit)->states - 1)
        return trl__fail(err, TRL_ECORRUPT, "%s: the last unit's states have no triples", name);
    for (int32_t i = 0; code == 0 && i < m->triples; i++)
        code = check_pool(m, i, name, err);
    return code;
}

int64_t trl__model_count_transitions(const trl_model *m)
{
    int64_t count = 0;
    for (int32_t i = 0; i < m->triples; i++)
        count += trl__arcs_of(trl__unit_topology(m, m->triple[i].unit), m->triple[i].state);
    return count;
}

/* Ids from 1: arc after arc of triple after triple. */
static int number_transitions(trl_model *m, const char *name, trl_error *err)
{
    int64_t count = trl__model_count_transitions(m);
    if (count >= INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "%s: %" PRId64 " transitions are too many", name, count);
    m->transitions = (int32_t)count;
    m->transition_triple = trl__alloc((size_t)count + 1, sizeof *m->transition_triple);
    m->unit_triple = trl__alloc(m->units.count + 1, sizeof *m->unit_triple);
    if (!m->transition_triple || !m->unit_triple)
        return trl__fail_memory(err);
    m->transition_triple[0] = -1;
    int32_t id = 1;
    for (int32_t i = m->triples - 1; i >= 0; i--)
        m->unit_triple[m->triple[i].unit] = i;
    m->unit_triple[m->units.count] = m->triples;
    for (int32_t i = 0; i < m->triples; i++) {
        m->triple[i].transition = id;
        for (int32_t arcs = trl__arcs_of(trl__unit_topology(m, m->triple[i].unit), m->triple[i].state); arcs > 0;
             arcs--)
            m->transition_triple[id++] = i;
    }
    return 0;
}

static int first_probabilities(trl_model *m, trl_error *err)
{
    m->log_probability = trl__alloc_zero((size_t)m->transitions + 1, sizeof *m->log_probability);
    if (!m->log_probability)
        return trl__fail_memory(err);
    for (int32_t id = 1; id <= m->transitions; id++) {
        const trl__triple *t = &m->triple[m->transition_triple[id]];
        const trl__topology *topology = trl__unit_topology(m, t->unit);
        m->log_probability[id] =
            (float)log((double)topology->arcs[topology->first[t->state + 1] + id - t->transition].probability);
    }
    return 0;
}

static int check_probabilities(const trl_model *m, const char *name, trl_error *err)
{
    for (int32_t i = 0; i < m->triples; i++) {
        const trl__triple *t = &m->triple[i];
        int32_t arcs = trl__arcs_of(trl__unit_topology(m, t->unit), t->state);
        double sum = 0;
        for (int32_t id = t->transition; id < t->transition + arcs; id++) {
            if (!isfinite(m->log_probability[id]))
                return trl__fail(err, TRL_ENUMBER,
                                 "%s: unit %s, state %" PRId32 ": the log probability of transition "
                                 "%" PRId32 " is not finite",
                                 name, m->units.texts[t->unit], t->state, id);
            sum += exp((double)m->log_probability[id]);
        }
        if (!(fabs(sum - 1) <= SUM_TOLERANCE))
            return trl__fail(err, TRL_ECORRUPT,
                             "%s: unit %s, state %" PRId32 ": the probabilities of its transitions "
                             "sum up to %g",
                             name, m->units.texts[t->unit], t->state, sum);
    }
    return 0;
}

/* ---- mixtures ---- */

static int check_sizes(const trl_model *m, const char *name, trl_error *err)
{
    if (m->tied_states < 1 || m->first_gaussian[0] != 0)
        return trl__fail(err, TRL_ECORRUPT, "%s: there are no tied states, or the first has no first Gaussian", name);
    for (int32_t j = 0; j < m->tied_states; j++)
        if (m->shared ? m->first_gaussian[j + 1] != 0 : m->first_gaussian[j + 1] <= m->first_gaussian[j])
            return trl__fail(err, TRL_ECORRUPT, "%s: tied state %" PRId32 " has no Gaussian, or one beside codebooks",
                             name, j);
    return 0;
}

static int check_gaussian(const trl_model *m, int32_t tied, int32_t g, const char *name, trl_error *err)
{
    const float *mean = m->mean + (size_t)g * (size_t)m->dim, *variance = m->variance + (size_t)g * (size_t)m->dim;
    for (int32_t k = 0; k < m->dim; k++) {
        int finite = isfinite(mean[k]) && isfinite(variance[k]);
        if (!finite || variance[k] <= 0)
            return trl__fail(err, finite ? TRL_ECORRUPT : TRL_ENUMBER,
                             "%s: tied state %" PRId32 ", component %" PRId32 ", dimension %" PRId32
                             ": mean %g, variance %g; both must be finite and the variance "
                             "positive",
                             name, tied, g - m->first_gaussian[tied], k, (double)mean[k], (double)variance[k]);
    }
    return 0;
}

static int check_mixture(const trl_model *m, int32_t tied, const char *name, trl_error *err)
{
    double sum = 0;
    for (int32_t g = m->first_gaussian[tied]; g < m->first_gaussian[tied + 1]; g++) {
        if (!isfinite(m->log_weight[g]))
            return trl__fail(err, TRL_ENUMBER,
                             "%s: tied state %" PRId32 ", component %" PRId32 ": its log weight is not finite", name,
                             tied, g - m->first_gaussian[tied]);
        sum += exp((double)m->log_weight[g]);
        int code = check_gaussian(m, tied, g, name, err);
        if (code < 0)
            return code;
    }
    if (!(fabs(sum - 1) <= SUM_TOLERANCE))
        return trl__fail(err, TRL_ECORRUPT, "%s: tied state %" PRId32 ": the weights sum up to %g", name, tied, sum);
    return 0;
}

/* The mixtures of a first pass belong to the same tied states. */
static int check_independent(const trl_model *m, const char *name, trl_error *err)
{
    char place[1024];
    const trl_model first_pass = trl__model_first_pass(m);
    if (!m->independent.first_gaussian)
        return 0;
    snprintf(place, sizeof place, "%s: mixtures of the first pass", name);
    int code = check_sizes(&first_pass, place, err);
    for (int32_t j = 0; code == 0 && j < m->tied_states; j++)
        code = check_mixture(&first_pass, j, place, err);
    return code;
}

/* ---- the tree ---- */

/* Among which neighbours a unit stands must be known before its states are looked up: so none may be passed over. */
static int check_no_skips(const trl_model *m, const char *name, trl_error *err)
{
    for (size_t u = 0; u < m->units.count; u++) {
        const trl__topology *t = trl__unit_topology(m, (int32_t)u);
        for (int32_t a = t->first[0]; a < t->first[1]; a++)
            if (t->arcs[a].to == TRL_EXIT)
                return trl__fail(err, TRL_ECORRUPT, "%s: unit %s can be skipped; in a model with a tree none can", name,
                                 m->units.texts[u]);
    }
    return 0;
}

/* The tied states that the tree gives are those of the triples, from *next on. */
static int check_state(const trl_model *m, int32_t unit, int32_t state, int32_t *tied, int32_t *next, const char *name,
                       trl_error *err)
{
    int exists = state < trl__unit_topology(m, unit)->states;
    if ((m->tree->root[unit * m->tree->states + state] >= 0) != exists)
        return trl__fail(err, TRL_ECORRUPT, "%s: unit %s, state %" PRId32 ": the tree %s", name, m->units.texts[unit],
                         state, exists ? "does not know it" : "knows it, but the unit has it not");
    int32_t count = trl__tree_tied_states(m->tree, unit, state, tied);
    int same = 1;
    for (int32_t i = 0; same && i < count; i++, (*next)++) {
        const trl__triple *t = &m->triple[*next];
        same = *next < m->triples && t->unit == unit && t->state == state && t->tied == tied[i];
    }
    if (same && *next < m->triples && m->triple[*next].unit == unit && m->triple[*next].state == state)
        same = 0;
    return same ? 0
                : trl__fail(err, TRL_ECORRUPT,
                            "%s: unit %s, state %" PRId32 ": its triples are not those of the tree's tied states", name,
                            m->units.texts[unit], state);
}

static int check_tree(const trl_model *m, const char *name, trl_error *err)
{
    const trl__tree *tree = m->tree;
    int32_t most = 0, next = 0;
    for (int32_t t = 0; t < m->topologies; t++)
        most = m->topology[t].states > most ? m->topology[t].states : most;
    int code = trl__tree_check(tree, name, err);
    if (code < 0)
        return code;
    if ((size_t)tree->units != m->units.count || tree->states > most || tree->leaves != m->tied_states)
        return trl__fail(err, TRL_ECORRUPT, "%s: the tree is of another model: its units, states or leaves differ",
                         name);
    int32_t *tied = trl__alloc((size_t)tree->leaves, sizeof *tied);
    code = tied ? check_no_skips(m, name, err) : trl__fail_memory(err);
    for (int32_t u = 0; code == 0 && u < tree->units; u++) {
        if (trl__unit_topology(m, u)->states > tree->states)
            code = trl__fail(err, TRL_ECORRUPT, "%s: unit %s has more states than the tree", name, m->units.texts[u]);
        for (int32_t s = 0; code == 0 && s < tree->states; s++)
            code = check_state(m, u, s, tied, &next, name, err);
    }
    trl__free(tied);
    return code;
}

/* ---- all of it ---- */

int trl__model_structure(trl_model *m, const char *name, trl_error *err)
{
    if (m->word_positions > 1 || !(m->silence_between > 0 && m->silence_between < 1))
        return trl__fail(err, TRL_ECORRUPT,
                         "%s: word positions %d, probability of silence %g: these must be 0 or 1, and "
                         "between 0 and 1",
                         name, m->word_positions, (double)m->silence_between);
    int code = check_topologies(m, name, err);
    if (code == 0)
        code = check_units(m, name, err);
    if (code == 0)
        code = check_sizes(m, name, err);
    if (code == 0)
        code = check_triples(m, name, err);
    if (code == 0 && m->tree)
        code = check_tree(m, name, err);
    return code < 0 ? code : number_transitions(m, name, err);
}

int trl__model_finish(trl_model *m, const char *name, trl_error *err)
{
    int code = m->transition_triple ? 0 : trl__model_structure(m, name, err);
    if (code == 0 && !m->log_probability)
        code = first_probabilities(m, err);
    if (code == 0)
        code = check_probabilities(m, name, err);
    if (code == 0 && m->shared)
        return m->independent.first_gaussian
                   ? trl__fail(err, TRL_ECORRUPT, "%s: codebooks and mixtures of a first pass do not go together", name)
                   : trl__shared_mixtures_check(m->shared, m->dim, m->tied_states, name, err);
    for (int32_t j = 0; code == 0 && j < m->tied_states; j++)
        code = check_mixture(m, j, name, err);
    return code < 0 ? code : check_independent(m, name, err);
}
