/* From what an HTK model file says to a model.
 *
 * A unit is an HMM, or a logical name of the HMM list; units are put in order: silence (those that can be skipped behind the
 * others), noise, phones. States that are one macro or one HMM's become one tied state, transition matrices one pool. HTK's
 * first state is the entry and its last the exit: the first row gives the entry arcs, zeros are no arcs. Matrices with the
 * same arcs and the same entry share a topology.
 */
#include "model/htk_mmf.h"
#include "model/topology.h"
#include "model/unit_kind.h"
#include "base/fail.h"
#include "base/log_write.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    const trl__mmf_hmm *hmm;
    int rank;     /* silence 0, silence that can be skipped 1, noise 2, phones 3 */
    size_t order; /* in the file */
} unit;

typedef struct builder {
    trl__mmf_set *set;
    const char *name;
    trl_model *model;
    unit *units;
    size_t count, capacity;
    const trl__mmf_state **states; /* by tied state */
    size_t state_count, state_capacity;
    size_t topology_capacity;
    trl__map topologies; /* arcs and entry probabilities -> number */
    trl__arena arena;
} builder;

/* ---- Units ---- */

static float row_value(const trl__mmf_transitions *t, int32_t from, int32_t to)
{
    return t->probability[(size_t)from * (size_t)t->size + (size_t)to];
}

static int add_unit(builder *b, const char *name, const trl__mmf_hmm *hmm, trl_error *err)
{
    if (TRL_GROW(b->units, b->capacity, b->count + 1) < 0)
        return trl__fail_memory(err);
    trl_unit_kind kind = trl__unit_kind_of_name(name);
    int tee = row_value(hmm->transitions, 0, hmm->transitions->size - 1) > 0;
    int rank = kind == TRL_UNIT_SILENCE ? tee : kind == TRL_UNIT_NOISE ? 2 : 3;
    b->units[b->count] = (unit){name, hmm, rank, b->count};
    b->count++;
    return 0;
}

/* Lines `logical physical`, or one name for both. */
static int add_listed(builder *b, trl__text *list, const char *list_name, trl_error *err)
{
    char *line;
    size_t length;
    while (trl__text_line(list, &line, &length)) {
        char logical[TRL__HTK_STRING], physical[TRL__HTK_STRING];
        const char *cursor = line, *end = line + length;
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        if (trl__htk_read_string(&cursor, end, logical, NULL) < 0)
            return trl__fail_line(err, TRL_EFORMAT, list_name, list->line,
                                  "expected the name of an HMM, or a logical and a physical name");
        if (trl__htk_read_string(&cursor, end, physical, NULL) < 0)
            memcpy(physical, logical, sizeof physical);
        const trl__mmf_hmm *hmm = trl__mmf_find_hmm(b->set, physical);
        if (!hmm)
            return trl__fail_line(err, TRL_EFORMAT, list_name, list->line, "there is no HMM \"%s\" in %s", physical,
                                  b->name);
        char *name = trl__arena_copy(&b->arena, logical, strlen(logical));
        if (!name)
            return trl__fail_memory(err);
        int code = add_unit(b, name, hmm, err);
        if (code < 0)
            return code;
    }
    return b->count > 0 ? 0 : trl__fail(err, TRL_EFORMAT, "%s: a list without any name", list_name);
}

static int by_rank(const void *a, const void *b)
{
    const unit *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->order > y->order) - (x->order < y->order);
}

static int choose_units(builder *b, trl__text *list, const char *list_name, trl_error *err)
{
    int code = list ? add_listed(b, list, list_name, err) : 0;
    for (size_t i = 0; code == 0 && !list && i < b->set->count; i++)
        code = add_unit(b, b->set->hmms[i].name, &b->set->hmms[i], err);
    if (code == 0)
        qsort(b->units, b->count, sizeof *b->units, by_rank);
    return code;
}

static int name_units(builder *b, trl_error *err)
{
    trl_model *m = b->model;
    m->unit_kind = trl__alloc(b->count, sizeof *m->unit_kind);
    m->unit_topology = trl__alloc(b->count, sizeof *m->unit_topology);
    if (!m->unit_kind || !m->unit_topology)
        return trl__fail_memory(err);
    for (size_t u = 0; u < b->count; u++) {
        const char *name = b->units[u].name;
        long number = trl__strings_add(&m->units, name, strlen(name));
        if (number < 0)
            return trl__fail_memory(err);
        if ((size_t)number != u)
            return trl__fail(err, TRL_EFORMAT, "%s: there are two units %s", b->name, name);
        m->unit_kind[u] = (uint8_t)trl__unit_kind_of_name(name);
    }
    return trl__find_word_positions(m, err);
}

