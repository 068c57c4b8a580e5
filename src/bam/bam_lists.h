/* N-best lists with their scores. */
#ifndef TRL_BAM_BAM_LISTS_H
#define TRL_BAM_BAM_LISTS_H

#include "base/hash_map.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <trellis/bam_rescore.h>

typedef struct trl__list {
    const char *id;
    size_t first, count; /* hypotheses */
    int64_t line;
    int rescored;
} trl__list;

struct trl_bam_lists {
    char *name;       /* of the file */
    trl__arena arena; /* ids, words and arrays of them */
    trl__list *items;
    size_t count, capacity;
    trl_bam_hypothesis *hypotheses;
    size_t hypothesis_count, hypothesis_capacity;
    trl__map index; /* by id */
    trl_bam_run run;
    trl_counts listless; /* errors of the reference's utterances without a list */
};

static inline trl_bam_hypothesis *trl__list_hypotheses(const trl_bam_lists *lists, const trl__list *list)
{
    return lists->hypotheses + list->first;
}

/* As trl_bam_choose; again: where the second pass is the first-pass model. */
size_t trl__list_choose(trl_bam_list list, const trl_bam_weights *weights, int again);

/* NULL: there is none. */
trl__list *trl__lists_find(const trl_bam_lists *lists, const char *id);

/* For readers, and tests: an empty object; a list that hypotheses are added to; one of `count` words that are copied. */
int trl__lists_create(const char *name, trl_bam_lists **out, trl_error *err);
int trl__lists_add(trl_bam_lists *lists, const char *id, int64_t line, trl_error *err);
trl_bam_hypothesis *trl__lists_add_hypothesis(trl_bam_lists *lists, const char *const *words, size_t count,
                                              trl_error *err);

/* As trl_bam_lists_read, of a text that stays the caller's. */
int trl__lists_parse(const char *name, trl__text *text, trl_bam_lists **out, trl_error *err);

/* Takes away lists that were not rescored. */
int trl__lists_drop(trl_bam_lists *lists, trl_error *err);

#endif
