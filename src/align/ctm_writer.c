/* NIST's CTM, a line per segment: recording, channel, start, duration, label, confidence. Words without the silences between
 * them, phones with them. Sorted by recording, channel and start of the utterance. */
#include "align/alignment_format.h"
#include "align/time_text.h"

int trl__ctm_line(trl_file *file, const char *recording, const trl_utterance *u, const trl_segment *s, trl_error *err)
{
    char start[TRL__TIME_SIZE], duration[TRL__TIME_SIZE], confidence[TRL__TIME_SIZE] = "";
    int64_t from = trl__microseconds(u->start + s->start), to = trl__microseconds(u->start + s->stop);
    trl__time_text(from, start);
    trl__time_text(to - from, duration);
    if (s->confidence >= 0)
        trl__share_text(s->confidence, confidence);
    int channel = u->channel < 0 ? 1 : u->channel + 1;
    return trl_file_print(file, err, "%s %d %s %s %s%s%s\n", recording, channel, start, duration, s->label,
                          *confidence ? " " : "", confidence);
}

static int write_level(trl_file *file, const char *recording, const trl_utterance *u, const trl_segments *level,
                       trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < level->count; i++)
        if (level->items[i].label[0])
            code = trl__ctm_line(file, recording, u, &level->items[i], err);
    return code;
}

static int write_ctm(trl__alignment_sink *sink, const trl__recording *r, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->count; i++) {
        const trl__recorded *u = &r->utterances[i];
        code = write_level(sink->files[0], r->name, u->utterance, &u->words, err);
        if (code == 0)
            code = write_level(sink->files[1], r->name, u->utterance, &u->phones, err);
    }
    return code;
}

const trl__alignment_format trl__ctm_output = {
    .name = "ctm", .files = {"words.ctm", "phones.ctm"}, .recording = write_ctm};
