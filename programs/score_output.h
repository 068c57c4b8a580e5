/* What `trellis score` prints and writes. */
#ifndef TRELLIS_SCORE_OUTPUT_H
#define TRELLIS_SCORE_OUTPUT_H

#include "cli.h"

#include <stdio.h>
#include <trellis/score.h>

typedef struct scored_system {
    const char *path; /* of the hypotheses */
    trl_score *score;
    double interval[2];
} scored_system;

typedef struct score_results {
    const char *reference, *scorer;
    scored_system systems[2];
    int count;                      /* of systems */
    const trl_bootstrap *bootstrap; /* NULL: not wanted */
    trl_comparison comparison;      /* of two systems, with bootstrap */
    int oracle;
} score_results;

extern const char *const score_letters[]; /* the names of trl_letters, NULL */

void score_print_table(FILE *out, const trl_scored_speaker *speakers, size_t count, trl_counts all);
void score_print_speakers(FILE *out, const trl_score *score);
void score_print_summary(FILE *out, const score_results *results, int system);
void score_print_comparison(FILE *out, const score_results *results);
void score_print_alignments(FILE *out, const trl_score *score);
int score_print_confusions(FILE *out, const trl_score *score, int most, trl_error *err);

/* Missing and extra utterances, on standard error. Returns how many there are. */
size_t score_say_unmatched(const scored_system *system, int quiet);

int score_write_json(const char *path, const score_results *results, trl_error *err);

#endif
