/* Files of alignments: every format against text written by hand, recordings with several utterances, odd names, failures. */
#include "alignment_fixture.h"
#include "comma_locale.h"
#include "model_fixture.h"
#include "model/kaldi_alignment.h"

#include <trellis/label_file.h>

static trl_error err;
static made_alignment made[8];

static const made_phone hello[] = {{"", "SIL", 0.2, 1},
                                   {"HELLO", "HH", 0.3, 0.75F},
                                   {NULL, "OW", 0.52, 0.98766F},
                                   {"\"WÖRLD\"", "W", 1.0, 0.5F},
                                   {NULL, NULL, 0, 0}};

static char *read_whole(const char *name)
{
    FILE *file = fopen(temp_path(name), "rb");
    if (!file)
        fail_msg("%s is not there", name);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    fclose(file);
    return text;
}

static void expect_text(const char *name, const char *wanted)
{
    char *text = read_whole(name);
    assert_string_equal(text, wanted);
    free(text);
}

/* Writes the first `count` made alignments into the temporary folder's sub-folder "out". */
static void write_made(const char *formats, const trl_alignment_writer_options *options, size_t count)
{
    trl_alignment_writer *writer;
    assert_int_equal(trl_alignment_writer_open(temp_path("out"), formats, options, &writer, &err), 0);
    for (size_t i = 0; i < count; i++)
        if (trl_alignment_writer_add(writer, &made[i].alignment, &err) < 0)
            fail_msg("%s", err.text);
    assert_int_equal(trl_alignment_writer_commit(writer, &err), 0);
}

/* ---- One utterance, a whole file ---- */

static void textgrid_is_praats_long_form(void **state)
{
    (void)state;
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    write_made("textgrid", NULL, 1);
    expect_text("out/anna-1.TextGrid", "File type = \"ooTextFile\"\n"
                                       "Object class = \"TextGrid\"\n"
                                       "\n"
                                       "xmin = 0 \n"
                                       "xmax = 1 \n"
                                       "tiers? <exists> \n"
                                       "size = 2 \n"
                                       "item []: \n"
                                       "    item [1]:\n"
                                       "        class = \"IntervalTier\" \n"
                                       "        name = \"words\" \n"
                                       "        xmin = 0 \n"
                                       "        xmax = 1 \n"
                                       "        intervals: size = 3 \n"
                                       "        intervals [1]:\n"
                                       "            xmin = 0 \n"
                                       "            xmax = 0.2 \n"
                                       "            text = \"\" \n"
                                       "        intervals [2]:\n"
                                       "            xmin = 0.2 \n"
                                       "            xmax = 0.52 \n"
                                       "            text = \"HELLO\" \n"
                                       "        intervals [3]:\n"
                                       "            xmin = 0.52 \n"
                                       "            xmax = 1 \n"
                                       "            text = \"\"\"WÖRLD\"\"\" \n"
                                       "    item [2]:\n"
                                       "        class = \"IntervalTier\" \n"
                                       "        name = \"phones\" \n"
                                       "        xmin = 0 \n"
                                       "        xmax = 1 \n"
                                       "        intervals: size = 4 \n"
                                       "        intervals [1]:\n"
                                       "            xmin = 0 \n"
                                       "            xmax = 0.2 \n"
                                       "            text = \"SIL\" \n"
                                       "        intervals [2]:\n"
                                       "            xmin = 0.2 \n"
                                       "            xmax = 0.3 \n"
                                       "            text = \"HH\" \n"
                                       "        intervals [3]:\n"
                                       "            xmin = 0.3 \n"
                                       "            xmax = 0.52 \n"
                                       "            text = \"OW\" \n"
                                       "        intervals [4]:\n"
                                       "            xmin = 0.52 \n"
                                       "            xmax = 1 \n"
                                       "            text = \"W\" \n");
}

