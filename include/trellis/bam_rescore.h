/* Rescoring of N-best lists with a back-off acoustic model ([001] III-B), and what it does to word errors.
 *
 *     trl_bam_lists_read("nbest.jsonl", &lists, &err);                        // of `trellis decode --to nbest-jsonl`
 *     trl_bam_rescore(model, lexicon, corpus, "bam.store", NULL, pool, skipped, lists, &summary, &err);
 *     trl_bam_weights w = trl_bam_weights_defaults();
 *     size_t best = trl_bam_choose(trl_bam_lists_get(lists, 0), &w);          // of the first utterance's hypotheses
 *     trl_bam_lists_destroy(lists);
 *
 * Each hypothesis is aligned with the first-pass model. The M-phones of all hypotheses of an utterance, and those that they back off to, are asked for at once. A state's
 * frames are scored by the longest M-phone that was found; where there is none, by the first-pass model. Of that, four numbers for each hypothesis stay, from which
 * its score follows for all weights:
 *
 *     second = bam - back_off * missing                                                            (eq. 2)
 *     acoustic = lambda * first + (1 - lambda) * second                                            (eq. 3)
 *     score = acoustic / lm_weight + language                                                      (eq. 4)
 *
 * `missing` is the sum over frames of M - o, where o is the order of the M-phone that was used, the larger side of an asymmetric one, and 0 of the first-pass model.
 * `first` is what the first pass said, `again` is the same model along the new alignment, without transitions. As their own second pass both should agree: Tables I and II
 * of the paper begin with that.
 *
 * A model that was trained on adapted frames is adapted to each speaker along his best hypotheses, as decode.h does along its best paths.
 *
 * Indices: utterances in the order of the file, hypotheses from 0, the first pass's best first.
 */
#ifndef TRELLIS_BAM_RESCORE_H
#define TRELLIS_BAM_RESCORE_H

#include <trellis/bam.h>
#include <trellis/score.h>

TRL_BEGIN_DECLS

typedef struct trl_bam_weights {
    double lambda;    /* of the first pass, 0 … 1; default 0.6 */
    double back_off;  /* the paper's f_bo: cost per frame and missing order, 0 or more; default 0 */
    double lm_weight; /* more than 0; default 10, as trl_decode_options.acoustic_scale */
} trl_bam_weights;

TRL_API trl_bam_weights trl_bam_weights_defaults(void);
TRL_API int trl_bam_weights_check(const trl_bam_weights *weights, trl_error *err);

/* Natural logarithms. NAN: not known (yet). */
typedef struct trl_bam_hypothesis {
    const char *const *words;
    size_t count;
    double language; /* minus the graph's cost: language model, pronunciations, transitions */
    double first, again, bam;
    double missing;
    trl_counts counts; /* errors, once trl_bam_lists_score has counted them */
} trl_bam_hypothesis;

typedef struct trl_bam_list {
    const char *id;
    const trl_bam_hypothesis *hypotheses;
    size_t count; /* at least 1 */
} trl_bam_list;

TRL_API double trl_bam_score(const trl_bam_hypothesis *hypothesis, const trl_bam_weights *weights);

/* The hypothesis with the highest score; of equals, the first. */
TRL_API size_t trl_bam_choose(trl_bam_list list, const trl_bam_weights *weights);

/* ---- Lists ---- */

/* What lists were rescored with, and what was found. */
typedef struct trl_bam_run {
    int rescored; /* 0: not yet, 1: by a store, 2: by the first-pass model itself */
    int order, word_boundaries;
    int64_t least_frames, most_frames;
    double alpha, beta;
    uint64_t gaussians, model_gaussians; /* of the store, and of the first-pass model */
    double hours;                        /* of the data that the store was made of, as the caller says; 0: not said */
    trl_bam_weights weights;
    uint64_t hit[TRL_BAM_ORDER_MOST + 1]
                [TRL_BAM_ORDER_MOST + 1]; /* segments by left and right context of their M-phone */
    uint64_t first_pass;                  /* segments whose M-phone, and all it backs off to, the store lacks */
    uint64_t lost; /* segments that fell back to the first pass because a server did not answer */
} trl_bam_run;

typedef struct trl_bam_lists trl_bam_lists;

/* N-best lists as `trellis decode` writes them (nbest_file.h), text or JSON, or as trl_bam_lists_write does. In text a cost may be `-`, in JSON it may be left out: without a
 * graph cost, that of all hypotheses is 0; without an acoustic cost, the new alignment's takes its place. "-": standard input.
 * Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (with the line: a list that is cut, ranks that are missing, an utterance twice), TRL_ENOMEM. */
TRL_API int trl_bam_lists_read(const char *path, trl_bam_lists **out, trl_error *err);

