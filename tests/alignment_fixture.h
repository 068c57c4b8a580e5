/* Alignments made by hand: words, their phones, two states each, at times that the test chooses. */
#ifndef TEST_ALIGNMENT_FIXTURE_H
#define TEST_ALIGNMENT_FIXTURE_H

#include "temp_folder.h"

#include <trellis/alignment_file.h>

#define FIXTURE_MOST 64

typedef struct made_alignment {
    trl_utterance utterance;
    trl_alignment alignment;
    trl_segment words[FIXTURE_MOST], phones[FIXTURE_MOST], states[2 * FIXTURE_MOST];
    int32_t transitions[1024];
} made_alignment;

/* A phone from where the last one ended to `stop`; a word where `word` is not NULL, "" for silence. */
typedef struct made_phone {
    const char *word, *phone;
    double stop; /* seconds, multiples of 0.02 */
    float confidence;
} made_phone;

static inline void make_word(made_alignment *m, const made_phone *p, double start)
{
    int32_t spoken = 0;
    for (size_t i = 0; i < m->alignment.words.count; i++)
        spoken += m->words[i].label[0] != '\0';
    m->words[m->alignment.words.count++] = (trl_segment){.label = p->word,
                                                         .first = (int32_t)(start * 100 + 0.5),
                                                         .start = start,
                                                         .confidence = p->confidence,
                                                         .index = p->word[0] ? spoken : -1};
}

/* Each phone has two states of the same length. Ends with a phone whose name is NULL. */
static inline void make_alignment(made_alignment *m, const char *id, const char *path, const made_phone *p)
{
    double start = 0;
    *m = (made_alignment){.utterance = {.id = id, .speaker = "anna", .path = path, .channel = -1, .end = -1}};
    m->alignment = (trl_alignment){.utterance = &m->utterance, .log_likelihood = -50.5, .fit = 0.75};
    for (size_t i = 0; p[i].phone; start = p[i++].stop) {
        if (p[i].word)
            make_word(m, &p[i], start);
        int32_t word = (int32_t)m->alignment.words.count - 1, first = (int32_t)(start * 100 + 0.5),
                end = (int32_t)(p[i].stop * 100 + 0.5), middle = (first + end) / 2;
        m->words[word].end = end;
        m->words[word].stop = p[i].stop;
        m->phones[i] = (trl_segment){p[i].phone, first, end, start, p[i].stop, p[i].confidence, word, (int32_t)i};
        m->states[2 * i] = (trl_segment){p[i].phone, first, middle, start, middle / 100.0, -1, (int32_t)i, 0};
        m->states[2 * i + 1] = (trl_segment){p[i].phone, middle, end, middle / 100.0, p[i].stop, -1, (int32_t)i, 1};
        m->alignment.phones.count = i + 1;
        m->alignment.frames = end;
        m->alignment.seconds = p[i].stop;
    }
    for (int32_t t = 0; t < m->alignment.frames; t++)
        m->transitions[t] = 1 + t % 5;
    m->alignment.transitions = m->transitions;
    m->alignment.words.items = m->words;
    m->alignment.phones.items = m->phones;
    m->alignment.states = (trl_segments){m->states, 2 * m->alignment.phones.count};
}

/* Makes the utterance a part of its file. */
static inline void make_part(made_alignment *m, const char *speaker, double start)
{
    m->utterance.speaker = speaker;
    m->utterance.start = start;
    m->utterance.end = start + m->alignment.seconds;
}

#endif
