/* From inputs to positions and steps. */
#include "base/fail.h"
#include "fst/components.h"
#include "transduce/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void trl__plan_free(trl__plan *plan)
{
    trl__free(plan->step);
    trl__free(plan->first);
    trl__free(plan->final);
    trl__free(plan->out_first);
    trl__free(plan->out);
    *plan = (trl__plan){0};
}

static int begin(trl__plan *plan, size_t positions, trl_error *err)
{
    if (positions >= UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "an input of %zu positions is too long; cut it in parts", positions);
    if (TRL_GROW(plan->first, plan->first_capacity, positions + 1) < 0 ||
        TRL_GROW(plan->final, plan->final_capacity, positions) < 0)
        return trl__fail_memory(err);
    plan->positions = positions;
    plan->steps = 0;
    plan->closure_output = TRL__ANY_OUTPUT;
    plan->split = plan->open_end = 0;
    plan->start_weights = plan->end_weights = NULL;
    for (size_t p = 0; p < positions; p++)
        plan->final[p] = INFINITY;
    return 0;
}

static int add_step(trl__plan *plan, trl__step step, trl_error *err)
{
    if (TRL_GROW(plan->step, plan->step_capacity, plan->steps + 1) < 0)
        return trl__fail_memory(err);
    plan->step[plan->steps++] = step;
    return 0;
}

/* What comes after unknown names have been sorted out. */
static int check_label(int32_t label, trl_error *err)
{
    return label < 0 ? trl__fail(err, TRL_EINVAL, "labels are not negative: %" PRId32, label) : 0;
}

/* A label's symbol, its arcs checked; -1: the transducer does not have it. */
static int look_up(const trl_transducer *t, int32_t label, int32_t *symbol, trl_error *err)
{
    *symbol = -1;
    if (label == TRL_UNKNOWN_LABEL)
        return 0;
    int code = check_label(label, err);
    if (code < 0)
        return code;
    *symbol = trl__transducer_find(t, label);
    return *symbol < 0 ? 0 : trl__transducer_check(t, (uint32_t)*symbol, err);
}

/* ---- A string ---- */

static int plan_string(trl__plan *plan, const trl_transducer *t, const trl_transduce_input *input, trl_error *err)
{
    int code = begin(plan, input->count + 1, err);
    for (size_t i = 0; code == 0 && i < input->count; i++) {
        int32_t symbol = -1;
        uint32_t from = (uint32_t)plan->steps;
        if (input->labels[i] == TRL_EPSILON)
            continue;
        code = look_up(t, input->labels[i], &symbol, err);
        if (code == 0 && symbol < 0)
            return 0;
        if (code == 0)
            code = add_step(plan, (trl__step){from, from + 1, symbol, TRL__ANY_OUTPUT, 0}, err);
    }
    if (code < 0)
        return code;
    plan->positions = plan->steps + 1;
    plan->first[0] = 0;
    for (size_t p = 0; p < plan->positions; p++)
        plan->first[p + 1] = p;
    plan->final[plan->steps] = 0;
    return 1;
}

/* ---- A string with its output ---- */

/* Steps into (i, j); label and wanted are what is read and written there, -1 at the border. */
static int add_pair_steps(trl__plan *plan, size_t at, size_t width, int32_t symbol, int32_t written, int32_t epsilons,
                          trl_error *err)
{
    uint32_t to = (uint32_t)at;
    int code = 0;
    if (symbol >= 0 && written >= 0)
        code = add_step(plan, (trl__step){(uint32_t)(at - width - 1), to, symbol, written, 0}, err);
    if (code == 0 && symbol >= 0)
        code = add_step(plan, (trl__step){(uint32_t)(at - width), to, symbol, TRL_EPSILON, 0}, err);
    if (code == 0 && written >= 0 && epsilons >= 0)
        code = add_step(plan, (trl__step){to - 1, to, epsilons, written, 0}, err);
    return code;
}

static size_t without_epsilons(const int32_t *labels, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += labels[i] != TRL_EPSILON;
    return n;
}

