/* The loops of walk.h; the file that includes this one says for which instruction set (KERNEL).
 *
 * A step touches rows here and there in gigabytes: almost every row is a wait for memory, so rows are asked for well
 * before they are used, first the entry that says where a row begins, then its arcs. There are no branches on data:
 * whether an arc improves its cell or finds a new state can't be foreseen.
 */
#include "transduce/walk.h"

#define FAR 24   /* hits ahead: the row's entry is asked for */
#define AHEAD 24 /* lines ahead: arcs are */
#define LINE 64  /* bytes */

/* ---- Hits ---- */

static inline uint32_t row_below(const trl_transducer *t, const trl__symbol *s, size_t word, unsigned bit)
{
    uint64_t below = t->bits[s->place + word] & (((uint64_t)1 << bit) - 1);
    return t->rank[s->place + word] + (uint32_t)__builtin_popcountll(below);
}

static size_t hits_of_words(const trl_transducer *t, const trl__symbol *s, const trl__alive *alive, trl__hit *out)
{
    const uint64_t *bits = t->bits + s->place;
    size_t words = trl__words(t->states), count = 0;
    for (size_t w = 0; w < words; w++)
        for (uint64_t both = bits[w] & alive->bits[w]; both != 0; both &= both - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(both);
            out[count++] = (trl__hit){row_below(t, s, w, bit), alive->node[w * 64 + bit]};
        }
    return count;
}

static size_t hits_of_nodes(const trl_transducer *t, const trl__symbol *s, const trl__alive *alive, trl__hit *out)
{
    size_t count = 0;
    for (size_t i = 0; i < alive->count; i++) {
        uint32_t q = alive->state[i];
        if (t->bits[s->place + q / 64] >> q % 64 & 1)
            out[count++] = (trl__hit){row_below(t, s, q / 64, q % 64), (uint32_t)i};
    }
    return count;
}

static size_t hits_of_list(const trl_transducer *t, const trl__symbol *s, const trl__alive *alive, trl__hit *out)
{
    const uint32_t *source = t->row_source + s->place;
    size_t count = 0;
    for (uint32_t row = 0; row < s->rows; row++) {
        uint32_t q = source[row];
        if (alive->bits[q / 64] >> q % 64 & 1)
            out[count++] = (trl__hit){row, alive->node[q]};
    }
    return count;
}

static size_t find_hits(const trl_transducer *t, const trl__symbol *s, const trl__alive *alive, trl__hit *out)
{
    if (!s->has_bitmap)
        return hits_of_list(t, s, alive, out);
    return alive->count * 16 < trl__words(t->states) ? hits_of_nodes(t, s, alive, out)
                                                     : hits_of_words(t, s, alive, out);
}

/* ---- Rows ahead ---- */

/* A reader that runs AHEAD lines in front of the walk and only asks for them. */
typedef struct reader {
    const trl__symbol_arc *arcs;
    const uint32_t *row;
    const trl__hit *hits;
    size_t count, next;     /* the row it is in */
    const char *line, *end; /* what is left of that row */
} reader;

static inline size_t lines_of(uint32_t arcs)
{
    return arcs * sizeof(trl__symbol_arc) / LINE + 1;
}

static inline void run_ahead(reader *a, size_t lines)
{
    for (; lines > 0; lines--) {
        if (a->line >= a->end) {
            if (a->next == a->count)
                return;
            if (a->next + FAR < a->count)
                __builtin_prefetch(&a->row[a->hits[a->next + FAR].row]);
            const uint32_t *row = &a->row[a->hits[a->next++].row];
            a->line = (const char *)(a->arcs + row[0]);
            a->end = (const char *)(a->arcs + row[1]);
        }
        __builtin_prefetch(a->line);
        a->line += LINE;
    }
}

static inline reader begin_ahead(const trl_transducer *t, const trl__symbol *s, const trl__hit *hits, size_t count)
{
    reader a = {.arcs = t->arc + s->arc, .row = t->row_first + s->row, .hits = hits, .count = count};
    for (size_t i = 0; i < FAR && i < count; i++)
        __builtin_prefetch(&a.row[hits[i].row]);
    run_ahead(&a, AHEAD);
    return a;
}

/* ---- Best paths ---- */

/* `there`: 1 where the key is no EMPTY. */
static inline void improve(trl__best_cells *cells, uint32_t target, uint64_t key, int there)
{
    uint64_t old = cells->cell[target];
    cells->fresh[cells->count] = target;
    cells->count += (old == TRL__EMPTY) & there;
    cells->cell[target] = key < old ? key : old;
}

/* `positive`: no score is below 0, and its bits need not be turned round. The loop is as long as its instructions are
 * many: this takes a quarter of them away. */
