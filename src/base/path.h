/* Names of files, taken apart and put together. */
#ifndef TRL_BASE_PATH_H
#define TRL_BASE_PATH_H

#include "base/memory.h"

#include <trellis/error.h>

const char *trl__base_name(const char *path); /* behind the last slash */
const char *trl__extension(const char *path); /* the last dot of the base name, or the end of the name */

/* "folder/name" in the arena, or name itself when it is absolute; NULL: out of memory. */
char *trl__join_path(trl__arena *arena, const char *folder, const char *name);

/* The name in the folder of the file, or the name itself when it is absolute; freed by trl__free. NULL: out of memory.
 */
char *trl__path_beside(const char *file, const char *name);

/* Is the name of this form? In it # stands for one or more decimal digits, @ for sixteen hexadecimal ones. */
int trl__name_fits(const char *name, const char *form);

/* Makes the folder, unless it is there; the one it lies in must be. Returns 0, TRL_ENOENT, TRL_EIO. */
int trl__make_folder(const char *path, trl_error *err);

/* A file that a list names, before it is opened: a pipe or device might never end, or never begin. TRL_EFORMAT for
 * these, TRL_ENOENT for a folder. One that is not there passes: whoever opens it says why. */
int trl__check_plain(const char *path, trl_error *err);

#endif
