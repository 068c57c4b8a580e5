/* What is left of a search: the raw lattice, and the words of the best token before the end. */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <stdlib.h>

/* ---- states ---- */

/* A token, and what its place in the lattice goes by: the level of its state, then the graph's order of states. */
typedef struct token_key {
    uint64_t order;
    int32_t level;
    uint32_t token;
} token_key;

static int compare_keys(const void *a, const void *b)
{
    const token_key *x = a, *y = b;
    return x->level != y->level ? x->level < y->level ? -1 : 1 : (x->order > y->order) - (x->order < y->order);
}

static token_key key_of(const trl__decoder *d, int32_t state)
{
    return (token_key){.order = trl__state_order(d->graph, state), .level = d->graph->level[state]};
}

/* Numbers a frame's tokens from `first` on: links within the frame lead to higher numbers then, and the numbers do not depend on who made the tokens. */
static void number_frame(const trl__decoder *d, const trl__frame *frame, uint32_t first, token_key *keys,
                         uint32_t *number)
{
    const trl__token *tokens = d->tokens + frame->first_token;
    int is_sorted = 1;
    for (uint32_t i = 0; i < frame->tokens; i++) {
        keys[i] = key_of(d, tokens[i].state);
        keys[i].token = i;
        is_sorted &= i == 0 || compare_keys(&keys[i - 1], &keys[i]) < 0;
    }
    if (!is_sorted)
        qsort(keys, frame->tokens, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < frame->tokens; i++)
        number[keys[i].token] = first + i;
}

static int number_states(trl__decoder *d, uint32_t **number, trl_error *err)
{
    uint32_t most = 0;
    for (size_t t = 0; t < d->frame_count; t++)
        most = d->frames[t].tokens > most ? d->frames[t].tokens : most;
    token_key *keys = trl__scratch_get(&d->order, (size_t)most + 1, sizeof *keys);
    *number = trl__scratch_get(&d->numbers, d->token_count + 1, sizeof **number);
    if (!keys || !*number)
        return trl__fail_memory(err);
    for (size_t t = 0; t < d->frame_count; t++) {
        const trl__frame *frame = &d->frames[t];
        number_frame(d, frame, (uint32_t)frame->first_token, keys, *number + frame->first_token);
    }
    return 0;
}

static int reserve_lattice(trl__decoder *d, trl_error *err)
{
    trl__raw_lattice *raw = &d->raw;
    if (d->token_count > INT32_MAX || d->link_count > UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT,
                         "the lattice would have %zu states and %zu arcs; choose a narrower lattice beam",
                         d->token_count, d->link_count);
    if (TRL_GROW(raw->first, d->state_capacity, d->token_count + 2) < 0 ||
        TRL_GROW(raw->final, d->final_capacity, d->token_count + 1) < 0 ||
        TRL_GROW(raw->time, d->time_capacity, d->token_count + 1) < 0 ||
        TRL_GROW(raw->arcs, d->arc_capacity, d->link_count + 1) < 0)
        return trl__fail_memory(err);
    return 0;
}

static int ends_here(const trl__decoder *d, size_t number, const trl__token *token)
{
    return d->lone_end == TRL__NO_LINK ? trl__end_extra(d, token) <= d->lattice_limit : number == d->lone_end;
}

static void describe_states(trl__decoder *d, const uint32_t *number)
{
    trl__raw_lattice *raw = &d->raw;
    for (size_t t = 0; t < d->frame_count; t++)
        for (size_t i = d->frames[t].first_token; i < d->frames[t].first_token + d->frames[t].tokens; i++) {
            const trl__token *token = &d->tokens[i];
            int is_end = t + 1 == d->frame_count && ends_here(d, i - d->frames[t].first_token, token);
            raw->time[number[i]] = (int32_t)t;
            raw->final[number[i]] = !is_end ? INFINITY : raw->reached_end ? d->graph->final[token->state] : 0;
        }
}

/* ---- arcs ---- */

