/* Models: from a lexicon, with the numbers Kaldi would give; and what is refused when one is put together wrongly. */
#include "model_fixture.h"

#include <trellis/model.h>

static trl_error err;

static const char words[] = "A AA B\nB B IH\nC K\n";

static void expect_unit(const trl_model *m, int32_t unit, const char *name, trl_unit_kind kind, int32_t states)
{
    trl_unit u = trl_model_unit(m, unit);
    assert_string_equal(u.name, name);
    assert_int_equal(u.kind, kind);
    assert_int_equal(u.states, states);
    assert_int_equal(trl_model_find_unit(m, name), unit);
}

static void has_silence_noise_and_phones(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.silence_states = 4;
    trl_model *m = model_of(words, 13, &o);
    assert_int_equal(trl_model_units(m), 6);
    expect_unit(m, 0, "SIL", TRL_UNIT_SILENCE, 4);
    expect_unit(m, 1, "SPN", TRL_UNIT_NOISE, 4);
    expect_unit(m, 2, "AA", TRL_UNIT_PHONE, 3);
    expect_unit(m, 5, "K", TRL_UNIT_PHONE, 3);
    assert_int_equal(trl_model_find_unit(m, "XX"), -1);
    assert_int_equal(trl_model_tied_states(m), 4 + 4 + 4 * 3);
    assert_int_equal(trl_model_gaussians(m), 20);
    assert_int_equal(trl_model_dim(m), 13);
    for (int32_t j = 0; j < 20; j++) {
        assert_int_equal(trl_model_components(m, j), 1);
        trl_gaussian g = trl_model_gaussian(m, j, 0);
        assert_true(g.weight == 1 && g.mean[12] == 0 && g.variance[0] == 1);
    }
    assert_string_equal(trl_model_frontend(m), "");
    assert_string_equal(trl_model_history(m), "");
    assert_non_null(strstr(trl_model_lexicon(m), "3 words, 3 pronunciations, 4 phones"));
    trl_model_destroy(m);
}

/* Linear units with three states have two arcs per state, so the ids follow from counting. */
static void numbers_transitions_as_kaldi(void **state)
{
    (void)state;
    trl_model *m = model_of(words, 2, NULL);
    assert_int_equal(trl_model_transitions(m), 6 * 3 * 2);
    for (int32_t u = 0; u < 6; u++)
        for (int32_t s = 0; s < 3; s++)
            for (int32_t arc = 0; arc < 2; arc++) {
                trl_transition t = trl_model_transition(m, 1 + 2 * (3 * u + s) + arc);
                assert_int_equal(t.unit, u);
                assert_int_equal(t.state, s);
                assert_int_equal(t.tied, 3 * u + s);
                assert_int_equal(t.to, arc == 0 ? s : s == 2 ? TRL_EXIT : s + 1);
                assert_true(fabs((double)t.log_probability - log(arc == 0 ? 0.75 : 0.25)) < 1e-6);
            }
    trl_model_destroy(m);
}

/* Kaldi's silence with five states: 0 to 0 … 3, each of 1, 2, 3 to 1 … 4, 4 to itself and out. */
static void makes_ergodic_silence(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.silence_states = 5;
    o.silence_topology = TRL_TOPOLOGY_ERGODIC;
    o.self_loop = 0.7;
    trl_model *m = model_of(words, 2, &o);
    static const int32_t to[] = {0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 4, TRL_EXIT};
    static const int32_t from[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4};
    for (int32_t i = 0; i < 18; i++) {
        trl_transition t = trl_model_transition(m, i + 1);
        double p = to[i] == from[i] ? 0.7 : from[i] == 4 ? 0.3 : 0.1;
        assert_int_equal(t.unit, 0);
        assert_int_equal(t.state, from[i]);
        assert_int_equal(t.to, to[i]);
        assert_true(fabs(exp((double)t.log_probability) - p) < 1e-6);
    }
    assert_int_equal(trl_model_transition(m, 19).unit, 1);
    trl_model_destroy(m);
}

/* With up to three states nothing is left to connect. */
static void makes_small_ergodic_units_linear(void **state)
{
    (void)state;
    for (int32_t states = 1; states <= 3; states++) {
        trl__topology a = {0}, b = {0};
        assert_int_equal(trl__topology_make(&a, TRL_TOPOLOGY_ERGODIC, states, 0.6, &err), 0);
        assert_int_equal(trl__topology_make(&b, TRL_TOPOLOGY_LINEAR, states, 0.6, &err), 0);
        assert_memory_equal(a.first, b.first, ((size_t)states + 2) * sizeof *a.first);
        assert_memory_equal(a.arcs, b.arcs, (size_t)(1 + 2 * states) * sizeof *a.arcs);
        assert_int_equal(trl__topology_check(&a, "a", 0, &err), 0);
        trl__topology_free(&a);
        trl__topology_free(&b);
    }
}

