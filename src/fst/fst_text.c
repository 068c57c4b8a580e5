/* The text form of transducers, read line by line as it comes and written line by line: O(1) memory besides the
 * machine.
 *
 * States are numbered in the order in which they appear, as OpenFst's compiler does. The numbers in a file are as a
 * rule small and dense and looked up in an array; others go through a table.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "fst/fst_data.h"
#include "fst/fst_format.h"
#include "base/tuple_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_FIELDS 5
#define DENSE ((size_t)1 << 20)        /* numbers of states below are looked up directly */
#define LARGEST_GAP ((int64_t)1 << 20) /* kept numbers of states may run ahead of the lines by so much */

static const trl_fst_text_options no_options;

/* ---- Reading: fields ---- */

typedef struct reader {
    trl__source *source;
    const trl_fst_text_options *options;
    trl_fst *fst;
    int32_t *dense; /* by the file's number: state + 1, or 0 */
    size_t dense_size;
    trl__tuples sparse;    /* other numbers */
    int32_t *sparse_state; /* by tuple */
    size_t sparse_capacity;
    enum { LABELS_EITHER, LABELS_NAMES, LABELS_NUMBERS } labels[2]; /* of input and output, with or_numbers */
    trl_error *err;
} reader;

#define FAIL(r, ...) trl__source_fail((r)->source, (r)->err, __VA_ARGS__)

/* Cuts the line at blanks and tabs: the number of fields, MOST_FIELDS + 1 when there are more. */
static int split(char *line, char **field)
{
    int count = 0;
    for (;;) {
        while (*line == ' ' || *line == '\t')
            line++;
        if (*line == '\0')
            return count;
        if (count == MOST_FIELDS)
            return MOST_FIELDS + 1;
        field[count++] = line;
        while (*line != ' ' && *line != '\t' && *line != '\0')
            line++;
        if (*line)
            *line++ = '\0';
    }
}

/* 0 … 2^31 - 1. */
static int parse_number(const reader *r, const char *text, const char *what, int32_t *number)
{
    int64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && value <= INT32_MAX; c++)
        value = 10 * value + (*c - '0');
    if (*c && !(*c >= '0' && *c <= '9'))
        return FAIL(r, TRL_EFORMAT, "the %s \"%s\" is not a number from 0 to 2147483647%s", what, text,
                    *text == '-' ? "" : "; names need a symbol table");
    if (value > INT32_MAX)
        return FAIL(r, TRL_ELIMIT, "the %s %s is beyond 2147483647", what, text);
    *number = (int32_t)value;
    return 0;
}

/* A label that may be a name or a number. The labels of a side are all the one or all the other: taken singly, a
 * number that happens to be a name would be another label than the number beside it that is none. */
static int parse_either(reader *r, int side, const char *text, const trl_symbols *symbols, int32_t *label)
{
    int64_t found = trl_symbols_find(symbols, text);
    int is_number = text[strspn(text, "0123456789")] == '\0', was = (int)r->labels[side];
    int code = is_number ? parse_number(r, text, "label", label) : 0;
    if (code < 0)
        return code;
    if (found != TRL_NO_LABEL && is_number && found == *label)
        return 0;
    r->labels[side] = found != TRL_NO_LABEL ? LABELS_NAMES : LABELS_NUMBERS;
    if ((found == TRL_NO_LABEL && !is_number) || (was != LABELS_EITHER && was != (int)r->labels[side]))
        return FAIL(r, TRL_EFORMAT, "\"%s\" is not in the symbol table %s%s", text, trl_symbols_title(symbols),
                    is_number ? "; labels are names or numbers, not both" : "");
    *label = found != TRL_NO_LABEL ? (int32_t)found : *label;
    return 0;
}

static int parse_label(reader *r, int side, const char *text, trl_symbols *symbols, int32_t *label)
{
    if (!symbols)
        return parse_number(r, text, "label", label);
    if (r->options->or_numbers)
        return parse_either(r, side, text, symbols, label);
    int64_t found = trl_symbols_find(symbols, text);
    *label = (int32_t)found;
    if (found != TRL_NO_LABEL)
        return 0;
    if (r->options->add_symbols)
        return trl_symbols_add_next(symbols, text, label, r->err);
    return FAIL(r, TRL_EFORMAT, "\"%s\" is not in the symbol table %s", text, trl_symbols_title(symbols));
}

static int parse_cost(const char *text, size_t length, float *cost)
{
    char copy[64];
    double value;
    if (length >= sizeof copy)
        return -1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (strcmp(copy, "Infinity") == 0 || strcmp(copy, "inf") == 0) {
        *cost = INFINITY;
        return 0;
    }
    if (trl__parse_double(copy, &value) < 0 || fabs(value) > 3.4028235e38)
        return -1;
    *cost = (float)value;
    return 0;
}

