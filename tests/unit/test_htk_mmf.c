/* HTK's model files: every kind of macro, both forms, what is shared, and what is refused and why. */
#include "foreign_model.h"
#include "base/text_file.h"
#include "model/htk_mmf.h"

static trl_error err;

#define OPTIONS "~o <STREAMINFO> 1 2 <VECSIZE> 2<NULLD><MFCC_E><DIAGC>\n"
#define MATRIX3 "<TRANSP> 3 0 1 0  0 0.6 0.4  0 0 0\n"
#define GAUSSIAN(a, b) "<MEAN> 2 " a " <VARIANCE> 2 " b "\n"

static trl_model *model;

static int read_list(const char *text, size_t size, const char *list)
{
    trl__mmf_set set;
    trl__text names = {0};
    model = NULL;
    int code = trl__mmf_parse("test", text, size, &set, &err);
    if (code < 0)
        return code;
    if (list)
        assert_int_equal(trl__text_from_memory("list", list, strlen(list), &names, &err), 0);
    code = trl__mmf_model(&set, "test", list ? &names : NULL, "list", &model, &err);
    trl__text_free(&names);
    trl__mmf_set_free(&set);
    return code;
}

static void read_text(const char *text)
{
    if (read_list(text, strlen(text), NULL) < 0)
        fail_msg("%s", err.text);
}

static void refuse(const char *text, int code, const char *message)
{
    assert_int_equal(read_list(text, strlen(text), NULL), code);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
}

static int destroy(void **state)
{
    (void)state;
    trl_model_destroy(model);
    model = NULL;
    return 0;
}

static void expect_gaussian(int32_t tied, int32_t component, float weight, const float mean[2], const float variance[2])
{
    trl_gaussian g = trl_model_gaussian(model, tied, component);
    assert_true(fabsf(g.weight - weight) < 1e-6F);
    assert_memory_equal(g.mean, mean, 2 * sizeof(float));
    assert_memory_equal(g.variance, variance, 2 * sizeof(float));
}

/* ---- What is read ---- */

static void one_hmm(void **state)
{
    (void)state;
    read_text(OPTIONS "~h \"a\" <BeginHMM> <NumStates> 4\n"
                      "<State> 2 " GAUSSIAN("1 -2.5", "1e-1 4") "<State> 3 <NumMixes> 2 <Mixture> 1 0.25 " GAUSSIAN(
                          "0 0", "1 1") "<GConst> 99 <Mixture> 2 0.75 " GAUSSIAN("3 4", "5 6") //
              "<TransP> 4  0 1 0 0  0 0.5 0.3 0.2  0 0 0.9 0.1  0 0 0 0 <EndHMM>");
    assert_int_equal(trl_model_dim(model), 2);
    assert_int_equal(trl_model_units(model), 1);
    assert_string_equal(trl_model_unit(model, 0).name, "a");
    assert_int_equal(trl_model_unit(model, 0).states, 2);
    assert_int_equal(trl_model_unit(model, 0).kind, TRL_UNIT_PHONE);
    assert_int_equal(trl_model_tied_states(model), 2);
    assert_int_equal(trl_model_components(model, 1), 2);
    expect_gaussian(0, 0, 1, (const float[]){1, -2.5F}, (const float[]){0.1F, 4});
    expect_gaussian(1, 0, 0.25F, (const float[]){0, 0}, (const float[]){1, 1});
    expect_gaussian(1, 1, 0.75F, (const float[]){3, 4}, (const float[]){5, 6});
    static const trl_transition expected[] = {
        {0, 0, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, TRL_EXIT, 0, 0}, {0, 1, 1, 1, 0}, {0, 1, TRL_EXIT, 1, 0}};
    static const double probability[] = {0.5, 0.3, 0.2, 0.9, 0.1};
    assert_int_equal(trl_model_transitions(model), 5);
    for (int32_t id = 1; id <= 5; id++) {
        trl_transition t = trl_model_transition(model, id), *e = (trl_transition *)(uintptr_t)&expected[id - 1];
        assert_true(t.unit == e->unit && t.state == e->state && t.to == e->to && t.tied == e->tied);
        assert_true(fabs(exp((double)t.log_probability) - probability[id - 1]) < 1e-6);
    }
    assert_non_null(strstr(trl_model_provenance(model), "MFCC_E"));
}

