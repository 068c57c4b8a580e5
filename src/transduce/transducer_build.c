/* Making a transducer: the arcs of one label are gathered, sorted by source and target, and put behind those of smaller
 * labels. Memory is what the transducer has in the end and once more the arcs of the largest label. */
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "transduce/transducer_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct full_arc {
    int32_t source, target, output;
    float weight;
} full_arc;

struct trl_transducer_builder {
    trl_transducer *t; /* its arrays are these: */
    trl__symbol *symbol;
    trl__symbol_arc *arc;
    uint32_t *source, *row_first, *row_source, *rank;
    int32_t *output;
    uint64_t *bits;
    size_t symbol_capacity, arc_capacity, source_capacity, output_capacity, row_capacity, listed_capacity,
        rank_capacity, bits_capacity;
    float *final;
    int32_t label; /* of the arcs in group[]; -1: none yet */
    full_arc *group, *sorted;
    size_t count, group_capacity, sorted_capacity;
};

int trl_transducer_builder_create(int32_t states, int32_t start, trl_transducer_builder **out, trl_error *err)
{
    *out = NULL;
    if (states < 0 || start < TRL_NO_STATE || start >= states)
        return trl__fail(err, TRL_EINVAL, "%" PRId32 " states can't begin in state %" PRId32, states, start);
    trl_transducer_builder *b = trl__alloc_zero(1, sizeof *b);
    if (b) {
        b->t = trl__alloc_zero(1, sizeof *b->t);
        b->final = trl__alloc((size_t)states + 1, sizeof *b->final);
    }
    if (!b || !b->t || !b->final) {
        if (b) {
            trl__free(b->t);
            trl__free(b->final);
        }
        trl__free(b);
        return trl__fail_memory(err);
    }
    for (int32_t q = 0; q < states; q++)
        b->final[q] = INFINITY;
    *b->t = (trl_transducer){.states = states, .start = start, .smallest = 0, .largest = 0, .epsilons = {.symbol = -1}};
    b->label = -1;
    *out = b;
    return 0;
}

/* Puts what was built into the transducer, which then owns it. */
static void hand_over(trl_transducer_builder *b)
{
    trl_transducer *t = b->t;
    t->symbol = b->symbol;
    t->arc = b->arc;
    t->source = b->source;
    t->output = b->output;
    t->row_first = b->row_first;
    t->row_source = b->row_source;
    t->rank = b->rank;
    t->bits = b->bits;
    t->final = b->final;
}

void trl_transducer_builder_destroy(trl_transducer_builder *builder)
{
    if (!builder)
        return;
    hand_over(builder);
    trl_transducer_destroy(builder->t);
    trl__free(builder->group);
    trl__free(builder->sorted);
    trl__free(builder);
}

void trl_transducer_builder_symbols(trl_transducer_builder *builder, trl_symbols *input, trl_symbols *output)
{
    trl_symbols_destroy(builder->t->isymbols);
    trl_symbols_destroy(builder->t->osymbols);
    builder->t->isymbols = input;
    builder->t->osymbols = output;
}

/* ---- The arcs of one label ---- */

static int compare_arcs(const void *a, const void *b)
{
    const full_arc *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->output != y->output)
        return x->output < y->output ? -1 : 1;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

#define DIGIT 11 /* bits that one pass of the radix sort looks at */

/* One stable pass by some bits of the target, or of the source. */
static void sort_digit(const full_arc *from, full_arc *to, size_t count, int by_source, unsigned shift)
{
    size_t place[1 << DIGIT] = {0}, next = 0;
#define DIGIT_OF(a) ((uint32_t)(by_source ? (a).source : (a).target) >> shift & ((1 << DIGIT) - 1))
    for (size_t i = 0; i < count; i++)
        place[DIGIT_OF(from[i])]++;
    for (size_t d = 0; d < (size_t)1 << DIGIT; d++) {
        size_t size = place[d];
        place[d] = next;
        next += size;
    }
    for (size_t i = 0; i < count; i++)
        to[place[DIGIT_OF(from[i])]++] = from[i];
#undef DIGIT_OF
}

/* Large groups by source and target in linear time; what is left, arcs between the same states, are few. */
static int sort_group(trl_transducer_builder *b)
{
    size_t i = 1;
    while (i < b->count && compare_arcs(&b->group[i - 1], &b->group[i]) <= 0)
        i++;
    if (i >= b->count)
        return 0;
    if (b->count < (size_t)1 << DIGIT) {
        qsort(b->group, b->count, sizeof *b->group, compare_arcs);
        return 0;
    }
    if (TRL_GROW(b->sorted, b->sorted_capacity, b->group_capacity) < 0)
        return -1;
    for (int by_source = 0; by_source < 2; by_source++)
        for (unsigned shift = 0; shift < 31 && b->t->states > (int64_t)1 << shift; shift += DIGIT) {
            sort_digit(b->group, b->sorted, b->count, by_source, shift);
            full_arc *other = b->group;
            b->group = b->sorted;
            b->sorted = other;
            size_t capacity = b->group_capacity;
            b->group_capacity = b->sorted_capacity;
            b->sorted_capacity = capacity;
        }
    for (size_t first = 0, end; first < b->count; first = end) {
        for (end = first + 1; end < b->count && b->group[end].source == b->group[first].source &&
                              b->group[end].target == b->group[first].target;)
            end++;
        if (end - first > 1)
            qsort(b->group + first, end - first, sizeof *b->group, compare_arcs);
    }
    return 0;
}