int trl_weight_parse(trl_semiring semiring, const char *text, trl_weight *weight)
{
    size_t first = semiring == TRL_LATTICE ? strcspn(text, ",") : strlen(text);
    *weight = (trl_weight){0, 0};
    if (parse_cost(text, first, &weight->value) < 0 ||
        (semiring == TRL_LATTICE &&
         (!text[first] || parse_cost(text + first + 1, strlen(text + first + 1), &weight->second) < 0)))
        return -1;
    return trl_weight_is_member(semiring, *weight) ? 0 : -1;
}

static int parse_weight(const reader *r, const char *text, trl_weight *weight)
{
    trl_semiring semiring = r->fst->semiring;
    if (trl_weight_parse(semiring, text, weight) == 0)
        return 0;
    return FAIL(r, TRL_EFORMAT, "\"%s\" is not a weight of the %s semiring%s", text, trl_semiring_name(semiring),
                semiring == TRL_LATTICE ? ", which are two numbers with a comma between" : "");
}

/* ---- Reading: states ---- */

/* The place where the state of this number is kept, as state + 1; 0: new. NULL: out of memory. */
static int32_t *place_of(reader *r, int32_t number)
{
    size_t limit = DENSE + 8 * (size_t)r->fst->states, old = r->dense_size;
    if ((size_t)number < old && r->dense[number] > 0)
        return &r->dense[number];
    int64_t tuple = r->sparse.count > 0 ? trl__tuples_find(&r->sparse, &number) : -1;
    if (tuple >= 0)
        return &r->sparse_state[tuple];
    if ((size_t)number < limit && (size_t)number >= old) {
        if (TRL_GROW(r->dense, r->dense_size, (size_t)number + 1) < 0)
            return NULL;
        memset(r->dense + old, 0, (r->dense_size - old) * sizeof *r->dense);
    }
    if ((size_t)number < r->dense_size)
        return &r->dense[number];
    if (TRL_GROW(r->sparse_state, r->sparse_capacity, r->sparse.count + 1) < 0 ||
        (tuple = trl__tuples_add(&r->sparse, &number)) < 0)
        return NULL;
    r->sparse_state[tuple] = 0;
    return &r->sparse_state[tuple];
}

static int keep_number(reader *r, int32_t number)
{
    if (number < r->fst->states)
        return 0;
    if (number > r->source->line * 16 + LARGEST_GAP)
        return FAIL(r, TRL_ELIMIT, "state %" PRId32 " leaves too many numbers out to be kept; let states be renumbered",
                    number);
    return trl_fst_add_states(r->fst, number + 1 - r->fst->states, r->err);
}

static int parse_state(reader *r, const char *text, int32_t *state)
{
    const trl_symbols *names = r->options->state_symbols;
    int64_t named = names ? trl_symbols_find(names, text) : 0;
    if (named < 0)
        return FAIL(r, TRL_EFORMAT, "the state \"%s\" is not in the symbol table %s", text, trl_symbols_title(names));
    int32_t number = (int32_t)named;
    int code = names ? 0 : parse_number(r, text, "state", &number);
    *state = number;
    if (code < 0 || r->options->keep_state_numbering)
        return code < 0 ? code : keep_number(r, number);
    int32_t *place = place_of(r, number);
    if (!place)
        return trl__fail_memory(r->err);
    if (*place == 0) {
        code = trl_fst_add_state(r->fst, state, r->err);
        *place = code < 0 ? 0 : *state + 1;
    }
    *state = *place - 1;
    return code;
}

/* ---- Reading: lines ---- */

static int read_arc(reader *r, int32_t from, char **field, int count)
{
    int sides = r->options->acceptor ? 1 : 2;
    trl_arc arc = {.weight = trl_weight_one(r->fst->semiring)};
    int code = parse_state(r, field[1], &arc.next);
    if (code == 0)
        code = parse_label(r, 0, field[2], r->options->isymbols, &arc.ilabel);
    arc.olabel = arc.ilabel;
    if (code == 0 && sides == 2)
        code = parse_label(r, 1, field[3], r->options->osymbols, &arc.olabel);
    if (code == 0 && count > 2 + sides)
        code = parse_weight(r, field[2 + sides], &arc.weight);
    return code < 0 ? code : trl_fst_add_arc(r->fst, from, arc, r->err);
}

