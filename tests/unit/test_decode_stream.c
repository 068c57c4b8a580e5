/* Streams of sound that was put together from tones: the same words, times and costs as in one go, however the samples come; memory that stays bounded; utterances that
 * end with a pause. */
#include "tone_model.h"

#include <trellis/audio.h>
#include <trellis/decode_stream.h>
#include <trellis/grammar.h>

#define SECONDS 150
#define MOST_WORDS 2000

static const char *const words[] = {"AB", "CA", "B", "LONG", "ABC"};         /* LONG is ABC twice, which costs more */
static const char *const spelled[] = {"\0\1", "\2\0", "\1", "\0\1\2\0\1\2"}; /* phones */
static const size_t lengths[] = {2, 2, 1, 6};

static trl_findings *findings;
static trl_lexicon *lexicon;
static trl_model *model;
static trl_graph *graph;
static float *samples; /* as the file has them */
static size_t sample_count;
static char said[40000];

/* ---- the sound ---- */

/* A word or a pause, at most one every 0.2 s, with now and then a minute's speech without a pause. */
static size_t say(float *to, size_t room, dice *d)
{
    size_t used = 0, size = 0, spoken = 0;
    while (used + 3 * RATE < room) {
        int pause = roll_int(d, 0, spoken % 60 < 30 ? 2 : 40);
        if (pause == 0)
            used += play((note){-1, 0.1 + 1.2 * (double)roll(d)}, to + used, d);
        int w = roll_int(d, 0, 3);
        for (size_t i = 0; i < lengths[w]; i++)
            used += play((note){spelled[w][i], 0.1 + 0.1 * (double)roll(d)}, to + used, d);
        size += (size_t)snprintf(said + size, sizeof said - size, "%s ", words[w]);
        used += play((note){-1, 0.04 + 0.05 * (double)roll(d)}, to + used, d);
        spoken++;
    }
    return used;
}

static void write_wave(const float *from, size_t count)
{
    write_floats(temp_path("all.wav"), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, from, count);
}

static int make_sound(void)
{
    float *made = malloc((size_t)SECONDS * RATE * sizeof *made);
    dice d = {.seed = 5};
    size_t count = say(made, (size_t)SECONDS * RATE, &d);
    write_wave(made, count);
    free(made);
    return trl_audio_read_file(temp_path("all.wav"), NULL, NULL, &samples, &sample_count, &err);
}

static void make_models(const char *settings)
{
    trl_frontend_options o;
    trl_fst *grammar;
    must(trl_frontend_preset(&o, "mfcc", &err));
    make_tone_model(lexicon, &o, &model);
    if (settings) { /* other frames than the Gaussians were made for: whatever the words are, they must be the same */
        trl_model *other;
        trl_model_options m = trl_model_defaults();
        trl_frontend *frontend;
        must(trl_frontend_parse(&o, settings, "settings", &err));
        must(trl_frontend_create(&o, &frontend, &err));
        m.states = m.silence_states = STATES;
        must(trl_model_create(lexicon, trl_frontend_description(frontend), trl_frontend_dim(frontend), &m, &other,
                              &err));
        for (int32_t i = 0; i < other->tied_states * other->dim; i++) {
            other->mean[i] =
                i % other->dim < model->dim ? model->mean[i / other->dim * model->dim + i % other->dim] / 4 : 0;
            other->variance[i] = 100;
        }
        trl_frontend_destroy(frontend);
        trl_model_destroy(model);
        model = other;
    }
    must(trl_grammar_word_loop(words, 5, NULL, &grammar, &err));
    must(trl_graph_build(model, lexicon, grammar, NULL, &graph, NULL, &err));
    trl_fst_destroy(grammar);
}

static void drop_models(void)
{
    trl_graph_destroy(graph);
    trl_model_destroy(model);
    graph = NULL;
    model = NULL;
}

static int set_up(void **state)
{
    if (temp_folder_make(state) != 0)
        return -1;
    must(trl_findings_create(&findings, &err));
    lexicon = lexicon_of("AB A B\nCA C A\nB B\nLONG A B C A B C\nABC A B C\n");
    must(make_sound());
    make_models(NULL);
    return 0;
}

