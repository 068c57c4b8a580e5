/* The best path (Viterbi): the paper's Algorithm 1 over a plan.
 *
 * Each position keeps one node per state that is alive, with the score of the best path there and the arc it came by.
 * Method serial walks every arc of a step's symbol; frontier walks rows of sources that are alive only, and all arcs
 * where most of them are, since then going straight through memory is faster. Scores are relative to the best of their
 * position, so that a float's digits are enough for inputs of any length; the weight of the path found is added up from
 * its arcs in the end, in double precision.
 *
 * Back-pointers count the arcs of the steps into a position one after the other: those of the first step's symbol, of
 * the second's …, then those of the closure.
 */
#include "base/fail.h"
#include "transduce/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define START UINT32_MAX /* back-pointer of where the path begins */
#define MOSTLY 2         /* more than one in so many rows alive: all arcs are walked */

/* ---- Nodes ---- */

/* The cells that were reached become the position's nodes. */
static int end_position(trl_transduce_work *w, size_t position, double base, trl__best_cells *cells)
{
    size_t first = w->nodes, count = cells->count;
    if (TRL_GROW(w->node_state, w->state_capacity, first + count) < 0 ||
        TRL_GROW(w->node_score, w->score_capacity, first + count) < 0 ||
        TRL_GROW(w->node_back, w->back_capacity, first + count) < 0)
        return -1;
    float best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        uint64_t cell = cells->cell[cells->fresh[i]];
        cells->cell[cells->fresh[i]] = TRL__EMPTY;
        float score = trl__score_of(cell);
        best = score < best ? score : best;
        w->node_state[first + i] = cells->fresh[i];
        w->node_score[first + i] = score;
        w->node_back[first + i] = (uint32_t)cell;
    }
    for (size_t i = first; i < first + count; i++)
        w->node_score[i] -= best;
    w->nodes += count;
    w->node_base[position] = count > 0 ? base + (double)best : INFINITY;
    w->node_first[position + 1] = w->nodes;
    return 0;
}

/* ---- One step ---- */

/* Arcs that may be walked: how far the step's back-pointers reach. */
static uint64_t step_size(const trl_transducer *t, int32_t symbol)
{
    return symbol == TRL__STAY ? (uint64_t)t->states : symbol < 0 ? 0 : t->symbol[symbol].arcs;
}

static void improve(trl__best_cells *cells, uint32_t target, uint64_t key)
{
    if (cells->cell[target] == TRL__EMPTY)
        cells->fresh[cells->count++] = target;
    if (key < cells->cell[target])
        cells->cell[target] = key;
}

static void walk_all(trl_transduce_work *w, const trl__symbol *s, size_t position, float weight, uint32_t base,
                     trl__best_cells *cells)
{
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++)
        w->score[w->node_state[i]] = w->node_score[i] + weight;
    w->walk->best_all(w->t, s, w->score, base, cells);
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++)
        w->score[w->node_state[i]] = INFINITY;
}

/* Only arcs that write `output`: the short way. */
static void walk_filtered(trl_transduce_work *w, const trl__symbol *s, const trl__step *step, float weight,
                          uint32_t base, trl__best_cells *cells)
{
    const trl_transducer *t = w->t;
    for (size_t i = w->node_first[step->from]; i < w->node_first[step->from + 1]; i++) {
        int64_t row = trl__row_of(t, s, w->node_state[i]);
        float from = w->node_score[i] + weight;
        uint32_t k = row < 0 ? 0 : t->row_first[s->row + (uint64_t)row];
        uint32_t end = row < 0 ? 0 : t->row_first[s->row + (uint64_t)row + 1];
        for (; k < end; k++)
            if (t->output[s->arc + k] == step->output)
                improve(cells, t->arc[s->arc + k].target, trl__pack(from + t->arc[s->arc + k].weight, base + k));
    }
}

static size_t arcs_of_hits(const trl_transduce_work *w, const trl__symbol *s, size_t hits)
{
    const uint32_t *row = w->t->row_first + s->row;
    size_t arcs = 0;
    for (size_t i = 0; i < hits; i++)
        arcs += row[w->hits[i].row + 1] - row[w->hits[i].row];
    return arcs;
}

static void walk_alive(trl_transduce_work *w, const trl__symbol *s, size_t position, float weight, uint32_t base,
                       trl__best_cells *cells)
{
    const float *score = w->node_score + w->node_first[position];
    trl__alive alive = trl__nodes_enter(w, position);
    size_t hits = w->walk->hits(w->t, s, &alive, w->hits);
    trl__nodes_leave(w, position);
    if (w->shared && s->arcs >= w->huge && arcs_of_hits(w, s, hits) >= w->huge)
        trl__shared_best_rows(w, s, hits, score, weight, base, cells);
    else if (hits * MOSTLY > s->rows)
        walk_all(w, s, position, weight, base, cells);
    else
        w->walk->best_rows(w->t, s, w->hits, hits, score, weight, base, cells);
}