static int read_line(reader *r, char *line)
{
    char *field[MOST_FIELDS];
    int count = split(line, field), most = r->options->acceptor ? 4 : 5;
    int32_t state;
    trl_weight final = trl_weight_one(r->fst->semiring);
    if (count == 0)
        return 0;
    if (count > most || (count == 3 && most == 5))
        return FAIL(r, TRL_EFORMAT, "%s; an arc is `from to input%s [weight]`, a final state `state [weight]`",
                    count == 3 ? "three fields" : "too many fields", r->options->acceptor ? "" : " output");
    int code = parse_state(r, field[0], &state);
    if (code == 0 && r->fst->start == TRL_NO_STATE)
        code = trl_fst_set_start(r->fst, state, r->err);
    if (code < 0 || count > 2)
        return code < 0 ? code : read_arc(r, state, field, count);
    if (count == 2)
        code = parse_weight(r, field[1], &final);
    return code < 0 ? code : trl_fst_set_final(r->fst, state, final, r->err);
}

static int read_lines(reader *r)
{
    char *line;
    size_t length;
    int more, code = 0;
    while (code == 0 && (more = trl__source_line(r->source, &line, &length, r->err)) != 0) {
        if (more < 0)
            return more;
        code = memchr(line, '\0', length) ? FAIL(r, TRL_EFORMAT, "a NUL in the line; this is no text")
                                          : read_line(r, line);
    }
    return code;
}

int trl__fst_read_text(trl__source *source, trl_semiring semiring, const trl_fst_text_options *options, trl_fst **out,
                       trl_error *err)
{
    reader r = {.source = source, .options = options ? options : &no_options, .sparse = {.width = 1}, .err = err};
    int code = trl_fst_create(semiring, out, err);
    if (code < 0)
        return code;
    r.fst = *out;
    code = read_lines(&r);
    trl__free(r.dense);
    trl__free(r.sparse_state);
    trl__tuples_free(&r.sparse);
    if (code == 0)
        trl_fst_set_symbols(r.fst, trl_symbols_share(r.options->keep_isymbols ? r.options->isymbols : NULL),
                            trl_symbols_share(r.options->keep_osymbols ? r.options->osymbols : NULL));
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

/* ---- Writing ---- */

static void cost_text(float cost, int digits, char *out)
{
    if (isinf(cost))
        memcpy(out, cost < 0 ? "-Infinity" : "Infinity", cost < 0 ? 10 : 9);
    else
        trl__format_digits(cost, digits, out);
}

void trl__weight_text(trl_semiring semiring, trl_weight weight, int digits, char *out)
{
    cost_text(weight.value, digits, out);
    if (semiring != TRL_LATTICE)
        return;
    size_t length = strlen(out);
    out[length] = ',';
    cost_text(weight.second, digits, out + length + 1);
}

void trl_weight_format(trl_semiring semiring, trl_weight weight, char *out)
{
    trl__weight_text(semiring, weight, 9, out);
}

const char *trl__label_text(const trl_symbols *symbols, int32_t label, char *number)
{
    if (symbols)
        return trl_symbols_name(symbols, label);
    char digits[16], *first = digits + sizeof digits - 1; /* numbers of labels and states are most of a file */
    *first = '\0';
    uint32_t rest = (uint32_t)label;
    do
        *--first = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    return memcpy(number, first, (size_t)(digits + sizeof digits - first));
}

typedef struct writer {
    const trl_fst *fst;
    const trl_fst_text_options *options;
    const trl_symbols *isymbols, *osymbols;
    int acceptor;
    trl_file *file;
    trl_error *err;
} writer;

/* A field with what goes in front of it: nothing, or a tab. */
static int put(const writer *w, const char *before, const char *text)
{
    int code = trl_file_write(w->file, before, strlen(before), w->err);
    return code < 0 ? code : trl_file_write(w->file, text, strlen(text), w->err);
}

static int put_label(const writer *w, const char *before, const trl_symbols *symbols, int32_t label)
{
    char number[16];
    const char *text = trl__label_text(symbols, label, number);
    if (!text)
        text = w->options->missing_symbol;
    if (!text)
        return trl__fail(w->err, TRL_EINVAL,
                         "%" PRId32 " has no name in the symbol table %s; print numbers, or name a word for such",
                         label, trl_symbols_title(symbols));
    return put(w, before, text);
}

static int put_weight(const writer *w, trl_weight weight)
{
    char text[64];
    trl_weight one = trl_weight_one(w->fst->semiring);
    if (!w->options->show_weight_one && weight.value == one.value && weight.second == one.second)
        return trl_file_write(w->file, "\n", 1, w->err);
    trl_weight_format(w->fst->semiring, weight, text);
    int code = put(w, "\t", text);
    return code < 0 ? code : trl_file_write(w->file, "\n", 1, w->err);
}

static int put_arc(const writer *w, int32_t state, trl_arc arc)
{
    int code = put_label(w, "", w->options->state_symbols, state);
    if (code == 0)
        code = put_label(w, "\t", w->options->state_symbols, arc.next);
    if (code == 0)
        code = put_label(w, "\t", w->isymbols, arc.ilabel);
    if (code == 0 && !w->acceptor)
        code = put_label(w, "\t", w->osymbols, arc.olabel);
    return code < 0 ? code : put_weight(w, arc.weight);
}

/* A state that is neither final nor has arcs is written all the same, as one that is final at infinite cost. */
static int put_state(const writer *w, int32_t state)
{
    trl_weight final = trl_fst_final(w->fst, state);
    uint32_t arcs = trl_fst_arc_count(w->fst, state);
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < arcs; i++)
        code = put_arc(w, state, trl_fst_arc(w->fst, state, i));
    if (code < 0 || (arcs > 0 && trl_weight_is_zero(w->fst->semiring, final)))
        return code;
    code = put_label(w, "", w->options->state_symbols, state);
    return code < 0 ? code : put_weight(w, final);
}

