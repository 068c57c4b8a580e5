/* Writes HTK's model files, as text or binary: options, then the macros of what is shared, then the HMMs.
 *
 * Transitions that units share are ~t macros, tied states with several uses ~s macros. Probabilities and weights are written as float32
 * in both forms, so both say the same; text has as many digits as give the same float back.
 */
#include "model/htk_mmf.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/log_write.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <trellis/frontend.h>

#define LOG_TWO_PI 1.8378770664093454836

typedef struct writer {
    const trl_model *model;
    trl_file *file;
    int binary;
    int32_t *uses;  /* by tied state: how many states have it */
    int32_t *first; /* by tied state: the first triple that has it */
    int32_t *owner; /* by unit: the unit that its transitions are shared with, itself when alone */
    int32_t *users; /* by unit: how many units have its transitions */
    int code;       /* of the first failure; nothing is written after it */
    trl_error *err;
} writer;

/* ---- Symbols and numbers ---- */

static void put(writer *w, const void *bytes, size_t size)
{
    if (w->code == 0)
        w->code = trl_file_write(w->file, bytes, size, w->err);
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static void put_symbol(writer *w, trl__mmf_symbol symbol)
{
    if (w->binary) {
        unsigned char bytes[2] = {':', (unsigned char)symbol};
        put(w, bytes, sizeof bytes);
    } else {
        put_text(w, "<");
        put_text(w, trl__mmf_symbol_name(symbol));
        put_text(w, ">");
    }
}

static void put_line_end(writer *w)
{
    if (!w->binary)
        put_text(w, "\n");
}

static void put_short(writer *w, int32_t value)
{
    unsigned char bytes[2];
    char text[16];
    trl__put_be16(bytes, (uint16_t)value);
    snprintf(text, sizeof text, " %" PRId32, value);
    put(w, w->binary ? (void *)bytes : (void *)text, w->binary ? sizeof bytes : strlen(text));
}

static void put_float(writer *w, float value)
{
    unsigned char bytes[4];
    char text[40] = " ";
    trl__put_be32(bytes, trl__bits_of_float(value));
    trl__format_float(value, text + 1);
    put(w, w->binary ? (void *)bytes : (void *)text, w->binary ? sizeof bytes : strlen(text));
}

static void put_vector(writer *w, trl__mmf_symbol symbol, const float *numbers, int32_t count)
{
    put_symbol(w, symbol);
    put_short(w, count);
    put_line_end(w);
    for (int32_t i = 0; i < count; i++)
        put_float(w, numbers[i]);
    put_line_end(w);
}

/* ~t "T_ah", ~s "S_ah_2", ~h "ah": number 0 is none. */
static void put_macro(writer *w, char letter, const char *prefix, int32_t unit, int32_t number)
{
    char name[TRL__HTK_STRING], suffix[16] = "";
    if (number > 0)
        snprintf(suffix, sizeof suffix, "_%" PRId32, number);
    const char *unit_name = w->model->units.texts[unit];
    int length = snprintf(name, sizeof name, "%s%s%s", prefix, unit_name, suffix);
    if (w->code == 0 && length >= (int)sizeof name)
        w->code = trl__fail(w->err, TRL_EUNSUPPORTED, "unit %.80s…: its name is too long for HTK (%d bytes)", unit_name,
                            TRL__HTK_STRING - 1);
    char head[3] = {'~', letter, ' '};
    put(w, head, sizeof head);
    if (w->code == 0)
        w->code = trl__htk_write_string(w->file, name, 1, w->err);
    put_line_end(w);
}

/* ---- Options ---- */

/* HTK's name of a front end, or USER where HTK could not compute the same. */
static void kind_of_frontend(const trl_frontend_options *o, char kind[TRL__MMF_WORD])
{
    static const char *const names[] = {"MFCC", "PLP", "FBANK"};
    static const char *const deltas[] = {"", "_D", "_D_A", "_D_A_T"};
    int cepstra = o->kind != TRL_FBANK;
    int ours_alone = o->splice_left + o->splice_right > 0 || o->transform.rows > 0 || o->deltas > 3 ||
                     (cepstra && o->layout != TRL_LAYOUT_HTK) || (o->cmvn != TRL_CMVN_NONE && o->cmvn_variance) ||
                     (o->cmvn != TRL_CMVN_NONE && o->cmvn != TRL_CMVN_UTTERANCE);
    const char *energy = o->energy != TRL_ENERGY_NONE ? "_E" : cepstra ? "_0" : "";
    if (ours_alone)
        snprintf(kind, TRL__MMF_WORD, "USER");
    else
        snprintf(kind, TRL__MMF_WORD, "%s%s%s%s", names[o->kind], energy, deltas[o->deltas],
                 o->cmvn == TRL_CMVN_UTTERANCE ? "_Z" : "");
}

static void kind_of_model(const trl_model *m, char kind[TRL__MMF_WORD])
{
    const char *line = m->provenance ? strstr(m->provenance, TRL__MMF_KIND_KEY) : NULL;
    trl_frontend_options o;
    snprintf(kind, TRL__MMF_WORD, "USER");
    if (m->frontend && *m->frontend) {
        if (trl_frontend_preset(&o, "mfcc", NULL) < 0)
            return;
        if (trl_frontend_parse(&o, m->frontend, "front end", NULL) == 0)
            kind_of_frontend(&o, kind);
        trl_matrix_free(&o.transform);
    } else if (line) {
        line += strlen(TRL__MMF_KIND_KEY);
        size_t length = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        if (length > 0 && length < TRL__MMF_WORD)
            snprintf(kind, TRL__MMF_WORD, "%.*s", (int)length, line);
    }
}

/* Parameter and covariance kind are text in both forms. */
static void put_options(writer *w)
{
    char kind[TRL__MMF_WORD];
    kind_of_model(w->model, kind);
    put_text(w, "~o");
    put_line_end(w);
    put_symbol(w, MMF_STREAMINFO);
    put_short(w, 1);
    put_short(w, w->model->dim);
    put_line_end(w);
    put_symbol(w, MMF_VECSIZE);
    put_short(w, w->model->dim);
    put_symbol(w, MMF_NULLD);
    put_text(w, "<");
    put_text(w, kind);
    put_text(w, "><DIAGC>");
    put_line_end(w);
}

/* ---- States ---- */

static void put_gaussian(writer *w, const float *mean, const float *variance)
{
    int32_t dim = w->model->dim;
    double constant = dim * LOG_TWO_PI;
    for (int32_t k = 0; k < dim; k++)
        constant += log((double)variance[k]);
    put_vector(w, MMF_MEAN, mean, dim);
    put_vector(w, MMF_VARIANCE, variance, dim);
    put_symbol(w, MMF_GCONST);
    put_float(w, (float)constant);
    put_line_end(w);
}

static void put_state(writer *w, int32_t tied)
{
    const trl_model *m = w->model;
    int32_t first = m->first_gaussian[tied], count = m->first_gaussian[tied + 1] - first;
    if (count > 1) {
        put_symbol(w, MMF_NUMMIXES);
        put_short(w, count);
        put_line_end(w);
    }
    for (int32_t c = 0; c < count; c++) {
        size_t g = (size_t)first + (size_t)c;
        if (count > 1) {
            put_symbol(w, MMF_MIXTURE);
            put_short(w, c + 1);
            put_float(w, (float)exp((double)m->log_weight[g]));
            put_line_end(w);
        }
        put_gaussian(w, m->mean + g * (size_t)m->dim, m->variance + g * (size_t)m->dim);
    }
}

static void put_state_macro(writer *w, int32_t tied)
{
    const trl__triple *t = &w->model->triple[w->first[tied]];
    put_macro(w, 's', "S_", t->unit, t->state + 2);
}

/* ---- Transitions ---- */

static void put_row(writer *w, const trl__topology *t, int32_t source, const float *log_probability)
{
    for (int32_t column = 0; column < t->states + 2; column++) {
        float p = 0;
        for (int32_t a = t->first[source + 1]; a < t->first[source + 2]; a++) {
            int32_t to = t->arcs[a].to == TRL_EXIT ? t->states + 1 : t->arcs[a].to + 1;
            if (to == column)
                p = log_probability ? (float)exp((double)log_probability[a - t->first[source + 1]])
                                    : t->arcs[a].probability;
        }
        put_float(w, p);
    }
    put_line_end(w);
}

static void put_transitions(writer *w, int32_t unit)
{
    const trl_model *m = w->model;
    const trl__topology *t = trl__unit_topology(m, unit);
    put_symbol(w, MMF_TRANSP);
    put_short(w, t->states + 2);
    put_line_end(w);
    put_row(w, t, TRL_ENTRY, NULL);
    for (int32_t s = 0; s < t->states; s++)
        put_row(w, t, s, m->log_probability + trl__model_triple(m, unit, s)->transition);
    for (int32_t column = 0; column < t->states + 2; column++)
        put_float(w, 0);
    put_line_end(w);
}

/* ---- HMMs ---- */

static void put_hmm(writer *w, int32_t unit)
{
    const trl_model *m = w->model;
    int32_t states = trl__unit_topology(m, unit)->states;
    put_macro(w, 'h', "", unit, 0);
    put_symbol(w, MMF_BEGINHMM);
    put_line_end(w);
    put_symbol(w, MMF_NUMSTATES);
    put_short(w, states + 2);
    put_line_end(w);
    for (int32_t s = 0; s < states; s++) {
        int32_t tied = trl__model_triple(m, unit, s)->tied;
        put_symbol(w, MMF_STATE);
        put_short(w, s + 2);
        put_line_end(w);
        if (w->uses[tied] > 1)
            put_state_macro(w, tied);
        else
            put_state(w, tied);
    }
    if (w->users[w->owner[unit]] > 1)
        put_macro(w, 't', "T_", w->owner[unit], 0);
    else
        put_transitions(w, unit);
    put_symbol(w, MMF_ENDHMM);
    put_line_end(w);
}

static void put_all(writer *w)
{
    const trl_model *m = w->model;
    put_options(w);
    for (int32_t u = 0; u < (int32_t)m->units.count; u++)
        if (w->users[u] > 1) {
            put_macro(w, 't', "T_", u, 0);
            put_transitions(w, u);
        }
    for (int32_t j = 0; j < m->tied_states; j++)
        if (w->uses[j] > 1) {
            put_state_macro(w, j);
            put_state(w, j);
        }
    for (int32_t u = 0; w->code == 0 && u < (int32_t)m->units.count; u++)
        put_hmm(w, u);
}

/* ---- What is shared ---- */

/* Are all transitions of unit u estimated with those of `other`, and the same? Then they can be one macro. */
static int same_transitions(const trl_model *m, int32_t u, int32_t other)
{
    const trl__topology *a = trl__unit_topology(m, u), *b = trl__unit_topology(m, other);
    if (a->states != b->states || a->first[1] != b->first[1])
        return 0;
    for (int32_t i = 0; i < a->first[1]; i++)
        if (a->arcs[i].to != b->arcs[i].to || a->arcs[i].probability != b->arcs[i].probability)
            return 0;
    for (int32_t s = 0; s < a->states; s++) {
        const trl__triple *x = trl__model_triple(m, u, s), *y = trl__model_triple(m, other, s);
        size_t arcs = (size_t)(a->first[s + 2] - a->first[s + 1]);
        if (x->pool != y->pool || arcs != (size_t)(b->first[s + 2] - b->first[s + 1]))
            return 0;
        for (size_t i = 0; i < arcs; i++)
            if (a->arcs[(size_t)a->first[s + 1] + i].to != b->arcs[(size_t)b->first[s + 1] + i].to ||
                m->log_probability[(size_t)x->transition + i] != m->log_probability[(size_t)y->transition + i])
                return 0;
    }
    return 1;
}

static void find_shared(writer *w)
{
    const trl_model *m = w->model;
    int32_t lost = 0;
    for (int32_t i = m->triples - 1; i >= 0; i--) {
        w->uses[m->triple[i].tied]++;
        w->first[m->triple[i].tied] = i;
    }
    for (int32_t u = 0; u < (int32_t)m->units.count; u++) {
        int32_t other = m->triple[trl__model_triple(m, u, 0)->pool].unit;
        w->owner[u] = same_transitions(m, u, other) ? other : u;
        w->users[w->owner[u]]++;
        for (int32_t s = 0; s < trl__unit_topology(m, u)->states; s++) {
            const trl__triple *t = trl__model_triple(m, u, s);
            lost += w->owner[u] == u && m->triple[t->pool].unit != u;
        }
    }
    if (lost > 0)
        trl__log(TRL_LOG_WARNING,
                 "%" PRId32 " states share transitions with single states of other units, which HTK's "
                 "files can't say: each gets a copy",
                 lost);
}

/* ---- The file ---- */

static int check(const trl_model *m, trl_error *err)
{
    if (m->shared)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "codebooks that tied states share (tied mixtures) can't be written as a model of HTK");
    for (int32_t u = 0; u < (int32_t)m->units.count; u++)
        if (m->unit_triple[u + 1] - m->unit_triple[u] != trl__unit_topology(m, u)->states)
            return trl__fail(err, TRL_EUNSUPPORTED,
                             "unit %s has several tied states for one state, chosen by context, which an HTK model "
                             "file can't say without an HMM for every context",
                             m->units.texts[u]);
    for (int32_t j = 0; j < m->tied_states; j++)
        if (m->first_gaussian[j + 1] - m->first_gaussian[j] > INT16_MAX)
            return trl__fail(err, TRL_EUNSUPPORTED, "a mixture of more than %d components is too large for HTK",
                             INT16_MAX);
    return m->dim <= INT16_MAX
               ? 0
               : trl__fail(err, TRL_EUNSUPPORTED, "vectors of more than %d numbers are too long for HTK", INT16_MAX);
}

static int write_file(writer *w, const char *path)
{
    size_t units = w->model->units.count, states = (size_t)w->model->tied_states;
    w->uses = trl__alloc_zero(states, sizeof *w->uses);
    w->first = trl__alloc_zero(states, sizeof *w->first);
    w->owner = trl__alloc_zero(units, sizeof *w->owner);
    w->users = trl__alloc_zero(units, sizeof *w->users);
    if (!w->uses || !w->first || !w->owner || !w->users)
        return trl__fail_memory(w->err);
    w->code = trl_file_create(path, &w->file, w->err);
    if (w->code < 0)
        return w->code;
    find_shared(w);
    put_all(w);
    if (w->code == 0)
        return trl_file_commit(w->file, w->err);
    trl_file_abort(w->file);
    return w->code;
}

int trl_model_write_htk(const trl_model *model, const char *path, int binary, trl_error *err)
{
    writer w = {.model = model, .binary = binary, .err = err};
    int code = check(model, err);
    if (code == 0)
        code = write_file(&w, path);
    trl__free(w.uses);
    trl__free(w.first);
    trl__free(w.owner);
    trl__free(w.users);
    return code;
}
