/* States with the same future become one: partition refinement over arcs whose labels are input, output and weight
 * together. Nothing is pushed: words stay where they are, and so do the weights, which are in good places already.
 * Weights count as equal when they round to the same multiple of TRL__NETWORK_DELTA; those of the first state of a
 * class are kept. O(arcs log arcs). */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"
#include "fst/bisimulation.h"

typedef struct joiner {
    const trl_fst *fst;
    trl__bisimulation graph;
    int32_t *from, *label, *to;
    int32_t *classes; /* by state */
    trl__tuples labels, finals;
} joiner;

/* Fills the lists, and classes[] with a class for each final weight. */
static int list_arcs(joiner *j)
{
    size_t n = 0;
    for (int32_t s = 0; s < trl_fst_states(j->fst); s++) {
        for (uint32_t i = 0; i < trl_fst_arc_count(j->fst, s); i++, n++) {
            trl_arc a = trl_fst_arc(j->fst, s, i);
            int64_t label =
                trl__tuples_add(&j->labels, (int32_t[]){a.ilabel, a.olabel, trl__network_rounded(a.weight.value)});
            if (label < 0)
                return -1;
            j->from[n] = s;
            j->to[n] = a.next;
            j->label[n] = (int32_t)label;
        }
        int64_t final = trl__tuples_add(&j->finals, (int32_t[]){trl__network_rounded(trl_fst_final(j->fst, s).value)});
        if (final < 0)
            return -1;
        j->classes[s] = (int32_t) final;
    }
    return 0;
}

/* No state has two arcs with one label; last: by label. */
static int is_deterministic(const joiner *j, int32_t *last)
{
    for (size_t l = 0; l < j->labels.count; l++)
        last[l] = -1;
    for (int32_t i = 0; i < j->graph.arcs; i++) {
        if (last[j->label[i]] == j->from[i])
            return 0;
        last[j->label[i]] = j->from[i];
    }
    return 1;
}

static int find_classes(joiner *j, trl_error *err)
{
    uint64_t arcs = trl_fst_arcs(j->fst);
    if (arcs >= INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the graph has too many arcs");
    j->from = trl__alloc((size_t)arcs + 1, sizeof *j->from);
    j->label = trl__alloc((size_t)arcs + 1, sizeof *j->label);
    j->to = trl__alloc((size_t)arcs + 1, sizeof *j->to);
    j->classes = trl__alloc((size_t)trl_fst_states(j->fst) + 1, sizeof *j->classes);
    if (!j->from || !j->label || !j->to || !j->classes || list_arcs(j) < 0)
        return trl__fail_memory(err);
    j->graph = (trl__bisimulation){.states = trl_fst_states(j->fst),
                                   .arcs = (int32_t)arcs,
                                   .labels = (int32_t)j->labels.count,
                                   .from = j->from,
                                   .label = j->label,
                                   .to = j->to};
    int32_t *last = trl__alloc(j->labels.count + 1, sizeof *last);
    if (!last)
        return trl__fail_memory(err);
    j->graph.deterministic = is_deterministic(j, last);
    trl__free(last);
    return trl__bisimulation_find(&j->graph, j->classes, err);
}

/* The first state of a class stands for it. Classes are numbered in that order, so the numbers depend on the machine
 * alone. */
static int number_classes(joiner *j, int32_t count, int32_t **first)
{
    int32_t states = trl_fst_states(j->fst), next = 0;
    int32_t *number = trl__alloc((size_t)count + 1, sizeof *number);
    *first = trl__alloc((size_t)count + 1, sizeof **first);
    for (int32_t c = 0; number && c < count; c++)
        number[c] = -1;
    for (int32_t s = 0; number && *first && s < states; s++) {
        if (number[j->classes[s]] < 0) {
            (*first)[next] = s;
            number[j->classes[s]] = next++;
        }
        j->classes[s] = number[j->classes[s]];
    }
    trl__free(number);
    return number && *first ? 0 : -1;
}

static int add_class(const joiner *j, trl_fst *out, int32_t class, int32_t state, trl_error *err)
{
    int code = trl_fst_set_final(out, class, trl_fst_final(j->fst, state), err);
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(j->fst, state); i++) {
        trl_arc a = trl_fst_arc(j->fst, state, i);
        a.next = j->classes[a.next];
        code = trl_fst_add_arc(out, class, a, err);
    }
    return code;
}

static int build(joiner *j, int32_t count, trl_fst **out, trl_error *err)
{
    int32_t *first = NULL;
    *out = NULL;
    int code = number_classes(j, count, &first) < 0 ? trl__fail_memory(err) : trl__network_new(count, out, err);
    for (int32_t c = 0; code == 0 && c < count; c++)
        code = add_class(j, *out, c, first[c], err);
    if (code == 0)
        code = trl_fst_set_start(*out, j->classes[trl_fst_start(j->fst)], err);
    trl__free(first);
    return code;
}

int trl__network_join(trl_fst *fst, trl_error *err)
{
    joiner j = {.fst = fst, .labels = {.width = 3}, .finals = {.width = 1}};
    trl_fst *out = NULL;
    int code = find_classes(&j, err);
    if (code > 0)
        code = build(&j, code, &out, err);
    if (code == 0 && out)
        trl__fst_swap(fst, out);
    trl_fst_destroy(out);
    trl__tuples_free(&j.labels);
    trl__tuples_free(&j.finals);
    trl__free(j.from);
    trl__free(j.label);
    trl__free(j.to);
    trl__free(j.classes);
    return code < 0 ? code : 0;
}
