/* Places, and what all formats share: which one it is, ids, the search for NaN and infinity, the end of a writer. */
#include "feat/feature_format.h"
#include "feat/kaldi_matrix.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

static const trl__feature_format *const formats[] = {
    &trl__packed_format,  &trl__ark_format,          &trl__ark_text_format, &trl__scp_format,
    &trl__ark_scp_format, &trl__ark_text_scp_format, &trl__htk_format,      &trl__npy_format,
};
#define FORMAT_COUNT (sizeof formats / sizeof *formats)

int trl__has_ending(const char *path, const trl__feature_format *format)
{
    size_t length = strlen(path);
    for (const char *const *ending = format->endings; *ending; ending++) {
        size_t n = strlen(*ending);
        if (length > n && strcmp(path + length - n, *ending) == 0)
            return 1;
    }
    return 0;
}

/* The format of a place, and the path in it. A prefix is tried first, so that "ark:x.scp" is an archive. */
static int find_format(const char *place, const trl__feature_format **format, const char **path, trl_error *err)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        size_t n = strlen(formats[i]->prefix);
        if (strncmp(place, formats[i]->prefix, n) == 0 && place[n] == ':') {
            *format = formats[i];
            *path = place + n + 1;
            return **path ? 0 : trl__fail(err, TRL_EINVAL, "%s: a file name is missing after the colon", place);
        }
    }
    *path = place;
    *format = strcmp(place, "-") == 0 ? &trl__ark_format : NULL;
    for (size_t i = 0; i < FORMAT_COUNT && !*format; i++)
        if (trl__has_ending(place, formats[i]))
            *format = formats[i];
    if (*format)
        return 0;
    return trl__fail(
        err, TRL_EINVAL,
        "%s: the name does not tell the format; use an ending (.trf .ark .scp .htk .mfc .plp .fea .npy) or a "
        "prefix (packed: ark: ark,t: scp: ark,scp: htk: npy:)",
        place);
}

static int only_ark_is_a_stream(const char *place, const trl__feature_format *format, const char *path, trl_error *err)
{
    if (strcmp(path, "-") == 0 && format != &trl__ark_format && format != &trl__ark_text_format)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: only archives go through a pipe: ark:- or ark,t:-", place);
    return 0;
}

/* ---- checks ---- */

int trl__check_id(const char *where, const char *id, trl_error *err)
{
    size_t length = strlen(id);
    if (length == 0)
        return trl__fail(err, TRL_EFORMAT, "%s: an utterance without an id", where);
    if (trl__utf8_check(id, length) < length)
        return trl__fail(err, TRL_EFORMAT, "%s: an utterance id is not valid UTF-8", where);
    for (const char *c = id; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7F)
            return trl__fail(err, TRL_EFORMAT, "%s: utterance id '%s' has blanks or control characters", where, id);
    return 0;
}

/* NaN and infinity have all exponent bits set. One pass without branches, and the place only when there is one. */
static int row_is_finite(const float *row, size_t cols)
{
    uint32_t bad = 0;
    for (size_t c = 0; c < cols; c++)
        bad |= (trl__bits_of_float(row[c]) & 0x7F800000u) == 0x7F800000u;
    return !bad;
}

/* id = NULL: a matrix in a file of its own. */
static int check_numbers(const char *place, const char *id, const trl_matrix *frames, trl_error *err)
{
    for (size_t r = 0; r < frames->rows; r++) {
        const float *row = trl_matrix_row(frames, r);
        if (row_is_finite(row, frames->cols))
            continue;
        size_t c = 0;
        while (row_is_finite(row + c, 1))
            c++;
        return trl__fail(err, TRL_ENUMBER, "%s: %s%s%s%s in frame %zu, column %zu (counted from 0)", place,
                         id ? "utterance " : "", id ? id : "", id ? ": " : "",
                         row[c] != row[c] ? "not a number (NaN)" : "infinity", r, c);
    }
    return 0;
}

