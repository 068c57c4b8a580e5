/* Perplexity of texts: each sentence walks through the model's acceptor (fst/arpa.c), one back-off arc after the other
 * where a history does not have the word. Arcs are sorted by label, and that of backing off has the largest, so it is the
 * last of its state. */
#include "base/fail.h"
#include "lm/lm_data.h"

#include <math.h>
#include <trellis/fst_file.h>

#define BACKOFF INT32_MAX
#define LN10 2.302585092994045684

typedef struct walker {
    const trl_fst *model;
    const trl_symbols *words;
    int32_t unknown; /* label of <unk>, or -1 */
    int32_t state;
    double log_known; /* natural logarithms: of known words and ends, and of unknown words */
    double log_unknown;
    uint64_t unknown_events;
    trl_perplexity *sums;
} walker;

/* The state's arc with this label, or one without next state. */
static trl_arc find_arc(const trl_fst *model, int32_t state, int32_t label)
{
    uint32_t low = 0, high = trl_fst_arc_count(model, state);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        trl_arc arc = trl_fst_arc(model, state, middle);
        if (arc.ilabel == label)
            return arc;
        if (arc.ilabel < label)
            low = middle + 1;
        else
            high = middle;
    }
    return (trl_arc){.next = TRL_NO_STATE};
}

/* One history shorter; 0: there is none. */
static int back_off(walker *w, double *cost)
{
    trl_arc arc = find_arc(w->model, w->state, BACKOFF);
    if (arc.next == TRL_NO_STATE)
        return 0;
    *cost += arc.weight.value;
    w->state = arc.next;
    return 1;
}

/* The cost of a word after the words before; infinity: the model does not have it. */
static double word_cost(walker *w, int32_t label)
{
    double cost = 0;
    do {
        trl_arc arc = find_arc(w->model, w->state, label);
        if (arc.next != TRL_NO_STATE) {
            w->state = arc.next;
            return cost + arc.weight.value;
        }
    } while (back_off(w, &cost));
    return INFINITY;
}

static double end_cost(walker *w)
{
    double cost = 0;
    do {
        trl_weight end = trl_fst_final(w->model, w->state);
        if (!trl_weight_is_zero(TRL_TROPICAL, end))
            return cost + end.value;
    } while (back_off(w, &cost));
    return INFINITY;
}

static void add_event(walker *w, double cost, int unknown)
{
    if (isinf(cost)) {
        w->sums->impossible++;
        return;
    }
    w->sums->events++;
    w->unknown_events += (uint64_t)unknown;
    *(unknown ? &w->log_unknown : &w->log_known) -= cost;
}

static void add_word(walker *w, const char *text)
{
    int64_t label = trl_symbols_find(w->words, text);
    int unknown = label == TRL_NO_LABEL || label == w->unknown;
    w->sums->text.words++;
    w->sums->text.unknown += (uint64_t)unknown;
    if (unknown && w->unknown == TRL_NO_LABEL)
        while (back_off(w, &(double){0})) /* what follows has no history */
            ;
    else
        add_event(w, word_cost(w, unknown ? w->unknown : (int32_t)label), unknown);
}

static int add_text(walker *w, trl__lm_input *input, trl_error *err)
{
    char *words;
    const char *word;
    int found, more;
    while ((found = trl__lm_sentence(input, &words, err)) > 0) {
        w->state = trl_fst_start(w->model);
        while ((more = trl__lm_word(input, &words, &word, err)) > 0)
            add_word(w, word);
        if (more < 0)
            return more;
        w->sums->text.sentences++;
        add_event(w, end_cost(w), 0);
    }
    return found;
}

static void finish(walker *w)
{
    trl_perplexity *p = w->sums;
    uint64_t known = p->events - w->unknown_events;
    p->log10 = (w->log_known + w->log_unknown) / LN10;
    p->perplexity = p->events ? exp(-(w->log_known + w->log_unknown) / (double)p->events) : 0;
    p->known_perplexity = known ? exp(-w->log_known / (double)known) : 0;
}

int trl_lm_perplexity(const char *model, const char *const *texts, size_t count, trl_lm_form form, trl_perplexity *out,
                      trl_error *err)
{
    trl_fst *fst;
    *out = (trl_perplexity){.events = 0};
    int code = trl_fst_read_arpa(model, &(trl_arpa_options){.backoff = BACKOFF}, &fst, NULL, err);
    if (code < 0)
        return code;
    walker w = {.model = fst, .words = trl_fst_input_symbols(fst), .sums = out};
    w.unknown = (int32_t)trl_symbols_find(w.words, TRL__LM_UNKNOWN);
    if (w.unknown == TRL_NO_LABEL)
        w.unknown = (int32_t)trl_symbols_find(w.words, "<UNK>"); /* as Sphinx and others write it */
    for (size_t i = 0; code == 0 && i < count; i++) {
        trl__lm_input input;
        code = trl__lm_input_open(texts[i], form, &input, err);
        if (code < 0)
            break;
        code = add_text(&w, &input, err);
        trl__source_close(&input.source);
    }
    finish(&w);
    trl_fst_destroy(fst);
    return code;
}
