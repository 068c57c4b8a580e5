/* Scores of tied mixtures.
 *
 * Parameters lie density by density side by side for each dimension, so that one value of the frame meets a row of means; weights lie tied state by tied state
 * of a codebook side by side for each density, so that a density meets a row of weights: the loops are vectors without lanes that are crossed. By differences, because codebooks of few Gaussians have no
 * variances to trust the (1, o, o²) form with. Cost per frame: 3 operations for each dimension of each density, 210,000 x 3 for the stock English model, whose
 * parameters are read once for four frames; then for each tied state and stream as many multiplications as densities count, and a logarithm: so little, eight at a time, that
 * picking the tied states that are wanted would cost more. Densities are relative to the best of their codebook and stream, so that nothing
 * underflows that matters.
 */
#include "backend/cpu/shared_scores.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "model/model_data.h"

#include <inttypes.h>
#include <math.h>

#define FRAMES TRL__SHARED_FRAMES
#define TILE 8          /* frames that all rows are scored for, one after the other: their scores stay in the cache */
#define CACHE (4 << 20) /* bytes of scores that are kept */
#define MOST_SLOTS 512  /* frames of them */

struct trl__shared_gmms {
    int32_t dim, tied_states, codebooks, densities, streams;
    size_t row; /* densities, filled up: how many lie side by side */
    const trl__shared_kernel *kernel;
    int32_t counted;       /* densities of a codebook and stream that count */
    float floor;           /* nats; 0: none */
    int32_t *stream_first; /* streams + 1: dimensions */
    size_t *state_first;   /* codebooks + 1: their tied states, filled up */
    uint32_t *place;       /* by tied state, among all in that order */
    float *mean, *half;    /* (codebook * dim + k) * row + density: mean, 1 / (2 variance) */
    float *constant;       /* (codebook * streams + stream) * row + density */
    float *weight;         /* codebook by codebook: (stream * densities + density) * its tied states + one of them */
};

/* On the way to the scores of up to FRAMES frames. */
typedef struct work {
    const trl__shared_gmms *gmms;
    float *density[FRAMES]; /* of one codebook's stream */
    int32_t *which[FRAMES]; /* (codebook * streams + stream) * counted: a density */
    float *value[FRAMES];   /* the same: it, at first as logarithm */
    int32_t *last;          /* the same as which[]: of the frame before, or any others */
} work;

/* ---- Models ---- */

/* The Gaussians of a codebook's stream. What fills up the row is never among the best. */
static void pack_stream(trl__shared_gmms *g, const trl__shared_mixtures *m, size_t book, int32_t stream)
{
    size_t n = (size_t)g->densities, dim = (size_t)g->dim;
    float *constant = g->constant + (book * (size_t)g->streams + (size_t)stream) * g->row;
    for (size_t j = n; j < g->row; j++)
        constant[j] = TRL__NEVER;
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (int32_t k = g->stream_first[stream]; k < g->stream_first[stream + 1]; k++) {
            size_t from = (book * n + j) * dim + (size_t)k, to = (book * dim + (size_t)k) * g->row + j;
            g->mean[to] = m->mean[from];
            g->half[to] = 0.5F / m->variance[from];
            sum -= 0.5 * log(6.283185307179586 * (double)m->variance[from]);
        }
        constant[j] = (float)sum;
    }
}

/* Weights of a codebook's tied states. */
static float *weights_of(const trl__shared_gmms *g, size_t book, size_t stream)
{
    size_t states = g->state_first[book + 1] - g->state_first[book];
    return g->weight + (g->state_first[book] * (size_t)g->streams + stream * states) * (size_t)g->densities;
}

static void pack_weights(trl__shared_gmms *g, const trl__shared_mixtures *m)
{
    size_t all = (size_t)g->streams * (size_t)g->densities;
    memset(g->weight, 0, g->state_first[g->codebooks] * all * sizeof *g->weight);
    for (size_t tied = 0; tied < (size_t)g->tied_states; tied++) {
        size_t book = (size_t)m->codebook[tied], first = g->state_first[book];
        float *weight = weights_of(g, book, 0) + (g->place[tied] - first);
        for (size_t i = 0; i < all; i++)
            weight[i * (g->state_first[book + 1] - first)] = expf(m->log_weight[tied * all + i]);
    }
}

