/* How the states of a unit are connected. Arcs are sorted by source and then by target, so that transition ids come out
 * as Kaldi numbers them. */
#include "model/topology.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>

#define SUM_TOLERANCE 0.01 /* of probabilities: other programs write few digits */

/* ---- making ---- */

/* The states that state s leads to: [*low, *high], `states` standing for the exit. */
static void targets(trl_topology_kind kind, int32_t states, int32_t s, int32_t *low, int32_t *high)
{
    int ergodic = kind == TRL_TOPOLOGY_ERGODIC && states > 3 && s < states - 1;
    *low = ergodic && s > 0 ? 1 : s;
    *high = !ergodic ? s + 1 : s == 0 ? states - 2 : states - 1;
}

static int32_t add_arcs(trl__topology *t, trl_topology_kind kind, int32_t s, double self_loop, int32_t arcs)
{
    int32_t low, high;
    targets(kind, t->states, s, &low, &high);
    for (int32_t to = low; to <= high; to++)
        t->arcs[arcs++] = (trl__arc){.to = to == t->states ? TRL_EXIT : to,
                                     .probability = (float)(to == s ? self_loop : (1 - self_loop) / (high - low))};
    return arcs;
}

int trl__topology_alloc(trl__topology *t, int32_t states, int32_t arcs, trl_error *err)
{
    t->states = states;
    t->first = trl__alloc_zero((size_t)states + 2, sizeof *t->first);
    t->arcs = trl__alloc_zero((size_t)arcs, sizeof *t->arcs);
    return t->first && t->arcs ? 0 : trl__fail_memory(err);
}

int trl__topology_make(trl__topology *t, trl_topology_kind kind, int32_t states, double self_loop, trl_error *err)
{
    int32_t arcs = 1, low, high;
    for (int32_t s = 0; s < states; s++) {
        targets(kind, states, s, &low, &high);
        arcs += high - low + 1;
    }
    int code = trl__topology_alloc(t, states, arcs, err);
    if (code < 0)
        return code;
    t->arcs[0] = (trl__arc){.to = 0, .probability = 1};
    t->first[1] = 1;
    for (int32_t s = 0; s < states; s++)
        t->first[s + 2] = add_arcs(t, kind, s, self_loop, t->first[s + 1]);
    return 0;
}

void trl__topology_free(trl__topology *t)
{
    trl__free(t->first);
    trl__free(t->arcs);
}

/* ---- checking ---- */

typedef struct place {
    const char *name;
    int32_t index;
} place;

static int refuse(const place *at, int32_t source, const char *what, trl_error *err)
{
    if (source == TRL_ENTRY)
        return trl__fail(err, TRL_ECORRUPT, "%s: topology %" PRId32 ", entry: %s", at->name, at->index, what);
    return trl__fail(err, TRL_ECORRUPT, "%s: topology %" PRId32 ", state %" PRId32 ": %s", at->name, at->index, source,
                     what);
}

/* The arcs that leave one state, or the entry. */
static int check_source(const trl__topology *t, int32_t source, const place *at, trl_error *err)
{
    double sum = 0;
    int32_t first = t->first[source + 1], end = t->first[source + 2];
    if (first >= end || end - first > t->states + 1)
        return refuse(at, source, "no arc leaves it, or more than there are states", err);
    for (int32_t a = first; a < end; a++) {
        const trl__arc *arc = &t->arcs[a];
        if (arc->to != TRL_EXIT && (arc->to < 0 || arc->to >= t->states))
            return refuse(at, source, "an arc leads to a state that does not exist", err);
        if (!(arc->probability > 0 && arc->probability <= 1 + SUM_TOLERANCE))
            return refuse(at, source, "an arc's probability is not in (0, 1]", err);
        for (int32_t b = first; b < a; b++)
            if (t->arcs[b].to == arc->to)
                return refuse(at, source, "two arcs lead to the same state", err);
        sum += (double)arc->probability;
    }
    return fabs(sum - 1) <= SUM_TOLERANCE ? 0 : refuse(at, source, "its probabilities do not sum up to 1", err);
}

/* Goes backwards from the exit: each round marks what leads to something marked. */
static int check_exit(const trl__topology *t, const place *at, trl_error *err)
{
    char *leads = trl__alloc_zero((size_t)t->states, 1);
    if (!leads)
        return trl__fail_memory(err);
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t s = t->states - 1; s >= 0; s--)
            for (int32_t a = t->first[s + 1]; a < t->first[s + 2] && !leads[s]; a++)
                if (t->arcs[a].to == TRL_EXIT || leads[t->arcs[a].to])
                    leads[s] = (char)(changed = 1);
    }
    int32_t s = 0;
    while (s < t->states && leads[s])
        s++;
    trl__free(leads);
    return s == t->states ? 0 : refuse(at, s, "no way leads from it to the exit", err);
}

int trl__topology_check(const trl__topology *t, const char *name, int32_t index, trl_error *err)
{
    const place at = {name, index};
    if (t->states < 1 || t->states > TRL__STATES_MOST)
        return trl__fail(err, TRL_ECORRUPT, "%s: topology %" PRId32 " has %" PRId32 " states; 1 to %d are possible",
                         name, index, t->states, TRL__STATES_MOST);
    for (int32_t source = TRL_ENTRY; source < t->states; source++) {
        int code = check_source(t, source, &at, err);
        if (code < 0)
            return code;
    }
    if (t->first[1] == 1 && t->arcs[0].to == TRL_EXIT)
        return refuse(&at, TRL_ENTRY, "it leads to no state", err);
    return check_exit(t, &at, err);
}
