/* Reads HTK's model files: a parser with one symbol of look-ahead, one function for each kind of definition.
 *
 * Every function starts with its first symbol read and leaves with the symbol behind it read. What a trellis model has no
 * place for (full covariances, several streams, tied-mixture and discrete systems, transforms, durations) is refused by name.
 */
#include "model/htk_mmf.h"
#include "base/fail.h"
#include "base/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SUM_TOLERANCE 0.01 /* of weights and probabilities, as in HTK */

typedef struct parser {
    trl__mmf_scan scan;
    trl__mmf_set *set;
    int32_t states;                 /* <NUMSTATES> seen last, or 0 */
    trl__mmf_component *components; /* of the state being read */
    size_t component_capacity;
} parser;

/* ---- Macros ---- */

static char *macro_key(parser *p, char letter, const char *name)
{
    size_t length = strlen(name);
    char *key = trl__arena_alloc(&p->set->arena, length + 2);
    if (key) {
        key[0] = letter;
        memcpy(key + 1, name, length + 1);
    }
    return key;
}

static int define(parser *p, char letter, const char *name, uint64_t value, trl_error *err)
{
    char *key = macro_key(p, letter, name);
    int added = key ? trl__map_add(&p->set->macros, key, strlen(key), &value) : -1;
    if (added < 0)
        return trl__fail_memory(err);
    return added ? 0 : trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "~%c \"%s\" is defined twice", letter, name);
}

static int is_macro(const parser *p, char letter)
{
    return p->scan.symbol == MMF_MACRO && p->scan.macro == letter;
}

/* What the named macro stands for. */
static int use_macro(parser *p, char letter, void *out, trl_error *err)
{
    char name[TRL__HTK_STRING];
    int code = trl__mmf_string(&p->scan, name, err);
    if (code < 0)
        return code;
    char *key = macro_key(p, letter, name);
    if (!key)
        return trl__fail_memory(err);
    const uint64_t *value = trl__map_find(&p->set->macros, key, strlen(key));
    if (!value)
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "~%c \"%s\" is used before it is defined", letter, name);
    void *pointer = (void *)(uintptr_t)*value;
    memcpy(out, &pointer, sizeof pointer);
    return trl__mmf_next(&p->scan, err);
}

static int unexpected(const parser *p, const char *wanted, trl_error *err)
{
    const trl__mmf_scan *s = &p->scan;
    if (s->symbol == MMF_END)
        return trl__mmf_fail(s, err, TRL_ECORRUPT, "the file ends where %s should be", wanted);
    if (s->symbol == MMF_MACRO)
        return trl__mmf_fail(s, err, TRL_EFORMAT, "expected %s, found ~%c", wanted, s->macro);
    return trl__mmf_fail(s, err, TRL_EFORMAT, "expected %s, found <%s>", wanted, s->word);
}

static int unsupported(const parser *p, const char *what, trl_error *err)
{
    return trl__mmf_fail(&p->scan, err, TRL_EUNSUPPORTED,
                         "%s can't be read: models have one stream of Gaussians with "
                         "diagonal covariance",
                         what);
}

/* ---- Options ---- */

static int set_dim(parser *p, int32_t dim, trl_error *err)
{
    if (p->set->dim != 0 && p->set->dim != dim)
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "vectors of %" PRId32 " and of %" PRId32 " numbers",
                             p->set->dim, dim);
    p->set->dim = dim;
    return 0;
}

static int parse_streams(parser *p, trl_error *err)
{
    int32_t streams, width = 0;
    int code = trl__mmf_short(&p->scan, 1, &streams, err);
    if (code == 0 && streams != 1)
        return unsupported(p, "several streams", err);
    if (code == 0)
        code = trl__mmf_short(&p->scan, 1, &width, err);
    return code < 0 ? code : set_dim(p, width, err);
}

