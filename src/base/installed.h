/* Models that are installed on this computer, by name: `en-us` for Debian's package pocketsphinx-en-us. */
#ifndef TRL_BASE_INSTALLED_H
#define TRL_BASE_INSTALLED_H

#include "base/memory.h"

#include <trellis/error.h>

typedef enum trl__installed_part {
    TRL__INSTALLED_MODEL,
    TRL__INSTALLED_LEXICON,
    TRL__INSTALLED_LM
} trl__installed_part;

/* The path of the part, in the arena, where one of that name is installed; the name itself where it is a path (it has
 * a slash, or there is such a file), or looks like a file that is not there (it has a dot). Looked for in the folders
 * of TRELLIS_MODELS (separated by colons), then in those of pocketsphinx. Returns 0; TRL_ENOENT: neither is there,
 * and the error says where models come from; TRL_ENOMEM. */
int trl__installed(trl__arena *arena, const char *name, trl__installed_part part, const char **path, trl_error *err);

#endif