static void pack(trl__shared_gmms *g, const trl__shared_mixtures *m)
{
    size_t numbers = (size_t)g->codebooks * (size_t)g->dim * g->row;
    memset(g->mean, 0, numbers * sizeof *g->mean);
    memset(g->half, 0, numbers * sizeof *g->half);
    for (size_t c = 0; c < (size_t)g->codebooks; c++)
        for (int32_t s = 0; s < g->streams; s++)
            pack_stream(g, m, c, s);
    pack_weights(g, m);
}

static int place_states(trl__shared_gmms *g, const trl__shared_mixtures *m, trl_error *err)
{
    size_t books = (size_t)g->codebooks, tied = (size_t)g->tied_states;
    g->state_first = trl__alloc_zero(books + 1, sizeof *g->state_first);
    g->place = trl__alloc(tied, sizeof *g->place);
    if (!g->state_first || !g->place)
        return trl__fail_memory(err);
    for (size_t i = 0; i < tied; i++)
        g->place[i] = (uint32_t)g->state_first[m->codebook[i] + 1]++;
    for (size_t c = 0; c < books; c++) {
        size_t count = (g->state_first[c + 1] + TRL__SHARED_STATES - 1) / TRL__SHARED_STATES * TRL__SHARED_STATES;
        g->state_first[c + 1] = g->state_first[c] + count;
    }
    for (size_t i = 0; i < tied; i++)
        g->place[i] += (uint32_t)g->state_first[m->codebook[i]];
    return 0;
}

static int allocate(trl__shared_gmms *g, trl_error *err)
{
    size_t books = (size_t)g->codebooks, streams = (size_t)g->streams;
    g->mean = trl__alloc_aligned(books * g->row, (size_t)g->dim * sizeof(float));
    g->half = trl__alloc_aligned(books * g->row, (size_t)g->dim * sizeof(float));
    g->constant = trl__alloc_aligned(books * g->row, streams * sizeof(float));
    g->weight = trl__alloc_aligned(g->state_first[books] * streams, (size_t)g->densities * sizeof(float));
    return g->mean && g->half && g->constant && g->weight ? 0 : trl__fail_memory(err);
}

static const trl__shared_kernel *choose_kernel(void)
{
#if TRELLIS_SIMD
    if (trl__cpu() == TRL__CPU_AVX2 || trl__cpu() == TRL__CPU_AVX512)
        return &trl__shared_avx2;
#endif
    return &trl__shared_base;
}

/* Nothing may overflow, whatever the frames. */
static int check(const trl_model *model, trl_error *err)
{
    const trl__shared_mixtures *m = model->shared;
    size_t numbers = (size_t)m->codebooks * (size_t)m->densities * (size_t)model->dim;
    for (size_t i = 0; i < numbers; i++)
        if (fabsf(m->mean[i]) > (float)TRL__MOST_VALUE || m->variance[i] < (float)TRL__LEAST_VARIANCE)
            return trl__fail(err, TRL_ENUMBER,
                             "a codebook has a mean of %g with variance %g; up to %g and from %g on can be handled",
                             (double)m->mean[i], (double)m->variance[i], TRL__MOST_VALUE, TRL__LEAST_VARIANCE);
    return 0;
}

int trl__shared_gmms_create(const trl_model *model, trl__shared_gmms **out, trl_error *err)
{
    const trl__shared_mixtures *m = model->shared;
    trl__shared_gmms *g = *out = trl__alloc_zero(1, sizeof *g);
    if (!g)
        return trl__fail_memory(err);
    g->dim = model->dim;
    g->tied_states = model->tied_states;
    g->codebooks = m->codebooks;
    g->densities = m->densities;
    g->row = ((size_t)m->densities + TRL__SHARED_PAD - 1) / TRL__SHARED_PAD * TRL__SHARED_PAD;
    g->kernel = choose_kernel();
    g->streams = m->streams;
    g->counted = m->top > 0 ? m->top : m->densities;
    g->floor = m->floor;
    g->stream_first = trl__alloc_zero((size_t)g->streams + 1, sizeof *g->stream_first);
    int code = g->stream_first ? check(model, err) : trl__fail_memory(err);
    if (code == 0)
        code = place_states(g, m, err);
    if (code == 0)
        code = allocate(g, err);
    if (code < 0) {
        trl__shared_gmms_destroy(g);
        *out = NULL;
        return code;
    }
    for (int32_t s = 0; s < g->streams; s++)
        g->stream_first[s + 1] = g->stream_first[s] + m->stream_dim[s];
    pack(g, m);
    return 0;
}

