/* HTK's master label files: words, without the silences between them, and phones, with them; times from the start of the utterance.
 * With states, the file of phones has a line per state, s2 being the first, and the phone where it begins: HVite's
 * form. Confidences stand where HTK has scores. */
#include "align/alignment_format.h"
#include "align/time_text.h"
#include "base/htk_string.h"
#include "corpus/htk_mlf.h"

#include <stdio.h>

static int begin_files(trl__alignment_sink *sink, trl_error *err)
{
    int code = trl__mlf_begin(sink->files[0], err);
    return code < 0 ? code : trl__mlf_begin(sink->files[1], err);
}

static int write_score(trl_file *file, const trl_segment *s, trl_error *err)
{
    char score[TRL__TIME_SIZE];
    if (s->confidence < 0)
        return 0;
    trl__share_text(s->confidence, score);
    return trl_file_print(file, err, " %s", score);
}

static int write_level(trl_file *file, const trl_segments *level, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < level->count; i++) {
        const trl_segment *s = &level->items[i];
        if (!s->label[0])
            continue;
        code = trl__mlf_label(file, s->start, s->stop, s->label, err);
        if (code == 0)
            code = write_score(file, s, err);
        if (code == 0)
            code = trl_file_write(file, "\n", 1, err);
    }
    return code;
}

static int write_states(trl_file *file, const trl_alignment *a, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < a->states.count; i++) {
        const trl_segment *s = &a->states.items[i], *phone = &a->phones.items[s->index];
        char name[16];
        snprintf(name, sizeof name, "s%d", (int)s->id + 2);
        code = trl__mlf_label(file, s->start, s->stop, name, err);
        if (code == 0 && (i == 0 || s->index != s[-1].index)) {
            code = trl_file_write(file, " ", 1, err);
            if (code == 0)
                code = trl__htk_write_string(file, phone->label, 0, err);
            if (code == 0)
                code = write_score(file, phone, err);
        }
        if (code == 0)
            code = trl_file_write(file, "\n", 1, err);
    }
    return code;
}

static int add_entry(trl__alignment_sink *sink, const trl_alignment *a, trl_error *err)
{
    trl_file *words = sink->files[0], *phones = sink->files[1];
    int code = trl__mlf_begin_entry(words, a->utterance->id, "lab", err);
    if (code == 0)
        code = write_level(words, &a->words, err);
    if (code == 0)
        code = trl__mlf_end_entry(words, err);
    if (code == 0)
        code = trl__mlf_begin_entry(phones, a->utterance->id, "lab", err);
    if (code == 0)
        code = sink->options->states ? write_states(phones, a, err) : write_level(phones, &a->phones, err);
    return code < 0 ? code : trl__mlf_end_entry(phones, err);
}

const trl__alignment_format trl__mlf_output = {
    .name = "mlf", .files = {"words.mlf", "phones.mlf"}, .begin = begin_files, .add = add_entry};
