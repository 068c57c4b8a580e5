/* Features of a whole corpus: every usable utterance is read, turned into frames by all threads, and delivered in
 * corpus order.
 *
 *     static int use(void *user, const trl_utterance *utterance, const trl_matrix *frames, trl_error *err) { … }
 *
 *     trl_extract_options o = trl_extract_defaults();
 *     o.skip_bad = 1;
 *     trl_extract_corpus(corpus, frontend, &o, pool, skipped, use, user, &summary, &err);
 *
 * Per-speaker normalisation takes two passes: the static coefficients wait in a temporary file while the speakers' sums
 * are gathered, so the sound is read once. Memory does not grow with the corpus.
 */
#ifndef TRELLIS_EXTRACT_H
#define TRELLIS_EXTRACT_H

#include <trellis/corpus.h>
#include <trellis/frontend.h>
#include <trellis/kept.h>

TRL_BEGIN_DECLS

#define TRL_CHANNEL_UNSAID (-1) /* nobody has chosen: the first, and a finding says where there are others */

typedef struct trl_extract_options {
    int channel;  /* for utterances that don't say theirs: 0-based, TRL_CHANNEL_MIX, or TRL_CHANNEL_UNSAID (default) */
    int skip_bad; /* 1: leave out utterances that can't be used; 0: the first one is an error */
    const char *only; /* deliver this utterance alone (its speaker is still read where CMVN needs it); NULL: all */
    trl_progress *progress; /* counts utterances; may be NULL */
    trl_kept *kept; /* what is made of the sound is kept there, and taken from there; NULL (default): nowhere; kept.h */
    /* 1: no frames are made of digital silence where the front end has silence = fill. Times no longer hold; training
     * needs none, and frames that stand for silence would outweigh the silence that there is. */
    int cut_silence;
} trl_extract_options;

typedef struct trl_extract_summary {
    size_t utterances; /* delivered */
    size_t skipped;    /* bad ones of the corpus and those that failed here; each of the latter is a finding */
    size_t frames;
    size_t upsampled;   /* delivered ones whose sound has a lower rate than the front end: no high frequencies */
    double lowest_rate; /* of their sound files, Hz */
    size_t stereo;      /* delivered ones whose first channel was taken, of several, without anybody having chosen it */
    double seconds;     /* of sound, in delivered utterances */
    trl_static_mean
        mean; /* of the static coefficients, frames that hold nothing left out: what a stream's CMVN may begin with */
} trl_extract_summary;

/* Called in corpus order, one call at a time, but by any thread of the pool; the frames are only valid during the call.
 */
typedef int (*trl_extract_fn)(void *user, const trl_utterance *utterance, const trl_matrix *frames, trl_error *err);

TRL_API trl_extract_options trl_extract_defaults(void);

/* `skipped` receives what was left out and why (required), and once each, as warnings, TRL_FINDING_RATE where sound
 * was upsampled and TRL_FINDING_STEREO where channels were not used; options, pool and summary may be NULL. The same
 * frames in the same order for every number of threads. Returns 0, what `use` returned, the first bad utterance's
 * error, or TRL_ENOENT when there is no utterance `only`. */
TRL_API int trl_extract_corpus(const trl_corpus *corpus, const trl_frontend *frontend,
                               const trl_extract_options *options, trl_pool *pool, trl_findings *skipped,
                               trl_extract_fn use, void *user, trl_extract_summary *summary, trl_error *err);

/* The samples of one utterance at the front end's rate; freed by trl_audio_free. */
TRL_API int trl_extract_samples(const trl_utterance *utterance, const trl_frontend *frontend, int channel,
                                float **samples, size_t *count, trl_error *err);

TRL_END_DECLS

#endif
