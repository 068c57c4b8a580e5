/* Praat's TextGrid as a text file, long or short form: tiers of intervals with text.
 *
 *     trl__textgrid grid;
 *     trl__textgrid_parse(&text, &grid, &line, err);      // grid's strings point into text
 *     for (size_t t = 0; t < grid.count; t++) … grid.tiers[t].intervals[0].text …
 *     trl__textgrid_free(&grid);
 *
 * Times are seconds. Point tiers are read over.
 */
#ifndef TRL_CORPUS_TEXTGRID_H
#define TRL_CORPUS_TEXTGRID_H

#include "corpus/corpus_builder.h"

#include <stddef.h>
#include <stdint.h>

typedef struct trl__interval {
    double start, end;
    const char *text;
    int64_t line; /* where its text starts, from 1 */
} trl__interval;

typedef struct trl__tier {
    const char *name;
    trl__interval *intervals;
    size_t count, capacity;
} trl__tier;

typedef struct trl__textgrid {
    trl__tier *tiers; /* interval tiers only */
    size_t count, capacity;
} trl__textgrid;

/* Writes into text, which must outlive the grid. *line is where it failed. Returns 0, TRL_ECORRUPT (not UTF-8),
 * TRL_EFORMAT (both: err says what is wrong, without the place), TRL_ENOMEM. */
int trl__textgrid_parse(trl__text *text, trl__textgrid *grid, int64_t *line, trl_error *err);
void trl__textgrid_free(trl__textgrid *grid);

/* Adds the sound's utterances as the grid in file `path` has them: none where no interval has text. */
int trl__textgrid_add(trl_corpus *corpus, const trl__sound *sound, const trl__textgrid *grid, const char *path,
                      trl_error *err);

#endif
