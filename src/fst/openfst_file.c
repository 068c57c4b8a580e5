/* OpenFst's binary machines, types vector and const.
 *
 *     int32 magic, string type, string arc type, int32 version, int32 flags, uint64 properties,
 *     int64 start, int64 states, int64 arcs
 *     the symbol tables that the flags tell of (symbols_file.c)
 *     vector:  per state: final weight, int64 arcs, the arcs
 *     const:   per state: final weight, uint32 first arc, arcs, arcs with input epsilon, with output epsilon; then all
 *              arcs; either part at a multiple of 16 bytes when flag 4 is set or the version is 1
 *     an arc:  int32 input label, output label, weight, int32 next state
 *
 * All of a state and an arc but the int64 is 32-bit words, in the order that trl_fst keeps arcs in: they are copied
 * word by word, and checked where they then are. A vector file's number of states may be -1 (written to a pipe): it
 * ends with the file.
 */
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_data.h"
#include "fst/fst_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { IS_ALIGNED = 4 };
#define ALIGNMENT 16
#define PIECE 4096       /* arcs that are taken at once */
#define LONGEST_TYPE 256 /* bytes of the name of a type */

static const char *const arc_types[TRL_SEMIRINGS] = {"standard", "log", "real", "lattice4"};

const char *trl__arc_type(trl_semiring semiring)
{
    return arc_types[semiring];
}

int trl__arc_type_find(const char *name)
{
    int found = TRL_SEMIRINGS - 1;
    while (found >= 0 && strcmp(name, arc_types[found]) != 0)
        found--;
    return found;
}

typedef trl__openfst_header header;

static size_t weight_words(trl_semiring semiring)
{
    return semiring == TRL_LATTICE ? 2 : 1;
}

static size_t arc_words(trl_semiring semiring)
{
    return 3 + weight_words(semiring);
}

static void get_words(const unsigned char *bytes, size_t count, void *out)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word = trl__le32(bytes + 4 * i);
        memcpy((char *)out + 4 * i, &word, 4);
    }
}

static void put_words(const void *words, size_t count, unsigned char *out)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const char *)words + 4 * i, 4);
        trl__put_le32(out + 4 * i, word);
    }
}

static void put_long(unsigned char *out, uint64_t value)
{
    trl__put_le32(out, (uint32_t)value);
    trl__put_le32(out + 4, (uint32_t)(value >> 32));
}

/* ---- Reading: the header ---- */

static int is_const(const header *h)
{
    return strcmp(h->type, "const") == 0;
}

static int take_name(trl__source *source, char name[TRL__OPENFST_NAME], trl_error *err)
{
    char *text = NULL;
    int code = trl__read_string(source, LONGEST_TYPE, &text, err);
    if (code == 0)
        snprintf(name, TRL__OPENFST_NAME, "%s", text);
    trl__free(text);
    return code;
}

static int read_types(trl__source *source, header *h, trl_error *err)
{
    const unsigned char *magic;
    int code = trl__source_take(source, 4, &magic, err);
    if (code == 0)
        code = take_name(source, h->type, err);
    if (code == 0)
        code = take_name(source, h->arc_type, err);
    if (code < 0 || is_const(h) || strcmp(h->type, "vector") == 0)
        return code;
    return trl__source_fail(source, err, TRL_EUNSUPPORTED,
                            "a machine of type \"%s\"; vector and const are read: fstconvert makes one of it", h->type);
}

static int check_header(const trl__source *source, header *h, trl_error *err)
{
    uint32_t newest = 2;
    if (h->version < 1 || h->version > newest)
        return trl__source_fail(source, err, TRL_EUNSUPPORTED, "version %" PRIu32 " of the format; 1 and 2 are known",
                                h->version);
    if (h->states > INT32_MAX)
        return trl__source_fail(source, err, TRL_ELIMIT, "%" PRId64 " states; at most %" PRId32 " can be handled",
                                h->states, INT32_MAX);
    int counted = h->states >= 0;
    if (h->states < (is_const(h) ? 0 : -1) || (is_const(h) && (h->arcs < 0 || h->arcs > UINT32_MAX)) || h->start < -1 ||
        (counted && h->start >= h->states))
        return trl__source_fail(source, err, TRL_ECORRUPT,
                                "the header tells of %" PRId64 " states, %" PRId64 " arcs and the start %" PRId64
                                "; the file is damaged",
                                h->states, h->arcs, h->start);
    if (is_const(h) && h->version == 1)
        h->flags |= IS_ALIGNED;
    return 0;
}

