/* Machines on a device: what backend/machine.h has, over a driver.
 *
 * A call takes as many passages as the device has memory for. Each has its records and its piece of one block of work; nodes are
 * what their number is not known of: there is room for some at first, and when there was too little the passages are walked once
 * more with more of it.
 */
#include "backend/machine.h"
#include "backend/device/device_backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define MACHINE_ITEMS 256      /* of a group, on a graphics processor */
#define MOST_PASSAGES 256      /* of a call */
#define FIRST_NODES (1u << 16) /* room of a passage, where it may have more */

typedef struct driven_machine {
    trl__machine base;
    trl__machine_arrays a;
    trl__room symbol, arc, source, output, row_first, row_source, rank, bits, final, level;
} driven_machine;

/* ---- Going up ---- */

void trl__driven_machine_destroy(trl__machine *base)
{
    driven_machine *m = (driven_machine *)base;
    const trl__driver *driver = ((trl__driven_device *)base->device)->driver;
    trl__room *rooms[] = {&m->symbol,     &m->arc,  &m->source, &m->output, &m->row_first,
                          &m->row_source, &m->rank, &m->bits,   &m->final,  &m->level};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        trl__room_free(driver, rooms[i]);
    trl__free(m);
}

static int send_machine(trl__driven_stream *stream, driven_machine *m, trl_error *err)
{
    const trl__machine_arrays *a = &m->a;
    const size_t states = (size_t)a->states, arcs = (size_t)a->arcs;
    const struct {
        trl__room *room;
        const void *bytes;
        size_t size;
    } arrays[] = {
        {&m->symbol, a->symbol, a->symbols * sizeof *a->symbol},
        {&m->arc, a->arc, arcs * sizeof *a->arc},
        {&m->source, a->source, arcs * sizeof *a->source},
        {&m->output, a->output, arcs * sizeof *a->output},
        {&m->row_first, a->row_first, a->rows * sizeof *a->row_first},
        {&m->row_source, a->row_source, a->listed * sizeof *a->row_source},
        {&m->rank, a->rank, a->words * sizeof *a->rank},
        {&m->bits, a->bits, a->words * sizeof *a->bits},
        {&m->final, a->final, states * sizeof *a->final},
        {&m->level, a->level, states * sizeof *a->level},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof arrays / sizeof *arrays; i++)
        code = trl__send_array(stream, arrays[i].room, arrays[i].bytes, arrays[i].size, err);
    int finished = trl__driven_finish(stream, code < 0 ? NULL : err);
    return code < 0 ? code : finished;
}

int trl__driven_machine_create(trl__device *device, const trl__machine_arrays *arrays, trl__machine **out,
                               trl_error *err)
{
    const trl__driver_facts *facts = &((trl__driven_device *)device)->facts;
    trl__stream *stream = NULL;
    if (facts->lacks_long_atomics)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s has no atomic operations on 64 bits, which transducers need",
                         facts->name);
    driven_machine *m = trl__alloc_zero(1, sizeof *m);
    if (!m)
        return trl__fail_memory(err);
    m->base.device = device;
    m->a = *arrays;
    int code = trl__driven_stream_create(device, &stream, err);
    if (code == 0)
        code = send_machine((trl__driven_stream *)stream, m, err);
    if (stream)
        trl__driven_stream_destroy(stream);
    if (code < 0)
        trl__driven_machine_destroy(&m->base);
    else
        *out = &m->base;
    return code;
}

/* ---- Places ---- */

typedef struct walk {
    trl__driven_stream *stream;
    const driven_machine *machine;
    trl__walk_kind kind;
    trl__passage *passages;
    size_t count;
    size_t room[MOST_PASSAGES]; /* nodes */
    char *records;
    size_t record_bytes, work_bytes;
} walk;

static device_long take(size_t *at, size_t count, size_t size)
{
    size_t here = *at;
    *at += trl__whole(count * size, 8);
    return (device_long)here;
}

