/* The corpus object: utterances gathered by a reader, then sorted by id so that nothing depends on the order of lines
 * or of a folder's entries. Which reader is taken is decided here. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"
#include "corpus/htk_mlf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define LATEST_SECOND 1e8 /* three years: later times in a sound are slips of the pen */

static const char *const format_names[] = {"auto", "kaldi", "folder", "manifest", "sound"};

trl_corpus_options trl_corpus_defaults(void)
{
    return (trl_corpus_options){.format = TRL_CORPUS_AUTO, .need_text = 1};
}

int trl__corpus_create(const char *path, trl_corpus_format format, int need_text, trl_findings *findings,
                       trl_corpus **out, trl_error *err)
{
    *out = NULL;
    trl_corpus *corpus = trl__alloc_zero(1, sizeof *corpus);
    if (!corpus || !(corpus->path = trl__strdup(path))) {
        trl__free(corpus);
        return trl__fail_memory(err);
    }
    corpus->format = format;
    corpus->need_text = need_text;
    corpus->findings = findings;
    *out = corpus;
    return 0;
}

void trl_corpus_destroy(trl_corpus *corpus)
{
    if (!corpus)
        return;
    trl__strings_free(&corpus->speakers);
    trl__strings_free(&corpus->names);
    trl__arena_free(&corpus->arena);
    trl__map_free(&corpus->index);
    trl__free(corpus->utterances);
    trl__free(corpus->path);
    trl__free(corpus);
}

size_t trl_corpus_count(const trl_corpus *corpus)
{
    return corpus->count;
}

const trl_utterance *trl_corpus_get(const trl_corpus *corpus, size_t index)
{
    return index < corpus->count ? &corpus->utterances[index] : NULL;
}

long trl_corpus_find(const trl_corpus *corpus, const char *id)
{
    const uint64_t *number = trl__map_find(&corpus->index, id, strlen(id));
    return number ? (long)*number : -1;
}

size_t trl_corpus_speakers(const trl_corpus *corpus)
{
    return corpus->speakers.count;
}

const char *trl_corpus_speaker(const trl_corpus *corpus, size_t speaker)
{
    return speaker < corpus->speakers.count ? corpus->speakers.texts[speaker] : NULL;
}

const char *trl_corpus_format_name(const trl_corpus *corpus)
{
    return format_names[corpus->format];
}

int trl__corpus_report(trl_corpus *corpus, size_t number, trl_finding_kind kind, const char *file, int64_t line,
                       trl_error *err, const char *format, ...)
{
    trl_utterance *utterance = &corpus->utterances[number];
    if (trl_finding_is_fatal(kind))
        utterance->bad = 1;
    va_list arguments;
    va_start(arguments, format);
    int code = trl__findings_add_list(corpus->findings, kind, file, line, utterance->id, err, format, arguments);
    va_end(arguments);
    return code;
}

/* One copy for equal strings; NULL: out of memory. */
static const char *shared_copy(trl_corpus *corpus, const char *text)
{
    long number = trl__strings_add(&corpus->names, text, strlen(text));
    return number < 0 ? NULL : corpus->names.texts[number];
}

/* Ids and speakers are fields in many formats, so they hold no blanks. */
static char *name_copy(trl__arena *arena, const char *text)
{
    char *copy = trl__arena_copy(arena, text, strlen(text));
    for (char *c = copy; c && *c; c++)
        if (trl__is_space(*c))
            *c = '_';
    return copy;
}

int trl__corpus_set_speaker(trl_corpus *corpus, size_t number, const char *speaker, trl_error *err)
{
    char *name = name_copy(&corpus->arena, speaker);
    const char *shared = name ? shared_copy(corpus, name) : NULL;
    if (!shared)
        return trl__fail_memory(err);
    corpus->utterances[number].speaker = shared;
    return 0;
}

