/* The fit of words and sound: by its definition on random utterances, and which of many stand out. */
#include "align_case.h"
#include "align/fit.h"
#include "random_tree.h"

static void make_case(align_case *c, uint64_t number, int least_frames, int most_frames)
{
    dice d = {.seed = 17, .stream = number};
    trl_model_options o = trl_model_defaults();
    int32_t words[8];
    int phones = roll_int(&d, 2, 16); /* fewer tied states than there are rivals, and more */
    *c = (align_case){.lexicon = random_lexicon(&d, 20, phones, 2, 4)};
    must(trl_model_create(c->lexicon, NULL, 3, &o, &c->model, &err));
    randomise_mixtures(c->model, &d, 3);
    if (number % 2 == 1)
        give_tree(c->model, &d, 3, 1, 3);
    for (int64_t i = 0; i < trl_model_gaussians(c->model) * 3; i++)
        c->model->variance[i] *= 0.2f; /* sharp: some scores are far off */
    open_case(c, "cpu");
    int count = roll_int(&d, 1, 8);
    for (int i = 0; i < count; i++)
        words[i] = roll_int(&d, number % 3 == 0 ? TRL__WORD_NOISE : 0, (int)trl_lexicon_words(c->lexicon) - 1);
    say(c, words, (size_t)count);
    c->frames = random_frames(&d, roll_int(&d, least_frames, most_frames), 3);
    begin_case(c);
}

static double behind(double best, double score)
{
    return fmin(best - score, 50);
}

/* `scores`: by frame and tied state. */
static double define_fit(const align_case *c, const trl_matrix *scores, int32_t *frames)
{
    const int32_t *arcs, *path;
    int32_t last, states = c->model->tied_states, rivals = states < 32 ? states : 32;
    double of_path = 0, of_rivals = 0;
    *frames = 0;
    path = trl__aligner_path(c->aligner, &arcs, &last);
    for (size_t t = 0; t < scores->rows; t++) {
        const float *row = trl_matrix_row(scores, t);
        const trl__graph_phone *phone = &c->graph.phone[c->graph.node_phone[path[t]]];
        if (strcmp(trl_model_unit(c->model, phone->unit).name, "SPN") == 0) /* a word of unknown pronunciation */
            continue;
        ++*frames;
        double own = (double)row[c->graph.node_tied[path[t]]], best = own;
        for (int32_t r = 0; r < rivals; r++)
            best = fmax(best, (double)row[r * states / rivals]);
        for (int32_t r = 0; r < rivals; r++)
            of_rivals += behind(best, (double)row[r * states / rivals]) / rivals;
        of_path += behind(best, own);
    }
    return *frames > 0 ? 1 - of_path / of_rivals : 1;
}

static trl_matrix all_scores(const align_case *c)
{
    trl_matrix scores = {0};
    must(trl_matrix_resize(&scores, c->frames.rows, (size_t)c->model->tied_states, &err));
    for (size_t t = 0; t < scores.rows; t++)
        for (int32_t s = 0; s < c->model->tied_states; s++)
            trl_matrix_row(&scores, t)[s] = (float)state_score(c->model, s, trl_matrix_row(&c->frames, t));
    return scores;
}

static int check_case(uint64_t number, int least_frames, int most_frames)
{
    align_case c;
    trl__rivals rivals;
    double fit;
    int32_t frames, judged;
    make_case(&c, number, least_frames, most_frames);
    trl__rivals_choose(&rivals, c.model);
    int aligned = search_case(&c, TRL_MARGIN_AUTO, 1e30, NULL, 0).status == TRL__ALIGNED;
    if (aligned) {
        trl_matrix scores = all_scores(&c);
        must(trl__aligner_fit(c.aligner, &rivals, &fit, &frames, &err));
        assert_float_equal(fit, define_fit(&c, &scores, &judged), 1e-4);
        assert_int_equal(frames, judged);
        must(trl__aligner_begin_likelihoods(c.aligner, &scores, 0.5, &c.graph, &err));
        assert_int_equal(search_case(&c, TRL_MARGIN_AUTO, 1e30, NULL, 0).status, TRL__ALIGNED);
        must(trl__aligner_fit(c.aligner, &rivals, &fit, &frames, &err));
        for (size_t t = 0; t < scores.rows; t++)
            for (int32_t s = 0; s < c.model->tied_states; s++)
                trl_matrix_row(&scores, t)[s] *= 0.5f;
        assert_float_equal(fit, define_fit(&c, &scores, &judged), 1e-4);
        assert_int_equal(frames, judged);
        trl_matrix_free(&scores);
    }
    close_case(&c);
    return aligned;
}

