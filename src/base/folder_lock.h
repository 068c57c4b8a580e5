/* A folder that one process at a time works in. It has a file "lock" that the process holds; the system lets go of it
 * when the process ends, however it ends.
 *
 *     code = trl__folder_lock("model.trm.work", "trains this model", &fd, err);
 *     …
 *     close(fd);
 *
 * Whoever removes the folder removes the file TRL__LOCK_NAME before, while he holds it.
 */
#ifndef TRL_BASE_FOLDER_LOCK_H
#define TRL_BASE_FOLDER_LOCK_H

#include <trellis/error.h>

#define TRL__LOCK_NAME "lock"

/* Makes the folder where it is not there. TRL_EINVAL: another process has it, "FOLDER: another process WHAT just
 * now". */
int trl__folder_lock(const char *folder, const char *what, int *fd, trl_error *err);

#endif
