/* Models that are installed on this computer, by name: `en-us` for Debian's package pocketsphinx-en-us. */
#ifndef TRL_BASE_INSTALLED_H
#define TRL_BASE_INSTALLED_H

#include "base/memory.h"

typedef enum trl__installed_part {
    TRL__INSTALLED_MODEL,
    TRL__INSTALLED_LEXICON,
    TRL__INSTALLED_LM
} trl__installed_part;

/* The name itself where it is a path (with a slash, or there is such a file), or nothing of that name is installed; else the path of the
 * part, in the arena. Looked for in the folders of TRELLIS_MODELS (separated by colons), then in those of pocketsphinx. NULL: out of
 * memory. */
const char *trl__installed(trl__arena *arena, const char *name, trl__installed_part part);

#endif
