/* Scoring: how far is what was recognised from what was said?
 *
 *     trl_transcripts *said, *heard;
 *     trl_score *score;
 *     trl_score_options options = trl_score_defaults();
 *     trl_transcripts_read("ref.trn", TRL_TRANSCRIPTS_ANY, &said, &err);
 *     trl_transcripts_read("hyp.trn", TRL_TRANSCRIPTS_ANY, &heard, &err);
 *     trl_score_create(said, heard, &options, NULL, &score, &err);
 *     printf("WER %.2f %%\n", 100 * trl_word_error_rate(trl_score_total(score)));
 *
 * Two scorers. `sclite` is that of NIST's program: a substitution costs 4, a deletion or insertion 3, small and capital ASCII letters are
 * the same; of alignments that cost the same, the last pair of words is kept together where it can be, else a deletion comes last if it is
 * cheaper than an insertion. `edit` is plain edit distance with all letters as they are; a pair is kept together only where that is cheaper than
 * both others: the counts of Kaldi's compute-wer. Where several alignments are best, other programs (jiwer) may split the same sum of
 * errors in another way.
 *
 * Words are compared in composed form (NFC): é is the same letter, typed as one or as two.
 *
 * Indices count from 0: utterances in the order of the reference, speakers in the order of their first utterance, pairs of an alignment
 * from left to right.
 */
#ifndef TRELLIS_SCORE_H
#define TRELLIS_SCORE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/pool.h>

TRL_BEGIN_DECLS

/* ---- Transcripts ---- */

typedef struct trl_transcripts trl_transcripts;

typedef enum trl_transcripts_format {
    TRL_TRANSCRIPTS_ANY,  /* by the name's ending (.trn .ctm .stm .json .jsonl), else by the content */
    TRL_TRANSCRIPTS_TRN,  /* sclite: words (id); alternatives { a / b c / @ } */
    TRL_TRANSCRIPTS_TEXT, /* Kaldi: id words */
    TRL_TRANSCRIPTS_CTM,  /* file channel start seconds word [confidence] */
    TRL_TRANSCRIPTS_STM,  /* file channel speaker start end [<labels>] words; alternatives as in trn */
    TRL_TRANSCRIPTS_JSON  /* an object per line: id, words (objects with word, or strings) or text, speaker, nbest */
} trl_transcripts_format;

typedef struct trl_transcript {
    const char *id;           /* NULL: a segment that is to be left out of the scoring */
    const char *speaker;      /* NULL: not said */
    const char *const *words; /* { / } of alternatives are words of their own here */
    size_t count;
    int rank; /* place in the utterance's list of hypotheses ("nbest"), from 0 */
} trl_transcript;

/* Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (with the line), TRL_EUNSUPPORTED (alternatives in a ctm file), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_transcripts_read(const char *path, trl_transcripts_format format, trl_transcripts **out,
                                 trl_error *err);
TRL_API void trl_transcripts_destroy(trl_transcripts *transcripts);

/* Transcripts live as long as the object. */
TRL_API size_t trl_transcripts_count(const trl_transcripts *transcripts);
TRL_API trl_transcript trl_transcripts_get(const trl_transcripts *transcripts, size_t index);
TRL_API trl_transcripts_format trl_transcripts_kind(const trl_transcripts *transcripts);

/* "trn", "text", … */
TRL_API const char *trl_transcripts_format_name(trl_transcripts_format format);

/* Says who speaks: a file of lines "utterance speaker". Utterances that it lacks are an error. Returns 0 or as trl_transcripts_read. */
TRL_API int trl_transcripts_speakers(trl_transcripts *transcripts, const char *path, trl_error *err);

/* ---- Counts ---- */

typedef enum trl_scorer { TRL_SCORER_SCLITE, TRL_SCORER_EDIT } trl_scorer;
typedef enum trl_letters {
    TRL_LETTERS_USUAL, /* ASCII for sclite, KEEP for edit */
    TRL_LETTERS_KEEP,  /* A and a are different */
    TRL_LETTERS_ASCII, /* A-Z are a-z */
    TRL_LETTERS_ALL    /* capitals of Latin, Greek and Cyrillic too */
} trl_letters;

typedef struct trl_score_options {
    int scorer;         /* a trl_scorer */
    int letters;        /* a trl_letters */
    int optional_words; /* 1: a word in parentheses, in trn and stm, is right too where it is left out (sclite -D) */
    int oracle; /* 1: hypotheses are N-best lists, and the one with the fewest errors counts; ids of those that are not in
                         * JSON end in -1, -2, … */
} trl_score_options;

TRL_API trl_score_options trl_score_defaults(void);

typedef struct trl_counts {
    uint64_t words; /* of the reference: correct + substitutions + deletions */
    uint64_t correct, substitutions, deletions, insertions;
    uint64_t utterances, wrong; /* wrong: with at least one error */
} trl_counts;

