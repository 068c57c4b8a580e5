#include "base/log_write.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* One sink for the process; the mutex also keeps two messages from interleaving. */
static struct {
    pthread_mutex_t mutex;
    trl_log_level level;
    trl_log_fn fn;
    void *user;
} sink = {PTHREAD_MUTEX_INITIALIZER, TRL_LOG_WARNING, NULL, NULL};

void trl_log_set(trl_log_level level, trl_log_fn fn, void *user)
{
    pthread_mutex_lock(&sink.mutex);
    sink.level = level;
    sink.fn = fn;
    sink.user = user;
    pthread_mutex_unlock(&sink.mutex);
}

void trl__log(trl_log_level level, const char *format, ...)
{
    pthread_mutex_lock(&sink.mutex);
    if (sink.fn && level <= sink.level) {
        char text[1000];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        sink.fn(sink.user, level, text);
    }
    pthread_mutex_unlock(&sink.mutex);
}