static int refuse_option(const parser *p, trl_error *err)
{
    switch (p->scan.symbol) {
    case MMF_FULLC:
    case MMF_LLTC:
    case MMF_XFORMC: return unsupported(p, "full covariances", err);
    case MMF_INVDIAGC: return unsupported(p, "inverse variances (<INVDIAGC>)", err);
    case MMF_POISSOND:
    case MMF_GAMMAD:
    case MMF_RELD:
    case MMF_GEND: return unsupported(p, "duration models", err);
    case MMF_PROJSIZE:
    case MMF_PARENTXFORM:
    case MMF_INPUTXFORM: return unsupported(p, "transforms of the input", err);
    default: return unexpected(p, "an option", err);
    }
}

/* 1: the current symbol is an option. */
static int is_option(const parser *p)
{
    int s = p->scan.symbol;
    return s == MMF_KIND || (s >= MMF_NUMSTATES && s <= MMF_XFORMC) || s == MMF_INVDIAGC || s == MMF_LLTC ||
           s == MMF_PROJSIZE || s == MMF_PARENTXFORM || s == MMF_INPUTXFORM || s == MMF_HMMSETID;
}

static int parse_option(parser *p, trl_error *err)
{
    char text[TRL__HTK_STRING];
    int32_t number = 0;
    int code = 0;
    switch (p->scan.symbol) {
    case MMF_KIND: snprintf(p->set->kind, sizeof p->set->kind, "%s", p->scan.word); break;
    case MMF_STREAMINFO: code = parse_streams(p, err); break;
    case MMF_VECSIZE:
        code = trl__mmf_short(&p->scan, 1, &number, err);
        code = code < 0 ? code : set_dim(p, number, err);
        break;
    case MMF_NUMSTATES: code = trl__mmf_short(&p->scan, 3, &p->states, err); break;
    case MMF_HMMSETID: code = trl__mmf_string(&p->scan, text, err); break;
    case MMF_NULLD:
    case MMF_DIAGC: break;
    default: return refuse_option(p, err);
    }
    return code < 0 ? code : trl__mmf_next(&p->scan, err);
}

static int parse_options(parser *p, trl_error *err)
{
    int code = 0;
    while (code == 0 && is_option(p))
        code = parse_option(p, err);
    return code;
}

/* ---- Gaussians ---- */

/* <MEAN> or <VARIANCE> with its numbers, or the macro that stands for it. */
static int parse_vector(parser *p, int symbol, char letter, const float **out, trl_error *err)
{
    int32_t size;
    float *numbers;
    if (is_macro(p, letter))
        return use_macro(p, letter, out, err);
    if (p->scan.symbol != symbol)
        return unexpected(p, symbol == MMF_MEAN ? "<MEAN>" : "<VARIANCE>", err);
    int code = trl__mmf_short(&p->scan, 1, &size, err);
    if (code == 0 && size != p->set->dim)
        code = p->set->dim == 0
                   ? trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "no <VECSIZE> before the first vector")
                   : trl__mmf_fail(&p->scan, err, TRL_EFORMAT,
                                   "a vector of %" PRId32 " numbers where <VECSIZE> says %" PRId32, size, p->set->dim);
    if (code == 0)
        code = trl__mmf_floats(&p->scan, (size_t)size, &p->set->arena, &numbers, err);
    if (code == 0)
        *out = numbers;
    return code < 0 ? code : trl__mmf_next(&p->scan, err);
}

static int check_variances(const parser *p, const float *variance, trl_error *err)
{
    for (int32_t k = 0; k < p->set->dim; k++)
        if (!(variance[k] > 0))
            return trl__mmf_fail(&p->scan, err, TRL_EFORMAT,
                                 "the variance before this is %g in dimension %" PRId32
                                 " (counted from 0); it must be above 0",
                                 (double)variance[k], k);
    return 0;
}

