/* Corpora: recordings, what is said in them, and who says it.
 *
 *     trl_findings_create(&findings, &err);
 *     trl_corpus_read("data/train", NULL, findings, &corpus, &err);      // the format is recognised
 *     trl_corpus_check(corpus, lexicon, NULL, pool, NULL, findings, &err);
 *     for (size_t i = 0; i < trl_corpus_count(corpus); i++)
 *         puts(trl_corpus_get(corpus, i)->text);
 *
 * Four forms are read:
 *   kaldi     a folder with wav.scp, and text, utt2spk, segments where they exist. Relative paths are looked for in
 *             the folder, then in its parent, then in the working directory. Entries that are shell pipes are
 *             refused, never run. Without utt2spk every utterance is its own speaker.
 *   folder    sound files with .lab, .txt or .TextGrid beside them, one sub-folder per speaker, at any depth: the
 *             folder that holds the file names the speaker, the corpus folder itself for files directly in it. An
 *             id is the file's base name; where several files share it, their path below the corpus folder
 *             (anna/001.wav: anna-001). In a TextGrid every interval tier is a speaker and every interval with text
 *             an utterance NAME-TIER-START-END (ms, eight digits); a single tier in a sub-folder belongs to that
 *             folder's speaker. Tiers `words` and `phones` (or `SPEAKER - words` and `SPEAKER - phones`) are an
 *             alignment: the words are one transcript, of the whole sound when there is one such pair. Names that
 *             start with a dot are passed over.
 *   manifest  a .tsv file whose first line names its columns: path (or audio, file, wav), and optionally id, text
 *             (or transcript, sentence), speaker (or client_id), start, end (seconds), channel. Paths are relative
 *             to the manifest's folder, or to `clips` in it. Without an id column the id is the path without its
 *             extension, slashes as dashes, then -START-END (ms) for a part of a file. Without a speaker the id is
 *             the speaker.
 *   sound     a single sound file ("-": standard input): one utterance, or what the transcript beside it says.
 * Blanks in ids and speakers become underscores. Of several lines or files with one id the first counts; the others are
 * left out, each with a finding.
 *
 * Indices: utterances and speakers count from 0. Utterances are sorted by id (bytes), so that the order of a corpus
 * does not depend on the file system; speakers are numbered in order of first appearance.
 */
#ifndef TRELLIS_CORPUS_H
#define TRELLIS_CORPUS_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/finding.h>
#include <trellis/lexicon.h>
#include <trellis/pool.h>
#include <trellis/progress.h>

TRL_BEGIN_DECLS

typedef struct trl_corpus trl_corpus;

typedef enum trl_corpus_format {
    TRL_CORPUS_AUTO,
    TRL_CORPUS_KALDI,
    TRL_CORPUS_FOLDER,
    TRL_CORPUS_MANIFEST,
    TRL_CORPUS_SOUND
} trl_corpus_format;

typedef struct trl_corpus_options {
    trl_corpus_format format;
    int need_text; /* 1: an utterance without a transcript is a finding; 0: transcripts are optional */
    const char
        *labels; /* HTK master label file (label_file.h) that has the words, in place of the corpus's own; NULL: none */
    const char *words;      /* of a single sound file, in place of what stands beside it; NULL: none given */
    const char *words_file; /* the same from a text file; "-": standard input */
    int part,
        parts; /* of so many parts this one alone, from 0; speakers stay whole, and are shared out by a hash of their names. parts 0 or 1: all */
} trl_corpus_options;

typedef struct trl_utterance {
    const char *id;
    const char *speaker;
    const char *path;       /* the sound file */
    const char *recording;  /* its id, where the corpus has one for sound in parts: Kaldi's wav.scp; else NULL */
    const char *text;       /* the transcript, words separated by single blanks; NULL when there is none */
    const char *written;    /* as it was written, where trl_corpus_find_words has changed text; else NULL */
    const uint32_t *spoken; /* by token of written (between blanks): how many words of text it is; else NULL */
    int32_t speaker_index;
    int32_t channel;         /* 0-based; -1: not said, the reader's choice */
    double start, end;       /* seconds; start = 0 and end = -1 for a whole file */
    const char *source;      /* the file that names this utterance, for messages */
    int64_t line;            /* and the line in it, 1-based; 0: none */
    const char *text_source; /* the same for the transcript; NULL when there is none */
    int64_t text_line;
    int bad; /* 1 once a fatal finding names it: skip it */
} trl_utterance;

