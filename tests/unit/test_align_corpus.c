/* Alignment of sound that was put together from tones, so that every boundary is known. */
#include "tone_model.h"

#include "model/unit_kind.h"
#include "random_tree.h"

#include <trellis/extract.h>
#include <trellis/feature_file.h>

static trl_findings *findings;
static trl_lexicon *lexicon;
static trl_model *model;
static trl_corpus *corpus;
static trl_pool *pool;

/* ---- the sound ---- */

static void add_line(const char *name, const char *text)
{
    FILE *file = fopen(temp_path(name), "a");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

static void add_utterance(const char *id, const char *text, const note *notes, size_t count)
{
    static float samples[10 * RATE];
    char line[200], name[40];
    dice d = {.seed = 3, .stream = (uint64_t)id[1]};
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += play(notes[i], samples + used, &d);
    snprintf(name, sizeof name, "%s.wav", id);
    write_floats(temp_path(name), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, samples, used);
    snprintf(line, sizeof line, "%s %s", id, name);
    add_line("wav.scp", line);
    snprintf(line, sizeof line, "%s %s", id, text);
    add_line("text", line);
}

/* ---- the model ---- */

static void make_model(int snip_edges)
{
    trl_frontend_options o;
    must(trl_frontend_preset(&o, "mfcc", &err));
    o.snip_edges = snip_edges;
    make_tone_model(lexicon, &o, &model);
}

static const note first_notes[] = {{-1, 0.3}, {0, 0.2}, {1, 0.15}, {-1, 0.25}, {2, 0.2}, {0, 0.1}, {-1, 0.3}};
static const note second_notes[] = {{-1, 0.1}, {1, 0.2}, {1, 0.1}, {-1, 0.2}};
static const note third_notes[] = {{0, 0.2}, {1, 0.2}, {2, 0.2}, {0, 0.21}};

static int set_up(void **state)
{
    if (temp_folder_make(state) != 0)
        return -1;
    must(trl_findings_create(&findings, &err));
    must(trl_pool_create(2, &pool, &err));
    lexicon = lexicon_of("AB A B\nCA C A\nB B\nB C B\nLong A B C A B C A B C A B C\n");
    add_utterance("u1", "AB CA", first_notes, 7);
    add_utterance("u2", "B", second_notes, 4);
    add_utterance("u3", "AB CA", third_notes, 4);
    make_model(1);
    return 0;
}

static int tear_down(void **state)
{
    trl_corpus_destroy(corpus);
    trl_model_destroy(model);
    trl_lexicon_destroy(lexicon);
    trl_findings_destroy(findings);
    trl_pool_destroy(pool);
    corpus = NULL;
    return temp_folder_remove(state);
}

/* ---- what is delivered ---- */

typedef struct delivery {
    char text[60000]; /* everything, as text */
    size_t size;
    char words[8][200]; /* by utterance: labels, with _ for silence */
    trl_segment segment[8][3][100];
    size_t segments[8][3];
    double seconds[8];
    size_t count, fail_at;
} delivery;

static void keep(delivery *d, int kind, trl_segments list)
{
    assert_true(list.count <= 100);
    memcpy(d->segment[d->count][kind], list.items, list.count * sizeof *list.items);
    d->segments[d->count][kind] = list.count;
    for (size_t i = 0; i < list.count; i++) {
        const trl_segment *s = &list.items[i];
        d->size += (size_t)snprintf(d->text + d->size, sizeof d->text - d->size, "%s %d %d %a %a %a %d %d\n", s->label,
                                    s->first, s->end, s->start, s->stop, (double)s->confidence, s->index, s->id);
        assert_true(d->size < sizeof d->text);
    }
}

/* The laws of every alignment: no gaps, every state in its phone, every phone in its word. */
static void check_cover(const trl_segments *list, const trl_alignment *a)
{
    assert_true(list->items[0].first == 0 && list->items[0].start == 0);
    assert_int_equal(list->items[list->count - 1].end, a->frames);
    assert_true(list->items[list->count - 1].stop == a->seconds);
    for (size_t i = 1; i < list->count; i++) {
        assert_int_equal(list->items[i].first, list->items[i - 1].end);
        assert_true(list->items[i].start == list->items[i - 1].stop);
        assert_true(list->items[i].start < list->items[i].stop);
    }
}

static void check_inside(const trl_segments *inner, const trl_segments *outer)
{
    for (size_t i = 0; i < inner->count; i++) {
        const trl_segment *s = &inner->items[i];
        assert_true(s->index >= 0 && (size_t)s->index < outer->count);
        assert_true(s->first >= outer->items[s->index].first && s->end <= outer->items[s->index].end);
    }
}

static void check_transitions(const trl_alignment *a)
{
    for (size_t i = 0; i < a->states.count; i++) {
        const trl_segment *s = &a->states.items[i];
        for (int32_t t = s->first; t < s->end; t++) {
            trl_transition leaving = trl_model_transition(model, a->transitions[t]);
            assert_int_equal(leaving.unit, a->phones.items[s->index].id);
            assert_int_equal(leaving.state, s->id);
            assert_int_equal(leaving.to == s->id, t + 1 < s->end);
        }
    }
}

static int deliver(void *user, const trl_alignment *a, trl_error *e)
{
    delivery *d = user;
    if (d->count == d->fail_at) {
        snprintf(e->text, sizeof e->text, "enough");
        return TRL_ECANCELLED;
    }
    check_cover(&a->words, a);
    check_cover(&a->phones, a);
    check_cover(&a->states, a);
    check_inside(&a->phones, &a->words);
    check_inside(&a->states, &a->phones);
    check_transitions(a);
    d->seconds[d->count] = a->seconds;
    d->words[d->count][0] = '\0';
    for (size_t i = 0; i < a->words.count; i++) {
        strcat(d->words[d->count], a->words.items[i].label[0] ? a->words.items[i].label : "_");
        strcat(d->words[d->count], " ");
    }
    keep(d, 0, a->words);
    keep(d, 1, a->phones);
    keep(d, 2, a->states);
    d->count++;
    return 0;
}

static void read_corpus(void)
{
    trl_corpus_destroy(corpus);
    must(trl_corpus_read(temp_folder, NULL, findings, &corpus, &err));
}

static int align(const trl_align_options *o, delivery *d, trl_align_summary *summary)
{
    read_corpus();
    *d = (delivery){.fail_at = d->fail_at};
    return trl_align_corpus(model, lexicon, corpus, o, pool, findings, deliver, d, summary, &err);
}

static delivery d;

static void align_ok(const trl_align_options *o, trl_align_summary *summary)
{
    d.fail_at = SIZE_MAX;
    must(align(o, &d, summary));
}

/* ---- times ---- */

static void expect_times(size_t utterance, int kind, const double *boundaries, size_t count)
{
    assert_int_equal(d.segments[utterance][kind], count);
    for (size_t i = 0; i < count; i++) {
        double start = d.segment[utterance][kind][i].start;
        if (fabs(start - boundaries[i]) > 0.015)
            fail_msg("segment %zu of utterance %zu starts at %.3f instead of %.3f", i, utterance, start, boundaries[i]);
    }
}

static void check_all_times(void)
{
    assert_int_equal(d.count, 3);
    assert_string_equal(d.words[0], "_ AB _ CA _ ");
    assert_string_equal(d.words[1], "_ B _ ");
    assert_string_equal(d.words[2], "AB CA ");
    expect_times(0, 0, (double[]){0, 0.3, 0.65, 0.9, 1.2}, 5);
    expect_times(0, 1, (double[]){0, 0.3, 0.5, 0.65, 0.9, 1.1, 1.2}, 7);
    expect_times(1, 0, (double[]){0, 0.1, 0.4}, 3);
    expect_times(2, 1, (double[]){0, 0.2, 0.4, 0.6}, 4);
}

static void test_times(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    align_ok(&o, &summary);
    check_all_times();
    double seconds[] = {1.5, 0.6, 0.81};
    for (size_t u = 0; u < 3; u++) {
        assert_true(fabs(d.seconds[u] - seconds[u]) < 1e-4);
        for (size_t i = 0; i < d.segments[u][0]; i++)
            assert_true(d.segment[u][0][i].confidence > 0.8f && d.segment[u][0][i].confidence <= 1);
        assert_true(d.segment[u][1][0].confidence > 0.8f);
    }
    assert_int_equal(d.segment[1][0][1].id, 0); /* B, not C B */
    assert_int_equal(d.segment[0][0][3].index, 1);
    assert_int_equal(d.segment[0][0][2].index, -1);
    assert_int_equal(summary.utterances, 3);
    assert_true(fabs(summary.seconds - 2.91) < 1e-3);
    assert_int_equal(summary.frames, 148 + 58 + 79);
    assert_int_equal(trl_findings_count(findings), 0);
    /* a boundary lies half way between the centres of two windows */
    const trl_segment *word = &d.segment[0][0][1];
    assert_true(fabs(word->start - (word->first * 0.01 + 0.0075)) < 1e-9);
}

static void test_centred_frames(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_model_destroy(model);
    make_model(0);
    align_ok(&o, NULL);
    check_all_times();
    assert_true(fabs(d.segment[0][0][1].start - d.segment[0][0][1].first * 0.01) < 1e-9);
}

/* A tree whose leaves all say the same changes nothing but the numbers of transitions. */
static void test_idle_tree(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    static delivery without;
    align_ok(&o, NULL);
    without = d;
    give_idle_tree(model, &(dice){.seed = 9});
    align_ok(&o, NULL);
    check_all_times();
    for (size_t u = 0; u < 3; u++)
        for (int kind = 0; kind < 3; kind++) {
            assert_int_equal(d.segments[u][kind], without.segments[u][kind]);
            for (size_t i = 0; i < d.segments[u][kind]; i++) {
                const trl_segment *a = &d.segment[u][kind][i], *b = &without.segment[u][kind][i];
                assert_int_equal(a->first, b->first);
                assert_int_equal(a->index, b->index);
                assert_int_equal(a->id, b->id);
                assert_true(fabs((double)a->confidence - (double)b->confidence) < 1e-4);
            }
        }
}

static void test_no_confidence(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    o.confidence = 0;
    align_ok(&o, NULL);
    check_all_times();
    assert_true(d.segment[0][0][0].confidence == -1 && d.segment[0][1][0].confidence == -1);
}

static void test_same_for_any_number_of_threads(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    static char text[sizeof d.text];
    size_t size = 0;
    int threads[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        trl_pool_destroy(pool);
        must(trl_pool_create(threads[i], &pool, &err));
        align_ok(&o, NULL);
        if (i > 0)
            assert_true(size == d.size && memcmp(text, d.text, size) == 0);
        size = d.size;
        memcpy(text, d.text, size);
    }
    assert_true(size > 1000);
}

static void test_one_utterance(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    o.only = "u2";
    align_ok(&o, &summary);
    assert_int_equal(d.count, 1);
    assert_string_equal(d.words[0], "_ B _ ");
    o.only = "u9";
    assert_int_equal(align(&o, &d, NULL), TRL_ENOENT);
}

static void test_user_stops(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    d.fail_at = 1;
    assert_int_equal(align(&o, &d, NULL), TRL_ECANCELLED);
    assert_string_equal(err.text, "enough");
    assert_int_equal(d.count, 1);
}

/* ---- what can't be aligned ---- */

static void test_unknown_words(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    add_utterance("u4", "AB ca, XYZ", first_notes, 7);
    add_utterance("u5", "XYZ", second_notes, 4);
    d.fail_at = SIZE_MAX;
    o.unknown_words = TRL_UNKNOWN_FAIL;
    assert_int_equal(align(&o, &d, NULL), TRL_EINVAL);
    assert_non_null(strstr(err.text, "text:4"));
    assert_non_null(strstr(err.text, "u4"));
    assert_non_null(strstr(err.text, "2 words are not in the lexicon (3 of 9 in all, in 2 of 5 utterances)"));
    assert_non_null(strstr(err.text, ": XYZ 2, ca, 1; first"));
    assert_int_equal(trl_findings_count(findings), 0);

    o.unknown_words = TRL_UNKNOWN_SKIP;
    align_ok(&o, &summary);
    assert_int_equal(summary.utterances, 3);
    assert_int_equal(summary.skipped, 2);
    assert_int_equal(trl_findings_count(findings), 2);
    const trl_finding *f = trl_findings_get(findings, 0);
    assert_int_equal(f->kind, TRL_FINDING_UNKNOWN_WORD);
    assert_string_equal(f->utterance, "u4");
    assert_string_equal(f->word, "ca,");
    assert_non_null(strstr(f->message, "XYZ"));

    size_t before = trl_findings_count(findings);
    for (o.unknown_words = TRL_UNKNOWN_NOISE; o.unknown_words <= TRL_UNKNOWN_AUTO; o.unknown_words++) {
        align_ok(&o, &summary);
        assert_int_equal(summary.utterances, 5);
        assert_int_equal(summary.unknown_words, 3);
        assert_non_null(strstr(d.words[3], "XYZ"));
        assert_int_equal(trl_findings_count(findings), before);
    }
}

/* The list of them, and what becomes of them: auto is noise, but not where there is no noise, nor where most words
 * are unknown. */
static void test_which_words_are_unknown(void **state)
{
    (void)state;
    trl_unknown_summary s;
    add_utterance("u4", "AB ca, XYZ XYZ", first_notes, 7);
    read_corpus();
    must(trl_unknown_words_find(model, lexicon, corpus, TRL_UNKNOWN_AUTO, NULL, findings, &s, &err));
    assert_int_equal(s.choice, TRL_UNKNOWN_NOISE);
    assert_true(s.words == 2 && s.times == 3 && s.utterances == 1 && s.all_times == 9 && s.all_utterances == 4);
    const trl_finding *f = trl_findings_get(findings, 0);
    assert_string_equal(f->word, "XYZ");
    assert_int_equal(f->count, 2);
    assert_string_equal(f->utterance, "u4");
    assert_non_null(strstr(trl_findings_get(findings, 1)->message, "it has CA"));
    must(trl_unknown_words_find(model, lexicon, corpus, TRL_UNKNOWN_FAIL, "u2", NULL, &s, &err));
    assert_true(s.words == 0 && s.all_times == 1 && s.all_utterances == 1 && s.text[0] == '\0');

    trl_lexicon *other = lexicon_of("ab A B\nXYZ A\n");
    must(trl_unknown_words_find(model, other, corpus, TRL_UNKNOWN_AUTO, NULL, NULL, &s, &err)); /* 7 of 9: few words */
    add_utterance("u5", "ab ab ab ab ab ab ab ab ab ab ab", first_notes, 7);
    read_corpus();
    must(trl_unknown_words_find(model, other, corpus, TRL_UNKNOWN_AUTO, NULL, NULL, &s, &err)); /* 7 of 20 */
    assert_int_equal(trl_unknown_words_find(model, lexicon, corpus, TRL_UNKNOWN_AUTO, NULL, NULL, &s, &err),
                     TRL_EINVAL); /* 14 of 20 */
    assert_non_null(strstr(err.text, "more than half"));
    must(trl_unknown_words_find(model, lexicon, corpus, TRL_UNKNOWN_NOISE, NULL, NULL, &s, &err));

    for (size_t u = 0; u < model->units.count; u++)
        if (model->unit_kind[u] == TRL_UNIT_NOISE)
            model->unit_kind[u] = TRL_UNIT_PHONE;
    must(trl_unknown_words_find(model, other, corpus, TRL_UNKNOWN_AUTO, NULL, NULL, &s, &err));
    assert_int_equal(s.choice, TRL_UNKNOWN_SKIP);
    assert_int_equal(trl_unknown_words_find(model, other, corpus, TRL_UNKNOWN_NOISE, NULL, NULL, &s, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "no noise unit"));
    trl_lexicon_destroy(other);
}

/* Of several noises, the one for speech. */
static void test_which_noise_stands_for_words(void **state)
{
    (void)state;
    assert_string_equal(model->units.texts[trl__spoken_noise_unit(model)], "SPN");
    model->unit_kind[trl_model_find_unit(model, "SIL")] = TRL_UNIT_NOISE;
    assert_string_equal(model->units.texts[trl__spoken_noise_unit(model)], "SPN");
    model->unit_kind[trl_model_find_unit(model, "SPN")] = TRL_UNIT_PHONE;
    assert_string_equal(model->units.texts[trl__spoken_noise_unit(model)], "SIL");
    model->unit_kind[trl_model_find_unit(model, "SIL")] = TRL_UNIT_SILENCE;
    assert_int_equal(trl__spoken_noise_unit(model), -1);
}

static void test_too_many_words(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    add_utterance("u4", "Long Long", second_notes, 4); /* 24 phones of 3 states in 58 frames */
    d.fail_at = SIZE_MAX;
    assert_int_equal(align(&o, &d, NULL), TRL_EINVAL);
    assert_non_null(strstr(err.text, "u4"));
    assert_non_null(strstr(err.text, "58 frames"));
    assert_non_null(strstr(err.text, "72"));
    o.skip_bad = 1;
    align_ok(&o, &summary);
    assert_int_equal(summary.utterances, 3);
    assert_int_equal(summary.skipped, 1);
    assert_int_equal(trl_findings_get(findings, 0)->kind, TRL_FINDING_TOO_LONG);
    assert_string_equal(trl_findings_get(findings, 0)->utterance, "u4");
}

static void test_sound_that_is_not_there(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    save(temp_path("u2.wav"), "RIFF this is no sound", 21);
    d.fail_at = SIZE_MAX;
    assert_true(align(&o, &d, NULL) < 0);
    o.skip_bad = 1;
    align_ok(&o, &summary);
    assert_int_equal(summary.utterances, 2);
    assert_int_equal(summary.skipped, 1);
    assert_int_equal(trl_findings_count(findings), 1);
}

static void test_models_that_do_not_fit(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    char *frontend = model->frontend;
    model->frontend = trl__strdup("");
    assert_int_equal(align(&o, &d, NULL), TRL_EINVAL);
    assert_non_null(strstr(err.text, "front end"));
    trl__free(model->frontend);
    model->frontend = frontend;
    trl_lexicon *kept = lexicon;
    lexicon = lexicon_of("AB A QQ\n");
    o.unknown_words = TRL_UNKNOWN_NOISE;
    assert_int_equal(align(&o, &d, NULL), TRL_EINVAL);
    assert_non_null(strstr(err.text, "QQ"));
    trl_lexicon_destroy(lexicon);
    lexicon = kept;
    o.device = "abacus";
    assert_int_equal(align(&o, &d, NULL), TRL_EINVAL);
}

static void test_options(void **state)
{
    (void)state;
    trl_align_options good = trl_align_defaults();
    assert_int_equal(trl_align_options_check(&good, &err), 0);
    trl_align_options bad[6];
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].unknown_words = 4;
    bad[1].unknown_words = -1;
    bad[2].beam = 0;
    bad[3].acoustic_scale = -1;
    bad[4].confidence_margin = 0;
    bad[5].beam = (double)NAN;
    for (int i = 0; i < 6; i++)
        assert_int_equal(trl_align_options_check(&bad[i], &err), TRL_EINVAL);
}

