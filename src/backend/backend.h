/* The door: everything that computes on frames goes through a backend's device.
 *
 *     trl__device_open("cpu", &device, err);                           // or a level: "cpu:ref", "cpu:avx2" …
 *     trl__device_load_model(device, model, pool, &parameters, err);   // packed for the device; shared by its streams
 *     trl__stream_create(device, &stream, err);                        // one per thread that works
 *     trl__stream_frames(stream, parameters, &search, 1, err);         // step 0: frames go up, transposed and centred
 *     trl__stream_score(stream, parameters, &search, 1, err);          // step 1: observation probabilities
 *     trl__stream_viterbi(stream, &search, 1, err);                    // step 2a: alpha
 *     trl__stream_backtrack(stream, &search, 1, err);                  // step 2b
 *     trl__stream_accumulate(stream, parameters, &search, 1, local, err);   // step 3
 *     trl__stream_wait(stream, err);                                   // results are there
 *     trl__stream_frames_ahead(stream, parameters, &later, 1);         // frames of a later call may go up meanwhile
 *
 * A search is one utterance's work, in flat arrays that a device can take as they are. Operations take several at
 * once; how many are best is the device's to say (trl__device.batch: 1 for a processor, whose caches want one at a
 * time). Order within a stream is the order of the calls.
 *
 * Indices: frames from 0 within the utterance; ranges are [first, end).
 */
#ifndef TRL_BACKEND_BACKEND_H
#define TRL_BACKEND_BACKEND_H

#include "model/statistics.h"

#include <trellis/matrix.h>
#include <trellis/pool.h>

typedef struct trl__device trl__device;
typedef struct trl__buffer trl__buffer;
typedef struct trl__stream trl__stream;
typedef struct trl__parameters trl__parameters; /* a model on a device */
typedef struct trl__machine trl__machine;       /* a transducer on a device: backend/machine.h */
struct trl__machine_arrays;
struct trl__passage;

/* How components make a state's score. */
typedef enum trl__combine { TRL__LOG_ADD, TRL__MAX } trl__combine;

/* One stretch of frames of one tied state. A tied state that occurs several times in an utterance has one row per
 * stretch, not per occurrence: overlapping bands are joined. */
typedef struct trl__row {
    int32_t tied;
    int32_t first, end; /* frames */
    int64_t
        offset; /* of the score of frame `first` in scores[]. Rows lie apart by whole TRL__ROW_PAD, but where only scores
                           are wanted: step 1 writes nothing beside them */
} trl__row;

#define TRL__ROW_PAD 32 /* floats: kernels may write up to the next multiple behind a row's end */
#define TRL__START (-1) /* arc_from: the path begins with this arc */

typedef struct trl__search {
    /* ---- given ---- */

    /* The whole utterance, row by row, not transposed. viterbi, backtrack and forward_backward look at their number
     * only. */
    const trl_matrix *frames;
    int32_t begin, end; /* the frames of this call (all, or a tile of a beam search) */
    trl__combine combine;
    int keep; /* statistics follow: `score` keeps what helps them */

    int32_t rows;
    const trl__row *row;
    /* Natural logarithms; filled by `score`, or by whoever has likelihoods of his own. The last row has its pad too. */
    float *scores;
    int whole; /* 1: the rows are all tied states in the same few frames; another shape may suit a device then */
    /* 1: nobody but the operations reads the scores, so a device that has them may keep them to itself. */
    int stays;
    int64_t scores_at; /* filled by `score`: 0: they are in scores[]; else the device knows them by this number */
    double gaussians;  /* frames x components of all rows; filled by `score` */

    int32_t nodes;                /* emitting; node `nodes` is the end of the utterance */
    int32_t node_begin, node_end; /* the nodes that may be active in this call; others count as never reached */
    const int32_t *node_tied;     /* the node's tied state */
    const int32_t *node_row;      /* the row that covers the node's band */
    const int32_t *node_first, *node_end_frame; /* its band, within [begin, end); empty: first >= end */
    const int32_t *arc_first;      /* nodes + 2: incoming arcs of node n are arc_first[n] … arc_first[n + 1] - 1 */
    const int32_t *arc_from;       /* a node, or TRL__START: such an arc leads to frame 0 only */
    const float *arc_weight;       /* natural logarithm: transition, pronunciation and silence probabilities together */
    const int32_t *arc_transition; /* id of the transition that leaves arc_from; 0 for TRL__START */
    int32_t back_bits;             /* of a back-pointer: 1, 2, 4, 8 or 16, by the largest in-degree */

    /* ---- kept by the caller, filled by `viterbi` ---- */

    /* By node: log score of the best path to each of [node_begin, node_end) at frame end - 1; -inf: none. When begin >
     * 0 it is input too: at frame begin - 1. */
    double *alpha;
    /* Which incoming arc is best (the first of equals), counted from 0: back_bits each, frame after frame. Of whole
     * utterances a device may keep them to itself; `backtrack` on the same stream finds them there. */
    uint8_t *back;
    int64_t back_at; /* filled by `viterbi`: 0: they are in back[]; else the device knows them by this number */
    const int64_t *back_offset; /* by node: the bit where frame node_first[n] stands; a multiple of back_bits */

    /* When end is the last frame; else none. For the tiles before, the caller sets last_node. */
    int32_t last_node;     /* -1: no path */
    int32_t last_arc;      /* the final arc; -1: none */
    double log_likelihood; /* of the best path, final arc included; -inf: none */

    /* ---- filled by `backtrack` for frames [begin, end), from last_node at frame end - 1 ---- */

    /* It leaves the node of frame begin - 1 in last_node (TRL__START before frame 0): where the tile before goes on.
     * Without a path it does nothing. */
    int32_t *path;     /* by frame: the node. A whole utterance's */
    int32_t *path_arc; /* by frame: the arc that was taken into the node */

    /* ---- given to `accumulate` and `accumulate_soft` ---- */

    /* By tied state: the probability with which a frame counts in its Gaussians' statistics; NULL: each does. Which ones do is the same on
     * every device: frame t when trl__random_uniform(sample_seed, 0, t) is below. Transitions and totals have all. */
    const float *sample;
    uint64_t sample_seed;

    /* 1: `accumulate` shares a frame out among its state's components by their posteriors, as expectation maximisation
     * has it; 0: the best one takes it ([000] 3.4). */
    int shares;

    /* ---- filled by `accumulate` ---- */

    double joint; /* the score with the best component in every frame, weights of arcs included */

    /* ---- filled by `forward_backward`, of whole utterances only ---- */

    float *gamma;                /* by node, as back: posterior of the node */
    const int64_t *gamma_offset; /* by node: where frame node_first[n] stands */
    double *arc_count;           /* by arc, final ones too: expected number of uses; NULL: not wanted */
    double total;                /* log-likelihood of all paths; -inf: none, then all posteriors are 0 */
} trl__search;

