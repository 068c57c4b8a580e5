/* Acoustic models: hidden Markov models whose states are mixtures of Gaussians.
 *
 *     trl_model_read("an4.trm", &model, &err);
 *     for (int32_t u = 0; u < trl_model_units(model); u++) puts(trl_model_unit(model, u).name);
 *     trl_model_destroy(model);
 *
 * A unit is what an HMM models: a phone, a phone at its place in the word (AA_B), silence. Its topology says how many states
 * it has and which arcs lead from state to state. A state's output is a tied state: a mixture of Gaussians with
 * diagonal covariance that any number of (unit, state) pairs may share. One transition id names (unit, state, tied
 * state, arc) in alignments, statistics and graphs; the numbers are those that Kaldi would give.
 *
 * Indices:
 *   unit        from 0, silence units first, then noise, then phones in the order of the lexicon
 *   state       of a unit: emitting states from 0; TRL_ENTRY (-1) is before the first, TRL_EXIT (-2) behind the last
 *   tied state  from 0 (Kaldi's pdf-id)
 *   triple      from 0: a (unit, state, tied state) that exists, in rising order (Kaldi's transition-state, less one)
 *   transition  from 1: arc after arc of triple after triple (Kaldi's transition-id); 0 is none
 *   Gaussian    from 0, those of one tied state side by side
 */
#ifndef TRELLIS_MODEL_H
#define TRELLIS_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>
#include <trellis/frontend.h>
#include <trellis/lexicon.h>

TRL_BEGIN_DECLS

#define TRL_ENTRY (-1)
#define TRL_EXIT (-2)

typedef struct trl_model trl_model;

typedef enum trl_unit_kind { TRL_UNIT_PHONE, TRL_UNIT_SILENCE, TRL_UNIT_NOISE } trl_unit_kind;

/* How a unit's states are connected. */
typedef enum trl_topology_kind {
    TRL_TOPOLOGY_LINEAR, /* each state: stay, or go to the next */
    TRL_TOPOLOGY_ERGODIC /* first and last state as above, the inner ones all connected (Kaldi's silence) */
} trl_topology_kind;

typedef struct trl_model_options {
    int states;             /* of a phone; default 3 */
    int silence_states;     /* of silence and noise; default 3 (training: 5) */
    int silence_topology;   /* trl_topology_kind; default linear (training: ergodic) */
    int word_positions;     /* 1: AA becomes AA_B, AA_I, AA_E, AA_S (begin, inside, end, single), sharing tied states */
    const char *silence;    /* the unit between words; default "SIL"; a phone of the lexicon may have this name */
    const char *noise;      /* the unit for what is no known word; default "SPN" */
    double self_loop;       /* first probability of staying in a state; default 0.75 */
    double silence_between; /* probability of silence between two words, and at both ends; default 0.5 */
} trl_model_options;

TRL_API trl_model_options trl_model_defaults(void);
/* Returns 0, or TRL_EINVAL saying which member is wrong and what it may be. */
TRL_API int trl_model_options_check(const trl_model_options *options, trl_error *err);

/* A model of the lexicon's phones: every tied state has one Gaussian with mean 0 and variance 1 until it is trained. `frontend`
 * is a description (frontend.h) or NULL, `dim` the dimension of its frames. */
TRL_API int trl_model_create(const trl_lexicon *lexicon, const char *frontend, int32_t dim,
                             const trl_model_options *options, trl_model **out, trl_error *err);

/* Reads our own file, mapped (see docs/formats.md). Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (foreign; other formats
 * are read by trl_model_import), TRL_EUNSUPPORTED (newer), TRL_ECORRUPT, TRL_ENUMBER, TRL_ENOMEM. */
TRL_API int trl_model_read(const char *path, trl_model **out, trl_error *err);
TRL_API int trl_model_write(const trl_model *model, const char *path, trl_error *err);
TRL_API void trl_model_destroy(trl_model *model);

/* HTK: a file of macros and HMMs (MMF), text or binary, recognised; `list` is HTK's HMM list (logical and physical
 * names) or NULL. Written as text or binary. */
TRL_API int trl_model_read_htk(const char *mmf, const char *list, trl_model **out, trl_error *err);
TRL_API int trl_model_write_htk(const trl_model *model, const char *path, int binary, trl_error *err);

/* Kaldi: a GMM model, binary or text, recognised; unit u is Kaldi's phone u + 1, named by phones.txt, or phone1 …
 * when that is NULL. Where tied states depend on context, the file `tree` beside the model says how; without it the
 * model can be looked at, but not used. Written are DIR/final.mdl, DIR/tree and DIR/phones.txt; units that can be
 * skipped or entered elsewhere than at their first state, and tied states that depend on context without a tree, are
 * refused (TRL_EUNSUPPORTED). */
TRL_API int trl_model_read_kaldi(const char *mdl, const char *phones, trl_model **out, trl_error *err);
TRL_API int trl_model_write_kaldi(const trl_model *model, const char *folder, int binary, trl_error *err);

/* CMU Sphinx: a folder with mdef (text or binary), means, variances, transition_matrices, sendump or mixture_weights, and
 * perhaps feat.params and feature_transform. Continuous models become ordinary ones; the codebooks of semi-continuous and phonetically tied ones
 * stay shared: then the tied states have no Gaussians of their own, and the model can be used but not trained. Returns as
 * trl_model_read, and TRL_EUNSUPPORTED (features or sizes that are not known). */