void trl__shared_gmms_destroy(trl__shared_gmms *g)
{
    if (!g)
        return;
    trl__free(g->stream_first);
    trl__free(g->state_first);
    trl__free(g->place);
    trl__free(g->mean);
    trl__free(g->half);
    trl__free(g->constant);
    trl__free(g->weight);
    trl__free(g);
}

int trl__shared_refuse(trl_error *err)
{
    return trl__fail(err, TRL_EUNSUPPORTED, "a model with codebooks (tied mixtures) can be used, but not trained");
}

int trl__shared_place(trl__placed *placed, int32_t dim, const trl_matrix *frames, int32_t begin, int32_t end,
                      trl_error *err)
{
    placed->source = frames;
    placed->begin = begin;
    placed->end = end;
    if (frames->cols != (size_t)dim)
        return trl__fail(err, TRL_EINVAL, "frames of %zu dimensions; the model has %" PRId32, frames->cols, dim);
    for (int32_t t = begin; t < end; t++)
        for (int32_t k = 0; k < dim; k++)
            if (!(fabsf(trl_matrix_row(frames, (size_t)t)[k]) <= (float)TRL__MOST_VALUE))
                return trl__fail(err, TRL_ENUMBER, "frame %" PRId32 ", dimension %" PRId32 ": %g is no feature", t, k,
                                 (double)trl_matrix_row(frames, (size_t)t)[k]);
    return 0;
}

/* ---- The best densities ---- */

/* Of equals the first is better, so that what is chosen does not depend on where the search begins. */
static int is_better(float value, int32_t which, float other, int32_t than)
{
    return value > other || (value == other && which < than);
}

/* Puts a density among the best `count`, which are sorted; the last of them falls out. */
static void put(float *value, int32_t *which, int32_t count, float density, int32_t j)
{
    int32_t at = count - 1;
    for (; at > 0 && is_better(density, j, value[at - 1], which[at - 1]); at--) {
        value[at] = value[at - 1];
        which[at] = which[at - 1];
    }
    value[at] = density;
    which[at] = j;
}

/* The best few, best first. `last` has those of the frame before, of which most are good again, so that hardly any other comes near
 * them; or any others. They are taken out of the row, so that most blocks have none that is as good as the last of them. */
static void choose_best(const trl__shared_gmms *g, float *density, const int32_t *last, int32_t *which, float *value)
{
    int32_t count = g->counted;
    for (int32_t i = 0; i < count; i++) {
        put(value, which, i + 1, density[last[i]], last[i]);
        density[last[i]] = -INFINITY;
    }
    for (int32_t first = 0; first < g->densities; first += TRL__SHARED_PAD) {
        int32_t end = g->densities - first < TRL__SHARED_PAD ? g->densities : first + TRL__SHARED_PAD;
        if (g->kernel->any_above(density + first, value[count - 1]))
            for (int32_t j = first; j < end; j++)
                if (is_better(density[j], j, value[count - 1], which[count - 1]))
                    put(value, which, count, density[j], j);
    }
}

/* Those that count of codebook and stream `book`, in some frames. */
static void find_best(const trl__shared_gmms *g, const work *w, size_t book, size_t frames)
{
    size_t at = book * (size_t)g->counted;
    for (size_t f = 0; f < frames; f++) {
        int32_t *which = w->which[f] + at;
        float *value = w->value[f] + at;
        if (g->counted < g->densities) {
            choose_best(g, w->density[f], (f == 0 ? w->last : w->which[f - 1]) + at, which, value);
            continue;
        }
        memcpy(value, w->density[f], (size_t)g->counted * sizeof *value);
        for (int32_t j = 0; j < g->counted; j++)
            which[j] = j;
    }
}

