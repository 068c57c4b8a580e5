/* Uses of pronunciations and pauses: of paths that were made with known ones. */
#include "align_case.h"
#include "align/usage.h"

static align_case c;

static int tear_down(void **state)
{
    (void)state;
    close_case(&c);
    return 0;
}

static void make_model(dice *d)
{
    trl_model_options o = trl_model_defaults();
    c.lexicon = random_lexicon(d, 6, 4, 3, 4);
    must(trl_model_create(c.lexicon, NULL, 2, &o, &c.model, &err));
    open_case(&c, "cpu");
}

/* What a path is to go through. */
typedef struct choices {
    int silence[12], variant[12];
} choices;

/* A path through the graph's nodes of these choices, a few frames in each. */
static size_t make_path(const choices *x, dice *d, trl__run *runs)
{
    size_t count = 0;
    for (int32_t n = 0; n < c.graph.nodes; n++) {
        const trl__graph_phone *phone = &c.graph.phone[c.graph.node_phone[n]];
        if (phone->slot % 2 == 0 ? x->silence[phone->slot / 2] : x->variant[phone->slot / 2] == phone->variant)
            runs[count++] = (trl__run){n, roll_int(d, 1, 3)};
    }
    return count;
}

static void set_path(const trl__run *runs, size_t count)
{
    size_t frames = 0;
    for (size_t i = 0; i < count; i++)
        frames += (size_t)runs[i].frames;
    must(trl_matrix_resize(&c.frames, frames, 2, &err));
    memset(c.frames.data, 0, c.frames.rows * c.frames.stride * sizeof *c.frames.data);
    begin_case(&c);
    must(trl__aligner_set_path(c.aligner, runs, count, &err)); /* it is one */
}

/* One utterance of random words and choices, into `usage`, and by hand into count, *silences, *pauses. */
static void add_utterance(trl__usage *usage, dice *d, double *count, double *silences, double *pauses)
{
    choices x;
    int32_t words[12];
    trl__run runs[400];
    int length = roll_int(d, 1, 10);
    for (int i = 0; i < length; i++) {
        words[i] = roll_int(d, 0, 6) - 1; /* TRL__WORD_NOISE among them */
        size_t variants = words[i] < 0 ? 1 : trl_lexicon_pronunciations(c.lexicon, (size_t)words[i]);
        x.variant[i] = roll_int(d, 0, (int)variants - 1);
        if (words[i] >= 0)
            count[trl_lexicon_first(c.lexicon, (size_t)words[i]) + (size_t)x.variant[i]]++;
    }
    for (int i = 0; i <= length; i++)
        *silences += x.silence[i] = roll_int(d, 0, 2) == 0;
    *pauses += length + 1;
    say(&c, words, (size_t)length);
    size_t run_count = make_path(&x, d, runs);
    set_path(runs, run_count);
    trl__usage_add(usage, &c.graph, words, runs, run_count);
}

static void counts_are_the_paths(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        dice d = {.seed = seed};
        trl__usage *usage[2];
        double count[20] = {0}, silences = 0, pauses = 0;
        make_model(&d);
        for (int i = 0; i < 2; i++)
            must(trl__usage_create(c.lexicon, &usage[i], &err));
        for (int u = 0; u < 60; u++)
            add_utterance(usage[u % 2], &d, count, &silences, &pauses);
        trl__usage_merge(usage[0], usage[1]);
        assert_int_equal(usage[0]->pronunciations, trl_lexicon_first(c.lexicon, 6));
        for (size_t i = 0; i < usage[0]->pronunciations; i++)
            assert_true(usage[0]->pronunciation[i] == count[i]);
        assert_true(usage[0]->silences == silences && usage[0]->pauses == pauses);
        float between = trl__usage_silence(usage[0], 0.5f);
        assert_true(fabs((double)between - (silences + 0.5) / (pauses + 1)) < 1e-6);
        trl__usage_destroy(usage[0]);
        trl__usage_destroy(usage[1]);
        close_case(&c);
    }
}

/* Of silence alone nothing can be learned of pauses. */
static void utterances_without_words(void **state)
{
    (void)state;
    dice d = {.seed = 3};
    trl__usage *usage;
    make_model(&d);
    must(trl__usage_create(c.lexicon, &usage, &err));
    say(&c, NULL, 0);
    trl__usage_add(usage, &c.graph, NULL, &(trl__run){0, 20}, 1);
    assert_true(usage->pauses == 0 && usage->silences == 0);
    assert_true(trl__usage_silence(usage, 0.3f) == 0.3f);
    trl__usage_destroy(usage);
    trl__usage_destroy(NULL);
}

static void silence_keeps_a_choice(void **state)
{
    (void)state;
    trl__usage never = {.silences = 0, .pauses = 1e6}, always = {.silences = 1e6, .pauses = 1e6};
    assert_true(trl__usage_silence(&never, 0.5f) == 0.01f && trl__usage_silence(&always, 0.5f) == 0.99f);
    assert_true(trl__usage_silence(&always, 0) == 0 && trl__usage_silence(&never, 1) == 1);
}

/* New probabilities change weights and nothing else of a graph. */
static void paths_stay_valid(void **state)
{
    (void)state;
    dice d = {.seed = 8};
    make_model(&d);
    trl__usage *usage;
    double count[20] = {0}, silences = 0, pauses = 0;
    must(trl__usage_create(c.lexicon, &usage, &err));
    for (int u = 0; u < 20; u++)
        add_utterance(usage, &d, count, &silences, &pauses);
    const int32_t words[5] = {0, 1, 2, 3, 5};
    say(&c, words, 5);
    int32_t nodes = c.graph.nodes, arcs = c.graph.arcs;
    int32_t *from = malloc((size_t)arcs * sizeof *from);
    memcpy(from, c.graph.arc_from, (size_t)arcs * sizeof *from);
    trl_lexicon *better;
    must(trl_lexicon_with_counts(c.lexicon, usage->pronunciation, TRL_PRONUNCIATION_SMOOTHING, &better, &err));
    c.model->silence_between = trl__usage_silence(usage, c.model->silence_between);
    must(trl__graph_build(&c.graph, c.map, better, words, 5, &err));
    assert_int_equal(c.graph.nodes, nodes);
    assert_int_equal(c.graph.arcs, arcs);
    assert_memory_equal(c.graph.arc_from, from, (size_t)arcs * sizeof *from);
    free(from);
    trl_lexicon_destroy(better);
    trl__usage_destroy(usage);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    dice d = {.seed = 3};
    trl__usage *usage;
    make_model(&d);
    for (int n = 1; n <= 2; n++) {
        trl__memory_fail_after(n);
        assert_int_equal(trl__usage_create(c.lexicon, &usage, &err), TRL_ENOMEM);
        trl__memory_fail_after(0);
        assert_null(usage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(counts_are_the_paths, tear_down),
        cmocka_unit_test_teardown(utterances_without_words, tear_down),
        cmocka_unit_test(silence_keeps_a_choice),
        cmocka_unit_test_teardown(paths_stay_valid, tear_down),
        cmocka_unit_test_teardown(memory_may_run_out, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
