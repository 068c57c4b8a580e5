/* A recognition graph from model, lexicon and grammar: the sequence, and what transitions cost.
 *
 * With p the probability of staying in a state and q that of an arc that leaves it, the arc costs
 *
 *     - transition_scale * log(q / (1 - p)) - self_loop_scale * log(1 - p)
 *
 * and staying - self_loop_scale * log(p): with both scales 1 these are the model's probabilities, and with others what
 * Kaldi makes of them. Ways into a unit (HTK's) are scaled as arcs that leave a state.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"
#include "decode/ngram_rows.h"
#include "model/topology.h"

#include <stdio.h>
#include <string.h>
#include <trellis/fst_optimize.h>
#include <trellis/version.h>

#define STATE_BYTES \
    175 /* that a state costs on the way, with all that is there at the same time: measured with large language models */

trl_graph_options trl_graph_defaults(void)
{
    return (trl_graph_options){.transition_scale = 1, .self_loop_scale = 0.1};
}

int trl_graph_options_check(const trl_graph_options *o, trl_error *err)
{
    if (!(o->transition_scale >= 0 && o->transition_scale <= 1e3))
        return trl__fail(err, TRL_EINVAL, "the scale of transitions must be 0 to 1000, not %g", o->transition_scale);
    if (!(o->self_loop_scale >= 0 && o->self_loop_scale <= 1e3))
        return trl__fail(err, TRL_EINVAL, "the scale of self-loops must be 0 to 1000, not %g", o->self_loop_scale);
    if (o->most_states < 0 || o->most_bytes < 0)
        return trl__fail(err, TRL_EINVAL, "the most states or bytes of a machine can't be negative");
    return 0;
}

/* ---- Machines ---- */

int trl__network_new(int32_t states, trl_fst **out, trl_error *err)
{
    int code = trl_fst_create(TRL_LOG, out, err);
    return code < 0 || states == 0 ? code : trl_fst_add_states(*out, states, err);
}

static int fail_limit(const trl__network_job *job, trl_error *err)
{
    return trl__fail(err, TRL_ELIMIT, "the graph would take more than %.1f MB on the way; allow more%s",
                     (double)(job->options.most_bytes + job->grammar_bytes) / 1e6,
                     job->options.on_the_fly
                         ? " or prune the language model"
                         : ", prune the language model, or let it be put in while searching (--on-the-fly)");
}

/* What the grammar takes is not there for the rest. */
static int take_grammar_off(trl__network_job *job, const trl_fst *grammar, trl_error *err)
{
    int64_t *most = &job->options.most_bytes;
    if (*most == 0)
        return 0;
    job->grammar_bytes = (int64_t)(trl_fst_arcs(grammar) * trl__arc_size(grammar) +
                                   (uint64_t)trl_fst_states(grammar) * (sizeof(trl__range) + sizeof(float)));
    *most -= job->grammar_bytes;
    return *most > 0 ? 0 : fail_limit(job, err);
}

/* The largest machine, that of HMM states before determinization, has some 50 bytes for each state and its arcs, and the tables of determinizing and joining states more. */
int trl__network_add_state(const trl__network_job *job, trl_fst *fst, int32_t *state, trl_error *err)
{
    int64_t most = job->options.most_states > 0 ? job->options.most_states : INT32_MAX;
    int64_t most_bytes = job->options.most_bytes > 0 ? job->options.most_bytes : INT64_MAX;
    if (trl_fst_states(fst) >= most)
        return trl__fail(err, TRL_ELIMIT, "the graph would have more than %lld states on the way", (long long)most);
    if (trl_fst_states(fst) >= most_bytes / STATE_BYTES)
        return fail_limit(job, err);
    return trl_fst_add_state(fst, state, err);
}

/* ---- Costs ---- */

static void set_costs(trl__network_job *job, const trl__triple *triple)
{
    const trl_model *m = job->model;
    const trl__topology *t = trl__unit_topology(m, triple->unit);
    int32_t arcs = trl__arcs_of(t, triple->state), loop = 0;
    double leaving = 0;
    for (int32_t a = 0; a < arcs; a++)
        if (t->arcs[t->first[triple->state + 1] + a].to == triple->state)
            loop = triple->transition + a;
        else
            leaving += exp((double)m->log_probability[triple->transition + a]);
    double left = loop ? log(leaving) : 0;
    for (int32_t id = triple->transition; id < triple->transition + arcs; id++) {
        double p = (double)m->log_probability[id];
        job->loop[id] = loop;
        job->cost[id] =
            (float)(id == loop ? -job->options.self_loop_scale * p
                               : -job->options.transition_scale * (p - left) - job->options.self_loop_scale * left);
    }
}