static int add_pair_row(trl__plan *plan, const trl_transducer *t, const trl_transduce_input *input, size_t row,
                        size_t width, int32_t symbol, trl_error *err)
{
    size_t column = 0;
    int code = 0;
    plan->first[row * width] = plan->steps;
    code = add_pair_steps(plan, row * width, width, symbol, -1, -1, err);
    for (size_t j = 0; code == 0 && j < input->target_count; j++) {
        if (input->target[j] == TRL_EPSILON)
            continue;
        column++;
        plan->first[row * width + column] = plan->steps;
        code = add_pair_steps(plan, row * width + column, width, symbol, input->target[j], t->epsilons.symbol, err);
    }
    return code;
}

/* 1: the output can be written; 0: it has a name that the table lacks, so that no path does; or a negative code. */
static int check_target(const trl_transduce_input *input, trl_error *err)
{
    int known = 1, code = 0;
    for (size_t j = 0; code == 0 && j < input->target_count; j++)
        if (input->target[j] == TRL_UNKNOWN_LABEL)
            known = 0;
        else
            code = check_label(input->target[j], err);
    return code < 0 ? code : known;
}

static int plan_pair(trl__plan *plan, const trl_transducer *t, const trl_transduce_input *input, trl_error *err)
{
    size_t rows = without_epsilons(input->labels, input->count) + 1, row = 0, cells;
    size_t width = without_epsilons(input->target, input->target_count) + 1;
    if (__builtin_mul_overflow(rows, width, &cells))
        return trl__fail(err, TRL_ELIMIT, "input and output are too long");
    int code = check_target(input, err);
    if (code <= 0)
        return code;
    code = begin(plan, cells, err);
    plan->closure_output = TRL_EPSILON;
    if (code == 0)
        code = add_pair_row(plan, t, input, 0, width, -1, err);
    for (size_t i = 0; code == 0 && i < input->count; i++) {
        int32_t symbol;
        if (input->labels[i] == TRL_EPSILON)
            continue;
        code = look_up(t, input->labels[i], &symbol, err);
        if (code == 0 && symbol < 0)
            return 0;
        if (code == 0)
            code = add_pair_row(plan, t, input, ++row, width, symbol, err);
    }
    if (code < 0)
        return code;
    plan->first[cells] = plan->steps;
    plan->final[cells - 1] = 0;
    return 1;
}

/* ---- A lattice ---- */

static int has_epsilons(const trl_fst *lattice)
{
    for (int32_t q = 0; q < trl_fst_states(lattice); q++)
        for (uint32_t i = 0; i < trl_fst_arc_count(lattice, q); i++)
            if (trl_fst_arc(lattice, q, i).olabel == TRL_EPSILON)
                return 1;
    return 0;
}

/* The step of an arc. States are numbered topologically, the start is 0; a label that the transducer does not have
 * becomes a step that nothing passes, symbol -1. */
static int lattice_step(const trl__plan *plan, const trl_transducer *t, const trl__components *c, int32_t start,
                        int32_t from, const trl_arc *arc, trl__step *step, trl_error *err)
{
    int32_t last = c->component[start];
    uint32_t u = (uint32_t)(last - c->component[from]), v = (uint32_t)(last - c->component[arc->next]);
    int stay = arc->olabel == TRL_EPSILON;
    *step = (trl__step){plan->split ? 2 * u + !stay : u, plan->split ? 2 * v : v, TRL__STAY, TRL__ANY_OUTPUT,
                        arc->weight.value};
    return stay ? 0 : look_up(t, arc->olabel, &step->symbol, err);
}

static int add_lattice_steps(trl__plan *plan, const trl_transducer *t, const trl_fst *lattice, const trl__components *c,
                             trl_error *err)
{
    int32_t start = trl_fst_start(lattice);
    int code = 0;
    for (int32_t q = 0; q < trl_fst_states(lattice); q++)
        for (uint32_t i = 0; c->accessible[q] && i < trl_fst_arc_count(lattice, q); i++) {
            trl_arc arc = trl_fst_arc(lattice, q, i);
            trl__step step;
            if (arc.weight.value == INFINITY)
                continue;
            code = lattice_step(plan, t, c, start, q, &arc, &step, err);
            if (code == 0)
                code = add_step(plan, step, err);
            if (code < 0)
                return code;
        }
    for (uint32_t p = 0; plan->split && code == 0 && p < plan->positions; p += 2)
        code = add_step(plan, (trl__step){p, p + 1, TRL__STAY, TRL__ANY_OUTPUT, 0}, err);
    return code;
}

