/* Kaldi scripts: lines `id file`, `id file:offset`, either with a range `[0:9]` (rows) or `[0:9,2:3]` (rows, columns),
 * first and last included. The whole script is read and checked on opening; matrices are read when they are asked
 * for, and the file that was read last stays open. A line that asks for a command is refused.
 */
#include "feat/feature_format.h"
#include "feat/kaldi_matrix.h"
#include "base/fail.h"
#include "base/log_write.h"
#include "base/memory.h"
#include "base/path.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Segments come from rounded times and frames lose their edges: like Kaldi, up to three rows past the end are
 * tolerated. */
#define ROWS_TOLERANCE 3

typedef struct range {
    int64_t first, last; /* last = -1: all */
} range;

typedef struct entry {
    const char *id, *path;
    uint64_t offset;
    int has_offset;
    range rows, cols;
    int64_t line;
} entry;

typedef struct scp_reader {
    trl_feature_reader base;
    char *path;
    trl__arena arena;
    trl__map index;
    entry *entries;
    size_t count, capacity, position;
    trl__source source; /* of the entry read last; name NULL: none */
    const char *opened; /* its path in the script */
    trl_matrix whole;   /* what a range is cut out of */
} scp_reader;

/* ---- one line ---- */

static int parse_range(char *text, range *out)
{
    char *colon = strchr(text, ':');
    *out = (range){0, -1};
    if (*text == '\0' || strcmp(text, ":") == 0)
        return 0;
    if (!colon)
        return -1;
    *colon = '\0';
    if (trl__parse_int(text, &out->first) < 0 || trl__parse_int(colon + 1, &out->last) < 0)
        return -1;
    return out->first >= 0 && out->last >= out->first ? 0 : -1;
}

/* Cuts "[rows,columns]" off the end of the text. */
static int parse_ranges(char *text, entry *e)
{
    size_t length = strlen(text);
    e->rows = e->cols = (range){0, -1};
    if (length == 0 || text[length - 1] != ']')
        return 0;
    char *open = strrchr(text, '[');
    if (!open || open == text)
        return -1;
    text[length - 1] = '\0';
    *open++ = '\0';
    char *comma = strchr(open, ',');
    if (comma)
        *comma = '\0';
    if (parse_range(open, &e->rows) < 0)
        return -1;
    return comma ? parse_range(comma + 1, &e->cols) : 0;
}

