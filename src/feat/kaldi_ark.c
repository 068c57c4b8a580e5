/* Kaldi archives: `id`, a blank, a matrix, and so on to the end. Read from the front, so a pipe will do; written as
 * binary or text, alone or with a script (scp) that says where each matrix begins.
 */
#include "feat/feature_format.h"
#include "feat/kaldi_matrix.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/* ---- reading ---- */

typedef struct ark_reader {
    trl_feature_reader base;
    trl__source source;
    char id[TRL__ARK_ID + 1];
} ark_reader;

static int is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int trl__ark_read_id(trl__source *source, char id[TRL__ARK_ID + 1], trl_error *err)
{
    size_t length = 0;
    int c;
    while (is_space(c = trl__source_peek(source, err)))
        trl__source_get(source, err);
    if (c < 0)
        return c == TRL__SOURCE_END ? 0 : c;
    while ((c = trl__source_peek(source, err)) > 0 && !is_space(c) && length < TRL__ARK_ID) {
        id[length++] = (char)c;
        trl__source_get(source, err);
    }
    id[length] = '\0';
    if (c < 0 && c != TRL__SOURCE_END)
        return c;
    if (length == TRL__ARK_ID || c == 0 || c == '\n' || c == TRL__SOURCE_END || length == 0)
        return trl__source_fail(source, err, c == TRL__SOURCE_END ? TRL_ECORRUPT : TRL_EFORMAT,
                                "not a Kaldi archive here: expected an utterance id, a blank and its numbers");
    int code = trl__check_id(source->name, id, err);
    trl__source_get(source, err); /* the blank */
    return code < 0 ? code : 1;
}

static int ark_next(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err)
{
    ark_reader *ark = (ark_reader *)reader;
    int found = trl__ark_read_id(&ark->source, ark->id, err);
    if (found <= 0)
        return found;
    int binary = trl__source_peek(&ark->source, err) == 0;
    if (binary)
        ark->source.line = 0; /* lines mean nothing from here on */
    int code = trl__kaldi_matrix_read(&ark->source, frames, err);
    if (code == TRL_ENUMBER && err)
        return trl__fail(err, code, "%s (utterance %s)", err->text, ark->id);
    *id = ark->id;
    return code < 0 ? code : 1;
}

static void ark_close(trl_feature_reader *reader)
{
    trl__source_close(&((ark_reader *)reader)->source);
    trl__free(reader);
}

static const trl__reader_class reader_class = {.next = ark_next, .close = ark_close};

int trl__ark_from_source(trl__source *source, trl_feature_reader **out, trl_error *err)
{
    ark_reader *ark = trl__alloc(1, sizeof *ark);
    if (!ark) {
        trl__source_close(source);
        return trl__fail_memory(err);
    }
    ark->base = (trl_feature_reader){.class = &reader_class};
    ark->source = *source;
    *out = &ark->base;
    return 0;
}

static int ark_open(const char *path, trl_feature_reader **out, trl_error *err)
{
    trl__source source;
    int code = trl__source_open(path, &source, err);
    return code < 0 ? code : trl__ark_from_source(&source, out, err);
}

/* ---- writing ---- */

typedef struct ark_writer {
    trl_feature_writer base;
    int text;
    trl_file *ark, *scp; /* scp: NULL when only the archive is written */
    char *ark_path;      /* as it stands in the script */
} ark_writer;

static int ark_add(trl_feature_writer *writer, const char *id, const trl_matrix *frames, trl_error *err)
{
    ark_writer *w = (ark_writer *)writer;
    int code = trl_file_print(w->ark, err, "%s ", id);
    if (code == 0 && w->scp)
        code = trl_file_print(w->scp, err, "%s %s:%" PRIu64 "\n", id, w->ark_path, trl_file_position(w->ark));
    return code < 0 ? code : trl__kaldi_matrix_write(w->ark, frames, w->text, err);
}

/* The archive first: a script never points at what isn't there. */
static int ark_commit(trl_feature_writer *writer, trl_error *err)
{
    ark_writer *w = (ark_writer *)writer;
    int code = trl_file_commit(w->ark, err);
    w->ark = NULL;
    if (code == 0 && w->scp) {
        code = trl_file_commit(w->scp, err);
        w->scp = NULL;
    }
    return code;
}

static void ark_discard(trl_feature_writer *writer)
{
    ark_writer *w = (ark_writer *)writer;
    trl_file_abort(w->ark);
    trl_file_abort(w->scp);
    trl__free(w->ark_path);
    trl__free(w);
}

static const trl__writer_class writer_class = {ark_add, ark_commit, ark_discard};

/* Takes ark_path over. */
static int create(char *ark_path, const char *scp_path, int text, trl_feature_writer **out, trl_error *err)
{
    ark_writer *w = trl__alloc_zero(1, sizeof *w);
    if (!w || !ark_path) {
        trl__free(w);
        trl__free(ark_path);
        return trl__fail_memory(err);
    }
    w->base.class = &writer_class;
    w->text = text;
    w->ark_path = ark_path;
    int code = trl_file_create(ark_path, &w->ark, err);
    if (code == 0 && scp_path)
        code = trl_file_create(scp_path, &w->scp, err);
    if (code < 0) {
        ark_discard(&w->base);
        return code;
    }
    *out = &w->base;
    return 0;
}

static int ark_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                      trl_error *err)
{
    (void)options;
    return create(trl__strdup(path), NULL, 0, out, err);
}

static int ark_text_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                           trl_error *err)
{
    (void)options;
    return create(trl__strdup(path), NULL, 1, out, err);
}

/* "a.ark,a.scp" */
static int create_pair(const char *paths, int text, trl_feature_writer **out, trl_error *err)
{
    const char *comma = strchr(paths, ',');
    if (!comma || comma == paths || comma[1] == '\0' || paths[0] == '-')
        return trl__fail(err, TRL_EINVAL, "%s: expected the names of two files, as in ark,scp:feats.ark,feats.scp",
                         paths);
    char *ark_path = trl__strdup(paths);
    if (ark_path)
        ark_path[comma - paths] = '\0';
    return create(ark_path, comma + 1, text, out, err);
}

static int ark_scp_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                          trl_error *err)
{
    (void)options;
    return create_pair(path, 0, out, err);
}

static int ark_text_scp_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                               trl_error *err)
{
    (void)options;
    return create_pair(path, 1, out, err);
}

#define READ_THE_SCRIPT "for reading name one of the two: ark:FILE or scp:FILE"

const trl__feature_format trl__ark_format = {
    .prefix = "ark", .endings = {".ark"}, .open = ark_open, .create = ark_create};
const trl__feature_format trl__ark_text_format = {.prefix = "ark,t", .open = ark_open, .create = ark_text_create};
const trl__feature_format trl__ark_scp_format = {
    .prefix = "ark,scp", .create = ark_scp_create, .instead = READ_THE_SCRIPT};
const trl__feature_format trl__ark_text_scp_format = {
    .prefix = "ark,t,scp", .create = ark_text_scp_create, .instead = READ_THE_SCRIPT};
