/* HTK's master label files (The HTK Book 3.4, sections 6.2.1 and 6.3):
 *
 *     #!MLF!#
 *     "x/001.lab"                                     a name; with * and ? a pattern; then its labels
 *     0 3100000 sil -120.5 SENT-START                 [start [end]] label [score] {label [score]}, times in 100 ns
 *     3100000 3900000 hh                              a level without a new label is left out
 *     .                                               the end of the entry
 *
 * A field that is not quoted and looks like a number is one.
 */
#include "corpus/htk_mlf.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/htk_string.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_PER_UNIT 1e-7
#define MOST_LEVELS 99 /* HTK's limit */
#define NONE UINT32_MAX

typedef struct entry {
    const char *name;
    int64_t line;
    size_t first_label, labels;
    int levels;
    uint32_t next; /* the next entry with the same base name, or NONE */
    uint32_t last; /* of the first with a base name: the last one with it */
} entry;

struct trl_label_file {
    char *path;
    entry *entries;
    size_t count, capacity;
    trl_label *labels;
    size_t label_count, label_capacity;
    trl__map by_base;    /* base name without ending -> its first entry */
    uint32_t *wildcards; /* entries whose base name is a pattern */
    size_t wildcard_count, wildcard_capacity;
    trl__arena arena;
};

/* ---- Reading ---- */

typedef struct reader {
    trl_label_file *file;
    trl__text *text;
    int skipping; /* past ///: alternatives are not read */
} reader;

static int wrong(const reader *r, trl_error *err, const char *what)
{
    return trl__fail_line(err, TRL_EFORMAT, r->file->path, r->text->line, "%s", what);
}

typedef struct field {
    char text[TRL__HTK_STRING];
    int is_number;
    double number;
} field;

/* Returns 1, 0 at the end of the line, or an error. */
static int next_field(const reader *r, const char **cursor, const char *end, field *f, trl_error *err)
{
    int quoted;
    while (*cursor < end && trl__is_space(**cursor))
        ++*cursor;
    if (*cursor == end)
        return 0;
    if (trl__htk_read_string(cursor, end, f->text, &quoted) < 0)
        return wrong(r, err, "a quote or an escape (\\) that does not end, or a string of more than 1023 bytes");
    f->is_number = !quoted && trl__htk_is_number(f->text) && trl__parse_double(f->text, &f->number) == 0;
    return 1;
}

static int add_label(const reader *r, const trl_label *label, const char *text, trl_error *err)
{
    trl_label_file *file = r->file;
    trl_label copy = *label;
    copy.text = trl__arena_copy(&file->arena, text, strlen(text));
    if (!copy.text || TRL_GROW(file->labels, file->label_capacity, file->label_count + 1) < 0)
        return trl__fail_memory(err);
    file->labels[file->label_count++] = copy;
    entry *e = &file->entries[file->count - 1];
    e->labels++;
    if (copy.level >= e->levels)
        e->levels = copy.level + 1;
    return 0;
}

/* Up to two times in front of the label; *found is the label itself then. */
static int read_times(const reader *r, const char **cursor, const char *end, field *f, trl_label *label, trl_error *err)
{
    double times[2] = {-1, -1};
    int count = 0, found = next_field(r, cursor, end, f, err);
    while (found > 0 && f->is_number && count < 2) {
        times[count++] = f->number;
        found = next_field(r, cursor, end, f, err);
    }
    if (found < 0)
        return found;
    if (found == 0 || f->is_number)
        return wrong(r, err, "expected a label; one that looks like a number must stand in quotes");
    if (times[0] < 0 && count > 0)
        return wrong(r, err, "a time below 0");
    if (count == 2 && times[1] < times[0])
        return wrong(r, err, "the label ends before it starts");
    label->start = count > 0 ? times[0] * SECONDS_PER_UNIT : -1;
    label->end = count > 1 ? times[1] * SECONDS_PER_UNIT : -1;
    return 0;
}