static void ctm_has_words_and_phones(void **state)
{
    (void)state;
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    made[0].words[2].confidence = -1; /* not computed */
    write_made("ctm", NULL, 1);
    expect_text("out/words.ctm", "anna-1 1 0.2 0.32 HELLO 0.7500\n"
                                 "anna-1 1 0.52 0.48 \"WÖRLD\"\n");
    expect_text("out/phones.ctm", "anna-1 1 0 0.2 SIL 1.0000\n"
                                  "anna-1 1 0.2 0.1 HH 0.7500\n"
                                  "anna-1 1 0.3 0.22 OW 0.9877\n"
                                  "anna-1 1 0.52 0.48 W 0.5000\n");
}

static void jsonl_nests_the_levels(void **state)
{
    (void)state;
    const made_phone short_one[] = {
        {"A\\", "A", 0.1, 0.25F}, {NULL, "B", 0.14, -1}, {"", "SIL", 0.2, -1}, {NULL, NULL, 0, 0}};
    make_alignment(&made[0], "anna-1", "a.wav", short_one);
    make_alignment(&made[1], "anna-2", "b.wav", short_one);
    make_part(&made[1], "ben", 2.5);
    made[1].utterance.text = "A\\";
    made[1].utterance.channel = 1;
    made[1].alignment.log_likelihood = -INFINITY;
    write_made("jsonl", NULL, 2);
    expect_text(
        "out/alignments.jsonl",
        "{\"id\":\"anna-1\",\"speaker\":\"anna\",\"file\":\"a.wav\",\"start\":0,\"end\":0.2,\"frames\":20,"
        "\"log_likelihood\":-50.5,\"fit\":0.75,\"words\":["
        "{\"word\":\"A\\\\\",\"start\":0,\"end\":0.14,\"confidence\":0.2500,\"phones\":["
        "{\"phone\":\"A\",\"start\":0,\"end\":0.1,\"confidence\":0.2500,\"states\":["
        "{\"state\":0,\"start\":0,\"end\":0.05},{\"state\":1,\"start\":0.05,\"end\":0.1}]},"
        "{\"phone\":\"B\",\"start\":0.1,\"end\":0.14,\"states\":["
        "{\"state\":0,\"start\":0.1,\"end\":0.12},{\"state\":1,\"start\":0.12,\"end\":0.14}]}]},"
        "{\"word\":\"\",\"start\":0.14,\"end\":0.2,\"phones\":["
        "{\"phone\":\"SIL\",\"start\":0.14,\"end\":0.2,\"states\":["
        "{\"state\":0,\"start\":0.14,\"end\":0.17},{\"state\":1,\"start\":0.17,\"end\":0.2}]}]}]}\n"
        "{\"id\":\"anna-2\",\"speaker\":\"ben\",\"file\":\"b.wav\",\"text\":\"A\\\\\",\"channel\":1,\"start\":2.5,"
        "\"end\":2.7,\"frames\":20,\"log_likelihood\":null,\"fit\":0.75,\"words\":["
        "{\"word\":\"A\\\\\",\"start\":2.5,\"end\":2.64,\"confidence\":0.2500,\"phones\":["
        "{\"phone\":\"A\",\"start\":2.5,\"end\":2.6,\"confidence\":0.2500,\"states\":["
        "{\"state\":0,\"start\":2.5,\"end\":2.55},{\"state\":1,\"start\":2.55,\"end\":2.6}]},"
        "{\"phone\":\"B\",\"start\":2.6,\"end\":2.64,\"states\":["
        "{\"state\":0,\"start\":2.6,\"end\":2.62},{\"state\":1,\"start\":2.62,\"end\":2.64}]}]},"
        "{\"word\":\"\",\"start\":2.64,\"end\":2.7,\"phones\":["
        "{\"phone\":\"SIL\",\"start\":2.64,\"end\":2.7,\"states\":["
        "{\"state\":0,\"start\":2.64,\"end\":2.67},{\"state\":1,\"start\":2.67,\"end\":2.7}]}]}]}\n");
}

