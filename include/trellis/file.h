/* Files that are either there whole or not at all.
 *
 *     trl_file_create("model.trl", &file, &err);
 *     trl_file_write(file, bytes, size, &err);
 *     trl_file_commit(file, &err);                       // fsync, rename: now, and only now, the old file is replaced
 *
 * Until the commit the new content has no name (O_TMPFILE where the system has it), so a kill, a crash or a full disk
 * leaves the old file as it was and no debris. "-" is standard output; pipes and devices are written directly.
 */
#ifndef TRELLIS_FILE_H
#define TRELLIS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_file trl_file;

/* Returns 0, TRL_EIO, TRL_ENOENT (no such folder), TRL_ENOMEM. */
TRL_API int trl_file_create(const char *path, trl_file **out, trl_error *err);

/* Appends size bytes. Returns 0 or TRL_EIO; after a failure only trl_file_abort makes sense. */
TRL_API int trl_file_write(trl_file *file, const void *bytes, size_t size, trl_error *err);

/* Appends formatted text. */
TRL_API int trl_file_print(trl_file *file, trl_error *err, const char *format, ...) TRL_PRINTF(3, 4);

/* Bytes appended so far. */
TRL_API uint64_t trl_file_position(const trl_file *file);

/* Overwrites bytes that were written before; TRL_EUNSUPPORTED where the output can't seek. */
TRL_API int trl_file_rewrite(trl_file *file, uint64_t offset, const void *bytes, size_t size, trl_error *err);

/* Puts the file in place and frees the object, whatever it returns: 0 or TRL_EIO (then the old file is untouched). */
TRL_API int trl_file_commit(trl_file *file, trl_error *err);

/* The same for many files: all are on the disk before the first is put in place, and the waits for the disk overlap,
 * which is several times faster than one file after the other. Failed: those that were not in place yet are
 * forgotten. */
TRL_API int trl_file_commit_all(trl_file *const *files, size_t count, trl_error *err);

/* Forgets what was written and frees the object; NULL is fine. */
TRL_API void trl_file_abort(trl_file *file);

/* For programs whose outputs must not take the place of their inputs, as the command's must not: from here on this
 * process remembers every file that the library opens to read, and what it has written. To create an output that is one
 * of them then fails with TRL_EINVAL, and names both; so does to open an input that an output is going to replace.
 * Links and other spellings of a name are the same file. Off at first, because a program may well rewrite a file that
 * it has read; 0 switches it off. Either forgets what was before. Not while files are being written. */
TRL_API void trl_file_protect_inputs(int on);

/* A file that the program reads itself, not the library. Returns 0, TRL_EINVAL: it is an output. */
TRL_API int trl_file_declare_input(const char *path, trl_error *err);

TRL_END_DECLS

#endif