/* The format of a place, the path in it, and a copy of the place that the reader or writer keeps for its messages. */
static int locate(const char *place, int reading, const trl__feature_format **format, const char **path, char **copy,
                  trl_error *err)
{
    *copy = NULL;
    int code = find_format(place, format, path, err);
    if (code == 0)
        code = only_ark_is_a_stream(place, *format, *path, err);
    if (code == 0 && !(reading ? (*format)->open != NULL : (*format)->create != NULL))
        code = trl__fail(err, TRL_EUNSUPPORTED, "%s: %s", place, (*format)->instead);
    if (code == 0 && !(*copy = trl__strdup(place)))
        code = trl__fail_memory(err);
    return code;
}

/* ---- reading ---- */

int trl_feature_reader_open(const char *place, trl_feature_reader **out, trl_error *err)
{
    *out = NULL;
    const trl__feature_format *format;
    const char *path;
    char *copy;
    int code = locate(place, 1, &format, &path, &copy, err);
    if (code == 0)
        code = format->open(path, out, err);
    if (code < 0)
        trl__free(copy);
    else if (*out)
        (*out)->place = copy;
    return code;
}

void trl_feature_reader_close(trl_feature_reader *reader)
{
    if (!reader)
        return;
    trl__free(reader->place);
    reader->class->close(reader);
}

/* Frames that were borrowed from another file can't be resized: they are let go. */
static void let_go(trl_matrix *frames)
{
    if (frames->capacity == 0)
        *frames = (trl_matrix){0};
}

static const char *place_of(const trl_feature_reader *reader)
{
    return reader->place ? reader->place : "memory";
}

int trl_feature_reader_next(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err)
{
    let_go(frames);
    int found = reader->class->next(reader, id, frames, err);
    if (found <= 0)
        return found;
    int code = check_numbers(place_of(reader), *id, frames, err);
    return code < 0 ? code : 1;
}

int trl_feature_reader_find(trl_feature_reader *reader, const char *id, trl_matrix *frames, trl_error *err)
{
    if (!reader->class->find)
        return trl__fail(
            err, TRL_EUNSUPPORTED,
            "%s: this format is read from the front; copy it to a packed file (.trf) to look up utterances",
            place_of(reader));
    let_go(frames);
    int code = reader->class->find(reader, id, frames, err);
    return code < 0 ? code : check_numbers(place_of(reader), id, frames, err);
}

size_t trl_feature_reader_count(const trl_feature_reader *reader)
{
    return reader->class->count ? reader->class->count(reader) : 0;
}

int trl_feature_reader_get(trl_feature_reader *reader, size_t index, const char **id, trl_matrix *frames,
                           trl_error *err)
{
    if (!reader->class->get)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: only packed files (.trf) are read by number", place_of(reader));
    if (index >= trl_feature_reader_count(reader))
        return trl__fail(err, TRL_EINVAL, "%s: there is no utterance number %zu, only %zu", place_of(reader), index,
                         trl_feature_reader_count(reader));
    let_go(frames);
    int code = reader->class->get(reader, index, id, frames, err);
    if (code < 0 || (reader->checked && reader->checked[index]))
        return code;
    code = check_numbers(place_of(reader), *id, frames, err);
    if (code == 0 && reader->checked)
        reader->checked[index] = 1;
    return code;
}

void trl_feature_reader_ahead(const trl_feature_reader *reader, size_t first, size_t end)
{
    if (reader->class->ahead && first < end && end <= trl_feature_reader_count(reader))
        reader->class->ahead(reader, first, end);
}

const char *trl_feature_reader_frontend(const trl_feature_reader *reader)
{
    return reader->class->frontend ? reader->class->frontend(reader) : NULL;
}

const char *trl_feature_reader_provenance(const trl_feature_reader *reader)
{
    return reader->class->provenance ? reader->class->provenance(reader) : NULL;
}

int trl_feature_read_matrix(const char *path, trl_matrix *matrix, trl_error *err)
{
    trl__source source;
    int code = trl__source_open(path, &source, err);
    if (code < 0)
        return code;
    let_go(matrix);
    code = trl__kaldi_matrix_read(&source, matrix, err);
    if (code == 0)
        code = check_numbers(source.name, NULL, matrix, err);
    trl__source_close(&source);
    return code;
}

/* ---- writing ---- */