/* <GCONST> is computed anew by whoever writes, so it is passed over; so is the class of old adaptation (<RCLASS>). */
static int parse_gaussian(parser *p, trl__mmf_gaussian **out, trl_error *err)
{
    float constant;
    int32_t class;
    int code = 0;
    if (is_macro(p, 'm'))
        return use_macro(p, 'm', out, err);
    if (p->scan.symbol == MMF_TMIX || p->scan.symbol == MMF_DPROB)
        return unsupported(p, "tied-mixture and discrete systems", err);
    trl__mmf_gaussian *g = trl__arena_alloc(&p->set->arena, sizeof *g);
    if (!g)
        return trl__fail_memory(err);
    if (p->scan.symbol == MMF_RCLASS) {
        code = trl__mmf_short(&p->scan, 0, &class, err);
        code = code < 0 ? code : trl__mmf_next(&p->scan, err);
    }
    if (code == 0)
        code = parse_vector(p, MMF_MEAN, 'u', &g->mean, err);
    if (code == 0 && (p->scan.symbol == MMF_INVCOVAR || p->scan.symbol == MMF_LLTCOVAR || p->scan.symbol == MMF_XFORM ||
                      is_macro(p, 'i') || is_macro(p, 'c') || is_macro(p, 'x')))
        return unsupported(p, "full covariances", err);
    if (code == 0)
        code = parse_vector(p, MMF_VARIANCE, 'v', &g->variance, err);
    if (code == 0)
        code = check_variances(p, g->variance, err);
    if (code == 0 && p->scan.symbol == MMF_GCONST) {
        code = trl__mmf_float(&p->scan, &constant, err);
        code = code < 0 ? code : trl__mmf_next(&p->scan, err);
    }
    *out = g;
    return code;
}

/* ---- States ---- */

/* One component, added to p->components unless its weight is 0. *last is the number of the one before. */
static int parse_component(parser *p, int32_t most, int32_t *last, size_t *count, trl_error *err)
{
    int32_t number = 1;
    float weight = 1;
    trl__mmf_gaussian *gaussian = NULL;
    int code = 0;
    if (p->scan.symbol == MMF_MIXTURE) {
        code = trl__mmf_short(&p->scan, 1, &number, err);
        if (code == 0 && (number <= *last || number > most))
            return trl__mmf_fail(&p->scan, err, TRL_EFORMAT,
                                 "component %" PRId32 " of %" PRId32 " behind component %" PRId32, number, most, *last);
        if (code == 0)
            code = trl__mmf_float(&p->scan, &weight, err);
        if (code == 0 && !(weight >= 0 && weight <= 1 + SUM_TOLERANCE))
            return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "a weight of %g", (double)weight);
        if (code == 0)
            code = trl__mmf_next(&p->scan, err);
    }
    *last = number;
    if (code == 0)
        code = parse_gaussian(p, &gaussian, err);
    if (code == 0 && TRL_GROW(p->components, p->component_capacity, *count + 1) < 0)
        return trl__fail_memory(err);
    if (code == 0 && weight > 0)
        p->components[(*count)++] = (trl__mmf_component){weight, gaussian};
    return code;
}

/* A single stream's weight, where it is written at all, is 1. */
static int parse_stream_weights(parser *p, trl_error *err)
{
    int32_t count;
    float weight = 0;
    int code = trl__mmf_short(&p->scan, 1, &count, err);
    if (code == 0)
        code = trl__mmf_float(&p->scan, &weight, err);
    if (code == 0 && (count != 1 || weight != 1))
        return unsupported(p, "stream weights", err);
    return code < 0 ? code : trl__mmf_next(&p->scan, err);
}

/* <NUMMIXES>, <SWEIGHTS> and <STREAM>, in front of the components. */
static int parse_state_head(parser *p, int32_t *most, trl_error *err)
{
    int32_t stream;
    int code = 0;
    *most = 1;
    if (p->scan.symbol == MMF_NUMMIXES) {
        code = trl__mmf_short(&p->scan, 1, most, err);
        code = code < 0 ? code : trl__mmf_next(&p->scan, err);
    }
    if (code == 0 && is_macro(p, 'w'))
        return unsupported(p, "stream weights", err);
    if (code == 0 && p->scan.symbol == MMF_SWEIGHTS)
        code = parse_stream_weights(p, err);
    if (code == 0 && p->scan.symbol == MMF_STREAM) {
        code = trl__mmf_short(&p->scan, 1, &stream, err);
        if (code == 0 && stream != 1)
            return unsupported(p, "several streams", err);
        code = code < 0 ? code : trl__mmf_next(&p->scan, err);
    }
    return code;
}

