/* Step 1: rows are cut into pieces, one for each group. */
#include "backend/device/device_backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define LANES_PIECE 64   /* frames of a group with many items: one each */
#define TILES_PIECE 512  /* frames of a group with one item: they stay in its cache */
#define LN_2 0.69314718f /* scores are powers of two inside */

typedef struct row_work {
    device_piece *pieces;
    size_t piece_count, row_count;
    int64_t floats;
    int32_t most; /* frames of a piece */
    int whole;    /* the shape for whole frames */
} row_work;

static size_t pieces_of(const trl__search *searches, size_t count, int32_t most, size_t *rows)
{
    size_t pieces = 0;
    *rows = 0;
    for (size_t i = 0; i < count; i++) {
        *rows += (size_t)searches[i].rows;
        for (int32_t r = 0; r < searches[i].rows; r++) {
            int32_t frames = searches[i].row[r].end - searches[i].row[r].first;
            pieces += frames > 0 ? (size_t)(frames + most - 1) / (size_t)most : 0;
        }
    }
    return pieces;
}

static int cut_row(trl__driven_stream *stream, const trl__driven_parameters *p, row_work *w, const trl__search *s,
                   const trl__sent *sent, int32_t r, trl_error *err)
{
    const trl__row *row = &s->row[r];
    if (row->tied < 0 || row->tied >= p->m.tied_states || row->first < s->begin || row->end > s->end)
        return trl__fail(err, TRL_EINVAL, "row %d: tied state %d of %d, frames %d to %d of %d to %d", (int)r,
                         (int)row->tied, (int)p->m.tied_states, (int)row->first, (int)row->end, (int)s->begin,
                         (int)s->end);
    stream->row_at[w->row_count++] = w->floats;
    for (int32_t t = row->first; t < row->end; t += w->most) {
        int32_t count = row->end - t < w->most ? row->end - t : w->most;
        w->pieces[w->piece_count++] = (device_piece){.lanes = sent->lane_at / LANES * p->lane_rows * LANE_STRIDE,
                                                     .score_at = w->floats + (t - row->first),
                                                     .tied = row->tied,
                                                     .first = t - sent->begin,
                                                     .count = count};
    }
    w->floats += row->end > row->first ? row->end - row->first : 0;
    return 0;
}

static int cut_rows(trl__driven_stream *stream, const trl__driven_parameters *p, row_work *w, trl__search *searches,
                    size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        trl__search *s = &searches[i];
        trl__sent *sent = trl__sent_of(stream, s, i, err);
        if (!sent)
            return TRL_EINVAL;
        sent->first_row = (int64_t)w->row_count;
        s->gaussians = 0;
        for (int32_t r = 0; code == 0 && r < s->rows; r++) {
            code = cut_row(stream, p, w, s, sent, r, err);
            if (code == 0 && s->row[r].end > s->row[r].first)
                s->gaussians += (double)(s->row[r].end - s->row[r].first) * trl__components(&p->m, s->row[r].tied);
        }
        s->scores_at = sent->scores = s->stays ? ++stream->stamps : 0;
    }
    return code;
}

/* The parameters as whole frames want them, from the device's own: nothing goes up but where each state begins. */
static int pack_whole(trl__driven_stream *stream, const trl__driven_parameters *p, trl_error *err)
{
    const size_t states = (size_t)p->m.tied_states, rows = 1 + 2 * (size_t)p->m.dim;
    trl__whole_parameters *whole = p->whole;
    size_t floats = 0;
    int64_t *at = trl__alloc(states + 1, sizeof *at);
    if (!at)
        return trl__fail_memory(err);
    for (size_t s = 0; s < states; s++) {
        size_t width = 1, components = (size_t)trl__components(&p->m, (int32_t)s);
        while (width < components)
            width *= 2;
        at[s] = (int64_t)floats;
        floats += width * rows;
    }
    int code = trl__room_get(stream, &whole->packed, floats * sizeof(float), err);
    if (code == 0)
        code = trl__send_array(stream, &whole->packed_at, at, states * sizeof *at, err);
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&p->packed),         trl__memory_argument(&p->packed_at),
        trl__memory_argument(&p->first_gaussian), trl__memory_argument(&whole->packed),
        trl__memory_argument(&whole->packed_at),  trl__value_argument(&p->m.dim, sizeof p->m.dim),
    };
    if (code == 0)
        code = stream->driver->launch(stream->queue, TRL__KERNEL_PACK_WHOLE, states, LANES_PIECE, arguments,
                                      sizeof arguments / sizeof *arguments, err);
    int finished = trl__driven_finish(stream, code < 0 ? NULL : err);
    trl__free(at);
    whole->is_there = code == 0 && finished == 0;
    return code < 0 ? code : finished;
}

/* Once, whichever stream comes first. */
static int need_whole(trl__driven_stream *stream, const trl__driven_parameters *p, trl_error *err)
{
    pthread_mutex_lock(&p->whole->lock);
    int code = p->whole->is_there ? 0 : pack_whole(stream, p, err);
    pthread_mutex_unlock(&p->whole->lock);
    return code;
}

/* Pieces in the order of the model's pages; within a page as they were. There is room for as many more behind the pieces. */
static void sort_by_page(const trl__driven_parameters *p, row_work *w)
{
    device_piece *sorted = w->pieces + w->piece_count;
    size_t filled = 0;
    if (p->pages == 1)
        return;
    for (size_t page = 0; page < p->pages && filled < w->piece_count; page++)
        for (size_t i = 0; i < w->piece_count; i++)
            if (w->pieces[i].tied >= p->page_first[page] && w->pieces[i].tied < p->page_first[page + 1])
                sorted[filled++] = w->pieces[i];
    memmove(w->pieces, sorted, w->piece_count * sizeof *sorted);
}

