#include "decode/kaldi_lattice.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "decode/lattice_fst.h"
#include "fst/fst_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COMPACT_ARCS "compactlattice44" /* floats of 4 bytes, integers of 4 bytes */
#define PLAIN_ARCS "lattice4"

/* ---- Weights ---- */

typedef struct weight {
    float graph, acoustic;
    int32_t *transitions; /* grows from weight to weight */
    size_t count, capacity;
} weight;

typedef struct reader {
    trl__source *source;
    trl__lattice_draft *draft;
    weight weight;
    trl_error *err;
} reader;

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

/* 0: costs; 1: both infinite, what has them is not there; or an error. */
static int check_costs(const reader *r)
{
    const weight *w = &r->weight;
    if (isfinite(w->graph) && isfinite(w->acoustic))
        return 0;
    if (w->graph == INFINITY && w->acoustic == INFINITY)
        return 1;
    return FAIL(r, TRL_ENUMBER, "the costs %g and %g are not finite", (double)w->graph, (double)w->acoustic);
}

static int add_transition(reader *r, int64_t transition)
{
    weight *w = &r->weight;
    if (transition < 1 || transition > INT32_MAX)
        return FAIL(r, TRL_EFORMAT, "%" PRId64 " is no transition id; these count from 1", transition);
    if (w->count == INT32_MAX)
        return FAIL(r, TRL_ELIMIT, "an arc with more than 2^31 - 1 transitions");
    if (TRL_GROW(w->transitions, w->capacity, w->count + 1) < 0)
        return trl__fail_memory(r->err);
    w->transitions[w->count++] = (int32_t)transition;
    return 0;
}

/* The arc or end with the weight that was read last. */
static int add_arc(reader *r, int32_t from, int32_t next, int32_t word)
{
    const weight *w = &r->weight;
    int gone = check_costs(r);
    if (gone != 0)
        return gone < 0 ? gone : 0;
    trl_lattice_arc arc = {next, word, w->graph, w->acoustic, 0, (uint32_t)w->count};
    return trl__draft_add_arc(r->draft, from, &arc, w->transitions, r->err);
}

static int add_end(reader *r, int32_t state)
{
    const weight *w = &r->weight;
    int gone = check_costs(r);
    if (gone != 0)
        return gone < 0 ? gone : 0;
    trl_lattice_end end = {w->graph, w->acoustic, 0, (uint32_t)w->count};
    return trl__draft_set_end(r->draft, state, &end, w->transitions, r->err);
}

/* ---- Text ---- */

enum { ANY, COMPACT, PLAIN };

static int parse_index(const reader *r, const char *text, const char *what, int32_t *out)
{
    int64_t value;
    if (trl__parse_int(text, &value) < 0 || value < 0 || value > INT32_MAX)
        return FAIL(r, TRL_EFORMAT, "expected the number of a %s, found \"%s\"", what, text);
    *out = (int32_t)value;
    return 0;
}

