/* Rows of an n-gram model: from its acceptor, their check, and the best of some words behind a history. */
#include "decode/ngram_rows.h"

#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define LONGEST_CHAIN 64 /* histories that back off one to the other */

/* ---- From an acceptor ---- */

static int allocate(trl__ngram_rows *r, size_t histories, size_t arcs, trl_error *err)
{
    r->first = trl__alloc_aligned(histories + 1, sizeof *r->first);
    r->word = trl__alloc_aligned(arcs + 1, sizeof *r->word);
    r->next = trl__alloc_aligned(arcs + 1, sizeof *r->next);
    r->cost = trl__alloc_aligned(arcs + 1, sizeof *r->cost);
    r->shorter = trl__alloc_aligned(histories, sizeof *r->shorter);
    r->backing = trl__alloc_aligned(histories, sizeof *r->backing);
    r->final = trl__alloc_aligned(histories, sizeof *r->final);
    return r->first && r->word && r->next && r->cost && r->shorter && r->backing && r->final ? 0
                                                                                             : trl__fail_memory(err);
}

/* An arc of a row on its way. */
typedef struct row_arc {
    int32_t word, next;
    float cost;
} row_arc;

static int by_word(const void *a, const void *b)
{
    const row_arc *x = a, *y = b;
    return x->word != y->word ? (x->word > y->word) - (x->word < y->word) : (x->next > y->next) - (x->next < y->next);
}

static int add_backing(trl__ngram_rows *r, int32_t s, const trl_arc *a, trl_error *err)
{
    if (r->shorter[s] >= 0)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "composition while searching takes n-gram models; this grammar has a state with several ways "
                         "without a word; build the whole graph instead");
    r->shorter[s] = a->next;
    r->backing[s] = a->weight.value;
    return 0;
}

/* *count arcs of state s go to row[]. */
static int read_row(trl__ngram_rows *r, const trl_fst *grammar, int32_t s, const int32_t *label, int32_t labels,
                    row_arc *row, uint32_t *count, trl_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(grammar, s); i++) {
        trl_arc a = trl_fst_arc(grammar, s, i);
        if (isinf(a.weight.value))
            continue;
        int32_t highest = a.ilabel > a.olabel ? a.ilabel : a.olabel;
        if (highest >= labels || label[a.ilabel] < 0 || label[a.olabel] < 0)
            return trl__fail(err, TRL_EINVAL, "the grammar's table has no word for label %" PRId32, highest);
        if (label[a.ilabel] != label[a.olabel])
            return trl__fail(err, TRL_EINVAL, "the grammar reads one word and writes another; it must be an acceptor");
        if (label[a.ilabel] == 0)
            code = add_backing(r, s, &a, err);
        else
            row[(*count)++] = (row_arc){label[a.ilabel], a.next, a.weight.value};
    }
    return code;
}

static int fill(trl__ngram_rows *r, const trl_fst *grammar, const int32_t *label, int32_t labels, trl_error *err)
{
    uint32_t used = 0, longest = 0;
    int code = 0;
    for (int32_t s = 0; s < r->histories; s++)
        longest = trl_fst_arc_count(grammar, s) > longest ? trl_fst_arc_count(grammar, s) : longest;
    row_arc *row = trl__alloc((size_t)longest + 1, sizeof *row);
    if (!row)
        return trl__fail_memory(err);
    for (int32_t s = 0; code == 0 && s < r->histories; s++) {
        uint32_t count = 0;
        r->first[s] = used;
        r->shorter[s] = -1;
        r->backing[s] = 0;
        r->final[s] = trl_fst_final(grammar, s).value;
        code = read_row(r, grammar, s, label, labels, row, &count, err);
        qsort(row, count, sizeof *row, by_word);
        for (uint32_t i = 0; i < count; i++, used++) {
            r->word[used] = row[i].word;
            r->next[used] = row[i].next;
            r->cost[used] = row[i].cost;
        }
    }
    r->first[r->histories] = used;
    trl__free(row);
    return code;
}

/* How many histories a history backs off to, one after the other; -1: without end. */
static int chain_length(const trl__ngram_rows *r, int32_t history)
{
    int length = 0;
    for (; r->shorter[history] >= 0; history = r->shorter[history])
        if (++length > LONGEST_CHAIN)
            return -1;
    return length;
}

/* Ends of shorter histories count for longer ones, too. */
static int settle_ends(trl__ngram_rows *r, trl_error *err)
{
    for (int32_t s = 0; s < r->histories; s++) {
        float least = INFINITY, backing = 0;
        if (chain_length(r, s) < 0)
            return trl__fail(err, TRL_EUNSUPPORTED, "histories of the grammar back off without end");
        for (int32_t h = s; h >= 0; backing += r->backing[h], h = r->shorter[h])
            least = fminf(least, backing + r->final[h]);
        r->final[s] = least; /* sums over what is settled already are the same */
    }
    r->root = r->start;
    while (r->shorter[r->root] >= 0)
        r->root = r->shorter[r->root];
    return 0;
}