static void mlf_counts_in_100_ns(void **state)
{
    (void)state;
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    make_part(&made[0], "anna", 7); /* the times stay those of the utterance */
    made[0].words[1].label = "42";
    write_made("mlf", NULL, 1);
    expect_text("out/words.mlf", "#!MLF!#\n"
                                 "\"*/anna-1.lab\"\n"
                                 "2000000 5200000 \"42\" 0.7500\n"
                                 "5200000 10000000 \"\\\"WÖRLD\\\"\" 0.5000\n"
                                 ".\n");
    expect_text("out/phones.mlf", "#!MLF!#\n"
                                  "\"*/anna-1.lab\"\n"
                                  "0 2000000 SIL 1.0000\n"
                                  "2000000 3000000 HH 0.7500\n"
                                  "3000000 5200000 OW 0.9877\n"
                                  "5200000 10000000 W 0.5000\n"
                                  ".\n");
    trl_label_file *labels;
    assert_int_equal(trl_label_file_read(temp_path("out/words.mlf"), &labels, &err), 0);
    assert_int_equal(trl_label_file_find(labels, "anna-1", NULL), 0);
    trl_label_entry e = trl_label_file_entry(labels, 0);
    assert_int_equal(e.count, 2);
    assert_string_equal(e.labels[0].text, "42");
    assert_string_equal(e.labels[1].text, "\"WÖRLD\"");
    trl_label_file_destroy(labels);
}

static void states_are_there_by_option(void **state)
{
    (void)state;
    trl_alignment_writer_options o = trl_alignment_writer_defaults();
    o.states = 1;
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    write_made("mlf,textgrid", &o, 1);
    expect_text("out/phones.mlf", "#!MLF!#\n"
                                  "\"*/anna-1.lab\"\n"
                                  "0 1000000 s2 SIL 1.0000\n"
                                  "1000000 2000000 s3\n"
                                  "2000000 2500000 s2 HH 0.7500\n"
                                  "2500000 3000000 s3\n"
                                  "3000000 4100000 s2 OW 0.9877\n"
                                  "4100000 5200000 s3\n"
                                  "5200000 7600000 s2 W 0.5000\n"
                                  "7600000 10000000 s3\n"
                                  ".\n");
    char *grid = read_whole("out/anna-1.TextGrid");
    assert_non_null(strstr(grid, "size = 3 \nitem []"));
    const char *states = strstr(grid, "name = \"states\"");
    assert_non_null(states);
    assert_non_null(strstr(states, "intervals: size = 8 \n"));
    assert_non_null(strstr(states, "xmin = 0.25 \n            xmax = 0.3 \n            text = \"HH.1\" \n"));
    free(grid);
}

/* In every state the id that leaves it comes first, then the others in their order. */
static void check_kaldi_order(const trl_alignment *a, const int32_t *numbers)
{
    for (size_t i = 0; i < a->states.count; i++) {
        const trl_segment *s = &a->states.items[i];
        assert_int_equal(numbers[s->first], a->transitions[s->end - 1]);
        assert_memory_equal(numbers + s->first + 1, a->transitions + s->first,
                            (size_t)(s->end - s->first - 1) * sizeof *numbers);
    }
}

static void kaldi_has_a_transition_per_frame(void **state)
{
    (void)state;
    trl_alignment_writer_options o = trl_alignment_writer_defaults();
    trl_model *model = model_of("A A B\n", 2, NULL);
    o.model = model;
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    make_alignment(&made[1], "anna-2", "a.wav", hello);
    write_made("kaldi", &o, 2);
    trl_model_destroy(model);
    trl__int_ark_reader *archive;
    assert_int_equal(trl__int_ark_open(temp_path("out/ali.ark"), &archive, &err), 0);
    const char *id;
    const int32_t *numbers;
    size_t count;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trl__int_ark_next(archive, &id, &numbers, &count, &err), 1);
        assert_string_equal(id, made[i].utterance.id);
        assert_int_equal(count, 100);
        check_kaldi_order(&made[i].alignment, numbers);
    }
    assert_int_equal(trl__int_ark_next(archive, &id, &numbers, &count, &err), 0);
    trl__int_ark_close(archive);
    char *names = read_whole("out/phones.txt");
    assert_non_null(strstr(names, "SIL 1\n"));
    free(names);
    assert_int_equal(trl_model_import(temp_path("out"), NULL, &model, &err), 0);
    assert_int_equal(trl_model_transitions(model), 24); /* SIL, SPN, A, B: three states of two arcs each */
    trl_model_destroy(model);
}