int trl__corpus_add(trl_corpus *corpus, const trl_utterance *utterance, size_t *number, trl_error *err)
{
    char *id = name_copy(&corpus->arena, utterance->id);
    trl_utterance copy = *utterance;
    copy.id = id;
    copy.path = shared_copy(corpus, utterance->path);
    copy.recording = utterance->recording ? shared_copy(corpus, utterance->recording) : NULL;
    copy.source = shared_copy(corpus, utterance->source);
    copy.text = copy.text_source = copy.written = NULL;
    copy.spoken = NULL;
    if (!id || !copy.path || !copy.source || (utterance->recording && !copy.recording) ||
        TRL_GROW(corpus->utterances, corpus->capacity, corpus->count + 1) < 0)
        return trl__fail_memory(err);
    uint64_t place = corpus->count;
    int added = trl__map_add(&corpus->index, id, strlen(id), &place);
    if (added < 0)
        return trl__fail_memory(err);
    *number = (size_t)place;
    if (added) {
        corpus->utterances[corpus->count++] = copy;
        return trl__corpus_set_speaker(corpus, *number, utterance->speaker, err);
    }
    const trl_utterance *first = &corpus->utterances[place];
    int code = first->line > 0 && strcmp(first->source, copy.source) == 0
                   ? trl_findings_add(corpus->findings, TRL_FINDING_DUPLICATE, copy.source, copy.line, id, err,
                                      "line %lld has the same id; this one is left out", (long long)first->line)
                   : trl_findings_add(corpus->findings, TRL_FINDING_DUPLICATE, copy.source, copy.line, id, err,
                                      "%s has the same id; this one is left out", first->source);
    return code < 0 ? code : 1;
}

int trl__sound_add(trl_corpus *corpus, const trl__sound *sound, size_t *number, trl_error *err)
{
    trl_utterance u = {.id = sound->name,
                       .speaker = sound->speaker,
                       .path = sound->path,
                       .channel = -1,
                       .end = -1,
                       .source = sound->path};
    return trl__corpus_add(corpus, &u, number, err);
}

/* Copies text with single blanks between its words. */
static char *single_blanks(trl__arena *arena, const char *text, size_t length)
{
    char *copy = trl__arena_alloc(arena, length + 1);
    size_t used = 0;
    for (size_t i = 0; copy && i < length; i++)
        if (!trl__is_space(text[i]))
            copy[used++] = text[i];
        else if (used > 0 && copy[used - 1] != ' ')
            copy[used++] = ' ';
    if (used > 0 && copy[used - 1] == ' ')
        used--;
    if (copy)
        copy[used] = '\0';
    return copy;
}

trl_finding_kind trl__text_finding(const trl_corpus *corpus, trl_finding_kind kind)
{
    return corpus->need_text ? kind : TRL_FINDING_UNUSED_TRANSCRIPT;
}

int trl__corpus_set_text(trl_corpus *corpus, size_t number, const char *text, size_t length, const char *source,
                         int64_t line, trl_error *err)
{
    trl_utterance *utterance = &corpus->utterances[number];
    if (corpus->labelled)
        return 0;
    utterance->text_source = shared_copy(corpus, source);
    utterance->text_line = line;
    if (!utterance->text_source)
        return trl__fail_memory(err);
    if (!text)
        return 0;
    size_t valid = trl__utf8_check(text, length);
    if (valid < length) {
        for (size_t i = 0; i < valid; i++)
            line += text[i] == '\n';
        return trl__corpus_report(corpus, number, trl__text_finding(corpus, TRL_FINDING_ENCODING), source, line, err,
                                  "the transcript is not valid UTF-8 (byte %02x)", (unsigned char)text[valid]);
    }
    char *copy = single_blanks(&corpus->arena, text, length);
    if (!copy)
        return trl__fail_memory(err);
    if (*copy)
        utterance->text = copy;
    else if (corpus->need_text)
        return trl__corpus_report(corpus, number, TRL_FINDING_EMPTY_TRANSCRIPT, source, line, err,
                                  "the transcript is empty");
    return 0;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const trl_utterance *)a)->id, ((const trl_utterance *)b)->id);
}

/* One finding for each utterance without a transcript; a single one when no utterance has any. */
static int report_missing_text(trl_corpus *corpus, trl_error *err)
{
    size_t missing = 0;
    for (size_t i = 0; i < corpus->count; i++)
        missing += corpus->utterances[i].text_source == NULL;
    if (missing == corpus->count && missing > 1) {
        for (size_t i = 0; i < corpus->count; i++)
            corpus->utterances[i].bad = 1;
        return trl_findings_add(corpus->findings, TRL_FINDING_NO_TRANSCRIPT, corpus->path, 0, NULL, err,
                                "none of the %zu utterances has a transcript%s", missing,
                                corpus->hint ? corpus->hint : "");
    }
    int code = 0;
    for (size_t i = 0; code == 0 && i < corpus->count; i++)
        if (!corpus->utterances[i].text_source)
            code = trl__corpus_report(corpus, i, TRL_FINDING_NO_TRANSCRIPT, corpus->utterances[i].source,
                                      corpus->utterances[i].line, err, "there is no transcript for this sound");
    return code;
}

