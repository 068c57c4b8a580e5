/* Recognition graphs: what can be said, down to the states of the model, in one machine (H∘C∘L∘G).
 *
 *     trl_graph_options o = trl_graph_defaults();
 *     trl_graph_build(model, lexicon, grammar, &o, &graph, NULL, &err);   // an acceptor of words: grammar.h, fst_file.h
 *     trl_graph_write(graph, "an4.trg", &err);
 *     trl_graph_read("an4.trg", &graph, &err);                            // mapped, usable at once
 *
 * A path from the start to an end reads transition ids of the model, one per frame, and writes words. For each state of
 * a unit that it passes it has the transition that leaves it first, then those of staying (Kaldi's order). Its cost is
 * the negative logarithm of transition, pronunciation, silence and grammar probabilities together. Silence may come
 * before each word and at the end, with the model's probability of silence between words; no words at all are silence,
 * or no sound. Of words that sound the same and cost the same, each costs 0.001 more than the one before it in the lexicon, so
 * that it is not rounding that chooses.
 *
 * Indices: states from 0; words are labels of the graph's table, 0 is none; transitions as in model.h, 0 is none.
 * Thread rule: any number of threads may use a graph.
 */
#ifndef TRELLIS_GRAPH_H
#define TRELLIS_GRAPH_H

#include <trellis/fst.h>
#include <trellis/model.h>

TRL_BEGIN_DECLS

typedef struct trl_graph trl_graph;

typedef struct trl_graph_options {
    /* With p the probability of staying in a state and q that of an arc that leaves it, the arc costs -
     * transition_scale * log(q / (1 - p)) - self_loop_scale * log(1 - p), and staying - self_loop_scale * log(p), as in
     * Kaldi. */
    double transition_scale; /* default 1 */
    double self_loop_scale;  /* default 0.1 */
    int on_the_fly;          /* 1: the graph of the words alone, and the grammar beside it; see below; default 0 */
    int64_t most_states;     /* of any machine on the way; TRL_ELIMIT beyond; 0: as in fst_optimize.h */
    int64_t most_bytes;      /* that all of them take together, roughly; TRL_ELIMIT beyond; 0: no limit */
} trl_graph_options;

TRL_API trl_graph_options trl_graph_defaults(void);
TRL_API int trl_graph_options_check(const trl_graph_options *options, trl_error *err);

/* `grammar` is an acceptor over words with a table of its input symbols, tropical or log; arcs without a word
 * (back-off) are epsilons, or have the name #0, #1 …. Its table becomes the graph's. Words of the grammar that the
 * lexicon lacks are an error that names them, unless left_out is not NULL: then their arcs are left out, and it becomes
 * the number of such words. <unk> is always left out where the lexicon lacks it. Returns 0, TRL_EINVAL (that; a word
 * has a phone that the model lacks; no table; the grammar allows nothing; several tied states, and no tree),
 * TRL_EUNSUPPORTED (all units of a word can be passed over), TRL_ELIMIT, TRL_ENOMEM. *out is NULL then. */
TRL_API int trl_graph_build(const trl_model *model, const trl_lexicon *lexicon, const trl_fst *grammar,
                            const trl_graph_options *options, trl_graph **out, size_t *left_out, trl_error *err);

/* With options.on_the_fly the grammar must be an n-gram model: each of its states has one arc without a word at most (else TRL_EUNSUPPORTED). The graph is then
 * that of its words, any of which may come at any time, and the grammar is put in while searching, as far as the search goes. That takes a fraction of the memory,
 * and gives the same words at the same costs; only words that sound alike cost 0.001 more than others here and there. The words of the graph's table are
 * numbered anew. */

/* A machine that reads transition ids and writes words already, self-loops included (Kaldi's HCLG.fst); its output
 * symbols become the graph's table. TRL_EINVAL: it is empty, reads labels that are no transitions of the model, has
 * other weights than costs, or arcs that read nothing form a cycle. */
TRL_API int trl_graph_from_fst(const trl_model *model, const trl_fst *fst, trl_graph **out, trl_error *err);
TRL_API int trl_graph_to_fst(const trl_graph *graph, trl_fst **out,
                             trl_error *err); /* TRL_EUNSUPPORTED: the grammar is put in while searching */

/* Our own file (.trg), mapped. Returns as trl_model_read does. */
TRL_API int trl_graph_read(const char *path, trl_graph **out, trl_error *err);
TRL_API int trl_graph_write(const trl_graph *graph, const char *path, trl_error *err);
TRL_API void trl_graph_destroy(trl_graph *graph);

/* 0, or TRL_EINVAL: the graph was made for another model (other units, topologies, tied states or tree). */
TRL_API int trl_graph_fits(const trl_graph *graph, const trl_model *model, trl_error *err);

TRL_API int32_t trl_graph_states(const trl_graph *graph);
TRL_API uint64_t trl_graph_arcs(const trl_graph *graph);
TRL_API uint64_t trl_graph_ngrams(const trl_graph *graph);          /* beside it, on_the_fly; else 0 */
TRL_API const trl_symbols *trl_graph_words(const trl_graph *graph); /* NULL: it has no table */
TRL_API const char *trl_graph_provenance(const trl_graph *graph);

/* ---- Installed models ---- */

/* A line about what is done, without its end. */
typedef void (*trl_graph_say_fn)(void *user, const char *text);

/* The graph of an installed model (`en-us` of Debian's pocketsphinx-en-us) with its dictionary and its language model, on_the_fly. It is built at the first time, and
 * kept in XDG_CACHE_HOME/trellis or ~/.cache/trellis under a name that depends on all that it is made from. A damaged file is made anew; where none can be written, the graph is used all
 * the same. `say` (may be NULL) is told when it is built, and what is wrong with the cache. TRL_ENOENT: no dictionary or language model of that name is installed. */
TRL_API int trl_graph_installed(const char *name, const trl_model *model, trl_graph_say_fn say, void *user,
                                trl_graph **out, trl_error *err);
TRL_API int trl_graph_is_installed(const char *name); /* 1: both are there */

TRL_END_DECLS

#endif
