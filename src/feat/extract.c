/* Features of a corpus: sound -> static rows -> (speaker sums) -> frames, in parallel, delivered in order.
 *
 * One pass where the speaker's sums are not needed. Otherwise the first pass writes static rows to a temporary file and
 * adds them to their speaker in corpus order (so that the sums do not depend on the threads), and the second pass
 * finishes them.
 *
 * What the pass that reads the sound makes of an utterance, frames or static rows, is kept where the caller wants it.
 */
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/ordered.h"
#include "base/path.h"
#include "base/temporary_file.h"
#include "feat/cmvn.h"
#include "feat/extract_work.h"
#include "feat/kept_frames.h"

#include <trellis/audio.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 16384         /* samples read at once */
#define CUT_REACH 2         /* rows; windows of other lengths and shifts than the usual ones reach about as far */
#define SLOTS_PER_THREAD 16 /* finished utterances that may wait for a slow one */

typedef struct worker {
    trl_extractor *extractor;
    trl_matrix statics;
    float samples[BLOCK];
} worker;

typedef struct slot {
    trl_matrix frames;
    trl_cmvn *sums; /* of the static rows; not with speakers, who have theirs */
    trl__heard sound;
    int code; /* of an utterance that could not be used */
    int is_too_short;
    trl_error why;
} slot;

/* Where an utterance's static rows lie in the temporary file. */
typedef struct spooled {
    uint64_t offset;
    size_t rows;
    trl__heard sound;
} spooled;

typedef struct extraction {
    const trl_corpus *corpus;
    const trl_frontend *frontend;
    trl_extract_options options;
    trl_findings *skipped;
    trl__extract_work work;
    trl_extract_summary summary;
    const trl_utterance *first_upsampled, *first_stereo;
    size_t *items; /* the usable utterances' indices */
    size_t item_count;
    worker *workers;
    int worker_count;
    slot *slots;
    size_t slot_count;
    trl__kept_bytes bytes; /* of frames to be kept */
    trl_cmvn **speakers;   /* sums per speaker; NULL without them */
    trl_cmvn *all;         /* sums of all that was delivered */
    FILE *spool;
    uint64_t spool_size;
    spooled *places;
} extraction;

trl_extract_options trl_extract_defaults(void)
{
    return (trl_extract_options){.channel = TRL_CHANNEL_UNSAID};
}

static trl_audio_options audio_options(const trl_utterance *u, const trl_frontend *frontend, int channel)
{
    trl_audio_options a = trl_audio_defaults();
    a.rate = trl_frontend_get(frontend)->rate;
    a.channel = u->channel >= 0 ? u->channel : channel == TRL_CHANNEL_UNSAID ? 0 : channel;
    a.start = u->start;
    a.end = u->end;
    return a;
}

int trl_extract_samples(const trl_utterance *utterance, const trl_frontend *frontend, int channel, float **samples,
                        size_t *count, trl_error *err)
{
    trl_audio_options a = audio_options(utterance, frontend, channel);
    int code = trl__check_plain(utterance->path, err);
    return code < 0 ? code : trl_audio_read_file(utterance->path, &a, NULL, samples, count, err);
}

/* The sound in blocks, so that a long recording is never in memory as a whole. */
static int stream_statics(worker *w, trl_audio *audio, uint64_t *samples, trl_error *err)
{
    int code = trl_extractor_begin_static(w->extractor, err);
    w->statics.rows = 0;
    *samples = 0;
    while (code == 0) {
        size_t got = 0;
        code = trl_audio_read(audio, w->samples, BLOCK, &got, err);
        if (code < 0 || got == 0)
            break;
        *samples += got;
        code = trl_extractor_push(w->extractor, w->samples, got, &w->statics, err);
    }
    return code == 0 ? trl_extractor_end(w->extractor, &w->statics, err) : code;
}

/* Only rows that hold something stay, and of these only those that are `reach` rows from all that hold nothing:
 * windows of nearer ones lie in both, and are like no room. */