int trl__corpus_finish(trl_corpus *corpus, trl_error *err)
{
    if (corpus->count > 1)
        qsort(corpus->utterances, corpus->count, sizeof *corpus->utterances, by_id);
    for (size_t i = 0; i < corpus->count; i++) {
        trl_utterance *u = &corpus->utterances[i];
        *trl__map_find(&corpus->index, u->id, strlen(u->id)) = i;
        long speaker = trl__strings_add(&corpus->speakers, u->speaker, strlen(u->speaker));
        if (speaker < 0)
            return trl__fail_memory(err);
        u->speaker_index = (int32_t)speaker;
    }
    int code = corpus->need_text ? report_missing_text(corpus, err) : 0;
    corpus->findings = NULL;
    return code;
}

static int is_known(const trl_corpus *corpus, const trl_utterance *u)
{
    return trl_corpus_find(corpus, u->id) >= 0 ||
           trl__strings_find(&corpus->speakers, u->speaker, strlen(u->speaker)) >= 0;
}

static int append_copy(trl_corpus *corpus, const trl_utterance *u, trl_error *err)
{
    size_t number;
    int code = trl__corpus_add(corpus, u, &number, err);
    if (code < 0)
        return code;
    trl_utterance *copy = &corpus->utterances[number];
    const char *text = u->written ? u->written : u->text;
    copy->text = text ? trl__arena_copy(&corpus->arena, text, strlen(text)) : NULL;
    copy->text_source = u->text_source ? shared_copy(corpus, u->text_source) : NULL;
    long speaker = trl__strings_add(&corpus->speakers, copy->speaker, strlen(copy->speaker));
    if ((text && !copy->text) || (u->text_source && !copy->text_source) || speaker < 0)
        return trl__fail_memory(err);
    copy->speaker_index = (int32_t)speaker;
    return 0;
}

int trl_corpus_append(trl_corpus *corpus, const trl_corpus *other, trl_error *err)
{
    for (size_t i = 0; i < other->count; i++)
        if (is_known(corpus, &other->utterances[i]))
            return 0;
    for (size_t i = 0; i < other->count; i++) {
        int code = append_copy(corpus, &other->utterances[i], err);
        if (code < 0)
            return code;
    }
    return 1;
}

int trl__part_is_valid(double start, double end)
{
    return start >= 0 && start < LATEST_SECOND && end < LATEST_SECOND && (end < 0 || end > start);
}

void trl__part_suffix(char text[TRL__PART_SIZE], double start, double end)
{
    int used = snprintf(text, TRL__PART_SIZE, "-%08lld-", llround(start * 1000));
    if (end < 0)
        snprintf(text + used, (size_t)(TRL__PART_SIZE - used), "end");
    else
        snprintf(text + used, (size_t)(TRL__PART_SIZE - used), "%08lld", llround(end * 1000));
}

int trl__is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

int trl__is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int trl__is_pipe(const char *entry)
{
    size_t length = strlen(entry);
    return length > 0 && entry[length - 1] == '|';
}

static int has_extension(const char *path, const char *const *extensions)
{
    for (; *extensions; extensions++)
        if (strcasecmp(trl__extension(path), *extensions) == 0)
            return 1;
    return 0;
}

int trl__is_sound_name(const char *path)
{
    static const char *const extensions[] = {".wav", ".flac", ".ogg", ".oga", ".opus", ".sph", ".aiff",
                                             ".aif", ".mp3",  ".w64", ".au",  ".caf",  NULL};
    return has_extension(path, extensions);
}

int trl__is_media_name(const char *path)
{
    static const char *const extensions[] = {".m4a", ".m4b", ".mp4", ".m4v", ".mov", ".3gp",  ".3g2", ".webm", ".mkv",
                                             ".mka", ".wma", ".wmv", ".aac", ".amr", ".m2ts", ".mts", ".avi",  NULL};
    return has_extension(path, extensions);
}

static int is_manifest_name(const char *path)
{
    size_t length = strlen(path);
    if (length > 3 && strcasecmp(path + length - 3, ".gz") == 0)
        length -= 3;
    return length > 4 && strncasecmp(path + length - 4, ".tsv", 4) == 0;
}

