/* Recognition of a stream: samples -> frames (the extractor) -> blocks of scores -> search -> pieces of the lattice that are settled (decoder_settle.c) -> words with times.
 *
 * All that decides about words happens after whole blocks of frames, so it does not matter how the samples come. Settled pieces of the best path
 * wait, as transitions and words, for a pause: words are timed up to there, handed out and forgotten.
 *
 * Without other scales the best words are those of the search itself. Then the lattice need not have more than the ways that cost the same but for
 * rounding, and its ways meet sooner. */
#include <trellis/decode_stream.h>

#include "align/segments.h"
#include "base/fail.h"
#include "base/memory.h"
#include "decode/decode_options.h"
#include "decode/searcher.h"
#include "model/model_frontend.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define PIECE 8000     /* samples that become frames at a time */
#define SETTLE 50      /* frames between looks for what is settled */
#define OPEN_MOST 6000 /* frames of settled path that wait for a pause; then words are timed without */

struct trl_decode_stream {
    const trl_model *model;
    const trl_graph *graph;
    trl_decode_stream_options options;
    trl_lattice_scale scale;
    trl_stream_words_fn use;
    void *user;

    trl_frontend_options description;
    trl_frontend *frontend;
    trl_extractor *extractor;
    trl_matrix frames; /* not searched yet: less than a block, between calls */
    uint64_t samples;
    trl__device *device;
    trl__parameters *parameters;
    trl__searcher searcher;
    trl__word_parser *parser; /* NULL: nothing tells where words begin */
    int is_open, is_finished; /* the decoder has an utterance */

    int64_t searched, first; /* frames of the stream: all that were searched; the utterance's first */
    int32_t unsettled, since_settled;
    trl__best_words piece, path; /* path: settled, from frame `handed` of the utterance on */
    int32_t handed;              /* frames of the utterance that have been handed out */
    size_t word_count;           /* of the utterance, settled */
    double graph_cost, acoustic_cost;
    trl_segment *segments;
    size_t segment_capacity;
    const char **labels;
    size_t label_capacity;
    int32_t *recent;
    size_t recent_capacity;
    trl_stream_summary summary;
    double total; /* log-likelihood */
};

/* ---- options ---- */

trl_decode_stream_options trl_decode_stream_defaults(void)
{
    return (trl_decode_stream_options){.decode = trl_decode_defaults(), .block = 10, .most_open = 30};
}

int trl_decode_stream_options_check(const trl_decode_stream_options *o, trl_error *err)
{
    if (o->block < 1)
        return trl__fail(err, TRL_EINVAL, "block is %d frames; it must be at least 1", (int)o->block);
    if (!(o->most_open >= 1 && o->most_open <= 3600))
        return trl__fail(err, TRL_EINVAL, "most_open is %g s; it may be 1 to 3600", o->most_open);
    if (!(o->pause >= 0 && o->pause <= 3600))
        return trl__fail(err, TRL_EINVAL, "pause is %g s; it may be 0 (none) to 3600", o->pause);
    if (!(o->longest >= 0))
        return trl__fail(err, TRL_EINVAL, "longest is %g s; it must not be negative", o->longest);
    return trl_decode_options_check(&o->decode, err);
}

static int32_t frames_of(const trl_decode_stream *s, double seconds)
{
    double frames = ceil(seconds * 1000 / s->description.shift_ms);
    return frames < INT_MAX ? (int32_t)frames : INT_MAX;
}

static trl__decode_options search_options(trl_decode_stream *s)
{
    const trl_decode_options *o = &s->options.decode;
    trl__decode_options search = trl__search_options_of(o);
    s->scale = trl__lattice_scale_of(o);
    search.prune_interval = INT_MAX; /* settling prunes */
    return search;
}

/* ---- making one ---- */

static int set_up(trl_decode_stream *s, trl_error *err)
{
    const trl_model first = trl__model_first_pass(s->model);
    const char *device = s->options.decode.device;
    int code = trl_decode_stream_options_check(&s->options, err);
    if (code == 0)
        code = trl_graph_fits(s->graph, s->model, err);
    if (code == 0)
        code = trl__model_frontend_make(s->model, 1, &s->description, &s->frontend, err);
    if (code == 0)
        code = trl_extractor_create(s->frontend, &s->extractor, err);
    if (code == 0)
        code = trl_extractor_begin(s->extractor, NULL, err);
    if (code == 0)
        code = trl__device_open(device ? device : "cpu", &s->device, err);
    if (code == 0)
        code = trl__device_load_model(s->device, &first, NULL, &s->parameters, err);
    if (code < 0)
        return code;
    trl__decode_options search = search_options(s);
    code = trl__searcher_create(&s->searcher, s->device, s->model, s->graph, &search, &s->options.decode,
                                s->description.shift_ms / 1000, err);
    return code < 0 ? code : trl__word_parser_create(s->model, s->graph, &s->parser, err);
}

