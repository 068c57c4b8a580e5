/* Recognition of sound while it comes: from a microphone, a pipe, a file that grows.
 *
 *     static int use(void *user, const trl_stream_words *w, trl_error *err)      // words that are final
 *     {
 *         for (size_t i = 0; i < w->words.count; i++)
 *             printf("%.2f %s\n", w->words.items[i].start, w->words.items[i].label);
 *         return 0;
 *     }
 *
 *     trl_decode_stream_options o = trl_decode_stream_defaults();
 *     trl_decode_stream_create(model, graph, &o, use, user, &stream, &err);
 *     while (…) {
 *         trl_decode_stream_push(stream, samples, count, &err);                  // any number of samples
 *         trl_decode_stream_partial(stream, &partial, &err);                     // what it looks like so far
 *     }
 *     trl_decode_stream_finish(stream, &err);                                    // the rest
 *     trl_decode_stream_destroy(stream);
 *
 * The words are those that trl_decode_corpus finds with `online` in its options (and without adaptation) in a sound file that has the whole
 * stream, however the samples were divided; so are path and costs.
 *
 * The front end can't know what comes. Where a model normalises its frames over the utterance or the speaker, a stream does so over the 600 frames
 * before each, and over the first 100 at the beginning. Models from speaker-adaptive training use their mixtures for frames as they come. energy_normalise can't be had.
 *
 * Memory does not grow with the stream. A word is final, and what led to it is forgotten, when all ways that are still searched have it; that takes
 * a second, as a rule. Where they do not agree within `most_open` seconds, the best of the moment decides, and words may differ from those of one go: `forced` counts
 * that. Where language_scale or word_penalty ask for other words than the search's own best ones, all ways within lattice_beam must agree, which takes longer.
 *
 * Delay: a frame is searched when the frames that its deltas and splicing need have come (trl_decode_stream_delay says how many), and those that fill a
 * block. At the beginning the normalisation waits for its 100 frames.
 *
 * Thread rule: one thread at a time per stream; model and graph are only read, and may serve many streams.
 */
#ifndef TRELLIS_DECODE_STREAM_H
#define TRELLIS_DECODE_STREAM_H

#include <trellis/decode.h>

TRL_BEGIN_DECLS

typedef struct trl_decode_stream_options {
    trl_decode_options decode; /* beams, scales, device, threads; the rest is about corpora and not looked at */
    int32_t block;             /* frames that are searched at a time; default 10 */
    double most_open;          /* seconds; default 30 */
    double pause;   /* seconds of silence or noise, behind at least one word, that end an utterance; 0 (default): the
                       stream is one. Each utterance is then decoded as one of its own */
    double longest; /* seconds after which an utterance ends at the latest; 0 (default): never */
} trl_decode_stream_options;

/* Words that are final, in the order of their times. All times are seconds, and frames are counted, from the start of the stream. */
typedef struct trl_stream_words {
    trl_segments words; /* without silence; those of an utterance may come in several calls; index counts in it */
    double start, stop; /* the sound that they were found in */
    int ends_utterance; /* 1: what follows is about the whole utterance */
    int32_t first_frame, frames;
    double graph_cost, acoustic_cost; /* of its best path, unscaled */
    int reached_end;                  /* 0: no end of the graph was alive in the last frame */
} trl_stream_words;

/* Valid during the call only. */
typedef int (*trl_stream_words_fn)(void *user, const trl_stream_words *words, trl_error *err);

/* What has not been handed out yet. */
typedef struct trl_stream_partial {
    double seconds;         /* of sound that has been searched */
    const char **settled;   /* words that will not change any more, but have no times yet */
    const char **tentative; /* the best way on from there, as of now */
    size_t settled_count, tentative_count;
} trl_stream_partial;

typedef struct trl_stream_summary {
    size_t utterances, words, frames;
    size_t forced;              /* times that the best way of the moment had to decide */
    size_t unfinished;          /* utterances that reached no end of the graph; among them … */
    size_t lost;                /* … those where no way was left, as where a grammar had come to its end */
    double seconds;             /* of sound */
    double log_likelihood;      /* of the best paths, per frame */
    double tokens;              /* per frame */
    int32_t most_open;          /* frames that were not settled at one time */
    trl_decode_profile profile; /* where options.decode.profile asks for it */
} trl_stream_summary;

typedef struct trl_decode_stream trl_decode_stream;

TRL_API trl_decode_stream_options trl_decode_stream_defaults(void);
TRL_API int trl_decode_stream_options_check(const trl_decode_stream_options *options, trl_error *err);

/* options may be NULL. Model and graph must outlive the stream. Returns 0, TRL_EINVAL (a graph for another model, no front end),
 * TRL_EUNSUPPORTED (a front end that needs all of the sound), TRL_ENOMEM. */
TRL_API int trl_decode_stream_create(const trl_model *model, const trl_graph *graph,
                                     const trl_decode_stream_options *options, trl_stream_words_fn use, void *user,
                                     trl_decode_stream **out, trl_error *err);
TRL_API void trl_decode_stream_destroy(trl_decode_stream *stream);

/* The rate that samples must have, Hz, and how many frames behind the last sample's the search is at most, when push returns. */
TRL_API double trl_decode_stream_rate(const trl_decode_stream *stream);
TRL_API int32_t trl_decode_stream_delay(const trl_decode_stream *stream);

/* Samples, full scale ±1, at the stream's rate. Words that became final are handed out before it returns. Returns 0, what `use` returned, TRL_ENUMBER (samples that are no
 * sound), TRL_ENOMEM. After a failure only destroy makes sense. */
TRL_API int trl_decode_stream_push(trl_decode_stream *stream, const float *samples, size_t count, trl_error *err);

/* Valid until the next call. */
TRL_API int trl_decode_stream_partial(trl_decode_stream *stream, trl_stream_partial *partial, trl_error *err);

/* The sound is over: hands out the rest. A stream that was too short for one frame has an utterance without words. */
TRL_API int trl_decode_stream_finish(trl_decode_stream *stream, trl_error *err);
TRL_API trl_stream_summary trl_decode_stream_summarise(const trl_decode_stream *stream);

TRL_END_DECLS

#endif
