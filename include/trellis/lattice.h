/* Word lattices: what was nearly as good as the best words, with costs of graph and sound apart.
 *
 *     trl_lattice_scale scale = {.acoustic = 1.0 / 12, .graph = 1, .insertion = 0};
 *     trl_nbest *list;
 *     trl_lattice_nbest(lattice, &scale, 10, &list, &err);          // distinct word strings, the best first
 *     for (size_t i = 0; i < trl_nbest_count(list); i++)
 *         trl_sentence s = trl_nbest_get(list, i);                  // words, graph and acoustic cost
 *     trl_nbest_destroy(list);
 *
 * A lattice is an acyclic machine over words, deterministic: no word string has two paths. Each arc has the costs of graph and sound, unscaled, and
 * the model's transitions of the frames that it spans, along the best way to say its words there; so a state has a time.
 * It is Kaldi's compact lattice. Words may lie on their arcs earlier or later than they were said; trl_lattice_align_words makes a
 * lattice whose arcs span their words.
 *
 * Indices: states from 0, which is the start; arcs lead to higher states. Arcs count from 0 over the whole lattice, those of state s are first[s] … first[s +
 * 1] - 1. Words are labels of the table, 0 is none; transitions as in model.h; frames from 0.
 * Thread rule: any number of threads may read a lattice; nothing changes one.
 */
#ifndef TRELLIS_LATTICE_H
#define TRELLIS_LATTICE_H

#include <trellis/align.h>
#include <trellis/fst.h>
#include <trellis/graph.h>
#include <trellis/model.h>

TRL_BEGIN_DECLS

/* How costs make a score: acoustic * acoustic cost + graph * graph cost + insertion for each word. */
typedef struct trl_lattice_scale {
    double acoustic, graph, insertion;
} trl_lattice_scale;

/* Models take neighbouring frames for independent, so the best path looks more probable than it is. Probabilities are
 * therefore taken of costs times this, as a rule; which path is the best does not depend on it. */
#define TRL_POSTERIOR_SCALE 0.6
TRL_API trl_lattice_scale trl_lattice_scale_times(trl_lattice_scale scale, double factor);

typedef struct trl_lattice_arc {
    int32_t next; /* state */
    int32_t word;
    float graph, acoustic;         /* costs, unscaled */
    uint32_t transition, duration; /* its frames' transitions: `duration` of trl_lattice_view's, from `transition` on */
} trl_lattice_arc;

/* A final state's own costs, and frames: `graph` is INFINITY where a state is not final. */
typedef struct trl_lattice_end {
    float graph, acoustic;
    uint32_t transition, duration;
} trl_lattice_end;

typedef struct trl_lattice trl_lattice;

/* All there is in one, to be read only. No state: nothing was found. */
typedef struct trl_lattice_view {
    int32_t states, frames;
    const uint32_t *first; /* states + 1 */
    const trl_lattice_arc *arcs;
    const trl_lattice_end *ends; /* by state */
    const int32_t *time;         /* by state: frames before it */
    const int32_t *transitions;
    const trl_symbols *words; /* NULL: there are only numbers */
    int reached_end;          /* 0: no end of the graph was alive in the last frame */
} trl_lattice_view;

TRL_API trl_lattice_view trl_lattice_look(const trl_lattice *lattice);
TRL_API void trl_lattice_destroy(trl_lattice *lattice);

/* ---- To and from machines ---- */

/* A machine that reads and writes words; transitions are lost. Without a scale it is of the lattice semiring (value: graph, second: acoustic);
 * with one it is tropical, and weights are scores. */
TRL_API int trl_lattice_to_fst(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_fst **out,
                               trl_error *err);

/* The output side of an acyclic machine, in the lattice semiring or (as costs of the graph) the tropical or log one. There are no transitions and
 * so no frames; what leads to no final state is left out. Returns 0, TRL_EINVAL (a cycle, the real semiring, no path), TRL_ENUMBER,
 * TRL_ENOMEM. */
TRL_API int trl_lattice_from_fst(const trl_fst *fst, trl_lattice **out, trl_error *err);