static void word_positions_share_tied_states(void **state)
{
    (void)state;
    static const char *const names[] = {"SIL", "SPN", "AA_B", "AA_I", "AA_E", "AA_S", "SP_B", "SP_I", "SP_E", "SP_S"};
    trl_model_options o = trl_model_defaults();
    o.word_positions = 1;
    trl_model *m = model_of("A AA\n<hm> SPN\n<s> SIL\nS SP\n", 2, &o);
    assert_int_equal(trl_model_units(m), 10);
    assert_int_equal(trl_model_tied_states(m), 4 * 3);
    for (int32_t u = 0; u < 10; u++)
        for (int32_t s = 0; s < 3; s++) {
            int32_t base = u < 2 ? u : u < 6 ? 2 : 3;
            assert_string_equal(trl_model_unit(m, u).name, names[u]);
            assert_int_equal(trl_model_transition(m, 1 + 2 * (3 * u + s)).tied, 3 * base + s);
        }
    trl_model_destroy(m);
}

/* A phone of the lexicon that has silence's or noise's name is that unit. */
static void knows_silence_of_the_lexicon(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.silence = "sil";
    o.noise = "B";
    trl_model *m = model_of("A AA B\n<sil> sil\n", 2, &o);
    assert_int_equal(trl_model_units(m), 3);
    expect_unit(m, 0, "sil", TRL_UNIT_SILENCE, 3);
    expect_unit(m, 1, "B", TRL_UNIT_NOISE, 3);
    expect_unit(m, 2, "AA", TRL_UNIT_PHONE, 3);
    trl_model_destroy(m);
}

static void lexicons_that_differ_are_told_apart(void **state)
{
    (void)state;
    static const char *const texts[] = {words, "A AA B\nB B IH\nC K\nD K\n", "A AA B\nB B IH\nC AA\nE K\n",
                                        "A AA B\nD B IH\nC K\n", "A 0.5 AA B\nB 1 B IH\nC 1 K\n"};
    char seen[5][200];
    for (int i = 0; i < 5; i++) {
        trl_model *m = model_of(texts[i], 2, NULL);
        snprintf(seen[i], sizeof seen[i], "%s", strstr(trl_model_lexicon(m), "hash"));
        trl_model_destroy(m);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(seen[i], seen[k]);
    }
}

static void refuse_options(trl_model_options o, const char *text)
{
    err.text[0] = '\0';
    assert_int_equal(trl_model_options_check(&o, &err), TRL_EINVAL);
    if (!strstr(err.text, text))
        fail_msg("no '%s' in '%s'", text, err.text);
    trl_model *m;
    trl_lexicon *lexicon = lexicon_of(words);
    assert_int_equal(trl_model_create(lexicon, NULL, 13, &o, &m, &err), TRL_EINVAL);
    assert_null(m);
    trl_lexicon_destroy(lexicon);
}

#define WITH(member, value) ((o = trl_model_defaults()), (o.member = (value)), o)

static void refuses_wrong_options(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    assert_int_equal(trl_model_options_check(&o, &err), 0);
    refuse_options(WITH(states, 0), "states is 0; it may be 1 to 1000");
    refuse_options(WITH(silence_states, 1001), "silence_states is 1001");
    refuse_options(WITH(silence_topology, 2), "silence_topology is 2");
    refuse_options(WITH(word_positions, -1), "word_positions is -1");
    refuse_options(WITH(silence, NULL), "silence is ''");
    refuse_options(WITH(noise, "a b"), "noise is 'a b'");
    refuse_options(WITH(noise, "SIL"), "both called 'SIL'");
    refuse_options(WITH(self_loop, 1), "self_loop is 1");
    refuse_options(WITH(self_loop, (double)NAN), "self_loop is nan");
    refuse_options(WITH(silence_between, 0), "silence_between is 0");
}

static void refuses_wrong_arguments(void **state)
{
    (void)state;
    trl_model *m;
    trl_model_options o = trl_model_defaults();
    trl_lexicon *lexicon = lexicon_of(words);
    assert_int_equal(trl_model_create(lexicon, NULL, 0, &o, &m, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "1 to 65536 dimensions, not 0"));
    trl_lexicon_destroy(lexicon);
    lexicon = lexicon_of("A AA AA_B\n");
    o.word_positions = 1;
    o.noise = "AA_E";
    assert_int_equal(trl_model_create(lexicon, NULL, 13, &o, &m, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "two units 'AA_E'"));
    trl_lexicon_destroy(lexicon);
}