static int finish_state(parser *p, size_t count, trl__mmf_state **out, trl_error *err)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += p->components[i].weight;
    if (fabs(sum - 1) > SUM_TOLERANCE)
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "the weights of the state before this sum up to %g", sum);
    trl__mmf_state *state = trl__arena_alloc(&p->set->arena, sizeof *state);
    trl__mmf_component *copy = trl__arena_alloc(&p->set->arena, count * sizeof *copy);
    if (!state || !copy)
        return trl__fail_memory(err);
    memcpy(copy, p->components, count * sizeof *copy);
    *state = (trl__mmf_state){(int32_t)count, copy, -1};
    *out = state;
    return 0;
}

static int parse_state(parser *p, trl__mmf_state **out, trl_error *err)
{
    if (is_macro(p, 's'))
        return use_macro(p, 's', out, err);
    int32_t most, last = 0;
    size_t count = 0;
    int code = parse_state_head(p, &most, err);
    if (code == 0)
        code = parse_component(p, most, &last, &count, err);
    while (code == 0 && p->scan.symbol == MMF_MIXTURE)
        code = parse_component(p, most, &last, &count, err);
    if (code == 0 && (p->scan.symbol == MMF_DURATION || is_macro(p, 'd')))
        return unsupported(p, "duration models", err);
    return code < 0 ? code : finish_state(p, count, out, err);
}

/* ---- Transitions and HMMs ---- */

static int check_row(const parser *p, const float *row, int32_t size, int32_t number, trl_error *err)
{
    double sum = 0;
    for (int32_t j = 0; j < size; j++) {
        if (!(row[j] >= 0 && row[j] <= 1 + SUM_TOLERANCE) || (j == 0 && row[j] > 0))
            return trl__mmf_fail(&p->scan, err, TRL_EFORMAT,
                                 "the transition from state %" PRId32 " to %" PRId32 " has the probability %g", number,
                                 j + 1, (double)row[j]);
        sum += row[j];
    }
    if (fabs(sum - 1) > SUM_TOLERANCE)
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT,
                             "the transitions from state %" PRId32 " of the matrix before this sum up to %g", number,
                             sum);
    return 0;
}

static int parse_transitions(parser *p, trl__mmf_transitions **out, trl_error *err)
{
    int32_t size;
    float *numbers = NULL;
    if (is_macro(p, 't'))
        return use_macro(p, 't', out, err);
    if (p->scan.symbol != MMF_TRANSP)
        return unexpected(p, "<TRANSP>", err);
    int code = trl__mmf_short(&p->scan, 3, &size, err);
    if (code == 0)
        code = trl__mmf_floats(&p->scan, (size_t)size * (size_t)size, &p->set->arena, &numbers, err);
    for (int32_t i = 0; code == 0 && i < size - 1; i++)
        code = check_row(p, numbers + (size_t)i * (size_t)size, size, i + 1, err);
    if (code < 0)
        return code;
    trl__mmf_transitions *t = trl__arena_alloc(&p->set->arena, sizeof *t);
    if (!t)
        return trl__fail_memory(err);
    *t = (trl__mmf_transitions){size, numbers, -1, -1};
    *out = t;
    return trl__mmf_next(&p->scan, err);
}

static int parse_hmm_state(parser *p, trl__mmf_hmm *hmm, trl_error *err)
{
    int32_t number;
    int code = trl__mmf_short(&p->scan, 2, &number, err);
    if (code == 0 && (number > hmm->states + 1 || hmm->state[number - 2]))
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "state %" PRId32 " is there twice, or is none of 2 … %" PRId32,
                             number, hmm->states + 1);
    if (code == 0)
        code = trl__mmf_next(&p->scan, err);
    return code < 0 ? code : parse_state(p, &hmm->state[number - 2], err);
}

