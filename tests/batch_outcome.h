/* Batches of random searches through every operation of a device, and what comes out of each. */
#ifndef TEST_BATCH_OUTCOME_H
#define TEST_BATCH_OUTCOME_H

#include "cmocka_test.h"
#include "near_sums.h"
#include "search_fixture.h"

#define MOST 9 /* searches */

static trl_error err;

#define CHECK(call)                              \
    do {                                         \
        if ((call) < 0)                          \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

typedef struct outcome {
    trl__stats *path, *all;
    double log_likelihood[MOST], total[MOST];
    int32_t path_node[MOST][400], path_arc[MOST][400];
} outcome;

/* Searches [first, end) in an array of their own; returns how many there are. */
static inline size_t take_searches(random_search **r, size_t first, size_t end, trl__search *s)
{
    for (size_t i = first; i < end; i++)
        s[i - first] = r[i]->s;
    return first < end ? end - first : 0;
}

/* `at_once` searches per call, all with the first one's model. The frames of the next call are sent ahead. */
static inline void run_batch(trl__device *device, random_search **r, size_t count, size_t at_once, outcome *o)
{
    trl__search s[MOST], next[MOST];
    trl__stream *stream;
    trl__parameters *p;
    trl__local_stats *path, *all;
    CHECK(trl__stream_create(device, &stream, &err));
    CHECK(trl__device_load_model(device, &r[0]->model, NULL, &p, &err));
    CHECK(trl__local_stats_create(&r[0]->model, &path, &err));
    CHECK(trl__local_stats_create(&r[0]->model, &all, &err));
    CHECK(trl__stats_create(&r[0]->model, &o->path, &err));
    CHECK(trl__stats_create(&r[0]->model, &o->all, &err));
    for (size_t first = 0; first < count; first += at_once) {
        size_t end = first + at_once < count ? first + at_once : count, n = take_searches(r, first, end, s);
        size_t next_end = end + at_once < count ? end + at_once : count;
        CHECK(trl__stream_frames(stream, p, s, n, &err));
        trl__stream_frames_ahead(stream, p, next, take_searches(r, end, next_end, next));
        CHECK(trl__stream_score(stream, p, s, n, &err));
        CHECK(trl__stream_viterbi(stream, s, n, &err));
        CHECK(trl__stream_wait(stream, &err));
        for (size_t i = 0; i < n; i++)
            o->log_likelihood[first + i] = s[i].log_likelihood;
        CHECK(trl__stream_backtrack(stream, s, n, &err));
        CHECK(trl__stream_wait(stream, &err));
        for (size_t i = 0; i < n; i++) {
            memcpy(o->path_node[first + i], s[i].path, (size_t)s[i].end * sizeof(int32_t));
            memcpy(o->path_arc[first + i], s[i].path_arc, (size_t)s[i].end * sizeof(int32_t));
        }
        CHECK(trl__stream_accumulate(stream, p, s, n, path, &err));
        CHECK(trl__stream_forward_backward(stream, s, n, &err));
        CHECK(trl__stream_wait(stream, &err));
        for (size_t i = 0; i < n; i++)
            o->total[first + i] = s[i].total;
        CHECK(trl__stream_accumulate_soft(stream, p, s, n, all, &err));
        CHECK(trl__stream_wait(stream, &err));
    }
    trl__stats_merge(o->path, path);
    trl__stats_merge(o->all, all);
    trl__local_stats_destroy(path);
    trl__local_stats_destroy(all);
    trl__parameters_free(p);
    trl__stream_destroy(stream);
}

static inline void free_outcome(outcome *o)
{
    trl__stats_destroy(o->path);
    trl__stats_destroy(o->all);
}

/* Bands that hold every node at every frame, so that each search has a path. */
static inline random_search *make_search(uint64_t seed, int frames, mixture_kind kind)
{
    for (;; seed += 1000) {
        chance c = {seed, 1u << 29};
        random_search *r = random_search_make(seed, GRAPH_CHAIN, 1 + pick(&c, frames < 12 ? frames : 12), frames, kind);
        int whole = 1;
        for (int n = 0; n < r->s.nodes; n++)
            whole &= r->node_first[n] == 0 && r->node_end[n] == frames;
        if (whole)
            return r;
        random_search_free(r);
    }
}

#endif
