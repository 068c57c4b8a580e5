/* Corpora: each form gives the same kind of object, and everything wrong with it is said with its place. */
#include "corpus_fixture.h"

#include "base/memory.h"
#include "corpus/corpus_builder.h"

#include <sys/stat.h>

static void folder(const char *name)
{
    assert_int_equal(mkdir(temp_path(name), 0777), 0);
}

/* A sine of this many samples at 16 kHz. */
static void sound(const char *name, size_t frames)
{
    float *samples = malloc((frames + 1) * sizeof *samples);
    for (size_t i = 0; i < frames; i++)
        samples[i] = 0.5f * (float)sin(0.1 * (double)i);
    write_floats(temp_path(name), SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, samples, frames);
    free(samples);
}

static void read_ok(const char *name)
{
    if (trl_corpus_read(temp_path(name), NULL, findings, &corpus, &err) < 0)
        fail_msg("%s", err.text);
}

/* Is there a finding of this kind at this place (the end of its file name) about this utterance, saying this? */
static void assert_found(trl_finding_kind kind, const char *file, int64_t line, const char *utterance,
                         const char *saying)
{
    const trl_finding *f;
    for (size_t i = 0; (f = trl_findings_get(findings, i)); i++) {
        size_t length = strlen(f->file), tail = strlen(file);
        if (f->kind == kind && length >= tail && strcmp(f->file + length - tail, file) == 0 && f->line == line &&
            (utterance ? f->utterance && strcmp(f->utterance, utterance) == 0 : !f->utterance) &&
            strstr(f->message, saying))
            return;
    }
    for (size_t i = 0; (f = trl_findings_get(findings, i)); i++)
        print_error("%s %s:%lld: %s: %s\n", trl_finding_name(f->kind), f->file, (long long)f->line,
                    f->utterance ? f->utterance : "-", f->message);
    fail_msg("no finding %s %s:%lld: %s", trl_finding_name(kind), file, (long long)line, utterance ? utterance : "-");
}

static const trl_utterance *utterance(const char *id)
{
    long number = trl_corpus_find(corpus, id);
    if (number < 0)
        fail_msg("no utterance %s", id);
    return trl_corpus_get(corpus, (size_t)number);
}