/* ---- Costs ahead ---- */

static double log_sum(double a, double b)
{
    double least = a < b ? a : b, most = a < b ? b : a;
    return isinf(least) ? least : least - log1p(exp(least - most));
}

/* Those of the root, less what makes their probabilities one together. Words that it lacks are as rare as its rarest. */
static int set_ahead(trl__ngram_rows *r, trl_error *err)
{
    uint32_t begin = r->first[r->root], end = r->first[r->root + 1];
    float most = isinf(r->final[r->root]) ? 0 : r->final[r->root];
    double sum = INFINITY;
    r->ahead = trl__alloc_aligned((size_t)r->words, sizeof *r->ahead);
    if (!r->ahead)
        return trl__fail_memory(err);
    for (int32_t w = 0; w < r->words; w++)
        r->ahead[w] = INFINITY;
    for (uint32_t i = begin; i < end; i++) {
        r->ahead[r->word[i]] = fminf(r->ahead[r->word[i]], r->cost[i]);
        most = fmaxf(most, r->cost[i]);
    }
    r->end_ahead = isinf(r->final[r->root]) ? most : r->final[r->root];
    for (uint32_t i = 0; i < r->first[r->histories]; i++)
        if (isinf(r->ahead[r->word[i]]))
            r->ahead[r->word[i]] = most;
    for (int32_t w = 0; w < r->words; w++)
        sum = log_sum(sum, (double)r->ahead[w]);
    r->surplus = (float)log_sum(sum, (double)r->end_ahead);
    for (int32_t w = 0; w < r->words; w++)
        r->ahead[w] -= isinf(r->ahead[w]) ? 0 : r->surplus;
    r->end_ahead -= r->surplus;
    return 0;
}

int trl__ngram_rows_create(const trl_fst *grammar, const int32_t *label, int32_t labels, int32_t words,
                           trl__ngram_rows **out, trl_error *err)
{
    trl__ngram_rows *r = *out = trl__alloc_zero(1, sizeof *r);
    if (!r)
        return trl__fail_memory(err);
    r->histories = trl_fst_states(grammar);
    r->start = trl_fst_start(grammar);
    r->words = words;
    int code = 0;
    if (r->start == TRL_NO_STATE)
        code = trl__fail(err, TRL_EINVAL, "the grammar allows nothing, not even silence");
    else if (trl_fst_arcs(grammar) >= UINT32_MAX)
        code = trl__fail(err, TRL_ELIMIT, "the grammar has too many arcs");
    if (code == 0)
        code = allocate(r, (size_t)r->histories, (size_t)trl_fst_arcs(grammar), err);
    if (code == 0)
        code = fill(r, grammar, label, labels, err);
    if (code == 0)
        code = settle_ends(r, err);
    if (code == 0)
        code = set_ahead(r, err);
    if (code < 0) {
        trl__ngram_rows_destroy(r);
        *out = NULL;
    }
    return code;
}

void trl__ngram_rows_destroy(trl__ngram_rows *r)
{
    if (r && !r->is_mapped) {
        trl__free(r->first);
        trl__free(r->word);
        trl__free(r->next);
        trl__free(r->cost);
        trl__free(r->shorter);
        trl__free(r->backing);
        trl__free(r->final);
        trl__free(r->ahead);
        trl__free(r->reach);
        trl__free(r->set_first);
        trl__free(r->ranges);
        trl__free(r->set_ahead);
    }
    if (r)
        trl__free(r->states);
    trl__free(r);
}

int trl__ngram_rows_loop(const trl__ngram_rows *r, const trl_symbols *symbols, trl_fst **out, trl_error *err)
{
    int code = trl_fst_create(TRL_TROPICAL, out, err);
    if (code == 0)
        code = trl_fst_add_states(*out, 1, err);
    if (code == 0)
        code = trl_fst_set_start(*out, 0, err);
    if (code == 0)
        code = trl_fst_set_final(*out, 0, (trl_weight){r->end_ahead, 0}, err);
    for (int32_t w = 1; code == 0 && w < r->words; w++)
        if (!isinf(r->ahead[w]))
            code = trl_fst_add_arc(*out, 0, (trl_arc){w, w, {r->ahead[w], 0}, 0}, err);
    if (code == 0)
        trl_fst_set_symbols(*out, trl_symbols_share((trl_symbols *)(uintptr_t)symbols), NULL); /* only read */
    return code;
}

int trl__ngram_rows_set_states(trl__ngram_rows *r, const trl_graph *loop, trl_error *err)
{
    r->states = trl__alloc_large((size_t)loop->states, sizeof *r->states);
    if (!r->states)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < loop->states; s++) {
        uint64_t arcs = loop->end[s] - loop->first[s];
        if (arcs > UINT32_MAX)
            return trl__fail(err, TRL_ELIMIT, "state %" PRId32 " of the graph has more than 2^32 arcs", s);
        r->states[s] = (trl__loop_state){.first = loop->first[s],
                                         .arcs = (uint32_t)arcs,
                                         .silent = (uint32_t)(loop->emitting[s] - loop->first[s]),
                                         .set = r->reach[s],
                                         .set_ahead = r->set_ahead[r->reach[s]],
                                         .final = loop->final[s],
                                         .level = loop->level[s]};
    }
    return 0;
}

