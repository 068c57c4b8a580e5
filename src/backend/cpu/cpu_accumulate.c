/* Step 3: counts, sums and squares of the frames, by Gaussian.
 *
 * Viterbi ([000] 3.4): each frame goes to the best component of its state. Step 1 has kept which one that is; where it
 * has not, the components of the aligned state are scored again, for runs of frames in one tied state. The Gaussians
 * of an utterance lie all over the block's statistics, so first all best components are found, then the frames are
 * added while the slots of the next ones are fetched.
 *
 * Baum-Welch: frames go by in blocks of TRL__TILE. For each row in a block its posterior is the sum over its nodes,
 * the kernel shares it out to the components, and the sums of four components at a time are a product of matrices:
 * shares times (1, o, o²). Shares below LEAST_SHARE are left out: a million of them do not change a count.
 */
#include "backend/cpu/node_window.h"
#include "base/fail.h"

#include <string.h>

#define AHEAD 4 /* frames: slots fetched in advance */
#define LEAST_SHARE 1e-12f

/* ---- Viterbi ---- */

/* The first frame of the run in one tied state that ends at `end`; at most TRL__TILE frames. */
static int32_t run_start(const trl__search *s, int32_t end)
{
    int32_t first = end - 1, tied = s->node_tied[s->path[first]];
    while (first > s->begin && first > end - TRL__TILE && s->node_tied[s->path[first - 1]] == tied)
        first--;
    return first;
}

/* Did step 1 keep the best components of this run? *at is where they stand. */
static int is_kept(const trl__kept *kept, const trl__search *s, const trl__gmm_work *run, int64_t *at)
{
    int32_t r = kept->rows > 0 && s->node_row ? s->node_row[s->path[run->first]] : -1;
    if (r < 0 || r >= kept->rows)
        return 0;
    const trl__row *row = &kept->row[r];
    *at = row->offset + (run->first - row->first);
    return row->tied == run->tied && row->first <= run->first && row->end >= run->end;
}

/* Fills gaussian[t - begin]; returns the sum of the scores. From the end to the beginning: step 1 went the other way,
 * so the last parameters are still near. */
static double best_components(trl__cpu_stream *stream, trl__gmm_work *run, const trl__kept *kept, const trl__search *s,
                              const trl__local_stats *local, int32_t *gaussian)
{
    int32_t component[TRL__TILE + TRL__ROW_PAD];
    float scores[TRL__TILE + TRL__ROW_PAD];
    double total = 0;
    for (run->end = s->end; run->end > s->begin; run->end = run->first) {
        trl__gmm_best best = {component, scores};
        int64_t at;
        run->first = run_start(s, run->end);
        run->tied = s->node_tied[s->path[run->first]];
        run->next = run->first > s->begin ? s->node_tied[s->path[run->first - 1]] : run->tied;
        if (is_kept(kept, s, run, &at))
            best = (trl__gmm_best){kept->best.component + at, kept->best.score + at};
        else
            stream->kernel->best(run, &best);
        for (int32_t t = run->first; t < run->end; t++) {
            int32_t g = run->m->first_gaussian[run->tied] + best.component[t - run->first];
            gaussian[t - s->begin] = g;
            total += (double)best.score[t - run->first];
            __builtin_prefetch(&local->slot_of[g]);
        }
    }
    return total;
}

static void fetch_slot(const trl__local_stats *local, int32_t gaussian)
{
    size_t size = 1 + 2 * (size_t)local->dim;
    if (local->slot_of[gaussian] >= 0)
        for (size_t i = 0; i < size; i += 8)
            __builtin_prefetch(local->slots + (size_t)local->slot_of[gaussian] * size + i, 1, 2);
}

static void add_frame(double *restrict slot, const float *restrict frame, size_t dim)
{
    slot[0] += 1;
    for (size_t k = 0; k < dim; k++)
        slot[1 + k] += (double)frame[k];
    for (size_t k = 0; k < dim; k++)
        slot[1 + dim + k] += (double)frame[k] * (double)frame[k];
}

int trl__cpu_accumulate(trl__cpu_stream *stream, const trl__mixtures *m, const trl__placed *placed,
                        const trl__kept *kept, trl__search *s, trl__local_stats *local, trl_error *err)
{
    float *scratch = trl__cpu_scratch(stream, m);
    int32_t count = s->end - s->begin, *gaussian = trl__scratch_get(&stream->work, (size_t)count + 1, sizeof *gaussian);
    if (!scratch || !gaussian)
        return trl__fail_memory(err);
    trl__gmm_work work = {.m = m, .placed = placed, .scratch = scratch};
    double total = best_components(stream, &work, kept, s, local, gaussian);
    for (int32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_slot(local, gaussian[i + AHEAD]);
        double *slot = trl__local_stats_slot(local, gaussian[i]);
        if (!slot)
            return trl__fail_memory(err);
        add_frame(slot, trl_matrix_row(s->frames, (size_t)s->begin + (size_t)i), (size_t)m->dim);
    }
    trl__add_path(s, total, local);
    return 0;
}