static void assert_ids(const char *const *ids, size_t count)
{
    assert_int_equal(trl_corpus_count(corpus), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(trl_corpus_get(corpus, i)->id, ids[i]);
        assert_int_equal(trl_corpus_find(corpus, ids[i]), i);
    }
    assert_null(trl_corpus_get(corpus, count));
}
#define ASSERT_IDS(...) \
    assert_ids((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- Kaldi ---- */

static void test_kaldi(void **state)
{
    (void)state;
    folder("set");
    folder("set/data");
    sound("set/data/in folder.wav", 100);
    sound("beside.wav", 100); /* relative to the parent */
    put("set/wav.scp", "c-1 data/in folder.wav \nb-1\tbeside.wav\na-9 beside.wav\n");
    put("set/text", "a-9  nine \t lives \nc-1 one\r\nb-1 two\n");
    put("set/utt2spk", "a-9 anna\nb-1 bert\nc-1 anna\n");
    read_ok("set");
    assert_string_equal(trl_corpus_format_name(corpus), "kaldi");
    assert_int_equal(trl_findings_count(findings), 0);
    ASSERT_IDS("a-9", "b-1", "c-1");
    assert_string_equal(utterance("a-9")->text, "nine lives");
    assert_string_equal(utterance("c-1")->text, "one");
    assert_int_equal(utterance("c-1")->line, 1);
    assert_int_equal(utterance("c-1")->text_line, 2);
    assert_int_equal(utterance("c-1")->channel, -1);
    assert_true(utterance("c-1")->start == 0 && utterance("c-1")->end == -1);
    assert_true(trl__is_file(utterance("c-1")->path) && trl__is_file(utterance("b-1")->path));
    assert_int_equal(trl_corpus_speakers(corpus), 2);
    assert_string_equal(trl_corpus_speaker(corpus, 0), "anna");
    assert_int_equal(utterance("b-1")->speaker_index, 1);
    assert_int_equal(utterance("c-1")->speaker_index, 0);
}

static void test_kaldi_without_speakers(void **state)
{
    (void)state;
    folder("set");
    sound("set/a.wav", 100);
    put("set/wav.scp", "u1 a.wav\nu2 a.wav\n");
    put("set/text", "u1 a\nu2 b\n");
    read_ok("set");
    assert_int_equal(trl_findings_count(findings), 0);
    assert_string_equal(utterance("u2")->speaker, "u2");
}

static void test_kaldi_broken(void **state)
{
    (void)state;
    folder("set");
    sound("set/a.wav", 100);
    put("set/wav.scp",
        "u1 a.wav\nu2 sox a.wav -t wav - |\nu3\nu4 gone.wav\nu1 a.wav\nu5 a.wav\n\xC3( x\nu6 -\nu7 a.wav\n"
        "u8 a.wav\nu9 /gone/away.wav\n");
    put("set/text", "u1 one\nu2 two\nu4 four\nu5 \nu99 ninety-nine\nu6 x\nu7 \xFF\nu7 again\nu8 ok\nu9 nine\n");
    put("set/utt2spk", "u1 s\nu2 s\nu4 s\nu5 s\nu6\nu7 s\nu7 t\nu77 s\nu9 s\nu8 s t\n");
    read_ok("set");
    ASSERT_IDS("u1", "u2", "u4", "u5", "u6", "u7", "u8", "u9");
    assert_found(TRL_FINDING_PIPE, "wav.scp", 2, "u2", "sox a.wav -t wav - |");
    assert_found(TRL_FINDING_SYNTAX, "wav.scp", 3, "u3", "no sound file");
    assert_found(TRL_FINDING_NO_SOUND, "wav.scp", 4, "u4", "gone.wav");
    assert_found(TRL_FINDING_DUPLICATE, "wav.scp", 5, "u1", "line 1");
    assert_found(TRL_FINDING_ENCODING, "wav.scp", 7, NULL, "UTF-8");
    assert_found(TRL_FINDING_NO_SOUND, "wav.scp", 8, "u6", "- is not");
    assert_found(TRL_FINDING_NO_SOUND, "wav.scp", 11, "u9", "no such file");
    assert_found(TRL_FINDING_EMPTY_TRANSCRIPT, "text", 4, "u5", "empty");
    assert_found(TRL_FINDING_NO_SOUND, "text", 5, "u99", "not in wav.scp");
    assert_found(TRL_FINDING_ENCODING, "text", 7, "u7", "UTF-8 (byte ff)");
    assert_found(TRL_FINDING_DUPLICATE, "text", 8, "u7", "line 7");
    assert_found(TRL_FINDING_SYNTAX, "utt2spk", 5, "u6", "no speaker");
    assert_found(TRL_FINDING_DUPLICATE, "utt2spk", 7, "u7", "already");
    assert_found(TRL_FINDING_NO_SOUND, "utt2spk", 8, "u77", "no sound");
    assert_found(TRL_FINDING_SYNTAX, "utt2spk", 10, "u8", "more than one word");
    assert_found(TRL_FINDING_NO_SPEAKER, "utt2spk", 0, "u6", "not in utt2spk");
    assert_found(TRL_FINDING_NO_SPEAKER, "utt2spk", 0, "u8", "not in utt2spk");
    assert_int_equal(trl_findings_count(findings), 17);
    assert_string_not_equal(utterance("u6")->path, "-"); /* never standard input */
    assert_string_equal(utterance("u7")->speaker, "s");
    for (size_t i = 0; i < trl_corpus_count(corpus); i++)
        assert_int_equal(trl_corpus_get(corpus, i)->bad, !strchr("18", trl_corpus_get(corpus, i)->id[1]));
}

static void test_kaldi_segments(void **state)
{
    (void)state;
    folder("set");
    sound("set/a.wav", 32000);
    put("set/wav.scp", "r1 a.wav\nr2 cat x |\nr3 a.wav\n");
    put("set/segments",
        "u1 r1 0.5 1.25 1\nu2 r2 0 1\nu3 r9 0 1\nu4 r1 1 1\nu5 r1 x 1\nu6 r1 1 -1\nu7 r1 -1 1\nu8 r1 0 1e300\n"
        "u9 r1 0 1 left\n");
    put("set/text", "u1 one\nu2 two\nu6 six\n");
    read_ok("set");
    ASSERT_IDS("u1", "u2", "u6");
    assert_true(utterance("u1")->start == 0.5 && utterance("u1")->end == 1.25 && !utterance("u1")->bad);
    assert_true(utterance("u1")->channel == 1 && utterance("u6")->channel == -1);
    assert_true(utterance("u6")->start == 1 && utterance("u6")->end == -1);
    assert_string_equal(utterance("u6")->recording, "r1");
    assert_true(utterance("u2")->bad);
    assert_found(TRL_FINDING_PIPE, "wav.scp", 2, "r2", "cat x |");
    assert_found(TRL_FINDING_NO_TRANSCRIPT, "wav.scp", 3, NULL, "recording r3");
    assert_found(TRL_FINDING_NO_SOUND, "segments", 3, "u3", "r9");
    assert_found(TRL_FINDING_SEGMENT, "segments", 4, "u4", "from 1 s to 1 s");
    assert_found(TRL_FINDING_SYNTAX, "segments", 5, "u5", "UTTERANCE RECORDING START END");
    assert_found(TRL_FINDING_SEGMENT, "segments", 7, "u7", "");
    assert_found(TRL_FINDING_SEGMENT, "segments", 8, "u8", "");
    assert_found(TRL_FINDING_SYNTAX, "segments", 9, "u9", "channel");
    assert_int_equal(trl_findings_count(findings), 8);
}

static void test_no_transcript_at_all_is_said_once(void **state)
{
    (void)state;
    folder("set");
    sound("set/a.wav", 100);
    put("set/wav.scp", "u1 a.wav\nu2 a.wav\n");
    read_ok("set");
    assert_int_equal(trl_findings_count(findings), 1);
    assert_found(TRL_FINDING_NO_TRANSCRIPT, "set", 0, NULL, "none of the 2 utterances");
    assert_true(utterance("u1")->bad && utterance("u2")->bad);
    trl_corpus_destroy(corpus);
    trl_corpus_options o = trl_corpus_defaults();
    o.need_text = 0;
    assert_int_equal(trl_corpus_read(temp_path("set"), &o, findings, &corpus, &err), 0);
    assert_int_equal(trl_findings_count(findings), 1);
    assert_false(utterance("u1")->bad);
}

/* ---- Folders ---- */

static const char grid_of_two[] = "\"ooTextFile\" \"TextGrid\" 0 2 <exists> 2\n"
                                  "\"IntervalTier\" \"Anna M\" 0 2 3\n0 0.5 \"hi\"\n0.5 1 \" \"\n1 2 \"ho\nho\"\n"
                                  "\"IntervalTier\" \"bert\" 0 2 2\n0 1.5 \"yes\"\n3 2.5 \"no\"\n";
static const char grid_of_one[] =
    "\"ooTextFile\" \"TextGrid\" 0 2 <exists> 1\n\"IntervalTier\" \"words\" 0 2 1\n0 2 \"x\"\n";

static void test_folder(void **state)
{
    (void)state;
    folder("speech");
    folder("speech/anna");
    folder("speech/bert");
    folder("speech/bert/deep");
    sound("speech/anna/1.wav", 100);
    put("speech/anna/1.lab", "one\nline\n");
    sound("speech/bert/1.WAV", 100);
    put("speech/bert/1.Txt", "\xEF\xBB\xBFuno");
    sound("speech/bert/my talk.wav", 32000);
    put("speech/bert/my talk.TextGrid", grid_of_two);
    sound("speech/bert/deep/solo.wav", 32000);
    put("speech/bert/deep/solo.textgrid", grid_of_one);
    sound("speech/top.wav", 100);
    put("speech/top.lab", "top");
    sound("speech/.hidden.wav", 100);
    sound("speech/grid.wav", 32000);
    put("speech/grid.TextGrid", grid_of_one);
    put("speech/film.MP4", "");
    put("speech/film.lab", "a film");
    put("speech/top.mp4", ""); /* what top.wav was extracted from */
    read_ok("speech");
    assert_string_equal(trl_corpus_format_name(corpus), "folder");
    assert_string_equal(utterance("film")->text, "a film");
    ASSERT_IDS("anna-1", "bert-1", "film", "grid-words-00000000-00002000", "my_talk-Anna_M-00000000-00000500",
               "my_talk-Anna_M-00001000-00002000", "my_talk-bert-00000000-00001500", "solo-words-00000000-00002000",
               "top");
    assert_int_equal(trl_findings_count(findings), 1);
    assert_found(TRL_FINDING_SEGMENT, "bert/my talk.TextGrid", 9, NULL, "tier bert: from 3 s to 2.5 s");
    assert_string_equal(utterance("anna-1")->speaker, "anna");
    assert_string_equal(utterance("anna-1")->text, "one line");
    assert_string_equal(utterance("bert-1")->text, "uno");
    assert_string_equal(utterance("top")->speaker, "speech");
    assert_string_equal(utterance("my_talk-Anna_M-00001000-00002000")->speaker, "Anna_M");
    assert_string_equal(utterance("my_talk-Anna_M-00001000-00002000")->text, "ho ho");
    assert_int_equal(utterance("my_talk-Anna_M-00001000-00002000")->line, 5);
    assert_true(utterance("my_talk-Anna_M-00001000-00002000")->start == 1);
    assert_string_equal(utterance("solo-words-00000000-00002000")->speaker, "deep");
    assert_string_equal(utterance("grid-words-00000000-00002000")->speaker, "words");
}

static void test_folder_broken(void **state)
{
    (void)state;
    folder("speech");
    sound("speech/a.wav", 100);
    put("speech/a.lab", "a");
    put("speech/a.txt", "other");
    sound("speech/b.wav", 100);
    put("speech/c.lab", "no sound");
    sound("speech/d.wav", 100);
    put("speech/d.lab", " \n\n");
    sound("speech/e.wav", 100);
    put("speech/e.lab", "fine\nnot \xE9t\xE9\n");
    sound("speech/f.wav", 100);
    put("speech/f.TextGrid", "\"ooTextFile\" \"TextGrid\"\n0 x");
    sound("speech/g.wav", 100);
    put("speech/g.TextGrid", "\"ooTextFile\" \"TextGrid\" 0 1 <exists> 1 \"IntervalTier\" \"t\" 0 1 1 0 1 \"\"");
    sound("speech/h.wav", 100);
    sound("speech/h.flac", 100);
    put("speech/h.lab", "h");
    sound("speech/i\xFF.wav", 100);
    assert_int_equal(symlink("nowhere", temp_path("speech/j.wav")), 0);
    read_ok("speech");
    ASSERT_IDS("a", "b", "d", "e", "f", "g", "h");
    assert_string_equal(utterance("a")->text, "a");
    assert_found(TRL_FINDING_NO_SOUND, "a.txt", 0, NULL, "transcript is a.lab");
    assert_found(TRL_FINDING_NO_TRANSCRIPT, "b.wav", 0, "b", "no transcript");
    assert_found(TRL_FINDING_NO_SOUND, "c.lab", 0, NULL, "no sound file");
    assert_found(TRL_FINDING_EMPTY_TRANSCRIPT, "d.lab", 1, "d", "empty");
    assert_found(TRL_FINDING_ENCODING, "e.lab", 2, "e", "byte e9");
    assert_found(TRL_FINDING_SYNTAX, "f.TextGrid", 2, "f", "the file ends");
    assert_found(TRL_FINDING_EMPTY_TRANSCRIPT, "g.TextGrid", 0, "g", "no interval");
    assert_found(TRL_FINDING_DUPLICATE, "h.wav", 0, "h", "h.flac has the same id");
    assert_found(TRL_FINDING_ENCODING, "i\xEF\xBF\xBD.wav", 0, NULL, "name");
    assert_found(TRL_FINDING_NO_ACCESS, "j.wav", 0, NULL, "No such file");
    assert_int_equal(trl_findings_count(findings), 10);
    for (size_t i = 0; i < trl_corpus_count(corpus); i++)
        assert_int_equal(trl_corpus_get(corpus, i)->bad, !strchr("ah", trl_corpus_get(corpus, i)->id[0]));
}

/* Where nobody asks for transcripts, sound is as good as ever beside text of any kind. */
static void test_text_that_nobody_needs(void **state)
{
    (void)state;
    folder("speech");
    sound("speech/a.wav", 100);
    put("speech/a.txt", "\xE9t\xE9");
    sound("speech/b.wav", 100);
    put("speech/b.TextGrid", "nothing");
    put("speech/readme.txt", "hello");
    folder("set");
    put("set/wav.scp", "u1 ../speech/a.wav\nu2 ../speech/b.wav\n");
    put("set/text", "u1 \xE9t\xE9\nu2 two\nu3 three\n");
    trl_corpus_options o = {.need_text = 0};
    assert_int_equal(trl_corpus_read(temp_path("speech"), &o, findings, &corpus, &err), 0);
    ASSERT_IDS("a", "b");
    assert_false(utterance("a")->bad || utterance("b")->bad);
    trl_corpus_destroy(corpus);
    assert_int_equal(trl_corpus_read(temp_path("set"), &o, findings, &corpus, &err), 0);
    assert_false(utterance("u1")->bad);
    assert_null(utterance("u1")->text);
    assert_string_equal(utterance("u2")->text, "two");
    assert_found(TRL_FINDING_UNUSED_TRANSCRIPT, "a.txt", 1, "a", "byte e9");
    assert_found(TRL_FINDING_UNUSED_TRANSCRIPT, "b.TextGrid", 1, "b", "Praat");
    assert_found(TRL_FINDING_UNUSED_TRANSCRIPT, "readme.txt", 0, NULL, "no sound file");
    assert_found(TRL_FINDING_UNUSED_TRANSCRIPT, "text", 1, "u1", "byte e9");
    assert_found(TRL_FINDING_UNUSED_TRANSCRIPT, "text", 3, "u3", "not in wav.scp");
    assert_int_equal(trl_findings_count(findings), 5);
}

/* Links to folders above end, links to folders elsewhere are followed, real names win. */
static void test_folder_links(void **state)
{
    (void)state;
    folder("speech");
    for (int i = 0; i < 16; i++) { /* a folder's entries come in any order: some of these come before z */
        char link[32];
        snprintf(link, sizeof link, "speech/l%d", i);
        if (i == 8)
            folder("speech/z");
        assert_int_equal(symlink("z", temp_path(link)), 0);
    }
    folder("other");
    sound("speech/z/1.wav", 100);
    put("speech/z/1.lab", "one");
    sound("other/2.wav", 100);
    put("other/2.lab", "two");
    assert_int_equal(symlink("..", temp_path("speech/z/up")), 0);
    assert_int_equal(symlink("../other", temp_path("speech/more")), 0);
    read_ok("speech");
    ASSERT_IDS("1", "2");
    assert_string_equal(utterance("1")->speaker, "z");
    assert_string_equal(utterance("2")->speaker, "more");
    assert_int_equal(trl_findings_count(findings), 0);
}

static void test_single_sound(void **state)
{
    (void)state;
    sound("one.wav", 100);
    put("one.lab", "hello");
    sound("two.wav", 100);
    read_ok("one.wav");
    assert_string_equal(trl_corpus_format_name(corpus), "sound");
    ASSERT_IDS("one");
    assert_string_equal(utterance("one")->text, "hello");
    assert_string_equal(utterance("one")->speaker, "one");
    trl_corpus_destroy(corpus);
    sound("one.flac", 100);
    sound("one.odd", 100);
    for (int i = 0; i < 2; i++) { /* the one that is named, whatever its extension and whatever lies beside it */
        trl_corpus_options o = {.format = TRL_CORPUS_SOUND, .need_text = 1};
        const char *name = i == 0 ? "one.wav" : "one.odd";
        assert_int_equal(trl_corpus_read(temp_path(name), &o, findings, &corpus, &err), 0);
        ASSERT_IDS("one");
        assert_string_equal(utterance("one")->path + strlen(utterance("one")->path) - strlen(name), name);
        assert_string_equal(utterance("one")->text, "hello");
        trl_corpus_destroy(corpus);
        assert_int_equal(trl_corpus_read(temp_path("gone.wav"), &o, findings, &corpus, &err), TRL_ENOENT);
    }
    assert_int_equal(trl_findings_count(findings), 0);
    assert_int_equal(trl_corpus_read("-", NULL, findings, &corpus, &err), 0);
    assert_string_equal(utterance("stdin")->path, "-");
}

/* Behind each other in their order, as they were, unless something would not be clear any more. */
static void test_append(void **state)
{
    (void)state;
    trl_corpus *other;
    sound("two.wav", 100);
    put("two.lab", "good  bye");
    sound("one.wav", 100);
    put("one.lab", "");
    read_ok("two.wav");
    assert_int_equal(trl_corpus_read(temp_path("one.wav"), NULL, findings, &other, &err), 0);
    assert_int_equal(trl_corpus_append(corpus, other, &err), 1);
    assert_int_equal(trl_corpus_append(corpus, other, &err), 0);
    trl_corpus_destroy(other);
    assert_int_equal(trl_corpus_count(corpus), 2);
    assert_int_equal(trl_corpus_speakers(corpus), 2);
    assert_string_equal(trl_corpus_get(corpus, 0)->id, "two");
    assert_int_equal(trl_corpus_find(corpus, "one"), 1);
    assert_string_equal(utterance("two")->text, "good bye");
    assert_null(utterance("one")->text); /* it is empty: a finding */
    assert_non_null(strstr(utterance("one")->text_source, "one.lab"));
    assert_int_equal(utterance("one")->bad, 1);
    assert_int_equal(utterance("one")->speaker_index, 1);
}

/* ---- Manifests ---- */

static void test_manifest(void **state)
{
    (void)state;
    folder("cv");
    folder("cv/clips");
    folder("cv/sub");
    sound("cv/clips/c1.wav", 100);
    sound("cv/sub/c2.wav", 16000);
    put("cv/all.tsv", "client_id\tpath\tSentence\tup_votes\tstart\tend\tchannel\n"
                      "anna b\tc1.wav\tsays \"hi\"  there\t2\t\t\t\n\n"
                      "bert\tsub/c2.wav\tyes\t0\t0.25\t0.5\t1\n"
                      "bert\t./sub/c2.wav\tno\t0\t0.5\t\t\n");
    read_ok("cv/all.tsv");
    assert_string_equal(trl_corpus_format_name(corpus), "manifest");
    assert_int_equal(trl_findings_count(findings), 0);
    ASSERT_IDS("c1", "sub-c2-00000250-00000500", "sub-c2-00000500-end");
    assert_string_equal(utterance("c1")->speaker, "anna_b");
    assert_string_equal(utterance("c1")->text, "says \"hi\" there");
    assert_int_equal(utterance("c1")->line, 2);
    assert_int_equal(utterance("c1")->channel, -1);
    assert_non_null(strstr(utterance("c1")->path, "clips/c1.wav"));
    const trl_utterance *part = utterance("sub-c2-00000250-00000500");
    assert_true(part->start == 0.25 && part->end == 0.5 && part->channel == 1 && part->line == 4);
}

static void test_manifest_broken(void **state)
{
    (void)state;
    sound("a.wav", 100);
    put("m.tsv", "id\tfile\tpath\ttext\tstart\tend\tchannel\n"
                 "u1\tx\ta.wav\tone\t\t\t\n"
                 "u2\tx\tgone.wav\ttwo\t\t\t\n"
                 "u3\tx\ta.wav\n"
                 "\tx\ta.wav\tfour\t\t\t\n"
                 "u1\tx\ta.wav\tfive\t\t\t\n"
                 "u6\tx\ta.wav\tsix\tnow\t\t\n"
                 "u7\tx\ta.wav\tseven\t2\t1\t\n"
                 "u8\tx\ta.wav\teight\t\t\t-1\n"
                 "u9\tx\trm -rf x |\tnine\t\t\t\n"
                 "u10\tx\t\tten\t\t\t\n"
                 "u11\tx\ta.wav\t\t\t\t\n"
                 "u\xFF\tx\ta.wav\tx\t\t\t\n"
                 "u12\tx\ta.wav\ttwelve\t\tsoon\t\n");
    read_ok("m.tsv");
    ASSERT_IDS("u1", "u11", "u2", "u9");
    assert_false(utterance("u1")->bad); /* line 6 has its id and is left out */
    assert_found(TRL_FINDING_NO_SOUND, "m.tsv", 3, "u2", "gone.wav");
    assert_found(TRL_FINDING_SYNTAX, "m.tsv", 4, "u3", "3 values, but the first line names 7");
    assert_found(TRL_FINDING_SYNTAX, "m.tsv", 5, NULL, "id is empty");
    assert_found(TRL_FINDING_DUPLICATE, "m.tsv", 6, "u1", "line 2");
    assert_found(TRL_FINDING_SYNTAX, "m.tsv", 7, "u6", "start");
    assert_found(TRL_FINDING_SEGMENT, "m.tsv", 8, "u7", "from 2 s to 1 s");
    assert_found(TRL_FINDING_SYNTAX, "m.tsv", 9, "u8", "channel");
    assert_found(TRL_FINDING_PIPE, "m.tsv", 10, "u9", "rm -rf x |");
    assert_found(TRL_FINDING_SYNTAX, "m.tsv", 11, "u10", "no sound file");
    assert_found(TRL_FINDING_EMPTY_TRANSCRIPT, "m.tsv", 12, "u11", "empty");
    assert_found(TRL_FINDING_ENCODING, "m.tsv", 13, NULL, "UTF-8");
    assert_found(TRL_FINDING_SYNTAX, "m.tsv", 14, "u12", "end");
}

/* ---- What is no corpus ---- */

static void assert_no_corpus(const char *name, int code, const char *saying)
{
    int got = trl_corpus_read(temp_path(name), NULL, findings, &corpus, &err);
    if (got != code || !strstr(err.text, saying))
        fail_msg("%s: %d %s", name, got, err.text);
    assert_null(corpus);
}

static void test_no_corpus(void **state)
{
    (void)state;
    folder("empty");
    folder("kaldi");
    put("kaldi/wav.scp", "\n");
    put("notes.md", "text");
    put("no.tsv", "id\ttext\n");
    put("void.tsv", "");
    put("rows.tsv", "path\n");
    assert_no_corpus("absent", TRL_ENOENT, "absent");
    assert_no_corpus("empty", TRL_EFORMAT, "neither wav.scp nor sound files");
    assert_no_corpus("kaldi", TRL_EFORMAT, "without any utterance");
    assert_no_corpus("notes.md", TRL_EFORMAT, "not a corpus");
    assert_no_corpus("no.tsv", TRL_EFORMAT, "no.tsv:1: the first line must name the columns");
    assert_no_corpus("void.tsv", TRL_EFORMAT, "empty");
    assert_no_corpus("rows.tsv", TRL_EFORMAT, "without any utterance");
}

/* ---- Findings ---- */

static void test_findings_are_one_clean_line(void **state)
{
    (void)state;
    char file[] = "f\x1B[31m", utterance_id[] = "u\n", words[1500];
    memset(words, 'x', sizeof words);
    words[sizeof words - 1] = '\0';
    assert_int_equal(
        trl_findings_add(findings, TRL_FINDING_SYNTAX, file, 3, utterance_id, &err, "bad \xC3( %s", "\xFF"), 0);
    assert_int_equal(trl_findings_add(findings, TRL_FINDING_SYNTAX, "f", 0, NULL, &err, "%s", words), 0);
    file[0] = 'g';
    const trl_finding *f = trl_findings_get(findings, 0);
    assert_string_equal(f->file, "f\xEF\xBF\xBD[31m");
    assert_string_equal(f->utterance, "u\xEF\xBF\xBD");
    assert_string_equal(f->message, "bad \xEF\xBF\xBD( \xEF\xBF\xBD");
    assert_int_equal(f->line, 3);
    assert_int_equal(strlen(trl_findings_get(findings, 1)->message), 1000);
    assert_null(trl_findings_get(findings, 2));
    assert_string_equal(trl_finding_name(TRL_FINDING_ENCODING), "encoding");
    assert_int_equal(trl_finding_is_fatal(TRL_FINDING_STEREO), 0);
    assert_int_equal(trl_finding_is_fatal(TRL_FINDING_PIPE), 1);
}

/* ---- Out of memory ---- */

static void make_mixed_corpora(void)
{
    folder("set");
    sound("set/a.wav", 9000);
    put("set/wav.scp", "r1 a.wav\nr2 gone |\n");
    put("set/segments", "u1 r1 0 0.5\nu2 r1 0.5 9\nu3 r2 0 1\nu4 r1 2 1\n");
    put("set/text", "u1 one two\nu2 two\nu9 nine\n");
    put("set/utt2spk", "u1 s\nu2 s\n");
    folder("speech");
    folder("speech/s");
    sound("speech/s/b.wav", 32000);
    put("speech/s/b.TextGrid", grid_of_two);
    sound("speech/c.wav", 10);
    put("speech/c.lab", "far too many words for this little sound");
    put("speech/d.lab", "alone");
    assert_int_equal(symlink("..", temp_path("speech/s/up")), 0);
    sound("speech/e.wav", 32000);
    put("speech/e.TextGrid",
        "\"ooTextFile\" \"TextGrid\" 0 2 <exists> 2 \"IntervalTier\" \"x - words\" 0 2 2 0 1 \"one\" "
        "1 2 \"two\" \"IntervalTier\" \"x - phones\" 0 2 1 0 1 \"w\"");
    folder("above");
    folder("above/k");
    sound("above/k/a.wav", 32000);
    put("above/k/wav.scp", "a a.wav\n");
    put("lexicon.txt", "ONE w\ntwo t\n");
    put("m.tsv", "path\ttext\nset/a.wav\tone\ngone.wav\ttwo\nset/a.wav\n");
}

/* The parts of a corpus have every utterance once, and all of a speaker's in one of them. */
static void test_parts(void **state)
{
    enum { SPEAKERS = 10, EACH = 4, PARTS = 3 };
    char text[4000] = "path\tid\ttext\tspeaker\n";
    int part_of[SPEAKERS], seen[SPEAKERS] = {0};
    (void)state;
    sound("a.wav", 1600);
    for (int i = 0; i < SPEAKERS * EACH; i++)
        snprintf(text + strlen(text), 60, "a.wav\tu%02d\tone\ts%d\n", i, i % SPEAKERS);
    put("m.tsv", text);
    trl_corpus_options o = trl_corpus_defaults();
    o.parts = PARTS;
    size_t total = 0;
    for (o.part = 0; o.part < PARTS; o.part++) {
        assert_int_equal(trl_corpus_read(temp_path("m.tsv"), &o, findings, &corpus, &err), 0);
        assert_int_equal(trl_corpus_count(corpus), trl_corpus_speakers(corpus) * EACH);
        for (size_t i = 0; i < trl_corpus_count(corpus); i++) {
            const trl_utterance *u = trl_corpus_get(corpus, i);
            int speaker = u->speaker[1] - '0';
            assert_int_equal(trl_corpus_find(corpus, u->id), i);
            assert_true(seen[speaker]++ == 0 || part_of[speaker] == o.part);
            part_of[speaker] = o.part;
        }
        total += trl_corpus_count(corpus);
        assert_true(trl_corpus_count(corpus) < SPEAKERS * EACH);
        trl_corpus_destroy(corpus);
        corpus = NULL;
    }
    assert_int_equal(total, SPEAKERS * EACH);
    assert_int_equal(trl_corpus_read(temp_path("m.tsv"), &o, findings, &corpus, &err), TRL_EINVAL);
    o.part = -1;
    assert_int_equal(trl_corpus_read(temp_path("m.tsv"), &o, findings, &corpus, &err), TRL_EINVAL);
    /* More parts than speakers: some are empty, which is no fault. */
    o.parts = 1000;
    size_t empty = 0;
    for (o.part = 0; o.part < 50; o.part++) {
        assert_int_equal(trl_corpus_read(temp_path("m.tsv"), &o, findings, &corpus, &err), 0);
        empty += trl_corpus_count(corpus) == 0;
        trl_corpus_destroy(corpus);
        corpus = NULL;
    }
    assert_true(empty >= 50 - SPEAKERS);
    assert_int_equal(trl_findings_count(findings), 0);
}

/* Every allocation fails once, in reading and checking: TRL_ENOMEM, no leak, in the end success. */
static void test_out_of_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"set", "speech", "m.tsv", "speech/c.wav", "above"};
    make_mixed_corpora();
    trl_lexicon *lexicon;
    assert_int_equal(trl_lexicon_read(temp_path("lexicon.txt"), NULL, &lexicon, &err), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int code = TRL_ENOMEM, n;
        for (n = 1; code == TRL_ENOMEM; n++) {
            trl_findings *list;
            trl_check_summary summary;
            assert_int_equal(trl_findings_create(&list, &err), 0);
            trl__memory_fail_after(n);
            trl_corpus_options o = trl_corpus_defaults();
            o.parts = 2;
            code = trl_corpus_read(temp_path(names[i]), i == 0 ? &o : NULL, list, &corpus, &err);
            if (code == 0)
                code = trl_corpus_check(corpus, lexicon, NULL, NULL, &summary, list, &err);
            trl__memory_fail_after(0);
            if (code < 0)
                assert_int_equal(err.code, code);
            trl_corpus_destroy(corpus);
            corpus = NULL;
            trl_findings_destroy(list);
        }
        if (code < 0)
            fail_msg("%s: %s", names[i], err.text);
        assert_true(n > 20);
    }
    trl_lexicon_destroy(lexicon);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kaldi),
        TEST(test_kaldi_without_speakers),
        TEST(test_kaldi_broken),
        TEST(test_kaldi_segments),
        TEST(test_no_transcript_at_all_is_said_once),
        TEST(test_folder),
        TEST(test_folder_broken),
        TEST(test_text_that_nobody_needs),
        TEST(test_folder_links),
        TEST(test_single_sound),
        TEST(test_append),
        TEST(test_manifest),
        TEST(test_manifest_broken),
        TEST(test_no_corpus),
        TEST(test_findings_are_one_clean_line),
        TEST(test_parts),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