/* ---- Subtitles ---- */

/* Words W1, W2 … of 0.2 s, with a silence of so many seconds behind those in the list. */
static void make_words(made_alignment *m, int words, const double *silences)
{
    static char names[32][8];
    made_phone p[FIXTURE_MOST] = {{NULL, NULL, 0, 0}};
    double at = 0;
    int n = 0;
    for (int i = 0; i < words; i++) {
        snprintf(names[i], sizeof names[i], "W%d", i + 1);
        p[n++] = (made_phone){names[i], "A", at += 0.2, 1};
        if (silences[i] > 0)
            p[n++] = (made_phone){"", "SIL", at += silences[i], 1};
    }
    make_alignment(m, "talk", "talk.wav", p);
}

static void subtitles_end_by_words_and_pauses(void **state)
{
    (void)state;
    const double silences[9] = {0, 0.5, 0, 0.6};
    make_words(&made[0], 9, silences); /* times: 0 .2 .4 | .9 1.1 1.3 | 1.9 2.1 2.3 2.5 2.7 2.9 */
    write_made("vtt,srt", NULL, 1);
    expect_text("out/talk.vtt", "WEBVTT\n\n"
                                "00:00:00.000 --> 00:00:01.300\nW1 W2 W3 W4\n\n"
                                "00:00:01.900 --> 00:00:02.900\nW5 W6 W7 W8 W9\n\n");
    expect_text("out/talk.srt", "1\n00:00:00,000 --> 00:00:01,300\nW1 W2 W3 W4\n\n"
                                "2\n00:00:01,900 --> 00:00:02,900\nW5 W6 W7 W8 W9\n\n");
    trl_alignment_writer_options o = trl_alignment_writer_defaults();
    o.cue_pause = 100;
    write_made("vtt", &o, 1);
    expect_text("out/talk.vtt", "WEBVTT\n\n"
                                "00:00:00.000 --> 00:00:02.500\nW1 W2 W3 W4 W5 W6 W7\n\n"
                                "00:00:02.500 --> 00:00:02.900\nW8 W9\n\n");
    o.cue_words = 1;
    write_made("srt", &o, 1);
    char *text = read_whole("out/talk.srt");
    assert_non_null(strstr(text, "3\n00:00:00,900 --> 00:00:01,100\nW3\n\n4\n"));
    assert_non_null(strstr(text, "9\n00:00:02,700 --> 00:00:02,900\nW9\n\n"));
    free(text);
}

static void vtt_escapes_and_names_speakers(void **state)
{
    (void)state;
    const made_phone marks[] = {{"<A&B>", "A", 0.5, 1}, {"-->", "B", 1, 1}, {NULL, NULL, 0, 0}};
    make_alignment(&made[0], "u1", "talk.wav", marks);
    make_part(&made[0], "anna", 3600);
    make_alignment(&made[1], "u2", "talk.wav", marks);
    make_part(&made[1], "b>n", 59.9996); /* rounds up into the next minute; before the first one */
    write_made("vtt,srt", NULL, 2);
    expect_text("out/talk.vtt", "WEBVTT\n\n"
                                "00:01:00.000 --> 00:01:01.000\n<v b&gt;n>&lt;A&amp;B&gt; --&gt;\n\n"
                                "01:00:00.000 --> 01:00:01.000\n<v anna>&lt;A&amp;B&gt; --&gt;\n\n");
    expect_text("out/talk.srt", "1\n00:01:00,000 --> 00:01:01,000\n<A&B> -->\n\n"
                                "2\n01:00:00,000 --> 01:00:01,000\n<A&B> -->\n\n");
}

