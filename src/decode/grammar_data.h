/* What the readers of grammars share: the table of words, and the parsed form of JSGF. */
#ifndef TRL_DECODE_GRAMMAR_DATA_H
#define TRL_DECODE_GRAMMAR_DATA_H

#include "base/string_table.h"
#include "base/text_file.h"

#include <trellis/grammar.h>

/* The table of the options, or a new one; one more share of it either way. */
int trl__grammar_words(const trl_grammar_options *options, trl_symbols **words, trl_error *err);

/* The label of a word; TRL_NO_LABEL: it is not in the table and may not be added. Returns 0 or an error. */
int trl__grammar_label(trl_symbols *words, int add, const char *text, int32_t *label, trl_error *err);

/* Ends the making of a machine: without useless states, sorted, with its symbols. The machine is destroyed on failure. */
int trl__grammar_finish(trl_fst **fst, trl_symbols *words, trl_error *err);

/* ---- JSGF ---- */

typedef enum trl__jsgf_kind {
    TRL__JSGF_WORD,     /* value: its label */
    TRL__JSGF_RULE,     /* value: the rule's number */
    TRL__JSGF_SEQUENCE, /* of its children */
    TRL__JSGF_CHOICE,   /* one of its children, by weight */
    TRL__JSGF_OPTIONAL,
    TRL__JSGF_STAR,
    TRL__JSGF_PLUS,
    TRL__JSGF_NULL, /* the empty string */
    TRL__JSGF_VOID  /* nothing, not even that */
} trl__jsgf_kind;

typedef struct trl__jsgf_node {
    trl__jsgf_kind kind;
    int32_t value;
    int32_t child, next; /* first child, next of the same parent; -1: none */
    int32_t line, column;
    double weight; /* as an alternative */
} trl__jsgf_node;

typedef struct trl__jsgf_rule {
    int32_t node; /* what it stands for; -1: it is used, but not defined */
    int is_public;
} trl__jsgf_rule;

typedef struct trl__jsgf {
    const char *name; /* of the file, for messages */
    trl__strings names;
    trl__jsgf_rule *rules; /* by number of the name */
    size_t rule_capacity;
    trl__jsgf_node *nodes;
    size_t count, capacity;
} trl__jsgf;

#define TRL__JSGF_DEEPEST 1000

/* Words get the labels of the table. */
int trl__jsgf_parse(const char *name, const trl__text *text, trl_symbols *words, int add_words, trl__jsgf *out,
                    trl_error *err);
void trl__jsgf_free(trl__jsgf *grammar);

/* The same from bytes that were read already, as the fuzz target does. */
int trl__grammar_jsgf(const char *name, const trl__text *text, const char *rule, const trl_grammar_options *options,
                      trl_fst **out, trl_error *err);

#endif