/* ---- Baum-Welch ---- */

typedef struct soft {
    trl__cpu_stream *stream;
    const trl__mixtures *m;
    const trl__placed *placed;
    const trl__search *s;
    trl__local_stats *local;
    int32_t *node_of, *link; /* by row: its nodes */
    int32_t *starts, *later; /* by block: the rows that begin in it */
    int32_t *active, active_count;
    size_t columns;
    double *x;         /* the block's frames as a slot has them: 1, o, o², then zeros up to `columns` */
    int32_t filled;    /* the block that x holds */
    double *sums;      /* of TRL__GROUP components */
    double *weight;    /* by frame: shares of TRL__GROUP components */
    float *gamma;      /* by frame of the block */
    float *share;      /* by component, TRL__TILE each */
    int32_t *gaussian; /* those that have a share of the block */
} soft;

/* Lists of `count` things by their key, in rising order; those with key < 0 are left out. */
static void make_lists(int32_t *head, size_t heads, int32_t *link, int32_t count,
                       int32_t (*key)(const trl__search *, int32_t), const trl__search *s)
{
    memset(head, -1, heads * sizeof *head);
    for (int32_t i = count - 1; i >= 0; i--) {
        int32_t k = key(s, i);
        if (k >= 0) {
            link[i] = head[k];
            head[k] = i;
        }
    }
}

static int32_t row_of_node(const trl__search *s, int32_t n)
{
    return s->node_first[n] < s->node_end_frame[n] ? s->node_row[n] : -1;
}

static int32_t block_of_row(const trl__search *s, int32_t r)
{
    return s->row[r].first < s->row[r].end ? s->row[r].first / TRL__TILE : -1;
}

static int set_up_soft(soft *w, trl__scratch *scratch)
{
    const trl__search *s = w->s;
    size_t rows = (size_t)s->rows, nodes = (size_t)s->nodes, blocks = (size_t)s->end / TRL__TILE + 1;
    size_t step = w->stream->kernel->column_step, columns = (2 * (size_t)w->m->dim + step) / step * step;
    size_t components = (size_t)w->m->most_components;
    char *memory = trl__scratch_get(scratch,
                                    trl__piece(TRL__TILE * columns, 8) + trl__piece(TRL__GROUP * columns, 8) +
                                        trl__piece(TRL__TILE * TRL__GROUP, 8) + trl__piece(2 * TRL__TILE, 4) +
                                        3 * trl__piece(rows, 4) + trl__piece(nodes, 4) + trl__piece(blocks, 4) +
                                        trl__piece(components, 4),
                                    1);
    w->share = trl__cpu_scratch(w->stream, w->m);
    if (!memory || !w->share)
        return -1;
    w->columns = columns;
    w->filled = -1;
    w->x = trl__take(&memory, TRL__TILE * columns, 8);
    w->sums = trl__take(&memory, TRL__GROUP * columns, 8);
    w->weight = trl__take(&memory, TRL__TILE * TRL__GROUP, 8);
    w->gamma = trl__take(&memory, 2 * TRL__TILE, 4);
    w->node_of = trl__take(&memory, rows, 4);
    w->later = trl__take(&memory, rows, 4);
    w->active = trl__take(&memory, rows, 4);
    w->link = trl__take(&memory, nodes, 4);
    w->starts = trl__take(&memory, blocks, 4);
    w->gaussian = trl__take(&memory, components, 4);
    make_lists(w->node_of, rows, w->link, s->nodes, row_of_node, s);
    make_lists(w->starts, blocks, w->later, s->rows, block_of_row, s);
    return 0;
}

static void fill_block(soft *w, int32_t first, int32_t end)
{
    size_t dim = (size_t)w->m->dim;
    for (int32_t t = first; w->filled != first && t < end; t++) {
        const float *frame = trl_matrix_row(w->s->frames, (size_t)t);
        double *x = w->x + (size_t)(t - first) * w->columns;
        x[0] = 1;
        for (size_t k = 0; k < dim; k++)
            x[1 + k] = (double)frame[k];
        for (size_t k = 0; k < dim; k++)
            x[1 + dim + k] = (double)frame[k] * (double)frame[k];
        for (size_t j = 1 + 2 * dim; j < w->columns; j++)
            x[j] = 0;
    }
    w->filled = first;
}