/* ---- Look-ahead ---- */

/* The least cost in a row from i on, of words below `end`; *i becomes the first that is not. */
static float least_below(const trl__ngram_rows *r, uint32_t *i, uint32_t row_end, int32_t end)
{
    float least = INFINITY;
    for (; *i < row_end && r->word[*i] < end; ++*i)
        least = r->cost[*i] < least ? r->cost[*i] : least;
    return least;
}

float trl__ngram_rows_own_best(const trl__ngram_rows *r, uint32_t set, int32_t history)
{
    if (history == r->root)
        return r->set_ahead[set] + r->surplus;
    uint32_t i = r->first[history], row_end = r->first[history + 1];
    const trl__word_range *range = r->ranges + r->set_first[set], *end = r->ranges + r->set_first[set + 1];
    float least = INFINITY;
    while (i < row_end && range < end) {
        i = trl__row_find(r, i, row_end, range->begin);
        float cost = least_below(r, &i, row_end, range->end);
        least = cost < least ? cost : least;
        const trl__word_range *from = range + 1, *to = end;
        while (i < row_end && from < to) { /* the first range that does not end before the row's next word */
            const trl__word_range *middle = from + (to - from) / 2;
            if (middle->end <= r->word[i])
                from = middle + 1;
            else
                to = middle;
        }
        range = from;
    }
    return least;
}

/* ---- What comes from a file ---- */

static int check_history(const trl__ngram_rows *r, int32_t s, const char *name, trl_error *err)
{
    if (r->first[s] > r->first[s + 1] || r->first[s + 1] > r->first[r->histories] || r->shorter[s] < -1 ||
        r->shorter[s] >= r->histories)
        return trl__fail(err, TRL_ECORRUPT, "%s: history %" PRId32 " of the language model is wrong", name, s);
    if (!isfinite(r->backing[s]) || isnan(r->final[s]) || r->final[s] == -INFINITY)
        return trl__fail(err, TRL_ENUMBER, "%s: history %" PRId32 " of the language model has no number as cost", name,
                         s);
    for (uint32_t i = r->first[s]; i < r->first[s + 1]; i++) {
        if (r->word[i] < 1 || r->word[i] >= r->words || (i > r->first[s] && r->word[i] < r->word[i - 1]) ||
            r->next[i] < 0 || r->next[i] >= r->histories)
            return trl__fail(err, TRL_ECORRUPT, "%s: n-gram %" PRIu32 " of the language model is wrong", name, i);
        if (!isfinite(r->cost[i]))
            return trl__fail(err, TRL_ENUMBER, "%s: n-gram %" PRIu32 " of the language model has no number as cost",
                             name, i);
    }
    return 0;
}

static int check_sets(const trl__ngram_rows *r, const char *name, trl_error *err)
{
    for (int32_t s = 0; s < r->sets; s++) {
        if (r->set_first[s] > r->set_first[s + 1] || r->set_first[s + 1] > r->set_first[r->sets] ||
            isnan(r->set_ahead[s]) || r->set_ahead[s] == -INFINITY)
            return trl__fail(err, TRL_ECORRUPT, "%s: set %" PRId32 " of words is wrong", name, s);
        int32_t end = 1;
        for (uint32_t i = r->set_first[s]; i < r->set_first[s + 1]; i++) {
            if (r->ranges[i].begin < end || r->ranges[i].end <= r->ranges[i].begin || r->ranges[i].end > r->words)
                return trl__fail(err, TRL_ECORRUPT, "%s: set %" PRId32 " of words is wrong", name, s);
            end = r->ranges[i].end;
        }
    }
    for (int32_t s = 0; s < r->loop_states; s++)
        if (r->reach[s] >= (uint32_t)r->sets)
            return trl__fail(err, TRL_ECORRUPT, "%s: state %" PRId32 " leads to a set of words that is not there", name,
                             s);
    return 0;
}

int trl__ngram_rows_check(const trl__ngram_rows *r, const char *name, trl_error *err)
{
    int code = 0;
    for (int32_t s = 0; code == 0 && s < r->histories; s++)
        code = check_history(r, s, name, err);
    for (int32_t s = 0; code == 0 && s < r->histories; s++)
        if (chain_length(r, s) < 0)
            code = trl__fail(err, TRL_ECORRUPT, "%s: histories of the language model back off without end", name);
    for (int32_t w = 0; code == 0 && w < r->words; w++)
        if (isnan(r->ahead[w]) || r->ahead[w] == -INFINITY)
            code = trl__fail(err, TRL_ENUMBER, "%s: word %" PRId32 " has no number as cost", name, w);
    return code < 0 ? code : check_sets(r, name, err);
}
