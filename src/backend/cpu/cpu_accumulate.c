/* Step 3: counts, sums and squares of the frames, by Gaussian.
 *
 * Viterbi ([000] 3.4): each frame goes to the best component of its state. Step 1 has kept which one that is; where it
 * has not, the components of the aligned state are scored again, for runs of frames in one tied state. The Gaussians
 * of an utterance lie all over the block's statistics, so first all best components are found, then the frames are
 * added while the slots of the next ones are fetched. Where components share their frames, a run is scored again, and
 * each component gets its part of every frame.
 *
 * Baum-Welch: a row's posterior is the sum over its nodes. Where step 1 has found the score of a mixture to be that of
 * its best component, to the last bit, the others' shares are below what the scores are known to, and the frame is
 * that component's; that is nearly always so. Frames that components really share are set aside, scored again many at
 * once, and shared out by the kernel. Shares below LEAST_SHARE are left out: a million of them do not change a count. So most
 * frames cost one addition to one Gaussian, whatever the number of states and components. Long utterances go in pieces
 * whose frames stay in the cache while the rows change.
 */
#include "backend/cpu/cpu_backend.h"
#include "base/fail.h"

#include <string.h>

#define AHEAD 4 /* frames: what is fetched in advance */
#define LEAST_SHARE 1e-8f

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

/* Frames to the best components. */
static int add_best(trl__cpu_stream *stream, const trl__mixtures *m, const trl__search *s, const int32_t *gaussian,
                    trl__local_stats *local, trl_error *err)
{
    int32_t count = s->end - s->begin;
    for (int32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_slot(local, gaussian[i + AHEAD]);
        if (!trl__is_sampled(s, s->node_tied[s->path[s->begin + i]], s->begin + i))
            continue;
        double *slot = trl__local_stats_slot(local, gaussian[i]);
        if (!slot)
            return trl__fail_memory(err);
        stream->kernel->add_frame(slot, trl_matrix_row(s->frames, (size_t)s->begin + (size_t)i), (size_t)m->dim, 1);
    }
    return 0;
}

/* A run's frames to one component, each by its share. */
static int add_component(trl__cpu_stream *stream, const trl__gmm_work *run, const trl__search *s, int32_t component,
                         trl__local_stats *local)
{
    const float *share = run->scratch + (size_t)component * TRL__TILE - run->first;
    double *slot = NULL;
    for (int32_t t = run->first; t < run->end; t++) {
        if (share[t] < LEAST_SHARE || !trl__is_sampled(s, run->tied, t))
            continue;
        if (!slot)
            slot = trl__local_stats_slot(local, run->m->first_gaussian[run->tied] + component);
        if (!slot)
            return -1;
        stream->kernel->add_frame(slot, trl_matrix_row(s->frames, (size_t)t), (size_t)run->m->dim, (double)share[t]);
    }
    return 0;
}

/* Frames to all components of their states. A run that leaves the piece of placed frames is cut there. */
static int add_shares(trl__cpu_stream *stream, trl__gmm_work *run, trl__placed *placed, const trl__search *s,
                      trl__local_stats *local, trl_error *err)
{
    float whole[TRL__TILE + TRL__ROW_PAD];
    for (int32_t i = 0; i < TRL__TILE + TRL__ROW_PAD; i++)
        whole[i] = 1;
    for (run->end = s->end; run->end > s->begin; run->end = run->first) {
        int32_t piece = run->end - 1 - (run->end - 1 - placed->begin) % TRL__PIECE;
        run->first = run_start(s, run->end);
        run->first = run->first > piece ? run->first : piece;
        run->tied = run->next = s->node_tied[s->path[run->first]];
        trl__place_piece(placed, run->m, stream->kernel, run->first);
        stream->kernel->shares(run, whole);
        for (int32_t c = 0; c < trl__components(run->m, run->tied); c++)
            if (add_component(stream, run, s, c, local) < 0)
                return trl__fail_memory(err);
    }
    return 0;
}

int trl__cpu_accumulate(trl__cpu_stream *stream, const trl__mixtures *m, trl__placed *placed, const trl__kept *kept,
                        trl__search *s, trl__local_stats *local, trl_error *err)
{
    float *scratch = trl__cpu_scratch(stream, m);
    int32_t count = s->end - s->begin, *gaussian = trl__scratch_get(&stream->work, (size_t)count, sizeof *gaussian);
    if (!scratch || !gaussian)
        return trl__fail_memory(err);
    trl__gmm_work work = {.m = m, .placed = placed, .scratch = scratch};
    double total = best_components(stream, &work, placed, kept, s, local, gaussian);
    int code =
        s->shares ? add_shares(stream, &work, placed, s, local, err) : add_best(stream, m, s, gaussian, local, err);
    if (code == 0)
        trl__add_path(s, total, local);
    return code;
}

/* ---- Baum-Welch ---- */

typedef struct soft {
    trl__cpu_stream *stream;
    const trl__mixtures *m;
    const trl__kept *kept;
    const trl__search *s;
    trl__local_stats *local;
    int32_t *node_of, *link; /* by row: its nodes */
    float *share;            /* by component, TRL__TILE each */

    /* The row at hand, in the piece at hand. */
    const trl__row *row;
    int32_t first, end;
    float *gamma;             /* from `first` on, and zeros for AHEAD frames more */
    const int32_t *component; /* the best, from row->first on; NULL: was not kept */
    const float *best, *score;

    /* Its frames that several components share, set aside until there are enough for the kernel. */
    int32_t mixed_count, mixed_frame[TRL__TILE];
    float mixed_gamma[TRL__TILE];
    trl_matrix mixed;
    trl__placed *mixed_placed;
} soft;

