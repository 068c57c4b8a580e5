#include "decode/scorer_data.h"
#include "base/fail.h"

#include <string.h>
#include <time.h>

#define PIECE_ROWS 8    /* tied states that a thread scores at a time */
#define DEMAND_FRAMES 2 /* of a trial of the way that is the slowest as a rule */
#define MARGIN 0.9      /* another way than blocks must be so much quicker */
#define SHORT_BLOCK 4   /* frames of a block where scoring more at once saves nothing; a part of TRL__SCORE_BLOCK */
/* Looks before the search makes a block that another thread has taken, at least, and for each Gaussian: some times what it takes to make one. */
#define LEAST_PATIENCE 200
#define PATIENCE 6
#define TRIAL_FRAMES 16 /* of the other ways; TRL__SCORE_WINDOW at most */

trl__scorer_options trl__scorer_defaults(void)
{
    return (trl__scorer_options){.way = TRL__SCORES_BLOCK, .ahead = 1000};
}

/* ---- making one ---- */

int trl__scorer_create(trl__device *device, int32_t tied_states, trl__scorer **out, trl_error *err)
{
    trl__scorer *s = *out = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    s->device = device;
    s->tied_states = tied_states;
    s->until = trl__alloc_zero((size_t)tied_states + 1, sizeof *s->until);
    s->cells = trl__alloc_zero((size_t)tied_states + 1, sizeof *s->cells);
    s->scores = trl__alloc_aligned((size_t)tied_states * TRL__SCORE_WINDOW + 1, sizeof *s->scores);
    if (trl__foreseen_create(&s->foreseen, tied_states) < 0 || !s->until || !s->cells || !s->scores)
        return trl__fail_memory(err);
    return trl__scorer_share(s, NULL, NULL, err);
}

static void free_workers(trl__scorer *s)
{
    for (int i = 0; i < s->worker_count; i++) {
        if (s->workers[i].stream)
            trl__stream_destroy(s->workers[i].stream);
        trl__free(s->workers[i].rows);
        trl__free(s->workers[i].block);
    }
    trl__free(s->workers);
    s->workers = NULL;
    s->worker_count = 0;
}

int trl__scorer_share(trl__scorer *s, trl__team *team, const trl__scorer_options *options, trl_error *err)
{
    free_workers(s);
    s->team = team;
    s->options = options ? *options : trl__scorer_defaults();
    s->way = s->options.way;
    s->trials = 0;
    int count = trl__team_workers(team);
    s->workers = trl__alloc_zero((size_t)count, sizeof *s->workers);
    if (!s->workers)
        return trl__fail_memory(err);
    s->worker_count = count;
    for (int i = 0; i < count; i++) {
        trl__scorer_worker *w = &s->workers[i];
        int code = s->device ? trl__stream_create(s->device, &w->stream, err) : 0;
        if (code < 0)
            return code;
        w->rows = trl__alloc((size_t)s->tied_states + 1, sizeof *w->rows);
        w->block = trl__alloc_aligned((size_t)s->tied_states * TRL__SCORE_BLOCK + 1, sizeof *w->block);
        if (!w->rows || !w->block)
            return trl__fail_memory(err);
    }
    return 0;
}

void trl__scorer_destroy(trl__scorer *s)
{
    if (!s)
        return;
    trl__filler_destroy(s->filler);
    free_workers(s);
    trl__foreseen_free(&s->foreseen);
    trl__free(s->until);
    trl__free(s->cells);
    trl__free(s->scores);
    trl__free(s->ahead.scores);
    trl__free(s->ahead.made);
    trl__free(s);
}

trl__scorer_counts trl__scorer_count(const trl__scorer *s)
{
    trl__scorer_counts counts = {.all = s->all, .way = s->way};
    for (int i = 0; i < s->worker_count; i++) {
        counts.made += s->workers[i].made;
        counts.ahead_seconds += s->workers[i].seconds;
    }
    return counts;
}

/* ---- makers ---- */