/* Steps by where they lead: a counting sort, which keeps the order of arcs. */
static int sort_steps(trl__plan *plan, trl_error *err)
{
    trl__step *sorted = trl__alloc(plan->steps + 1, sizeof *sorted);
    if (!sorted)
        return trl__fail_memory(err);
    memset(plan->first, 0, (plan->positions + 1) * sizeof *plan->first);
    for (size_t i = 0; i < plan->steps; i++)
        plan->first[plan->step[i].to + 1]++;
    for (size_t p = 0; p < plan->positions; p++)
        plan->first[p + 1] += plan->first[p];
    for (size_t i = 0; i < plan->steps; i++)
        sorted[plan->first[plan->step[i].to]++] = plan->step[i];
    memmove(plan->first + 1, plan->first, plan->positions * sizeof *plan->first);
    plan->first[0] = 0;
    trl__free(plan->step);
    plan->step = sorted;
    plan->step_capacity = plan->steps + 1;
    return 0;
}

static int place_lattice(trl__plan *plan, const trl_transducer *t, const trl_fst *lattice, const trl__components *c,
                         trl_error *err)
{
    int32_t last = c->component[trl_fst_start(lattice)];
    int split = t->epsilons.symbol >= 0 && has_epsilons(lattice);
    int code = begin(plan, ((size_t)last + 1) * (split ? 2 : 1), err);
    plan->split = split;
    if (code == 0)
        code = add_lattice_steps(plan, t, lattice, c, err);
    if (code == 0)
        code = sort_steps(plan, err);
    for (int32_t q = 0; code == 0 && q < trl_fst_states(lattice); q++)
        if (c->accessible[q])
            plan->final[(last - c->component[q]) * (split ? 2 : 1) + split] = trl_fst_final(lattice, q).value;
    return code < 0 ? code : 1;
}

static int plan_lattice(trl__plan *plan, const trl_transducer *t, const trl_transduce_input *input, trl_error *err)
{
    const trl_fst *lattice = input->lattice;
    trl_semiring semiring = trl_fst_semiring(lattice);
    trl__components c;
    if (semiring != TRL_TROPICAL && semiring != TRL_LOG)
        return trl__fail(err, TRL_EINVAL, "a lattice's weights must be tropical or log here, not %s; map them first",
                         trl_semiring_name(semiring));
    if (input->target)
        return trl__fail(err, TRL_EINVAL, "an output can be given for strings only, not for lattices");
    if (trl_fst_start(lattice) == TRL_NO_STATE)
        return 0;
    int code = trl__components_find(lattice, &c, err);
    if (code < 0)
        return code;
    code = c.acyclic ? place_lattice(plan, t, lattice, &c, err)
                     : trl__fail(err, TRL_EINVAL, "a lattice with cycles can't be read; it must be acyclic");
    trl__components_free(&c);
    return code;
}

/* ---- All ---- */

/* Steps by where they leave. */
static int index_steps(trl__plan *plan, trl_error *err)
{
    size_t *first;
    if (TRL_GROW(plan->out_first, plan->out_first_capacity, plan->positions + 1) < 0 ||
        TRL_GROW(plan->out, plan->out_capacity, plan->steps + 1) < 0)
        return trl__fail_memory(err);
    first = plan->out_first;
    memset(first, 0, (plan->positions + 1) * sizeof *first);
    for (size_t i = 0; i < plan->steps; i++)
        first[plan->step[i].from + 1]++;
    for (size_t p = 0; p < plan->positions; p++)
        first[p + 1] += first[p];
    for (size_t i = 0; i < plan->steps; i++)
        plan->out[first[plan->step[i].from]++] = (uint32_t)i;
    memmove(first + 1, first, plan->positions * sizeof *first);
    first[0] = 0;
    return 1;
}

int trl__plan_make(trl__plan *plan, const trl_transducer *t, const trl_transduce_input *input, trl_error *err)
{
    int code = t->start == TRL_NO_STATE ? 0
               : input->lattice         ? plan_lattice(plan, t, input, err)
               : input->target          ? plan_pair(plan, t, input, err)
                                        : plan_string(plan, t, input, err);
    if (code <= 0)
        return code;
    if (plan->steps >= UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the input has too many arcs");
    return index_steps(plan, err);
}
