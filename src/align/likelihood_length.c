#include "align/likelihood_length.h"
#include "base/fail.h"
#include "base/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <trellis/audio.h>

#define LOST 2        /* rows that networks without padding may lack */
#define ROUNDING 1e-6 /* of a row */

int trl__subsampling_check(int subsampling, const char *likelihoods, trl_error *err)
{
    if (subsampling < 1 || subsampling > TRL__SUBSAMPLING_MOST)
        return trl__fail(err, TRL_EINVAL, "subsampling is %d frames; it may be 1 to %d", subsampling,
                         TRL__SUBSAMPLING_MOST);
    if (subsampling > 1 && !likelihoods)
        return trl__fail(err, TRL_EINVAL,
                         "subsampling is %d frames, but there are no likelihoods from a file to have such a step",
                         subsampling);
    return 0;
}

void trl__subsample(trl_frontend_options *frontend, int subsampling)
{
    frontend->frame_ms += (subsampling - 1) * frontend->shift_ms;
    frontend->shift_ms *= subsampling;
}

int trl__utterance_seconds(const trl_utterance *u, double *seconds, trl_error *err)
{
    trl_audio *audio;
    trl_audio_info info;
    trl_error why; /* sound need not be there */
    if (!u->path || strcmp(u->path, "-") == 0 || trl__check_plain(u->path, &why) < 0)
        return 0;
    int code = trl_audio_open(u->path, NULL, &info, &audio, &why);
    if (code < 0)
        return code == TRL_ENOMEM ? trl__fail_memory(err) : 0;
    trl_audio_close(audio);
    double end = u->end >= 0 && u->end < info.seconds ? u->end : info.seconds;
    *seconds = end > u->start ? end - u->start : 0;
    return 1;
}

typedef struct range {
    double least, most; /* rows */
} range;

static range allowed_rows(trl_frontend_options frontend, int subsampling, double seconds)
{
    trl__subsample(&frontend, subsampling);
    double steps = seconds * 1000 / frontend.shift_ms;
    double windows = floor(steps - frontend.frame_ms / frontend.shift_ms + ROUNDING) + 1;
    return (range){fmax(windows - LOST, 1), ceil(steps - ROUNDING) + 1};
}

static int is_within(size_t rows, range r)
{
    return (double)rows >= r.least && (double)rows <= r.most;
}

/* The subsampling with which the rows come closest to the sound's end, where that one fits; else 0. */
static int find_subsampling(size_t rows, const trl_frontend_options *frontend, double seconds)
{
    double k = rows > 0 ? round(seconds * 1000 / frontend->shift_ms / (double)rows) : 0;
    if (!(k >= 1 && k <= TRL__SUBSAMPLING_MOST) || !is_within(rows, allowed_rows(*frontend, (int)k, seconds)))
        return 0;
    return (int)k;
}

int trl__likelihood_length_check(const char *path, size_t rows, const trl_frontend_options *frontend, int subsampling,
                                 double seconds, trl_error *err)
{
    range r = allowed_rows(*frontend, subsampling, seconds);
    double step = frontend->shift_ms * subsampling;
    int fitting = find_subsampling(rows, frontend, seconds);
    char advice[80] = "were they made of this sound?";
    if (is_within(rows, r))
        return 0;
    if (fitting > 0)
        snprintf(advice, sizeof advice, "--subsampling %d fits", fitting);
    return trl__fail(
        err, TRL_EINVAL,
        "%s has %zu row%s for it, one every %g ms: %.2f s, but the sound is %.2f s long, %.0f to %.0f rows; %s", path,
        rows, rows == 1 ? "" : "s", step, (double)rows * step / 1000, seconds, r.least, r.most, advice);
}