int trl__openfst_read_header(trl__source *source, header *h, trl_error *err)
{
    const unsigned char *bytes;
    source->line = 0; /* places are bytes */
    int code = read_types(source, h, err);
    if (code == 0)
        code = trl__source_take(source, 40, &bytes, err);
    if (code != 0)
        return code;
    h->version = trl__le32(bytes);
    h->flags = trl__le32(bytes + 4);
    h->properties = trl__le64(bytes + 8);
    h->start = (int64_t)trl__le64(bytes + 16);
    h->states = (int64_t)trl__le64(bytes + 24);
    h->arcs = (int64_t)trl__le64(bytes + 32);
    return check_header(source, h, err);
}

int trl__openfst_read_symbols(trl__source *source, const header *h, trl_symbols **input, trl_symbols **output,
                              trl_error *err)
{
    int code = 0;
    *input = *output = NULL;
    if (h->flags & TRL__OPENFST_ISYMBOLS)
        code = trl__symbols_read_binary(source, input, err);
    if (code == 0 && (h->flags & TRL__OPENFST_OSYMBOLS))
        code = trl__symbols_read_binary(source, output, err);
    return code;
}

static int read_symbols(trl__source *source, const header *h, trl_fst *fst, trl_error *err)
{
    trl_symbols *input, *output;
    int code = trl__openfst_read_symbols(source, h, &input, &output, err);
    trl_fst_set_symbols(fst, input, output);
    return code;
}

/* ---- Reading: states and arcs ---- */

/* Labels and next states of arcs that were just copied: is any negative, or a next state not below `states`? */
static int words_are_sane(const int32_t *words, size_t arcs, size_t width, int32_t states)
{
    int32_t wrong = 0;
    for (size_t i = 0; i < arcs; i++, words += width) {
        wrong |= words[0] | words[1] | words[width - 1];
        wrong |= -(words[width - 1] >= states);
    }
    return wrong >= 0;
}

static int weights_are_sane(trl_semiring semiring, const int32_t *words, size_t arcs, size_t width)
{
    for (size_t i = 0; i < arcs; i++, words += width) {
        trl_weight w = {0, 0};
        memcpy(&w, words + 2, 4 * weight_words(semiring));
        if (!(w.value - w.value == 0 && w.second - w.second == 0) && !trl_weight_is_member(semiring, w))
            return 0;
    }
    return 1;
}

/* Which of the arcs is wrong, and how; `offset` is where the first of them begins. */
static int fail_arc(const trl__source *source, const trl_fst *fst, int32_t state, size_t first, size_t count,
                    uint64_t offset, int32_t states, trl_error *err)
{
    size_t width = arc_words(fst->semiring);
    for (size_t i = 0; i < count; i++) {
        trl_arc a = trl_fst_arc(fst, state, (uint32_t)(first + i));
        uint64_t at = offset + 4 * i * width;
        if (a.next < 0 || a.next >= states)
            return trl__fail_byte(err, TRL_ECORRUPT, source->name, at,
                                  "an arc of state %" PRId32 " leads to state %" PRId32 ", which is not there", state,
                                  a.next);
        if (a.ilabel < 0 || a.olabel < 0)
            return trl__fail_byte(err, TRL_EFORMAT, source->name, at,
                                  "an arc of state %" PRId32 " has the labels %" PRId32 ":%" PRId32
                                  "; labels are 0 to 2^31 - 1",
                                  state, a.ilabel, a.olabel);
        if (!trl_weight_is_member(fst->semiring, a.weight))
            return trl__fail_byte(err, TRL_ENUMBER, source->name, at,
                                  "the weight %g of an arc of state %" PRId32 " is not in the %s semiring",
                                  (double)a.weight.value, state, trl_semiring_name(fst->semiring));
    }
    return 0;
}

