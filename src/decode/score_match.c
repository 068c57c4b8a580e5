/* Which hypothesis belongs to which utterance: by the id, or, with stm and ctm, by the time. */
#include "base/fail.h"
#include "decode/score_data.h"

#include <string.h>

typedef struct matcher {
    const trl_transcripts *said, *heard;
    int oracle;
    trl_score *score;
    trl__matches *out;
    trl_error *err;
} matcher;

static int add_utterances(matcher *m, trl__strings *ids)
{
    trl_score *s = m->score;
    size_t count = m->said->count;
    s->utterances = trl__alloc_zero(count + 1, sizeof *s->utterances);
    m->out->source = trl__alloc(count + 1, sizeof *m->out->source);
    m->out->first = trl__alloc_zero(count + 1, sizeof *m->out->first);
    if (!s->utterances || !m->out->source || !m->out->first)
        return trl__fail_memory(m->err);
    for (size_t i = 0; i < count; i++) {
        const trl__transcript *item = &m->said->items[i];
        if (!item->id || item->rank > 0)
            continue;
        long number = trl__strings_add(ids, item->id, strlen(item->id));
        if (number < 0)
            return trl__fail_memory(m->err);
        if ((size_t)number != s->count)
            return trl__fail_line(m->err, TRL_EFORMAT, m->said->name, item->line,
                                  "utterance '%s' is in the reference twice", item->id);
        m->out->source[s->count] = i;
        s->utterances[s->count++].id = item->id;
    }
    return 0;
}

static int add_extra(matcher *m, const char *name, size_t length)
{
    return trl__strings_add(&m->score->extras, name, length) < 0 ? trl__fail_memory(m->err) : 0;
}

/* ---- By the id ---- */

/* Lists as text number the hypotheses: id-1, id-2, … Returns the length of the id itself, 0 where there is no number. */
static size_t id_length(const matcher *m, const char *id)
{
    size_t length = strlen(id), end = length;
    if (!m->oracle || m->heard->ranked)
        return length;
    while (end > 0 && id[end - 1] >= '0' && id[end - 1] <= '9')
        end--;
    return end < length && end > 1 && id[end - 1] == '-' ? end - 1 : 0;
}

/* For each hypothesis its utterance, or -1. */
static int find_owners(matcher *m, const trl__strings *ids, long *owner)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < m->heard->count; i++) {
        const trl__transcript *item = &m->heard->items[i];
        owner[i] = -1;
        if (item->rank > 0 && !m->oracle)
            continue;
        size_t length = id_length(m, item->id);
        if (length == 0)
            return trl__fail_line(m->err, TRL_EFORMAT, m->heard->name, item->line,
                                  "'%s' does not end in -1, -2, … as ids of an N-best list do", item->id);
        owner[i] = trl__strings_find(ids, item->id, length);
        if (owner[i] < 0)
            code = add_extra(m, item->id, length);
    }
    return code;
}

/* By counting: how many each has, where its first one goes, then each to its place. Afterwards first[u] is where those of u end, which is
 * where those of u + 1 begin. */
static void sort_by_owner(matcher *m, const long *owner)
{
    size_t *first = m->out->first, count = m->score->count, sum = 0;
    for (size_t i = 0; i < m->heard->count; i++)
        if (owner[i] >= 0)
            first[owner[i]]++;
    for (size_t u = 0; u < count; u++) {
        size_t own = first[u];
        first[u] = sum;
        sum += own;
    }
    for (size_t i = 0; i < m->heard->count; i++)
        if (owner[i] >= 0)
            m->out->candidates[first[owner[i]]++] =
                (trl__word_range){m->heard->items[i].first, m->heard->items[i].count};
    memmove(first + 1, first, count * sizeof *first);
    first[0] = 0;
}

