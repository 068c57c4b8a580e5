/* Kaldi models in text, small enough to be written by hand: what they say, and what is refused and why. */
#include "foreign_model.h"
#include "model/kaldi_model.h"

static trl_error err;
static trl_model *model;

#define ENTRY(phones, states) "<TopologyEntry> <ForPhones> " phones " </ForPhones> " states " </TopologyEntry> "
#define ONE_STATE "<State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State> <State> 1 </State>"
#define TOPOLOGY "<Topology> " ENTRY("1 2", ONE_STATE) "</Topology> "
#define TRIPLES "<Triples> 2 1 0 0 2 0 1 </Triples> "
#define LOGS "<LogProbs> [ 0 -0.2876821 -1.386294 -0.6931472 -0.6931472 ]\n</LogProbs> "
#define TRANSITIONS "<TransitionModel> " TOPOLOGY TRIPLES LOGS "</TransitionModel> "
#define GMM1 \
    "<DiagGMM> <GCONSTS> [ 7 ]\n<WEIGHTS> [ 1 ]\n<MEANS_INVVARS> [\n 3 2 ]\n<INV_VARS> [\n 2 0.5 ]\n</DiagGMM> "
#define GMM2 \
    "<DiagGMM> <WEIGHTS> [ 0.25 0.75 ]\n<MEANS_INVVARS> [\n 0 0\n 1 1 ]\n<INV_VARS> [\n 1 1\n 4 8 ]\n</DiagGMM> "
#define GMMS "<DIMENSION> 2 <NUMPDFS> 2 " GMM1 GMM2

static int read_model(const char *text, const char *phones)
{
    trl__source source;
    trl__text names = {0};
    model = NULL;
    assert_int_equal(trl__source_from_memory("mdl", text, strlen(text), &source, &err), 0);
    if (phones)
        assert_int_equal(trl__text_from_memory("phones.txt", phones, strlen(phones), &names, &err), 0);
    int code = trl__kaldi_model_read(&source, phones ? &names : NULL, "phones.txt", NULL, &model, &err);
    trl__text_free(&names);
    trl__source_close(&source);
    return code;
}

static void refuse_named(const char *text, const char *phones, int code, const char *message)
{
    assert_int_equal(read_model(text, phones), code);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
}

static void refuse(const char *text, int code, const char *message)
{
    refuse_named(text, NULL, code, message);
}

static int destroy(void **state)
{
    (void)state;
    trl_model_destroy(model);
    model = NULL;
    return 0;
}

static void small_model(void **state)
{
    (void)state;
    if (read_model(TRANSITIONS GMMS, "<eps> 0\nsil 1\nnsn 2\n#0 3\n") < 0)
        fail_msg("%s", err.text);
    assert_int_equal(trl_model_dim(model), 2);
    assert_string_equal(trl_model_unit(model, 0).name, "sil");
    assert_int_equal(trl_model_unit(model, 0).kind, TRL_UNIT_SILENCE);
    assert_int_equal(trl_model_unit(model, 1).kind, TRL_UNIT_NOISE);
    trl_gaussian g = trl_model_gaussian(model, 0, 0);
    assert_true(g.mean[0] == 1.5F && g.mean[1] == 4 && g.variance[0] == 0.5F && g.variance[1] == 2);
    g = trl_model_gaussian(model, 1, 1);
    assert_true(fabsf(g.weight - 0.75F) < 1e-6F && g.mean[0] == 0.25F && g.mean[1] == 0.125F);
    trl_transition t = trl_model_transition(model, 4);
    assert_true(t.unit == 1 && t.state == 0 && t.to == TRL_EXIT && t.tied == 1);
    assert_true(fabs(exp((double)t.log_probability) - 0.5) < 1e-6);
    assert_false(model->word_positions);
}

/* Newer files: two pdfs each, which must be the same. */
static void tuples(void **state)
{
    (void)state;
    const char *states =
        "<Topology> " ENTRY("1 2", "<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 0 <Transition> 0 0.5 "
                                   "<Transition> 1 0.5 </State> <State> 1 </State>") "</Topology> ";
    char text[2048];
    snprintf(text, sizeof text,
             "<TransitionModel> %s<Tuples> 2 1 0 0 0 2 0 1 1 </Tuples> " LOGS "</TransitionModel> " GMMS, states);
    assert_int_equal(read_model(text, NULL), 0);
    assert_string_equal(trl_model_unit(model, 1).name, "phone2");
    snprintf(text, sizeof text, "<TransitionModel> %s<Tuples> 2 1 0 0 1 2 0 1 1 </Tuples> ", states);
    destroy(NULL);
    refuse(text, TRL_EUNSUPPORTED, "chain");
}

