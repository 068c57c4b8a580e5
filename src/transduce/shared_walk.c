/* One step by several threads: rows are shared out in pieces, and threads meet in the cells. A cell's minimum is one
 * compare-and-swap of 64 bits, so best paths are the same whoever comes first. Sums are added in the order the threads
 * come: the same up to rounding. */
#include "base/fail.h"
#include "transduce/search.h"

#define PIECES 4 /* per thread, so that uneven ones balance */

struct trl__shared {
    int threads;
    uint32_t **fresh; /* by thread: states it was the first to reach */
    size_t *count;
};

int trl__shared_create(trl_transduce_work *w, trl_error *err)
{
    struct trl__shared *shared = trl__alloc_zero(1, sizeof *shared);
    if (!shared)
        return trl__fail_memory(err);
    w->shared = shared;
    size_t threads = (size_t)trl_pool_threads(w->options.pool);
    shared->fresh = trl__alloc_zero(threads, sizeof *shared->fresh);
    shared->count = trl__alloc_zero(threads, sizeof *shared->count);
    if (!shared->fresh || !shared->count)
        return trl__fail_memory(err);
    for (; shared->threads < (int)threads; shared->threads++) {
        shared->fresh[shared->threads] = trl__alloc((size_t)w->t->states + 1, sizeof **shared->fresh);
        if (!shared->fresh[shared->threads])
            return trl__fail_memory(err);
    }
    return 0;
}

void trl__shared_free(struct trl__shared *shared)
{
    if (!shared)
        return;
    for (int i = 0; i < shared->threads; i++)
        trl__free(shared->fresh[i]);
    trl__free(shared->fresh);
    trl__free(shared->count);
    trl__free(shared);
}

/* What the threads found, put behind what is there. */
static void gather(struct trl__shared *shared, uint32_t *fresh, size_t *count)
{
    for (int i = 0; i < shared->threads; i++) {
        for (size_t k = 0; k < shared->count[i]; k++)
            fresh[(*count)++] = shared->fresh[i][k];
        shared->count[i] = 0;
    }
}

typedef struct piece_work {
    trl_transduce_work *w;
    const trl__symbol *s;
    size_t items, pieces;
    const float *score;
    float weight;
    uint32_t base;
    uint64_t *cell;
    int probability;
    const trl__walked *step;
    const double *alpha;
    double *sum;
} piece_work;

static size_t begin_of(const piece_work *p, size_t piece)
{
    return p->items / p->pieces * piece + (piece < p->items % p->pieces ? piece : p->items % p->pieces);
}

static void share_out(piece_work *p, trl_pool_fn fn)
{
    p->pieces = (size_t)p->w->shared->threads * PIECES;
    trl_pool_for(p->w->options.pool, p->pieces, fn, p, NULL); /* no piece fails */
}

/* ---- Best paths ---- */

static int best_piece(void *user, size_t piece, int worker, trl_error *err)
{
    (void)err;
    const piece_work *p = user;
    const trl_transducer *t = p->w->t;
    const uint32_t *row = t->row_first + p->s->row;
    uint32_t *fresh = p->w->shared->fresh[worker];
    size_t *count = &p->w->shared->count[worker];
    for (size_t i = begin_of(p, piece), end = begin_of(p, piece + 1); i < end; i++) {
        trl__hit hit = p->w->hits[i];
        float from = p->score[hit.node] + p->weight;
        for (uint32_t k = row[hit.row]; k < row[hit.row + 1]; k++) {
            trl__symbol_arc arc = t->arc[p->s->arc + k];
            uint64_t key = trl__pack(from + arc.weight, p->base + k), *cell = &p->cell[arc.target];
            uint64_t old = __atomic_load_n(cell, __ATOMIC_RELAXED);
            while (key < old && !__atomic_compare_exchange_n(cell, &old, key, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                ;
            if (old == TRL__EMPTY)
                fresh[(*count)++] = arc.target;
        }
    }
    return 0;
}

void trl__shared_best_rows(trl_transduce_work *w, const trl__symbol *s, size_t hits, const float *score, float weight,
                           uint32_t base, trl__best_cells *cells)
{
    piece_work p = {.w = w, .s = s, .items = hits, .score = score, .weight = weight, .base = base, .cell = cells->cell};
    share_out(&p, best_piece);
    gather(w->shared, cells->fresh, &cells->count);
}

/* ---- Sums ---- */

static int copy_piece(void *user, size_t piece, int worker, trl_error *err)
{
    (void)worker, (void)err;
    const piece_work *p = user;
    trl_transduce_work *w = p->w;
    const trl_transducer *t = w->t;
    const uint32_t *row = t->row_first + p->s->row;
    size_t edge = w->edge_count, first = begin_of(p, piece), end = begin_of(p, piece + 1);
    for (size_t i = 0; i < first; i++)
        edge += row[w->hits[i].row + 1] - row[w->hits[i].row];
    for (size_t i = first; i < end; i++) {
        uint32_t k = row[w->hits[i].row], stop = row[w->hits[i].row + 1];
        w->runs[w->run_count + i] = (trl__run){p->s->arc + k, w->hits[i].node, stop - k};
        for (; k < stop; k++) {
            trl__symbol_arc arc = t->arc[p->s->arc + k];
            w->edges[edge++] = (trl__edge){arc.target, p->probability ? trl__probability(arc.weight) : arc.weight};
        }
    }
    return 0;
}

void trl__shared_copy_rows(trl_transduce_work *w, const trl__symbol *s, size_t hits, int probability)
{
    share_out(&(piece_work){.w = w, .s = s, .items = hits, .probability = probability}, copy_piece);
}

static int add_piece(void *user, size_t piece, int worker, trl_error *err)
{
    (void)err;
    const piece_work *p = user;
    const trl__run *runs = p->w->runs + p->step->run;
    const trl__edge *edge = p->w->edges + p->step->edge;
    uint32_t *fresh = p->w->shared->fresh[worker];
    size_t *count = &p->w->shared->count[worker], first = begin_of(p, piece), end = begin_of(p, piece + 1);
    for (size_t i = 0; i < first; i++)
        edge += runs[i].count;
    for (size_t i = first; i < end; i++) {
        double from = p->alpha[runs[i].node] * p->step->factor, old, new;
        for (uint32_t k = 0; k < runs[i].count; k++, edge++) {
            double *cell = &p->sum[edge->target];
            __atomic_load(cell, &old, __ATOMIC_RELAXED);
            do
                new = old + from *(double)edge->value;
            while (!__atomic_compare_exchange(cell, &old, &new, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
            if (old == 0)
                fresh[(*count)++] = edge->target;
        }
    }
    return 0;
}

void trl__shared_add_runs(trl_transduce_work *w, const trl__walked *step, const double *alpha, trl__sum_cells *cells)
{
    share_out(&(piece_work){.w = w, .items = step->runs, .step = step, .alpha = alpha, .sum = cells->sum}, add_piece);
    gather(w->shared, cells->fresh, &cells->count);
}
