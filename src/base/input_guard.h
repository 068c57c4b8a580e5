/* Which files a process reads and which it writes, so that no output takes the place of an input
 * (trl_file_protect_inputs, in trellis/file.h). Until that is switched on nothing is remembered, and all of this
 * returns 0.
 *
 *     fd = open(path, O_RDONLY);
 *     code = trl__guard_input(fd, path, err);                       // whoever opens a file to read it
 *     code = trl__guard_output(path, resolved, &claim, err);        // trl_file, before it writes …
 *     code = trl__guard_replace(claim, err);                        // … and before it renames
 *     trl__guard_leave(claim);
 *
 * A file is known by device and inode, so links and other spellings of its name are the same file; an output that is
 * not there yet by its folder and its name. */
#ifndef TRL_BASE_INPUT_GUARD_H
#define TRL_BASE_INPUT_GUARD_H

#include <trellis/error.h>

typedef struct trl__claim trl__claim;

/* TRL_EINVAL: it is an output of this process. What is no plain file is none of ours. */
int trl__guard_input(int fd, const char *name, trl_error *err);

/* `path` for messages, `resolved` with symbolic links followed. *out may become NULL. TRL_EINVAL: the file is an
 * input, or another output. */
int trl__guard_output(const char *path, const char *resolved, trl__claim **out, trl_error *err);

/* TRL_EINVAL: somebody has wanted to read the file since. */
int trl__guard_replace(trl__claim *claim, trl_error *err);

/* The file is written, or given up (written = 0): then it may be created again. NULL is fine. */
void trl__guard_leave(trl__claim *claim, int written);

/* A file of the library's own, in a work folder or a cache, which it reads and replaces at will. TRL_EINVAL: it was
 * read before, as an input. */
int trl__guard_own(const char *path, trl_error *err);

#endif