/* A copy whose costs are multiplied, each word's graph cost raised by scale->insertion. */
TRL_API int trl_lattice_rescale(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_lattice **out,
                                trl_error *err);

/* The lattice with one path for each of its word strings, the best one, as lattices of decode have them; what was read from a plain lattice has
 * many. Paths beyond `beam` of the best (INFINITY: none) may be left out, and so may the worst where the memory for it, 256 MiB, does not suffice. Returns 0,
 * TRL_EINVAL (scales that are no numbers above 0), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_lattice_determinize(const trl_lattice *lattice, const trl_lattice_scale *scale, double beam,
                                    trl_lattice **out, trl_error *err);

/* ---- Paths ---- */

typedef struct trl_sentence {
    const int32_t *words;
    size_t count;
    double graph, acoustic; /* costs, unscaled */
} trl_sentence;

typedef struct trl_nbest trl_nbest;

/* The n best word strings, all different; fewer where there are fewer. O(n * words of a path * log) where no two paths have the same words.
 * Returns 0, TRL_EINVAL (a scale that is no number), TRL_ENOMEM. */
TRL_API int trl_lattice_nbest(const trl_lattice *lattice, const trl_lattice_scale *scale, size_t n, trl_nbest **out,
                              trl_error *err);
TRL_API size_t trl_nbest_count(const trl_nbest *list);
TRL_API trl_sentence trl_nbest_get(const trl_nbest *list, size_t index);
TRL_API void trl_nbest_destroy(trl_nbest *list);

/* What is on a path that costs at most `beam` more than the best. */
TRL_API int trl_lattice_prune(const trl_lattice *lattice, const trl_lattice_scale *scale, double beam,
                              trl_lattice **out, trl_error *err);

/* ---- Probabilities: forward-backward over all paths; a path's is exp(- its score), scaled to a sum of 1 ---- */

/* posterior[a]: probability that the path goes over arc a; *total: log of the sum over all paths, before it is scaled; -INFINITY where there is no
 * path. Probabilities of the arcs and ends that span a frame sum up to 1. */
TRL_API int trl_lattice_posteriors(const trl_lattice *lattice, const trl_lattice_scale *scale, double *posterior,
                                   double *total, trl_error *err);

/* ---- Words with times and confidences ---- */

/* A lattice with the same paths (words, costs, transitions) whose arcs span their words; silence and noise between them have arcs without a word. Words are found
 * by the graph's pronunciations or, without them, the model's units with a place in the word. Costs do not follow words exactly: the sums of paths are right.
 * Two arcs of a state may have the same word. Returns 0, TRL_EINVAL (graph or lattice are not the model's), TRL_EUNSUPPORTED (neither pronunciations nor
 * places), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_lattice_align_words(const trl_lattice *lattice, const trl_model *model, const trl_graph *graph,
                                    trl_lattice **out, trl_error *err);

typedef struct trl_lattice_word {
    int32_t word;
    int32_t first, end; /* frames [first, end), of its arc: to be right, the lattice must be aligned to words */
    double confidence;  /* probability that it was said there, among other words or none; 0 … 1 */
} trl_lattice_word;

typedef struct trl_hypothesis {
    const trl_lattice_word *words;
    size_t count;
    double graph, acoustic; /* costs of the best path, unscaled */
    double expected_errors; /* substitutions, deletions and insertions of the words, expected over all paths */
} trl_hypothesis;

/* The best path. */
TRL_API int trl_lattice_best(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_hypothesis **out,
                             trl_error *err);

/* The words with the least expected errors (minimum Bayes risk: Xu, Povey, Mangu, Zhu, "Minimum Bayes risk decoding and system combination based on
 * a recursion for edit distance", 2011). They need not be those of any path. A word's times are means over the paths that have it. */
TRL_API int trl_lattice_mbr(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_hypothesis **out,
                            trl_error *err);
TRL_API void trl_hypothesis_destroy(trl_hypothesis *hypothesis);

TRL_END_DECLS

#endif
