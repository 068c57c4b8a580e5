/* Minimum Bayes risk: the words with the least expected edit distance to the paths of a lattice (Xu, Povey, Mangu, Zhu 2011).
 *
 * The words, with an empty slot before each and behind the last, are aligned to the whole lattice at once: ahead[n][q] is the expected distance of the ways to
 * node n to the first q slots, where each arc chooses what is best for the mean of the ways before it (the paper's alpha'). Back along those choices
 * probability flows, and slots[q] sees how much of it comes with which word. Each slot then takes its most probable word, or none, and all begins again, until
 * nothing changes. The choice for the mean makes the sum of risks an upper bound, so near it better words may be had: at last single words are
 * changed as long as the true expected distance (lattice_errors.h) falls.
 *
 * A slot has a time; nodes are compared with the slots around their own time, WIDTH to either side. So cost and memory are O(arcs * WIDTH) for
 * long recordings, and short ones are compared in full.
 */
#include "decode/lattice_mbr.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/tuple_table.h"
#include "decode/lattice_errors.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 100
#define TIE 1e-5        /* words go to an empty slot rather than beside it */
#define MOST_ROUNDS 20  /* in practice it is two or three */
#define MOST_TRIALS 400 /* of single changes, where they are cheap */
#define TRIAL_WORK 1e6  /* what all of them may take: trials * arcs */
#define LEAST_SHARE 0.01

typedef struct slot {
    int32_t word; /* 0: none */
    double first, end;
    double mass;
} slot;

/* A word of a slot: how probable, and when. */
typedef struct share {
    double mass, first, end; /* times: sums of mass * frame */
} share;

/* Nodes are the lattice's states, and one more at the end. */
typedef struct mbr_search {
    const trl_lattice *lattice;
    const trl_lattice_scale *scale;
    double *sums;    /* by node: log of the sum over ways to it */
    slot *slots;     /* slots[q - 1] is slot q */
    int32_t count;   /* of slots */
    size_t capacity; /* of slots */
    slot *other;
    size_t other_capacity;
    int32_t *low, *high; /* by node: the band of q */
    size_t *row;         /* by node: ahead[row[n] + q - low[n]] */
    double *ahead, *behind;
    size_t cells;
    size_t ahead_capacity, behind_capacity;
    double *column; /* of an arc, by q - low of its target */
    uint8_t *choice;
    size_t column_capacity, choice_capacity;
    trl__tuples words; /* slot, word */
    share *shares;     /* by those */
    size_t share_capacity;
    double errors; /* the bound */
} mbr_search;

/* ---- arcs, ends among them ---- */

typedef struct node_arc {
    int32_t from, to, word;
    double probability; /* of coming over it, given that the path comes to `to` */
} node_arc;

static uint32_t arcs_of(const trl_lattice *l, int32_t state)
{
    return l->first[state + 1] - l->first[state] + 1;
}

/* The i-th arc of a state; the last one is its end. Returns 0: there is none. */
static int get_arc(const mbr_search *m, int32_t state, uint32_t i, node_arc *out)
{
    const trl_lattice *l = m->lattice;
    int is_end = i + 1 == arcs_of(l, state);
    const trl_lattice_arc *arc = is_end ? NULL : &l->arcs[l->first[state] + i];
    double cost = is_end ? trl__lattice_end_cost(&l->ends[state], m->scale) : trl__lattice_arc_cost(arc, m->scale);
    if (cost == INFINITY)
        return 0;
    *out = (node_arc){state, is_end ? l->states : arc->next, is_end ? 0 : arc->word, 0};
    out->probability = exp(m->sums[state] - cost - m->sums[out->to]);
    return 1;
}

static double time_of(const mbr_search *m, int32_t node)
{
    return node < m->lattice->states ? m->lattice->time[node] : m->lattice->frames;
}

/* ---- bands ---- */