static int recognise(const char *path, trl_corpus_format *format, trl_error *err)
{
    struct stat status;
    if (strcmp(path, "-") == 0) {
        *format = TRL_CORPUS_SOUND;
        return 0;
    }
    if (stat(path, &status) != 0)
        return trl__fail_errno(err, path, "can't open the corpus");
    trl__arena arena = {0};
    const char *list = trl__join_path(&arena, path, "wav.scp");
    int code = list ? 0 : trl__fail_memory(err);
    if (list && S_ISDIR(status.st_mode))
        *format = trl__is_file(list) ? TRL_CORPUS_KALDI : TRL_CORPUS_FOLDER;
    else if (list && is_manifest_name(path))
        *format = TRL_CORPUS_MANIFEST;
    else if (list && (trl__is_sound_name(path) || trl__is_media_name(path)))
        *format = TRL_CORPUS_SOUND;
    else if (list)
        code = trl__fail(err, TRL_EFORMAT,
                         "%s: not a corpus; name a folder with wav.scp, a folder of sound files, a .tsv manifest or a "
                         "sound file, or say what it is (--format); samples without a header are for decode --raw",
                         path);
    trl__arena_free(&arena);
    return code;
}

static int read_as(trl_corpus *corpus, trl_error *err)
{
    switch (corpus->format) {
    case TRL_CORPUS_KALDI: return trl__kaldi_read(corpus, err);
    case TRL_CORPUS_FOLDER: return trl__sound_folder_read(corpus, err);
    case TRL_CORPUS_MANIFEST: return trl__manifest_read(corpus, err);
    case TRL_CORPUS_SOUND: return trl__sound_file_read(corpus, err);
    default: return trl__fail(err, TRL_EINVAL, "%d is no corpus format", (int)corpus->format);
    }
}

static int is_in_part(const trl_utterance *u, const trl_corpus_options *o)
{
    return trl__hash(u->speaker, strlen(u->speaker)) % (uint64_t)o->parts == (uint64_t)o->part;
}

/* The utterances of some of the speakers; what is known of a speaker, means and transforms, is then the same as in the whole corpus. */
static int keep_part(trl_corpus *corpus, const trl_corpus_options *o, trl_error *err)
{
    size_t kept = 0;
    trl__map_free(&corpus->index);
    for (size_t i = 0; i < corpus->count; i++) {
        const trl_utterance u = corpus->utterances[i];
        uint64_t place = kept;
        if (!is_in_part(&u, o))
            continue;
        corpus->utterances[kept++] = u;
        if (trl__map_add(&corpus->index, u.id, strlen(u.id), &place) < 0)
            return trl__fail_memory(err);
    }
    corpus->count = kept;
    return 0;
}

/* The reader fills the corpus, and a label file has the last word. */
static int fill(trl_corpus *corpus, const trl_corpus_options *o, trl_error *err)
{
    corpus->labelled = o->labels != NULL;
    corpus->need_text = o->need_text && !corpus->labelled;
    int code = o->words || o->words_file ? trl__sound_file_with_words(corpus, o->words, o->words_file, err)
                                         : read_as(corpus, err);
    corpus->labelled = 0;
    corpus->need_text = o->need_text;
    if (code == 0 && o->labels)
        code = trl__corpus_set_labels(corpus, o->labels, err);
    if (code == 0 && o->parts > 1)
        code = keep_part(corpus, o, err);
    return code < 0 ? code : trl__corpus_finish(corpus, err);
}

int trl_corpus_read(const char *path, const trl_corpus_options *options, trl_findings *findings, trl_corpus **out,
                    trl_error *err)
{
    *out = NULL;
    trl_corpus_options o = options ? *options : trl_corpus_defaults();
    if (o.parts < 0 || o.part < 0 || o.part >= (o.parts > 1 ? o.parts : 1))
        return trl__fail(err, TRL_EINVAL, "part %d of %d parts can't be; they count from 0", o.part, o.parts);
    int code = o.format == TRL_CORPUS_AUTO ? recognise(path, &o.format, err) : 0;
    size_t findings_before = trl_findings_count(findings);
    trl_corpus *corpus = NULL;
    if (code == 0)
        code = trl__corpus_create(path, o.format, o.need_text, findings, &corpus, err);
    if (!corpus)
        return code;
    code = fill(corpus, &o, err);
    if (code == 0 && corpus->count == 0 && o.parts <= 1 && trl_findings_count(findings) == findings_before)
        code = trl__fail(err, TRL_EFORMAT, "%s: a corpus without any utterance", path);
    if (code < 0) {
        trl_corpus_destroy(corpus);
        return code;
    }
    *out = corpus;
    return 0;
}
