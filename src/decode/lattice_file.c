#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"
#include "decode/kaldi_lattice.h"
#include "decode/lattice_source.h"
#include "feat/feature_format.h"
#include "fst/fst_format.h"

#include <string.h>

/* ---- Places ---- */

typedef struct format {
    const char *prefix;
    int text;
    enum { COMPACT, PLAIN, FOLDER } kind;
} format;

static const format formats[] = {{"ark", 0, COMPACT},     {"ark,t", 1, COMPACT}, {"lattice", 0, PLAIN},
                                 {"lattice,t", 1, PLAIN}, {"fst", 0, FOLDER},    {"fst,t", 1, FOLDER}};

/* Without one of the prefixes it is an archive, compact and binary. */
static int find_format(const char *place, const format **found, const char **path, trl_error *err)
{
    *found = &formats[0];
    *path = place;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t n = strlen(formats[i].prefix);
        if (strncmp(place, formats[i].prefix, n) == 0 && place[n] == ':') {
            *found = &formats[i];
            *path = place + n + 1;
        }
    }
    return **path ? 0 : trl__fail(err, TRL_EINVAL, "\"%s\": a file name is missing", place);
}

/* ---- Reading ---- */

struct trl_lattice_reader {
    trl__source source;
    trl_symbols *words;
    trl__lattice_draft draft; /* scratch */
    char id[TRL__ARK_ID + 1];
};

int trl__lattice_reader_from_source(trl__source *source, trl_symbols *words, trl_lattice_reader **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    if (!*out) {
        trl__source_close(source);
        return trl__fail_memory(err);
    }
    (*out)->source = *source;
    (*out)->words = trl_symbols_share(words);
    return 0;
}

int trl_lattice_reader_open(const char *place, trl_symbols *words, trl_lattice_reader **out, trl_error *err)
{
    const format *form;
    const char *path;
    trl__source source;
    *out = NULL;
    int code = find_format(place, &form, &path, err);
    if (code == 0 && form->kind == FOLDER)
        code = trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: lattices are read from Kaldi's archives; a machine is read by "
                         "`trellis fst`",
                         place);
    if (code == 0)
        code = trl__source_open_packed(path, &source, err);
    return code < 0 ? code : trl__lattice_reader_from_source(&source, words, out, err);
}

void trl_lattice_reader_close(trl_lattice_reader *reader)
{
    if (!reader)
        return;
    trl__source_close(&reader->source);
    trl_symbols_destroy(reader->words);
    trl__draft_free(&reader->draft);
    trl__free(reader);
}

int trl_lattice_reader_next(trl_lattice_reader *r, const char **id, trl_lattice **lattice, trl_error *err)
{
    trl_error reason;
    *lattice = NULL;
    int found = trl__ark_read_id(&r->source, r->id, err);
    if (found <= 0)
        return found;
    *id = r->id;
    int code = trl__kaldi_lattice_read(&r->source, &r->draft, r->words, lattice, &reason);
    if (code == TRL_ENOMEM || code == TRL_EIO)
        return trl__fail(err, code, "%s", reason.text);
    return code < 0 ? trl__fail(err, code, "%s (utterance %s)", reason.text, r->id) : 1;
}

/* ---- Writing ---- */

struct trl_lattice_writer {
    const format *form;
    char *path;
    trl_file *file; /* the archive; NULL: a folder */
    trl_lattice_scale scale;
    trl__strings ids; /* all that were added */
};

int trl_lattice_writer_open(const char *place, const trl_lattice_scale *scale, trl_lattice_writer **out, trl_error *err)
{
    const char *path;
    trl_lattice_writer *w = *out = NULL;
    const format *form;
    int code = find_format(place, &form, &path, err);
    if (code == 0 && form->kind == FOLDER && strcmp(path, "-") == 0)
        code = trl__fail(err, TRL_EINVAL, "%s: a folder can't be standard output", place);
    if (code == 0 && (!(w = trl__alloc_zero(1, sizeof *w)) || !(w->path = trl__strdup(path))))
        code = trl__fail_memory(err);
    if (code == 0) {
        w->form = form;
        w->scale = scale ? *scale : (trl_lattice_scale){1, 1, 0};
        code = form->kind == FOLDER ? trl__make_folder(path, err) : trl_file_create(path, &w->file, err);
    }
    if (code < 0)
        trl_lattice_writer_abort(w);
    else
        *out = w;
    return code;
}

