/* The manifest: tab-separated values whose first line names the columns, in any order; columns we don't know are passed
 * over (Common Voice has many). Values are taken as they stand: there is no quoting in TSV. */
#include "base/fail.h"
#include "corpus/corpus_builder.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum column { COLUMN_PATH, COLUMN_ID, COLUMN_TEXT, COLUMN_SPEAKER, COLUMN_START, COLUMN_END, COLUMN_CHANNEL, COLUMNS };

/* The names of each column, the preferred one first. */
static const char *const column_names[COLUMNS][4] = {{"path", "audio", "file", "wav"},
                                                     {"id"},
                                                     {"text", "transcript", "sentence"},
                                                     {"speaker", "client_id"},
                                                     {"start"},
                                                     {"end"},
                                                     {"channel"}};

typedef struct manifest {
    trl_corpus *corpus;
    const char *folder;
    size_t place[COLUMNS]; /* of the column in a line, from 1; 0: not there */
    size_t columns;        /* in a line */
    trl__arena arena;      /* for one line's strings */
} manifest;

/* A line's fields that we know; NULL: no such column. */
typedef struct row {
    char *fields[COLUMNS];
    int64_t line;
    double start, end;
    int64_t channel;
} row;

static char *next_tab_field(char **cursor)
{
    char *field = *cursor;
    if (!field)
        return NULL;
    char *tab = strchr(field, '\t');
    *cursor = tab ? tab + 1 : NULL;
    if (tab)
        *tab = '\0';
    return trl__trim(field);
}

/* How good a name for the column this is: 1 best, 0 none. */
static size_t rank(const char *name, enum column column)
{
    for (size_t i = 0; i < 4 && column_names[column][i]; i++)
        if (strcasecmp(name, column_names[column][i]) == 0)
            return i + 1;
    return 0;
}

/* Finds the columns; 0: there is none for the sound. */
static int find_columns(manifest *m, char *line)
{
    size_t best[COLUMNS] = {0};
    char *cursor = line;
    for (char *name; (name = next_tab_field(&cursor));) {
        m->columns++;
        for (int c = 0; c < COLUMNS; c++) {
            size_t r = rank(name, (enum column)c);
            if (r > 0 && (best[c] == 0 || r < best[c])) {
                best[c] = r;
                m->place[c] = m->columns;
            }
        }
    }
    return m->place[COLUMN_PATH] != 0;
}

static int read_columns(manifest *m, char *line, trl_error *err)
{
    if (find_columns(m, line))
        return 0;
    return trl__fail_line(err, TRL_EFORMAT, m->corpus->path, 1,
                          "the first line must name the columns, separated by tabs, one of them path, audio, file or "
                          "wav");
}

static int syntax(manifest *m, const row *r, trl_error *err, const char *message)
{
    const char *id = r->fields[COLUMN_ID];
    return trl_findings_add(m->corpus->findings, TRL_FINDING_SYNTAX, m->corpus->path, r->line, id && *id ? id : NULL,
                            err, "%s", message);
}

/* Cuts the line into its fields. 1 a row, 0 a finding was added instead, or an error. */
static int split(manifest *m, char *line, row *r, trl_error *err)
{
    char *cursor = line;
    size_t count = 0;
    for (char *field; (field = next_tab_field(&cursor));) {
        count++;
        for (int c = 0; c < COLUMNS; c++)
            if (m->place[c] == count)
                r->fields[c] = field;
    }
    char message[100];
    snprintf(message, sizeof message, "%zu values, but the first line names %zu columns", count, m->columns);
    if (count != m->columns)
        return syntax(m, r, err, message);
    return 1;
}

static int has_value(const row *r, enum column column)
{
    return r->fields[column] && *r->fields[column];
}

/* Checks the values. 1 good, 0 a finding was added instead, or an error. */
static int convert(manifest *m, row *r, trl_error *err)
{
    r->start = 0;
    r->end = -1;
    r->channel = -1;
    if (!has_value(r, COLUMN_PATH))
        return syntax(m, r, err, "no sound file is named");
    if (r->fields[COLUMN_ID] && !has_value(r, COLUMN_ID))
        return syntax(m, r, err, "the id is empty");
    if (has_value(r, COLUMN_START) && trl__parse_double(r->fields[COLUMN_START], &r->start) < 0)
        return syntax(m, r, err, "start is not a number of seconds");
    if (has_value(r, COLUMN_END) && trl__parse_double(r->fields[COLUMN_END], &r->end) < 0)
        return syntax(m, r, err, "end is not a number of seconds");
    if (has_value(r, COLUMN_CHANNEL) &&
        (trl__parse_int(r->fields[COLUMN_CHANNEL], &r->channel) < 0 || r->channel < 0 || r->channel > INT32_MAX))
        return syntax(m, r, err, "channel is not a whole number from 0 on");
    return 1;
}

/* The id of a line without one: the path without its extension, and the part of the sound. */
static char *make_id(manifest *m, const row *r, const char *path)
{
    char part[TRL__PART_SIZE] = "";
    if (r->start > 0 || r->end >= 0)
        trl__part_suffix(part, r->start, r->end);
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    size_t length = (size_t)(trl__extension(path) - path), size = length + sizeof part;
    char *id = trl__arena_alloc(&m->arena, size);
    if (!id)
        return NULL;
    snprintf(id, size, "%.*s%s", (int)length, path, part);
    for (char *c = id; *c; c++)
        if (*c == '/')
            *c = '-';
    return id;
}