static void follow_step(trl_transduce_work *w, const trl__step *step, float weight, uint32_t base,
                        trl__best_cells *cells)
{
    if (step->symbol == TRL__STAY) {
        for (size_t i = w->node_first[step->from]; i < w->node_first[step->from + 1]; i++)
            improve(cells, w->node_state[i], trl__pack(w->node_score[i] + weight, base + w->node_state[i]));
        return;
    }
    const trl__symbol *s = &w->t->symbol[step->symbol];
    if (step->output != TRL__ANY_OUTPUT)
        walk_filtered(w, s, step, weight, base, cells);
    else if (w->options.method == TRL_METHOD_SERIAL)
        walk_all(w, s, step->from, weight, base, cells);
    else
        walk_alive(w, s, step->from, weight, base, cells);
}

/* ---- Arcs without input ---- */

/* Within a cycle only a score that is really better counts: what equals itself by going round must not become its own
 * predecessor, and neither must what seems better by rounding. */
static int is_better(const trl__epsilons *e, uint64_t key, uint64_t old, uint32_t from, uint32_t to)
{
    if (old == TRL__EMPTY || e->end[from] == 0 || e->first[from] != e->first[to])
        return key < old;
    float now = trl__score_of(old);
    return trl__score_of(key) < now - 1e-6f * (1 + fabsf(now));
}

static void close_position(trl_transduce_work *w, uint32_t base, trl__best_cells *cells)
{
    const trl_transducer *t = w->t;
    const trl__symbol *s = &t->symbol[t->epsilons.symbol];
    uint32_t rank;
    for (size_t i = 0; i < cells->count; i++)
        trl__pending_set(w, cells->fresh[i]);
    for (size_t word = 0; trl__pending_take(w, &word, &rank);) {
        uint32_t q = t->epsilons.state[rank];
        int64_t row = trl__row_of(t, s, q);
        if (row < 0)
            continue;
        for (uint32_t k = t->row_first[s->row + (uint64_t)row]; k < t->row_first[s->row + (uint64_t)row + 1]; k++) {
            trl__symbol_arc arc = t->arc[s->arc + k];
            uint64_t key = trl__pack(trl__score_of(cells->cell[q]) + arc.weight, base + k),
                     old = cells->cell[arc.target];
            uint32_t there = t->epsilons.rank[arc.target];
            if ((w->plan.closure_output != TRL__ANY_OUTPUT && t->output[s->arc + k] != w->plan.closure_output) ||
                !is_better(&t->epsilons, key, old, rank, there))
                continue;
            if (old == TRL__EMPTY)
                cells->fresh[cells->count++] = arc.target;
            cells->cell[arc.target] = key;
            trl__pending_set(w, arc.target);
            word = there / 64 < word ? there / 64 : word;
        }
    }
}

/* ---- The search ---- */

static int begin_search(trl_transduce_work *w, trl__best_cells *cells, trl_error *err)
{
    size_t states = (size_t)w->t->states;
    if (!w->cell) {
        w->cell = trl__alloc(states + 1, sizeof *w->cell);
        w->score = trl__alloc(states + 1, sizeof *w->score);
        if (!w->cell || !w->score) {
            trl__free(w->cell);
            w->cell = NULL;
            return trl__fail_memory(err);
        }
        memset(w->cell, 0xff, (states + 1) * sizeof *w->cell);
        for (size_t q = 0; q < states; q++)
            w->score[q] = INFINITY;
    }
    *cells = (trl__best_cells){w->cell, w->fresh, 0};
    return trl__nodes_begin(w) < 0 ? trl__fail_memory(err) : 0;
}

/* What scores at a position are relative to, before it is known which is best. */
static double base_of(const trl_transduce_work *w, size_t position)
{
    double base = INFINITY;
    for (size_t i = w->plan.first[position]; i < w->plan.first[position + 1]; i++)
        base = fmin(base, w->node_base[w->plan.step[i].from] + (double)w->plan.step[i].weight);
    return position == 0 ? 0 : base;
}

static void place_starts(trl_transduce_work *w, trl__best_cells *cells)
{
    if (!w->plan.start_weights)
        improve(cells, (uint32_t)w->t->start, trl__pack(0, START));
    for (uint32_t q = 0; w->plan.start_weights && q < (uint32_t)w->t->states; q++)
        if (w->plan.start_weights[q] < INFINITY)
            improve(cells, q, trl__pack((float)w->plan.start_weights[q], START));
}