/* The lattice's number of a link's source. */
static uint32_t source_of(const trl__decoder *d, const uint32_t *number, size_t t, uint32_t link)
{
    const trl__frame *frame = &d->frames[link < d->frames[t].emitting ? t - 1 : t];
    return number[frame->first_token + d->links[d->frames[t].first_link + link].from];
}

/* A source's arcs in the order of the graph's, which few links are not in: by insertion. */
static void sort_arcs(trl__raw_arc *arcs, uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        trl__raw_arc arc = arcs[i];
        uint32_t number = numbers[i], k = i;
        for (; k > 0 && numbers[k - 1] > number; k--) {
            arcs[k] = arcs[k - 1];
            numbers[k] = numbers[k - 1];
        }
        arcs[k] = arc;
        numbers[k] = number;
    }
}

/* Links by their target become arcs by their source: counted, then put in place. first[s + 1] is where the next arc of s goes. graph_arcs: room for their numbers. */
static void place_arcs(trl__decoder *d, const uint32_t *number, uint32_t *graph_arcs)
{
    trl__raw_lattice *raw = &d->raw;
    uint32_t sum = 0;
    for (int32_t s = 0; s <= raw->states + 1; s++)
        raw->first[s] = 0;
    for (size_t t = 0; t < d->frame_count; t++)
        for (uint32_t i = 0; i < d->frames[t].links; i++)
            raw->first[source_of(d, number, t, i) + 1]++;
    for (int32_t s = 0; s <= raw->states; s++) {
        uint32_t count = raw->first[s + 1];
        raw->first[s + 1] = sum;
        sum += count;
    }
    for (size_t t = 0; t < d->frame_count; t++) {
        const trl__frame *frame = &d->frames[t];
        for (uint32_t i = 0; i < frame->links; i++) {
            const trl__link *link = &d->links[frame->first_link + i];
            const trl__network_arc *arc = &d->graph->arcs[link->arc];
            uint32_t place = raw->first[source_of(d, number, t, i) + 1]++;
            raw->arcs[place] = (trl__raw_arc){(int32_t)number[frame->first_token + link->to], arc->transition,
                                              arc->word, arc->cost, link->acoustic};
            graph_arcs[place] = link->arc;
        }
    }
    raw->first[0] = 0;
    for (int32_t s = 0; s < raw->states; s++)
        sort_arcs(raw->arcs + raw->first[s], graph_arcs + raw->first[s], raw->first[s + 1] - raw->first[s]);
}

int trl__decoder_collect(trl__decoder *d, trl_error *err)
{
    uint32_t *number = NULL;
    int code = reserve_lattice(d, err);
    if (code == 0)
        code = number_states(d, &number, err);
    if (code < 0)
        return code;
    uint32_t *graph_arcs = trl__scratch_get(&d->order, d->link_count + 1, sizeof *graph_arcs);
    if (!graph_arcs)
        return trl__fail_memory(err);
    d->raw.states = (int32_t)d->token_count;
    d->raw.frames = (int32_t)(d->frame_count - 1);
    describe_states(d, number);
    place_arcs(d, number, graph_arcs);
    return 0;
}

/* ---- before the end ---- */

typedef struct position {
    size_t frame;
    uint32_t token;
} position;

/* One link back along a token's own way; returns its word, or -1 at the beginning. */
static int32_t step_back(const trl__decoder *d, position *at)
{
    const trl__frame *frame = &d->frames[at->frame];
    uint32_t back = d->tokens[frame->first_token + at->token].back;
    if (back == TRL__NO_LINK)
        return -1;
    const trl__link *link = &d->links[frame->first_link + back];
    at->token = link->from;
    at->frame -= back < frame->emitting;
    return d->graph->arcs[link->arc].word;
}

int trl__token_precedes(const trl__decoder *d, const trl__token *a, const trl__token *b)
{
    token_key x = key_of(d, a->state), y = key_of(d, b->state);
    return a->cost < b->cost || (a->cost == b->cost && compare_keys(&x, &y) < 0);
}

