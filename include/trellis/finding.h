/* Findings: everything that is wrong with a corpus, gathered in one run instead of stopping at the first.
 *
 *     trl_findings_create(&findings, &err);
 *     trl_corpus_read("data/train", NULL, findings, &corpus, &err);
 *     for (size_t i = 0; i < trl_findings_count(findings); i++)
 *         puts(trl_findings_get(findings, i)->message);
 *
 * Indices: findings count from 0, in the order of the corpus; lines count from 1, 0 means the file as a whole.
 */
#ifndef TRELLIS_FINDING_H
#define TRELLIS_FINDING_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

/* X(constant, name in JSON, 1 when what it is about can't be used | 0 when it can, what to do about it) */
#define TRL_FINDING_LIST(X)                                                                                            \
    X(TRL_FINDING_SYNTAX, "syntax", 1, "correct this line")                                                            \
    X(TRL_FINDING_PIPE, "pipe", 1,                                                                                     \
      "run the command yourself and name the sound file it makes; commands in a corpus are never run")                 \
    X(TRL_FINDING_DUPLICATE, "duplicate-id", 1, "give every utterance an id of its own")                               \
    X(TRL_FINDING_NO_SOUND, "no-sound", 1, "add the sound file or remove the transcript")                              \
    X(TRL_FINDING_NO_TRANSCRIPT, "no-transcript", 1, "add a transcript or remove the sound file")                      \
    X(TRL_FINDING_UNUSED_TRANSCRIPT, "unused-transcript", 0,                                                           \
      "nothing here needs it; correct it if you want the words")                                                       \
    X(TRL_FINDING_NO_SPEAKER, "no-speaker", 0, "add the utterance to utt2spk; until then it is its own speaker")       \
    X(TRL_FINDING_UNREADABLE, "unreadable-sound", 1,                                                                   \
      "replace the file; `file` or `sox --info` may tell what it really is")                                           \
    X(TRL_FINDING_NO_ACCESS, "unreadable-file", 1, "check that the file or folder is whole and that you may read it")  \
    X(TRL_FINDING_EMPTY_SOUND, "empty-sound", 1, "replace or remove the recording")                                    \
    X(TRL_FINDING_TOO_SHORT, "too-short-sound", 1, "remove the utterance, or correct its start and end")               \
    X(TRL_FINDING_EMPTY_TRANSCRIPT, "empty-transcript", 1, "transcribe the recording or remove it")                    \
    X(TRL_FINDING_SEGMENT, "bad-segment", 1, "correct the segment's start, end or channel")                            \
    X(TRL_FINDING_RATE, "odd-rate", 0, "it will be resampled; below the model's rate, high frequencies are missing")   \
    X(TRL_FINDING_STEREO, "stereo", 0, "choose a channel with --channel, or mix with --channel mix")                   \
    X(TRL_FINDING_CLIPPING, "clipping", 0, "record again with less gain if you can")                                   \
    X(TRL_FINDING_SILENT, "silent-sound", 0, "listen to it: every sample is (nearly) zero")                            \
    X(TRL_FINDING_TOO_LONG, "transcript-too-long", 1, "check that this transcript belongs to this sound")              \
    X(TRL_FINDING_UNKNOWN_WORD, "unknown-word", 0, "add the word to the lexicon or correct its spelling")              \
    X(TRL_FINDING_ODD_PHONE, "odd-phone", 0,                                                                           \
      "correct the lexicon if this is no phone: probabilities stand in every line or in none, and each pronunciation " \
      "has a line of its own")                                                                                         \
    X(TRL_FINDING_ALIGNMENT, "alignment", 0, "use the transcripts that the alignment was made from if you have them")  \
    X(TRL_FINDING_ENCODING, "encoding", 1, "save the file as UTF-8")                                                   \
    X(TRL_FINDING_UNALIGNED, "unaligned", 1, "check that this transcript belongs to this sound")                       \
    X(TRL_FINDING_NO_LIKELIHOODS, "no-likelihoods", 1, "compute likelihoods for this utterance too")                   \
    X(TRL_FINDING_LIKELIHOOD_LENGTH, "likelihood-length", 1,                                                           \
      "compute likelihoods of this very sound, and say with --subsampling how many frames a row stands for")           \
    X(TRL_FINDING_NO_NBEST, "no-nbest", 1, "decode this utterance too, or take it out of the corpus")                  \
    X(TRL_FINDING_MISFIT, "misfit", 0, "listen whether this is what is said")                                          \
    X(TRL_FINDING_QUESTION, "unknown-unit", 0, "use the names of the lexicon's phones in the questions")               \
    X(TRL_FINDING_STAGE, "stage", 0, "more data, or data of more speakers, would help")

typedef enum trl_finding_kind {
#define TRL_FINDING_ENUM(constant, name, fatal, advice) constant,
    TRL_FINDING_LIST(TRL_FINDING_ENUM)
#undef TRL_FINDING_ENUM
        TRL_FINDING_KINDS
} trl_finding_kind;

typedef struct trl_finding {
    trl_finding_kind kind;
    const char *file;      /* where it was found: the transcript, wav.scp, the sound file … */
    int64_t line;          /* 1-based; 0: the whole file */
    const char *utterance; /* id (of a recording, in wav.scp beside segments), or NULL: no single utterance */
    const char *message;   /* what is wrong, one line, without file and line */
    const char *word;      /* of an unknown word: the word; NULL otherwise */
    size_t count;          /* and how often it occurs; 0 otherwise */
} trl_finding;

typedef struct trl_findings trl_findings;

TRL_API int trl_findings_create(trl_findings **out, trl_error *err);
TRL_API void trl_findings_destroy(trl_findings *findings);
TRL_API size_t trl_findings_count(const trl_findings *findings);

/* The finding lives as long as the list. NULL past the end. */
TRL_API const trl_finding *trl_findings_get(const trl_findings *findings, size_t index);

/* The kind's name in JSON ("duplicate-id"), its advice, and whether it makes the utterance unusable. */
TRL_API const char *trl_finding_name(trl_finding_kind kind);
TRL_API const char *trl_finding_advice(trl_finding_kind kind);
TRL_API int trl_finding_is_fatal(trl_finding_kind kind);

/* Copies all strings; what is not UTF-8 and control characters become U+FFFD, and messages are cut at 1000 bytes, so
 * that a finding is always one line that any terminal or JSON parser can take. Thread rule: one thread at a time.
 * Returns 0 or TRL_ENOMEM. */
TRL_API int trl_findings_add(trl_findings *findings, trl_finding_kind kind, const char *file, int64_t line,
                             const char *utterance, trl_error *err, const char *format, ...) TRL_PRINTF(7, 8);

/* Writes which utterances were left out and why, as their findings (of `count` lists, NULL among them allowed) say:
 * those that are fatal, and unknown words. A line each, "utterance<TAB>reason (file:line)", each utterance once, with
 * the first reason; "-" stands for what never became an utterance. *entries: how many lines. Without any, no file is
 * written, and one that is there is removed. path NULL: they are only counted. Returns 0, or as trl_file_create. */
TRL_API int trl_findings_write_skipped(const trl_findings *const *lists, size_t count, const char *path,
                                       size_t *entries, trl_error *err);

TRL_END_DECLS

#endif
