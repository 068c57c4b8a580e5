/* Inputs through a transducer on a device ([002] 5): plans become passages, a batch of them at a time; backend/machine.h does the rest.
 *
 * The best path is the one that method serial finds, bit by bit; its weight is added up here, as there. Sums are within 1e-9 of method
 * serial's, relative to their size: the same logarithms, added in another order. Arcs without input may not make cycles.
 */
#include "backend/machine.h"
#include "base/fail.h"
#include "base/log_write.h"
#include "transduce/search.h"

#include <math.h>
#include <string.h>

#define AT_ONCE 64 /* inputs whose plans are made before the device is called */

/* The arcs of one symbol among a passage's counts. */
typedef struct part {
    int32_t symbol;
    size_t at;
} part;

struct trl__on_device {
    trl__device *device;
    int is_own;
    trl__machine *machine;
    trl__stream *stream;
    device_symbol *symbols;
    int32_t *level;    /* by state */
    int64_t *count_at; /* by symbol; -1: not in this input */

    trl__plan plan[AT_ONCE];
    trl__passage passage[AT_ONCE];
    device_step *step[AT_ONCE];
    size_t step_capacity[AT_ONCE];
    part *part[AT_ONCE];
    size_t parts[AT_ONCE], part_capacity[AT_ONCE];
    size_t input[AT_ONCE]; /* its number */
    size_t count;          /* passages */
};

void trl__on_device_free(struct trl__on_device *d)
{
    if (!d)
        return;
    trl__stream_destroy(d->stream);
    trl__machine_destroy(d->machine);
    if (d->is_own)
        trl__device_close(d->device);
    for (size_t i = 0; i < AT_ONCE; i++) {
        trl__plan_free(&d->plan[i]);
        trl__free(d->step[i]);
        trl__free(d->part[i]);
    }
    trl__free(d->symbols);
    trl__free(d->level);
    trl__free(d->count_at);
    trl__free(d);
}

/* ---- The machine ---- */

/* The longest way to each state along arcs without input; returns how many levels have such arcs. */
static int32_t find_levels(const trl_transducer *t, int32_t *level)
{
    int32_t levels = 0;
    if (t->epsilons.symbol < 0)
        return 0;
    const trl__symbol *s = &t->symbol[t->epsilons.symbol];
    for (uint32_t rank = 0; rank < (uint32_t)t->states; rank++) {
        uint32_t q = t->epsilons.state[rank];
        int64_t row = trl__row_of(t, s, q);
        if (row < 0)
            continue;
        levels = level[q] + 1 > levels ? level[q] + 1 : levels;
        for (uint32_t k = t->row_first[s->row + (uint64_t)row]; k < t->row_first[s->row + (uint64_t)row + 1]; k++) {
            uint32_t target = t->arc[s->arc + k].target;
            level[target] = level[target] > level[q] ? level[target] : level[q] + 1;
        }
    }
    return levels;
}

static int send_machine(struct trl__on_device *d, const trl_transducer *t, trl_error *err)
{
    if (t->epsilons.has_cycles)
        return trl__fail(
            err, TRL_EUNSUPPORTED,
            "arcs without input make cycles, which devices do not follow; use --device cpu, or remove them "
            "with `trellis fst rmepsilon`");
    d->symbols = trl__alloc_zero((size_t)t->symbols + 1, sizeof *d->symbols);
    d->count_at = trl__alloc((size_t)t->symbols + 1, sizeof *d->count_at);
    d->level = trl__alloc_zero((size_t)t->states + 1, sizeof *d->level);
    if (!d->symbols || !d->count_at || !d->level)
        return trl__fail_memory(err);
    for (uint32_t i = 0; i < t->symbols; i++) {
        const trl__symbol *s = &t->symbol[i];
        d->symbols[i] = (device_symbol){.arc = (int64_t)s->arc,
                                        .row = (int64_t)s->row,
                                        .place = (int64_t)s->place,
                                        .arcs = s->arcs,
                                        .rows = s->rows,
                                        .has_bitmap = s->has_bitmap != 0};
        d->count_at[i] = -1;
    }
    _Static_assert(sizeof(trl__symbol_arc) == sizeof(device_transition), "arcs go up as they are");
    const trl__machine_arrays arrays = {.states = t->states,
                                        .start = t->start,
                                        .symbols = t->symbols,
                                        .symbol = d->symbols,
                                        .arcs = t->arcs,
                                        .rows = t->rows + t->symbols,
                                        .words = t->words,
                                        .listed = t->listed,
                                        .arc = (const device_transition *)(const void *)t->arc,
                                        .source = t->source,
                                        .output = t->output,
                                        .row_first = t->row_first,
                                        .row_source = t->row_source,
                                        .rank = t->rank,
                                        .bits = t->bits,
                                        .final = t->final,
                                        .epsilons = t->epsilons.symbol,
                                        .levels = find_levels(t, d->level),
                                        .level = d->level};
    return trl__machine_create(d->device, &arrays, &d->machine, err);
}