static int write_row(trl_file *file, const float *row, size_t cols, trl_error *err)
{
    unsigned char bytes[4096];
    int code = 0;
    for (size_t c = 0; code == 0 && c < cols;) {
        size_t n = cols - c < sizeof bytes / 4 ? cols - c : sizeof bytes / 4;
        for (size_t i = 0; i < n; i++)
            trl__put_le32(bytes + 4 * i, trl__bits_of_float(row[c + i]));
        code = trl_file_write(file, bytes, 4 * n, err);
        c += n;
    }
    return code;
}

int trl__write_floats(trl_file *file, const trl_matrix *matrix, trl_error *err)
{
    int code = 0;
    for (size_t r = 0; code == 0 && r < matrix->rows; r++)
        code = write_row(file, trl_matrix_row(matrix, r), matrix->cols, err);
    return code;
}

trl_feature_writer_options trl_feature_writer_defaults(void)
{
    return (trl_feature_writer_options){.shift_ms = 10, .htk_kind = 9};
}

int trl_feature_writer_open(const char *place, const trl_feature_writer_options *options, trl_feature_writer **out,
                            trl_error *err)
{
    *out = NULL;
    trl_feature_writer_options defaults = trl_feature_writer_defaults();
    const trl__feature_format *format;
    const char *path;
    char *copy;
    const trl_feature_writer_options *o = options ? options : &defaults;
    int code = locate(place, 0, &format, &path, &copy, err);
    if (code < 0)
        return code;
    char *frontend = trl__strdup(o->frontend ? o->frontend : "");
    code = frontend ? format->create(path, o, out, err) : trl__fail_memory(err);
    if (code < 0) {
        trl__free(copy);
        trl__free(frontend);
        return code;
    }
    (*out)->place = copy;
    (*out)->frontend = frontend;
    return 0;
}

static int check_utterance(const trl_feature_writer *writer, const char *id, const trl_matrix *frames, trl_error *err)
{
    int code = trl__check_id(writer->place, id, err);
    if (code < 0)
        return code;
    if (trl__strings_find(&writer->ids, id, strlen(id)) >= 0)
        return trl__fail(err, TRL_EINVAL, "%s: utterance %s is there already; ids must be unique", writer->place, id);
    if (frames->rows > 0 && frames->cols == 0)
        return trl__fail(err, TRL_EINVAL, "%s: utterance %s: %zu frames without columns", writer->place, id,
                         frames->rows);
    return check_numbers(writer->place, id, frames, err);
}

int trl_feature_writer_add(trl_feature_writer *writer, const char *id, const trl_matrix *frames, trl_error *err)
{
    if (writer->failed)
        return trl__fail(err, writer->failed, "%s: writing failed before; nothing can be added", writer->place);
    int code = check_utterance(writer, id, frames, err);
    if (code < 0)
        return code;
    code = trl__strings_add(&writer->ids, id, strlen(id)) < 0 ? trl__fail_memory(err)
                                                              : writer->class->add(writer, id, frames, err);
    writer->failed = code;
    return code;
}

int trl_feature_writer_learnt(trl_feature_writer *writer, const trl_frontend *frontend, const trl_static_mean *mean,
                              trl_error *err)
{
    trl_frontend_options o = *trl_frontend_get(frontend);
    trl_frontend *learnt = NULL;
    if (o.cmvn == TRL_CMVN_LIVE || o.cmvn_prior_frames > 0)
        return 0;
    o.cmvn_prior = *mean;
    int code = trl_frontend_create(&o, &learnt, err);
    char *text = code == 0 ? trl__strdup(trl_frontend_description(learnt)) : NULL;
    trl_frontend_destroy(learnt);
    if (code < 0)
        return code;
    if (!text)
        return trl__fail_memory(err);
    trl__free(writer->frontend);
    writer->frontend = text;
    return 0;
}

void trl_feature_writer_abort(trl_feature_writer *writer)
{
    if (!writer)
        return;
    trl__free(writer->place);
    trl__free(writer->frontend);
    trl__strings_free(&writer->ids);
    writer->class->discard(writer);
}

int trl_feature_writer_commit(trl_feature_writer *writer, trl_error *err)
{
    int code = writer->failed ? trl__fail(err, writer->failed, "%s: writing failed before; nothing was put in place",
                                          writer->place)
                              : writer->class->commit(writer, err);
    trl_feature_writer_abort(writer);
    return code;
}
