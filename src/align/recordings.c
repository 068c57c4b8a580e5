#include "align/recordings.h"
#include "align/recording_names.h"
#include "base/fail.h"
#include "base/temporary_file.h"

#include <stdlib.h>
#include <string.h>
#include <trellis/audio.h>

enum { WORDS, PHONES, STATES, LEVELS };

/* What stays in memory of an utterance. In the temporary file lie its segments of all levels, then their labels; a
 * segment's label is there an offset among them. */
typedef struct entry {
    const trl_utterance *utterance;
    double seconds;
    uint64_t offset;
    size_t counts[LEVELS], text; /* segments, bytes of labels */
    size_t recording;
    size_t rank; /* of the recording's name */
} entry;

struct trl__recordings {
    FILE *spool;
    uint64_t spooled; /* bytes */
    trl__strings keys;
    entry *entries;
    size_t count, capacity;
    trl__scratch block;
};

int trl__recordings_create(trl__recordings **out, trl_error *err)
{
    *out = NULL;
    trl__recordings *r = trl__alloc_zero(1, sizeof *r);
    int code = r ? trl__temporary_file(&r->spool, err) : trl__fail_memory(err);
    if (code < 0)
        trl__free(r);
    else
        *out = r;
    return code;
}

void trl__recordings_destroy(trl__recordings *r)
{
    if (!r)
        return;
    fclose(r->spool);
    trl__strings_free(&r->keys);
    trl__scratch_free(&r->block);
    trl__free(r->entries);
    trl__free(r);
}

/* ---- Gathering ---- */

/* A whole file is a recording of its own; parts belong together by their recording's id, or else by their file. */
static long recording_of(trl__recordings *r, const trl_utterance *u)
{
    char kind = trl__is_whole(u) ? 'i' : u->recording ? 'r' : 'p';
    const char *key = kind == 'i' ? u->id : kind == 'r' ? u->recording : u->path;
    size_t size = strlen(key) + 2;
    char *text = trl__scratch_get(&r->block, size, 1);
    if (!text)
        return -1;
    snprintf(text, size, "%c%s", kind, key);
    return trl__strings_add(&r->keys, text, size - 1);
}

static size_t segments_of(const entry *e)
{
    return e->counts[WORDS] + e->counts[PHONES] + e->counts[STATES];
}

/* Copies the segments of one level, their labels behind those that are there. */
static trl_segment *pack(const trl_segments *from, trl_segment *to, char *labels, size_t *text)
{
    for (size_t i = 0; i < from->count; i++, to++) {
        size_t size = strlen(from->items[i].label) + 1;
        memcpy(labels + *text, from->items[i].label, size);
        *to = from->items[i];
        to->label = (const char *)(uintptr_t)*text;
        *text += size;
    }
    return to;
}

int trl__recordings_add(trl__recordings *r, const trl_alignment *a, trl_error *err)
{
    const trl_segments *levels[LEVELS] = {&a->words, &a->phones, &a->states};
    entry e = {.utterance = a->utterance, .seconds = a->seconds, .offset = r->spooled};
    for (int l = 0; l < LEVELS; l++) {
        e.counts[l] = levels[l]->count;
        for (size_t i = 0; i < levels[l]->count; i++)
            e.text += strlen(levels[l]->items[i].label) + 1;
    }
    long recording = recording_of(r, a->utterance);
    size_t head = segments_of(&e) * sizeof(trl_segment), size = head + e.text, text = 0;
    trl_segment *to = trl__scratch_get(&r->block, size, 1);
    if (recording < 0 || !to || TRL_GROW(r->entries, r->capacity, r->count + 1) < 0)
        return trl__fail_memory(err);
    e.recording = (size_t)recording;
    for (int l = 0; l < LEVELS; l++)
        to = pack(levels[l], to, (char *)r->block.block + head, &text);
    if (fwrite(r->block.block, 1, size, r->spool) != size)
        return trl__fail_errno(err, "temporary file of alignments", "writing failed");
    r->spooled += size;
    r->entries[r->count++] = e;
    return 0;
}

/* ---- Putting together ---- */

static int compare(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->rank != y->rank)
        return compare(x->rank, y->rank);
    if (x->utterance->channel != y->utterance->channel)
        return x->utterance->channel < y->utterance->channel ? -1 : 1;
    if (x->utterance->start != y->utterance->start)
        return x->utterance->start < y->utterance->start ? -1 : 1;
    return strcmp(x->utterance->id, y->utterance->id);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names the recordings and sorts the entries by them. */