static void cut_silence(trl_matrix *statics, size_t reach)
{
    size_t stay = 0, since = reach; /* rows since the last one that holds nothing */
    for (size_t t = 0; t < statics->rows; t++) {
        if (trl__row_holds(trl_matrix_row(statics, t))) {
            if (since++ >= reach)
                memmove(trl_matrix_row(statics, stay++), trl_matrix_row(statics, t), statics->cols * sizeof(float));
            continue;
        }
        stay -= since < reach ? 0 : since - reach < reach ? since - reach : reach;
        since = 0;
    }
    statics->rows = stay;
}

static int read_statics(const extraction *x, worker *w, const trl_utterance *u, slot *s, trl_error *err)
{
    trl_audio_options a = audio_options(u, x->frontend, x->options.channel);
    trl_audio *audio = NULL;
    trl_audio_info info = {0};
    uint64_t samples = 0;
    s->is_too_short = 0;
    int code = trl__check_plain(u->path, err);
    if (code == 0)
        code = trl_audio_open(u->path, &a, &info, &audio, err);
    if (code < 0)
        return code;
    trl_extractor_set_noise(w->extractor, trl__hash(u->id, strlen(u->id))); /* each utterance its own */
    code = stream_statics(w, audio, &samples, err);
    trl_audio_close(audio);
    s->is_too_short = code == 0 && w->statics.rows == 0;
    if (s->is_too_short)
        return trl__fail(err, TRL_EINVAL, "%s: %llu samples are too few for one frame", u->path,
                         (unsigned long long)samples);
    if (code == 0 && x->options.cut_silence)
        cut_silence(&w->statics, CUT_REACH);
    if (code == 0 && w->statics.rows == 0)
        return trl__fail(err, TRL_EINVAL, "%s: nothing but digital silence", u->path);
    s->sound = (trl__heard){(double)samples / a.rate, info.rate, info.channels};
    return code;
}

static const trl_utterance *utterance_of(const extraction *x, size_t item)
{
    return trl_corpus_get(x->corpus, x->items[item]);
}

/* Memory that ran out is no fault of the utterance. */
static int settle(slot *s, int code, const trl_error *why)
{
    s->code = code == TRL_ENOMEM ? 0 : code;
    s->why = *why;
    return code == TRL_ENOMEM ? code : 0;
}

static int is_delivered(const extraction *x, const trl_utterance *u)
{
    return !x->options.only || strcmp(x->options.only, u->id) == 0;
}

/* What is to be done with the frames by whoever made them. */
static int work_on(const extraction *x, size_t item, size_t slot_index, int worker_index, trl_error *err)
{
    const slot *s = &x->slots[slot_index];
    const trl_utterance *u = utterance_of(x, item);
    if (!x->work.work || s->code < 0 || !is_delivered(x, u))
        return 0;
    return x->work.work(x->work.user, u, &s->frames, s->sound.seconds, slot_index, worker_index, err);
}

/* ---- what is kept ---- */

/* What is made of the sound in the pass that reads it. */
static size_t kept_dim(const extraction *x)
{
    return (size_t)(x->speakers ? trl_frontend_static_dim(x->frontend) : trl_frontend_dim(x->frontend));
}

/* 1: the utterance was done before, and the slot has it; 0: it is to be made. */
static int take_kept(const extraction *x, const trl_utterance *u, slot *s, trl_error *err)
{
    const trl_kept *kept = x->options.kept;
    size_t size;
    const unsigned char *bytes = kept ? trl__kept_find(kept, u->id, &size) : NULL;
    if (!bytes)
        return 0;
    s->code = 0;
    s->is_too_short = 0;
    int code = trl__frames_take(bytes, size, kept_dim(x), &s->sound, s->sums, &s->frames, err);
    return code < 0 ? code : 1;
}

