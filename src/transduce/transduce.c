/* One input, many inputs: the plan is made, the method's search is run. */
#include "base/fail.h"
#include "base/ordered.h"
#include "transduce/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HUGE_STEP ((size_t)1 << 15) /* arcs: below, waking other threads costs more than they save */
#define WAITING 4                   /* results of a batch that may wait for an earlier one, per thread */

static int make_scratch(trl_transduce_work *w)
{
    size_t states = (size_t)w->t->states, words = trl__words(w->t->states);
    w->bits = trl__alloc_zero(words + 1, sizeof *w->bits);
    w->pending = trl__alloc_zero(words + 1, sizeof *w->pending);
    w->node = trl__alloc_zero(states + 1, sizeof *w->node);
    w->fresh = trl__alloc(states + 1, sizeof *w->fresh);
    w->hits = trl__alloc(states + 1, sizeof *w->hits);
    return w->bits && w->pending && w->node && w->fresh && w->hits ? 0 : -1;
}

int trl_transduce_create(const trl_transducer *transducer, const trl_transduce_options *options,
                         trl_transduce_work **out, trl_error *err)
{
    *out = NULL;
    if (options && options->method == TRL_METHOD_PREFIX && transducer->states > TRL_PREFIX_STATES)
        return trl__fail(err, TRL_EINVAL,
                         "method prefix is for transducers of up to %d states, this one has %" PRId32
                         "; use another method",
                         TRL_PREFIX_STATES, transducer->states);
    trl_transduce_work *w = trl__alloc_zero(1, sizeof *w);
    if (!w)
        return trl__fail_memory(err);
    w->t = transducer;
    w->walk = trl__walk_choose();
    w->huge = HUGE_STEP;
    w->options = options ? *options : (trl_transduce_options){0};
    int code = make_scratch(w) < 0 ? trl__fail_memory(err) : 0;
    if (code == 0 && w->options.method == TRL_METHOD_PARALLEL && w->options.pool &&
        trl_pool_threads(w->options.pool) > 1)
        code = trl__shared_create(w, err);
    if (code == 0 && trl__is_on_device(&w->options))
        code = trl__on_device_create(w, err);
    if (code < 0) {
        trl_transduce_destroy(w);
        return code;
    }
    *out = w;
    return 0;
}

void trl_transduce_destroy(trl_transduce_work *w)
{
    if (!w)
        return;
    void *blocks[] = {w->node_first, w->node_state, w->node_back, w->node_score, w->node_base, w->beta_base,
                      w->node_alpha, w->node_beta,  w->bits,      w->node,       w->fresh,     w->pending,
                      w->cell,       w->score,      w->sum,       w->other,      w->third,     w->hits,
                      w->walked,     w->runs,       w->edges};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        trl__free(blocks[i]);
    trl__out_free(&w->out);
    trl__plan_free(&w->plan);
    trl__serial_free(w->serial);
    trl__shared_free(w->shared);
    trl__on_device_free(w->device);
    trl__free(w);
}

int trl_transduce(trl_transduce_work *w, trl_transduce_operation operation, const trl_transduce_input *input,
                  trl_transduction *result, trl_error *err)
{
    *result = (trl_transduction){.weight = INFINITY};
    if (w->device)
        return trl__on_device_one(w, operation, input, result, err);
    int code = trl__plan_make(&w->plan, w->t, input, err);
    if (code <= 0)
        return code;
    if (w->options.method == TRL_METHOD_PREFIX)
        return trl__prefix(w, operation, result, err);
    if (operation == TRL_TRANSDUCE_VITERBI)
        return trl__best_path(w, result, err);
    return w->options.method == TRL_METHOD_SERIAL ? trl__serial_sums(w, operation, result, err)
                                                  : trl__path_sums(w, operation, result, err);
}

/* ---- Many inputs ---- */

typedef struct batch {
    trl_transduce_operation operation;
    const trl_transduce_input *inputs;
    size_t first;               /* their first one's number */
    trl_transduce_work **works; /* by thread */
    trl__out *outs;             /* by slot, so that results stay until they are used */
    trl_transduction *results;
    trl_transduce_fn each;
    void *user;
} batch;

static int batch_one(void *user, size_t item, size_t slot, int worker, trl_error *err)
{
    batch *b = user;
    trl_transduce_work *w = b->works[worker];
    trl__out out = w->out;
    w->out = b->outs[slot];
    b->outs[slot] = out;
    int code = trl_transduce(w, b->operation, &b->inputs[item], &b->results[slot], err);
    out = w->out;
    w->out = b->outs[slot];
    b->outs[slot] = out;
    return code;
}

static int batch_use(void *user, size_t item, size_t slot, trl_error *err)
{
    batch *b = user;
    return b->each(b->user, b->first + item, &b->results[slot], err);
}

static int batch_run(batch *b, const trl_transducer *t, const trl_transduce_options *options, size_t count,
                     size_t threads, size_t window, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < threads; i++)
        code = trl_transduce_create(t, options, &b->works[i], err);
    if (code == 0)
        code = trl__ordered_for(
            options->pool,
            &(trl__ordered_work){
                .count = count, .window = window, .produce = batch_one, .consume = batch_use, .user = b},
            err);
    for (size_t i = 0; i < threads; i++)
        trl_transduce_destroy(b->works[i]);
    for (size_t i = 0; i < window; i++)
        trl__out_free(&b->outs[i]);
    return code;
}

static int batch_on_processor(const trl_transducer *transducer, const trl_transduce_options *options,
                              trl_transduce_operation operation, const trl_transduce_input *inputs, size_t first,
                              size_t count, trl_transduce_fn each, void *user, trl_error *err)
{
    trl_transduce_options alone = *options;
    size_t threads = alone.pool ? (size_t)trl_pool_threads(alone.pool) : 1, window = threads * WAITING;
    if (count >= threads && alone.method == TRL_METHOD_PARALLEL)
        alone.method = TRL_METHOD_FRONTIER;
    alone.device = NULL;
    batch b = {.operation = operation, .inputs = inputs + first, .first = first, .each = each, .user = user};
    b.works = trl__alloc_zero(threads, sizeof *b.works);
    b.outs = trl__alloc_zero(window, sizeof *b.outs);
    b.results = trl__alloc_zero(window, sizeof *b.results);
    int code = b.works && b.outs && b.results ? batch_run(&b, transducer, &alone, count - first, threads, window, err)
                                              : trl__fail_memory(err);
    trl__free(b.works);
    trl__free(b.outs);
    trl__free(b.results);
    return code;
}

int trl_transduce_batch(const trl_transducer *transducer, const trl_transduce_options *options,
                        trl_transduce_operation operation, const trl_transduce_input *inputs, size_t count,
                        trl_transduce_fn each, void *user, trl_error *err)
{
    trl_transduce_options given = options ? *options : (trl_transduce_options){0};
    size_t done = 0;
    int code = 0;
    if (trl__is_on_device(&given))
        code = trl__on_device_batch(transducer, &given, operation, inputs, count, each, user, &done, err);
    if (code < 0 || (done == count && count > 0))
        return code;
    return batch_on_processor(transducer, &given, operation, inputs, done, count, each, user, err);
}
