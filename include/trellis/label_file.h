/* HTK's master label files (MLF): words or phones, with times, of many recordings in one file.
 *
 *     trl_label_file_read("words.mlf", &labels, &err);
 *     long i = trl_label_file_find(labels, "anna-001", "data/anna/001.wav");
 *     trl_label_entry e = trl_label_file_entry(labels, (size_t)i);
 *     for (size_t k = 0; k < e.count; k++) puts(e.labels[k].text);
 *
 * An entry belongs to the recordings whose label file its name would be: a path in which * stands for anything and ?
 * for one character. Of alternative transcriptions (separated by ///) the first is read. A line may carry labels of
 * several levels, as HVite writes them: a state or phone on each line, and further to the right the phone or word that
 * begins there.
 *
 * Indices: entries count from 0 in the order of the file, lines from 1, levels from 0 (the first column of labels).
 */
#ifndef TRELLIS_LABEL_FILE_H
#define TRELLIS_LABEL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_label_file trl_label_file;

typedef struct trl_label {
    const char *text;
    double start, end; /* seconds; -1: not said */
    double score;      /* 0 where there is none */
    int level;
} trl_label;

typedef struct trl_label_entry {
    const char *name; /* as it stands in the file, without its quotes */
    int64_t line;     /* of the name */
    const trl_label *labels;
    size_t count;
    int levels; /* how many there are; the words are those of the last, levels - 1 */
} trl_label_entry;

/* Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (with the line), TRL_ECORRUPT (it ends within an entry), TRL_EUNSUPPORTED
 * (an entry that names a folder of label files), TRL_ENOMEM. */
TRL_API int trl_label_file_read(const char *path, trl_label_file **out, trl_error *err);
TRL_API void trl_label_file_destroy(trl_label_file *file);

/* Entries live as long as the file. */
TRL_API size_t trl_label_file_count(const trl_label_file *file);
TRL_API trl_label_entry trl_label_file_entry(const trl_label_file *file, size_t index);

/* The entry of an utterance: of those whose name, without folder and ending, is the id, the one whose whole name fits
 * the path of the sound, or else the first; failing that, the first that fits the path. `sound` may be NULL. -1:
 * none. */
TRL_API long trl_label_file_find(const trl_label_file *file, const char *id, const char *sound);

TRL_END_DECLS

#endif
