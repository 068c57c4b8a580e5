/* Strings and lattices through transducers: the best path, sums over all paths, expected counts, training.
 *
 *     trl_transducer_from_fst(fst, &transducer, &err);                   // or trl_transducer_open("model.trt", …)
 *     trl_transduce_create(transducer, NULL, &work, &err);               // scratch of one thread
 *     trl_transduce_input input = {.labels = (int32_t[]){3, 1, 4}, .count = 3};
 *     trl_transduce(work, TRL_TRANSDUCE_VITERBI, &input, &result, &err);
 *     if (result.found)
 *         printf("%g: %zu labels\n", result.weight, result.output_count);
 *
 * A transducer here is an immutable form of a machine, ordered by input symbol: arcs that read the same symbol lie
 * together, by source, then target (Argueta and Chiang, "Decoding with finite-state transducers on GPUs", 2017, order
 * them so). It is written once and mapped into memory, so that one of 150 million arcs is there at once. Weights are
 * negative logarithms: a tropical or a log machine, both can be asked for best paths and for sums.
 *
 * Indices: states count from 0. Arcs count from 0 in the transducer's order: by input label, source, target, output,
 * weight. Labels are as in <trellis/fst.h>: 0 is epsilon.
 * Thread rule: any number of threads may use one transducer; a trl_transduce_work belongs to one thread at a time.
 */
#ifndef TRELLIS_TRANSDUCE_H
#define TRELLIS_TRANSDUCE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/fst.h>
#include <trellis/pool.h>

TRL_BEGIN_DECLS

typedef struct trl_transducer trl_transducer;

/* ---- Making one ---- */

/* From a machine of the tropical or log semiring (TRL_EINVAL otherwise). Arcs of weight zero (infinite cost) are left
 * out. Symbol tables are shared. Returns 0, TRL_EINVAL, TRL_ELIMIT (a cycle of negative cost of arcs without input: it
 * has no best path), TRL_ENOMEM. */
TRL_API int trl_transducer_from_fst(const trl_fst *fst, trl_transducer **out, trl_error *err);

/* For machines that should never exist as a trl_fst: a stream of arcs, those of one input label together, labels
 * rising.
 *
 *     trl_transducer_builder_create(states, start, &builder, &err);
 *     trl_transducer_builder_arc(builder, input, source, target, output, weight, &err);     // … input never falls
 *     trl_transducer_builder_final(builder, state, weight, &err);
 *     trl_transducer_builder_finish(builder, &transducer, &err);                            // frees the builder
 */
typedef struct trl_transducer_builder trl_transducer_builder;
TRL_API int trl_transducer_builder_create(int32_t states, int32_t start, trl_transducer_builder **out, trl_error *err);

/* Arcs of one label may come in any order; they are sorted when the label is complete. Returns 0, TRL_EINVAL (a label
 * below the last one, a state or label that can't be), TRL_ENUMBER (a weight that is NaN or minus infinity), TRL_ELIMIT
 * (2^32 arcs of one label), TRL_ENOMEM. */
TRL_API int trl_transducer_builder_arc(trl_transducer_builder *builder, int32_t input, int32_t source, int32_t target,
                                       int32_t output, float weight, trl_error *err);
TRL_API int trl_transducer_builder_final(trl_transducer_builder *builder, int32_t state, float weight, trl_error *err);

/* The caller's shares of the tables are taken over; NULL: none. */
TRL_API void trl_transducer_builder_symbols(trl_transducer_builder *builder, trl_symbols *input, trl_symbols *output);
TRL_API int trl_transducer_builder_finish(trl_transducer_builder *builder, trl_transducer **out, trl_error *err);
TRL_API void trl_transducer_builder_destroy(trl_transducer_builder *builder); /* instead of finish */

TRL_API void trl_transducer_destroy(trl_transducer *transducer);

/* ---- In files ---- */

TRL_API int trl_transducer_write(const trl_transducer *transducer, const char *path, trl_error *err);

/* Maps the file. What is large is not looked at yet: the arcs of a symbol are checked (against their checksum, and that
 * every state is there) when they are used first. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT, TRL_EUNSUPPORTED,
 * TRL_ECORRUPT, TRL_ENOMEM. */
TRL_API int trl_transducer_open(const char *path, trl_transducer **out, trl_error *err);

/* The same, and what searches walk is read into memory of large pages, where the system has them: takes as long as
 * reading the file, and makes searches somewhat faster. */
TRL_API int trl_transducer_load(const char *path, trl_transducer **out, trl_error *err);

/* Checks all arcs now. pool may be NULL. Returns 0 or TRL_ECORRUPT. */
TRL_API int trl_transducer_verify(const trl_transducer *transducer, trl_pool *pool, trl_error *err);

/* ---- Looking into it ---- */

typedef struct trl_transducer_arc {
    int32_t input, source, target, output;
    float weight;
} trl_transducer_arc;