static int give_frames(trl__scorer *s, trl__scorer_worker *w, trl_error *err)
{
    trl__search all = {.frames = s->matrix, .begin = 0, .end = s->frames};
    w->has = s->utterance;
    return s->frames > 0 ? trl__stream_frames(w->stream, s->parameters, &all, 1, err) : 0;
}

/* Through the worker's stream. */
static int make_by_stream(void *user, int worker, const trl__row *rows, int32_t count,
                          float *scores, /* NOLINT(readability-non-const-parameter): the stream writes there */
                          trl_error *err)
{
    trl__scorer *s = user;
    trl__scorer_worker *w = &s->workers[worker];
    trl__search search = {
        .frames = s->matrix, .begin = INT32_MAX, .combine = TRL__LOG_ADD, .rows = count, .row = rows, .scores = scores};
    int code = w->has == s->utterance ? 0 : give_frames(s, w, err);
    if (code < 0)
        return code;
    search.whole = count == s->tied_states;
    for (int32_t i = 0; i < count; i++) {
        search.begin = rows[i].first < search.begin ? rows[i].first : search.begin;
        search.end = rows[i].end > search.end ? rows[i].end : search.end;
    }
    code = trl__stream_score(w->stream, s->parameters, &search, 1, err);
    return code < 0 ? code : trl__stream_wait(w->stream, err);
}

int trl__scorer_make(trl__scorer *s, int worker, int32_t rows, float *scores, trl_error *err)
{
    trl__scorer_worker *w = &s->workers[worker];
    for (int32_t i = 0; i < rows; i++)
        w->made += (uint64_t)(w->rows[i].end - w->rows[i].first);
    return rows > 0 ? s->maker.make(s->maker.user, worker, w->rows, rows, scores, err) : 0;
}

int trl__scorer_failure(trl__scorer *s, trl_error *err)
{
    int code = 0;
    for (int i = 0; i < s->worker_count; i++) {
        if (code == 0 && s->workers[i].code < 0 && err)
            *err = s->workers[i].err;
        code = code < 0 ? code : s->workers[i].code;
        s->workers[i].code = 0;
    }
    return code;
}

void trl__scorer_begin_making(trl__scorer *s, const trl__score_maker *maker, int32_t frames)
{
    s->utterance++;
    s->maker = *maker;
    s->frames = frames;
    s->all += (uint64_t)frames * (uint64_t)s->tied_states;
}

int trl__scorer_begin(trl__scorer *s, const trl__parameters *parameters, const trl_matrix *frames, trl_error *err)
{
    trl__score_maker maker = {make_by_stream, s, parameters->by_frame, parameters->gaussians};
    s->parameters = parameters;
    s->matrix = frames;
    trl__scorer_begin_making(s, &maker, (int32_t)frames->rows);
    return give_frames(s, &s->workers[0], err);
}

void trl__scorer_begin_likelihoods(trl__scorer *s, const trl_matrix *likelihoods)
{
    s->maker = (trl__score_maker){0};
    s->matrix = likelihoods;
    s->frames = (int32_t)likelihoods->rows;
}

/* ---- groups ---- */

/* A block begins anywhere in the window, and goes on at its beginning. */
static void place_block(trl__scorer *s, const trl__row *row, const float *block)
{
    float *scores = s->scores + (size_t)row->tied * TRL__SCORE_WINDOW;
    size_t place = (size_t)(row->first - s->group_begin) % TRL__SCORE_WINDOW;
    size_t count = (size_t)(row->end - row->first), room = TRL__SCORE_WINDOW - place,
           before = count < room ? count : room;
    memcpy(scores + place, block, before * sizeof *scores);
    memcpy(scores, block + before, (count - before) * sizeof *scores);
}

