/* How a recognition graph is made: one machine after the other, each from the one before.
 *
 *     grammar ──words──> units in, words out ──contexts──> HMMs in ──states──> transitions in ──close──> graph
 *
 * On the way there are symbols, labels that stand for no sound. They keep apart what sounds alike, so that each machine
 * can be deterministic: the ends of words that are said alike or go on as another word, ways of the grammar without a
 * word. At the end they become epsilons. Weights are costs in the log semiring.
 */
#ifndef TRL_DECODE_NETWORK_H
#define TRL_DECODE_NETWORK_H

#include "align/unit_map.h"
#include "base/tuple_table.h"
#include "decode/graph_data.h"
#include "fst/fst_data.h"
#include "model/topology.h"

/* Weights as near as this are the same where states are joined or become one. Scores have errors of the size of a
 * float's. */
#define TRL__NETWORK_DELTA 1e-4f

static inline int32_t trl__network_rounded(float weight)
{
    return isinf(weight) ? INT32_MAX : (int32_t)lrintf(weight / TRL__NETWORK_DELTA);
}

typedef struct trl__network_job {
    const trl_model *model;
    const trl_lexicon *lexicon;
    const trl__unit_map *map;
    trl_graph_options options; /* most_bytes: without the grammar's */
    int64_t grammar_bytes;
    int32_t symbols;  /* in use so far: 1 … symbols */
    trl__tuples hmms; /* of contexts: unit, triples by state, -1 beyond */
    float *cost;      /* by transition id, scaled */
    int32_t *loop;    /* by transition id: that of staying in its state; 0: none, or there is no way to stay */
} trl__network_job;

/* Words: reads units (unit + 1) and symbols (units + symbol), writes words as the grammar has them. Deterministic. */
int trl__network_words(trl__network_job *job, const trl_fst *grammar, size_t *left_out, trl_fst **out, trl_error *err);

/* Contexts: reads symbols (symbol) and HMMs (job->symbols + 1 + HMM), one per unit, chosen by the units around it. */
int trl__network_contexts(trl__network_job *job, const trl_fst *words, trl_fst **out, trl_error *err);

/* States: reads transitions but those of staying, and epsilon. Loops are still missing. */
int trl__network_states(const trl__network_job *job, const trl_fst *contexts, trl_fst **out, trl_error *err);

/* Removes epsilons where that makes nothing larger. */
int trl__network_shorten(trl_fst *fst, trl_error *err);

/* Joins states with the same future. */
int trl__network_join(trl_fst *fst, trl_error *err);

/* Loops, and the arrays of the graph; symbols and provenance are still missing. */
int trl__network_close(const trl__network_job *job, const trl_fst *states, trl_graph **out, trl_error *err);

/* #0, #1 …: labels that other tools put on back-off arcs. */
int trl__network_is_symbol(const char *name);

/* The words of a table in the order of how they are said, so that those that begin alike have neighbouring labels, from 1; those that the lexicon lacks come last.
 * label[l]: that of the table's label l, for all below *labels; 0: no word; -1: not in the table. */
int trl__network_word_order(const trl_symbols *symbols, const trl_lexicon *lexicon, int32_t **label, int32_t *labels,
                            trl_symbols **out, trl_error *err);

/* An empty machine of so many states that starts at the first. */
int trl__network_new(int32_t states, trl_fst **out, trl_error *err);

/* One more state; TRL_ELIMIT beyond options.most_states. */
int trl__network_add_state(const trl__network_job *job, trl_fst *fst, int32_t *state, trl_error *err);

/* ---- graph.c ---- */

/* The arrays of a machine that reads transitions and writes words, arcs in the order that graph_data.h wants, or
 * TRL_EINVAL: arcs that read nothing form a cycle. Takes over nothing. */
int trl__graph_from_machine(const trl_model *model, const trl_fst *fst, trl_graph **out, trl_error *err);

/* The table of words, shared; NULL: none. */
void trl__graph_set_words(trl_graph *graph, const trl_symbols *symbols);

/* How the words of the graph's table are said, from lexicon and units; comes after the table. TRL_ELIMIT, TRL_ENOMEM. */
int trl__graph_set_spoken(trl_graph *graph, const trl_lexicon *lexicon, const trl__unit_map *map, trl_error *err);

/* Checks indices, costs, order, and that arcs that read nothing form no cycle, whose levels it
 * finds or, where they are there, checks. TRL_ECORRUPT, TRL_ENUMBER, TRL_ENOMEM;
 * `name` stands for the file. */
int trl__graph_check(trl_graph *graph, const char *name, trl_error *err);

/* Reads a graph from an opened file, which it takes over, whatever happens. */
int trl__graph_from_container(trl__container *file, trl_graph **out, trl_error *err);

#define TRL__GRAPH_KIND "graph"
#define TRL__GRAPH_VERSION 3

#endif