static int32_t tied_of_piece(const void *piece)
{
    return ((const device_piece *)piece)->tied;
}

typedef struct score_launch {
    trl__driven_stream *stream;
    const trl__driven_parameters *p;
    trl__combine combine;
    int whole; /* frames: with parameters of their own */
} score_launch;

static int launch_scores(void *user, const trl__room *pieces, const trl__room *packed, size_t count, trl_error *err)
{
    const score_launch *l = user;
    trl__driven_stream *stream = l->stream;
    const trl__driven_parameters *p = l->p;
    const int32_t only_best = l->combine == TRL__MAX;
    const float unit = LN_2;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(pieces),
        trl__memory_argument(&stream->lanes),
        trl__memory_argument(l->whole ? &p->whole->packed : packed),
        trl__memory_argument(l->whole ? &p->whole->packed_at : &p->packed_at),
        trl__memory_argument(&p->first_gaussian),
        trl__memory_argument(&p->differences),
        trl__memory_argument(&stream->scores),
        trl__value_argument(&p->m.dim, sizeof p->m.dim),
        trl__value_argument(&p->lane_rows, sizeof p->lane_rows),
        trl__value_argument(&only_best, sizeof only_best),
        trl__value_argument(&unit, sizeof unit),
    };
    int tiles = trl__driven_device_of(stream)->tiles;
    trl__kernel kernel = l->whole ? TRL__KERNEL_SCORE_WHOLE : tiles ? TRL__KERNEL_SCORE_TILES : TRL__KERNEL_SCORE_ROWS;
    return stream->driver->launch(stream->queue, kernel, count,
                                  l->whole ? WHOLE_ITEMS
                                  : tiles  ? 1
                                           : LANES_PIECE,
                                  arguments, sizeof arguments / sizeof *arguments, err);
}

static int score_pieces(trl__driven_stream *stream, const trl__driven_parameters *p, const row_work *w,
                        trl__combine combine, trl_error *err)
{
    score_launch l = {stream, p, combine, w->whole};
    const trl__page_work work = {.items = (const char *)w->pieces,
                                 .count = w->piece_count,
                                 .size = sizeof *w->pieces,
                                 .tied_of = tied_of_piece,
                                 .whole = &stream->pieces,
                                 .launch = launch_scores,
                                 .user = &l};
    return w->piece_count > 0 ? trl__for_pages(stream, p, &work, err) : 0;
}

/* Scores that the host wants: all come down, then each row goes to its place. */
static int fetch_scores(trl__driven_stream *stream, int64_t floats, trl__search *searches, size_t count, trl_error *err)
{
    int wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted |= !searches[i].stays;
    if (!wanted || floats == 0)
        return 0;
    float *all = trl__scratch_get(&stream->down, (size_t)floats, sizeof *all);
    if (!all)
        return trl__fail_memory(err);
    int code = trl__fetch(stream, &stream->scores, 0, all, (size_t)floats * sizeof *all, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        for (int32_t r = 0; !searches[i].stays && r < searches[i].rows; r++) {
            const trl__row *row = &searches[i].row[r];
            if (row->end > row->first)
                memcpy(searches[i].scores + row->offset, all + stream->row_at[stream->here.sent[i].first_row + r],
                       (size_t)(row->end - row->first) * sizeof *all);
        }
    return code;
}

int trl__driven_score(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                      trl_error *err)
{
    trl__driven_stream *stream = (trl__driven_stream *)base;
    const trl__driven_parameters *p = (const trl__driven_parameters *)parameters;
    int tiles = trl__driven_device_of(stream)->tiles;
    row_work w = {.whole = !tiles && p->pages == 1 && count == 1 && searches[0].whole};
    w.most = tiles ? TILES_PIECE : w.whole ? WHOLE_FRAMES : LANES_PIECE;
    size_t rows, pieces = pieces_of(searches, count, w.most, &rows);
    for (size_t i = 1; i < count; i++)
        if (searches[i].combine != searches[0].combine)
            return trl__fail(err, TRL_EINVAL, "searches that are scored together must combine components alike");
    w.pieces = trl__staging_get(stream, &stream->piece_bytes, (p->pages > 1 ? 2 : 1) * pieces * sizeof *w.pieces, err);
    if (!w.pieces || TRL_GROW(stream->row_at, stream->row_capacity, rows + 1) < 0)
        return w.pieces ? trl__fail_memory(err) : TRL_ENOMEM;
    for (size_t i = 0; i < stream->here.count; i++)
        stream->here.sent[i].scores = 0;
    int code = cut_rows(stream, p, &w, searches, count, err);
    sort_by_page(p, &w);
    if (code == 0 && w.whole)
        code = need_whole(stream, p, err);
    if (code == 0)
        code = trl__room_get(stream, &stream->scores, (size_t)w.floats * sizeof(float), err);
    if (code == 0)
        code = trl__send(stream, &stream->piece_bytes, &stream->pieces, w.piece_count * sizeof *w.pieces, err);
    if (code == 0)
        code = score_pieces(stream, p, &w, count > 0 ? searches[0].combine : TRL__LOG_ADD, err);
    return code < 0 ? code : fetch_scores(stream, w.floats, searches, count, err);
}