/* Where a passage's records and work lie, behind those of the others. */
static device_passage place_passage(const walk *w, size_t i, size_t *records, size_t *work)
{
    const trl__passage *p = &w->passages[i];
    const trl__machine_arrays *a = &w->machine->a;
    const size_t states = (size_t)a->states, nodes = w->room[i];
    const int best = w->kind == TRL__WALK_BEST, back = w->kind > TRL__WALK_FORWARD;
    device_passage d = {.positions = (int)p->positions,
                        .nodes = (int)nodes,
                        .states = a->states,
                        .start = a->start,
                        .epsilons = a->epsilons,
                        .levels = a->levels,
                        .closes = a->epsilons < 0 ? 0 : p->closes,
                        .closure_output = p->closure_output,
                        .arcs = p->live ? LIVE_ARCS : ALL_ARCS,
                        .count_to = (device_long)p->counts};
    d.step_at = take(records, p->steps, sizeof(device_step));
    d.first_at = take(records, p->positions + 1, sizeof(int32_t));
    d.out_first_at = take(records, p->positions + 1, sizeof(int32_t));
    d.out_at = take(records, p->steps, sizeof(int32_t));
    d.final_at = take(records, p->positions, sizeof(float));
    d.cell_at = take(work, states, sizeof(device_ulong));
    d.value_at = take(work, states, best ? sizeof(float) : sizeof(double));
    d.other_at = take(work, best ? 0 : states, sizeof(double));
    d.base_at = take(work, best ? p->positions : 0, sizeof(double));
    d.node_first_at = take(work, p->positions + 1, sizeof(int32_t));
    d.state_at = take(work, nodes, sizeof(uint32_t));
    d.score_at = take(work, best ? nodes : 0, sizeof(float));
    d.back_at = take(work, best ? nodes : 0, sizeof(uint32_t));
    d.alpha_at = take(work, best ? 0 : nodes, sizeof(double));
    d.beta_at = take(work, back ? nodes : 0, sizeof(double));
    d.move_at = take(work, best ? p->positions * (size_t)(a->levels + 1) : 0, sizeof(device_move));
    d.count_at = take(work, p->counts, sizeof(double));
    return d;
}

/* How many passages fit; at least one. Sets the sizes. */
static void choose_passages(walk *w, size_t count)
{
    const trl__driver_facts *facts = &trl__driven_device_of(w->stream)->facts;
    uint64_t most = facts->memory / 4 < facts->largest ? facts->memory / 4 : facts->largest;
    size_t records = count * sizeof(device_passage), work = count * sizeof(device_outcome);
    w->count = 0;
    while (w->count < count) {
        size_t more_records = records, more_work = work;
        place_passage(w, w->count, &more_records, &more_work);
        if (w->count > 0 && (more_work > most || more_records > most))
            break;
        records = more_records;
        work = more_work;
        w->count++;
    }
    w->record_bytes = records;
    w->work_bytes = work;
}

static void write_places(char *to, const size_t *places, size_t count)
{
    int32_t *out = (int32_t *)(void *)to;
    for (size_t i = 0; i < count; i++)
        out[i] = (int32_t)places[i];
}

static void write_passage(const walk *w, size_t i, size_t *records, size_t *work)
{
    const trl__passage *p = &w->passages[i];
    device_passage d = place_passage(w, i, records, work);
    ((device_passage *)(void *)w->records)[i] = d;
    if (p->steps > 0) {
        memcpy(w->records + d.step_at, p->step, p->steps * sizeof *p->step);
        memcpy(w->records + d.out_at, p->out, p->steps * sizeof *p->out);
    }
    write_places(w->records + d.first_at, p->first, p->positions + 1);
    write_places(w->records + d.out_first_at, p->out_first, p->positions + 1);
    memcpy(w->records + d.final_at, p->final, p->positions * sizeof *p->final);
}

/* ---- Walking ---- */

static int send_passages(walk *w, trl_error *err)
{
    w->records = trl__staging_get(w->stream, &w->stream->passage_bytes, w->record_bytes, err);
    if (!w->records)
        return TRL_ENOMEM;
    size_t records = w->count * sizeof(device_passage), work = w->count * sizeof(device_outcome);
    for (size_t i = 0; i < w->count; i++)
        write_passage(w, i, &records, &work);
    int code = trl__send(w->stream, &w->stream->passage_bytes, &w->stream->passages, records, err);
    return code < 0 ? code : trl__room_get(w->stream, &w->stream->work, work, err);
}

static int launch_walk(const walk *w, trl__kernel kernel, trl_error *err)
{
    const driven_machine *m = w->machine;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&w->stream->passages),
        trl__memory_argument(&w->stream->work),
        trl__memory_argument(&m->symbol),
        trl__memory_argument(&m->arc),
        trl__memory_argument(&m->source),
        trl__memory_argument(&m->output),
        trl__memory_argument(&m->row_first),
        trl__memory_argument(&m->row_source),
        trl__memory_argument(&m->rank),
        trl__memory_argument(&m->bits),
        trl__memory_argument(&m->final),
        trl__memory_argument(&m->level),
    };
    return w->stream->driver->launch(w->stream->queue, kernel, w->count,
                                     trl__driven_device_of(w->stream)->tiles ? 1 : MACHINE_ITEMS, arguments,
                                     sizeof arguments / sizeof *arguments, err);
}

