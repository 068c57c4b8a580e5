#include "base/fail.h"
#include "base/memory.h"

#include <trellis/progress.h>

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST_COLUMNS 400

struct trl_progress {
    trl_progress_options options;
    pthread_mutex_t mutex;
    uint64_t done;
    double started, last; /* seconds */
};

trl_progress_options trl_progress_defaults(void)
{
    return (trl_progress_options){.label = "", .unit = "items", .width = 80};
}

static double system_clock(void *user)
{
    (void)user;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int trl_progress_create(const trl_progress_options *options, trl_progress **out, trl_error *err)
{
    *out = NULL;
    if (!options->write)
        return trl__fail(err, TRL_EINVAL, "progress needs a function to write with");
    trl_progress *progress = trl__alloc_zero(1, sizeof *progress);
    if (!progress)
        return trl__fail_memory(err);
    progress->options = *options;
    if (!progress->options.clock)
        progress->options.clock = system_clock;
    if (progress->options.interval <= 0)
        progress->options.interval = options->bar ? 0.1 : 10;
    pthread_mutex_init(&progress->mutex, NULL);
    progress->started = progress->last = progress->options.clock(options->user);
    *out = progress;
    return 0;
}

static void format_time(char *text, size_t size, double seconds)
{
    const double most = 359999; /* 99:59:59 stands for anything longer */
    uint64_t s = (uint64_t)(seconds > most ? most : seconds > 0 ? seconds + 0.5 : 0);
    if (s >= 3600)
        snprintf(text, size, "%" PRIu64 ":%02u:%02u", s / 3600, (unsigned)(s / 60 % 60), (unsigned)(s % 60));
    else
        snprintf(text, size, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
}

static void format_bar(char *text, size_t cells, double share)
{
    size_t full = (size_t)(share * (double)cells + 0.5);
    for (size_t i = 0; i < cells; i++)
        text[i] = i < full ? '=' : i == full ? '>' : ' ';
    text[cells] = '\0';
}

/* How much of how much. Bytes are shown as megabytes. */
static void format_counts(const trl_progress_options *o, uint64_t done, char *text, size_t size)
{
    int used = 0;
    if (o->total > 0)
        used = snprintf(text, size, "%3.0f%%  ", floor(done < o->total ? 100 * (double)done / (double)o->total : 100));
    text += used;
    size -= (size_t)used;
    if (strcmp(o->unit, "B") == 0 && o->total > 0)
        snprintf(text, size, "%.1f/%.1f MB", (double)done * 1e-6, (double)o->total * 1e-6);
    else if (strcmp(o->unit, "B") == 0)
        snprintf(text, size, "%.1f MB", (double)done * 1e-6);
    else if (o->total > 0)
        snprintf(text, size, "%" PRIu64 "/%" PRIu64 " %s", done, o->total, o->unit);
    else
        snprintf(text, size, "%" PRIu64 " %s", done, o->unit);
}

/* "features [=====>    ]  53%  502/948 utt  812/s  0:02 left", cut to the terminal's width. */
static size_t render(const trl_progress *progress, double now, int closing, char *text, size_t size)
{
    const trl_progress_options *o = &progress->options;
    double elapsed = now - progress->started;
    double rate = elapsed > 0 ? (double)progress->done / elapsed : 0;
    char bar[24] = "", counts[96], time_text[40] = "", time_value[32];
    if (o->total > 0) {
        double done = (double)(progress->done < o->total ? progress->done : o->total);
        char cells[16];
        format_bar(cells, sizeof cells - 1, done / (double)o->total);
        if (o->bar)
            snprintf(bar, sizeof bar, "[%s] ", cells);
    }
    format_counts(o, progress->done, counts, sizeof counts);
    if (closing) {
        format_time(time_value, sizeof time_value, elapsed);
        snprintf(time_text, sizeof time_text, "  in %s", time_value);
    } else if (o->total > progress->done && rate > 0) {
        format_time(time_value, sizeof time_value, (double)(o->total - progress->done) / rate);
        snprintf(time_text, sizeof time_text, "  %s left", time_value);
    }
    char line[MOST_COLUMNS];
    rate *= strcmp(o->unit, "B") == 0 ? 1e-6 : 1;
    snprintf(line, sizeof line, "%s%s%s%s  %.*f/s%s", o->label, *o->label ? " " : "", bar, counts, rate < 10 ? 1 : 0,
             rate, time_text);
    int columns = o->width < 2 ? 1 : o->width > MOST_COLUMNS ? MOST_COLUMNS - 1 : o->width - 1;
    if (o->bar)
        return (size_t)snprintf(text, size, "\r%-*.*s%s", columns, columns, line, closing ? "\n" : "");
    return (size_t)snprintf(text, size, "%s\n", line);
}

static void show(trl_progress *progress, double now, int closing)
{
    char text[MOST_COLUMNS + 8]; /* with "\r", "\n" and the final NUL */
    size_t length = render(progress, now, closing, text, sizeof text);
    progress->options.write(progress->options.user, text, length);
    progress->last = now;
}

void trl_progress_add(trl_progress *progress, uint64_t count)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->done += count;
    double now = progress->options.clock(progress->options.user);
    if (now - progress->last >= progress->options.interval)
        show(progress, now, 0);
    pthread_mutex_unlock(&progress->mutex);
}

void trl_progress_destroy(trl_progress *progress)
{
    if (!progress)
        return;
    if (progress->done > 0 || progress->options.total == 0) /* nothing of something was done: an error says why */
        show(progress, progress->options.clock(progress->options.user), 1);
    pthread_mutex_destroy(&progress->mutex);
    trl__free(progress);
}