TRL_API int trl_model_read_sphinx(const char *folder, trl_model **out, trl_error *err);

/* Any of these formats, recognised by how the file begins; a folder is Kaldi's, with final.mdl in it. `list`: HTK's HMM list, or Kaldi's
 * phones.txt (NULL: the one beside the model, if there is one). Returns what the format's reader returns, or TRL_EFORMAT. */
TRL_API int trl_model_import(const char *path, const char *list, trl_model **out, trl_error *err);

/* The description of the front end, for a model that comes without one. Returns 0, TRL_EINVAL (not a description, or another
 * dimension), TRL_ENOMEM. */
TRL_API int trl_model_set_frontend(trl_model *model, const char *description, trl_error *err);

typedef struct trl_unit {
    const char *name;
    trl_unit_kind kind;
    int32_t states;
} trl_unit;

typedef struct trl_transition {
    int32_t unit, state, to; /* to: a state, or TRL_EXIT */
    int32_t tied;
    float log_probability;
} trl_transition;

typedef struct trl_gaussian {
    const float *mean, *variance; /* dim each */
    float weight;                 /* of the component in its mixture */
} trl_gaussian;

TRL_API int32_t trl_model_dim(const trl_model *model);
TRL_API int32_t trl_model_units(const trl_model *model);
TRL_API trl_unit trl_model_unit(const trl_model *model, int32_t unit);
TRL_API int32_t trl_model_find_unit(const trl_model *model, const char *name); /* -1: none */
TRL_API int32_t trl_model_tied_states(const trl_model *model);
TRL_API int32_t trl_model_components(const trl_model *model, int32_t tied);
TRL_API int64_t trl_model_gaussians(const trl_model *model);
TRL_API trl_gaussian trl_model_gaussian(const trl_model *model, int32_t tied, int32_t component);
TRL_API int32_t trl_model_transitions(const trl_model *model);
TRL_API trl_transition trl_model_transition(const trl_model *model, int32_t id); /* id from 1 */

/* Tied mixtures: codebooks of Gaussians that tied states share, each with weights of its own (CMU Sphinx's semi-continuous and
 * phonetically tied models). */
typedef struct trl_codebook_facts {
    int32_t codebooks, streams, densities; /* densities: Gaussians of a stream of a codebook */
    int32_t top;                           /* how many of these count in a frame, the best; 0: all */
    float floor;                           /* nats: no density counts as further below its stream's best; 0: none */
} trl_codebook_facts;

/* All 0 where tied states have their own Gaussians. */
TRL_API trl_codebook_facts trl_model_codebooks(const trl_model *model);

/* How densities count, which changes likelihoods: Sphinx takes 4 and 9.83; 0 and 0 are the mixtures as they are. Returns 0, or TRL_EINVAL: no
 * codebooks, or numbers that they do not have. */
TRL_API int trl_model_limit_densities(trl_model *model, int32_t top, float floor, trl_error *err);

/* Gaussians for a first pass over frames that are not adapted to their speaker; 0: there are none apart. */
TRL_API int64_t trl_model_first_pass_gaussians(const trl_model *model);

/* The tree of a model whose tied states depend on the units around. */
typedef struct trl_tree_facts {
    int32_t width, centre; /* units of the window, and the place of the unit itself, from 0; without a tree 1 and 0 */
    int32_t roots;         /* distinct; the units of one root share their tied states */
    int32_t questions;     /* inner nodes */
    int32_t sets;          /* of units, that questions are about */
    int32_t depth;         /* most questions on a way to a leaf */
} trl_tree_facts;

/* All 0 but `width` where there is no tree. */
TRL_API trl_tree_facts trl_model_tree(const trl_model *model);

/* The tied state of a unit's state among its neighbours; `window` has `width` units, -1 beyond the utterance. Returns
 * -1 where the unit at the centre has no such state, or the tree that chooses is missing (a Kaldi model without it). */
TRL_API int32_t trl_model_find_tied(const trl_model *model, const int32_t *window, int32_t state);

/* The tree for Graphviz (`dot -Tsvg`): of one unit (NULL: all; a phone's name without its place in the word: all four
 * places) and state (-1: all). Returns 0, TRL_EINVAL (no tree), TRL_ENOENT (no such unit or state), TRL_EIO,
 * TRL_ENOMEM. */
TRL_API int trl_model_draw_tree(const trl_model *model, const char *unit, int32_t state, const char *path,
                                trl_error *err);

/* Texts that the file carries; "" where there is none. They live as long as the model. */
TRL_API const char *trl_model_frontend(const trl_model *model); /* a description, see frontend.h */

/* The front end for sound that the model is used on: that description, and where it fills in silence without saying
 * by what, the mean of the model's own silence; models of earlier versions and of other programs fill it in, too.
 * With `is_online`, normalisation over an utterance or a speaker becomes one over a window that slides along. Free
 * options->transform by trl_matrix_free, whatever is returned. */
TRL_API int trl_model_read_frontend(const trl_model *model, int is_online, trl_frontend_options *options,
                                    trl_error *err);
TRL_API const char *trl_model_lexicon(const trl_model *model); /* which lexicon it was trained with: name, size, hash */
TRL_API const char *trl_model_provenance(const trl_model *model); /* version, inputs, options */
TRL_API const char *trl_model_history(const trl_model *model);    /* a line of JSON per iteration of training */

TRL_END_DECLS

#endif