/* Beside the manifest, or in `clips` there. *found = 0: in neither. */
static char *find_sound(manifest *m, const char *name, int *found)
{
    char *path = trl__join_path(&m->arena, m->folder, name);
    char *clips = trl__join_path(&m->arena, m->folder, "clips");
    char *other = clips ? trl__join_path(&m->arena, clips, name) : NULL;
    if (!path || !other)
        return NULL;
    *found = trl__is_file(path);
    if (*found)
        return path;
    *found = trl__is_file(other);
    return *found || (trl__is_folder(other) && !trl__is_folder(path)) ? other : path;
}

static int report_sound(manifest *m, size_t number, const char *name, int64_t line, int found, trl_error *err)
{
    if (trl__is_pipe(name))
        return trl__corpus_report(m->corpus, number, TRL_FINDING_PIPE, m->corpus->path, line, err,
                                  "a shell command, not a sound file: %s", name);
    if (trl__is_folder(m->corpus->utterances[number].path))
        return trl__corpus_report(m->corpus, number, TRL_FINDING_NO_SOUND, m->corpus->path, line, err,
                                  "%s is a folder, not a sound file", name);
    if (!found)
        return trl__corpus_report(
            m->corpus, number, TRL_FINDING_NO_SOUND, m->corpus->path, line, err,
            name[0] == '/' ? "there is no file %s" : "%s is neither beside the manifest nor in `clips` there", name);
    return 0;
}

static int add_row(manifest *m, const row *r, trl_error *err)
{
    int found = 0;
    const char *name = has_value(r, COLUMN_PATH) ? r->fields[COLUMN_PATH] : "";
    char *id = has_value(r, COLUMN_ID) ? r->fields[COLUMN_ID] : make_id(m, r, name);
    char *path = find_sound(m, name, &found);
    if (!id || !path)
        return trl__fail_memory(err);
    if (*id == '\0')
        return syntax(m, r, err, "no sound file is named");
    if (!trl__part_is_valid(r->start, r->end))
        return trl_findings_add(m->corpus->findings, TRL_FINDING_SEGMENT, m->corpus->path, r->line, id, err,
                                "from %g s to %g s is no part of a sound", r->start, r->end);
    trl_utterance u = {.id = id,
                       .speaker = has_value(r, COLUMN_SPEAKER) ? r->fields[COLUMN_SPEAKER] : id,
                       .path = path,
                       .channel = (int32_t)r->channel,
                       .start = r->start,
                       .end = r->end,
                       .source = m->corpus->path,
                       .line = r->line};
    size_t number;
    int code = trl__corpus_add(m->corpus, &u, &number, err);
    if (code != 0)
        return code < 0 ? code : 0;
    code = report_sound(m, number, name, r->line, found, err);
    const char *text = r->fields[COLUMN_TEXT];
    if (code == 0 && text)
        code = trl__corpus_set_text(m->corpus, number, text, strlen(text), m->corpus->path, r->line, err);
    return code;
}

static int read_row(manifest *m, char *line, size_t length, int64_t number, trl_error *err)
{
    if (line[strspn(line, " \t")] == '\0' && strlen(line) == length)
        return 0;
    if (trl__utf8_check(line, length) < length)
        return trl_findings_add(m->corpus->findings, TRL_FINDING_ENCODING, m->corpus->path, number, NULL, err,
                                "this line is not valid UTF-8; it is left out");
    row r = {.line = number};
    int code = split(m, line, &r, err);
    if (code == 1)
        code = convert(m, &r, err);
    if (code == 1)
        code = add_row(m, &r, err);
    return code;
}

int trl__manifest_parse(trl_corpus *corpus, trl__text *text, trl_error *err)
{
    char *line;
    size_t length;
    if (!trl__text_line(text, &line, &length))
        return trl__fail(err, TRL_EFORMAT, "%s: the file is empty; its first line must name the columns", corpus->path);
    manifest m = {.corpus = corpus};
    trl__arena folder = {0};
    const char *base = trl__base_name(corpus->path);
    m.folder = base == corpus->path ? "." : trl__arena_copy(&folder, corpus->path, (size_t)(base - corpus->path));
    int code = m.folder ? read_columns(&m, line, err) : trl__fail_memory(err);
    while (code == 0 && trl__text_line(text, &line, &length)) {
        code = read_row(&m, line, length, text->line, err);
        trl__arena_free(&m.arena);
    }
    trl__arena_free(&folder);
    return code;
}

int trl__is_manifest(const char *path)
{
    char line[4096];
    if (strcasecmp(trl__extension(path), ".tsv") != 0)
        return 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    manifest m = {0};
    int found = fgets(line, sizeof line, file) && (line[strcspn(line, "\r\n")] = '\0', find_columns(&m, line));
    fclose(file);
    return found;
}

int trl__manifest_read(trl_corpus *corpus, trl_error *err)
{
    trl__text text;
    int code = trl__text_read(corpus->path, &text, err);
    if (code == 0)
        code = trl__manifest_parse(corpus, &text, err);
    trl__text_free(&text);
    return code;
}
