/* The model as an object: making an empty one, copying, replacing mixtures, reading its parts. */
#include "model/model_data.h"
#include "model/topology.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SILENCE_BETWEEN 0.5f

/* ---- making and freeing ---- */

int trl__model_new(int32_t dim, trl_model **out, trl_error *err)
{
    *out = NULL;
    if (dim < 1 || dim > TRL__DIM_MOST)
        return trl__fail(err, TRL_EINVAL, "a model's frames have 1 to %d dimensions, not %" PRId32, TRL__DIM_MOST, dim);
    trl_model *model = trl__alloc_zero(1, sizeof *model);
    if (!model)
        return trl__fail_memory(err);
    model->dim = dim;
    model->silence_between = SILENCE_BETWEEN;
    *out = model;
    return 0;
}

int trl__model_set_text(char **place, const char *text, trl_error *err)
{
    char *copy = trl__strdup(text ? text : "");
    if (!copy)
        return trl__fail_memory(err);
    trl__free(*place);
    *place = copy;
    return 0;
}

static void free_mixtures(const trl__model_mixtures *m)
{
    if (m->mapped)
        return;
    trl__free(m->first_gaussian);
    trl__free(m->log_weight);
    trl__free(m->mean);
    trl__free(m->variance);
}

static void put_mixtures(trl_model *to, const trl__model_mixtures *from)
{
    to->first_gaussian = from->first_gaussian;
    to->log_weight = from->log_weight;
    to->mean = from->mean;
    to->variance = from->variance;
    to->mapped = from->mapped;
}

/* The file is needed as long as anything lies in it. */
static void close_file(trl_model *model)
{
    if (model->mapped || model->independent.mapped)
        return;
    trl__container_close(model->file);
    model->file = NULL;
}

void trl__model_set_mixtures(trl_model *model, int32_t *first_gaussian, float *log_weight, float *mean, float *variance)
{
    free_mixtures(
        &(trl__model_mixtures){model->first_gaussian, model->log_weight, model->mean, model->variance, model->mapped});
    model->first_gaussian = first_gaussian;
    model->log_weight = log_weight;
    model->mean = mean;
    model->variance = variance;
    model->mapped = 0;
    close_file(model);
}

void trl__model_set_independent(trl_model *model, int32_t *first_gaussian, float *log_weight, float *mean,
                                float *variance)
{
    trl__model_mixtures *independent = &model->independent;
    free_mixtures(independent);
    independent->first_gaussian = first_gaussian;
    independent->log_weight = log_weight;
    independent->mean = mean;
    independent->variance = variance;
    independent->mapped = 0;
    close_file(model);
}

trl_model trl__model_first_pass(const trl_model *model)
{
    trl_model view = *model;
    if (model->independent.first_gaussian)
        put_mixtures(&view, &model->independent);
    view.independent = (trl__model_mixtures){0};
    return view;
}

void trl_model_destroy(trl_model *model)
{
    if (!model)
        return;
    trl__model_set_mixtures(model, NULL, NULL, NULL, NULL);
    trl__model_set_independent(model, NULL, NULL, NULL, NULL);
    trl__container_close(model->file);
    trl__tree_destroy(model->tree);
    trl__shared_mixtures_destroy(model->shared);
    for (int32_t t = 0; model->topology && t < model->topologies; t++)
        trl__topology_free(&model->topology[t]);
    trl__free(model->topology);
    trl__strings_free(&model->units);
    trl__free(model->unit_kind);
    trl__free(model->unit_topology);
    trl__free(model->unit_triple);
    trl__free(model->triple);
    trl__free(model->transition_triple);
    trl__free(model->log_probability);
    trl__free(model->frontend);
    trl__free(model->lexicon);
    trl__free(model->provenance);
    trl__free(model->history);
    trl__free(model);
}

/* ---- copying ---- */

/* A copy of an array; failures are gathered in *code. */
static void *copy_array(const void *from, size_t count, size_t size, int *code, trl_error *err)
{
    void *to = *code == 0 ? trl__alloc_aligned(count, size) : NULL;
    if (!to)
        *code = *code == 0 ? trl__fail_memory(err) : *code;
    else if (count > 0)
        memcpy(to, from, count * size);
    return to;
}

static int copy_texts(const trl_model *from, trl_model *to, trl_error *err)
{
    int code = trl__model_set_text(&to->frontend, from->frontend, err);
    if (code == 0)
        code = trl__model_set_text(&to->lexicon, from->lexicon, err);
    if (code == 0)
        code = trl__model_set_text(&to->provenance, from->provenance, err);
    return code < 0 ? code : trl__model_set_text(&to->history, from->history, err);
}