int trl__on_device_attach(trl_transduce_work *w, trl__device *device, trl_error *err)
{
    if (w->options.method != TRL_METHOD_FRONTIER && w->options.method != TRL_METHOD_SERIAL)
        return trl__fail(err, TRL_EINVAL, "the methods of a device are frontier and all-arcs");
    struct trl__on_device *d = trl__alloc_zero(1, sizeof *d);
    if (!d)
        return trl__fail_memory(err);
    d->device = device;
    int code = send_machine(d, w->t, err);
    if (code == 0)
        code = trl__stream_create(device, &d->stream, err);
    if (code < 0)
        trl__on_device_free(d);
    else
        w->device = d;
    return code;
}

int trl__on_device_create(trl_transduce_work *w, trl_error *err)
{
    trl__device *device;
    int code = trl__device_open(w->options.device, &device, err);
    if (code < 0)
        return code;
    if (device->backend->machine_create)
        code = trl__on_device_attach(w, device, err);
    if (w->device)
        w->device->is_own = 1;
    else /* the processor's own searches, or a failure */
        trl__device_close(device);
    return code;
}

/* ---- Passages ---- */

/* Where a symbol's arcs are counted. */
static int place_counts(struct trl__on_device *d, size_t i, const trl_transducer *t, int32_t symbol, trl_error *err)
{
    trl__passage *p = &d->passage[i];
    if (symbol < 0 || d->count_at[symbol] >= 0)
        return 0;
    if (TRL_GROW(d->part[i], d->part_capacity[i], d->parts[i] + 1) < 0)
        return trl__fail_memory(err);
    d->part[i][d->parts[i]++] = (part){symbol, p->counts};
    d->count_at[symbol] = (int64_t)p->counts;
    p->counts += t->symbol[symbol].arcs;
    return 0;
}

static int place_all_counts(struct trl__on_device *d, size_t i, const trl_transducer *t, trl_error *err)
{
    trl__passage *p = &d->passage[i];
    int code = place_counts(d, i, t, t->epsilons.symbol, err);
    for (size_t k = 0; code == 0 && k < p->steps; k++)
        code = place_counts(d, i, t, d->step[i][k].symbol, err);
    for (size_t k = 0; code == 0 && k < p->steps; k++)
        if (d->step[i][k].symbol >= 0)
            d->step[i][k].count_at = d->count_at[d->step[i][k].symbol];
    for (size_t k = 0; k < d->parts[i]; k++)
        d->count_at[d->part[i][k].symbol] = -1;
    p->counts += p->counts == 0; /* 0 would mean that none are wanted */
    return code;
}

/* How many nodes there can be, and whether back-pointers reach. */
static int bound_nodes(const trl_transduce_work *w, const trl__plan *plan, size_t *nodes, trl_error *err)
{
    const trl_transducer *t = w->t;
    *nodes = 0;
    for (size_t p = 0; p < plan->positions; p++) {
        uint64_t arcs = t->epsilons.symbol >= 0 ? t->symbol[t->epsilons.symbol].arcs : 0;
        for (size_t k = plan->first[p]; k < plan->first[p + 1]; k++) {
            int32_t symbol = plan->step[k].symbol;
            arcs += symbol == TRL__STAY ? (uint64_t)t->states : symbol < 0 ? 0 : t->symbol[symbol].arcs;
        }
        if (arcs >= UINT32_MAX)
            return trl__fail(err, TRL_ELIMIT, "more than 2^32 - 2 arcs lead to one position of the input");
        arcs += p == 0;
        *nodes += arcs < (uint64_t)t->states ? (size_t)arcs : (size_t)t->states;
    }
    return 0;
}