static void refused_with_reason(void **state)
{
    (void)state;
#define WITH(topology) "<TransitionModel> <Topology> " topology "</Topology> " TRIPLES LOGS "</TransitionModel> " GMMS
    refuse("", TRL_ECORRUPT, "ends too early");
    refuse("<Nnet>", TRL_EFORMAT, "expected <TransitionModel>");
    refuse(TRANSITIONS "<Nnet3> ", TRL_EUNSUPPORTED, "found <Nnet3>: only GMM models");
    refuse(TRANSITIONS GMMS "more", TRL_EFORMAT, "behind the end");
    refuse(TRANSITIONS "<DIMENSION> 2 <NUMPDFS> 2 " GMM1, TRL_ECORRUPT, "ends too early");
    refuse(TRANSITIONS "<DIMENSION> 3 <NUMPDFS> 2 " GMM1 GMM2, TRL_EFORMAT, "do not fit");
    refuse(TRANSITIONS "<DIMENSION> 2 <NUMPDFS> 1 " GMM1, TRL_ECORRUPT, "tied state");
    refuse(TRANSITIONS "<DIMENSION> 0 ", TRL_EFORMAT, "dimension");
    refuse(WITH(""), TRL_EFORMAT, "without phones");
    refuse(WITH(ENTRY("1", ONE_STATE)), TRL_EFORMAT, "does not have");
    refuse(WITH(ENTRY("1 3", ONE_STATE)), TRL_EUNSUPPORTED, "phone 3 of 2");
    refuse(WITH(ENTRY("1 1", ONE_STATE)), TRL_EUNSUPPORTED, "one topology each");
    refuse(WITH(ENTRY("0", ONE_STATE)), TRL_EFORMAT, "from 1");
    refuse(WITH(ENTRY("1 2", "<State> 1 </State>")), TRL_EFORMAT, "in order");
    refuse(WITH(ENTRY("1 2", "<State> 0 </State>")), TRL_EFORMAT, "states that emit");
    refuse(WITH(ENTRY("1 2", "<State> 0 <Transition> 1 1 </State> <State> 1 </State>")), TRL_EUNSUPPORTED,
           "emits nothing");
    refuse(WITH(ENTRY("1 2", "<State> 0 <PdfClass> 0 <Transition> 7 1 </State> <State> 1 </State>")), TRL_EFORMAT,
           "does not exist");
    refuse("<TransitionModel> " TOPOLOGY "<Triples> 2 1 0 0 2 1 1 </Triples> ", TRL_EFORMAT, "does not have");
    refuse("<TransitionModel> " TOPOLOGY "<Triples> 2 2 0 0 1 0 1 </Triples> " LOGS "</TransitionModel> " GMMS,
           TRL_ECORRUPT, "order");
    refuse("<TransitionModel> " TOPOLOGY TRIPLES "<LogProbs> [ 0 -1 ]\n", TRL_EFORMAT, "4 transitions");
    refuse("<TransitionModel> " TOPOLOGY TRIPLES "<LogProbs> [ 0 -1 -1 -1 nan ]\n", TRL_ENUMBER, "nan");
    refuse("<TransitionModel> " TOPOLOGY TRIPLES "<LogProbs> [ 0 -1 -1 -1 -1 ]\n</LogProbs> </TransitionModel> " GMMS,
           TRL_ECORRUPT, "sum up");
    refuse_named(TRANSITIONS GMMS, "a 1\n", TRL_EFORMAT, "phone 2 of the model has no name");
    refuse_named(TRANSITIONS GMMS, "a 1\nb\n", TRL_EFORMAT, "phones.txt:2:");
    refuse_named(TRANSITIONS GMMS, "a 1\na 2\n", TRL_EFORMAT, "same name");
    refuse_named(TRANSITIONS GMMS, "a 1\nb 1\n", TRL_EFORMAT, "two names");
}

/* A unit that can be skipped, or entered at its second state, is no Kaldi phone. */
static void free_entries_are_refused(void **state)
{
    (void)state;
    int refused = 0, written = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        trl_model *m = foreign_model(seed, 1);
        int plain = 1;
        for (int32_t u = 0; u < trl_model_units(m); u++)
            plain = plain && trl__unit_topology(m, u)->first[1] == 1;
        int code = trl_model_write_kaldi(m, temp_path("kaldi"), 1, &err);
        assert_int_equal(code, plain ? 0 : TRL_EUNSUPPORTED);
        refused += code < 0;
        written += code == 0;
        trl_model_destroy(m);
    }
    assert_true(refused > 0 && written > 0);
}

static void allocation_failures(void **state)
{
    (void)state;
    int code = -1;
    for (long n = 1; code < 0 && n < 1000; n++) {
        trl__source source;
        trl_model *out = NULL;
        static const char text[] = TRANSITIONS GMMS;
        assert_int_equal(trl__source_from_memory("mdl", text, sizeof text - 1, &source, &err), 0);
        trl__memory_fail_after(n);
        code = trl__kaldi_model_read(&source, NULL, NULL, NULL, &out, &err);
        if (code == 0)
            code = trl_model_write_kaldi(out, temp_path("failing"), 1, &err);
        trl__memory_fail_after(0);
        if (code < 0 && code != TRL_ENOMEM)
            fail_msg("%ld: %s", n, err.text);
        trl_model_destroy(out);
        trl__source_close(&source);
    }
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(small_model, destroy),
        cmocka_unit_test_teardown(tuples, destroy),
        cmocka_unit_test_teardown(refused_with_reason, destroy),
        cmocka_unit_test(free_entries_are_refused),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