static int copy_units(const trl_model *from, trl_model *to, trl_error *err)
{
    int code = 0;
    size_t count = from->units.count;
    for (size_t u = 0; u < count; u++)
        if (trl__strings_add(&to->units, from->units.texts[u], strlen(from->units.texts[u])) < 0)
            return trl__fail_memory(err);
    to->unit_kind = copy_array(from->unit_kind, count, sizeof *to->unit_kind, &code, err);
    to->unit_topology = copy_array(from->unit_topology, count, sizeof *to->unit_topology, &code, err);
    to->unit_triple = copy_array(from->unit_triple, count + 1, sizeof *to->unit_triple, &code, err);
    return code;
}

static int copy_topologies(const trl_model *from, trl_model *to, trl_error *err)
{
    to->topologies = from->topologies;
    to->topology = trl__alloc_zero((size_t)from->topologies, sizeof *to->topology);
    if (!to->topology)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < from->topologies; i++) {
        const trl__topology *t = &from->topology[i];
        size_t arcs = (size_t)t->first[t->states + 1];
        int code = trl__topology_alloc(&to->topology[i], t->states, (int32_t)arcs, err);
        if (code < 0)
            return code;
        memcpy(to->topology[i].first, t->first, ((size_t)t->states + 2) * sizeof *t->first);
        memcpy(to->topology[i].arcs, t->arcs, arcs * sizeof *t->arcs);
    }
    return 0;
}

static int copy_transitions(const trl_model *from, trl_model *to, trl_error *err)
{
    int code = 0;
    size_t ids = (size_t)from->transitions + 1;
    to->triples = from->triples;
    to->transitions = from->transitions;
    to->triple = copy_array(from->triple, (size_t)from->triples, sizeof *to->triple, &code, err);
    to->transition_triple = copy_array(from->transition_triple, ids, sizeof *to->transition_triple, &code, err);
    to->log_probability = copy_array(from->log_probability, ids, sizeof *to->log_probability, &code, err);
    return code;
}

static int copy_mixtures(const trl_model *from, trl__model_mixtures *to, trl_error *err)
{
    int code = 0;
    size_t states = (size_t)from->tied_states, gaussians = (size_t)trl_model_gaussians(from);
    size_t numbers = gaussians * (size_t)from->dim;
    to->first_gaussian = copy_array(from->first_gaussian, states + 1, sizeof *to->first_gaussian, &code, err);
    to->log_weight = copy_array(from->log_weight, gaussians, sizeof *to->log_weight, &code, err);
    to->mean = copy_array(from->mean, numbers, sizeof *to->mean, &code, err);
    to->variance = copy_array(from->variance, numbers, sizeof *to->variance, &code, err);
    return code;
}

static int copy_all_mixtures(const trl_model *from, trl_model *to, trl_error *err)
{
    trl__model_mixtures copies = {0};
    const trl_model first_pass = trl__model_first_pass(from);
    to->tied_states = from->tied_states;
    int code = copy_mixtures(from, &copies, err);
    put_mixtures(to, &copies);
    if (code == 0 && from->independent.first_gaussian)
        code = copy_mixtures(&first_pass, &to->independent, err);
    return code;
}

int trl__model_copy(const trl_model *model, trl_model **out, trl_error *err)
{
    trl_model *copy;
    int code = trl__model_new(model->dim, &copy, err);
    *out = NULL;
    if (code < 0)
        return code;
    copy->silence_between = model->silence_between;
    copy->word_positions = model->word_positions;
    code = copy_texts(model, copy, err);
    if (code == 0)
        code = copy_units(model, copy, err);
    if (code == 0)
        code = copy_topologies(model, copy, err);
    if (code == 0)
        code = copy_transitions(model, copy, err);
    if (code == 0)
        code = copy_all_mixtures(model, copy, err);
    if (code == 0 && model->shared)
        code = trl__shared_mixtures_copy(model->shared, model->dim, model->tied_states, &copy->shared, err);
    if (code == 0 && model->tree)
        code = trl__tree_copy(model->tree, &copy->tree, err);
    if (code < 0)
        trl_model_destroy(copy);
    else
        *out = copy;
    return code;
}

/* ---- reading its parts ---- */

