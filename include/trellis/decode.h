/* Recognition: which words were said, and when?
 *
 *     trl_decode_options o = trl_decode_defaults();
 *     trl_decode_corpus(model, graph, corpus, &o, pool, skipped, use, user, &summary, &err);
 *
 *     static int use(void *user, const trl_decoding *d, trl_error *err)   // in corpus order, one call at a time
 *     {
 *         for (size_t i = 0; i < d->words.count; i++)
 *             puts(d->words.items[i].label);
 *         return 0;
 *     }
 *
 * A path through the graph costs what the graph says and, for each frame, the negative log-likelihood of its tied state times the acoustic
 * scale. Each frame keeps the tokens within the beam of its best; of the ways they came, those are kept as a lattice that are within the lattice
 * beam of the best path. From that the best words are chosen, by acoustic cost / language scale + graph cost + words * penalty. A path's probability, in
 * confidences and expected errors, goes by the same sum.
 *
 * A model that was trained on adapted frames has two sets of mixtures. Its corpus is read several times, as in align.h: the first pass decodes
 * with the mixtures for frames as they come, and a transform is estimated for each speaker along the best paths, from frames that are not
 * silence or noise; the next pass does so again with adapted frames; the last pass decodes those for good.
 *
 * Thread rule: model, graph and corpus are only read.
 */
#ifndef TRELLIS_DECODE_H
#define TRELLIS_DECODE_H

#include <trellis/align.h>
#include <trellis/graph.h>
#include <trellis/kept.h>
#include <trellis/lattice.h>

TRL_BEGIN_DECLS

/* How several threads search one utterance. They find the same lattice as one thread does, byte by byte. */
typedef enum trl_search_way {
    TRL_SEARCH_OWNER, /* each state belongs to one thread, which takes what the others sent to it */
    TRL_SEARCH_MERGE /* each thread has copies of the states that it reaches; one thread merges them. To compare with */
} trl_search_way;

/* When likelihoods are made. They are the same, bit by bit, and so are the words. */
typedef enum trl_likelihood_mode {
    TRL_LIKELIHOODS_BLOCK,  /* of the states that the search needs, for blocks of 16 frames */
    TRL_LIKELIHOODS_DEMAND, /* of one state and frame when an arc wants it */
    TRL_LIKELIHOODS_AHEAD,  /* of all states, ahead of the search, by threads that have nothing to search */
    TRL_LIKELIHOODS_AUTO    /* the first frames try all three; then the quickest. A stream: block */
} trl_likelihood_mode;

typedef struct trl_decode_options {
    double beam;           /* cost above the best token of a frame; default 13; INFINITY: none */
    double lattice_beam;   /* cost above the best path; default 6; of no use where no lattice is needed */
    double word_beam;      /* the beam of arcs that write a word, where it is smaller; default INFINITY */
    int32_t most_active;   /* tokens of a frame that go on; default 7000 */
    int32_t least_active;  /* tokens that go on although they are out of the beam; default 200 */
    double acoustic_scale; /* of log-likelihoods in the search; default 0.1 */
    double language_scale; /* in the choice of the best words; 0 (default): 1 / acoustic_scale */
    double word_penalty;   /* cost of every word there; default 0 */
    double
        posterior_scale; /* of all costs where probabilities are asked for; see lattice.h; default TRL_POSTERIOR_SCALE */
    int lattice;         /* 1: make a word lattice of each utterance; default 0 */
    int confidence;      /* 1: find out how probable words are, by such a lattice; default 0 */
    int mbr;             /* 1: words with the least expected errors instead of the best path's; default 0 */
    int channel;         /* see extract.h */
    int skip_bad;        /* 1: leave out utterances that can't be used; 0: the first one is an error */
    const char *likelihoods; /* feature file of log-likelihoods, a column per tied state; NULL: the model's */
    int subsampling;         /* frames that a row of likelihoods stands for, see align.h; default 1 */
    const char *only;        /* this utterance alone; NULL: all */
    int adapt;               /* how often transforms of speakers are estimated; see align.h; default 2; 0: never */
    int online;              /* 1: frames as a stream has them, see decode_stream.h; default 0 */
    /* Who makes likelihoods: "cpu", "cpu:ref" …, "opencl:N", "auto"; NULL: cpu. A device makes all of them ahead of the search, with modes
     * ahead and auto; with "auto" the processor begins again where it fails, and no utterance is delivered twice. */
    const char *device;
    int search_threads;                  /* that search one utterance, for each thread of the pool; default 1 */
    int score_threads;                   /* besides them, that do nothing but make likelihoods ahead; default 0 */
    trl_search_way search;               /* default TRL_SEARCH_OWNER */
    trl_likelihood_mode likelihood_mode; /* default TRL_LIKELIHOODS_AUTO */
    double ahead;                        /* seconds of sound whose likelihoods are made ahead, at most; default 10 */
    trl_kept *kept;                      /* results are kept there, and taken from there; NULL, the default: nowhere */
    int profile;                         /* 1: the summary tells where the time went; default 0 */
    trl_progress *progress;
} trl_decode_options;

