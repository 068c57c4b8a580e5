/* Scores of tied mixtures.
 *
 * Parameters lie density by density side by side for each dimension, so that one value of the frame meets a row of means: the
 * loops are vectors without lanes that are crossed. By differences, because codebooks of few Gaussians have no variances to
 * trust the (1, o, o²) form with. Cost per frame: 3 operations for each dimension of each density, 210,000 x 3 for the
 * stock English model; then for each tied state and stream as many multiplications as densities count, and one logarithm per
 * tied state. Densities are relative to the best of their codebook and stream, so that nothing underflows that matters.
 */
#include "backend/cpu/shared_scores.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "model/model_data.h"

#include <inttypes.h>
#include <math.h>

#define TILE 32         /* frames that all rows are scored for, one after the other */
#define CACHE (4 << 20) /* bytes of densities that are kept */
#define MOST_SLOTS 512  /* frames of them */

struct trl__shared_gmms {
    int32_t dim, tied_states, codebooks, densities, streams;
    size_t row; /* densities, filled up: how many lie side by side */
    trl__shared_densities *compute;
    int32_t counted;       /* densities of a codebook and stream that count */
    float floor;           /* nats; 0: none */
    int32_t *stream_first; /* streams + 1 */
    int32_t *codebook;     /* by tied state */
    float *mean, *half;    /* (codebook * dim + k) * row + density: mean, 1 / (2 variance) */
    float *constant;       /* (codebook * streams + stream) * row + density */
    float *weight;         /* (tied * streams + stream) * densities + density */
};

/* What counts of a codebook and stream in one frame. */
typedef struct counted {
    float base; /* log density that the values are relative to */
} counted;

typedef struct tile {
    float *density; /* of one frame: (codebook * streams + stream) * row + density */
    counted *book;  /* (frame * codebooks + codebook) * streams + stream */
    int32_t *which; /* the same * counted: a density */
    float *value;   /* the same: its density, relative */
} tile;

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

static void pack(trl__shared_gmms *g, const trl__shared_mixtures *m)
{
    size_t weights = (size_t)g->tied_states * (size_t)g->streams * (size_t)g->densities;
    size_t numbers = (size_t)g->codebooks * (size_t)g->dim * g->row;
    memset(g->mean, 0, numbers * sizeof *g->mean);
    memset(g->half, 0, numbers * sizeof *g->half);
    for (size_t c = 0; c < (size_t)g->codebooks; c++)
        for (int32_t s = 0; s < g->streams; s++)
            pack_stream(g, m, c, s);
    for (size_t i = 0; i < weights; i++)
        g->weight[i] = expf(m->log_weight[i]);
}

static int allocate(trl__shared_gmms *g, trl_error *err)
{
    size_t books = (size_t)g->codebooks, streams = (size_t)g->streams;
    g->stream_first = trl__alloc_zero(streams + 1, sizeof *g->stream_first);
    g->codebook = trl__alloc((size_t)g->tied_states, sizeof *g->codebook);
    g->mean = trl__alloc_aligned(books * g->row, (size_t)g->dim * sizeof(float));
    g->half = trl__alloc_aligned(books * g->row, (size_t)g->dim * sizeof(float));
    g->constant = trl__alloc_aligned(books * g->row, streams * sizeof(float));
    g->weight = trl__alloc_aligned((size_t)g->tied_states * streams, (size_t)g->densities * sizeof(float));
    return g->stream_first && g->codebook && g->mean && g->half && g->constant && g->weight ? 0 : trl__fail_memory(err);
}

static trl__shared_densities *choose_kernel(void)
{
#if TRELLIS_SIMD
    if (trl__cpu() == TRL__CPU_AVX2 || trl__cpu() == TRL__CPU_AVX512)
        return trl__shared_densities_avx2;
#endif
    return trl__shared_densities_base;
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
    g->compute = choose_kernel();
    g->streams = m->streams;
    g->counted = m->top > 0 ? m->top : m->densities;
    g->floor = m->floor;
    int code = check(model, err);
    if (code == 0)
        code = allocate(g, err);
    if (code < 0) {
        trl__shared_gmms_destroy(g);
        *out = NULL;
        return code;
    }
    for (int32_t s = 0; s < g->streams; s++)
        g->stream_first[s + 1] = g->stream_first[s] + m->stream_dim[s];
    memcpy(g->codebook, m->codebook, (size_t)g->tied_states * sizeof *g->codebook);
    pack(g, m);
    return 0;
}

