/* Files of recognised words. */
#include "align/alignment_format.h"
#include "align/time_text.h"
#include "base/fail.h"
#include "base/json_text.h"
#include "base/memory.h"

#include <trellis/decode.h>

struct trl_decoding_writer {
    trl_decoding_format format;
    trl_file *file;
    trl__recordings *recordings; /* CTM alone: its lines are sorted */
};

int trl_decoding_writer_open(const char *path, trl_decoding_format format, trl_decoding_writer **out, trl_error *err)
{
    *out = NULL;
    trl_decoding_writer *w = trl__alloc_zero(1, sizeof *w);
    if (!w)
        return trl__fail_memory(err);
    w->format = format;
    int code = trl_file_create(path, &w->file, err);
    if (code == 0 && format == TRL_DECODING_CTM)
        code = trl__recordings_create(&w->recordings, err);
    if (code < 0)
        trl_decoding_writer_abort(w);
    else
        *out = w;
    return code;
}

void trl_decoding_writer_abort(trl_decoding_writer *w)
{
    if (!w)
        return;
    trl_file_abort(w->file);
    trl__recordings_destroy(w->recordings);
    trl__free(w);
}

static int add_text(trl_file *file, const trl_decoding *d, trl_error *err)
{
    int code = trl_file_print(file, err, "%s", d->utterance->id);
    for (size_t i = 0; code == 0 && i < d->words.count; i++)
        code = trl_file_print(file, err, " %s", d->words.items[i].label);
    return code < 0 ? code : trl_file_print(file, err, "\n");
}

static int add_ctm(trl_decoding_writer *w, const trl_decoding *d, trl_error *err)
{
    trl_alignment alignment = {
        .utterance = d->utterance, .words = d->words, .frames = d->frames, .seconds = d->seconds};
    return trl__recordings_add(w->recordings, &alignment, err);
}

/* ---- JSON lines ---- */

static int add_json_word(trl_file *file, const trl_decoding *d, size_t i, trl_error *err)
{
    char from[TRL__TIME_SIZE], to[TRL__TIME_SIZE];
    const trl_segment *s = &d->words.items[i];
    trl__time_text(trl__microseconds(d->utterance->start + s->start), from);
    trl__time_text(trl__microseconds(d->utterance->start + s->stop), to);
    int code = trl_file_print(file, err, "%s{\"word\":", i > 0 ? "," : "");
    if (code == 0)
        code = trl__json_string(file, s->label, err);
    if (code == 0)
        code = trl_file_print(file, err, ",\"start\":%s,\"end\":%s", from, to);
    if (code == 0 && s->confidence >= 0) {
        char confidence[TRL__TIME_SIZE];
        trl__share_text(s->confidence, confidence);
        code = trl_file_print(file, err, ",\"confidence\":%s", confidence);
    }
    return code < 0 ? code : trl_file_print(file, err, "}");
}

static int add_json_text(trl_file *file, const char *key, const char *text, trl_error *err)
{
    int code = trl_file_print(file, err, "\"%s\":", key);
    return code < 0 ? code : trl__json_string(file, text, err);
}

static int add_json_number(trl_file *file, const char *key, double value, trl_error *err)
{
    int code = trl_file_print(file, err, ",\"%s\":", key);
    return code < 0 ? code : trl__json_number(file, value, err);
}

static int add_json(trl_file *file, const trl_decoding *d, trl_error *err)
{
    const trl_utterance *u = d->utterance;
    const char *keys[] = {"id", "speaker", "file"}, *texts[] = {u->id, u->speaker, u->path};
    int code = 0;
    for (int i = 0; code == 0 && i < 3; i++) {
        if (!texts[i])
            continue;
        code = trl_file_print(file, err, i ? "," : "{");
        if (code == 0)
            code = add_json_text(file, keys[i], texts[i], err);
    }
    if (code == 0)
        code = trl_file_print(file, err, ",\"words\":[");
    for (size_t i = 0; code == 0 && i < d->words.count; i++)
        code = add_json_word(file, d, i, err);
    if (code == 0)
        code = trl_file_print(file, err, "],\"frames\":%d", (int)d->frames);
    if (code == 0)
        code = add_json_number(file, "graph_cost", d->graph_cost, err);
    if (code == 0)
        code = add_json_number(file, "acoustic_cost", d->acoustic_cost, err);
    if (code == 0 && d->expected_errors >= 0)
        code = add_json_number(file, "expected_errors", d->expected_errors, err);
    return code < 0 ? code : trl_file_print(file, err, ",\"reached_end\":%s}\n", d->reached_end ? "true" : "false");
}

int trl_decoding_writer_add(trl_decoding_writer *w, const trl_decoding *d, trl_error *err)
{
    if (w->format == TRL_DECODING_TEXT)
        return add_text(w->file, d, err);
    return w->format == TRL_DECODING_CTM ? add_ctm(w, d, err) : add_json(w->file, d, err);
}

/* ---- the end ---- */

static int write_recording(void *user, const trl__recording *r, trl_error *err)
{
    trl_decoding_writer *w = user;
    int code = 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; code == 0 && k < r->utterances[i].words.count; k++)
            code = trl__ctm_line(w->file, r->name, r->utterances[i].utterance, &r->utterances[i].words.items[k], err);
    return code;
}

int trl_decoding_writer_commit(trl_decoding_writer *w, trl_error *err)
{
    int code = w->recordings ? trl__recordings_each(w->recordings, write_recording, w, err) : 0;
    if (code == 0) {
        code = trl_file_commit(w->file, err);
        w->file = NULL;
    }
    trl_decoding_writer_abort(w);
    return code;
}