uint32_t trl__best_token(const trl__decoder *d, const trl__frame *frame)
{
    const trl__token *tokens = d->tokens + frame->first_token;
    uint32_t best = 0;
    for (uint32_t i = 1; i < frame->tokens; i++)
        best = trl__token_precedes(d, &tokens[i], &tokens[best]) ? i : best;
    return best;
}

int trl__decoder_is_alive(const trl__decoder *d)
{
    return d->frame_count > 0 && d->frames[d->frame_count - 1].tokens > 0;
}

size_t trl__decoder_recent(const trl__decoder *d, int32_t *transitions, size_t most)
{
    size_t count = 0;
    if (!trl__decoder_is_alive(d))
        return 0;
    position at = {d->frame_count - 1, trl__best_token(d, &d->frames[d->frame_count - 1])};
    while (count < most) {
        const trl__frame *frame = &d->frames[at.frame];
        uint32_t back = d->tokens[frame->first_token + at.token].back;
        if (step_back(d, &at) < 0)
            break;
        int32_t transition = d->graph->arcs[d->links[frame->first_link + back].arc].transition;
        if (transition > 0)
            transitions[count++] = transition;
    }
    return count;
}

/* The tokens that some way of today passed when its frame had come, frame by frame backwards, until there is one. flags: two rows of bytes, as wide as the
 * most tokens. */
static position find_common(const trl__decoder *d, uint8_t *flags, size_t width)
{
    size_t t = d->frame_count - 1, alive = d->frames[t].tokens;
    uint8_t *now = flags, *earlier = flags + width;
    for (uint32_t i = 0; i < d->frames[t].tokens; i++)
        now[i] = 1;
    for (; t > 0 && alive > 1; t--) {
        alive = 0;
        for (uint32_t i = 0; i < d->frames[t - 1].tokens; i++)
            earlier[i] = 0;
        for (uint32_t i = 0; i < d->frames[t].tokens; i++) {
            position at = {t, i};
            while (now[i] && at.frame == t)
                step_back(d, &at);
            alive += now[i] && !earlier[at.token];
            earlier[at.token] |= now[i];
        }
        uint8_t *other = now;
        now = earlier;
        earlier = other;
    }
    uint32_t token = 0; /* where the start is */
    while (alive == 1 && !now[token])
        token++;
    return (position){t, token};
}

static int find_settled(trl__decoder *d, position *settled, trl_error *err)
{
    size_t width = 1;
    for (size_t t = 0; t < d->frame_count; t++)
        width = d->frames[t].tokens > width ? d->frames[t].tokens : width;
    uint8_t *flags = trl__scratch_get(&d->order, 2 * width, 1);
    if (!flags)
        return trl__fail_memory(err);
    *settled = find_common(d, flags, width);
    return 0;
}

int trl__decoder_partial(trl__decoder *d, int settled, const int32_t **words, size_t *count, trl_error *err)
{
    *count = 0;
    *words = d->words;
    if (d->frame_count == 0 || d->is_finished)
        return trl__fail(err, TRL_EINVAL, "partial results are those of an utterance that is not finished");
    const trl__frame *last = &d->frames[d->frame_count - 1];
    if (last->tokens == 0)
        return 0;
    position at = {d->frame_count - 1, trl__best_token(d, last)};
    if (settled && find_settled(d, &at, err) < 0)
        return TRL_ENOMEM;
    for (int32_t word; (word = step_back(d, &at)) >= 0;) {
        if (word == 0)
            continue;
        if (TRL_GROW(d->words, d->word_capacity, *count + 1) < 0)
            return trl__fail_memory(err);
        d->words[(*count)++] = word;
    }
    for (size_t i = 0; i < *count / 2; i++) {
        int32_t kept = d->words[i];
        d->words[i] = d->words[*count - 1 - i];
        d->words[*count - 1 - i] = kept;
    }
    *words = d->words;
    return 0;
}