/* ~u and ~v inside of ~m, ~m inside of ~s, ~s and ~t in two HMMs. */
static void macros(void **state)
{
    (void)state;
    read_text(OPTIONS "~v \"varFloor1\" <VARIANCE> 2 0.01 0.02\n"
                      "~u \"u\" <MEAN> 2 7 8\n"
                      "~v 'v 1' <VARIANCE> 2 9 10\n"
                      "~m \"m\\\"\\061\" ~u \"u\" ~v \"v 1\" <GCONST> 1\n"
                      "~s \"s\" <NUMMIXES> 3 <MIXTURE> 1 0.5 ~m \"m\\\"1\" <MIXTURE> 3 0.5 " GAUSSIAN(
                          "1 2", "3 4") "~t \"t\" " MATRIX3
                                        "~h \"a\" <BEGINHMM> <NUMSTATES> 3 <STATE> 2 ~s \"s\" ~t \"t\" "
                                        "<ENDHMM>\n"
                                        "~h \"b\" <BEGINHMM> <NUMSTATES> 3 <STATE> 2 ~s \"s\" ~t \"t\" <ENDHMM>\n"
                                        "~h \"c\" <BEGINHMM> <NUMSTATES> 3 <STATE> 2 " GAUSSIAN("1 2", "3 4") MATRIX3
              "<ENDHMM>\n");
    assert_int_equal(trl_model_units(model), 3);
    assert_int_equal(trl_model_tied_states(model), 2);
    assert_int_equal(trl_model_components(model, 0),
                     2); /* the second of three is not there: HTK leaves out what died */
    expect_gaussian(0, 0, 0.5F, (const float[]){7, 8}, (const float[]){9, 10});
    expect_gaussian(0, 1, 0.5F, (const float[]){1, 2}, (const float[]){3, 4});
    assert_int_equal(model->triple[0].tied, 0);
    assert_int_equal(model->triple[1].tied, 0);
    assert_int_equal(model->triple[2].tied, 1);
    assert_int_equal(model->triple[0].pool, 0);
    assert_int_equal(model->triple[1].pool, 0);
    assert_int_equal(model->triple[2].pool, 2); /* the same numbers, but its own */
    assert_int_equal(model->topologies, 1);
}

#define HMM3(name, row)                                                                            \
    "~h \"" name "\" <BEGINHMM> <NUMSTATES> 3 <STATE> 2 " GAUSSIAN("0 0", "1 1") "<TRANSP> 3 " row \
                                                                                 " 0 0.6 0.4 0 0 0 <ENDHMM>\n"

/* Silence first, those that can be skipped behind; the entry's probabilities are kept. */
static void order_and_entry(void **state)
{
    (void)state;
    read_text(OPTIONS HMM3("a", "0 1 0") HMM3("SPN", "0 1 0") HMM3("sp", "0 0.3 0.7") HMM3("Sil", "0 1 0"));
    static const char *const names[] = {"Sil", "sp", "SPN", "a"};
    static const trl_unit_kind kinds[] = {TRL_UNIT_SILENCE, TRL_UNIT_SILENCE, TRL_UNIT_NOISE, TRL_UNIT_PHONE};
    for (int32_t u = 0; u < 4; u++) {
        assert_string_equal(trl_model_unit(model, u).name, names[u]);
        assert_int_equal(trl_model_unit(model, u).kind, kinds[u]);
    }
    const trl__topology *t = trl__unit_topology(model, 1);
    assert_int_equal(t->first[1], 2);
    assert_int_equal(t->arcs[0].to, 0);
    assert_true(t->arcs[0].probability == 0.3F);
    assert_int_equal(t->arcs[1].to, TRL_EXIT);
    assert_true(t->arcs[1].probability == 0.7F);
}