static int tear_down(void **state)
{
    drop_models();
    trl_lexicon_destroy(lexicon);
    trl_findings_destroy(findings);
    trl_audio_free(samples);
    return temp_folder_remove(state);
}

/* ---- what comes out ---- */

typedef struct result {
    trl_segment words[MOST_WORDS];
    size_t count, calls, utterances;
    trl_stream_words ends[200];
    double graph, acoustic, last;
    int32_t frames, reached_end;
} result;

static void keep_words(result *r, trl_segments list)
{
    for (size_t i = 0; i < list.count; i++) {
        assert_true(r->count < MOST_WORDS);
        r->words[r->count++] = list.items[i];
    }
}

static int keep_stream(void *user, const trl_stream_words *w, trl_error *e)
{
    (void)e;
    result *r = user;
    assert_true(w->start >= r->last - 1e-9 && w->stop >= w->start);
    for (size_t i = 0; i < w->words.count; i++)
        assert_true(w->words.items[i].start >= w->start - 1e-9 && w->words.items[i].stop <= w->stop + 1e-9);
    r->last = w->stop;
    r->calls++;
    keep_words(r, w->words);
    if (!w->ends_utterance)
        return 0;
    assert_true(r->utterances < 200);
    r->ends[r->utterances++] = *w;
    r->graph += w->graph_cost;
    r->acoustic += w->acoustic_cost;
    r->frames += w->frames;
    r->reached_end = w->reached_end;
    return 0;
}

static int keep_one(void *user, const trl_decoding *d, trl_error *e)
{
    (void)e;
    result *r = user;
    keep_words(r, d->words);
    r->graph = d->graph_cost;
    r->acoustic = d->acoustic_cost;
    r->frames = d->frames;
    r->reached_end = d->reached_end;
    return 0;
}

/* The file in one go. */
static void decode_file(trl_decode_options o, result *r)
{
    trl_corpus *corpus;
    trl_corpus_options reading = trl_corpus_defaults();
    reading.need_text = 0;
    o.online = 1;
    *r = (result){.count = 0};
    must(trl_corpus_read(temp_path("all.wav"), &reading, findings, &corpus, &err));
    must(trl_decode_corpus(model, graph, corpus, &o, NULL, findings, keep_one, r, NULL, &err));
    trl_corpus_destroy(corpus);
}

/* Pieces of up to `piece` samples; partial results are looked at. */
static trl_stream_summary decode_pieces(trl_decode_stream_options o, size_t count, int piece, result *r)
{
    trl_decode_stream *stream;
    dice d = {.seed = 6, .stream = (uint64_t)piece};
    static const char *seen[MOST_WORDS];
    size_t settled = 0;
    *r = (result){.count = 0};
    must(trl_decode_stream_create(model, graph, &o, keep_stream, r, &stream, &err));
    for (size_t done = 0; done < count;) {
        size_t n = (size_t)roll_int(&d, piece > 100 ? 0 : 1, piece);
        n = n < count - done ? n : count - done;
        must(trl_decode_stream_push(stream, samples + done, n, &err));
        done += n;
        if (piece < 100)
            continue;
        trl_stream_partial p;
        must(trl_decode_stream_partial(stream, &p, &err));
        assert_true(p.seconds * RATE <= (double)done);
        assert_true(r->count + p.settled_count >= settled);
        for (size_t i = r->count; i < settled; i++)
            assert_ptr_equal(p.settled[i - r->count], seen[i]);
        for (settled = r->count; settled < r->count + p.settled_count; settled++)
            seen[settled] = p.settled[settled - r->count];
    }
    must(trl_decode_stream_finish(stream, &err));
    for (size_t i = 0; i < settled && i < r->count; i++)
        assert_true(!seen[i] || strcmp(seen[i], r->words[i].label) == 0);
    trl_stream_summary s = trl_decode_stream_summarise(stream);
    assert_int_equal(s.words, r->count);
    assert_int_equal(s.utterances, r->utterances);
    trl_decode_stream_destroy(stream);
    memset(seen, 0, sizeof seen);
    return s;
}