int trl__fst_write_text(const trl_fst *fst, trl_file *file, const trl_fst_text_options *o, trl_error *err)
{
    writer w = {
        .fst = fst, .options = o, .file = file, .err = err, .acceptor = o->acceptor && trl__fst_is_acceptor(fst)};
    w.isymbols = o->numeric ? NULL : o->isymbols ? o->isymbols : fst->isymbols;
    w.osymbols = o->numeric ? NULL : o->osymbols ? o->osymbols : fst->osymbols;
    int code = fst->start != TRL_NO_STATE ? put_state(&w, fst->start) : 0;
    for (int32_t s = 0; code == 0 && fst->start != TRL_NO_STATE && s < fst->states; s++)
        if (s != fst->start)
            code = put_state(&w, s);
    return code;
}

int trl_fst_write_text(const trl_fst *fst, const char *path, const trl_fst_text_options *options, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    code = trl__fst_write_text(fst, file, options ? options : &no_options, err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

/* ---- Files ---- */

int trl__fst_read(trl__source *source, const trl_fst_text_options *text, trl_fst **out, trl_error *err)
{
    *out = NULL;
    int binary = trl__source_starts(source, TRL__FST_MAGIC, 4, err);
    int arpa = binary == 0 ? trl__source_starts(source, "\\data\\", 6, err) : 0;
    int other = trl__source_starts(source, TRL__FST_MAGIC_BIG, 4, err);
    if (arpa == 0)
        arpa = trl__source_starts(source, TRL__SPHINX_LM_MAGIC, sizeof TRL__SPHINX_LM_MAGIC - 1, err);
    int ours = trl__source_starts(source, "trellis", sizeof "trellis", err);
    if (binary < 0 || arpa < 0 || other < 0 || ours < 0)
        return binary < 0 ? binary : arpa < 0 ? arpa : other < 0 ? other : ours;
    if (trl__source_peek(source, err) == TRL__SOURCE_END)
        return trl__fail_line(err, TRL_EFORMAT, source->name, 0, "nothing is in it: no transducer");
    if (ours)
        return trl__fail_byte(
            err, TRL_EFORMAT, source->name, 0,
            "a file of trellis's own; of these, only what `trellis fst index` writes is a transducer, "
            "and only viterbi, forward, backward, counts and train read it");
    if (other)
        return trl__fail_byte(err, TRL_EUNSUPPORTED, source->name, 0,
                              "a machine from a computer with another byte order; print it there, and compile it here");
    if (binary)
        return trl__fst_read_binary(source, out, err);
    return arpa ? trl__fst_read_ngrams(source, &(trl_arpa_options){.backoff = 0}, out, NULL, err)
                : trl__fst_read_text(source, TRL_TROPICAL, text, out, err);
}

int trl_fst_read(const char *path, trl_fst **out, trl_error *err)
{
    return trl_fst_read_named(path, NULL, NULL, out, err);
}

int trl_fst_read_named(const char *path, const trl_symbols *isymbols, const trl_symbols *osymbols, trl_fst **out,
                       trl_error *err)
{
    /* the tables are looked up in only */
    trl_fst_text_options text = {.isymbols = (trl_symbols *)(uintptr_t)isymbols,
                                 .osymbols = (trl_symbols *)(uintptr_t)osymbols,
                                 .or_numbers = 1};
    trl__source source;
    *out = NULL;
    int code = trl__fst_open(path, &source, err);
    if (code < 0)
        return code;
    code = trl__fst_read(&source, &text, out, err);
    trl__source_close(&source);
    return code;
}

int trl_fst_read_text(const char *path, trl_semiring semiring, const trl_fst_text_options *options, trl_fst **out,
                      trl_error *err)
{
    trl__source source;
    *out = NULL;
    int code = trl__source_open_packed(path, &source, err);
    if (code < 0)
        return code;
    code = trl__fst_read_text(&source, semiring, options, out, err);
    trl__source_close(&source);
    return code;
}
