/* Best paths with different inputs: the search of shortestpath.c on the machine as determinized, of which only what is
 * visited is built.
 *
 * A node is an input read so far. It has an element for every state that this input leads to, with the best cost of
 * getting there and the element it came from; arcs that read nothing are followed at once. An option of a node is a
 * label to read next, or the end; its cost is the best of all arcs with that label. Since no two nodes have the same
 * input, every path written reads another string, and it is the best that does. The tail of a path follows one
 * element's best path in the machine itself, whose ranks fall, so that cycles without cost do not hold it up.
 */
#include "fst/best_paths.h"

#include <stdlib.h>

#if HAS_PATH
#define NO_ELEMENT (-1)
#define THE_END 0 /* as a label to read next */

typedef struct element {
    int32_t state;
    uint32_t arc; /* of the state of the element before it */
    int64_t before;
    distance cost; /* from the start */
} element;

typedef struct choice {
    distance cost; /* of the best path that makes it */
    int32_t label;
} choice;

typedef struct input_node {
    int64_t first; /* elements */
    uint64_t choices;
    int32_t element_count;
    uint32_t choice_count;
} input_node;

typedef struct search {
    const trl_fst *fst;
    const distance *far;
    const int32_t *rank;
    element *elements;
    size_t element_count, element_capacity;
    input_node *nodes;
    size_t node_count, node_capacity;
    choice *choices; /* by node: those that no path has made, the best first */
    size_t choice_count, choice_capacity;
    int64_t *at; /* by state: its element in the node at hand, or NO_ELEMENT */
    int64_t *todo;
    size_t todo_count, todo_capacity;
    uint32_t wanted; /* paths still to be found */
    candidates queue;
    path_arcs path;
} search;

/* ---- Elements of a node ---- */

/* A way to a state: kept when it is the first, or better than the one known by more than rounding. */
static int reach(search *s, int32_t state, distance cost, int64_t before, uint32_t by)
{
    int64_t known = s->at[state];
    if (is_far(s->far[state]))
        return 0;
    if (known != NO_ELEMENT) {
        distance old = s->elements[known].cost;
        if (!nearer(cost, old) || gain(old, cost) <= 1e-9 * (1 + fabs(gain(cost, NEAR))))
            return 0;
    } else {
        if (TRL_GROW(s->elements, s->element_capacity, s->element_count + 1) < 0)
            return -1;
        known = s->at[state] = (int64_t)s->element_count++;
    }
    s->elements[known] = (element){state, by, before, cost};
    if (TRL_GROW(s->todo, s->todo_capacity, s->todo_count + 1) < 0)
        return -1;
    s->todo[s->todo_count++] = known;
    return 0;
}

/* Along arcs that read `label` from one element. */
static int reach_by(search *s, int64_t from, int32_t label)
{
    int32_t state = s->elements[from].state;
    const arc *arcs = arcs_of(s->fst, state);
    for (uint32_t i = 0; i < arc_count(s->fst, state); i++)
        if (arcs[i].ilabel == label && !is_zero(arcs[i].weight) &&
            reach(s, arcs[i].next, beyond(s->elements[from].cost, arcs[i].weight), from, i) < 0)
            return -1;
    return 0;
}

static int close_node(search *s)
{
    for (size_t i = 0; i < s->todo_count; i++)
        if (reach_by(s, s->todo[i], 0) < 0)
            return -1;
    s->todo_count = 0;
    return 0;
}

/* ---- Choices of a node ---- */

/* The element on whose best path the node's tail goes on, and the label read next on it: arcs that read nothing stay in
 * the node. */
static int32_t next_on_best(const search *s, int32_t *state)
{
    for (;;) {
        uint32_t by = best_arc(s->fst, *state, s->far, s->rank);
        if (by == UINT32_MAX)
            return THE_END;
        const arc *a = &arcs_of(s->fst, *state)[by];
        *state = a->next;
        if (a->ilabel != 0)
            return a->ilabel;
    }
}

static int by_label(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return nearer(x->cost, y->cost) ? -1 : nearer(y->cost, x->cost);
}

static int by_cost(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (nearer(x->cost, y->cost) || nearer(y->cost, x->cost))
        return nearer(x->cost, y->cost) ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* Every arc that reads, and every end, but for the choice that the tail makes. */
static int list_choices(search *s, input_node *n, int32_t made)
{
    n->choices = s->choice_count;
    for (int64_t e = n->first; e < n->first + n->element_count; e++) {
        int32_t state = s->elements[e].state;
        const arc *arcs = arcs_of(s->fst, state);
        distance here = s->elements[e].cost;
        if (TRL_GROW(s->choices, s->choice_capacity, s->choice_count + arc_count(s->fst, state) + 1) < 0)
            return -1;
        if (made != THE_END && !is_zero(final_of(s->fst, state)))
            s->choices[s->choice_count++] = (choice){beyond(here, final_of(s->fst, state)), THE_END};
        for (uint32_t i = 0; i < arc_count(s->fst, state); i++)
            if (arcs[i].ilabel != 0 && arcs[i].ilabel != made && !is_far(s->far[arcs[i].next]) &&
                !is_zero(arcs[i].weight))
                s->choices[s->choice_count++] =
                    (choice){joined(beyond(here, arcs[i].weight), s->far[arcs[i].next]), arcs[i].ilabel};
    }
    return 0;
}

/* The best of each label, the best label first, and no more than can be wanted. */
static int find_choices(search *s, input_node *n, int32_t made)
{
    if (list_choices(s, n, made) < 0)
        return -1;
    choice *c = s->choices + n->choices;
    size_t count = s->choice_count - n->choices, kept = 0;
    if (count > 1)
        qsort(c, count, sizeof *c, by_label);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || c[i].label != c[kept - 1].label)
            c[kept++] = c[i];
    if (kept > 1)
        qsort(c, kept, sizeof *c, by_cost);
    n->choice_count = kept < s->wanted ? (uint32_t)kept : s->wanted;
    s->choice_count = n->choices + n->choice_count;
    return 0;
}