static int prepare(trl__network_job *job, trl_error *err)
{
    size_t ids = (size_t)job->model->transitions + 1;
    job->cost = trl__alloc_zero(ids, sizeof *job->cost);
    job->loop = trl__alloc_zero(ids, sizeof *job->loop);
    if (!job->cost || !job->loop)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < job->model->triples; i++)
        set_costs(job, &job->model->triple[i]);
    for (int32_t t = 0; job->model->tree && t < job->model->topologies; t++)
        if (job->map->shapes[t].skip > -INFINITY)
            return trl__fail(err, TRL_EUNSUPPORTED, "units of a model with a tree can't be passed over");
    return 0;
}

/* ---- The grammar ---- */

/* Is there a cycle of arcs without a word? It would be one of epsilons in the graph. */
static int has_idle_cycle(const trl_fst *grammar, int *yes, trl_error *err)
{
    trl_fst *wordless;
    uint32_t properties = 0;
    int code = trl_fst_create(TRL_TROPICAL, &wordless, err);
    if (code == 0)
        code = trl_fst_add_states(wordless, trl_fst_states(grammar), err);
    for (int32_t s = 0; code == 0 && s < trl_fst_states(grammar); s++)
        for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(grammar, s); i++) {
            trl_arc a = trl_fst_arc(grammar, s, i);
            if (a.ilabel == TRL_EPSILON)
                code = trl_fst_add_arc(wordless, s, a, err);
        }
    if (code == 0)
        code = trl_fst_properties(wordless, &properties, err);
    trl_fst_destroy(wordless);
    *yes = !(properties & TRL_FST_ACYCLIC);
    return code;
}

/* A model that backs off: all states but one have one arc without a word. */
static int backs_off(const trl_fst *grammar)
{
    int32_t without = 0;
    for (int32_t s = 0; s < trl_fst_states(grammar); s++) {
        uint32_t silent = 0;
        for (uint32_t i = 0; i < trl_fst_arc_count(grammar, s); i++)
            silent += trl_fst_arc(grammar, s, i).ilabel == TRL_EPSILON;
        if (silent > 1)
            return 0;
        without += silent == 0;
    }
    return without == 1 && trl_fst_states(grammar) > 1;
}

/* Do the ways on from each state have a probability of about 1 together? Back-off counts some words twice, and those of rare histories are off by more: that is where
 * weights are anyway, and moving them would cost more than the rest of the graph. */
static int is_stochastic(const trl_fst *grammar)
{
    double most = backs_off(grammar) ? 1000 : 2;
    for (int32_t s = 0; s < trl_fst_states(grammar); s++) {
        double sum = exp(-(double)trl_fst_final(grammar, s).value);
        for (uint32_t i = 0; i < trl_fst_arc_count(grammar, s); i++)
            sum += exp(-(double)trl_fst_arc(grammar, s, i).weight.value);
        if (!(sum > 1 / most && sum < most))
            return 0;
    }
    return 1;
}

static int map_to(trl_fst *fst, trl_fst_map_kind kind, trl_error *err)
{
    return trl_fst_map(fst, &(trl_fst_map_options){.kind = kind}, err);
}

/* Weights as early as possible: by the sum over all paths or, where that has no end, by the best. */
static int push_weights(const trl_fst *grammar, trl_fst **out, trl_error *err)
{
    int code = TRL_ELIMIT;
    for (trl_fst_map_kind kind = TRL_MAP_TO_LOG; code == TRL_ELIMIT; kind = TRL_MAP_TO_TROPICAL) {
        code = trl_fst_copy(grammar, out, err);
        if (code == 0)
            code = map_to(*out, kind, err);
        if (code == 0)
            code = trl_fst_push(*out, NULL, err);
        if (code < 0) {
            trl_fst_destroy(*out);
            *out = NULL;
        }
        if (kind == TRL_MAP_TO_TROPICAL)
            break;
    }
    return code;
}

/* *out: the grammar without cycles of arcs that have no word, and with its weights where a search needs them; NULL: it
 * is so already. */
static int prepare_grammar(const trl_fst *grammar, trl_fst **out, trl_error *err)
{
    int idle, code = has_idle_cycle(grammar, &idle, err);
    *out = NULL;
    if (code < 0 || (!idle && is_stochastic(grammar)))
        return code;
    trl_fst *changed = NULL;
    code = trl_fst_copy(grammar, &changed, err);
    if (code == 0 && idle)
        code = map_to(changed, TRL_MAP_TO_TROPICAL, err);
    if (code == 0 && idle)
        code = trl_fst_rmepsilon(changed, NULL, err);
    if (code == 0)
        code = trl_fst_connect(changed, err);
    if (code == 0)
        code = push_weights(changed, out, err);
    trl_fst_destroy(changed);
    return code;
}

static int check_grammar(const trl_fst *grammar, trl_error *err)
{
    if (trl_fst_semiring(grammar) != TRL_TROPICAL && trl_fst_semiring(grammar) != TRL_LOG)
        return trl__fail(err, TRL_EINVAL, "the weights of a grammar are costs: tropical or log, not %s",
                         trl_semiring_name(trl_fst_semiring(grammar)));
    return trl_fst_verify(grammar, err);
}