/* ---- Topologies ---- */

/* In a matrix state s of ours is row and column s + 1; the last column is the exit. */
static int32_t state_of_column(const trl__mmf_transitions *t, int32_t column)
{
    return column == t->size - 1 ? TRL_EXIT : column - 1;
}

static int32_t count_arcs(const trl__mmf_transitions *t)
{
    int32_t arcs = 0;
    for (int32_t i = 0; i < t->size - 1; i++)
        for (int32_t j = 1; j < t->size; j++)
            arcs += row_value(t, i, j) > 0;
    return arcs;
}

static int fill_topology(trl__topology *topology, const trl__mmf_transitions *t, trl_error *err)
{
    int code = trl__topology_alloc(topology, t->size - 2, count_arcs(t), err);
    int32_t arc = 0;
    for (int32_t i = 0; code == 0 && i < t->size - 1; i++) {
        topology->first[i] = arc;
        for (int32_t j = 1; j < t->size; j++)
            if (row_value(t, i, j) > 0)
                topology->arcs[arc++] = (trl__arc){state_of_column(t, j), fminf(row_value(t, i, j), 1)};
        topology->first[i + 1] = arc;
    }
    return code;
}

/* What makes two matrices the same topology, as bytes: which cells are arcs, and the first row. */
static char *signature(builder *b, const trl__mmf_transitions *t, size_t *length)
{
    size_t cells = (size_t)t->size * (size_t)t->size, row = (size_t)t->size * sizeof(float);
    char *bytes = trl__arena_alloc(&b->arena, cells + row);
    for (size_t i = 0; bytes && i < cells; i++)
        bytes[i] = t->probability[i] > 0;
    if (bytes)
        memcpy(bytes + cells, t->probability, row);
    *length = cells + row;
    return bytes;
}

static int find_topology(builder *b, trl__mmf_transitions *t, trl_error *err)
{
    trl_model *m = b->model;
    size_t length;
    if (t->size - 2 > TRL__STATES_MOST)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: an HMM with %" PRId32 " emitting states; at most %d can be read",
                         b->name, t->size - 2, TRL__STATES_MOST);
    char *key = signature(b, t, &length);
    uint64_t number = (uint64_t)m->topologies;
    int added = key ? trl__map_add(&b->topologies, key, length, &number) : -1;
    if (added < 0)
        return trl__fail_memory(err);
    t->topology = (int32_t)number;
    if (!added)
        return 0;
    if (TRL_GROW(m->topology, b->topology_capacity, (size_t)m->topologies + 1) < 0)
        return trl__fail_memory(err);
    m->topology[m->topologies] = (trl__topology){0};
    return fill_topology(&m->topology[m->topologies++], t, err);
}

/* ---- Triples ---- */

static int tie(builder *b, trl__mmf_state *state, trl_error *err)
{
    if (state->tied >= 0)
        return 0;
    if (TRL_GROW(b->states, b->state_capacity, b->state_count + 1) < 0)
        return trl__fail_memory(err);
    b->states[b->state_count] = state;
    state->tied = (int32_t)b->state_count++;
    return 0;
}

static int add_triples(builder *b, int32_t u, int32_t *first_triple, trl_error *err)
{
    trl_model *m = b->model;
    const trl__mmf_hmm *hmm = b->units[u].hmm;
    trl__mmf_transitions *t = hmm->transitions;
    int code = t->topology < 0 ? find_topology(b, t, err) : 0;
    if (t->unit < 0)
        t->unit = u;
    first_triple[u] = m->triples;
    m->unit_topology[u] = t->topology;
    for (int32_t s = 0; code == 0 && s < hmm->states; s++) {
        code = tie(b, hmm->state[s], err);
        m->triple[m->triples++] =
            (trl__triple){.unit = u, .state = s, .tied = hmm->state[s]->tied, .pool = first_triple[t->unit] + s};
    }
    return code;
}

static int make_triples(builder *b, trl_error *err)
{
    size_t total = 0;
    for (size_t u = 0; u < b->count; u++)
        total += (size_t)b->units[u].hmm->states;
    int32_t *first_triple = trl__alloc(b->count, sizeof *first_triple);
    b->model->triple = trl__alloc(total, sizeof *b->model->triple);
    int code = first_triple && b->model->triple ? 0 : trl__fail_memory(err);
    if (code == 0 && total >= INT32_MAX)
        code = trl__fail(err, TRL_ELIMIT, "%s: too many states", b->name);
    for (size_t u = 0; code == 0 && u < b->count; u++)
        code = add_triples(b, (int32_t)u, first_triple, err);
    trl__free(first_triple);
    return code;
}