/* The format is recognised, a transcript is needed. */
TRL_API trl_corpus_options trl_corpus_defaults(void);

/* Reads the corpus. Problems become findings (required, not NULL), and utterances with a fatal one stay in the corpus,
 * marked bad, as far as they are known at all. options may be NULL.
 * Returns 0, TRL_ENOENT, TRL_EFORMAT (not a corpus of any kind), TRL_EIO, TRL_ENOMEM, and for labels what
 * trl_label_file_read returns. */
TRL_API int trl_corpus_read(const char *path, const trl_corpus_options *options, trl_findings *findings,
                            trl_corpus **out, trl_error *err);
TRL_API void trl_corpus_destroy(trl_corpus *corpus);

/* Puts copies of another corpus's utterances, with their transcripts as they were written, behind those of this one,
 * in their order, unless they share an id or a speaker: then nothing is done. Returns 1: they are there, 0: not, or
 * TRL_ENOMEM, after which the corpus can only be destroyed. */
TRL_API int trl_corpus_append(trl_corpus *corpus, const trl_corpus *other, trl_error *err);

TRL_API size_t trl_corpus_count(const trl_corpus *corpus);
TRL_API const trl_utterance *trl_corpus_get(const trl_corpus *corpus, size_t index);
TRL_API long trl_corpus_find(const trl_corpus *corpus, const char *id); /* -1: not there */
TRL_API size_t trl_corpus_speakers(const trl_corpus *corpus);
TRL_API const char *trl_corpus_speaker(const trl_corpus *corpus, size_t speaker);
TRL_API const char *trl_corpus_format_name(const trl_corpus *corpus); /* "kaldi", "folder", "manifest", "sound" */

/* ---- Texts as people write them ----
 *
 *     trl_corpus_find_words(corpus, lexicon, NULL, &texts, findings, &err);     // “It’s late.” -> it 's late
 *
 * A token, what stands between blanks, that the lexicon has as it is written is never changed. Of others, the marks
 * around it are taken off (punctuation of all scripts), apostrophes and hyphens become ' and -, capitals small, as
 * far as it takes to find the lexicon's word; what is still not found is cut at dashes, and at hyphens and
 * apostrophes into words that the lexicon has (it 's, l' homme). Tokens of marks alone are no words. What stands in
 * [] <> {}, and a word in (), stays as it is. What is then not found is an unknown word, without the marks around it.
 * Accents and vowel signs are never taken off.
 */
typedef enum trl_text_change {
    TRL_TEXT_SAME,
    TRL_TEXT_LETTERS,  /* capitals, apostrophes, hyphens, composed letters */
    TRL_TEXT_MARKS,    /* marks around it */
    TRL_TEXT_SPLIT,    /* cut into words */
    TRL_TEXT_REPLACED, /* by the table of replacements */
    TRL_TEXT_LEFT_OUT, /* marks alone: no word */
    TRL_TEXT_CHANGES
} trl_text_change;

TRL_API const char *trl_text_change_name(trl_text_change change); /* "same", "letters" … */

#define TRL_TEXT_EXAMPLES 5

typedef struct trl_text_example {
    const char *written, *words; /* they live as long as the corpus */
    size_t times;
} trl_text_example;

typedef struct trl_text_summary {
    size_t tokens[TRL_TEXT_CHANGES];   /* how many were changed so, by the last of the kinds that applies */
    size_t distinct[TRL_TEXT_CHANGES]; /* how many different ones */
    trl_text_example
        examples[TRL_TEXT_CHANGES]
                [TRL_TEXT_EXAMPLES]; /* of each change the most frequent tokens, then in order of their bytes */
} trl_text_summary;

/* Makes all transcripts words of the lexicon, as far as it has them; what was written stays in `written`. `replace`
 * (NULL: none) is a file of lines WRITTEN, a tab, SPOKEN words; WRITTEN is a token, or the part of one that is left
 * when marks are taken off or it is cut. Words of the lexicon go before replacements; no SPOKEN words: the token is
 * left out. Not to be called twice for a corpus. A transcript of which nothing is left is a finding. summary may be
 * NULL. Returns 0, TRL_EFORMAT (the table, with the line), TRL_ENOENT, TRL_EIO, TRL_ENOMEM. */