static void assert_same(const result *a, const result *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const trl_segment *x = &a->words[i], *y = &b->words[i];
        assert_string_equal(x->label, y->label);
        assert_true(x->first == y->first && x->end == y->end && x->index == y->index);
        assert_true(x->start == y->start && x->stop == y->stop);
    }
    assert_int_equal(a->frames, b->frames);
    assert_int_equal(a->reached_end, b->reached_end);
    assert_true(fabs(a->graph - b->graph) <= 1e-9 * fabs(b->graph));
    assert_true(fabs(a->acoustic - b->acoustic) <= 1e-9 * fabs(b->acoustic));
}

/* ---- tests ---- */

static void words_are_those_of_one_go(void **state)
{
    (void)state;
    static result one, other;
    static char found[40000];
    trl_decode_stream_options o = trl_decode_stream_defaults();
    const int pieces[] = {160, 3000, 100000, SECONDS * RATE};
    decode_file(o.decode, &one);
    for (size_t i = 0, size = 0; i < one.count; i++)
        size += (size_t)snprintf(found + size, sizeof found - size, "%s ", one.words[i].label);
    assert_string_equal(found, said);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        o.block = i == 0 ? 1 : i == 1 ? 7 : 10;
        trl_stream_summary s = decode_pieces(o, sample_count, pieces[i], &other);
        assert_same(&other, &one);
        assert_int_equal(s.utterances, 1);
        assert_int_equal(s.forced, 0);
        assert_int_equal(s.lost + s.unfinished, 0);
        assert_true(s.most_open < 500);
        assert_true(other.calls > 20);
        assert_true(s.seconds == (double)sample_count / RATE);
    }
}

static void single_samples_will_do(void **state)
{
    (void)state;
    static result one, other;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    size_t count = 4 * RATE + 7;
    write_wave(samples, count);
    decode_file(o.decode, &one);
    assert_true(one.count > 2);
    decode_pieces(o, count, 1, &other);
    assert_same(&other, &one);
}

/* Scales that choose other words than the search's best: from the whole lattice, in pieces. */
static void other_scales_choose_the_same(void **state)
{
    (void)state;
    static result one, other;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    size_t count = 40 * RATE;
    write_wave(samples, count);
    decode_file(o.decode, &other);
    o.decode.language_scale = 15;
    o.decode.word_penalty = -5;
    o.decode.lattice_beam = 10;
    decode_file(o.decode, &one);
    assert_true(one.count > other.count);
    trl_stream_summary s = decode_pieces(o, count, 5000, &other);
    assert_int_equal(s.forced, 0);
    assert_same(&other, &one);
}

/* Normalisation over utterances becomes one over a window, in both. */
static void front_ends_stream(void **state)
{
    (void)state;
    static result one, other;
    const char *settings[] = {"cmvn = utterance\ndeltas = 2\n", "cmvn = speaker\ncmvn_variance = 1\nsnip_edges = 0\n",
                              "dither = 1\nsplice_left = 3\nsplice_right = 3\n"};
    trl_decode_stream_options o = trl_decode_stream_defaults();
    size_t count = 20 * RATE;
    write_wave(samples, count);
    for (int i = 0; i < 2; i++) {
        drop_models();
        make_models(settings[i]);
        decode_file(o.decode, &one);
        decode_pieces(o, count, 2000, &other);
        assert_same(&other, &one);
    }
    drop_models();
    make_models("preset = htk\nrate = 16000\nenergy = raw\nenergy_normalise = 1\n");
    trl_decode_stream *stream;
    assert_int_equal(trl_decode_stream_create(model, graph, &o, keep_stream, &one, &stream, &err), TRL_EUNSUPPORTED);
    assert_null(stream);
}

