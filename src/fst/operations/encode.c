/* Labels and weights as one label, and back.
 *
 * A code is the number of a pair of labels, a weight, or both. Where weights are encoded, an end is an arc as well: its code leads to a final state
 * without arcs, which all ends share. Decoding folds such arcs into final weights again. O(arcs), one look into a table for each.
 */
#include "fst/tuple_table.h"
#include "fst/weighted.h"

#include <trellis/fst_structure.h>

TRL__EACH(int, fst_encode, (trl_fst * fst, trl_fst_codes *codes, trl_error *err));
TRL__EACH(int, fst_decode, (trl_fst * fst, const trl_fst_codes *codes, trl_error *err));

#define AN_END (-1) /* in place of the input label */

struct trl_fst_codes {
    int what;
    int in_use;
    trl_semiring semiring;            /* of the machines that were encoded */
    trl__tuples table;                /* (input label, output label, the weight's bits); label n is tuple n - 1 */
    trl_symbols *isymbols, *osymbols; /* of the machine that was encoded first */
};

static void bits_of(weight w, int32_t bits[2])
{
    trl_weight wide = to_public(w);
    wide.value += 0.0f; /* one zero for both signs */
    wide.second += 0.0f;
    memcpy(bits, &wide, sizeof wide);
}

static weight weight_of(const int32_t bits[2])
{
    trl_weight wide;
    memcpy(&wide, bits, sizeof wide);
    return from_public(wide);
}

/* The label of the code; negative: out of memory. */
static int64_t code_of(trl_fst_codes *codes, int32_t ilabel, int32_t olabel, weight w)
{
    int32_t key[4] = {ilabel, codes->what & TRL_ENCODE_LABELS ? olabel : 0};
    if (codes->what & TRL_ENCODE_WEIGHTS)
        bits_of(w, key + 2);
    int64_t tuple = trl__tuples_add(&codes->table, key);
    return tuple < 0 || tuple == INT32_MAX ? -1 : tuple + 1;
}

static int encode_arcs(trl_fst *fst, trl_fst_codes *codes)
{
    for (int32_t s = 0; s < fst->states; s++) {
        arc *arcs = arcs_of(fst, s);
        for (uint32_t i = 0; i < arc_count(fst, s); i++) {
            int64_t code = code_of(codes, arcs[i].ilabel, arcs[i].olabel, arcs[i].weight);
            if (code < 0)
                return -1;
            arcs[i].ilabel = (int32_t)code;
            if (codes->what & TRL_ENCODE_LABELS)
                arcs[i].olabel = (int32_t)code;
            if (codes->what & TRL_ENCODE_WEIGHTS)
                arcs[i].weight = ONE;
        }
    }
    return 0;
}

/* Final weights become arcs to one new final state. */
static int encode_ends(trl_fst *fst, trl_fst_codes *codes, trl_error *err)
{
    int32_t states = fst->states, end = TRL_NO_STATE;
    for (int32_t s = 0; s < states; s++) {
        weight final = final_of(fst, s);
        if (is_zero(final))
            continue;
        if (end == TRL_NO_STATE) {
            end = push_state(fst, err);
            if (end < 0)
                return end;
            set_final(fst, end, ONE);
        }
        int64_t code = code_of(codes, AN_END, AN_END, final);
        if (code < 0)
            return trl__fail_memory(err);
        int32_t olabel = codes->what & TRL_ENCODE_LABELS ? (int32_t)code : 0;
        int result = push_arc(fst, s, (arc){(int32_t)code, olabel, ONE, end}, err);
        if (result < 0)
            return result;
        set_final(fst, s, ZERO);
    }
    return 0;
}

int FN(fst_encode)(trl_fst *fst, trl_fst_codes *codes, trl_error *err)
{
    if (encode_arcs(fst, codes) < 0)
        return trl__fail_memory(err);
    return codes->what & TRL_ENCODE_WEIGHTS ? encode_ends(fst, codes, err) : 0;
}

static int check_labels(const trl_fst *fst, const trl_fst_codes *codes, trl_error *err)
{
    for (int32_t s = 0; s < fst->states; s++) {
        const arc *arcs = arcs_of(fst, s);
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            if (arcs[i].ilabel < 1 || (size_t)arcs[i].ilabel > codes->table.count)
                return trl__fail(err, TRL_EINVAL,
                                 "arc %u of state %d has the label %d, which the table of %zu codes does not have; "
                                 "decode with the table that encoded the machine",
                                 i, (int)s, (int)arcs[i].ilabel, codes->table.count);
    }
    return 0;
}

