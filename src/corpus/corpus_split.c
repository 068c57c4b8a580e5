/* Some of a corpus apart, to test with what was trained on the rest. Speakers (or utterances) are put in the order of a hash of their name and
 * the seed, and set apart from the front until the share is reached: the choice does not depend on the order of the corpus, and one
 * speaker more moves few others. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <stdlib.h>
#include <string.h>

/* What stays together: a speaker's utterances, or one utterance. */
typedef struct group {
    uint64_t rank;
    const char *name;
    size_t number; /* of the speaker or utterance */
    size_t count;  /* of usable utterances */
} group;

trl_split_options trl_split_defaults(void)
{
    return (trl_split_options){.by = TRL_SPLIT_AUTO, .share = 0.1, .seed = 1};
}

static int check(const trl_split_options *o, trl_error *err)
{
    if (o->by < TRL_SPLIT_AUTO || o->by > TRL_SPLIT_UTTERANCE)
        return trl__fail(err, TRL_EINVAL, "%d is no way to split a corpus", (int)o->by);
    if (!(o->share > 0 && o->share < 1))
        return trl__fail(err, TRL_EINVAL, "the share to set apart is %g; it must be between 0 and 1", o->share);
    return 0;
}

static size_t count_usable(const trl_corpus *corpus)
{
    size_t usable = 0;
    for (size_t i = 0; i < corpus->count; i++)
        usable += !corpus->utterances[i].bad;
    return usable;
}

/* ---- by a list ---- */

/* A name may be a speaker's and an utterance's, where nobody said who speaks: that is the same then. */
static int read_list(const trl_corpus *corpus, const char *path, unsigned char *speakers, unsigned char *apart,
                     trl_error *err)
{
    trl__text text;
    char *line;
    size_t length;
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    while (code == 0 && trl__text_line(&text, &line, &length)) {
        const char *name = trl__next_field(&line);
        if (!name)
            continue;
        long utterance = trl_corpus_find(corpus, name);
        long speaker = trl__strings_find(&corpus->speakers, name, strlen(name));
        if (utterance >= 0)
            apart[utterance] = 1;
        if (speaker >= 0)
            speakers[speaker] = 1;
        if (utterance < 0 && speaker < 0)
            code = trl__fail_line(err, TRL_EFORMAT, path, text.line,
                                  "%s is no speaker and no utterance of %s; correct the line or take it out", name,
                                  corpus->path);
    }
    trl__text_free(&text);
    return code;
}

static int split_by_list(const trl_corpus *corpus, const char *path, unsigned char *apart, trl_error *err)
{
    unsigned char *speakers = trl__alloc_zero(corpus->speakers.count + 1, 1);
    if (!speakers)
        return trl__fail_memory(err);
    int code = read_list(corpus, path, speakers, apart, err);
    size_t chosen = 0;
    for (size_t i = 0; i < corpus->count; i++) {
        const trl_utterance *u = &corpus->utterances[i];
        apart[i] = !u->bad && (apart[i] || speakers[u->speaker_index]);
        chosen += apart[i];
    }
    trl__free(speakers);
    if (code == 0 && (chosen == 0 || chosen == count_usable(corpus)))
        return trl__fail(err, TRL_EFORMAT, "%s names %s usable utterance of %s; it must name some and leave some", path,
                         chosen ? "every" : "no", corpus->path);
    return code;
}

/* ---- by share ---- */

static int by_rank(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int is_by_speaker(const trl_corpus *corpus, trl_split_by by)
{
    size_t speakers = corpus->speakers.count;
    return by == TRL_SPLIT_SPEAKER || (by == TRL_SPLIT_AUTO && speakers > 1 && speakers < corpus->count);
}

static size_t group_of(const trl_corpus *corpus, int speakers, size_t utterance)
{
    return speakers ? (size_t)corpus->utterances[utterance].speaker_index : utterance;
}

static void fill_groups(const trl_corpus *corpus, int speakers, uint64_t seed, group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = speakers ? corpus->speakers.texts[i] : corpus->utterances[i].id;
        uint64_t key[2] = {seed, trl__hash(name, strlen(name))};
        groups[i] = (group){.name = name, .rank = trl__hash((const char *)key, sizeof key), .number = i};
    }
    for (size_t i = 0; i < corpus->count; i++)
        groups[group_of(corpus, speakers, i)].count += !corpus->utterances[i].bad;
    if (count > 1)
        qsort(groups, count, sizeof *groups, by_rank);
}

/* Takes groups until so many utterances are reached; one that has any stays behind. Returns how many were taken. */
static size_t take_groups(const group *groups, size_t count, size_t wanted, unsigned char *taken)
{
    size_t left = 0, chosen = 0;
    for (size_t i = 0; i < count; i++)
        left += groups[i].count > 0;
    for (size_t i = 0; i < count && left > 1 && chosen < wanted; i++)
        if (groups[i].count > 0) {
            taken[groups[i].number] = 1;
            chosen += groups[i].count;
            left--;
        }
    return chosen;
}

static int split_by_share(const trl_corpus *corpus, const trl_split_options *o, unsigned char *apart, trl_error *err)
{
    int speakers = is_by_speaker(corpus, o->by);
    size_t count = speakers ? corpus->speakers.count : corpus->count, chosen = 0;
    size_t wanted = (size_t)((double)count_usable(corpus) * o->share + 0.5);
    group *groups = trl__alloc(count + 1, sizeof *groups);
    unsigned char *taken = trl__alloc_zero(count + 1, 1);
    int code = groups && taken ? 0 : trl__fail_memory(err);
    if (code == 0) {
        fill_groups(corpus, speakers, o->seed, groups, count);
        chosen = take_groups(groups, count, wanted > 0 ? wanted : 1, taken);
        for (size_t i = 0; i < corpus->count; i++)
            apart[i] = !corpus->utterances[i].bad && taken[group_of(corpus, speakers, i)];
    }
    trl__free(groups);
    trl__free(taken);
    if (code == 0 && chosen == 0)
        return trl__fail(err, TRL_EINVAL, "%s: there are not two %s that can be used, so none can be set apart",
                         corpus->path, speakers ? "speakers" : "utterances");
    return code;
}

int trl_corpus_split(const trl_corpus *corpus, const trl_split_options *options, unsigned char *apart, trl_error *err)
{
    trl_split_options o = options ? *options : trl_split_defaults();
    int code = check(&o, err);
    if (code < 0)
        return code;
    memset(apart, 0, corpus->count);
    return o.list ? split_by_list(corpus, o.list, apart, err) : split_by_share(corpus, &o, apart, err);
}
