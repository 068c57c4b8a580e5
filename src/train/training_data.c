/* Features are extracted once into a packed file and mapped: every iteration reads them again, and the system keeps in
 * memory what fits. */
#include "train/training_data.h"
#include "align/unknown_words.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"

#include <stdio.h>
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
    trl_extract_summary summary;
    trl_extract_options e = trl_extract_defaults();
    e.channel = options->channel;
    e.skip_bad = options->skip_bad;
    e.cut_silence = 1;
    code = trl_extract_corpus(corpus, frontend, &e, pool, skipped, write_frames, writer, &summary, err);
    if (code == 0)
        code = trl_feature_writer_learnt(writer, frontend, &summary.mean, err);
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
    int same = made_by && trl__view_same(made_by, frontend);
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
    return trl__fail_in(err, describe(d, trl_feature_reader_frontend(d->features), err), place);
}

/* ---- Words ---- */

/* What looking words up needs. */
typedef struct lookup {
    const trl_lexicon *lexicon;
    int choice; /* trl_unknown_words: skip or noise */
    trl__transcript transcript;
    trl__unknown_list unknown; /* of utterances that are left out */
    trl_findings *skipped;
} lookup;

/* Is the utterance usable? 1, 0 with a finding, or an error. */
static int judge(lookup *l, const trl_utterance *u, trl_error *err)
{
    if (l->transcript.unknown_count == 0 || l->choice == TRL_UNKNOWN_NOISE)
        return 1;
    return trl__unknown_words_skip(&l->unknown, u, &l->transcript, l->skipped, err);
}

static void mix(trl__training_data *d, const void *bytes, size_t size)
{
    d->fingerprint = d->fingerprint * UINT64_C(0x9E3779B97F4A7C15) + trl__hash(bytes, size);
}

static int add_utterance(trl__training_data *d, const trl_utterance *u, size_t feature, lookup *l, trl_error *err)
{
    int usable = trl__transcript_split(&l->transcript, l->lexicon, u->text ? u->text : "", err);
    if (usable == 0)
        usable = judge(l, u, err);
    if (usable <= 0)
        return usable;
    size_t count = l->transcript.count;
    if (TRL_GROW(d->words, d->word_capacity, d->word_count + count) < 0)
        return trl__fail_memory(err);
    memcpy(d->words + d->word_count, l->transcript.words, count * sizeof *d->words);
    d->word_count += count;
    d->utterance[d->count] = u;
    d->feature[d->count] = feature;
    d->first_word[++d->count] = d->word_count;
    mix(d, u->id, strlen(u->id));
    mix(d, l->transcript.words, count * sizeof *d->words);
    return 0;
}

static int add_features(trl__training_data *d, size_t number, const trl_corpus *corpus, lookup *l, trl_error *err)
{
    trl_matrix frames = {0};
    const char *id;
    int code = trl_feature_reader_get(d->features, number, &id, &frames, err);
    long found = code < 0 ? -1 : trl_corpus_find(corpus, id);
    const trl_utterance *u = found < 0 ? NULL : trl_corpus_get(corpus, (size_t)found);
    if (!u || u->bad) /* what is wrong with bad ones is among the findings already */
        return code;
    if (frames.rows == 0)
        return trl_findings_add(l->skipped, TRL_FINDING_UNALIGNED, u->source, u->line, u->id, err,
                                "left out: its features have no frames");
    if (d->dim != 0 && (size_t)d->dim != frames.cols)
        return trl__fail(err, TRL_EINVAL, "utterance %s has %zu values per frame where others have %d", id, frames.cols,
                         d->dim);
    d->dim = (int32_t)frames.cols;
    d->frames += (double)frames.rows;
    mix(d, &frames.rows, sizeof frames.rows);
    return add_utterance(d, u, number, l, err);
}

/* Utterances that the corpus has and the features lack. */
static int name_missing(const trl__training_data *d, const trl_corpus *corpus, trl_findings *skipped, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < trl_corpus_count(corpus); i++) {
        trl_matrix frames = {0};
        const trl_utterance *u = trl_corpus_get(corpus, i);
        if (!u->bad && trl_feature_reader_find(d->features, u->id, &frames, NULL) == TRL_ENOENT)
            code = trl_findings_add(skipped, TRL_FINDING_NO_SOUND, u->source, u->line, u->id, err,
                                    "left out: there are no features of it");
    }
    return code;
}

static int nothing_left(const trl_findings *skipped, trl_error *err)
{
    const trl_finding *first = trl_findings_get(skipped, 0);
    if (!first)
        return trl__fail(err, TRL_EINVAL, "no utterance is left to train with; `trellis corpus check` says why");
    return trl__fail(err, TRL_EINVAL, "no utterance is left to train with; what is wrong first: %.200s: %.100s: %.400s",
                     first->file, first->utterance ? first->utterance : "-", first->message);
}

static int match(trl__training_data *d, const trl_corpus *corpus, lookup *l, trl_error *err)
{
    size_t count = trl_feature_reader_count(d->features);
    d->utterance = trl__alloc(count, sizeof *d->utterance);
    d->feature = trl__alloc(count, sizeof *d->feature);
    d->first_word = trl__alloc_zero(count + 1, sizeof *d->first_word);
    if (!d->utterance || !d->feature || !d->first_word)
        return trl__fail_memory(err);
    int code = 0;
    mix(d, d->frontend, strlen(d->frontend));
    for (size_t i = 0; code == 0 && i < count; i++)
        code = add_features(d, i, corpus, l, err);
    return code == 0 && d->count == 0 ? nothing_left(l->skipped, err) : code;
}

