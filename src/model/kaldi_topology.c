/* Kaldi's HMM topologies. The two forms differ in more than their numbers:
 *
 *     text     <TopologyEntry> <ForPhones> 1 2 </ForPhones> <State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State> …
 *              <State> 3 </State> </TopologyEntry> …
 *     binary   phones, entry of each phone (from phone 0 on; -1: none), number of entries, and for each the number of states, and
 *              for each of these its pdf class (-1: emits nothing), the number of transitions and (state, probability) of each;
 *              -1 in front of the number of entries: two pdf classes, for entering a state and for staying in it
 */
#include "model/kaldi_model.h"
#include "model/topology.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Reading ---- */

/* One entry as it grows, and which phones have it. */
typedef struct reader {
    trl__kaldi_in *in;
    trl_model *model;
    size_t topology_capacity;
    trl__arc *arcs; /* of the entry being read; `to` as in the file */
    size_t arc_count, arc_capacity;
    int32_t *first; /* by state of the entry: its first arc */
    int8_t *emits;
    size_t state_count, state_capacity, emits_capacity;
    int32_t *phones, *entries; /* in the order of the file: phone, and its entry */
    size_t phone_count, phone_capacity, entry_capacity;
} reader;

static int fail(reader *r, int code, const char *what)
{
    return trl__source_fail(r->in->source, r->in->err, code, "%s", what);
}

static int add_state(reader *r, int32_t pdf_class)
{
    if (TRL_GROW(r->first, r->state_capacity, r->state_count + 1) < 0 ||
        TRL_GROW(r->emits, r->emits_capacity, r->state_count + 1) < 0)
        return trl__fail_memory(r->in->err);
    if (r->state_count > TRL__STATES_MOST)
        return fail(r, TRL_EUNSUPPORTED, "a topology with more than 100 emitting states");
    r->first[r->state_count] = (int32_t)r->arc_count;
    r->emits[r->state_count++] = pdf_class >= 0;
    return 0;
}

static int add_arc(reader *r)
{
    int32_t to = 0;
    float probability = 0;
    int code = trl__kaldi_int(r->in, &to);
    if (code == 0)
        code = trl__kaldi_float(r->in, &probability);
    if (code < 0)
        return code;
    if (r->arc_count >= (size_t)(TRL__STATES_MOST + 1) * (TRL__STATES_MOST + 1))
        return fail(r, TRL_EFORMAT, "more transitions than states can have");
    if (TRL_GROW(r->arcs, r->arc_capacity, r->arc_count + 1) < 0)
        return trl__fail_memory(r->in->err);
    r->arcs[r->arc_count++] = (trl__arc){to, fminf(probability, 1)};
    return 0;
}

/* All but the last state must emit; the last one is the exit. */
static int check_entry(reader *r)
{
    size_t last = r->state_count - 1;
    if (r->state_count < 2 || r->emits[last] || (size_t)r->first[last] != r->arc_count)
        return fail(r, TRL_EFORMAT,
                    "a topology must have states that emit, and end in one that does not and leads nowhere");
    for (size_t s = 0; s < last; s++)
        if (!r->emits[s])
            return fail(r, TRL_EUNSUPPORTED, "a topology with a state that emits nothing before the last one");
    for (size_t a = 0; a < r->arc_count; a++)
        if (r->arcs[a].to < 0 || (size_t)r->arcs[a].to > last)
            return fail(r, TRL_EFORMAT, "a transition to a state that does not exist");
    return 0;
}

static int end_entry(reader *r)
{
    trl_model *m = r->model;
    int code = check_entry(r);
    if (code < 0)
        return code;
    if (TRL_GROW(m->topology, r->topology_capacity, (size_t)m->topologies + 1) < 0)
        return trl__fail_memory(r->in->err);
    trl__topology *t = &m->topology[m->topologies++];
    *t = (trl__topology){0};
    int32_t states = (int32_t)r->state_count - 1;
    code = trl__topology_alloc(t, states, (int32_t)r->arc_count + 1, r->in->err);
    if (code < 0)
        return code;
    t->arcs[0] = (trl__arc){0, 1};
    for (int32_t s = 0; s <= states; s++)
        t->first[s + 1] = r->first[s] + 1;
    for (size_t a = 0; a < r->arc_count; a++)
        t->arcs[a + 1] = (trl__arc){r->arcs[a].to == states ? TRL_EXIT : r->arcs[a].to, r->arcs[a].probability};
    r->arc_count = r->state_count = 0;
    return 0;
}

