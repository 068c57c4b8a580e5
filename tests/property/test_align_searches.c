/* Random utterances of some hundred nodes and frames, half of them with contexts: all ways to search agree, and none depends on what was searched before. */
#include "align_case.h"
#include "random_tree.h"

static void make_case(align_case *c, uint64_t number, int most_words, int most_frames)
{
    dice d = {.seed = 5, .stream = number};
    trl_model_options o = trl_model_defaults();
    int32_t words[20];
    *c = (align_case){.lexicon = random_lexicon(&d, 6, 5, 3, 4)};
    o.states = roll_int(&d, 1, 3);
    o.silence_states = roll_int(&d, 1, 5);
    o.silence_topology = TRL_TOPOLOGY_ERGODIC;
    must(trl_model_create(c->lexicon, NULL, 3, &o, &c->model, &err));
    if (number % 2 == 1)
        give_tree(c->model, &d, 3, 1, 4);
    if (roll(&d) < 0.3f)
        set_entries(&c->model->topology[0], 0, 0.4f);
    if (roll(&d) < 0.2f)
        set_entries(&c->model->topology[1], 0, 0.2f);
    randomise_transitions(c->model, &d);
    randomise_mixtures(c->model, &d, 2);
    open_case(c, "cpu");
    int count = roll_int(&d, 0, most_words);
    for (int i = 0; i < count; i++)
        words[i] = roll_int(&d, 0, 5);
    say(c, words, (size_t)count);
    c->frames = random_frames(&d, roll_int(&d, 1, most_frames), 3);
    begin_case(c);
}

static void assert_same(trl__search_result a, trl__search_result b, const char *what, uint64_t number)
{
    if (a.status != b.status || (a.status == TRL__ALIGNED && fabs(a.log_likelihood - b.log_likelihood) > 1e-3))
        fail_msg("case %llu, %s: status %d, %.5f instead of %d, %.5f", (unsigned long long)number, what, (int)b.status,
                 b.log_likelihood, (int)a.status, a.log_likelihood);
}

static trl__run *copy_runs(trl__search_result r)
{
    trl__run *runs = malloc((r.run_count + 1) * sizeof *runs);
    memcpy(runs, r.runs, r.run_count * sizeof *runs);
    return runs;
}

static void test_endless_beam_is_full(void **state)
{
    (void)state;
    int aligned = 0;
    for (uint64_t i = 0; i < 600; i++) {
        align_case c;
        make_case(&c, i, 8, 150);
        trl__search_result full = search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
        trl__search_result beam = search_case(&c, TRL_MARGIN_AUTO, 1e30, NULL, 0);
        assert_same(full, beam, "endless beam", i);
        assert_int_equal(beam.redone, 0);
        aligned += full.status == TRL__ALIGNED;
        close_case(&c);
    }
    assert_in_range(aligned, 300, 599);
}

/* A narrow beam finds a path where there is one, never a better one than the best; its score is that of its path. */
static void test_narrow_beams(void **state)
{
    (void)state;
    int worse = 0, redone = 0;
    for (uint64_t i = 0; i < 400; i++) {
        align_case c;
        make_case(&c, 1000 + i, 8, 150);
        trl__search_result full = search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
        trl__search_result beam = search_case(&c, TRL_MARGIN_AUTO, 3, NULL, 0);
        assert_int_equal(full.status, beam.status);
        if (full.status == TRL__ALIGNED) {
            assert_true(beam.log_likelihood < full.log_likelihood + 1e-3);
            worse += beam.log_likelihood < full.log_likelihood - 1e-3;
            redone += beam.redone;
            trl__run *runs = copy_runs(beam);
            must(trl__aligner_set_path(c.aligner, runs, beam.run_count, &err)); /* a legal path */
            free(runs);
        }
        close_case(&c);
    }
    assert_true(worse > 0 && redone > 0);
}

static void set_mean(trl_model *model, const char *unit, float mean)
{
    for (int s = 0; s < 3; s++)
        model->mean[trl__model_triple(model, trl_model_find_unit(model, unit), s)->tied] = mean;
}

/* W0 is A 25 times or B, W1 is C, W2 is D ten times. B and C are said in the first six frames, then something that could be A or D: behind
 * the first tile paths are alive in the long W0 and in W2, none is in W1, and none can reach it within the next tile.
 * Only W2's fit in the end. */
static void test_beam_keeps_both_sides_of_a_dead_word(void **state)
{
    (void)state;
    char text[400] = "W0 B\nW1 C\nW2 D D D D D D D D D D\nW0";
    for (int i = 0; i < 25; i++)
        strcat(text, " A");
    align_case c = {.lexicon = lexicon_of(strcat(text, "\n"))};
    trl_model_options o = trl_model_defaults();
    must(trl_model_create(c.lexicon, NULL, 1, &o, &c.model, &err));
    set_mean(c.model, "B", 3);
    set_mean(c.model, "C", 6);
    set_mean(c.model, "SIL", 30);
    open_case(&c, "cpu");
    say(&c, (const int32_t[]){0, 1, 2}, 3);
    must(trl_matrix_resize(&c.frames, 100, 1, &err));
    for (size_t t = 0; t < 100; t++)
        c.frames.data[t] = t < 3 ? 3 : t < 6 ? 6 : 0;
    begin_case(&c);
    trl__search_result full = search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
    trl__search_result beam = search_case(&c, TRL_MARGIN_AUTO, 80, NULL, 0);
    assert_int_equal(full.status, TRL__ALIGNED);
    assert_same(full, beam, "beam", 0);
    assert_int_equal(beam.redone, 0);
    close_case(&c);
}