/* How many slots begin before the node; slots in order of time, as nearly they are. */
static int32_t slots_before(const mbr_search *m, double time)
{
    int32_t low = 0, high = m->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (m->slots[middle].first < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int set_bands(mbr_search *m, trl_error *err)
{
    int32_t nodes = m->lattice->states + 1;
    node_arc arc;
    for (int32_t n = 0; n < nodes; n++) {
        int32_t centre = slots_before(m, time_of(m, n));
        m->low[n] = centre > WIDTH ? centre - WIDTH : 0;
        m->high[n] = m->count - centre > WIDTH ? centre + WIDTH : m->count;
    }
    m->low[0] = 0;
    m->high[nodes - 1] = m->count;
    for (int32_t n = 0; n + 1 < nodes; n++)
        for (uint32_t i = 0; i < arcs_of(m->lattice, n); i++)
            if (get_arc(m, n, i, &arc) && m->low[arc.to] > m->high[n])
                m->low[arc.to] = m->high[n];
    m->cells = 0;
    for (int32_t n = 0; n < nodes; n++) {
        m->row[n] = m->cells;
        m->cells += (size_t)(m->high[n] - m->low[n]) + 1;
    }
    size_t widest = (size_t)m->count + 1;
    if (TRL_GROW(m->ahead, m->ahead_capacity, m->cells) < 0 || TRL_GROW(m->behind, m->behind_capacity, m->cells) < 0 ||
        TRL_GROW(m->column, m->column_capacity, widest) < 0 || TRL_GROW(m->choice, m->choice_capacity, widest) < 0)
        return trl__fail_memory(err);
    return 0;
}

static double ahead_at(const mbr_search *m, int32_t node, int32_t q)
{
    return q < m->low[node] || q > m->high[node] ? INFINITY : m->ahead[m->row[node] + (size_t)(q - m->low[node])];
}

/* ---- distances ---- */

enum { TOGETHER, BESIDE, SLOT_ALONE };

/* The arc's distances to the first q slots, and how each was chosen: arc and slot q together, the arc beside the slots, or slot q without it. */
static void fill_column(mbr_search *m, const node_arc *arc)
{
    int32_t low = m->low[arc->to];
    double beside = arc->word ? 1 + TIE : 0;
    for (int32_t q = low; q <= m->high[arc->to]; q++) {
        int32_t word = q > 0 ? m->slots[q - 1].word : 0;
        double together = q > 0 ? ahead_at(m, arc->from, q - 1) + (arc->word != word) : INFINITY;
        double alone = q > low ? m->column[q - 1 - low] + (word != 0) : INFINITY;
        double best = ahead_at(m, arc->from, q) + beside;
        uint8_t choice = BESIDE;
        if (together <= best) {
            best = together;
            choice = TOGETHER;
        }
        if (alone < best) {
            best = alone;
            choice = SLOT_ALONE;
        }
        m->column[q - low] = best;
        m->choice[q - low] = choice;
    }
}

static void measure(mbr_search *m)
{
    node_arc arc;
    for (size_t i = 0; i < m->cells; i++)
        m->ahead[i] = 0;
    for (int32_t q = 1; q <= m->high[0]; q++)
        m->ahead[q] = m->ahead[q - 1] + (m->slots[q - 1].word != 0);
    for (int32_t n = 0; n < m->lattice->states; n++)
        for (uint32_t i = 0; i < arcs_of(m->lattice, n); i++) {
            if (!get_arc(m, n, i, &arc) || arc.probability == 0)
                continue;
            double *to = m->ahead + m->row[arc.to];
            fill_column(m, &arc);
            for (int32_t k = 0; k <= m->high[arc.to] - m->low[arc.to]; k++)
                to[k] += arc.probability * m->column[k];
        }
    m->errors = ahead_at(m, m->lattice->states, m->count);
}

/* ---- shares ---- */

static int add_share(mbr_search *m, int32_t q, int32_t word, double mass, double first, double end, trl_error *err)
{
    size_t before = m->words.count;
    int64_t number = trl__tuples_add(&m->words, (int32_t[]){q, word});
    if (number < 0 || TRL_GROW(m->shares, m->share_capacity, (size_t)number + 1) < 0)
        return trl__fail_memory(err);
    if (m->words.count > before)
        m->shares[number] = (share){0};
    m->shares[number].mass += mass;
    m->shares[number].first += mass * first;
    m->shares[number].end += mass * end;
    return 0;
}

/* Probability goes back along the choices of an arc. */
static int flow_back(mbr_search *m, const node_arc *arc, trl_error *err)
{
    int32_t low = m->low[arc->to], from_low = m->low[arc->from];
    const double *to = m->behind + m->row[arc->to];
    double *from = m->behind + m->row[arc->from];
    double first = time_of(m, arc->from), end = time_of(m, arc->to), above = 0;
    int code = 0;
    fill_column(m, arc);
    for (int32_t q = m->high[arc->to]; code == 0 && q >= low; q--) {
        double flow = arc->probability * to[q - low] + above;
        above = 0;
        if (flow == 0)
            continue;
        uint8_t choice = m->choice[q - low];
        if (choice == TOGETHER) {
            from[q - 1 - from_low] += flow;
            code = add_share(m, q, arc->word, flow, first, end, err);
        } else if (choice == BESIDE) {
            from[q - from_low] += flow;
        } else {
            above = flow;
            code = add_share(m, q, 0, flow, end, end, err);
        }
    }
    return code;
}

static int share_out(mbr_search *m, trl_error *err)
{
    node_arc arc;
    int code = 0;
    double above = 0;
    m->words.count = 0; /* the table is emptied: its slots, too */
    if (m->words.slot_count > 0)
        memset(m->words.slots, 0, m->words.slot_count * sizeof *m->words.slots);
    for (size_t i = 0; i < m->cells; i++)
        m->behind[i] = 0;
    m->behind[m->row[m->lattice->states] + (size_t)(m->count - m->low[m->lattice->states])] = 1;
    for (int32_t n = m->lattice->states - 1; n >= 0; n--)
        for (uint32_t i = 0; code == 0 && i < arcs_of(m->lattice, n); i++)
            if (get_arc(m, n, i, &arc) && arc.probability > 0)
                code = flow_back(m, &arc, err);
    for (int32_t q = m->high[0]; code == 0 && q > 0; q--) {
        above += m->behind[q];
        if (above > 0)
            code = add_share(m, q, 0, above, 0, 0, err);
    }
    return code;
}

/* ---- slots ---- */

static int put_slot(mbr_search *m, slot s, trl_error *err)
{
    if (TRL_GROW(m->slots, m->capacity, (size_t)m->count + 1) < 0)
        return trl__fail_memory(err);
    m->slots[m->count++] = s;
    return 0;
}

/* One of the words that slots are made of later. */
static int note_word(mbr_search *m, int32_t *count, slot s, trl_error *err)
{
    if (TRL_GROW(m->other, m->other_capacity, (size_t)*count + 1) < 0)
        return trl__fail_memory(err);
    m->other[(*count)++] = s;
    return 0;
}

/* The words of `from`, with an empty slot before each and behind the last; times do not fall. */
static int space_out(mbr_search *m, const slot *from, int32_t count, trl_error *err)
{
    double end = 0;
    int code = 0;
    m->count = 0;
    for (int32_t i = 0; code == 0 && i <= count; i++) {
        slot s = i < count ? from[i] : (slot){0};
        if (i < count && s.word == 0)
            continue;
        code = put_slot(m, (slot){.first = end, .end = end}, err);
        if (i == count || code < 0)
            break;
        s.first = fmax(s.first, end);
        s.end = end = fmax(s.end, s.first);
        code = put_slot(m, s, err);
    }
    return code;
}

static int copy_slots(mbr_search *m, trl_error *err)
{
    if (TRL_GROW(m->other, m->other_capacity, (size_t)m->count + 1) < 0)
        return trl__fail_memory(err);
    memcpy(m->other, m->slots, (size_t)m->count * sizeof *m->slots);
    return 0;
}

/* Slots know how probable their words are, and when they are said. */
static void look_up_words(mbr_search *m)
{
    for (int32_t q = 1; q <= m->count; q++) {
        slot *s = &m->slots[q - 1];
        int64_t number = trl__tuples_find(&m->words, (int32_t[]){q, s->word});
        const share *found = number >= 0 ? &m->shares[number] : NULL;
        s->mass = found ? found->mass : 0;
        if (found && found->mass > 0 && s->word) {
            s->first = found->first / found->mass;
            s->end = found->end / found->mass;
        }
    }
}

/* Every slot takes its most probable word; an old one stays unless another is better. Returns whether any changed. */
static int choose_words(mbr_search *m)
{
    int changed = 0;
    look_up_words(m);
    for (size_t i = 0; i < m->words.count; i++) {
        const int32_t *key = trl__tuples_get(&m->words, (int64_t)i);
        slot *s = &m->slots[key[0] - 1];
        const share *found = &m->shares[i];
        if (key[1] == s->word || found->mass <= s->mass + 1e-9)
            continue;
        *s = (slot){key[1], found->first / found->mass, found->end / found->mass, found->mass};
        changed = 1;
    }
    return changed;
}

static int align_slots(mbr_search *m, trl_error *err)
{
    int code = set_bands(m, err);
    if (code < 0)
        return code;
    measure(m);
    return share_out(m, err);
}

/* Rounds until the words stay. Slots are as they were aligned last, words looked up. */
static int iterate(mbr_search *m, trl_error *err)
{
    int code = align_slots(m, err);
    for (int round = 0; code == 0 && round < MOST_ROUNDS && choose_words(m); round++) {
        code = copy_slots(m, err);
        if (code == 0)
            code = space_out(m, m->other, m->count, err);
        if (code == 0)
            code = align_slots(m, err);
    }
    if (code == 0)
        look_up_words(m);
    return code;
}

/* ---- the true expected distance ---- */

static int true_errors(const mbr_search *m, const slot *slots, int32_t count, double *errors, trl_error *err)
{
    int32_t *words = trl__alloc((size_t)count + 1, sizeof *words);
    size_t used = 0;
    if (!words)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < count; i++)
        if (slots[i].word)
            words[used++] = slots[i].word;
    int code = trl__lattice_expected_errors(m->lattice, m->scale, words, used, errors, err);
    trl__free(words);
    return code;
}

/* Tries the words that slots share with others, one change at a time; m->other becomes the best of them. Returns 1: it is better, 0: none is. */
static int try_changes(mbr_search *m, double *errors, int *trials, trl_error *err)
{
    int code = copy_slots(m, err), best_slot = -1;
    slot best = {0};
    double least = *errors - 1e-9;
    for (size_t i = 0; code == 0 && i<m->words.count && * trials> 0; i++) {
        const int32_t *key = trl__tuples_get(&m->words, (int64_t)i);
        slot *s = &m->other[key[0] - 1], kept = *s;
        const share *found = &m->shares[i];
        double now = 0;
        if (key[1] == s->word || found->mass < LEAST_SHARE)
            continue;
        --*trials;
        *s = (slot){key[1], found->first / found->mass, found->end / found->mass, found->mass};
        code = true_errors(m, m->other, m->count, &now, err);
        if (code == 0 && now >= 0 && now < least) {
            least = now;
            best = *s;
            best_slot = key[0] - 1;
        }
        *s = kept;
    }
    if (code < 0 || best_slot < 0)
        return code;
    m->other[best_slot] = best;
    *errors = least;
    return 1;
}

static int polish(mbr_search *m, double *errors, trl_error *err)
{
    double work = 100.0 + m->lattice->first[m->lattice->states];
    int trials = (int)fmin(MOST_TRIALS, TRIAL_WORK / work), code = 1;
    while (code > 0 && *errors >= 0) {
        code = try_changes(m, errors, &trials, err);
        if (code <= 0)
            return code;
        int better = space_out(m, m->other, m->count, err);
        if (better == 0)
            better = align_slots(m, err);
        if (better < 0)
            return better;
        look_up_words(m);
    }
    return 0;
}

/* ---- the best path ---- */

/* Its words become the slots; its costs go to *h. */
static int follow_best(mbr_search *m, trl_hypothesis *h, trl_error *err)
{
    const trl_lattice *l = m->lattice;
    double *rest = trl__alloc((size_t)l->states + 1, sizeof *rest);
    int32_t count = 0, s = 0;
    int code = rest ? 0 : trl__fail_memory(err);
    if (code == 0)
        trl__lattice_rests(l, m->scale, rest);
    while (code == 0) {
        uint32_t best = UINT32_MAX;
        double least = trl__lattice_end_cost(&l->ends[s], m->scale);
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
            double cost = trl__lattice_arc_cost(&l->arcs[a], m->scale) + rest[l->arcs[a].next];
            if (cost < least) {
                least = cost;
                best = a;
            }
        }
        if (best == UINT32_MAX)
            break;
        const trl_lattice_arc *arc = &l->arcs[best];
        h->graph += (double)arc->graph;
        h->acoustic += (double)arc->acoustic;
        if (arc->word)
            code = note_word(m, &count, (slot){arc->word, l->time[s], l->time[arc->next], 0}, err);
        s = arc->next;
    }
    trl__free(rest);
    if (code < 0)
        return code;
    h->graph += (double)l->ends[s].graph;
    h->acoustic += (double)l->ends[s].acoustic;
    return space_out(m, m->other, count, err);
}