static int add_phone(reader *r, int32_t phone, int32_t entry)
{
    if (TRL_GROW(r->phones, r->phone_capacity, r->phone_count + 1) < 0 ||
        TRL_GROW(r->entries, r->entry_capacity, r->phone_count + 1) < 0)
        return trl__fail_memory(r->in->err);
    r->phones[r->phone_count] = phone;
    r->entries[r->phone_count++] = entry;
    return 0;
}

/* ---- Text ---- */

/* From <PdfClass> to </State>; `token` is the first behind the state's number, and in the end </State>. */
static int read_state_text(reader *r)
{
    char token[TRL__KALDI_TOKEN];
    int32_t number, pdf_class = -1, other;
    int code = trl__kaldi_int(r->in, &number);
    if (code == 0 && (size_t)number != r->state_count)
        return fail(r, TRL_EFORMAT, "the states of a topology must come in order, from 0");
    if (code == 0)
        code = trl__kaldi_token(r->in, token);
    if (code == 0 && (strcmp(token, "<PdfClass>") == 0 || strcmp(token, "<ForwardPdfClass>") == 0)) {
        int two = token[1] == 'F';
        code = trl__kaldi_int(r->in, &pdf_class);
        if (code == 0 && two)
            code = trl__kaldi_expect(r->in, "<SelfLoopPdfClass>");
        if (code == 0 && two)
            code = trl__kaldi_int(r->in, &other);
        if (code == 0)
            code = trl__kaldi_token(r->in, token);
    }
    if (code == 0)
        code = add_state(r, pdf_class);
    while (code == 0 && strcmp(token, "<Transition>") == 0) {
        code = add_arc(r);
        if (code == 0)
            code = trl__kaldi_token(r->in, token);
    }
    if (code == 0 && strcmp(token, "</State>") != 0)
        code = fail(r, TRL_EFORMAT, "expected <PdfClass>, <Transition> or </State>");
    return code;
}

static int read_phones_text(reader *r)
{
    char token[TRL__KALDI_TOKEN];
    int64_t phone;
    int code = trl__kaldi_expect(r->in, "<ForPhones>");
    if (code == 0)
        code = trl__kaldi_token(r->in, token);
    while (code == 0 && strcmp(token, "</ForPhones>") != 0) {
        if (trl__parse_int(token, &phone) < 0 || phone < 1 || phone > INT32_MAX)
            return fail(r, TRL_EFORMAT, "expected a phone's number, from 1, or </ForPhones>");
        code = add_phone(r, (int32_t)phone, r->model->topologies);
        if (code == 0)
            code = trl__kaldi_token(r->in, token);
    }
    return code;
}

static int read_text(reader *r)
{
    char token[TRL__KALDI_TOKEN];
    int code = trl__kaldi_token(r->in, token);
    while (code == 0 && strcmp(token, "<TopologyEntry>") == 0) {
        code = read_phones_text(r);
        if (code == 0)
            code = trl__kaldi_token(r->in, token);
        while (code == 0 && strcmp(token, "<State>") == 0) {
            code = read_state_text(r);
            if (code == 0)
                code = trl__kaldi_token(r->in, token);
        }
        if (code == 0 && strcmp(token, "</TopologyEntry>") != 0)
            return fail(r, TRL_EFORMAT, "expected <State> or </TopologyEntry>");
        if (code == 0)
            code = end_entry(r);
        if (code == 0)
            code = trl__kaldi_token(r->in, token);
    }
    if (code == 0 && strcmp(token, "</Topology>") != 0)
        code = fail(r, TRL_EFORMAT, "expected <TopologyEntry> or </Topology>");
    return code;
}

/* ---- Binary ---- */