static uint32_t count_rows(const full_arc *group, size_t count)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += i == 0 || group[i].source != group[i - 1].source;
    return rows;
}

static int make_room(trl_transducer_builder *b, uint32_t rows, int has_bitmap)
{
    trl_transducer *t = b->t;
    size_t arcs = (size_t)t->arcs + b->count, words = (size_t)t->words + trl__words(t->states);
    if (TRL_GROW(b->symbol, b->symbol_capacity, t->symbols + 1) < 0 || TRL_GROW(b->arc, b->arc_capacity, arcs) < 0 ||
        TRL_GROW(b->source, b->source_capacity, arcs) < 0 || TRL_GROW(b->output, b->output_capacity, arcs) < 0 ||
        TRL_GROW(b->row_first, b->row_capacity, (size_t)t->rows + t->symbols + rows + 1) < 0)
        return -1;
    if (has_bitmap)
        return TRL_GROW(b->bits, b->bits_capacity, words) < 0 || TRL_GROW(b->rank, b->rank_capacity, words) < 0;
    return TRL_GROW(b->row_source, b->listed_capacity, (size_t)t->listed + rows);
}

static void put_bitmap(trl_transducer_builder *b, const trl__symbol *s)
{
    size_t words = trl__words(b->t->states);
    uint64_t *bits = b->bits + s->place;
    memset(bits, 0, words * sizeof *bits);
    for (size_t i = 0; i < b->count; i++)
        bits[b->group[i].source / 64] |= (uint64_t)1 << b->group[i].source % 64;
    uint32_t rank = 0;
    for (size_t w = 0; w < words; w++) {
        b->rank[s->place + w] = rank;
        rank += (uint32_t)__builtin_popcountll(bits[w]);
    }
    b->t->words += words;
}

static void put_arcs(trl_transducer_builder *b, const trl__symbol *s)
{
    trl_transducer *t = b->t;
    uint32_t *row = b->row_first + s->row, r = 0;
    for (size_t i = 0; i < b->count; i++) {
        const full_arc *a = &b->group[i];
        b->arc[s->arc + i] = (trl__symbol_arc){(uint32_t)a->target, a->weight};
        b->source[s->arc + i] = (uint32_t)a->source;
        b->output[s->arc + i] = a->output;
        t->smallest = fminf(t->smallest, a->weight);
        t->largest = fmaxf(t->largest, a->weight);
        if (i > 0 && a->source == a[-1].source)
            continue;
        if (!s->has_bitmap)
            b->row_source[s->place + r] = (uint32_t)a->source;
        row[r++] = (uint32_t)i;
    }
    row[r] = (uint32_t)b->count;
}

/* A bitmap takes 12 bytes for 64 states, a list 4 for each row; the smaller one is also the faster. */
static int end_group(trl_transducer_builder *b, trl_error *err)
{
    trl_transducer *t = b->t;
    if (b->count == 0)
        return 0;
    if (sort_group(b) < 0)
        return trl__fail_memory(err);
    uint32_t rows = count_rows(b->group, b->count);
    int has_bitmap = rows > 3 * trl__words(t->states);
    if (make_room(b, rows, has_bitmap) != 0)
        return trl__fail_memory(err);
    trl__symbol *s = &b->symbol[t->symbols];
    *s = (trl__symbol){.arc = t->arcs,
                       .row = t->rows + t->symbols,
                       .place = has_bitmap ? t->words : t->listed,
                       .arcs = (uint32_t)b->count,
                       .rows = rows,
                       .label = b->label,
                       .has_bitmap = (uint32_t)has_bitmap};
    if (has_bitmap)
        put_bitmap(b, s);
    else
        t->listed += rows;
    put_arcs(b, s);
    hand_over(b);
    s->hash = trl__symbol_hash(t, s);
    t->arcs += b->count;
    t->rows += rows;
    t->symbols++;
    b->count = 0;
    return 0;
}

/* ---- The stream ---- */

static int check_weight(float weight, trl_error *err)
{
    return isnan(weight) || weight == -INFINITY
               ? trl__fail(err, TRL_ENUMBER, "a weight is not a number or minus infinity")
               : 0;
}

