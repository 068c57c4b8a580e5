/* Scores of all tied states ahead of the search, in a buffer that holds some seconds ([004] 4.1).
 *
 * The buffer is a ring of chunks. Threads of the team that have nothing to search make them, piece by piece in order, as far as there is room; the search takes chunk after
 * chunk, and makes pieces itself before it waits. A piece is claimed by counting a number up and finished by counting another, so nothing is locked.
 * While the buffer is half full, threads that may soon be wanted for the search leave pieces for longer breaks, such as those when the lattice is pruned by one thread.
 *
 * A chunk has 48 frames, the widest tile of the kernels: each tied state's parameters come from memory once for all of them. */
#include "decode/scorer_data.h"
#include "base/fail.h"

#define CHUNK 48        /* frames: three cache lines of scores for each tied state */
#define PIECE_ROWS 16   /* tied states of a piece: some 0.1 ms */
#define PIECE_FRAMES 16 /* where frames are shared out: each takes the weights of all rows */

static int32_t chunk_end(const trl__scorer *s, int32_t chunk)
{
    int32_t left = s->frames - s->ahead.begin - chunk * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

static int32_t count_pieces(const trl__scorer *s)
{
    return s->maker.by_frame ? CHUNK / PIECE_FRAMES : (s->tied_states + PIECE_ROWS - 1) / PIECE_ROWS;
}

static float *scores_of(const trl__scorer *s, int32_t chunk)
{
    return s->ahead.scores + (size_t)(chunk % s->ahead.slots) * (size_t)s->tied_states * CHUNK;
}

static atomic_int *made_of(const trl__scorer *s, int32_t chunk)
{
    return &s->ahead.made[chunk % s->ahead.slots];
}

/* ---- pieces ---- */

/* The worker's rows for a piece; returns how many. */
static int32_t describe_piece(const trl__scorer *s, trl__scorer_worker *w, int32_t chunk, int32_t piece)
{
    int by_frame = s->maker.by_frame;
    int32_t first = by_frame ? piece * PIECE_FRAMES : 0, end = by_frame ? first + PIECE_FRAMES : CHUNK;
    int32_t from = by_frame ? 0 : piece * PIECE_ROWS, to = by_frame ? s->tied_states : from + PIECE_ROWS;
    int32_t begin = s->ahead.begin + chunk * CHUNK, frames = chunk_end(s, chunk), count = 0;
    end = end < frames ? end : frames;
    to = to < s->tied_states ? to : s->tied_states;
    for (int32_t tied = from; first < end && tied < to; tied++)
        w->rows[count++] = (trl__row){tied, begin + first, begin + end, (int64_t)tied * CHUNK + first};
    return count;
}

/* Returns -1: there is none, or no room for it. */
static int64_t claim_piece(trl__ahead *a)
{
    int64_t piece = atomic_load(&a->next);
    do {
        int64_t chunk = piece / a->pieces;
        if (chunk >= a->chunks || chunk >= atomic_load(&a->used) + a->slots || atomic_load(&a->has_failed))
            return -1;
    } while (!atomic_compare_exchange_weak(&a->next, &piece, piece + 1));
    return piece;
}

static int is_half_full(const trl__ahead *a)
{
    return (atomic_load(&a->next) / a->pieces - atomic_load(&a->used)) * 2 > a->slots;
}

static int make_piece(void *user, int worker, int is_free)
{
    trl__scorer *s = user;
    trl__ahead *a = &s->ahead;
    trl__scorer_worker *w = &s->workers[worker];
    int64_t number = !is_free && is_half_full(a) ? -1 : claim_piece(a);
    if (number < 0)
        return 0;
    double start = s->options.is_timed ? trl__scorer_clock() : 0;
    int32_t chunk = (int32_t)(number / a->pieces), piece = (int32_t)(number % a->pieces);
    w->code = trl__scorer_make(s, worker, describe_piece(s, w, chunk, piece), scores_of(s, chunk), &w->err);
    if (s->options.is_timed)
        w->seconds += trl__scorer_clock() - start;
    if (w->code < 0)
        atomic_store(&a->has_failed, 1);
    else
        atomic_fetch_add(made_of(s, chunk), 1);
    return 1;
}

/* ---- the search's side ---- */

static int is_ready(void *user)
{
    const trl__scorer *s = user;
    return atomic_load(&s->ahead.has_failed) || atomic_load(made_of(s, s->ahead.chunk)) == s->ahead.pieces;
}

static void await_chunk(trl__scorer *s, int32_t chunk)
{
    s->ahead.chunk = chunk;
    while (!is_ready(s))
        if (!make_piece(s, 0, 1))
            trl__team_wait(s->team, is_ready, s);
}

static int search_chunk(trl__scorer *s, trl__decoder *decoder, int32_t chunk, trl_error *err)
{
    trl__score_group group = {
        .frames = chunk_end(s, chunk), .scores = scores_of(s, chunk), .stride = CHUNK, .step = 1, .are_finite = 1};
    int code = trl__decoder_advance_group(decoder, &group, err);
    atomic_store(made_of(s, chunk), 0);
    atomic_fetch_add(&s->ahead.used, 1);
    trl__team_more(s->team);
    return code;
}

static int begin_ahead(trl__scorer *s, int32_t begin, trl_error *err)
{
    trl__ahead *a = &s->ahead;
    int32_t slots =
        s->team ? s->options.ahead / CHUNK + 2 : 1; /* one is searched; alone, it makes the next after that */
    a->begin = begin;
    a->chunks = (s->frames - begin + CHUNK - 1) / CHUNK;
    a->slots = slots > a->chunks ? a->chunks : slots;
    a->pieces = count_pieces(s);
    size_t scores = (size_t)a->slots * (size_t)s->tied_states * CHUNK;
    if (scores > a->score_capacity) {
        trl__free(a->scores);
        a->scores = trl__alloc_aligned(scores, sizeof *a->scores);
        a->score_capacity = a->scores ? scores : 0;
    }
    if ((scores > 0 && !a->scores) || TRL_GROW(a->made, a->slot_capacity, (size_t)a->slots + 1) < 0)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < a->slots; i++)
        atomic_store(&a->made[i], 0);
    atomic_store(&a->next, 0);
    atomic_store(&a->used, 0);
    atomic_store(&a->has_failed, 0);
    return 0;
}

int trl__scorer_search_ahead(trl__scorer *s, trl__decoder *decoder, int32_t begin, trl_error *err)
{
    int code = begin_ahead(s, begin, err);
    if (code < 0)
        return code;
    trl__team_idle(s->team, make_piece, s);
    for (int32_t chunk = 0; code == 0 && chunk < s->ahead.chunks; chunk++) {
        await_chunk(s, chunk);
        if (atomic_load(&s->ahead.has_failed))
            break;
        code = search_chunk(s, decoder, chunk, err);
    }
    trl__team_idle(s->team, NULL, NULL);
    int failure = trl__scorer_failure(s, code < 0 ? NULL : err);
    return code < 0 ? code : failure;
}