static int check_wanted(const trl__scorer *s, int32_t first, int32_t end, const int32_t *wanted, int32_t count,
                        trl_error *err)
{
    if (first < 0 || end < first || end > s->group.frames || end - first > s->group.block)
        return trl__fail(err, TRL_EINVAL, "scores of frames %d to %d of %d: a block has room for %d", (int)first,
                         (int)end, (int)s->group.frames, (int)s->group.block);
    if (count < 0 || count > s->tied_states)
        return trl__fail(err, TRL_EINVAL, "scores of %d tied states; there are %d", (int)count, (int)s->tied_states);
    for (int32_t i = 0; i < count; i++)
        if (wanted[i] < 0 || wanted[i] >= s->tied_states)
            return trl__fail(err, TRL_EINVAL, "scores of tied state %d; there are %d", (int)wanted[i],
                             (int)s->tied_states);
    return 0;
}

static int fill_group(trl__score_group *group, int worker, int32_t first, int32_t end, const int32_t *wanted,
                      int32_t count, trl_error *err)
{
    trl__scorer *s = group->user;
    trl__scorer_worker *w = &s->workers[worker];
    int code = check_wanted(s, first, end, wanted, count, err);
    for (int32_t i = 0; code == 0 && i < count; i++)
        w->rows[i] = (trl__row){wanted[i], s->group_begin + first, s->group_begin + end, (int64_t)i * TRL__SCORE_BLOCK};
    if (code == 0)
        code = trl__scorer_make(s, worker, count, w->block, err);
    for (int32_t i = 0; code == 0 && i < count; i++)
        place_block(s, &w->rows[i], w->block + (size_t)i * TRL__SCORE_BLOCK);
    return code;
}

/* Whoever asks for a block that can't be made will hear why. */
static void make_blocks(trl__score_group *group, int worker, const trl__taken_block *taken, int32_t count, int32_t next)
{
    trl__scorer *s = group->user;
    trl__scorer_worker *w = &s->workers[worker];
    for (int32_t i = 0; i < count; i++)
        w->rows[i] = (trl__row){taken[i].tied, s->group_begin + taken[i].begin,
                                s->group_begin + trl__block_end(group, taken[i].begin), (int64_t)i * TRL__SCORE_BLOCK};
    if (next >= 0) /* a row of no frames */
        w->rows[count] = (trl__row){next, w->rows[0].first, w->rows[0].first, 0};
    int code = trl__scorer_make(s, worker, count + (next >= 0), w->block, &w->err);
    for (int32_t i = 0; i < count; i++) {
        int is_placed = code == 0 && trl__foreseen_place(&s->foreseen, &taken[i]);
        if (is_placed)
            place_block(s, &w->rows[i], w->block + (size_t)i * TRL__SCORE_BLOCK);
        trl__foreseen_made(&s->foreseen, &taken[i], is_placed);
    }
}

/* Idle work of the team. */
static int make_foreseen(void *user, int worker, int is_free)
{
    trl__scorer *s = user;
    trl__taken_block taken[TRL__MOST_AT_ONCE];
    int32_t next, most = trl__foreseen_at_once(&s->foreseen),
                  count = trl__foreseen_take_next(&s->foreseen, taken, most, &next);
    (void)is_free; /* it does not take long */
    if (count == 0)
        return 0;
    double start = s->options.is_timed ? trl__scorer_clock() : 0;
    make_blocks(&s->group, worker, taken, count, next);
    if (s->options.is_timed)
        s->workers[worker].seconds += trl__scorer_clock() - start;
    return 1;
}

static int make_one(trl__score_group *group, int worker, int32_t tied, float *score, trl_error *err)
{
    trl__scorer *s = group->user;
    s->workers[worker].rows[0] = (trl__row){tied, s->group_begin, s->group_begin + 1, 0};
    return trl__scorer_make(s, worker, 1, score, err);
}

static void next_number(trl__scorer *s)
{
    if (++s->number == 0) {
        memset(s->cells, 0, (size_t)s->tied_states * sizeof *s->cells);
        s->number = 1;
    }
}