static int keep(extraction *x, const trl_utterance *u, const slot *s, trl_error *err)
{
    trl_kept *kept = x->options.kept;
    size_t size;
    if (!kept || trl__kept_find(kept, u->id, &size))
        return 0;
    int code = trl__frames_put(&s->sound, s->sums, &s->frames, &x->bytes, err);
    return code < 0 ? code : trl__kept_add(kept, u->id, x->bytes.bytes, x->bytes.size, err);
}

/* ---- one pass ---- */

static int make_frames(const extraction *x, worker *w, const trl_utterance *u, slot *s, trl_error *err)
{
    int code = read_statics(x, w, u, s, err);
    if (code == 0) {
        trl__cmvn_clear(s->sums);
        trl_cmvn_add(s->sums, &w->statics);
        code = trl_extractor_finish(w->extractor, &w->statics, NULL, &s->frames, err);
    }
    return settle(s, code, err);
}

static int produce_frames(void *user, size_t item, size_t slot_index, int worker_index, trl_error *err)
{
    extraction *x = user;
    slot *s = &x->slots[slot_index];
    const trl_utterance *u = utterance_of(x, item);
    int code = take_kept(x, u, s, err);
    if (code == 0)
        code = make_frames(x, &x->workers[worker_index], u, s, err);
    return code < 0 ? code : work_on(x, item, slot_index, worker_index, err);
}

static int skip_or_fail(extraction *x, const trl_utterance *u, const slot *s, trl_error *err)
{
    if (!x->options.skip_bad)
        return trl__fail(err, s->code, "utterance %s: %s (--skip-bad goes on without it)", u->id, s->why.text);
    x->summary.skipped++;
    trl_finding_kind kind = s->is_too_short         ? TRL_FINDING_TOO_SHORT
                            : s->code == TRL_EINVAL ? TRL_FINDING_SEGMENT /* no such channel or time in the file */
                                                    : TRL_FINDING_UNREADABLE;
    size_t place = strlen(u->source); /* need not be said twice */
    int is_said = strncmp(s->why.text, u->source, place) == 0 && strncmp(s->why.text + place, ": ", 2) == 0;
    return trl_findings_add(x->skipped, kind, u->source, u->line, u->id, err, "%s",
                            s->why.text + (is_said ? place + 2 : 0));
}

static void note_rate(extraction *x, const trl_utterance *u, double rate)
{
    if (rate >= trl_frontend_get(x->frontend)->rate)
        return;
    if (x->summary.upsampled == 0)
        x->first_upsampled = u;
    if (x->summary.upsampled++ == 0 || rate < x->summary.lowest_rate)
        x->summary.lowest_rate = rate;
}

static void note_channels(extraction *x, const trl_utterance *u, int channels)
{
    if (channels < 2 || u->channel >= 0 || x->options.channel != TRL_CHANNEL_UNSAID)
        return;
    if (x->summary.stereo++ == 0)
        x->first_stereo = u;
}

static int warn_of_channels(const extraction *x, trl_error *err)
{
    const trl_utterance *u = x->first_stereo;
    if (!u)
        return 0;
    return trl_findings_add(
        x->skipped, TRL_FINDING_STEREO, u->path, 0, u->id, err,
        "%zu utterance%s more than one channel%s; the first is used; choose another with --channel, "
        "or mix them with --channel mix",
        x->summary.stereo, x->summary.stereo == 1 ? " has" : "s have",
        x->summary.stereo == 1 ? "" : ", this one first");
}

/* One for all. */
static int warn_of_rate(const extraction *x, trl_error *err)
{
    const trl_extract_summary *s = &x->summary;
    const trl_utterance *u = x->first_upsampled;
    if (s->upsampled == 0)
        return 0;
    return trl_findings_add(x->skipped, TRL_FINDING_RATE, u->path, 0, u->id, err,
                            "%zu utterance%s recorded at less than the front end's %g Hz%s; its filters above %g Hz "
                            "hear nothing there. A model of sound with them makes more errors without; one trained "
                            "with rate=%g fits.",
                            s->upsampled, s->upsampled == 1 ? " was" : "s were", trl_frontend_get(x->frontend)->rate,
                            s->upsampled == 1 ? "" : ", this one first", s->lowest_rate / 2, s->lowest_rate);
}