/* All passages once; their outcomes. */
static int walk_once(walk *w, const device_outcome **outcomes, trl_error *err)
{
    int code = send_passages(w, err);
    if (code == 0)
        code = launch_walk(w, w->kind == TRL__WALK_BEST ? TRL__KERNEL_BEST_PATHS : TRL__KERNEL_SUM_FORWARD, err);
    if (code == 0 && w->kind > TRL__WALK_FORWARD)
        code = launch_walk(w, TRL__KERNEL_SUM_BACKWARD, err);
    device_outcome *down = trl__scratch_get(&w->stream->down, w->count, sizeof *down);
    if (!down)
        return trl__fail_memory(err);
    *outcomes = down;
    return code < 0 ? code : trl__fetch(w->stream, &w->stream->work, 0, down, w->count * sizeof *down, err);
}

/* 1: some passage had more nodes than there was room for, and has more room now. */
static int wants_room(walk *w, const device_outcome *outcomes)
{
    int wants = 0;
    for (size_t i = 0; i < w->count; i++) {
        size_t nodes = (size_t)outcomes[i].nodes, most = w->passages[i].most_nodes;
        if (nodes <= w->room[i])
            continue;
        w->room[i] = 2 * nodes < most ? 2 * nodes : most;
        wants = 1;
    }
    return wants;
}

/* ---- Coming down ---- */

static const device_passage *record_of(const walk *w, size_t i)
{
    return (const device_passage *)(const void *)w->records + i;
}

static int get(const walk *w, device_long at, void *bytes, size_t size, trl_error *err)
{
    trl__driven_stream *s = w->stream;
    return size > 0 ? s->driver->read(s->queue, s->work.memory, (size_t)at, bytes, size, err) : 0;
}

static int fetch_moves(const walk *w, const device_outcome *outcomes, trl_error *err)
{
    size_t total = 0;
    int code = 0;
    for (size_t i = 0; i < w->count; i++)
        total += (size_t)outcomes[i].moves;
    device_move *moves = trl__scratch_get(&w->stream->moves, total, sizeof *moves);
    if (!moves)
        return trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < w->count; i++) {
        trl__passage *p = &w->passages[i];
        p->move = moves;
        p->moves = (size_t)outcomes[i].moves;
        p->found = outcomes[i].least != UINT64_MAX;
        p->end_position = (int32_t)(outcomes[i].least_end >> 32);
        p->end_state = (int32_t)(uint32_t)outcomes[i].least_end;
        code = get(w, record_of(w, i)->move_at, moves, p->moves * sizeof *moves, err);
        moves += p->moves;
    }
    int finished = trl__driven_finish(w->stream, code < 0 ? NULL : err);
    return code < 0 ? code : finished;
}

static int fetch_counts(const walk *w, trl_error *err)
{
    size_t total = 0;
    int code = 0;
    for (size_t i = 0; i < w->count; i++)
        total += w->passages[i].counts;
    double *counts = trl__scratch_get(&w->stream->arc_counts, total, sizeof *counts);
    if (!counts)
        return trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < w->count; i++) {
        w->passages[i].count = counts;
        code = get(w, record_of(w, i)->count_at, counts, w->passages[i].counts * sizeof *counts, err);
        counts += w->passages[i].counts;
    }
    int finished = trl__driven_finish(w->stream, code < 0 ? NULL : err);
    return code < 0 ? code : finished;
}