/* ---- the whole ---- */

/* Means of different paths may overlap: the words meet half-way then, in order of time. */
static void part_words(trl_lattice_word *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        trl_lattice_word *a = &words[i - 1], *b = &words[i];
        if (b->first < a->end)
            a->end = b->first = (a->end + b->first) / 2;
        if (a->end < a->first)
            a->end = b->first = a->first;
        b->end = b->end > b->first ? b->end : b->first;
    }
}

/* One block: the hypothesis, then its words. */
static int make_hypothesis(const mbr_search *m, const trl_hypothesis *facts, const slot *times, trl_hypothesis **out,
                           trl_error *err)
{
    size_t words = 0, used = 0;
    for (int32_t i = 0; i < m->count; i++)
        words += m->slots[i].word != 0;
    *out = trl__alloc(1, sizeof **out + (words + 1) * sizeof(trl_lattice_word));
    if (!*out)
        return trl__fail_memory(err);
    trl_lattice_word *list = (trl_lattice_word *)(*out + 1);
    for (int32_t i = 0; i < m->count; i++) {
        const slot *s = &m->slots[i], *t = times ? &times[i] : s;
        if (s->word)
            list[used++] = (trl_lattice_word){s->word, (int32_t)lround(t->first), (int32_t)lround(t->end),
                                              fmin(fmax(s->mass, 0), 1)};
    }
    if (!times)
        part_words(list, used);
    **out = *facts;
    (*out)->words = list;
    (*out)->count = words;
    return 0;
}