static int make_passage(trl_transduce_work *w, size_t i, trl_transduce_operation operation, trl_error *err)
{
    struct trl__on_device *d = w->device;
    const trl__plan *plan = &d->plan[i];
    if (TRL_GROW(d->step[i], d->step_capacity[i], plan->steps + 1) < 0)
        return trl__fail_memory(err);
    for (size_t k = 0; k < plan->steps; k++) {
        const trl__step *s = &plan->step[k];
        d->step[i][k] = (device_step){
            .from = (int)s->from, .to = (int)s->to, .symbol = s->symbol, .output = s->output, .weight = s->weight};
    }
    d->parts[i] = 0;
    d->passage[i] = (trl__passage){.positions = plan->positions,
                                   .steps = plan->steps,
                                   .step = d->step[i],
                                   .first = plan->first,
                                   .out_first = plan->out_first,
                                   .out = plan->out,
                                   .final = plan->final,
                                   .closes = plan->split ? 2 : 1,
                                   .closure_output = plan->closure_output,
                                   .live = w->options.method == TRL_METHOD_FRONTIER};
    int code = bound_nodes(w, plan, &d->passage[i].most_nodes, err);
    if (code == 0 && operation == TRL_TRANSDUCE_COUNTS)
        code = place_all_counts(d, i, w->t, err);
    return code;
}

/* ---- Results ---- */

static int read_path(trl_transduce_work *w, size_t i, trl_transduction *result, trl_error *err)
{
    struct trl__on_device *d = w->device;
    const trl__passage *p = &d->passage[i];
    const trl_transducer *t = w->t;
    w->out.arc_count = 0;
    if (TRL_GROW(w->out.arcs, w->out.arc_capacity, p->moves + 1) < 0)
        return trl__fail_memory(err);
    w->path_weight = (double)t->final[p->end_state] + (double)p->final[p->end_position];
    for (size_t k = 0; k < p->moves; k++) {
        if (p->move[k].step >= 0)
            w->path_weight += (double)p->step[p->move[k].step].weight;
        if (p->move[k].arc < 0)
            continue;
        w->path_weight += (double)t->arc[p->move[k].arc].weight;
        w->out.arcs[w->out.arc_count++] = (uint64_t)p->move[k].arc;
    }
    return trl__best_outputs(w, result, err);
}

/* Those of each symbol's arcs that are above 0. */
static int read_counts(trl_transduce_work *w, size_t i, trl_transduction *result, trl_error *err)
{
    const struct trl__on_device *d = w->device;
    const trl__passage *p = &d->passage[i];
    trl__out *out = &w->out;
    out->arc_count = 0;
    if (TRL_GROW(out->arcs, out->arc_capacity, p->counts + 1) < 0 ||
        TRL_GROW(out->counts, out->count_capacity, p->counts + 1) < 0)
        return trl__fail_memory(err);
    for (size_t k = 0; k < d->parts[i]; k++) {
        const trl__symbol *s = &w->t->symbol[d->part[i][k].symbol];
        const double *count = p->count + d->part[i][k].at;
        for (uint32_t a = 0; a < s->arcs; a++) {
            out->arcs[out->arc_count] = s->arc + a;
            out->counts[out->arc_count] = count[a];
            out->arc_count += count[a] > 0;
        }
    }
    *result = (trl_transduction){.found = 1,
                                 .weight = p->weight,
                                 .arcs = out->arcs,
                                 .arc_count = out->arc_count,
                                 .counts = out->counts,
                                 .final_states = p->final_state,
                                 .final_count = p->finals,
                                 .final_counts = p->final_count};
    return 0;
}

static int read_result(trl_transduce_work *w, size_t i, trl_transduce_operation operation, trl_transduction *result,
                       trl_error *err)
{
    const trl__passage *p = &w->device->passage[i];
    *result = (trl_transduction){.weight = INFINITY};
    if (!p->found)
        return 0;
    if (operation == TRL_TRANSDUCE_VITERBI)
        return read_path(w, i, result, err);
    if (operation == TRL_TRANSDUCE_COUNTS)
        return read_counts(w, i, result, err);
    *result = (trl_transduction){.found = 1, .weight = p->weight};
    return 0;
}