static void list_of_names(void **state)
{
    (void)state;
    const char *text = OPTIONS HMM3("a", "0 1 0") HMM3("b", "0 1 0") HMM3("unused", "0 1 0");
    assert_int_equal(read_list(text, strlen(text), "x-a+y a\nb\n\n\"z\" a\n"), 0);
    assert_int_equal(trl_model_units(model), 3);
    assert_string_equal(trl_model_unit(model, 0).name, "x-a+y");
    assert_string_equal(trl_model_unit(model, 2).name, "z");
    assert_int_equal(trl_model_tied_states(model), 2);
    assert_int_equal(model->triple[2].tied, model->triple[0].tied);
    assert_int_equal(model->triple[2].pool, 0);
    destroy(NULL);
    assert_int_equal(read_list(text, strlen(text), "a\nq a\nr c\n"), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "list:3: there is no HMM \"c\""));
    assert_int_equal(read_list(text, strlen(text), "a\na b\n"), TRL_EFORMAT);
    assert_non_null(strstr(err.text, "two units a"));
    assert_int_equal(read_list(text, strlen(text), "\n"), TRL_EFORMAT);
}

/* <NUMSTATES> among the options holds for HMMs without their own; a file may hold an HMM without ~h; <USE> and <RCLASS> are passed. */
static void old_habits(void **state)
{
    (void)state;
    read_text(
        "~o <VECSIZE> 1 <USER> <NUMSTATES> 3 <HMMSETID> id7\n"
        "<BEGINHMM> <USE> \"x\" <STATE> 2 <SWEIGHTS> 1 1.0 <STREAM> 1 <RCLASS> 2 <MEAN> 1 5 <VARIANCE> 1 6 " MATRIX3
        "<ENDHMM>");
    assert_string_equal(trl_model_unit(model, 0).name, "test");
    assert_true(trl_model_gaussian(model, 0, 0).mean[0] == 5);
}

/* Symbols are a colon and HTK's number, numbers big-endian; laid out by hand. */
static void binary_form(void **state)
{
    (void)state;
    static const char bytes[] = "~o:\5\0\1\0\2:\6\0\2:\7<MFCC_E><DIAGC>"
                                "~t \"t\":\33\0\3\0\0\0\0\x3f\x80\0\0\0\0\0\0"         /* 0 1 0 */
                                "\0\0\0\0\x3f\0\0\0\x3f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" /* 0 0.5 0.5, 0 0 0 */
                                "~s \"s\":\3\0\2:\21\0\1\x3e\x80\0\0"                  /* two components; 1: 0.25 */
                                ":\24\0\2\x3f\x80\0\0\xc0\0\0\0:\25\0\2\x3f\0\0\0\x40\x80\0\0:\30\x42\xc6\0\0"
                                ":\21\0\2\x3f\x40\0\0:\24\0\2\0\0\0\0\0\0\0\0:\25\0\2\x3f\x80\0\0\x3f\x80\0\0"
                                "~h \"a\":\0:\4\0\3:\17\0\2~s \"s\"~t \"t\":\2";
    if (read_list(bytes, sizeof bytes - 1, NULL) < 0)
        fail_msg("%s", err.text);
    expect_gaussian(0, 0, 0.25F, (const float[]){1, -2}, (const float[]){0.5F, 4});
    expect_gaussian(0, 1, 0.75F, (const float[]){0, 0}, (const float[]){1, 1});
    assert_true(fabs(exp((double)trl_model_transition(model, 2).log_probability) - 0.5) < 1e-7);
    assert_int_equal(trl_model_transition(model, 2).to, TRL_EXIT);

    /* Ours is the same, but for names and the constants: 2 log 2 pi + log 0.5 + log 4 = 4.368901… = 408bce0a; + 0: 406b3f8e. */
    destroy(NULL);
    assert_int_equal(read_list(bytes, sizeof bytes - 1, "a\nb a\n"), 0);
    assert_int_equal(trl_model_write_htk(model, temp_path("ours"), 1, &err), 0);
    static const char written[] = "~o:\5\0\1\0\2:\6\0\2:\7<MFCC_E><DIAGC>"
                                  "~t \"T_a\":\33\0\3\0\0\0\0\x3f\x80\0\0\0\0\0\0"
                                  "\0\0\0\0\x3f\0\0\0\x3f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "~s \"S_a_2\":\3\0\2:\21\0\1\x3e\x80\0\0"
                                  ":\24\0\2\x3f\x80\0\0\xc0\0\0\0:\25\0\2\x3f\0\0\0\x40\x80\0\0:\30\x40\x8b\xce\x0a"
                                  ":\21\0\2\x3f\x40\0\0:\24\0\2\0\0\0\0\0\0\0\0:\25\0\2\x3f\x80\0\0\x3f\x80\0\0"
                                  ":\30\x40\x6b\x3f\x8e"
                                  "~h \"a\":\0:\4\0\3:\17\0\2~s \"S_a_2\"~t \"T_a\":\2"
                                  "~h \"b\":\0:\4\0\3:\17\0\2~s \"S_a_2\"~t \"T_a\":\2";
    temp_expect("ours", written, sizeof written - 1);
}

