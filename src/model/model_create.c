/* A new model from a lexicon: units, topologies, one untrained Gaussian per state.
 *
 * Units in order: silence, noise, then the lexicon's phones. A phone that has silence's or noise's name is that unit and
 * is not there again. With word positions every phone becomes NAME_B, NAME_I, NAME_E, NAME_S, four units that share
 * their tied states; silence and noise stay single, since they fill a place of their own and not a part of a word.
 */
#include "model/model_data.h"
#include "model/topology.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SILENCE_TOPOLOGY, PHONE_TOPOLOGY, TOPOLOGIES };

/* ---- options ---- */

trl_model_options trl_model_defaults(void)
{
    return (trl_model_options){.states = 3,
                               .silence_states = 3,
                               .silence_topology = TRL_TOPOLOGY_LINEAR,
                               .silence = "SIL",
                               .noise = "SPN",
                               .self_loop = 0.75,
                               .silence_between = 0.5};
}

static int check_states(const char *member, int states, trl_error *err)
{
    return states >= 1 && states <= TRL__STATES_MOST
               ? 0
               : trl__fail(err, TRL_EINVAL, "%s is %d; it may be 1 to %d", member, states, TRL__STATES_MOST);
}

static int check_probability(const char *member, double value, trl_error *err)
{
    return value > 0 && value < 1
               ? 0
               : trl__fail(err, TRL_EINVAL, "%s is %g; it must be more than 0 and less than 1", member, value);
}

static int check_name(const char *member, const char *name, trl_error *err)
{
    return name && name[0] != '\0' && !strpbrk(name, " \t\r\n\v\f")
               ? 0
               : trl__fail(err, TRL_EINVAL, "%s is '%s'; it must be a name without blanks", member, name ? name : "");
}

int trl_model_options_check(const trl_model_options *o, trl_error *err)
{
    int code = check_states("states", o->states, err);
    if (code == 0)
        code = check_states("silence_states", o->silence_states, err);
    if (code == 0)
        code = check_probability("self_loop", o->self_loop, err);
    if (code == 0)
        code = check_probability("silence_between", o->silence_between, err);
    if (code == 0)
        code = check_name("silence", o->silence, err);
    if (code == 0)
        code = check_name("noise", o->noise, err);
    if (code < 0)
        return code;
    if (o->silence_topology != TRL_TOPOLOGY_LINEAR && o->silence_topology != TRL_TOPOLOGY_ERGODIC)
        return trl__fail(err, TRL_EINVAL, "silence_topology is %d; it may be linear or ergodic", o->silence_topology);
    if (o->word_positions != 0 && o->word_positions != 1)
        return trl__fail(err, TRL_EINVAL, "word_positions is %d; it may be 0 or 1", o->word_positions);
    if (strcmp(o->silence, o->noise) == 0)
        return trl__fail(err, TRL_EINVAL, "silence and noise are both called '%s'; give them different names",
                         o->noise);
    return 0;
}

/* ---- units ---- */

/* A unit whose states have the tied states from first_tied on. Room for it was made before. */
static int add_unit(trl_model *m, const char *name, trl_unit_kind kind, int32_t first_tied, trl_error *err)
{
    size_t unit = m->units.count;
    long number = trl__strings_add(&m->units, name, strlen(name));
    if (number < 0)
        return trl__fail_memory(err);
    if ((size_t)number != unit)
        return trl__fail(err, TRL_EINVAL,
                         "the model would have two units '%s': rename that phone of the lexicon, or do without word "
                         "positions",
                         name);
    m->unit_kind[unit] = (uint8_t)kind;
    m->unit_topology[unit] = kind == TRL_UNIT_PHONE ? PHONE_TOPOLOGY : SILENCE_TOPOLOGY;
    int32_t states = m->topology[m->unit_topology[unit]].states;
    for (int32_t s = 0; s < states; s++, m->triples++)
        m->triple[m->triples] =
            (trl__triple){.unit = (int32_t)unit, .state = s, .tied = first_tied + s, .pool = m->triples};
    if (first_tied + states > m->tied_states)
        m->tied_states = first_tied + states;
    return 0;
}

static int add_phone(trl_model *m, const char *phone, trl_error *err)
{
    int32_t first_tied = m->tied_states;
    if (!m->word_positions)
        return add_unit(m, phone, TRL_UNIT_PHONE, first_tied, err);
    size_t size = strlen(phone) + 3;
    char *name = trl__alloc(size, 1);
    int code = name ? 0 : trl__fail_memory(err);
    for (const char *position = "BIES"; code == 0 && *position; position++) {
        snprintf(name, size, "%s_%c", phone, *position);
        code = add_unit(m, name, TRL_UNIT_PHONE, first_tied, err);
    }
    trl__free(name);
    return code;
}

