/* Step 3: counts, sums and squares of the frames, by Gaussian.
 *
 * Viterbi ([000] 3.4): each frame goes to the best component of its state. Step 1 has kept which one that is; where it
 * has not, the components of the aligned state are scored again, for runs of frames in one tied state. The Gaussians
 * of an utterance lie all over the block's statistics, so first all best components are found, then the frames are
 * added while the slots of the next ones are fetched.
 *
 * Baum-Welch: a row's posterior is the sum over its nodes. Where step 1 has found the score of a mixture to be that of
 * its best component, to the last bit, the others' shares are below what the scores are known to, and the frame is
 * that component's; that is nearly always so. Only where components really share a frame, they are scored again, and
 * the kernel finds the shares. Those below LEAST_SHARE are left out: a million of them do not change a count. So most
 * frames cost one addition to one Gaussian, whatever the number of states and components. Long utterances go in pieces
 * whose frames stay in the cache while the rows change.
 */
#include "backend/cpu/node_window.h"
#include "base/fail.h"

#include <string.h>

#define AHEAD 4 /* frames: slots fetched in advance */
#define LEAST_SHARE 1e-8f
#define NEARBY 8 /* frames: scoring a register of them costs as much as scoring one */

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
static double best_components(trl__cpu_stream *stream, trl__gmm_work *run, trl__placed *placed, const trl__kept *kept,
                              const trl__search *s, const trl__local_stats *local, int32_t *gaussian)
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
        if (is_kept(kept, s, run, &at)) {
            best = (trl__gmm_best){kept->best.component + at, kept->best.score + at};
        } else {
            trl__place_piece(placed, run->m, stream->kernel, run->first);
            stream->kernel->best(run, &best);
        }
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

int trl__cpu_accumulate(trl__cpu_stream *stream, const trl__mixtures *m, trl__placed *placed, const trl__kept *kept,
                        trl__search *s, trl__local_stats *local, trl_error *err)
{
    float *scratch = trl__cpu_scratch(stream, m);
    int32_t count = s->end - s->begin, *gaussian = trl__scratch_get(&stream->work, (size_t)count + 1, sizeof *gaussian);
    if (!scratch || !gaussian)
        return trl__fail_memory(err);
    trl__gmm_work work = {.m = m, .placed = placed, .scratch = scratch};
    double total = best_components(stream, &work, placed, kept, s, local, gaussian);
    for (int32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_slot(local, gaussian[i + AHEAD]);
        double *slot = trl__local_stats_slot(local, gaussian[i]);
        if (!slot)
            return trl__fail_memory(err);
        stream->kernel->add_frame(slot, trl_matrix_row(s->frames, (size_t)s->begin + (size_t)i), (size_t)m->dim, 1);
    }
    trl__add_path(s, total, local);
    return 0;
}

/* ---- Baum-Welch ---- */

typedef struct soft {
    trl__cpu_stream *stream;
    const trl__mixtures *m;
    trl__placed *placed;
    const trl__kept *kept;
    const trl__search *s;
    trl__local_stats *local;
    int32_t *node_of, *link; /* by row: its nodes */
    float *share;            /* by component, TRL__TILE each */

    /* The row at hand, in the piece at hand. */
    const trl__row *row;
    int32_t first, end;
    float *gamma;             /* from `first` on, and zeros for TRL__TILE frames more */
    const int32_t *component; /* the best, from row->first on; NULL: was not kept */
    const float *best, *score;
} soft;

static int set_up_soft(soft *w, trl__scratch *scratch)
{
    const trl__search *s = w->s;
    size_t rows = (size_t)s->rows, nodes = (size_t)s->nodes;
    char *memory = trl__scratch_get(
        scratch, trl__piece(TRL__PIECE + TRL__TILE, 4) + trl__piece(rows, 4) + trl__piece(nodes, 4), 1);
    w->share = trl__cpu_scratch(w->stream, w->m);
    if (!memory || !w->share)
        return -1;
    w->gamma = trl__take(&memory, TRL__PIECE + TRL__TILE, 4);
    w->node_of = trl__take(&memory, rows, 4);
    w->link = trl__take(&memory, nodes, 4);
    memset(w->node_of, -1, rows * sizeof *w->node_of);
    for (int32_t n = s->nodes - 1; n >= 0; n--)
        if (s->node_first[n] < s->node_end_frame[n]) {
            w->link[n] = w->node_of[s->node_row[n]];
            w->node_of[s->node_row[n]] = n;
        }
    return 0;
}