static void silence_alone_has_no_subtitles(void **state)
{
    (void)state;
    const made_phone silence[] = {{"", "SIL", 0.5, 1}, {NULL, NULL, 0, 0}};
    make_alignment(&made[0], "quiet", "q.wav", silence);
    write_made("vtt,srt,ctm,textgrid,mlf,jsonl", NULL, 1);
    expect_text("out/quiet.vtt", "WEBVTT\n\n");
    expect_text("out/quiet.srt", "");
    expect_text("out/words.ctm", "");
    expect_text("out/phones.ctm", "quiet 1 0 0.5 SIL 1.0000\n");
    expect_text("out/words.mlf", "#!MLF!#\n\"*/quiet.lab\"\n.\n");
}

/* ---- Several utterances of one recording ---- */

static void ctm_is_sorted_by_recording_channel_and_start(void **state)
{
    (void)state;
    const made_phone one[] = {{"A", "AH", 0.5, 1}, {NULL, NULL, 0, 0}};
    static const struct {
        const char *id, *path;
        double start;
        int channel;
    } utterances[] = {{"a", "x/zoo.wav", 9, 0},
                      {"b", "x/ape.wav", 5, 1},
                      {"c", "x/zoo.wav", 2, 0},
                      {"d", "x/ape.wav", 7.25, 0},
                      {"e", "x/zoo.wav", 4, 1}};
    for (int i = 0; i < 5; i++) {
        make_alignment(&made[i], utterances[i].id, utterances[i].path, one);
        make_part(&made[i], "anna", utterances[i].start);
        made[i].utterance.channel = utterances[i].channel;
    }
    write_made("ctm", NULL, 5);
    expect_text("out/words.ctm", "ape 1 7.25 0.5 A 1.0000\n"
                                 "ape 2 5 0.5 A 1.0000\n"
                                 "zoo 1 2 0.5 A 1.0000\n"
                                 "zoo 1 9 0.5 A 1.0000\n"
                                 "zoo 2 4 0.5 A 1.0000\n");
}

static void textgrid_leaves_what_nobody_says_empty(void **state)
{
    (void)state;
    const made_phone one[] = {{"A", "AH", 0.5, 1}, {NULL, NULL, 0, 0}};
    const double starts[] = {1.5, 2.0003, 0.25}; /* the second begins 0.3 ms after the first ends: no gap */
    for (int i = 0; i < 3; i++) {
        make_alignment(&made[i], i == 0 ? "a" : i == 1 ? "b" : "c", "talk.wav", one);
        make_part(&made[i], "anna", starts[i]);
    }
    write_made("textgrid", NULL, 3);
    char *grid = read_whole("out/talk.TextGrid");
    assert_non_null(strstr(grid, "size = 2 \nitem []"));
    assert_non_null(strstr(grid,
                           "        intervals: size = 5 \n"
                           "        intervals [1]:\n            xmin = 0 \n            xmax = 0.25 \n            "
                           "text = \"\" \n"
                           "        intervals [2]:\n            xmin = 0.25 \n            xmax = 0.75 \n            "
                           "text = \"A\" \n"
                           "        intervals [3]:\n            xmin = 0.75 \n            xmax = 1.5 \n            "
                           "text = \"\" \n"
                           "        intervals [4]:\n            xmin = 1.5 \n            xmax = 2 \n            "
                           "text = \"A\" \n"
                           "        intervals [5]:\n            xmin = 2 \n            xmax = 2.5003 \n            "
                           "text = \"A\" \n"
                           "    item [2]:"));
    free(grid);
}