static int read_label(const reader *r, const char *line, size_t length, trl_error *err)
{
    const char *cursor = line, *end = line + length;
    field f;
    trl_label label = {0};
    int code = read_times(r, &cursor, end, &f, &label, err), found = 1;
    for (; code == 0 && found > 0; label.level++) {
        field score;
        if (f.is_number)
            return wrong(r, err, "two scores in a row; a label that looks like a number must stand in quotes");
        if (label.level == MOST_LEVELS)
            return wrong(r, err, "more than 99 labels in a line");
        found = next_field(r, &cursor, end, &score, err);
        label.score = found > 0 && score.is_number ? score.number : 0;
        code = found < 0 ? found : add_label(r, &label, f.text, err);
        if (found > 0 && score.is_number)
            found = next_field(r, &cursor, end, &f, err);
        else if (found > 0)
            f = score;
        if (found < 0)
            code = found;
    }
    return code;
}

/* A label of a higher level lasts until the next one of its level, or to the end of the entry. */
static void extend_levels(trl_label_file *file, const entry *e)
{
    if (e->labels == 0)
        return;
    trl_label *labels = file->labels + e->first_label;
    double *open_end[MOST_LEVELS] = {NULL};
    for (size_t i = 0; i < e->labels; i++) {
        if (labels[i].level > 0) {
            open_end[labels[i].level] = &labels[i].end;
            continue;
        }
        /* The labels on this line that begin here have this line's end already. */
        for (int level = 1; level < e->levels; level++) {
            int begins = 0;
            for (size_t k = i + 1; k < e->labels && labels[k].level > 0; k++)
                begins |= labels[k].level == level;
            if (!begins && open_end[level])
                *open_end[level] = labels[i].end;
        }
    }
}

static int has_wildcard(const char *text)
{
    return text[strcspn(text, "*?")] != '\0';
}

static int index_entry(trl_label_file *file, size_t number, trl_error *err)
{
    const char *base = trl__base_name(file->entries[number].name);
    size_t length = (size_t)(trl__extension(base) - base);
    char *key = trl__arena_copy(&file->arena, base, length);
    if (!key)
        return trl__fail_memory(err);
    if (has_wildcard(key)) {
        if (TRL_GROW(file->wildcards, file->wildcard_capacity, file->wildcard_count + 1) < 0)
            return trl__fail_memory(err);
        file->wildcards[file->wildcard_count++] = (uint32_t)number;
        return 0;
    }
    uint64_t first = number;
    int added = trl__map_add(&file->by_base, key, length, &first);
    if (added < 0)
        return trl__fail_memory(err);
    if (added == 0)
        file->entries[file->entries[first].last].next = (uint32_t)number;
    file->entries[first].last = (uint32_t)number;
    return 0;
}

static int begin_entry(const reader *r, const char *line, size_t length, trl_error *err)
{
    trl_label_file *file = r->file;
    char name[TRL__HTK_STRING], arrow[TRL__HTK_STRING];
    const char *cursor = line, *end = line + length;
    int quoted;
    if (trl__htk_read_string(&cursor, end, name, &quoted) < 0 || !quoted || *name == '\0')
        return wrong(r, err, "expected the name of a label file in quotes, as in \"*/001.lab\"");
    if (trl__htk_read_string(&cursor, end, arrow, NULL) >= 0)
        return strcmp(arrow, "->") == 0 || strcmp(arrow, "=>") == 0
                   ? trl__fail_line(err, TRL_EUNSUPPORTED, file->path, r->text->line,
                                    "the labels of %s are in another folder; put them into this file", name)
                   : wrong(r, err, "something behind the name of a label file");
    if (file->count >= NONE || TRL_GROW(file->entries, file->capacity, file->count + 1) < 0)
        return trl__fail_memory(err);
    char *copy = trl__arena_copy(&file->arena, name, strlen(name));
    if (!copy)
        return trl__fail_memory(err);
    file->entries[file->count] = (entry){copy, r->text->line, file->label_count, 0, 1, NONE, NONE};
    return index_entry(file, file->count++, err);
}

