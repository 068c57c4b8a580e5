/* Recognition graphs: from and to transducers, what they fit, and the small functions. */
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "decode/network.h"
#include "decode/ngram_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a graph depends on ---- */

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size)
{
    return (hash ^ trl__hash(bytes, size)) * 0x9E3779B97F4A7C15u + size;
}

static uint64_t hash_topologies(uint64_t hash, const trl_model *m)
{
    for (int32_t i = 0; i < m->topologies; i++) {
        const trl__topology *t = &m->topology[i];
        hash = hash_more(hash, t->first, ((size_t)t->states + 2) * sizeof *t->first);
        for (int32_t a = 0; a < t->first[t->states + 1]; a++)
            hash = hash_more(hash, &t->arcs[a].to, sizeof t->arcs[a].to);
    }
    return hash_more(hash, m->unit_topology, m->units.count * sizeof *m->unit_topology);
}

static uint64_t hash_tree(uint64_t hash, const trl__tree *t)
{
    const int32_t sizes[] = {t->width, t->centre};
    hash = hash_more(hash, sizes, sizeof sizes);
    hash = hash_more(hash, t->root, (size_t)t->units * (size_t)t->states * sizeof *t->root);
    hash = hash_more(hash, t->node, (size_t)t->nodes * sizeof *t->node);
    return hash_more(hash, t->sets.bits, (size_t)t->sets.count * (size_t)t->sets.words * sizeof *t->sets.bits);
}

uint64_t trl__model_shape(const trl_model *m)
{
    uint64_t hash = 0;
    for (size_t u = 0; u < m->units.count; u++)
        hash = hash_more(hash, m->units.texts[u], strlen(m->units.texts[u]));
    hash = hash_topologies(hash, m);
    for (int32_t i = 0; i < m->triples; i++) {
        const int32_t triple[] = {m->triple[i].unit, m->triple[i].state, m->triple[i].tied};
        hash = hash_more(hash, triple, sizeof triple);
    }
    return m->tree ? hash_tree(hash, m->tree) : hash;
}

int trl_graph_fits(const trl_graph *graph, const trl_model *model, trl_error *err)
{
    int same = graph->model == trl__model_shape(model) && graph->transitions == model->transitions;
    for (int32_t id = 1; same && id <= model->transitions; id++)
        same = graph->tied[id] == model->triple[model->transition_triple[id]].tied;
    return same ? 0
                : trl__fail(err, TRL_EINVAL,
                            "the graph was made for another model: units, topologies, tied states or tree differ; make "
                            "it anew with trellis graph");
}

/* ---- Order ---- */

static int by_transition(const void *a, const void *b)
{
    const trl__network_arc *x = a, *y = b;
    return x->transition != y->transition ? (x->transition > y->transition) - (x->transition < y->transition)
           : x->word != y->word           ? (x->word > y->word) - (x->word < y->word)
           : x->next != y->next           ? (x->next > y->next) - (x->next < y->next)
                                          : (x->cost > y->cost) - (x->cost < y->cost);
}

static int check_arc(const trl_graph *g, int32_t state, uint64_t a)
{
    const trl__network_arc *arc = &g->arcs[a];
    return arc->next >= 0 && arc->next < g->states && arc->transition >= 0 && arc->transition <= g->transitions &&
           (arc->transition == 0) == (a < g->emitting[state]) && arc->word >= 0 && arc->word < g->words &&
           (a == g->first[state] || by_transition(arc - 1, arc) < 0);
}

static int check_state(const trl_graph *g, int32_t s, const char *name, trl_error *err)
{
    if (isnan(g->final[s]) || g->final[s] == -INFINITY)
        return trl__fail(err, TRL_ENUMBER, "%s: state %d has no number as final cost", name, (int)s);
    for (uint64_t a = g->first[s]; a < g->end[s]; a++) {
        if (!check_arc(g, s, a))
            return trl__fail(err, TRL_ECORRUPT, "%s: arc %" PRIu64 " of state %d is wrong", name, a - g->first[s],
                             (int)s);
        if (!isfinite(g->arcs[a].cost))
            return trl__fail(err, TRL_ENUMBER, "%s: arc %" PRIu64 " of state %d has no number as cost", name,
                             a - g->first[s], (int)s);
    }
    return 0;
}

