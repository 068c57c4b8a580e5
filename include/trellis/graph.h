/* Recognition graphs: what can be said, down to the states of the model, in one machine (H∘C∘L∘G).
 *
 *     trl_graph_options o = trl_graph_defaults();
 *     trl_graph_build(model, lexicon, grammar, &o, &graph, &err);         // grammar: an acceptor of words, see grammar.h, fst_file.h
 *     trl_graph_write(graph, "an4.trg", &err);
 *     trl_graph_read("an4.trg", &graph, &err);                            // mapped, usable at once
 *
 * A path from the start to an end reads transition ids of the model, one per frame, and writes words. Its cost is the negative logarithm of
 * transition, pronunciation, silence and grammar probabilities together.
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
    double transition_scale; /* of the log probabilities of transitions that leave a state; default 1 */
    double self_loop_scale;  /* of staying against leaving; default 0.1, as in Kaldi */
    int64_t most_states;     /* of any machine on the way; TRL_ELIMIT beyond; 0: as in fst_optimize.h */
} trl_graph_options;

TRL_API trl_graph_options trl_graph_defaults(void);
TRL_API int trl_graph_options_check(const trl_graph_options *options, trl_error *err);

/* `grammar` is an acceptor over words with a symbol table (tropical); back-off arcs are epsilons. Words of the grammar that the lexicon lacks are
 * an error that names them (TRL_EINVAL), unless *left_out is asked for: then their arcs are left out, and it becomes their number. */
TRL_API int trl_graph_build(const trl_model *model, const trl_lexicon *lexicon, const trl_fst *grammar,
                            const trl_graph_options *options, trl_graph **out, size_t *left_out, trl_error *err);

/* A machine that reads transition ids and writes words already, self-loops included (Kaldi's HCLG.fst). */
TRL_API int trl_graph_from_fst(const trl_model *model, const trl_fst *fst, trl_graph **out, trl_error *err);
TRL_API int trl_graph_to_fst(const trl_graph *graph, trl_fst **out, trl_error *err);

/* Our own file (.trg), mapped. Returns as trl_model_read does. */
TRL_API int trl_graph_read(const char *path, trl_graph **out, trl_error *err);
TRL_API int trl_graph_write(const trl_graph *graph, const char *path, trl_error *err);
TRL_API void trl_graph_destroy(trl_graph *graph);

/* 0, or TRL_EINVAL: the graph was made for another model (other units, topologies, tied states or tree). */
TRL_API int trl_graph_fits(const trl_graph *graph, const trl_model *model, trl_error *err);

TRL_API int32_t trl_graph_states(const trl_graph *graph);
TRL_API uint64_t trl_graph_arcs(const trl_graph *graph);
TRL_API const trl_symbols *trl_graph_words(const trl_graph *graph);
TRL_API const char *trl_graph_provenance(const trl_graph *graph);

TRL_END_DECLS

#endif