static int read_entry_line(reader *r, const char *line, size_t length, int *inside, trl_error *err)
{
    if (strcmp(line, ".") == 0) {
        *inside = 0;
        extend_levels(r->file, &r->file->entries[r->file->count - 1]);
        return 0;
    }
    if (strcmp(line, "///") == 0)
        r->skipping = 1;
    return r->skipping ? 0 : read_label(r, line, length, err);
}

static int parse_lines(reader *r, trl_error *err)
{
    char *line;
    size_t length;
    int inside = 0, code = 0;
    if (!trl__text_line(r->text, &line, &length) || strcmp(trl__trim(line), "#!MLF!#") != 0)
        return trl__fail(err, TRL_EFORMAT, "%s: not a master label file: its first line must be #!MLF!#",
                         r->file->path);
    while (code == 0 && trl__text_line(r->text, &line, &length)) {
        if (strlen(line) < length)
            return wrong(r, err, "a NUL; is this text?");
        while (length > 0 && trl__is_space(line[length - 1]))
            line[--length] = '\0';
        if (length == 0)
            continue;
        if (inside) {
            code = read_entry_line(r, line, length, &inside, err);
        } else {
            code = begin_entry(r, line, length, err);
            inside = 1;
            r->skipping = 0;
        }
    }
    if (code == 0 && inside)
        code = trl__fail_line(err, TRL_ECORRUPT, r->file->path, r->text->line,
                              "the file ends within the labels of %s: the line with a full stop is missing",
                              r->file->entries[r->file->count - 1].name);
    return code;
}

int trl__label_file_parse(const char *path, trl__text *text, trl_label_file **out, trl_error *err)
{
    trl_label_file *file = trl__alloc_zero(1, sizeof *file);
    if (!file || !(file->path = trl__strdup(path))) {
        trl__free(file);
        return trl__fail_memory(err);
    }
    reader r = {file, text, 0};
    int code = parse_lines(&r, err);
    if (code < 0) {
        trl_label_file_destroy(file);
        return code;
    }
    *out = file;
    return 0;
}

int trl_label_file_read(const char *path, trl_label_file **out, trl_error *err)
{
    trl__text text;
    *out = NULL;
    int code = trl__text_read(path, &text, err);
    if (code == 0)
        code = trl__label_file_parse(path, &text, out, err);
    trl__text_free(&text);
    return code;
}

void trl_label_file_destroy(trl_label_file *file)
{
    if (!file)
        return;
    trl__map_free(&file->by_base);
    trl__arena_free(&file->arena);
    trl__free(file->wildcards);
    trl__free(file->labels);
    trl__free(file->entries);
    trl__free(file->path);
    trl__free(file);
}

size_t trl_label_file_count(const trl_label_file *file)
{
    return file->count;
}

trl_label_entry trl_label_file_entry(const trl_label_file *file, size_t index)
{
    if (index >= file->count)
        return (trl_label_entry){0};
    const entry *e = &file->entries[index];
    return (trl_label_entry){e->name, e->line, e->labels ? file->labels + e->first_label : NULL, e->labels, e->levels};
}

/* ---- Finding ---- */

/* Both without their endings: labels of x.wav are in x.lab. */
static int fits_sound(const char *name, const char *sound)
{
    return sound &&
           trl__htk_fits(name, (size_t)(trl__extension(name) - name), sound, (size_t)(trl__extension(sound) - sound));
}

/* The first entry with this base name that fits the sound, or NONE; *first is the first at all. */
static uint32_t find_base(const trl_label_file *file, const char *base, size_t length, const char *sound,
                          uint32_t *first)
{
    const uint64_t *found = trl__map_find(&file->by_base, base, length);
    *first = found ? (uint32_t)*found : NONE;
    for (uint32_t i = *first; i != NONE; i = file->entries[i].next)
        if (fits_sound(file->entries[i].name, sound))
            return i;
    return NONE;
}