static void textgrid_has_tiers_for_each_speaker(void **state)
{
    (void)state;
    const made_phone one[] = {{"A", "AH", 0.5, 1}, {NULL, NULL, 0, 0}};
    static const struct {
        const char *speaker;
        double start;
    } utterances[] = {{"anna", 0}, {"ben", 0.2}, {"anna", 0.6}, {"anna", 0.8}, {"ben", 1}};
    for (int i = 0; i < 5; i++) {
        static const char *const ids[] = {"a", "b", "c", "d", "e"};
        make_alignment(&made[i], ids[i], "talk.wav", one);
        make_part(&made[i], utterances[i].speaker, utterances[i].start);
    }
    write_made("textgrid", NULL, 5); /* anna's fourth overlaps her third */
    char *grid = read_whole("out/talk.TextGrid"), *at = grid;
    const char *const names[] = {"anna - words", "anna - phones",  "ben - words",
                                 "ben - phones", "anna 2 - words", "anna 2 - phones"};
    const char *const sizes[] = {"4", "4", "4", "4", "3", "3"}; /* A gap A rest; gap A gap A; gap A rest */
    assert_non_null(strstr(grid, "size = 6 \nitem []"));
    for (int i = 0; i < 6; i++) {
        char name[64], size[64];
        snprintf(name, sizeof name, "name = \"%s\" \n", names[i]);
        snprintf(size, sizeof size, "intervals: size = %s \n", sizes[i]);
        at = strstr(at, name);
        assert_non_null(at);
        assert_ptr_equal(strstr(at, size), strstr(at, "intervals: size"));
    }
    free(grid);
}

/* ---- Names ---- */

static int is_there(const char *name)
{
    return access(temp_path(name), F_OK) == 0;
}

static void names_are_safe_and_unique(void **state)
{
    (void)state;
    const made_phone one[] = {{"A", "AH", 0.5, 1}, {NULL, NULL, 0, 0}};
    char longest[400];
    memset(longest, 'x', sizeof longest);
    longest[399] = '\0';
    memcpy(longest + 199, "ö", 2); /* a cut at 200 bytes would halve it */
    const char *const ids[] = {"../../etc/passwd", "..", "a/b", "a-b", ".hidden", longest};
    for (int i = 0; i < 6; i++)
        make_alignment(&made[i], ids[i], "same.wav", one);
    write_made("srt", NULL, 6);
    assert_true(is_there("out/_.-..-etc-passwd.srt"));
    assert_true(is_there("out/_..srt"));
    assert_true(is_there("out/a-b.srt"));
    assert_true(is_there("out/a-b-2.srt"));
    assert_true(is_there("out/_hidden.srt"));
    longest[199] = '\0';
    char name[300];
    snprintf(name, sizeof name, "out/%.200s.srt", longest);
    assert_true(is_there(name));
    assert_int_equal(temp_entries(0), 1); /* nothing beside the folder */
}

static void recordings_of_one_name_get_their_folder(void **state)
{
    (void)state;
    const made_phone one[] = {{"A", "AH", 0.5, 1}, {NULL, NULL, 0, 0}};
    const char *const paths[] = {"d/s1/talk.wav", "d/s2/talk.wav", "e/s2/talk.flac", "d/other.wav", "talk.wav"};
    const char *const ids[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        make_alignment(&made[i], ids[i], paths[i], one);
        make_part(&made[i], "anna", 1);
    }
    write_made("vtt", NULL, 5);
    const char *const names[] = {"s1-talk", "s2-talk", "s2-talk-2", "other", "talk"};
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "out/%s.vtt", names[i]);
        assert_true(is_there(name));
    }
}

static void recordings_with_ids_have_those_names(void **state)
{
    (void)state;
    const made_phone one[] = {{"A", "AH", 0.5, 1}, {NULL, NULL, 0, 0}};
    const char *const paths[] = {"d/talk.wav", "d/talk.wav", "e/talk.wav", "d/talk.wav"};
    const char *const ids[] = {"a", "b", "c", "d"}, *const recordings[] = {"rec/1", "rec/1", "rec2", "rec3"};
    for (int i = 0; i < 4; i++) {
        make_alignment(&made[i], ids[i], paths[i], one);
        make_part(&made[i], "anna", 4 - i);
        made[i].utterance.recording = recordings[i];
    }
    made[3].utterance.start = 0; /* a whole file has its utterance's name */
    made[3].utterance.end = -1;
    write_made("ctm,vtt", NULL, 4);
    expect_text("out/words.ctm", "d 1 0 0.5 A 1.0000\n"
                                 "rec-1 1 3 0.5 A 1.0000\n"
                                 "rec-1 1 4 0.5 A 1.0000\n"
                                 "rec2 1 2 0.5 A 1.0000\n");
    assert_true(is_there("out/rec-1.vtt") && is_there("out/rec2.vtt"));
}

