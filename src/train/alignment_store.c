#include "train/alignment_store.h"
#include "base/container.h"
#include "base/fail.h"

#define KIND "alignments"
#define VERSION 1

/* ---- writing ---- */

struct trl__alignment_writer {
    trl__container_writer *container;
    trl__stored_alignment *index;
    size_t count, capacity;
    uint64_t runs;
};

int trl__alignment_writer_create(const char *path, trl__alignment_writer **out, trl_error *err)
{
    trl__alignment_writer *w = trl__alloc_zero(1, sizeof *w);
    if (!w)
        return trl__fail_memory(err);
    int code = trl__container_create(path, KIND, VERSION, &w->container, err);
    if (code == 0)
        code = trl__container_begin(w->container, "runs", 0, err);
    if (code < 0) {
        trl__alignment_writer_abort(w);
        return code;
    }
    *out = w;
    return 0;
}

int trl__alignment_writer_add(trl__alignment_writer *w, int32_t status, double log_likelihood, const trl__run *runs,
                              size_t count, trl_error *err)
{
    if (TRL_GROW(w->index, w->capacity, w->count + 1) < 0)
        return trl__fail_memory(err);
    w->index[w->count++] = (trl__stored_alignment){w->runs, (uint32_t)count, status, log_likelihood};
    w->runs += count;
    return trl__container_write(w->container, runs, count * sizeof *runs, err);
}

int trl__alignment_writer_commit(trl__alignment_writer *w, trl_error *err)
{
    int code = trl__container_begin(w->container, "index", 0, err);
    if (code == 0)
        code = trl__container_write(w->container, w->index, w->count * sizeof *w->index, err);
    if (code == 0) {
        code = trl__container_commit(w->container, err);
        w->container = NULL;
    }
    trl__alignment_writer_abort(w);
    return code;
}

void trl__alignment_writer_abort(trl__alignment_writer *w)
{
    if (!w)
        return;
    trl__container_abort(w->container);
    trl__free(w->index);
    trl__free(w);
}

/* ---- reading ---- */

struct trl__alignment_store {
    trl__container *container;
    const trl__run *runs;
    const trl__stored_alignment *index;
    size_t count;
};

static int load(trl__alignment_store *s, trl_error *err)
{
    const void *runs, *index = NULL;
    uint64_t runs_size, index_size = 0, next = 0;
    int code = trl__container_section(s->container, "runs", &runs, &runs_size, err);
    if (code == 0)
        code = trl__container_section(s->container, "index", &index, &index_size, err);
    if (code != 0)
        return code;
    s->runs = runs;
    s->index = index;
    s->count = (size_t)(index_size / sizeof *s->index);
    int belong = index_size % sizeof *s->index == 0;
    for (size_t i = 0; belong && i < s->count; i++) {
        belong = s->index[i].first_run == next;
        next += s->index[i].runs;
    }
    if (!belong || next * sizeof *s->runs != runs_size)
        return trl__fail(err, TRL_ECORRUPT, "%s: runs and index do not belong together",
                         trl__container_path(s->container));
    return 0;
}

int trl__alignment_store_open(const char *path, trl__alignment_store **out, trl_error *err)
{
    trl__alignment_store *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    int code = trl__container_open(path, KIND, VERSION, &s->container, err);
    if (code == 0)
        code = load(s, err);
    if (code < 0) {
        trl__alignment_store_close(s);
        return code;
    }
    *out = s;
    return 0;
}

void trl__alignment_store_close(trl__alignment_store *s)
{
    if (!s)
        return;
    trl__container_close(s->container);
    trl__free(s);
}

const char *trl__alignment_store_path(const trl__alignment_store *store)
{
    return trl__container_path(store->container);
}

size_t trl__alignment_store_count(const trl__alignment_store *s)
{
    return s->count;
}

const trl__stored_alignment *trl__alignment_store_get(const trl__alignment_store *s, size_t utterance,
                                                      const trl__run **runs)
{
    const trl__stored_alignment *a = &s->index[utterance];
    *runs = s->runs + a->first_run;
    return a;
}