static void lay_out_soft(void *user, trl__pieces *pieces)
{
    soft *w = user;
    size_t dim = (size_t)w->m->dim;
    w->gamma = trl__take(pieces, TRL__PIECE + AHEAD, sizeof *w->gamma);
    w->node_of = trl__take(pieces, (size_t)w->s->rows, sizeof *w->node_of);
    w->link = trl__take(pieces, (size_t)w->s->nodes, sizeof *w->link);
    w->mixed = (trl_matrix){.data = trl__take(pieces, TRL__TILE * dim, sizeof(float)), .cols = dim, .stride = dim};
}

static int set_up_soft(soft *w)
{
    const trl__search *s = w->s;
    w->share = trl__cpu_scratch(w->stream, w->m);
    if (!w->share || trl__scratch_lay_out(&w->stream->work, lay_out_soft, w) < 0)
        return -1;
    memset(w->node_of, -1, (size_t)s->rows * sizeof *w->node_of);
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
    memset(w->gamma, 0, (size_t)(w->end - w->first + AHEAD) * sizeof *w->gamma);
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
    const trl__row *row = w->row, *then = r < kept->rows ? &kept->row[r] : NULL;
    w->component = NULL;
    if (!then || then->tied != row->tied || then->first != row->first || then->end != row->end ||
        then->offset != row->offset || w->s->combine != TRL__LOG_ADD)
        return;
    w->component = kept->best.component + row->offset;
    w->best = kept->best.score + row->offset;
    w->score = w->s->scores + row->offset;
}

/* Is the frame all its best component's? */
static int is_alone(const soft *w, int32_t t)
{
    int32_t i = t - w->row->first;
    return w->component && w->best[i] == w->score[i];
}

static int add(const soft *w, int32_t component, int32_t t, float weight)
{
    double *slot = trl__local_stats_slot(w->local, w->m->first_gaussian[w->row->tied] + component);
    if (slot)
        w->stream->kernel->add_frame(slot, trl_matrix_row(w->s->frames, (size_t)t), (size_t)w->m->dim, (double)weight);
    return slot ? 0 : -1;
}

/* Shares out the frames that were set aside. */
static int add_mixed(soft *w, trl_error *err)
{
    int32_t count = w->mixed_count;
    w->mixed.rows = (size_t)count;
    w->mixed_count = 0;
    int code = count > 0 ? trl__place(w->mixed_placed, w->m, w->stream->kernel, &w->mixed, 0, count, err) : 0;
    if (code < 0 || count == 0)
        return code;
    trl__place_piece(w->mixed_placed, w->m, w->stream->kernel, 0);
    trl__gmm_work work = {w->m, w->mixed_placed, w->share, w->row->tied, 0, count, w->row->tied};
    w->stream->kernel->shares(&work, w->mixed_gamma);
    for (int32_t c = 0; c < trl__components(w->m, w->row->tied); c++) {
        const float *share = w->share + (size_t)c * TRL__TILE;
        for (int32_t i = 0; i < count; i++)
            if (share[i] >= LEAST_SHARE && add(w, c, w->mixed_frame[i], share[i]) < 0)
                return trl__fail_memory(err);
    }
    return 0;
}

static int set_aside(soft *w, int32_t t, trl_error *err)
{
    int32_t i = w->mixed_count++;
    w->mixed_frame[i] = t;
    w->mixed_gamma[i] = w->gamma[t - w->first];
    memcpy(trl_matrix_row(&w->mixed, (size_t)i), trl_matrix_row(w->s->frames, (size_t)t), (size_t)w->m->dim * 4);
    return w->mixed_count == TRL__TILE ? add_mixed(w, err) : 0;
}

static void fetch_frame(const soft *w, int32_t t)
{
    const float *frame = trl_matrix_row(w->s->frames, (size_t)t);
    for (int32_t k = 0; k < w->m->dim; k += 16)
        __builtin_prefetch(frame + k);
}

/* What a row has in the piece [first, end). */
static int add_row(soft *w, int32_t r, int32_t first, int32_t end, trl_error *err)
{
    int code = 0;
    w->row = &w->s->row[r];
    w->first = w->row->first > first ? w->row->first : first;
    w->end = w->row->end < end ? w->row->end : end;
    if (w->first >= w->end || w->node_of[r] < 0)
        return 0;
    sum_gamma(w, r);
    find_kept(w, r);
    for (int32_t t = w->first; code == 0 && t < w->end; t++) {
        if (w->gamma[t - w->first + AHEAD] >= LEAST_SHARE)
            fetch_frame(w, t + AHEAD);
        if (w->gamma[t - w->first] < LEAST_SHARE || !trl__is_sampled(w->s, w->row->tied, t))
            continue;
        if (!is_alone(w, t))
            code = set_aside(w, t, err);
        else if (add(w, w->component[t - w->row->first], t, w->gamma[t - w->first]) < 0)
            code = trl__fail_memory(err);
    }
    return code < 0 ? code : add_mixed(w, err);
}

int trl__cpu_accumulate_soft(trl__cpu_stream *stream, const trl__mixtures *m, const trl__kept *kept, trl__search *s,
                             trl__local_stats *local, trl_error *err)
{
    soft w = {.stream = stream, .m = m, .mixed_placed = &stream->mixed, .kept = kept, .s = s, .local = local};
    int code = set_up_soft(&w) < 0 ? trl__fail_memory(err) : 0;
    for (int32_t first = 0; code == 0 && first < s->end; first += TRL__PIECE)
        for (int32_t r = 0; code == 0 && r < s->rows; r++)
            code = add_row(&w, r, first, s->end - first < TRL__PIECE ? s->end : first + TRL__PIECE, err);
    if (code == 0)
        trl__add_arc_counts(s, local);
    return code;
}
