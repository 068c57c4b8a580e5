/* Training: the M-step, weights from expected counts, and its repetition. Normalised within groups, arcs of a state and
 * its end (joint), or arcs of a state with the same input (conditional), they are the weights of the highest likelihood
 * given the counts, so repeating counting and estimating never lowers the likelihood (Baum and Eagon, "An inequality
 * with applications to statistical estimation", 1967; for transducers, Eisner, "Parameter estimation for probabilistic
 * finite-state transducers", 2002).
 *
 * Arcs whose count is 0, of groups that have counts, are left out: nothing is lost, since their count would be 0 in
 * every round to come.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "transduce/transducer_data.h"

#include <math.h>

#define LEAST 1e-30 /* of a group's counts: no input can need what is below, and its sums are too small for a float */

/* -log(count / total), or the old weight where nothing was counted. */
static float new_weight(double count, double total, float old)
{
    return !(total > 0) ? old : count < total * LEAST ? INFINITY : (float)(log(total) - log(count));
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
    for (uint64_t k = s->arc + t->row_first[s->row + row]; code == 0 && k < s->arc + t->row_first[s->row + row + 1];
         k++)
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
    trl_transducer_builder *builder = NULL;
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

/* ---- Rounds ---- */

static int add_result(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    (void)index, (void)err;
    trl_counts_add(user, result);
    return 0;
}

int trl_transduce_count(const trl_transducer *transducer, const trl_transduce_options *options,
                        const trl_transduce_input *inputs, size_t count, trl_counts **out, trl_error *err)
{
    int code = trl_counts_create(transducer, out, err);
    if (code < 0)
        return code;
    code = trl_transduce_batch(transducer, options, TRL_TRANSDUCE_COUNTS, inputs, count, add_result, *out, err);
    if (code < 0) {
        trl_counts_destroy(*out);
        *out = NULL;
    }
    return code;
}

/* Counts with `from`; 1: another round pays, and *to is what it would begin with. */
static int train_round(const trl_transducer *from, const trl_train_pairs_options *o, const trl_transduce_input *inputs,
                       size_t count, int round, double *weight, trl_transducer **to, trl_error *err)
{
    trl_counts *counts;
    double before = *weight;
    *to = NULL;
    int code = trl_transduce_count(from, o->search, inputs, count, &counts, err);
    if (code < 0)
        return code;
    *weight = trl_counts_weight(counts);
    if (o->each)
        code = o->each(o->user, round, counts, err);
    int go_on = round < o->rounds && trl_counts_inputs(counts) > 0 &&
                (round == 0 || before - *weight > o->least_gain * fabs(before));
    if (code == 0 && go_on)
        code = trl_transducer_estimate(from, counts, o->normal, to, err);
    trl_counts_destroy(counts);
    return code < 0 ? code : go_on;
}

int trl_transducer_train(const trl_transducer *transducer, const trl_train_pairs_options *options,
                         const trl_transduce_input *inputs, size_t count, trl_transducer **out, trl_error *err)
{
    const trl_transducer *now = transducer;
    double weight = INFINITY;
    *out = NULL;
    for (int round = 0;; round++) {
        trl_transducer *next;
        int more = train_round(now, options, inputs, count, round, &weight, &next, err);
        if (more == 0 && *out)
            return 0;
        if (more == 0)
            return trl__fail(err, TRL_EINVAL,
                             "no input has a path through the transducer: there is nothing to train on");
        trl_transducer_destroy(*out);
        *out = NULL;
        if (more < 0)
            return more;
        now = *out = next;
    }
}