TRL_API uint64_t trl_errors(trl_counts counts);
/* Shares of words and of utterances; with nothing to divide by, 0 where there is no error, else infinity. */
TRL_API double trl_word_error_rate(trl_counts counts);
TRL_API double trl_sentence_error_rate(trl_counts counts);

typedef struct trl_score trl_score;

typedef struct trl_word_pair {
    const char *said, *heard; /* NULL: none */
    uint32_t place;           /* which word of the reference, or before which one an insertion stands */
    char kind;                /* C, S, D, I */
} trl_word_pair;

typedef struct trl_scored_utterance {
    const char *id;
    size_t speaker;
    trl_counts counts;
    int missing;     /* 1: there is no hypothesis, all words are deletions */
    int chosen;      /* with oracle: which of the list, from 0 */
    uint32_t places; /* words of the reference, alternatives counted as one */
    const trl_word_pair *pairs;
    size_t pair_count;
} trl_scored_utterance;

typedef struct trl_scored_speaker {
    const char *name;
    trl_counts counts;
} trl_scored_speaker;

typedef struct trl_confusion {
    const char *said, *heard; /* NULL: insertions, deletions */
    uint64_t count;
} trl_confusion;

/* Aligns every utterance of the reference with its hypothesis. With stm, the words of a ctm file belong to the segment in which their
 * middle lies, the last segment of a channel takes what is left; segments IGNORE_TIME_SEGMENT_IN_SCORING are left out. Speakers that
 * the reference does not name are what comes before the first '-' of the id, or '_' where there is none, or the whole id.
 * The transcripts must outlive the score. Returns 0, TRL_EINVAL (formats that don't fit together), TRL_EFORMAT (an id twice),
 * TRL_ELIMIT (an utterance too long), TRL_ENOMEM. */
TRL_API int trl_score_create(const trl_transcripts *said, const trl_transcripts *heard,
                             const trl_score_options *options, trl_pool *pool, trl_score **out, trl_error *err);
TRL_API void trl_score_destroy(trl_score *score);

TRL_API trl_counts trl_score_total(const trl_score *score);
TRL_API size_t trl_score_utterances(const trl_score *score);
TRL_API const trl_scored_utterance *trl_score_utterance(const trl_score *score, size_t index);
TRL_API size_t trl_score_speakers(const trl_score *score);
TRL_API const trl_scored_speaker *trl_score_speaker(const trl_score *score, size_t index); /* they are one array */

/* Hypotheses whose utterance is not in the reference; they are not counted. */
TRL_API size_t trl_score_extras(const trl_score *score);
TRL_API const char *trl_score_extra(const trl_score *score, size_t index);

/* What was taken for what, the most frequent first, then in the order of the words. The list belongs to the caller: free(). */
TRL_API int trl_score_confusions(const trl_score *score, trl_confusion **list, size_t *count, trl_error *err);

/* ---- How sure is it? ---- */

typedef struct trl_bootstrap {
    int speakers;   /* 1: speakers are drawn, 0: utterances */
    int replicates; /* 1 … 10,000,000 */
    uint64_t seed;
    double level; /* of the interval, 0.95 */
} trl_bootstrap;

TRL_API trl_bootstrap trl_bootstrap_defaults(void);

/* The interval in which the word error rate lies with this probability, by drawing utterances or speakers with replacement (Bisani and Ney,
 * "Bootstrap estimates for confidence intervals in ASR performance evaluation", 2004). Returns 0, TRL_EINVAL, TRL_ENOMEM. */
TRL_API int trl_score_interval(const trl_score *score, const trl_bootstrap *how, trl_pool *pool, double interval[2],
                               trl_error *err);

/* A two-sided test that the mean of paired differences is 0. */
typedef struct trl_matched_pairs {
    size_t pairs;
    double mean, deviation; /* of errors of the first system less those of the second */
    double z, p; /* z is infinite where all differences are equal and not 0; 0 and p = 1 with fewer than two pairs */
} trl_matched_pairs;

typedef struct trl_comparison {
    trl_matched_pairs
        segments; /* stretches with errors, two words apart that both have right: NIST's MAPSSWE (Gillick and Cox 1989) */
    trl_matched_pairs units; /* utterances or speakers, as drawn */
    double difference;       /* word error rate of the first less that of the second */
    double interval[2];      /* of the difference, the same draws for both */
    double second_better;    /* share of the draws where it is; equal ones count half */
} trl_comparison;

/* Both scores must have the same reference. Returns 0, TRL_EINVAL, TRL_ENOMEM. */
TRL_API int trl_score_compare(const trl_score *first, const trl_score *second, const trl_bootstrap *how, trl_pool *pool,
                              trl_comparison *out, trl_error *err);

TRL_END_DECLS

#endif