static int consume_frames(void *user, size_t item, size_t slot_index, trl_error *err)
{
    extraction *x = user;
    slot *s = &x->slots[slot_index];
    const trl_utterance *u = utterance_of(x, item);
    trl_progress_add(x->options.progress, 1);
    if (s->code < 0)
        return skip_or_fail(x, u, s, err);
    if (!is_delivered(x, u))
        return 0;
    if (!x->speakers)
        trl__cmvn_merge(x->all, s->sums);
    x->summary.utterances++;
    x->summary.frames += s->frames.rows;
    x->summary.seconds += s->sound.seconds;
    note_rate(x, u, s->sound.rate);
    note_channels(x, u, s->sound.channels);
    int code = x->speakers ? 0 : keep(x, u, s, err);
    return code < 0 ? code : x->work.use(x->work.user, u, &s->frames, slot_index, err);
}

/* ---- two passes, for speaker normalisation ---- */

static int produce_statics(void *user, size_t item, size_t slot_index, int worker_index, trl_error *err)
{
    extraction *x = user;
    worker *w = &x->workers[worker_index];
    slot *s = &x->slots[slot_index];
    const trl_utterance *u = utterance_of(x, item);
    int code = take_kept(x, u, s, err);
    if (code != 0)
        return code < 0 ? code : 0;
    code = read_statics(x, w, u, s, err);
    trl_matrix swapped = s->frames; /* the slot keeps the rows, the worker takes the slot's memory */
    s->frames = w->statics;
    w->statics = swapped;
    return settle(s, code, err);
}

static int consume_statics(void *user, size_t item, size_t slot_index, trl_error *err)
{
    extraction *x = user;
    slot *s = &x->slots[slot_index];
    const trl_utterance *u = utterance_of(x, item);
    if (s->code < 0) {
        trl_progress_add(x->options.progress, 1);
        return skip_or_fail(x, u, s, err);
    }
    int code = keep(x, u, s, err);
    if (code < 0)
        return code;
    trl_cmvn_add(x->speakers[u->speaker_index], &s->frames);
    x->places[item] = (spooled){x->spool_size, s->frames.rows, s->sound};
    size_t values = s->frames.rows * s->frames.cols;
    if (fwrite(s->frames.data, sizeof(float), values, x->spool) != values)
        return trl__fail_errno(err, "temporary file of static coefficients",
                               "writing failed (TMPDIR chooses its folder)");
    x->spool_size += values * sizeof(float);
    return 0;
}