/* ---- Numbers ---- */

static void decimal_points_in_every_language(void **state)
{
    (void)state;
    set_comma_locale();
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    write_made("ctm,textgrid,jsonl,mlf", NULL, 1);
    setlocale(LC_ALL, "C");
    expect_text("out/words.ctm", "anna-1 1 0.2 0.32 HELLO 0.7500\nanna-1 1 0.52 0.48 \"WÖRLD\" 0.5000\n");
    char *line = read_whole("out/alignments.jsonl");
    assert_non_null(strstr(line, "\"log_likelihood\":-50.5,"));
    free(line);
    assert_true(is_there("out/anna-1.TextGrid"));
}

/* ---- What is refused ---- */

static void unfit_options_are_refused(void **state)
{
    (void)state;
    trl_alignment_writer *writer;
    const char *const wrong[] = {"praat", "", "ctm,", "ctm,,srt", "CTM", "ctm vtt"};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(trl_alignment_writer_open(temp_path("out"), wrong[i], NULL, &writer, &err), TRL_EINVAL);
        assert_null(writer);
        assert_non_null(strstr(err.text, "textgrid, ctm, jsonl, kaldi, mlf, vtt, srt"));
    }
    assert_false(is_there("out"));
    assert_int_equal(trl_alignment_writer_open(temp_path("out"), "ctm,kaldi", NULL, &writer, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "model"));
    assert_int_equal(trl_alignment_writer_open(temp_path("no/out"), "ctm", NULL, &writer, &err), TRL_ENOENT);
    assert_non_null(strstr(err.text, "no/out"));
    temp_write("file", "x", 1);
    assert_int_equal(trl_alignment_writer_open(temp_path("file"), "ctm", NULL, &writer, &err), TRL_EIO);
    trl_alignment_writer_options o = trl_alignment_writer_defaults();
    o.cue_words = 0;
    assert_int_equal(trl_alignment_writer_options_check(&o, &err), TRL_EINVAL);
    assert_int_equal(trl_alignment_writer_open(temp_path("out"), "ctm", &o, &writer, &err), TRL_EINVAL);
    o = trl_alignment_writer_defaults();
    o.cue_pause = NAN;
    assert_int_equal(trl_alignment_writer_options_check(&o, &err), TRL_EINVAL);
    o = trl_alignment_writer_defaults();
    o.states = 2;
    assert_int_equal(trl_alignment_writer_options_check(&o, &err), TRL_EINVAL);
    assert_string_equal(trl_alignment_format_name(0), "textgrid");
    assert_string_equal(trl_alignment_format_name(6), "srt");
    assert_null(trl_alignment_format_name(7));
}

static void spoil(int fault)
{
    make_alignment(&made[1], "anna-2", "a.wav", hello);
    switch (fault) {
    case 0: made[1].words[1].start += 0.01; break;                   /* a gap */
    case 1: made[1].phones[2].stop = made[1].phones[2].start; break; /* no length */
    case 2: made[1].states[3].stop = NAN; break;
    case 3: made[1].words[0].confidence = NAN; break;
    case 4: made[1].phones[3].index = 3; break;  /* there are three words */
    case 5: made[1].phones[3].index = -1; break; /* backwards */
    case 6: made[1].alignment.seconds = 2; break;
    case 7: made[1].utterance.id = "anna 2"; break;
    }
}

