/* Inside the corpus layer: label files from memory, as transcripts, and how their lines are written. */
#ifndef TRL_CORPUS_HTK_MLF_H
#define TRL_CORPUS_HTK_MLF_H

#include "corpus/corpus_builder.h"

#include <trellis/file.h>
#include <trellis/label_file.h>

/* The text stays the caller's; `path` stands for the file in messages. */
int trl__label_file_parse(const char *path, trl__text *text, trl_label_file **out, trl_error *err);

/* Gives every utterance the words of its entry; one without an entry keeps none. Entries that have a name twice become
 * findings. */
int trl__corpus_set_labels(trl_corpus *corpus, const char *path, trl_error *err);

/* ---- writing ----
 *     trl__mlf_begin(file, err);
 *     trl__mlf_begin_entry(file, "anna-001", "rec", err);
 *     trl__mlf_label(file, 0.0, 0.31, "HELLO", err);        // then scores and further levels; the caller ends the line
 *     trl__mlf_end_entry(file, err);
 */
int trl__mlf_begin(trl_file *file, trl_error *err);
int trl__mlf_begin_entry(trl_file *file, const char *id, const char *ending, trl_error *err);
int trl__mlf_label(trl_file *file, double start, double end, const char *label, trl_error *err);
int trl__mlf_end_entry(trl_file *file, trl_error *err);

#endif