TRL_API int32_t trl_transducer_states(const trl_transducer *transducer);
TRL_API int32_t trl_transducer_start(const trl_transducer *transducer); /* TRL_NO_STATE: empty */
TRL_API uint64_t trl_transducer_arcs(const trl_transducer *transducer);
TRL_API int32_t trl_transducer_labels(const trl_transducer *transducer);                   /* different input labels */
TRL_API float trl_transducer_final(const trl_transducer *transducer, int32_t state);       /* infinite: not final */
TRL_API const trl_symbols *trl_transducer_input_symbols(const trl_transducer *transducer); /* or NULL */
TRL_API const trl_symbols *trl_transducer_output_symbols(const trl_transducer *transducer);

/* Arc `arc` of the transducer's order. Of a mapped one whose symbol was never checked it may be nonsense. */
TRL_API trl_transducer_arc trl_transducer_get(const trl_transducer *transducer, uint64_t arc);

/* Bytes that a search for the best path walks through: arcs, rows and bitmaps, without source and output ids. */
TRL_API uint64_t trl_transducer_walked_bytes(const trl_transducer *transducer);

/* As a machine of the log or tropical semiring; arcs of a state are sorted by input label. */
TRL_API int trl_transducer_to_fst(const trl_transducer *transducer, trl_semiring semiring, trl_fst **out,
                                  trl_error *err);

/* ---- One input ---- */

typedef enum trl_transduce_method {
    TRL_METHOD_FRONTIER, /* only arcs whose source is alive are walked */
    TRL_METHOD_SERIAL,   /* all arcs of each symbol, one after the other: the paper's Algorithms 1 and 2 */
    TRL_METHOD_PARALLEL, /* as frontier; steps with very many arcs are shared out to the pool's threads */
    TRL_METHOD_PREFIX    /* parts of one long string at the same time, by matrices: at most TRL_PREFIX_STATES states */
} trl_transduce_method;
#define TRL_PREFIX_STATES 256

typedef struct trl_transduce_options {
    trl_transduce_method method;
    trl_pool *pool; /* for parallel and prefix; NULL: one thread */
    /* "opencl:N" …: methods frontier and serial (all arcs of a symbol at once) on a device, many inputs at a time; "auto": the first
     * graphics processor that works, else the processor, also in mid-run. NULL: the processor. The best path is serial's; sums are
     * within 1e-9 of it. Arcs without input must not make cycles there (TRL_EUNSUPPORTED). Counts have one entry per arc. */
    const char *device;
} trl_transduce_options;

typedef enum trl_transduce_operation {
    TRL_TRANSDUCE_VITERBI, /* the best path; among equals the one that comes first in the order of arcs, from the end */
    TRL_TRANSDUCE_FORWARD, /* -log of the sum over all paths, from the start to the end */
    TRL_TRANSDUCE_BACKWARD, /* the same from the end to the start */
    TRL_TRANSDUCE_COUNTS    /* how often each arc is expected on a path, given the input (and output) */
} trl_transduce_operation;

/* A string of labels, or a lattice: an acyclic machine of the tropical or log semiring, whose output side is read.
 * Epsilons in a string are passed over. With `target`, only paths that write exactly these labels count (strings only).
 * Everything stays the caller's. */
typedef struct trl_transduce_input {
    const int32_t *labels;
    size_t count;
    const trl_fst *lattice; /* not NULL: instead of labels */
    const int32_t *target;  /* NULL: any output */
    size_t target_count;
} trl_transduce_input;

/* What came out; arrays belong to the work and are valid until its next use. */
typedef struct trl_transduction {
    int found;     /* 0: no path; nothing else is set but weight, infinite */
    double weight; /* of the best path, or -log of the sum */
    const int32_t *outputs;
    size_t output_count; /* Viterbi: the labels written, without epsilons */
    const uint64_t
        *arcs; /* Viterbi: the path; counts: the arcs with a count, one entry per place in the input where it is used */
    size_t arc_count;
    const double *counts; /* counts: by entry of arcs[] */
    const int32_t *final_states;
    size_t final_count; /* counts: states where paths end, and how much of them */
    const double *final_counts;
} trl_transduction;

typedef struct trl_transduce_work trl_transduce_work;

/* options NULL: frontier. Returns 0, TRL_EINVAL (prefix with too many states; a method that a device does not have), TRL_EDEVICE,
 * TRL_EUNSUPPORTED, TRL_ENOMEM. The transducer must outlive
 * the work. */
TRL_API int trl_transduce_create(const trl_transducer *transducer, const trl_transduce_options *options,
                                 trl_transduce_work **out, trl_error *err);
TRL_API void trl_transduce_destroy(trl_transduce_work *work);

/* An input that has no path is no failure: result->found is 0. Returns 0, TRL_EINVAL (a negative label, a lattice that
 * has cycles or another semiring), TRL_ECORRUPT (mapped arcs), TRL_ELIMIT (cycles of epsilons whose sum does not
 * converge), TRL_ENOMEM. */