typedef struct trl__device_info {
    const char *backend, *name, *level; /* "cpu", "AMD EPYC", "avx2" */
    int32_t batch;                      /* searches per call that it likes best */
    uint64_t memory;                    /* bytes; 0: the host's */
    int32_t streams;                    /* that it takes to use all of it */
} trl__device_info;

/* What can be seen of a device before it is opened. */
typedef struct trl__device_sight {
    char name[128];
    int is_graphics; /* or something else that is not the host's processor */
} trl__device_sight;

/* What a backend fills in; cpu/cpu_backend.c is the first. Slots hold the reference first, a faster kernel overrides
 * its own. */
typedef struct trl__backend {
    const char *name;
    /* How many there are. 0: none, and the error says what is missing; TRL_EDEVICE: a driver is installed, but can't be used. */
    int (*devices)(trl_error *err);
    void (*see)(int index, trl__device_sight *sight);
    int (*open)(const char *level, int index, trl__device **out, trl_error *err);
    void (*close)(trl__device *device);

    int (*buffer_create)(trl__device *device, size_t size, trl__buffer **out, trl_error *err);
    void (*buffer_destroy)(trl__buffer *buffer);
    int (*upload)(trl__stream *stream, trl__buffer *buffer, size_t offset, const void *bytes, size_t size,
                  trl_error *err);
    int (*download)(trl__stream *stream, const trl__buffer *buffer, size_t offset, void *bytes, size_t size,
                    trl_error *err);

    int (*stream_create)(trl__device *device, trl__stream **out, trl_error *err);
    void (*stream_destroy)(trl__stream *stream);
    int (*wait)(trl__stream *stream, trl_error *err);

    int (*load_model)(trl__device *device, const trl_model *model, trl_pool *pool, trl__parameters **out,
                      trl_error *err);
    void (*free_model)(trl__parameters *parameters);

    int (*frames)(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl_error *);
    int (*score)(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl_error *);
    int (*viterbi)(trl__stream *, trl__search *, size_t count, trl_error *);
    int (*backtrack)(trl__stream *, trl__search *, size_t count, trl_error *);
    int (*accumulate)(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl__local_stats *,
                      trl_error *);
    int (*forward_backward)(trl__stream *, trl__search *, size_t count, trl_error *);
    int (*accumulate_soft)(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl__local_stats *,
                           trl_error *);
    const trl__device_info *(*stream_info)(const trl__stream *); /* NULL: the device's */
    void (*trim)(trl__stream *);                                 /* NULL: nothing to give back */
    /* NULL: nothing is gained by it. */
    void (*frames_ahead)(trl__stream *, const trl__parameters *, const trl__search *, size_t count);

    /* NULL: this backend has no machines. */
    int (*machine_create)(trl__device *, const struct trl__machine_arrays *, trl__machine **, trl_error *);
    void (*machine_destroy)(trl__machine *);
    int (*machine_walk)(trl__stream *, const trl__machine *, int kind, struct trl__passage *, size_t count,
                        size_t *done, trl_error *);
} trl__backend;

/* Every object of a backend begins with a pointer to what made it. */
struct trl__device {
    const trl__backend *backend;
    trl__device_info info;
};
struct trl__stream {
    trl__device *device;
};
struct trl__buffer {
    trl__device *device;
    size_t size;
};
struct trl__parameters {
    trl__device *device;
    int by_frame; /* 1: scores of one frame have most of their work in common, so streams that share out work should share out frames */
    int32_t gaussians; /* of a tied state, on average */
};

