#include "feat/kept_frames.h"
#include "base/fail.h"
#include "corpus/utterance_hash.h"

#include <trellis/version.h>
#include <xxhash.h>

uint64_t trl__extraction_job(const trl_corpus *corpus, const trl_frontend *frontend, const trl_extract_options *o)
{
    const int64_t channel = o->channel;
    const char *texts[] = {"features", trl_version(), trl_frontend_description(frontend), o->only};
    uint64_t h = XXH3_64bits(&channel, sizeof channel);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        h = trl__hash_text(h, texts[i]);
    return trl__hash_corpus(h, corpus);
}

/* In front of the sums, and the frames row by row. */
typedef struct fixed {
    double seconds, rate, summed; /* frames in the sums */
    int64_t channels;
    uint64_t dim, rows, cols;
} fixed;

int trl__frames_put(const trl__heard *sound, const trl_cmvn *sums, const trl_matrix *frames, trl__kept_bytes *b,
                    trl_error *err)
{
    const fixed f = {sound->seconds, sound->rate, sums->frames, sound->channels, sums->dim, frames->rows, frames->cols};
    b->size = 0;
    int failed = trl__kept_put(b, &f, sizeof f) < 0 || trl__kept_put(b, sums->sum, f.dim * sizeof *sums->sum) < 0 ||
                 trl__kept_put(b, sums->square, f.dim * sizeof *sums->square) < 0;
    for (size_t t = 0; !failed && t < frames->rows; t++)
        failed = trl__kept_put(b, trl_matrix_row(frames, t), frames->cols * sizeof(float)) < 0;
    return failed ? trl__fail_memory(err) : 0;
}

static int take_fixed(trl__kept_cursor *c, size_t cols, fixed *f, trl_cmvn *sums)
{
    return trl__kept_take(c, f, sizeof *f) == 0 && f->dim == sums->dim &&
                   trl__kept_take(c, sums->sum, sums->dim * sizeof *sums->sum) == 0 &&
                   trl__kept_take(c, sums->square, sums->dim * sizeof *sums->square) == 0 && f->cols == cols &&
                   f->rows > 0 && c->left % (cols * sizeof(float)) == 0 && f->rows == c->left / (cols * sizeof(float))
               ? 0
               : -1;
}

int trl__frames_take(const unsigned char *bytes, size_t size, size_t cols, trl__heard *sound, trl_cmvn *sums,
                     trl_matrix *frames, trl_error *err)
{
    trl__kept_cursor c = {bytes, size};
    fixed f;
    if (take_fixed(&c, cols, &f, sums) < 0)
        return trl__fail(err, TRL_ECORRUPT, "frames that were kept are damaged; begin anew without --resume");
    *sound = (trl__heard){f.seconds, f.rate, (int)f.channels};
    sums->frames = f.summed;
    int code = trl_matrix_resize(frames, (size_t)f.rows, cols, err);
    return code == 0 ? trl__kept_take(&c, frames->data, c.left) : code;
}