/* ---- likelihoods from a file ---- */

typedef struct likelihood_file {
    trl_feature_writer *writer;
    int32_t columns;
    const char *left_out, *only;
} likelihood_file;

static int write_likelihoods(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *e)
{
    likelihood_file *f = user;
    trl_matrix m = {0};
    if ((f->left_out && strcmp(f->left_out, u->id) == 0) || (f->only && strcmp(f->only, u->id) != 0))
        return 0;
    must(trl_matrix_resize(&m, frames->rows, (size_t)f->columns, e));
    for (size_t t = 0; t < frames->rows; t++)
        for (int32_t j = 0; j < f->columns; j++)
            trl_matrix_row(&m, t)[j] = (float)state_score(model, j, trl_matrix_row(frames, t));
    int code = trl_feature_writer_add(f->writer, u->id, &m, e);
    trl_matrix_free(&m);
    return code;
}

/* Writes the utterances of `orders`, one pass of the corpus for each (NULL: all in one). */
static void make_likelihoods(const char *place, int32_t columns, const char *left_out, const char *const *orders,
                             size_t count)
{
    trl_frontend_options o;
    trl_frontend *frontend;
    trl_feature_writer_options w = trl_feature_writer_defaults();
    likelihood_file f = {.columns = columns, .left_out = left_out};
    must(trl_frontend_preset(&o, "mfcc", &err));
    must(trl_frontend_parse(&o, trl_model_frontend(model), "model", &err));
    must(trl_frontend_create(&o, &frontend, &err));
    trl_corpus_destroy(corpus);
    must(trl_corpus_read(temp_folder, NULL, findings, &corpus, &err));
    must(trl_feature_writer_open(place, &w, &f.writer, &err));
    for (size_t i = 0; i < count; i++) {
        f.only = orders ? orders[i] : NULL;
        must(trl_extract_corpus(corpus, frontend, NULL, NULL, findings, write_likelihoods, &f, NULL, &err));
    }
    must(trl_feature_writer_commit(f.writer, &err));
    trl_frontend_destroy(frontend);
}

