/* What the files of the aligner share: aligner.c (bands), beam.c (tiles), posteriors.c (all paths). */
#ifndef TRL_ALIGN_ALIGNER_DATA_H
#define TRL_ALIGN_ALIGNER_DATA_H

#include "align/aligner.h"
#include "align/band.h"
#include "base/memory.h"

/* A tile of a beam search, kept for the way back. */
typedef struct trl__tile {
    int32_t begin, end; /* frames */
    int32_t node_begin, node_end;
    uint8_t *delay; /* by node of the window: its band begins so many frames after `begin`; TRL__ASLEEP: not at all */
    uint8_t *back;
} trl__tile;

#define TRL__BEAM_TILE 32 /* frames of a tile */
#define TRL__ASLEEP 255   /* no delay in a tile is as long */

struct trl__aligner {
    trl__stream *stream;
    int owns_stream; /* 0: another aligner's, which is beside this one */
    trl__step_times times;

    const trl__parameters *parameters; /* NULL: scores come from `likelihoods` */
    const trl_matrix *likelihoods;
    double scale;         /* of likelihoods */
    int frames_are_there; /* the stream holds this utterance's frames */
    int all_scored;       /* rows and scores are those of every node at every frame, and what was kept with them */

    const trl__graph *graph;
    int32_t frames;
    trl__search search;
    int has_path;

    trl__bands bands; /* like the five below, of the search: by node, in node_block */
    int32_t *node_row;
    int64_t *offset; /* of back-pointers, or of gammas */
    double *alpha;
    trl__scratch node_block, path_block;
    trl__scratch scores, back, gamma, arc_count;
    trl__rows rows;
    trl__run *runs;
    size_t run_count, run_capacity;

    trl__tile *tiles;
    size_t tile_count, tile_capacity;
    trl__arena tile_memory;

    /* A piece of the graph, for posteriors of long utterances. */
    trl__scratch piece_arcs, piece_nodes;

    trl__scratch line; /* the searches of a batch, in its first aligner */
};

/* Makes rows of the search's bands and fills their scores (times `scale`). The search's frames, nodes and bands are
 * set. */
int trl__aligner_score(trl__aligner *a, trl__search *search, trl__bands bands, double scale, trl_error *err);

/* Its second half: the scores of the rows in aligner->rows, for the search's frames. */
int trl__aligner_score_rows(trl__aligner *a, trl__search *search, double scale, trl_error *err);

typedef enum trl__found { TRL__NOT_FOUND, TRL__FOUND, TRL__TOO_MUCH } trl__found;

/* The tiled search. On TRL__FOUND the path is in hand; TRL__TOO_MUCH: the back-pointers would have taken more than
 * TRL__BACK_BYTES. */
int trl__beam_search(trl__aligner *a, double beam, trl__found *found, trl_error *err);

/* The same for a batch, whose frames are on the stream: `done` says who has his path in hand. */
int trl__beam_search_group(trl__batch_item *items, size_t count, double beam, trl_error *err);

/* Rows of the aligner's bands, and room for their scores, which may stay on the device. */
int trl__aligner_place(trl__aligner *a, trl_error *err);

/* The searches of a batch side by side, as operations take them, and back to their aligners. */
trl__search *trl__aligners_line_up(const trl__batch_item *items, size_t count, trl_error *err);
void trl__aligners_stand_down(const trl__batch_item *items, size_t count, const trl__search *searches);

#define TRL__BACK_BYTES ((int64_t)4 << 30)

#endif