/* "3_12_10" */
static int parse_transitions(reader *r, char *text)
{
    int code = 0;
    while (code == 0 && *text) {
        int64_t value;
        char *end = text + strcspn(text, "_"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (trl__parse_int(text, &value) < 0)
            return FAIL(r, TRL_EFORMAT, "expected a transition id, found \"%s\"", text);
        code = add_transition(r, value);
        text = next;
    }
    return code;
}

/* "graph,acoustic" or "graph,acoustic,transitions": *kind says which it was. */
static int parse_weight(reader *r, char *text, int *kind)
{
    trl_weight costs;
    char *first = strchr(text, ','), *second = first ? strchr(first + 1, ',') : NULL;
    if (second)
        *second = '\0';
    r->weight.count = 0;
    if (trl_weight_parse(TRL_LATTICE, text, &costs) < 0)
        return FAIL(r, TRL_EFORMAT, "\"%s\" is not the costs of graph and sound with a comma between", text);
    r->weight.graph = costs.value;
    r->weight.acoustic = costs.second;
    *kind = second ? COMPACT : PLAIN;
    return second ? parse_transitions(r, second + 1) : 0;
}

static int no_weight(reader *r)
{
    r->weight.graph = r->weight.acoustic = 0;
    r->weight.count = 0;
    return 0;
}

/* from to transition word [costs] */
static int plain_arc(reader *r, int32_t from, int32_t next, char **field, int count, int *kind)
{
    int32_t transition = 0, word = 0;
    int code = count == 5 ? parse_weight(r, field[4], kind) : no_weight(r);
    if (code == 0 && *kind == COMPACT)
        code = FAIL(r, TRL_EFORMAT, "transitions stand in two places");
    *kind = PLAIN;
    if (code == 0)
        code = parse_index(r, field[2], "transition", &transition);
    if (code == 0)
        code = parse_index(r, field[3], "word", &word);
    if (code == 0 && transition > 0)
        code = add_transition(r, transition);
    return code < 0 ? code : add_arc(r, from, next, word);
}

/* from to word [costs,transitions] */
static int compact_arc(reader *r, int32_t from, int32_t next, char **field, int count, int *kind)
{
    int32_t word = 0;
    int code = count == 4 ? parse_weight(r, field[3], kind) : no_weight(r);
    if (code == 0 && count == 4 && *kind != COMPACT)
        code = FAIL(r, TRL_EFORMAT, "expected two commas: graph,acoustic,transitions; the last may be empty");
    *kind = COMPACT;
    if (code == 0)
        code = parse_index(r, field[2], "word", &word);
    return code < 0 ? code : add_arc(r, from, next, word);
}

static int read_line(reader *r, char *line, int first, int *kind)
{
    char *field[6];
    int count = 0, code;
    int32_t from = 0, next = 0;
    while (count < 6 && (field[count] = trl__next_field(&line)))
        count++;
    if (count > 5)
        return FAIL(r, TRL_EFORMAT, "a line of a lattice has one to five fields");
    code = parse_index(r, field[0], "state", &from);
    if (code < 0)
        return code;
    if (first)
        r->draft->start = from;
    if (count <= 2) {
        code = count == 2 ? parse_weight(r, field[1], kind) : no_weight(r);
        return code < 0 ? code : add_end(r, from);
    }
    code = parse_index(r, field[1], "state", &next);
    if (code < 0)
        return code;
    int plain = count == 5 || (count == 4 && !strchr(field[3], ','));
    return plain ? plain_arc(r, from, next, field, count, kind) : compact_arc(r, from, next, field, count, kind);
}

/* Lines up to an empty one. Without that the file was cut off, maybe within a number. */
static int read_text(reader *r)
{
    char *line;
    size_t length;
    int code = 0, kind = ANY, first = 1;
    int found = trl__source_line(r->source, &line, &length, r->err); /* the rest of the id's line */
    if (found > 0 && *trl__trim(line))
        return FAIL(r, TRL_EFORMAT, "expected a lattice, in text or binary, behind the id; found \"%.20s\"", line);
    while (found > 0 && (found = trl__source_line(r->source, &line, &length, r->err)) > 0) {
        int here = ANY;
        if (*(line = trl__trim(line)) == '\0')
            return 0;
        code = read_line(r, line, first, &here);
        if (code == 0 && here != ANY && kind != ANY && here != kind)
            code = FAIL(r, TRL_EFORMAT, "a lattice can't be compact and plain at the same time");
        if (code < 0)
            return code;
        kind = here != ANY ? here : kind;
        first = 0;
    }
    return found < 0 ? found : FAIL(r, TRL_ECORRUPT, "the file ends without the empty line behind a lattice");
}

/* ---- Binary ---- */

/* The costs and the number of transitions are 12 bytes. */
static int read_compact_weight(reader *r, const unsigned char *bytes)
{
    weight *w = &r->weight;
    int64_t claimed = (int32_t)trl__le32(bytes + 8);
    w->graph = trl__float_of_bits(trl__le32(bytes));
    w->acoustic = trl__float_of_bits(trl__le32(bytes + 4));
    w->count = 0;
    if (claimed < 0)
        return FAIL(r, TRL_ECORRUPT, "a weight is said to have %" PRId64 " transitions", claimed);
    int code = trl__source_take(r->source, 4 * (uint64_t)claimed, &bytes, r->err);
    for (int64_t i = 0; code == 0 && i < claimed; i++)
        code = add_transition(r, (int32_t)trl__le32(bytes + 4 * i));
    return code;
}

static int read_compact_arc(reader *r, int32_t state, int64_t states)
{
    const unsigned char *bytes;
    int code = trl__source_take(r->source, 20, &bytes, r->err);
    if (code < 0)
        return code;
    int32_t word = (int32_t)trl__le32(bytes), output = (int32_t)trl__le32(bytes + 4);
    if (word < 0 || word != output)
        return FAIL(r, TRL_EFORMAT,
                    "an arc of state %" PRId32 " has the labels %" PRId32 ":%" PRId32 "; both must be the same word",
                    state, word, output);
    code = read_compact_weight(r, bytes + 8);
    if (code == 0)
        code = trl__source_take(r->source, 4, &bytes, r->err);
    if (code < 0)
        return code;
    int32_t next = (int32_t)trl__le32(bytes);
    if (next < 0 || next >= states)
        return FAIL(r, TRL_ECORRUPT, "an arc of state %" PRId32 " leads to state %" PRId32 ", which is not there",
                    state, next);
    return add_arc(r, state, next, word);
}

static int read_compact_state(reader *r, int32_t state, int64_t states)
{
    const unsigned char *bytes;
    int code = trl__source_take(r->source, 12, &bytes, r->err);
    if (code == 0)
        code = read_compact_weight(r, bytes);
    if (code == 0)
        code = add_end(r, state);
    if (code == 0)
        code = trl__source_take(r->source, 8, &bytes, r->err);
    if (code < 0)
        return code;
    uint64_t arcs = trl__le64(bytes);
    if (arcs > UINT32_MAX)
        return FAIL(r, TRL_ECORRUPT, "state %" PRId32 " is said to have %" PRIu64 " arcs", state, arcs);
    for (uint64_t i = 0; code == 0 && i < arcs; i++)
        code = read_compact_arc(r, state, states);
    return code;
}

/* Word tables that a lattice brings along; as a rule there are none. */
static int read_tables(reader *r, const trl__openfst_header *h, trl_symbols **words)
{
    trl_symbols *input, *output;
    int code = trl__openfst_read_symbols(r->source, h, &input, &output, r->err);
    *words = output ? output : input;
    if (output)
        trl_symbols_destroy(input);
    return code;
}

static int read_compact(reader *r, const trl__openfst_header *h, trl_symbols **words)
{
    if (strcmp(h->type, "vector") != 0 || h->states < 0)
        return FAIL(r, TRL_EUNSUPPORTED, "lattices are read from machines of type vector that say how many states");
    int code = read_tables(r, h, words);
    for (int32_t s = 0; code == 0 && s < h->states; s++)
        code = read_compact_state(r, s, h->states);
    r->draft->start = h->start < 0 ? 0 : (int32_t)h->start;
    return code;
}

static int read_plain(reader *r, const trl__openfst_header *h, trl_symbols **words)
{
    trl_fst *fst;
    if (h->states < 0)
        return FAIL(r, TRL_EUNSUPPORTED, "a lattice in an archive must say how many states it has");
    int code = trl__openfst_read_machine(r->source, h, &fst, r->err);
    if (code < 0)
        return code;
    *words = trl_symbols_share((trl_symbols *)(uintptr_t)trl_fst_output_symbols(fst));
    code = trl__lattice_draft_fst(fst, r->draft, 1, r->err);
    trl_fst_destroy(fst);
    return code;
}

static int read_binary(reader *r, trl_symbols **words)
{
    trl__openfst_header h;
    int code = trl__openfst_read_header(r->source, &h, r->err);
    if (code < 0)
        return code;
    if (strcmp(h.arc_type, COMPACT_ARCS) == 0)
        return read_compact(r, &h, words);
    if (strcmp(h.arc_type, PLAIN_ARCS) == 0)
        return read_plain(r, &h, words);
    return FAIL(r, TRL_EUNSUPPORTED, "arcs of type \"%s\"; lattices have " COMPACT_ARCS " or " PLAIN_ARCS, h.arc_type);
}

int trl__kaldi_lattice_read(trl__source *source, trl__lattice_draft *draft, trl_symbols *words, trl_lattice **out,
                            trl_error *err)
{
    reader r = {.source = source, .draft = draft, .err = err};
    trl_symbols *own = NULL;
    trl_error reason;
    *out = NULL;
    trl__draft_clear(draft);
    int binary = trl__source_starts(source, TRL__FST_MAGIC, 4, err);
    int code = binary < 0 ? binary : binary ? read_binary(&r, &own) : read_text(&r);
    if (code == 0 && (code = trl__draft_finish(draft, words ? words : own, out, &reason)) < 0)
        code = FAIL(&r, code, "%s", reason.text);
    trl_symbols_destroy(own);
    trl__free(r.weight.transitions);
    return code;
}

/* ---- Writing ---- */

/* Without any, there is no array to point into. */
static const int32_t *transitions_at(const trl_lattice_view *l, uint32_t first, uint32_t count)
{
    return count > 0 ? l->transitions + first : NULL;
}

static int put_text_weight(trl_file *file, float graph, float acoustic, const int32_t *transitions, uint32_t count,
                           trl_error *err)
{
    char first[32], second[32];
    trl__format_float(graph, first);
    trl__format_float(acoustic, second);
    int code = trl_file_print(file, err, "%s,%s,", first, second);
    for (uint32_t i = 0; code == 0 && i < count; i++)
        code = trl_file_print(file, err, i > 0 ? "_%" PRId32 : "%" PRId32, transitions[i]);
    return code < 0 ? code : trl_file_write(file, "\n", 1, err);
}

static int put_text(const trl_lattice_view *l, trl_file *file, trl_error *err)
{
    int code = trl_file_write(file, "\n", 1, err);
    for (int32_t s = 0; code == 0 && s < l->states; s++) {
        for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
            const trl_lattice_arc *arc = &l->arcs[a];
            code = trl_file_print(file, err, "%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t", s, arc->next, arc->word);
            if (code == 0)
                code = put_text_weight(file, arc->graph, arc->acoustic,
                                       transitions_at(l, arc->transition, arc->duration), arc->duration, err);
        }
        const trl_lattice_end *end = &l->ends[s];
        if (code < 0 || end->graph == INFINITY)
            continue;
        code = trl_file_print(file, err, "%" PRId32 "\t", s);
        if (code == 0)
            code = put_text_weight(file, end->graph, end->acoustic, transitions_at(l, end->transition, end->duration),
                                   end->duration, err);
    }
    return code < 0 ? code : trl_file_write(file, "\n", 1, err);
}

