/* Log messages: what the library has to tell that is not an error, through a callback.
 *
 *     static void show(void *user, trl_log_level level, const char *text) { fprintf(stderr, "%s\n", text); }
 *     trl_log_set(TRL_LOG_INFO, show, NULL);
 *
 * Without a callback nothing is said. The callback may be called from any thread, one call at a time; it must not call
 * the library.
 */
#ifndef TRELLIS_LOG_H
#define TRELLIS_LOG_H

#include <trellis/api.h>

TRL_BEGIN_DECLS

typedef enum trl_log_level { TRL_LOG_ERROR, TRL_LOG_WARNING, TRL_LOG_INFO, TRL_LOG_DEBUG } trl_log_level;

typedef void (*trl_log_fn)(void *user, trl_log_level level, const char *text);

/* Sends messages up to `level` to `fn`; fn = NULL silences the library. Affects the whole process. */
TRL_API void trl_log_set(trl_log_level level, trl_log_fn fn, void *user);

TRL_END_DECLS

#endif