static int match_ids(matcher *m, const trl__strings *ids)
{
    size_t count = m->heard->count;
    long *owner = trl__alloc(count + 1, sizeof *owner);
    m->out->candidates = trl__alloc(count + 1, sizeof *m->out->candidates);
    int code = owner && m->out->candidates ? find_owners(m, ids, owner) : trl__fail_memory(m->err);
    if (code == 0)
        sort_by_owner(m, owner);
    trl__free(owner);
    for (size_t u = 0; code == 0 && !m->oracle && u < m->score->count; u++)
        if (m->out->first[u + 1] - m->out->first[u] > 1)
            code = trl__fail(m->err, TRL_EFORMAT, "%s: utterance '%s' has several hypotheses; an N-best list?",
                             m->heard->name, m->score->utterances[u].id);
    return code;
}

/* ---- By the time ---- */

typedef struct channel {
    size_t next, end; /* words of the hypothesis that are left */
    size_t last;      /* the last segment of the reference */
    int used;
} channel;

static int number_channels(matcher *m, trl__strings *keys, channel *channels)
{
    for (size_t i = 0; i < m->heard->count; i++) {
        const trl__transcript *item = &m->heard->items[i];
        if (trl__channel_number(keys, item->file, item->channel, 1) != (long)i)
            return trl__fail_memory(m->err);
        channels[i] = (channel){.next = item->first, .end = item->first + item->count};
    }
    return 0;
}

/* The channel of each segment, or -1 where the hypothesis has nothing of it; -2: out of memory. */
static int find_channels(matcher *m, trl__strings *keys, channel *channels, long *of)
{
    for (size_t i = 0; i < m->said->count; i++) {
        of[i] = trl__channel_number(keys, m->said->items[i].file, m->said->items[i].channel, 0);
        if (of[i] == -2)
            return trl__fail_memory(m->err);
        if (of[i] >= 0) {
            channels[of[i]].last = i;
            channels[of[i]].used = 1;
        }
    }
    return 0;
}

/* Words belong to the first segment that ends after their middle; what is left, to the last one. sclite holds ends of segments as floats,
 * which decides for words whose middle is the end. */
static void cut(matcher *m, channel *channels, const long *of)
{
    size_t utterance = 0, count = 0;
    for (size_t i = 0; i < m->said->count; i++) {
        const trl__transcript *item = &m->said->items[i];
        channel *c = of[i] >= 0 ? &channels[of[i]] : NULL;
        trl__word_range range = {c ? c->next : 0, 0};
        while (c && c->next < c->end && (i == c->last || m->heard->middles[c->next] < (double)(float)item->end)) {
            c->next++;
            range.count++;
        }
        if (!item->id)
            continue;
        if (c)
            m->out->candidates[count++] = range;
        m->out->first[++utterance] = count;
    }
}

static int match_times(matcher *m)
{
    trl__strings keys = {0};
    channel *channels = trl__alloc(m->heard->count + 1, sizeof *channels);
    long *of = trl__alloc(m->said->count + 1, sizeof *of);
    m->out->candidates = trl__alloc(m->said->count + 1, sizeof *m->out->candidates);
    int code = channels && of && m->out->candidates ? 0 : trl__fail_memory(m->err);
    if (code == 0)
        code = number_channels(m, &keys, channels);
    if (code == 0)
        code = find_channels(m, &keys, channels, of);
    if (code == 0)
        cut(m, channels, of);
    for (size_t i = 0; code == 0 && i < m->heard->count; i++)
        if (!channels[i].used)
            code = add_extra(m, keys.texts[i], strlen(keys.texts[i]));
    trl__strings_free(&keys);
    trl__free(channels);
    trl__free(of);
    return code;
}

int trl__match(const trl_transcripts *said, const trl_transcripts *heard, int oracle, trl_score *score,
               trl__matches *out, trl_error *err)
{
    matcher m = {said, heard, oracle, score, out, err};
    trl__strings ids = {0};
    int code = add_utterances(&m, &ids);
    if (code == 0)
        code = said->format == TRL_TRANSCRIPTS_STM ? match_times(&m) : match_ids(&m, &ids);
    trl__strings_free(&ids);
    return code;
}