/* ---- Batches ---- */

/* Inputs that have no plan, as no path can be, are delivered between those that the device looked at. */
typedef struct delivery {
    trl_transduce_work *w;
    trl_transduce_operation operation;
    trl_transduce_fn each;
    void *user;
    size_t next;     /* input to be delivered */
    int each_failed; /* the receiver's failure, not the device's */
} delivery;

static int deliver_nothing_before(delivery *y, size_t input, trl_error *err)
{
    const trl_transduction none = {.weight = INFINITY};
    int code = 0;
    for (; code == 0 && y->next < input; y->next++) {
        code = y->each(y->user, y->next, &none, err);
        y->each_failed = code < 0;
    }
    return code;
}

static int deliver(delivery *y, size_t i, trl_error *err)
{
    trl_transduction result;
    int code = deliver_nothing_before(y, y->w->device->input[i], err);
    if (code == 0)
        code = read_result(y->w, i, y->operation, &result, err);
    if (code < 0)
        return code;
    code = y->each(y->user, y->next++, &result, err);
    y->each_failed = code < 0;
    return code;
}

/* All passages that were made. */
static int walk_passages(delivery *y, trl_error *err)
{
    static const trl__walk_kind kinds[] = {TRL__WALK_BEST, TRL__WALK_FORWARD, TRL__WALK_BACKWARD, TRL__WALK_COUNTS};
    struct trl__on_device *d = y->w->device;
    int code = 0;
    for (size_t first = 0, done = 0; code == 0 && first < d->count; first += done) {
        code = trl__machine_walk(d->stream, d->machine, kinds[y->operation], d->passage + first, d->count - first,
                                 &done, err);
        for (size_t i = 0; code == 0 && i < done; i++)
            code = deliver(y, first + i, err);
    }
    d->count = 0;
    return code;
}

static int walk_inputs(delivery *y, const trl_transduce_input *inputs, size_t count, trl_error *err)
{
    trl_transduce_work *w = y->w;
    struct trl__on_device *d = w->device;
    int code = 0;
    d->count = 0;
    for (size_t k = y->next; code >= 0 && k < count; k++) {
        code = trl__plan_make(&d->plan[d->count], w->t, &inputs[k], err);
        if (code > 0) {
            d->input[d->count] = k;
            code = make_passage(w, d->count, y->operation, err);
            d->count += code == 0;
        }
        if (code == 0 && d->count == AT_ONCE)
            code = walk_passages(y, err);
    }
    if (code == 0)
        code = walk_passages(y, err);
    return code < 0 ? code : deliver_nothing_before(y, count, err);
}

static int keep_result(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    (void)index, (void)err;
    *(trl_transduction *)user = *result;
    return 0;
}

int trl__on_device_many(trl_transduce_work *w, trl_transduce_operation operation, const trl_transduce_input *inputs,
                        size_t count, trl_transduce_fn each, void *user, trl_error *err)
{
    delivery y = {.w = w, .operation = operation, .each = each, .user = user};
    return walk_inputs(&y, inputs, count, err);
}

int trl__on_device_one(trl_transduce_work *w, trl_transduce_operation operation, const trl_transduce_input *input,
                       trl_transduction *result, trl_error *err)
{
    return trl__on_device_many(w, operation, input, 1, keep_result, result, err);
}

int trl__on_device_batch(const trl_transducer *t, const trl_transduce_options *options,
                         trl_transduce_operation operation, const trl_transduce_input *inputs, size_t count,
                         trl_transduce_fn each, void *user, size_t *done, trl_error *err)
{
    delivery y = {.operation = operation, .each = each, .user = user};
    trl_error own;
    int code = trl_transduce_create(t, options, &y.w, &own);
    int is_open = code == 0 && y.w->device;
    if (is_open)
        code = walk_inputs(&y, inputs, count, &own);
    trl_transduce_destroy(y.w);
    *done = y.next;
    if (code < 0 && !y.each_failed && strcmp(options->device, "auto") == 0) {
        trl__log(TRL_LOG_WARNING, "the device fails: %s; the processor goes on from input %zu", own.text, y.next + 1);
        code = 0;
    }
    if (code < 0 && err)
        *err = own;
    return code;
}
