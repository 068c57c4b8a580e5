/* Step 3: counts, sums and squares of the frames, by Gaussian.
 *
 * Viterbi ([000] 3.4): the components of the aligned state alone are scored again, for runs of frames in one tied state; each frame
 * goes to the best. The Gaussians of an utterance lie all over the block's statistics, so first all best components are found, then
 * the frames are added while the slots of the next ones are fetched.
 *
 * Baum-Welch: the posterior of a row is the sum over its nodes; shares of components are computed for tiles of frames. Posteriors below
 * LEAST_SHARE are left out: a million of them do not change a count.
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

/* Fills gaussian[t - begin]; returns the sum of the scores. From the end to the beginning: step 1 went the other way, so the last
 * parameters are still near. */
static double best_components(trl__cpu_stream *stream, const trl__mixtures *m, const trl__placed *placed,
                              const trl__search *s, float *scratch, const trl__local_stats *local, int32_t *gaussian)
{
    int32_t component[TRL__TILE + TRL__ROW_PAD];
    float scores[TRL__TILE + TRL__ROW_PAD];
    double total = 0;
    trl__gmm_work work = {.m = m, .placed = placed, .scratch = scratch};
    for (work.end = s->end; work.end > s->begin; work.end = work.first) {
        work.first = run_start(s, work.end);
        work.tied = s->node_tied[s->path[work.first]];
        work.next = work.first > s->begin ? s->node_tied[s->path[work.first - 1]] : work.tied;
        stream->kernel->best(&work, component, scores);
        for (int32_t t = work.first; t < work.end; t++) {
            int32_t g = m->first_gaussian[work.tied] + component[t - work.first];
            gaussian[t - s->begin] = g;
            total += (double)scores[t - work.first];
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

int trl__cpu_accumulate(trl__cpu_stream *stream, const trl__mixtures *m, const trl__placed *placed, trl__search *s,
                        trl__local_stats *local, trl_error *err)
{
    float *scratch = trl__cpu_scratch(stream, m);
    int32_t count = s->end - s->begin, *gaussian = trl__scratch_get(&stream->work, (size_t)count + 1, sizeof *gaussian);
    if (!scratch || !gaussian)
        return trl__fail_memory(err);
    double total = best_components(stream, m, placed, s, scratch, local, gaussian);
    for (int32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_slot(local, gaussian[i + AHEAD]);
        double *slot = trl__local_stats_slot(local, gaussian[i]);
        if (!slot)
            return trl__fail_memory(err);
        add_frame(slot, trl_matrix_row(s->frames, (size_t)(s->begin + i)), (size_t)m->dim);
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
    int32_t *head, *link; /* nodes by row */
    float *gamma;         /* of the row's frames */
    float *share;         /* by component, TRL__TILE each */
} soft;

static int set_up_soft(soft *w, trl__scratch *scratch)
{
    const trl__search *s = w->s;
    size_t rows = (size_t)s->rows, nodes = (size_t)s->nodes, longest = 0;
    for (size_t r = 0; r < rows; r++)
        if ((size_t)(s->row[r].end - s->row[r].first) > longest)
            longest = (size_t)(s->row[r].end - s->row[r].first);
    char *memory = trl__scratch_get(
        scratch, trl__piece(rows, 4) + trl__piece(nodes, 4) + trl__piece(longest + TRL__TILE, sizeof(float)) + 1, 1);
    w->share = trl__cpu_scratch(w->stream, w->m);
    if (!memory || !w->share)
        return -1;
    w->head = trl__take(&memory, rows, 4);
    w->link = trl__take(&memory, nodes, 4);
    w->gamma = trl__take(&memory, longest + TRL__TILE, sizeof(float));
    for (size_t r = 0; r < rows; r++)
        w->head[r] = -1;
    for (int32_t n = s->nodes - 1; n >= 0; n--)
        if (s->node_first[n] < s->node_end_frame[n]) {
            w->link[n] = w->head[s->node_row[n]];
            w->head[s->node_row[n]] = n;
        }
    return 0;
}

/* The sum of a component's frames of a tile, weighted by its shares. */
static int add_component(const soft *w, int32_t gaussian, int32_t first, int32_t count, const float *share,
                         trl_error *err)
{
    size_t dim = (size_t)w->m->dim;
    double *slot = NULL;
    for (int32_t i = 0; i < count; i++) {
        if (share[i] < LEAST_SHARE)
            continue;
        slot = slot ? slot : trl__local_stats_slot(w->local, gaussian);
        if (!slot)
            return trl__fail_memory(err);
        const float *frame = trl_matrix_row(w->s->frames, (size_t)(first + i));
        double weight = (double)share[i];
        slot[0] += weight;
        for (size_t k = 0; k < dim; k++) {
            slot[1 + k] += weight * (double)frame[k];
            slot[1 + dim + k] += weight * (double)frame[k] * (double)frame[k];
        }
    }
    return 0;
}

static int add_row(const soft *w, int32_t r, trl_error *err)
{
    const trl__search *s = w->s;
    const trl__row *row = &s->row[r];
    int32_t length = row->end - row->first;
    memset(w->gamma, 0, (size_t)(length + TRL__TILE) * sizeof *w->gamma);
    for (int32_t n = w->head[r]; n >= 0; n = w->link[n])
        for (int32_t t = s->node_first[n]; t < s->node_end_frame[n]; t++)
            w->gamma[t - row->first] += s->gamma[s->gamma_offset[n] + (t - s->node_first[n])];
    for (int32_t i = 0; i < length;) {
        if (w->gamma[i] < LEAST_SHARE) {
            i++;
            continue;
        }
        int32_t count = length - i < TRL__TILE ? length - i : TRL__TILE, first = row->first + i;
        trl__gmm_work work = {.m = w->m,
                              .placed = w->placed,
                              .scratch = w->share,
                              .tied = row->tied,
                              .first = first,
                              .end = first + count,
                              .next = row->tied};
        w->stream->kernel->shares(&work, w->gamma + i);
        for (int32_t c = 0; c < trl__components(w->m, row->tied); c++) {
            int code = add_component(w, w->m->first_gaussian[row->tied] + c, first, count,
                                     w->share + (size_t)c * TRL__TILE, err);
            if (code < 0)
                return code;
        }
        i += count;
    }
    return 0;
}

int trl__cpu_accumulate_soft(trl__cpu_stream *stream, const trl__mixtures *m, const trl__placed *placed, trl__search *s,
                             trl__local_stats *local, trl_error *err)
{
    soft w = {stream, m, placed, s, local, NULL, NULL, NULL, NULL};
    if (set_up_soft(&w, &stream->work) < 0)
        return trl__fail_memory(err);
    int code = 0;
    for (int32_t r = 0; code == 0 && r < s->rows; r++)
        code = add_row(&w, r, err);
    if (code == 0)
        trl__add_arc_counts(s, local);
    return code;
}
