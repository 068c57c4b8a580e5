/* The graph of an utterance: all ways to say its words, as emitting nodes with incoming arcs.
 *
 *     trl__unit_map_create(model, lexicon, &map, err);                     // once: the lexicon's phones as units
 *     trl__graph graph = {0};
 *     trl__graph_build(&graph, map, lexicon, words, count, err);           // memory is reused from call to call
 *
 * The words stand in a row of slots: silence, word, silence, word, … silence. Silence slots may be passed over (the
 * unit's own probability says how likely that is), word slots have one chain of phones per pronunciation.
 * Non-emitting entries and exits are multiplied out into arcs from emitting node to emitting node; where units may be
 * skipped (HTK's tee models), ways that differ in no emitting node are one arc with the sum of their probabilities.
 *
 * With a tree, a phone's tied states depend on its neighbours: the units before and behind it on the path, across
 * words, over silences that are there or not, TRL__NOTHING beyond the utterance's ends; units that are passed over
 * are no neighbours. Such a phone has several copies, each for some of its contexts, and arcs lead only where
 * contexts agree: there is one path for every choice of pronunciations, silences and states, as without a tree, and
 * its tied states are those that the tree gives for its own units.
 *
 * Indices: slot 2i is the silence before word i, slot 2i + 1 word i (a transcript without words is slot 0 alone, not
 * optional). Nodes and phones are numbered slot by slot, variant by variant, place by place, copy by copy, state by
 * state. A copy is a trl__graph_phone of its own; (slot, variant, place) names the phone, whatever its copies.
 */
#ifndef TRL_ALIGN_UTTERANCE_GRAPH_H
#define TRL_ALIGN_UTTERANCE_GRAPH_H

#include "model/model_data.h"

typedef struct trl__unit_map trl__unit_map;

/* A phone that the model lacks is an error where a word with it is used. The model must outlive the map; its
 * transition probabilities are read anew for every graph, so training may change them in place. TRL_EINVAL: several
 * tied states for a unit's state, and no tree. */
int trl__unit_map_create(const trl_model *model, const trl_lexicon *lexicon, trl__unit_map **out, trl_error *err);
void trl__unit_map_destroy(trl__unit_map *map);

#define TRL__WORD_NOISE (-1) /* in place of a lexicon word: the noise unit */

typedef struct trl__graph_phone {
    int32_t unit, slot, variant;
    int32_t place; /* in the pronunciation: 0 … */
    int32_t first_node, end_node;
} trl__graph_phone;

typedef struct trl__graph_slot {
    int32_t first_phone, end_phone;
    int32_t first_node, end_node;
} trl__graph_slot;

/* A way into the next unit: from an emitting node (or TRL__START) by a transition that leaves it. */
typedef struct trl__graph_source {
    int32_t node, transition;
    float weight;
} trl__graph_source;

typedef struct trl__graph_sources {
    trl__graph_source *items;
    size_t count, capacity;
} trl__graph_sources;

typedef struct trl__graph {
    int32_t nodes, phones, slots, arcs;
    int32_t *node_tied, *node_phone, *node_state; /* by node */
    trl__graph_phone *phone;
    trl__graph_slot *slot;
    int32_t *arc_first; /* nodes + 2: as in backend.h; node `nodes` is the end */
    int32_t *arc_from;
    float *arc_weight;
    int32_t *arc_transition;
    int32_t back_bits;
    int32_t least_frames; /* of the shortest path */
    int32_t tied_end;     /* one above the highest of node_tied */
    int32_t most_arcs;    /* into one node */
    int32_t least_unit;   /* frames of the shortest unit */

    int has_skips; /* a unit of the slot in hand may be skipped */
    size_t node_capacity, phone_capacity, slot_capacity, arc_capacity;
    trl__graph_sources before, behind, chain, longer; /* of a slot; of a pronunciation, so far */
    struct trl__contexts *contexts;                   /* of copies; NULL: there was no tree so far */
} trl__graph;

/* words: indices into the lexicon, or TRL__WORD_NOISE. TRL_EINVAL: no noise unit; TRL_ELIMIT: too many arcs or
 * contexts. */
int trl__graph_build(trl__graph *graph, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                     size_t count, trl_error *err);
void trl__graph_free(trl__graph *graph);

/* The copies of a phone are neighbours: from the first, one behind the last; so are their nodes. */
static inline int32_t trl__graph_copies_end(const trl__graph *graph, int32_t phone)
{
    const trl__graph_phone *p = &graph->phone[phone];
    int32_t end = phone + 1;
    while (end < graph->phones && graph->phone[end].slot == p->slot && graph->phone[end].variant == p->variant &&
           graph->phone[end].place == p->place)
        end++;
    return end;
}

/* An alignment by counting, for the flat start: frames shared out evenly over the states of the first pronunciations,
 * with silence at both ends when there are frames enough. path and path_arc as in backend.h, *last_arc the final arc.
 * TRL_ELIMIT: too few frames, or more than states without loops can take. */
int trl__graph_equal_path(const trl__graph *graph, int32_t frames, int32_t *path, int32_t *path_arc, int32_t *last_arc,
                          trl_error *err);

#endif