static int put_words(trl_file *file, const uint32_t *words, size_t count, trl_error *err)
{
    unsigned char bytes[4 * 64];
    int code = 0;
    for (size_t done = 0; code == 0 && done < count;) {
        size_t piece = count - done < 64 ? count - done : 64;
        for (size_t i = 0; i < piece; i++)
            trl__put_le32(bytes + 4 * i, words[done + i]);
        code = trl_file_write(file, bytes, 4 * piece, err);
        done += piece;
    }
    return code;
}

static int put_weight(trl_file *file, float graph, float acoustic, const int32_t *transitions, uint32_t count,
                      trl_error *err)
{
    uint32_t words[3] = {trl__bits_of_float(graph), trl__bits_of_float(acoustic), count};
    int code = put_words(file, words, 3, err);
    return code < 0 ? code : put_words(file, (const uint32_t *)transitions, count, err);
}

static int put_state(const trl_lattice_view *l, int32_t s, trl_file *file, trl_error *err)
{
    const trl_lattice_end *end = &l->ends[s];
    uint32_t arcs[2] = {l->first[s + 1] - l->first[s], 0};
    int code = put_weight(file, end->graph, end->acoustic, transitions_at(l, end->transition, end->duration),
                          end->duration, err);
    if (code == 0)
        code = put_words(file, arcs, 2, err);
    for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
        const trl_lattice_arc *arc = &l->arcs[a];
        uint32_t labels[2] = {(uint32_t)arc->word, (uint32_t)arc->word}, next = (uint32_t)arc->next;
        code = put_words(file, labels, 2, err);
        if (code == 0)
            code = put_weight(file, arc->graph, arc->acoustic, transitions_at(l, arc->transition, arc->duration),
                              arc->duration, err);
        if (code == 0)
            code = put_words(file, &next, 1, err);
    }
    return code;
}