void trl__shared_gmms_destroy(trl__shared_gmms *g)
{
    if (!g)
        return;
    trl__free(g->stream_first);
    trl__free(g->codebook);
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

/* ---- Densities ---- */

/* Log densities of a codebook's stream. */
static void densities_of(const trl__shared_gmms *g, size_t book, int32_t stream, const float *frame, float *out)
{
    int32_t first = g->stream_first[stream], dims = g->stream_first[stream + 1] - first;
    size_t at = (book * (size_t)g->dim + (size_t)first) * g->row;
    g->compute(g->constant + (book * (size_t)g->streams + (size_t)stream) * g->row, g->mean + at, g->half + at,
               frame + first, (size_t)dims, g->row, out);
}

/* Of equals the first is better, so that what is chosen does not depend on where the search begins. */
static int is_better(const float *density, int32_t a, int32_t b)
{
    return density[a] > density[b] || (density[a] == density[b] && a < b);
}

/* Puts a density among the best `count`, which are sorted; the last of them falls out. */
static void put(const float *density, int32_t *which, int32_t count, int32_t j)
{
    int32_t at = count - 1;
    for (; at > 0 && is_better(density, j, which[at - 1]); at--)
        which[at] = which[at - 1];
    which[at] = j;
}

/* The best few, best first. `last` has those of the frame before, of which most are good again, so that hardly any other comes near
 * them; or any others, even in the place of the result. */
static void choose(const trl__shared_gmms *g, const float *density, const int32_t *last, int32_t *which)
{
    int32_t count = g->counted;
    for (int32_t i = 0; i < count; i++)
        put(density, which, i + 1, last[i]);
    for (int32_t j = 0; j < g->densities; j++) {
        if (density[j] < density[which[count - 1]] || !is_better(density, j, which[count - 1]))
            continue;
        int there = 0;
        for (int32_t i = 0; i < count; i++)
            there |= which[i] == j;
        if (!there)
            put(density, which, count, j);
    }
}

static float largest(const float *values, size_t count)
{
    float most = values[0];
    for (size_t i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* What counts of a codebook's stream, no density below `least`. */
static void keep(const trl__shared_gmms *g, const float *density, float least, counted *book, const int32_t *which,
                 float *value)
{
    book->base = book->base > least ? book->base : least;
    for (int32_t j = 0; j < g->counted; j++) {
        float d = density[which[j]] > least ? density[which[j]] : least;
        value[j] = expf(d - book->base);
    }
}

/* The best densities of a codebook's stream, and the very best. `last`: the slot of the frame before, or -1. */
static float find_best(const trl__shared_gmms *g, const tile *t, const float *density, size_t place, ptrdiff_t last)
{
    size_t count = (size_t)g->counted;
    int32_t *which = t->which + place * count;
    for (int32_t j = 0; j < g->counted; j++)
        which[j] = j;
    if (g->counted < g->densities) {
        choose(g, density, last < 0 ? which : t->which + (size_t)last * count, which);
        return density[which[0]];
    }
    return largest(density, (size_t)g->densities);
}

static void add_frame(const trl__shared_gmms *g, const tile *t, size_t slot, ptrdiff_t last_slot, const float *frame)
{
    size_t streams = (size_t)g->streams, books = (size_t)g->codebooks, all = books * streams;
    float best[TRL__STREAMS_MOST];
    for (size_t s = 0; s < TRL__STREAMS_MOST; s++)
        best[s] = -INFINITY;
    for (size_t i = 0; i < all; i++) {
        float *density = t->density + i * g->row;
        size_t s = i % streams;
        densities_of(g, i / streams, (int32_t)s, frame, density);
        t->book[slot * all + i].base =
            find_best(g, t, density, slot * all + i, last_slot < 0 ? -1 : last_slot * (ptrdiff_t)all + (ptrdiff_t)i);
        best[s] = t->book[slot * all + i].base > best[s] ? t->book[slot * all + i].base : best[s];
    }
    for (size_t i = 0; i < all; i++) {
        size_t place = slot * all + i;
        keep(g, t->density + i * g->row, g->floor > 0 ? best[i % streams] - g->floor : -INFINITY, &t->book[place],
             t->which + place * (size_t)g->counted, t->value + place * (size_t)g->counted);
    }
}

/* ---- Scores ---- */

static float score_of(const trl__shared_gmms *g, const tile *t, size_t slot, int32_t tied, trl__combine combine)
{
    size_t streams = (size_t)g->streams, count = (size_t)g->counted;
    size_t place = (slot * (size_t)g->codebooks + (size_t)g->codebook[tied]) * streams;
    const float *weight = g->weight + (size_t)tied * streams * (size_t)g->densities;
    double base = 0, product = 1; /* of sums from 1e-12 or so to 1, so that one logarithm does for all */
    for (size_t s = 0; s < streams; s++, place++, weight += g->densities) {
        const int32_t *which = t->which + place * count;
        const float *value = t->value + place * count;
        float sum = 0;
        for (size_t j = 0; j < count; j++) {
            float part = weight[which[j]] * value[j];
            sum = combine == TRL__LOG_ADD ? sum + part : part > sum ? part : sum;
        }
        base += (double)t->book[place].base;
        product *= (double)sum;
    }
    double score = base + log(product > 1e-300 ? product : 1e-300);
    return score > (double)TRL__NEVER ? (float)score : TRL__NEVER;
}

/* Room for as many frames as fit into CACHE, at least TILE. */
static int make_tile(const trl__shared_gmms *g, trl__shared_cache *cache, const trl_matrix *frames, tile *t)
{
    size_t books = (size_t)g->codebooks * (size_t)g->streams, count = (size_t)g->counted * books;
    size_t density = books * g->row, frame = books + 2 * count;
    size_t slots = CACHE / (frame * sizeof(float));
    slots = slots < TILE ? TILE : slots > MOST_SLOTS ? MOST_SLOTS : slots;
    float *memory = trl__scratch_get(&cache->memory, density + slots * (frame + 1), sizeof *memory);
    if (!memory)
        return -1;
    t->density = memory;
    t->book = (counted *)(void *)(memory + density);
    t->value = memory + density + books * slots;
    t->which = (int32_t *)(void *)(t->value + count * slots);
    cache->frame = t->which + count * slots;
    if (cache->gmms != g || cache->frames != frames) {
        cache->gmms = g;
        cache->frames = frames;
        cache->slots = (int32_t)slots;
        for (size_t i = 0; i < slots; i++)
            cache->frame[i] = -1;
    }
    return 0;
}

/* The slot of a frame, with its densities. */
static size_t slot_of(const trl__shared_gmms *g, const trl__shared_cache *cache, const tile *t, trl__search *s,
                      int32_t f)
{
    size_t slot = (size_t)(f % cache->slots);
    if (cache->frame[slot] != f) {
        ptrdiff_t last = f > 0 ? (f - 1) % cache->slots : -1;
        last = last >= 0 && cache->frame[last] == f - 1 ? last : -1;
        add_frame(g, t, slot, last, trl_matrix_row(s->frames, (size_t)f));
        cache->frame[slot] = f;
        s->gaussians += (double)g->codebooks * g->densities;
    }
    return slot;
}

int trl__shared_score(const trl__shared_gmms *g, trl__shared_cache *cache, trl__search *s, trl_error *err)
{
    tile t;
    int32_t from = INT32_MAX, to = 0;
    s->gaussians = 0;
    for (int32_t r = 0; r < s->rows; r++) {
        from = s->row[r].first < from ? s->row[r].first : from;
        to = s->row[r].end > to ? s->row[r].end : to;
    }
    if (make_tile(g, cache, s->frames, &t) < 0)
        return trl__fail_memory(err);
    for (int32_t begin = from; begin < to; begin += TILE) {
        int32_t end = to - begin < TILE ? to : begin + TILE;
        for (int32_t r = 0; r < s->rows; r++) {
            const trl__row *row = &s->row[r];
            int32_t first = row->first > begin ? row->first : begin, last = row->end < end ? row->end : end;
            for (int32_t f = first; f < last; f++)
                s->scores[row->offset + f - row->first] =
                    score_of(g, &t, slot_of(g, cache, &t, s, f), row->tied, s->combine);
        }
    }
    return 0;
}
