#include "align/usage.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>

int trl__usage_create(const trl_lexicon *lexicon, trl__usage **out, trl_error *err)
{
    *out = NULL;
    size_t count = trl_lexicon_first(lexicon, trl_lexicon_words(lexicon));
    trl__usage *u = trl__alloc_zero(1, sizeof *u);
    double *pronunciation = trl__alloc_zero(count, sizeof *pronunciation);
    if (!u || !pronunciation) {
        trl__free(u);
        trl__free(pronunciation);
        return trl__fail_memory(err);
    }
    *u = (trl__usage){.lexicon = lexicon, .pronunciations = count, .pronunciation = pronunciation};
    *out = u;
    return 0;
}

void trl__usage_destroy(trl__usage *usage)
{
    if (!usage)
        return;
    trl__free(usage->pronunciation);
    trl__free(usage);
}

void trl__usage_add(trl__usage *usage, const trl__graph *graph, const int32_t *words, const trl__run *runs,
                    size_t count)
{
    int32_t slot = -1;
    if (graph->slots == 1)
        return;
    int32_t places = (graph->slots + 1) / 2;
    usage->pauses += places;
    for (size_t i = 0; i < count; i++) {
        const trl__graph_phone *phone = &graph->phone[graph->node_phone[runs[i].node]];
        if (phone->slot == slot)
            continue;
        slot = phone->slot;
        if (slot % 2 == 0)
            usage->silences++;
        else if (words[slot / 2] != TRL__WORD_NOISE)
            usage->pronunciation[trl_lexicon_first(usage->lexicon, (size_t)words[slot / 2]) + (size_t)phone->variant]++;
    }
}

void trl__usage_merge(trl__usage *usage, const trl__usage *other)
{
    usage->silences += other->silences;
    usage->pauses += other->pauses;
    for (size_t i = 0; i < usage->pronunciations; i++)
        usage->pronunciation[i] += other->pronunciation[i];
}

float trl__usage_silence(const trl__usage *usage, float before)
{
    if (before <= 0 || before >= 1)
        return before;
    double probability = (usage->silences + (double)before) / (usage->pauses + 1);
    return (float)fmin(fmax(probability, 0.01), 0.99);
}