long trl_label_file_find(const trl_label_file *file, const char *id, const char *sound)
{
    uint32_t first, other, found = find_base(file, id, strlen(id), sound, &first);
    if (found != NONE)
        return (long)found;
    if (first != NONE)
        return (long)first;
    if (!sound)
        return -1;
    const char *base = trl__base_name(sound);
    found = find_base(file, base, (size_t)(trl__extension(base) - base), sound, &other);
    for (size_t i = 0; i < file->wildcard_count && file->wildcards[i] < found; i++)
        if (fits_sound(file->entries[file->wildcards[i]].name, sound))
            return (long)file->wildcards[i];
    return found == NONE ? -1 : (long)found;
}

/* ---- As transcripts ---- */

static int report_twice(trl_corpus *corpus, const trl_label_file *file, trl_error *err)
{
    trl__map names = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < file->count; i++) {
        const entry *e = &file->entries[i];
        uint64_t first = i;
        int added = trl__map_add(&names, e->name, strlen(e->name), &first);
        if (added < 0)
            code = trl__fail_memory(err);
        else if (added == 0)
            code = trl_findings_add(corpus->findings, TRL_FINDING_DUPLICATE, file->path, e->line, NULL, err,
                                    "labels of %s are in line %" PRId64 " too; these are left out", e->name,
                                    file->entries[first].line);
    }
    trl__map_free(&names);
    return code;
}

static int set_words(trl_corpus *corpus, size_t number, const trl_label_entry *e, const char *path, trl_error *err)
{
    trl__arena arena = {0};
    size_t size = 1;
    for (size_t i = 0; i < e->count; i++)
        size += strlen(e->labels[i].text) + 1;
    char *words = trl__arena_alloc(&arena, size), *place = words;
    if (!words)
        return trl__fail_memory(err);
    for (size_t i = 0; i < e->count; i++)
        if (e->labels[i].level == e->levels - 1)
            place += snprintf(place, size - (size_t)(place - words), "%s ", e->labels[i].text);
    int code = trl__corpus_set_text(corpus, number, words, (size_t)(place - words), path, e->line, err);
    trl__arena_free(&arena);
    return code;
}

int trl__corpus_set_labels(trl_corpus *corpus, const char *path, trl_error *err)
{
    trl_label_file *file;
    int code = trl_label_file_read(path, &file, err);
    if (code != 0)
        return code;
    code = report_twice(corpus, file, err);
    for (size_t u = 0; code == 0 && u < corpus->count; u++) {
        const trl_utterance *utterance = &corpus->utterances[u];
        int whole = utterance->start <= 0 && utterance->end < 0; /* parts of a sound are found by id alone */
        long found = trl_label_file_find(file, utterance->id, whole ? utterance->path : NULL);
        if (found >= 0) {
            trl_label_entry e = trl_label_file_entry(file, (size_t)found);
            code = set_words(corpus, u, &e, path, err);
        }
    }
    trl_label_file_destroy(file);
    return code;
}

/* ---- Writing ---- */

int trl__mlf_begin(trl_file *file, trl_error *err)
{
    return trl_file_print(file, err, "#!MLF!#\n");
}

int trl__mlf_begin_entry(trl_file *file, const char *id, const char *ending, trl_error *err)
{
    char name[TRL__HTK_STRING];
    if (snprintf(name, sizeof name, "*/%s.%s", id, ending) >= (int)sizeof name)
        return trl__fail(err, TRL_ELIMIT, "%s: the id is too long for an HTK label file (1023 bytes)", id);
    int code = trl__htk_write_string(file, name, 1, err);
    return code < 0 ? code : trl_file_write(file, "\n", 1, err);
}

int trl__mlf_label(trl_file *file, double start, double end, const char *label, trl_error *err)
{
    int code = trl_file_print(file, err, "%" PRId64 " %" PRId64 " ", (int64_t)llround(start / SECONDS_PER_UNIT),
                              (int64_t)llround(end / SECONDS_PER_UNIT));
    return code < 0 ? code : trl__htk_write_string(file, label, 0, err);
}

int trl__mlf_end_entry(trl_file *file, trl_error *err)
{
    return trl_file_write(file, ".\n", 2, err);
}