TRL_API int trl_corpus_find_words(trl_corpus *corpus, const trl_lexicon *lexicon, const char *replace,
                                  trl_text_summary *summary, trl_findings *findings, trl_error *err);

typedef struct trl_check_options {
    double rate;                  /* the rate that counts as normal, Hz; 0: the most frequent one in the corpus */
    double clipped_share;         /* findings from this share of samples at full scale on; default 0.001 */
    double seconds_per_phone;     /* a phone takes at least this long; default 0.03: three frames */
    double characters_per_second; /* without a lexicon: more than this is too long; default 40 */
    double frame_seconds;         /* sound must be at least this long; default 0.025: one frame of features */
    trl_progress *progress;       /* may be NULL */
} trl_check_options;

/* What a check saw besides the findings. */
typedef struct trl_check_summary {
    size_t utterances, bad_utterances, speakers, recordings;
    double seconds; /* of sound, in usable utterances */
    size_t words, distinct_words;
    size_t unknown_words, distinct_unknown_words; /* 0 without a lexicon */
    double rate;                                  /* the rate taken as normal, Hz */
} trl_check_summary;

TRL_API trl_check_options trl_check_defaults(void);

/* Reads every sound once, block by block, and adds findings in corpus order, the same for every number of threads; last
 * come the words that are not in the lexicon, the most frequent first, one finding each, at the first place where it
 * occurs. lexicon, options,
 * pool and summary may be NULL. Marks utterances bad. Returns 0, TRL_ENOMEM, TRL_EIO. */
TRL_API int trl_corpus_check(trl_corpus *corpus, const trl_lexicon *lexicon, const trl_check_options *options,
                             trl_pool *pool, trl_check_summary *summary, trl_findings *findings, trl_error *err);

/* ---- Some apart: what a model is tested with must not be what it was trained on ----
 *
 *     unsigned char *apart = malloc(trl_corpus_count(corpus));
 *     trl_corpus_split(corpus, NULL, apart, &err);                       // a tenth of the utterances, whole speakers
 *     trl_corpus_write(corpus, apart, 0, "train", &err);
 *     trl_corpus_write(corpus, apart, 1, "test", &err);
 */

typedef enum trl_split_by {
    TRL_SPLIT_AUTO,    /* speakers where there are several with several utterances each, else utterances */
    TRL_SPLIT_SPEAKER, /* all utterances of a speaker stay together */
    TRL_SPLIT_UTTERANCE
} trl_split_by;

typedef struct trl_split_options {
    trl_split_by by;
    double share;     /* of the utterances, between 0 and 1; default 0.1. Speakers are set apart until it is reached */
    uint64_t seed;    /* another seed, other speakers; default 1 */
    const char *list; /* instead: a file whose lines begin with a speaker or an utterance id; NULL: none */
} trl_split_options;

TRL_API trl_split_options trl_split_defaults(void);

/* apart[i] becomes 1 for utterances that are set apart, 0 for others. By share, at least one speaker (or utterance) is
 * on either side; bad utterances are on neither: 0, and they don't count. Who is chosen depends on seed and names alone.
 * options may be NULL. Returns 0; TRL_EINVAL: an option can't be, or there is only one to choose from; TRL_EFORMAT: the
 * list has a name that the corpus lacks, or sets apart all or nothing; TRL_ENOENT, TRL_EIO: the list can't be read;
 * TRL_ENOMEM. */
TRL_API int trl_corpus_split(const trl_corpus *corpus, const trl_split_options *options, unsigned char *apart,
                             trl_error *err);

/* Writes the utterances with apart[i] == which (apart NULL: all) as a Kaldi-style folder, which is made where it is not
 * there yet: wav.scp with absolute paths, utt2spk, text, and segments if some are parts or channels of files. Bad
 * utterances are left out. Returns 0; TRL_EINVAL: it is the folder that the corpus was read from, or no utterance is
 * left; TRL_EFORMAT: a path can't be a line of wav.scp; TRL_ENOENT, TRL_EIO, TRL_ENOMEM. */
TRL_API int trl_corpus_write(const trl_corpus *corpus, const unsigned char *apart, int which, const char *folder,
                             trl_error *err);

TRL_END_DECLS

#endif