/* Each utterance is as if its frames were all there is. */
static void pauses_end_utterances(void **state)
{
    (void)state;
    static result all, one;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    o.pause = 0.6;
    trl_stream_summary s = decode_pieces(o, sample_count, 4000, &all);
    assert_true(s.utterances > 8);
    int32_t first = 0;
    size_t word = 0;
    for (size_t u = 0; u < all.utterances; u++) {
        const trl_stream_words *w = &all.ends[u];
        assert_int_equal(w->first_frame, first);
        first += w->frames;
        size_t from = (size_t)w->first_frame * 160, to = from + (size_t)(w->frames - 1) * 160 + 400;
        write_wave(samples + from, to - from);
        decode_file(o.decode, &one);
        assert_int_equal(one.frames, w->frames);
        assert_true(fabs(one.acoustic - w->acoustic_cost) <= 1e-9 * fabs(one.acoustic));
        assert_true(fabs(one.graph - w->graph_cost) <= 1e-9 * fabs(one.graph) + 1e-9);
        for (size_t i = 0; i < one.count; i++, word++) {
            assert_string_equal(one.words[i].label, all.words[word].label);
            assert_int_equal(one.words[i].first + w->first_frame, all.words[word].first);
            assert_int_equal(one.words[i].index, all.words[word].index);
        }
        if (u + 1 < all.utterances) { /* it ended with silence behind a word */
            assert_true(one.count > 0);
            assert_true(w->frames - one.words[one.count - 1].end >= 55);
        }
    }
    assert_int_equal(word, all.count);
    o.pause = 0;
    o.longest = 3;
    s = decode_pieces(o, 31 * RATE, 4000, &all);
    assert_int_equal(s.utterances, 11);
}

/* Hardly any ways are given up, and all of them must agree: what is kept would grow with the sound. */
static void force_bounds_memory(void **state)
{
    (void)state;
    static result r;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    o.most_open = 2;
    o.decode.lattice_beam = 200;
    o.decode.beam = 200;
    o.decode.word_penalty = 0.01;
    trl_stream_summary s = decode_pieces(o, 20 * RATE, 4000, &r);
    assert_true(s.forced > 0);
    assert_true(s.most_open <= 200 + 60);
    assert_true(r.count > 0);
}

/* In a long silence the end of all is more likely than another word, and what is kept must be cut: words must be able to come all the same. */
static void words_come_after_long_silence(void **state)
{
    (void)state;
    static result r;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    trl_fst *grammar;
    dice d = {.seed = 9};
    FILE *file = fopen(temp_path("loop.txt"), "w");
    assert_non_null(file);
    fputs("/1/ AB\n/1/ CA\n/50/ </s>\n", file);
    assert_int_equal(fclose(file), 0);
    must(trl_grammar_read_loop(temp_path("loop.txt"), NULL, &grammar, &err));
    trl_graph_destroy(graph);
    must(trl_graph_build(model, lexicon, grammar, NULL, &graph, NULL, &err));
    trl_fst_destroy(grammar);
    const note notes[] = {{0, 0.2}, {1, 0.2}, {-1, 12}, {2, 0.2}, {0, 0.2}, {-1, 0.3}};
    size_t count = 0;
    for (int i = 0; i < 6; i++)
        count += play(notes[i], samples + count, &d);
    o.most_open = 2;
    trl_stream_summary s = decode_pieces(o, count, 4000, &r);
    assert_true(s.forced > 0 && s.lost == 0);
    assert_int_equal(r.count, 2);
    assert_string_equal(r.words[0].label, "AB");
    assert_string_equal(r.words[1].label, "CA");
}

static void silence_and_nothing(void **state)
{
    (void)state;
    static result r;
    static float zeros[3 * RATE];
    trl_decode_stream *stream;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    trl_stream_summary s = decode_pieces(o, 0, 10, &r);
    assert_true(s.utterances == 1 && s.frames == 0 && r.count == 0);
    s = decode_pieces(o, 399, 10, &r); /* less than a frame */
    assert_true(s.utterances == 1 && s.frames == 0 && r.count == 0);
    s = decode_pieces(o, 400, 10, &r);
    assert_true(s.utterances == 1 && s.frames == 1);
    r = (result){.count = 0};
    must(trl_decode_stream_create(model, graph, &o, keep_stream, &r, &stream, &err));
    must(trl_decode_stream_push(stream, zeros, 3 * RATE, &err));
    must(trl_decode_stream_finish(stream, &err));
    assert_true(r.utterances == 1 && r.count < 4);
    assert_int_equal(trl_decode_stream_push(stream, zeros, 1, &err), TRL_EINVAL);
    assert_int_equal(trl_decode_stream_finish(stream, &err), TRL_EINVAL);
    trl_decode_stream_destroy(stream);
}

