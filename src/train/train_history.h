/* The story of a training: one JSON object per iteration and line.
 *
 * Two texts. The history holds what depends on data and options alone, and is stored in the model. The journal holds
 * that and how long things took, and is a file of its own: models from equal input stay equal bytes.
 */
#ifndef TRL_TRAIN_TRAIN_HISTORY_H
#define TRL_TRAIN_TRAIN_HISTORY_H

#include "train/train_pass.h"

/* A line for the history (journal = 0) or the journal (1); freed by trl__free. NULL: out of memory. */
char *trl__history_line(const trl__pass_result *result, const trl__training_data *data, int journal);

/* Appends a line to a text that trl__free frees. */
int trl__history_append(char **text, const char *line, trl_error *err);

#endif