static void open_blocks(trl__scorer *s, int32_t begin, int32_t end)
{
    s->group_begin = begin;
    memset(s->until, 0, (size_t)s->tied_states * sizeof *s->until);
    s->group = (trl__score_group){.frames = end - begin,
                                  .scores = s->scores,
                                  .stride = TRL__SCORE_WINDOW,
                                  .step = 1,
                                  .window = TRL__SCORE_WINDOW,
                                  .by_frame = s->maker.by_frame,
                                  .block = s->maker.by_frame ? SHORT_BLOCK : TRL__SCORE_BLOCK,
                                  .until = s->until,
                                  .fill = fill_group,
                                  .make_blocks = make_blocks,
                                  .user = s};
}

static void open_frame(trl__scorer *s, int32_t begin)
{
    next_number(s);
    s->group_begin = begin;
    s->group = (trl__score_group){.frames = 1, .cells = s->cells, .number = s->number, .make = make_one, .user = s};
}

void trl__scorer_open(trl__scorer *s, int32_t begin, trl__score_group **group)
{
    *group = &s->group;
    if (s->maker.make)
        open_blocks(s, begin, s->frames);
    else
        s->group = (trl__score_group){.frames = s->frames - begin,
                                      .scores = trl_matrix_row(s->matrix, (size_t)begin),
                                      .stride = 1,
                                      .step = s->matrix->stride};
}

/* ---- a search ---- */

static int search_demand(trl__scorer *s, trl__decoder *decoder, int32_t begin, int32_t end, trl_error *err)
{
    int code = 0;
    for (int32_t f = begin; code == 0 && f < end; f++) {
        open_frame(s, f);
        code = trl__decoder_advance_group(decoder, &s->group, err);
    }
    return code;
}

static int search_blocks(trl__scorer *s, trl__decoder *decoder, int32_t begin, int32_t end, trl_error *err)
{
    open_blocks(s, begin, end);
    if (!s->team || s->maker.by_frame)
        return trl__decoder_advance_group(decoder, &s->group, err);
    trl__foreseen_clear(&s->foreseen);
    s->foreseen.team = s->team;
    s->foreseen.patience = LEAST_PATIENCE + PATIENCE * s->maker.gaussians;
    s->group.foreseen = &s->foreseen;
    trl__team_idle(s->team, make_foreseen, s);
    int code = trl__decoder_advance_group(decoder, &s->group, err);
    trl__team_idle(s->team, NULL, NULL);
    return code;
}

static int search_matrix(trl__scorer *s, trl__decoder *decoder, trl_error *err)
{
    trl__score_group *group;
    trl__scorer_open(s, 0, &group);
    return trl__decoder_advance_group(decoder, group, err);
}

static int search_by(trl__scorer *s, trl__decoder *decoder, trl__score_way way, int32_t begin, trl_error *err)
{
    return way == TRL__SCORES_AHEAD    ? trl__scorer_search_ahead(s, decoder, begin, err)
           : way == TRL__SCORES_DEMAND ? search_demand(s, decoder, begin, s->frames, err)
                                       : search_blocks(s, decoder, begin, s->frames, err);
}

/* ---- which way ---- */

double trl__scorer_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A piece of a group's scores: some tied states. */
static void make_all(void *user, int32_t item, int worker)
{
    trl__scorer *s = user;
    trl__scorer_worker *w = &s->workers[worker];
    int32_t from = item * PIECE_ROWS, to = from + PIECE_ROWS, count = 0;
    for (int32_t tied = from; tied < to && tied < s->tied_states; tied++)
        w->rows[count++] =
            (trl__row){tied, s->group_begin, s->group_begin + TRIAL_FRAMES, (int64_t)tied * TRL__SCORE_WINDOW};
    if (w->code == 0)
        w->code = trl__scorer_make(s, worker, count, s->scores, &w->err);
}