/* "cpu" (the best level of this machine, or TRELLIS_CPU's), or a level: "cpu:ref", the oracle in double; "cpu:scalar",
 * the plain sequential baseline; "cpu:base", "cpu:avx2", "cpu:avx512", "cpu:neon". "opencl", "opencl:N", "opencl:N:gpu",
 * "opencl:N:cpu": an OpenCL device, and the shape of its kernels. "cuda", "cuda:N": a CUDA device. "auto": the first graphics processor that opens, else cpu; when it
 * fails in mid-run, cpu goes on. The log tells once which one it is, and why others that are there are not. "A,B": several at once (device_group.h).
 * TRL_EINVAL names what there is; TRL_EDEVICE: no such device, or it can't be used. */
int trl__device_open(const char *name, trl__device **out, trl_error *err);
void trl__device_close(trl__device *device);
/* TRL_EINVAL: fewer threads, with a stream each, than it takes to use all devices of a list. */
int trl__device_check_threads(const trl__device *device, int threads, trl_error *err);
int trl__buffer_create(trl__device *device, size_t size, trl__buffer **out, trl_error *err);
void trl__buffer_destroy(trl__buffer *buffer);
int trl__stream_upload(trl__stream *stream, trl__buffer *buffer, size_t offset, const void *bytes, size_t size,
                       trl_error *err);
int trl__stream_download(trl__stream *stream, const trl__buffer *buffer, size_t offset, void *bytes, size_t size,
                         trl_error *err);
/* The threads of the pool (NULL: the caller alone) share the packing. The model's arrays must live as long as the parameters. */
int trl__device_load_model(trl__device *device, const trl_model *model, trl_pool *pool, trl__parameters **out,
                           trl_error *err);
void trl__parameters_free(trl__parameters *parameters);
int trl__stream_create(trl__device *device, trl__stream **out, trl_error *err);
void trl__stream_destroy(trl__stream *stream);
/* Of the device that the stream works on: of several, one. */
const trl__device_info *trl__stream_info(const trl__stream *stream);
/* Gives the stream's memory on the device back, and forgets what was there: after TRL_ENOMEM, smaller calls may do. */
void trl__stream_trim(trl__stream *stream);
int trl__stream_wait(trl__stream *stream, trl_error *err);

/* Step 0, the device's half: frames [begin, end) are transposed, centred, squared for the (1, o, o²) form. They stay
 * until the next call, for the search with the same place in the array, its frames or any part of them. TRL_ENUMBER: a
 * value is not finite, or absurdly large; what comes out of score is finite then. */
int trl__stream_frames(trl__stream *stream, const trl__parameters *parameters, trl__search *searches, size_t count,
                       trl_error *err);
/* Frames of a later call begin to go up, beside what the stream computes. The call of trl__stream_frames with the same searches finds them
 * there; calls with others leave them where they are. Until that call, or the next of this one (which forgets what was sent before; count 0: no
 * more than that), frames at the same place in the array must be the same. It can't fail: what could not be sent, for want of memory for
 * instance, goes up when trl__stream_frames is called. */
void trl__stream_frames_ahead(trl__stream *stream, const trl__parameters *parameters, const trl__search *searches,
                              size_t count);
/* Step 1: scores of every row, [004] 3.2.2: (1, o, o²)·(h, u, v), then log-add or maximum over the components; tied
 * states with tiny variances by differences. */
int trl__stream_score(trl__stream *stream, const trl__parameters *parameters, trl__search *searches, size_t count,
                      trl_error *err);
/* Step 2a ([000] 3.2): time-synchronous, double-buffered. */
int trl__stream_viterbi(trl__stream *stream, trl__search *searches, size_t count, trl_error *err);
/* Step 2b ([000] 3.3). */
int trl__stream_backtrack(trl__stream *stream, trl__search *searches, size_t count, trl_error *err);
/* Step 3 ([000] 3.4): the best component of every frame of path[begin … end), counts, sums and squares, transitions
 * (path_arc's, and, at the last frame, last_arc's) into the block's statistics; totals too, with log_likelihood as it
 * stands in the search. A search whose path is NULL is left out. When a device fails, nothing was added. */
int trl__stream_accumulate(trl__stream *stream, const trl__parameters *parameters, trl__search *searches, size_t count,
                           trl__local_stats *local, trl_error *err);
/* Baum-Welch: node posteriors within the bands, expected arc counts, total log-likelihood. No path: total is -inf. */
int trl__stream_forward_backward(trl__stream *stream, trl__search *searches, size_t count, trl_error *err);
/* Baum-Welch's step 3: every component's share of its state's posterior, from gamma; transitions from arc_count.
 * Shares below 1e-8 may be left out, and those of components that together do not reach the last bit of a score. */
int trl__stream_accumulate_soft(trl__stream *stream, const trl__parameters *parameters, trl__search *searches,
                                size_t count, trl__local_stats *local, trl_error *err);

#endif