static void text_form(void **state)
{
    (void)state;
    read_text(OPTIONS HMM3("a", "0 1 0"));
    assert_int_equal(trl_model_write_htk(model, temp_path("ours"), 0, &err), 0);
    const char *expected =
        "~o\n<STREAMINFO> 1 2\n<VECSIZE> 2<NULLD><MFCC_E><DIAGC>\n~h \"a\"\n<BEGINHMM>\n<NUMSTATES> 3\n"
        "<STATE> 2\n<MEAN> 2\n 0 0\n<VARIANCE> 2\n 1 1\n<GCONST> 3.675754\n<TRANSP> 3\n 0 1 0\n 0 0.6 0.4\n"
        " 0 0 0\n<ENDHMM>\n";
    temp_expect("ours", expected, strlen(expected));
}

/* ---- What is refused ---- */

#define BEGIN OPTIONS "~h \"a\" <BEGINHMM> <NUMSTATES> 3 "
#define STATE "<STATE> 2 " GAUSSIAN("0 0", "1 1")

static void refused_with_reason(void **state)
{
    (void)state;
    refuse("", TRL_EFORMAT, "no HMM");
    refuse("hello", TRL_EFORMAT, "test:1: expected a symbol");
    refuse("~o <FOO>", TRL_EUNSUPPORTED, "unknown symbol <FOO>");
    refuse("~o\n<STREAMINFO> 2 1 1", TRL_EUNSUPPORTED, "test:2: several streams");
    refuse("~o <VECSIZE> 2 <FULLC>", TRL_EUNSUPPORTED, "full covariances");
    refuse("~o <VECSIZE> 2 <INVDIAGC>", TRL_EUNSUPPORTED, "inverse variances");
    refuse("~o <VECSIZE> 2 <POISSOND>", TRL_EUNSUPPORTED, "duration");
    refuse("~o <VECSIZE> 2 <VECSIZE> 3", TRL_EFORMAT, "vectors of 2 and of 3");
    refuse("~h \"a\" <BEGINHMM> <NUMSTATES> 3 " STATE, TRL_EFORMAT, "no <VECSIZE>");
    refuse(OPTIONS "~i \"x\"", TRL_EUNSUPPORTED, "full covariances");
    refuse(OPTIONS "~r \"x\"", TRL_EUNSUPPORTED, "adaptation");
    refuse(OPTIONS "~Q \"x\"", TRL_EUNSUPPORTED, "~Q");
    refuse(OPTIONS "~s \"s\" <TMIX> x 0.5 0.5", TRL_EUNSUPPORTED, "tied-mixture");
    refuse(OPTIONS "~m \"m\" <MEAN> 2 1 2 <INVCOVAR> 2 1 2 3", TRL_EUNSUPPORTED, "full covariances");
    refuse(OPTIONS "~m \"m\" <MEAN> 3 1 2 3", TRL_EFORMAT, "3 numbers where <VECSIZE> says 2");
    refuse(OPTIONS "~m \"m\" " GAUSSIAN("0 0", "1 -1"), TRL_EFORMAT, "-1 in dimension 1");
    refuse(OPTIONS "~u \"m\" <MEAN> 2 1 x", TRL_EFORMAT, "expected a number, found 'x'");
    refuse(OPTIONS "~u \"m\" <MEAN> 2 1 1e99", TRL_ENUMBER, "too large");
    refuse(OPTIONS "~u \"m\" <MEAN> 2 1", TRL_ECORRUPT, "the file ends");
    refuse(OPTIONS "~u \"m\" <MEAN> 2 1 2 ~u \"m\" <MEAN> 2 1 2", TRL_EFORMAT, "defined twice");
    refuse(OPTIONS "~u \"m <MEAN>", TRL_EFORMAT, "quote");
    refuse(BEGIN "<STATE> 2 ~s \"q\"", TRL_EFORMAT, "~s \"q\" is used before");
    refuse(BEGIN "<STATE> 3 ~s \"q\"", TRL_EFORMAT, "state 3");
    refuse(BEGIN STATE STATE, TRL_EFORMAT, "twice");
    refuse(BEGIN MATRIX3, TRL_EFORMAT, "state 2 is missing");
    refuse(BEGIN STATE "<TRANSP> 4 0 1 0 0 0 .5 .5 0 0 0 .5 .5 0 0 0 0 <ENDHMM>", TRL_EFORMAT, "between 4");
    refuse(BEGIN STATE "<TRANSP> 3 0 1 0 0 0.6 0.3 0 0 0 <ENDHMM>", TRL_EFORMAT, "sum up to 0.9");
    refuse(BEGIN STATE "<TRANSP> 3 0 1 0 0.5 0.5 0 0 0 0 <ENDHMM>", TRL_EFORMAT, "from state 2 to 1");
    refuse(BEGIN STATE "<TRANSP> 3 0 1 0 0 1.5 -0.5 0 0 0 <ENDHMM>", TRL_EFORMAT, "probability 1.5");
    refuse(BEGIN STATE MATRIX3, TRL_ECORRUPT, "where <ENDHMM> should be");
    refuse(BEGIN "<STATE> 2 <NUMMIXES> 2 <MIXTURE> 1 0.5 " GAUSSIAN("0 0", "1 1") MATRIX3, TRL_EFORMAT,
           "sum up to 0.5");
    refuse(BEGIN "<STATE> 2 <NUMMIXES> 2 <MIXTURE> 3 0.5 ", TRL_EFORMAT, "component 3 of 2");
    refuse(BEGIN "<DURATION> 2 1 1", TRL_EFORMAT, "state 2 is missing");
    refuse(BEGIN STATE "<DURATION> 2 1 1", TRL_EUNSUPPORTED, "duration");
    refuse(BEGIN STATE "<TRANSP> 3 0 1 0 0 1 0 0 0 0 <ENDHMM>", TRL_ECORRUPT, "exit");
    refuse(OPTIONS HMM3("a", "0 1 0") HMM3("a", "0 1 0"), TRL_EFORMAT, "~h \"a\" is defined twice");
    refuse("~o :\6\1", TRL_ECORRUPT, "at byte");
    refuse("~o :\177", TRL_EUNSUPPORTED, "symbol 127");
    refuse(OPTIONS "~t \"t\" <TRANSP> 30000 0", TRL_ECORRUPT, "the file ends");
    refuse(OPTIONS "~h \"a\" <BEGINHMM> <NUMSTATES> 30000 " STATE, TRL_ECORRUPT, "more states than");
}