/* ---- The sequence ---- */

/* *fst is destroyed, and becomes the next machine. */
static void replace(trl_fst **fst, trl_fst *next)
{
    trl_fst_destroy(*fst);
    *fst = next;
}

static int build(trl__network_job *job, const trl_fst *grammar, size_t *left_out, trl_graph **out, trl_error *err)
{
    trl_fst *changed = NULL, *fst = NULL, *next = NULL;
    int code = prepare_grammar(grammar, &changed, err);
    if (code == 0)
        code = trl__network_words(job, changed ? changed : grammar, left_out, &fst, err);
    trl_fst_destroy(changed);
    if (code == 0)
        code = trl__network_join(fst, err);
    if (code == 0)
        code = trl__network_contexts(job, fst, &next, err);
    if (code == 0) {
        replace(&fst, next);
        code = trl__network_states(job, fst, &next, err);
    }
    if (code == 0) {
        replace(&fst, next);
        code = trl__network_close(job, fst, out, err);
    }
    trl_fst_destroy(fst);
    return code;
}

static int set_provenance(trl_graph *graph, const trl__network_job *job, trl_error *err)
{
    char text[200];
    snprintf(text, sizeof text, "trellis %s graph: %zu words, %g of transitions, %g of self-loops", TRL_VERSION,
             trl_lexicon_words(job->lexicon), job->options.transition_scale, job->options.self_loop_scale);
    graph->provenance = trl__strdup(text);
    return graph->provenance ? 0 : trl__fail_memory(err);
}

/* All of it: the grammar is in the arcs. */
static int build_whole(trl__network_job *job, const trl_fst *grammar, size_t *left_out, trl_graph **out, trl_error *err)
{
    int code = build(job, grammar, left_out, out, err);
    if (code == 0)
        trl__graph_set_words(*out, trl_fst_input_symbols(grammar));
    return code;
}

/* A loop over the words, and the grammar as rows beside it. */
static int build_loop(trl__network_job *job, const trl_fst *grammar, size_t *left_out, trl_graph **out, trl_error *err)
{
    trl_symbols *symbols = NULL;
    trl__ngram_rows *rows = NULL;
    trl_fst *loop = NULL;
    int32_t *label = NULL, labels = 0;
    if (!trl_fst_input_symbols(grammar))
        return trl__fail(err, TRL_EINVAL, "the grammar has no table of words; give it one");
    int code = trl__network_word_order(trl_fst_input_symbols(grammar), job->lexicon, &label, &labels, &symbols, err);
    if (code == 0)
        code = trl__ngram_rows_create(grammar, label, labels, (int32_t)trl_symbols_count(symbols), &rows, err);
    trl__free(label);
    if (code == 0)
        code = trl__ngram_rows_loop(rows, symbols, &loop, err);
    if (code == 0)
        code = build(job, loop, left_out, out, err);
    if (code == 0)
        trl__graph_set_words(*out, symbols);
    if (code == 0)
        code = trl__ngram_rows_set_reach(rows, *out, err);
    if (code == 0)
        code = trl__ngram_rows_set_states(rows, *out, err);
    if (code == 0)
        (*out)->rows = rows;
    else
        trl__ngram_rows_destroy(rows);
    trl_fst_destroy(loop);
    trl_symbols_destroy(symbols);
    return code;
}

int trl_graph_build(const trl_model *model, const trl_lexicon *lexicon, const trl_fst *grammar,
                    const trl_graph_options *options, trl_graph **out, size_t *left_out, trl_error *err)
{
    trl__network_job job = {.model = model, .lexicon = lexicon, .options = options ? *options : trl_graph_defaults()};
    trl__unit_map *map = NULL;
    *out = NULL;
    int code = trl_graph_options_check(&job.options, err);
    if (code == 0)
        code = check_grammar(grammar, err);
    if (code == 0)
        code = take_grammar_off(&job, grammar, err);
    if (code == 0)
        code = trl__unit_map_create(model, lexicon, &map, err);
    job.map = map;
    if (code == 0)
        code = prepare(&job, err);
    if (code == 0)
        code = job.options.on_the_fly ? build_loop(&job, grammar, left_out, out, err)
                                      : build_whole(&job, grammar, left_out, out, err);
    if (code == 0)
        code = set_provenance(*out, &job, err);
    if (code == 0)
        code = trl__graph_set_spoken(*out, lexicon, map, err);
    if (code < 0) {
        trl_graph_destroy(*out);
        *out = NULL;
    }
    trl__unit_map_destroy(map);
    trl__tuples_free(&job.hmms);
    trl__free(job.cost);
    trl__free(job.loop);
    return code;
}
