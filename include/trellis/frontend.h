/* Front ends: from sound to feature vectors, by one plain description.
 *
 *     trl_frontend_options o;
 *     trl_frontend_preset(&o, "mfcc", &err);                    // or "htk", "fbank", "plp", "plp8k", "sphinx"
 *     trl_frontend_set(&o, "deltas", "2", &err);
 *     trl_frontend_create(&o, &frontend, &err);                 // immutable, shared by all threads
 *     trl_extractor_create(frontend, &extractor, &err);         // one per thread
 *     trl_extractor_run(extractor, samples, count, NULL, &frames, &err);
 *
 * The way of a frame: samples (full scale ±1, taken as 16-bit units like Kaldi and HTK do) -> window -> spectrum -> mel
 * filterbank -> MFCC, PLP or log-mel -> CMVN -> deltas -> splicing -> affine transform. The description can be printed
 * (trl_frontend_description) and read back (trl_frontend_parse), and is stored in every model and packed feature file,
 * so that training and use can't drift apart.
 *
 * A frame whose samples hold nothing, digital zeros or noise of one unit of 16 bits around some mean, is farther from
 * all speech than any room is quiet: its logarithms are those of the floor. With silence = fill such frames count in
 * no mean and variance, and get the coefficients of silence behind CMVN: silence_mean, or without it those of the
 * utterance's own quietest tenth of a second, to and fro. All other frames are the same, bit for bit, as far as no
 * derivative reaches from one to the other.
 *
 * Streaming gives the same numbers as a whole utterance in one go, however the samples are divided:
 *
 *     trl_extractor_begin(extractor, NULL, &err);
 *     while (…) trl_extractor_push(extractor, samples, count, &frames, &err);   // frames that became ready, 0 or more
 *     trl_extractor_end(extractor, &frames, &err);                              // the rest
 *
 * Indices: frames count from 0. Frame t covers the samples from t * shift on (snip_edges = 1), or is centred on
 * t * shift + shift / 2 with the signal mirrored at both ends (snip_edges = 0). Coefficient 0 comes first (Kaldi's
 * layout) or last (HTK's). Deltas of order k of coefficient i are at k * static dimension + i. Spliced frames run from
 * the oldest to the newest.
 */
#ifndef TRELLIS_FRONTEND_H
#define TRELLIS_FRONTEND_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/matrix.h>

TRL_BEGIN_DECLS

typedef enum trl_feature_kind { TRL_MFCC, TRL_PLP, TRL_FBANK } trl_feature_kind;
typedef enum trl_window { TRL_POVEY, TRL_HAMMING, TRL_HANN, TRL_RECTANGULAR, TRL_BLACKMAN } trl_window;
typedef enum trl_spectrum { TRL_POWER, TRL_MAGNITUDE } trl_spectrum;
typedef enum trl_energy { TRL_ENERGY_NONE, TRL_ENERGY_RAW, TRL_ENERGY_WINDOWED } trl_energy;
typedef enum trl_layout { TRL_LAYOUT_KALDI, TRL_LAYOUT_HTK } trl_layout;
typedef enum trl_filter_axis { TRL_FILTERS_MEL, TRL_FILTERS_HERTZ } trl_filter_axis;
typedef enum trl_dct { TRL_DCT_LAYOUT, TRL_DCT_HTK, TRL_DCT_LEGACY } trl_dct;
typedef enum trl_cmvn_mode {
    TRL_CMVN_NONE,
    TRL_CMVN_UTTERANCE,
    TRL_CMVN_SPEAKER,
    TRL_CMVN_SLIDING,
    TRL_CMVN_LIVE
} trl_cmvn_mode;

typedef enum trl_silence_mode { TRL_SILENCE_AS_IS, TRL_SILENCE_FILL } trl_silence_mode;

/* A mean of static coefficients: the first `count` of them. */
#define TRL_MEAN_MOST 128
typedef struct trl_static_mean {
    int count;
    double value[TRL_MEAN_MOST];
} trl_static_mean;

/* The description; what each member means stands in trl_frontend_field_at(), and `trellis help features` prints it. */
typedef struct trl_frontend_options {
    int kind;                  /* trl_feature_kind */
    double rate;               /* Hz */
    double frame_ms, shift_ms; /* window length and step */
    int fft_length;            /* 0: the next power of two */
    int snip_edges, pad_end;
    double dither; /* 16-bit units */
    uint64_t seed;
    int remove_dc;
    double preemphasis;
    int preemphasis_across;
    int window; /* trl_window */
    double blackman;
    int mel_bins;
    int filter_axis; /* trl_filter_axis */
    int filter_round, filter_unit_area;
    double low_hz, high_hz; /* high_hz <= 0: from the Nyquist frequency downwards */
    int spectrum;           /* trl_spectrum */
    int denoise;
    double floor; /* of a mel bin, before the logarithm */
    int floor_added;
    int dct;      /* trl_dct */
    int num_ceps; /* with C0 */
    double lifter;
    int energy; /* trl_energy */
    double energy_floor;
    int energy_normalise;
    int layout; /* trl_layout */
    int lpc_order;
    double compress;
    double cepstral_scale;
    int cmvn; /* trl_cmvn_mode */
    int cmvn_variance, cmvn_loud;
    int cmvn_window, cmvn_min_window; /* frames */
    int cmvn_center;
    trl_static_mean cmvn_prior;   /* values that are missing are 0 */
    int cmvn_prior_frames;        /* with cmvn = sliding */
    int silence;                  /* trl_silence_mode */
    trl_static_mean silence_mean; /* none: taken from the utterance */
    int deltas;                   /* highest order; 0: none */
    int delta_window;
    int splice_left, splice_right; /* frames */
    trl_matrix transform; /* rows = output dimension, cols = input dimension, or one more: the offset. Not owned. */
} trl_frontend_options;

