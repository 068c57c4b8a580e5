/* A generated task with the shape of [000] section 4: 8000 tied states of 32 Gaussians over 39 dimensions (82 MB of
 * parameters), utterances of 3.6 s on average with a tail to 30 s, 30 phones per 3.6 s.
 *
 *     workload w;
 *     workload_create(&w, hours, tied_states, seed);
 *     trl_model *smaller = workload_model(&w, 16);             // the first 16 components of each mixture
 *     train_set twice = train_set_replicate(&w.all, 2, w.folder);
 *
 * Where the numbers come from:
 *   lengths     69 % of the utterances take less than 2 s (the paper's share), log-uniform from 0.5 s; the others 2 to
 *               30 s, exponential with a mean of 9.2 s: 3.6 s in all
 *   words       10,000 words of 2 to 6 units, drawn by Zipf's law; every tenth has a second pronunciation; silence
 *               between some of them
 *   units       context-dependent phones: 2664 of them, three states each with two arcs; silence and noise have four
 *               states each, which makes 8000. A unit sounds like one of 40 phones, with a shift of its own
 *   frames      drawn from the mixtures along a path through the utterance's graph, with the model's own durations and
 *               a shift per utterance that no model knows (a voice, a room), so that alignments are not too easy
 */
#ifndef TRELLIS_BENCH_TRAIN_WORKLOAD_H
#define TRELLIS_BENCH_TRAIN_WORKLOAD_H

#include "train/train_pass.h"

#define WORKLOAD_DIM 39
#define WORKLOAD_COMPONENTS 32

/* Utterances to train with, and their alignments from an earlier iteration. */
typedef struct train_set {
    trl__training_data data;
    trl__alignment_store *previous;
    double hours;
    int owns_data; /* data's arrays are ours, its reader is not */
} train_set;

typedef struct workload {
    char folder[4096];
    trl_findings *findings;
    trl_lexicon *lexicon;
    trl_corpus *corpus;
    trl_model *model;
    trl__training_data *data;
    train_set all; /* without alignments until somebody sets them */
    uint64_t seed;
} workload;

void workload_create(workload *w, double hours, int tied_states, uint64_t seed);
void workload_destroy(workload *w);

/* The same states with the first `components` of each mixture. */
trl_model *workload_model(const workload *w, int components);

/* The chosen utterances of a set, with their alignments; the file for these goes to `folder`. */
train_set train_set_select(const train_set *from, const size_t *chosen, size_t count, const char *folder);
train_set train_set_replicate(const train_set *from, int times, const char *folder);
size_t train_set_frames(const trl__training_data *data, size_t utterance);
void train_set_free(train_set *set);

#endif