static int set_probabilities(builder *b, trl_error *err)
{
    trl_model *m = b->model;
    m->log_probability = trl__alloc_zero((size_t)trl__model_count_transitions(m) + 1, sizeof *m->log_probability);
    if (!m->log_probability)
        return trl__fail_memory(err);
    float *out = m->log_probability + 1;
    for (int32_t i = 0; i < m->triples; i++) {
        const trl__mmf_transitions *t = b->units[m->triple[i].unit].hmm->transitions;
        for (int32_t j = 1; j < t->size; j++) {
            float p = row_value(t, m->triple[i].state + 1, j);
            if (p > 0)
                *out++ = (float)log((double)p);
        }
    }
    return 0;
}

/* ---- Mixtures ---- */

static int make_mixtures(builder *b, trl_error *err)
{
    trl_model *m = b->model;
    size_t gaussians = 0, dim = (size_t)m->dim;
    for (size_t j = 0; j < b->state_count; j++)
        gaussians += (size_t)b->states[j]->count;
    if (gaussians >= INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "%s: too many Gaussians", b->name);
    m->first_gaussian = trl__alloc(b->state_count + 1, sizeof *m->first_gaussian);
    m->log_weight = trl__alloc_aligned(gaussians, sizeof *m->log_weight);
    m->mean = trl__alloc_aligned(gaussians * dim, sizeof *m->mean);
    m->variance = trl__alloc_aligned(gaussians * dim, sizeof *m->variance);
    if (!m->first_gaussian || !m->log_weight || !m->mean || !m->variance)
        return trl__fail_memory(err);
    m->tied_states = (int32_t)b->state_count;
    size_t g = 0;
    for (size_t j = 0; j < b->state_count; j++) {
        m->first_gaussian[j] = (int32_t)g;
        for (int32_t c = 0; c < b->states[j]->count; c++, g++) {
            const trl__mmf_component *component = &b->states[j]->components[c];
            m->log_weight[g] = (float)log((double)component->weight);
            memcpy(m->mean + g * dim, component->gaussian->mean, dim * sizeof(float));
            memcpy(m->variance + g * dim, component->gaussian->variance, dim * sizeof(float));
        }
    }
    m->first_gaussian[b->state_count] = (int32_t)g;
    return 0;
}

/* ---- The model ---- */

static int set_provenance(builder *b, trl_error *err)
{
    char text[TRL__MMF_WORD + 200];
    snprintf(text, sizeof text, "read from an HTK model file\n" TRL__MMF_KIND_KEY "%s\n", b->set->kind);
    return trl__model_set_text(&b->model->provenance, text, err);
}

static int build(builder *b, trl__text *list, const char *list_name, trl_error *err)
{
    int code = choose_units(b, list, list_name, err);
    if (code == 0)
        code = name_units(b, err);
    if (code == 0)
        code = make_triples(b, err);
    if (code == 0)
        code = set_probabilities(b, err);
    if (code == 0)
        code = make_mixtures(b, err);
    if (code == 0 && b->set->kind[0])
        code = set_provenance(b, err);
    if (code == 0 && list && b->count < b->set->count)
        trl__log(TRL_LOG_INFO, "%s: %zu HMMs, of which the list names some: %zu units", b->name, b->set->count,
                 b->count);
    return code < 0 ? code : trl__model_finish(b->model, b->name, err);
}

int trl__mmf_model(trl__mmf_set *set, const char *name, trl__text *list, const char *list_name, trl_model **out,
                   trl_error *err)
{
    builder b = {.set = set, .name = name};
    int code = trl__model_new(set->dim, &b.model, err);
    if (code == 0)
        code = build(&b, list, list_name, err);
    trl__free(b.units);
    trl__free(b.states);
    trl__map_free(&b.topologies);
    trl__arena_free(&b.arena);
    if (code < 0)
        trl_model_destroy(b.model);
    else
        *out = b.model;
    return code;
}

int trl_model_read_htk(const char *mmf, const char *list, trl_model **out, trl_error *err)
{
    trl__text text, names;
    trl__mmf_set set;
    *out = NULL;
    int code = trl__text_read(mmf, &text, err);
    if (code == 0)
        code = trl__mmf_parse(mmf, text.bytes, text.size, &set, err);
    trl__text_free(&text);
    if (code != 0)
        return code;
    if (list)
        code = trl__text_read(list, &names, err);
    if (code == 0)
        code = trl__mmf_model(&set, mmf, list ? &names : NULL, list, out, err);
    if (list)
        trl__text_free(&names);
    trl__mmf_set_free(&set);
    return code;
}