/* JSON: a line with the run, then one for each utterance. Costs are minus the logarithms. */
TRL_API int trl_bam_lists_write(const trl_bam_lists *lists, const char *path, trl_error *err);
TRL_API void trl_bam_lists_destroy(trl_bam_lists *lists);

TRL_API size_t trl_bam_lists_count(const trl_bam_lists *lists);
TRL_API trl_bam_list trl_bam_lists_get(const trl_bam_lists *lists, size_t index);
TRL_API const trl_bam_run *trl_bam_lists_run(const trl_bam_lists *lists);
TRL_API void trl_bam_lists_label(trl_bam_lists *lists, const trl_bam_weights *weights, double hours); /* of the run */

/* ---- Rescoring ---- */

typedef struct trl_bam_rescore_summary {
    size_t utterances, skipped;
    size_t hypotheses;
    size_t unaligned;        /* hypotheses without a path: they keep the first pass's score */
    size_t unused;           /* lists of utterances that the corpus lacks */
    uint64_t segments;       /* states of all hypotheses … */
    uint64_t distinct;       /* … those that were scored … */
    uint64_t keys;           /* … and M-phones that were asked for, back-offs too */
    size_t adapted;          /* speakers */
    double seconds, longest; /* in which an utterance was rescored: mean and maximum of the wall clock, of … */
    double aligning, looking_up, scoring; /* … which, on average, for these */
} trl_bam_rescore_summary;

/* As trl_unknown_words_find, of the words of the hypotheses: of the lists whose utterances the corpus has. */
TRL_API int trl_bam_unknown_words_find(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                                       const trl_bam_lists *lists, int choice, trl_findings *words,
                                       trl_unknown_summary *summary, trl_error *err);

/* `store`: a store's folder; NULL: the first-pass model as its own second pass, without cost of backing off. `aligning` may be NULL; its confidences are not made. Utterances of the
 * corpus without a list are left out, with a finding. Lists of utterances that were left out are taken away. The same result for any number of threads.
 * Returns 0, TRL_EINVAL (a store of another model, words that the lexicon lacks, no hypothesis), what trl_align_corpus returns, TRL_ECORRUPT (of the store). */
TRL_API int trl_bam_rescore(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                            const char *store, const trl_align_options *aligning, trl_pool *pool, trl_findings *skipped,
                            trl_bam_lists *lists, trl_bam_rescore_summary *summary, trl_error *err);

/* ---- Word errors ---- */

/* Counts the errors of every hypothesis, once. Utterances of the reference without a list are all deletions, as in score.h; with `only_true` neither they nor lists without the
 * truth among them count ([001] IV-G). Returns as trl_score_create; TRL_EINVAL: a list has no reference. */
TRL_API int trl_bam_lists_score(trl_bam_lists *lists, const trl_transcripts *said, int only_true, trl_pool *pool,
                                trl_error *err);

/* Errors of the chosen hypotheses, of lists that were scored. */
TRL_API trl_counts trl_bam_errors(const trl_bam_lists *lists, const trl_bam_weights *weights);
/* The same where the second pass is the first-pass model again (Tables I and II). */
TRL_API trl_counts trl_bam_errors_again(const trl_bam_lists *lists, const trl_bam_weights *weights);
/* And of the hypotheses with the fewest errors. */
TRL_API trl_counts trl_bam_errors_least(const trl_bam_lists *lists);

typedef struct trl_bam_point {
    trl_bam_weights weights;
    trl_counts counts;
} trl_bam_point;

typedef struct trl_bam_grid {
    const double *lambda, *back_off, *lm_weight;
    size_t lambdas, back_offs, lm_weights;
} trl_bam_grid;

/* The paper's (IV-C): lambda 0, 0.2 … 1; back_off 0, 0.2 … 1; lm_weight 7, 12, 17, 22. */
TRL_API trl_bam_grid trl_bam_grid_defaults(void);

/* Errors at every point of the grid; points: lambdas * back_offs * lm_weights of them, lambda slowest, lm_weight fastest. The best has the fewest errors; of equals, the one that leaves most to
 * the first pass: the largest lambda, then the smallest back_off, then the smallest lm_weight. Threads share the points. */
TRL_API int trl_bam_tune(const trl_bam_lists *lists, const trl_bam_grid *grid, trl_pool *pool, trl_bam_point *points,
                         size_t *best, trl_error *err);

/* ---- How much data does a Gaussian need? ([001] Appendix A) ---- */

/* The n at which the mean of n frames is more than q standard deviations off with probability p; 0 < p, q < 1. Table VIII has it rounded to whole numbers. */
TRL_API double trl_bam_frames_for_mean(double p, double q);
/* The least n > 1 from which on the variance of n frames is more than q times itself off with probability below p, by the chi-square distribution. */
TRL_API double trl_bam_frames_for_variance(double p, double q);

TRL_END_DECLS

#endif
