/* Names for the files of recordings: unique, safe in every folder, the same in every run. The rule is in
 * alignment_file.h. */
#ifndef TRL_ALIGN_RECORDING_NAMES_H
#define TRL_ALIGN_RECORDING_NAMES_H

#include "base/string_table.h"

#include <trellis/corpus.h>

/* Is the utterance its whole sound file, and nothing else of that file asked for? */
int trl__is_whole(const trl_utterance *utterance);

/* firsts: one utterance of each recording. The names go into `names` (initialised with {0}; freed by trl__strings_free)
 * at the recordings' numbers. Returns 0 or TRL_ENOMEM. */
int trl__recording_names(const trl_utterance *const *firsts, size_t count, trl__strings *names, trl_error *err);

#endif
