#include "align/written_segments.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

/* Which token each word is of. */
static int read_tokens(trl__written_segments *out, const trl_utterance *u)
{
    size_t size = strlen(u->written) + 1, tokens = 0, words = 0;
    if (TRL_GROW(out->labels, out->label_capacity, size) < 0)
        return -1;
    memcpy(out->labels, u->written, size);
    for (char *at = out->labels; *at; tokens++) {
        uint32_t count = u->spoken[tokens];
        if (TRL_GROW(out->token, out->token_capacity, tokens + 1) < 0 ||
            TRL_GROW(out->token_of, out->word_capacity, words + count + 1) < 0)
            return -1;
        out->token[tokens] = at;
        for (uint32_t i = 0; i < count; i++)
            out->token_of[words++] = (int32_t)tokens;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    return 0;
}

/* The token of a segment; of a pause between two words of one token that one, of others -1. */
static int32_t token_at(const trl__written_segments *out, const trl__segment_list *said, size_t i)
{
    if (said->items[i].index >= 0)
        return out->token_of[said->items[i].index];
    if (i == 0 || i + 1 == said->count || said->items[i - 1].index < 0 || said->items[i + 1].index < 0)
        return -1;
    int32_t before = out->token_of[said->items[i - 1].index], behind = out->token_of[said->items[i + 1].index];
    return before == behind ? before : -1;
}

static float mean_confidence(const trl_segment *said, size_t count)
{
    double sum = 0, frames = 0;
    for (size_t i = 0; i < count; i++) {
        if (said[i].index < 0 && count > 1)
            continue;
        if (said[i].confidence < 0)
            return -1;
        sum += (double)said[i].confidence * (said[i].end - said[i].first);
        frames += said[i].end - said[i].first;
    }
    return (float)(sum / frames);
}

/* Segments [first, end) become one, and their phones belong to it. */
static int join(trl__written_segments *out, const trl__segmentation *said, size_t first, size_t end, int32_t token)
{
    if (TRL_GROW(out->words.items, out->words.capacity, out->words.count + 1) < 0)
        return -1;
    trl_segment *word = &out->words.items[out->words.count];
    *word = said->words.items[first];
    word->end = said->words.items[end - 1].end;
    word->stop = said->words.items[end - 1].stop;
    if (end - first > 1)
        word->confidence = mean_confidence(said->words.items + first, end - first);
    word->index = token;
    if (token >= 0)
        word->label = out->token[token];
    for (; out->phones.count < said->phones.count; out->phones.count++) {
        const trl_segment *phone = &said->phones.items[out->phones.count];
        if ((size_t)phone->index >= end)
            break;
        out->phones.items[out->phones.count] = *phone;
        out->phones.items[out->phones.count].index = (int32_t)out->words.count;
    }
    out->words.count++;
    return 0;
}

int trl__written_segments_make(trl__written_segments *out, const trl__segmentation *said,
                               const trl_utterance *utterance, trl_error *err)
{
    out->words.count = out->phones.count = 0;
    if (read_tokens(out, utterance) < 0 || TRL_GROW(out->phones.items, out->phones.capacity, said->phones.count) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0, end; i < said->words.count; i = end) {
        int32_t token = token_at(out, &said->words, i);
        end = i + 1;
        while (token >= 0 && end < said->words.count && token_at(out, &said->words, end) == token)
            end++;
        if (join(out, said, i, end, token) < 0)
            return trl__fail_memory(err);
    }
    return 0;
}

void trl__written_segments_free(trl__written_segments *segments)
{
    trl__free(segments->words.items);
    trl__free(segments->phones.items);
    trl__free(segments->labels);
    trl__free(segments->token);
    trl__free(segments->token_of);
    *segments = (trl__written_segments){0};
}
