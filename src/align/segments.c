#include "align/segments.h"
#include "base/fail.h"
#include "base/memory.h"

trl__frame_times trl__frame_times_of(const trl_frontend_options *frontend, int32_t frames, double seconds)
{
    double shift = frontend->shift_ms / 1000, overlap = (frontend->frame_ms - frontend->shift_ms) / 1000;
    trl__frame_times times = {shift, frontend->snip_edges ? overlap / 2 : 0, seconds};
    if (seconds <= 0)
        times.seconds = frames * shift + (frontend->snip_edges ? overlap : 0);
    return times;
}

double trl__frame_time(const trl__frame_times *times, int32_t t, int32_t frames)
{
    double time = t * times->shift + times->offset;
    if (t == 0 || time < 0)
        return 0;
    return t == frames || time > times->seconds ? times->seconds : time;
}

static trl_segment *add_segment(trl__segment_list *list, const char *label, int32_t first, int32_t index, int32_t id)
{
    if (TRL_GROW(list->items, list->capacity, list->count + 1) < 0)
        return NULL;
    list->items[list->count] =
        (trl_segment){.label = label, .first = first, .confidence = -1, .index = index, .id = id};
    return &list->items[list->count++];
}

/* Frame t, which is not in the node before: where a new state, and maybe a new phone and word, begins. */
static int begin_segments(trl__segmentation *out, const char *const *unit_labels, const trl__graph *g, int32_t node,
                          int32_t before, int32_t t, const char *const *word_labels)
{
    int32_t number = g->node_phone[node];
    const trl__graph_phone *phone = &g->phone[number];
    int new_phone = before < 0 || g->node_phone[before] != number;
    int new_word = before < 0 || g->phone[g->node_phone[before]].slot != phone->slot;
    const char *unit = unit_labels[phone->unit];
    int32_t word = phone->slot % 2 == 1 ? phone->slot / 2 : -1;
    if (new_word && !add_segment(&out->words, word < 0 ? "" : word_labels[word], t, word, phone->variant))
        return -1;
    if (new_phone && !add_segment(&out->phones, unit, t, (int32_t)out->words.count - 1, phone->unit))
        return -1;
    return add_segment(&out->states, unit, t, (int32_t)out->phones.count - 1, g->node_state[node]) ? 0 : -1;
}

/* Ends and times: each segment ends where the next one begins. */
static void close_segments(trl__segment_list *list, int32_t frames, const trl__frame_times *times)
{
    for (size_t i = 0; i < list->count; i++) {
        trl_segment *s = &list->items[i];
        s->end = i + 1 < list->count ? list->items[i + 1].first : frames;
        s->start = trl__frame_time(times, s->first, frames);
        s->stop = trl__frame_time(times, s->end, frames);
    }
}

static void set_confidence(trl__segment_list *list, const float *posterior)
{
    for (size_t i = 0; posterior && i < list->count; i++) {
        trl_segment *s = &list->items[i];
        double sum = 0;
        for (int32_t t = s->first; t < s->end; t++)
            sum += (double)posterior[t];
        s->confidence = (float)(sum / (s->end - s->first));
    }
}

int trl__segments_make(trl__segmentation *out, const char *const *unit_labels, const trl__graph *graph,
                       const trl__aligner *aligner, int32_t frames, const trl__frame_times *times,
                       const char *const *word_labels, const float *slot, const float *phone, trl_error *err)
{
    const int32_t *arc;
    int32_t last_arc;
    const int32_t *path = trl__aligner_path(aligner, &arc, &last_arc);
    out->words.count = out->phones.count = out->states.count = 0;
    if (TRL_GROW(out->transitions, out->transition_capacity, (size_t)frames) < 0)
        return trl__fail_memory(err);
    for (int32_t t = 0; t < frames; t++) {
        int32_t before = t > 0 ? path[t - 1] : -1;
        out->transitions[t] = graph->arc_transition[t + 1 < frames ? arc[t + 1] : last_arc];
        if (path[t] != before && begin_segments(out, unit_labels, graph, path[t], before, t, word_labels) < 0)
            return trl__fail_memory(err);
    }
    close_segments(&out->words, frames, times);
    close_segments(&out->phones, frames, times);
    close_segments(&out->states, frames, times);
    set_confidence(&out->words, slot);
    set_confidence(&out->phones, phone);
    return 0;
}

void trl__segments_free(trl__segmentation *segmentation)
{
    trl__free(segmentation->words.items);
    trl__free(segmentation->phones.items);
    trl__free(segmentation->states.items);
    trl__free(segmentation->transitions);
    *segmentation = (trl__segmentation){0};
}