int trl_decode_stream_create(const trl_model *model, const trl_graph *graph, const trl_decode_stream_options *options,
                             trl_stream_words_fn use, void *user, trl_decode_stream **out, trl_error *err)
{
    *out = NULL;
    trl_decode_stream *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    s->model = model;
    s->graph = graph;
    s->options = options ? *options : trl_decode_stream_defaults();
    s->use = use;
    s->user = user;
    int code = set_up(s, err);
    if (code == 0)
        *out = s;
    else
        trl_decode_stream_destroy(s);
    return code;
}

void trl_decode_stream_destroy(trl_decode_stream *s)
{
    if (!s)
        return;
    trl__searcher_free(&s->searcher);
    trl__word_parser_destroy(s->parser);
    trl__parameters_free(s->parameters);
    trl__device_close(s->device);
    trl_extractor_destroy(s->extractor);
    trl_frontend_destroy(s->frontend);
    trl_matrix_free(&s->description.transform);
    trl_matrix_free(&s->frames);
    trl__best_words_free(&s->piece);
    trl__best_words_free(&s->path);
    trl__free(s->segments);
    trl__free(s->labels);
    trl__free(s->recent);
    trl__free(s);
}

double trl_decode_stream_rate(const trl_decode_stream *s)
{
    return s->description.rate;
}

int32_t trl_decode_stream_delay(const trl_decode_stream *s)
{
    const trl_frontend_options *o = &s->description;
    int32_t ahead = o->deltas * o->delta_window + o->splice_right + s->options.block - 1;
    double window = o->snip_edges ? o->frame_ms : (o->frame_ms + o->shift_ms) / 2;
    return ahead + (int32_t)ceil(window / o->shift_ms);
}

/* ---- words with times ---- */

static double time_of(const trl_decode_stream *s, int32_t frame, int is_end)
{
    int32_t all = is_end ? (int32_t)s->searched : -1;
    trl__frame_times times = trl__frame_times_of(&s->description, all, (double)s->samples / s->description.rate);
    return trl__frame_time(&times, (int32_t)s->first + s->handed + frame, all);
}

/* Hands out the first `count` words of the path, which lie in its first `frames` frames. */
static int hand_out(trl_decode_stream *s, int32_t frames, size_t count, trl_stream_words *w, trl_error *err)
{
    trl__best_words part = s->path;
    part.frames = frames;
    part.count = count;
    if (count > 0)
        part.words[count - 1].end = frames;
    int code = trl__best_words_time(&part, s->model, s->parser, err);
    s->path.costs = part.costs;
    s->path.arcs = part.arcs;
    if (code < 0 || TRL_GROW(s->segments, s->segment_capacity, count + 1) < 0)
        return code < 0 ? code : trl__fail_memory(err);
    int32_t offset = (int32_t)s->first + s->handed;
    for (size_t i = 0; i < count; i++) {
        const trl__best_word *word = &part.words[i];
        s->segments[i] = (trl_segment){.label = trl__word_label(s->graph, word->word),
                                       .first = offset + word->first,
                                       .end = offset + word->end,
                                       .start = time_of(s, word->first, s->is_finished),
                                       .stop = time_of(s, word->end, s->is_finished),
                                       .confidence = -1,
                                       .index = (int32_t)(s->word_count - s->path.count + i)};
    }
    w->words = (trl_segments){s->segments, count};
    w->start = time_of(s, 0, 0);
    w->stop = time_of(s, frames, s->is_finished);
    return s->use(s->user, w, err);
}

static void forget_path(trl_decode_stream *s, int32_t frames, size_t count)
{
    trl__best_words *p = &s->path;
    p->count -= count;
    p->frames -= frames;
    s->handed += frames;
    if (p->count > 0)
        memmove(p->words, p->words + count, p->count * sizeof *p->words);
    if (p->frames > 0)
        memmove(p->transitions, p->transitions + frames, (size_t)p->frames * sizeof *p->transitions);
    for (size_t i = 0; i < p->count; i++) {
        p->words[i].first -= frames;
        p->words[i].end -= frames;
    }
}

