#include "decode/searcher.h"
#include "model/model_data.h"

#include <limits.h>
#include <math.h>
#include <time.h>

static int32_t frames_of(double seconds, double shift)
{
    double frames = ceil(seconds / shift);
    return frames < INT_MAX ? (int32_t)frames : INT_MAX;
}

int trl__searcher_create(trl__searcher *s, trl__device *device, const trl_model *model, const trl_graph *graph,
                         const trl__decode_options *search, const trl_decode_options *o, double shift, trl_error *err)
{
    const trl__scorer_options scores = {.way = (trl__score_way)o->likelihood_mode,
                                        .ahead = frames_of(o->ahead, shift),
                                        .is_timed = o->profile,
                                        .is_filled =
                                            device && device->info.batch > 1}; /* else it is the processor itself */
    trl__decode_options timed = *search;
    int code = 0;
    *s = (trl__searcher){.is_timed = o->profile};
    timed.merges = o->search == TRL_SEARCH_MERGE;
    timed.is_timed = o->profile;
    if (o->search_threads + o->score_threads > 1)
        code = trl__team_create(o->search_threads, o->score_threads, &s->team, err);
    if (code == 0)
        code = trl__scorer_create(device, model->tied_states, &s->scorer, err);
    if (code == 0)
        code = trl__scorer_share(s->scorer, s->team, &scores, err);
    if (code == 0)
        code = trl__decoder_create(graph, &timed, &s->decoder, err);
    return code < 0 ? code : trl__decoder_share(s->decoder, s->team, err);
}

void trl__searcher_free(trl__searcher *s)
{
    trl__decoder_destroy(s->decoder);
    trl__scorer_destroy(s->scorer);
    trl__team_destroy(s->team);
}

static double clock_of(const trl__searcher *s)
{
    struct timespec now = {0};
    if (s->is_timed)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int trl__searcher_run(trl__searcher *s, trl_error *err)
{
    double start = clock_of(s);
    int code = trl__scorer_search(s->scorer, s->decoder, err);
    s->seconds += clock_of(s) - start;
    return code;
}

int trl__searcher_finish(trl__searcher *s, const trl__raw_lattice **raw, trl_error *err)
{
    double start = clock_of(s);
    int code = trl__decoder_finish(s->decoder, raw, err);
    s->seconds += clock_of(s) - start;
    return code;
}

void trl__searcher_add_profile(const trl__searcher *s, trl_decode_profile *sum)
{
    trl__decoder_counts c = trl__decoder_count(s->decoder);
    trl__scorer_counts scores = trl__scorer_count(s->scorer);
    double likelihoods = c.seconds[TRL__LIKELIHOODS] + scores.ahead_seconds;
    double busy = c.seconds[TRL__EXPANSION] + c.seconds[TRL__MERGING] + c.seconds[TRL__PRUNING] +
                  c.seconds[TRL__COMPOSITION] + likelihoods;
    double total = fmax(s->seconds * trl__team_workers(s->team), busy);
    sum->expansion += c.seconds[TRL__EXPANSION];
    sum->merging += c.seconds[TRL__MERGING];
    sum->pruning += c.seconds[TRL__PRUNING];
    sum->composition += c.seconds[TRL__COMPOSITION];
    sum->likelihoods += likelihoods;
    sum->waiting += total - busy;
    sum->total += total;
    sum->frames += c.frames;
    sum->shared_frames += c.shared_frames;
    sum->scores += scores.all;
    sum->made += scores.made;
    sum->twice += c.scores_twice;
    sum->mode = (trl_likelihood_mode)scores.way;
}