static int put_in_order(trl__recordings *r, trl__strings *names, trl_error *err)
{
    size_t count = r->keys.count;
    const trl_utterance **firsts = trl__alloc_zero(count + 1, sizeof(*firsts));
    const char **sorted = trl__alloc_zero(count + 1, sizeof(*sorted));
    int code = firsts && sorted ? 0 : trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < r->count; i++)
        if (!firsts[r->entries[i].recording])
            firsts[r->entries[i].recording] = r->entries[i].utterance;
    if (code == 0)
        code = trl__recording_names(firsts, count, names, err);
    if (code == 0 && count > 0) {
        memcpy(sorted, names->texts, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_text);
        for (size_t i = 0; i < r->count; i++) {
            const char **place =
                bsearch(&names->texts[r->entries[i].recording], sorted, count, sizeof *sorted, by_text);
            r->entries[i].rank = (size_t)(place - sorted);
        }
        qsort(r->entries, r->count, sizeof *r->entries, by_place);
    }
    trl__free(firsts);
    trl__free(sorted);
    return code;
}

static int read_back(trl__recordings *r, const entry *e, trl__recorded *out, trl__arena *arena, trl_error *err)
{
    size_t count = segments_of(e), size = count * sizeof(trl_segment) + e->text;
    trl_segment *segments = trl__arena_alloc(arena, size + 1);
    if (!segments)
        return trl__fail_memory(err);
    if (fseeko(r->spool, (off_t)e->offset, SEEK_SET) != 0 || fread(segments, 1, size, r->spool) != size)
        return trl__fail(err, TRL_EIO, "the temporary file of alignments can't be read back");
    const char *labels = (const char *)(segments + count);
    for (size_t i = 0; i < count; i++)
        segments[i].label = labels + (uintptr_t)segments[i].label;
    *out = (trl__recorded){.utterance = e->utterance, .seconds = e->seconds};
    out->words = (trl_segments){segments, e->counts[WORDS]};
    out->phones = (trl_segments){segments + e->counts[WORDS], e->counts[PHONES]};
    out->states = (trl_segments){out->phones.items + e->counts[PHONES], e->counts[STATES]};
    return 0;
}

/* A whole file's length is that of its utterance; of a file with parts the header knows it. */
static double recording_seconds(const trl__recorded *utterances, size_t count)
{
    double end = 0;
    for (size_t i = 0; i < count; i++)
        if (utterances[i].utterance->start + utterances[i].seconds > end)
            end = utterances[i].utterance->start + utterances[i].seconds;
    const trl_utterance *u = utterances[0].utterance;
    trl_audio *audio;
    trl_audio_info info;
    if (trl__is_whole(u) || strcmp(u->path, "-") == 0 || trl_audio_open(u->path, NULL, &info, &audio, NULL) < 0)
        return end;
    trl_audio_close(audio);
    return info.seconds > end ? info.seconds : end;
}

static int use_one(trl__recordings *r, const entry *first, size_t count, const char *name, trl__recording_fn use,
                   void *user, trl_error *err)
{
    trl__arena arena = {0};
    trl__recorded *utterances = trl__arena_alloc(&arena, count * sizeof *utterances);
    int code = utterances ? 0 : trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < count; i++)
        code = read_back(r, &first[i], &utterances[i], &arena, err);
    if (code == 0) {
        trl__recording recording = {name, recording_seconds(utterances, count), utterances, count};
        code = use(user, &recording, err);
    }
    trl__arena_free(&arena);
    return code;
}

int trl__recordings_each(trl__recordings *r, trl__recording_fn use, void *user, trl_error *err)
{
    if (fflush(r->spool) != 0)
        return trl__fail_errno(err, "temporary file of alignments", "writing failed");
    trl__strings names = {0};
    int code = put_in_order(r, &names, err);
    for (size_t i = 0, next; code == 0 && i < r->count; i = next) {
        for (next = i; next < r->count && r->entries[next].rank == r->entries[i].rank;)
            next++;
        code = use_one(r, &r->entries[i], next - i, names.texts[r->entries[i].recording], use, user, err);
    }
    trl__strings_free(&names);
    return code;
}