static int read_spool(const extraction *x, const spooled *place, trl_matrix *statics, trl_error *err)
{
    int code = trl_matrix_resize(statics, place->rows, (size_t)trl_frontend_static_dim(x->frontend), err);
    char *to = (char *)statics->data;
    size_t size = place->rows * statics->cols * sizeof(float), done = 0;
    while (code == 0 && done < size) {
        ssize_t got = pread(fileno(x->spool), to + done, size - done, (off_t)(place->offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return trl__fail_errno(err, "temporary file of static coefficients", "reading failed");
        if (got == 0)
            return trl__fail(err, TRL_EIO, "the temporary file of static coefficients was cut off");
        done += (size_t)got;
    }
    return code;
}

static int produce_finished(void *user, size_t item, size_t slot_index, int worker_index, trl_error *err)
{
    extraction *x = user;
    worker *w = &x->workers[worker_index];
    slot *s = &x->slots[slot_index];
    const spooled *place = &x->places[item];
    s->frames.rows = 0;
    if (place->rows == 0) /* skipped in the first pass */
        return 0;
    int code = read_spool(x, place, &w->statics, err);
    if (code == 0)
        code = trl_extractor_finish(w->extractor, &w->statics, x->speakers[utterance_of(x, item)->speaker_index],
                                    &s->frames, err);
    s->sound = place->sound;
    s->code = 0;
    return code < 0 ? code : work_on(x, item, slot_index, worker_index, err);
}

static int consume_finished(void *user, size_t item, size_t slot_index, trl_error *err)
{
    extraction *x = user;
    return x->places[item].rows == 0 ? 0 : consume_frames(user, item, slot_index, err);
}

static int prepare_speakers(extraction *x, trl_error *err)
{
    size_t count = trl_corpus_speakers(x->corpus), dim = (size_t)trl_frontend_static_dim(x->frontend);
    x->speakers = trl__alloc_zero(count, sizeof *x->speakers);
    x->places = trl__alloc_zero(x->item_count, sizeof *x->places);
    if (!x->speakers || !x->places)
        return trl__fail_memory(err);
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = trl_cmvn_create(dim, &x->speakers[i], err);
    return code == 0 ? trl__temporary_file(&x->spool, err) : code;
}

static int run_passes(extraction *x, trl_pool *pool, trl_error *err)
{
    trl__ordered_work work = {.count = x->item_count, .window = x->slot_count, .user = x};
    if (trl_frontend_get(x->frontend)->cmvn != TRL_CMVN_SPEAKER) {
        work.produce = produce_frames;
        work.consume = consume_frames;
        return trl__ordered_for(pool, &work, err);
    }
    int code = prepare_speakers(x, err);
    work.produce = produce_statics;
    work.consume = consume_statics;
    if (code == 0)
        code = trl__ordered_for(pool, &work, err);
    if (code == 0 && fflush(x->spool) != 0)
        code = trl__fail_errno(err, "temporary file of static coefficients", "writing failed");
    for (size_t i = 0; code == 0 && i < trl_corpus_speakers(x->corpus); i++)
        trl__cmvn_merge(x->all, x->speakers[i]);
    work.produce = produce_finished;
    work.consume = consume_finished;
    return code == 0 ? trl__ordered_for(pool, &work, err) : code;
}

/* ---- setting up ---- */

/* With `only`: that utterance, and its speaker's others where the speaker's sums are needed. */
static int is_wanted(const extraction *x, const trl_utterance *u, const trl_utterance *only)
{
    if (!only)
        return 1;
    return trl_frontend_get(x->frontend)->cmvn == TRL_CMVN_SPEAKER ? u->speaker_index == only->speaker_index
                                                                   : u == only;
}

static int choose_items(extraction *x, trl_error *err)
{
    size_t count = trl_corpus_count(x->corpus);
    long found = x->options.only ? trl_corpus_find(x->corpus, x->options.only) : -1;
    const trl_utterance *only = found >= 0 ? trl_corpus_get(x->corpus, (size_t)found) : NULL;
    if (x->options.only && !only)
        return trl__fail(err, TRL_ENOENT, "there is no utterance '%s' in the corpus", x->options.only);
    x->items = trl__alloc(count, sizeof *x->items);
    if (!x->items)
        return trl__fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const trl_utterance *u = trl_corpus_get(x->corpus, i);
        if (!is_wanted(x, u, only))
            continue;
        if (!u->bad) {
            x->items[x->item_count++] = i;
            continue;
        }
        if (!x->options.skip_bad)
            return trl__fail_line(
                err, TRL_EINVAL, u->source, u->line,
                "utterance %s can't be used; `trellis corpus check` says why, --skip-bad leaves it out", u->id);
        x->summary.skipped++;
        trl_progress_add(x->options.progress, 1);
    }
    return 0;
}

static int make_workers(extraction *x, trl_pool *pool, trl_error *err)
{
    x->worker_count = trl_pool_threads(pool);
    x->slot_count = trl__extract_slots(pool);
    x->workers = trl__alloc_zero((size_t)x->worker_count, sizeof *x->workers);
    x->slots = trl__alloc_zero(x->slot_count, sizeof *x->slots);
    if (!x->workers || !x->slots)
        return trl__fail_memory(err);
    size_t dim = (size_t)trl_frontend_static_dim(x->frontend);
    int code = trl_cmvn_create(dim, &x->all, err);
    for (int i = 0; code == 0 && i < x->worker_count; i++)
        code = trl_extractor_create(x->frontend, &x->workers[i].extractor, err);
    for (size_t i = 0; code == 0 && i < x->slot_count; i++)
        code = trl_cmvn_create(dim, &x->slots[i].sums, err);
    return code;
}

static void clean_up(extraction *x)
{
    for (int i = 0; x->workers && i < x->worker_count; i++) {
        trl_extractor_destroy(x->workers[i].extractor);
        trl_matrix_free(&x->workers[i].statics);
    }
    for (size_t i = 0; x->slots && i < x->slot_count; i++) {
        trl_matrix_free(&x->slots[i].frames);
        trl_cmvn_destroy(x->slots[i].sums);
    }
    trl_cmvn_destroy(x->all);
    for (size_t i = 0; x->speakers && i < trl_corpus_speakers(x->corpus); i++)
        trl_cmvn_destroy(x->speakers[i]);
    if (x->spool)
        fclose(x->spool);
    trl__free(x->workers);
    trl__free(x->slots);
    trl__free(x->speakers);
    trl__free(x->places);
    trl__free(x->items);
    trl__free(x->bytes.bytes);
}

static trl_static_mean mean_of(const trl_cmvn *sums)
{
    trl_static_mean mean = {0};
    if (sums->frames > 0 && sums->dim <= TRL_MEAN_MOST)
        mean.count = (int)sums->dim;
    for (int i = 0; i < mean.count; i++)
        mean.value[i] = sums->sum[i] / sums->frames;
    return mean;
}

size_t trl__extract_slots(const trl_pool *pool)
{
    return (size_t)trl_pool_threads(pool) * SLOTS_PER_THREAD;
}

int trl__extract_corpus(const trl_corpus *corpus, const trl_frontend *frontend, const trl_extract_options *options,
                        trl_pool *pool, trl_findings *skipped, const trl__extract_work *work,
                        trl_extract_summary *summary, trl_error *err)
{
    extraction x = {.corpus = corpus, .frontend = frontend, .skipped = skipped, .work = *work};
    x.options = options ? *options : trl_extract_defaults();
    int code =
        x.options.kept ? trl__kept_begin(x.options.kept, trl__extraction_job(corpus, frontend, &x.options), err) : 0;
    if (code == 0)
        code = choose_items(&x, err);
    if (code == 0)
        code = make_workers(&x, pool, err);
    if (code == 0)
        code = run_passes(&x, pool, err);
    if (code == 0)
        code = warn_of_rate(&x, err);
    if (code == 0)
        code = warn_of_channels(&x, err);
    if (code == 0)
        x.summary.mean = mean_of(x.all);
    if (summary)
        *summary = x.summary;
    clean_up(&x);
    return code;
}

/* ---- frames alone ---- */

typedef struct delivery {
    trl_extract_fn use;
    void *user;
} delivery;

static int deliver(void *user, const trl_utterance *utterance, const trl_matrix *frames, size_t slot_index,
                   trl_error *err)
{
    (void)slot_index;
    const delivery *d = user;
    return d->use(d->user, utterance, frames, err);
}

int trl_extract_corpus(const trl_corpus *corpus, const trl_frontend *frontend, const trl_extract_options *options,
                       trl_pool *pool, trl_findings *skipped, trl_extract_fn use, void *user,
                       trl_extract_summary *summary, trl_error *err)
{
    delivery d = {use, user};
    trl__extract_work work = {.use = deliver, .user = &d};
    return trl__extract_corpus(corpus, frontend, options, pool, skipped, &work, summary, err);
}
