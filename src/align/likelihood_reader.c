#include "align/likelihood_reader.h"
#include "base/fail.h"
#include "base/memory.h"

#include <trellis/feature_file.h>

struct trl__likelihood_reader {
    const char *path;
    const trl_corpus *corpus;
    int32_t tied_states;
    trl_feature_reader *file;
    int in_file_order; /* the format has no random access */
    long next;         /* in file order: the utterance of `waiting`, or -1 at the end */
    trl_matrix waiting;
};

int trl__likelihood_reader_open(const char *path, const trl_corpus *corpus, int32_t tied_states,
                                trl__likelihood_reader **out, trl_error *err)
{
    trl__likelihood_reader *r = *out = trl__alloc_zero(1, sizeof *r);
    if (!r)
        return trl__fail_memory(err);
    r->path = path;
    r->corpus = corpus;
    r->tied_states = tied_states;
    return trl_feature_reader_open(path, &r->file, err);
}

void trl__likelihood_reader_close(trl__likelihood_reader *r)
{
    if (!r)
        return;
    trl_matrix_free(&r->waiting);
    trl_feature_reader_close(r->file);
    trl__free(r);
}

/* In file order: reads on to an utterance of the corpus, which must come in the corpus's order. */
static int read_on(trl__likelihood_reader *r, long after, trl_error *err)
{
    const char *id;
    int found;
    r->next = -1;
    while ((found = trl_feature_reader_next(r->file, &id, &r->waiting, err)) > 0) {
        long number = trl_corpus_find(r->corpus, id);
        if (number >= 0 && number <= after)
            return trl__fail(err, TRL_EUNSUPPORTED,
                             "%s: utterance %s comes after others that the corpus has behind it; sort the archive by "
                             "id, or use a .scp or .trf file, which can be read in any order",
                             r->path, id);
        if (number >= 0) {
            r->next = number;
            return 0;
        }
    }
    return found;
}

static int find_matrix(trl__likelihood_reader *r, size_t number, trl_matrix *out, trl_error *err)
{
    if (!r->in_file_order) {
        int code = trl_feature_reader_find(r->file, trl_corpus_get(r->corpus, number)->id, out, err);
        if (code == 0)
            return 1;
        if (code == TRL_ENOENT)
            return 0;
        if (code != TRL_EUNSUPPORTED)
            return code;
        r->in_file_order = 1;
        code = read_on(r, -1, err);
        if (code < 0)
            return code;
    }
    while (r->next >= 0 && (size_t)r->next < number) {
        int code = read_on(r, r->next, err);
        if (code < 0)
            return code;
    }
    if (r->next != (long)number)
        return 0;
    trl_matrix kept = *out;
    *out = r->waiting;
    r->waiting = kept;
    int code = read_on(r, (long)number, err);
    return code < 0 ? code : 1;
}

int trl__likelihood_reader_find(trl__likelihood_reader *r, size_t number, trl_matrix *out, trl_error *err)
{
    int found = find_matrix(r, number, out, err);
    if (found > 0 && out->cols != (size_t)r->tied_states)
        return trl__fail(err, TRL_EINVAL,
                         "%s: utterance %s has %zu likelihoods per frame, but the model has %d tied states", r->path,
                         trl_corpus_get(r->corpus, number)->id, out->cols, (int)r->tied_states);
    return found;
}