/* Reads `count` arcs behind those that the state has. Next states must be below `states`. */
static int read_arcs(trl__source *source, trl_fst *fst, int32_t state, uint64_t count, int32_t states, trl_error *err)
{
    size_t width = arc_words(fst->semiring);
    int code = 0;
    for (uint64_t done = 0; code == 0 && done < count;) {
        size_t piece = count - done < PIECE ? (size_t)(count - done) : PIECE;
        const unsigned char *bytes;
        uint64_t offset = source->offset;
        code = trl__source_take(source, 4 * piece * width, &bytes, err);
        if (code == 0)
            code = trl__fst_reserve(fst, state, piece, err);
        if (code < 0)
            return code;
        trl__range *range = &fst->range[state];
        int32_t *words = (int32_t *)fst->arcs + (range->first + range->count) * width;
        get_words(bytes, piece * width, words);
        range->count += (uint32_t)piece;
        range->room = range->count > range->room ? range->count : range->room;
        fst->used = range->first + range->count > fst->used ? range->first + range->count : fst->used;
        if (!words_are_sane(words, piece, width, states) || !weights_are_sane(fst->semiring, words, piece, width))
            code = fail_arc(source, fst, state, range->count - piece, piece, offset, states, err);
        done += piece;
    }
    return code;
}

static int set_final(trl__source *source, trl_fst *fst, int32_t state, const unsigned char *bytes, trl_error *err)
{
    trl_weight w = {0, 0};
    get_words(bytes, weight_words(fst->semiring), &w);
    if (trl_weight_is_member(fst->semiring, w))
        return trl_fst_set_final(fst, state, w, err);
    return trl__source_fail(source, err, TRL_ENUMBER,
                            "the final weight %g of state %" PRId32 " is not in the %s semiring", (double)w.value,
                            state, trl_semiring_name(fst->semiring));
}

/* With the number of states unknown, arcs may lead anywhere at first. */
static int check_uncounted(const trl__source *source, const header *h, const trl_fst *fst, trl_error *err)
{
    trl_error reason;
    if (h->start >= fst->states)
        return trl__source_fail(source, err, TRL_ECORRUPT, "the start is state %" PRId64 " of %" PRId32, h->start,
                                fst->states);
    return trl_fst_verify(fst, &reason) < 0 ? trl__source_fail(source, err, TRL_ECORRUPT, "%s", reason.text) : 0;
}

static int read_vector(trl__source *source, const header *h, trl_fst *fst, trl_error *err)
{
    size_t size = 4 * weight_words(fst->semiring) + 8;
    int32_t most = h->states < 0 ? INT32_MAX : (int32_t)h->states;
    int code = 0;
    while (code == 0 && fst->states < most) {
        const unsigned char *bytes;
        int32_t state;
        int byte = h->states < 0 ? trl__source_peek(source, err) : 0;
        if (byte < 0)
            return byte == TRL__SOURCE_END ? check_uncounted(source, h, fst, err) : byte;
        if ((code = trl__source_take(source, size, &bytes, err)) < 0 ||
            (code = trl_fst_add_state(fst, &state, err)) < 0 || (code = set_final(source, fst, state, bytes, err)) < 0)
            return code;
        uint64_t arcs = trl__le64(bytes + size - 8);
        if (arcs > UINT32_MAX)
            return trl__source_fail(source, err, TRL_ECORRUPT, "state %" PRId32 " is said to have %" PRIu64 " arcs",
                                    state, arcs);
        code = read_arcs(source, fst, state, arcs, most, err);
    }
    return code;
}

static int skip_to_alignment(trl__source *source, const header *h, trl_error *err)
{
    const unsigned char *bytes;
    uint64_t past = source->offset % ALIGNMENT;
    return (h->flags & IS_ALIGNED) && past > 0 ? trl__source_take(source, ALIGNMENT - past, &bytes, err) : 0;
}