/* ---- What is odd about them ---- */

/* The description may be older than the frames. */
static int check_width(const trl__training_data *d, trl_error *err)
{
    trl_frontend_options o;
    trl_frontend *frontend = NULL;
    if (!*d->frontend)
        return 0;
    int code = trl_frontend_preset(&o, "mfcc", err);
    if (code == 0)
        code = trl_frontend_parse(&o, d->frontend, "the features' front end", err);
    if (code == 0)
        code = trl_frontend_create(&o, &frontend, err);
    trl_matrix_free(&o.transform);
    if (code < 0)
        return code;
    int made = trl_frontend_dim(frontend);
    trl_frontend_destroy(frontend);
    return made == d->dim
               ? 0
               : trl__fail(err, TRL_EINVAL,
                           "the features have %d values per frame, but the front end that they name makes %d",
                           (int)d->dim, made);
}

static void mark_phones(const trl_lexicon *lexicon, size_t word, uint8_t *seen)
{
    for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, word); v++) {
        trl_pronunciation p = trl_lexicon_pronunciation(lexicon, word, v);
        for (size_t i = 0; i < p.length; i++)
            seen[p.phones[i]] = 1;
    }
}

/* Phones that no word of the corpus has: their states stay as the flat start leaves them, or share those of others. */
static int name_unseen(const trl__training_data *d, const trl_lexicon *lexicon, const trl_train_options *options,
                       trl_findings *skipped, trl_error *err)
{
    size_t phones = trl_lexicon_phones(lexicon), unseen = 0, used = 0;
    char names[400] = "";
    uint8_t *seen = trl__alloc_zero(phones, 1);
    if (!seen)
        return trl__fail_memory(err);
    for (size_t i = 0; i < d->word_count; i++)
        if (d->words[i] >= 0)
            mark_phones(lexicon, (size_t)d->words[i], seen);
    for (size_t p = 0; p < phones; p++) {
        const char *name = trl_lexicon_phone(lexicon, p);
        if (seen[p] || strcmp(name, options->model.silence) == 0 || strcmp(name, options->model.noise) == 0)
            continue;
        unseen++;
        if (used + strlen(name) + 2 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s", name);
    }
    trl__free(seen);
    if (unseen == 0)
        return 0;
    return trl_findings_add(skipped, TRL_FINDING_STAGE, options->lexicon_name ? options->lexicon_name : "lexicon", 0,
                            NULL, err, "%zu of its %zu phones are in no word of the corpus:%s", unseen, phones, names);
}

/* ---- All of it ---- */

int trl__training_data_create(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
                              const trl_train_options *options, const char *path, int reuse, trl_pool *pool,
                              trl_findings *skipped, trl__training_data **out, trl_error *err)
{
    trl__training_data *d = trl__alloc_zero(1, sizeof *d);
    if (!d)
        return trl__fail_memory(err);
    d->speakers = trl_corpus_speakers(corpus);
    trl_unknown_summary unknown = {0};
    int code =
        trl_unknown_words_find(options->from, lexicon, corpus, options->unknown_words, NULL, NULL, &unknown, err);
    lookup l = {.lexicon = lexicon, .choice = unknown.choice, .unknown = {.lexicon = lexicon}, .skipped = skipped};
    int are_there = options->features || (reuse && is_there(path, trl_frontend_description(frontend)));
    if (code == 0 && !are_there)
        code = extract(corpus, frontend, options, path, pool, skipped, err);
    if (code == 0)
        code = open_features(d, options->features ? options->features : path, err);
    if (code == 0 && are_there)
        code = name_missing(d, corpus, skipped, err);
    if (code == 0)
        code = match(d, corpus, &l, err);
    if (code == 0)
        code = trl__fail_in(err, check_width(d, err), options->features ? options->features : path);
    if (code == 0)
        code = name_unseen(d, lexicon, options, skipped, err);
    trl__transcript_free(&l.transcript);
    trl__unknown_list_free(&l.unknown);
    if (code < 0) {
        trl__training_data_destroy(d);
        return code;
    }
    *out = d;
    return 0;
}

int trl__training_frames(const trl__training_data *d, size_t utterance, int adapted, trl__view_room *room,
                         trl_matrix *frames, trl_error *err)
{
    const char *id;
    trl_matrix stored = {0};
    int code = trl_feature_reader_get(d->features, d->feature[utterance], &id, &stored, err);
    if (code < 0)
        return code;
    return trl__view_apply(&d->view, &stored, d->utterance[utterance]->speaker_index, adapted, room, frames, err);
}

double trl__training_log_det(const trl__training_data *d, size_t utterance)
{
    return d->view.speakers ? d->view.speakers[d->utterance[utterance]->speaker_index].log_det : 0;
}

void trl__training_data_destroy(trl__training_data *d)
{
    if (!d)
        return;
    trl__view_free(&d->view);
    trl_feature_reader_close(d->features);
    trl__free(d->frontend);
    trl__free(d->utterance);
    trl__free(d->feature);
    trl__free(d->first_word);
    trl__free(d->words);
    trl__free(d);
}