static int prepare(mbr_search *m, trl_error *err)
{
    const trl_lattice *l = m->lattice;
    size_t nodes = (size_t)l->states + 1;
    m->sums = trl__alloc(2 * nodes, sizeof *m->sums);
    m->low = trl__alloc(2 * nodes, sizeof *m->low);
    m->row = trl__alloc(nodes, sizeof *m->row);
    if (!m->sums || !m->low || !m->row)
        return trl__fail_memory(err);
    m->high = m->low + nodes;
    m->sums[l->states] = trl__lattice_sums(l, m->scale, m->sums, m->sums + nodes);
    return 0;
}

static void free_search(mbr_search *m)
{
    trl__free(m->sums);
    trl__free(m->slots);
    trl__free(m->other);
    trl__free(m->low);
    trl__free(m->row);
    trl__free(m->ahead);
    trl__free(m->behind);
    trl__free(m->column);
    trl__free(m->choice);
    trl__tuples_free(&m->words);
    trl__free(m->shares);
}

/* The best path keeps its own times, words with the least risk have those of their shares. */
static int find_words(mbr_search *m, int is_mbr, trl_hypothesis **out, trl_error *err)
{
    trl_hypothesis facts = {0};
    if (m->lattice->states == 0)
        return make_hypothesis(m, &facts, NULL, out, err);
    int code = prepare(m, err);
    if (code == 0)
        code = follow_best(m, &facts, err);
    if (code == 0)
        code = is_mbr ? iterate(m, err) : align_slots(m, err);
    if (code == 0 && !is_mbr)
        code = copy_slots(m, err);
    if (code < 0)
        return code;
    if (!is_mbr)
        look_up_words(m);
    code = true_errors(m, m->slots, m->count, &facts.expected_errors, err);
    if (code == 0 && is_mbr)
        code = polish(m, &facts.expected_errors, err);
    facts.expected_errors = facts.expected_errors < 0 ? m->errors : facts.expected_errors;
    return code < 0 ? code : make_hypothesis(m, &facts, is_mbr ? NULL : m->other, out, err);
}