static int search_position(trl_transduce_work *w, size_t position, trl__best_cells *cells, trl_error *err)
{
    double base = base_of(w, position);
    uint64_t back = 0;
    cells->count = 0;
    if (position == 0)
        place_starts(w, cells);
    for (size_t i = w->plan.first[position]; i < w->plan.first[position + 1]; i++) {
        const trl__step *step = &w->plan.step[i];
        float weight = (float)(w->node_base[step->from] + (double)step->weight - base);
        uint64_t size = step_size(w->t, step->symbol);
        if (size == 0 || w->node_first[step->from] == w->node_first[step->from + 1])
            continue;
        if (back + size >= START)
            return trl__fail(err, TRL_ELIMIT, "more than 2^32 - 2 arcs lead to one position of the input");
        follow_step(w, step, weight, (uint32_t)back, cells);
        back += size;
    }
    if (trl__plan_closes(w, position)) {
        if (back + w->t->symbol[0].arcs >= START)
            return trl__fail(err, TRL_ELIMIT, "more than 2^32 - 2 arcs lead to one position of the input");
        close_position(w, (uint32_t)back, cells);
    }
    return end_position(w, position, base, cells) < 0 ? trl__fail_memory(err) : 0;
}

int trl__best_search(trl_transduce_work *w, trl_error *err)
{
    trl__best_cells cells;
    int code = begin_search(w, &cells, err);
    for (size_t p = 0; code == 0 && p < w->plan.positions; p++)
        code = search_position(w, p, &cells, err);
    if (code < 0 && w->cell) /* what a failed step left */
        memset(w->cell, 0xff, (size_t)w->t->states * sizeof *w->cell);
    return code;
}

/* ---- The path ---- */

/* One arc back: position and state become those it came from. */
static int trace_back(trl_transduce_work *w, size_t *position, uint32_t *state, uint32_t back, trl_error *err)
{
    const trl_transducer *t = w->t;
    size_t from = *position;
    const trl__symbol *s = NULL;
    for (size_t i = w->plan.first[*position]; i < w->plan.first[*position + 1]; i++) {
        const trl__step *step = &w->plan.step[i];
        uint64_t size = step_size(t, step->symbol);
        if (size == 0 || w->node_first[step->from] == w->node_first[step->from + 1])
            continue;
        if (back < size) {
            *position = step->from;
            w->path_weight += (double)step->weight;
            if (step->symbol == TRL__STAY)
                return 0;
            s = &t->symbol[step->symbol];
            break;
        }
        back -= (uint32_t)size;
    }
    if (!s && from == *position)
        s = &t->symbol[t->epsilons.symbol];
    if (TRL_GROW(w->out.arcs, w->out.arc_capacity, w->out.arc_count + 1) < 0)
        return trl__fail_memory(err);
    w->out.arcs[w->out.arc_count++] = s->arc + back;
    w->path_weight += (double)t->arc[s->arc + back].weight;
    *state = t->source[s->arc + back];
    return 0;
}

int trl__best_trace(trl_transduce_work *w, size_t position, uint32_t state, uint32_t *from, trl_error *err)
{
    for (;;) {
        size_t node = trl__nodes_find(w, position, state);
        if (w->node_back[node] == START)
            break;
        int code = trace_back(w, &position, &state, w->node_back[node], err);
        if (code < 0)
            return code;
    }
    *from = state;
    return 0;
}

/* The best end: ties go to the earlier position, then the lower state. */
int trl__best_end(const trl_transduce_work *w, size_t *position, uint32_t *state)
{
    double best = INFINITY;
    int found = 0;
    for (size_t p = 0; p < w->plan.positions; p++)
        for (size_t i = w->node_first[p]; w->plan.final[p] < INFINITY && i < w->node_first[p + 1]; i++) {
            double end = trl__end_weight(w, w->node_state[i]);
            double total = w->node_base[p] + (double)w->node_score[i] + end + (double)w->plan.final[p];
            if (total < best || (total == best && found && p == *position && w->node_state[i] < *state)) {
                best = total;
                found = 1;
                *position = p;
                *state = w->node_state[i];
            }
        }
    return found;
}

int trl__best_outputs(trl_transduce_work *w, trl_transduction *result, trl_error *err)
{
    w->out.output_count = 0;
    if (TRL_GROW(w->out.outputs, w->out.output_capacity, w->out.arc_count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < w->out.arc_count / 2; i++) {
        uint64_t other = w->out.arcs[i];
        w->out.arcs[i] = w->out.arcs[w->out.arc_count - 1 - i];
        w->out.arcs[w->out.arc_count - 1 - i] = other;
    }
    for (size_t i = 0; i < w->out.arc_count; i++)
        if (w->t->output[w->out.arcs[i]] != TRL_EPSILON)
            w->out.outputs[w->out.output_count++] = w->t->output[w->out.arcs[i]];
    *result = (trl_transduction){.found = 1,
                                 .weight = w->path_weight,
                                 .arcs = w->out.arcs,
                                 .arc_count = w->out.arc_count,
                                 .outputs = w->out.outputs,
                                 .output_count = w->out.output_count};
    return 0;
}

int trl__best_path(trl_transduce_work *w, trl_transduction *result, trl_error *err)
{
    size_t position = 0;
    uint32_t state = 0;
    int code = trl__best_search(w, err);
    if (code < 0 || !trl__best_end(w, &position, &state))
        return code;
    w->path_weight = trl__end_weight(w, state) + (double)w->plan.final[position];
    code = trl__best_trace(w, position, state, &state, err);
    return code < 0 ? code : trl__best_outputs(w, result, err);
}
