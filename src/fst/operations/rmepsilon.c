/* Removal of epsilons. A state's new arcs are its own without epsilon and, behind each epsilon arc, the new arcs of the
 * state it leads to, which are known already: components of the epsilon arcs are worked on from the last to the first,
 * so no closure is walked twice. In a component with a cycle the distances between its states stand for the epsilons
 * inside it (Mohri, "Generic epsilon-removal and input epsilon-normalization algorithms for weighted transducers",
 * 2002).
 *
 * Arcs of a state that become alike are one. Lists are merged through a small table, the longest list last, which is
 * only looked up: a back-off state's thousands of arcs meet a table with the few arcs of the state above it. Cost: the
 * size of the result, and of the lists that states have which epsilons alone lead to.
 */
#include "fst/components.h"
#include "fst/distance.h"

#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>

TRL__EACH(int, fst_rmepsilon, (trl_fst * fst, const trl_rmepsilon_options *options, trl_error *err));

/* Arcs to be taken over: own ones of a state of the old machine, or all of a state of the new one. */
typedef struct source {
    int32_t state;
    int own;
    distance factor;
} source;

typedef struct removal {
    const trl_fst *fst;
    trl_fst *out;
    float delta;
    trl__components components; /* of the epsilon arcs */
    int32_t *member, *begin, *place;
    source *sources;
    size_t source_count, source_capacity;
    uint32_t *slots; /* arc of the state at hand + 1, or 0 */
    size_t slot_count, slot_capacity;
    graph part;
    distance *far;
} removal;

static int is_epsilon(const arc *a)
{
    return a->ilabel == 0 && a->olabel == 0;
}

/* An epsilon that leads anywhere. */
static int is_followed(const arc *a)
{
    return is_epsilon(a) && !is_zero(a->weight);
}

/* ---- The epsilon arcs by themselves ---- */

static int has_epsilon(const trl_fst *fst)
{
    for (int32_t s = 0; s < fst->states; s++)
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            if (is_epsilon(&arcs_of(fst, s)[i]))
                return 1;
    return 0;
}

/* Their components, found in a machine of the same states with the epsilon arcs alone. */
static int find_components(removal *r, trl_error *err)
{
    trl_fst *epsilons;
    int code = trl__fst_like(r->fst, &epsilons, err);
    if (code == 0)
        code = trl_fst_add_states(epsilons, r->fst->states, err);
    for (int32_t s = 0; code == 0 && s < r->fst->states; s++) {
        const arc *arcs = arcs_of(r->fst, s);
        for (uint32_t i = 0; code == 0 && i < arc_count(r->fst, s); i++)
            if (is_followed(&arcs[i]))
                code = push_arc(epsilons, s, arcs[i], err);
    }
    if (code == 0)
        code = trl__components_find(epsilons, &r->components, err);
    trl_fst_destroy(epsilons);
    return code;
}

/* Room for the arcs of the result, so that they need not move while their number grows: as many as there are if none
 * are alike. That can be far too many (chains of epsilons with several ways between them), so no more than four times
 * the arcs there are. */
static int make_room(removal *r, trl_error *err)
{
    const int32_t *component = r->components.component;
    uint64_t total = 0, most = 4 * trl_fst_arcs(r->fst);
    uint32_t *size = trl__alloc((size_t)r->fst->states, sizeof *size);
    if (!size)
        return trl__fail_memory(err);
    for (int32_t c = 0; total < most && c < r->components.count; c++) {
        uint64_t sum = 0;
        for (int32_t m = r->begin[c]; m < r->begin[c + 1]; m++) {
            const arc *arcs = arcs_of(r->fst, r->member[m]);
            for (uint32_t i = 0; i < arc_count(r->fst, r->member[m]); i++)
                if (!is_epsilon(&arcs[i]))
                    sum++;
                else if (!is_zero(arcs[i].weight) && component[arcs[i].next] != c)
                    sum += size[arcs[i].next];
        }
        for (int32_t m = r->begin[c]; m < r->begin[c + 1]; m++)
            size[r->member[m]] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
        total += (uint64_t)(r->begin[c + 1] - r->begin[c]) * (sum < UINT32_MAX ? sum : UINT32_MAX);
    }
    trl__free(size);
    return trl__fst_make_room(r->out, r->fst->states, total < most ? total : most, err);
}

/* ---- Merging ---- */

static size_t slot_of(const arc *a, size_t count)
{
    uint64_t h = ((uint64_t)(uint32_t)a->next << 32 | (uint32_t)a->ilabel) ^ (uint64_t)(uint32_t)a->olabel << 17;
    h *= 0x9E3779B97F4A7C15u;
    return (size_t)(h >> 32) & (count - 1);
}

static int alike(const arc *a, const arc *b)
{
    return a->ilabel == b->ilabel && a->olabel == b->olabel && a->next == b->next;
}

/* Room for so many arcs in an empty table. */
static int clear_table(removal *r, size_t arcs)
{
    r->slot_count = 16;
    while (r->slot_count < 2 * arcs)
        r->slot_count *= 2;
    if (TRL_GROW(r->slots, r->slot_capacity, r->slot_count) < 0)
        return -1;
    memset(r->slots, 0, r->slot_count * sizeof *r->slots);
    return 0;
}

