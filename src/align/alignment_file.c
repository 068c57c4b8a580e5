/* The writer of alignments: several formats at once, each one a table of functions (alignment_format.h). */
#include "align/alignment_format.h"
#include "base/fail.h"
#include "base/path.h"
#include "feat/feature_format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const trl__alignment_format *const formats[] = {&trl__textgrid_output, &trl__ctm_output, &trl__jsonl_output,
                                                       &trl__kaldi_output,    &trl__mlf_output, &trl__vtt_output,
                                                       &trl__srt_output};
#define FORMATS (sizeof formats / sizeof *formats)
#define SLACK 1e-6 /* seconds by which times that are the same may differ */

struct trl_alignment_writer {
    char *folder;
    trl_alignment_writer_options options;
    trl__alignment_sink sinks[FORMATS];
    size_t count;
    trl__complete_files complete;
    trl__recordings *recordings; /* NULL: no format asks for them */
    int failed;                  /* the error after which only an end makes sense, or 0 */
};

const char *trl_alignment_format_name(size_t index)
{
    return index < FORMATS ? formats[index]->name : NULL;
}

trl_alignment_writer_options trl_alignment_writer_defaults(void)
{
    return (trl_alignment_writer_options){.cue_words = 7, .cue_pause = 0.5};
}

int trl_alignment_writer_options_check(const trl_alignment_writer_options *o, trl_error *err)
{
    if (o->states != 0 && o->states != 1)
        return trl__fail(err, TRL_EINVAL, "states = %d: 0 or 1", o->states);
    if (o->cue_words < 1)
        return trl__fail(err, TRL_EINVAL, "cue_words = %d: a number from 1 up", o->cue_words);
    if (!(o->cue_pause >= 0 && isfinite(o->cue_pause)))
        return trl__fail(err, TRL_EINVAL, "cue_pause: seconds, from 0 up");
    return 0;
}

/* ---- Files ---- */

int trl__sink_file(const trl__alignment_sink *sink, const char *name, const char *ending, trl_file **out,
                   trl_error *err)
{
    *out = NULL;
    size_t size = strlen(sink->folder) + strlen(name) + strlen(ending) + 2;
    char *path = trl__alloc(size, 1);
    if (!path)
        return trl__fail_memory(err);
    snprintf(path, size, "%s/%s%s", sink->folder, name, ending);
    int code = trl_file_create(path, out, err);
    trl__free(path);
    return code;
}

static int put_in_place(trl__complete_files *complete, trl_error *err)
{
    size_t count = complete->count;
    complete->count = 0;
    return trl_file_commit_all(complete->items, count, err);
}

static int add_complete(trl__complete_files *complete, trl_file *file, trl_error *err)
{
    complete->items[complete->count++] = file;
    return complete->count == TRL__COMPLETE_MOST ? put_in_place(complete, err) : 0;
}

int trl__sink_close(const trl__alignment_sink *sink, trl_file *file, int code, trl_error *err)
{
    if (code == 0)
        return add_complete(sink->complete, file, err);
    trl_file_abort(file);
    return code;
}

/* ---- Opening ---- */

static const trl__alignment_format *find_format(const char *name, size_t length)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strlen(formats[i]->name) == length && strncmp(formats[i]->name, name, length) == 0)
            return formats[i];
    return NULL;
}

static int fail_format(const char *name, size_t length, trl_error *err)
{
    char list[200] = "";
    for (size_t i = 0, used = 0; i < FORMATS; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", formats[i]->name);
    return trl__fail(err, TRL_EINVAL, "there is no format '%.*s' for alignments; there are %s", (int)length, name,
                     list);
}

static int open_sink(trl_alignment_writer *w, const trl__alignment_format *format, trl_error *err)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->sinks[i].format == format)
            return 0;
    trl__alignment_sink *sink = &w->sinks[w->count++];
    *sink =
        (trl__alignment_sink){.format = format, .options = &w->options, .folder = w->folder, .complete = &w->complete};
    int code = 0;
    for (int f = 0; code == 0 && f < TRL__FORMAT_FILES && format->files[f]; f++)
        code = trl__sink_file(sink, format->files[f], "", &sink->files[f], err);
    if (code == 0 && format->begin)
        code = format->begin(sink, err);
    if (code == 0 && format->recording && !w->recordings)
        code = trl__recordings_create(&w->recordings, err);
    return code;
}

/* With writer NULL the names are only checked. */
static int each_format(const char *names, trl_alignment_writer *writer, trl_error *err)
{
    int code = 0;
    for (const char *name = names; code == 0;) {
        size_t length = strcspn(name, ",");
        const trl__alignment_format *format = find_format(name, length);
        code = !format ? fail_format(name, length, err) : writer ? open_sink(writer, format, err) : 0;
        if (name[length] == '\0')
            break;
        name += length + 1;
    }
    return code;
}

