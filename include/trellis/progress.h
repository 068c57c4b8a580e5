/* How far a long job is: a bar with rate and time left, or a line now and then.
 *
 *     trl_progress_options o = trl_progress_defaults();
 *     o.label = "features"; o.unit = "utt"; o.total = 948; o.bar = isatty(2); o.write = to_stderr;
 *     trl_progress_create(&o, &progress, &err);
 *     trl_progress_add(progress, 1);                     // from any thread
 *     trl_progress_destroy(progress);                    // writes the closing line
 *
 * The text goes to the caller's write function. A NULL progress is silent, and every function accepts it.
 */
#ifndef TRELLIS_PROGRESS_H
#define TRELLIS_PROGRESS_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_progress trl_progress;

typedef struct trl_progress_options {
    const char *label;           /* like unit, not copied: it must live as long as the display */
    const char *unit;            /* "B": bytes, shown as megabytes */
    uint64_t total;              /* 0: unknown, no percentage and no time left */
    int bar;                     /* 1: redraw one line (a terminal); 0: a fresh line each time */
    int width;                   /* columns of the terminal */
    double interval;             /* seconds between two texts; 0 chooses 0.1 for a bar and 10 for lines */
    double (*clock)(void *user); /* seconds, rising; NULL: the system's monotonic clock */
    void (*write)(void *user, const char *text, size_t length);
    void *user;
} trl_progress_options;

TRL_API trl_progress_options trl_progress_defaults(void);
TRL_API int trl_progress_create(const trl_progress_options *options, trl_progress **out, trl_error *err);
TRL_API void trl_progress_add(trl_progress *progress, uint64_t count);
TRL_API void trl_progress_destroy(trl_progress *progress);

TRL_END_DECLS

#endif