static int search(const trl_lattice *lattice, const trl_lattice_scale *scale, int is_mbr, trl_hypothesis **out,
                  trl_error *err)
{
    mbr_search m = {.lattice = lattice, .scale = scale, .words = {.width = 2}};
    *out = NULL;
    int code = trl__lattice_check_scale(scale, err);
    if (code == 0)
        code = find_words(&m, is_mbr, out, err);
    free_search(&m);
    return code;
}

/* The words become slots, as those of the best path do. */
static int judge(mbr_search *m, trl_lattice_word *words, size_t count, double *errors, trl_error *err)
{
    int32_t used = 0;
    size_t next = 0;
    int code = prepare(m, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        code = note_word(m, &used, (slot){words[i].word, words[i].first, words[i].end, 0}, err);
    if (code == 0)
        code = space_out(m, m->other, used, err);
    if (code == 0)
        code = align_slots(m, err);
    if (code < 0)
        return code;
    look_up_words(m);
    for (int32_t i = 0; i < m->count && next < count; i++)
        if (m->slots[i].word)
            words[next++].confidence = fmin(fmax(m->slots[i].mass, 0), 1);
    code = true_errors(m, m->slots, m->count, errors, err);
    *errors = *errors < 0 ? m->errors : *errors;
    return code;
}

int trl__lattice_judge(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_lattice_word *words,
                       size_t count, double *errors, trl_error *err)
{
    mbr_search m = {.lattice = lattice, .scale = scale, .words = {.width = 2}};
    int code = trl__lattice_check_scale(scale, err);
    *errors = 0;
    for (size_t i = 0; i < count; i++)
        words[i].confidence = 0;
    if (code == 0 && lattice->states > 0)
        code = judge(&m, words, count, errors, err);
    free_search(&m);
    return code;
}

int trl_lattice_best(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_hypothesis **out, trl_error *err)
{
    return search(lattice, scale, 0, out, err);
}

int trl_lattice_mbr(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_hypothesis **out, trl_error *err)
{
    return search(lattice, scale, 1, out, err);
}

void trl_hypothesis_destroy(trl_hypothesis *hypothesis)
{
    trl__free(hypothesis);
}
