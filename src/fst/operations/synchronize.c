/* Labels that wait: synchronizing and epsilon normalization (Mohri, "Edit-distance of weighted automata", 2003;
 * "Generic epsilon-removal and input epsilon-normalization algorithms for weighted transducers", 2002).
 *
 * A new state is a state of the machine with the labels that have been read but not been given out, and those that have
 * been written but not been given out. An arc adds its labels to them; when both sides have one (synchronizing), or the
 * side to be normalized has (normalization), the first of each is given out, else the arc is an epsilon. What is left
 * at an end follows it. The number of such states is finite unless some cycle adds more to one side than to the other:
 * then it is a cycle of negative cost where labels are costs, and shortest distances find it beforehand.
 */
#include "fst/label_strings.h"
#include "fst/weighted.h"

#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>

/* Which sides must have a label before it is given out. */
typedef struct waiting {
    int input, output;
    int64_t most_states;
} waiting;

TRL__EACH(int, fst_wait, (const trl_fst *fst, const waiting *rule, trl_fst **out, trl_error *err));

typedef struct delaying {
    const trl_fst *fst;
    const waiting *rule;
    trl_fst *out;
    trl__tuples strings;
    trl__tuples states; /* (state or TRL_NO_STATE behind the end, input, output) */
    int32_t *letters;
    size_t letter_capacity;
} delaying;

/* ---- Can it end? ---- */

/* With labels of the one side as costs and those of the other as gains, is there a cycle that gains? */
static int check_cycles(const trl_fst *fst, int input_gains, trl_error *err)
{
    trl_fst *costs;
    int code = trl_fst_create(TRL_TROPICAL, &costs, err);
    if (code == 0)
        code = trl_fst_add_states(costs, fst->states, err);
    if (code == 0 && fst->start != TRL_NO_STATE)
        code = trl_fst_set_start(costs, fst->start, err);
    for (int32_t s = 0; code == 0 && s < fst->states; s++)
        for (uint32_t i = 0; code == 0 && i < arc_count(fst, s); i++) {
            const arc *a = &arcs_of(fst, s)[i];
            float delay = (float)((a->ilabel != 0) - (a->olabel != 0));
            code = trl_fst_add_arc(costs, s, (trl_arc){1, 1, {input_gains ? -delay : delay, 0}, a->next}, err);
        }
    trl_weight *far = NULL;
    if (code == 0)
        code = trl_fst_shortestdistance(costs, 0, TRL_QUEUE_AUTO, 0, &far, err);
    trl__free(far);
    trl_fst_destroy(costs);
    if (code == TRL_ELIMIT)
        code = trl__fail(err, TRL_ELIMIT, "there is no finite result: a cycle %s",
                         input_gains ? "reads more labels than it writes" : "writes more labels than it reads");
    return code;
}

/* ---- States ---- */

/* The string with a label behind it. */
static int32_t append(delaying *d, int32_t string, int32_t label)
{
    size_t n = 0;
    if (label == 0)
        return string;
    for (; string != TRL__EMPTY; string = trl__string_rest(&d->strings, string)) {
        if (TRL_GROW(d->letters, d->letter_capacity, n + 1) < 0)
            return TRL__FAILED;
        d->letters[n++] = trl__string_first(&d->strings, string);
    }
    int32_t last = trl__string_put(&d->strings, label, TRL__EMPTY);
    return last == TRL__FAILED ? last : trl__string_join(&d->strings, d->letters, n, last);
}