/* The row's posteriors of frames [first, end), from those of its nodes; returns the stretch that is not nothing. */
static void sum_gamma(soft *w, int32_t r, int32_t *first, int32_t *end)
{
    const trl__search *s = w->s;
    memset(w->gamma, 0, 2 * TRL__TILE * sizeof *w->gamma);
    for (int32_t n = w->node_of[r]; n >= 0; n = w->link[n]) {
        const float *gamma = s->gamma + s->gamma_offset[n] - s->node_first[n];
        int32_t from = s->node_first[n] > *first ? s->node_first[n] : *first;
        int32_t to = s->node_end_frame[n] < *end ? s->node_end_frame[n] : *end;
        for (int32_t t = from; t < to; t++)
            w->gamma[t - *first] += gamma[t];
    }
    int32_t skip = 0;
    while (*end > *first && w->gamma[*end - *first - 1] < LEAST_SHARE)
        --*end;
    while (skip < *end - *first && w->gamma[skip] < LEAST_SHARE)
        skip++;
    memmove(w->gamma, w->gamma + skip, TRL__TILE * sizeof *w->gamma);
    *first += skip;
}

/* Components with a share that counts, of the tied state at hand. */
static int32_t find_components(const soft *w, int32_t tied, int32_t frames)
{
    int32_t found = 0;
    for (int32_t c = 0; c < trl__components(w->m, tied); c++) {
        const float *share = w->share + (size_t)c * TRL__TILE;
        int32_t i = 0;
        while (i < frames && share[i] < LEAST_SHARE)
            i++;
        if (i < frames)
            w->gaussian[found++] = c;
    }
    return found;
}

/* Adds the frames to `count` (at most TRL__GROUP) components. */
static int add_components(soft *w, int32_t tied, const int32_t *component, int32_t count, const double *x,
                          int32_t frames, trl_error *err)
{
    for (int32_t c = 0; c < TRL__GROUP; c++) {
        const float *share = w->share + (size_t)component[c < count ? c : 0] * TRL__TILE;
        for (int32_t i = 0; i < frames; i++)
            w->weight[i * TRL__GROUP + c] = (double)share[i];
    }
    w->stream->kernel->gather(w->weight, x, w->columns, frames, w->sums);
    for (int32_t c = 0; c < count; c++) {
        double *slot = trl__local_stats_slot(w->local, w->m->first_gaussian[tied] + component[c]);
        if (!slot)
            return trl__fail_memory(err);
        for (size_t j = 0; j < 1 + 2 * (size_t)w->m->dim; j++)
            slot[j] += w->sums[(size_t)c * w->columns + j];
    }
    return 0;
}

/* What a row has in the block [first, end). */
static int add_row(soft *w, int32_t r, int32_t first, int32_t end, trl_error *err)
{
    const trl__row *row = &w->s->row[r];
    int32_t from = row->first > first ? row->first : first, to = row->end < end ? row->end : end;
    int code = 0;
    sum_gamma(w, r, &from, &to);
    if (from >= to)
        return 0;
    fill_block(w, first, end);
    trl__gmm_work work = {w->m, w->placed, w->share, row->tied, from, to, row->tied};
    w->stream->kernel->shares(&work, w->gamma);
    const double *x = w->x + (size_t)(from - first) * w->columns;
    int32_t found = find_components(w, row->tied, to - from);
    for (int32_t c = 0; code == 0 && c < found; c += TRL__GROUP)
        code = add_components(w, row->tied, w->gaussian + c, found - c < TRL__GROUP ? found - c : TRL__GROUP, x,
                              to - from, err);
    return code;
}

int trl__cpu_accumulate_soft(trl__cpu_stream *stream, const trl__mixtures *m, const trl__placed *placed, trl__search *s,
                             trl__local_stats *local, trl_error *err)
{
    soft w = {.stream = stream, .m = m, .placed = placed, .s = s, .local = local};
    int code = set_up_soft(&w, &stream->work) < 0 ? trl__fail_memory(err) : 0;
    for (int32_t first = 0; code == 0 && first < s->end; first += TRL__TILE) {
        int32_t end = first + TRL__TILE < s->end ? first + TRL__TILE : s->end, kept = 0;
        for (int32_t r = w.starts[first / TRL__TILE]; r >= 0; r = w.later[r])
            w.active[w.active_count++] = r;
        for (int32_t i = 0; code == 0 && i < w.active_count; i++) {
            code = add_row(&w, w.active[i], first, end, err);
            w.active[kept] = w.active[i];
            kept += s->row[w.active[i]].end > end;
        }
        w.active_count = kept;
    }
    if (code == 0)
        trl__add_arc_counts(s, local);
    return code;
}