typedef struct trl_decoding {
    const trl_utterance *utterance;
    trl_segments
        words; /* without silence; labels are the graph's, index counts from 0; confidence: see lattice.h; -1: not asked for */
    const int32_t *transitions; /* by frame: the model's transition ids along the best path */
    int32_t frames;
    double seconds;                   /* of sound */
    double graph_cost, acoustic_cost; /* of the best path, unscaled */
    const trl_lattice *lattice;       /* where options.lattice asks for it; else NULL */
    double expected_errors;           /* among the words, see lattice.h; -1: not asked for */
    int reached_end; /* 0: no end of the graph was alive in the last frame; the words are the best token's */
} trl_decoding;

/* Where the time of searches went, in seconds of all their threads together, and how many likelihoods they took; of all passes. */
typedef struct trl_decode_profile {
    double expansion;   /* arcs are tried */
    double merging;     /* what they reach becomes tokens and links */
    double pruning;     /* limits of a frame, and the lattice behind it */
    double composition; /* words with a language model, where that is done while searching */
    double likelihoods;
    double waiting;                 /* threads that had nothing to do */
    double total;                   /* the sum of these */
    uint64_t frames, shared_frames; /* that were searched; by several threads */
    uint64_t scores;                /* tied states x frames */
    uint64_t made, twice;           /* likelihoods that were made; by two threads at the same time */
    trl_likelihood_mode mode;       /* that was in use at the end; TRL_LIKELIHOODS_AUTO: none was chosen */
} trl_decode_profile;

typedef struct trl_decode_summary {
    size_t utterances, skipped;
    size_t unfinished; /* utterances that reached no end of the graph */
    size_t wordless;   /* utterances without a word */
    size_t
        narrowed; /* utterances whose lattice has a narrower beam than asked for, because memory ended (256 MiB each) */
    size_t words, frames;
    double seconds;             /* of sound */
    double log_likelihood;      /* of the best paths, per frame */
    double tokens;              /* per frame, in the last pass */
    size_t adapted;             /* speakers whose frames were transformed */
    double gain;                /* in log-likelihood per frame of speech by that, as estimated */
    trl_decode_profile profile; /* where options.profile asks for it */
} trl_decode_summary;

/* The decoding is only valid during the call. */
typedef int (*trl_decode_fn)(void *user, const trl_decoding *decoding, trl_error *err);

TRL_API trl_decode_options trl_decode_defaults(void);
/* For vocabularies of tens of thousands of words and models of CMU Sphinx: what `trellis decode en-us` uses. */
TRL_API trl_decode_options trl_decode_large_defaults(void);
TRL_API int trl_decode_options_check(const trl_decode_options *options, trl_error *err);

/* How often the corpus is gone through with this model, at most. */
TRL_API int trl_decode_passes(const trl_model *model, const trl_decode_options *options);

/* Decodes every usable utterance with all threads of the pool; transcripts are not looked at. The same results in the same order for every
 * number of threads. `skipped` (required) gets what was left out and why. Returns 0, what `use` returned, TRL_EINVAL (a graph for another
 * model, no front end), or the first error. */
TRL_API int trl_decode_corpus(const trl_model *model, const trl_graph *graph, const trl_corpus *corpus,
                              const trl_decode_options *options, trl_pool *pool, trl_findings *skipped,
                              trl_decode_fn use, void *user, trl_decode_summary *summary, trl_error *err);

/* ---- Files ---- */

typedef enum trl_decoding_format {
    TRL_DECODING_TEXT, /* id word word … */
    TRL_DECODING_CTM,  /* recording channel start duration word; sorted by recording and start */
    TRL_DECODING_JSONL /* an object per utterance, in corpus order */
} trl_decoding_format;

typedef struct trl_decoding_writer trl_decoding_writer;

/* "-": standard output. Files appear when they are complete. Utterances must stay until the commit; of those that are not from a corpus, speaker and
 * path may be NULL where start is 0 and end and channel are -1. */
TRL_API int trl_decoding_writer_open(const char *path, trl_decoding_format format, trl_decoding_writer **out,
                                     trl_error *err);
TRL_API int trl_decoding_writer_add(trl_decoding_writer *writer, const trl_decoding *decoding, trl_error *err);
TRL_API int trl_decoding_writer_commit(trl_decoding_writer *writer, trl_error *err); /* frees it, whatever happens */
TRL_API void trl_decoding_writer_abort(trl_decoding_writer *writer);

TRL_END_DECLS

#endif