int trl_alignment_writer_open(const char *folder, const char *names, const trl_alignment_writer_options *options,
                              trl_alignment_writer **out, trl_error *err)
{
    *out = NULL;
    trl_alignment_writer_options o = options ? *options : trl_alignment_writer_defaults();
    int code = trl_alignment_writer_options_check(&o, err);
    if (code == 0)
        code = each_format(names, NULL, err);
    if (code == 0)
        code = trl__make_folder(folder, err);
    if (code < 0)
        return code;
    trl_alignment_writer *w = trl__alloc_zero(1, sizeof *w);
    if (!w || !(w->folder = trl__strdup(folder))) {
        trl__free(w);
        return trl__fail_memory(err);
    }
    w->options = o;
    code = each_format(names, w, err);
    if (code < 0)
        trl_alignment_writer_abort(w);
    else
        *out = w;
    return code;
}

/* ---- Adding ---- */

static int check_segment(const trl_segment *s, double before, trl_error *err)
{
    if (!isfinite(s->start) || !isfinite(s->stop) || isnan(s->confidence))
        return trl__fail(err, TRL_ENUMBER, "segment '%s' has a time or confidence that is no number", s->label);
    if (fabs(s->start - before) > SLACK || s->stop <= s->start)
        return trl__fail(err, TRL_EINVAL,
                         "segment '%s' from %g s to %g s: it must begin where the one before ends, at %g s", s->label,
                         s->start, s->stop, before);
    return 0;
}

/* Without gaps from 0 to the end; each phone in a word, each state in a phone, in order. */
static int check_level(const trl_segments *level, const trl_segments *above, double seconds, trl_error *err)
{
    double end = 0;
    int32_t parent = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < level->count; i++) {
        const trl_segment *s = &level->items[i];
        code = check_segment(s, end, err);
        end = s->stop;
        if (code == 0 && above && (s->index < parent || (size_t)s->index >= above->count))
            code = trl__fail(err, TRL_EINVAL, "segment '%s' belongs to number %d of the level above, which can't be",
                             s->label, (int)s->index);
        parent = s->index;
    }
    if (code == 0 && level->count > 0 && fabs(end - seconds) > SLACK)
        code = trl__fail(err, TRL_EINVAL, "the segments end at %g s, the sound at %g s", end, seconds);
    return code;
}

static int check_alignment(const trl_alignment *a, trl_error *err)
{
    int code = trl__check_id("an alignment", a->utterance->id, err);
    if (code == 0)
        code = check_level(&a->words, NULL, a->seconds, err);
    if (code == 0)
        code = check_level(&a->phones, &a->words, a->seconds, err);
    if (code == 0)
        code = check_level(&a->states, &a->phones, a->seconds, err);
    return code;
}

static int add_to_all(trl_alignment_writer *w, const trl_alignment *a, trl_error *err)
{
    int code = w->recordings ? trl__recordings_add(w->recordings, a, err) : 0;
    for (size_t i = 0; code == 0 && i < w->count; i++)
        if (w->sinks[i].format->add)
            code = w->sinks[i].format->add(&w->sinks[i], a, err);
    return code;
}

int trl_alignment_writer_add(trl_alignment_writer *w, const trl_alignment *a, trl_error *err)
{
    if (w->failed)
        return trl__fail(err, w->failed, "%s: writing failed before; nothing can be added", w->folder);
    trl_error why;
    int code = check_alignment(a, &why);
    if (code < 0)
        trl__fail(err, code, "utterance %s: %s", a->utterance->id, why.text);
    else
        code = add_to_all(w, a, err);
    w->failed = code;
    return code;
}

/* ---- The end ---- */

static int write_recording(void *user, const trl__recording *recording, trl_error *err)
{
    trl_alignment_writer *w = user;
    int code = 0;
    for (size_t i = 0; code == 0 && i < w->count; i++)
        if (w->sinks[i].format->recording)
            code = w->sinks[i].format->recording(&w->sinks[i], recording, err);
    return code;
}

static int finish_sink(trl__alignment_sink *sink, trl_error *err)
{
    int code = sink->format->finish ? sink->format->finish(sink, err) : 0;
    for (int f = 0; code == 0 && f < TRL__FORMAT_FILES && sink->files[f]; f++) {
        trl_file *file = sink->files[f];
        sink->files[f] = NULL;
        code = add_complete(sink->complete, file, err);
    }
    return code;
}

int trl_alignment_writer_commit(trl_alignment_writer *w, trl_error *err)
{
    int code =
        w->failed ? trl__fail(err, w->failed, "%s: writing failed before; nothing was put in place", w->folder) : 0;
    if (code == 0 && w->recordings)
        code = trl__recordings_each(w->recordings, write_recording, w, err);
    for (size_t i = 0; code == 0 && i < w->count; i++)
        code = finish_sink(&w->sinks[i], err);
    if (code == 0)
        code = put_in_place(&w->complete, err);
    trl_alignment_writer_abort(w);
    return code;
}

void trl_alignment_writer_abort(trl_alignment_writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->count; i++) {
        for (int f = 0; f < TRL__FORMAT_FILES; f++)
            trl_file_abort(w->sinks[i].files[f]);
        if (w->sinks[i].format->discard)
            w->sinks[i].format->discard(&w->sinks[i]);
    }
    for (size_t i = 0; i < w->complete.count; i++)
        trl_file_abort(w->complete.items[i]);
    trl__recordings_destroy(w->recordings);
    trl__free(w->folder);
    trl__free(w);
}