/* Levels that come from a file: they rise along arcs that read nothing. */
static int check_levels(trl_graph *g, const char *name, trl_error *err)
{
    for (int32_t s = 0; s < g->states; s++) {
        if (g->level[s] < 0 || g->level[s] >= g->states)
            return trl__fail(err, TRL_ECORRUPT, "%s: the level of state %d can't be", name, (int)s);
        for (uint64_t a = g->first[s]; a < g->emitting[s]; a++)
            if (g->level[g->arcs[a].next] <= g->level[s])
                return trl__fail(err, TRL_ECORRUPT,
                                 "%s: arc %" PRIu64 " of state %d forms a cycle, or its level is wrong", name,
                                 a - g->first[s], (int)s);
        g->levels = g->level[s] >= g->levels ? g->level[s] + 1 : g->levels;
    }
    return 0;
}

int trl__graph_check(trl_graph *g, const char *name, trl_error *err)
{
    for (int32_t id = 0; id <= g->transitions; id++)
        if (id == 0 ? g->tied[id] != -1 : g->tied[id] < 0)
            return trl__fail(err, TRL_ECORRUPT, "%s: transition %d has no tied state", name, (int)id);
    int code = 0;
    for (int32_t s = 0; code == 0 && s < g->states; s++) {
        if (g->first[s] > g->emitting[s] || g->emitting[s] > g->end[s] || g->end[s] > g->first[g->states])
            return trl__fail(err, TRL_ECORRUPT, "%s: the arcs of state %d lie where they can't", name, (int)s);
        code = check_state(g, s, name, err);
    }
    if (code < 0 || g->level)
        return code < 0 ? code : check_levels(g, name, err);
    code = trl__graph_set_levels(g, err);
    return code == TRL_EINVAL ? trl__fail(err, TRL_ECORRUPT, "%s: arcs that read nothing form a cycle", name) : code;
}

/* ---- From a machine ---- */

static int allocate(trl_graph *g, uint64_t arcs, trl_error *err)
{
    g->first = trl__alloc_aligned((size_t)g->states + 1, sizeof *g->first);
    g->emitting = trl__alloc_aligned((size_t)g->states, sizeof *g->emitting);
    g->final = trl__alloc_aligned((size_t)g->states, sizeof *g->final);
    g->end = g->first ? g->first + 1 : NULL;
    g->arcs = trl__alloc_aligned((size_t)arcs + 1, sizeof *g->arcs);
    g->tied = trl__alloc_aligned((size_t)g->transitions + 1, sizeof *g->tied);
    return g->first && g->emitting && g->final && g->arcs && g->tied ? 0 : trl__fail_memory(err);
}

/* Of arcs that differ in cost only the best one stays. */
static uint64_t sort_arcs(trl_graph *g, uint64_t first, uint64_t end)
{
    uint64_t kept = first;
    if (end > first)
        qsort(g->arcs + first, (size_t)(end - first), sizeof *g->arcs, by_transition);
    for (uint64_t a = first; a < end; a++)
        if (kept == first || g->arcs[kept - 1].transition != g->arcs[a].transition ||
            g->arcs[kept - 1].word != g->arcs[a].word || g->arcs[kept - 1].next != g->arcs[a].next)
            g->arcs[kept++] = g->arcs[a];
    return kept;
}

static int copy_state(trl_graph *g, const trl_fst *fst, int32_t s, trl_error *err)
{
    uint64_t used = g->first[s];
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        if (a.ilabel > g->transitions)
            return trl__fail(
                err, TRL_EINVAL,
                "an arc of state %d reads label %d, but the model has %d transitions; the machine was made "
                "for another model, or still has disambiguation symbols",
                (int)s, (int)a.ilabel, (int)g->transitions);
        g->words = a.olabel >= g->words ? a.olabel + 1 : g->words;
        if (!isinf(a.weight.value))
            g->arcs[used++] = (trl__network_arc){a.next, a.ilabel, a.olabel, a.weight.value};
    }
    g->first[s + 1] = sort_arcs(g, g->first[s], used);
    g->emitting[s] = g->first[s];
    while (g->emitting[s] < g->first[s + 1] && g->arcs[g->emitting[s]].transition == 0)
        g->emitting[s]++;
    g->final[s] = trl_fst_final(fst, s).value;
    return 0;
}