static int read_state_binary(reader *r, int two)
{
    int32_t pdf_class, other, arcs = 0;
    int code = trl__kaldi_int(r->in, &pdf_class);
    if (code == 0 && two)
        code = trl__kaldi_int(r->in, &other);
    if (code == 0)
        code = trl__kaldi_int(r->in, &arcs);
    if (code == 0)
        code = add_state(r, pdf_class);
    for (int32_t a = 0; code == 0 && a < arcs; a++)
        code = add_arc(r);
    return code;
}

static int read_entries_binary(reader *r)
{
    int32_t entries, states = 0;
    int code = trl__kaldi_int(r->in, &entries);
    int two = code == 0 && entries == -1;
    if (two)
        code = trl__kaldi_int(r->in, &entries);
    for (int32_t e = 0; code == 0 && e < entries; e++) {
        code = trl__kaldi_int(r->in, &states);
        for (int32_t s = 0; code == 0 && s < states; s++)
            code = read_state_binary(r, two);
        if (code == 0)
            code = end_entry(r);
    }
    return code < 0 ? code : trl__kaldi_expect(r->in, "</Topology>");
}

static int read_binary(reader *r)
{
    int32_t *phones = NULL, *entry_of = NULL;
    size_t count = 0, length = 0;
    int code = trl__kaldi_ints(r->in, &phones, &count);
    if (code == 0)
        code = trl__kaldi_ints(r->in, &entry_of, &length);
    for (size_t i = 0; code == 0 && i < count; i++)
        code = phones[i] < 1 || (size_t)phones[i] >= length ? fail(r, TRL_EFORMAT, "a phone without a topology")
                                                            : add_phone(r, phones[i], entry_of[phones[i]]);
    trl__free(phones);
    trl__free(entry_of);
    return code < 0 ? code : read_entries_binary(r);
}

/* ---- Both ---- */

/* Phones 1 … n, each once. */
static int assign(reader *r, int32_t **topology_of)
{
    int32_t *out = trl__alloc(r->phone_count ? r->phone_count : 1, sizeof *out);
    if (!out)
        return trl__fail_memory(r->in->err);
    *topology_of = out;
    for (size_t i = 0; i < r->phone_count; i++)
        out[i] = -1;
    for (size_t i = 0; i < r->phone_count; i++) {
        if ((size_t)r->phones[i] > r->phone_count || out[r->phones[i] - 1] >= 0)
            return trl__source_fail(r->in->source, r->in->err, TRL_EUNSUPPORTED,
                                    "phone %" PRId32
                                    " of %zu: phones must be numbered from 1 without gaps, and have one "
                                    "topology each",
                                    r->phones[i], r->phone_count);
        if (r->entries[i] < 0 || r->entries[i] >= r->model->topologies)
            return fail(r, TRL_EFORMAT, "a phone with a topology that does not exist");
        out[r->phones[i] - 1] = r->entries[i];
    }
    return r->phone_count > 0 ? 0 : fail(r, TRL_EFORMAT, "a topology without phones");
}

int trl__kaldi_topology_read(trl__kaldi_in *in, trl_model *model, int32_t **topology_of, size_t *units)
{
    reader r = {.in = in, .model = model};
    *topology_of = NULL;
    int code = trl__kaldi_expect(in, "<Topology>");
    if (code == 0)
        code = in->binary ? read_binary(&r) : read_text(&r);
    if (code == 0)
        code = assign(&r, topology_of);
    *units = r.phone_count;
    trl__free(r.arcs);
    trl__free(r.first);
    trl__free(r.emits);
    trl__free(r.phones);
    trl__free(r.entries);
    return code;
}

/* ---- Writing ---- */

/* By topology: its number in the file, where those without units are left out (-1). */
static int32_t *number_entries(trl__kaldi_out *out, const trl_model *m, int32_t *count)
{
    int32_t *entry = trl__alloc((size_t)m->topologies, sizeof *entry);
    *count = 0;
    if (!entry) {
        out->code = out->code < 0 ? out->code : trl__fail_memory(out->err);
        return NULL;
    }
    for (int32_t t = 0; t < m->topologies; t++)
        entry[t] = -1;
    for (size_t u = 0; u < m->units.count; u++)
        entry[m->unit_topology[u]] = 0;
    for (int32_t t = 0; t < m->topologies; t++)
        if (entry[t] == 0)
            entry[t] = (*count)++;
    return entry;
}