/* The words that occur, as a table of their own. */
static int used_words(const trl_lattice_view *l, trl_symbols **out, trl_error *err)
{
    int code = trl_symbols_create("words", out, err);
    if (code == 0)
        code = trl_symbols_add(*out, "<eps>", 0, err);
    for (uint32_t a = 0; code == 0 && a < l->first[l->states]; a++) {
        int32_t word = l->arcs[a].word;
        const char *name = trl_symbols_name(l->words, word);
        if (word > 0 && !name)
            code = trl__fail(err, TRL_EINVAL, "the word %d has no name in the table %s", (int)word,
                             trl_symbols_title(l->words));
        else if (word > 0)
            code = trl_symbols_add(*out, name, word, err);
    }
    return code;
}

static int make_machine(const trl_lattice_writer *w, const trl_lattice *lattice, trl_fst **fst, trl_error *err)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    trl_symbols *words = NULL;
    int code = trl_lattice_to_fst(lattice, w->form->text ? NULL : &w->scale, fst, err);
    if (code == 0 && l.words && l.states > 0)
        code = used_words(&l, &words, err);
    if (code == 0)
        trl_fst_set_symbols(*fst, trl_symbols_share(words), trl_symbols_share(words));
    trl_symbols_destroy(words);
    return code;
}

static int write_machine(const trl_lattice_writer *w, const char *path, const trl_lattice *lattice, trl_error *err)
{
    trl_fst *fst = NULL;
    int code = make_machine(w, lattice, &fst, err);
    if (code == 0)
        code = w->form->text ? trl_fst_write_text(fst, path, &(trl_fst_text_options){.acceptor = 1}, err)
                             : trl_fst_write(fst, path, TRL_FST_VECTOR, err);
    trl_fst_destroy(fst);
    return code;
}

static int add_to_folder(const trl_lattice_writer *w, const char *id, const trl_lattice *lattice, trl_error *err)
{
    char *path;
    int code = trl__utterance_path(w->path, id, w->form->text ? ".txt" : ".fst", &path, err);
    if (code == 0)
        code = write_machine(w, path, lattice, err);
    trl__free(path);
    return code;
}

int trl_lattice_writer_add(trl_lattice_writer *w, const char *id, const trl_lattice *lattice, trl_error *err)
{
    size_t length = strlen(id);
    int code = trl__check_id(w->path, id, err);
    if (code == 0 && trl__strings_find(&w->ids, id, length) >= 0)
        code = trl__fail(err, TRL_EINVAL, "%s: utterance %s comes twice", w->path, id);
    if (code == 0 && trl__strings_add(&w->ids, id, length) < 0)
        code = trl__fail_memory(err);
    if (code < 0)
        return code;
    if (w->form->kind == FOLDER)
        return add_to_folder(w, id, lattice, err);
    code = trl_file_print(w->file, err, "%s ", id);
    if (code < 0)
        return code;
    return w->form->kind == PLAIN ? trl__kaldi_lattice_write_plain(lattice, w->file, w->form->text, err)
                                  : trl__kaldi_lattice_write(lattice, w->file, w->form->text, err);
}

int trl_lattice_writer_commit(trl_lattice_writer *w, trl_error *err)
{
    int code = w->file ? trl_file_commit(w->file, err) : 0;
    w->file = NULL;
    trl_lattice_writer_abort(w);
    return code;
}

void trl_lattice_writer_abort(trl_lattice_writer *w)
{
    if (!w)
        return;
    trl_file_abort(w->file);
    trl__strings_free(&w->ids);
    trl__free(w->path);
    trl__free(w);
}