/* ---- Scores ---- */

static float largest(const float *values, size_t count)
{
    float most = values[0];
    for (size_t i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* What counts of codebook and stream `book`, no density below `least`: relative to the best, which is returned. */
static float take_base(float *value, size_t count, float least)
{
    float base = largest(value, count);
    base = base > least ? base : least;
    for (size_t j = 0; j < count; j++)
        value[j] = expf((value[j] > least ? value[j] : least) - base);
    return base;
}

/* For each stream what no density is taken to be below. */
static void find_least(const trl__shared_gmms *g, const float *value, float least[TRL__STREAMS_MOST])
{
    size_t streams = (size_t)g->streams, count = (size_t)g->counted, all = (size_t)g->codebooks * streams;
    for (size_t s = 0; s < TRL__STREAMS_MOST; s++)
        least[s] = -INFINITY;
    for (size_t i = 0; g->floor > 0 && i < all; i++)
        least[i % streams] = fmaxf(least[i % streams], largest(value + i * count, count) - g->floor);
}

/* The codebook's tied states in frame f of the work. */
static void score_codebook(const trl__shared_gmms *g, const work *w, size_t book, size_t f,
                           const float least[TRL__STREAMS_MOST], trl__combine combine, float *out)
{
    size_t streams = (size_t)g->streams, count = (size_t)g->counted, at = book * streams * count;
    trl__shared_stream stream[TRL__STREAMS_MOST];
    for (size_t s = 0; s < streams; s++, at += count)
        stream[s] = (trl__shared_stream){.weight = weights_of(g, book, s),
                                         .states = g->state_first[book + 1] - g->state_first[book],
                                         .which = w->which[f] + at,
                                         .value = w->value[f] + at,
                                         .count = count,
                                         .base = take_base(w->value[f] + at, count, least[s])};
    g->kernel->scores(stream, streams, combine == TRL__MAX, out + g->state_first[book]);
}

/* All tied states in some frames, codebook by codebook: neighbouring frames want the same weights. */
static void score_frames(const trl__shared_gmms *g, const work *w, size_t frames, trl__combine combine,
                         float *const out[FRAMES])
{
    float least[FRAMES][TRL__STREAMS_MOST];
    for (size_t f = 0; f < frames; f++)
        find_least(g, w->value[f], least[f]);
    for (size_t c = 0; c < (size_t)g->codebooks; c++)
        for (size_t f = 0; f < frames; f++)
            score_codebook(g, w, c, f, least[f], combine, out[f]);
}

/* ---- Frames ---- */

static size_t counted_of_all(const trl__shared_gmms *g)
{
    return (size_t)g->codebooks * (size_t)g->streams * (size_t)g->counted;
}

static void lay_out_work(void *user, trl__pieces *pieces)
{
    work *w = user;
    size_t all = counted_of_all(w->gmms);
    w->last = trl__take(pieces, all, sizeof *w->last);
    for (size_t f = 0; f < FRAMES; f++) {
        w->value[f] = trl__take(pieces, all, sizeof *w->value[f]);
        w->which[f] = trl__take(pieces, all, sizeof *w->which[f]);
        w->density[f] = trl__take(pieces, w->gmms->row, sizeof *w->density[f]);
    }
}

static size_t slots_of(const trl__shared_gmms *g)
{
    size_t slots = CACHE / ((g->state_first[g->codebooks] + 1) * sizeof(float));
    return slots < TILE ? TILE : slots > MOST_SLOTS ? MOST_SLOTS : slots;
}

typedef struct slot_block {
    size_t count, states;
    float *scores;
    int32_t *frame;
} slot_block;

static void lay_out_slots(void *user, trl__pieces *pieces)
{
    slot_block *to = user;
    to->scores = trl__take(pieces, to->count * to->states, sizeof *to->scores);
    to->frame = trl__take(pieces, to->count, sizeof *to->frame);
}

/* Room for slots_of() frames. Forgets what is of something else. NULL: out of memory. */
static float *make_slots(const trl__shared_gmms *g, trl__shared_cache *cache, const trl__search *s, const work *w)
{
    slot_block to = {.count = slots_of(g), .states = g->state_first[g->codebooks]};
    if (trl__scratch_lay_out(&cache->scores, lay_out_slots, &to) < 0)
        return NULL;
    cache->frame = to.frame;
    if (cache->gmms == g && cache->frames == s->frames && cache->combine == s->combine)
        return to.scores;
    cache->gmms = g;
    cache->frames = s->frames;
    cache->combine = s->combine;
    for (size_t i = 0; i < to.count; i++)
        cache->frame[i] = -1;
    for (size_t i = 0; i < counted_of_all(g); i++)
        w->last[i] = (int32_t)(i % (size_t)g->counted);
    return to.scores;
}

/* Scores of some frames into their slots. */
static void make_frames(const trl__shared_gmms *g, const work *w, const trl__search *s, const int32_t *number,
                        size_t frames, float *scores)
{
    size_t streams = (size_t)g->streams, books = (size_t)g->codebooks * streams;
    const float *frame[FRAMES];
    float *out[FRAMES];
    for (size_t i = 0; i < books; i++) {
        size_t first = (size_t)g->stream_first[i % streams], at = (i / streams * (size_t)g->dim + first) * g->row;
        for (size_t f = 0; f < frames; f++)
            frame[f] = trl_matrix_row(s->frames, (size_t)number[f]) + first;
        trl__shared_gaussians gaussians = {.constant = g->constant + i * g->row,
                                           .mean = g->mean + at,
                                           .half = g->half + at,
                                           .dims = (size_t)g->stream_first[i % streams + 1] - first,
                                           .count = g->row};
        g->kernel->densities(&gaussians, frame, frames, w->density);
        find_best(g, w, i, frames);
    }
    memcpy(w->last, w->which[frames - 1], books * (size_t)g->counted * sizeof *w->last);
    for (size_t f = 0; f < frames; f++)
        out[f] = scores + (size_t)number[f] % slots_of(g) * g->state_first[g->codebooks];
    score_frames(g, w, frames, s->combine, out);
}

/* Sees to it that frames [begin, end), no more than slots, are in their slots. Returns how many were not. */
static int32_t need_frames(const trl__shared_gmms *g, trl__shared_cache *cache, const work *w, const trl__search *s,
                           int32_t begin, int32_t end, float *scores)
{
    int32_t number[FRAMES], made = 0;
    size_t count = 0;
    for (int32_t f = begin; f < end; f++) {
        int32_t *slot = &cache->frame[(size_t)f % slots_of(g)];
        if (*slot != f)
            number[count++] = *slot = f;
        if (count == 0 || (count < FRAMES && f + 1 < end))
            continue;
        make_frames(g, w, s, number, count, scores);
        made += (int32_t)count;
        count = 0;
    }
    return made;
}

int trl__shared_score(const trl__shared_gmms *g, trl__shared_cache *cache, trl__search *s, trl_error *err)
{
    work w = {.gmms = g};
    float *scores = NULL;
    const float *frame[TILE];
    int32_t from = INT32_MAX, to = 0;
    size_t states = g->state_first[g->codebooks], slots = slots_of(g);
    s->gaussians = 0;
    for (int32_t r = 0; r < s->rows; r++) {
        from = s->row[r].first < from ? s->row[r].first : from;
        to = s->row[r].end > to ? s->row[r].end : to;
    }
    if (trl__scratch_lay_out(&cache->work, lay_out_work, &w) < 0 || !(scores = make_slots(g, cache, s, &w)))
        return trl__fail_memory(err);
    for (int32_t begin = from; begin < to; begin += TILE) {
        int32_t end = to - begin < TILE ? to : begin + TILE;
        int32_t made = need_frames(g, cache, &w, s, begin, end, scores);
        s->gaussians += (double)made * g->codebooks * g->densities;
        for (int32_t f = begin; f < end; f++)
            frame[f - begin] = scores + (size_t)f % slots * states;
        for (int32_t r = 0; r < s->rows; r++) {
            const trl__row *row = &s->row[r];
            int32_t first = row->first > begin ? row->first : begin, last = row->end < end ? row->end : end;
            for (int32_t f = first; f < last; f++)
                s->scores[row->offset + f - row->first] = frame[f - begin][g->place[row->tied]];
        }
    }
    return 0;
}
