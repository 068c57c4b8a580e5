/* Costs and probabilities of a lattice's arcs: one pass forward, one backward over its states, which are in topological order. */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/lattice_data.h"

#include <string.h>

int trl__lattice_check_scale(const trl_lattice_scale *scale, trl_error *err)
{
    if (!isfinite(scale->acoustic) || !isfinite(scale->graph) || !isfinite(scale->insertion))
        return trl__fail(err, TRL_EINVAL, "the scales of a lattice must be numbers, not %g, %g and %g", scale->acoustic,
                         scale->graph, scale->insertion);
    return 0;
}

/* ---- the best ways ---- */

void trl__lattice_rests(const trl_lattice *l, const trl_lattice_scale *scale, double *rest)
{
    for (int32_t s = l->states - 1; s >= 0; s--) {
        rest[s] = trl__lattice_end_cost(&l->ends[s], scale);
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++)
            rest[s] = fmin(rest[s], trl__lattice_arc_cost(&l->arcs[a], scale) + rest[l->arcs[a].next]);
    }
}

static void costs_ahead(const trl_lattice *l, const trl_lattice_scale *scale, double *ahead)
{
    for (int32_t s = 0; s < l->states; s++)
        ahead[s] = s == 0 ? 0 : INFINITY;
    for (int32_t s = 0; s < l->states; s++)
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            int32_t next = l->arcs[a].next;
            ahead[next] = fmin(ahead[next], ahead[s] + trl__lattice_arc_cost(&l->arcs[a], scale));
        }
}

typedef struct pruning {
    const trl_lattice *lattice;
    const trl_lattice_scale *scale;
    double *ahead, *rest, limit;
    int32_t *number; /* by state; -1: goes */
} pruning;

static int copy_state(const pruning *p, int32_t s, trl_lattice *out, trl_error *err)
{
    const trl_lattice *l = p->lattice;
    const trl_lattice_end *end = &l->ends[s];
    int code = trl__lattice_add_state(out, err);
    for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
        trl_lattice_arc arc = l->arcs[a];
        if (p->ahead[s] + trl__lattice_arc_cost(&arc, p->scale) + p->rest[arc.next] > p->limit)
            continue;
        arc.next = p->number[arc.next];
        code = trl__lattice_add_arc(out, &arc, l->transitions + arc.transition, err);
    }
    if (code == 0 && end->graph < INFINITY && p->ahead[s] + trl__lattice_end_cost(end, p->scale) <= p->limit)
        code = trl__lattice_set_end(out, end, l->transitions + end->transition, err);
    return code;
}

static int copy_states(const pruning *p, trl_lattice *out, trl_error *err)
{
    int32_t states = 0;
    int code = 0;
    for (int32_t s = 0; s < p->lattice->states; s++)
        p->number[s] = p->ahead[s] + p->rest[s] <= p->limit ? states++ : -1;
    for (int32_t s = 0; code == 0 && s < p->lattice->states; s++)
        if (p->number[s] >= 0)
            code = copy_state(p, s, out, err);
    return code < 0 ? code : trl__lattice_finish(out, err);
}

int trl_lattice_prune(const trl_lattice *l, const trl_lattice_scale *scale, double beam, trl_lattice **out,
                      trl_error *err)
{
    size_t states = (size_t)l->states + 1;
    pruning p = {.lattice = l, .scale = scale};
    *out = NULL;
    int code = trl__lattice_check_scale(scale, err);
    if (code == 0 && !(beam >= 0))
        code = trl__fail(err, TRL_EINVAL, "the beam is %g; it must not be negative", beam);
    if (code < 0)
        return code;
    p.ahead = trl__alloc(states, sizeof *p.ahead);
    p.rest = trl__alloc(states, sizeof *p.rest);
    p.number = trl__alloc(states, sizeof *p.number);
    code = p.ahead && p.rest && p.number ? trl__lattice_create(l->words, out, err) : trl__fail_memory(err);
    if (code == 0) {
        costs_ahead(l, scale, p.ahead);
        trl__lattice_rests(l, scale, p.rest);
        double best = l->states > 0 ? p.rest[0] : 0;
        p.limit = best + beam + 1e-9 * (1 + fabs(best)); /* sums come in different orders */
        code = copy_states(&p, *out, err);
    }
    trl__free(p.ahead);
    trl__free(p.rest);
    trl__free(p.number);
    if (code < 0) {
        trl_lattice_destroy(*out);
        *out = NULL;
        return code;
    }
    (*out)->frames = l->frames;
    (*out)->reached_end = l->reached_end;
    return 0;
}

/* ---- sums ---- */

static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

double trl__lattice_sums(const trl_lattice *l, const trl_lattice_scale *scale, double *ahead, double *behind)
{
    for (int32_t s = 0; s < l->states; s++)
        ahead[s] = s == 0 ? 0 : -INFINITY;
    for (int32_t s = 0; s < l->states; s++)
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            int32_t next = l->arcs[a].next;
            ahead[next] = log_add(ahead[next], ahead[s] - trl__lattice_arc_cost(&l->arcs[a], scale));
        }
    for (int32_t s = l->states - 1; s >= 0; s--) {
        behind[s] = -trl__lattice_end_cost(&l->ends[s], scale);
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++)
            behind[s] = log_add(behind[s], behind[l->arcs[a].next] - trl__lattice_arc_cost(&l->arcs[a], scale));
    }
    return l->states > 0 ? behind[0] : -INFINITY;
}

int trl_lattice_posteriors(const trl_lattice *l, const trl_lattice_scale *scale, double *posterior, double *total,
                           trl_error *err)
{
    int code = trl__lattice_check_scale(scale, err);
    if (code < 0)
        return code;
    double *ahead = trl__alloc(2 * ((size_t)l->states + 1), sizeof *ahead), *behind;
    if (!ahead)
        return trl__fail_memory(err);
    behind = ahead + l->states;
    double sum = trl__lattice_sums(l, scale, ahead, behind);
    for (int32_t s = 0; s < l->states; s++)
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++)
            posterior[a] = exp(ahead[s] - trl__lattice_arc_cost(&l->arcs[a], scale) + behind[l->arcs[a].next] - sum);
    if (total)
        *total = sum;
    trl__free(ahead);
    return 0;
}