/* An arc to the state with these labels waiting; `give` takes the first of each with it. */
static int emit(delaying *d, int32_t from, weight w, int32_t next, int32_t input, int32_t output, int give,
                trl_error *err)
{
    arc a = {0, 0, w, 0};
    if (input == TRL__FAILED || output == TRL__FAILED)
        return trl__fail_memory(err);
    if (give && input != TRL__EMPTY) {
        a.ilabel = trl__string_first(&d->strings, input);
        input = trl__string_rest(&d->strings, input);
    }
    if (give && output != TRL__EMPTY) {
        a.olabel = trl__string_first(&d->strings, output);
        output = trl__string_rest(&d->strings, output);
    }
    int64_t to = trl__tuples_add(&d->states, (int32_t[]){next, input, output});
    if (to < 0)
        return trl__fail_memory(err);
    if (to >= d->rule->most_states)
        return trl__fail(
            err, TRL_ELIMIT,
            "the result would have more than %lld states; raise the limit, if labels are to wait for so long",
            (long long)d->rule->most_states);
    a.next = (int32_t)to;
    return push_arc(d->out, from, a, err);
}

static int expand(delaying *d, int32_t s, trl_error *err)
{
    const int32_t *key = trl__tuples_get(&d->states, s);
    int32_t state = key[0], input = key[1], output = key[2];
    weight final = state == TRL_NO_STATE ? ONE : final_of(d->fst, state);
    int code = 0;
    if (input == TRL__EMPTY && output == TRL__EMPTY)
        set_final(d->out, s, final);
    else if (!is_zero(final))
        code = emit(d, s, final, TRL_NO_STATE, input, output, 1, err);
    uint32_t count = state == TRL_NO_STATE ? 0 : arc_count(d->fst, state);
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        const arc *a = &arcs_of(d->fst, state)[i];
        int32_t x = append(d, input, a->ilabel), y = append(d, output, a->olabel);
        int give = (!d->rule->input || x != TRL__EMPTY) && (!d->rule->output || y != TRL__EMPTY);
        code = emit(d, s, a->weight, a->next, x, y, give, err);
    }
    return code;
}

static int expand_all(delaying *d, trl_error *err)
{
    if (trl__tuples_add(&d->states, (int32_t[]){d->fst->start, TRL__EMPTY, TRL__EMPTY}) < 0)
        return trl__fail_memory(err);
    d->out->start = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < d->states.count; i++) {
        int32_t s = push_state(d->out, err);
        code = s < 0 ? s : expand(d, s, err);
    }
    return code;
}

int FN(fst_wait)(const trl_fst *fst, const waiting *rule, trl_fst **out, trl_error *err)
{
    trl_fst *trimmed; /* states on no path must not wait for ever */
    int code = trl_fst_copy(fst, &trimmed, err);
    if (code == 0)
        code = trl_fst_connect(trimmed, err);
    if (code == 0 && rule->input)
        code = check_cycles(trimmed, 0, err);
    if (code == 0 && rule->output)
        code = check_cycles(trimmed, 1, err);
    trl_fst *made = NULL;
    if (code == 0)
        code = trl__fst_like(fst, &made, err);
    delaying d = {.fst = trimmed, .rule = rule, .out = made, .strings = {.width = 2}, .states = {.width = 3}};
    if (code == 0 && trimmed->start != TRL_NO_STATE)
        code = expand_all(&d, err);
    trl_fst_destroy(trimmed);
    trl__free(d.letters);
    trl__tuples_free(&d.strings);
    trl__tuples_free(&d.states);
    if (code < 0)
        trl_fst_destroy(made);
    *out = code < 0 ? NULL : made;
    return code;
}

#if TRL__FIRST
static int wait_for(const trl_fst *fst, const waiting *rule, trl_fst **out, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_wait, (fst, rule, out, err));
}

int trl_fst_synchronize(const trl_fst *fst, int64_t most_states, trl_fst **out, trl_error *err)
{
    waiting rule = {1, 1, trl__most_states(fst, most_states)};
    return wait_for(fst, &rule, out, err);
}

int trl_fst_epsnormalize(const trl_fst *fst, trl_side side, trl_fst **out, trl_error *err)
{
    waiting rule = {side == TRL_SIDE_INPUT, side == TRL_SIDE_OUTPUT, INT32_MAX};
    int code = wait_for(fst, &rule, out, err);
    if (code == 0)
        code = trl_fst_rmepsilon(*out, NULL, err);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}
#endif