/* Cuts ":digits" off the end of the text. */
static int parse_offset(char *text, entry *e)
{
    char *colon = strrchr(text, ':');
    if (!colon || !isdigit((unsigned char)colon[1]) || colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return 0;
    int64_t offset;
    if (trl__parse_int(colon + 1, &offset) < 0)
        return -1;
    e->offset = (uint64_t)offset;
    e->has_offset = 1;
    *colon = '\0';
    return 0;
}

static int parse_entry(const scp_reader *scp, char *line, entry *e, trl_error *err)
{
    char *cursor = line;
    e->id = trl__next_field(&cursor);
    char *place = trl__trim(cursor);
    size_t length = strlen(place);
    int code = trl__check_id(scp->path, e->id, err);
    if (code < 0)
        return trl__fail_line(err, code, scp->path, e->line, "utterance id with forbidden characters");
    if (length == 0)
        return trl__fail_line(err, TRL_EFORMAT, scp->path, e->line, "utterance %s without a file", e->id);
    if (place[length - 1] == '|' || place[0] == '|')
        return trl__fail_line(
            err, TRL_EUNSUPPORTED, scp->path, e->line,
            "utterance %s is a command; commands are never run: run it yourself and name the file that "
            "it makes",
            e->id);
    if (parse_ranges(place, e) < 0)
        return trl__fail_line(err, TRL_EFORMAT, scp->path, e->line,
                              "utterance %s: a range is [first:last] or [first:last,first:last]", e->id);
    if (parse_offset(place, e) < 0 || *place == '\0')
        return trl__fail_line(err, TRL_EFORMAT, scp->path, e->line, "utterance %s: expected FILE or FILE:OFFSET",
                              e->id);
    if (strcmp(place, "-") == 0)
        return trl__fail_line(err, TRL_EUNSUPPORTED, scp->path, e->line,
                              "utterance %s: a script can't name standard input; name a file", e->id);
    e->path = place;
    return 0;
}

static int add_entry(scp_reader *scp, entry *e, trl_error *err)
{
    if (TRL_GROW(scp->entries, scp->capacity, scp->count + 1) < 0)
        return trl__fail_memory(err);
    /* One copy of a path that many lines share in a row: reading compares pointers first. */
    const char *last = scp->count > 0 ? scp->entries[scp->count - 1].path : NULL;
    e->path = last && strcmp(last, e->path) == 0 ? last : trl__arena_copy(&scp->arena, e->path, strlen(e->path));
    e->id = trl__arena_copy(&scp->arena, e->id, strlen(e->id));
    if (!e->path || !e->id)
        return trl__fail_memory(err);
    uint64_t number = scp->count;
    int added = trl__map_add(&scp->index, e->id, strlen(e->id), &number);
    if (added < 0)
        return trl__fail_memory(err);
    if (added == 0)
        return trl__fail_line(err, TRL_EFORMAT, scp->path, e->line,
                              "utterance %s is there twice, first in line %" PRId64, e->id, scp->entries[number].line);
    scp->entries[scp->count++] = *e;
    return 0;
}

static int parse_text(scp_reader *scp, trl__text *text, trl_error *err)
{
    char *line;
    size_t length;
    while (trl__text_line(text, &line, &length)) {
        if (line[strspn(line, " \t")] == '\0' && strlen(line) == length)
            continue;
        entry e = {.line = text->line};
        if (trl__utf8_check(line, length) < length)
            return trl__fail_line(err, TRL_EFORMAT, scp->path, text->line,
                                  "not valid UTF-8 text; is this a Kaldi script (scp)?");
        int code = parse_entry(scp, line, &e, err);
        if (code == 0)
            code = add_entry(scp, &e, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- reading ---- */

/* Relative names start at the working folder, as in Kaldi, or else at the script's own. */
static int open_plain(scp_reader *scp, const char *path, trl_error *err)
{
    int code = trl__check_plain(path, err);
    return code < 0 ? code : trl__source_open(path, &scp->source, err);
}

static int open_file(scp_reader *scp, const entry *e, trl_error *err)
{
    if (scp->source.name)
        trl__source_close(&scp->source);
    scp->opened = NULL;
    int code;
    if (e->path[0] == '/' || access(e->path, F_OK) == 0 || !strchr(scp->path, '/')) {
        code = open_plain(scp, e->path, err);
    } else {
        char *joined = trl__path_beside(scp->path, e->path);
        int there = joined && access(joined, F_OK) == 0;
        code = joined ? open_plain(scp, there ? joined : e->path, err) : trl__fail_memory(err);
        trl__free(joined);
    }
    if (code == 0)
        scp->opened = e->path;
    return code;
}

static int read_whole(scp_reader *scp, const entry *e, trl_matrix *out, trl_error *err)
{
    int code = scp->opened && strcmp(scp->opened, e->path) == 0 ? 0 : open_file(scp, e, err);
    if (code == 0 && (e->has_offset || scp->source.offset > 0))
        code = trl__source_seek(&scp->source, e->offset, err);
    if (code == 0 && trl__source_peek(&scp->source, err) == 0)
        scp->source.line = 0; /* binary: places are bytes */
    return code < 0 ? code : trl__kaldi_matrix_read(&scp->source, out, err);
}

static int outside(const scp_reader *scp, const entry *e, const char *what, const range *r, size_t there,
                   trl_error *err)
{
    return trl__fail_line(err, TRL_EFORMAT, scp->path, e->line,
                          "utterance %s: %s %" PRId64 " to %" PRId64 " are asked for, the matrix has %zu", e->id, what,
                          r->first, r->last, there);
}

static int cut_range(scp_reader *scp, const entry *e, trl_matrix *out, trl_error *err)
{
    const trl_matrix *whole = &scp->whole;
    range rows = e->rows, cols = e->cols;
    int64_t row_count = (int64_t)whole->rows, col_count = (int64_t)whole->cols;
    if (rows.last < 0)
        rows.last = row_count - 1;
    if (cols.last < 0)
        cols.last = col_count - 1;
    if ((rows.first >= row_count && e->rows.last >= 0) || rows.last - row_count >= ROWS_TOLERANCE)
        return outside(scp, e, "rows", &e->rows, whole->rows, err);
    if (cols.last >= col_count)
        return outside(scp, e, "columns", &e->cols, whole->cols, err);
    if (rows.last >= row_count) {
        trl__log(TRL_LOG_WARNING,
                 "%s:%" PRId64 ": utterance %s: rows to %" PRId64 " are asked for, the last is %" PRId64, scp->path,
                 e->line, e->id, rows.last, row_count - 1);
        rows.last = row_count - 1;
    }
    size_t n = (size_t)(rows.last - rows.first + 1), width = (size_t)(cols.last - cols.first + 1);
    int code = trl_matrix_resize(out, n, width, err);
    for (size_t r = 0; code == 0 && width > 0 && r < n; r++)
        memcpy(trl_matrix_row(out, r), trl_matrix_row(whole, (size_t)rows.first + r) + cols.first,
               width * sizeof(float));
    return code;
}

static int read_entry(scp_reader *scp, const entry *e, trl_matrix *frames, trl_error *err)
{
    int ranged = e->rows.last >= 0 || e->cols.last >= 0;
    int code = read_whole(scp, e, ranged ? &scp->whole : frames, err);
    if (code < 0 && err)
        return trl__fail(err, code, "%s (utterance %s, line %" PRId64 " of %s)", err->text, e->id, e->line, scp->path);
    if (code < 0)
        return code;
    return ranged ? cut_range(scp, e, frames, err) : 0;
}

static int scp_next(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err)
{
    scp_reader *scp = (scp_reader *)reader;
    if (scp->position == scp->count)
        return 0;
    const entry *e = &scp->entries[scp->position++];
    int code = read_entry(scp, e, frames, err);
    *id = e->id;
    return code < 0 ? code : 1;
}

static int scp_find(trl_feature_reader *reader, const char *id, trl_matrix *frames, trl_error *err)
{
    scp_reader *scp = (scp_reader *)reader;
    const uint64_t *number = trl__map_find(&scp->index, id, strlen(id));
    if (!number)
        return trl__fail(err, TRL_ENOENT, "%s: there is no utterance %s", scp->path, id);
    return read_entry(scp, &scp->entries[*number], frames, err);
}

static void scp_close(trl_feature_reader *reader)
{
    scp_reader *scp = (scp_reader *)reader;
    if (scp->source.name)
        trl__source_close(&scp->source);
    trl_matrix_free(&scp->whole);
    trl__map_free(&scp->index);
    trl__arena_free(&scp->arena);
    trl__free(scp->entries);
    trl__free(scp->path);
    trl__free(scp);
}

static const trl__reader_class reader_class = {.next = scp_next, .close = scp_close, .find = scp_find};

int trl__scp_from_text(trl__text *text, const char *path, trl_feature_reader **out, trl_error *err)
{
    scp_reader *scp = trl__alloc_zero(1, sizeof *scp);
    int code = scp ? 0 : trl__fail_memory(err);
    if (code == 0) {
        scp->base.class = &reader_class;
        scp->path = trl__strdup(path);
        code = scp->path ? parse_text(scp, text, err) : trl__fail_memory(err);
    }
    trl__text_free(text);
    if (code == 0)
        *out = &scp->base;
    else if (scp)
        scp_close(&scp->base);
    return code;
}

static int scp_open(const char *path, trl_feature_reader **out, trl_error *err)
{
    trl__text text;
    int code = trl__text_read(path, &text, err);
    return code < 0 ? code : trl__scp_from_text(&text, path, out, err);
}

const trl__feature_format trl__scp_format = {
    .prefix = "scp",
    .endings = {".scp"},
    .open = scp_open,
    .instead = "a script is written together with its archive: ark,scp:FILE.ark,FILE.scp",
};