/* A piece of the best path, behind what there is. */
static int append_piece(trl_decode_stream *s, const trl__raw_lattice *raw, trl_error *err)
{
    trl__best_words *p = &s->path, *piece = &s->piece;
    int code = trl__best_words_find(piece, raw, &s->scale, err);
    if (code < 0 || !piece->is_found)
        return code;
    if (TRL_GROW(p->words, p->capacity, p->count + piece->count + 1) < 0 ||
        TRL_GROW(p->transitions, p->transition_capacity, (size_t)p->frames + (size_t)piece->frames + 1) < 0)
        return trl__fail_memory(err);
    if (p->count > 0 && piece->count > 0)
        p->words[p->count - 1].end = p->frames + piece->words[0].first;
    for (size_t i = 0; i < piece->count; i++)
        p->words[p->count++] =
            (trl__best_word){piece->words[i].word, p->frames + piece->words[i].first, p->frames + piece->words[i].end};
    if (piece->frames > 0)
        memcpy(p->transitions + p->frames, piece->transitions, (size_t)piece->frames * sizeof *p->transitions);
    p->frames += piece->frames;
    s->word_count += piece->count;
    s->graph_cost += piece->graph;
    s->acoustic_cost += piece->acoustic;
    return 0;
}

/* ---- utterances ---- */

static int begin_utterance(trl_decode_stream *s, trl_error *err)
{
    s->is_open = 1;
    s->first = s->searched;
    s->unsettled = s->since_settled = s->handed = 0;
    s->path.frames = 0;
    s->path.count = s->word_count = 0;
    s->graph_cost = s->acoustic_cost = 0;
    return trl__decoder_begin(s->searcher.decoder, err);
}

static int settle(trl_decode_stream *s, trl_error *err)
{
    const trl__raw_lattice *raw;
    int is_forced;
    size_t count;
    s->since_settled = 0;
    if (s->unsettled > s->summary.most_open)
        s->summary.most_open = s->unsettled;
    int code = trl__decoder_settle(s->searcher.decoder, frames_of(s, s->options.most_open), &raw, &is_forced, err);
    s->summary.forced += (size_t)is_forced;
    if (code < 0 || !raw)
        return code;
    s->unsettled -= raw->frames;
    code = append_piece(s, raw, err);
    if (code < 0)
        return code;
    int32_t pause = 0;
    code = trl__best_words_pause(&s->path, s->model, s->parser, &pause, &count, err);
    if (code < 0)
        return code;
    if (pause == 0 && s->path.frames > OPEN_MOST) {
        pause = s->path.frames;
        count = s->path.count;
    }
    if (pause == 0)
        return 0;
    trl_stream_words w = {.first_frame = (int32_t)s->first};
    if (count > 0)
        code = hand_out(s, pause, count, &w, err);
    forget_path(s, pause, count);
    return code;
}

static int end_utterance(trl_decode_stream *s, trl_error *err)
{
    const trl__raw_lattice *raw;
    int was_alive = trl__decoder_is_alive(s->searcher.decoder);
    int code = trl__searcher_finish(&s->searcher, &raw, err);
    if (code == 0)
        code = append_piece(s, raw, err);
    if (code < 0)
        return code;
    int32_t frames = (int32_t)(s->searched - s->first);
    trl_stream_words w = {.ends_utterance = 1,
                          .first_frame = (int32_t)s->first,
                          .frames = frames,
                          .graph_cost = s->graph_cost,
                          .acoustic_cost = s->acoustic_cost,
                          .reached_end = s->piece.is_found && s->piece.reached_end};
    s->is_open = 0;
    s->path.reached_end = w.reached_end;
    s->summary.utterances++;
    s->summary.words += s->word_count;
    s->summary.unfinished += !w.reached_end;
    s->summary.lost += !was_alive;
    s->total -= s->acoustic_cost;
    return hand_out(s, s->path.frames, s->path.count, &w, err);
}

static int is_phone(const trl_decode_stream *s, int32_t transition)
{
    int32_t unit = s->model->triple[s->model->transition_triple[transition]].unit;
    return s->model->unit_kind[unit] == TRL_UNIT_PHONE;
}

/* Have the last frames of the best way been without a phone, behind a word? */
static int is_pause(trl_decode_stream *s, int *answer, trl_error *err)
{
    size_t want = (size_t)frames_of(s, s->options.pause), tentative;
    const int32_t *words;
    *answer = 0;
    if (TRL_GROW(s->recent, s->recent_capacity, want + 1) < 0)
        return trl__fail_memory(err);
    size_t count = trl__decoder_recent(s->searcher.decoder, s->recent, want);
    for (size_t i = 0; i < count; i++)
        if (is_phone(s, s->recent[i]))
            return 0;
    for (int32_t t = s->path.frames; count < want; count++)
        if (--t < 0 || is_phone(s, s->path.transitions[t]))
            return 0;
    int code = trl__decoder_partial(s->searcher.decoder, 0, &words, &tentative, err);
    *answer = code == 0 && s->word_count + tentative > 0;
    return code;
}