static int add_units(trl_model *m, const trl_lexicon *lexicon, const trl_model_options *o, trl_error *err)
{
    size_t phones = trl_lexicon_phones(lexicon), most = 2 + phones * (o->word_positions ? 4 : 1);
    size_t states = (size_t)(o->states > o->silence_states ? o->states : o->silence_states);
    if (most * states > INT32_MAX / 2)
        return trl__fail(err, TRL_ELIMIT, "%zu phones with %zu states each are too many", phones, states);
    m->unit_kind = trl__alloc(most, sizeof *m->unit_kind);
    m->unit_topology = trl__alloc(most, sizeof *m->unit_topology);
    m->triple = trl__alloc(most * states, sizeof *m->triple);
    if (!m->unit_kind || !m->unit_topology || !m->triple)
        return trl__fail_memory(err);
    int code = add_unit(m, o->silence, TRL_UNIT_SILENCE, 0, err);
    if (code == 0)
        code = add_unit(m, o->noise, TRL_UNIT_NOISE, m->tied_states, err);
    for (size_t p = 0; code == 0 && p < phones; p++) {
        const char *phone = trl_lexicon_phone(lexicon, p);
        if (strcmp(phone, o->silence) != 0 && strcmp(phone, o->noise) != 0)
            code = add_phone(m, phone, err);
    }
    return code;
}

static int make_topologies(trl_model *m, const trl_model_options *o, trl_error *err)
{
    m->topologies = TOPOLOGIES;
    m->topology = trl__alloc_zero(TOPOLOGIES, sizeof *m->topology);
    if (!m->topology)
        return trl__fail_memory(err);
    int code = trl__topology_make(&m->topology[SILENCE_TOPOLOGY], (trl_topology_kind)o->silence_topology,
                                  o->silence_states, o->self_loop, err);
    return code < 0
               ? code
               : trl__topology_make(&m->topology[PHONE_TOPOLOGY], TRL_TOPOLOGY_LINEAR, o->states, o->self_loop, err);
}

/* ---- mixtures and texts ---- */

static int make_mixtures(trl_model *m, trl_error *err)
{
    size_t states = (size_t)m->tied_states, numbers = states * (size_t)m->dim;
    m->first_gaussian = trl__alloc_aligned(states + 1, sizeof *m->first_gaussian);
    m->log_weight = trl__alloc_aligned(states, sizeof *m->log_weight);
    m->mean = trl__alloc_aligned(numbers, sizeof *m->mean);
    m->variance = trl__alloc_aligned(numbers, sizeof *m->variance);
    if (!m->first_gaussian || !m->log_weight || !m->mean || !m->variance)
        return trl__fail_memory(err);
    for (size_t j = 0; j <= states; j++)
        m->first_gaussian[j] = (int32_t)j;
    for (size_t j = 0; j < states; j++)
        m->log_weight[j] = 0;
    for (size_t i = 0; i < numbers; i++) {
        m->mean[i] = 0;
        m->variance[i] = 1;
    }
    return 0;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    uint64_t both[2] = {hash, trl__hash(bytes, size)};
    return trl__hash((const char *)both, sizeof both);
}

/* Which lexicon this is: its size, and a hash of its words, phones and probabilities in their order. */
static int describe_lexicon(const trl_lexicon *lexicon, char **text, trl_error *err)
{
    uint64_t hash = 0;
    size_t words = trl_lexicon_words(lexicon), phones = trl_lexicon_phones(lexicon), pronunciations = 0;
    for (size_t p = 0; p < phones; p++)
        hash = mix(hash, trl_lexicon_phone(lexicon, p), strlen(trl_lexicon_phone(lexicon, p)));
    for (size_t w = 0; w < words; w++) {
        size_t variants = trl_lexicon_pronunciations(lexicon, w);
        hash = mix(hash, trl_lexicon_word(lexicon, w), strlen(trl_lexicon_word(lexicon, w)));
        for (size_t v = 0; v < variants; v++) {
            trl_pronunciation p = trl_lexicon_pronunciation(lexicon, w, v);
            hash = mix(hash, p.phones, p.length * sizeof *p.phones);
            hash = mix(hash, &p.probability, sizeof p.probability);
        }
        pronunciations += variants;
    }
    char line[200];
    snprintf(line, sizeof line, "%zu words, %zu pronunciations, %zu phones, hash %016" PRIx64, words, pronunciations,
             phones, hash);
    return trl__model_set_text(text, line, err);
}

static int fill(trl_model *m, const trl_lexicon *lexicon, const char *frontend, const trl_model_options *o,
                trl_error *err)
{
    m->word_positions = (uint8_t)o->word_positions;
    m->silence_between = (float)o->silence_between;
    int code = trl__model_set_text(&m->frontend, frontend, err);
    if (code == 0)
        code = describe_lexicon(lexicon, &m->lexicon, err);
    if (code == 0)
        code = make_topologies(m, o, err);
    if (code == 0)
        code = add_units(m, lexicon, o, err);
    if (code == 0)
        code = make_mixtures(m, err);
    return code < 0 ? code : trl__model_finish(m, "new model", err);
}

int trl_model_create(const trl_lexicon *lexicon, const char *frontend, int32_t dim, const trl_model_options *options,
                     trl_model **out, trl_error *err)
{
    *out = NULL;
    int code = trl_model_options_check(options, err);
    if (code < 0)
        return code;
    trl_model *model;
    code = trl__model_new(dim, &model, err);
    if (code < 0)
        return code;
    code = fill(model, lexicon, frontend, options, err);
    if (code < 0)
        trl_model_destroy(model);
    else
        *out = model;
    return code;
}