/* From the best path the margin finds it again; from another one something at least as good as that. */
static void test_margins_around_a_path(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        align_case c;
        make_case(&c, 2000 + i, 8, 150);
        trl__search_result full = search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
        if (full.status == TRL__ALIGNED) {
            trl__run *best = copy_runs(full);
            assert_same(full, search_case(&c, 0, 0, best, full.run_count), "no margin around the best path", i);
            assert_same(full, search_case(&c, 7, 0, best, full.run_count), "margin 7 around the best path", i);
            assert_same(full, search_case(&c, TRL_MARGIN_AUTO, 0, best, full.run_count), "auto", i);
            trl__search_result beam = search_case(&c, TRL_MARGIN_AUTO, 1, NULL, 0);
            trl__run *rough = copy_runs(beam);
            trl__search_result near = search_case(&c, 5, 0, rough, beam.run_count);
            assert_true(near.log_likelihood > beam.log_likelihood - 1e-3);
            assert_true(near.log_likelihood < full.log_likelihood + 1e-3);
            free(rough);
            free(best);
        }
        close_case(&c);
    }
}

/* From a rough path: what is found is away from the edges of where it was looked for, or was looked for in full. */
static void test_auto_is_guarded(void **state)
{
    (void)state;
    int redone = 0, narrow = 0;
    for (uint64_t i = 0; i < 400; i++) {
        align_case c;
        make_case(&c, 4000 + i, 12, 300);
        trl__search_result equal;
        must(trl__aligner_equal_path(c.aligner, &equal, &err));
        if (equal.status == TRL__ALIGNED) {
            trl__run *rough = copy_runs(equal);
            int32_t *first = malloc(2 * (size_t)c.graph.nodes * sizeof *first);
            trl__bands bands = {first, first + c.graph.nodes};
            trl__search_result found = search_case(&c, TRL_MARGIN_AUTO, 0, rough, equal.run_count);
            redone += found.redone;
            narrow += found.last_margin >= 0;
            if (found.last_margin >= 0) {
                define_auto_bands(&c, rough, equal.run_count, found, 4, bands);
                check_guard(&c, found, bands);
            }
            free(first);
            free(rough);
        }
        close_case(&c);
    }
    assert_true(redone > 50 && narrow > 50);
}

/* One aligner for many utterances gives what a new one gives, bit by bit. */
static void test_reuse(void **state)
{
    (void)state;
    align_case c;
    make_case(&c, 3000, 8, 150);
    trl__aligner *old = c.aligner;
    for (uint64_t i = 0; i < 200; i++) {
        dice d = {.seed = 6, .stream = i};
        int32_t words[20];
        int count = roll_int(&d, 0, 10);
        for (int w = 0; w < count; w++)
            words[w] = roll_int(&d, 0, 5);
        say(&c, words, (size_t)count);
        trl_matrix_free(&c.frames);
        c.frames = random_frames(&d, roll_int(&d, 1, 200), 3);
        trl__search_result results[2];
        float posterior[2][200];
        for (int fresh = 0; fresh < 2; fresh++) {
            c.aligner = old;
            if (fresh)
                must(trl__aligner_create(c.device, &c.aligner, &err));
            begin_case(&c);
            results[fresh] = search_case(&c, i % 2 ? TRL_MARGIN_FULL : TRL_MARGIN_AUTO, 20, NULL, 0);
            trl__posterior_options o = {.margin = 10, .acoustic_scale = 0.5, .slot = posterior[fresh]};
            if (results[fresh].status == TRL__ALIGNED)
                must(trl__aligner_posteriors(c.aligner, &o, NULL, &err));
            if (fresh)
                trl__aligner_destroy(c.aligner);
        }
        assert_int_equal(results[0].status, results[1].status);
        assert_memory_equal(&results[0].log_likelihood, &results[1].log_likelihood, sizeof(double));
        if (results[0].status == TRL__ALIGNED)
            assert_memory_equal(posterior[0], posterior[1], c.frames.rows * sizeof(float));
    }
    c.aligner = old;
    close_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endless_beam_is_full),
        cmocka_unit_test(test_narrow_beams),
        cmocka_unit_test(test_beam_keeps_both_sides_of_a_dead_word),
        cmocka_unit_test(test_margins_around_a_path),
        cmocka_unit_test(test_auto_is_guarded),
        cmocka_unit_test(test_reuse),
    };
    return RUN(tests);
}