/* ---- putting one together wrongly ---- */

/* A model whose finish must say this; `m` is freed. */
static void refuse(trl_model *m, int code, const char *text)
{
    trl__free(m->transition_triple);
    trl__free(m->unit_triple);
    m->transition_triple = m->unit_triple = NULL;
    err.text[0] = '\0';
    int got = trl__model_finish(m, "file", &err);
    if (got != code || !strstr(err.text, text) || !strstr(err.text, "file"))
        fail_msg("%d instead of %d, no '%s' in '%s'", got, code, text, err.text);
    trl_model_destroy(m);
}

#define REFUSE(code, text, ...)                  \
    do {                                         \
        trl_model *m = model_of(words, 2, NULL); \
        trl__topology *t = &m->topology[1];      \
        (void)t;                                 \
        __VA_ARGS__;                             \
        refuse(m, code, text);                   \
    } while (0)

static void refuses_wrong_topologies(void **state)
{
    (void)state;
    /* arcs of a linear one: entry 0; state 0: 0, 1; state 1: 1, 2; state 2: 2, exit */
    REFUSE(TRL_ECORRUPT, "topology 1 has 0 states", t->states = 0);
    REFUSE(TRL_ECORRUPT, "topology 1, state 0: an arc leads to a state that does not exist", t->arcs[2].to = 3);
    REFUSE(TRL_ECORRUPT, "does not exist", t->arcs[2].to = TRL_ENTRY);
    REFUSE(TRL_ECORRUPT, "topology 1, entry: it leads to no state", t->arcs[0].to = TRL_EXIT);
    REFUSE(TRL_ECORRUPT, "two arcs lead to the same state", t->arcs[3].to = 2);
    REFUSE(TRL_ECORRUPT, "not in (0, 1]", t->arcs[3].probability = 0);
    REFUSE(TRL_ECORRUPT, "not in (0, 1]", t->arcs[3].probability = NAN);
    REFUSE(TRL_ECORRUPT, "state 1: its probabilities do not sum up to 1", t->arcs[3].probability = 0.5f);
    REFUSE(TRL_ECORRUPT, "state 0: no way leads from it to the exit", t->arcs[6].to = 0);
    REFUSE(TRL_ECORRUPT, "no arc leaves it", t->first[2] = t->first[1]);
    REFUSE(TRL_ECORRUPT, "more than there are states", t->states = 1; t->first[2] = 7);
}

static void refuses_wrong_units(void **state)
{
    (void)state;
    REFUSE(TRL_ECORRUPT, "unit AA is of unknown kind 3", m->unit_kind[2] = 3);
    REFUSE(TRL_ECORRUPT, "unit AA has topology 2 of 2", m->unit_topology[2] = 2);
    REFUSE(TRL_ECORRUPT, "unit AA has topology -1 of 2", m->unit_topology[2] = -1);
    REFUSE(TRL_ECORRUPT, "the name of unit 2", m->units.texts[2] = "");
    REFUSE(TRL_ECORRUPT, "the name of unit 2", m->units.texts[2] = "A A");
    REFUSE(TRL_ECORRUPT, "the name of unit 2", m->units.texts[2] = "A\xff");
    REFUSE(TRL_ECORRUPT, "word positions 2", m->word_positions = 2);
    REFUSE(TRL_ECORRUPT, "probability of silence 1", m->silence_between = 1);
    REFUSE(TRL_ECORRUPT, "probability of silence nan", m->silence_between = NAN);
}

static void refuses_wrong_triples(void **state)
{
    (void)state;
    REFUSE(TRL_ECORRUPT, "triple 4: its unit, state or tied state does not exist", m->triple[4].unit = 6);
    REFUSE(TRL_ECORRUPT, "triple 4: its unit, state or tied", m->triple[4].unit = -1);
    REFUSE(TRL_ECORRUPT, "triple 4: its unit, state or tied", m->triple[4].state = 3);
    REFUSE(TRL_ECORRUPT, "triple 4: its unit, state or tied", m->triple[4].tied = 18);
    REFUSE(TRL_ECORRUPT, "triple 5: out of order", m->triple[4].state = 0);
    REFUSE(TRL_ECORRUPT, "triple 4: out of order", m->triple[4].state = 2);
    REFUSE(TRL_ECORRUPT, "triple 1: out of order", m->triple[1].state = m->triple[1].tied = 0); /* twice the same */
    REFUSE(TRL_ECORRUPT, "triple 0: out of order", m->triple[0].state = 1);
    REFUSE(TRL_ECORRUPT, "triple 6: out of order", m->triple[6].unit = 3);
    REFUSE(TRL_ECORRUPT, "the last unit's states have no triples", m->triples--);
    REFUSE(TRL_ECORRUPT, "the last unit's states have no triples", m->triples = 0);
    REFUSE(TRL_ECORRUPT, "triple 4: its pool does not exist", m->triple[4].pool = 18);
    REFUSE(TRL_ECORRUPT, "triple 4: its pool does not exist", m->triple[4].pool = 3; m->triple[3].pool = 0);
    REFUSE(TRL_ECORRUPT, "triple 5: its arcs are not those of its pool", m->triple[5].pool = 4);
}