static int fill(trl_graph *g, const trl_model *model, const trl_fst *fst, trl_error *err)
{
    int code = 0;
    g->states = trl_fst_states(fst);
    g->start = trl_fst_start(fst);
    g->transitions = model->transitions;
    g->words = 1;
    g->model = trl__model_shape(model);
    if (g->start == TRL_NO_STATE)
        return trl__fail(err, TRL_EINVAL, "the machine is empty");
    if (trl_fst_semiring(fst) != TRL_TROPICAL && trl_fst_semiring(fst) != TRL_LOG)
        return trl__fail(err, TRL_EINVAL, "the weights of a graph are costs: tropical or log, not %s",
                         trl_semiring_name(trl_fst_semiring(fst)));
    code = allocate(g, trl_fst_arcs(fst), err);
    if (code < 0)
        return code;
    for (int32_t id = 0; id <= g->transitions; id++)
        g->tied[id] = id ? model->triple[model->transition_triple[id]].tied : -1;
    g->first[0] = 0;
    for (int32_t s = 0; code == 0 && s < g->states; s++)
        code = copy_state(g, fst, s, err);
    return code < 0 ? code : trl__graph_set_levels(g, err);
}

int trl__graph_from_machine(const trl_model *model, const trl_fst *fst, trl_graph **out, trl_error *err)
{
    trl_graph *g = trl__alloc_zero(1, sizeof *g);
    *out = NULL;
    int code = g ? fill(g, model, fst, err) : trl__fail_memory(err);
    if (code < 0)
        trl_graph_destroy(g);
    else
        *out = g;
    return code;
}

void trl__graph_set_words(trl_graph *g, const trl_symbols *symbols)
{
    for (size_t i = 0; symbols && i < trl_symbols_count(symbols); i++)
        if (trl_symbols_label(symbols, i) >= g->words)
            g->words = trl_symbols_label(symbols, i) + 1;
    g->symbols = trl_symbols_share((trl_symbols *)(uintptr_t)symbols); /* only who owns it changes */
}

int trl_graph_from_fst(const trl_model *model, const trl_fst *fst, trl_graph **out, trl_error *err)
{
    *out = NULL;
    int code = trl_fst_verify(fst, err);
    if (code == 0)
        code = trl__graph_from_machine(model, fst, out, err);
    if (code == 0)
        trl__graph_set_words(*out, trl_fst_output_symbols(fst));
    return code;
}

int trl_graph_to_fst(const trl_graph *g, trl_fst **out, trl_error *err)
{
    trl_fst *fst;
    *out = NULL;
    if (g->rows)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "the graph is composed with its language model while searching, and is no "
                         "machine by itself; build the whole graph for that");
    int code = trl_fst_create(TRL_TROPICAL, &fst, err);
    if (code == 0)
        code = trl_fst_add_states(fst, g->states, err);
    for (int32_t s = 0; code == 0 && s < g->states; s++) {
        code = trl_fst_set_final(fst, s, (trl_weight){g->final[s], 0}, err);
        for (uint64_t a = g->first[s]; code == 0 && a < g->first[s + 1]; a++) {
            const trl__network_arc *arc = &g->arcs[a];
            code = trl_fst_add_arc(fst, s, (trl_arc){arc->transition, arc->word, {arc->cost, 0}, arc->next}, err);
        }
    }
    if (code == 0)
        code = trl_fst_set_start(fst, g->start, err);
    if (code < 0) {
        trl_fst_destroy(fst);
        return code;
    }
    trl_fst_set_symbols(fst, NULL, trl_symbols_share(g->symbols));
    *out = fst;
    return 0;
}

/* ---- The small functions ---- */

void trl_graph_destroy(trl_graph *g)
{
    if (!g)
        return;
    trl__ngram_rows_destroy(g->rows);
    if (g->file) {
        trl__container_close(g->file);
    } else {
        trl__free(g->first);
        trl__free(g->emitting);
        trl__free(g->arcs);
        trl__free(g->final);
        trl__free(g->tied);
        trl__free(g->spoken_word);
        trl__free(g->spoken_first);
        trl__free(g->spoken_units);
    }
    if (!g->is_level_mapped)
        trl__free(g->level);
    trl_symbols_destroy(g->symbols);
    trl__free(g->provenance);
    trl__free(g);
}

int32_t trl_graph_states(const trl_graph *graph)
{
    return graph->states;
}

uint64_t trl_graph_arcs(const trl_graph *graph)
{
    return graph->first[graph->states];
}

uint64_t trl_graph_ngrams(const trl_graph *graph)
{
    return graph->rows ? graph->rows->first[graph->rows->histories] : 0;
}

const trl_symbols *trl_graph_words(const trl_graph *graph)
{
    return graph->symbols;
}

const char *trl_graph_provenance(const trl_graph *graph)
{
    return graph->provenance ? graph->provenance : "";
}
