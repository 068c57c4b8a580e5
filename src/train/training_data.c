/* Features are extracted once into a packed file and mapped: every iteration reads them again, and the system keeps in memory what
 * fits. */
#include "train/training_data.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"

#include <string.h>
#include <trellis/extract.h>

/* ---- Features ---- */

static int write_frames(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *err)
{
    return trl_feature_writer_add(user, u->id, frames, err);
}

static int extract(const trl_corpus *corpus, const trl_frontend *frontend, const trl_train_options *options,
                   const char *path, trl_pool *pool, trl_findings *skipped, trl_error *err)
{
    trl_feature_writer_options w = trl_feature_writer_defaults();
    w.frontend = trl_frontend_description(frontend);
    trl_feature_writer *writer;
    int code = trl_feature_writer_open(path, &w, &writer, err);
    if (code < 0)
        return code;
    trl_extract_options e = trl_extract_defaults();
    e.channel = options->channel;
    e.skip_bad = options->skip_bad;
    code = trl_extract_corpus(corpus, frontend, &e, pool, skipped, write_frames, writer, NULL, err);
    if (code == 0)
        return trl_feature_writer_commit(writer, err);
    trl_feature_writer_abort(writer);
    return code;
}

static int is_there(const char *path, const char *frontend)
{
    trl_feature_reader *reader;
    if (trl_feature_reader_open(path, &reader, NULL) < 0)
        return 0;
    const char *made_by = trl_feature_reader_frontend(reader);
    int same = made_by && strcmp(made_by, frontend) == 0;
    trl_feature_reader_close(reader);
    return same;
}

/* The step between frames comes from the description that is stored with the features. */
static int describe(trl__training_data *d, const char *description, trl_error *err)
{
    trl_frontend_options o;
    int code = trl_frontend_preset(&o, "mfcc", err);
    if (code == 0 && description)
        code = trl_frontend_parse(&o, description, "the features' front end", err);
    trl_matrix_free(&o.transform);
    if (code < 0)
        return code;
    d->frame_seconds = o.shift_ms / 1000;
    d->frontend = trl__strdup(description ? description : "");
    return d->frontend ? 0 : trl__fail_memory(err);
}

static int open_features(trl__training_data *d, const char *place, trl_error *err)
{
    int code = trl_feature_reader_open(place, &d->features, err);
    if (code < 0)
        return code;
    if (trl_feature_reader_count(d->features) == 0)
        return trl__fail(err, TRL_EINVAL,
                         "%s: no features to train with; training reads packed files (trellis features copy IN OUT.trf "
                         "makes one)",
                         place);
    return describe(d, trl_feature_reader_frontend(d->features), err);
}

/* ---- Words ---- */

/* 1: the utterance is usable, its words appended; 0: it is not, with a finding. */
static int add_words(trl__training_data *d, const trl_utterance *u, const trl_lexicon *lexicon, int policy,
                     trl_findings *skipped, trl_error *err)
{
    char first[TRL__WORD_SIZE];
    size_t unknown, before = d->words.count;
    int code = trl__transcript_words(u->text ? u->text : "", lexicon, &d->words, &unknown, first, err);
    if (code < 0)
        return code;
    if (unknown == 0 || policy == TRL_UNKNOWN_NOISE)
        return 1;
    d->words.count = before;
    if (policy == TRL_UNKNOWN_FAIL)
        return trl__fail_line(err, TRL_EINVAL, u->text_source ? u->text_source : u->source, u->text_line,
                              "utterance %s: the word '%s' is not in the lexicon; add it, leave such utterances out "
                              "(skip) or train them as noise",
                              u->id, first);
    code = trl_findings_add(skipped, TRL_FINDING_UNALIGNED, u->text_source, u->text_line, u->id, err,
                            "left out of training: %zu word%s not in the lexicon, the first is '%s'", unknown,
                            unknown == 1 ? " is" : "s are", first);
    return code;
}

static void mix(trl__training_data *d, const void *bytes, size_t size)
{
    d->fingerprint = d->fingerprint * UINT64_C(0x9E3779B97F4A7C15) + trl__hash(bytes, size);
}

static int add_utterance(trl__training_data *d, const trl_utterance *u, size_t feature, const trl_lexicon *lexicon,
                         int policy, trl_findings *skipped, trl_error *err)
{
    size_t before = d->words.count;
    int usable = add_words(d, u, lexicon, policy, skipped, err);
    if (usable <= 0)
        return usable;
    d->utterance[d->count] = u;
    d->feature[d->count] = feature;
    d->first_word[d->count++] = before;
    d->first_word[d->count] = d->words.count;
    mix(d, u->id, strlen(u->id));
    mix(d, d->words.items + before, (d->words.count - before) * sizeof *d->words.items);
    return 0;
}

/* Features follow the corpus' order, so their numbers are found by walking along; others are looked up by id. */
static int match(trl__training_data *d, const trl_corpus *corpus, const trl_lexicon *lexicon, int policy,
                 trl_findings *skipped, trl_error *err)
{
    size_t room = trl_feature_reader_count(d->features) + 1;
    d->utterance = trl__alloc(room, sizeof *d->utterance);
    d->feature = trl__alloc(room, sizeof *d->feature);
    d->first_word = trl__alloc_zero(room + 1, sizeof *d->first_word);
    if (!d->utterance || !d->feature || !d->first_word)
        return trl__fail_memory(err);
    int code = 0;
    mix(d, d->frontend, strlen(d->frontend));
    for (size_t i = 0; code == 0 && i + 1 < room; i++) {
        trl_matrix frames = {0};
        const char *id;
        code = trl_feature_reader_get(d->features, i, &id, &frames, err);
        long number = code < 0 ? -1 : trl_corpus_find(corpus, id);
        if (number < 0)
            continue;
        if (d->dim != 0 && (size_t)d->dim != frames.cols)
            return trl__fail(err, TRL_EINVAL, "utterance %s has %zu values per frame where others have %d", id,
                             frames.cols, d->dim);
        d->dim = (int32_t)frames.cols;
        code = add_utterance(d, trl_corpus_get(corpus, (size_t)number), i, lexicon, policy, skipped, err);
    }
    if (code == 0 && d->count == 0)
        code = trl__fail(err, TRL_EINVAL, "no utterance is left to train with; `trellis corpus check` says why");
    return code;
}

int trl__training_data_create(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
                              const trl_train_options *options, const char *path, int reuse, trl_pool *pool,
                              trl_findings *skipped, trl__training_data **out, trl_error *err)
{
    trl__training_data *d = trl__alloc_zero(1, sizeof *d);
    if (!d)
        return trl__fail_memory(err);
    int code = 0;
    if (!options->features && !(reuse && is_there(path, trl_frontend_description(frontend))))
        code = extract(corpus, frontend, options, path, pool, skipped, err);
    if (code == 0)
        code = open_features(d, options->features ? options->features : path, err);
    if (code == 0)
        code = match(d, corpus, lexicon, options->unknown_words, skipped, err);
    if (code < 0) {
        trl__training_data_destroy(d);
        return code;
    }
    *out = d;
    return 0;
}

void trl__training_data_destroy(trl__training_data *d)
{
    if (!d)
        return;
    trl_feature_reader_close(d->features);
    trl__free(d->frontend);
    trl__free(d->utterance);
    trl__free(d->feature);
    trl__free(d->first_word);
    trl__free(d->words.items);
    trl__free(d);
}