static int32_t target(const trl__topology *t, const trl__arc *arc)
{
    return arc->to == TRL_EXIT ? t->states : arc->to;
}

static void write_phones_text(trl__kaldi_out *out, const trl_model *m, int32_t topology)
{
    trl__kaldi_put_token(out, "<ForPhones>");
    trl__kaldi_put_line_end(out);
    for (size_t u = 0; u < m->units.count; u++)
        if (m->unit_topology[u] == topology)
            trl__kaldi_put_int(out, (int32_t)u + 1);
    trl__kaldi_put_line_end(out);
    trl__kaldi_put_token(out, "</ForPhones>");
    trl__kaldi_put_line_end(out);
}

static void write_entry_text(trl__kaldi_out *out, const trl_model *m, int32_t topology)
{
    const trl__topology *t = &m->topology[topology];
    trl__kaldi_put_token(out, "<TopologyEntry>");
    trl__kaldi_put_line_end(out);
    write_phones_text(out, m, topology);
    for (int32_t s = 0; s <= t->states; s++) {
        trl__kaldi_put_token(out, "<State>");
        trl__kaldi_put_int(out, s);
        if (s < t->states) {
            trl__kaldi_put_token(out, "<PdfClass>");
            trl__kaldi_put_int(out, s);
        }
        for (int32_t a = t->first[s + 1]; s < t->states && a < t->first[s + 2]; a++) {
            trl__kaldi_put_token(out, "<Transition>");
            trl__kaldi_put_int(out, target(t, &t->arcs[a]));
            trl__kaldi_put_float(out, t->arcs[a].probability);
        }
        trl__kaldi_put_token(out, "</State>");
        trl__kaldi_put_line_end(out);
    }
    trl__kaldi_put_token(out, "</TopologyEntry>");
    trl__kaldi_put_line_end(out);
}

static void write_entry_binary(trl__kaldi_out *out, const trl__topology *t)
{
    trl__kaldi_put_int(out, t->states + 1);
    for (int32_t s = 0; s < t->states; s++) {
        trl__kaldi_put_int(out, s);
        trl__kaldi_put_int(out, trl__arcs_of(t, s));
        for (int32_t a = t->first[s + 1]; a < t->first[s + 2]; a++) {
            trl__kaldi_put_int(out, target(t, &t->arcs[a]));
            trl__kaldi_put_float(out, t->arcs[a].probability);
        }
    }
    trl__kaldi_put_int(out, -1);
    trl__kaldi_put_int(out, 0);
}

static void write_phones_binary(trl__kaldi_out *out, const trl_model *m, const int32_t *entry)
{
    size_t units = m->units.count;
    int32_t *numbers = trl__alloc(units + 1, sizeof *numbers);
    if (!numbers) {
        out->code = out->code < 0 ? out->code : trl__fail_memory(out->err);
        return;
    }
    for (size_t u = 0; u < units; u++)
        numbers[u] = (int32_t)u + 1;
    trl__kaldi_put_ints(out, numbers, units);
    numbers[0] = -1;
    for (size_t u = 0; u < units; u++)
        numbers[u + 1] = entry[m->unit_topology[u]];
    trl__kaldi_put_ints(out, numbers, units + 1);
    trl__free(numbers);
}

void trl__kaldi_topology_write(trl__kaldi_out *out, const trl_model *m)
{
    int32_t count, *entry = number_entries(out, m, &count);
    if (!entry)
        return;
    trl__kaldi_put_token(out, "<Topology>");
    trl__kaldi_put_line_end(out);
    if (!out->text) {
        write_phones_binary(out, m, entry);
        trl__kaldi_put_int(out, count);
    }
    for (int32_t t = 0; out->code == 0 && t < m->topologies; t++)
        if (entry[t] >= 0 && out->text)
            write_entry_text(out, m, t);
        else if (entry[t] >= 0)
            write_entry_binary(out, &m->topology[t]);
    trl__kaldi_put_token(out, "</Topology>");
    trl__kaldi_put_line_end(out);
    trl__free(entry);
}
