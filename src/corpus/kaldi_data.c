/* Kaldi's data folder.
 *
 *     wav.scp    RECORDING path            (path to the end of the line; blanks inside are part of it)
 *     segments   UTTERANCE RECORDING start end [channel]   (seconds; without this file, recordings are utterances)
 *     utt2spk    UTTERANCE SPEAKER
 *     text       UTTERANCE word word …
 *
 * Read in this order, each line looked up by its first field, so the lines may come in any order. A recording that
 * can't be used is reported once, at its line in wav.scp, and makes all its utterances bad.
 */
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <string.h>

typedef struct recording {
    const char *path;
    int64_t line; /* in wav.scp */
    int bad;
    int used; /* by a segment */
} recording;

typedef struct reader {
    trl_corpus *corpus;
    const trl__kaldi_files *files;
    const char *parent;
    const char *wav_path, *text_path, *speakers_path, *segments_path;
    trl__strings ids; /* of recordings */
    recording *recordings;
    size_t capacity;
    unsigned char *has_speaker; /* by utterance */
    trl__arena arena;
} reader;

/* The next line that holds something, with its first field cut off. Lines that are not UTF-8 become findings, except
 * where `any_bytes` is 1 (transcripts: then the finding can name the utterance). 1 a line, 0 the end, or an error. */
static int next_line(reader *r, trl__text *text, const char *path, int any_bytes, char **id, char **rest,
                     size_t *rest_length, trl_error *err)
{
    char *line;
    size_t length;
    while (trl__text_line(text, &line, &length)) {
        size_t checked = any_bytes ? strcspn(line, " \t") : length; /* an id must be UTF-8 in any case */
        if (trl__utf8_check(line, checked) < checked) {
            int code = trl_findings_add(r->corpus->findings, TRL_FINDING_ENCODING, path, text->line, NULL, err,
                                        "this line is not valid UTF-8; it is left out");
            if (code < 0)
                return code;
            continue;
        }
        *rest = line;
        *id = trl__next_field(rest);
        if (!*id)
            continue;
        *rest_length = length - (size_t)(*rest - line);
        return 1;
    }
    return 0;
}

/* In the folder, its parent, the working directory. *found = 0: nowhere, and the path is that of a folder by this name,
 * or the one in the corpus folder. */
static char *find_sound(reader *r, const char *name, int *found)
{
    const char *const places[] = {r->files->folder, r->parent, "."};
    trl__arena attempts = {0};
    const char *path = NULL, *first = NULL;
    *found = 0;
    for (size_t i = 0; i < 3 && !*found; i++) {
        path = trl__join_path(&attempts, places[i], name);
        if (!path)
            break;
        first = first && !trl__is_folder(path) ? first : path;
        *found = trl__is_file(path);
    }
    if (path && !*found)
        path = first;
    char *copy = path ? trl__arena_copy(&r->arena, path, strlen(path)) : NULL;
    trl__arena_free(&attempts);
    return copy;
}

/* Fills in where the recording is, or reports why it can't be used. */
static int locate(reader *r, recording *rec, const char *id, const char *entry, trl_error *err)
{
    trl_findings *findings = r->corpus->findings;
    int found = 0;
    rec->path = trl__is_pipe(entry) ? trl__arena_copy(&r->arena, entry, strlen(entry)) : find_sound(r, entry, &found);
    if (!rec->path)
        return trl__fail_memory(err);
    if (trl__is_pipe(entry)) {
        rec->bad = 1;
        return trl_findings_add(findings, TRL_FINDING_PIPE, r->wav_path, rec->line, id, err,
                                "a shell command, not a sound file: %s", entry);
    }
    if (found)
        return 0;
    rec->bad = 1;
    if (trl__is_folder(rec->path))
        return trl_findings_add(findings, TRL_FINDING_NO_SOUND, r->wav_path, rec->line, id, err,
                                "%s is a folder, not a sound file", entry);
    return trl_findings_add(
        findings, TRL_FINDING_NO_SOUND, r->wav_path, rec->line, id, err, "%s is not in the corpus folder%s", entry,
        entry[0] == '/' ? " or anywhere: there is no such file" : ", its parent or the working directory");
}

static int add_recording(reader *r, const char *id, const char *entry, int64_t line, trl_error *err)
{
    size_t count = r->ids.count;
    long number = trl__strings_add(&r->ids, id, strlen(id));
    if (number < 0 || TRL_GROW(r->recordings, r->capacity, r->ids.count) < 0)
        return trl__fail_memory(err);
    recording *rec = &r->recordings[number];
    if (r->ids.count == count)
        return trl_findings_add(r->corpus->findings, TRL_FINDING_DUPLICATE, r->wav_path, line, id, err,
                                "line %lld has the same id; this one is left out", (long long)rec->line);
    *rec = (recording){.line = line};
    return locate(r, rec, id, entry, err);
}