/* One member as text: for help, for files. */
typedef struct trl_frontend_field {
    const char *name;
    const char *values; /* "mfcc | plp | fbank", "number", "0 | 1", "whole number" */
    const char *help;
} trl_frontend_field;

/* Field `index`, counted from 0; NULL past the last. */
TRL_API const trl_frontend_field *trl_frontend_field_at(size_t index);

/* Fills the description with a preset: "mfcc", "fbank", "plp" (Kaldi's defaults, no dither), "htk" (HTK's MFCC_0),
 * "plp8k" (the front end of the back-off acoustic model paper: 13 PLP at 8 kHz, raised-cosine window of 200 samples
 * padded to 512), "sphinx" (CMU Sphinx's MFCC with its own defaults, 40 filters). Returns 0, or TRL_EINVAL naming the presets. */
TRL_API int trl_frontend_preset(trl_frontend_options *options, const char *name, trl_error *err);

/* Sets one member from text. Returns 0, or TRL_EINVAL saying which keys or values there are. */
TRL_API int trl_frontend_set(trl_frontend_options *options, const char *key, const char *value, trl_error *err);

/* Reads `key = value` lines ('#' comments) over what is in options; `preset = NAME` may come first. `name` stands for
 * the file in messages. A transform is read into memory that trl_matrix_free(&options->transform) frees. */
TRL_API int trl_frontend_parse(trl_frontend_options *options, const char *text, const char *name, trl_error *err);

/* The same from a file. Returns TRL_ENOENT and TRL_EIO too. */
TRL_API int trl_frontend_read(trl_frontend_options *options, const char *path, trl_error *err);

/* Returns 0, or TRL_EINVAL saying which member is wrong and what it may be. */
TRL_API int trl_frontend_check(const trl_frontend_options *options, trl_error *err);

typedef struct trl_frontend trl_frontend;

/* Checks the description and computes the tables; copies the transform. */
TRL_API int trl_frontend_create(const trl_frontend_options *options, trl_frontend **out, trl_error *err);
TRL_API void trl_frontend_destroy(trl_frontend *frontend);
TRL_API const trl_frontend_options *trl_frontend_get(const trl_frontend *frontend);

/* The description as text that trl_frontend_parse reads back to the same front end; lives as long as the front end. */
TRL_API const char *trl_frontend_description(const trl_frontend *frontend);
TRL_API int trl_frontend_dim(const trl_frontend *frontend);        /* of what comes out */
TRL_API int trl_frontend_static_dim(const trl_frontend *frontend); /* before CMVN and deltas */
TRL_API size_t trl_frontend_frames(const trl_frontend *frontend, size_t samples);

/* Sums for mean and variance normalisation, gathered over the static coefficients of a speaker. */
typedef struct trl_cmvn {
    double frames;
    double *sum, *square; /* static dimension each */
    size_t dim;
} trl_cmvn;

TRL_API int trl_cmvn_create(size_t dim, trl_cmvn **out, trl_error *err);
TRL_API void trl_cmvn_destroy(trl_cmvn *cmvn);
TRL_API void trl_cmvn_add(trl_cmvn *cmvn,
                          const trl_matrix *frames); /* of `dim` columns; rows that start with NaN don't count */

typedef struct trl_extractor trl_extractor;

/* Thread rule: one thread at a time per extractor. The front end must outlive it. */
TRL_API int trl_extractor_create(const trl_frontend *frontend, trl_extractor **out, trl_error *err);
TRL_API void trl_extractor_destroy(trl_extractor *extractor);

/* Which sequence of dither the next utterances get: the same number, the same noise. 0 at first. */
TRL_API void trl_extractor_set_noise(trl_extractor *extractor, uint64_t sequence);

/* A whole utterance. `speaker` is needed with cmvn = speaker, else NULL. Returns 0, TRL_EINVAL, TRL_ENOMEM. Too little
 * sound gives 0 rows. */
TRL_API int trl_extractor_run(trl_extractor *extractor, const float *samples, size_t count, const trl_cmvn *speaker,
                              trl_matrix *frames, trl_error *err);

/* The two halves of it: the static coefficients (streaming: begin_static, then push and end), and all that follows.
 * With silence = fill a static row that starts with NaN is that of a frame that holds nothing. */
TRL_API int trl_extractor_begin_static(trl_extractor *extractor, trl_error *err);
TRL_API int trl_extractor_finish(trl_extractor *extractor, const trl_matrix *statics, const trl_cmvn *speaker,
                                 trl_matrix *frames, trl_error *err);

/* Streaming. What can't stream (cmvn = utterance, energy_normalise, silence = fill without silence_mean) is refused
 * by begin with TRL_EUNSUPPORTED. push and end append to `frames` (whose rows so far are kept). Samples that are no
 * sound (NaN, or beyond 1e10) are TRL_ENUMBER. */
TRL_API int trl_extractor_begin(trl_extractor *extractor, const trl_cmvn *speaker, trl_error *err);
TRL_API int trl_extractor_push(trl_extractor *extractor, const float *samples, size_t count, trl_matrix *frames,
                               trl_error *err);
TRL_API int trl_extractor_end(trl_extractor *extractor, trl_matrix *frames, trl_error *err);

TRL_END_DECLS

#endif
