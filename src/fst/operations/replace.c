/* Replacement: a state is a state of a part, together with the calls that have led into the part. A chain of calls is
 * (the chain before it, the part that called, the state to go back to), so chains are shared as a tree. O(result). */
#include "fst/product.h"

#include <trellis/fst_structure.h>

TRL__EACH(int, fst_replace,
          (const trl_fst_part *parts, const trl__tuples *labels, int32_t root, const trl_replace_options *options,
           trl_fst *out, trl_error *err));

#define NO_CALL (-1)

typedef struct replacement {
    const trl_fst_part *parts;
    const trl__tuples *labels; /* the part with each label */
    const trl_replace_options *o;
    product p;         /* calls, part, state */
    trl__tuples calls; /* calls before, part, state to go back to */
    int32_t *depth;    /* by calls */
    size_t depth_capacity;
    trl_error *err;
} replacement;

/* More calls inside each other than there are parts: one of them contains itself. */
static int32_t enter(replacement *r, int32_t calls, int32_t part, int32_t back)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): whoever is called has a depth */
    int32_t depth = calls == NO_CALL ? 1 : r->depth[calls] + 1;
    if ((size_t)depth >= r->labels->count)
        return trl__fail(
            r->err, TRL_ELIMIT,
            "the machine of label %d contains itself, directly or through others, so the result has no end",
            (int)r->parts[part].label);
    int64_t entered = trl__tuples_add(&r->calls, (int32_t[]){calls, part, back});
    if (entered < 0 || TRL_GROW(r->depth, r->depth_capacity, r->calls.count) < 0)
        return trl__fail_memory(r->err);
    r->depth[entered] = depth;
    return (int32_t)entered;
}

static int call(replacement *r, int32_t calls, int32_t part, const arc *a, int32_t called)
{
    int32_t start = r->parts[called].fst->start;
    if (start == TRL_NO_STATE)
        return 0;
    int32_t entered = enter(r, calls, part, a->next);
    if (entered < 0)
        return entered;
    arc in = {r->o->call & TRL_REPLACE_INPUT ? a->ilabel : 0, r->o->call & TRL_REPLACE_OUTPUT ? a->olabel : 0,
              a->weight, TRL_NO_STATE};
    return product_arc(&r->p, in, entered, called, start, r->err);
}

static int go_back(replacement *r, int32_t calls, weight final)
{
    const int32_t *to = trl__tuples_get(&r->calls, calls);
    int32_t label = r->o->return_label;
    arc out = {r->o->back & TRL_REPLACE_INPUT ? label : 0, r->o->back & TRL_REPLACE_OUTPUT ? label : 0, final,
               TRL_NO_STATE};
    return product_arc(&r->p, out, to[0], to[1], to[2], r->err);
}

static int expand(replacement *r)
{
    const int32_t *tuple = product_tuple(&r->p);
    int32_t calls = tuple[0], part = tuple[1], state = tuple[2];
    const trl_fst *fst = r->parts[part].fst;
    const arc *a = arcs_of(fst, state), *end = a + arc_count(fst, state);
    weight final = final_of(fst, state);
    int code = 0;
    if (!is_zero(final) && calls == NO_CALL)
        set_final(r->p.out, r->p.state, final);
    else if (!is_zero(final))
        code = go_back(r, calls, final);
    for (; code == 0 && a < end; a++) {
        int64_t called = a->olabel ? trl__tuples_find(r->labels, &a->olabel) : -1;
        code = called < 0 ? product_arc(&r->p, *a, calls, part, a->next, r->err)
                          : call(r, calls, part, a, (int32_t)called);
    }
    return code;
}

int FN(fst_replace)(const trl_fst_part *parts, const trl__tuples *labels, int32_t root,
                    const trl_replace_options *options, trl_fst *out, trl_error *err)
{
    if (parts[root].fst->start == TRL_NO_STATE)
        return 0;
    replacement r = {.parts = parts, .labels = labels, .o = options, .calls.width = 3, .err = err};
    int code = product_open(&r.p, out, options->most_states, err);
    if (code == 0)
        code = product_start(&r.p, (int32_t[]){NO_CALL, root, parts[root].fst->start}, err);
    while (code == 0 && (code = product_next(&r.p, err)) > 0)
        code = expand(&r);
    product_close(&r.p);
    trl__tuples_free(&r.calls);
    trl__free(r.depth);
    return code;
}

#if TRL__FIRST
trl_replace_options trl_replace_defaults(void)
{
    return (trl_replace_options){.call = TRL_REPLACE_INPUT, .back = TRL_REPLACE_NEITHER};
}

static int read_parts(trl__tuples *labels, const trl_fst_part *parts, size_t count, trl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int64_t entry = trl__tuples_add(labels, &parts[i].label);
        if (entry < 0)
            return trl__fail_memory(err);
        if ((size_t)entry < i || parts[i].label == 0)
            return trl__fail(err, TRL_EINVAL, "label %d is given to two machines, or is epsilon", (int)parts[i].label);
        if (parts[i].fst->semiring != parts[0].fst->semiring)
            return trl__fail(err, TRL_EINVAL,
                             "the machines of labels %d and %d are of different semirings; map one of them",
                             (int)parts[0].label, (int)parts[i].label);
    }
    return 0;
}

static int dispatch(const trl_fst_part *parts, const trl__tuples *labels, int32_t root, const trl_replace_options *o,
                    trl_fst *out, trl_error *err)
{
    TRL__DISPATCH(out->semiring, fst_replace, (parts, labels, root, o, out, err));
}

int trl_fst_replace(const trl_fst_part *parts, size_t count, int32_t root, const trl_replace_options *options,
                    trl_fst **out, trl_error *err)
{
    trl_replace_options defaults = trl_replace_defaults();
    trl__tuples labels = {.width = 1};
    *out = NULL;
    int code = read_parts(&labels, parts, count, err);
    int64_t first = code == 0 ? trl__tuples_find(&labels, &root) : -1;
    if (code == 0 && first < 0)
        code = trl__fail(err, TRL_EINVAL, "no machine has the label %d of the root", (int)root);
    if (code == 0)
        code = trl__fst_like(parts[first].fst, out, err);
    if (code == 0)
        code = dispatch(parts, &labels, (int32_t)first, options ? options : &defaults, *out, err);
    trl__tuples_free(&labels);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}
#endif