/* One arc for state s of the new machine. With `remember`, later ones can be merged with it. */
static int merge_arc(removal *r, int32_t s, arc a, int remember, trl_error *err)
{
    size_t at = slot_of(&a, r->slot_count);
    for (; r->slots[at]; at = (at + 1) & (r->slot_count - 1)) {
        arc *old = &arcs_of(r->out, s)[r->slots[at] - 1];
        if (alike(old, &a)) {
            old->weight = plus(old->weight, a.weight);
            return 0;
        }
    }
    int code = push_arc(r->out, s, a, err);
    if (code == 0 && remember)
        r->slots[at] = arc_count(r->out, s);
    return code;
}

static weight scaled(distance factor, weight w)
{
    return is_zero(w) ? w : to_weight(beyond(factor, w));
}

static int take_over(removal *r, int32_t s, const source *from, int remember, trl_error *err)
{
    const trl_fst *fst = from->own ? r->fst : r->out;
    uint32_t count = arc_count(fst, from->state);
    int code = trl__fst_reserve(r->out, s, count, err);
    const arc *arcs = arcs_of(fst, from->state);
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        arc a = arcs[i];
        if (from->own && is_epsilon(&a))
            continue;
        a.weight = scaled(from->factor, a.weight);
        code = merge_arc(r, s, a, remember, err);
    }
    set_final(r->out, s, plus(final_of(r->out, s), scaled(from->factor, final_of(fst, from->state))));
    return code;
}

static uint32_t size_of_source(const removal *r, const source *s)
{
    return arc_count(s->own ? r->fst : r->out, s->state);
}

/* The new arcs of a state, from all sources; the longest one goes last. */
static int merge_sources(removal *r, int32_t s, trl_error *err)
{
    size_t longest = 0, total = 0;
    for (size_t i = 0; i < r->source_count; i++) {
        total += size_of_source(r, &r->sources[i]);
        if (size_of_source(r, &r->sources[i]) > size_of_source(r, &r->sources[longest]))
            longest = i;
    }
    total -= r->source_count > 0 ? size_of_source(r, &r->sources[longest]) : 0;
    if (clear_table(r, total) < 0)
        return trl__fail_memory(err);
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->source_count; i++)
        if (i != longest)
            code = take_over(r, s, &r->sources[i], 1, err);
    if (code == 0 && r->source_count > 0)
        code = take_over(r, s, &r->sources[longest], 0, err);
    r->source_count = 0;
    return code;
}

static int add_source(removal *r, source s, trl_error *err)
{
    if (TRL_GROW(r->sources, r->source_capacity, r->source_count + 1) < 0)
        return trl__fail_memory(err);
    r->sources[r->source_count++] = s;
    return 0;
}

/* A state's own arcs, and those behind its epsilons that leave the component, from `factor` away. */
static int add_sources(removal *r, int32_t s, distance factor, trl_error *err)
{
    const arc *arcs = arcs_of(r->fst, s);
    const int32_t *component = r->components.component;
    int code = add_source(r, (source){s, 1, factor}, err);
    for (uint32_t i = 0; code == 0 && i < arc_count(r->fst, s); i++)
        if (is_followed(&arcs[i]) && component[arcs[i].next] != component[s])
            code = add_source(r, (source){arcs[i].next, 0, beyond(factor, arcs[i].weight)}, err);
    return code;
}

/* ---- Components ---- */

/* The epsilon arcs inside a component as a graph. */
static int make_part(removal *r, int32_t c)
{
    const int32_t *member = r->member + r->begin[c], *component = r->components.component;
    int32_t count = r->begin[c + 1] - r->begin[c];
    uint64_t edges = 0;
    for (int32_t i = 0; i < count; i++) {
        r->place[member[i]] = i;
        edges += arc_count(r->fst, member[i]);
    }
    r->part = (graph){.nodes = count,
                      .first = trl__alloc((size_t)count + 1, sizeof *r->part.first),
                      .edges = trl__alloc(edges, sizeof *r->part.edges)};
    r->far = trl__alloc((size_t)count, sizeof *r->far);
    if (!r->part.first || !r->part.edges || !r->far)
        return -1;
    edges = 0;
    for (int32_t i = 0; i < count; i++) {
        const arc *arcs = arcs_of(r->fst, member[i]);
        r->part.first[i] = edges;
        for (uint32_t k = 0; k < arc_count(r->fst, member[i]); k++)
            if (is_followed(&arcs[k]) && component[arcs[k].next] == c)
                r->part.edges[edges++] = (edge){r->place[arcs[k].next], arcs[k].weight};
    }
    r->part.first[count] = edges;
    return 0;
}

