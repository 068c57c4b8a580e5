/* Transducers by input symbol: looking into them, and back to a machine by state. */
#include "base/fail.h"
#include "base/memory.h"
#include "transduce/transducer_data.h"

void trl_transducer_destroy(trl_transducer *t)
{
    if (!t)
        return;
    if (!t->container) {
        trl__free((void *)(uintptr_t)t->symbol);
        trl__free((void *)(uintptr_t)t->arc);
        trl__free((void *)(uintptr_t)t->source);
        trl__free((void *)(uintptr_t)t->output);
        trl__free((void *)(uintptr_t)t->row_first);
        trl__free((void *)(uintptr_t)t->row_source);
        trl__free((void *)(uintptr_t)t->rank);
        trl__free((void *)(uintptr_t)t->bits);
        trl__free((void *)(uintptr_t)t->final);
    }
    trl__container_close(t->container);
    trl__free(t->memory);
    trl__free(t->checked);
    trl__epsilons_free(&t->epsilons);
    trl_symbols_destroy(t->isymbols);
    trl_symbols_destroy(t->osymbols);
    trl__free(t);
}

int32_t trl_transducer_states(const trl_transducer *transducer)
{
    return transducer->states;
}

int32_t trl_transducer_start(const trl_transducer *transducer)
{
    return transducer->start;
}

uint64_t trl_transducer_arcs(const trl_transducer *transducer)
{
    return transducer->arcs;
}

int32_t trl_transducer_labels(const trl_transducer *transducer)
{
    return (int32_t)transducer->symbols;
}

const trl_symbols *trl_transducer_input_symbols(const trl_transducer *transducer)
{
    return transducer->isymbols;
}

const trl_symbols *trl_transducer_output_symbols(const trl_transducer *transducer)
{
    return transducer->osymbols;
}

float trl_transducer_final(const trl_transducer *transducer, int32_t state)
{
    return transducer->final[state];
}

uint64_t trl_transducer_walked_bytes(const trl_transducer *t)
{
    return t->arcs * sizeof *t->arc + (t->rows + t->symbols) * sizeof *t->row_first +
           t->listed * sizeof *t->row_source + t->words * (sizeof *t->bits + sizeof *t->rank) +
           t->symbols * sizeof *t->symbol;
}

int32_t trl__transducer_find(const trl_transducer *t, int32_t label)
{
    uint32_t low = 0, high = t->symbols;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->symbol[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->symbols && t->symbol[low].label == label ? (int32_t)low : -1;
}

/* The symbol whose part an arc is in. */
static const trl__symbol *symbol_of(const trl_transducer *t, uint64_t arc)
{
    uint32_t low = 0, high = t->symbols;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (t->symbol[middle].arc <= arc)
            low = middle;
        else
            high = middle;
    }
    return &t->symbol[low];
}

trl_transducer_arc trl_transducer_get(const trl_transducer *t, uint64_t arc)
{
    return (trl_transducer_arc){symbol_of(t, arc)->label, (int32_t)t->source[arc], (int32_t)t->arc[arc].target,
                                t->output[arc], t->arc[arc].weight};
}

/* ---- Back to a machine ---- */

/* Arcs by source, those of a source in the transducer's order: a counting sort, so that the machine is built state by
 * state. */
static int add_arcs(const trl_transducer *t, trl_fst *fst, uint64_t *first, uint64_t *order, trl_error *err)
{
    for (uint64_t k = 0; k < t->arcs; k++)
        first[t->source[k] + 1]++;
    for (int32_t q = 0; q < t->states; q++)
        first[q + 1] += first[q];
    for (uint64_t k = 0; k < t->arcs; k++)
        order[first[t->source[k]]++] = k;
    int code = 0;
    for (uint64_t i = 0; i < t->arcs && code == 0; i++) {
        trl_transducer_arc a = trl_transducer_get(t, order[i]);
        code = trl_fst_add_arc(fst, a.source, (trl_arc){a.input, a.output, {a.weight, 0}, a.target}, err);
    }
    return code;
}

static int fill(const trl_transducer *t, trl_fst *fst, trl_error *err)
{
    int code = trl_transducer_verify(t, NULL, err);
    if (code == 0)
        code = trl_fst_add_states(fst, t->states, err);
    if (code == 0 && t->start != TRL_NO_STATE)
        code = trl_fst_set_start(fst, t->start, err);
    for (int32_t q = 0; q < t->states && code == 0; q++)
        code = trl_fst_set_final(fst, q, (trl_weight){t->final[q], 0}, err);
    if (code < 0)
        return code;
    uint64_t *first = trl__alloc_zero((size_t)t->states + 1, sizeof *first);
    uint64_t *order = trl__alloc((size_t)t->arcs + 1, sizeof *order);
    code = first && order ? add_arcs(t, fst, first, order, err) : trl__fail_memory(err);
    trl__free(first);
    trl__free(order);
    return code;
}

int trl_transducer_to_fst(const trl_transducer *t, trl_semiring semiring, trl_fst **out, trl_error *err)
{
    *out = NULL;
    if (semiring != TRL_TROPICAL && semiring != TRL_LOG)
        return trl__fail(err, TRL_EINVAL, "a transducer's weights are tropical or log, not %s",
                         trl_semiring_name(semiring));
    trl_fst *fst;
    int code = trl_fst_create(semiring, &fst, err);
    if (code < 0)
        return code;
    trl_fst_set_symbols(fst, trl_symbols_share(t->isymbols), trl_symbols_share(t->osymbols));
    code = fill(t, fst, err);
    if (code < 0)
        trl_fst_destroy(fst);
    else
        *out = fst;
    return code;
}