/* Every format gives the times that the model itself gives. */
static void test_likelihoods(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    char both[1400], place[600];
    const char *places[] = {"l.ark", "l.scp", "l.trf"};
    snprintf(both, sizeof both, "ark,scp:%s,%s", temp_path("l.ark"), temp_path("l.scp"));
    make_likelihoods(both, model->tied_states, NULL, NULL, 1);
    make_likelihoods(temp_path("l.trf"), model->tied_states, NULL, NULL, 1);
    for (int i = 0; i < 3; i++) {
        trl_align_summary summary;
        snprintf(place, sizeof place, "%s", temp_path(places[i]));
        o.likelihoods = place;
        align_ok(&o, &summary);
        check_all_times();
        assert_int_equal(summary.utterances, 3);
        o.only = "u3";
        align_ok(&o, &summary);
        assert_int_equal(d.count, 1);
        assert_string_equal(d.words[0], "AB CA ");
        o.only = NULL;
    }
}

static void test_likelihoods_that_do_not_fit(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    char place[600];
    snprintf(place, sizeof place, "%s", temp_path("l.ark"));
    o.likelihoods = place;
    d.fail_at = SIZE_MAX;
    assert_int_equal(align(&o, &d, NULL), TRL_ENOENT);

    make_likelihoods(place, model->tied_states - 1, NULL, NULL, 1);
    assert_int_equal(align(&o, &d, NULL), TRL_EINVAL);
    assert_non_null(strstr(err.text, "14 likelihoods"));
    assert_non_null(strstr(err.text, "15 tied states"));

    make_likelihoods(place, model->tied_states, "u2", NULL, 1);
    assert_int_equal(align(&o, &d, NULL), TRL_ENOENT);
    assert_non_null(strstr(err.text, "u2"));
    o.skip_bad = 1;
    align_ok(&o, &summary);
    assert_int_equal(summary.utterances, 2);
    assert_int_equal(summary.skipped, 1);
    assert_string_equal(trl_findings_get(findings, 0)->utterance, "u2");

    make_likelihoods(place, model->tied_states, NULL, (const char *const[]){"u2", "u1", "u3"}, 3);
    d.fail_at = SIZE_MAX;
    assert_int_equal(align(&o, &d, NULL), TRL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "u1"));
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_pool_destroy(pool);
    must(trl_pool_create(1, &pool, &err));
    add_utterance("u4", "AB XYZ", first_notes, 7);
    o.unknown_words = TRL_UNKNOWN_NOISE;
    o.skip_bad = 1;
    align_ok(&o, NULL);
    for (long n = 1, code = -1; code < 0; n += 1 + n / 8) {
        d = (delivery){.fail_at = SIZE_MAX};
        trl__memory_fail_after(n);
        code = trl_align_corpus(model, lexicon, corpus, &o, pool, findings, deliver, &d, NULL, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        assert_true(n < 100000);
    }
    assert_int_equal(d.count, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_times),
        TEST(test_centred_frames),
        TEST(test_idle_tree),
        TEST(test_no_confidence),
        TEST(test_same_for_any_number_of_threads),
        TEST(test_one_utterance),
        TEST(test_user_stops),
        TEST(test_unknown_words),
        TEST(test_which_words_are_unknown),
        TEST(test_which_noise_stands_for_words),
        TEST(test_too_many_words),
        TEST(test_sound_that_is_not_there),
        TEST(test_models_that_do_not_fit),
        TEST(test_options),
        TEST(test_likelihoods),
        TEST(test_likelihoods_that_do_not_fit),
        TEST(test_every_allocation_may_fail),
    };
    return RUN(tests);
}
