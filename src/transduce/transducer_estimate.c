/* The M-step: weights from expected counts. Normalised within groups, arcs of a state and its end (joint), or arcs of a state with the same
 * input (conditional), they are the weights of the highest likelihood given the counts, so repeating counting and estimating never lowers the
 * likelihood (Baum and Eagon, "An inequality with applications to statistical estimation", 1967; for transducers, Eisner, "Parameter
 * estimation for probabilistic finite-state transducers", 2002).
 *
 * Arcs whose count is 0, of groups that have counts, are left out: nothing is lost, since their count would be 0 in every round to come.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "transduce/transducer_data.h"

#include <math.h>

/* -log(count / total), or the old weight where nothing was counted. */
static float new_weight(double count, double total, float old)
{
    return total > 0 ? (float)(log(total) - log(count)) : old;
}

static double row_total(const trl_transducer *t, const trl_counts *counts, const trl__symbol *s, uint32_t row)
{
    double total = 0;
    for (uint64_t k = s->arc + t->row_first[s->row + row]; k < s->arc + t->row_first[s->row + row + 1]; k++)
        total += trl_counts_arc(counts, k);
    return total;
}

/* Joint: by state, ends included. */
static void state_totals(const trl_transducer *t, const trl_counts *counts, double *total)
{
    for (int32_t q = 0; q < t->states; q++)
        total[q] = trl_counts_final(counts, q);
    for (uint64_t k = 0; k < t->arcs; k++)
        total[t->source[k]] += trl_counts_arc(counts, k);
}

static int add_row(trl_transducer_builder *b, const trl_transducer *t, const trl_counts *counts, const trl__symbol *s,
                   uint32_t row, double total, trl_error *err)
{
    int code = 0;
    for (uint64_t k = s->arc + t->row_first[s->row + row];
         code == 0 && k < s->arc + t->row_first[s->row + row + 1]; k++)
        code = trl_transducer_builder_arc(b, s->label, (int32_t)t->source[k], (int32_t)t->arc[k].target, t->output[k],
                                          new_weight(trl_counts_arc(counts, k), total, t->arc[k].weight), err);
    return code;
}

/* total NULL: conditional. */
static int add_all(trl_transducer_builder *b, const trl_transducer *t, const trl_counts *counts, const double *total,
                   trl_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < t->symbols; i++) {
        const trl__symbol *s = &t->symbol[i];
        for (uint32_t row = 0; code == 0 && row < s->rows; row++) {
            uint32_t source = t->source[s->arc + t->row_first[s->row + row]];
            code = add_row(b, t, counts, s, row, total ? total[source] : row_total(t, counts, s, row), err);
        }
    }
    for (int32_t q = 0; code == 0 && q < t->states; q++)
        if (t->final[q] < INFINITY)
            code = trl_transducer_builder_final(
                b, q, total ? new_weight(trl_counts_final(counts, q), total[q], t->final[q]) : t->final[q], err);
    return code;
}

int trl_transducer_estimate(const trl_transducer *t, const trl_counts *counts, trl_train_normal normal,
                            trl_transducer **out, trl_error *err)
{
    trl_transducer_builder *builder;
    *out = NULL;
    int code = trl_transducer_verify(t, NULL, err);
    if (code == 0)
        code = trl_transducer_builder_create(t->states, t->start, &builder, err);
    if (code < 0)
        return code;
    double *total = normal == TRL_NORMAL_JOINT ? trl__alloc((size_t)t->states + 1, sizeof *total) : NULL;
    if (normal == TRL_NORMAL_JOINT && !total) {
        trl_transducer_builder_destroy(builder);
        return trl__fail_memory(err);
    }
    if (total)
        state_totals(t, counts, total);
    code = add_all(builder, t, counts, total, err);
    trl__free(total);
    if (code < 0) {
        trl_transducer_builder_destroy(builder);
        return code;
    }
    trl_transducer_builder_symbols(builder, trl_symbols_share(t->isymbols), trl_symbols_share(t->osymbols));
    return trl_transducer_builder_finish(builder, out, err);
}