static int read_recordings(reader *r, trl__text *text, trl_error *err)
{
    char *id, *rest;
    size_t length;
    int code;
    while ((code = next_line(r, text, r->wav_path, 0, &id, &rest, &length, err)) == 1) {
        char *entry = trl__trim(rest);
        if (*entry)
            code = add_recording(r, id, entry, text->line, err);
        else
            code = trl_findings_add(r->corpus->findings, TRL_FINDING_SYNTAX, r->wav_path, text->line, id, err,
                                    "no sound file after the id");
        if (code < 0)
            break;
    }
    return code;
}

/* Adds what is in `u`, its sound from the recording. */
static int add_utterance(reader *r, trl_utterance *u, recording *rec, trl_error *err)
{
    u->speaker = u->id;
    u->path = rec->path;
    size_t number;
    int code = trl__corpus_add(r->corpus, u, &number, err);
    rec->used = 1;
    if (code == 0 && rec->bad)
        r->corpus->utterances[number].bad = 1;
    return code < 0 ? code : 0;
}

static int recordings_as_utterances(reader *r, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->ids.count; i++) {
        recording *rec = &r->recordings[i];
        trl_utterance u = {.id = r->ids.texts[i], .channel = -1, .end = -1, .source = r->wav_path, .line = rec->line};
        code = add_utterance(r, &u, rec, err);
    }
    return code;
}

static int read_segment(reader *r, const char *id, char *rest, int64_t line, trl_error *err)
{
    trl_findings *findings = r->corpus->findings;
    const char *name = trl__next_field(&rest), *from = trl__next_field(&rest), *to = trl__next_field(&rest);
    const char *side = trl__next_field(&rest);
    trl_utterance u = {.id = id, .source = r->segments_path, .line = line};
    int64_t channel = -1;
    if (!to || trl__parse_double(from, &u.start) < 0 || trl__parse_double(to, &u.end) < 0 ||
        (side && (trl__parse_int(side, &channel) < 0 || channel < 0 || channel > INT32_MAX)) || trl__next_field(&rest))
        return trl_findings_add(findings, TRL_FINDING_SYNTAX, r->segments_path, line, id, err,
                                "not of the form UTTERANCE RECORDING START END, with times in seconds, and a channel "
                                "from 0 on where there are several");
    u.channel = (int32_t)channel;
    long number = trl__strings_find(&r->ids, name, strlen(name));
    if (number < 0)
        return trl_findings_add(findings, TRL_FINDING_NO_SOUND, r->segments_path, line, id, err,
                                "recording %s is not in wav.scp", name);
    u.recording = name;
    if (trl__part_is_valid(u.start, u.end))
        return add_utterance(r, &u, &r->recordings[number], err);
    r->recordings[number].used = 1;
    return trl_findings_add(findings, TRL_FINDING_SEGMENT, r->segments_path, line, id, err,
                            "from %s s to %s s is no part of a sound", from, to);
}

static int read_segments(reader *r, trl__text *text, trl_error *err)
{
    char *id, *rest;
    size_t length;
    int code;
    while ((code = next_line(r, text, r->segments_path, 0, &id, &rest, &length, err)) == 1)
        if ((code = read_segment(r, id, rest, text->line, err)) < 0)
            break;
    for (size_t i = 0; code == 0 && r->corpus->need_text && i < r->ids.count; i++)
        if (!r->recordings[i].used)
            code = trl_findings_add(r->corpus->findings, TRL_FINDING_NO_TRANSCRIPT, r->wav_path, r->recordings[i].line,
                                    NULL, err, "no segment uses recording %s", r->ids.texts[i]);
    return code;
}

static int read_speaker(reader *r, const char *id, char *rest, int64_t line, trl_error *err)
{
    trl_findings *findings = r->corpus->findings;
    const char *speaker = trl__next_field(&rest);
    if (!speaker || trl__next_field(&rest))
        return trl_findings_add(findings, TRL_FINDING_SYNTAX, r->speakers_path, line, id, err,
                                speaker ? "more than one word after the id" : "no speaker after the id");
    long number = trl_corpus_find(r->corpus, id);
    if (number < 0)
        return trl_findings_add(findings, TRL_FINDING_NO_SOUND, r->speakers_path, line, id, err,
                                "a speaker for an utterance that has no sound");
    if (r->has_speaker[number])
        return trl_findings_add(findings, TRL_FINDING_DUPLICATE, r->speakers_path, line, id, err,
                                "this utterance has a speaker already; this line is left out");
    r->has_speaker[number] = 1;
    return trl__corpus_set_speaker(r->corpus, (size_t)number, speaker, err);
}