int trl__kaldi_lattice_write(const trl_lattice *lattice, trl_file *file, int text, trl_error *err)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    if (text)
        return put_text(&l, file, err);
    trl__openfst_header h = {.type = "vector",
                             .arc_type = COMPACT_ARCS,
                             .version = 2,
                             .properties = trl__openfst_sorted_acceptor(),
                             .start = l.states > 0 ? 0 : -1,
                             .states = l.states};
    int code = trl__openfst_write_header(&h, file, err);
    for (int32_t s = 0; code == 0 && s < l.states; s++)
        code = put_state(&l, s, file, err);
    return code;
}

int trl__kaldi_lattice_write_plain(const trl_lattice *lattice, trl_file *file, int text, trl_error *err)
{
    trl_fst *fst;
    int code = trl__lattice_frames_fst(lattice, &fst, err);
    if (code < 0)
        return code;
    if (!text)
        code = trl__fst_write_binary(fst, file, TRL_FST_VECTOR, err);
    else if ((code = trl_file_write(file, "\n", 1, err)) == 0 &&
             (code = trl__fst_write_text(fst, file, &(trl_fst_text_options){.numeric = 1}, err)) == 0)
        code = trl_file_write(file, "\n", 1, err);
    trl_fst_destroy(fst);
    return code;
}
