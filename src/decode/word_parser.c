/* A reading is a way through the pairs (unit i, word j): from (i, j) a silence leads to (i + 1, j) and a pronunciation of word j, of n units, to (i + n, j + 1).
 * Which pairs lead to a possible end is found backwards, for all of them; then the way is followed from (0, 0) while there is one way only. Units and
 * words are those of a stretch between two certain boundaries, rarely more than two words. Cost: O(units * words * pronunciations). */
#include "decode/word_parser.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

typedef struct unit_span {
    int32_t unit;
    int32_t first; /* frame */
} unit_span;

/* A way on from a pair. */
typedef struct reading_step {
    size_t units; /* 0: none */
    int is_word;
} reading_step;

struct trl__word_parser {
    const trl_model *model;
    const trl_graph *graph;
    char *place;          /* by unit: B, I, E, S; 0: none */
    uint8_t *begins_word; /* by unit: some word begins with it */

    unit_span *units;
    size_t unit_count, unit_capacity;
    int is_last_open; /* more frames of the last unit may come */
    uint8_t *leads;   /* by (i, j): to a possible end */
    size_t lead_capacity;
    trl__word_piece *items;
    size_t item_capacity;

    const int32_t *words;
    size_t word_count;
    trl__path_end end;
};

/* ---- what the units are ---- */

static char place_of(const trl_model *model, int32_t unit)
{
    const char *name = trl_model_unit(model, unit).name;
    size_t length = strlen(name);
    return length > 2 && name[length - 2] == '_' && strchr("BIES", name[length - 1]) ? name[length - 1] : 0;
}

static void describe_units(trl__word_parser *p)
{
    const trl_graph *g = p->graph;
    int32_t units = (int32_t)p->model->units.count;
    for (int32_t u = 0; u < units; u++) {
        p->place[u] = p->model->word_positions ? place_of(p->model, u) : 0;
        p->begins_word[u] = p->model->unit_kind[u] == TRL_UNIT_PHONE || p->place[u] == 'B' || p->place[u] == 'S';
    }
    for (uint32_t i = 0; g->spoken_word && i < g->spoken_word[g->words]; i++) {
        int32_t unit = g->spoken_units[g->spoken_first[i]];
        if (unit < units)
            p->begins_word[unit] = 1;
    }
}

int trl__word_parser_create(const trl_model *model, const trl_graph *graph, trl__word_parser **out, trl_error *err)
{
    *out = NULL;
    if (!graph->spoken_word && !model->word_positions)
        return 0;
    trl__word_parser *p = trl__alloc_zero(1, sizeof *p);
    if (!p)
        return trl__fail_memory(err);
    p->model = model;
    p->graph = graph;
    p->place = trl__alloc(model->units.count + 1, 1);
    p->begins_word = trl__alloc(model->units.count + 1, 1);
    if (!p->place || !p->begins_word) {
        trl__word_parser_destroy(p);
        return trl__fail_memory(err);
    }
    describe_units(p);
    *out = p;
    return 0;
}

void trl__word_parser_destroy(trl__word_parser *p)
{
    if (!p)
        return;
    trl__free(p->place);
    trl__free(p->begins_word);
    trl__free(p->units);
    trl__free(p->leads);
    trl__free(p->items);
    trl__free(p);
}

/* ---- from transitions to units ---- */

/* Self-loops may come behind the arc that leaves the unit (Kaldi's order), so that arc alone does not end it. */
static int find_units(trl__word_parser *p, const int32_t *transitions, size_t frames, trl_error *err)
{
    int has_left = 0;
    p->unit_count = 0;
    for (size_t t = 0; t < frames; t++) {
        trl_transition now = trl_model_transition(p->model, transitions[t]);
        int begins =
            p->unit_count == 0 || now.unit != p->units[p->unit_count - 1].unit || (has_left && now.to != now.state);
        has_left = now.to == TRL_EXIT || (has_left && !begins);
        if (!begins)
            continue;
        if (TRL_GROW(p->units, p->unit_capacity, p->unit_count + 1) < 0)
            return trl__fail_memory(err);
        p->units[p->unit_count++] = (unit_span){now.unit, (int32_t)t};
    }
    p->is_last_open = p->end == TRL__GOES_ON;
    return 0;
}