static int read_speakers(reader *r, trl__text *text, trl_error *err)
{
    char *id, *rest;
    size_t length;
    int code;
    r->has_speaker = trl__alloc_zero(r->corpus->count, 1);
    if (!r->has_speaker)
        return trl__fail_memory(err);
    while ((code = next_line(r, text, r->speakers_path, 0, &id, &rest, &length, err)) == 1)
        if ((code = read_speaker(r, id, rest, text->line, err)) < 0)
            break;
    for (size_t i = 0; code == 0 && i < r->corpus->count; i++)
        if (!r->has_speaker[i])
            code = trl__corpus_report(r->corpus, i, TRL_FINDING_NO_SPEAKER, r->speakers_path, 0, err,
                                      "this utterance is not in utt2spk");
    return code;
}

static int read_transcripts(reader *r, trl__text *text, trl_error *err)
{
    trl_findings *findings = r->corpus->findings;
    char *id, *rest;
    size_t length;
    int code;
    while ((code = next_line(r, text, r->text_path, 1, &id, &rest, &length, err)) == 1) {
        long number = trl_corpus_find(r->corpus, id);
        if (number < 0)
            code = trl_findings_add(findings, trl__text_finding(r->corpus, TRL_FINDING_NO_SOUND), r->text_path,
                                    text->line, id, err, "a transcript for an utterance that is not in %s",
                                    r->files->has_segments ? "segments" : "wav.scp");
        else if (r->corpus->utterances[number].text_source)
            code = trl_findings_add(findings, TRL_FINDING_DUPLICATE, r->text_path, text->line, id, err,
                                    "line %lld has a transcript for the same id; this one is left out",
                                    (long long)r->corpus->utterances[number].text_line);
        else
            code = trl__corpus_set_text(r->corpus, (size_t)number, rest, length, r->text_path, text->line, err);
        if (code < 0)
            break;
    }
    return code;
}

int trl__kaldi_parse(trl_corpus *corpus, trl__kaldi_files *files, trl_error *err)
{
    reader r = {.corpus = corpus, .files = files};
    r.parent = trl__join_path(&r.arena, files->folder, "..");
    r.wav_path = trl__join_path(&r.arena, files->folder, "wav.scp");
    r.text_path = trl__join_path(&r.arena, files->folder, "text");
    r.speakers_path = trl__join_path(&r.arena, files->folder, "utt2spk");
    r.segments_path = trl__join_path(&r.arena, files->folder, "segments");
    int code = r.parent && r.wav_path && r.text_path && r.speakers_path && r.segments_path ? 0 : trl__fail_memory(err);
    if (code == 0)
        code = read_recordings(&r, &files->wav, err);
    if (code == 0)
        code = files->has_segments ? read_segments(&r, &files->segments, err) : recordings_as_utterances(&r, err);
    if (code == 0 && files->has_speakers)
        code = read_speakers(&r, &files->speakers, err);
    if (code == 0 && files->has_text)
        code = read_transcripts(&r, &files->text, err);
    trl__free(r.has_speaker);
    trl__free(r.recordings);
    trl__strings_free(&r.ids);
    trl__arena_free(&r.arena);
    return code;
}

/* Reads a file of the folder that need not be there. */
static int read_optional(trl__arena *arena, const char *folder, const char *name, trl__text *text, int *there,
                         trl_error *err)
{
    const char *path = trl__join_path(arena, folder, name);
    if (!path)
        return trl__fail_memory(err);
    int code = trl__text_read(path, text, err);
    *there = code == 0;
    return code == TRL_ENOENT ? 0 : code;
}

int trl__kaldi_read(trl_corpus *corpus, trl_error *err)
{
    trl__kaldi_files files = {.folder = corpus->path};
    trl__arena arena = {0};
    const char *list = trl__join_path(&arena, corpus->path, "wav.scp");
    int code = list ? trl__text_read(list, &files.wav, err) : trl__fail_memory(err);
    if (code == 0)
        code = read_optional(&arena, corpus->path, "segments", &files.segments, &files.has_segments, err);
    if (code == 0)
        code = read_optional(&arena, corpus->path, "utt2spk", &files.speakers, &files.has_speakers, err);
    if (code == 0)
        code = read_optional(&arena, corpus->path, "text", &files.text, &files.has_text, err);
    if (code == 0)
        code = trl__kaldi_parse(corpus, &files, err);
    trl__text_free(&files.wav);
    trl__text_free(&files.segments);
    trl__text_free(&files.speakers);
    trl__text_free(&files.text);
    trl__arena_free(&arena);
    return code;
}