/* After a block: is the utterance over? */
static int look_for_end(trl_decode_stream *s, trl_error *err)
{
    const trl_decode_stream_options *o = &s->options;
    int is_over = !trl__decoder_is_alive(s->searcher.decoder), code = 0;
    if (o->longest > 0 && s->searched - s->first >= frames_of(s, o->longest))
        is_over = 1;
    if (!is_over && o->pause > 0)
        code = is_pause(s, &is_over, err);
    return code == 0 && is_over ? end_utterance(s, err) : code;
}

/* ---- frames ---- */

static int search_block(trl_decode_stream *s, size_t first, size_t count, trl_error *err)
{
    trl_matrix block = s->frames;
    block.data = trl_matrix_row(&s->frames, first);
    block.rows = count;
    int code = s->is_open ? 0 : begin_utterance(s, err);
    if (code == 0)
        code = trl__scorer_begin(s->searcher.scorer, s->parameters, &block, err);
    if (code == 0)
        code = trl__searcher_run(&s->searcher, err);
    s->searched += (int64_t)count;
    s->unsettled += (int32_t)count;
    s->since_settled += (int32_t)count;
    if (code == 0 && s->since_settled >= SETTLE)
        code = settle(s, err);
    return code < 0 ? code : look_for_end(s, err);
}

/* Searches the blocks that are full; at the end, what is left too. */
static int search_frames(trl_decode_stream *s, trl_error *err)
{
    size_t done = 0, block = (size_t)s->options.block, rows = s->frames.rows;
    int code = 0;
    while (code == 0 && (rows - done >= block || (s->is_finished && rows > done))) {
        size_t count = rows - done < block ? rows - done : block;
        code = search_block(s, done, count, err);
        done += count;
    }
    if (done > 0 && rows > done)
        memmove(s->frames.data, trl_matrix_row(&s->frames, done), (rows - done) * s->frames.stride * sizeof(float));
    s->frames.rows -= done;
    return code;
}

int trl_decode_stream_push(trl_decode_stream *s, const float *samples, size_t count, trl_error *err)
{
    int code = s->is_finished ? trl__fail(err, TRL_EINVAL, "samples come before the finish of a stream") : 0;
    while (code == 0 && count > 0) {
        size_t piece = count < PIECE ? count : PIECE;
        code = trl_extractor_push(s->extractor, samples, piece, &s->frames, err);
        s->samples += piece;
        if (code == 0)
            code = search_frames(s, err);
        samples += piece;
        count -= piece;
    }
    return code;
}

int trl_decode_stream_finish(trl_decode_stream *s, trl_error *err)
{
    if (s->is_finished)
        return trl__fail(err, TRL_EINVAL, "a stream has one finish");
    s->is_finished = 1;
    int code = trl_extractor_end(s->extractor, &s->frames, err);
    if (code == 0)
        code = search_frames(s, err);
    if (code == 0 && !s->is_open && s->summary.utterances == 0)
        code = begin_utterance(s, err);
    return code == 0 && s->is_open ? end_utterance(s, err) : code;
}

/* ---- what is known meanwhile ---- */

int trl_decode_stream_partial(trl_decode_stream *s, trl_stream_partial *partial, trl_error *err)
{
    const int32_t *words = NULL;
    size_t count = 0, settled = s->is_open ? s->path.count : 0;
    *partial = (trl_stream_partial){.seconds = (double)s->searched * s->description.shift_ms / 1000};
    int code = s->is_open ? trl__decoder_partial(s->searcher.decoder, 0, &words, &count, err) : 0;
    if (code < 0)
        return code;
    if (TRL_GROW(s->labels, s->label_capacity, settled + count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < settled; i++)
        s->labels[i] = trl__word_label(s->graph, s->path.words[i].word);
    for (size_t i = 0; i < count; i++)
        s->labels[settled + i] = trl__word_label(s->graph, words[i]);
    partial->settled = s->labels;
    partial->tentative = s->labels + settled;
    partial->settled_count = settled;
    partial->tentative_count = count;
    return 0;
}

trl_stream_summary trl_decode_stream_summarise(const trl_decode_stream *s)
{
    trl_stream_summary sum = s->summary;
    trl__decoder_counts counts = trl__decoder_count(s->searcher.decoder);
    sum.frames = (size_t)s->searched;
    sum.seconds = (double)s->samples / s->description.rate;
    sum.log_likelihood = sum.frames > 0 ? s->total / (double)sum.frames : 0;
    sum.tokens = counts.frames > 0 ? (double)counts.tokens / (double)counts.frames : 0;
    trl__searcher_add_profile(&s->searcher, &sum.profile);
    return sum;
}