int32_t trl__model_find_triple(const trl_model *model, int32_t unit, int32_t state, int32_t tied)
{
    int32_t low = model->unit_triple[unit], high = model->unit_triple[unit + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        const trl__triple *t = &model->triple[middle];
        if (t->state == state && t->tied == tied)
            return middle;
        if (t->state < state || (t->state == state && t->tied < tied))
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

int32_t trl_model_dim(const trl_model *model)
{
    return model->dim;
}

int32_t trl_model_units(const trl_model *model)
{
    return (int32_t)model->units.count;
}

trl_unit trl_model_unit(const trl_model *model, int32_t unit)
{
    return (trl_unit){.name = model->units.texts[unit],
                      .kind = (trl_unit_kind)model->unit_kind[unit],
                      .states = trl__unit_topology(model, unit)->states};
}

int32_t trl_model_find_unit(const trl_model *model, const char *name)
{
    return (int32_t)trl__strings_find(&model->units, name, strlen(name));
}

int32_t trl_model_tied_states(const trl_model *model)
{
    return model->tied_states;
}

int32_t trl_model_components(const trl_model *model, int32_t tied)
{
    return model->first_gaussian[tied + 1] - model->first_gaussian[tied];
}

int64_t trl_model_gaussians(const trl_model *model)
{
    return model->first_gaussian[model->tied_states];
}

trl_gaussian trl_model_gaussian(const trl_model *model, int32_t tied, int32_t component)
{
    size_t g = (size_t)model->first_gaussian[tied] + (size_t)component, dim = (size_t)model->dim;
    return (trl_gaussian){
        .mean = model->mean + g * dim, .variance = model->variance + g * dim, .weight = expf(model->log_weight[g])};
}

trl_codebook_facts trl_model_codebooks(const trl_model *model)
{
    const trl__shared_mixtures *s = model->shared;
    return s ? (trl_codebook_facts){s->codebooks, s->streams, s->densities, s->top, s->floor}
             : (trl_codebook_facts){.codebooks = 0};
}

int trl_model_limit_densities(trl_model *model, int32_t top, float floor, trl_error *err)
{
    if (!model->shared)
        return trl__fail(err, TRL_EINVAL, "the model has no codebooks, whose best densities could count");
    if (top < 0 || top > model->shared->densities || !(floor >= 0) || !isfinite(floor))
        return trl__fail(err, TRL_EINVAL, "the best %" PRId32 " of %" PRId32 " densities, %g nats at most", top,
                         model->shared->densities, (double)floor);
    model->shared->top = top;
    model->shared->floor = floor;
    return 0;
}

int64_t trl_model_first_pass_gaussians(const trl_model *model)
{
    return model->independent.first_gaussian ? model->independent.first_gaussian[model->tied_states] : 0;
}

/* Questions on the longest way from a root. */
static int32_t depth_below(const trl__tree *tree, int32_t root)
{
    int32_t later[TRL__DEEPEST_TREE + 1], depth_of[TRL__DEEPEST_TREE + 1];
    int32_t waiting = 0, depth = 0, most = 0;
    for (int32_t i = root; i >= 0;) {
        const trl__tree_node *node = &tree->node[i];
        if (node->position != TRL__LEAF) {
            later[waiting] = node->no;
            depth_of[waiting++] = ++depth;
            i = node->yes;
            continue;
        }
        most = depth > most ? depth : most;
        i = waiting > 0 ? later[--waiting] : -1;
        depth = i >= 0 ? depth_of[waiting] : 0;
    }
    return most;
}

trl_tree_facts trl_model_tree(const trl_model *model)
{
    const trl__tree *tree = model->tree;
    if (!tree)
        return (trl_tree_facts){.width = 1};
    trl_tree_facts facts = {.width = tree->width, .centre = tree->centre, .sets = tree->sets.count};
    for (int32_t i = 0; i < tree->nodes; i++)
        facts.questions += tree->node[i].position != TRL__LEAF;
    facts.roots = tree->nodes - 2 * facts.questions; /* all others are the child of a question */
    for (int32_t r = 0; r < tree->units * tree->states; r++) {
        int32_t depth = depth_below(tree, tree->root[r]);
        facts.depth = depth > facts.depth ? depth : facts.depth;
    }
    return facts;
}

int32_t trl_model_find_tied(const trl_model *model, const int32_t *window, int32_t state)
{
    int32_t centre = model->tree ? model->tree->centre : 0, unit = window[centre];
    if (unit < 0 || (size_t)unit >= model->units.count || state < 0 || state >= trl__unit_topology(model, unit)->states)
        return -1;
    if (model->tree)
        return trl__tree_find(model->tree, window, state);
    int alone = model->unit_triple[unit + 1] - model->unit_triple[unit] == trl__unit_topology(model, unit)->states;
    return alone ? trl__model_triple(model, unit, state)->tied : -1;
}

int32_t trl_model_transitions(const trl_model *model)
{
    return model->transitions;
}

trl_transition trl_model_transition(const trl_model *model, int32_t id)
{
    const trl__triple *triple = &model->triple[model->transition_triple[id]];
    const trl__topology *topology = trl__unit_topology(model, triple->unit);
    const trl__arc *arc = &topology->arcs[topology->first[triple->state + 1] + id - triple->transition];
    return (trl_transition){.unit = triple->unit,
                            .state = triple->state,
                            .to = arc->to,
                            .tied = triple->tied,
                            .log_probability = model->log_probability[id]};
}

static const char *text_or_none(const char *text)
{
    return text ? text : "";
}

const char *trl_model_frontend(const trl_model *model)
{
    return text_or_none(model->frontend);
}

const char *trl_model_lexicon(const trl_model *model)
{
    return text_or_none(model->lexicon);
}

const char *trl_model_provenance(const trl_model *model)
{
    return text_or_none(model->provenance);
}

const char *trl_model_history(const trl_model *model)
{
    return text_or_none(model->history);
}
