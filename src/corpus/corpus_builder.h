/* Inside the corpus layer: the corpus object while a reader fills it, and each reader's entry.
 *
 *     trl__corpus_add(corpus, &utterance, &number, err);        // a second one with the same id becomes a finding
 *     trl__corpus_set_text(corpus, number, words, file, line, err);
 *     trl__corpus_finish(corpus, err);                          // sorts, numbers the speakers, looks for missing text
 *
 * Utterance numbers are in order of arrival until the finish, then in order of ids. Readers that parse text have an
 * entry that takes it from memory.
 */
#ifndef TRL_CORPUS_BUILDER_H
#define TRL_CORPUS_BUILDER_H

#include "base/memory.h"
#include "base/path.h"
#include "base/string_table.h"
#include "base/text_file.h"

#include <stdarg.h>
#include <trellis/corpus.h>

struct trl_corpus {
    char *path;
    trl_corpus_format format;
    int need_text;
    int labelled;           /* words come from a label file: what the corpus says of its own is passed over */
    trl_findings *findings; /* the caller's; only while reading */
    const char *hint;       /* "; did you mean …?" where a folder holds corpora but is none; or NULL */
    trl_utterance *utterances;
    size_t count, capacity;
    trl__map index;     /* id -> number */
    trl__arena arena;   /* ids and transcripts: different for every utterance */
    trl__strings names; /* paths, sources, speakers: shared by many */
    trl__strings speakers;
};

int trl__corpus_create(const char *path, trl_corpus_format format, int need_text, trl_findings *findings,
                       trl_corpus **out, trl_error *err);

/* Copies id, speaker, path, recording and source (blanks in id and speaker become underscores); text stays empty. Returns 0; 1
 * when the id is taken: a finding is added, the new one is left out and *number is the one that stays; or TRL_ENOMEM.
 */
int trl__corpus_add(trl_corpus *corpus, const trl_utterance *utterance, size_t *number, trl_error *err);

/* A sound file of a folder. */
typedef struct trl__sound {
    const char *name, *speaker, *path;
    int in_sub_folder; /* of the corpus folder, which names the speaker */
} trl__sound;

/* The whole sound as an utterance; otherwise like trl__corpus_add. */
int trl__sound_add(trl_corpus *corpus, const trl__sound *sound, size_t *number, trl_error *err);

/* Sets the transcript, its blanks made single. Empty or not UTF-8 is a finding. text = NULL: there is
 * one, but it can't be used; the caller says why. Returns 0 or TRL_ENOMEM. */
int trl__corpus_set_text(trl_corpus *corpus, size_t number, const char *text, size_t length, const char *source,
                         int64_t line, trl_error *err);

/* What a transcript that can't be used is: this kind of finding, or only a remark where transcripts are optional. */
trl_finding_kind trl__text_finding(const trl_corpus *corpus, trl_finding_kind kind);
int trl__corpus_set_speaker(trl_corpus *corpus, size_t number, const char *speaker, trl_error *err);
int trl__corpus_finish(trl_corpus *corpus, trl_error *err);

/* A finding about an utterance (a fatal one makes it bad). Returns 0 or TRL_ENOMEM. */
int trl__corpus_report(trl_corpus *corpus, size_t number, trl_finding_kind kind, const char *file, int64_t line,
                       trl_error *err, const char *format, ...) TRL_PRINTF(7, 8);
int trl__findings_add_list(trl_findings *findings, trl_finding_kind kind, const char *file, int64_t line,
                           const char *utterance, trl_error *err, const char *format, va_list arguments);

/* Says of which word, and how often it occurs, the finding added last is. Returns 0 or TRL_ENOMEM. */
int trl__findings_set_word(trl_findings *findings, const char *word, size_t count, trl_error *err);

/* Is this a part of a sound that can exist (seconds; end < 0: to its end)? */
int trl__part_is_valid(double start, double end);

int trl__is_file(const char *path); /* there is something by this name that is no folder */
int trl__is_folder(const char *path);
int trl__is_pipe(const char *entry);      /* a shell command where a sound file should be */
int trl__is_sound_name(const char *path); /* by its extension: files of sound … */
int trl__is_media_name(const char *path); /* … and what phones, cameras and browsers make */

/* A part's place in an id: "-00001230-00004560", in ms; "-00001230-end" where no end is said. */
#define TRL__PART_SIZE 64
void trl__part_suffix(char text[TRL__PART_SIZE], double start, double end);

typedef struct trl__kaldi_files {
    const char *folder;
    trl__text wav, text, speakers, segments;
    int has_text, has_speakers, has_segments;
} trl__kaldi_files;

int trl__kaldi_read(trl_corpus *corpus, trl_error *err);
int trl__kaldi_parse(trl_corpus *corpus, trl__kaldi_files *files, trl_error *err);
int trl__sound_folder_read(trl_corpus *corpus, trl_error *err);
int trl__sound_file_read(trl_corpus *corpus, trl_error *err);
int trl__sound_file_with_words(trl_corpus *corpus, const char *words, const char *words_file, trl_error *err);
int trl__manifest_read(trl_corpus *corpus, trl_error *err);
int trl__is_manifest(const char *path); /* by its extension and first line */
int trl__manifest_parse(trl_corpus *corpus, trl__text *text, trl_error *err);

/* lexicon.c: the same from memory; `text` is written into. */
int trl__lexicon_parse(const char *path, trl__text *text, trl_findings *findings, trl_lexicon **out, trl_error *err);

#endif
