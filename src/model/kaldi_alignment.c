#include "model/kaldi_alignment.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "feat/feature_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL 5 /* bytes of a binary number with its size */

/* ---- Writing ---- */

struct trl__int_ark_writer {
    trl_file *ark, *scp;
    char *path;
    int text;
};

int trl__int_ark_create(const char *ark, const char *scp, int text, trl__int_ark_writer **out, trl_error *err)
{
    trl__int_ark_writer *w = trl__alloc_zero(1, sizeof *w);
    if (!w || !(w->path = trl__strdup(ark))) {
        trl__free(w);
        return trl__fail_memory(err);
    }
    w->text = text;
    int code = trl_file_create(ark, &w->ark, err);
    if (code == 0 && scp)
        code = trl_file_create(scp, &w->scp, err);
    if (code < 0) {
        trl__int_ark_abort(w);
        return code;
    }
    *out = w;
    return 0;
}

static int put_text(trl_file *file, const int32_t *numbers, size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = trl_file_print(file, err, "%" PRId32 " ", numbers[i]);
    return code < 0 ? code : trl_file_write(file, "\n", 1, err);
}

static int put_binary(trl_file *file, const int32_t *numbers, size_t count, trl_error *err)
{
    unsigned char cell[CELL] = {4};
    int code = trl_file_write(file, "\0B", 2, err);
    trl__put_le32(cell + 1, (uint32_t)count);
    if (code == 0)
        code = trl_file_write(file, cell, CELL, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        trl__put_le32(cell + 1, (uint32_t)numbers[i]);
        code = trl_file_write(file, cell, CELL, err);
    }
    return code;
}

int trl__int_ark_add(trl__int_ark_writer *w, const char *id, const int32_t *numbers, size_t count, trl_error *err)
{
    int code = trl__check_id(w->path, id, err);
    if (code == 0 && count > INT32_MAX)
        code = trl__fail(err, TRL_ELIMIT, "%s: utterance %s has too many numbers", w->path, id);
    if (code == 0)
        code = trl_file_print(w->ark, err, "%s ", id);
    if (code == 0 && w->scp)
        code = trl_file_print(w->scp, err, "%s %s:%" PRIu64 "\n", id, w->path, trl_file_position(w->ark));
    if (code < 0)
        return code;
    return w->text ? put_text(w->ark, numbers, count, err) : put_binary(w->ark, numbers, count, err);
}

/* The archive first: a script never points at what isn't there. */
int trl__int_ark_commit(trl__int_ark_writer *w, trl_error *err)
{
    int code = trl_file_commit(w->ark, err);
    w->ark = NULL;
    if (code == 0 && w->scp) {
        code = trl_file_commit(w->scp, err);
        w->scp = NULL;
    }
    trl__int_ark_abort(w);
    return code;
}

void trl__int_ark_abort(trl__int_ark_writer *w)
{
    if (!w)
        return;
    trl_file_abort(w->ark);
    trl_file_abort(w->scp);
    trl__free(w->path);
    trl__free(w);
}

/* ---- Reading ---- */

struct trl__int_ark_reader {
    trl__source source;
    char id[TRL__ARK_ID + 1];
    int32_t *numbers;
    size_t count, capacity;
};

int trl__int_ark_from_source(trl__source *source, trl__int_ark_reader **out, trl_error *err)
{
    trl__int_ark_reader *r = trl__alloc_zero(1, sizeof *r);
    if (!r) {
        trl__source_close(source);
        return trl__fail_memory(err);
    }
    r->source = *source;
    *out = r;
    return 0;
}

int trl__int_ark_open(const char *ark, trl__int_ark_reader **out, trl_error *err)
{
    trl__source source;
    int code = trl__source_open(ark, &source, err);
    return code < 0 ? code : trl__int_ark_from_source(&source, out, err);
}

void trl__int_ark_close(trl__int_ark_reader *r)
{
    if (!r)
        return;
    trl__source_close(&r->source);
    trl__free(r->numbers);
    trl__free(r);
}

static int read_binary(trl__int_ark_reader *r, trl_error *err)
{
    const unsigned char *bytes;
    int code = trl__source_take(&r->source, 2 + CELL, &bytes, err);
    if (code < 0)
        return code;
    int64_t claimed = (int32_t)trl__le32(bytes + 3);
    if (bytes[1] != 'B' || bytes[2] != 4 || claimed < 0)
        return trl__fail_byte(err, TRL_EFORMAT, r->source.name, r->source.offset - 2 - CELL,
                              "utterance %s: expected NUL, B, 4 and how many integers follow", r->id);
    uint64_t size = (uint64_t)claimed * CELL;
    code = trl__source_take(&r->source, size, &bytes, err);
    if (code < 0)
        return code;
    if (TRL_GROW(r->numbers, r->capacity, (size_t)claimed) < 0)
        return trl__fail_memory(err);
    r->count = (size_t)claimed;
    for (size_t i = 0; i < r->count; i++, bytes += CELL) {
        if (bytes[0] != 4)
            return trl__fail_byte(err, TRL_EFORMAT, r->source.name, r->source.offset - size + i * CELL,
                                  "utterance %s: number %zu (from 0) is not of 4 bytes", r->id, i);
        r->numbers[i] = (int32_t)trl__le32(bytes + 1);
    }
    return 0;
}

static int add_word(trl__int_ark_reader *r, const char *word, trl_error *err)
{
    int64_t value;
    if (trl__parse_int(word, &value) < 0 || value < INT32_MIN || value > INT32_MAX)
        return trl__source_fail(&r->source, err, TRL_EFORMAT, "utterance %s: expected a whole number, found '%s'",
                                r->id, word);
    if (TRL_GROW(r->numbers, r->capacity, r->count + 1) < 0)
        return trl__fail_memory(err);
    r->numbers[r->count++] = (int32_t)value;
    return 0;
}

/* To the end of the line. */
static int read_text(trl__int_ark_reader *r, trl_error *err)
{
    char word[16];
    size_t length = 0;
    int code = 0, c;
    do {
        c = trl__source_get(&r->source, err);
        if (c < 0 && c != TRL__SOURCE_END)
            return c;
        int ends = c == TRL__SOURCE_END || trl__is_space((char)c);
        if (!ends && length < sizeof word - 1)
            word[length++] = (char)c;
        else if (!ends)
            return trl__source_fail(&r->source, err, TRL_EFORMAT, "utterance %s: a number of more than %zu characters",
                                    r->id, sizeof word - 1);
        word[length] = '\0';
        if (ends && length > 0) {
            code = add_word(r, word, err);
            length = 0;
        }
    } while (code == 0 && c != '\n' && c != TRL__SOURCE_END);
    return code;
}

int trl__int_ark_next(trl__int_ark_reader *r, const char **id, const int32_t **numbers, size_t *count, trl_error *err)
{
    r->count = 0;
    int found = trl__ark_read_id(&r->source, r->id, err);
    if (found <= 0)
        return found;
    int c = trl__source_peek(&r->source, err);
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    if (c == 0)
        r->source.line = 0; /* lines mean nothing from here on */
    int code = c == 0 ? read_binary(r, err) : read_text(r, err);
    *id = r->id;
    *numbers = r->numbers;
    *count = r->count;
    return code < 0 ? code : 1;
}