static void refuses_wrong_numbers(void **state)
{
    (void)state;
    REFUSE(TRL_ENUMBER, "unit AA, state 1: the log probability of transition 15 is not finite",
           m->log_probability[15] = -INFINITY);
    REFUSE(TRL_ECORRUPT, "unit AA, state 1: the probabilities of its transitions sum up to 1.25",
           m->log_probability[16] = logf(0.5f));
    REFUSE(TRL_ENUMBER, "tied state 3, component 0: its log weight is not finite", m->log_weight[3] = NAN);
    REFUSE(TRL_ECORRUPT, "tied state 3: the weights sum up to 0.5", m->log_weight[3] = logf(0.5f));
    REFUSE(TRL_ENUMBER, "tied state 3, component 0, dimension 1", m->mean[7] = INFINITY);
    REFUSE(TRL_ENUMBER, "tied state 3, component 0, dimension 1", m->variance[7] = NAN);
    REFUSE(TRL_ECORRUPT, "variance 0; both must be finite and the variance positive", m->variance[7] = 0);
    REFUSE(TRL_ECORRUPT, "tied state 3 has no Gaussian", m->first_gaussian[4] = 3);
    REFUSE(TRL_ECORRUPT, "no first Gaussian", m->first_gaussian[0] = 1);
}

/* ---- copies ---- */

static void copies_share_nothing(void **state)
{
    (void)state;
    trl_model *m = random_model(8), *copy;
    assert_int_equal(trl__model_copy(m, &copy, &err), 0);
    assert_int_equal(trl_model_write(m, temp_path("a"), &err), 0);
    copy->mean[0] += 1;
    copy->log_probability[1] -= 0.001f;
    copy->topology[0].arcs[0].probability -= 0.001f;
    copy->triple[0].tied = 0;
    assert_int_equal(trl_model_write(m, temp_path("b"), &err), 0);
    char command[1400];
    snprintf(command, sizeof command, "cmp '%s' '%s'", temp_path("a"), temp_path("b"));
    assert_int_equal(system(command), 0);
    trl_model_destroy(copy);
    trl_model_destroy(m);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.word_positions = 1;
    trl_lexicon *lexicon = lexicon_of(words);
    trl_model *m = NULL, *copy = NULL;
    int code = TRL_ENOMEM, failures = 0;
    for (long n = 1; code < 0; n++) {
        trl__memory_fail_after(n);
        code = trl_model_create(lexicon, "preset = mfcc\n", 13, &o, &m, &err);
        trl__memory_fail_after(0);
        if (code < 0) {
            assert_int_equal(code, TRL_ENOMEM);
            assert_null(m);
            failures++;
        }
    }
    assert_true(failures > 15);
    for (long n = 1; !copy; n++) {
        trl__memory_fail_after(n);
        code = trl__model_copy(m, &copy, &err);
        trl__memory_fail_after(0);
        assert_true(copy ? code == 0 : code == TRL_ENOMEM);
    }
    trl_model_destroy(copy);
    trl_model_destroy(m);
    trl_lexicon_destroy(lexicon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_silence_noise_and_phones),
        cmocka_unit_test(numbers_transitions_as_kaldi),
        cmocka_unit_test(makes_ergodic_silence),
        cmocka_unit_test(makes_small_ergodic_units_linear),
        cmocka_unit_test(word_positions_share_tied_states),
        cmocka_unit_test(knows_silence_of_the_lexicon),
        cmocka_unit_test(lexicons_that_differ_are_told_apart),
        cmocka_unit_test(refuses_wrong_options),
        cmocka_unit_test(refuses_wrong_arguments),
        cmocka_unit_test(refuses_wrong_topologies),
        cmocka_unit_test(refuses_wrong_units),
        cmocka_unit_test(refuses_wrong_triples),
        cmocka_unit_test(refuses_wrong_numbers),
        cmocka_unit_test(copies_share_nothing),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