static int parse_hmm_body(parser *p, trl__mmf_hmm *hmm, trl_error *err)
{
    if (p->states == 0)
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "HMM \"%s\" has no <NUMSTATES>", hmm->name);
    hmm->states = p->states - 2;
    if (hmm->states > p->scan.end - p->scan.place) /* a state takes more than a byte */
        return trl__mmf_fail(&p->scan, err, TRL_ECORRUPT, "HMM \"%s\": more states than the file has bytes", hmm->name);
    size_t size = (size_t)hmm->states * sizeof(*hmm->state);
    hmm->state = trl__arena_alloc(&p->set->arena, size);
    if (!hmm->state)
        return trl__fail_memory(err);
    memset(hmm->state, 0, size);
    int code = 0;
    while (code == 0 && p->scan.symbol == MMF_STATE)
        code = parse_hmm_state(p, hmm, err);
    for (int32_t s = 0; code == 0 && s < hmm->states; s++)
        if (!hmm->state[s])
            code =
                trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "HMM \"%s\": state %" PRId32 " is missing", hmm->name, s + 2);
    if (code == 0)
        code = parse_transitions(p, &hmm->transitions, err);
    if (code == 0 && hmm->transitions->size != p->states)
        code = trl__mmf_fail(&p->scan, err, TRL_EFORMAT,
                             "HMM \"%s\": %" PRId32 " states, but transitions between %" PRId32, hmm->name, p->states,
                             hmm->transitions->size);
    if (code == 0 && (p->scan.symbol == MMF_DURATION || is_macro(p, 'd')))
        code = unsupported(p, "duration models", err);
    if (code == 0 && p->scan.symbol != MMF_ENDHMM)
        code = unexpected(p, "<ENDHMM>", err);
    return code < 0 ? code : trl__mmf_next(&p->scan, err);
}

static int parse_hmm(parser *p, const char *name, trl_error *err)
{
    trl__mmf_set *set = p->set;
    char used[TRL__HTK_STRING];
    int32_t states = p->states; /* an HMM's own <NUMSTATES> holds for it alone */
    if (p->scan.symbol != MMF_BEGINHMM)
        return unexpected(p, "<BEGINHMM>", err);
    trl__mmf_hmm hmm = {.name = trl__arena_copy(&set->arena, name, strlen(name))};
    if (!hmm.name || TRL_GROW(set->hmms, set->capacity, set->count + 1) < 0)
        return trl__fail_memory(err);
    int code = define(p, 'h', name, set->count, err);
    if (code == 0)
        code = trl__mmf_next(&p->scan, err);
    if (code == 0 && p->scan.symbol == MMF_USE) {
        code = trl__mmf_string(&p->scan, used, err);
        code = code < 0 ? code : trl__mmf_next(&p->scan, err);
    }
    if (code == 0)
        code = parse_options(p, err);
    if (code == 0)
        code = parse_hmm_body(p, &hmm, err);
    if (code == 0)
        set->hmms[set->count++] = hmm;
    p->states = states;
    return code;
}

/* ---- The file ---- */

static int refuse_macro(const parser *p, trl_error *err)
{
    switch (p->scan.macro) {
    case 'i':
    case 'c':
    case 'x': return unsupported(p, "full covariances and transforms (~i, ~c, ~x)", err);
    case 'd': return unsupported(p, "duration models (~d)", err);
    case 'w': return unsupported(p, "stream weights (~w)", err);
    case 'a':
    case 'b':
    case 'f':
    case 'g':
    case 'j':
    case 'r':
    case 'y': return unsupported(p, "transforms and classes of adaptation (~a, ~b, ~f, ~g, ~j, ~r, ~y)", err);
    default: return trl__mmf_fail(&p->scan, err, TRL_EUNSUPPORTED, "unknown kind of macro ~%c", p->scan.macro);
    }
}

