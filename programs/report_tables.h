/* The tables of a report. */
#ifndef TRELLIS_REPORT_TABLES_H
#define TRELLIS_REPORT_TABLES_H

#include "training_story.h"

#include <stdio.h>

void report_stages(FILE *out, const training_story *story);
void report_iterations(FILE *out, const training_story *story);
void report_times(FILE *out, const training_story *story);   /* there must be some */
void report_unfit(FILE *out, const training_story *story);   /* where the last iteration has them */
void report_worst(FILE *out, const training_story *story);   /* aligned utterances, of the last iteration */
void report_slowest(FILE *out, const training_story *story); /* of the last iteration with times */
int report_failures(FILE *out, const training_story *story, trl_error *err); /* by name and reason; 0 or TRL_ENOMEM */

#endif