static int expand_cycle(removal *r, int32_t c, trl_error *err)
{
    const int32_t *member = r->member + r->begin[c];
    int code = make_part(r, c) < 0 ? trl__fail_memory(err) : 0;
    for (int32_t i = 0; code == 0 && i < r->part.nodes; i++) {
        for (int32_t k = 0; k < r->part.nodes; k++)
            r->far[k] = k == i ? NEAR : FAR;
        code = FN(graph_distances)(&r->part, r->delta, r->far, NULL, err);
        for (int32_t k = 0; code == 0 && k < r->part.nodes; k++)
            if (!is_far(r->far[k]))
                code = add_sources(r, member[k], r->far[k], err);
        if (code == 0)
            code = merge_sources(r, member[i], err);
    }
    trl__free(r->part.first);
    trl__free(r->part.edges);
    trl__free(r->far);
    return code;
}

static int has_followed(const trl_fst *fst, int32_t s)
{
    for (uint32_t i = 0; i < arc_count(fst, s); i++)
        if (is_followed(&arcs_of(fst, s)[i]))
            return 1;
    return 0;
}

static int copy_arcs(removal *r, int32_t s, trl_error *err)
{
    uint32_t count = arc_count(r->fst, s);
    const arc *arcs = arcs_of(r->fst, s);
    set_final(r->out, s, final_of(r->fst, s));
    int code = count > 0 ? trl__fst_reserve(r->out, s, count, err) : 0;
    for (uint32_t i = 0; code == 0 && i < count; i++)
        if (!is_epsilon(&arcs[i]))
            code = push_arc(r->out, s, arcs[i], err);
    return code;
}

static int expand(removal *r, trl_error *err)
{
    int code = 0;
    for (int32_t c = 0; code == 0 && c < r->components.count; c++) {
        int32_t s = r->member[r->begin[c]];
        if (r->components.cyclic[c])
            code = expand_cycle(r, c, err);
        else if (!has_followed(r->fst, s))
            code = copy_arcs(r, s, err);
        else if ((code = add_sources(r, s, NEAR, err)) == 0)
            code = merge_sources(r, s, err);
    }
    return code;
}

/* States that epsilons alone led to are reached no more. */
static void drop_unreached(const removal *r, uint8_t *reached)
{
    for (int32_t s = 0; s < r->fst->states; s++)
        for (uint32_t i = 0; i < arc_count(r->fst, s); i++)
            if (!is_epsilon(&arcs_of(r->fst, s)[i]))
                reached[arcs_of(r->fst, s)[i].next] = 1;
    if (r->fst->start != TRL_NO_STATE)
        reached[r->fst->start] = 1;
    for (int32_t s = 0; s < r->fst->states; s++)
        if (!reached[s]) {
            trl_fst_delete_arcs(r->out, s);
            set_final(r->out, s, ZERO);
        }
}

/* The new machine, in out. */
static int remove_all(removal *r, trl_error *err)
{
    size_t states = (size_t)r->fst->states;
    int code = find_components(r, err);
    if (code < 0)
        return code;
    uint8_t *reached = trl__alloc_zero(states, 1);
    r->place = trl__alloc(states, sizeof *r->place);
    code = reached && r->place && trl__components_members(&r->components, r->fst->states, &r->member, &r->begin) == 0
               ? trl__fst_like(r->fst, &r->out, err)
               : trl__fail_memory(err);
    if (code == 0)
        code = make_room(r, err);
    if (code == 0)
        code = trl_fst_add_states(r->out, r->fst->states, err);
    if (code == 0)
        code = expand(r, err);
    if (code == 0) {
        r->out->start = r->fst->start;
        drop_unreached(r, reached);
    }
    trl__free(reached);
    return code;
}

static void free_removal(removal *r)
{
    trl_fst_destroy(r->out);
    trl__components_free(&r->components);
    trl__free(r->member);
    trl__free(r->begin);
    trl__free(r->place);
    trl__free(r->sources);
    trl__free(r->slots);
}

int FN(fst_rmepsilon)(trl_fst *fst, const trl_rmepsilon_options *o, trl_error *err)
{
    removal r = {.fst = fst, .delta = o->delta > 0 ? o->delta : TRL__DISTANCE_DELTA};
    int code = 0;
    if (has_epsilon(fst)) {
        code = remove_all(&r, err);
        if (code == 0)
            trl__fst_swap(fst, r.out);
        free_removal(&r);
    }
    if (code == 0 && (o->connect || o->has_prune))
        code = trl_fst_connect(fst, err);
    if (code == 0 && (o->has_prune || o->most_states > 0))
        code = trl_fst_prune(fst, o->has_prune ? o->prune : to_public(ZERO), o->most_states, err);
    return code;
}

#if TRL__FIRST
trl_rmepsilon_options trl_rmepsilon_defaults(void)
{
    return (trl_rmepsilon_options){.connect = 1, .delta = TRL__DISTANCE_DELTA, .most_states = TRL_NO_STATE};
}

int trl_fst_rmepsilon(trl_fst *fst, const trl_rmepsilon_options *options, trl_error *err)
{
    trl_rmepsilon_options o = options ? *options : trl_rmepsilon_defaults();
    TRL__DISPATCH(fst->semiring, fst_rmepsilon, (fst, &o, err));
}
#endif