/* ---- ways on ---- */

static int is_closed(const trl__word_parser *p, size_t i)
{
    return i + 1 < p->unit_count || !p->is_last_open;
}

static int is_pause(const trl__word_parser *p, size_t i)
{
    return p->model->unit_kind[p->units[i].unit] != TRL_UNIT_PHONE;
}

/* Pronunciations of word j: [*first, *end) of the graph's; none where only places tell words. */
static void pronunciations(const trl__word_parser *p, size_t j, uint32_t *first, uint32_t *end)
{
    int32_t word = p->words[j];
    *first = *end = 0;
    if (p->graph->spoken_word && word >= 0 && word < p->graph->words) {
        *first = p->graph->spoken_word[word];
        *end = p->graph->spoken_word[word + 1];
    }
}

/* How many units from i on begin the pronunciation, at most all of it. */
static size_t match(const trl__word_parser *p, size_t i, uint32_t pronunciation, size_t *length)
{
    const trl_graph *g = p->graph;
    const int32_t *units = g->spoken_units + g->spoken_first[pronunciation];
    size_t same = 0;
    *length = g->spoken_first[pronunciation + 1] - g->spoken_first[pronunciation];
    while (same < *length && i + same < p->unit_count && units[same] == p->units[i + same].unit)
        same++;
    return same;
}

/* The same by places: begin, inside …, end, or single. */
static size_t match_places(const trl__word_parser *p, size_t i, int *is_whole)
{
    size_t same = 0;
    *is_whole = 0;
    for (; i + same < p->unit_count && !*is_whole; same++) {
        char place = p->place[p->units[i + same].unit];
        if (same == 0 ? place != 'B' && place != 'S' : place != 'I' && place != 'E')
            break;
        *is_whole = place == 'S' || place == 'E';
    }
    return same;
}

/* The k-th way on from (i, j), from 0; units is 0 behind the last. Those that do not fit have units SIZE_MAX. */
static reading_step way_on(const trl__word_parser *p, size_t i, size_t j, size_t k)
{
    uint32_t first, end;
    if (i == p->unit_count)
        return (reading_step){0, 0};
    if (k == 0)
        return (reading_step){is_pause(p, i) && is_closed(p, i) ? 1 : SIZE_MAX, 0};
    if (j == p->word_count)
        return (reading_step){0, 0};
    pronunciations(p, j, &first, &end);
    if (first == end) {
        int is_whole;
        size_t same = k == 1 ? match_places(p, i, &is_whole) : 0;
        return (reading_step){k > 1 ? 0 : is_whole && is_closed(p, i + same - 1) ? same : SIZE_MAX, 1};
    }
    if (k - 1 >= end - first)
        return (reading_step){0, 0};
    size_t length, same = match(p, i, first + (uint32_t)(k - 1), &length);
    return (reading_step){same == length && length > 0 && is_closed(p, i + length - 1) ? length : SIZE_MAX, 1};
}

/* May word j have begun with unit i and go on behind the last one? */
static int is_begun(const trl__word_parser *p, size_t i, size_t j)
{
    uint32_t first, end;
    size_t rest = p->unit_count - i, length;
    pronunciations(p, j, &first, &end);
    if (first == end) {
        int is_whole;
        return match_places(p, i, &is_whole) == rest && (!is_whole || p->is_last_open);
    }
    for (uint32_t k = first; k < end; k++)
        if (match(p, i, k, &length) == rest && (length > rest || p->is_last_open))
            return 1;
    return 0;
}

/* May what is known end at (i, j)? */
static int may_end(const trl__word_parser *p, size_t i, size_t j)
{
    int all_units = i == p->unit_count, all_words = j == p->word_count;
    if (p->end == TRL__ENDS)
        return all_units && all_words;
    if (p->end == TRL__IS_CUT)
        return all_units || (all_words && p->begins_word[p->units[i].unit]) ||
               (j + 1 == p->word_count && is_begun(p, i, j));
    if (all_units || (is_pause(p, i) && !is_closed(p, i)))
        return 1;
    return all_words ? p->begins_word[p->units[i].unit] : is_begun(p, i, j);
}

/* ---- readings ---- */

