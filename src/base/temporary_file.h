/* A nameless file in $TMPDIR (or /tmp) that vanishes when it is closed, whatever happens to the process. */
#ifndef TRL_BASE_TEMPORARY_FILE_H
#define TRL_BASE_TEMPORARY_FILE_H

#include <stdio.h>
#include <trellis/error.h>

/* For writing and reading. Returns 0, or naming the folder TRL_ENOENT, TRL_EIO, TRL_ENOMEM. */
int trl__temporary_file(FILE **out, trl_error *err);

#endif