static void unfit_alignments_put_nothing_in_place(void **state)
{
    (void)state;
    const int codes[] = {TRL_EINVAL, TRL_EINVAL, TRL_ENUMBER, TRL_ENUMBER,
                         TRL_EINVAL, TRL_EINVAL, TRL_EINVAL,  TRL_EFORMAT};
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    for (int fault = 0; fault < 8; fault++) {
        trl_alignment_writer *writer;
        assert_int_equal(trl_alignment_writer_open(temp_folder, "ctm,textgrid,jsonl,mlf,vtt,srt", NULL, &writer, &err),
                         0);
        assert_int_equal(trl_alignment_writer_add(writer, &made[0].alignment, &err), 0);
        spoil(fault);
        assert_int_equal(trl_alignment_writer_add(writer, &made[1].alignment, &err), codes[fault]);
        assert_non_null(strstr(err.text, "anna"));
        assert_int_equal(trl_alignment_writer_add(writer, &made[0].alignment, &err), codes[fault]);
        assert_int_equal(trl_alignment_writer_commit(writer, &err), codes[fault]);
        assert_int_equal(temp_entries(0), 0);
    }
}

static void nothing_appears_before_the_commit(void **state)
{
    (void)state;
    trl_alignment_writer *writer;
    temp_write("words.ctm", "old", 3);
    make_alignment(&made[0], "anna-1", "a.wav", hello);
    assert_int_equal(trl_alignment_writer_open(temp_folder, "ctm,textgrid", NULL, &writer, &err), 0);
    assert_int_equal(trl_alignment_writer_add(writer, &made[0].alignment, &err), 0);
    assert_int_equal(temp_entries(0), 1);
    trl_alignment_writer_abort(writer);
    assert_int_equal(temp_entries(0), 1);
    temp_expect("words.ctm", "old", 3);
    trl_alignment_writer_abort(NULL);
}

static int write_all(const trl_model *model)
{
    trl_alignment_writer *writer;
    trl_alignment_writer_options o = trl_alignment_writer_defaults();
    o.model = model;
    int code = trl_alignment_writer_open(temp_path("out"), "textgrid,ctm,jsonl,kaldi,mlf,vtt,srt", &o, &writer, &err);
    for (int i = 0; code == 0 && i < 3; i++)
        code = trl_alignment_writer_add(writer, &made[i].alignment, &err);
    if (code == 0)
        return trl_alignment_writer_commit(writer, &err);
    trl_alignment_writer_abort(writer);
    return code;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        make_alignment(&made[i], ids[i], "talk.wav", hello);
        if (i > 0)
            make_part(&made[i], i == 1 ? "anna" : "ben", i);
    }
    trl_model *model = model_of("A A B\n", 2, NULL);
    int code = TRL_ENOMEM;
    long n = 1;
    for (; code != 0 && n < 1000; n++) {
        trl__memory_fail_after(n);
        code = write_all(model);
        trl__memory_fail_after(0);
        if (code != 0)
            assert_int_equal(code, TRL_ENOMEM);
    }
    assert_int_equal(code, 0);
    assert_true(n > 20);
    trl_model_destroy(model);
    assert_true(is_there("out/talk.TextGrid"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_make, temp_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(textgrid_is_praats_long_form),
                                       TEST(ctm_has_words_and_phones),
                                       TEST(jsonl_nests_the_levels),
                                       TEST(mlf_counts_in_100_ns),
                                       TEST(states_are_there_by_option),
                                       TEST(kaldi_has_a_transition_per_frame),
                                       TEST(subtitles_end_by_words_and_pauses),
                                       TEST(vtt_escapes_and_names_speakers),
                                       TEST(silence_alone_has_no_subtitles),
                                       TEST(ctm_is_sorted_by_recording_channel_and_start),
                                       TEST(textgrid_leaves_what_nobody_says_empty),
                                       TEST(textgrid_has_tiers_for_each_speaker),
                                       TEST(names_are_safe_and_unique),
                                       TEST(recordings_of_one_name_get_their_folder),
                                       TEST(recordings_with_ids_have_those_names),
                                       TEST(decimal_points_in_every_language),
                                       TEST(unfit_options_are_refused),
                                       TEST(unfit_alignments_put_nothing_in_place),
                                       TEST(nothing_appears_before_the_commit),
                                       TEST(memory_may_run_out_anywhere)};
    return RUN(tests);
}
