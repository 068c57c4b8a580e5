/* For tests of alignment: random lexicons, models and sound frames, all from a seed. */
#ifndef TEST_ALIGN_FIXTURE_H
#define TEST_ALIGN_FIXTURE_H

#include "cmocka_test.h"

#include "align/band.h"
#include "base/memory.h"
#include "base/random.h"
#include "corpus/corpus_builder.h"
#include "model/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static trl_error err;

typedef struct dice {
    uint64_t seed, stream, next;
} dice;

static inline float roll(dice *d)
{
    return trl__random_uniform(d->seed, d->stream, d->next++);
}

/* From least to most, both included. */
static inline int roll_int(dice *d, int least, int most)
{
    return least + (int)(roll(d) * (float)(most - least + 1));
}

static inline void must(int code)
{
    if (code < 0)
        fail_msg("%s", err.text);
}

static inline trl_lexicon *lexicon_of(const char *content)
{
    trl__text text;
    trl_lexicon *lexicon;
    must(trl__text_from_memory("lexicon", content, strlen(content), &text, &err));
    must(trl__lexicon_parse("lexicon", &text, NULL, &lexicon, &err));
    trl__text_free(&text);
    return lexicon;
}

/* Words W0 … of phones A, B …, each with a few pronunciations of a few phones. */
static inline trl_lexicon *random_lexicon(dice *d, int words, int phones, int most_variants, int most_phones)
{
    size_t size = 0, room = (size_t)words * (size_t)most_variants * (16 + 2 * (size_t)most_phones) + 1;
    char *content = malloc(room);
    for (int w = 0; w < words; w++)
        for (int v = roll_int(d, 1, most_variants); v > 0; v--) {
            size += (size_t)snprintf(content + size, room - size, "W%d 0.%d", w, roll_int(d, 1, 9));
            for (int i = roll_int(d, 1, most_phones); i > 0; i--)
                size += (size_t)snprintf(content + size, room - size, " %c", 'A' + roll_int(d, 0, phones - 1));
            content[size++] = '\n';
        }
    content[size] = '\0';
    trl_lexicon *lexicon = lexicon_of(content);
    free(content);
    return lexicon;
}

/* Entry arcs to the first two states and past the unit; what a state's arcs are stays as it is. */
static inline void set_entries(trl__topology *t, float second, float skip)
{
    int32_t arcs = t->first[t->states + 1] - t->first[1], entries = 0;
    trl__topology other;
    must(trl__topology_alloc(&other, t->states, arcs + 3, &err));
    other.arcs[entries++] = (trl__arc){.to = 0, .probability = 1 - second - skip};
    if (second > 0)
        other.arcs[entries++] = (trl__arc){.to = 1, .probability = second};
    if (skip > 0)
        other.arcs[entries++] = (trl__arc){.to = TRL_EXIT, .probability = skip};
    for (int32_t s = 0; s <= t->states; s++)
        other.first[s + 1] = entries + t->first[s + 1] - t->first[1];
    memcpy(other.arcs + entries, t->arcs + t->first[1], (size_t)arcs * sizeof *t->arcs);
    trl__topology_free(t);
    *t = other;
}

/* Log probabilities of the arcs that leave each triple. */
static inline void randomise_transitions(trl_model *m, dice *d)
{
    for (int32_t i = 0; i < m->triples; i++) {
        int32_t count = trl__arcs_of(trl__unit_topology(m, m->triple[i].unit), m->triple[i].state);
        double weight[TRL__STATES_MOST + 1], sum = 0;
        for (int32_t a = 0; a < count; a++)
            sum += weight[a] = 0.1 + (double)roll(d);
        for (int32_t a = 0; a < count; a++)
            m->log_probability[m->triple[i].transition + a] = (float)log(weight[a] / sum);
    }
}

/* Mixtures of one to `most` Gaussians. */
static inline void randomise_mixtures(trl_model *m, dice *d, int most)
{
    size_t room = (size_t)m->tied_states * (size_t)most, dim = (size_t)m->dim;
    int32_t *first = trl__alloc((size_t)m->tied_states + 1, sizeof *first), used = 0;
    float *weight = trl__alloc(room, sizeof *weight), *mean = trl__alloc(room * dim, sizeof *mean);
    float *variance = trl__alloc(room * dim, sizeof *variance);
    for (int32_t j = 0; j < m->tied_states; j++) {
        int count = roll_int(d, 1, most);
        first[j] = used;
        for (int c = 0; c < count; c++, used++)
            weight[used] = (float)-log(count);
    }
    first[m->tied_states] = used;
    for (size_t i = 0; i < (size_t)used * dim; i++) {
        mean[i] = 4 * roll(d) - 2;
        variance[i] = 0.3f + roll(d);
    }
    trl__model_set_mixtures(m, first, weight, mean, variance);
}

static inline trl_matrix random_frames(dice *d, int frames, int dim)
{
    trl_matrix matrix = {0};
    must(trl_matrix_resize(&matrix, (size_t)frames, (size_t)dim, &err));
    for (int i = 0; i < frames * dim; i++)
        matrix.data[i] = 4 * roll(d) - 2;
    return matrix;
}

/* log p(frame | component) + log weight, by definition. */
static inline double component_score(const trl_model *m, int32_t gaussian, const float *frame)
{
    double sum = (double)m->log_weight[gaussian];
    for (int32_t k = 0; k < m->dim; k++) {
        double variance = (double)m->variance[gaussian * m->dim + k];
        double distance = (double)frame[k] - (double)m->mean[gaussian * m->dim + k];
        sum -= 0.5 * (log(2 * 3.14159265358979323846 * variance) + distance * distance / variance);
    }
    return sum;
}

static inline double log_add(double a, double b)
{
    double high = a > b ? a : b;
    return high == -INFINITY ? high : high + log(exp(a - high) + exp(b - high));
}

static inline double state_score(const trl_model *m, int32_t tied, const float *frame)
{
    double sum = -INFINITY;
    for (int32_t g = m->first_gaussian[tied]; g < m->first_gaussian[tied + 1]; g++)
        sum = log_add(sum, component_score(m, g, frame));
    return sum;
}

#endif
