/* Alignments as files, in the forms that other programs read.
 *
 *     trl_alignment_writer_options o = trl_alignment_writer_defaults();
 *     trl_alignment_writer_open("aligned", "textgrid,ctm", &o, &writer, &err);
 *     trl_alignment_writer_add(writer, alignment, &err);                   // one call per utterance, in corpus order
 *     trl_alignment_writer_commit(writer, &err);
 *
 * Formats, and what they make in the folder (docs/formats.md has the details):
 *   textgrid   NAME.TextGrid per recording, for Praat: tiers words, phones, and states by option
 *   ctm        words.ctm, phones.ctm: recording, channel, start, duration, label, confidence
 *   jsonl      alignments.jsonl: an object per utterance, words in it, phones in them, states in these
 *   kaldi      ali.ark with transition ids, final.mdl, tree, phones.txt
 *   mlf        words.mlf, phones.mlf: HTK master label files
 *   vtt, srt   NAME.vtt, NAME.srt per recording: subtitles
 *
 * Times are seconds of the sound file, except in kaldi and mlf, which count from the start of the utterance. A
 * recording is a sound file. NAME is the utterance's id when the utterance is the whole file, else the recording's id
 * (Kaldi's wav.scp), else the file's name without its ending (with its folder's in front where several files share it);
 * characters that can't be in a file name become dashes or underscores, and names that are taken get a number.
 */
#ifndef TRELLIS_ALIGNMENT_FILE_H
#define TRELLIS_ALIGNMENT_FILE_H

#include <trellis/align.h>

TRL_BEGIN_DECLS

typedef struct trl_alignment_writer trl_alignment_writer;

typedef struct trl_alignment_writer_options {
    const trl_model *model; /* needed for kaldi; must live until the end */
    int states;             /* textgrid and mlf: 1 adds the states; default 0 */
    int cue_words;          /* vtt and srt: words in a cue at most; 1: each word by itself; default 7 */
    double cue_pause;       /* seconds: a longer silence ends a cue; default 0.5 */
} trl_alignment_writer_options;

TRL_API trl_alignment_writer_options trl_alignment_writer_defaults(void);
/* Returns 0, or TRL_EINVAL saying which member is wrong and what it may be. */
TRL_API int trl_alignment_writer_options_check(const trl_alignment_writer_options *options, trl_error *err);

/* The name of the index-th format, from 0; NULL past the end. */
TRL_API const char *trl_alignment_format_name(size_t index);

/* Makes the folder where it is missing. formats: names separated by commas. options may be NULL. What does not fit is
 * known here, before the work. Returns 0, TRL_EINVAL (no such format, options), TRL_ENOENT, TRL_EIO, TRL_ENOMEM. */
TRL_API int trl_alignment_writer_open(const char *folder, const char *formats,
                                      const trl_alignment_writer_options *options, trl_alignment_writer **out,
                                      trl_error *err);

/* The alignment is copied, but its utterance must live until the end. One thread at a time. Returns 0, TRL_EINVAL
 * (segments that leave gaps or run backwards), TRL_EFORMAT (an id with blanks), TRL_ENUMBER, TRL_EIO, TRL_ENOMEM; after
 * a failure only an end makes sense, and trl_alignment_writer_commit will put nothing in place. */
TRL_API int trl_alignment_writer_add(trl_alignment_writer *writer, const trl_alignment *alignment, trl_error *err);

/* Both free the writer. Nothing appears under its name before the commit, and each file appears whole. */
TRL_API int trl_alignment_writer_commit(trl_alignment_writer *writer, trl_error *err);
TRL_API void trl_alignment_writer_abort(trl_alignment_writer *writer);

TRL_END_DECLS

#endif