/* ---- Nodes ---- */

static int propose(search *s, int32_t node, uint32_t rank)
{
    const input_node *n = &s->nodes[node];
    return rank < n->choice_count
               ? candidates_put(&s->queue, (candidate){s->choices[n->choices + rank].cost, node, rank})
               : 0;
}

/* The node behind `node` by a label, or the first node (-1). Its elements are all that is made. */
static int32_t add_node(search *s, int32_t node, int32_t label)
{
    if (s->node_count == INT32_MAX || TRL_GROW(s->nodes, s->node_capacity, s->node_count + 1) < 0)
        return -1;
    input_node new = {.first = (int64_t)s->element_count};
    int code = 0;
    if (node < 0)
        code = reach(s, s->fst->start, NEAR, NO_ELEMENT, 0);
    for (int64_t e = 0; code == 0 && node >= 0 && e < s->nodes[node].element_count; e++)
        code = reach_by(s, s->nodes[node].first + e, label);
    if (code < 0 || close_node(s) < 0)
        return -1;
    new.element_count = (int32_t)((int64_t)s->element_count - new.first);
    for (int64_t e = new.first; e < (int64_t)s->element_count; e++)
        s->at[s->elements[e].state] = NO_ELEMENT;
    s->nodes[s->node_count] = new;
    return (int32_t)s->node_count++;
}

/* The state whose best path ends best from the node. */
static int32_t best_state(const search *s, int32_t node)
{
    const element *best = &s->elements[s->nodes[node].first];
    for (const element *e = best; e < s->elements + s->nodes[node].first + s->nodes[node].element_count; e++) {
        distance a = joined(e->cost, s->far[e->state]), b = joined(best->cost, s->far[best->state]);
        if (nearer(a, b) || (!nearer(b, a) && s->rank[e->state] < s->rank[best->state]))
            best = e;
    }
    return best->state;
}

/* From a node along the best path of one of its states to the end, with new candidates on the way. Returns the node
 * where it ends, or -1: out of memory. */
static int32_t follow(search *s, int32_t node)
{
    for (int32_t state = best_state(s, node);;) {
        int32_t label = next_on_best(s, &state);
        if (find_choices(s, &s->nodes[node], label) < 0 || propose(s, node, 0) < 0)
            return -1;
        if (label == THE_END)
            return node;
        node = add_node(s, node, label);
        if (node < 0)
            return -1;
    }
}

/* The arcs of the best way to end at a node; *final becomes the weight of the end. */
static int gather_path(search *s, int32_t node, weight *final)
{
    int64_t best = NO_ELEMENT;
    distance least = FAR;
    for (int64_t e = s->nodes[node].first; e < s->nodes[node].first + s->nodes[node].element_count; e++) {
        weight f = final_of(s->fst, s->elements[e].state);
        if (!is_zero(f) && nearer(beyond(s->elements[e].cost, f), least)) {
            least = beyond(s->elements[e].cost, f);
            best = e;
        }
    }
    *final = final_of(s->fst, s->elements[best].state);
    for (; s->elements[best].before != NO_ELEMENT; best = s->elements[best].before) {
        const element *before = &s->elements[s->elements[best].before];
        if (path_put(&s->path, arcs_of(s->fst, before->state)[s->elements[best].arc]) < 0)
            return -1;
    }
    return 0;
}

static int write_path(search *s, const trl_shortestpath_options *o, int32_t end, trl_fst *out, int *full,
                      trl_error *err)
{
    weight final;
    if (end < 0 || gather_path(s, end, &final) < 0)
        return trl__fail_memory(err);
    return path_write_if_fits(&s->path, final, o, out, full, err);
}

static int write_paths(search *s, const trl_shortestpath_options *o, trl_fst *out, trl_error *err)
{
    distance limit = cost_limit(o, s->far[s->fst->start]);
    int32_t root = add_node(s, -1, 0), full = 0;
    int code = write_path(s, o, root < 0 ? root : follow(s, root), out, &full, err);
    while (code == 0 && !full && --s->wanted > 0 && s->queue.count > 0) {
        candidate c = candidates_take(&s->queue);
        if (nearer(limit, c.cost))
            break;
        int32_t label = s->choices[s->nodes[c.node].choices + c.option].label, end = c.node;
        if (propose(s, c.node, c.option + 1) < 0)
            return trl__fail_memory(err);
        if (label != THE_END && (end = add_node(s, c.node, label)) >= 0)
            end = follow(s, end);
        code = write_path(s, o, end, out, &full, err);
    }
    return code;
}

int FN(unique_paths)(const trl_fst *fst, const trl_shortestpath_options *o, const distance *far, const int32_t *rank,
                     trl_fst *out, trl_error *err)
{
    search s = {.fst = fst, .far = far, .rank = rank, .wanted = (uint32_t)o->paths};
    s.at = no_entries(fst->states, sizeof *s.at);
    int code = s.at ? write_paths(&s, o, out, err) : trl__fail_memory(err);
    trl__free(s.elements);
    trl__free(s.nodes);
    trl__free(s.choices);
    trl__free(s.at);
    trl__free(s.todo);
    trl__free(s.queue.heap);
    trl__free(s.path.arcs);
    return code;
}
#endif
