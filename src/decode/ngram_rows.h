/* An n-gram model beside a graph that lacks it, and which of its words the states of that graph still lead to: what composition while
 * searching (lazy_graph.h) needs.
 *
 * The model is flat arrays, used where they lie in the graph's file. A history has a row of the words that may follow it, and one that it backs off to. Backing
 * off is a choice, as it is in a graph that has the model built in: it is possible whether the row has the word or not.
 *
 * The graph beside it, the loop, has all words at any time, each at a cost of its own: `ahead`. That is taken off again when the word is written and the model's
 * put on. */
#ifndef TRL_DECODE_NGRAM_ROWS_H
#define TRL_DECODE_NGRAM_ROWS_H

#include "decode/graph_data.h"

#include <trellis/fst.h>

typedef struct trl__word_range {
    int32_t begin, end; /* words from begin up to, not with, end */
} trl__word_range;

/* What composition reads of a state of the loop, side by side: the graph's arrays have it in six places. 32 bytes, two to a line of the cache. */
typedef struct trl__loop_state {
    uint64_t first;         /* of its arcs */
    uint32_t arcs, silent;  /* how many, and how many of them read nothing */
    uint32_t set;           /* reach */
    float set_ahead, final; /* of the set; of the state */
    int32_t level;
} trl__loop_state;

struct trl__ngram_rows {
    int32_t histories, start, root; /* root: what the start backs off to in the end */
    int32_t words;                  /* one above the highest */
    uint32_t *first;                /* histories + 1: of its row */
    int32_t *word;                  /* of all rows, rising in each */
    int32_t *next;                  /* history behind it */
    float *cost;
    int32_t *shorter; /* by history: what it backs off to; -1: nothing */
    float *backing;   /* by history: the cost of that */
    float *final;     /* by history: the least cost of ending there, backing off or not; INFINITY: can't be */

    float *ahead;    /* by word: its cost in the loop */
    float end_ahead; /* the end's */
    float surplus;   /* what the root's words cost above that */

    /* Look-ahead: the words that a state of the loop leads to before it writes one, as a set of ranges. */
    int32_t loop_states;
    uint32_t *reach; /* by state of the loop: the set; 0: all words, or it is not known */
    int32_t sets;
    uint32_t *set_first; /* sets + 1 */
    trl__word_range *ranges;
    float *set_ahead;        /* by set: the least of its words' costs in the loop */
    trl__loop_state *states; /* by state of the loop */
    int is_mapped;           /* the arrays are those of a file */
};

/* Rows of an acceptor over words whose states have one arc without a word at most (TRL_EUNSUPPORTED). label[l]: the word for label l of the acceptor, below `words`;
 * 0: none; -1, and all from `labels` on: can't be (TRL_EINVAL). */
int trl__ngram_rows_create(const trl_fst *grammar, const int32_t *label, int32_t labels, int32_t words,
                           trl__ngram_rows **out, trl_error *err);
void trl__ngram_rows_destroy(trl__ngram_rows *rows);

/* The loop: one state, all words of the rows at their costs ahead. */
int trl__ngram_rows_loop(const trl__ngram_rows *rows, const trl_symbols *symbols, trl_fst **out, trl_error *err);

/* Fills reach and the sets (word_reach.c). */
int trl__ngram_rows_set_reach(trl__ngram_rows *rows, const trl_graph *loop, trl_error *err);

/* Fills states from the loop and its reach. TRL_ELIMIT: a state has 2^32 arcs. */
int trl__ngram_rows_set_states(trl__ngram_rows *rows, const trl_graph *loop, trl_error *err);

/* Checks what was read from a file. TRL_ECORRUPT, TRL_ENUMBER; `name` stands for the file. */
int trl__ngram_rows_check(const trl__ngram_rows *rows, const char *name, trl_error *err);

/* In the graph's file (ngram_rows_file.c). Writing takes NULL; reading fills graph->rows where there are any, and checks them. */
int trl__ngram_rows_write(trl__ngram_rows *rows, trl__container_writer *writer, trl_error *err);
int trl__ngram_rows_read(trl_graph *graph, const trl__container *file, trl_error *err);

#define TRL__SHORT_ROW 32 /* words among which halving is as quick as guessing */

/* Narrows [*from, *end) around the first word that is not below `word`. Words of a long row are spread evenly, but for chance: a guess by proportion misses by the square root of
 * their number or so, and steps that double find the place from there, close by in memory. */
static inline void trl__row_narrow(const int32_t *words, uint32_t *from, uint32_t *end, int32_t word)
{
    uint32_t last = *end - 1, step = 8;
    int32_t low = words[*from], high = words[last];
    if (word <= low || word > high) {
        *from = *end = word <= low ? *from : *end;
        return;
    }
    float share = (float)(word - low) / (float)(high - low);
    uint32_t guess = *from + (uint32_t)(share * (float)(last - *from));
    guess = guess < last ? guess : last; /* rounding */
    if (words[guess] < word) {
        *from = guess + 1;
        for (; *end - *from > step && words[*from + step] < word; step *= 2)
            *from += step + 1;
        *end = *end - *from > step ? *from + step : *end;
    } else {
        *end = guess;
        for (; *end - *from > step && words[*end - step] >= word; step *= 2)
            *end -= step;
        *from = *end - *from > step ? *end - step + 1 : *from;
    }
}

/* The first place of a row from `from` on, before `end`, whose word is not below `word`. */
static inline uint32_t trl__row_find(const trl__ngram_rows *rows, uint32_t from, uint32_t end, int32_t word)
{
    if (end - from > TRL__SHORT_ROW)
        trl__row_narrow(rows->word, &from, &end, word);
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (rows->word[middle] < word)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* The least cost of any word of the set in the history's own row; INFINITY: it has none. Both are sorted, and are gone through by binary search. */
float trl__ngram_rows_own_best(const trl__ngram_rows *rows, uint32_t set, int32_t history);

#endif