static void delay_is_what_it_says(void **state)
{
    (void)state;
    static result r;
    trl_decode_stream *stream;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    trl_stream_partial p;
    drop_models();
    make_models("deltas = 2\n");
    must(trl_decode_stream_create(model, graph, &o, keep_stream, &r, &stream, &err));
    for (size_t done = 0; done < 3 * RATE; done += 160) {
        must(trl_decode_stream_push(stream, samples + done, 160, &err));
        must(trl_decode_stream_partial(stream, &p, &err));
        size_t frames = done / 160 + 1;
        assert_true(p.seconds * 100 + 0.5 >= (double)frames - trl_decode_stream_delay(stream));
    }
    assert_int_equal(trl_decode_stream_delay(stream), 2 * 2 + 9 + 3);
    assert_true(trl_decode_stream_rate(stream) == RATE);
    trl_decode_stream_destroy(stream);
}

static int refuse_words(void *user, const trl_stream_words *w, trl_error *e)
{
    (void)user;
    (void)w;
    (void)e;
    return TRL_EIO;
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static result r;
    trl_decode_stream *stream;
    trl_decode_stream_options bad[] = {trl_decode_stream_defaults(), trl_decode_stream_defaults(),
                                       trl_decode_stream_defaults(), trl_decode_stream_defaults(),
                                       trl_decode_stream_defaults()};
    bad[0].block = 0;
    bad[1].pause = -1;
    bad[2].most_open = 0;
    bad[3].longest = (double)NAN;
    bad[4].decode.beam = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(trl_decode_stream_create(model, graph, &bad[i], keep_stream, &r, &stream, &err), TRL_EINVAL);
    float wrong[500] = {0};
    wrong[300] = NAN;
    must(trl_decode_stream_create(model, graph, NULL, keep_stream, &r, &stream, &err));
    assert_int_equal(trl_decode_stream_push(stream, wrong, 500, &err), TRL_ENUMBER);
    trl_decode_stream_destroy(stream);
    must(trl_decode_stream_create(model, graph, NULL, refuse_words, NULL, &stream, &err));
    assert_int_equal(trl_decode_stream_push(stream, samples, sample_count, &err), TRL_EIO);
    trl_decode_stream_destroy(stream);
    trl_model_destroy(model);
    trl_model_options m = trl_model_defaults();
    m.states = 2;
    must(trl_model_create(lexicon, "", 13, &m, &model, &err));
    assert_int_equal(trl_decode_stream_create(model, graph, NULL, keep_stream, &r, &stream, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "another model"));
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static result r;
    trl_decode_stream_options o = trl_decode_stream_defaults();
    o.pause = 0.3;
    int failures = 0;
    for (long n = 1, code = -1; code < 0; n += 1 + n / 8) {
        trl_decode_stream *stream = NULL;
        trl_stream_partial p;
        r = (result){.count = 0};
        trl__memory_fail_after(n);
        code = trl_decode_stream_create(model, graph, &o, keep_stream, &r, &stream, &err);
        for (size_t done = 0; code == 0 && done < 5 * RATE; done += 4000) {
            code = trl_decode_stream_push(stream, samples + done, 4000, &err);
            if (code == 0)
                code = trl_decode_stream_partial(stream, &p, &err);
        }
        if (code == 0)
            code = trl_decode_stream_finish(stream, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
        trl_decode_stream_destroy(stream);
    }
    assert_true(failures > 20 && r.count > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_are_those_of_one_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(single_samples_will_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_scales_choose_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(front_ends_stream, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pauses_end_utterances, set_up, tear_down),
        cmocka_unit_test_setup_teardown(force_bounds_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_come_after_long_silence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_and_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(delay_is_what_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return RUN(tests);
}
