/* For tests of training: a small language (lexicon, transcripts), a model of it, and frames that follow the transcripts, all from a
 * seed. */
#ifndef TEST_SMALL_SPEECH_H
#define TEST_SMALL_SPEECH_H

#include "align/aligner.h"
#include "base/random.h"
#include "base/text_file.h"
#include "corpus/corpus_builder.h"
#include "model/estimate.h"

#include <string.h>

enum { SMALL_UTTERANCES = 6, SMALL_WORDS = 4, SMALL_LONGEST = 3 };

typedef struct small_speech {
    uint64_t seed, drawn;
    int32_t dim;
    trl_lexicon *lexicon;
    trl_matrix frames[SMALL_UTTERANCES];
    int32_t words[SMALL_UTTERANCES][SMALL_LONGEST];
    size_t word_count[SMALL_UTTERANCES];
} small_speech;

static inline float small_uniform(small_speech *s)
{
    return trl__random_uniform(s->seed, 1, s->drawn++);
}

static inline int small_below(small_speech *s, int n)
{
    return (int)(small_uniform(s) * (float)n);
}

static const char small_lexicon[] = "ONE a b\nONE(2) b a\nTWO b c\nTHREE c\nTHREE(2) a c b\nFOUR c a\n";

/* Every phone has a place in feature space; frames scatter around the phones of the transcript, in order. */
static inline void small_frames(small_speech *s, size_t u)
{
    trl_error err;
    size_t count = 0, most = 400;
    assert_int_equal(trl_matrix_resize(&s->frames[u], most, (size_t)s->dim, &err), 0);
    for (size_t w = 0; w < s->word_count[u]; w++) {
        size_t variants = trl_lexicon_pronunciations(s->lexicon, (size_t)s->words[u][w]);
        trl_pronunciation p =
            trl_lexicon_pronunciation(s->lexicon, (size_t)s->words[u][w], (size_t)small_below(s, (int)variants));
        for (size_t i = 0; i < p.length; i++) {
            int frames = 6 + small_below(s, 12);
            for (int f = 0; f < frames; f++, count++)
                for (int32_t k = 0; k < s->dim; k++)
                    trl_matrix_row(&s->frames[u], count)[k] =
                        (float)((p.phones[i] + k) % 3) * 2 + trl__random_normal(s->seed, 2 + u, count * 16 + (size_t)k);
        }
    }
    s->frames[u].rows = count;
}

static inline void small_speech_make(small_speech *s, uint64_t seed, int32_t dim)
{
    trl_error err;
    trl__text text;
    *s = (small_speech){.seed = seed, .dim = dim};
    assert_int_equal(trl__text_from_memory("lexicon", small_lexicon, sizeof small_lexicon - 1, &text, &err), 0);
    assert_int_equal(trl__lexicon_parse("lexicon", &text, NULL, &s->lexicon, &err), 0);
    trl__text_free(&text);
    for (size_t u = 0; u < SMALL_UTTERANCES; u++) {
        s->word_count[u] = 1 + (size_t)small_below(s, SMALL_LONGEST);
        for (size_t w = 0; w < s->word_count[u]; w++)
            s->words[u][w] = small_below(s, SMALL_WORDS);
        small_frames(s, u);
    }
}

static inline void small_speech_free(small_speech *s)
{
    trl_lexicon_destroy(s->lexicon);
    for (size_t u = 0; u < SMALL_UTTERANCES; u++)
        trl_matrix_free(&s->frames[u]);
}

#endif