/* The row's posteriors are the sums of its nodes'. */
static void sum_gamma(soft *w, int32_t r)
{
    const trl__search *s = w->s;
    memset(w->gamma, 0, (size_t)(w->end - w->first + TRL__TILE) * sizeof *w->gamma);
    for (int32_t n = w->node_of[r]; n >= 0; n = w->link[n]) {
        const float *gamma = s->gamma + s->gamma_offset[n] - s->node_first[n];
        int32_t from = s->node_first[n] > w->first ? s->node_first[n] : w->first;
        int32_t to = s->node_end_frame[n] < w->end ? s->node_end_frame[n] : w->end;
        for (int32_t t = from; t < to; t++)
            w->gamma[t - w->first] += gamma[t];
    }
}

/* What step 1 has kept of the row. Without log-add, scores do not say whether a component is alone. */
static void find_kept(soft *w, int32_t r)
{
    const trl__kept *kept = w->kept;
    w->component = NULL;
    if (r >= kept->rows || memcmp(&kept->row[r], w->row, sizeof *w->row) != 0 || w->s->combine != TRL__LOG_ADD)
        return;
    w->component = kept->best.component + w->row->offset;
    w->best = kept->best.score + w->row->offset;
    w->score = w->s->scores + w->row->offset;
}

static int is_mixed(const soft *w, int32_t t)
{
    int32_t i = t - w->row->first;
    return w->gamma[t - w->first] >= LEAST_SHARE && !(w->component && w->best[i] == w->score[i]);
}

/* A frame that is all the best component's. */
static int add_alone(const soft *w, int32_t t)
{
    int32_t gaussian = w->m->first_gaussian[w->row->tied] + w->component[t - w->row->first];
    double *slot = trl__local_stats_slot(w->local, gaussian);
    if (slot)
        w->stream->kernel->add_frame(slot, trl_matrix_row(w->s->frames, (size_t)t), (size_t)w->m->dim,
                                     (double)w->gamma[t - w->first]);
    return slot ? 0 : -1;
}

/* Frames [t, end) that have been shared out, to one component. */
static int add_shares(const soft *w, int32_t c, int32_t t, int32_t end)
{
    const float *share = w->share + (size_t)c * TRL__TILE;
    double *slot = NULL;
    for (; t < end; t++, share++) {
        if (*share < LEAST_SHARE)
            continue;
        if (!slot && !(slot = trl__local_stats_slot(w->local, w->m->first_gaussian[w->row->tied] + c)))
            return -1;
        w->stream->kernel->add_frame(slot, trl_matrix_row(w->s->frames, (size_t)t), (size_t)w->m->dim, (double)*share);
    }
    return 0;
}

/* From frame t, which several components share, to the last one nearby; returns the frame behind. */
static int32_t add_mixed(const soft *w, int32_t t)
{
    int32_t end = t + 1;
    for (int32_t i = end; i < w->end && i < t + TRL__TILE && i < end + NEARBY; i++)
        if (is_mixed(w, i))
            end = i + 1;
    trl__place_piece(w->placed, w->m, w->stream->kernel, t);
    trl__gmm_work work = {w->m, w->placed, w->share, w->row->tied, t, end, w->row->tied};
    w->stream->kernel->shares(&work, w->gamma + (t - w->first));
    for (int32_t c = 0; c < trl__components(w->m, w->row->tied); c++)
        if (add_shares(w, c, t, end) < 0)
            return -1;
    return end;
}

/* What a row has in the piece [first, end). */
static int add_row(soft *w, int32_t r, int32_t first, int32_t end)
{
    w->row = &w->s->row[r];
    w->first = w->row->first > first ? w->row->first : first;
    w->end = w->row->end < end ? w->row->end : end;
    if (w->first >= w->end || w->node_of[r] < 0)
        return 0;
    sum_gamma(w, r);
    find_kept(w, r);
    int32_t t = w->first;
    while (t >= 0 && t < w->end)
        if (is_mixed(w, t))
            t = add_mixed(w, t);
        else if (w->gamma[t - w->first] >= LEAST_SHARE && add_alone(w, t) < 0)
            t = -1;
        else
            t++;
    return t;
}

int trl__cpu_accumulate_soft(trl__cpu_stream *stream, const trl__mixtures *m, trl__placed *placed,
                             const trl__kept *kept, trl__search *s, trl__local_stats *local, trl_error *err)
{
    soft w = {.stream = stream, .m = m, .placed = placed, .kept = kept, .s = s, .local = local};
    if (set_up_soft(&w, &stream->work) < 0)
        return trl__fail_memory(err);
    for (int32_t first = 0; first < s->end; first += TRL__PIECE)
        for (int32_t r = 0; r < s->rows; r++)
            if (add_row(&w, r, first, s->end - first < TRL__PIECE ? s->end : first + TRL__PIECE) < 0)
                return trl__fail_memory(err);
    trl__add_arc_counts(s, local);
    return 0;
}
