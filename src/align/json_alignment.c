/* JSON lines: an object per utterance, in corpus order, with its words, their phones and their states, nested. */
#include "align/alignment_format.h"
#include "align/time_text.h"
#include "base/json_text.h"

typedef struct printer {
    trl_file *file;
    const trl_alignment *alignment;
    size_t phone, state; /* the next to write */
    trl_error *err;
} printer;

static int write_text(printer *p, const char *key, const char *text)
{
    int code = trl_file_print(p->file, p->err, "\"%s\":", key);
    return code < 0 ? code : trl__json_string(p->file, text, p->err);
}

/* Seconds of the sound file. */
static int write_times(printer *p, double start, double stop)
{
    char from[TRL__TIME_SIZE], to[TRL__TIME_SIZE];
    trl__time_text(trl__microseconds(p->alignment->utterance->start + start), from);
    trl__time_text(trl__microseconds(p->alignment->utterance->start + stop), to);
    return trl_file_print(p->file, p->err, ",\"start\":%s,\"end\":%s", from, to);
}

static int write_segment(printer *p, const trl_segment *s)
{
    char confidence[TRL__TIME_SIZE];
    int code = write_times(p, s->start, s->stop);
    if (code < 0 || s->confidence < 0)
        return code;
    trl__share_text(s->confidence, confidence);
    return trl_file_print(p->file, p->err, ",\"confidence\":%s", confidence);
}

static int write_states(printer *p, size_t phone)
{
    const trl_segments *states = &p->alignment->states;
    int code = trl_file_print(p->file, p->err, ",\"states\":[");
    for (const char *comma = ""; code == 0 && p->state < states->count; comma = ",") {
        const trl_segment *s = &states->items[p->state];
        if ((size_t)s->index != phone)
            break;
        p->state++;
        code = trl_file_print(p->file, p->err, "%s{\"state\":%d", comma, (int)s->id);
        if (code == 0)
            code = write_times(p, s->start, s->stop);
        if (code == 0)
            code = trl_file_print(p->file, p->err, "}");
    }
    return code < 0 ? code : trl_file_print(p->file, p->err, "]");
}

static int write_phones(printer *p, size_t word)
{
    const trl_segments *phones = &p->alignment->phones;
    int code = trl_file_print(p->file, p->err, ",\"phones\":[");
    for (const char *comma = "{"; code == 0 && p->phone < phones->count; comma = ",{") {
        const trl_segment *s = &phones->items[p->phone];
        if ((size_t)s->index != word)
            break;
        code = trl_file_print(p->file, p->err, "%s", comma);
        if (code == 0)
            code = write_text(p, "phone", s->label);
        if (code == 0)
            code = write_segment(p, s);
        if (code == 0)
            code = write_states(p, p->phone++);
        if (code == 0)
            code = trl_file_print(p->file, p->err, "}");
    }
    return code < 0 ? code : trl_file_print(p->file, p->err, "]");
}

static int write_words(printer *p)
{
    const trl_segments *words = &p->alignment->words;
    int code = trl_file_print(p->file, p->err, ",\"words\":[");
    for (size_t i = 0; code == 0 && i < words->count; i++) {
        code = trl_file_print(p->file, p->err, i ? ",{" : "{");
        if (code == 0)
            code = write_text(p, "word", words->items[i].label);
        if (code == 0)
            code = write_segment(p, &words->items[i]);
        if (code == 0)
            code = write_phones(p, i);
        if (code == 0)
            code = trl_file_print(p->file, p->err, "}");
    }
    return code < 0 ? code : trl_file_print(p->file, p->err, "]}\n");
}

/* What is said of the utterance itself; `text` only where there is a transcript. */
static int write_head(printer *p)
{
    const trl_alignment *a = p->alignment;
    const trl_utterance *u = a->utterance;
    const char *keys[] = {"id", "speaker", "file", "text"},
               *texts[] = {u->id, u->speaker, u->path, u->written ? u->written : u->text};
    int code = 0;
    for (int i = 0; code == 0 && i < 4; i++) {
        if (!texts[i])
            continue;
        code = trl_file_print(p->file, p->err, i ? "," : "{");
        if (code == 0)
            code = write_text(p, keys[i], texts[i]);
    }
    if (code == 0 && u->channel >= 0)
        code = trl_file_print(p->file, p->err, ",\"channel\":%d", (int)u->channel);
    if (code == 0)
        code = write_times(p, 0, a->seconds);
    if (code == 0)
        code = trl_file_print(p->file, p->err, ",\"frames\":%d,\"log_likelihood\":", (int)a->frames);
    if (code == 0)
        code = trl__json_number(p->file, a->log_likelihood, p->err);
    if (code == 0)
        code = trl_file_print(p->file, p->err, ",\"fit\":");
    return code < 0 ? code : trl__json_number(p->file, a->fit, p->err);
}

static int add_line(trl__alignment_sink *sink, const trl_alignment *a, trl_error *err)
{
    printer p = {.file = sink->files[0], .alignment = a, .err = err};
    int code = write_head(&p);
    return code < 0 ? code : write_words(&p);
}

const trl__alignment_format trl__jsonl_output = {.name = "jsonl", .files = {"alignments.jsonl"}, .add = add_line};