static void the_fit_is_as_defined(void **state)
{
    (void)state;
    int aligned = 0;
    for (uint64_t i = 0; i < 1000; i++)
        aligned += check_case(i, 1, 120);
    assert_in_range(aligned, 300, 999);
}

/* More than one piece: at the edge, and far beyond it. */
static void long_utterances_too(void **state)
{
    (void)state;
    assert_true(check_case(2000, 3000, 3000));
    assert_true(check_case(2001, 3001, 3001));
    assert_true(check_case(2002, 7000, 7000));
}

/* ---- who stands out ---- */

static const trl_utterance somebody = {.id = "somebody", .source = "text", .line = 3};

/* `count` fits spread evenly over 0.95 … 0.97, then one of `frames`. Returns how many are named. */
static size_t named(size_t count, double fit, int32_t frames)
{
    trl__fits fits = {0};
    trl_findings *findings;
    must(trl_findings_create(&findings, &err));
    for (size_t i = 0; i < count; i++)
        must(trl__fits_add(&fits, &somebody, 0.95 + 0.02 * (double)i / (double)(count - 1), 500, &err));
    must(trl__fits_add(&fits, &somebody, fit, frames, &err));
    must(trl__fits_judge(&fits, findings, &err));
    size_t result = trl_findings_count(findings);
    for (size_t i = 0; i < result; i++) {
        const trl_finding *f = trl_findings_get(findings, i);
        assert_int_equal(f->kind, TRL_FINDING_MISFIT);
        assert_string_equal(f->utterance, "somebody");
        assert_string_equal(f->file, "text");
    }
    trl_findings_destroy(findings);
    trl__fits_free(&fits);
    return result;
}

/* Median 0.96, median deviation 0.005: the bound is 6 * 1.4826 * 0.005 = 0.0445 below, so 0.06 counts. */
static void one_of_many(void **state)
{
    (void)state;
    assert_int_equal(named(2001, 0.902, 500), 0);
    assert_int_equal(named(2001, 0.898, 500), 1);
    assert_int_equal(named(2001, 0.898, 90), 0);
    assert_int_equal(named(2001, 0.85, 25), 0); /* 0.11 times a half */
    assert_int_equal(named(2001, 0.83, 25), 1);
}

/* Fits all over the place: nobody is far from the rest. */
static void a_wide_spread_names_nobody(void **state)
{
    (void)state;
    trl__fits fits = {0};
    trl_findings *findings;
    must(trl_findings_create(&findings, &err));
    for (int i = 0; i <= 1000; i++)
        must(trl__fits_add(&fits, &somebody, 0.6 + 0.39 * i / 1000, 500, &err));
    must(trl__fits_judge(&fits, findings, &err));
    assert_int_equal(trl_findings_count(findings), 0);
    trl_findings_destroy(findings);
    trl__fits_free(&fits);
}

static void one_of_few(void **state)
{
    (void)state;
    assert_int_equal(named(5, 0.76, 500), 0);
    assert_int_equal(named(5, 0.74, 500), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fit_is_as_defined),
        cmocka_unit_test(long_utterances_too),
        cmocka_unit_test(one_of_many),
        cmocka_unit_test(a_wide_spread_names_nobody),
        cmocka_unit_test(one_of_few),
    };
    return RUN(tests);
}