TRL_API int trl_transduce(trl_transduce_work *work, trl_transduce_operation operation, const trl_transduce_input *input,
                          trl_transduction *result, trl_error *err);

/* ---- Many inputs ---- */

/* Called for every input in the order of the inputs, by one thread at a time. A negative return stops. */
typedef int (*trl_transduce_fn)(void *user, size_t index, const trl_transduction *result, trl_error *err);

/* The threads of options->pool share the inputs; with method parallel, they share the steps of each input where there
 * are fewer inputs than threads. Results are the same for any number of threads (sums by method parallel up to
 * rounding). Fails with the failure of the lowest index. */
TRL_API int trl_transduce_batch(const trl_transducer *transducer, const trl_transduce_options *options,
                                trl_transduce_operation operation, const trl_transduce_input *inputs, size_t count,
                                trl_transduce_fn each, void *user, trl_error *err);

/* ---- Expected counts of a corpus ---- */

typedef struct trl_counts trl_counts; /* one number per arc and per final state, and the log-likelihood */

TRL_API int trl_counts_create(const trl_transducer *transducer, trl_counts **out, trl_error *err);
TRL_API void trl_counts_destroy(trl_counts *counts);
TRL_API void trl_counts_add(trl_counts *counts, const trl_transduction *result); /* of the same transducer */

/* Adds another's. Returns 0 or TRL_EINVAL (of another transducer). Parts of a corpus, counted apart, add up to the
 * whole. */
TRL_API int trl_counts_merge(trl_counts *into, const trl_counts *from, trl_error *err);
TRL_API int trl_counts_write(const trl_counts *counts, const char *path, trl_error *err);
TRL_API int trl_counts_read(const char *path, const trl_transducer *transducer, trl_counts **out, trl_error *err);

TRL_API double trl_counts_arc(const trl_counts *counts, uint64_t arc);
TRL_API double trl_counts_final(const trl_counts *counts, int32_t state);
TRL_API double trl_counts_weight(const trl_counts *counts);    /* -log-likelihood of the inputs that have a path */
TRL_API uint64_t trl_counts_inputs(const trl_counts *counts);  /* how many had */
TRL_API uint64_t trl_counts_without(const trl_counts *counts); /* how many had none */

/* ---- Training ---- */

typedef enum trl_train_normal {
    TRL_NORMAL_JOINT,      /* arcs of a state, and ending there, add up to 1 */
    TRL_NORMAL_CONDITIONAL /* arcs of a state that read the same label add up to 1; final weights stay */
} trl_train_normal;

/* Weights from counts: the M-step. Where nothing was counted, weights stay; arcs that were never used in a state that
 * was get weight zero and are left out. Returns 0, TRL_ENOMEM. */
TRL_API int trl_transducer_estimate(const trl_transducer *transducer, const trl_counts *counts, trl_train_normal normal,
                                    trl_transducer **out, trl_error *err);

/* The E-step: counts of all inputs, added in their order. */
TRL_API int trl_transduce_count(const trl_transducer *transducer, const trl_transduce_options *options,
                                const trl_transduce_input *inputs, size_t count, trl_counts **out, trl_error *err);

typedef struct trl_train_pairs_options {
    trl_train_normal normal;
    int rounds;        /* at least 1 */
    double least_gain; /* a round that lowers the weight by less than this part of it is the last; 0: any gain counts */
    const trl_transduce_options *search; /* how counting goes; NULL: one thread */
    int (*each)(void *user, int round, const trl_counts *counts,
                trl_error *err); /* NULL, or called after counting; < 0 stops */
    void *user;
} trl_train_pairs_options;

/* EM: counting and estimating by turns. The likelihood of the inputs (of input and output where `target` is given)
 * never falls, but for rounding. `each` also sees the counts of the result. Inputs without a path are passed over.
 * Returns 0, TRL_EINVAL (no input has a path), or as trl_transduce. */
TRL_API int trl_transducer_train(const trl_transducer *transducer, const trl_train_pairs_options *options,
                                 const trl_transduce_input *inputs, size_t count, trl_transducer **out, trl_error *err);

/* ---- Inputs from text ---- */

typedef struct trl_transduce_text trl_transduce_text;

#define TRL_UNKNOWN_LABEL (-2) /* of a name that the table does not have: no transducer has it, so there is no path */

/* One string per line, words with blanks between: names of the table, or numbers without one. pairs: `input TAB
 * output`. "-" is standard input; gzip too. Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (with file and line),
 * TRL_ENOMEM. */
TRL_API int trl_transduce_text_read(const char *path, const trl_symbols *input, const trl_symbols *output, int pairs,
                                    trl_transduce_text **out, trl_error *err);
TRL_API void trl_transduce_text_destroy(trl_transduce_text *text);
TRL_API const trl_transduce_input *trl_transduce_text_inputs(const trl_transduce_text *text, size_t *count);

/* The first name that its table does not have; NULL: all are known. */
TRL_API const char *trl_transduce_text_unknown(const trl_transduce_text *text);

TRL_END_DECLS

#endif