/* The arcs of all states must follow each other without gaps, as they do in every file that OpenFst writes. */
static int read_const(trl__source *source, const header *h, trl_fst *fst, trl_error *err)
{
    size_t weights = weight_words(fst->semiring), size = 4 * (weights + 4);
    uint32_t *count = NULL;
    size_t capacity = 0;
    uint64_t arcs = 0;
    int code = skip_to_alignment(source, h, err);
    for (int32_t s = 0; code == 0 && s < h->states; s++) {
        const unsigned char *bytes;
        code = trl__source_take(source, size, &bytes, err);
        if (code == 0 && (TRL_GROW(count, capacity, (size_t)s + 1) < 0 || !count))
            code = trl__fail_memory(err);
        if (code == 0)
            code = trl_fst_add_states(fst, 1, err);
        if (code == 0)
            code = set_final(source, fst, s, bytes, err);
        if (code != 0)
            break;
        count[s] = trl__le32(bytes + 4 * weights + 4);
        if (count[s] > 0 && trl__le32(bytes + 4 * weights) != arcs)
            code = trl__source_fail(source, err, TRL_ECORRUPT,
                                    "the arcs of state %" PRId32 " are not where they should be", s);
        arcs += count[s];
    }
    if (code == 0 && arcs != (uint64_t)h->arcs)
        code = trl__source_fail(source, err, TRL_ECORRUPT,
                                "the states have %" PRIu64 " arcs, the header tells of %" PRId64, arcs, h->arcs);
    if (code == 0)
        code = skip_to_alignment(source, h, err);
    for (int32_t s = 0; code == 0 && s < h->states; s++)
        code = read_arcs(source, fst, s, count[s], (int32_t)h->states, err);
    trl__free(count);
    return code;
}