static inline void rows_into_cells(const trl_transducer *t, const trl__symbol *s, const trl__hit *hits, size_t count,
                                   const float *score, float weight, uint32_t base, int positive, trl__best_cells *out)
{
    const trl__symbol_arc *arcs = t->arc + s->arc;
    const uint32_t *row = t->row_first + s->row;
    trl__best_cells cells = *out;
    reader a = begin_ahead(t, s, hits, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t k = row[hits[i].row], end = row[hits[i].row + 1];
        float from = score[hits[i].node] + weight;
        run_ahead(&a, lines_of(end - k));
        for (; k < end; k++) {
            float to = from + arcs[k].weight;
            improve(&cells, arcs[k].target, positive ? trl__pack_positive(to, base + k) : trl__pack(to, base + k), 1);
        }
    }
    *out = cells;
}

static void best_rows(const trl_transducer *t, const trl__symbol *s, const trl__hit *hits, size_t count,
                      const float *score, float weight, uint32_t base, trl__best_cells *out)
{
    if (weight >= 0 && t->smallest >= 0) /* scores of nodes never are below 0 */
        rows_into_cells(t, s, hits, count, score, weight, base, 1, out);
    else
        rows_into_cells(t, s, hits, count, score, weight, base, 0, out);
}

static void best_all(const trl_transducer *t, const trl__symbol *s, const float *score, uint32_t base,
                     trl__best_cells *out)
{
    const trl__symbol_arc *arcs = t->arc + s->arc;
    const uint32_t *source = t->source + s->arc;
    trl__best_cells cells = *out;
    for (uint32_t k = 0; k < s->arcs; k++) {
        uint64_t key = trl__pack(score[source[k]] + arcs[k].weight, base + k);
        int there = key < TRL__NEVER;
        improve(&cells, arcs[k].target, there ? key : TRL__EMPTY, there);
    }
    *out = cells;
}

/* ---- Sums ---- */

/* Eight at a time, which the compiler makes vectors of. */
static inline void probabilities_of_8(trl__edge *edges)
{
    float value[8];
    for (int i = 0; i < 8; i++)
        value[i] = edges[i].value;
    for (int i = 0; i < 8; i++)
        value[i] = trl__probability(value[i]);
    for (int i = 0; i < 8; i++)
        edges[i].value = value[i];
}

static size_t copy_rows(const trl_transducer *t, const trl__symbol *s, const trl__hit *hits, size_t count,
                        int probability, trl__edge *edges, size_t room, trl__run *runs)
{
    const trl__symbol_arc *arcs = t->arc + s->arc;
    const uint32_t *row = t->row_first + s->row;
    size_t used = 0, i = 0;
    reader a = begin_ahead(t, s, hits, count);
    for (; i < count; i++) {
        uint32_t first = row[hits[i].row], size = row[hits[i].row + 1] - first;
        if (size > room - used)
            break;
        run_ahead(&a, lines_of(size));
        runs[i] = (trl__run){s->arc + first, hits[i].node, size};
        for (uint32_t k = 0; k < size; k++)
            edges[used + k] = (trl__edge){arcs[first + k].target, arcs[first + k].weight};
        used += size;
    }
    for (size_t k = 0; probability && k < used; k += 8)
        probabilities_of_8(edges + k);
    return i;
}

static void add_runs(const trl__run *runs, size_t count, const trl__edge *edges, const double *alpha, double factor,
                     trl__sum_cells *out)
{
    trl__sum_cells cells = *out;
    for (size_t i = 0; i < count; i++) {
        double from = alpha[runs[i].node] * factor;
        for (const trl__edge *end = edges + runs[i].count; edges < end; edges++) {
            double old = cells.sum[edges->target];
            cells.fresh[cells.count] = edges->target;
            cells.count += old == 0;
            cells.sum[edges->target] = old + from * (double)edges->value;
        }
    }
    *out = cells;
}

static void back_runs(const trl__run *runs, size_t count, const trl__edge *edges, const double *beta, double factor,
                      double *sum)
{
    for (size_t i = 0; i < count; i++) {
        double all = 0;
        for (const trl__edge *end = edges + runs[i].count; edges < end; edges++)
            all += (double)edges->value * beta[edges->target];
        sum[runs[i].node] += all * factor;
    }
}

static size_t count_runs(const trl__run *runs, size_t count, const trl__edge *edges, const double *beta, double factor,
                         double *sum, const double *alpha, double share, uint64_t *arcs, double *counts)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        double all = 0, from = alpha[runs[i].node] * share;
        for (uint32_t k = 0; k < runs[i].count; k++) {
            double ahead = (double)edges[k].value * beta[edges[k].target];
            all += ahead;
            arcs[found] = runs[i].arc + k;
            counts[found] = from * ahead;
            found += ahead > 0;
        }
        edges += runs[i].count;
        sum[runs[i].node] += all * factor;
    }
    return found;
}

const trl__walk KERNEL = {find_hits, best_rows, best_all, copy_rows, add_runs, back_runs, count_runs};