/* Whatever allocation fails, it is reported and nothing leaks. */
static void allocation_failures(void **state)
{
    (void)state;
    const char *text = OPTIONS HMM3("sil", "0 1 0") HMM3("a", "0 1 0");
    int failed = 1;
    for (long n = 1; failed && n < 1000; n++) {
        trl__mmf_set set;
        trl_model *out = NULL;
        trl__memory_fail_after(n);
        int code = trl__mmf_parse("test", text, strlen(text), &set, &err);
        if (code == 0) {
            code = trl__mmf_model(&set, "test", NULL, NULL, &out, &err);
            trl__mmf_set_free(&set);
        }
        if (code == 0)
            code = trl_model_write_htk(out, temp_path("out"), 0, &err);
        trl__memory_fail_after(0);
        trl_model_destroy(out);
        failed = code != 0;
        if (failed)
            assert_int_equal(code, TRL_ENOMEM);
    }
    assert_false(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_hmm, destroy),
        cmocka_unit_test_teardown(macros, destroy),
        cmocka_unit_test_teardown(order_and_entry, destroy),
        cmocka_unit_test_teardown(list_of_names, destroy),
        cmocka_unit_test_teardown(old_habits, destroy),
        cmocka_unit_test_teardown(binary_form, destroy),
        cmocka_unit_test_teardown(text_form, destroy),
        cmocka_unit_test_teardown(refused_with_reason, destroy),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
