/* EM for P(to word | from word) over the pairs of words that occur in one line, among the from words one that stands
 * for none.
 *
 * Pairs are numbered by from word, then in order of arrival. The numbers of all pairs of a line are written down once,
 * the line's from words inside its to words, so that an iteration is one sequential walk over them with a gather of
 * probabilities and a scatter of counts. Memory: 4 bytes for each pair of tokens, 12 for each pair of words. */
#include "ibm_model1.h"

#include <string.h>

typedef struct model1 {
    const fst_text *from, *to;
    size_t lines;
    int32_t from_words, to_words;
    size_t *cell;   /* by line, lines + 1: its first pair of tokens */
    uint32_t *pair; /* by pair of tokens: to token, then none and the from tokens */
    size_t *range;  /* by from word + 1 (0: none), one more at the end: its first pair of words */
    float *probability;
    double *count; /* by pair of words */
} model1;

static size_t length_of(const fst_text *text, size_t line)
{
    return text->first[line + 1] - text->first[line];
}

/* ---- Numbering the pairs ---- */

/* The tokens of each from word, grouped: place[group[w]] … place[group[w + 1] - 1] in the text, in order. */
static void group_tokens(const model1 *m, size_t *group, uint32_t *place)
{
    size_t tokens = m->from->first[m->lines];
    memset(group, 0, ((size_t)m->from_words + 2) * sizeof *group);
    for (size_t i = 0; i < tokens; i++)
        group[m->from->token[i] + 2]++;
    for (int32_t w = 0; w < m->from_words; w++)
        group[w + 2] += group[w + 1];
    for (size_t i = 0; i < tokens; i++)
        place[group[m->from->token[i] + 1]++] = (uint32_t)i;
}

/* The pairs of one token, `at` places behind none, with every token of its line. `seen` holds for each to word the word
 * pair that it has with the present from word, or something older than `first`. */
static size_t number_token(model1 *m, size_t line, size_t at, size_t first, size_t used, uint32_t *seen)
{
    size_t width = length_of(m->from, line) + 1;
    uint32_t *cell = m->pair + m->cell[line] + at;
    for (size_t j = m->to->first[line]; j < m->to->first[line + 1]; j++, cell += width) {
        uint32_t *known = seen + m->to->token[j];
        if (*known < first || *known == UINT32_MAX)
            *known = (uint32_t)used++;
        *cell = *known;
    }
    return used;
}

static void number_pairs(model1 *m)
{
    size_t *group = fst_must(trl__alloc((size_t)m->from_words + 2, sizeof *group)), used = 0;
    uint32_t *place = fst_must(trl__alloc(m->from->first[m->lines] + 1, sizeof *place));
    uint32_t *line_of = fst_must(trl__alloc(m->from->first[m->lines] + 1, sizeof *line_of));
    uint32_t *seen = fst_must(trl__alloc((size_t)m->to_words, sizeof *seen));
    group_tokens(m, group, place);
    memset(seen, 0xff, (size_t)m->to_words * sizeof *seen);
    for (size_t line = 0; line < m->lines; line++) {
        used = number_token(m, line, 0, 0, used, seen);
        for (size_t i = m->from->first[line]; i < m->from->first[line + 1]; i++)
            line_of[i] = (uint32_t)line;
    }
    for (int32_t w = 0; w < m->from_words; w++) {
        size_t first = m->range[w + 1] = used;
        for (size_t k = group[w]; k < group[w + 1]; k++) {
            size_t line = line_of[place[k]];
            used = number_token(m, line, 1 + place[k] - m->from->first[line], first, used, seen);
        }
    }
    m->range[m->from_words + 1] = used;
    trl__free(group);
    trl__free(place);
    trl__free(line_of);
    trl__free(seen);
}

/* ---- EM ---- */

static void expect(model1 *m)
{
    for (size_t line = 0; line < m->lines; line++) {
        size_t width = length_of(m->from, line) + 1;
        const uint32_t *pair = m->pair + m->cell[line];
        for (size_t j = 0; j < length_of(m->to, line); j++, pair += width) {
            double sum = 0;
            for (size_t i = 0; i < width; i++)
                sum += m->probability[pair[i]];
            for (size_t i = 0; i < width; i++)
                m->count[pair[i]] += m->probability[pair[i]] / sum;
        }
    }
}

static void maximise(model1 *m)
{
    for (int32_t w = 0; w <= m->from_words; w++) {
        double sum = 0;
        for (size_t k = m->range[w]; k < m->range[w + 1]; k++)
            sum += m->count[k];
        for (size_t k = m->range[w]; k < m->range[w + 1]; k++) {
            m->probability[k] = (float)(m->count[k] / sum);
            m->count[k] = 0;
        }
    }
}

/* The best from token of each to token; none, then the first one, where several are as good. */
static void choose_links(const model1 *m, int16_t *link)
{
    for (size_t line = 0; line < m->lines; line++) {
        size_t width = length_of(m->from, line) + 1;
        const uint32_t *pair = m->pair + m->cell[line];
        for (size_t j = m->to->first[line]; j < m->to->first[line + 1]; j++, pair += width) {
            size_t best = 0;
            for (size_t i = 1; i < width; i++)
                if (m->probability[pair[i]] > m->probability[pair[best]])
                    best = i;
            link[j] = (int16_t)((int)best - 1);
        }
    }
}

void ibm_model1_align(const fst_text *from, const fst_text *to, size_t lines, int iterations, int16_t *link)
{
    model1 m = {.from = from, .to = to, .lines = lines};
    m.from_words = fst_text_words(from, lines);
    m.to_words = fst_text_words(to, lines);
    m.cell = fst_must(trl__alloc(lines + 1, sizeof *m.cell));
    m.range = fst_must(trl__alloc_zero((size_t)m.from_words + 2, sizeof *m.range));
    m.cell[0] = 0;
    for (size_t line = 0; line < lines; line++)
        m.cell[line + 1] = m.cell[line] + (length_of(from, line) + 1) * length_of(to, line);
    m.pair = fst_must(trl__alloc(m.cell[lines], sizeof *m.pair));
    number_pairs(&m);
    size_t pairs = m.range[m.from_words + 1];
    m.probability = fst_must(trl__alloc(pairs, sizeof *m.probability));
    m.count = fst_must(trl__alloc_zero(pairs, sizeof *m.count));
    for (size_t k = 0; k < pairs; k++)
        m.probability[k] = 1;
    for (int i = 0; i < iterations; i++) {
        expect(&m);
        maximise(&m);
    }
    choose_links(&m, link);
    trl__free(m.cell);
    trl__free(m.range);
    trl__free(m.pair);
    trl__free(m.probability);
    trl__free(m.count);
}