int trl_transducer_builder_arc(trl_transducer_builder *b, int32_t input, int32_t source, int32_t target, int32_t output,
                               float weight, trl_error *err)
{
    int32_t states = b->t->states;
    if (source < 0 || source >= states || target < 0 || target >= states || input < 0 || output < 0)
        return trl__fail(err, TRL_EINVAL,
                         "no arc from state %" PRId32 " to %" PRId32 " with labels %" PRId32 ":%" PRId32
                         " in a transducer of %" PRId32 " states",
                         source, target, input, output, states);
    int code = check_weight(weight, err);
    if (code < 0 || weight == INFINITY)
        return code;
    if (input != b->label) {
        if (input < b->label)
            return trl__fail(err, TRL_EINVAL,
                             "input label %" PRId32 " comes after %" PRId32 "; arcs must be sorted by it", input,
                             b->label);
        code = end_group(b, err);
        if (code < 0)
            return code;
        b->label = input;
    }
    if (b->count >= UINT32_MAX - 1)
        return trl__fail(err, TRL_ELIMIT, "more than 2^32 - 2 arcs read label %" PRId32, input);
    if (TRL_GROW(b->group, b->group_capacity, b->count + 1) < 0)
        return trl__fail_memory(err);
    b->group[b->count++] = (full_arc){source, target, output, weight};
    return 0;
}

int trl_transducer_builder_final(trl_transducer_builder *b, int32_t state, float weight, trl_error *err)
{
    if (state < 0 || state >= b->t->states)
        return trl__fail(err, TRL_EINVAL, "no state %" PRId32 " in a transducer of %" PRId32, state, b->t->states);
    int code = check_weight(weight, err);
    if (code < 0 || weight == INFINITY)
        return code;
    if (b->final[state] != INFINITY)
        return trl__fail(err, TRL_EINVAL, "state %" PRId32 " has two final weights", state);
    b->final[state] = weight;
    b->t->smallest = fminf(b->t->smallest, weight);
    b->t->largest = fmaxf(b->t->largest, weight);
    return 0;
}

int trl_transducer_builder_finish(trl_transducer_builder *builder, trl_transducer **out, trl_error *err)
{
    *out = NULL;
    int code = end_group(builder, err);
    hand_over(builder);
    if (code == 0)
        code = trl__epsilons_prepare(builder->t, err);
    if (code < 0) {
        trl_transducer_builder_destroy(builder);
        return code;
    }
    *out = builder->t;
    trl__free(builder->group);
    trl__free(builder->sorted);
    trl__free(builder);
    return 0;
}

/* ---- From a machine ---- */

typedef struct labelled {
    int32_t label;
    full_arc arc;
} labelled;

static int compare_labels(const void *a, const void *b)
{
    const labelled *x = a, *y = b;
    return x->label != y->label ? (x->label < y->label ? -1 : 1) : compare_arcs(&x->arc, &y->arc);
}

static int add_sorted(trl_transducer_builder *b, const trl_fst *fst, labelled *all, trl_error *err)
{
    size_t count = 0;
    for (int32_t q = 0; q < trl_fst_states(fst); q++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, q); i++) {
            trl_arc a = trl_fst_arc(fst, q, i);
            all[count++] = (labelled){a.ilabel, {q, a.next, a.olabel, a.weight.value}};
        }
    if (count > 0)
        qsort(all, count, sizeof *all, compare_labels);
    for (size_t i = 0; i < count; i++) {
        const full_arc *a = &all[i].arc;
        int code = trl_transducer_builder_arc(b, all[i].label, a->source, a->target, a->output, a->weight, err);
        if (code < 0)
            return code;
    }
    for (int32_t q = 0; q < trl_fst_states(fst); q++) {
        int code = trl_transducer_builder_final(b, q, trl_fst_final(fst, q).value, err);
        if (code < 0)
            return code;
    }
    return 0;
}

int trl_transducer_from_fst(const trl_fst *fst, trl_transducer **out, trl_error *err)
{
    trl_transducer_builder *builder;
    trl_semiring semiring = trl_fst_semiring(fst);
    *out = NULL;
    if (semiring != TRL_TROPICAL && semiring != TRL_LOG)
        return trl__fail(err, TRL_EINVAL, "a transducer's weights are tropical or log, not %s; map them first",
                         trl_semiring_name(semiring));
    int code = trl_transducer_builder_create(trl_fst_states(fst), trl_fst_start(fst), &builder, err);
    if (code < 0)
        return code;
    labelled *all = trl__alloc((size_t)trl_fst_arcs(fst) + 1, sizeof *all);
    code = all ? add_sorted(builder, fst, all, err) : trl__fail_memory(err);
    trl__free(all);
    if (code < 0) {
        trl_transducer_builder_destroy(builder);
        return code;
    }
    trl_transducer_builder_symbols(builder, trl_symbols_share((trl_symbols *)(uintptr_t)trl_fst_input_symbols(fst)),
                                   trl_symbols_share((trl_symbols *)(uintptr_t)trl_fst_output_symbols(fst)));
    return trl_transducer_builder_finish(builder, out, err);
}