int trl__openfst_read_machine(trl__source *source, const header *h, trl_fst **out, trl_error *err)
{
    int semiring = trl__arc_type_find(h->arc_type);
    *out = NULL;
    if (semiring < 0)
        return trl__source_fail(source, err, TRL_EUNSUPPORTED,
                                "arcs of type \"%s\"; standard, log, real and lattice4 are read", h->arc_type);
    int code = trl_fst_create((trl_semiring)semiring, out, err);
    if (code == 0)
        code = read_symbols(source, h, *out, err);
    if (code == 0)
        code = (is_const(h) ? read_const : read_vector)(source, h, *out, err);
    if (code == 0 && h->start >= 0)
        code = trl_fst_set_start(*out, (int32_t)h->start, err);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__fst_read_binary(trl__source *source, trl_fst **out, trl_error *err)
{
    header h;
    *out = NULL;
    int code = trl__openfst_read_header(source, &h, err);
    if (code == 0)
        code = trl__openfst_read_machine(source, &h, out, err);
    int rest = code == 0 ? trl__source_peek(source, err) : TRL__SOURCE_END;
    if (rest != TRL__SOURCE_END)
        code =
            rest < 0 ? rest : trl__source_fail(source, err, TRL_ECORRUPT, "bytes follow behind the end of the machine");
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

/* ---- Writing: properties ---- */

/* OpenFst's bits: a pair for each question, yes and no; neither: unknown. In the order of the pairs. */
enum {
    ACCEPTOR,
    IDETERMINISTIC,
    ODETERMINISTIC,
    EPSILONS,
    IEPSILONS,
    OEPSILONS,
    ISORTED,
    OSORTED,
    WEIGHTED,
    CYCLIC,
    INITIAL_CYCLIC,
    TOPSORTED,
    ACCESSIBLE,
    COACCESSIBLE,
    STRING,
    WEIGHTED_CYCLES
};
#define YES(question) (UINT64_C(1) << (16 + 2 * (question)))
#define NO(question) (UINT64_C(2) << (16 + 2 * (question)))
#define ANSWER(yes, question) ((yes) ? YES(question) : NO(question))
enum { EXPANDED = 1, MUTABLE = 2 };

uint64_t trl__openfst_sorted_acceptor(void)
{
    return EXPANDED | MUTABLE | YES(ACCEPTOR) | YES(TOPSORTED) | NO(CYCLIC) | NO(INITIAL_CYCLIC);
}

/* What one look at labels and weights shows; a weight of zero is no weight here. */
typedef struct sight {
    int not_acceptor, epsilons, iepsilons, oepsilons, not_isorted, not_osorted, weighted, not_topsorted, any_arc;
} sight;

static int is_weight(trl_semiring semiring, trl_weight w)
{
    trl_weight one = trl_weight_one(semiring);
    return !(w.value == one.value && w.second == one.second) && !trl_weight_is_zero(semiring, w);
}

static sight look(const trl_fst *fst)
{
    sight seen = {0};
    for (int32_t s = 0; s < fst->states; s++) {
        trl_arc before = {0};
        seen.weighted |= is_weight(fst->semiring, trl_fst_final(fst, s));
        for (uint32_t i = 0; i < fst->range[s].count; i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            seen.any_arc = 1;
            seen.not_acceptor |= a.ilabel != a.olabel;
            seen.epsilons |= a.ilabel == 0 && a.olabel == 0;
            seen.iepsilons |= a.ilabel == 0;
            seen.oepsilons |= a.olabel == 0;
            seen.not_isorted |= a.ilabel < before.ilabel;
            seen.not_osorted |= a.olabel < before.olabel;
            seen.not_topsorted |= a.next <= s;
            if (!seen.weighted)
                seen.weighted = is_weight(fst->semiring, a.weight);
            before = a;
        }
    }
    return seen;
}

static uint64_t answers(const sight *seen)
{
    return ANSWER(!seen->not_acceptor, ACCEPTOR) | ANSWER(seen->epsilons, EPSILONS) |
           ANSWER(seen->iepsilons, IEPSILONS) | ANSWER(seen->oepsilons, OEPSILONS) |
           ANSWER(!seen->not_isorted, ISORTED) | ANSWER(!seen->not_osorted, OSORTED) |
           ANSWER(seen->weighted, WEIGHTED) | ANSWER(!seen->not_topsorted, TOPSORTED);
}

/* What OpenFst knows of a machine that it built arc by arc, as its compiler does. */
static uint64_t compiler_properties(const trl_fst *fst)
{
    sight seen = look(fst);
    uint64_t known = EXPANDED | MUTABLE | answers(&seen);
    if (!seen.any_arc)
        known |= YES(IDETERMINISTIC) | YES(ODETERMINISTIC) | NO(WEIGHTED_CYCLES);
    if (!seen.not_topsorted)
        known |= NO(CYCLIC) | NO(INITIAL_CYCLIC);
    if (fst->states == 0)
        known |= YES(ACCESSIBLE) | YES(COACCESSIBLE) | YES(STRING);
    return known;
}

/* All of them, as OpenFst finds out for a const machine. */
static int all_properties(const trl_fst *fst, uint64_t *all, trl_error *err)
{
    static const struct {
        uint32_t ours;
        int question, inverted;
    } pairs[] = {{TRL_FST_IDETERMINISTIC, IDETERMINISTIC, 0},
                 {TRL_FST_ODETERMINISTIC, ODETERMINISTIC, 0},
                 {TRL_FST_ACYCLIC, CYCLIC, 1},
                 {TRL_FST_INITIAL_ACYCLIC, INITIAL_CYCLIC, 1},
                 {TRL_FST_ACCESSIBLE, ACCESSIBLE, 0},
                 {TRL_FST_COACCESSIBLE, COACCESSIBLE, 0},
                 {TRL_FST_UNWEIGHTED_CYCLES, WEIGHTED_CYCLES, 1},
                 {TRL_FST_STRING, STRING, 0}};
    uint32_t found;
    int code = trl_fst_properties(fst, &found, err);
    if (code < 0)
        return code;
    sight seen = look(fst);
    *all = EXPANDED | answers(&seen);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        *all |= ANSWER(((found & pairs[i].ours) != 0) != pairs[i].inverted, pairs[i].question);
    return 0;
}

/* ---- Writing ---- */

int trl__openfst_write_header(const header *h, trl_file *file, trl_error *err)
{
    unsigned char rest[40];
    trl__put_le32(rest, h->version);
    trl__put_le32(rest + 4, h->flags);
    put_long(rest + 8, h->properties);
    put_long(rest + 16, (uint64_t)h->start);
    put_long(rest + 24, (uint64_t)h->states);
    put_long(rest + 32, (uint64_t)h->arcs);
    int code = trl_file_write(file, TRL__FST_MAGIC, 4, err);
    if (code == 0)
        code = trl__write_string(file, h->type, err);
    if (code == 0)
        code = trl__write_string(file, h->arc_type, err);
    return code < 0 ? code : trl_file_write(file, rest, sizeof rest, err);
}

static int write_front(const trl_fst *fst, const header *h, trl_file *file, trl_error *err)
{
    int code = trl__openfst_write_header(h, file, err);
    if (code == 0 && fst->isymbols)
        code = trl__symbols_write_binary(fst->isymbols, file, err);
    if (code == 0 && fst->osymbols)
        code = trl__symbols_write_binary(fst->osymbols, file, err);
    return code;
}

static int write_arcs(const trl_fst *fst, int32_t state, trl_file *file, trl_error *err)
{
    static const size_t most = 64; /* arcs at once */
    unsigned char bytes[64 * sizeof(trl_arc)];
    size_t width = arc_words(fst->semiring);
    const trl__range *range = &fst->range[state];
    int code = 0;
    for (uint64_t done = 0; code == 0 && done < range->count;) {
        size_t piece = range->count - done < most ? (size_t)(range->count - done) : most;
        put_words((const int32_t *)fst->arcs + (range->first + done) * width, piece * width, bytes);
        code = trl_file_write(file, bytes, 4 * piece * width, err);
        done += piece;
    }
    return code;
}

static int write_vector(const trl_fst *fst, trl_file *file, trl_error *err)
{
    size_t weights = weight_words(fst->semiring);
    int code = 0;
    for (int32_t s = 0; code == 0 && s < fst->states; s++) {
        unsigned char bytes[16];
        trl_weight final = trl_fst_final(fst, s);
        put_words(&final, weights, bytes);
        put_long(bytes + 4 * weights, fst->range[s].count);
        code = trl_file_write(file, bytes, 4 * weights + 8, err);
        if (code == 0)
            code = write_arcs(fst, s, file, err);
    }
    return code;
}

static int write_const_state(const trl_fst *fst, int32_t s, uint32_t first, trl_file *file, trl_error *err)
{
    size_t weights = weight_words(fst->semiring);
    unsigned char bytes[24];
    uint32_t words[4] = {first, fst->range[s].count, 0, 0};
    for (uint32_t i = 0; i < fst->range[s].count; i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        words[2] += a.ilabel == 0;
        words[3] += a.olabel == 0;
    }
    trl_weight final = trl_fst_final(fst, s);
    put_words(&final, weights, bytes);
    put_words(words, 4, bytes + 4 * weights);
    return trl_file_write(file, bytes, 4 * (weights + 4), err);
}

static int write_const(const trl_fst *fst, trl_file *file, trl_error *err)
{
    uint32_t first = 0;
    int code = 0;
    for (int32_t s = 0; code == 0 && s < fst->states; s++) {
        code = write_const_state(fst, s, first, file, err);
        first += fst->range[s].count;
    }
    for (int32_t s = 0; code == 0 && s < fst->states; s++)
        code = write_arcs(fst, s, file, err);
    return code;
}

/* The header of a vector file says 0 arcs, as OpenFst's does. */
static int make_header(const trl_fst *fst, int as_const, header *h, trl_error *err)
{
    uint64_t arcs = as_const ? trl_fst_arcs(fst) : 0;
    *h = (header){.version = 2,
                  .flags = (fst->isymbols ? TRL__OPENFST_ISYMBOLS : 0u) | (fst->osymbols ? TRL__OPENFST_OSYMBOLS : 0u),
                  .start = fst->start,
                  .states = fst->states,
                  .arcs = (int64_t)arcs};
    snprintf(h->type, sizeof h->type, "%s", as_const ? "const" : "vector");
    snprintf(h->arc_type, sizeof h->arc_type, "%s", arc_types[fst->semiring]);
    if (arcs > UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT,
                         "a const file has at most 2^32 - 1 arcs, not %" PRIu64 "; write a vector file", arcs);
    if (as_const)
        return all_properties(fst, &h->properties, err);
    h->properties = compiler_properties(fst);
    return 0;
}

int trl__fst_write_binary(const trl_fst *fst, trl_file *file, trl_fst_format format, trl_error *err)
{
    header h;
    int code = make_header(fst, format == TRL_FST_CONST, &h, err);
    if (code == 0)
        code = write_front(fst, &h, file, err);
    return code < 0 ? code : (is_const(&h) ? write_const : write_vector)(fst, file, err);
}

int trl_fst_write(const trl_fst *fst, const char *path, trl_fst_format format, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code != 0)
        return code;
    code = trl__fst_write_binary(fst, file, format, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}
