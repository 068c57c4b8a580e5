/* The back-off acoustic model ([001]): a mixture of Gaussians for every M-phone (bam_key.h) that has enough frames.
 *
 *     trl_bam_options o = trl_bam_defaults();
 *     o.order = 2;
 *     trl_bam_map(model, lexicon, corpus, &o, NULL, pool, skipped, "mapped.bam", &counts, &err);
 *     trl_bam_sort("mapped.bam", "sorted.bam", 256 << 20, &err);
 *     trl_bam_reduce("sorted.bam", NULL, &o, pool, "mixtures.bam", &counts, &err);
 *
 * Three filters on streams of records (docs/formats.md): the mapper aligns utterances with the first-pass model and writes a record for each state
 * that was passed through, the frames under the key of the longest M-phone and nothing but the key for those it backs off to; records are
 * sorted; the reducer goes over them once and writes a mixture for each M-phone with at least `least_frames` frames.
 *
 * Of an M-phone with more than `most_frames` those with the smallest hash are used, a hash of the seed, the utterance's id and the number of the
 * frame. That is a uniform sample which does not depend on the order in which frames come, on how often the same frame
 * comes, nor on how many mappers and reducers share the work.
 */
#ifndef TRELLIS_BAM_H
#define TRELLIS_BAM_H

#include <trellis/align.h>
#include <trellis/bam_key.h>

TRL_BEGIN_DECLS

typedef struct trl_bam_options {
    int order;             /* most symbols on either side; default 3, 1 … TRL_BAM_ORDER_MOST */
    int word_boundaries;   /* 1 (default): they take places of their own in contexts; 0: phones alone */
    uint64_t seed;         /* of the sample; default 1 */
    int64_t least_frames;  /* an M-phone with fewer gets no mixture; default 4000 */
    int64_t most_frames;   /* of more, so many are used; default 256000 */
    double alpha, beta;    /* a mixture of n frames has beta * n ^ alpha components ([001] eq. 1); default 0.3, 2.2 */
    double variance_floor; /* default 1e-5 */
    int iterations;        /* of expectation maximisation at each size of a mixture; default 4 */
} trl_bam_options;

TRL_API trl_bam_options trl_bam_defaults(void);
TRL_API int trl_bam_options_check(const trl_bam_options *options, trl_error *err);

/* How many components a mixture has, [001] eq. 1: to the nearest whole number, at least 1; of more than most_frames as of so many. */
TRL_API int32_t trl_bam_components(const trl_bam_options *options, int64_t frames);

/* What there is at one pair of left and right context sizes. */
typedef struct trl_bam_cell {
    uint64_t mphones;   /* that occurred */
    uint64_t kept;      /* with a mixture … */
    uint64_t sampled;   /* … from a sample of their frames */
    uint64_t gaussians; /* of the mixtures */
} trl_bam_cell;

/* Counts of a run, as in [001] IV-F. */
typedef struct trl_bam_counts {
    uint64_t utterances, frames;                                       /* that were mapped */
    uint64_t records, bytes;                                           /* that the mapper wrote, or the reducer read */
    trl_bam_cell cell[TRL_BAM_ORDER_MOST + 1][TRL_BAM_ORDER_MOST + 1]; /* by left and right */
} trl_bam_counts;

TRL_API trl_bam_cell trl_bam_total(const trl_bam_counts *counts);

/* Aligns the corpus and writes its records, in corpus order, to a file ("-": standard output). `aligning` may be NULL: then as trl_align_defaults.
 * `skipped` (required) gets what was left out. Returns as trl_align_corpus. */
TRL_API int trl_bam_map(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                        const trl_bam_options *options, const trl_align_options *aligning, trl_pool *pool,
                        trl_findings *skipped, const char *output, trl_bam_counts *counts, trl_error *err);

/* Sorts records by key, with about so many bytes of memory; what does not fit is kept in $TMPDIR, packed. Records that are there twice are
 * written once. Returns 0, TRL_EFORMAT, TRL_ECORRUPT (truncated), TRL_EIO, TRL_ENOMEM. */
TRL_API int trl_bam_sort(const char *input, const char *output, size_t memory, trl_error *err);

/* Where a stream that was cut into parts begins and ends: the key of the part's first record (NULL: nothing comes before it), and that of the first record behind it
 * (NULL: nothing). A cut may lie anywhere, also between records of one key. */
typedef struct trl_bam_range {
    const unsigned char *first, *end;
    size_t key_size; /* bytes of each */
} trl_bam_range;

/* Sorted records to mixtures. Of a `range` (NULL: the whole) M-phones that have frames in other parts too are written as samples, which
 * trl_bam_store_write puts together. Order, word boundaries and seed are the input's. Returns 0; TRL_ECORRUPT: a key out of order, an M-phone without what it backs off to, or the
 * end is missing; TRL_EINVAL: keys of the range that the input can't have; TRL_EFORMAT, TRL_EIO, TRL_ENUMBER, TRL_ENOMEM. Memory: `order` times most_frames frames, and what the threads need. */
TRL_API int trl_bam_reduce(const char *input, const trl_bam_range *range, const trl_bam_options *options,
                           trl_pool *pool, const char *output, trl_bam_counts *counts, trl_error *err);

/* ---- all of it on one machine ---- */

#define TRL_BAM_SHARDS_MOST 100000

typedef struct trl_bam_train_options {
    trl_bam_options bam;
    trl_align_options aligning; /* progress: of the mapper, in utterances */
    int shards;                 /* parts that the sorted records are cut into, each reduced by a thread; default 16 */
    int partitions;             /* of the store; default 1 */
    size_t memory;              /* bytes of records that are sorted at a time; default 256 MiB */
    /* Called when all is mapped, with the bytes that will be reduced; what it returns is told of them and stays the caller's. NULL: silent. */
    trl_progress *(*begin_reducing)(void *user, uint64_t bytes);
    void *user;
} trl_bam_train_options;

typedef struct trl_bam_train_summary {
    trl_bam_counts counts;
    trl_align_summary aligned; /* in this run */
    uint64_t resumed;          /* utterances that an earlier run had mapped */
    uint64_t packed;           /* bytes on disk between mapper and reducer */
    size_t runs, shards;
    size_t reduced_before;      /* shards that an earlier run had reduced */
    uint64_t largest, smallest; /* bytes of records of a shard */
} trl_bam_train_summary;

TRL_API trl_bam_train_options trl_bam_train_defaults(void);

/* From a corpus to a store (bam_store.h). Working files are in STORE.work, beside the store, and go away at the end; a run that was killed goes on where it was when it is
 * started again with the same model, corpus, lexicon and options (threads may differ), and names again what that run had left out. One process at a time trains a store. The same store for any number of threads and shards. Memory: options->memory while
 * mapping; while reducing, for each thread, `order` times most_frames frames and a quarter of a megabyte for each `memory` bytes of records. */
TRL_API int trl_bam_train(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                          const trl_bam_train_options *options, trl_pool *pool, trl_findings *skipped,
                          const char *store, trl_bam_train_summary *summary, trl_error *err);

/* A stream as text, a line per record, at most `most` of them (0: all). Returns as trl_bam_sort. */
TRL_API int trl_bam_print(const char *input, int with_frames, uint64_t most, const char *output, trl_error *err);

TRL_END_DECLS

#endif
