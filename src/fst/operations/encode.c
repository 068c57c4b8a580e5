/* Labels and weights as one label, and back.
 *
 * A code is the number of a pair of labels, a weight, or both. Where weights are encoded, an end is an arc as well: its
 * code leads to a final state without arcs, which all ends share. Decoding folds such arcs into final weights again.
 * O(arcs), one look into a table for each.
 */
#include "fst/codes_data.h"
#include "fst/weighted.h"

TRL__EACH(int, fst_encode, (trl_fst * fst, trl_fst_codes *codes, trl_error *err));
TRL__EACH(int, fst_decode, (trl_fst * fst, const trl_fst_codes *codes, trl_error *err));

#define AN_END (-1) /* in place of the input label */

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
    int32_t key[4] = {ilabel, (codes->what & TRL_ENCODE_LABELS) || ilabel == AN_END ? olabel : 0};
    if (codes->what & TRL_ENCODE_WEIGHTS)
        bits_of(w, key + 2);
    int64_t tuple = trl__tuples_add(&codes->table, key);
    return tuple < 0 || tuple == INT32_MAX ? -1 : tuple + 1;
}

static int encode_arcs(trl_fst *fst, trl_fst_codes *codes, int32_t s)
{
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
    return 0;
}

/* The state's final weight becomes an arc to the one new final state, *end, which is made when it is first needed. */
static int encode_end(trl_fst *fst, trl_fst_codes *codes, int32_t s, int32_t *end, trl_error *err)
{
    weight final = final_of(fst, s);
    if (is_zero(final))
        return 0;
    if (*end == TRL_NO_STATE) {
        *end = push_state(fst, err);
        if (*end < 0)
            return *end;
        set_final(fst, *end, ONE);
    }
    int64_t code = code_of(codes, AN_END, AN_END, final);
    if (code < 0)
        return trl__fail_memory(err);
    int32_t olabel = codes->what & TRL_ENCODE_LABELS ? (int32_t)code : 0;
    set_final(fst, s, ZERO);
    return push_arc(fst, s, (arc){(int32_t)code, olabel, ONE, *end}, err);
}

/* State by state, so that codes are numbered as OpenFst numbers them. */
int FN(fst_encode)(trl_fst *fst, trl_fst_codes *codes, trl_error *err)
{
    int32_t states = fst->states, end = TRL_NO_STATE;
    int code = 0;
    for (int32_t s = 0; code == 0 && s < states; s++) {
        code = encode_arcs(fst, codes, s) < 0 ? trl__fail_memory(err) : 0;
        if (code == 0 && (codes->what & TRL_ENCODE_WEIGHTS))
            code = encode_end(fst, codes, s, &end, err);
    }
    return code;
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

/* Arcs of a state; those that were ends become its final weight where that says the same. `folded` marks the states
 * they led to. */
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
#endif