static uint8_t *lead(const trl__word_parser *p, size_t i, size_t j)
{
    return &p->leads[i * (p->word_count + 1) + j];
}

static int find_leads(trl__word_parser *p, trl_error *err)
{
    size_t width = p->word_count + 1;
    if (p->unit_count + 1 > SIZE_MAX / width || TRL_GROW(p->leads, p->lead_capacity, (p->unit_count + 1) * width) < 0)
        return trl__fail_memory(err);
    for (size_t i = p->unit_count + 1; i-- > 0;)
        for (size_t j = width; j-- > 0;) {
            int leads = may_end(p, i, j);
            reading_step s;
            for (size_t k = 0; !leads && (s = way_on(p, i, j, k)).units > 0; k++)
                leads = s.units != SIZE_MAX && *lead(p, i + s.units, j + (size_t)s.is_word);
            *lead(p, i, j) = (uint8_t)leads;
        }
    return 0;
}

/* The first way on that leads to an end; *others: there is another, to another place. */
static reading_step choose(const trl__word_parser *p, size_t i, size_t j, int *others)
{
    reading_step chosen = {0, 0}, s;
    *others = 0;
    for (size_t k = 0; (s = way_on(p, i, j, k)).units > 0; k++) {
        if (s.units == SIZE_MAX || !*lead(p, i + s.units, j + (size_t)s.is_word))
            continue;
        if (chosen.units == 0)
            chosen = s;
        *others |= chosen.units != s.units || chosen.is_word != s.is_word;
    }
    return chosen;
}

static int32_t frame_of(const trl__word_parser *p, size_t i, size_t frames)
{
    return i < p->unit_count ? p->units[i].first : (int32_t)frames;
}

static int add_item(trl__word_parser *p, trl__word_reading *r, int32_t word, int32_t frames, trl_error *err)
{
    if (TRL_GROW(p->items, p->item_capacity, r->count + 1) < 0)
        return trl__fail_memory(err);
    p->items[r->count++] = (trl__word_piece){word, frames};
    r->frames += (size_t)frames;
    r->words += word != 0;
    return 0;
}

/* Where sound was cut: a word that is not complete, or was never written, then words without sound. */
static int read_rest(trl__word_parser *p, size_t i, size_t j, size_t frames, trl__word_reading *r, trl_error *err)
{
    int code = 0;
    if (i < p->unit_count) {
        int32_t word = j < p->word_count ? p->words[j++] : 0;
        code = add_item(p, r, word, (int32_t)frames - p->units[i].first, err);
    }
    for (; code == 0 && j < p->word_count; j++)
        code = add_item(p, r, p->words[j], 0, err);
    return code;
}

static int read_path(trl__word_parser *p, size_t frames, trl__word_reading *r, trl_error *err)
{
    size_t i = 0, j = 0;
    int code = find_leads(p, err);
    if (code < 0)
        return code;
    r->is_wrong = !*lead(p, 0, 0);
    while (code == 0 && !r->is_wrong) {
        int others;
        reading_step s = choose(p, i, j, &others);
        if (s.units == 0 || (p->end == TRL__GOES_ON && (others || may_end(p, i, j))))
            break;
        code =
            add_item(p, r, s.is_word ? p->words[j] : 0, frame_of(p, i + s.units, frames) - frame_of(p, i, frames), err);
        i += s.units;
        j += (size_t)s.is_word;
    }
    if (code == 0 && p->end == TRL__IS_CUT && !r->is_wrong)
        code = read_rest(p, i, j, frames, r, err);
    return code;
}

/* What was cut may be complete all the same. */
int trl__word_parser_read(trl__word_parser *p, const int32_t *words, size_t count, const int32_t *transitions,
                          size_t frames, trl__path_end end, trl__word_reading *r, trl_error *err)
{
    *r = (trl__word_reading){0};
    p->words = words;
    p->word_count = count;
    p->end = end == TRL__IS_CUT ? TRL__ENDS : end;
    int code = find_units(p, transitions, frames, err);
    if (code == 0)
        code = read_path(p, frames, r, err);
    if (code == 0 && r->is_wrong && end == TRL__IS_CUT) {
        p->end = end;
        code = read_path(p, frames, r, err);
    }
    r->items = p->items;
    return code;
}