/* Is it a state that ends and nothing else? */
static int is_plain_end(const trl_fst *fst, int32_t s)
{
    return arc_count(fst, s) == 0 && !is_zero(final_of(fst, s));
}

/* Arcs of a state; those that were ends become its final weight where that says the same. `folded` marks the states they led to. */
static void decode_state(trl_fst *fst, const trl_fst_codes *codes, int32_t s, uint8_t *folded)
{
    arc *arcs = arcs_of(fst, s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < arc_count(fst, s); i++) {
        const int32_t *key = trl__tuples_get(&codes->table, arcs[i].ilabel - 1);
        arc a = arcs[i];
        weight w = codes->what & TRL_ENCODE_WEIGHTS ? times(a.weight, weight_of(key + 2)) : a.weight;
        if (key[0] == AN_END && is_plain_end(fst, a.next)) {
            set_final(fst, s, plus(final_of(fst, s), times(w, final_of(fst, a.next))));
            folded[a.next] = 1;
            continue;
        }
        int32_t olabel = codes->what & TRL_ENCODE_LABELS ? key[1] : a.olabel;
        arcs[kept++] = (arc){key[0] == AN_END ? 0 : key[0], olabel == AN_END ? 0 : olabel, w, a.next};
    }
    fst->range[s].count = kept;
}

/* States that ends were folded away from go, unless something else leads there. */
static int drop_folded(trl_fst *fst, uint8_t *folded, trl_error *err)
{
    int any = 0;
    if (fst->start != TRL_NO_STATE)
        folded[fst->start] = 0;
    for (int32_t s = 0; s < fst->states; s++)
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            folded[arcs_of(fst, s)[i].next] = 0;
    for (int32_t s = 0; s < fst->states; s++) {
        any |= folded[s];
        folded[s] = !folded[s];
    }
    return any ? trl__fst_keep(fst, folded, err) : 0;
}

int FN(fst_decode)(trl_fst *fst, const trl_fst_codes *codes, trl_error *err)
{
    int code = check_labels(fst, codes, err);
    if (code < 0)
        return code;
    uint8_t *folded = trl__alloc_zero((size_t)fst->states + 1, 1);
    if (!folded)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < fst->states; s++)
        decode_state(fst, codes, s, folded);
    code = drop_folded(fst, folded, err);
    trl__free(folded);
    return code;
}

#if TRL__FIRST
int trl_fst_codes_create(int what, trl_fst_codes **out, trl_error *err)
{
    *out = NULL;
    if (what < 1 || what > (TRL_ENCODE_LABELS | TRL_ENCODE_WEIGHTS))
        return trl__fail(err, TRL_EINVAL, "what to encode is %d; it must be labels, weights, or both", what);
    trl_fst_codes *codes = trl__alloc_zero(1, sizeof *codes);
    if (!codes)
        return trl__fail_memory(err);
    codes->what = what;
    codes->table.width = 4;
    *out = codes;
    return 0;
}

void trl_fst_codes_destroy(trl_fst_codes *codes)
{
    if (!codes)
        return;
    trl__tuples_free(&codes->table);
    trl_symbols_destroy(codes->isymbols);
    trl_symbols_destroy(codes->osymbols);
    trl__free(codes);
}

static int encode(trl_fst *fst, trl_fst_codes *codes, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_encode, (fst, codes, err));
}

static int decode(trl_fst *fst, const trl_fst_codes *codes, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_decode, (fst, codes, err));
}

static int check_semiring(const trl_fst *fst, const trl_fst_codes *codes, trl_error *err)
{
    if (codes->in_use && codes->semiring != fst->semiring)
        return trl__fail(err, TRL_EINVAL, "the codes are those of the %s semiring, the machine is of the %s semiring",
                         trl_semiring_name(codes->semiring), trl_semiring_name(fst->semiring));
    return 0;
}