/* The nodes of a passage's final positions: states, then shares of the total. */
static int fetch_ends(const walk *w, size_t i, const int32_t *first, int32_t *states, double *shares, trl_error *err)
{
    trl__passage *p = &w->passages[i];
    const device_passage *d = record_of(w, i);
    const float *final = w->machine->a.final;
    size_t used = 0, kept = 0;
    int code = 0;
    for (size_t at = 0; code == 0 && at < p->positions; at++) {
        size_t begin = (size_t)first[at], count = (size_t)first[at + 1] - begin;
        if (!(p->final[at] < INFINITY))
            continue;
        code = get(w, d->state_at + (device_long)(begin * sizeof *states), states + used, count * sizeof *states, err);
        if (code == 0)
            code =
                get(w, d->alpha_at + (device_long)(begin * sizeof *shares), shares + used, count * sizeof *shares, err);
        used += count;
    }
    int finished = trl__driven_finish(w->stream, code < 0 ? NULL : err);
    used = 0;
    for (size_t at = 0; code == 0 && finished == 0 && at < p->positions; at++)
        for (int32_t k = first[at]; p->final[at] < INFINITY && k < first[at + 1]; k++, used++) {
            double end = (double) final[states[used]] + (double)p->final[at];
            states[kept] = states[used];
            shares[kept] = exp(p->weight - shares[used] - end);
            kept += end < INFINITY;
        }
    p->final_state = states;
    p->final_count = shares;
    p->finals = kept;
    return code < 0 ? code : finished;
}

typedef struct all_ends {
    size_t nodes, places;
    double *shares;
    int32_t *states, *first;
} all_ends;

static void lay_out_ends(void *user, trl__pieces *pieces)
{
    all_ends *e = user;
    e->shares = trl__take(pieces, e->nodes, sizeof *e->shares);
    e->states = trl__take(pieces, e->nodes, sizeof *e->states);
    e->first = trl__take(pieces, e->places, sizeof *e->first);
}

/* Where the nodes of all positions begin, of all passages, then the ends. */
static int fetch_all_ends(const walk *w, const device_outcome *outcomes, trl_error *err)
{
    all_ends e = {0};
    for (size_t i = 0; i < w->count; i++) {
        e.places += w->passages[i].positions + 1;
        e.nodes += (size_t)outcomes[i].nodes;
    }
    if (trl__scratch_lay_out(&w->stream->ends, lay_out_ends, &e) < 0)
        return trl__fail_memory(err);
    int code = 0;
    for (size_t i = 0; code == 0 && i < w->count; i++) {
        size_t count = w->passages[i].positions + 1;
        code = get(w, record_of(w, i)->node_first_at, e.first, count * sizeof *e.first, err);
        if (code == 0)
            code = trl__driven_finish(w->stream, err);
        if (code == 0)
            code = fetch_ends(w, i, e.first, e.states, e.shares, err);
        e.states += w->passages[i].finals;
        e.shares += w->passages[i].finals;
        e.first += count;
    }
    return code;
}

static int fetch_sums(const walk *w, const device_outcome *outcomes, trl_error *err)
{
    for (size_t i = 0; i < w->count; i++) {
        trl__passage *p = &w->passages[i];
        p->weight = w->kind == TRL__WALK_BACKWARD ? outcomes[i].back_total : outcomes[i].total;
        p->found = p->weight < INFINITY;
    }
    if (w->kind != TRL__WALK_COUNTS)
        return 0;
    int code = fetch_counts(w, err);
    return code < 0 ? code : fetch_all_ends(w, outcomes, err);
}

static int check_passage(const trl__passage *p, trl_error *err)
{
    if (p->positions >= INT32_MAX || p->steps >= INT32_MAX || p->most_nodes >= INT32_MAX)
        return trl__fail(err, TRL_ELIMIT,
                         "an input of %zu positions and up to %zu live states is too long for a device; cut it in "
                         "parts, or use --device cpu",
                         p->positions, p->most_nodes);
    return 0;
}

int trl__driven_machine_walk(trl__stream *base, const trl__machine *machine, int kind, trl__passage *passages,
                             size_t count, size_t *done, trl_error *err)
{
    walk w = {.stream = (trl__driven_stream *)base,
              .machine = (const driven_machine *)machine,
              .kind = (trl__walk_kind)kind,
              .passages = passages};
    const device_outcome *outcomes = NULL;
    int code = 0;
    *done = 0;
    count = count < MOST_PASSAGES ? count : MOST_PASSAGES;
    for (size_t i = 0; i < count; i++) {
        w.room[i] = passages[i].most_nodes < FIRST_NODES ? passages[i].most_nodes : FIRST_NODES;
        code = code < 0 ? code : check_passage(&passages[i], err);
    }
    for (int wants = count > 0; code == 0 && wants; wants = code == 0 && wants_room(&w, outcomes)) {
        choose_passages(&w, count);
        code = walk_once(&w, &outcomes, err);
    }
    if (code < 0 || count == 0)
        return code;
    code = w.kind == TRL__WALK_BEST ? fetch_moves(&w, outcomes, err) : fetch_sums(&w, outcomes, err);
    *done = code < 0 ? 0 : w.count;
    return code;
}
