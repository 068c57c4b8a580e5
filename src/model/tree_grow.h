/* The growing part of tree building: splitting leaves best first. tree_build.c makes a tree of the result. */
#ifndef TRL_MODEL_TREE_GROW_H
#define TRL_MODEL_TREE_GROW_H

#include "model/tree_build.h"

typedef struct trl__growth_node {
    size_t first, end;         /* of order[]: its contexts */
    int32_t depth;             /* questions before it */
    int32_t position, set;     /* its best question */
    int32_t yes, no;           /* children; -1: not made yet */
    int taken;                 /* the split counts: it is no leaf */
    double frames, likelihood; /* of its contexts */
    double gain;               /* of its best question; 0: there is none that is good enough */
} trl__growth_node;

typedef struct trl__growth {
    const trl__context_stats *stats;
    const trl__questions *questions;
    const trl__tree_options *options;
    int32_t roots;
    const uint8_t *whole; /* by root: 1: it is never split */
    int32_t *order;       /* contexts, those of a node side by side; by root at first */
    int32_t nodes;        /* the roots, then children in pairs */
    trl__growth_node *node;
    size_t capacity;
    int32_t splits;
    double last_gain; /* of the split that was taken last */
} trl__growth;

/* Given: all down to `roots` whole and order, and the roots' first and end. */
int trl__tree_grow(trl__growth *growth, trl_error *err);

#endif
