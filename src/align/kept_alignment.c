#include "align/kept_alignment.h"
#include "base/fail.h"
#include "base/memory.h"
#include "corpus/utterance_hash.h"
#include "model/model_hash.h"

#include <string.h>
#include <trellis/version.h>
#include <xxhash.h>

uint64_t trl__alignment_job(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                            const trl_align_options *o)
{
    const double numbers[] = {o->beam,  o->acoustic_scale, o->confidence_margin, o->confidence,
                              o->adapt, o->channel,        o->unknown_words,     o->subsampling};
    const char *texts[] = {trl_version(), o->likelihoods, o->only, o->device ? o->device : "cpu"};
    const uint64_t own = trl__model_hash(model);
    uint64_t h = XXH3_64bits_withSeed(numbers, sizeof numbers, own);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        h = trl__hash_text(h, texts[i]);
    if (o->likelihoods)
        h = trl__hash_place_times(h, o->likelihoods);
    return trl__hash_corpus(trl__hash_lexicon(h, lexicon), corpus);
}

/* Numbers of all, then the segments of words, phones and states, transitions, and the labels, each with its NUL. */
typedef struct fixed {
    trl__aligned aligned;
    uint64_t words, phones, states;
} fixed;

typedef struct kept_segment {
    double start, stop;
    uint64_t label; /* where in the labels */
    int32_t first, end, index, id;
    float confidence;
    int32_t zero;
} kept_segment;

static int put_segments(const trl__segment_list *list, uint64_t *labels, trl__kept_bytes *b)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < list->count; i++) {
        const trl_segment *s = &list->items[i];
        const kept_segment k = {s->start, s->stop, *labels, s->first, s->end, s->index, s->id, s->confidence, 0};
        failed = trl__kept_put(b, &k, sizeof k);
        *labels += strlen(s->label) + 1;
    }
    return failed;
}

static int put_labels(const trl__segment_list *list, trl__kept_bytes *b)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < list->count; i++)
        failed = trl__kept_put(b, list->items[i].label, strlen(list->items[i].label) + 1);
    return failed;
}

int trl__alignment_put(const trl__aligned *aligned, const trl__segmentation *g, trl__kept_bytes *b, trl_error *err)
{
    const trl__segment_list *lists[] = {&g->words, &g->phones, &g->states};
    fixed f;
    memset(&f, 0, sizeof f);
    f.aligned = *aligned;
    f.words = g->words.count;
    f.phones = g->phones.count;
    f.states = g->states.count;
    uint64_t labels = 0;
    b->size = 0;
    int failed = trl__kept_put(b, &f, sizeof f);
    for (int i = 0; !failed && i < 3; i++)
        failed = put_segments(lists[i], &labels, b);
    if (!failed)
        failed = trl__kept_put(b, g->transitions, (size_t)aligned->frames * sizeof *g->transitions);
    for (int i = 0; !failed && i < 3; i++)
        failed = put_labels(lists[i], b);
    return failed ? trl__fail_memory(err) : 0;
}

static int fail_damaged(trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "a result that was kept is damaged; begin anew without --resume");
}

/* Makes room, and passes over them: labels are behind. */
static int take_segments(trl__kept_cursor *c, uint64_t count, trl__segment_list *list, trl_error *err)
{
    if (count > c->left / sizeof(kept_segment))
        return fail_damaged(err);
    if (TRL_GROW(list->items, list->capacity, (size_t)count + 1) < 0)
        return trl__fail_memory(err);
    list->count = (size_t)count;
    c->at += (size_t)count * sizeof(kept_segment);
    c->left -= (size_t)count * sizeof(kept_segment);
    return 0;
}

/* Once it is known where the labels are. */
static int fill_segments(const unsigned char *from, const trl__kept_cursor *labels, trl__segment_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kept_segment k;
        memcpy(&k, from + i * sizeof k, sizeof k);
        if (k.label >= labels->left)
            return -1;
        list->items[i] = (trl_segment){.label = (const char *)labels->at + k.label,
                                       .first = k.first,
                                       .end = k.end,
                                       .start = k.start,
                                       .stop = k.stop,
                                       .confidence = k.confidence,
                                       .index = k.index,
                                       .id = k.id};
    }
    return 0;
}

int trl__alignment_take(const unsigned char *bytes, size_t size, trl__aligned *aligned, trl__segmentation *g,
                        trl_error *err)
{
    trl__segment_list *lists[] = {&g->words, &g->phones, &g->states};
    const unsigned char *from[3];
    trl__kept_cursor c = {bytes, size};
    fixed f;
    if (trl__kept_take(&c, &f, sizeof f) < 0 || f.aligned.frames < 0)
        return fail_damaged(err);
    const uint64_t counts[] = {f.words, f.phones, f.states};
    *aligned = f.aligned;
    for (int i = 0; i < 3; i++) {
        from[i] = c.at;
        int code = take_segments(&c, counts[i], lists[i], err);
        if (code < 0)
            return code;
    }
    if ((size_t)f.aligned.frames > c.left / sizeof *g->transitions)
        return fail_damaged(err);
    if (TRL_GROW(g->transitions, g->transition_capacity, (size_t)f.aligned.frames + 1) < 0)
        return trl__fail_memory(err);
    if (trl__kept_take(&c, g->transitions, (size_t)f.aligned.frames * sizeof *g->transitions) < 0 ||
        (c.left > 0 && c.at[c.left - 1] != '\0'))
        return fail_damaged(err);
    for (int i = 0; i < 3; i++)
        if (fill_segments(from[i], &c, lists[i]) < 0)
            return fail_damaged(err);
    return 0;
}
