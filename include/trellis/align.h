/* Forced alignment: when was each word, phone and state said?
 *
 *     trl_align_options o = trl_align_defaults();
 *     trl_align_corpus(model, lexicon, corpus, &o, pool, skipped, use, user, &summary, &err);
 *
 *     static int use(void *user, const trl_alignment *a, trl_error *err)   // in corpus order, one call at a time
 *     {
 *         for (size_t i = 0; i < a->words.count; i++)
 *             printf("%s %.3f %.3f\n", a->words.items[i].label, a->words.items[i].start, a->words.items[i].end);
 *         return 0;
 *     }
 *
 * Times are seconds from the start of the utterance (add utterance->start for the sound file). A frame's window is
 * longer than the step to the next: the boundary between frames t - 1 and t is put half way between the centres of
 * their windows, at t * shift + (length - shift) / 2; the first segment begins at 0 and the last ends with the sound.
 * Where a row of likelihoods stands for K frames (subsampling), rows are what is called frames here, and row t begins
 * where frame t * K does.
 *
 * The confidence of a word or phone is the mean, over its frames, of the posterior probability that the frame belongs
 * to it: the sum over all paths within the margin that are in this word (phone) at that frame, divided by the sum over
 * all paths. 1: no other place is likely.
 *
 * A model that was trained on adapted frames has two sets of mixtures. Its corpus is read several times: a first pass
 * aligns with the mixtures for frames as they come, and a transform is estimated for each speaker (fMLLR) from his
 * frames, of silence and noise only every tenth; the next pass does so again with adapted frames; the last pass aligns
 * those with the mixtures for them. Speakers with less than 500 such frames stay with the first mixtures, and so do all
 * where sound comes through a pipe, which can be read once only. Log-likelihoods are those of the frames before the
 * transform.
 */
#ifndef TRELLIS_ALIGN_H
#define TRELLIS_ALIGN_H

#include <trellis/corpus.h>
#include <trellis/kept.h>
#include <trellis/model.h>

TRL_BEGIN_DECLS

#define TRL_MARGIN_AUTO (-1)
#define TRL_MARGIN_FULL (-2)

/* What becomes of words that the lexicon lacks. */
typedef enum trl_unknown_words {
    TRL_UNKNOWN_FAIL, /* they are an error */
    TRL_UNKNOWN_SKIP, /* utterances with one are left out, and named */
    TRL_UNKNOWN_NOISE, /* a word of unknown pronunciation, which the model's unit for spoken noise stands for; an error where it has none */
    TRL_UNKNOWN_AUTO /* noise; skip where the model has no such unit; an error where more than half of the words (of 20 or more) are
                          unknown: that is another lexicon, or other capitals */
} trl_unknown_words;

#define TRL_UNKNOWN_SHOWN 10 /* words that the text names, the most frequent ones */

typedef struct trl_unknown_summary {
    size_t words, times,
        utterances; /* that are unknown, each once; how often all of them occur; in how many utterances */
    size_t all_times, all_utterances; /* known or not */
    int choice;                       /* fail, skip or noise: what it comes to */
    char text[700]; /* "2 words are not in the lexicon (3 of 400 in all …): HMM 2, UH 1"; "" where there are none */
} trl_unknown_summary;

/* Which words of the corpus (only: of this utterance; NULL: of all that are usable) the lexicon lacks, and what
 * becomes of them with this model (NULL: one that training is about to make). `words` (or NULL) gets a finding for
 * each, the most frequent first, of its first place. Training, alignment and the back-off model ask the same before
 * they begin. Returns 0; TRL_EINVAL where they are an error, words and summary are filled in then too; TRL_ENOMEM. */
TRL_API int trl_unknown_words_find(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                                   int choice, const char *only, trl_findings *words, trl_unknown_summary *summary,
                                   trl_error *err);

typedef struct trl_align_options {
    int unknown_words;       /* trl_unknown_words; default auto */
    int channel;             /* see extract.h */
    int skip_bad;            /* 1: leave out utterances that can't be used; 0: the first one is an error */
    double beam;             /* default 400 */
    double acoustic_scale;   /* of the scores in posteriors (confidence), not on the path; default 0.1 */
    int confidence_margin;   /* frames around the path for the posteriors; default 20 */
    int confidence;          /* 0: don't compute them */
    const char *likelihoods; /* feature file of log-likelihoods, a column per tied state; NULL: the model's */
    int subsampling; /* a row of likelihoods stands for so many frames, 1 to 100; default 1; other lengths than the sound's are an error where there is sound */
    const char *only; /* this utterance alone; NULL: all */
    int adapt; /* how often transforms of the speakers are estimated for a model that wants adapted frames; default 2; 0: never */
    const char *device; /* "cpu", "cpu:ref" …; NULL: cpu */
    trl_kept *kept;     /* results are kept there, and taken from there; NULL, the default: nowhere; see kept.h */
    trl_progress *progress;
} trl_align_options;

typedef struct trl_segment {
    const char *label;  /* word, phone of the lexicon, else unit; "" for silence between words */
    int32_t first, end; /* frames [first, end) */
    double start, stop; /* seconds */
    float confidence;   /* 0 … 1; -1: not computed */
    int32_t
        index; /* words: which of the transcript as it was written, -1 for silence; phones: which of `words`; states: of `phones` */
    int32_t id; /* phones: the unit; states: the HMM state, from 0; words: the pronunciation variant, from 0 */
} trl_segment;

typedef struct trl_segments {
    const trl_segment *items;
    size_t count;
} trl_segments;

typedef struct trl_alignment {
    const trl_utterance *utterance;
    trl_segments words, phones, states; /* each covers the utterance without gaps; silence is a segment of its own */
    trl_segments
        spoken; /* of trl_align_corpus: the words of utterance->text. `words` are those of utterance->written where there is one: a segment
                 * for all words of a token and the pauses between them, its id that of the first */
    const int32_t *transitions; /* by frame: the transition id that leaves its state */
    int32_t frames;
    double seconds;        /* of sound */
    double log_likelihood; /* per frame, of the best path */
    double fit; /* of words and sound: 1 none of the model's other states fits better anywhere; 0 as good as random */
} trl_alignment;

typedef struct trl_align_summary {
    size_t utterances, skipped;
    size_t unknown_words; /* aligned as noise */
    size_t frames;
    double seconds;        /* of sound */
    double log_likelihood; /* per frame, over all */
    size_t adapted;        /* speakers whose frames were transformed */
    double gain;           /* in log-likelihood per frame of speech by that, as estimated */
} trl_align_summary;

/* The alignment is only valid during the call. */
typedef int (*trl_align_fn)(void *user, const trl_alignment *alignment, trl_error *err);

TRL_API trl_align_options trl_align_defaults(void);
TRL_API int trl_align_options_check(const trl_align_options *options, trl_error *err);

/* How often the corpus is gone through with this model, at most; `progress` is told of every utterance in every
 * pass. */
TRL_API int trl_align_passes(const trl_model *model, const trl_align_options *options);

/* Aligns every usable utterance with all threads of the pool; the same results in the same order for every number of
 * threads. `skipped` (required) gets what was left out and why, and after that warnings: utterances whose words fit
 * their sound much worse than those of the rest (TRL_FINDING_MISFIT), and once sound of a lower rate than the model's
 * (TRL_FINDING_RATE). Returns 0, what `use` returned, or the first error. */
TRL_API int trl_align_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                             const trl_align_options *options, trl_pool *pool, trl_findings *skipped, trl_align_fn use,
                             void *user, trl_align_summary *summary, trl_error *err);

TRL_END_DECLS

#endif