int trl_fst_encode(trl_fst *fst, trl_fst_codes *codes, trl_error *err)
{
    int code = check_semiring(fst, codes, err);
    if (code == 0)
        code = encode(fst, codes, err);
    if (code < 0)
        return code;
    if (!codes->in_use) { /* the tables name what the codes stand for, and nothing in the encoded machine */
        codes->isymbols = trl_symbols_share(fst->isymbols);
        codes->osymbols = trl_symbols_share(fst->osymbols);
    }
    codes->in_use = 1;
    codes->semiring = fst->semiring;
    trl_fst_set_symbols(fst, NULL, codes->what & TRL_ENCODE_LABELS ? NULL : trl_symbols_share(fst->osymbols));
    return 0;
}

int trl_fst_decode(trl_fst *fst, const trl_fst_codes *codes, trl_error *err)
{
    int code = check_semiring(fst, codes, err);
    if (code == 0)
        code = decode(fst, codes, err);
    if (code == 0)
        trl_fst_set_symbols(fst, trl_symbols_share(codes->isymbols), trl_symbols_share(codes->osymbols));
    return code;
}

/* ---- The table as a machine ---- */

static int add_codes(const trl_fst_codes *codes, trl_fst *machine, trl_error *err)
{
    trl_weight one = trl_weight_one(codes->semiring);
    int code = trl_fst_add_states(machine, 2, err);
    if (code == 0)
        code = trl_fst_set_start(machine, 0, err);
    for (int32_t s = 0; code == 0 && s < 2; s++)
        if (codes->what & (s == 0 ? TRL_ENCODE_LABELS : TRL_ENCODE_WEIGHTS))
            code = trl_fst_set_final(machine, s, one, err);
    for (size_t i = 0; code == 0 && i < codes->table.count; i++) {
        const int32_t *key = trl__tuples_get(&codes->table, (int64_t)i);
        int end = key[0] == AN_END;
        trl_arc a = {end ? 0 : key[0], end ? 0 : key[1], one, end};
        if (codes->what & TRL_ENCODE_WEIGHTS)
            memcpy(&a.weight, key + 2, sizeof a.weight);
        code = trl_fst_add_arc(machine, 0, a, err);
    }
    return code;
}

int trl_fst_codes_to_machine(const trl_fst_codes *codes, trl_fst **out, trl_error *err)
{
    int code = trl_fst_create(codes->semiring, out, err);
    if (code == 0)
        code = add_codes(codes, *out, err);
    if (code == 0)
        trl_fst_set_symbols(*out, trl_symbols_share(codes->isymbols), trl_symbols_share(codes->osymbols));
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

static int read_codes(const trl_fst *machine, trl_fst_codes *codes, trl_error *err)
{
    for (uint32_t i = 0; i < trl_fst_arc_count(machine, 0); i++) {
        trl_arc a = trl_fst_arc(machine, 0, i);
        int end = a.next == 1;
        int32_t key[4] = {end ? AN_END : a.ilabel, !(codes->what & TRL_ENCODE_LABELS) ? 0 : end ? AN_END : a.olabel};
        if (codes->what & TRL_ENCODE_WEIGHTS)
            memcpy(key + 2, &a.weight, sizeof a.weight);
        int64_t code = trl__tuples_add(&codes->table, key);
        if (code < 0)
            return trl__fail_memory(err);
        if (code != i)
            return trl__fail(err, TRL_EINVAL, "the machine is no table of codes: its arcs %lld and %u are the same",
                             (long long)code, i);
    }
    return 0;
}

int trl_fst_codes_from_machine(const trl_fst *machine, trl_fst_codes **out, trl_error *err)
{
    *out = NULL;
    if (machine->states != 2 || trl_fst_arc_count(machine, 1) > 0)
        return trl__fail(err, TRL_EINVAL,
                         "the machine is no table of codes: those have two states, the second without arcs");
    int what = 0;
    for (int32_t s = 0; s < 2; s++)
        if (!trl_weight_is_zero(machine->semiring, trl_fst_final(machine, s)))
            what |= s == 0 ? TRL_ENCODE_LABELS : TRL_ENCODE_WEIGHTS;
    int code = trl_fst_codes_create(what, out, err);
    if (code == 0)
        code = read_codes(machine, *out, err);
    if (code < 0) {
        trl_fst_codes_destroy(*out);
        *out = NULL;
        return code;
    }
    (*out)->in_use = 1;
    (*out)->semiring = machine->semiring;
    (*out)->isymbols = trl_symbols_share(machine->isymbols);
    (*out)->osymbols = trl_symbols_share(machine->osymbols);
    return 0;
}
#endif