/* What making ahead costs, without the buffer: all scores of a whole group, by all threads, then the search. */
static int search_all_made(trl__scorer *s, trl__decoder *decoder, int32_t begin, trl_error *err)
{
    open_blocks(s, begin, begin + TRIAL_FRAMES);
    s->group.until = NULL;
    s->group.are_finite = 1;
    trl__team_for(s->team, (s->tied_states + PIECE_ROWS - 1) / PIECE_ROWS, make_all, s);
    int code = trl__scorer_failure(s, err);
    return code < 0 ? code : trl__decoder_advance_group(decoder, &s->group, err);
}

/* The median of a way's trials, per frame: other work on the machine, or an easy moment of the sound, should not decide. */
static double median_seconds(const trl__scorer *s, int way)
{
    int count = s->tried[way], middle = 0;
    const double *seconds = s->seconds[way];
    for (int i = 0; i < count; i++) {
        int before = 0;
        for (int k = 0; k < count; k++)
            before += seconds[k] < seconds[i] || (seconds[k] == seconds[i] && k < i);
        middle = before == (count - 1) / 2 ? i : middle;
    }
    return seconds[middle];
}

static trl__score_way quickest(const trl__scorer *s)
{
    int best = TRL__SCORES_BLOCK;
    for (int way = 0; way < TRL__SCORE_WAYS; way++)
        if (median_seconds(s, way) < median_seconds(s, best) * (best == TRL__SCORES_BLOCK ? MARGIN : 1))
            best = way;
    return (trl__score_way)best;
}

/* Of this thread where it works alone, so that what else the machine does makes no difference; else of the clock on the wall, since waiting for each other counts. */
static double trial_clock(const trl__scorer *s)
{
    struct timespec now;
    clock_gettime(s->team ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Some frames in one way, with a clock. */
static int try_way(trl__scorer *s, trl__decoder *decoder, trl__score_way way, int32_t begin, int32_t *frames,
                   trl_error *err)
{
    *frames = way == TRL__SCORES_DEMAND ? DEMAND_FRAMES : TRIAL_FRAMES;
    double start = trial_clock(s);
    int code = way == TRL__SCORES_AHEAD    ? search_all_made(s, decoder, begin, err)
               : way == TRL__SCORES_DEMAND ? search_demand(s, decoder, begin, begin + *frames, err)
                                           : search_blocks(s, decoder, begin, begin + *frames, err);
    if (s->trials < 2 * TRL__SCORE_WAYS) /* what warmed up does not count */
        s->tried[way] = 0;
    s->seconds[way][s->tried[way]++] = (trial_clock(s) - start) / *frames;
    return code;
}

/* All ways in turn. Returns through *begin how far it came; the next utterance goes on where this one ends. */
static int try_ways(trl__scorer *s, trl__decoder *decoder, int32_t *begin, trl_error *err)
{
    int code = 0;
    while (code == 0 && s->way == TRL__SCORES_AUTO && s->frames - *begin >= TRIAL_FRAMES) {
        int32_t frames;
        code = try_way(s, decoder, (trl__score_way)(s->trials % TRL__SCORE_WAYS), *begin, &frames, err);
        *begin += frames;
        if (++s->trials == TRL__SCORE_WAYS * (TRL__SCORE_TRIALS + 1))
            s->way = quickest(s);
    }
    return code;
}

int trl__scorer_search(trl__scorer *s, trl__decoder *decoder, trl_error *err)
{
    int32_t begin = 0;
    int code = 0;
    if (!s->maker.make)
        return search_matrix(s, decoder, err);
    if (s->options.is_filled && (s->way == TRL__SCORES_AUTO || s->way == TRL__SCORES_AHEAD))
        return trl__scorer_search_filled(s, decoder, 0, err);
    if (s->way == TRL__SCORES_AUTO && s->maker.by_frame)
        s->way = TRL__SCORES_AHEAD; /* a frame's scores are made together, whatever is wanted of them */
    if (s->way == TRL__SCORES_AUTO)
        code = try_ways(s, decoder, &begin, err);
    return code < 0 ? code : search_by(s, decoder, s->way, begin, err);
}
