/* A device fills the look-ahead buffer ([004] 4.1): a thread of its own has it make the scores of all tied states, chunk after chunk, as
 * fast as it can; they stay until the search has used them, and where the buffer is full the device waits. The search's threads make
 * none.
 *
 * The buffer is a ring of chunks under one lock: a chunk takes milliseconds. */
#include "decode/scorer_data.h"
#include "base/fail.h"

#include <pthread.h>

#define CHUNK 64      /* frames: a device wants many at once */
#define LEAST_SLOTS 2 /* one is searched, one is made */

struct trl__filler {
    trl__scorer *scorer;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ends;               /* the thread is to end */
    int is_active, is_busy; /* an utterance is under way; a chunk is being made */
    int32_t begin, chunks, slots;
    int32_t made, used; /* chunks */
    int code;
    trl_error err;
    float *scores; /* (slot * tied states + tied) * CHUNK + frame */
    size_t capacity;
};

/* ---- the thread ---- */

static int32_t chunk_frames(const struct trl__filler *f, int32_t chunk)
{
    int32_t left = f->scorer->frames - f->begin - chunk * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

static float *scores_of(const struct trl__filler *f, int32_t chunk)
{
    return f->scores + (size_t)(chunk % f->slots) * (size_t)f->scorer->tied_states * CHUNK;
}

/* As worker 0, which makes nothing itself meanwhile. */
static int make_chunk(struct trl__filler *f, int32_t chunk)
{
    trl__scorer *s = f->scorer;
    trl__scorer_worker *w = &s->workers[0];
    int32_t first = f->begin + chunk * CHUNK, end = first + chunk_frames(f, chunk);
    double start = s->options.is_timed ? trl__scorer_clock() : 0;
    for (int32_t tied = 0; tied < s->tied_states; tied++)
        w->rows[tied] = (trl__row){tied, first, end, (int64_t)tied * CHUNK};
    int code = trl__scorer_make(s, 0, s->tied_states, scores_of(f, chunk), &f->err);
    if (s->options.is_timed)
        w->seconds += trl__scorer_clock() - start;
    return code;
}

static int has_room(const struct trl__filler *f)
{
    return f->is_active && f->code == 0 && f->made < f->chunks && f->made < f->used + f->slots;
}

static void *fill(void *user)
{
    struct trl__filler *f = user;
    pthread_mutex_lock(&f->lock);
    while (!f->ends) {
        if (!has_room(f)) {
            pthread_cond_wait(&f->changed, &f->lock);
            continue;
        }
        f->is_busy = 1;
        pthread_mutex_unlock(&f->lock);
        int code = make_chunk(f, f->made);
        pthread_mutex_lock(&f->lock);
        f->is_busy = 0;
        f->code = code;
        f->made += code == 0;
        pthread_cond_broadcast(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static int create(trl__scorer *s, trl_error *err)
{
    struct trl__filler *f = trl__alloc_zero(1, sizeof *f);
    if (!f)
        return trl__fail_memory(err);
    f->scorer = s;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    if (pthread_create(&f->thread, NULL, fill, f) != 0) {
        pthread_mutex_destroy(&f->lock);
        pthread_cond_destroy(&f->changed);
        trl__free(f);
        return trl__fail(err, TRL_ENOMEM,
                         "no thread can be started for the device's likelihoods: out of memory or of threads");
    }
    s->filler = f;
    return 0;
}

void trl__filler_destroy(struct trl__filler *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->ends = 1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    trl__free(f->scores);
    trl__free(f);
}

/* ---- the search's side ---- */

static int begin_filling(struct trl__filler *f, int32_t begin, trl_error *err)
{
    const trl__scorer *s = f->scorer;
    int32_t slots = (s->options.ahead + CHUNK - 1) / CHUNK, chunks = (s->frames - begin + CHUNK - 1) / CHUNK;
    slots = slots < LEAST_SLOTS ? LEAST_SLOTS : slots;
    slots = slots > chunks && chunks > 0 ? chunks : slots;
    size_t scores = (size_t)slots * (size_t)s->tied_states * CHUNK;
    if (scores > f->capacity) {
        trl__free(f->scores);
        f->scores = trl__alloc_aligned(scores, sizeof *f->scores);
        f->capacity = f->scores ? scores : 0;
        if (!f->scores)
            return trl__fail_memory(err);
    }
    pthread_mutex_lock(&f->lock);
    f->begin = begin;
    f->chunks = chunks;
    f->slots = slots;
    f->made = f->used = f->code = 0;
    f->is_active = 1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return 0;
}

/* 0, or what went wrong with it. */
static int await_chunk(struct trl__filler *f, int32_t chunk)
{
    pthread_mutex_lock(&f->lock);
    while (f->made <= chunk && f->code == 0)
        pthread_cond_wait(&f->changed, &f->lock);
    int code = f->made > chunk ? 0 : f->code;
    pthread_mutex_unlock(&f->lock);
    return code;
}

static void leave_chunk(struct trl__filler *f)
{
    pthread_mutex_lock(&f->lock);
    f->used++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void end_filling(struct trl__filler *f)
{
    pthread_mutex_lock(&f->lock);
    f->is_active = 0;
    while (f->is_busy)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* What the filler said, and what to do where it was about the device. */
static int tell_failure(const struct trl__filler *f, int code, trl_error *err)
{
    if (code == TRL_EDEVICE || code == TRL_ENOMEM)
        return trl__fail(err, code, "likelihoods on the device: %s; --device cpu does without it", f->err.text);
    if (err)
        *err = f->err;
    return code;
}

int trl__scorer_search_filled(trl__scorer *s, trl__decoder *decoder, int32_t begin, trl_error *err)
{
    int code = s->filler ? 0 : create(s, err), failure = 0;
    if (code == 0)
        code = begin_filling(s->filler, begin, err);
    if (code < 0)
        return code;
    struct trl__filler *f = s->filler;
    for (int32_t chunk = 0; code == 0 && failure == 0 && chunk < f->chunks; chunk++) {
        failure = await_chunk(f, chunk);
        trl__score_group group = {.frames = chunk_frames(f, chunk),
                                  .scores = scores_of(f, chunk),
                                  .stride = CHUNK,
                                  .step = 1,
                                  .are_finite = 1};
        if (failure == 0)
            code = trl__decoder_advance_group(decoder, &group, err);
        leave_chunk(f);
    }
    end_filling(f);
    return failure < 0 ? tell_failure(f, failure, err) : code;
}