static int parse_definition(parser *p, char letter, const char *name, trl_error *err)
{
    void *value = NULL;
    const float *numbers = NULL;
    trl__mmf_gaussian *gaussian = NULL;
    trl__mmf_state *state = NULL;
    trl__mmf_transitions *transitions = NULL;
    int code;
    if (is_macro(p, letter))
        return trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "~%c \"%s\" is another macro and nothing of its own", letter,
                             name);
    switch (letter) {
    case 'u': code = parse_vector(p, MMF_MEAN, 'u', &numbers, err); break;
    case 'v': code = parse_vector(p, MMF_VARIANCE, 'v', &numbers, err); break;
    case 'm': code = parse_gaussian(p, &gaussian, err); break;
    case 's': code = parse_state(p, &state, err); break;
    default: code = parse_transitions(p, &transitions, err); break;
    }
    value = letter == 'm'   ? (void *)gaussian
            : letter == 's' ? (void *)state
            : letter == 't' ? (void *)transitions
                            : (void *)(uintptr_t)numbers;
    return code < 0 ? code : define(p, letter, name, (uint64_t)(uintptr_t)value, err);
}

static int parse_macro(parser *p, trl_error *err)
{
    char letter = p->scan.macro, name[TRL__HTK_STRING];
    int code = 0;
    if (letter == 'o') {
        code = trl__mmf_next(&p->scan, err);
        return code < 0 ? code : parse_options(p, err);
    }
    if (!strchr("uvmsth", letter) || letter == '\0')
        return refuse_macro(p, err);
    code = trl__mmf_string(&p->scan, name, err);
    if (code == 0)
        code = trl__mmf_next(&p->scan, err);
    if (code < 0)
        return code;
    return letter == 'h' ? parse_hmm(p, name, err) : parse_definition(p, letter, name, err);
}

/* A file with a single HMM may leave the name to the file's own. */
static int parse_nameless_hmm(parser *p, trl_error *err)
{
    char name[TRL__HTK_STRING];
    const char *base = trl__base_name(p->scan.name);
    snprintf(name, sizeof name, "%.*s", (int)(trl__extension(base) - base), base);
    return parse_hmm(p, name, err);
}

static int parse_all(parser *p, trl_error *err)
{
    int code = trl__mmf_next(&p->scan, err);
    while (code == 0 && p->scan.symbol != MMF_END) {
        if (p->scan.symbol == MMF_MACRO)
            code = parse_macro(p, err);
        else if (p->scan.symbol == MMF_BEGINHMM)
            code = parse_nameless_hmm(p, err);
        else
            code = unexpected(p, "a macro (~)", err);
    }
    if (code == 0 && p->set->count == 0)
        code = trl__mmf_fail(&p->scan, err, TRL_EFORMAT, "there is no HMM (~h) in the file");
    return code;
}

int trl__mmf_parse(const char *name, const char *bytes, size_t size, trl__mmf_set *out, trl_error *err)
{
    *out = (trl__mmf_set){0};
    parser p = {.scan = {.name = name, .begin = bytes, .place = bytes, .end = bytes + size}, .set = out};
    int code = parse_all(&p, err);
    trl__free(p.components);
    if (code < 0)
        trl__mmf_set_free(out);
    return code;
}

void trl__mmf_set_free(trl__mmf_set *set)
{
    trl__map_free(&set->macros);
    trl__arena_free(&set->arena);
    trl__free(set->hmms);
    *set = (trl__mmf_set){0};
}

const trl__mmf_hmm *trl__mmf_find_hmm(const trl__mmf_set *set, const char *name)
{
    char key[TRL__HTK_STRING + 1];
    int length = snprintf(key, sizeof key, "h%s", name);
    const uint64_t *number = length < (int)sizeof key ? trl__map_find(&set->macros, key, (size_t)length) : NULL;
    return number ? &set->hmms[*number] : NULL;
}
